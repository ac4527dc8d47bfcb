/* latex.c: writes texts and numbers in LaTeX's running text, and bounds their width. */
#include "studies/tools/latex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The LaTeX of a character; a character that is not here stands for itself. The fonts have ligatures for doubled marks
 * and quotes. Source: LaTeX 2e's fontenc and inputenc, defaults for OT1. */
static const struct {
    const char *text, *latex;
} marks[] = {
    {"&", "\\&"},
    {"%", "\\%"},
    {"$", "\\$"},
    {"#", "\\#"},
    {"_", "\\_"},
    {"{", "\\{"},
    {"}", "\\}"},
    {"\\", "\\textbackslash{}"},
    {"^", "\\textasciicircum{}"},
    {"~", "\\textasciitilde{}"},
    {"<", "\\textless{}"},
    {">", "\\textgreater{}"},
    {"|", "\\textbar{}"},
    {"`", "\\textasciigrave{}"},
    {"\"", "''"},
    {"--", "-{}"},
    {"±", "$\\pm$"},
};

size_t latex_character(const char *text, FILE *f)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strncmp(text, marks[i].text, strlen(marks[i].text)) == 0) {
            fputs(marks[i].latex, f);
            return *text == '-' ? 1 : strlen(marks[i].text);
        }
    fputc((unsigned char)*text < ' ' || *text == 127 ? ' ' : *text, f);
    return 1;
}

void latex_text(FILE *f, const char *text)
{
    while (*text) text += latex_character(text, f);
}

void latex_number(FILE *f, const char *text)
{
    if (*text == '-') fputs("$-$", f), text++;
    const char *e = isdigit((unsigned char)*text) ? strchr(text, 'e') : NULL;
    if (strcmp(text, "inf") == 0)
        fputs("$\\infty$", f);
    else if (e)
        fprintf(f, "%.*s$\\cdot10^{%d}$", (int)(e - text), text, atoi(e + 1));
    else
        latex_text(f, text);
}

/* Widths of characters in thousandths of the font's size, rounded up. Source: Knuth 1986, cmr10 (its metrics, cmr10.tfm). */
static const struct {
    const char *characters;
    size_t width;
} widths[] = {{"ijl.,:;!'|", 306},      {"frst()[] I", 398}, {"cez", 448},
              {"0123456789/*agJ", 514}, {"m%#w", 834},       {"M", 917},
              {"bdhknopquvxy\"", 556},  {"W", 1028}};
enum { LATEX_OTHER = 785, LATEX_SIGN = 778, LATEX_HYPHEN = 334, LATEX_TEN = 1278 };

static size_t character_width(int c, int number)
{
    if (c == '-') return number ? LATEX_SIGN : LATEX_HYPHEN;
    if (c == 'e' && number) return LATEX_TEN;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (c && strchr(widths[i].characters, c)) return widths[i].width;
    return (c & 0xc0) == 0x80 ? 0 : LATEX_OTHER; /* a later byte of a character has no width */
}

size_t latex_width(const char *text, int number)
{
    size_t n = 0;
    while (*text) n += character_width((unsigned char)*text++, number);
    return n;
}
