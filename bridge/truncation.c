/* truncation.c: the truncation error of one scheme in one layer on one sentence (truncation.h). */
#include "bridge/truncation.h"
#include "bridge/truncator.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/measure/fit.h"

#include <float.h>
#include <math.h>

static const double near_slope = 0.25; /* neighbours this close to order + 1 follow it */

const char *truncation_field(int field)
{
    return field == FIELD_LAYER ? "layer" : "split";
}

/* ---- a sentence ------------------------------------------------------------------------------------- */

static void forget_layer(Truncator *u)
{
    for (size_t i = 0; i < u->flows; i++) flow_free(&u->flow[i]);
    for (size_t i = 0; i < u->keeps; i++) {
        forest_free(u->kept[i].forest);
        differentials_free(&u->kept[i].found);
    }
    u->flow = memory_free(u->flow);
    u->kept = memory_free(u->kept);
    u->flows = u->keeps = 0;
    u->layer = -1;
}

static void forget_sentence(Truncator *u)
{
    forget_layer(u);
    layer_field_free(u->field);
    u->field = NULL;
    for (int side = 0; side < SIDES; side++) u->states[side] = memory_free(u->states[side]);
    u->memory = memory_free(u->memory);
    u->state = NULL;
    u->carried = memory_free(u->carried);
    u->error = memory_free(u->error);
}

int truncator_new(Model *m, const Table *trained, const TruncationOptions *o, Truncator **out)
{
    *out = NULL;
    NEED(model_backend(m)->size == sizeof(double));
    NEED((model_plan(m)->sides > 1) == (o->other != NULL) && o->side < model_plan(m)->sides);
    int halvings = o->halvings ? o->halvings : 6;
    if (halvings < 1 || halvings >= TRUNCATION_POINTS)
        return error_set(ERR_INPUT, "%d halvings: expected 1 to %d", halvings,
                         TRUNCATION_POINTS - 1);
    const Table *encoder = o->side == SIDE_SOURCE ? trained : o->other;
    if (encoder && encoder->carries && encoder->carry[0].embedded)
        return error_set(ERR_INPUT,
                         "%s: truncation errors are of networks whose encoder begins by one "
                         "embedding; '%s' has its own",
                         encoder->name, encoder->carry[0].name);
    Truncator *u = memory_new(1, sizeof *u);
    if (!u) return ERR_MEMORY;
    *u = (Truncator){.model = m, .trained = trained, .options = *o, .layer = -1};
    u->points = (size_t)halvings + 1;
    u->layers = model_plan(m)->layers[o->side];
    u->colours = o->other && o->side == SIDE_TARGET ? 3 : 2;
    *out = u;
    return 0;
}

void truncator_free(Truncator *u)
{
    if (!u) return;
    forget_sentence(u);
    for (size_t i = 0; i < u->schemes; i++) scheme_free(&u->scheme[i]);
    memory_free(u->scheme);
    memory_free(u);
}

/* Compares the network put together from the field's parts with nn/'s forward pass. */
static int check_field(Truncator *u, const Sentence *s, double *check)
{
    size_t n = s->n[SIDE_TARGET], N = n * model_config(u->model)->width;
    SCOPED(memory_drop) double *y = memory_new(N, sizeof *y);
    double apart = 0, size = DBL_MIN;
    const double *last = u->states[SIDE_TARGET] + model_plan(u->model)->layers[SIDE_TARGET] * N;
    if (!y) return ERR_MEMORY;
    TRY(model_run_pair(u->model, n, u->states[SIDE_TARGET], s->n[SIDE_SOURCE],
                       u->states[SIDE_SOURCE], y));
    for (size_t i = 0; i < N; i++) {
        double e = fabs(y[i] - last[i]);
        if (!(e <= apart)) apart = e;
        size = fmax(size, fabs(y[i]));
    }
    *check = apart / size;
    return 0;
}

static int find_states(Truncator *u, const Sentence *s)
{
    size_t d = model_config(u->model)->width;
    int side = u->options.side;
    States states = {.table = {[SIDE_TARGET] = u->trained}};
    if (u->options.other) states.table[SIDES - 1 - side] = u->options.other;
    states.table[side] = u->trained;
    for (int k = 0; k < model_plan(u->model)->sides; k++) {
        size_t layers = model_plan(u->model)->layers[k];
        states.n[k] = s->n[k];
        states.token[k] = s->token[k];
        u->states[k] = states.state[k] =
            memory_new((layers + 1) * s->n[k], d * sizeof *u->states[k]);
        if (!u->states[k]) return ERR_MEMORY;
        TRY(model_embed(u->model, k, s->n[k], s->token[k], u->states[k]));
    }
    if (u->options.other) {
        u->memory = states.memory = memory_new(s->n[SIDE_SOURCE], d * sizeof *u->memory);
        if (!u->memory) return ERR_MEMORY;
    }
    u->carried = states.carried[side] =
        memory_new(u->layers * u->trained->carries * s->n[side], d * sizeof *u->carried);
    if (!u->carried) return ERR_MEMORY;
    return bridge_states(u->model, &states);
}

