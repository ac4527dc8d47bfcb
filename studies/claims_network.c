/* claims_network.c: claims about network blocks, on small networks in double precision: the paper's
 * equations, written out here by hand, against the plan compiled from a scheme's text; the gradient
 * formulas of the ODE Transformer against the engine's backward pass. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/bridge.h"
#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"
#include "studies/claims.h"

enum { WIDTH = 8, TOKENS = 4, N = WIDTH * TOKENS, HEADS = 2, INNER = 16, VOCAB = 9 };

/* Largest difference that rounding explains: some 10^3 operations of 2e-16 on numbers of size 10. */
static const double rounding = 1e-11;

typedef struct {
    const Backend *f64;
    Model *model;
    System *system; /* its sublayers, layer 0 until bridge_layer */
} Net;

static void net_close(Net *n)
{
    system_free(n->system);
    model_free(n->model);
}

/* Every parameter gets a value of its own. */
static int perturb(Net *n)
{
    const Param *p;
    size_t count = model_params(n->model, &p);
    for (size_t i = 0; i < count; i++) {
        double *x = memory_new(p[i].size, sizeof *x);
        void *at = backend_at(n->f64, model_data(n->model), p[i].offset);
        if (!x) return ERR_MEMORY;
        n->f64->get(x, at, p[i].size);
        for (size_t k = 0; k < p[i].size; k++) x[k] += 0.1 * random_normal(71, i, k);
        n->f64->put(at, x, p[i].size);
        memory_free(x);
    }
    return 0;
}

/* A model of a plan (owned): no positions, so that r0 = sqrt(D) E[tokens]; output of its own. */
static int net_open(Plan *plan, Net *n)
{
    ModelConfig c = {.vocab = VOCAB,
                     .width = WIDTH,
                     .heads = HEADS,
                     .untied = 1,
                     .act = ACT_GELU,
                     .max_tokens = TOKENS,
                     .max_length = TOKENS,
                     .seed = 5};
    *n = (Net){0};
    int code = backend_find("cpu-f64", NULL, &n->f64);
    if (code != 0) {
        plan_free(plan);
        return code;
    }
    return model_new(&c, plan, n->f64, 1, &n->model);
}

static int net_scheme(const Table *t, size_t layers, Net *n)
{
    BridgeOptions o = {.layers = layers, .width = WIDTH, .inner = INNER, .match = MATCH_NONE};
    Plan *plan;
    TRY(bridge_plan(t, &o, &plan));
    TRY(net_open(plan, n));
    int code = bridge_system(n->model, 0, TOKENS, &n->system);
    if (code != 0) net_close(n);
    return code;
}

static void start(double *y)
{
    for (uint64_t i = 0; i < N; i++) y[i] = random_normal(72, 0, i);
}

static double largest(const double *a, const double *b)
{
    double most = 0;
    for (int i = 0; i < N; i++) {
        double e = fabs(a[i] - b[i]);
        if (!(e <= most)) most = e;
    }
    return most;
}

/* ---- the papers' equations, by hand -------------------------------------------------------------------- */

/* y = x + c v */
static void add(const double *x, double c, const double *v, double *y)
{
    for (int i = 0; i < N; i++) y[i] = x[i] + c * v[i];
}

static void sublayer(const Net *n, int op, int set, const double *x, double *y)
{
    n->system->field[op](n->system, set, 0, x, y);
}

/* (12)-(13) of the Macaron paper. */
static void layer(const Net *n, const double *x, double *y)
{
    double k[N];
    sublayer(n, OP_F, 1, x, k);
    add(x, 1, k, y);
    sublayer(n, OP_G, 1, y, k);
    add(y, 1, k, y);
}

/* The block function F of the ODE Transformer: what the layer adds. */
static void block(const Net *n, const double *x, double *y)
{
    layer(n, x, y);
    add(y, -1, x, y);
}

/* (17)-(19) of the Macaron paper. */
static void macaron(const Net *n, const double *x, double *y)
{
    double k[N];
    sublayer(n, OP_G, 1, x, k);
    add(x, 0.5, k, y);
    sublayer(n, OP_F, 1, y, k);
    add(y, 1, k, y);
    sublayer(n, OP_G, 2, y, k);
    add(y, 0.5, k, y);
}

