/* system_kind.h: the row that a family of particle systems gives to the table in registry.c. Private to ode/systems.
 *
 * A row is a System with its default sizes and functions filled in, the sizes it can have, and an init that
 * writes param and initial. The functions may use the tail of param as scratch: a System serves one thread
 * at a time (threads inside a field are its own). A row with options finds their values at the head of
 * param, in the order of its list.
 */
#ifndef TROTTER_SYSTEM_SYSTEM_KIND_H
#define TROTTER_SYSTEM_SYSTEM_KIND_H

#include "ode/field/system.h"
#include "ode/systems/systems.h"

typedef struct {
    /* n, d: defaults; t_end, h0: 1 and 1/4 unless they are given; initial, param: NULL */
    System base;
    size_t n_min, d_only, size_max; /* sizes: n >= n_min, d = d_only (0: any), n d <= size_max */
    size_t (*params)(size_t n, size_t d);   /* numbers in param, scratch included; NULL: none */
    void (*init)(System *s, uint64_t seed); /* sizes, initial, param, options are in place */
    const SystemOption *option;             /* ends with a NULL name; NULL: none */
} SystemKind;

/* Families, in the order of reading. */
extern const SystemKind system_attention;                     /* systems/attention.c */
extern const SystemKind system_linear, system_commuting;      /* systems/linear.c */
extern const SystemKind system_nilpotent3, system_nilpotent4; /* systems/linear.c */
extern const SystemKind system_fisher, system_forced;         /* systems/reaction.c */
extern const SystemKind system_kuramoto;                      /* systems/kuramoto.c */
extern const SystemKind system_vortex;                        /* systems/vortex.c */
extern const SystemKind system_kepler, system_henon;          /* systems/hamilton.c */
extern const SystemKind system_exchange;                      /* systems/exchange.c */
extern const SystemKind system_transport;                     /* systems/transport.c */

/* classics.c: test problems of the literature as texts. The i-th one's name and title, NULL past the end; a system of that
 * name with these options, ERR_INPUT. */
const char *classic_name(size_t i);
const char *classic_title(size_t i);
int classic_new(size_t i, const char *options, size_t particles, size_t dim, uint64_t seed,
                System **out);

#endif
