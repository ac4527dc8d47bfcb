/* measure_norm.c: what the states between layers tell of a trained network, the mean over the sentences of --truncation; of pairs the
 * decoder's. With the states y_0 .. y_L before the final norm, of n numbers each, and |y|^2 = sum of squares / n:
 *
 *   state_norm   |y_L|
 *   layer_step   mean over the layers l of |y_l - y_(l-1)| / |y_(l-1)|: how far a layer moves its input */

#include <math.h>

#include "studies/lab/study/measures.h"
#include "studies/base/command.h"

static double rms(const double *y, const double *less, size_t n)
{
    double squares = 0;
    for (size_t k = 0; k < n; k++) {
        double x = y[k] - (less ? less[k] : 0);
        squares += x * x;
    }
    return sqrt(squares / (double)n);
}

/* A number that states (layers + 1, n) have. */
typedef double OfStates(const double *states, size_t layers, size_t n);

static double state_norm(const double *states, size_t layers, size_t n)
{
    return rms(states + layers * n, NULL, n);
}

static double layer_step(const double *states, size_t layers, size_t n)
{
    double sum = 0;
    for (const double *y = states; y < states + layers * n; y += n)
        sum += rms(y + n, y, n) / rms(y, NULL, n);
    return sum / (double)layers;
}

static int sum_over(Truncator *u, const Network *n, const Sentences *s, OfStates *of, double *sum)
{
    size_t layers = model_plan(n->model)->layers[SIDE_TARGET];
    for (size_t i = 0; i < s->count; i++) {
        const Sentence one = sentence_at(s, i);
        if (command_stop) return command_interrupted();
        TRY(truncator_sentence(u, &one, NULL));
        *sum += of(truncator_states(u), layers, one.n[SIDE_TARGET] * model_config(n->model)->width);
    }
    return 0;
}

static int mean_over(const Network *n, const Drawn *drawn, double tolerance, OfStates *of,
                     const char *column, Frame *out)
{
    const TruncationOptions o = {.side = SIDE_TARGET, .other = n->encoder, .tolerance = tolerance};
    SCOPED(truncator_drop) Truncator *u = NULL;
    double sum = 0;
    TRY(truncator_new(n->model, n->table, &o, &u));
    TRY(sum_over(u, n, &drawn->of, of, &sum));
    frame_put(out, 0, column, sum / (double)drawn->of.count);
    return 0;
}

/* ---- the measures -------------------------------------------------------------------------------- */

static int norms(const Network *n, const Table *t, const Drawn *drawn, double tolerance, Frame *out)
{
    (void)t;
    return mean_over(n, drawn, tolerance, state_norm, "state_norm", out);
}

static const Column norm_columns[] = {
    VALUE("state_norm", .low = "state_norm_low", .high = "state_norm_high", .digits = 3,
          .words = "RMS of the last layer's output before the final norm, mean over sentences"),
    {0}};

const StudyMeasure measure_norm = {.name = "state_norm",
                                   .columns = norm_columns,
                                   .wanted = measure_has_sentences,
                                   .how = measure_how_sentences,
                                   .of = norms,
                                   .what = "norm of the last state"};

static int steps(const Network *n, const Table *t, const Drawn *drawn, double tolerance, Frame *out)
{
    (void)t;
    return mean_over(n, drawn, tolerance, layer_step, "layer_step", out);
}

static const Column step_columns[] = {
    VALUE("layer_step", .low = "layer_step_low", .high = "layer_step_high", .digits = 3,
          .words = "RMS of a layer's change of its input, divided by the input's RMS: mean over "
                   "layers and sentences"),
    {0}};

const StudyMeasure measure_step = {.name = "layer_step",
                                   .columns = step_columns,
                                   .wanted = measure_has_sentences,
                                   .how = measure_how_sentences,
                                   .of = steps,
                                   .what = "step of a layer"};
