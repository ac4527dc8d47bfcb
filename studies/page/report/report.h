/* report.h: a page of all studies in a directory. */
#ifndef TROTTER_STUDIES_REPORT_H
#define TROTTER_STUDIES_REPORT_H

#include <stddef.h>
#include <stdio.h>

#include "studies/base/kind.h"

/* ---- typeset.c: escapes text, and turns the program's notation of formulas into MathML -------- */

/* Both write text, escaped for elements and for quoted attributes; control characters become U+FFFD. */
void html_text(FILE *f, const char *text);
void html_bytes(FILE *f, const char *text, size_t n);

/* Writes a formula as <math>: "F''(F,G'F)", "[F,[F,G]]", "-1/24", "O(h^(p+1))", "G'F − F'G", "h·λ_F". A letter is a
 * variable, digits or '_' after it are its index, ' is its derivative, ^ is a power of a letter, a word, a number
 * or a bracket. p/q of whole numbers is a fraction; several letters are a word. Anything else is set as it is, so
 * any text is safe. The alttext is the text itself. A text longer than any formula of the program (FORMULA_MOST
 * bytes) is written as text. */
enum { FORMULA_MOST = 400 };
void formula_put(FILE *f, const char *text);

/* ---- found.c --------------------------------------------------------------------------------- */

/* The studies in a directory and all below it, recognised by how their files begin (kind.h). */

/* A file of a study; paths are relative to the directory that was searched. */
typedef struct {
    int plot;     /* 1: a plot of its kind, 0: a table */
    size_t which; /* row of kind->plot or kind->table */
    char *path;
} FoundFile;

typedef struct {
    const Kind *kind;
    char *dir;    /* "" for the directory itself */
    char *prefix; /* beginning of its files' names ("gelu-"), mostly "" */
    size_t files;
    FoundFile *file;
} FoundStudy;

typedef struct {
    const char *root; /* borrowed until found_free */
    int folder; /* it, open: every file is opened beneath it (kernels/base/file.h, file_beneath) */
    size_t studies, outside;
    FoundStudy *study; /* sorted by directory, then in the order of the kinds, then by prefix */
    char **left;       /* (outside) words on each CSV or SVG file that belongs to no study */
    size_t drawings;
    char **drawing; /* SVG files, until studies take them */
} Found;

/* Finds the studies below root. Does not follow symbolic links and skips names that begin with '.', `skip` (a path as
 * the user gave it), and the trainings under a comparison's runs/, runs-NAME/ and tune/, whose results runs.csv has.
 * ERR_INPUT where the directory cannot be read. */
int found_search(const char *root, const char *skip, Found *out);
void found_free(Found *f);

/* ---- page.c ---------------------------------------------------------------------------------- */

/* A page of HTML in one self-contained file: its head and style (page.css), escaped text, and tables of CSV files. */

/* Writes <!DOCTYPE html> to <body>. The page may load nothing (Content-Security-Policy).
 * `title` is written as it is. */
void page_begin(FILE *f, const char *title);
void page_end(FILE *f);
/* Returns the style that page_begin puts into the page. */
const char *page_style(void);

/* Puts a drawing into the page as an image: scripts, links and loads inside it do nothing there. alt:
 * text for a screen reader. */
void page_drawing(FILE *f, const char *svg, size_t bytes, const char *alt);

/* Writes words as text; the formulas in them, those between dollars too, become MathML (notation_next). */
void page_words(FILE *f, const char *words);
/* Writes HTML with values in it: %s a text, escaped; %w the program's words (page_words); %r HTML; %u a size_t. */
void page_print(FILE *f, const char *format, ...);

typedef struct {
    const char *caption; /* HTML */
    const char *label;   /* "Table 3" */
    /* The table shows those that kind_shown() names and the file has, and that are not empty in every row. */
    const Column *columns;
    size_t most;      /* largest number of rows */
    const char *file; /* file with all rows, named where rows are left out */
    int folded;       /* 1: only the caption is visible until a reader unfolds or prints it */
} PageTable;

/* Writes a table. Calls `uses` (NULL: none) with the name and the head of each column shown. Numbers are those of a
 * terminal's table (sheet_shown): with half of their interval where that has it, else with its ends in brackets.
 * Nothing scrolls sideways. The style (page.css) chooses the type size by the characters that the columns need. On a
 * narrow screen rows become blocks with labels; too many columns become a second table. On paper no cell is lost, and a
 * wide table's page is in landscape. */
void page_table(FILE *f, const Frame *c, const PageTable *t,
                void (*uses)(void *arg, const char *column, const char *head), void *arg);

/* ---- summary.c: the page of `trotter report`: a directory's studies, one section each -------- */

/* The line on a study in the contents and at the head of its section. */
typedef struct {
    char place[4096];
    Verdict verdict;
    size_t runs, done; /* of its table of runs */
} Brief;

/* The page's state. Tables and figures are numbered through all sections. */
typedef struct {
    const Found *found;
    FILE *f;
    size_t tables, figures, refused; /* refused: files that are named but not shown */
} Summary;

/* Writes the whole page with this title. Files that cannot be shown are named in the page and
 * by a warning. ERR_MEMORY. */
int summary_write(Summary *s, const char *title);

/* ---- summary_part.c: the parts of sections ---- */

/* Tells of a file that is not shown, with error_text as the reason, in the page and as a warning. */
void summary_refuse(Summary *s);
/* Shows the beginning of a text file as it is, folded; does nothing where the file is missing. */
void summary_text(Summary *s, const char *path, const char *title);
/* Reads an SVG file that is complete, as far as its size, first and last words show. The caller frees *text
 * (memory_free). ERR_INPUT, ERR_MEMORY. */
int summary_drawing(const Summary *s, const char *file, char **text, size_t *bytes);
/* Shows the beginning of a command's Markdown file as text, without its tables; does nothing where the file is missing. */
void summary_words(Summary *s, const char *path);
/* Shows the commands recorded for a study, and how they ended. */
void summary_commands(Summary *s, const FoundStudy *study);
/* Adds to `v` how the last of them ended, if not well. */
void summary_ended(const Summary *s, const FoundStudy *study, Verdict *v);

#endif
