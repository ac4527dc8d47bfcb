/* step.c: one stepper for every table: points, evaluations and update straight from its rows.
 *
 * A frozen table is compiled once: a row becomes a list of (double, slope or state, steps ago). Two
 * rings hold what a row may ask for: the last past_y + 1 states, and the slopes k_e = h f_e of the
 * last past_k + 1 steps. A table of flows applies sub-flows to the state instead. Nothing is
 * allocated after stepper_new, but by reference_flow where a system has no closed sub-flow.
 *
 * Past slopes of START_GIVEN are evaluated on exact past states: the steps from t - j h, oldest
 * first. Where stage arguments use past slopes themselves (two-step Runge-Kutta), this recursion has
 * no end: it begins WARM steps deeper with the network's start, whose slopes are wrong by O(h^2).
 * A slope depends on the one before by a factor O(h), so the error left is O(h^(WARM + 2)), beyond
 * any order measured here.
 *
 * Time and words: each operator has a clock of its own. A table whose field is a F + b G evaluates F
 * over a h and G over b h a step, in which the clocks advance by h: nodes are divided by a and b, and
 * a timed sub-flow with weight other than 1 is that of a F over its share of h, by reference_flow.
 */
#include "ode/system.h"

#include <math.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"

enum { WARM = 8 };

typedef struct {
    int eval, past;
    double c;
} Part;

/* sum of c * (state or slope), at time node[op] * h; plain: it is y itself. */
typedef struct {
    size_t parts;
    Part *part;
    double node[2];
    int plain;
} Sum;

/* A compiled table. */
typedef struct {
    size_t points;
    Sum *point; /* (points) */
    Sum update;
} Program;

struct Stepper {
    const Table *table;
    const System *system;
    Weighted word; /* the system with the table's weights */
    size_t N;
    int depth;        /* steps a full program looks back: max(past_y, past_k) */
    int stage_y;      /* deepest y[-j] of a stage argument */
    int recursive;    /* a stage argument uses past slopes */
    Program *program; /* (depth + 1): program[i] runs with i past steps */
    double *fraction; /* (flows) of h */
    double *state;    /* (past_y + 2, N) ring */
    double *slope;    /* (past_k + 1, evals, N) ring */
    double *argument; /* (N) */
    const double **x; /* (longest row) sources and weights of one pass */
    double *c;
    int start, state_at, slope_at;
    double t0, h;
    long step;
    size_t evals;
};

/* ---- compiling a table --------------------------------------------------------------------------- */

static void sum_free(Sum *s)
{
    s->part = memory_free(s->part);
}

static int sum_compile(const Row *r, Sum *s)
{
    s->part = memory_new(r->terms, sizeof *s->part);
    if (!s->part) return ERR_MEMORY;
    s->parts = r->terms;
    for (size_t i = 0; i < r->terms; i++) {
        const Term *term = &r->term[i];
        s->part[i] = (Part){term->eval, term->past, table_double(term->c)};
    }
    const Part *p = s->part;
    s->plain = s->parts == 1 && p->eval == TABLE_STATE && p->past == 0 && p->c == 1;
    return 0;
}

static void program_free(Program *p)
{
    for (size_t i = 0; i < p->points; i++) sum_free(&p->point[i]);
    p->point = memory_free(p->point);
    sum_free(&p->update);
}

/* A word's nodes are in units of its weights; one written by @ is in steps already. */
static double node(const Table *t, const Point *p, int op)
{
    double weight = table_double(t->weight[op]);
    return table_double(p->c[op]) / (p->timed || weight == 0 ? 1 : weight);
}

static int program_compile(const Table *t, Program *p)
{
    p->point = memory_new(t->points, sizeof *p->point);
    if (!p->point) return ERR_MEMORY;
    p->points = t->points;
    for (size_t i = 0; i < t->points; i++) {
        TRY(sum_compile(&t->point[i].row, &p->point[i]));
        for (int op = 0; op < 2; op++) p->point[i].node[op] = node(t, &t->point[i], op);
    }
    return sum_compile(&t->update, &p->update);
}

static int compile_all(Stepper *st)
{
    st->program = memory_new((size_t)st->depth + 1, sizeof *st->program);
    if (!st->program) return ERR_MEMORY;
    for (int i = 0; i <= st->depth; i++) {
        Table *t = table_start(st->table, i);
        int code = t ? program_compile(t, &st->program[i]) : ERR_MEMORY;
        table_free(t);
        TRY(code);
    }
    return 0;
}

