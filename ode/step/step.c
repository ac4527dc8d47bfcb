/* step.c: one stepper for every table: points, evaluations and update straight from its rows.
 *
 * A frozen table is compiled once: a row becomes a list of (double, slope or state, steps ago). Two rings hold what a
 * row may ask for: the last past_y + 1 states, and the values f_e of the last past_k + 1 steps; k_e = h f_e is formed
 * in the rows, whose coefficients take the h. A table of flows applies sub-flows to the state instead. Nothing is
 * allocated after stepper_new, except by reference_flow where a system has no closed sub-flow.
 *
 * Where the field is cheap a step costs what it moves through memory. So a row is one pass (combine.c); F and G of a
 * stage H that no row tells apart are one slope where the system has F + G in one (`both`), and the row that comes next
 * is formed from each block of it while that is in the nearest cache; and where particles do not see each other
 * (`apart`) a whole step is done for a window of rows that fits this cache before the next window begins.
 *
 * START_GIVEN: the first steps end in states that are given, and the scheme's own step comes once it has all of the past
 * that it reads. So no state before the beginning is needed: on a stiff field the solution before it runs away from every
 * solution that goes on. Past slopes are evaluated on the given states. Where stage arguments use past slopes too, each
 * slope needs others before it (find_behind). Where a slope needs itself, as in two-step Runge-Kutta methods, this
 * recursion has no end: it begins WARM steps before with the network's start, whose slopes are wrong by O(h^2). A slope
 * depends on the one before by a factor O(h), so the error left is O(h^(WARM + 2)), beyond any order measured here.
 *
 * What a table carries besides y has two arrays each, of the beginning of a step and of its end. Where the text says how
 * it begins, a step of that scheme makes it (table_starter). Else START_GIVEN finds it from the exact states y_0 .. y_m, m
 * the scheme's order and 1: run along these from any v_0, it is what the exact solution has of it, s_j, and a part that the
 * updates alone move, v_j = s_j + W^j (v_0 - s_0), but for O(h). Of s, its part in y aside (`held`), the m-th difference is
 * O(h^(m+1)), less than the error of one step, so (W - 1)^-m times that of v is taken from v_0, until it vanishes.
 *
 * The table of a pair (Table.pair) takes tries (stepper_try): the row `error` is one more row, and the first slopes,
 * those at y itself, are kept: a rejected try has them for the next one, and where the last stage stands at the new
 * state an accepted one too (first same as last).
 *
 * The row of a function of a derivative is an increment, to which functions.c applies it; the derivative is that at y
 * and t, and each of its values and actions counts as evaluations. implicit.c solves for stages that name themselves or
 * later ones, and for all of M y' = f (mass.c); it gets the rows without slopes of this step.
 *
 * Time and words: each operator has its own clock. A table whose field is a F + b G (+ c C) evaluates F over a h and G
 * over b h a step, in which the clocks advance by h: nodes are divided by a and b, and a timed sub-flow with weight
 * other than 1 is that of a F over its share of h, by reference_flow.
 */
#include "ode/field/system.h"
#include "ode/systems/systems.h"
#include "ode/theory/theory.h"

#include <string.h>

#include "ode/field/combine.h"
#include "ode/step/implicit.h"
#include "ode/step/functions.h"
#include "ode/step/linear.h"
#include "ode/field/sums.h"

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"

#include <math.h>

enum { WARM = 8 };
enum { EXACT_ORDER = 8, TURNS_MOST = 100 }; /* of the start of what is carried */
enum { CACHE = 4096, VECTORS = 64 }; /* numbers: the nearest cache's 32 KiB; 8 vectors of 8 */

