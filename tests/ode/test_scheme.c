/* test_scheme.c: the language of schemes: round trips, errors and their places, expansions, starts. */
#include "tests/lib/test.h"

#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"
#include "ode/ode.h"

static Zoo zoo;

static int setup(void **state)
{
    (void)state;
    return zoo_open(&zoo);
}

static int teardown(void **state)
{
    (void)state;
    zoo_close(&zoo);
    return memory_live() != 0; /* no test may leak */
}

static int parse_text(const char *text, Table **out)
{
    Table **list = NULL;
    size_t count = 0;
    int code = scheme_parse("text", text, strlen(text), &list, &count);
    *out = NULL;
    if (code == 0) {
        assert_int_equal(count, 1);
        *out = list[0];
    }
    memory_free(list);
    return code;
}

static Table *find(const char *name, const char *solver)
{
    Table *t;
    if (zoo_find(&zoo, name, solver, &t) != 0) fail_msg("%s: %s", name, error_text());
    return t;
}

static Table *print_and_parse(const Table *t)
{
    char *text;
    size_t bytes;
    Table *again;
    FILE *f = open_memstream(&text, &bytes);
    assert_int_equal(table_print(t, f), 0);
    fclose(f);
    if (parse_text(text, &again) != 0) fail_msg("%s\n%s", text, error_text());
    free(text);
    return again;
}

static void check_round_trip(const Table *t)
{
    Table *again = print_and_parse(t);
    if (!table_equal(t, again)) fail_msg("%s does not come back from its own text", t->name);
    table_free(again);
}

TEST(test_zoo_round_trip)
{
    static const char *const made =
        "word:ssfsff,word:s,sandwich:6-2:heun,looped:4,repeat:3,dial:3-0.25,"
        "dial:2,1/2,strang-marchuk:rk4,"
        "yoshida4:ssprk3,yoshida4:euler,ruth3:midpoint";
    Table **list;
    size_t count;
    const char *const names[] = {"all", "implicit", made};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(zoo_list(&zoo, names[i], "exact", &list, &count), 0);
        for (size_t k = 0; k < count; k++) {
            check_round_trip(list[k]);
            table_free(list[k]);
        }
        memory_free(list);
    }
}

/* The longest names of the zoo, printed in a text such as a model's file, can be read again. */
TEST(test_longest_names)
{
    static const char *const behind[] = {"", "-decoder", ":euler", "-decoder:euler"};
    char name[2 * TABLE_NAME] = "word:";
    for (size_t i = 0; i < ZOO_LETTERS; i++) strcat(name, i % 2 ? "f" : "s");
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        strcpy(name + n, behind[i]);
        Table *t = find(name, "exact");
        assert_string_equal(t->name, name);
        check_round_trip(t);
        table_free(t);
    }
    Table *t;
    strcpy(name + n, "s");
    assert_int_equal(zoo_find(&zoo, name, "exact", &t), ERR_INPUT);
    assert_non_null(strstr(error_text(), "1 to 128 letters"));
}

/* A long name of a scheme file that leaves no room for -layer has no such form; "all" lists the others. */
TEST(test_name_without_room)
{
    char text[2 * TABLE_NAME] = "scheme ";
    for (size_t i = 0; i < TABLE_NAME - 4; i++) strcat(text, "a");
    strcat(text, "\nk1 = H(y)\ny' = y + k1\n");
    Zoo z = {0};
    Table **list;
    size_t count;
    assert_int_equal(scheme_parse("text", text, strlen(text), &z.scheme, &z.count), 0);
    assert_int_equal(zoo_list(&z, "all", "exact", &list, &count), 0);
    assert_int_equal(count, 1);
    table_free(list[0]);
    memory_free(list);
    zoo_close(&z);
}

