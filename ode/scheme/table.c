/* table.c: builds, compares and starts tables. It neither parses nor knows theory.
 *
 * Rows keep their terms sorted and merged, so equality of tables is equality of arrays. */
#include "ode/scheme/table.h"
#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "ode/scheme/rationals.h"

#include <math.h>
#include <string.h>

const char table_letters[OPS + 1] = "FGCHLA";

const Parts *stage_parts(const Table *t, int op)
{
    static const Parts parts[2][OPS] = {
        {[OP_F] = {1, {OP_F}, 0},
         [OP_G] = {1, {OP_G}, 0},
         [OP_H] = {2, {OP_F, OP_G}, 0},
         [OP_L] = {2, {OP_F, OP_G}, 1}},
        {[OP_F] = {1, {OP_F}, 0},
         [OP_G] = {1, {OP_G}, 0},
         [OP_C] = {1, {OP_C}, 0},
         [OP_H] = {3, {OP_F, OP_C, OP_G}, 0},
         [OP_L] = {3, {OP_F, OP_C, OP_G}, 1},
         [OP_A] = {2, {OP_F, OP_C}, 1}},
    };
    return &parts[t->colours - 2][op];
}

/* ---- rows ---------------------------------------------------------------------------------------- */

/* Returns the place of a source in a row: states, carried quantities, evaluations. */
static int source_place(int eval)
{
    return eval >= 0 ? CARRIES_MAX + 2 + eval : TABLE_STATE - eval;
}

static int term_compare(const Term *a, int eval, int past, int symbols, const int *symbol)
{
    if (a->eval != eval) return source_place(a->eval) < source_place(eval) ? -1 : 1;
    if (a->past != past) return a->past < past ? -1 : 1;
    if (a->symbols != symbols) return a->symbols < symbols ? -1 : 1;
    for (int i = 0; i < symbols; i++)
        if (a->symbol[i] != symbol[i]) return a->symbol[i] < symbol[i] ? -1 : 1;
    return 0;
}

static void row_delete(Row *r, size_t i)
{
    mpq_clear(r->term[i].c);
    memmove(r->term + i, r->term + i + 1, (r->terms - i - 1) * sizeof(Term));
    r->terms--;
}

int row_add(Row *r, int eval, int past, const mpq_t c, int symbols, const int *symbol)
{
    size_t i = 0;
    int order = 1;
    if (mpq_sgn(c) == 0) return 0;
    while (i < r->terms && (order = term_compare(&r->term[i], eval, past, symbols, symbol)) < 0)
        i++;
    if (i < r->terms && order == 0) {
        mpq_add(r->term[i].c, r->term[i].c, c);
        if (mpq_sgn(r->term[i].c) == 0) row_delete(r, i);
        return 0;
    }
    TRY(memory_more(&r->term, r->terms, sizeof(Term)));
    Term *t = &r->term[i];
    memmove(t + 1, t, (r->terms++ - i) * sizeof(Term));
    *t = (Term){.eval = eval, .past = past, .symbols = symbols};
    mpq_init(t->c);
    mpq_set(t->c, c);
    for (int k = 0; k < symbols; k++) t->symbol[k] = symbol[k];
    return 0;
}

void row_free(Row *r)
{
    for (size_t i = 0; i < r->terms; i++) mpq_clear(r->term[i].c);
    r->term = memory_free(r->term);
    r->terms = 0;
}

void row_swap(Row *a, Row *b)
{
    Row c = *a;
    *a = *b;
    *b = c;
}

void point_init(Point *p)
{
    *p = (Point){0};
    for (int c = 0; c < COLOURS; c++) mpq_init(p->c[c]);
    mpq_init(p->scale);
}

void point_free(Point *p)
{
    row_free(&p->row);
    for (int c = 0; c < COLOURS; c++) mpq_clear(p->c[c]);
    mpq_clear(p->scale);
}

int row_equal(const Row *a, const Row *b)
{
    if (a->terms != b->terms) return 0;
    for (size_t i = 0; i < a->terms; i++) {
        const Term *t = &b->term[i];
        if (term_compare(&a->term[i], t->eval, t->past, t->symbols, t->symbol) != 0) return 0;
        if (!mpq_equal(a->term[i].c, t->c)) return 0;
    }
    return 1;
}

int row_plain(const Row *r)
{
    return r->terms > 0 && r->term[0].eval == TABLE_STATE && mpq_equal(r->term[0].c, rational_one);
}

