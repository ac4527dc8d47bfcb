/* butcher.c: converts tableaus of Runge-Kutta methods, in two forms, to and from tables whose stages are all H.
 *
 *   JSON       {"name": "heun", "A": [[0, 0], [1, 0]], "b": ["1/2", "1/2"], "c": [0, 1]}
 *              rows of A may stop before their zeros; c may be missing, and one that is not the sum of its row is a
 *              node (@) of its own; numbers or texts, "1/2" exact; an embedded
 *              pair has "bhat" (or "b_hat") too, the weights of yhat, and error = y' - yhat in the language of schemes
 *   a drawing  as Hairer, Norsett, Wanner 1993 print one, and NodePy:
 *
 *               0   |
 *               1   | 1
 *              -----+-----------
 *                   | 1/2  1/2          and of an embedded pair
 *                   | 1    0            the weights of yhat
 *
 * A tableau that is read becomes a text in the language of schemes, so that there is one reader of numbers. The text's
 * places would mislead, so every entry is checked before. Source: Butcher 1964; Hairer, Norsett, Wanner 1993, section
 * II.1. */
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/parsed.h"
#include "kernels/base/plain_text.h"
#include "ode/scheme/butcher.h"
#include "ode/scheme/print.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/scheme.h"

enum { STAGES = 256, ENTRY = TABLEAU_ENTRY };
typedef TableauEntry Entry;

/* ---- numbers -------------------------------------------------------------------------------------- */

/* Returns whether a text is a number, a quotient, or one with the letters of sqrt, e. */
static int is_number(const char *text)
{
    const char *d = text;
    if (strspn(text, "0123456789+-*/(). sqrteE") != strlen(text)) return 0;
    while (*d && !isdigit((unsigned char)*d)) d++;
    return *d != 0;
}

static int is_zero(const char *text)
{
    return strspn(text, "0.+-") == strlen(text);
}

static int put_entry(const Tableau *b, Entry out, const char *text, size_t n, const char *where)
{
    if (n < ENTRY) {
        memcpy(out, text, n);
        out[n] = '\0';
        if (is_number(out)) return 0;
    }
    return error_set(ERR_INPUT, "%s: %s: '%.*s' is no number, as 1/2 or 0.5", b->file, where,
                     n > 40 ? 40 : (int)n, text);
}

int tableau_room(Tableau *b, size_t stages)
{
    if (stages < 1 || stages > STAGES)
        return error_set(ERR_INPUT, "%s: %zu stages: expected 1 to %d", b->file, stages, STAGES);
    b->stages = stages;
    b->entry = memory_new(stages + MORE_ROWS, stages * sizeof *b->entry);
    if (!b->entry) return ERR_MEMORY;
    for (size_t i = 0; i < (stages + NODES) * stages; i++) strcpy(b->entry[i], "0");
    return 0;
}

/* ---- JSON ----------------------------------------------------------------------------------------- */

static int read_json_number(const Tableau *b, const json_t *x, Entry out, const char *where)
{
    char text[32];
    const char *s = json_string_value(x);
    if (s) return put_entry(b, out, s, strlen(s), where);
    if (!json_is_number(x))
        return error_set(ERR_INPUT, "%s: %s: expected a number", b->file, where);
    if (json_is_integer(x))
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(x));
    else
        snprintf(text, sizeof text, "%.17g", json_real_value(x));
    return put_entry(b, out, text, strlen(text), where);
}

static int read_json_row(const Tableau *b, const json_t *row, size_t least, Entry *out,
                         const char *where)
{
    size_t n = json_array_size(row);
    if (!json_is_array(row) || n < least || n > b->stages)
        return error_set(ERR_INPUT, "%s: %s: expected an array of %zu numbers", b->file, where,
                         b->stages);
    for (size_t i = 0; i < n; i++) TRY(read_json_number(b, json_array_get(row, i), out[i], where));
    return 0;
}

