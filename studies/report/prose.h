/* prose.h: a text in Markdown, as people write notes and as the commands write tables, for a page of HTML. */
#ifndef TROTTER_PROSE_H
#define TROTTER_PROSE_H

#include <stddef.h>
#include <stdio.h>

/* Headings (as bold paragraphs), paragraphs, tables, fenced and indented code, `code` within a line; all else is
 * text. tables 0: they are passed over. At most `lines` of it; 1 returned where there were more. `text` is cut up. */
int prose_write(FILE *f, char *text, size_t lines, int tables);

#endif