/* Appends a term of atom with a random coefficient. */
static void append_term(char *text, uint64_t seed, uint64_t *n, const char *atom)
{
    static const char *const coefficient[] = {"1/3",   "-7/5",    "0.25",    "2", "a",
                                              "(1-g)", "sqrt(3)", "1/7*a*g", "-1"};
    size_t pick = random_below(seed, 1, (*n)++, sizeof coefficient / sizeof *coefficient);
    sprintf(text + strlen(text), " + %s*%s", coefficient[pick], atom);
}

static void random_scheme(uint64_t seed, char *text)
{
    uint64_t n = 0;
    int stages = 1 + (int)random_below(seed, 1, n++, 5);
    strcpy(text, "scheme random\nlearn a = 2/3\n");
    for (int i = 1; i <= stages + 1; i++) {
        if (i == 2) strcat(text, "gate g = sigmoid(k1, y + 1/2*k1)\n");
        uint64_t op = random_below(seed, 1, n++, 4), set = 1 + random_below(seed, 1, n++, 3);
        if (i <= stages)
            sprintf(text + strlen(text), "k%d = %c%d(y", i, "FGHL"[op], (int)set);
        else
            strcat(text, "y' = y");
        int last = i <= stages ? stages : i - 1; /* a stage's argument reads later slopes too */
        for (int j = 1; i > 1 && j <= last; j++) {
            char atom[16];
            int past = (int)random_below(seed, 1, n++, 3);
            sprintf(atom, past ? "k%d[-%d]" : "k%d", j, past);
            append_term(text, seed, &n, atom);
            if (past == 2) append_term(text, seed, &n, "y[-1]");
        }
        if (i <= stages) strcat(text, random_below(seed, 1, n++, 3) == 0 ? " @ 2/3)\n" : ")\n");
    }
    strcat(text, "\n");
}

/* Random schemes with history, symbols, times and decimals come back. A changed one does not count as equal. */
TEST(test_random_round_trip)
{
    char text[8192];
    for (uint64_t seed = 0; seed < 200; seed++) {
        Table *t, *changed;
        random_scheme(seed, text);
        if (parse_text(text, &t) != 0) fail_msg("%s\n%s", text, error_text());
        check_round_trip(t);
        changed = table_copy(t);
        assert_true(table_equal(t, changed));
        mpq_ptr c = changed->update.term[changed->update.terms - 1].c;
        mpq_add(c, c, c);
        assert_false(table_equal(t, changed));
        table_free(t);
        table_free(changed);
    }
}

