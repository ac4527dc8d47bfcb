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

static double y[128];
static TrotterRun run;
static TrotterScheme *euler, *pair, *split, *past, *stiff, *other;
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

/* Runs from 0 to an end by steps of one length, after the run before is freed. */
static int by_steps(const TrotterScheme *s, const TrotterSystem *on, double end, size_t steps)
{
    const TrotterOptions o = {.end = end, .steps = steps};
    trotter_run_free(&run);
    return trotter_run(s, on, &o, &run);
}

static int by(const TrotterScheme *s, const TrotterSystem *on, TrotterOptions o)
{
    trotter_run_free(&run);
    return trotter_run(s, on, &o, &run);
}

/* Steps of one length: Euler's (1 - h)^k, by F alone and by G alone, whose evaluations are those of one field. */
static int paths(void)
{
    const double at[] = {0, 0.3, 0.75, 1};
    DONE(by_steps(euler, F, 1, 4));
    NEED(run.steps == 4 && run.evaluations == 4 && run.t == 1 && strcmp(run.outcome, "done") == 0);
    NEED(run.count == 5 && run.time[4] == 1 && run.time[1] == 0.25);
    for (int k = 0; k <= 4; k++) NEED(fabs(run.y[k] - pow(0.75, k)) < 1e-15);
    DONE(by_steps(euler, G, 1, 4));
    NEED(run.evaluations == 4 && run.count == 5 && run.y[4] == pow(0.75, 4));
    DONE(by_steps(split, F, 1, 4));
    NEED(fabs(run.y[4] - exp(-1)) < 1e-10);
    DONE(by(euler, F, (TrotterOptions){.end = 1, .steps = 4, .times = 4, .t = at}));
    NEED(run.count == 4 && run.time[1] == 0.3 && fabs(run.y[1] - 0.75 * 0.95) < 1e-15);
    NEED(run.y[0] == 1 && run.y[2] == pow(0.75, 3) && run.evaluations == 5);
    DONE(trotter_solve(past, F, 0.5, 2, y)); /* its first step is exact: exp(-1/2) at 1/2 */
    NEED(fabs(y[0] - (0.25 * exp(-0.5) + 0.25)) < 1e-11);
    NEED(trotter_solve(past, F, 0.5, 1, y) == TROTTER_INPUT); /* no step of its own */
    NEED(strstr(trotter_error(), "begins with 1 exact step") != NULL);
    DONE(by_steps(past, F, 1, 2));
    NEED(run.count == 3 && run.y[2] == y[0]);
    const double five = 5; /* a closed solution from another state is not that of the run */
    TrotterSystem *closed;
    DONE(trotter_system_parse("system s\nd 1\nG1 = -y1\ninitial = 1\nexact = exp(-t)\n", 1, 1, 1,
                              &closed));
    DONE(by(past, closed, (TrotterOptions){.end = 1, .steps = 2, .initial = &five}));
    NEED(fabs(run.y[1] - 5 * exp(-0.5)) < 1e-9 && run.y[0] == 5);
    trotter_system_free(closed);
    DONE(by_steps(euler, wild, 4, 4));
    NEED(run.steps == 1 && run.count == 2 && strcmp(run.outcome, "not finite") == 0);
    NEED(isfinite(run.y[1]) && run.t == 1);
    MISUSE(by_steps(euler, F, 0, 4));
    NULL_REFUSED(by_steps(NULL, F, 1, 1));
    NULL_REFUSED(by_steps(euler, NULL, 1, 1));
    NULL_REFUSED(trotter_run(euler, F, NULL, &run));
    NULL_REFUSED(trotter_run(euler, F, &(TrotterOptions){.end = 1, .steps = 1}, NULL));
    NULL_REFUSED(by(euler, F, (TrotterOptions){.end = 1, .steps = 1, .times = 1}));
    NULL_REFUSED(by(euler, F, (TrotterOptions){.end = 1, .steps = 1, .events = 1}));
    return 0;
}

