/* backend.c: the list of backends, and the choice of one by name and by what the processor runs. */
#include "kernels/backend.h"
#include "kernels/error.h"

#include <cpuid.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern const Backend cpu_f32_v2, cpu_f32_v3, cpu_f32_v4, cpu_f64_v2, cpu_f64_v3, cpu_f64_v4,
    cpu_bf16_v4, cpu_bf16_amx;

/* The built-in takes nothing but a literal. */
static int runs_v2(void)
{
    return __builtin_cpu_supports("x86-64-v2");
}
static int runs_v3(void)
{
    return __builtin_cpu_supports("x86-64-v3");
}
static int runs_v4(void)
{
    return __builtin_cpu_supports("x86-64-v4");
}
static int runs_bf16(void)
{
    return runs_v4() && __builtin_cpu_supports("avx512bf16");
}

/* Tiles and their bf16 products (CPUID leaf 7, EDX bits 24 and 22); Linux lets a process use the tiles'
 * registers once it has asked (documentation: x86/xstate.rst, since 5.16). */
static int runs_amx(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    unsigned a, b, c, d = 0;
    __get_cpuid_count(7, 0, &a, &b, &c, &d);
    return runs_bf16() && d >> 24 & 1 && d >> 22 & 1 &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

/* Of one name, the best kernel first. */
static const struct {
    const Backend *backend;
    int (*runs)(void);
    const char *needs; /* of the processor */
} list[] = {
    {&cpu_f32_v4, runs_v4, "x86-64-v4"},
    {&cpu_f32_v3, runs_v3, "x86-64-v3"},
    {&cpu_f32_v2, runs_v2, "x86-64-v2"},
    {&cpu_f64_v4, runs_v4, "x86-64-v4"},
    {&cpu_f64_v3, runs_v3, "x86-64-v3"},
    {&cpu_f64_v2, runs_v2, "x86-64-v2"},
    {&cpu_bf16_amx, runs_amx, "amx_tile and amx_bf16"},
    {&cpu_bf16_v4, runs_bf16, "x86-64-v4 with bf16 instructions (avx512_bf16)"},
};
enum { LIST = sizeof list / sizeof *list };

/* "x86-64-v3", or its end "v3" or "-v3". */
static int kernel_is(const char *kernel, const char *asked)
{
    const char *end = strrchr(kernel, '-');
    return strcmp(kernel, asked) == 0 || strcmp(end, asked) == 0 || strcmp(end + 1, asked) == 0;
}

static int name_known(const char *name)
{
    for (size_t i = 0; i < LIST; i++)
        if (strcmp(list[i].backend->name, name) == 0) return 1;
    return 0;
}

static int name_error(const char *name)
{
    if (strncmp(name, "cuda-", 5) == 0)
        return error_set(ERR_INPUT, "%s: this build has no CUDA backend", name);
    return error_set(ERR_INPUT, "%s: no such backend (there are cpu-f32, cpu-f64, cpu-bf16)", name);
}

/* needs: what the last of the kernels asked for takes; NULL: there is none of that name. */
static int kernel_error(const char *name, const char *kernel, const char *needs)
{
    if (needs) return error_set(ERR_INPUT, "%s: this processor does not run %s", name, needs);
    return error_set(ERR_INPUT,
                     "%s: no kernel %s (there are x86-64-v2, -v3, -v4; of bf16 -v4 and -amx)", name,
                     kernel);
}

int backend_find(const char *name, const char *kernel, const Backend **out)
{
    if (!kernel) kernel = getenv("TROTTER_KERNEL");
    if (kernel && !*kernel) kernel = NULL;
    if (!name_known(name)) return name_error(name);
    const char *needs = NULL;
    for (size_t i = 0; i < LIST; i++) {
        const Backend *b = list[i].backend;
        if (strcmp(b->name, name) != 0 || (kernel && !kernel_is(b->kernel, kernel))) continue;
        needs = list[i].needs;
        if (!list[i].runs()) continue;
        *out = b;
        return 0;
    }
    return kernel_error(name, kernel, needs);
}

const char *backend_name(size_t i)
{
    const char *last = "";
    for (size_t k = 0; k < LIST; k++) {
        const char *name = list[k].backend->name;
        if (strcmp(name, last) != 0 && i-- == 0) return name;
        last = name;
    }
    return NULL;
}

int backend_threads(int n)
{
    enum { MOST = 256 }; /* a mistyped number must not exhaust the system */
    if (n > 0) omp_set_num_threads(n < MOST ? n : MOST);
    return omp_get_max_threads();
}
