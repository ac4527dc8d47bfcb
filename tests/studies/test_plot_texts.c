/* test_plot_texts.c: any text as plots and LaTeX tables write it; level lines of functions whose lines are known. */
#include "tests/lib/test.h"

#include "kernels/base/error.h"
#include "studies/base/plot/contour.h"
#include "studies/base/plot/plot.h"
#include "studies/base/sheet.h"
#include "tests/lib/gnuplot.h"
#include "tests/lib/program.h"

/* ---- plot.h -------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *shown;
} shown[] = {
    {"a_b^c {x} \\ \"q\" it's `x`", "a_b^c {x} \\ \"q\" it's `x`"},
    {"é λ 中 \xf0\x9f\x99\x82", "é λ 中 \xf0\x9f\x99\x82"},
    {"a\nb\r\t\x1b\x7f", "a�b����"},
    {"\xc2\x80\xc2\x9f\xc2\xa0", "��\xc2\xa0"},
    {"\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xae\xe2\x81\xa6", "\xe2\x80\xa7����"},
    {"\xff|\xc0\x8a|\xe2\x82|\xed\xa0\x80|\xf4\x90\x80\x80", "�|��|��|���|����"},
    {"\xef\xbb\xbfx\xef\xbf\xbf", "�x�"},
    {"\xe2\x82", "��"},
    {"", ""},
};

TEST(test_shown)
{
    char text[128];
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        plot_text(shown[i].text, text, sizeof text);
        assert_string_equal(text, shown[i].shown);
    }
    plot_text("aé中", text, 6);
    assert_string_equal(text, "aé"); /* no half a character */
    plot_text("aé中", text, 7);
    assert_string_equal(text, "aé中");
    plot_text("a\nb", text, 4);
    assert_string_equal(text, "a");
}

/* Checks that the script has the string `text` and only draws. */
static void must_hold(const char *script, const char *text)
{
    int has;
    const char *fault = gnuplot_judge(script, text, &has);
    if (fault || !has) fail_msg("%s: %s: %s", text, fault ? fault : "is not there", script);
}

static char *script_of(Plot *p)
{
    char *text = WRITTEN(f, assert_int_equal(plot_script(p, f), 0));
    plot_drop(p);
    return text;
}

TEST(test_strings)
{
    static const char *const held[] = {"title_^{$1}", "across \"x\"", "up \\",   "key:1",
                                       "series @x",   "numbered #",   "guide ;", "level {",
                                       "50%% of %%s", "it’s ‘x‘",     "%d %s",   "./< touch P",
                                       "a.csv",       "50%",          "#d55e00"};
    PlotFrame frame = {"x", held[0], held[1], held[2], 0};
    Plot *p;
    assert_int_equal(plot_new(".", &frame, &p), 0);
    plot_series(p, "a.csv", 1, held[3], 2, 3, held[4]);
    plot_numbered(p, "b.csv", 7, 2, 3, held[5]);
    plot_guide(p, 1, 2, 1, held[6]);
    plot_level(p, 1, held[7]);
    plot_tic(p, 3, "50% of %s");
    plot_setting(p, "set cblabel %s", "it's `x`");
    plot_item(p, "< touch P", "using %d:(%zu%+.3g) title %s", 1, (size_t)2, 0.5, "%d %s");
    plot_item(p, NULL, "x title '50%%'");
    plot_more(p, "lc rgb %s", plot_colour(1));
    char *script = script_of(p);
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) must_hold(script, held[i]);
    HAS(script, "using 1:(2+0.5) title '%d %s'", "set ytics add ('50%% of %%s' 3)");
}

TEST(test_names)
{
    static const char *const bad[] = {
        "",     "-x",
        ".x",   "|x",
        "a b",  "a/b",
        "a\nb", "a'b",
        "é",    "0123456789012345678901234567890123456789012345678901234567890"};
    Plot *p;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        PlotFrame frame = {bad[i], "", "", "", 0};
        assert_int_equal(plot_new(".", &frame, &p), ERR_MISUSE);
    }
    PlotFrame frame = {"path-a.b_c+1", "", "", "", 0};
    assert_int_equal(plot_new(".", &frame, &p), 0);
    plot_drop(p);
}

/* ---- LaTeX ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *latex;
} cells[] = {
    {"order > 0", "order \\textgreater{} 0"},
    {"a<b|c", "a\\textless{}b\\textbar{}c"},
    {"\\input{x}", "\\textbackslash{}input\\{x\\}"},
    {"50 % & $1 #2_i", "50 \\% \\& \\$1 \\#2\\_i"},
    {"x^2~y", "x\\textasciicircum{}2\\textasciitilde{}y"},
    {"?`\"it's\"", "?\\textasciigrave{}''it's''"},
    {"--out---", "-{}-out-{}-{}-"},
    {"1 ± é", "1 $\\pm$ é"},
    {"a\n\nb\x1b", "a  b?"},
    {"[F,G]", "{}[F,G]"},
    {"*", "{}*"},
};

/* Returns a table as LaTeX. */
static char *latex_of(const Column *list, const void *rows, size_t count, size_t size)
{
    Sheet *r;
    assert_int_equal(sheet_new(list, &r), 0);
    for (size_t i = 0; i < count; i++) sheet_row(r, (const char *)rows + i * size);
    char *text = WRITTEN(f, assert_int_equal(sheet_write(r, SHEET_LATEX, f), 0));
    sheet_free(r);
    return text;
}

