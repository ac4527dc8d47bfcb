/* differences.c: makes the differences of all pairs of designs and prints what their seeds show. */
#include "studies/tools/differences.h"

#include <math.h>

#define DOUBTFUL \
    0.05 /* p below which it is doubtful that all designs have one standard deviation */

Difference differences_pair(const Simultaneous *s, const Pooled *pooled, const Interval *a,
                            const Interval *b)
{
    Difference alone = statistics_difference(pooled, a, b);
    return simultaneous_difference(s, &alone);
}

int differences_doubtful(const Seeds *s)
{
    return s->spread.p < DOUBTFUL;
}

void differences_seeds(const Seeds *s, const SharedSeeds *shared, const char *text, FILE *f)
{
    fprintf(f, "    %s: standard deviation %.2f, %zu degree%s of freedom; ", text, s->pooled.sd,
            s->pooled.df, s->pooled.df == 1 ? "" : "s");
    if (s->incomplete)
        fprintf(f, "seeds are not paired, as %zu design%s lack%s some.\n", s->incomplete,
                s->incomplete == 1 ? "" : "s", s->incomplete == 1 ? "s" : "");
    else if (isnan(s->longer))
        fprintf(f, "seeds are not paired, as there is nothing to pair.\n");
    else
        fprintf(f, "seeds are %spaired: their correlation is %.2f (F test: p %.2g).\n",
                s->paired ? "" : "not ", s->correlation, s->p);
    if (s->incomplete && !isnan(shared->correlation))
        fprintf(f,
                "        Where designs share seeds, their correlation is %.2f (F test: p %.2g).\n",
                shared->correlation, shared->p);
    if (!isnan(s->spread.p))
        fprintf(
            f, "        Designs alone have %.2f to %.2f (Bartlett's test of equal ones: p %.2g).\n",
            s->spread.low, s->spread.high, s->spread.p);
    if (differences_doubtful(s))
        fprintf(f,
                "        So one standard deviation is doubtful, and intervals of the designs with "
                "the largest are too short.\n");
}
