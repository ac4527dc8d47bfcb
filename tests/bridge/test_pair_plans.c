/* test_pair_plans.c: an encoder's scheme and a decoder's as one network. Every scheme of three colours has a plan that
 * passes its check, with gradients that agree with differences. Without its C it is the language model of its F and G.
 * The tests also find which plans are the same. All is in f64. */
#include "tests/lib/test.h"

#include "bridge/bridge.h"
#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"
#include "tests/lib/distance.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

enum { D = TINY_WIDTH, INNER = TINY_INNER, ROWS = TINY_ROWS, V = TINY_VOCAB };

static Zoo zoo;
static Table **decoder, **encoder;
static size_t decoders, encoders;
static const Backend *f64;

/* Schemes that no zoo has: rows without terms in a first layer, learned numbers on C, old slopes of C. */
static const char more[] =
    "scheme x-first\nk1 = F(y - y[-1])\nk2 = G(y + k1 - y[-1])\ny' = y + k1 + k2\n"
    "scheme x-learned\nlearn a = 1/2\nk1 = F(y)\nk2 = G(y + a*k1)\ngate g = tanh(k1, k2)\n"
    "y' = y + g*k1 + (1-g)*k2\n"
    "scheme x-cross\nlearn a = 1/3\nk1 = C(y)\nk2 = F2(y + a*k1 - 1/4*k1[-1])\nk3 = C2(y + k2)\n"
    "gate g = sigmoid(k1, k3, y)\nk4 = C(y + g*k3)\nk5 = G(y + k4)\n"
    "y' = y + 1/2*k1 + a*g*k3 + 1/4*k4 + k5 + 1/8*k3[-1]\n"
    "scheme x-halves\nk1 = F(y)\nk2 = C(y + 1/2*k1)\nk3 = G(y + 1/2*k1 + 1/2*k2)\n"
    "k4 = F(y + 1/2*k1 + 1/2*k2 + 1/2*k3)\nk5 = C(y + 1/2*k1 + 1/2*k2 + 1/2*k3 + 1/2*k4)\n"
    "k6 = G(y + 1/2*k1 + 1/2*k2 + 1/2*k3 + 1/2*k4 + 1/2*k5)\n"
    "y' = y + 1/2*k1 + 1/2*k2 + 1/2*k3 + 1/2*k4 + 1/2*k5 + 1/2*k6\n";

static void list_of(const char *names, Table ***list, size_t *count)
{
    if (zoo_list(&zoo, names, "euler", list, count) != 0) fail_msg("%s", error_text());
}

static int setup(void **state)
{
    (void)state;
    if (zoo_open(&zoo) != 0 ||
        scheme_parse("more", more, strlen(more), &zoo.scheme, &zoo.count) != 0)
        return 1;
    list_of("decoders,word:scfscfscf,word:scscfscff,word:csf,sandwich:2-1-decoder,looped:2-decoder,"
            "repeat:2-decoder,strang-decoder:heun,strang-decoder:rk4,yoshida4-decoder:midpoint,"
            "strang-marchuk-decoder:heun,rk4-layer-decoder,x-cross",
            &decoder, &decoders);
    list_of("transformer,macaron,rk4-layer,heun,rk2-gate,ab2-layer,dlcl,word:ssff,polynet,x-first,"
            "x-learned",
            &encoder, &encoders);
    backend_threads(1);
    return backend_find("cpu-f64", NULL, &f64);
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < decoders; i++) table_free(decoder[i]);
    for (size_t i = 0; i < encoders; i++) table_free(encoder[i]);
    memory_free(decoder);
    memory_free(encoder);
    zoo_close(&zoo);
    return 0;
}

/* ---- plans ------------------------------------------------------------------------------------------ */

static BridgeOptions options(size_t above, size_t layers)
{
    return (BridgeOptions){
        .layers = layers, .encoder_layers = above, .width = D, .inner = INNER, .match = MATCH_NONE};
}