/* Each error names its line and column, and what was expected. */
TEST(test_errors)
{
    static const struct {
        const char *text, *where;
    } bad[] = {
        {"", "text: expected 'scheme NAME'"},
        {"# nothing\n\n", "text: expected 'scheme NAME'"},
        {"k1 = H(y)", "text:1:1: expected 'scheme NAME'"},
        {"scheme\n", "text:1:7: expected a scheme's name"},
        {"scheme a:b\n", "text:1:9: expected the end"},
        {"scheme all\n", "text:1:8: expected another name"},
        {"scheme a\n", "text:1:1: expected y' ="},
        {"scheme a\nfrob\n", "text:2:1: expected scheme, title"},
        {"scheme a\nk1 = X(y)\ny' = y", "text:2:6: expected an operator"},
        {"scheme a\nk1 = H(y\ny' = y", "text:2:9: expected an operator, '@' or ')'"},
        {"scheme a\nk1 = H(2y)\ny' = y", "text:2:9: expected an operator, '@' or ')'"},
        {"scheme a\nk1 = H(y) k\ny' = y", "text:2:11: expected an operator or the end"},
        {"scheme a\nk2 = H(y)\ny' = y", "text:2:3: expected stage k1"},
        {"scheme implicit\n", "text:1:8: expected another name"},
        {"scheme a\nk1 = H(y + k1 + k2)\ny' = y",
         "text:2:17: expected a stage of this scheme; k2 is none"},
        {"scheme a\ny' = y + k1\nk1 = H(y)", "text:2:10: expected a stage that is set"},
        {"scheme a\ngate g = tanh(k1)\nk1 = H(y)\ny' = y + g*k1",
         "text:2:15: expected a stage that is set"},
        {"scheme a\nk1 = H(y)\nerror = k2\nk2 = H(y + k2)\ny' = y",
         "text:3:9: expected a stage that is set"},
        {"scheme a\nk1 = H(y + b*k1)\ny' = y", "text:2:12: expected a name that is set"},
        {"scheme a\nk1 = H(y + 1)\ny' = y", "text:2:14: expected states and slopes"},
        {"scheme a\nk1 = H(y*y)\ny' = y", "text:2:11: expected a coefficient"},
        {"scheme a\nk1 = H(y[-0])\ny' = y", "text:2:12: expected -1, -2"},
        {"scheme a\nk1 = H(y[1])\ny' = y", "text:2:10: expected -1, -2"},
        {"scheme a\nk1 = H(y[first])\ny' = y", "text:2:15: expected [-j]"},
        {"scheme a\nk1 = H0(y)\ny' = y", "text:2:8: expected a parameter set from 1"},
        {"scheme a\nk1 = H(y)\ny' = y + 1/0*k1", "text:3:13: expected a divisor other than zero"},
        {"scheme a\nk1 = H(y)\ny' = y + k1[all]", "text:3:17: expected y[first]"},
        {"scheme a\nk1 = H(y)\ny' = y\ny' = y",
         "text:4:3: expected one update y' = ... in a scheme"},
        {"scheme a\nk1 = H(y)\ny' = y + 1e400*k1",
         "text:3:14: expected an exponent of ten from -100 to 100"},
        {"scheme a\nflow F\ny' = y", "text:3:1: expected k lines or flow lines"},
        {"scheme a\nflow H\n", "text:2:6: expected an operator: F, G or C"},
        {"scheme a\nflow 1/2\n", "text:2:9: expected an operator: F, G or C"},
        {"scheme a\nlet a = 1\nflow 1-a\n", "text:3:9: expected an operator: F, G or C"},
        {"scheme a\nflow 1-b G\n", "text:2:8: expected a name that is set before"},
        {"scheme a\nflow 1- G\n", "text:2:9: expected a name that is set before"},
        {"scheme a\nlet a = 1\nflow 2 (1-a) G\n", "text:3:8: expected an operator: F, G or C"},
        {"scheme a\nflow 1-y G\n", "text:2:6: expected a number"},
        {"scheme a\nfield 1-a F 2 G\nflow F", "text:2:9: expected a name that is set before"},
        {"scheme a\nlet y = 1\n", "text:2:6: expected a name of its own"},
        {"scheme a\nlet b = 1\nlet b = 2\n", "text:3:6: expected a new name"},
        {"scheme a\nlet b = y\n", "text:2:10: expected a coefficient"},
        {"scheme a\nlet b = (-2)^(1/2)\n", "text:2:19: expected a base of at least zero"},
        {"scheme a\nlet b = 2^(1/1000)\n", "text:2:19: expected an exponent"},
        {"scheme a\nlearn b = b\n", "text:2:11: expected a name that is set"},
        {"scheme a\nk1 = H(y)\nlearn b = 1\ny' = y + 1/b*k1",
         "text:4:13: expected a number without"},
        {"scheme a\nk1 = H(y)\ngate g = relu(k1)\n", "text:3:10: expected sigmoid"},
        {"scheme a\nk1 = H(y)\ny' = y + k1\nscheme a\nflow F", "text:4: expected a new name"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Table *t;
        int code = parse_text(bad[i].text, &t);
        if (code != ERR_INPUT) fail_msg("accepted: %s", bad[i].text);
        if (strncmp(error_text(), bad[i].where, strlen(bad[i].where)) != 0)
            fail_msg("%s\n gave: %s\n not:  %s", bad[i].text, error_text(), bad[i].where);
    }
    Table **list = NULL;
    size_t count = 0;
    assert_int_equal(scheme_parse("text", "scheme a\n\0", 10, &list, &count), ERR_INPUT);
    assert_string_equal(error_text(), "text:2: expected text; a NUL byte stands there");
}

/* Hostile texts take bounded time and memory. */
TEST(test_limits)
{
    size_t n = 2000000;
    char *text = malloc(n + 64);
    Table *t;
    strcpy(text, "scheme a\nlet b = ");
    size_t head = strlen(text);
    memset(text + head, '(', n - head);
    text[n] = 0;
    assert_int_equal(parse_text(text, &t), ERR_INPUT);
    memset(text + head, '9', n - head);
    assert_int_equal(parse_text(text, &t), ERR_INPUT);
    char *at = text + sprintf(text, "scheme a\n");
    for (int i = 1; i <= 10000; i++) at += sprintf(at, "k%d = H(y)\n", i);
    assert_int_equal(parse_text(text, &t), ERR_INPUT);
    at = text + sprintf(text, "scheme a\nlet b = 9");
    for (int i = 0; i < 1000; i++) at += sprintf(at, "*9^60");
    assert_int_equal(parse_text(text, &t), ERR_INPUT);
    free(text);
}

static void assert_same_rows(const char *a, const char *solver, const char *b)
{
    Table *s = find(a, solver), *t = find(b, solver);
    if (!table_equal(s, t)) fail_msg("%s and %s are not one table", a, b);
    table_free(s);
    table_free(t);
}

/* A coefficient of a flow or a field is an expression; parentheses around it change nothing. */
TEST(test_coefficients)
{
    static const char *const forms[] = {"p/2",     "1-p",     "1 - p/2",   "p+q*2",     "-p",
                                        "2*p^2-q", "(1-p)/2", "1/(2-p)-q", "sqrt(4)/3", "1-0.25",
                                        "Fa-1",    "(p)-(q)", "+p",        "1e-1+p",    "p^-1"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (int field = 0; field < 2; field++) {
            char text[512];
            Table *t[2];
            for (int k = 0; k < 2; k++) {
                char c[64];
                snprintf(c, sizeof c, k ? "(%s)" : "%s", forms[i]);
                if (field)
                    sprintf(text,
                            "scheme a\nlet p = 1/3\nlet q = 1/5\nlet Fa = 3\n"
                            "field %s F %s G\nflow F\nflow G2\n",
                            c, c);
                else
                    sprintf(text,
                            "scheme a\nlet p = 1/3\nlet q = 1/5\nlet Fa = 3\n"
                            "flow %s G2\nflow F\nflow %s G\n",
                            c, c);
                if (parse_text(text, &t[k]) != 0) fail_msg("%s\n%s", text, error_text());
            }
            if (!table_equal(t[0], t[1])) fail_msg("%s is not (%s)", forms[i], forms[i]);
            check_round_trip(t[0]);
            table_free(t[0]);
            table_free(t[1]);
        }
}

/* Blanks around the names of a list change nothing. */
TEST(test_blanks)
{
    static const char *const lists[] = {"rk4,heun,sandwich:2-1,dial:3-1/2",
                                        " rk4 , heun,\tsandwich:2,1 ,dial:3,1/2 "};
    Table **list[2];
    size_t count[2];
    for (int k = 0; k < 2; k++)
        if (zoo_list(&zoo, lists[k], "exact", &list[k], &count[k]) != 0)
            fail_msg("%s: %s", lists[k], error_text());
    assert_int_equal(count[0], 4);
    assert_int_equal(count[1], 4);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < 4; i++) {
            assert_string_equal(list[k][i]->name, list[0][i]->name);
            if (k) table_free(list[0][i]);
        }
    }
    for (size_t i = 0; i < 4; i++) table_free(list[1][i]);
    for (int k = 0; k < 2; k++) memory_free(list[k]);
}

