/* corpus_split.c: makes a split of a corpus from its raw texts: one text, or a source and its target. The training texts come
 * first; merges and vocabulary are made from them alone, for pairs from both, so that one list of merges (Sennrich,
 * Haddow, Birch 2016, section 3.2: joint BPE) and one embedding (Vaswani et al. 2017, section 3.4) serve both
 * languages, unless these are apart. */
#include "nn/text/corpus.h"

#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"

/* Refuses a text of blank lines alone: it teaches nothing. */
static int check_words(const BpeText *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (!strchr(" \t\r\n", t->bytes[i])) return 0;
    return error_set(ERR_INPUT, "%s has no word, only blank lines", t->file);
}

/* Cuts a side in pieces; without merges it only checks it. */
static int cut(const Bpe *bpe, RawSplit *r, int side)
{
    char *pieces;
    size_t count;
    TRY(pieces_cut(bpe, &r->text[side], &pieces, &count));
    if (!bpe) return 0;
    memory_free(r->own[side]);
    r->text[side].bytes = r->own[side] = pieces;
    r->text[side].count = count;
    return 0;
}

/* Encodes a pair anew up to the line of the target's `most`-th token. */
static int shorten(RawSplit *r, size_t most, const Vocab *v, Text *const out[2])
{
    BpeText *source = &r->text[0];
    const char *end = source->bytes + source->count;
    for (int i = 0; i < 2; i++) text_free(out[i]);
    TRY(text_begin(&r->text[1], most, v, out[1]));
    source->count = (size_t)(single_skip(source->bytes, end, out[1]->lines) - source->bytes);
    return text_begin(source, SIZE_MAX, vocab_of_source(v), out[0]);
}

/* Encodes all sides. Whole pairs are checked, also where only a part is wanted. */
static int encode(RawSplit *r, size_t most, const Vocab *v, Text *const out[2])
{
    int pairs = r->sides > 1;
    for (int i = 0; i < r->sides; i++)
        TRY(text_begin(&r->text[i], pairs ? SIZE_MAX : most,
                       pairs && i == 0 ? vocab_of_source(v) : v, out[i]));
    if (pairs) TRY(text_pairs(out[0], out[1], v->eos));
    return pairs && most < SIZE_MAX ? shorten(r, most, v, out) : 0;
}

/* Keeps the raw training texts for corpus_recut. */
static int keep_raw(const CorpusChoice *w, const RawSplit *r, Corpus *c)
{
    c->dropout = w->dropout;
    for (int i = 0; i < r->sides && w->dropout > 0; i++) {
        char *own = memory_new(r->text[i].count + 1, 1), *file = memory_string(r->text[i].file);
        c->raw[i] = (BpeText){file, own, r->text[i].count, r->text[i].before};
        if (!own || !file) return ERR_MEMORY;
        memcpy(own, r->text[i].bytes, r->text[i].count);
    }
    return 0;
}

int corpus_recut(const Corpus *c, uint64_t seed, long epoch, size_t T, Corpus *out)
{
    enum { DROP = 0x42504564 };
    int pairs = c->raw[1].bytes != NULL, code = 0;
    *out = *c;
    Text *const side[2] = {pairs ? &out->source[SPLIT_TRAIN] : &out->text[SPLIT_TRAIN],
                           &out->text[SPLIT_TRAIN]};
    for (int i = 0; i <= pairs; i++) *side[i] = (Text){0};
    for (int i = 0; i <= pairs && code == 0; i++) {
        BpeDrop drop = {c->dropout, seed,
                        (uint64_t)DROP << 32 | (2 * (uint32_t)epoch + (uint32_t)i), 0, 0};
        int source = pairs && i == 0;
        code = text_dropped(&c->raw[i], source ? bpe_of_source(c->bpe) : c->bpe, &drop,
                            source ? vocab_of_source(&c->vocab) : &c->vocab, side[i]);
    }
    if (code == 0 && pairs) corpus_leave_out(out, T);
    if (code == 0 && side[1]->tokens == 0)
        code = error_set(ERR_INPUT, "%s: every training pair is longer than %zu tokens on a side",
                         c->name, T);
    if (code) corpus_recut_free(out);
    return code;
}

void corpus_recut_free(Corpus *out)
{
    if (out->raw[1].bytes) text_free(&out->source[SPLIT_TRAIN]);
    if (out->raw[0].bytes) text_free(&out->text[SPLIT_TRAIN]);
    *out = (Corpus){0};
}

/* Refuses to drop merges where the tokenizer has none. */
static int check_merges(const CorpusChoice *w, const Vocab *v)
{
    if (!(w->dropout > 0) || tokenizer_merges(v->tokens)) return 0;
    return error_set(ERR_INPUT, "--bpe-dropout: %s has no merges to drop: it is no BPE",
                     w->tokenizer);
}

/* Makes the vocabulary of training texts, which are in pieces if bpe is not NULL; raw: as they were. */
static int words_of(const CorpusChoice *w, const BpeText *text, const BpeText *raw, size_t texts,
                    const Bpe *bpe, Vocab *v)
{
    TRY(vocab_build(text, texts, bpe ? LEVEL_PIECE : w->level, w->vocab_limit, w->source != NULL,
                    v));
    return bpe && w->dropout > 0 && !w->vocab_limit ? pieces_all(bpe, raw, texts, v) : 0;
}

static int words_apart(const CorpusChoice *w, const RawSplit *r, Corpus *c)
{
    Vocab source = {0};
    TRY(words_of(w, &r->text[1], &c->raw[1], 1, c->bpe, &c->vocab));
    int code = words_of(w, &r->text[0], &c->raw[0], 1, bpe_of_source(c->bpe), &source);
    if (code) return vocab_free(&source), code;
    return vocab_apart(&c->vocab, &source);
}

static int add(const CorpusChoice *w, int split, RawSplit *r, Corpus *c)
{
    int train = split == SPLIT_TRAIN, pairs = r->sides > 1;
    Text *const out[2] = {pairs ? &c->source[split] : &c->text[split], &c->text[split]};
    size_t most = train || !w->eval_tokens ? SIZE_MAX : w->eval_tokens;
    if (w->vocab) return encode(r, most, w->vocab, out);
    if (train && !pairs) TRY(check_words(&r->text[0]));
    if (w->tokenizer && train) TRY(vocab_tokenizer(w->tokenizer, &c->vocab));
    if (w->tokenizer && train) TRY(check_merges(w, &c->vocab));
    if (train) TRY(keep_raw(w, r, c));
    if (w->tokenizer) {
        c->vocab.lines = pairs || w->lines;
        return encode(r, most, &c->vocab, out);
    }
    if (train)
        TRY(w->apart ? pieces_apart(w, r->text, &c->bpe)
                     : pieces_find(w, r->text, (size_t)r->sides, &c->bpe));
    for (int i = 0; i < r->sides && (c->bpe || pairs); i++)
        TRY(cut(pairs && i == 0 ? bpe_of_source(c->bpe) : c->bpe, r, i));
    if (train)
        TRY(w->apart ? words_apart(w, r, c)
                     : words_of(w, r->text, c->raw, (size_t)r->sides, c->bpe, &c->vocab));
    return encode(r, most, &c->vocab, out);
}

int split_add(const CorpusChoice *w, int split, RawSplit *r, Corpus *c)
{
    int code = add(w, split, r, c);
    for (int i = 0; i < 2; i++) r->own[i] = memory_free(r->own[i]);
    return code;
}