static Plan *pair_of(const Table *e, const Table *d, const BridgeOptions *o)
{
    Plan *p;
    if (bridge_plan_pair(e, d, o, &p) != 0 || plan_check(p) != 0)
        fail_msg("%s, %s: %s", e->name, d->name, error_text());
    return p;
}

static Table *named(const char *name)
{
    Table *t;
    if (zoo_find(&zoo, name, "euler", &t) != 0) fail_msg("%s: %s", name, error_text());
    return t;
}

static Plan *pair_named(const char *e, const char *d, const BridgeOptions *o)
{
    Table *a = named(e), *b = named(d);
    Plan *p = pair_of(a, b, o);
    table_free(a);
    table_free(b);
    return p;
}

static size_t count_keys(const Plan *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->instrs; i++) n += p->instr[i].op == PLAN_KEYS;
    return n;
}

static size_t count_slots(const Plan *p, int side, int kind)
{
    size_t n = 0;
    for (size_t i = 0; i < p->slots; i++) n += p->slot[i].side == side && p->slot[i].kind == kind;
    return n;
}

/* Every decoder under every encoder has a plan: keys once a slot, all of one memory, an EVAL for every evaluation of
 * the tables. */
TEST(every_pair_has_a_plan)
{
    enum { ABOVE = 2, LAYERS = 3 };
    BridgeOptions o = options(ABOVE, LAYERS);
    size_t several = 0;
    assert_true(decoders > 50);
    for (size_t i = 0; i < decoders; i++)
        for (size_t j = 0; j < encoders; j++) {
            const Table *d = decoder[i], *e = encoder[j];
            Plan *p = pair_of(e, d, &o);
            size_t cross = plan_evals(p, SLOT_CROSS), sets = (size_t)table_sets(d, OP_C);
            if (cross != LAYERS * table_evals(d, OP_C))
                fail_msg("%s: %zu cross-attentions", d->name, cross);
            assert_int_equal(plan_evals(p, SLOT_ATTENTION),
                             LAYERS * table_evals(d, OP_F) + ABOVE * table_evals(e, OP_F));
            assert_int_equal(plan_evals(p, SLOT_FEEDFORWARD),
                             LAYERS * table_evals(d, OP_G) + ABOVE * table_evals(e, OP_G));
            assert_int_equal(count_keys(p), LAYERS * sets);
            assert_int_equal(count_slots(p, SIDE_TARGET, SLOT_CROSS), LAYERS * sets);
            assert_int_equal(count_slots(p, SIDE_SOURCE, SLOT_NORM), 1);
            assert_int_equal(p->layers[SIDE_SOURCE], ABOVE);
            assert_int_equal(p->layers[SIDE_TARGET], LAYERS);
            int memory = -1;
            for (size_t k = 0; k < p->instrs; k++) {
                if (p->instr[k].op != PLAN_KEYS) continue;
                assert_true(memory < 0 || memory == p->instr[k].term[0].x);
                memory = p->instr[k].term[0].x;
            }
            several += cross > count_keys(p);
            plan_free(p);
        }
    assert_true(several > encoders); /* stages that share their keys */
}

TEST(as_many_encoder_layers_as_layers)
{
    BridgeOptions o = options(0, 3);
    Plan *p = pair_named("transformer", "transformer-decoder", &o);
    assert_int_equal(p->layers[SIDE_SOURCE], 3);
    plan_free(p);
}

/* The plans are those written out by hand in tests/lib, where they are compared with a second reading in plain
 * loops. */
TEST(transformers_are_as_written)
{
    for (int post = 0; post < 2; post++) {
        BridgeOptions o = options(1, 1);
        o.norm = post ? NORM_POST : NORM_PRE;
        Plan *p = pair_named("transformer", "transformer-decoder", &o), *q = tiny_transformer(post);
        Plan *r = pair_named("transformer", "word:csf", &o), *other = tiny_transformer(!post);
        int same = -1;
        assert_int_equal(plan_same(p, q, &same), 0);
        assert_int_equal(same, 1);
        assert_int_equal(plan_same(r, q, &same), 0);
        assert_int_equal(same, 0);
        assert_int_equal(plan_same(p, other, &same), 0);
        assert_int_equal(same, 0);
        Plan *list[] = {p, q, r, other};
        for (int i = 0; i < 4; i++) plan_free(list[i]);
    }
}

