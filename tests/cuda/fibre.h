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

enum { FIBRE_STACK = 256 * 1024 }; /* bytes; the kernel backs what is touched */

/* A fibre with a stack of its own; `number` only spreads stacks over the cache's sets. 0, or -1 when
 * memory is short. fibre_free gives the stack back. */
int fibre_new(Fibre *f, size_t number);
void fibre_free(Fibre *f);

/* The caller's own stack as a fibre: to be switched back to. */
void fibre_host(Fibre *f);

/* The next switch to f calls entry() on its empty stack. entry must not return: it ends in
 * fibre_leave. What ran on f before is forgotten. */
void fibre_start(Fibre *f, void (*entry)(void));

/* From the running fibre to another; returns when something switches back. */
void fibre_switch(Fibre *from, Fibre *to);

/* The same, never to return. */
void fibre_leave(Fibre *from, Fibre *to) __attribute__((noreturn));

/* First thing in an entry function. */
void fibre_entered(void);

/* Where a stack begins that may be used from scratch (aligned as at a function's entry). */
void *fibre_top(const Fibre *f);

/* 1 where the address is in the gap below f's stack: an overflow. */
int fibre_overflowed(const Fibre *f, const void *address);

#endif
