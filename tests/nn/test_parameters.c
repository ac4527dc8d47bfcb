/* test_parameters.c: the parts of a model: its tensors and their starting values, refusals, failing
 * allocations, values that are not finite, clipping. */
#include "tests/lib/test.h"

#include "tests/lib/models.h"

/* ---- parameters ----------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    size_t rows, cols;
} Shape;

/* Tensors of each kind of part. */
static const Shape tied[] = {
    {"embed.weight", V, D}, {"final_norm.weight", D, 0}, {"final_norm.bias", D, 0}, {0}};
static const Shape entry[] = {{"entry.weight", 2, D}, {0}};
static const Shape adaptive[] = {{"weight", 4, D},
                                 {"tail.1.weight", 3, D / 2},
                                 {"tail.1.project.weight", D, D / 2},
                                 {"tail.2.weight", V - 7, D / 4},
                                 {"tail.2.project.weight", D, D / 4},
                                 {0}};
static const Shape attn[] = {
    {"norm.weight", D, 0}, {"norm.bias", D, 0}, {"qkv.weight", 3 * D, D},  {"qkv.bias", 3 * D, 0},
    {"out.weight", D, D},  {"out.bias", D, 0},  {"relative.weight", 5, E}, {0}};
static const Shape cross[] = {{"norm.weight", D, 0},   {"norm.bias", D, 0},   {"q.weight", D, D},
                              {"q.bias", D, 0},        {"out.weight", D, D},  {"out.bias", D, 0},
                              {"kv.weight", 2 * D, D}, {"kv.bias", 2 * D, 0}, {0}};
static const Shape ffn[] = {{"norm.weight", D, 0},
                            {"norm.bias", D, 0},
                            {"up.weight", M, D},
                            {"up.bias", M, 0},
                            {"down.weight", D, M},
                            {"down.bias", D, 0},
                            {0}};
static const Shape norms[] = {{"weight", D, 0}, {"bias", D, 0}, {0}};
static const Shape one[] = {{"", 1, 0}, {0}}, two[] = {{"", 2, 0}, {0}};
static const Shape gate[] = {{"weight", 1, 2 * D}, {"bias", 1, 0}, {0}};

static const struct {
    int sides;
    const char *begin;
    const Shape *part;
} parts[] = {{1, "", tied + 1},
             {1, "embed.", adaptive},
             {1, "output.", adaptive},
             {1, "output.", entry},
             {1, "layers.0.attn.1.", attn},
             {1, "layers.0.ffn.1.", ffn},
             {1, "layers.0.ffn.2.", ffn},
             {1, "layers.0.scheme.a", two},
             {1, "layers.0.scheme.u.", gate},
             {1, "layers.0.scheme.v.", gate},
             {2, "", tied},
             {2, "encoder.layers.0.attn.1.", attn},
             {2, "encoder.layers.0.ffn.1.", ffn},
             {2, "encoder.norm.", norms},
             {2, "encoder.layers.0.scheme.a", one},
             {2, "encoder.layers.0.scheme.u.", gate},
             {2, "decoder.layers.0.attn.1.", attn},
             {2, "decoder.layers.0.cross.1.", cross},
             {2, "decoder.layers.0.ffn.1.", ffn},
             {2, "decoder.layers.1.cross.1.", cross},
             {2, "decoder.layers.1.scheme.v.", gate}};

/* A model has the tensors of its parts, and no other. The one of one side has all that can be: untied
 * adaptive ends, whose embedding has no entries. */
