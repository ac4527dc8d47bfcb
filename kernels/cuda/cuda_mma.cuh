/* cuda_mma.cuh: a warp's calls to the tensor cores, and fragments of tiles in shared memory. Part of cuda.cu.
 *
 *     bf16_pair(x, y)               both rounded to nearest even, x in the lower half of the word
 *     matrix_load(r, row, n)        four 8 x 8 matrices of bf16 from shared memory. Lane 8 m + i names row i of matrix m,
 *                                   which begins n numbers behind `row` and is aligned to 16 bytes; r[m] of a lane is
 *                                   numbers 2 t and 2 t + 1 of row g, g = lane / 4, t = lane % 4
 *     matrix_load_turned(r, row, n) r[m] is number g of rows 2 t and 2 t + 1
 *     matrix_multiply(d, a, b)      d (16, 8) += a (16, 16) b (16, 8), sums in f32. a[0], a[1]: rows g and g + 8 at depth 2 t,
 *                                   2 t + 1; a[2], a[3]: the same at depth + 8. b[0], b[1]: column g at depth 2 t, 2 t + 1,
 *                                   and + 8. d[2 r + c]: row g + 8 r, column 2 t + c
 *
 *     copy_16(to, from, in)         16 bytes of memory, or zeros where not `in`, into shared memory. They are there, for this
 *                                   thread, behind copies_wait(), and for the block behind a barrier after it
 *
 * Source of the layouts: NVIDIA, PTX ISA 9.0, 9.7.14.5 (mma.m16n8k16, ldmatrix), 9.7.9.21 (cvt), 9.7.9.25 (cp.async). With
 * TROTTER_CUDA_HOST the stand-in has the same names (tests/cuda/matrix.h). Inline PTX is only here.
 */
#ifndef TROTTER_CUDA_MMA_CUH
#define TROTTER_CUDA_MMA_CUH

#include "kernels/cuda/cuda_device.cuh"

#ifdef TROTTER_CUDA_HOST
#define UNROLL
#define ROLL
#define NOT_BEFORE(x)
#else
#define UNROLL _Pragma("unroll")
#define ROLL _Pragma("unroll 1")
/* Delays what comes from x: else a compiler keeps Philox's ten keys in registers throughout. */
#define NOT_BEFORE(x) asm volatile("" : "+l"(x))

/* Instructions of compute capability 8.0; no kernel that has them is launched on an older device (cuda_halves_ready). */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define SM_80(how, ...) __trap()
#else
#define SM_80(how, ...) asm how(__VA_ARGS__)
#endif

static __device__ inline uint32_t bf16_pair(float x, float y)
{
    uint32_t r = 0;
    SM_80(, "cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(y), "f"(x));
    return r;
}

/* An address in shared memory: 32 bits; adding a known number to it costs nothing. */
typedef uint32_t Shared;

static __device__ inline Shared shared_at(const uint16_t *x)
{
    return (Shared)__cvta_generic_to_shared(x);
}

static __device__ inline void copy_16(uint16_t *to, const uint16_t *from, int in)
{
    SM_80(volatile, "cp.async.cg.shared.global [%0], [%1], 16, %2;"
          :
          : "r"(shared_at(to)), "l"(__cvta_generic_to_global(from)), "r"(in ? 16 : 0)
          : "memory");
}

static __device__ inline void copies_wait(void)
{
    SM_80(volatile, "cp.async.wait_all;" ::: "memory");
}

static __device__ inline void matrix_load(uint32_t *r, Shared row, int n)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row + 2 * (uint32_t)n)
                 : "memory");
}

static __device__ inline void matrix_load_turned(uint32_t *r, Shared row, int n)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row + 2 * (uint32_t)n)
                 : "memory");
}

static __device__ inline void matrix_multiply(float *d, const uint32_t *a, const uint32_t *b)
{
    SM_80(volatile, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                    "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

/* ---- fragments of shared memory ------------------------------------------------------------------ */

static constexpr int STEP = 16; /* the side of a fragment */

static __device__ inline int lane_of(void)
{
    return (int)threadIdx.x % WARP;
}

static __device__ inline int warp_of(void)
{
    return (int)threadIdx.x / WARP;
}

/* Return row g and pair t of a lane, as above. */
static __device__ inline int lane_row(void)
{
    return lane_of() / 4;
}

static __device__ inline int lane_pair(void)
{
    return lane_of() % 4;
}

/* Return the row that a lane names of 16 x 16 numbers from x: matrices down the rows first, or along them first.
 *
 *     a of x (16 rows, 16 depth)       matrix_load         down
 *     a of x (16 depth, 16 rows)       matrix_load_turned  along
 *     b of x (16 columns, 16 depth)    matrix_load         along     two of 8 columns each, one behind the other
 *     b of x (16 depth, 16 columns)    matrix_load_turned  down
 */
static __device__ inline Shared down(const uint16_t *x, int pitch)
{
    return shared_at(x + lane_of() % 16 * pitch + lane_of() / 16 * 8);
}

static __device__ inline Shared along(const uint16_t *x, int pitch)
{
    return shared_at(x + (lane_of() % 8 + lane_of() / 16 * 8) * pitch + lane_of() / 8 % 2 * 8);
}

/* Adds a b to d (16, 16). */
static __device__ inline void multiply(float (*d)[4], const uint32_t *a, const uint32_t *b)
{
    matrix_multiply(d[0], a, b);
    matrix_multiply(d[1], a, b + 2);
}

/* Makes a from a product's d (16, 16), whose columns become the depth. */
static __device__ inline void a_of(uint32_t *a, const float (*d)[4])
{
    a[0] = bf16_pair(d[0][0], d[0][1]);
    a[1] = bf16_pair(d[0][2], d[0][3]);
    a[2] = bf16_pair(d[1][0], d[1][1]);
    a[3] = bf16_pair(d[1][2], d[1][3]);
}

#endif
