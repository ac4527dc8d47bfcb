/* tape.c: runs the programs of a system's rules once by names instead of numbers, for each coordinate of each particle. */
#include "ode/field/tape.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "ode/field/program.h"

/* A rule at work: particle i, its other j, coordinate c. */
typedef struct {
    Tape *t;
    const Formulas *f;
    size_t n, d, i, j, c;
    int full, odd; /* too many operations; one that no other arithmetic has */
} Writer;

/* Returns the entry of an operation, a new one where there is none like it. */
static int put(Writer *w, Entry x)
{
    Tape *t = w->t;
    for (int k = 0; k < t->count; k++) {
        const Entry *o = &t->node[k];
        if (o->code == x.code && o->a == x.a && o->b == x.b && o->value == x.value) return k;
    }
    if (t->count >= TAPE_MOST - 1) return w->full = 1, 0;
    x.still = x.code == TAPE_NUMBER || (x.code > TAPE_TIME && t->node[x.a].still &&
                                        (x.code > TAPE_DIV || t->node[x.b].still));
    t->node[t->count] = x;
    if (x.code != TAPE_SIN) return t->count++;
    t->node[t->count + 1] = x;
    t->node[t->count + 1].code = TAPE_COS;
    t->count += 2;
    return t->count - 2;
}

static int number(Writer *w, double value)
{
    return put(w, (Entry){.code = TAPE_NUMBER, .value = value});
}

static int both(Writer *w, int code, int a, int b)
{
    return put(w, (Entry){.code = code, .a = a, .b = b});
}

static int one(Writer *w, int code, int a)
{
    return put(w, (Entry){.code = code, .a = a});
}

static int state(Writer *w, size_t particle, size_t c)
{
    return one(w, TAPE_STATE, (int)(particle * w->d + c));
}

/* Writes |a - b|^2 or a . b of the particle and its other, by their positions. */
static int measure(Writer *w, int product)
{
    size_t positions = w->f->second ? w->f->second : w->d;
    int sum = -1;
    for (size_t k = 0; k < positions; k++) {
        int a = state(w, w->i, k), b = state(w, w->j, k), x = product ? a : both(w, TAPE_SUB, a, b);
        x = both(w, TAPE_MUL, x, product ? b : x);
        sum = sum < 0 ? x : both(w, TAPE_ADD, sum, x);
    }
    return sum;
}

static int neighbour(Writer *w, long by, size_t k)
{
    long n = (long)w->n, j = (long)w->i + by;
    if (w->f->ring) j = (j % n + n) % n;
    return j < 0 || j >= n ? number(w, w->f->ends) : state(w, (size_t)j, k);
}

static int leaf(Writer *w, const Op *op)
{
    size_t k = op->k == THIS ? w->c : op->k == VELOCITY ? w->c + w->f->second : (size_t)op->k;
    switch (op->code) {
    case GET_CONSTANT: return number(w, op->value);
    case GET_OWN: return state(w, w->i, k);
    case GET_OTHER: return state(w, w->j, k);
    case GET_NEXT: return neighbour(w, (long)op->value, k);
    case GET_INDEX_I: return number(w, (double)w->i + 1);
    case GET_INDEX_J: return number(w, (double)w->j + 1);
    case GET_INDEX_C: return number(w, (double)w->c + 1);
    case GET_TIME: return one(w, TAPE_TIME, 0);
    case GET_R2: return measure(w, 0);
    case GET_R: return one(w, TAPE_SQRT, measure(w, 0));
    case GET_DOT: return measure(w, 1);
    case GET_VECTOR:
        k = op->value == GET_INDEX_I ? w->i : op->value == GET_INDEX_J ? w->j : w->c;
        return number(w, w->f->vector[(size_t)op->k + k]);
    default: return w->odd = 1, 0;
    }
}

static int whole_power(Writer *w, int x, int n)
{
    int p = -1;
    for (int k = abs(n); k > 0; k /= 2) {
        if (k % 2) p = p < 0 ? x : both(w, TAPE_MUL, p, x);
        if (k > 1) x = both(w, TAPE_MUL, x, x);
    }
    if (p < 0) p = number(w, 1);
    return n < 0 ? both(w, TAPE_DIV, number(w, 1), p) : p;
}

