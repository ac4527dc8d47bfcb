/* expansion.c: collects error terms and writes them as rows and as LaTeX. */
#include "studies/theory/expansion.h"

#include <string.h>

#include "kernels/base/error.h"
#include "ode/scheme/rationals.h"
#include "studies/base/latex.h"

/* ---- terms ----------------------------------------------------------------------------------------- */

static int add_term(Expansion *e, int degree, const char *name, const mpq_t c)
{
    TRY(memory_more(&e->term, e->count, sizeof *e->term));
    ExpansionTerm *x = &e->term[e->count++];
    x->degree = degree;
    snprintf(x->name, sizeof x->name, "%s", name);
    mpq_init(x->c);
    mpq_set(x->c, c);
    return 0;
}

static int colours_of(const Expansion *e)
{
    return e->one ? 1 : table_tree_colours(e->table);
}

static int add_trees(Expansion *e, const Forest *f, mpq_t *defect)
{
    char name[EXPANSION_NAME];
    for (size_t i = 0; i < f->count; i++) {
        if (theory_is_zero(e->table, defect[i])) continue;
        TRY(tree_name(f, i, name, sizeof name));
        for (char *c = name; e->one && *c; c++)
            if (*c == 'F') *c = 'H';
        TRY(add_term(e, f->tree[i].order, name, defect[i]));
    }
    return 0;
}

static int find_defects(Expansion *e, const Forest *f, mpq_t *defect, mpq_t empty)
{
    int code = theory_defect(f, e->table, defect, empty);
    if (code != 0 && code != ERR_ACCURACY) return code;
    theory_state(e->table, empty);
    if (code == ERR_ACCURACY)
        snprintf(e->warning, sizeof e->warning, "%s", error_text());
    else if (!theory_is_zero(e->table, empty))
        snprintf(e->warning, sizeof e->warning,
                 "%s: the state weights of the update do not sum to 1: no order", e->table->name);
    if (!theory_is_zero(e->table, empty)) TRY(add_term(e, 0, "y", empty));
    return code == 0 ? add_trees(e, f, defect) : 0;
}

int expansion_words(const Table *t, const Forest *f, const Series *s, int one, char *out,
                    size_t bytes)
{
    char name[EXPANSION_NAME], number[1024];
    size_t n = 0;
    RATIONAL(c);
    for (size_t i = 0; i <= f->count; i++) { /* y first */
        mpq_set(c, i ? s->a[i - 1] : s->empty);
        if (i) rational_divide(c, f->tree[i - 1].sigma);
        if (theory_is_zero(t, c)) continue;
        snprintf(name, sizeof name, "y");
        if (i) TRY(tree_name(f, i - 1, name, sizeof name));
        for (char *x = name; one && *x; x++)
            if (*x == 'F') *x = 'H';
        expansion_number(t, c, number, sizeof number);
        const char *size = number + (*number == '-');
        n += (size_t)snprintf(out + n, bytes - n, "%s%s%s%s",
                              n                ? *number == '-' ? " - " : " + "
                              : *number == '-' ? "-"
                                               : "",
                              strcmp(size, "1") ? size : "", strcmp(size, "1") ? " " : "", name);
        if (n >= bytes) n = bytes - 1;
    }
    snprintf(out + n, bytes - n, n ? " + ..." : "0 + ...");
    return 0;
}

static int find_modified(Expansion *e, const Forest *f, mpq_t *c)
{
    int code = theory_modified(f, e->table, c);
    if (code == ERR_ACCURACY) snprintf(e->warning, sizeof e->warning, "%s", error_text());
    if (code == 0) code = add_trees(e, f, c);
    return code == ERR_ACCURACY ? 0 : code;
}

static int find_trees(Expansion *e)
{
    SCOPED(forest_drop) Forest *f = NULL;
    /* The logarithm of a series needs cuts of one edge alone; the step of a flow by a method is composed with all. */
    if (e->basis == BASIS_MODIFIED && !table_methods(e->table))
        TRY(forest_edges(e->degree, colours_of(e), table_written(e->table), &f));
    else
        TRY(series_forest(e->table, e->degree, colours_of(e), table_written(e->table), &f));
    f->w = table_has(e->table, HAS_W);
    SCOPED(rationals_drop) mpq_t *defect = rationals_new(f->count);
    RATIONAL(empty);
    if (!defect) return ERR_MEMORY;
    return e->basis == BASIS_MODIFIED ? find_modified(e, f, defect)
                                      : find_defects(e, f, defect, empty);
}