TEST(test_expansions)
{
    assert_same_rows("strang-marchuk:euler", "exact", "macaron");
    assert_same_rows("strang-marchuk-fgf", "euler", "att-ffn-att");
    assert_same_rows("lie-trotter:euler", "exact", "transformer");
    assert_same_rows("looped:1", "exact", "transformer");
    assert_same_rows("repeat:2", "exact", "rk2-unit");
    assert_same_rows("sandwich:3-1", "exact", "word:ssfsff");
    assert_same_rows("dial:1-7/3", "exact", "euler");
    assert_same_rows("dial:2-1", "exact", "heun");
    assert_same_rows("dial:4-.25", "exact", "dial:4,1/4");
    Table *a = find("strang-marchuk:heun", "exact"), *b = find("strang-marchuk:midpoint", "exact");
    assert_false(table_equal(a, b));
    assert_int_equal(a->evals, 6);
    table_free(a);
    table_free(b);
}

/* A comma between the two numbers of a made name is a '-'. A comma after a name separates names. */
TEST(test_made_names)
{
    static const char *const names[][2] = {{"dial:2,1/2", "dial:2-1/2"},
                                           {"dial:2-1/2", "dial:2-1/2"},
                                           {"dial:2,0.5", "dial:2-1/2"},
                                           {"dial:3-.25", "dial:3-1/4"},
                                           {"dial:2,6/4-decoder", "dial:2-3/2-decoder"},
                                           {"dial:2-2.0", "dial:2-2"},
                                           {"dial:2,0", "dial:2-0"},
                                           {"dial:2-1/0", "dial:2-1/0"},
                                           {"dial:2-x", "dial:2-x"},
                                           {"sandwich:3,1:heun", "sandwich:3-1:heun"},
                                           {"looped:2,rk4", "looped:2,rk4"},
                                           {"rk4", "rk4"}};
    char name[TABLE_NAME];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(zoo_name(names[i][0], name), 0);
        assert_string_equal(name, names[i][1]);
    }
}

