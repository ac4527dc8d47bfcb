/* svg.c: a reader of the XML that drawings are written in; what it knows goes out again, what it does not
 * know ends it. Nothing of the file is copied that was not on a list. */
#include "studies/report/svg.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "kernels/error.h"
#include "studies/tools/output.h"
#include "studies/report/page.h"

enum { DEPTH_MAX = 64, WORD_MAX = 32, ATTRIBUTES_MAX = 32 };

static const char name_letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-";
static const char id_letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

/* What becomes of an element; of DROPPED ones nothing inside is written either. */
enum { SHAPE, WORDS, DROPPED };
static const struct {
    const char *name;
    int role;
} elements[] = {
    {"svg", SHAPE},       {"g", SHAPE},
    {"defs", SHAPE},      {"path", SHAPE},
    {"circle", SHAPE},    {"ellipse", SHAPE},
    {"rect", SHAPE},      {"line", SHAPE},
    {"polyline", SHAPE},  {"polygon", SHAPE},
    {"use", SHAPE},       {"image", SHAPE},
    {"text", WORDS},      {"tspan", WORDS},
    {"title", WORDS},     {"desc", DROPPED},
    {"filter", DROPPED},                            /* gnuplot's for boxed words, */
    {"feFlood", DROPPED}, {"feComposite", DROPPED}, /* which have none */
};
enum { ELEMENTS = sizeof elements / sizeof *elements };

/* PLAIN: numbers, colours, words. */
enum { PLAIN, ID, REFERENCE, FORGOTTEN };
static const struct {
    const char *name;
    int kind;
} attributes[] = {
    {"x", PLAIN},
    {"y", PLAIN},
    {"x1", PLAIN},
    {"y1", PLAIN},
    {"x2", PLAIN},
    {"y2", PLAIN},
    {"dx", PLAIN},
    {"dy", PLAIN},
    {"cx", PLAIN},
    {"cy", PLAIN},
    {"r", PLAIN},
    {"rx", PLAIN},
    {"ry", PLAIN},
    {"width", PLAIN},
    {"height", PLAIN},
    {"viewBox", PLAIN},
    {"d", PLAIN},
    {"points", PLAIN},
    {"transform", PLAIN},
    {"fill", PLAIN},
    {"fill-opacity", PLAIN},
    {"fill-rule", PLAIN},
    {"stroke", PLAIN},
    {"stroke-width", PLAIN},
    {"stroke-opacity", PLAIN},
    {"stroke-linecap", PLAIN},
    {"stroke-linejoin", PLAIN},
    {"stroke-dasharray", PLAIN},
    {"opacity", PLAIN},
    {"color", PLAIN},
    {"font-family", PLAIN},
    {"font-size", PLAIN},
    {"font-weight", PLAIN},
    {"font-style", PLAIN},
    {"text-anchor", PLAIN},
    {"xml:space", PLAIN},
    {"shape-rendering", PLAIN},
    {"preserveAspectRatio", PLAIN},
    {"id", ID},
    {"href", REFERENCE},
    {"xlink:href", REFERENCE},
    {"class", FORGOTTEN},
    {"version", FORGOTTEN},
    {"xmlns", FORGOTTEN},
    {"xmlns:xlink", FORGOTTEN},
};
enum { ATTRIBUTES = sizeof attributes / sizeof *attributes };

typedef struct {
    const char *file, *text, *at, *end;
    const char *prefix, *title;
    FILE *f;
    int open[DEPTH_MAX];   /* elements */
    size_t depth, dropped; /* dropped: depth at which that began; 0: nothing is */
    int done;              /* the root has ended */
} Reader;

typedef struct {
    char name[WORD_MAX];
    const char *value;
    size_t length;
} Attribute;

static int refuse(const Reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(const Reader *r, const char *format, ...)
{
    char words[256];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    return error_set(ERR_INPUT, "%s: not a plain drawing: %s (byte %td)", r->file, words,
                     r->at - r->text);
}

/* ---- pieces -------------------------------------------------------------------------------------- */

static int starts(const Reader *r, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(r->end - r->at) >= n && memcmp(r->at, word, n) == 0;
}

static void skip_blanks(Reader *r)
{
    while (r->at < r->end && *r->at && strchr(" \t\r\n", *r->at)) r->at++;
}

static int skip_past(Reader *r, const char *word)
{
    for (; r->at < r->end; r->at++)
        if (starts(r, word)) {
            r->at += strlen(word);
            return 0;
        }
    return refuse(r, "it is cut off");
}

static int take_name(Reader *r, char name[WORD_MAX])
{
    size_t n = 0;
    while (r->at < r->end && *r->at && strchr(name_letters, *r->at)) {
        if (n + 1 == WORD_MAX) return refuse(r, "a name too long");
        name[n++] = *r->at++;
    }
    name[n] = '\0';
    return n ? 0 : refuse(r, "expected a name");
}

/* Length of one of XML's own entities or of a character's number at s, ';' included; 0: none. */
static size_t entity(const char *s, const char *end)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
    size_t left = (size_t)(end - s);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (left >= strlen(known[i]) && memcmp(s, known[i], strlen(known[i])) == 0)
            return strlen(known[i]);
    if (left < 4 || s[1] != '#') return 0;
    int hex = s[2] == 'x';
    size_t n = 2 + (size_t)hex, from = n;
    while (n < left && n < from + 6 && s[n] &&
           strchr(hex ? "0123456789abcdefABCDEF" : "0123456789", s[n]))
        n++;
    return n > from && n < left && s[n] == ';' ? n + 1 : 0;
}

