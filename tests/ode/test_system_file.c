/* test_system_file.c: systems read from texts: expressions against C's, fields against built-in ones
 * and against a direct double loop, and errors for every bad text. */
#include "tests/lib/test.h"

#include <float.h>

#include "kernels/base/random.h"
#include "tests/lib/distance.h"
#include "ode/field/system.h"
#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

/* ---- expressions --------------------------------------------------------------------------------- */

static double drift_at(const char *expression, double y, double t)
{
    static const char format[] =
        "system e\nn 1\nparam a = 3\nparam b = a/2\nG = 0*t + (%s)\ninitial = 1\n";
    double dy;
    OWN_SYSTEM *s = read_system(formed(format, expression), 0, 0);
    s->field[OP_G](s, 1, t, &y, &dy);
    return dy;
}

TEST(test_expressions)
{
    const double y = 0.7, t = 0.3, a = 3, b = 1.5, pi = 3.14159265358979323846;
    const struct {
        const char *text;
        double value;
    } cases[] = {
        {"1 - 2 - 3", -4},
        {"12/2/3", 2},
        {"-2^2", -4},
        {"2^-2", 0.25},
        {"2*-y", -2 * y},
        {"- - y", y},
        {"+y - 1", y - 1},
        {"a + b*y^3", a + b * y * y * y},
        {"y^b", pow(y, b)},
        {"y^-4", pow(y, -4)},
        {"y^17", pow(y, 17)},
        {"(y + 1)*(y - 1)/(y*y)", (y * y - 1) / (y * y)},
        {"sqrt(y) + exp(-y) - log(y)", sqrt(y) + exp(-y) - log(y)},
        {"sin(y)*cos(2*t) + tan(t)", sin(y) * cos(2 * t) + tan(t)},
        {"tanh(y) + abs(-y)", tanh(y) + y},
        {"heaviside(-y) + 2*heaviside(y - y) + 4*heaviside(y)", 6},
        {"1.5e-3*y + .5", 1.5e-3 * y + .5},
        {"pi*i + c*n + d", pi + 1 + 1},
        {"exp(sin(cos(t + y1)))", exp(sin(cos(t + y)))},
        {"2*(3 + 4*(5 - 6*(7 + 8)))", 2 * (3 + 4 * (5 - 6 * 15.0))},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double v = drift_at(cases[k].text, y, t);
        /* powers by squaring: a few roundings more than pow */
        if (!(fabs(v - cases[k].value) <= 16 * DBL_EPSILON * fabs(cases[k].value)))
            fail_msg("%s = %.17g, not %.17g", cases[k].text, v, cases[k].value);
    }
}

/* ---- fields -------------------------------------------------------------------------------------- */

static void compare(const System *a, int op, const System *b, int other)
{
    size_t N = a->n * a->d;
    OWN_REALS *y = numbers(3 * N);
    double *f = y + N, *g = f + N;
    for (size_t i = 0; i < N; i++) y[i] = random_normal(3, 1, i);
    a->field[op](a, 1, 0.2, y, f);
    b->field[other](b, 1, 0.2, y, g);
    if (!(distance(f, g, N) <= 1e-14)) fail_msg("%s: %g", a->name, distance(f, g, N));
}

/* Built-in systems, written as texts, have the same fields. n is beyond the lanes of one pass. */
TEST(test_built_in)
{
    static const struct {
        const char *name, *text;
        size_t n, d;
        int op, other; /* operators of the text and of the built-in system */
    } cases[] = {
        {"kuramoto", "system k\nd 2\nF = mean 1.5*sin(z - y)\ninitial = i\n", 150, 2, OP_F, OP_F},
        {"vortex", "system v\nd 2\nG1 = y1/2\nG2 = -y2/2\ninitial = i\n", 70, 2, OP_G, OP_G},
        {"henon",
         "system h\nd 4\nG3 = -y1 - 2*y1*y2\nG4 = y2^2 - y2 - y1^2\nF = sum 0*z\ninitial = 1\n", 3,
         4, OP_G, OP_F},
        {"forced",
         "system f\nd 3\nF = mean cos(2*t)*(z - y)\nG = (1 + sin(3*t + i - 1)/2)*y*(1 - y)\n"
         "initial = 1/2\n",
         66, 3, OP_F, OP_F},
        {"forced",
         "system f\nd 3\nF = mean cos(2*t)*(z - y)\nG = (1 + sin(3*t + i - 1)/2)*y*(1 - y)\n"
         "initial = 1/2\n",
         66, 3, OP_G, OP_G},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        OWN_SYSTEM *a = read_system(cases[k].text, cases[k].n, 0),
                   *b = sized(cases[k].name, cases[k].n, cases[k].d, 1);
        compare(a, cases[k].op, b, cases[k].other);
        assert_int_equal(a->timed, b->timed);
    }
}

