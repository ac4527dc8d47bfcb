/* backward.c: backward differentiation formulas of orders 1 to 5 with steps of any length, in backward differences of
 * quasi-constant steps (Shampine, Reichelt 1997, "The MATLAB ODE suite", section 2; SciPy's BDF is of this form).
 *
 * Let nabla^j y_n be the differences of states at t_n, t_n - h, ...; the predictor y* = sum over j = 0 .. k of nabla^j y_n
 * goes through the last k + 1 of them. With gamma_k = sum over j = 1 .. k of 1/j the formula of order k is
 *
 *     sum over j = 1 .. k of (1/j) nabla^j y_n+1 = h f(t_n+1, y_n+1),
 *
 * and since nabla^j y_n+1 = y_n+1 - y* + sum over i = j .. k of nabla^i y_n, it says that
 *
 *     y_n+1 = y* - (1/gamma_k) sum over j = 1 .. k of gamma_j nabla^j y_n + (h / gamma_k) f(t_n+1, y_n+1).
 *
 * d = y_n+1 - y* is nabla^(k+1) y_n+1, and the formula errs by d / (k + 1). Orders k - 1 and k + 1 would err by
 * nabla^k y_n+1 / k and nabla^(k+2) y_n+1 / (k + 2); behind k + 1 equal steps these are known, and the order with
 * the longest next step is taken. A step of another length takes the differences of the same polynomial at its own
 * distance: with q = h_new / h, D := U' R' D of j, i = 1 .. k, R_ij = product over m = 1 .. i of (m - 1 - q j) / m, and U that
 * of q = 1. The values within a step are those of the polynomial through the last k + 1 states, which is what the formula
 * differentiates, so that they are as exact as the states, on stiff problems too:
 *
 *     y(t_n+1 + s h) = y_n+1 + sum over j = 1 .. k of nabla^j y_n+1 s (s + 1) ... (s + j - 1) / j!.
 *
 * implicit.c solves for y_n+1 by the simplified Newton iteration, which begins at y*. */
#include "ode/step/backward.h"

#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/field/combine.h"
#include "ode/field/system.h"
#include "ode/step/implicit.h"
#include "ode/step/linear.h"
#include "ode/systems/systems.h"

enum { ORDERS = BACKWARD_MOST + 3 }; /* differences kept: 0 .. order + 2 */
/* What estimates are compared with, in shares of a state, is no less unless the tolerance is: differences of order 5 have a rounding of
 * 32 units of the last digit. */
static const double finest = 5e-14;

struct Backward {
    const Table *table;
    const System *system;
    Implicit *implicit;
    size_t N, evals;
    int order, equal;
    double t, h, slope; /* slope: the weight of the table's own formula */
    double sharper;     /* backward_sharper */
    double *D;          /* (ORDERS, N) */
    double *start, *known, *tried, *d, *error, *k; /* (N) each; k: of every evaluation */
};

int backward_new(const Table *t, const System *s, const AdaptOptions *o, Backward **out)
{
    SCOPED(backward_drop) Backward *b = memory_new(1, sizeof *b);
    *out = NULL;
    if (!b) return ERR_MEMORY;
    TRY(system_takes(s, t));
    TRY(mass_takes(s, t));
    TRY(mass_check(s));
    b->table = t;
    b->system = s;
    b->N = s->n * s->d;
    b->slope = table_double(t->update.term[t->update.terms - 1].c);
    b->sharper = fmin(s->mass ? 8 : 100, fmax(1, adapt_least(o, b->N) / finest));
    b->D = memory_new((ORDERS + 5 + t->evals) * b->N, sizeof *b->D);
    if (!b->D) return ERR_MEMORY;
    b->start = b->D + ORDERS * b->N;
    b->known = b->start + b->N;
    b->tried = b->known + b->N;
    b->d = b->tried + b->N;
    b->error = b->d + b->N;
    b->k = b->error + b->N;
    TRY(implicit_new(t, b->system, LU_MOST, &b->implicit));
    implicit_from_state(b->implicit, 0.1 * 2 / b->sharper);
    TRY(implicit_loosen(b->implicit, t, o));
    *out = b;
    b = NULL;
    return 0;
}

double backward_sharper(const Backward *b)
{
    return b->sharper;
}

void backward_free(Backward *b)
{
    if (!b) return;
    implicit_free(b->implicit);
    memory_free_all(b->D, b);
}

static double *difference(const Backward *b, int j)
{
    return b->D + (size_t)j * b->N;
}

