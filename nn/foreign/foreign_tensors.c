/* foreign_tensors.c: puts the tensors of another program's files into a model, by the rows of its family (family.h). */
#include "nn/foreign/foreign_inside.h"

#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"

/* Tensors of one file that are wanted. */
typedef struct {
    size_t count;
    Tensor *tensor;
} Wanted;

typedef struct {
    const Foreign *f;
    Model *m;
    Wanted *wanted; /* (shards) */
    char *used;     /* (tensors of m) 1: filled */
    const Param *param;
    /* (1, or rows of segments; cols of `to`) a row that is added to all rows of `to`, and those of segments; NULL: there is none */
    double *added;
    const Param *to, *segments; /* segments (2 or more, cols): NULL: the model tells none apart */
} Loading;

/* Writes a tensor's name in variant i < 4: without and with the prefix, today's and the first BERT's. */
static void variant(const Foreign *f, const char *pattern, size_t layer, int i, char out[NAME])
{
    family_name(i & 1 ? f->family->prefix : "", pattern, layer, out);
    char *dot = strrchr(out, '.');
    if (i & 2 && dot && strcmp(dot, ".weight") == 0) strcpy(dot, ".gamma");
    if (i & 2 && dot && strcmp(dot, ".bias") == 0) strcpy(dot, ".beta");
}

/* Finds a tensor of theirs; *name is the header's. NULL: no file has it. */
static const json_t *find_tensor(const Foreign *f, const char *pattern, size_t layer,
                                 const char **name, size_t *shard)
{
    char wanted[NAME];
    for (int i = 0; i < 4; i++)
        for (*shard = 0; *shard < f->shards; ++*shard) {
            variant(f, pattern, layer, i, wanted);
            void *at = json_object_iter_at(f->shard[*shard].header, wanted);
            if (!at) continue;
            *name = json_object_iter_key(at);
            return json_object_iter_value(at);
        }
    return NULL;
}

static int want(Loading *l, size_t shard, Tensor t)
{
    Wanted *w = &l->wanted[shard];
    return memory_add(w->tensor, w->count, t);
}

/* Returns dimension i of a tensor in a header, or 0. */
static size_t dimension(const json_t *tensor, size_t i)
{
    json_int_t n = json_integer_value(json_array_get(json_object_get(tensor, "shape"), i));
    return n > 0 ? (size_t)n : 0;
}

/* Refuses a bias that the files have and the model has not. */
static int check_bias(const Foreign *f, const FamilyTensor *row, size_t layer)
{
    const char *name;
    size_t shard;
    for (int k = 0; k < FAMILY_BIASES; k++) {
        const char *is = family_bias(f->family, k);
        if (!(row->how & (FAMILY_QKV_BIAS << k)) || foreign_has_bias(f, k) ||
            !find_tensor(f, row->theirs, layer, &name, &shard))
            continue;
        return error_set(ERR_INPUT,
                         "%s: tensor '%s' is there, but transformers reads none where %s is false: "
                         "remove the tensor, or, if the model has it, say so in config.json",
                         f->dir, name, strcmp(is, "false") ? is : "that of the family");
    }
    return 0;
}

static int same_ours(const FamilyTensor *a, const FamilyTensor *b)
{
    return a->ours && b->ours && strcmp(a->ours, b->ours) == 0;
}

/* Returns the most rows that a tensor makes of ours behind the first `at`; *exact out: 1 where it has to make so many. Queries
 * have the rows of all heads; keys and values, and both parts of a gated network, are alike. */
static size_t room_for(const Loading *l, const FamilyTensor *row, const Param *p, size_t at,
                       int *exact)
{
    size_t left = 1, room = p->rows - at;
    while (same_ours(row + left, row)) left++;
    *exact = left > 1 && !(row->how & FAMILY_MORE_ROWS);
    if (!*exact) return room;
    const ModelConfig *c = model_config(l->m);
    return left == 3 ? c->heads * model_head_width(c) : room / left;
}

/* Makes theirs rows *row .. of ours; *row goes on behind them. */
static int want_row(Loading *l, const FamilyTensor *row, size_t layer, const Param *p, size_t *at)
{
    const char *name;
    size_t shard;
    const Backend *b = model_backend(l->m);
    const json_t *theirs = find_tensor(l->f, row->theirs, layer, &name, &shard);
    int transposed = (row->how & FAMILY_TRANSPOSED) != 0;
    if (!theirs && row->how & FAMILY_MAY_MISS) return 0;
    if (!theirs)
        return error_set(ERR_INPUT, "%s: no tensor '%s' (layer %zu)", l->f->dir, row->theirs,
                         layer);
    size_t rows = dimension(theirs, (size_t)transposed), cols = p->cols ? p->cols : 1;
    /* Who asks for labels has no row of a word that no token is. */
    int more = row->how & FAMILY_MORE_ROWS ||
               (model_config(l->m)->classes && strcmp(p->name, "embed.weight") == 0);
    if (more && rows > p->rows) rows = p->rows;
    int exact;
    size_t room = room_for(l, row, p, *at, &exact);
    if (rows > room || (exact && rows != room))
        return error_set(ERR_INPUT,
                         "%s: tensor '%s' has another shape: %zu rows, where %s has room for %zu",
                         l->f->dir, name, rows, p->name, room);
    TRY(want(l, shard,
             (Tensor){.name = name,
                      .rows = rows,
                      .cols = p->cols,
                      .backend = b,
                      .device = backend_at(b, model_data(l->m), p->offset + *at * cols),
                      .transposed = transposed,
                      .more_rows = more}));
    *at += rows;
    return 0;
}

