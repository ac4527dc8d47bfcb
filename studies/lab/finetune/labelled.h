/* labelled.h: labelled sentences, and pairs of sentences: GLUE's tasks and files of the user's own.
 *
 *     const LabelledTask *t = labelled_task("cola");
 *     TRY(labelled_open(t, "glue", 0, &train, &dev));       glue/CoLA/train.tsv and dev.tsv
 *
 *     TRY(labelled_read(&labelled_classes, "mine.tsv", 0, NULL, &all));
 *     TRY(labelled_split(&all, 0.1, seed, &train, &chosen));
 *
 * A file has one example a line and a tab between columns. Nothing is quoted: a quotation mark is a character. The
 * first line names the columns, except for a task whose files have no such line. Other columns are skipped, and so is a
 * byte-order mark. A user's file has columns `sentence`, `sentence2` for pairs, and `label`. Where its name ends in .csv it is
 * CSV with quotes (frame.h), and with .jsonl an object a line, whose first one names the columns; a tab or an end of line in a
 * cell is read as a blank.
 *
 * Labels are classes or values. GLUE's classes are those of the task, in its order. Those of a user's file are the
 * distinct labels of the training text, words or integers, byte by byte as they stand there; they are sorted by their
 * numbers if all are integers, and by their bytes otherwise. Class 1 is the positive one of F1.
 *
 * Text stays as it is unless the user has it lower-cased, or cut by 13a (studies/model/metrics/tokenise.h) with single blanks
 * between words, to be comparable with vocabularies like those of the Penn Treebank or WikiText. The cut words are near
 * to theirs, not the same: 13a leaves `won't` and `it's` whole, where the Treebank and SST-2 have `wo n't` and `it 's`.
 *
 * Source: Wang et al. 2019 (GLUE), table 1, and its published files; Warstadt, Singh, Bowman 2019 (CoLA).
 */
#ifndef TROTTER_FINETUNE_LABELLED_H
#define TROTTER_FINETUNE_LABELLED_H

#include "studies/model/metrics/agreement.h"
#include "studies/model/metrics/lines.h"

enum { LABELLED_CLASSES = 3, LABELLED_METRICS = 2 }; /* largest numbers in a row of the table */

typedef struct {
    const char *name;                   /* name in --task: "cola" */
    const char *folder, *train, *dev;   /* "CoLA", "train.tsv", "dev.tsv"; NULL: a user's file */
    const char *header;                 /* for files without such a line; NULL: line 1 has it */
    const char *first, *second, *label; /* names of columns; second NULL: single sentences */
    int may_be_single;                  /* 1: a file may lack the column `second` */
    int may_be_broken; /* 1: leaves out lines with too few or too many columns, or no sentence */
    const char *name_of[LABELLED_CLASSES + 1]; /* classes, NULL behind them; none: labels are
                                                  values, or classes of the training text */
    int values;                                /* 1: labels are numbers, low .. high */
    double low, high;
    size_t metrics;
    int metric[LABELLED_METRICS]; /* AGREEMENT_...; the first one chooses */
} LabelledTask;

/* GLUE's tasks; ends with a NULL name. Lines of QQP are known to be broken. MNLI's dev is the matched one. */
extern const LabelledTask labelled_tasks[];
/* A user's file with classes, and one with values. */
extern const LabelledTask labelled_classes, labelled_values;

/* Changes of sentences, as bits; 0: they stay as they are. */
enum { LABELLED_CUT = 1, LABELLED_LOWER = 2 };
/* *out = the changed sentence, which may be empty. Caller: memory_free. */
int labelled_change(int change, const char *text, size_t bytes, char **out);

/* Returns the row of a name, in any case and with or without hyphens ("SST-2": sst2), or NULL. */
const LabelledTask *labelled_task(const char *name);

typedef struct {
    size_t count;
    char **first, **second; /* (count) valid UTF-8; second NULL: single sentences */
    int32_t *label;         /* (count) for classes, else NULL */
    double *value;          /* (count) for values, else NULL */
    size_t classes;         /* 0 for values */
    char **name;            /* (classes) */
    size_t *line;           /* (count) of the file, from 1 */
    size_t left_out;        /* number of broken lines */
    char first_left[64];    /* the first of them: "line 3, 7 columns of 6" */
    char *text, *names;     /* storage of the others; NULL in a part, which borrows them */
} Labelled;

/* Reads the examples of a file. `train`: the training text, whose classes and number of sentences the file must
 * have; or NULL. Nothing of it is borrowed. ERR_INPUT with file and line: a file that is missing or empty, a NUL
 * byte, invalid UTF-8, a column that the header lacks or has twice, another number of columns than the header's,
 * an empty sentence or label, a label that is no class or no number of the range, no example, a training text
 * whose labels are all the same, numbers or classes that come from it. ERR_MEMORY. Caller: labelled_free, which is
 * needed after success alone. */
int labelled_read(const LabelledTask *t, const char *file, int change, const Labelled *train,
                  Labelled *out);

/* Part of it (labelled_forms.c): reads a file as lines with tabs, whatever form it has. *number: the line of the file where
 * each begins, for memory_free; NULL: they count from 1. */
int labelled_lines(const char *file, Lines *out, size_t **number);

/* Reads both texts of a task: DIR/FOLDER/train.tsv and dev.tsv. */
int labelled_open(const LabelledTask *t, const char *dir, int change, Labelled *train,
                  Labelled *dev);

void labelled_free(Labelled *l);

/* Splits examples in two parts, each in the order of `all`, which both borrow until they are freed.
 * `chosen` has round(fraction * count) of them, at least one, and `rest` the others. The result depends
 * only on count (< 2^32), fraction and seed. ERR_INPUT where the fraction is not between 0 and 1 or leaves
 * no example to the rest; ERR_MEMORY. */
int labelled_split(const Labelled *all, double fraction, uint64_t seed, Labelled *rest,
                   Labelled *chosen);

/* Returns the labels in the form of a metric; borrows them. */
Answers labelled_answers(const Labelled *l);

/* *score: the score on dev of always answering the most frequent class of the training text (the first of several), or
 * the mean of its values. ERR_MEMORY. */
int labelled_baseline(const Labelled *train, const Labelled *dev, int metric, double *score);

#endif
