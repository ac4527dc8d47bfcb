/* fields.c: computes truncation errors and growth at h = 1 in the layers of a trained model. */
#include "studies/theory/design/design.h"

#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/base/progress.h"

/* Tolerance of the flows, relative to |y|: far below any error at h = 1, and within
 * reach of fields with kinks. */
static const double tolerance = 1e-8;

static double rms_apart(size_t N, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < N; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum / (double)N);
}

static int check_model(const char *model, const Network *n)
{
    if (n->encoder)
        return error_set(ERR_INPUT,
                         "--model %s: expected a language model, not one with an encoder", model);
    if (n->table->word || plan_sets(model_plan(n->model), SIDE_TARGET, SLOT_ATTENTION) != 1 ||
        plan_sets(model_plan(n->model), SIDE_TARGET, SLOT_FEEDFORWARD) != 1)
        return error_set(
            ERR_INPUT,
            "--model %s: expected layers with one set of attention and one of feed-forward, "
            "as transformer or heun have; this one was trained as %s",
            model, n->table->name);
    return 0;
}

/* Adds one layer at x (tokens, d). */
static int add_layer(Fields *f, int layer, size_t tokens, const double *x)
{
    size_t k = f->count++;
    double apart, one = 1;
    TRY(bridge_system(f->network.model, &(LayerOf){.layer = layer, .n = tokens}, &f->system[k]));
    System *s = f->system[k];
    size_t N = s->n * s->d;
    s->initial = memory_new(N, sizeof *s->initial);
    f->end[k] = memory_new(N, sizeof(double));
    if (!s->initial || !f->end[k]) return ERR_MEMORY;
    memcpy(s->initial, x, N * sizeof *x);
    TRY(reference_within(s, tolerance, &one, 1, f->end[k], &apart));
    f->displacement[k] = rms_apart(N, f->end[k], x);
    return bridge_system_failed(s);
}

static void drop_growth(Fields *f, const char *why)
{
    growth_free(&f->growth);
    f->no_growth = why;
}

/* Adds the growth of a layer. Where it is unknown, errors are still measured. */
static int add_growth(Fields *f, Truncator *u, int layer)
{
    if (f->no_growth) return 0;
    int code = growth_add(&f->growth, u, layer);
    if (code != ERR_ACCURACY) return code;
    drop_growth(f, "the eigenvectors of a token's Jacobian in a layer of the model are not found");
    return 0;
}

static int add_sentences(Fields *f)
{
    size_t layers = model_plan(f->network.model)->layers[SIDE_TARGET],
           d = model_config(f->network.model)->width;
    SCOPED(truncator_drop) Truncator *u = NULL;
    TRY(truncator_new(f->network.model, f->network.table, &(TruncationOptions){0}, &u));
    for (size_t i = 0; i < f->drawn.of.count; i++) {
        Sentence one = sentence_at(&f->drawn.of, i);
        size_t tokens = one.n[SIDE_TARGET];
        progress_show("flows and Jacobians of sentence %zu of %zu", i + 1, f->drawn.of.count);
        TRY(truncator_sentence(u, &one, NULL));
        for (size_t l = 0; l < layers; l++) {
            TRY(add_layer(f, (int)l, tokens, truncator_states(u) + l * tokens * d));
            TRY(add_growth(f, u, (int)l));
        }
    }
    return 0;
}

int fields_open(const Options *o, Fields *out)
{
    const char *model = options_text(o, "model");
    const Network *n = &out->network;
    *out = (Fields){0};
    TRY(trained_load(model, 0, options_size(o, "threads"), &out->network));
    TRY(check_model(model, n));
    size_t most = model_config(n->model)->max_length, tokens = options_size(o, "tokens");
    if (!plan_causal(model_plan(n->model), SIDE_TARGET))
        drop_growth(out, "the model's attention is not causal, so that its Jacobian has no blocks, "
                         "one of each token");
    out->network.vocab.lines = 1;
    TRY(texts_read(n, options_text(o, "text"), &out->text));
    TRY(sentences_draw(&n->vocab, &out->text, NULL, options_size(o, "sentences"),
                       tokens && tokens < most ? tokens : most, options_size(o, "seed"),
                       &out->drawn));
    size_t room = out->drawn.of.count * model_plan(n->model)->layers[SIDE_TARGET];
    out->system = memory_new(room, sizeof *out->system);
    out->end = memory_new(room, sizeof *out->end);
    out->displacement = memory_new(room, sizeof *out->displacement);
    out->relative = memory_new(room, sizeof *out->relative);
    if (!out->system || !out->end || !out->displacement || !out->relative) return ERR_MEMORY;
    int code = add_sentences(out);
    progress_clear();
    return code;
}

void fields_close(Fields *f)
{
    for (size_t i = 0; i < f->count; i++) {
        system_free(f->system[i]);
        memory_free(f->end[i]);
    }
    memory_free_all(f->system, f->end, f->displacement, f->relative);
    growth_free(&f->growth);
    sentences_free(&f->drawn);
    text_free(&f->text);
    network_free(&f->network);
    *f = (Fields){0};
}

/* Makes a step of h = 1 from x. */
static int one_step(const Table *t, const System *s, const double *end, double *apart)
{
    SCOPED(stepper_drop) Stepper *st = NULL;
    TRY(stepper_new(t, s, &st));
    int code = stepper_history(st) == 0
                   ? stepper_begin(st, 0, 1, s->initial, START_GIVEN, NULL)
                   : error_set(ERR_INPUT, "%s: errors of a search are of schemes without history",
                               t->name);
    if (code == 0) code = stepper_step(st);
    if (code == 0) *apart = rms_apart(s->n * s->d, stepper_state(st), end);
    if (code == ERR_NUMERIC) code = error_set(ERR_ACCURACY, "%s: a step is not finite", t->name);
    return code == 0 ? bridge_system_failed(s) : code;
}

static int check_scheme(const Table *t)
{
    if (t->flows || t->colours > 2 || table_sets(t, OP_F) > 1 || table_sets(t, OP_G) > 1)
        return error_set(ERR_INPUT, "%s: expected stages of F and G with one set each", t->name);
    return 0;
}

int fields_error(Fields *f, const Table *t, double *error)
{
    TRY(check_scheme(t));
    for (size_t i = 0; i < f->count; i++) {
        TRY(one_step(t, f->system[i], f->end[i], &f->relative[i]));
        f->relative[i] /= f->displacement[i];
    }
    *error = spread_of(f->relative, f->count).median;
    return 0;
}

int fields_growth(Fields *f, const Table *t, double *growth)
{
    TRY(check_scheme(t));
    if (f->no_growth) return error_set(ERR_INPUT, "no growth is told: %s", f->no_growth);
    return growth_find(&f->growth, t, growth);
}
