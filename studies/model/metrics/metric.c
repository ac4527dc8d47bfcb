/* metric.c: the table of metrics, and the loop over lines that they share. */
#include "studies/model/metrics/metric.h"

#include <stdio.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/tick.h"
#include "studies/base/option.h"

/* The symbols of a line: words of the tokenisation, characters, words at white space, or characters and words. */
enum { OF_TOKENS, OF_CHARACTERS, OF_WORDS, OF_BOTH };

/* Two functions of each metric. A line's texts (texts: the hypothesis, then references) come as their row asks. */
static int bleu_of(const Symbols *character, const Symbols *word, size_t texts, double *out)
{
    (void)character;
    return bleu_line(word, word + 1, texts - 1, out);
}

static double bleu_of_sums(const double *sums)
{
    return bleu_score(sums).score;
}

static int chrf_of(const Symbols *character, const Symbols *word, size_t texts, double *out)
{
    (void)word;
    return chrf_line(character, NULL, texts, out);
}

static double chrf_of_sums(const double *sums)
{
    return chrf_score(sums, 0);
}

static double chrf_words_of_sums(const double *sums)
{
    return chrf_score(sums, CHRF_WORDS);
}

static int ter_of(const Symbols *character, const Symbols *word, size_t texts, double *out)
{
    (void)character;
    return ter_line(word, word + 1, texts - 1, out);
}

static const struct {
    const char *name;
    int of, lower; /* lower: in lower case always */
    size_t width;
    int (*line)(const Symbols *character, const Symbols *word, size_t texts, double *out);
    double (*score)(const double *sums);
    const char *how; /* in signatures; %s: the tokenisation */
} table[METRICS] = {
    [METRIC_BLEU] = {"BLEU", OF_TOKENS, 0, BLEU_STATISTICS, bleu_of, bleu_of_sums,
                     "eff:no|tok:%s|smooth:exp"},
    [METRIC_CHRF] = {"chrF2", OF_CHARACTERS, 0, CHRF_STATISTICS, chrf_of, chrf_of_sums,
                     "eff:yes|nc:6|nw:0|space:no"},
    [METRIC_CHRF_WORDS] = {"chrF2++", OF_BOTH, 0, CHRF_WORDS_STATISTICS, chrf_line,
                           chrf_words_of_sums, "eff:yes|nc:6|nw:2|space:no"},
    [METRIC_TER] = {"TER", OF_WORDS, 1, TER_STATISTICS, ter_of, ter_score,
                    "tok:tercom|norm:no|punct:yes|asian:no"},
};

const char *metric_name(int metric)
{
    return table[metric].name;
}

/* ---- lines --------------------------------------------------------------------------------------- */

/* Room for a line of a hypothesis (0) and its references (1 ..). */
typedef struct {
    size_t texts;
    Symbols *text, *words; /* (texts) */
    Symbols room;
} Work;

static void work_free(Work *w)
{
    for (size_t t = 0; w->text && w->words && t < w->texts; t++) {
        symbols_free(&w->text[t]);
        symbols_free(&w->words[t]);
    }
    memory_free(w->text);
    memory_free(w->words);
    symbols_free(&w->room);
}

/* Computes the statistics of line i. */
static int add_line(int metric, const MetricOptions *o, const Lines *hypothesis,
                    const Lines *reference, size_t i, Work *w, Words *words, double *out)
{
    int of = table[metric].of;
    for (size_t t = 0; t < w->texts; t++) {
        const Line *line = t ? &reference[t - 1].line[i] : &hypothesis->line[i];
        TRY(tokenise_read(line->text, line->bytes, o->lowercase || table[metric].lower, &w->text[t],
                          &w->room));
        if (of != OF_CHARACTERS)
            TRY(tokenise(of == OF_TOKENS ? o->tokenize : TOKENIZE_NONE, &w->text[t], &w->room));
        if (of == OF_BOTH) TRY(tokenise_punctuation(&w->text[t], &w->room));
    }
    for (size_t t = 0; of != OF_CHARACTERS && t < w->texts; t++)
        TRY(symbols_words(&w->text[t], words, &w->words[t]));
    for (size_t t = 0; (of == OF_CHARACTERS || of == OF_BOTH) && t < w->texts; t++)
        tokenise_squeeze(&w->text[t]);
    return table[metric].line(w->text, w->words, w->texts, out);
}

int metric_lines(int metric, const MetricOptions *o, const Lines *hypothesis,
                 const Lines *reference, size_t references, Statistics *out)
{
    *out = (Statistics){hypothesis->count, table[metric].width, NULL};
    for (size_t r = 0; r < references; r++) TRY(lines_pair(hypothesis, &reference[r]));
    SCOPED(work_free) Work w = {.texts = references + 1};
    out->x = memory_new(out->lines, out->width * sizeof *out->x);
    w.text = memory_new(w.texts, sizeof *w.text);
    w.words = memory_new(w.texts, sizeof *w.words);
    if (!out->x || !w.text || !w.words) return ERR_MEMORY;
    for (size_t i = 0; i < out->lines; i++) {
        SCOPED(words_free) Words words = {0}; /* of this line alone, whose characters they borrow */
        TRY(add_line(metric, o, hypothesis, reference, i, &w, &words, out->x + i * out->width));
        tick_of((double)i, (double)out->lines);
    }
    return 0;
}

void metric_free(Statistics *s)
{
    memory_free(s->x);
    *s = (Statistics){0};
}

/* ---- scores -------------------------------------------------------------------------------------- */

void metric_sum(const Statistics *s, double *sums)
{
    memset(sums, 0, s->width * sizeof *sums);
    for (size_t i = 0; i < s->lines; i++)
        for (size_t k = 0; k < s->width; k++) sums[k] += s->x[i * s->width + k];
}

double metric_score(int metric, const double *sums)
{
    return table[metric].score(sums);
}

void metric_signature(int metric, const MetricOptions *o, size_t references, size_t resamples,
                      size_t seed, const char *version, char out[METRIC_SIGNATURE])
{
    char tokenize[OPTION_VALUE], drawn[80] = "", how[120];
    if (resamples) snprintf(drawn, sizeof drawn, "bs:%zu|seed:%zu|", resamples, seed);
    option_value(TOKENIZE_NAMES, o->tokenize, tokenize);
    snprintf(how, sizeof how, table[metric].how, tokenize);
    snprintf(out, METRIC_SIGNATURE, "nrefs:%zu|%scase:%s|%s|version:%s", references, drawn,
             o->lowercase || table[metric].lower ? "lc" : "mixed", how, version);
}
