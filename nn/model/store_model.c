/* store_model.c: lists a model as tensors, for store_in.c and store_out.c. All numbers pass through host doubles,
 * which hold every element type exactly, a chunk at a time. */
#include <stdio.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "nn/model/store.h"

/* Buffers of a model that a file holds: its parameters, or those and Adam's two moments. */
enum { WEIGHTS = 1, STATE = 3, NAME = sizeof((Param *)0)->name + 32 };

typedef struct {
    size_t count;   /* tensors, of all buffers */
    Tensor *tensor; /* (count), windows of the model */
    char (*name)[NAME];
} Listing;

/* Returns the parameters, or moment i - 1. The accessor has no const form. */
static void *buffer(const Model *m, int i)
{
    return i ? model_moment((Model *)m, i - 1) : model_data((Model *)m);
}

static void free_listing(Listing *l)
{
    memory_free(l->tensor);
    memory_free(l->name);
}

static int list_tensors(const Model *m, int buffers, Listing *l)
{
    static const char *const prefix[STATE] = {"", "moment.0.", "moment.1."};
    const Param *p;
    const Backend *b = model_backend(m);
    size_t params = model_params(m, &p);
    *l = (Listing){.count = params * (size_t)buffers};
    l->tensor = memory_new(l->count, sizeof *l->tensor);
    l->name = memory_new(l->count, sizeof *l->name);
    if (!l->tensor || !l->name) return ERR_MEMORY;
    for (size_t k = 0; k < l->count; k++) {
        size_t i = k / params, j = k % params;
        snprintf(l->name[k], NAME, "%s%s", prefix[i], p[j].name);
        l->tensor[k] =
            (Tensor){l->name[k], p[j].rows, p[j].cols,
                     NULL,       b,         backend_at(b, buffer(m, (int)i), p[j].offset)};
    }
    return 0;
}

static int check_buffers(const Model *m, int buffers)
{
    for (int i = 0; i < buffers; i++) NEED(buffer(m, i) != NULL);
    return 0;
}

static int save(const Model *m, const char *file, int buffers, int element, const StoreText *meta,
                size_t count)
{
    SCOPED(free_listing) Listing l = {0};
    TRY(check_buffers(m, buffers));
    TRY(list_tensors(m, buffers, &l));
    return tensors_write(file, l.tensor, l.count, element, meta, count);
}

static int load(Model *m, const char *file, int buffers, int element, int wanted)
{
    SCOPED(free_listing) Listing l = {0};
    TRY(check_buffers(m, buffers));
    TRY(list_tensors(m, buffers, &l));
    return tensors_read(file, l.tensor, l.count, element, wanted);
}

int store_save(const Model *m, const char *file, const StoreText *meta, size_t count)
{
    return save(m, file, WEIGHTS, STORE_F32, meta, count);
}

int store_load(Model *m, const char *file)
{
    return load(m, file, WEIGHTS, STORE_ANY, STORE_FINITE);
}

static int begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

int store_load_encoder(Model *m, const char *file)
{
    SCOPED(free_listing) Listing l = {0};
    size_t n = 0;
    TRY(list_tensors(m, WEIGHTS, &l));
    for (size_t i = 0; i < l.count; i++) {
        Tensor t = l.tensor[i];
        if (begins(t.name, "classes.")) continue;
        t.may_miss = begins(t.name, "pool.") || begins(t.name, "segment.");
        l.tensor[n++] = t;
    }
    return tensors_read(file, l.tensor, n, STORE_ANY, STORE_FINITE | STORE_MORE);
}

static int add_file(const Listing *l, const char *file, const double *x, double *sum, size_t size)
{
    TRY(tensors_read(file, l->tensor, l->count, STORE_ANY, STORE_FINITE));
    for (size_t i = 0; i < size; i++) sum[i] += x[i];
    return 0;
}

/* Makes l's tensors windows of x, where they were windows of m's data. */
static void list_on_host(const Model *m, double *x, Listing *l)
{
    const Param *p;
    model_params(m, &p);
    for (size_t k = 0; k < l->count; k++) {
        l->tensor[k].backend = NULL;
        l->tensor[k].data = x + p[k].offset;
    }
}

int store_average(Model *m, const char *const *file, size_t count)
{
    SCOPED(free_listing) Listing l = {0};
    size_t n = model_size(m);
    SCOPED(memory_drop) double *x = memory_new(n, sizeof *x), *sum = memory_new(n, sizeof *sum);
    if (!x || !sum) return ERR_MEMORY;
    TRY(list_tensors(m, WEIGHTS, &l));
    list_on_host(m, x, &l);
    for (size_t i = 0; i < count; i++) TRY(add_file(&l, file[i], x, sum, n));
    for (size_t i = 0; i < n; i++) sum[i] /= (double)count;
    model_backend(m)->put(model_data(m), sum, n);
    return 0;
}

int store_save_state(const Model *m, const char *file, const StoreText *meta, size_t count)
{
    return save(m, file, STATE, (int)model_backend(m)->size, meta, count);
}

int store_load_state(Model *m, const char *file)
{
    return load(m, file, STATE, (int)model_backend(m)->size, STORE_SEALED | STORE_FINITE);
}
