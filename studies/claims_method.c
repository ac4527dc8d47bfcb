/* claims_method.c: claims about stability, and about methods whose argument is not near y. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"
#include "studies/claims.h"

/* ---- zero-stability ---------------------------------------------------------------------------------- */

/* Largest |y_n| of y_n = sum_j v_j y_{n-1-j}, the update on y' = 0, from a rough start; 4000 steps. */
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

static int one_value(const Zoo *z, const char *statements, const char *value, Finding *f, int *stable)
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

static int all_values(const Zoo *z, const char *statements, const char *values, int want, Finding *f)
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

static void decay(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    *dy = s->param[0] * *y;
}

/* |y| after n steps of 1/10 on y' = -y from exact history, F = G = -y/2. */
static int decayed(const Table *t, int n, double *end)
{
    double rate = -0.5, y = 1, past[8];
    System s = {.name = "decay", .n = 1, .d = 1, .field = {decay, decay}, .param = &rate};
    Stepper *st;
    TRY(stepper_new(t, &s, &st));
    int code = stepper_history(st) <= 8 ? 0 : ERR_MISUSE;
    for (int j = 0; j < 8; j++) past[j] = exp((j + 1) / 10.0);
    if (code == 0) code = stepper_begin(st, 0, 0.1, &y, START_GIVEN, past);
    for (int i = 0; i < n && code == 0; i++) code = stepper_step(st);
    *end = fabs(*stepper_state(st));
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
    if (code == 0) code = decayed(t, 400, &end);
    table_free(t);
    f->holds = stable && fabs(real - strtod(arg[1], NULL)) <= 1e-9 &&
               fabs(imag - strtod(arg[2], NULL)) <= 1e-9 && on_circle == atoi(arg[3]);
    f->sound = f->sound && (end > 1) == (real > -0.1);
    finding_say(f,
                "%s: limits %.10g and %.10gi, %d root(s) on the circle; y' = -y at h = 1/10 measured: |y| = "
                "%.1e after 400 steps from exact values",
                arg[0], real, imag, on_circle, end);
    return code;
}

/* ---- PolyNet as Backward Euler ------------------------------------------------------------------------- */

/* R(z) of a one-step table on y' = z y, one field: F = z, G = 0. Exact. */
static int amplification(const Table *t, const mpq_t z, mpq_t R)
{
    mpq_t *k = memory_new(t->evals + 1, sizeof *k), q;
    if (!k) return ERR_MEMORY;
    mpq_init(q);
    for (size_t e = 0; e <= t->evals; e++) {
        const Row *row = e < t->evals ? &t->point[t->eval[e].point].row : &t->update;
        mpq_init(k[e]);
        for (size_t j = 0; j < row->terms; j++) {
            mpq_set(q, row->term[j].c);
            if (row->term[j].eval != TABLE_STATE) mpq_mul(q, q, k[row->term[j].eval]);
            mpq_add(k[e], k[e], q);
        }
        if (e == t->evals)
            mpq_set(R, k[e]);
        else if (t->eval[e].op == OP_F)
            mpq_mul(k[e], k[e], z);
        else
            mpq_set_ui(k[e], 0, 1);
    }
    for (size_t e = 0; e <= t->evals; e++) mpq_clear(k[e]);
    mpq_clear(q);
    memory_free(k);
    return 0;
}

/* c: the rationals of "1 1 1/2", at most TERMS. */
enum { TERMS = 9 };
static int read_rationals(const char *text, mpq_t c[TERMS], size_t *count)
{
    char number[32];
    int used;
    for (*count = 0; *count < TERMS && sscanf(text, " %31[^ ]%n", number, &used) == 1; text += used)
        if (mpq_set_str(c[(*count)++], number, 10) != 0)
            return error_set(ERR_INPUT, "no rational: %s", number);
    return 0;
}

/* Is R(z) = sum c_m z^m at z = 1 .. 9? A polynomial of degree below 9 is then that one. */
static int is_polynomial(const Table *t, const char *coefficients, int *equal)
{
    mpq_t z, R, sum, c[TERMS];
    size_t count;
    mpq_inits(z, R, sum, NULL);
    for (int m = 0; m < TERMS; m++) mpq_init(c[m]);
    int code = read_rationals(coefficients, c, &count);
    *equal = 1;
    for (unsigned long n = 1; n <= TERMS && code == 0; n++) {
        mpq_set_ui(z, n, 1);
        mpq_set_ui(sum, 0, 1);
        for (size_t m = count; m-- > 0;) {
            mpq_mul(sum, sum, z);
            mpq_add(sum, sum, c[m]);
        }
        code = amplification(t, z, R);
        *equal = *equal && mpq_equal(R, sum);
    }
    for (int m = 0; m < TERMS; m++) mpq_clear(c[m]);
    mpq_clears(z, R, sum, NULL);
    return code;
}

