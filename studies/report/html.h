/* html.h: escapes text for a page. */
#ifndef TROTTER_HTML_H
#define TROTTER_HTML_H

#include <stddef.h>
#include <stdio.h>

/* Both write text, escaped for elements and for quoted attributes; control
 * characters become U+FFFD. */
void html_text(FILE *f, const char *text);
void html_bytes(FILE *f, const char *text, size_t n);

#endif
