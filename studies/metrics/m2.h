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

#include "studies/metrics/m2_file.h"

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
