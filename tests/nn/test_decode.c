/* test_decode.c: decoding a token at a time: every kind of instruction; hypotheses that fork, end and begin;
 * the most probable tokens; refusals; on every backend. tests/bridge/test_decode_plans.c has every
 * scheme. */
#include "tests/lib/test.h"

#include "kernels/base/random.h"
#include "tests/lib/decoded.h"
#include "tests/lib/models.h"
#include "tests/lib/scratch.h"

static void check(Model *m, const char *what)
{
    Batch x = tiny_batch_of(m);
    double far = decoded_distance(m, &x, NULL);
    if (!(far <= decoded_limit(model_backend(m)))) fail_msg("%s: %g", what, far);
    model_free(m);
}

TEST(logits_are_those_of_a_pass)
{
    for (Each e = {.plans = tiny_all}; each_next(&e);) {
        const ModelConfig config[] = {
            tiny_config(),
            TINY_WITH(c.untied = 1, c.act = ACT_RELU),
            TINY_WITH(c.positions = POSITIONS_RELATIVE),
            TINY_WITH(c.untied = 1, c.act = ACT_RELU, c.positions = POSITIONS_RELATIVE),
            tiny_today(),
            TINY_WITH(c.positions = POSITIONS_LEARNED, c.kv_heads = 1, c.act = ACT_GEGLU),
            tiny_latest(model_plan(e.m)),
            TINY_WITH(c.positions = POSITIONS_ROTARY | POSITIONS_RELATIVE, c.windows = 1,
                      c.window[0] = 2)};
        int windows = model_plan(e.m)->sides == 1 && !model_backend(e.m)->device;
        for (int v = 0; v < 7 + windows; v++) check(each_twin(&e, config[v], 0), e.plan->name);
    }
}

#define NARROW(k, first) (c.tails = (k), c.factor = 2, c.cut[0] = (first), c.cut[1] = 7)

/* ---- hypotheses ------------------------------------------------------------------------------------- */

enum { FORKS = 12, STEPS = 6 };

/* Draws hypotheses at random: each extends one of the step before, or begins. Compares a row of z (V) with the last row
 * of a whole pass over the same tokens. */
static void check_forks(Model *m, uint64_t seed)
{
    Batch x = tiny_batch_of(m);
    OWN_DECODING *d = decoded_begin(m, &x, FORKS - x.S);
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
        assert_int_equal(pass_logits(m, &d->pass, z), 0);
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
            if (!(far <= decoded_limit(model_backend(m)))) fail_msg("step %zu, %zu: %g", t, k, far);
        }
    }
    model_free(m);
}

TEST(hypotheses_fork_and_end)
{
    for (Each e = {.plans = tiny_all}; each_next(&e);)
        for (uint64_t seed = 0; seed < (tested_prefix ? 1 : 3); seed++)
            check_forks(each_twin(&e, tiny_config(), 0), seed);
}

/* In f64 a hypothesis has the same bits alone and with others, at any place in the caches. A Decoding that begins again
 * gives the bits of a new one. */
TEST(the_company_does_not_matter)
{
    for (Each e = {.plans = tiny_all}; each_next(&e);) {
        int two = e.m->plan->sides > 1, f64 = strcmp(e.backend, "cpu-f64") == 0;
        double first[N * V], z[N * V], alone[N * V];
        OWN_DECODING *d = decoded_begin(e.m, &e.x, 0);
        decoded_rows(d, &e.x, NULL, first);
        for (size_t s = 0; s < e.x.S; s++) {
            size_t start[2 * SIDES];
            Batch one = tiny_one(&e.x, s, start);
            OWN_DECODING *fresh = decoded_begin(e.m, &one, 0);
            decoded_rows(fresh, &one, NULL, alone);
            if (f64) assert_memory_equal(alone, first + e.x.start[s] * V, one.N * V * sizeof *z);
            assert_int_equal(decoding_begin(d, two ? &one : NULL), 0);
            decoded_rows(d, &one, NULL, z);
            assert_memory_equal(z, alone, one.N * V * sizeof *z);
        }
        assert_int_equal(decoding_begin(d, two ? &e.x : NULL), 0);
        size_t calls = memory_calls();
        memset(z, 0, sizeof z);
        decoded_rows(d, &e.x, NULL, z);
        assert_int_equal(memory_calls(), calls + 1); /* decoded_rows allocates once */
        assert_memory_equal(z, first, e.x.N * V * sizeof *z);
    }
}

/* ---- the most probable tokens ----------------------------------------------------------------------- */

/* The best tokens are those of the logits on the host, for models with and without narrow words. */
TEST(best_tokens)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (int v = 0; v < 3; v++) {
            OWN_MODEL *m = shaken(tested_backend(i), TINY_WITH(NARROW((size_t)(v == 2), 5)),
                                  v == 1 ? tiny_transformer(0) : tiny_residual(), 0);
            Batch x = tiny_batch_of(m);
            OWN_DECODING *d;
            assert_int_equal(decoding_new(m, 3, 1, V, &d), 0);
            assert_int_equal(decoding_begin(d, v == 1 ? &x : NULL), 0);
            int32_t begin[3] = {3, 0, 7}, none[3] = {-1, -1, -1}, of[3] = {0, 1, 2}, index[3 * V];
            int32_t only[3] = {10, 0, 4};
            double z[3 * V], value[3 * V], log_p[3];
            assert_int_equal(decoding_step(d, 3, begin, none, of), 0);
            assert_int_equal(pass_logits(m, &d->pass, z), 0);
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
        }
}

