/* bpe_codes.h: the inside of a Bpe. bpe.c and bpe_learn.c include it. */
#ifndef TROTTER_BPE_CODES_H
#define TROTTER_BPE_CODES_H

#include "nn/text/bpe.h"
#include "nn/text/buffer.h"
#include "nn/text/corpus.h"

#define BPE_END "</w>" /* behind a word's last character */
#define BPE_UNKNOWN UINT32_MAX

typedef struct {
    uint32_t a, b, made; /* symbols */
} Merge;

struct Bpe {
    Words symbol; /* the table owns their texts */
    Merge *merge; /* (merges), in order */
    size_t merges;
    int apart; /* 1: "</w>" is a unit behind the last character, as in version 0.1; 0: it belongs to that character */
    Numbers rank; /* first merge of a pair */
    Bpe *source;  /* owned, or NULL */
};

/* Returns the key of a pair of numbers. */
static inline uint64_t bpe_pair(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

/* Returns the bytes of the character at p, in checked UTF-8. */
static inline size_t bpe_character(const char *p)
{
    unsigned char c = (unsigned char)*p;
    return c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

/* *id = the symbol of x (m) with y (n) behind it; a new symbol is added. */
int bpe_symbol(Bpe *b, const char *x, size_t m, const char *y, size_t n, uint32_t *id);
/* Adds the merge of two symbols. */
int bpe_merge(Bpe *b, uint32_t x, uint32_t y);

/* Lists the words of a text in order of their first appearance; their texts are borrowed. */
int bpe_words(const BpeText *t, Words *w);

/* Adds to w the pieces that merges make, as a text has them. Their texts belong to w's owner (words_own). */
int bpe_made(const Bpe *b, Words *w);

/* Learns merges of bytes within pieces, as bpe_learn does but with exact counts; byte: the symbols 0 .. 255 in their
 * order. Among equally frequent pairs the one whose first symbol, then whose second, was made first is merged first.
 * w's order changes. Caller: bpe_free. */
int bpe_learn_pieces(Words *w, const unsigned char byte[256], size_t merges, BpeTell *tell,
                     Bpe **out);

#endif