static int call(Writer *w, const char *name, int x)
{
    static const struct {
        const char *name;
        int code;
    } same[] = {{"sqrt", TAPE_SQRT}, {"exp", TAPE_EXP}, {"log", TAPE_LOG},
                {"sin", TAPE_SIN},   {"abs", TAPE_ABS}, {"heaviside", TAPE_STEP}};
    for (size_t k = 0; k < sizeof same / sizeof *same; k++)
        if (strcmp(name, same[k].name) == 0) return one(w, same[k].code, x);
    if (strcmp(name, "tanh") == 0) { /* 1 - 2 / (exp(2 x) + 1) */
        int two = number(w, 2), e = one(w, TAPE_EXP, both(w, TAPE_MUL, two, x));
        e = both(w, TAPE_DIV, two, both(w, TAPE_ADD, e, number(w, 1)));
        return both(w, TAPE_SUB, number(w, 1), e);
    }
    int sine = one(w, TAPE_SIN, x), cosine = sine + 1;
    return strcmp(name, "cos") == 0 ? cosine : both(w, TAPE_DIV, sine, cosine);
}

static int power(Writer *w, int a, int b)
{
    if (w->t->node[b].still) return both(w, TAPE_POW, a, b);
    return one(w, TAPE_EXP, both(w, TAPE_MUL, b, one(w, TAPE_LOG, a)));
}

/* Writes a program; returns the entry of its value. */
static int run_program(Writer *w, const Program *p)
{
    int stack[PROGRAM_STACK] = {0}, top = -1;
    for (int k = p->first; k < p->first + p->count; k++) {
        const Op *op = &w->f->op[k];
        int operands = program_operands(op->code), *a, b;
        top -= operands - 1;
        a = &stack[top];
        b = operands > 1 ? stack[top + 1] : 0;
        switch (op->code) {
        case DO_ADD: *a = both(w, TAPE_ADD, *a, b); break;
        case DO_SUB: *a = both(w, TAPE_SUB, *a, b); break;
        case DO_MUL: *a = both(w, TAPE_MUL, *a, b); break;
        case DO_DIV: *a = both(w, TAPE_DIV, *a, b); break;
        case DO_POW: *a = power(w, *a, b); break;
        case DO_POWI: *a = whole_power(w, *a, op->k); break;
        case DO_NEG: *a = one(w, TAPE_NEG, *a); break;
        case DO_CALL: *a = call(w, program_functions[op->k].name, *a); break;
        default: *a = leaf(w, op); break;
        }
    }
    return stack[0];
}

static int sum_of(Writer *w, int sum, int x)
{
    return sum < 0 ? x : both(w, TAPE_ADD, sum, x);
}

/* Writes what the others make of the coordinate in hand. */
static int interact(Writer *w, const Rule *r)
{
    int sum = -1, weights = -1;
    for (w->j = 0; w->j < w->n; w->j++) {
        if (r->kind != OTHERS_SOFTMAX && w->j == w->i) continue;
        int v = run_program(w, &r->value);
        if (r->kind == OTHERS_SOFTMAX) {
            int e = one(w, TAPE_EXP, run_program(w, &r->score));
            weights = sum_of(w, weights, e);
            v = both(w, TAPE_MUL, e, v);
        }
        sum = sum_of(w, sum, v);
    }
    if (sum < 0) return number(w, 0);
    if (r->kind == OTHERS_MEAN) return both(w, TAPE_DIV, sum, number(w, (double)w->n));
    return r->kind == OTHERS_SOFTMAX ? both(w, TAPE_DIV, sum, weights) : sum;
}

/* Writes y' of coordinate c of particle i. */
static int rate(Writer *w, int ops, size_t c)
{
    int sum = -1;
    for (int which = RULE_F; which <= RULE_G; which++) {
        const Rule *r = &w->f->rule[which][c];
        if (!r->line || !(ops >> which & 1)) continue;
        w->c = which == RULE_F && w->f->second && c >= w->f->second ? c - w->f->second : c;
        int alone = which == RULE_G || r->kind == OTHERS_NEXT;
        sum = sum_of(w, sum, alone ? run_program(w, &r->value) : interact(w, r));
    }
    return sum < 0 ? number(w, 0) : sum;
}

int tape_new(const System *s, int ops, Tape **out)
{
    size_t N = s->n * s->d;
    if (s->field[OP_G] != program_drift || s->mass || s->field[OP_C])
        return error_set(
            ERR_INPUT,
            "%s: expected y' = F + G as a text of formulas, as of --system-file: only such a field is enclosed, or taken at complex states",
            s->name);
    SCOPED(memory_drop) Tape *t = memory_new(1, sizeof *t + N * sizeof *t->rate);
    if (!t) return ERR_MEMORY;
    t->N = (int)N;
    Writer w = {.t = t, .f = s->context, .n = s->n, .d = s->d};
    for (size_t k = 0; k < N && !w.full; k++) {
        w.i = k / s->d;
        t->rate[k] = rate(&w, ops, k % s->d);
    }
    if (w.full || w.odd)
        return error_set(
            ERR_INPUT,
            "%s: a solution is enclosed where its field has at most %d operations and no random numbers",
            s->name, TAPE_MOST);
    *out = t;
    t = NULL;
    return 0;
}
