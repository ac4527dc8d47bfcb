/* library_process.c: a program of one who uses the library, compiled by test_library.c and by `make check-library`: each
 * function of trotter.h in two threads at once, under signals, in a child after fork, on bytes and numbers without sense,
 * and so often that what it keeps would be seen. Answers are those of one thread alone, and a GSL handler of one's own
 * hears its own thread's errors.
 *
 *     library_process MODEL [CALLS]
 */
#include <dirent.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_math.h>
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <trotter.h>
#include <unistd.h>

enum { ANSWERS = 64, ROUNDS = 4, GARBAGE = 300 };

static const char *directory;

static int decay(void *arg, double t, const double *y, double *dy)
{
    (void)arg, (void)t;
    dy[0] = -y[0];
    return 0;
}

static double early(void *arg, double t, const double *y)
{
    (void)arg, (void)y;
    return t - 0.3;
}

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

static void of_schemes(Round *r)
{
    const double re[] = {-3, 1}, im[] = {-2, 2}, z[][2] = {{-1, 0.5}};
    double a, b, constant, sum = 0, gain[2];
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
    DONE(trotter_scheme_error_constant(s, &constant));
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
    say(r, (double)trotter_system_particles(kepler) + *trotter_system_initial(kepler));
    TrotterOptions o = {.end = 1, .steps = 4};
    DONE(trotter_run(s, own, &o, &run));
    say(r, run.y[4]);
    trotter_run_free(&run);
    TrotterEvent event = {early, NULL, 0, 0};
    o = (TrotterOptions){
        .end = 1, .relative = 1e-6, .times = 2, .t = t, .events = 1, .event = &event, .dense = 1};
    DONE(trotter_system_jacobian(own, NULL, NULL));
    DONE(trotter_run(s, own, &o, &run));
    DONE(trotter_run_at(&run, 2, t, y));
    say(r, run.y[1] + (double)run.evaluations + y[0] + (run.crossings ? run.crossing[0].t : 0));
    trotter_run_free(&run);
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
    say(r, error[3] + (double)strlen(trotter_model_word(m, id[1])) +
               (double)strlen(trotter_version()));
    say(r, (double)(trotter_model_parameters(m) + trotter_model_layers(m) +
                    trotter_model_sequence(m)));
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

static void of_refusals(Round *r)
{
    TrotterScheme *s;
    TrotterSystem *on;
    TrotterModel *m;
    static const char two[] =
        "scheme a\nk1 = H(y)\ny' = y + k1\nscheme b\nk1 = H(y)\ny' = y + k1\n";
    if (trotter_scheme_find("hoin", &s) != TROTTER_INPUT ||
        trotter_scheme_read(two, NULL, &s) != TROTTER_INPUT ||
        trotter_system_parse("system s\nd 1\nG1 = -(y1\n", 1, 1, 1, &on) != TROTTER_INPUT ||
        trotter_model_load("nowhere", 0, &m) != TROTTER_INPUT)
        r->failed = __LINE__;
}

static const struct {
    const char *name;
    void (*of)(Round *r);
} calls[] = {{"schemes", of_schemes},
             {"systems", of_systems},
             {"models", of_models},
             {"refusals", of_refusals}};
enum { CALLS = sizeof calls / sizeof *calls };

static Round round_of_all(void)
{
    Round r = {0};
    for (size_t i = 0; i < CALLS; i++) calls[i].of(&r);
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

/* One thread and the parent's several add up in another order. */
static int near(const Round *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (!(fabs(r->answer[i] - alone.answer[i]) <= 1e-9 * fabs(alone.answer[i]))) return 0;
    return !r->failed && r->count == alone.count;
}

/* Ends by SIGALRM where it waits for threads that stayed with the parent. */
static int in_child(void)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(600);
        Round r = round_of_all();
        _exit(!near(&r));
    }
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : __LINE__;
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
    (void)number;
    signals++;
}

/* A signal each millisecond, whose handler lets calls of the system go on, or interrupts them. */
static int under_signals(void)
{
    const struct timeval often = {0, 1000}, never = {0, 0};
    int failed = 0;
    for (int i = 0; i < 2; i++) {
        struct sigaction a = {.sa_handler = on_signal, .sa_flags = i ? SA_RESTART : 0};
        sigaction(SIGALRM, &a, NULL);
        setitimer(ITIMER_REAL, &(struct itimerval){often, often}, NULL);
        signals = 0;
        rounds(&failed);
        setitimer(ITIMER_REAL, &(struct itimerval){never, never}, NULL);
        if (failed || signals == 0) return failed ? failed : __LINE__;
    }
    signal(SIGALRM, SIG_DFL);
    return 0;
}

