/* compare.h: the studies behind `trotter compare` (studies/lab/study): schemes of language models, and pairs of an encoder's and
 * a decoder's scheme. Their parts: the rows (command_compare.c), designs (compare_designs.c, compare_pairs.c), tables
 * (compare_table.c, compare_curves.c, compare_depth.c, compare_pairs_table.c), words (compare_print.c) and plots (compare_plot.c).
 */
#ifndef TROTTER_COMPARE_H
#define TROTTER_COMPARE_H

#include "studies/solve/convergence.h"
#include "studies/lab/study/study.h"

/* ---- schemes ----------------------------------------------------------------------------------------- */

enum { COMPARE_DEPTHS = 16 };

/* What a design has of its own: a scheme at a depth. */
typedef struct {
    size_t index;  /* of the scheme in the selection */
    char time[64]; /* of the exact flow against which its step is measured */
    Plan *plan;    /* compiled once, for find_same */
} CompareDesign;

/* What the study has of its own (Study.more). */
typedef struct {
    ConvergenceStudy orders;
    size_t depths, depth[COMPARE_DEPTHS];
    size_t points; /* of the grid of --vary; 1 without */
} Compare;

static inline const Compare *compare_of(const Study *u)
{
    return u->more;
}

/* Makes the designs of --scheme or --scheme-file, and with --controls looped:N and repeat:N for every N > 1 at which a scheme evaluates F and G N times each; finds equal maps and the
 * baseline. */
int compare_open(Study *u);
/* Checks --vary (compare_vary.c) and counts its points. ERR_INPUT for what cannot be varied. */
int compare_vary(const Options *o, size_t *points);
/* Makes the i-th point; the last option's value changes first. */
Spec compare_point(const Options *o, size_t points, size_t i);
/* Returns 1 where two designs have the same layers and values of --vary. */
int compare_beside(const StudyDesign *a, const StudyDesign *b);
/* Measures the orders, in the process that writes the tables. */
int compare_begin(Study *u);
void compare_close(Study *u);
void compare_drop(void *design);
/* Writes the names of the other schemes with the evaluations of a control, separated by blanks; "" if t is no
 * control. */
void compare_controlled(const Study *u, const Table *t, char out[512]);

/* Columns of runs.csv (its first), compare.csv, curves.csv. */
extern const Column compare_run_columns[], compare_columns[], curve_columns[];
extern const char compare_run_names[], pair_run_names[]; /* all of runs.csv */
void compare_fill(Study *u, const StudyDesign *d, const StudyRun *r);
/* Values of compare.csv that are no means over runs. */
RunMore compare_more;
extern const RunRelation compare_relations[];
int compare_curves(Study *u, Sheet *out);
/* Returns 1 where the order governs a design's error at h = 1, else 0; -1: unknown. */
int compare_governs(const Study *u, size_t i);

int compare_caption(const Study *u, int brief, FILE *f);
/* Draws losses and gradients, and writes the files of the orders. */
int compare_save(const Study *u);

/* By depth, compare_depth.c: the rows of the slopes, and what differs from a comparison without. */
extern const Column depth_columns[];
int compare_open_depth(Study *u);
int compare_depth(Study *u, Sheet *out);
int compare_save_depth(const Study *u);

/* ---- pairs ------------------------------------------------------------------------------------------- */

/* What a design has of its own. */
typedef struct {
    Table *encoder, *decoder;
    int encoder_order, decoder_order; /* exact; -1: none */
} PairDesign;

extern const Column pair_run_columns[], pair_columns[];
int pair_open(Study *u);
void pair_drop(void *own);
void pair_fill(Study *u, const StudyDesign *d, const StudyRun *r);
RunDraw pair_draw; /* over drawn test texts */
int pair_caption(const Study *u, int brief, FILE *f);

#endif