/* Sum, mean and softmax agree with a double loop. The scores alone overflow exp. */
TEST(test_interaction)
{
    enum { N = 130 };
    static const char text[] = "system s\nn 130\nd 3\n"
                               "F1 = sum j*(z1 - y2)/(1 + r)\nF2 = mean i*z3*r2\n"
                               "F3 = softmax 900*dot : z2 + y\ninitial = normal\n";
    static double y[3 * N], f[3 * N], g[3 * N];
    OWN_SYSTEM *s = read_system(text, 0, 0);
    for (size_t i = 0; i < 3 * N; i++) y[i] = random_normal(9, 1, i);
    s->field[OP_F](s, 1, 0, y, f);
    for (size_t i = 0; i < N; i++) {
        const double *a = y + 3 * i;
        double top = -INFINITY, weight = 0;
        for (size_t j = 0; j < N; j++) {
            const double *b = y + 3 * j;
            top = fmax(top, 900 * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]));
        }
        g[3 * i] = g[3 * i + 1] = g[3 * i + 2] = 0;
        for (size_t j = 0; j < N; j++) {
            const double *b = y + 3 * j;
            double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2], r2 = 0;
            for (int k = 0; k < 3; k++) r2 += (a[k] - b[k]) * (a[k] - b[k]);
            if (j != i) g[3 * i] += (double)(j + 1) * (b[0] - a[1]) / (1 + sqrt(r2));
            if (j != i) g[3 * i + 1] += (double)(i + 1) * b[2] * r2 / N;
            g[3 * i + 2] += exp(900 * dot - top) * (b[1] + a[2]);
            weight += exp(900 * dot - top);
        }
        g[3 * i + 2] /= weight;
    }
    /* 130 terms of size up to 1e4; a score of 1e4 has an error of 1e4 eps, as has its exponential */
    assert_true(distance(f, g, 3 * N) <= 1e-9);
}

/* C agrees with a double loop over the memory, which leaves out no particle. F differs. */
TEST(test_the_memory)
{
    enum { N = 5, M = 3 };
    static const char text[] = "system s\nn 5\nd 2\nmemory 3\nF = mean z\n"
                               "C1 = sum i*(z1 - y2)*j\nC2 = softmax dot : z2 + r2\n"
                               "memory1 = i + 10*c\nmemory2 = i/7\ninitial = i/c\n";
    OWN_SYSTEM *s = read_system(text, 0, 0);
    double f[2 * N], g[2 * N];
    s->field[OP_C](s, 1, 0, s->initial, f);
    for (int i = 0; i < N; i++) {
        const double *y = s->initial + 2 * i;
        double weight = 0, sum = 0, first = 0;
        for (int j = 0; j < M; j++) {
            double z[2] = {j + 11, (j + 1) / 7.0}, e = exp(y[0] * z[0] + y[1] * z[1]);
            first += (i + 1) * (z[0] - y[1]) * (j + 1);
            sum += e * (z[1] + pow(y[0] - z[0], 2) + pow(y[1] - z[1], 2));
            weight += e;
        }
        g[2 * i] = first;
        g[2 * i + 1] = sum / weight;
    }
    assert_true(distance(f, g, 2 * N) <= 1e-10); /* sums of some 500 terms */
    s->field[OP_F](s, 1, 0, s->initial, f);
    assert_true(distance(f, g, 2 * N) > 1);
}

/* ---- bad texts ----------------------------------------------------------------------------------- */