/* y + a F1 + b F2 with F1 = f(y), F2 = f(y + F1): (12)-(14), (23) of the ODE Transformer. */
static void two_stages(const Net *n, void (*f)(const Net *, const double *, double *), double a,
                       double b, const double *x, double *y)
{
    double F1[N], F2[N], at[N];
    f(n, x, F1);
    add(x, 1, F1, at);
    f(n, at, F2);
    add(x, a, F1, y);
    add(y, b, F2, y);
}

/* (15)-(19) of the ODE Transformer. */
static void four_stages(const Net *n, void (*f)(const Net *, const double *, double *),
                        const double *x, double *y)
{
    double F[4][N], at[N];
    static const double beta[] = {0.5, 0.5, 1}, gamma[] = {1.0 / 6, 2.0 / 6, 2.0 / 6, 1.0 / 6};
    f(n, x, F[0]);
    for (int i = 1; i < 4; i++) {
        add(x, beta[i - 1], F[i - 1], at);
        f(n, at, F[i]);
    }
    memcpy(at, x, sizeof at);
    for (int i = 0; i < 4; i++) add(at, gamma[i], F[i], at);
    memcpy(y, at, sizeof at);
}

static void rk2(const Net *n, const double *x, double *y)
{
    two_stages(n, block, 0.5, 0.5, x, y);
}

static void rk2_unit(const Net *n, const double *x, double *y)
{
    two_stages(n, block, 1, 1, x, y);
}

static void rk4(const Net *n, const double *x, double *y)
{
    four_stages(n, block, x, y);
}

static void rk2_released(const Net *n, const double *x, double *y)
{
    two_stages(n, layer, 0.5, 0.5, x, y);
}

static void rk4_released(const Net *n, const double *x, double *y)
{
    four_stages(n, layer, x, y);
}

static void layer_twice(const Net *n, const double *x, double *y)
{
    double between[N];
    layer(n, x, between);
    layer(n, between, y);
}

typedef void Equations(const Net *n, const double *x, double *y);
static const struct {
    const char *name;
    Equations *run;
} equations[] = {{"layer", layer},
                 {"layer-twice", layer_twice},
                 {"macaron", macaron},
                 {"rk2", rk2},
                 {"rk2-unit", rk2_unit},
                 {"rk4", rk4},
                 {"rk2-released", rk2_released},
                 {"rk4-released", rk4_released}};

static Equations *find_equations(const char *name)
{
    for (size_t i = 0; i < sizeof equations / sizeof *equations; i++)
        if (strcmp(equations[i].name, name) == 0) return equations[i].run;
    return NULL;
}

/* Distance of the scheme's plan from equations, and from the same on a state moved by 1e-6. */
static int plan_distance(const Net *n, Equations *run, double *distance, double *control)
{
    double x[N], a[N], b[N];
    start(x);
    TRY(model_run_plan(n->model, TOKENS, x, a));
    run(n, x, b);
    *distance = largest(a, b);
    x[0] += 1e-6;
    run(n, x, b);
    *control = largest(a, b);
    return bridge_system_failed(n->system);
}

int check_layer(const Zoo *z, const char *const *arg, Finding *f)
{
    Table *t;
    Net n;
    double distance = NAN, control = NAN;
    Equations *run = find_equations(arg[1]);
    if (!run) return error_set(ERR_MISUSE, "no equations named %s", arg[1]);
    TRY(map_table(z, arg[0], &t));
    int code = net_scheme(t, 1, &n);
    table_free(t);
    TRY(code);
    code = perturb(&n);
    if (code == 0) code = plan_distance(&n, run, &distance, &control);
    net_close(&n);
    f->holds = distance <= rounding;
    f->sound = f->sound && !(control <= rounding);
    finding_say(f,
                "plan of %s run by the engine, and the equations by hand on the same weights: %d tokens of "
                "width %d differ by %.1e (control, one input moved by 1e-6: %.1e)",
                arg[0], TOKENS, WIDTH, distance, control);
    return code;
}

