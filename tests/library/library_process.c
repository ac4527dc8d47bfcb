/* library_process.c: a program of one who uses the library, compiled by test_library.c: each function of trotter.h in two
 * threads at once, in a child after fork, on bytes without sense, and so often that what it keeps would be seen. Answers
 * are those of one thread alone.
 *
 *     library_process MODEL [CALLS]
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <trotter.h>
#include <unistd.h>

enum { ANSWERS = 64, ROUNDS = 2, GARBAGE = 100 };

static const char *directory;

typedef struct {
    size_t count;
    double answer[ANSWERS];
    int failed; /* the line of a call that failed */
} Round;

#define DONE(call)                                              \
    do {                                                        \
        if ((call) != TROTTER_DONE && !r->failed) {             \
            r->failed = __LINE__;                               \
            printf("line %d: %s\n", __LINE__, trotter_error()); \
        }                                                       \
    } while (0)

static void say(Round *r, double x)
{
    r->answer[r->count++] = x;
}

static void count_point(void *arg, size_t line, double re, double im)
{
    double *sum = arg;
    *sum += (double)(line + 1) * (re + im);
}

static int decay(void *arg, double t, const double *y, double *dy)
{
    (void)arg, (void)t;
    dy[0] = -y[0];
    return 0;
}

static void of_schemes(Round *r)
{
    const double re[] = {-3, 1}, im[] = {-2, 2}, z[][2] = {{-1, 0.5}};
    double a, b, sum = 0, gain[2];
    char *text, *names;
    size_t n;
    TrotterScheme *s, *again;
    TrotterTheory theory;
    TrotterTerm *term;
    TrotterCondition *condition;
    DONE(trotter_scheme_find("strang-marchuk:heun", &s));
    DONE(trotter_scheme_print(s, &text));
    DONE(trotter_scheme_read(text, NULL, &again));
    trotter_free(text);
    DONE(trotter_scheme_theory(again, &theory));
    DONE(trotter_scheme_stability(s, &a, &b));
    DONE(trotter_scheme_amplification(s, 1, z, gain));
    DONE(trotter_scheme_region(s, re, im, 21, count_point, &sum));
    DONE(trotter_scheme_names(&names));
    say(r, theory.order + theory.error_norm);
    say(r, a + b + gain[0] + sum + (double)strlen(names) + (double)strlen(trotter_scheme_name(s)));
    trotter_free(names);
    DONE(trotter_scheme_expand(s, TROTTER_MODIFIED, 2, &term, &n));
    for (size_t i = 0; i < n; i++) say(r, term[i].value);
    trotter_free(term);
    trotter_scheme_free(again);
    trotter_scheme_free(s);
    DONE(trotter_scheme_find("rk4", &s));
    DONE(trotter_scheme_conditions(s, 3, &condition, &n));
    for (size_t i = 0; i < n; i++) say(r, condition[i].holds);
    trotter_free(condition);
    trotter_scheme_free(s);
}

static void of_systems(Round *r)
{
    const double one = 1, t[] = {0.5, 1};
    double y[512], agreement;
    char *names;
    TrotterScheme *s;
    TrotterSystem *kepler, *own, *read;
    TrotterRun run;
    TrotterOrder order;
    DONE(trotter_scheme_find("dormand-prince", &s));
    DONE(trotter_system_find("kepler", 0, 0, 1, &kepler));
    DONE(trotter_system_make(1, 1, &one, decay, NULL, NULL, &own));
    DONE(trotter_system_parse("system s\nd 1\nG1 = -y1\ninitial = 1\n", 1, 1, 1, &read));
    DONE(trotter_system_names(&names));
    trotter_free(names);
    DONE(trotter_solve(s, kepler, 0.1, 5, y));
    say(r, y[0] + trotter_system_end(kepler) + (double)trotter_system_dimension(kepler));
    DONE(trotter_solve_path(s, own, 0.25, 4, y, &run));
    say(r, y[4]);
    DONE(trotter_solve_adaptive(s, own, 0, 1e-6, 2, t, y, &run));
    say(r, y[1] + (double)run.evaluations);
    DONE(trotter_reference(read, 1, y));
    DONE(trotter_references(own, 2, t, y + 1, &agreement));
    say(r, y[0] + y[1] + y[2]);
    DONE(trotter_measure(s, own, 1, 0.25, 5, &order));
    say(r, order.slope);
    trotter_free(order.point);
    trotter_system_free(kepler);
    trotter_system_free(own);
    trotter_system_free(read);
    trotter_scheme_free(s);
}