TEST(tensors_are_named_and_shaped)
{
    ModelConfig full =
        TINY_WITH(c.untied = 1, c.tails = 2, c.cut[0] = 4, c.cut[1] = 7, c.factor = 2);
    for (int sides = 1; sides <= SIDES; sides++) {
        OWN_MODEL *m = model("cpu-f32", sides == 1 ? full : tiny_config(),
                             sides == 1 ? tiny_plans[2].build() : tiny_pairs[0].build(), 0);
        const Param *list;
        size_t count = model_params(m, &list), at = 0;
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            for (const Shape *want = parts[i].part; parts[i].sides == sides && want->name; want++) {
                char name[128];
                snprintf(name, sizeof name, "%s%s", parts[i].begin, want->name);
                const Param *p = model_find(m, name);
                if (!p) fail_msg("no tensor %s", name);
                if (p->rows != want->rows || p->cols != want->cols)
                    fail_msg("%s (%zu, %zu)", name, p->rows, p->cols);
                assert_int_equal(p->size, want->rows * (want->cols ? want->cols : 1));
                count--;
            }
        assert_int_equal(count, 0);
        count = model_params(m, &list);
        for (size_t i = 0; i < count; at += list[i++].size) assert_int_equal(list[i].offset, at);
        assert_int_equal(at, model_size(m));
    }
}

static void moments_of(Model *m, const char *name, double *mean, double *deviation, double *most)
{
    const Param *p = model_find(m, name);
    OWN_NUMBERS *x = tiny_tensor(m, name);
    double sum = 0, sum2 = 0;
    *most = 0;
    for (size_t i = 0; i < p->size; i++) {
        sum += x[i];
        sum2 += x[i] * x[i];
        *most = fmax(*most, fabs(x[i]));
    }
    *mean = sum / (double)p->size;
    *deviation = sqrt(sum2 / (double)p->size);
}

/* Starting values have the promised mean and deviation. 64,000 and 12,288 numbers give a standard error
 * below 1 % of the deviation, and 0.01 of the mean. */
TEST(starting_values_are_as_promised)
{
    OWN_MODEL *m =
        model("cpu-f32", TINY_WITH(c.width = 64, c.vocab = 1000, c.heads = 4), tiny_residual(), 0);
    double mean, deviation, most, limit = sqrt(6 / (4.0 * 64));
    moments_of(m, "embed.weight", &mean, &deviation, &most);
    assert_true(fabs(mean) <= 0.02 / 8 && fabs(deviation * 8 - 1) <= 0.03 && most * 8 > 3);
    moments_of(m, "layers.0.attn.1.qkv.weight", &mean, &deviation, &most);
    assert_true(fabs(mean) <= 0.05 * limit && fabs(deviation / limit * sqrt(3) - 1) <= 0.03);
    assert_true(most <= limit && most > 0.99 * limit);
    moments_of(m, "layers.0.attn.1.qkv.bias", &mean, &deviation, &most);
    assert_true(most == 0);
    moments_of(m, "final_norm.weight", &mean, &deviation, &most);
    assert_true(mean == 1 && most == 1);
}

/* Two networks with a tensor of one name and shape start with equal values in it. */
TEST(common_tensors_start_equal)
{
    OWN_MODEL *m = model("cpu-f64", tiny_config(), tiny_residual(), 0);
    OWN_MODEL *r = model("cpu-f64", tiny_config(), tiny_plans[2].build(), 0);
    OWN_MODEL *other = model("cpu-f64", TINY_WITH(c.seed++), tiny_residual(), 0);
    static const char up[] = "layers.0.ffn.1.up.weight";
    OWN_NUMBERS *x = tiny_tensor(m, up), *y = tiny_tensor(r, up), *z = tiny_tensor(other, up),
                *a = tiny_tensor(r, "layers.0.scheme.a");
    assert_memory_equal(x, y, M * D * sizeof *x);
    assert_memory_not_equal(x, z, M * D * sizeof *x);
    assert_true(a[0] == 0.7 && a[1] == 0.7);
}

/* ---- refusals and failures ----------------------------------------------------------------------- */

static Plan *wide_plan(void)
{
    Plan *p = tiny_residual();
    p->slot[1].inner = SIZE_MAX / 4;
    return p;
}

static Plan *late_draw(void)
{
    Plan *p = tiny_residual();
    p->instr[0].draw = 1 << 30;
    return p;
}