struct Stepper {
    const Table *table;
    Table *owned;  /* the same, of a starter; else NULL */
    System system; /* n: rows of the window */
    Weighted word; /* the system with the table's weights; n: as above */
    size_t n, N;   /* sizes of the whole system */
    size_t block;  /* rows that the nearest cache has room for, of all arrays of a step */
    size_t rows;   /* rows of a full window: n unless the particles are apart */
    size_t at;     /* first coordinate of the window */
    size_t kept;   /* coordinates a slope is kept for: N, or a window's where no past is needed */
    int depth;     /* steps a full program looks back: max(past_y, past_k) */
    int stage_y;   /* deepest y[-j] of a stage argument */
    int recursive; /* a stage argument uses past slopes */
    int behind;    /* steps whose slopes START_GIVEN evaluates before the scheme's own first step */
    Sums *program; /* (depth + 1): program[i] runs with i past steps */
    int *pair;     /* (evals) 1: F + G of this evaluation and the next are one slope */
    double *fraction;               /* (flows) of h */
    Stepper **by;                   /* (flows) of those by a method; NULL: there are none */
    ComplexField *complex[COLOURS]; /* the fields of flows over complex times */
    double *z;                      /* (2, N) their state; NULL: there are none */
    double *given;    /* (history, N) the states in which the first steps of START_GIVEN end */
    Stepper *starter; /* makes what is carried before the first step; NULL: no text does */
    int exact;        /* given states from which it is found then; 0: nothing is carried */
    double *carried;  /* (2, carries, N) */
    double *settle;   /* (carries, carries) (W - 1)^-exact */
    double held[CARRIES_MAX]; /* weights of y in what the exact solution has of what is carried */
    double *begun;            /* (2, carries, N) before the first step; the difference */
    double *origin;           /* (N) the state there */
    int carried_at;
    double *state;    /* (past_y + 2, N) ring */
    double *slope;    /* (past_k + 1, evals, kept) ring */
    double *argument; /* (2, rows, d) */
    const double **x; /* (longest row) sources and weights of one pass */
    double *c;
    Functions *functions; /* of derivatives; NULL: there are none */
    int start, state_at, slope_at;
    double t0, h;
    long step;
    size_t evals;
    /* Evaluations a step, except those of functions of derivatives and implicit stages, which count their own */
    size_t counted;
    /* (N) of the last try, and N of its coarser estimate; NULL: the table is no pair */
    double *error;
    size_t first;        /* evaluations at y and t itself, which stand first */
    int tried;           /* a try was not accepted */
    int same;            /* the last evaluations are the first ones of the next step */
    size_t ready;        /* evaluations that need not be done again */
    Implicit **implicit; /* (depth + 1) as program; NULL: no stage names itself or a later one */
    double *known;       /* (points, N) then: the points' rows without slopes of this step */
};

/* ---- compiling a table --------------------------------------------------------------------------- */

static int compile_tables(Stepper *st, Table **start)
{
    int programs = st->depth + 1, evals = (int)st->table->evals;
    for (int i = 0; i < programs; i++)
        if (!(start[i] = table_start(st->table, i))) return ERR_MEMORY;
    for (int e = 0; st->system.both && !st->implicit && e + 1 < evals; e++) {
        st->pair[e] = 1;
        for (int i = 0; i < programs; i++) st->pair[e] &= sums_joined(start[i], e);
    }
    for (int i = 0; i < programs; i++) TRY(sums_new(start[i], st->pair, &st->program[i]));
    for (int i = 0; st->implicit && i < programs; i++) {
        TRY(implicit_new(start[i], &st->system, LU_MOST, &st->implicit[i]));
        for (size_t p = 0; p < st->program[i].points; p++) sum_known(&st->program[i].point[p]);
    }
    return 0;
}

static int compile_all(Stepper *st)
{
    size_t programs = (size_t)st->depth + 1;
    st->pair = memory_new(st->table->evals, sizeof *st->pair);
    st->program = memory_new(programs, sizeof *st->program);
    if (table_implicit(st->table) || st->system.mass) {
        st->implicit = memory_new(programs, sizeof(Implicit *));
        st->known = memory_new(st->table->points, st->N * sizeof(double));
        if (!st->implicit || !st->known) return ERR_MEMORY;
    }
    SCOPED(memory_drop) Table **start = memory_new(programs, sizeof *start);
    int code = st->pair && st->program && start ? compile_tables(st, start) : ERR_MEMORY;
    for (size_t i = 0; start && i < programs; i++) table_free(start[i]);
    return code;
}

/* Finds what stage arguments ask of the past; returns the longest row of all. */
static size_t survey(Stepper *st)
{
    const Table *t = st->table;
    size_t longest = t->update.terms > t->error.terms ? t->update.terms : t->error.terms;
    if (t->coarse.terms > longest) longest = t->coarse.terms;
    for (size_t i = 0; i < t->carries; i++)
        if (t->carry[i].update.terms > longest) longest = t->carry[i].update.terms;
    for (size_t i = 0; i < t->points; i++) {
        const Row *r = &t->point[i].row;
        if (r->terms > longest) longest = r->terms;
        for (size_t k = 0; k < r->terms; k++) {
            if (r->term[k].eval >= 0)
                st->recursive |= r->term[k].past > 0;
            else if (r->term[k].past > st->stage_y)
                st->stage_y = r->term[k].past;
        }
    }
    return longest;
}

/* Finds how many steps before the first own one have slopes that it needs, itself or for their sake: the longest chain of
 * slopes, in steps. A chain that goes on beyond all slopes of all steps comes back to where it was. */
static int find_behind(const Stepper *st, int *behind)
{
    const Table *t = st->table;
    int most = t->past_k * (int)t->evals, changed = t->past_k > 0;
    SCOPED(memory_drop) int *reach = memory_new(t->evals, sizeof *reach);
    if (!reach) return ERR_MEMORY;
    *behind = t->past_k;
    while (changed && *behind <= most) {
        changed = 0;
        for (size_t i = 0; i <= t->evals; i++) {
            const Row *r = i < t->evals ? &eval_point(t, (int)i)->row : &t->update;
            int *to = i < t->evals ? &reach[i] : behind;
            for (size_t k = 0; k < r->terms; k++) {
                const Term *m = &r->term[k];
                if (m->eval < 0 || m->past + reach[m->eval] <= *to) continue;
                *to = m->past + reach[m->eval];
                changed = 1;
            }
            if (*to > *behind) *behind = *to;
        }
    }
    if (*behind > most) *behind = t->past_k + WARM;
    if (st->recursive) *behind += st->stage_y; /* the network's start would take y for y[-j] */
    return 0;
}

