/* command_export.c: writes a trained model as another program reads it: a GPT-2 of Hugging Face's `transformers`.
 *
 * That form has every language model of the scheme `transformer` with layer norms before sublayers and an activation of
 * one matrix. GPT-2 adds learned positions to rows of words that it does not scale; so here rows of words are scaled by
 * sqrt(D), sinusoids become learned positions, and the output keeps a matrix of its own. */
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "nn/foreign/family.h"
#include "nn/model/store.h"
#include "nn/run/train.h"
#include "studies/model/network.h"
#include "studies/tools/command.h"

static const Option export_options[] = {
    {"model", OPTION_TEXT, NULL, "DIR",
     "directory with model.safetensors and vocab.txt or tokenizer.json"},
    {"to", OPTION_CHOICE, "huggingface", "huggingface", "form of what is written"},
    {"out", OPTION_TEXT, NULL, "DIR", "write config.json, model.safetensors and tokenizer.json"},
    {0},
};
static const OptionGroup export_group = {"Export", 1, export_options};
static const OptionGroup *const groups[] = {&export_group, NULL};

/* ---- what has the form --------------------------------------------------------------------------- */

static int no_form(const char *dir, const char *why)
{
    return error_set(ERR_INPUT, "%s has no form of Hugging Face's: %s", dir, why);
}

static int check_scheme(const Network *n, const char *dir)
{
    Network plain = {0};
    Zoo z;
    char *texts[2] = {NULL, NULL};
    TRY(zoo_open(&z));
    int code = zoo_find(&z, "transformer", "euler", &plain.table);
    zoo_close(&z);
    if (code == 0) code = network_scheme_text((Stacks){n->table}, &texts[0]);
    if (code == 0) table_rename(plain.table, n->table->name);
    if (code == 0) code = network_scheme_text((Stacks){plain.table}, &texts[1]);
    if (code == 0 && !network_scheme_same(texts[0], texts[1]))
        code = no_form(dir, "its layers are steps of another scheme than transformer, "
                            "which studies/python/torch_model.py runs");
    table_free(plain.table);
    memory_free(texts[0]);
    memory_free(texts[1]);
    return code;
}

static int check_form(const Network *n, const char *dir)
{
    const ModelConfig *c = model_config(n->model);
    TRY(network_alone(n, dir));
    if (n->foreign) return no_form(dir, "it is one already");
    TRY(check_scheme(n, dir));
    if (model_plan(n->model)->post) return no_form(dir, "its norms are behind sublayers");
    if (c->positions & ~(POSITIONS_SINUSOID | POSITIONS_LEARNED))
        return no_form(dir, "its positions are relative or rotary");
    if (c->norm != NORM_LAYER) return no_form(dir, "its norms are RMS norms");
    if (act_gated(c->act) || c->first_relu) return no_form(dir, "its activation");
    if (c->tails) return no_form(dir, "its embedding is adaptive");
    return c->no_final_norm ? no_form(dir, "it has no norm behind the last layer") : 0;
}

/* ---- tensors ------------------------------------------------------------------------------------- */

/* What is written. Numbers are on the host. */
typedef struct {
    Network *net;
    size_t count;
    Tensor *tensor; /* (count), which own name and data */
    size_t rows;    /* of positions */
} Written;

static int put_tensor(Written *w, const char *name, size_t rows, size_t cols, double *data)
{
    TRY(memory_more(&w->tensor, w->count, sizeof *w->tensor));
    w->tensor[w->count++] =
        (Tensor){.name = memory_string(name), .rows = rows, .cols = cols, .data = data};
    return w->tensor[w->count - 1].name ? 0 : ERR_MEMORY;
}

/* Copies a tensor of the model, transposed if asked; x out, owned by the caller. */
static int copy(const Written *w, const Param *p, int transposed, double **x)
{
    Model *m = w->net->model;
    const Backend *b = model_backend(m);
    double *plain = memory_new(p->size, sizeof *plain);
    *x = memory_new(p->size, sizeof **x);
    if (plain && *x) b->get(plain, backend_at(b, model_data(m), p->offset), p->size);
    for (size_t i = 0; plain && *x && i < p->size; i++)
        (*x)[transposed ? i % p->cols * p->rows + i / p->cols : i] = plain[i];
    memory_free(plain);
    return plain && *x ? 0 : ERR_MEMORY;
}

/* Finds what is added to word 0 at each place, P(i): (rows, D). */
static int find_positions(Written *w, double **x)
{
    Model *m = w->net->model;
    size_t D = model_config(m)->width;
    const Param *embed = model_find(m, "embed.weight");
    double *word, scale = model_config(m)->plain_input ? 1 : sqrt((double)D);
    int32_t *zero = memory_new(w->rows, sizeof *zero);
    *x = memory_new(w->rows, D * sizeof **x);
    int code = zero && *x ? model_embed(m, SIDE_TARGET, w->rows, zero, *x) : ERR_MEMORY;
    memory_free(zero);
    if (code == 0) code = copy(w, embed, 0, &word);
    for (size_t i = 0; i < w->rows * D && code == 0; i++) (*x)[i] -= scale * word[i % D];
    if (code == 0) memory_free(word);
    return code;
}

