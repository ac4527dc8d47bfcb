/* cuda.cu: the backends of an NVIDIA device: cuda-f32, cuda-tf32, cuda-bf16, which differ in their matrix product and
 * in the form of its operands; cuda-bf16 differs in its attention too (cuda_matrix.cuh). It is one translation unit,
 * like cpu.c, which says what each kernel computes.
 *
 * There is one device (backend_device chooses it) and one order of calls, but for those aside (cuda_branch.cuh). Every
 * sum has a fixed order and atomics only tell which block is the last, so the same input gives the same bits on the same
 * device. No kernel allocates, except for scratch memory that grows in a first step.
 *
 * In reading order: cuda_device.cuh (stream, launches, sums, dropout), cuda_rows.cuh (elements, columns),
 * cuda_branch.cuh (a second stream), cuda_memory.cuh (memory, recordings, failures), cuda_timed.cuh (times of launches),
 * cuda_factor.cuh (bf16), cuda_product.cuh (cuBLAS), cuda_epilogue.cuh (cuBLASLt), then as for cpu.c, cuda_ranks.cuh
 * (NCCL). With TROTTER_CUDA_HOST it compiles for a processor, where a stand-in for the runtime
 * runs it (tests/cuda).
 */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/cuda_device.cuh"
#include "kernels/cuda/cuda_memory.cuh"
#include "kernels/cuda/cuda_timed.cuh"
#include "kernels/cuda/cuda_factor.cuh"
#include "kernels/cuda/cuda_product.cuh"
#include "kernels/cuda/cuda_linear.cuh"
#include "kernels/cuda/cuda_drop.cuh"
#include "kernels/cuda/cuda_epilogue.cuh"
#include "kernels/cuda/cuda_norm.cuh"
#include "kernels/cuda/cuda_gate.cuh"
#include "kernels/cuda/cuda_attention.cuh"
#include "kernels/cuda/cuda_matrix.cuh"
#include "kernels/cuda/cuda_matrix_back.cuh"
#include "kernels/cuda/cuda_loss.cuh"
#include "kernels/cuda/cuda_embed.cuh"
#include "kernels/cuda/cuda_decode.cuh"
#include "kernels/cuda/cuda_adam.cuh"
#include "kernels/cuda/cuda_ranks.cuh"

/* ---- can it run here? --------------------------------------------------------------------------- */

static char arch[16] = "cuda"; /* architecture of the device: sm_90 */

/* Checks the driver: 1000 major + 10 minor; it serves runtimes of its major version and older. */
static int driver_serves(void)
{
    int driver = 0, runtime = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
    (void)cudaGetLastError();
    (void)cudaRuntimeGetVersion(&runtime);
    if (driver == 0)
        return error_set(
            ERR_INPUT,
            "no NVIDIA driver found: install nvidia-driver (Debian, from non-free) or what "
            "`ubuntu-drivers install` chooses");
    if (driver / 1000 >= runtime / 1000) return 0;
    return error_set(
        ERR_INPUT,
        "the driver (%d.%d) is older than the CUDA runtime (%d.%d): update the driver or "
        "build with an older toolkit",
        driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
}

static int unusable(cudaError_t code)
{
    return error_set(ERR_INPUT, "the NVIDIA device cannot be used (%s: %s)", cudaGetErrorName(code),
                     cudaGetErrorString(code));
}

static int device_serves(void)
{
    enum { OLDEST = 75 };
    int count = 0, major = 0, minor = 0, processors = 0, cache = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0)) {
        (void)cudaGetLastError();
        return error_set(ERR_INPUT, "no NVIDIA device found");
    }
    if (code == cudaSuccess) cuda.device = cuda.chosen % (cuda.devices = count);
    int d = cuda.device;
    if (code == cudaSuccess) code = cudaSetDevice(d);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, d);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, d);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, d);
    if (code == cudaSuccess) code = cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, d);
    (void)cudaGetLastError();
    if (code != cudaSuccess) return unusable(code);
    snprintf(arch, sizeof arch, "sm_%d%d", major, minor);
    cuda.processors = (size_t)processors;
    cuda.capability = 10 * major + minor;
    cuda.cache = (size_t)cache;
    if (cuda.capability >= OLDEST) return 0;
    return error_set(ERR_INPUT, "the device (%s) is older than sm_%d", arch, OLDEST);
}

static int stream_ready(void)
{
    if (cuda.stream) return 0;
    cudaError_t code = branches_ready();
    (void)cudaGetLastError();
    if (code == cudaSuccess) return 0;
    cuda.stream = NULL;
    return unusable(code);
}

/* Finds whether kernels may be launched early: the code that the device runs must be of an architecture that can wait
 * for the kernel before, and the driver must keep such edges in graphs. TROTTER_CUDA_LATE in the environment launches none
 * early: a device has the same bits with and without (tests/bridge/test_device.c). */