static int read_json(Tableau *b, const json_t *root)
{
    const json_t *A = json_object_get(root, "A"), *c = json_object_get(root, "c");
    const char *name = json_string_value(json_object_get(root, "name"));
    const json_t *hat = json_object_get(root, "bhat");
    char where[32];
    if (!hat) hat = json_object_get(root, "b_hat");
    if (name) snprintf(b->name, sizeof b->name, "%s", name);
    TRY(tableau_room(b, json_array_size(A)));
    for (size_t i = 0; i < b->stages; i++) {
        snprintf(where, sizeof where, "row %zu of A", i + 1);
        TRY(read_json_row(b, json_array_get(A, i), 0, tableau_row(b, i), where));
    }
    size_t n = b->stages;
    TRY(read_json_row(b, json_object_get(root, "b"), n, tableau_row(b, n + WEIGHTS), "b"));
    b->pair = hat != NULL;
    if (hat) TRY(read_json_row(b, hat, n, tableau_row(b, n + HAT), "bhat"));
    return c ? read_json_row(b, c, n, tableau_row(b, n + NODES), "c") : 0;
}

/* Says how to write a fraction where the reader stopped at one without quotation marks, behind the '{' of an object. */
static int hint_fraction(const Tableau *b, const char *text, size_t bytes, size_t at, int line)
{
    size_t slash = at;
    if (slash >= bytes) slash = at = bytes - 1;
    while (slash > 0 && text[slash - 1] != '\n' && text[slash] != '/' && at - slash < 8) slash--;
    if (text[slash] != '/') return 0;
    size_t from = slash, to = slash + 1;
    while (isdigit((unsigned char)text[from - 1]) || text[from - 1] == '-') from--;
    while (to < bytes && isdigit((unsigned char)text[to])) to++;
    if (from == slash || to == slash + 1) return 0;
    return error_set(ERR_INPUT, "%s:%d: a fraction is a text in JSON: write \"%.*s\"", b->file,
                     line, to - from > 40 ? 40 : (int)(to - from), text + from);
}

/* Reads the object at `from`; *end out: where it ends. */
static int parse_json(Tableau *b, const char *text, size_t from, size_t bytes, size_t *end)
{
    json_error_t e;
    json_auto_t *root = NULL;
    int before = 0;
    size_t used = 0;
    for (size_t i = 0; i < from; i++) before += text[i] == '\n';
    int code = parsed_next(text + from, bytes - from, &e, &root, &used);
    *end = from + used;
    if (code == ERR_INPUT) {
        TRY(hint_fraction(b, text, bytes, from + (size_t)e.position, before + e.line));
        return error_set(code, "%s:%d: %s", b->file, before + e.line, e.text);
    }
    TRY(code);
    if (!json_is_object(root))
        return error_set(ERR_INPUT, "%s:%d: expected an object with A, b and c", b->file,
                         before + 1);
    return read_json(b, root);
}

/* ---- a drawing ------------------------------------------------------------------------------------ */

/* A line of a drawing: the part before the bar and the part behind it. */
typedef struct {
    const char *text;
    size_t bytes, bar; /* bar == bytes: there is none */
    size_t number;
} DrawnLine;

static int next_line(const char **at, const char *end, DrawnLine *l)
{
    if (!text_next_line(at, end, &l->text, &l->bytes)) return 0;
    const char *bar = memchr(l->text, '|', l->bytes);
    l->bar = bar ? (size_t)(bar - l->text) : l->bytes;
    l->number++;
    return 1;
}

static int is_rule(const DrawnLine *l)
{
    size_t dashes = 0;
    for (size_t i = 0; i < l->bytes; i++) {
        if (!strchr("_-+| \t\r", l->text[i])) return 0;
        dashes += l->text[i] == '_' || l->text[i] == '-';
    }
    return dashes > 2;
}

