/* same.c: tells whether two plans compute the same function for all weights.
 *
 * It follows both in numbers (walk.c) from one random point. A sublayer, a norm and a gate are random functions: each
 * has a list of the arguments that either plan has given it, with the values drawn for them. At an argument of its list
 * a function has the value listed; at any other a new value is drawn. A learned scalar is a random number. So an output
 * is a polynomial in numbers drawn independently, and plans whose outputs agree compute the same polynomial. The order
 * of registers, lines that are split, folded or multiplied out, and repeated evaluations do not matter. (With smooth
 * functions in place of lists, differences would fade, or roundings grow, from layer to layer; a list forgets both.)
 *
 * These count as one function: sublayers first used as the n-th of their side and kind, with the same inner width, norm
 * inside or not; gates with the same number and activation; scalars with the same number, element and start. Names of
 * layers and sets do not count, so a layer of `sfsf` is two layers of `sf`; dropout masks do not count either. Plans
 * that use their slots in another order count as different.
 *
 * Tolerance. Two numbers agree where they differ by at most 1e-11 of the larger, or of 1. Roundings stay below it: at
 * most 2^13 lines (model.c), each rounded by one or two times 2^-53 of its terms' size, add up to 2e-12.
 *
 * How likely is a wrong "equal"? The outputs are then different polynomials. Where a coefficient differs by c, one
 * coordinate agrees with probability about 2e-11 / c, as every draw is uniform on an interval of length 1; all 4
 * coordinates under both seeds, if c is 1e-6, with (2e-5)^8 = 3e-38. Differences below 1e-11 of the largest state count
 * as equal: no run could see them. */
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/random.h"
#include "kernels/base/hash.h"
#include "nn/model/plan.h"

enum { WIDTH = 4, SEEDS = 2, KEYS = 5 };

static const double tolerance = 1e-11;

/* A function, its two arguments and the value drawn for them. */
typedef struct {
    size_t key[KEYS];
    double x[2][WIDTH], y[WIDTH];
} Draw;

typedef struct {
    uint64_t seed;
    size_t draws;
    Draw *draw;
    /* For the plan now followed: the number of each slot among those of its kind, from 1 (0: not met yet), and how many
     * of a side and kind are met. */
    size_t *number, met[SIDES][SLOT_KINDS];
} Draws;

/* Returns a number in (1/2, 3/2), so that long products neither fade nor grow. */
static double random_number(const Draws *d, uint64_t stream, size_t i)
{
    return 0.5 + random_uniform(d->seed, stream, i);
}

static int agree(size_t n, const double *a, const double *b)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= tolerance * fmax(1, fmax(fabs(a[i]), fabs(b[i]))))) return 0;
    return 1;
}

/* Computes y = function `key` at (x, z), and lists a new one. z NULL: of x alone; z == y allowed. */
static int look_up(Draws *d, const size_t key[KEYS], const double *x, const double *z, double *y)
{
    Draw at = {0};
    size_t i = 0;
    memcpy(at.key, key, sizeof at.key);
    memcpy(at.x[0], x, sizeof at.x[0]);
    if (z) memcpy(at.x[1], z, sizeof at.x[1]);
    while (i < d->draws && (memcmp(d->draw[i].key, key, sizeof at.key) != 0 ||
                            !agree(2 * WIDTH, d->draw[i].x[0], at.x[0])))
        i++;
    if (i == d->draws) {
        for (size_t k = 0; k < WIDTH; k++) at.y[k] = random_number(d, 0, i * WIDTH + k);
        TRY(memory_add(d->draw, d->draws, at));
    }
    memcpy(y, d->draw[i].y, sizeof at.y);
    return 0;
}

static int sublayer(void *arg, const PlanInstr *in)
{
    const PlanValues *v = arg;
    Draws *d = v->arg;
    const PlanSlot *s = &v->plan->slot[in->slot];
    size_t *number = &d->number[in->slot];
    if (*number == 0) *number = ++d->met[s->side][s->kind];
    const size_t kind = (size_t)(s->side * SLOT_KINDS + s->kind);
    const size_t key[KEYS] = {(size_t)in->op, SIDES * SLOT_KINDS * *number + kind, s->inner,
                              (size_t)(2 * v->plan->bidirectional + v->plan->post)};
    static const double none[WIDTH]; /* what WORDS reads is the same for both plans */
    const double *x = in->terms ? plan_value(v, in->term[0].x) : none;
    const double *other = in->terms > 1 ? plan_value(v, in->term[1].x) : NULL;
    return look_up(d, key, x, other, plan_value(v, in->out));
}

/* A function of many arguments is one of the last and of another function of those before. */
static int gate(void *arg, const PlanInstr *in)
{
    const PlanValues *v = arg;
    double y[WIDTH] = {0};
    for (size_t k = 0; k < in->terms; k++) {
        const size_t key[KEYS] = {(size_t)in->op, (size_t)in->out,
                                  (size_t)v->plan->gate[in->out].act, in->terms, k};
        TRY(look_up(v->arg, key, plan_value(v, in->term[k].x), y, y));
    }
    *plan_gates(v, in->out) = y[0];
    return 0;
}

static int scalar(const PlanValues *v, const PlanFactor *f, double *value)
{
    double init = v->plan->scalar[f->index].init;
    uint64_t number = hash_bytes(HASH_START, &f->index, sizeof f->index);
    *value = random_number(v->arg, hash_bytes(number, &init, sizeof init) | 1, f->element);
    return 0;
}

static int follow(Draws *d, const Plan *p, double *out)
{
    double begin[SIDES][WIDTH];
    const double *const first[SIDES] = {begin[0], begin[1]};
    for (size_t k = 0; k < SIDES * WIDTH; k++) begin[k / WIDTH][k % WIDTH] = random_number(d, 2, k);
    SCOPED(memory_drop) size_t *number = memory_new(p->slots, sizeof *number);
    SCOPED(plan_values_free)
    PlanValues v = {.plan = p,
                    .N = 1,
                    .M = 1,
                    .D = WIDTH,
                    .sublayer = sublayer,
                    .gate = gate,
                    .scalar = scalar,
                    .arg = d};
    memset(d->met, 0, sizeof d->met);
    d->number = number;
    if (!number) return ERR_MEMORY;
    TRY(plan_values(&v, first));
    memcpy(out, plan_value(&v, p->output), WIDTH * sizeof *out);
    return 0;
}

int plan_same(const Plan *a, const Plan *b, int *same)
{
    *same = a->sides == b->sides;
    for (uint64_t seed = 1; *same && seed <= SEEDS; seed++) {
        Draws d = {.seed = seed};
        double x[WIDTH], y[WIDTH];
        int code = follow(&d, a, x);
        if (code == 0) code = follow(&d, b, y);
        memory_free(d.draw);
        TRY(code);
        *same = agree(WIDTH, x, y);
    }
    return 0;
}
