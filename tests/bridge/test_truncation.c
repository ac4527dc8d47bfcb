/* test_truncation.c: truncation errors of networks with a known flow.
 *
 * LN(y) = (y - mean) / sigma. A sublayer A LN(y) with A skew and A 1 = 0 keeps mean and sigma, so it turns y - mean at
 * the constant speed 1 / sigma: the exact flow of any sum of such sublayers is a rotation. In 4 coordinates the vectors
 * of mean zero are three-dimensional: two such sublayers do not commute, and Rodrigues' formula gives the flow.
 * Attention of a single token is linear in its values; a GELU (or ReLU) far to the right is the identity. */
#include "tests/lib/test.h"

#include "bridge/truncator.h"
#include "tests/lib/layers.h"
#include "tests/lib/scratch.h"

enum { D = 4, FAR = 40 };

/* ---- models ----------------------------------------------------------------------------------------- */

/* Computes the skew matrix of the rotation about `axis` (3) in an orthonormal basis of the vectors of mean 0. */
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

/* Makes a model whose layers.0 has F_1 = rotation about axis_F, G_s about axis_G[s - 1]. */
static Model *turning(const Table *t, int act)
{
    Model *m = layers_model(t, 1, D, act);
    double A[D][D];
    rotation(axis_F, A);
    layers_fill(m, "layers.0.attn.1.qkv.weight", 0);
    layers_identity(m, "layers.0.attn.1.qkv.weight", 2 * D, D);
    layers_put(m, "layers.0.attn.1.out.weight", 0, &A[0][0], D * D);
    for (int s = 1; s <= table_sets(t, OP_G); s++) {
        rotation(axis_G[s - 1], A);
        layers_identity(m, formed("layers.0.ffn.%d.up.weight", s), 0, D);
        layers_fill(m, formed("layers.0.ffn.%d.up.bias", s), FAR); /* no trace, as A 1 = 0 */
        layers_put(m, formed("layers.0.ffn.%d.down.weight", s), 0, &A[0][0], D * D);
    }
    return m;
}

