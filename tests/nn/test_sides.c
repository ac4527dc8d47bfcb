/* test_sides.c: an encoder with its decoder: against a second reading in plain loops, which rows read which sources,
 * keys made once, sublayers that give zero, and refusals; on every backend. */
#include "tests/lib/test.h"

#include "nn/run/pass.h"
#include "tests/lib/models.h"
#include "tests/lib/plain.h"

enum { SOURCE = TINY_SOURCE };

static double *logits(Model *m, const Batch *b)
{
    double *z = memory_new(b->N * V, sizeof *z);
    assert_non_null(z);
    assert_int_equal(model_logits(m, b, z), 0);
    return z;
}

/* Returns the rounding. A chain has twice as many products as in test_model.c, where the number comes from. */
static double rounding(const Backend *b)
{
    double elements = 4e4 * (b->size == 4 ? 0x1p-24 : 0x1p-53);
    return b->eps > 0x1p-20 ? 160 * b->eps : elements;
}

/* ---- a second reading ----------------------------------------------------------------------------- */

static double apart(Model *m, const Batch *b, const double *z, int wrong)
{
    double plain[N * V];
    plain_pair_logits(m, b, wrong, plain);
    return distance(z, plain, b->N * V);
}

/* Makes variant v: post or not, untied or not, either activation. */
static Model *transformer(const char *name, int v)
{
    ModelConfig c = tiny_config();
    c.untied = v >> 1 & 1;
    c.act = v & 4 ? ACT_RELU : ACT_GELU;
    return shaken(name, c, tiny_transformer(v & 1), 0);
}

TEST(agrees_with_plain_loops)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (int v = 0; v < 8; v++) {
            Model *m = transformer(tested_backend(i), v);
            Batch b = tiny_batch_of(m);
            double *z = logits(m, &b);
            assert_true(apart(m, &b, z, PAIR_RIGHT) <= rounding(model_backend(m)));
            set_tensor(m, "decoder.layers.0.cross.1.kv.weight", 1); /* one changed tensor is seen */
            assert_false(apart(m, &b, z, PAIR_RIGHT) <= rounding(model_backend(m)));
            memory_free(z);
            model_free(m);
        }
}

/* Each mistake is far from rounding. */
TEST(mistakes_are_seen)
{
    for (int v = 0; v < 8; v++)
        for (int wrong = PAIR_RIGHT + 1; wrong < PAIR_WRONGS; wrong++) {
            Model *m = transformer("cpu-f64", v);
            Batch b = tiny_batch_of(m);
            double *z = logits(m, &b), e = apart(m, &b, z, wrong);
            int none = wrong == PAIR_BARE_MEMORY && model_plan(m)->post; /* nothing to leave out */
            if (none ? !(e <= rounding(model_backend(m))) : !(e > 1e-2))
                fail_msg("variant %d, mistake %d: %g", v, wrong, e);
            memory_free(z);
            model_free(m);
        }
}

/* Rows of one side in place of the other's, of which there are as many, are seen. */
TEST(exchanged_sides_are_seen)
{
    int32_t word[N] = {5, 1, 8, 0, 2, 2, 7, 10, 6, 4, 0, 9, 3};
    for (int v = 0; v < 2; v++) {
        Model *m = transformer("cpu-f64", v);
        Batch b = tiny_batch();
        b.source.N = b.N;
        b.source.longest = b.longest;
        b.source.input = word;
        b.source.position = b.position;
        b.source.start = b.start;
        double *z = logits(m, &b);
        assert_true(apart(m, &b, z, PAIR_RIGHT) <= rounding(model_backend(m)));
        b.source.input = b.input;
        b.input = word;
        assert_true(apart(m, &b, z, PAIR_RIGHT) > 1e-2);
        memory_free(z);
        model_free(m);
    }
}

/* ---- readers of a source -------------------------------------------------------------------------- */

