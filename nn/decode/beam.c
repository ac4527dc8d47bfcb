/* beam.c: beam search over sentences of a batch, all at the same step (search.h).
 *
 * The score of a live hypothesis y_1 .. y_t is s = sum_i log p(y_i | y_1 .. y_(i-1), source). All hypotheses of a
 * sentence have one t, so a penalty would not change their order. At each step:
 *
 *   1. every live hypothesis gives its 2 beam most probable tokens, without forbidden ones: banned tokens, <eos> before
 *      the shortest length, a token that would end n tokens that it has already; at the longest length <eos> alone
 *   2. of all these the 2 beam best by s are the sentence's candidates, in order
 *   3. a candidate that is <eos> is finished if it is among the first `beam`, else forgotten; the first `beam` others
 *      live on
 *
 * 2 beam candidates leave `beam` that are not <eos>, because each hypothesis gives <eos> once. A sentence ends when
 * `beam` hypotheses are finished; these are ranked by s / penalty(length). So the first to finish, which is the
 * shortest, wins only if its score is best. Sums are in double.
 *
 * Source: the algorithm of fairseq's sequence_generator.py (Ott et al. 2019); Wu et al. 2016, section 7, for the penalty;
 * Paulus, Xiong, Socher 2018, section 2.5, for n-grams. */
#include <math.h>
#include <string.h>
#include <stdlib.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/tick.h"
#include "nn/decode/search.h"

DROP(Beam, beam)

enum { ALPHA_MOST = 10 };

typedef struct {
    size_t sentence;
    double sum;
    int32_t *token; /* (t) tokens of its output */
    double *log_p;  /* (t) */
} Live;

/* Hypothesis `from` of the live ones with one more token. */
typedef struct {
    double sum, log_p;
    size_t from;
    int32_t token;
} Candidate;

typedef struct {
    size_t shortest, longest; /* lengths of outputs */
    size_t finished;
    Hypothesis *best; /* (ends) the finished hypotheses, best first */
} Sentence;

struct Beam {
    BeamConfig c;
    Decoding **d; /* (1 + c.others) */
    int pairs;
    size_t rows, ask,
        ends;      /* ask: most tokens of decoding_best; ends: most finished of a sentence */
    Live *live[2]; /* (rows) for this step and the next */
    size_t count[2];
    int32_t *token[2];           /* (rows, max_length) */
    double *log_p[2];            /* (rows, max_length) */
    Sentence *sentence;          /* (sentences) */
    Hypothesis *best;            /* (sentences, ends) */
    int32_t *ended;              /* (sentences, ends, max_length + 1) */
    double *ended_log_p;         /* (sentences, ends, max_length + 1) */
    Candidate *candidate;        /* (beam, 2 beam) */
    int32_t *next, *parent, *of; /* (rows) lists for decoding_step */
    int32_t *index, *only;       /* (rows, ask), (rows) the token that must come */
    double *value, *only_log_p;  /* (rows, ask), (rows) */
    unsigned char *mark;         /* (V) BANNED, REPEATS */
};
enum { BANNED = 1, REPEATS = 2 };

/* ---- penalties ------------------------------------------------------------------------------------ */

static double penalty_value(int kind, double alpha, size_t length)
{
    if (kind == PENALTY_POWER) return pow((double)length, alpha);
    if (kind == PENALTY_GNMT) return pow((5 + (double)length) / 6, alpha);
    return 1;
}

/* ---- building --------------------------------------------------------------------------------------- */

static int check_lengths(const Model *m, const BeamConfig *c)
{
    if (c->max_length < 1 || c->max_length < c->min_length)
        return error_set(ERR_INPUT, "beam search: outputs of %zu tokens at least, %zu at most",
                         c->min_length, c->max_length);
    if (c->max_length >= model_config(m)->max_length)
        return error_set(ERR_INPUT,
                         "beam search: outputs of up to %zu tokens, where the model reads %zu "
                         "with <eos>: lower the longest length",
                         c->max_length, model_config(m)->max_length);
    if (!(c->max_ratio >= 0 && c->max_ratio < INFINITY && c->max_extra >= 0 &&
          c->max_extra < INFINITY))
        return error_set(ERR_INPUT, "beam search: a longest length of %g times the source + %g",
                         c->max_ratio, c->max_extra);
    return 0;
}

