/* test_store_model.c: models to files and back, on every backend: weights as floats, a run's state bit by bit. A
 * failed load changes nothing. */
#include "tests/lib/test.h"

#include "nn/model/store.h"
#include "tests/lib/backends.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

/* Makes one block x + F(x) + G(...) with a learned scalar and a gate: a tensor of every kind. */
static Plan *small_plan(size_t inner)
{
    Plan *p = plan_new(1);
    int f = plan_slot(p, (PlanSlot){SLOT_ATTENTION, 0, 1, 0});
    int g = plan_slot(p, (PlanSlot){SLOT_FEEDFORWARD, 0, 1, inner});
    int a = plan_scalar(p, SIDE_TARGET, 0, "a", 1, 0.5);
    int k1 = plan_eval(p, f, 0, 0), k2 = plan_eval(p, g, k1, 1);
    int gate = plan_gate(p, SIDE_TARGET, 0, "g", ACT_SIGMOID, 2, (int[]){k1, k2});
    PlanTerm update[] = {{1, 0, 0, {{0}}},
                         {1, k1, 1, {{FACTOR_SCALAR, a, 0}}},
                         {1, k2, 1, {{FACTOR_GATE, gate, 0}}}};
    p->output = plan_lin(p, 3, update);
    return p;
}

/* Makes the same on the source, normed, and x + C(x; source) on the target, with a learned scalar: names of either
 * side. */
static Plan *small_pair(size_t inner)
{
    Plan *p = plan_new_pair(1, 1);
    int f = plan_slot(p, (PlanSlot){SLOT_ATTENTION, 0, 1, 0, SIDE_SOURCE});
    int g = plan_slot(p, (PlanSlot){SLOT_FEEDFORWARD, 0, 1, inner, SIDE_SOURCE});
    int norm = plan_slot(p, (PlanSlot){SLOT_NORM, 0, 1, 0, SIDE_SOURCE});
    int self = plan_slot(p, (PlanSlot){SLOT_ATTENTION, 0, 1, 0, SIDE_TARGET});
    int c = plan_slot(p, (PlanSlot){SLOT_CROSS, 0, 1, 0, SIDE_TARGET});
    int a = plan_scalar(p, SIDE_TARGET, 0, "a", 1, 0.5);
    int k1 = plan_eval(p, f, 1, 0), k2 = plan_eval(p, g, k1, 1);
    int gate = plan_gate(p, SIDE_SOURCE, 0, "g", ACT_SIGMOID, 2, (int[]){k1, k2});
    PlanTerm above[] = {{1, 1, 0, {{0}}}, {1, k1, 0, {{0}}}, {1, k2, 1, {{FACTOR_GATE, gate, 0}}}};
    int keys = plan_keys(p, c, plan_norm(p, norm, plan_lin(p, 3, above)));
    int k3 = plan_cross(p, c, plan_eval(p, self, 0, 2), keys, 3);
    PlanTerm update[] = {{1, 0, 0, {{0}}}, {1, k3, 1, {{FACTOR_SCALAR, a, 0}}}};
    p->output = plan_lin(p, 2, update);
    return p;
}

static Model *sided_model(int sides, const Backend *b, uint64_t seed, size_t inner, int training)
{
    ModelConfig c = {.vocab = 11,
                     .width = 8,
                     .heads = 2,
                     .positions = POSITIONS_SINUSOID | POSITIONS_RELATIVE,
                     .clip = 8,
                     .act = ACT_RELU,
                     .max_tokens = 16,
                     .max_length = 8,
                     .max_source = 16,
                     .max_source_length = 8,
                     .seed = seed};
    Model *m = NULL;
    Plan *p = sides == 1 ? small_plan(inner) : small_pair(inner);
    assert_int_equal(model_new(&c, p, b, training, &m), 0);
    return m;
}

static Model *small_model(const Backend *b, uint64_t seed, size_t inner, int training)
{
    return sided_model(1, b, seed, inner, training);
}

/* Returns the numbers of buffer 0 (weights), 1, 2 (moments). The caller frees them. */
static double *numbers(Model *m, int buffer)
{
    double *x = memory_new(model_size(m), sizeof *x);
    void *p = buffer ? model_moment(m, buffer - 1) : model_data(m);
    model_backend(m)->get(x, p, model_size(m));
    return x;
}

