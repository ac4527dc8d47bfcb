/* tiny.c: see tiny.h. */
#include "tests/lib/tiny.h"

#include "tests/lib/test.h"

#include "kernels/base/error.h"
#include "kernels/base/random.h"

#define LIN(p, ...) \
    plan_lin(p, sizeof((PlanTerm[]){__VA_ARGS__}) / sizeof(PlanTerm), (PlanTerm[]){__VA_ARGS__})

static PlanTerm term(double c, int x)
{
    return (PlanTerm){.c = c, .x = x};
}

/* Multiplies the term t by element e of scalar a; gated multiplies it by gate g. */
static PlanTerm scaled(PlanTerm t, int a, size_t e)
{
    t.factor[t.factors++] = (PlanFactor){FACTOR_SCALAR, a, e};
    return t;
}

static PlanTerm gated(PlanTerm t, int g)
{
    t.factor[t.factors++] = (PlanFactor){FACTOR_GATE, g, 0};
    return t;
}

static int attn(Plan *p, int layer, int set)
{
    return plan_slot(p, (PlanSlot){SLOT_ATTENTION, layer, set, 0});
}

static int ffn(Plan *p, int layer, int set)
{
    return plan_slot(p, (PlanSlot){SLOT_FEEDFORWARD, layer, set, TINY_INNER});
}

/* Adds a slot's k to y. */
static int plus(Plan *p, int slot, int y, int draw)
{
    int k = plan_eval(p, slot, y, draw);
    return LIN(p, term(1, y), term(1, k));
}

Plan *tiny_identity(int kind, int draw)
{
    Plan *p = plan_new(1);
    int slot = kind == SLOT_ATTENTION ? attn(p, 0, 1) : ffn(p, 0, 1);
    int k1 = plan_eval(p, slot, 0, 0), k2 = plan_eval(p, slot, 0, draw);
    p->output = LIN(p, term(1, k1), term(-1, k2), term(1, 0));
    return p;
}

Text tiny_placed(uint64_t seed, size_t tokens)
{
    Text t = {.file = memory_string("placed"), .tokens = tokens};
    t.id = memory_new(tokens, sizeof *t.id);
    for (size_t i = 0; i < tokens; i++) {
        int end = random_below(seed, 2, i, 8) == 0 && (i < 600 || i > 900);
        t.id[i] = end || i + 1 == tokens ? 0 : (int32_t)i + 1;
        t.lines += t.id[i] == 0;
    }
    return t;
}

Plan *tiny_residual(void)
{
    Plan *p = plan_new(1);
    int f = attn(p, 0, 1), g = ffn(p, 0, 1);
    p->output = plus(p, g, plus(p, f, 0, 0), 1);
    return p;
}

/* Makes Heun's method over H = F + G, with two evaluations of either slot. */
static Plan *shared(void)
{
    Plan *p = plan_new(1);
    int f = attn(p, 0, 1), g = ffn(p, 0, 1);
    int f1 = plan_eval(p, f, 0, 0), g1 = plan_eval(p, g, 0, 1);
    int x = LIN(p, term(1, 0), term(1, f1), term(1, g1));
    int f2 = plan_eval(p, f, x, 0), g2 = plan_eval(p, g, x, 2);
    p->output = LIN(p, term(1, 0), term(0.5, f1), term(0.5, g1), term(0.5, f2), term(0.5, g2));
    return p;
}

/* Makes a plan with learned scalars and gates, alone and multiplied, and a gate that reads one register
 * twice. */
static Plan *learned(void)
{
    Plan *p = plan_new(1);
    int f = attn(p, 0, 1), g = ffn(p, 0, 1), g2 = ffn(p, 0, 2);
    int a = plan_scalar(p, SIDE_TARGET, 0, "a", 2, 0.7);
    int k1 = plan_eval(p, f, 0, 0), k2 = plan_eval(p, g, k1, 1);
    int u = plan_gate(p, SIDE_TARGET, 0, "u", ACT_SIGMOID, 2, (int[]){k1, k2});
    int v = plan_gate(p, SIDE_TARGET, 0, "v", ACT_TANH, 2, (int[]){0, 0});
    int x = LIN(p, scaled(term(1, 0), a, 0), gated(scaled(term(-0.5, k1), a, 1), u),
                gated(term(2, k2), v));
    int k3 = plan_eval(p, g2, x, 2);
    p->output = LIN(p, term(1, x), term(1, k3), scaled(gated(gated(term(0.3, 0), u), v), a, 0),
                    scaled(scaled(term(-0.3, k1), a, 1), a, 1));
    return p;
}

