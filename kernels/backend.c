/* backend.c: the list of backends; it chooses one by name and by the processor's abilities. */
#include "kernels/backend.h"
#include "kernels/base/error.h"
#include "kernels/processor.h"
#include "kernels/threads.h"

#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE(precision, kernel) extern const Backend cpu_##precision##_##kernel;
PROCESSOR_KERNELS(DECLARE)

/* These are in cuda.cu, in a build with CUDA; else their addresses are NULL. */
extern const Backend cuda_f32 __attribute__((weak)), cuda_tf32 __attribute__((weak)),
    cuda_bf16 __attribute__((weak));
extern int cuda_ready(void) __attribute__((weak));
extern int cuda_halves_ready(void) __attribute__((weak));
extern void cuda_room(size_t *free, size_t *total) __attribute__((weak));
extern void cuda_choose(int n) __attribute__((weak));
extern int cuda_count(void) __attribute__((weak));

/* Return 0, or ERR_INPUT with words. */
static int runs_cuda(void)
{
    if (cuda_ready) return cuda_ready();
    return error_set(
        ERR_INPUT,
        "this build has no CUDA backend (nvcc was not found when it was built): install nvidia-cuda-toolkit, or "
        "NVIDIA's toolkit, and build again");
}

static int runs_cuda_bf16(void)
{
    return cuda_halves_ready ? cuda_halves_ready() : runs_cuda();
}

/* Backends; among those of one name the best kernel comes first. */
static const struct {
    const char *name, *kernel; /* NULL: there is no choice of kernels */
    const Backend *backend;
    int (*runs)(void); /* NULL: processor_runs */
} list[] = {
#define ROW(precision, kernel) \
    {"cpu-" #precision, PROCESSOR #kernel, &cpu_##precision##_##kernel, NULL},
    PROCESSOR_KERNELS(ROW) /* one each */
    {"cuda-f32", NULL, &cuda_f32, runs_cuda},
    {"cuda-tf32", NULL, &cuda_tf32, runs_cuda},
    {"cuda-bf16", NULL, &cuda_bf16, runs_cuda_bf16},
};
enum { LIST = sizeof list / sizeof *list };

/* The same backends with every member: what a table lacks is done in the plain way. */
static Backend whole[LIST];

static void complete_all(void)
{
    for (size_t i = 0; i < LIST; i++) {
        if (!list[i].backend) continue; /* a build without it */
        whole[i] = *list[i].backend;
        backend_complete(&whole[i]);
    }
}

/* Compares a kernel's name with "x86-64-v3", or its end "v3" or "-v3". */
static int kernel_is(const char *kernel, const char *asked)
{
    if (!kernel || !asked) return 1;
    const char *end = strrchr(kernel, '-');
    return strcmp(kernel, asked) == 0 || strcmp(end, asked) == 0 || strcmp(end + 1, asked) == 0;
}

/* Reports the last failure as one of `name`. */
static int not_here(const char *name)
{
    char words[512];
    snprintf(words, sizeof words, "%s", error_text());
    return error_set(ERR_INPUT, "%s: %s", name, words);
}

static int name_error(const char *name)
{
    char all[128] = "";
    for (size_t i = 0; backend_name(i); i++) {
        size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "", backend_name(i));
    }
    return error_set(ERR_INPUT, "%s: no such backend (there are %s)", name, all);
}

static int kernel_error(const char *name, const char *kernel)
{
    char all[256] = "";
    for (size_t i = 0; i < LIST; i++) {
        size_t n = strlen(all);
        if (strcmp(list[i].name, name) == 0 && list[i].kernel)
            snprintf(all + n, sizeof all - n, "%s%s", n ? ", " : "", list[i].kernel);
    }
    return error_set(ERR_INPUT, "%s: no kernel %s (there are %s)", name, kernel, all);
}

int backend_find(const char *name, const char *kernel, const Backend **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int named = 0, met = 0;
    pthread_once(&once, complete_all);
    if (!kernel) kernel = getenv("TROTTER_KERNEL");
    if (kernel && !*kernel) kernel = NULL;
    for (size_t i = 0; i < LIST; i++) {
        if (strcmp(list[i].name, name) != 0) continue;
        named = 1;
        if (!kernel_is(list[i].kernel, kernel)) continue;
        met = 1;
        if ((list[i].runs ? list[i].runs() : processor_runs(name, list[i].kernel)) != 0) continue;
        *out = &whole[i];
        return 0;
    }
    return !named ? name_error(name) : !met ? kernel_error(name, kernel) : not_here(name);
}

const char *backend_name(size_t i)
{
    const char *last = "";
    for (size_t k = 0; k < LIST; k++) {
        if (strcmp(list[k].name, last) != 0 && i-- == 0) return list[k].name;
        last = list[k].name;
    }
    return NULL;
}

void backend_device(int n)
{
    if (cuda_choose) cuda_choose(n);
}

int backend_devices(void)
{
    return cuda_count ? cuda_count() : 0;
}

void backend_room(size_t *free, size_t *total)
{
    *free = *total = 0;
    if (cuda_room) cuda_room(free, total);
}

int backend_threads(int n)
{
    if (n > 0) omp_set_num_threads(threads_held(n));
    return omp_get_max_threads();
}
