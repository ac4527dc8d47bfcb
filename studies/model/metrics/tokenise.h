/* tokenise.h: cuts a line into the words that BLEU counts, or into those of Moses, and joins these again.
 *
 *   none   at white space, no more
 *   13a    as mteval-v13a, WMT's: &quot; &amp; &lt; &gt; are characters again, <skipped> goes; ASCII punctuation and
 *          symbols but ' , - . stand alone, full stop and comma too unless digits are on both sides, and a dash
 *          behind a digit
 *
 *   en, de, fr   as Moses' tokenizer.perl, without its escapes: all but letters, digits and . ' ` , - stands alone; a
 *          comma unless numbers are on both sides; an apostrophe with what is behind it in English, before it in French,
 *          alone in German; a full stop at the end of the line, or of a word that is no known abbreviation, has no full
 *          stop inside and has no small letter behind it; several full stops are one word. Moses' lists of
 *          abbreviations are longer. Control characters go. Source: Koehn et al. 2007; Moses' scripts of 2019
 *
 * White space is that of Python's str.split: Unicode's White_Space and U+001C to U+001F. Categories and cases are those
 * of libunistring's Unicode. Source: Post 2018 ("A call for clarity in reporting BLEU scores"); its program, sacreBLEU
 * 2.6, gives the same words.
 */
#ifndef TROTTER_METRICS_TOKENISE_H
#define TROTTER_METRICS_TOKENISE_H

#include <stddef.h>
#include <stdint.h>

#include "nn/text/corpus.h"

/* ---- symbols.c ----------------------------------------------------------------------------- */

/* A line as a sequence of numbers, and the n-grams that two such sequences share. */

/* Characters as Unicode code points, or words as numbers; all zero is an empty sequence. */
typedef struct {
    uint32_t *x; /* (n) */
    size_t n, room;
} Symbols;

/* Adds a symbol at the end. ERR_MEMORY; the sequence then stays as it was. */
int symbols_add(Symbols *s, uint32_t symbol);
/* Makes room for `room` symbols in all; existing ones stay. ERR_MEMORY. */
int symbols_room(Symbols *s, size_t room);
void symbols_free(Symbols *s);

/* Writes to out the words of a text that has single blanks (U+0020) between words, each as its number in `words`, which
 * gets new words added; words borrows the text's characters. text and out are distinct. ERR_MEMORY. */
int symbols_words(const Symbols *text, Words *words, Symbols *out);

/* Returns the number of n-grams of a line of N symbols: max(0, N - n + 1). */
size_t grams_count(const Symbols *a, size_t n);

/* Computes *matches = sum over the distinct n-grams g of a of min(count of g in a, max over r of count of g in b[r]), n
 * >= 1: matches clipped by the references b (references). Source: Papineni, Roukos, Ward, Zhu 2002, section 2.1.
 * ERR_MEMORY. */
int grams_match(size_t n, const Symbols *a, const Symbols *b, size_t references, size_t *matches);

/* ---- tokenise.c, detokenise.c ---------------------------------------------------------------------------- */

enum { TOKENIZE_NONE, TOKENIZE_13A, TOKENIZE_EN, TOKENIZE_DE, TOKENIZE_FR };
/* Names of the tokenisations, in this order: values of an option, read by option_index and option_value. The first are
 * those that BLEU may use. */
#define TOKENIZE_NAMES "none|13a"
#define TOKENIZE_ALL TOKENIZE_NAMES "|en|de|fr"

/* Writes the characters of a text in valid UTF-8 to out; `lowercase`: in Unicode's full lower case, for no particular
 * language. `room` is overwritten. ERR_MEMORY. */
int tokenise_read(const char *text, size_t bytes, int lowercase, Symbols *out, Symbols *room);

/* Turns the text into its words, with single blanks (U+0020) between them. `room` is overwritten. ERR_MEMORY. */
int tokenise(int how, Symbols *text, Symbols *room);

/* Joins words as Moses' detokenizer.perl does; `how` is TOKENIZE_EN, _DE or _FR: escapes are characters again;
 * punctuation and currency signs lose a blank, quotation marks one on the inside, by turns; so do apostrophes in English
 * and French. Blanks between Chinese, Japanese and Korean go, " @-@ " is a hyphen. `room` is overwritten. ERR_MEMORY. */
int detokenise(int how, Symbols *text, Symbols *room);

/* Makes words of their own, in a text of words, of the ASCII punctuation that ends a word of several characters or,
 * where none ends it, begins it. `room` is overwritten. Source: Popovic 2017, chrF++. ERR_MEMORY. */
int tokenise_punctuation(Symbols *text, Symbols *room);

/* Replaces every `word` in a text by the character, or removes it where that is 0. */
void tokenise_replace(Symbols *text, const char *word, uint32_t character);

/* Removes all white space from a text. */
void tokenise_squeeze(Symbols *text);

/* Returns 1 where the line looks as if it had been tokenised before: a full stop or a comma stands alone, or it holds
 * an escape such as &apos;. */
int tokenise_is_done(const char *text, size_t bytes);

#endif