static int tolerances(void)
{
    const double t[] = {0.5, 1, 2}, falling[] = {1, 0.5}, at[] = {0.1, 0.3, 1}, five = 5, none = 0,
                 tight = 1e-11;
    const TrotterOptions o = {.end = 2, .relative = 1e-9, .times = 3, .t = t};
    TrotterOptions x = o;
    DONE(by(pair, F, o));
    NEED(run.t == 2 && run.count == 3 && run.steps > 5 && run.evaluations > 6 * run.steps);
    for (int k = 0; k < 3; k++) NEED(fabs(run.y[k] / exp(-t[k]) - 1) < 2e-8);
    size_t steps = run.steps;
    x.first = 1e-6, x.longest = 0.01;
    DONE(by(pair, F, x));
    NEED(run.steps > 200 && run.steps > 4 * steps);
    x = o, x.relatives = &tight; /* the list in the place of the number */
    DONE(by(pair, F, x));
    NEED(run.steps > 1.5 * (double)steps);
    x = (TrotterOptions){.begin = 3, .end = 1, .initial = &five, .relative = 1e-9}; /* back */
    DONE(by(pair, F, x));
    NEED(run.count == run.steps + 1 && run.time[0] == 3 && run.time[run.steps] == 1);
    NEED(run.y[0] == 5 && fabs(run.y[run.steps] / (5 * exp(2)) - 1) < 2e-8);
    DONE(by(pair, ends, (TrotterOptions){.end = 1, .absolute = 1e-6, .times = 3, .t = at}));
    NEED(strcmp(run.outcome, "underflow") == 0 && fabs(run.t - 0.25) < 1e-6);
    NEED(run.count == 1 && fabs(run.y[0] - 1.4) < 1e-6);
    NEED(by(euler, F, o) == TROTTER_INPUT && strstr(trotter_error(), "estimate"));
    x = o, x.t = falling, x.times = 2;
    MISUSE(by(pair, F, x));
    x = o, x.end = 1;
    MISUSE(by(pair, F, x));
    x = o, x.relative = 0;
    MISUSE(by(pair, F, x));
    x = o, x.relatives = &none;
    MISUSE(by(pair, F, x));
    x = o, x.longest = -1;
    MISUSE(by(pair, F, x));
    NEED(run.count == 0 && !run.y && *run.outcome == 0);
    return 0;
}

static double less(void *arg, double t, const double *x)
{
    (void)t;
    return x[0] - *(const double *)arg;
}

static double clock_of(void *arg, double t, const double *x)
{
    (void)x;
    return sin(*(const double *)arg * t);
}

/* Times at which exp(-t) is a half, and zeros of sin pi t: by tolerance, by steps, of a scheme that reads the past, back in
 * time; the third of the zeros ends a run. */
static int events(void)
{
    double half = 0.5, pi = acos(-1);
    TrotterEvent event[] = {{less, &half, 0, 0}, {clock_of, &pi, 0, 3}};
    const TrotterOptions o = {.end = 5.5, .relative = 1e-10, .events = 2, .event = event};
    TrotterOptions x = o;
    DONE(by(pair, F, o));
    NEED(strcmp(run.outcome, "event") == 0 && fabs(run.t - 3) < 1e-13 && run.crossings == 4);
    NEED(run.time[run.count - 1] == run.t && fabs(run.y[run.count - 1] - exp(-3)) < 1e-9);
    NEED(run.crossing[0].event == 0 && fabs(run.crossing[0].t - log(2)) < 1e-9);
    NEED(fabs(run.crossing_y[0] - 0.5) < 1e-12 && run.crossing[0].rises == 0);
    NEED(run.crossing[1].event == 1 && run.crossing[2].rises == 1);
    event[0].direction = 1, event[1].terminal = 0;
    DONE(by(pair, F, o));
    NEED(run.crossings == 5 && run.crossing[0].event == 1 && strcmp(run.outcome, "done") == 0);
    event[0].direction = -1;
    x.steps = 550;
    DONE(by(past, F, x));
    NEED(run.crossings == 6 && run.count == 551 && fabs(run.crossing[0].t - log(2)) < 1e-4);
    x.begin = 5.5, x.end = 0.5, x.steps = 0;
    event[1].direction = 1; /* along the run, which goes back: where the sine falls with time */
    DONE(by(pair, F, x));
    NEED(run.crossings == 3 && fabs(run.crossing[0].t - 5) < 1e-13 && run.crossing[0].rises);
    event[1].terminal = -1;
    MISUSE(by(pair, F, o));
    event[1].terminal = 0, half = NAN;
    NEED(by(pair, F, o) == TROTTER_NUMERIC);
    return 0;
}

