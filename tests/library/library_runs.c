/* library_runs.c: a program of one who uses the library, compiled by test_library.c: runs over time, runs by tolerance,
 * references, conditions, regions and names beside closed forms, and what these functions refuse. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <trotter.h>

#define NEED(x)                                                         \
    do {                                                                \
        if (!(x)) {                                                     \
            printf("line %d: %s: %s\n", __LINE__, #x, trotter_error()); \
            return 1;                                                   \
        }                                                               \
    } while (0)
#define DONE(call) NEED((call) == TROTTER_DONE)
#define MISUSE(call) NEED((call) == TROTTER_MISUSE)
/* A NULL pointer is refused by words of its own. */
#define NULL_REFUSED(call) NEED((call) == TROTTER_MISUSE && strstr(trotter_error(), "NULL"))

static double y[32];
static TrotterRun run;
static TrotterScheme *euler, *pair, *split, *past;
static TrotterSystem *F, *G, *wild, *ends;

static int decay(void *arg, double t, const double *x, double *dx)
{
    (void)arg, (void)t;
    dx[0] = -x[0];
    return 0;
}

static int burst(void *arg, double t, const double *x, double *dx)
{
    (void)arg, (void)t;
    dx[0] = 1e200 * x[0];
    return 0;
}

/* Fails from x = 2 on. */
static int broken(void *arg, double t, const double *x, double *dx)
{
    (void)arg, (void)t;
    dx[0] = 4;
    return x[0] > 2;
}

/* Steps of one length: Euler's (1 - h)^k, by F alone and by G alone, whose evaluations are those of one field. */
static int paths(void)
{
    DONE(trotter_solve_path(euler, F, 0.25, 4, y, &run));
    NEED(run.steps == 4 && run.evaluations == 4 && run.t == 1 && strcmp(run.outcome, "done") == 0);
    for (int k = 0; k <= 4; k++) NEED(fabs(y[k] - pow(0.75, k)) < 1e-15);
    DONE(trotter_solve_path(euler, G, 0.25, 4, y + 8, &run));
    NEED(run.evaluations == 4 && memcmp(y, y + 8, 5 * sizeof *y) == 0);
    DONE(trotter_solve_path(split, F, 0.25, 4, y, &run));
    NEED(fabs(y[4] - exp(-1)) < 1e-10);
    DONE(trotter_solve(past, F, 0.5, 2, y)); /* its first step is exact: exp(-1/2) at 1/2 */
    NEED(fabs(y[0] - (0.25 * exp(-0.5) + 0.25)) < 1e-11);
    NEED(trotter_solve(past, F, 0.5, 1, y) == TROTTER_INPUT); /* no step of its own */
    NEED(strstr(trotter_error(), "begins with 1 exact step") != NULL);
    DONE(trotter_solve_path(euler, wild, 1, 4, y, &run));
    NEED(run.steps == 1 && strcmp(run.outcome, "not finite") == 0);
    NEED(isfinite(y[1]) && isnan(y[2]) && isnan(y[4]));
    MISUSE(trotter_solve_path(euler, F, 0, 4, y, &run));
    NULL_REFUSED(trotter_solve_path(NULL, F, 1, 1, y, &run));
    NULL_REFUSED(trotter_solve_path(euler, NULL, 1, 1, y, &run));
    NULL_REFUSED(trotter_solve_path(euler, F, 1, 1, NULL, &run));
    NULL_REFUSED(trotter_solve_path(euler, F, 1, 1, y, NULL));
    return 0;
}

static int tolerances(void)
{
    const double t[] = {0.5, 1, 2}, falling[] = {1, 0.5}, at[] = {0.1, 0.3, 1};
    DONE(trotter_solve_adaptive(pair, F, 0, 1e-9, 3, t, y, &run));
    NEED(run.t == 2 && run.steps > 5 && run.evaluations > 6 * run.steps);
    for (int k = 0; k < 3; k++) NEED(fabs(y[k] / exp(-t[k]) - 1) < 2e-8);
    DONE(trotter_solve_adaptive(pair, F, 0, 1e-9, 1, t, y + 8, &run));
    NEED(fabs(y[8] - y[0]) < 1e-9 && run.t == 0.5);
    DONE(trotter_solve_adaptive(pair, ends, 1e-6, 0, 3, at, y, &run));
    NEED(strcmp(run.outcome, "underflow") == 0 && fabs(run.t - 0.25) < 1e-6);
    NEED(fabs(y[0] - 1.4) < 1e-6 && isnan(y[1]) && isnan(y[2]));
    NEED(trotter_solve_adaptive(euler, F, 0, 1e-9, 1, t, y, &run) == TROTTER_INPUT);
    NEED(strstr(trotter_error(), "estimate"));
    MISUSE(trotter_solve_adaptive(pair, F, 0, 1e-9, 2, falling, y, &run));
    MISUSE(trotter_solve_adaptive(pair, F, 0, 0, 3, t, y, &run));
    MISUSE(trotter_solve_adaptive(pair, F, 0, 1, 0, t, y, &run));
    NULL_REFUSED(trotter_solve_adaptive(NULL, F, 1, 1, 1, t, y, &run));
    NULL_REFUSED(trotter_solve_adaptive(pair, NULL, 1, 1, 1, t, y, &run));
    NULL_REFUSED(trotter_solve_adaptive(pair, F, 1, 1, 1, NULL, y, &run));
    NULL_REFUSED(trotter_solve_adaptive(pair, F, 1, 1, 1, t, NULL, &run));
    NULL_REFUSED(trotter_solve_adaptive(pair, F, 1, 1, 1, t, y, NULL));
    return 0;
}

