/* test_adaptive.c: adaptive embedding and softmax against a plain model that spells them out, on every backend.
 * test_gradient.c compares gradients with differences of the loss, in f64; here those of all backends are compared
 * with them. Tests that do not concern one form alone run tied and untied, with labels plain and smoothed.
 *
 * The plain model is untied. Its embedding has the row E_0[v] or P_i E_i[v] for every word v. Its output matrix is
 * made in the same way of the output's E and P, with a row more for every entry: its V + k logits are those of
 * head and tails at once. */
#include "tests/lib/test.h"

#include "kernels/random.h"
#include "tests/lib/models.h"

/* Words 0 .. 3; tails 4 .. 6 of width 4 and 7 .. 10 of width 2. */
enum { HEAD = 4, SECOND = 7, TAILS = 2, FACTOR = 2, ALL = V + TAILS };

static ModelConfig adaptive(void)
{
    return TINY_WITH(c.tails = TAILS, c.cut[0] = HEAD, c.cut[1] = SECOND, c.factor = FACTOR);
}

/* Tied and untied, with labels plain and smoothed. */
enum { FORMS = 4 };

static ModelConfig adaptive_form(size_t f)
{
    ModelConfig c = adaptive();
    c.untied = (int)f % 2;
    c.smoothing = f < 2 ? 0 : 0.3;
    return c;
}

static Model *adaptive_model(const char *name, ModelConfig c)
{
    return shaken(name, c, tiny_residual(), 1);
}

/* Returns the tolerance of a log p. It comes after some 8 products of D = 8 terms below 2, whose factors are each
 * rounded by eps / 2: sqrt(64) 2 eps in the mean, twice that at most. */
static double tolerance(const Model *m)
{
    const Backend *b = model_backend(m);
    return 32 * fmax(b->eps, b->size == 8 ? 0x1p-52 : 0x1p-23);
}

/* Tells whether the tolerance is too wide for a control. */
static int is_coarse(const Model *m)
{
    return tolerance(m) > 0.01;
}

/* ---- the plain model ----------------------------------------------------------------------------- */

