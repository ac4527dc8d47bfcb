/* quiet.c: see quiet.h. */
#include "kernels/base/quiet.h"

#include <gsl/gsl_errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/base/error.h"

static _Thread_local int depth, rescued; /* rescued: the depth at which `rescue` is good */
static _Thread_local jmp_buf *rescue;
static _Atomic(gsl_error_handler_t *) other; /* the handler before ours; NULL: GSL's own */
static atomic_int changing; /* threads that may have put ours in place and not yet kept `other` */

/* GSL's own handler has no name; the end says what it does. */
static void handle(const char *reason, const char *file, int line, int code)
{
    if (rescue && depth == rescued && code == GSL_ENOMEM) longjmp(*rescue, 1);
    if (depth > 0) return;
    while (atomic_load(&changing) > 0) sched_yield();
    gsl_error_handler_t *before = atomic_load(&other);
    if (before) before(reason, file, line, code);
    if (before) return;
    gsl_stream_printf("ERROR", file, line, reason);
    fputs("Default GSL error handler invoked.\n", stderr);
    abort();
}

void quiet_begin(void)
{
    atomic_fetch_add(&changing, 1);
    gsl_error_handler_t *before = gsl_set_error_handler(handle);
    if (before != handle) atomic_store(&other, before);
    atomic_fetch_sub(&changing, 1);
    depth++;
}

void quiet_end(void)
{
    depth--;
}

int quiet_call(int (*job)(void *arg), void *arg)
{
    jmp_buf here, *const outer = rescue;
    const int before = rescued;
    quiet_begin();
    rescue = &here;
    rescued = depth;
    int code = setjmp(here) == 0 ? job(arg) : error_set(ERR_MEMORY, "out of memory in GSL");
    rescue = outer;
    rescued = before;
    quiet_end();
    return code;
}

/* A library that is unloaded leaves what it found. */
__attribute__((destructor)) static void restore(void)
{
    gsl_error_handler_t *now = gsl_set_error_handler(handle);
    gsl_set_error_handler(now == handle ? atomic_load(&other) : now);
}