/* What stage arguments ask of the past, and the longest row of all. */
static size_t survey(Stepper *st)
{
    const Table *t = st->table;
    size_t longest = t->update.terms;
    for (size_t i = 0; i < t->points; i++) {
        const Row *r = &t->point[i].row;
        if (r->terms > longest) longest = r->terms;
        for (size_t k = 0; k < r->terms; k++) {
            if (r->term[k].eval != TABLE_STATE)
                st->recursive |= r->term[k].past > 0;
            else if (r->term[k].past > st->stage_y)
                st->stage_y = r->term[k].past;
        }
    }
    return longest;
}

static int make(Stepper *st)
{
    const Table *t = st->table;
    size_t N = st->N, longest = survey(st);
    TRY(compile_all(st));
    st->fraction = memory_new(t->flows, sizeof(double));
    st->state = memory_new((size_t)t->past_y + 2, N * sizeof(double));
    st->slope = memory_new(((size_t)t->past_k + 1) * t->evals, N * sizeof(double));
    st->argument = memory_new(N, sizeof(double));
    st->x = memory_new(longest, sizeof *st->x);
    st->c = memory_new(longest, sizeof *st->c);
    if (!st->fraction || !st->state || !st->slope || !st->argument || !st->x || !st->c)
        return ERR_MEMORY;
    for (size_t i = 0; i < t->flows; i++) st->fraction[i] = table_double(t->flow[i].c);
    return 0;
}

int stepper_new(const Table *t, const System *s, Stepper **out)
{
    if (t->symbols) return error_set(ERR_MISUSE, "scheme %s: its table is not frozen", t->name);
    Stepper *st = memory_new(1, sizeof *st);
    if (!st) return ERR_MEMORY;
    st->table = t;
    st->system = s;
    st->word = system_weigh(s, t);
    st->N = s->n * s->d;
    st->depth = t->past_y > t->past_k ? t->past_y : t->past_k;
    int code = make(st);
    if (code != 0) {
        stepper_free(st);
        return code;
    }
    *out = st;
    return 0;
}

void stepper_free(Stepper *st)
{
    if (!st) return;
    for (int i = 0; st->program && i <= st->depth; i++) program_free(&st->program[i]);
    void *owned[] = {st->program, st->fraction, st->state, st->slope, st->argument, st->x, st->c};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) memory_free(owned[i]);
    memory_free(st);
}

/* ---- rows and evaluations ------------------------------------------------------------------------ */

/* y[-past]; past = -1 is the slot of the state to come. */
static double *state(const Stepper *st, int past)
{
    int slots = st->table->past_y + 2;
    return st->state + (size_t)((st->state_at + slots - past) % slots) * st->N;
}

static double *slope(const Stepper *st, int eval, int past)
{
    int slots = st->table->past_k + 1;
    size_t slot = (size_t)((st->slope_at + slots - past) % slots);
    return st->slope + (slot * st->table->evals + (size_t)eval) * st->N;
}

/* out (N) = sum_m c_m x_m in one pass; out overlaps no x. */
static void combine(size_t N, size_t parts, const double *c, const double *const *x, double *out)
{
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (size_t m = 0; m < parts; m++) sum += c[m] * x[m][i];
        out[i] = sum;
    }
}

static void add_up(const Stepper *st, const Sum *s, double *out)
{
    for (size_t m = 0; m < s->parts; m++) {
        const Part *p = &s->part[m];
        st->c[m] = p->c;
        st->x[m] = p->eval == TABLE_STATE ? state(st, p->past) : slope(st, p->eval, p->past);
    }
    combine(st->N, s->parts, st->c, st->x, out);
}

/* All slopes k_e = h f_e of the step from time t. A point that two evaluations in a row share is
 * computed once. */
static void evaluate(Stepper *st, const Program *p, double t)
{
    int at = -1;
    for (size_t e = 0; e < st->table->evals; e++) {
        const Eval *eval = &st->table->eval[e];
        const Sum *point = &p->point[eval->point];
        double *k = slope(st, (int)e, 0);
        if (eval->point != at && !point->plain) add_up(st, point, st->argument);
        at = eval->point;
        st->system->field[eval->op](st->system, eval->set, t + point->node[eval->op] * st->h,
                                    point->plain ? state(st, 0) : st->argument, k);
        for (size_t i = 0; i < st->N; i++) k[i] *= st->h;
    }
    st->evals += st->table->evals;
}

