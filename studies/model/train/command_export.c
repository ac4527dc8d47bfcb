/* command_export.c: writes a trained model as another program reads it, by the table of families that reads such models
 * (nn/foreign/family.c): the first family with a form for every setting of the model.
 *
 * None scales rows of words. So here they are scaled by sqrt(D), unless they enter as they are (--plain-input); then the output
 * keeps a matrix of its own. Sinusoids become learned positions, where a family has those. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <unistr.h>

#include "kernels/base/parsed.h"
#include "nn/foreign/family.h"
#include "nn/model/store.h"
#include "studies/model/network.h"
#include "studies/base/command.h"

/* ---- what has the form --------------------------------------------------------------------------- */

static int no_form(const char *dir, const char *why)
{
    return error_set(ERR_INPUT, "%s has no form of Hugging Face's: %s", dir, why);
}

/* Finds the name of the scheme, of those that families have, that a model's layers are steps of. */
static int find_scheme(const Network *n, const char *dir, const char **name)
{
    static const char *const names[] = {"transformer", "euler"};
    SCOPED(zoo_close) Zoo z = {0};
    SCOPED(memory_drop) char *ours = NULL;
    TRY(zoo_open(&z));
    TRY(network_scheme_text((Stacks){n->table}, &ours));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        TABLE(plain);
        SCOPED(memory_drop) char *theirs = NULL;
        TRY(zoo_find(&z, names[i], "euler", &plain));
        table_rename(plain, n->table->name);
        TRY(network_scheme_text((Stacks){plain}, &theirs));
        *name = names[i];
        if (network_scheme_same(ours, theirs)) return 0;
    }
    return no_form(dir, "its layers are steps of another scheme than transformer and euler, "
                        "which studies/api/python/torch_model.py runs");
}

/* Writes a network's value of an option, given or not; 0: it has none. */
static int value_of(const Network *n, const char *name, char value[OPTION_VALUE])
{
    const Option *p = option_named(network_groups, name);
    const char *text = options_text(n->options, name);
    if (!text) text = p->otherwise ? p->otherwise : p->type == OPTION_FLAG ? "no" : NULL;
    if (!text && strcmp(name, "norm-eps") == 0) text = "1e-5";
    if (text)
        snprintf(value, OPTION_VALUE, "%s", text);
    else
        option_value(p->type == OPTION_CHOICE ? p->values : "", 0, value);
    return *value != 0;
}

/* Returns their word for a network's value of a row with words; where rows share a key, for the values of all. NULL: there
 * is none. */
static const char *word_of(const Network *n, const Family *f, const FamilySetting *s)
{
    for (const FamilyWord *w = s->words; w->theirs; w++) {
        int fits = 1;
        for (const FamilySetting *t = f->setting; t->option; t++) {
            char value[OPTION_VALUE];
            if (!t->words || !t->key || strcmp(t->key, s->key) != 0) continue;
            for (const FamilyWord *v = t->words; v->theirs; v++)
                if (strcmp(v->theirs, w->theirs) == 0)
                    fits &= value_of(n, t->option, value) && strcmp(v->ours, value) == 0;
        }
        if (fits) return w->theirs;
    }
    return NULL;
}

/* Returns 1 where a family has a network's value of an option. Rows of words can be made plain ones, and what is added to
 * them a table. */
static int has_value(const Network *n, const Family *f, const char *option, const char *value)
{
    const FamilySetting *s = f->setting;
    int made = model_config(n->model)->positions & ~(POSITIONS_SINUSOID | POSITIONS_LEARNED);
    while (s->option && strcmp(s->option, option) != 0) s++;
    if (f->part > 0 && strcmp(option, "rotary-part") == 0) return 1;
    if (!s->option) {
        const Option *p = option_named(network_groups, option);
        return strcmp(value, p->otherwise ? p->otherwise : p->initial ? p->initial : "no") == 0;
    }
    if (s->words) return strcmp(option, "untied") == 0 || word_of(n, f, s) != NULL;
    if (s->key || strcmp(option, "plain-input") == 0) return 1;
    if (strcmp(option, "positions") == 0 && strcmp(s->otherwise, "learned") == 0) return !made;
    return strcmp(value, s->otherwise) == 0;
}

