/* source_print.c: tableaus as other programs write them, which source_tables.c reads back. A form is a row of `forms`: how a
 * number is written, how lists are, and the words around them. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/butcher.h"
#include "ode/scheme/scheme.h"

typedef struct {
    const Tableau *b;
    const Table *t;
    char name[TABLE_NAME]; /* as an identifier */
    int order, embedded, implicit;
    FILE *f;
} Printed;

/* fraction: with the two numbers of it; decimal: with the one of a number without. */
typedef struct Form {
    const char *fraction, *decimal;
    int pair;     /* it needs an embedded method */
    int stages;   /* the fewest */
    int diagonal; /* 0: explicit methods, 1: rows may end with the diagonal, 2: all */
    int nodes;    /* it has nodes of its own */
    void (*print)(const Printed *p, const struct Form *form);
} Form;

static void print_number(const Printed *p, const Form *form, const char *x)
{
    size_t n = strcspn(x, "/");
    if (x[n])
        fprintf(p->f, form->fraction, (int)n, x, x + n + 1);
    else
        fprintf(p->f, form->decimal, x,
                strpbrk(x, ".e") || strcmp(form->decimal, "%s%s") == 0 ? "" : ".0");
}

/* Prints entries from .. to of row i, with `between` between them. */
static void print_list(const Printed *p, const Form *form, size_t i, size_t from, size_t to,
                       const char *between)
{
    for (size_t j = from; j < to; j++) {
        if (j > from) fputs(between, p->f);
        print_number(p, form, tableau_row(p->b, i)[j]);
    }
}

/* ---- SUNDIALS ---------------------------------------------------------------------------------------- */

static void print_entries(const Printed *p, const Form *form, size_t i, const char *place)
{
    for (size_t j = 0; j < p->b->stages; j++) {
        const char *x = tableau_row(p->b, i)[j];
        int own = *place == 'c' && eval_point(p->t, p->t->stage[j].eval)->timed;
        if ((strcmp(x, "0") == 0 && !own) || !*x) continue;
        fprintf(p->f, "    B->%s[%zu] = ", place, j);
        print_number(p, form, x);
        fputs(";\n", p->f);
    }
}

static void print_sundials(const Printed *p, const Form *form)
{
    size_t n = p->b->stages;
    char place[24];
    fprintf(
        p->f,
        "#include <stdio.h>\n\n#include <arkode/arkode_butcher.h>\n\nstatic ARKodeButcherTable %s(void)\n{\n"
        "    ARKodeButcherTable B = ARKodeButcherTable_Alloc(%zu, %s);\n    if (!B) return NULL;\n"
        "    B->q = %d;\n    B->p = %d;\n",
        p->name, n, p->b->pair ? "SUNTRUE" : "SUNFALSE", p->order, p->b->pair ? p->embedded : 0);
    for (size_t i = 0; i < n; i++) {
        snprintf(place, sizeof place, "A[%zu]", i);
        print_entries(p, form, i, place);
    }
    print_entries(p, form, n + WEIGHTS, "b");
    if (p->b->pair) print_entries(p, form, n + HAT, "d");
    print_entries(p, form, n + NODES, "c");
    fputs("    return B;\n}\n", p->f);
}

/* ---- Julia ------------------------------------------------------------------------------------------- */

static void print_julia(const Printed *p, const Form *form)
{
    size_t n = p->b->stages;
    fprintf(p->f, "using DiffEqBase\n\nfunction %s(::Type{T} = Float64) where {T}\n    A = [\n",
            p->name);
    for (size_t i = 0; i < n; i++) {
        fputs("        ", p->f);
        print_list(p, form, i, 0, n, " ");
        fputc('\n', p->f);
    }
    fputs("    ]\n    c = [", p->f);
    print_list(p, form, n + NODES, 0, n, "; ");
    fputs("]\n    α = [", p->f);
    print_list(p, form, n + WEIGHTS, 0, n, "; ");
    if (p->b->pair) fputs("]\n    αEEst = [", p->f), print_list(p, form, n + HAT, 0, n, "; ");
    fputs("]\n    A = map(T, A)\n    c = map(T, c)\n    α = map(T, α)\n", p->f);
    if (p->b->pair) fputs("    αEEst = map(T, αEEst)\n", p->f);
    fprintf(p->f, "    return DiffEqBase.%sRKTableau(A, c, α, %d",
            p->implicit ? "Implicit" : "Explicit", p->order);
    if (p->b->pair) fprintf(p->f, "; αEEst, adaptiveorder = %d", p->embedded);
    fputs(")\nend\n", p->f);
}

