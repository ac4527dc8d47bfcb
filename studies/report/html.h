/* html.h: text that means nothing but itself on a page. */
#ifndef TROTTER_HTML_H
#define TROTTER_HTML_H

#include <stddef.h>
#include <stdio.h>

/* Text, escaped for elements and for quoted attributes; control characters as U+FFFD. */
void html_text(FILE *f, const char *text);
void html_bytes(FILE *f, const char *text, size_t n);

#endif
