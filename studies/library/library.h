/* library.h: declarations that the files behind trotter.h share. */
#ifndef TROTTER_LIBRARY_H
#define TROTTER_LIBRARY_H

#include "kernels/error.h"
#include "kernels/scoped.h"
#include "studies/library/trotter.h"
#include "studies/model/network.h"

/* Contents of the exported handles. The link's version script exports nothing else. */
struct TrotterScheme {
    Table *table;  /* as written */
    Table *frozen; /* form that theory and steps read */
};

struct TrotterSystem {
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
