/* test_kernels.c: every kernel of every backend and instruction set against plain references.
 *
 * The table of kernel_ops.h gives each kernel's formula in doubles. Here are the checks that hold for
 * all of them, over sizes that do not fit vectors or tiles, dropout rates and thread counts:
 *   forward    equals the reference, writes all of its NaN-poisoned output, changes no input and no
 *              guard number around any buffer, allocates nothing, and gives the same bits twice;
 *   backward   equals differences of the reference, number by number, added to the earlier content;
 *   adjoint    <dy, J v> = <J^T dy, v> along random v, for sizes too large for the former.
 *
 * Tolerances. A result made by n roundings of numbers up to M is off by at most n eps M to first
 * order; op->count gives n for the forward pass, and a gradient adds sums over the N rows. The factor 4
 * covers the inputs of an exponential (|score| < 8 amplifies their rounding) and products of sums.
 * Differences of sixth order in h = 2^-8 have a truncation error h^6 f''''''' / 140 < 1e-12 here
 * and a rounding error of at most 1.84 n eps A / h, A = sum |dy_i y_i|.
 */
#include "tests/lib/test.h"

#include "tests/kernels/kernel_runs.h"

static void check_forward(Run *u)
{
    SCOPE;
    const Op *op = u->r->op;
    size_t n = u->r->out;
    run_forward(u);
    double *x = fetch(u->b, u->out, n);
    double tol = forward_tolerance(u);
    CHECK(near(x, u->r->y, n, tol), op, u->b, u->r->t, "differs from the reference");
    double kept = x[n / 2];
    x[n / 2] += 3 * tol;
    CHECK(!near(x, u->r->y, n, tol), op, u->b, u->r->t, "a spoiled number went unseen");
    x[n / 2] = NAN;
    CHECK(!near(x, u->r->y, n, tol), op, u->b, u->r->t, "a NaN went unseen");
    x[n / 2] = kept;
    u->b->fill(u->out, NAN, n);
    run_forward(u);
    double *again = fetch(u->b, u->out, n);
    CHECK(same(x, again, n), op, u->b, u->r->t, "a second run gave other bits");
}

/* Returns the gradient of input a after a backward pass, without the earlier content. */
static double *gradient_of(const Run *u, int a)
{
    double *x = fetch(u->b, u->din[a], u->r->size[a]);
    for (size_t i = 0; u->base[a] && i < u->r->size[a]; i++) x[i] -= u->base[a][i];
    return x;
}

static double gradient_count(const Run *u)
{
    return 4 * (double)(u->r->op->count(u->r->t) + u->r->t->N + u->r->t->D);
}

static double gradient_tolerance(const Run *u, int a)
{
    const Reference *r = u->r;
    double tol = gradient_count(u) * eps_of(u->b) * (2 + largest(r->grad[a], r->size[a]));
    return tol + r->fd_error;
}

static void check_gradient(Run *u)
{
    SCOPE;
    const Reference *r = u->r;
    run_backward(u, u->din);
    for (int a = 0; a < INPUTS; a++) {
        if (!u->din[a]) continue;
        double *x = gradient_of(u, a);
        double tol = gradient_tolerance(u, a);
        CHECK(near(x, r->grad[a], r->size[a], tol), r->op, u->b, r->t,
              "a gradient differs from differences of the reference");
        x[r->size[a] - 1] += 3 * tol;
        CHECK(!near(x, r->grad[a], r->size[a], tol), r->op, u->b, r->t,
              "a spoiled gradient went unseen");
    }
}

/* Restores din to its values before a backward pass. */
static void run_reset(Run *u)
{
    for (int a = 0; a < INPUTS; a++)
        if (u->din[a] && u->base[a])
            u->b->put(u->din[a], u->base[a], u->r->size[a]);
        else if (u->din[a])
            u->b->fill(u->din[a], NAN, u->r->size[a]);
}

/* Checks that a second backward pass, and passes that leave one adjoint out, give the same bits. */
static void check_optional(Run *u)
{
    SCOPE;
    double *first[INPUTS] = {0};
    for (int a = 0; a < INPUTS; a++)
        if (u->din[a]) first[a] = fetch(u->b, u->din[a], u->r->size[a]);
    for (int without = -1; without < INPUTS; without++) {
        if (without >= 0 && (!u->base[without] || u->r->op->needed >> without & 1)) continue;
        void *din[INPUTS];
        memcpy(din, u->din, sizeof din);
        if (without >= 0) din[without] = NULL;
        run_reset(u);
        run_backward(u, din);
        for (int a = 0; a < INPUTS; a++) {
            if (!din[a]) continue;
            double *x = fetch(u->b, din[a], u->r->size[a]);
            CHECK(same(x, first[a], u->r->size[a]), u->r->op, u->b, u->r->t,
                  "a backward pass without one adjoint gave other bits");
        }
    }
}

