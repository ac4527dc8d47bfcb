/* maps.h: what the heads of a model look at in a few sentences, as numbers and as heat maps. */
#ifndef TROTTER_MAPS_H
#define TROTTER_MAPS_H

#include "studies/model/network.h"
#include "studies/tools/sheet.h"

/* A model as it was named. */
typedef struct {
    const char *name;
    const Network *network;
} MapModel;

typedef struct {
    size_t sentences, tokens; /* the first lines of the text, at most so many tokens of each */
    int by_head; /* a picture of each attention sublayer with a map a head; 0: of each model, of the mean over heads */
} MapChoice;

/* A row: a_(query, key) of a head, or with head 0 the mean over heads. Of a causal model there is no row with key > query. */
extern const Column map_columns[];

/* DIR/maps.csv, and pictures DIR/map-MODEL-SENTENCE[-LAYER-SUBLAYER], all numbers from 1 but the layer's; the models have one vocabulary.
 * *pictures: how many. A line is read as the model reads it: <eos>, or what an encoder begins with, first. */
int maps_save(const MapModel *model, size_t models, const Text *text, MapChoice c, const char *dir,
              size_t *pictures);

#endif
