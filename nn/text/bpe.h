/* bpe.h: subwords by byte-pair encoding. A word is a list of characters, with "</w>" behind the last one. A merge makes
 * one symbol of two neighbours. Merges are learned from counts of words, the most frequent pair first, and applied to a
 * word in that order. A piece that does not end its word is written with "@@" behind it: "low@@ er".
 *
 * Codes, segmentations and the file format are those of subword-nmt: version 0.2, and version 0.1 where codes say so or
 * name no version. In 0.1 "</w>" is a unit of its own behind the last character. Learned codes are of 0.2.
 * Source: Sennrich, Haddow, Birch 2016, "Neural Machine Translation of Rare Words with Subword Units", algorithm 1.
 */
#ifndef TROTTER_BPE_H
#define TROTTER_BPE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/base/scoped.h"

#define BPE_MARK "@@" /* behind a piece whose word goes on */

typedef struct Bpe Bpe;

/* A text in memory. file and `before`, the file's lines before it, serve messages. */
typedef struct {
    const char *file, *bytes;
    size_t count, before;
} BpeText;

/* Receives now and then how many of `all` merges are learned. */
typedef void BpeTell(size_t merges, size_t all);

/* The longest word that merges are learned from. A merge goes through all of a word, so a long one costs merges times its
 * length. No word is as long: the longest that was ever printed, titin's chemical name, has 189,819 letters, and a paragraph
 * of Chinese or Thai, which has no blanks, is shorter. */
enum { BPE_WORD_MOST = 1 << 20 };

/* Learns at most `merges` >= 1 merges from the texts, read as one text; fewer where no pair occurs twice. Among equally
 * frequent pairs the greatest, bytewise, is merged first. Words are separated by U+0020 alone. ERR_INPUT: no pair
 * occurs twice; a longer word; bpe_check's errors, but a tab is a character here and a word may end in "@@", as in subword-nmt. tell: may be
 * NULL. Caller: bpe_free. */
int bpe_learn(const BpeText *text, size_t texts, size_t merges, BpeTell *tell, Bpe **out);

/* Reads the codes of a file: "#version: 0.2" (or 0.1, which may be left out), then two symbols a line. ERR_INPUT with file
 * and line. Caller: bpe_free. */
int bpe_read(const char *file, Bpe **out);
int bpe_parse(const char *file, const char *bytes, size_t count, Bpe **out);
/* Write the codes, to a file as file_replace does, or into memory (caller: memory_free). */
int bpe_write(const Bpe *b, const char *file);
int bpe_print(const Bpe *b, char **text, size_t *bytes);

size_t bpe_merges(const Bpe *b);
/* The merges of a source apart, which b owns. bpe_of_source: b itself, where it has none (NULL for NULL). */
void bpe_set_source(Bpe *b, Bpe *source);
const Bpe *bpe_of_source(const Bpe *b);
uint64_t bpe_hash(const Bpe *b); /* FNV-1a of what bpe_write writes */

/* Checks a text. ERR_INPUT, with file and line, where it is not UTF-8, has a NUL byte, a '\r' that ends no line or a
 * tab (which separates words for a vocabulary, and would be inside one here), or has a word that ends in "@@", which
 * would look like a piece. */
int bpe_check(const BpeText *t);

/* Merges that are dropped at random (Provilkov, Emelianenko, Voita 2020, algorithm 1): before each merge every possible
 * one is left out with probability p, and the earliest of the others is made, at its leftmost place; a word is done when
 * all are left out. What is drawn is a function of (seed, stream, number of the word, number of the draw). p = 1 leaves
 * characters. */
typedef struct {
    double p; /* 0 .. 1 */
    uint64_t seed, stream;
    uint64_t word, draw; /* 0, 0 before a text; they go on with it */
} BpeDrop;
int bpe_dropped(BpeDrop *d);    /* draws: 1 where a merge is left out */
void bpe_next_word(BpeDrop *d); /* goes on to the next word */
/* *out = the text with every word in pieces, line by line. Several blanks between words become one; blanks at both ends
 * of a line all stay. bpe_check's errors, but a tab is a character, and a word may end in "@@". drop NULL: no merge is
 * dropped. Caller: memory_free. */
int bpe_apply(const Bpe *b, BpeDrop *drop, const BpeText *t, char **out, size_t *bytes);

/* Joins a line's pieces in place: removes "@@ ", and "@@" at its end; returns the bytes left. */
size_t bpe_join(char *line, size_t bytes);

void bpe_free(Bpe *b); /* NULL allowed */
DROP(Bpe, bpe)

#endif
