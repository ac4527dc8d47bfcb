/* library.h: declarations that the files behind trotter.h share. */
#ifndef TROTTER_LIBRARY_H
#define TROTTER_LIBRARY_H

#include <pthread.h>
#include <sys/types.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "studies/api/library/trotter.h"
#include "studies/model/network.h"

/* One thread at a time computes with a handle; a user's F, called by it, may call the library with the same one. In the child
 * of a fork() the lock is free, whoever held it in the parent. */
typedef struct {
    pthread_mutex_t mutex;
    pid_t process;
} Lock;
Lock *library_lock_new(void); /* NULL: no memory; caller: memory_free */
Lock *library_lock(Lock *l);
void library_unlock(Lock **l);
#define LOCKED(handle) \
    SCOPED(library_unlock) __attribute__((unused)) Lock *locked = library_lock((handle)->lock)

/* Contents of the exported handles. The link's version script exports nothing else. */
struct TrotterScheme {
    Table *table;  /* as written */
    Table *frozen; /* form that theory and steps read */
    Lock *lock;
    /* What runs ask of theory: the scheme's order and that of its estimate; -1: not found yet. */
    int *order, *estimate;
};

struct TrotterSystem {
    Lock *lock;
    System *system;
    Network network; /* network of network:DIR; it outlives the system */
};

/* Fails where one of these pointers is NULL; `call` is the function that received them. */
int library_given(const char *call, const void *const *pointer, size_t count);
#define GIVEN(...)                                                  \
    TRY(library_given(__func__, (const void *const[]){__VA_ARGS__}, \
                      sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *)))

/* Begins a call that may use OpenMP: a child of fork() then computes with one thread, as the others stay with the
 * parent, for which GNU's OpenMP would wait for ever. */
void library_parallel(void);

#endif