/* The slopes become those of one step ago. */
static void shift_slopes(Stepper *st)
{
    st->slope_at = (st->slope_at + 1) % (st->table->past_k + 1);
}

static void shift_state(Stepper *st)
{
    st->state_at = (st->state_at + 1) % (st->table->past_y + 2);
}

static void push_state(Stepper *st, const double *y)
{
    memcpy(state(st, -1), y, st->N * sizeof *y);
    shift_state(st);
}

/* ---- start --------------------------------------------------------------------------------------- */

/* Earlier steps whose slopes are evaluated on exact states. */
static int past_steps(const Stepper *st)
{
    return st->table->past_k + (st->recursive ? WARM : 0);
}

int stepper_history(const Stepper *st)
{
    int slopes = st->table->past_k ? past_steps(st) + st->stage_y : 0;
    return slopes > st->table->past_y ? slopes : st->table->past_y;
}

/* Fills the rings from past (history, N), nearest first. */
static void begin_given(Stepper *st, const double *past)
{
    int steps = st->table->past_k ? past_steps(st) : 0;
    for (int j = stepper_history(st); j > 0; j--) {
        push_state(st, past + (size_t)(j - 1) * st->N);
        if (j > steps) continue;
        int known = st->recursive && steps - j < st->depth ? steps - j : st->depth;
        evaluate(st, &st->program[known], st->t0 - j * st->h);
        shift_slopes(st);
    }
}

int stepper_begin(Stepper *st, double t, double h, const double *y, int start, const double *past)
{
    st->t0 = t;
    st->h = h;
    st->step = 0;
    st->start = start;
    if (start == START_GIVEN && stepper_history(st) > 0) {
        if (!past) return error_set(ERR_MISUSE, "scheme %s needs a history", st->table->name);
        begin_given(st, past);
    }
    push_state(st, y);
    st->evals = 0;
    return 0;
}

/* ---- steps --------------------------------------------------------------------------------------- */

/* y over the fraction h of an operator, which is h / weight of its clock. */
static int sub_flow(const Stepper *st, int op, int set, double t, double h, double *y)
{
    const System *s = st->system;
    double weight = st->word.weight[op];
    if (s->timed && weight != 1) return reference_flow(&st->word.system, op, set, t, h / weight, y);
    if (!s->flow[op]) return reference_flow(s, op, set, t, h, y);
    s->flow[op](s, set, t, h, y);
    return 0;
}

/* Sub-flows one after another, each by its operator's clock. */
static int flow_step(Stepper *st, double t, double *y)
{
    double clock[2] = {0, 0};
    memcpy(y, state(st, 0), st->N * sizeof *y);
    for (size_t i = 0; i < st->table->flows; i++) {
        const Flow *f = &st->table->flow[i];
        double h = st->fraction[i] * st->h;
        TRY(sub_flow(st, f->op, f->set, t + clock[f->op], h, y));
        clock[f->op] += h / st->word.weight[f->op];
    }
    st->evals += st->table->flows;
    return 0;
}

static void table_step(Stepper *st, double t, double *y)
{
    int known = st->start == START_NETWORK && st->step < st->depth ? (int)st->step : st->depth;
    evaluate(st, &st->program[known], t);
    add_up(st, &st->program[known].update, y);
    shift_slopes(st);
}

static int all_finite(size_t N, const double *y)
{
    for (size_t i = 0; i < N; i++)
        if (!isfinite(y[i])) return 0;
    return 1;
}

int stepper_step(Stepper *st)
{
    double t = st->t0 + (double)st->step * st->h;
    double *y = state(st, -1);
    if (st->table->flows)
        TRY(flow_step(st, t, y));
    else
        table_step(st, t, y);
    st->step++;
    if (!all_finite(st->N, y))
        return error_set(ERR_NUMERIC, "scheme %s: the state is not finite after step %ld",
                         st->table->name, st->step);
    shift_state(st);
    return 0;
}

const double *stepper_state(const Stepper *st)
{
    return state(st, 0);
}

size_t stepper_evals(const Stepper *st)
{
    return st->evals;
}
