/* metadata.c: model -> metadata, metadata -> options -> model (network.h). */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "nn/text/corpus.h"
#include "studies/base/command.h"
#include "studies/model/network.h"

/* ---- model -> metadata --------------------------------------------------------------------------- */

int network_metadata_put(Metadata *d, const char *key, const char *value)
{
    TRY(memory_more(&d->item, d->count, sizeof *d->item));
    StoreText *item = &d->item[d->count++];
    *item = (StoreText){memory_string(key), memory_string(value)};
    return item->key && item->value ? 0 : ERR_MEMORY;
}

static int put_size(Metadata *d, const char *key, size_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    return network_metadata_put(d, key, text);
}

int network_scheme_text(Stacks s, char **text)
{
    Output f;
    TRY(output_open(&f));
    int code = table_print(s.layers, f.f);
    if (code == 0 && s.encoder) code = fputc('\n', f.f), code = table_print(s.encoder, f.f);
    return output_take(&f, code, text);
}

/* Returns the first line from `line` on that is no remark. */
static const char *skip_remarks(const char *line)
{
    for (const char *end; end = line + strcspn(line, "\n"), scheme_is_remark(line, end);)
        line = *end ? end + 1 : end;
    return line;
}

int network_scheme_same(const char *a, const char *b)
{
    for (;;) {
        a = skip_remarks(a), b = skip_remarks(b);
        size_t n = strcspn(a, "\n");
        if (n != strcspn(b, "\n") || memcmp(a, b, n) != 0) return 0;
        if (!a[n] || !b[n]) return a[n] == b[n];
        a += n + 1, b += n + 1;
    }
}

static int put_scheme(Metadata *d, Stacks s)
{
    SCOPED(memory_drop) char *text = NULL;
    TRY(network_scheme_text(s, &text));
    TRY(network_metadata_put(d, "scheme", s.layers->name));
    if (s.encoder) TRY(network_metadata_put(d, "encoder", s.encoder->name));
    return network_metadata_put(d, "scheme_text", text);
}

static int names_scheme(const char *option)
{
    static const char *const names[] = {"scheme", "encoder", "decoder"};
    int does = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) does |= strcmp(option, names[i]) == 0;
    return does;
}

/* Adds the recorded options. The names of source files are no part of a model, and its tables already name the
 * schemes. */
static int put_options(Metadata *d, const Options *o)
{
    const Option *p;
    const char *text;
    for (size_t i = 0; options_recorded(o, i, &p, &text); i++)
        if (!(p->flags & OPTION_SOURCE) && !names_scheme(p->name) && strcmp(p->name, "gelu") != 0)
            TRY(network_metadata_put(d, p->name, text));
    return 0;
}

/* Adds what decides the function and was given by no option, so that a reader need not know our defaults. */
static int put_defaults(Metadata *d, const Options *o, const ModelConfig *c)
{
    const Option *p;
    if (c->act == ACT_GELU || c->act == ACT_ERF || c->act == ACT_GEGLU)
        TRY(network_metadata_put(d, "gelu", c->act == ACT_ERF ? "erf" : "tanh"));
    for (size_t i = 0; (p = options_otherwise(o, i)); i++)
        if (p->flags & OPTION_MAP) TRY(network_metadata_put(d, p->name, p->otherwise));
    return 0;
}

static void print_hash(uint64_t hash, char digits[17])
{
    snprintf(digits, 17, "%016" PRIx64, hash);
}

static int put_hash(Metadata *d, const char *key, uint64_t hash)
{
    char digits[17];
    print_hash(hash, digits);
    return network_metadata_put(d, key, digits);
}

static int put_all(Metadata *d, const Options *o, Stacks s, const Corpus *c, const Model *m)
{
    size_t inner;
    BridgeOptions bridge = network_bridge(o);
    TRY(bridge_inner(s.layers, &bridge, &inner));
    TRY(network_metadata_put(d, "format",
                             s.encoder              ? "trotter encoder and decoder 1"
                             : bridge.bidirectional ? "trotter encoder 1"
                                                    : "trotter language model 1"));
    TRY(network_metadata_put(d, "trotter", TROTTER_VERSION));
    TRY(put_scheme(d, s));
    TRY(put_options(d, o));
    TRY(put_defaults(d, o, model_config(m)));
    TRY(put_size(d, "ffn_inner", inner));
    if (s.encoder) {
        TRY(bridge_inner(s.encoder, &bridge, &inner));
        TRY(put_size(d, "encoder_ffn_inner", inner));
    }
    TRY(put_size(d, "relative_clip", NETWORK_CLIP));
    TRY(put_size(d, "vocabulary_size", c->vocab.size));
    if (c->vocab.source) TRY(put_size(d, "source_vocabulary_size", c->vocab.source->size));
    /* Words and merges lie in files beside the model's. Without a checksum, files that do not belong together would
     * still give numbers. */
    TRY(put_hash(d, "vocabulary_checksum", vocab_hash(&c->vocab)));
    if (c->bpe) TRY(put_hash(d, "codes_checksum", bpe_hash(c->bpe)));
    if (c->vocab.tokens) TRY(put_hash(d, "tokenizer_checksum", tokenizer_hash(c->vocab.tokens)));
    TRY(put_hash(d, "corpus_checksum", corpus_checksum(c)));
    TRY(put_size(d, "corpus_tokens", c->text[SPLIT_TRAIN].tokens));
    return put_size(d, "parameters", model_size(m));
}

