/* sweep.h: the study behind `trotter sweep`: language models that are words over {s, f}, s an attention and f a
 * feed-forward sublayer, and what correlates with their perplexities. Its parts: the row of the study (command_sweep.c,
 * studies/lab/study), the words (sweep_draw.c, sweep_words.c), tables and captions (sweep_table.c).
 * Source: Press, Smith, Levy 2020, sections 3 and 4.
 */
#ifndef TROTTER_SWEEP_H
#define TROTTER_SWEEP_H

#include "studies/lab/study/study.h"

/* The families of words in a sweep; a word may belong to several, and is one model. */
enum {
    FAMILY_INTERLEAVED,
    FAMILY_PERMUTATION,
    FAMILY_RANDOM,
    FAMILY_SANDWICH,
    FAMILY_GIVEN,
    FAMILIES
};

/* ---- sweep_draw.c ---------------------------------------------------------------------------------- */

/* Makes the i-th draw of a permutation of n letters s and n letters f, all orders equally likely: word (2 n + 1) out.
 * It is a function of (seed, i, n) alone: letter j is s where element j of random_permutation(seed, stream of
 * permutations + i, 2 n) is below n. */
void draw_permutation(uint64_t seed, uint64_t i, size_t n, char *word);

/* Makes the i-th draw of a word of `budget` numbers, of which an s has `s` and an f has `f`. Letters are drawn one by
 * one, either with probability 1/2 (random_below(seed, stream of words, i * 2^32 + j, 2)); a letter that does not fit
 * any more is replaced by the other. word (ZOO_LETTERS + 1) out. Returns 1 where the numbers are used up exactly, 0
 * where some are left or the word grows too long. Source: section 3.2 (they draw "until the parameter budget is
 * exhausted"). */
int draw_word(uint64_t seed, uint64_t i, uint64_t s, uint64_t f, uint64_t budget, char *word);

/* Makes s^k (sf)^(n-k) f^k, word (2 n + 1) out; k = 0: the interleaved word. Source: section 4. */
void sandwich_word(size_t n, size_t k, char *word);

/* Sublayers of each kind in the first and the second half of a word's numbers. The sublayer that contains the middle is
 * counted in parts. Source: section 3.3 ("in half by parameter count"), whose figure does not say how that one is
 * counted. */
typedef struct {
    double bottom[2], top[2]; /* s, f */
} Halves;
Halves word_halves(const char *word, double s, double f);

/* ---- words ----------------------------------------------------------------------------------------- */

/* What a design of the study has of its own: its word, which is its name. */
typedef struct {
    int family;        /* bits 1 << FAMILY_* */
    char families[64]; /* their names */
    int k;             /* sandwich coefficient; -1: none */
    Table *scheme;     /* Euler sublayers: what is trained */
    size_t count[2];   /* letters s, f */
    double area;       /* coefficient of [F,G] of the splitting by exact flows: the signed area */
    double share;      /* area over that of s^a f^b, a b / 2: -1 .. 1; NaN where a b = 0 */
    double FFG, FGG;   /* coefficients of [F,[F,G]], [[F,G],G] */
    int order; /* of the splitting by exact flows, for the flow of aF + bG; -1: exact, ab = 0 */
    int order_trained; /* with Euler sublayers; at most 1, whatever the area (trotter verify --claim euler-words) */
    double norm; /* of its leading error: sqrt of the sum of squared coefficients; NaN: none */
    double euler_norm; /* the same with Euler sublayers; NaN where it is not known */
    Halves halves;
} SweepWord;

/* What the study has of its own (Study.more). Its baseline is the interleaved word. */
typedef struct {
    size_t pairs;   /* n */
    size_t cost[2]; /* numbers of the matrices of a sublayer s, f */
    size_t best;    /* the best sandwich, by its first seed; the number of designs: there is none */
} Sweep;

/* ---- sweep_words.c ---------------------------------------------------------------------------------- */

/* Lists all words that the options ask for, each once, with their theory. */
int sweep_words(Study *u);
const SweepWord *sweep_word(const Study *u, size_t i);
const Sweep *sweep_of(const Study *u);
const char *sweep_family(int family); /* "permutation" */
/* Returns 1 where a word is of the family; FAMILIES: always. */
int sweep_is(const SweepWord *w, int family);

/* ---- sweep_table.c --------------------------------------------------------------------------------- */

/* Columns of runs.csv (its first), words.csv. */
extern const Column sweep_run_columns[], sweep_word_columns[];
extern const char sweep_run_names[]; /* all of runs.csv */

/* Sets what a run has of its word's (StudyKind.fill). */
void sweep_fill(Study *u, const StudyDesign *d, const StudyRun *r);
extern const RunRelation sweep_relations[];
int sweep_caption(const Study *u, int brief, FILE *f);

#endif
