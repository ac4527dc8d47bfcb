/* warm_start.c: `train --from`: a training begins with the weights of a trained model. */
#include <stdint.h>
#include <string.h>

#include "studies/model/trained.h"
#include "studies/model/train/rerun.h"
#include "studies/base/command.h"
#include "studies/model/train/training.h"

/* Finds each word of v, and behind them of its source, in the model's words; word (v->size and the source's) out. Returns
 * how many of v are there. */
static size_t find_words(const Vocab *v, const Vocab *there, size_t *word)
{
    size_t found = 0;
    for (size_t i = 0; i < v->size; i++) {
        int32_t id = vocab_find(there, v->word[i], strlen(v->word[i]));
        word[i] = id < 0 ? SIZE_MAX : there->above + (size_t)id;
        found += id >= 0;
    }
    if (v->source) find_words(v->source, vocab_of_source(there), word + v->size);
    return found;
}

static int begin(const Network *n, const char *dir, const Vocab *v, Model *m, size_t *word)
{
    const Param *list;
    size_t taken, found = find_words(v, &n->vocab, word), all = model_params(m, &list);
    size_t heads = model_config(m)->heads, there = model_config(n->model)->heads;
    if (n->foreign) TRY(foreign_fits(n->foreign, model_config(m)->max_length));
    if (heads != there)
        return error_set(ERR_INPUT, "--from %s: it has %zu heads, and this model %zu", dir, there,
                         heads);
    int code = model_begin(m, n->model, word, &taken);
    if (code == ERR_INPUT) {
        char words[600];
        snprintf(words, sizeof words, "%s", error_text());
        return error_set(code, "--from %s: %s", dir, words);
    }
    TRY(code);
    if (taken == 0 || found == 0)
        return error_set(ERR_INPUT, "--from %s: it has no %s of this model", dir,
                         taken ? "word" : "tensor");
    progress_note("weights from %s: %zu of %zu tensors, rows of %zu of %zu words; the others begin "
                  "by the seed",
                  dir, taken, all, found, v->size);
    return 0;
}

static int is_foreign_option(const char *name)
{
    return strcmp(name, "sequence") == 0 || strcmp(name, "context") == 0 ||
           option_named(GROUPS(&network_depth_group, &network_model_group, &network_foreign_group),
                        name);
}

static int set_if_open(Options *o, const char *name, const char *value)
{
    if (options_rank(o, name) != OPTION_DEFAULT) return 0;
    return options_set(o, OPTION_FILE, "", name, value);
}

/* Takes the shape of a model of another program. */
static int take_shape(Options *o, const Network *n)
{
    const StoreText *s;
    TRY(set_if_open(o, "scheme", n->table->name));
    for (size_t i = 0, count = foreign_settings(n->foreign, &s); i < count; i++)
        if (is_foreign_option(s[i].key)) TRY(set_if_open(o, s[i].key, s[i].value));
    return 0;
}

int train_from(Options *o)
{
    static const char *const others[] = {"tokenizer", "bpe", "codes"};
    const char *dir = options_text(o, "from"), *out = options_text(o, "out");
    char file[OUTPUT_PATH];
    SCOPED(network_free) Network n = {0};
    if (!dir) return 0;
    int code = network_describe(dir, NULL, &n, file), cut = 0;
    if (code != 0) return out && rerun_has_state(out) ? 0 : code;
    if (n.foreign) TRY(take_shape(o, &n));
    for (size_t i = 0; i < 3; i++) cut |= options_rank(o, others[i]) != OPTION_DEFAULT;
    if (n.vocab.tokens && !cut && options_choice(o, "level") == LEVEL_WORD)
        return options_set(o, OPTION_FILE, "", "tokenizer", tokenizer_file(n.vocab.tokens));
    return 0;
}

int train_begin(const Options *o, const Vocab *v, Model *m)
{
    const char *dir = options_text(o, "from");
    SCOPED(network_free) Network n = {0};
    TRY(trained_on_machine(dir, o, &n));
    SCOPED(memory_drop)
    size_t *word = memory_new(v->size + (v->source ? v->source->size : 0), sizeof *word);
    return word ? begin(&n, dir, v, m, word) : ERR_MEMORY;
}
