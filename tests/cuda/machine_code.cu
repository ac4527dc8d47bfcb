/* machine_code.cu: two kernels that must fail the checks of test_machine_code.c. They never run: the Makefile compiles
 * them to machine code, and the test reads that. */
#define UNROLL _Pragma("unroll")

enum { NUMBERS = 96 };

/* Needs more live numbers than 32 registers hold. */
extern "C" __global__ void __launch_bounds__(1024, 2) spoiled_by_spills(volatile float *x)
{
    float y[NUMBERS];
    UNROLL for (int i = 0; i < NUMBERS; i++) y[i] = x[i];
    UNROLL for (int i = NUMBERS - 1; i >= 0; i--) x[i] = y[i] * y[(i + 1) % NUMBERS];
}

/* Has an array with an index that is only known when it runs. */
extern "C" __global__ void spoiled_by_a_frame(float *x, const int *at)
{
    float y[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) y[at[i]] = x[i];
    for (int i = 0; i < NUMBERS; i++) x[i] = y[at[i + NUMBERS]];
}
