/* foreign.c: reads a directory of another program by the table of families (foreign.h). */
#include "nn/foreign/foreign.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/scoped.h"
#include "kernels/base/parsed.h"
#include "nn/foreign/family.h"
#include "nn/model/store.h"

DROP(Foreign, foreign)

enum {
    PATH = 1024,
    NAME = FAMILY_NAME,
    SETTINGS_MOST = 32,
    SHARDS_MOST = 1000,
    LAYERS_MOST = 10000
};

/* A file of weights: its header, by names. */
typedef struct {
    char file[PATH];
    json_t *header;
} Shard;

struct Foreign {
    char *dir, config_file[PATH];
    json_t *config, *stop; /* stop: eos_token_id of generation_config.json, or NULL */
    const Family *family;
    size_t layers, settings, window; /* window: most tokens that attention sees; 0: all */
    StoreText setting[SETTINGS_MOST];
    size_t shards;
    Shard *shard;
    size_t bytes; /* of all files of weights */
};

static int path(const char *dir, const char *name, char out[PATH])
{
    if (snprintf(out, PATH, "%s/%s", dir, name) < PATH) return 0;
    return error_set(ERR_INPUT, "%.100s...: name too long", dir);
}

static int exists(const char *dir, const char *name)
{
    char file[PATH];
    struct stat s;
    return path(dir, name, file) == 0 && stat(file, &s) == 0;
}

int foreign_is(const char *dir)
{
    return exists(dir, "config.json") && !exists(dir, "config.ini");
}

static int read_json(const char *file, json_t **out)
{
    json_error_t e = {0};
    SCOPED(memory_drop) char *bytes = NULL;
    size_t count;
    TRY(file_whole(file, SIZE_MAX, &bytes, &count));
    int code = parsed_json(bytes, count, &e, out);
    if (code == ERR_INPUT) return error_set(code, "%s:%d: %s", file, e.line, e.text);
    TRY(code);
    return json_is_object(*out) ? 0 : error_set(ERR_INPUT, "%s:1: expected an object", file);
}

/* ---- config.json --------------------------------------------------------------------------------- */

static const char *const rope[] = {"rope_parameters", "rope_scaling"}; /* since 5; before */

/* Returns what config.json says of rotary positions under a key, or NULL. */
static const json_t *rope_of(const json_t *config, const char *key)
{
    const json_t *x = NULL;
    for (int i = 0; i < 2 && !x; i++) x = json_object_get(json_object_get(config, rope[i]), key);
    return x;
}

/* Returns a value of config.json, where it speaks of rotary positions before all else, or NULL. */
static const json_t *find_value(const json_t *config, const char *key)
{
    const json_t *x = rope_of(config, key);
    return x ? x : json_object_get(config, key);
}

/* Writes a plain value as text; 0: it is absent, null, or no plain value. */
static int text_of(const json_t *x, char out[NAME])
{
    if (json_is_string(x)) return snprintf(out, NAME, "%s", json_string_value(x)) > 0;
    if (json_is_boolean(x)) return snprintf(out, NAME, "%s", json_is_true(x) ? "true" : "false");
    if (json_is_integer(x))
        return snprintf(out, NAME, "%" JSON_INTEGER_FORMAT, json_integer_value(x));
    return json_is_real(x) ? snprintf(out, NAME, "%.17g", json_real_value(x)) : 0;
}

static int value_of(const json_t *config, const char *key, char out[NAME])
{
    return text_of(find_value(config, key), out);
}

static int is_true(const json_t *config, const char *key)
{
    return json_is_true(json_object_get(config, key));
}

static int put_setting(Foreign *f, const char *option, const char *value)
{
    if (f->settings == SETTINGS_MOST) return error_set(ERR_MISUSE, "too many settings");
    StoreText *s = &f->setting[f->settings++];
    *s = (StoreText){memory_string(option), memory_string(value)};
    return s->key && s->value ? 0 : ERR_MEMORY;
}

/* Finds what stands where a key is absent. */
static int find_otherwise(const Foreign *f, const FamilySetting *s, char value[NAME])
{
    const char *o = s->otherwise;
    if (o && strncmp(o, "4*", 2) == 0) {
        json_int_t n = json_integer_value(json_object_get(f->config, o + 2));
        if (n > 0 && n < 1 << 28) return snprintf(value, NAME, "%d", 4 * (int)n), 0;
        o = NULL;
    }
    if (o && *o == '=' && value_of(f->config, o + 1, value)) return 0;
    if (o && *o != '=') return snprintf(value, NAME, "%s", o), 0;
    return error_set(ERR_INPUT, "%s: no %s", f->config_file, s->key);
}