static void of_models(Round *r)
{
    const char *h[] = {"the cat sat on the mat"}, *right[] = {"a cat sat on the mat"};
    const double said[] = {0, 1, 1, 0}, truth[] = {0, 1, 0, 0};
    double error[4], relative[4], score;
    int32_t *id;
    size_t n;
    TrotterModel *m;
    DONE(trotter_model_load(directory, 0, &m));
    size_t V = trotter_model_vocabulary(m);
    DONE(trotter_model_encode(m, "in the beginning", &id, &n));
    double *z = malloc(n * V * sizeof *z);
    DONE(trotter_model_logits(m, id, n, z));
    say(r, z[0] + z[n * V - 1]);
    DONE(trotter_model_truncation(m, NULL, 0, id, 3, 3, error, relative));
    say(r, error[3]);
    free(z);
    trotter_free(id);
    trotter_model_free(m);
    DONE(trotter_score_lines("bleu", "13a", 1, h, right, &score));
    say(r, score);
    DONE(trotter_score_labels("accuracy", 4, said, truth, &score));
    say(r, score);
    if (trotter_scheme_find("nothing", NULL) != TROTTER_MISUSE || !*trotter_error())
        r->failed = __LINE__;
}

static Round round_of_all(void)
{
    Round r = {0};
    of_schemes(&r);
    of_systems(&r);
    of_models(&r);
    return r;
}

static Round alone;

/* Returns a line's number where a round fails or says something else than `alone`. */
static void *rounds(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        Round r = round_of_all();
        int same = r.count == alone.count &&
                   memcmp(r.answer, alone.answer, r.count * sizeof *r.answer) == 0;
        if (r.failed || !same) *(int *)arg = r.failed ? r.failed : __LINE__;
    }
    return NULL;
}

static int in_threads(void)
{
    pthread_t thread[2];
    int failed[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread[i], NULL, rounds, &failed[i]) != 0) return __LINE__;
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    return failed[0] ? failed[0] : failed[1];
}

/* Only theory: OpenMP's threads, which models use, do not survive a fork (GOMP). */
static int in_child(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        Round r = {0};
        of_schemes(&r);
        _exit(r.failed || memcmp(r.answer, alone.answer, r.count * sizeof *r.answer) != 0);
    }
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : __LINE__;
}

/* Gives bytes without sense to each reader; they are refused with words. */
static int on_garbage(void)
{
    unsigned state = 1;
    for (int i = 0; i < GARBAGE; i++) {
        char text[64];
        TrotterScheme *s = NULL;
        TrotterSystem *on = NULL;
        TrotterModel *m = NULL;
        for (size_t k = 0; k < sizeof text - 1; k++) {
            state = state * 1664525u + 1013904223u;
            text[k] = (char)(state >> 24);
        }
        text[state % sizeof text] = text[sizeof text - 1] = '\0';
        int a = trotter_scheme_read(text, NULL, &s), b = trotter_system_parse(text, 0, 0, 1, &on);
        int c = trotter_scheme_find(text, &s), d = trotter_model_load(text, 0, &m);
        if (a == 0 || b == 0 || c == 0 || d == 0 || !*trotter_error()) return __LINE__;
        if (s || on || m) return __LINE__;
    }
    return 0;
}

/* Returns the bytes that are allocated. */
static size_t allocated(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* Nothing is kept of a call, after the first ones. */
static int without_growth(long calls)
{
    size_t before = 0;
    for (long i = -3; i < calls; i++) {
        TrotterScheme *s, *none;
        TrotterSystem *own;
        double one = 1, y[1];
        if (i == 0) before = allocated();
        if (trotter_scheme_find("heun", &s) != 0) return __LINE__;
        if (trotter_system_make(1, 1, &one, decay, NULL, NULL, &own) != 0) return __LINE__;
        if (trotter_solve(s, own, 0.5, 2, y) != 0 || trotter_scheme_find("hoin", &none) == 0)
            return __LINE__;
        trotter_system_free(own);
        trotter_scheme_free(s);
    }
    size_t now = allocated();
    if (now > before) printf("%zu bytes more after %ld calls\n", now - before, calls);
    return now > before ? __LINE__ : 0;
}

int main(int argc, char **argv)
{
    int failed;
    directory = argv[1];
    alone = round_of_all();
    if ((failed = alone.failed) == 0 && (failed = in_threads()) == 0 &&
        (failed = in_child()) == 0 && (failed = on_garbage()) == 0)
        failed = without_growth(argc > 2 ? atol(argv[2]) : 50);
    if (failed) printf("line %d\n", failed);
    return failed != 0;
}
