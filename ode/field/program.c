/* program.c: runs the programs of a system file: values in every lane, and from them the fields. */
#include "ode/field/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/random.h"
#include "kernels/base/simd.h"
#include "ode/field/system.h"

/* 0 below 0, else 1: what is switched on or off at a time. */
static double heaviside(double x)
{
    return x < 0 ? 0 : 1;
}

const struct ProgramFunction program_functions[PROGRAM_FUNCTIONS] = {
    {"sqrt", sqrt}, {"exp", exp},  {"log", log},
    {"sin", sin},   {"cos", cos},  {"tan", tan},
    {"tanh", tanh}, {"abs", fabs}, {"heaviside", heaviside}};

enum { STREAM_MEMORY = STREAM_INITIAL + 2 };

/* The lanes of a program: m = 0 .. count - 1, of particle i + m * di of y and other j + m of z. */
typedef struct {
    const Formulas *formulas;
    const double *y, *z;
    size_t n, d, i, di, j, count, c; /* c: of y'' the position's */
    double t;
    uint64_t seed, stream;
} Lanes;

/* Returns |a - b|^2 or a . b of the particle and its other, by their positions: velocities do not count. */
static double measure(const Lanes *l, size_t m, int product)
{
    const double *a = l->y + (l->i + m * l->di) * l->d, *b = l->z + (l->j + m) * l->d;
    size_t positions = l->formulas->second ? l->formulas->second : l->d;
    double sum = 0;
    for (size_t k = 0; k < positions; k++)
        sum += product ? a[k] * b[k] : (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}

static double neighbour(const Lanes *l, size_t i, long by, size_t k)
{
    long n = (long)l->n, j = (long)i + by;
    if (l->formulas->ring) j = (j % n + n) % n;
    return j < 0 || j >= n ? l->formulas->ends : l->y[(size_t)j * l->d + k];
}

static double leaf(const Lanes *l, const Op *op, size_t m)
{
    size_t k = op->k == THIS       ? l->c
               : op->k == VELOCITY ? l->c + l->formulas->second
                                   : (size_t)op->k;
    size_t i = l->i + m * l->di;
    switch (op->code) {
    case GET_OWN: return l->y[i * l->d + k];
    case GET_OTHER: return l->z[(l->j + m) * l->d + k];
    case GET_NEXT: return neighbour(l, i, (long)op->value, k);
    case GET_INDEX_I: return (double)i + 1;
    case GET_INDEX_J: return (double)(l->j + m) + 1;
    case GET_INDEX_C: return (double)l->c + 1;
    case GET_TIME: return l->t;
    case GET_R2: return measure(l, m, 0);
    case GET_R: return sqrt(measure(l, m, 0));
    case GET_DOT: return measure(l, m, 1);
    case GET_UNIFORM: return random_uniform(l->seed, l->stream, i * l->d + l->c);
    case GET_NORMAL: return random_normal(l->seed, l->stream + 1, i * l->d + l->c);
    case GET_VECTOR:
        i = op->value == GET_INDEX_I ? i : op->value == GET_INDEX_J ? l->j + m : l->c;
        return l->formulas->vector[(size_t)op->k + i];
    default: return op->value;
    }
}

static double whole_power(double x, int n)
{
    double p = 1;
    if (n == 2) return x * x;
    for (int k = abs(n); k > 0; k /= 2, x *= x)
        if (k % 2) p *= x;
    return n < 0 ? 1 / p : p;
}

void program_apply(const Op *op, size_t count, double *restrict a, const double *restrict b)
{
    switch (op->code) {
    case DO_ADD:
        for (size_t m = 0; m < count; m++) a[m] += b[m];
        break;
    case DO_SUB:
        for (size_t m = 0; m < count; m++) a[m] -= b[m];
        break;
    case DO_MUL:
        for (size_t m = 0; m < count; m++) a[m] *= b[m];
        break;
    case DO_DIV:
        for (size_t m = 0; m < count; m++) a[m] /= b[m];
        break;
    case DO_POW:
        for (size_t m = 0; m < count; m++) a[m] = pow(a[m], b[m]);
        break;
    case DO_POWI:
        for (size_t m = 0; m < count; m++) a[m] = whole_power(a[m], op->k);
        break;
    case DO_NEG:
        for (size_t m = 0; m < count; m++) a[m] = -a[m];
        break;
    case DO_CALL:
        for (size_t m = 0; m < count; m++) a[m] = program_functions[op->k].call(a[m]);
        break;
    default: break;
    }
}

int program_operands(int code)
{
    return code < DO_ADD ? 0 : code <= DO_POW ? 2 : 1;
}

/* Computes r2, r or dot of one particle and its others; of r2 and r the coordinates' sum is in their order. */
SIMD_CLONES static void distances(size_t count, size_t positions, size_t d, int code,
                                  const double *a, const double *b, double *restrict out)
{
    for (size_t m = 0; m < count; m++) out[m] = 0;
    for (size_t k = 0; k < positions; k++)
        for (size_t m = 0; m < count; m++) {
            const double x = a[k], z = b[m * d + k];
            out[m] += code == GET_DOT ? x * z : (x - z) * (x - z);
        }
    for (size_t m = 0; code == GET_R && m < count; m++) out[m] = sqrt(out[m]);
}

/* Takes coordinate k of the neighbours of particles one behind the other; only those of the first and last ones may be beyond the
 * ends. */
static void take_neighbours(const Lanes *l, long by, size_t k, double *out)
{
    size_t from = by < 0 ? (size_t)-by : 0, to = by > 0 ? (size_t)by : 0, m = 0;
    to = l->n > to ? l->n - to : 0; /* particles from .. to - 1 have the neighbour */
    for (; m < l->count && l->i + m < from; m++) out[m] = neighbour(l, l->i + m, by, k);
    for (; m < l->count && l->i + m < to; m++)
        out[m] = l->y[(size_t)((long)(l->i + m) + by) * l->d + k];
    for (; m < l->count; m++) out[m] = neighbour(l, l->i + m, by, k);
}

/* Computes an operation without operands in every lane: of one particle (di 0), or of one particle after the other (di 1). */
static void leaves(const Lanes *l, const Op *op, double *out)
{
    const size_t d = l->d, k = op->k == THIS       ? l->c
                               : op->k == VELOCITY ? l->c + l->formulas->second
                                                   : (size_t)op->k;
    const double *y = l->y + l->i * d, *z = l->z ? l->z + l->j * d : NULL;
    switch (op->code) {
    case GET_OTHER:
        for (size_t m = 0; m < l->count; m++) out[m] = z[m * d + k];
        return;
    case GET_R2:
    case GET_R:
    case GET_DOT:
        distances(l->count, l->formulas->second ? l->formulas->second : d, d, op->code, y, z, out);
        return;
    case GET_OWN:
        if (l->di * d == 1)
            memcpy(out, y + k, l->count * sizeof *out);
        else
            for (size_t m = 0; m < l->count; m++) out[m] = y[m * l->di * d + k];
        return;
    case GET_NEXT:
        if (l->di == 1) {
            take_neighbours(l, (long)op->value, k, out);
            return;
        }
        break;
    default: break;
    }
    const int same = op->code == GET_CONSTANT || op->code == GET_TIME || op->code == GET_INDEX_C ||
                     (l->di == 0 && op_is_fixed(op));
    const double first = leaf(l, op, 0);
    const size_t count = l->count;
    if (same)
        for (size_t m = 0; m < count; m++) out[m] = first;
    else
        for (size_t m = 0; m < count; m++) out[m] = leaf(l, op, m);
}

/* Returns the value of a program in the one lane there is: sets of lanes, a loop for each operation, would cost a particle alone
 * five times as much. */
static double run_single(const Lanes *l, const Program *p)
{
    const double *y = l->y + l->i * l->d;
    const Op *op = l->formulas->op + p->first, *end = op + p->count;
    double stack[PROGRAM_STACK + 1], *top = stack; /* nothing is below the first value */
    for (; op < end; op++) {
        switch (op->code) {
        case GET_CONSTANT: *++top = op->value; break;
        case DO_ADD: top--, *top += top[1]; break;
        case DO_SUB: top--, *top -= top[1]; break;
        case DO_MUL: top--, *top *= top[1]; break;
        case DO_DIV: top--, *top /= top[1]; break;
        case DO_NEG: *top = -*top; break;
        default:
            if (op->code == GET_OWN && op->k >= 0)
                *++top = y[op->k];
            else if (program_operands(op->code) == 0)
                *++top = leaf(l, op, 0);
            else if (program_operands(op->code) == 1)
                program_apply(op, 1, top, NULL);
            else
                top--, program_apply(op, 1, top, top + 1);
        }
    }
    return stack[1];
}

/* Computes out (count), the value of a program in every lane. */
static void run_program(const Lanes *l, const Program *p, double *out)
{
    if (l->count == 1) {
        *out = run_single(l, p);
        return;
    }
    double stack[PROGRAM_STACK][PROGRAM_LANES];
    int top = -1;
    for (int k = p->first; k < p->first + p->count; k++) {
        const Op *op = &l->formulas->op[k];
        int n = program_operands(op->code);
        if (n == 0) {
            top++;
            leaves(l, op, stack[top]);
            continue;
        }
        top -= n - 1;
        program_apply(op, l->count, stack[top], stack[top + 1 < PROGRAM_STACK ? top + 1 : top]);
    }
    memcpy(out, stack[0], l->count * sizeof *out);
}

/* ---- fields -------------------------------------------------------------------------------------- */

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Computes exp(a - less), to 1e-15 where it is a double's usual number. */
SIMD_CLONES static void exponentials(size_t count, double less, double *a)
{
    double e[PROGRAM_LANES];
#pragma omp simd
    for (size_t m = 0; m < count; m++) e[m] = simd_exp(a[m] - less);
    for (size_t m = 0; m < count; m++) a[m] = fabs(a[m] - less) <= 700 ? e[m] : exp(a[m] - less);
}

/* Computes a list of nodes in every lane: value (count, lanes). Those that read nothing of the other particle stay from one set of
 * others to the next. */
static void run_joint(const Lanes *l, const Joint *j, size_t lanes, double *value)
{
    for (int k = 0; k < j->count; k++) {
        const Node *x = &j->node[k];
        double *out = value + (size_t)k * lanes;
        if (x->fixed && l->j > 0) continue;
        if (x->a < 0) {
            leaves(l, &x->op, out);
            continue;
        }
        memcpy(out, value + (size_t)x->a * lanes, l->count * sizeof *out);
        if (x->op.code == DO_CALL && program_functions[x->op.k].call == exp)
            exponentials(l->count, 0, out);
        else
            program_apply(&x->op, l->count, out, value + (size_t)(x->b < 0 ? x->a : x->b) * lanes);
    }
}

/* The sums of one coordinate over the others so far. */
typedef struct {
    double sum, top, weight, scale;
} Sum;

SIMD_CLONES static double sum_of(size_t count, const double *v)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t m = 0; m < count; m++) sum += v[m];
    return sum;
}

