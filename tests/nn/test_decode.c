/* test_decode.c: decoding a token at a time: every kind of instruction; hypotheses that fork, end and begin; spans and
 * narrow rare words; the most probable tokens; refusals; on every backend. tests/bridge/test_decode_plans.c has every
 * scheme. */
#include "tests/lib/test.h"

#include "kernels/random.h"
#include "tests/lib/decoded.h"
#include "tests/lib/models.h"
#include "tests/lib/scratch.h"

/* Returns the limit of tests/bridge/test_decode_plans.c. */
static double limit(const Backend *b)
{
    if (b->eps > 0x1p-20) return 160 * b->eps;
    return b->size == 8 ? 1e-12 : 1e-5;
}

static void check(Model *m, const char *what)
{
    Batch x = tiny_batch_of(m);
    double far = decoded_distance(m, &x, NULL);
    if (!(far <= limit(model_backend(m)))) fail_msg("%s: %g", what, far);
    model_free(m);
}

TEST(logits_are_those_of_a_pass)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_all; p->name; p++)
            for (int v = 0; v < 4; v++) {
                ModelConfig c = tiny_config();
                c.untied = v & 1;
                c.act = v & 1 ? ACT_RELU : ACT_GELU;
                c.positions = v & 2 ? POSITIONS_RELATIVE : c.positions;
                check(shaken(tested_backend(i), c, p->build(), 0), p->name);
            }
}

TEST(spans_and_narrow_words)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_plans; p->name; p++)
            for (int v = 0; v < 3; v++) {
                ModelConfig c = tiny_config();
                c.span = v != 1 ? 4 : 0;
                c.ramp = 2;
                c.tails = v ? 2 : 0;
                c.factor = 2;
                c.cut[0] = 4;
                c.cut[1] = 7;
                Model *m = shaken(tested_backend(i), c, p->build(), 0);
                tiny_spans(m);
                check(m, p->name);
            }
}

/* ---- hypotheses ------------------------------------------------------------------------------------- */

enum { FORKS = 12, STEPS = 6 };

/* Draws hypotheses at random: each extends one of the step before, or begins. Compares a row of z (V) with the last row
 * of a whole pass over the same tokens. */
static void check_forks(Model *m, uint64_t seed)
{
    Batch x = tiny_batch_of(m);
    Decoding *d = decoded_begin(m, &x, FORKS - x.S);
    int32_t text[2][FORKS][STEPS], length[2][FORKS], of[2][FORKS], token[FORKS], parent[FORKS];
    size_t before = 0, draws = 0;
    double z[FORKS * V], whole[STEPS * V];
    for (size_t t = 0; t < STEPS; t++) {
        size_t n = 1 + random_below(seed, 1, draws++, FORKS);
        int now = t % 2, old = !now;
        for (size_t k = 0; k < n; k++) {
            int begins = before == 0 || random_below(seed, 1, draws++, 5) == 0;
            size_t p = begins ? 0 : random_below(seed, 1, draws++, before);
            parent[k] = begins ? -1 : (int32_t)p;
            token[k] = (int32_t)random_below(seed, 1, draws++, V);
            length[now][k] = begins ? 0 : length[old][p];
            of[now][k] = begins ? (int32_t)random_below(seed, 1, draws++, x.S) : of[old][p];
            if (!begins) memcpy(text[now][k], text[old][p], sizeof text[now][k]);
            text[now][k][length[now][k]++] = token[k];
        }
        assert_int_equal(decoding_step(d, n, token, parent, of[now]), 0);
        assert_int_equal(decoding_logits(d, z), 0);
        before = n;
        /* The whole pass spoils the registers, which no step needs. The source's are not among them. */
        for (size_t k = 0; k < n; k++) {
            size_t s = (size_t)of[now][k], N_ = (size_t)length[now][k], start[2 * SIDES];
            int32_t place[STEPS] = {0, 1, 2, 3, 4, 5};
            Batch one = tiny_one(&x, s, start);
            one.N = one.longest = start[1] = N_;
            one.input = one.target = text[now][k];
            one.position = place;
            assert_int_equal(model_logits(m, &one, whole), 0);
            double far = relative_distance(z + k * V, whole + (N_ - 1) * V, V);
            if (!(far <= limit(model_backend(m)))) fail_msg("step %zu, %zu: %g", t, k, far);
        }
    }
    decoding_free(d);
    model_free(m);
}

TEST(hypotheses_fork_and_end)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_all; p->name; p++)
            for (uint64_t seed = 0; seed < (tested_prefix ? 1 : 5); seed++)
                check_forks(shaken(tested_backend(i), tiny_config(), p->build(), 0), seed);
}

