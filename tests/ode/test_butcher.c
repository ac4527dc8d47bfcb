/* test_butcher.c: tableaus of Runge-Kutta methods. A printed tableau reads back as the same table, for every scheme
 * that has one. The tests also read published tableaus in the forms of others, and bad ones. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

/* Returns the table of a tableau; NULL: it is refused. */
static Table *parse(const char *text)
{
    Tables l = {0};
    int code = butcher_parse("tableau", text, strlen(text), &l.table, &l.count);
    assert_int_equal(l.count, code == 0);
    Table *t = code == 0 ? l.table[0] : NULL;
    memory_free(l.table);
    return t;
}

static Table *parsed(const char *text)
{
    Table *t = parse(text);
    if (!t) fail_msg("%s\n%s", text, error_text());
    return t;
}

/* Returns a printed tableau (kept_text); NULL: there is none. */
static char *print(const Table *t, int form)
{
    int code;
    char *text = WRITTEN(f, code = butcher_print(t, form, f));
    return code == 0 ? text : NULL;
}

/* Exact tables of the zoo come back equal. Those with roots come back in 17 digits. */
TEST(every_tableau_comes_back)
{
    size_t tableaus = 0;
    for (size_t i = 0; i < zoo.count; i++)
        for (int form = BUTCHER_JSON; form <= BUTCHER_DRAWN; form++) {
            const Table *of = zoo.scheme[i];
            char *text = print(of, form);
            assert_int_equal(text != NULL,
                             table_over(of, OP_H) && !of->past_y && !of->past_k && !of->symbols);
            if (!text) continue;
            assert_true(butcher_is(text, strlen(text)));
            OWN_TABLE *t = parsed(text);
            assert_string_equal(t->name, of->name);
            if (of->exact) same_table(t, of);
            tableaus++;
        }
    assert_true(tableaus >= 16);
}

static const char dopri[] =
    "{\"name\": \"Dormand-Prince 5\", \"A\": [[], [\"1/5\"], [\"3/40\", \"9/40\"], [\"44/45\", \"-56/15\", \"32/9\"],\n"
    " [\"19372/6561\", \"-25360/2187\", \"64448/6561\", \"-212/729\"], [\"9017/3168\", \"-355/33\", \"46732/5247\", \"49/176\", \"-5103/18656\"]],\n"
    " \"b\": [\"35/384\", 0, \"500/1113\", \"125/192\", \"-2187/6784\", \"11/84\"], \"c\": [0, 0.2, 0.3, 0.8, \"8/9\", 1]}";
static const char nodepy[] =
    "RK44\nClassical RK4\n 0   |\n 1/2 | 1/2\n 1/2 | 0    1/2\n 1   | 0    0    1\n_____|____________________\n"
    "     | 1/6  1/3  1/3  1/6\n";
static const char gill[] =
    "| \n1/2 | 1/2\n 1/2 | (sqrt(2)-1)/2 (2-sqrt(2))/2\n 1 | 0 -sqrt(2)/2 (2+sqrt(2))/2\n---+---\n | 1/6 (2-sqrt(2))/6 "
    "(2+sqrt(2))/6 1/6";

/* Decimals come back as they were written. */
TEST(decimals_stay_short)
{
    OWN_TABLE *t = parsed("{\"A\": [[], [0.1]], \"b\": [0.3, 0.7]}");
    char *json = print(t, BUTCHER_JSON);
    assert_non_null(strstr(json, "[\"0.3\", \"0.7\"]"));
    assert_null(strstr(json, "9999"));
}

static void check_order(const char *text, const char *name, int order)
{
    OWN_TABLE *t = parsed(text);
    assert_string_equal(t->name, name);
    assert_int_equal(theory_of(t, 7).order, order);
}

TEST(published_ones)
{
    check_order(dopri, "dormand-prince5", 5);
    check_order(nodepy, "rk44", 4);
    check_order(gill, "tableau", 4);
    char *spoilt = strdup(dopri); /* the control: one digit */
    *strstr(spoilt, "500") = '6';
    check_order(spoilt, "dormand-prince5", 0);
    free(spoilt);
}

