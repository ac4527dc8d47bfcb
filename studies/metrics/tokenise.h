/* tokenise.h: cuts a line into the words that BLEU counts.
 *
 *   none   at white space, no more
 *   13a    as mteval-v13a, WMT's: &quot; &amp; &lt; &gt; are characters again, <skipped> goes; ASCII punctuation and
 *          symbols but ' , - . stand alone, full stop and comma too unless digits are on both sides, and a dash
 *          behind a digit
 *   intl   as the international tokenisation of mteval-v14, by Unicode's general categories: punctuation (P) stands
 *          alone unless numbers (N) are on both sides or one of them and an end of the line, symbols (S) always
 *
 * White space is that of Python's str.split: Unicode's White_Space and U+001C to U+001F. Categories and cases are those
 * of libunistring's Unicode. Source: Post 2018 ("A call for clarity in reporting BLEU scores"); its program, sacreBLEU
 * 2.6, gives the same words.
 */
#ifndef TROTTER_METRICS_TOKENISE_H
#define TROTTER_METRICS_TOKENISE_H

#include "studies/metrics/symbols.h"

enum { TOKENIZE_NONE, TOKENIZE_13A, TOKENIZE_INTL };
/* Names of the tokenisations, in this order: values of an option, read by option_index and option_value. */
#define TOKENIZE_NAMES "none|13a|intl"

/* Writes the characters of a text in valid UTF-8 to out; `lowercase`: in Unicode's full lower case, for no particular
 * language. `room` is overwritten. ERR_MEMORY. */
int tokenise_read(const char *text, size_t bytes, int lowercase, Symbols *out, Symbols *room);

/* Turns the text into its words, with single blanks (U+0020) between them. `room` is overwritten. ERR_MEMORY. */
int tokenise(int how, Symbols *text, Symbols *room);

/* Returns 1 where a character is white space. */
int tokenise_is_blank(uint32_t c);

/* Removes all white space from a text. */
void tokenise_squeeze(Symbols *text);

/* Returns 1 where the line looks as if it had been tokenised before: a full stop or a comma stands alone, or it holds
 * an escape such as &apos;. */
int tokenise_is_done(const char *text, size_t bytes);

#endif