/* Counts the numbers of a buffer that differ between two models. as_float: after rounding a's to float. */
static size_t differ(Model *a, Model *b, int buffer, int as_float)
{
    OWN_NUMBERS *x = numbers(a, buffer), *y = numbers(b, buffer);
    size_t n = 0;
    for (size_t i = 0; i < model_size(a); i++)
        n += !((as_float ? (double)(float)x[i] : x[i]) == y[i]);
    return n;
}

/* Fills moments as a run leaves them: no two are alike, and none is exactly a float (1/3 + i in double). */
static void fill_moments(Model *m)
{
    OWN_NUMBERS *x = memory_new(model_size(m), sizeof *x);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < model_size(m); i++) x[i] = (double)i + 1.0 / (3 + k);
        model_backend(m)->put(model_moment(m, k), x, model_size(m));
    }
}

static const StoreText meta[] = {{"scheme", "lie-trotter"}, {"width", "8"}};

static void check_weights(int sides, const Backend *b)
{
    OWN_MODEL *m = sided_model(sides, b, 1, 24, 1), *n = sided_model(sides, b, 2, 24, 0);
    const char *file = file_path("model");
    assert_int_equal(store_save(m, file, meta, 2), 0);
    assert_true(differ(m, n, 0, 1) > model_size(m) / 2); /* control */
    assert_int_equal(store_load(n, file), 0);
    assert_int_equal(differ(m, n, 0, 1), 0);
    char *value;
    assert_int_equal(store_meta(file, "width", &value), 0);
    assert_string_equal(value, "8");
    memory_free(value);
}

TEST(weights_come_back)
{
    const Backend *b;
    for (size_t i = 0; tested_backend(i); i++)
        for (int sides = 1; sides <= SIDES; sides++) {
            assert_int_equal(backend_find(tested_backend(i), NULL, &b), 0);
            check_weights(sides, b);
        }
}

/* Every backend reads the files of every other. */
TEST(weights_change_backend)
{
    const Backend *b, *c;
    for (size_t i = 0; tested_backend(i); i++)
        for (size_t j = 0; tested_backend(j); j++)
            for (int sides = 1; sides <= SIDES; sides++) {
                assert_int_equal(backend_find(tested_backend(i), NULL, &b), 0);
                assert_int_equal(backend_find(tested_backend(j), NULL, &c), 0);
                OWN_MODEL *m = sided_model(sides, b, 1, 24, 0),
                          *n = sided_model(sides, c, 2, 24, 0);
                assert_int_equal(store_save(m, file_path("model"), NULL, 0), 0);
                assert_int_equal(store_load(n, file_path("model")), 0);
                assert_int_equal(differ(m, n, 0, 1), 0);
            }
}

TEST(state_comes_back)
{
    const Backend *b;
    for (size_t i = 0; tested_backend(i); i++)
        for (int sides = 1; sides <= SIDES; sides++) {
            assert_int_equal(backend_find(tested_backend(i), NULL, &b), 0);
            OWN_MODEL *m = sided_model(sides, b, 1, 24, 1), *n = sided_model(sides, b, 2, 24, 1);
            fill_moments(m);
            assert_int_equal(store_save_state(m, file_path("state"), meta, 2), 0);
            for (int k = 0; k < 3; k++) assert_true(differ(m, n, k, 0) > 0); /* control */
            assert_int_equal(store_load_state(n, file_path("state")), 0);
            for (int k = 0; k < 3; k++) assert_int_equal(differ(m, n, k, 0), 0);
        }
}

/* ---- an encoder with other answers ------------------------------------------------------------------- */

static Model *encoder(const TinyHead *h, uint64_t seed)
{
    const Backend *b;
    Model *m;
    ModelConfig c = tiny_head_config(tiny_config(), h);
    c.seed = seed;
    assert_int_equal(backend_find("cpu-f64", NULL, &b), 0);
    assert_int_equal(model_new(&c, tiny_encoder(tiny_residual()), b, 0, &m), 0);
    return m;
}

/* Returns 1 where the tensors of this name in m and n have the same numbers in f32. */
static int same_tensor(Model *m, Model *n, const char *name)
{
    OWN_NUMBERS *x = tiny_tensor(m, name), *y = tiny_tensor(n, name);
    size_t size = model_find(m, name)->size, same = 0;
    for (size_t i = 0; y && i < size; i++) same += (float)x[i] == (float)y[i];
    return same == size;
}