void backward_begin(Backward *b, double t, double h, const double *y)
{
    double *slope = difference(b, 1);
    implicit_begin(b->implicit);
    memset(b->D, 0, ORDERS * b->N * sizeof *b->D);
    memcpy(b->D, y, b->N * sizeof *y);
    b->evals = 0;
    if (!b->system->mass) { /* else y' is not known, and nabla^1 is 0 */
        system_sum(b->system, system_ops(b->system), 1, t, y, slope, b->error);
        for (size_t i = 0; i < b->N; i++) slope[i] *= h;
        b->evals = (size_t)system_parts(b->system);
    }
    b->order = 1;
    b->equal = 0;
    b->t = t;
    b->h = h;
}

/* ---- another step -------------------------------------------------------------------------------- */

typedef double Square[BACKWARD_MOST + 1][BACKWARD_MOST + 1];

/* Makes R of rows and columns 1 .. k. */
static void ratios(int k, double q, Square R)
{
    for (int j = 1; j <= k; j++) {
        double product = 1;
        for (int i = 1; i <= k; i++) R[i][j] = product *= (i - 1 - q * j) / i;
    }
}

void backward_resize(Backward *b, double h)
{
    Square R, U;
    int k = b->order;
    ratios(k, h / b->h, R);
    ratios(k, 1, U);
    for (size_t c = 0; c < b->N; c++) {
        double part[BACKWARD_MOST + 1], *D = b->D + c;
        for (int j = 1; j <= k; j++) {
            part[j] = 0;
            for (int i = 1; i <= k; i++) part[j] += R[i][j] * D[(size_t)i * b->N];
        }
        for (int j = 1; j <= k; j++) {
            double sum = 0;
            for (int i = 1; i <= k; i++) sum += U[i][j] * part[i];
            D[(size_t)j * b->N] = sum;
        }
    }
    b->h = h;
    b->equal = 0;
}

/* ---- a step -------------------------------------------------------------------------------------- */

int backward_try(Backward *b)
{
    double gamma_of[BACKWARD_MOST + 1] = {0};
    for (int j = 1; j <= b->order; j++) gamma_of[j] = gamma_of[j - 1] + 1.0 / j;
    double gamma = gamma_of[b->order], h = b->h / gamma / b->slope;
    size_t N = b->N;
    for (size_t i = 0; i < N; i++) {
        double sum = b->D[i], minus = 0;
        for (int j = 1; j <= b->order; j++) {
            double D = difference(b, j)[i];
            sum += D;
            minus += gamma_of[j] * D;
        }
        b->start[i] = sum;
        b->known[i] = sum - minus / gamma;
    }
    TRY(implicit_solve(b->implicit, b->t + b->h - h, h, b->start, b->known, b->k, &b->evals));
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (size_t e = 0; e < b->table->evals; e++) sum += b->k[e * N + i];
        b->tried[i] = b->known[i] + b->h / gamma * sum;
        b->d[i] = b->tried[i] - b->start[i];
    }
    return combine_finite(N, b->tried) ? 0 : error_set(ERR_NUMERIC, "a state is not finite");
}

void backward_accept(Backward *b)
{
    int k = b->order;
    for (size_t i = 0; i < b->N; i++) {
        double *D = b->D + i, d = b->d[i];
        D[(size_t)(k + 2) * b->N] = d - D[(size_t)(k + 1) * b->N];
        D[(size_t)(k + 1) * b->N] = d;
        for (int j = k; j > 0; j--) D[(size_t)j * b->N] += D[(size_t)(j + 1) * b->N];
        D[0] = b->tried[i];
    }
    implicit_accept(b->implicit);
    b->t += b->h;
    b->equal++;
}

const double *backward_error(Backward *b, int more)
{
    int order = b->order + more;
    if (order < 1 || order > b->table->orders) return NULL;
    const double *d = more ? difference(b, order + 1) : b->d;
    for (size_t i = 0; i < b->N; i++) b->error[i] = d[i] / (order + 1);
    return b->error;
}

void backward_within(const Backward *b, double theta, double *y)
{
    double s = theta - 1, c = 1;
    memcpy(y, b->D, b->N * sizeof *y);
    for (int j = 1; j <= b->order; j++) {
        const double *D = difference(b, j);
        c *= (s + j - 1) / j;
        for (size_t i = 0; i < b->N; i++) y[i] += c * D[i];
    }
}

/* ---- what it is ---------------------------------------------------------------------------------- */

int backward_equal(const Backward *b)
{
    return b->equal;
}

int backward_order(const Backward *b)
{
    return b->order;
}

void backward_set_order(Backward *b, int order)
{
    b->order = order;
}

const double *backward_state(const Backward *b)
{
    return b->D;
}

const double *backward_tried(const Backward *b)
{
    return b->tried;
}

const Newton *backward_newton(const Backward *b)
{
    return implicit_newton(b->implicit);
}

size_t backward_evals(const Backward *b)
{
    return b->evals;
}
