/* cuda_linear.cuh: linear combinations with learned factors. Part of cuda.cu. Formulas: cpu_linear.h.
 *
 * Terms are passed by value with the launch, LIN_TERMS at a time, so that a recording keeps them.
 */
#ifndef TROTTER_CUDA_LINEAR_CUH
#define TROTTER_CUDA_LINEAR_CUH

#include "kernels/cuda/cuda_memory.cuh"
#include "kernels/cuda/cuda_rows.cuh"

enum { LIN_TERMS = LIN_FUSED };

/* Some of the terms of a combination, as an argument of kernels. */
typedef struct {
    int n, rows; /* rows: 1 where some factor has one number a row */
    struct {
        float c;
        int factors, by_row; /* by_row: bits of the factors with one number a row */
        const float *x;
        float *dx;
        const float *factor[LIN_FACTORS];
    } term[LIN_TERMS];
} Terms;

static Terms terms_of(size_t n, const LinTerm *t, CALLER)
{
    Terms out = {};
    out.n = (int)n;
    for (size_t i = 0; i < n; i++) {
        out.term[i].c = (float)t[i].c;
        out.term[i].factors = t[i].factors;
        out.term[i].x = (const float *)t[i].x;
        out.term[i].dx = (float *)t[i].dx;
        (void)numbers_in(where, t[i].x, t[i].dx);
        for (int f = 0; f < t[i].factors; f++) {
            (void)numbers_in(where, t[i].factor[f].p, t[i].factor[f].dp);
            out.term[i].factor[f] = (const float *)t[i].factor[f].p;
            out.term[i].by_row |= (t[i].factor[f].stride != 0) << f;
            out.rows |= t[i].factor[f].stride != 0;
        }
    }
    return out;
}

/* Returns c times the factors of a row, without factor `but` (-1: all). */
static __device__ inline float coefficient(const Terms *t, int i, size_t row, int but)
{
    float c = t->term[i].c;
    for (int f = 0; f < t->term[i].factors; f++)
        if (f != but) c *= t->term[i].factor[f][t->term[i].by_row >> f & 1 ? row : 0];
    return c;
}

/* Adds W numbers of the terms from offset f on, which lies in row `row`, to sum. */
template <int W>
static __device__ inline Pack<W> terms_at(const Terms *t, size_t row, size_t f, Pack<W> sum = {})
{
    for (int i = 0; i < t->n; i++) {
        Pack<W> x = load<W>(t->term[i].x + f);
        float c = coefficient(t, i, row, -1);
        for (int w = 0; w < W; w++) sum.x[w] += c * x.x[w];
    }
    return sum;
}

/* Returns 1 where all x of terms can be read 4 numbers at a time. */
static int terms_wide(const Terms *t)
{
    int w = 1;
    for (int i = 0; i < t->n; i++) w = w && wide(0, t->term[i].x);
    return w;
}

/* r = the sum of terms, with `more` added to r. */
struct Lin {
    size_t D;
    float *r;
    size_t more;
    Terms terms; /* last, as in DropBack */
    __device__ void begin() {}
    template <int W> __device__ void at(size_t row, size_t c) const
    {
        size_t f = row * D + c;
        Pack<W> sum = {};
        if (more) sum = load<W>(r + f);
        store(r + f, terms_at<W>(&terms, row, f, sum));
    }
};

/* Adds coefficient dr to every term's dx, in order, because two may be the same. */
struct LinBack {
    size_t D;
    const float *dr;
    Terms terms; /* last */
    __device__ void begin() {}
    template <int W> __device__ void at(size_t row, size_t c) const
    {
        size_t f = row * D + c;
        Pack<W> d = load<W>(dr + f);
        for (int i = 0; i < terms.n; i++) {
            if (!terms.term[i].dx) continue;
            float factor = coefficient(&terms, i, row, -1);
            Pack<W> x = load<W>(terms.term[i].dx + f);
            for (int w = 0; w < W; w++) x.x[w] += factor * d.x[w];
            store(terms.term[i].dx + f, x);
        }
    }
};

/* Applies f to (N, D): by rows where some factor has one number a row, else as to one list. r: f's other array. */
template <class F> static void each_term(size_t N, size_t D, const void *r, F f, CALLER)
{
    const Terms *t = &f.terms;
    int w = wide(t->rows ? D : 0, r);
    for (int i = 0; i < t->n; i++) w = w && wide(0, t->term[i].x, t->term[i].dx);
    if (t->rows)
        each_row(N, D, w, f, where);
    else if (N && D)
        each_flat(N * D, w, f, where);
}

