/* latex.c: writes texts and numbers in LaTeX's running text, and bounds their width. */
#include "studies/base/latex.h"

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

/* ---- formulas --------------------------------------------------------------------------------------- */

/* Words and signs that LaTeX's mathematics has under another name. */
static const struct {
    const char *text, *latex;
} signs[] = {{"log", "\\log "},    {"exp", "\\exp "},
             {"sum", "\\sum"},     {"phi", "\\varphi"},
             {"alpha", "\\alpha"}, {"beta", "\\beta"},
             {"gamma", "\\gamma"}, {"λ", "\\lambda "},
             {"ω", "\\omega "},    {"σ", "\\sigma "},
             {"γ", "\\gamma "},    {"φ", "\\varphi "},
             {"·", "\\cdot "},     {"−", "-"},
             {"<=", "\\le "},      {">=", "\\ge "},
             {"...", "\\cdots "},  {"*", "\\,"},
             {"->", "\\to "},      {"%", "\\%"},
             {"&", "\\&"},         {"#", "\\#"},
             {"{", "\\{"},         {"}", "\\}"},
             {"~", "\\sim "},      {"\\", "\\backslash "},
             {"$", "\\$"}};

/* Writes the name or sign at s that the table has. Returns its bytes; 0: none. */
static size_t put_sign(FILE *f, const char *s)
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t n = strlen(signs[i].text);
        if (strncmp(s, signs[i].text, n) != 0) continue;
        if (isalpha((unsigned char)*s) && isalpha((unsigned char)s[n])) continue;
        fputs(signs[i].latex, f);
        return n;
    }
    return 0;
}

static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* Writes a number or a fraction of whole numbers at s; returns its bytes. */
static size_t put_number(FILE *f, const char *s)
{
    size_t n = digits(s), below = s[n] == '/' ? digits(s + n + 1) : 0;
    if (below) {
        fprintf(f, "\\tfrac{%.*s}{%.*s}", (int)n, s, (int)below, s + n + 1);
        return n + 1 + below;
    }
    if (s[n] == '.' && digits(s + n + 1)) n += 1 + digits(s + n + 1);
    fprintf(f, "%.*s", (int)n, s);
    size_t sign = s[n] == 'e' && (s[n + 1] == '-' || s[n + 1] == '+'),
           power = s[n] == 'e' ? digits(s + n + 1 + sign) : 0;
    if (!power) return n;
    fprintf(f, "\\cdot10^{%d}", atoi(s + n + 1));
    return n + 1 + sign + power;
}

/* Writes the index at s, digits or behind _ letters; returns its bytes, 0 where there is none. */
static size_t put_index(FILE *f, const char *s)
{
    size_t under = *s == '_', n = digits(s + under);
    if (under && !n)
        while (isalpha((unsigned char)s[under + n])) n++;
    if (n) fprintf(f, "_{%.*s}", (int)n, s + under);
    return n ? under + n : 0;
}

/* Writes below a sum the letters of the indices behind it, up to a sign of relation: "sum b_i a_ij c_j" is the sum over i
 * and j. */
static void put_sum_letters(FILE *f, const char *s)
{
    char seen[27] = "";
    for (s += strcspn(s, "_=<>"); *s == '_'; s += strcspn(s, "_=<>"))
        while (islower((unsigned char)*++s))
            if (!strchr(seen, *s)) seen[strlen(seen)] = *s;
    for (size_t i = 0; seen[i]; i++) fprintf(f, i ? ",%c" : "_{%c", seen[i]);
    fputs(*seen ? "}" : "", f);
}

/* Writes a letter or word at s with its index and primes; returns its bytes. */
static size_t put_name(FILE *f, const char *s)
{
    size_t n = 0, sign = put_sign(f, s);
    while (isalpha((unsigned char)s[n])) n++;
    if (!sign) fprintf(f, n > 1 ? "\\mathrm{%.*s}" : "%.*s", (int)n, s);
    if (n == 3 && strncmp(s, "sum", n) == 0 && s[n] != '_') put_sum_letters(f, s + n);
    n += put_index(f, s + n);
    size_t primes = strspn(s + n, "'");
    if (primes > 3)
        fprintf(f, "^{(%zu)}", primes);
    else
        fprintf(f, "%.*s", (int)primes, s + n);
    return n + primes;
}

static size_t put_piece(FILE *f, const char *s);

/* Writes what ^ or _ before s raises or lowers: what stands in round or curly brackets, or a signed piece; returns its
 * bytes. */
static size_t put_script(FILE *f, const char *s)
{
    size_t n = 0;
    fprintf(f, "%c{", s[-1]);
    if (*s == '(' || *s == '{') {
        char end = *s == '(' ? ')' : '}';
        for (n = 1; s[n] && s[n] != end;) n += put_piece(f, s + n);
        n += s[n] == end;
    } else {
        if (*s == '-') fputc(s[n++], f);
        if (isalpha((unsigned char)s[n]) && s[n + 1] == '_') /* b^F_i has both */
            fputc(s[n++], f);
        else if (s[n] && s[n] != ' ')
            n += put_piece(f, s + n);
    }
    fputc('}', f);
    return n;
}

static size_t put_piece(FILE *f, const char *s)
{
    size_t n;
    if (isdigit((unsigned char)*s)) return put_number(f, s);
    if (isalpha((unsigned char)*s)) return put_name(f, s);
    if (*s == '^' || (*s == '_' && s[1] == '{')) return 1 + put_script(f, s + 1);
    if (*s == '_' && (n = put_index(f, s))) return n;
    if ((n = put_sign(f, s))) return n;
    fputs(*s == '_' ? "\\_" : (char[]){*s, '\0'}, f);
    return 1;
}

void latex_formula(FILE *f, const char *text)
{
    while (*text) {
        int number = isdigit((unsigned char)*text);
        text += put_piece(f, text);
        if (number && *text == ' ' && text[1] && !strchr("+-=<>/*", text[1])) fputs("\\,", f);
    }
}

/* ---- widths ----------------------------------------------------------------------------------------- */

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

size_t latex_formula_width(const char *text)
{
    static const char *const class[] = {"' ", "()[]/^|0123456789", ",ehky", "+-="};
    static const size_t wide[] = {28, 39, 50, 130};
    size_t width = 0;
    for (; *text; text++) {
        int k = 0;
        while (k < 4 && !strchr(class[k], *text)) k++;
        width += k < 4 ? wide[k] : 75;
    }
    return width;
}