/* Makes four layers that read states and slopes of earlier layers, a register that nobody reads, one that
 * a line reads twice, and a line of no terms. */
static Plan *history(void)
{
    Plan *p = plan_new(4);
    int y[5] = {0}, k[4];
    for (int l = 0; l < 4; l++) {
        int slot = l % 2 ? ffn(p, l, 1) : attn(p, l, 1);
        k[l] = plan_eval(p, slot, y[l], l);
        y[l + 1] = l == 0 ? LIN(p, term(1, y[0]), term(1, k[0]))
                          : LIN(p, term(0.5, y[l]), term(0.5, y[l - 1]), term(1.5, k[l]),
                                term(-0.5, k[l - 1]), term(0.25, k[l]));
    }
    LIN(p, term(1, y[2]), term(1, k[3]));
    int nothing = plan_lin(p, 0, NULL);
    p->output = LIN(p, term(1, y[4]), term(0.1, k[0]), term(1, nothing));
    return p;
}

/* Returns LN(y + c k). k is a slot's. */
static int post_step(Plan *p, int slot, int y, double c, int draw)
{
    int k = plan_eval(p, slot, y, draw);
    return plan_norm(p, slot, LIN(p, term(1, y), term(c, k)));
}

/* Makes a plan with norms after the sums, one of them used twice, and a state that is read again
 * later. */
static Plan *post(void)
{
    Plan *p = plan_new(1);
    int f = attn(p, 0, 1), g = ffn(p, 0, 1);
    p->post = 1;
    int x = post_step(p, f, 0, 1, 0);
    int z = post_step(p, g, x, 0.5, 1);
    int k = plan_eval(p, f, z, 2);
    p->output = plan_norm(p, f, LIN(p, term(1, z), term(0.5, x), term(1, k)));
    return p;
}

/* Makes a sublayer of a sublayer: EVAL reads registers that EVAL wrote. */
static Plan *nested(void)
{
    Plan *p = plan_new(1);
    int f = attn(p, 0, 1), g = ffn(p, 0, 1);
    int k1 = plan_eval(p, f, 0, 0), k2 = plan_eval(p, g, k1, 1), k3 = plan_eval(p, f, k2, 2);
    p->output = LIN(p, term(1, k3), term(1, k2), term(1, 0));
    return p;
}

/* Makes a plan whose lines read registers before a sublayer or a gate does. */
static Plan *late(void)
{
    Plan *p = plan_new(1);
    int f = attn(p, 0, 1), g = ffn(p, 0, 1);
    int a = plan_scalar(p, SIDE_TARGET, 0, "a", 1, 0.7);
    int k1 = plan_eval(p, f, 0, 0);
    int x = LIN(p, scaled(term(1, 0), a, 0), term(1, k1));
    int z = LIN(p, term(0.5, x), term(0.5, 0), term(0.25, x));
    int k2 = plan_eval(p, g, x, 1), k3 = plan_eval(p, g, 0, 2), k4 = plan_eval(p, f, z, 3);
    int w = LIN(p, term(1, z), term(0.5, k4), scaled(term(1, k1), a, 0));
    int u = plan_gate(p, SIDE_TARGET, 0, "u", ACT_TANH, 2, (int[]){z, k1});
    p->output = LIN(p, term(1, w), term(1, k2), gated(term(1, k3), u), term(-0.5, x));
    return p;
}

static int slot_of(Plan *p, int side, int kind, int layer)
{
    size_t inner = kind == SLOT_FEEDFORWARD ? TINY_INNER : 0;
    return plan_slot(p, (PlanSlot){kind, layer, 1, inner, side});
}

/* Returns y + k1 / 2 + k2 / 2. k1 and k2 are cross-attention at y and at y + k1, with the keys of one
 * KEYS. */
static int heun_cross(Plan *p, int slot, int y, int keys, int draw)
{
    int k1 = plan_cross(p, slot, y, keys, draw);
    int k2 = plan_cross(p, slot, LIN(p, term(1, y), term(1, k1)), keys, draw + 1);
    return LIN(p, term(1, y), term(0.5, k1), term(0.5, k2));
}

/* Makes a layer of an encoder with a learned scalar and a gate, and of a decoder: attention, Heun's
 * method over cross-attention, the network, and another layer's cross-attention with other keys. */
