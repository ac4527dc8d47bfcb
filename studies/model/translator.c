/* translator.c: lines -> sources in batches -> beam search -> lines (translator.h). */
#include "studies/model/translator.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "nn/text/corpus.h"

enum { SEARCH_BYTES = 1 << 28 };

const OptionGroup translator_group = {
    "Search", 1,
    OPTIONS({"beam", OPTION_SIZE, "5", "K", "hypotheses kept of a sentence; 1: greedy", 1, 10000},
            {"penalty", OPTION_CHOICE, "power", PENALTY_NAMES,
             "the sum of log p is divided by 1, by length^alpha (fairseq, Marian), or by "
             "((5 + length) / 6)^alpha (Wu et al. 2016); a length counts <eos>"},
            {"alpha", OPTION_REAL, "1", "X", "of that penalty", -10, 10},
            {"min-length", OPTION_SIZE, "1", "N", "fewest tokens of a translation, without <eos>",
             0, 65536},
            {"max-length", OPTION_SIZE, NULL, "N", "most tokens (default: --sequence less one)", 1,
             65536},
            {"max-ratio", OPTION_REAL, "0", "A",
             "at most A tokens for each token of the source, plus --max-extra (both 0: no limit)",
             0, 1000},
            {"max-extra", OPTION_REAL, "0", "B",
             "tokens allowed beyond --max-ratio times the source (fairseq: --max-len-b)", 0, 65536},
            {"no-repeat", OPTION_SIZE, "0", "N",
             "no N tokens twice in a translation; 0: they may be", 0, 65536},
            {"no-unknown", OPTION_FLAG, "no", NULL, "never <unk> in a translation"},
            {"sentences", OPTION_SIZE, "64", "N", "sentences searched together", 1, 65536,
             .flags = OPTION_MAY_DIFFER})};

struct Translator {
    Model *const *model; /* (models) */
    size_t models;
    const Text *begins;
    BeamPrefix *prefix; /* (sentences) of a batch */
    const Vocab *vocab;
    Beam *beam;
    size_t sentences, tokens, longest, most; /* of a batch; of a source; of an output */
    int32_t banned;
    /* A batch: (sentences) lines, (tokens) ids and positions, (sentences + 1) starts. */
    size_t *line, *start;
    int32_t *position;
    Batch x;
};

/* The state of one line. */
typedef struct {
    size_t first, length; /* tokens of the source, <eos> included */
    BeamPrefix begins;
    int done;
    size_t count;
    Hypothesis *best; /* one block with all its arrays */
} Line;

typedef struct {
    Translator *t;
    Line *line; /* (lines) */
    size_t lines, told;
    TranslatorDone *done;
    void *arg;
} Work;

static int open_search(const Options *o, size_t nbest, const volatile int *stop, Translator *t)
{
    const ModelConfig *c = model_config(t->model[0]);
    size_t beam = options_size(o, "beam"), most = options_size(o, "max-length");
    if (beam > c->max_tokens)
        return error_set(ERR_INPUT,
                         "--beam %zu: the model has room for --batch-tokens %zu hypotheses", beam,
                         c->max_tokens);
    if (most >= c->max_length)
        return error_set(ERR_INPUT,
                         "--max-length %zu: the model has room for --sequence %zu, <eos> "
                         "included",
                         most, c->max_length);
    t->sentences = options_size(o, "sentences");
    if (t->sentences > c->max_tokens / beam) t->sentences = c->max_tokens / beam;
    t->tokens = c->max_source;
    t->longest = c->max_source_length;
    t->most = most ? most : c->max_length - 1;
    t->prefix = memory_new(t->sentences, sizeof *t->prefix);
    if (!t->prefix) return ERR_MEMORY;
    BeamConfig b = {.beam = beam,
                    .nbest = nbest,
                    .penalty = options_choice(o, "penalty"),
                    .alpha = options_real(o, "alpha"),
                    .min_length = options_size(o, "min-length"),
                    .max_length = t->most,
                    .max_ratio = options_real(o, "max-ratio"),
                    .max_extra = options_real(o, "max-extra"),
                    .no_repeat = options_size(o, "no-repeat"),
                    .eos = t->vocab->eos,
                    .banned = &t->banned,
                    .banned_count = options_flag(o, "no-unknown") && t->vocab->unk >= 0,
                    .sentences = t->sentences,
                    .prefix = t->prefix,
                    .other = t->model + 1,
                    .others = t->models - 1,
                    .stop = stop};
    t->banned = t->vocab->unk;
    /* The keys and values of all hypotheses at their longest, for every evaluation, may take SEARCH_BYTES; fewer
     * sentences are searched together where they take more. */
    while (t->sentences > 1 && beam_check(t->model[0], &b) == 0 &&
           beam_bytes(t->model[0], &b) > SEARCH_BYTES)
        b.sentences = t->sentences = (t->sentences + 1) / 2;
    return beam_new(t->model[0], &b, &t->beam);
}