/* Finds which slopes a try may keep for the next one. */
static void survey_pair(Stepper *st)
{
    const Table *t = st->table;
    const Sums *p = &st->program[st->depth];
    size_t n = 0;
    for (; n < t->evals; n++) {
        const Sum *at = &p->point[t->eval[n].point];
        if (!at->plain || at->node[t->eval[n].op] != 0) break;
    }
    if (n > 0 && st->pair[n - 1]) n--;        /* half of a slope that is not all at y */
    if (n == t->evals || st->implicit) n = 0; /* a row is formed behind an evaluation */
    st->first = n;
    st->same = n > 0 && 2 * n <= t->evals;
    for (size_t i = 0; st->same && i < n; i++) {
        const Eval *a = &t->eval[i], *b = &t->eval[t->evals - n + i];
        st->same = a->op == b->op && a->set == b->set && st->pair[i] == st->pair[b - t->eval] &&
                   row_equal(&t->point[b->point].row, &t->update) &&
                   p->point[b->point].node[b->op] == 1;
    }
}

/* Returns the rows of a block or full window, for which the slopes of every point, the state, an argument and the
 * result stay in the cache: at d = 1 1024 for Euler's method, 576 for rk4. It takes whole vectors: other instructions
 * sum what is left over, and their last bit may be another. */
static size_t block_rows(const Table *t, size_t d)
{
    size_t numbers = CACHE / (t->points + 3) / VECTORS * VECTORS;
    return d < numbers ? numbers / d : 1;
}

/* Makes the steppers of flows by a method, on the whole system: there are no windows. */
static int make_methods(Stepper *st)
{
    const Table *t = st->table;
    if (!(st->by = memory_new(t->flows, sizeof *st->by))) return ERR_MEMORY;
    for (size_t i = 0; i < t->flows; i++) {
        const Flow *f = &t->flow[i];
        if (f->method && !f->by)
            return error_set(ERR_MISUSE, "the method '%s' of a flow is not found yet", f->method);
        if (f->by) TRY(stepper_new(f->by, &st->system, &st->by[i]));
    }
    return 0;
}

static int make_complex(Stepper *st)
{
    if (!(st->z = memory_new(2, st->N * sizeof *st->z))) return ERR_MEMORY;
    for (int op = 0; op < st->table->colours; op++)
        if (system_counts(&st->system, op)) TRY(complex_field(&st->system, op, &st->complex[op]));
    return 0;
}

/* Computes (W - 1)^-m of the weights W with which what is carried moves itself. */
static int make_settle(Stepper *st)
{
    const Table *t = st->table;
    size_t n = t->carries;
    SCOPED(rationals_drop) mpq_t *x = rationals_new(n);
    SCOPED(memory_drop) double *B = memory_new(2 * n, n * sizeof *B);
    if (!x || !B || !(st->settle = memory_new(n, n * sizeof(double)))) return ERR_MEMORY;
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < n; i++) mpq_set_si(x[i], i == j ? -1 : 0, 1);
        TRY(carried_solve(t, 0, x));
        for (size_t i = 0; i < n; i++) B[i * n + j] = table_double(x[i]);
    }
    memcpy(st->settle, B, n * n * sizeof *B);
    for (int k = 1; k < st->exact; k++) {
        memcpy(B + n * n, st->settle, n * n * sizeof *B);
        for (size_t i = 0; i < n * n; i++) {
            st->settle[i] = 0;
            for (size_t l = 0; l < n; l++)
                st->settle[i] += B[i / n * n + l] * B[n * n + l * n + i % n];
        }
    }
    return 0;
}

/* Makes room for what is carried, and finds how it begins. */
static int make_carried(Stepper *st)
{
    TABLE(starter);
    Theory theory;
    const Table *t = st->table;
    if (!t->carries) return 0;
    SCOPED(rationals_drop) mpq_t *held = rationals_new(t->carries);
    if (!held) return ERR_MEMORY;
    TRY(table_starter(t, &starter));
    st->carried = memory_new(2 * t->carries, st->N * sizeof(double));
    st->begun = memory_new(2 * t->carries, st->N * sizeof(double));
    st->origin = memory_new(st->N, sizeof(double));
    if (!st->carried || !st->begun || !st->origin) return ERR_MEMORY;
    if (starter) {
        TRY(stepper_new(starter, &st->system, &st->starter));
        st->starter->owned = starter;
        starter = NULL;
        return 0;
    }
    TRY(theory_search(t, EXACT_ORDER, &theory));
    TRY(carried_states(t, held));
    for (size_t c = 0; c < t->carries; c++) st->held[c] = table_double(held[c]);
    st->exact = theory.order + 1;
    return make_settle(st);
}