/* Returns 1 where a family can have the biases of a model: kinds of one key are there together. */
static int has_biases(const Family *f, int lacks)
{
    int has = 1;
    for (int k = 0; k < FAMILY_BIASES; k++) {
        const char *is = family_bias(f, k);
        int there = !(lacks & NO_BIAS_QKV << k);
        has &= strcmp(is, there ? "false" : "true") != 0;
        for (int i = 0; i < k; i++)
            has &= strcmp(is, family_bias(f, i)) != 0 || there == !(lacks & NO_BIAS_QKV << i);
    }
    return has;
}

/* The windows of a model: of all layers from `first` on so many tokens, 0: none; `other`: they differ. */
typedef struct {
    size_t layers, first, window;
    int other, mixed; /* mixed: of those that are windows */
} Windows;

static size_t window_at(const Network *n, size_t layer)
{
    const ModelConfig *c = model_config(n->model);
    return c->windows ? c->window[layer % c->windows] : 0;
}

static Windows find_windows(const Network *n)
{
    Windows w = {.layers = model_plan(n->model)->layers[SIDE_TARGET]};
    while (w.first < w.layers && !window_at(n, w.first)) w.first++;
    w.window = w.first < w.layers ? window_at(n, w.first) : 0;
    for (size_t i = w.first; i < w.layers; i++) {
        w.other |= window_at(n, i) != w.window;
        w.mixed |= window_at(n, i) && window_at(n, i) != w.window;
    }
    return w;
}

/* Returns 1 where a family has a form for these windows (family.h). */
static int has_windows(const Family *f, Windows w)
{
    if (!w.window || !f->window) return !w.window;
    if (f->window_every) return !w.mixed;
    return !w.other && (w.first == 0 || strcmp(f->window, USE_WINDOW) == 0);
}

static int put_windows(json_t *config, const Network *n, const Family *f)
{
    Windows w = find_windows(n);
    json_t *window = w.window ? json_integer((json_int_t)w.window) : json_null();
    if (!f->window) return json_decref(window), 0;
    int use = strcmp(f->window, USE_WINDOW) == 0,
        bad = json_object_set_new(config, "sliding_window", window);
    json_t *types = json_array();
    for (size_t i = 0; i < w.layers && f->window_every; i++)
        bad |= json_array_append_new(
            types, json_string(window_at(n, i) ? "sliding_attention" : "full_attention"));
    if (f->window_every) bad |= json_object_set(config, "layer_types", types);
    json_decref(types);
    if (use) bad |= json_object_set_new(config, USE_WINDOW, json_boolean(w.window > 0));
    if (use)
        bad |= json_object_set_new(config, "max_window_layers", json_integer((json_int_t)w.first));
    return bad ? error_set(ERR_MEMORY, "out of memory") : 0;
}

/* Finds the first setting that a family lacks, " --NAME VALUE", in lacks; "": none. */
static void find_lack(const Network *n, const Family *f, const char *scheme,
                      char lacks[FAMILY_NAME])
{
    static const char *const deciding[] = {
        "objective", "norm",        "norm-kind",    "positions",     "activation",  "first-relu",
        "adaptive",  "input-norm",  "kv-heads",     "no-final-norm", "plain-input", "head-width",
        "head-norm", "rotary-part", "rotary-local", "output-bias",   "output-norm"};
    char value[OPTION_VALUE];
    *lacks = 0;
    if (strcmp(f->scheme, scheme) != 0)
        snprintf(lacks, FAMILY_NAME, " --scheme %s", scheme);
    else if (!has_biases(f, model_config(n->model)->no_bias))
        snprintf(lacks, FAMILY_NAME, " such biases");
    else if (!has_windows(f, find_windows(n)))
        snprintf(lacks, FAMILY_NAME, " such --windows");
    for (size_t i = 0; i < sizeof deciding / sizeof *deciding && !*lacks; i++)
        if (value_of(n, deciding[i], value) && !has_value(n, f, deciding[i], value))
            snprintf(lacks, FAMILY_NAME, " --%s %s", deciding[i], value);
}