static int refused(const char *e, const char *d, const char *solver, const BridgeOptions *o)
{
    Table *a, *b;
    Plan *p = NULL;
    size_t live = memory_live();
    assert_int_equal(zoo_find(&zoo, e, solver, &a), 0);
    assert_int_equal(zoo_find(&zoo, d, solver, &b), 0);
    int code = bridge_plan_pair(a, b, o, &p);
    assert_null(p);
    table_free(a);
    table_free(b);
    assert_int_equal(memory_live(), live);
    return code;
}

TEST(wrong_colours_are_refused)
{
    BridgeOptions o = options(1, 1);
    assert_int_equal(refused("transformer-decoder", "transformer-decoder", "euler", &o), ERR_INPUT);
    assert_non_null(strstr(error_text(), "an encoder takes a scheme of F and G"));
    assert_int_equal(refused("transformer", "macaron", "euler", &o), ERR_INPUT);
    assert_non_null(strstr(error_text(), "macaron-decoder has it"));
    assert_int_equal(refused("transformer", "strang-decoder", "exact", &o), ERR_INPUT);
    assert_non_null(strstr(error_text(), "strang-decoder:euler"));
    assert_int_equal(refused("strang-marchuk", "transformer-decoder", "exact", &o), ERR_INPUT);
    o.norm = NORM_POST;
    assert_int_equal(refused("transformer", "rk4-decoder", "euler", &o), ERR_INPUT);
    assert_non_null(strstr(error_text(), "--norm post needs"));
    assert_int_equal(refused("rk4", "transformer-decoder", "euler", &o), ERR_INPUT);
    o = options(10001, 1);
    assert_int_equal(refused("transformer", "transformer-decoder", "euler", &o), ERR_INPUT);
    o = options(1, 0);
    assert_int_equal(refused("transformer", "transformer-decoder", "euler", &o), ERR_INPUT);
    Table *t = named("transformer-decoder"); /* language models have no source */
    Plan *p = NULL;
    assert_int_equal(bridge_plan(t, &o, &p), ERR_INPUT);
    table_free(t);
}

/* ---- post-norm -------------------------------------------------------------------------------------- */

/* Each sub-step has a norm, and no norm is alone: those of the encoder's last sub-step are the memory's. */
TEST(post_pairs_are_normed_sub_steps)
{
    static const char *const name[] = {"transformer", "macaron", "word:sff", "strang-marchuk-fgf",
                                       "looped:2"};
    /* The last name halves F in its text, and C of A(x) = F(x) + C(x + F(x)) does not follow the half. */
    enum { DECODERS = 4 };
    enum { ABOVE = 2, LAYERS = 2 };
    BridgeOptions o = options(ABOVE, LAYERS);
    o.norm = NORM_POST;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        for (size_t j = 0; j < sizeof name / sizeof *name; j++) {
            Table *e = named(name[i]), *d;
            assert_int_equal(zoo_find_decoder(&zoo, name[j], "euler", &d), 0);
            Plan *p = NULL;
            size_t norms = 0;
            int code = bridge_plan_pair(e, d, &o, &p);
            assert_int_equal(code, j < DECODERS ? 0 : ERR_INPUT);
            for (size_t k = 0; p && k < p->instrs; k++) norms += p->instr[k].op == PLAN_NORM;
            if (p) {
                assert_int_equal(plan_check(p), 0);
                assert_int_equal(norms, ABOVE * e->evals + LAYERS * d->evals);
                assert_int_equal(count_slots(p, SIDE_SOURCE, SLOT_NORM), 0);
            }
            plan_free(p);
            table_free(e);
            table_free(d);
        }
}

/* ---- equal parameters ------------------------------------------------------------------------------- */

