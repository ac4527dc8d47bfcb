/* memory_forecast.h: checks whether a training fits into the memory it may take. */
#ifndef TROTTER_MEMORY_FORECAST_H
#define TROTTER_MEMORY_FORECAST_H

#include "studies/model/network.h"

/* Computes the most memory that the training of o would take as one of `ranks`, before it is allocated: what
 * the process holds now (with the corpus), the model's own count, the reading of its files, and what
 * training adds besides. On a device: the model's count alone. */
int memory_forecast(const Options *o, Stacks s, const Corpus *c, const Backend *b, int ranks,
                    size_t *bytes);

/* Returns ERR_INPUT, naming the need and what makes it less, where the need is above --memory-limit;
 * ERR_MEMORY where the system gives no address space for what a processor's memory has to hold
 * (ulimit -v). */
int memory_forecast_check(const Options *o, const Backend *b, size_t need);

/* Makes the heap keep, from here on, what the products' buffers have taken, and serve every buffer below 32
 * MB itself. glibc's own rule depends on which buffer was freed first, so the peak varied by 20 MB. */
void memory_forecast_begin(void);

#endif
