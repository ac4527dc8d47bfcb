/* test_twin.c: weights in bf16 beside those in f32 and numbers in bf16 that only products read
 * (kernels/cuda/cuda_factor.cuh). Whatever writes them, a product reads the bits that it would have made. */
#include "tests/lib/test.h"

#include "kernels/base/error.h"
#include "nn/run/pass.h"
#include "tests/lib/attention_twin.h"
#include "tests/lib/distance.h"
#include "tests/lib/tiny.h"

static const AdamConfig adam = {.rate = 1e-2, .beta1 = .9, .beta2 = .99, .eps = 1e-8, .clip = 1};

static Backend backend(int twins)
{
    const Backend *b;
    if (backend_find("cuda-bf16", NULL, &b) != 0) {
        print_message("# SKIP %s\n", error_text());
        skip();
    }
    Backend copy = *b;
    if (!twins) {
        copy.weights = NULL;
        copy.twin_size = 0;
        backend_complete(&copy);
    }
    return copy;
}

static Model *model_of(const Backend *b, const TinyPlan *plan, int act)
{
    ModelConfig c = tiny_config();
    Model *m;
    c.act = act;
    if (model_new(&c, plan->build(), b, 1, &m) != 0) fail_msg("%s", error_text());
    return m;
}

static Model *new_model(const Backend *b, const TinyPlan *plan)
{
    return model_of(b, plan, tiny_config().act);
}

static void step(Model *m, uint64_t number)
{
    Batch x = tiny_batch_of(m);
    Step s;
    assert_int_equal(model_step(m, &x, &adam, number), 0);
    assert_int_equal(model_tally(m, &s), 0);
}

static const Model *second; /* of the two that same_training compares */

static int same_training(const Backend *b, const Backend *r, const TinyPlan *p, int act)
{
    OWN_MODEL *a = model_of(b, p, act), *c = model_of(r, p, act);
    second = c;
    for (uint64_t k = 1; k <= 4; k++) step(a, k), step(c, k);
    return tiny_same(a, a->data, c, c->data);
}

TEST(training_has_the_same_bits)
{
    Backend with = backend(1), without = backend(0);
    for (const TinyPlan *p = tiny_plans; p->name; p++)
        if (!same_training(&with, &without, p, tiny_config().act))
            fail_msg("%s: other bits with twins", p->name);
}

/* ---- factors ---------------------------------------------------------------------------------------- */

/* Tells whether factors have a form of their own. */
static int has_form(const Backend *b)
{
    return b->factor_size != b->size;
}

/* Copies all factors but the last. */
static const Backend *whole;
static void copy_less(void *y, const void *x, size_t n)
{
    whole->copy(y, x, n - 1);
}

/* Tells whether a product's result (., n) is rounded where factors are kept. Others may have the same place. */
static int written_as_factors(const Model *m, const void *C, size_t n)
{
    for (size_t i = 0; i < m->plan->instrs; i++) {
        const PlanInstr *in = &m->plan->instr[i];
        if (in->op != PLAN_EVAL || plan_attends(&m->plan->slot[in->slot])) continue;
        const SlotParams *o = &m->slot[in->slot];
        if ((C == m->work[i].in || C == m->again[i].in) && n == o->I) return 1;
        if (C == m->again[i].dcore && n == o->O) return 1;
    }
    return C == m->out.logits && n == m->out.rows;
}

/* Rounds n numbers in the place where factors would be: through a copy, or on the host. */
static void *spare;
enum { SPARE = 1 << 16 };
static void round_numbers(void *x, size_t n)
{
    float *host = x;
    if (has_form(whole)) {
        whole->copy(spare, x, n);
        whole->copy(x, spare, n);
    } else {
        for (size_t i = 0; i < n; i++) host[i] = (float)twin_rounded(1, (double)host[i]);
    }
}

/* Makes the same product where factors are numbers; a device that has factors makes it of them. */
static void rounded_gemm(int ta, int tb, size_t m, size_t n, size_t k, double alpha, const void *A,
                         size_t lda, const void *B, size_t ldb, double beta, void *C, size_t ldc)
{
    int apart = beta == 0 && ldc == n && written_as_factors(second, C, n);
    int direct = apart && has_form(whole);
    whole->gemm(ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, direct ? spare : C, ldc);
    if (direct) whole->copy(C, spare, m * n);
    if (apart && !direct) round_numbers(C, m * n);
}