/* ---- the released code's form ---------------------------------------------------------------------------- */

/* Sum of the update's weights on y. */
static void state_factor(const Table *t, mpq_t sum)
{
    for (size_t i = 0; i < t->update.terms; i++)
        if (t->update.term[i].eval == TABLE_STATE) mpq_add(sum, sum, t->update.term[i].c);
}

/* The field y + L(y) of a network as F of a system, G = 0. */
static void whole_layer(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    layer((const Net *)(const void *)s->param, y, dy);
}

static void no_field(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t, (void)y;
    memset(dy, 0, N * sizeof *dy);
}

/* One step of 1 of the scheme over the one field y + L(y). */
static int step_whole(const Zoo *z, const char *scheme, Net *n, const double *x, double *y)
{
    System s = {.name = "y + L(y)",
                .n = TOKENS,
                .d = WIDTH,
                .field = {whole_layer, no_field},
                .param = (double *)(void *)n};
    Table *t;
    Stepper *st = NULL;
    TRY(map_table(z, scheme, &t));
    int code = stepper_new(t, &s, &st);
    if (code == 0) code = stepper_begin(st, 0, 1, x, START_GIVEN, NULL);
    if (code == 0) code = stepper_step(st);
    if (code == 0) memcpy(y, stepper_state(st), N * sizeof *y);
    stepper_free(st);
    table_free(t);
    return code;
}

/* Plan of the released scheme against: the stated block over L; the stated scheme over y + L(y). */
static int released_distances(const Zoo *z, const char *const *arg, Net *n, double *over_L,
                              double *over_whole)
{
    double x[N], a[N], b[N];
    start(x);
    TRY(model_run_plan(n->model, TOKENS, x, a));
    find_equations(arg[2])(n, x, b);
    *over_L = largest(a, b);
    TRY(step_whole(z, arg[3], n, x, b));
    *over_whole = largest(a, b);
    return 0;
}

int check_released(const Zoo *z, const char *const *arg, Finding *f)
{
    Table *t;
    Net n;
    Theory theory;
    mpq_t factor, stated;
    double over_L = NAN, over_whole = NAN;
    TRY(map_table(z, arg[0], &t));
    mpq_inits(factor, stated, NULL);
    state_factor(t, factor);
    int code = mpq_set_str(stated, arg[1], 10) == 0 ? 0 : error_set(ERR_INPUT, "no rational: %s", arg[1]);
    if (code == 0) code = theory_search(t, 2, &theory);
    if (code == 0) code = net_scheme(t, 1, &n);
    if (code == 0) {
        code = perturb(&n);
        if (code == 0) code = released_distances(z, arg, &n, &over_L, &over_whole);
        net_close(&n);
        f->holds = over_L <= rounding;
        f->conditional = over_whole <= rounding && mpq_equal(factor, stated);
        f->sound = f->sound && theory.order == 0;
        char *text = mpq_get_str(NULL, 10, factor);
        finding_say(f,
                    "order %d; with zero sublayers the state is multiplied by %s; the network's block is off "
                    "the paper's equations by %.2g, off %s over the field y + L(y) by %.1e",
                    theory.order, text, over_L, arg[3], over_whole);
        free(text);
        if (code == 0) code = finding_derive(f, arg[0], "y", factor);
    }
    mpq_clears(factor, stated, NULL);
    table_free(t);
    return code;
}

/* ---- gradients --------------------------------------------------------------------------------------------- */

static size_t embedding(const Net *n)
{
    const Param *p;
    size_t count = model_params(n->model, &p), i = 0;
    while (i < count && strcmp(p[i].name, "embed.weight") != 0) i++;
    return p[i].offset;
}

/* Sets r0 = y through the embedding rows of tokens 0 .. TOKENS-1, and returns dE/dr0 by the engine's
 * backward pass: r0 = sqrt(D) E, each row read once. */
