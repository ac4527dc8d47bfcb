/* systems.h: particle systems by name (registry.c), and which tables can be stepped on them. */
#ifndef TROTTER_ODE_SYSTEMS_H
#define TROTTER_ODE_SYSTEMS_H

#include "ode/field/field.h"

/* An option of a system, which follows its name after a colon: NAME=NUMBER, or NAME alone for a flag. */
typedef struct {
    const char *name, *words;
    double initial, low, high; /* default and range, both ends included */
    int flag;                  /* 1: a flag, whose value is 1 where its name stands, else 0 */
} SystemOption;

/* Makes a system of a row of a const table; particles = dim = 0: its defaults. Options follow
 * colons: "transport:periodic:peclet=100". ERR_INPUT: unknown name or option, impossible size. */
int system_new(const char *name, size_t particles, size_t dim, uint64_t seed, System **out);
const char *system_name(size_t i); /* NULL past the end */
const char *system_title(size_t i);
const SystemOption *system_options(size_t i); /* ends with a NULL name; NULL: it has none */
const char *system_default(void); /* nonlinear, non-commuting, without a flattering invariant */
/* Checks that a table can be stepped on a system. ERR_INPUT, with a word on those that fit: a decoder's table without a
 * memory, one with `linear` or `separable` on another field, derivatives of fields that are not linear and may depend on time. */
int system_takes(const System *s, const Table *t);

#endif
