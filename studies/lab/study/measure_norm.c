/* measure_norm.c: the norm of the last state: the RMS of the coordinates of the last layer's output, before the final norm,
 * the mean over the sentences of --truncation; of pairs the decoder's. */

#include <math.h>

#include "studies/lab/study/measures.h"
#include "studies/base/command.h"

static const Column columns[] = {
    VALUE("state_norm", .low = "state_norm_low", .high = "state_norm_high", .digits = 3,
          .words = "RMS of the last layer's output before the final norm, mean over sentences"),
    {0}};

static int sum_norms(Truncator *u, const Network *n, const Sentences *s, double *sum)
{
    size_t layers = model_plan(n->model)->layers[SIDE_TARGET];
    for (size_t i = 0; i < s->count; i++) {
        const Sentence one = sentence_at(s, i);
        size_t N = one.n[SIDE_TARGET] * model_config(n->model)->width;
        double squares = 0;
        if (command_stop) return command_interrupted();
        TRY(truncator_sentence(u, &one, NULL));
        const double *last = truncator_states(u) + layers * N;
        for (size_t k = 0; k < N; k++) squares += last[k] * last[k];
        *sum += sqrt(squares / (double)N);
    }
    return 0;
}

static int norm(const Network *n, const Table *t, const Drawn *drawn, double tolerance, Frame *out)
{
    const TruncationOptions o = {.side = SIDE_TARGET, .other = n->encoder, .tolerance = tolerance};
    SCOPED(truncator_drop) Truncator *u = NULL;
    double sum = 0;
    (void)t;
    TRY(truncator_new(n->model, n->table, &o, &u));
    TRY(sum_norms(u, n, &drawn->of, &sum));
    frame_put(out, 0, "state_norm", sum / (double)drawn->of.count);
    return 0;
}

static int measure(const StudyMeasured *r, Frame *out)
{
    return measure_on_sentences(r, "norm of the last state", "state_norm", norm, out);
}

static int try(const Study *u, const RunSpec *s)
{
    return measure_try_sentences(u, s, norm);
}

const StudyMeasure measure_norm = {
    "state_norm", columns, measure_has_sentences, measure_how_sentences, measure, NULL, try};
