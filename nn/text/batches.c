/* batches.c: cuts a text in batches. Let x be the text begun with one <eos>. A window [first, first + length) of the
 * text is a sequence whose targets are the window's tokens and whose inputs are the tokens before each of them, x
 * shifted by one. Both contexts are a list of windows:
 *
 *   stream    the text cut every T tokens; in training the first cut is at a random offset
 *   sentence  the text cut behind every <eos>, and every T tokens within a line, without blank lines
 *
 * For an encoder alone (Asking, text.h) a sequence is <cls> and one or two segments, not shifted, at most T rows in all:
 *
 *   masked, stream     the text cut every T - 1 tokens, as above
 *   masked, sentence   a line, cut every T - 1 tokens
 *   label              line i of the text, and of the second text if there is one
 *
 * With a source a sequence is a whole line of the text and the same line of the source, which is not shifted: n words
 * of the source make n + 1 rows, the last of them <eos>. A pair that is longer than T on either side is refused.
 *
 * An epoch orders the sequences, packs them in that order while both sides fit, and orders the batches.
 * Evaluation keeps both orders. Training shuffles both; sentences are sorted by length (both sides' sum) in between.
 * No state goes from block to block, so the blocks of the stream are shuffled one by one. Every token is trained on
 * exactly once an epoch. */
#include "nn/text/text.h"

#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/base/random.h"
#include "nn/text/masking.h"

typedef struct {
    size_t first, length;
} Window;

typedef struct {
    Window target, source; /* the source, or second segment; length 0 where there is none */
    size_t number;         /* a label's line; masks one by one: the masked token */
} Sequence;

/* An array of a Batches: the place of its address, and its size. */
typedef struct {
    void *to; /* points to a pointer */
    size_t count, each;
} Room;
enum { ROOMS = 18 };