/* Finds the family whose form a model has: that of the weights that its training began with, else the first. */
static int find_form(const Network *n, const char *dir, const Family **form)
{
    char words[900] = "", lacks[FAMILY_NAME];
    const char *own = options_text(n->options, "family"), *scheme = "";
    const Family *found = NULL;
    TRY(network_alone(n, dir));
    if (n->foreign) return no_form(dir, "it is one already");
    TRY(find_scheme(n, dir, &scheme));
    for (*form = families; (*form)->type; ++*form) {
        size_t at = strlen(words);
        find_lack(n, *form, scheme, lacks);
        if (!*lacks && (!found || (own && strcmp((*form)->type, own) == 0))) found = *form;
        if (!*lacks) continue;
        const Family *first = families;
        while (first->setting != (*form)->setting) first++;
        if (first < *form) continue; /* what it lacks is said */
        snprintf(words + at, sizeof words - at, "%s%s has no%s", at ? ", " : "", (*form)->type,
                 lacks);
    }
    *form = found;
    return found ? 0 : no_form(dir, words);
}

/* ---- tensors ------------------------------------------------------------------------------------- */

/* What is written. Numbers are on the host. */
typedef struct {
    Network *net;
    size_t count;
    Tensor *tensor;  /* (count), which own name and data */
    size_t rows;     /* of positions */
    int plain, tied; /* there rows of words enter as they are; the output's matrix is theirs */
} Written;

static int put_tensor(Written *w, const char *name, size_t rows, size_t cols, double *data)
{
    TRY(memory_more(&w->tensor, w->count, sizeof *w->tensor));
    w->tensor[w->count++] =
        (Tensor){.name = memory_string(name), .rows = rows, .cols = cols, .data = data};
    return w->tensor[w->count - 1].name ? 0 : ERR_MEMORY;
}

/* Copies rows of a tensor of the model, given by its first row and its number of rows, transposed if asked; x out, owned by
 * the caller. */
static int copy(const Written *w, const Param *p, size_t first, size_t rows, int transposed,
                double **x)
{
    size_t cols = p->cols ? p->cols : 1, size = rows * cols;
    Model *m = w->net->model;
    const Backend *b = model_backend(m);
    double *plain = memory_new(size, sizeof *plain);
    *x = memory_new(size, sizeof **x);
    if (plain && *x) b->get(plain, backend_at(b, model_data(m), p->offset + first * cols), size);
    for (size_t i = 0; plain && *x && i < size; i++)
        (*x)[transposed ? i % cols * rows + i / cols : i] = plain[i];
    memory_free(plain);
    return plain && *x ? 0 : ERR_MEMORY;
}

/* Finds what is added to word 0 at each place, P(i): (rows, D). */
static int find_positions(Written *w, double **x)
{
    Model *m = w->net->model;
    size_t D = model_config(m)->width;
    const Param *embed = model_find(m, "embed.weight");
    SCOPED(memory_drop) double *word = NULL;
    double scale = model_config(m)->plain_input ? 1 : sqrt((double)D);
    SCOPED(memory_drop) int32_t *zero = memory_new(w->rows, sizeof *zero);
    *x = memory_new(w->rows, D * sizeof **x);
    if (!zero || !*x) return ERR_MEMORY;
    TRY(model_embed(m, SIDE_TARGET, w->rows, zero, *x));
    TRY(copy(w, embed, 0, 1, 0, &word));
    for (size_t i = 0; i < w->rows * D; i++) (*x)[i] -= scale * word[i % D];
    return 0;
}

/* Puts rows `first` .. of queries, keys and values in their form, where a part of a head turns. */
static int part_rows(const Written *w, size_t first, size_t rows, size_t cols, double *x)
{
    const ModelConfig *c = model_config(w->net->model);
    size_t E = model_head_width(c),
           turned = (c->heads + (c->kv_heads ? c->kv_heads : c->heads)) * E;
    SCOPED(memory_drop) double *y = memory_new(rows, cols * sizeof *y);
    if (!y) return ERR_MEMORY;
    memcpy(y, x, rows * cols * sizeof *y);
    for (size_t r = 0; r < rows && first + r < turned && c->rotary_part; r++)
        memcpy(x + r * cols, y + (r / E * E + family_place(r % E, c->rotary_part, E)) * cols,
               cols * sizeof *y);
    return 0;
}

/* Returns the rows of the i-th of n tensors of theirs that make p: queries, keys and values, or equal parts. */
static size_t piece(const Written *w, const Param *p, size_t i, size_t n)
{
    const ModelConfig *c = model_config(w->net->model);
    size_t A = c->heads * model_head_width(c);
    return n != 3 ? p->rows / n : i == 0 ? A : (p->rows - A) / 2;
}