/* Hairer, Norsett, Wanner 1993, table II.5.1, as NodePy draws pairs. The second row is Fehlberg's result, of order
 * 4. */
static const char fehlberg[] =
    "Fehlberg\n 0 |\n 1/4 | 1/4\n 3/8 | 3/32 9/32\n 12/13 | 1932/2197 -7200/2197 7296/2197\n"
    " 1 | 439/216 -8 3680/513 -845/4104\n 1/2 | -8/27 2 -3544/2565 1859/4104 -11/40\n_____|_____\n"
    " | 16/135 0 6656/12825 28561/56430 -9/50 2/55\n | 25/216 0 1408/2565 2197/4104 -1/5 0\n";

TEST(pairs)
{
    char *spoilt = strdup(fehlberg);
    *strstr(spoilt, "1408") = '2'; /* the control */
    OWN_TABLE *t = parsed(fehlberg), *other = parsed(spoilt);
    char *json = print(t, BUTCHER_JSON);
    OWN_TABLE *again = parsed(json);
    Embedded e = embedded_of(t), off = embedded_of(other);
    assert_true(e.order == 4 && e.estimate_order == 4);
    assert_true(off.order == 0 && off.estimate_order == 0);
    same_table(t, again);
    memcpy(strstr(json, "bhat"), "hide", 4); /* an unknown key: no pair */
    OWN_TABLE *without = parsed(json);
    assert_true(!without->pair && !table_equal(t, without));
    free(spoilt);
}

/* Writes Ketcheson's SSPRK(10,4): two halves of five stages. */
static void write_ssp104(char *text)
{
    char *p = text + sprintf(text, "{\"name\": \"ssp104\", \"A\": [");
    for (int i = 0; i < 10; i++) {
        p += sprintf(p, "%s[", i ? ", " : "");
        for (int j = 0; j < i; j++)
            p += sprintf(p, "%s\"%s\"", j ? ", " : "", i >= 5 && j < 5 ? "1/15" : "1/6");
        p += sprintf(p, "]");
    }
    p += sprintf(p, "], \"b\": [");
    for (int j = 0; j < 10; j++) p += sprintf(p, "%s\"1/10\"", j ? ", " : "");
    sprintf(p, "]}");
}

/* Coefficients are those of Gottlieb, Ketcheson, Shu 2011, chapters 2, 6 and 7; Ralston's is by hand: b1 >= r b2 a21.
 * The implicit methods are the optimal ones of 1 and 2 stages (Ferracina, Spijker 2008): 2 s of order 2, s - 1 +
 * sqrt(s^2 - 1) of order 3. The last but one has the other root for its diagonal. */
