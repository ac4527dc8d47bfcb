/* trained.c: turns DIR/model.safetensors into a particle system in double precision. */
#include "studies/model/trained.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "studies/base/command.h"

#define PREFIX "network"

enum { PARTICLES = 8 };

int trained_named(const char *name)
{
    size_t n = strlen(PREFIX);
    return strncmp(name, PREFIX, n) == 0 && (name[n] == ':' || name[n] == '\0');
}

/* Splits network:DIR or network:DIR:LAYER; only digits behind the last colon are a layer. */
static int split_name(const char *name, char dir[OUTPUT_PATH], int *layer)
{
    const char *path = name + strlen(PREFIX) + (name[strlen(PREFIX)] == ':');
    const char *colon = strrchr(path, ':');
    size_t n = strlen(path);
    *layer = 0;
    if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
        unsigned long k = strtoul(colon + 1, NULL, 10);
        *layer = k < INT_MAX ? (int)k : INT_MAX;
        n = (size_t)(colon - path);
    }
    if (n == 0 || n >= OUTPUT_PATH)
        return error_set(ERR_INPUT, "system %s: expected " TRAINED_WORDS, name);
    memcpy(dir, path, n);
    dir[n] = '\0';
    return 0;
}

/* ---- the model --------------------------------------------------------------------------------- */

static int set_size(Options *o, const char *name, size_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    return options_set(o, OPTION_ARGUMENT, "", name, text);
}

int trained_on_machine(const char *dir, const Options *given, Network *n)
{
    static const OptionGroup *const groups[] = {&network_machine_group, NULL};
    SCOPED(options_drop) Options *o = NULL;
    TRY(options_new(groups, &o));
    TRY(options_given(o, given));
    return network_load(dir, o, n);
}

int trained_load(const char *dir, size_t tokens, size_t threads, Network *n)
{
    static const OptionGroup *const groups[] = {&network_text_group, &network_training_group,
                                                &network_machine_group, NULL};
    SCOPED(options_drop) Options *o = NULL;
    TRY(options_new(groups, &o));
    TRY(options_set(o, OPTION_ARGUMENT, "", "precision", "f64"));
    TRY(set_size(o, "threads", threads));
    if (tokens) TRY(set_size(o, "sequence", tokens));
    if (tokens) TRY(set_size(o, "batch-tokens", tokens));
    return network_load(dir, o, n);
}

/* ---- the system -------------------------------------------------------------------------------- */

static int set_initial(Model *m, System *s)
{
    s->initial = memory_new(s->n, s->d * sizeof *s->initial);
    SCOPED(memory_drop) int32_t *token = memory_new(s->n, sizeof *token);
    if (!s->initial || !token) return ERR_MEMORY;
    for (size_t i = 0; i < s->n; i++) token[i] = (int32_t)i;
    return model_embed(m, SIDE_TARGET, s->n, token, s->initial);
}

static int make(const char *dir, int layer, size_t particles, Network *n, System **out)
{
    size_t V = n->vocab.size, tokens = particles ? particles : V < PARTICLES ? V : PARTICLES;
    if (tokens > V)
        return error_set(ERR_INPUT,
                         "%s: expected 1 to %zu particles, a token of the vocabulary each", dir, V);
    if (!model_smooth(n->model))
        return error_set(ERR_INPUT,
                         "network:DIR needs a smooth field; this model has ReLU, whose kinks no "
                         "order above 1 survives: train with --activation gelu");
    if (n->encoder)
        return error_set(ERR_INPUT,
                         "%s is an encoder and a decoder: 'trotter truncation --side' measures its "
                         "layers; network:DIR is a language model's",
                         dir);
    TRY(bridge_system(n->model, &(LayerOf){.layer = layer, .n = tokens}, out));
    (*out)->t_end = 0.25;
    (*out)->h0 = 0.0625;
    return set_initial(n->model, *out);
}

int trained_system(const char *name, size_t particles, Network *n, System **out)
{
    char dir[OUTPUT_PATH];
    int layer;
    *n = (Network){0};
    *out = NULL;
    TRY(split_name(name, dir, &layer));
    TRY(trained_load(dir, particles ? particles : PARTICLES, 1, n));
    int code = make(dir, layer, particles, n, out);
    if (code == 0) return 0;
    system_free(*out);
    network_free(n);
    *out = NULL;
    return code;
}

/* ---- its sets ---------------------------------------------------------------------------------- */

static int check_operator(const Network *n, const Table *t, int op, int kind)
{
    int has = plan_sets(model_plan(n->model), SIDE_TARGET, kind), wants = table_sets(t, op);
    if (wants <= has) return 0;
    return error_set(ERR_INPUT, "%s reads %c%d; the model, trained as %s, has %d set%s of %c",
                     t->name, table_letters[op], wants, n->table->name, has, has == 1 ? "" : "s",
                     table_letters[op]);
}

int trained_check(const Network *n, const Selection *s)
{
    for (size_t i = 0; n->model && i < s->count; i++) {
        TRY(check_operator(n, s->scheme[i], OP_F, SLOT_ATTENTION));
        TRY(check_operator(n, s->scheme[i], OP_G, SLOT_FEEDFORWARD));
    }
    return 0;
}
