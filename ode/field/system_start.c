/* system_start.c: the initial state of a system of a file, and checks of what its text says at it: values are finite, the
 * exact solution is one, the energy does not change, a Jacobian is the derivative. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/field/program.h"

static int check_finite(const System *s, const char *file, int which, size_t n, const double *x)
{
    const Formulas *m = s->context;
    for (size_t k = 0; k < n * s->d; k++)
        if (!isfinite(x[k]))
            return error_set(
                ERR_INPUT, "%s:%zu: %s of particle %zu, coordinate %zu is not finite%s", file,
                m->rule[which][k % s->d].line, formula_rules[which], k / s->d + 1, k % s->d + 1,
                which == RULE_INITIAL || which == RULE_MEMORY ? "" : " at the initial state");
    return 0;
}

/* Sets the error for a solution that is not one. */
static int not_exact(const System *s, const char *file, size_t k, double t, const char *what,
                     double is, double expected)
{
    const Formulas *m = s->context;
    return error_set(ERR_INPUT,
                     "%s:%zu: exact%s is %g at t = %g, and %s %g (particle %zu, "
                     "coordinate %zu)",
                     file, m->rule[RULE_EXACT][k % s->d].line, t > 0 ? "'" : "", is, t, what,
                     expected, k / s->d + 1, k % s->d + 1);
}

/* Checks that the solution begins at the initial state and has the derivative F + G: by a central difference of relative
 * error 1e-7, a third of the way to t-end. */
static int check_exact(const System *s, const char *file)
{
    size_t N = s->n * s->d;
    double t = s->t_end / 3, e = 1e-5 * s->t_end;
    SCOPED(memory_drop) double *y = memory_new(6, N * sizeof *y);
    if (!y) return ERR_MEMORY;
    double *before = y + N, *behind = y + 2 * N, *F = y + 3 * N, *G = y + 4 * N, *slope = y + 5 * N;
    s->solution(s, 0, y);
    for (size_t k = 0; k < N; k++)
        if (!(fabs(y[k] - s->initial[k]) <= 1e-12 * (1 + fabs(y[k]))))
            return not_exact(s, file, k, 0, "initial is", y[k], s->initial[k]);
    s->solution(s, t, y);
    s->solution(s, t - e, before);
    s->solution(s, t + e, behind);
    s->field[OP_F](s, 1, t, y, F);
    s->field[OP_G](s, 1, t, y, G);
    for (size_t k = 0; k < N; k++) y[k] = (behind[k] - before[k]) / (2 * e);
    system_mass(s, y, slope);
    for (size_t k = 0; k < N; k++)
        if (!(fabs(slope[k] - F[k] - G[k]) <= 1e-4 * (1 + fabs(F[k] + G[k]))))
            return not_exact(s, file, k, t, "F + G is", slope[k], F[k] + G[k]);
    return 0;
}

/* Checks that the energy does not change along the field: by a central difference of relative error 1e-7. */
static int check_energy(const System *s, const char *file)
{
    const Formulas *m = s->context;
    size_t N = s->n * s->d;
    const double e = 1e-6;
    SCOPED(memory_drop) double *y = memory_new(4, N * sizeof *y);
    if (!y) return ERR_MEMORY;
    double *F = y + N, *G = y + 2 * N, *behind = y + 3 * N;
    s->field[OP_F](s, 1, 0, s->initial, F);
    s->field[OP_G](s, 1, 0, s->initial, G);
    for (size_t k = 0; k < N; k++) {
        y[k] = s->initial[k] - e * (F[k] + G[k]);
        behind[k] = s->initial[k] + e * (F[k] + G[k]);
    }
    double at = s->energy(s, s->initial);
    double sum = (s->energy(s, behind) - s->energy(s, y)) / (2 * e);
    if (fabs(sum) <= 1e-5 * (1 + fabs(at))) return 0;
    return error_set(ERR_INPUT, "%s:%zu: energy is no invariant: it grows by %g a unit of time",
                     file, m->rule[RULE_ENERGY][0].line, sum);
}