/* ---- Python ------------------------------------------------------------------------------------------ */

/* Prints "[[0, 0], [1, 0]]" of the first rows and columns. */
static void print_matrix(const Printed *p, const Form *form, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fputs(i ? ",\n    [" : "[", p->f);
        print_list(p, form, i, 0, n, ", ");
        fputc(']', p->f);
    }
}

static void print_nodepy(const Printed *p, const Form *form)
{
    size_t n = p->b->stages;
    fputs(
        "import numpy as np\nfrom sympy import Rational\nfrom nodepy.runge_kutta_method import *\n\nA = np.array([",
        p->f);
    print_matrix(p, form, n);
    fputs("])\nb = np.array([", p->f);
    print_list(p, form, n + WEIGHTS, 0, n, ", ");
    if (p->b->pair) fputs("])\nbhat = np.array([", p->f), print_list(p, form, n + HAT, 0, n, ", ");
    fprintf(p->f, "])\n%s = %s(A, b%s, name='%s')\n", p->name,
            p->b->pair    ? "ExplicitRungeKuttaPair"
            : p->implicit ? "RungeKuttaMethod"
                          : "ExplicitRungeKuttaMethod",
            p->b->pair ? ", bhat=bhat" : "", p->t->name);
}

/* Prints b - bhat, entry by entry, or bhat - b where `turned` is 1. */
static void print_error(const Printed *p, const Form *form, size_t n, int turned)
{
    size_t s = p->b->stages, first = s + (turned ? HAT : WEIGHTS),
           second = s + (turned ? WEIGHTS : HAT);
    for (size_t j = 0; j < n; j++) {
        const char *x = tableau_row(p->b, second)[j];
        if (j) fputs(", ", p->f);
        if (!p->b->pair) {
            fputc('0', p->f);
            continue;
        }
        print_number(p, form, tableau_row(p->b, first)[j]);
        if (strcmp(x, "0") == 0) continue;
        fputs(*x == '-' ? " + " : " - ", p->f);
        print_number(p, form, x + (*x == '-'));
    }
}

/* Prints what diffrax asks for of implicit stages: each is predicted by the slope before it. */
static void print_diagonal(const Printed *p, const Form *form, size_t n)
{
    fputs("    c1=", p->f);
    print_number(p, form, tableau_row(p->b, 0)[0]);
    fputs(",\n    a_diagonal=np.array([", p->f);
    for (size_t i = 0; i < n; i++) {
        if (i) fputs(", ", p->f);
        print_number(p, form, tableau_row(p->b, i)[i]);
    }
    fputs("]),\n    a_predictor=(\n", p->f);
    for (size_t i = 1; i < n; i++) {
        fputs("        np.array([", p->f);
        for (size_t j = 1; j < i; j++) fputs("0, ", p->f);
        fputs("1]),\n", p->f);
    }
    fputs("    ),\n", p->f);
}

static void print_diffrax(const Printed *p, const Form *form)
{
    size_t n = p->b->stages;
    fprintf(
        p->f,
        "import numpy as np\nfrom diffrax import ButcherTableau\n\n%s_tableau = ButcherTableau(\n    a_lower=(\n",
        p->name);
    for (size_t i = 1; i < n; i++) {
        fputs("        np.array([", p->f);
        print_list(p, form, i, 0, i, ", ");
        fputs("]),\n", p->f);
    }
    fputs("    ),\n    b_sol=np.array([", p->f);
    print_list(p, form, n + WEIGHTS, 0, n, ", ");
    fputs("]),\n    b_error=np.array([", p->f);
    print_error(p, form, n, 0);
    fputs("]),\n    c=np.array([", p->f);
    print_list(p, form, n + NODES, 1, n, ", ");
    fputs("]),\n", p->f);
    if (p->implicit) print_diagonal(p, form, n);
    fputs(")\n", p->f);
}

