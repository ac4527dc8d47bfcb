/* truncation_carried.c: what a network carries beside y, against what its updates make on the exact flow.
 *
 * Let y(t) be the exact flow through the state x that enters the layer, and (y', v') = S(y, v) the layer's step as it was trained,
 * v' = W(y, v) the part of it that is carried: with its learned coefficients, gates and norms. Where W forgets how v began, one v(t)
 * alone is bounded and has
 *
 *     v(t + 1) = W(y(t), v(t))    for all t,
 *
 * that which is left at t of any beginning long ago: W(y(t-1), W(y(t-2), ...)). W may be any function. Where it is linear in v and
 * y's slopes, v(t) is the series in h that theory tells (Stoffer 1993, General linear methods: connection to one step methods and
 * invariant curves; there a strictly stable method has one such curve, which attracts all of its solutions). A norm is no
 * series in h, as it divides by the size of slopes that are multiplied by h, but the curve is there. So v(0) is found by two runs along
 * y(-J), .., y(0), one from 0 and one from y(-J). Where they end is the same but for what is remembered of the beginning. J is
 * doubled while that helps: momentum 9/10 forgets a beginning that is 32 times as large as its v in some 80 steps.
 *
 * The error of the step is then told for all of the state, the flow being (y(t), v(t)). A step that begins on it, at (x, v(0)),
 * ends at v(1), as v(1) = W(y(0), v(0)): its error is that of y alone. The network's own step begins at (x, u), u being
 * what its earlier layers have made, or its embedding. It ends in error by |y' - y(1)| and by |W(x, u) - v(1)|.
 *
 * Halved steps of the same text are no reference for v: v' = 9/10*v + 1/10*k1 forgets as much in half a step as in a whole one, so
 * that they have another v(t), which for h to 0 is the slope and not the mean of slopes that the layer carries.
 *
 * A layer has no W where it lacks a coefficient: that of v in one that v enters as 0, and one that the last layer's v' alone has,
 * which nothing reads. Such ones are not learned. */
#include "bridge/truncator.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

#include <math.h>
#include <string.h>

static double apart(size_t n, const double *a, const double *b)
{
    double sum = 0, size = 0;
    for (size_t i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
    return sqrt(sum / size);
}

/* Runs the updates along the flow from J steps back to the state: from 0 to v + n (carries, n d), from y(-J) to v. */
static int run_along(Truncator *u, const LayerStep *w, const double weight[COLOURS], size_t J,
                     size_t n, double *v)
{
    SCOPED(memory_drop) double *time = memory_new(J + 1, sizeof *time);
    SCOPED(memory_drop) double *y = memory_new(J + 1, u->N * sizeof *y); /* y(0), y(-1), .. */
    if (!time || !y) return ERR_MEMORY;
    for (size_t j = 0; j <= J; j++) time[j] = (double)j;
    for (int op = 0; op < COLOURS; op++) u->field->weight[op] = -weight[op];
    u->field->pin = u->layer;
    u->field->whole.initial = u->state + (size_t)u->layer * u->N;
    TRY(reference_within(&u->field->whole, 1e-8, time, J + 1, y, NULL));
    memset(v + n, 0, n * sizeof *v);
    for (size_t i = 0; i < n; i++) v[i] = y[J * u->N + i % u->N];
    for (size_t j = J; j > 0; j--) {
        TRY(layer_step(w, y + j * u->N, NULL, v));
        TRY(layer_step(w, y + j * u->N, NULL, v + n));
    }
    return 0;
}

/* Compares the step from what is carried on the flow, v, and the network's own step. */
static int compare_steps(Truncator *u, const LayerStep *w, size_t n, double *v, Truncation *t)
{
    const ExactFlow *f;
    const double *x = u->state + (size_t)u->layer * u->N;
    SCOPED(memory_drop) double *y = memory_new(u->N, sizeof *y);
    SCOPED(memory_drop) double *own = memory_new(n, sizeof *own);
    if (!y || !own) return ERR_MEMORY;
    memcpy(own, u->carried + (size_t)u->layer * n, n * sizeof *own);
    t->carried = apart(n, own, v);
    TRY(layer_step(w, x, NULL, own));
    TRY(layer_step(w, x, y, v));
    t->carried_after = apart(n, own, v);
    TRY(flow_find(u, t->time, 0, &f));
    const double *end = flow_state(u, f, 0, 1);
    for (size_t i = 0; i < u->N; i++) y[i] -= end[i];
    t->smooth = system_rms(u->N, y, NULL) / t->point[0].displacement;
    if (isfinite(t->smooth)) t->untold = NULL;
    return 0;
}

int carried_find(Truncator *u, const Scheme *s, Truncation *t)
{
    size_t n = s->scheme->carries * u->N;
    LayerOf of = u->of;
    if (!n || !u->options.carried || u->options.field != FIELD_SPLIT ||
        !table_equal(s->scheme, u->trained))
        return 0;
    SCOPED(layer_step_drop) LayerStep *w = NULL;
    SCOPED(memory_drop) double *v = memory_new(2 * n, sizeof *v);
    if (!v) return ERR_MEMORY;
    t->holds = 1;
    t->untold = "not learned";
    of.layer = u->layer;
    int code = layer_step_new(u->model, u->trained, u->options.other, &of, &w);
    if (code == ERR_ACCURACY) return 0;
    TRY(code);
    t->untold = "not finite";
    for (size_t J = TRUNCATION_BACK; J <= TRUNCATION_BACK_MOST; J *= 2) {
        double before = t->remembered;
        code = run_along(u, w, t->time, J, n, v);
        if (code == ERR_NUMERIC) return 0;
        TRY(code);
        t->remembered = apart(n, v, v + n);
        if (t->remembered <= TRUNCATION_REMEMBERED) return compare_steps(u, w, n, v + n, t);
        if (!(t->remembered <= before / 2) && J > TRUNCATION_BACK) return 0;
    }
    return 0;
}