static void check_small(const Op *op, Trial *t)
{
    SCOPE;
    Reference r = reference_new(op, t);
    if (op->back) reference_gradient(&r);
    for (size_t i = 0; i < backend_count; i++) {
        SCOPE;
        if (lacks(backends[i], op)) continue;
        Run u = run_new(backends[i], &r);
        check_forward(&u);
        if (op->back) check_gradient(&u);
        if (op->back) check_optional(&u);
        check_inputs(&u);
    }
}

TEST(small_sizes)
{
    for (size_t i = 0; i < sizeof small_trials / sizeof *small_trials; i++)
        for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
            SCOPE;
            Trial t = trial_of(small_trials + i, rates[k]);
            for (size_t o = 0; o < OPS; o++) check_small(op_table + o, &t);
        }
}

/* Compares <J^T dy, v> of a backend with `expected`. v is so small that no inner product moves by more than about the
 * step. */
static void check_adjoint(Run *u, double *const v[INPUTS], double expected)
{
    SCOPE;
    double sum = 0, size = 0;
    run_backward(u, u->din);
    for (int a = 0; a < INPUTS; a++) {
        if (!u->din[a]) continue;
        double *x = gradient_of(u, a);
        for (size_t i = 0; i < u->r->size[a]; i++) {
            sum += x[i] * v[a][i];
            size += (2 + fabs(x[i])) * fabs(v[a][i]);
        }
    }
    double tol = gradient_count(u) * eps_of(u->b) * size + u->r->fd_error;
    CHECK(fabs(sum - expected) <= tol, u->r->op, u->b, u->r->t, "<J^T dy, v> is not <dy, J v>");
    CHECK(!(fabs(sum + 3 * tol - expected) <= tol), u->r->op, u->b, u->r->t, "spoiled sum unseen");
}

static void check_large(const Op *op, Trial *t)
{
    SCOPE;
    Reference r = reference_new(op, t);
    double *v[INPUTS], *work = host_new(r.out);
    for (int a = 0; a < INPUTS; a++) {
        v[a] = host_random(r.size[a], 300 + (uint64_t)a);
        double scale = op->fixed >> a & 1 ? 0 : 1 / sqrt((double)t->D);
        for (size_t i = 0; i < r.size[a]; i++) v[a][i] *= scale;
    }
    double expected = op->back ? difference(&r, v, work) : 0;
    for (size_t i = 0; i < backend_count; i++) {
        SCOPE;
        /* without dropout, and threads of a processor, there is nothing new at another rate */
        if (!op->back && t->drop.rate > 0 && backends[i]->device) continue;
        if (lacks(backends[i], op)) continue;
        Run u = run_new(backends[i], &r);
        check_forward(&u);
        if (op->back) check_adjoint(&u, v, expected);
        if (op->back && t->drop.rate > 0) check_optional(&u);
        check_inputs(&u);
    }
}

TEST(large_sizes)
{
    int before = backend_threads(0);
    for (size_t i = 0; i < sizeof large_trials / sizeof *large_trials; i++)
        for (int threads = 1; threads <= 3; threads += 2) {
            SCOPE;
            /* The first sizes are taken with and without dropout and threads, the others in turn. A device alone has
             * no threads: it takes these with dropout only. */
            int device = backends[0]->device;
            backend_threads(threads);
            Trial t = trial_of(large_trials + i, threads == 1 ? 0 : 0.1);
            for (size_t o = 0; o < OPS; o++)
                if (i == 0 || (device ? threads > 1 : (i + o) % 2 == (threads > 1)))
                    check_large(op_table + o, &t);
        }
    backend_threads(before);
}

/* ---- edges ------------------------------------------------------------------------------------- */

