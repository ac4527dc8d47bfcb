/* claims_series.c: claims about local errors, orders and equal maps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/theory/verify/claims.h"

enum { SERIES_DEGREE = 5 };

/* ---- check: terms -------------------------------------------------------------------------------------- */

static int judge_terms(Expansion *x, const char *map, const char *label, Finding *f, int *holds)
{
    double slope, off, control;
    *holds = expansion_as_wanted(x);
    TRY(expansion_measure(x, x->degree, &slope, &off, &control));
    f->sound = f->sound && !slope_contradicts(slope, off, x->degree + 1, *holds) &&
               !(control > x->degree + claim_near);
    if (label) finding_say(f, "%s: ", label);
    if (!x->expands)
        finding_say(f, "no expansion about y; ");
    else if (*holds)
        finding_say(f, "all trees through h^%d as stated; ", x->degree);
    else {
        finding_say(f, "not so: what is stated lacks ");
        expansion_say(x, f);
        finding_say(f, "; ");
    }
    finding_say(
        f, isinf(slope) ? "measured: the rest is rounding" : "measured: the rest falls as h^%.2f",
        slope);
    if (*holds) finding_say(f, ", with one coefficient spoilt as h^%.2f", control);
    return expansion_derive(x, map, f);
}

static int run_terms(const Zoo *z, const char *map, const char *minus, const char *const *arg,
                     const char *label, Finding *f, int *holds)
{
    SCOPED(expansion_close) Expansion x = {0};
    char line[160];
    TRY(expansion_open(z, map, minus, atoi(arg[3]), arg[4], &x));
    snprintf(line, sizeof line, "%s%s%s", map, minus ? " - " : "", minus ? minus : "");
    TRY(expansion_terms(&x, arg[2]));
    return judge_terms(&x, line, label, f, holds);
}

/* Does the same for every map of "A|B|C". */
static int run_all(const Zoo *z, const char *maps, const char *minus, const char *const *arg,
                   const char *label, Finding *f, int *holds)
{
    SCOPED(memory_drop) char *list = memory_string(maps);
    int several = strchr(maps, '|') != NULL;
    *holds = 1;
    if (!list) return ERR_MEMORY;
    for (char *rest = list, *map; (map = strsep(&rest, "|"));) {
        int one = 0;
        if (map != list) finding_say(f, ". ");
        TRY(run_terms(z, map, minus, arg, several ? map : label, f, &one));
        *holds = *holds && one;
    }
    return 0;
}

int check_expansion(const Zoo *z, const char *const *arg, Finding *f)
{
    TRY(run_all(z, arg[0], arg[1], arg, arg[5] ? "as stated" : NULL, f, &f->holds));
    if (!arg[5]) return 0;
    finding_say(f, ". ");
    return run_all(z, arg[5], arg[6], arg, "under the condition", f, &f->conditional);
}

/* ---- check: order --------------------------------------------------------------------------------------- */

/* Says how closely conditions to an order hold where they do not exactly: coefficients that are roundings, be they decimals
 * or fractions, are given 1e-12 (expansion_is_zero). */
static void say_closeness(const Expansion *x, int order, Finding *f)
{
    double most = 0;
    for (size_t i = 0; i < x->forest->first[order + 1]; i++)
        if (expansion_counts(x, i)) most = fmax(most, fabs(mpq_get_d(x->have[i])));
    if (most > 1e-15) /* less than doubles tell */
        finding_say(f, ", conditions to order %d hold to %.1e", order, most);
}

/* Says what the order is over the time that a step goes, where it has none over h. */
static int say_own(const Zoo *z, const char *map, int want, Finding *f)
{
    TABLE(t);
    Theory theory;
    RATIONAL(goes);
    if (strstr(map, " then ") || strcmp(map, "exact") == 0) return 0;
    TRY(map_table(z, map, &t));
    TRY(theory_search(t, want + 1, &theory));
    TRY(theory_own(t, want + 1, &theory, goes));
    if (mpq_sgn(goes))
        finding_say(f, "; a step goes %.6g h, and the order over that time is %s%d",
                    mpq_get_d(goes), theory.order > want ? ">=" : "", theory.order);
    return 0;
}

