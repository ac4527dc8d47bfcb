/* structure.h: what the schemes' tables keep, as a report. */
#ifndef TROTTER_STRUCTURE_H
#define TROTTER_STRUCTURE_H

#include "studies/tools/sheet.h"
#include "studies/tools/select.h"

/* One row per scheme: scheme,symmetric,symmetric_order,symmetric_separable,symplectic,
 * symplectic_separable,effective_order,error_constant,normalised_constant,zero_stable,weakly_stable;
 * what is not told is empty. degree: how far trees are compared. Caller: report_free. */
int structure_report(const Selection *s, int degree, Report **out);

/* What the columns mean, for people. */
extern const char structure_words[];

#endif
