/* batches.c: a text in batches. Let x be the text begun with one <eos>. A window [first, first +
 * length) of the text is a sequence whose targets are the window's tokens and whose inputs are the
 * tokens before each of them, x shifted by one. Both contexts are a list of windows:
 *
 *   stream    the text cut every T tokens; in training the first cut is at a random offset
 *   sentence  the text cut behind every <eos>, and every T tokens within a line; blank lines left out
 *
 * An epoch orders the windows, packs them in that order while they fit, and orders the batches.
 * Evaluation keeps both orders. Training shuffles both; sentences are sorted by length in between.
 * No state is carried from block to block, so a row of the stream is nothing but blocks: they are
 * shuffled one by one. Every token is trained on exactly once an epoch. */
#include "nn/corpus.h"

#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"

typedef struct {
    size_t first, length;
} Window;

struct Batches {
    const Text *text; /* borrowed */
    int32_t eos;
    int context;
    uint64_t seed;
    size_t T;                /* longest window, at most the text */
    size_t tokens, rows;     /* most tokens, most windows of a batch */
    size_t windows, batches; /* in this epoch */
    Window *window, *cut;    /* in this epoch's order; in the text's */
    uint32_t *order;         /* (windows) scratch: the shuffle */
    size_t *bucket;          /* (T+2) scratch of the sort by length */
    size_t *begin;           /* (batches+1) first window of each batch */
    uint32_t *turn;          /* (batches) batch i of the epoch is number turn[i] */
    Batch data;
};

enum { DRAW_OFFSET, DRAW_WINDOWS, DRAW_BATCHES, DRAWS };

