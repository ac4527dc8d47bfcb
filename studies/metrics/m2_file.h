/* m2_file.h: sentences with corrections by people, in the .m2 format of the CoNLL-2014 shared task.
 *
 *     S The cat sat at mat .
 *     A 3 4|||Prep|||on|||REQUIRED|||-NONE-|||0
 *     A 4 4|||ArtOrDet|||the||a|||REQUIRED|||-NONE-|||0
 *
 * A block is a line S with the words of a sentence and a line A for each edit; empty lines stand between blocks. An
 * edit has six fields: the words start .. end - 1 that are replaced, counted from 0 (start = end: something is inserted
 * before that word), the kind of error, the corrections, two fields that nobody reads, and the annotator's number. Any
 * of the corrections, with || between them, is right; an empty one and -NONE- delete. Each annotator's edits are a
 * separate answer. An edit of the kind "noop" or at -1 -1 is no edit: that annotator leaves the sentence as it is. So
 * does the one annotator, number 0, of a block without lines A.
 *
 * Words are cut at the white space of tokenise.h. Source: Dahlmeier and Ng 2012; Ng et al. 2014, section 4.
 */
#ifndef TROTTER_METRICS_M2_FILE_H
#define TROTTER_METRICS_M2_FILE_H

#include "studies/metrics/lines.h"
#include "studies/metrics/symbols.h"

enum { M2_WORDS = 4096 };     /* the most words of a sentence */
#define M2_UNKNOWN UINT32_MAX /* a word that no line of the file has */

/* Words first .. first + n - 1 of M2File.words. */
typedef struct {
    size_t first, n;
} M2Text;

typedef struct {
    size_t start, end; /* start <= end <= words of the sentence */
    size_t annotator, line;
    size_t first, corrections; /* of M2File.correction */
} M2Edit;

/* An annotator's edits, sorted by their starts; those of one start in the order of their lines. */
typedef struct {
    size_t annotator;
    size_t first, edits; /* of M2File.edit */
} M2Set;

typedef struct {
    M2Text source;
    size_t first, sets; /* of M2File.set, by the annotators' numbers; sets >= 1 */
} M2Sentence;

typedef struct {
    Lines lines;
    Words vocabulary; /* of S lines and corrections; borrows lines.text */
    Symbols words;    /* their numbers, one text behind the other */
    M2Text *correction;
    M2Edit *edit;
    M2Set *set;
    M2Sentence *sentence;
    size_t corrections, edits, sets, sentences;
} M2File;

/* Reads a file. ERR_INPUT with file and line for what lines_read refuses; a line that is neither S nor A nor empty; an
 * S line without an empty line before it; an A line outside a block or not of six fields; start > end; an end behind
 * the sentence; a sentence or a correction of more than M2_WORDS words; a file without a sentence. ERR_MEMORY. Caller:
 * m2_file_free, whatever the code. */
int m2_file_read(const char *file, M2File *out);
void m2_file_free(M2File *f);

/* Writes the words of a line to out, as numbers of the vocabulary or M2_UNKNOWN. ERR_MEMORY. */
int m2_file_words(const M2File *f, Line line, Symbols *out);

#endif
