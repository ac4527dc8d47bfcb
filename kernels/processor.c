/* processor.c: which instruction sets this processor has (processor.h). */
#include "kernels/processor.h"

#include <string.h>

#include "kernels/base/error.h"

static int needs(const char *what)
{
    return error_set(ERR_INPUT, "this processor does not run %s", what);
}

#if defined __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Checks for tiles and their bf16 products (CPUID leaf 7, EDX bits 24 and 22). Linux lets a process use
 * the tiles' registers once it has asked (documentation: x86/xstate.rst, since 5.16). */
static int has_tiles(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    unsigned a, b, c, d = 0;
    __get_cpuid_count(7, 0, &a, &b, &c, &d);
    return d >> 24 & 1 && d >> 22 & 1 &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

int processor_runs(const char *backend, const char *kernel)
{
    const char *end = strrchr(kernel, '-') + 1; /* v3, or amx of bf16 */
    if (strcmp(backend, "cpu-bf16") != 0) return has_level(end[1] - '0') ? 0 : needs(kernel);
    if (!has_level(4) || !__builtin_cpu_supports("avx512bf16"))
        return needs("x86-64-v4 with bf16 instructions (avx512_bf16)");
    return strcmp(end, "amx") == 0 && !has_tiles() ? needs("amx_tile and amx_bf16") : 0;
}

#elif defined __aarch64__

#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

/* Every processor of this architecture has vectors of 128 bits (NEON); instructions for bf16 came with Armv8.6. Scalable
 * vectors (SVE) have the length that the processor and Linux give them (Documentation/arm64/sve.rst), and kernels that are
 * compiled for 256 bits need just that. */
int processor_runs(const char *backend, const char *kernel)
{
    if (strcmp(backend, "cpu-bf16") == 0)
        return getauxval(AT_HWCAP2) & HWCAP2_BF16 ? 0 : needs("bf16 instructions (FEAT_BF16)");
    if (strcmp(kernel, PROCESSOR "sve256") != 0) return 0;
    int length = getauxval(AT_HWCAP) & HWCAP_SVE ? prctl(PR_SVE_GET_VL) : 0;
    return length > 0 && (length & PR_SVE_VL_LEN_MASK) == 32 ? 0 : needs("SVE of 256 bits");
}

#endif
