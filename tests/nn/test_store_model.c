/* test_store_model.c: models to files and back, on every backend: weights as floats, a run's state bit by bit. A
 * failed load changes nothing. */
#include "tests/lib/test.h"

#include "nn/model/store.h"
#include "tests/lib/models.h"
#include "tests/lib/scratch.h"

/* Makes a model with a tensor of every kind, of one side or two. */
static Model *sided(int sides, const char *name, uint64_t seed, int training)
{
    return model(name, TINY_WITH(c.seed = seed),
                 sides == 1 ? tiny_plans[2].build() : tiny_pairs[0].build(), training);
}

/* Returns the numbers of buffer 0 (weights), 1, 2 (moments). The caller frees them. */
static double *numbers(Model *m, int buffer)
{
    return tiny_get(m, buffer ? model_moment(m, buffer - 1) : model_data(m), 0, model_size(m));
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

/* Every backend reads the files of every other. */
TEST(weights_come_back)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (size_t j = 0; tested_backend(j); j++)
            for (int sides = 1; sides <= SIDES; sides++) {
                OWN_MODEL *m = sided(sides, tested_backend(i), 1, i == j),
                          *n = sided(sides, tested_backend(j), 2, 0);
                const char *file = file_path("model");
                assert_int_equal(store_save(m, file, meta, 2), 0);
                assert_true(differ(m, n, 0, 1) > model_size(m) / 2); /* control */
                assert_int_equal(store_load(n, file), 0);
                assert_int_equal(differ(m, n, 0, 1), 0);
                OWN_BYTES *value;
                assert_int_equal(store_meta(file, "width", &value), 0);
                assert_string_equal(value, "8");
            }
}

TEST(state_comes_back)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (int sides = 1; sides <= SIDES; sides++) {
            OWN_MODEL *m = sided(sides, tested_backend(i), 1, 1),
                      *n = sided(sides, tested_backend(i), 2, 1);
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
    return model("cpu-f64", tiny_head_config(TINY_WITH(c.seed = seed), h),
                 tiny_encoder(tiny_residual()), 0);
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

/* ---- failures ------------------------------------------------------------------------------------------- */

/* Failed loads leave n as it was. */
TEST(failed_loads)
{
    OWN_MODEL *m = sided(1, "cpu-f32", 1, 1), *n = sided(1, "cpu-f32", 2, 1),
              *same = sided(1, "cpu-f32", 2, 1), *exact = sided(1, "cpu-f64", 2, 1),
              *plain = sided(1, "cpu-f32", 2, 0),
              *wide = model("cpu-f32", TINY_WITH(c.clip = 3), tiny_plans[2].build(), 1);
    assert_int_equal(store_save_state(m, file_path("state"), meta, 2), 0);
    assert_int_equal(store_save(m, file_path("model"), meta, 2), 0);
    assert_int_equal(store_load_state(wide, file_path("state")), ERR_INPUT);
    assert_true(strstr(error_text(), "layers.0.attn.1.relative.weight") != NULL);
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
    OWN_MODEL *n = sided(1, b->name, 2, 1), *same = sided(1, b->name, 2, 1);
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
    for (int exact = 0; exact < 2; exact++) {
        OWN_MODEL *m = sided(1, exact ? "cpu-f64" : "cpu-f32", 1, 1);
        for (int i = 0; i < 3; i++) spoil(m, i, i % 2 ? model_size(m) - 1 : 0, bad[i], ERR_INPUT);
        spoil(m, 0, model_size(m) - 1, bad[1], ERR_INPUT);
        spoil(m, 0, 0, 1e30, 0); /* large is fine */
    }
    scratch_files(1);
}

TEST(failing_allocator)
{
    OWN_MODEL *same = sided(1, "cpu-f32", 1, 1), *m = sided(1, "cpu-f32", 1, 1);
    const char *file = file_path("job");
    assert_true(FAILURES(ERR_MEMORY, code = store_save_state(m, file, meta, 2)) >= 5);
    assert_true(FAILURES(ERR_MEMORY, code = store_load_state(m, file)) >= 5);
    for (int k = 0; k < 3; k++) assert_int_equal(differ(m, same, k, 0), 0);
}

TEST_MAIN(scratch_open, scratch_close)