static int is_yarn(const Foreign *f)
{
    char type[NAME] = "";
    if (!text_of(rope_of(f->config, "rope_type"), type)) text_of(rope_of(f->config, "type"), type);
    return strcmp(type, "yarn") == 0;
}

/* Finds the value of a key of rotary positions. YaRN's have one where they are absent: 1 and 32 turns, the length that the model
 * takes, and 1 + log(factor) / 10. */
static int rope_value(const Foreign *f, const char *key, char value[NAME])
{
    char factor[NAME];
    if (text_of(rope_of(f->config, key), value)) return 1;
    if (strcmp(key, "beta_slow") == 0) return strcpy(value, "1"), 1;
    if (strcmp(key, "beta_fast") == 0) return strcpy(value, "32"), 1;
    if (strcmp(key, "attention_factor") == 0 && text_of(rope_of(f->config, "factor"), factor))
        return snprintf(value, NAME, "%.17g", 1 + 0.1 * log(strtod(factor, NULL)));
    return is_yarn(f) && strcmp(key, "original_max_position_embeddings") == 0 &&
           text_of(json_object_get(f->config, "max_position_embeddings"), value);
}

/* Puts the values of keys of rotary positions, "A,B", as a list; none: nothing. */
static int put_list(Foreign *f, const char *option, const char *keys)
{
    char list[4 * NAME] = "", key[NAME], value[NAME];
    for (size_t n, at; *keys; keys += n + (keys[n] == ',')) {
        n = strcspn(keys, ","), at = strlen(list);
        snprintf(key, NAME, "%.*s", (int)n, keys);
        if (!rope_value(f, key, value))
            return error_set(ERR_INPUT, "%s: no %s in rope_scaling", f->config_file, key);
        if (strtod(value, NULL) == 0) /* our word for: left out */
            return error_set(ERR_INPUT, "%s: %s 0 is not supported", f->config_file, key);
        snprintf(list + at, sizeof list - at, "%s%s", at ? "," : "", value);
    }
    return *list ? put_setting(f, option, list) : 0;
}

static int take_setting(Foreign *f, const FamilySetting *s)
{
    char value[NAME];
    const json_t *x = s->key ? find_value(f->config, s->key) : NULL;
    if (!text_of(x, value)) TRY(find_otherwise(f, s, value));
    if (s->most && strtoul(value, NULL, 10) > s->most) snprintf(value, NAME, "%zu", s->most);
    if (!s->words) return put_setting(f, s->option, value);
    for (const FamilyWord *w = s->words; w->theirs; w++)
        if (strcmp(w->theirs, value) == 0)
            return s->keys ? put_list(f, s->option, w->ours) : put_setting(f, s->option, w->ours);
    return error_set(ERR_INPUT, "%s: %s \"%.100s\" is not supported", f->config_file, s->key,
                     value);
}

/* Returns 1 where a demand is a quotient of two keys and `value` is that. */
static int is_quotient(const json_t *config, const char *demand, const char *value)
{
    char top[NAME], over[NAME];
    const char *cut = strchr(demand, '/');
    if (!cut) return 0;
    snprintf(over, NAME, "%.*s", (int)(cut - demand), demand);
    return value_of(config, over, top) && value_of(config, cut + 1, over) &&
           strtod(value, NULL) * strtod(over, NULL) == strtod(top, NULL);
}

static int check_demand(const Foreign *f, const FamilyDemand *d)
{
    const json_t *x = find_value(f->config, d->key);
    size_t n = json_is_array(x) ? json_array_size(x) : 1, fits = 0;
    if (json_is_object(x) && json_object_size(x) == 0) return 0;
    for (size_t i = 0; i < n; i++) {
        char value[NAME] = "";
        if (text_of(json_is_array(x) ? json_array_get(x, i) : x, value))
            fits += strcmp(value, d->value) == 0 || is_quotient(f->config, d->value, value);
    }
    if (!x || json_is_null(x) || fits == n) return 0;
    return error_set(ERR_INPUT, "%s: %s other than %s is not supported", f->config_file, d->key,
                     *d->value ? d->value : "null");
}

static int find_family(Foreign *f)
{
    char type[NAME] = "", known[NAME] = "";
    value_of(f->config, "model_type", type);
    for (const Family *m = families; m->type; m++) {
        size_t n = strlen(known);
        if (strcmp(m->type, type) == 0) f->family = m;
        snprintf(known + n, NAME - n, "%s%s", n ? ", " : "", m->type);
    }
    if (f->family) return 0;
    return error_set(ERR_INPUT, "%s: model_type \"%.100s\" is not supported (%s are)",
                     f->config_file, type, known);
}

