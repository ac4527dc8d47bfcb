/* test_store_model.c: models to files and back, on every backend: weights as floats, a run's state
 * bit by bit; a failed load changes nothing. */
#include "tests/lib/test.h"

#include "nn/store.h"
#include "tests/lib/backends.h"
#include "tests/lib/scratch.h"

/* One block x + F(x) + G(...) with a learned scalar and a gate: a tensor of every kind. */
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

static Model *small_model(const Backend *b, uint64_t seed, size_t inner, int training)
{
    ModelConfig c = {.vocab = 11,
                     .width = 8,
                     .heads = 2,
                     .positions = POSITIONS_SINUSOID | POSITIONS_RELATIVE,
                     .clip = 8,
                     .act = ACT_RELU,
                     .max_tokens = 16,
                     .max_length = 8,
                     .seed = seed};
    Model *m = NULL;
    assert_int_equal(model_new(&c, small_plan(inner), b, training, &m), 0);
    return m;
}

/* The numbers of buffer 0 (weights), 1, 2 (moments); caller frees. */
static double *numbers(Model *m, int buffer)
{
    double *x = memory_new(model_size(m), sizeof *x);
    void *p = buffer ? model_moment(m, buffer - 1) : model_data(m);
    model_backend(m)->get(x, p, model_size(m));
    return x;
}

/* How many numbers of a buffer differ between two models; as_float: after rounding a's to float. */
static size_t differ(Model *a, Model *b, int buffer, int as_float)
{
    double *x = numbers(a, buffer), *y = numbers(b, buffer);
    size_t n = 0;
    for (size_t i = 0; i < model_size(a); i++)
        n += !((as_float ? (double)(float)x[i] : x[i]) == y[i]);
    memory_free(x);
    memory_free(y);
    return n;
}

/* Moments as a run leaves them: no two alike, no float exactly (1/3 + i in double). */
static void fill_moments(Model *m)
{
    double *x = memory_new(model_size(m), sizeof *x);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < model_size(m); i++) x[i] = (double)i + 1.0 / (3 + k);
        model_backend(m)->put(model_moment(m, k), x, model_size(m));
    }
    memory_free(x);
}

static const StoreText meta[] = {{"scheme", "lie-trotter"}, {"width", "8"}};

TEST(weights_come_back)
{
    const Backend *b;
    for (size_t i = 0; tested_backend(i); i++) {
        assert_int_equal(backend_find(tested_backend(i), NULL, &b), 0);
        Model *m = small_model(b, 1, 24, 1), *n = small_model(b, 2, 24, 0);
        const char *file = file_path("model");
        assert_int_equal(store_save(m, file, meta, 2), 0);
        assert_true(differ(m, n, 0, 1) > model_size(m) / 2); /* control */
        assert_int_equal(store_load(n, file), 0);
        assert_int_equal(differ(m, n, 0, 1), 0);
        char *value;
        assert_int_equal(store_meta(file, "width", &value), 0);
        assert_string_equal(value, "8");
        memory_free(value);
        model_free(m);
        model_free(n);
    }
}

/* The file of one backend is read by every other. */
TEST(weights_change_backend)
{
    const Backend *b, *c;
    for (size_t i = 0; tested_backend(i); i++)
        for (size_t j = 0; tested_backend(j); j++) {
            assert_int_equal(backend_find(tested_backend(i), NULL, &b), 0);
            assert_int_equal(backend_find(tested_backend(j), NULL, &c), 0);
            Model *m = small_model(b, 1, 24, 0), *n = small_model(c, 2, 24, 0);
            assert_int_equal(store_save(m, file_path("model"), NULL, 0), 0);
            assert_int_equal(store_load(n, file_path("model")), 0);
            assert_int_equal(differ(m, n, 0, 1), 0);
            model_free(m);
            model_free(n);
        }
}

TEST(state_comes_back)
{
    const Backend *b;
    for (size_t i = 0; tested_backend(i); i++) {
        assert_int_equal(backend_find(tested_backend(i), NULL, &b), 0);
        Model *m = small_model(b, 1, 24, 1), *n = small_model(b, 2, 24, 1);
        fill_moments(m);
        assert_int_equal(store_save_state(m, file_path("state"), meta, 2), 0);
        for (int k = 0; k < 3; k++) assert_true(differ(m, n, k, 0) > 0); /* control */
        assert_int_equal(store_load_state(n, file_path("state")), 0);
        for (int k = 0; k < 3; k++) assert_int_equal(differ(m, n, k, 0), 0);
        model_free(m);
        model_free(n);
    }
}

/* Loads that must fail leave n as it was. */
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

/* One number of a buffer (0: weights) of m replaced and saved: neither load takes it; the way back does. */
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
    Model *n = small_model(b, 2, 24, 1), *same = small_model(b, 2, 24, 1);
    const char *file = file_path("model");
    assert_int_equal(store_load_state(n, file_path("state")), code);
    if (code) assert_non_null(strstr(error_text(), "a number in it is not finite"));
    for (int i = 0; i < 3 && code; i++) assert_int_equal(differ(n, same, i, 0), 0);
    assert_int_equal(store_load(n, file), buffer ? 0 : code);
    if (!buffer) assert_int_equal(store_average(n, &file, 1), code);
    model_free(n);
    model_free(same);
}

TEST(numbers_are_finite)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (const char *const *name = (const char *const[]){"cpu-f32", "cpu-f64", NULL}; *name;
         name++) {
        const Backend *b;
        assert_int_equal(backend_find(*name, NULL, &b), 0);
        Model *m = small_model(b, 1, 24, 1);
        for (int i = 0; i < 3; i++) spoil(m, i, i % 2 ? model_size(m) - 1 : 0, bad[i], ERR_INPUT);
        spoil(m, 0, model_size(m) - 1, bad[1], ERR_INPUT);
        spoil(m, 0, 0, 1e30, 0); /* large is fine */
        model_free(m);
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
    Model *same = small_model(b, 1, 24, 1);
    job_model = small_model(b, 1, 24, 1);
    assert_true(fail_each(job_save, ERR_MEMORY) >= 5);
    assert_true(fail_each(job_load, ERR_MEMORY) >= 5);
    for (int k = 0; k < 3; k++) assert_int_equal(differ(job_model, same, k, 0), 0);
    model_free(job_model);
    model_free(same);
}

TEST_MAIN(scratch_open, scratch_close)
