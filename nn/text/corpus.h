/* corpus.h: shared by the files behind corpus.c; others include text.h.
 *
 *   read.c   whole files, scanning for words     words.c   a hash table of words
 *   vocab.c  words to ids and back               text.c    a text as ids
 *   markov.c a source of known entropy           builtin.c texts inside the program
 *   reverse.c pairs for a model of two sides         pairs.c  languages; long pairs
 *   folder.c  the files of a directory               pieces.c words in pieces, by bpe.c
 *   single.c  one file in three parts                corpus_split.c  raw texts to a split
 */
#ifndef TROTTER_CORPUS_H
#define TROTTER_CORPUS_H

#include <stdio.h>

#include "kernels/base/numbers.h"
#include "nn/text/text.h"

#define WORD_EOS "<eos>"
#define WORD_UNK "<unk>"
#define CHAR_BLANK "_" /* stands between words where characters are tokens */

/* ---- read.c ---- */

/* Reads a text, whatever then cuts it: in UTF-8, with a byte-order mark or without, its lines ended by LF or CR LF, of which LF
 * stays. Other bytes, a NUL among them, a CR elsewhere, and an empty file: ERR_INPUT (with the line). read_raw reads a file as
 * it stands, but for the mark; only an empty one and a NUL are ERR_INPUT there. */
int read_text(const char *file, char **bytes, size_t *count);
int read_raw(const char *file, char **bytes, size_t *count);

/* text_line: the file's line at a place of a text; text_check: 0, or ERR_INPUT where it is not as read_text has it. */
size_t text_line(const BpeText *t, const char *at);
int text_check(const BpeText *t);

/* Reads a text by name, as read_text does. "-" is standard input; "kjv:train", "kjv:valid" and "kjv:test" are inside
 * the program; anything else is a file (write ./NAME for a file of such a name). */
int read_named(const char *name, char **bytes, size_t *count);

/* A text word by word. Words are separated by blanks and tabs; a line ends at '\n', at "\r\n" (so a
 * text reads the same from either kind of system) or at the text's end. A '\r' elsewhere belongs to
 * its word. */
typedef struct {
    const char *at, *end; /* not read yet */
    size_t lines;         /* lines ended so far: the current line's number minus one */
    int open;             /* the current line has begun */
    int level;        /* LEVEL_CHAR: words come character by character, CHAR_BLANK between them */
    const char *rest; /* rest of the word that comes by characters */
    size_t left;      /* bytes of rest */
    int inside;       /* this line already gave a word */
} Scan;

Scan scan_begin(const char *bytes, size_t count, int level);
/* Gives the next token, or *bytes = 0 at the end of a line. Returns 0 when the text is over. */
int scan_next(Scan *s, const char **word, size_t *bytes);

/* ---- words.c ---- */

typedef struct {
    const char *text; /* borrowed, `bytes` long, no NUL behind it */
    size_t bytes;
    uint64_t count;
} Word;

/* Distinct words in order of their first appearance; a table of zeros is empty. */
typedef struct {
    Word *word; /* (size) */
    size_t size;
    Numbers number; /* of words, by their hash */
} Words;

/* Adds `count` to a word's count; text is borrowed until words_free. */
int words_add(Words *w, const char *text, size_t bytes, uint64_t count);
/* Counts a word, with `behind` at its end, and keeps a copy of a new one; words_free_own frees these too. */
int words_own(Words *w, const char *text, size_t bytes, const char *behind);
void words_free_own(Words *w);
int32_t words_find(const Words *w, const char *text, size_t bytes); /* -1: not there */
int words_compare(const Word *a, const Word *b);                    /* bytewise; as strcmp */
void words_free(Words *w);

/* ---- vocab.c ---- */

/* Builds the vocabulary of training texts, cut to `limit` words (0: not). unknown: <unk> in any case. */
int vocab_build(const BpeText *text, size_t texts, int level, size_t limit, int unknown, Vocab *v);
/* Appends n words, none of which is there yet; after an error v is unchanged. */
int vocab_append(Vocab *v, const char *const *word, size_t n);
/* Makes a vocabulary of <eos>, then the prefix followed by 1, 2, .. n - 1. */
int vocab_numbered(const char *prefix, size_t n, Vocab *v);
/* Reads V of a name "NAME:V", `usual` for "NAME". Else, or outside 2 .. most < 10^7: ERR_INPUT. */
int vocab_number(const char *name, size_t usual, size_t most, size_t *V);

/* ---- markov.c ---- */

enum { MARKOV_DEGREE = 6 }; /* most successors of a state, <eos> included */