/* Finds how many tokens attention sees. Where the key is absent, transformers takes 4096 and, of Qwen's layers,
 * those from the 28th on. */
static int find_window(Foreign *f)
{
    const char *on = f->family->window;
    const json_t *window = json_object_get(f->config, "sliding_window"),
                 *from = json_object_get(f->config, "max_window_layers");
    json_int_t first = json_is_integer(from) ? json_integer_value(from) : 28,
               layers = json_integer_value(json_object_get(f->config, "num_hidden_layers"));
    if (!on || (*on && (!is_true(f->config, on) || first >= layers))) return 0;
    f->window = window ? (size_t)json_integer_value(window) : 4096;
    if (!json_is_integer(window) || json_integer_value(window) > 0) return 0;
    return error_set(ERR_INPUT, "%s: sliding_window lets a token see none", f->config_file);
}

/* ---- kinds of values: Python takes 1 and "false" for true, null for false, 4.0 for a window of 4 --------- */

static int is_truth(const char *text)
{
    return strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

/* Returns the kind of values that a key has, NULL: any; *null out: 1 where null is a value of its own. */
static const char *kind_of(const Family *f, const char *key, int *null)
{
    *null = 0;
    for (const FamilySetting *s = f->setting; s->option; s++)
        if (s->key && strcmp(s->key, key) == 0) {
            if (!s->words) return FAMILY_NUMBER;
            if (!is_truth(s->words->theirs)) return FAMILY_WORD;
            return *null = strcmp(s->otherwise, "true") == 0, FAMILY_TRUTH;
        }
    for (const FamilyDemand *d = f->demand; d->key; d++)
        if (strcmp(d->key, key) == 0) {
            *null = d->null;
            if (is_truth(d->value)) return FAMILY_TRUTH;
            return strchr(d->value, '/') || strcmp(d->value, "1") == 0 ? FAMILY_NUMBER : NULL;
        }
    for (const FamilyWord *k = family_kinds; k->theirs; k++)
        if (strcmp(k->theirs, key) == 0) return k->ours;
    return NULL;
}

static int is_kind(const json_t *x, const char *kind)
{
    if (strcmp(kind, FAMILY_NUMBER) == 0) return json_is_number(x);
    if (strcmp(kind, FAMILY_WHOLE) == 0) return json_is_integer(x);
    if (strcmp(kind, FAMILY_TRUTH) == 0) return json_is_boolean(x);
    return strcmp(kind, FAMILY_WORD) == 0 ? json_is_string(x) : json_is_object(x);
}

static int check_kinds(const Foreign *f, json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach (object, key, value) {
        int null, is_null = json_is_null(value);
        const char *kind = kind_of(f->family, key, &null);
        if (is_null && null)
            return error_set(ERR_INPUT, "%s: %.100s null is not supported", f->config_file, key);
        if (kind && !is_null && !is_kind(value, kind))
            return error_set(ERR_INPUT, "%s: %.100s has to be %s", f->config_file, key, kind);
        if (kind && strcmp(kind, FAMILY_OBJECT) == 0 && !is_null) TRY(check_kinds(f, value));
    }
    return 0;
}

static int is_listed(const Family *f, const char *key)
{
    int is = *key == '_';
    for (const char *const *name = family_ignored; *name; name++) is |= strcmp(*name, key) == 0;
    for (const FamilySetting *s = f->setting; s->option; s++)
        is |= s->key && strcmp(s->key, key) == 0;
    for (const FamilyDemand *d = f->demand; d->key; d++) is |= strcmp(d->key, key) == 0;
    return is;
}

/* Refuses keys that are neither read nor known to change nothing. */
static int check_keys(const Foreign *f)
{
    const char *key;
    json_t *value;
    json_object_foreach (f->config, key, value)
        if (!json_is_null(value) && strcmp(key, "model_type") != 0 && !is_listed(f->family, key))
            return error_set(ERR_INPUT,
                             "%s: the key %.100s is not known, and may change what the model "
                             "computes: remove it if it does not",
                             f->config_file, key);
    return 0;
}

/* Refuses what is said twice of rotary positions: versions of transformers differ in which they take. */
static int check_rope_once(const Foreign *f)
{
    const char *key;
    json_t *value;
    json_object_foreach (json_object_get(f->config, rope[1]), key, value) {
        const json_t *other = json_object_get(json_object_get(f->config, rope[0]), key);
        if (!other && strcmp(key, "rope_theta") == 0) other = json_object_get(f->config, key);
        if (other && !json_equal(value, other))
            return error_set(ERR_INPUT, "%s: %.100s of %s is also said elsewhere, otherwise",
                             f->config_file, key, rope[1]);
    }
    return 0;
}

/* Checks what is said of rotary positions: one type, and keys that are read. */
static int check_rope(const Foreign *f)
{
    static const char known[] = " rope_type type factor low_freq_factor high_freq_factor "
                                "original_max_position_embeddings rope_theta "
                                "partial_rotary_factor ",
                      of_yarn[] = " beta_slow beta_fast attention_factor ";
    const char *name;
    char type[NAME] = "", old[NAME] = "", key[NAME];
    json_t *value;
    int says = 0;
    for (int i = 0; i < 2; i++)
        json_object_foreach (json_object_get(f->config, rope[i]), name, value) {
            says |= strcmp(name, "rope_theta") != 0; /* which needs no type */
            snprintf(key, NAME, " %.100s ", name);
            if (!strstr(known, key) && !(is_yarn(f) && strstr(of_yarn, key)))
                return error_set(ERR_INPUT, "%s: %.100s in %s is not supported", f->config_file,
                                 name, rope[i]);
        }
    int told =
        text_of(rope_of(f->config, "rope_type"), type) + text_of(rope_of(f->config, "type"), old);
    if (says && !told)
        return error_set(ERR_INPUT, "%s: rope_scaling has no rope_type", f->config_file);
    if (!*type || !*old || strcmp(type, old) == 0) return 0;
    return error_set(ERR_INPUT,
                     "%s: rope_type \"%.100s\" and type \"%.100s\" of rope_scaling do "
                     "not agree",
                     f->config_file, type, old);
}

static int read_config(Foreign *f)
{
    TRY(path(f->dir, "config.json", f->config_file));
    TRY(read_json(f->config_file, &f->config));
    TRY(find_family(f));
    TRY(check_kinds(f, f->config));
    TRY(find_window(f));
    TRY(put_setting(f, "scheme", f->family->scheme));
    for (const FamilyDemand *d = f->family->demand; d->key; d++)
        if (!d->written) TRY(check_demand(f, d));
    for (const FamilySetting *s = f->family->setting; s->option; s++) TRY(take_setting(f, s));
    TRY(check_keys(f));
    TRY(check_rope(f));
    TRY(check_rope_once(f));
    for (size_t i = 0; i < f->settings; i++)
        if (strcmp(f->setting[i].key, "layers") == 0)
            f->layers = strtoul(f->setting[i].value, NULL, 10);
    if (f->layers > 0 && f->layers <= LAYERS_MOST) return 0;
    return error_set(ERR_INPUT, "%s: unusable number of layers", f->config_file);
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
    TRY(path(f->dir, name, one->file));
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
    TRY(path(f->dir, index, file));
    TRY(read_json(file, &list));
    return add_shards(f, list);
}

/* Reads what ends a text for generate, where a file says it apart. */
static int read_stop(Foreign *f)
{
    static const char name[] = "generation_config.json";
    char file[PATH];
    json_auto_t *root = NULL;
    if (!exists(f->dir, name)) return 0;
    TRY(path(f->dir, name, file));
    TRY(read_json(file, &root));
    f->stop = json_incref(json_object_get(root, "eos_token_id"));
    return 0;
}

int foreign_open(const char *dir, Foreign **out)
{
    SCOPED(foreign_drop) Foreign *f = memory_new(1, sizeof *f);
    *out = NULL;
    if (!f || !(f->dir = memory_string(dir))) return ERR_MEMORY;
    TRY(read_config(f));
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
    return f->bytes + 1; /* two bytes a number, and as many biases that the files lack */
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
    TRY(path(f->dir, "tokenizer.json", file));
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

/* ---- tensors ------------------------------------------------------------------------------------- */

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
    double *added; /* (cols of `to`) a row that is added to all rows of `to`; NULL: there is none */
    const Param *to;
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

/* Tells whether a model has the biases of a row: 1 or 0; -1: the row is of no such biases. *why out: the key. */
static int has_bias(const Foreign *f, const FamilyTensor *row, const char **why)
{
    for (int k = 0; k < FAMILY_BIASES; k++)
        if (row->how & (FAMILY_QKV_BIAS << k)) {
            const char *is = *why = f->family->bias[k];
            return strcmp(is, "true") == 0 || (strcmp(is, "false") != 0 && is_true(f->config, is));
        }
    return -1;
}

static int same_ours(const FamilyTensor *a, const FamilyTensor *b)
{
    return a->ours && b->ours && strcmp(a->ours, b->ours) == 0;
}

/* Returns the most rows that a tensor makes of ours behind the first `at`; *exact out: 1 where it has to make so many. Queries
 * are as many as the model is wide; keys and values, and both parts of a gated network, are alike. */
static size_t room_for(const Loading *l, const FamilyTensor *row, const Param *p, size_t at,
                       int *exact)
{
    size_t left = 1, room = p->rows - at;
    while (same_ours(row + left, row)) left++;
    *exact = left > 1 && !(row->how & FAMILY_MORE_ROWS);
    if (!*exact) return room;
    return left == 3 ? model_config(l->m)->width : room / left;
}

/* Makes theirs rows *row .. of ours; *row goes on behind them. */
static int want_row(Loading *l, const FamilyTensor *row, size_t layer, const Param *p, size_t *at)
{
    const char *name;
    size_t shard;
    const Backend *b = model_backend(l->m);
    const json_t *theirs = find_tensor(l->f, row->theirs, layer, &name, &shard);
    const char *why = NULL;
    int transposed = (row->how & FAMILY_TRANSPOSED) != 0, biased = has_bias(l->f, row, &why);
    if (theirs && biased == 0)
        return error_set(ERR_INPUT,
                         "%s: tensor '%s' is there, but transformers reads none where %s is false: "
                         "remove the tensor, or, if the model has it, say so in config.json",
                         l->f->dir, name, strcmp(why, "false") ? why : "that of the family");
    if (!theirs && (biased == 0 || row->how & FAMILY_MAY_MISS)) return 0;
    if (!theirs)
        return error_set(ERR_INPUT, "%s: no tensor '%s' (layer %zu)", l->f->dir, row->theirs,
                         layer);
    size_t rows = dimension(theirs, (size_t)transposed), cols = p->cols ? p->cols : 1;
    if (row->how & FAMILY_MORE_ROWS && rows > p->rows) rows = p->rows;
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
                      .more_rows = (row->how & FAMILY_MORE_ROWS) != 0}));
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
    l->added = memory_new(p->cols, sizeof *l->added);
    l->to = p;
    if (!l->added) return ERR_MEMORY;
    return want(
        l, shard,
        (Tensor){.name = name, .rows = 1, .cols = p->cols, .data = l->added, .more_rows = 1});
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
    return 0;
}

