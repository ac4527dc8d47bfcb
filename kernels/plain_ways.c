/* plain_ways.c: what a backend does that has no way of its own: the same by its other functions, or nothing. So nn/ calls
 * every member of a backend and never asks whether it is there.
 *
 * A member that does work gets `self`, the table that it was called from, and calls its other members: a copy of a table
 * with another gemm sees all products (studies/bench/bench_products.c).
 */
#include "kernels/backend.h"
#include "kernels/base/error.h"
#include "kernels/ranks.h"

static const Dropout none = {0};

/* ---- a device's work, which a processor does not have ------------------------------------------------- */

static int no_device(void)
{
    return error_set(ERR_MISUSE, "only a device records and times its calls");
}

static int no_recorded(Recording **out)
{
    *out = NULL;
    return no_device();
}

static int no_replay(Recording *r)
{
    (void)r;
    return no_device();
}

static void no_recording(Recording *r)
{
    (void)r;
}

static int no_timed(Launch **out, size_t *count)
{
    *out = NULL, *count = 0;
    return no_device();
}

static int no_join(Ranks *r)
{
    (void)r;
    return 0;
}

static int no_weights(const void *x, size_t n, void *twin)
{
    (void)x, (void)n, (void)twin;
    return 0;
}

static void no_switch(int on)
{
    (void)on;
}

static size_t no_signs(size_t M)
{
    (void)M;
    return 0;
}

static int no_factors(size_t H, size_t E, size_t kv)
{
    (void)H, (void)E, (void)kv;
    return 0;
}

/* ---- products with more around them -------------------------------------------------------------------- */

static void plain_activate(const Backend *self, size_t N, size_t M, size_t D, const void *x,
                           const void *W, const void *b, int act, Dropout drop, void *u, void *y)
{
    size_t I = act_gated(act) ? 2 * M : M;
    self->gemm(0, 1, N, I, D, 1, x, D, W, D, 0, u, I);
    self->bias_act(N, M, u, b, act, drop, y);
}

static void plain_activate_back(const Backend *self, size_t N, size_t M, size_t D, const void *dz,
                                const void *W, const void *u, const void *y, int act, Dropout drop,
                                void *dcore, void *du, void *db)
{
    self->gemm(0, 0, N, M, D, 1, dz, D, W, M, 0, dcore, M);
    self->bias_act_back(N, M, u, y, act, drop, dcore, du, db);
}

static void plain_weigh(const Backend *self, size_t N, size_t O, size_t D, const void *dy,
                        const void *x, int more, void *dW, void *db)
{
    (void)db; /* bias_back and activate_back sum it */
    self->gemm(1, 0, O, D, N, 1, dy, O, x, D, more, dW, D);
}

static void plain_bias_back(const Backend *self, size_t N, size_t O, const void *dy, void *dx,
                            void *db)
{
    self->bias_drop_back(N, O, 1, &(LinTerm){.c = 1, .x = dy}, none, dx, db);
}

/* For a backend whose `weigh` sums db: only the form may change. */
static void form_back(const Backend *self, size_t N, size_t O, const void *dy, void *dx, void *db)
{
    (void)db;
    if (dx != dy) plain_bias_back(self, N, O, dy, dx, NULL);
}

/* ---- the table ----------------------------------------------------------------------------------------- */

#define COMPLETE(member, plain) \
    if (!b->member) b->member = (plain)

static void complete_products(Backend *b)
{
    COMPLETE(bias_back, b->weigh ? form_back : plain_bias_back);
    COMPLETE(activate, plain_activate);
    COMPLETE(activate_back, plain_activate_back);
    COMPLETE(signs, no_signs);
    COMPLETE(weigh, plain_weigh);
    COMPLETE(attends_factors, no_factors);
}

void backend_complete(Backend *b)
{
    COMPLETE(record, no_device);
    COMPLETE(recorded, no_recorded);
    COMPLETE(replay, no_replay);
    COMPLETE(recording_free, no_recording);
    COMPLETE(time, no_device);
    COMPLETE(timed, no_timed);
    COMPLETE(join, no_join);
    COMPLETE(weights, no_weights);
    COMPLETE(factors, b->alloc);
    COMPLETE(factor_size, b->size);
    COMPLETE(pack, no_switch);
    COMPLETE(aside, no_switch);
    COMPLETE(meet, no_switch);
    complete_products(b);
}
