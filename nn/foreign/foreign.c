/* foreign.c: opens a directory of another program (foreign.h): its files of weights and its words. */
#include "nn/foreign/foreign_inside.h"

#include <string.h>
#include <sys/stat.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

DROP(Foreign, foreign)

static int exists(const char *dir, const char *name)
{
    char file[PATH];
    struct stat s;
    return foreign_path(dir, name, file) == 0 && stat(file, &s) == 0;
}

int foreign_is(const char *dir)
{
    return exists(dir, "config.json") && !exists(dir, "config.ini");
}

/* ---- files of weights ---------------------------------------------------------------------------- */

/* Refuses a tensor that two files have. */
static int check_once(const Foreign *f)
{
    const char *name;
    json_t *tensor;
    for (size_t i = 0; i < f->shards; i++)
        json_object_foreach (f->shard[i].header, name, tensor)
            for (size_t k = 0; k < i && strcmp(name, STORE_METADATA) != 0; k++)
                if (json_object_get(f->shard[k].header, name))
                    return error_set(ERR_INPUT, "tensor '%s' is in %s and in %s", name,
                                     f->shard[k].file, f->shard[i].file);
    return 0;
}

static int add_shard(Foreign *f, const char *name)
{
    struct stat s;
    for (size_t i = 0; i < f->shards; i++)
        if (strcmp(strrchr(f->shard[i].file, '/') + 1, name) == 0) return 0;
    if (strchr(name, '/') || f->shards == SHARDS_MOST)
        return error_set(ERR_INPUT, "%s: '%.100s' is no name of a file of weights", f->dir, name);
    TRY(memory_more(&f->shard, f->shards, sizeof *f->shard));
    Shard *one = &f->shard[f->shards];
    TRY(foreign_path(f->dir, name, one->file));
    TRY(store_header(one->file, &one->header));
    f->shards++;
    if (stat(one->file, &s) == 0) f->bytes += (size_t)s.st_size;
    return 0;
}

static int add_shards(Foreign *f, const json_t *index)
{
    const char *name;
    json_t *file, *map = json_object_get(index, "weight_map");
    json_object_foreach (map, name, file)
        TRY(add_shard(f, json_is_string(file) ? json_string_value(file) : ""));
    return f->shards ? check_once(f)
                     : error_set(ERR_INPUT, "%s: an index without weight_map", f->dir);
}

static int find_shards(Foreign *f)
{
    static const char index[] = "model.safetensors.index.json";
    char file[PATH];
    json_auto_t *list = NULL;
    int whole = exists(f->dir, "model.safetensors"), parts = exists(f->dir, index);
    if (!whole && !parts &&
        (exists(f->dir, "pytorch_model.bin") || exists(f->dir, "pytorch_model.bin.index.json")))
        return error_set(ERR_INPUT,
                         "%s has pytorch_model.bin, which is a program and not read; this makes "
                         "model.safetensors of it: python3 -c \"import transformers as t; "
                         "t.%s.from_pretrained('%s').save_pretrained('%s')\"",
                         f->dir, f->family->architecture, f->dir, f->dir);
    if (whole || !parts) return add_shard(f, "model.safetensors");
    TRY(foreign_path(f->dir, index, file));
    TRY(foreign_json(file, &list));
    return add_shards(f, list);
}

/* Refuses what is to end a text where it is no id and no list of ids: no token would. */
static int check_ends(const char *file, const json_t *ids)
{
    int wrong = ids && !json_is_null(ids) && !json_is_integer(ids) && !json_is_array(ids);
    for (size_t i = 0; i < json_array_size(ids); i++)
        wrong |= !json_is_integer(json_array_get(ids, i));
    return wrong ? error_set(ERR_INPUT,
                             "%s: eos_token_id is no number and no list of numbers: give the ids "
                             "of the tokens that end a text",
                             file)
                 : 0;
}

/* Reads what ends a text for generate, where a file says it apart. */
static int read_stop(Foreign *f)
{
    static const char name[] = "generation_config.json";
    char file[PATH];
    json_auto_t *root = NULL;
    TRY(check_ends(f->config_file, json_object_get(f->config, "eos_token_id")));
    if (!exists(f->dir, name)) return 0;
    TRY(foreign_path(f->dir, name, file));
    TRY(foreign_json(file, &root));
    f->stop = json_incref(json_object_get(root, "eos_token_id"));
    return check_ends(file, f->stop);
}