static void cuda_lin(size_t N, size_t D, size_t n, const LinTerm *term, void *r)
{
    if (!NUMBERS(r)) return;
    for (size_t i = 0; i == 0 || i < n; i += LIN_TERMS)
        each_term(N, D, r, Lin{D, (float *)r, i > 0, terms_of(least(n - i, LIN_TERMS), term + i)});
}

/* ---- adjoints of factors ------------------------------------------------------------------------ */

/* Addresses of the factors' adjoints computed; scalars have a column of `partial` each. */
typedef struct {
    int scalars;
    float *dp[LIN_TERMS][LIN_FACTORS];
} Factors;

/* Computes adjoints of factors. A block has a row and computes <x, dr> of every term with such factors.
 * dp of numbers a row is added to; for scalars it writes partial (N, scalars). */
static __global__ void factor_kernel(size_t D, Terms t, Factors f, const float *dr, double *partial)
{
    CUDA_BEGIN();
    __shared__ float room[SLOTS];
    size_t row = blockIdx.x;
    int scalar = 0;
    for (int i = 0; i < t.n; i++) {
        int wanted = 0;
        for (int k = 0; k < t.term[i].factors; k++) wanted |= f.dp[i][k] != NULL;
        if (!wanted) continue;
        float dot = 0;
        for (size_t c = threadIdx.x; c < D; c += blockDim.x)
            dot += t.term[i].x[row * D + c] * dr[row * D + c];
        dot = block_sum(dot, room);
        for (int k = 0; k < t.term[i].factors && threadIdx.x == 0; k++) {
            if (!f.dp[i][k]) continue;
            float c = coefficient(&t, i, row, k);
            if (t.term[i].by_row >> k & 1)
                f.dp[i][k][row] += c * dot;
            else
                partial[row * (size_t)f.scalars + (size_t)scalar++] = (double)c * (double)dot;
        }
    }
}

/* Sums in one block over the rows in order, scalar by scalar, because two may have the same adjoint. */
static __global__ void scalar_kernel(size_t N, Terms t, Factors f, const double *partial)
{
    CUDA_BEGIN();
    __shared__ double room[SLOTS];
    int scalar = 0;
    for (int i = 0; i < t.n; i++)
        for (int k = 0; k < t.term[i].factors; k++) {
            if (!f.dp[i][k] || t.term[i].by_row >> k & 1) continue;
            double sum = 0;
            for (size_t r = threadIdx.x; r < N; r += blockDim.x)
                sum += partial[r * (size_t)f.scalars + (size_t)scalar];
            sum = block_sum(sum, room);
            if (threadIdx.x == 0) *f.dp[i][k] += (float)sum;
            scalar++;
        }
}

static void factors_back(size_t N, size_t D, size_t n, const LinTerm *term, const Terms *t,
                         const float *dr)
{
    Factors f = {};
    int wanted = 0;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < term[i].factors; k++) {
            f.dp[i][k] = (float *)term[i].factor[k].dp;
            wanted |= f.dp[i][k] != NULL;
            f.scalars += f.dp[i][k] && !term[i].factor[k].stride;
        }
    if (!wanted) return;
    double *partial = NULL;
    if (f.scalars) partial = (double *)cuda_scratch(N * (size_t)f.scalars * sizeof *partial);
    RUN(factor_kernel, N, lanes_for(D, 1), 0, D, *t, f, dr, partial);
    if (f.scalars) RUN(scalar_kernel, 1, BLOCK_THREADS, 0, N, *t, f, (const double *)partial);
}

static void cuda_lin_back(size_t N, size_t D, size_t n, const LinTerm *term, const void *dr_)
{
    if (!NUMBERS(dr_)) return;
    const float *dr = (const float *)dr_;
    for (size_t i = 0; i < n; i += LIN_TERMS) {
        size_t count = least(n - i, LIN_TERMS);
        Terms t = terms_of(count, term + i);
        int wanted = 0;
        for (int k = 0; k < t.n; k++) wanted |= t.term[k].dx != NULL;
        if (wanted) each_term(N, D, dr, LinBack{D, dr, t});
        factors_back(N, D, count, term + i, &t, dr);
    }
}

#endif