static int references(void)
{
    const double t[] = {2, 0.5, -1};
    double agreement;
    DONE(trotter_references(F, 3, t, y, &agreement));
    NEED(agreement < 1e-11);
    for (int k = 0; k < 3; k++) NEED(fabs(y[k] - exp(-t[k])) < 1e-11);
    DONE(trotter_references(F, 0, NULL, NULL, NULL));
    NULL_REFUSED(trotter_references(NULL, 1, t, y, NULL));
    NULL_REFUSED(trotter_references(F, 1, NULL, y, NULL));
    NEED(trotter_system_end(F) == 1 && trotter_system_end(NULL) == 0);
    return 0;
}

static int conditions(void)
{
    TrotterCondition *c;
    size_t n;
    DONE(trotter_scheme_conditions(euler, 3, &c, &n));
    NEED(n == 4 && c[0].holds && c[1].order == 2 && !c[3].holds);
    NEED(strcmp(c[3].condition, "sum b_i a_ij c_j") == 0);
    NEED(strcmp(c[3].right, "1/6") == 0 && strcmp(c[3].left, "0") == 0);
    trotter_free(c);
    DONE(trotter_scheme_conditions(split, 3, &c, &n));
    NEED(n == 20 && strcmp(c[19].condition, "G'G'G") == 0 && c[19].holds && !c[18].holds);
    trotter_free(c);
    NEED(trotter_scheme_conditions(past, 3, &c, &n) == TROTTER_INPUT && !c && n == 0);
    NEED(trotter_scheme_conditions(euler, 99, &c, &n) == TROTTER_INPUT);
    NULL_REFUSED(trotter_scheme_conditions(NULL, 2, &c, &n));
    NULL_REFUSED(trotter_scheme_conditions(euler, 2, NULL, &n));
    NULL_REFUSED(trotter_scheme_conditions(euler, 2, &c, NULL));
    return 0;
}

static int expansions(void)
{
    TrotterTerm *term;
    size_t n;
    DONE(trotter_scheme_expand(euler, TROTTER_ONE_FIELD, 2, &term, &n));
    NEED(n == 1 && strcmp(term->name, "H'H") == 0 && strcmp(term->coefficient, "-1/2") == 0);
    trotter_free(term);
    DONE(trotter_scheme_expand(euler, TROTTER_MODIFIED, 2, &term, &n));
    NEED(n == 6 && term[5].value == -0.5); /* F, G and -h/2 (F + G)'(F + G) */
    trotter_free(term);
    MISUSE(trotter_scheme_expand(euler, 4, 2, &term, &n));
    return 0;
}

static size_t points;
static double furthest[2]; /* largest Re z and Im z */

/* Euler's boundary is the circle |z + 1| = 1. */
static void circle(void *off, size_t line, double re, double im)
{
    (void)line;
    points++;
    furthest[0] = fmax(furthest[0], re);
    furthest[1] = fmax(furthest[1], im);
    *(double *)off = fmax(*(double *)off, fabs(hypot(re + 1, im) - 1));
}

static int regions(void)
{
    const double re[] = {-3, 1}, im[] = {-2, 2}, back[] = {1, -3}, left[] = {-3, -1},
                 below[] = {-2, 0};
    double off = 0;
    DONE(trotter_scheme_region(euler, re, im, 81, circle, &off));
    NEED(points > 80 && off > 0 && off < 1e-3);
    furthest[0] = furthest[1] = -9; /* a quarter of it, cut at Re z = -1 and Im z = 0 */
    DONE(trotter_scheme_region(euler, left, below, 81, circle, &off));
    NEED(fabs(furthest[0] + 1) < 1e-12 && fabs(furthest[1]) < 1e-12);
    MISUSE(trotter_scheme_region(euler, back, im, 81, circle, &off));
    MISUSE(trotter_scheme_region(euler, re, im, 1, circle, &off));
    MISUSE(trotter_scheme_region(euler, re, im, 9, NULL, &off));
    NULL_REFUSED(trotter_scheme_region(NULL, re, im, 9, circle, &off));
    NULL_REFUSED(trotter_scheme_region(euler, NULL, im, 9, circle, &off));
    return 0;
}