SIMD_CLONES static double product_of(size_t count, const double *e, const double *v)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t m = 0; m < count; m++) sum += e[m] * v[m];
    return sum;
}

/* A particle is not its own other. */
static void add_others(const Lanes *l, const double *v, Sum *s)
{
    const size_t own = l->z == l->y && l->i >= l->j ? l->i - l->j : SIZE_MAX;
    if (own >= l->count)
        s->sum += sum_of(l->count, v);
    else
        s->sum += sum_of(own, v) + sum_of(l->count - own - 1, v + own + 1);
}

/* Computes the weights e of a softmax's scores. It keeps the largest score so far at 0, so that nothing overflows: Milakov,
 * Gimelshein 2018. */
static void weigh(const Lanes *l, const double *score, double *e, Sum *s)
{
    const double old = s->top;
    for (size_t m = 0; m < l->count; m++)
        if (!(score[m] <= s->top)) s->top = score[m];
    s->scale = s->top > old ? exp(old - s->top) : 1;
    memcpy(e, score, l->count * sizeof *e);
    exponentials(l->count, s->top, e);
    s->weight *= s->scale;
    s->weight += sum_of(l->count, e);
}

/* Adds what a set of others contributes; a coordinate whose scores are those of the one before has its weights, e. */
static void add_all(const Lanes *l, const Rule *rule, const Joint *j, size_t lanes,
                    const double *value, Sum *s)
{
    double e[PROGRAM_LANES];
    for (size_t c = 0, last = SIZE_MAX; c < l->d; c++) {
        const Rule *r = &rule[c];
        if (!rule_is_other(r)) continue;
        const double *v = value + (size_t)j->value[c] * lanes;
        if (r->kind != OTHERS_SOFTMAX) {
            add_others(l, v, &s[c]);
            continue;
        }
        if (last == SIZE_MAX || j->score[c] != j->score[last]) {
            weigh(l, value + (size_t)j->score[c] * lanes, e, &s[c]);
        } else {
            s[c].top = s[last].top;
            s[c].scale = s[last].scale;
            s[c].weight = s[last].weight;
        }
        last = c;
        s[c].sum *= s[c].scale;
        s[c].sum += product_of(l->count, e, v);
    }
}

