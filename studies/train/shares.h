/* shares.h: what the ranks of a training did, side by side. */
#ifndef TROTTER_SHARES_H
#define TROTTER_SHARES_H

#include "studies/tools/sheet.h"
#include "nn/nn.h"

/* A rank's part since this process began. */
typedef struct {
    double steps, seconds; /* training alone */
    double waited;         /* of these seconds, those in sums with the other ranks */
    double bytes;          /* of gradients given to sums */
} Share;

/* Collective: *out (ranks), of every rank on all of them; caller: memory_free. */
int shares_gather(Ranks *r, const TrainResult *result, Share **out);

/* DIR/ranks.csv, a row a rank, and a line of words. */
extern const Column share_columns[];
int shares_write(const Ranks *r, const Share *share, const char *dir);

#endif