static uint64_t stream_of(long epoch, int draw)
{
    return UINT64_C(0x4261746368000000) + (uint64_t)epoch * DRAWS + (uint64_t)draw;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* End of the window that begins at i: behind the first <eos> before `end`, or there. */
static size_t line_end(const Batches *b, size_t i, size_t end)
{
    while (i < end && b->text->id[i] != b->eos) i++;
    return i < end ? i + 1 : end;
}

static int is_blank(const Batches *b, size_t i)
{
    const int32_t *id = b->text->id;
    return id[i] == b->eos && (i == 0 || id[i - 1] == b->eos);
}

/* out: the windows of the text, or NULL: they are counted. offset: length of the stream's first. */
static size_t cut_text(const Batches *b, size_t offset, Window *out)
{
    int sentence = b->context == CONTEXT_SENTENCE;
    size_t n = 0, tokens = b->text->tokens;
    for (size_t i = 0, end; i < tokens; i = end) {
        end = least(i + (i == 0 && offset ? offset : b->T), tokens);
        if (sentence) end = line_end(b, i, end);
        if (sentence && is_blank(b, i)) continue;
        if (out) out[n] = (Window){i, end - i};
        n++;
    }
    return n;
}

/* window = cut in the order given, sorted by length (counting sort, stable) if `sort`. */
static void order_windows(Batches *b, int sort)
{
    memset(b->bucket, 0, (b->T + 2) * sizeof *b->bucket);
    for (size_t i = 0; i < b->windows; i++) b->bucket[(sort ? b->cut[i].length : 0) + 1]++;
    for (size_t i = 0; i <= b->T; i++) b->bucket[i + 1] += b->bucket[i];
    for (size_t i = 0; i < b->windows; i++) {
        Window w = b->cut[b->order[i]];
        b->window[b->bucket[sort ? w.length : 0]++] = w;
    }
}

static void pack(Batches *b)
{
    size_t tokens = 0, rows = 0;
    b->batches = 0;
    for (size_t i = 0; i < b->windows; i++) {
        size_t length = b->window[i].length;
        if (i == 0 || tokens + length > b->tokens || rows == b->rows) {
            b->begin[b->batches++] = i;
            tokens = rows = 0;
        }
        tokens += length;
        rows++;
    }
    b->begin[b->batches] = b->windows;
}

static void shuffle(const Batches *b, long epoch, int draw, size_t n, uint32_t *order)
{
    if (epoch >= 0)
        random_permutation(b->seed, stream_of(epoch, draw), n, order);
    else
        for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
}

void batches_epoch(Batches *b, long epoch)
{
    int train = epoch >= 0, sentence = b->context == CONTEXT_SENTENCE;
    size_t offset = 0;
    if (train && !sentence) offset = random_below(b->seed, stream_of(epoch, DRAW_OFFSET), 0, b->T);
    b->windows = cut_text(b, offset, b->cut);
    shuffle(b, epoch, DRAW_WINDOWS, b->windows, b->order);
    order_windows(b, train && sentence);
    pack(b);
    shuffle(b, epoch, DRAW_BATCHES, b->batches, b->turn);
}

static int allocate(Batches *b)
{
    size_t most = cut_text(b, 0, NULL) + 1; /* an offset adds one window at most */
    size_t tokens = least(b->tokens, b->text->tokens);
    Batch *d = &b->data;
    if (most > UINT32_MAX)
        return error_set(ERR_INPUT, "%s: more than 2^32 sequences", b->text->file);
    b->window = memory_new(most, sizeof *b->window);
    b->cut = memory_new(most, sizeof *b->cut);
    b->order = memory_new(most, sizeof *b->order);
    b->bucket = memory_new(b->T + 2, sizeof *b->bucket);
    b->begin = memory_new(most + 1, sizeof *b->begin);
    b->turn = memory_new(most, sizeof *b->turn);
    d->input = memory_new(tokens, sizeof *d->input);
    d->target = memory_new(tokens, sizeof *d->target);
    d->position = memory_new(tokens, sizeof *d->position);
    d->start = memory_new(least(tokens, most) + 1, sizeof *d->start);
    int all = b->window && b->cut && b->order && b->bucket && b->begin && b->turn && d->input &&
              d->target && d->position && d->start;
    return all ? 0 : ERR_MEMORY;
}

static int check(const Text *t, int context, size_t batch_tokens, size_t T)
{
    if (T == 0 || T > INT32_MAX)
        return error_set(ERR_INPUT, "sequences of %zu tokens are not possible", T);
    if (batch_tokens < T)
        return error_set(ERR_INPUT, "a batch of %zu tokens is shorter than a sequence of %zu",
                         batch_tokens, T);
    if (context != CONTEXT_STREAM && context != CONTEXT_SENTENCE)
        return error_set(ERR_MISUSE, "no context has number %d", context);
    return t->tokens ? 0 : error_set(ERR_INPUT, "%s holds no tokens", t->file);
}

int batches_new(const Text *t, const Vocab *v, int context, size_t batch_tokens, size_t T,
                uint64_t seed, Batches **out)
{
    *out = NULL;
    TRY(check(t, context, batch_tokens, T));
    Batches *b = memory_new(1, sizeof *b);
    if (!b) return ERR_MEMORY;
    *b = (Batches){.text = t, .eos = v->eos, .context = context, .seed = seed};
    b->T = least(T, t->tokens);
    b->tokens = batch_tokens;
    b->rows = context == CONTEXT_STREAM ? batch_tokens / T : SIZE_MAX;
    int code = allocate(b);
    if (!code) batches_epoch(b, -1);
    if (!code && b->windows == 0)
        code = error_set(ERR_INPUT, "%s: every line is blank: no sentence", t->file);
    if (code)
        batches_free(b);
    else
        *out = b;
    return code;
}

size_t batches_count(const Batches *b)
{
    return b->batches;
}

size_t batches_tokens(const Batches *b, size_t i)
{
    size_t N = 0, k = b->turn[i];
    for (size_t w = b->begin[k]; w < b->begin[k + 1]; w++) N += b->window[w].length;
    return N;
}

/* Appends the window to the batch. */
static void add(const Batches *b, Window w, Batch *d)
{
    const int32_t *id = b->text->id;
    for (size_t j = 0, i = w.first; j < w.length; j++, i++, d->N++) {
        d->input[d->N] = i ? id[i - 1] : b->eos;
        d->target[d->N] = id[i];
        d->position[d->N] = (int32_t)j;
    }
    d->start[++d->S] = d->N;
    if (w.length > d->longest) d->longest = w.length;
}

int batches_get(Batches *b, size_t i, Batch *out)
{
    if (i >= b->batches)
        return error_set(ERR_MISUSE, "batch %zu of %zu was asked for", i, b->batches);
    Batch *d = &b->data;
    d->N = d->S = d->longest = 0;
    size_t k = b->turn[i];
    for (size_t w = b->begin[k]; w < b->begin[k + 1]; w++) add(b, b->window[w], d);
    *out = *d;
    return 0;
}

void batches_free(Batches *b)
{
    if (!b) return;
    memory_free(b->window);
    memory_free(b->cut);
    memory_free(b->order);
    memory_free(b->bucket);
    memory_free(b->begin);
    memory_free(b->turn);
    memory_free(b->data.input);
    memory_free(b->data.target);
    memory_free(b->data.position);
    memory_free(b->data.start);
    memory_free(b);
}
