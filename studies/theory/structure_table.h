/* structure_table.h: the structure that the schemes' tables preserve, as a report. */
#ifndef TROTTER_STRUCTURE_TABLE_H
#define TROTTER_STRUCTURE_TABLE_H

#include "studies/tools/sheet.h"
#include "studies/tools/select.h"

/* Makes a row of structure_columns for each scheme; unknown values stay empty. degree: highest degree of the trees
 * compared. Caller: sheet_free. */
extern const Column structure_columns[];
int structure_report(const Selection *s, int degree, Sheet **out);

/* Explains the columns to readers. */
extern const char structure_words[];

#endif
