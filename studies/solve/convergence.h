/* convergence.h: order studies of several schemes on one particle system, with their plots. */
#ifndef TROTTER_CONVERGENCE_H
#define TROTTER_CONVERGENCE_H

#include "studies/solve/choose.h"
#include "studies/base/kind.h"

enum { CONVERGENCE_TREES = CONDITIONS_MAX }; /* exact orders are searched up to this one */

typedef struct {
    Theory theory;
    double slope, low, high;
    double predicted; /* constant of the error, by the theory */
    int verdict;
    int solved;           /* some sub-flow came from the reference integrator */
    int constant_verdict; /* VERDICT_AGREE or VERDICT_DISAGREE; -1: not compared */
    size_t points;
    OrderPoint *point; /* (points), coarsest first, without their vectors; owned */
} Convergence;         /* of one scheme */

typedef struct {
    System *system;
    Network network; /* model of a trained system, else empty; outlives the system */
    OrderOptions options;
    size_t count;
    Convergence *scheme;                 /* (count) */
    Sheet *points, *work, *summary;      /* of order_points, order_work, order_summary */
    Sheet *rates;                        /* for people: a row a step, columns grouped by scheme */
    double guide[CONVERGENCE_TREES + 1]; /* largest error constant of an order that was met */
    double top;                          /* largest error of a scheme that does not diverge */
    double coarsest, finest;             /* steps */
    double least;                        /* smallest error above 0 */
    size_t diverging;                    /* schemes with errors that are not drawn */
    double floor;                        /* largest error that is rounding; 0: none is */
} ConvergenceStudy;

/* Columns of order.csv, work.csv, summary.csv, and those of each scheme in the table of convergence. */
extern const Column order_points[], order_work[], order_summary[], order_cells[];
/* Counts how often each verdict, and each match of a constant or remainder, occurs; bad: "disagree" or "inconsistent"
 * is among them. */
void orders_judge(const Frame *c, Verdict *v);

/* Measures every scheme on a system. Progress and warnings go to stderr. Caller: convergence_free, after errors too. */
int convergence_run(const SystemChoice *system, const OrderOptions *options, const Selection *s,
                    ConvergenceStudy *out);
void convergence_free(ConvergenceStudy *u);

/* Returns the number of schemes whose order or constant disagrees. */
size_t convergence_disagree(const ConvergenceStudy *u);
/* Returns the number of schemes whose exact order is 0. */
size_t convergence_inconsistent(const ConvergenceStudy *u);

/* rates.c: makes the table of convergence of what was measured: h, and for each scheme error, rate, steps, evals and
 * seconds, of which people see the first two unless sheet_choose says otherwise. */
int convergence_rates(ConvergenceStudy *u, const Selection *s);
/* Returns log of the quotient of the error before and this one, over log of that of their steps: log2 where h was halved.
 * NaN: there is none. */
double convergence_rate(const OrderPoint *point, size_t i);

/* Writes DIR/order.csv, the table of convergence as order.md and order.tex, summary.csv, summary.md and the plot order; for global errors also
 * work.csv and the plots work and time. */
int convergence_save(const ConvergenceStudy *u, const Selection *s, const char *dir);

#endif
