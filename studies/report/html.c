/* html.c: writes escaped text. */
#include "studies/report/report.h"

#include <string.h>

static void put_character(FILE *f, char c)
{
    switch (c) {
    case '&': fputs("&amp;", f); break;
    case '<': fputs("&lt;", f); break;
    case '>': fputs("&gt;", f); break;
    case '"': fputs("&quot;", f); break;
    case '\'': fputs("&#39;", f); break;
    default:
        if (((unsigned char)c < ' ' && c != '\n' && c != '\t') || c == 127)
            fputs("\xef\xbf\xbd", f);
        else
            fputc(c, f);
    }
}

void html_bytes(FILE *f, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) put_character(f, text[i]);
}

void html_text(FILE *f, const char *text)
{
    html_bytes(f, text, strlen(text));
}