/* ---- a handler of one's own --------------------------------------------------------------------------------- */

static __thread long heard;

static void hear(const char *reason, const char *file, int line, int code)
{
    (void)reason, (void)file, (void)line, (void)code;
    heard++;
}

static int ended;

/* With -DPLANTED a race: the control of ThreadSanitizer. */
#ifdef PLANTED
#define ENDED ended
#define END (ended = 1)
#else
#define ENDED __atomic_load_n(&ended, __ATOMIC_ACQUIRE)
#define END __atomic_store_n(&ended, 1, __ATOMIC_RELEASE)
#endif

/* Makes errors in GSL until the rounds of another thread have ended. */
static void *own_errors(void *arg)
{
    long made = 0;
    for (; !ENDED || made < 1000; made++) gsl_error("mine", __FILE__, __LINE__, GSL_EINVAL);
    *(int *)arg = heard == made ? 0 : __LINE__;
    return NULL;
}

static int beside_own_handler(void)
{
    pthread_t thread;
    int failed = 0, lost = 0;
    gsl_set_error_handler(hear);
    if (pthread_create(&thread, NULL, own_errors, &lost) != 0) return __LINE__;
    rounds(&failed);
    END;
    pthread_join(thread, NULL);
    gsl_error("mine", __FILE__, __LINE__, GSL_EINVAL);
    return failed ? failed : lost ? lost : heard == 1 ? 0 : __LINE__;
}

/* ---- without sense ------------------------------------------------------------------------------------------ */

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

static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0, -1, 1e308, -1e308, 5e-324, 1e-30};
static const size_t large[] = {0, 1, 3, 2001, 1u << 20, SIZE_MAX / 8, SIZE_MAX / 2 + 1, SIZE_MAX};
static const int whole[] = {INT_MIN, -1, 0, 1, 3, 31, 1000, INT_MAX};
#define EACH(x, list) for (size_t x = 0; x < sizeof list / sizeof *list; x++)

/* Counts an answer that is none of the codes of trotter.h. */
static int wrong;

static int code(int c)
{
    wrong += c < TROTTER_MISUSE || c > TROTTER_ACCURACY;
    return c;
}

static void odd_schemes(TrotterScheme *s)
{
    double sum, gain[1];
    TrotterTerm *term;
    TrotterCondition *condition;
    size_t n;
    EACH(i, whole) EACH(k, whole)
    {
        if (whole[k] > 3 && whole[k] < 1000) continue; /* 31 is much, not odd */
        if (code(trotter_scheme_expand(s, whole[i], whole[k], &term, &n)) == 0) trotter_free(term);
        if (code(trotter_scheme_conditions(s, whole[k], &condition, &n)) == 0)
            trotter_free(condition);
    }
    EACH(i, odd) EACH(k, odd)
    {
        const double window[] = {odd[i], odd[k]}, z[1][2] = {{odd[i], odd[k]}};
        code(trotter_scheme_region(s, window, window, 5, count_point, &sum));
        code(trotter_scheme_amplification(s, 1, z, gain));
    }
    EACH(k, large)
    {
        const double window[] = {-1, 1};
        code(trotter_scheme_region(s, window, window, large[k], count_point, &sum));
    }
}

static void odd_systems(TrotterScheme *s, TrotterSystem *on)
{
    double y[64], one = 1;
    TrotterRun run;
    TrotterOrder order;
    TrotterSystem *made;
    EACH(i, odd)
    {
        code(trotter_solve(s, on, odd[i], 2, y));
        TrotterOptions o = {.end = odd[i], .steps = 2};
        if (code(trotter_run(s, on, &o, &run)) == 0) trotter_run_free(&run);
        code(trotter_reference(on, odd[i] > 1e300 ? 2 : odd[i],
                               y)); /* 1e308 is far, and takes its time */
        EACH(k, odd)
        {
            const double t[] = {fabs(odd[k]) > 1e300 ? odd[k] / 1e308 : odd[k]};
            o = (TrotterOptions){.end = *t, .absolute = odd[i], .relative = fmax(odd[i], 1e-6)};
            if (code(trotter_run(s, on, &o, &run)) == 0) trotter_run_free(&run);
            if (fabs(odd[k]) > 1e300 || fabs(odd[i]) > 1e300) continue;
            if (code(trotter_measure(s, on, odd[i], odd[k], 4, &order)) == 0)
                trotter_free(order.point);
        }
    }
    EACH(k, whole)
    if ((whole[k] < 4 || whole[k] > 30) &&
        code(trotter_measure(s, on, 1, 0.1, whole[k], &order)) != TROTTER_MISUSE)
        wrong++;
    EACH(i, large) EACH(k, large)
    {
        if (large[i] > 1 << 10 && large[i] < SIZE_MAX / 8) continue;
        if (large[k] > 1 << 10 && large[k] < SIZE_MAX / 8) continue;
        if (code(trotter_system_find("attention", large[i], large[k], 1, &made)) == 0)
            trotter_system_free(made);
        if (code(trotter_system_parse("system s\nG1 = -y1\ninitial = 1\n", large[i], large[k], 1,
                                      &made)) == 0)
            trotter_system_free(made);
        if (large[i] != 1 && large[i] != 3 &&
            code(trotter_system_make(large[i], large[k], &one, decay, NULL, NULL, &made)) !=
                TROTTER_MISUSE)
            wrong++;
    }
}

