/* place.c: tells of typed schemes what `schemes`, `expand`, `stability` and `order` tell, by the same functions. */
#include "studies/page/serve/serve.h"

#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/solve/convergence.h"
#include "studies/theory/expansion.h"
#include "studies/theory/region.h"
#include "studies/base/plot/contour.h"
#include "studies/page/report/report.h"

enum { POINTS = 241, TERMS_MOST = 12 };

/* ---- reading --------------------------------------------------------------------------------------- */

static int check_size(const Selection *s)
{
    if (s->count == 0) return error_set(ERR_INPUT, "scheme:1:1: expected 'scheme NAME'");
    if (s->count > PLACE_SCHEMES)
        return error_set(ERR_INPUT, "a page tells of at most %d schemes at a time, not of %zu",
                         PLACE_SCHEMES, s->count);
    for (size_t i = 0; i < s->count; i++)
        if (s->scheme[i]->stages > PLACE_STAGES || s->scheme[i]->flows > PLACE_STAGES)
            return error_set(ERR_INPUT,
                             "%s has more than %d stages, too many for a page: trotter schemes "
                             "--scheme-file has no such limit",
                             s->scheme[i]->name, PLACE_STAGES);
    return 0;
}

/* Reads schemes, or a tableau, as --scheme-file does, and freezes them. Caller: select_close, after errors too. */
static int read_text(const Request *r, Selection *s)
{
    size_t bytes = strlen(r->text);
    *s = (Selection){0};
    TRY((butcher_is(r->text, bytes) ? butcher_parse : scheme_parse)("scheme", r->text, bytes,
                                                                    &s->scheme, &s->count));
    TRY(check_size(s));
    for (size_t i = 0; i < s->count; i++) {
        Table *frozen = table_freeze(s->scheme[i]);
        if (!frozen) return ERR_MEMORY;
        table_free(s->scheme[i]);
        s->scheme[i] = frozen;
    }
    return 0;
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

static int put_facts(FILE *f, const Table *t)
{
    Theory theory;
    TRY(theory_search(t, CONDITIONS_MAX, &theory));
    page_print(f, "<section class=\"scheme\">\n<h3>%s</h3>\n", t->name);
    if (t->title) page_print(f, "<p class=\"soft\">%s</p>\n", t->title);
    fprintf(f,
            "<dl class=\"facts\">\n<dt>order</dt><dd><b class=\"order\">%s%d</b>%s</dd>\n"
            "<dt>evaluations</dt><dd>",
            theory.order == theory.searched ? "at least " : "", theory.order,
            theory.order == 0 ? ": it is not consistent" : "");
    for (int op = 0, some = 0; op < t->colours; op++)
        if (table_evals(t, op))
            fprintf(f, "%s%zu&nbsp;%c", some++ ? " + " : "", table_evals(t, op), table_letters[op]);
    fputs("</dd>\n<dt>stable</dt><dd>", f);
    TRY(put_stability(f, t));
    fputs("</dd>\n</dl>\n", f);
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

static int put_expansion(FILE *f, const Table *t)
{
    SCOPED(expansion_free) Expansion e = {0};
    int flows = table_exact_flows(t);
    TRY(expansion_find(t, flows ? BASIS_BRACKETS : BASIS_TREES, 0, !flows && table_one_field(t),
                       &e));
    put_terms(f, &e);
    return 0;
}

int place_check(const Request *r, FILE *f)
{
    SCOPED(select_close) Selection s = {0};
    TRY(read_text(r, &s));
    for (size_t i = 0; i < s.count; i++) {
        TRY(put_facts(f, s.scheme[i]));
        TRY(put_expansion(f, s.scheme[i]));
        fputs("</section>\n", f);
    }
    return 0;
}

/* ---- the region of stability ------------------------------------------------------------------------ */

typedef struct {
    const char *scheme;
    size_t line;
    double re, im;
    int edge; /* on the edge of what was looked at, where the region may go on */
} PointRow;

static const Column point_columns[] = {COLUMN(PointRow, scheme),
                                       COLUMN(PointRow, line),
                                       COLUMN(PointRow, re, .digits = 6),
                                       COLUMN(PointRow, im, .digits = 6),
                                       COLUMN(PointRow, edge, .form = SHEET_FLAG),
                                       {0}};

typedef struct {
    Sheet *to;
    const char *scheme;
    const Region *region;
} Boundary;

static void add_point(void *context, size_t line, double x, double y)
{
    const Boundary *b = context;
    const Region *u = b->region;
    double at[] = {x, y};
    int edge = 0;
    for (int k = 0; k < 2; k++) {
        double cells = (at[k] - u->origin[k]) / u->step[k];
        edge |= cells <= 1 || cells >= (double)u->points - 2;
    }
    sheet_row(b->to, &(PointRow){b->scheme, line, x, y, edge});
}

/* Makes the edge unstable, so that every line around the region is closed. */
static void close_edge(double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = v[(n - 1) * n + i] = v[i * n] = v[i * n + n - 1] = INFINITY;
}

/* Looks around the farthest finite limit. */
static int choose_box(Table *const *frozen, size_t count, Region *u)
{
    double far = 0, real, imag;
    for (size_t i = 0; i < count; i++) {
        TRY(stability_limits(frozen[i], &real, &imag, NULL));
        if (isfinite(real)) far = fmax(far, -real);
        if (isfinite(imag)) far = fmax(far, imag);
    }
    if (!(far > 0)) far = 4;
    double low[] = {-1.3 * far, -1.3 * far}, size[] = {2 * far, 2.6 * far};
    for (int k = 0; k < 2; k++) {
        u->origin[k] = low[k];
        u->step[k] = size[k] / (double)(u->points - 1);
    }
    return 0;
}

int place_region(const Request *r, FILE *f)
{
    SCOPED(select_close) Selection t = {0};
    SCOPED(sheet_drop) Sheet *s = NULL;
    SCOPED(memory_drop) double *modulus = NULL;
    TRY(read_text(r, &t));
    Region u = {.table = t.scheme, .count = t.count, .plane = PLANE_LAMBDA, .points = POINTS};
    TRY(choose_box(t.scheme, t.count, &u));
    TRY(region_fill(&u));
    modulus = u.modulus;
    TRY(sheet_new(point_columns, &s));
    for (size_t i = 0; i < t.count; i++) {
        Boundary b = {s, t.scheme[i]->name, &u};
        double *v = modulus + i * u.points * u.points;
        close_edge(v, u.points);
        TRY(contour_find(v, u.points, u.points, u.origin, u.step, 1 + 1e-9, add_point, &b));
    }
    return sheet_write(s, SHEET_CSV, f);
}

/* ---- errors by step --------------------------------------------------------------------------------- */

int place_order(const Request *r, FILE *f)
{
    SCOPED(select_close) Selection s = {0};
    SCOPED(convergence_free) ConvergenceStudy u = {0};
    TRY(read_text(r, &s));
    TRY(convergence_run(&(SystemChoice){.seed = 1}, &(OrderOptions){.halvings = 7}, &s, &u));
    TRY(sheet_write(u.points, SHEET_CSV, f));
    fputc('\n', f);
    return sheet_write(u.summary, SHEET_CSV, f);
}
