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

static void decay(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    *dy = s->param[0] * *y;
}

/* Computes |y| after n steps of 1/10 on y' = -y from exact history, F = G = -y/2. */
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
                "%s: limits %.10g and %.10gi, %d root(s) on the circle; y' = -y at h = 1/10 "
                "measured: |y| = %.1e after 400 steps from exact values",
                arg[0], real, imag, on_circle, end);
    return code;
}

/* ---- dense history ------------------------------------------------------------------------------------- */

enum { LAYERS = 6 };

/* w: weight of F(y_l) in y_{n+1}, for the layer l alone, or for the pair. */
static void dense_weight(int pair, int n, int l, mpq_t w)
{
    mpq_set_si(w, 2 + l, (unsigned long)(3 + l * l + (pair ? n - l : 0)));
    mpq_canonicalize(w);
}

/* F(y) = 1 - y^2/3, exactly. */
static void quadratic(const mpq_t y, mpq_t F)
{
    mpq_t third;
    mpq_init(third);
    mpq_set_si(third, -1, 3);
    mpq_mul(F, y, y);
    mpq_mul(F, F, third);
    mpq_set_ui(third, 1, 1);
    mpq_add(F, F, third);
    mpq_clear(third);
}

/* Is y_0 + sum_l w_l F(y_l), carried through LAYERS layers, equal to y_n + w_n F(y_n)
 * at each? Uses rationals. */
static int telescopes(int pair)
{
    mpq_t y[LAYERS + 1], F[LAYERS], w, term, euler;
    int same = 1;
    mpq_inits(w, term, euler, NULL);
    for (int n = 0; n <= LAYERS; n++) mpq_init(y[n]);
    for (int n = 0; n < LAYERS; n++) mpq_init(F[n]);
    mpq_set_ui(y[0], 1, 2);
    for (int n = 0; n < LAYERS; n++) {
        quadratic(y[n], F[n]);
        mpq_set(y[n + 1], y[0]);
        for (int l = 0; l <= n; l++) {
            dense_weight(pair, n, l, w);
            mpq_mul(term, w, F[l]);
            mpq_add(y[n + 1], y[n + 1], term);
        }
        mpq_add(euler, y[n], term); /* the last term is w_n F(y_n) */
        same = same && mpq_equal(euler, y[n + 1]);
    }
    for (int n = 0; n <= LAYERS; n++) mpq_clear(y[n]);
    for (int n = 0; n < LAYERS; n++) mpq_clear(F[n]);
    mpq_clears(w, term, euler, NULL);
    return same;
}

/* Does the same on the sine field. Returns the distance after LAYERS layers of h = 1/4. */
static double dense_distance(int pair)
{
    Sine s;
    double F[LAYERS][SINE_D], dense[SINE_D], euler[SINE_D], F_euler[SINE_D];
    mpq_t w;
    mpq_init(w);
    sine_new(&s, 81, 1);
    memcpy(dense, s.y, sizeof dense);
    memcpy(euler, s.y, sizeof euler);
    for (int n = 0; n < LAYERS; n++) {
        sine_derivative(&s, OP_F, dense, 0, NULL, F[n]);
        sine_derivative(&s, OP_F, euler, 0, NULL, F_euler);
        memcpy(dense, s.y, sizeof dense);
        for (int l = 0; l <= n; l++) {
            dense_weight(pair, n, l, w);
            sine_subtract(dense, -0.25 * table_double(w), F[l]);
        }
        sine_subtract(euler, -0.25 * table_double(w), F_euler);
    }
    mpq_clear(w);
    sine_subtract(dense, 1, euler);
    return sine_norm(dense);
}

int check_dense(const Zoo *z, const char *const *arg, Finding *f)
{
    (void)z;
    int pair = strcmp(arg[0], "pair") == 0;
    double distance = dense_distance(pair), control = dense_distance(1);
    /* 6 layers of a few sums of numbers of size 1 */
    f->holds = telescopes(pair);
    f->sound = f->sound && (distance <= 1e-13) == f->holds && !(control <= 1e-13);
    finding_say(f,
                "%d layers of F = 1 - y^2/3 in rationals, weights all different: %s Euler with "
                "step W_n; on the sine field %.1e apart (control, weights by pairs of layers: "
                "%.1e)",
                LAYERS, f->holds ? "equal to" : "not", distance, control);
    return 0;
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