/* In f64 a hypothesis has the same bits alone and with others, at any place in the caches. */
TEST(the_company_does_not_matter)
{
    for (const TinyPlan *p = tiny_all; p->name; p++) {
        OWN_MODEL *m = shaken("cpu-f64", tiny_config(), p->build(), 0);
        Batch x = tiny_batch_of(m);
        double z[N * V], one[N * V];
        Decoding *d = decoded_begin(m, &x, 0);
        decoded_rows(d, &x, NULL, z);
        decoding_free(d);
        for (size_t s = 0; s < x.S; s++) {
            size_t start[2 * SIDES];
            Batch alone = tiny_one(&x, s, start);
            d = decoded_begin(m, &alone, 0);
            decoded_rows(d, &alone, NULL, one);
            decoding_free(d);
            assert_memory_equal(one, z + x.start[s] * V, alone.N * V * sizeof *z);
        }
    }
}

/* A Decoding that begins again gives the bits of a new one. */
TEST(begins_again)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_all; p->name; p++) {
            OWN_MODEL *m = shaken(tested_backend(i), tiny_config(), p->build(), 0);
            Batch x = tiny_batch_of(m);
            double first[N * V], z[N * V];
            size_t start[2 * SIDES];
            Batch one = tiny_one(&x, 1, start);
            Decoding *d = decoded_begin(m, &x, 0);
            decoded_rows(d, &x, NULL, first);
            assert_int_equal(decoding_begin(d, m->plan->sides > 1 ? &one : NULL), 0);
            decoded_rows(d, &one, NULL, z);
            assert_int_equal(decoding_begin(d, m->plan->sides > 1 ? &x : NULL), 0);
            size_t calls = memory_calls();
            memset(z, 0, sizeof z);
            decoded_rows(d, &x, NULL, z);
            assert_int_equal(memory_calls(), calls + 1); /* decoded_rows allocates once */
            assert_memory_equal(z, first, x.N * V * sizeof *z);
            decoding_free(d);
        }
}

/* ---- the most probable tokens ----------------------------------------------------------------------- */

/* The best tokens are those of the logits on the host, for models with and without narrow words. */
TEST(best_tokens)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (int v = 0; v < 3; v++) {
            ModelConfig c = tiny_config();
            if (v == 2) c.tails = 1, c.cut[0] = 5, c.factor = 2;
            OWN_MODEL *m =
                shaken(tested_backend(i), c, v == 1 ? tiny_transformer(0) : tiny_residual(), 0);
            Batch x = tiny_batch_of(m);
            Decoding *d;
            assert_int_equal(decoding_new(m, 3, 1, V, &d), 0);
            assert_int_equal(decoding_begin(d, v == 1 ? &x : NULL), 0);
            int32_t begin[3] = {3, 0, 7}, none[3] = {-1, -1, -1}, of[3] = {0, 1, 2}, index[3 * V];
            int32_t only[3] = {10, 0, 4};
            double z[3 * V], value[3 * V], log_p[3];
            assert_int_equal(decoding_step(d, 3, begin, none, of), 0);
            assert_int_equal(decoding_logits(d, z), 0);
            for (size_t K = 0; K <= V; K++) {
                assert_int_equal(decoding_best(d, K, index, value, K % 2 ? only : NULL, log_p), 0);
                for (size_t n = 0; n < 3; n++) {
                    double sum = 0, *row = z + n * V;
                    for (size_t w = 0; w < V; w++) sum += exp(row[w]);
                    for (size_t k = 0; k < K; k++) {
                        size_t above = 0, is = (size_t)index[n * K + k];
                        for (size_t w = 0; w < V; w++)
                            above += row[w] > row[is] || (row[w] == row[is] && w < is);
                        assert_int_equal(above, k);
                        assert_true(fabs(value[n * K + k] - row[is] + log(sum)) <= 1e-5);
                    }
                    if (K % 2) assert_true(fabs(log_p[n] - row[only[n]] + log(sum)) <= 1e-5);
                }
            }
            decoding_free(d);
        }
}

TEST(numbers_that_are_none)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (int tails = 0; tails < 2; tails++) {
            ModelConfig c = tiny_config();
            if (tails) c.tails = 1, c.cut[0] = 5, c.factor = 2;
            OWN_MODEL *m = shaken(tested_backend(i), c, tiny_residual(), 0);
            Decoding *d;
            int32_t begin = 0, none = -1, index[4];
            double value[4], log_p;
            assert_int_equal(decoding_new(m, 1, 1, 4, &d), 0);
            assert_int_equal(decoding_begin(d, NULL), 0);
            set_tensor(m, "final_norm.bias", NAN);
            assert_int_equal(decoding_step(d, 1, &begin, &none, NULL), 0);
            assert_int_equal(decoding_best(d, 4, index, value, &begin, &log_p), 0);
            for (int k = 0; k < 4; k++)
                assert_true(!isfinite(value[k]) && index[k] >= 0 && index[k] < V);
            assert_true(isnan(log_p));
            decoding_free(d);
        }
}

/* ---- refusals ---------------------------------------------------------------------------------------- */

