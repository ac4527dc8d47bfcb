/* pieces.c: cuts the words of a corpus in pieces, in single texts and in pairs. Merges are learned from training text
 * alone, or read from a file, and cut every text of the corpus (Sennrich, Haddow, Birch 2016, section 3.2). A piece is
 * a token. A piece that does not end its word is marked (bpe.h), so words can be counted in a text of pieces. */
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "nn/text/bpe_codes.h"

int pieces_check(const CorpusChoice *w)
{
    if (w->merges && w->codes)
        return error_set(ERR_INPUT, "--bpe and --codes: merges are learned, or read from a file");
    if (w->tokenizer && (w->merges || w->codes || w->vocab_limit || w->level == LEVEL_CHAR))
        return error_set(ERR_INPUT, "--tokenizer brings its own tokens: leave --%s out",
                         w->merges        ? "bpe"
                         : w->codes       ? "codes"
                         : w->vocab_limit ? "vocabulary"
                                          : "level char");
    if (w->dropout > 0 && !pieces_option(w))
        return error_set(ERR_INPUT, "--bpe-dropout: words have no merges to drop: give --bpe, "
                                    "--codes or --tokenizer");
    if (w->level != LEVEL_CHAR || !pieces_option(w)) return 0;
    return error_set(ERR_INPUT, "--level char has no subwords: leave --%s out", pieces_option(w));
}

const char *pieces_option(const CorpusChoice *w)
{
    return w->merges ? "bpe" : w->codes ? "codes" : w->tokenizer ? "tokenizer" : NULL;
}

int pieces_apart(const CorpusChoice *w, const BpeText train[2], Bpe **bpe)
{
    CorpusChoice side = *w;
    Bpe *source = NULL;
    if (w->source_codes) side.codes = w->source_codes;
    TRY(pieces_find(w, &train[1], 1, bpe));
    TRY(pieces_find(&side, &train[0], 1, &source));
    if (*bpe) bpe_set_source(*bpe, source);
    return 0;
}

int pieces_find(const CorpusChoice *w, const BpeText *train, size_t texts, Bpe **bpe)
{
    if (w->codes) return bpe_read(w->codes, bpe);
    for (size_t i = 0; w->merges && i < texts; i++) TRY(bpe_check(&train[i]));
    return w->merges ? bpe_learn(train, texts, w->merges, NULL, bpe) : 0;
}

/* Adds to w the pieces of a text that is cut in characters. */
static int characters_of(const Bpe *bpe, const BpeText *raw, Words *w)
{
    BpeDrop all = {.p = 1};
    const char *piece;
    SCOPED(memory_drop) char *text = NULL;
    size_t count, n;
    TRY(bpe_apply(bpe, &all, raw, &text, &count));
    for (Scan s = scan_begin(text, count, LEVEL_WORD); scan_next(&s, &piece, &n);)
        if (n && words_find(w, piece, n) < 0) TRY(words_own(w, piece, n, ""));
    return 0;
}

int pieces_all(const Bpe *bpe, const BpeText *raw, size_t texts, Vocab *v)
{
    SCOPED(words_free_own) Words w = {0};
    for (size_t i = 0; i < texts; i++) TRY(characters_of(bpe, &raw[i], &w));
    TRY(bpe_made(bpe, &w));
    SCOPED(memory_drop) const char **fresh = memory_new(w.size, sizeof *fresh);
    if (!fresh) return ERR_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < w.size; i++)
        if (vocab_find(v, w.word[i].text, w.word[i].bytes) < 0) fresh[n++] = w.word[i].text;
    return vocab_append(v, fresh, n);
}

int pieces_cut(const Bpe *bpe, const BpeText *t, char **pieces, size_t *count)
{
    *pieces = NULL;
    TRY(bpe_check(t));
    return bpe ? bpe_apply(bpe, NULL, t, pieces, count) : 0;
}

int piece_goes_on(const Vocab *v, const char *word, size_t bytes)
{
    enum { MARK = sizeof BPE_MARK - 1 };
    return v->level == LEVEL_PIECE && bytes >= MARK &&
           memcmp(word + bytes - MARK, BPE_MARK, MARK) == 0;
}

double text_bits(const Text *t, size_t predicted, double ppl)
{
    return t->bytes ? (double)predicted * log2(ppl) / (double)t->bytes : NAN;
}

/* Computes ppl per word: ppl^predicted is 1 over the text's probability, for any tokens. */
double text_word_ppl(const Text *t, size_t predicted, double ppl)
{
    return pow(ppl, (double)predicted / (double)(predicted - t->goes_on));
}