static int put_row(Written *w, const FamilyTensor *t, const char *prefix, int layer)
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
    const Param *p = model_find(m, output && !c->untied ? "embed.weight" : ours);
    int transposed = (t->how & FAMILY_TRANSPOSED) != 0;
    int code = copy(w, p, transposed, &x);
    if (code) return memory_free(x), code;
    if (strcmp(ours, "embed.weight") == 0 && !c->plain_input)
        for (size_t i = 0; i < p->size; i++) x[i] *= sqrt((double)c->width);
    return put_tensor(w, output ? t->theirs : name, transposed ? p->cols : p->rows,
                      transposed ? p->rows : p->cols, x);
}

static int put_tensors(Written *w, const Family *f)
{
    int layers = (int)model_plan(w->net->model)->layers[SIDE_TARGET];
    for (const FamilyTensor *t = f->tensor; t->theirs; t++)
        for (int l = 0; l < (strchr(t->theirs, '#') ? layers : 1) && t->ours; l++)
            TRY(put_row(w, t, f->prefix, l));
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

static int write_config(const Written *w, const char *dir)
{
    static const char *const act[] = {
        [ACT_RELU] = "relu", [ACT_GELU] = "gelu_new", [ACT_ERF] = "gelu"};
    const Network *n = w->net;
    const ModelConfig *c = model_config(n->model);
    const Param *up = model_find(n->model, "layers.0.ffn.1.up.weight");
    return write_json(
        json_pack("{s:[s], s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:f, s:b, s:I, s:I}",
                  "architectures", "GPT2LMHeadModel", "model_type", "gpt2", "vocab_size",
                  (json_int_t)c->vocab, "n_embd", (json_int_t)c->width, "n_layer",
                  (json_int_t)model_plan(n->model)->layers[SIDE_TARGET], "n_head",
                  (json_int_t)c->heads, "n_inner", (json_int_t)up->rows, "n_positions",
                  (json_int_t)w->rows, "activation_function", act[c->act], "layer_norm_epsilon",
                  c->norm_eps > 0 ? c->norm_eps : 1e-5, "tie_word_embeddings", 0, "bos_token_id",
                  (json_int_t)n->vocab.eos, "eos_token_id", (json_int_t)n->vocab.eos),
        dir, "config.json");
}

/* Words between blanks and tabs; <eos> at the end of each line. */
static int write_words(const Network *n, const char *dir)
{
    json_t *vocab = json_object();
    for (size_t i = 0; i < n->vocab.size; i++)
        json_object_set_new(vocab, n->vocab.word[i], json_integer((json_int_t)i));
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

static int export_to(Network *n, const char *model, const char *dir)
{
    const Family *f = families;
    Written w = {.net = n, .rows = model_config(n->model)->max_length};
    while (strcmp(f->type, "gpt2") != 0) f++;
    TRY(check_form(n, model));
    TRY(output_directory(dir));
    TRY(write_weights(&w, f, dir));
    TRY(write_config(&w, dir));
    if (n->vocab.tokens) return vocab_save(&n->vocab, NULL, dir);
    if (n->vocab.level == LEVEL_WORD) return write_words(n, dir);
    progress_note("%s has no tokenizer.json: tokens of %s are pieces or characters, which have no "
                  "such form; text is to be given as ids of vocab.txt",
                  dir, model);
    return 0;
}

static int run(Options *o)
{
    Network n;
    const char *model = options_text(o, "model"), *dir = options_text(o, "out");
    if (!model || !dir) return error_set(ERR_INPUT, "--%s is needed", model ? "out" : "model");
    TRY(output_check(dir));
    TRY(network_load(model, o, &n));
    int code = export_to(&n, model, dir);
    network_free(&n);
    return code;
}

const Command command_export = {
    .name = "export",
    .purpose = "write a trained model for another program",
    .about =
        "Writes a language model of the scheme transformer as a directory of Hugging Face's, a GPT-2: config.json,\n"
        "model.safetensors and, where tokens are words or a tokenizer's, tokenizer.json.\n"
        "GPT2LMHeadModel.from_pretrained reads it, and so does --model here, with the same logits. Sinusoidal positions become learned ones of as many places\n"
        "as the model was trained on (--sequence). What has no such form is refused: other schemes, norms behind\n"
        "sublayers, relative or rotary positions, gated networks. In tokenizer.json <eos> stands for every end of a\n"
        "line; a text's last line has to end.\n",
    .example = "--to huggingface --model out/plain --out out/plain-hf",
    .groups = groups,
    .run = run,
};