static int find_brackets(Expansion *e)
{
    SCOPED(bracket_free) Brackets b = {0};
    TRY(bracket_error(e->table, e->degree, &b));
    for (size_t i = 0; i < b.count; i++)
        TRY(add_term(e, b.bracket[i].degree, b.bracket[i].name, b.bracket[i].c));
    return 0;
}

/* Finds the degree where none is given; fractions that are roundings have terms as decimals have. */
static int read_order(Expansion *e)
{
    Theory theory;
    int timed = table_written(e->table), most = forest_timed_most(colours_of(e), timed);
    if (e->basis == BASIS_MODIFIED) most = forest_edges_most(colours_of(e), timed);
    if (most > TREE_MAX && (e->table->past_k || e->table->carries)) most = TREE_MAX;
    if (e->degree && !theory_may_round(e->table)) return 0;
    TRY(theory_search(e->table, most, &theory));
    if (theory.order_exact < theory.order) e->table->exact = 0;
    if (e->degree == 0) e->degree = theory.order < most ? theory.order + 1 : most;
    return 0;
}

int expansion_find(const Table *scheme, int basis, int degree, int one, Expansion *out)
{
    *out = (Expansion){.basis = basis, .degree = degree, .one = one};
    if (basis == BASIS_BRACKETS && table_complex(scheme))
        return error_set(ERR_INPUT,
                         "%s: its step is the real part of complex flows, which has no brackets",
                         scheme->name);
    if (basis == BASIS_BRACKETS && !table_exact_flows(scheme))
        return error_set(ERR_INPUT, "%s: brackets belong to splittings by exact flows",
                         scheme->name);
    if (one && (basis == BASIS_BRACKETS || !table_one_field(scheme)))
        return error_set(ERR_INPUT,
                         "%s: terms of one field are those of a scheme whose stages are all H",
                         scheme->name);
    if (!(out->table = table_freeze(scheme))) return ERR_MEMORY;
    int code = read_order(out);
    if (code == 0) code = basis == BASIS_BRACKETS ? find_brackets(out) : find_trees(out);
    if (!out->warning[0] && table_has(scheme, HAS_NORM))
        snprintf(out->warning, sizeof out->warning, "%s: " TABLE_NORMS_LEFT, scheme->name);
    if (code != 0) expansion_free(out);
    return code;
}

void expansion_free(Expansion *e)
{
    for (size_t i = 0; i < e->count; i++) mpq_clear(e->term[i].c);
    memory_free(e->term);
    table_free(e->table);
    *e = (Expansion){0};
}

/* ---- rows ------------------------------------------------------------------------------------------- */

typedef struct {
    const char *scheme, *term, *coefficient;
    int degree;
    double value;
} TermRow;

const Column expansion_columns[] = {
    COLUMN(TermRow, scheme),
    COLUMN(TermRow, degree),
    COLUMN(TermRow, term, .form = SHEET_FORMULA,
           .words =
               "elementary differential, whose root has a prime for each child, or a commutator"),
    COLUMN(TermRow, coefficient, .form = SHEET_FORMULA,
           .words = "coefficient as a rational, or as a decimal where the scheme is inexact"),
    COLUMN(TermRow, value, .digits = 6, .words = "the coefficient as a number"),
    {0}};

void expansion_report(const Expansion *e, Sheet *r)
{
    char number[1024];
    for (size_t i = 0; i < e->count; i++) {
        expansion_number(e->table, e->term[i].c, number, sizeof number);
        sheet_row(r, &(TermRow){e->table->name, e->term[i].name, number, e->term[i].degree,
                                table_double(e->term[i].c)});
    }
}

void expansion_number(const Table *t, const mpq_t c, char *out, size_t bytes)
{
    if (t->exact)
        gmp_snprintf(out, bytes, "%Qd", c);
    else
        snprintf(out, bytes, "%.17g", table_double(c));
}