static Truncator *open(Model *m, const Table *trained, TruncationOptions o, size_t tokens)
{
    Truncator *u;
    double check;
    if (truncator_new(m, trained, &o, &u) != 0 || layers_sentence(u, tokens, &check) != 0)
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

OWN_FIELD(turn_F)
{
    turn(s, OP_F, y, dy);
}

OWN_FIELD(turn_G)
{
    turn(s, OP_G, y, dy);
}

static void multiply(double A[D][D], const double *x, double *out)
{
    for (int i = 0; i < D; i++) {
        out[i] = 0;
        for (int k = 0; k < D; k++) out[i] += A[i][k] * x[k];
    }
}

/* Computes exp(A t / sigma) by Rodrigues: A^3 = -a^2 A, a the angle of the axes' sum. */
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

/* Returns the error of one step of h from y, with history on the closed flow; end: displacement of the flow. */
static double closed_error(const Table *t, const double w[2], double h, const double *y0)
{
    Turning r;
    System s = {.n = 1, .d = D, .field = {turn_F, turn_G}, .context = &r};
    double axis[3], given[16][D], y[D], end[D], sum = 0;
    OWN_TABLE *frozen = table_freeze(t);
    OWN_STEPPER *st = stepper(frozen, &s);
    rotation(axis_F, r.A[OP_F]);
    rotation(axis_G[0], r.A[OP_G]);
    for (int i = 0; i < 3; i++) axis[i] = w[0] * axis_F[i] + w[1] * axis_G[0][i];
    int history = stepper_history(st);
    assert_true(history <= 16);
    for (int j = 0; j < history; j++) exact(axis, (j + 1) * h, y0, given[j]);
    exact(axis, history * h, y0, y);
    exact(axis, (history + 1) * h, y0, end);
    assert_int_equal(stepper_begin(st, 0, h, y0, START_GIVEN, &given[0][0]), 0);
    for (int j = 0; j <= history; j++) assert_int_equal(stepper_step(st), 0);
    for (int i = 0; i < D; i++) {
        double e = stepper_state(st)[i] - end[i];
        sum += e * e;
    }
    return sqrt(sum / D);
}

/* own_speed returns how far a step of a scheme goes on the constant field 1 of an operator. It tries histories that
 * came at speed 0 and 1, and finds the speed at which the step goes as fast as its history, as its result is affine in
 * that speed. */
OWN_FIELD(constant)
{
    dy[0] = s->param[0];
}

OWN_FIELD(constant_G)
{
    dy[0] = s->param[1];
}

static double own_speed(const Table *t, int op)
{
    double on[2] = {op == OP_F, op == OP_G}, after[2], given[16], y;
    System s = {.n = 1, .d = 1, .field = {constant, constant_G}, .param = on};
    OWN_TABLE *frozen = table_freeze(t);
    for (int speed = 0; speed < 2; speed++) {
        OWN_STEPPER *st = stepper(frozen, &s);
        int history = stepper_history(st);
        assert_true(history <= 16);
        y = -history * speed;
        for (int j = 0; j < history; j++) given[j] = y + (j + 1) * speed;
        assert_int_equal(stepper_begin(st, 0, 1, &y, START_GIVEN, given), 0);
        for (int j = 0; j <= history; j++) assert_int_equal(stepper_step(st), 0);
        after[speed] = stepper_state(st)[0];
    }
    return after[0] / (1 - (after[1] - after[0]));
}

/* Checks the time against which a scheme is measured: the scheme's time where it is consistent with that, else the
 * field's. */
static void check_time(const Table *t, const Truncation *r, double w[2])
{
    for (int op = 0; op < 2; op++) {
        double want = r->order > 0 ? own_speed(t, op) : table_double(t->weight[op]);
        if (!(fabs(r->time[op] - want) <= 1e-12))
            fail_msg("%s: time %g, not %g", t->name, r->time[op], want);
        w[op] = r->time[op];
    }
}

/* Returns the first point whose step begins at most 4 from the state that enters the layer. Checks that no earlier
 * point has an error. */
static size_t check_near(const Truncation *t)
{
    size_t j = 0;
    for (; t->history * t->point[j].h > 4; j++) assert_true(isnan(t->point[j].error));
    return j;
}

/* Every scheme has the exact error on both activations, and its slope is order + 1. The tolerance: a pre-activation of
 * size 40 has rounding 40 eps = 1e-14, and the integrators meet 1e-13 of |y| = 2. */
TEST(test_known_flow)
{
    static const int acts[] = {ACT_GELU, ACT_RELU};
    OWN_TABLE *trained = layers_find("transformer");
    size_t judged = 0, other = 0;
    for (int a = 0; a < 2; a++) {
        OWN_MODEL *m = turning(trained, acts[a]);
        OWN_TRUNCATOR *u = open(m, trained, (TruncationOptions){.tolerance = 1e-13}, 1);
        for (size_t i = 0; i < all_layers.count; i++) {
            double w[2];
            Truncation t = measure(u, all_layers.table[i]);
            check_time(all_layers.table[i], &t, w);
            other += w[0] != 1;
            for (size_t j = check_near(&t); j < t.points; j++) {
                double want =
                    closed_error(all_layers.table[i], w, t.point[j].h, truncator_states(u));
                if (!(fabs(t.point[j].error - want) <= 2e-12))
                    fail_msg("%s, h = %g: error %.10g, not %.10g", all_layers.table[i]->name,
                             t.point[j].h, t.point[j].error, want);
            }
            if (isnan(t.slope)) continue;
            judged++;
            if (!(t.slope >= t.order + 0.7))
                fail_msg("%s: slope %g of order %d", all_layers.table[i]->name, t.slope, t.order);
        }
    }
    assert_true(judged > all_layers.count);
    assert_true(other >= 2); /* some go another distance */
}

/* repeat:N over F + G goes N h, and over L as well. Against that flow errors fall by the order, and the rest after the
 * leading terms by one power more; against the flow over h they would not fall at all. The words for a time are
 * right. */
TEST(test_own_time)
{
    static const double times[][COLOURS] = {{2, 2}, {2.0 / 3, 2.0 / 3}, {2, 8}, {3, 0}};
    static const char *const said[] = {"2", "0.666667", "2 F + 8 G", "3"};
    char words[64];
    for (int i = 0; i < 4; i++) {
        truncation_time(times[i], words, sizeof words);
        assert_string_equal(words, said[i]);
    }
    OWN_TABLE *trained = layers_find("transformer"), *t = layers_find("repeat:3");
    OWN_MODEL *m = turning(trained, ACT_GELU);
    for (int field = 0; field < 2; field++) {
        OWN_TRUNCATOR *u = open(m, trained, (TruncationOptions){.field = field, .terms = 1}, 1);
        Truncation r = measure(u, t);
        assert_true(r.time[OP_F] == 3 && r.time[OP_G] == (field == FIELD_SPLIT ? 3 : 0));
        assert_int_equal(r.order, 1);
        assert_true(fabs(r.slope - 2) <= 0.1 && r.remainder_slope > 2.7);
        if (field == FIELD_SPLIT) {
            double one = measure(u, trained).point[6].displacement;
            assert_true(r.point[6].displacement > 2.5 * one);
        }
        /* A ratio of error to leading term near 1 is governed. Without a leading term the ratio is unknown. */
        r.point[0].relative = 1.19 * r.leading;
        assert_int_equal(truncation_governed(&r), 1);
        r.point[0].relative = 0.79 * r.leading;
        assert_int_equal(truncation_governed(&r), 0);
        r.point[0].relative = INFINITY;
        assert_int_equal(truncation_governed(&r), 0);
        r.leading = NAN;
        assert_int_equal(truncation_governed(&r), -1);
    }
}

/* Where sublayers give zero there is no error at any h, for any scheme that keeps the state and for either field. */
TEST(test_zero)
{
    OWN_TABLE *trained = layers_find("transformer");
    OWN_MODEL *m = layers_model(trained, 1, 8, ACT_GELU);
    size_t seen = 0;
    shake(m, 0.3, 1);
    const Param *p;
    size_t n = model_params(m, &p);
    for (size_t i = 0; i < n; i++)
        if (strstr(p[i].name, "out.") || strstr(p[i].name, "down.")) layers_fill(m, p[i].name, 0);
    for (int field = 0; field < 2; field++) {
        OWN_TRUNCATOR *u = open(m, trained, (TruncationOptions){.field = field, .terms = 1}, 4);
        for (size_t i = 0; i < all_layers.count; i++) {
            if (truncator_takes(u, all_layers.table[i]) != 0) continue;
            Truncation t = measure(u, all_layers.table[i]);
            if (t.order < 0) continue;
            for (size_t j = check_near(&t); j < t.points; j++)
                if (t.point[j].error != 0 || t.point[j].relative != 0)
                    fail_msg("%s: error %g", all_layers.table[i]->name, t.point[j].error);
            assert_true(isnan(t.slope) && t.agreement == 0);
            seen++;
        }
    }
    assert_true(seen > all_layers.count);
}

/* ---- leading terms ---------------------------------------------------------------------------------- */

/* Returns the tree whose term is the largest part of the leading error. */
static size_t largest_term(const Truncator *u, const Scheme *s)
{
    size_t best = 0;
    double most = 0;
    const Kept *k = &u->kept[u->keeps - 1]; /* this scheme's: the truncator measured no other */
    for (size_t i = 0; i < s->forest->count; i++) {
        double size = fabs(s->coefficient[i]) * system_rms(u->N, k->found.value + i * u->N, NULL);
        if (size > most) most = size, best = i;
    }
    return best;
}

/* Returns the slope of the remainder, with one predicted coefficient (with different sets: all) times `factor`. */
static double rest_slope(Truncator *u, const Table *t, double factor, Truncation *out)
{
    *out = measure(u, t); /* makes it ready */
    Scheme *s = &u->scheme[u->schemes - 1];
    if (s->coefficient && u->keeps) s->coefficient[largest_term(u, s)] *= factor;
    for (size_t i = 0; s->pair && i < s->colours * s->colours; i++) s->pair[i] *= factor;
    *out = measure(u, t);
    return out->remainder_slope;
}

static Model *shaken(const Table *t, size_t layers)
{
    Model *m = layers_model(t, layers, 8, ACT_GELU);
    shake(m, 0.1, 1);
    return m;
}

/* Checks that the remainder has one power of h more than the error, to within 0.35 (the fit's intervals are narrower
 * where h is small enough). With the largest term half as large again it has the error's power (order 5: above rounding
 * there are too few small steps to show that). */
static void check_terms(const char *trained_as, int field)
{
    OWN_TABLE *trained = layers_find(trained_as);
    OWN_MODEL *m = shaken(trained, 1);
    size_t told = 0;
    TruncationOptions o = {.field = field, .terms = 1, .halvings = 9};
    for (size_t i = 0; i < all_layers.count; i++) {
        Truncation t, wrong;
        OWN_TRUNCATOR *u = open(m, trained, o, 4);
        if (truncator_takes(u, all_layers.table[i]) == 0) {
            double rest = rest_slope(u, all_layers.table[i], 1, &t);
            if (!isnan(rest) && t.asymptotic > 0) {
                told++;
                if (!(rest >= t.order + 1.65))
                    fail_msg("%s, field %s: remainder h^%g, order %d", all_layers.table[i]->name,
                             truncation_field(field), rest, t.order);
                rest = rest_slope(u, all_layers.table[i], 1.5, &wrong);
                if (t.order <= 4 && !(rest <= t.order + 1.35))
                    fail_msg("%s: a wrong coefficient went unseen: h^%g", all_layers.table[i]->name,
                             rest);
            }
        }
    }
    assert_true(told >= 15);
}

TEST(test_terms)
{
    check_terms("transformer", FIELD_SPLIT);
}

TEST(test_terms_layer)
{
    check_terms("transformer", FIELD_LAYER);
}

/* ---- sets ------------------------------------------------------------------------------------------- */

static double coefficient(const Truncation *t, const char *name)
{
    for (size_t i = 0; i < t->terms; i++)
        if (strcmp(t->term[i].name, name) == 0) return t->term[i].coefficient;
    return 0;
}

/* Strang-Marchuk by Heun's method with two feed-forward sets has 1/4 [F, G2 - G1] + 1/8 [G1, G2] at h^2. */
TEST(test_sets)
{
    static const struct {
        const char *name;
        double c;
    } want[] = {{"F'G1", 0.25}, {"F'G2", -0.25},   {"G1'F", -0.25},
                {"G2'F", 0.25}, {"G1'G2", -0.125}, {"G2'G1", 0.125}};
    OWN_TABLE *t = layers_find("strang-marchuk:heun"), *heun = layers_find("heun");
    OWN_MODEL *m = shaken(t, 1);
    OWN_TRUNCATOR *u = open(m, t, (TruncationOptions){.terms = 1, .halvings = 9}, 4);
    Truncation r, wrong;
    assert_true(rest_slope(u, t, 1, &r) >= 2.7);
    assert_true(r.sets && r.order == 1 && r.terms == 6 && fabs(r.slope - 2) <= 0.1);
    for (size_t i = 0; i < 6; i++) assert_true(coefficient(&r, want[i].name) == want[i].c);
    assert_true(rest_slope(u, t, 1.5, &wrong) <= 2.3);
    r = measure(u, heun); /* reads the mean */
    assert_true(!r.sets && r.order == 2 && fabs(r.slope - 3) <= 0.1);
}

/* The mean of sets that turn about different axes turns about their mean. The flow is closed again. */
TEST(test_known_sets)
{
    OWN_TABLE *t = layers_find("macaron");
    OWN_MODEL *m = turning(t, ACT_GELU);
    OWN_TRUNCATOR *u = open(m, t, (TruncationOptions){0}, 1);
    Truncation r = measure(u, t);
    const double *x = truncator_states(u);
    double axis[3], end[D], sum = 0;
    for (int i = 0; i < 3; i++) axis[i] = axis_F[i] + 0.5 * (axis_G[0][i] + axis_G[1][i]);
    exact(axis, 1, x, end);
    for (int i = 0; i < D; i++) sum += pow(end[i] - x[i], 2);
    assert_true(fabs(r.point[0].displacement - sqrt(sum / D)) <= 1e-12);
    assert_true(r.sets && fabs(r.slope - 2) <= 0.05);
}

/* Checks that h = 1 is the trained network's step, with its learned numbers and its history; the other steps have the
 * starting values and the exact history. `as_trained` writes the step out with the learned numbers. */
static void check_network(const char *name, const char *tensor, double value,
                          const char *as_trained)
{
    double w[2] = {1, 1}, bias = value;
    OWN_TABLE *t = layers_find(name), *trained = scheme_of_text(as_trained),
              *other = layers_find("transformer");
    OWN_MODEL *m = turning(t, ACT_GELU);
    if (tensor) layers_put(m, tensor, 0, &bias, 1);
    OWN_TRUNCATOR *u = open(m, t, (TruncationOptions){.tolerance = 1e-13}, 1);
    Truncation r = measure(u, t);
    const double *x = truncator_states(u);
    Truncation o = measure(u, other);
    assert_true(!o.network && fabs(o.point[0].error - closed_error(other, w, 1, x)) <= 2e-12);
    check_time(t, &r, w);
    assert_true(r.network && r.asymptotic < 1 && isnan(r.point[0].remainder));
    assert_true(fabs(r.point[0].error - closed_error(trained, w, 1, x)) <= 2e-12);
    assert_true(fabs(r.point[0].error - closed_error(t, w, 1, x)) >= 1e-3);
    assert_true(fabs(r.point[1].error - closed_error(t, w, 0.5, x)) <= 2e-12);
}

TEST(test_network)
{
#define STAGES "k1 = L(y)\nk2 = L(y + k1)\n"
    check_network("rk2-scalar", "layers.0.scheme.a", 0.25, STAGES "y' = y + 1/4*k1 + k2");
    check_network("rk2-gate", "layers.0.scheme.g.bias", log(3), STAGES "y' = y + 3/4*k1 + 1/4*k2");
    check_network("lm-resnet", NULL, 0, "k1 = L(y)\ny' = y + k1");
}

/* ---- what is carried --------------------------------------------------------------------------------- */

/* Three layers that begin v as the slope at y: with a learned number, a gate and a norm. */
enum { NUMBER, GATE, NORM_, CARRIES };
static const struct {
    const char *text, *tensor;
    double value; /* of it */
} carries[CARRIES] = {
    {"carry v = k1\nlearn g = 1/2\nk1 = H(y)\nlet w = g*v + (1-g)*k1\nv' = w\ny' = y + w",
     "layers.0.scheme.g", 0.25},
    {"carry v = k1\nk1 = H(y)\ngate g = sigmoid(k1)\nlet w = g*v + (1-g)*k1\nv' = w\ny' = y + w",
     "layers.0.scheme.g.bias", -1},
    {"carry v = k1\nlearn g = 1/2\nk1 = H(y)\nk2 = norm(g*v + (1-g)*k1)\nv' = k2\ny' = y + k2",
     "layers.0.scheme.g", 0.25}};
static const double gate_weight[D] = {0.5, -1, 0.25, 0.75}, norm_scale = 0.75;

/* Moves v over a step from y, by the layer's own number: v <- g v + (1 - g) H(y), or what the kind makes of it. */
static void carry(int kind, double g, const double *y, double *v)
{
    double A[D][D], axis[3], slope[D], z = g, mean = 0, var = 0, size = 0;
    for (int i = 0; i < 3; i++) axis[i] = axis_F[i] + axis_G[0][i];
    for (int i = 0; i < D; i++) mean += y[i] / D;
    for (int i = 0; i < D; i++) var += (y[i] - mean) * (y[i] - mean) / D;
    rotation(axis, A);
    multiply(A, y, slope);
    for (int i = 0; i < D; i++) slope[i] /= sqrt(var + 1e-5), z += gate_weight[i] * slope[i];
    if (kind == GATE) g = 1 / (1 + exp(-z));
    for (int i = 0; i < D; i++) v[i] = g * v[i] + (1 - g) * slope[i];
    for (int i = 0; i < D; i++) size += v[i] * v[i] / D; /* its mean is 0, as that of slopes is */
    for (int i = 0; i < D && kind == NORM_; i++) v[i] *= norm_scale / sqrt(size + 1e-5);
}

/* Computes v on the closed flow through x at 0, from 200 steps back. */
static void closed_carried(int kind, double g, const double *x, double *v)
{
    double axis[3], y[D];
    for (int i = 0; i < 3; i++) axis[i] = axis_F[i] + axis_G[0][i];
    memset(v, 0, D * sizeof *v);
    for (int j = 200; j > 0; j--) {
        exact(axis, -j, x, y);
        carry(kind, g, y, v);
    }
}

static double off(const double *a, const double *b)
{
    double apart = 0, size = 0;
    for (int i = 0; i < D; i++) apart += pow(a[i] - b[i], 2), size += b[i] * b[i];
    return sqrt(apart / size);
}

/* Checks the comparison with u (D) carried into the layer; v: what is carried on the flow. */
static void check_carried(int kind, double g, const double *x, const double *v, const double *u,
                          const Truncation *r)
{
    double axis[3], y[D], own[D], next[D], error = 0, moved = 0;
    for (int i = 0; i < 3; i++) axis[i] = axis_F[i] + axis_G[0][i];
    memcpy(own, u, sizeof own);
    memcpy(next, v, sizeof next);
    carry(kind, g, x, own);
    carry(kind, g, x, next);
    exact(axis, 1, x, y);
    for (int i = 0; i < D; i++)
        error += pow(x[i] + next[i] - y[i], 2), moved += pow(y[i] - x[i], 2);
    assert_true(!r->untold && fabs(r->carried - off(u, v)) <= 1e-6);
    assert_true(fabs(r->carried_after - off(own, next)) <= 1e-6);
    assert_true(fabs(r->smooth - sqrt(error / moved)) <= 1e-6);
}

/* What is carried on the exact flow is that of the layer as it was trained: by its learned number and not the starting value (the
 * control), its gate and its norm. A perturbation of 1/1000 that is planted in what the network carries is told as that. */
TEST(test_carried)
{
    OWN_TABLE *other = layers_find("transformer");
    for (int kind = 0; kind < CARRIES; kind++) {
        double v[D], begun[D] = {0}, planted[D] = {0}, size = 0, g = carries[kind].value;
        OWN_TABLE *t = scheme_of_text(carries[kind].text);
        OWN_MODEL *m = turning(t, ACT_GELU);
        layers_put(m, carries[kind].tensor, 0, &g, 1);
        if (kind == GATE) layers_put(m, "layers.0.scheme.g.weight", 0, gate_weight, D);
        if (kind == NORM_) layers_fill(m, "layers.0.norm.1.weight", norm_scale);
        OWN_TRUNCATOR *u = open(m, t, (TruncationOptions){.tolerance = 1e-13, .carried = 1}, 1);
        Truncation r = measure(u, t), o = measure(u, other);
        const double *x = truncator_states(u);
        assert_true(r.holds && !o.holds && isnan(o.carried) && isnan(o.remembered));
        closed_carried(kind, g, x, v);
        carry(NUMBER, 0, x, begun); /* H(x) */
        check_carried(kind, g, x, v, begun, &r);
        closed_carried(kind, 0.5, x, planted);
        assert_true(fabs(r.carried - off(begun, planted)) >= 1e-3);
        for (int i = 0; i < D; i++) size += v[i] * v[i];
        memcpy(planted, v, sizeof planted);
        planted[1] += 1e-3 * sqrt(size / 2); /* of mean 0, as carry expects it */
        planted[2] -= 1e-3 * sqrt(size / 2);
        memcpy(u->carried, planted, sizeof planted);
        r = measure(u, t);
        assert_true(fabs(r.carried - 1e-3) <= 1e-6);
        check_carried(kind, g, x, v, planted, &r);
    }
}

/* A layer that forgets 1/10 a step needs more steps back than the first 32, and is told to what it remembers; one that forgets 1/100,
 * whose beginning shows, is not; one that lacks a coefficient of what it carries is not learned. */
TEST(test_carried_memory)
{
    static const char lacks[] = "carry v\nlearn g = 1/2\nk1 = H(y)\nv' = g*v + 1/2*k1\ny' = y + v";
    OWN_TABLE *t = scheme_of_text(carries[NUMBER].text), *short_of = scheme_of_text(lacks);
    OWN_MODEL *m = turning(t, ACT_GELU), *first = turning(short_of, ACT_GELU);
    OWN_TRUNCATOR *u = open(m, t, (TruncationOptions){.carried = 1}, 1),
                  *w = open(first, short_of, (TruncationOptions){.carried = 1}, 1);
    double v[D], begun[D] = {0};
    layers_put(m, "layers.0.scheme.g", 0, &(double){0.9}, 1);
    Truncation r = measure(u, t);
    closed_carried(NUMBER, 0.9, truncator_states(u), v);
    carry(NUMBER, 0, truncator_states(u), begun);
    assert_true(r.remembered <= 0.01 && fabs(r.carried - off(begun, v)) <= 0.01 * r.carried);
    layers_put(m, "layers.0.scheme.g", 0, &(double){0.99}, 1);
    r = measure(u, t);
    assert_true(r.holds && r.remembered > 0.05 && isnan(r.carried) && isnan(r.smooth));
    r = measure(w, short_of);
    assert_true(r.holds && isnan(r.remembered) && isnan(r.carried_after));
    assert_string_equal(r.untold, "not learned");
    /* Of two layers each forgets by its own number. */
    OWN_MODEL *two = layers_model(t, 2, D, ACT_GELU);
    for (int l = 0; l < 2; l++) {
        layers_put(two, "layers.0.scheme.g", 0, &(double){l ? 0.5 : 0.99}, 1);
        layers_put(two, "layers.1.scheme.g", 0, &(double){l ? 0.99 : 0.5}, 1);
        OWN_TRUNCATOR *both = open(two, t, (TruncationOptions){.carried = 1}, 1);
        for (int at = 0; at < 2; at++) {
            assert_int_equal(truncator_measure(both, at, t, &r), 0);
            assert_true(isnan(r.carried) == (at == l));
        }
    }
}

TEST_MAIN(layers_open, layers_close)