static Plan *pair(void)
{
    Plan *p = plan_new_pair(1, 2);
    int a = plan_scalar(p, SIDE_SOURCE, 0, "a", 1, 0.7);
    int k = plan_eval(p, slot_of(p, SIDE_SOURCE, SLOT_ATTENTION, 0), 1, 0);
    int x = LIN(p, term(1, 1), scaled(term(1, k), a, 0));
    int k2 = plan_eval(p, slot_of(p, SIDE_SOURCE, SLOT_FEEDFORWARD, 0), x, 1);
    int u = plan_gate(p, SIDE_SOURCE, 0, "u", ACT_SIGMOID, 2, (int[]){k, k2});
    int y = LIN(p, term(1, x), gated(term(1, k2), u));
    int memory = plan_norm(p, slot_of(p, SIDE_SOURCE, SLOT_NORM, 0), y);
    int c[2], keys[2];
    for (int l = 0; l < 2; l++) {
        c[l] = slot_of(p, SIDE_TARGET, SLOT_CROSS, l);
        keys[l] = plan_keys(p, c[l], memory);
    }
    int h = plus(p, slot_of(p, SIDE_TARGET, SLOT_ATTENTION, 0), 0, 2);
    h = heun_cross(p, c[0], h, keys[0], 3);
    h = plus(p, slot_of(p, SIDE_TARGET, SLOT_FEEDFORWARD, 0), h, 5);
    int last = plan_cross(p, c[1], h, keys[1], 6);
    int v = plan_gate(p, SIDE_TARGET, 1, "v", ACT_TANH, 2, (int[]){h, last});
    p->output = LIN(p, term(1, h), term(1, last), gated(term(1, h), v));
    return p;
}

/* Adds a slot's k to y, under the slot's norm in a post plan. keys < 0: it is no cross-attention. */
static int residual(Plan *p, int slot, int y, int keys, int draw)
{
    int k = keys < 0 ? plan_eval(p, slot, y, draw) : plan_cross(p, slot, y, keys, draw);
    int sum = LIN(p, term(1, y), term(1, k));
    return p->post ? plan_norm(p, slot, sum) : sum;
}

Plan *tiny_transformer(int post)
{
    Plan *p = plan_new_pair(1, 1);
    p->post = post;
    int x = residual(p, slot_of(p, SIDE_SOURCE, SLOT_ATTENTION, 0), 1, -1, 0);
    int memory = residual(p, slot_of(p, SIDE_SOURCE, SLOT_FEEDFORWARD, 0), x, -1, 1);
    if (!post) memory = plan_norm(p, slot_of(p, SIDE_SOURCE, SLOT_NORM, 0), memory);
    int c = slot_of(p, SIDE_TARGET, SLOT_CROSS, 0), keys = plan_keys(p, c, memory);
    int h = residual(p, slot_of(p, SIDE_TARGET, SLOT_ATTENTION, 0), 0, -1, 2);
    h = residual(p, c, h, keys, 3);
    p->output = residual(p, slot_of(p, SIDE_TARGET, SLOT_FEEDFORWARD, 0), h, -1, 4);
    return p;
}

static Plan *pair_post(void)
{
    return tiny_transformer(1);
}

#define ONE_SIDE                                                                                 \
    {"residual", tiny_residual}, {"shared", shared}, {"learned", learned}, {"history", history}, \
        {"nested", nested}, {"late", late},                                                      \
    {                                                                                            \
        "post", post                                                                             \
    }
#define TWO_SIDES               \
    {"pair", pair},             \
    {                           \
        "pair, post", pair_post \
    }

const TinyPlan tiny_plans[] = {ONE_SIDE, {NULL, NULL}};
const TinyPlan tiny_pairs[] = {TWO_SIDES, {NULL, NULL}};
const TinyPlan tiny_all[] = {ONE_SIDE, TWO_SIDES, {NULL, NULL}};

const TinyHead tiny_heads[] = {{1, 0, 0}, {1, 2, 2}, {0, 3, 0}, {0, 2, 2}, {0, 1, 2}, {0, 0, 0}};

Plan *tiny_encoder(Plan *p)
{
    if (p) p->bidirectional = 1;
    return p;
}

ModelConfig tiny_head_config(ModelConfig c, const TinyHead *h)
{
    c.masked = h->masked;
    c.classes = h->classes;
    c.segments = h->segments;
    return c;
}