/* Words between tags, as they are: nothing in them can begin a tag. */
static int take_words(Reader *r)
{
    int write = r->depth && !r->dropped && elements[r->open[r->depth - 1]].role == WORDS;
    for (size_t n; r->at < r->end && *r->at != '<'; r->at += n) {
        n = *r->at == '&' ? entity(r->at, r->end) : 1;
        if (n == 0) return refuse(r, "an entity that is not XML's own");
        if (*r->at == '\0') return refuse(r, "a NUL byte");
        if (!write && !r->dropped && !strchr(" \t\r\n", *r->at))
            return refuse(r, "words outside a text");
        if (write) fprintf(r->f, *r->at == '>' ? "&gt;" : "%.*s", (int)n, r->at);
    }
    return 0;
}

/* ---- attributes ---------------------------------------------------------------------------------- */

static int take_attribute(Reader *r, Attribute *a)
{
    TRY(take_name(r, a->name));
    skip_blanks(r);
    if (r->at == r->end || *r->at != '=') return refuse(r, "expected '=' after '%s'", a->name);
    r->at++;
    skip_blanks(r);
    if (r->at == r->end || (*r->at != '"' && *r->at != '\''))
        return refuse(r, "expected a quote after '%s='", a->name);
    char quote = *r->at++;
    a->value = r->at;
    while (r->at < r->end && *r->at != quote && *r->at != '<' && *r->at) r->at++;
    if (r->at == r->end || *r->at != quote) return refuse(r, "'%s' has no end", a->name);
    a->length = (size_t)(r->at++ - a->value);
    return 0;
}

static int has(const Attribute *a, const char *word)
{
    for (size_t i = 0; i + strlen(word) <= a->length; i++)
        if (strncasecmp(a->value + i, word, strlen(word)) == 0) return 1;
    return 0;
}

/* All characters from i on are on the list. */
static int only(const Attribute *a, size_t i, const char *list)
{
    for (; i < a->length; i++)
        if (!strchr(list, a->value[i])) return 0;
    return i > 0;
}

/* An image inside the drawing: PNG in base64. */
static int is_picture(const Attribute *a)
{
    static const char head[] = "data:image/png;base64,";
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=\n\r\t ";
    return a->length > strlen(head) && strncmp(a->value, head, strlen(head)) == 0 &&
           only(a, strlen(head), letters);
}

static int attribute_kind(const char *name)
{
    for (size_t i = 0; i < ATTRIBUTES; i++)
        if (strcmp(name, attributes[i].name) == 0) return attributes[i].kind;
    return -1;
}

/* Quotes, and what is no entity, cannot end the value; addresses and expressions are refused. */
static int write_attribute(Reader *r, int element, const Attribute *a)
{
    int kind = attribute_kind(a->name), image = strcmp(elements[element].name, "image") == 0;
    if (kind < 0) return refuse(r, "attribute '%s'", a->name);
    if (kind == FORGOTTEN) return 0;
    if (kind == ID && only(a, 0, id_letters)) {
        fprintf(r->f, " id=\"%s%.*s\"", r->prefix, (int)a->length, a->value);
    } else if (kind == REFERENCE && !image && a->length > 1 && *a->value == '#' &&
               only(a, 1, id_letters)) {
        fprintf(r->f, " href=\"#%s%.*s\"", r->prefix, (int)a->length - 1, a->value + 1);
    } else if (kind == REFERENCE && image && is_picture(a)) {
        fprintf(r->f, " href=\"%.*s\"", (int)a->length, a->value);
    } else if (kind == PLAIN && !has(a, "url") && !has(a, "script") &&
               !memchr(a->value, '\\', a->length) && !memchr(a->value, '&', a->length)) {
        fprintf(r->f, " %s=\"", a->name);
        page_bytes(r->f, a->value, a->length);
        fputc('"', r->f);
    } else {
        return refuse(r, "'%s=%.*s'", a->name, a->length < 60 ? (int)a->length : 60, a->value);
    }
    return 0;
}

