/* test_filled.c: rows filled up so that there are few different numbers of them (nn/model/filled.c). It checks these numbers,
 * and that a filled step has the gradient and the loss of a step whose rows are not filled up, on every backend. */
#include "tests/lib/models.h"

enum { MOST_ROWS = 3000, MOST_SIZES = 6 };

static Pass training = {.train = 1};

/* Makes a model with the fields that filled.c reads. */
static Model model_of(const Backend *b)
{
    Model m = {.backend = b, .training = 1};
    m.config.tails = 3;
    m.config.max_tokens = MOST_ROWS;
    return m;
}

/* Sizes rise with n and are not below it, are at most 1 / row_sizes larger above the least one, and are few. */
TEST(sizes_are_few_and_near)
{
    for (size_t k = 1; k <= MOST_SIZES; k++) {
        Backend b = {.row_sizes = k};
        Model m = model_of(&b);
        size_t last = 0, different = 0;
        for (size_t n = 0; n <= MOST_ROWS; n++) {
            size_t size = filled_rows(&m, &training, n, SIZE_MAX);
            assert_true(size >= n && size >= last && size > 0);
            if (last && n > last) assert_true(size - n <= n / k);
            different += size != last;
            last = size;
            assert_int_equal(filled_rows(&m, &training, size, SIZE_MAX), size);
            assert_int_equal(filled_rows(&m, &training, n, n + 5), size < n + 5 ? size : n + 5);
            assert_int_equal(filled_rows(&m, &training, n, n / 2), n);
        }
        assert_true(different <= 6 * k + 2); /* 3000 is below 2^6 times the least */
    }
}

/* Nothing is filled up where a backend does not ask for it, in evaluation, or in a model that cannot be trained. */
TEST(only_training_is_filled_up)
{
    Backend b = {.row_sizes = 2}, none = {.row_sizes = 0};
    Model m = model_of(&b), plain = model_of(&none), used = model_of(&b);
    const Pass evaluation = {.train = 0};
    used.training = 0;
    assert_true(filled_rows(&m, &training, 70, SIZE_MAX) > 70);
    assert_int_equal(filled_rows(&plain, &training, 70, SIZE_MAX), 70);
    assert_int_equal(filled_rows(&m, &evaluation, 70, SIZE_MAX), 70);
    assert_int_equal(filled_rows(&used, &training, 70, SIZE_MAX), 70);
    assert_int_equal(filled_most(&plain), MOST_ROWS);
    assert_int_equal(filled_most(&used), MOST_ROWS);
}

/* ---- the same gradient --------------------------------------------------------------------------- */

static Model *ends_model(const Backend *b, const TinyEnds *e)
{
    ModelConfig c = tiny_ends_config(e);
    Model *m;
    if (model_new(&c, tiny_ends_plan(e), b, 1, &m) != 0) fail_msg("%s: %s", e->name, error_text());
    tiny_shake(m, 3);
    return m;
}

/* Returns the gradient of a batch, which the caller frees, and sets the mean loss. */
static double *gradient(const Backend *b, const TinyEnds *e, char which, double *mean)
{
    OWN_MODEL *m = ends_model(b, e);
    Batch x = tiny_batch_as(m, which);
    assert_int_equal(model_gradient(m, &x, 1, mean), 0);
    return tiny_gradient(m);
}

static size_t size_of(const Backend *b, const TinyEnds *e)
{
    OWN_MODEL *m = ends_model(b, e);
    return model_size(m);
}

/* Returns the tolerance. Zeros at the end of a sum do not change it, but more rows may be added in another order: some
 * 100 eps of numbers of order 1. Where factors are rounded to few bits, or cut, another last bit may make another
 * factor: one of them, twice. */
static double tolerance(const Backend *b)
{
    return b->eps > 0x1p-20 ? 4 * b->eps : 100 * eps_of(b);
}

/* The control: a backend that takes filler rows for row 0, with a loss like others. */
static const Backend *real;

static const int32_t *instead(size_t n, const int32_t *list, int32_t none)
{
    static int32_t word[512];
    assert_true(n <= sizeof word / sizeof *word);
    for (size_t i = 0; i < n; i++) word[i] = list[i] == none ? 0 : list[i];
    return word;
}

static void spoilt_loss(size_t n, size_t columns, const void *z, const int32_t *target, Labels q,
                        const double *grad, void *dz, void *nll)
{
    real->cross_entropy(n, columns, z, instead(n, target, FILLER), q, grad, dz, nll);
}

static void spoilt_embed(size_t n, size_t columns, const int32_t *token, const int32_t *position,
                         const void *x, double scale, const void *P, Dropout drop, void *h)
{
    real->embed(n, columns, instead(n, token, NO_ROW), position, x, scale, P, drop, h);
}

static void spoilt_back(size_t n, size_t columns, size_t rows, const int32_t *token, double scale,
                        Dropout drop, const void *dh, void *dx)
{
    real->embed_back(n, columns, rows, instead(n, token, NO_ROW), scale, drop, dh, dx);
}

static double apart(const Backend *full, const Backend *none, const TinyEnds *e, char which)
{
    double mean[2];
    OWN_NUMBERS *g = gradient(full, e, which, &mean[0]), *h = gradient(none, e, which, &mean[1]);
    return fmax(distance(g, h, size_of(none, e)), fabs(mean[0] - mean[1]));
}

TEST(filled_up_rows_change_rounding_alone)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyEnds *e = tiny_ends; e->name; e++)
            for (const char *which = "abc"; *which; which++) {
                Backend full = *backend(tested_backend(i)), none = full;
                full.row_sizes = 2, none.row_sizes = 0;
                double d = apart(&full, &none, e, *which), tol = tolerance(&none);
                if (!(d <= tol)) fail_msg("%s, %s, %c: %g", none.name, e->name, *which, d);
            }
}

/* A loss of filler rows is seen in all models that have filler rows. */
TEST(a_loss_of_theirs_is_seen)
{
    for (const TinyEnds *e = tiny_ends; e->name; e++) {
        if (!tested_backend(0) || strncmp(tested_backend(0), "cpu", 3) != 0)
            skip(); /* host lists */
        Backend full = *backend(tested_backend(0)), none = full;
        real = backend(tested_backend(0));
        full.row_sizes = 2, none.row_sizes = 0;
        full.cross_entropy = spoilt_loss;
        full.embed = spoilt_embed;
        full.embed_back = spoilt_back;
        int any = e->adaptive || e->head.masked;
        double d = apart(&full, &none, e, 'a');
        if (any ? !(d > 1e-3) : !(d <= tolerance(&none))) fail_msg("%s: %g", e->name, d);
    }
}

TEST_MAIN(NULL, NULL)