/* Computes F on particle i, whose others are z (n, d), or C. */
static void interact(const System *s, int which, double t, const double *y, size_t i,
                     const double *z, size_t n, double *dy)
{
    enum { ROOM = PROGRAM_NODES };
    const Formulas *formulas = s->context;
    const Rule *rule = formulas->rule[which];
    const Joint *j = &formulas->joint[which == RULE_C];
    const size_t d = s->d, lanes = at_most(PROGRAM_LANES, ROOM / (size_t)(j->count + !j->count));
    double value[ROOM];
    Sum sum[SYSTEM_D_MAX];
    Lanes l = {.formulas = formulas, .y = y, .z = z, .n = s->n, .d = d, .i = i, .t = t};
    for (size_t c = 0; c < d; c++) sum[c] = (Sum){0, -INFINITY, 0, 1};
    for (; j->count && l.j < n; l.j += lanes) {
        l.count = at_most(lanes, n - l.j);
        run_joint(&l, j, lanes, value);
        add_all(&l, rule, j, lanes, value, sum);
    }
    for (size_t c = 0; c < d; c++) {
        if (rule[c].kind == OTHERS_NEXT) continue;
        dy[i * d + c] = rule[c].kind == OTHERS_SOFTMAX ? sum[c].sum / sum[c].weight
                        : rule[c].kind == OTHERS_MEAN  ? sum[c].sum / (double)n
                                                       : sum[c].sum;
    }
}

