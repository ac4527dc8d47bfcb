/* test_share.c: a batch among ranks: which rank has which rows. The ranks' gradients together are those of the
 * whole batch, dropout masks included. */
#include "tests/lib/test.h"

#include "kernels/base/random.h"
#include "tests/lib/models.h"

enum { MOST = 40, SEEDS = 50 };

/* ---- rows --------------------------------------------------------------------------------------- */

typedef struct {
    size_t start[MOST + 1];
    int32_t row[MOST * 9]; /* row r holds r */
    Batch x;
} Packed;

/* Makes up to MOST sequences of 1 to 9 rows. */
static void pack(Packed *p, uint64_t seed)
{
    size_t S = 1 + (size_t)random_below(seed, 1, 0, MOST), n = 0;
    for (size_t s = 0; s < S; s++) {
        p->start[s] = n;
        n += 1 + (size_t)random_below(seed, 2, s, 9);
    }
    p->start[S] = n;
    for (size_t r = 0; r < n; r++) p->row[r] = (int32_t)r;
    p->x = (Batch){n, S, 9, p->row, p->row, p->row, p->start};
}

/* Shares are the batch, cut between sequences. None is empty without need, and none is larger than promised. */
TEST(shares_are_the_batch)
{
    static Packed p;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (int size = 1; size <= 12; size++) {
            size_t next = 0, sequences = 0, S, rows;
            for (int rank = 0; rank < size; rank++) {
                Batch x;
                size_t first[SIDES];
                pack(&p, seed);
                S = p.x.S, rows = p.x.N;
                share_batch(&p.x, rank, size, &x, first);
                assert_int_equal(first[SIDE_TARGET], next);
                if (S >= (size_t)size) assert_true(x.S > 0);
                assert_true(x.N <= share_most(rows > 9 ? rows : 9, 9, size));
                assert_int_equal(x.start[0], 0);
                assert_int_equal(x.start[x.S], x.N);
                for (size_t r = 0; r < x.N; r++) assert_int_equal(x.input[r], next + r);
                next += x.N;
                sequences += x.S;
            }
            assert_int_equal(next, rows);
            assert_int_equal(sequences, S);
        }
}

/* ---- gradients ---------------------------------------------------------------------------------- */

