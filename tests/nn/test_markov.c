/* test_markov.c: the Markov source: its chain as a dense matrix, its text against its entropy rate. */
#include "tests/lib/test.h"

#include "nn/text/corpus.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

/* Writes the dense P (V, V). */
static void dense(const Markov *m, double *P)
{
    memset(P, 0, m->V * m->V * sizeof *P);
    for (size_t i = 0; i < m->V; i++)
        for (size_t k = 0; k < MARKOV_DEGREE; k++) {
            const MarkovEdge *e = &m->edge[i * MARKOV_DEGREE + k];
            P[i * m->V + e->to] += e->p;
        }
}

/* Returns 1 where some power of P is positive everywhere. (V-1)^2 + 1 is the last that must be tried
 * (Wielandt 1950), and powers beyond stay positive. This means irreducible and aperiodic. */
static int primitive(const double *P, size_t V)
{
    enum { MOST = 32 };
    uint32_t row[MOST] = {0}, now[MOST], next[MOST];
    for (size_t i = 0; i < V; i++)
        for (size_t j = 0; j < V; j++) row[i] |= (uint32_t)(P[i * V + j] > 0) << j;
    memcpy(now, row, sizeof now);
    for (size_t n = 1; n < (V - 1) * (V - 1) + 1; n++) {
        for (size_t i = 0; i < V; i++) {
            next[i] = 0;
            for (size_t j = 0; j < V; j++)
                if (now[i] >> j & 1) next[i] |= row[j];
        }
        memcpy(now, next, sizeof now);
    }
    for (size_t i = 0; i < V; i++)
        if (now[i] != (uint32_t)((UINT64_C(1) << V) - 1)) return 0;
    return 1;
}

/* A primitive chain has one pi with pi = pi P and sum 1, and it is that of the source. */
TEST(test_markov_chain)
{
    static const size_t states[] = {2, 3, 4, 7, 16, 31};
    for (size_t k = 0; k < sizeof states / sizeof *states; k++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            size_t V = states[k];
            double P[31 * 31], next[31] = {0}, all = 0, rate = 0;
            Markov m;
            assert_int_equal(markov_new(V, seed, &m), 0);
            dense(&m, P);
            assert_true(primitive(P, V));
            for (size_t i = 0; i < V; i++) {
                double sum = 0;
                for (size_t j = 0; j < V; j++) {
                    double p = P[i * V + j];
                    sum += p;
                    next[j] += m.pi[i] * p;
                    if (p > 0) rate -= m.pi[i] * p * log(p);
                }
                all += m.pi[i];
                assert_true(fabs(sum - 1) <= 1e-15 * MARKOV_DEGREE);
            }
            assert_true(fabs(all - 1) <= 1e-14);
            for (size_t j = 0; j < V; j++) assert_true(fabs(next[j] - m.pi[j]) <= 1e-13);
            assert_true(P[0] == 0); /* no blank line */
            assert_true(fabs(rate - m.rate) <= 1e-13);
            for (size_t i = 0; i < V; i++) { /* control: a bare cycle has a period */
                memset(P + i * V, 0, V * sizeof *P);
                P[i * V + (i + 1) % V] = 1;
            }
            assert_false(primitive(P, V));
            markov_free(&m);
        }
}

/* Computes mean and standard error of -ln p over a text of whole lines. Lines are independent (each
 * starts from <eos>), so with X_l, n_l a line's sum and length, and r = sum X / sum n, the error of
 * the ratio is sqrt(sum (X_l - r n_l)^2) / sum n. */
static void true_cross_entropy(const Markov *m, const Text *t, double *mean, double *error)
{
    double sum = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++) {
        double line = 0;
        int32_t last = 0;
        for (size_t i = 0; i < t->tokens; i++) {
            double p = 0;
            for (size_t k = 0; k < MARKOV_DEGREE; k++) {
                const MarkovEdge *e = &m->edge[(size_t)last * MARKOV_DEGREE + k];
                if (e->to == (uint32_t)t->id[i]) p += e->p;
            }
            last = t->id[i];
            if (pass == 0) sum -= log(p);
            line -= log(p) + (pass ? sum / (double)t->tokens : 0);
            if (last) continue;
            if (pass) squares += line * line;
            line = 0;
        }
    }
    *mean = sum / (double)t->tokens;
    *error = sqrt(squares) / (double)t->tokens;
}

TEST(test_markov_text)
{
    static const size_t states[] = {2, 16, 256, 5000};
    for (size_t k = 0; k < sizeof states / sizeof *states; k++) {
        char name[32];
        Markov m;
        snprintf(name, sizeof name, "markov:%zu", states[k]);
        OWN_CORPUS c = tiny_open(name, (CorpusChoice){.seed = 7});
        assert_int_equal(markov_new(states[k], 7, &m), 0);
        assert_int_equal(c.vocab.size, states[k]);
        assert_int_equal(c.vocab.unk, -1);
        assert_true(c.entropy_rate == m.rate);
        for (int i = 0; i < SPLITS; i++) {
            const Text *t = &c.text[i];
            double mean, error;
            true_cross_entropy(&m, t, &mean, &error);
            assert_true(fabs(mean - m.rate) <= 4 * error);
            assert_false(fabs(mean - 1.15 * m.rate) <= 4 * error); /* control */
            assert_true(error > 0 && error < 0.1 * m.rate);
            assert_int_equal(t->id[t->tokens - 1], c.vocab.eos);
            assert_true(t->tokens >= (i == SPLIT_TRAIN ? 200000 : 20000));
        }
        markov_free(&m);
    }
}

TEST_MAIN(scratch_open, scratch_close)
