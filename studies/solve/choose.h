/* choose.h: the particle system that a command runs on. */
#ifndef TROTTER_CHOOSE_H
#define TROTTER_CHOOSE_H

#include "studies/model/trained.h"

/* The choice of a particle system: a name (of system_new or trained_system) or, if not NULL, a file; name NULL: the
 * default one. particles, dim: 0 for the system's own. */
typedef struct {
    const char *name, *file;
    size_t particles, dim;
    uint64_t seed;
    const char *set;        /* "NAME=VALUE,NAME=VALUE", parameters of the system; NULL: none */
    const Options *options; /* that have --initial; NULL: the system's own initial state */
} SystemChoice;

/* Rows of options beside --system and --system-file, and the choice by them all. */
/* clang-format off */
#define CHOOSE_SIZES                                                                                        \
    {"particles", OPTION_SIZE, NULL, "N", "number of particles (default: the system's own number)",         \
     1, 65536},                                                                                             \
    {"dim", OPTION_SIZE, NULL, "D", "coordinates of a particle (default: the system's own number)",         \
     1, 4096},                                                                                              \
    {"set", OPTION_TEXT, NULL, "NAME=X,...",                                                                \
     "values of the system's parameters: options of a built-in one, lines `param` of a file"},              \
    {"initial", OPTION_REALS, NULL, "X,...",                                                                \
     "the initial state: a number for each coordinate of all particles, one particle after the other, or "  \
     "of one, and then the same for all",                                                                   \
     -1e300, 1e300},                                                                                        \
    {"seed", OPTION_SIZE, "1", "N", "seed of the system's numbers and initial state", 0, 1e18}
/* clang-format on */
SystemChoice choose_options(const Options *o);

/* Opens the system. *n: the model of a trained system, else empty. Caller: system_free, then network_free. */
int choose_system(const SystemChoice *c, Network *n, System **out);
/* Reads the list of numbers of an option (OPTION_REALS): one for each coordinate of the state of n particles, or for each
 * of the d coordinates of a particle, and then the same for all particles, or with `one` a single number for all.
 * *out (n, d), from memory_new. ERR_INPUT for a list of another length. */
int choose_numbers(const Options *o, const char *name, size_t n, size_t d, int one, double **out);
/* Prints "system NAME: TITLE" and, in the next line, how many particles of how many coordinates it has; no line end. */
void choose_tell(const System *s);
/* Warns once where schemes tell an operator apart whose field is 0 on this system: they split nothing. */
int choose_zeros(const System *s, const Selection *chosen);
/* Returns `code`. Puts the file's name before the words of an error on a system from a file, but those on
 * an option. */
int choose_blame(const SystemChoice *c, int code);

#endif
