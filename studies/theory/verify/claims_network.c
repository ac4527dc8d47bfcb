/* claims_network.c: claims about network blocks, on small networks in double precision. The paper's equations,
 * written out here by hand, are compared with the plan compiled from a scheme's text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/truncation.h"
#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "studies/theory/verify/claims.h"

enum { N = NET_N, TOKENS = NET_TOKENS, WIDTH = NET_WIDTH, HEADS = 2, INNER = 16 };

/* The largest difference that rounding explains: some 10^3 operations of 2e-16 on numbers of size 10. */
static const double rounding = 1e-11;

void net_close(Net *n)
{
    system_free(n->system);
    model_free(n->model);
    *n = (Net){0};
}

/* Makes x -> factor x + noise r of every parameter, r random; with a factor of the sublayers' last matrices alone. */
static int change(const Net *n, double factor, double noise)
{
    const Param *p;
    size_t count = model_params(n->model, &p);
    for (size_t i = 0; i < count; i++) {
        if (factor != 1 && !strstr(p[i].name, ".out.") && !strstr(p[i].name, ".down.")) continue;
        double *x = memory_new(p[i].size, sizeof *x);
        void *at = backend_at(n->f64, model_data(n->model), p[i].offset);
        if (!x) return ERR_MEMORY;
        n->f64->get(x, at, p[i].size);
        for (size_t k = 0; k < p[i].size; k++)
            x[k] = factor * x[k] + noise * random_normal(71, i, k);
        n->f64->put(at, x, p[i].size);
        memory_free(x);
    }
    return 0;
}

int net_perturb(Net *n)
{
    return change(n, 1, 0.1);
}

int net_shrink(Net *n, double factor)
{
    return change(n, factor, 0);
}