static int check_others(const Model *m, const BeamConfig *c)
{
    const ModelConfig *a = model_config(m);
    for (size_t k = 0; k < c->others; k++) {
        const ModelConfig *b = model_config(c->other[k]);
        if (b->vocab != a->vocab || model_plan(m)->sides != model_plan(c->other[k])->sides)
            return error_set(ERR_INPUT, "beam search: model %zu has other words than the first",
                             k + 2);
        if (b->max_tokens < a->max_tokens || b->max_length < a->max_length ||
            b->max_source < a->max_source || b->max_source_length < a->max_source_length)
            return error_set(ERR_INPUT,
                             "beam search: model %zu has room for fewer tokens than the first: "
                             "--sequence and --batch-tokens set both alike",
                             k + 2);
    }
    return 0;
}

int beam_check(const Model *m, const BeamConfig *c)
{
    size_t V = model_config(m)->vocab, most = model_config(m)->max_tokens;
    if (c->beam < 1 || c->sentences < 1)
        return error_set(ERR_INPUT, "beam search: a beam of %zu, %zu sentences: 1 at least",
                         c->beam, c->sentences);
    if (c->nbest < 1 || c->nbest > c->beam)
        return error_set(ERR_INPUT, "beam search: the best %zu of a beam of %zu", c->nbest,
                         c->beam);
    if (c->beam > most || c->sentences > most / c->beam)
        return error_set(ERR_INPUT,
                         "beam search: %zu sentences with a beam of %zu in a model for %zu rows",
                         c->sentences, c->beam, most);
    if (c->penalty < 0 || c->penalty >= PENALTIES || !(fabs(c->alpha) <= ALPHA_MOST))
        return error_set(ERR_INPUT,
                         "beam search: a length penalty of exponent %g is not in -%d..%d", c->alpha,
                         ALPHA_MOST, ALPHA_MOST);
    TRY(check_lengths(m, c));
    TRY(check_others(m, c));
    if (c->eos < 0 || (size_t)c->eos >= V)
        return error_set(ERR_INPUT, "beam search: <eos> is no token of the model");
    for (size_t i = 0; i < c->banned_count; i++)
        if (c->banned[i] < 0 || (size_t)c->banned[i] >= V || c->banned[i] == c->eos)
            return error_set(ERR_INPUT, "beam search: token %d cannot be banned", c->banned[i]);
    return 0;
}

/* Counts the tokens to ask for, so that 2 beam of them are not forbidden. */
static size_t ask_for(const Model *m, const BeamConfig *c)
{
    size_t V = model_config(m)->vocab;
    size_t n = 2 * c->beam + c->banned_count + 1 + (c->no_repeat ? c->max_length : 0);
    return n < V ? n : V;
}

/* Allocates the host's arrays; b NULL: only counts their size. */
static size_t arrays(const Model *m, const BeamConfig *c, Beam *b, int *code)
{
    size_t R = c->beam * c->sentences, T = c->max_length, ask = ask_for(m, c), sum = 0;
    size_t ends = c->sentences * (2 * c->beam - 1), word = sizeof(int32_t), number = sizeof(double);
    Beam none;
    if (!b) b = &none;
    const struct {
        void **p;
        size_t n, size;
    } list[] = {{(void **)&b->live[0], R, sizeof(Live)},
                {(void **)&b->live[1], R, sizeof(Live)},
                {(void **)&b->token[0], R, T * word},
                {(void **)&b->token[1], R, T * word},
                {(void **)&b->log_p[0], R, T * number},
                {(void **)&b->log_p[1], R, T * number},
                {(void **)&b->sentence, c->sentences, sizeof(Sentence)},
                {(void **)&b->best, ends, sizeof(Hypothesis)},
                {(void **)&b->ended, ends, (T + 1) * word},
                {(void **)&b->ended_log_p, ends, (T + 1) * number},
                {(void **)&b->candidate, c->beam, 2 * c->beam * sizeof(Candidate)},
                {(void **)&b->next, R, word},
                {(void **)&b->parent, R, word},
                {(void **)&b->of, R, word},
                {(void **)&b->index, R, ask * word},
                {(void **)&b->only, R, word},
                {(void **)&b->value, R, ask * number},
                {(void **)&b->only_log_p, R, number},
                {(void **)&b->mark, model_config(m)->vocab, 1},
                {(void **)&b->d, 1 + c->others, sizeof *b->d}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        sum += list[i].n * list[i].size;
        if (!code) continue;
        *list[i].p = memory_new(list[i].n, list[i].size);
        if (!*list[i].p) *code = ERR_MEMORY;
    }
    return sum;
}