TEST(strong_stability)
{
    char ssp104[2000];
    write_ssp104(ssp104);
    const struct {
        const char *text;
        double coefficient;
    } row[] = {
        {"{\"A\": [[]], \"b\": [1]}", 1},
        {"{\"A\": [[], [1]], \"b\": [0.5, 0.5]}", 1},
        {"{\"A\": [[], [\"2/3\"]], \"b\": [\"1/4\", \"3/4\"]}", 0.5},
        {"{\"A\": [[], [\"1/2\"]], \"b\": [0, 1]}", 0},
        {"{\"A\": [[], [1], [\"1/4\", \"1/4\"]], \"b\": [\"1/6\", \"1/6\", \"2/3\"]}", 1},
        {"{\"A\": [[], [0.5], [0.5, 0.5], [\"1/6\", \"1/6\", \"1/6\"]], \"b\": [\"1/6\", \"1/6\", \"1/6\", \"1/2\"]}",
         2},
        {"{\"A\": [[], [\"1/3\"], [\"1/3\", \"1/3\"], [\"1/3\", \"1/3\", \"1/3\"]], \"b\": [0.25, 0.25, 0.25, 0.25]}",
         3},
        {nodepy, 0},
        {ssp104, 6},
        {"{\"A\": [[1]], \"b\": [1]}", INFINITY},
        {"{\"A\": [[0.5]], \"b\": [1]}", 2},
        {"{\"A\": [[], [0.5, 0.5]], \"b\": [0.5, 0.5]}", 2},
        {"{\"A\": [[0.25], [0.5, 0.25]], \"b\": [0.5, 0.5]}", 4},
        {"{\"A\": [[\"0.21132486540518711775\"], [\"0.57735026918962576451\", "
         "\"0.21132486540518711775\"]], \"b\": [0.5, 0.5]}",
         2.7320508075688773},
        {"{\"A\": [[\"0.78867513459481288225\"], [\"-0.57735026918962576451\", "
         "\"0.78867513459481288225\"]], \"b\": [0.5, 0.5]}",
         0},
        {"{\"A\": [[\"5/12\", \"-1/12\"], [\"3/4\", \"1/4\"]], \"b\": [\"3/4\", \"1/4\"]}", 0},
        {"{\"A\": [[], [\"1/2\"], [\"1/2\", \"1/6\"]], \"b\": [\"1/5\", \"1/5\", \"3/5\"]}",
         0.5358983848622454}, /* 4 - 2 sqrt 3 */
        /* Spiteri and Ruuth's SSPRK(5,4) */
        {"{\"A\": [[], [0.391752226571890], [0.217669096261169, 0.368410593050371], [0.0826920866578106, 0.139958502191896, "
         "0.251891774271694], [0.0679662836371148, 0.115034698504632, 0.207034898597386, 0.544974750228521]], \"b\": "
         "[0.146811876084786, 0.248482909444976, 0.104258830331981, 0.274438900901350, 0.226007483236906]}",
         1.508180049}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        double c;
        int proved;
        OWN_TABLE *t = parsed(row[i].text);
        assert_int_equal(stability_ssp(t, &c, &proved), 0);
        assert_true(proved == t->exact);
        /* Those of fractions are the nearest doubles; whole numbers come out exactly. */
        double want = row[i].coefficient, off = t->exact ? 0 : want == floor(want) ? 1e-15 : 1e-8;
        if (c != want && !(fabs(c - want) <= off)) fail_msg("row %zu: %.17g", i, c);
    }
    check_order(ssp104, "ssp104", 4);
    OWN_TABLE *macaron = scheme("macaron");
    double none;
    assert_int_equal(stability_ssp(macaron, &none, NULL), 0);
    assert_true(isnan(none));
}

/* A name that looks like the rule of a drawn tableau is none. */
TEST(name_like_a_rule)
{
    OWN_TABLE *t = parse("{\"name\": \"--+--\", \"A\": [[]], \"b\": [1]}");
    assert_string_equal(t->name, "tableau");
}

#define LARGE "299999997000000000000000000000000000000000308316430489784156"

/* Lobatto IIIB and IIID of two stages (Hairer, Wanner 1996, section IV.5): some c is no sum of its row. Large ones, here
 * about 1e61, agree to rounding. */
TEST(nodes_of_their_own)
{
    static const char *const text[] = {
        "{\"A\": [[\"1/2\", 0], [\"1/2\", 0]], \"b\": [\"1/2\", \"1/2\"], \"c\": [0, 1]}",
        "{\"A\": [[\"1/2\", \"1/2\"], [\"-1/2\", \"1/2\"]], \"b\": [\"1/2\", \"1/2\"], \"c\": [0, 1]}"};
    for (size_t i = 0; i < 2; i++) {
        OWN_TABLE *t = parsed(text[i]);
        assert_true(table_written(t) && strstr(t->note, "c1 is 0, which is not the sum"));
        for (int form = BUTCHER_JSON; form <= BUTCHER_DRAWN; form++) {
            char *again = print(t, form);
            OWN_TABLE *back = parsed(again);
            same_table(back, t);
        }
    }
    static const struct {
        const char *a, *c;
        int written; /* c is not the sum of its row */
    } row[] = {{"1", "(2-1/2)/2", 1},
               {"1", "(3-1)/2", 0},
               {LARGE "15/3", LARGE "15/3", 0},
               {LARGE "15/3", "1" LARGE "15/3", 1}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_TABLE *t = parsed(formed("{\"A\": [[], [\"%s\"]], \"b\": [0, 1], \"c\": [0, \"%s\"]}",
                                     row[i].a, row[i].c));
        assert_int_equal(table_written(t), row[i].written);
        if (i == 0) assert_int_equal(mpq_cmp_ui(t->point[1].c[OP_G], 3, 4), 0);
    }
}