TEST(numbers_that_are_none)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (int tails = 0; tails < 2; tails++) {
            OWN_MODEL *m =
                shaken(tested_backend(i), TINY_WITH(NARROW((size_t)tails, 5)), tiny_residual(), 0);
            OWN_DECODING *d;
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
        }
}

/* ---- refusals ---------------------------------------------------------------------------------------- */

TEST(steps_outside_the_model_are_refused)
{
    for (size_t i = 0; tested_backend(i); i++) {
        OWN_MODEL *m = shaken(tested_backend(i), tiny_config(), tiny_transformer(0), 0);
        OWN_MODEL *trained = shaken(tested_backend(i), tiny_config(), tiny_residual(), 1);
        Batch x = tiny_batch_of(m), bad = x;
        OWN_DECODING *d = NULL;
        const struct {
            const Model *m;
            size_t rows, length, best;
        } room[] = {{trained, 1, 1, 1},
                    {m, 0, 1, 1},
                    {m, 1, 0, 1},
                    {m, model_config(m)->max_tokens + 1, 1, 1},
                    {m, 1, model_config(m)->max_length + 1, 1},
                    {m, 1, 1, V + 1}};
        for (size_t k = 0; k < sizeof room / sizeof *room; k++)
            assert_int_equal(
                decoding_new((Model *)room[k].m, room[k].rows, room[k].length, room[k].best, &d),
                ERR_MISUSE);
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
        int32_t index[8];
        double value[8];
        static const struct {
            size_t n;
            int32_t token[5], parent[5], of[5];
            int code;
        } step[] = {
            {0, {1}, {-1}, {0}, ERR_MISUSE},
            {5, {1, 2, 3, 4, 5}, {-1, -1, -1, -1, -1}, {0, 1, 2, 2, 0}, ERR_MISUSE},
            {4, {1, 2, 3, 4}, {-1, -1, -1, 0}, {0, 1, 2, 2}, ERR_MISUSE}, /* no parent yet */
            {4, {0, 0, -1, 0}, {-1, -1, -1, -1}, {0, 1, 2, 2}, ERR_MISUSE},
            {4, {0, 0, V, 0}, {-1, -1, -1, -1}, {0, 1, 2, 2}, ERR_MISUSE},
            {4, {1, 2, 3, 4}, {-1, -1, -1, -1}, {0, 0, 3, 0}, ERR_MISUSE},
            {4, {1, 2, 3, 4}, {-1, -1, -1, -1}, {0, 0, -1, 0}, ERR_MISUSE},
            {3, {1, 2, 3}, {-1, -1, -1}, {0, 1, 2}, 0},
            {1, {1}, {3}, {0}, ERR_MISUSE},
            {1, {1}, {-2}, {0}, ERR_MISUSE},
            {1, {1}, {1}, {0}, ERR_MISUSE}, /* of 1 */
            {4, {1, 2, 3, 4}, {0, 1, 2, 2}, {0, 1, 2, 2}, 0},
            {1, {1}, {0}, {0}, ERR_MISUSE},            /* a third token */
            {2, {1, 2}, {-1, -1}, {0, 1}, ERR_MISUSE}, /* a row too many */
            {1, {1}, {-1}, {0}, 0},
        };
        for (size_t k = 0; k < sizeof step / sizeof *step; k++) {
            int code = decoding_step(d, step[k].n, step[k].token, step[k].parent, step[k].of);
            if (code != step[k].code) fail_msg("step %zu: %d", k, code);
            if (k != 7) continue;
            assert_int_equal(decoding_best(d, 3, index, value, NULL, NULL), ERR_MISUSE);
            assert_int_equal(decoding_best(d, 2, index, value, NULL, NULL), 0);
        }
        decoding_free(NULL);
    }
}

TEST(short_of_memory)
{
    OWN_MODEL *m = shaken("cpu-f32", tiny_config(), tiny_transformer(0), 0);
    assert_true(FAILURES(ERR_MEMORY, OWN_DECODING *d = NULL; code = decoding_new(m, 3, 4, 2, &d)) >
                10);
}

/* The stated bytes are those allocated. */
TEST(bytes)
{
    OWN_MODEL *m = shaken(tested_backend(0), tiny_config(), tiny_transformer(0), 0);
    const Backend *b = model_backend(m);
    OWN_DECODING *d;
    assert_int_equal(decoding_new(m, 3, 4, 2, &d), 0);
    size_t word = b->size == 8 ? 2 : 1, ints = 3 * 4 + 3 * 7 + 3 + 3 + 6;
    size_t numbers = 3 * 4 * 2 * D + model_config(m)->max_source * 2 * D + 6;
    assert_in_range(decoding_bytes(m, 3, 4, 2), (numbers + ints / word) * b->size,
                    (numbers + ints / word + 6) * b->size);
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(NULL, NULL)