int translator_new(const Options *o, Model *const *model, size_t models, const Vocab *v,
                   size_t nbest, const volatile int *stop, Translator **out)
{
    Translator *t = *out = memory_new(1, sizeof *t);
    if (!t) return ERR_MEMORY;
    *t = (Translator){.model = model, .models = models, .vocab = v};
    int code = open_search(o, nbest, stop, t);
    if (code == 0) {
        t->line = memory_new(t->sentences, sizeof *t->line);
        t->start = memory_new(t->sentences + 1, sizeof *t->start);
        t->position = memory_new(t->tokens, sizeof *t->position);
        t->x.source.input = memory_new(t->tokens, sizeof *t->x.source.input);
        if (!t->line || !t->start || !t->position || !t->x.source.input) code = ERR_MEMORY;
        t->x.source.position = t->position;
        t->x.source.start = t->start;
    }
    if (code != 0) {
        translator_free(t);
        *out = NULL;
    }
    return code;
}

void translator_begins(Translator *t, const Text *begins)
{
    t->begins = begins;
}

void translator_free(Translator *t)
{
    if (!t) return;
    memory_free(t->prefix);
    beam_free(t->beam);
    memory_free_all(t->line, t->start, t->position, t->x.source.input, t);
}

/* ---- what is found ------------------------------------------------------------------------------ */

/* Reports the lines that are done and not yet reported, in their order. */
static int tell(Work *w)
{
    for (; w->told < w->lines && w->line[w->told].done; w->told++) {
        Line *l = &w->line[w->told];
        Translation t = {.line = w->told,
                         .count = l->count,
                         .best = l->best,
                         .too_long = l->length > w->t->longest ? l->length : 0};
        int code = w->done(w->arg, &t);
        l->best = memory_free(l->best);
        if (code != 0) return code;
    }
    return 0;
}

/* Copies the hypotheses that the search found for sentence s of the batch. */
static int keep(void *arg, size_t s, size_t count, const Hypothesis *best)
{
    Work *w = arg;
    Line *l = &w->line[w->t->line[s]];
    size_t tokens = 0;
    for (size_t i = 0; i < count; i++) tokens += best[i].length;
    l->best = memory_new(count * sizeof *best + tokens * (sizeof(double) + sizeof(int32_t)), 1);
    if (!l->best) return ERR_MEMORY;
    double *p = (double *)(void *)(l->best + count);
    int32_t *id = (int32_t *)(void *)(p + tokens);
    for (size_t i = 0; i < count; i++) {
        size_t n = best[i].length;
        l->best[i] = best[i];
        l->best[i].log_p = memcpy(p, best[i].log_p, n * sizeof *p);
        l->best[i].token = memcpy(id, best[i].token, n * sizeof *id);
        p += n;
        id += n;
    }
    l->count = count;
    l->done = 1;
    return tell(w);
}

/* ---- batches ------------------------------------------------------------------------------------ */

typedef struct {
    size_t length, line;
} Place;

