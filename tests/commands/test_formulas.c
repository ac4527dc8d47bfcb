/* test_formulas.c: derivations, order conditions, trees and tableaus as a user sees them: in the terminal, as LaTeX that fits
 * a page, as pictures. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"
#include "studies/base/latex.h"

/* The derivation of Heun's terms as a book has it. For other schemes what is left are the terms that the table has, and a
 * splitting's brackets come by Baker, Campbell and Hausdorff. */
TEST(test_steps)
{
    static const char heun[] =
        "heun,stage 2,k2 =,h H(y + k1),\n"
        "heun,stage 2,=,\"h (H + H'D + 1/2 H''(D,D))\",D: that point less y\n"
        "heun,stage 2,D =,h H,\n"
        "heun,stage 2,k2 =,h H,\n"
        "heun,stage 2,…,+ h^2 H'H,\n"
        "heun,stage 2,…,\"+ 1/2 h^3 H''(H,H)\",\n"
        "heun,update,y' =,y + 1/2 k1 + 1/2 k2,\n"
        "heun,update,=,y,\n"
        "heun,update,…,+ (1/2 + 1/2) h H,\n"
        "heun,update,…,+ 1/2 h^2 H'H,\n"
        "heun,update,…,\"+ (1/2·1/2) h^3 H''(H,H)\",\n";
    static const char *const same[] = {"rk4 --one-field",
                                       "macaron",
                                       "ab3",
                                       "strang-marchuk",
                                       "etd-rk2",
                                       "imex-euler",
                                       "yoshida4 --basis brackets",
                                       "heun-layer-decoder"};
    must_print("expand --steps --scheme heun --one-field --csv", heun,
               ",h:,(1 - 1) H = 0,cancels\n",
               ",h^3:,\"(1/4 - 1/6) H''(H,H) = 1/12 H''(H,H)\",is left\n",
               ",…,(0 - 1/6) H'H'H = -1/6 H'H'H,is left\n");
    assert_int_equal(count_words(out, ",is left\n"), 2);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        run_ok("expand --scheme %s --csv", same[i]);
        int terms = count_lines(out) - 1;
        run_ok("expand --scheme %s --csv --steps", same[i]);
        assert_true(terms > 0);
        if (count_words(out, ",is left\n") != terms) fail_msg("%s: not %d terms", same[i], terms);
    }
    must_print("expand --steps --scheme lie-trotter --basis brackets",
               "Z2 =  log(exp(Z) exp(X)), Z = Z1, X = h G\n"
               "          = Z + X + 1/2 [Z,X]\n"
               "    Z2 =  h (F + G)\n"
               "          + 1/2 h^2 [F,G]\n");
    must_print("expand --steps --scheme lie-trotter --latex",
               "Y_{2} = &\\ Y_{1} + h G(Y_{1}) + \\tfrac{1}{2}\\, h^{2} G'G(Y_{1}) \\\\\n");
    must_tell("expand --steps --scheme all --degree 2 --csv",
              "warning: no-residual: the state weights");
    must_refuse("expand --steps --conditions 3 --scheme rk4", "not both");
    must_refuse("expand --steps --modified --scheme rk4", "not both");
    expect(1, "expand --steps --scheme no-residual");
    /* The page of the notation. */
    must_print("expand --notation", "[F,G] = G'F - F'G           the commutator of two fields");
    assert_true(!strchr(out, '$') && count_lines(out) < 45);
    must_print("expand --notation --latex", "\\item[\\normalfont$F''(F,G)$] the second derivative");
}

/* Returns whether a document with this file in it has boxes that are too wide. */
static int too_wide(const char *file)
{
    shell_ok(
        "{ printf '%%s\\n' '\\documentclass{article}\\usepackage{amsmath,booktabs}\\begin{document}\\noindent'; cat %s; printf '%%s\\n' '\\end{document}'; } >page.tex",
        file);
    shell_ok(
        "pdflatex -halt-on-error -interaction=nonstopmode page.tex >page.txt || { grep -A4 ^! page.txt >&2; false; }");
    return shell("grep -q Overfull page.txt") == 0;
}

