/* truncation_carried.c: what a network carries beside y, against what its updates make on the exact flow.
 *
 * Let y(t) be the exact flow through the state x that enters the layer, and v' = W(y, v) the updates with the layer's learned
 * coefficients. Where these forget how v began, one v(t) alone has v(t + 1) = W(y(t), v(t)) for all t and is bounded: what is left
 * at 0 of any beginning long ago. Its expansion in h is the series that theory tells (Stoffer 1993, General linear methods:
 * connection to one step methods and invariant curves). It is found by two runs along y(-J), .., y(0): from 0, and from
 * y(-J). Where they end is the same to what is remembered of the beginning.
 *
 * W is run by the stepper, so its coefficients must be numbers. It has none for gates, which are functions of each token's slopes,
 * for norms, which divide by the size of what they are of, and for a coefficient of v in a layer that v enters as 0, which
 * the network has not learned. */
#include "bridge/truncator.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

#include <math.h>
#include <string.h>

/* Makes the table of the layer's learned coefficients, whose v begins as it is told to. */
static int learned_table(const Truncator *u, Table **out)
{
    SCOPED(table_drop) Table *t = table_copy(u->trained);
    if (!t) return ERR_MEMORY;
    TRY(layer_learned(u->model, u->options.side, u->layer, t));
    for (size_t c = 0; c < t->carries; c++) t->carry[c].started = 1;
    *out = table_freeze(t);
    return *out ? 0 : ERR_MEMORY;
}

/* Solves the flow backward: states (J + 1, N) at -J .. 0. */
static int solve_back(Truncator *u, const double weight[COLOURS], double *states)
{
    enum { J = TRUNCATION_BACK };
    double time[J + 1];
    SCOPED(memory_drop) double *back = memory_new(J + 1, u->N * sizeof *back);
    if (!back) return ERR_MEMORY;
    for (int j = 0; j <= J; j++) time[j] = j;
    for (int op = 0; op < COLOURS; op++) u->field->weight[op] = -weight[op];
    u->field->pin = u->layer;
    u->field->whole.initial = u->state + (size_t)u->layer * u->N;
    TRY(reference_within(&u->field->whole, 1e-8, time, J + 1, back, NULL));
    for (size_t j = 0; j <= J; j++)
        memcpy(states + j * u->N, back + (J - j) * u->N, u->N * sizeof *back);
    return 0;
}

static double apart(size_t n, const double *a, const double *b)
{
    double sum = 0, size = 0;
    for (size_t i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
    return sqrt(sum / size);
}

int carried_find(Truncator *u, const Scheme *s, Truncation *t)
{
    const ExactFlow *f;
    size_t n = s->scheme->carries * u->N;
    if (!n || !u->options.carried || u->options.field != FIELD_SPLIT ||
        !table_equal(s->scheme, u->trained))
        return 0;
    SCOPED(table_drop) Table *table = NULL;
    SCOPED(stepper_drop) Stepper *st = NULL;
    SCOPED(memory_drop) double *states = memory_new(TRUNCATION_BACK + 1, u->N * sizeof *states);
    SCOPED(memory_drop) double *v = memory_new(n, sizeof *v);
    t->holds = 1;
    t->untold = table_has(s->scheme, HAS_NORM) ? "norms" : NULL;
    for (size_t i = 0; i < s->scheme->symbols; i++)
        if (s->scheme->symbol[i].inputs) t->untold = "gates";
    if (t->untold) return 0;
    const double *own = u->carried + (size_t)u->layer * n;
    if (!states || !v) return ERR_MEMORY;
    int code = learned_table(u, &table);
    if (code == ERR_ACCURACY) t->untold = "v enters as 0";
    if (code == ERR_ACCURACY) return 0;
    TRY(code);
    TRY(stepper_new(table, &u->field->mean, &st));
    TRY(flow_find(u, t->time, 0, &f));
    code = solve_back(u, t->time, states);
    t->untold = "not finite";
    if (code == ERR_NUMERIC) return 0;
    TRY(code);
    for (size_t i = 0; i < n; i++) v[i] = states[i % u->N];
    TRY(stepper_along(st, 1, v, TRUNCATION_BACK, states));
    memcpy(v, stepper_carried(st), n * sizeof *v);
    TRY(stepper_along(st, 1, NULL, TRUNCATION_BACK, states));
    t->remembered = apart(n, v, stepper_carried(st));
    if (!(t->remembered <= TRUNCATION_REMEMBERED)) return 0;
    t->carried = apart(n, own, stepper_carried(st));
    code = stepper_step(st);
    if (code == ERR_NUMERIC) return 0;
    TRY(code);
    t->untold = NULL;
    double sum = 0;
    const double *end = flow_state(u, f, 0, 1), *y = stepper_state(st);
    for (size_t i = 0; i < u->N; i++) sum += (y[i] - end[i]) * (y[i] - end[i]);
    t->smooth = sqrt(sum / (double)u->N) / t->point[0].displacement;
    return 0;
}