/* Returns whether the last stage is the first of the next step, which SciPy leaves out of A. */
static int first_same_as_last(const Printed *p)
{
    const Tableau *b = p->b;
    size_t n = b->stages;
    TableauEntry *w = tableau_row(b, n + WEIGHTS), *last = tableau_row(b, n - 1);
    double c = table_double(eval_point(p->t, p->t->stage[n - 1].eval)->c[OP_F]);
    if (n < 2 || strcmp(w[n - 1], "0") != 0 || fabs(c - 1) > 1e-9) return 0;
    for (size_t j = 0; j + 1 < n; j++)
        if (strcmp(w[j], last[j]) != 0) return 0;
    return 1;
}

static void print_scipy(const Printed *p, const Form *form)
{
    size_t s = p->b->stages, n = s - (size_t)first_same_as_last(p);
    fprintf(
        p->f,
        "import numpy as np\nfrom scipy.integrate._ivp.rk import RungeKutta\n\n\n"
        "class %s(RungeKutta):  # P, for values within a step, is left to you\n"
        "    order = %d\n    error_estimator_order = %d\n    n_stages = %zu\n    C = np.array([",
        p->name, p->order, p->embedded, n);
    print_list(p, form, s + NODES, 0, n, ", ");
    fputs("])\n    A = np.array([", p->f);
    print_matrix(p, form, n);
    fputs("])\n    B = np.array([", p->f);
    print_list(p, form, s + WEIGHTS, 0, n, ", ");
    fputs("])\n    E = np.array([", p->f);
    print_error(p, form, s, 1);
    fputs(n == s ? ", 0])\n" : "])\n", p->f);
}

/* In the order of SOURCE_* (scheme.h). */
static const Form forms[] = {
    {"SUN_RCONST(%.*s.0) / SUN_RCONST(%s.0)", "SUN_RCONST(%s%s)", 0, 1, 2, 1, print_sundials},
    {"%.*s // %s", "%s%s", 0, 1, 2, 1, print_julia},
    {"Rational(%.*s, %s)", "%s%s", 0, 1, 2, 0, print_nodepy},
    {"%.*s / %s", "%s%s", 0, 2, 1, 0, print_diffrax},
    {"%.*s / %s", "%s%s", 1, 1, 0, 1, print_scipy}};
static const char *const names[] = {"SUNDIALS", "Julia", "NodePy", "diffrax", "SciPy"};

static int check_form(const Form *form, const Printed *p, const char *name)
{
    const Tableau *b = p->b;
    const char *lacks = NULL;
    size_t n = b->stages;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++) {
            int entry = strcmp(tableau_row(b, i)[j], "0") != 0;
            if (entry && (j > i || form->diagonal == 0) && form->diagonal < 2)
                lacks = form->diagonal ? "entries above the diagonal" : "implicit stages";
        }
    for (size_t i = 0; i < n && !form->nodes; i++)
        if (eval_point(p->t, p->t->stage[i].eval)->timed)
            lacks = "nodes that are not the sums of rows";
    if (n < (size_t)form->stages) lacks = "methods of one stage";
    if (lacks) return error_set(ERR_INPUT, "%s: %s has no place for %s", p->t->name, name, lacks);
    if (form->pair && !b->pair)
        return error_set(ERR_INPUT, "%s: %s needs an embedded method, a line error = ...",
                         p->t->name, name);
    return 0;
}

int source_print(const Table *written, int form, int order, int embedded, FILE *f)
{
    const Table *t = table_unfiltered(written);
    SCOPED(tableau_free) Tableau b = {.file = t->name};
    Printed p = {.b = &b, .t = t, .order = order, .embedded = embedded, .f = f};
    TRY(tableau_check(t));
    TRY(tableau_fill(&b, t));
    p.implicit = table_implicit(t);
    snprintf(p.name, sizeof p.name, "%s", t->name);
    for (char *c = p.name; *c; c++)
        if (!isalnum((unsigned char)*c)) *c = '_';
    TRY(check_form(&forms[form], &p, names[form]));
    forms[form].print(&p, &forms[form]);
    return 0;
}
