/* test_markov.c: corpora that are made. The Markov source: its chain as a dense matrix, its text against its entropy rate. The
 * pairs of reverse:V. */
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

/* ---- the pairs of reverse:V, by a program that knows the rule alone ------------------------------------------------ */

enum { LENGTH = 12, ROW = LENGTH + 1 };
static const size_t pairs[SPLITS] = {20000, 500, 500};
static const size_t symbols[] = {2, 3, 26, 500, 10000};
enum { SIZES = sizeof symbols / sizeof *symbols };

static Corpus reverse_of(size_t V, uint64_t seed)
{
    char name[32];
    snprintf(name, sizeof name, "reverse:%zu", V);
    return tiny_open(name, (CorpusChoice){.seed = seed});
}

/* Returns 1 where every target is its source reversed, or in its order with `ahead`, under one exchange of
 * symbols. The first pairs give this exchange, to (V+1) in/out, 0 where a symbol has not been seen. */
static int follows(const Text *source, const Text *target, size_t V, int ahead, int32_t *to)
{
    if (source->tokens != target->tokens || source->tokens != source->lines * ROW) return 0;
    for (size_t at = 0; at < source->tokens; at += ROW) {
        const int32_t *x = source->id + at, *y = target->id + at;
        if (x[LENGTH] != 0 || y[LENGTH] != 0) return 0;
        for (size_t j = 0; j < LENGTH; j++) {
            int32_t from = x[j], image = y[ahead ? j : LENGTH - 1 - j];
            if (from < 1 || (size_t)from > V || image < 1 || (size_t)image > V) return 0;
            if (!to[from]) to[from] = image;
            if (to[from] != image) return 0;
        }
    }
    return 1;
}

/* Returns 1 where no two symbols go to one. */
static int is_injective(const int32_t *to, size_t V)
{
    SCOPED(memory_drop) uint8_t *taken = memory_new(V + 1, 1);
    int good = 1;
    for (size_t i = 1; i <= V; i++)
        if (to[i]) good &= !taken[to[i]]++;
    return good;
}

TEST(test_pairs_follow_the_rule)
{
    for (size_t k = 0; k < SIZES; k++) {
        size_t V = symbols[k];
        OWN_CORPUS c = reverse_of(V, 7);
        assert_int_equal(c.vocab.size, V + 1);
        assert_int_equal(c.vocab.eos, 0);
        assert_int_equal(c.vocab.unk, -1);
        assert_string_equal(c.vocab.word[0], WORD_EOS);
        assert_string_equal(c.vocab.word[2], "2");
        assert_true(c.entropy_rate == 0);
        SCOPED(memory_drop)
        int32_t *to = memory_new(V + 1, sizeof *to), *other = memory_new(V + 1, sizeof *other);
        for (int i = 0; i < SPLITS; i++) {
            assert_int_equal(c.text[i].lines, pairs[i]);
            assert_int_equal(c.source[i].lines, pairs[i]);
            assert_int_equal(text_pairs(&c.source[i], &c.text[i], 0), 0);
            assert_true(follows(&c.source[i], &c.text[i], V, 0, to));
        }
        assert_true(is_injective(to, V));
        /* controls: a target in its source's order, one symbol exchanged, pairs moved by one */
        memset(other, 0, (V + 1) * sizeof *other);
        assert_false(follows(&c.source[0], &c.text[0], V, 1, other));
        int32_t *y = &c.text[0].id[ROW + 3], was = *y;
        *y = was == 1 ? 2 : 1;
        assert_false(follows(&c.source[0], &c.text[0], V, 0, to));
        *y = was;
        Text moved = c.text[0];
        moved.id += ROW;
        moved.tokens -= ROW;
        c.source[0].tokens -= ROW;
        c.source[0].lines--;
        assert_false(follows(&c.source[0], &moved, V, 0, to));
        if (V == 26) { /* all symbols were seen */
            for (size_t i = 1; i <= V; i++) assert_true(to[i] > 0);
            to[1] = to[2];
            assert_false(is_injective(to, V));
        }
    }
}

/* Counts the lines of `t` that are in the table. */
static size_t lines_found(const Words *w, const Text *t)
{
    size_t found = 0;
    for (size_t at = 0; at < t->tokens; at += ROW)
        found += words_find(w, (const char *)(t->id + at), ROW * sizeof *t->id) >= 0;
    return found;
}

TEST(test_splits_are_disjoint)
{
    for (size_t k = 0; k < SIZES; k++)
        for (uint64_t seed = 1; seed < 4; seed++) {
            OWN_CORPUS c = reverse_of(symbols[k], seed);
            for (int i = 0; i < SPLITS; i++) {
                const Text *t = &c.source[i];
                Words w = {0};
                for (size_t at = 0; at < t->tokens; at += ROW)
                    assert_int_equal(
                        words_add(&w, (const char *)(t->id + at), ROW * sizeof *t->id, 1), 0);
                for (int j = 0; j < SPLITS; j++)
                    assert_int_equal(lines_found(&w, &c.source[j]), i == j ? pairs[j] : 0);
                words_free(&w);
            }
        }
}

TEST(test_a_function_of_size_and_seed)
{
    OWN_CORPUS a = tiny_open("reverse", (CorpusChoice){.seed = 3}), b = reverse_of(26, 3),
               d = reverse_of(26, 4), e = reverse_of(27, 3);
    for (int i = 0; i < SPLITS; i++) {
        assert_true(tiny_same_text(&a.source[i], &b.source[i]));
        assert_true(tiny_same_text(&a.text[i], &b.text[i]));
        assert_false(tiny_same_text(&a.source[i], &d.source[i]));
        assert_false(tiny_same_text(&a.text[i], &d.text[i]));
        assert_false(tiny_same_text(&a.source[i], &e.source[i]));
        assert_false(tiny_same_text(&a.text[i], &e.text[i]));
    }
    /* Parts are whole pairs from the beginning, with at least so many tokens of targets. */
    static const size_t most[] = {1, 13, 14, 100000}, lines[] = {1, 1, 2, 500};
    for (size_t k = 0; k < 4; k++) {
        CorpusChoice w = {LEVEL_WORD, 0, 3, k % 2, most[k]};
        OWN_CORPUS part = tiny_open("reverse", w);
        assert_true(tiny_same_text(&a.source[SPLIT_TRAIN], &part.source[SPLIT_TRAIN]));
        assert_int_equal(part.text[SPLIT_VALID].lines, lines[k]);
        assert_int_equal(part.text[SPLIT_VALID].tokens, lines[k] * ROW);
        assert_int_equal(part.source[SPLIT_VALID].tokens, lines[k] * ROW);
        assert_memory_equal(a.source[SPLIT_VALID].id, part.source[SPLIT_VALID].id,
                            lines[k] * ROW * sizeof(int32_t));
        assert_int_equal(part.source[SPLIT_TEST].tokens, w.untested ? 0 : lines[k] * ROW);
        assert_int_equal(part.text[SPLIT_TEST].id == NULL, w.untested);
    }
}

TEST(test_refused_names)
{
    static const char *const bad[] = {"reverse:", "reverse:1", "reverse:10001", "reverse:8:"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        tiny_refuse(bad[i], (CorpusChoice){0}, "expected reverse:V, V from 2 to 10000");
    tiny_refuse("reverse8", (CorpusChoice){0}, "no corpus 'reverse8'");
    tiny_refuse("reverse:8", (CorpusChoice){.level = LEVEL_CHAR}, "no characters");
    tiny_refuse("reverse:8", (CorpusChoice){.vocab_limit = 100}, "reverse:V has V words");
}

TEST_MAIN(scratch_open, scratch_close)
