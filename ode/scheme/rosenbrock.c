/* rosenbrock.c: a Rosenbrock method or W-method of the language as its paper writes it,
 *
 *     k_i = h H(y + sum over j < i of alpha_ij k_j) + h J sum over j <= i of gamma_ij k_j,    y' = y + sum b_i k_i.
 *
 * The language has the transformed stages U_i = solve(g_i H)(sum p_ij K_j + sum e_ij U_j), K_j = h H(y + sum a_jl U_l).
 * With U = M k, as K = k - h J Gamma k,
 *
 *     M = (1 - E)^-1 P,    Gamma = P^-1 diag(g) M,    alpha = A M,    b = m M,
 *
 * m the weights of U in y' (Hairer, Wanner 1996, IV.7, equations 7.4 and 7.25). The K of a U is the last that it reads; one
 * that several U read counts once for each. */
#include <math.h>
#include <stdlib.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/scheme/print.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/scheme.h"

static const double rounding = 1e-14; /* of decimals: an entry below is 0 */

/* The method in the language's letters; matrices (n, n) by rows. */
typedef struct {
    const Table *t;
    size_t n;
    size_t *own, *stage; /* (n): the stages of K and of U */
    mpq_t *P, *E, *A, *M;
} Form;

static const Point *point_of(const Table *t, size_t stage)
{
    return eval_point(t, t->stage[stage].eval);
}

/* Computes a row's coefficient of a stage's slope; those of its F and G are one number of the text. */
static void weight_of(const Table *t, const Row *r, size_t stage, mpq_t out)
{
    mpq_set_ui(out, 0, 1);
    for (size_t k = 0; k < r->terms; k++)
        if (r->term[k].eval == t->stage[stage].eval) mpq_add(out, out, r->term[k].c);
}

static int reads(const Table *t, const Row *r, size_t stage)
{
    for (size_t k = 0; k < r->terms; k++)
        if (r->term[k].eval == t->stage[stage].eval) return 1;
    return 0;
}

static int is_simple(const Row *r)
{
    int simple = 1;
    for (size_t k = 0; k < r->terms; k++) simple &= !r->term[k].past && !r->term[k].symbols;
    return simple;
}

/* Tests whether the stages are of these two kinds. */
static int has_form(const Table *t)
{
    int all = t->colours == 2 && table_rosenbrock(t) && !table_written(t) && is_simple(&t->update);
    for (size_t i = 0; all && i < t->stages; i++) {
        const Point *p = point_of(t, i);
        int H = point_fields(t, p) == (1 << OP_F | 1 << OP_G);
        all = is_simple(&p->row) && t->stage[i].set == 1 &&
              (p->phi ? p->phi == PHI_SOLVE && H : t->stage[i].op == OP_H && row_plain(&p->row));
        for (size_t j = 0; all && j < t->stages; j++)
            if (reads(t, &p->row, j)) all = j < i && (p->phi || point_of(t, j)->phi);
    }
    for (size_t j = 0; all && j < t->stages; j++)
        all = point_of(t, j)->phi || !reads(t, &t->update, j);
    return all;
}

/* Finds U_n of a stage, with its K. Returns whether every K that it reads is one of an earlier U or its own. */
static int add_stage(Form *f, size_t stage)
{
    const Row *r = &point_of(f->t, stage)->row;
    size_t n = f->n++, last = f->t->stages;
    for (size_t j = 0; j < stage; j++)
        if (!point_of(f->t, j)->phi && reads(f->t, r, j)) last = j;
    f->own[n] = last;
    f->stage[n] = stage;
    for (size_t j = 0; j < last && last < f->t->stages; j++) {
        size_t i = 0;
        if (point_of(f->t, j)->phi || !reads(f->t, r, j)) continue;
        while (i < n && f->own[i] != j) i++;
        if (i == n) return 0;
    }
    return last < f->t->stages;
}

/* Reads P, E and A; of a K that stands for several, the first has the weight in other rows. */
static void read_rows(Form *f, size_t s)
{
    for (size_t i = 0; i < s; i++)
        for (size_t j = 0; j <= i; j++) {
            const Row *r = &point_of(f->t, f->stage[i])->row;
            size_t first = 0;
            while (f->own[first] != f->own[j]) first++;
            if (i == j || (first == j && f->own[j] != f->own[i]))
                weight_of(f->t, r, f->own[j], f->P[i * s + j]);
            weight_of(f->t, r, f->stage[j], f->E[i * s + j]);
            weight_of(f->t, &point_of(f->t, f->own[i])->row, f->stage[j], f->A[i * s + j]);
        }
}

/* Computes a row (s) times M. */
static void times_M(const Form *f, size_t s, mpq_t *row, mpq_t *out)
{
    for (size_t j = 0; j < s; j++)
        for (size_t i = 0; i < s; i++) rational_add(out[j], row[i], f->M[i * s + j]);
}

/* Solves for M, then Gamma, row by row. */
static void solve(const Form *f, size_t s, mpq_t *gamma)
{
    for (size_t i = 0; i < s; i++)
        for (size_t c = 0; c < s; c++) {
            mpq_set(f->M[i * s + c], f->P[i * s + c]);
            for (size_t j = 0; j < i; j++)
                rational_add(f->M[i * s + c], f->E[i * s + j], f->M[j * s + c]);
        }
    for (size_t i = 0; i < s; i++)
        for (size_t c = 0; c < s; c++) {
            mpq_ptr x = gamma[i * s + c];
            mpq_mul(x, point_of(f->t, f->stage[i])->scale, f->M[i * s + c]);
            for (size_t j = 0; j < i; j++) rational_subtract(x, f->P[i * s + j], gamma[j * s + c]);
            mpq_div(x, x, f->P[i * s + i]);
        }
}