static int gradient_at(const Net *n, const double *y, double *dy)
{
    int32_t input[TOKENS], target[TOKENS], position[TOKENS];
    size_t first[] = {0, TOKENS};
    double E[N], mean;
    for (int i = 0; i < TOKENS; i++) input[i] = position[i] = i, target[i] = (3 * i + 1) % VOCAB;
    Batch b = {.N = TOKENS,
               .S = 1,
               .longest = TOKENS,
               .input = input,
               .target = target,
               .position = position,
               .start = first};
    for (int i = 0; i < N; i++) E[i] = y[i] / sqrt(WIDTH);
    n->f64->put(backend_at(n->f64, model_data(n->model), embedding(n)), E, N);
    TRY(model_gradient(n->model, &b, 1, &mean));
    n->f64->get(dy, backend_at(n->f64, model_grad(n->model), embedding(n)), N);
    for (int i = 0; i < N; i++) dy[i] /= sqrt(WIDTH);
    return 0;
}

/* The network's head alone: the same final norm and output layer behind r0. */
static int net_head(const Net *like, Net *head)
{
    const Param *p, *q;
    Plan *plan = plan_new(1);
    if (!plan) return ERR_MEMORY;
    TRY(net_open(plan, head));
    size_t count = model_params(head->model, &p), many = model_params(like->model, &q);
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < many && strcmp(p[i].name, q[k].name) != 0) k++;
        if (k == many) return error_set(ERR_MISUSE, "the head has a tensor of its own: %s", p[i].name);
        like->f64->copy(backend_at(like->f64, model_data(head->model), p[i].offset),
                        backend_at(like->f64, model_data(like->model), q[k].offset), p[i].size);
    }
    return 0;
}

/* dE/dy_0 (bottom) and dE/dy_L (top) of a network that starts at y. */
static int both_gradients(const Net *n, const double *y, double *bottom, double *top)
{
    Net head;
    double end[N];
    TRY(model_run_plan(n->model, TOKENS, y, end));
    TRY(gradient_at(n, y, bottom));
    int code = net_head(n, &head);
    if (code == 0) code = gradient_at(&head, end, top);
    net_close(&head);
    return code;
}

/* J (N, N) of the block function at y by central differences of two widths, extrapolated: O(e^4), some
 * 1e-11 of truncation and 1e-12 of rounding. */
static void jacobian(const Net *n, const double *y, double (*J)[N])
{
    double at[N], up[N], down[N], e[2] = {1e-3, 5e-4};
    for (int j = 0; j < N; j++)
        for (int w = 0; w < 2; w++) {
            memcpy(at, y, sizeof at);
            at[j] = y[j] + e[w];
            block(n, at, up);
            at[j] = y[j] - e[w];
            block(n, at, down);
            for (int i = 0; i < N; i++) {
                double d = (up[i] - down[i]) / (2 * e[w]);
                J[i][j] = w ? (4 * d - J[i][j]) / 3 : d;
            }
        }
}

/* v <- v (1 + J), v a row. */
static void times_one_plus(double *v, double (*J)[N])
{
    double out[N];
    memcpy(out, v, sizeof out);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) out[j] += v[i] * J[i][j];
    memcpy(v, out, sizeof out);
}

/* v <- v dy_{k+1}/dy_k of a block at y: half (29), unit (24); z first as in (29), else as in (22). */
static void chain(const Net *n, const char *formula, const double *y, double *v)
{
    static _Thread_local double J[2][N][N];
    double z[N], Pv[N];
    int z_first = strstr(formula, "zy") != NULL, half = strncmp(formula, "half", 4) == 0;
    layer(n, y, z);
    jacobian(n, y, J[0]);
    jacobian(n, z, J[1]);
    memcpy(Pv, v, sizeof Pv);
    times_one_plus(Pv, J[z_first]);
    times_one_plus(Pv, J[!z_first]);
    for (int i = 0; i < N; i++) v[i] = half ? (v[i] + Pv[i]) / 2 : Pv[i];
}

