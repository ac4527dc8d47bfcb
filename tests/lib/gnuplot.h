/* gnuplot.h: a judge of gnuplot scripts. It reads them as gnuplot 5.4 does (its scanner.c, and load_file of misc.c) and
 * objects to all that is not drawing: other commands and functions than those of plots, `!`, backquotes and macros
 * outside single quotes, pipes, files elsewhere, strings without an end, and bytes that are no text. */
#ifndef TROTTER_TEST_GNUPLOT_H
#define TROTTER_TEST_GNUPLOT_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistr.h>

enum { GP_END, GP_LINE, GP_WORD, GP_NUMBER, GP_STRING, GP_MARK };

typedef struct {
    int kind;
    const char *at;
    size_t n; /* a string counts without its quotes */
} GpToken;

typedef struct {
    char *text, *at;   /* the script, with its continued lines joined */
    const char *fault; /* NULL: none so far */
    GpToken *token;    /* those of the statement at hand */
    size_t tokens, room;
    char defined[16][32]; /* names of functions */
    size_t functions;
} GpScript;

static inline void gp_object(GpScript *s, const char *fault)
{
    if (!s->fault) s->fault = fault;
}

static inline int gp_in(const char *const *list, GpToken t)
{
    for (; *list; list++)
        if (strlen(*list) == t.n && strncmp(*list, t.at, t.n) == 0) return 1;
    return 0;
}

static inline int gp_is(GpToken t, const char *word)
{
    return gp_in((const char *const[]){word, NULL}, t);
}

/* ---- bytes ------------------------------------------------------------------------------------------ */

/* Returns the bytes of the character at s; 0 where it is a control or a separator of lines, or no character. */
static inline size_t gp_character(const char *s)
{
    ucs4_t c = 0;
    int n = u8_strmbtouc(&c, (const uint8_t *)s);
    int line = c == 0x2028 || c == 0x2029;
    return n <= 0 || c < 0x20 || (c >= 0x7f && c < 0xa0) || line ? 0 : (size_t)n;
}

/* ---- tokens ----------------------------------------------------------------------------------------- */

/* Reads a string. In single quotes a doubled quote is one quote, but at the beginning it ends an empty string. */
static inline GpToken gp_string(GpScript *s)
{
    char quote = *s->at, *from = ++s->at;
    for (;; s->at++) {
        if (*s->at == '\0' || *s->at == '\n') {
            gp_object(s, "a string without an end");
            return (GpToken){GP_STRING, from, (size_t)(s->at - from)};
        }
        if (quote == '"' && strchr("`@", *s->at)) gp_object(s, "a substitution in double quotes");
        if (quote == '"' && *s->at == '\\' && s->at[1] && s->at[1] != '\n') {
            s->at++;
        } else if (*s->at == quote) {
            if (quote == '"' || s->at == from || s->at[1] != quote) break;
            s->at++;
        }
    }
    return (GpToken){GP_STRING, from, (size_t)(s->at++ - from)};
}

static inline GpToken gp_next(GpScript *s)
{
    while (*s->at == ' ') s->at++;
    if (*s->at == '#') s->at += strcspn(s->at, "\n");
    char *from = s->at, c = *from;
    if (c == '\0') return (GpToken){GP_END, from, 0};
    if (c == '\'' || c == '"') return gp_string(s);
    if (isalpha((unsigned char)c) || c == '_') {
        while (isalnum((unsigned char)*s->at) || *s->at == '_') s->at++;
        return (GpToken){GP_WORD, from, (size_t)(s->at - from)};
    }
    if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)from[1]))) {
        strtod(from, &s->at);
        return (GpToken){GP_NUMBER, from, (size_t)(s->at - from)};
    }
    if (c == '`') gp_object(s, "a backquote outside single quotes");
    if (c == '@') gp_object(s, "a macro");
    /* A block of data may hold the points of a plot for the reader. Nothing else reads it. */
    if (strncmp(from, "$axes\n", 6) == 0) return s->at += 5, (GpToken){GP_WORD, from, 5};
    if (c == '$' && !isdigit((unsigned char)from[1])) gp_object(s, "a block of data");
    s->at++;
    return (GpToken){c == '\n' || strchr(";{}", c) ? GP_LINE : GP_MARK, from, 1};
}

/* ---- statements ------------------------------------------------------------------------------------- */