TEST(steps_outside_the_model_are_refused)
{
    for (size_t i = 0; tested_backend(i); i++) {
        OWN_MODEL *m = shaken(tested_backend(i), tiny_config(), tiny_transformer(0), 0);
        OWN_MODEL *trained = shaken(tested_backend(i), tiny_config(), tiny_residual(), 1);
        const ModelConfig *c = model_config(m);
        Batch x = tiny_batch_of(m), bad = x;
        Decoding *d = NULL;
        assert_int_equal(decoding_new(trained, 1, 1, 1, &d), ERR_MISUSE);
        assert_int_equal(decoding_new(m, 0, 1, 1, &d), ERR_MISUSE);
        assert_int_equal(decoding_new(m, 1, 0, 1, &d), ERR_MISUSE);
        assert_int_equal(decoding_new(m, c->max_tokens + 1, 1, 1, &d), ERR_MISUSE);
        assert_int_equal(decoding_new(m, 1, c->max_length + 1, 1, &d), ERR_MISUSE);
        assert_int_equal(decoding_new(m, 1, 1, V + 1, &d), ERR_MISUSE);
        assert_null(d);
        assert_int_equal(decoding_new(m, 4, 2, 2, &d), 0);
        assert_int_equal(decoding_begin(d, NULL), ERR_MISUSE);
        bad.S = 5;
        assert_int_equal(decoding_begin(d, &bad), ERR_MISUSE);
        bad = x;
        bad.source.N = 0;
        assert_int_equal(decoding_begin(d, &bad), ERR_MISUSE);
        bad = x;
        bad.source.start = (size_t[]){0, 0, 8, 12}; /* an empty source; one too long */
        assert_int_equal(decoding_begin(d, &bad), ERR_MISUSE);
        bad.source.start = (size_t[]){0, 2, 10, 12};
        assert_int_equal(decoding_begin(d, &bad), ERR_MISUSE);
        assert_int_equal(decoding_begin(d, &x), 0);
        int32_t token[5] = {1, 2, 3, 4, 5}, none[5] = {-1, -1, -1, -1, -1}, of[5] = {0, 1, 2, 2, 0};
        int32_t index[8], wrong[4] = {-1, -1, -1, 0};
        double value[8];
        assert_int_equal(decoding_step(d, 0, token, none, of), ERR_MISUSE);
        assert_int_equal(decoding_step(d, 5, token, none, of), ERR_MISUSE);
        assert_int_equal(decoding_step(d, 4, token, wrong, of), ERR_MISUSE); /* no parent yet */
        assert_int_equal(decoding_step(d, 4, (int32_t[]){0, 0, -1, 0}, none, of), ERR_MISUSE);
        assert_int_equal(decoding_step(d, 4, (int32_t[]){0, 0, V, 0}, none, of), ERR_MISUSE);
        assert_int_equal(decoding_step(d, 4, token, none, (int32_t[]){0, 0, 3, 0}), ERR_MISUSE);
        assert_int_equal(decoding_step(d, 4, token, none, (int32_t[]){0, 0, -1, 0}), ERR_MISUSE);
        assert_int_equal(decoding_step(d, 3, token, none, of), 0);
        assert_int_equal(decoding_best(d, 3, index, value, NULL, NULL), ERR_MISUSE);
        assert_int_equal(decoding_best(d, 2, index, value, NULL, NULL), 0);
        assert_int_equal(decoding_step(d, 1, token, (int32_t[]){3}, of), ERR_MISUSE);
        assert_int_equal(decoding_step(d, 1, token, (int32_t[]){-2}, of), ERR_MISUSE);
        assert_int_equal(decoding_step(d, 1, token, (int32_t[]){1}, of), ERR_MISUSE); /* of 1 */
        int32_t first[4] = {0, 1, 2, 2};
        assert_int_equal(decoding_step(d, 4, token, first, of), 0);
        assert_int_equal(decoding_step(d, 1, token, first, of), ERR_MISUSE); /* a third token */
        assert_int_equal(decoding_step(d, 2, token, none, of), ERR_MISUSE);  /* a row too many */
        assert_int_equal(decoding_step(d, 1, token, none, of), 0);
        decoding_free(d);
        decoding_free(NULL);
    }
}

static Model *fixed;

static int job(void)
{
    Decoding *d;
    TRY(decoding_new(fixed, 3, 4, 2, &d));
    decoding_free(d);
    return 0;
}

TEST(short_of_memory)
{
    fixed = shaken("cpu-f32", tiny_config(), tiny_transformer(0), 0);
    assert_true(fail_each(job, ERR_MEMORY) > 10);
    model_free(fixed);
}

/* The stated bytes are those allocated. */
TEST(bytes)
{
    OWN_MODEL *m = shaken(tested_backend(0), tiny_config(), tiny_transformer(0), 0);
    const Backend *b = model_backend(m);
    Decoding *d;
    assert_int_equal(decoding_new(m, 3, 4, 2, &d), 0);
    size_t word = b->size == 8 ? 2 : 1, ints = 3 * 4 + 3 * 7 + 3 + 3 + 6;
    size_t numbers = 3 * 4 * 2 * D + model_config(m)->max_source * 2 * D + 6;
    assert_in_range(decoding_bytes(m, 3, 4, 2), (numbers + ints / word) * b->size,
                    (numbers + ints / word + 6) * b->size);
    decoding_free(d);
}

TEST(nothing_leaks)
{
    assert_int_equal(memory_live(), 0);
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(NULL, NULL)
