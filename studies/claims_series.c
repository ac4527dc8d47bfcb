/* claims_series.c: claims about local errors, orders and equal maps. Exactly: two maps' series in
 * rationals, tree by tree. By numbers: both maps on the sine field, whose predicted terms are known
 * vectors; what is left after subtracting them must fall with the next power of h, and must not when
 * one coefficient is spoilt. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/claims.h"

enum { STEPS = 6, COARSEST = 3, SEED = 11, SERIES_DEGREE = 5, ROWS_MOST = 24 };
static const double spoilt = 1.0 / 7; /* added to one coefficient by a control */
static const double close_enough = 0.25; /* of a slope; orders are whole numbers */

/* map - minus, compared with terms through h^degree. */
typedef struct {
    Map map, minus;
    int has_minus;
    int one_field; /* G = 0: only trees of F count */
    int degree;
    Forest *forest; /* one degree more */
    mpq_t *want, *have; /* (forest->count) before h^|t| F(t) */
    mpq_t want_y, have_y; /* before h^0 y */
    int expands;
    Sine sine;
} Expansion;

static void expansion_close(Expansion *x)
{
    map_free(&x->map);
    if (x->has_minus) map_free(&x->minus);
    for (size_t i = 0; x->forest && i < x->forest->count; i++) {
        if (x->want) mpq_clear(x->want[i]);
        if (x->have) mpq_clear(x->have[i]);
    }
    mpq_clears(x->want_y, x->have_y, NULL);
    memory_free(x->want);
    memory_free(x->have);
    forest_free(x->forest);
}

static int counts(const Expansion *x, size_t tree)
{
    const Tree *t = &x->forest->tree[tree];
    int yes = !x->one_field || t->colour == OP_F;
    for (int k = 0; yes && k < t->children; k++) yes = counts(x, (size_t)t->child[k]);
    return yes;
}

/* "1/2 G'F; -1/2 F'G; 1 y" into want. */
static int read_terms(Expansion *x, const char *terms)
{
    char name[256], term[256];
    mpq_t c;
    mpq_init(c);
    int code = 0;
    for (const char *at = terms; code == 0 && *at; at += strcspn(at, ";"), at += *at == ';') {
        char number[32];
        if (sscanf(at, " %31[-0-9/] %255[^; ]", number, term) != 2 || mpq_set_str(c, number, 10)) {
            code = error_set(ERR_INPUT, "expected terms like 1/2 F'G: '%s'", at);
            break;
        }
        size_t i = 0;
        while (i < x->forest->count && (tree_name(x->forest, i, name, sizeof name), strcmp(name, term)))
            i++;
        if (strcmp(term, "y") == 0)
            mpq_set(x->want_y, c);
        else if (i < x->forest->count)
            mpq_set(x->want[i], c);
        else
            code = error_set(ERR_INPUT, "no such elementary differential: '%s'", term);
    }
    mpq_clear(c);
    return code;
}

static mpq_t *rationals(size_t n)
{
    mpq_t *q = memory_new(n, sizeof *q);
    for (size_t i = 0; q && i < n; i++) mpq_init(q[i]);
    return q;
}

/* have = (map - minus) / sigma; a map without expansion about y leaves expands = 0. */
static int subtract_series(Expansion *x)
{
    Series *a = NULL, *b = NULL;
    mpq_t sigma;
    mpq_init(sigma);
    int code = map_series(&x->map, x->forest, &a);
    if (code == 0 && x->has_minus) code = map_series(&x->minus, x->forest, &b);
    x->expands = code == 0;
    if (code == 0) mpq_set(x->have_y, a->empty);
    if (b) mpq_sub(x->have_y, a->empty, b->empty);
    for (size_t i = 0; code == 0 && i < x->forest->count; i++) {
        mpq_set_ui(sigma, 1, x->forest->tree[i].sigma);
        if (b) mpq_sub(a->a[i], a->a[i], b->a[i]);
        mpq_mul(x->have[i], a->a[i], sigma);
    }
    mpq_clear(sigma);
    series_free(a);
    series_free(b);
    return code == ERR_ACCURACY ? 0 : code;
}