/* Each bad text gives one line that names the place, and nothing leaks. */
TEST(test_bad)
{
    static const struct {
        const char *text, *place;
    } cases[] = {
        {"", "test: "},
        {"G = y\n", "test:1:1: "},
        {"system x\n", "test: "},
        {"system x\nG = y\n", "test: "},
        {"system x y\n", "test:1:"},
        {"system x\nsystem x\n", "test:2:"},
        {"system x\nG = y +\n", "test:2:8: "},
        {"system x\nG = (y\n", "test:2:7: "},
        {"system x\nG = z\n", "test:2:5: "},
        {"system x\nG = y*uniform\n", "test:2:7: "},
        {"system x\nG = sin y\n", "test:2:9: "},
        {"system x\nG = 1e400\n", "test:2:5: "},
        {"system x\nG = 0x10\n", "test:2:5: "},
        {"system x\nF = y\n", "test:2:5: "},
        {"system x\nF = softmax y, z\n", "test:2:14: "},
        {"system x\nF = sum uniform\n", "test:2:9: "},
        {"system x\ninitial = y\n", "test:2:11: "},
        {"system x\ninitial = t\n", "test:2:11: "},
        {"system x\nG0 = y\n", "test:2:3: "},
        {"system x\nG2 = y\n", "test:2:3: "},
        {"system x\nG9999 = y\n", "test:2:6: "},
        {"system x\nG = y\nG1 = y\n", "test:3:3: "},
        {"system x\nG = y\nn 3\n", "test:3:2: "},
        {"system x\nn 0\n", "test:2:2: "},
        {"system x\nn -3\n", "test:2:3: "},
        {"system x\nn 65537\n", "test:2:"},
        {"system x\nd 257\n", "test:2:"},
        {"system x\nn 60000\nd 30\nG = y\ninitial = 1\n", "test: "},
        {"system x\nparam pi = 3\n", "test:2:6: "},
        {"system x\nparam y1 = 3\n", "test:2:6: "},
        {"system x\nparam a = 1\nparam a = 2\n", "test:3:6: "},
        {"system x\nparam a = 1/0\n", "test:2:10: "},
        {"system x\nt-end 0\n", "test:2:6: "},
        {"system x\nh0 -1\n", "test:2:3: "},
        {"system x\nwhat 1\n", "test:2:1: "},
        {"system x\nG = 1/(y - 1)\ninitial = 1\n", "test:2: "},
        {"system x\nF = sum 1/r\ninitial = 1\n", "test:2: "},
        {"system x\nG = y\ninitial = log(-i)\n", "test:3: "},
        {"system x\nG = y\nC = sum z\ninitial = 1\n", "test: expected the memory"},
        {"system x\nG = y\nC = sum z\nmemory 3\ninitial = 1\n", "test: expected the memory"},
        {"system x\nG = y\nmemory 3\ninitial = 1\n", "test: expected an interaction C"},
        {"system x\nG = y\nmemory = 3\ninitial = 1\n", "test: expected an interaction C"},
        {"system x\nmemory 2\nmemory 3\n", "test:3:7: "},
        {"system x\nmemory 65537\n", "test:2:"},
        {"system x\nd 30\nmemory 60000\nG = y\nC = sum z\nmemory = 1\ninitial = 1\n",
         "test: expected at most 65536"},
        {"system x\nd 2\nG = y\ninitial = 1, 2, 3\n",
         "test:4:18: expected 1 value of initial, or 2, one a coordinate; there are 3"},
        {"system x\nG = y, y\n", "test:2:6: "},
        {"system x\nexact = y\n", "test:2:9: "},
        {"system x\nF = y[i*1]\n", "test:2:"},
        {"system x\nF = sum y[i+1]\n", "test:2:9: "},
        {"system x\nring 3\n", "test:2:"},
        {"system x\nd 2\nG = y\ninitial = 1\nexact1 = exp(t)\n", "test: expected the exact"},
        {"system x\nG = y\ninitial = 1\nexact = 2*exp(t)\n", "test:4: exact is 2 at t = 0"},
        {"system x\nG = -y\ninitial = 1\nexact = exp(-2*t)\n", "test:4: exact' is -1.0"},
        {"system x\nC = y\n", "test:2:5: "},
        {"system x\nF = own y\ny' = y\ninitial = 1\n", "test: y' = ... is the whole right side"},
        {"system x\ny'' = y\ny' = y\n", "test:3:4: expected y'' alone"},
        {"system x\ny' = y\ny'' = y\n", "test:3:1: expected y'' alone"},
        {"system x\ny' = y\ny1' = y\n", "test:3:5: coordinate 1 has its rule in line 2"},
        {"system x\nd 1\ny2' = y\n", "test:3:5: expected a coordinate of 1 to 1"},
        {"system x\nn 2\nd 2\nG = y\ninitial = 1, 2, 3\n",
         "test:5:18: expected 1 value of initial, or 2, one a coordinate, or those of all particles; there are 3"},
        {"system x\nn 2\nG = y\nd 2\ninitial = 1, 2, 3, i\n", "test:4:2: expected 'd' before"},
        {"system x\nn 2\nd 2\nG = y\ninitial = 1, 2, 3, i\n", "test:5:20: 'i' has no meaning"},
        {"system x\nG = y'\n", "test:2:6: a velocity y' is known where"},
        {"system x\ninitial = 1\ny'' = -y\n", "test:3:1: expected y'' before"},
        {"system x\nd 129\ny'' = -y\n", "test:3:1: expected d of at most 128"},
        {"system x\ny'' = -y2\n", "test:2:8: 'y2': a particle has 1"},
        {"system x\nd 1\ny2'' = -y\n", "test:3:5: expected a coordinate of 1 to 1"},
        {"system x\ny'' = -y\ny1'' = y\n", "test:3:5: coordinate 1 has its rule in line 2"},
        {"system x\ny'' = -y\nG = y\n", "test:3:1: G has no meaning beside y''"},
        {"system x\ny'' = -y\ninitial = 1, 2, 3\n", "test:3:18: expected 1 value of initial, or 2"},
        {"system x\nn 1\ny'' = -y\nenergy = y^2\ninitial = 1, 1\n",
         "test:4: energy is no invariant"},
        {"system x\nenergy1 = 1\n", "test:2:8: expected 'energy = ...'"},
        {"system x\nparam m = 1, 2,\n", "test:2:16: "},
        {"system x\nn 2\nparam m = 1, 2, 3\nG = m[i]\n",
         "test:4:7: 'm' has 3 numbers, and 'i' goes to 2"},
        {"system x\nn 2\nparam m = 1, 2\nG = m[j]\n", "test:4:7: 'm[j]' has no meaning in G"},
        {"system x\nparam m = 1, 2\nG = m[t]\n", "test:3:7: 'm[t]' has no meaning"},
        {"system x\nparam m = 1, 2\nG = m[3]\n", "test:3:7: 'm' has the numbers 1 to 2"},
        {"system x\nparam m = 1, 2\nG = m\n", "test:3:6: "},
        {"system x\nn 3\nmemory 2\nparam m = 1, 2, 3\nC = sum m[j]*z\n", "test:5:11: 'm' has 3"},
        {"system x\nt-end 1e16\n", "test:2:6: expected a number in"},
        {"system x\nGx = y\n", "test:2:1: expected system, title"},
        {"system x\nG12345 = y\n", "test:2:1: expected system, title"},
        {"system x\nparam 1 = 1\n", "test:2:6: expected a name"},
        {"system x\nparam a 1\n", "test:2:9: expected '='"},
        {"system x\nparam sin = 1\n", "test:2:6: 'sin' is taken"},
        {"system x\nG = y99999\n", "test:2:5: unknown name"},
        {"system x\nG = 2^-x\n", "test:2:8: unknown name"},
        {"system x\nG = 0X1\n", "test:2:5: expected a decimal number"},
        {"system x\nG 1\n", "test:2:3: expected '='"},
        {"system x\nmemory = y\n", "test:2:10: "},
        {"system x\nd 2\nmemory1 = 1\nmemory = 1\n", "test:4:7: "},
        {"system x\nG = y\nC = sum 1/r\nmemory 1\nmemory = 1\ninitial = 1\n", "test:3: "},
        {"system x\nG = y\nC = sum z\nmemory 1\nmemory = log(-i)\ninitial = 1\n", "test:5: "},
        {"system x\nC = sum z\nmemory 2\nmemory = 1\ny' = y\ninitial = 1\n",
         "test: y' = ... is the whole right side"},
        {"system x\nd 2\n2*y1' + y2' = y1\ninitial = 1\n", "test: expected 2 equations"},
        {"system x\nn 2\nG = y\ninitial = 1\nend = 1, 2, 3\n", "test: end: expected 2 numbers"},
        {"system x\nG = y10000\n", "test:2:5: unknown name 'y10000'"},
        {"system x\nparam m = 1, 2\nparam m = 3\n", "test:3:6: "},
        {"system x\nparam m = 1, 2\nG = m[0]\n", "test:3:7: 'm' has the numbers 1 to 2"},
        {"system x\nparam m = 1, 2\nG = m[-1]\n", "test:3:7: expected"},
        {"system x\nparam m = 1, 2\nG = m[1\n", "test:3:8: expected ']'"},
        {"system x\nn 2\nparam m = 1, 2\nG = m[i\n", "test:4:8: expected ']'"},
        {"system x\nd 2\nparam m = 1, 2\nG = m[c]*m[k]\n", "test:4:12: 'm[k]' has no meaning"},
        {"system x\nG = y[j+1]\n", "test:2:7: expected 'i'"},
        {"system x\nG = y[i*1]\n", "test:2:8: expected '+'"},
        {"system x\nG = y[i+k]\n", "test:2:9: expected"},
        {"system x\nG = y^-\n", "test:2:8: "},
        {"system x\nG = 2*\n", "test:2:7: "},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        System *s = NULL;
        size_t live = memory_live(), n = strlen(cases[k].place);
        int code = system_parse("test", cases[k].text, strlen(cases[k].text), 0, 0, 1, &s);
        if (code != ERR_INPUT) fail_msg("accepted: %s", cases[k].text);
        if (strncmp(error_text(), cases[k].place, n) != 0)
            fail_msg("%s: %s, not at %s", cases[k].text, error_text(), cases[k].place);
        assert_null(strchr(error_text(), '\n'));
        assert_int_equal(memory_live(), live);
    }
}

