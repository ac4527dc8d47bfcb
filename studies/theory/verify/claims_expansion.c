/* claims_expansion.c: computes the expansion of map - minus, exactly and by numbers. */
#include "studies/theory/verify/claims.h"

#include <math.h>
#include <string.h>

#include "kernels/base/error.h"

enum { STEPS = 6, COARSEST = 3, SEED = 11 };
static const double spoilt = 1.0 / 7; /* added to one coefficient by a control */

void expansion_close(Expansion *x)
{
    if (!x->open) return;
    map_free(&x->map);
    map_free(&x->minus);
    for (size_t i = 0; x->forest && i < x->forest->count; i++) {
        if (x->want) mpq_clear(x->want[i]);
        if (x->have) mpq_clear(x->have[i]);
    }
    mpq_clears(x->want_y, x->have_y, NULL);
    memory_free(x->want);
    memory_free(x->have);
    forest_free(x->forest);
    x->open = 0;
}

int expansion_counts(const Expansion *x, size_t tree)
{
    const Tree *t = &x->forest->tree[tree];
    int yes = (!x->one_field || t->colour == OP_F) && !tree_vanishes(x->forest, tree, x->special);
    for (int k = 0; yes && k < t->children; k++) yes = expansion_counts(x, (size_t)t->child[k]);
    return yes;
}

int expansion_terms(Expansion *x, const char *terms)
{
    return forest_read(x->forest, x->letters, x->degree, terms, x->want, x->want_y);
}

/* Writes a tree in the letters. */
static int expansion_name(const Expansion *x, size_t tree, char *out, size_t bytes)
{
    TRY(tree_name(x->forest, tree, out, bytes));
    for (char *c = out; x->one_field && *c; c++)
        if (*c == 'F') *c = x->letters[0];
    return 0;
}

static mpq_t *rationals(size_t n)
{
    mpq_t *q = memory_new(n, sizeof *q);
    for (size_t i = 0; q && i < n; i++) mpq_init(q[i]);
    return q;
}

/* Sets have = (map - minus) / sigma. A map without expansion about y leaves expands = 0. */
static int subtract_series(Expansion *x)
{
    SCOPED(series_drop) Series *a = NULL, *b = NULL;
    int code = map_series(&x->map, x->forest, &a);
    if (code == 0 && x->has_minus) code = map_series(&x->minus, x->forest, &b);
    x->expands = code == 0;
    if (code == 0) mpq_set(x->have_y, a->empty);
    if (b) mpq_sub(x->have_y, a->empty, b->empty);
    for (size_t i = 0; code == 0 && i < x->forest->count; i++) {
        if (b) mpq_sub(a->a[i], a->a[i], b->a[i]);
        mpq_set(x->have[i], a->a[i]);
        rational_divide(x->have[i], x->forest->tree[i].sigma);
    }
    return code == ERR_ACCURACY ? 0 : code;
}

static int special_of(const Map *m)
{
    int special = 0;
    for (size_t i = 0; i < m->parts; i++)
        if (m->part[i].table) special |= m->part[i].table->special;
    return special;
}

static int expansion_fill(const Zoo *z, const char *minus, Expansion *x)
{
    static const char *const letters[] = {"FG", "FGC"};
    int colours = x->map.colours, most = forest_most(colours) - 1;
    if (x->degree > most)
        return error_set(
            ERR_INPUT,
            "expected an order of %d at most%s, as trees of one more are compared; %d is asked for",
            most, colours == 2 ? "" : " of a decoder's scheme", x->degree);
    for (size_t i = 0; x->letters[0] == 'H' && i < x->map.parts; i++) {
        const Table *t = x->map.part[i].table;
        if (t && !table_over(t, OP_H))
            return error_set(
                ERR_INPUT,
                "%s: terms in H are those of a scheme whose stages are all H; this one's are in F and G",
                t->name);
    }
    if (!x->one_field) x->letters = letters[colours - 2];
    TRY(forest_new(x->degree + 1, colours, &x->forest));
    if (minus) {
        TRY(map_read(z, minus, &x->minus));
        x->has_minus = 1;
        for (int op = 0; op < COLOURS; op++) mpq_set(x->minus.weight[op], x->map.weight[op]);
    }
    x->want = rationals(x->forest->count);
    x->have = rationals(x->forest->count);
    if (!x->want || !x->have) return ERR_MEMORY;
    x->special = special_of(&x->map) | special_of(&x->minus);
    sine_new(&x->sine, SEED, x->one_field);
    sine_take(&x->sine, x->special);
    x->coarsest = COARSEST + (int)ceil(log2(table_double(x->map.weight[OP_F])));
    return subtract_series(x);
}

