/* claims_sine.c: a vector field whose elementary differentials of every order are known in closed
 * form, so that a predicted error term is a vector, not only an order. */
#include "kernels/base/cmplx.h"
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "studies/theory/verify/claims.h"

static const double half_pi = 1.57079632679489661923;

/* Returns the m-th derivative of sin at x, or where the operator is linear that of x. */
static double unit_derivative(const Sine *s, int op, int m, double x)
{
    if (s->system.special & 1 << op) return m == 0 ? x : m == 1;
    return sin(x + m * half_pi);
}

/* out (D) = f^(m)(y)(v1, .., vm) of an operator; v (m, D). */
static void sine_derivative(const Sine *s, int op, const double *y, int m,
                            const double (*v)[SINE_D], double *out)
{
    double unit[SINE_UNITS];
    for (int u = 0; u < SINE_UNITS; u++) {
        double x = s->b[op][u];
        for (int i = 0; i < SINE_D; i++) x += s->B[op][u][i] * y[i];
        unit[u] = unit_derivative(s, op, m, x);
        for (int j = 0; j < m; j++) {
            double Bv = 0;
            for (int i = 0; i < SINE_D; i++) Bv += s->B[op][u][i] * v[j][i];
            unit[u] *= Bv;
        }
    }
    for (int i = 0; i < SINE_D; i++) {
        out[i] = 0;
        for (int u = 0; u < SINE_UNITS; u++) out[i] += s->A[op][i][u] * unit[u];
    }
}

void sine_differential(const Sine *s, const Forest *f, size_t tree, const double *y, double *out)
{
    const Tree *t = &f->tree[tree];
    double v[TREE_MAX][SINE_D];
    for (int k = 0; k < t->children; k++) sine_differential(s, f, (size_t)t->child[k], y, v[k]);
    sine_derivative(s, t->colour, y, t->children, (const double(*)[SINE_D])v, out);
}

static void field(const System *system, int op, const double *y, double *dy)
{
    const Sine *s = system->context; /* a stepper may hand on a copy of the system */
    sine_derivative(s, op, y, 0, NULL, dy);
    for (int i = 0; i < SINE_D; i++) dy[i] *= s->weight[op];
}

static void field_F(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    field(s, OP_F, y, dy);
}

static void field_G(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    field(s, OP_G, y, dy);
}

static void field_C(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    field(s, OP_C, y, dy);
}

static void field_complex(const System *system, int op, int set, const double *z, double *dz)
{
    const Sine *s = system->context;
    double complex sum[SINE_D] = {0};
    (void)set;
    for (int u = 0; u < SINE_UNITS; u++) {
        double complex x = s->b[op][u];
        for (int i = 0; i < SINE_D; i++) x += s->B[op][u][i] * CMPLX(z[i], z[SINE_D + i]);
        if (!(system->special & 1 << op)) x = csin(x);
        for (int i = 0; i < SINE_D; i++) sum[i] += s->weight[op] * s->A[op][i][u] * x;
    }
    for (int i = 0; i < SINE_D; i++) {
        dz[i] = creal(sum[i]);
        dz[SINE_D + i] = cimag(sum[i]);
    }
}

void sine_new(Sine *s, uint64_t seed, int one_field)
{
    *s = (Sine){.system = {.name = "sine",
                           .title = "y' = A sin(B y + b)",
                           .source = "claims_sine.c",
                           .n = 1,
                           .d = SINE_D,
                           .field = {field_F, field_G, field_C},
                           .at_complex = field_complex,
                           .t_end = 1,
                           .h0 = 0.125},
                .weight = {1, 1, 1}};
    /* A has size 1 and B size 1/2, so Lipschitz constants are near 1
     * and h = 1/8 is asymptotic. */
    double *all[] = {&s->A[0][0][0], &s->B[0][0][0], &s->b[0][0], s->y};
    size_t count[] = {sizeof s->A / sizeof(double), sizeof s->B / sizeof(double),
                      sizeof s->b / sizeof(double), SINE_D};
    double scale[] = {0.6, 0.5, 1, 1};
    for (int a = 0; a < 4; a++)
        for (size_t i = 0; i < count[a]; i++)
            all[a][i] = scale[a] * random_normal(seed, (uint64_t)a, i);
    for (int op = OP_G; one_field && op < COLOURS; op++) memset(s->A[op], 0, sizeof s->A[op]);
}

/* The gradient of H = -sum a_u cos(B_u y + b_u) is B' a sin(B y + b), and the field is (H_p, -H_q). As both factors are of the
 * size of B, a is four times as large as A is. */
