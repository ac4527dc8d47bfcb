/* system.c: what every particle system has, whoever made it: sums of its operators, those that are 0, the field of a
 * table. Systems by name are in ode/systems. */
#include "ode/field/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/base/random.h"
#include "kernels/base/scoped.h"

void system_normal(double *x, size_t count, double scale, uint64_t seed, uint64_t stream)
{
    for (size_t i = 0; i < count; i++) x[i] = scale * random_normal(seed, stream, i);
}

void system_uniform(double *x, size_t count, double low, double high, uint64_t seed,
                    uint64_t stream)
{
    for (size_t i = 0; i < count; i++) x[i] = low + (high - low) * random_uniform(seed, stream, i);
}

void system_free(System *s)
{
    if (!s) return;
    memory_free_all(s->initial, s->param, s->context, s);
}

/* ---- sums of operators ----------------------------------------------------------------------------- */

int system_ops(const System *s)
{
    return 1 << OP_F | 1 << OP_G | (s->decoder ? 1 << OP_C : 0);
}

int system_counts(const System *s, int op)
{
    return !(s->absent >> op & 1);
}

void system_mass(const System *s, const double *x, double *Mx)
{
    size_t d = s->d;
    for (size_t i = 0; i < s->n * d; i++) {
        const double *row = s->mass ? s->mass + i % d * d : NULL;
        Mx[i] = row ? 0 : x[i];
        for (size_t c = 0; row && c < d; c++) Mx[i] += row[c] * x[i - i % d + c];
    }
}

size_t system_parts(const System *s)
{
    size_t n = 0;
    for (int op = 0; op < COLOURS; op++) n += (system_ops(s) & ~s->absent) >> op & 1;
    return n;
}

void system_sum(const System *s, int ops, int set, double t, const double *y, double *dy,
                double *part)
{
    double *to = dy;
    for (int op = 0; op < COLOURS; op++) {
        if (!(ops >> op & 1)) continue;
        s->field[op](s, set, t, y, to);
        for (size_t i = 0; to != dy && i < s->n * s->d; i++) dy[i] += to[i];
        to = part;
    }
}

/* ---- parts that are 0 ------------------------------------------------------------------------------ */

/* Returns 1 where values of an operator are 0 at `STATES` states about the initial one, each at a time of its own. A rule
 * whose terms cancel is then 0 but for a set of measure 0; one that is 0 in a region alone may deceive. */
static int seen_zero(const System *s, int op, double *y, double *dy)
{
    enum { STATES = 4, SEED = 1, STREAM = 77 };
    size_t N = s->n * s->d;
    for (int k = 0; k < STATES; k++) {
        for (size_t i = 0; i < N; i++)
            y[i] =
                s->initial[i] +
                (k ? (1 + fabs(s->initial[i])) * random_normal(SEED, STREAM + (uint64_t)k, i) : 0);
        s->field[op](s, 1, s->t_end * k / STATES, y, dy);
        for (size_t i = 0; i < N; i++)
            if (dy[i] != 0) return 0;
    }
    return 1;
}

int system_zeros(const System *s, int *ops)
{
    SCOPED(memory_drop) double *y = memory_new(2 * s->n * s->d, sizeof *y);
    *ops = 0;
    if (!y) return ERR_MEMORY;
    for (int op = 0; op < COLOURS; op++)
        if (s->field[op] && (!system_counts(s, op) || seen_zero(s, op, y, y + s->n * s->d)))
            *ops |= 1 << op;
    return 0;
}

/* Returns 1 where all stages are of the whole field: H, or functions of H or of W, which stands for its Jacobian. */
static int is_whole(const Table *t)
{
    for (size_t i = 0; i < t->stages; i++) {
        const Point *p = eval_point(t, t->stage[i].eval);
        if (p->phi ? point_fields(t, p) != (1 << t->colours) - 1 : t->stage[i].op != OP_H) return 0;
    }
    return 1;
}

int system_apart(const Table *t)
{
    int ops = 0;
    for (size_t i = 0; i < t->flows; i++) ops |= 1 << t->flow[i].op;
    for (size_t e = 0; e < t->evals && !is_whole(t); e++) ops |= 1 << t->eval[e].op;
    return ops;
}

/* ---- the field of a table ------------------------------------------------------------------------- */

static void weighted(const System *s, int op, int set, double t, const double *y, double *dy)
{
    const Weighted *w = (const Weighted *)s;
    w->base->field[op](w->base, set, t, y, dy);
    for (size_t i = 0; i < s->n * s->d; i++) dy[i] *= w->weight[op];
}

SYSTEM_FIELDS(weighted)

static void scale(const System *s, double c, double *J)
{
    size_t N = s->n * s->d;
    for (size_t i = 0; c != 1 && i < N * N; i++) J[i] *= c;
}

static void weighted_jacobian(const System *s, int op, int set, double t, const double *y,
                              double *J)
{
    const Weighted *w = (const Weighted *)s;
    w->base->jacobian(w->base, op, set, t, y, J);
    scale(s, w->weight[op], J);
}