int row_add_row(Row *to, const Row *from, const mpq_t factor)
{
    RATIONAL(c);
    for (size_t i = 0; i < from->terms; i++) {
        const Term *t = &from->term[i];
        mpq_mul(c, t->c, factor);
        TRY(row_add(to, t->eval, t->past, c, t->symbols, t->symbol));
    }
    return 0;
}

int row_copy(Row *to, const Row *from)
{
    return row_add_row(to, from, rational_one);
}

/* ---- tables -------------------------------------------------------------------------------------- */

Table *table_new(const char *name)
{
    Table *t = memory_new(1, sizeof(Table));
    if (!t) return NULL;
    strncpy(t->name, name, TABLE_NAME - 1);
    t->exact = 1;
    t->colours = 2;
    for (int i = 0; i < COLOURS; i++) {
        mpq_init(t->weight[i]);
        mpq_set_ui(t->weight[i], 1, 1);
    }
    t->title = memory_string("");
    t->source = memory_string("");
    t->note = memory_string("");
    t->start = memory_string("");
    if (t->title && t->source && t->note && t->start) return t;
    table_free(t);
    return NULL;
}

void symbols_clear(Table *t)
{
    for (size_t i = 0; i < t->symbols; i++) {
        for (size_t k = 0; k < t->symbol[i].inputs; k++) row_free(&t->symbol[i].input[k]);
        memory_free(t->symbol[i].input);
        mpq_clear(t->symbol[i].start);
    }
    t->symbols = 0;
}

void table_free(Table *t)
{
    if (!t) return;
    for (size_t i = 0; i < t->points; i++) point_free(&t->point[i]);
    for (size_t i = 0; i < t->flows; i++) {
        mpq_clears(t->flow[i].c, t->flow[i].im, NULL);
        row_free(&t->flow[i].learned);
        memory_free(t->flow[i].method);
        table_free(t->flow[i].by);
    }
    symbols_clear(t);
    for (size_t i = 0; i < t->carries; i++) {
        row_free(&t->carry[i].update);
        row_free(&t->carry[i].start);
        row_free(&t->carry[i].moved);
    }
    memory_free(t->carry);
    table_free(t->starter);
    row_free(&t->update);
    row_free(&t->error);
    row_free(&t->coarse);
    table_free(t->pair);
    for (int i = 0; i < COLOURS; i++) mpq_clear(t->weight[i]);
    memory_free_all(t->title, t->source, t->note, t->start, t->stage, t->point, t->eval, t->flow,
                    t->symbol, t);
}

static int copy_points(Table *to, const Table *from)
{
    if (!(to->point = memory_new(from->points, sizeof(Point)))) return ERR_MEMORY;
    for (; to->points < from->points; to->points++) {
        Point *p = &to->point[to->points];
        const Point *q = &from->point[to->points];
        point_init(p);
        p->timed = q->timed;
        p->phi = q->phi;
        p->ops = q->ops;
        mpq_set(p->scale, q->scale);
        for (int c = 0; c < COLOURS; c++) mpq_set(p->c[c], q->c[c]);
    }
    for (size_t i = 0; i < from->points; i++) TRY(row_copy(&to->point[i].row, &from->point[i].row));
    return 0;
}

static int copy_symbols(Table *to, const Table *from)
{
    if (!(to->symbol = memory_new(from->symbols, sizeof(Symbol)))) return ERR_MEMORY;
    for (size_t i = 0; i < from->symbols; i++) {
        Symbol *s = &to->symbol[i];
        const Symbol *q = &from->symbol[i];
        memcpy(s->name, q->name, TABLE_NAME);
        s->kind = q->kind;
        mpq_init(s->start);
        mpq_set(s->start, q->start);
        to->symbols++;
        if (!(s->input = memory_new(q->inputs, sizeof(Row)))) return ERR_MEMORY;
        s->inputs = q->inputs;
        for (size_t k = 0; k < q->inputs; k++) TRY(row_copy(&s->input[k], &q->input[k]));
    }
    return 0;
}

