/* cuda_timed.cuh: the time of each kernel, product and copy, by events between them in the stream, outside of recordings.
 * Part of cuda.cu.
 *
 * A time is that from the end of what came before to its own end. It includes what an event costs, which the first
 * interval, with nothing in it, has alone. Source: CUDA Runtime API, cudaEventElapsedTime (resolution 0.5 us).
 */
#ifndef TROTTER_CUDA_TIMED_CUH
#define TROTTER_CUDA_TIMED_CUH

#include "kernels/cuda/cuda_memory.cuh"

typedef struct {
    const char *where;
    cudaEvent_t end;
} Lap;

static struct {
    Lap *lap; /* lap[0] ends where timing begins */
    size_t count;
    int code; /* not 0: memory was short */
} laps;

static void laps_free(void)
{
    for (size_t i = 0; i < laps.count; i++) (void)cudaEventDestroy(laps.lap[i].end);
    laps.lap = (Lap *)memory_free(laps.lap);
    laps.count = 0;
    cuda.timing = laps.code = 0;
}

static void cuda_lap(const char *where)
{
    if (!cuda.timing || laps.code || cuda.failed != cudaSuccess) return;
    if ((laps.code = memory_more(&laps.lap, laps.count, sizeof *laps.lap)) != 0) return;
    Lap *l = &laps.lap[laps.count];
    cuda_check(cudaEventCreate(&l->end), where);
    if (cuda.failed != cudaSuccess) return;
    laps.count++;
    l->where = where;
    cuda_check(cudaEventRecord(l->end, cuda.stream), where);
}

static int cuda_time(void)
{
    laps_free();
    cuda.timing = 1;
    cuda_lap(__func__);
    cuda_lap(__func__); /* nothing lies between these two */
    return 0;
}

static int cuda_timed(Launch **out, size_t *count)
{
    *out = NULL;
    *count = 0;
    cuda.timing = 0;
    int code = cuda_wait();
    if (code == 0) code = laps.code;
    size_t n = laps.count > 1 ? laps.count - 1 : 0;
    if (code == 0 && !(*out = (Launch *)memory_new(n, sizeof **out))) code = ERR_MEMORY;
    for (size_t i = 0; code == 0 && i < n; i++) {
        float ms = 0;
        cuda_check(cudaEventElapsedTime(&ms, laps.lap[i].end, laps.lap[i + 1].end), __func__);
        (*out)[i].where = laps.lap[i + 1].where;
        (*out)[i].seconds = 1e-3 * (double)ms;
    }
    if (code == 0) *count = n;
    laps_free();
    return code ? code : cuda_tell();
}

#endif