int network_metadata(const Options *o, Stacks s, const Corpus *c, const Model *m, Metadata *out)
{
    *out = (Metadata){0};
    int code = put_all(out, o, s, c, m);
    if (code != 0) network_metadata_free(out);
    return code;
}

void network_metadata_free(Metadata *d)
{
    for (size_t i = 0; i < d->count; i++) {
        memory_free(d->item[i].key);
        memory_free(d->item[i].value);
    }
    memory_free(d->item);
    *d = (Metadata){0};
}

int network_config_text(const Options *o, char **text)
{
    Output f;
    TRY(output_open(&f));
    fprintf(f.f, "# trotter train --config FILE does this run again\n");
    int code = options_write(o, 0, f.f);
    return output_take(&f, code, text);
}

/* ---- metadata -> model --------------------------------------------------------------------------- */

/* Takes an option from the metadata. An option that decides the function of the weights must be there unless its row
 * has `otherwise`. The rest have defaults, so another program's file need not have the options of our training. */
static int take_option(Options *o, const char *file, const Option *p)
{
    SCOPED(memory_drop) char *value = NULL;
    char where[600];
    int code = store_meta(file, p->name, &value);
    if (code == ERR_INPUT && (!(p->flags & OPTION_MAP) || p->otherwise)) return 0;
    TRY(code);
    snprintf(where, sizeof where, "%.500s: metadata ", file);
    return options_set(o, OPTION_FILE, where, p->name, value);
}

/* Gives a table the name that it had when its text was printed. */
static int take_name(const char *file, const char *key, Table *t)
{
    SCOPED(memory_drop) char *name = NULL;
    TRY(store_meta(file, key, &name));
    table_rename(t, name);
    if (scheme_named(name)) return 0;
    return error_set(ERR_INPUT,
                     "%s: metadata %s: expected a scheme's name (letters, digits, - _ . + : /)",
                     file, key);
}

int network_schemes(const char *file, const char *text, size_t bytes, Table *out[2])
{
    Table **list = NULL;
    size_t count = 0;
    int code = scheme_parse(file, text, bytes, &list, &count);
    if (code == 0 && count != 1 && (count != 2 || list[0]->colours == 2))
        code =
            error_set(ERR_INPUT, "%s: expected one scheme, or a decoder's and an encoder's", file);
    for (size_t i = 0; i < count; i++)
        if (code == 0)
            out[i] = list[i];
        else
            table_free(list[i]);
    memory_free(list);
    return code;
}

/* Reads the table of the text, and for two sides the encoder's too. */
static int take_schemes(const char *file, Network *n)
{
    SCOPED(memory_drop) char *text = NULL;
    Table *read[2] = {NULL, NULL};
    TRY(store_meta(file, "scheme_text", &text));
    int code = network_schemes(file, text, strlen(text), read);
    n->table = read[0];
    n->encoder = read[1];
    TRY(code);
    TRY(take_name(file, "scheme", n->table));
    return n->encoder ? take_name(file, "encoder", n->encoder) : 0;
}

/* Puts the file before the words of a failure. */
static int of_file(const char *file, int code)
{
    char words[900];
    if (code == 0) return 0;
    snprintf(words, sizeof words, "%s", error_text());
    return error_set(code, "%s: %s", file, words);
}

/* Returns ERR_INPUT where the metadata hold another checksum than that of the file `beside`. A file of another
 * program, or one from before 0.2, holds none. */
static int check_hash(const char *file, const char *key, uint64_t hash, const char *beside,
                      const char *what)
{
    char digits[17];
    SCOPED(memory_drop) char *told = NULL;
    int code = store_meta(file, key, &told);
    if (code != 0) return code == ERR_INPUT ? 0 : code;
    print_hash(hash, digits);
    if (strcmp(told, digits) == 0) return 0;
    return error_set(ERR_INPUT,
                     "%s does not hold the %s of %s: it was altered, or is of another model",
                     beside, what, file);
}