/* Puts the second of two norms that are one there, g u + b, in the first matrix behind it, W (g2 u + b2) + c = W' (g u + b) + c'
 * with W' = W g2 / g and c' = c + W b2 - W' b; x: W or c (one of a feed-forward network). */
static int fold_norm(const Written *w, int layer, int matrix, double *x)
{
    static const char *const names[] = {"attn.1.norm.weight", "attn.1.norm.bias",
                                        "ffn.1.norm.weight", "ffn.1.norm.bias", "ffn.1.up.weight"};
    enum { GAIN, BIAS, GAIN_2, BIAS_2, MATRIX, TENSORS };
    double *v[TENSORS] = {0};
    size_t D = model_config(w->net->model)->width, rows = 0;
    int code = 0;
    for (int i = 0; i < TENSORS && code == 0; i++) {
        char name[FAMILY_NAME];
        snprintf(name, sizeof name, "layers.%d.%s", layer, names[i]);
        const Param *p = model_find(w->net->model, name);
        rows = p->rows;
        code = copy(w, p, 0, rows, 0, &v[i]);
    }
    for (size_t k = 0; k < D && code == 0; k++)
        if (v[GAIN][k] == 0) code = error_set(ERR_INPUT, "a gain of layer %d's norm is 0", layer);
    for (size_t i = 0; i < rows * D && code == 0; i++) {
        double factor = v[GAIN_2][i % D] / v[GAIN][i % D], one = v[MATRIX][i];
        if (matrix)
            x[i] *= factor;
        else
            x[i / D] += one * (v[BIAS_2][i % D] - factor * v[BIAS][i % D]);
    }
    for (int i = 0; i < TENSORS; i++) memory_free(v[i]);
    return code;
}

/* Puts the i-th of n rows of the table that make one tensor of ours, in a layer. */
static int put_row(Written *w, const FamilyTensor *t, size_t i, size_t n, const char *prefix,
                   int layer)
{
    char name[FAMILY_NAME], ours[FAMILY_NAME];
    const Model *m = w->net->model;
    const ModelConfig *c = model_config(m);
    double *x = NULL;
    family_name(prefix, t->theirs, (size_t)layer, name);
    family_name("", t->ours, (size_t)layer, ours);
    if (strcmp(ours, "position.weight") == 0) {
        int code = find_positions(w, &x);
        return code ? memory_free(x), code : put_tensor(w, name, w->rows, c->width, x);
    }
    int output = strcmp(ours, "output.weight") == 0;
    if ((output && w->tied) || t->how & FAMILY_COPIED) return 0;
    const Param *p = model_find(m, output && !c->untied ? "embed.weight" : ours);
    if (!p) return 0; /* norms of heads, biases */
    int transposed = (t->how & FAMILY_TRANSPOSED) != 0;
    size_t first = 0, rows = piece(w, p, i, n), cols = p->cols;
    for (size_t k = 0; k < i; k++) first += piece(w, p, k, n);
    int code = copy(w, p, first, rows, transposed, &x);
    if (code == 0 && t->how & FAMILY_PART) code = part_rows(w, first, rows, cols ? cols : 1, x);
    if (code == 0 && t->how & FAMILY_BEHIND_COPY) code = fold_norm(w, layer, cols > 0, x);
    if (code) return memory_free(x), code;
    for (size_t k = 0; k < p->size && t->how & FAMILY_ONE; k++) x[k] -= 1;
    if (strcmp(ours, "embed.weight") == 0 && !c->plain_input && w->plain)
        for (size_t k = 0; k < p->size; k++) x[k] *= sqrt((double)c->width);
    int head = strncmp(t->theirs, "lm_head.", 8) == 0; /* has no prefix */
    return put_tensor(w, head ? t->theirs : name, transposed ? cols : rows,
                      transposed ? rows : cols, x);
}

static int put_tensors(Written *w, const Family *f)
{
    int layers = (int)model_plan(w->net->model)->layers[SIDE_TARGET];
    for (const FamilyTensor *t = f->tensor, *end; t->theirs; t = end) {
        for (end = t + 1; t->ours && end->ours && strcmp(end->ours, t->ours) == 0;) end++;
        for (int l = 0; l < (strchr(t->theirs, '#') ? layers : 1) && t->ours; l++)
            for (const FamilyTensor *one = t; one < end; one++)
                TRY(put_row(w, one, (size_t)(one - t), (size_t)(end - t), f->prefix, l));
    }
    return 0;
}