/* Rounds the input of an activation that backward needs. */
static void rounded_act(size_t N, size_t M, void *u, const void *b, int act, Dropout drop, void *y)
{
    whole->bias_act(N, M, u, b, act, drop, y);
    if (act != ACT_RELU) round_numbers(u, N * M * (act_gated(act) ? 2 : 1));
}

/* Makes activations, sums and attention apart from products, where a kernel reads what a product has rounded. */
static Backend apart(Backend b)
{
    b.activate = NULL;
    b.activate_back = NULL;
    b.bias_back = NULL;
    b.weigh = NULL;
    b.signs = NULL;
    b.attends_factors = NULL;
    backend_complete(&b);
    return b;
}

/* Rounding gives the same bits when a number is made and when a product reads it. */
TEST(factors_have_the_same_bits)
{
    static const int acts[] = {ACT_RELU, ACT_GELU, ACT_SWIGLU};
    Backend with = apart(backend(1)), without = with, less = with;
    without.factors = NULL;
    without.factor_size = 0;
    backend_complete(&without);
    whole = &with;
    less.copy = copy_less;
    spare = with.factors(SPARE);
    assert_non_null(spare);
    without.gemm = rounded_gemm;
    without.bias_act = rounded_act;
    for (const TinyPlan *p = tiny_all; p->name; p++)
        for (int i = 0; i < 3; i++)
            if (!same_training(&with, &without, p, acts[i]))
                fail_msg("%s, activation %d: other bits with factors", p->name, acts[i]);
    assert_false(same_training(&less, &with, &tiny_plans[0], ACT_GELU)); /* the control */
    without.gemm = with.gemm; /* another control: a product that is not rounded is seen */
    assert_false(same_training(&with, &without, &tiny_plans[0], ACT_RELU));
    with.release(spare);
}

/* ---- memory of another form -------------------------------------------------------------------------- */

enum { FORM_WIDTH = 32, FORM_ROWS = 16, FORM_NUMBERS = FORM_ROWS * 3 * FORM_WIDTH };

/* x: memory that is numbers or factors; y: numbers; f: factors. */
typedef struct {
    const Backend *b;
    void *x, *y, *f;
    const size_t *start;
} Form;

static Attention form_heads(const Form *m, const void *q, const void *k, const void *v)
{
    return (Attention){.S = 1,
                       .start = m->start,
                       .causal = 1,
                       .longest = FORM_ROWS,
                       .D = FORM_WIDTH,
                       .H = 2,
                       .q = q,
                       .k = k,
                       .v = v,
                       .ldq = 3 * FORM_WIDTH,
                       .ldk = 3 * FORM_WIDTH};
}

static void form_attention(const Form *m, const void *q, size_t each, void *out)
{
    Attention a = form_heads(m, q, (const char *)q + FORM_WIDTH * each,
                             (const char *)q + 2 * FORM_WIDTH * each);
    m->b->attention(&a, out, m->y);
}

static const Dropout undropped = {0};
static const NormKind layer_norm = {NORM_LAYER, 1e-5};

