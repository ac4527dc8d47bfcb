/* foreign_config.c: reads the config.json of another program by the table of families (family.h): settings of ours, and what is refused. */
#include "nn/foreign/foreign_inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/parsed.h"
#include "kernels/base/scoped.h"

int foreign_path(const char *dir, const char *name, char out[PATH])
{
    if (snprintf(out, PATH, "%s/%s", dir, name) < PATH) return 0;
    return error_set(ERR_INPUT, "%.100s...: name too long", dir);
}

int foreign_json(const char *file, json_t **out)
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

/* Returns whether a key of config.json is true. */
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

static int turns_by(const Foreign *f, const char *rope_type)
{
    char type[NAME] = "";
    if (!text_of(rope_of(f->config, "rope_type"), type)) text_of(rope_of(f->config, "type"), type);
    return strcmp(type, rope_type) == 0;
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
    return turns_by(f, "yarn") && strcmp(key, "original_max_position_embeddings") == 0 &&
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
    if (!*value) return 0;
    if (s->most && strtoul(value, NULL, 10) > s->most) snprintf(value, NAME, "%zu", s->most);
    if (!s->words) return put_setting(f, s->option, value);
    for (const FamilyWord *w = s->words; w->theirs; w++)
        if (strcmp(w->theirs, value) == 0)
            return s->keys ? put_list(f, s->option, w->ours) : put_setting(f, s->option, w->ours);
    return error_set(ERR_INPUT, "%s: %s \"%.100s\" is not supported", f->config_file, s->key,
                     value);
}

int foreign_has_bias(const Foreign *f, int kind)
{
    const char *is = family_bias(f->family, kind);
    return strcmp(is, "true") == 0 || (strcmp(is, "false") != 0 && is_true(f->config, is));
}

/* Says which biases there are: the model has no others, so that it is of the family after a training too. */
static int put_biases(Foreign *f)
{
    static const char *const words[] = {"none",         "qkv", NULL, "attention",
                                        "feed-forward", NULL,  NULL};
    size_t has = 0;
    for (int k = 0; k < FAMILY_BIASES; k++) has |= (size_t)foreign_has_bias(f, k) << k;
    if (has == sizeof words / sizeof *words) return 0;
    if (words[has]) return put_setting(f, "biases", words[has]);
    return error_set(ERR_INPUT, "%s: these biases are not supported", f->config_file);
}