static int make(Stepper *st)
{
    const Table *t = st->table;
    size_t N = st->N, d = st->system.d, longest = survey(st);
    for (int op = 0; op < COLOURS; op++)
        st->counted += t->flows || !system_counts(&st->system, op) ? 0 : table_evals(t, op);
    TRY(compile_all(st));
    TRY(make_carried(st));
    TRY(find_behind(st, &st->behind));
    st->given = memory_new((size_t)stepper_history(st), N * sizeof(double));
    st->fraction = memory_new(t->flows, sizeof(double));
    st->state = memory_new((size_t)t->past_y + 2, N * sizeof(double));
    st->slope = memory_new(((size_t)t->past_k + 1) * t->evals, st->kept * sizeof(double));
    st->argument = memory_new(2 * st->rows * d, sizeof(double));
    st->x = memory_new(longest, sizeof *st->x);
    st->c = memory_new(longest, sizeof *st->c);
    if (!st->given || !st->fraction || !st->state || !st->slope || !st->argument || !st->x ||
        !st->c)
        return ERR_MEMORY;
    for (size_t i = 0; i < t->flows; i++) st->fraction[i] = table_double(t->flow[i].c);
    if (table_methods(t)) TRY(make_methods(st));
    if (table_complex(t)) TRY(make_complex(st));
    size_t whole = st->implicit && implicit_by_action(st->implicit[st->depth]) ? 0 : LU_MOST;
    if (table_phi(t)) TRY(functions_new(t, &st->system, whole, &st->functions));
    for (int i = 0; st->implicit && i <= st->depth; i++)
        implicit_functions(st->implicit[i], st->functions);
    if (!t->error.terms) return 0;
    survey_pair(st);
    st->error = memory_new(2 * N, sizeof(double));
    return st->error ? 0 : ERR_MEMORY;
}

int stepper_new(const Table *t, const System *s, Stepper **out)
{
    if (t->symbols) return error_set(ERR_MISUSE, "scheme %s: its table is not frozen", t->name);
    TRY(system_takes(s, t));
    TRY(mass_takes(s, t));
    TRY(mass_check(s));
    Stepper *st = memory_new(1, sizeof *st);
    if (!st) return ERR_MEMORY;
    st->table = t;
    st->system = *s;
    st->word = system_weigh(s, t);
    st->n = s->n;
    st->N = s->n * s->d;
    st->block = block_rows(t, s->d);
    int windows = s->apart && s->n > st->block && !table_phi(t) && !table_implicit(t) &&
                  !table_methods(t) && !table_complex(t);
    st->rows = windows ? st->block : s->n;
    st->kept = t->past_k || t->error.terms ? st->N : st->rows * s->d;
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
    for (int i = 0; st->program && i <= st->depth; i++) sums_free(&st->program[i]);
    for (int i = 0; st->implicit && i <= st->depth; i++) implicit_free(st->implicit[i]);
    stepper_free(st->starter);
    for (size_t i = 0; st->by && i < st->table->flows; i++) stepper_free(st->by[i]);
    for (int op = 0; op < COLOURS; op++) complex_field_free(st->complex[op]);
    functions_free(st->functions);
    table_free(st->owned);
    memory_free_all(st->carried, st->settle, st->begun, st->origin, st->program, st->pair, st->by,
                    st->z, st->fraction, st->given, st->state, st->slope, st->argument, st->x,
                    st->c, st->error, st->implicit, st->known, st);
}

/* ---- rows and evaluations ------------------------------------------------------------------------ */

/* Returns y[-past] from the window on; past = -1 is the slot of the state to come. */
static double *state(const Stepper *st, int past)
{
    int slots = st->table->past_y + 2;
    return st->state + (size_t)((st->state_at + slots - past) % slots) * st->N + st->at;
}

static double *slope(const Stepper *st, int eval, int past)
{
    int slots = st->table->past_k + 1;
    size_t slot = (size_t)((st->slope_at + slots - past) % slots);
    size_t at = st->kept == st->N ? st->at : 0;
    return st->slope + (slot * st->table->evals + (size_t)eval) * st->kept + at;
}

/* Returns carried quantity c from the window on, of the step's beginning, or of its end. */
static double *carried(const Stepper *st, size_t c, int end)
{
    size_t half = (size_t)(st->carried_at ^ end) * st->table->carries;
    return st->carried + (half + c) * st->N + st->at;
}

static size_t window_size(const Stepper *st)
{
    return st->system.n * st->system.d;
}

