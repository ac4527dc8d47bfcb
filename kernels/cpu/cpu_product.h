/* cpu_product.h: matrix products by a library. f32 uses oneDNN where the build found it (6 to 13 % faster than OpenBLAS
 * on the shapes of a training step on Zen 4, and much faster on Intel's processors with AMX, where OpenBLAS 0.3.21 is
 * slow). Otherwise, and in f64, it is OpenBLAS. Part of cpu.c.
 *
 * A library's sums of a row depend on the number of rows and on the row's place. In f64, the precision of proofs, this
 * file computes C = A B^T, every number as one sum in the order of k: a sequence has the same bits alone and in any
 * batch. */
#ifndef TROTTER_CPU_PRODUCT_H
#define TROTTER_CPU_PRODUCT_H

#include <cblas.h>
#ifdef HAVE_DNNL
#include <dnnl.h>
#endif

#include "kernels/cpu/cpu_tile.h"

/* oneDNN compiles its kernels where the first product asks for them, which takes as long as some 30,000 products below SMALL. OpenBLAS
 * does these, but for a row or two, as of generation, for which it is slow. */
enum { SMALL = 16384, FEW_ROWS = 4 };

/* Calls the library once, for one thread. oneDNN allocates working memory; where it gets none, OpenBLAS, which has its
 * memory from the start, does the product. */
static inline void gemm_one(int ta, int tb, size_t m, size_t n, size_t k, real alpha, const real *A,
                            size_t lda, const real *B, size_t ldb, real beta, real *C, size_t ldc)
{
#if defined HAVE_DNNL && !defined PRECISION_f64
    int small = m >= FEW_ROWS && m * n * k < SMALL;
    if (!small && dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', (dnnl_dim_t)m, (dnnl_dim_t)n,
                             (dnnl_dim_t)k, alpha, A, (dnnl_dim_t)lda, B, (dnnl_dim_t)ldb, beta, C,
                             (dnnl_dim_t)ldc) == dnnl_success)
        return;
#endif
    GEMM(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, (int)m,
         (int)n, (int)k, alpha, A, (int)lda, B, (int)ldb, beta, C, (int)ldc);
}

#ifdef PRECISION_f64
enum { DEPTH = 256 };

/* Computes rows of C (m, n) = alpha A B^T + beta C, B (n, k), two vectors of columns at a time. Those of B are turned,
 * DEPTH deep. */
static void gemm_rows(size_t m, size_t n, size_t k, real alpha, const real *A, size_t lda,
                      const real *B, size_t ldb, real beta, real *C, size_t ldc)
{
    real panel[DEPTH * 2 * LANE];
    for (size_t i = 0; beta != 1 && i < m; i++)
        for (size_t j = 0; j < n; j++) C[i * ldc + j] = beta == 0 ? 0 : beta * C[i * ldc + j];
    for (size_t j = 0, w; j < n; j += w) {
        w = n - j < 2 * LANE ? n - j : 2 * LANE;
        for (size_t p = 0, d; p < k; p += d) {
            d = k - p < DEPTH ? k - p : DEPTH;
            turn(d, w, B + j * ldb + p, ldb, panel, 2 * LANE);
            tile_product(m, w, d, alpha, (Window){A + p, lda, 1}, panel, 2 * LANE, 1, C + j, ldc);
        }
    }
}
#endif

/* Cuts C into one panel of rows a thread, or of columns where rows are few. Each panel is one call of the library,
 * which runs single-threaded inside a parallel region. */
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
        if (!m || !n || !size) continue;
#ifdef PRECISION_f64
        if (!ta && tb) {
            gemm_rows(wide ? m : size, wide ? size : n, k, alpha, A + i * lda, lda, B + j * ldb,
                      ldb, beta, C + i * ldc + j, ldc);
            continue;
        }
#endif
        gemm_one(ta, tb, wide ? m : size, wide ? size : n, k, (real)alpha, A + (ta ? i : i * lda),
                 lda, B + (tb ? j * ldb : j), ldb, (real)beta, C + i * ldc + j, ldc);
    }
}

#endif
