/* order_conditions_table.c: the table of order conditions, their LaTeX, and the pages of their trees. */
#include "studies/theory/theory_study.h"
#include "studies/base/latex.h"

const Column condition_columns[] = {
    COLUMN(ConditionRow, scheme),
    COLUMN(ConditionRow, order),
    COLUMN(
        ConditionRow, condition, .sparse = 1, .form = SHEET_FORMULA,
        .words =
            "the sum over all letters, c_i = sum of a_ij; of a Rosenbrock method alpha, beta = alpha "
            "+ gamma"),
    COLUMN(ConditionRow, right, .form = SHEET_FORMULA, .words = "1/gamma, what the sum should be"),
    COLUMN(ConditionRow, left, .form = SHEET_FORMULA, .words = "the sum of this scheme"),
    COLUMN(ConditionRow, holds, .form = SHEET_FLAG, .words = "within the rounding, if any"),
    COLUMN(ConditionRow, tree, .form = SHEET_FORMULA,
           .words = "the tree, as an elementary differential"),
    COLUMN(ConditionRow, symmetry, .words = "σ: ways to exchange equal children"),
    COLUMN(ConditionRow, density, .words = "γ: the product of the orders of all subtrees"),
    {0}};

typedef struct {
    Sheet *sheet;
    FILE *latex;
    TreePage *page; /* each may be NULL */
} Taken;

/* Adds the row, writes its line of an align*, draws its tree. */
static int take(void *to, const ConditionRow *r)
{
    const Taken *t = to;
    if (t->latex) {
        fputs(r->index ? " \\\\\n  " : "  ", t->latex);
        latex_formula(t->latex, *r->condition ? r->condition : r->tree);
        fputs(" &= ", t->latex);
        latex_formula(t->latex, r->right);
        if (!r->holds) fprintf(t->latex, " && \\text{(not met: %s)}", r->left);
    }
    if (t->page) tree_page_add(t->page, r);
    if (t->sheet) sheet_row(t->sheet, r);
    return 0;
}

int conditions_tell(const Selection *s, int degree, Sheet *sheet, FILE *latex, const char *dir)
{
    int code = dir ? output_directory(dir) : 0;
    for (size_t i = 0; code == 0 && i < s->count; i++) {
        const Table *t = s->scheme[i];
        TreePage page;
        if (dir) TRY(tree_page_open(&page));
        if (latex)
            fprintf(latex, "%% %s: order conditions, %s\n\\begin{align*}\n", t->name,
                    table_rosenbrock(t) ? "beta = alpha + gamma" : "c_i = sum of a_ij");
        code = conditions_each(t, degree, take, &(Taken){sheet, latex, dir ? &page : NULL});
        if (latex && code == 0) fputs("\n\\end{align*}\n", latex);
        if (dir) code = tree_page_close(&page, code, dir, t->name);
    }
    return code;
}
