/* function_table.c: tabulates stability functions with their zeros and poles. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "studies/theory/theory_study.h"

typedef struct {
    const char *scheme, *function, *zeros, *poles, *of;
} FunctionRow;

const Column function_columns[] = {
    COLUMN(FunctionRow, scheme),
    COLUMN(FunctionRow, function, .form = SHEET_FORMULA,
           .words = "R(z), y(n+1) = R(z)·y(n) on y' = λ·y with z = h·λ"),
    COLUMN(FunctionRow, zeros, .words = "zeros of R; (3): of multiplicity 3"),
    COLUMN(FunctionRow, poles, .words = "poles of R"),
    COLUMN(FunctionRow, of, .sparse = 1,
           .words = "operator that z belongs to, the implicit one of an IMEX scheme"),
    {0}};

/* Writes a coefficient: of a table in decimals a short fraction that it was settled to, or 15 digits. */
static void coefficient(const Table *t, const mpq_t c, char *out, size_t bytes)
{
    if (t->exact || mpz_cmp_ui(mpq_denref(c), 10000) < 0)
        gmp_snprintf(out, bytes, "%Qd", c);
    else
        snprintf(out, bytes, "%.15g", table_double(c));
}

/* Writes a polynomial, "1 - 3/5 z + 3/20 z^2". */
static void put_polynomial(const Table *t, int degree, mpq_t *c, FILE *f)
{
    int terms = 0;
    if (degree < 0) fputc('0', f);
    for (int i = 0; i <= degree; i++) {
        char number[2048];
        if (mpq_sgn(c[i]) == 0) continue;
        coefficient(t, c[i], number, sizeof number);
        const char *size = number + (*number == '-');
        fputs(*number == '-' ? (terms ? " - " : "-") : terms ? " + " : "", f);
        if (i == 0 || strcmp(size, "1") != 0) fprintf(f, "%s%s", size, i ? " " : "");
        if (i > 0) fputc('z', f);
        if (i > 1) fprintf(f, "^%d", i);
        terms++;
    }
}

static int terms_of(int degree, mpq_t *c)
{
    int n = 0;
    for (int i = 0; i <= degree; i++) n += mpq_sgn(c[i]) != 0;
    return n;
}

/* Writes "P", or "(P)/(Q)", a sum alone in brackets. */
static void put_function(const Table *t, const StabilityFunction *r, FILE *f)
{
    int brackets = r->q > 0 && terms_of(r->p, r->P) > 1;
    if (brackets) fputc('(', f);
    put_polynomial(t, r->p, r->P, f);
    if (brackets) fputc(')', f);
    if (r->q < 1) return;
    fputs("/(", f);
    put_polynomial(t, r->q, r->Q, f);
    fputc(')', f);
}

/* Returns how often root i of n stands there from i on. */
static int times(const double *root, int n, int i)
{
    int k = 1;
    while (i + k < n && root[2 * (i + k)] == root[2 * i] &&
           root[2 * (i + k) + 1] == root[2 * i + 1])
        k++;
    return k;
}

/* Writes "-4 ± 2i, 3 (2)". A pair is told once, at its upper root. What is rounding beside the root is left out. */
static void put_roots(int n, const double *root, FILE *f)
{
    for (int i = 0, k, told = 0; i < n; i += k) {
        double re = root[2 * i], im = root[2 * i + 1], tiny = 1e-10 * hypot(re, im);
        k = times(root, n, i);
        if (im < -tiny) continue;
        if (told++) fputs(", ", f);
        if (fabs(re) > tiny || fabs(im) <= tiny) fprintf(f, "%.8g", fabs(re) > tiny ? re : 0);
        if (im > tiny) fprintf(f, "%s± %.8gi", fabs(re) > tiny ? " " : "", im);
        if (k > 1) fprintf(f, " (%d)", k);
    }
}

static int add_row(const Table *t, Sheet *out)
{
    SCOPED(stability_function_free) StabilityFunction r = {.p = -1};
    char *text[3] = {NULL};
    size_t bytes;
    int code = stability_function(t, &r);
    for (int i = 0; code == 0 && r.p >= 0 && i < 3; i++) {
        FILE *f = open_memstream(&text[i], &bytes);
        if (!f) return ERR_MEMORY;
        if (i == 0) put_function(t, &r, f);
        if (i == 1) put_roots(r.p, r.zero, f);
        if (i == 2) put_roots(r.q, r.pole, f);
        if (fclose(f) != 0) code = ERR_MEMORY;
    }
    const char of[2] = {r.colour < 0 ? '\0' : table_letters[r.colour]};
    if (code == 0)
        sheet_row(out, &(FunctionRow){t->name, text[0], text[1], text[2], *of ? of : NULL});
    for (int i = 0; i < 3; i++) free(text[i]);
    return code;
}

int function_report(Table *const *table, size_t n, Sheet **out)
{
    SCOPED(sheet_drop) Sheet *r = NULL;
    TRY(sheet_new(function_columns, &r));
    for (size_t i = 0; i < n; i++) TRY(add_row(table[i], r));
    *out = r;
    r = NULL;
    return 0;
}
