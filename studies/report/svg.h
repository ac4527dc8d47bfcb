/* svg.h: a drawing that came in a file, read against short lists of what a plain drawing needs and written anew
 * for a page of HTML. */
#ifndef TROTTER_SVG_H
#define TROTTER_SVG_H

#include <stddef.h>
#include <stdio.h>

/* Writes the SVG document `text` (bytes) to f as one <svg> element of HTML. Every id, and what refers to it,
 * begins with `prefix` (letters, digits, '-'), so that drawings on one page do not clash; `title` is what a
 * screen reader says. Elements are shapes, groups and words, attributes their geometry and colours; references
 * are to the drawing's own ids, images PNG data inside it. Anything else (scripts, handlers, styles, links,
 * addresses, entities of one's own) is refused: ERR_INPUT with "FILE: ...", and nothing is written. */
int svg_write(const char *file, const char *text, size_t bytes, const char *prefix,
              const char *title, FILE *f);

#endif
