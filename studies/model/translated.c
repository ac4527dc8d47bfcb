/* translated.c: translates a split, and scores the translations (translated.h). */
#include "studies/model/translated.h"

#include <stdio.h>
#include <string.h>

#include "kernels/base/clock.h"
#include "kernels/base/error.h"
#include "studies/base/output.h"
#include "studies/base/progress.h"

typedef struct {
    const Corpus *corpus;
    FILE *f;
    size_t done, all;
    const char *what;
} Writer;

static int write_translation(void *arg, const Translation *t)
{
    Writer *w = arg;
    char *words = NULL;
    if (t->too_long)
        return error_set(ERR_INPUT, "a source of %zu tokens: --sequence is shorter", t->too_long);
    if (t->count)
        TRY(translator_words(&w->corpus->vocab, w->corpus->bpe, t->best[0].token, t->best[0].length,
                             &words));
    fprintf(w->f, "%s\n", words ? words : "");
    memory_free(words);
    progress_show("%s: %zu of %zu", w->what, ++w->done, w->all);
    return 0;
}

static int read_references(const Corpus *c, int split, Lines *out)
{
    const Text *t = &c->text[split];
    if (c->files) {
        TRY(lines_read(t->file, out));
        if (out->count > t->lines)
            out->count = t->lines; /* the split is only the text's beginning */
        return 0;
    }
    SCOPED(output_drop) Output o = {0};
    char *text;
    TRY(output_open(&o));
    for (size_t i = 0, n; i < t->tokens; i += n) {
        SCOPED(memory_drop) char *words = NULL;
        for (n = 1; t->id[i + n - 1] != c->vocab.eos;) n++;
        TRY(translator_words(&c->vocab, c->bpe, t->id + i, n, &words));
        fprintf(o.f, "%s\n", words);
    }
    TRY(output_take(&o, 0, &text));
    return lines_take(t->file, text, strlen(text), out);
}

static int score_lines(const Corpus *c, int split, const MetricOptions *o, const Lines *hypothesis,
                       TranslatedScore *out, Statistics *lines)
{
    SCOPED(lines_free) Lines reference = {0};
    double sums[METRIC_WIDTH];
    TRY(read_references(c, split, &reference));
    for (int k = METRICS; k-- > 0;) { /* BLEU's, which may be kept, are the last */
        SCOPED(metric_free) Statistics of = {0};
        TRY(metric_lines(k, o, hypothesis, &reference, 1, &of));
        metric_sum(&of, sums);
        out->score[k] = metric_score(k, sums);
        if (k != METRIC_BLEU) continue;
        out->brevity = bleu_score(sums).brevity;
        if (lines) *lines = of, of = (Statistics){0};
    }
    return 0;
}

int translated_score(Translator *t, const Corpus *c, int split, const MetricOptions *o,
                     const char *what, char **text, TranslatedScore *out, Statistics *lines)
{
    Writer w = {.corpus = c, .all = c->source[split].lines, .what = what};
    Output collected;
    SCOPED(memory_drop) char *all = NULL;
    SCOPED(lines_free) Lines hypothesis = {0};
    double begun = clock_now();
    TRY(output_open(&collected));
    w.f = collected.f;
    int code = translator_run(t, &c->source[split], write_translation, &w);
    out->seconds = clock_now() - begun;
    TRY(output_take(&collected, code, &all));
    char *copy = memory_string(all);
    if (!copy) return ERR_MEMORY;
    TRY(lines_take("translations", copy, strlen(copy), &hypothesis));
    TRY(score_lines(c, split, o, &hypothesis, out, lines));
    if (!text) return 0;
    *text = all;
    all = NULL;
    return 0;
}