static int expansion_fill(const Zoo *z, const char *minus, Expansion *x)
{
    TRY(forest_new(x->degree + 1, &x->forest));
    if (minus) {
        TRY(map_read(z, minus, &x->minus));
        x->has_minus = 1;
        for (int op = 0; op < 2; op++) mpq_set(x->minus.weight[op], x->map.weight[op]);
    }
    x->want = rationals(x->forest->count);
    x->have = rationals(x->forest->count);
    if (!x->want || !x->have) return ERR_MEMORY;
    sine_new(&x->sine, SEED, x->one_field);
    return subtract_series(x);
}

/* minus may be NULL; field: "F" for one field, else F+G. */
static int expansion_open(const Zoo *z, const char *map, const char *minus, int degree,
                          const char *field, Expansion *x)
{
    *x = (Expansion){.degree = degree, .one_field = strcmp(field, "F") == 0};
    mpq_inits(x->want_y, x->have_y, NULL);
    int code = map_read(z, map, &x->map);
    if (code == 0) code = expansion_fill(z, minus, x);
    if (code != 0) expansion_close(x);
    return code;
}

/* ---- exactly ------------------------------------------------------------------------------------------ */

static int is_zero(const mpq_t q)
{
    return mpq_sgn(q) == 0 || fabs(mpq_get_d(q)) <= 1e-12; /* decimals of irrational tables */
}

/* Are all trees of an order as wanted? */
static int order_met(const Expansion *x, int order, mpq_t *want)
{
    mpq_t d;
    mpq_init(d);
    int met = 1;
    for (size_t i = x->forest->first[order]; i < x->forest->first[order + 1]; i++) {
        if (!counts(x, i)) continue;
        mpq_set(d, x->have[i]);
        if (want) mpq_sub(d, d, want[i]);
        met = met && is_zero(d);
    }
    mpq_clear(d);
    return met;
}

static int as_wanted(const Expansion *x)
{
    int met = x->expands && mpq_equal(x->want_y, x->have_y);
    for (int n = 1; met && n <= x->degree; n++) met = order_met(x, n, x->want);
    return met;
}

static int derive_order(const Expansion *x, const char *map, int order, Finding *f)
{
    char name[256];
    for (size_t i = x->forest->first[order]; i < x->forest->first[order + 1]; i++) {
        if (!counts(x, i) || is_zero(x->have[i]) || f->count == ROWS_MOST) continue;
        TRY(tree_name(x->forest, i, name, sizeof name));
        TRY(finding_derive(f, map, name, x->have[i]));
    }
    return 0;
}

/* All non-zero terms through the degree, or the first behind it, into the derivation. */
static int derive(const Expansion *x, const char *map, Finding *f)
{
    size_t before = f->count;
    if (!is_zero(x->have_y)) TRY(finding_derive(f, map, "y", x->have_y));
    for (int n = 1; n <= x->degree; n++) TRY(derive_order(x, map, n, f));
    return f->count > before ? 0 : derive_order(x, map, x->degree + 1, f);
}

/* The terms of the lowest order that has any, as words; at most eight. */
static void say_leading(const Expansion *x, Finding *f)
{
    char name[256];
    int n = 1, said = 0;
    while (n < x->degree + 1 && order_met(x, n, NULL)) n++;
    finding_say(f, "h^%d (", n);
    for (size_t i = x->forest->first[n]; i < x->forest->first[n + 1]; i++) {
        if (!counts(x, i) || is_zero(x->have[i])) continue;
        tree_name(x->forest, i, name, sizeof name);
        char *c = mpq_get_str(NULL, 10, x->have[i]);
        if (said < 8) finding_say(f, "%s%s %s", said ? *c == '-' ? " - " : " + " : *c == '-' ? "-" : "", c + (*c == '-'), name);
        if (said++ == 8) finding_say(f, " + ..");
        free(c);
    }
    finding_say(f, said ? ")" : "0)");
}

