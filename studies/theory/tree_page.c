/* tree_page.c: draws rooted trees, root at the bottom, each with its condition: as SVG, for a screen and the report, and as a
 * longtable of TikZ pictures. */
#include "studies/theory/theory_study.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "studies/base/latex.h"

enum { WIDE = 1000, STEP = 22, MARGIN = 20, DOT = 5, DRAWN_MOST = 400 };

/* Colours of F, G and C; a vertex of the one field H is dark. */
static const char letters[] = "FGCH";
static const char *const fill[] = {"0072B2", "E69F00", "009E73", "333333"};

/* Where the vertices of a tree are, in steps; a vertex comes behind its parent. */
typedef struct {
    int n, parent[TREE_MAX_1], colour[TREE_MAX_1];
    double x[TREE_MAX_1], y[TREE_MAX_1], wide, tall;
} Shape;

/* Places a subtree right of what is there: its root stands over the middle of its children. */
static void place(const Forest *f, size_t tree, int parent, double depth, Shape *s)
{
    const Tree *t = &f->tree[tree];
    int me = s->n++, first = s->n;
    s->parent[me] = parent;
    s->colour[me] = f->colours == 1 ? 3 : t->colour;
    s->y[me] = depth;
    s->tall = depth > s->tall ? depth : s->tall;
    if (t->children == 0) s->x[me] = s->wide++;
    double last = 0;
    for (int k = 0; k < t->children; k++) {
        int child = s->n;
        place(f, (size_t)t->child[k], me, depth + 1, s);
        last = s->x[child];
    }
    if (t->children) s->x[me] = (s->x[first] + last) / 2;
}

int tree_page_open(TreePage *p)
{
    *p = (TreePage){.y = MARGIN};
    TRY(output_open(&p->svg));
    TRY(output_open(&p->tex));
    fputs("% needs amsmath, longtable, tikz\n", p->tex.f);
    for (int i = 0; letters[i]; i++)
        fprintf(p->tex.f, "\\definecolor{tree%c}{HTML}{%s}\n", letters[i], fill[i]);
    fputs("{\\footnotesize\\setlength{\\tabcolsep}{4pt}\n\\begin{longtable}{clcccllc}\n"
          "tree & differential & $|t|$ & $\\sigma$ & $\\gamma$ & condition & value & holds \\\\\n"
          "\\hline\n",
          p->tex.f);
    return 0;
}

/* Begins a line of drawings `tall` steps high, with the order before the first. */
static void begin_line(TreePage *p, int order)
{
    p->y += p->tall;
    p->x = MARGIN + 60;
    p->tall = STEP * (order - 1) + 62;
    if (order != p->order)
        fprintf(p->svg.f, "<text x=\"%d\" y=\"%g\" class=\"o\">order %d</text>\n", MARGIN,
                p->y + p->tall - 36, order);
    p->order = order;
}

static void put_svg(TreePage *p, const Shape *s, const ConditionRow *row)
{
    FILE *f = p->svg.f;
    double wide = STEP * (s->wide - 1) + 30, least = 7.0 * (double)strlen(row->tree) + 16;
    char value[96];
    snprintf(value, sizeof value, row->holds ? "%s" : "%s, not %s", row->left, row->right);
    if (wide < least) wide = least;
    if (wide < 7.0 * (double)strlen(value) + 16) wide = 7.0 * (double)strlen(value) + 16;
    if (row->order != p->order || p->x + wide > WIDE) begin_line(p, row->order);
    double middle = p->x + wide / 2, left = middle - STEP * (s->wide - 1) / 2,
           floor = p->y + p->tall - 46;
    for (int i = 1; i < s->n; i++)
        fprintf(f, "<path d=\"M%g %gL%g %g\"/>\n", left + STEP * s->x[i], floor - STEP * s->y[i],
                left + STEP * s->x[s->parent[i]], floor - STEP * s->y[s->parent[i]]);
    for (int i = 0; i < s->n; i++)
        fprintf(f, "<circle cx=\"%g\" cy=\"%g\" r=\"%d\" fill=\"#%s\"/>\n", left + STEP * s->x[i],
                floor - STEP * s->y[i], DOT, fill[s->colour[i]]);
    fprintf(
        f,
        "<text x=\"%g\" y=\"%g\" class=\"n\">%s</text>\n<text x=\"%g\" y=\"%g\" class=\"%s\">%s</text>\n",
        middle, floor + 20, row->tree, middle, floor + 35, row->holds ? "v" : "v b", value);
    p->x += wide;
}

static void put_tikz(TreePage *p, const Shape *s, const ConditionRow *row)
{
    FILE *f = p->tex.f;
    fputs("\\tikz[scale=.3]{", f);
    for (int i = 1; i < s->n; i++)
        fprintf(f, "\\draw(%g,%g)--(%g,%g);", s->x[i], s->y[i], s->x[s->parent[i]],
                s->y[s->parent[i]]);
    for (int i = 0; i < s->n; i++)
        fprintf(f, "\\fill[tree%c](%g,%g)circle(.22);", letters[s->colour[i]], s->x[i], s->y[i]);
    fputs("} & $", f);
    latex_formula(f, row->tree);
    fprintf(f, "$ & %d & %" PRIu64 " & %" PRIu64 " & $", row->order, row->symmetry, row->density);
    latex_formula(f, row->condition);
    fputs(*row->condition ? " = " : "", f);
    latex_formula(f, row->right);
    fputs("$ & $", f);
    latex_formula(f, row->left);
    fprintf(f, "$ & %s \\\\\n", row->holds ? "yes" : "no");
}

void tree_page_add(TreePage *p, const ConditionRow *row)
{
    Shape s = {0};
    if (p->drawn++ >= DRAWN_MOST) return;
    place(row->forest, row->index, 0, 0, &s);
    put_svg(p, &s, row);
    put_tikz(p, &s, row);
}

int tree_page_close(TreePage *p, int code, const char *dir, const char *scheme)
{
    char name[96];
    Output svg = {0};
    snprintf(name, sizeof name, "trees-%.80s.svg", scheme);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.+", *c)) *c = '-';
    if (p->drawn > DRAWN_MOST)
        progress_note("%s: the first %d of %zu trees are drawn", scheme, DRAWN_MOST, p->drawn);
    fputs("\\end{longtable}}\n", p->tex.f);
    if (code == 0) code = output_open(&svg);
    if (code == 0) {
        double tall = p->y + p->tall;
        fprintf(svg.f,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%g\" "
                "viewBox=\"0 0 %d %g\">\n<style>text{font:12px sans-serif}.n,.v{text-anchor:middle}"
                ".v{fill:#555}.b{fill:#b00020}.o{font-weight:bold}path{stroke:#333}</style>\n"
                "<rect width=\"%d\" height=\"%g\" fill=\"#fff\"/>\n",
                WIDE + MARGIN, tall, WIDE + MARGIN, tall, WIDE + MARGIN, tall);
        fflush(p->svg.f);
        fputs(p->svg.text, svg.f);
        fputs("</svg>\n", svg.f);
        code = output_put(&svg, 0, dir, name);
    }
    strcpy(name + strlen(name) - 4, ".tex");
    output_drop(&p->svg);
    return output_put(&p->tex, code, dir, name);
}
