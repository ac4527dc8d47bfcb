/* m2.h: MaxMatch (M2), a score of grammatical error correction: how many of a system's edits are an annotator's.
 *
 *   P = correct / proposed, R = correct / gold, F = (1 + beta^2) P R / (beta^2 P + R)
 *
 * use sums over sentences, 0 .. 100. With nothing proposed P is 100, with no gold edit R is 100, and F is 0 where both
 * are 0. beta < 1 gives precision more weight; 0.5 is usual.
 *
 * A system gives corrected sentences, not edits, and a source can become a hypothesis in many ways. They are paths
 * through a lattice. At its vertex (i, j), i words of the source are read and j words of the hypothesis are written. A
 * single edge is a word that stays, is deleted, is inserted or is replaced. The lattice has the edges of all shortest
 * paths from (0, 0) to (n, m), both where a replacement costs 1 and where it costs 2, as a deletion and an insertion do
 * together. An edit is an edge, or several in a row with at most max_unchanged words that stay, so that it may be as
 * long as an annotator's. Of all ways, MaxMatch takes
 *
 *   1. one with the most gold edits (the same words of the source, one of the corrections; each once, and those that
 *      are inserted at one place in the order of the file), of these
 *   2. one with the fewest single edges outside them, words that stay counted, of these
 *   3. one with the fewest edits,
 *
 * and its edits are those that the system proposed. A gold edit that leaves the words as they are is never matched, but
 * is counted.
 *
 * Where a sentence has several annotators, it counts with the one whose counts, added to those of the sentences
 * before, give the largest F; then the most correct, then the least proposed + beta^2 gold, then the least number.
 *
 * Source: Dahlmeier and Ng 2012, sections 3 and 4, who find the way as a shortest path with negative weights of edges
 * that match. Rules 2 and 3, both costs and the choice of annotators are those of their program, m2scorer. It finds
 * edits of several edges as all-pairs shortest paths and may miss some; this program misses none.
 */
#ifndef TROTTER_METRICS_M2_H
#define TROTTER_METRICS_M2_H

#include "studies/metrics/lines.h"
#include "studies/metrics/tokenise.h"

/* ---- m2_file.c ----------------------------------------------------------------------------- */

/* Sentences with corrections by people, in the .m2 format of the CoNLL-2014 shared task.
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
 * Words are cut at the white space of tokenise.h. Source: Dahlmeier and Ng 2012; Ng et al. 2014, section 4. */

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

/* ---- m2.c ---------------------------------------------------------------------------------- */

typedef struct {
    double beta; /* >= 0 */
    size_t max_unchanged;
} M2Options;

typedef struct {
    size_t correct, proposed, gold; /* edits */
} M2Counts;

/* A sentence's counts, with the annotator that was chosen. */
typedef struct {
    size_t annotator;
    M2Counts counts;
} M2Choice;

double m2_precision(const M2Counts *c);
double m2_recall(const M2Counts *c);
double m2_f(const M2Counts *c, double beta);

/* Counts the edits of hypotheses, line i for sentence i. each (f->sentences) out, or NULL. ERR_INPUT with both counts
 * where the lines are not as many as the sentences, and with file and line for more than M2_WORDS words; ERR_MEMORY. */
int m2_score(const M2File *f, const Lines *hypothesis, const M2Options *o, M2Counts *total,
             M2Choice *each);

/* Counts against one annotator's edits; hypothesis is words of m2_file_words. ERR_MEMORY. */
int m2_count(const M2File *f, const M2Sentence *s, const M2Set *set, const Symbols *hypothesis,
             size_t max_unchanged, M2Counts *out);

#endif
