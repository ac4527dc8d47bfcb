/* schedule.c: learning rates of a run's steps. One table has a row for each way down from the peak. */
#include <math.h>

#include "nn/run/train.h"

static double cosine(const Schedule *s, double x)
{
    return s->end + 0.5 * (s->peak - s->end) * (1 + cos(acos(-1.0) * x));
}

static double linear(const Schedule *s, double x)
{
    return s->end + (s->peak - s->end) * (1 - x);
}

/* Rates after the warm-up of w steps, at step s of T. */
static const struct {
    const char *name;
    double (*to_end)(const Schedule *s, double x); /* NULL: the schedule has no end */
} schedules[SCHEDULES] = {
    /* peak sqrt(w / s), or peak where w = 0. Vaswani et al. 2017, eq. 3, with the peak as the unit */
    [SCHEDULE_INVERSE_SQRT] = {"inverse-sqrt", NULL},
    /* end + (peak - end) (1 + cos(pi (s - w) / (T - w))) / 2. Loshchilov, Hutter 2017, eq. 5, one cycle */
    [SCHEDULE_COSINE] = {"cosine", cosine},
    /* end + (peak - end) (T - s) / (T - w). Devlin et al. 2019, section A.2, with an end to choose */
    [SCHEDULE_LINEAR] = {"linear", linear},
    /* peak. Goyal et al. 2017, section 2.2 (gradual warm-up), without drops of the rate */
    [SCHEDULE_CONSTANT] = {"constant", NULL},
};

const char *schedule_name(int kind)
{
    return schedules[kind].name;
}

int schedule_ends(int kind)
{
    return schedules[kind].to_end != NULL;
}

double schedule_rate(const Schedule *s, uint64_t step)
{
    double at = (double)step, w = (double)s->warmup, T = (double)s->steps;
    if (step <= s->warmup) return s->peak * at / w;
    if (schedules[s->kind].to_end)
        return schedules[s->kind].to_end(s, step < s->steps ? (at - w) / (T - w) : 1);
    return s->kind == SCHEDULE_INVERSE_SQRT && s->warmup ? s->peak * sqrt(w / at) : s->peak;
}