static void check_encoder(const TinyHead *from, const TinyHead *to)
{
    const Param *list;
    OWN_MODEL *m = encoder(from, 1), *fresh = encoder(to, 2), *n = encoder(to, 2);
    tiny_shake(m, 5);
    assert_int_equal(store_save(m, file_path("model"), NULL, 0), 0);
    assert_int_equal(store_load_encoder(n, file_path("model")), 0);
    size_t params = model_params(n, &list), taken = 0;
    for (size_t i = 0; i < params; i++) {
        const char *name = list[i].name;
        int common = model_find(m, name) && strncmp(name, "classes.", 8) != 0;
        assert_int_equal(same_tensor(n, m, name), common);
        if (!common) assert_true(same_tensor(n, fresh, name));
        taken += (size_t)common;
    }
    assert_true(taken > 10);
}

TEST(encoders_keep_what_they_have_in_common)
{
    static const TinyHead masked = {1, 0, 0}, both = {1, 2, 2}, labels = {0, 3, 0},
                          pairs = {0, 2, 2};
    check_encoder(&masked, &labels);
    check_encoder(&masked, &pairs);
    check_encoder(&both, &pairs);
    check_encoder(&labels, &pairs);
    /* A file of another width, or without a tensor that both must have, changes nothing. */
    OWN_MODEL *n = encoder(&labels, 2), *fresh = encoder(&labels, 2);
    Tensor one = {"embed.weight", TINY_VOCAB, TINY_WIDTH, NULL, NULL, NULL, 0};
    OWN_NUMBERS *x = one.data = tiny_tensor(n, "embed.weight");
    assert_int_equal(tensors_write(file_path("part"), &one, 1, STORE_F32, NULL, 0), 0);
    assert_int_equal(store_load_encoder(n, file_path("part")), ERR_INPUT);
    assert_non_null(strstr(error_text(), "it is missing"));
    assert_int_equal(differ(n, fresh, 0, 0), 0);
}

/* The mean of equal files is their numbers, and that of two files half their sum. */
TEST(averages_of_two_sides)
{
    const Backend *b;
    assert_int_equal(backend_find("cpu-f64", NULL, &b), 0);
    Model *m[3];
    const char *file[2] = {file_path("one"), file_path("other")};
    for (int i = 0; i < 3; i++) m[i] = sided_model(2, b, 1 + (uint64_t)i, 24, 0);
    for (int i = 0; i < 2; i++) assert_int_equal(store_save(m[i], file[i], meta, 2), 0);
    assert_int_equal(store_average(m[2], (const char *[]){file[0], file[0]}, 2), 0);
    assert_int_equal(differ(m[0], m[2], 0, 1), 0);
    assert_int_equal(store_average(m[2], file, 2), 0);
    double *x = numbers(m[0], 0), *y = numbers(m[1], 0), *z = numbers(m[2], 0);
    for (size_t i = 0; i < model_size(m[2]); i++)
        assert_true(z[i] == ((double)(float)x[i] + (double)(float)y[i]) / 2);
    double *list[] = {x, y, z};
    for (int i = 0; i < 3; i++) {
        memory_free(list[i]);
        model_free(m[i]);
    }
}

