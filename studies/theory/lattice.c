/* lattice.c: draws a splitting's path. The coefficient of [F,G] is the area between path and chord,
 * positive where the path runs below, that is, where F comes first. A path that goes back (a
 * negative fraction) covers parts of the area twice, with opposite signs; these are shaded grey. */
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

enum { LATTICE_PIECES = 1100 }; /* more than any number of flows */
static const char *const sign[] = {"plus", "minus"};

typedef struct {
    const char *part;
    Corner at;
} CornerRow;

const Column lattice_columns[] = {
    COLUMN(CornerRow, part,
           .words = "path, chord, then the shaded pieces in order: plus1, minus2, ..."),
    FIELD(CornerRow, "F", at.x, .digits = 17, .words = "time under F"),
    FIELD(CornerRow, "G", at.y, .digits = 17, .words = "time under G"),
    {0}};

typedef struct {
    Sheet *r;
    Corner end;
    size_t pieces;
    int goes_back;
    char above[LATTICE_PIECES]; /* is a piece above the chord? */
    char part[32];
} Lattice;

static void add_point(Lattice *l, const char *part, Corner c)
{
    sheet_row(l->r, &(CornerRow){part, c});
}

/* Returns twice the area of the triangle (0, end, c), positive below the chord. */
static double side(const Lattice *l, Corner c)
{
    double s = l->end.y * c.x - l->end.x * c.y;
    return fabs(s) < 1e-12 * (hypot(l->end.x, l->end.y) * hypot(c.x, c.y)) ? 0 : s;
}

static void begin_piece(Lattice *l, int below)
{
    if (l->pieces < LATTICE_PIECES) l->above[l->pieces] = !below;
    snprintf(l->part, sizeof l->part, "%s%zu", sign[!below], ++l->pieces);
}

/* Cuts the path where it meets the chord; the chord closes every piece. */
static void add_pieces(Lattice *l, const Corner *c, size_t n)
{
    int now = 0;
    for (size_t i = 0; i < n; i++) {
        double s = side(l, c[i]), before = i ? side(l, c[i - 1]) : 0;
        int next = s > 0 ? 1 : s < 0 ? -1 : 0;
        if (now && next == -now) {
            double u = before / (before - s);
            Corner meet = {c[i - 1].x + u * (c[i].x - c[i - 1].x),
                           c[i - 1].y + u * (c[i].y - c[i - 1].y)};
            add_point(l, l->part, meet);
            begin_piece(l, next > 0);
            add_point(l, l->part, meet);
        } else if (!now && next) {
            begin_piece(l, next > 0);
            add_point(l, l->part, c[i - 1]);
        }
        if (now || next) add_point(l, l->part, c[i]);
        now = next;
    }
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
    for (size_t i = 0; i <= t->flows; i++) add_point(l, "path", c[i]);
    add_point(l, "chord", c[0]);
    add_point(l, "chord", l->end);
    add_pieces(l, c, t->flows + 1);
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

/* Draws the shaded pieces; the key names the first of each kind. */
static void add_areas(Plot *p, const char *file, const Lattice *l)
{
    static const char *const colour[] = {"#56b4e9", "#e69f00", "#999999"};
    static const char *const title[] = {"F first: area positive", "G first: area negative",
                                        "the path goes back: parts cancel"};
    int named[3] = {0, 0, 0}, is = sheet_column(lattice_columns, "part");
    int F = sheet_column(lattice_columns, "F"), G = sheet_column(lattice_columns, "G");
    for (size_t k = 0; k < l->pieces && k < LATTICE_PIECES; k++) {
        int above = l->above[k] != 0, kind = l->goes_back ? 2 : above;
        char part[32];
        snprintf(part, sizeof part, "%s%zu", sign[above], k + 1);
        plot_item(p, file,
                  "using (strcol(%d) eq %s ? $%d : NaN):%d with filledcurves closed fc rgb %s fs "
                  "transparent solid 0.45 noborder",
                  is, part, F, G, colour[kind]);
        if (named[kind]) plot_more(p, "notitle");
        if (!named[kind]) plot_more(p, "title %s", title[kind]);
        named[kind] = 1;
    }
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
