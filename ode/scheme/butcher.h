/* butcher.h: a tableau as texts of numbers, between its forms and the language of schemes. Private to ode/scheme
 * (butcher.c; source_tables.c, source_print.c). */
#ifndef TROTTER_BUTCHER_H
#define TROTTER_BUTCHER_H

#include "ode/scheme/print.h"

/* A missing entry of a row is "0", a missing c is "". */
typedef struct {
    const char *file;
    char name[TABLE_NAME], note[120]; /* note: of the scheme's text; "": none */
    size_t stages;
    TableauEntry *entry; /* (stages + 3, stages): the rows of A, then those that are named below */
    int pair;            /* hat is given */
} Tableau;

enum { WEIGHTS, HAT, NODES, MORE_ROWS }; /* behind the rows of A */

/* Makes the rows, all zeros; ERR_INPUT: no or too many stages. */
int tableau_room(Tableau *b, size_t stages);
void tableau_free(Tableau *b);
/* Returns row i of A; stages + WEIGHTS and so on: one of the others. */
static inline TableauEntry *tableau_row(const Tableau *b, size_t i)
{
    return b->entry + i * b->stages;
}
/* Reads the tableau as a scheme; twice where nodes of its own turn up, or where expressions turn out to be sums. */
int tableau_scheme(Tableau *b, Table **t);
/* Writes a table's rows: A, b, bhat = b - error, c. ERR_INPUT of tableau_check: it has none. */
int tableau_check(const Table *t);
int tableau_fill(Tableau *b, const Table *t);

#endif