/* Tells whether the statement is NAME = ... or NAME(...) = .... The latter defines a function from now on. */
static inline int gp_defines(GpScript *s)
{
    size_t i = 1;
    if (s->tokens < 3 || s->token[0].kind != GP_WORD) return 0;
    if (gp_is(s->token[1], "("))
        while (i < s->tokens && !gp_is(s->token[i - 1], ")")) i++;
    if (i + 1 >= s->tokens || !gp_is(s->token[i], "=") || gp_is(s->token[i + 1], "=")) return 0;
    if (i > 1 && s->functions < 16 && s->token[0].n < 32)
        snprintf(s->defined[s->functions++], 32, "%.*s", (int)s->token[0].n, s->token[0].at);
    return 1;
}

static inline int gp_may_be_called(const GpScript *s, GpToken t)
{
    static const char *const known[] = {"strcol",  "column", "valid", "log",   "floor",   "sprintf",
                                        "using",   "add",    "if",    "xtics", "defined", "image",
                                        "strstrt", "exp",    "sinh",  "abs",   "log10",   NULL};
    for (size_t i = 0; i < s->functions; i++)
        if (gp_is(t, s->defined[i])) return 1;
    return gp_in(known, t);
}

/* Checks the name of a file to read: it is in the folder and is no command. */
static inline void gp_check_data(GpScript *s, GpToken t)
{
    if (t.n == 1 && *t.at == '+') return; /* gnuplot's own points */
    if (t.n == 0 || strchr("<|-~/", *t.at)) gp_object(s, "data of a command or of elsewhere");
    if (t.n >= 3 && strncmp(t.at, "../", 3) == 0) gp_object(s, "data of elsewhere");
}

static inline void gp_check_plot(GpScript *s)
{
    int depth = 0, item = 1;
    for (size_t i = 1; i < s->tokens; i++) {
        GpToken t = s->token[i];
        if (item && t.kind == GP_STRING) gp_check_data(s, t);
        item = 0;
        if (t.kind == GP_MARK && strchr("([", *t.at)) depth++;
        if (t.kind == GP_MARK && strchr(")]", *t.at)) depth--;
        if (t.kind == GP_MARK && *t.at == ',' && depth == 0) item = 1;
    }
}

static inline void gp_check_set(GpScript *s)
{
    static const char *const may[] = {
        "encoding", "datafile",  "lmargin",   "border",    "tics",
        "grid",     "key",       "xlabel",    "ylabel",    "style",
        "label",    "tmargin",   "bmargin",   "rmargin",   "logscale",
        "format",   "xrange",    "yrange",    "cbrange",   "cbtics",
        "xtics",    "ytics",     "size",      "zeroaxis",  "pointintervalbox",
        "offsets",  "palette",   "cblabel",   "colorbox",  "boxwidth",
        "terminal", "output",    "xzeroaxis", "yzeroaxis", "for",
        "table",    "autoscale", "arrow",     "multiplot", NULL};
    static const char *const terminal[] = {"svg", "pngcairo", "png", "pdfcairo", NULL};
    if (s->tokens < 2 || !gp_in(may, s->token[1])) {
        gp_object(s, "a setting that plots do not have");
        return;
    }
    if (gp_is(s->token[1], "terminal") && (s->tokens < 3 || !gp_in(terminal, s->token[2])))
        gp_object(s, "another terminal");
    if (gp_is(s->token[1], "table") && (s->tokens != 3 || !gp_is(s->token[2], "$axes")))
        gp_object(s, "a table elsewhere");
    if (!gp_is(s->token[1], "output")) return;
    if (s->tokens < 3 || s->token[2].kind != GP_STRING ||
        !isalnum((unsigned char)*s->token[2].at) || memchr(s->token[2].at, '/', s->token[2].n))
        gp_object(s, "output elsewhere");
}

static inline void gp_check_statement(GpScript *s)
{
    static const char *const head[] = {"set", "unset", "plot", "do", "if", "else", NULL};
    if (s->tokens == 0) return;
    GpToken first = s->token[0];
    if (gp_is(first, "!")) gp_object(s, "a command of the shell");
    if (!gp_defines(s) && (first.kind != GP_WORD || !gp_in(head, first)))
        gp_object(s, "a statement that is not drawing");
    for (size_t i = 0; i + 1 < s->tokens; i++) {
        GpToken t = s->token[i], next = s->token[i + 1];
        if (t.kind == GP_STRING && next.kind == GP_STRING) gp_object(s, "a string cut in two");
        if (t.kind == GP_WORD && gp_is(next, "(") && t.at + t.n == next.at &&
            !gp_may_be_called(s, t))
            gp_object(s, "a function that plots do not have");
    }
    if (gp_is(first, "set")) gp_check_set(s);
    if (gp_is(first, "plot")) gp_check_plot(s);
}