/* Masks are right for a rate next to 1, and for every element index modulo 4 and modulo the lanes. */
TEST(masks)
{
    const double edge[] = {0x1p-40, 0.25, 0.999, 1 - 0x1p-53};
    enum { N = 5, D = 131 };
    for (size_t i = 0; i < backend_count; i++)
        for (size_t k = 0; k < 4; k++) {
            /* Step 3 of place 5 is the stream 5 + 3 2^24. */
            SCOPE;
            const Backend *b = backends[i];
            uint64_t *three = sent(b, &(uint64_t){3}, sizeof *three);
            Dropout d = {edge[k], 77, 5, three, k % 2 * 7 * D};
            void *x = buffer_new(b, N * D, NULL), *zero = plain_new(b, D);
            b->fill(x, 1, N * D);
            b->bias_drop(N, D, x, zero, d);
            double *y = fetch(b, x, N * D);
            d.stream += (uint64_t)3 << DROPOUT_STEP;
            for (size_t e = 0; e < N * D; e++) {
                double keep = ref_keep(&d, e);
                assert_true(fabs(y[e] - keep) <= eps_of(b) * keep);
            }
        }
}

/* Windows of all lengths, also none, become 0, and no number beside them does. */
TEST(windows_are_cleared)
{
    enum { N = 1000, WINDOWS = 4 };
    static const size_t window[2 * WINDOWS] = {1, 2, 7, 7, 130, 700, 999, N};
    for (size_t i = 0; i < backend_count; i++) {
        SCOPE;
        const Backend *b = backends[i];
        void *x = plain_new(b, N), *at = sent(b, window, sizeof window);
        b->fill(x, 1, N);
        b->clear(x, WINDOWS, at, 1 + 570 + 1);
        double *y = fetch(b, x, N);
        for (size_t e = 0; e < N; e++)
            assert_true(y[e] == !(e == 1 || (e >= 130 && e < 700) || e == 999));
    }
}

/* Computes nll (rows) of z (rows, V), and its adjoints g (rows, V) of a loss with factor 2 where g is not NULL. */
static void losses(const Backend *b, size_t rows, size_t V, const double *z, const int32_t *target,
                   Labels q, double *nll, double *g)
{
    SCOPE;
    int32_t *on = sent(b, target, rows * sizeof *target);
    double *grad = sent(b, &(double){2}, sizeof *grad);
    void *x = buffer_new(b, rows * V, z), *out = buffer_new(b, rows, NULL);
    b->cross_entropy(rows, V, x, on, q, g ? grad : NULL, g ? x : NULL, out);
    b->get(nll, out, rows);
    if (g) b->get(g, x, rows * V);
}

/* Logits may be far apart, and a NaN must reach the loss. */
TEST(loss_extremes)
{
    static const int32_t target[] = {0, 2};
    for (size_t i = 0; i < backend_count; i++) {
        const Backend *b = backends[i];
        double nll[2], g[6];
        losses(b, 2, 3, (const double[]){1e4, -1e4, 0, 3e4, 0, -3e4}, target, (Labels){.hit = 1},
               nll, g);
        assert_true(nll[0] >= 0 && nll[0] <= 1e-12);
        assert_true(fabs(nll[1] - 6e4) <= 6e4 * eps_of(b));
        losses(b, 2, 3, (const double[]){1, NAN, 2, 1, 2, 3}, target, (Labels){.hit = 1}, nll, g);
        assert_true(isnan(nll[0]) && !isnan(nll[1]));
    }
}

/* A row that fills up has zeros, whatever its logits are. The others have the numbers that they have without it. */
TEST(rows_that_fill_up_have_no_loss)
{
    enum { V = 70, ROWS = 3 };
    const Labels q = {0.7, 0.1};
    static const int32_t target[] = {3, FILLER, 5};
    double z[ROWS * V], g[ROWS * V], one[V], nll[ROWS], without[ROWS];
    for (int v = 0; v < ROWS * V; v++) z[v] = v / V == 1 ? NAN : sin(v);
    for (size_t i = 0; i < backend_count; i++) {
        const Backend *b = backends[i];
        losses(b, ROWS, V, z, target, q, without, NULL);
        losses(b, ROWS, V, z, target, q, nll, g);
        assert_memory_equal(nll, without, sizeof nll);
        assert_true(nll[1] == 0 && nll[0] > 0 && nll[2] > 0);
        for (int v = 0; v < V; v++) assert_true(g[V + v] == 0);
        for (size_t r = 0; r < ROWS; r += 2) { /* alone */
            losses(b, 1, V, z + r * V, target + r, q, without, one);
            assert_true(without[0] == nll[r]);
            assert_memory_equal(one, g + r * V, sizeof one);
        }
    }
}

