/* measure_sentences.c: measures that read the sentences of --truncation: N sentences of the validation text, the same for all
 * networks. Each is a function of a network and these sentences (StudyMeasure.of); here the network is loaded, the sentences are
 * drawn, and the function is tried on an untrained network before any training. */

#include <stdio.h>

#include "kernels/base/clock.h"
#include "studies/model/trained.h"
#include "studies/lab/study/measures.h"
#include "studies/base/command.h"

enum { DRAW = 1 }; /* seed of the sentences: the same for all */

static size_t tokens_of(const Options *o)
{
    return sentences_tokens(options_size(o, "truncation-tokens"), options_size(o, "sequence"));
}

int measure_has_sentences(const Study *u)
{
    const Options *o = u->options;
    return options_known(o, "truncation") && options_size(o, "truncation") > 0 &&
           network_bridge(o).norm == NORM_PRE;
}

/* Loads a run's network and draws the sentences; the tolerance out. */
static int begin(const Study *u, const char *dir, Network *n, Drawn *drawn, double *tolerance)
{
    const Options *o = u->options;
    const Text *source = u->kind->pairs ? &u->corpus.source[SPLIT_VALID] : NULL;
    TRY(trained_load(dir, tokens_of(o), options_size(o, "threads"), n));
    *tolerance = sentences_tolerance(options_real(o, "truncation-tolerance"), n->model);
    return sentences_draw(&u->corpus.vocab, &u->corpus.text[SPLIT_VALID], source,
                          options_size(o, "truncation"), tokens_of(o), DRAW, drawn);
}

int measure_how_sentences(const Study *u, char *out, size_t room)
{
    const Options *o = u->options;
    snprintf(out, room, "%zu sentences of %zu tokens within %g", options_size(o, "truncation"),
             tokens_of(o), options_real(o, "truncation-tolerance"));
    return 0;
}

int measure_on_sentences(const StudyMeasured *r, const StudyMeasure *m, Frame *out)
{
    SCOPED(network_free) Network n = {0};
    SCOPED(sentences_free) Drawn drawn = {0};
    double tolerance = 0, begun = clock_now();
    progress_show("%s of %s", m->what, r->name);
    TRY(begin(r->study, r->dir, &n, &drawn, &tolerance));
    TRY(m->of(&n, r->spec.stacks.layers, &drawn, tolerance, out));
    runs_note(&r->study->runs, "%s: %s %.4g, in %.1f s", r->name, m->what,
              frame_real(out, 0, m->columns->name), clock_now() - begun);
    return 0;
}

/* Makes the options of a network that reads so many tokens. */
static int short_options(const Study *u, size_t tokens, Options **out)
{
    static const char *const rooms[] = {"sequence", "batch-tokens"};
    const Option *p;
    const char *text;
    char number[32];
    snprintf(number, sizeof number, "%zu", tokens);
    TRY(options_new(u->groups, out));
    for (size_t i = 0; options_recorded(u->options, i, &p, &text); i++)
        TRY(options_set(*out, OPTION_FILE, "", p->name, text));
    for (size_t i = 0; i < 2; i++) TRY(options_set(*out, OPTION_ARGUMENT, "", rooms[i], number));
    return 0;
}

int measure_try_sentences(const Study *u, const RunSpec *s, const StudyMeasure *m)
{
    enum { SHORT = 4 }; /* tokens; whether a sentence can be drawn does not depend on its length */
    size_t asked = tokens_of(u->options), tokens = asked < SHORT ? asked : SHORT;
    const Text *source = u->kind->pairs ? &u->corpus.source[SPLIT_VALID] : NULL;
    const double rough = 1e-3; /* the largest tolerance that --truncation-tolerance takes */
    const Backend *b;
    SCOPED(frame_close) Frame out = {0}; /* without columns: no number is kept */
    SCOPED(options_drop) Options *o = NULL;
    SCOPED(model_drop) Model *fresh = NULL;
    SCOPED(sentences_free) Drawn drawn = {0};
    TRY(frame_new(&out, &(Column){0}));
    TRY(frame_row(&out));
    TRY(short_options(u, tokens, &o));
    TRY(backend_find("cpu-f64", NULL, &b));
    TRY(runs_model(o, s, &u->corpus.vocab, b, &fresh));
    TRY(sentences_draw(&u->corpus.vocab, &u->corpus.text[SPLIT_VALID], source, 1, tokens, DRAW,
                       &drawn));
    const Network n = {
        .table = (Table *)s->stacks.layers, .encoder = (Table *)s->stacks.encoder, .model = fresh};
    return m->of(&n, s->stacks.layers, &drawn, rough, &out);
}
