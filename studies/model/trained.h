/* trained.h: a layer of a trained model as a particle system. Its sublayers are F and G, its tokens the particles,
 * depth is time. */
#ifndef TROTTER_TRAINED_H
#define TROTTER_TRAINED_H

#include "studies/model/network.h"
#include "studies/base/select.h"

#define TRAINED_WORDS "network:DIR[:LAYER]"

/* Loads the model of a directory, or of a .safetensors file, in double precision, without memory for training. It has
 * room for `tokens` alone, as the trained length binds no weight, or (0) for as many as in training. Caller:
 * network_free. */
int trained_load(const char *dir, size_t tokens, size_t threads, Network *n);

/* Loads the model of a directory on the machine that `given` sets: device, precision, threads. Its file gives all else.
 * Caller: network_free. */
int trained_on_machine(const char *dir, const Options *given, Network *n);

/* Returns 1 where a system's name is that of a trained model. */
int trained_named(const char *name);

/* Rebuilds the model of "network:DIR" or "network:DIR:LAYER" (from 0, default 0) in double precision. The initial state
 * is r0 of the tokens 0 .. particles - 1 (0: 8, or all where there are fewer). ERR_INPUT where there is no such model
 * or layer, or too many particles. Caller: system_free, then network_free; *n must outlive *out. After errors both are
 * empty. */
int trained_system(const char *name, size_t particles, Network *n, System **out);

/* Returns ERR_INPUT if a scheme reads a parameter set that the layers of the model do not have. */
int trained_check(const Network *n, const Selection *s);

#endif
