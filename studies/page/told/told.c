/* told.c: what the theory says of a scheme, as HTML: by the same functions as `schemes`, `expand` and `stability`. */
#include "studies/page/told/told.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/plain_text.h"
#include "studies/base/output.h"
#include "studies/page/report/report.h"
#include "studies/theory/expansion.h"
#include "studies/theory/order_conditions.h"

enum { TERMS_MOST = 12, CONDITIONS_TOLD = 9 };

/* A scheme, its table with starting values for what is learned, and its order. */
typedef struct {
    const Table *scheme, *t;
    Theory theory;
} Asked;

/* ---- reading --------------------------------------------------------------------------------------- */

static int check_size(const Selection *s, size_t most)
{
    if (s->count == 0) return error_set(ERR_INPUT, "scheme:1:1: expected 'scheme NAME'");
    if (most && s->count > TOLD_SCHEMES)
        return error_set(ERR_INPUT, "a page tells of at most %d schemes at a time, not of %zu",
                         TOLD_SCHEMES, s->count);
    for (size_t i = 0; most && i < s->count; i++)
        if (s->scheme[i]->stages > most || s->scheme[i]->flows > most)
            return error_set(ERR_INPUT,
                             "%s has more than %zu stages, too many for a page: trotter schemes "
                             "--scheme-file has no such limit",
                             s->scheme[i]->name, most);
    return 0;
}

int told_read(const char *text, size_t most, Selection *s)
{
    size_t bytes = strlen(text);
    *s = (Selection){0};
    TRY((butcher_is(text, bytes) ? butcher_parse : scheme_parse)("scheme", text, bytes, &s->scheme,
                                                                 &s->count));
    return check_size(s, most);
}

/* ---- order and terms ------------------------------------------------------------------------------- */

/* Says how far the scheme is stable from 0 on: "on the imaginary axis to 2.828 i", or "on all of it". */
static void put_limit(FILE *f, const char *axis, double end, const char *unit)
{
    char number[32];
    if (isnan(end)) return;
    fprintf(f, "on %s%s axis", isinf(end) ? "all of the " : "the ", axis);
    if (isinf(end)) return;
    snprintf(number, sizeof number, "%.4g", end);
    fputs(" to ", f);
    formula_put(f, number);
    fputs(unit, f);
}

static int put_stability(FILE *f, const Table *t)
{
    double real, imag;
    Stiff stiff;
    TRY(stability_limits(t, &real, &imag, NULL));
    TRY(stability_stiff(t, &stiff));
    put_limit(f, "negative real", real, "");
    fputs(isnan(real) || isnan(imag) ? "" : ", ", f);
    put_limit(f, "imaginary", imag, "&nbsp;i");
    if (stiff.a_stable == TOLD_NOT) return 0;
    fprintf(f, ".</dd>\n<dt>stiff</dt><dd>%s",
            stiff.l_stable == TOLD_YES   ? "A-stable and L-stable"
            : stiff.a_stable == TOLD_YES ? "A-stable, not L-stable"
                                         : "not A-stable");
    if (stiff.a_stable != TOLD_YES && stiff.alpha > 0)
        fprintf(f, ", A(α)-stable with α = %.4g°", stiff.alpha);
    if (stiff.l_stable != TOLD_YES && isfinite(stiff.r_infinity))
        fprintf(f, "; |R(∞)| = %.4g", stiff.r_infinity);
    if (stiff.colour >= 0) fprintf(f, " (of the implicit %c alone)", table_letters[stiff.colour]);
    return 0;
}

/* Names the fields on which the scheme has its order, and the order of the embedded method. */
static int put_more(FILE *f, const Asked *a)
{
    char fields[SPECIAL_WORDS];
    Embedded e;
    if (a->scheme->special)
        page_print(f, "<dt>for fields</dt><dd>%s</dd>\n",
                   table_special(a->scheme->special, fields));
    if (table_has(a->scheme, HAS_NORM))
        page_print(f, "<dt>norms</dt><dd>%s</dd>\n", TABLE_NORMS_LEFT);
    TRY(theory_embedded(a->scheme, CONDITIONS_MAX, &e));
    if (e.order >= 0) page_print(f, "<dt>embedded</dt><dd>order %u</dd>\n", (size_t)e.order);
    return 0;
}