static int copy_carries(Table *to, const Table *from)
{
    if (!(to->carry = memory_new(from->carries, sizeof(Carry)))) return ERR_MEMORY;
    for (; to->carries < from->carries; to->carries++) {
        Carry *c = &to->carry[to->carries];
        const Carry *q = &from->carry[to->carries];
        memcpy(c->name, q->name, TABLE_NAME);
        c->started = q->started;
        c->embedded = q->embedded;
    }
    for (size_t i = 0; i < from->carries; i++) {
        TRY(row_copy(&to->carry[i].update, &from->carry[i].update));
        TRY(row_copy(&to->carry[i].start, &from->carry[i].start));
        TRY(row_copy(&to->carry[i].moved, &from->carry[i].moved));
    }
    return from->starter && !(to->starter = table_copy(from->starter)) ? ERR_MEMORY : 0;
}

static int copy_texts(Table *to, const Table *from)
{
    char **a[] = {&to->title, &to->source, &to->note, &to->start};
    char *const b[] = {from->title, from->source, from->note, from->start};
    for (int i = 0; i < 4; i++) {
        char *s = memory_string(b[i]);
        if (!s) return ERR_MEMORY;
        memory_free(*a[i]);
        *a[i] = s;
    }
    return 0;
}

static int copy_into(Table *to, const Table *from)
{
    TRY(copy_texts(to, from));
    TRY(copy_points(to, from));
    TRY(copy_symbols(to, from));
    TRY(copy_carries(to, from));
    if (!(to->stage = memory_new(from->stages, sizeof(Stage)))) return ERR_MEMORY;
    if (!(to->eval = memory_new(from->evals, sizeof(Eval)))) return ERR_MEMORY;
    if (!(to->flow = memory_new(from->flows, sizeof(Flow)))) return ERR_MEMORY;
    if (from->stages) memcpy(to->stage, from->stage, from->stages * sizeof(Stage));
    if (from->evals) memcpy(to->eval, from->eval, from->evals * sizeof(Eval));
    to->stages = from->stages;
    to->evals = from->evals;
    for (; to->flows < from->flows; to->flows++) {
        const Flow *f = &from->flow[to->flows];
        Flow *copy = &to->flow[to->flows];
        *copy = (Flow){.op = f->op, .set = f->set, .substeps = f->substeps};
        mpq_inits(copy->c, copy->im, NULL);
        mpq_set(copy->c, f->c);
        mpq_set(copy->im, f->im);
        TRY(row_copy(&copy->learned, &f->learned));
        if (f->method && !(copy->method = memory_string(f->method))) return ERR_MEMORY;
        if (f->by && !(copy->by = table_copy(f->by))) return ERR_MEMORY;
    }
    to->colours = from->colours;
    to->exact = from->exact;
    to->dense = from->dense;
    to->word = from->word;
    to->past_y = from->past_y;
    to->past_k = from->past_k;
    to->special = from->special;
    to->orders = from->orders;
    for (int i = 0; i < COLOURS; i++) mpq_set(to->weight[i], from->weight[i]);
    if (from->pair && !(to->pair = table_copy(from->pair))) return ERR_MEMORY;
    TRY(row_copy(&to->error, &from->error));
    TRY(row_copy(&to->coarse, &from->coarse));
    return row_copy(&to->update, &from->update);
}

Table *table_copy(const Table *from)
{
    Table *to = table_new(from->name);
    if (to && copy_into(to, from) != 0) {
        table_free(to);
        return NULL;
    }
    return to;
}

void table_rename(Table *t, const char *name)
{
    snprintf(t->name, TABLE_NAME, "%s", name);
    if (t->pair) table_rename(t->pair, name);
}

void table_value(const Table *t, const Term *term, mpq_t out)
{
    mpq_set(out, term->c);
    for (int i = 0; i < term->symbols; i++) mpq_mul(out, out, t->symbol[term->symbol[i]].start);
}

void row_weight(const Table *t, const Row *r, int eval, mpq_t out)
{
    RATIONAL(c);
    mpq_set_ui(out, 0, 1);
    for (size_t i = 0; i < r->terms; i++) {
        if (r->term[i].eval != eval) continue;
        table_value(t, &r->term[i], c);
        mpq_add(out, out, c);
    }
}

/* ---- start of a multistep scheme ----------------------------------------------------------------- */

/* Replaces in an argument what `history` steps cannot give; `ready`: evaluations computed before. */
static int start_argument(Row *r, int history, int ready)
{
    ROW(out);
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        int missing = s->past > history;
        if (missing && s->eval >= ready) continue;
        TRY(row_add(&out, s->eval, missing ? 0 : s->past, s->c, s->symbols, s->symbol));
    }
    row_swap(r, &out);
    return 0;
}

