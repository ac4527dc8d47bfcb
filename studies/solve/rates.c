/* rates.c: the table of convergence as lectures print it: a row for each step, for each scheme its error and rate. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/solve/convergence.h"

/* What a scheme has at a step. */
typedef struct {
    double error, rate, seconds;
    size_t steps, evals;
} Rate;

/* A row; (schemes) of Rate follow. */
typedef struct {
    const char *h;
    Rate rate[];
} StepRow;

const Column order_cells[] = {
    COLUMN(Rate, error, .form = SHEET_SCIENTIFIC, .digits = 2, .place = 2),
    COLUMN(Rate, rate, .form = SHEET_FIXED, .digits = 2, .place = 2),
    COLUMN(Rate, steps),
    COLUMN(Rate, evals),
    COLUMN(Rate, seconds, .digits = 3),
    {0}};
enum { CELLS = sizeof order_cells / sizeof *order_cells - 1 };

double convergence_rate(const OrderPoint *point, size_t i)
{
    if (i == 0) return NAN;
    const OrderPoint *a = &point[i - 1], *b = &point[i];
    double rate = log(a->error / b->error) / log(a->h / b->h);
    return isfinite(rate) ? rate : NAN;
}

static int is_step(double a, double b)
{
    return fabs(a - b) <= 1e-9 * a;
}

/* Returns the coarsest step of any scheme below h; 0: there is none. */
static double next_step(const ConvergenceStudy *u, double h)
{
    double next = 0;
    for (size_t i = 0; i < u->count; i++)
        for (size_t k = 0; k < u->scheme[i].points; k++) {
            double x = u->scheme[i].point[k].h;
            if (x < h && !is_step(x, h) && x > next) next = x;
        }
    return next;
}

/* Writes a step: 1/8 where it is the inverse of a whole number, else in decimals. */
static void write_step(double h, char out[32])
{
    double n = rint(1 / h);
    int whole = n >= 2 && n < 1e9 && fabs(h * n - 1) < 1e-12;
    snprintf(out, 32, whole ? "1/%.0f" : "%.6g", whole ? n : h);
}

static Rate find(const Convergence *c, double h)
{
    for (size_t k = 0; k < c->points; k++)
        if (is_step(c->point[k].h, h))
            return (Rate){c->point[k].error, convergence_rate(c->point, k), c->point[k].seconds,
                          c->point[k].steps, c->point[k].evals};
    return (Rate){NAN, NAN, NAN, SIZE_MAX, SIZE_MAX};
}

static void make_columns(const ConvergenceStudy *u, const Selection *s, Column *c)
{
    *c++ = (Column)COLUMN(StepRow, h, .place = 1);
    for (size_t i = 0; i < u->count; i++)
        for (size_t k = 0; k < CELLS; k++, c++) {
            *c = order_cells[k];
            c->at += offsetof(StepRow, rate) + i * sizeof(Rate);
            c->group = s->scheme[i]->name;
            if (c->place) c->place = (short)(2 + i * CELLS + k);
        }
}

int convergence_rates(ConvergenceStudy *u, const Selection *s)
{
    char h[32];
    SCOPED(memory_drop) StepRow *row = memory_new(1, sizeof *row + u->count * sizeof *row->rate);
    SCOPED(memory_drop) Column *list = memory_new(2 + u->count * CELLS, sizeof *list);
    if (!row || !list) return ERR_MEMORY;
    make_columns(u, s, list);
    row->h = h;
    TRY(sheet_new(list, &u->rates));
    for (double x = INFINITY; (x = next_step(u, x)) > 0;) {
        write_step(x, h);
        for (size_t i = 0; i < u->count; i++) row->rate[i] = find(&u->scheme[i], x);
        sheet_row(u->rates, row);
    }
    return 0;
}