/* Values between, of slopes, of further steps, of steps of one length and back in time: exp(-t) to the tolerance. */
static int within(void)
{
    const TrotterOptions o = {.end = 2, .relative = 1e-9, .dense = 1};
    TrotterOptions x = o;
    const double outside = 2.01;
    double t[101];
    for (int kind = 0; kind < 5; kind++) {
        x = o;
        if (kind == 1) x.steps = 400;
        if (kind == 2) x.begin = 2, x.end = 0;
        DONE(by(kind == 1 ? past : kind == 3 ? stiff : kind == 4 ? other : pair, F, x));
        for (int k = 0; k <= 100; k++) t[k] = 0.02 * k;
        t[100] = 2;
        DONE(trotter_run_at(&run, 101, t, y));
        double c = kind == 2 ? exp(2) : 1;
        for (int k = 0; k <= 100; k++)
            NEED(fabs(y[k] - c * exp(-t[k])) < (kind == 1 ? 1e-5 : kind > 2 ? 2e-7 : 2e-8));
        for (size_t k = 0; k < run.count; k++) {
            DONE(trotter_run_at(&run, 1, &run.time[k], y));
            NEED(fabs(y[0] - run.y[k]) < 1e-13);
        }
    }
    MISUSE(trotter_run_at(&run, 1, &outside, y));
    NEED(strstr(trotter_error(), "2.0"));
    NULL_REFUSED(trotter_run_at(&run, 1, NULL, y));
    DONE(by(pair, F, (TrotterOptions){.end = 2, .relative = 1e-9}));
    MISUSE(trotter_run_at(&run, 1, t, y));
    return 0;
}

static int stiffness(void *arg, double t, const double *x, double *dx)
{
    (void)arg;
    dx[0] = -1e4 * (x[0] - cos(t));
    return 0;
}

static size_t asked;

static int derivative(void *arg, double t, const double *x, double *J)
{
    (void)arg, (void)t, (void)x;
    asked++;
    J[0] = -1e4;
    return 0;
}

static int refused(void *arg, double t, const double *x, double *J)
{
    (void)arg, (void)t, (void)x, (void)J;
    return 1;
}

/* A derivative of one's own takes the place of values of the field; one that fails ends the run. */
static int jacobians(void)
{
    const double zero = 0;
    const TrotterOptions o = {.end = 1, .absolute = 1e-7, .relative = 1e-7};
    TrotterSystem *on, *named;
    DONE(trotter_system_make(1, 1, &zero, stiffness, NULL, NULL, &on));
    DONE(by(stiff, on, o));
    NEED(fabs(run.y[run.count - 1] - cos(1)) < 2e-4 && run.jacobians > 0 && run.factors > 0);
    size_t without = run.evaluations, taken = run.jacobians;
    DONE(trotter_system_jacobian(on, derivative, NULL));
    DONE(by(stiff, on, o));
    NEED(asked == run.jacobians && asked == taken && run.evaluations + 2 * taken <= without);
    DONE(trotter_system_jacobian(on, refused, NULL));
    DONE(by(stiff, on, o));
    NEED(strcmp(run.outcome, "underflow") == 0 && run.t == 0);
    DONE(trotter_system_find("kepler", 0, 0, 1, &named));
    MISUSE(trotter_system_jacobian(named, derivative, NULL));
    NULL_REFUSED(trotter_system_jacobian(NULL, derivative, NULL));
    MISUSE(trotter_system_jacobian(on, NULL, derivative));
    trotter_system_free(named);
    trotter_system_free(on);
    return 0;
}

static int constants(void)
{
    double C;
    DONE(trotter_scheme_error_constant(past, &C));
    NEED(C == -5.0 / 12);
    DONE(trotter_scheme_error_constant(pair, &C));
    NEED(isnan(C));
    NULL_REFUSED(trotter_scheme_error_constant(NULL, &C));
    NULL_REFUSED(trotter_scheme_error_constant(past, NULL));
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
    DONE(trotter_scheme_find("radau-iia5", &stiff));
    DONE(trotter_scheme_find("fehlberg", &other));
    DONE(trotter_system_make(1, 1, &one, decay, NULL, NULL, &F));
    DONE(trotter_system_make(1, 1, &one, NULL, decay, NULL, &G));
    DONE(trotter_system_make(1, 1, &one, burst, NULL, NULL, &wild));
    DONE(trotter_system_make(1, 1, &one, NULL, broken, NULL, &ends));
    int failed = paths() || tolerances() || events() || within() || jacobians() || constants() ||
                 references() || conditions() || expansions() || regions() || names() ||
                 refusals() || scores();
    trotter_scheme_free(euler);
    trotter_scheme_free(pair);
    trotter_scheme_free(split);
    trotter_scheme_free(past);
    trotter_scheme_free(stiff);
    trotter_scheme_free(other);
    trotter_run_free(&run);
    trotter_system_free(F);
    trotter_system_free(G);
    trotter_system_free(wild);
    trotter_system_free(ends);
    return failed;
}
