/* claims_backward.c: claims about PolyNet as Backward Euler, on y' = a y + b in one number. */
#include <math.h>
#include <stdlib.h>

#include "kernels/base/error.h"
#include "studies/theory/verify/claims.h"

/* Half of the field a y + b. param: a/2, b/2. */
static void affine(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    *dy = s->param[0] * *y + s->param[1];
}

/* Computes y after one step of h from 1 on y' = a y + b. */
static int stepped(const Table *t, double a, double b, double h, double *end)
{
    double half[2] = {a / 2, b / 2}, y = 1;
    System s = {.name = "affine", .n = 1, .d = 1, .field = {affine, affine}, .param = half};
    SCOPED(stepper_drop) Stepper *st = NULL;
    TRY(stepper_new(t, &s, &st));
    TRY(stepper_begin(st, 0, h, &y, START_GIVEN, NULL));
    TRY(stepper_step(st));
    *end = *stepper_state(st);
    return 0;
}

/* Is R(z) = sum c_m z^m at z = 1 .. 9? A polynomial of degree below 9 is then that one. */
static int is_polynomial(const Table *t, const char *coefficients, int *equal)
{
    *equal = 1;
    for (int z = 1; z <= 9; z++) {
        double R = NAN, sum = 0, power = 1;
        char *end = NULL;
        TRY(stepped(t, z, 0, 1, &R));
        for (const char *at = coefficients; *at; at = end, power *= z)
            sum += power * strtod(at, &end);
        *equal = *equal && fabs(R - sum) <= 1e-13 * sum;
    }
    return 0;
}

/* Measures the slope of the distance from Backward Euler, (y + h b)/(1 - h a), on y' = a y + b. */
static int distance_slope(const Table *t, double b, double *slope)
{
    enum { STEPS = 6 };
    const double a = -0.7;
    double e[STEPS], end = NAN;
    for (int j = 0; j < STEPS; j++) {
        double h = ldexp(1, -3 - j);
        TRY(stepped(t, a, b, h, &end));
        e[j] = fabs(end - (1 + h * b) / (1 - h * a));
    }
    double off;
    *slope = sine_slope(e, STEPS, &off);
    return 0;
}

/* The claim holds if the method is consistent at all. Under the condition (F linear), R(z) is the
 * polynomial and shares with 1/(1-z) = 1 + z + z^2 + ... the terms below z^n. */
int check_backward(const Zoo *z, const char *const *arg, Finding *f)
{
    TABLE(t);
    Theory theory;
    double linear, biased;
    int n = atoi(arg[2]), polynomial, ones = 0;
    TRY(map_table(z, arg[0], &t));
    TRY(theory_search(t, 2, &theory));
    TRY(is_polynomial(t, arg[1], &polynomial));
    TRY(distance_slope(t, 0, &linear));
    TRY(distance_slope(t, 0.4, &biased));
    for (const char *at = arg[1]; *at; at++) ones += *at == '1';
    f->holds = theory.consistent;
    f->conditional = polynomial && ones == n && fabs(linear - n) <= 0.25;
    f->sound = f->sound && (biased >= 1.75) == theory.consistent;
    finding_say(
        f,
        "nonlinear F: order %d%s; linear F: R(z) %s %s (coefficients of 1, z, ..), 1/(1-z) = 1 1 1 "
        "1 ..; measured distance from Backward Euler: h^%.2f for F = ay, h^%.2f for F = ay + b",
        theory.order, theory.expands ? "" : " (F(F(y)) has no expansion about y)",
        polynomial ? "=" : "is not", arg[1], linear, biased);
    return 0;
}
