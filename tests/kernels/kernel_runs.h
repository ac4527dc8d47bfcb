/* kernel_runs.h: trials of kernels: sizes, references with their gradients (kernel_ops.h), and runs of a backend on
 * them. */
#ifndef TROTTER_TESTS_KERNEL_RUNS_H
#define TROTTER_TESTS_KERNEL_RUNS_H

#include "tests/lib/test.h"

#include "tests/lib/distance.h"
#include "tests/lib/kernel_buffers.h"
#include "tests/kernels/kernel_ops.h"

#define CHECK(condition, op, b, t, what)                                                \
    do {                                                                                \
        if (!(condition))                                                               \
            fail_msg("%s, %s %s: %s (N %zu, D %zu, dropout %g)", (op)->name, (b)->name, \
                     (b)->kernel, what, (t)->N, (t)->D, (t)->drop.rate);                \
    } while (0)

/* ---- trials ---------------------------------------------------------------------------------------- */

static const Trial small_trials[] = {
    {.S = 1, .length = {1}, .D = 1, .H = 1, .V = 2},
    {.S = 1, .length = {3}, .D = 6, .H = 2, .V = 5},
    {.S = 3, .length = {1, 4, 2}, .D = 9, .H = 3, .V = 19},
};
/* Sizes beyond a block of attention, a tile of columns, all columns summed at a time, 32 bits of the dropout index;
 * sizes that are multiples of 4, and more rows than a block of a device has threads. */
static const Trial large_trials[] = {
    {.S = 3, .length = {70, 66, 1}, .D = 20, .H = 4, .V = 37, .longest = (size_t)1 << 34},
    {.S = 2, .length = {33, 7}, .D = 521, .H = 1, .V = 1031},
    {.S = 1, .length = {9}, .D = 4099, .H = 1, .V = 3},
    {.S = 2, .length = {9, 24}, .D = 132, .H = 3, .V = 1032},
    {.S = 4, .length = {66, 3, 64, 70}, .D = 4, .H = 2, .V = 8},
};
static const double rates[] = {0, 0.1, 0.5};

static inline Trial trial_of(const Trial *plain, double rate)
{
    Trial t = *plain;
    size_t longest = 0;
    for (size_t s = 0; s < t.S; s++) { /* the other text has its longest sequences elsewhere */
        size_t n = 1 + (t.length[t.S - 1 - s] - 1) * 5 / 3;
        t.start[s + 1] = t.start[s] + t.length[s];
        t.memory[s + 1] = t.memory[s] + n;
        longest = longest < t.length[s] ? t.length[s] : longest;
        longest = longest < n ? n : longest;
    }
    t.N = t.start[t.S], t.M = t.memory[t.S];
    if (!t.longest) t.longest = longest;
    t.drop = (Dropout){rate, 0x123456789abcdefu, 0xfedcba9876543210u, NULL, 3 * t.D};
    t.token = host_bytes((4 + LISTED) * t.N, sizeof *t.token);
    t.position = t.token + t.N, t.target = t.position + t.N;
    t.count = t.target + t.N, t.key = t.count + t.N;
    for (size_t r = 0; r < 3 * t.N; r++) t.token[r] = (int32_t)random_below(9, 9, r, t.V);
    t.target[0] = (int32_t)t.V - 1;
    for (size_t r = 0; r < t.N; r++)
        t.count[r] = (int32_t[]){1, LISTED, (int32_t)(1 + random_below(9, 10, r, LISTED))}[r % 3];
    for (size_t r = 0; r < t.N * LISTED; r++) t.key[r] = (int32_t)random_below(9, 11, r, t.M);
    return t;
}

/* ---- reference: values and gradients --------------------------------------------------------------- */

typedef struct {
    const Op *op;
    const Trial *t;
    size_t size[INPUTS], out;
    double *in[INPUTS], *grad[INPUTS], *y, *dy;
    double fd_error; /* error of a difference quotient */
} Reference;

static inline double objective(const Reference *r, double *work)
{
    r->op->ref(r->t, (const double *const *)r->in, work);
    double sum = 0;
    for (size_t i = 0; i < r->out; i++) sum += r->dy[i] * work[i];
    return sum;
}

static const double step = 1.0 / 256;

/* Returns d/ds of the objective at in + s v: (45 d1 - 9 d2 + d3) / 60 h, d_k = f(k h) - f(-k h). */
static inline double difference(Reference *r, double *const v[INPUTS], double *work)
{
    static const double weight[] = {-1, 9, -45, 0, 45, -9, 1};
    double sum = 0, *keep[INPUTS];
    memcpy(keep, r->in, sizeof keep);
    for (int k = -3; k <= 3; k++) {
        SCOPE;
        if (k == 0) continue;
        for (int a = 0; a < INPUTS; a++) {
            r->in[a] = host_new(r->size[a]);
            for (size_t i = 0; i < r->size[a]; i++)
                r->in[a][i] = keep[a][i] + k * step * (v[a] ? v[a][i] : 0);
        }
        sum += weight[k + 3] * objective(r, work);
        memcpy(r->in, keep, sizeof keep);
    }
    return sum / (60 * step);
}