/* Sums a row's weights on slopes of an operator, symbols at their start; set 0: every set. */
static void slope_total(const Table *t, const Row *r, int op, int set, mpq_t sum)
{
    RATIONAL(c);
    mpq_set_ui(sum, 0, 1);
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        if (s->eval < 0 || t->eval[s->eval].op != op) continue;
        if (eval_point(t, s->eval)->phi) continue;
        if (set && t->eval[s->eval].set != set) continue;
        table_value(t, s, c);
        mpq_add(sum, sum, c);
    }
}

/* Makes y' = y + K: past slopes become current ones, each colour's weights total 1. */
static int start_update(const Table *t, Row *r)
{
    ROW(out);
    RATIONALS(c, total);
    TRY(row_add(&out, TABLE_STATE, 0, rational_one, 0, NULL));
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        if (s->eval < 0) continue;
        slope_total(t, r, t->eval[s->eval].op, 0, total);
        if (mpq_sgn(total) == 0) continue; /* no slope to scale: the operator waits */
        mpq_div(c, s->c, total);
        TRY(row_add(&out, s->eval, 0, c, s->symbols, s->symbol));
    }
    row_swap(r, &out);
    return 0;
}

static int start_rows(Table *t, int history)
{
    for (size_t p = 0; p < t->points; p++) {
        int ready = 0;
        while (t->eval[ready].point < (int)p) ready++;
        TRY(start_argument(&t->point[p].row, history, ready));
    }
    for (size_t g = 0; g < t->symbols; g++)
        for (size_t k = 0; k < t->symbol[g].inputs; k++)
            TRY(start_argument(&t->symbol[g].input[k], history, (int)t->evals));
    return start_update(t, &t->update);
}

Table *table_start(const Table *from, int history)
{
    Table *t = table_copy(from);
    int depth = from->past_y > from->past_k ? from->past_y : from->past_k;
    if (!t || history >= depth) return t;
    if (start_rows(t, history) == 0) return t;
    table_free(t);
    return NULL;
}

size_t table_methods(const Table *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->flows; i++) n += t->flow[i].method != NULL;
    return n;
}

int table_complex(const Table *t)
{
    int complex = 0;
    for (size_t i = 0; i < t->flows; i++) complex |= mpq_sgn(t->flow[i].im) != 0;
    return complex;
}

int table_exact_flows(const Table *t)
{
    return t->flows > 0 && table_methods(t) == 0 && !table_complex(t);
}

/* ---- counts --------------------------------------------------------------------------------------- */

size_t table_evals(const Table *t, int op)
{
    size_t n = 0;
    for (size_t i = 0; i < t->evals; i++) n += t->eval[i].op == op && !eval_point(t, (int)i)->phi;
    for (size_t i = 0; i < t->flows; i++)
        n += t->flow[i].by ? table_evals(t->flow[i].by, op) : t->flow[i].op == op;
    return n;
}

int table_sets(const Table *t, int op)
{
    int most = 0;
    for (size_t i = 0; i < t->evals; i++)
        if (t->eval[i].op == op && t->eval[i].set > most && eval_point(t, (int)i)->phi != PHI_NORM)
            most = t->eval[i].set;
    for (size_t i = 0; i < t->flows; i++)
        if (t->flow[i].op == op && t->flow[i].set > most) most = t->flow[i].set;
    return most;
}

void table_weight(const Table *t, int op, int set, mpq_t out)
{
    slope_total(t, &t->update, op, set, out);
    for (size_t i = 0; i < t->flows; i++)
        if (t->flow[i].op == op && t->flow[i].set == set) mpq_add(out, out, t->flow[i].c);
}

/* ---- equality --------------------------------------------------------------------------------------- */

static int points_equal(const Table *a, const Table *b)
{
    for (size_t i = 0; i < a->points; i++) {
        const Point *p = &a->point[i], *q = &b->point[i];
        if (!row_equal(&p->row, &q->row) || p->timed != q->timed) return 0;
        if (p->phi != q->phi || p->ops != q->ops || !mpq_equal(p->scale, q->scale)) return 0;
        for (int op = 0; op < a->colours; op++)
            if (!mpq_equal(p->c[op], q->c[op])) return 0;
    }
    return 1;
}

