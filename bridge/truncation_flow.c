/* truncation_flow.c: the exact flow of a layer's field by two independent integrators (ode/field/reference.c),
 * kept for all schemes that need the same flow. */
#include "bridge/truncator.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

#include <math.h>
#include <string.h>

/* Largest distance from the layer's state where a step may begin: five steps at h = 1. */
static const double farthest = 4;

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

/* Sets the rows' times: row r of point j at r h. The last is the step's end, the one before its beginning. */
static void set_times(const Truncator *u, ExactFlow *f, double *time)
{
    int rows = f->history + 2;
    for (size_t j = 0; j < u->points; j++) {
        double h = ldexp(1, -(int)j);
        double begin = f->history * h;
        for (int r = 0; r < rows; r++) time[j * (size_t)rows + (size_t)r] = r * h;
        f->missing[j] = begin > farthest;
    }
}

/* Solves the flow with these weights of its operators, from the state that enters the layer. */
static int solve_flow(Truncator *u, ExactFlow *f)
{
    size_t count = u->points * (size_t)(f->history + 2);
    LayerField *field = u->field;
    System *s = u->options.field == FIELD_LAYER ? &field->layer_flow : &field->whole;
    SCOPED(memory_drop) double *time = memory_new(count, sizeof *time);
    f->y = memory_new(count, u->N * sizeof *f->y);
    f->missing = memory_new(u->points, sizeof *f->missing);
    if (!time || !f->y || !f->missing) return ERR_MEMORY;
    memcpy(field->weight, f->weight, sizeof f->weight);
    field->pin = u->layer;
    set_times(u, f, time);
    s->initial = u->state + (size_t)u->layer * u->N;
    u->watch = (Watch){tell, u};
    s->watch = u->options.watch.tell ? &u->watch : NULL;
    u->solving = 0;
    for (size_t i = 0; i < count; i++) u->solving = fmax(u->solving, time[i]);
    int code = reference_within(s, tolerance(u), time, count, f->y, &f->agreement);
    s->watch = NULL;
    if (code == 0) u->solved += u->solving;
    return code;
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