/* Reads out (most) from the words of a piece of a line; *count of them. */
static int read_words(const Tableau *b, const DrawnLine *l, size_t from, size_t to, Entry *out,
                      size_t most, size_t *count)
{
    char where[32];
    snprintf(where, sizeof where, "line %zu", l->number);
    *count = 0;
    for (size_t i = from; i < to; ++*count) {
        while (i < to && isspace((unsigned char)l->text[i])) i++;
        size_t begin = i;
        while (i < to && !isspace((unsigned char)l->text[i])) i++;
        if (i == begin) return 0;
        if (*count == most)
            return error_set(ERR_INPUT, "%s: %s: more than %zu numbers", b->file, where, most);
        TRY(put_entry(b, out[*count], l->text + begin, i - begin, where));
    }
    return 0;
}

static size_t count_rows(const char *text, size_t bytes)
{
    size_t rows = 0;
    const char *at = text;
    for (DrawnLine l = {0}; next_line(&at, text + bytes, &l) && !is_rule(&l);)
        rows += l.bar < l.bytes;
    return rows;
}

/* Reads the name, the first word before the first row. */
static void read_name(Tableau *b, const DrawnLine *l)
{
    size_t i = 0, n = 0;
    while (i < l->bytes && isspace((unsigned char)l->text[i])) i++;
    while (i + n < l->bytes && !isspace((unsigned char)l->text[i + n])) n++;
    if (n && !b->name[0]) snprintf(b->name, sizeof b->name, "%.*s", (int)n, l->text + i);
}

static int read_stage(Tableau *b, const DrawnLine *l, size_t row)
{
    size_t n;
    TRY(read_words(b, l, 0, l->bar, tableau_row(b, b->stages + NODES) + row, 1, &n));
    return read_words(b, l, l->bar + 1, l->bytes, tableau_row(b, row), b->stages, &n);
}

/* Reads the weights of y', then those of yhat. */
static int read_weights(Tableau *b, const DrawnLine *l, int *seen)
{
    size_t n;
    if (*seen == 2)
        return error_set(ERR_INPUT,
                         "%s: line %zu: a third row of weights: expected those of a method and of "
                         "one embedded in it",
                         b->file, l->number);
    b->pair = ++*seen == 2;
    TRY(read_words(b, l, l->bar + 1, l->bytes,
                   tableau_row(b, b->stages + (b->pair ? HAT : WEIGHTS)), b->stages, &n));
    return n ? 0 : error_set(ERR_INPUT, "%s: line %zu: no weights", b->file, l->number);
}

static int parse_drawing(Tableau *b, const char *text, size_t bytes)
{
    const char *at = text;
    int rule = 0, weights = 0;
    size_t row = 0;
    TRY(tableau_room(b, count_rows(text, bytes)));
    for (DrawnLine l = {0}; next_line(&at, text + bytes, &l);) {
        if (is_rule(&l))
            rule = 1;
        else if (l.bar == l.bytes && row == 0)
            read_name(b, &l);
        else if (l.bar < l.bytes)
            TRY(rule ? read_weights(b, &l, &weights) : read_stage(b, &l, row++));
    }
    if (weights) return 0;
    return error_set(ERR_INPUT, "%s: expected a rule of - or _, and behind it | and the weights",
                     b->file);
}

/* ---- a tableau as a scheme ------------------------------------------------------------------------ */

/* Prints "y + (1/2)*k1 + ...". */
static void print_row(const Tableau *b, size_t i, FILE *f)
{
    Entry *row = tableau_row(b, i);
    fputc('y', f);
    for (size_t j = 0; j < b->stages; j++)
        if (!is_zero(row[j])) fprintf(f, " + (%s)*k%zu", row[j], j + 1);
}

/* Prints "(1/2 - (1))*k1 + ...", which is y' - yhat. */
static void print_difference(const Tableau *b, FILE *f)
{
    Entry *w = tableau_row(b, b->stages + WEIGHTS), *hat = tableau_row(b, b->stages + HAT);
    for (size_t j = 0; j < b->stages; j++)
        if (!is_zero(w[j]) || !is_zero(hat[j]))
            fprintf(f, " + (%s - (%s))*k%zu", w[j], hat[j], j + 1);
}

/* Keeps what a name can have, letters in lower case; the name is "tableau" where no letter comes first: a
 * drawn tableau's name must not look like its rule. */
