/* test_sample.c: draws tokens from logits whose probabilities are known. The share of each token among draws by evenly
 * spaced u is its probability among the kept tokens. */
#include "tests/lib/test.h"

#include "nn/decode/search.h"

enum { V = 5, DRAWS = 100000 };

/* Probabilities 0.4, 0.3, 0.15, 0.1, 0.05, in another order. */
static const double chance[V] = {0.1, 0.4, 0.05, 0.3, 0.15};

static void logits(double z[V])
{
    for (int v = 0; v < V; v++) z[v] = 7 + log(chance[v]);
}

/* Returns the largest difference of the drawn shares from w / sum of w. */
static double apart(const double z[V], const Sampling *s, const double w[V])
{
    size_t count[V] = {0};
    Ranked room[V];
    double sum = 0, most = 0;
    for (int i = 0; i < DRAWS; i++) count[sample_token(z, V, s, (i + 0.5) / DRAWS, room)]++;
    for (int v = 0; v < V; v++) sum += w[v];
    for (int v = 0; v < V; v++) most = fmax(most, fabs((double)count[v] / DRAWS - w[v] / sum));
    return most;
}

/* Each token's share is off by at most one draw at either end. */
static const double tolerance = 2.0 / DRAWS;

static const struct {
    Sampling how;
    double w[V];
} cases[] = {
    {{1, 0, 1}, {0.1, 0.4, 0.05, 0.3, 0.15}},
    {{0.5, 0, 1}, {0.01, 0.16, 0.0025, 0.09, 0.0225}},
    {{1, 2, 1}, {0, 0.4, 0, 0.3, 0}},
    {{1, 9, 1}, {0.1, 0.4, 0.05, 0.3, 0.15}},
    {{1, 0, 0.39}, {0, 1, 0, 0, 0}},
    {{1, 0, 0.41}, {0, 0.4, 0, 0.3, 0}},
    {{1, 0, 0.69}, {0, 0.4, 0, 0.3, 0}},
    {{1, 0, 0.71}, {0, 0.4, 0, 0.3, 0.15}},
    {{1, 0, 0.96}, {0.1, 0.4, 0.05, 0.3, 0.15}},
    {{0.5, 0, 0.55}, {0, 1, 0, 0, 0}}, /* 0.16 of 0.285: the temperature comes first */
    {{0.5, 0, 0.57}, {0, 0.16, 0, 0.09, 0}},
    {{1, 2, 0.56}, {0, 1, 0, 0, 0}}, /* 0.4 of 0.7: so does top-k */
    {{1, 2, 0.58}, {0, 0.4, 0, 0.3, 0}},
    {{1, 1, 1}, {0, 1, 0, 0, 0}},
    {{1, 0, 1e-300}, {0, 1, 0, 0, 0}},
    {{1, 0, 0}, {0, 1, 0, 0, 0}},
    {{0, 0, 1}, {0, 1, 0, 0, 0}},
    {{1e-300, 0, 1}, {0, 1, 0, 0, 0}},
    {{1e300, 0, 1}, {1, 1, 1, 1, 1}},
};

/* By hand: a penalty takes likelihood from either sign of a logit, and leaves other tokens. */
TEST(said_tokens_are_penalised)
{
    double z[V] = {3, -2, 0, 5, -1};
    static const double expected[V] = {1.5, -4, 0, 5, -1};
    sample_penalise(z, V, (const char[V]){1, 1, 1, 0, 0}, 2);
    for (int v = 0; v < V; v++) assert_true(z[v] == expected[v]);
}

TEST(shares_are_probabilities)
{
    double z[V];
    logits(z);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double e = apart(z, &cases[i].how, cases[i].w);
        if (!(e <= tolerance)) fail_msg("case %zu: off by %g", i, e);
    }
}

/* The least of equal tokens comes first: a choice of one token keeps that. */
TEST(equal_tokens)
{
    static const double z[V] = {-1, 2, 2, 0, 2}, first[V] = {0, 1, 0, 0, 0},
                        two[V] = {0, 1, 1, 0, 0};
    static const Sampling one[] = {{1, 1, 1}, {0, 0, 1}, {1, 0, 1e-9}, {1, 3, 0.3}};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        assert_true(apart(z, &one[i], first) == 0);
    assert_true(apart(z, &(Sampling){1, 2, 1}, two) <= tolerance);
    assert_true(apart(z, &(Sampling){1, 3, 0.5}, two) <= tolerance);
}

TEST_MAIN(NULL, NULL)
