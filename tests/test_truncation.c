/* test_truncation.c: truncation errors of networks whose flow is known.
 *
 * LN(y) = (y - mean) / sigma. A sublayer A LN(y) with A skew and A 1 = 0 keeps mean and sigma, so it
 * turns y - mean at the constant speed 1 / sigma: the exact flow of any sum of such sublayers is a
 * rotation. In 4 coordinates the vectors of mean zero are three-dimensional: two such sublayers do not
 * commute, and Rodrigues' formula gives the flow. Attention of a single token is linear in its values;
 * a GELU (or ReLU) far to the right is the identity. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/truncator.h"
#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"

enum { D = 4, V = 5, TOKENS = 6, FAR = 40 };

static Zoo zoo;
static Table **scheme;
static size_t schemes;
static const Backend *f64;

/* In no zoo: a two-step Runge-Kutta method, and one over three operators. */
static const char more[] =
    "scheme x-tsrk\nk1 = H(y)\nk2 = H(y + 1/2*k1 + 1/4*k2[-1])\ny' = y + 1/3*k1 + 2/3*k2\n"
    "scheme x-mixed\nk1 = G(y)\nk2 = F(y + 2/3*k1)\nk3 = H(y + 1/4*k1 + 1/3*k2)\n"
    "y' = y + 1/5*k1 + 1/2*k2 + 1/2*k3\n";

static int set_up(void **state)
{
    (void)state;
    if (zoo_open(&zoo) != 0 ||
        scheme_parse("more", more, strlen(more), &zoo.scheme, &zoo.count) != 0)
        return 1;
    if (zoo_list(&zoo, "all", "euler", &scheme, &schemes) != 0) return 1;
    return backend_find("cpu-f64", NULL, &f64);
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < schemes; i++) table_free(scheme[i]);
    memory_free(scheme);
    zoo_close(&zoo);
    return 0;
}

static Table *find(const char *name)
{
    Table *t;
    if (zoo_find(&zoo, name, "euler", &t) != 0) fail_msg("%s", error_text());
    return t;
}

/* ---- models ----------------------------------------------------------------------------------------- */

static Model *build(const Table *t, size_t layers, size_t width, int act)
{
    BridgeOptions o = {.layers = layers, .width = width, .inner = width, .match = MATCH_NONE};
    ModelConfig c = {.vocab = V,
                     .width = width,
                     .heads = 1,
                     .positions = POSITIONS_SINUSOID,
                     .act = act,
                     .max_tokens = 2 * TOKENS,
                     .max_length = TOKENS,
                     .seed = 5};
    Plan *plan;
    Model *m;
    if (bridge_plan(t, &o, &plan) != 0 || model_new(&c, plan, f64, 0, &m) != 0)
        fail_msg("%s: %s", t->name, error_text());
    return m;
}

static const Param *param(const Model *m, const char *name)
{
    const Param *p;
    size_t n = model_params(m, &p);
    for (size_t i = 0; i < n; i++)
        if (strcmp(p[i].name, name) == 0) return &p[i];
    return NULL;
}

/* Numbers of a tensor, from the `at`-th on. */
static void put(Model *m, const char *name, size_t at, const double *x, size_t n)
{
    const Param *p = param(m, name);
    if (!p || at + n > p->size) fail_msg("no %s", name);
    f64->put(backend_at(f64, model_data(m), p->offset + at), x, n);
}

static void fill(Model *m, const char *name, double value)
{
    const Param *p = param(m, name);
    if (!p) fail_msg("no %s", name);
    f64->fill(backend_at(f64, model_data(m), p->offset), value, p->size);
}

static void put_identity(Model *m, const char *name, size_t row, size_t D_)
{
    for (size_t i = 0; i < D_; i++)
        for (size_t k = 0; k < D_; k++) put(m, name, (row + i) * D_ + k, &(double){i == k}, 1);
}

/* The skew matrix of the rotation about `axis` (3) in an orthonormal basis of the vectors of mean 0. */
static void rotation(const double axis[3], double A[D][D])
{
    static const double basis[3][D] = {
        {0.5, 0.5, -0.5, -0.5}, {0.5, -0.5, 0.5, -0.5}, {0.5, -0.5, -0.5, 0.5}};
    double w[3][3] = {{0, -axis[2], axis[1]}, {axis[2], 0, -axis[0]}, {-axis[1], axis[0], 0}};
    memset(A, 0, D * D * sizeof(double));
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            for (int i = 0; i < D; i++)
                for (int k = 0; k < D; k++) A[i][k] += basis[a][i] * w[a][b] * basis[b][k];
}