/* ---- LaTeX ------------------------------------------------------------------------------------------ */

enum { LINES = 40, LINE = 3000, SIGN = 130 }; /* widths are in hundredths of an em */

/* Writes |c| before a term: \tfrac{1}{12}, 3, nothing for 1, 1.25\cdot10^{-3}. */
static void latex_coefficient(const Table *t, const char *c, FILE *f)
{
    const char *size = c + (*c == '-');
    if (t->exact && strcmp(size, "1") == 0) return;
    latex_formula(f, size);
    if (!strchr(size, '/')) fputs("\\,", f);
}

/* Ends a line. After LINES lines it ends the display too, as TeX has room for no more in one. */
static void latex_line(int *lines, FILE *f)
{
    if (++*lines % LINES)
        fputs(" \\\\\n", f);
    else
        fputs("\n\\end{align*}\n\\begin{align*}\n", f);
    fputs("  &\\qquad{}", f);
}

static void latex_degree(const Expansion *e, size_t *i, int *lines, FILE *f)
{
    char number[1024];
    size_t width = 2 * SIGN; /* of = h^5( */
    int degree = e->term[*i].degree, power = degree - (e->basis != BASIS_TREES);
    if (power == 0)
        fprintf(f, "\\bigl(");
    else if (power == 1)
        fprintf(f, "h\\bigl(");
    else
        fprintf(f, "h^{%d}\\bigl(", power);
    for (int n = 0; *i < e->count && e->term[*i].degree == degree; n++, ++*i) {
        const ExpansionTerm *x = &e->term[*i];
        expansion_number(e->table, x->c, number, sizeof number);
        size_t more = SIGN + latex_formula_width(number) + latex_formula_width(x->name);
        if (n > 0 && width + more > LINE) latex_line(lines, f), width = 0;
        width += more;
        if (mpq_sgn(x->c) < 0)
            fprintf(f, n ? " - " : "-");
        else
            fprintf(f, n ? " + " : "");
        latex_coefficient(e->table, number, f);
        latex_formula(f, x->name);
    }
    fprintf(f, "\\bigr)");
}

/* Writes the field that log(step)/h is compared with: F+G or 2F+3G, for a decoder F+C+G. */
static void latex_field(const Table *t, FILE *f)
{
    static const int order[] = {OP_F, OP_C, OP_G};
    int terms = 0;
    for (int i = 0; i < COLOURS; i++) {
        int op = order[i];
        if (op >= t->colours || mpq_sgn(t->weight[op]) == 0) continue;
        fprintf(f, "%s", terms++ ? "+" : "");
        if (mpq_cmp_ui(t->weight[op], 1, 1) != 0) gmp_fprintf(f, "%Qd", t->weight[op]);
        fputc(table_letters[op], f);
    }
}

/* Left sides, and their description for a comment. */
static const struct {
    const char *words, *left;
} sides[] = {
    [BASIS_TREES] = {"numerical - exact after one step", "\\Phi_h(y) - \\varphi_h(y)"},
    [BASIS_BRACKETS] = {"log(step)/h less the field, [F,G] = G'F - F'G",
                        "\\tfrac{1}{h}\\log\\Phi_h - ("},
    [BASIS_MODIFIED] = {"modified equation: its exact flow is the step", "\\widetilde{y}'"},
};

int expansion_latex(const Expansion *e, FILE *f)
{
    int last = e->degree + (e->basis == BASIS_TREES), lines = 0;
    fprintf(f, "%% %s: %s\n{\\allowdisplaybreaks\n\\begin{align*}\n  &%s", e->table->name,
            sides[e->basis].words, sides[e->basis].left);
    if (e->basis == BASIS_BRACKETS) {
        latex_field(e->table, f);
        fputc(')', f);
    }
    fprintf(f, " \\\\\n  &\\quad= ");
    for (size_t i = 0; i < e->count;) {
        latex_degree(e, &i, &lines, f);
        fprintf(f, " \\\\\n  &\\quad{} + ");
    }
    fprintf(f, "\\mathcal{O}(h^{%d})\n\\end{align*}}\n", last);
    return ferror(f) ? error_set(ERR_SYSTEM, "writing LaTeX failed") : 0;
}