/* Writes weights and sources of a row in the window to c and x. */
static void gather(const Stepper *st, const Sum *s)
{
    for (size_t m = 0; m < s->parts; m++) {
        const SumPart *p = &s->part[m];
        st->c[m] = p->eval < 0 ? p->c : p->c * st->h;
        st->x[m] = p->eval >= 0             ? slope(st, p->eval, p->past)
                   : p->eval == TABLE_STATE ? state(st, p->past)
                                            : carried(st, (size_t)(TABLE_CARRIED - p->eval), 0);
    }
}

/* Evaluates slope e at x, time t, and forms the next row (NULL: none) in out, block by block where
 * F + G is one, so that a slope is still in the cache. With `check`: returns 1 where out is finite. */
static int advance(Stepper *st, size_t e, double t, const double *x, const Sum *next, double *out,
                   int check)
{
    const System *s = &st->system;
    const Eval *eval = &st->table->eval[e];
    size_t d = s->d, rows = st->pair[e] ? st->block : s->n;
    double *k = slope(st, (int)e, 0);
    int finite = 1;
    if (next) gather(st, next);
    for (size_t first = 0; first < s->n; first += rows) {
        size_t count = s->n - first < rows ? s->n - first : rows, at = first * d, N = count * d;
        if (st->pair[e])
            s->both(s, eval->set, t, x, first, count, k);
        else if (eval_point(st->table, (int)e)->phi)
            st->evals += functions_apply(st->functions, eval, t, st->h, state(st, 0), x, k);
        else
            s->field[eval->op](s, eval->set, t, x, k);
        if (next && check)
            finite &= combine_checked(at, N, next->parts, st->c, st->x, out);
        else if (next)
            combine(at, N, next->parts, st->c, st->x, out);
    }
    return finite;
}

/* Returns the row to form once the evaluations before `after` are done: the next point, NULL where
 * that is still `point`, or the update. */
static const Sum *next_row(const Table *t, const Sums *p, size_t after, int point)
{
    if (after >= t->evals) return &p->update;
    return t->eval[after].point == point ? NULL : &p->point[t->eval[after].point];
}

/* Evaluates all slopes of the step from time t that are not ready, in the window, and forms the update in out (NULL:
 * not wanted). Two buffers take turns as argument: a block may read more of the old one than its own rows. Returns 1
 * where out is finite. */
static int evaluate(Stepper *st, const Sums *p, double t, double *out)
{
    const Table *table = st->table;
    size_t windowed = st->rows < st->n; /* one block: one buffer, and room for the rest */
    double *buffer[2] = {st->argument, st->argument + (windowed ? 0 : st->N)};
    const double *x = state(st, 0);
    int finite = 1, turn = 0;
    const Sum *begin = table->evals ? &p->point[table->eval[st->ready].point] : NULL;
    if (begin && !begin->plain) {
        gather(st, begin);
        combine(0, window_size(st), begin->parts, st->c, st->x, buffer[0]);
        x = buffer[turn++];
    }
    for (size_t e = st->ready, after; e < table->evals; e = after) {
        const Eval *eval = &table->eval[e];
        double time = t + p->point[eval->point].node[eval->op] * st->h;
        after = e + 1 + (size_t)st->pair[e];
        const Sum *next = next_row(table, p, after, eval->point);
        int last = next == &p->update, formed = next && (last ? out != NULL : !next->plain);
        double *to = last ? out : buffer[turn];
        finite = advance(st, e, time, x, formed ? next : NULL, to, last);
        if (!next || last) continue;
        x = formed ? to : state(st, 0);
        turn ^= formed;
    }
    return finite;
}

static int solve_stages(Stepper *st, const Sums *p, double t)
{
    for (size_t i = 0; i < p->points; i++) {
        double *out = st->known + i * st->N;
        gather(st, &p->point[i]);
        if (p->point[i].parts)
            combine(0, st->N, p->point[i].parts, st->c, st->x, out);
        else
            memset(out, 0, st->N * sizeof *out);
    }
    return implicit_solve(st->implicit[p - st->program], t, st->h, state(st, 0), st->known,
                          slope(st, 0, 0), &st->evals);
}

/* Forms what is carried to the next step, once the slopes are known. */
static void carry_rows(Stepper *st, const Sums *p)
{
    for (size_t c = 0; c < p->carries; c++) {
        gather(st, &p->carry[c]);
        combine(0, window_size(st), p->carry[c].parts, st->c, st->x, carried(st, c, 1));
    }
}

/* A pass over one window; p: NULL for a table of flows. */
typedef int Pass(Stepper *st, const Sums *p, double t);

static int sweep(Stepper *st, Pass *pass, const Sums *p, double t)
{
    int code = 0;
    for (size_t row = 0; row < st->n && code == 0; row += st->rows) {
        size_t left = st->n - row;
        st->at = row * st->system.d;
        st->system.n = st->word.system.n = left < st->rows ? left : st->rows;
        code = pass(st, p, t);
    }
    st->at = 0;
    return code;
}

