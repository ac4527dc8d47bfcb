/* claims_method.c: claims about stability, and about PolyNet as Backward Euler. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/verify/claims.h"

/* ---- stability intervals ---------------------------------------------------------------------------- */

/* Half of the field a y + b. param: a/2, b/2. */
static void affine(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    *dy = s->param[0] * *y + s->param[1];
}

/* Computes y after n steps of h on y' = a y + b from 1, with exact history where there is any (b = 0). */
static int stepped(const Table *t, double a, double b, double h, int n, double *end)
{
    double half[2] = {a / 2, b / 2}, y = 1, past[8];
    System s = {.name = "affine", .n = 1, .d = 1, .field = {affine, affine}, .param = half};
    Stepper *st;
    TRY(stepper_new(t, &s, &st));
    int code = stepper_history(st) <= 8 ? 0 : ERR_MISUSE;
    for (int j = 0; j < 8; j++) past[j] = exp(-a * h * (j + 1));
    if (code == 0) code = stepper_begin(st, 0, h, &y, START_GIVEN, past);
    for (int i = 0; i < n && code == 0; i++) code = stepper_step(st);
    if (code == 0) *end = *stepper_state(st);
    stepper_free(st);
    return code;
}

int check_limits(const Zoo *z, const char *const *arg, Finding *f)
{
    Table *t;
    double real = NAN, imag = NAN, end = NAN;
    int stable = 0, on_circle = 0;
    TRY(map_table(z, arg[0], &t));
    int code = stability_limits(t, &real, &imag);
    if (code == 0) code = stability_roots(t, &stable, &on_circle);
    if (code == 0) code = stepped(t, -1, 0, 0.1, 400, &end);
    table_free(t);
    f->holds = stable && fabs(real - strtod(arg[1], NULL)) <= 1e-9 &&
               fabs(imag - strtod(arg[2], NULL)) <= 1e-9 && on_circle == atoi(arg[3]);
    f->sound = f->sound && (fabs(end) > 1) == (real > -0.1);
    finding_say(f,
                "%s: limits %.10g and %.10gi, %d root(s) on the circle; y' = -y at h = 1/10 "
                "measured: |y| = %.1e after 400 steps from exact values",
                arg[0], real, imag, on_circle, fabs(end));
    return code;
}

/* ---- zero-stability ---------------------------------------------------------------------------------- */

static int one_value(const Zoo *z, const char *statements, const char *value, Finding *f,
                     int *stable)
{
    Table *t;
    char *text = claim_value(statements, value);
    int on_circle, code = text ? map_table(z, text, &t) : ERR_MEMORY;
    memory_free(text);
    TRY(code);
    code = stability_roots(t, stable, &on_circle);
    /* History that does not move as y' = 1 does wakes every root. */
    double end = INFINITY;
    if (code == 0) code = stepped(t, 0, 1, 1 / 4000., 4000, &end);
    if (code == ERR_NUMERIC) code = 0;
    f->sound = f->sound && (fabs(end) <= 100) == *stable;
    finding_say(f, " %s: %s, %d root%s on the circle, 4000 steps over 1 of y' = 1 come to %.3g;",
                value, *stable ? "stable" : "unstable", on_circle, on_circle == 1 ? "" : "s", end);
    table_free(t);
    return code;
}

static int all_values(const Zoo *z, const char *statements, const char *values, int want,
                      Finding *f)
{
    char *list = memory_string(values), *rest = list;
    int code = list ? 0 : ERR_MEMORY;
    for (char *value; code == 0 && (value = strsep(&rest, " "));) {
        int stable = 0;
        code = one_value(z, statements, value, f, &stable);
        f->holds = f->holds && stable == want;
    }
    memory_free(list);
    return code;
}

int check_stability(const Zoo *z, const char *const *arg, Finding *f)
{
    f->holds = 1;
    finding_say(f, "root condition at K =");
    TRY(all_values(z, arg[0], arg[1], 1, f));
    return arg[2] ? all_values(z, arg[0], arg[2], 0, f) : 0;
}

/* ---- Backward Euler ------------------------------------------------------------------------------------- */

/* Is R(z) = sum c_m z^m at z = 1 .. 9? A polynomial of degree below 9 is then that one. The coefficients are not
 * negative, so |R| is R. */
static int is_polynomial(const Table *t, const char *coefficients, int *equal)
{
    Stability *s;
    TRY(stability_new(t, &s));
    *equal = 1;
    for (int z = 1; z <= 9; z++) {
        const double half[COLOURS][2] = {[OP_F] = {z / 2.}, [OP_G] = {z / 2.}};
        double sum = 0, power = 1;
        char *end = NULL;
        for (const char *at = coefficients; *at; at = end, power *= z)
            sum += power * strtod(at, &end);
        *equal = *equal && fabs(stability_at(s, half) - sum) <= 1e-13 * sum;
    }
    stability_free(s);
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
        TRY(stepped(t, a, b, h, 1, &end));
        e[j] = fabs(end - (1 + h * b) / (1 - h * a));
    }
    *slope = sine_slope(e, STEPS);
    return 0;
}

/* The claim holds if the method is consistent at all. Under the condition (F linear), R(z) is the
 * polynomial and shares with 1/(1-z) = 1 + z + z^2 + ... the terms below z^n. */
int check_backward(const Zoo *z, const char *const *arg, Finding *f)
{
    Table *t;
    Theory theory;
    double linear = NAN, biased = NAN;
    int n = atoi(arg[2]), polynomial = 0, ones = 0;
    TRY(map_table(z, arg[0], &t));
    int code = theory_search(t, 2, &theory);
    if (code == 0) code = is_polynomial(t, arg[1], &polynomial);
    if (code == 0) code = distance_slope(t, 0, &linear);
    if (code == 0) code = distance_slope(t, 0.4, &biased);
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
    table_free(t);
    return code;
}