/* Files for papers compile and fit an article's line. */
TEST(test_fits_a_page)
{
    need_tool("pdflatex");
    static const char *const made[][2] = {
        {"expand --scheme rk4 --out tex", "tex/expand.tex"},
        {"expand --scheme macaron --degree 6 --out tex", "tex/expand.tex"},
        {"expand --scheme strang-marchuk,yoshida4 --basis brackets --degree 7 --out tex",
         "tex/expand.tex"},
        {"expand --scheme rk3 --degree 5 --out tex", "tex/expand.tex"},
        {"expand --modified --scheme macaron --degree 4 --out tex", "tex/expand.tex"},
        {"expand --steps --scheme rk4,ark3,etd-rk2 --out tex", "tex/steps.tex"},
        {"expand --steps --scheme yoshida4 --basis brackets --out tex", "tex/steps.tex"},
        {"schemes --out tex", "tex/schemes.tex"},
        {"schemes --structure --scheme rk4,macaron --out tex", "tex/structure.tex"},
        {"stability --scheme rk4,heun --out tex", "tex/limits.tex"},
        {"order --scheme rk4 --system linear --halvings 5 --out tex", "tex/summary.tex"},
        {"order --scheme euler,strang-marchuk:heun,rk4 --halvings 5 --out tex", "tex/order.tex"}};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        run_ok(made[i][0]);
        if (too_wide(made[i][1])) fail_msg("%s", made[i][0]);
    }
    run_ok("order --scheme all --system linear --halvings 5 --out tex");
    assert_false(too_wide("tex/order.tex"));
    shell_ok("test $(grep -c begin.tabular tex/order.tex) -gt 3"); /* no page ends inside one */
    shell_ok(
        "printf '%%s\\n' '\\begin{tabular}{l}a line of one cell that is much longer than what an article of LaTeX has room for at its ten points\\end{tabular}' >wide.tex");
    assert_true(too_wide("wide.tex"));
}

/* LaTeX sets every printable character, words and numbers no wider than latex_width says; a bound a tenth lower does
 * not hold. */
TEST(test_widths_in_print)
{
    need_tool("pdflatex");
    static const char *const more[] = {"strang-marchuk:heun",  "2.909e-05", "-1.25e-12",
                                       "0.00195312",           "inf",       "(evaluations)",
                                       "truncation, order > 0"};
    enum { MORE = sizeof more / sizeof *more, ALL = 95 + MORE };
    char text[ALL][64];
    FILE *f = fopen(file_path("widths.tex"), "w");
    assert_non_null(f);
    fputs("\\documentclass{article}\\begin{document}\\footnotesize\n", f);
    for (int i = 0; i < ALL; i++) {
        const char c = (char)(' ' + i);
        snprintf(text[i], sizeof text[i], "%s", i < 95 ? (char[]){c, c, c, '\0'} : more[i - 95]);
        fputs("\\setbox0\\hbox{{}", f);
        (i < 95 ? latex_text : latex_number)(f, text[i]);
        fputs("{}}\\typeout{width \\the\\wd0}\n", f);
    }
    fputs("\\end{document}\n", f);
    fclose(f);
    shell_ok(
        "pdflatex -halt-on-error -interaction=nonstopmode widths.tex >none || { grep -A4 ^! none >&2; false; }; sed -n 's/^width \\(.*\\)pt$/\\1/p' widths.log >widths.txt");
    char *set_widths = file_slurp("widths.txt", NULL);
    int narrower = 0, i = 0;
    for (char *at = set_widths; i < ALL; i++) {
        double set = strtod(at, &at), bound = 0.0085 * (double)latex_width(text[i], i >= 95);
        if (!(set > 0 && set <= bound))
            fail_msg("'%s': %g points, thought %g at most", text[i], set, bound);
        narrower += set > 0.9 * bound;
    }
    assert_true(narrower > ALL / 4);
}

/* There is a condition for each of the 17 trees up to order 5. RK4 meets those up to order 4 alone. */
TEST(test_conditions)
{
    run_ok("expand --conditions 5 --scheme rk4,dormand-prince --csv");
    int held[2][6] = {{0}};
    assert_int_equal(count_lines(out), 1 + 2 * 17);
    for (int row = 0; row < 2 * 17; row++) {
        int order = atoi(out_cell(row + 1, "order"));
        assert_in_range(order, 1, 5);
        held[row / 17][order] += strcmp(out_cell(row + 1, "holds"), "yes") == 0;
    }
    for (int order = 1; order <= 5; order++) {
        static const int trees[] = {0, 1, 1, 2, 4, 9};
        assert_int_equal(held[1][order], trees[order]);
        assert_int_equal(held[0][order], order < 5 ? trees[order] : 0);
    }
    must_print("expand --conditions 4 --scheme rk4 --csv",
               "rk4,4,sum b_i c_i a_ij c_j,1/8,1/8,yes");
    /* Sums of roots that are fractions; those that are not, and those of rounded decimals. */
    must_print("expand --conditions 5 --scheme gauss4,sdirk2 --csv",
               "gauss4,4,sum b_i c_i^3,1/4,1/4,yes", "gauss4,5,sum b_i c_i^4,1/5,7/36,no",
               "sdirk2,2,sum b_i c_i,1/2,1/2,yes",
               "sdirk2,3,sum b_i c_i^2,1/3,0.35355339059327379,no");
    file_text("third.scheme", "scheme third\nk1 = H(y)\nk2 = H(y + .33333333333333333333*k1)\n"
                              "y' = y + .25*k1 + .75*k2\n");
    must_print("expand --conditions 2 --scheme-file third.scheme --csv", "third,1,sum b_i,1,1,yes",
               "third,2,sum b_i c_i,1/2,0.25,no");
    must_print("expand --conditions 5 --scheme rk4 --latex",
               "\\sum_{i,j} b_{i} a_{ij} c_{j}^{3} &= \\tfrac{1}{20} && \\text{(not met: 1/24)}");
    /* Two colours: Macaron meets the conditions of F'G and G'F alone of its four of order 2. */
    must_print("expand --conditions 2 --scheme macaron,strang-marchuk --csv",
               "macaron,2,sum b^F_i c^G_i,1/2,1/2,yes,F'G,1,2\n",
               "macaron,2,sum b^G_i c^G_i,1/2,1/4,no,G'G,1,2\n",
               "strang-marchuk,2,,1/2,1/2,yes,G'G,1,2\n");
    must_refuse("expand --conditions 3 --scheme ab2", "one-step schemes");
    must_refuse("expand --conditions 9 --scheme macaron", "1 to 8");
}