size_t beam_bytes(const Model *m, const BeamConfig *c)
{
    size_t rows = c->beam * c->sentences;
    size_t bytes = arrays(m, c, NULL, NULL);
    for (size_t k = 0; k <= c->others; k++)
        bytes += decoding_bytes(k ? c->other[k - 1] : m, rows, c->max_length + 1, ask_for(m, c));
    return bytes;
}

int beam_new(Model *m, const BeamConfig *config, Beam **out)
{
    TRY(beam_check(m, config));
    SCOPED(beam_drop) Beam *b = memory_new(1, sizeof *b);
    int code = 0;
    if (!b) return ERR_MEMORY;
    b->c = *config;
    b->pairs = model_plan(m)->sides > 1;
    b->rows = config->beam * config->sentences;
    b->ask = ask_for(m, config);
    b->ends = 2 * config->beam - 1;
    arrays(m, config, b, &code);
    TRY(code);
    for (size_t k = 0; k <= config->others; k++)
        TRY(decoding_new(k ? config->other[k - 1] : m, b->rows, config->max_length + 1, b->ask,
                         &b->d[k]));
    for (size_t i = 0; i < config->banned_count; i++) b->mark[config->banned[i]] = BANNED;
    *out = b;
    b = NULL;
    return 0;
}

void beam_free(Beam *b)
{
    if (!b) return;
    for (size_t k = 0; b->d && k <= b->c.others; k++) decoding_free(b->d[k]);
    void *list[] = {b->live[0],     b->live[1],   b->token[0],
                    b->token[1],    b->log_p[0],  b->log_p[1],
                    b->sentence,    b->best,      b->ended,
                    b->ended_log_p, b->candidate, b->next,
                    b->parent,      b->of,        b->index,
                    b->only,        b->value,     b->only_log_p,
                    b->mark,        b->d,         b};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) memory_free(list[i]);
}

/* ---- forbidden tokens ------------------------------------------------------------------------------ */

/* Adds REPEATS to the marks of tokens that would end n tokens which stand in y (t) already (on 0: removes it); returns
 * how many there are at most. */
static size_t mark_repeats(Beam *b, size_t t, const int32_t *y, int on)
{
    size_t n = b->c.no_repeat, marked = 0;
    if (n == 0 || t < n) return 0;
    const int32_t *last = y + t - (n - 1);
    for (size_t i = 0; i + n <= t; i++) {
        if (memcmp(y + i, last, (n - 1) * sizeof *y) != 0) continue;
        unsigned char *mark = &b->mark[y[i + n - 1]];
        *mark = (unsigned char)(on ? *mark | REPEATS : *mark & ~REPEATS);
        marked++;
    }
    return marked;
}

/* Returns the only token that may follow the t tokens of a hypothesis: <eos> at the longest length, the next of its
 * sentence's prefix, or -1. */
static int32_t forced(const Beam *b, const Live *l, size_t t)
{
    if (t == b->sentence[l->sentence].longest) return b->c.eos;
    if (!b->c.prefix || t >= b->c.prefix[l->sentence].length) return -1;
    return b->c.prefix[l->sentence].token[t];
}

static size_t asked(Beam *b, size_t t)
{
    size_t most = 0, open = 0;
    for (size_t r = 0; r < b->count[0]; r++) {
        const Live *l = &b->live[0][r];
        if (forced(b, l, t) >= 0) continue;
        size_t n = mark_repeats(b, t, l->token, 0);
        most = n > most ? n : most;
        open++;
    }
    size_t K = 2 * b->c.beam + b->c.banned_count + 1 + most;
    return open == 0 ? 0 : K < b->ask ? K : b->ask;
}

