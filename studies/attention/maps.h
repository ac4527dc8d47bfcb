/* maps.h: attention weights of a model's heads in a few sentences, as numbers and as heat maps. */
#ifndef TROTTER_MAPS_H
#define TROTTER_MAPS_H

#include "studies/model/network.h"
#include "studies/tools/sheet.h"

/* A model and the user's name for it. */
typedef struct {
    const char *name;
    const Network *network;
} MapModel;

typedef struct {
    size_t sentences, tokens; /* the first lines of the text, and the most tokens of each */
    int by_head; /* 1: a picture of each attention sublayer with a map a head; 0: one of each
                  * model, of the mean over heads */
} MapChoice;

/* Columns of a row: a_(query, key) of a head, or with head 0 the mean over heads. A causal model has
 * no row with key > query. */
extern const Column map_columns[];

/* Writes DIR/maps.csv and pictures DIR/map-MODEL-SENTENCE[-LAYER-SUBLAYER], numbered from 1, layers from 0. The
 * models have one vocabulary. *pictures: their number. A line is read as the model reads it, with <eos> or an
 * encoder's first token in front. */
int maps_save(const MapModel *model, size_t models, const Text *text, MapChoice c, const char *dir,
              size_t *pictures);

#endif
