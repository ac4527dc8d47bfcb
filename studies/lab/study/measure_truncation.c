/* measure_truncation.c: the true truncation error of a trained network at h = 1, the network's own step, with its slope and
 * its leading term (bridge/truncation.h), on a few sentences of the validation text with the weights frozen in each layer:
 * the median over sentences and layers. The field is F + G; for schemes over L also y' = L(y), the ODE of their paper. For
 * pairs: the same error of the encoder's and of the decoder's layers. A post-norm network's layers are no steps on a field. */

#include <math.h>

#include "studies/lab/study/measures.h"
#include "studies/base/command.h"

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

/* ---- a language model ---------------------------------------------------------------------------- */

/* The last two: the interval over the runs, where a record has no more than that and the mean. */
static const Column columns[] = {
    VALUE("truncation", .low = "truncation_low", .high = "truncation_high", .head = "error",
          .half = "±", .place = 80, .page = 80,
          .words = "truncation error of the network's own step: median over sentences and layers"),
    VALUE("truncation_slope", .digits = 3),
    VALUE("truncation_leading", .words = "leading term of that error"),
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

const StudyMeasure measure_truncation = {.name = "truncation",
                                         .columns = columns,
                                         .wanted = wanted,
                                         .how = measure_how_sentences,
                                         .of = measure_fields,
                                         .what = "truncation error"};

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

const StudyMeasure measure_sides = {.name = "sides",
                                    .columns = side_columns,
                                    .wanted = sides_wanted,
                                    .how = measure_how_pairs,
                                    .of = measure_both,
                                    .what = "truncation error of the encoder"};