/* Sets what is rounding alone to 0 in a table of decimals. */
static void drop_rounding(const Table *t, mpq_t *x, size_t count)
{
    for (size_t i = 0; i < count && !t->exact; i++)
        if (fabs(mpq_get_d(x[i])) <= rounding) mpq_set_ui(x[i], 0, 1);
}

static int convert(Form *f, Rosenbrock *out)
{
    size_t s = out->stages = f->n;
    mpq_t *all = rationals_new(6 * s * s + 4 * s);
    if (!(out->alpha = all)) return ERR_MEMORY;
    out->gamma = all + s * s;
    f->P = out->gamma + s * s;
    f->E = f->P + s * s;
    f->A = f->E + s * s;
    f->M = f->A + s * s;
    out->b = f->M + s * s;
    out->bhat = out->b + s;
    mpq_t *m = out->bhat + s, *e = m + s;
    read_rows(f, s);
    solve(f, s, out->gamma);
    for (size_t i = 0; i < s; i++) {
        times_M(f, s, f->A + i * s, out->alpha + i * s);
        weight_of(f->t, &f->t->update, f->stage[i], m[i]);
        weight_of(f->t, &f->t->error, f->stage[i], e[i]);
        mpq_sub(e[i], m[i], e[i]);
    }
    times_M(f, s, m, out->b);
    times_M(f, s, e, out->bhat);
    drop_rounding(f->t, all, 2 * s * s);
    drop_rounding(f->t, out->b, 2 * s);
    return 0;
}

int rosenbrock_find(const Table *t, Rosenbrock *out)
{
    *out = (Rosenbrock){0};
    size_t *list = memory_new(2 * t->stages + 1, sizeof *list);
    Form f = {.t = t, .own = list, .stage = list + t->stages};
    if (!list) return ERR_MEMORY;
    int has = has_form(t), code = 0;
    for (size_t i = 0; has && i < t->stages; i++)
        if (point_of(t, i)->phi) has = add_stage(&f, i);
    if (has) code = convert(&f, out);
    memory_free(list);
    if (code != 0 || has) return code;
    return error_set(ERR_INPUT,
                     "%s is no Rosenbrock method of alpha, gamma and b: each solve(g H) or solve(g "
                     "W) takes a slope of H, whose points read those of solve alone",
                     t->name);
}

void rosenbrock_free(Rosenbrock *r)
{
    size_t s = r->stages;
    rationals_free(r->alpha, 6 * s * s + 4 * s);
    *r = (Rosenbrock){0};
}

/* ---- LaTeX ------------------------------------------------------------------------------------------ */

/* Decimals have the digits that the conversion leaves right. */
static void put_number(const Table *t, const mpq_t q, FILE *f)
{
    TableauEntry text;
    double x = table_double(q);
    if (t->exact)
        tableau_number(t, q, text);
    else
        snprintf(text, sizeof text, "%.14g", fabs(x) > rounding ? x : 0);
    tableau_latex(text, f);
}

/* Begins an array of n columns behind the sums of its rows. */
static void open_array(const char *letter, size_t n, FILE *f)
{
    fprintf(f,
            "\\[\n\\renewcommand{\\arraystretch}{1.25}\n\\begin{array}{c|*{%zu}{c}}\n"
            "  \\%s_i & \\multicolumn{%zu}{c}{\\%s_{ij}} \\\\\n  \\hline\n",
            n, letter, n, letter);
}

/* Writes the sum of a row of n entries and the first `shown`. */
static void put_row(const Table *t, mpq_t *row, size_t shown, size_t n, FILE *f)
{
    RATIONAL(sum);
    for (size_t j = 0; j < n; j++) mpq_add(sum, sum, row[j]);
    fputs("  ", f);
    put_number(t, sum, f);
    for (size_t j = 0; j < shown; j++) {
        fputs(" & ", f);
        put_number(t, row[j], f);
    }
}

static void put_weights(const Table *t, const char *name, mpq_t *b, size_t n, FILE *f)
{
    fprintf(f, "  %s", name);
    for (size_t j = 0; j < n; j++) {
        fputs(" & ", f);
        put_number(t, b[j], f);
    }
}

int rosenbrock_latex(const Table *t, FILE *f)
{
    Rosenbrock r;
    TRY(rosenbrock_find(t, &r));
    size_t s = r.stages;
    fprintf(f, "%% %s\n", t->name);
    open_array("alpha", s, f);
    for (size_t i = 0; i < s; i++) {
        put_row(t, r.alpha + i * s, i, s, f);
        fputs(" \\\\\n", f);
    }
    fputs("  \\hline\n", f);
    put_weights(t, "b_i", r.b, s, f);
    if (t->error.terms) {
        fputs(" \\\\\n", f);
        put_weights(t, "\\hat b_i", r.bhat, s, f);
    }
    fputs("\n\\end{array}\n\\]\n", f);
    open_array("gamma", s, f);
    for (size_t i = 0; i < s; i++) {
        put_row(t, r.gamma + i * s, i + 1, s, f);
        fputs(i + 1 < s ? " \\\\\n" : "\n", f);
    }
    fputs("\\end{array}\n\\]\n", f);
    rosenbrock_free(&r);
    return 0;
}
