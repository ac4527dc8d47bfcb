/* test_lengths.c: the random sentences of `trotter bench pairs` are as long as those of Multi30k. */
#include "tests/lib/test.h"

#include "studies/bench/bench.h"

/* Lengths are those of bench_lengths.c, and the same for one vocabulary and another. */
TEST(pairs_are_as_long_as_multi30k)
{
    enum { BATCHES = 8, TOKENS = 4096 };
    Batch x[BATCHES], y[BATCHES];
    double source = 0, target = 0, pairs = 0;
    assert_int_equal(lengths_batches(9710, TOKENS, BATCHES, x), 0);
    assert_int_equal(lengths_batches(50, TOKENS, BATCHES, y), 0);
    for (int i = 0; i < BATCHES; i++) {
        assert_true(x[i].N <= TOKENS && x[i].source.N <= TOKENS);
        assert_true(x[i].N > TOKENS * 0.8);
        assert_true(x[i].longest <= LENGTHS_LONGEST && x[i].source.longest <= LENGTHS_LONGEST);
        assert_true(x[i].N == y[i].N && x[i].S == y[i].S && x[i].source.N == y[i].source.N);
        for (size_t k = 0; k < y[i].source.N; k++)
            assert_true(y[i].source.input[k] >= 0 && y[i].source.input[k] < 50);
        source += (double)x[i].source.N;
        target += (double)x[i].N;
        pairs += (double)x[i].S;
    }
    for (int i = 0; i < BATCHES; i++) lengths_free(&x[i]), lengths_free(&y[i]);
    /* eight batches in place of a hundred */
    assert_true(fabs(source / pairs - 14.7) < 0.4);
    assert_true(fabs(target / pairs - 14.8) < 0.4);
}

TEST_MAIN(NULL, NULL)