/* Any token of a source, the last too, changes all rows of its sequence, and no bit of another. */
TEST(a_source_reaches_its_own_sequence)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_pairs; p->name; p++) {
            Model *m = shaken(tested_backend(i), tiny_config(), p->build(), 0);
            Batch b = tiny_batch_of(m);
            int32_t *word = b.source.input, changed[SOURCE];
            double *z = logits(m, &b);
            for (size_t s = 0; s < b.S; s++)
                for (size_t r = b.source.start[s]; r < b.source.start[s + 1]; r++) {
                    memcpy(changed, word, sizeof changed);
                    changed[r] = 3; /* nowhere in the source */
                    b.source.input = changed;
                    double *w = logits(m, &b);
                    for (size_t k = 0; k < N; k++)
                        if (k >= b.start[s] && k < b.start[s + 1])
                            assert_true(distance(z + k * V, w + k * V, V) > 1e-4);
                        else
                            assert_memory_equal(z + k * V, w + k * V, V * sizeof *z);
                    memory_free(w);
                }
            memory_free(z);
            model_free(m);
        }
}

/* Sequences order[0], order[1], ... of a batch, in arrays of the caller. */
typedef struct {
    int32_t word[SIDES][N], place[SIDES][N], target[N];
    size_t start[SIDES][N + 1];
} Packed;

static Batch pack(const Batch *b, size_t S, const size_t *order, Packed *k)
{
    size_t n[SIDES] = {0};
    k->start[SIDE_TARGET][0] = k->start[SIDE_SOURCE][0] = 0;
    for (size_t s = 0; s < S; s++) {
        for (size_t r = b->start[order[s]]; r < b->start[order[s] + 1]; r++) {
            k->word[SIDE_TARGET][n[SIDE_TARGET]] = b->input[r];
            k->target[n[SIDE_TARGET]] = b->target[r];
            k->place[SIDE_TARGET][n[SIDE_TARGET]++] = b->position[r];
        }
        for (size_t r = b->source.start[order[s]]; r < b->source.start[order[s] + 1]; r++) {
            k->word[SIDE_SOURCE][n[SIDE_SOURCE]] = b->source.input[r];
            k->place[SIDE_SOURCE][n[SIDE_SOURCE]++] = b->source.position[r];
        }
        for (int side = 0; side < SIDES; side++) k->start[side][s + 1] = n[side];
    }
    Batch out = {.N = n[SIDE_TARGET],
                 .S = S,
                 .longest = b->longest,
                 .input = k->word[SIDE_TARGET],
                 .target = k->target,
                 .position = k->place[SIDE_TARGET],
                 .start = k->start[SIDE_TARGET]};
    out.source.N = n[SIDE_SOURCE];
    out.source.longest = b->source.longest;
    out.source.input = k->word[SIDE_SOURCE];
    out.source.position = k->place[SIDE_SOURCE];
    out.source.start = k->start[SIDE_SOURCE];
    return out;
}

/* Checks that sequences alone, by twos and in every order have the logits that they have in the batch, up to a limit
 * (0: the same bits). The control: with the sources of others they do not. */