static Plan *no_plan(void)
{
    Plan *p = tiny_residual();
    p->output = 99;
    return p;
}

/* A device takes a window that no sequence is longer than. */
TEST(a_device_refuses_windows)
{
    const Backend *b;
    Model *m = NULL;
    ModelConfig c = tiny_config();
    c.windows = 1, c.window[0] = c.max_length;
    assert_int_equal(backend_find("cpu-f64", NULL, &b), 0);
    Backend device = *b;
    device.device = 1;
    assert_int_equal(model_count(&c, tiny_residual(), &device, 0, &m), 0);
    model_free(m);
    c.window[0]--;
    assert_int_equal(model_count(&c, tiny_residual(), &device, 0, &m), ERR_INPUT);
    assert_non_null(strstr(error_text(), "--device cpu, or --sequence 6"));
}

TEST(bad_shapes_are_refused)
{
    const ModelConfig bad[] = {TINY_WITH(c.heads = 3),
                               TINY_WITH(c.heads = 0),
                               TINY_WITH(c.width = 9, c.heads = 3),
                               TINY_WITH(c.width = 0),
                               TINY_WITH(c.vocab = 0),
                               TINY_WITH(c.vocab = SIZE_MAX / 4),
                               TINY_WITH(c.max_tokens = 0),
                               TINY_WITH(c.max_length = 0),
                               TINY_WITH(c.clip = SIZE_MAX),
                               TINY_WITH(c.dropout = 1),
                               TINY_WITH(c.dropout = -0.1),
                               TINY_WITH(c.dropout = NAN),
                               TINY_WITH(c.act = ACT_TANH),
                               TINY_WITH(c.kv_heads = 3),
                               TINY_WITH(c.head_width = SIZE_MAX),
                               TINY_WITH(c.head_width = 5, c.positions = POSITIONS_ROTARY),
                               TINY_WITH(c.heads = 8, c.positions = POSITIONS_ROTARY),
                               TINY_WITH(c.positions = POSITIONS_LEARNED | POSITIONS_SINUSOID),
                               TINY_WITH(c.norm_eps = NAN),
                               TINY_WITH(c.rotary_base = -1),
                               TINY_WITH(c.rotary_scaling[0] = 2),
                               TINY_WITH(c.positions = POSITIONS_ROTARY, c.rotary_part = 3),
                               TINY_WITH(c.positions = POSITIONS_ROTARY, c.rotary_part = 6),
                               TINY_WITH(c.windows = WINDOWS_MOST + 1),
                               TINY_WITH(c.smoothing = -0.1),
                               TINY_WITH(c.smoothing = 1),
                               TINY_WITH(c.smoothing = NAN)};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse_model(bad[i], tiny_residual, ERR_INPUT, "");
    refuse_model(TINY_WITH(c.head_norm = 1), tiny_pairs->build, ERR_INPUT, "one side");
    refuse_model(TINY_WITH(c.head_width = 4), tiny_pairs->build, ERR_INPUT, "one side");
    refuse_model(TINY_WITH(c.windows = 1), tiny_pairs->build, ERR_INPUT, "for language models");
    refuse_model(TINY_WITH(c.output_bias = 1), tiny_pairs->build, ERR_INPUT, "for language models");
    refuse_model(tiny_config(), wide_plan, ERR_INPUT, "");
    refuse_model(tiny_config(), late_draw, ERR_INPUT, "");
    refuse_model(tiny_config(), no_plan, ERR_MISUSE, "");
}

TEST(bad_batches_are_refused)
{
    OWN_MODEL *m = model("cpu-f32", tiny_config(), tiny_residual(), 0);
    Batch b = tiny_batch();
    int32_t bad[N] = {0, 0, V};
    double mean;
    b.longest = 8;
    assert_int_equal(model_forward(m, &b, 0, 0, NULL, &mean), ERR_MISUSE);
    b = tiny_batch();
    b.N = TINY_ROWS + 4;
    assert_int_equal(model_forward(m, &b, 0, 0, NULL, &mean), ERR_MISUSE);
    b = tiny_batch();
    b.target = bad;
    assert_int_equal(model_forward(m, &b, 0, 0, NULL, &mean), ERR_MISUSE);
}