/* Rows of no number are zeros and add nothing: the other rows have the bits of a list without them. The test has
 * numbers of words around powers of 16, where a device sorts by one digit more, and the last word, whose digits are all
 * ones. */
TEST(rows_of_no_number)
{
    enum { N = 300, D = 5, KEPT = N - (N + 2) / 3, MOST = 257 };
    static const size_t words[] = {1, 15, 16, 17, 255, 256, MOST};
    static double E[MOST * D], dh[N * D], few[KEPT * D];
    int32_t token[N], kept[KEPT];
    const Dropout none = {0};
    for (size_t v = 0; v < MOST * D; v++) E[v] = cos((double)v);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        size_t V = words[k], n = 0;
        for (size_t r = 0; r < N; r++) {
            token[r] = r % 3 == 0 ? NO_ROW : (int32_t)(r % 2 ? V - 1 : r * 7 % V);
            for (size_t c = 0; c < D; c++) dh[r * D + c] = sin((double)(r * D + c));
            if (r % 3 == 0) continue;
            memcpy(few + n * D, dh + r * D, D * sizeof *dh);
            kept[n++] = token[r];
        }
        assert_int_equal(n, KEPT);
        for (size_t i = 0; i < backend_count; i++) {
            SCOPE;
            const Backend *b = backends[i];
            int32_t *all = sent(b, token, sizeof token), *without = sent(b, kept, sizeof kept);
            void *e = buffer_new(b, V * D, E), *h = buffer_new(b, N * D, dh);
            void *f = buffer_new(b, KEPT * D, few), *to = buffer_new(b, V * D, E);
            b->embed_back(N, D, V, all, 1.5, none, h, e);
            b->embed_back(KEPT, D, V, without, 1.5, none, f, to);
            double *x = fetch(b, e, V * D), *y = fetch(b, to, V * D);
            /* Runs are cut in other places. With few terms they have the same bits, with many they are rounded
             * otherwise. */
            assert_true(distance(x, y, V * D) <= 2 * N * N * eps_of(b));
            assert_true(distance(x, E, V * D) > 0.1);
            b->embed(N, D, all, NULL, e, 1.5, NULL, none, h);
            double *z = fetch(b, h, N * D);
            for (size_t r = 0; r < N; r++)
                for (size_t c = 0; c < D; c++)
                    assert_true(token[r] == NO_ROW
                                    ? z[r * D + c] == 0
                                    : fabs(z[r * D + c] - 1.5 * x[(size_t)token[r] * D + c]) <=
                                          4 * N * eps_of(b));
        }
    }
}

/* Scores are far apart, of more keys than a tile has: one key in each block of 64 outweighs all before it. The running
 * maximum carries over blocks, so the sum of a row is the value of the last such key that it sees. A list's two keys
 * that do not outweigh one another have their mean. */
TEST(extremes)
{
    enum { N = 200 };
    const size_t start[] = {0, N};
    const int32_t count[2] = {N, 2};
    for (size_t i = 0; i < backend_count; i++) {
        SCOPE;
        const Backend *b = backends[i];
        double *qkv = host_new(3 * N), tol = 4 * eps_of(b) * N;
        int32_t list[2 * N];
        for (size_t r = 0; r < N; r++) {
            qkv[3 * r] = 1;
            qkv[3 * r + 1] = r % 64 == 5 ? 1000 * (double)(r / 64 + 1) : -500;
            qkv[3 * r + 2] = (double)r;
            list[r] = (int32_t)r;
            list[N + r] = (int32_t)(N - 1 - r);
        }
        void *d = buffer_new(b, 3 * N, qkv), *out = buffer_new(b, N, NULL);
        void *lse = buffer_new(b, N, NULL);
        Trial t = {.S = 1, .longest = N, .D = 1, .H = 1};
        t.begins = sent(b, start, sizeof start);
        Attention a = attention_of(b, &t, &d);
        b->attention(&a, out, lse);
        double *y = fetch(b, out, N), *l = fetch(b, lse, N);
        for (size_t r = 5; r < N; r++) {
            size_t last = r - (r - 5) % 64;
            assert_true(fabs(y[r] - (double)last) <= tol);
            assert_true(fabs(l[r] - qkv[3 * last + 1]) <= 4 * eps_of(b) * 5000);
        }
        int32_t *keys = sent(b, list, sizeof list), *counts = sent(b, count, sizeof count);
        Listed of = {.N = 2, .count = counts, .key = keys, .ld = N, .D = 1, .H = 1};
        of.q = a.q, of.k = a.k, of.v = a.v, of.ldq = a.ldq, of.ldk = a.ldk;
        b->attend(&of, out);
        y = fetch(b, out, 2);
        assert_true(fabs(y[0] - 197) <= tol && fabs(y[1] - 198.5) <= tol);
    }
}

