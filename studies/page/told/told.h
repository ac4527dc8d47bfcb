/* told.h: what the theory says of a scheme whose text alone is known: for the page of `serve` and for the atlas
 * (`make site`). No number here is measured. */
#ifndef TROTTER_STUDIES_TOLD_H
#define TROTTER_STUDIES_TOLD_H

#include <stdio.h>

#include "studies/base/select.h"
#include "studies/theory/region.h"

/* Reads schemes, or a tableau, as --scheme-file does. A page that is asked for by anyone takes at most TOLD_SCHEMES schemes of
 * at most TOLD_STAGES stages; most 0: any. ERR_INPUT with "scheme:LINE:COLUMN: ..." as words. Caller: select_close, after
 * errors too. */
enum { TOLD_SCHEMES = 6, TOLD_STAGES = 24 };
int told_read(const char *text, size_t most, Selection *s);

/* Writes HTML: of every scheme order, counts and stability, the leading terms of its error, its tableau, and which
 * order conditions fail, or why it has no such part. A part more is a row of `parts`. */
int told_schemes(const Selection *s, FILE *f);

/* Writes CSV: the boundary of the region of stability, or of order stars (PLANE_STAR), closed at the edge of what was looked
 * at, to a millionth of its size. */
int told_region(const Selection *s, int plane, FILE *f);

#endif
