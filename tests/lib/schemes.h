/* schemes.h: the zoo; tables and systems by a word or a text, and what many tests do with them: steps, sums over trees,
 * studies. What cannot be made fails the test. zoo_begin and zoo_end are the group's set-up and tear-down. */
#ifndef TROTTER_TEST_SCHEMES_H
#define TROTTER_TEST_SCHEMES_H

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/ode.h"
#include "ode/scheme/rationals.h"
#include "tests/lib/test.h"

static Zoo zoo;

static inline int zoo_begin(void **state)
{
    (void)state;
    return zoo_open(&zoo);
}

/* Closes the zoo and fails the group if a test forgot to free something. */
static inline int zoo_end(void **state)
{
    (void)state;
    zoo_close(&zoo);
    return memory_live() != 0;
}

/* ---- what is freed where its scope ends ------------------------------------------------------------ */

/* A rational number for every tree up to an order, and one for y itself. */
typedef struct {
    Forest *f;
    mpq_t *c, y; /* c (f->count) */
} TreeSum;

typedef struct {
    Table **table;
    size_t count;
} Tables;

typedef struct {
    System *of[64]; /* NULL behind the last */
} Systems;

static inline void systems_free(Systems *l)
{
    for (size_t k = 0; l->of[k]; k++) {
        solved_free(l->of[k]->solved);
        system_free(l->of[k]);
    }
}

static inline void sum_free(TreeSum *s)
{
    rationals_free(s->c);
    mpq_clear(s->y);
    forest_free(s->f);
}

static inline void tables_free(Tables *l)
{
    for (size_t i = 0; i < l->count; i++) table_free(l->table[i]);
    memory_free(l->table);
    *l = (Tables){0};
}

/* Before a variable, which must have a value. A pointer may be NULL. */
#define OWN_TABLE SCOPED(table_drop) Table
#define OWN_TABLES SCOPED(tables_free) Tables
#define OWN_SYSTEM SCOPED(system_drop) System
#define OWN_SYSTEMS SCOPED(systems_free) Systems
#define OWN_FOREST SCOPED(forest_drop) Forest
#define OWN_SERIES SCOPED(series_drop) Series
#define OWN_SUM SCOPED(sum_free) TreeSum
#define OWN_STEPPER SCOPED(stepper_drop) Stepper
#define OWN_STUDY SCOPED(order_free) OrderStudy
#define OWN_STRUCTURE SCOPED(structure_free) Structure
#define OWN_BRACKETS SCOPED(bracket_free) Brackets
#define OWN_REALS SCOPED(memory_drop) double
#define OWN_RATIONAL SCOPED(rational_drop) mpq_t

/* Returns `count` zeros. */
static inline double *numbers(size_t count)
{
    double *x = memory_new(count, sizeof *x);
    assert_non_null(x);
    return x;
}

/* Copies the next word of a list with blanks and moves *list past it. Returns 0 behind the last. */
static inline int next_word(const char **list, char word[2 * TABLE_NAME])
{
    *list += strspn(*list, " ");
    size_t n = strcspn(*list, " ");
    assert_true(n < 2 * TABLE_NAME);
    memcpy(word, *list, n);
    word[n] = 0;
    *list += n;
    return n > 0;
}

/* ---- tables ----------------------------------------------------------------------------------------- */

/* Reads a scheme, statements with or without "scheme NAME" before them. *out is NULL where there is an error. */
static inline int read_scheme(const char *text, Table **out)
{
    char *whole;
    Table **list = NULL;
    size_t count = 0;
    int n = asprintf(&whole, "%s%s\n", strncmp(text, "scheme ", 7) == 0 ? "" : "scheme a\n", text);
    assert_true(n > 0);
    int code = scheme_parse("text", whole, (size_t)n, &list, &count);
    *out = NULL;
    if (code == 0) {
        assert_int_equal(count, 1);
        *out = list[0];
    }
    free(whole);
    memory_free(list);
    return code;
}

static inline Table *scheme_of_text(const char *text)
{
    Table *t;
    if (read_scheme(text, &t) != 0) fail_msg("%s: %s", text, error_text());
    return t;
}

/* Returns a table by its name in the zoo. */
static inline Table *named(const char *name, const char *solver)
{
    Table *t = NULL;
    if (zoo_find(&zoo, name, solver, &t) != 0) fail_msg("%s: %s", name, error_text());
    return t;
}