static void shift_slopes(Stepper *st)
{
    st->slope_at = (st->slope_at + 1) % (st->table->past_k + 1);
}

static void shift_state(Stepper *st)
{
    st->state_at = (st->state_at + 1) % (st->table->past_y + 2);
    if (st->functions) functions_forget(st->functions, 0);
}

static void push_state(Stepper *st, const double *y)
{
    memcpy(state(st, -1), y, st->N * sizeof *y);
    shift_state(st);
}

/* ---- start --------------------------------------------------------------------------------------- */

int stepper_history(const Stepper *st)
{
    if (st->exact) return st->exact;
    int slopes = st->table->past_k ? st->behind + st->stage_y : 0;
    return slopes > st->table->past_y ? slopes : st->table->past_y;
}

const double *stepper_carried(const Stepper *st)
{
    return st->carried ? carried(st, 0, 0) : NULL;
}

static int slopes_pass(Stepper *st, const Sums *p, double t)
{
    if (st->implicit) return solve_stages(st, p, t);
    evaluate(st, p, t, NULL);
    return 0;
}

static int carried_pass(Stepper *st, const Sums *p, double t)
{
    TRY(slopes_pass(st, p, t));
    carry_rows(st, p);
    return 0;
}

/* Moves what is carried over a step of which both states are known. */
static int carry_along(Stepper *st, double t)
{
    TRY(sweep(st, carried_pass, &st->program[st->depth], t));
    st->carried_at ^= 1;
    return 0;
}

/* Runs what is carried from `begun` along the given states; the m-th difference goes behind it. Returns ERR_*. */
static int carry_difference(Stepper *st)
{
    size_t size = st->table->carries * st->N;
    double binomial = st->exact % 2 ? -1 : 1, *difference = st->begun + size;
    memcpy(carried(st, 0, 0), st->begun, size * sizeof(double));
    push_state(st, st->origin);
    for (int j = 0;; j++) {
        const double *v = carried(st, 0, 0), *y = state(st, 0);
        for (size_t i = 0; i < size; i++)
            difference[i] =
                binomial * (v[i] - st->held[i / st->N] * y[i % st->N]) + (j ? difference[i] : 0);
        if (j == st->exact) return 0;
        binomial *= -(double)(st->exact - j) / (j + 1);
        TRY(carry_along(st, st->t0 + j * st->h));
        push_state(st, st->given + (size_t)j * st->N);
    }
}

/* Takes (W - 1)^-m times the difference from `begun`; returns the largest change, *size: the largest value. */
static double settle(Stepper *st, double *size)
{
    size_t n = st->table->carries, N = st->N;
    const double *difference = st->begun + n * N;
    double largest = *size = 0;
    for (size_t i = 0; i < n * N; i++) {
        double change = 0;
        for (size_t c = 0; c < n; c++)
            change += st->settle[i / N * n + c] * difference[c * N + i % N];
        st->begun[i] -= change;
        largest = isfinite(change) ? fmax(largest, fabs(change)) : INFINITY;
        *size = fmax(*size, fabs(st->begun[i]));
    }
    return largest;
}

/* Finds what is carried at the beginning of the given states. Changes fall until rounding keeps them where they are. */
static int settle_carried(Stepper *st)
{
    double last = INFINITY, size;
    memset(st->begun, 0, st->table->carries * st->N * sizeof(double));
    for (int turn = 0; turn < TURNS_MOST; turn++) {
        TRY(carry_difference(st));
        double change = settle(st, &size);
        if (!isfinite(change)) break;
        if (change <= 1e-8 * size && change >= last / 4) return 0;
        if (change == 0) return 0;
        last = change;
    }
    return error_set(
        ERR_NUMERIC,
        "scheme %s: what it carries is not found on the exact solution at step %g: take smaller "
        "steps, or say how it begins (carry v = ...)",
        st->table->name, st->h);
}

/* Makes what is carried before the first step. */
static int begin_carried(Stepper *st, double t, const double *y, int start)
{
    size_t bytes = st->table->carries * st->N * sizeof(double);
    if (!st->table->carries) return 0;
    memset(st->begun, 0, bytes);
    memcpy(st->origin, y, st->N * sizeof(double));
    if (st->starter) {
        Stepper *s = st->starter;
        TRY(stepper_begin(s, t, st->h, y, START_NETWORK, NULL));
        TRY(stepper_step(s));
        memcpy(st->begun, carried(s, 0, 0), bytes);
    } else if (start == START_GIVEN) {
        TRY(settle_carried(st));
    }
    memcpy(carried(st, 0, 0), st->begun, bytes);
    return 0;
}

