/* quiet.h: calls of GSL that return a code where they fail. GSL's own handler ends the process, and all threads have one, so
 * that turning it off and on ends another thread's call, or loses the handler of one who uses Trotter as a library. So
 * ours stands before it, and leaves it what other threads do. */
#ifndef TROTTER_QUIET_H
#define TROTTER_QUIET_H

/* From quiet_begin to quiet_end errors of this thread in GSL only have a code. Pairs may stand within pairs. */
void quiet_begin(void);
void quiet_end(void);

/* Returns job(arg), called likewise. Where GSL gets no memory in it, as in gsl_linalg_LU_decomp, which would go on through
 * NULL, the job ends there and ERR_MEMORY is returned; what GSL held is lost. */
int quiet_call(int (*job)(void *arg), void *arg);
#endif