/* A file of two sides holds each of its tensors by name and shape. Files of one side hold what they held before. */
TEST(tensors_have_their_names)
{
    static const struct {
        const char *name;
        size_t rows, cols;
    } pair[] = {{"embed.weight", 11, 8},
                {"final_norm.weight", 8, 0},
                {"final_norm.bias", 8, 0},
                {"encoder.layers.0.attn.1.norm.weight", 8, 0},
                {"encoder.layers.0.attn.1.norm.bias", 8, 0},
                {"encoder.layers.0.attn.1.qkv.weight", 24, 8},
                {"encoder.layers.0.attn.1.qkv.bias", 24, 0},
                {"encoder.layers.0.attn.1.out.weight", 8, 8},
                {"encoder.layers.0.attn.1.out.bias", 8, 0},
                {"encoder.layers.0.attn.1.relative.weight", 17, 4},
                {"encoder.layers.0.ffn.1.norm.weight", 8, 0},
                {"encoder.layers.0.ffn.1.norm.bias", 8, 0},
                {"encoder.layers.0.ffn.1.up.weight", 24, 8},
                {"encoder.layers.0.ffn.1.up.bias", 24, 0},
                {"encoder.layers.0.ffn.1.down.weight", 8, 24},
                {"encoder.layers.0.ffn.1.down.bias", 8, 0},
                {"encoder.norm.weight", 8, 0},
                {"encoder.norm.bias", 8, 0},
                {"decoder.layers.0.attn.1.norm.weight", 8, 0},
                {"decoder.layers.0.attn.1.norm.bias", 8, 0},
                {"decoder.layers.0.attn.1.qkv.weight", 24, 8},
                {"decoder.layers.0.attn.1.qkv.bias", 24, 0},
                {"decoder.layers.0.attn.1.out.weight", 8, 8},
                {"decoder.layers.0.attn.1.out.bias", 8, 0},
                {"decoder.layers.0.attn.1.relative.weight", 17, 4},
                {"decoder.layers.0.cross.1.norm.weight", 8, 0},
                {"decoder.layers.0.cross.1.norm.bias", 8, 0},
                {"decoder.layers.0.cross.1.q.weight", 8, 8},
                {"decoder.layers.0.cross.1.q.bias", 8, 0},
                {"decoder.layers.0.cross.1.out.weight", 8, 8},
                {"decoder.layers.0.cross.1.out.bias", 8, 0},
                {"decoder.layers.0.cross.1.kv.weight", 16, 8},
                {"decoder.layers.0.cross.1.kv.bias", 16, 0},
                {"encoder.layers.0.scheme.g.weight", 1, 16},
                {"encoder.layers.0.scheme.g.bias", 1, 0},
                {"decoder.layers.0.scheme.a", 1, 0}};
    const size_t count = sizeof pair / sizeof *pair;
    const Backend *b;
    const Param *list;
    assert_int_equal(backend_find("cpu-f64", NULL, &b), 0);
    OWN_MODEL *m = sided_model(2, b, 1, 24, 0), *one = small_model(b, 1, 24, 0);
    assert_int_equal(model_params(m, &list), count);
    for (size_t i = 0; i < count; i++) {
        const Param *p = model_find(m, pair[i].name);
        if (!p) fail_msg("no %s", pair[i].name);
        if (p->rows != pair[i].rows || p->cols != pair[i].cols)
            fail_msg("%s (%zu, %zu)", p->name, p->rows, p->cols);
    }
    size_t params = model_params(one, &list);
    for (size_t i = 0; i < params; i++)
        assert_true(!strstr(list[i].name, "coder.") && !strstr(list[i].name, "cross"));
}

/* A model of two sides refuses a file of one, and the reverse. The model stays as it was. */
TEST(sides_are_not_mixed)
{
    const Backend *b;
    assert_int_equal(backend_find("cpu-f32", NULL, &b), 0);
    for (int sides = 1; sides <= SIDES; sides++) {
        OWN_MODEL *m = sided_model(sides, b, 1, 24, 1),
                  *n = sided_model(SIDES + 1 - sides, b, 2, 24, 1);
        OWN_MODEL *same = sided_model(SIDES + 1 - sides, b, 2, 24, 1);
        const char *file = file_path("model");
        assert_int_equal(store_save(m, file, meta, 2), 0);
        assert_int_equal(store_save_state(m, file_path("state"), meta, 2), 0);
        assert_int_equal(store_load(n, file), ERR_INPUT);
        assert_non_null(strstr(error_text(), "layers.0."));
        assert_int_equal(store_average(n, &file, 1), ERR_INPUT);
        assert_int_equal(store_load_state(n, file_path("state")), ERR_INPUT);
        for (int k = 0; k < 3; k++) assert_int_equal(differ(n, same, k, 0), 0);
    }
}