/* ---- by numbers --------------------------------------------------------------------------------------- */

/* e -= c h^n v */
static void subtract(double *e, double c, double h, int n, const double *v)
{
    for (int i = 0; i < SINE_D; i++) e[i] -= c * pow(h, n) * v[i];
}

/* e (D) = map(y) - minus(y) - sum want h^|t| F(t)(y). */
static int remainder_at(const Expansion *x, double h, double *e)
{
    double b[SINE_D] = {0}, v[SINE_D];
    memcpy(e, x->sine.y, sizeof x->sine.y);
    if (x->has_minus) memcpy(b, x->sine.y, sizeof b);
    TRY(map_apply(&x->map, &x->sine, h, e));
    if (x->has_minus) TRY(map_apply(&x->minus, &x->sine, h, b));
    subtract(e, 1, h, 0, b);
    subtract(e, table_double(x->want_y), h, 0, x->sine.y);
    for (size_t i = 0; i < x->forest->count; i++) {
        if (mpq_sgn(x->want[i]) == 0) continue;
        sine_differential(&x->sine, x->forest, i, x->sine.y, v);
        subtract(e, table_double(x->want[i]), h, x->forest->tree[i].order, v);
    }
    return 0;
}

/* Slope of the remainder, and of a control that has one coefficient of h^degree spoilt. */
static int measure(const Expansion *x, int degree, double *slope, double *control)
{
    double e[SINE_D], v[SINE_D], norm[STEPS], bad[STEPS];
    size_t tree = degree ? x->forest->first[degree] : 0;
    while (!counts(x, tree)) tree++;
    sine_differential(&x->sine, x->forest, tree, x->sine.y, v);
    for (int j = 0; j < STEPS; j++) {
        double h = ldexp(1, -COARSEST - j);
        TRY(remainder_at(x, h, e));
        norm[j] = sine_norm(e);
        subtract(e, spoilt, h, degree, degree ? v : x->sine.y);
        bad[j] = sine_norm(e);
    }
    *slope = sine_slope(norm, STEPS);
    *control = sine_slope(bad, STEPS);
    return 0;
}

/* ---- check: terms -------------------------------------------------------------------------------------- */

static int judge_terms(Expansion *x, const char *label, Finding *f, int *holds)
{
    double slope, control;
    *holds = as_wanted(x);
    TRY(measure(x, x->degree, &slope, &control));
    int seen = slope > x->degree + 1 - close_enough;
    f->sound = f->sound && seen == *holds && !(control > x->degree + close_enough);
    if (!x->expands)
        finding_say(f, "%s: no expansion about y; ", label);
    else if (!*holds) {
        finding_say(f, "%s: exactly ", label);
        say_leading(x, f);
        finding_say(f, "; ");
    } else
        finding_say(f, "%s: all trees through h^%d as stated; ", label, x->degree);
    if (isinf(slope))
        finding_say(f, "measured: the rest is rounding");
    else
        finding_say(f, "measured: the rest falls as h^%.2f", slope);
    finding_say(f, ", as h^%.2f with one coefficient spoilt", control);
    return derive(x, label, f);
}

static int run_terms(const Zoo *z, const char *map, const char *minus, const char *const *arg,
                     const char *label, Finding *f, int *holds)
{
    Expansion x;
    TRY(expansion_open(z, map, minus, atoi(arg[3]), arg[4], &x));
    int code = read_terms(&x, arg[2]);
    if (code == 0) code = judge_terms(&x, label, f, holds);
    expansion_close(&x);
    return code;
}

