/* pairs.c: reads a directory of parallel text as a corpus: line i of the target translates line i of the source. Both
 * languages share one vocabulary, so that one embedding serves the encoder, the decoder and the output (Vaswani et al.
 * 2017, section 3.4), and one list of merges (Sennrich, Haddow, Birch 2016, section 3.2: joint BPE), learned from
 * training text alone. */
#include "nn/text/corpus.h"

#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"

enum { LANGUAGE = 16 }; /* most characters of a language's name */

static int check_language(const char *option, const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t n = strlen(name);
    if (n && n <= LANGUAGE && strspn(name, letters) == n) return 0;
    return error_set(ERR_INPUT,
                     "--%s %s: expected the ending of a language's files, as en or de (at most %d "
                     "of a-z, A-Z, 0-9, _, -)",
                     option, name, LANGUAGE);
}

int pairs_check(const CorpusChoice *w)
{
    if (!w->source != !w->target)
        return error_set(ERR_INPUT, "--%s is needed too: pairs have a source and a target",
                         w->source ? "target" : "source");
    if (!w->source) return 0;
    TRY(check_language("source", w->source));
    TRY(check_language("target", w->target));
    if (strcmp(w->source, w->target) == 0)
        return error_set(ERR_INPUT, "--source and --target are both %s", w->source);
    return 0;
}

static void files_free(PairFiles *f)
{
    for (int i = 0; i < 2; i++) {
        memory_free(f->file[i]);
        memory_free(f->bytes[i]);
    }
}

static int same_name(const PairFiles *f, const CorpusChoice *w)
{
    size_t n = strlen(f->file[0]) - strlen(w->source), m = strlen(f->file[1]) - strlen(w->target);
    if (n == m && strncmp(f->file[0], f->file[1], n) == 0) return 0;
    return error_set(ERR_INPUT, "%s and %s are not alike but for the language: are they pairs?",
                     f->file[0], f->file[1]);
}

static int find_pairs(const char *dir, const CorpusChoice *w, PairFiles f[SPLITS])
{
    char *file[SPLITS] = {0};
    for (int side = 0; side < 2; side++) {
        int code = corpus_files(dir, side ? w->target : w->source, file);
        if (code) {
            corpus_files_free(file);
            return code;
        }
        for (int s = 0; s < SPLITS; s++) {
            f[s].file[side] = file[s];
            file[s] = NULL;
        }
    }
    for (int s = 0; s < SPLITS; s++) TRY(same_name(&f[s], w));
    return 0;
}

static int read_pair(const CorpusChoice *w, PairFiles *f)
{
    for (int i = 0; i < 2; i++) {
        TRY(read_text(f->file[i], &f->bytes[i], &f->count[i]));
        if (w->replace) f->count[i] = marks_replace(f->bytes[i], f->count[i], &f->replaced[i]);
    }
    return 0;
}

static int cut_pair(const Bpe *bpe, PairFiles *f)
{
    for (int i = 0; i < 2; i++) {
        char *pieces;
        TRY(pieces_cut(bpe, &(BpeText){f->file[i], f->bytes[i], f->count[i], 0}, &pieces,
                       &f->count[i]));
        if (!bpe) continue;
        memory_free(f->bytes[i]);
        f->bytes[i] = pieces;
    }
    return 0;
}

static int find_merges(const CorpusChoice *w, const PairFiles *train, Bpe **bpe)
{
    BpeText t[2];
    for (int i = 0; i < 2; i++)
        t[i] = (BpeText){train->file[i], train->bytes[i], train->count[i], 0};
    return pieces_find(w, t, 2, bpe);
}

static int find_words(const CorpusChoice *w, int level, const PairFiles *train, Vocab *v)
{
    size_t n = train->count[0], m = train->count[1];
    char *both = memory_new(n + m + 1, 1);
    if (!both) return ERR_MEMORY;
    memcpy(both, train->bytes[0], n);
    both[n] = '\n';
    int open = n && both[n - 1] != '\n';
    memcpy(both + n + open, train->bytes[1], m);
    int code = vocab_build(both, n + m + (size_t)open, level, w->vocab_limit, 1, v);
    memory_free(both);
    return code;
}

