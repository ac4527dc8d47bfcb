/* claims_error.c: claims about the size of errors and about global errors. */
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/base/error.h"
#include "studies/theory/verify/claims.h"

/* ---- check: error norms ------------------------------------------------------------------------------------ */

static int find_theory(const Zoo *z, const char *scheme, Theory *out)
{
    TABLE(t);
    TRY(map_table(z, scheme, &t));
    return theory_search(t, 5, out);
}

static int is_stated(double norm2, const char *stated)
{
    RATIONAL(q);
    return terms_number(stated, q) == 0 && fabs(norm2 - table_double(q)) <= 1e-15;
}

enum { FIELDS = 41 };

/* Compares |local error of a| / |local error of b| at a small step on random fields: the median, and how many are below
 * 1. */
static int ratios(const Zoo *z, const char *a, const char *b, double *median, int *smaller)
{
    double ratio[FIELDS], e[2][SINE_D];
    SCOPED(map_free) Map p = {0}, q = {0};
    TRY(map_read(z, a, &p));
    TRY(map_read(z, b, &q));
    *smaller = 0;
    for (int k = 0; k < FIELDS; k++) {
        Sine s;
        sine_new(&s, 100 + (uint64_t)k, 0);
        TRY(map_error(&p, &s, 0x1p-7, e[0]));
        TRY(map_error(&q, &s, 0x1p-7, e[1]));
        ratio[k] = sine_norm(e[0]) / sine_norm(e[1]);
        *smaller += ratio[k] < 1;
    }
    gsl_sort(ratio, 1, FIELDS);
    *median = ratio[FIELDS / 2];
    return 0;
}

/* Norms are of coefficients, so they bound errors over all fields together. The claim that the first scheme's
 * error is the smaller holds as it stands only if it does on every field. The norms are those in one colour where
 * both schemes are over H. */
int check_norms(const Zoo *z, const char *const *arg, Finding *f)
{
    Theory t[2];
    double norm2[2], median = NAN;
    int below = 0, stated = 1;
    for (int i = 0; i < 2; i++) TRY(find_theory(z, arg[2 * i], &t[i]));
    int one_colour = !isnan(t[0].error_norm2_one_colour) && !isnan(t[1].error_norm2_one_colour);
    finding_say(f,
                "squared principal error norms in %s: ", one_colour ? "one colour" : "two colours");
    for (int i = 0; i < 2; i++) {
        norm2[i] = one_colour ? t[i].error_norm2_one_colour : t[i].error_norm2;
        stated = stated && is_stated(norm2[i], arg[2 * i + 1]);
        finding_say(f, "%s %.4g, ", arg[2 * i], norm2[i]);
    }
    TRY(ratios(z, arg[0], arg[2], &median, &below));
    int smaller = norm2[0] < norm2[1];
    f->conditional = smaller && stated && median < 1;
    f->holds = f->conditional && below == FIELDS;
    f->sound = f->sound && (median < 1) == smaller;
    finding_say(f,
                "ratio of the norms %.3g; measured at h = 1/128 on %d random fields: median ratio "
                "of the local errors %.3g, below 1 on %d",
                sqrt(norm2[0] / norm2[1]), FIELDS, median, below);
    return 0;
}

/* ---- check: global order ----------------------------------------------------------------------------------- */

/* Tests whether a scheme's global error on a system has the order, and whether exact theory agrees. */
static int is_of_order(const Zoo *z, const char *scheme, const char *system, int want, Finding *f,
                       int *holds)
{
    TABLE(t);
    SCOPED(system_drop) System *s = NULL;
    Theory theory;
    SCOPED(order_free) OrderStudy study = {0};
    OrderOptions options = {.halvings = 6};
    TRY(map_table(z, scheme, &t));
    TRY(theory_search(t, 4, &theory));
    TRY(system_new(system, 6, 2, 7, &s));
    TRY(order_measure(t, s, &options, want, theory.zero_stable, &study));
    *holds = study.verdict == VERDICT_AGREE;
    finding_say(
        f, "measured on the system %s: error as h^%.3f (95 %% interval %.3f .. %.3f), %s with %d",
        system, study.slope, study.low, study.high, verdict_name(study.verdict), want);
    finding_say(f, ", exact %d", theory_order(&theory, s));
    f->sound = f->sound && isfinite(study.slope) && *holds == (theory_order(&theory, s) == want);
    return 0;
}

int check_global(const Zoo *z, const char *const *arg, Finding *f)
{
    int want = atoi(arg[2]);
    TRY(is_of_order(z, arg[0], arg[1], want, f, &f->holds));
    if (!arg[3]) return 0;
    finding_say(f, "; under the condition ");
    return is_of_order(z, arg[3], arg[4], want, f, &f->conditional);
}