static void clean_name(Tableau *b)
{
    size_t n = 0;
    for (const char *c = b->name; *c; c++)
        if (isalnum((unsigned char)*c) || strchr("-_.+", *c))
            b->name[n++] = (char)tolower((unsigned char)*c);
    b->name[n] = '\0';
    if (!scheme_named(b->name) || !isalpha((unsigned char)b->name[0])) strcpy(b->name, "tableau");
}

/* Reads a node as it is written most, 1/2 or 0.5; NAN: none, or an expression. */
static double plain_node(const Entry c)
{
    char *end;
    double told = strtod(c, &end);
    if (end != c && *end == '/') told /= strtod(end + 1, &end);
    return end == c || *end ? NAN : told;
}

/* Marks in own (stages) the nodes that are given and are not the sums of their rows of A, as in Lobatto IIIB. Those that
 * are expressions come marked, and t has their values. Returns how many marks it changed. */
static size_t find_nodes(const Tableau *b, const Table *t, char *own)
{
    size_t changed = 0;
    RATIONAL(rule);
    for (size_t i = 0; i < t->stages; i++) {
        const Point *p = &t->point[t->eval[t->stage[i].eval].point];
        table_row_time(t, &p->row, OP_F, rule);
        double sum = table_double(rule);
        double told =
            own[i] ? table_double(p->c[OP_F]) : plain_node(tableau_row(b, t->stages + NODES)[i]);
        char differs = fabs(told - sum) > 1e-9 * fmax(1, fabs(sum));
        changed += differs != own[i];
        own[i] = differs;
    }
    return changed;
}

/* A tableau to be written, and its own nodes: find_nodes. */
typedef struct {
    const Tableau *b;
    const char *own;
} Drawn;

static int print_text(const void *of, FILE *f)
{
    const Tableau *b = ((const Drawn *)of)->b;
    const char *own = ((const Drawn *)of)->own;
    Entry *c = tableau_row(b, b->stages + NODES);
    fprintf(f, "scheme %s\n", b->name);
    if (b->note[0]) fprintf(f, "note %s\n", b->note);
    for (size_t i = 0, said = 0; i < b->stages; i++)
        if (own[i] && !said++)
            fprintf(
                f,
                "note c%zu is %s, which is not the sum of its row of A: it is read as a node, @ %s\n",
                i + 1, c[i], c[i]);
    for (size_t i = 0; i < b->stages; i++) {
        fprintf(f, "k%zu = H(", i + 1);
        print_row(b, i, f);
        if (own[i]) fprintf(f, " @ %s", c[i]);
        fputs(")\n", f);
    }
    fputs("y' = ", f);
    print_row(b, b->stages + WEIGHTS, f);
    fputc('\n', f);
    if (b->pair) fputs("error =", f), print_difference(b, f), fputc('\n', f);
    return 0;
}

int tableau_scheme(Tableau *b, Table **t)
{
    char file[300]; /* places are those of the scheme's text */
    SCOPED(memory_drop) char *own = memory_new(b->stages, 1);
    if (!own) return ERR_MEMORY;
    for (size_t i = 0; i < b->stages; i++) {
        const char *c = tableau_row(b, b->stages + NODES)[i];
        own[i] = *c && isnan(plain_node(c));
    }
    clean_name(b);
    snprintf(file, sizeof file, "%.250s, as a scheme", b->file);
    int code = scheme_written(file, print_text, &(Drawn){b, own}, t);
    if (code == 0 && find_nodes(b, table_whole(*t), own)) {
        table_free(*t);
        code = scheme_written(file, print_text, &(Drawn){b, own}, t);
    }
    return code;
}

int butcher_is(const char *text, size_t bytes)
{
    size_t i = 0;
    while (i < bytes && isspace((unsigned char)text[i])) i++;
    if (i < bytes && text[i] == '{') return 1;
    const char *at = text;
    for (DrawnLine l = {0}; next_line(&at, text + bytes, &l);) {
        if (l.bytes >= 6 && memcmp(l.text, "scheme", 6) == 0) return 0;
        if (l.bar < l.bytes) return 1;
    }
    return 0;
}