static void early_ready(void)
{
    cuda.early = 0;
    if (getenv("TROTTER_CUDA_LATE")) return;
#if CUDART_VERSION >= 12030
    enum { DRIVER = 12030, WAITS = 90 };
    int driver = 0;
    cudaFuncAttributes a = {};
    cudaError_t code = cudaDriverGetVersion(&driver);
    if (code == cudaSuccess) code = cudaFuncGetAttributes(&a, (const void *)pack_kernel);
    (void)cudaGetLastError();
    cuda.early = code == cudaSuccess && driver >= DRIVER && a.ptxVersion >= WAITS;
#endif
}

/* Returns 0, or ERR_INPUT with a line that says what is missing. It makes once what the backends share. */
extern "C" int cuda_ready(void)
{
    TRY(driver_serves());
    TRY(device_serves());
    early_ready();
    cuda.tells = getenv("TROTTER_CUDA_TELL") != NULL;
    TRY(stream_ready());
    TRY(ring_ready());
    TRY(blas_ready());
    lt_ready();
    return 0;
}

/* The same for bf16. Before 8.0 cuda-tf32 multiplies in f32 (cuda_product.cuh). */
extern "C" int cuda_halves_ready(void)
{
    TRY(cuda_ready());
    if (cuda.capability >= FIRST_TENSOR) return 0;
    return error_set(ERR_INPUT, "the device (%s) has no bf16: take --precision tf32 or f32", arch);
}

extern "C" void cuda_choose(int n)
{
    cuda.chosen = n;
}

extern "C" int cuda_count(void)
{
    int count = 0;
    if (driver_serves() != 0 || cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
    (void)cudaGetLastError();
    return count;
}

/* Gives the bytes of device memory that are free, and all; 0 where they are not known. */
extern "C" void cuda_room(size_t *free, size_t *total)
{
    device_here();
    if (cudaMemGetInfo(free, total) == cudaSuccess) return;
    (void)cudaGetLastError();
    *free = *total = 0;
}

static size_t cuda_logit_rows(size_t V, size_t D, size_t bytes)
{
    return backend_rows_in(cuda.cache, V, D, bytes);
}

/* ---- the tables --------------------------------------------------------------------------------- */

/* eps: two factors, each off by half. tf32's may be cut, not rounded: cuBLAS does not say. */
#define TABLE(table, name_, eps_, gemm_, bf16, type, attention_, weights_, factors_, half_)      \
    extern "C" const Backend table;                                                              \
    const Backend table = {                                                                      \
        .name = name_,                                                                           \
        .kernel = arch,                                                                          \
        .size = sizeof(float),                                                                   \
        .eps = eps_,                                                                             \
        .logit_rows = cuda_logit_rows,                                                           \
        .device = 1,                                                                             \
        .branches = 1,                                                                           \
        .row_sizes = 2,                                                                          \
        .wait = cuda_wait,                                                                       \
        .record = cuda_record,                                                                   \
        .recorded = cuda_recorded,                                                               \
        .replay = cuda_replay,                                                                   \
        .recording_free = cuda_recording_free,                                                   \
        .time = cuda_time,                                                                       \
        .timed = cuda_timed,                                                                     \
        .join = cuda_join,                                                                       \
        .alloc = cuda_alloc,                                                                     \
        .release = cuda_release,                                                                 \
        .put = cuda_put,                                                                         \
        .get = cuda_get,                                                                         \
        .weights = weights_,                                                                     \
        .twin_size = half_,                                                                      \
        .factors = factors_,                                                                     \
        .factor_size = half_,                                                                    \
        .send = cuda_send,                                                                       \
        .pack = cuda_pack,                                                                       \
        .aside = cuda_aside,                                                                     \
        .meet = cuda_meet,                                                                       \
        .receive = cuda_receive,                                                                 \
        .activate = cuda_activate<bf16, type>,                                                   \
        .activate_back = cuda_activate_back<bf16, type>,                                         \
        .signs = cuda_signs,                                                                     \
        .bias_back = NULL, /* plain_ways.c */                                                    \
        .weigh = cuda_weigh<bf16, type>,                                                         \
        .attends_factors = bf16 ? cuda_attends_factors : NULL,                                   \
        BACKEND_KERNELS(cuda_, gemm_, (cuda_linear<bf16, type>), attention_, attention_##_back), \
    }

TABLE(cuda_f32, "cuda-f32", 0x1p-24, cuda_gemm, 0, CUBLAS_COMPUTE_32F, cuda_attention, NULL, NULL,
      0);
TABLE(cuda_tf32, "cuda-tf32", 0x1p-9, cuda_gemm_tf32, 0, CUBLAS_COMPUTE_32F_FAST_TF32,
      cuda_attention, NULL, NULL, 0);
TABLE(cuda_bf16, "cuda-bf16", 0x1p-8, cuda_gemm_bf16, 1, CUBLAS_COMPUTE_32F, cuda_attention_matrix,
      cuda_weights, cuda_factors, sizeof(uint16_t));
