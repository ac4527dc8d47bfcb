/* library_model.c: implements the trained models of trotter.h. */
#include <string.h>

#include "bridge/truncation.h"
#include "studies/api/library/library.h"
#include "studies/model/trained.h"

struct TrotterModel {
    Lock *lock;
    Network net;
};

int trotter_model_load(const char *directory, size_t sequence, TrotterModel **out)
{
    GIVEN(out);
    *out = NULL;
    GIVEN(directory);
    TrotterModel *m = memory_new(1, sizeof *m);
    if (!m) return ERR_MEMORY;
    library_parallel();
    m->lock = library_lock_new();
    int code = m->lock ? trained_load(directory, sequence, 0, &m->net) : ERR_MEMORY;
    if (code == 0) code = network_alone(&m->net, directory);
    if (code != 0) {
        trotter_model_free(m);
        return code;
    }
    *out = m;
    return 0;
}

void trotter_model_free(TrotterModel *m)
{
    if (!m) return;
    network_free(&m->net);
    memory_free(m->lock);
    memory_free(m);
}

size_t trotter_model_vocabulary(const TrotterModel *m)
{
    return m ? m->net.vocab.size : 0;
}

size_t trotter_model_parameters(const TrotterModel *m)
{
    return m ? model_size(m->net.model) : 0;
}

size_t trotter_model_layers(const TrotterModel *m)
{
    return m ? options_size(m->net.options, "layers") : 0;
}

size_t trotter_model_sequence(const TrotterModel *m)
{
    return m ? model_config(m->net.model)->max_length : 0;
}

const char *trotter_model_word(const TrotterModel *m, int32_t id)
{
    return m && id >= 0 && (size_t)id < m->net.vocab.size ? m->net.vocab.word[id] : NULL;
}

/* ---- tokens and logits --------------------------------------------------------------------------- */

int trotter_model_encode(const TrotterModel *m, const char *text, int32_t **id, size_t *n)
{
    SCOPED(text_free) Text t = {0};
    GIVEN(id, n);
    *id = NULL;
    *n = 0;
    GIVEN(m, text);
    LOCKED(m);
    const BpeText raw = {.file = "text", .bytes = text, .count = strlen(text)};
    TRY(text_encode(&raw, m->net.bpe, &m->net.vocab, &t));
    if (!(*id = memory_new(t.tokens + 1, sizeof **id))) return ERR_MEMORY;
    (*id)[0] = m->net.vocab.eos;
    if (t.tokens) memcpy(*id + 1, t.id, t.tokens * sizeof **id);
    *n = t.tokens + 1;
    return 0;
}

/* Checks that the tokens are words of the model and no more than it takes. */
static int check_tokens(const TrotterModel *m, const int32_t *id, size_t n)
{
    size_t most = trotter_model_sequence(m);
    if (n == 0 || n > most)
        return error_set(ERR_INPUT, "%zu tokens: this model takes 1 to %zu", n, most);
    for (size_t i = 0; i < n; i++)
        if (!trotter_model_word(m, id[i]))
            return error_set(ERR_INPUT, "token %zu: no word has the number %d", i, (int)id[i]);
    return 0;
}

int trotter_model_logits(TrotterModel *m, const int32_t *id, size_t n, double *z)
{
    GIVEN(m, id, z);
    LOCKED(m);
    TRY(check_tokens(m, id, n));
    SCOPED(memory_drop) int32_t *row = memory_new(2 * n, sizeof *row);
    int32_t *position = row + n;
    size_t start[2] = {0, n};
    if (!row) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        row[i] = id[i];
        position[i] = (int32_t)i;
    }
    Batch b = {.N = n,
               .S = 1,
               .longest = n,
               .input = row,
               .target = row,
               .position = position,
               .start = start};
    return model_logits(m->net.model, &b, z);
}

/* ---- truncation error ---------------------------------------------------------------------------- */

int trotter_model_truncation(TrotterModel *m, const TrotterScheme *s, size_t layer,
                             const int32_t *id, size_t n, int halvings, double *error,
                             double *relative)
{
    const TruncationOptions o = {.halvings = halvings};
    const Sentence sentence = {{n, 0}, {id, NULL}};
    Truncation t;
    GIVEN(m, id, error, relative);
    LOCKED(m);
    SCOPED(truncator_drop) Truncator *u = NULL;
    const Table *scheme = s ? s->table : m->net.table;
    if (halvings < 1 || halvings >= TRUNCATION_POINTS)
        return error_set(ERR_MISUSE, "%d halvings: expected 1 to %d", halvings,
                         TRUNCATION_POINTS - 1);
    if (layer >= trotter_model_layers(m))
        return error_set(ERR_INPUT, "layer %zu: this model has 0 to %zu", layer,
                         trotter_model_layers(m) - 1);
    TRY(check_tokens(m, id, n));
    TRY(truncator_new(m->net.model, m->net.table, &o, &u));
    TRY(truncator_takes(u, scheme));
    TRY(truncator_sentence(u, &sentence, NULL));
    TRY(truncator_measure(u, (int)layer, scheme, &t));
    for (size_t i = 0; i < t.points; i++) {
        error[i] = t.point[i].error;
        relative[i] = t.point[i].relative;
    }
    return 0;
}
