/* run.c: how a run is named. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/model/network.h"
#include "studies/lab/runs/runs.h"

/* ---- where a run is, and whether it is done -------------------------------------------------- */

/* Returns 1 where a scheme's own name ends like the name of a depth, "-layersN". */
static int ends_in_depth(const char *name)
{
    static const char depth[] = "-layers";
    size_t n = strlen(name), at = n, m = sizeof depth - 1;
    while (at > 0 && isdigit((unsigned char)name[at - 1])) at--;
    return at < n && at >= m && strncmp(name + at - m, depth, m) == 0;
}

/* Names are one to one: what stands behind the scheme is read from the end, and a depth of 1 is left out only where
 * the scheme's name cannot be read as one with a depth. The '/' of dial:S-P/Q cannot stand in a folder's name and is
 * written '_', which stands in no other name that begins so. */
int runs_name(const RunSpec *s, char out[512])
{
    int n = s->encoder ? snprintf(out, 512, "%s@%zu+%s@%zu", s->encoder->name, s->encoder_layers,
                                  s->scheme->name, s->layers)
                       : snprintf(out, 512, "%s", s->scheme->name);
    if (!s->encoder && (s->layers > 1 || ends_in_depth(s->scheme->name)))
        n += snprintf(out + n, 512 - (size_t)n, "-layers%zu", s->layers);
    if (s->untested && s->rate && s->dropout)
        n += snprintf(out + n, 512 - (size_t)n, "-rate%.31s-dropout%.31s", s->rate, s->dropout);
    if (s->untested && s->epochs)
        n += snprintf(out + n, 512 - (size_t)n, "-epochs%.31s", s->epochs);
    n += snprintf(out + n, 512 - (size_t)n, "-seed%llu", (unsigned long long)s->seed);
    for (char *c = out; *c; c++)
        if (*c == '/') *c = '_';
    return 0;
}

int runs_directory(const char *dir, const RunSpec *s, char out[OUTPUT_PATH])
{
    char name[512];
    TRY(runs_name(s, name));
    return output_path(out, dir, "%s/%s", s->untested ? "tune" : "runs", name);
}