/* Wants all rows of the table, from *row on, that make one tensor of ours; *row goes on behind them. */
static int want_tensor(Loading *l, const FamilyTensor *row, size_t layer)
{
    char ours[NAME];
    size_t at = 0;
    family_name("", row->ours, layer, ours);
    const Param *p = model_find(l->m, ours);
    if (!p && row->how & FAMILY_MAY_MISS) return 0;
    if (!p) return error_set(ERR_MISUSE, "the model has no tensor %s", ours);
    for (const FamilyTensor *one = row; same_ours(one, row); one++)
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

/* Checks that no matrix and no gain of ours kept the value that it began with: only biases may be absent. */
static int check_filled(const Loading *l)
{
    const Param *p;
    for (size_t i = 0, n = model_params(l->m, &p); i < n; i++) {
        const char *dot = strrchr(p[i].name, '.');
        if (!l->used[i] && !(dot && strcmp(dot, ".bias") == 0))
            return error_set(ERR_INPUT, "%s: no tensor for %s", l->f->dir, p[i].name);
    }
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
                unread |= !t->ours || (t->how & FAMILY_MAY_MISS && !strchr(t->theirs, '#') &&
                                       !model_find(l->m, t->ours));
        if (unread) TRY(want(l, shard, (Tensor){.name = name, .unread = 1}));
    }
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
    return add_row(l);
}

int foreign_load(const Foreign *f, Model *m)
{
    size_t longest = model_config(m)->max_length;
    if (f->window && longest > f->window)
        return error_set(ERR_INPUT,
                         "%s: sliding_window is %zu, so sequences of up to %zu tokens are not "
                         "supported: take --sequence %zu",
                         f->config_file, f->window, longest, f->window);
    Loading l = {.f = f, .m = m, .wanted = memory_new(f->shards, sizeof *l.wanted)};
    l.used = memory_new(model_params(m, &l.param), sizeof *l.used);
    int code = l.wanted && l.used ? load(&l) : ERR_MEMORY;
    for (size_t i = 0; l.wanted && i < f->shards; i++) memory_free(l.wanted[i].tensor);
    memory_free_all(l.wanted, l.used, l.added);
    return code;
}
