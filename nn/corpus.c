/* corpus.c: three texts (or three pairs of texts) under one vocabulary, from a directory or from inside the program.
 *
 * In a directory the first line of `layouts` that finds all three texts is taken, so that a folder
 * which holds the same corpus in several forms (PTB's by words and by characters) is read in one
 * form. A '*' must find one file: with two it is an error that names both. */
#include "nn/corpus.h"

#include <dirent.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/error.h"
#include "kernels/memory.h"

/* %s: the split's name. */
static const char *const layouts[] = {"%s.txt", "ptb.%s.txt", "wiki.%s.tokens", "%s.tokens",
                                      "%s",     "*%s*.txt",   "*%s*.tokens"};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

/* The names a split goes by. */
static const char *const spelling[SPLITS][3] = {{"train"}, {"valid", "val", "dev"}, {"test"}};

static int is_directory(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* dir/name in fresh memory, or NULL. */
static char *join(const char *dir, const char *name)
{
    size_t bytes = strlen(dir) + strlen(name) + 2;
    char *path = memory_new(bytes, 1);
    if (path) snprintf(path, bytes, "%s/%s", dir, name);
    return path;
}

static int matches(const char *layout, int split, const char *name)
{
    for (int i = 0; i < 3 && spelling[split][i]; i++) {
        char pattern[32];
        snprintf(pattern, sizeof pattern, layout, spelling[split][i]);
        if (fnmatch(pattern, name, FNM_PERIOD) == 0) return 1;
    }
    return 0;
}

/* Adds a directory's entry to the file of its split. */
static int take(const char *dir, const char *name, const char *layout, int split, char **file)
{
    if (!matches(layout, split, name)) return 0;
    char *path = join(dir, name);
    if (!path) return ERR_MEMORY;
    if (is_directory(path)) {
        memory_free(path);
        return 0;
    }
    if (*file) {
        int code = error_set(ERR_INPUT, "%s and %s: both may be the %s text; keep one of them",
                             *file, path, spelling[split][0]);
        memory_free(path);
        return code;
    }
    *file = path;
    return 0;
}

static int scan_directory(const char *dir, DIR *d, const char *layout, char *file[SPLITS])
{
    for (struct dirent *e; (e = readdir(d));)
        for (int i = 0; i < SPLITS; i++) TRY(take(dir, e->d_name, layout, i, &file[i]));
    return 0;
}

static void free_files(char *file[SPLITS])
{
    for (int i = 0; i < SPLITS; i++) file[i] = memory_free(file[i]);
}

/* Which texts are not there under any name, and what was looked for. */
static int missing(const char *dir, const int found[SPLITS])
{
    char lost[64] = "", looked[256] = "";
    for (int i = 0; i < SPLITS; i++)
        if (!found[i]) strcat(strcat(lost, *lost ? ", " : ""), spelling[i][0]);
    for (int l = 0; l < LAYOUTS; l++) {
        if (l) strcat(looked, ", ");
        size_t n = strlen(looked);
        snprintf(looked + n, sizeof looked - n, layouts[l], "NAME");
    }
    return error_set(ERR_INPUT, "%s: %s%s; looked for %s with NAME = train, valid (val, dev), test",
                     dir, *lost ? "no text for " : "the three texts are not named alike", lost,
                     looked);
}

/* file (SPLITS) out: the paths of the three texts. */
static int find_files(const char *dir, char *file[SPLITS])
{
    int found[SPLITS] = {0};
    for (int l = 0; l < LAYOUTS; l++) {
        DIR *d = opendir(dir);
        if (!d) return error_set(ERR_INPUT, "cannot read the directory %s", dir);
        int code = scan_directory(dir, d, layouts[l], file);
        closedir(d);
        if (code) return code;
        int all = 1;
        for (int i = 0; i < SPLITS; i++) {
            found[i] |= file[i] != NULL;
            all &= file[i] != NULL;
        }
        if (all) return 0;
        free_files(file);
    }
    return missing(dir, found);
}

/* Splits that are read, and how much of each. */
static int splits(CorpusChoice w)
{
    return w.untested ? SPLIT_TEST : SPLITS;
}

static size_t most(CorpusChoice w)
{
    return w.eval_tokens ? w.eval_tokens : SIZE_MAX;
}

/* The vocabulary of a training text, and the text under it. */
static int encode_train(const char *file, const char *bytes, size_t count, CorpusChoice w,
                        Corpus *c)
{
    TRY(vocab_build(bytes, count, w.level, w.vocab_limit, &c->vocab));
    return text_encode(file, bytes, count, &c->vocab, &c->text[SPLIT_TRAIN]);
}

static int read_train(const char *file, CorpusChoice w, Corpus *c)
{
    char *bytes;
    size_t count;
    TRY(read_text(file, &bytes, &count));
    int code = encode_train(file, bytes, count, w, c);
    memory_free(bytes);
    return code;
}

static int read_split(const char *file, CorpusChoice w, int split, Corpus *c)
{
    char *bytes;
    size_t count;
    TRY(read_text(file, &bytes, &count));
    int code = text_begin(file, bytes, count, most(w), &c->vocab, &c->text[split]);
    memory_free(bytes);
    return code;
}

static int open_directory(const char *dir, CorpusChoice w, Corpus *c)
{
    char *file[SPLITS] = {0};
    int code = find_files(dir, file);
    if (!code) code = read_train(file[SPLIT_TRAIN], w, c);
    for (int i = SPLIT_VALID; i < splits(w) && !code; i++) code = read_split(file[i], w, i, c);
    free_files(file);
    return code;
}

static int open_kjv(const char *name, CorpusChoice w, Corpus *c)
{
    if (strcmp(name, "kjv") != 0)
        return error_set(ERR_INPUT, "corpus '%s': kjv takes nothing behind its name", name);
    BuiltinText b = builtin_kjv(SPLIT_TRAIN);
    if (w.vocab_limit == 0 && w.level == LEVEL_WORD) w.vocab_limit = 10000;
    TRY(encode_train(b.file, b.bytes, b.count, w, c));
    for (int i = SPLIT_VALID; i < splits(w); i++) {
        b = builtin_kjv(i);
        TRY(text_begin(b.file, b.bytes, b.count, most(w), &c->vocab, &c->text[i]));
    }
    return 0;
}

static size_t name_proper(const char *name)
{
    return strcspn(name, ":");
}

/* Words that are drawn are numbers, and as many as the name says. */
static int check_drawn(const char *name, CorpusChoice w)
{
    if (w.level == LEVEL_CHAR)
        return error_set(ERR_INPUT, "corpus %s: its words have no characters", name);
    if (w.vocab_limit)
        return error_set(ERR_INPUT, "corpus %s: no vocabulary limit; %.*s:V has V words", name,
                         (int)name_proper(name), name);
    return 0;
}

static int open_markov(const char *name, CorpusChoice w, Corpus *c)
{
    TRY(check_drawn(name, w));
    return markov_corpus(name, w.seed, splits(w), most(w), c);
}

static int open_reverse(const char *name, CorpusChoice w, Corpus *c)
{
    TRY(check_drawn(name, w));
    return reverse_corpus(name, w.seed, splits(w), most(w), c);
}

/* The name proper ends at a colon. A directory of that name is reached as ./name. */
static const struct {
    const char *name;
    int (*open)(const char *name, CorpusChoice w, Corpus *c);
} builtin[] = {{"kjv", open_kjv}, {"markov", open_markov}, {"reverse", open_reverse}};
enum { BUILTINS = sizeof builtin / sizeof *builtin };

const char *corpus_builtin(size_t i)
{
    return i < BUILTINS ? builtin[i].name : NULL;
}

/* A figure of less than the texts is not to be taken for one of the whole. */
static int name_corpus(const char *name, CorpusChoice w, Corpus *c)
{
    size_t bytes = strlen(name) + 96;
    c->name = memory_new(bytes, 1);
    if (!c->name) return ERR_MEMORY;
    int n = snprintf(c->name, bytes, "%s", name);
    if (w.eval_tokens)
        snprintf(c->name + n, bytes - (size_t)n, " (valid and test: the first %zu tokens)",
                 w.eval_tokens);
    return 0;
}

static int open_any(const char *name, CorpusChoice w, Corpus *c)
{
    TRY(name_corpus(name, w, c));
    size_t n = name_proper(name);
    for (size_t i = 0; i < BUILTINS; i++)
        if (strlen(builtin[i].name) == n && strncmp(name, builtin[i].name, n) == 0)
            return builtin[i].open(name, w, c);
    if (is_directory(name)) return open_directory(name, w, c);
    return error_set(ERR_INPUT,
                     "no corpus '%s': neither a directory nor kjv, markov, markov:V, reverse or "
                     "reverse:V",
                     name);
}

int corpus_choose(const char *name, const CorpusChoice *w, Corpus *c)
{
    *c = (Corpus){.entropy_rate = NAN};
    int code = open_any(name, *w, c);
    if (code) corpus_free(c);
    return code;
}

int corpus_open(const char *name, int level, size_t vocab_limit, uint64_t seed, Corpus *c)
{
    return corpus_choose(name, &(CorpusChoice){level, vocab_limit, seed, 0, 0}, c);
}

void corpus_free(Corpus *c)
{
    memory_free(c->name);
    vocab_free(&c->vocab);
    for (int i = 0; i < SPLITS; i++) {
        text_free(&c->text[i]);
        text_free(&c->source[i]);
    }
    *c = (Corpus){.entropy_rate = NAN};
}

/* p(w) = (count of w in train + 1) / (N + V), Laplace 1814. */
double corpus_unigram(const Corpus *c, int split)
{
    const Text *train = &c->text[SPLIT_TRAIN], *t = &c->text[split];
    size_t V = c->vocab.size;
    double *count = memory_new(V, sizeof *count), nll = 0;
    if (!count) return NAN;
    for (size_t i = 0; i < train->tokens; i++) count[train->id[i]]++;
    for (size_t i = 0; i < t->tokens; i++) nll -= log(count[t->id[i]] + 1);
    memory_free(count);
    return exp(nll / (double)t->tokens + log((double)(train->tokens + V)));
}
