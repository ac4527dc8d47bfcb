/* claims_diffusion.c: tests whether an interaction of particles is a diffusion.
 *
 * A diffusion is a mean of differences, F_i = sum_j w_ij (y_j - y_i) with w_ij >= 0. So it is zero where all particles
 * are at one place, and it obeys the maximum principle: in every direction u the particle that is furthest does not go
 * further, <u, F_i> <= 0 where <u, y_i> is the largest. Both are tested over many states and directions.
 * Source: Evans 2010, 2.2.3 and 6.4 (the maximum principle); Motsch, Tadmor 2014, section 2 (particles).
 */
#include <math.h>
#include <stdio.h>

#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "studies/theory/verify/claims.h"

enum { PARTICLES = 6, STATES = 200, DIRECTIONS = 24, DIM = 2, SIZE = PARTICLES * DIM };

/* Returns the largest outward speed of a state's furthest particle over directions; > 0
 * violates the maximum principle. */
static double outward(const double *y, const double *dy)
{
    double most = -INFINITY;
    for (int k = 0; k < DIRECTIONS; k++) {
        double u[DIM] = {cos(2 * M_PI * k / DIRECTIONS), sin(2 * M_PI * k / DIRECTIONS)};
        double far = -INFINITY, speed = 0;
        for (int i = 0; i < PARTICLES; i++) {
            double at = u[0] * y[2 * i] + u[1] * y[2 * i + 1];
            if (at <= far) continue;
            far = at;
            speed = u[0] * dy[2 * i] + u[1] * dy[2 * i + 1];
        }
        most = fmax(most, speed);
    }
    return most;
}

/* Measures random states. *move: the largest |F| with all particles at one place; *out: the largest outward speed of a
 * furthest particle. */
static int look(const char *interaction, double *move, double *out)
{
    SCOPED(system_drop) System *s = NULL;
    double y[SIZE], dy[SIZE];
    char text[512];
    int n = snprintf(text, sizeof text, "system particles\nn %d\nd %d\n%s\ninitial = normal\n",
                     PARTICLES, DIM, interaction);
    TRY(system_parse("claim", text, (size_t)n, 0, 0, 1, &s));
    *move = 0, *out = -INFINITY;
    for (uint64_t k = 0; k < STATES; k++) {
        for (uint64_t i = 0; i < SIZE; i++) y[i] = random_normal(73, k, i);
        s->field[OP_F](s, 1, 0, y, dy);
        *out = fmax(*out, outward(y, dy));
        for (int i = DIM; i < SIZE; i++) y[i] = y[i % DIM];
        s->field[OP_F](s, 1, 0, y, dy);
        for (int i = 0; i < SIZE; i++) *move = fmax(*move, fabs(dy[i]));
    }
    return 0;
}

static int is_diffusion(const char *interaction, Finding *f, int *holds)
{
    static const double rounding = 1e-12;
    double move, out, none, control;
    TRY(look(interaction, &move, &out));
    TRY(look("F = mean y - z", &none, &control)); /* differences with weights below 0 */
    *holds = move <= rounding && out <= rounding;
    f->sound = f->sound && isfinite(move) && control > rounding;
    finding_say(
        f,
        "of %d states of %d particles: where all are one they move at up to %.2g; the furthest "
        "one in a direction goes on at up to %.2g",
        STATES, PARTICLES, move, out);
    return 0;
}

int check_diffusion(const Zoo *z, const char *const *arg, Finding *f)
{
    (void)z;
    TRY(is_diffusion(arg[0], f, &f->holds));
    finding_say(f, "; under the condition, ");
    return is_diffusion(arg[1], f, &f->conditional);
}