/* ROS2 with g = 1/2: alpha_21 = 1, gamma_21 = -1, b = (1/2, 1/2), so beta_i = 1/2 for both, and beta_ij beta_j is 1/4 and
 * then 0 + 1/4. A W-method's sums are apart. */
TEST(test_rosenbrock_conditions)
{
    static const char stages[] = "k1 = H(y)\nk2 = solve(1/2 %c)(k1)\nk3 = H(y + k2)\n"
                                 "k4 = solve(1/2 %c)(k3 - 2*k2)\ny' = y + 3/2*k2 + 1/2*k4\n";
    char text[512];
    size_t n = (size_t)snprintf(text, sizeof text, "scheme ros\n");
    n += (size_t)snprintf(text + n, sizeof text - n, stages, 'H', 'H');
    n += (size_t)snprintf(text + n, sizeof text - n, "scheme w\n");
    snprintf(text + n, sizeof text - n, stages, 'W', 'W');
    file_text("ros.txt", text);
    run_ok("expand --conditions 4 --scheme-file ros.txt --scheme ros --csv");
    assert_int_equal(count_lines(out), 1 + 8);
    HAS(out, "ros,2,sum b_i beta_i,1/2,1/2,yes,H'H,", "ros,3,sum b_i alpha_i^2,1/3,1/2,no,",
        "ros,3,sum b_i beta_ij beta_j,1/6,1/4,no,",
        "ros,4,sum b_i alpha_i alpha_ij beta_j,1/8,1/4,no,",
        "ros,4,sum b_i beta_ij alpha_j^2,1/12,1/4,no,");
    run_ok("expand --conditions 3 --scheme-file ros.txt --scheme w --csv");
    assert_int_equal(count_lines(out), 1 + 1 + 2 + 5);
    HAS(out, "w,2,sum b_i gamma_i,0,0,yes,W'H,", "w,3,sum b_i alpha_ij gamma_j,0,1/4,no,H'W'H,",
        "w,3,sum b_i gamma_ij alpha_j,0,1/4,no,W'H'H,");
    must_print("expand --conditions 3 --scheme rodas4 --latex",
               "\\sum_{i,j} b_{i} \\beta_{ij} \\beta_{j} &= \\tfrac{1}{6}\n");
    must_refuse("expand --conditions 3 --scheme etd-rk4", "an exponential integrator");
    must_print("schemes --tableau latex --scheme-file ros.txt --scheme ros",
               "  2 & -\\tfrac{1}{2} & -1 & \\tfrac{1}{2} \\\\\n\\end{array}");
    must_refuse("schemes --tableau json --scheme ros2", "by --tableau latex alone");
}

static size_t file_words(const char *file, const char *word)
{
    char *text = file_slurp(file, NULL);
    size_t n = (size_t)count_words(text, word);
    return n;
}

/* The 17 trees up to order 5 have 1 + 2 + 6 + 16 + 45 vertices and 17 fewer edges; rk4 meets 8 of them. In two colours
 * every vertex is blue or orange as often. */
