/* command_average.c: makes a model whose parameters are the mean of several models'. */
#include <string.h>

#include "studies/model/network.h"
#include "studies/base/command.h"

typedef struct {
    const Options *options;
    size_t count;
    const char **dir;          /* (count) */
    char (*file)[OUTPUT_PATH]; /* (count) */
    Metadata meta;             /* of the first */
    Network first;
} Mean;

static int put(void *arg, const char *key, const char *value)
{
    return network_metadata_put(arg, key, value);
}

/* Checks that model i has the layers and the words of the first. */
static int check_same(Mean *m, size_t i)
{
    SCOPED(memory_drop) char *here = NULL, *there = NULL;
    SCOPED(network_free) Network n = {0};
    TRY(network_describe(m->dir[i], m->options, &n, m->file[i]));
    int same = vocab_hash(&n.vocab) == vocab_hash(&m->first.vocab);
    if (n.foreign)
        return error_set(ERR_INPUT, "%s is of another program: a mean is of models of this one",
                         m->dir[i]);
    TRY(store_meta(m->file[i], "scheme_text", &here));
    TRY(store_meta(m->file[0], "scheme_text", &there));
    if (same && network_scheme_same(here, there)) return 0;
    return error_set(ERR_INPUT, "%s has other %s than %s: a mean is of one kind of model",
                     m->dir[i], same ? "layers" : "words", m->dir[0]);
}

static int save(const Mean *m)
{
    const char *dir = options_text(m->options, "out");
    char path[OUTPUT_PATH];
    TRY(output_path(path, dir, "model.safetensors"));
    TRY(store_save(m->first.model, path, m->meta.item, m->meta.count));
    return vocab_save(&m->first.vocab, m->first.bpe, dir);
}

static int average(Mean *m)
{
    SCOPED(memory_drop) const char **file = memory_new(m->count, sizeof *file);
    if (!file) return ERR_MEMORY;
    for (size_t i = 0; i < m->count; i++) {
        m->dir[i] = options_item(m->options, "model", i);
        if (i == 0) TRY(network_load(m->dir[0], m->options, &m->first));
        TRY(check_same(m, i));
        file[i] = m->file[i];
    }
    TRY(store_metas(m->file[0], put, &m->meta));
    TRY(store_average(m->first.model, file, m->count));
    TRY(output_directory(options_text(m->options, "out")));
    TRY(save(m));
    progress_note("the mean of %zu models is in %s", m->count, options_text(m->options, "out"));
    return 0;
}

static int run(Options *o)
{
    Mean m = {.options = o};
    while (options_item(o, "model", m.count)) m.count++;
    if (m.count < 2) return error_set(ERR_INPUT, "--model is needed twice or more");
    if (!options_text(o, "out")) return error_set(ERR_INPUT, "--out is needed");
    m.dir = memory_new(m.count, sizeof *m.dir);
    m.file = memory_new(m.count, sizeof *m.file);
    int code = m.dir && m.file ? average(&m) : ERR_MEMORY;
    network_free(&m.first);
    network_metadata_free(&m.meta);
    memory_free(m.dir);
    memory_free(m.file);
    return code;
}

const Command command_average = {
    .name = "average",
    .purpose = "make the mean of several models",
    .about =
        "Writes a model whose parameters are the means of those of several models with the same layers and words: the\n"
        "ends of epochs that 'trotter train --keep N' kept, or trainings that went on from one model (--from). Models\n"
        "trained from different seeds have no use in a mean; 'trotter translate --model A --model B' uses them\n"
        "together. 'trotter train --average N' makes the mean of the last N epochs by itself.\n",
    .example = "--model out/a/epoch-8.safetensors --model out/a --out out/mean",
    .groups = GROUPS(OPTION_GROUP(
        "Models", 0,
        {"model", OPTION_LIST, NULL, "DIR",
         "a model; give several: directories, or files of weights such as DIR/epoch-3.safetensors"},
        {"out", OPTION_TEXT, NULL, "DIR", "directory of the mean"})),
    .run = run,
};
