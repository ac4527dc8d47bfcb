/* trained.h: a layer of a trained model as a particle system: its sublayers are F and G, its tokens the
 * particles, depth is time. */
#ifndef TROTTER_TRAINED_H
#define TROTTER_TRAINED_H

#include "studies/model/network.h"
#include "studies/tools/select.h"

#define TRAINED_WORDS "network:DIR[:LAYER]"

/* The model of a directory, or of a .safetensors file, in double precision, without memory for training;
 * with room for `tokens` alone, as the trained length binds no weight, or (0) as it was trained. Caller:
 * network_free. */
int trained_load(const char *dir, size_t tokens, size_t threads, Network *n);

/* The model of a directory on the machine that `given` tells: device, precision, threads; all else its file tells. Caller:
 * network_free. */
int trained_on_machine(const char *dir, const Options *given, Network *n);

/* Whether a system's name asks for one. */
int trained_named(const char *name);

/* Rebuilds the model of "network:DIR" or "network:DIR:LAYER" (from 0, default 0) in double precision;
 * the initial state is r0 of the tokens 0 .. particles - 1 (0: 8, or all where there are fewer).
 * No such model or layer, too many particles: ERR_INPUT. Caller: system_free, then network_free; *n
 * must outlive *out. After errors both are empty. */
int trained_system(const char *name, size_t particles, Network *n, System **out);

/* ERR_INPUT if a scheme reads a parameter set that the layers of the model do not have. */
int trained_check(const Network *n, const Selection *s);

#endif