static int check_demand(const Foreign *f, const FamilyDemand *d)
{
    const json_t *x = find_value(f->config, d->key);
    size_t n = json_is_array(x) ? json_array_size(x) : 1, fits = 0;
    if (!d->value || (json_is_object(x) && json_object_size(x) == 0)) return 0;
    for (size_t i = 0; i < n; i++) {
        char value[NAME] = "";
        if (text_of(json_is_array(x) ? json_array_get(x, i) : x, value))
            fits += strcmp(value, d->value) == 0;
    }
    int must = d->absent && !x;
    if (!must && (!x || json_is_null(x) || fits == n)) return 0;
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

/* Returns a whole number of config.json, or `otherwise`. */
static size_t whole_of(const Foreign *f, const char *key, size_t otherwise)
{
    const json_t *x = json_object_get(f->config, key);
    json_int_t n = json_integer_value(x);
    return json_is_integer(x) ? (n > 0 ? (size_t)n : 0) : otherwise;
}

/* Tells whether attention of a layer sees a window alone: as layer_types says, or as its family does without it. */
static int has_window(const Foreign *f, size_t layer)
{
    const char *on = f->family->window;
    const json_t *types = json_object_get(f->config, "layer_types");
    int may_use = strcmp(on, USE_WINDOW) == 0;
    if (may_use && !is_true(f->config, on)) return 0;
    if (json_is_array(types))
        return json_string_value(json_array_get(types, layer)) &&
               strcmp(json_string_value(json_array_get(types, layer)), "sliding_attention") == 0;
    if (may_use) return layer >= whole_of(f, "max_window_layers", 28);
    size_t every = (size_t)f->family->window_every;
    if (*on) every = whole_of(f, on, every);
    return !every || (layer + 1) % every != 0;
}

static int check_types(const Foreign *f)
{
    static const FamilyDemand full = {"layer_types", "full_attention"};
    const json_t *types = json_object_get(f->config, "layer_types");
    size_t sliding = 0, n = json_array_size(types);
    for (size_t i = 0; i < n; i++) {
        const char *word = json_string_value(json_array_get(types, i));
        sliding +=
            word && (strcmp(word, "sliding_attention") == 0 || strcmp(word, full.value) == 0);
    }
    if (!types || json_is_null(types) || (sliding == n && n == f->layers)) return 0;
    return error_set(
        ERR_INPUT, "%s: layer_types has to have full_attention or sliding_attention for each layer",
        f->config_file);
}

/* Puts how many tokens attention of each layer sees, as the shortest list that begins again. */
static int put_windows(Foreign *f)
{
    char list[WINDOWS_MOST * 12] = "";
    const json_t *said = json_object_get(f->config, "sliding_window");
    size_t all = 0,
           window = said ? whole_of(f, "sliding_window", 0) : (size_t)f->family->window_otherwise,
           every = 1;
    if (!f->family->window) return 0;
    TRY(check_types(f));
    for (size_t i = 0; i < f->layers; i++) all += (size_t)has_window(f, i);
    if (all == 0 || (!json_is_integer(said) && window == 0)) return 0;
    if (window == 0 || window > INT32_MAX)
        return error_set(ERR_INPUT, "%s: sliding_window lets a token see none", f->config_file);
    for (size_t i = 0; i < f->layers && every <= WINDOWS_MOST; i++)
        if (has_window(f, i) != has_window(f, i % every)) every = i + 1, i = 0;
    if (every > WINDOWS_MOST)
        return error_set(ERR_INPUT, "%s: windows of %zu layers in no order are not supported",
                         f->config_file, every);
    for (size_t i = 0; i < every; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%zu", i ? "," : "",
                 has_window(f, i) ? window : 0);
    return put_setting(f, "windows", list);
}

/* Finds how long a sequence may be whose rotary positions turn as by default, where the type is dynamic: its base is that of
 * `default` up to the length that the model was trained on, and grows with the sequence beyond, anew for each length. Source:
 * transformers' modeling_rope_utils.py; which of the two lengths it is depends on its version, and the smaller one is safe. */
static void find_plain(Foreign *f)
{
    static const char *const lengths[] = {"max_position_embeddings",
                                          "original_max_position_embeddings"};
    if (!turns_by(f, "dynamic")) return;
    f->plain = FOREIGN_TOKENS;
    for (size_t i = 0; i < 2; i++) {
        json_int_t n = json_integer_value(find_value(f->config, lengths[i]));
        if (n > 0 && (i == 0 || (size_t)n < f->plain)) f->plain = (size_t)n;
    }
}

/* Puts how many numbers of a head turn, where that may be a part, and reads what stands for its width in scores. */
static int put_parts(Foreign *f)
{
    char value[NAME];
    const Family *m = f->family;
    size_t width = whole_of(f, "hidden_size", 0), heads = whole_of(f, "num_attention_heads", 0),
           E = heads ? width / heads : 0;
    double part =
        value_of(f->config, "partial_rotary_factor", value) ? strtod(value, NULL) : m->part;
    if (m->query) f->query = value_of(f->config, m->query, value) ? strtod(value, NULL) : 256;
    if (m->query && !(f->query > 0 && f->query < 1e9))
        return error_set(ERR_INPUT, "%s: %s is not positive", f->config_file, m->query);
    if (m->part == 0 || part == 1) return 0;
    if (!(part > 0 && part < 1 && part * (double)E >= 2))
        return error_set(ERR_INPUT, "%s: partial_rotary_factor %g is not supported", f->config_file,
                         part);
    snprintf(value, NAME, "%zu", (size_t)(part * (double)E));
    return put_setting(f, "rotary-part", value);
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
        if (d->value && strcmp(d->key, key) == 0) {
            *null = d->null;
            if (is_truth(d->value)) return FAMILY_TRUTH;
            return strcmp(d->value, "1") == 0 ? FAMILY_NUMBER : NULL;
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
            if (!strstr(known, key) && !(turns_by(f, "yarn") && strstr(of_yarn, key)))
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

int foreign_config(Foreign *f)
{
    TRY(foreign_path(f->dir, "config.json", f->config_file));
    TRY(foreign_json(f->config_file, &f->config));
    TRY(find_family(f));
    TRY(check_kinds(f, f->config));
    find_plain(f);
    TRY(put_setting(f, "scheme", f->family->scheme));
    TRY(put_setting(f, "family", f->family->type));
    TRY(put_biases(f));
    for (const FamilyDemand *d = f->family->demand; d->key; d++) TRY(check_demand(f, d));
    for (const FamilySetting *s = f->family->setting; s->option; s++) TRY(take_setting(f, s));
    TRY(check_keys(f));
    TRY(check_rope(f));
    TRY(check_rope_once(f));
    for (size_t i = 0; i < f->settings; i++)
        if (strcmp(f->setting[i].key, "layers") == 0)
            f->layers = strtoul(f->setting[i].value, NULL, 10);
    if (f->layers > 0 && f->layers <= LAYERS_MOST) {
        TRY(put_parts(f));
        return put_windows(f);
    }
    return error_set(ERR_INPUT, "%s: unusable number of layers", f->config_file);
}
