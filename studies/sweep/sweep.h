/* sweep.h: the study behind `trotter sweep`: language models that are words over {s, f}, s an attention and f a
 * feed-forward sublayer, and what correlates with their perplexities. Its parts: the words (sweep_draw.c,
 * sweep_words.c), their trainings (sweep_runs.c), recorded runs (sweep_from.c), tables (sweep_table.c), differences
 * from the interleaved word and of all pairs (sweep_differences.c), rank correlations (sweep_relate.c), words and
 * files (sweep_save.c), plots (sweep_plot.c). Source: Press, Smith, Levy 2020, sections 3 and 4.
 */
#ifndef TROTTER_SWEEP_H
#define TROTTER_SWEEP_H

#include "studies/runs/tasks.h"
#include "studies/runs/worker.h"
#include "studies/statistics/simultaneous.h"
#include "studies/tools/select.h"
#include "studies/tools/sheet.h"

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

typedef struct {
    char letters[ZOO_LETTERS + 1];
    int family;      /* bits 1 << FAMILY_* */
    int k;           /* sandwich coefficient; -1: none */
    Table *scheme;   /* Euler sublayers: what is trained */
    size_t count[2]; /* letters s, f */
    double area;     /* coefficient of [F,G] of the splitting by exact flows: the signed area */
    double share;    /* area over that of s^a f^b, a b / 2: -1 .. 1; NaN where a b = 0 */
    double FFG, FGG; /* coefficients of [F,[F,G]], [[F,G],G] */
    int order; /* of the splitting by exact flows, for the flow of aF + bG; -1: exact, ab = 0 */
    int order_trained; /* with Euler sublayers; at most 1, whatever the area (trotter verify --claim euler-words) */
    double norm; /* of its leading error: sqrt of the sum of squared coefficients; NaN: none */
    double euler_norm; /* the same with Euler sublayers; NaN where it is not known */
    Halves halves;
    size_t numbers;    /* of the model, with the given options */
    size_t seeds;      /* trainings */
    RunResult *result; /* (seeds); NaN where a run failed */
    double params;
    Interval valid, test;
    double even[2]; /* mean validation, test perplexity over the seeds that every word has */
} Word;

typedef struct {
    Options *options;
    const char *dir;
    Worker worker;
    Runs runs;
    Zoo zoo;
    Corpus corpus;
    size_t pairs; /* n */
    size_t seed;
    size_t cost[2]; /* numbers of the matrices of a sublayer s, f */
    size_t words, room;
    Word *word;
    size_t interleaved; /* index of the interleaved word; `words` where there is none */
    size_t best;   /* index of the best sandwich, by its first seed; `words` where there is none */
    size_t failed; /* runs */
    Seeds layout[2]; /* of validation and test text (sweep_differences) */
    SharedSeeds shared[2];
    Sheet *all_pairs; /* NULL without --all-pairs */
    Sheet *differences, *runs_table, *wide, *brief, *correlations, *related, *halves, *sandwiches,
        *plotted;
} Sweep;

/* ---- sweep_words.c ---------------------------------------------------------------------------------- */

/* Lists all words that the options ask for, each once, with their theory. */
int sweep_words(Sweep *u);
void sweep_words_free(Sweep *u);
const char *sweep_family(int family); /* "permutation" */
int sweep_is(const Word *w, int family);

/* ---- sweep_runs.c ----------------------------------------------------------------------------------- */

/* Sets how often each word is trained; fails here where every run would fail. */
int sweep_check(Sweep *u);
/* Trains every word with its seeds; then, with --confirm, the best sandwich with the seeds of the baseline. With --from
 * it trains nothing and reads the runs. */
int sweep_train(Sweep *u, int wait);

/* ---- sweep_from.c ----------------------------------------------------------------------------------- */

/* Returns 1 where the runs are those that earlier sweeps recorded (--from). */
int sweep_recorded(const Sweep *u);
/* Reads the results of every word's seeds from the sweep.csv of those sweeps. ERR_INPUT where one is missing, of
 * another size, or there twice with two perplexities. */
int sweep_from(Sweep *u);

/* ---- sweep_table.c, sweep_relate.c -------------------------------------------------------------------- */

/* Columns of words.csv, sweep.csv, families.csv, sandwich.csv, permutations.csv and random.csv; halves.csv,
 * correlations.csv, differences.csv, pairs.csv. */
extern const Column sweep_word_columns[], sweep_run_columns[], sweep_family_columns[],
    sweep_sandwich_columns[], sweep_ranked_columns[], sweep_half_columns[],
    sweep_correlation_columns[], sweep_difference_columns[], sweep_pair_columns[];

int sweep_tables(Sweep *u);
/* Adds the row of a word and its k-th run to a table of the first six kinds of columns. family: the family, or
 * families, in the row. */
void sweep_row(const Sweep *u, const Word *w, size_t k, const char *family, Sheet *out);
/* Reads what a row of sweep.csv has of a run; the rest is NaN. ERR_INPUT. */
int sweep_result(const Csv *c, size_t row, RunResult *out);
/* Fills u->layout, shared and differences: every word less the interleaved one; no rows without that one. With
 * --all-pairs it also fills u->all_pairs, every word less every earlier one. ERR_MEMORY. */
int sweep_differences(Sweep *u);
/* Returns 1 where w is the sandwich that its first seed chose (--confirm). */
int sweep_chosen(const Sweep *u, const Word *w);
/* Fills u->correlations, and u->related with those of validation perplexity alone. */
int sweep_correlations(Sweep *u);
/* Computes the rank correlation of validation perplexity with |area| over the words of a family. */
int sweep_answer(const Sweep *u, int family, Correlation *out);
/* sweep_has_baseline returns 1 where the baseline has a mean validation perplexity, sweep_is_better where a word's is
 * lower than that. */
int sweep_has_baseline(const Sweep *u);
int sweep_is_better(const Sweep *u, const Word *w);

/* ---- sweep_save.c, sweep_plot.c ---------------------------------------------------------------------- */

int sweep_show(const Sweep *u);
int sweep_save(const Sweep *u);
int sweep_plots(const Sweep *u);

#endif