int check_expansion(const Zoo *z, const char *const *arg, Finding *f)
{
    TRY(run_terms(z, arg[0], arg[1], arg, arg[5] ? "as stated" : "map", f, &f->holds));
    if (!arg[5]) return 0;
    finding_say(f, ". ");
    return run_terms(z, arg[5], arg[6], arg, "under the condition", f, &f->conditional);
}

/* ---- check: order --------------------------------------------------------------------------------------- */

/* Exact order of a map, at most one above `want`, and whether numbers say the same. */
static int find_order(const Zoo *z, const char *map, int want, const char *field, Finding *f,
                      int *order)
{
    Expansion x;
    double slope, control;
    TRY(expansion_open(z, map, "exact", want, field, &x));
    *order = 0;
    if (x.expands && is_zero(x.have_y))
        while (*order <= want && order_met(&x, *order + 1, NULL)) ++*order;
    int code = measure(&x, *order <= want ? *order : want, &slope, &control);
    int seen = *order > want ? slope > want + 2 - close_enough : slope < *order + 1 + close_enough;
    seen = seen && (*order == 0 || slope > *order + 1 - close_enough);
    f->sound = f->sound && seen && !(control > fmin(*order, want) + close_enough);
    if (code == 0) {
        finding_say(f, " %s%d (measured %.2f)", *order > want ? ">=" : "", *order, slope - 1);
        if (*order && *order <= want) code = derive(&x, map, f);
    }
    expansion_close(&x);
    return code;
}

/* Every map of "A|B|C" has exactly this order. */
static int all_of_order(const Zoo *z, const char *maps, int want, const char *field, Finding *f,
                        int *holds)
{
    char *list = memory_string(maps), *rest = list;
    int code = list ? 0 : ERR_MEMORY;
    *holds = 1;
    for (char *map; code == 0 && (map = strsep(&rest, "|"));) {
        int order = 0;
        finding_say(f, "%s%s:", map == list ? "" : ", ", strchr(map, '\n') ? "order" : map);
        code = find_order(z, map, want, field, f, &order);
        *holds = *holds && order == want;
    }
    memory_free(list);
    return code;
}

int check_order(const Zoo *z, const char *const *arg, Finding *f)
{
    finding_say(f, "exact order over %s: ", strcmp(arg[2], "F") == 0 ? "one field" : "F+G");
    TRY(all_of_order(z, arg[0], atoi(arg[1]), arg[2], f, &f->holds));
    if (!arg[3]) return 0;
    finding_say(f, "; over %s: ", strcmp(arg[4], "F") == 0 ? "one field" : "F+G");
    return all_of_order(z, arg[3], atoi(arg[1]), arg[4], f, &f->conditional);
}

/* ---- check: the same map -------------------------------------------------------------------------------- */

/* Largest difference of two maps at one h, and at steps apart by 1e-6. */
static int compare(const Expansion *x, double *difference, double *control)
{
    const double h = 0.25;
    double a[SINE_D], b[SINE_D], c[SINE_D];
    memcpy(a, x->sine.y, sizeof a);
    memcpy(b, a, sizeof b);
    memcpy(c, a, sizeof c);
    TRY(map_apply(&x->map, &x->sine, h, a));
    TRY(map_apply(&x->minus, &x->sine, h, b));
    TRY(map_apply(&x->minus, &x->sine, h * (1 + 1e-6), c));
    subtract(b, 1, h, 0, a);
    subtract(c, 1, h, 0, a);
    *difference = sine_norm(b);
    *control = sine_norm(c);
    return 0;
}

