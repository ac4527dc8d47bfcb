/* batches.c: a text in batches. Let x be the text begun with one <eos>. A window [first, first +
 * length) of the text is a sequence whose targets are the window's tokens and whose inputs are the
 * tokens before each of them, x shifted by one. Both contexts are a list of windows:
 *
 *   stream    the text cut every T tokens; in training the first cut is at a random offset
 *   sentence  the text cut behind every <eos>, and every T tokens within a line; blank lines left out
 *
 * With a source a sequence is a line of the text and the same line of the source, whole and as it stands: of n words
 * the source has n + 1 rows, <eos> the last. A pair that is longer than T on either side is refused.
 *
 * An epoch orders the sequences, packs them in that order while both sides fit, and orders the batches.
 * Evaluation keeps both orders. Training shuffles both; sentences are sorted by length (both sides' sum) in between.
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

typedef struct {
    Window target, source; /* the source of length 0 where there is none */
} Sequence;

struct Batches {
    const Text *text, *source; /* borrowed; source NULL: a text alone */
    int32_t eos;
    int context;
    uint64_t seed;
    size_t T;                  /* longest window, at most the text */
    size_t longest;            /* most tokens of a sequence, both sides together */
    size_t tokens, rows;       /* most tokens of a side, most sequences of a batch */
    size_t sequences, batches; /* in this epoch */
    Sequence *sequence, *cut;  /* in this epoch's order; in the text's */
    uint32_t *order;           /* (sequences) scratch: the shuffle */
    size_t *bucket;            /* (longest+2) scratch of the sort by length */
    size_t *begin;             /* (batches+1) first sequence of each batch */
    uint32_t *turn;            /* (batches) batch i of the epoch is number turn[i] */
    Batch data;
};

enum { DRAW_OFFSET, DRAW_SEQUENCES, DRAW_BATCHES, DRAWS };

