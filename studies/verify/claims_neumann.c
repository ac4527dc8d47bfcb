/* claims_neumann.c: claims about PolyNet as Backward Euler. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"
#include "studies/verify/claims.h"

/* Computes R(z) of a one-step table on y' = z y with one field: F = z, G = 0. Exact. */
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

/* Reads the rationals of "1 1 1/2", at most TERMS, into c. */
enum { TERMS = 9 };
static int read_rationals(const char *text, mpq_t c[TERMS], size_t *count)
{
    char number[32];
    int used;
    for (*count = 0; *count < TERMS && sscanf(text, " %31[^ ]%n", number, &used) == 1; text += used)
        TRY(terms_number(number, c[(*count)++]));
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

/* dy = A y + b in R^D. param: A (D, D), b (D). */
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

/* Solves x = y + h (A x + b) by iteration, which converges for h |A| < 1. */
static void backward_euler(const System *s, double h, const double *y, double *x)
{
    double dx[SINE_D];
    memcpy(x, y, SINE_D * sizeof *x);
    for (int n = 0; n < 200; n++) {
        affine(s, 1, 0, x, dx);
        for (int i = 0; i < SINE_D; i++) x[i] = y[i] + h * dx[i];
    }
}

/* Measures the slope of the distance from Backward Euler on y' = A y + b; with_bias: b != 0. */
static int distance_slope(const Table *t, int with_bias, double *slope)
{
    enum { STEPS = 6 };
    double param[SINE_D * SINE_D + SINE_D], y[SINE_D], x[SINE_D], e[STEPS];
    for (size_t i = 0; i < sizeof param / sizeof *param; i++)
        param[i] = 0.5 * random_normal(41, 0, i) * (i < SINE_D * SINE_D || with_bias);
    for (size_t i = 0; i < SINE_D; i++) y[i] = random_normal(41, 1, i);
    System s = {.name = "affine",
                .n = 1,
                .d = SINE_D,
                .field = {affine, nothing},
                .initial = y,
                .param = param};
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
    if (code == 0) code = distance_slope(t, 1, &biased);
    for (const char *at = arg[1]; *at; at++) ones += *at == '1';
    f->holds = theory.consistent;
    f->conditional = polynomial && ones == n && fabs(linear - n) <= 0.25;
    f->sound = f->sound && (biased >= 1.75) == theory.consistent;
    finding_say(
        f,
        "nonlinear F: order %d%s; linear F: R(z) %s %s (coefficients of 1, z, ..), 1/(1-z) = 1 1 1 "
        "1 ..; measured distance from Backward Euler: h^%.2f for F = Ay, h^%.2f for F = Ay + b",
        theory.order, theory.expands ? "" : " (F(F(y)) has no expansion about y)",
        polynomial ? "=" : "is not", arg[1], linear, biased);
    table_free(t);
    return code;
}