static int symbols_equal(const Table *a, const Table *b)
{
    for (size_t i = 0; i < a->symbols; i++) {
        const Symbol *s = &a->symbol[i], *u = &b->symbol[i];
        if (strcmp(s->name, u->name) != 0 || s->kind != u->kind || s->inputs != u->inputs) return 0;
        if (!mpq_equal(s->start, u->start)) return 0;
        for (size_t k = 0; k < s->inputs; k++)
            if (!row_equal(&s->input[k], &u->input[k])) return 0;
    }
    return 1;
}

static int flows_equal(const Table *a, const Table *b)
{
    for (size_t i = 0; i < a->flows; i++) {
        const Flow *f = &a->flow[i], *g = &b->flow[i];
        if (f->op != g->op || f->set != g->set) return 0;
        if (!mpq_equal(f->c, g->c) || !mpq_equal(f->im, g->im)) return 0;
        if (!row_equal(&f->learned, &g->learned)) return 0;
        if (f->substeps != g->substeps || !f->method != !g->method ||
            (f->method && strcmp(f->method, g->method) != 0))
            return 0;
    }
    return 1;
}

static int carries_equal(const Table *a, const Table *b)
{
    for (size_t i = 0; i < a->carries; i++) {
        const Carry *c = &a->carry[i], *d = &b->carry[i];
        if (strcmp(c->name, d->name) != 0 || c->started != d->started || c->embedded != d->embedded)
            return 0;
        if (!row_equal(&c->update, &d->update) || !row_equal(&c->start, &d->start)) return 0;
    }
    return 1;
}

const char *table_special(int special, char out[SPECIAL_WORDS])
{
    size_t n = 0;
    out[0] = '\0';
    for (int op = 0; op < COLOURS; op++)
        if (special >> op & 1)
            n += (size_t)snprintf(out + n, SPECIAL_WORDS - n, "%slinear %c", n ? ", " : "",
                                  table_letters[op]);
    for (int op = 0; op < COLOURS && !special_separable(special); op++)
        if (special_apart(special, op))
            n += (size_t)snprintf(out + n, SPECIAL_WORDS - n, "%sseparable %c", n ? ", " : "",
                                  table_letters[op]);
    if (special_separable(special))
        snprintf(out + n, SPECIAL_WORDS - n, "%sseparable", n ? ", " : "");
    return out;
}

const Row *table_row(const Table *t, size_t i)
{
    return i < t->points    ? &t->point[i].row
           : i == t->points ? &t->update
                            : &t->carry[i - t->points - 1].update;
}

int table_equal(const Table *a, const Table *b)
{
    if (a->stages != b->stages || a->points != b->points || a->evals != b->evals ||
        a->flows != b->flows || a->symbols != b->symbols || a->exact != b->exact ||
        a->dense != b->dense || a->word != b->word || a->colours != b->colours ||
        a->special != b->special || a->orders != b->orders || a->carries != b->carries)
        return 0;
    for (int op = 0; op < a->colours; op++)
        if (!mpq_equal(a->weight[op], b->weight[op])) return 0;
    for (size_t i = 0; i < a->stages; i++)
        if (memcmp(&a->stage[i], &b->stage[i], sizeof(Stage)) != 0) return 0;
    for (size_t i = 0; i < a->evals; i++)
        if (memcmp(&a->eval[i], &b->eval[i], sizeof(Eval)) != 0) return 0;
    if (!a->pair != !b->pair || (a->pair && !table_equal(a->pair, b->pair))) return 0;
    return points_equal(a, b) && symbols_equal(a, b) && flows_equal(a, b) && carries_equal(a, b) &&
           row_equal(&a->update, &b->update) && row_equal(&a->error, &b->error) &&
           row_equal(&a->coarse, &b->coarse);
}

/* ---- to double --------------------------------------------------------------------------------------- */

double table_double(const mpq_t q)
{
    double d = mpq_get_d(q); /* towards zero: the nearest is d or its neighbour away from zero */
    double e = nextafter(d, mpq_sgn(q) < 0 ? -INFINITY : INFINITY);
    if (!isfinite(d) || !isfinite(e)) return d;
    RATIONALS(a, b);
    mpq_set_d(a, d);
    mpq_set_d(b, e);
    mpq_sub(a, q, a);
    mpq_sub(b, b, q);
    mpq_abs(a, a);
    mpq_abs(b, b);
    return mpq_cmp(b, a) < 0 ? e : d;
}