TEST(test_dial_numbers)
{
    static const struct {
        const char *name;
        Dial d;
    } good[] = {{"dial:2-1/2", {2, 1, 2}},
                {"dial:3-0.25", {3, 25, 100}},
                {"dial:4-.5", {4, 5, 10}},
                {"dial:64-2", {64, 2, 1}},
                {"dial:2-1.5", {2, 15, 10}}};
    static const char *const other[] = {
        "heun",       "dial:2", "dial:2-x", "dial:2-1/2-decoder", "dial:2-1/2:heun",
        "dial:2,1/2", "dial"};
    Dial d;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(zoo_dial(good[i].name, &d));
        assert_true(d.S == good[i].d.S && d.p == good[i].d.p && d.q == good[i].d.q);
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) assert_false(zoo_dial(other[i], &d));
}

TEST(test_names)
{
    static const char *const bad[] = {"rk5",
                                      "heun:euler",
                                      "word:",
                                      "word:sxf",
                                      "sandwich:2-3",
                                      "looped:0",
                                      "repeat:x",
                                      "dial:2",
                                      "dial:2,",
                                      "dial:2-x",
                                      "dial:2--1",
                                      "dial:2-1/0",
                                      "dial:2-1.",
                                      "dial:2-/2",
                                      "dial:2-1/2/3",
                                      "dial:0-1",
                                      "dial:65-1",
                                      "dial:2-0.1234567",
                                      "dial:2-1/2:heun",
                                      "macaron-layer",
                                      "strang-marchuk:ab2",
                                      "strang-marchuk:none",
                                      "strang-marchuk:transformer",
                                      "",
                                      "heun,",
                                      ",heun",
                                      " ",
                                      "heun, ",
                                      "heun rk4",
                                      "looped:999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Table **list;
        size_t count;
        if (zoo_list(&zoo, bad[i], "exact", &list, &count) != ERR_INPUT)
            fail_msg("accepted: %s", bad[i]);
    }
    Table *t;
    assert_int_equal(zoo_find(&zoo, "macarron", "exact", &t), ERR_INPUT);
    assert_non_null(strstr(error_text(), "the nearest is 'macaron'"));
}

