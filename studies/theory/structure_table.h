/* structure_table.h: what the schemes' tables keep, as a report. */
#ifndef TROTTER_STRUCTURE_TABLE_H
#define TROTTER_STRUCTURE_TABLE_H

#include "studies/tools/sheet.h"
#include "studies/tools/select.h"

/* A row a scheme, of structure_columns; what is not told is empty. degree: how far trees are compared. Caller: sheet_free. */
extern const Column structure_columns[];
int structure_report(const Selection *s, int degree, Sheet **out);

/* What the columns mean, for people. */
extern const char structure_words[];

#endif
