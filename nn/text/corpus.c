/* corpus.c: opens three texts (or three pairs of texts) under one vocabulary, from a directory, from one file or from
 * inside the program. */
#include "nn/text/corpus.h"

#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/hash.h"
#include "nn/text/masking.h"

/* Reads and adds a split of a directory. */
static int add_files(const CorpusChoice *w, int split, char *file[2][SPLITS], Corpus *c)
{
    RawSplit r = {.sides = w->source ? 2 : 1};
    for (int i = 0; i < r.sides; i++) {
        r.text[i].file = file[i][split];
        int code = read_text(file[i][split], &r.own[i], &r.text[i].count);
        if (code) return memory_free(r.own[0]), code;
        r.text[i].bytes = r.own[i];
    }
    return split_add(w, split, &r, c);
}

/* Finds the files of all splits first. */
static int open_directory(const char *dir, const CorpusChoice *w, Corpus *c)
{
    const char *const language[] = {w->source, w->target};
    char *file[2][SPLITS] = {{0}};
    int sides = w->source ? 2 : 1, code = 0;
    for (int i = 0; i < sides && code == 0; i++) code = corpus_files(dir, language[i], file[i]);
    for (int s = 0; s < SPLITS && sides > 1 && code == 0; s++)
        code = pairs_alike(w, file[0][s], file[1][s]);
    for (int s = 0; s < corpus_splits(w) && code == 0; s++) code = add_files(w, s, file, c);
    for (int i = 0; i < sides; i++) corpus_files_free(file[i]);
    return code;
}

static int open_file(const char *file, const CorpusChoice *w, Corpus *c)
{
    static const double usual[SPLITS] = {0.9, 0.05, 0.05};
    BpeText text[SPLITS];
    SCOPED(memory_drop) char *bytes = NULL;
    size_t count;
    TRY(read_text(file, &bytes, &count));
    TRY(single_cut(file, bytes, count, w->parts[0] > 0 ? w->parts : usual, text));
    for (int i = 0; i < corpus_splits(w); i++)
        TRY(split_add(w, i, &(RawSplit){1, {text[i]}, {0}}, c));
    c->single = 1;
    return 0;
}

static int open_kjv(const char *name, CorpusChoice w, Corpus *c)
{
    if (strcmp(name, "kjv") != 0)
        return error_set(ERR_INPUT, "corpus '%s': kjv takes nothing behind its name", name);
    if (w.vocab_limit == 0 && w.level == LEVEL_WORD && !pieces_option(&w)) w.vocab_limit = 10000;
    for (int i = 0; i < corpus_splits(&w); i++)
        TRY(split_add(&w, i, &(RawSplit){1, {builtin_kjv(i)}, {0}}, c));
    return 0;
}

static size_t name_proper(const char *name)
{
    return strcspn(name, ":");
}

/* Checks the choices for a drawn corpus. Its words are numbers, and the name tells how many. */
static int check_drawn(const char *name, CorpusChoice w)
{
    if (w.level == LEVEL_CHAR)
        return error_set(ERR_INPUT, "corpus %s: its words have no characters", name);
    if (pieces_option(&w))
        return error_set(ERR_INPUT,
                         "corpus %s: its words are numbers, which have no pieces: leave --%s out",
                         name, pieces_option(&w));
    if (w.vocab_limit)
        return error_set(ERR_INPUT, "corpus %s: no vocabulary limit; %.*s:V has V words", name,
                         (int)name_proper(name), name);
    return 0;
}

/* Built-in corpora by name; a colon ends the name proper. A directory with such a name is reached as ./name. */
static const struct {
    const char *name;
    int (*drawn)(const char *name, uint64_t seed, int splits, size_t most, Corpus *c);
} builtin[] = {{"kjv", NULL}, {"markov", markov_corpus}, {"reverse", reverse_corpus}};
enum { BUILTINS = sizeof builtin / sizeof *builtin };

/* Names the corpus; the name tells if only part of the texts is read. */
static int name_corpus(const char *name, CorpusChoice w, Corpus *c)
{
    size_t bytes = strlen(name) + 160;
    c->name = memory_new(bytes, 1);
    if (!c->name) return ERR_MEMORY;
    int n = snprintf(c->name, bytes, "%s", name);
    if (w.source) n += snprintf(c->name + n, bytes - (size_t)n, " %.16s-%.16s", w.source, w.target);
    if (w.eval_tokens)
        snprintf(c->name + n, bytes - (size_t)n, " (valid and test: the first %zu %s)",
                 w.eval_tokens, w.level == LEVEL_CHAR ? "characters" : "tokens");
    return 0;
}

