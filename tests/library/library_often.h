/* library_often.h: calls of the library so often that what it keeps would be seen (library_process.c). */
#ifndef TROTTER_TESTS_LIBRARY_OFTEN_H
#define TROTTER_TESTS_LIBRARY_OFTEN_H

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <time.h>
#include <trotter.h>

static int decay(void *arg, double t, const double *y, double *dy)
{
    (void)arg, (void)t;
    dy[0] = -y[0];
    return 0;
}

static struct {
    const char *model;
    TrotterScheme *scheme;
    TrotterSystem *own;
} kept;

static int find_and_fail(void)
{
    TrotterScheme *s;
    return trotter_scheme_find("hoin", &s) == TROTTER_INPUT ? 0 : __LINE__;
}

static int find(void)
{
    TrotterScheme *s;
    if (trotter_scheme_find("heun", &s) != 0) return __LINE__;
    trotter_scheme_free(s);
    return 0;
}

static int read_and_print(void)
{
    TrotterScheme *s;
    char *text;
    if (trotter_scheme_read("scheme a\nk1 = H(y)\ny' = y + k1\n", NULL, &s) != 0) return __LINE__;
    if (trotter_scheme_print(s, &text) != 0) return __LINE__;
    trotter_free(text);
    trotter_scheme_free(s);
    return 0;
}

static int theory(void)
{
    TrotterTheory t;
    double a, b, gain;
    const double z[1][2] = {{-1, 0}};
    return trotter_scheme_theory(kept.scheme, &t) != 0 ||
           trotter_scheme_stability(kept.scheme, &a, &b) != 0 ||
           trotter_scheme_amplification(kept.scheme, 1, z, &gain) != 0;
}

static int expand(void)
{
    TrotterTerm *t;
    size_t n;
    if (trotter_scheme_expand(kept.scheme, TROTTER_TREES, 0, &t, &n) != 0) return __LINE__;
    trotter_free(t);
    return 0;
}

static int make_and_solve(void)
{
    TrotterSystem *own;
    TrotterRun run;
    double one = 1, y[3];
    if (trotter_system_make(1, 1, &one, decay, NULL, NULL, &own) != 0) return __LINE__;
    int bad = trotter_solve(kept.scheme, own, 0.5, 2, y) != 0 ||
              trotter_solve_path(kept.scheme, own, 0.5, 2, y, &run) != 0;
    trotter_system_free(own);
    return bad;
}

static int parse(void)
{
    TrotterSystem *s;
    if (trotter_system_parse("system s\nd 1\nG1 = -y1\ninitial = 1\n", 1, 1, 1, &s) != 0)
        return __LINE__;
    trotter_system_free(s);
    return trotter_system_parse("system s\nd 1\nG1 = -(y1\n", 1, 1, 1, &s) == TROTTER_INPUT
               ? 0
               : __LINE__;
}

static int refer(void)
{
    double y;
    return trotter_reference(kept.own, 0.1, &y);
}

static int score(void)
{
    const char *h[] = {"a b c"}, *r[] = {"a b d"};
    const double x[] = {0, 1};
    double y;
    return trotter_score_lines("chrf", NULL, 1, h, r, &y) != 0 ||
           trotter_score_labels("accuracy", 2, x, x, &y) != 0;
}

static int load(void)
{
    TrotterModel *m;
    const int32_t id = 0;
    static double z[4096];
    if (trotter_model_load(kept.model, 0, &m) != 0) return __LINE__;
    int bad = trotter_model_logits(m, &id, 1, z);
    trotter_model_free(m);
    return bad;
}

static const struct {
    const char *name;
    int (*call)(void);
} often[] = {{"find_and_fail", find_and_fail},
             {"find", find},
             {"read_and_print", read_and_print},
             {"theory", theory},
             {"expand", expand},
             {"make_and_solve", make_and_solve},
             {"parse", parse},
             {"refer", refer},
             {"score", score},
             {"load", load}};

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

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Calls one row: nothing is kept of a call, after the first ones. A row whose calls take long makes fewer, as many as a
 * minute has. */
static int without_growth(size_t row, long calls)
{
    for (int i = 0; i < 3; i++)
        if (often[row].call() != 0) return __LINE__;
    long n = 0, files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    size_t memory = allocated();
    for (double end = now() + 60; n < calls && now() < end; n++)
        if (often[row].call() != 0) return __LINE__;
    size_t after = allocated();
    int more = after > memory || entries("/proc/self/fd") != files ||
               entries("/proc/self/task") != threads;
    if (calls > 1000 || more)
        printf("%-16s %8ld calls, %zu bytes before, %zu after\n", often[row].name, n, memory,
               after);
    return more ? __LINE__ : 0;
}

static int all_without_growth(const char *model, long calls)
{
    int failed = 0;
    kept.model = model;
    double one = 1;
    if (trotter_scheme_find("heun", &kept.scheme) != 0) return __LINE__;
    if (trotter_system_make(1, 1, &one, decay, NULL, NULL, &kept.own) != 0) return __LINE__;
    for (size_t i = 0; failed == 0 && i < sizeof often / sizeof *often; i++)
        failed = without_growth(i, calls);
    trotter_scheme_free(kept.scheme);
    trotter_system_free(kept.own);
    return failed;
}

#endif