/* Calls that take numbers, each with x in the place of one. */
static void form_norm(const Form *m)
{
    m->b->norm(FORM_ROWS, FORM_WIDTH, layer_norm, m->x, m->y, m->y, m->f, m->y);
}
static void form_bias(const Form *m)
{
    m->b->bias_drop(FORM_ROWS, FORM_WIDTH, m->f, m->x, undropped);
}
static void form_lin(const Form *m)
{
    m->b->lin(FORM_ROWS, FORM_WIDTH, 1, &(LinTerm){.c = 1, .x = m->x}, m->y);
}
static void form_residual(const Form *m)
{
    m->b->residual(FORM_ROWS, FORM_WIDTH, m->x, m->y, undropped, 1, 1,
                   &(LinTerm){.c = 1, .x = m->x}, m->y, layer_norm, NULL, NULL, NULL, NULL);
}
static void form_gate(const Form *m)
{
    m->b->gate(FORM_ROWS, FORM_WIDTH, 1, (const void *[]){m->x}, m->y, m->y, ACT_TANH, m->y);
}
static void form_fill(const Form *m)
{
    m->b->fill(m->x, 0, FORM_NUMBERS);
}
static void form_put(const Form *m)
{
    m->b->put(m->x, (double[]){1, 2}, 2);
}
static void form_adam(const Form *m)
{
    m->b->adam(8, m->x, m->y, m->y, m->y, .9, .99, 1e-8, 0, 0, m->y);
}
static void form_loss(const Form *m)
{
    m->b->loss(FORM_ROWS, m->x, m->y);
}
static void form_sum(const Form *m)
{
    m->b->weigh(m->b, FORM_ROWS, FORM_WIDTH, FORM_WIDTH, m->f, m->f, 0, m->x, NULL);
}
static void form_mixed_heads(const Form *m)
{
    form_attention(m, m->x, m->x == m->f ? 2 : 4, m->y); /* out: numbers */
}

static const struct {
    const char *words;
    void (*call)(const Form *m);
} forms[] = {{"norm", form_norm},
             {"bias_drop", form_bias},
             {"lin", form_lin},
             {"residual", form_residual},
             {"gate", form_gate},
             {"fill", form_fill},
             {"put", form_put},
             {"adam", form_adam},
             {"loss", form_loss},
             {"weigh", form_sum},
             {"attention", form_mixed_heads}};

/* A call that takes numbers refuses factors, writes nothing, and says which it is; with numbers it is carried out. */
TEST(numbers_are_not_factors)
{
    Backend b = backend(1);
    size_t start[] = {0, FORM_ROWS};
    void *begins = b.alloc(8);
    Form m = {&b, NULL, b.alloc(FORM_NUMBERS), b.factors(FORM_NUMBERS), begins};
    OWN_NUMBERS *before = memory_new(2 * FORM_NUMBERS, sizeof *before);
    b.send(begins, start, sizeof start);
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        for (int factors = 0; factors < 2; factors++) {
            m.x = factors ? m.f : b.alloc(FORM_NUMBERS);
            assert_int_equal(b.wait(), 0);
            b.get(before, m.f, FORM_NUMBERS);
            forms[k].call(&m);
            int code = b.wait();
            if (code != (factors ? ERR_MISUSE : 0) ||
                (factors &&
                 (!strstr(error_text(), "was given factors (bf16) where it takes numbers") ||
                  strncmp(error_text(), forms[k].words, strlen(forms[k].words)) != 0)))
                fail_msg("%s, %d: %d %s", forms[k].words, factors, code, error_text());
            b.get(before + FORM_NUMBERS, m.f, FORM_NUMBERS);
            if (factors)
                assert_memory_equal(before, before + FORM_NUMBERS, FORM_NUMBERS * sizeof *before);
            else
                b.release(m.x);
        }
    b.release(m.y), b.release(m.f), b.release(begins);
}

/* Columns that are stepped to over elements of another size leave their row. */
TEST(columns_of_heads_stay_in_their_row)
{
    Backend b = backend(1);
    size_t start[] = {0, FORM_ROWS};
    void *begins = b.alloc(8);
    Form m = {&b, NULL, b.alloc(FORM_NUMBERS), b.factors(4 * FORM_NUMBERS), begins};
    void *out = b.factors(FORM_NUMBERS);
    b.send(begins, start, sizeof start);
    form_attention(&m, m.f, b.factor_size, out);
    assert_int_equal(b.wait(), 0);
    form_attention(&m, m.f, b.size, out);
    assert_int_equal(b.wait(), ERR_SYSTEM);
    assert_non_null(strstr(error_text(), "attention"));
    b.release(m.y), b.release(m.f), b.release(out), b.release(begins);
}

/* However a product is split along k, its parts are added in f32, also where the result is a factor: 1 + 2^-9 is 1 in bf16, so
 * that 2^-9 would be lost. */
