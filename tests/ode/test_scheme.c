/* test_scheme.c: the language of schemes: round trips, errors and their places, expansions, starts. */
#include "tests/lib/test.h"

#include "kernels/base/random.h"
#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

static void check_round_trip(const Table *t)
{
    OWN_TABLE *again = reread(t);
    if (!table_equal(t, again)) fail_msg("%s does not come back from its own text", t->name);
}

TEST(test_zoo_round_trip)
{
    static const char *const names[] = {
        "all", "implicit,exponential,rosenbrock",
        "word:ssfsff,word:s,sandwich:6-2:heun,looped:4,repeat:3,dial:3-0.25,dial:2,1/2,"
        "strang-marchuk:rk4,yoshida4:ssprk3,yoshida4:euler,ruth3:midpoint",
        "decoders,word:scfc,sandwich:3-1-decoder,looped:2-decoder,heun-F-decoder"};
    for (int i = 0; i < 4; i++) {
        OWN_TABLES list = listed(names[i], "exact");
        for (size_t k = 0; k < list.count; k++) {
            check_round_trip(list.table[k]);
            assert_int_equal(list.table[k]->colours, i == 3 ? 3 : 2);
        }
        assert_true(i != 3 || list.count > 40);
    }
}

/* Phi functions, linear fields and linear systems, with blanks and names anywhere. The control is another table. */
TEST(test_exponential_round_trip)
{
    static const char *const texts[] = {
        "linear F\nlinear G\nk1 = F(y)\nk2 = phi0(-1/3 G2)(k1)\nlet c = 1/4\n"
        "k3 = phi4(c F)(2*k1 - k2)\nk4 = phi1( 2 H )( k3 )\nk5 = G(y + k4)\ny' = y + k5",
        "k1 = H(y)\nk2 = phi1(0.3 F)(k1)\nk3 = phi2(F)(k2)\ny' = y + k3 + sqrt(2)*k2",
        "decoder\nk1 = H(y)\nk2 = phi1(H)(k1)\ny' = y + k2",
        "linear C\nk1 = A(y)\nk2 = phi3(1/7 C)(k1)\ny' = y + k2",
        "linear F\nk1 = H(y)\nk2 = phi1(F)(k1)\ny' = y + k1\nerror = k2 - k1",
        "k1 = H(y)\nlet W = 1/3\nk2 = solve(W H)(k1)\nk3 = solve( -W W )( k1 - k2 )\ny' = y + k3",
        "k1 = H(y)\nk2 = solve(0.3 F)(k1)\nk3 = phi2(G)(k2)\ny' = y + k3 + sqrt(2)*k2",
        "decoder\nk1 = H(y)\nk2 = solve(H)(k1)\ny' = y + k2",
        "separable\nk1 = F(y)\nk2 = G(y + k1)\ny' = y + k1 + k2",
        "separable G\nk1 = F(y)\nk2 = G(y + k1)\ny' = y + k1 + k2"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        OWN_TABLE *t = scheme(texts[i]), *again = reread(t);
        same_table(t, again);
        again->special ^= 1;
        assert_false(table_equal(t, again));
        again->special ^= 1;
        int phi = table_phi(again);
        again->point[1].phi += phi;
        assert_true(table_equal(t, again) == !phi);
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
        OWN_TABLE *t = scheme(name);
        assert_string_equal(t->name, name);
        check_round_trip(t);
    }
    strcpy(name + n, "s");
    refuse_name(name, "1 to 128 letters");
}

/* A long name of a scheme file that leaves no room for -layer has no such form; "all" lists the others. */
TEST(test_name_without_room)
{
    char text[2 * TABLE_NAME] = "scheme ";
    for (size_t i = 0; i < TABLE_NAME - 4; i++) strcat(text, "a");
    strcat(text, "\nk1 = H(y)\ny' = y + k1\n");
    Zoo z = {0};
    OWN_TABLES list = {0};
    assert_int_equal(scheme_parse("text", text, strlen(text), &z.scheme, &z.count), 0);
    assert_int_equal(zoo_list(&z, "all", "exact", &list.table, &list.count), 0);
    assert_int_equal(list.count, 1);
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
        random_scheme(seed, text);
        OWN_TABLE *t = scheme(text), *changed = table_copy(t);
        check_round_trip(t);
        assert_true(table_equal(t, changed));
        mpq_ptr c = changed->update.term[changed->update.terms - 1].c;
        mpq_add(c, c, c);
        assert_false(table_equal(t, changed));
    }
}

#define K1 "scheme a\nk1 = F(y)\n"
#define B "scheme a\nlearn b = 1\n"
#define NAME_OF_16 "abcdefghijklmnop"
#define NAME_OF_80 NAME_OF_16 NAME_OF_16 NAME_OF_16 NAME_OF_16 NAME_OF_16
#define BIG "let q = (9^64*9^64)"