void tableau_free(Tableau *b)
{
    memory_free(b->entry);
}

static void skip_blanks(const char *text, size_t bytes, size_t *at)
{
    while (*at < bytes && isspace((unsigned char)text[*at])) ++*at;
}

int butcher_parse(const char *file, const char *text, size_t bytes, Table ***list, size_t *count)
{
    size_t at = 0;
    if (memchr(text, '\0', bytes)) return error_set(ERR_INPUT, "%s: a NUL byte in a tableau", file);
    skip_blanks(text, bytes, &at);
    int json = at < bytes && text[at] == '{';
    do {
        SCOPED(tableau_free) Tableau b = {.file = file};
        TRY(json ? parse_json(&b, text, at, bytes, &at) : parse_drawing(&b, text, bytes));
        TRY(memory_more(list, *count, sizeof **list));
        TRY(tableau_scheme(&b, *list + *count));
        ++*count;
        skip_blanks(text, bytes, &at);
    } while (json && at < bytes);
    return 0;
}

/* ---- a table as a tableau ------------------------------------------------------------------------- */

static int is_plain(const Row *row)
{
    for (size_t k = 0; k < row->terms; k++) {
        const Term *x = &row->term[k];
        if (x->symbols || x->past || (x->eval == TABLE_STATE && mpq_cmp_ui(x->c, 1, 1) != 0))
            return 0;
    }
    return row->terms > 0 && row->term[0].eval == TABLE_STATE;
}

int tableau_check(const Table *t)
{
    int plain = table_over(t, OP_H) && t->colours == 2 && !t->carries && is_plain(&t->update);
    for (size_t p = 0; plain && p < t->points; p++) plain = is_plain(&t->point[p].row);
    if (plain) return 0; /* times of its own are nodes */
    TRY(table_refuse_carries(t, "a tableau has the stages of one step from y alone"));
    if (table_rosenbrock(t))
        return error_set(ERR_INPUT,
                         "%s is a Rosenbrock method: its alpha, gamma and b are printed by "
                         "--tableau latex alone",
                         t->name);
    return error_set(ERR_INPUT,
                     "%s has no tableau: it is no one-step method whose stages are all H", t->name);
}

void tableau_number(const Table *t, const mpq_t q, TableauEntry out)
{
    if (t->exact)
        gmp_snprintf(out, ENTRY, "%Qd", q);
    else
        for (int digits = 15;; digits++) { /* 17 give every double back */
            snprintf(out, ENTRY, "%.*g", digits, table_double(q));
            if (strtod(out, NULL) == table_double(q)) break;
        }
}

int tableau_fill(Tableau *b, const Table *t)
{
    RATIONALS(sum, error);
    TRY(tableau_room(b, t->stages));
    b->pair = t->error.terms > 0;
    for (size_t i = 0; i < t->stages + NODES; i++)
        for (size_t j = 0; j < t->stages; j++) {
            const Row *r = i < t->stages ? &eval_point(t, t->stage[i].eval)->row : &t->update;
            row_weight(t, r, t->stage[j].eval, sum);
            if (i == t->stages + HAT) {
                row_weight(t, &t->error, t->stage[j].eval, error);
                mpq_sub(sum, sum, error);
            }
            tableau_number(t, sum, tableau_row(b, i)[j]);
        }
    for (size_t i = 0; i < t->stages; i++)
        tableau_number(t, eval_point(t, t->stage[i].eval)->c[OP_F],
                       tableau_row(b, t->stages + NODES)[i]);
    return 0;
}

static void print_json_row(const Tableau *b, size_t i, const char *before, FILE *f)
{
    fputs(before, f);
    for (size_t j = 0; j < b->stages; j++)
        fprintf(f, "%s\"%s\"", j ? ", " : "[", tableau_row(b, i)[j]);
    fputc(']', f);
}