/* Counts the numbers of the matrices of a side's sublayers. */
static size_t matrix_numbers(const Plan *p, int side)
{
    size_t sum = 0;
    for (size_t i = 0; i < p->slots; i++)
        if (p->slot[i].side == side)
            sum += plan_attends(&p->slot[i]) ? 4 * D * D : 2 * D * p->slot[i].inner;
    return sum;
}

TEST(sides_have_equal_parameters)
{
    static const char *const d[] = {"transformer-decoder", "macaron-decoder",
                                    "att-ffn-att-decoder", "rk4-layer-decoder",
                                    "strang-decoder:heun", "rk2-gate-decoder"};
    static const char *const e[] = {"transformer", "macaron", "att-ffn-att", "rk4-layer"};
    BridgeOptions o = options(1, 2);
    o.inner = 64;
    o.match = MATCH_PARAMETERS;
    for (size_t i = 0; i < sizeof d / sizeof *d; i++)
        for (size_t j = 0; j < sizeof e / sizeof *e; j++) {
            Plan *p = pair_named(e[j], d[i], &o);
            assert_int_equal(matrix_numbers(p, SIDE_SOURCE), 4 * D * D + 2 * D * o.inner);
            if (matrix_numbers(p, SIDE_TARGET) != 2 * (8 * D * D + 2 * D * o.inner))
                fail_msg("%s: %zu numbers", d[i], matrix_numbers(p, SIDE_TARGET));
            plan_free(p);
        }
    o.inner = 4 * D; /* att-ffn-att has one attention and one cross-attention more */
    assert_int_equal(refused("transformer", "att-ffn-att-decoder", "euler", &o), ERR_INPUT);
    assert_non_null(strstr(error_text(), "4 attention"));
}

/* ---- models ------------------------------------------------------------------------------------------ */

static Model *model_of(Plan *p, double dropout, int training)
{
    ModelConfig c = tiny_config();
    Model *m;
    c.dropout = dropout;
    if (model_new(&c, p, f64, training, &m) != 0) fail_msg("%s", error_text());
    return m;
}

/* Moves every parameter. It moves those that a scheme learns only where `learned` is set. */
static void shake(Model *m, double size, int learned)
{
    const Param *p;
    size_t n = model_params(m, &p);
    for (size_t i = 0; i < n; i++) {
        if (!learned && strstr(p[i].name, ".scheme.")) continue;
        void *at = backend_at(f64, model_data(m), p[i].offset);
        double *x = tiny_get(m, model_data(m), p[i].offset, p[i].size);
        for (size_t k = 0; k < p[i].size; k++) x[k] += size * random_normal(9, i, k);
        f64->put(at, x, p[i].size);
        memory_free(x);
    }
}

static double *logits(Model *m, const Batch *b)
{
    double *z = memory_new(b->N * V, sizeof *z);
    assert_int_equal(model_logits(m, b, z), 0);
    return z;
}

/* Copies the decoder's tensors to those of the same names in the language model. */
static void copy_decoder(Model *alone, Model *pair)
{
    const Param *p;
    size_t n = model_params(alone, &p);
    for (size_t i = 0; i < n; i++) {
        char name[128];
        int layer = strncmp(p[i].name, "layers.", 7) == 0;
        snprintf(name, sizeof name, "%s%s", layer ? "decoder." : "", p[i].name);
        const Param *q = model_find(pair, name);
        if (!q || q->size != p[i].size) fail_msg("no %s", name);
        double *x = tiny_tensor(pair, name);
        f64->put(backend_at(f64, model_data(alone), p[i].offset), x, q->size);
        memory_free(x);
    }
}

static void silence_cross(Model *m)
{
    const Param *p;
    size_t n = model_params(m, &p);
    for (size_t i = 0; i < n; i++)
        if (strstr(p[i].name, ".cross.") && strstr(p[i].name, ".out."))
            f64->fill(backend_at(f64, model_data(m), p[i].offset), 0, p[i].size);
}

/* NAME-decoder whose cross-attention gives zero is NAME: A(x) = F(x) + 0. The learned numbers stay at their starts, as
 * gates of more inputs have other weights. The control: with C it is another network. */