/* Options set parameters of one number by their names, and stand behind the system's name. */
TEST(test_options)
{
    static const char text[] =
        "system x\nn 1\nparam a = 3\nparam bc = 2\nparam m = 1, 2\nt-end 2\nG = a*y + m[2]*bc\ninitial = 1\nend = 7\n";
    static const struct {
        const char *options, *words; /* words NULL: taken */
        double slope;
    } rows[] = {{"", NULL, 7},
                {":a=5", NULL, 9},
                {":a=5:bc=.5", NULL, 6},
                {":a", "system x: expected NAME=NUMBER, NAME of a bc; not 'a'", 0},
                {":b=1", "not 'b=1'", 0},
                {":bcd=1", "not 'bcd=1'", 0},
                {":m=1", "not 'm=1'", 0},
                {":a=2:c=1", "not 'c=1'", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OWN_SYSTEM *s = NULL;
        int code = system_parse_with("test", text, strlen(text), rows[i].options, 0, 0, 1, &s);
        if (rows[i].words) {
            assert_refused(code, rows[i].options, rows[i].words);
            continue;
        }
        double dy = 0;
        if (code != 0) fail_msg("%s: %s", rows[i].options, error_text());
        s->field[OP_G](s, 0, 0, s->initial, &dy);
        assert_true(dy == rows[i].slope);
        assert_string_equal(s->name, formed("x%s", rows[i].options));
        assert_int_equal(s->end != NULL, i == 0); /* what the file knows is of its own numbers */
    }
    static const char plain[] = "system x\nG = y\ninitial = 1\n";
    OWN_SYSTEM *none = NULL;
    assert_refused(system_parse_with("test", plain, strlen(plain), ":a=1", 0, 0, 1, &none), plain,
                   "NAME of none; not 'a=1'");
}

/* A list of initial values is that of the coordinates one by one. */
TEST(test_initial_list)
{
    OWN_SYSTEM *a = read_system("system x\nG = y\ninitial = 2*i, -1 + c, normal\n", 4, 3),
               *b = read_system(
                   "system x\nG = y\ninitial1 = 2*i\ninitial2 = -1 + c\ninitial3 = normal\n", 4, 3);
    assert_memory_equal(a->initial, b->initial, 12 * sizeof *a->initial);
    assert_true(a->initial[3] == 4 && a->initial[4] == 1);
}

static void has_sizes(const char *text, size_t n, size_t d)
{
    OWN_SYSTEM *s = read_system(text, 0, 0);
    if (s->n != n || s->d != d) fail_msg("%s: %zu particles of %zu", text, s->n, s->d);
}

/* Where no line says how many particles and coordinates there are, the rest of the text does. There are eight particles
 * where a rule tells them apart, since they would be copies of one else; a list is the state of one, or of all. */
TEST(test_sizes)
{
    has_sizes("system x\nG = -y\ninitial = 1\n", 1, 1);
    has_sizes("system x\nd 2\nG = t*y1 + c\ninitial = 1 + c\n", 1, 2);
    has_sizes("system x\ny1' = y2\ny2' = -y1\ninitial = 1\n", 1, 2);
    has_sizes("system x\ny2'' = y1\ny1'' = -y1\ninitial = 1, 2\n", 1, 4);
    has_sizes("system x\nd = 2\nG = -y\ninitial = 1, 2 # 3, 4\n", 1, 2);
    has_sizes("system x\nd = 2\nF = mean z - y\ninitial = 1, 2\n", 1, 2);
    has_sizes("system x\nd = 2\nF = mean z - y\ninitial = 1, 2, 3, 4, 5, 6\n", 3, 2);
    has_sizes("system x\ny' = -y\ninitial = 1, 2, 3\n", 3, 1);
    has_sizes("system x\nn = 4\ny' = -y\ninitial = 1\n", 4, 1);
    static const char *const several[] = {
        "F = mean z - y\ninitial = 1\n",
        "G = -y\ninitial = i\n",
        "G = -y/n\ninitial = 1\n",
        "G = y[i+1]\ninitial = 1\n",
        "G = -y\ninitial = normal\n",
        "param m = 1, 2, 3, 4, 5, 6, 7, 8\nG = m[i]\ninitial = 1\n"};
    for (size_t i = 0; i < sizeof several / sizeof *several; i++)
        has_sizes(formed("system x\n%s", several[i]), 8, 1);
    OWN_SYSTEM *s = read_system("system x\nd 2\nG = -y\ninitial = 1, 2, -3, 2^2, 5, pi\n", 0, 0);
    static const double listed[] = {1, 2, -3, 4, 5, 3.14159265358979323846};
    assert_memory_equal(s->initial, listed, sizeof listed);
}

/* y' = ... is G, the whole right side; numbers may stand behind '='. */
TEST(test_whole)
{
    OWN_SYSTEM *a = read_system("system x\nn = 2\nd = 2\nparam a = 2\ny1' = a*y2\ny2' = -y1 + t\n"
                                "initial = 1, 0\nt-end = 3\nh0 = 1/4\n",
                                0, 0),
               *b = read_system("system x\nn 2\nd 2\nparam a = 2\nG1 = a*y2\nG2 = -y1 + t\n"
                                "initial = 1, 0\nt-end 3\nh0 1/4\n",
                                0, 0),
               *all = read_system("system x\nd 2\ny' = -y\ninitial = 1, 2\n", 0, 0);
    double x[4], y[4];
    a->field[OP_G](a, 1, 0.5, a->initial, x);
    b->field[OP_G](b, 1, 0.5, b->initial, y);
    assert_memory_equal(x, y, sizeof x);
    assert_true(a->t_end == 3 && a->h0 == 0.25 && (a->absent & 1 << OP_F) && a->timed);
    all->field[OP_G](all, 1, 0, all->initial, x);
    assert_true(x[0] == -1 && x[1] == -2);
}

/* Equations whose left side is no single derivative make a mass matrix, each in the first place that no y1' = ... has. */
TEST(test_balances)
{
    static const double rows[] = {2, -0.5, 0, 0, 1, 0, 0, 0, 0};
    OWN_SYSTEM *s =
        read_system("system x\nparam a = 1/4\n2*y1' - 2*a*y2' = y3\ny2' = -y1 + t\n0 = y1 + y3\n"
                    "initial = 1, 0, -1\n",
                    0, 0);
    double dy[3];
    assert_true(s->n == 1 && s->d == 3 && s->timed && (s->absent & 1 << OP_F));
    assert_memory_equal(s->mass, rows, sizeof rows);
    s->field[OP_G](s, 1, 2, s->initial, dy);
    assert_true(dy[0] == -1 && dy[1] == 1 && dy[2] == 0);
    OWN_SYSTEM *one =
                   read_system("system x\ntitle It's a = b\n0 = y - exp(-t)\ninitial = 1\n", 0, 0),
               *none = read_system("system x\ny1' = y2\ny2' = -y1\ninitial = 1, 0\n", 0, 0);
    assert_true(one->d == 1 && one->mass && *one->mass == 0 && !none->mass);
    static const char *const wrong[] = {
        "y1' = y2\n0 = y1\n0 = y2\ny2' = 1\ninitial = 1\nd 2\n",
        "2*y1' = y2\ninitial = 1\nd 2\n",
        "2*y1 + y2' = y2\ny1' = 1\ninitial = 1\n",
        "2*y1' + 3 = y1\ninitial = 1\n",
        "y1*y1' = y1\ninitial = 1\n",
        "2*y1' - y3' = y1\n0 = y1\nd 2\ninitial = 1\n",
        "y'' = y\n0 = y1\ninitial = 1\n",
        "F1 = own y1\n0 = y2\ninitial = 1\n",
        "0 = 1 + y1\ny1' = y1\ninitial = 1\nd 1\n",
        "y1' = -y1\n0 = y2 - y1\ninitial = 1, 1\nexact = exp(-2*t), exp(-2*t)\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        System *x;
        const char *text = formed("system x\n%s", wrong[i]);
        if (system_parse("test", text, strlen(text), 0, 0, 1, &x) != ERR_INPUT)
            fail_msg("%s", text);
    }
}

/* A text may write its Jacobian: entries not written are 0, and each is held to differences, also where the initial state hides it. */
TEST(test_jacobian)
{
    static const char robertson[] =
        "system x\nn 2\nparam k = 1e4\ny1' = -0.04*y1 + k*y2*y3\ny2' = 0.04*y1 - k*y2*y3 - 3e7*y2^2\n"
        "y3' = 3e7*y2^2\ninitial = 1, 0, 0\n"
        "dy1'/dy1 = -0.04\ndy1'/dy2 = k*y3\ndy1'/dy3 = k*y2\ndy2'/dy1 = 0.04\n"
        "dy2'/dy2 = -k*y3 - 6e7*y2\ndy2'/dy3 = -k*y2\n";
    static const double at[6] = {0, 0, 0, 1, 2, 3};
    double J[36], one[1], *entry = J + 21; /* of the second particle */
    OWN_SYSTEM *s = read_system(formed("%sdy3'/dy2 = 6e7*y2\n", robertson), 0, 0);
    s->jacobian(s, OP_G, 1, 0, at, J);
    static const double second[] = {-0.04, 3e4, 2e4, 0.04, -3e4 - 12e7, -2e4, 0, 12e7, 0};
    for (size_t k = 0; k < 9; k++) assert_true(entry[k / 3 * 6 + k % 3] == second[k]);
    assert_true(J[0] == -0.04 && J[3] == 0 && J[18] == 0);
    s->jacobian(s, OP_F, 1, 0, at, J);
    assert_true(J[0] == 0 && entry[0] == 0);
    OWN_SYSTEM *scalar = read_system("system x\ny' = -t*y^2\ndy'/dy = -2*t*y\ninitial = 1\n", 0, 0);
    scalar->jacobian(scalar, OP_G, 1, 2, at + 4, one);
    assert_true(*one == -8 && scalar->timed);
    static const struct {
        const char *text, *told;
    } wrong[] = {{"", "dy3'/dy2 is 0, as no line gives it"},
                 {"dy3'/dy2 = 6e7*y1\n", "test:14: dy3'/dy2 is"},
                 {"dy3'/dy2 = 6e7*y2\ndy3'/dy3 = 1e-3\n", "dy3'/dy3 is 0.001"},
                 {"dy4'/dy1 = 1\n", "K and L of 1 to 3"},
                 {"dy3'/dy0 = 1\n", "K and L of 1 to 3"},
                 {"dy3'/dy = 1\n", "K and L of 1 to 3"},
                 {"dy3'/y2 = 1\n", "K and L of 1 to 3"},
                 {"dy3'/dy2 6e7\n", "expected '='"},
                 {"dy3'/dy2 = 6e7*y2[i+1]\n", "no meaning in a Jacobian"},
                 {"dy2'/dy1 = 0.04\n", "this entry stands in line 11"}};
    for (size_t i = 0; i <= sizeof wrong / sizeof *wrong; i++) {
        System *x;
        const char *told = i ? wrong[i - 1].told : "y1' = ... alone";
        const char *text = i ? formed("%s%s", robertson, wrong[i - 1].text)
                             : "system x\ny1' = y2\n0 = y2\ndy1'/dy2 = 1\ninitial = 1, 0\n";
        if (system_parse("test", text, strlen(text), 0, 0, 1, &x) != ERR_INPUT ||
            !strstr(error_text(), told))
            fail_msg("%s: %s", text, error_text());
    }
    static const char *const others[] = {"system x\nG1 = -y1\ndy1'/dy1 = -1\ninitial = 1\n",
                                         "system x\nn 4\ny' = -y[i+1]\ndy'/dy = 0\ninitial = 1\n",
                                         "system x\ny'' = -y\ndy1'/dy1 = 0\ninitial = 1\n"};
    for (size_t i = 0; i < 3; i++) {
        System *x;
        if (system_parse("test", others[i], strlen(others[i]), 0, 0, 1, &x) != ERR_INPUT)
            fail_msg("%s", others[i]);
    }
}

/* The solution of a text is the reference. */
TEST(test_exact)
{
    double y[2], agreement, t = 2;
    OWN_SYSTEM *s = read_system("system x\nG1 = y2\nG2 = -y1\ninitial = 1, 0\n"
                                "exact = cos(t), -sin(t)\n",
                                1, 2);
    assert_int_equal(reference_solve(s, &t, 1, y, &agreement), 0);
    assert_true(y[0] == cos(t) && y[1] == -sin(t) && agreement <= 1e-13 && !s->timed);
}

/* Neighbours on a grid and on a ring are those of sums over all others; the values beyond the ends are told. */
TEST(test_neighbours)
{
    static const char *const near[] = {"ring\n", "", "ends 2\n"};
    static const char *const far[] = {
        "(exp(-60*(abs(i - j) - 1)^2) + exp(-60*(abs(i - j) - n + 1)^2))*(z - y)",
        "exp(-60*(abs(i - j) - 1)^2)*(z - y) - y*(exp(-60*(i - 1)^2) + exp(-60*(i - n)^2))/(n - 1)",
        "exp(-60*(abs(i - j) - 1)^2)*(z - y) + (2 - y)*(exp(-60*(i - 1)^2) + exp(-60*(i - n)^2))/(n - 1)"};
    for (int k = 0; k < 3; k++) {
        double a[18], b[18];
        OWN_SYSTEM *s = read_system(
            formed("system x\n%sF = y[i+1] - 2*y + y[i-1]\ninitial = normal\n", near[k]), 9, 2);
        OWN_SYSTEM *sum =
            read_system(formed("system x\nF = sum %s\ninitial = normal\n", far[k]), 9, 2);
        s->field[OP_F](s, 1, 0, s->initial, a);
        sum->field[OP_F](sum, 1, 0, s->initial, b);
        for (int i = 0; i < 18; i++) assert_true(fabs(a[i] - b[i]) <= 1e-13);
        assert_true(s->special & 1 << OP_F);
        sum->field[OP_F](sum, 1, 0, a, b); /* control: of another state */
        assert_false(fabs(a[3] - b[3]) <= 1e-13);
    }
    /* The second coordinate's neighbour, in a drift. */
    OWN_SYSTEM *s = read_system("system x\nring\nG1 = y2[i-2]\ninitial = i + 10*c\n", 5, 2);
    double dy[10];
    s->field[OP_G](s, 1, 0, s->initial, dy);
    assert_true(dy[0] == 24 && dy[4] == 21);
}

/* Second order: Kepler's problem as a text has kick, drift and their flows of the built-in one; a vector of masses those of
 * a formula in j; a velocity in y'' leaves the drift's flow alone. */
TEST(test_second_order)
{
    OWN_SYSTEM *s = read_system("system k\ny'' = -y/(y1^2 + y2^2)^1.5\n"
                                "energy = (y1'^2 + y2'^2)/2 - 1/sqrt(y1^2 + y2^2)\n"
                                "initial = i, c, 1/2, -i/3\n",
                                4, 2),
               *kepler = sized("kepler", 4, 4, 1);
    double *y[2] = {s->initial, kepler->initial};
    assert_int_equal(s->d, 4);
    memcpy(y[1], y[0], 16 * sizeof **y);
    assert_true(fabs(s->energy(s, y[0]) - kepler->energy(kepler, y[0])) <= 1e-14);
    for (int op = OP_F; op <= OP_G; op++) {
        compare(s, op, kepler, op);
        s->flow[op](s, 1, 0, 0.25, y[0]);
        kepler->flow[op](kepler, 1, 0, 0.25, y[1]);
        assert_true(distance(y[0], y[1], 16) <= 1e-14);
    }
    OWN_SYSTEM *m = read_system("system m\nparam m = 1, 1/2, 1/3\nparam k = 2, 3\n"
                                "y'' = sum k[c]*m[j]*m[i]*(z - y)/r^3 + 0*m[2]\ninitial = i, i^2\n",
                                3, 2),
               *f = read_system(
                   "system f\nF3 = sum 2/j/i*(z1 - y1)/((z1 - y1)^2 + (z2 - y2)^2)^1.5\n"
                   "F4 = sum 3/j/i*(z2 - y2)/((z1 - y1)^2 + (z2 - y2)^2)^1.5\n"
                   "G1 = y3\nG2 = y4\ninitial = i, i^2, 0, 0\n",
                   3, 4);
    assert_memory_equal(m->initial, f->initial, 12 * sizeof *m->initial);
    for (int op = OP_F; op <= OP_G; op++) compare(m, op, f, op);
    OWN_SYSTEM *v = read_system("system v\ny'' = (1 - y^2)*y' - y + y[i+1]'\ninitial = 2\n", 2, 1),
               *w = read_system(
                   "system w\nF2 = (1 - y1^2)*y2 - y1 + y2[i+1]\nG1 = y2\ninitial = 2, 0\n", 2, 2);
    for (int op = OP_F; op <= OP_G; op++) compare(v, op, w, op);
    assert_memory_equal(v->initial, w->initial, 4 * sizeof *v->initial);
    assert_true(!v->flow[OP_F] && v->flow[OP_G] && !w->flow[OP_G]);
}

/* Huge texts are refused in bounded time and memory. */
TEST(test_large)
{
    static char text[60000];
    static const char *const units[] = {"(", "-", "y+", "y*(", "sin(", "1^", "+", "y-("};
    System *s;
    for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
        size_t n = (size_t)sprintf(text, "system x\nG = "), unit = strlen(units[k]);
        while (n + unit < 3900) n += (size_t)sprintf(text + n, "%s", units[k]);
        assert_int_equal(system_parse("test", text, n, 0, 0, 1, &s), ERR_INPUT);
    }
    size_t n = (size_t)sprintf(text, "system x\n");
    for (int i = 0; n < 55000; i++) n += (size_t)sprintf(text + n, "param a%d = 1\n", i);
    assert_int_equal(system_parse("test", text, n, 0, 0, 1, &s), ERR_INPUT);
    char *many = memory_new(1 << 22, 1);
    n = (size_t)sprintf(many, "system x\nG = y");
    for (int i = 0; i < 1 << 19; i++) n += (size_t)sprintf(many + n, "+y");
    assert_int_equal(system_parse("test", many, n, 0, 0, 1, &s), ERR_INPUT);
    assert_non_null(strstr(error_text(), "expected at most 1048576 operations in a system"));
    memory_free(many);
}

