/* claims_family.c: claims about a family of methods in one number K. */
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/theory/verify/claims.h"

enum { VALUES = 8 };

static int in_list(const char *list, const char *value)
{
    size_t n = strlen(value);
    for (const char *at = list; at; at = strchr(at, ' '), at += at != NULL)
        if (strncmp(at, value, n) == 0 && (at[n] == ' ' || at[n] == '\0')) return 1;
    return 0;
}

/* The expansions for all values, to test that the defects are affine in K. */
typedef struct {
    size_t count;
    mpq_t k[VALUES];
    Expansion x[VALUES];
} Family;

/* slope = (d_i - d_0) / (k_i - k_0) */
static void divided(const Family *y, size_t i, size_t tree, mpq_t slope)
{
    RATIONAL(dk);
    mpq_sub(dk, y->k[i], y->k[0]);
    mpq_sub(slope, y->x[i].have[tree], y->x[0].have[tree]);
    mpq_div(slope, slope, dk);
}

/* Returns the number of trees whose defects are looked at. */
static size_t trees(const Family *y)
{
    return y->x[0].forest->first[y->x[0].degree + 1];
}

static int is_affine(const Family *y)
{
    RATIONALS(a, b);
    int affine = y->count > 2;
    for (size_t t = 0; affine && t < trees(y); t++) {
        divided(y, 1, t, a);
        for (size_t i = 2; i < y->count; i++) {
            divided(y, i, t, b);
            affine = affine && mpq_equal(a, b);
        }
    }
    return affine;
}

/* Writes "1/2 - K", "-1 + 2 K". */
static void affine_text(const mpq_t at_zero, const mpq_t slope, char *out, size_t bytes)
{
    RATIONAL(size);
    mpq_abs(size, slope);
    const char *sign = mpq_sgn(slope) < 0 ? "-" : "+";
    if (mpq_cmp_ui(size, 1, 1) == 0)
        gmp_snprintf(out, bytes, "%Qd %s K", at_zero, sign);
    else
        gmp_snprintf(out, bytes, "%Qd %s %Qd K", at_zero, sign, size);
}

/* Says "F'F: -1/2 + 1 K" for the first tree that depends on K; adds all
 * trees to the derivation. */
static int say_affine(const Family *y, Finding *f)
{
    const Expansion *x = &y->x[0];
    RATIONALS(slope, at_zero);
    char name[256], line[96];
    int said = 0;
    for (size_t t = 0; t < trees(y); t++) {
        if (!expansion_counts(x, t)) continue;
        divided(y, 1, t, slope);
        mpq_mul(at_zero, slope, y->k[0]);
        mpq_sub(at_zero, x->have[t], at_zero);
        if (mpq_sgn(slope) == 0 && mpq_sgn(at_zero) == 0) continue;
        TRY(tree_name(x->forest, t, name, sizeof name));
        affine_text(at_zero, slope, line, sizeof line);
        TRY(finding_derive_text(f, "map - exact", name, line));
        if (!said++) finding_say(f, "; every defect is affine in K, that of %s is %s", name, line);
    }
    return 0;
}

/* Returns the statements with (value) in place of every K. Caller: memory_free. NULL: out of memory. */
static char *with_value(const char *statements, const char *value)
{
    size_t room = strlen(statements) * (strlen(value) + 2) + 1;
    char *out = memory_new(room, 1), *o = out;
    if (!out) return NULL;
    for (const char *s = statements; *s; s++)
        if (*s == 'K')
            o += sprintf(o, "(%s)", value);
        else
            *o++ = *s;
    return out;
}

/* Adds a value and tests whether its member has at least the order. */
static int family_add(const Zoo *z, const char *const *arg, const char *value, Family *y,
                      Finding *f, int *met)
{
    int order = atoi(arg[1]), all = 1;
    double slope, off, control;
    if (y->count == VALUES) return error_set(ERR_INPUT, "too many values");
    Expansion *x = &y->x[y->count];
    SCOPED(memory_drop) char *text = with_value(arg[0], value);
    TRY(text ? expansion_open(z, text, "exact", order, arg[4], x) : ERR_MEMORY);
    mpq_init(y->k[y->count]);
    TRY(terms_number(value, y->k[y->count++]));
    for (int n = 1; n <= order; n++) all = all && expansion_met(x, n, NULL);
    *met = all && x->expands && expansion_is_zero(x->have_y);
    TRY(expansion_measure(x, order, &slope, &off, &control));
    f->sound = f->sound && !slope_contradicts(slope, off, order + 1, *met) &&
               !(control > order + claim_near);
    finding_say(f, " %s (measured %.2f)", *met ? "yes" : "no", claim_slope(slope - 1));
    return 0;
}

int check_family(const Zoo *z, const char *const *arg, Finding *f)
{
    Family y = {0};
    char *values = memory_string(arg[2]), *rest = values;
    int code = values ? 0 : ERR_MEMORY;
    f->holds = f->conditional = 1;
    finding_say(f, "order %s at K =", arg[1]);
    for (char *value; code == 0 && (value = strsep(&rest, " "));) {
        int met = 0;
        finding_say(f, "%s %s", value == values ? "" : ",", value);
        code = family_add(z, arg, value, &y, f, &met);
        f->holds = f->holds && met;
        f->conditional = f->conditional && arg[3] && met == in_list(arg[3], value);
    }
    if (code == 0 && is_affine(&y)) code = say_affine(&y, f);
    for (size_t i = 0; i < y.count; i++) {
        expansion_close(&y.x[i]);
        mpq_clear(y.k[i]);
    }
    memory_free(values);
    return code;
}