/* Takes a step from time t that ends in a given state; `left`: such steps to come, this one too. */
static int given_step(Stepper *st, double t, int left)
{
    int done = st->behind - left; /* steps whose slopes are known */
    if (st->table->past_k && done >= 0) {
        int known = st->recursive && done < st->depth ? done : st->depth;
        TRY(sweep(st, slopes_pass, &st->program[known], t));
        shift_slopes(st);
        if (!st->implicit) st->evals += st->counted;
    }
    if (st->exact) {
        TRY(carry_along(st, t));
        if (!st->implicit) st->evals += st->counted;
    }
    push_state(st, st->given + (size_t)st->step * st->N);
    st->step++;
    return 0;
}

int stepper_begin(Stepper *st, double t, double h, const double *y, int start, const double *given)
{
    size_t history = (size_t)stepper_history(st);
    st->t0 = t;
    st->h = h;
    st->step = 0;
    st->ready = 0;
    st->start = start;
    st->tried = 0;
    for (int i = 0; st->implicit && i <= st->depth; i++) implicit_begin(st->implicit[i]);
    if (st->functions) functions_begin(st->functions);
    if (start == START_GIVEN && history > 0) {
        if (!given) return error_set(ERR_MISUSE, "scheme %s needs a history", st->table->name);
        memcpy(st->given, given, history * st->N * sizeof *given);
    }
    TRY(begin_carried(st, t, y, start));
    push_state(st, y);
    st->evals = st->starter ? stepper_evals(st->starter) : 0;
    return 0;
}

/* ---- steps --------------------------------------------------------------------------------------- */

/* Moves y over the fraction h of an operator, which is h / weight of its clock. A closed flow counts as one
 * evaluation, one by the reference integrator as those that it took. */
static int sub_flow(Stepper *st, int op, int set, double t, double h, double *y)
{
    const System *s = &st->system;
    double weight = st->word.weight[op];
    if (!system_counts(s, op)) return 0;
    if (s->timed && weight != 1)
        return reference_flow(&st->word.system, op, set, t, h / weight, y, &st->evals);
    if (!s->flow[op]) return reference_flow(s, op, set, t, h, y, &st->evals);
    st->evals++;
    s->flow[op](s, set, t, h, y);
    return 0;
}

/* Moves y by the stages of flow i's method, whose coefficients have the fraction in them. */
static int method_flow(Stepper *st, size_t i, double t, double *y)
{
    Stepper *by = st->by[i];
    TRY(stepper_begin(by, t, st->h, y, START_GIVEN, NULL));
    TRY(stepper_step(by));
    memcpy(y, stepper_state(by), st->N * sizeof *y);
    st->evals += stepper_evals(by);
    return 0;
}

static int not_finite(const Stepper *st)
{
    int unsolved = st->functions && functions_failed(st->functions);
    return error_set(ERR_NUMERIC,
                     unsolved ? "scheme %s: a linear system of step %ld was not solved: take "
                                "smaller steps"
                              : "scheme %s: the state is not finite after step %ld",
                     st->table->name, st->step + 1);
}

/* Moves y by flows over complex times, and takes the real part of what comes. */
static int complex_pass(Stepper *st, double *y)
{
    memcpy(st->z, y, st->N * sizeof *y);
    memset(st->z + st->N, 0, st->N * sizeof *y);
    for (size_t i = 0; i < st->table->flows; i++) {
        const Flow *f = &st->table->flow[i];
        ComplexField *c = st->complex[f->op];
        if (c)
            TRY(complex_flow(c, f->set, st->fraction[i], table_double(f->im), st->h, st->z,
                             &st->evals));
    }
    memcpy(y, st->z, st->N * sizeof *y);
    return combine_finite(st->N, y) ? 0 : not_finite(st);
}

/* Applies sub-flows one after another, each by its operator's clock. */
static int flow_pass(Stepper *st, const Sums *p, double t)
{
    double clock[COLOURS] = {0}, *y = state(st, -1);
    (void)p;
    memcpy(y, state(st, 0), window_size(st) * sizeof *y);
    if (st->z) return complex_pass(st, y);
    for (size_t i = 0; i < st->table->flows; i++) {
        const Flow *f = &st->table->flow[i];
        double h = st->fraction[i] * st->h;
        if (f->method)
            TRY(method_flow(st, i, t + clock[f->op], y));
        else
            TRY(sub_flow(st, f->op, f->set, t + clock[f->op], h, y));
        clock[f->op] += h / st->word.weight[f->op];
    }
    return combine_finite(window_size(st), y) ? 0 : not_finite(st);
}

static int table_pass(Stepper *st, const Sums *p, double t)
{
    double *y = state(st, -1);
    if (st->table->evals && !st->implicit) {
        if (!evaluate(st, p, t, y)) return not_finite(st);
        carry_rows(st, p);
        return 0;
    }
    if (st->implicit) TRY(solve_stages(st, p, t));
    carry_rows(st, p);
    gather(st, &p->update);
    combine(0, window_size(st), p->update.parts, st->c, st->x, y);
    return !st->implicit || combine_finite(window_size(st), y) ? 0 : not_finite(st);
}