static int write_weights(Written *w, const Family *f, const char *dir)
{
    static const StoreText meta[] = {{"format", "pt"}};
    char file[OUTPUT_PATH];
    int code = put_tensors(w, f);
    if (code == 0) code = output_path(file, dir, "model.safetensors");
    if (code == 0) code = tensors_write(file, w->tensor, w->count, STORE_F32, meta, 1);
    for (size_t i = 0; i < w->count; i++) {
        memory_free((char *)w->tensor[i].name);
        memory_free(w->tensor[i].data);
    }
    memory_free(w->tensor);
    return code;
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static int write_json(json_t *root, const char *dir, const char *name)
{
    Output o;
    if (!root) return error_set(ERR_MEMORY, "out of memory");
    int code = output_open(&o);
    if (code == 0 && json_dumpf(root, o.f, JSON_INDENT(1)) != 0)
        code = error_set(ERR_MEMORY, "out of memory");
    if (code == 0) fputc('\n', o.f), code = output_put(&o, 0, dir, name);
    json_decref(root);
    return code;
}

/* Sets a key to a number or a word of JSON, else to a string. */
static int put_value(json_t *config, const char *key, const char *text)
{
    json_t *x;
    int code = parsed_value(text, &x);
    if (code == ERR_MEMORY) return code;
    if (json_object_set_new(config, key, code == 0 ? x : json_string(text)) == 0) return 0;
    return error_set(ERR_MEMORY, "out of memory");
}

static size_t count_keys(const char *list)
{
    size_t keys = *list != 0;
    for (; *list; list++) keys += *list == ',';
    return keys;
}

/* Writes how rotary positions are scaled: by their word for a list of so many numbers (ModelConfig). */
static int put_scaling(json_t *config, const Network *n, const FamilySetting *s)
{
    const double *x = model_config(n->model)->rotary_scaling;
    size_t count = x[0] == 0 ? 0 : x[4] != 0 ? 5 : x[3] != 0 ? 4 : 1;
    const FamilyWord *w = s->words; /* has a row of 0, 1, 4 and 5 keys each (family.c) */
    while (count_keys(w->ours) != count) w++;
    json_t *scaling = json_pack("{s:s}", s->key, w->theirs);
    if (!scaling || json_object_set_new(config, "rope_scaling", scaling) != 0)
        return error_set(ERR_MEMORY, "out of memory");
    for (const char *key = w->ours; *key; key += *key == ',') {
        char name[FAMILY_NAME], value[FAMILY_NAME];
        size_t size = strcspn(key, ",");
        snprintf(name, sizeof name, "%.*s", (int)size, key);
        snprintf(value, sizeof value, "%.17g", *x++);
        TRY(put_value(scaling, name, value));
        key += size;
    }
    return 0;
}

static int put_settings(json_t *config, const Written *w, const Family *f)
{
    const Network *n = w->net;
    const Param *down = model_find(n->model, "layers.0.ffn.1.down.weight");
    char value[OPTION_VALUE];
    TRY(put_windows(config, n, f));
    snprintf(value, sizeof value, "%zu", model_head_width(model_config(n->model)));
    if (f->query) TRY(put_value(config, f->query, value));
    double E = strtod(value, NULL), R = (double)model_config(n->model)->rotary_part, part = R / E;
    if (floor(part * E) < R) part = nextafter(part, 1); /* what reads it rounds down */
    snprintf(value, sizeof value, "%.17g", part > 0 ? part : 1);
    if (f->part > 0) TRY(put_value(config, "partial_rotary_factor", value));
    for (const FamilyDemand *d = f->demand; d->key; d++)
        if (d->absent) TRY(put_value(config, d->key, "null"));
    for (int k = 0; k < FAMILY_BIASES; k++) {
        const char *is = family_bias(f, k);
        int lacks = model_config(n->model)->no_bias & NO_BIAS_QKV << k;
        if (strcmp(is, "true") && strcmp(is, "false"))
            TRY(put_value(config, is, lacks ? "false" : "true"));
    }
    for (const FamilySetting *s = f->setting; s->option; s++) {
        if (s->keys && !json_object_get(config, "rope_scaling")) TRY(put_scaling(config, n, s));
        if (!s->key || s->keys || json_object_get(config, s->key)) continue;
        int known = value_of(n, s->option, value);
        if (!known &&
            (strcmp(s->option, "rotary-base") == 0 || strcmp(s->option, "rotary-local") == 0))
            known = value_of(n, "rotary-base", value) || strcpy(value, "10000");
        if (strcmp(s->option, "inner") == 0) snprintf(value, sizeof value, "%zu", down->cols);
        if (strcmp(s->option, "head-width") == 0)
            known = snprintf(value, sizeof value, "%zu", model_head_width(model_config(n->model)));
        if (strcmp(s->option, "sequence") == 0) snprintf(value, sizeof value, "%zu", w->rows);
        if (strcmp(s->option, "untied") == 0)
            TRY(put_value(config, s->key, w->tied ? "true" : "false"));
        else if (known)
            TRY(put_value(config, s->key, s->words ? word_of(n, f, s) : value));
    }
    return 0;
}

/* Returns the token that ends a text for another program: where a tokenizer of others tells it from the one that begins
 * a text, that one; else <eos>, which a model that was trained here has seen between texts. */
static int32_t last_token(const Vocab *v)
{
    static const char *const ends[][2] = {
        {"<s>", "</s>"}, {"<|begin_of_text|>", "<|end_of_text|>"}, {"<bos>", "<eos>"}};
    int32_t end = -1;
    for (size_t i = 0; v->tokens && i < sizeof ends / sizeof *ends; i++)
        if (strcmp(v->word[v->eos], ends[i][0]) == 0) end = tokenizer_find(v->tokens, ends[i][1]);
    return end < 0 ? v->eos : end;
}

/* Returns eos_token_id: a number, or, where lines were texts of their own, whose end is <eos>, both. */
static json_t *end_of_text(const Vocab *v)
{
    json_int_t end = last_token(v);
    return v->lines && end != v->eos ? json_pack("[I, I]", end, (json_int_t)v->eos)
                                     : json_integer(end);
}

/* Writes what AutoTokenizer and generate() of transformers read beside tokenizer.json and config.json: which tokens begin and end
 * a text, and how many tokens a text may have. */
static int write_ends(const Written *w, const char *dir)
{
    const Vocab *v = &w->net->vocab;
    TRY(write_json(json_pack("{s:b, s:I, s:o}", "_from_model_config", 1, "bos_token_id",
                             (json_int_t)v->eos, "eos_token_id", end_of_text(v)),
                   dir, "generation_config.json"));
    if (!v->tokens && v->level != LEVEL_WORD) return 0;
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:I, s:b}", "tokenizer_class", "PreTrainedTokenizerFast",
                  "bos_token", v->word[v->eos], "eos_token", v->word[last_token(v)],
                  "model_max_length", (json_int_t)w->rows, "clean_up_tokenization_spaces", 0);
    if (root && v->unk >= 0 &&
        json_object_set_new(root, "unk_token", json_string(v->word[v->unk])) != 0)
        root = (json_decref(root), NULL);
    return write_json(root, dir, "tokenizer_config.json");
}