/* Computes out (words, D) = E (words, w) P^T, P (D, w). */
static void widen(Model *m, const char *end, int tail, size_t words, size_t w, double *out)
{
    char name[64];
    snprintf(name, sizeof name, "%s.tail.%d.weight", end, tail);
    OWN_NUMBERS *e = tiny_tensor(m, name);
    snprintf(name, sizeof name, "%s.tail.%d.project.weight", end, tail);
    OWN_NUMBERS *p = tiny_tensor(m, name);
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
    char name[64];
    snprintf(name, sizeof name, "%s.weight", end);
    OWN_NUMBERS *head = tiny_tensor(m, name);
    snprintf(name, sizeof name, "%s.entry.weight", end);
    OWN_NUMBERS *entry = tiny_tensor(m, name);
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
        OWN_MODEL *m = adaptive_model(tested_backend(i / 2), adaptive_form(i % 2)),
                  *r = plain_of(m);
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

/* Copies every tensor of `from` to the name that it has at the other end of an untied model. */
static void copy_embedding(Model *from, Model *to)
{
    const Param *list;
    size_t params = model_params(from, &list);
    for (size_t i = 0; i < params; i++) {
        OWN_NUMBERS *x = tiny_tensor(from, list[i].name);
        char name[128];
        int embed = strncmp(list[i].name, "embed.", 6) == 0;
        if (model_find(to, list[i].name)) put_tensor(to, list[i].name, x);
        snprintf(name, sizeof name, "output.%s", list[i].name + 6);
        if (embed) put_tensor(to, name, x);
    }
}

/* An untied output with the embedding's numbers gives the tied model's log p. With its starting values it does
 * not. */
TEST(untied_with_the_same_numbers_is_tied)
{
    Batch x = tiny_batch();
    for (size_t i = 0; tested_backend(i); i++) {
        OWN_MODEL *m = adaptive_model(tested_backend(i), adaptive_form(0));
        OWN_MODEL *r = adaptive_model(tested_backend(i), adaptive_form(1));
        OWN_NUMBERS *p = tiny_logits(m, &x), *q = tiny_logits(r, &x);
        assert_true(distance(p, q, N * V) > 0.1);
        copy_embedding(m, r);
        OWN_NUMBERS *same = tiny_logits(r, &x);
        assert_true(distance(p, same, N * V) <= tolerance(m));
    }
}

/* Smoothed labels give nll = -(1 - E) log p(y) - E / V sum_w log p(w), with the log p of model_logits. They do not
 * give the nll of labels that leave out the target (E / (V - 1) to each other word). */
TEST(smoothed_labels_are_over_the_vocabulary)
{
    Batch x = tiny_batch();
    for (size_t i = 0; tested_backend(i); i++)
        for (size_t form = 2; form < FORMS; form++) {
            ModelConfig c = adaptive_form(form);
            c.dropout = 0;
            OWN_MODEL *m = shaken(tested_backend(i), c, tiny_residual(), 1);
            double p[N * V], nll[N], want[N], other[N], e = c.smoothing;
            double tol = 2 * tolerance(m);
            assert_int_equal(model_logits(m, &x, p), 0);
            assert_int_equal(model_forward(m, &x, 1, 1, nll, NULL), 0);
            for (size_t k = 0; k < N; k++) {
                double sum = 0, y = p[k * V + (size_t)x.target[k]];
                for (size_t v = 0; v < V; v++) sum += p[k * V + v];
                want[k] = -(1 - e) * y - e / V * sum;
                other[k] = -(1 - e) * y - e / (V - 1) * (sum - y);
            }
            double off = distance(nll, want, N);
            if (!(off <= tol)) fail_msg("%s: off by %g", tested_backend(i), off);
            if (!is_coarse(m)) assert_false(distance(nll, other, N) <= tol);
            assert_int_equal(model_forward(m, &x, 0, 1, nll, NULL), 0); /* no smoothing here */
            for (size_t k = 0; k < N; k++)
                assert_true(fabs(nll[k] + p[k * V + (size_t)x.target[k]]) <= tol);
        }
}

/* Labels with almost no smoothing, which take another path through the tails, have the loss and the gradients of
 * plain ones. Labels with E = 0.3 do not. */
TEST(little_smoothing_is_none)
{
    Batch x = tiny_batch();
    for (size_t i = 0; tested_backend(i); i++)
        for (size_t form = 0; form < 2; form++) {
            ModelConfig c = adaptive_form(form);
            OWN_MODEL *m = shaken(tested_backend(i), c, tiny_residual(), 1);
            double mean, little, tol = tolerance(m);
            assert_int_equal(model_gradient(m, &x, 1, &mean), 0);
            OWN_NUMBERS *g = tiny_gradient(m);
            for (int much = 0; much < (is_coarse(m) ? 1 : 2); much++) {
                c.smoothing = much ? 0.3 : 0x1p-70;
                OWN_MODEL *r = shaken(tested_backend(i), c, tiny_residual(), 1);
                assert_int_equal(model_gradient(r, &x, 1, &little), 0);
                OWN_NUMBERS *h = tiny_gradient(r);
                assert_true((fabs(little - mean) <= tol) == !much);
                assert_true((distance(g, h, model_size(r)) <= tol) == !much);
            }
        }
}

/* Gradients of every backend are those of cpu-f64, which differences of the loss confirm. A number comes after
 * some 16 products, with factors rounded by eps / 2: 8 eps if all go one way. */
TEST(gradients_agree)
{
    Batch x = tiny_batch();
    for (size_t form = 0; form < FORMS; form++) {
        double mean;
        OWN_MODEL *m = adaptive_model("cpu-f64", adaptive_form(form));
        size_t size = model_size(m);
        assert_int_equal(model_gradient(m, &x, 1, &mean), 0);
        OWN_NUMBERS *g = tiny_gradient(m);
        for (size_t i = 0; tested_backend(i); i++) {
            OWN_MODEL *r = adaptive_model(tested_backend(i), adaptive_form(form));
            double tol = tolerance(r) / 4;
            assert_int_equal(model_gradient(r, &x, 1, &mean), 0);
            OWN_NUMBERS *h = tiny_gradient(r);
            double e = norm_distance(h, g, size);
            if (!(e <= tol)) fail_msg("%s, form %zu: off by %g", tested_backend(i), form, e);
            for (size_t k = 0; k < size; k++) h[k] *= 1 + 3 * tol; /* control */
            assert_false(norm_distance(h, g, size) <= tol);
        }
    }
}

/* ---- training ------------------------------------------------------------------------------------ */

/* Takes steps of two batches, one without a word of a tail every other time. The loss falls. */
static double trained(const char *name, size_t form)
{
    const AdamConfig adam = {.rate = 0.01, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8};
    ModelConfig config = adaptive_form(form);
    config.dropout = 0;
    Batch x = tiny_batch();
    OWN_MODEL *m = adaptive_model(name, config);
    double before, after;
    assert_int_equal(model_forward(m, &x, 0, 0, NULL, &before), 0);
    for (uint64_t k = 1; k <= 20; k++)
        for (size_t part = 0; part < 2; part++) {
            int32_t head[N] = {0};
            Batch y = x;
            if (part && k % 2) y.input = head, y.target = head; /* nothing in a tail */
            StepPart p = {part, 2, 2, 2 * x.N, {0}, NULL};
            assert_int_equal(model_step_part(m, &y, &p, &adam, k), 0);
        }
    assert_int_equal(model_forward(m, &x, 0, 0, NULL, &after), 0);
    assert_true(after < before - 0.5);
    return after;
}

/* bf16's factors are off by 2^-9, 20 steps of them. */
TEST(it_learns)
{
    for (size_t form = 0; form < FORMS; form++) {
        double exact = trained(tested_backend(0), form);
        for (size_t i = 1; tested_backend(i); i++)
            assert_true(fabs(trained(tested_backend(i), form) - exact) <= 0.05);
    }
}

/* Two rows a block of logits give the numbers of all rows in one block. */
TEST(blocks_of_rows_make_no_difference)
{
    Batch x = tiny_batch();
    for (size_t i = 0; tested_backend(i / FORMS); i++) {
        ModelConfig c = adaptive_form(i % FORMS);
        OWN_MODEL *m = shaken(tested_backend(i / FORMS), c, tiny_residual(), 1);
        double a[N], b[N], p[N * V], q[N * V], mean, tol = tolerance(m);
        assert_int_equal(model_forward(m, &x, 1, 0, a, NULL), 0);
        assert_int_equal(model_logits(m, &x, p), 0);
        assert_int_equal(model_gradient(m, &x, 1, &mean), 0);
        OWN_NUMBERS *g = tiny_gradient(m);
        m->out.block = 2;
        assert_int_equal(model_forward(m, &x, 1, 0, b, NULL), 0);
        assert_int_equal(model_logits(m, &x, q), 0);
        assert_int_equal(model_gradient(m, &x, 1, &mean), 0);
        OWN_NUMBERS *h = tiny_gradient(m);
        assert_true(distance(a, b, N) <= tol && distance(p, q, N * V) <= tol);
        assert_true(distance(g, h, model_size(m)) <= tol);
    }
}

/* ---- shapes -------------------------------------------------------------------------------------- */

/* The tensors of an end are there, and no others except those of a plain model without its table. Where the output is
 * untied the embedding has no entries. */
TEST(tensors_have_names_and_shapes)
{
    static const struct {
        const char *name;
        size_t rows, cols;
    } want[] = {{"weight", HEAD, D},
                {"entry.weight", TAILS, D},
                {"tail.1.weight", SECOND - HEAD, D / 2},
                {"tail.1.project.weight", D, D / 2},
                {"tail.2.weight", V - SECOND, D / 4},
                {"tail.2.project.weight", D, D / 4}};
    for (int untied = 0; untied < 2; untied++) {
        OWN_MODEL *m = adaptive_model("cpu-f32", adaptive_form((size_t)untied)),
                  *r = adaptive_model("cpu-f32", tiny_config());
        size_t size = model_size(r) - V * D;
        for (int end = 0; end <= untied; end++)
            for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
                char name[64];
                snprintf(name, sizeof name, "%s.%s", end ? "output" : "embed", want[i].name);
                const Param *p = model_find(m, name);
                if (untied && end == 0 && i == 1) continue;
                if (!p || p->rows != want[i].rows || p->cols != want[i].cols) fail_msg("%s", name);
                assert_true(model_decays(p));
                size += p->size;
            }
        assert_int_equal(model_size(m), size);
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
    refuse_model(TINY_WITH(ADAPTIVE, c.smoothing = 1), tiny_residual, ERR_INPUT, "smoothing");
#undef ADAPTIVE
}

/* Each allocation fails once. The code says so, and nothing is left allocated. */
TEST(short_memory_is_told)
{
    Batch x = tiny_batch();
    ModelConfig config = adaptive_form(3);
    double log_p[N * V];
    size_t live = memory_live(), at = 1;
    for (int code = -1; code != 0; at++) {
        Model *m = NULL;
        Plan *plan = tiny_residual();
        memory_fail_at(at);
        code = model_new(&config, plan, backend("cpu-f32"), 1, &m);
        if (code == 0) code = model_logits(m, &x, log_p);
        memory_fail_at(0);
        model_free(m);
        assert_true(code == 0 || code == ERR_MEMORY);
        assert_int_equal(memory_live(), live);
    }
    assert_true(at > 20);
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(one_thread, NULL)