int net_open(Plan *plan, Net *n)
{
    ModelConfig c = {.vocab = NET_VOCAB,
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

int net_scheme(const Table *t, size_t layers, Net *n)
{
    BridgeOptions o = {.layers = layers, .width = WIDTH, .inner = INNER, .match = MATCH_NONE};
    Plan *plan;
    TRY(bridge_plan(t, &o, &plan));
    TRY(net_open(plan, n));
    int code = bridge_system(n->model, &(LayerOf){.n = TOKENS}, &n->system);
    if (code != 0) net_close(n);
    return code;
}

void net_text(int step, NetText *t)
{
    for (int i = 0; i < TOKENS; i++) {
        t->input[i] = t->position[i] = i;
        t->target[i] = (step * i + 1) % NET_VOCAB;
    }
    t->start[0] = 0, t->start[1] = TOKENS;
    t->batch = (Batch){.N = TOKENS,
                       .S = 1,
                       .longest = TOKENS,
                       .input = t->input,
                       .target = t->target,
                       .position = t->position,
                       .start = t->start};
}

void net_start(double *y)
{
    for (uint64_t i = 0; i < N; i++) y[i] = random_normal(72, 0, i);
}

/* Returns the largest difference of a and b (N). */
static double distance_of(const double *a, const double *b)
{
    double most = 0;
    for (int i = 0; i < N; i++) {
        double e = fabs(a[i] - b[i]);
        if (!(e <= most)) most = e;
    }
    return most;
}

/* ---- the papers' equations, by hand -------------------------------------------------------------------- */

void net_add(const double *x, double c, const double *v, double *y)
{
    for (int i = 0; i < N; i++) y[i] = x[i] + c * v[i];
}

static void sublayer(const Net *n, int op, int set, const double *x, double *y)
{
    n->system->field[op](n->system, set, 0, x, y);
}

void net_layer(const Net *n, const double *x, double *y)
{
    double k[N];
    sublayer(n, OP_F, 1, x, k);
    net_add(x, 1, k, y);
    sublayer(n, OP_G, 1, y, k);
    net_add(y, 1, k, y);
}

void net_block(const Net *n, const double *x, double *y)
{
    net_layer(n, x, y);
    net_add(y, -1, x, y);
}

/* Computes (17)-(19) of the Macaron paper. */
static void macaron(const Net *n, const double *x, double *y)
{
    double k[N];
    sublayer(n, OP_G, 1, x, k);
    net_add(x, 0.5, k, y);
    sublayer(n, OP_F, 1, y, k);
    net_add(y, 1, k, y);
    sublayer(n, OP_G, 2, y, k);
    net_add(y, 0.5, k, y);
}

void net_two_stages(const Net *n, Equations *f, double a, double b, const double *x, double *y)
{
    double F1[N], F2[N], at[N];
    f(n, x, F1);
    net_add(x, 1, F1, at);
    f(n, at, F2);
    net_add(x, a, F1, y);
    net_add(y, b, F2, y);
}

/* Computes (15)-(19) of the ODE Transformer. */
static void four_stages(const Net *n, Equations *f, const double *x, double *y)
{
    double F[4][N], at[N];
    static const double beta[] = {0.5, 0.5, 1}, gamma[] = {1.0 / 6, 2.0 / 6, 2.0 / 6, 1.0 / 6};
    f(n, x, F[0]);
    for (int i = 1; i < 4; i++) {
        net_add(x, beta[i - 1], F[i - 1], at);
        f(n, at, F[i]);
    }
    memcpy(at, x, sizeof at);
    for (int i = 0; i < 4; i++) net_add(at, gamma[i], F[i], at);
    memcpy(y, at, sizeof at);
}

/* A block by its name: `run` itself, or two or four stages over it. */
typedef struct {
    const char *name;
    Equations *run;
    int stages;
    double weight; /* gamma of two stages */
} Block;

static const Block *find_block(const char *name)
{
    static const Block blocks[] = {
        {"layer", net_layer, 0, 0},       {"macaron", macaron, 0, 0},
        {"rk2", net_block, 2, 0.5},       {"rk2-unit", net_block, 2, 1},
        {"rk4", net_block, 4, 0},         {"rk2-released", net_layer, 2, 0.5},
        {"rk4-released", net_layer, 4, 0}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (strcmp(blocks[i].name, name) == 0) return &blocks[i];
    return NULL;
}

static void run_block(const Net *n, const Block *b, const double *x, double *y)
{
    if (b->stages == 2)
        net_two_stages(n, b->run, b->weight, b->weight, x, y);
    else if (b->stages == 4)
        four_stages(n, b->run, x, y);
    else
        b->run(n, x, y);
}

/* Measures the distance of the scheme's plan from equations, and from the same on a state moved by 1e-6. */
static int plan_distance(const Net *n, const Block *block, double *distance, double *control)
{
    double x[N], a[N], b[N];
    net_start(x);
    TRY(model_run_plan(n->model, TOKENS, x, a));
    run_block(n, block, x, b);
    *distance = distance_of(a, b);
    x[0] += 1e-6;
    run_block(n, block, x, b);
    *control = distance_of(a, b);
    return bridge_system_failed(n->system);
}

int check_layer(const Zoo *z, const char *const *arg, Finding *f)
{
    TABLE(t);
    SCOPED(net_close) Net n = {0};
    double distance = NAN, control = NAN;
    const Block *block = find_block(arg[1]);
    if (!block) return error_set(ERR_MISUSE, "no equations named %s", arg[1]);
    TRY(map_table(z, arg[0], &t));
    TRY(net_scheme(t, 1, &n));
    TRY(net_perturb(&n));
    TRY(plan_distance(&n, block, &distance, &control));
    f->holds = distance <= rounding;
    f->sound = f->sound && !(control <= rounding);
    finding_say(
        f,
        "plan of %s run by the engine, and the equations by hand on the same weights: %d tokens of "
        "width %d differ by %.1e (control, one input moved by 1e-6: %.1e)",
        arg[0], TOKENS, WIDTH, distance, control);
    return 0;
}

/* ---- the released code's form ---------------------------------------------------------------------------- */

/* Adds the update's weights on y to sum. */
static void state_factor(const Table *t, mpq_t sum)
{
    for (size_t i = 0; i < t->update.terms; i++)
        if (t->update.term[i].eval == TABLE_STATE) mpq_add(sum, sum, t->update.term[i].c);
}

/* Gives the field y + L(y) of a network as F of a system, G = 0. */
static void whole_layer(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    net_layer((const Net *)(const void *)s->param, y, dy);
}

static void no_field(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t, (void)y;
    memset(dy, 0, N * sizeof *dy);
}

/* Makes one step of size 1 of the scheme over the one field y + L(y). */
static int step_whole(const Zoo *z, const char *scheme, Net *n, const double *x, double *y)
{
    System s = {.name = "y + L(y)",
                .n = TOKENS,
                .d = WIDTH,
                .field = {whole_layer, no_field},
                .param = (double *)(void *)n};
    TABLE(t);
    SCOPED(stepper_drop) Stepper *st = NULL;
    TRY(map_table(z, scheme, &t));
    TRY(stepper_new(t, &s, &st));
    TRY(stepper_begin(st, 0, 1, x, START_GIVEN, NULL));
    TRY(stepper_step(st));
    memcpy(y, stepper_state(st), N * sizeof *y);
    return 0;
}

/* Compares the plan of the released scheme with the stated block over L, and with the
 * stated scheme over y + L(y). */
static int released_distances(const Zoo *z, const char *const *arg, Net *n, double *over_L,
                              double *over_whole)
{
    double x[N], a[N], b[N];
    net_start(x);
    TRY(model_run_plan(n->model, TOKENS, x, a));
    run_block(n, find_block(arg[2]), x, b);
    *over_L = distance_of(a, b);
    TRY(step_whole(z, arg[3], n, x, b));
    *over_whole = distance_of(a, b);
    return 0;
}

int check_released(const Zoo *z, const char *const *arg, Finding *f)
{
    TABLE(t);
    SCOPED(net_close) Net n = {0};
    Theory theory;
    RATIONALS(factor, stated);
    double over_L = NAN, over_whole = NAN;
    TRY(map_table(z, arg[0], &t));
    state_factor(t, factor);
    TRY(terms_number(arg[1], stated));
    TRY(theory_search(t, 2, &theory));
    TRY(net_scheme(t, 1, &n));
    TRY(net_perturb(&n));
    TRY(released_distances(z, arg, &n, &over_L, &over_whole));
    f->holds = over_L <= rounding;
    f->conditional = over_whole <= rounding && mpq_equal(factor, stated);
    f->sound = f->sound && theory.order == 0;
    char *text = mpq_get_str(NULL, 10, factor);
    finding_say(f,
                "order %d; with zero sublayers the state is multiplied by %s; the network's "
                "block is off the paper's equations by %.2g, off %s over the field y + L(y) by "
                "%.1e",
                theory.order, text, over_L, arg[3], over_whole);
    free(text);
    return finding_derive(f, arg[0], "y", factor);
}

/* ---- the meaning of perplexity ----------------------------------------------------------------------- */

enum { DOUBLINGS = 6 };

/* Runs the layer in 2^j steps of 2^-j, j = 0 .. DOUBLINGS: its output y (N) and the loss after it. */
static int refine(const Net *n, const Table *t, int j, double y[N], double *loss)
{
    SCOPED(model_drop) Model *m = NULL;
    NetText text;
    double x[N];
    net_start(x);
    net_text(2, &text);
    TRY(bridge_refine(n->model, t, t, (size_t)1 << j, &m));
    TRY(model_run_plan(m, TOKENS, x, y));
    return model_forward(m, &text.batch, 0, 0, NULL, loss);
}

/* Measures slopes over the steps. *flow: of the distance from the exact flow; for a method of order 1 this is twice the
 * distance from one step to its half. *loss: of the loss. */
static int refined_slopes(const Net *n, const Table *t, double *flow, double *loss, double of[2])
{
    double y[2][N], nats[DOUBLINGS + 1], way[DOUBLINGS];
    for (int j = 0; j <= DOUBLINGS; j++) {
        TRY(refine(n, t, j, y[j % 2], &nats[j]));
        if (j == 0) continue;
        way[j - 1] = 0;
        for (int i = 0; i < N; i++) way[j - 1] += pow(y[0][i] - y[1][i], 2);
        way[j - 1] = sqrt(way[j - 1]);
    }
    *flow = log2(way[DOUBLINGS - 2] / way[DOUBLINGS - 1]);
    *loss = log2(nats[DOUBLINGS - 1] / nats[DOUBLINGS]);
    of[0] = nats[0], of[1] = nats[DOUBLINGS];
    return 0;
}

/* Keeps the weights and makes the steps ever smaller. The truncation error goes to zero with them;
 * does the named quantity too? */
int check_perplexity(const Zoo *z, const char *const *arg, Finding *f)
{
    TABLE(t);
    SCOPED(net_close) Net n = {0};
    double flow = NAN, loss = NAN, nats[2] = {NAN, NAN};
    TRY(map_table(z, arg[0], &t));
    TRY(net_scheme(t, 1, &n));
    TRY(net_perturb(&n));
    TRY(refined_slopes(&n, t, &flow, &loss, nats));
    double slope = strcmp(arg[1], "flow") == 0 ? flow : loss;
    f->holds = fabs(slope - 1) <= claim_near;
    f->sound = f->sound && fabs(flow - 1) <= claim_near && isfinite(loss);
    finding_say(
        f,
        "one layer of %s, its weights kept, in 1, 2, .. %d steps: the distance from the exact flow "
        "falls as h^%.2f, to zero; the loss is %.4f in one step and %.4f in %d, falls as h^%.2f. So "
        "it is recorded of trained networks (studies/results/truncation): perplexity 59.8 in the "
        "steps of training, 73.2 along the exact flow",
        arg[0], 1 << DOUBLINGS, flow, nats[0], nats[1], 1 << DOUBLINGS, claim_slope(loss));
    return 0;
}