/* Writes the name of a file that lies beside the weights, for which find_weights leaves room. */
static void beside(const char *file, const char *name, char out[OUTPUT_PATH])
{
    const char *slash = strrchr(file, '/');
    int folder = slash ? (int)(slash - file) + 1 : 0;
    snprintf(out, OUTPUT_PATH, "%.*s%s", folder, file, name);
}

/* Tells in *has whether the metadata have a key. */
static int has_meta(const char *file, const char *key, int *has)
{
    SCOPED(memory_drop) char *told = NULL;
    int code = store_meta(file, key, &told);
    *has = code == 0;
    return code == ERR_INPUT ? 0 : code;
}

/* Reads the merges where the metadata have their checksum. */
static int take_codes(Network *n, const char *file)
{
    char codes[OUTPUT_PATH];
    int has;
    TRY(has_meta(file, "codes_checksum", &has));
    if (!has) return 0;
    beside(file, "codes.bpe", codes);
    n->codes = memory_string(codes);
    if (!n->codes) return ERR_MEMORY;
    TRY(bpe_read(codes, &n->bpe));
    if (options_choice(n->options, "vocabularies") > 0) {
        char source[OUTPUT_PATH];
        Bpe *b;
        beside(file, "source-codes.bpe", source);
        TRY(bpe_read(source, &b));
        bpe_set_source(n->bpe, b);
        n->source_codes = memory_string(source);
        if (!n->source_codes) return ERR_MEMORY;
    }
    return check_hash(file, "codes_checksum", bpe_hash(n->bpe), codes, "merges");
}

/* Reads the words, or the tokens where the metadata have the checksum of a tokenizer. */
static int take_words(Network *n, const char *file)
{
    char words[OUTPUT_PATH];
    int tokens;
    TRY(has_meta(file, "tokenizer_checksum", &tokens));
    beside(file, tokens ? "tokenizer.json" : "vocab.txt", words);
    TRY(tokens ? vocab_tokenizer(words, &n->vocab) : vocab_read(words, &n->vocab));
    if (options_choice(n->options, "vocabularies") > 0) {
        char source[OUTPUT_PATH];
        Vocab v;
        beside(file, "source-vocab.txt", source);
        TRY(vocab_read(source, &v));
        v.level = options_text(n->options, "bpe") || options_text(n->options, "codes")
                      ? LEVEL_PIECE
                      : options_choice(n->options, "level");
        TRY(vocab_apart(&n->vocab, &v));
    }
    if (tokens)
        TRY(check_hash(file, "tokenizer_checksum", tokenizer_hash(n->vocab.tokens), words,
                       "tokenizer"));
    return check_hash(file, "vocabulary_checksum", vocab_hash(&n->vocab), words, "words");
}

/* Builds the model and loads its weights. The metadata may ask for any size, so the file sets a limit: it holds
 * every number of the model in at least 2 bytes (F16, BF16). */
static int build(Network *n, const char *file)
{
    const Backend *b;
    struct stat s;
    if (!n->foreign && stat(file, &s) != 0)
        return error_set(ERR_INPUT, "%s: %s", file, strerror(errno));
    size_t most = n->foreign ? foreign_most(n->foreign) : (size_t)s.st_size / sizeof(uint16_t) + 1;
    TRY(network_backend(n->options, &b));
    Plan *plan;
    TRY(of_file(file, network_plan(n->options, (Stacks){n->table, n->encoder}, &plan)));
    TRY(of_file(file, network_model_of(n->options, plan, &n->vocab, b, 0, most, &n->model)));
    return n->foreign ? foreign_load(n->foreign, n->model) : store_load(n->model, file);
}

/* Finds the weights of a directory, or those of which it is the file. */
static int find_weights(const char *dir, char file[OUTPUT_PATH])
{
    static const char ending[] = ".safetensors";
    enum { MOST = OUTPUT_PATH - (sizeof "source-codes.bpe" - sizeof "a.safetensors") };
    size_t n = strlen(dir), e = sizeof ending - 1;
    if (n <= e || strcmp(dir + n - e, ending) != 0)
        return output_path(file, dir, "model.safetensors");
    if (snprintf(file, MOST, "%s", dir) < MOST) return 0;
    return error_set(ERR_INPUT, "%.100s...: name too long", dir);
}