/* ---- tags ---------------------------------------------------------------------------------------- */

static int find_element(const char *name)
{
    for (int i = 0; i < ELEMENTS; i++)
        if (strcmp(name, elements[i].name) == 0) return i;
    return -1;
}

static int take_attributes(Reader *r, int element)
{
    char seen[ATTRIBUTES_MAX][WORD_MAX];
    size_t n = 0;
    for (skip_blanks(r); r->at < r->end && *r->at != '>' && *r->at != '/'; skip_blanks(r)) {
        Attribute a;
        TRY(take_attribute(r, &a));
        for (size_t i = 0; i < n; i++)
            if (strcmp(seen[i], a.name) == 0) return refuse(r, "'%s' twice", a.name);
        if (n == ATTRIBUTES_MAX) return refuse(r, "too many attributes");
        memcpy(seen[n++], a.name, WORD_MAX);
        /* A filter has attributes of its own, of which nothing is kept. */
        if (!r->dropped) TRY(write_attribute(r, element, &a));
    }
    return 0;
}

/* What the page says of the drawing in place of what the file says. */
static void write_title(const Reader *r)
{
    fprintf(r->f, " role=\"img\" aria-labelledby=\"%stitle\"><title id=\"%stitle\">", r->prefix,
            r->prefix);
    page_text(r->f, r->title);
    fputs("</title", r->f);
}

static int begin_element(Reader *r)
{
    char name[WORD_MAX];
    TRY(take_name(r, name));
    int e = find_element(name), root = r->depth == 0;
    if (e < 0) return refuse(r, "element '%s'", name);
    if (r->done || root != (strcmp(name, "svg") == 0))
        return refuse(r, root ? "expected <svg>; there is <%s>" : "<%s> inside", name);
    if (r->depth == DEPTH_MAX) return refuse(r, "too deep");
    /* The root's title is the page's. */
    int drop = elements[e].role == DROPPED || (r->depth == 1 && strcmp(name, "title") == 0);
    r->open[r->depth++] = e;
    if (drop && !r->dropped) r->dropped = r->depth;
    if (!r->dropped) fprintf(r->f, "<%s", name);
    TRY(take_attributes(r, e));
    if (!r->dropped && root) write_title(r);
    int empty = r->at < r->end && *r->at == '/';
    r->at += empty;
    if (r->at == r->end || *r->at != '>') return refuse(r, "<%s> does not end", name);
    r->at++;
    if (!r->dropped) fputs(empty && !root ? "/>" : ">", r->f);
    if (!empty) return 0;
    if (root) fputs("</svg>", r->f);
    if (r->dropped == r->depth) r->dropped = 0;
    r->done = --r->depth == 0;
    return 0;
}

static int end_element(Reader *r)
{
    char name[WORD_MAX];
    TRY(take_name(r, name));
    skip_blanks(r);
    if (r->depth == 0 || strcmp(name, elements[r->open[r->depth - 1]].name) != 0 ||
        r->at == r->end || *r->at != '>')
        return refuse(r, "</%s> out of place", name);
    r->at++;
    if (!r->dropped) fprintf(r->f, "</%s>", name);
    if (r->dropped == r->depth) r->dropped = 0;
    r->done = --r->depth == 0;
    return 0;
}

static int take_tag(Reader *r)
{
    if (starts(r, "<!--")) return skip_past(r, "-->");
    if (starts(r, "<?xml ") && r->depth == 0 && !r->done) return skip_past(r, "?>");
    if (starts(r, "<!") || starts(r, "<?")) return refuse(r, "a declaration or instruction");
    int end = starts(r, "</");
    r->at += 1 + end;
    return end ? end_element(r) : begin_element(r);
}

static int read_drawing(Reader *r)
{
    if (starts(r, "\xef\xbb\xbf")) r->at += 3;
    while (r->at < r->end) {
        TRY(take_words(r));
        if (r->at < r->end) TRY(take_tag(r));
    }
    return r->done ? 0 : refuse(r, "it is cut off");
}

int svg_write(const char *file, const char *text, size_t bytes, const char *prefix,
              const char *title, FILE *f)
{
    Output o;
    TRY(output_open(&o));
    Reader r = {.file = file,
                .text = text,
                .at = text,
                .end = text + bytes,
                .prefix = prefix,
                .title = title,
                .f = o.f};
    int code = read_drawing(&r);
    if (code == 0 && fflush(o.f) != 0) code = error_set(ERR_MEMORY, "%s: out of memory", file);
    if (code == 0) fwrite(o.text, 1, o.bytes, f);
    output_drop(&o);
    return code;
}