TEST(a_decoder_without_its_source_is_the_language_model)
{
    enum { LAYERS = 3 };
    BridgeOptions o = options(1, LAYERS);
    size_t seen = 0, cross = 0;
    Table *e = named("transformer"), **list;
    size_t count;
    list_of("all,word:sfsf,sandwich:2-1,looped:2,strang-marchuk:rk4", &list, &count);
    for (size_t i = 0; i < count; i++) {
        Table *d;
        Plan *p;
        if (zoo_find_decoder(&zoo, list[i]->name, "euler", &d) != 0)
            fail_msg("%s: %s", list[i]->name, error_text());
        assert_int_equal(bridge_plan(list[i], &o, &p), 0);
        Model *pair = model_of(pair_of(e, d, &o), 0, 0), *alone = model_of(p, 0, 0);
        shake(pair, 0.2, 0);
        copy_decoder(alone, pair);
        Batch b = tiny_batch_of(pair), text = tiny_batch_of(alone);
        double *x = logits(alone, &text), *with = logits(pair, &b);
        silence_cross(pair);
        double *y = logits(pair, &b);
        double error = relative_distance(y, x, ROWS * V);
        if (!(error <= 1e-11)) fail_msg("%s, %s: %g", list[i]->name, d->name, error);
        cross += table_evals(d, OP_C) > 0;
        seen += relative_distance(with, x, ROWS * V) > 1e-3;
        memory_free(x);
        memory_free(y);
        memory_free(with);
        model_free(pair);
        model_free(alone);
        table_free(d);
    }
    assert_true(cross > 40 && seen + 1 == cross); /* rk2-tanh's gates begin at 0 */
    for (size_t i = 0; i < count; i++) table_free(list[i]);
    memory_free(list);
    table_free(e);
}

/* ---- gradients --------------------------------------------------------------------------------------- */

static double loss_at(Model *m, const Batch *b, const Param *p, const double *x, const double *v,
                      double h)
{
    double mean, *y = memory_new(p->size, sizeof *y);
    void *at = backend_at(f64, model_data(m), p->offset);
    for (size_t k = 0; k < p->size; k++) y[k] = x[k] + h * v[k];
    f64->put(at, y, p->size);
    assert_int_equal(model_forward(m, b, 1, 17, NULL, &mean), 0);
    f64->put(at, x, p->size);
    memory_free(y);
    return mean;
}

/* Returns (8 (L(h) - L(-h)) - (L(2h) - L(-2h))) / 12 h. */
static double difference(Model *m, const Batch *b, const Param *p, const double *x, const double *v)
{
    const double h = 3e-4;
    double near = loss_at(m, b, p, x, v, h) - loss_at(m, b, p, x, v, -h);
    double far = loss_at(m, b, p, x, v, 2 * h) - loss_at(m, b, p, x, v, -2 * h);
    return (8 * near - far) / (12 * h);
}

/* Checks one tensor along its gradient and noise of the same size, of length 1. It allows 1e-6 relative, as fifth
 * derivatives of some thousand give with h^4, and 1e-10: the loss's rounding 5e-16 times 3 over h. */
static void check_tensor(Model *m, const Batch *b, const Param *p, const double *g,
                         const char *what, size_t *controls)
{
    double *v = memory_new(p->size, sizeof *v), norm = 0, length = 0, have = 0;
    for (size_t k = 0; k < p->size; k++) norm += g[k] * g[k] / (double)p->size;
    for (size_t k = 0; k < p->size; k++) {
        v[k] = g[k] + 0.5 * sqrt(norm) * random_normal(21, p->offset, k);
        length += v[k] * v[k];
    }
    for (size_t k = 0; k < p->size && length > 0; k++) v[k] /= sqrt(length);
    for (size_t k = 0; k < p->size; k++) have += g[k] * v[k];
    double *x = tiny_get(m, model_data(m), p->offset, p->size);
    double want = difference(m, b, p, x, v), allowed = 1e-6 * fabs(want) + 1e-10;
    if (!(fabs(have - want) <= allowed))
        fail_msg("%s: %s: gradient %.12g, differences %.12g", what, p->name, have, want);
    *controls += !(fabs(1.001 * have - want) <= allowed) || have == 0;
    memory_free(x);
    memory_free(v);
}