/* ---- scripts ---------------------------------------------------------------------------------------- */

static inline void gp_add(GpScript *s, GpToken t)
{
    if (s->tokens == s->room) {
        s->room = s->room ? 2 * s->room : 256;
        s->token = realloc(s->token, s->room * sizeof *s->token);
        if (!s->token) abort();
    }
    s->token[s->tokens++] = t;
}

/* Returns what is wrong with the script, in words; NULL where it draws and does nothing else. wanted is a text or NULL;
 * *has tells whether a string of the script is that text. */
static inline const char *gnuplot_judge(const char *script, const char *wanted, int *has)
{
    GpScript *s = calloc(1, sizeof *s);
    if (!s || !(s->text = s->at = malloc(strlen(script) + 2))) abort();
    char *to = s->text;
    for (const char *c = script; *c;) {
        size_t n = *c == '\n' ? 1 : gp_character(c);
        if (n == 0) gp_object(s, "bytes that are no text");
        if (c[0] == '\\' && c[1] == '\n')
            c += 2;
        else
            for (n = n ? n : 1; n > 0; n--) *to++ = *c++;
    }
    *to = '\0';
    if (has) *has = 0;
    for (GpToken t = {GP_LINE, NULL, 0}; t.kind != GP_END;) {
        t = gp_next(s);
        if (has && wanted && t.kind == GP_STRING && gp_is(t, wanted)) *has = 1;
        if (t.kind != GP_END && t.kind != GP_LINE) {
            gp_add(s, t);
            continue;
        }
        gp_check_statement(s);
        s->tokens = 0;
    }
    const char *fault = s->fault;
    free(s->text);
    free(s->token);
    free(s);
    return fault;
}

static inline const char *gnuplot_fault(const char *script)
{
    return gnuplot_judge(script, NULL, NULL);
}

/* ---- drawings ----------------------------------------------------------------------------------------- */

/* Returns the first text of gnuplot's SVG that does not fit its image, or what the SVG lacks; NULL where all fit. A
 * letter of DejaVu Sans is some 0.58 of its size wide. A text of more than 80 letters may be too long for any image. */
static inline const char *svg_fault(const char *svg)
{
    static char words[256];
    double wide = 0, high = 0;
    size_t texts = 0;
    const char *at = strstr(svg, "width=\"");
    if (!at || sscanf(at, "width=\"%lf\" height=\"%lf\"", &wide, &high) != 2) return "no size";
    for (at = svg; (at = strstr(at, "<g transform=\"translate("));) {
        double x, y, size = 0, letters = 0;
        sscanf(at, "<g transform=\"translate(%lf,%lf)", &x, &y);
        const char *end = strstr(at, "</g>"), *text = strstr(at, "<text>"),
                   *font = strstr(at, "font-size=\""), *anchor = strstr(at, "text-anchor=\""),
                   *turned = strstr(at, "rotate(");
        if (!end || !text || text > end || !font || !anchor) { /* a mark */
            at++;
            continue;
        }
        texts++;
        size = atof(font + 11);
        for (const char *c = text; c < end;
             c += strcspn(c, "<")) { /* outside marks; "&lt;" is a letter */
            c += strcspn(c, ">") + 1;
            for (; c < end && *c != '<'; c++) {
                if (*c == '&') c += strcspn(c, ";");
                letters += ((unsigned char)*c & 0xc0) != 0x80 && (unsigned char)*c > ' ';
            }
        }
        double length = letters * size * 0.58,
               behind = anchor[13] == 's'   ? length
                        : anchor[13] == 'm' ? length / 2
                                            : 0,
               from = turned && turned < text ? high - y : x,
               most = turned && turned < text ? high : wide;
        if (letters <= 80 && (from + behind > most + 1 || from - (length - behind) < -1)) {
            snprintf(words, sizeof words, "%.200s", text);
            return words;
        }
        at = end;
    }
    return texts ? NULL : "no text";
}

#endif