/* Also where log p is computed on the host, in a model with tails. */
TEST(every_allocation_may_fail)
{
    const ModelConfig config[] = {tiny_config(),
                                  TINY_WITH(c.tails = 1, c.cut[0] = 4, c.factor = 2)};
    size_t live = memory_live(), tries = 0;
    double log_p[N * V];
    Batch x = tiny_batch();
    for (int tails = 0; tails < 2; tails++, tries = 0) {
        for (int code = ERR_MEMORY; code; tries++) {
            Model *m = NULL;
            Plan *p = tiny_plans[2].build();
            assert_true(tries < 200);
            memory_fail_at(tries + 1);
            code = model_new(&config[tails], p, backend("cpu-f32"), 1, &m);
            if (code == 0) code = model_logits(m, &x, log_p);
            memory_fail_at(0);
            model_free(m);
            assert_true(code == 0 || code == ERR_MEMORY);
            assert_int_equal(memory_live(), live);
        }
        assert_true(tries > 20);
    }
}

/* Makes the gradient of the embedding NaN after a finite loss. */
static const Backend *real;

static void spoilt_back(size_t n, size_t columns, size_t words, const int32_t *token, double scale,
                        Dropout drop, const void *dh, void *dE)
{
    real->embed_back(n, columns, words, token, scale, drop, dh, dE);
    real->fill(dE, NAN, 1);
}

TEST(values_that_are_not_finite_are_told)
{
    Batch b = tiny_batch();
    const AdamConfig a = {.rate = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
    for (size_t i = 0; tested_backend(i); i++) {
        Backend spoilt = *(real = backend(tested_backend(i)));
        ModelConfig c = tiny_config();
        OWN_MODEL *m;
        double mean;
        Step s;
        spoilt.embed_back = spoilt_back;
        assert_int_equal(model_new(&c, tiny_residual(), &spoilt, 1, &m), 0);
        OWN_NUMBERS *before = tiny_numbers(m);
        assert_int_equal(model_step(m, &b, &a, 1), 0);
        assert_int_equal(model_tally(m, &s), ERR_NUMERIC);
        OWN_NUMBERS *after = tiny_numbers(m);
        assert_memory_equal(before, after, model_size(m) * sizeof *before);
        set_tensor(m, "layers.0.ffn.1.up.bias", NAN);
        assert_int_equal(model_gradient(m, &b, 1, &mean), ERR_NUMERIC);
    }
}

/* After one step from zero moments m = (1 - beta1) g min(1, clip / |g|). */
TEST(clipping_scales_the_gradient)
{
    Batch b = tiny_batch();
    for (int clipped = 0; clipped < 2; clipped++) {
        OWN_MODEL *m = shaken("cpu-f64", tiny_config(), tiny_residual(), 1);
        size_t n = model_size(m);
        double mean, sum = 0;
        Step s;
        assert_int_equal(model_gradient(m, &b, 1, &mean), 0);
        OWN_NUMBERS *g = tiny_gradient(m);
        for (size_t i = 0; i < n; i++) sum += g[i] * g[i];
        double norm = sqrt(sum), scale = clipped ? 0.25 : 1;
        AdamConfig a = {.rate = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
        a.clip = norm * (clipped ? 0.25 : 2);
        assert_int_equal(model_step(m, &b, &a, 1), 0);
        assert_int_equal(model_tally(m, &s), 0);
        assert_true(fabs(s.norm - norm) <= 1e-13 * norm);
        OWN_NUMBERS *moment = tiny_get(m, model_moment(m, 0), 0, n);
        for (size_t i = 0; i < n; i++) g[i] *= 0.1 * scale;
        assert_true(distance(g, moment, n) <= 1e-13 * norm);
    }
}

TEST_MAIN(NULL, NULL)
