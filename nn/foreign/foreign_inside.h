/* foreign_inside.h: what the files of foreign.h share: a directory that is read, with its config.json and its files of weights. Private to
 * nn/foreign. */
#ifndef TROTTER_FOREIGN_INSIDE_H
#define TROTTER_FOREIGN_INSIDE_H

#include <jansson.h>

#include "nn/foreign/family.h"
#include "nn/foreign/foreign.h"
#include "nn/model/store.h"

enum {
    PATH = 1024,
    NAME = FAMILY_NAME,
    SETTINGS_MOST = 40,
    SHARDS_MOST = 1000,
    LAYERS_MOST = 10000
};

/* A file of weights: its header, by names. */
typedef struct {
    char file[PATH];
    json_t *header;
} Shard;

struct Foreign {
    char *dir, config_file[PATH];
    json_t *config, *stop; /* stop: eos_token_id of generation_config.json, or NULL */
    const Family *family;
    size_t layers, settings;
    double query; /* of Family.query; 0: none */
    /* Most tokens of a sequence that turns as by default, where longer ones do not; 0: all. */
    size_t plain;
    StoreText setting[SETTINGS_MOST];
    size_t shards;
    Shard *shard;
    size_t bytes; /* of all files of weights */
};

/* ---- foreign_config.c ---- */

/* Writes DIR/NAME. ERR_INPUT: too long. */
int foreign_path(const char *dir, const char *name, char out[PATH]);
/* Reads a file whose whole text is an object. ERR_INPUT, with file and line. */
int foreign_json(const char *file, json_t **out);
/* Reads config.json: the family, its settings and layers. ERR_INPUT, naming the key. */
int foreign_config(Foreign *f);
/* Returns whether the model has biases of a kind (family.h). */
int foreign_has_bias(const Foreign *f, int kind);

#endif