static void check_gradients(const Table *e, const Table *d, const BridgeOptions *o, size_t *tensors,
                            size_t *controls)
{
    char what[400];
    const Param *p;
    double mean;
    Model *m = model_of(pair_of(e, d, o), 0.1, 1);
    Batch b = tiny_batch_of(m);
    size_t n = model_params(m, &p);
    snprintf(what, sizeof what, "%s, %s", e->name, d->name);
    shake(m, 0.2, 1);
    assert_int_equal(model_gradient(m, &b, 17, &mean), 0);
    double *g = tiny_get(m, model_grad(m), 0, model_size(m));
    for (size_t i = 0; i < n; i++) check_tensor(m, &b, &p[i], g + p[i].offset, what, controls);
    *tensors += n;
    memory_free(g);
    model_free(m);
}

/* Gradients are right for every decoder, with each encoder in turn, as deep as its history, and for post-norm pairs.
 * The control: a gradient scaled by 1.001 fails. A zero gradient (the gain of a norm that reads zeros) passes in both
 * cases. */
TEST(gradients_agree_with_differences)
{
    size_t tensors = 0, controls = 0;
    for (size_t i = 0; i < decoders; i++) {
        const Table *d = decoder[i], *e = encoder[i % encoders];
        int depth = d->past_y > d->past_k ? d->past_y : d->past_k;
        BridgeOptions o = options(e->past_y || e->past_k || e->dense ? 2 : 1,
                                  depth || d->dense ? (size_t)depth + 1 : 1);
        check_gradients(e, d, &o, &tensors, &controls);
    }
    Table *e = named("macaron"), *d = named("macaron-decoder");
    BridgeOptions o = options(1, 1);
    o.norm = NORM_POST;
    check_gradients(e, d, &o, &tensors, &controls);
    table_free(e);
    table_free(d);
    assert_int_equal(controls, tensors);
    print_message("# %zu gradients checked, the control caught in %zu\n", tensors, controls);
}

/* ---- equal maps -------------------------------------------------------------------------------------- */

static int same_plans(const Plan *a, const Plan *b)
{
    int same = -1, back = -1;
    if (plan_same(a, b, &same) != 0 || plan_same(b, a, &back) != 0) fail_msg("%s", error_text());
    assert_int_equal(same, back);
    return same;
}