static double node(const Table *t, size_t eval)
{
    return mpq_get_d(t->point[t->eval[eval].point].c[t->eval[eval].op]);
}

/* By the Macaron papers' equations (14)-(16) half steps of G begin at t and t + 1/2, F at t. */
TEST(test_times)
{
    Table *m = find("macaron", "exact"), *r = find("rk4", "exact"), *l = find("leapfrog", "exact");
    assert_true(node(m, 0) == 0 && node(m, 1) == 0 && node(m, 2) == 0.5);
    assert_true(node(r, 2) == 0.5 && node(r, 4) == 0.5 && node(r, 6) == 1 && node(r, 7) == 1);
    assert_true(node(l, 0) == 0);
    table_free(m);
    table_free(r);
    table_free(l);
    assert_int_equal(
        parse_text("scheme a\nk1 = H(1/2*y + 1/2*y[-1] @ 1/3)\nk2 = H(2*y - y[-1])\ny' = y + k2",
                   &m),
        0);
    assert_true(node(m, 0) == 1.0 / 3);
    assert_true(node(m, 2) == 1);
    table_free(m);
}

/* Leapfrog, ab2 and lm-resnet start with an Euler step of their operator. */
TEST(test_starts)
{
    static const char *const pair[][2] = {{"leapfrog", "euler"},
                                          {"ab2", "euler"},
                                          {"ab5", "euler"},
                                          {"ab3-layer", "euler-layer"},
                                          {"lm-resnet", "euler-layer"}};
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        Table *t = find(pair[i][0], "exact"), *e = find(pair[i][1], "exact"),
              *s = table_start(t, 0);
        assert_true(row_equal(&s->update, &e->update));
        table_free(s);
        s = table_start(t, 4);
        assert_true(table_equal(s, t));
        table_free(s);
        table_free(t);
        table_free(e);
    }
    Table *t, *s;
    const char *text = "scheme two-step\nk1 = H(1/2*y + 1/2*y[-1] + 1/4*k2[-1] + 1/8*k1[-1])\n"
                       "k2 = H(y + k1[-1])\ny' = y + k1 + k2[-1]";
    assert_int_equal(parse_text(text, &t), 0);
    s = table_start(t, 0);
    assert_int_equal(s->point[0].row.terms, 1); /* y: the scheme's slopes are not known yet */
    assert_int_equal(s->point[1].row.terms, 3); /* y + k1, two evaluations */
    assert_int_equal(s->update.terms, 5);       /* y + (k1 + k2) / 2 */
    assert_true(mpq_cmp_ui(s->update.term[1].c, 1, 2) == 0);
    table_free(s);
    table_free(t);
}

TEST(test_inexact)
{
    static const struct {
        const char *coefficient;
        int exact;
        double value;
    } cases[] = {{"1/3", 1, 1.0 / 3},
                 {"0.5", 0, 0.5},
                 {"sqrt(2)", 0, 1.4142135623730951},
                 {"sqrt(9/4)", 1, 1.5},
                 {"8^(1/3)", 1, 2},
                 {"2^(1/3)", 0, 1.2599210498948732},
                 {"2^-2", 1, 0.25},
                 {"-(1+2)/4", 1, -0.75},
                 {"1e-2", 0, 0.01},
                 {"1/(2-2^(1/3))", 0, 1.351207191959657634},
                 {"(1/2)^3", 1, 0.125}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        Table *t;
        sprintf(text, "scheme a\nlet c = %s\nk1 = H(y)\ny' = y + c*k1", cases[i].coefficient);
        assert_int_equal(parse_text(text, &t), 0);
        assert_int_equal(t->exact, cases[i].exact);
        assert_true(table_double(t->update.term[1].c) == cases[i].value);
        check_round_trip(t);
        table_free(t);
    }
}