static int put_facts(FILE *f, const Asked *a)
{
    const Table *t = a->t;
    fprintf(f,
            "<dl class=\"facts\">\n<dt>order</dt><dd><b class=\"order\">%s%d</b>%s</dd>\n"
            "<dt>evaluations</dt><dd>",
            a->theory.order == a->theory.searched ? "at least " : "", a->theory.order,
            a->theory.order == 0 ? ": it is not consistent" : "");
    for (int op = 0, some = 0; op < t->colours; op++)
        if (table_evals(t, op))
            fprintf(f, "%s%zu&nbsp;%c", some++ ? " + " : "", table_evals(t, op), table_letters[op]);
    fputs("</dd>\n<dt>stable</dt><dd>", f);
    TRY(put_stability(f, t));
    fputs("</dd>\n", f);
    TRY(put_more(f, a));
    fputs("</dl>\n", f);
    return 0;
}

/* Writes "+ 1/12 [F,[F,G]]". */
static void put_term(FILE *f, const Expansion *e, const ExpansionTerm *x, int first)
{
    char number[256], text[EXPANSION_NAME + 300];
    expansion_number(e->table, x->c, number, sizeof number);
    if (!e->table->exact || strlen(number) > 24)
        snprintf(number, sizeof number, "%.5g", table_double(x->c));
    int below = *number == '-';
    const char *size = number + below;
    snprintf(text, sizeof text, "%s%s%s", strcmp(size, "1") == 0 ? "" : size,
             strcmp(size, "1") == 0 ? "" : " ", x->name);
    fputs(below ? first ? "−" : " − " : first ? "" : " + ", f);
    formula_put(f, text);
}

/* Writes the terms of the lowest degree. */
static void put_terms(FILE *f, const Expansion *e)
{
    char power[16];
    size_t n = 0, all = 0;
    int degree = e->count ? e->term[0].degree : 0;
    while (all < e->count && e->term[all].degree == degree) all++;
    if (e->warning[0]) page_print(f, "<p class=\"soft\">%s</p>\n", e->warning);
    if (all == 0) return;
    fputs(e->basis == BASIS_BRACKETS ? "<p class=\"terms\">log(step)/h − field = "
                                     : "<p class=\"terms\">numerical − exact = ",
          f);
    snprintf(power, sizeof power, "h^%d", degree - (e->basis == BASIS_BRACKETS));
    formula_put(f, power);
    fputs(" (", f);
    for (; n < all && n < TERMS_MOST; n++) put_term(f, e, &e->term[n], n == 0);
    fputs(")", f);
    if (n < all) fprintf(f, " and %zu terms more (<code>trotter expand</code>)", all - n);
    fputs(" + …</p>\n", f);
}

/* Says so where the trees of the first order that fails are more than a page can wait for. */
static int too_many(FILE *f, const Asked *a)
{
    int order = a->theory.order + 1, many = order > (table_one_field(a->t) ? 10 : 7);
    if (many)
        fprintf(f, "<p class=\"soft\">Those of order %d are too many for a page.</p>\n", order);
    return many;
}

static int put_expansion(FILE *f, const Asked *a)
{
    SCOPED(expansion_free) Expansion e = {0};
    int flows = table_exact_flows(a->t);
    if (too_many(f, a)) return 0;
    TRY(expansion_find(a->t, flows ? BASIS_BRACKETS : BASIS_TREES, 0,
                       !flows && table_one_field(a->t), &e));
    put_terms(f, &e);
    return 0;
}

/* ---- the tableau ------------------------------------------------------------------------------------- */

/* Writes an entry as a fraction, or with five digits, and all of them as its title; blank: 0 is left out. */
static void put_entry(FILE *f, const char *text, size_t n, int blank)
{
    char entry[640], shown[32];
    snprintf(entry, sizeof entry, "%.*s", (int)n, text);
    snprintf(shown, sizeof shown, "%.5g", strtod(entry, NULL));
    if (blank && strcmp(entry, "0") == 0) entry[0] = '\0';
    page_print(f, n > 14 ? "<td title=\"%s\">" : "<td>", entry);
    formula_put(f, n > 14 && !strchr(entry, '/') ? shown : entry);
    fputs("</td>", f);
}

/* Writes a line of a drawn tableau as a row: its entries follow blanks, a bar stands behind the first one. */
static void put_line(FILE *f, const char *line, size_t bytes, int weights)
{
    const char *bar = memchr(line, '|', bytes), *end = line + bytes;
    if (!bar) return;
    fputs(weights ? "<tr class=\"weights\">" : "<tr>", f);
    size_t n = strcspn(line + strspn(line, " "), " |");
    put_entry(f, line + strspn(line, " "), n, 0);
    for (const char *c = bar + 1; c < end; c += n) {
        c += strspn(c, " ");
        n = strcspn(c, " \n");
        if (n && c < end) put_entry(f, c, n, 1);
    }
    fputs("</tr>\n", f);
}

