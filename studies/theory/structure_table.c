/* structure.c: symmetry, symplecticity, effective order and error constants of schemes, in a table. */
#include "studies/theory/structure_table.h"

#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/ode.h"

static const char *const columns[] = {
    "scheme",
    "symmetric",
    "symmetric_order",
    "symmetric_separable",
    "symplectic",
    "symplectic_separable",
    "effective_order",
    "error_constant",
    "normalised_constant",
    "zero_stable",
    "weakly_stable",
};

const char structure_words[] =
    "symmetric: S(-h) after S(h) is the identity (else up to h^symmetric_order), and the same "
    "where F'F\n"
    "= G'G = 0 (separable: F kicks momenta, G drifts positions); symplectic: for Hamiltonian F and "
    "G, and\n"
    "for separable ones; effective_order: of the best conjugate of a splitting by exact flows;\n"
    "error_constant: numerical - exact = C h^(p+1) y^(p+1), normalised: C / sum of slope weights; "
    "weakly\n"
    "stable: zero-stable with several roots on the unit circle. Empty: not told.\n";

static void report_told(Report *r, int told)
{
    if (told == TOLD_NOT)
        report_none(r);
    else
        report_flag(r, told == TOLD_YES);
}

/* Counts that are -1 where there is none. */
static void report_count(Report *r, int n)
{
    if (n < 0)
        report_none(r);
    else
        report_size(r, (uint64_t)n);
}

static void report_rational(Report *r, const Table *t, const mpq_t q)
{
    char *text = t->exact ? mpq_get_str(NULL, 10, q) : NULL;
    if (!text) {
        report_real(r, table_double(q), 17);
        return;
    }
    report_text(r, text);
    void (*release)(void *, size_t);
    mp_get_memory_functions(NULL, NULL, &release);
    release(text, strlen(text) + 1);
}

static void fill_row(Report *r, const Table *t, const Structure *s, int zero_stable, int on_circle)
{
    report_text(r, t->name);
    report_told(r, s->symmetric);
    report_count(r, s->symmetric_order);
    report_told(r, s->symmetric_separable);
    report_told(r, s->symplectic);
    report_told(r, s->symplectic_separable);
    report_count(r, s->effective_order);
    for (int i = 0; i < 2; i++) {
        if (s->has_constant)
            report_rational(r, t, s->error_constant[i]);
        else
            report_none(r);
    }
    report_flag(r, zero_stable);
    report_flag(r, zero_stable && on_circle > 1);
}

static int add_row(Report *r, const Table *scheme, int degree)
{
    Structure s;
    int zero_stable, on_circle;
    select_warn_times(scheme);
    Table *t = table_freeze(scheme);
    if (!t) return ERR_MEMORY;
    int code = stability_roots(t, &zero_stable, &on_circle);
    if (code == 0) code = structure_find(t, degree, &s);
    if (code == 0) {
        fill_row(r, t, &s, zero_stable, on_circle);
        structure_free(&s);
    }
    table_free(t);
    return code;
}

int structure_report(const Selection *s, int degree, Report **out)
{
    Report *r = NULL;
    TRY(report_new(sizeof columns / sizeof *columns, columns, &r));
    int code = 0;
    for (size_t i = 0; code == 0 && i < s->count; i++) code = add_row(r, s->scheme[i], degree);
    if (code != 0)
        report_free(r);
    else
        *out = r;
    return code;
}
