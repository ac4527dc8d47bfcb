/* system_start.c: the initial state of a system of a file, and checks of what its text says at it: values are finite, the
 * exact solution is one, the energy does not change. */
#include <math.h>

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

int program_start(System *s, const char *file, uint64_t seed)
{
    const Formulas *m = s->context;
    double *dy = s->param, *memory = s->param + s->n * s->d;
    program_initial(s, seed, s->initial);
    TRY(check_finite(s, file, RULE_INITIAL, s->n, s->initial));
    if (s->solution) TRY(check_exact(s, file));
    if (s->energy && !s->mass) TRY(check_energy(s, file));
    program_memory(s, seed, memory);
    TRY(check_finite(s, file, RULE_MEMORY, m->memory, memory));
    for (int op = 0; op < COLOURS; op++) {
        if (!s->field[op]) continue;
        s->field[op](s, 1, 0, s->initial, dy);
        TRY(check_finite(s, file, op, s->n, dy));
    }
    return 0;
}