static int enter_sentence(Truncator *u, const Sentence *s)
{
    int side = u->options.side;
    TRY(find_states(u, s));
    u->state = u->states[side];
    u->of = (LayerOf){.side = side, .n = s->n[side]};
    if (u->colours > 2) u->of.M = s->n[SIDE_SOURCE], u->of.memory = u->memory;
    TRY(layer_field_new(u->model, u->trained, &u->of, &u->field));
    u->n = s->n[side];
    u->N = u->field->N;
    u->error = memory_new(u->points + 1, u->N * sizeof *u->error);
    if (!u->error) return ERR_MEMORY;
    u->leading = u->error + u->points * u->N;
    return 0;
}

int truncator_sentence(Truncator *u, const Sentence *s, double *check)
{
    forget_sentence(u);
    int code = enter_sentence(u, s);
    if (code == 0 && check) code = check_field(u, s, check);
    if (code != 0) forget_sentence(u);
    return code;
}

static const System *steps_on(const Truncator *u, const Scheme *s)
{
    if (u->options.field == FIELD_LAYER) return &u->field->layer;
    return s->own ? &u->field->own : &u->field->mean;
}

/* ---- steps ------------------------------------------------------------------------------------------ */

/* Computes the flow over step j, and the floor of the step's error. */
static void displace(Truncator *u, const ExactFlow *f, size_t j, TruncationPoint *p)
{
    const double *end = flow_state(u, f, j, f->history + 1);
    const double *begin = flow_state(u, f, j, f->history);
    double *e = u->error + j * u->N;
    for (size_t i = 0; i < u->N; i++) e[i] = end[i] - begin[i];
    p->displacement = system_rms(u->N, e, NULL);
    p->floor = f->agreement + 4 * DBL_EPSILON * system_rms(u->N, end, NULL);
}

/* Computes the error (N) of a step that ends in y. */
static void compare(Truncator *u, const ExactFlow *f, size_t j, const double *y, TruncationPoint *p)
{
    const double *end = flow_state(u, f, j, f->history + 1);
    double *e = u->error + j * u->N;
    for (size_t i = 0; i < u->N; i++) e[i] = y[i] - end[i];
    p->error = system_rms(u->N, e, NULL);
    p->relative = p->error == 0 ? 0 : p->error / p->displacement;
}

static int step(Truncator *u, Stepper *st, const ExactFlow *f, size_t j, TruncationPoint *p)
{
    displace(u, f, j, p);
    int code =
        stepper_begin(st, 0, p->h, flow_state(u, f, j, 0), START_GIVEN, flow_state(u, f, j, 1));
    if (code == ERR_NUMERIC) return 0; /* the step is too long to find what is carried */
    for (int k = 0; k <= f->history && code == 0; k++) code = stepper_step(st);
    if (code == ERR_NUMERIC) p->error = p->relative = INFINITY;
    if (code != 0) return code == ERR_NUMERIC ? 0 : code;
    compare(u, f, j, stepper_state(st), p);
    return 0;
}

/* Measures from the layer's first state: the flow, and with `network` the network's own step. */
static int first_step(Truncator *u, const double weight[COLOURS], int network, TruncationPoint *p)
{
    const ExactFlow *f;
    TRY(flow_find(u, weight, 0, &f));
    displace(u, f, 0, p);
    if (network) compare(u, f, 0, u->state + ((size_t)u->layer + 1) * u->N, p);
    return 0;
}

static int all_steps(Truncator *u, const ExactFlow *f, Stepper *st, Truncation *t)
{
    u->field->pin = u->layer;
    for (size_t j = 0; j < u->points; j++) {
        TruncationPoint *p = &t->point[j];
        *p = (TruncationPoint){.h = ldexp(1, -(int)j),
                               .error = NAN,
                               .displacement = NAN,
                               .relative = NAN,
                               .remainder = NAN,
                               .floor = NAN};
        if (!f->missing[j]) TRY(step(u, st, f, j, p));
    }
    return 0;
}

/* ---- conclusions from the points -------------------------------------------------------------------- */

static double neighbour_slope(const FitPoint *p)
{
    return log(p[0].error / p[1].error) / log(p[0].h / p[1].h);
}

/* Tells whether the error is mostly its leading term; yes where the remainder is not known. */
static int leads(const Truncation *t, const TruncationPoint *p)
{
    double leading = t->leading * t->point[0].displacement * pow(p->h, t->order + 1);
    return isnan(p->remainder) || p->remainder * p->displacement <= leading / 2;
}

int truncation_governs(double error, double leading)
{
    if (!isfinite(leading) || !(leading > 0) || isnan(error)) return -1;
    return fabs(error / leading - 1) <= TRUNCATION_GOVERNED;
}

int truncation_governed(const Truncation *t)
{
    return t->network ? -1 : truncation_governs(t->point[0].relative, t->leading);
}