/* Threads share work of some 0.1 ms and more. A parallel region costs a team and a system call, which is more than few
 * operations take: on a grid, where neighbours alone are seen, two threads took six times as long as one. */
static void interact_all(const System *s, int which, double t, const double *y, const double *z,
                         size_t n, double *dy)
{
    enum { MANY = 1 << 17 };
    const Formulas *formulas = s->context;
    const size_t nodes = (size_t)formulas->joint[which == RULE_C].count;
    if (nodes == 0) {
        for (size_t c = 0; c < s->d; c++)
            for (size_t i = 0; i < s->n && formulas->rule[which][c].kind != OTHERS_NEXT; i++)
                dy[i * s->d + c] = 0;
        return;
    }
    if (nodes * s->n * n < MANY) {
        for (size_t i = 0; i < s->n; i++) interact(s, which, t, y, i, z, n, dy);
        return;
    }
#pragma omp parallel for
    for (size_t i = 0; i < s->n; i++) interact(s, which, t, y, i, z, n, dy);
}

/* Computes out (n, d) by a rule without others, for every particle of y or of the memory; of an interaction those coordinates
 * whose rule has neighbours alone. */
static void each(const System *s, int which, size_t n, double t, const double *y, uint64_t seed,
                 double *out)
{
    const Formulas *formulas = s->context;
    double v[PROGRAM_LANES];
    for (size_t c = 0; c < s->d; c++) {
        const Rule *r = &formulas->rule[which][c];
        if (which == RULE_F && r->kind != OTHERS_NEXT) continue;
        for (size_t i = 0; i < n; i += PROGRAM_LANES) {
            Lanes l = {.formulas = formulas,
                       .y = y,
                       .n = n,
                       .d = s->d,
                       .i = i,
                       .di = 1,
                       .c = program_coordinate(formulas, which, c),
                       .t = t,
                       .seed = seed,
                       .stream = which == RULE_MEMORY ? STREAM_MEMORY : STREAM_INITIAL,
                       .count = at_most(PROGRAM_LANES, n - i)};
            if (r->line)
                run_program(&l, &r->value, v);
            else
                memset(v, 0, l.count * sizeof *v);
            for (size_t m = 0; m < l.count; m++) out[(i + m) * s->d + c] = v[m];
        }
    }
}