static int shorter(const void *x, const void *y)
{
    const Place *a = x, *b = y;
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* Searches the lines of place[0 .. *taken-1], as many as go together. */
static int search(Work *w, const Text *source, const Place *place, size_t n, size_t *taken)
{
    Translator *t = w->t;
    Batch *x = &t->x;
    x->S = x->source.N = x->source.longest = 0;
    for (*taken = 0; *taken < n && x->S < t->sentences; ++*taken) {
        const Line *l = &w->line[place[*taken].line];
        if (x->source.N + l->length > t->tokens) break;
        t->line[x->S] = place[*taken].line;
        t->prefix[x->S] = l->begins;
        t->start[x->S++] = x->source.N;
        for (size_t i = 0; i < l->length; i++, x->source.N++) {
            x->source.input[x->source.N] = source->id[l->first + i];
            t->position[x->source.N] = (int32_t)i;
        }
        if (l->length > x->source.longest) x->source.longest = l->length;
    }
    t->start[x->S] = x->source.N;
    return beam_search(t->beam, x, keep, w);
}

/* Finds the beginning of each line. */
static int find_begins(const Translator *t, Line *line, size_t lines)
{
    for (size_t i = 0, at = 0; t->begins && i < lines; i++) {
        size_t first = at;
        while (t->begins->id[at] != t->vocab->eos) at++;
        line[i].begins = (BeamPrefix){t->begins->id + first, at++ - first};
        if (line[i].begins.length > t->most)
            return error_set(
                ERR_INPUT, "line %zu: a beginning of %zu tokens, and a translation has at most %zu",
                i + 1, line[i].begins.length, t->most);
    }
    return 0;
}

int translator_run(Translator *t, const Text *source, TranslatorDone *done, void *arg)
{
    Work w = {.t = t, .lines = source->lines, .done = done, .arg = arg};
    SCOPED(memory_drop) Place *place = memory_new(source->lines, sizeof *place);
    w.line = memory_new(source->lines, sizeof *w.line);
    size_t n = 0;
    for (size_t i = 0, at = 0; place && w.line && i < w.lines; i++) {
        Line *l = &w.line[i];
        l->first = at;
        while (source->id[at++] != t->vocab->eos) continue;
        l->length = at - l->first;
        l->done = l->length == 1 || l->length > t->longest;
        if (!l->done) place[n++] = (Place){l->length, i};
    }
    int code = place && w.line ? 0 : ERR_MEMORY;
    if (code == 0) code = find_begins(t, w.line, w.lines);
    if (code == 0) qsort(place, n, sizeof *place, shorter);
    for (size_t i = 0, taken; i < n && code == 0; i += taken)
        code = search(&w, source, place + i, n - i, &taken);
    if (code == 0) code = tell(&w);
    for (size_t i = 0; w.line && i < w.lines; i++) memory_free(w.line[i].best);
    memory_free(w.line);
    return code;
}

/* ---- words -------------------------------------------------------------------------------------- */

/* Writes what a tokenizer's tokens show, without the blank that a first word may begin with. */
static int token_words(const Vocab *v, const int32_t *token, size_t n, char **line)
{
    size_t bytes = 1, m;
    for (size_t i = 0; i < n; i++) tokenizer_shown(v->tokens, (size_t)token[i], &m), bytes += m;
    char *p = *line = memory_new(bytes, 1);
    if (!p) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        if (token[i] == v->eos) continue;
        const char *shown = tokenizer_shown(v->tokens, (size_t)token[i], &m);
        int blank = p == *line && m && *shown == ' ';
        memcpy(p, shown + blank, m - (size_t)blank);
        p += m - (size_t)blank;
    }
    return 0;
}

int translator_words(const Vocab *v, const Bpe *bpe, const int32_t *token, size_t n, char **line)
{
    size_t bytes = 1;
    if (v->tokens) return token_words(v, token, n, line);
    for (size_t i = 0; i < n; i++) bytes += strlen(v->word[token[i]]) + 1;
    char *p = *line = memory_new(bytes, 1);
    if (!p) return ERR_MEMORY;
    int letters = v->level == LEVEL_CHAR;
    for (size_t i = 0; i < n; i++) {
        const char *word = v->word[token[i]];
        if (token[i] == v->eos) continue;
        if (letters && strcmp(word, CHAR_BLANK) == 0) word = " ";
        if (!letters && p > *line) *p++ = ' ';
        p = stpcpy(p, word);
    }
    if (bpe) (*line)[bpe_join(*line, (size_t)(p - *line))] = '\0';
    return 0;
}
