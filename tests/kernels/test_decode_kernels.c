/* test_decode_kernels.c: kernels of decoding alone on every backend: rows do not depend on others, and the best of a row.
 * test_kernels.c has their values. */
#include "tests/lib/test.h"

#include "tests/kernels/kernel_runs.h"

/* Runs a kernel without backward on the rows of a trial in parts of `each`. The results must be those of run_forward on
 * all rows at once. */
static void check_alone(const Op *op, const Trial *t, const Reference *r, const Backend *b,
                        size_t each)
{
    SCOPE;
    Run u = run_new(b, r);
    run_forward(&u);
    double *all = fetch(b, u.out, r->out), *part;
    size_t kept = op->kept(t);
    int32_t *columns = host_bytes(kept + 1, sizeof *columns),
            *other = host_bytes(kept + 1, sizeof *other);
    if (kept) b->receive(columns, u.kept, kept * sizeof *columns);
    b->fill(u.out, NAN, r->out);
    for (size_t n = 0; n < t->N; n += each) {
        Trial on = u.on;
        void *in[INPUTS];
        memcpy(in, u.in, sizeof in);
        on.N = t->N - n < each ? t->N - n : each;
        on.count += n, on.key += n * LISTED;
        in[0] = backend_at(b, in[0], n * (r->size[0] / t->N));
        op->run(b, &on, in, backend_at(b, u.out, n * (r->out / t->N)),
                (int32_t *)u.kept + n * (kept / t->N));
    }
    part = fetch(b, u.out, r->out);
    if (kept) b->receive(other, u.kept, kept * sizeof *other);
    CHECK(same(all, part, r->out), op, b, t, "a row depends on others");
    assert_memory_equal(columns, other, kept * sizeof *columns);
}

TEST(rows_of_decoding_are_alone)
{
    for (size_t k = 0; k < 2; k++) {
        SCOPE;
        Trial t = trial_of(k ? large_trials + 3 : small_trials + 2, 0);
        for (size_t o = 0; o < OPS; o++) {
            if (op_table[o].back) continue;
            SCOPE;
            Reference r = reference_new(op_table + o, &t);
            for (size_t i = 0; i < backend_count; i++)
                for (size_t each = 1; each < 6 && !lacks(backends[i], op_table + o); each += 4)
                    check_alone(op_table + o, &t, &r, backends[i], each);
        }
    }
}

typedef struct {
    double z;
    int32_t i;
} Column;

static int by_column(const void *a, const void *b)
{
    const Column *x = a, *y = b;
    return x->z < y->z ? 1 : x->z > y->z ? -1 : (x->i > y->i) - (x->i < y->i);
}

/* Checks the columns and their order for every K, where most numbers are equal to others (levels of them), and far
 * apart. */
static void check_best(const Backend *b, size_t V, size_t levels, double scale)
{
    enum { ROWS = 4 };
    SCOPE;
    double *z = host_new(ROWS * V);
    Column *sorted = host_bytes(V, sizeof *sorted);
    int32_t *index = host_bytes(ROWS * V, sizeof *index);
    for (size_t i = 0; i < ROWS * V; i++)
        z[i] = scale * ((double)random_below(1, 2, i, levels) - (double)levels / 2);
    if (levels == 1) /* already in order, and the other way */
        for (size_t i = 0; i < 2 * V; i++) z[i] = i < V ? (double)i : -(double)i;
    void *x = buffer_new(b, ROWS * V, z), *value = buffer_new(b, ROWS * V, NULL);
    int32_t *on = sent(b, index, ROWS * V * sizeof *index);
    for (size_t K = 1; K <= V; K += K < 20 || K == V - 1 ? 1 : V - 1 - K < 50 ? V - 1 - K : 50) {
        SCOPE;
        b->best(ROWS, V, K, x, on, value);
        b->receive(index, on, ROWS * K * sizeof *index);
        double *log_p = fetch(b, value, ROWS * K);
        for (size_t r = 0; r < ROWS; r++) {
            double sum = 0;
            for (size_t i = 0; i < V; i++) sorted[i] = (Column){z[r * V + i], (int32_t)i};
            qsort(sorted, V, sizeof *sorted, by_column);
            for (size_t i = 0; i < V; i++) sum += exp(z[r * V + i] - sorted[0].z);
            for (size_t k = 0; k < K; k++) {
                double want = sorted[k].z - sorted[0].z - log(sum);
                assert_int_equal(index[r * K + k], sorted[k].i);
                assert_true(fabs(log_p[r * K + k] - want) <= 64 * eps_of(b) * (1 + fabs(want)));
            }
        }
    }
}

TEST(best_columns)
{
    static const size_t size[] = {1, 2, 15, 16, 17, 63, 300, 1031};
    for (size_t i = 0; i < backend_count; i++)
        for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
            if (size[k] > 300 && backends[i]->device)
                continue; /* a device makes K passes: minutes here */
            check_best(backends[i], size[k], 1, 0);
            check_best(backends[i], size[k], 3, 1);
            check_best(backends[i], size[k], 4 * size[k], 0.125);
            check_best(backends[i], size[k], 5, 1e4);
        }
}

/* A number that is not finite, in any column, spoils its row and no other. The columns that come out exist. */
TEST(best_of_what_is_no_number)
{
    enum { V = 70, K = 5 };
    for (size_t i = 0; i < backend_count; i++)
        for (int bad = 0; bad < 2 * V + 1; bad++) {
            SCOPE;
            const Backend *b = backends[i];
            double z[2 * V], log_p[2 * K];
            int32_t index[2 * K];
            for (int k = 0; k < 2 * V; k++) z[k] = k % 9;
            for (int k = 0; k < V; k++)
                if (bad == 2 * V || k == bad / 2) z[k] = bad % 2 ? INFINITY : NAN;
            void *x = buffer_new(b, 2 * V, z), *value = buffer_new(b, 2 * K, NULL);
            int32_t *on = sent(b, index, sizeof index);
            b->best(2, V, K, x, on, value);
            b->receive(index, on, sizeof index);
            b->get(log_p, value, 2 * K);
            for (int k = 0; k < 2 * K; k++) {
                assert_true(index[k] >= 0 && index[k] < V);
                assert_int_equal(!!isfinite(log_p[k]), k >= K);
            }
        }
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(find_kernels, NULL)