/* Objects one after another, as `--tableau json` prints those of several schemes; brackets in names do not count, and lines are those of the file. */
TEST(several_objects)
{
    static const char text[] =
        "{\"name\": \"a}\\\"{\", \"A\": [[]], \"b\": [1]}\n\n"
        "{\"name\": \"heun\", \"A\": [[], [1]],\n \"b\": [\"1/2\", \"1/2\"]}\n";
    OWN_TABLES l = {0};
    assert_int_equal(butcher_parse("tableau", text, strlen(text), &l.table, &l.count), 0);
    assert_int_equal(l.count, 2);
    assert_int_equal(l.table[1]->stages, 2);
    OWN_TABLES bad = {0};
    const char *more = formed("%s{\"A\": [[0], [1/6]], \"b\": [0, 1]}", text);
    assert_refused(butcher_parse("tableau", more, strlen(more), &bad.table, &bad.count), "more",
                   "tableau:5: a fraction is a text in JSON");
    OWN_TABLES rest = {0};
    more = formed("%s}", text);
    assert_refused(butcher_parse("tableau", more, strlen(more), &rest.table, &rest.count), "rest",
                   "tableau:5: ");
}

/* What no tableau can show is refused, and in LaTeX a number has its fraction or its power of ten. */
TEST(what_is_printed)
{
    static const char *const refused[][2] = {
        {"lie-trotter", "has no tableau"},
        {"rk2-gate", "has no tableau"},
        {"ab2", "has no tableau"},
        {"euler-decoder", "has no tableau"},
        {"k1 = H(2*y)\ny' = y + k1", "has no tableau"},
        {"k1 = H(y)\ny' = k1", "has no tableau"},
        {"k1 = H(y)\ny' = y + k1 + y[-1]", "has no tableau"},
        {"carry v\nk1 = H(y)\nv' = k1\ny' = y + v", "carr"},
        {"k1 = H(y)\nk2 = solve(H)(k1)\ny' = y + k2", "printed by --tableau latex alone"}};
    static const char *const latex[][2] = {
        {"k1 = H(y)\ny' = y - 1/2*k1", "-\\tfrac{1}{2}"},
        {"k1 = H(y)\nk2 = H(y + 1e-9*k1)\ny' = y + k2", "1\\cdot10^{-09}"},
        {"k1 = H(y + k1)\ny' = y + k1\n", "1 & 1 \\\\\n"},
        {fehlberg, "\\tfrac{2197}{4104}"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        OWN_TABLE *t = scheme(refused[i][0]);
        assert_refused(butcher_print(t, BUTCHER_LATEX, stdout), refused[i][0], refused[i][1]);
    }
    for (size_t i = 0; i < sizeof latex / sizeof *latex; i++) {
        OWN_TABLE *t = butcher_is(latex[i][0], strlen(latex[i][0])) ? parsed(latex[i][0])
                                                                    : scheme(latex[i][0]);
        char *text = print(t, BUTCHER_LATEX);
        if (!strstr(text, latex[i][1])) fail_msg("%s is printed as\n%s", latex[i][0], text);
    }
    OWN_TABLE *named = parsed("\n \n  two words\nmore\n | \n---\n | 1\n");
    assert_string_equal(named->name, "two");
}

TEST(what_is_refused)
{
    static const char *const row[][2] = {
        {"{\"A\": [[0], [1/6]], \"b\": [0, 1]}",
         "tableau:1: a fraction is a text in JSON: write \"1/6\""},
        {"{\"A\": [[], [1]], \"b\": [0.5, 0.5], \"bhat\": [1]}", "bhat: expected an array of 2"},
        {"{\"A\": [[], [1]], \"b\": [0.5, 0.5], \"bhat\": [0.5, 0.5]}",
         "expected a slope in the estimate"},
        {" |\n1 | 1\n---\n | 1/2 1/2\n | 1 0\n | 0 1\n", "a third row of weights"},
        {"{\"A\": [[], [1]], \"b\": [0.5]}", "b: expected an array of 2"},
        {"{\"A\": [[], [1, 0, 0]], \"b\": [0.5, 0.5]}", "row 2 of A"},
        {"{\"A\": [[], [\"x\"]], \"b\": [0.5, 0.5]}", "'x' is no number"},
        {"{\"A\": [[], [true]], \"b\": [0.5, 0.5]}", "expected a number"},
        {"{\"A\": [], \"b\": []}", "0 stages"},
        {"{\"A\": [[], [1]], \"b\": [0, 1], \"c\": [0, \"1/0\"]}",
         "expected a divisor other than zero"},
        {"{\"A\": [[], [1]], \"b\": [0, 1], \"c\": [0, \"1e400\"]}", "expected an exponent of ten"},
        {"{\"A\": [[]], ", "tableau:1:"},
        {"{}", "0 stages"},
        {" | 1 2\n---\n | 1\n", "more than 1 numbers"},
        {" |\n 1 | 1\n", "expected a rule"},
        {" |\n---\n |\n", "no weights"},
        {" |\n---\n | 1\n---\n | x\n", "'x' is no number"},
        {" |\n 1 | 1 |\n---\n | 1 0\n", "'|' is no number"},
        {"{\"A\": [[], [1]], \"b\": {}}", "b: expected an array of 2"},
        {"{\"A\": [[], [1/x]], \"b\": [0, 1]}", "tableau:1: ']' expected near '/'"},
        {"{\"A\": [[], [/2]], \"b\": [0, 1]}", "tableau:1: invalid token near '/'"},

        {"{\"A\": 1/2", "tableau:1: a fraction is a text in JSON: write \"1/2\""},
        {"{1/2", "tableau:1: a fraction is a text in JSON: write \"1/2\""},
        {"{\"A\": /", "tableau:1: invalid token near '/'"},
        {"{", "tableau:1: "},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Table *t = parse(row[i][0]);
        assert_refused(t ? 0 : ERR_INPUT, row[i][0], row[i][1]);
    }
    Table **list = NULL; /* nothing is read behind the end: the sanitizer looks */
    size_t count, bytes = strlen("{\"A\": [[");
    char *exact = memcpy(malloc(bytes), "{\"A\": [[", bytes);
    assert_int_equal(butcher_parse("tableau", exact, bytes, &list, &count), ERR_INPUT);
    free(exact);
    static const char cut[] = "{\"A\": [[]], \"b\": [1]} \"\\";
    exact = memcpy(malloc(sizeof cut - 1), cut, sizeof cut - 1);
    OWN_TABLES l = {0};
    assert_int_equal(butcher_parse("tableau", exact, sizeof cut - 1, &l.table, &l.count),
                     ERR_INPUT);
    free(exact);
    assert_int_equal(butcher_parse("tableau", "| 1\0", 4, &l.table, &l.count), ERR_INPUT);
    assert_string_equal(error_text(), "tableau: a NUL byte in a tableau");
    char *many =
        WRITTEN(f, fputs("{\"A\": [", f); for (int i = 0; i < 257; i++) fputs(i ? ", []" : "[]", f);
                fputs("], \"b\": []}", f));
    assert_int_equal(butcher_parse("tableau", many, strlen(many), &l.table, &l.count), ERR_INPUT);
    assert_string_equal(error_text(), "tableau: 257 stages: expected 1 to 256");
    char *digits =
        WRITTEN(f, fputs(" |\n---\n | ", f); for (int i = 0; i < 700; i++) fputc('1', f));
    assert_int_equal(butcher_parse("tableau", digits, strlen(digits), &l.table, &l.count),
                     ERR_INPUT);
    assert_string_equal(error_text(),
                        "tableau: line 3: '1111111111111111111111111111111111111111' is "
                        "no number, as 1/2 or 0.5");
    assert_int_equal(butcher_is(" \n ", 3), 0);
    assert_int_equal(butcher_is("scheme a\n# | b\n", 15), 0);
    assert_int_equal(butcher_is("nothing", 7), 0);
}

TEST_MAIN(zoo_begin, zoo_end)