static int open_any(const char *name, CorpusChoice w, Corpus *c)
{
    TRY(pieces_check(&w));
    TRY(pairs_check(&w));
    TRY(name_corpus(name, w, c));
    size_t n = name_proper(name), i = 0;
    while (i < BUILTINS && (strlen(builtin[i].name) != n || strncmp(name, builtin[i].name, n) != 0))
        i++;
    int known = i < BUILTINS, file = !known && corpus_is_file(name);
    c->files = !known && !file && corpus_is_folder(name);
    if (w.source && (known || file))
        return error_set(ERR_INPUT, "corpus %s: --source and --target are of a directory", name);
    if (w.parts[0] > 0 && !file)
        return error_set(ERR_INPUT, "--parts: corpus %s is no single text file", name);
    if (file) return open_file(name, &w, c);
    if (c->files) return open_directory(name, &w, c);
    if (known && !builtin[i].drawn) return open_kjv(name, w, c);
    if (known) {
        TRY(check_drawn(name, w));
        size_t most = w.eval_tokens ? w.eval_tokens : SIZE_MAX;
        return builtin[i].drawn(name, w.seed, corpus_splits(&w), most, c);
    }
    return error_set(
        ERR_INPUT,
        "no corpus '%s': neither a directory or text file nor kjv, markov, markov:V, reverse or "
        "reverse:V",
        name);
}

/* Adds <cls> and <mask>. The entropy rate is that of a next token, so it is unknown then. */
static int add_marks(const Vocab *there, Corpus *c)
{
    if (c->source[SPLIT_TRAIN].tokens)
        return error_set(ERR_INPUT, "corpus %s has pairs: masked words are of a text alone",
                         c->name);
    c->marks = 1;
    c->entropy_rate = NAN;
    if (!there) there = &c->vocab;
    if (!there->tokens) return masking_words(&c->vocab);
    return masking_has(there)
               ? 0
               : error_set(ERR_INPUT, "--tokenizer: it has no [CLS] or no [MASK], which "
                                      "an encoder of masked words needs");
}

int corpus_choose(const char *name, const CorpusChoice *w, Corpus *c)
{
    *c = (Corpus){.entropy_rate = NAN};
    int code = open_any(name, *w, c);
    if (code == 0 && w->marks) code = add_marks(w->vocab, c);
    if (code) corpus_free(c);
    return code;
}

void corpus_free(Corpus *c)
{
    memory_free(c->name);
    vocab_free(&c->vocab);
    bpe_free(c->bpe);
    for (int i = 0; i < 2; i++) {
        memory_free((char *)c->raw[i].file);
        memory_free((char *)c->raw[i].bytes);
    }
    for (int i = 0; i < SPLITS; i++) {
        text_free(&c->text[i]);
        text_free(&c->source[i]);
    }
    *c = (Corpus){.entropy_rate = NAN};
}

uint64_t corpus_checksum(const Corpus *c)
{
    uint64_t h = HASH_START;
    for (int s = SPLIT_TRAIN; s <= SPLIT_VALID; s++) {
        h = hash_bytes(h, c->text[s].id, c->text[s].tokens * sizeof *c->text[s].id);
        h = hash_bytes(h, c->source[s].id, c->source[s].tokens * sizeof *c->source[s].id);
    }
    return h;
}

/* Uses p(w) = (count of w in train + 1) / (N + V), Laplace 1814. */
int corpus_unigram(const Corpus *c, int split, double *ppl)
{
    const Text *train = &c->text[SPLIT_TRAIN], *t = &c->text[split];
    int32_t skip = c->marks ? c->vocab.eos : -1;
    size_t V = c->vocab.size - (c->marks ? 3 : 0), N[2] = {0};
    double *count = memory_new(c->vocab.size, sizeof *count), nll = 0;
    if (!count) return ERR_MEMORY;
    for (size_t i = 0; i < train->tokens; i++) count[train->id[i]]++, N[0] += train->id[i] != skip;
    for (size_t i = 0; i < t->tokens; i++) {
        if (t->id[i] == skip) continue;
        nll -= log(count[t->id[i]] + 1);
        N[1]++;
    }
    memory_free(count);
    *ppl = exp(nll / (double)N[1] + log((double)(N[0] + V)));
    return 0;
}
