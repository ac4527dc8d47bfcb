/* test_formula.c: the program's notation as MathML: the look of each formula, the text that is kept for copying, and
 * that any text is safe. */
#include "tests/lib/test.h"

#include "studies/theory/derivation.h"
#include "studies/page/report/report.h"
#include "studies/base/latex.h"
#include "studies/base/notation.h"
#include "tests/lib/html.h"
#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

static char html[1 << 16];

static const char *math(const char *text)
{
    FILE *f = fmemopen(html, sizeof html, "w");
    assert_non_null(f);
    formula_put(f, text);
    fclose(f);
    return html;
}

#define F "<mi>F</mi>"
#define G "<mi>G</mi>"
#define L "<mo stretchy=\"false\">(</mo>"
#define R "<mo stretchy=\"false\">)</mo>"
#define BL "<mo stretchy=\"false\">[</mo>"
#define BR "<mo stretchy=\"false\">]</mo>"
#define COMMA "<mo>,</mo>"

static const struct {
    const char *text, *inside;
} formulas[] = {
    {"F'F", F "<mo>′</mo>" F},
    {"F''(F,G'F)", F "<mo>″</mo><mrow>" L F COMMA G "<mo>′</mo>" F R "</mrow>"},
    {"F''''''", F "<mo>⁗</mo><mo>″</mo>"},
    {"[F,[F,G]]", "<mrow>" BL F COMMA "<mrow>" BL F COMMA G BR "</mrow>" BR "</mrow>"},
    {"-7/1440", "<mo>−</mo><mfrac><mn>7</mn><mn>1440</mn></mfrac>"},
    {"0.00165", "<mn>0.00165</mn>"},
    {"1.5e-07", "<mn>1.5e-07</mn>"},
    {"1.5/2", "<mn>1.5</mn><mo>/</mo><mn>2</mn>"},
    {"O(h^(p+1))",
     "<mi>O</mi><mrow>" L "<msup><mi>h</mi><mrow><mi>p</mi><mo>+</mo><mn>1</mn></mrow>"
     "</msup>" R "</mrow>"},
    {"(sf)^n", "<msup><mrow>" L "<mtext>sf</mtext>" R "</mrow><mrow><mi>n</mi></mrow></msup>"},
    {"sum beta_ij", "<mo>∑</mo><msub><mi>β</mi><mi>ij</mi></msub>"},
    {"b^F_i c^2",
     "<msubsup><mi>b</mi><mi>i</mi><mi>F</mi></msubsup><msup><mi>c</mi><mrow><mn>2</mn></mrow></msup>"},
    {"h^degree", "<msup><mi>h</mi><mrow><mtext>degree</mtext></mrow></msup>"},
    {"F'G1", F "<mo>′</mo><msub>" G "<mn>1</mn></msub>"},
    {"h·λ_F", "<mi>h</mi><mo>·</mo><msub><mi>λ</mi>" F "</msub>"},
    {"G'F − F'G", G "<mo>′</mo>" F "<mo>−</mo>" F "<mo>′</mo>" G},
    {"y_{k+1}", "<msub><mi>y</mi><mrow><mi>k</mi><mo>+</mo><mn>1</mn></mrow></msub>"},
    {"", ""},
};

TEST(mathml)
{
    char expected[1024];
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        math(formulas[i].text);
        const char *inside = strchr(html, '>') + 1;
        snprintf(expected, sizeof expected, "%s</math>", formulas[i].inside);
        if (strcmp(inside, expected) != 0) fail_msg("%s: %s", formulas[i].text, html);
        if (html_unbalanced(html)) fail_msg("%s is not balanced", html);
    }
    assert_non_null(strstr(math("F'F"), "<math alttext=\"F&#39;F\">"));
}

/* Texts that are no formula, torn ones and long ones are safe. */
TEST(any_text_is_safe)
{
    static const char *const odd[] = {"<script>", "a & \"b\"", "((([",  ")]",   "^",   "^^2",
                                      "x^",       "x^(",       "F''''", "[F,G", "_a",  "a_",
                                      "1/",       "1e",        "λ",     "\xce", "$ $", "\xff\xfe"};
    char nested[FORMULA_MOST + 2] = "";
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if (html_unbalanced(math(odd[i]))) fail_msg("'%s': %s", odd[i], html);
    assert_null(strstr(math("<script>"), "<script"));
    memset(nested, '(', FORMULA_MOST / 2);
    memset(nested + FORMULA_MOST / 2, ')', FORMULA_MOST / 2);
    math(nested);
    assert_int_equal(memcmp(html + strlen(html) - 7, "</math>", 7), 0);
    memset(nested, 'F', FORMULA_MOST + 1);
    assert_string_equal(math(nested), nested);
}

