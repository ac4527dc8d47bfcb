/* bridged.h: schemes as networks in double precision: schemes of the zoo and of texts, plans and models of them, and
 * gradients against differences. bridged_open (layers.h) and zoo_end are a group's set-up and tear-down. */
#ifndef TROTTER_TESTS_BRIDGED_H
#define TROTTER_TESTS_BRIDGED_H

#include "tests/lib/distance.h"
#include "tests/lib/gradients.h"
#include "tests/lib/layers.h"

enum { D = TINY_WIDTH, INNER = 32 };

/* Schemes that no zoo has: rows without terms in a first layer, learned numbers, old slopes of C, carried quantities. */
#define MORE_SCHEMES                                                                                 \
    "scheme x-first\nk1 = F(y - y[-1])\nk2 = G(y + k1 - y[-1])\ny' = y + k1 + k2\n"                  \
    "scheme x-learned\nlearn a = 1/2\nk1 = F(y)\nk2 = G(y + a*k1)\ngate g = tanh(k1, k2)\n"          \
    "y' = y + g*k1 + (1-g)*k2\n"                                                                     \
    "scheme x-cross\nlearn a = 1/3\nk1 = C(y)\nk2 = F2(y + a*k1 - 1/4*k1[-1])\nk3 = C2(y + k2)\n"    \
    "gate g = sigmoid(k1, k3, y)\nk4 = C(y + g*k3)\nk5 = G(y + k4)\n"                                \
    "y' = y + 1/2*k1 + a*g*k3 + 1/4*k4 + k5 + 1/8*k3[-1]\n"                                          \
    "scheme x-carry\ncarry v = y\ncarry w = 0\nlearn a = 1/2\nk1 = F(y + 1/2*w)\nk2 = G(v + a*k1)\n" \
    "v' = 1/2*v + 1/2*y + k2\nw' = a*w + k1\ny' = y + w' + k2\n"                                     \
    "scheme x-carry-cross\ncarry v\nk1 = F(y + v)\nk2 = C(y + k1)\nk3 = G(y + k1 + k2)\n"            \
    "v' = 1/2*v + k2 + k3\ny' = y + k1 + v'\n"                                                       \
    "scheme x-norm\ncarry v\nlearn a = 1/2\nk1 = F(y + a*v)\nk2 = norm(1/2*v + k1)\n"                \
    "k3 = G(y + k2)\nk4 = norm(a*k2 + k3)\nv' = k4 + 1/4*v\ny' = y + k2 + 1/2*k4\n"
/* What is carried begins by embeddings of its own: nothing outside a network knows these. */
#define WORDS_SCHEMES                                                                             \
    "scheme x-words\ncarry v = embedding\ncarry w = embedding\nlearn a = 1/2\nk1 = F(y + a*v)\n"  \
    "k2 = norm(1/2*v + k1 + w)\nk3 = G(y + k2)\nk4 = norm(a*k2 + k3)\nv' = k4\nw' = 1/2*w + k1\n" \
    "y' = y + k2 + 1/2*k4\n"
/* Every decoder's scheme of the zoo and of these, and names that stand for others. */
#define MANY_DECODERS                                                                        \
    "decoders,word:scfscfscf,word:scscfscff,word:csf,sandwich:2-1-decoder,looped:2-decoder," \
    "repeat:2-decoder,strang-decoder:heun,strang-decoder:rk4,yoshida4-decoder:midpoint,"     \
    "strang-marchuk-decoder:heun,rk4-layer-decoder,x-cross,x-carry-cross"

static inline Tables schemes_of(const char *names)
{
    return listed(names, "euler");
}

static inline Table *euler_named(const char *name)
{
    return named(name, "euler");
}

static inline BridgeOptions options(size_t above, size_t layers)
{
    return (BridgeOptions){
        .layers = layers, .encoder_layers = above, .width = D, .inner = INNER, .match = MATCH_NONE};
}

/* Returns the plan of a decoder d under an encoder e, or of a language model (e NULL). */
static inline Plan *plan_of(const Table *e, const Table *d, BridgeOptions o)
{
    Plan *p;
    if (bridge_plan_pair(e, d, &o, &p) != 0)
        fail_msg("%s, %s: %s", e ? e->name : "alone", d->name, error_text());
    return p;
}

static inline Plan *plan_named(const char *e, const char *d, BridgeOptions o)
{
    OWN_TABLE *a = e ? euler_named(e) : NULL, *b = euler_named(d);
    return plan_of(a, b, o);
}

/* Counts the numbers of the matrices of a side's sublayers. */
static inline size_t matrix_numbers(const Plan *p, int side)
{
    size_t sum = 0;
    for (size_t i = 0; i < p->slots; i++)
        if (p->slot[i].side == side)
            sum += plan_attends(&p->slot[i]) ? 4 * D * D : 2 * D * p->slot[i].inner;
    return sum;
}

/* Makes a model with shaken parameters, which owns the plan. */
static inline Model *shaken(Plan *p, ModelConfig c, double size, int learned, int training)
{
    Model *m;
    if (model_new(&c, p, f64, training, &m) != 0) fail_msg("%s", error_text());
    shake(m, size, learned);
    return m;
}

/* ---- plan against stepper -------------------------------------------------------------------------- */

/* Steps y (n, D) by ode/ through the layers of a side; layer l + other comes l-th. */
static inline void step_side(Model *m, const Table *t, LayerOf of, size_t layers, int other,
                             double *y)
{
    OWN_SYSTEM *s = NULL;
    OWN_TABLE *frozen = table_freeze(t);
    if (bridge_system(m, &of, &s) != 0) fail_msg("%s", error_text());
    OWN_STEPPER *st = stepper(frozen, s);
    assert_int_equal(stepper_begin(st, 0, 1, y, START_NETWORK, NULL), 0);
    for (size_t l = 0; l < layers; l++) {
        bridge_layer(s, (int)((l + (size_t)other) % layers));
        if (stepper_step(st) != 0) fail_msg("%s: %s", t->name, error_text());
    }
    memcpy(y, stepper_state(st), of.n * D * sizeof *y);
    assert_int_equal(bridge_system_failed(s), 0);
}

/* ---- gradients ------------------------------------------------------------------------------------ */

/* Checks every tensor of a model with dropout 0.1, and returns how many have a gradient. */
static inline size_t check_gradients(const Table *e, const Table *d, BridgeOptions o)
{
    char what[400];
    ModelConfig c = tiny_config();
    c.dropout = 0.1;
    OWN_MODEL *m = shaken(plan_of(e, d, o), c, 0.2, 1, 1);
    snprintf(what, sizeof what, "%s, %s", e ? e->name : "alone", d->name);
    return gradients_agree(m, (Steps){3e-4, 1e-6}, what);
}

#endif
