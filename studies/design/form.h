/* form.h: a scheme with free (learned) coefficients, at some values of these.
 *
 * A form is a table with `learn` lines; x (n) are their values, in the order of the text. Order conditions are the
 * defects of coloured rooted trees (theory_defect): all of order 1 .. p are zero where the scheme has order p.
 */
#ifndef TROTTER_DESIGN_FORM_H
#define TROTTER_DESIGN_FORM_H

#include "ode/ode.h"

typedef struct {
    Table *table;      /* owned; the symbols' starting values change */
    Forest *forest;    /* owned; trees up to order + 1 */
    Forest *low;       /* owned; trees up to order, for the conditions */
    int order;         /* p: the order whose conditions must hold */
    size_t n;          /* free coefficients */
    size_t conditions; /* trees of order 1 .. p */
    mpq_t *defect;     /* (low->count + 1) work; the last is the defect of h^0 y */
} Form;

/* Takes a copy of `scheme`. ERR_INPUT: no learned coefficient, a gate, flows. order: 1 .. forest_most - 1. Caller:
 * form_free, also after a failure of form_new. */
int form_new(const Table *scheme, int order, Form *out);
void form_free(Form *f);

/* x (n) out: the table's present values. */
void form_values(const Form *f, double *x);
/* Makes the scheme at x (n), a table without learned names. Doubles are taken as they are; `exact` is
 * kept. Caller: table_free. */
int form_at(Form *f, const double *x, Table **out);
/* Makes the scheme at rational values q (n). decimal: some of them are decimals, not fractions,
 * so the table is inexact. */
int form_at_rational(Form *f, mpq_t *q, int decimal, Table **out);

/* c (conditions) out: defects of the trees of order 1 .. p at x. ERR_ACCURACY where state weights do not sum to 1. */
int form_conditions(Form *f, const double *x, double *c);

/* x (n) in, out: the nearest point, to first order, where all conditions hold to 1e-13, by Gauss-Newton steps of least
 * norm. fixed (n): coefficients that stay; NULL: none. Allocates work. ERR_ACCURACY where the steps do not converge. */
int form_project(Form *f, const unsigned char *fixed, double *x);

#endif
