/* test_formula.c: the program's notation as MathML: the look of each formula, the text that is kept for copying, and
 * that any text is safe. */
#include "tests/lib/test.h"

#include "studies/report/report.h"
#include "tests/lib/html.h"

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
    {"h^degree", "<msup><mi>h</mi><mrow><mtext>degree</mtext></mrow></msup>"},
    {"F'G1", F "<mo>′</mo><msub>" G "<mn>1</mn></msub>"},
    {"h·λ_F", "<mi>h</mi><mo>·</mo><msub><mi>λ</mi>" F "</msub>"},
    {"G'F − F'G", G "<mo>′</mo>" F "<mo>−</mo>" F "<mo>′</mo>" G},
    {"", ""},
};

TEST(notation)
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

TEST_MAIN(NULL, NULL)
