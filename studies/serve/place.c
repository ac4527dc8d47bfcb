/* place.c: tells of typed schemes what `schemes`, `expand`, `stability` and `order` tell, by the same functions. */
#include "studies/serve/serve.h"

#include <math.h>
#include <string.h>

#include "ode/ode.h"
#include "studies/measure/convergence.h"
#include "studies/measure/expansion.h"
#include "studies/measure/region.h"
#include "studies/plot/contour.h"
#include "studies/report/report.h"
#include "studies/tools/command.h"

enum { POINTS = 241, TERMS_MOST = 12 };

/* ---- reading --------------------------------------------------------------------------------------- */

typedef struct {
    Table **scheme; /* (count), as written */
    size_t count;
} Typed;

static void typed_free(Typed *t)
{
    for (size_t i = 0; i < t->count; i++) table_free(t->scheme[i]);
    memory_free(t->scheme);
}

static int check_size(const Typed *t)
{
    if (t->count > PLACE_SCHEMES)
        return error_set(ERR_INPUT, "a page tells of at most %d schemes at a time, not of %zu",
                         PLACE_SCHEMES, t->count);
    for (size_t i = 0; i < t->count; i++)
        if (t->scheme[i]->stages > PLACE_STAGES || t->scheme[i]->flows > PLACE_STAGES)
            return error_set(ERR_INPUT,
                             "%s has more than %d stages, too many for a page: trotter schemes "
                             "--scheme-file has no such limit",
                             t->scheme[i]->name, PLACE_STAGES);
    return 0;
}

/* Reads schemes, or a tableau, as --scheme-file does. */
static int typed_read(const Request *r, Typed *t)
{
    size_t bytes = strlen(r->text);
    *t = (Typed){0};
    int code = (butcher_is(r->text, bytes) ? butcher_parse : scheme_parse)("scheme", r->text, bytes,
                                                                           &t->scheme, &t->count);
    if (code == 0 && t->count == 0)
        code = error_set(ERR_INPUT, "scheme:1:1: expected 'scheme NAME'");
    if (code == 0) code = check_size(t);
    if (code != 0) typed_free(t);
    return code;
}

/* ---- order and terms ------------------------------------------------------------------------------- */

static void put_count(FILE *f, size_t n, const char *word, int *first)
{
    if (n == 0) return;
    fprintf(f, "%s%zu&nbsp;%s", *first ? "" : " + ", n, word);
    *first = 0;
}

static void put_work(FILE *f, const Table *t)
{
    int first = 1;
    fputs("<dt>evaluations</dt><dd>", f);
    for (int op = 0; op < t->colours; op++)
        put_count(f, table_evals(t, op), (char[]){table_letters[op], '\0'}, &first);
    if (t->flows) put_count(f, t->flows, "exact flows", &first);
    fputs("</dd>\n", f);
}

/* Writes an end of a stability interval. */
static void put_limit(FILE *f, double x, const char *unit)
{
    if (isnan(x))
        fputs("unknown", f);
    else if (isinf(x))
        fprintf(f, "%s∞%s", x < 0 ? "−" : "", unit);
    else
        fprintf(f, "%s%.4g%s", x < 0 ? "−" : "", fabs(x), unit);
}

static int put_stability(FILE *f, const Table *frozen)
{
    double real, imag;
    Stiff s = {.a_stable = TOLD_NOT, .l_stable = TOLD_NOT};
    TRY(stability_limits(frozen, &real, &imag));
    if (table_solves(frozen)) TRY(stability_stiff(frozen, &s));
    fputs("<dt>stable</dt><dd>on the real axis from ", f);
    put_limit(f, real, "");
    fputs(", on the imaginary axis to ", f);
    put_limit(f, imag, "&nbsp;i");
    fputs(s.l_stable == TOLD_YES ? "; L-stable" : s.a_stable == TOLD_YES ? "; A-stable" : "", f);
    fputs("</dd>\n", f);
    return 0;
}

static void put_order(FILE *f, const Theory *theory)
{
    fprintf(f, "<dt>order</dt><dd><b class=\"order\">%s%d</b>%s</dd>\n",
            theory->order == theory->searched ? "at least " : "", theory->order,
            theory->order == 0 ? ": it is not consistent" : "");
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
    Expansion e;
    int flows = t->flows > 0;
    TRY(expansion_find(t, flows ? BASIS_BRACKETS : BASIS_TREES, 0, !flows && table_one_field(t),
                       &e));
    put_terms(f, &e);
    expansion_free(&e);
    return 0;
}