/* The same for groups without zoo_begin. */
static inline Table *built_in(const char *name, const char *solver)
{
    SCOPED(zoo_close) Zoo own = {0};
    Table *t;
    assert_int_equal(zoo_open(&own), 0);
    assert_int_equal(zoo_find(&own, name, solver, &t), 0);
    return t;
}

/* Returns a table by its name in the zoo, or of a text. A text has blanks, a name has none. Symbols
 * stay. */
static inline Table *scheme(const char *text)
{
    return strchr(text, ' ') ? scheme_of_text(text) : named(text, "exact");
}

static inline Table *freeze(const Table *t)
{
    Table *f = table_freeze(t);
    assert_non_null(f);
    return f;
}

/* Returns the same table with every symbol at its starting value. */
static inline Table *frozen(const char *text)
{
    OWN_TABLE *t = scheme(text);
    return freeze(t);
}

static inline Tables listed(const char *names, const char *solver)
{
    Tables l;
    if (zoo_list(&zoo, names, solver, &l.table, &l.count) != 0)
        fail_msg("%s: %s", names, error_text());
    return l;
}

/* Calls `check` with every scheme of a list, frozen. */
static inline void for_each(const char *names, const char *solver, void (*check)(const Table *t))
{
    OWN_TABLES l = listed(names, solver);
    for (size_t i = 0; i < l.count; i++) {
        OWN_TABLE *t = freeze(l.table[i]);
        check(t);
    }
}

static inline void same_table(const Table *a, const Table *b)
{
    if (!table_equal(a, b)) fail_msg("%s and %s are not one table", a->name, b->name);
}

/* Returns a table's text. Caller: free. */
static inline char *text_of(const Table *t)
{
    char *text;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    assert_int_equal(table_print(t, f), 0);
    fclose(f);
    return text;
}

static inline Table *reread(const Table *t)
{
    char *text = text_of(t);
    Table *again = scheme_of_text(text);
    free(text);
    return again;
}

/* Checks that there was an error of input with these words. */
static inline void assert_refused(int code, const char *what, const char *words)
{
    if (code != ERR_INPUT) fail_msg("%s: %d, not refused", what, code);
    if (!strstr(error_text(), words)) fail_msg("%s: '%s', not '%s'", what, error_text(), words);
}

static inline void refuse_text(const char *text, const char *words)
{
    Table *t;
    assert_refused(read_scheme(text, &t), text, words);
}

static inline void refuse_name(const char *name, const char *words)
{
    Table *t = NULL;
    assert_refused(zoo_find(&zoo, name, "exact", &t), name, words);
    assert_null(t);
}

/* ---- theory ----------------------------------------------------------------------------------------- */

static inline Theory theory_of(const Table *t, int most)
{
    Theory th;
    if (theory_search(t, most, &th) != 0) fail_msg("%s: %s", t->name, error_text());
    return th;
}

static inline int order_of(const Table *t)
{
    return theory_of(t, 6).order;
}

static inline Embedded embedded_of(const Table *t)
{
    Embedded e;
    assert_int_equal(theory_embedded(t, 6, &e), 0);
    return e;
}

static inline Forest *forest_of(int order, int colours)
{
    Forest *f;
    assert_int_equal(forest_new(order, colours, &f), 0);
    return f;
}

static inline Series *series_of(const Forest *f, const Table *t)
{
    Series *s;
    if (series_step(f, t, &s) != 0) fail_msg("%s: %s", t->name, error_text());
    return s;
}

static inline Series *series_zero(const Forest *f)
{
    Series *s;
    assert_int_equal(series_new(f, &s), 0);
    return s;
}

/* Returns 0 for every tree. */
static inline TreeSum sum_new(int order, int colours)
{
    TreeSum s = {.f = forest_of(order, colours)};
    s.c = rationals_new(s.f->count);
    assert_non_null(s.c);
    mpq_init(s.y);
    return s;
}

/* Returns the error of a frozen table's step. */
static inline TreeSum defect_of(const Table *t, int order)
{
    TreeSum s = sum_new(order, t->colours);
    if (theory_defect(s.f, t, s.c, s.y) != 0) fail_msg("%s: %s", t->name, error_text());
    return s;
}

/* Returns the modified equation of a frozen one-step table. */
static inline TreeSum modified_of(const Table *t, int order)
{
    TreeSum s = sum_new(order, t->colours);
    if (theory_modified(s.f, t, s.c) != 0) fail_msg("%s: %s", t->name, error_text());
    return s;
}