TEST(parts_of_products_are_added_in_f32)
{
    enum { ROWS = 16, DEEP = 64 };
    Backend b = backend(1);
    double x[ROWS * DEEP] = {0}, one[ROWS * DEEP], y[ROWS * ROWS];
    for (int i = 0; i < ROWS * DEEP; i++) one[i] = 1;
    for (int i = 0; i < ROWS; i++)
        x[i * DEEP] = 1, x[i * DEEP + 1] = 0x1p-9, x[i * DEEP + DEEP / 2] = -1;
    void *A = b.alloc(ROWS * DEEP), *W = b.alloc(ROWS * DEEP), *bias = b.alloc(ROWS);
    void *twin = b.factors(ROWS), *C = b.factors(ROWS * ROWS);
    b.put(A, x, ROWS * DEEP), b.put(W, one, ROWS * DEEP);
    assert_int_equal(b.weights(bias, ROWS, twin), 0);
    for (int linear = 0; linear < 2; linear++) {
        if (linear)
            b.linear(ROWS, ROWS, DEEP, A, W, bias, C);
        else
            b.gemm(0, 1, ROWS, ROWS, DEEP, 1, A, DEEP, W, DEEP, 0, C, ROWS);
        b.get(y, C, ROWS * ROWS);
        assert_int_equal(b.wait(), 0);
        for (int i = 0; i < ROWS * ROWS; i++) assert_true(y[i] == 0x1p-9);
    }
    b.release(A), b.release(W), b.release(bias), b.release(twin), b.release(C);
}

/* ---- products that do more ------------------------------------------------------------------------- */

enum { FED_ROWS = 20, FED_WIDTH = 16, FED_RESULTS = 6 };

/* Numbers of a feed-forward network; x, dz: its input and the adjoint of its output. */
typedef struct {
    const Backend *b;
    size_t M;
    int act;
    double rate;
    void *weights, *twin, *x, *dz;
    double *result[FED_RESULTS]; /* y, du, dW of both matrices, db; u */
    size_t size[FED_RESULTS];
} Fed;

static double drawn(size_t i, size_t seed)
{
    return (double)((i * 7919 + seed * 104729) % 1021) / 510 - 1;
}

/* Numbers of few bits: sums of their products are exact in bf16 or nearly so, and their signs are. */
static double quarters(size_t i, size_t seed)
{
    return nearbyint(4 * drawn(i, seed)) / 4;
}

static void *fed_factors(const Backend *b, size_t n, size_t seed)
{
    void *x = b->alloc(n), *f = has_form(b) ? b->factors(n) : x;
    OWN_NUMBERS *host = memory_new(n, sizeof *host);
    assert_true(x && f && host);
    for (size_t i = 0; i < n; i++) host[i] = quarters(i, seed);
    b->put(x, host, n);
    if (f != x) b->copy(f, x, n), b->release(x);
    return f;
}

static double *fed_get(const Backend *b, void *x, size_t n, int factors)
{
    void *y = x;
    double *host = memory_new(n, sizeof *host);
    if (factors && has_form(b)) b->copy(y = b->alloc(n), x, n);
    b->get(host, y, n);
    if (y != x) b->release(y);
    return host;
}