static int encode(const PairFiles *f, int side, size_t count, const Vocab *v, Text *t)
{
    text_free(t);
    TRY(text_encode(f->file[side], f->bytes[side], count, v, t));
    t->replaced = f->replaced[side];
    return 0;
}

/* Encodes both texts up to the line of the target's `most`-th token. */
static int cut_lines(const PairFiles *f, size_t most, const Vocab *v, Text *const side[2])
{
    const Text *target = side[1];
    size_t lines = 0, n;
    const char *word;
    for (size_t i = 0, last = 0; i < target->tokens && !last; i++)
        if (target->id[i] == v->eos) {
            lines++;
            last = i + 1 >= most;
        }
    for (int i = 0; i < 2; i++) {
        Scan s = scan_begin(f->bytes[i], f->count[i], v->level);
        while (s.lines < lines) scan_next(&s, &word, &n);
        TRY(encode(f, i, (size_t)(s.at - f->bytes[i]), v, side[i]));
    }
    return 0;
}

/* Encodes a split. Whole pairs are checked, also where only a part is wanted. */
static int encode_pair(const CorpusChoice *w, const PairFiles *f, int split, Corpus *c)
{
    Text *const side[2] = {&c->source[split], &c->text[split]};
    for (int i = 0; i < 2; i++) TRY(encode(f, i, f->count[i], &c->vocab, side[i]));
    TRY(text_pairs(side[0], side[1], c->vocab.eos));
    if (split == SPLIT_TRAIN || w->eval_tokens == 0) return 0;
    return cut_lines(f, w->eval_tokens, &c->vocab, side);
}

int pairs_add(const CorpusChoice *w, int split, PairFiles *f, Corpus *c)
{
    if (split == SPLIT_TRAIN) TRY(find_merges(w, f, &c->bpe));
    TRY(cut_pair(c->bpe, f));
    if (split == SPLIT_TRAIN) TRY(find_words(w, corpus_level(w, c), f, &c->vocab));
    return encode_pair(w, f, split, c);
}

static int open_files(const CorpusChoice *w, PairFiles f[SPLITS], Corpus *c)
{
    for (int s = SPLIT_TRAIN; s < corpus_splits(w); s++) {
        TRY(read_pair(w, &f[s]));
        TRY(pairs_add(w, s, &f[s], c));
    }
    return 0;
}

int pairs_open(const char *dir, const CorpusChoice *w, Corpus *c)
{
    PairFiles f[SPLITS] = {0};
    int code = find_pairs(dir, w, f);
    if (code == 0) code = open_files(w, f, c);
    for (int s = 0; s < SPLITS; s++) files_free(&f[s]);
    return code;
}

static size_t line_length(const Text *t, size_t i, int32_t eos)
{
    size_t n = 1;
    while (t->id[i + n - 1] != eos) n++;
    return n;
}

void corpus_leave_out(Corpus *c, size_t T)
{
    Text *const side[2] = {&c->source[SPLIT_TRAIN], &c->text[SPLIT_TRAIN]};
    size_t from[2] = {0, 0}, to[2] = {0, 0}, left_out = 0;
    if (side[0]->tokens == 0) return;
    for (size_t line = 0; line < side[1]->lines; line++) {
        size_t n[2];
        for (int i = 0; i < 2; i++) n[i] = line_length(side[i], from[i], c->vocab.eos);
        int fits = n[0] <= T && n[1] <= T;
        for (int i = 0; i < 2; i++) {
            if (fits) memmove(side[i]->id + to[i], side[i]->id + from[i], n[i] * sizeof(int32_t));
            from[i] += n[i];
            to[i] += fits ? n[i] : 0;
        }
        left_out += !fits;
    }
    for (int i = 0; i < 2; i++) {
        side[i]->tokens = to[i];
        side[i]->lines -= left_out;
    }
    c->left_out += left_out;
}