static uint64_t stream_of(long epoch, int draw)
{
    return UINT64_C(0x4261746368000000) + (uint64_t)epoch * DRAWS + (uint64_t)draw;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* End of the window that begins at i: behind the first <eos> before `end`, or there. */
static size_t line_end(const Text *t, int32_t eos, size_t i, size_t end)
{
    while (i < end && t->id[i] != eos) i++;
    return i < end ? i + 1 : end;
}

static int is_blank(const Batches *b, size_t i)
{
    const int32_t *id = b->text->id;
    return id[i] == b->eos && (i == 0 || id[i - 1] == b->eos);
}

/* out: the sequences of the text, or NULL: they are counted. offset: length of the stream's first. */
static size_t cut_text(const Batches *b, size_t offset, Sequence *out)
{
    int sentence = b->context == CONTEXT_SENTENCE;
    size_t n = 0, tokens = b->text->tokens;
    for (size_t i = 0, end, s = 0, source_end = 0; i < tokens; i = end, s = source_end) {
        end = least(i + (i == 0 && offset ? offset : b->T), tokens);
        if (sentence) end = line_end(b->text, b->eos, i, end);
        if (b->source) source_end = line_end(b->source, b->eos, s, b->source->tokens);
        if (sentence && is_blank(b, i)) continue;
        if (out) out[n] = (Sequence){{i, end - i}, {s, source_end - s}};
        n++;
    }
    return n;
}

static size_t both_lengths(const Sequence *s)
{
    return s->target.length + s->source.length;
}

/* sequence = cut in the order given, sorted by length (counting sort, stable) if `sort`. */
static void order_sequences(Batches *b, int sort)
{
    memset(b->bucket, 0, (b->longest + 2) * sizeof *b->bucket);
    for (size_t i = 0; i < b->sequences; i++)
        b->bucket[(sort ? both_lengths(&b->cut[i]) : 0) + 1]++;
    for (size_t i = 0; i <= b->longest; i++) b->bucket[i + 1] += b->bucket[i];
    for (size_t i = 0; i < b->sequences; i++) {
        Sequence s = b->cut[b->order[i]];
        b->sequence[b->bucket[sort ? both_lengths(&s) : 0]++] = s;
    }
}

static void pack(Batches *b)
{
    size_t tokens = 0, source = 0, rows = 0;
    b->batches = 0;
    for (size_t i = 0; i < b->sequences; i++) {
        const Sequence *s = &b->sequence[i];
        if (i == 0 || tokens + s->target.length > b->tokens ||
            source + s->source.length > b->tokens || rows == b->rows) {
            b->begin[b->batches++] = i;
            tokens = source = rows = 0;
        }
        tokens += s->target.length;
        source += s->source.length;
        rows++;
    }
    b->begin[b->batches] = b->sequences;
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
    b->sequences = cut_text(b, offset, b->cut);
    shuffle(b, epoch, DRAW_SEQUENCES, b->sequences, b->order);
    order_sequences(b, train && sentence);
    pack(b);
    shuffle(b, epoch, DRAW_BATCHES, b->batches, b->turn);
}

/* An array of a Batches: where its address goes, and its size. */
typedef struct {
    void *to; /* of a pointer */
    size_t count, each;
} Room;
enum { ROOMS = 13 };

/* All it takes, for the most sequences of an epoch. */
static void find_rooms(Batches *b, size_t most, Room room[ROOMS])
{
    size_t tokens = least(b->tokens, b->text->tokens), rows = least(tokens, most);
    size_t source = b->source ? least(b->tokens, b->source->tokens) : 0;
    Batch *d = &b->data;
    const Room all[ROOMS] = {
        {&b->sequence, most, sizeof *b->sequence},
        {&b->cut, most, sizeof *b->cut},
        {&b->order, most, sizeof *b->order},
        {&b->bucket, b->longest + 2, sizeof *b->bucket},
        {&b->begin, most + 1, sizeof *b->begin},
        {&b->turn, most, sizeof *b->turn},
        {&d->input, tokens, sizeof *d->input},
        {&d->target, tokens, sizeof *d->target},
        {&d->position, tokens, sizeof *d->position},
        {&d->start, rows + 1, sizeof *d->start},
        {&d->source.input, source, sizeof *d->source.input},
        {&d->source.position, source, sizeof *d->source.position},
        {&d->source.start, source ? rows + 1 : 0, sizeof *d->source.start},
    };
    memcpy(room, all, sizeof all);
}

static size_t most_sequences(const Batches *b)
{
    return cut_text(b, 0, NULL) + 1; /* an offset adds one window at most */
}

static int allocate(Batches *b)
{
    Room room[ROOMS];
    size_t most = most_sequences(b);
    if (most > UINT32_MAX)
        return error_set(ERR_INPUT, "%s: more than 2^32 sequences", b->text->file);
    find_rooms(b, most, room);
    for (int i = 0; i < ROOMS; i++) {
        void *p = room[i].count ? memory_new(room[i].count, room[i].each) : NULL;
        if (room[i].count && !p) return ERR_MEMORY;
        memcpy(room[i].to, &p, sizeof p);
    }
    return 0;
}

static int check_pairs(const Text *t, const Text *source, int32_t eos, int context, size_t T)
{
    if (context != CONTEXT_SENTENCE)
        return error_set(ERR_INPUT, "%s and %s are pairs of sentences, and a stream has none",
                         source->file, t->file);
    TRY(text_pairs(source, t, eos));
    for (size_t line = 1, i = 0, s = 0, end, source_end; line <= t->lines; line++) {
        end = line_end(t, eos, i, t->tokens);
        source_end = line_end(source, eos, s, source->tokens);
        if (end - i > T || source_end - s > T)
            return error_set(ERR_INPUT,
                             "%s:%zu has %zu tokens and %s:%zu has %zu, <eos> included: a sequence "
                             "can have %zu, and no pair is cut",
                             source->file, line, source_end - s, t->file, line, end - i, T);
        i = end;
        s = source_end;
    }
    return 0;
}

static int check_sizes(const Text *t, int context, size_t batch_tokens, size_t T)
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

int batches_check(const Text *t, const Text *source, const Vocab *v, int context,
                  size_t batch_tokens, size_t T)
{
    TRY(check_sizes(t, context, batch_tokens, T));
    return source && source->tokens ? check_pairs(t, source, v->eos, context, T) : 0;
}

/* Of a text that was checked. */
static Batches fields(const Text *t, const Text *source, int context, size_t batch_tokens, size_t T)
{
    Batches b = {.text = t, .context = context, .tokens = batch_tokens};
    if (source && source->tokens) b.source = source;
    b.T = least(T, t->tokens);
    b.longest = b.T + (b.source ? least(T, source->tokens) : 0);
    b.rows = context == CONTEXT_STREAM ? batch_tokens / T : SIZE_MAX;
    return b;
}

size_t batches_bytes(const Text *t, const Text *source, const Vocab *v, int context,
                     size_t batch_tokens, size_t T)
{
    Room room[ROOMS];
    Batches b = fields(t, source, context, batch_tokens, T);
    size_t bytes = sizeof b;
    b.eos = v->eos;
    find_rooms(&b, most_sequences(&b), room);
    for (int i = 0; i < ROOMS; i++) bytes += room[i].count * room[i].each;
    return bytes;
}

int batches_new(const Text *t, const Text *source, const Vocab *v, int context, size_t batch_tokens,
                size_t T, uint64_t seed, Batches **out)
{
    *out = NULL;
    TRY(batches_check(t, source, v, context, batch_tokens, T));
    Batches *b = memory_new(1, sizeof *b);
    if (!b) return ERR_MEMORY;
    *b = fields(t, source, context, batch_tokens, T);
    b->eos = v->eos;
    b->seed = seed;
    int code = allocate(b);
    if (!code) batches_epoch(b, -1);
    if (!code && b->sequences == 0)
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
    for (size_t s = b->begin[k]; s < b->begin[k + 1]; s++) N += b->sequence[s].target.length;
    return N;
}

/* Appends the sequence to the batch. */
static void add(const Batches *b, const Sequence *q, Batch *d)
{
    const int32_t *id = b->text->id;
    Window w = q->target, s = q->source;
    for (size_t j = 0, i = w.first; j < w.length; j++, i++, d->N++) {
        d->input[d->N] = i ? id[i - 1] : b->eos;
        d->target[d->N] = id[i];
        d->position[d->N] = (int32_t)j;
    }
    d->start[++d->S] = d->N;
    if (w.length > d->longest) d->longest = w.length;
    if (!b->source) return;
    for (size_t j = 0; j < s.length; j++, d->source.N++) {
        d->source.input[d->source.N] = b->source->id[s.first + j];
        d->source.position[d->source.N] = (int32_t)j;
    }
    d->source.start[d->S] = d->source.N;
    if (s.length > d->source.longest) d->source.longest = s.length;
}

int batches_get(Batches *b, size_t i, Batch *out)
{
    if (i >= b->batches)
        return error_set(ERR_MISUSE, "batch %zu of %zu was asked for", i, b->batches);
    Batch *d = &b->data;
    d->N = d->S = d->longest = d->source.N = d->source.longest = 0;
    size_t k = b->turn[i];
    for (size_t s = b->begin[k]; s < b->begin[k + 1]; s++) add(b, &b->sequence[s], d);
    *out = *d;
    return 0;
}

void batches_free(Batches *b)
{
    if (!b) return;
    memory_free(b->sequence);
    memory_free(b->cut);
    memory_free(b->order);
    memory_free(b->bucket);
    memory_free(b->begin);
    memory_free(b->turn);
    memory_free(b->data.input);
    memory_free(b->data.target);
    memory_free(b->data.position);
    memory_free(b->data.start);
    memory_free(b->data.source.input);
    memory_free(b->data.source.position);
    memory_free(b->data.source.start);
    memory_free(b);
}