static int names(void)
{
    char *text;
    DONE(trotter_scheme_names(&text));
    NEED(strstr(text, "\nrk4\n"));
    trotter_free(text);
    DONE(trotter_system_names(&text));
    NEED(strstr(text, "\nkepler\n"));
    trotter_free(text);
    NULL_REFUSED(trotter_scheme_names(NULL));
    NULL_REFUSED(trotter_system_names(NULL));
    return 0;
}

/* A text, a name and a field that cannot be; the text that a scheme prints is read again, and a tableau is read. */
static int refusals(void)
{
    static const char two[] =
        "scheme a\nk1 = H(y)\ny' = y + k1\nscheme b\nk1 = H(y)\ny' = y + k1\n";
    TrotterScheme *s = NULL;
    TrotterSystem *on;
    char *text;
    NEED(trotter_scheme_find("eulre", &s) == TROTTER_INPUT && !s &&
         strstr(trotter_error(), "euler"));
    NEED(trotter_scheme_read("scheme a\nk1 = F(y\n", NULL, &s) == TROTTER_INPUT);
    NEED(strstr(trotter_error(), "text:2:"));
    NEED(trotter_system_find("nothing", 0, 0, 1, &on) == TROTTER_INPUT);
    NEED(trotter_solve(euler, ends, 0.5, 4, y) == TROTTER_NUMERIC);
    DONE(trotter_scheme_print(pair, &text));
    DONE(trotter_scheme_read(text, "dormand-prince", &s));
    NEED(strcmp(trotter_scheme_name(s), "dormand-prince") == 0);
    trotter_free(text);
    trotter_scheme_free(s);
    NEED(trotter_scheme_read(two, NULL, &s) == TROTTER_INPUT);
    DONE(trotter_scheme_read("{\"name\": \"mid\", \"A\": [[0], [\"1/2\"]], \"b\": [0, 1]}", NULL,
                             &s));
    NEED(strcmp(trotter_scheme_name(s), "mid") == 0);
    trotter_scheme_free(s);
    return 0;
}

static int scores(void)
{
    const char *h[] = {"the cat sat on the mat"}, *r[] = {"the cat sat on a mat"};
    double said[] = {1, 0, 1, 1}, right[] = {1, 0, 0, 1}, x;
    DONE(trotter_score_lines("bleu", "13a", 1, h, r, &x));
    NEED(fabs(x - 53.7285) < 1e-4);
    NEED(trotter_score_lines("bleu", "14a", 1, h, r, &x) == TROTTER_INPUT);
    NEED(trotter_score_lines("blue", NULL, 1, h, r, &x) == TROTTER_INPUT);
    DONE(trotter_score_labels("accuracy", 4, said, right, &x));
    NEED(x == 0.75);
    DONE(trotter_score_labels("pearson", 4, said, right, &x));
    NEED(fabs(x - 1 / sqrt(3)) < 1e-12);
    said[0] = 0.5;
    NEED(trotter_score_labels("accuracy", 4, said, right, &x) == TROTTER_INPUT);
    return 0;
}

int main(void)
{
    const double one = 1;
    DONE(trotter_scheme_find("euler", &euler));
    DONE(trotter_scheme_find("dormand-prince", &pair));
    DONE(trotter_scheme_find("strang-marchuk", &split));
    DONE(trotter_scheme_find("ab2", &past));
    DONE(trotter_system_make(1, 1, &one, decay, NULL, NULL, &F));
    DONE(trotter_system_make(1, 1, &one, NULL, decay, NULL, &G));
    DONE(trotter_system_make(1, 1, &one, burst, NULL, NULL, &wild));
    DONE(trotter_system_make(1, 1, &one, NULL, broken, NULL, &ends));
    int failed = paths() || tolerances() || references() || conditions() || expansions() ||
                 regions() || names() || refusals() || scores();
    trotter_scheme_free(euler);
    trotter_scheme_free(pair);
    trotter_scheme_free(split);
    trotter_scheme_free(past);
    trotter_system_free(F);
    trotter_system_free(G);
    trotter_system_free(wild);
    trotter_system_free(ends);
    return failed;
}
