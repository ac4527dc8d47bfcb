/* measure_truncation.c: the true truncation error of a trained network at h = 1, the network's own step, with its slope and
 * its leading term (bridge/truncation.h), on a few sentences of the validation text with the weights frozen in each layer:
 * the median over sentences and layers. The field is F + G; for schemes over L also y' = L(y), the ODE of their paper. For
 * pairs: the same error of the encoder's and of the decoder's layers. A post-norm network's layers are no steps on a field. */

#include <math.h>
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

/* Sums up errors; *is = 0 where the flow leaves the range of numbers. */
static int summary(const Network *n, const Table *own, const Table *t, const Drawn *drawn,
                   TruncationOptions *o, TruncationSummary *out, int *is)
{
    o->stop = &command_stop;
    int code = truncation_summary(n->model, own, t, &drawn->of, o, out);
    *is = code == 0;
    if (code == ERR_ACCURACY || code == ERR_NUMERIC) return 0;
    return code == ERR_INTERRUPTED ? command_interrupted() : code;
}

int measure_on_sentences(const StudyMeasured *r, const char *what, const char *column,
                         MeasureSentences *of, Frame *out)
{
    SCOPED(network_free) Network n = {0};
    SCOPED(sentences_free) Drawn drawn = {0};
    double tolerance = 0, begun = clock_now();
    progress_show("%s of %s", what, r->name);
    TRY(begin(r->study, r->dir, &n, &drawn, &tolerance));
    TRY(of(&n, r->spec.stacks.layers, &drawn, tolerance, out));
    runs_note(&r->study->runs, "%s: %s %.4g, in %.1f s", r->name, what, frame_real(out, 0, column),
              clock_now() - begun);
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

int measure_try_sentences(const Study *u, const RunSpec *s, MeasureSentences *of)
{
    enum { SHORT = 4 }; /* tokens; whether a sentence can be drawn does not depend on its length */
    size_t asked = tokens_of(u->options), tokens = asked < SHORT ? asked : SHORT;
    const Text *source = u->kind->pairs ? &u->corpus.source[SPLIT_VALID] : NULL;
    const double rough = 1e-3; /* the largest tolerance that --truncation-tolerance takes */
    const Backend *b;
    SCOPED(frame_close) Frame out = {0}; /* without columns: no number is kept */
    SCOPED(options_drop) Options *o = NULL;
    SCOPED(model_drop) Model *m = NULL;
    SCOPED(sentences_free) Drawn drawn = {0};
    TRY(frame_new(&out, &(Column){0}));
    TRY(frame_row(&out));
    TRY(short_options(u, tokens, &o));
    TRY(backend_find("cpu-f64", NULL, &b));
    TRY(runs_model(o, s, &u->corpus.vocab, b, &m));
    TRY(sentences_draw(&u->corpus.vocab, &u->corpus.text[SPLIT_VALID], source, 1, tokens, DRAW,
                       &drawn));
    const Network n = {
        .table = (Table *)s->stacks.layers, .encoder = (Table *)s->stacks.encoder, .model = m};
    return of(&n, s->stacks.layers, &drawn, rough, &out);
}

/* ---- a language model ---------------------------------------------------------------------------- */

/* The last two: the interval over the runs, where a record has no more than that and the mean. */
static const Column columns[] = {
    VALUE("truncation", .digits = 3, .low = "truncation_low", .high = "truncation_high",
          .head = "error", .half = "±", .place = 80, .page = 80,
          .words = "truncation error of the network's own step: median over sentences and layers"),
    VALUE("truncation_slope", .digits = 3),
    VALUE("truncation_leading", .digits = 3, .words = "leading term of that error"),
    VALUE("truncation_governed", .digits = 3,
          .words = "share of sentences and layers whose error is near the leading term"),
    VALUE("layer_truncation", .digits = 3, .low = "layer_truncation_low",
          .high = "layer_truncation_high"),
    VALUE("layer_truncation_slope", .digits = 3),
    VALUE("check", .digits = 2,
          .words = "largest difference between the sublayers put together and a forward pass"),
    VALUE("truncation_low"),
    VALUE("truncation_high"),
    {0}};

static int wanted(const Study *u)
{
    return measure_has_sentences(u) && !u->kind->pairs;
}

int measure_how_sentences(const Study *u, char *out, size_t room)
{
    const Options *o = u->options;
    snprintf(out, room, "%zu sentences of %zu tokens within %g", options_size(o, "truncation"),
             tokens_of(o), options_real(o, "truncation-tolerance"));
    return 0;
}

static int measure_fields(const Network *n, const Table *t, const Drawn *drawn, double tolerance,
                          Frame *out)
{
    TruncationSummary r;
    TruncationOptions o = {.field = FIELD_SPLIT, .terms = 1, .tolerance = tolerance};
    double check = 0;
    int is;
    TRY(summary(n, n->table, t, drawn, &o, &r, &is));
    if (is) {
        frame_put(out, 0, "truncation", r.relative.median);
        frame_put(out, 0, "truncation_slope", r.slope.median);
        frame_put(out, 0, "truncation_leading", r.leading.median);
        frame_put(out, 0, "truncation_governed", r.governed);
        check = fmax(check, r.check);
    }
    frame_put(out, 0, "check", check);
    if (!table_over(t, OP_L)) return 0;
    o = (TruncationOptions){.field = FIELD_LAYER, .tolerance = tolerance};
    TRY(summary(n, n->table, t, drawn, &o, &r, &is));
    if (is) {
        frame_put(out, 0, "layer_truncation", r.relative.median);
        frame_put(out, 0, "layer_truncation_slope", r.slope.median);
        frame_put(out, 0, "check", fmax(check, r.check));
    }
    return 0;
}

static int measure(const StudyMeasured *r, Frame *out)
{
    return measure_on_sentences(r, "truncation error", "truncation", measure_fields, out);
}

static int try_fields(const Study *u, const RunSpec *s)
{
    return measure_try_sentences(u, s, measure_fields);
}

const StudyMeasure measure_truncation = {"truncation", columns, wanted,    measure_how_sentences,
                                         measure,      NULL,    try_fields};

/* ---- an encoder and a decoder -------------------------------------------------------------------- */

static const Column side_columns[] = {VALUE("encoder_error", .digits = 4),
                                      VALUE("encoder_slope", .digits = 4),
                                      VALUE("decoder_error", .digits = 4),
                                      VALUE("decoder_slope", .digits = 4),
                                      {0}};

static int sides_wanted(const Study *u)
{
    return measure_has_sentences(u) && u->kind->pairs;
}

/* Measures a side, whose columns are error and slope. */
static int measure_side(const Network *n, int side, const Drawn *drawn, double tolerance,
                        const Column *column, Frame *out)
{
    const Table *own = side == SIDE_SOURCE ? n->encoder : n->table,
                *other = side == SIDE_SOURCE ? n->table : n->encoder;
    TruncationOptions o = {
        .field = FIELD_SPLIT, .side = side, .other = other, .tolerance = tolerance};
    TruncationSummary r;
    int is;
    TRY(summary(n, own, own, drawn, &o, &r, &is));
    if (!is) return 0;
    frame_put(out, 0, column[0].name, r.relative.median);
    frame_put(out, 0, column[1].name, r.slope.median);
    return 0;
}

static int measure_both(const Network *n, const Table *t, const Drawn *drawn, double tolerance,
                        Frame *out)
{
    (void)t;
    TRY(measure_side(n, SIDE_SOURCE, drawn, tolerance, side_columns, out));
    return measure_side(n, SIDE_TARGET, drawn, tolerance, side_columns + 2, out);
}

static int measure_sides_of(const StudyMeasured *r, Frame *out)
{
    return measure_on_sentences(r, "truncation error of the encoder", "encoder_error", measure_both,
                                out);
}

static int try_sides(const Study *u, const RunSpec *s)
{
    return measure_try_sentences(u, s, measure_both);
}

const StudyMeasure measure_sides = {"sides",          side_columns, sides_wanted, measure_how_pairs,
                                    measure_sides_of, NULL,         try_sides};
