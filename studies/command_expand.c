/* command_expand.c: the terms of a scheme's local error, numerical - exact, by elementary
 * differentials. */
#include <gmp.h>
#include <math.h>
#include <string.h>

#include "studies/command.h"
#include "studies/output.h"
#include "studies/select.h"

static const Option scheme_options[] = {
    {"scheme", OPTION_TEXT, "transformer", "A,B,...", "names separated by commas, or all", 0, 0},
    SELECT_FILE,
    {"degree", OPTION_SIZE, "3", "N", "terms of h^1 to h^N", 1, TREE_MAX},
    {0},
};

static const Option output_options[] = {
    {"csv", OPTION_FLAG, NULL, NULL, "the table as CSV", 0, 0},
    {"out", OPTION_TEXT, NULL, "DIR", "write DIR/expand.csv and DIR/expand.md too", 0, 0},
    {0},
};

static const OptionGroup scheme_group = {"Schemes", 1, scheme_options};
static const OptionGroup output_group = {"Output", 0, output_options};
static const OptionGroup *const groups[] = {&scheme_group, &output_group, NULL};

static const char *const columns[] = {"scheme", "degree", "term", "coefficient"};

enum { TERM_BYTES = 256 };

static int add_term(Report *r, const Table *t, size_t degree, const char *term, const mpq_t c)
{
    report_text(r, t->name);
    report_size(r, degree);
    report_text(r, term);
    if (!t->exact) {
        report_real(r, table_double(c), 17);
        return 0;
    }
    char *text = mpq_get_str(NULL, 10, c);
    if (!text) return ERR_MEMORY;
    report_text(r, text);
    void (*release)(void *, size_t);
    mp_get_memory_functions(NULL, NULL, &release);
    release(text, strlen(text) + 1);
    return 0;
}

/* An inexact table leaves rounding where an exact one leaves nothing. */
static int is_zero(const Table *t, const mpq_t c, double bound)
{
    return mpq_sgn(c) == 0 || (!t->exact && fabs(table_double(c)) <= bound);
}

static int add_terms(Report *r, const Forest *f, const Table *t, mpq_t *defect, double bound)
{
    char term[TERM_BYTES];
    for (size_t i = 0; i < f->count; i++) {
        if (is_zero(t, defect[i], bound)) continue;
        TRY(tree_name(f, i, term, sizeof term));
        TRY(add_term(r, t, (size_t)f->tree[i].order, term, defect[i]));
    }
    return 0;
}

/* What the update makes of a constant state, less 1: told even where nothing expands. */
static void state_defect(const Table *t, mpq_t out)
{
    mpq_t c;
    mpq_init(c);
    mpq_set_si(out, -1, 1);
    for (size_t i = 0; i < t->update.terms; i++) {
        if (t->update.term[i].eval != TABLE_STATE) continue;
        table_value(t, &t->update.term[i], c);
        mpq_add(out, out, c);
    }
    mpq_clear(c);
}

static int expand_frozen(Report *r, const Forest *f, const Table *t, mpq_t *defect, mpq_t empty)
{
    Theory theory;
    TRY(theory_find(f, t, &theory));
    int code = theory_defect(f, t, defect, empty);
    if (code != 0 && code != ERR_ACCURACY) return code;
    if (code == ERR_ACCURACY) {
        command_warn("%s", error_text());
        state_defect(t, empty);
    } else if (!is_zero(t, empty, theory.bound)) {
        command_warn("%s: the state weights of the update do not sum to 1: no order", t->name);
    }
    if (!is_zero(t, empty, theory.bound)) TRY(add_term(r, t, 0, "y", empty));
    return code == 0 ? add_terms(r, f, t, defect, theory.bound) : 0;
}

static int expand(Report *r, const Forest *f, const Table *scheme)
{
    mpq_t empty, *defect = memory_new(f->count, sizeof *defect);
    Table *t = table_freeze(scheme);
    int code = ERR_MEMORY;
    mpq_init(empty);
    if (t && defect) {
        for (size_t i = 0; i < f->count; i++) mpq_init(defect[i]);
        code = expand_frozen(r, f, t, defect, empty);
        for (size_t i = 0; i < f->count; i++) mpq_clear(defect[i]);
    }
    mpq_clear(empty);
    memory_free(defect);
    table_free(t);
    return code;
}

static int fill(Report *r, const Selection *s, size_t degree)
{
    Forest *forest = NULL;
    TRY(forest_new((int)degree, &forest));
    int code = 0;
    for (size_t i = 0; code == 0 && i < s->count; i++) code = expand(r, forest, s->scheme[i]);
    forest_free(forest);
    return code;
}

static int save(const Report *r, const char *dir)
{
    TRY(output_directory(dir));
    TRY(output_report(r, REPORT_CSV, dir, "expand.csv"));
    return output_report(r, REPORT_MARKDOWN, dir, "expand.md");
}

static int show(const Options *o, const Selection *s)
{
    Report *r = NULL;
    TRY(report_new(sizeof columns / sizeof *columns, columns, &r));
    int csv = options_flag(o, "csv");
    int code = fill(r, s, options_size(o, "degree"));
    if (code == 0 && !csv)
        printf("terms of numerical - exact after one step: coefficient h^degree term(y)\n\n");
    if (code == 0) code = report_write(r, csv ? REPORT_CSV : REPORT_PLAIN, stdout);
    if (code == 0 && options_text(o, "out")) code = save(r, options_text(o, "out"));
    report_free(r);
    return code;
}

static int run(Options *o)
{
    Selection s;
    TRY(select_open(o, "exact", &s));
    int code = show(o, &s);
    select_close(&s);
    return code;
}

const Command command_expand = {
    .name = "expand",
    .purpose = "print the terms of a scheme's local error",
    .about = "Coefficients of the elementary differentials in numerical - exact, one step of size "
             "h, from\n"
             "y' = F(y) + G(y): exact rationals where the scheme's numbers are rational. A term of "
             "degree 0\n"
             "means that the state weights do not sum to 1. Exact sub-flows unless a suffix says "
             "otherwise.\n",
    .groups = groups,
    .run = run,
};