/* Runs forward and backward, by b's epilogues or by calls apart; with `more` gradients are added to. */
static void feed(Fed *f, int whole_way, int more)
{
    const Backend *b = f->b;
    size_t N = FED_ROWS, D = FED_WIDTH, M = f->M, I = act_gated(f->act) ? 2 * M : M;
    Dropout drop = {.rate = f->rate, .seed = 5, .stream = 9};
    void *W = f->weights, *bias = backend_at(b, W, I * D), *W2 = backend_at(b, bias, I);
    void *y = b->factors(N * M), *u = b->factors(N * I), *dcore = b->factors(N * M);
    void *du = act_gated(f->act) ? b->factors(N * I) : dcore, *grads = b->alloc(2 * I * D + I);
    void *dW = grads, *db = backend_at(b, dW, I * D), *dW2 = backend_at(b, db, I);
    b->fill(grads, more ? .5 : 0, 2 * I * D + I);
    if (whole_way) {
        b->activate(b, N, M, D, f->x, W, bias, f->act, drop, u, y);
        b->weigh(b, N, D, M, f->dz, y, more, dW2, NULL);
        b->activate_back(b, N, M, D, f->dz, W2, u, y, f->act, drop, dcore, du, db);
        b->weigh(b, N, I, D, du, f->x, more, dW, db);
    } else {
        b->gemm(0, 1, N, I, D, 1, f->x, D, W, D, 0, u, I);
        b->bias_act(N, M, u, bias, f->act, drop, y);
        b->gemm(1, 0, D, M, N, 1, f->dz, D, y, M, more, dW2, M);
        b->gemm(0, 0, N, M, D, 1, f->dz, D, W2, M, 0, dcore, M);
        b->bias_act_back(N, M, u, y, f->act, drop, dcore, du, db);
        b->gemm(1, 0, I, D, N, 1, du, I, f->x, D, more, dW, D);
    }
    assert_int_equal(b->wait(), 0);
    const struct {
        void *at;
        size_t n;
        int factors;
    } out[FED_RESULTS] = {{y, N * M, 1},   {du, N * I, 1}, {dW, I * D, 0},
                          {dW2, D * M, 0}, {db, I, 0},     {u, f->act == ACT_RELU ? 0 : N * I, 1}};
    for (int i = 0; i < FED_RESULTS; i++) {
        f->size[i] = out[i].n;
        f->result[i] = fed_get(b, out[i].at, out[i].n, out[i].factors);
    }
    void *all[] = {y, u, dcore, grads, du == dcore ? NULL : du};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) b->release(all[i]);
}

/* Returns the largest |x - y| / (|y| + 1) over all results of both ways, and frees them. */
static double fed_distance(Fed *f, Fed *g)
{
    double far = 0;
    for (int i = 0; i < FED_RESULTS; i++) {
        for (size_t k = 0; k < f->size[i]; k++) {
            double x = f->result[i][k], y = g->result[i][k];
            far = farther(far, fabs(x - y) / (fabs(y) + 1));
        }
        memory_free(f->result[i]), memory_free(g->result[i]);
    }
    return far;
}

/* Compares both ways; `other`: the second has another rate of dropout. */
static double both_ways(const Backend *b, size_t M, int act, double rate, int more, double other)
{
    size_t I = act_gated(act) ? 2 * M : M, n = 2 * I * FED_WIDTH + I;
    Fed f = {.b = b, .M = M, .act = act, .rate = rate};
    OWN_NUMBERS *host = memory_new(n, sizeof *host);
    for (size_t i = 0; i < n; i++) host[i] = quarters(i, 3);
    f.weights = b->alloc(n), f.twin = b->alloc(n);
    b->put(f.weights, host, n);
    assert_int_equal(b->weights(f.weights, n, f.twin), 0);
    f.x = fed_factors(b, FED_ROWS * FED_WIDTH, 1), f.dz = fed_factors(b, FED_ROWS * FED_WIDTH, 2);
    Fed g = f;
    g.rate = other;
    feed(&f, 1, more);
    feed(&g, 0, more);
    void *all[] = {f.weights, f.twin, f.x, f.dz};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) b->release(all[i]);
    return fed_distance(&f, &g);
}

/* Products that do more give what calls apart give. In bf16 the latter round u before the bias too, and dy before its
 * product with the slope, and sum what is not rounded: halves of 2^-8 of numbers, in sums of 20, of which |y| + 1 is up to
 * four times less. In tf32 a factor may be cut to the next number; in f32 what remains are roundings. A mask of another
 * rate is seen. */
TEST(products_that_do_more)
{
    static const char *const names[] = {"cuda-f32", "cuda-tf32", "cuda-bf16"};
    static const int acts[] = {ACT_RELU, ACT_GELU, ACT_ERF, ACT_SWIGLU};
    static const size_t inner[] = {128, 256, 24, 17};
    (void)backend(1);
    for (size_t i = 0; i < 3; i++) {
        const Backend *b;
        double most = 0, control = INFINITY;
        assert_int_equal(backend_find(names[i], NULL, &b), 0);
        for (size_t k = 0; k < 4 * 4 * 2 * 2; k++) {
            size_t M = inner[k % 4];
            int act = acts[k / 4 % 4], more = k / 32 % 2;
            double rate = k / 16 % 2 ? .25 : 0;
            double d = both_ways(b, M, act, rate, more, rate);
            if (!(d <= fmax(8 * b->eps, 0x1p-15)))
                fail_msg("%s, activation %d, %zu wide, dropout %g, more %d: %.2g", b->name, act, M,
                         rate, more, d);
            most = fmax(most, d);
            control = fmin(control, both_ways(b, M, act, rate, more, rate + .1));
        }
        print_message("# %s: %.2g; another mask %.2g\n", b->name, most, control);
        assert_true(control > .1);
    }
}

