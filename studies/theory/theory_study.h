/* theory_study.h: what the commands of schemes share. */
#ifndef TROTTER_STUDIES_THEORY_STUDY_H
#define TROTTER_STUDIES_THEORY_STUDY_H

#include <stdio.h>

#include "studies/theory/order_conditions.h"
#include "studies/base/command.h"
#include "studies/base/select.h"

/* Returns what column `unproved` says of a scheme whose limits, ssp or alpha are proved (1) or not (0); NULL: all are. */
static inline const char *unproved_words(int limits, int ssp, int alpha)
{
    static const char *const words[2][2][2] = {
        {{"limits, ssp, alpha", "limits, ssp"}, {"limits, alpha", "limits"}},
        {{"ssp, alpha", "ssp"}, {"alpha", NULL}}};
    return words[limits != 0][ssp != 0][alpha != 0];
}

/* ---- order_conditions_table.c: order conditions as formulas ------------------------------------------- */

/* Adds a row of condition_columns for each condition of order 1 .. degree and each scheme, or writes them as LaTeX
 * (align* of amsmath), where latex is not NULL; with dir (or NULL) it draws the trees, DIR/trees-NAME.svg and .tex.
 * ERR_INPUT: a scheme with history. */
extern const Column condition_columns[];
int conditions_tell(const Selection *s, int degree, Sheet *r, FILE *latex, const char *dir);

/* ---- tree_page.c: rooted trees drawn ------------------------------------------------------------- */

typedef struct {
    Output svg, tex;
    double x, y, tall; /* where the next tree comes, how tall its line is */
    int order;
    size_t drawn;
} TreePage;
int tree_page_open(TreePage *p);
void tree_page_add(TreePage *p, const ConditionRow *row);
/* Where code is 0, writes DIR/trees-SCHEME.svg and .tex; frees the page in any case. Returns code, or that of writing. */
int tree_page_close(TreePage *p, int code, const char *dir, const char *scheme);

/* ---- certificate.c: the order as a file that others check ------------------------------------------ */

/* What a certificate is to say of a scheme, be it so or not. */
typedef struct {
    int order;     /* -1: the one that is found, up to `degree` */
    int one_field; /* the field is F alone, and G = C = 0 */
    const Brackets
        *error;  /* of flows: brackets of log(step)/h less the field; NULL: the leading ones */
    int letters; /* through which they go */
} CertificateClaim;

/* Prints a proof that Coq checks, or JSON for studies/scripts/check_certificate.py: the conditions of all trees or words up
 * to an order, and one of the next that fails; of flows the brackets of the error too. ERR_INPUT, ERR_ACCURACY: a scheme
 * that neither can say. */
enum { CERTIFICATE_COQ, CERTIFICATE_JSON };
int certificate_print(const Table *t, const CertificateClaim *claim, int form, int degree, FILE *f);

/* ---- structure_table.c: the structure that the schemes' tables preserve, as a report --------- */

/* Makes a row of structure_columns for each scheme; unknown values stay empty. trees, brackets: the highest orders
 * that are compared. Caller: sheet_free. */
extern const Column structure_columns[];
int structure_report(const Selection *s, int trees, int brackets, Sheet **out);

/* Explains the columns to readers. */
extern const char structure_words[];

/* ---- function_table.c: stability functions with their zeros and poles --------------------------------------------- */

/* Makes a row of function_columns for each frozen table (n); empty where R is no quotient of polynomials. Caller: sheet_free. */
extern const Column function_columns[];
int function_report(Table *const *table, size_t n, Sheet **out);
/* ---- repair_table.c: misprinted coefficients ------------------------------------------------------ */

/* Prints what repair_find (theory.h) finds in a file for conditions to an order (0: it chooses), and the repaired text; with dir
 * (or NULL) it writes DIR/repair.csv, .md, .tex and the text as DIR/repaired.scheme. ERR_CHECK: there is something to
 * repair, and no repair or several. */
extern const Column repair_columns[];
int repair_tell(const char *file, int order, int csv, const char *dir);

/* ---- module.c: a scheme's network as a program ------------------------------------------------------ */

/* Prints a module that computes layers of the scheme, and needs no other than PyTorch, JAX or NumPy. ERR_INPUT: one scheme
 * whose stages are not all explicit. */
enum { MODULE_TORCH, MODULE_JAX, MODULE_NUMPY };
int module_print(const Table *t, int target, FILE *f);

/* ---- check_table.c: tableaus of other programs ------------------------------------------------------ */

/* Prints a row of check_columns for each tableau of the sources of --file. ERR_CHECK: one of them declares a higher order
 * than it has. */
extern const Column check_columns[];
int check_tell(const Options *o);

#endif
