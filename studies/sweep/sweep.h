/* sweep.h: the study behind `trotter sweep`: language models that are words over {s, f}, s an attention and f a
 * feed-forward sublayer, and what correlates with their perplexities. Its parts: the words (sweep_draw.c,
 * sweep_words.c), their trainings (sweep_runs.c), the table of runs and what is read off it (sweep_table.c,
 * studies/table), words and files (sweep_save.c), plots (sweep_plot.c). Source: Press, Smith, Levy 2020, sections 3 and 4.
 */
#ifndef TROTTER_SWEEP_H
#define TROTTER_SWEEP_H

#include "studies/runs/tasks.h"
#include "studies/runs/worker.h"
#include "studies/table/runtable.h"
#include "studies/tools/select.h"

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
    char runs_file[OUTPUT_PATH];
    RunTable table; /* of that file, once all is trained */
    size_t base;    /* the interleaved word's design in it; table.designs: it has no run */
    Column *own[4]; /* of wide, brief, sandwiches and differences */
    Sheet *wide, *brief, *differences, *correlations, *related, *halves, *sandwiches, *plotted;
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
/* Trains every word with its seeds; then, with --confirm, the best sandwich with the seeds of the baseline. */
int sweep_train(Sweep *u, int wait);

/* ---- sweep_table.c --------------------------------------------------------------------------------- */

/* Columns of runs.csv, words.csv, families.csv, sandwich.csv, halves.csv. */
extern const Column sweep_run_columns[], sweep_word_columns[], sweep_family_columns[],
    sweep_sandwich_columns[], sweep_half_columns[];

/* Makes a sheet of these columns, those of runs.csv or the ones that --csv shows: a row for each run that has a result. */
extern const Column sweep_shown_columns[];
int sweep_runs_sheet(const Sweep *u, const Column *list, Sheet **out);
/* Writes DIR/runs.csv. */
int sweep_record(const Sweep *u);
/* Reads it back, and makes all sheets. ERR_INPUT, ERR_MEMORY. */
int sweep_tables(Sweep *u);
/* Returns 1 where a design of the table is of the family; FAMILIES: always. */
int sweep_of(const Sweep *u, size_t design, int family);
/* Returns a design's validation perplexity with the first seed; NaN: none. */
double sweep_first(const Sweep *u, size_t design);
/* sweep_has_baseline returns 1 where the interleaved word has a mean validation perplexity, sweep_is_better where a
 * design's is lower than that. */
int sweep_has_baseline(const Sweep *u);
int sweep_is_better(const Sweep *u, size_t design);

/* ---- sweep_save.c, sweep_plot.c ---------------------------------------------------------------------- */

int sweep_show(const Sweep *u);
int sweep_save(const Sweep *u);
int sweep_plots(const Sweep *u);

#endif