void sine_hamiltonian(Sine *s, int separable)
{
    enum { HALF = SINE_D / 2 };
    for (int op = 0; op < COLOURS; op++)
        for (int u = 0; u < SINE_UNITS; u++) {
            double a = 4 * s->A[op][0][u], *B = s->B[op][u];
            for (int i = 0; separable && i < HALF; i++) B[op == OP_F ? i + HALF : i] = 0;
            for (int i = 0; i < HALF; i++) {
                s->A[op][i][u] = a * B[i + HALF];
                s->A[op][i + HALF][u] = -a * B[i];
            }
        }
}

void sine_take(Sine *s, int special)
{
    enum { HALF = SINE_D / 2 };
    s->system.special = special;
    if (special_separable(special)) sine_hamiltonian(s, 1);
    for (int op = 0; op < COLOURS && !special_separable(special); op++)
        for (int i = 0; i < HALF && special_apart(special, op); i++)
            for (int u = 0; u < SINE_UNITS; u++) { /* it reads one half and moves the other */
                s->B[op][u][op == OP_F ? i + HALF : i] = 0;
                s->A[op][op == OP_F ? i : i + HALF][u] = 0;
            }
}

int sine_flow(const Sine *s, const double w[COLOURS], double t, double *y)
{
    Sine mixed = *s;
    double end[SINE_D], agreement;
    mixed.system.decoder = w[OP_C] != 0;
    memcpy(mixed.weight, w, sizeof mixed.weight);
    mixed.system.initial = y;
    mixed.system.context = &mixed;
    TRY(reference_solve(&mixed.system, &t, 1, end, &agreement));
    if (!(agreement <= 1e-13))
        return error_set(ERR_ACCURACY, "two reference solutions differ by %.1e", agreement);
    memcpy(y, end, sizeof end);
    return 0;
}

/* Finds the state at -count h, and behind it those in which the first steps from there end, the last one y. The field is
 * smooth and not stiff, so its flow goes back as well as on. */
static int past_states(const Sine *s, const Table *t, double h, int count, const double *y,
                       double *past)
{
    double w[COLOURS] = {0};
    for (int op = 0; op < t->colours; op++) w[op] = table_double(t->weight[op]);
    for (int j = 0; j <= count; j++) {
        double *at = past + (size_t)j * SINE_D;
        memcpy(at, y, SINE_D * sizeof *at);
        if (j < count) TRY(sine_flow(s, w, (j - count) * h, at));
    }
    return 0;
}

int sine_step(const Sine *s, const Table *t, double h, double *y)
{
    SCOPED(stepper_drop) Stepper *st = NULL;
    System system = s->system;
    system.context = (void *)s;
    TRY(stepper_new(t, &system, &st));
    size_t history = (size_t)stepper_history(st);
    SCOPED(memory_drop) double *past = memory_new(history + 1, SINE_D * sizeof *past);
    if (!past) return ERR_MEMORY;
    TRY(past_states(s, t, h, (int)history, y, past));
    TRY(stepper_begin(st, 0, h, past, START_GIVEN, past + SINE_D));
    for (size_t j = 0; j <= history; j++) TRY(stepper_step(st));
    memcpy(y, stepper_state(st), SINE_D * sizeof *y);
    return 0;
}

double sine_slope(const double *e, int n, double *off)
{
    const double rounding = 3e-13; /* references agree to 1e-13, states are of size 1 */
    double last = INFINITY, before = NAN;
    *off = 0.5; /* of one ratio: the step is no small one */
    for (int j = 0; j + 1 < n; j++) {
        if (!isfinite(e[j]) || !isfinite(e[j + 1])) return NAN;
        if (e[j + 1] <= 10 * rounding) break;
        before = last;
        last = log2(e[j] / e[j + 1]);
    }
    if (!isfinite(before) || !isfinite(last)) return last;
    *off = fabs(last - before);
    return 2 * last - before;
}

int slope_contradicts(double slope, double off, double least, int at_least)
{
    return at_least ? !(slope > least - claim_near - off) : !(slope < least - claim_near + off);
}

double sine_norm(const double *x)
{
    double sum = 0;
    for (int i = 0; i < SINE_D; i++) sum += x[i] * x[i];
    return sqrt(sum / SINE_D);
}

void sine_subtract(double *e, double c, const double *v)
{
    for (int i = 0; i < SINE_D; i++) e[i] -= c * v[i];
}
