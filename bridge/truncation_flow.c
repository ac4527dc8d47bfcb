/* truncation_flow.c: the exact flow of a layer's field by two independent integrators (ode/field/reference.c),
 * kept for all schemes that need the same flow. */
#include "bridge/truncator.h"
#include "kernels/error.h"
#include "kernels/scoped.h"

#include <math.h>
#include <string.h>

/* Largest distance from the layer's state where a step may begin: five steps at h = 1. */
static const double farthest = 4;

/* Returns the system whose flow is computed, with these weights of its operators. */
static System *flow_system(Truncator *u, const double weight[COLOURS])
{
    for (int op = 0; op < COLOURS; op++) u->field->weight[op] = weight[op];
    return u->options.field == FIELD_LAYER ? &u->field->layer_flow : &u->field->whole;
}

const double *flow_state(const Truncator *u, const ExactFlow *f, size_t point, int row)
{
    return f->y + (point * (size_t)(f->history + 2) + (size_t)row) * u->N;
}

void flow_free(ExactFlow *f)
{
    f->y = memory_free(f->y);
    f->missing = memory_free(f->missing);
}

static double tolerance(const Truncator *u)
{
    if (u->options.tolerance > 0) return u->options.tolerance;
    return !model_smooth(u->model) ? 1e-8 : 1e-13;
}

double flow_time(int history)
{
    double h = 1;
    while (history * h > farthest) h /= 2;
    return (history + 1) * h;
}

/* Reports progress on a scheme by its flows, which are nearly all of the work. */
static void tell(void *arg, const char *what, double share)
{
    const Truncator *u = arg;
    const Watch *w = &u->options.watch;
    w->tell(w->arg, what, fmin(u->solved + share * u->solving, u->wanted) / u->wanted);
}

/* Solves the flow from y0 with the weights of one layer, at all times (count). */
static int solve(Truncator *u, System *s, int layer, const double *y0, const double *t,
                 size_t count, double *y, double *agreement)
{
    double apart;
    u->field->pin = layer;
    s->initial = (double *)y0;
    u->watch = (Watch){tell, u};
    s->watch = u->options.watch.tell ? &u->watch : NULL;
    u->solving = 0;
    for (size_t i = 0; i < count; i++) u->solving = fmax(u->solving, t[i]);
    int code = reference_within(s, tolerance(u), t, count, y, &apart);
    s->watch = NULL;
    TRY(code);
    u->solved += u->solving;
    if (!(apart <= *agreement)) *agreement = apart;
    return 0;
}

/* Sets the rows' times: row r of point j at end - r h; 0 is the step's end, 1 its beginning. */
static void set_times(const Truncator *u, ExactFlow *f, double *time)
{
    int rows = f->history + 2;
    for (size_t j = 0; j < u->points; j++) {
        double h = ldexp(1, -(int)j);
        double begin = f->history * h;
        for (int r = 0; r < rows; r++) time[j * (size_t)rows + (size_t)r] = begin + (1 - r) * h;
        f->missing[j] = begin > farthest;
    }
}

static int solve_flow(Truncator *u, ExactFlow *f)
{
    size_t count = u->points * (size_t)(f->history + 2);
    System *s = flow_system(u, f->weight);
    SCOPED(memory_drop) double *time = memory_new(count, sizeof *time);
    f->y = memory_new(count, u->N * sizeof *f->y);
    f->missing = memory_new(u->points, sizeof *f->missing);
    if (!time || !f->y || !f->missing) return ERR_MEMORY;
    set_times(u, f, time);
    return solve(u, s, u->layer, u->state + (size_t)u->layer * u->N, time, count, f->y,
                 &f->agreement);
}

int flow_find(Truncator *u, const double weight[COLOURS], int history, const ExactFlow **out)
{
    for (size_t i = 0; i < u->flows; i++) {
        const ExactFlow *f = *out = &u->flow[i];
        if (f->history != history || memcmp(f->weight, weight, sizeof f->weight) != 0) continue;
        u->solved += flow_time(history);
        return 0;
    }
    TRY(memory_more(&u->flow, u->flows, sizeof *u->flow));
    ExactFlow *f = &u->flow[u->flows];
    *f = (ExactFlow){.history = history};
    memcpy(f->weight, weight, sizeof f->weight);
    int code = solve_flow(u, f);
    u->flows += code == 0;
    if (code != 0) flow_free(f);
    *out = f;
    return code;
}

const double *truncator_states(const Truncator *u)
{
    return u->state;
}
