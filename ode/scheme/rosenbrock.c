/* rosenbrock.c: a Rosenbrock method or W-method of the language as its paper writes it,
 *
 *     k_i = h H(y + sum over j < i of alpha_ij k_j) + h J sum over j <= i of gamma_ij k_j,    y' = y + sum b_i k_i.
 *
 * The language has the transformed stages U_i = solve(g_i H)(p_i K + sum e_ij U_j), K = h H(y + sum a_ij U_j), where
 * several U may read one K. With U = M k, as K = k_i - h J sum gamma_ij k_j,
 *
 *     M = P + E M,    Gamma = P^-1 diag(g) M,    alpha = A M,    b = m M,
 *
 * m the weights of U in y' (Hairer, Wanner 1996, IV.7, equations 7.4 and 7.25). */
#include <math.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/print.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/scheme.h"

static const double rounding = 1e-14; /* of decimals: an entry below is 0 */

static const Point *point_of(const Table *t, size_t stage)
{
    return eval_point(t, t->stage[stage].eval);
}

/* Computes a row's coefficient of a stage's slope; those of its F and G are one number of the text. Returns whether there
 * is one. */
static int weight_of(const Table *t, const Row *r, size_t stage, mpq_t out)
{
    row_weight(t, r, t->stage[stage].eval, out);
    return mpq_sgn(out) != 0;
}

/* Counts the slopes of H in a row; *last: the last one. */
static int count_read(const Table *t, const Row *r, size_t *last)
{
    int count = 0;
    RATIONAL(c);
    for (size_t j = 0; j < t->stages; j++)
        if (!point_of(t, j)->phi && weight_of(t, r, j, c)) count++, *last = j;
    return count;
}

/* Tests whether the stages are of these two kinds. */
static int has_form(const Table *t)
{
    size_t at;
    int all = t->colours == 2 && !table_past(t) && !t->symbols && table_rosenbrock(t) &&
              !table_written(t) && !table_implicit(t) && count_read(t, &t->update, &at) == 0;
    for (size_t i = 0; all && i < t->stages; i++) {
        const Point *p = point_of(t, i);
        int H = point_fields(t, p) == (1 << OP_F | 1 << OP_G);
        all = t->stage[i].set == 1 &&
              (p->phi ? p->phi == PHI_SOLVE && H : t->stage[i].op == OP_H && row_plain(&p->row)) &&
              count_read(t, &p->row, &at) == (p->phi ? 1 : 0);
    }
    return all;
}

/* Sets what is rounding alone to 0 in a table of decimals. */
static void drop_rounding(const Table *t, mpq_t *x, size_t count)
{
    for (size_t i = 0; i < count && !t->exact; i++)
        if (fabs(mpq_get_d(x[i])) <= rounding) mpq_set_ui(x[i], 0, 1);
}

/* Adds a row of U, of the first s stages in `of`, times M (s, s) to out (s). */
static void times_M(const Table *t, const Row *r, const size_t *of, size_t s, mpq_t *M, mpq_t *out)
{
    RATIONAL(c);
    for (size_t j = 0; j < s; j++)
        if (weight_of(t, r, of[j], c))
            for (size_t i = 0; i < s; i++) rational_add(out[i], c, M[j * s + i]);
}

