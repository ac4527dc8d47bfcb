/* fibre.h: many stacks on one OS thread (x86-64, System V). A fibre runs until it gives the
 * processor to another one by name; a switch is a dozen instructions and no system call. */
#ifndef TROTTER_CUDA_HOST_FIBRE_H
#define TROTTER_CUDA_HOST_FIBRE_H

#include <stddef.h>

typedef struct {
    void *sp;      /* while it is switched out */
    char *low;     /* lowest byte of its stack; 64 KiB without access lie below */
    size_t size;   /* of the stack, bytes */
    size_t colour; /* its frames begin this far below the top (cache sets differ) */
    void *fake;    /* AddressSanitizer's and ThreadSanitizer's state */
    void *tsan;
} Fibre;

enum { FIBRE_STACK = 256 * 1024 }; /* bytes; the kernel provides only touched pages */

/* Makes a fibre with its own stack; `number` only spreads stacks over the cache's sets. Returns 0,
 * or -1 when memory is short. fibre_free gives the stack back. */
int fibre_new(Fibre *f, size_t number);
void fibre_free(Fibre *f);

/* Makes the caller's own stack a fibre, to switch back to. */
void fibre_host(Fibre *f);

/* The next switch to f calls entry() on its empty stack. entry must not return: it ends in
 * fibre_leave. The earlier state of f is lost. */
void fibre_start(Fibre *f, void (*entry)(void));

/* Switches from the running fibre to another; returns when something switches back. */
void fibre_switch(Fibre *from, Fibre *to);

/* Switches in the same way and never returns. */
void fibre_leave(Fibre *from, Fibre *to) __attribute__((noreturn));

/* Must be called first in an entry function. */
void fibre_entered(void);

/* Returns the beginning of a stack that may be used from scratch (aligned as at a function's
 * entry). */
void *fibre_top(const Fibre *f);

/* Returns 1 where the address is in the gap below f's stack: an overflow. */
int fibre_overflowed(const Fibre *f, const void *address);

#endif