int stepper_step(Stepper *st)
{
    double t = st->t0 + (double)st->step * st->h;
    long given = st->start == START_GIVEN ? stepper_history(st) - st->step : 0;
    if (given > 0) return given_step(st, t, (int)given);
    int known = st->start == START_NETWORK && st->step < st->depth ? (int)st->step : st->depth;
    TRY(sweep(st, st->table->flows ? flow_pass : table_pass, &st->program[known], t));
    if (!st->table->flows) shift_slopes(st);
    if (st->table->carries) st->carried_at ^= 1;
    shift_state(st);
    st->step++;
    if (!st->implicit) st->evals += st->counted;
    return 0;
}

/* ---- tries of a pair ------------------------------------------------------------------------------ */

static int try_pass(Stepper *st, const Sums *p, double t)
{
    if (st->implicit) {
        TRY(solve_stages(st, p, t));
        gather(st, &p->update);
        combine(0, window_size(st), p->update.parts, st->c, st->x, state(st, -1));
    } else {
        evaluate(st, p, t, state(st, -1)); /* values not finite are seen behind the last window */
    }
    gather(st, &p->error);
    combine(0, window_size(st), p->error.parts, st->c, st->x, st->error + st->at);
    if (!st->table->coarse.terms) return 0;
    gather(st, &p->coarse);
    combine(0, window_size(st), p->coarse.parts, st->c, st->x, st->error + st->N + st->at);
    return 0;
}

/* Returns how many evaluations of the next step are known from the last. */
static size_t count_ready(const Stepper *st)
{
    size_t n = 0;
    for (size_t e = 0; e < st->ready; e++)
        n += (size_t)system_counts(&st->system, st->table->eval[e].op);
    return n;
}

/* Steps after which W is taken anew though none was rejected, as CVODE makes its matrix (Hindmarsh et al. 2005, section 2.1). Where a
 * solution calms down nothing else tells that W is far too large, and steps are no longer than it allows. Of 5, 20 and 50 steps, 20 take
 * the fewest evaluations on van der Pol's equation, hires, Oregonator's and a forced field that calms down (ros34pw2). */
enum { W_OLDEST = 20 };

int stepper_try(Stepper *st, double h)
{
    st->h = h;
    if (st->functions && st->tried && !st->implicit) functions_forget(st->functions, 1);
    st->tried = 1;
    if (!st->implicit) st->evals += st->counted - count_ready(st);
    TRY(sweep(st, try_pass, &st->program[st->depth], st->t0));
    st->ready = st->first;
    return combine_finite(st->N, state(st, -1)) ? 0 : not_finite(st);
}

void stepper_accept(Stepper *st)
{
    size_t from = st->table->evals - st->first;
    for (size_t i = 0; st->same && i < st->first; i++)
        memcpy(slope(st, (int)i, 0), slope(st, (int)(from + i), 0), st->N * sizeof(double));
    st->ready = st->same ? st->first : 0;
    if (st->implicit) implicit_accept(st->implicit[st->depth]);
    st->t0 += st->h;
    shift_state(st);
    st->step++;
    st->tried = st->step % W_OLDEST == 0;
}

/* Goes to (t, y), without history, and without derivatives of before: the next try begins there. */
static void move_to(Stepper *st, double t, const double *y)
{
    st->t0 = t;
    st->ready = 0;
    st->tried = 1; /* so W is taken anew */
    if (st->implicit) implicit_move(st->implicit[st->depth]);
    push_state(st, y);
}

void stepper_follow(Stepper *st, const Stepper *from)
{
    move_to(st, from->t0, stepper_state(from));
    if (st->implicit) implicit_follow(st->implicit[st->depth], from->implicit[st->depth]);
}

int stepper_loosen(Stepper *st, const AdaptOptions *o)
{
    if (!st->implicit) return 0;
    Implicit *m = st->implicit[st->depth];
    int bounded = !table_phi(st->table) && table_over(st->table, OP_H) && st->table->error.terms &&
                  implicit_damps(m, &st->table->error);
    return bounded || table_has(st->table, HAS_W) ? implicit_loosen(m, st->table, o) : 0;
}

const Newton *stepper_newton(const Stepper *st)
{
    return st->implicit ? implicit_newton(st->implicit[st->depth]) : NULL;
}

double stepper_h(const Stepper *st)
{
    return st->h;
}

const double *stepper_slope(const Stepper *st, size_t e)
{
    return e > 0 && st->pair[e - 1] ? NULL : slope(st, (int)e, 0);
}

const double *stepper_tried(const Stepper *st)
{
    return state(st, -1);
}

const double *stepper_error(const Stepper *st)
{
    return st->error;
}

const double *stepper_coarse(const Stepper *st)
{
    return st->table->coarse.terms ? st->error + st->N : NULL;
}

const double *stepper_state(const Stepper *st)
{
    return state(st, 0);
}

size_t stepper_evals(const Stepper *st)
{
    return st->evals;
}
