/* lattice.c: draws a splitting's path. The coefficient of [F,G] is the area between path and chord,
 * positive where the path runs below, that is, where F comes first. A path that goes back (a
 * negative fraction) covers parts of the area twice, with opposite signs; it is shaded grey. */
#include "studies/theory/theory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/measure/expansion.h"
#include "studies/plot/plot.h"
#include "studies/tools/output.h"

typedef struct {
    double x, y; /* time under F, under G */
} Corner;

typedef struct {
    const char *part;
    Corner at;
} CornerRow;

const Column lattice_columns[] = {
    COLUMN(CornerRow, part, .words = "path or chord"),
    FIELD(CornerRow, "F", at.x, .digits = 17, .words = "time under F"),
    FIELD(CornerRow, "G", at.y, .digits = 17, .words = "time under G"),
    {0}};

typedef struct {
    Sheet *r;
    Corner end;
    int goes_back, below, above; /* the path is somewhere below, above the chord */
} Lattice;

static void add_point(Lattice *l, const char *part, Corner c)
{
    sheet_row(l->r, &(CornerRow){part, c});
}

static int fill(Lattice *l, const Table *t)
{
    Corner *c = memory_new(t->flows + 1, sizeof *c);
    if (!c) return ERR_MEMORY;
    for (size_t i = 0; i < t->flows; i++) {
        double step = table_double(t->flow[i].c);
        c[i + 1] = c[i];
        *(t->flow[i].op == OP_F ? &c[i + 1].x : &c[i + 1].y) += step;
        l->goes_back = l->goes_back || step < 0;
    }
    l->end = c[t->flows];
    for (size_t i = 0; i <= t->flows; i++) {
        double below = l->end.y * c[i].x - l->end.x * c[i].y;
        double least = 1e-12 * hypot(l->end.x, l->end.y) * hypot(c[i].x, c[i].y);
        l->below |= below > least;
        l->above |= below < -least;
        add_point(l, "path", c[i]);
    }
    add_point(l, "chord", c[0]);
    add_point(l, "chord", l->end);
    memory_free(c);
    return 0;
}

/* Adds "[F,[F,G]]: -1/12" as an entry of the key without a sample. */
static int add_words(Plot *p, const Table *t)
{
    static const char *const names[] = {"[F,G]", "[F,[F,G]]", "[[F,G],G]"};
    Brackets b;
    TRY(bracket_error(t, 3, &b));
    for (size_t k = 0; k < 3; k++) {
        char number[64] = "0", words[128];
        for (size_t i = 0; i < b.count; i++)
            if (strcmp(b.bracket[i].name, names[k]) == 0)
                expansion_number(t, b.bracket[i].c, number, sizeof number);
        snprintf(words, sizeof words, "%s  %s%s", names[k], number,
                 k == 0 ? "  (signed area)" : "");
        plot_item(p, NULL, "NaN with lines lc rgb 'white' title %s noenhanced", words);
    }
    bracket_free(&b);
    return 0;
}

/* Shades what lies between path and chord, below it and above it. */
static void add_areas(Plot *p, const char *file, const Lattice *l)
{
    int is = sheet_column(lattice_columns, "part");
    int F = sheet_column(lattice_columns, "F"), G = sheet_column(lattice_columns, "G");
    double slope = l->end.y / l->end.x;
    if (l->goes_back)
        plot_item(
            p, file,
            "using (strcol(%d) eq 'path' ? $%d : NaN):%d with filledcurves closed fc rgb '#999999' "
            "fs transparent solid 0.45 noborder title 'the path goes back: parts cancel'",
            is, F, G);
    else if (l->below)
        plot_item(
            p, file,
            "using (strcol(%d) eq 'path' ? $%d : NaN):%d:($%d*%.17g) with filledcurves below fc rgb "
            "'#56b4e9' fs transparent solid 0.45 noborder title 'F first: area positive'",
            is, F, G, F, slope);
    if (!l->goes_back && l->above)
        plot_item(
            p, file,
            "using (strcol(%d) eq 'path' ? $%d : NaN):%d:($%d*%.17g) with filledcurves above fc rgb "
            "'#e69f00' fs transparent solid 0.45 noborder title 'G first: area negative'",
            is, F, G, F, slope);
}

static int draw(const Lattice *l, const Table *t, const char *dir, const char *name)
{
    char file[300];
    int is = sheet_column(lattice_columns, "part");
    int F = sheet_column(lattice_columns, "F"), G = sheet_column(lattice_columns, "G");
    PlotFrame frame = {name, t->name, "time under F (attention, s)",
                       "time under G (feed-forward, f)", PLOT_EQUAL};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    snprintf(file, sizeof file, "%s.csv", name);
    plot_setting(p, "set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05");
    if (fmax(l->end.x, l->end.y) >= 2 && fmax(l->end.x, l->end.y) <= 24)
        plot_setting(p, "set xtics 1\nset ytics 1");
    else if (plot_narrow() && fmax(l->end.x, l->end.y) < 2)
        plot_setting(p, "set xtics 0.5\nset ytics 0.5");
    int code = add_words(p, t);
    if (code != 0) {
        plot_drop(p);
        return code;
    }
    add_areas(p, file, l);
    plot_item(p, file,
              "using (strcol(%d) eq 'chord' ? $%d : NaN):%d with lines lc rgb '#555555' lw 2 dt "
              "'-' title 'chord'",
              is, F, G);
    plot_item(p, file,
              "using (strcol(%d) eq 'path' ? $%d : NaN):%d with linespoints lc rgb '#0072b2' lw 3 "
              "pt 7 ps 0.8 title 'path'",
              is, F, G);
    return plot_finish(p);
}

int lattice_draw(const Table *t, const char *dir, const char *name)
{
    Lattice l = {0};
    char file[300];
    TRY(sheet_new(lattice_columns, &l.r));
    snprintf(file, sizeof file, "%s.csv", name);
    int code = fill(&l, t);
    if (code == 0) code = output_sheet(l.r, SHEET_CSV, dir, file);
    if (code == 0) code = draw(&l, t, dir, name);
    sheet_free(l.r);
    return code;
}