TEST(test_trees)
{
    run_ok("expand --conditions 5 --scheme rk4 --out trees");
    assert_int_equal(file_words("trees/trees-rk4.svg", "<circle "), 70);
    assert_int_equal(file_words("trees/trees-rk4.svg", "<path "), 53);
    assert_int_equal(file_words("trees/trees-rk4.svg", "class=\"n\""), 17);
    assert_int_equal(file_words("trees/trees-rk4.svg", "class=\"v\""), 8);
    assert_true(file_has("trees/trees-rk4.svg", ">5/24, not 1/5<"));
    HAS(file_slurp("trees/conditions.tex", NULL),
        "rk4 & 3 & $\\sum_{i} b_{i} c_{i}^{2}$ & $\\tfrac{1}{3}$ & $\\tfrac{1}{3}$ & yes",
        "$\\sum_{i,j} b_{i} c_{i} a_{ij} c_{j}$", "~textasciicircum");
    HAS(file_slurp("trees/trees-rk4.tex", NULL), "\\fill[treeH](0.5,0)",
        "$H''(H,H'H)$ & 4 & 1 & 8 & $\\sum_{i,j} b_{i} c_{i} a_{ij} c_{j} = \\tfrac{1}{8}$ & $\\tfrac{1}{8}$ & yes");
    run_ok("expand --conditions 3 --scheme strang-marchuk:heun --out trees");
    size_t blue = file_words("trees/trees-strang-marchuk-heun.svg", "#0072B2");
    assert_true(blue > 20 && blue == file_words("trees/trees-strang-marchuk-heun.svg", "#E69F00"));
    run_ok("report trees");
    assert_true(file_has("trees/report.html", "trees-rk4.svg"));
    need_tool("pdflatex");
    shell_ok(
        "{ printf '%%s\\n' '\\documentclass{article}\\usepackage{amsmath,longtable,tikz}\\begin{document}'; cat trees/trees-*.tex; printf '%%s\\n' '\\end{document}'; } >trees.tex");
    if (shell("kpsewhich tikz.sty >none") != 0) skip();
    shell_ok(
        "pdflatex -halt-on-error -interaction=nonstopmode trees.tex >trees.txt && ! grep Overfull trees.txt");
}

/* Gauss's method of two stages, A-stable, with fractions that round its coefficients: |R| - 1 is of their rounding. With
 * fewer digits it is another method. */
TEST(test_rounded_stability)
{
    static const char text[] = "scheme gauss\nk1 = H(y + 1/4*k1 - %s*k2)\n"
                               "k2 = H(y + 538675134594813/1000000000000000*k1 + 1/4*k2)\n"
                               "y' = y + 1/2*k1 + 1/2*k2\n";
    for (int i = 0; i < 2; i++) {
        file_text("gauss.scheme",
                  formed(text, i ? "386751/10000000" : "386751345948129/10000000000000000"));
        run_ok("schemes --scheme-file gauss.scheme --scheme gauss --csv");
        assert_true(isinf(out_number(1, "imag_limit")) == !i);
        run_ok("stability --scheme-file gauss.scheme --scheme gauss");
        assert_true((strstr(out, "  inf  ") != NULL) == !i);
    }
}

/* Heun's method with decimals, with fractions that round them, and with a fraction too far off. */
TEST(test_rounded_coefficients)
{
    static const struct {
        const char *third, *says, *order;
    } row[] = {
        {"0.333333333333333", "order 3 (conditions hold to 1.7e-16; order 4 fails by 0.042)", "3"},
        {"333333333333/1000000000000",
         "order 3 (conditions hold to 1.7e-13; order 4 fails by 0.042); fractions that are roundings: exactly 2",
         "3"},
        {"33333333/100000000", NULL, "2"},
        {"1/3", NULL, "3"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[512];
        sprintf(text,
                "scheme third\nk1 = H(y)\nk2 = H(y + %s*k1)\nk3 = H(y + 2/3*k2)\n"
                "y' = y + 1/4*k1 + 3/4*k3\n",
                row[i].third);
        file_text("third.scheme", text);
        run_ok("schemes --scheme-file third.scheme --scheme third");
        if (row[i].says ? !strstr(err, row[i].says) : !!strstr(err, "conditions hold"))
            fail_msg("%s: %s", row[i].third, err);
        run_ok("schemes --scheme-file third.scheme --scheme third --csv");
        assert_string_equal(out_cell(1, "order"), row[i].order);
    }
}

/* A tableau for papers: the upper half of an explicit one is empty, an implicit one is whole, yhat has a row. */
TEST(test_latex_tableau)
{
    must_print("schemes --tableau latex --scheme heun-euler",
               "\\begin{array}{c|*{2}{c}}\n  0 \\\\\n  1 & 1 \\\\\n  \\hline\n"
               "   & \\tfrac{1}{2} & \\tfrac{1}{2} \\\\\n   & 1 & 0\n\\end{array}\n");
    must_print("schemes --tableau latex --scheme implicit-euler",
               "  1 & 1 \\\\\n  \\hline\n   & 1\n");
    must_print("schemes --tableau latex --scheme ros2,bogacki-shampine,dormand-prince,rk4",
               "-\\tfrac{2187}{6784}");
    file_text("tableaus.tex", out);
    must_refuse("schemes --tableau latex --scheme macaron", "macaron has no tableau");
    must_refuse("schemes --tableau tex --scheme rk4", "json|drawn|latex");
    need_tool("pdflatex");
    assert_false(too_wide("tableaus.tex"));
}

TEST_MAIN(program_open, program_close)
