/* objective.c: the table of objectives of a search. */
#include "studies/theory/design/design.h"

#include "kernels/base/error.h"

/* Sums (defect/sigma)^2 over the trees of order p + 1, those of F alone or all: Theory.error_norm2 where the order is
 * p, and 0 where it is higher. */
static int norm2(const Against *a, const Table *t, int one_colour, double *figure)
{
    const double *term = a->term;
    SCOPED(memory_drop) double *own = term ? NULL : memory_new(a->forest->count, sizeof *own);
    *figure = 0;
    if (!term && !own) return ERR_MEMORY;
    if (!term) TRY(theory_terms(a->forest, t, a->order + 1, own));
    if (!term) term = own;
    for (size_t i = 0; i < a->forest->count; i++)
        if (a->forest->tree[i].order == a->order + 1 && (!one_colour || tree_is_F(a->forest, i)))
            *figure += term[i] * term[i];
    return 0;
}

static int norm(const Against *a, const Table *t, double *figure)
{
    return norm2(a, t, 0, figure);
}

static int norm_one_colour(const Against *a, const Table *t, double *figure)
{
    return norm2(a, t, 1, figure);
}

static int real_limit(const Against *a, const Table *t, double *figure)
{
    (void)a;
    double imag;
    TRY(stability_limits(t, figure, &imag, NULL));
    *figure = -*figure;
    return 0;
}

static int imag_limit(const Against *a, const Table *t, double *figure)
{
    (void)a;
    double real;
    return stability_limits(t, &real, figure, NULL);
}

static int error(const Against *a, const Table *t, double *figure)
{
    return fields_error(a->fields, t, figure);
}

static int growth(const Against *a, const Table *t, double *figure)
{
    return fields_growth(a->fields, t, figure);
}

int bracket_norm2(const Table *t, int degree, double *sum)
{
    SCOPED(bracket_free) Brackets b = {0};
    TRY(bracket_error(t, degree, &b));
    *sum = 0;
    for (size_t i = 0; i < b.count; i++)
        if (b.bracket[i].degree == degree)
            *sum += table_double(b.bracket[i].c) * table_double(b.bracket[i].c);
    return 0;
}

static int brackets(const Against *a, const Table *t, double *figure)
{
    return bracket_norm2(t, a->order + 1, figure);
}

const Objective objectives[] = {
    {"norm", "leading error, squared norm", 1, norm, 0, 0, 0, 1},
    {"norm-one-colour", "leading error, squared norm, one colour", 1, norm_one_colour, 1, 0, 0, 1},
    {"real", "stability limit, negative real axis", -1, real_limit, 0, 0},
    {"imag", "stability limit, imaginary axis", -1, imag_limit, 0, 0},
    {"error", "truncation error at h = 1, median", 1, error, 0, 1},
    {"growth", "growth beyond the flow's at h = 1, median", 1, growth, 0, 1},
    {"brackets", "leading error in brackets, squared norm", 1, brackets, .flows = 1},
    {0}};