Weighted system_weigh(const System *s, const Table *t)
{
    Weighted w = {.system = *s, .base = s, .same = s->decoder == (t->colours > 2)};
    for (int op = 0; op < t->colours; op++) {
        w.weight[op] = table_double(t->weight[op]);
        w.same = w.same && fabs(w.weight[op] - 1) <= 0x1p-50; /* decimals are rounded */
        w.system.flow[op] = NULL;
    }
    w.system.decoder = t->colours > 2;
    w.system.field[OP_F] = weighted_F;
    w.system.field[OP_G] = weighted_G;
    w.system.field[OP_C] = s->field[OP_C] ? weighted_C : NULL;
    w.system.jacobian = s->jacobian ? weighted_jacobian : NULL;
    w.system.both = NULL;
    w.system.at_complex = NULL;
    w.system.solution = NULL;
    w.system.solved = NULL; /* those are solutions of another field */
    return w;
}

/* ---- a run from another time, or back ------------------------------------------------------------------- */

/* Returns the base, with the rows that the stepper's window has now. */
static const System *course_base(const System *s, double *t)
{
    Course *c = s->context;
    c->base.n = s->n;
    *t = c->begin + c->sign * *t;
    return &c->base;
}

static void turn(const System *s, size_t first, size_t rows, double *dy)
{
    const Course *c = s->context;
    for (size_t i = first * s->d; c->sign < 0 && i < (first + rows) * s->d; i++) dy[i] = -dy[i];
}

static void course(const System *s, int op, int set, double t, const double *y, double *dy)
{
    const System *base = course_base(s, &t);
    base->field[op](base, set, t, y, dy);
    turn(s, 0, s->n, dy);
}

SYSTEM_FIELDS(course)

static void course_jacobian(const System *s, int op, int set, double t, const double *y, double *J)
{
    const Course *c = s->context;
    const System *base = course_base(s, &t);
    base->jacobian(base, op, set, t, y, J);
    scale(s, c->sign, J);
}

static void course_both(const System *s, int set, double t, const double *y, size_t first,
                        size_t rows, double *dy)
{
    const System *base = course_base(s, &t);
    base->both(base, set, t, y, first, rows, dy);
    turn(s, first, rows, dy);
}

static void course_flow(const System *s, int op, int set, double t, double h, double *y)
{
    const Course *c = s->context;
    const System *base = course_base(s, &t);
    base->flow[op](base, set, t, c->sign * h, y);
}

SYSTEM_FLOW(course_flow_F)
{
    course_flow(s, OP_F, set, t, h, y);
}

SYSTEM_FLOW(course_flow_G)
{
    course_flow(s, OP_G, set, t, h, y);
}

SYSTEM_FLOW(course_flow_C)
{
    course_flow(s, OP_C, set, t, h, y);
}

/* The solution by the clock of the system. */
static void course_solution(const System *s, double t, double *y)
{
    const System *base = course_base(s, &t);
    base->solution(base, t, y);
}

/* The solution of an autonomous field, from its initial state at 0. */
static void course_solution_moved(const System *s, double t, double *y)
{
    const Course *c = s->context;
    c->base.solution(&c->base, c->sign * t, y);
}

static double course_energy(const System *s, const double *y)
{
    double t = 0;
    const System *base = course_base(s, &t);
    return base->energy(base, y);
}

int system_solves(const System *s, double t)
{
    size_t N = s->n * s->d, same = 0;
    SCOPED(memory_drop) double *y = s->solution ? memory_new(N, sizeof *y) : NULL;
    if (!y) return 0;
    s->solution(s, t, y);
    while (same < N && fabs(y[same] - s->initial[same]) <= 1e-12 * (1 + fabs(y[same]))) same++;
    return same == N;
}

void system_course(const System *s, double begin, int back, Course *out)
{
    static void (*const field[COLOURS])(const System *, int, double, const double *,
                                        double *) = {course_F, course_G, course_C};
    static void (*const flow[COLOURS])(const System *, int, double, double,
                                       double *) = {course_flow_F, course_flow_G, course_flow_C};
    *out = (Course){.system = *s, .base = *s, .begin = begin, .sign = back ? -1 : 1};
    System *c = &out->system;
    for (int op = 0; op < COLOURS; op++) {
        c->field[op] = s->field[op] ? field[op] : NULL;
        c->flow[op] = s->flow[op] ? flow[op] : NULL;
    }
    c->jacobian = s->jacobian ? course_jacobian : NULL;
    c->both = s->both ? course_both : NULL;
    c->at_complex = NULL;
    c->energy = s->energy ? course_energy : NULL;
    c->solution = system_solves(s, begin)            ? course_solution
                  : !s->timed && system_solves(s, 0) ? course_solution_moved
                                                     : NULL;
    c->solved = NULL; /* those are solutions from another time */
    c->context = out;
}