int check_same(const Zoo *z, const char *const *arg, Finding *f)
{
    Expansion x;
    double difference = NAN, control = NAN;
    TRY(expansion_open(z, arg[0], arg[1], SERIES_DEGREE, "F+G", &x));
    const Table *a = x.map.part[0].table, *b = x.minus.part[0].table;
    int tables = x.map.parts == 1 && x.minus.parts == 1 && a && b && table_equal(a, b);
    f->holds = tables || as_wanted(&x);
    int code = compare(&x, &difference, &control);
    /* 4 sub-flows, each good to 1e-14 times the state */
    const double tolerance = 1e-12;
    f->sound = (difference <= tolerance) == f->holds && !(control <= tolerance);
    if (tables)
        finding_say(f, "the two tables are equal term by term");
    else if (f->holds)
        finding_say(f, "all %zu trees through h^%d equal", x.forest->first[SERIES_DEGREE + 1], SERIES_DEGREE);
    else {
        finding_say(f, "they differ by ");
        say_leading(&x, f);
    }
    finding_say(f, "; maps at h = 1/4 differ by %.1e (control, h changed by 1e-6: %.1e)", difference,
                control);
    expansion_close(&x);
    return code;
}

/* ---- check: a family in one number K --------------------------------------------------------------------- */

enum { VALUES = 8 };

static int in_list(const char *list, const char *value)
{
    size_t n = strlen(value);
    for (const char *at = list; at; at = strchr(at, ' '), at += at != NULL)
        if (strncmp(at, value, n) == 0 && (at[n] == ' ' || at[n] == '\0')) return 1;
    return 0;
}

/* The defects of all values, so that they can be seen to be affine in K. */
typedef struct {
    size_t count, trees;
    mpq_t k[VALUES];
    mpq_t *have[VALUES];
} Family;

/* slope = (d_i - d_0) / (k_i - k_0) */
static void divided(const Family *y, size_t i, size_t tree, mpq_t slope)
{
    mpq_t dk;
    mpq_init(dk);
    mpq_sub(dk, y->k[i], y->k[0]);
    mpq_sub(slope, y->have[i][tree], y->have[0][tree]);
    mpq_div(slope, slope, dk);
    mpq_clear(dk);
}

static int is_affine(const Family *y)
{
    mpq_t a, b;
    mpq_inits(a, b, NULL);
    int affine = y->count > 2;
    for (size_t t = 0; affine && t < y->trees; t++) {
        divided(y, 1, t, a);
        for (size_t i = 2; i < y->count; i++) {
            divided(y, i, t, b);
            affine = affine && mpq_equal(a, b);
        }
    }
    mpq_clears(a, b, NULL);
    return affine;
}

/* "F'F: -1/2 + 1 K" for the first tree that depends on K, all trees into the derivation. */
static int say_affine(const Family *y, const Expansion *x, Finding *f)
{
    mpq_t slope, at_zero;
    char name[256], map[64];
    int code = 0, said = 0;
    mpq_inits(slope, at_zero, NULL);
    for (size_t t = 0; code == 0 && t < y->trees; t++) {
        if (!counts(x, t)) continue;
        divided(y, 1, t, slope);
        mpq_mul(at_zero, slope, y->k[0]);
        mpq_sub(at_zero, y->have[0][t], at_zero);
        if (mpq_sgn(slope) == 0 && mpq_sgn(at_zero) == 0) continue;
        code = tree_name(x->forest, t, name, sizeof name);
        char *c = mpq_get_str(NULL, 10, slope), *d = mpq_get_str(NULL, 10, at_zero);
        snprintf(map, sizeof map, "defect = %.12s + (%.12s) K", d, c);
        if (code == 0) code = finding_derive(f, map, name, at_zero);
        if (!said++)
            finding_say(f, "; every defect is affine in K, that of %s is %s + (%s) K", name, d, c);
        free(c);
        free(d);
    }
    mpq_clears(slope, at_zero, NULL);
    return code;
}

static void family_free(Family *y)
{
    for (size_t i = 0; i < y->count; i++) {
        for (size_t t = 0; t < y->trees; t++) mpq_clear(y->have[i][t]);
        memory_free(y->have[i]);
        mpq_clear(y->k[i]);
    }
}