const TinyEnds tiny_ends[] = {
    {"adaptive", 1, 0, 0, {0, 0, 0}},        {"adaptive, untied", 1, 1, 0, {0, 0, 0}},
    {"masked", 0, 0, 0, {1, 0, 0}},          {"masked, smoothed", 0, 0, 0.3, {1, 0, 0}},
    {"masked, classes", 0, 0, 0, {1, 2, 2}}, {"classes", 0, 0, 0, {0, 3, 0}},
    {"a number", 0, 0, 0, {0, 1, 2}},        {0},
};

ModelConfig tiny_ends_config(const TinyEnds *e)
{
    ModelConfig c = tiny_head_config(tiny_config(), &e->head);
    c.untied = e->untied;
    c.smoothing = e->smoothing;
    c.tails = e->adaptive ? 2 : 0;
    c.cut[0] = 4, c.cut[1] = 7;
    c.factor = 2;
    return c;
}

Plan *tiny_ends_plan(const TinyEnds *e)
{
    return e->adaptive ? tiny_residual() : tiny_encoder(tiny_residual());
}

ModelConfig tiny_config(void)
{
    return (ModelConfig){.vocab = TINY_VOCAB,
                         .width = TINY_WIDTH,
                         .heads = TINY_HEADS,
                         .positions = POSITIONS_SINUSOID | POSITIONS_RELATIVE,
                         .clip = 2,
                         .act = ACT_GELU,
                         .dropout = 0.2,
                         .max_tokens = TINY_ROWS + 3,
                         .max_length = 7,
                         .max_source = TINY_ROWS + 1,
                         .max_source_length = 7,
                         .seed = 11};
}

ModelConfig tiny_today(void)
{
    return TINY_WITH(c.norm = NORM_RMS, c.norm_eps = 1e-3, c.act = ACT_SWIGLU,
                     c.positions = POSITIONS_ROTARY, c.kv_heads = 1);
}

ModelConfig tiny_latest(const Plan *plan)
{
    ModelConfig c = tiny_today();
    c.no_bias = NO_BIAS;
    if (plan->sides == 1) c.head_width = 6, c.head_norm = 1;
    return c;
}

Batch tiny_batch(void)
{
    static size_t start[] = {0, 5, 6, TINY_ROWS};
    static int32_t input[TINY_ROWS] = {0, 3, 3, 9, 1, 0, 0, 10, 4, 5, 6, 3, 2};
    static int32_t target[TINY_ROWS] = {3, 3, 9, 1, 0, 7, 10, 4, 5, 6, 3, 2, 8};
    static int32_t position[TINY_ROWS] = {0, 1, 2, 3, 4, 0, 0, 1, 2, 3, 4, 5, 6};
    return (Batch){.N = TINY_ROWS,
                   .S = 3,
                   .longest = 7,
                   .input = input,
                   .target = target,
                   .position = position,
                   .start = start};
}

Batch tiny_asked(const ModelConfig *c)
{
    static int32_t row[TINY_MASKED] = {1, 3, 4, 7, 12}, word[TINY_MASKED] = {5, 2, 0, 10, 5};
    static int32_t segment[TINY_ROWS] = {0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1},
                   label[] = {1, 0, 1};
    static double value[] = {0.3, -1.25, 2};
    Batch b = tiny_batch();
    b.target = NULL;
    b.asked.masked = c->masked;
    b.asked.count = c->masked ? TINY_MASKED : 0;
    b.asked.row = row;
    b.asked.word = word;
    if (c->segments) b.asked.segment = segment;
    if (c->classes > 1) b.asked.label = label;
    if (c->classes == 1) b.asked.value = value;
    b.asked.weight = (double)b.asked.count / (double)b.S;
    return b;
}

Batch tiny_batch_of(const Model *m)
{
    static size_t start[] = {0, 4, 11, TINY_SOURCE};
    static int32_t input[TINY_SOURCE] = {5, 1, 8, 0, 2, 2, 7, 10, 6, 4, 0, 9};
    static int32_t position[TINY_SOURCE] = {0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 0};
    Batch b = tiny_batch();
    if (model_plan(m)->bidirectional) return tiny_asked(model_config(m));
    if (model_plan(m)->sides == 1) return b;
    b.source.N = TINY_SOURCE;
    b.source.longest = 7;
    b.source.input = input;
    b.source.position = position;
    b.source.start = start;
    return b;
}

/* Puts another word for every word into `to`, so that each cluster of words has other rows. Returns NULL
 * for NULL. */
static int32_t *others(const int32_t *word, size_t n, int32_t *to)
{
    for (size_t i = 0; word && i < n; i++) to[i] = (word[i] * 7 + 3) % TINY_VOCAB;
    return word ? to : NULL;
}