void program_interact(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set;
    interact_all(s, RULE_F, t, y, y, s->n, dy);
    each(s, RULE_F, s->n, t, y, 0, dy);
}

void program_remember(const System *s, int set, double t, const double *y, double *dy)
{
    const Formulas *formulas = s->context;
    (void)set;
    interact_all(s, RULE_C, t, y, s->param + s->n * s->d, formulas->memory, dy);
}

void program_drift(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set;
    each(s, RULE_G, s->n, t, y, 0, dy);
}

void program_partial(const System *s, const Partial *p, double t, const double *y, double *out)
{
    for (size_t i = 0; i < s->n; i += PROGRAM_LANES) {
        Lanes l = {.formulas = s->context, .y = y, .n = s->n, .d = s->d, .i = i, .di = 1};
        l.t = t;
        l.c = p->of;
        l.count = at_most(PROGRAM_LANES, s->n - i);
        run_program(&l, &p->value, out + i);
    }
}

void program_jacobian(const System *s, int op, int set, double t, const double *y, double *J)
{
    const Formulas *formulas = s->context;
    size_t N = s->n * s->d;
    (void)set;
    memset(J, 0, N * N * sizeof *J);
    for (size_t k = 0; op == OP_G && k < formulas->partials; k++) {
        const Partial *p = &formulas->partial[k];
        program_partial(s, p, t, y, s->param);
        for (size_t i = 0; i < s->n; i++)
            J[(i * s->d + p->of) * N + i * s->d + p->by] = s->param[i];
    }
}

void program_initial(const System *s, uint64_t seed, double *out)
{
    each(s, RULE_INITIAL, s->n, 0, out, seed, out);
}

void program_memory(const System *s, uint64_t seed, double *out)
{
    const Formulas *formulas = s->context;
    each(s, RULE_MEMORY, formulas->memory, 0, out, seed, out);
}

void program_exact(const System *s, double t, double *y)
{
    each(s, RULE_EXACT, s->n, t, y, 0, y);
}

double program_value(const Formulas *f, const Program *p, double t, const double *y)
{
    double value;
    Lanes l = {.formulas = f, .y = y, .n = 1, .di = 1, .t = t, .count = 1};
    run_program(&l, p, &value);
    return value;
}

double program_energy(const System *s, const double *y)
{
    const Formulas *formulas = s->context;
    double v[PROGRAM_LANES], sum = 0;
    for (size_t i = 0; i < s->n; i += PROGRAM_LANES) {
        Lanes l = {.formulas = formulas, .y = y, .n = s->n, .d = s->d, .i = i, .di = 1};
        l.count = at_most(PROGRAM_LANES, s->n - i);
        run_program(&l, &formulas->rule[RULE_ENERGY][0].value, v);
        for (size_t m = 0; m < l.count; m++) sum += v[m];
    }
    return sum;
}

/* Adds h times a field that does not change along its own flow. */
static void shift(const System *s, int op, double t, double h, double *y)
{
    double *dy = s->param;
    s->field[op](s, 1, t, y, dy);
    for (size_t k = 0; k < s->n * s->d; k++) y[k] += h * dy[k];
}

void program_kick(const System *s, int set, double t, double h, double *y)
{
    (void)set;
    shift(s, OP_F, t, h, y);
}

void program_coast(const System *s, int set, double t, double h, double *y)
{
    (void)set;
    shift(s, OP_G, t, h, y);
}