int expansion_open(const Zoo *z, const char *map, const char *minus, int degree, const char *field,
                   Expansion *x)
{
    *x = (Expansion){.open = 1, .degree = degree, .one_field = !field[1], .letters = field};
    mpq_inits(x->want_y, x->have_y, NULL);
    int code = map_read(z, map, &x->map);
    if (code == 0) code = expansion_fill(z, minus, x);
    if (code != 0) expansion_close(x);
    return code;
}

/* ---- exactly ------------------------------------------------------------------------------------------ */

int expansion_is_zero(const mpq_t q)
{
    return mpq_sgn(q) == 0 || fabs(mpq_get_d(q)) <= 1e-12; /* decimals of irrational tables */
}

int expansion_met(const Expansion *x, int order, mpq_t *want)
{
    RATIONAL(d);
    int met = 1;
    for (size_t i = x->forest->first[order]; i < x->forest->first[order + 1]; i++) {
        if (!expansion_counts(x, i)) continue;
        mpq_set(d, x->have[i]);
        if (want) mpq_sub(d, d, want[i]);
        met = met && expansion_is_zero(d);
    }
    return met;
}

int expansion_as_wanted(const Expansion *x)
{
    int met = x->expands && mpq_equal(x->want_y, x->have_y);
    for (int n = 1; met && n <= x->degree; n++) met = expansion_met(x, n, x->want);
    return met;
}

static int derive_order(const Expansion *x, const char *map, int order, Finding *f)
{
    char name[256];
    for (size_t i = x->forest->first[order]; i < x->forest->first[order + 1]; i++) {
        if (!expansion_counts(x, i) || expansion_is_zero(x->have[i])) continue;
        TRY(expansion_name(x, i, name, sizeof name));
        TRY(finding_derive(f, map, name, x->have[i]));
    }
    return 0;
}

/* Derives a map part by part, then what the parts make one after another. */
static int derive_map(const Map *m, const DerivationField *of, Derivation *d, Series **out)
{
    *out = NULL;
    for (size_t i = 0; i < m->parts; i++) {
        const Table *t = m->part[i].table;
        Series *next = NULL, *both = NULL;
        int code = t ? derivation_step(d, of, t, &next)
                     : derivation_exact(d, of, m->part[i].theta, ((Map *)m)->weight, &next);
        if (code == 0 && *out) code = series_new(of->forest, &both);
        if (both) {
            series_compose(both, *out, next);
            derivation_part(d, "together, part %zu after the others", i + 1);
            derivation_series(d, of, "y' =", both, 1);
            series_free(next);
            next = both;
        }
        series_free(*out);
        *out = next;
        TRY(code);
    }
    return 0;
}

static int derive_steps(const Expansion *x, const char *map, Finding *f)
{
    char of[180];
    SCOPED(forest_drop) Forest *own = NULL;
    SCOPED(series_drop) Series *a = NULL, *b = NULL;
    if (!f->stepwise || !x->expands) return 0;
    int most = 1, exact = 1;
    while (most <= x->degree && expansion_met(x, most, NULL)) most++;
    if (most < x->degree) most = x->degree;
    for (size_t i = 0; i < x->map.parts; i++)
        if (x->map.part[i].table) exact &= x->map.part[i].table->exact;
    TRY(forest_new(most, x->one_field ? 1 : x->map.colours, &own));
    const DerivationField field = {own, x->one_field ? x->letters[0] : '\0', 0, exact};
    snprintf(of, sizeof of, "%.170s: ", map);
    for (char *c = of; *c; c++)
        if (*c == '\n') *c = ';';
    if (f->steps.count) f->steps.of = of; /* the first map's name stands above all */
    int code = derive_map(&x->map, &field, &f->steps, &a);
    f->steps.of = "less: ";
    if (code == 0 && x->has_minus) code = derive_map(&x->minus, &field, &f->steps, &b);
    f->steps.of = NULL;
    return code ? code : derivation_less(&f->steps, &field, a, b);
}