TEST(known_maps)
{
    static const struct {
        const char *e, *d;
        size_t above, below;
        const char *other_e, *other_d;
        size_t other_above, other_below;
        int norm, same;
    } list[] = {
        {"transformer", "transformer-decoder", 1, 2, "transformer", "word:scfscf", 1, 1, 0, 1},
        {"transformer", "transformer-decoder", 2, 1, "word:sfsf", "word:scf", 1, 1, 0, 1},
        {"transformer", "word:sf-decoder", 1, 1, "transformer", "word:scf", 1, 1, 0, 1},
        {"macaron", "macaron-decoder", 1, 1, "strang-marchuk", "strang-marchuk-decoder", 1, 1, 0,
         1},
        {"heun-layer", "rk2-unit-decoder", 1, 1, "heun-layer", "repeat:2-decoder", 1, 1, 0, 1},
        {"transformer", "looped:1-decoder", 1, 1, "lie-trotter", "lie-trotter-decoder", 1, 1, 0, 1},
        {"ab2", "ab2-decoder", 1, 1, "euler", "euler-decoder", 1, 1, 0, 1},
        {"transformer", "word:scfscf", 1, 1, "transformer", "transformer-decoder", 1, 2, 1, 1},
        {"transformer", "word:scf", 1, 1, "transformer", "word:csf", 1, 1, 0, 0},
        {"transformer", "word:scf", 1, 1, "transformer", "word:csf", 1, 1, 1, 0},
        {"transformer", "word:scf", 1, 1, "transformer", "word:sfc", 1, 1, 0, 0},
        {"macaron", "transformer-decoder", 1, 1, "transformer", "macaron-decoder", 1, 1, 0, 0},
        {"transformer", "transformer-decoder", 2, 1, "transformer", "transformer-decoder", 1, 2, 0,
         0},
        {"macaron", "transformer-decoder", 1, 1, "transformer", "transformer-decoder", 1, 1, 0, 0},
        {"transformer", "rk4-decoder", 1, 1, "transformer", "rk4-layer-decoder", 1, 1, 0, 0},
        {"transformer", "strang-decoder", 1, 1, "transformer", "macaron-decoder", 1, 1, 0, 0},
        {"transformer", "rk2-gate-decoder", 1, 1, "transformer", "heun-layer-decoder", 1, 1, 0, 0},
        {"rk2-gate", "heun-decoder", 1, 1, "rk2-tanh", "heun-decoder", 1, 1, 0, 0},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        BridgeOptions o = options(list[i].above, list[i].below);
        o.norm = list[i].norm ? NORM_POST : NORM_PRE;
        Plan *a = pair_named(list[i].e, list[i].d, &o);
        o.encoder_layers = list[i].other_above;
        o.layers = list[i].other_below;
        Plan *b = pair_named(list[i].other_e, list[i].other_d, &o);
        if (same_plans(a, b) != list[i].same)
            fail_msg("%s, %s and %s, %s: told %d", list[i].e, list[i].d, list[i].other_e,
                     list[i].other_d, !list[i].same);
        plan_free(a);
        plan_free(b);
    }
}

/* Makes a small pair. `how` changes the input of its keys or queries, or adds a second cross-attention. */
static Plan *small(int how)
{
    Plan *p = plan_new_pair(1, 1);
    int f = plan_slot(p, (PlanSlot){SLOT_ATTENTION, 0, 1, 0, SIDE_SOURCE});
    int self = plan_slot(p, (PlanSlot){SLOT_ATTENTION, 0, 1, 0, SIDE_TARGET});
    int c = plan_slot(p, (PlanSlot){SLOT_CROSS, 0, 1, 0, SIDE_TARGET});
    int k = plan_eval(p, f, 1, 0), h = plan_eval(p, self, 0, 1);
    int keys = plan_keys(p, c, how == 1 ? 1 : k); /* 1: keys of the encoder's input */
    if (how == 2) h = 0;                          /* 2: queries of the embedding */
    int x = plan_cross(p, c, h, keys, 2);
    p->output = how == 3 ? plan_cross(p, c, x, keys, 3) : x;
    return p;
}

TEST(registers_count)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            Plan *a = small(i), *b = small(j);
            assert_int_equal(plan_check(a), 0);
            assert_int_equal(same_plans(a, b), i == j);
            plan_free(a);
            plan_free(b);
        }
    Plan *a = small(0), *alone = tiny_residual();
    assert_int_equal(same_plans(a, alone), 0); /* one side against two */
    plan_free(a);
    plan_free(alone);
}

/* Multiplies the n-th number of a line by 1 + by, counted over all lines, those of the source first. Returns 0 past the
 * end. */
static int nudge(Plan *p, size_t n, double by)
{
    for (size_t i = 0; i < p->instrs; i++)
        for (size_t k = 0; p->instr[i].op == PLAN_LIN && k < p->instr[i].terms; k++)
            if (n-- == 0) {
                p->instr[i].term[k].c *= 1 + by;
                return 1;
            }
    return 0;
}

