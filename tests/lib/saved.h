/* saved.h: a small saved network with changed metadata, for the tests that load one. Needs scratch.h's folder. */
#ifndef TROTTER_TESTS_SAVED_H
#define TROTTER_TESTS_SAVED_H

#include "nn/text/corpus.h"
#include "studies/model/network.h"
#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#define OWN_OPTIONS SCOPED(options_drop) Options

/* Makes the options of a network of width and inner width 4. */
static inline Options *saved_options(void)
{
    Options *o;
    assert_int_equal(options_new(network_groups, &o), 0);
    assert_int_equal(options_set(o, OPTION_ARGUMENT, "", "width", "4"), 0);
    assert_int_equal(options_set(o, OPTION_ARGUMENT, "", "inner", "4"), 0);
    return o;
}

/* Gives the item of this key a value; NULL removes the item. */
static inline void saved_alter(Metadata *meta, const char *key, const char *value)
{
    for (size_t i = 0; i < meta->count; i++) {
        StoreText *item = &meta->item[i];
        if (strcmp(item->key, key) != 0) continue;
        memory_free(item->value);
        item->value = value ? memory_string(value) : NULL;
        if (value) continue;
        memory_free(item->key);
        *item-- = meta->item[--meta->count];
        i--;
    }
}

/* Writes model.safetensors and vocab.txt into the folder, with one item of the metadata altered. */
static inline void saved_write(const char *key, const char *value)
{
    OWN_TABLE *t = built_in("transformer", "euler");
    Model *m;
    Metadata meta;
    const Backend *b;
    OWN_OPTIONS *o = saved_options();
    char *word[] = {(char[]){WORD_EOS}, (char[]){"a"}};
    Corpus c = {.vocab = {.size = 2, .word = word}};
    static const char words[] = WORD_EOS "\na\n";
    assert_int_equal(network_backend(o, &b), 0);
    assert_int_equal(network_model(o, (Stacks){t}, &(Vocab){.size = 2}, b, &m), 0);
    assert_int_equal(network_metadata(o, (Stacks){t}, &c, m, &meta), 0);
    saved_alter(&meta, key, value);
    assert_int_equal(store_save(m, file_path("model.safetensors"), meta.item, meta.count), 0);
    file_write("vocab.txt", words, sizeof words - 1);
    network_metadata_free(&meta);
    model_free(m);
}

/* Loads the network that `dir` names with the given options. Returns network_load's code. */
static inline int saved_load(const char *dir, const Options *given)
{
    Network n;
    int code = network_load(dir, given, &n);
    if (code == 0) network_free(&n);
    return code;
}

#endif