static int write_config(const Written *w, const Family *f, const char *dir)
{
    const Network *n = w->net;
    json_t *config =
        json_pack("{s:[s], s:s, s:I, s:I, s:o}", "architectures", f->architecture, "model_type",
                  f->type, "vocab_size", (json_int_t)model_config(n->model)->vocab, "bos_token_id",
                  (json_int_t)n->vocab.eos, "eos_token_id", end_of_text(&n->vocab));
    int code = put_settings(config, w, f);
    if (code == 0) return write_json(config, dir, "config.json");
    json_decref(config);
    return code;
}

/* Words between blanks and tabs; <eos> at the end of each line. */
static int write_words(const Network *n, const char *dir)
{
    json_t *vocab = json_object();
    int bad = 0;
    for (size_t i = 0; i < n->vocab.size; i++)
        bad |= json_object_set_new(vocab, n->vocab.word[i], json_integer((json_int_t)i));
    if (bad) json_decref(vocab), vocab = NULL;
    json_t *normal =
        json_pack("{s:s, s:[{s:s, s:{s:s}, s:s}, {s:s, s:{s:s}, s:s}]}", "type", "Sequence",
                  "normalizers", "type", "Replace", "pattern", "String", "\r\n", "content", "\n",
                  "type", "Replace", "pattern", "String", "\n", "content", " <eos> ");
    json_t *cut = json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex",
                            "[ \\t]+", "behavior", "Removed", "invert", 0);
    json_t *model = json_pack("{s:s, s:o, s:s}", "type", "WordLevel", "vocab", vocab, "unk_token",
                              n->vocab.unk < 0 ? "" : "<unk>");
    return write_json(json_pack("{s:s, s:n, s:n, s:[], s:o, s:o, s:n, s:n, s:o}", "version", "1.0",
                                "truncation", "padding", "added_tokens", "normalizer", normal,
                                "pre_tokenizer", cut, "post_processor", "decoder", "model", model),
                      dir, "tokenizer.json");
}

