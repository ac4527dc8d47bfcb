/* pair.c: makes tables of some of a table's stages: that of the start of what is carried; that of an embedded pair, without the stages that only the estimate of the error reads, and from
 * the whole one the tables of yhat = y' - error and of the error itself. Source: Hairer, Norsett, Wanner 1993, section
 * II.4. */
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/table.h"

static void mark_stages(const Table *t, const Row *r, char *used)
{
    for (size_t i = 0; i < r->terms; i++)
        if (r->term[i].eval >= 0) used[t->eval[r->term[i].eval].stage] = 1;
}

static size_t count_used(const Table *t, const char *used)
{
    size_t n = 0;
    for (size_t i = 0; i < t->stages; i++) n += used[i] != 0;
    return n;
}

/* Moves evaluations from `first` on by `count` places down. */
static void move_terms(Row *r, int first, int count)
{
    for (size_t i = 0; i < r->terms; i++)
        if (r->term[i].eval >= first) r->term[i].eval -= count;
}

static void delete_from(void *list, size_t *n, size_t at, size_t count, size_t size)
{
    char *x = list;
    memmove(x + at * size, x + (at + count) * size, (*n - at - count) * size);
    *n -= count;
}

/* Deletes a stage that no row reads, with its evaluations and points, which stand together. */
static void delete_stage(Table *t, size_t i)
{
    size_t e = (size_t)t->stage[i].eval, count = (size_t)stage_parts(t, t->stage[i].op)->count;
    size_t p = (size_t)t->eval[e].point, points = (size_t)t->eval[e + count - 1].point - p + 1;
    for (size_t k = p; k < p + points; k++) point_free(&t->point[k]);
    delete_from(t->point, &t->points, p, points, sizeof(Point));
    delete_from(t->eval, &t->evals, e, count, sizeof(Eval));
    delete_from(t->stage, &t->stages, i, 1, sizeof(Stage));
    for (size_t k = i; k < t->stages; k++) t->stage[k].eval -= (int)count;
    for (size_t k = e; k < t->evals; k++) t->eval[k].stage--, t->eval[k].point -= (int)points;
    for (size_t k = 0; k < t->points; k++) move_terms(&t->point[k].row, (int)e, (int)count);
    move_terms(&t->update, (int)e, (int)count);
    for (size_t k = 0; k < t->carries; k++) {
        move_terms(&t->carry[k].update, (int)e, (int)count);
        move_terms(&t->carry[k].start, (int)e, (int)count);
    }
}

/* Deletes the stages that neither the update reads, nor what is carried, nor a stage that stays. */
static int prune(Table *t)
{
    SCOPED(memory_drop) char *used = memory_new(t->stages, 1);
    if (!used) return ERR_MEMORY;
    mark_stages(t, &t->update, used);
    for (size_t i = 0; i < t->carries; i++) mark_stages(t, &t->carry[i].update, used);
    for (size_t before = 0, now = count_used(t, used);
         now != before;) { /* stages read one another */
        for (size_t e = t->evals; e-- > 0;)
            if (used[t->eval[e].stage]) mark_stages(t, &t->point[t->eval[e].point].row, used);
        before = now;
        now = count_used(t, used);
    }
    for (size_t i = t->stages; i-- > 0;)
        if (!used[i]) delete_stage(t, i);
    return 0;
}

/* Puts a frozen row in the place of evaluation e. */
static int put_row(Row *r, int e, const Row *in_place)
{
    ROW(out);
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        TRY(s->eval == e ? row_add_row(&out, in_place, s->c)
                         : row_add(&out, s->eval, s->past, s->c, 0, NULL));
    }
    row_swap(r, &out);
    return 0;
}

int table_drop_norms(Table *t)
{
    if (!table_has(t, HAS_NORM)) return 0;
    for (size_t i = t->stages; i-- > 0;) { /* a norm reads stages before it alone */
        int e = t->stage[i].eval;
        const Row *r = &eval_point(t, e)->row;
        if (eval_point(t, e)->phi != PHI_NORM) continue;
        for (size_t p = 0; p < t->points; p++) TRY(put_row(&t->point[p].row, e, r));
        TRY(put_row(&t->update, e, r));
        for (size_t c = 0; c < t->carries; c++) {
            TRY(put_row(&t->carry[c].update, e, r));
            TRY(put_row(&t->carry[c].start, e, r));
        }
        delete_stage(t, i);
    }
    table_times(t); /* they are those of the rows as they are now */
    return 0;
}

int table_starter(const Table *t, Table **out)
{
    *out = NULL;
    if (t->starter) return (*out = table_copy(t->starter)) ? 0 : ERR_MEMORY;
    if (!t->carries || !t->carry[0].started) return 0;
    TABLE(s);
    if (!(s = table_copy(t))) return ERR_MEMORY;
    row_free(&s->update);
    TRY(row_add(&s->update, TABLE_STATE, 0, rational_one, 0, NULL));
    for (size_t i = 0; i < s->carries; i++) {
        row_swap(&s->carry[i].update, &s->carry[i].start);
        row_free(&s->carry[i].start);
        s->carry[i].started = 0;
    }
    TRY(prune(s));
    s->past_y = s->past_k = 0;
    *out = s;
    s = NULL;
    return 0;
}

int table_pair(Table *whole, Table **out)
{
    TABLE(t);
    if (!(t = table_copy(whole))) return ERR_MEMORY;
    row_free(&t->error);
    row_free(&t->coarse);
    TRY(prune(t));
    t->pair = whole;
    *out = t;
    t = NULL;
    return 0;
}

const Table *table_whole(const Table *t)
{
    return t->pair ? t->pair : t;
}

const Table *table_unfiltered(const Table *t)
{
    int filtered = t->pair && table_implicit(t) && !table_has(t, HAS_SOLVE);
    return filtered && table_has(t->pair, HAS_SOLVE) ? t : table_whole(t);
}

/* Copies the pair with the update `of_update` times its own plus `of_error` times an estimate. */
static Table *other_update(const Table *pair, int of_update, int of_error, const Row *estimate)
{
    Table *t = table_copy(pair);
    RATIONAL(factor);
    if (!t) return NULL;
    row_free(&t->update);
    mpq_set_si(factor, of_update, 1);
    int code = row_add_row(&t->update, &pair->update, factor);
    mpq_set_si(factor, of_error, 1);
    if (code == 0) code = row_add_row(&t->update, estimate, factor);
    row_free(&t->error);
    row_free(&t->coarse);
    if (code == 0) return t;
    table_free(t);
    return NULL;
}

Table *table_embedded(const Table *t)
{
    return other_update(t->pair, 1, -1, &t->pair->error);
}

Table *table_estimate(const Table *t)
{
    return other_update(t->pair, 0, 1, &t->pair->error);
}

Table *table_coarse(const Table *t)
{
    return other_update(t->pair, 0, 1, &t->pair->coarse);
}

double table_error_sum(const Table *t)
{
    double largest = 0;
    RATIONAL(sum);
    for (int op = 0; op < COLOURS; op++) {
        table_row_time(t->pair, &t->pair->error, op, sum);
        if (fabs(table_double(sum)) > fabs(largest)) largest = table_double(sum);
    }
    return largest;
}