/* A tableau is the one that `schemes --tableau drawn` prints: a name, a line a stage, dashes, the weights. */
static int put_tableau(FILE *f, const Asked *a)
{
    Output o;
    TRY(output_open(&o));
    int code = butcher_print(a->scheme, BUTCHER_DRAWN, o.f);
    if (fflush(o.f) != 0 && code == 0) code = ERR_MEMORY;
    const char *at = o.text, *line;
    size_t bytes;
    if (code == 0) fputs("<div class=\"scroll\"><table class=\"tableau\">\n", f);
    for (int weights = 0; code == 0 && text_next_line(&at, o.text + o.bytes, &line, &bytes);) {
        put_line(f, line, bytes, weights == 1);
        weights += weights ? 1 : bytes && *line == '-';
    }
    if (code == 0) fputs("</table></div>\n", f);
    output_drop(&o);
    return code;
}

/* ---- order conditions --------------------------------------------------------------------------------- */

typedef struct {
    FILE *f;
    int order; /* of the conditions that are looked at */
    size_t all, fail;
} Failing;

static int take_failing(void *to, const ConditionRow *r)
{
    Failing *u = to;
    if (r->order != u->order) return 0;
    u->all++;
    if (r->holds || u->fail++ >= CONDITIONS_TOLD) return 0;
    if (u->fail == 1)
        fputs("<table class=\"conditions\"><thead><tr><th>tree</th><th>should be</th><th>is</th>"
              "<th>condition</th></tr></thead><tbody>\n",
              u->f);
    const char *cell[] = {r->tree, r->right, r->left, r->condition};
    fputs("<tr>", u->f);
    for (int k = 0; k < 4; k++) {
        fputs("<td>", u->f);
        if (*cell[k]) formula_put(u->f, cell[k]);
        fputs("</td>", u->f);
    }
    fputs("</tr>\n", u->f);
    return 0;
}

static int put_conditions(FILE *f, const Asked *a)
{
    int order = a->theory.order + 1;
    Failing u = {f, order, 0, 0};
    if (too_many(f, a)) return 0;
    TRY(conditions_each(a->t, order, take_failing, &u));
    if (u.fail) fputs("</tbody></table>\n", f);
    fprintf(f, "<p class=\"soft\">Of the %zu conditions of order %d, %zu fail%s%s.</p>\n", u.all,
            order, u.fail, u.fail == 1 ? "s" : "",
            u.fail > CONDITIONS_TOLD ? "; the first are shown" : "");
    return 0;
}

/* ---- a scheme ----------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *title; /* NULL: it stands below the scheme's name */
    int (*put)(FILE *f, const Asked *a);
} parts[] = {{"order", NULL, put_facts},
             {"terms", "Leading error", put_expansion},
             {"tableau", "Tableau", put_tableau},
             {"conditions", "Conditions that fail", put_conditions}};

/* Writes a part, or the line on why there is none. What is cut off within it is left out. */
static int put_part(FILE *f, const Asked *a, size_t i)
{
    Output o;
    TRY(output_open(&o));
    int code = parts[i].put(o.f, a);
    if (fflush(o.f) != 0 && code == 0) code = ERR_MEMORY;
    page_print(f, "<div class=\"part\" data-part=\"%s\">\n", parts[i].name);
    if (parts[i].title) page_print(f, "<h4>%s</h4>\n", parts[i].title);
    if (code == 0) fwrite(o.text, 1, o.bytes, f);
    if ((code == ERR_INPUT || code == ERR_ACCURACY) && parts[i].title) {
        page_print(f, "<p class=\"soft\">%s</p>\n", error_text());
        code = 0;
    }
    fputs("</div>\n", f);
    output_drop(&o);
    return code;
}

static int put_scheme(FILE *f, const Table *scheme)
{
    TABLE(t);
    Asked a = {.scheme = scheme};
    if (!(t = table_freeze(scheme))) return ERR_MEMORY;
    a.t = t;
    TRY(theory_search(t, CONDITIONS_MAX, &a.theory));
    page_print(f, "<section class=\"scheme\">\n<h3>%s</h3>\n", t->name);
    if (t->title && *t->title) page_print(f, "<p class=\"soft\">%s</p>\n", t->title);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) TRY(put_part(f, &a, i));
    fputs("</section>\n", f);
    return 0;
}

int told_schemes(const Selection *s, FILE *f)
{
    for (size_t i = 0; i < s->count; i++) TRY(put_scheme(f, s->scheme[i]));
    return 0;
}