static const double axis_F[3] = {0.5, -0.3, 0.2},
                    axis_G[2][3] = {{-0.2, 0.6, 0.4}, {0.7, 0.1, -0.5}};

/* layers.0: F_1 = rotation about axis_F, G_s about axis_G[s - 1]. */
static Model *turning(const Table *t, int act)
{
    Model *m = build(t, 1, D, act);
    double A[D][D];
    rotation(axis_F, A);
    fill(m, "layers.0.attn.1.qkv.weight", 0);
    put_identity(m, "layers.0.attn.1.qkv.weight", 2 * D, D);
    put(m, "layers.0.attn.1.out.weight", 0, &A[0][0], D * D);
    for (int s = 1; s <= table_sets(t, OP_G); s++) {
        char up[64], bias[64], down[64];
        snprintf(up, sizeof up, "layers.0.ffn.%d.up.weight", s);
        snprintf(bias, sizeof bias, "layers.0.ffn.%d.up.bias", s);
        snprintf(down, sizeof down, "layers.0.ffn.%d.down.weight", s);
        rotation(axis_G[s - 1], A);
        put_identity(m, up, 0, D);
        fill(m, bias, FAR); /* A 1 = 0: it leaves no trace */
        put(m, down, 0, &A[0][0], D * D);
    }
    return m;
}

static void shake(Model *m, double size)
{
    const Param *p;
    size_t n = model_params(m, &p);
    for (size_t i = 0; i < n; i++) {
        double *x = malloc(p[i].size * sizeof *x);
        void *at = backend_at(f64, model_data(m), p[i].offset);
        f64->get(x, at, p[i].size);
        for (size_t k = 0; k < p[i].size; k++) x[k] += size * random_normal(9, i, k);
        f64->put(at, x, p[i].size);
        free(x);
    }
}

static void zero_sublayers(Model *m)
{
    const Param *p;
    size_t n = model_params(m, &p);
    for (size_t i = 0; i < n; i++)
        if (strstr(p[i].name, "out.") || strstr(p[i].name, "down."))
            f64->fill(backend_at(f64, model_data(m), p[i].offset), 0, p[i].size);
}

static Truncator *open(Model *m, const Table *trained, TruncationOptions o, size_t tokens)
{
    static const int32_t token[TOKENS] = {0, 3, 1, 4, 2, 3};
    Truncator *u;
    double check;
    if (truncator_new(m, trained, &o, &u) != 0 || truncator_sentence(u, tokens, token, &check) != 0)
        fail_msg("%s", error_text());
    assert_true(check <= 1e-12);
    return u;
}

static Truncation measure(Truncator *u, const Table *t)
{
    Truncation r;
    if (truncator_measure(u, 0, t, &r) != 0) fail_msg("%s: %s", t->name, error_text());
    return r;
}

/* ---- the same field, written down -------------------------------------------------------------------- */

typedef struct {
    double A[2][D][D]; /* of F, of G */
} Turning;

static void turn(const System *s, int op, const double *y, double *dy)
{
    const Turning *r = s->context;
    double mean = 0, var = 0;
    for (int i = 0; i < D; i++) mean += y[i] / D;
    for (int i = 0; i < D; i++) var += (y[i] - mean) * (y[i] - mean) / D;
    double sigma = sqrt(var + 1e-5);
    for (int i = 0; i < D; i++) {
        dy[i] = 0;
        for (int k = 0; k < D; k++) dy[i] += r->A[op][i][k] * (y[k] - mean) / sigma;
    }
}

static void turn_F(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    turn(s, OP_F, y, dy);
}

static void turn_G(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    turn(s, OP_G, y, dy);
}

static void multiply(double A[D][D], const double *x, double *out)
{
    for (int i = 0; i < D; i++) {
        out[i] = 0;
        for (int k = 0; k < D; k++) out[i] += A[i][k] * x[k];
    }
}

/* exp(A t / sigma) by Rodrigues: A^3 = -a^2 A, a the angle of the axes' sum. */
static void exact(const double axis[3], double t, const double *y, double *out)
{
    double A[D][D], z[D], u[D], v[D], mean = 0, var = 0;
    rotation(axis, A);
    for (int i = 0; i < D; i++) mean += y[i] / D;
    for (int i = 0; i < D; i++) z[i] = y[i] - mean, var += z[i] * z[i] / D;
    double a = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    double angle = a * t / sqrt(var + 1e-5);
    multiply(A, z, u);
    multiply(A, u, v);
    for (int i = 0; i < D; i++)
        out[i] = y[i] + sin(angle) / a * u[i] + (1 - cos(angle)) / (a * a) * v[i];
}