/* A field A y + b in R^D, and |step - (I - h A)^-1 (y + h b)| for it. param: A (D, D), b (D). */
static void affine(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    const double *A = s->param, *b = A + SINE_D * SINE_D;
    for (int i = 0; i < SINE_D; i++) {
        dy[i] = b[i];
        for (int j = 0; j < SINE_D; j++) dy[i] += A[i * SINE_D + j] * y[j];
    }
}

static void nothing(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t, (void)y;
    memset(dy, 0, SINE_D * sizeof *dy);
}

/* x = y + h (A x + b) by iteration, which converges for h |A| < 1. */
static void backward_euler(const System *s, double h, const double *y, double *x)
{
    double dx[SINE_D];
    memcpy(x, y, SINE_D * sizeof *x);
    for (int n = 0; n < 200; n++) {
        affine(s, 1, 0, x, dx);
        for (int i = 0; i < SINE_D; i++) x[i] = y[i] + h * dx[i];
    }
}

/* Slope of the distance from Backward Euler on y' = A y + b; with_bias: b != 0. */
static int distance_slope(const Table *t, int with_bias, double *slope)
{
    enum { STEPS = 6 };
    double param[SINE_D * SINE_D + SINE_D], y[SINE_D], x[SINE_D], e[STEPS];
    for (size_t i = 0; i < sizeof param / sizeof *param; i++)
        param[i] = 0.5 * random_normal(41, 0, i) * (i < SINE_D * SINE_D || with_bias);
    for (size_t i = 0; i < SINE_D; i++) y[i] = random_normal(41, 1, i);
    System s = {.name = "affine", .n = 1, .d = SINE_D, .field = {affine, nothing}, .initial = y, .param = param};
    Stepper *st;
    TRY(stepper_new(t, &s, &st));
    int code = 0;
    for (int j = 0; j < STEPS && code == 0; j++) {
        double h = ldexp(1, -3 - j);
        backward_euler(&s, h, y, x);
        code = stepper_begin(st, 0, h, y, START_GIVEN, NULL);
        if (code == 0) code = stepper_step(st);
        for (int i = 0; i < SINE_D; i++) x[i] -= stepper_state(st)[i];
        e[j] = sine_norm(x);
    }
    *slope = sine_slope(e, STEPS);
    stepper_free(st);
    return code;
}

/* Holds: a consistent method at all. Under the condition (F linear): R(z) is the polynomial, and it
 * shares with 1/(1-z) = 1 + z + z^2 + ... the terms below z^n. */
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
    if (code == 0) code = distance_slope(t, 1, &biased);
    for (const char *at = arg[1]; *at; at++) ones += *at == '1';
    f->holds = theory.consistent;
    f->conditional = polynomial && ones == n && fabs(linear - n) <= 0.25;
    f->sound = f->sound && (biased >= 1.75) == theory.consistent;
    finding_say(f,
                "nonlinear F: order %d%s; linear F: R(z) %s %s (coefficients of 1, z, ..), 1/(1-z) = 1 1 1 1 "
                "..; measured distance from Backward Euler: h^%.2f for F = Ay, h^%.2f for F = Ay + b",
                theory.order, theory.expands ? "" : " (F(F(y)) has no expansion about y)",
                polynomial ? "=" : "is not", arg[1], linear, biased);
    table_free(t);
    return code;
}

/* ---- a gate that looks ---------------------------------------------------------------------------------- */

/* y (D) one step of (25)-(26), g = sigmoid(w . [k1, k2] + b), on the one field F. */
static void gate_step(const Sine *s, double bias, double h, double *y)
{
    double k1[SINE_D], k2[SINE_D], at[SINE_D], x = bias;
    sine_derivative(s, OP_F, 1, y, 0, NULL, k1);
    for (int i = 0; i < SINE_D; i++) at[i] = y[i] + (k1[i] *= h);
    sine_derivative(s, OP_F, 1, at, 0, NULL, k2);
    for (uint64_t i = 0; i < SINE_D; i++)
        x += random_normal(51, 0, i) * k1[i] + random_normal(51, 1, i) * (k2[i] *= h);
    double g = 1 / (1 + exp(-x));
    for (int i = 0; i < SINE_D; i++) y[i] += g * k1[i] + (1 - g) * k2[i];
}

int check_gate_bias(const Zoo *z, const char *const *arg, Finding *f)
{
    enum { STEPS = 6 };
    double bias = strtod(arg[0], NULL), e[2][STEPS], slope[2];
    static const double one[2] = {1, 0};
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
