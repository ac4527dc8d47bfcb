/* objective.c: the objectives of a search, each a row. */
#include "studies/design/objective.h"

#include <math.h>

#include "kernels/error.h"
#include "kernels/memory.h"

/* sum of (defect/sigma)^2 over the trees of order p + 1, those of F alone or all: Theory.error_norm2 where the order is p,
 * and 0 where it is more. */
static int norm2(const Forest *f, int order, const Table *t, int one_colour, double *figure)
{
    double *term = memory_new(f->count, sizeof *term), sum = 0;
    if (!term) return ERR_MEMORY;
    int code = theory_terms(f, t, order + 1, term);
    for (size_t i = 0; code == 0 && i < f->count; i++)
        if (!one_colour || tree_is_F(f, i)) sum += term[i] * term[i];
    memory_free(term);
    *figure = sum;
    return code;
}

static int norm(const Forest *f, int order, const Table *t, double *figure)
{
    return norm2(f, order, t, 0, figure);
}

static int norm_one_colour(const Forest *f, int order, const Table *t, double *figure)
{
    return norm2(f, order, t, 1, figure);
}

static int real_limit(const Forest *f, int order, const Table *t, double *figure)
{
    (void)f, (void)order;
    double imag;
    TRY(stability_limits(t, figure, &imag));
    *figure = -*figure;
    return 0;
}

static int imag_limit(const Forest *f, int order, const Table *t, double *figure)
{
    (void)f, (void)order;
    double real;
    return stability_limits(t, &real, figure);
}

const Objective objectives[] = {
    {"norm", "squared norm of the leading error, two colours", 1, norm, 0},
    {"norm-one-colour", "squared norm of the leading error, one colour", 1, norm_one_colour, 1},
    {"real", "length of the stability interval, negative real axis", -1, real_limit, 0},
    {"imag", "length of the stability interval, imaginary axis", -1, imag_limit, 0},
    {0}};
