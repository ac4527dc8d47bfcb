/* tokenizer.h: a tokenizer as tokenizer.json of Hugging Face's `tokenizers` describes it: a text is normalised, cut in
 * pieces, and each piece is cut in tokens by byte-pair merges, by WordPiece or by Unigram. A text and its tokens' texts agree byte
 * for byte for byte-level merges; elsewhere as far as the normaliser keeps the text.
 *
 * What is read (all else is refused by its name):
 *   normalizer     Prepend, Replace, Strip, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, BertNormalizer, Nmt, Precompiled
 *   pre_tokenizer  ByteLevel (once), Split, CharDelimiterSplit, Metaspace, Digits, Punctuation, BertPreTokenizer, Whitespace, WhitespaceSplit
 *   model          BPE (byte level or byte_fallback), WordPiece, WordLevel, Unigram
 *   added_tokens   found in the raw text, before all else, or where `normalized` is true in the normalised one
 * Sequences of these are read too. Patterns are Oniguruma's (pattern.c). A word that is no token is refused where the
 * vocabulary lacks the unknown token that it names. What post_processor adds to a text is left to the reader of the text.
 *
 * Source: Sennrich, Haddow, Birch 2016 (BPE); Radford et al. 2019, section 2.2 (bytes); Kudo, Richardson 2018
 * (SentencePiece: metaspace, byte fallback, tables of characters); Kudo 2018 (Unigram); Wu et al. 2016, section 4.1 (WordPiece, greedy). */
#ifndef TROTTER_TOKENIZER_H
#define TROTTER_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "nn/text/bpe.h"

typedef struct Tokenizer Tokenizer;

enum { TOKENS_MOST = 10000000 }; /* ids are below this */

/* Reads a tokenizer.json. ERR_INPUT, naming the file and the part. Caller: tokenizer_free. */
int tokenizer_read(const char *file, Tokenizer **out);
int tokenizer_parse(const char *file, const char *json, size_t bytes, Tokenizer **out);
void tokenizer_free(Tokenizer *t);                         /* NULL allowed */
const char *tokenizer_file(const Tokenizer *t);            /* its name */
int tokenizer_write(const Tokenizer *t, const char *file); /* the file that it was read from */
uint64_t tokenizer_hash(const Tokenizer *t);               /* FNV-1a of that file */

#define TOKENIZER_FIRST "<|endoftext|>"
/* Learns at most `merges` >= 1 byte-level merges from the texts and writes a tokenizer.json of them: token 0 is
 * TOKENIZER_FIRST, 1 .. 256 are the bytes in the order of their characters, one more comes with each merge. Merges do
 * not cross the pieces that GPT-2's pattern makes of a text. The most frequent pair of neighbours is merged first, of
 * equally frequent ones that with the least first, then second id, until no pair is there twice; counts are exact, so
 * these are the merges of the library `tokenizers` with min_frequency 2. tell: may be NULL. ERR_INPUT as
 * tokenizer_encode, or where nothing is learned. Caller: memory_free. */
int tokenizer_learn(const BpeText *text, size_t texts, size_t merges, BpeTell *tell, char **json);

size_t tokenizer_size(const Tokenizer *t);                    /* the largest id + 1 */
const char *tokenizer_name(const Tokenizer *t, size_t id);    /* NULL: no token has this id */
int32_t tokenizer_find(const Tokenizer *t, const char *name); /* -1: no token has this name */

/* Returns what a token shows of a text, *bytes long: "Ġthe" is " the", "▁the" is " the", "##ing" is "ing". A token of
 * WordPiece or WordLevel that begins a word has a blank in front. */
const char *tokenizer_shown(const Tokenizer *t, size_t id, size_t *bytes);

/* Appends the tokens of a text, UTF-8, to *id (*count), which memory_more made or which is NULL. ERR_INPUT: text that is
 * not UTF-8 (with file and line), a pattern that gives up on it. drop: merges of a BPE that are dropped (bpe.h;
 * NULL: none), also where a whole piece is a token. */
int tokenizer_encode(const Tokenizer *t, BpeDrop *drop, const char *file, const char *text,
                     size_t bytes, int32_t **id, size_t *count);
int tokenizer_merges(const Tokenizer *t); /* 1: its model is BPE */
/* Returns how many tokens its post_processor puts before a text, at most 4, *first out. */
size_t tokenizer_first(const Tokenizer *t, const int32_t **first);

#endif