static void print_json(const Tableau *b, const Table *t, FILE *f)
{
    fprintf(f, "{\"name\": \"%s\",\n \"A\": [", t->name);
    for (size_t i = 0; i < b->stages; i++) print_json_row(b, i, i ? ",\n       " : "", f);
    print_json_row(b, b->stages + WEIGHTS, "],\n \"b\": ", f);
    if (b->pair) print_json_row(b, b->stages + HAT, ",\n \"bhat\": ", f);
    print_json_row(b, b->stages + NODES, ",\n \"c\": ", f);
    fputs("}\n", f);
}

/* Draws row i with its first `shown` entries. */
static void draw_row(const Tableau *b, size_t i, size_t shown, const int *width, FILE *f)
{
    Entry *x = tableau_row(b, i);
    const char *node = i < b->stages ? tableau_row(b, b->stages + NODES)[i] : "";
    fprintf(f, " %-*s |", width[0], node);
    for (size_t j = 0; j < shown; j++) fprintf(f, " %-*s", j + 1 < shown ? width[j + 1] : 0, x[j]);
    fputc('\n', f);
}

static int longer(int width, const char *text)
{
    return (int)strlen(text) > width ? (int)strlen(text) : width;
}

static void draw(const Tableau *b, const Table *t, FILE *f)
{
    int width[STAGES + 1] = {0}, all = 0, implicit = table_implicit(t);
    size_t n = b->stages, rows = n + (b->pair ? HAT : WEIGHTS) + 1;
    for (size_t j = 0; j < n; j++) {
        width[0] = longer(width[0], tableau_row(b, n + NODES)[j]);
        for (size_t i = 0; i < rows; i++) width[j + 1] = longer(width[j + 1], tableau_row(b, i)[j]);
        all += width[j + 1] + 1;
    }
    fprintf(f, "%s\n", t->name);
    for (size_t i = 0; i < n; i++) draw_row(b, i, implicit ? n : i, width, f);
    for (int i = 0; i < width[0] + 2; i++) fputc('-', f);
    fputc('+', f);
    for (int i = 0; i <= all; i++) fputc('-', f);
    fputc('\n', f);
    for (size_t i = n; i < rows; i++) draw_row(b, i, n, width, f);
}

void tableau_latex(const char *x, FILE *f)
{
    size_t minus = *x == '-', n = strcspn(x, "/e");
    if (x[n] == '/')
        fprintf(f, "%.*s\\tfrac{%.*s}{%s}", (int)minus, x, (int)(n - minus), x + minus, x + n + 1);
    else
        fprintf(f, x[n] ? "%.*s\\cdot10^{%s}" : "%.*s", (int)n, x, x + n + 1);
}

/* Writes a display of one array, a rule right of the nodes and one above the weights; those of yhat come last. */
static void print_latex(const Tableau *b, const Table *t, FILE *f)
{
    size_t n = b->stages, rows = n + (b->pair ? HAT : WEIGHTS) + 1;
    int implicit = table_implicit(t);
    fprintf(f, "%% %s\n\\[\n\\renewcommand{\\arraystretch}{1.25}\n\\begin{array}{c|*{%zu}{c}}\n",
            t->name, n);
    for (size_t i = 0; i < rows; i++) {
        fputs(i == n ? "  \\hline\n  " : "  ", f);
        if (i < n) tableau_latex(tableau_row(b, n + NODES)[i], f);
        for (size_t j = 0; j < (i < n && !implicit ? i : n); j++) {
            fputs(" & ", f);
            tableau_latex(tableau_row(b, i)[j], f);
        }
        fputs(i + 1 < rows ? " \\\\\n" : "\n", f);
    }
    fputs("\\end{array}\n\\]\n", f);
}

int butcher_print(const Table *written, int form, FILE *f)
{
    const Table *t = table_unfiltered(written);
    SCOPED(tableau_free) Tableau b = {.file = t->name};
    TRY(tableau_check(t));
    TRY(tableau_fill(&b, t));
    (form == BUTCHER_JSON ? print_json : form == BUTCHER_LATEX ? print_latex : draw)(&b, t, f);
    return 0;
}
