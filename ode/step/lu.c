/* lu.c: small linear systems by GSL's factors, without its error handler. */
#include "ode/step/linear.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdint.h>

#include "kernels/base/error.h"
#include "kernels/base/quiet.h"

typedef struct {
    gsl_matrix_view m;
    gsl_permutation p;
} Square;

static int factor(void *square)
{
    Square *s = square;
    int sign;
    return gsl_linalg_LU_decomp(&s->m.matrix, &s->p, &sign);
}

void lu_factor(size_t n, double *A, size_t *pivot)
{
    Square s = {gsl_matrix_view_array(A, n, n), {n, pivot}};
    if (quiet_call(factor, &s) == ERR_MEMORY) A[0] = NAN;
}

void lu_substitute(size_t n, const double *A, const size_t *pivot, double *x)
{
    quiet_begin();
    gsl_matrix_const_view m = gsl_matrix_const_view_array(A, n, n);
    gsl_vector_view v = gsl_vector_view_array(x, n);
    const gsl_permutation p = {n, (size_t *)(uintptr_t)pivot};
    if (gsl_linalg_LU_svx(&m.matrix, &p, &v.vector) != GSL_SUCCESS) x[0] = NAN;
    quiet_end();
}

double lu_difference(double y, double scale)
{
    return 0x1p-17 * fmax(fabs(y), scale);
}