/* Tells whether the backend agrees with the reference. The output and the gradient of input 0 must both agree, or
 * neither. */
static int agrees(const Backend *b, const Reference *r)
{
    SCOPE;
    Run u = run_new(b, r);
    run_forward(&u);
    double *y = fetch(b, u.out, r->out);
    int out = near(y, r->y, r->out, forward_tolerance(&u));
    if (!r->op->back) return out;
    run_backward(&u, u.din);
    int grad = near(gradient_of(&u, 0), r->grad[0], r->size[0], gradient_tolerance(&u, 0));
    CHECK(out == grad, r->op, b, r->t, "output and gradient disagree about a spoiled reference");
    return out;
}

/* Of attention wrong masks, sequences and sides are seen; of lists a missing key and distances that are one too
 * long. */
TEST(spoiled_references_show)
{
    for (int spoil = 0; spoil < SPOILS; spoil++)
        for (size_t o = 0; o < OPS; o++) {
            const Op *op = op_table + o;
            int listed = op->ref == listed_ref, wrong;
            if (!listed && op->ref != attention_ref) continue;
            SCOPE;
            wrong = listed ? spoil == SPOIL_MASK || (spoil == SPOIL_SIDES && op->act & CLIP)
                           : spoil == SPOIL_MASK || (spoil == SPOIL_SEQUENCE && op->act & MEMORY) ||
                                 (spoil == SPOIL_SIDES && op->act & ALL && op->act & CLIP);
            Trial t = trial_of(listed ? large_trials + 3 : small_trials + 2, listed ? 0 : 0.1);
            t.spoil = spoil;
            Reference r = reference_new(op, &t);
            if (op->back) reference_gradient(&r);
            for (size_t i = 0; i < backend_count; i++)
                CHECK(lacks(backends[i], op) || agrees(backends[i], &r) == !wrong, op, backends[i],
                      &t, "spoiled, unseen");
        }
}

/* A relative table too large for a thread's stack takes another path to the same sums. */
TEST(large_relative_table)
{
    enum { CLIP_LARGE = 4200, D = 2, N = 150 };
    SCOPE;
    Trial t = trial_of(&(Trial){.S = 1, .length = {N}, .D = D, .H = 1, .V = 2}, 0);
    for (size_t i = 0; i < backend_count; i++) {
        SCOPE;
        const Backend *b = backends[i];
        double *sum[2];
        for (int k = 0; k < 2; k++) { /* distances stay below both clips: equal gradients */
            size_t clip = k ? CLIP_LARGE : N, rows = 2 * clip + 1;
            double *qkv = host_random(3 * N * D, 1), *dy = host_random(N * D, 2);
            double *relative = host_new(rows * D);
            for (size_t r = 0; r <= clip; r++)
                for (size_t e = 0; e < D; e++) relative[(clip - r) * D + e] = sample(3, r * D + e);
            void *in = buffer_new(b, 3 * N * D, qkv), *out = buffer_new(b, N * D, NULL);
            void *lse = buffer_new(b, N, NULL), *dout = buffer_new(b, N * D, dy);
            void *rel = buffer_new(b, rows * D, relative),
                 *din[3] = {buffer_new(b, 3 * N * D, NULL)};
            void *drel = plain_new(b, rows * D);
            Trial on = trial_on(b, &t);
            Attention a = attention_of(b, &on, &in);
            a.relative = rel, a.clip = clip;
            b->attention(&a, out, lse);
            b->attention_back(&a, out, lse, dout, din[0], keys_or_values(b, &on, din, 0),
                              keys_or_values(b, &on, din, 1), 0, drel);
            sum[k] = fetch(b, backend_at(b, drel, (clip - N) * D), (N + 1) * D);
        }
        assert_true(largest(sum[0], (N + 1) * D) > 0.01);
        assert_true(near(sum[0], sum[1], (N + 1) * D, 4 * N * eps_of(b) * 10));
    }
}

TEST(nothing_leaks)
{
    assert_int_equal(memory_live(), 0);
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(find_kernels, NULL)