/* Keeps the defects through h^order of one value. */
static int family_add(Family *y, const Expansion *x, int order, const char *value)
{
    size_t i = y->count;
    y->trees = x->forest->first[order + 1];
    if (i == VALUES) return error_set(ERR_INPUT, "too many values");
    if (!(y->have[i] = rationals(y->trees))) return ERR_MEMORY;
    mpq_init(y->k[i]);
    y->count++;
    if (mpq_set_str(y->k[i], value, 10) != 0) return error_set(ERR_INPUT, "no rational: %s", value);
    mpq_canonicalize(y->k[i]);
    for (size_t t = 0; t < y->trees; t++) mpq_set(y->have[i][t], x->have[t]);
    return 0;
}

/* One value: does the member have at least the order? The last expansion stays open for names. */
static int family_member(const Zoo *z, const char *const *arg, const char *value, Family *y,
                         Expansion *x, Finding *f, int *met)
{
    int order = atoi(arg[1]), all = 1;
    double slope, control;
    char *text = claim_value(arg[0], value);
    int code = text ? expansion_open(z, text, "exact", order, arg[4], x) : ERR_MEMORY;
    memory_free(text);
    TRY(code);
    for (int n = 1; n <= order; n++) all = all && order_met(x, n, NULL);
    *met = all && x->expands && is_zero(x->have_y);
    code = measure(x, order, &slope, &control);
    f->sound = f->sound && (slope > order + 1 - close_enough) == *met &&
               !(control > order + close_enough);
    finding_say(f, " %s (measured %.2f)%s", *met ? "yes" : "no", slope - 1, "");
    if (code == 0) code = family_add(y, x, order, value);
    return code;
}

int check_family(const Zoo *z, const char *const *arg, Finding *f)
{
    Family y = {0};
    Expansion x = {0};
    char *values = memory_string(arg[2]), *rest = values;
    int code = values ? 0 : ERR_MEMORY, open = 0;
    f->holds = f->conditional = 1;
    finding_say(f, "order %s at K =", arg[1]);
    for (char *value; code == 0 && (value = strsep(&rest, " "));) {
        int met = 0;
        if (open) expansion_close(&x);
        finding_say(f, "%s %s", value == values ? "" : ",", value);
        code = family_member(z, arg, value, &y, &x, f, &met);
        open = code == 0;
        f->holds = f->holds && met;
        f->conditional = f->conditional && arg[3] && met == in_list(arg[3], value);
    }
    if (code == 0 && is_affine(&y)) code = say_affine(&y, &x, f);
    if (open) expansion_close(&x);
    family_free(&y);
    memory_free(values);
    return code;
}

/* ---- check: error norms ------------------------------------------------------------------------------------ */

static int norm_of(const Zoo *z, const char *scheme, const char *stated, Finding *f, double *norm2,
                   int *as_stated)
{
    Table *t;
    Theory theory;
    mpq_t q;
    TRY(map_table(z, scheme, &t));
    int code = theory_search(t, 5, &theory);
    table_free(t);
    TRY(code);
    mpq_init(q);
    if (mpq_set_str(q, stated, 10) != 0) code = error_set(ERR_INPUT, "no rational: %s", stated);
    *norm2 = theory.error_norm2;
    *as_stated = fabs(*norm2 - table_double(q)) <= 1e-15;
    mpq_clear(q);
    if (code == 0) finding_say(f, "%s %.4g, ", scheme, *norm2);
    return code;
}