/* Numbers have a minus sign and a power of ten; texts that look like numbers keep their hyphens. */
TEST(test_latex)
{
    typedef struct {
        const char *name;
        double x;
    } Row;
    static const Column texts[] = {FIELD(Row, "a_b > c", name), {0}},
                        list[] = {COLUMN(Row, name), COLUMN(Row, x, .digits = 4), {0}};
    static const Row rows[] = {{"a-1e-05", -2.5e-7}, {"b", 1e12}, {"c", -0.5}, {"d", -INFINITY}};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        HAS(latex_of(texts, &(Row){cells[i].text, 0}, 1, sizeof(Row)),
            formed("\n%s \\\\\n", cells[i].latex), "\na\\_b \\textgreater{} c \\\\\n");
    HAS(latex_of(list, rows, 4, sizeof *rows),
        "\na-1e-05 & $-$2.5$\\cdot10^{-7}$ \\\\\nb & 1$\\cdot10^{12}$ \\\\\nc & $-$0.5 \\\\\n"
        "d & $-$$\\infty$ \\\\\n");
}

/* ---- level lines --------------------------------------------------------------------------------- */

enum { POINTS = 81 };

/* Lines found: their number, points, and the largest |function - level| on them; lengths by line. */
typedef struct {
    double (*f)(double x, double y);
    double level;
    size_t lines, points;
    double error, length, first[2], last[2];
    int closed; /* lines that end where they begin */
} Found;

static void end_line(Found *u)
{
    if (u->lines) u->closed += hypot(u->first[0] - u->last[0], u->first[1] - u->last[1]) < 1e-12;
}

static void take(void *context, size_t line, double x, double y)
{
    Found *u = context;
    if (line == u->lines) {
        end_line(u);
        u->lines++;
        u->first[0] = x, u->first[1] = y;
    } else {
        assert_int_equal(line + 1, u->lines);
        u->length += hypot(x - u->last[0], y - u->last[1]);
    }
    u->last[0] = x, u->last[1] = y;
    u->points++;
    u->error = fmax(u->error, fabs(u->f(x, y) - u->level));
}

static Found trace(double (*f)(double, double), double level)
{
    static double value[POINTS * POINTS];
    double origin[2] = {-2, -2}, step[2] = {0.05, 0.05};
    Found u = {.f = f, .level = level};
    for (int j = 0; j < POINTS; j++)
        for (int i = 0; i < POINTS; i++)
            value[j * POINTS + i] = f(origin[0] + step[0] * i, origin[1] + step[1] * j);
    assert_int_equal(contour_find(value, POINTS, POINTS, origin, step, level, take, &u), 0);
    end_line(&u);
    return u;
}

static double circle(double x, double y)
{
    return x * x + y * y;
}
static double plane(double x, double y)
{
    return x + 2 * y;
}
static double saddle(double x, double y)
{
    return x * y;
}
static double pole(double x, double y)
{
    return 1 / (x * x + y * y); /* inf at the grid point (0, 0) */
}

/* Linear interpolation misses by f'' h^2 / 8 < 2 * 0.0025 / 8 on an edge. */
TEST(test_circle)
{
    Found u = trace(circle, 1.7);
    assert_int_equal(u.lines, 1);
    assert_int_equal(u.closed, 1);
    assert_true(u.error <= 1e-3);
    assert_true(fabs(u.length - 2 * M_PI * sqrt(1.7)) <= 1e-2);
    u = trace(circle, 5); /* leaves the box on four sides */
    assert_int_equal(u.lines, 4);
    assert_int_equal(u.closed, 0);
    assert_int_equal(trace(circle, -1).lines, 0);
    assert_int_equal(trace(circle, 9).lines, 0);
}

TEST(test_lines)
{
    Found u = trace(plane, 0.33);
    assert_int_equal(u.lines, 1);
    assert_int_equal(u.closed, 0);
    assert_true(u.error <= 1e-13);
    assert_true(fabs(u.length - 2 * sqrt(5)) <= 1e-12); /* y from -0.835 to 1.165 */
    u = trace(saddle, 0.0003); /* two branches, close to each other at the saddle */
    assert_int_equal(u.lines, 2);
    u = trace(saddle, -0.0003);
    assert_int_equal(u.lines, 2);
    u = trace(pole, 1);
    assert_int_equal(u.lines, 1);
    assert_int_equal(u.closed, 1);
}

TEST_MAIN(NULL, NULL)