/* The same notation for LaTeX. */
TEST(latex)
{
    static const char *const row[][2] = {
        {"1/2 h^2 F''(F,G)", "\\tfrac{1}{2}\\, h^{2} F''(F,G)"},
        {"F''''(F,F,F,G)", "F^{(4)}(F,F,F,G)"},
        {"-1.5e-07 G2'F", "-1.5\\cdot10^{-7}\\, G_{2}'F"},
        {"(1/3·1/8 - 1/24) [F,[F,G]]",
         "(\\tfrac{1}{3}\\cdot \\tfrac{1}{8} - \\tfrac{1}{24}) [F,[F,G]]"},
        {"O(h^(p+1)) <= y_{k+1}", "O(h^{p+1}) \\le  y_{k+1}"},
        {"phi2(1/2 F)(k1 + k2[-1])", "\\varphi_{2}(\\tfrac{1}{2}\\, F)(k_{1} + k_{2}[-1])"},
        {"log(exp(Z) exp(X))", "\\log (\\exp (Z) \\exp (X))"},
        {"sum b_i c_i^2 = 1/3", "\\sum_{i} b_{i} c_{i}^{2} = \\tfrac{1}{3}"},
        {"sum b^F_i (c^G_i)^2 a_ij beta_j",
         "\\sum_{i,j} b^{F}_{i} (c^{G}_{i})^{2} a_{ij} \\beta_{j}"},
        {"sum beta", "\\sum \\beta"},
        {"x_% & \\ {#} $", "x\\_\\% \\& \\backslash  \\{\\#\\} \\$"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        FILE *f = fmemopen(html, sizeof html, "w");
        latex_formula(f, row[i][0]);
        fclose(f);
        assert_string_equal(html, row[i][1]);
    }
}

/* Marks each formula of a text by << and >>. */
static const char *marked(const char *text)
{
    FILE *f = fmemopen(html, sizeof html, "w");
    for (NotationPart p; fprintf(f, "%.*s", (int)(p = notation_next(text)).words, text), p.bytes;
         text = p.behind)
        fprintf(f, "<<%.*s>>", (int)p.bytes, p.formula);
    fclose(f);
    return html;
}

/* Formulas are found in prose, and prose is left alone. */
TEST(prose)
{
    static const char *const row[][2] = {
        {"exact - numerical = h^2/2 (F'G - G'F) + O(h^3). This is",
         "exact - numerical <<= h^2/2 (F'G - G'F) + O(h^3)>>. This is"},
        {"(Its error: -h^2/2 F'F + O(h^3).)", "(Its error: <<-h^2/2 F'F + O(h^3)>>.)"},
        {"begins with h 1/2 [F,G], [F,G] = G'F - F'G.",
         "begins with <<h 1/2 [F,G]>>, <<[F,G] = G'F - F'G>>."},
        {"as h^2 (1/4 [F, C - G] + 1/8 [G,C]) says",
         "as <<h^2 (1/4 [F, C - G] + 1/8 [G,C])>> says"},
        {"as printed, y_{n+1} = y_n + W_n F(y_n): no",
         "as printed, <<y_{n+1} = y_n + W_n F(y_n)>>: no"},
        {"as (11) has them, for (2), y' = F(y, theta(t)).", NULL},
        {"Lie-Trotter's layer, F's part, a word of 3F + 3G (2 of 3); G/2 F G/2", NULL},
        {"a step of $h = 1$, $λ$", "a step of <<h = 1>>, <<λ>>"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_string_equal(marked(row[i][0]), row[i][1] ? row[i][1] : row[i][0]);
}

/* Memory that fails at any place leaves nothing behind. */
TEST(derivation_starves)
{
    static const char *const name[] = {"heun", "ab2", "strang-marchuk"};
    for (size_t i = 0; i < 3; i++) {
        OWN_TABLE *t = scheme(name[i]);
        Derivation d = {0};
        assert_true(
            FAILURES(ERR_MEMORY, code = derivation_error(&d, t, 2, 0); derivation_free(&d)) > 20);
        derivation_free(&d);
        if (i < 2) continue;
        assert_true(
            FAILURES(ERR_MEMORY, code = derivation_brackets(&d, t, 3); derivation_free(&d)) > 20);
        derivation_free(&d);
    }
}

/* Bytes that are not UTF-8 (RFC 3629), controls and marks of direction are U+FFFD; a character that is cut counts as such
 * bytes. */
TEST(test_harmless_text)
{
    static const char names[] = "n\xff\xc3(\x1b\xc2\x9b\xe2\x80\xae<\xc3\xa9\xe6\x97";
#define LOST "\xef\xbf\xbd"
    assert_string_equal(WRITTEN(f, html_text(f, names)),
                        "n" LOST LOST "(" LOST LOST LOST "&lt;\xc3\xa9" LOST LOST);
    assert_string_equal(WRITTEN(f, html_bytes(f, "\xc3\xa9\xc3\xa9", 3)), "\xc3\xa9" LOST);
}

TEST_MAIN(zoo_begin, zoo_end)