/* ---- the loss in factors --------------------------------------------------------------------------- */

enum { LOSS_ROWS = 3 };

/* Fills z (LOSS_ROWS, V) with numbers that bf16 holds, and makes nll (LOSS_ROWS) and dz from them, in factors or not. */
static void loss_of(const Backend *b, int factors, size_t V, Labels q, double *nll, double *dz)
{
    static const int32_t target[LOSS_ROWS] = {1, FILLER, 5};
    double grad = 0.37;
    size_t n = LOSS_ROWS * V;
    OWN_NUMBERS *host = memory_new(n, sizeof *host);
    void *x = b->alloc(n), *f = b->factors(n), *z = factors ? f : x, *out = b->alloc(LOSS_ROWS);
    void *on = b->alloc(LOSS_ROWS), *factor = b->alloc(2);
    assert_true(host && x && f && out && on && factor);
    for (size_t i = 0; i < n; i++) host[i] = (double)((i * 7919) % 255) / 16 - 6;
    b->put(x, host, n);
    b->send(on, target, sizeof target);
    b->send(factor, &grad, sizeof grad);
    if (factors) b->copy(z, x, n);
    b->cross_entropy(LOSS_ROWS, V, z, on, q, factor, z, out);
    if (factors) b->copy(x, z, n);
    b->get(nll, out, LOSS_ROWS);
    b->get(dz, x, n);
    assert_int_equal(b->wait(), 0);
    void *all[] = {x, f, out, on, factor};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) b->release(all[i]);
}

/* Returns the largest distance of dz from a twin in double that rounds once, in units of its bound: half a unit of 8
 * bits, and 2^-20 for f32 inside (some 16 roundings of 2^-24). `shift` spoils the twin. */
static double loss_distance(size_t V, Labels q, const double *dz, double shift)
{
    static const int target[LOSS_ROWS] = {1, -1, 5};
    double most = 0, Q = q.hit + q.all * (double)V;
    for (size_t r = 0; r < LOSS_ROWS; r += 2) {
        double sum = 0;
        for (size_t v = 0; v < V; v++) sum += exp((double)(((r * V + v) * 7919) % 255) / 16 - 6);
        for (size_t v = 0; v < V; v++) {
            double z = (double)(((r * V + v) * 7919) % 255) / 16 - 6;
            double label = q.all + (v == (size_t)target[r] ? q.hit : 0);
            double want = 0.37 * (Q * exp(z) / sum - label + shift);
            double bound = 0x1p-8 * fabs(want) + 0x1p-20 * (0.37 * Q * exp(z) / sum + label);
            most = farther(most, fabs(dz[r * V + v] - want) / bound);
        }
    }
    return most;
}

/* The row waits in shared memory, or is too long for it. Loss and adjoint are those of numbers, rounded once. */
TEST(a_loss_of_factors)
{
    static const size_t columns[] = {16, 30, 2052, 24100};
    Backend b = backend(1);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        for (int smooth = 0; smooth < 2; smooth++) {
            size_t V = columns[i], n = LOSS_ROWS * V;
            Labels q = {.hit = smooth ? .9 : 1, .all = smooth ? .1 / (double)V : 0};
            double nll[2][LOSS_ROWS];
            OWN_NUMBERS *dz = memory_new(2 * n, sizeof *dz);
            assert_non_null(dz);
            loss_of(&b, 1, V, q, nll[1], dz + n);
            loss_of(&b, 0, V, q, nll[0], dz);
            assert_memory_equal(nll[0], nll[1], sizeof nll[0]);
            for (size_t k = 0; k < n; k++) assert_true(dz[n + k] == twin_rounded(1, dz[k]));
            assert_true(loss_distance(V, q, dz + n, 0) <= 1);
            assert_true(loss_distance(V, q, dz + n, 0x1p-6) > 1); /* the control */
            assert_true(nll[0][1] == 0 && dz[V] == 0);
        }
}