static inline void reference_gradient(Reference *r)
{
    double *work = host_new(r->out);
    for (int a = 0; a < INPUTS; a++) {
        if (!r->size[a]) continue;
        r->grad[a] = host_new(r->size[a]);
        double *v[INPUTS] = {0};
        v[a] = host_new(r->size[a]);
        for (size_t i = 0; i < r->size[a]; i++) {
            v[a][i] = 1;
            r->grad[a][i] = difference(r, v, work);
            v[a][i] = 0;
        }
    }
}

/* Makes the reference of an op, which the trial is of from now on. */
static inline Reference reference_new(const Op *op, Trial *t)
{
    t->act = op->act;
    Reference r = {.op = op, .t = t, .out = op->output(t)};
    for (int a = 0; a < INPUTS; a++) {
        r.size[a] = op->inputs(t, a);
        r.in[a] = host_random(r.size[a], (uint64_t)a);
    }
    if (op->act == ACT_RELU && op->ref == bias_ref) /* keep off the kink */
        for (size_t i = 0; i < r.size[0]; i++)
            if (fabs(r.in[0][i] + r.in[1][i % t->D]) < 0.1)
                r.in[0][i] = (double)(float)(r.in[0][i] + 0.25);
    r.y = host_new(r.out);
    r.dy = host_random(r.out, 100);
    if (op->uniform)
        for (size_t i = 0; i < r.out; i++) r.dy[i] = -0.625;
    op->ref(t, (const double *const *)r.in, r.y);
    double A = 0;
    for (size_t i = 0; i < r.out; i++) A += fabs(r.y[i] * r.dy[i]);
    r.fd_error = 1e-12 + 1.84 * (double)op->count(t) * DBL_EPSILON * A / step;
    return r;
}

/* ---- one backend on one reference ------------------------------------------------------------------- */

typedef struct {
    const Backend *b;
    const Reference *r;
    Trial on; /* r->t, with arrays in the backend's memory */
    void *in[INPUTS], *din[INPUTS], *out, *kept, *dy;
    double *base[INPUTS]; /* earlier content of din */
} Run;

/* Returns the trial with arrays in the backend's memory. */
static inline Trial trial_on(const Backend *b, const Trial *t)
{
    Trial on = *t;
    size_t bytes = t->N * sizeof *t->token;
    on.token = sent(b, t->token, bytes);
    on.position = sent(b, t->position, bytes);
    on.target = sent(b, t->target, bytes);
    on.count = sent(b, t->count, bytes);
    on.key = sent(b, t->key, bytes * LISTED);
    on.grad = sent(b, &(double){0}, sizeof *on.grad);
    on.begins = sent(b, t->start, (t->S + 1) * sizeof *t->start);
    on.remembers = sent(b, t->memory, (t->S + 1) * sizeof *t->memory);
    return on;
}

static inline Run run_new(const Backend *b, const Reference *r)
{
    Run u = {.b = b, .r = r, .on = trial_on(b, r->t)};
    for (int a = 0; a < INPUTS; a++) {
        u.in[a] = buffer_new(b, r->size[a], r->in[a]);
        if (r->op->fixed >> a & 1 || !r->size[a]) continue;
        u.base[a] = r->op->written >> a & 1 ? NULL : host_random(r->size[a], 200 + (uint64_t)a);
        u.din[a] = buffer_new(b, r->size[a], u.base[a]);
    }
    u.out = buffer_new(b, r->out, NULL);
    u.kept = buffer_new(b, r->op->kept(r->t), NULL);
    u.dy = buffer_new(b, r->out, r->dy);
    return u;
}

static inline void check_inputs(const Run *u)
{
    SCOPE;
    for (int a = 0; a < INPUTS; a++) {
        double *x = fetch(u->b, u->in[a], u->r->size[a]);
        CHECK(same(x, u->r->in[a], u->r->size[a]), u->r->op, u->b, u->r->t, "an input was changed");
    }
}

static inline void run_forward(Run *u)
{
    const Op *op = u->r->op;
    size_t calls = memory_calls();
    op->run(u->b, &u->on, u->in, u->out, u->kept);
    assert_int_equal(memory_calls(), calls);
}

static inline void run_backward(Run *u, void *const *din)
{
    const Op *op = u->r->op;
    size_t calls = memory_calls();
    op->back(u->b, &u->on, u->in, u->out, u->kept, u->dy, din);
    assert_int_equal(memory_calls(), calls);
}

/* Tells whether a backend refuses an op, as a device does windows (nn/model/model.c). */
static inline int lacks(const Backend *b, const Op *op)
{
    return b->device && strstr(op->name, "window") != NULL;
}

static inline double forward_tolerance(const Run *u)
{
    const Reference *r = u->r;
    return 4 * (double)r->op->count(r->t) * eps_of(u->b) * (1 + largest(r->y, r->out));
}

/* Backends that differ in their matrix product alone have the same kernels: the first stands for all.
 * test_attention_kernels.c has cuda-bf16's attention of heads whose width is a multiple of 16. */
static inline int find_kernels(void **state)
{
    size_t n = 0;
    if (find_backends(state) != 0) return 1;
    for (size_t i = 0; i < backend_count; i++) {
        int known = 0;
        for (size_t k = 0; k < n; k++) known |= backends[k]->norm == backends[i]->norm;
        if (!known) backends[n++] = backends[i];
    }
    backend_count = n;
    return 0;
}

#endif