static void check_company(Model *m, double limit)
{
    static const size_t order[][3] = {{0},       {1},       {2},       {0, 1},    {1, 0},
                                      {1, 2},    {2, 1},    {0, 2},    {2, 0},    {0, 1, 2},
                                      {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const size_t count[] = {1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3};
    Batch b = tiny_batch_of(m);
    double *z = logits(m, &b), *w;
    Packed packed;
    for (size_t k = 0; k < sizeof count / sizeof *count; k++) {
        Batch other = pack(&b, count[k], order[k], &packed);
        w = logits(m, &other);
        for (size_t s = 0; s < count[k]; s++) {
            const double *x = z + b.start[order[k][s]] * V, *y = w + other.start[s] * V;
            size_t n = (other.start[s + 1] - other.start[s]) * V;
            if (limit == 0) assert_memory_equal(x, y, n * sizeof *x);
            assert_true(distance(x, y, n) <= limit);
        }
        memory_free(w);
    }
    Batch other = pack(&b, 3, (const size_t[]){1, 2, 0}, &packed);
    other.source = b.source;
    w = logits(m, &other);
    assert_true(distance(z + b.start[1] * V, w, V) > fmax(1e-3, limit));
    memory_free(w);
    memory_free(z);
}

/* Other sequences of a batch do not matter: bit for bit in f64, elsewhere up to the order of a product's sums. */
TEST(the_company_does_not_matter)
{
    for (const TinyPlan *p = tiny_pairs; p->name; p++)
        for (size_t i = 0; tested_backend(i); i++) {
            Model *m = shaken(tested_backend(i), tiny_config(), p->build(), 0);
            int f64 = strcmp(tested_backend(i), "cpu-f64") == 0;
            check_company(m, f64 ? 0 : rounding(model_backend(m)));
            model_free(m);
        }
}

/* ---- keys ----------------------------------------------------------------------------------------- */

static PlanTerm times(double c, int x)
{
    return (PlanTerm){.c = c, .x = x};
}

/* Makes Heun's method over cross-attention to the source's embedding: two EVALs of one slot with the keys of one KEYS,
 * or of two slots. */
static Plan *heun(int slots)
{
    Plan *p = plan_new_pair(1, 1);
    int f = plan_slot(p, (PlanSlot){SLOT_ATTENTION, 0, 1, 0, SIDE_SOURCE}), c[2], keys[2];
    int memory = plan_eval(p, f, 1, 0);
    for (int s = 0; s < slots; s++) {
        c[s] = plan_slot(p, (PlanSlot){SLOT_CROSS, 0, 1 + s, 0, SIDE_TARGET});
        keys[s] = plan_keys(p, c[s], memory);
    }
    int k1 = plan_cross(p, c[0], 0, keys[0], 1);
    int y = plan_lin(p, 2, (PlanTerm[]){times(1, 0), times(1, k1)});
    int k2 = plan_cross(p, c[slots - 1], y, keys[slots - 1], 2);
    p->output = plan_lin(p, 3, (PlanTerm[]){times(1, 0), times(0.5, k1), times(0.5, k2)});
    return p;
}

/* Copies every tensor of m from the one of r, cross.2 from cross.1. */
static void copy_tensors(Model *m, Model *r)
{
    const Param *list;
    size_t params = model_params(m, &list);
    for (size_t i = 0; i < params; i++) {
        char name[sizeof list->name];
        memcpy(name, list[i].name, sizeof name);
        char *set = strstr(name, "cross.2");
        if (set) memcpy(set, "cross.1", 7);
        double *x = tiny_tensor(r, name);
        assert_non_null(x);
        const Backend *b = model_backend(m);
        b->put(backend_at(b, model_data(m), list[i].offset), x, list[i].size);
        memory_free(x);
    }
}

static double *gradient_of(Model *m, const char *name)
{
    const Param *p = model_find(m, name);
    assert_non_null(p);
    return tiny_get(m, model_grad(m), p->offset, p->size);
}

/* Returns the largest |g - (g1 + g2)| over the tensors' norms. g is of one slot; for two slots it takes cross.1 and
 * cross.2 together. */
static double gradients_apart(Model *one, Model *two)
{
    const Param *list;
    double most = 0;
    size_t params = model_params(one, &list);
    for (size_t i = 0; i < params; i++) {
        char name[sizeof list->name];
        memcpy(name, list[i].name, sizeof name);
        double *g = gradient_of(one, name), *h = gradient_of(two, name), norm = 0, error = 0;
        char *set = strstr(name, "cross.1");
        if (set) memcpy(set, "cross.2", 7);
        double *more = set ? gradient_of(two, name) : NULL;
        for (size_t k = 0; k < list[i].size; k++) {
            norm += g[k] * g[k];
            error += pow(g[k] - h[k] - (more ? more[k] : 0), 2);
        }
        assert_true(norm > 1e-8);
        most = farther(most, sqrt(error / norm));
        memory_free(g);
        memory_free(h);
        memory_free(more);
    }
    return most;
}

/* Two EVALs read the keys of one KEYS. Products are the same in the same order except in sums of gradients: 1e-13 is
 * 450 roundings. */
TEST(two_evals_read_the_keys_of_one)
{
    Model *one = shaken("cpu-f64", tiny_config(), heun(1), 1);
    Model *two = shaken("cpu-f64", tiny_config(), heun(2), 1);
    Batch b = tiny_batch_of(one);
    double mean[2];
    copy_tensors(two, one);
    double *z = logits(one, &b), *w = logits(two, &b);
    assert_true(relative_distance(z, w, N * V) <= 1e-13);
    assert_int_equal(model_gradient(one, &b, 4, &mean[0]), 0);
    assert_int_equal(model_gradient(two, &b, 4, &mean[1]), 0);
    assert_true(fabs(mean[0] - mean[1]) <= 1e-13 * mean[0]);
    assert_true(gradients_apart(one, two) <= 1e-12);
    memory_free(w);
    double *x = tiny_tensor(one, "decoder.layers.0.cross.1.kv.weight");
    const Param *p = model_find(two, "decoder.layers.0.cross.2.kv.weight");
    x[0] += 1e-6; /* control: other keys for the second */
    model_backend(two)->put(backend_at(model_backend(two), model_data(two), p->offset), x, p->size);
    w = logits(two, &b);
    assert_false(relative_distance(z, w, N * V) <= 1e-13);
    assert_int_equal(model_gradient(two, &b, 4, &mean[1]), 0);
    assert_false(gradients_apart(one, two) <= 1e-12);
    memory_free(x);
    memory_free(z);
    memory_free(w);
    model_free(one);
    model_free(two);
}

/* ---- sublayers that give zero ---------------------------------------------------------------------- */

/* Sets to zero the last matrix and bias of the sublayers whose names begin so. */
static void set_zero(Model *m, const char *begin)
{
    const Param *list;
    size_t params = model_params(m, &list), done = 0;
    for (size_t i = 0; i < params; i++) {
        if (strncmp(list[i].name, begin, strlen(begin)) != 0) continue;
        if (!strstr(list[i].name, ".out.") && !strstr(list[i].name, ".down.")) continue;
        set_tensor(m, list[i].name, 0);
        done++;
    }
    assert_true(done >= 2);
}

/* Computes logits z of the embedding under the final norm and the output's matrix. */
static void embedding_logits(Model *m, const Batch *b, double *z)
{
    double *emb = tiny_tensor(m, "embed.weight"), *w = tiny_tensor(m, "final_norm.weight");
    double *bias = tiny_tensor(m, "final_norm.bias"), y[N][D], x[D];
    for (size_t s = 0; s < b->S; s++) {
        int n = (int)(b->start[s + 1] - b->start[s]);
        plain_embed(emb, n, b->input + b->start[s], y);
        for (int i = 0; i < n; i++) {
            plain_norm(w, bias, y[i], x);
            plain_affine(V, D, emb, NULL, x, z + (b->start[s] + (size_t)i) * V);
        }
    }
    memory_free(emb);
    memory_free(w);
    memory_free(bias);
}

/* A decoder that adds nothing leaves its embedding, whatever the source. An encoder that adds nothing gives keys of its
 * embedding. */
TEST(zero_sublayers_are_the_identity)
{
    double x[2 * N * D], y[N * D], bare[N * V];
    for (int i = 0; i < 2 * N * D; i++) x[i] = (float)sin(i + 1); /* exact in either type */
    for (size_t i = 0; tested_backend(i); i++) {
        Model *m = transformer(tested_backend(i), 0);
        double limit = rounding(model_backend(m));
        Batch b = tiny_batch_of(m);
        double *z = logits(m, &b);
        assert_false(apart(m, &b, z, PAIR_KEYS_OF_INPUT) <= limit);
        set_zero(m, "encoder.");
        double *w = logits(m, &b);
        assert_true(apart(m, &b, w, PAIR_KEYS_OF_INPUT) <= limit);
        memory_free(z);
        memory_free(w);
        assert_int_equal(model_run_plan(m, N, x, y), 0);
        assert_memory_not_equal(x, y, sizeof y);
        set_zero(m, "decoder.");
        assert_int_equal(model_run_plan(m, N, x, y), 0);
        assert_memory_equal(x, y, sizeof y);
        z = logits(m, &b);
        embedding_logits(m, &b, bare);
        assert_true(distance(z, bare, N * V) <= limit);
        b.source.input = (int32_t[SOURCE]){0};
        w = logits(m, &b);
        assert_memory_equal(z, w, N * V * sizeof *z);
        memory_free(z);
        memory_free(w);
        model_free(m);
    }
}

/* Only cross-attention carries the source. Without it no bit of the logits comes from there, and no gradient goes
 * back. */
TEST(the_source_comes_by_cross_attention)
{
    int32_t word[SOURCE] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 1};
    for (size_t i = 0; tested_backend(i); i++)
        for (int zero = 0; zero < 2; zero++)
            for (int post = 0; post < 2; post++) {
                Model *m = shaken(tested_backend(i), tiny_config(), tiny_transformer(post), 1);
                double mean, norm = 0;
                if (zero) set_zero(m, "decoder.layers.0.cross.1");
                Batch b = tiny_batch_of(m), other = b;
                other.source.input = word;
                double *z = logits(m, &b), *w = logits(m, &other);
                assert_int_equal(memcmp(z, w, N * V * sizeof *z) == 0, zero);
                assert_int_equal(model_gradient(m, &b, 1, &mean), 0);
                double *g = gradient_of(m, "encoder.layers.0.attn.1.qkv.weight");
                for (size_t k = 0; k < 3 * D * D; k++) norm += g[k] * g[k];
                assert_int_equal(norm == 0, zero);
                memory_free(g);
                memory_free(z);
                memory_free(w);
                model_free(m);
            }
}

/* The transformer is its sublayers one at a time. Cross-attention alone reads x and what KEYS reads. */
TEST(sublayers_make_the_pair)
{
    static const int order[] = {SLOT_ATTENTION, SLOT_CROSS, SLOT_FEEDFORWARD};
    double x[2 * N * D], y[N * D], k[N * D], in[2 * N * D];
    for (size_t i = 0; tested_backend(i); i++) {
        Model *m = transformer(tested_backend(i), 0);
        const Plan *p = model_plan(m);
        for (int j = 0; j < 2 * N * D; j++) x[j] = sin(j + 1);
        assert_int_equal(model_run_plan(m, N, x, y), 0);
        double *source = x + N * D, *w = tiny_tensor(m, "encoder.norm.weight");
        double *b = tiny_tensor(m, "encoder.norm.bias");
        for (int j = 0; j < 3; j += 2) {
            int slot = plan_find_slot(p, SIDE_SOURCE, order[j], 0, 1);
            assert_int_equal(model_sublayer(m, slot, N, source, k), 0);
            for (int e = 0; e < N * D; e++) source[e] += k[e];
        }
        for (int r = 0; r < N; r++) plain_norm(w, b, source + r * D, in + (N + r) * D);
        for (int j = 0; j < 3; j++) {
            int slot = plan_find_slot(p, SIDE_TARGET, order[j], 0, 1);
            const double *memory = in + N * D;
            assert_int_equal(order[j] == SLOT_CROSS ? model_cross(m, slot, N, x, N, memory, k)
                                                    : model_sublayer(m, slot, N, x, k),
                             0);
            for (int e = 0; e < N * D; e++) x[e] += k[e];
        }
        assert_true(distance(x, y, N * D) <= rounding(model_backend(m)));
        in[N * D] += 1; /* a change in the memory's first token is seen */
        int cross = plan_find_slot(p, SIDE_TARGET, SLOT_CROSS, 0, 1);
        assert_int_equal(model_cross(m, cross, N, x, N, in + N * D, y), 0);
        in[N * D] -= 1;
        assert_int_equal(model_cross(m, cross, N, x, N, in + N * D, k), 0);
        assert_true(distance(k, y, N * D) > 1e-4);
        assert_int_equal(model_sublayer(m, cross, N, x, k), ERR_MISUSE); /* it reads two texts */
        int norm = plan_find_slot(p, SIDE_SOURCE, SLOT_NORM, 0, 1);
        assert_int_equal(model_sublayer(m, norm, N, source, k), 0);
        assert_true(distance(k, in + N * D, N * D) <= rounding(model_backend(m)));
        assert_int_equal(model_cross(m, norm, N, x, N, in + N * D, k), ERR_MISUSE);
        memory_free(w);
        memory_free(b);
        model_free(m);
    }
}

/* ---- refusals -------------------------------------------------------------------------------------- */

/* Checks that model_new refuses a pair of this configuration with these words. */
static void refuse_config(ModelConfig c, const char *words)
{
    for (const TinyPlan *p = tiny_pairs; p->name; p++) {
        Model *m = NULL;
        size_t live = memory_live();
        assert_int_equal(model_new(&c, p->build(), backend("cpu-f64"), 1, &m), ERR_INPUT);
        if (!strstr(error_text(), words)) fail_msg("'%s' has no '%s'", error_text(), words);
        assert_int_equal(memory_live(), live);
    }
}

TEST(configurations_of_language_models_are_refused)
{
    ModelConfig c = tiny_config();
    c.span = 4;
    c.ramp = 3;
    refuse_config(c, "attention spans");
    c = tiny_config();
    c.tails = 1;
    c.cut[0] = 5;
    c.factor = 2;
    refuse_config(c, "adaptive embeddings");
    model_free(model("cpu-f64", c, tiny_residual(), 1)); /* language models have them */
    c = tiny_config();
    c.max_source = 0;
    refuse_config(c, "source");
    c = tiny_config();
    c.max_source_length = 0;
    refuse_config(c, "source");
    c = tiny_config();
    c.max_source = (size_t)1 << 25;
    refuse_config(c, "source");
    model_free(model("cpu-f64", tiny_config(), tiny_transformer(0), 1));
    c.max_source = c.max_source_length = 0;
    model_free(model("cpu-f64", c, tiny_residual(), 1)); /* a language model needs none */
}

/* Checks that no pass takes the batch, and that the parameters and the results of the next batch are as before. */
static void refuse_batch(Model *m, const Batch *bad, const char *words)
{
    double mean, nll[N];
    Batch b = tiny_batch_of(m);
    size_t n = model_size(m);
    double *z = logits(m, &b), *x = tiny_get(m, model_data(m), 0, n),
           *w = memory_new(N * V, sizeof *w);
    AdamConfig a = {.rate = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1};
    assert_int_equal(model_forward(m, bad, 0, 1, nll, &mean), ERR_MISUSE);
    if (!strstr(error_text(), words)) fail_msg("'%s' has no '%s'", error_text(), words);
    assert_int_equal(model_gradient(m, bad, 1, &mean), ERR_MISUSE);
    assert_int_equal(model_logits(m, bad, w), ERR_MISUSE);
    assert_int_equal(model_step(m, bad, &a, 1), ERR_MISUSE);
    memory_free(w);
    w = logits(m, &b);
    double *y = tiny_get(m, model_data(m), 0, n);
    assert_memory_equal(z, w, N * V * sizeof *z);
    assert_memory_equal(x, y, n * sizeof *x);
    memory_free(x);
    memory_free(y);
    memory_free(z);
    memory_free(w);
}

TEST(batches_of_another_model_are_refused)
{
    for (size_t i = 0; tested_backend(i); i++) {
        Model *m = shaken(tested_backend(i), tiny_config(), tiny_transformer(0), 1);
        Model *alone = shaken(tested_backend(i), tiny_config(), tiny_residual(), 1);
        const Batch good = tiny_batch_of(m);
        Batch b = tiny_batch();
        refuse_batch(m, &b, "0 source tokens");
        refuse_batch(alone, &good, "12 source tokens");
        model_free(m);
        model_free(alone);
    }
}

TEST(sources_outside_the_model_are_refused)
{
    enum { MOST = TINY_ROWS + 2 };
    int32_t word[MOST] = {0}, place[MOST] = {0};
    size_t start[] = {0, 5, 10, MOST}, lengths[] = {0, 8, 9, SOURCE};
    for (size_t i = 0; tested_backend(i); i++) {
        Model *m = shaken(tested_backend(i), tiny_config(), tiny_transformer(0), 1);
        const Batch good = tiny_batch_of(m);
        Batch b = good;
        b.source.N = MOST; /* a row too many */
        b.source.longest = 5;
        b.source.input = word;
        b.source.position = place;
        b.source.start = start;
        refuse_batch(m, &b, "15 source tokens");
        b.source.N--;
        start[3]--;
        double mean;
        assert_int_equal(model_forward(m, &b, 0, 1, NULL, &mean), 0); /* the row is the reason */
        start[3]++;
        b = good;
        b.source.start = lengths;
        b.source.longest = 8; /* at most 7 */
        refuse_batch(m, &b, "longest 8");
        static const int32_t bad[] = {-1, V, INT32_MIN, INT32_MAX};
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            b = good;
            b.source.input = word;
            memcpy(word, good.source.input, SOURCE * sizeof *word);
            word[SOURCE - 1] = bad[k];
            refuse_batch(m, &b, "source row 11");
            b = good;
            b.source.position = place;
            memcpy(place, good.source.position, SOURCE * sizeof *place);
            place[4] = bad[k] == V ? 7 : bad[k]; /* positions are 0 .. 6 */
            refuse_batch(m, &b, "source row 4");
        }
        memset(word, 0, sizeof word);
        memset(place, 0, sizeof place);
        double x[2 * N * D] = {0}, y[N * D];
        assert_int_equal(model_run_plan(m, TINY_ROWS + 2, x, y), ERR_MISUSE); /* too many rows */
        int32_t many[TINY_ROWS + 4] = {0};
        assert_int_equal(model_embed(m, SIDE_SOURCE, TINY_ROWS + 4, many, x), ERR_MISUSE);
        model_free(m);
    }
}