/* ---- the command --------------------------------------------------------------------------------- */

/* JSON has no other words. */
static int check_words(const Vocab *v, const char *dir)
{
    for (size_t i = 0; v->level == LEVEL_WORD && i < v->size; i++)
        if (u8_check((const uint8_t *)v->word[i], strlen(v->word[i])))
            return error_set(ERR_INPUT, "%s: word %zu of vocab.txt is not UTF-8, as JSON is", dir,
                             i + 1);
    return 0;
}

static int export_to(Network *n, const char *model, const char *dir)
{
    const Family *f = families;
    const ModelConfig *c = model_config(n->model);
    Written w = {.net = n, .rows = c->max_length};
    TRY(find_form(n, model, &f));
    for (const FamilySetting *s = f->setting; s->option; s++)
        w.plain |= strcmp(s->option, "plain-input") == 0;
    w.tied = !c->untied && c->plain_input == w.plain;
    TRY(check_words(&n->vocab, model));
    TRY(output_directory(dir));
    TRY(write_weights(&w, f, dir));
    TRY(write_config(&w, f, dir));
    TRY(write_ends(&w, dir));
    if (n->vocab.tokens) return vocab_save(&n->vocab, NULL, dir);
    if (n->vocab.level == LEVEL_WORD) return write_words(n, dir);
    progress_note("%s has no tokenizer.json: tokens of %s are pieces or characters, which have no "
                  "such form; text is to be given as ids of vocab.txt",
                  dir, model);
    return 0;
}

static int run(Options *o)
{
    SCOPED(network_free) Network n = {0};
    const char *model = options_text(o, "model"), *dir = options_text(o, "out");
    if (!model || !dir) return error_set(ERR_INPUT, "--%s is needed", model ? "out" : "model");
    TRY(output_check(dir));
    TRY(network_load(model, o, &n));
    return export_to(&n, model, dir);
}

const Command command_export = {
    .name = "export",
    .purpose = "write a trained model for another program",
    .about =
        "Writes a language model of the scheme transformer as a directory of Hugging Face's: config.json,\n"
        "generation_config.json, model.safetensors and, where tokens are words or a tokenizer's, tokenizer.json and\n"
        "tokenizer_config.json. AutoModelForCausalLM.from_pretrained reads\n"
        "it, and so does --model here, with the same logits. With layer norms and relu or gelu it is a GPT-2, whose\n"
        "learned positions sinusoids become, as many as --sequence; with RMS norms, rotary positions and swiglu or\n"
        "geglu, also with --kv-heads and --head-width, a Llama; with --head-norm and --biases none, a Qwen 3. What\n"
        "was trained from a model of another program (train --from) is of that one's family again. What none has is\n"
        "refused by name. In tokenizer.json <eos> stands for every end of a line; a text's last line has to end.\n",
    .example = "--to huggingface --model out/plain --out out/plain-hf",
    .groups = GROUPS(
        OPTION_GROUP("Export", 1,
                     {"model", OPTION_TEXT, NULL, "DIR",
                      "directory with model.safetensors and vocab.txt or tokenizer.json"},
                     {"to", OPTION_CHOICE, "huggingface", "huggingface", "form of what is written"},
                     {"out", OPTION_TEXT, NULL, "DIR",
                      "write config.json, model.safetensors and tokenizer.json"})),
    .run = run,
};