/* Tells whether a sum over trees is the one of a text, such as "1/2 G'F - 1/2 F'G". */
static inline int sum_is(const TreeSum *s, int colours, const char *text)
{
    OWN_SUM want = sum_new(s->f->max, colours);
    if (forest_read(want.f, "FGC", s->f->max, text, want.c, want.y) != 0)
        fail_msg("%s: %s", text, error_text());
    int same = mpq_equal(s->y, want.y);
    for (size_t i = 0; i < want.f->count; i++) same = same && mpq_equal(s->c[i], want.c[i]);
    return same;
}

/* Returns a tree by its name. f->count: there is none. */
static inline size_t tree_named(const Forest *f, const char *name)
{
    char text[256];
    size_t i = 0;
    while (i < f->count && !(tree_name(f, i, text, sizeof text) == 0 && strcmp(text, name) == 0))
        i++;
    return i;
}

static inline Structure structure_of(const Table *t, int most)
{
    Structure s;
    if (structure_find(t, most, &s) != 0) fail_msg("%s: %s", t->name, error_text());
    return s;
}

static inline Brackets brackets_of(const Table *t, int degree)
{
    Brackets b;
    if (bracket_error(t, degree, &b) != 0) fail_msg("%s: %s", t->name, error_text());
    return b;
}

/* Returns the largest factor at z, for each colour. */
static inline double modulus_at(const Table *t, const double z[][2])
{
    Stability *s;
    assert_int_equal(stability_new(t, &s), 0);
    double m = stability_at(s, z);
    stability_free(s);
    return m;
}

/* Returns |R| where F has the factor f, other operators g. */
static inline double modulus(const Table *t, double _Complex f, double _Complex g)
{
    double z[COLOURS][2];
    for (int op = 0; op < COLOURS; op++) {
        z[op][0] = __real__(op == OP_F ? f : g);
        z[op][1] = __imag__(op == OP_F ? f : g);
    }
    return modulus_at(t, (const double(*)[2])z);
}

static inline int is_near(double x, double want, double tolerance)
{
    return x == want || fabs(x - want) <= tolerance * fabs(want);
}

/* Checks the ends of the stability intervals, each to a relative tolerance. */
static inline void assert_limits(const char *text, double real, double imag, double tolerance)
{
    OWN_TABLE *t = frozen(text);
    double r, i;
    assert_int_equal(stability_limits(t, &r, &i, NULL), 0);
    if (!is_near(r, real, tolerance) || !is_near(i, imag, tolerance))
        fail_msg("%s: %.16g %.16g, not %.16g %.16g", text, r, i, real, imag);
}

/* ---- systems ---------------------------------------------------------------------------------------- */

/* Begins a field's function, as TEST begins a test. */
#define UNUSED __attribute__((unused))
#define OWN_FIELD(name)                                                       \
    static void name(UNUSED const System *s, UNUSED int set, UNUSED double t, \
                     UNUSED const double *y, UNUSED double *dy)

static inline System *sized(const char *name, size_t n, size_t d, uint64_t seed)
{
    System *s = NULL;
    if (system_new(name, n, d, seed, &s) != 0) fail_msg("%s: %s", name, error_text());
    return s;
}

/* Makes a particle system of its default size. */
static inline System *make(const char *name)
{
    return sized(name, 0, 0, 3);
}

/* Lets a system remember its solutions, which studies of many schemes share; it is the list's. */
static inline Systems remembering(System *s)
{
    assert_int_equal(solved_new(1 << 24, &s->solved), 0);
    return (Systems){{s}};
}

/* Makes all systems, which remember, of four particles where they may be: the trees are those of any number. */
static inline Systems all_systems(void)
{
    Systems l = {0};
    for (size_t k = 0; system_name(k); k++) {
        assert_true(k + 1 < sizeof l.of / sizeof *l.of);
        System *s = NULL;
        if (system_new(system_name(k), 4, 0, 3, &s) != 0) s = make(system_name(k));
        if (s->context) { /* the first of the texts */
            system_free(s);
            break;
        }
        l.of[k] = remembering(s).of[0];
    }
    return l;
}

/* Reads a system's text. n, d: 0, or other sizes than its own. */
static inline System *read_system(const char *text, size_t n, size_t d)
{
    System *s = NULL;
    if (system_parse("test", text, strlen(text), n, d, 1, &s) != 0)
        fail_msg("%s: %s", text, error_text());
    return s;
}

/* Returns a system of one coordinate, which starts at 1. */
typedef void Rule(const System *s, int set, double t, const double *y, double *dy);
static inline System scalar_system(Rule *F, Rule *G)
{
    static double y0[1] = {1};
    return (System){
        .name = "scalar", .n = 1, .d = 1, .initial = y0, .field = {F, G}, .t_end = 1, .h0 = 0.125};
}

