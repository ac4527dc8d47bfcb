/* claims_method.c: claims about stability, dense history and gates. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"
#include "studies/verify/claims.h"

/* ---- zero-stability ---------------------------------------------------------------------------------- */

/* Returns the largest |y_n| of y_n = sum_j v_j y_{n-1-j}, the update on y' = 0, from a
 * rough start; 4000 steps. */
static double growth(const Table *t)
{
    enum { PAST = 8 };
    double y[PAST], most = 0;
    for (int j = 0; j < PAST; j++) y[j] = j % 2 ? -1 : 1;
    for (int n = 0; n < 4000 && most < 1e6; n++) {
        double next = 0;
        for (size_t k = 0; k < t->update.terms; k++) {
            const Term *v = &t->update.term[k];
            if (v->eval == TABLE_STATE) next += table_double(v->c) * y[v->past % PAST];
        }
        memmove(y + 1, y, (PAST - 1) * sizeof *y);
        y[0] = next;
        most = fmax(most, fabs(next));
    }
    return most;
}

static int one_value(const Zoo *z, const char *statements, const char *value, Finding *f,
                     int *stable)
{
    Table *t;
    char *text = claim_value(statements, value);
    int on_circle, code = text ? map_table(z, text, &t) : ERR_MEMORY;
    memory_free(text);
    TRY(code);
    code = stability_roots(t, stable, &on_circle);
    double most = growth(t);
    f->sound = f->sound && (most <= 100) == *stable;
    finding_say(f, " %s: %s, %d root%s on the circle, 4000 steps grow to %.3g;", value,
                *stable ? "stable" : "unstable", on_circle, on_circle == 1 ? "" : "s", most);
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

/* ---- a gate with input ---------------------------------------------------------------------------------- */

/* Moves y (D) by one step of (25)-(26), g = sigmoid(w . [k1, k2] + b), on the one field F. */
static void gate_step(const Sine *s, double bias, double h, double *y)
{
    double k1[SINE_D], k2[SINE_D], at[SINE_D], x = bias;
    sine_derivative(s, OP_F, y, 0, NULL, k1);
    for (int i = 0; i < SINE_D; i++) at[i] = y[i] + (k1[i] *= h);
    sine_derivative(s, OP_F, at, 0, NULL, k2);
    for (uint64_t i = 0; i < SINE_D; i++)
        x += random_normal(51, 0, i) * k1[i] + random_normal(51, 1, i) * (k2[i] *= h);
    double g = 1 / (1 + exp(-x));
    for (int i = 0; i < SINE_D; i++) y[i] += g * k1[i] + (1 - g) * k2[i];
}

int check_gate_bias(const Zoo *z, const char *const *arg, Finding *f)
{
    enum { STEPS = 6 };
    double bias = strtod(arg[0], NULL), e[2][STEPS], slope[2];
    static const double one[COLOURS] = {[OP_F] = 1};
    Sine s;
    (void)z;
    sine_new(&s, 61, 1);
    for (int j = 0; j < STEPS; j++) {
        double h = ldexp(1, -3 - j), exact[SINE_D], y[SINE_D];
        memcpy(exact, s.y, sizeof exact);
        TRY(sine_flow(&s, one, h, exact));
        for (int control = 0; control < 2; control++) {
            memcpy(y, s.y, sizeof y);
            gate_step(&s, control ? bias + 1 : bias, h, y);
            for (int i = 0; i < SINE_D; i++) y[i] -= exact[i];
            e[control][j] = sine_norm(y);
        }
    }
    for (int control = 0; control < 2; control++) slope[control] = sine_slope(e[control], STEPS);
    f->holds = fabs(slope[0] - 1 - atoi(arg[1])) <= 0.25;
    f->sound = f->sound && fabs(slope[1] - 2) <= 0.25;
    finding_say(f, "weights random, bias %s: measured order %.2f (control, bias %g: %.2f)", arg[0],
                slope[0] - 1, bias + 1, slope[1] - 1);
    return 0;
}