/* These steps change nothing: gradients are looked at, parameters stay. */
static const AdamConfig still = {.rate = 0, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
enum { STEP = 5 };

typedef enum { RIGHT, WRONG_PLACE, WRONG_ROWS, WRONG_SOURCE } Spoil;

/* Copies of tiny_batch_of's beginnings and masked rows, which sharing changes. */
typedef struct {
    size_t start[SIDES][4];
    int32_t row[TINY_MASKED];
} Own;

static Batch own_batch(const Model *m, Own *own)
{
    Batch b = tiny_batch_of(m);
    size_t(*start)[4] = own->start;
    memcpy(start[0], b.start, sizeof start[0]);
    b.start = start[0];
    if (b.asked.count) memcpy(own->row, b.asked.row, sizeof own->row);
    if (b.asked.count) b.asked.row = own->row;
    if (b.source.N == 0) return b;
    memcpy(start[1], b.source.start, sizeof start[1]);
    b.source.start = start[1];
    return b;
}

/* Adds the gradient of one rank's share to sum (size of m). */
static void add_share(Model *m, int rank, int size, Spoil spoil, double *sum)
{
    Own own[2];
    size_t first[SIDES], other[SIDES], asked;
    Batch whole = own_batch(m, &own[0]), again = own_batch(m, &own[1]), x;
    asked = batch_asked(&whole);
    share_batch(&whole, rank, size, &x, first);
    if (spoil == WRONG_PLACE) first[SIDE_TARGET] = 0;
    if (spoil == WRONG_SOURCE) first[SIDE_SOURCE] = 0;
    if (spoil == WRONG_PLACE) x.asked.before = 0;
    if (spoil == WRONG_ROWS) share_batch(&again, (rank + 1) % size, size, &x, other);
    if (x.N == 0) return;
    StepPart part = {
        .parts = 1, .most = 1, .tokens = asked, .first = {first[SIDE_TARGET], first[SIDE_SOURCE]}};
    assert_int_equal(model_step_part(m, &x, &part, &still, STEP), 0);
    OWN_NUMBERS *g = tiny_gradient(m);
    for (size_t i = 0; i < model_size(m); i++) sum[i] += g[i];
}

/* Returns the distance of the ranks' sum from the whole batch's gradient g, by its norm. */
static double apart(Model *m, const double *g, int size, Spoil spoil)
{
    size_t n = model_size(m);
    OWN_NUMBERS *sum = memory_new(n, sizeof *sum);
    for (int rank = 0; rank < size; rank++) add_share(m, rank, size, spoil, sum);
    return norm_distance(sum, g, n);
}

/* Checks the ranks' sum. A gradient is a sum over 13 rows and over at most 12 products of each layer: the order
 * of its terms can change it by some 13 x 12 roundings of terms that are not much larger than the sum; products
 * of bf16 keep 2^-8. With the masks of other rows, or the rows of another rank, it is another gradient. */
static void check_with(const char *name, const char *what, ModelConfig config, Plan *plan)
{
    OWN_MODEL *m = shaken(name, config, plan, 1);
    const Backend *b = model_backend(m);
    double unit = fmax(b->eps, b->size == 8 ? 0x1p-53 : 0x1p-24), tol = 160 * unit, mean;
    Batch whole = tiny_batch_of(m);
    assert_int_equal(model_gradient(m, &whole, STEP, &mean), 0);
    OWN_NUMBERS *g = tiny_gradient(m);
    for (int size = 2; size <= 4; size++) {
        double right = apart(m, g, size, RIGHT);
        if (!(right <= tol)) fail_msg("%s, %s, %d ranks: off by %g", name, what, size, right);
        Spoil last = model_plan(m)->sides > 1 ? WRONG_SOURCE : WRONG_ROWS;
        for (int wrong = WRONG_PLACE; wrong <= (int)last && b->eps < 1e-4; wrong++)
            if (!(apart(m, g, size, (Spoil)wrong) > 100 * tol))
                fail_msg("%s, %s, %d ranks: mistake %d is not seen", name, what, size, wrong);
    }
}

/* A share has its masked words and labels, and each counts as in the whole batch. */
TEST(shares_of_what_is_asked)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyHead *h = tiny_heads; h->masked || h->classes; h++)
            check_with(tested_backend(i), h->masked ? "masked" : "classes",
                       tiny_head_config(tiny_config(), h), tiny_encoder(tiny_residual()));
}

TEST(shares_make_the_gradient)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_all; p->name; p++)
            check_with(tested_backend(i), p->name, tiny_config(), p->build());
}

/* ---- sums --------------------------------------------------------------------------------------- */

/* Sums over ranks which all have the numbers of this one: a sum is twice that. */
static void twice(Ranks *r, void *x, size_t n, size_t element)
{
    assert_int_equal(element, sizeof(double));
    for (size_t i = 0; i < n; i++) ((double *)x)[i] *= 2;
    r->bytes += n * element;
}
static void nothing(Ranks *r)
{
    (void)r;
}

/* Every number that has a gradient is summed once, whatever the plan. A rank without rows sums as many bytes. */
TEST(every_number_is_summed_once)
{
    for (const TinyPlan *p = tiny_all; p->name; p++) {
        OWN_MODEL *m = shaken("cpu-f64", tiny_config(), p->build(), 1);
        Ranks r = {.size = 2, .begin = twice, .push = nothing, .wait = nothing};
        Batch x = tiny_batch_of(m), none = {0};
        StepPart alone = {.parts = 1, .most = 1, .tokens = x.N}, part = alone;
        part.ranks = &r;
        size_t n = model_size(m);
        assert_int_equal(model_step_part(m, &x, &alone, &still, STEP), 0);
        OWN_NUMBERS *one = tiny_get(m, model_grad(m), 0, n);
        assert_int_equal(model_step_part(m, &x, &part, &still, STEP), 0);
        OWN_NUMBERS *two = tiny_get(m, model_grad(m), 0, n);
        for (size_t i = 0; i < n; i++)
            if (two[i] != 2 * one[i])
                fail_msg("%s: number %zu: %g, %g", p->name, i, one[i], two[i]);
        uint64_t bytes = r.bytes;
        none.start = none.source.start = (size_t[]){0};
        assert_int_equal(model_step_part(m, &none, &part, &still, STEP), 0);
        assert_int_equal(r.bytes, 2 * bytes);
    }
}

TEST_MAIN(NULL, NULL)
