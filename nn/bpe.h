/* bpe.h: subwords by byte-pair encoding. A word is its characters, the last one with "</w>" behind it; a merge makes one
 * symbol of two neighbours. Merges are learned from counts of words, the most frequent pair first, and applied to a word in
 * that order. A piece that does not end its word is written with "@@" behind it: "low@@ er".
 *
 * Codes, segmentations and the file format are those of subword-nmt, version 0.2.
 * Source: Sennrich, Haddow, Birch 2016, "Neural Machine Translation of Rare Words with Subword Units", algorithm 1.
 */
#ifndef TROTTER_BPE_H
#define TROTTER_BPE_H

#include <stddef.h>
#include <stdint.h>

#define BPE_MARK "@@" /* behind a piece whose word goes on */

typedef struct Bpe Bpe;

/* A text in memory, for messages its file and how many lines of that are before it. */
typedef struct {
    const char *file, *bytes;
    size_t count, before;
} BpeText;

/* At most `merges` >= 1 merges from the texts one after another, as one text: fewer where no pair is there twice. Of pairs
 * equally frequent the greatest is merged first, bytewise. Words are separated by U+0020 alone. ERR_INPUT: no pair is there
 * twice; bpe_check's errors, but a tab is a character here, as for subword-nmt. Caller: bpe_free. */
int bpe_learn(const BpeText *text, size_t texts, size_t merges, Bpe **out);

/* The codes of a file: "#version: 0.2", then two symbols a line. ERR_INPUT with file and line. Caller: bpe_free. */
int bpe_read(const char *file, Bpe **out);
int bpe_parse(const char *file, const char *bytes, size_t count, Bpe **out);
/* Writes them, as file_replace does, or into memory (caller: memory_free). */
int bpe_write(const Bpe *b, const char *file);
int bpe_print(const Bpe *b, char **text, size_t *bytes);

size_t bpe_merges(const Bpe *b);
uint64_t bpe_hash(const Bpe *b); /* FNV-1a of what bpe_write writes */

/* ERR_INPUT, with file and line, where a text is not UTF-8, has a NUL byte, a '\r' that ends no line or a tab (which stands
 * between words for a vocabulary, and would be inside one here), or has a word that ends in "@@", which could not be told
 * from a piece. */
int bpe_check(const BpeText *t);

/* *out = the text with every word in pieces, line by line: of several blanks between words one stays, those at both ends of
 * a line all do. bpe_check's errors, but a tab is a character. Caller: memory_free. */
int bpe_apply(const Bpe *b, const BpeText *t, char **out, size_t *bytes);

/* Undoes it in place: "@@ " goes, and "@@" at the end. Gives the bytes that are left; line has no '\n'. */
size_t bpe_join(char *line, size_t bytes);

void bpe_free(Bpe *b); /* NULL allowed */

#endif