/* Wants a row that is added to all rows of p when all else is read. */
static int want_added(Loading *l, const FamilyTensor *row, const Param *p)
{
    const char *name;
    size_t shard;
    if (!find_tensor(l->f, row->theirs, 0, &name, &shard))
        return error_set(ERR_INPUT, "%s: no tensor '%s'", l->f->dir, row->theirs);
    if (l->added) return error_set(ERR_MISUSE, "two tensors are added");
    l->segments = model_find(l->m, "segment.weight");
    size_t rows = l->segments ? l->segments->rows : 1;
    l->added = memory_new(rows, p->cols * sizeof *l->added);
    l->to = p;
    if (!l->added) return ERR_MEMORY;
    return want(
        l, shard,
        (Tensor){.name = name, .rows = rows, .cols = p->cols, .data = l->added, .more_rows = 1});
}

static int add_row(const Loading *l)
{
    const Backend *b = model_backend(l->m);
    size_t D = l->to ? l->to->cols : 0;
    SCOPED(memory_drop) double *x = memory_new(D, sizeof *x);
    if (!x) return ERR_MEMORY;
    for (size_t i = 0; l->to && i < l->to->rows; i++) {
        void *at = backend_at(b, model_data(l->m), l->to->offset + i * D);
        b->get(x, at, D);
        for (size_t c = 0; c < D; c++) x[c] += l->added[c];
        b->put(at, x, D);
    }
    for (size_t i = 0; l->segments && i < l->segments->rows; i++) {
        for (size_t c = 0; c < D; c++) x[c] = l->added[i * D + c] - l->added[c];
        b->put(backend_at(b, model_data(l->m), l->segments->offset + i * D), x, D);
    }
    return 0;
}

/* Wants all rows of the table, from *row on, that make one tensor of ours; *row goes on behind them. */
static int want_tensor(Loading *l, const FamilyTensor *row, size_t layer)
{
    char ours[NAME];
    size_t at = 0;
    family_name("", row->ours, layer, ours);
    const Param *p = model_find(l->m, ours);
    int without = row->how & (FAMILY_MAY_MISS | FAMILY_HEAD | FAMILY_QKV_BIAS | FAMILY_OUT_BIAS |
                              FAMILY_MLP_BIAS);
    if (!p && without) return check_bias(l->f, row, layer);
    if (!p) return error_set(ERR_MISUSE, "the model has no tensor %s", ours);
    if (row->how & FAMILY_COPIED) at = p->rows;
    for (const FamilyTensor *one = row; same_ours(one, row) && !(row->how & FAMILY_COPIED); one++)
        TRY(one->how & FAMILY_ADDED ? want_added(l, one, p) : want_row(l, one, layer, p, &at));
    l->used[p - l->param] = at > 0;
    if (at == p->rows || at == 0) return 0;
    if (row->how & FAMILY_MORE_ROWS)
        return error_set(ERR_INPUT,
                         "%s has positions for at most %zu tokens: --sequence %zu is too long",
                         l->f->dir, at, p->rows);
    return error_set(ERR_INPUT, "%s: '%s' has %zu rows, where %s needs %zu", l->f->dir, row->theirs,
                     at, ours, p->rows);
}

/* Tells whether a tensor of ours keeps the value that it began with where no file has it: what labels and their sentences
 * are told by, which pre-training may lack. */
static int may_begin(const char *name)
{
    static const char *const labels[] = {"classes.", "pool.", "segment."};
    int may = 0;
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        may |= strncmp(name, labels[i], strlen(labels[i])) == 0;
    return may;
}

/* Checks that no other tensor of ours kept the value that it began with. */
static int check_filled(const Loading *l)
{
    const Param *p;
    for (size_t i = 0, n = model_params(l->m, &p); i < n; i++)
        if (!l->used[i] && !may_begin(p[i].name))
            return error_set(ERR_INPUT, "%s: no tensor for %s", l->f->dir, p[i].name);
    return 0;
}