/* ---- a step of a sentence ---------------------------------------------------------------------------- */

static int by_sum(const void *x, const void *y)
{
    const Candidate *a = x, *b = y;
    if (a->sum != b->sum) return a->sum < b->sum ? 1 : -1;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return (a->token > b->token) - (a->token < b->token);
}

static int add(Beam *b, size_t *n, size_t r, size_t t, int32_t token, double log_p)
{
    const Live *l = &b->live[0][r];
    if (!isfinite(log_p))
        return error_set(ERR_NUMERIC, "beam search: log p of token %zu of sentence %zu is %g",
                         t + 1, l->sentence + 1, log_p);
    b->candidate[(*n)++] = (Candidate){l->sum + log_p, log_p, r, token};
    return 0;
}

/* Lists the candidates of live hypotheses first .. end-1, all of one sentence, in order; K: tokens that were asked
 * for. */
static int list_candidates(Beam *b, size_t first, size_t end, size_t t, size_t K, size_t *n)
{
    const Sentence *s = &b->sentence[b->live[0][first].sentence];
    *n = 0;
    for (size_t r = first; r < end; r++) {
        const Live *l = &b->live[0][r];
        int32_t only = forced(b, l, t);
        if (only >= 0) {
            TRY(add(b, n, r, t, only, b->only_log_p[r]));
            continue;
        }
        mark_repeats(b, t, l->token, 1);
        size_t taken = 0;
        int code = 0;
        for (size_t k = 0; k < K && taken < 2 * b->c.beam && code == 0; k++) {
            int32_t token = b->index[r * K + k];
            if (b->mark[token] || (token == b->c.eos && t < s->shortest)) continue;
            code = add(b, n, r, t, token, b->value[r * K + k]);
            taken++;
        }
        mark_repeats(b, t, l->token, 0);
        TRY(code);
    }
    qsort(b->candidate, *n, sizeof *b->candidate, by_sum);
    return 0;
}

/* Inserts a candidate into the finished ones, behind those that are as good. */
static void finish(Beam *b, Sentence *s, const Candidate *c, size_t t)
{
    const Live *l = &b->live[0][c->from];
    size_t slot = (size_t)(s - b->sentence) * b->ends + s->finished, length = t + 1;
    int32_t *token = b->ended + slot * (b->c.max_length + 1);
    double *log_p = b->ended_log_p + slot * (b->c.max_length + 1);
    double score = c->sum / penalty_value(b->c.penalty, b->c.alpha, length);
    memcpy(token, l->token, t * sizeof *token);
    memcpy(log_p, l->log_p, t * sizeof *log_p);
    token[t] = c->token;
    log_p[t] = c->log_p;
    size_t i = s->finished++;
    for (; i > 0 && s->best[i - 1].score < score; i--) s->best[i] = s->best[i - 1];
    s->best[i] = (Hypothesis){length, token, log_p, c->sum, score};
}

static void go_on(Beam *b, const Candidate *c, size_t t)
{
    size_t r = b->count[1]++;
    const Live *old = &b->live[0][c->from];
    Live *l = &b->live[1][r];
    *l = (Live){old->sentence, c->sum, b->token[1] + r * b->c.max_length,
                b->log_p[1] + r * b->c.max_length};
    memcpy(l->token, old->token, t * sizeof *l->token);
    memcpy(l->log_p, old->log_p, t * sizeof *l->log_p);
    l->token[t] = b->next[r] = c->token;
    l->log_p[t] = c->log_p;
    b->parent[r] = (int32_t)c->from;
    b->of[r] = (int32_t)old->sentence;
}

