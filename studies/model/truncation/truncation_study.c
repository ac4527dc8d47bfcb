/* truncation_study.c: runs truncator_measure for every scheme, layer and sentence,
 * and tabulates the results. */
#include "studies/model/truncation/truncation_study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/clock.h"
#include "studies/base/command.h"

static const double check_most = 1e-9; /* larger than the amplified rounding of some layers */

/* ---- measurements ----------------------------------------------------------------------------------- */

int truncation_fields(const TruncationInput *in, const Table *scheme)
{
    int asked = in->fields[FIELD_SPLIT] << FIELD_SPLIT | in->fields[FIELD_LAYER] << FIELD_LAYER;
    if (asked) return asked;
    return 1 << FIELD_SPLIT | (table_over(scheme, OP_L) ? 1 << FIELD_LAYER : 0);
}

/* Adds the curves of a scheme; skips fields in which the scheme has no step. */
static int add_series(TruncationStudy *u, Truncator *const truncator[2], const Table *scheme)
{
    int fields = truncation_fields(u->in, scheme);
    for (int f = 0; f < 2; f++) {
        if (!(fields & 1 << f)) continue;
        int code = truncator_takes(truncator[f], scheme);
        if (code < 0) return code;
        if (code > 0) continue;
        TruncationSeries *s = &u->series[u->count++];
        *s = (TruncationSeries){.scheme = scheme, .field = f};
        snprintf(s->name, sizeof s->name, "%s%s", scheme->name, f ? " (field L)" : "");
    }
    return 0;
}

/* Warns of schemes that were left out while others were not. */
static void tell_left_out(const TruncationStudy *u, Truncator *const truncator[2])
{
    const Selection *s = &u->in->schemes;
    for (size_t i = 0; i < s->count; i++)
        for (int f = 0; f < 2; f++)
            if (truncation_fields(u->in, s->scheme[i]) & 1 << f &&
                truncator_takes(truncator[f], s->scheme[i]) == ERR_ACCURACY)
                notice_warn("%s; left out", error_text());
}

static int list_series(TruncationStudy *u, Truncator *const truncator[2])
{
    const Selection *s = &u->in->schemes;
    char words[900];
    u->series = memory_new(2 * s->count, sizeof *u->series);
    if (!u->series) return ERR_MEMORY;
    for (size_t i = 0; i < s->count; i++) TRY(add_series(u, truncator, s->scheme[i]));
    snprintf(words, sizeof words, "%s", error_text());
    if (u->count == 0) return error_set(ERR_INPUT, "--scheme: %s", words);
    tell_left_out(u, truncator);
    u->cell = memory_new(u->count * u->layers, u->in->drawn.of.count * sizeof *u->cell);
    u->room = memory_new(u->layers, u->in->drawn.of.count * sizeof *u->room);
    return u->cell && u->room ? 0 : ERR_MEMORY;
}

Truncation *truncation_cell(const TruncationStudy *u, size_t series, size_t layer, size_t sentence)
{
    return &u->cell[(series * u->layers + layer) * u->in->drawn.of.count + sentence];
}

/* Progress of a study, for those who wait. */
typedef struct {
    double begun;
    size_t sentence, sentences, layer;
    const char *name;
    size_t done, all; /* cells */
} Pace;

/* Shows progress. share: done part of the present cell. */
static void show_pace(void *arg, const char *what, double share)
{
    const Pace *p = arg;
    char left[32];
    if (!progress_due()) return;
    (void)what;
    double done = (double)p->done + share, passed = clock_now() - p->begun;
    progress_time(done > 0 ? passed / done * ((double)p->all - done) : INFINITY, left);
    progress_show("sentence %zu of %zu, layer %zu, %s%s%s", p->sentence + 1, p->sentences, p->layer,
                  p->name, *left ? ", about " : "", *left ? left : "");
}

static int measure_layer(TruncationStudy *u, Truncator *t, int field, size_t sentence, size_t layer,
                         Pace *pace)
{
    for (size_t i = 0; i < u->count; i++) {
        const TruncationSeries *s = &u->series[i];
        if (s->field != field) continue;
        Truncation *c = truncation_cell(u, i, layer, sentence);
        pace->sentence = sentence, pace->layer = layer, pace->name = s->name;
        show_pace(pace, NULL, 0);
        int code = truncator_measure(t, (int)layer, s->scheme, c);
        if (code == ERR_NUMERIC)
            notice_warn("%s, layer %zu, sentence %zu: %s", s->name, layer, sentence + 1,
                        error_text());
        if (code != 0 && code != ERR_NUMERIC) return code;
        if (code != 0) c->points = 0;
        pace->done++;
    }
    return 0;
}

static int measure_all(TruncationStudy *u, Truncator *const truncator[2], Pace *pace)
{
    const Sentences *s = &u->in->drawn.of;
    *pace =
        (Pace){.begun = clock_now(), .sentences = s->count, .all = u->count * u->layers * s->count};
    for (size_t k = 0; k < s->count; k++)
        for (int f = 0; f < 2; f++) {
            double check;
            Sentence one = sentence_at(s, k);
            TRY(truncator_sentence(truncator[f], &one, &check));
            if (!(check <= u->check)) u->check = check;
            for (size_t l = 0; l < u->layers; l++)
                TRY(measure_layer(u, truncator[f], f, k, l, pace));
        }
    progress_clear();
    return 0;
}

/* ---- all -------------------------------------------------------------------------------------------- */

int truncation_open(const TruncationInput *in, int field, int terms, Watch watch, Truncator **out)
{
    TruncationOptions o = in->options;
    o.field = field;
    o.terms = terms;
    o.watch = watch;
    return truncator_new(in->network.model, in->trained, &o, out);
}

static int run(TruncationStudy *u, Truncator *truncator[2])
{
    Pace pace;
    for (int f = 0; f < 2; f++)
        TRY(truncation_open(u->in, f, 1, (Watch){show_pace, &pace}, &truncator[f]));
    TRY(list_series(u, truncator));
    return measure_all(u, truncator, &pace);
}

int truncation_run(TruncationInput *in, TruncationStudy *u)
{
    Truncator *truncator[2] = {NULL, NULL};
    *u = (TruncationStudy){.in = in,
                           .layers = model_plan(in->network.model)->layers[in->options.side]};
    int code = run(u, truncator);
    truncator_free(truncator[0]);
    truncator_free(truncator[1]);
    progress_clear();
    if (code == 0 && !(u->check <= check_most))
        return error_set(ERR_CHECK,
                         "the field's sublayers do not make the network: they differ by %.2g",
                         u->check);
    return code;
}

void truncation_free(TruncationStudy *u)
{
    sheet_free(u->points);
    sheet_free(u->summary);
    sheet_free(u->terms);
    sheet_free(u->curves);
    sheet_free(u->by_layer);
    memory_free_all(u->series, u->cell, u->room);
    *u = (TruncationStudy){0};
}