/* Rules of an interaction share what they have in common, over several sets of others: each has the value of its own formula,
 * which a velocity, a vector's number of the other, the number of the coordinate, two softmaxes of other scores and exponents beyond
 * a double's tell apart. */
TEST(test_shared)
{
    static const char text[] =
        "system x\nn 131\nd 4\nparam m = 1, 2, 3, 4\n"
        "F1 = sum m[c]*(z1 - y1)/(1 + r2)^2 + c*exp(-r2)\nF2 = mean m[c]*(z1 - y1)/(1 + r2)^2 + y3*exp(-2000*r2)\n"
        "F3 = softmax 300*dot : z1*z2\nF4 = softmax -dot : z1 + y2/r2^0\ninitial = normal\n";
    static const size_t n = 131, d = 4;
    System *s = NULL;
    double got[131 * 4];
    if (system_parse("test", text, sizeof text - 1, 0, 0, 1, &s) != 0) fail_msg("%s", error_text());
    const double *y = s->initial;
    s->field[OP_F](s, 1, 0, y, got);
    for (size_t i = 0; i < n; i++) {
        const double *a = y + i * d;
        double want[4] = {0}, top = -INFINITY, weight[2] = {0};
        for (size_t j = 0; j < n; j++) {
            double dot = 0;
            for (size_t k = 0; k < d; k++) dot += a[k] * y[j * d + k];
            top = fmax(top, 300 * dot);
        }
        for (size_t j = 0; j < n; j++) {
            const double *z = y + j * d;
            double r2 = 0, dot = 0;
            for (size_t k = 0; k < d; k++) r2 += (a[k] - z[k]) * (a[k] - z[k]), dot += a[k] * z[k];
            const double pull = (z[0] - a[0]) / (1 + r2) / (1 + r2);
            const double e[2] = {exp(300 * dot - top), exp(-dot)};
            if (i != j) want[0] += pull + exp(-r2);
            if (i != j) want[1] += (2 * pull + a[2] * exp(-2000 * r2)) / (double)n;
            want[2] += e[0] * z[0] * z[1];
            want[3] += e[1] * (z[0] + a[1]);
            for (int k = 0; k < 2; k++) weight[k] += e[k];
        }
        for (int k = 0; k < 2; k++) want[2 + k] /= weight[k];
        for (size_t k = 0; k < d; k++)
            if (!(fabs(got[i * d + k] - want[k]) <= 1e-12 * (1 + fabs(want[k]))))
                fail_msg("%zu, %zu: %.17g, not %.17g", i, k, got[i * d + k], want[k]);
    }
    system_free(s);
}

/* A system may have hundreds of equations, of together many operations. */
TEST(test_many_equations)
{
    enum { d = 200, TERMS = 60 };
    char *text = memory_new(1 << 20, 1), *at = text;
    double got[d];
    System *s = NULL;
    at += sprintf(at, "system x\n");
    for (int c = 1; c <= d; c++) {
        at += sprintf(at, "y%d' = y%d", c, c % d + 1);
        for (int k = 0; k < TERMS; k++) at += sprintf(at, " + 0*sin(y%d*%d)", c, k);
        *at++ = '\n';
    }
    at += sprintf(at, "initial = 1");
    for (int c = 2; c <= d; c++) at += sprintf(at, ", %d", c);
    if (system_parse("test", text, (size_t)(at - text), 0, 0, 1, &s) != 0)
        fail_msg("%s", error_text());
    assert_int_equal(s->d, d);
    s->field[OP_G](s, 1, 0, s->initial, got);
    for (int c = 0; c < d; c++) assert_true(got[c] == (c + 1) % d + 1);
    system_free(s);
    memory_free(text);
}

TEST_MAIN(zoo_begin, zoo_end)
