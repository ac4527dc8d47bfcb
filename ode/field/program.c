/* program.c: runs the programs of a system file: values in every lane, and from them the fields. */
#include "ode/field/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/random.h"
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

/* Returns the coordinate in hand of a rule: the accelerations of y'' are those of the positions. */
static size_t coordinate(const Formulas *f, int which, size_t c)
{
    return which == RULE_F && f->second && c >= f->second ? c - f->second : c;
}

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

/* Computes out (count), the value of a program in every lane. */
static void run_program(const Lanes *l, const Program *p, double *out)
{
    double stack[PROGRAM_STACK][PROGRAM_LANES];
    int top = -1;
    for (int k = p->first; k < p->first + p->count; k++) {
        const Op *op = &l->formulas->op[k];
        int n = program_operands(op->code);
        if (n == 0) {
            top++;
            for (size_t m = 0; m < l->count; m++) stack[top][m] = leaf(l, op, m);
            continue;
        }
        top -= n - 1;
        program_apply(op, l->count, stack[top], stack[top + 1 < PROGRAM_STACK ? top + 1 : top]);
    }
    memcpy(out, stack[0], l->count * sizeof *out);
}

/* ---- linear rules ------------------------------------------------------------------------------------ */

enum { DEGREE_NO = 2 }; /* no polynomial of degree 1 in y */

static int leaf_degree(int code, int memory)
{
    switch (code) {
    case GET_OWN:
    case GET_NEXT: return 1;
    case GET_OTHER: return memory ? 0 : 1;
    case GET_DOT: return memory ? 1 : DEGREE_NO;
    case GET_TIME:
    case GET_R2:
    case GET_R: return DEGREE_NO;
    default: return 0;
    }
}

/* Returns the degree in y of op on one of degree a, and b where it takes two. */
static int op_degree(const Op *op, int a, int b)
{
    switch (op->code) {
    case DO_ADD:
    case DO_SUB: return a > b ? a : b;
    case DO_MUL: return a + b < DEGREE_NO ? a + b : DEGREE_NO;
    case DO_DIV: return b ? DEGREE_NO : a;
    case DO_POW: return a || b ? DEGREE_NO : 0;
    case DO_NEG: return a;
    case DO_POWI: return op->k == 1 || a == 0 ? a : DEGREE_NO;
    default: return a ? DEGREE_NO : 0;
    }
}

/* Returns a program's degree, as its operations tell: y*y - y*y has 2. Time has DEGREE_NO. */
static int degree(const Formulas *f, const Program *p, int memory)
{
    int stack[PROGRAM_STACK] = {0}, top = -1;
    for (int k = p->first; k < p->first + p->count; k++) {
        const Op *op = &f->op[k];
        int n = program_operands(op->code);
        top -= n - 1;
        stack[top] = n == 0 ? leaf_degree(op->code, memory)
                            : op_degree(op, stack[top], n > 1 ? stack[top + 1] : 0);
    }
    return stack[0];
}

int program_linear(const Formulas *f, int which, size_t d)
{
    int memory = which == RULE_C;
    for (size_t c = 0; c < d; c++) {
        const Rule *r = &f->rule[which][c];
        if (r->line && degree(f, &r->value, memory) >= DEGREE_NO) return 0;
        if (r->line && r->kind == OTHERS_SOFTMAX && degree(f, &r->score, memory) > 0) return 0;
    }
    return 1;
}

size_t program_sees(const Formulas *f, int which, size_t d)
{
    size_t sees = 1;
    for (size_t c = 0; c < d; c++) {
        const Rule *r = &f->rule[which][c];
        int others = r->line && r->kind != OTHERS_NONE && r->kind != OTHERS_NEXT;
        if (others && which != RULE_C) return 0; /* the memory stands still */
        for (int k = r->value.first; r->line && k < r->value.first + r->value.count; k++) {
            size_t by = (size_t)fabs(f->op[k].value) + 1;
            if (f->op[k].code == GET_NEXT && by > sees) sees = by;
        }
    }
    return sees;
}

/* ---- fields -------------------------------------------------------------------------------------- */

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Sums the n others' values on particle l->i, which is not its own other. */
static double add_others(Lanes *l, const Rule *r, size_t n)
{
    double v[PROGRAM_LANES], sum = 0;
    for (l->j = 0; l->j < n; l->j += PROGRAM_LANES) {
        l->count = at_most(PROGRAM_LANES, n - l->j);
        run_program(l, &r->value, v);
        for (size_t m = 0; m < l->count; m++)
            if (l->z != l->y || l->j + m != l->i) sum += v[m];
    }
    return r->kind == OTHERS_MEAN ? sum / (double)n : sum;
}

/* Keeps the largest score so far at 0, so that nothing overflows: Milakov, Gimelshein 2018. */
static double attend(Lanes *l, const Rule *r, size_t n)
{
    double v[PROGRAM_LANES], s[PROGRAM_LANES], top = -INFINITY, sum = 0, weight = 0;
    for (l->j = 0; l->j < n; l->j += PROGRAM_LANES) {
        double old = top;
        l->count = at_most(PROGRAM_LANES, n - l->j);
        run_program(l, &r->score, s);
        run_program(l, &r->value, v);
        for (size_t m = 0; m < l->count; m++)
            if (!(s[m] <= top)) top = s[m];
        double scale = top > old ? exp(old - top) : 1;
        sum *= scale;
        weight *= scale;
        for (size_t m = 0; m < l->count; m++) {
            double e = exp(s[m] - top);
            sum += e * v[m];
            weight += e;
        }
    }
    return sum / weight;
}

/* Computes F on particle i, whose others are z (n, d), or C. */
static void interact(const System *s, int which, double t, const double *y, size_t i,
                     const double *z, size_t n, double *dy)
{
    const Formulas *formulas = s->context;
    size_t d = s->d;
    for (size_t c = 0; c < d; c++) {
        const Rule *r = &formulas->rule[which][c];
        if (r->kind == OTHERS_NEXT) continue;
        Lanes l = {.formulas = formulas,
                   .y = y,
                   .z = z,
                   .d = d,
                   .i = i,
                   .c = coordinate(formulas, which, c),
                   .t = t};
        dy[i * d + c] = !r->line                    ? 0
                        : r->kind == OTHERS_SOFTMAX ? attend(&l, r, n)
                                                    : add_others(&l, r, n);
    }
}

/* Counts the operations of an interaction with n others. Rules of neighbours, and a rule that is not written, cost none of them. */
static size_t operations(const System *s, int which, size_t n)
{
    const Formulas *formulas = s->context;
    size_t each = 0;
    for (size_t c = 0; c < s->d; c++) {
        const Rule *r = &formulas->rule[which][c];
        if (r->line && r->kind != OTHERS_NEXT) each += (size_t)(r->value.count + r->score.count);
    }
    return each * s->n * n;
}

/* Threads share work of some 0.1 ms and more. A parallel region costs a team and a system call, which is more than few
 * operations take: on a grid, where neighbours alone are seen, two threads took six times as long as one. */
static void interact_all(const System *s, int which, double t, const double *y, const double *z,
                         size_t n, double *dy)
{
    enum { MANY = 1 << 17 };
    if (operations(s, which, n) < MANY) {
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
                       .c = coordinate(formulas, which, c),
                       .t = t,
                       .seed = seed,
                       .stream = which == RULE_MEMORY ? STREAM_MEMORY : STREAM_INITIAL,
                       .count = at_most(PROGRAM_LANES, n - i)};
            memset(v, 0, sizeof v);
            if (r->line) run_program(&l, &r->value, v);
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