static size_t counted; /* values of F and G of counting systems */

static inline void counting_F(const System *s, int set, double t, const double *y, double *dy)
{
    const System *base = s->context;
    counted++;
    base->field[OP_F](base, set, t, y, dy);
}

static inline void counting_G(const System *s, int set, double t, const double *y, double *dy)
{
    const System *base = s->context;
    counted++;
    base->field[OP_G](base, set, t, y, dy);
}

/* Returns the same system, which counts the values of its fields, one by one. */
static inline System counting(System *base)
{
    System s = *base;
    s.both = NULL;
    s.context = base;
    s.field[OP_F] = counting_F;
    s.field[OP_G] = counting_G;
    return s;
}

static inline void far_field(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    for (size_t i = 0; i < s->n; i++) dy[i] = -2000 * y[i] + 999 * y[(i * 7 + 20) % s->n];
}

/* Makes a system with stiff bands: between ends, on a ring, of two coordinates; 3: one whose F reads far values. */
enum { BANDED = 3 };
static inline System *banded(int k)
{
    static const char *const names[] = {
        "transport:peclet=0.01", "transport:peclet=0.01:periodic:wave=0.5", NULL, "transport"};
    static const char text[] =
        "system pair\nn 37\nd 2\nring\nF1 = 900*(y[i+1] - 2*y + y[i-1]) + y2^2\n"
        "F2 = 500*(y[i+1] - 2*y + y[i-1]) - y1*y2\ninitial = 1 + sin(i + c)\n";
    System *s = names[k] ? sized(names[k], 96, 0, 1) : read_system(text, 0, 0);
    if (k == BANDED) s->field[OP_F] = far_field, s->special = 0, s->sees[OP_F] = 0;
    return s;
}

/* Forgets which particles see each other, so that bands are looked for. */
static inline void untell(System *s)
{
    memset(s->sees, 0, sizeof s->sees);
}

static inline Stepper *stepper(const Table *t, const System *s)
{
    Stepper *st = NULL;
    if (stepper_new(t, s, &st) != 0) fail_msg("%s on %s: %s", t->name, s->name, error_text());
    return st;
}

static size_t walk_evals; /* evaluations of the last walk */

/* Takes some steps of h from y (N) at t0, without history. Returns the code of the last; y gets its state. */
static inline int walk(const Table *t, const System *s, double t0, double h, int steps, double *y)
{
    OWN_STEPPER *st = stepper(t, s);
    assert_int_equal(stepper_begin(st, t0, h, y, START_NETWORK, NULL), 0);
    int code = 0;
    for (int k = 0; k < steps && code == 0; k++) code = stepper_step(st);
    memcpy(y, stepper_state(st), s->n * s->d * sizeof *y);
    walk_evals = stepper_evals(st);
    return code;
}

/* Walks from the system's initial state at 0. */
static inline void walk_on(const Table *t, const System *s, double h, int steps, double *y)
{
    memcpy(y, s->initial, s->n * s->d * sizeof *y);
    if (walk(t, s, 0, h, steps, y) != 0) fail_msg("%s on %s: %s", t->name, s->name, error_text());
}

/* ---- studies ---------------------------------------------------------------------------------------- */

static inline AdaptOptions within(double tolerance, double t_end, int estimate_order)
{
    return (AdaptOptions){.absolute = tolerance,
                          .relative = tolerance,
                          .t_end = t_end,
                          .estimate_order = estimate_order,
                          .most = 100000};
}

static inline OrderStudy measured(const Table *t, const System *s, OrderOptions o, int order,
                                  int stable)
{
    OrderStudy m;
    if (order_measure(t, s, &o, order, stable, &m) != 0)
        fail_msg("%s on %s: %s", t->name, s->name, error_text());
    return m;
}

/* Returns how the measured order of seven steps agrees with this one. */
static inline int order_verdict(const Table *t, const System *s, int expected)
{
    OWN_STUDY m = measured(t, s, (OrderOptions){.halvings = 6}, expected, 1);
    return m.verdict;
}

/* Predicts the error constants. vector (2, N): the local error, the global one; NULL: not wanted. */
static inline Prediction predict(const Table *t, const System *s, double t_end, double *vector)
{
    Prediction p;
    Theory th = theory_of(t, 6);
    if (order_predict(t, s, t_end, theory_order(&th, s), th.zero_stable, &p, vector) != 0)
        fail_msg("%s on %s: %s", t->name, s->name, error_text());
    return p;
}

#endif