/* Returns the entry's line in the text, which is kept in *out; NULL: the text has none, and it is 0. */
static const Partial *find_partial(const Formulas *m, size_t of, size_t by)
{
    for (size_t k = 0; k < m->partials; k++)
        if (m->partial[k].of == of && m->partial[k].by == by) return &m->partial[k];
    return NULL;
}

static int not_derivative(const Formulas *m, const char *file, size_t of, size_t by, double is,
                          double expected)
{
    const Partial *p = find_partial(m, of, by);
    return error_set(
        ERR_INPUT,
        "%s:%zu: dy%zu'/dy%zu is %g%s near the initial state, and differences of y%zu' "
        "give %g",
        file, p ? p->line : m->partial->line, of + 1, by + 1, is, p ? "" : ", as no line gives it,",
        of + 1, expected);
}

/* Checks what the text says of derivatives by coordinate `by` at (t, y), where the field and the text have values, by central
 * differences of all particles, which do not see each other. Of a derivative x they have some 1e-10 x, of others in its row a
 * rounding: an entry may differ by 1e-6 of itself and 1e-9 of the largest that its row's field could come of. */
static int check_column(const System *s, const char *file, double t, double *y, size_t by,
                        double *work)
{
    const Formulas *m = s->context;
    size_t n = s->n, d = s->d;
    double *plus = work, *minus = plus + n * d, *written = minus + n * d, *e = written + n;
    for (size_t i = 0; i < n; i++) e[i] = cbrt(DBL_EPSILON) * (1 + fabs(y[i * d + by]));
    for (size_t i = 0; i < n; i++) y[i * d + by] += e[i];
    s->field[OP_G](s, 1, t, y, plus);
    for (size_t i = 0; i < n; i++) y[i * d + by] -= 2 * e[i];
    s->field[OP_G](s, 1, t, y, minus);
    for (size_t i = 0; i < n; i++) y[i * d + by] += e[i];
    for (size_t of = 0; of < d; of++) {
        const Partial *p = find_partial(m, of, by);
        memset(written, 0, n * sizeof *written);
        if (p) program_partial(s, p, t, y, written);
        for (size_t i = 0; i < n; i++) {
            double a = plus[i * d + of], b = minus[i * d + of], slope = (a - b) / (2 * e[i]);
            double off =
                1e-6 * (fabs(written[i]) + fabs(slope)) + 1e-9 * (fabs(a) + fabs(b)) / e[i] + 1e-9;
            if (isfinite(slope) && isfinite(written[i]) && fabs(slope - written[i]) > off)
                return not_derivative(m, file, of, by, written[i], slope);
        }
    }
    return 0;
}

/* Checks the Jacobian at the initial state and near it, where products of coordinates that begin at 0 have derivatives. */
static int check_jacobian(const System *s, const char *file)
{
    static const double far[] = {0, 0.01, 0.7};
    size_t N = s->n * s->d;
    SCOPED(memory_drop) double *y = memory_new(3 * N + 2 * s->n, sizeof *y);
    if (!y) return ERR_MEMORY;
    for (size_t k = 0; k < 3; k++)
        for (size_t by = 0; by < s->d; by++) {
            for (size_t i = 0; i < N; i++)
                y[i] = s->initial[i] +
                       far[k] * (1 + fabs(s->initial[i])) * (1 + (double)(i * 7 % 11)) / 11;
            TRY(check_column(s, file, (double)k * s->t_end / 3, y, by, y + N));
        }
    return 0;
}

int program_start(System *s, const char *file, uint64_t seed)
{
    const Formulas *m = s->context;
    double *dy = s->param, *memory = s->param + s->n * s->d;
    program_initial(s, seed, s->initial);
    TRY(check_finite(s, file, RULE_INITIAL, s->n, s->initial));
    if (s->solution) TRY(check_exact(s, file));
    if (s->energy && !s->mass) TRY(check_energy(s, file));
    if (s->jacobian) TRY(check_jacobian(s, file));
    program_memory(s, seed, memory);
    TRY(check_finite(s, file, RULE_MEMORY, m->memory, memory));
    for (int op = 0; op < COLOURS; op++) {
        if (!s->field[op]) continue;
        s->field[op](s, 1, 0, s->initial, dy);
        TRY(check_finite(s, file, op, s->n, dy));
    }
    return 0;
}