Batch tiny_batch_as(const Model *m, char which)
{
    static int32_t input[TINY_ROWS], target[TINY_ROWS], row[] = {0, 5, 8}, word[] = {9, 0, 6};
    Batch b = tiny_batch_of(m);
    if (which == 'b') {
        b.S = 2, b.N = b.start[2];
        if (b.source.N) b.source.N = b.source.start[2];
        while (b.asked.count && (size_t)b.asked.row[b.asked.count - 1] >= b.N) b.asked.count--;
    } else if (which == 'c') {
        b.input = others(b.input, b.N, input);
        b.target = others(b.target, b.N, target);
        if (b.asked.count) b.asked.row = row, b.asked.word = word, b.asked.count = 3;
    }
    b.asked.weight = (double)b.asked.count / (double)b.S;
    return b;
}

Batch tiny_one(const Batch *b, size_t s, size_t start[2 * SIDES])
{
    size_t at = b->start[s], n = b->start[s + 1] - at;
    Batch one = {.N = n,
                 .S = 1,
                 .longest = n,
                 .input = b->input + at,
                 .target = b->target + at,
                 .position = b->position + at,
                 .start = start};
    start[0] = start[2] = start[3] = 0;
    start[1] = n;
    if (b->source.N == 0) return one;
    at = b->source.start[s];
    one.source.N = one.source.longest = start[3] = b->source.start[s + 1] - at;
    one.source.input = b->source.input + at;
    one.source.position = b->source.position + at;
    one.source.start = start + 2;
    return one;
}

double *tiny_get(const Model *m, const void *x, size_t at, size_t n)
{
    const Backend *b = model_backend(m);
    double *host = memory_new(n, sizeof *host);
    if (host) b->get(host, backend_at(b, x, at), n);
    return host;
}

int tiny_same(const Model *m, const void *x, const Model *r, const void *y)
{
    size_t n = model_size(m);
    double *a = tiny_get(m, x, 0, n), *b = tiny_get(r, y, 0, n);
    int same = a && b && memcmp(a, b, n * sizeof *a) == 0;
    memory_free(a);
    memory_free(b);
    return same;
}

double *tiny_logits(Model *m, const Batch *b)
{
    double *z = memory_new(b->N * model_config(m)->vocab, sizeof *z);
    assert_non_null(z);
    assert_int_equal(model_logits(m, b, z), 0);
    return z;
}

double *tiny_gradient(Model *m)
{
    return tiny_get(m, model_grad(m), 0, model_size(m));
}

double *tiny_numbers(Model *m)
{
    return tiny_get(m, model_data(m), 0, model_size(m));
}

double *tiny_tensor(Model *m, const char *name)
{
    const Param *p = model_find(m, name);
    return p ? tiny_get(m, model_data(m), p->offset, p->size) : NULL;
}

void tiny_shake(Model *m, uint64_t seed)
{
    size_t n = model_size(m);
    double *x = tiny_get(m, model_data(m), 0, n);
    for (size_t i = 0; x && i < n; i++) x[i] += 0.3 * random_normal(seed, 1, i);
    if (x) model_backend(m)->put(model_data(m), x, n);
    memory_free(x);
}

const char *tiny_spell(const Vocab *v, const Text *t)
{
    static char text[1 << 16];
    char *p = text;
    *p = '\0';
    for (size_t i = 0; i < t->tokens; i++) p += sprintf(p, i ? " %s" : "%s", v->word[t->id[i]]);
    return text;
}

int tiny_same_text(const Text *a, const Text *b)
{
    return a->tokens == b->tokens && a->lines == b->lines &&
           memcmp(a->id, b->id, a->tokens * sizeof *a->id) == 0;
}

Corpus tiny_open(const char *name, CorpusChoice w)
{
    Corpus c;
    if (corpus_choose(name, &w, &c) != 0) fail_msg("%s", error_text());
    return c;
}

void tiny_opens(const char *name, CorpusChoice w)
{
    OWN_CORPUS c = tiny_open(name, w);
    assert_non_null(c.name);
}

void tiny_refuse(const char *name, CorpusChoice w, const char *words)
{
    Corpus c;
    size_t live = memory_live();
    assert_int_equal(corpus_choose(name, &w, &c), ERR_INPUT);
    if (!strstr(error_text(), words)) fail_msg("%s, not %s", error_text(), words);
    assert_true(!c.name && !c.bpe && memory_live() == live);
}
