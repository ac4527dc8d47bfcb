/* parsed.c: see parsed.h. */
#include "kernels/parsed.h"

#include <pthread.h>

#include "kernels/error.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static json_malloc_t before; /* of the process, which another library or a test may have set */
static _Thread_local int refused;

static void *watched(size_t bytes)
{
    void *p = before(bytes);
    if (!p) refused = 1;
    return p;
}

int parsed_json(const char *text, size_t n, json_error_t *e, json_t **root)
{
    json_free_t drop;
    pthread_mutex_lock(&lock);
    json_get_alloc_funcs(&before, &drop);
    json_set_alloc_funcs(watched, drop);
    refused = 0;
    *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, e);
    json_set_alloc_funcs(before, drop);
    pthread_mutex_unlock(&lock);
    if (!refused) return *root ? 0 : ERR_INPUT;
    json_decref(*root);
    *root = NULL;
    return error_set(ERR_MEMORY, "out of memory: a JSON text");
}