struct Batches {
    const Text *text, *source; /* borrowed; source NULL: a text alone */
    const Vocab *vocab;        /* borrowed */
    Asking ask;                /* lists borrowed */
    int32_t eos;
    int context;
    uint64_t seed;
    long epoch;
    size_t T;                  /* longest window, at most the text */
    size_t longest;            /* most tokens of a sequence, both sides together */
    size_t tokens, rows;       /* most tokens of a side, most sequences of a batch */
    size_t sequences, batches; /* in this epoch */
    Sequence *sequence, *cut;  /* in this epoch's order; in the text's order */
    uint32_t *order;           /* (sequences) scratch: the shuffle */
    size_t *bucket;            /* (longest+2) scratch of the sort by length */
    size_t *begin;             /* (batches+1) first sequence of each batch */
    uint32_t *turn;            /* (batches) batch i of the epoch is number turn[i] */
    Batch data;
    Room room[ROOMS]; /* all of these arrays, and those of data */
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

/* Returns the end of the window that begins at i: behind the first <eos> before `end`, or `end`. */
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

/* Return the rows of a sequence on the target's side, and on the source's. An encoder alone has all on one side. */
static size_t target_rows(const Batches *b, const Sequence *s)
{
    return b->ask.what == ASK_NEXT ? s->target.length : 1 + s->target.length + s->source.length;
}

static size_t source_rows(const Batches *b, const Sequence *s)
{
    return b->ask.what == ASK_NEXT ? s->source.length : 0;
}

static size_t both_lengths(const Batches *b, const Sequence *s)
{
    return target_rows(b, s) + source_rows(b, s);
}

/* Returns the end of the window that begins at i: at most `length` tokens and, with sentences, one line. */
static size_t window_end(const Batches *b, size_t i, size_t length)
{
    size_t end = least(i + length, b->text->tokens);
    return b->context == CONTEXT_SENTENCE ? line_end(b->text, b->eos, i, end) : end;
}

/* Cuts the text in sequences, into out; NULL: only counts them. offset: length of the stream's first. */
static size_t cut_windows(const Batches *b, size_t offset, Sequence *out)
{
    int sentence = b->context == CONTEXT_SENTENCE;
    size_t n = 0, tokens = b->text->tokens;
    for (size_t i = 0, end, s = 0, source_end = 0; i < tokens; i = end, s = source_end) {
        end = window_end(b, i, i == 0 && offset ? offset : b->T);
        if (b->source) source_end = line_end(b->source, b->eos, s, b->source->tokens);
        if (sentence && is_blank(b, i)) continue;
        if (out) out[n] = (Sequence){{i, end - i}, {s, source_end - s}, 0};
        n++;
    }
    return n;
}

/* Takes line i of both texts, and cuts the longer one until they fit into T - 1 rows. */
static size_t cut_labelled(const Batches *b, Sequence *out)
{
    size_t n = 0, tokens = b->text->tokens;
    for (size_t i = 0, end, s = 0, source_end = 0; i < tokens; i = end, s = source_end, n++) {
        end = line_end(b->text, b->eos, i, tokens);
        if (b->source) source_end = line_end(b->source, b->eos, s, b->source->tokens);
        Sequence q = {{i, end - i}, {s, source_end - s}, n};
        while (q.target.length + q.source.length > b->T)
            (q.target.length >= q.source.length ? &q.target : &q.source)->length--;
        if (out) out[n] = q;
    }
    return n;
}

/* Makes a sequence of every token of every window: as many sequences as tokens that can be masked. */
static size_t cut_each(const Batches *b, Sequence *out)
{
    size_t n = 0;
    for (size_t i = 0, end; i < b->text->tokens; i = end) {
        end = window_end(b, i, b->T);
        for (size_t k = i; k < end; k++) {
            if (b->text->id[k] == b->eos) continue;
            if (out) out[n] = (Sequence){{i, end - i}, {0, 0}, k};
            n++;
        }
    }
    return n;
}

static size_t cut_text(const Batches *b, size_t offset, Sequence *out)
{
    if (b->ask.what == ASK_LABEL) return cut_labelled(b, out);
    if (b->ask.what == ASK_MASKED && b->ask.each) return cut_each(b, out);
    return cut_windows(b, offset, out);
}

/* Sets sequence to cut in the order given, sorted by length if `sort` (counting sort, stable). */
static void order_sequences(Batches *b, int sort)
{
    memset(b->bucket, 0, (b->longest + 2) * sizeof *b->bucket);
    for (size_t i = 0; i < b->sequences; i++)
        b->bucket[(sort ? both_lengths(b, &b->cut[i]) : 0) + 1]++;
    for (size_t i = 0; i <= b->longest; i++) b->bucket[i + 1] += b->bucket[i];
    for (size_t i = 0; i < b->sequences; i++) {
        Sequence s = b->cut[b->order[i]];
        b->sequence[b->bucket[sort ? both_lengths(b, &s) : 0]++] = s;
    }
}

static void pack(Batches *b)
{
    size_t tokens = 0, source = 0, rows = 0;
    b->batches = 0;
    for (size_t i = 0; i < b->sequences; i++) {
        const Sequence *s = &b->sequence[i];
        if (i == 0 || tokens + target_rows(b, s) > b->tokens ||
            source + source_rows(b, s) > b->tokens || rows == b->rows) {
            b->begin[b->batches++] = i;
            tokens = source = rows = 0;
        }
        tokens += target_rows(b, s);
        source += source_rows(b, s);
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
    b->epoch = epoch;
    b->sequences = cut_text(b, offset, b->cut);
    shuffle(b, epoch, DRAW_SEQUENCES, b->sequences, b->order);
    order_sequences(b, train && sentence);
    pack(b);
    shuffle(b, epoch, DRAW_BATCHES, b->batches, b->turn);
}

/* Tells whether rows belong to different segments. */
static int has_segments(const Batches *b)
{
    return b->ask.what != ASK_NEXT && b->source;
}

/* Lists all arrays, for the most sequences of an epoch. */
static void find_rooms(Batches *b, size_t most)
{
    int asked = b->ask.what != ASK_NEXT, masked = b->ask.what == ASK_MASKED;
    size_t tokens = asked ? b->tokens : least(b->tokens, b->text->tokens);
    size_t rows = least(tokens, most);
    size_t source = b->source && !asked ? least(b->tokens, b->source->tokens) : 0;
    int labelled = b->ask.label != NULL, valued = b->ask.value != NULL;
    Batch *d = &b->data;
    const Room all[ROOMS] = {
        {&b->sequence, most, sizeof *b->sequence},
        {&b->cut, most, sizeof *b->cut},
        {&b->order, most, sizeof *b->order},
        {&b->bucket, b->longest + 2, sizeof *b->bucket},
        {&b->begin, most + 1, sizeof *b->begin},
        {&b->turn, most, sizeof *b->turn},
        {&d->input, tokens, sizeof *d->input},
        {&d->target, asked ? 0 : tokens, sizeof *d->target},
        {&d->position, tokens, sizeof *d->position},
        {&d->start, rows + 1, sizeof *d->start},
        {&d->source.input, source, sizeof *d->source.input},
        {&d->source.position, source, sizeof *d->source.position},
        {&d->source.start, source ? rows + 1 : 0, sizeof *d->source.start},
        {&d->asked.row, masked ? tokens : 0, sizeof *d->asked.row},
        {&d->asked.word, masked ? tokens : 0, sizeof *d->asked.word},
        {&d->asked.segment, has_segments(b) ? tokens : 0, sizeof *d->asked.segment},
        {&d->asked.label, labelled ? rows : 0, sizeof *d->asked.label},
        {&d->asked.value, valued ? rows : 0, sizeof *d->asked.value},
    };
    memcpy(b->room, all, sizeof all);
}

static int allocate(Batches *b)
{
    size_t most = cut_text(b, 0, NULL) + 1; /* an offset adds one window at most */
    if (most > UINT32_MAX)
        return error_set(ERR_INPUT, "%s: more than 2^32 sequences", b->text->file);
    find_rooms(b, most);
    for (const Room *r = b->room; r < b->room + ROOMS; r++) {
        void *p = r->count ? memory_new(r->count, r->each) : NULL;
        if (r->count && !p) return ERR_MEMORY;
        memcpy(r->to, &p, sizeof p);
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

/* Returns the rows of <cls> and one segment, or two. */
static size_t least_rows(const Text *source)
{
    return source && source->tokens ? 3 : 2;
}

static int check_asked(const Asking *ask, const Text *t, const Text *source, const Vocab *v,
                       size_t T)
{
    TRY(masking_check(v, t->file));
    if (T < least_rows(source))
        return error_set(ERR_INPUT,
                         "sequences of %zu tokens, where %zu are needed: " WORD_FIRST
                         " and a word of each segment",
                         T, least_rows(source));
    if (ask->what == ASK_MASKED)
        return source && source->tokens
                   ? error_set(ERR_INPUT, "%s: masked words are of a text alone", source->file)
                   : 0;
    TRY(text_sentences(t, v->eos));
    return source && source->tokens ? text_pairs(source, t, v->eos) : 0;
}

int batches_check(const Text *t, const Text *source, const Vocab *v, const Asking *ask, int context,
                  size_t batch_tokens, size_t T)
{
    TRY(check_sizes(t, context, batch_tokens, T));
    if (ask) return check_asked(ask, t, source, v, T);
    return source && source->tokens ? check_pairs(t, source, v->eos, context, T) : 0;
}

static Batches fields(const Text *t, const Text *source, const Vocab *v, const Asking *ask,
                      int context, size_t batch_tokens, size_t T)
{
    Batches b = {.text = t, .vocab = v, .eos = v->eos, .context = context, .tokens = batch_tokens};
    if (source && source->tokens) b.source = source;
    if (ask) {
        b.ask = *ask;
        b.T = T - 1;
        b.longest = T;
        b.rows = SIZE_MAX;
        return b;
    }
    b.T = least(T, t->tokens);
    b.longest = b.T + (b.source ? least(T, source->tokens) : 0);
    b.rows = context == CONTEXT_STREAM ? batch_tokens / T : SIZE_MAX;
    return b;
}

int batches_new(const Text *t, const Text *source, const Vocab *v, const Asking *ask, int context,
                size_t batch_tokens, size_t T, uint64_t seed, Batches **out)
{
    *out = NULL;
    TRY(batches_check(t, source, v, ask, context, batch_tokens, T));
    Batches *b = memory_new(1, sizeof *b);
    if (!b) return ERR_MEMORY;
    *b = fields(t, source, v, ask, context, batch_tokens, T);
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
    for (size_t s = b->begin[k]; s < b->begin[k + 1]; s++) N += target_rows(b, &b->sequence[s]);
    return N;
}

/* Returns 1 where token i of a sequence is asked; *input stands in its place. */
static int is_asked(const Batches *b, const Sequence *q, size_t i, int32_t *input)
{
    int32_t id = b->text->id[i];
    if (!b->ask.each) return masking_draw(b->vocab, b->seed, b->epoch, i, id, input);
    *input = i == q->number ? b->vocab->mask : id;
    return i == q->number;
}

static size_t count_asked(const Batches *b, const Sequence *q)
{
    size_t n = 0;
    int32_t input;
    for (size_t j = 0; j < q->target.length; j++)
        n += (size_t)is_asked(b, q, q->target.first + j, &input);
    return n;
}

size_t batches_asked(const Batches *b, size_t i)
{
    size_t n = 0, k = b->turn[i];
    if (b->ask.what == ASK_NEXT) return batches_tokens(b, i);
    if (b->ask.what == ASK_LABEL) return b->begin[k + 1] - b->begin[k];
    for (size_t s = b->begin[k]; s < b->begin[k + 1]; s++) n += count_asked(b, &b->sequence[s]);
    return n;
}

static void add_row(const Batches *b, int32_t id, size_t position, int32_t segment, Batch *d)
{
    d->input[d->N] = id;
    d->position[d->N] = (int32_t)position;
    if (has_segments(b)) d->asked.segment[d->N] = segment;
    d->N++;
}

/* Adds the tokens of a window, behind `position` rows. A labelled window ends in <eos>, also where it was cut. */
static void add_window(const Batches *b, const Sequence *q, const Text *t, Window w,
                       int32_t segment, size_t position, Batch *d)
{
    for (size_t j = 0; j < w.length; j++) {
        int32_t id = t->id[w.first + j], input = id;
        if (b->ask.what == ASK_LABEL && j + 1 == w.length) input = b->eos;
        if (b->ask.what == ASK_MASKED && is_asked(b, q, w.first + j, &input)) {
            d->asked.row[d->asked.count] = (int32_t)d->N;
            d->asked.word[d->asked.count++] = id;
        }
        add_row(b, input, position + j, segment, d);
    }
}

static void add_asked(const Batches *b, const Sequence *q, Batch *d)
{
    const Asking *ask = &b->ask;
    add_row(b, b->vocab->first, 0, 0, d);
    add_window(b, q, b->text, q->target, 0, 1, d);
    add_window(b, q, b->source ? b->source : b->text, q->source, 1, 1 + q->target.length, d);
    if (ask->label) d->asked.label[d->S] = ask->label[q->number];
    if (ask->value) d->asked.value[d->S] = ask->value[q->number];
    d->start[++d->S] = d->N;
    if (target_rows(b, q) > d->longest) d->longest = target_rows(b, q);
}

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
    d->asked.masked = b->ask.what == ASK_MASKED;
    d->asked.count = 0;
    for (size_t s = b->begin[k]; s < b->begin[k + 1]; s++)
        (b->ask.what == ASK_NEXT ? add : add_asked)(b, &b->sequence[s], d);
    d->asked.weight = (double)d->asked.count / (double)d->S;
    *out = *d;
    return 0;
}

void batches_free(Batches *b)
{
    for (int i = 0; b && i < ROOMS; i++) {
        void *p = NULL;
        if (b->room[i].to) memcpy(&p, b->room[i].to, sizeof p);
        memory_free(p);
    }
    memory_free(b);
}