/* Each error names its line and column, and what was expected; also those of estimates and exponential stages. */
TEST(test_errors)
{
    static const char *const whole[][2] = {{"", "text: expected 'scheme NAME'"},
                                           {"k1 = H(y)", "text:1:1: expected 'scheme NAME'"},
                                           {"scheme\n", "text:1:7: expected a scheme's name"}};
    static const char *const bad[][2] = {
        {"scheme a:b\n", "text:1:9: expected the end"},
        {"scheme all\n", "text:1:8: expected another name"},
        {"scheme a\n", "text:1:1: expected y' ="},
        {"scheme a\nk1 = H(y\ny' = y", "text:2:9: expected an operator, '@' or ')'"},
        {"scheme a\nk1 = H(y) k\ny' = y", "text:2:11: expected an operator or the end"},
        {"scheme a\nk1 = H(y + h*k1)\ny' = y",
         "text:2:12: expected a name that is set before it is used; 'h' is not: a slope is an increment"},
        {"scheme a\nk1 = H(y)\nk2 = H(y + 0.5k1)\ny' = y",
         "text:3:15: expected '*' between two factors"},
        {"scheme a\nk1 = H(y)\ny' = y + 2(k1)", "text:3:11: expected '*' between two factors"},
        {"scheme a\nk1 = H(y)\ny' = y + (1/2 k1)", "text:3:15: expected '*' between two factors"},
        {"scheme a\nk1 = H(y)\ny' = y + H(y)",
         "text:3:10: expected a slope: an operator has a stage of its own"},
        {"scheme a\nflow 1/2*F\nflow G",
         "text:2:10: expected a coefficient: an operator stands behind it"},
        {"scheme a\nflow G/2\nflow F",
         "text:2:7: expected the end of the line after the operator: a fraction stands before it"},
        {"scheme a\nk1 = H'(y)(k1)\ny' = y",
         "text:2:8: expected '(': a derivative stands in solve"},
        {"scheme a\nk1 = H(y + sqrt(-1)*y)\ny' = y",
         "text:2:20: expected a number of at least zero under a root"},
        {"scheme a\nk2 = H(y)\ny' = y", "text:2:3: expected stage k1"},
        {"scheme implicit\n", "text:1:8: expected another name"},
        {"scheme a\nk1 = H(y + k1 + k2)\ny' = y",
         "text:2:17: expected a stage of this scheme; k2 is none"},
        {"scheme a\ny' = y + k1\nk1 = H(y)", "text:2:10: expected a stage that is set"},
        {"scheme a\ngate g = tanh(k1)\nk1 = H(y)\ny' = y + g*k1",
         "text:2:15: expected a stage that is set"},
        {"scheme a\nk1 = H(y)\nerror = k2\nk2 = H(y + k2)\ny' = y",
         "text:3:9: expected a stage that is set"},
        {"scheme a\nk1 = H(y + 1)\ny' = y", "text:2:14: expected states and slopes"},
        {"scheme a\nk1 = H(y*y)\ny' = y", "text:2:11: expected a coefficient"},
        {"scheme a\nk1 = H(y[-0])\ny' = y", "text:2:12: expected -1, -2"},
        {"scheme a\nk1 = H(y[1])\ny' = y", "text:2:10: expected -1, -2"},
        {"scheme a\nk1 = H(y[first])\ny' = y", "text:2:15: expected [-j]"},
        {"scheme a\nk1 = H0(y)\ny' = y", "text:2:8: expected a parameter set from 1"},
        {"scheme a\nk1 = H(y)\ny' = y + k1[all]", "text:3:17: expected y[first]"},
        {"scheme a\nk1 = H(y)\ny' = y\ny' = y",
         "text:4:3: expected one update y' = ... in a scheme"},
        {"scheme a\nk1 = H(y)\ny' = y + 1e400*k1",
         "text:3:14: expected an exponent of ten from -100 to 100"},
        {"scheme a\nflow F\ny' = y", "text:3:1: expected k lines or flow lines"},
        {"scheme a\nflow 1/2\n", "text:2:9: expected an operator: F, G or C"},
        {"scheme a\nflow 1-b G\n", "text:2:8: expected a name that is set before"},
        {"scheme a\nflow 1- G\n", "text:2:9: expected a coefficient: an operator stands"},
        {"scheme a\nlet a = 1\nflow 2 (1-a) G\n", "text:3:8: expected an operator: F, G or C"},
        {"scheme a\nflow 1-y G\n", "text:2:6: expected a number"},
        {"scheme a\nfield 1-a F 2 G\nflow F", "text:2:9: expected a name that is set before"},
        {"scheme a\nlet b = 1\nlet b = 2\n", "text:3:6: expected a new name"},
        {"scheme a\nlet b = y + 1\n",
         "text:2:14: expected states and slopes in a sum that has some"},
        {"scheme a\nlet b = k1\n", "text:2:9: expected a stage"},
        {"scheme a\nlearn b = 1, b = 2\n", "text:2:15: expected a new name"},
        {"scheme a\nlet b = (-2)^(1/2)\n", "text:2:19: expected a number of at least zero"},
        {"scheme a\nlet b = 2^(1/1000)\n", "text:2:19: expected an exponent"},
        {"scheme a\nlearn b = b\n", "text:2:11: expected a name that is set"},
        {"scheme a\nk1 = H(y)\nlearn b = 1\ny' = y + 1/b*k1",
         "text:4:13: expected a number without"},
        {"scheme a\nk1 = H(y)\ngate g = relu(k1)\n", "text:3:10: expected sigmoid"},
        {"scheme a\nk1 = H(y)\ny' = y + k1\nscheme a\nflow F", "text:4: expected a new name"},
        {K1 "y' = y + 1.2.3*k1", "text:3:13: expected an operator"},
        {K1 "y' = y + .", "text:3:11: expected a number"},
        {K1 "y' = y + 1e", "text:3:12: expected an exponent of ten from -100 to 100"},
        {K1 "y' = y + 1e+x", "text:3:13: expected an exponent of ten from -100 to 100"},
        {K1 "y' = y + 1/k1", "text:3:14: expected a number without"},
        {K1 "y' = y + k0", "text:3:10: expected a stage"},
        {K1 "y' = y + k1a", "text:3:10: expected a name that is set"},
        {K1 "y' = y + sqrt(k1)", "text:3:18: expected a number under the root"},
        {K1 "y' = y + sqrt 2*k1", "text:3:15: expected '('"},
        {K1 "y' = y^2", "text:3:9: expected a number before '^'"},
        {K1 "y' = y + 2*k1[first]", "text:3:15: expected -1, -2, ... or all"},
        {K1 "y' = 2*y[first] + k1[all]", "text:3:26: expected y[first] + slopes"},
        {B "k1 = F(y)\ny' = b*y[first] + k1[all]", "text:4:26: expected y[first] + slopes"},
        {K1 "y' = y[first] + k1[all] + k1", "text:3:29: expected y[first] + slopes"},
        {K1 "y' = k1[all]", "text:3:13: expected y[first] beside"},
        {"scheme a\nlet c = 2^100", "text:2:14: expected an exponent"},
        {"scheme a\nlet c = 0^0", "text:2:12: expected a base other than zero for a power of"},
        {"scheme a\nlet c = 0^-1", "text:2:13: expected a base other than zero for a power below"},
        {"scheme a\n" BIG "^64", "text:2:23: expected a coefficient of fewer digits"},
        {"scheme a\nlet b = -\n", "text:2:10: expected a number, a name"},
        {B "let c = b^(1/2)", "text:3:16: expected a whole power"},
        {B "let c = b^-1", "text:3:13: expected a whole power"},
        {B "let c = b^5", "text:3:12: expected a whole power"},
        {B "let c = 2^b", "text:3:12: expected a number as the exponent"},
        {B "let c = (b*b*b)^2", "text:3:18: expected at most 4 learned factors"},
        {B "let c = b*b*b*b*b", "text:3:18: expected at most 4 learned factors"},
        {B "learn c = b", "text:3:11: expected a number"},
        {"scheme a\nk1 = H(y - y)", "text:2:14: expected a term in a stage's argument"},
        {"scheme a\nk1 = H(y @ y)", "text:2:12: expected a number"},
        {"scheme a\nka1 = H(y)", "text:2:1: expected scheme, title"},
        {"scheme a\nflow F:heun*0\n", "text:2:14: expected a number of equal steps"},
        {"scheme a\nflow (1/2 + i) F\nflow G", "expected complex fractions of F whose sum is real"},
        {"scheme a\nflow (1 + i) F\nflow G:heun\nflow -i F", "expected no method of a flow"},
        {"scheme a\nlearn b = 1\nflow (b*i) F\n", "text:3:6: expected no learned name beside i"},
        {"scheme a\nflow (1/2 + i*y) F\nflow (1/2 - i*y) F\n", "text:2:6: expected a number"},
        {"scheme a\nlet g = i/2\nk1 = H(y + g*y)\n", "text:3:8: expected real coefficients"},
        {"scheme a\nlearn b = i\n", "text:2:11: expected a number"},
        {"scheme a\nflow (1/(i - i)) F\n", "text:2:16: expected a divisor other than zero"},
        {"scheme a\nflow F:heun*65\n", "expected a whole number of at most 64"},
        {"scheme a\ncarry k1\n", "text:2:9: expected a name of its own"},
        {"scheme a\ncarry v\ncarry v\n", "text:3:8: expected a new name; 'v' is carried already"},
        {"scheme a\nlet v = 1\ncarry v\n", "text:3:8: expected a new name"},
        {"scheme a\nk1 = H(y)\nv' = k1", "text:3:2: expected 'carry v' before v' ="},
        {"scheme a\ncarry v\nk1 = H(y + v[-1])\n", "text:3:14: expected no [ ] behind 'v'"},
        {"scheme a\ncarry v\nk1 = H(y)\ny' = y + v'\n", "text:4:10: expected v' = ..."},
        {"scheme a\ncarry v\nk1 = H(y)\ny' = y + v", "text:4:1: expected v' = ... in scheme 'a'"},
        {"scheme a\ncarry v = k1\nk1 = H(y + v)\nv' = k1\ny' = y + v",
         "text:5:1: expected slopes of stages that read y alone"},
        {"scheme a\nk1 = F(y)\ngate g = tanh(k1)\ncarry v = g*y\nv' = k1\ny' = y + v",
         "text:6:1: expected slopes of stages that read y alone, and each other, without gates"},
        {"scheme a\nk1 = F(y)\ngate g = tanh(k1)\ncarry v = k2\nk2 = F(g*y)\nv' = k1\ny' = y + v",
         "text:7:1: expected slopes of stages that read y alone, and each other, without gates"},
        {"scheme a\ncarry v = 0\ncarry w\nk1 = H(y)\nv' = k1\nw' = k1\ny' = y + v",
         "text:7:1: expected one way in which all begins"},
        {"scheme a\ncarry v\nk1 = H(y)\nv' = k1\nv' = k1\n", "text:5:8: expected one update v' ="},
        {"scheme a\ncarry v = v\n", "text:2:12: expected 0, or y and slopes"},
        {"scheme a\nlearn b = 1\nlet p = b*y\ny' = y + p*p\n",
         "text:4:13: expected a coefficient: a product of two states"},
        {"scheme a\ncarry v\nflow F\n", "expected no 'carry' in scheme 'a': it is made of flows"},
        {"scheme a\ncarry v\nk1 = H(y)\nv' = k1\ny' = y + v\nerror = k1",
         "carries quantities from step to step"},
        {"scheme a\ncarry v\nk1 = H(y)\nv' = k1[-1]\ny' = y + v", "expected no [-j] in scheme 'a'"},
        {"scheme a\ncarry v\nk1 = H(y)\nv' = k1\ny' = y + y[-1] - v", "it can carry what it reads"},
        {"scheme a\norders 1..2\nk1 = H(y + k1)\ny' = y + k1",
         "expected the backward differentiation formula of order 2"},
        {"scheme a\norders 1..1\nk1 = F(y + k1)\ny' = y + k1",
         "expected the backward differentiation formula of order 1"},
        {"scheme a\norders 2..3", "text:2:8: expected '1'"},
        {"scheme a\norders 1..6", "text:2:11: expected a whole number of at most 5"},
        {"scheme a\norders 1..0", "text:2:12: expected an order from 1"},
        {"scheme a\nk = H(y)", "text:2:1: expected scheme, title"},
        {"scheme a\nk12345678 = H(y)", "text:2:1: expected scheme, title"},
        {"scheme a\nlet k1 = 1", "text:2:7: expected a name of its own"},
        {"scheme a\nlet 1 = 1", "text:2:5: expected a name"},
        {"scheme a\nlet a123456789b123456789c123456789de = 1", "text:2:5: expected a name"},
        {"scheme a\ngate g = sigmoid y", "text:2:18: expected '('"},
        {"scheme a\nfield 1 X", "text:2:9: expected an operator: F, G or C"},
        {"scheme a\nfield 1 G 1 F", "text:2:10: expected: field"},
        {"scheme a\nflow 1/0 F", "text:2:10: expected a divisor other than zero"},
        {"scheme a\nflow F1000", "text:2:10: expected a whole number of at most 999"},
        {"scheme a\nk1 = F(y)\nflow F", "text:3:1: expected k lines or flow lines"},
        {"scheme a\ngate g = sigmoid(y)\nflow g F", "text:3:1: expected no gate in scheme 'a'"},
        {B "flow b F:heun", "expected no learned fraction of a flow that names a method"},
        {B "flow y F", "text:3:6: expected a number"},
        {"k1 = H(y)\ny' = y + k1\nerror = y - k1\n",
         "text:4:9: expected slopes k1, k2, ... of this"},
        {"k1 = H(y)\ny' = y + k1\nerror = k1[-1]\n", "text:4:9: expected slopes"},
        {"k1 = H(y)\nlearn a = 1\ny' = y + k1\nerror = a*k1\n", "text:5:9: expected slopes"},
        {"k1 = H(y)\nlearn a = 1\ny' = y + a*k1\nerror = k1\n",
         "text:5:9: expected error = ... in a one-step scheme of stages; scheme 'a' has learned names"},
        {"k1 = H(y)\ny' = y + 3/2*k1 - 1/2*k1[-1]\nerror = k1\n", "text:4:9: expected error = ..."},
        {"k1 = H(y)\ny' = y + k1\nerror k1\n", "text:4:7: expected '='"},
        {"k1 = H(y)\ny' = y + k1\nerror = k1 )\n", "text:4:12: expected an operator"},
        {"k1 = H(y)\ny' = y + k1\nerror = k1\nerror = k1\nerror = k1\n",
         "text:6:6: expected at most two estimates"},
        {"k1 = H(y + k1)\ny' = y + k1\nerror = k1\nerror = k1\n", "solves for some"},
        {"k1 = H(y)\ny' = y + k1\nerror = 0*k1\n", "text:4:9: expected a slope"},
        {"k1 = F(y)\nk2 = phi5(F)(k1)\ny' = y + k2",
         "text:3:9: expected a whole number of at most 4"},
        {"k1 = F(y)\nk2 = phi(F)(k1)\ny' = y + k2", "text:3:9: expected a whole number"},
        {"k1 = F(y)\nk2 = phi1 F(k1)\ny' = y + k2", "text:3:11: expected '('"},
        {"k1 = F(y)\nk2 = phi1(L)(k1)\ny' = y + k2", "text:3:11: expected F, G or H"},
        {"k1 = F(y)\nk2 = phi1(C)(k1)\ny' = y + k2", "text:3:11: expected F, G or H"},
        {"k1 = F(y)\nk2 = phi1(k1 F)(k1)\ny' = y + k2", "text:3:11: expected a number"},
        {"k1 = F(y)\nk2 = phi1(F)(y + k1)\ny' = y + k2", "text:3:21: expected slopes of stages"},
        {"k1 = F(y)\nk2 = phi1(F)(k2[-1])\ny' = y + k2", "text:3:21: expected slopes of stages"},
        {"k1 = F(y)\nk2 = phi1(F)(k1 @ 1)\ny' = y + k2", "text:3:21: expected slopes of stages"},
        {"k1 = F(y)\nk2 = phi1(F)(k2)\ny' = y + k2",
         "text:3:14: expected a stage that is set before it is used"},
        {"k1 = F(y + k1)\nk2 = phi1(F)(k1)\ny' = y + k2",
         "expected phi functions in a scheme of explicit stages"},
        {"k1 = H(y)\nk2 = solve(1/2 W2)(k1)\ny' = y + k2", "text:3:16: expected an operator"},
        {"k1 = H(y)\nk2 = phi1(W)(k1)\ny' = y + k2", "expected W in solve(c W)(...)"},
        {"decoder\nk1 = H(y)\nk2 = solve(W)(k1)\ny' = y + k2", "expected W in solve(c W)"},
        {"k1 = F(y)\nk2 = phi1(F)(k1)\ny' = y[first] + k2[all]", "reads every slope so far"},
        {"linear H\nk1 = F(y)\ny' = y + k1", "text:2:8: expected an operator"},
        {"linear C\nk1 = F(y)\ny' = y + k1", "expected F or G: the scheme has no C"},
        {"linear F G\nk1 = F(y)\ny' = y + k1", "text:2:10: expected the end of the line"},
        {"linear F\nflow F\nflow G", "it is made of flows"},
        {"k1 = F(y)\nk2 = norm(k1)\ny' = y + k2", "carries none"},
        {"carry v\nk1 = F(y + k1)\nk2 = norm(v + k1)\nv' = k2\ny' = y + v'", "has others"},
        {"carry v\nk1 = F(y)\nk2 = norm(y + k1)\nv' = k2\ny' = y + v'",
         "text:4:18: expected what is carried and slopes of stages before it in norm(...)"},
        {"carry v = embedding\ncarry w = y\nk1 = F(y + v)\nv' = k1\nw' = k1\ny' = y + w'",
         "'w' has another"},
        {"carry v\ncarry w = y\nk1 = F(y + v)\nv' = k1\nw' = k1\ny' = y + w'", "'w' has another"},
        {"start heun\ncarry v = embedding\nk1 = F(y + v)\nv' = k1\ny' = y + v'",
         "the scheme that 'start NAME' names"},
        {"start heun\ncarry v = y\nk1 = F(y + v)\nv' = k1\ny' = y + v'",
         "the scheme that 'start NAME' names"},
        {"carry v = embedding\ncarry w\nk1 = F(y + v)\nv' = k1\nw' = k1\ny' = y + w'",
         "'w' has another"},
        {"carry v\nk1 = F(y)\nk2 = phi1(F)(k1)\nk3 = norm(v + k1)\nv' = k3\ny' = y + k2",
         "has others"},
        {"carry v\nk1 = F(y)\nk2 = norm(v @ 1)\nv' = k2\ny' = y + v'",
         "text:4:17: expected what is carried and slopes"},
        {"carry v = 2\nk1 = F(y)\nv' = k1\ny' = y + v'", "text:2:12: expected"},
        {"carry v = k1[-1]\nk1 = F(y)\nv' = k1\ny' = y + v'",
         "text:2:17: expected 0, or y and slopes k1"},
        {"carry w\ncarry v = w\nk1 = F(y)\nv' = k1\ny' = y + v'",
         "text:3:12: expected 0, or y and slopes k1"},
        {"carry v = y x\nk1 = F(y)\nv' = k1\ny' = y + v'",
         "text:2:13: expected '*' between two factors"},
        {"carry v\nk1 = F(y)\nv' k1\ny' = y + v'", "text:4:4: expected '='"},
        {"carry v\nk1 = F(y)\nv' = \ny' = y + v'", "text:4:6: expected a number, a name"},
        {"carry v\nk1 = F(y)\nv' = k1 x\ny' = y + v'",
         "text:4:9: expected '*' between two factors"},
        {"carry v\nk1 = F(y)\nv' = 2\ny' = y + v'", "text:4:7: expected states and slopes"},
        {"carry v\nk1 = F(y)\nv' = k1\nv' = k1\ny' = y + v'",
         "text:5:8: expected one update v' = ..."},
        {"orders 1.2", "text:2:9: expected '..'"},
        {"orders 1..1\nk1 = H(y + k1)\nk2 = H(y + k1)\ny' = y + k1", "of one stage H"},
        {"orders 1..1\ndecoder\nk1 = H(y + k1)\ny' = y + k1", "of one stage H"},
        {"orders 1..1\ncarry v\nk1 = H(y + k1)\nv' = k1\ny' = y + k1", "of one stage H"},
        {"orders 1..1\nk1 = H(y + k1 @ 1)\ny' = y + k1", "of one stage H"},
        {"orders 1..1\nk1 = H(y)\ny' = y + k1", "of one stage H"},
        {"orders 1..1\nflow F\nflow G", "of one stage H"},
        {"k1 = H(y)\nk2 = solve(H)(k1)\ny' = y + k2\nerror = k2 - k1\nerror = k2 - 2*k1",
         "solves for some"},
        {"separable G1\nflow F", "it is made of flows"},
        {"separable H\nk1 = F(y)\ny' = y + k1", "text:2:11: expected an operator"},
        {"separable C\nk1 = F(y)\ny' = y + k1", "expected F or G: the scheme has no C"},
        {"separable G F\nk1 = F(y)\ny' = y + k1", "text:2:13: expected the end of the line"},
        {"scheme a\nlet F = 1", "text:2:6: expected a name of its own; 'F' has a meaning already"},
        {"flow F:\n", "text:2:8: expected a method's name behind ':'"},
        {"flow F:exact\n", "text:2:8: expected no 'exact' behind ':'"},
        {"flow F:heun*4x\n", "text:2:14: expected a number of equal steps of 1 to 64"},
        {"flow F:" NAME_OF_80 NAME_OF_80 "\n", "text:2:8: expected a method's name behind ':'"},
        {"flow F:euler x\n", "text:2:14: expected the end of the line"},
        {"scheme a\nflow (1 + i) F\nflow (1 - 1.5*i) F",
         "complex fractions of F whose sum is real"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refuse_text(bad[i][0], bad[i][1]);
    Tables list = {0};
    for (size_t i = 0; i < 3; i++)
        assert_refused(
            scheme_parse("text", whole[i][0], strlen(whole[i][0]), &list.table, &list.count),
            whole[i][0], whole[i][1]);
    assert_int_equal(scheme_parse("text", "scheme a\n\0", 10, &list.table, &list.count), ERR_INPUT);
    assert_string_equal(error_text(), "text:2: expected text; a NUL byte stands there");
}

TEST(test_name_of_a_scheme)
{
    static const struct {
        const char *name;
        int is;
    } names[] = {{"heun", 1}, {"dial:2-1/2", 1},          {"a.b_c+d", 1}, {"", 0}, {"heun rk4", 0},
                 {"a,b", 0},  {NAME_OF_80 NAME_OF_80, 0}, {NAME_OF_80, 1}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (scheme_named(names[i].name) != names[i].is) fail_msg("'%s'", names[i].name);
}

/* A coefficient of a flow or a field is an expression; parentheses around it change nothing. */
TEST(test_coefficients)
{
    static const char *const forms[] = {"p/2",     "1-p",     "1 - p/2",   "p+q*2",     "-p",
                                        "2*p^2-q", "(1-p)/2", "1/(2-p)-q", "sqrt(4)/3", "1-0.25",
                                        "Fa-1",    "(p)-(q)", "+p",        "1e-1+p",    "p^-1"};
    static const char *const texts[] = {
        "field %s F %s G\nflow F\nflow G2", "field (%s) F (%s) G\nflow F\nflow G2",
        "flow %s G2\nflow F\nflow %s G", "flow (%s) G2\nflow F\nflow (%s) G"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (int k = 0; k < 4; k += 2) {
            char text[2][256] = {"let p = 1/3\nlet q = 1/5\nlet Fa = 3\n",
                                 "let p = 1/3\nlet q = 1/5\nlet Fa = 3\n"};
            for (int j = 0; j < 2; j++) {
                size_t n = strlen(text[j]);
                snprintf(text[j] + n, sizeof text[j] - n, texts[k + j], forms[i], forms[i]);
            }
            OWN_TABLE *plain = scheme(text[0]), *closed = scheme(text[1]);
            if (!table_equal(plain, closed)) fail_msg("%s is not (%s)", forms[i], forms[i]);
            check_round_trip(plain);
        }
}

/* A learned fraction of a flow has the value of its names' beginning where it is frozen, and is printed as it is. */
TEST(test_learned_fractions)
{
    static const char *const forms[] = {
        "p", "1-p", "-p", "(1 - p/2 - q*p)", "2*p^2-q", "(1-p)/2", "p*p*p*q", "p+1/2-p", "0.5*p-q"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[2][128];
        for (int k = 0; k < 2; k++)
            snprintf(text[k], sizeof text[k], "%s p = 1/3\n%s q = 1/5\nflow %s F\nflow G2\n",
                     k ? "learn" : "let", k ? "learn" : "let", forms[i]);
        OWN_TABLE *plain = scheme(text[0]), *learned = scheme(text[1]), *at = freeze(learned);
        if (!table_equal(plain, at)) fail_msg("%s has another value", forms[i]);
        assert_int_equal(learned->flow[0].learned.terms > 0, strcmp(forms[i], "p+1/2-p") != 0);
        check_round_trip(learned);
    }
    for (int k = 20; k < 40; k++) { /* rounded names make rounded fractions */
        OWN_TABLE *rounded =
            scheme(formed("learn p = sqrt(1/3)\nflow (1 - sqrt(%d/7)*p) F\nflow G", k));
        check_round_trip(rounded);
    }
    OWN_TABLE *learned = scheme("learn p = 1/3\nflow p F\nflow p G"), *heun = scheme("heun");
    TABLE(t);
    assert_refused(table_expand(learned, heun, &t), "learned", "which exact flows alone have");
}

/* Names and spellings that mean the same, and forms over F, over G, over L and of three operators as written out. */
TEST(test_expansions)
{
    static const struct {
        const char *name, *text;
    } same[] = {{"strang-marchuk:euler", "macaron"},
                {"strang-marchuk-fgf:euler", "att-ffn-att"},
                {"lie-trotter:euler", "transformer"},
                {"looped:1", "transformer"},
                {"repeat:2", "rk2-unit"},
                {"sandwich:3-1", "word:ssfsff"},
                {"dial:1-7/3", "euler"},
                {"dial:2-1", "heun"},
                {"dial:4-.25", "dial:4,1/4"},
                {"heun-F", "k1 = F(y)\nk2 = F(y + k1)\nk3 = G(y + 1/2*k1 + 1/2*k2)\n"
                           "y' = y + 1/2*k1 + 1/2*k2 + k3"},
                {"heun-G", "k1 = F(y)\nk2 = G(y + k1)\nk3 = G(y + k1 + k2)\n"
                           "y' = y + k1 + 1/2*k2 + 1/2*k3"},
                {"heun-layer", "k1 = L(y)\nk2 = L(y + k1)\ny' = y + 1/2*k1 + 1/2*k2"},
                {"euler-F", "k1 = F(y)\nk2 = G(y + k1)\ny' = y + k1 + k2"},
                {"euler-G", "k1 = F(y)\nk2 = G(y + k1)\ny' = y + k1 + k2"},
                {"ab2-F", "k1 = F(y)\nk2 = G(y + 3/2*k1 - 1/2*k1[-1])\n"
                          "y' = y + 3/2*k1 - 1/2*k1[-1] + k2"},
                {"ab2-G", "k1 = F(y)\nk2 = G(y + k1)\ny' = y + k1 + 3/2*k2 - 1/2*k2[-1]"},
                {"rk2-gate-F", "k1 = F(y)\nk2 = F(y + k1)\ngate g = sigmoid(k1, k2)\n"
                               "k3 = G(y + g*k1 + (1-g)*k2)\ny' = y + g*k1 + (1-g)*k2 + k3"},
                {"rk2-gate-G", "k1 = F(y)\nk2 = G(y + k1)\nk3 = G(y + k1 + k2)\n"
                               "gate g = sigmoid(k2, k3)\ny' = y + k1 + g*k2 + (1-g)*k3"},
                {"rk2-released-G", "k1 = F(y)\nk2 = G(y + k1)\nk3 = G(2*y + 2*k1 + k2)\n"
                                   "y' = 5/2*y + 5/2*k1 + k2 + 1/2*k3"},
                {"euler", "k1 = H(y)\ny' = y + k1"},
                {"transformer-decoder", "k1 = A(y)\nk2 = G(y + k1)\ny' = y + k1 + k2"},
                {"lie-trotter-decoder", "flow F\nflow C\nflow G"},
                {"word:sf-decoder", "word:scf"},
                {"word:sfs-decoder", "word:scfsc"},
                {"euler-decoder", "decoder\nk1 = H(y)\ny' = y + k1"},
                {"scheme a\r\nk1 = F(y)\r\ny' = y\t+ k1\r\n", K1 "y' = y + k1"},
                {"scheme a\nlet _b_2 = 3\nk1 = F(y)\ny' = y + _b_2*k1", K1 "y' = y + 3*k1"},
                {K1 "y' = y + 1E2*k1", K1 "y' = y + 100.0*k1"},
                {K1 "y' = y + 1e+2*k1", K1 "y' = y + 1e2*k1"},
                {K1 "y' = y + .5*k1", K1 "y' = y + 0.5*k1"},
                {K1 "y' = y*1 + k1*2", K1 "y' = y + 2*k1"},
                {K1 "y' = y + 0^(1/2)*k1 + k1", K1 "y' = y + k1"},
                {K1 "y' = y + sqrt(4/3)*k1", K1 "y' = y + 2*3^(-1/2)*k1"},
                {"scheme a\n\n  # within\nk1 = F(y) # behind\ny' = y + k1", K1 "y' = y + k1"},
                {K1 "let k = 2\nlet kx = 3\ny' = y + k*kx*k1", K1 "y' = y + 6*k1"},
                {"flow 1/(1 + i) F\nflow 1/(1 - i) F\nflow G",
                 "flow (1/2 - i/2) F\nflow (1/2 + i/2) F\nflow G"},
                {"flow 1/(2 + i) F\nflow (3/5 + i/5) F\nflow G",
                 "flow (2/5 - i/5) F\nflow (3/5 + i/5) F\nflow G"},
                {"flow (i/2 - i*i/2) F\nflow (1/2 - i/2) F\nflow G",
                 "flow (1/2 + i/2) F\nflow (1/2 - i/2) F\nflow G"},
                {"flow 0.5*(1 + i) F\nflow (0.5 - 0.5*i) F\nflow G",
                 "flow (0.5 + i/2) F\nflow (1 - i)/2 F\nflow G"},
                {"scheme a\nflow 2/4 F\nflow G1\n", "scheme a\nflow 1/2 F\nflow G\n"}};
    static const char *const other[][2] = {
        {"strang-marchuk:heun", "strang-marchuk:midpoint"},
        {"heun-F", "heun-G"},
        {"separable\nk1 = G(y)\ny' = y + k1", "separable G\nk1 = G(y)\ny' = y + k1"},
        {"transformer-decoder",
         "k1 = F(y)\nk2 = C(y + k1)\nk3 = G(y + k1 + k2)\ny' = y + k1 + k2 + k3"},
        {"euler", "decoder\nk1 = H(y)\ny' = y + k1"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        OWN_TABLE *made = scheme(same[i].name), *written = scheme(same[i].text);
        if (!table_equal(made, written)) fail_msg("%s is not %s", same[i].name, same[i].text);
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        OWN_TABLE *a = scheme(other[i][0]), *b = scheme(other[i][1]);
        assert_false(table_equal(a, b));
    }
    OWN_TABLE *solved = named("strang-marchuk-fgf", "euler"), *euler = scheme("att-ffn-att"),
              *heun = scheme("strang-marchuk:heun"), *decoder = NULL,
              *behind = scheme("strang-marchuk-decoder:rk4");
    assert_true(table_equal(solved, euler));
    assert_int_equal(zoo_find_decoder(&zoo, "strang-marchuk:rk4", "euler", &decoder), 0);
    assert_true(table_equal(decoder, behind));
    assert_int_equal(heun->evals, 6);
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

/* None of these is in a list; names alone are refused in words. */
TEST(test_names)
{
    static const char *const lists[] = {"", "heun,", ",heun", " ", "heun, ", "heun rk4"};
    static const char bad[] =
        "rk5 heun:euler word: word:sxf sandwich:2-3 looped:0 looped:999 repeat:x dial:2 dial:2, "
        "dial:2-x dial:2--1 dial:2-1/0 dial:2-1. dial:2-/2 dial:2-1/2/3 dial:0-1 dial:65-1 "
        "dial:2-0.1234567 dial:2-1/2:heun sandwich:,2 sandwich:3 macaron-layer strang-marchuk:ab2 strang-marchuk:none "
        "strang-marchuk:transformer";
    static const char *const words[][2] = {
        {"macarron", "the nearest is 'macaron'"},
        {"RK45", "here it is called 'dormand-prince'"},
        {"Radau5", "here it is called 'radau-iia5'"},
        {"macaron-F", "all of whose stages are H"},
        {"transformer-G", "all of whose stages are H"},
        {"lie-trotter-G", "all of whose stages"},
        {"leapfrog-F", "past states"},
        {"lm-resnet-G", "past states"},
        {"dlcl-F", "past states"},
        {"rk2-unit-layer", "a form over L"},
        {"heun-H", "unknown scheme"},
        {"nothing-F", "unknown scheme"},
        {"heun-F-G", "unknown scheme"},
        {"strang-decoder-decoder", "decoder's scheme already"},
        {"word:scf-decoder", "decoder's scheme already"},
        {"strang-marchuk:euler-decoder", "one-step scheme over H"},
        {"nothing-decoder", "unknown scheme 'nothing'"},
        {"word:scx", "c (cross-attention)"},
        {"rk4:fixed-point-2", "has no implicit stage"},
        {"gauss4:fixed-point-65", "0 <= N <= 64"},
        {"gauss4:fixed-point-", "0 <= N <= 64"},
        {"gauss4:fixed-point-2x", "0 <= N <= 64"},
        {"gauss4:fixed-point-2:fixed-point-2", "has no implicit stage"},
        {"radau-iia5:fixed-point-64:heun", "unknown scheme"},
        {"ark4:fixed-point-64", "at most 256 stages"},
        {"gauss5:fixed-point-2", "nearest is 'gauss4'"},
        {"etd-rk4-layer", ""},
        {"exponential-rosenbrock-euler-layer", ""},
        {"etd-rk4-decoder", "no form over other operators"}};
    char name[2 * TABLE_NAME];
    Tables list;
    for (const char *l = bad; next_word(&l, name);)
        assert_refused(zoo_list(&zoo, name, "exact", &list.table, &list.count), name, "");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        assert_refused(zoo_list(&zoo, lists[i], "exact", &list.table, &list.count), lists[i], "");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) refuse_name(words[i][0], words[i][1]);
}

static double node(const Table *t, size_t eval)
{
    return mpq_get_d(t->point[t->eval[eval].point].c[t->eval[eval].op]);
}

/* By the Macaron papers' equations (14)-(16) half steps of G begin at t and t + 1/2, F at t. */
TEST(test_times)
{
    OWN_TABLE *m = scheme("macaron"), *r = scheme("rk4"), *l = scheme("leapfrog"),
              *own = scheme("k1 = H(1/2*y + 1/2*y[-1] @ 1/3)\nk2 = H(2*y - y[-1])\ny' = y + k2");
    assert_true(node(m, 0) == 0 && node(m, 1) == 0 && node(m, 2) == 0.5);
    assert_true(node(r, 2) == 0.5 && node(r, 4) == 0.5 && node(r, 6) == 1 && node(r, 7) == 1);
    assert_true(node(l, 0) == 0);
    assert_true(node(own, 0) == 1.0 / 3 && node(own, 2) == 1);
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
        OWN_TABLE *t = scheme(pair[i][0]), *e = scheme(pair[i][1]), *first = table_start(t, 0),
                  *later = table_start(t, 4);
        assert_true(row_equal(&first->update, &e->update));
        assert_true(table_equal(later, t));
    }
    OWN_TABLE *t = scheme("k1 = H(1/2*y + 1/2*y[-1] + 1/4*k2[-1] + 1/8*k1[-1])\n"
                          "k2 = H(y + k1[-1])\ny' = y + k1 + k2[-1]"),
              *s = table_start(t, 0);
    assert_int_equal(s->point[0].row.terms, 1); /* y: the scheme's slopes are not known yet */
    assert_int_equal(s->point[1].row.terms, 3); /* y + k1, two evaluations */
    assert_int_equal(s->update.terms, 5);       /* y + (k1 + k2) / 2 */
    assert_true(mpq_cmp_ui(s->update.term[1].c, 1, 2) == 0);
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
        OWN_TABLE *t = scheme(formed("let c = %s\nk1 = H(y)\ny' = y + c*k1", cases[i].coefficient));
        assert_int_equal(t->exact, cases[i].exact);
        assert_true(table_double(t->update.term[1].c) == cases[i].value);
        check_round_trip(t);
    }
}

/* What is carried comes back from its text, with v' replaced by its row; the control is another row. */
TEST(test_carried_round_trip)
{
    static const char *const texts[] = {
        "carry v\nk1 = H(y + 9/10*v)\nv' = 9/10*v + k1\ny' = y + v'",
        "learn b = 0.9\ncarry v = 0\nk1 = H(y)\nv' = b*v + k1\ny' = y + v",
        "carry v1 = k1\ncarry v2 = 1/2*k2 - 1/2*k1\nk1 = H(y)\nk2 = H(y + k1)\nk3 = F(y + v1 + v2)\n"
        "v1' = k3 - v2\nv2' = v2 + v1' + 1/3*k1\ny' = y + 2*v2'",
        "carry v = y - k1\ncarry w = k2\nk1 = F(y)\nk2 = G(y + k1)\nv' = v + k1\nw' = k2\ny' = y + v + w",
        "carry v\ngate g = sigmoid(v, y)\nk1 = H(y + v)\nv' = y + g*k1\ny' = 0.5*y + 0.5*v",
        "carry v = embedding\nlearn b = 9/10\nk1 = F(y + v)\nk2 = norm(b*v + 1/10*k1)\n"
        "k3 = norm(k2)\nv' = k3 + v\ny' = y + v'"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        OWN_TABLE *t = scheme(texts[i]);
        check_round_trip(t);
        OWN_TABLE *again = reread(t);
        mpq_neg(again->carry[0].update.term[0].c, again->carry[0].update.term[0].c);
        assert_false(table_equal(t, again));
    }
    OWN_TABLE *momentum = scheme(texts[0]);
    char *printed = text_of(momentum);
    assert_non_null(strstr(printed, "y' = y + 9/10*v + k1\n"));
    free(printed);
}

/* F:heun*3 is three flows of a third each by heun; the control is another number of them. */
TEST(test_substeps)
{
    static const char *const texts[] = {
        "flow 1/2 G:rk4\nflow F:heun*3",
        "flow 1/2 G:rk4\nflow 1/3 F:heun\nflow 1/3 F:heun\nflow 1/3 F:heun",
        "flow 1/2 G:rk4\nflow F:heun*4"};
    OWN_TABLE *heun = named("heun", "exact"), *rk4 = named("rk4", "exact");
    Table *t[3];
    for (int i = 0; i < 3; i++) {
        OWN_TABLE *flows = scheme(texts[i]);
        check_round_trip(flows);
        for (size_t k = 0; k < flows->flows; k++)
            assert_int_equal(table_solve_flow(flows, k, k ? heun : rk4), 0);
        assert_int_equal(table_expand(flows, NULL, &t[i]), 0);
    }
    assert_true(table_equal(t[0], t[1]));
    assert_false(table_equal(t[0], t[2]));
    for (int i = 0; i < 3; i++) table_free(t[i]);
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
        OWN_TABLE *t = scheme(cases[i].text);
        char *printed = text_of(t);
        if (!strstr(printed, cases[i].line) || (cases[i].other && !strstr(printed, cases[i].other)))
            fail_msg("%s\nis printed as\n%s", cases[i].text, printed);
        free(printed);
        check_round_trip(t);
    }
}

TEST_MAIN(zoo_begin, zoo_end)