/* ---- one pass over memory ----------------------------------------------------------------------------- */

/* An EVAL fused with the LIN and the norm after it has the bits of one call for each (nn/model/fuse.c), on every backend. */
TEST(one_pass_has_the_same_bits)
{
    static const char *const names[] = {"cpu-f64", "cpu-f32", "cuda-f32", "cuda-bf16"};
    size_t fused = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const Backend *b;
        if (backend_find(names[i], NULL, &b) != 0) {
            print_message("# skipped: %s\n", error_text());
            continue;
        }
        for (const TinyPlan *p = tiny_all; p->name; p++) {
            OWN_MODEL *m = new_model(b, p), *r = new_model(b, p);
            for (size_t k = 0; k < r->plan->instrs; k++) {
                fused += r->fuse[k].line && r->fuse[k].norm;
                r->fuse[k] = (Fuse){0};
            }
            for (uint64_t k = 1; k <= 3; k++) step(m, k), step(r, k);
            if (!tiny_same(m, m->data, r, r->data)) fail_msg("%s on %s", p->name, b->name);
        }
    }
    assert_true(fused > 0);
}

/* A norm that runs before its input is complete is seen. */
TEST(a_wrong_fusion_is_seen)
{
    const Backend *b;
    assert_int_equal(backend_find("cpu-f64", NULL, &b), 0);
    OWN_MODEL *m = new_model(b, &tiny_plans[0]), *r = new_model(b, &tiny_plans[0]);
    size_t k = 0;
    while (!m->fuse[k].norm) k++;
    m->fuse[k].line = 0;
    m->fuse[k].norm = 0; /* and the norm takes itself for done */
    for (uint64_t n = 1; n <= 2; n++) step(m, n), step(r, n);
    assert_false(tiny_same(m, m->data, r, r->data));
}

/* Copies between numbers and factors work both ways, aligned or not. They leave their neighbours alone. */
TEST(copies_of_factors)
{
    enum { MOST = 40 };
    Backend b = backend(1);
    void *x = b.alloc(MOST), *y = b.alloc(MOST), *f = b.factors(MOST);
    double in[MOST], out[MOST];
    assert_true(x && y && f);
    for (size_t i = 0; i < MOST; i++) in[i] = ldexp(1 + (double)(i * 37 % 512) / 512, (int)i - 20);
    b.put(x, in, MOST);
    for (size_t at = 0; at < 5; at++)
        for (size_t n = 0; n + at < MOST; n += 7) {
            b.fill(y, -7, MOST);
            b.copy(backend_factor_at(&b, f, at), backend_at(&b, x, at), n);
            b.copy(backend_at(&b, y, at), backend_factor_at(&b, f, at), n);
            b.get(out, y, MOST);
            for (size_t i = 0; i < MOST; i++)
                assert_true(i < at || i >= at + n ? out[i] == -7
                                                  : out[i] == twin_rounded(1, in[i]));
        }
    b.release(f), b.release(x), b.release(y);
}

/* Factors take half the bytes of the numbers that they replace. */
TEST(factors_take_less_memory)
{
    Backend with = backend(1), without = backend(1);
    without.factors = NULL;
    without.factor_size = 0;
    backend_complete(&without);
    OWN_MODEL *a = new_model(&with, &tiny_plans[0]), *b = new_model(&without, &tiny_plans[0]);
    assert_true(model_bytes(a) < model_bytes(b));
}

/* ---- the processor's bf16 rounds the same --------------------------------------------------------------- */