/* Returns the first point from which on all belong to one scheme. */
static size_t first_point(const Truncation *t)
{
    return t->network ? 1 : 0;
}

/* Finds the slope of the points that exist (a NaN floor would let any error pass), and the largest h from which all
 * points down to the finest usable follow h^(order + 1). */
static void judge(Truncation *t)
{
    FitPoint p[TRUNCATION_POINTS];
    const TruncationPoint *of[TRUNCATION_POINTS];
    size_t first, end, n = 0;
    for (size_t j = first_point(t); j < t->points; j++) {
        const TruncationPoint *q = of[n] = &t->point[j];
        if (!isnan(q->error)) p[n++] = (FitPoint){q->h, q->error, q->floor};
    }
    Fit f = fit_order(p, n);
    t->slope = f.slope;
    t->tolerance = f.tolerance;
    fit_range(p, n, &first, &end);
    for (size_t i = end; i > first + 1; i--) {
        if (!(fabs(neighbour_slope(p + i - 2) - t->order - 1) <= near_slope)) break;
        if (!leads(t, of[i - 1]) || !leads(t, of[i - 2])) break;
        t->asymptotic = p[i - 2].h;
    }
}

/* Judges the remainder: the errors without their leading terms. The `accuracy` of these is its floor. */
static void judge_remainder(const Truncator *u, double accuracy, Truncation *t)
{
    FitPoint p[TRUNCATION_POINTS];
    size_t n = 0;
    double size = system_rms(u->N, u->leading, NULL), *r = u->error;
    for (size_t j = first_point(t); j < t->points; j++) {
        TruncationPoint *q = &t->point[j];
        double c = pow(q->h, t->order + 1);
        if (!isfinite(q->error)) continue;
        const double *e = u->error + j * u->N;
        for (size_t i = 0; i < u->N; i++) r[i] = e[i] - c * u->leading[i];
        double error = system_rms(u->N, r, NULL);
        q->remainder = error == 0 ? 0 : error / q->displacement;
        p[n++] = (FitPoint){q->h, error, q->floor + accuracy * c * size};
    }
    Fit f = fit_order(p, n);
    t->remainder_slope = f.slope;
    t->remainder_tolerance = f.tolerance;
}

static int add_terms(Truncator *u, const Scheme *s, Truncation *t)
{
    double accuracy = 0, displacement = t->point[0].displacement;
    int told = 0;
    const double *y = u->state + (size_t)u->layer * u->N;
    int kinks = !model_smooth(u->model); /* no second derivative */
    if (!(displacement > 0) || (kinks && s->order > 1)) return 0;
    TRY(terms_find(u, s, y, displacement, t, &accuracy, &told));
    if (!told) return 0;
    t->leading = system_rms(u->N, u->leading, NULL) / displacement;
    judge_remainder(u, accuracy, t);
    return 0;
}

static int measure(Truncator *u, const Scheme *s, Truncation *t)
{
    const ExactFlow *f;
    SCOPED(stepper_drop) Stepper *st = NULL;
    double weight[COLOURS] = {0};
    for (int op = 0; op < s->table->colours; op++) weight[op] = table_double(s->table->weight[op]);
    TRY(stepper_new(s->table, steps_on(u, s), &st));
    u->solved = 0;
    u->wanted = flow_time(0) + flow_time(stepper_history(st));
    TRY(flow_find(u, weight, 0, &f)); /* first, because one more flow would move the next */
    TRY(flow_find(u, weight, stepper_history(st), &f));
    TRY(all_steps(u, f, st, t));
    if (f->missing[0]) TRY(first_step(u, weight, 0, &t->point[0]));
    for (int op = 0; op < COLOURS; op++) t->time[op] = weight[op];
    t->history = f->history;
    t->agreement = f->agreement == 0 ? 0 : f->agreement / t->point[0].displacement;
    if (u->options.terms) TRY(add_terms(u, s, t));
    judge(t);
    if (s->network) TRY(first_step(u, weight, 1, &t->point[0]));
    TRY(carried_find(u, s, t));
    return bridge_system_failed(u->field->raw);
}

int truncator_measure(Truncator *u, int layer, const Table *scheme, Truncation *out)
{
    const Scheme *s;
    NEED(u->field && layer >= 0 && (size_t)layer < u->layers);
    if (layer != u->layer) forget_layer(u);
    u->layer = layer;
    TRY(scheme_find(u, scheme, &s));
    *out = (Truncation){.layer = layer,
                        .field = u->options.field,
                        .sets = s->own,
                        .network = s->network,
                        .tokens = u->n,
                        .points = u->points,
                        .order = s->order,
                        .asymptotic = 0,
                        .remainder_slope = NAN,
                        .remainder_tolerance = NAN,
                        .leading = NAN,
                        .carried = NAN,
                        .smooth = NAN,
                        .carried_after = NAN,
                        .remembered = NAN};
    return measure(u, s, out);
}
