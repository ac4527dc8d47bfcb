/* forecast.c: finds how many steps an order study takes, and what a step costs. */
#include "ode/measure/forecast.h"

#include <math.h>
#include <string.h>

#include "kernels/base/clock.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

int order_first_steps(const System *s, const OrderOptions *o, double *t_end, size_t *steps)
{
    *t_end = o->t_end != 0 ? o->t_end : s->t_end;
    double h0 = o->h0 != 0 ? o->h0 : s->h0, count = round(*t_end / h0);
    if (!(*t_end > 0 && *t_end <= 1e6))
        return error_set(ERR_INPUT, "t-end %g: expected a number in (0, 1e6]", *t_end);
    if (!(h0 > 0 && h0 <= *t_end && count <= 1e6))
        return error_set(ERR_INPUT,
                         "h0 %g: expected a step of at most t-end = %g, and at least a millionth "
                         "of it",
                         h0, *t_end);
    if (o->halvings < 4 || o->halvings > HALVINGS_MAX)
        return error_set(ERR_INPUT, "%d halvings: expected 4 to %d", o->halvings, HALVINGS_MAX);
    *steps = (size_t)count;
    return 0;
}

/* Returns the seconds of the second of two steps h: the first one meets cold caches. */
static double try_step(Stepper *st, const double *initial, double h, const double *given)
{
    double seconds = 0;
    for (int i = 0; i < 2; i++) {
        int code = stepper_begin(st, 0, h, initial, START_GIVEN, given);
        for (int j = stepper_history(st); code == 0 && j > 0; j--) code = stepper_step(st);
        double start = clock_now();
        if (code == 0) stepper_step(st);
        seconds = clock_now() - start;
    }
    return seconds;
}

static int step_cost(Stepper *st, const double *initial, size_t N, double h, StepCost *out)
{
    size_t history = (size_t)stepper_history(st);
    SCOPED(memory_drop) double *given = memory_new(history, N * sizeof *given);
    if (!given) return ERR_MEMORY;
    for (size_t j = 0; j < history; j++) memcpy(given + j * N, initial, N * sizeof *given);
    double one = try_step(st, initial, h, given), two = try_step(st, initial, 2 * h, given);
    double more = fmin(fmax(two - one, 0), one);
    *out = (StepCost){one - more, more / h};
    return 0;
}

double step_cost_of(const StepCost *c, double steps, double time)
{
    return steps * c->step + time * c->time;
}

int study_cost(Stepper *st, const double *initial, size_t N, size_t steps, int halvings,
               double t_end, StepCost *out, double *seconds)
{
    double finest = ldexp((double)steps, halvings);
    TRY(step_cost(st, initial, N, t_end / finest, out));
    *seconds = step_cost_of(out, 2 * finest - (double)steps, (halvings + 1) * t_end);
    return 0;
}
