/* memory_forecast.c: computes the memory of a training before it begins (network.h). */
#include "studies/model/network.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "kernels/error.h"
#include "kernels/threads.h"

enum { HEAP = 32 << 20 };

/* Returns the bytes of this process in memory. Source: proc(5), /proc/PID/statm. */
static size_t held(void)
{
    size_t all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%zu %zu", &all, &resident) != 2) resident = 0;
    fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

void memory_forecast_begin(void)
{
    mallopt(M_MMAP_THRESHOLD, HEAP);
    mallopt(M_TRIM_THRESHOLD, 8 * HEAP);
}

/* Returns the bytes of the model's files, which are read whole: the best one at the end, a state at the
 * beginning, the epochs that are averaged one by one, with two buffers of doubles. */
static size_t files(const Options *o, const Backend *b, size_t numbers)
{
    size_t model = numbers * sizeof(float), state = 3 * numbers * b->size;
    if (options_size(o, "average") > 1) model += 2 * numbers * sizeof(double);
    return options_flag(o, "resume") && state > model ? state : model;
}

/* Returns what the first steps add besides: pages of program and libraries that had not been touched, and
 * buffers of the products, which in f32 are oneDNN's and mostly for the logits' matrix. No library reports
 * these. They were measured, with the margin that test_memory_limit.c allows. */
static size_t besides(const Options *o, const Backend *b, size_t V)
{
    size_t threads = (size_t)backend_threads(0), rows = V < 10000 ? V : 10000;
    size_t packed = rows * options_size(o, "width") * b->size;
    size_t one = b->size == sizeof(double) ? 3500000 : 7500000 + packed;
    return one + (threads - 1) * 1500000;
}

/* Returns the bytes of batches of every open text, and of the logits that show which pairs are exact. */
static size_t reading(const Options *o, const Corpus *c)
{
    TrainConfig t = network_training(o);
    Asking list[SPLITS];
    const Asking *ask = network_asking(o, list);
    size_t bytes = c->source[SPLIT_TRAIN].tokens ? model_exact_bytes(c->vocab.size) : 0;
    for (int s = 0; s < SPLITS; s++)
        if (c->text[s].tokens)
            bytes += batches_bytes(&c->text[s], &c->source[s], &c->vocab, ask ? &ask[s] : NULL,
                                   t.context, t.batch_tokens, t.sequence);
    return bytes;
}

int memory_forecast(const Options *o, Stacks s, const Corpus *c, const Backend *b, int ranks,
                    size_t *bytes)
{
    size_t numbers;
    TRY(network_trained(o, s, c->vocab.size, b, ranks, bytes, &numbers, NULL));
    if (b->record) return 0;
    *bytes += held() + reading(o, c) + besides(o, b, c->vocab.size) + files(o, b, numbers);
    return 0;
}

int memory_forecast_check(const Options *o, const Backend *b, size_t need)
{
    size_t limit = options_bytes(o, "memory-limit");
    if (limit == 0 || need <= limit) return b->record ? 0 : threads_room(backend_threads(0), need);
    return error_set(ERR_INPUT,
                     "--memory-limit %s: this training needs %.1f MB; less with %s--batch-tokens "
                     "below %zu (--accumulate keeps the size of a step), or a smaller model",
                     options_text(o, "memory-limit"), 1e-6 * (double)need,
                     options_flag(o, "recompute") ? "" : "--recompute, ",
                     options_size(o, "batch-tokens"));
}