/* A folded pair is the same map. With one number of it off by 1e-6, on either side, it is another. */
TEST(folded_pairs)
{
    size_t nudged = 0;
    BridgeOptions o = options(2, 3);
    for (size_t i = 0; i < decoders; i++) {
        Plan *p = pair_of(encoder[i % encoders], decoder[i], &o), *folded;
        assert_int_equal(plan_fold(p, &folded), 0);
        assert_int_equal(plan_check(folded), 0);
        if (!same_plans(p, folded))
            fail_msg("%s, %s is not its folded self", encoder[i % encoders]->name,
                     decoder[i]->name);
        for (size_t n = 0; n < 400; n += 7) {
            Plan *q;
            assert_int_equal(plan_fold(p, &q), 0);
            int there = nudge(q, n, 1e-6);
            nudged += there && !same_plans(p, q);
            plan_free(q);
            if (!there) break;
        }
        plan_free(folded);
        plan_free(p);
    }
    assert_true(nudged > 8 * decoders);
}

static int same_slots(const Plan *a, const Plan *b)
{
    if (a->slots != b->slots || a->scalars != b->scalars || a->gates != b->gates) return 0;
    for (size_t i = 0; i < a->slots; i++) {
        const PlanSlot *s = &a->slot[i], *t = &b->slot[i];
        if (s->kind != t->kind || s->set != t->set || s->layer != t->layer || s->side != t->side)
            return 0;
    }
    return 1;
}

/* plan_same and the numbers agree about two pairs with the same sublayers: 1e-9 is rounding, 1e-6 is not. */
TEST(told_the_same_as_the_numbers)
{
    BridgeOptions o = options(1, 2);
    Model **m = calloc(decoders, sizeof *m);
    double **z = calloc(decoders, sizeof *z);
    size_t same = 0, different = 0;
    Table *e = named("transformer");
    assert_true(m && z);
    for (size_t i = 0; i < decoders; i++) {
        m[i] = model_of(pair_of(e, decoder[i], &o), 0, 0);
        shake(m[i], 0.3, 1);
        Batch b = tiny_batch_of(m[i]);
        z[i] = logits(m[i], &b);
    }
    for (size_t i = 0; i < decoders; i++)
        for (size_t j = 0; j < i; j++) {
            if (!same_slots(model_plan(m[i]), model_plan(m[j]))) continue;
            int told = same_plans(model_plan(m[i]), model_plan(m[j]));
            double d = relative_distance(z[i], z[j], ROWS * V);
            if (told ? !(d <= 1e-9) : !(d >= 1e-6))
                fail_msg("%s and %s: told %d, distance %g", decoder[i]->name, decoder[j]->name,
                         told, d);
            same += (size_t)told;
            different += (size_t)!told;
        }
    print_message("# %zu told the same, %zu different\n", same, different);
    assert_true(same >= 4 && different >= 100);
    for (size_t i = 0; i < decoders; i++) {
        memory_free(z[i]);
        model_free(m[i]);
    }
    free(m);
    free(z);
    table_free(e);
}

/* Substeps are two steps of half the size with a layer's weights, as written out on either side. */
TEST(substeps_are_smaller_steps)
{
    BridgeOptions o = options(1, 2);
    Plan *p = pair_named("looped:2", "x-halves", &o);
    o.substeps = 2;
    Plan *q = pair_named("transformer", "transformer-decoder", &o);
    assert_int_equal(same_plans(p, q), 1);
    o.substeps = 3;
    Plan *r = pair_named("transformer", "transformer-decoder", &o);
    assert_int_equal(same_plans(p, r), 0);
    plan_free(p);
    plan_free(q);
    plan_free(r);
}

static int job(void)
{
    BridgeOptions o = options(1, 2);
    Table *e = NULL, *d = NULL;
    Plan *p = NULL;
    for (size_t i = 0; i < encoders; i++)
        if (strcmp(encoder[i]->name, "rk2-gate") == 0) e = encoder[i];
    for (size_t i = 0; i < decoders; i++)
        if (strcmp(decoder[i]->name, "x-cross") == 0) d = decoder[i];
    int code = bridge_plan_pair(e, d, &o, &p);
    plan_free(p);
    return code;
}

TEST(short_of_memory)
{
    assert_true(fail_each(job, ERR_MEMORY) > 50);
}

TEST_MAIN(setup, teardown)