/* Finds the exact order of a map, at most one above `want`, and whether the numbers agree. */
static int find_order(const Zoo *z, const char *map, int want, const char *field, Finding *f,
                      int *order)
{
    SCOPED(expansion_close) Expansion x = {0};
    double slope, off, control;
    TRY(expansion_open(z, map, "exact", want, field, &x));
    *order = 0;
    if (x.expands && expansion_is_zero(x.have_y))
        while (*order <= want && expansion_met(&x, *order + 1, NULL)) ++*order;
    int code = expansion_measure(&x, *order <= want ? *order : want, &slope, &off, &control);
    f->sound = f->sound && !(*order && slope_contradicts(slope, off, *order + 1, 1)) &&
               !(control > fmin(*order, want) + claim_near);
    if (*order <= want) /* not above */
        f->sound = f->sound && !slope_contradicts(slope, off, *order + 1 + 2 * claim_near, 0);
    TRY(code);
    if (x.special)
        finding_say(f, " where %s:", table_special(x.special, (char[SPECIAL_WORDS]){""}));
    finding_say(f, " %s%d (trees to h^%d", *order > want ? ">=" : "", *order, want + 1);
    if (*order) say_closeness(&x, *order, f);
    finding_say(f, "; measured %.2f)", claim_slope(slope - 1));
    if (*order == 0) return say_own(z, map, want, f);
    return *order <= want ? expansion_derive(&x, map, f) : 0;
}

/* *holds: does every map of "A|B|C" have exactly this order? */
static int all_of_order(const Zoo *z, const char *maps, int want, const char *field, Finding *f,
                        int *holds)
{
    SCOPED(memory_drop) char *list = memory_string(maps);
    *holds = 1;
    if (!list) return ERR_MEMORY;
    for (char *rest = list, *map; (map = strsep(&rest, "|"));) {
        int order = 0;
        finding_say(f, "%s%s:", map == list ? "" : ", ", strchr(map, '\n') ? "as above" : map);
        TRY(find_order(z, map, want, field, f, &order));
        *holds = *holds && order == want;
    }
    return 0;
}

int check_order(const Zoo *z, const char *const *arg, Finding *f)
{
    finding_say(f, "exact order over %s: ", strcmp(arg[2], "F") == 0 ? "one field" : arg[2]);
    TRY(all_of_order(z, arg[0], atoi(arg[1]), arg[2], f, &f->holds));
    if (!arg[3]) return 0;
    finding_say(f, "; over %s: ", strcmp(arg[4], "F") == 0 ? "one field" : arg[4]);
    return all_of_order(z, arg[3], atoi(arg[1]), arg[4], f, &f->conditional);
}

/* ---- check: the same map -------------------------------------------------------------------------------- */

/* Finds the largest difference of two maps at one h, and at steps that differ by a factor 1 + 1e-6. */
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
    sine_subtract(b, 1, a);
    sine_subtract(c, 1, a);
    *difference = sine_norm(b);
    *control = sine_norm(c);
    return 0;
}

int check_same(const Zoo *z, const char *const *arg, Finding *f)
{
    SCOPED(expansion_close) Expansion x = {0};
    double difference = NAN, control = NAN;
    TRY(expansion_open(z, arg[0], arg[1], SERIES_DEGREE, "F+G", &x));
    const Table *a = x.map.part[0].table, *b = x.minus.part[0].table;
    int tables = x.map.parts == 1 && x.minus.parts == 1 && a && b && table_equal(a, b);
    f->holds = tables || expansion_as_wanted(&x);
    int code = compare(&x, &difference, &control);
    /* 4 sub-flows, each good to 1e-14 times the state */
    const double tolerance = 1e-12;
    f->sound = (difference <= tolerance) == f->holds && !(control <= tolerance);
    if (tables)
        finding_say(f, "the two tables are equal term by term");
    else if (f->holds)
        finding_say(f, "all %zu trees through h^%d equal", x.forest->first[SERIES_DEGREE + 1],
                    SERIES_DEGREE);
    else {
        finding_say(f, "they differ by ");
        expansion_say(&x, f);
    }
    finding_say(f, "; maps at h = 1/4 differ by %.1e (control, h changed by 1e-6: %.1e)",
                difference, control);
    return code;
}
