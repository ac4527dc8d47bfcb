/* memory_forecast.h: whether a training fits into the memory it may take. */
#ifndef TROTTER_MEMORY_FORECAST_H
#define TROTTER_MEMORY_FORECAST_H

#include "studies/model/network.h"

/* The most memory the training of o would take as one of `ranks`, counted before it is had: what the process
 * holds now (with the corpus), the model's own count, its files being read, and what training adds
 * besides. On a device: the model's count alone. */
int memory_forecast(const Options *o, Stacks s, const Corpus *c, const Backend *b, int ranks,
                    size_t *bytes);

/* ERR_INPUT, naming the need and what makes it less, where that is above --memory-limit; ERR_MEMORY
 * where the system gives no address space for what a processor's memory has to hold (ulimit -v). */
int memory_forecast_check(const Options *o, const Backend *b, size_t need);

/* From here on the heap keeps what the products' buffers have taken, and no buffer below 32 MB comes from
 * elsewhere: glibc's own rule depends on which was freed first, and so did the peak, by 20 MB. */
void memory_forecast_begin(void);

#endif