/* Returns |g - h| / |h| for gradients of one model in two backends. */
static double gradient_distance(const Backend *b, const Backend *r, const TinyPlan *p)
{
    Model *m[] = {new_model(b, p), new_model(r, p)};
    double *g[2], loss;
    second = m[1];
    for (int i = 0; i < 2; i++) {
        Batch x = tiny_batch_of(m[i]);
        assert_int_equal(model_gradient(m[i], &x, 1, &loss), 0);
        g[i] = tiny_get(m[i], m[i]->grad, 0, m[i]->size);
    }
    double far = norm_distance(g[0], g[1], m[0]->size);
    for (int i = 0; i < 2; i++) memory_free(g[i]), model_free(m[i]);
    return far;
}

/* cpu-bf16 rounds the factors of every product when it reads them; here it also rounds the logits and what is inside an
 * activation, as products that write factors do. The remaining difference is sums of f32 in other
 * orders, which now and then turn a rounding over: below 2^-8, one rounding of everything. Without rounding, in f32, it
 * is more. */
TEST(the_processor_agrees)
{
    Backend device = apart(backend(1)), rounds;
    const Backend *cpu, *f32;
    double most = 0, control = 0;
    if (backend_find("cpu-bf16", NULL, &cpu) != 0) {
        print_message("# SKIP %s\n", error_text());
        skip();
    }
    assert_int_equal(backend_find("cpu-f32", NULL, &f32), 0);
    whole = cpu, rounds = *cpu;
    rounds.gemm = rounded_gemm, rounds.bias_act = rounded_act;
    for (const TinyPlan *p = tiny_all; p->name; p++) {
        double d = gradient_distance(&device, &rounds, p), c = gradient_distance(&device, f32, p);
        most = fmax(most, d);
        control = fmax(control, c);
    }
    print_message("# %.2g; without rounding %.2g\n", most, control);
    assert_true(most <= 0x1p-8);
    assert_true(control > 0x1p-8);
}

/* ---- whoever writes ----------------------------------------------------------------------------------- */

static double numbers[1 << 14];

enum { PUT, SEND, COPY, FILL, ZERO, STEALTH };

/* Writes n weights; STEALTH does not tell the twin. */
static void write_by(int how, const Backend *b, void *x, size_t n)
{
    static float f[sizeof numbers / sizeof *numbers];
    void *y = b->alloc(n);
    b->put(y, numbers, n);
    const LinTerm t = {.c = 2, .dx = x};
    for (size_t i = 0; i < n; i++) f[i] = (float)numbers[i];
    switch (how) {
    case PUT: b->put(x, numbers, n); break;
    case SEND: b->send(x, f, n * sizeof *f); break;
    case COPY: b->copy(x, y, n); break;
    case FILL: b->fill(x, .3, n); break;
    case ZERO: b->fill(x, 0, n); break;
    default: b->lin_back(n, 1, 1, &t, y);
    }
    b->release(y);
}

/* Tells whether losses with and without twins are the same after such a write to weights `at` and on. */
static int same_after(int how, size_t at)
{
    Backend b[] = {backend(1), backend(0)};
    Batch x = tiny_batch();
    double loss[2];
    for (int i = 0; i < 2; i++) {
        OWN_MODEL *m = new_model(&b[i], &tiny_plans[0]);
        assert_true(m->size <= sizeof numbers / sizeof *numbers);
        write_by(how, &b[i], backend_at(&b[i], m->data, at), m->size - at);
        assert_int_equal(model_gradient(m, &x, 1, &loss[i]), 0);
    }
    return loss[0] == loss[1];
}

TEST(whoever_writes_weights)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        numbers[i] = .2 * (double)((i * 7919) % 1000) / 1000 - .1;
    for (int how = PUT; how < STEALTH; how++)
        for (size_t at = 0; at < 4; at++)
            if (!same_after(how, at)) fail_msg("writer %d from %zu on", how, at);
    assert_false(same_after(STEALTH, 0)); /* the control */
}

/* A freed model leaves no twin behind. Its memory may be anything then. */
TEST(a_twin_goes_with_its_weights)
{
    Backend b = backend(1);
    size_t before = memory_live();
    for (int i = 0; i < 3; i++) {
        Model *m = new_model(&b, &tiny_plans[0]);
        step(m, 1);
        model_free(m);
    }
    assert_int_equal(memory_live(), before);
}

TEST_MAIN(NULL, NULL)
