/* shares.h: work and waiting of the ranks of a training, side by side. */
#ifndef TROTTER_SHARES_H
#define TROTTER_SHARES_H

#include "studies/tools/sheet.h"
#include "nn/nn.h"

/* One rank's part since this process began. */
typedef struct {
    double steps, seconds; /* training steps; seconds in them alone */
    double waited;         /* seconds of these spent in sums with the other ranks */
    double bytes;          /* bytes of gradients given to sums */
} Share;

/* Collective. Fills *out (ranks) on every rank. Caller: memory_free. */
int shares_gather(Ranks *r, const TrainResult *result, Share **out);

/* Writes DIR/ranks.csv with a row a rank, and prints a line. */
extern const Column share_columns[];
int shares_write(const Ranks *r, const Share *share, const char *dir);

#endif