int foreign_open(const char *dir, Foreign **out)
{
    SCOPED(foreign_drop) Foreign *f = memory_new(1, sizeof *f);
    *out = NULL;
    if (!f || !(f->dir = memory_string(dir))) return ERR_MEMORY;
    TRY(foreign_config(f));
    TRY(read_stop(f));
    TRY(find_shards(f));
    *out = f;
    f = NULL;
    return 0;
}

void foreign_free(Foreign *f)
{
    if (!f) return;
    for (size_t i = 0; i < f->settings; i++) {
        memory_free(f->setting[i].key);
        memory_free(f->setting[i].value);
    }
    for (size_t i = 0; i < f->shards; i++) json_decref(f->shard[i].header);
    memory_free(f->shard);
    json_decref(f->config);
    json_decref(f->stop);
    memory_free(f->dir);
    memory_free(f);
}

size_t foreign_settings(const Foreign *f, const StoreText **list)
{
    *list = f->setting;
    return f->settings;
}

size_t foreign_most(const Foreign *f)
{
    return f->bytes + 1; /* two bytes a number; more where labels and tied words need it */
}

/* Tells whether an id is `ids`, or is among them. */
static int is_among(const json_t *ids, json_int_t id)
{
    int is = json_is_integer(ids) && json_integer_value(ids) == id;
    for (size_t i = 0; i < json_array_size(ids); i++) is |= is_among(json_array_get(ids, i), id);
    return is;
}

int foreign_ends(const Foreign *f)
{
    const json_t *begin = json_object_get(f->config, "bos_token_id");
    return f->family->mark[0] || is_among(json_object_get(f->config, "eos_token_id"),
                                          json_is_integer(begin) ? json_integer_value(begin) : -1);
}

int foreign_stops(const Foreign *f, size_t id)
{
    return is_among(f->stop ? f->stop : json_object_get(f->config, "eos_token_id"), (json_int_t)id);
}

/* ---- words --------------------------------------------------------------------------------------- */

int foreign_words(const Foreign *f, Vocab *v)
{
    char file[PATH];
    Tokenizer *t;
    const char *mark[VOCAB_MARKS] = {""};
    json_int_t V = json_integer_value(json_object_get(f->config, "vocab_size"));
    *v = (Vocab){0};
    if (!exists(f->dir, "tokenizer.json"))
        return error_set(
            ERR_INPUT,
            "%s has no tokenizer.json; this makes one of vocab.txt, of vocab.json and merges.txt, or of "
            "tokenizer.model: python3 -c \"import transformers as t; "
            "t.AutoTokenizer.from_pretrained('%s').save_pretrained('%s')\"",
            f->dir, f->dir, f->dir);
    TRY(foreign_path(f->dir, "tokenizer.json", file));
    TRY(tokenizer_read(file, &t));
    for (int i = 0; i < VOCAB_MARKS; i++) mark[i] = f->family->mark[i] ? f->family->mark[i] : "";
    const json_t *begin = json_object_get(f->config, "bos_token_id");
    json_int_t first = json_is_integer(begin) ? json_integer_value(begin) : -1;
    if (!f->family->mark[0]) mark[0] = first < 0 ? NULL : tokenizer_name(t, (size_t)first);
    int code = 0;
    if (V < (json_int_t)tokenizer_size(t) || V > TOKENS_MOST)
        code = error_set(ERR_INPUT,
                         "%s: its ids go up to %zu, and vocab_size is %" JSON_INTEGER_FORMAT, file,
                         tokenizer_size(t) - 1, V);
    else if (!mark[0])
        code = error_set(ERR_INPUT,
                         "%s: bos_token_id is no token of %s, and a text needs one that begins it: "
                         "give one, as that of eos_token_id where it stands between texts",
                         f->config_file, file);
    if (code) return tokenizer_free(t), code;
    return vocab_tokens(t, (size_t)V, mark, v);
}
