/* test_adaptive.c: adaptive embedding and softmax against a plain model that spells them out, on every backend.
 * test_gradient.c compares gradients with differences of the loss, in f64; here those of all backends are compared
 * with them. Tests that do not concern one form alone run tied and untied.
 *
 * The plain model is untied. Its embedding has the row E_0[v] or P_i E_i[v] for every word v. Its output matrix is
 * made in the same way of the output's E and P, with a row more for every entry: its V + k logits are those of
 * head and tails at once. */
#include "tests/lib/test.h"

#include "tests/lib/models.h"
#include "tests/lib/scratch.h"

/* Words 0 .. 3; tails 4 .. 6 of width 4 and 7 .. 10 of width 2. */
enum { HEAD = 4, SECOND = 7, TAILS = 2, FACTOR = 2, ALL = V + TAILS };

static ModelConfig adaptive(void)
{
    return TINY_WITH(c.tails = TAILS, c.cut[0] = HEAD, c.cut[1] = SECOND, c.factor = FACTOR);
}

static Model *adaptive_model(const char *name, int untied)
{
    ModelConfig c = adaptive();
    c.untied = untied;
    return shaken(name, c, tiny_residual(), 1);
}

/* Returns the tolerance of a log p. It comes after some 8 products of D = 8 terms below 2, whose factors are each
 * rounded by eps / 2: sqrt(64) 2 eps in the mean, twice that at most. */
static double tolerance(const Model *m)
{
    const Backend *b = model_backend(m);
    return 32 * fmax(b->eps, eps_of(b));
}

/* ---- the plain model ----------------------------------------------------------------------------- */

/* Computes out (words, D) = E (words, w) P^T, P (D, w). */
static void widen(Model *m, const char *end, int tail, size_t words, size_t w, double *out)
{
    OWN_NUMBERS *e = tiny_tensor(m, formed("%s.tail.%d.weight", end, tail)),
                *p = tiny_tensor(m, formed("%s.tail.%d.project.weight", end, tail));
    assert_true(e && p);
    for (size_t v = 0; v < words; v++)
        for (size_t d = 0; d < D; d++) {
            out[v * D + d] = 0;
            for (size_t i = 0; i < w; i++) out[v * D + d] += e[v * w + i] * p[d * w + i];
        }
}

/* Computes out (ALL, D): the rows of all words at an end, "embed" or "output", then the entries, if there are
 * any. */
static void spell_out(Model *m, const char *end, double *out)
{
    OWN_NUMBERS *head = tiny_tensor(m, formed("%s.weight", end)),
                *entry = tiny_tensor(m, formed("%s.entry.weight", end));
    memcpy(out, head, HEAD * D * sizeof *out);
    widen(m, end, 1, SECOND - HEAD, D / FACTOR, out + HEAD * D);
    widen(m, end, 2, V - SECOND, D / FACTOR / FACTOR, out + SECOND * D);
    memset(out + V * D, 0, TAILS * D * sizeof *out);
    if (entry) memcpy(out + V * D, entry, TAILS * D * sizeof *out);
}

/* Makes the plain model of m. All other tensors are m's. */
static Model *plain_of(Model *m)
{
    ModelConfig c = tiny_config();
    c.vocab = ALL;
    c.untied = 1;
    Model *r = model(model_backend(m)->name, c, tiny_residual(), 0);
    const Param *list;
    double table[ALL * D];
    size_t params = model_params(m, &list);
    for (size_t i = 0; i < params; i++) {
        if (strncmp(list[i].name, "embed.", 6) == 0 || strncmp(list[i].name, "output.", 7) == 0)
            continue;
        OWN_NUMBERS *x = tiny_tensor(m, list[i].name);
        put_tensor(r, list[i].name, x);
    }
    spell_out(m, "embed", table);
    put_tensor(r, "embed.weight", table);
    spell_out(m, model_config(m)->untied ? "output" : "embed", table);
    put_tensor(r, "output.weight", table);
    return r;
}

/* Returns log sum e^z. */
static double log_sum(size_t n, const double *z)
{
    double sum = 0;
    for (size_t v = 0; v < n; v++) sum += exp(z[v]);
    return log(sum);
}

/* Computes log p of every word (V) from the ALL logits of a row. */
static void by_clusters(const double *z, double *log_p)
{
    double head[HEAD + TAILS];
    memcpy(head, z, HEAD * sizeof *head);
    memcpy(head + HEAD, z + V, TAILS * sizeof *head);
    double all = log_sum(HEAD + TAILS, head);
    for (size_t v = 0; v < HEAD; v++) log_p[v] = z[v] - all;
    for (size_t v = HEAD; v < SECOND; v++)
        log_p[v] = z[V] - all + z[v] - log_sum(SECOND - HEAD, z + HEAD);
    for (size_t v = SECOND; v < V; v++)
        log_p[v] = z[V + 1] - all + z[v] - log_sum(V - SECOND, z + SECOND);
}

