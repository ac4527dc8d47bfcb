/* cmplx.h: <complex.h> with CMPLX of C11, which glibc 2.36 gives to GCC alone. x + I * y in its place would turn an infinite y
 * into a NaN in x. */
#ifndef TROTTER_CMPLX_H
#define TROTTER_CMPLX_H

#include <complex.h>

#ifndef CMPLX
#define CMPLX(x, y) __builtin_complex((double)(x), (double)(y))
#endif

#endif