static int put_scheme(FILE *f, const Table *t)
{
    Theory theory;
    TRY(theory_search(t, TREE_MAX_1, &theory));
    page_print(f, "<section class=\"scheme\">\n<h3>%s</h3>\n", t->name);
    if (t->title) page_print(f, "<p class=\"soft\">%s</p>\n", t->title);
    fputs("<dl class=\"facts\">\n", f);
    put_order(f, &theory);
    put_work(f, t);
    Table *frozen = table_freeze(t);
    int code = frozen ? put_stability(f, frozen) : ERR_MEMORY;
    table_free(frozen);
    TRY(code);
    fputs("</dl>\n", f);
    TRY(put_expansion(f, t));
    fputs("</section>\n", f);
    return 0;
}

int place_check(const Request *r, FILE *f)
{
    Typed t;
    TRY(typed_read(r, &t));
    int code = 0;
    for (size_t i = 0; code == 0 && i < t.count; i++) code = put_scheme(f, t.scheme[i]);
    typed_free(&t);
    return code;
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
        TRY(stability_limits(frozen[i], &real, &imag));
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

static int write_region(Table *const *frozen, size_t count, FILE *f)
{
    Region u = {.table = frozen, .count = count, .plane = PLANE_LAMBDA, .points = POINTS};
    Sheet *s = NULL;
    TRY(choose_box(frozen, count, &u));
    TRY(region_fill(&u));
    int code = sheet_new(point_columns, &s);
    for (size_t i = 0; code == 0 && i < count; i++) {
        Boundary b = {s, frozen[i]->name, &u};
        double *v = u.modulus + i * u.points * u.points;
        close_edge(v, u.points);
        code = contour_find(v, u.points, u.points, u.origin, u.step, 1 + 1e-9, add_point, &b);
    }
    if (code == 0) code = sheet_write(s, SHEET_CSV, f);
    sheet_free(s);
    memory_free(u.modulus);
    return code;
}

int place_region(const Request *r, FILE *f)
{
    Typed t;
    Table *frozen[PLACE_SCHEMES] = {0};
    TRY(typed_read(r, &t));
    int code = 0;
    for (size_t i = 0; code == 0 && i < t.count; i++)
        if (!(frozen[i] = table_freeze(t.scheme[i]))) code = ERR_MEMORY;
    if (code == 0) code = write_region(frozen, t.count, f);
    for (size_t i = 0; i < t.count; i++) table_free(frozen[i]);
    typed_free(&t);
    return code;
}

/* ---- errors by step --------------------------------------------------------------------------------- */

int place_order(const Request *r, FILE *f)
{
    Typed t;
    TRY(typed_read(r, &t));
    ConvergenceStudy u = {0};
    SystemChoice system = {.seed = 1};
    OrderOptions how = {.halvings = 7};
    int code =
        convergence_run(&system, &how, &(Selection){.scheme = t.scheme, .count = t.count}, &u);
    if (code == 0) code = sheet_write(u.points, SHEET_CSV, f);
    if (code == 0) fputc('\n', f);
    if (code == 0) code = sheet_write(u.summary, SHEET_CSV, f);
    convergence_free(&u);
    typed_free(&t);
    return code;
}

/* ---- texts to begin with ---------------------------------------------------------------------------- */

typedef struct {
    const char *name, *text;
} NamedText;

static const Column text_columns[] = {COLUMN(NamedText, name), COLUMN(NamedText, text), {0}};

static int add_text(const Table *t, Sheet *s)
{
    Output o;
    TRY(output_open(&o));
    int code = table_print(t, o.f);
    if (code == 0 && fflush(o.f) == 0) sheet_row(s, &(NamedText){t->name, o.text});
    output_drop(&o);
    return code;
}

int place_names(const Request *r, FILE *f)
{
    Zoo z;
    Sheet *s = NULL;
    (void)r;
    TRY(zoo_open(&z));
    int code = sheet_new(text_columns, &s);
    for (size_t i = 0; code == 0 && i < z.built_in; i++) code = add_text(z.scheme[i], s);
    if (code == 0) code = sheet_write(s, SHEET_CSV, f);
    sheet_free(s);
    zoo_close(&z);
    return code;
}