static int matches(const char *name, const char *pattern)
{
    size_t n = strlen(name), p = strlen(pattern);
    if (*pattern != '*') return strcmp(name, pattern) == 0;
    return n + 1 >= p && strcmp(name + n - (p - 1), pattern + 1) == 0;
}

/* Lists the tensors that a file may have beside those wanted: masks, and an output that is tied. */
static int want_unread(Loading *l, size_t shard)
{
    const char *name;
    json_t *value;
    const char *prefix = l->f->family->prefix;
    json_object_foreach (l->f->shard[shard].header, name, value) {
        const char *plain = strncmp(name, prefix, strlen(prefix)) ? name : name + strlen(prefix);
        int unread = 0;
        for (const FamilyTensor *t = l->f->family->tensor; t->theirs; t++)
            if (matches(plain, t->theirs))
                unread |= !t->ours || (t->how & (FAMILY_MAY_MISS | FAMILY_HEAD) &&
                                       !strchr(t->theirs, '#') && !model_find(l->m, t->ours));
        if (unread) TRY(want(l, shard, (Tensor){.name = name, .unread = 1}));
    }
    return 0;
}

/* Puts a tensor of ours, all rows of the table that make it being read, in our form. */
static int finish(const Loading *l, const FamilyTensor *row, size_t layer)
{
    char ours[NAME], theirs[NAME];
    const Backend *b = model_backend(l->m);
    const ModelConfig *c = model_config(l->m);
    family_name("", row->ours, layer, ours);
    family_name("", row->theirs, layer, theirs);
    const Param *p = model_find(l->m, ours),
                *from = row->how & FAMILY_COPIED ? model_find(l->m, theirs) : p;
    size_t R = c->rotary_part, E = model_head_width(c), A = c->heads * E,
           turned = A + (c->kv_heads ? c->kv_heads : c->heads) * E;
    if (!p || !(row->how & (FAMILY_ONE | FAMILY_PART | FAMILY_QUERY | FAMILY_COPIED))) return 0;
    size_t cols = p->cols ? p->cols : 1, scaled = p->rows == E ? p->size : A * cols;
    SCOPED(memory_drop) double *x = memory_new(p->size, 2 * sizeof *x);
    if (!x) return ERR_MEMORY;
    double *y = x + p->size;
    b->get(x, backend_at(b, model_data(l->m), from->offset), p->size);
    for (size_t i = 0; i < p->size && row->how & FAMILY_ONE; i++) x[i] += 1;
    for (size_t i = 0; i < scaled && row->how & FAMILY_QUERY; i++)
        x[i] *= sqrt((double)E / l->f->query);
    memcpy(y, x, p->size * sizeof *y);
    for (size_t r = 0; r < turned && R && row->how & FAMILY_PART; r++)
        memcpy(y + (r / E * E + family_place(r % E, R, E)) * cols, x + r * cols, cols * sizeof *y);
    b->put(backend_at(b, model_data(l->m), p->offset), y, p->size);
    return 0;
}

static int load(Loading *l)
{
    const FamilyTensor *first = l->f->family->tensor;
    for (const FamilyTensor *t = first; t->theirs; t++) {
        size_t layers = strchr(t->theirs, '#') ? l->f->layers : 1;
        if (!t->ours || (t > first && same_ours(t, t - 1))) continue;
        for (size_t i = 0; i < layers; i++) TRY(want_tensor(l, t, i));
    }
    TRY(check_filled(l));
    for (size_t i = 0; i < l->f->shards; i++) {
        TRY(want_unread(l, i));
        TRY(tensors_read(l->f->shard[i].file, l->wanted[i].tensor, l->wanted[i].count, STORE_ANY,
                         STORE_FINITE));
    }
    for (const FamilyTensor *t = first; t->theirs; t++)
        for (size_t i = 0; t->ours && (t == first || !same_ours(t, t - 1)) &&
                           i < (strchr(t->theirs, '#') ? l->f->layers : 1);
             i++)
            TRY(finish(l, t, i));
    return add_row(l);
}

int foreign_fits(const Foreign *f, size_t longest)
{
    if (f->plain && longest > f->plain)
        return error_set(
            ERR_INPUT,
            "%s: rope_type is dynamic, so sequences of up to %zu tokens are not supported, "
            "which turn otherwise from %zu on: take --sequence %zu",
            f->config_file, longest, f->plain + 1, f->plain);
    return 0;
}

int foreign_load(const Foreign *f, Model *m)
{
    TRY(foreign_fits(f, model_config(m)->max_length));
    Loading l = {.f = f, .m = m, .wanted = memory_new(f->shards, sizeof *l.wanted)};
    l.used = memory_new(model_params(m, &l.param), sizeof *l.used);
    int code = l.wanted && l.used ? load(&l) : ERR_MEMORY;
    for (size_t i = 0; l.wanted && i < f->shards; i++) memory_free(l.wanted[i].tensor);
    memory_free_all(l.wanted, l.used, l.added);
    return code;
}
