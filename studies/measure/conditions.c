/* conditions.c: the order conditions of one-step schemes whose stages are all H as formulas,
 *
 *     sum b_i c_i a_ij c_j = 1/8,    c_i = sum of a_ij,
 *
 * one for each rooted tree of one colour: b at the root, a_ij on an edge, c_j^n for n leaves at j, 1/gamma on the right
 * (Hairer, Norsett, Wanner 1993, theorem II.2.13). */
#include "studies/measure/conditions.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/scheme/rationals.h"
#include "studies/measure/expansion.h"

const Column condition_columns[] = {
    COLUMN(ConditionRow, scheme),
    COLUMN(ConditionRow, order),
    COLUMN(ConditionRow, condition, .words = "the sum over all letters, c_i = sum of a_ij"),
    COLUMN(ConditionRow, right, .form = SHEET_FORMULA, .words = "1/gamma, what the sum should be"),
    COLUMN(ConditionRow, left, .form = SHEET_FORMULA, .words = "the sum of this scheme"),
    COLUMN(ConditionRow, holds, .form = SHEET_FLAG, .words = "within the rounding, if any"),
    {0}};

/* Writes the factors of a tree's children, whose root stands at the letter; *next is the next free letter. */
static void write_factors(const Forest *f, size_t tree, char at, char *next, int latex, FILE *out)
{
    const Tree *t = &f->tree[tree];
    int leaves = 0;
    while (leaves < t->children && f->tree[t->child[leaves]].children == 0) leaves++;
    if (leaves) fprintf(out, " c_%c", at);
    if (leaves > 1) fprintf(out, latex ? "^{%d}" : "^%d", leaves);
    for (int k = leaves; k < t->children; k++) {
        char to = (*next)++;
        fprintf(out, latex ? " a_{%c%c}" : " a_%c%c", at, to);
        write_factors(f, (size_t)t->child[k], to, next, latex, out);
    }
}

/* Returns the sum of a tree, "sum b_i c_i^2". The caller frees it; NULL: out of memory. */
static char *formula(const Forest *f, size_t tree, int latex)
{
    char *text = NULL, next = 'j';
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return NULL;
    fputs(latex ? "\\sum b_i" : "sum b_i", out);
    write_factors(f, tree, 'i', &next, latex, out);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

/* The conditions of a scheme. */
typedef struct {
    Table *t; /* frozen */
    Forest *f;
    Theory theory;
    mpq_t *defect; /* (f->count + 1) */
} Asked;

static void asked_close(Asked *a)
{
    if (a->f) rationals_free(a->defect, a->f->count + 1);
    forest_free(a->f);
    table_free(a->t);
}

static int asked_open(Asked *a, const Table *t, int degree)
{
    *a = (Asked){.t = table_freeze(t)};
    if (!a->t) return ERR_MEMORY;
    if (!table_over(t, OP_H) || t->past_y || t->past_k)
        return error_set(ERR_INPUT,
                         "%s: --conditions are those of one-step schemes whose stages are all H",
                         t->name);
    TRY(theory_search(a->t, degree, &a->theory));
    if (a->theory.order_exact < a->theory.order_autonomous) a->t->exact = 0;
    TRY(forest_trees(degree, 1, 0, &a->f));
    if (!(a->defect = rationals_new(a->f->count + 1))) return ERR_MEMORY;
    return theory_defect(a->f, a->t, a->defect, a->defect[a->f->count]);
}

/* Hands the row of a tree to `take`. */
static int put_condition(const Asked *a, size_t tree, int latex, ConditionTaker *take, void *to)
{
    const Tree *t = &a->f->tree[tree];
    char left[1024], right[32], *sum = formula(a->f, tree, latex);
    mpq_t x, gamma;
    if (!sum) return ERR_MEMORY;
    mpq_inits(x, gamma, NULL);
    mpq_set_ui(x, t->sigma, 1);
    mpq_mul(x, x, a->defect[tree]);
    int holds = t->order <= a->theory.order_autonomous || theory_is_zero(a->t, x);
    mpq_set_ui(gamma, 1, t->gamma);
    mpq_add(x, x, gamma);
    expansion_number(a->t, x, left, sizeof left);
    snprintf(right, sizeof right, t->gamma > 1 ? "1/%lu" : "%lu", t->gamma);
    int code = take(to, &(ConditionRow){a->t->name, sum, left, right, t->order, holds});
    mpq_clears(x, gamma, NULL);
    free(sum);
    return code;
}

int conditions_each(const Table *t, int degree, int latex, ConditionTaker *take, void *to)
{
    Asked a;
    int code = asked_open(&a, t, degree);
    for (size_t k = 0; code == 0 && k < a.f->count; k++)
        code = put_condition(&a, k, latex, take, to);
    asked_close(&a);
    return code;
}

static int add_row(void *sheet, const ConditionRow *row)
{
    sheet_row(sheet, row);
    return 0;
}

/* Writes a line of an align*, which begins with the one condition of order 1. */
static int write_line(void *f, const ConditionRow *row)
{
    if (row->order == 1)
        fprintf(f, "%% %s: order conditions, c_i = sum of a_ij\n\\begin{align*}\n  %s &= 1",
                row->scheme, row->condition);
    else
        fprintf(f, " \\\\\n  %s &= \\tfrac{1}{%s}", row->condition, strchr(row->right, '/') + 1);
    if (!row->holds) fprintf(f, " && \\text{(not met: %s)}", row->left);
    return 0;
}

int conditions_tell(const Selection *s, int degree, Sheet *r, FILE *latex)
{
    ConditionTaker *take = latex ? write_line : add_row;
    void *to = latex ? (void *)latex : r;
    int code = 0;
    for (size_t i = 0; code == 0 && i < s->count; i++) {
        code = conditions_each(s->scheme[i], degree, latex != NULL, take, to);
        if (latex && code == 0) fputs("\n\\end{align*}\n", latex);
    }
    return code;
}
