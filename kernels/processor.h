/* processor.h: the instruction sets that cpu/cpu.c is compiled for, of each architecture. A row here has its flags in the Makefile (CPU, ISA_).
 * Private to kernels/, and to its tests. To take Trotter to another architecture, write its rows, its checks in processor.c, and
 * PRODUCT in cpu/cpu_drop.h, where the default is right and slow. */
#ifndef TROTTER_PROCESSOR_H
#define TROTTER_PROCESSOR_H

/* PROCESSOR and a kernel are the name of an instruction set. PROCESSOR_KERNELS has a row X(precision, kernel) for each table of cpu.c, of a
 * precision the best first; PROCESSOR_SETS names all kernels. */
#if defined __x86_64__
#define PROCESSOR "x86-64-"
#define PROCESSOR_KERNELS(X) \
    X(f32, v4) X(f32, v3) X(f32, v2) X(f64, v4) X(f64, v3) X(f64, v2) X(bf16, amx) X(bf16, v4)
#define PROCESSOR_SETS PROCESSOR "v2", PROCESSOR "v3", PROCESSOR "v4", PROCESSOR "amx"
#elif defined __aarch64__
#define PROCESSOR "arm-"
#define PROCESSOR_KERNELS(X) X(f32, sve256) X(f32, v8) X(f64, sve256) X(f64, v8) X(bf16, v8)
#define PROCESSOR_SETS PROCESSOR "v8", PROCESSOR "sve256"
#else
#error "no kernels are written for this processor: processor.h says what it takes"
#endif

/* Returns 0 where this processor runs the backend "cpu-PRECISION" with the kernels of this name, else ERR_INPUT with words. */
int processor_runs(const char *backend, const char *kernel);

#endif