/* ---- the definition ------------------------------------------------------------------------------ */

TEST(it_is_what_the_plain_model_spells)
{
    Batch x = tiny_batch();
    for (size_t i = 0; tested_backend(i / 2); i++) {
        OWN_MODEL *m = adaptive_model(tested_backend(i / 2), i % 2), *r = plain_of(m);
        double got[N * V], z[N * ALL], want[N * V], nll[N], y[2 * V * D], mean, tol = tolerance(m);
        int32_t token[7] = {10, 0, 3, 4, 6, 7, 9};
        assert_int_equal(model_embed(m, SIDE_TARGET, 7, token, y), 0);
        assert_int_equal(model_embed(r, SIDE_TARGET, 7, token, y + V * D), 0);
        assert_true(distance(y, y + V * D, 7 * D) <= tol);
        assert_int_equal(model_logits(m, &x, got), 0);
        assert_int_equal(model_logits(r, &x, z), 0);
        for (size_t k = 0; k < N; k++) by_clusters(z + k * ALL, want + k * V);
        double e = distance(got, want, N * V), sum = 0;
        if (!(e <= tol)) fail_msg("%s: off by %g", model_backend(m)->name, e);
        want[N * V / 2] += 3 * tol; /* control */
        assert_false(distance(got, want, N * V) <= tol);
        assert_int_equal(model_forward(m, &x, 0, 1, nll, &mean), 0);
        for (size_t k = 0; k < N; k++) {
            assert_true(fabs(nll[k] + got[k * V + (size_t)x.target[k]]) <= tol);
            sum += nll[k] / N;
            /* The probabilities over the vocabulary sum to 1. Without the last tail they do not. */
            assert_true(fabs(log_sum(V, got + k * V)) <= V * 0x1p-48); /* done in double */
            assert_true(log_sum(SECOND, got + k * V) < -1e-6);
        }
        assert_true(fabs(mean - sum) <= tol);
    }
}

/* Gradients of every backend are those of cpu-f64, which differences of the loss confirm. A number comes after
 * some 16 products, with factors rounded by eps / 2: 8 eps if all go one way. */
TEST(gradients_agree)
{
    Batch x = tiny_batch();
    for (int untied = 0; untied < 2; untied++) {
        double mean;
        OWN_MODEL *m = adaptive_model("cpu-f64", untied);
        size_t size = model_size(m);
        assert_int_equal(model_gradient(m, &x, 1, &mean), 0);
        OWN_NUMBERS *g = tiny_gradient(m);
        for (size_t i = 0; tested_backend(i); i++) {
            OWN_MODEL *r = adaptive_model(tested_backend(i), untied);
            double tol = tolerance(r) / 4;
            assert_int_equal(model_gradient(r, &x, 1, &mean), 0);
            OWN_NUMBERS *h = tiny_gradient(r);
            double e = norm_distance(h, g, size);
            if (!(e <= tol)) fail_msg("%s, untied %d: off by %g", tested_backend(i), untied, e);
            for (size_t k = 0; k < size; k++) h[k] *= 1 + 3 * tol; /* control */
            assert_false(norm_distance(h, g, size) <= tol);
        }
    }
}

TEST(what_cannot_be_is_refused)
{
#define ADAPTIVE c = adaptive()
    refuse_model(TINY_WITH(ADAPTIVE, c.cut[1] = HEAD), tiny_residual, ERR_INPUT, "not above");
    refuse_model(TINY_WITH(ADAPTIVE, c.cut[0] = 0), tiny_residual, ERR_INPUT, "not above");
    refuse_model(TINY_WITH(ADAPTIVE, c.cut[1] = V), tiny_residual, ERR_INPUT,
                 "cut-off 11 is not below 11, the number of words"); /* a tail without words */
    refuse_model(TINY_WITH(ADAPTIVE, c.factor = 3), tiny_residual, ERR_INPUT, "too small");
    refuse_model(TINY_WITH(ADAPTIVE, c.factor = 0), tiny_residual, ERR_INPUT, "factor");
    refuse_model(TINY_WITH(ADAPTIVE, c.smoothing = 0.1), tiny_residual, ERR_INPUT, "not smoothed");
#undef ADAPTIVE
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(one_thread, NULL)