int expansion_derive(const Expansion *x, const char *map, Finding *f)
{
    size_t before = f->count;
    TRY(derive_steps(x, map, f));
    if (!expansion_is_zero(x->have_y)) TRY(finding_derive(f, map, "y", x->have_y));
    for (int n = 1; n <= x->degree; n++) TRY(derive_order(x, map, n, f));
    return f->count > before ? 0 : derive_order(x, map, x->degree + 1, f);
}

void expansion_say(const Expansion *x, Finding *f)
{
    char name[256], text[CLAIM_NUMBER];
    RATIONAL(c);
    int n = 1, said = 0;
    while (n < x->degree + 1 && expansion_met(x, n, x->want)) n++;
    finding_say(f, "h^%d (", n);
    for (size_t i = x->forest->first[n]; i < x->forest->first[n + 1]; i++) {
        mpq_sub(c, x->have[i], x->want[i]);
        if (!expansion_counts(x, i) || expansion_is_zero(c) || said++ >= 8) continue;
        const char *sign = mpq_sgn(c) < 0 ? "-" : "+";
        mpq_abs(c, c);
        expansion_name(x, i, name, sizeof name);
        claim_number(c, text);
        if (said > 1)
            finding_say(f, " %s ", sign);
        else if (*sign == '-')
            finding_say(f, "-");
        finding_say(f, "%s %s", text, name);
    }
    finding_say(f, said > 8 ? " + ..)" : ")");
}

/* ---- by numbers --------------------------------------------------------------------------------------- */

/* e (D) = map(y) - minus(y) - sum want h^|t| F(t)(y). */
static int remainder_at(const Expansion *x, double h, double *e)
{
    double b[SINE_D] = {0}, v[SINE_D];
    memcpy(e, x->sine.y, sizeof x->sine.y);
    if (x->has_minus) memcpy(b, x->sine.y, sizeof b);
    TRY(map_apply(&x->map, &x->sine, h, e));
    if (x->has_minus) TRY(map_apply(&x->minus, &x->sine, h, b));
    sine_subtract(e, 1, b);
    sine_subtract(e, table_double(x->want_y), x->sine.y);
    for (size_t i = 0; i < x->forest->count; i++) {
        if (mpq_sgn(x->want[i]) == 0) continue;
        sine_differential(&x->sine, x->forest, i, x->sine.y, v);
        sine_subtract(e, table_double(x->want[i]) * pow(h, x->forest->tree[i].order), v);
    }
    return 0;
}

/* The same with steps 2^-coarsest, 2^-coarsest / 2, ... */
static int measure_from(const Expansion *x, int coarsest, int degree, double *slope, double *off,
                        double *control)
{
    double e[SINE_D], v[SINE_D], norm[STEPS], bad[STEPS];
    size_t tree = degree ? x->forest->first[degree] : 0;
    while (!expansion_counts(x, tree)) tree++;
    sine_differential(&x->sine, x->forest, tree, x->sine.y, v);
    for (int j = 0; j < STEPS; j++) {
        double h = ldexp(1, -coarsest - j);
        TRY(remainder_at(x, h, e));
        norm[j] = sine_norm(e);
        sine_subtract(e, spoilt * pow(h, degree), degree ? v : x->sine.y);
        bad[j] = sine_norm(e);
    }
    double spoilt_off;
    *slope = sine_slope(norm, STEPS, off);
    *control = sine_slope(bad, STEPS, &spoilt_off);
    return 0;
}

/* Where the remainder is below rounding, as that of a high order may be at 1/8, steps are longer, up to 1. */
int expansion_measure(const Expansion *x, int degree, double *slope, double *off, double *control)
{
    int coarsest = x->coarsest;
    do TRY(measure_from(x, coarsest, degree, slope, off, control));
    while (*slope == INFINITY && --coarsest >= 0);
    return 0;
}
