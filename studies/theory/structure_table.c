/* structure_table.c: tabulates symmetry, symplecticity, effective order and error constants of schemes. */
#include "studies/theory/theory_study.h"

#include "studies/theory/expansion.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *scheme;
    Structure told;
    const char *constant[2];
    int symmetric, separable, symplectic, symplectic_separable; /* -1: unknown */
    int zero_stable, weakly_stable, dense_order;
    const char *at_least;       /* NULL: none */
    int stage_order, algebraic; /* -1: unknown */
    const char *assumptions;    /* NULL: none */
} StructureRow;

const Column structure_columns[] = {
    COLUMN(StructureRow, scheme),
    COLUMN(StructureRow, symmetric, .form = SHEET_FLAG),
    FIELD(StructureRow, "symmetric_order", told.symmetric_order),
    FIELD(StructureRow, "symmetric_separable", separable, .form = SHEET_FLAG),
    COLUMN(StructureRow, symplectic, .form = SHEET_FLAG),
    COLUMN(StructureRow, symplectic_separable, .form = SHEET_FLAG),
    FIELD(StructureRow, "effective_order", told.effective_order),
    FIELD(StructureRow, "error_constant", constant[0], .form = SHEET_FORMULA),
    FIELD(StructureRow, "normalised_constant", constant[1], .form = SHEET_FORMULA),
    COLUMN(StructureRow, zero_stable, .form = SHEET_FLAG),
    COLUMN(StructureRow, weakly_stable, .form = SHEET_FLAG),
    COLUMN(StructureRow, dense_order,
           .words = "order of the values within a step that its slopes give"),
    COLUMN(
        StructureRow, stage_order, .sparse = 1,
        .words =
            "of stages that are all H: every stage is as exact, the lesser of p and $eta$ in B(p), C($eta$)"),
    COLUMN(
        StructureRow, assumptions, .sparse = 1,
        .words =
            "Butcher's simplifying assumptions B(p), C($eta$), D($zeta$) with the largest numbers that hold"),
    FIELD(StructureRow, "algebraically_stable", algebraic, .form = SHEET_FLAG, .sparse = 1,
          .words = "weights are not negative, and M is positive semidefinite, so that B-stable"),
    COLUMN(StructureRow, at_least, .sparse = 1,
           .words = "orders that are lower bounds: nothing up to the order looked at disagrees"),
    {0}};

const char structure_words[] =
    "A scheme is symmetric where S(-h) after S(h) is the identity (else it is so up to\n"
    "h^symmetric_order); symmetric_separable is the same where F'F = G'G = 0 (F kicks momenta, G drifts\n"
    "positions). symplectic is for Hamiltonian F and G, symplectic_separable for separable ones.\n"
    "effective_order is that of the best conjugate of a splitting by exact flows. error_constant is C\n"
    "in numerical - exact = C h^(p+1) y^(p+1); normalised_constant is C divided by the sum of slope\n"
    "weights. weakly_stable is zero-stable with several roots on the unit circle. dense_order is the\n"
    "order of the values within a step that its slopes give. Of stages that are all H: stage_order is the lesser\n"
    "of p and eta in Butcher's simplifying assumptions, B(p), C(eta), D(zeta), and an algebraically stable\n"
    "method is B-stable. A cell is empty where the theory here gives no answer.\n";

static int told(int answer)
{
    return answer == TOLD_NOT ? -1 : answer == TOLD_YES;
}

/* Writes the names of the orders that may be larger than what is told, "" where there is none; returns out, or NULL then. */
static const char *lower_bounds(const Structure *s, const Dense *d, char out[96])
{
    const char *const name[] = {s->symmetric_at_least ? "symmetric_order" : NULL,
                                s->effective_at_least ? "effective_order" : NULL,
                                d->bounded ? "dense_order" : NULL};
    size_t n = 0;
    for (int i = 0; i < 3; i++)
        if (name[i]) n += (size_t)snprintf(out + n, 96 - n, "%s%s", n ? " and " : "", name[i]);
    return n ? out : NULL;
}

static void fill_row(Sheet *r, const Table *t, const Structure *s, int zero_stable, int on_circle,
                     const Dense *dense, const Assumptions *a)
{
    char text[2][1024], names[96], assumptions[64];
    snprintf(assumptions, sizeof assumptions, "B(%d) C(%d) D(%d)", a->B, a->C, a->D);
    StructureRow row = {.scheme = t->name,
                        .told = *s,
                        .symmetric = told(s->symmetric),
                        .separable = told(s->symmetric_separable),
                        .symplectic = told(s->symplectic),
                        .symplectic_separable = told(s->symplectic_separable),
                        .zero_stable = zero_stable,
                        .weakly_stable = zero_stable && on_circle > 1,
                        .dense_order = dense->order ? dense->order : -1,
                        .at_least = lower_bounds(s, dense, names),
                        .stage_order = a->B < a->C ? a->B : a->C,
                        .algebraic = told(a->algebraic),
                        .assumptions = a->B < 0 ? NULL : assumptions};
    for (int i = 0; i < 2 && s->has_constant; i++) {
        expansion_number(t, s->error_constant[i], text[i], sizeof text[i]);
        row.constant[i] = text[i];
    }
    sheet_row(r, &row);
}

static int add_row(Sheet *r, const Table *scheme, int trees, int brackets)
{
    Structure s;
    Assumptions a;
    SCOPED(dense_free) Dense dense = {0};
    int zero_stable, on_circle;
    if (table_written(scheme))
        notice_warn(
            "%s: what @ writes is not looked at here: a field that does not depend on time is "
            "supposed",
            scheme->name);
    if (scheme->carries)
        progress_note(
            "%s carries '%s' from step to step: zero-stability alone is told. The other columns are of "
            "methods whose step is a map of y, or of linear multistep ones written with y[-1] and k1[-1]",
            scheme->name, scheme->carry[0].name);
    TABLE(t);
    if (!(t = table_freeze(scheme))) return ERR_MEMORY;
    TRY(stability_roots(t, &zero_stable, &on_circle));
    TRY(dense_find(scheme, &dense));
    TRY(structure_find(t, table_exact_flows(t) ? brackets : trees, &s));
    int code = assumptions_find(t, &a);
    if (code == 0) fill_row(r, t, &s, zero_stable, on_circle, &dense, &a);
    structure_free(&s);
    return code;
}

int structure_report(const Selection *s, int trees, int brackets, Sheet **out)
{
    SCOPED(sheet_drop) Sheet *r = NULL;
    TRY(sheet_new(structure_columns, &r));
    for (size_t i = 0; i < s->count; i++) TRY(add_row(r, s->scheme[i], trees, brackets));
    *out = r;
    r = NULL;
    return 0;
}
