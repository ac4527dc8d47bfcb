/* begin.c: gives a model the parameters that a trained one has in common with it. */
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "nn/model/model.h"

/* Tells whether a name is this one, or of an embedding beside that of the input, as start.1.embed.weight. */
static int is_named(const Param *p, const char *name)
{
    const char *start = strstr(p->name, "start."), *dot = start ? strchr(start + 6, '.') : NULL;
    return strcmp(p->name, name) == 0 || (dot && strcmp(dot + 1, name) == 0);
}

static int of_words(const Param *p)
{
    return is_named(p, "embed.weight") || strcmp(p->name, "output.weight") == 0 ||
           strcmp(p->name, "output.bias") == 0;
}

/* Adaptive ends keep words in several matrices by their number, so the words must be the same there. */
static int check_tails(const Model *m, const Model *from, const size_t *word)
{
    const ModelConfig *a = model_config(m), *b = model_config(from);
    if (a->tails == 0 && b->tails == 0) return 0;
    int same = a->tails == b->tails && a->vocab == b->vocab &&
               memcmp(a->cut, b->cut, a->tails * sizeof *a->cut) == 0;
    for (size_t i = 0; same && i < a->vocab; i++) same = !word || word[i] == i;
    return same ? 0
                : error_set(ERR_INPUT, "adaptive embeddings begin from a model with the same "
                                       "vocabulary and the same --adaptive alone");
}

/* Learned positions may be fewer than there. */
static int check_shape(const Param *p, const Param *q)
{
    int fewer = p->rows < q->rows && is_named(p, "position.weight");
    if (p->cols == q->cols && (p->rows == q->rows || of_words(p) || fewer)) return 0;
    return error_set(ERR_INPUT, "tensor '%s' has %zu x %zu numbers there and %zu x %zu here",
                     p->name, q->rows, q->cols ? q->cols : 1, p->rows, p->cols ? p->cols : 1);
}

/* Copies `count` numbers of q from the place `there` on to p's place `here`; x has room for them. */
static void take(Model *m, const Param *p, size_t here, Model *from, const Param *q, size_t there,
                 size_t count, double *x)
{
    const Backend *b = model_backend(m), *of = model_backend(from);
    of->get(x, backend_at(of, model_data(from), q->offset + there), count);
    b->put(backend_at(b, model_data(m), p->offset + here), x, count);
}

static void take_words(Model *m, const Param *p, Model *from, const Param *q, const size_t *word,
                       double *x)
{
    size_t columns = p->cols ? p->cols : 1;
    for (size_t i = 0; i < p->rows; i++)
        if (word[i] < q->rows) take(m, p, i * columns, from, q, word[i] * columns, columns, x);
}

int model_begin(Model *m, Model *from, const size_t *word, size_t *taken)
{
    const Param *list;
    size_t count = model_params(m, &list), largest = 0;
    int words = word && model_config(m)->tails == 0;
    *taken = 0;
    TRY(check_tails(m, from, word));
    for (size_t i = 0; i < count; i++) {
        const Param *q = model_find(from, list[i].name);
        if (q) TRY(check_shape(&list[i], q));
        if (q) ++*taken;
        largest = list[i].size > largest ? list[i].size : largest;
    }
    SCOPED(memory_drop) double *x = memory_new(largest, sizeof *x);
    if (!x) return ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const Param *q = model_find(from, list[i].name);
        if (q && words && of_words(q))
            take_words(m, &list[i], from, q, word, x);
        else if (q)
            take(m, &list[i], 0, from, q, 0, list[i].size, x);
    }
    return 0;
}