typedef struct {
    uint32_t to;
    double p; /* 0: no edge */
} MarkovEdge;

typedef struct {
    size_t V;         /* states; 0 is <eos> */
    MarkovEdge *edge; /* (V, MARKOV_DEGREE) */
    double *pi;       /* (V) stationary distribution */
    double rate;      /* entropy rate -sum_i pi_i sum_j p_ij ln p_ij, nats a token */
} Markov;

/* Draws a chain of V states, 2 <= V <= 2^20, a function of (V, seed) alone. */
int markov_new(size_t V, uint64_t seed, Markov *m);
void markov_free(Markov *m);
/* Makes a corpus of "markov" or "markov:V" with the first `splits` splits; valid and test have whole lines up to at
 * least `most` tokens, or all. */
int markov_corpus(const char *name, uint64_t seed, int splits, size_t most, Corpus *c);

/* ---- folder.c ---- */

int corpus_is_folder(const char *path);
/* Finds the three texts of a directory: file (SPLITS) out are their paths; with a language they are those of its side
 * of the pairs. Caller: corpus_files_free. */
int corpus_files(const char *dir, const char *language, char *file[SPLITS]);
void corpus_files_free(char *file[SPLITS]);

/* ---- single.c ---- */

/* Returns 1 for anything that exists and is no directory, so for a pipe too. */
int corpus_is_file(const char *path);
/* Returns the place that is `lines` lines behind `at` in a text that goes on to `end`. */
const char *single_skip(const char *at, const char *end, size_t lines);
/* Cuts a file's bytes, line by line, in three parts; text (SPLITS) out: windows of the bytes. Shares are above 0. A
 * part without a line: ERR_INPUT. */
int single_cut(const char *file, const char *bytes, size_t count, const double parts[SPLITS],
               BpeText text[SPLITS]);

/* Returns the number of splits to read. */
static inline int corpus_splits(const CorpusChoice *w)
{
    return w->untested ? SPLIT_TEST : SPLITS;
}

/* ---- pieces.c ---- */

/* Checks the choice of pieces. ERR_INPUT where both merges and codes are chosen, or one of them with characters. */
int pieces_check(const CorpusChoice *w);
/* Returns the name of the option that cuts words in pieces, bpe, codes or tokenizer; NULL: none is chosen. */
const char *pieces_option(const CorpusChoice *w);
/* *bpe = the chosen merges: learned from the training texts, after bpe_check, or read. It is left alone where none are
 * chosen. */
int pieces_find(const CorpusChoice *w, const BpeText *train, size_t texts, Bpe **bpe);
/* Appends to v all other pieces that training texts can have when merges are dropped, characters first. */
int pieces_all(const Bpe *bpe, const BpeText *raw, size_t texts, Vocab *v);
/* As pieces_find for pairs whose sides have merges each: those of the target, which own those of the source. */
int pieces_apart(const CorpusChoice *w, const BpeText train[2], Bpe **bpe);
/* *pieces (*count) = a text in pieces, after bpe_check. bpe NULL: only checks, *pieces = NULL. Caller: memory_free. */
int pieces_cut(const Bpe *bpe, const BpeText *t, char **pieces, size_t *count);
/* Returns 1 for a piece whose word goes on with the next one. */
int piece_goes_on(const Vocab *v, const char *word, size_t bytes);

/* ---- pairs.c ---- */

/* Check the languages: ERR_INPUT where one of the two is missing, or they do not go together; check two files' names:
 * ERR_INPUT where they differ in more than the language. */
int pairs_check(const CorpusChoice *w);
int pairs_alike(const CorpusChoice *w, const char *source, const char *target);

/* ---- corpus_split.c ---- */

/* The raw texts of a split: one, or a source and a target. own: bytes that are owned; NULL: they are borrowed. */
typedef struct {
    int sides;
    BpeText text[2];
    char *own[2];
} RawSplit;
/* Adds a split to a corpus and frees the bytes that it owns. The training texts come first and give merges and
 * vocabulary. Pairs are checked as bpe_check and text_pairs do. */
int split_add(const CorpusChoice *w, int split, RawSplit *r, Corpus *c);

/* ---- reverse.c ---- */

/* Makes a corpus of pairs of "reverse" or "reverse:V", a function of (V, seed). splits and most as for markov_corpus;
 * most counts the targets' tokens. */
int reverse_corpus(const char *name, uint64_t seed, int splits, size_t most, Corpus *c);

/* ---- builtin.c ---- */

/* Returns the King James text of a split. */
BpeText builtin_kjv(int split);
/* Returns the legend of the text. Whoever passes the program on passes the legend on. */
BpeText builtin_kjv_legend(void);

#endif