static void odd_models(TrotterModel *m, TrotterScheme *s)
{
    double error[64], relative[64], score;
    TrotterModel *other;
    EACH(k, large)
    if (code(trotter_model_load(directory, large[k], &other)) == 0) trotter_model_free(other);
    EACH(k, whole)
    {
        const int32_t id[2] = {0, whole[k]};
        code(trotter_model_truncation(m, s, 0, id, 2, 2, error, relative));
        code(trotter_model_truncation(m, s, 0, id, 1, whole[k] == 31 ? 3 : whole[k], error,
                                      relative));
        if (trotter_model_word(m, INT_MIN) || trotter_model_word(m, INT_MAX)) wrong++;
    }
    EACH(k, large)
    if (large[k] > 2000) {
        const int32_t id[1] = {0};
        wrong += code(trotter_model_logits(m, id, large[k], error)) != TROTTER_INPUT;
        wrong += code(trotter_model_truncation(m, s, large[k], id, 1, 2, error, relative)) !=
                 TROTTER_INPUT;
    }
    EACH(k, odd)
    {
        const double said[] = {odd[k], 1};
        code(trotter_score_labels("f1", 2, said, said, &score));
        code(trotter_score_labels("pearson", 2, said, said, &score));
    }
}

/* Gives numbers without sense in each place; each answer is a code, and nothing ends. */
static int on_odd_numbers(void)
{
    TrotterScheme *s;
    TrotterSystem *on;
    TrotterModel *m;
    if (trotter_scheme_find("bogacki-shampine", &s) ||
        trotter_system_find("kepler", 0, 0, 1, &on) || trotter_model_load(directory, 0, &m))
        return __LINE__;
    odd_schemes(s);
    odd_systems(s, on);
    odd_models(m, s);
    trotter_scheme_free(s);
    trotter_system_free(on);
    trotter_model_free(m);
    return wrong ? __LINE__ : 0;
}

/* ---- so often that what is kept would be seen --------------------------------------------------------------- */

/* Returns the bytes that are allocated. */
static size_t allocated(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static long entries(const char *folder)
{
    long n = 0;
    DIR *d = opendir(folder);
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

/* Calls one row: nothing is kept of a call, after the first ones. A row whose calls take long makes fewer, as many as a
 * minute has. */
static int without_growth(size_t row, long most)
{
    long n = -3, files = 0, threads = 0;
    size_t memory = 0;
    for (time_t end = time(NULL) + 60; n < most && (n <= 0 || time(NULL) < end); n++) {
        Round r = {0};
        if (n == 0) {
            files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
            memory = allocated();
        }
        calls[row].of(&r);
        if (r.failed) return r.failed;
    }
    size_t after = allocated();
    int more = after > memory || entries("/proc/self/fd") != files ||
               entries("/proc/self/task") != threads;
    if (most > 1000 || more)
        printf("%-16s %8ld calls, %zu bytes before, %zu after\n", calls[row].name, n, memory,
               after);
    return more ? __LINE__ : 0;
}

int main(int argc, char **argv)
{
    int (*const job[])(void) = {in_threads, in_child,   under_signals, beside_own_handler,
                                in_child,   on_garbage, on_odd_numbers};
    int failed;
    directory = argv[1];
    alone = round_of_all();
    failed = alone.failed;
    for (size_t i = 0; failed == 0 && i < sizeof job / sizeof *job; i++) failed = job[i]();
    for (size_t i = 0; failed == 0 && i < CALLS; i++)
        failed = without_growth(i, argc > 2 ? atol(argv[2]) : 50);
    if (failed) printf("line %d\n", failed);
    return failed != 0;
}