/* Numbers are printed as a paper has them. One decimal, or 1.0* before the update where there is none, says that a
 * table is inexact. Each text comes back as the same table, and an exact one has neither. */
TEST(test_plain_print)
{
    static const struct {
        const char *text, *line, *other;
    } cases[] = {
        {"k1 = H(y)\nk2 = H(y + 6/35*k1 + 0.2071067811865476*k1)\ny' = y + 1/6*k1 + 0.5*k2",
         "y' = y + 1/6*k1 + 1/2*k2\n", NULL},
        {"k1 = H(y)\nk2 = H(1.0*y + 1.0*6/35*k1)\ny' = y + 0.25*k1 + 3/4*k2",
         "k2 = H(y + 6/35*k1)\n", "y' = y + 0.25*k1 + 0.75*k2\n"},
        {"k1 = H(y)\nk2 = H(y + 1.0*1/3*k1)\ny' = y + 2*k1 - 1*k2", "k2 = H(y + 1/3*k1)\n",
         "y' = 1.0*y + 2*k1 - k2\n"},
        {"k1 = H(y)\ny' = -1.0*y + 2*y[-1] + k1", "y' = -1.0*y + 2*y[-1] + k1\n", NULL},
        {"flow 1.0*1/3 F\nflow G\nflow 2/3 F", "flow 1.0*1/3 F\nflow G\nflow 2/3 F\n", NULL},
        {"flow 0.5 F\nflow G\nflow 1/2 F", "flow 0.5 F\nflow G\nflow 0.5 F\n", NULL},
        {"learn a = 1.0*1/3\nk1 = H(y)\ny' = y + a*k1", "learn a = 1/3\n", "y' = 1.0*y + a*k1\n"},
        {"k1 = H(y)\ny' = y + 1/2*k1 + 1/2*k1", "y' = y + k1\n", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512], *printed;
        size_t bytes;
        Table *t;
        snprintf(text, sizeof text, "scheme a\n%s\n", cases[i].text);
        assert_int_equal(parse_text(text, &t), 0);
        FILE *f = open_memstream(&printed, &bytes);
        assert_int_equal(table_print(t, f), 0);
        fclose(f);
        if (!strstr(printed, cases[i].line) || (cases[i].other && !strstr(printed, cases[i].other)))
            fail_msg("%s\nis printed as\n%s", text, printed);
        free(printed);
        check_round_trip(t);
        table_free(t);
    }
}

/* Every allocation on the way fails once. The failure is an error, and nothing leaks. */
TEST(test_short_memory)
{
    const char *text =
        "scheme a\ntitle t\nlearn b = 1\nk1 = L(y + 1/2*k2[-1])\ngate g = tanh(k1)\n"
        "k2 = H(y + (b+g)*k1)\ny' = y[-1] + 2*b*k1 + k2\nscheme c\nflow 1/2 F\nflow G\n";
    int failures = 0, code = ERR_MEMORY;
    for (size_t k = 1; code != 0; k++) {
        Table **list = NULL;
        size_t count = 0, before = memory_live();
        memory_fail_at(k);
        code = scheme_parse("text", text, strlen(text), &list, &count);
        memory_fail_at(0);
        for (size_t i = 0; i < count; i++) table_free(list[i]);
        memory_free(list);
        assert_int_equal(memory_live(), before);
        failures += code == ERR_MEMORY;
    }
    assert_true(failures > 30);
    static const char *const names[] = {"strang-marchuk:heun", "rk4-layer", "word:sfsf"};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 1, done = 0; !done; k++) {
            Table *t = NULL, *s = NULL;
            size_t before = memory_live();
            memory_fail_at(k);
            done = zoo_find(&zoo, names[i], "exact", &t) == 0 && (s = table_start(t, 0)) != NULL;
            memory_fail_at(0);
            table_free(t);
            table_free(s);
            assert_int_equal(memory_live(), before);
        }
}

TEST_MAIN(setup, teardown)