/* Advances the live hypotheses first .. end-1 of a sentence by one step. */
static int advance(Beam *b, size_t first, size_t end, size_t t, size_t K, BeamDone *done, void *arg)
{
    size_t number = b->live[0][first].sentence, n, before = b->count[1];
    Sentence *s = &b->sentence[number];
    TRY(list_candidates(b, first, end, t, K, &n));
    for (size_t i = 0; i < n && i < 2 * b->c.beam; i++) {
        const Candidate *c = &b->candidate[i];
        if (c->token != b->c.eos) {
            if (b->count[1] - before < b->c.beam) go_on(b, c, t);
        } else if (i < b->c.beam) {
            finish(b, s, c, t);
        }
    }
    if (s->finished < b->c.beam && b->count[1] > before) return 0;
    b->count[1] = before;
    if (s->finished == 0)
        return error_set(ERR_INPUT,
                         "beam search: no output of sentence %zu is allowed: its %zu tokens can go "
                         "on with none; ban fewer, or lower the shortest length",
                         number + 1, t);
    return done(arg, number, s->finished < b->c.nbest ? s->finished : b->c.nbest, s->best);
}

/* ---- the search --------------------------------------------------------------------------------------- */

static int step(Beam *b, size_t t, BeamDone *done, void *arg)
{
    for (size_t k = 0; k <= b->c.others; k++)
        TRY(decoding_step(b->d[k], b->count[0], b->next, b->parent, b->of));
    size_t K = asked(b, t), forces = 0;
    for (size_t r = 0; r < b->count[0]; r++) {
        int32_t token = forced(b, &b->live[0][r], t);
        b->only[r] = token >= 0 ? token : b->c.eos;
        forces += token >= 0;
    }
    int32_t *only = forces ? b->only : NULL;
    TRY(b->c.others
            ? decoding_mean(b->d, 1 + b->c.others, K, b->index, b->value, only, b->only_log_p)
            : decoding_best(b->d[0], K, b->index, b->value, only, b->only_log_p));
    b->count[1] = 0;
    for (size_t first = 0, end; first < b->count[0]; first = end) {
        end = first + 1;
        while (end < b->count[0] && b->live[0][end].sentence == b->live[0][first].sentence) end++;
        TRY(advance(b, first, end, t, K, done, arg));
    }
    Live *live = b->live[0];
    int32_t *token = b->token[0];
    double *log_p = b->log_p[0];
    b->live[0] = b->live[1], b->token[0] = b->token[1], b->log_p[0] = b->log_p[1];
    b->live[1] = live, b->token[1] = token, b->log_p[1] = log_p;
    b->count[0] = b->count[1];
    return 0;
}

static size_t longest_of(const Beam *b, const Batch *x, size_t s)
{
    const BeamConfig *c = &b->c;
    if (!b->pairs || (c->max_ratio == 0 && c->max_extra == 0)) return c->max_length;
    size_t from = x->source.start[s], end = x->source.start[s + 1];
    if (end > from && x->source.input[end - 1] == c->eos) end--;
    double most = floor(c->max_ratio * (double)(end - from) + c->max_extra);
    if (c->prefix) most = fmax(most, (double)c->prefix[s].length);
    return most < (double)c->max_length ? (size_t)most : c->max_length;
}

int beam_search(Beam *b, const Batch *x, BeamDone *done, void *arg)
{
    NEED(x->S >= 1 && x->S <= b->c.sentences);
    for (size_t k = 0; k <= b->c.others; k++) TRY(decoding_begin(b->d[k], b->pairs ? x : NULL));
    for (size_t s = 0; s < x->S; s++) {
        size_t most = longest_of(b, x, s);
        b->sentence[s] = (Sentence){b->c.min_length < most ? b->c.min_length : most, most, 0,
                                    b->best + s * b->ends};
        b->live[0][s] =
            (Live){s, 0, b->token[0] + s * b->c.max_length, b->log_p[0] + s * b->c.max_length};
        b->next[s] = b->c.eos;
        b->parent[s] = -1;
        b->of[s] = (int32_t)s;
    }
    b->count[0] = x->S;
    for (size_t t = 0; b->count[0] > 0; t++) {
        if (b->c.stop && *b->c.stop) return error_set(ERR_INTERRUPTED, "interrupted");
        tick_of((double)t, (double)b->c.max_length);
        TRY(step(b, t, done, arg));
    }
    return 0;
}