/* ---- dropped words -------------------------------------------------------------------------------- */

static double train_loss(Model *m, const Batch *b, uint64_t step)
{
    double mean;
    assert_int_equal(model_forward(m, b, 1, step, NULL, &mean), 0);
    return mean;
}

/* Checks that a training pass does not see a dropped word, and sees a kept one. Returns how many are dropped. */
static size_t check_step(Model *m, Batch b, uint64_t step)
{
    int32_t word[SOURCE];
    double loss = train_loss(m, &b, step), *kept = tiny_get(m, m->dropped.kept, 0, SOURCE);
    size_t dropped = 0;
    memcpy(word, b.source.input, sizeof word);
    for (size_t i = 0; i < SOURCE; i++) {
        int32_t was = word[i];
        assert_true(kept[i] == 0 || fabs(kept[i] - 1 / (1 - m->config.word_dropout)) < 1e-6);
        dropped += kept[i] == 0;
        word[i] = (was + 3) % V;
        b.source.input = word;
        assert_int_equal(train_loss(m, &b, step) == loss, kept[i] == 0);
        word[i] = was;
    }
    memory_free(kept);
    return dropped;
}

static void check_dropped(const char *backend)
{
    enum { STEPS = 60 };
    ModelConfig c = tiny_config();
    c.dropout = 0;
    Model *plain = shaken(backend, c, tiny_transformer(0), 0);
    c.word_dropout = 0.4;
    Model *m = shaken(backend, c, tiny_transformer(0), 0);
    Batch b = tiny_batch_of(m);
    size_t dropped = 0;
    for (uint64_t step = 1; step <= STEPS; step++) dropped += check_step(m, b, step);
    double n = STEPS * SOURCE, sd = sqrt(n * 0.4 * 0.6);
    assert_true(fabs((double)dropped - 0.4 * n) < 4 * sd);
    assert_false(fabs((double)dropped - 0.2 * n) < 4 * sd); /* another rate is seen */
    double *z = logits(m, &b), *y = logits(plain, &b);      /* evaluation drops none */
    assert_memory_equal(z, y, b.N * V * sizeof *z);
    memory_free(z);
    memory_free(y);
    model_free(plain);
    model_free(m);
}

TEST(dropped_words)
{
    for (size_t i = 0; tested_backend(i); i++) check_dropped(tested_backend(i));
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(NULL, NULL)