/* of (s): the stages U. */
static int convert(const Table *t, const size_t *of, size_t s, Rosenbrock *out)
{
    RATIONAL(p);
    mpq_t *M = rationals_new(3 * s * s + 2 * s);
    if (!M) return ERR_MEMORY;
    *out = (Rosenbrock){s, M, M + s * s, M + 2 * s * s, M + 3 * s * s, M + 3 * s * s + s};
    for (size_t i = 0, K = 0; i < s; i++) {
        const Point *U = point_of(t, of[i]);
        count_read(t, &U->row, &K);
        weight_of(t, &U->row, K, p);
        times_M(t, &U->row, of, s, M, M + i * s);
        mpq_add(M[i * s + i], M[i * s + i], p);
        times_M(t, &point_of(t, K)->row, of, s, M, out->alpha + i * s);
        mpq_div(p, U->scale, p);
        for (size_t j = 0; j <= i; j++) mpq_mul(out->gamma[i * s + j], p, M[i * s + j]);
    }
    times_M(t, &t->update, of, s, M, out->b);
    times_M(t, &t->error, of, s, M, out->bhat);
    for (size_t i = 0; i < s; i++) mpq_sub(out->bhat[i], out->b[i], out->bhat[i]);
    drop_rounding(t, out->alpha, 2 * s * s + 2 * s);
    return 0;
}

int rosenbrock_find(const Table *t, Rosenbrock *out)
{
    size_t s = 0;
    SCOPED(memory_drop) size_t *of = memory_new(t->stages + 1, sizeof *of);
    *out = (Rosenbrock){0};
    if (!of) return ERR_MEMORY;
    for (size_t i = 0; i < t->stages; i++)
        if (point_of(t, i)->phi) of[s++] = i;
    if (has_form(t)) return convert(t, of, s, out);
    return error_set(ERR_INPUT,
                     "%s is no Rosenbrock method of alpha, gamma and b: each solve(g H) or solve(g "
                     "W) takes one slope of H, whose points read those of solve alone",
                     t->name);
}

void rosenbrock_free(Rosenbrock *r)
{
    rationals_free(r->M);
    *r = (Rosenbrock){0};
}

/* ---- LaTeX ------------------------------------------------------------------------------------------ */

/* Writes n entries behind & each. Decimals have the digits that the conversion leaves right. */
static void put_entries(const Table *t, mpq_t *x, size_t n, FILE *f)
{
    TableauEntry text;
    for (size_t i = 0; i < n; i++) {
        double value = table_double(x[i]);
        if (t->exact)
            tableau_number(t, x[i], text);
        else
            snprintf(text, sizeof text, "%.14g", fabs(value) > rounding ? value : 0);
        fputs(" & ", f);
        tableau_latex(text, f);
    }
}

/* Writes the rows of a matrix (n, n), each behind its sum: `more` entries beside those below the diagonal. */
static void put_matrix(const Table *t, const char *letter, mpq_t *a, size_t n, size_t more, FILE *f)
{
    fprintf(f,
            "\\[\n\\renewcommand{\\arraystretch}{1.25}\n\\begin{array}{cc|*{%zu}{c}}\n"
            "   & \\%s_i & \\multicolumn{%zu}{c}{\\%s_{ij}} \\\\\n  \\hline\n",
            n, letter, n, letter);
    for (size_t i = 0; i < n; i++) {
        RATIONAL(sum);
        for (size_t j = 0; j < n; j++) mpq_add(sum, sum, a[i * n + j]);
        fprintf(f, "  %zu", i + 1);
        put_entries(t, &sum, 1, f);
        put_entries(t, a + i * n, i + more, f);
        fputs(" \\\\\n", f);
    }
}

int rosenbrock_latex(const Table *written, FILE *f)
{
    const Table *t = table_whole(written);
    Rosenbrock r;
    TRY(rosenbrock_find(t, &r));
    fprintf(f, "%% %s\n", t->name);
    put_matrix(t, "alpha", r.alpha, r.stages, 0, f);
    fputs("  \\hline\n   & b_i", f);
    put_entries(t, r.b, r.stages, f);
    if (t->error.terms) fputs(" \\\\\n   & \\hat b_i", f);
    if (t->error.terms) put_entries(t, r.bhat, r.stages, f);
    fputs("\n\\end{array}\n\\]\n", f);
    put_matrix(t, "gamma", r.gamma, r.stages, 1, f);
    fputs("\\end{array}\n\\]\n", f);
    rosenbrock_free(&r);
    return 0;
}
