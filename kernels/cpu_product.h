/* cpu_product.h: matrix products by a library: f32 by oneDNN where the build found it (6 to 13 %
 * faster than OpenBLAS on the shapes of a training step on Zen 4, and much more on Intel's processors with AMX, where OpenBLAS 0.3.21 is slow), else and in f64 by OpenBLAS. Part of cpu.c.
 */
#ifndef TROTTER_CPU_PRODUCT_H
#define TROTTER_CPU_PRODUCT_H

#include <cblas.h>
#ifdef HAVE_DNNL
#include <dnnl.h>
#endif

#include "kernels/cpu_math.h"

/* One call of the library, for one thread. oneDNN works in memory of its own; where it gets none,
 * OpenBLAS, which has its own from the start, does the product. */
static inline void gemm_one(int ta, int tb, size_t m, size_t n, size_t k, real alpha, const real *A,
                            size_t lda, const real *B, size_t ldb, real beta, real *C, size_t ldc)
{
#if defined HAVE_DNNL && !defined PRECISION_f64
    if (dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', (dnnl_dim_t)m, (dnnl_dim_t)n, (dnnl_dim_t)k,
                   alpha, A, (dnnl_dim_t)lda, B, (dnnl_dim_t)ldb, beta, C,
                   (dnnl_dim_t)ldc) == dnnl_success)
        return;
#endif
    GEMM(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, (int)m,
         (int)n, (int)k, alpha, A, (int)lda, B, (int)ldb, beta, C, (int)ldc);
}

/* C is cut into one panel of rows a thread, or of columns where rows are few; each panel is one call
 * of the library, which runs single-threaded inside a parallel region. */
static inline void cpu_gemm(int ta, int tb, size_t m, size_t n, size_t k, double alpha,
                            const void *A_, size_t lda, const void *B_, size_t ldb, double beta,
                            void *C_, size_t ldc)
{
    const real *A = A_, *B = B_;
    real *C = C_;
    int panels = m * n * k < 32768 ? 1 : omp_get_max_threads();
    size_t threads = (size_t)panels, wide = m < 32 * threads && m < n;
#pragma omp parallel for schedule(static, 1)
    for (int t = 0; t < panels; t++) {
        Range r = range_of(wide ? n : m, t, panels);
        size_t i = wide ? 0 : r.lo, j = wide ? r.lo : 0, size = r.hi - r.lo;
        if (m && n && size)
            gemm_one(ta, tb, wide ? m : size, wide ? size : n, k, (real)alpha,
                     A + (ta ? i : i * lda), lda, B + (tb ? j * ldb : j), ldb, (real)beta,
                     C + i * ldc + j, ldc);
    }
}

#endif