/* Failed loads leave n as it was. */
TEST(failed_loads)
{
    const Backend *f32, *f64;
    assert_int_equal(backend_find("cpu-f32", NULL, &f32), 0);
    assert_int_equal(backend_find("cpu-f64", NULL, &f64), 0);
    Model *m = small_model(f32, 1, 24, 1), *wide = small_model(f32, 1, 32, 1);
    Model *n = small_model(f32, 2, 24, 1), *same = small_model(f32, 2, 24, 1);
    Model *exact = small_model(f64, 2, 24, 1), *plain = small_model(f32, 2, 24, 0);
    assert_int_equal(store_save_state(m, file_path("state"), meta, 2), 0);
    assert_int_equal(store_save(m, file_path("model"), meta, 2), 0);
    assert_int_equal(store_load_state(wide, file_path("state")), ERR_INPUT);
    assert_true(strstr(error_text(), "layers.0.ffn.1.up.weight") != NULL);
    assert_int_equal(store_load_state(exact, file_path("state")), ERR_INPUT);
    assert_true(strstr(error_text(), "precision") != NULL);
    assert_int_equal(store_load_state(plain, file_path("state")), ERR_MISUSE);
    assert_int_equal(store_save_state(plain, file_path("none"), NULL, 0), ERR_MISUSE);
    assert_int_equal(store_load_state(n, file_path("model")), ERR_INPUT); /* no moments */
    assert_int_equal(store_load(n, file_path("state")), ERR_INPUT);       /* too many */
    FILE *f = fopen(file_path("state"), "r+b"); /* the very last byte, of the second moment */
    assert_non_null(f);
    assert_int_equal(fseek(f, -1, SEEK_END), 0);
    assert_int_equal(fputc('x', f), 'x');
    assert_int_equal(fclose(f), 0);
    assert_int_equal(store_load_state(n, file_path("state")), ERR_INPUT);
    assert_true(strstr(error_text(), "altered") != NULL);
    for (int k = 0; k < 3; k++) assert_int_equal(differ(n, same, k, 0), 0);
    Model *all[] = {m, wide, n, same, exact, plain};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) model_free(all[i]);
}

/* Saves m with one number of a buffer (0: weights) replaced, then puts the number back. The load of the state
 * returns `code`; so do that of the weights and the mean where the number is a weight. */
static void spoil(Model *m, int buffer, size_t k, double bad, int code)
{
    const Backend *b = model_backend(m);
    void *at = backend_at(b, buffer ? model_moment(m, buffer - 1) : model_data(m), k);
    double good;
    b->get(&good, at, 1);
    b->put(at, &bad, 1);
    assert_int_equal(store_save_state(m, file_path("state"), meta, 2), 0);
    assert_int_equal(store_save(m, file_path("model"), meta, 2), 0);
    b->put(at, &good, 1);
    OWN_MODEL *n = small_model(b, 2, 24, 1), *same = small_model(b, 2, 24, 1);
    const char *file = file_path("model");
    assert_int_equal(store_load_state(n, file_path("state")), code);
    if (code) assert_non_null(strstr(error_text(), "a number in it is not finite"));
    for (int i = 0; i < 3 && code; i++) assert_int_equal(differ(n, same, i, 0), 0);
    assert_int_equal(store_load(n, file), buffer ? 0 : code);
    if (!buffer) assert_int_equal(store_average(n, &file, 1), code);
}

TEST(numbers_are_finite)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (const char *const *name = (const char *const[]){"cpu-f32", "cpu-f64", NULL}; *name;
         name++) {
        const Backend *b;
        assert_int_equal(backend_find(*name, NULL, &b), 0);
        OWN_MODEL *m = small_model(b, 1, 24, 1);
        for (int i = 0; i < 3; i++) spoil(m, i, i % 2 ? model_size(m) - 1 : 0, bad[i], ERR_INPUT);
        spoil(m, 0, model_size(m) - 1, bad[1], ERR_INPUT);
        spoil(m, 0, 0, 1e30, 0); /* large is fine */
    }
    scratch_files(1);
}

static Model *job_model;

static int job_save(void)
{
    return store_save_state(job_model, file_path("job"), meta, 2);
}

static int job_load(void)
{
    return store_load_state(job_model, file_path("job"));
}

TEST(failing_allocator)
{
    const Backend *b;
    assert_int_equal(backend_find("cpu-f32", NULL, &b), 0);
    OWN_MODEL *same = small_model(b, 1, 24, 1);
    job_model = small_model(b, 1, 24, 1);
    assert_true(fail_each(job_save, ERR_MEMORY) >= 5);
    assert_true(fail_each(job_load, ERR_MEMORY) >= 5);
    for (int k = 0; k < 3; k++) assert_int_equal(differ(job_model, same, k, 0), 0);
    model_free(job_model);
}

TEST_MAIN(scratch_open, scratch_close)
