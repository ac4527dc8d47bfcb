/* differences.c: makes the differences of all pairs of designs, reads contrasts, and prints what seeds show. */
#include "studies/base/statistics/differences.h"

#include <math.h>
#include <string.h>

#include "kernels/base/error.h"

enum { NAME_MOST = 512 };

#define DOUBTFUL \
    0.05 /* p below which it is doubtful that all designs have one standard deviation */

Difference differences_pair(const Simultaneous *s, const Pooled *pooled, const Interval *a,
                            const Interval *b)
{
    Difference alone = statistics_difference(pooled, a, b);
    return simultaneous_difference(s, &alone);
}

/* Takes a name, or the next word without blanks; returns the place behind it, or NULL at the end. */
static const char *take_word(const char *at, char name[NAME_MOST], int *quoted)
{
    at += strspn(at, " ");
    *quoted = *at == '"' && strchr(at + 1, '"');
    at += *quoted;
    size_t n = strcspn(at, *quoted ? "\"" : " ");
    snprintf(name, NAME_MOST, "%.*s", (int)(n < NAME_MOST ? n : NAME_MOST - 1), at);
    return *at ? at + n + *quoted : NULL;
}

int differences_contrast(const char *where, const char *text, DifferencesFind *find, const void *of,
                         size_t n, double *weight)
{
    size_t count[2] = {0, 0};
    int side = 0, quoted;
    char name[NAME_MOST];
    const char *at = strstr(text, ": ");
    for (size_t i = 0; i < n; i++) weight[i] = 0;
    for (at = at ? at + 1 : text; (at = take_word(at, name, &quoted));) {
        int is_sign = !quoted && (strcmp(name, "-") == 0 || strcmp(name, "+") == 0);
        if (is_sign) side = *name == '-';
        if (is_sign) continue;
        size_t i = find(of, name);
        if (i == n)
            return error_set(ERR_INPUT, "%s '%s': '%s' is none of the designs compared", where,
                             text, name);
        if (weight[i] != 0)
            return error_set(ERR_INPUT, "%s '%s': '%s' stands there twice", where, text, name);
        weight[i] = side ? -1 : 1;
        count[side]++;
    }
    if (count[0] == 0 || count[1] == 0)
        return error_set(ERR_INPUT, "%s '%s': expected names, a '-' between blanks, and names",
                         where, text);
    for (size_t i = 0; i < n; i++)
        if (weight[i] != 0) weight[i] /= (double)count[weight[i] < 0];
    return 0;
}

int differences_doubtful(const Seeds *s)
{
    return s->spread.p < DOUBTFUL;
}

void differences_seeds(const Seeds *s, const char *text, int places, FILE *f)
{
    fprintf(f, "    %s: standard deviation %.*f, %zu degree%s of freedom; ", text, places,
            s->pooled.sd, s->pooled.df, s->pooled.df == 1 ? "" : "s");
    if (s->pooled.df && !(s->pooled.sd > 0))
        fprintf(f, "%s, so there is no interval and no p.\n",
                s->paired ? "designs differ by the same at every seed"
                          : "all runs of each design are equal");
    else if (s->pairing == SEEDS_NONE)
        fprintf(f, "runs have no seeds by which to pair them.\n");
    else if (s->incomplete)
        fprintf(f, "seeds are not paired, as %zu design%s lack%s some.\n", s->incomplete,
                s->incomplete == 1 ? "" : "s", s->incomplete == 1 ? "s" : "");
    else if (s->pairing != SEEDS_BY_RULE && !isnan(s->longer))
        fprintf(f, "seeds are %spaired, as on the first measure.\n", s->paired ? "" : "not ");
    else if (isnan(s->longer))
        fprintf(f, "seeds are not paired, as there is nothing to pair.\n");
    else
        fprintf(f, "seeds are %spaired: their correlation is %.2f (F test: p %.2g).\n",
                s->paired ? "" : "not ", s->correlation, s->p);
    if (!isnan(s->spread.p))
        fprintf(
            f, "        Designs alone have %.*f to %.*f (Bartlett's test of equal ones: p %.2g).\n",
            places, s->spread.low, places, s->spread.high, s->spread.p);
    if (differences_doubtful(s))
        fprintf(f,
                "        So one standard deviation is doubtful, and intervals of the designs with "
                "the largest are too short.\n");
}