/* The error of one step of h from y, history on the closed flow; end: displacement of the flow. */
static double closed_error(const Table *t, const double w[2], double h, const double *y0)
{
    Turning r;
    System s = {.n = 1, .d = D, .field = {turn_F, turn_G}, .context = &r};
    double axis[3], past[16][D], y[D], end[D], sum = 0;
    Stepper *st;
    Table *frozen = table_freeze(t);
    rotation(axis_F, r.A[OP_F]);
    rotation(axis_G[0], r.A[OP_G]);
    for (int i = 0; i < 3; i++) axis[i] = w[0] * axis_F[i] + w[1] * axis_G[0][i];
    assert_int_equal(stepper_new(frozen, &s, &st), 0);
    int history = stepper_history(st);
    assert_true(history <= 16);
    for (int j = 0; j < history; j++) exact(axis, (history - 1 - j) * h, y0, past[j]);
    exact(axis, history * h, y0, y);
    exact(axis, (history + 1) * h, y0, end);
    assert_int_equal(stepper_begin(st, 0, h, y, START_GIVEN, &past[0][0]), 0);
    assert_int_equal(stepper_step(st), 0);
    for (int i = 0; i < D; i++) {
        double e = stepper_state(st)[i] - end[i];
        sum += e * e;
    }
    stepper_free(st);
    table_free(frozen);
    return sqrt(sum / D);
}

/* Of every scheme, on both activations: the exact error; its slope is order + 1. The tolerance: a
 * pre-activation of size 40 has rounding 40 eps = 1e-14, the integrators meet 1e-13 of |y| = 2. */
static void test_known_flow(void **state)
{
    (void)state;
    static const int acts[] = {ACT_GELU, ACT_RELU};
    Table *trained = find("transformer");
    size_t judged = 0;
    for (int a = 0; a < 2; a++) {
        Model *m = turning(trained, acts[a]);
        Truncator *u = open(m, trained, (TruncationOptions){.tolerance = 1e-13}, 1);
        for (size_t i = 0; i < schemes; i++) {
            double w[2] = {table_double(scheme[i]->weight[0]), table_double(scheme[i]->weight[1])};
            Truncation t = measure(u, scheme[i]);
            for (size_t j = 0; j < t.points; j++) {
                double want = closed_error(scheme[i], w, t.point[j].h, truncator_states(u));
                if (!(fabs(t.point[j].error - want) <= 2e-12))
                    fail_msg("%s, h = %g: error %.10g, not %.10g", scheme[i]->name, t.point[j].h,
                             t.point[j].error, want);
            }
            if (isnan(t.slope)) continue;
            judged++;
            if (!(t.slope >= t.order + 0.7))
                fail_msg("%s: slope %g of order %d", scheme[i]->name, t.slope, t.order);
        }
        truncator_free(u);
        model_free(m);
    }
    assert_true(judged > schemes);
    table_free(trained);
}

/* By hand, as a check of the check: transformer and Heun on the rotation. */
static void test_by_hand(void **state)
{
    (void)state;
    Table *trained = find("transformer");
    Model *m = turning(trained, ACT_GELU);
    Truncator *u = open(m, trained, (TruncationOptions){0}, 1);
    const double *x = truncator_states(u);
    Turning r;
    System s = {.n = 1, .d = D, .context = &r};
    double axis[3], k1[D], k2[D], y[D], end[D], sum = 0, h = 0.5;
    rotation(axis_F, r.A[OP_F]);
    rotation(axis_G[0], r.A[OP_G]);
    for (int i = 0; i < 3; i++) axis[i] = axis_F[i] + axis_G[0][i];
    turn(&s, OP_F, x, k1);
    for (int i = 0; i < D; i++) y[i] = x[i] + h * k1[i];
    turn(&s, OP_G, y, k2);
    exact(axis, h, x, end);
    for (int i = 0; i < D; i++) sum += pow(y[i] + h * k2[i] - end[i], 2);
    Truncation t = measure(u, trained);
    assert_true(fabs(t.point[1].error - sqrt(sum / D)) <= 1e-12);
    sum = 0;
    for (int i = 0; i < D; i++) sum += pow(end[i] - x[i], 2);
    assert_true(fabs(t.point[1].displacement - sqrt(sum / D)) <= 1e-12);
    assert_true(fabs(t.slope - 2) <= 0.05);
    assert_true(t.agreement <= 1e-12);
    truncator_free(u);
    model_free(m);
    table_free(trained);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_flow),
        cmocka_unit_test(test_by_hand),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