/* v: dE/dy_L in, dE/dy_0 by the formula out; the states follow the scheme, read as RK2 or unit. */
static void formula_gradient(const Net *n, const char *formula, int layers, const double *y0, double *v)
{
    double y[16][N];
    memcpy(y[0], y0, sizeof y[0]);
    double weight = strncmp(formula, "half", 4) == 0 ? 0.5 : 1;
    for (int k = 0; k + 1 < layers; k++) {
        bridge_layer(n->system, k);
        two_stages(n, block, weight, weight, y[k], y[k + 1]);
    }
    for (int k = layers - 1; k >= 0; k--) {
        bridge_layer(n->system, k);
        chain(n, formula, y[k], v);
    }
}

static double norm(const double *v)
{
    double sum = 0;
    for (int i = 0; i < N; i++) sum += v[i] * v[i];
    return sqrt(sum);
}

/* Relative distance of a formula from the backward pass. */
static int formula_distance(const Net *n, const char *formula, int layers, double *distance)
{
    double y[N], bottom[N], v[N];
    start(y);
    TRY(both_gradients(n, y, bottom, v));
    formula_gradient(n, formula, layers, y, v);
    add(v, -1, bottom, v);
    *distance = norm(v) / norm(bottom);
    return bridge_system_failed(n->system);
}

int check_gradient(const Zoo *z, const char *const *arg, Finding *f)
{
    const double tolerance = 1e-8; /* differences good to 1e-11, some 10 factors of size 2 */
    Table *t;
    Net n;
    int layers = atoi(arg[2]);
    double stated = NAN, condition = NAN;
    TRY(map_table(z, arg[0], &t));
    int code = net_scheme(t, (size_t)layers, &n);
    table_free(t);
    TRY(code);
    code = perturb(&n);
    if (code == 0) code = formula_distance(&n, arg[1], layers, &stated);
    if (code == 0 && arg[3]) code = formula_distance(&n, arg[3], layers, &condition);
    net_close(&n);
    f->holds = stated <= tolerance;
    f->conditional = arg[3] && condition <= tolerance;
    /* a formula 1e-6 off would be seen */
    f->sound = f->sound && (f->holds || stated > 1e-6) && isfinite(stated);
    finding_say(f, "%d block%s, formula with Jacobians by differences against the backward pass: off by %.1e of the gradient",
                layers, layers > 1 ? "s" : "", stated);
    if (arg[3]) finding_say(f, " as printed, by %.1e with the factors as in (29), topmost first", condition);
    return code;
}

/* ---- does the gradient vanish? ------------------------------------------------------------------------------ */

/* (|dE/dy_0| / |dE/dy_L|)^(1/L). */
static int factor_a_block(const Zoo *z, const char *scheme, size_t layers, double *factor)
{
    Table *t;
    Net n;
    double y[N], bottom[N], top[N];
    TRY(map_table(z, scheme, &t));
    int code = net_scheme(t, layers, &n);
    table_free(t);
    TRY(code);
    start(y);
    code = both_gradients(&n, y, bottom, top);
    *factor = pow(norm(bottom) / norm(top), 1 / (double)layers);
    net_close(&n);
    return code;
}

int check_vanish(const Zoo *z, const char *const *arg, Finding *f)
{
    static const size_t depth[] = {4, 8, 16};
    double stated, factor[3], unit, control;
    mpq_t q;
    mpq_init(q);
    int code = mpq_set_str(q, arg[1], 10) == 0 ? 0 : error_set(ERR_INPUT, "no rational: %s", arg[1]);
    stated = mpq_get_d(q);
    mpq_clear(q);
    for (int i = 0; i < 3 && code == 0; i++) code = factor_a_block(z, arg[0], depth[i], &factor[i]);
    if (code == 0) code = factor_a_block(z, "rk2-unit", 16, &unit);
    if (code == 0) code = factor_a_block(z, arg[2], 16, &control);
    TRY(code);
    f->holds = fabs(log2(factor[2] / stated)) <= 0.25;
    f->sound = f->sound && fabs(log2(control / 0.5)) <= 0.25;
    finding_say(f,
                "|dE/dy_0| / |dE/dy_L| of untrained networks, a block: %.3f (L = 4), %.3f (8), %.3f (16); "
                "gamma_i = 1: %.3f (16); control, the same product without the 1 in 1 + g: %.3f (16)",
                factor[0], factor[1], factor[2], unit, control);
    return 0;
}
