/* truncation_study.h: the studies of a trained model as a vector field: truncation errors, Jacobians, and how finer
 * steps change the loss (command_truncation.c). */
#ifndef TROTTER_TRUNCATION_STUDY_H
#define TROTTER_TRUNCATION_STUDY_H

#include "studies/model/sentences.h"
#include "studies/model/network.h"
#include "studies/base/select.h"

/* Input of all studies. */
typedef struct {
    Network network; /* in double precision */
    Selection schemes;
    const Table *trained;      /* the scheme of the side that is measured */
    Text text, source;         /* source has no tokens without an encoder */
    Drawn drawn;               /* sentences of the text, drawn by the seed */
    TruncationOptions options; /* the field is set for each study */
    int fields[2];             /* 1 where FIELD_SPLIT, FIELD_LAYER is asked for; both 0:
                                * each scheme takes its own */
    const char *dir;           /* directory of --out, or NULL */
} TruncationInput;

/* One curve: a scheme for one field. */
typedef struct {
    const Table *scheme;
    int field;
    char name[TABLE_NAME + 16]; /* the field follows the name where it is L */
} TruncationSeries;

typedef struct {
    TruncationInput *in;
    size_t count, layers;
    TruncationSeries *series; /* (count) */
    Truncation *cell;         /* (count, layers, sentences); points 0: the flow was not finite */
    double *room;             /* (layers, sentences) work for medians */
    double check;             /* worst check of truncator_sentence */
    size_t disagree;          /* schemes whose remainder falls too slowly */
    /* Rows of the summary: with a leading term at h = 1; those of them in the asymptotic regime; with verdict kinks; those whose
     * scheme carries what is not found on the exact flow at h = 1; those of the model's own scheme that carries. */
    size_t told, governed, kinks, lost, holds;
    Sheet *points, *summary, *terms, *curves, *by_layer;
} TruncationStudy;

/* Measures everything; progress and notes go to stderr. Caller: truncation_free, after errors too. */
int truncation_run(TruncationInput *in, TruncationStudy *out);
void truncation_free(TruncationStudy *u);
Truncation *truncation_cell(const TruncationStudy *u, size_t series, size_t layer, size_t sentence);
/* truncation_table.c: fills the tables of the measurements and counts `disagree`. */
extern const Column truncation_points[], truncation_verdicts[], truncation_terms[],
    truncation_curves[], truncation_layers[];
int truncation_tables(TruncationStudy *u);
/* Returns the median of a curve's slopes over layers and sentences, as in the table. The errors are not
 * divided by a displacement. */
double truncation_slope(const TruncationStudy *u, size_t series);
/* truncation_plot.c: writes DIR/truncation.csv, summary.csv, summary.md, terms.csv, curves.csv, layers.csv and the plots
 * truncation, layers. */
int truncation_save(TruncationStudy *u, const char *dir);

/* Opens a truncator of a field with the input's options. */
int truncation_open(const TruncationInput *in, int field, int terms, Watch watch, Truncator **out);

/* Returns the fields that a scheme is measured on, as bits 1 << FIELD_*. */
int truncation_fields(const TruncationInput *in, const Table *scheme);

/* jacobians.c: finds Lipschitz estimates, eigenvalues and the step's stability, layer by layer, on the first sentence.
 * Prints the table (csv: as CSV); writes jacobian.csv, eigenvalues.csv and the plot to dir. */
extern const Column jacobian_schemes[], jacobian_eigenvalues[];
int jacobian_study(TruncationInput *in, int csv, const char *dir);

/* refine_study.c: measures the perplexity of the text's first `tokens` tokens with 1, 2, 4,
 * .. most sub-steps a layer. */
extern const Column refine_steps[];
int refine_study(TruncationInput *in, size_t most, size_t tokens, int csv, const char *dir);

#endif
