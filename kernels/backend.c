/* backend.c: the list of backends; it chooses one by name and by the processor's abilities. */
#include "kernels/backend.h"
#include "kernels/base/error.h"
#include "kernels/threads.h"

#include <cpuid.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern const Backend cpu_f32_v2, cpu_f32_v3, cpu_f32_v4, cpu_f64_v2, cpu_f64_v3, cpu_f64_v4,
    cpu_bf16_v4, cpu_bf16_amx;

/* These are in cuda.cu, in a build with CUDA; else their addresses are NULL. */
extern const Backend cuda_f32 __attribute__((weak)), cuda_tf32 __attribute__((weak)),
    cuda_bf16 __attribute__((weak));
extern int cuda_ready(void) __attribute__((weak));
extern int cuda_halves_ready(void) __attribute__((weak));
extern void cuda_room(size_t *free, size_t *total) __attribute__((weak));
extern void cuda_choose(int n) __attribute__((weak));
extern int cuda_count(void) __attribute__((weak));

static int needs(const char *what)
{
    return error_set(ERR_INPUT, "this processor does not run %s", what);
}

/* Returns 1 where the processor has all that the level of x86-64 names. clang before 17 knows no levels, but what they consist
 * of: of v3 it leaves f16c, lzcnt and movbe unasked, which every processor with AVX2 and BMI2 has. */
static int has_level(int level)
{
    __builtin_cpu_init();
#ifdef __clang__
#define HAS __builtin_cpu_supports /* takes only a literal */
    if (level >= 4 && !(HAS("avx512f") && HAS("avx512bw") && HAS("avx512cd") && HAS("avx512dq") &&
                        HAS("avx512vl")))
        return 0;
    if (level >= 3 && !(HAS("avx2") && HAS("fma") && HAS("bmi") && HAS("bmi2"))) return 0;
    return HAS("sse4.2") && HAS("popcnt") && HAS("ssse3");
#undef HAS
#else
    return level == 4   ? __builtin_cpu_supports("x86-64-v4")
           : level == 3 ? __builtin_cpu_supports("x86-64-v3")
                        : __builtin_cpu_supports("x86-64-v2");
#endif
}

/* Return 0, or ERR_INPUT with words. */
static int runs_v2(void)
{
    return has_level(2) ? 0 : needs("x86-64-v2");
}
static int runs_v3(void)
{
    return has_level(3) ? 0 : needs("x86-64-v3");
}
static int runs_v4(void)
{
    return has_level(4) ? 0 : needs("x86-64-v4");
}

static int runs_bf16(void)
{
    if (has_level(4) && __builtin_cpu_supports("avx512bf16")) return 0;
    return needs("x86-64-v4 with bf16 instructions (avx512_bf16)");
}
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

/* Checks for tiles and their bf16 products (CPUID leaf 7, EDX bits 24 and 22). Linux lets a process use
 * the tiles' registers once it has asked (documentation: x86/xstate.rst, since 5.16). */
static int runs_amx(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    unsigned a, b, c, d = 0;
    __get_cpuid_count(7, 0, &a, &b, &c, &d);
    TRY(runs_bf16());
    if (d >> 24 & 1 && d >> 22 & 1 &&
        syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0)
        return 0;
    return needs("amx_tile and amx_bf16");
}

/* Backends; among those of one name the best kernel comes first. */
static const struct {
    const char *name, *kernel; /* NULL: there is no choice of kernels */
    const Backend *backend;
    int (*runs)(void);
} list[] = {
    {"cpu-f32", "x86-64-v4", &cpu_f32_v4, runs_v4},
    {"cpu-f32", "x86-64-v3", &cpu_f32_v3, runs_v3},
    {"cpu-f32", "x86-64-v2", &cpu_f32_v2, runs_v2},
    {"cpu-f64", "x86-64-v4", &cpu_f64_v4, runs_v4},
    {"cpu-f64", "x86-64-v3", &cpu_f64_v3, runs_v3},
    {"cpu-f64", "x86-64-v2", &cpu_f64_v2, runs_v2},
    {"cpu-bf16", "x86-64-amx", &cpu_bf16_amx, runs_amx},
    {"cpu-bf16", "x86-64-v4", &cpu_bf16_v4, runs_bf16},
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
    return error_set(ERR_INPUT,
                     "%s: no kernel %s (there are x86-64-v2, -v3, -v4; of bf16 -v4 and -amx)", name,
                     kernel);
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
        if (list[i].runs() != 0) continue;
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
