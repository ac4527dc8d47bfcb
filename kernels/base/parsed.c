/* parsed.c: see parsed.h. */
#include "kernels/base/parsed.h"

#include <stdatomic.h>
#include <string.h>

#include "kernels/base/error.h"

static _Atomic(json_malloc_t)
    before; /* of the process, which another library or a test may have set */
static _Thread_local int refused;

static void *watched(size_t bytes)
{
    void *p = atomic_load(&before)(bytes);
    if (!p) refused = 1;
    return p;
}

static void watch(int on)
{
    json_malloc_t now;
    json_free_t drop;
    json_get_alloc_funcs(&now, &drop);
    if ((now == watched) == on) return;
    if (on) atomic_store(&before, now);
    json_set_alloc_funcs(on ? watched : atomic_load(&before), drop);
}

/* A library that is unloaded leaves what it found. */
__attribute__((destructor)) static void restore(void)
{
    watch(0);
}

static int parse(const char *text, size_t n, size_t flags, json_error_t *e, json_t **root)
{
    watch(1);
    refused = 0;
    *root = json_loadb(text, n, JSON_REJECT_DUPLICATES | flags, e);
    if (!refused) return *root ? 0 : ERR_INPUT;
    json_decref(*root);
    *root = NULL;
    return error_set(ERR_MEMORY, "out of memory: a JSON text");
}

int parsed_json(const char *text, size_t n, json_error_t *e, json_t **root)
{
    return parse(text, n, 0, e, root);
}

int parsed_next(const char *text, size_t n, json_error_t *e, json_t **root, size_t *used)
{
    TRY(parse(text, n, JSON_DISABLE_EOF_CHECK, e, root));
    *used = (size_t)e->position;
    return 0;
}

int parsed_value(const char *text, json_t **root)
{
    json_error_t e;
    return parse(text, strlen(text), JSON_DECODE_ANY, &e, root);
}
