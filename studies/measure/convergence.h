/* convergence.h: order studies of several schemes on one particle system, with their plots. */
#ifndef TROTTER_CONVERGENCE_H
#define TROTTER_CONVERGENCE_H

#include "ode/ode.h"
#include "studies/tools/kind.h"
#include "studies/tools/sheet.h"
#include "studies/tools/select.h"
#include "studies/model/trained.h"

enum { CONVERGENCE_TREES = TREE_MAX }; /* exact orders are looked for up to this one */

typedef struct {
    Theory theory;
    double slope, low, high;
    double predicted; /* constant of the error, by the theory */
    int verdict;
    int constant_verdict; /* VERDICT_AGREE or VERDICT_DISAGREE; -1: not compared */
} Convergence;            /* of one scheme */

typedef struct {
    System *system;
    Network network; /* of a trained system, else empty; outlives it */
    OrderOptions options;
    size_t count;
    Convergence *scheme;            /* (count) */
    Sheet *points, *work, *summary; /* of order_points, order_work, order_summary */
    double guide[TREE_MAX + 1];     /* largest error constant of an order that was met */
    double top;                     /* largest error of a scheme that does not diverge */
    double coarsest, finest;        /* steps */
    double least;                   /* smallest error above 0 */
    size_t diverging;               /* schemes with errors that are not drawn */
    double floor;                   /* largest error that is rounding; 0: none is */
} ConvergenceStudy;

/* Columns of order.csv, work.csv, summary.csv. */
extern const Column order_points[], order_work[], order_summary[];
/* How often each verdict, and each match of a constant or remainder, occurs; bad: "disagree". */
void orders_judge(const Csv *c, Verdict *v);

/* Which particle system: a name (of system_new or trained_system) or, if not NULL, a file; name NULL:
 * the default one. particles, dim: 0 for the system's own. */
typedef struct {
    const char *name, *file;
    size_t particles, dim;
    uint64_t seed;
} SystemChoice;

/* *n: the model of a trained system, else empty. Caller: system_free, then network_free. */
int choose_system(const SystemChoice *c, Network *n, System **out);
/* Passes `code` on; what went wrong on a system from a file begins with the file's name. */
int choose_blame(const SystemChoice *c, int code);

/* Measures every scheme on a system. Progress and warnings go to stderr. Caller: convergence_free, after errors too. */
int convergence_run(const SystemChoice *system, const OrderOptions *options, const Selection *s,
                    ConvergenceStudy *out);
void convergence_free(ConvergenceStudy *u);

/* Schemes whose order or constant disagrees. */
size_t convergence_disagree(const ConvergenceStudy *u);

/* DIR/order.csv, summary.csv, summary.md and the plot order; of global errors also work.csv and the
 * plots work and time. */
int convergence_save(const ConvergenceStudy *u, const Selection *s, const char *dir);

#endif