/* Median over random fields of |local error of a| / |local error of b| at a small step. */
static int median_ratio(const Zoo *z, const char *a, const char *b, double *median, int *smaller)
{
    enum { FIELDS = 41 };
    double ratio[FIELDS];
    Map m[2], exact;
    *smaller = 0;
    TRY(map_read(z, a, &m[0]));
    TRY(map_read(z, b, &m[1]));
    TRY(map_read(z, "exact", &exact));
    int code = 0;
    for (int k = 0; k < FIELDS && code == 0; k++) {
        Sine s;
        double e[2][SINE_D], y[SINE_D];
        sine_new(&s, 100 + (uint64_t)k, 0);
        memcpy(y, s.y, sizeof y);
        code = map_apply(&exact, &s, 0x1p-7, y);
        for (int i = 0; i < 2 && code == 0; i++) {
            memcpy(e[i], s.y, sizeof y);
            code = map_apply(&m[i], &s, 0x1p-7, e[i]);
            subtract(e[i], 1, 1, 0, y);
        }
        ratio[k] = sine_norm(e[0]) / sine_norm(e[1]);
        *smaller += ratio[k] < 1;
        for (int j = k; j > 0 && ratio[j] < ratio[j - 1]; j--) {
            double swap = ratio[j];
            ratio[j] = ratio[j - 1];
            ratio[j - 1] = swap;
        }
    }
    *median = ratio[FIELDS / 2];
    for (int i = 0; i < 2; i++) map_free(&m[i]);
    map_free(&exact);
    return code;
}

int check_norms(const Zoo *z, const char *const *arg, Finding *f)
{
    double a, b, median = NAN;
    int smaller = 0, stated[2];
    finding_say(f, "squared principal error norms: ");
    TRY(norm_of(z, arg[0], arg[1], f, &a, &stated[0]));
    TRY(norm_of(z, arg[2], arg[3], f, &b, &stated[1]));
    TRY(median_ratio(z, arg[0], arg[2], &median, &smaller));
    f->holds = a < b && stated[0] && stated[1];
    f->sound = f->sound && (median < 1) == (a < b);
    finding_say(f,
                "ratio %.3f; measured on 41 random fields: median ratio of the local errors %.3f, "
                "below 1 on %d",
                sqrt(a / b), median, smaller);
    return 0;
}

/* ---- check: time nodes --------------------------------------------------------------------------------------- */

/* A field that notes when it is asked: param is a list of (operator, time), the count first. */
static void note(const System *s, int op, double t, double *dy)
{
    size_t n = (size_t)s->param[0]++;
    s->param[1 + 2 * n] = op;
    s->param[2 + 2 * n] = t;
    *dy = 1;
}

static void note_F(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)y;
    note(s, OP_F, t, dy);
}

static void note_G(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)y;
    note(s, OP_G, t, dy);
}

int check_times(const Zoo *z, const char *const *arg, Finding *f)
{
    Table *t;
    Stepper *st = NULL;
    double y = 0, list[64] = {0};
    char table[256] = "", seen[256] = "";
    System s = {.name = "clock", .n = 1, .d = 1, .field = {note_F, note_G}, .initial = &y, .param = list};
    TRY(map_table(z, arg[0], &t));
    int code = stepper_new(t, &s, &st);
    if (code == 0) code = stepper_begin(st, 0, 1, &y, START_GIVEN, NULL);
    if (code == 0) code = stepper_step(st);
    for (size_t e = 0; code == 0 && e < t->evals; e++) {
        const Eval *eval = &t->eval[e];
        gmp_snprintf(table + strlen(table), 32, "%s%c@%Qd", e ? " " : "", "FG"[eval->op],
                     t->point[eval->point].c[eval->op]);
        snprintf(seen + strlen(seen), 32, "%s%c@%g", e ? " " : "", "FG"[(int)list[1 + 2 * e]],
                 list[2 + 2 * e]);
        f->sound = f->sound &&
                   list[2 + 2 * e] == table_double(t->point[eval->point].c[eval->op]);
    }
    f->holds = strcmp(table, arg[1]) == 0;
    f->sound = f->sound && list[0] == (double)t->evals;
    finding_say(f, "nodes of the table: %s; times a field was asked at in a step of 1: %s", table, seen);
    stepper_free(st);
    table_free(t);
    return code;
}