/* Reads all but the model; file out: the file of the weights. */
static int describe(Network *n, const char *dir, const Options *given, char file[OUTPUT_PATH])
{
    TRY(find_weights(dir, file));
    TRY(options_new(network_groups, &n->options));
    if (given) TRY(options_given(n->options, given));
    TRY(take_schemes(file, n));
    for (const OptionGroup *const *g = network_groups; *g; g++) /* metadata names no machine */
        for (const Option *p = (*g)->option; p->name && *g != &network_machine_group; p++)
            TRY(take_option(n->options, file, p));
    TRY(take_words(n, file));
    TRY(take_codes(n, file));
    n->vocab.lines =
        n->encoder != NULL || options_choice(n->options, "context") == CONTEXT_SENTENCE;
    if (n->vocab.tokens) return 0;
    n->vocab.level = n->bpe ? LEVEL_PIECE : options_choice(n->options, "level");
    return 0;
}

static int take_scheme(Network *n, const char *name)
{
    SCOPED(zoo_close) Zoo z = {0};
    TRY(zoo_open(&z));
    return zoo_find(&z, name, "euler", &n->table);
}

/* Reads all but the model of a directory of another program. */
static int describe_foreign(Network *n, const char *dir, const Options *given,
                            char file[OUTPUT_PATH])
{
    const StoreText *s;
    char where[600];
    TRY(output_path(file, dir, "config.json"));
    snprintf(where, sizeof where, "%.500s: ", file);
    TRY(foreign_open(dir, &n->foreign));
    TRY(options_new(network_groups, &n->options));
    if (given) TRY(options_given(n->options, given));
    for (size_t i = 0, count = foreign_settings(n->foreign, &s); i < count; i++)
        if (strcmp(s[i].key, "scheme") == 0)
            TRY(take_scheme(n, s[i].value));
        else
            TRY(options_set(n->options, OPTION_FILE, where, s[i].key, s[i].value));
    TRY(foreign_words(n->foreign, &n->vocab));
    n->vocab.lines = options_choice(n->options, "context") == CONTEXT_SENTENCE;
    if (!n->vocab.lines || foreign_ends(n->foreign)) return 0;
    return error_set(
        ERR_INPUT,
        "%s: the token that begins a text is not the one that ends it, so a line alone "
        "has no end to predict: leave --context sentence out",
        dir);
}

int network_describe(const char *dir, const Options *given, Network *n, char file[OUTPUT_PATH])
{
    *n = (Network){0};
    int code =
        foreign_is(dir) ? describe_foreign(n, dir, given, file) : describe(n, dir, given, file);
    if (code != 0) network_free(n);
    return code;
}

int network_load(const char *dir, const Options *given, Network *n)
{
    char file[OUTPUT_PATH];
    TRY(network_describe(dir, given, n, file));
    if (n->foreign) progress_show("reading %s", dir);
    int code = build(n, file);
    if (n->foreign) progress_clear();
    if (code != 0) network_free(n);
    return code;
}

int network_own_corpus(const Network *n, int untested, Corpus *c)
{
    CorpusChoice w = network_choice(n->options);
    w.untested = untested;
    if (!corpus_is_file(options_text(n->options, "corpus"))) memset(w.parts, 0, sizeof w.parts);
    if (n->bpe) w.merges = 0, w.codes = n->codes, w.source_codes = n->source_codes;
    if (n->vocab.tokens) w.vocab = &n->vocab, w.dropout = 0;
    return corpus_choose(options_text(n->options, "corpus"), &w, c);
}

int network_no_labels(const Network *n, const char *dir)
{
    if (options_size(n->options, "classes") == 0) return 0;
    return error_set(ERR_INPUT,
                     "%s was fine-tuned: it tells labels of sentences, and no words; 'trotter "
                     "classify' asks it",
                     dir);
}

int network_tells_next(const Network *n, const char *dir)
{
    TRY(network_no_labels(n, dir));
    if (!model_plan(n->model)->bidirectional) return 0;
    return error_set(ERR_INPUT,
                     "%s is an encoder alone, which tells masked words and no next ones; 'trotter "
                     "eval' measures it",
                     dir);
}

int network_alone(const Network *n, const char *dir)
{
    TRY(network_tells_next(n, dir));
    if (!n->encoder) return 0;
    return error_set(ERR_INPUT,
                     "%s is an encoder and a decoder, which reads no text without its source; "
                     "'trotter eval --source-text' does",
                     dir);
}

void network_free(Network *n)
{
    model_free(n->model);
    table_free(n->table);
    table_free(n->encoder);
    vocab_free(&n->vocab);
    bpe_free(n->bpe);
    memory_free(n->codes);
    memory_free(n->source_codes);
    foreign_free(n->foreign);
    options_free(n->options);
    *n = (Network){0};
}
