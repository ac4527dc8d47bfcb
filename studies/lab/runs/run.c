/* run.c: what a run has of its own, and how it is named by it. */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/model/network.h"
#include "studies/lab/runs/runs.h"

/* ---- options of its own -------------------------------------------------------------------------- */

const char *spec_text(const Spec *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->option[i].name, name) == 0) return s->option[i].text;
    return NULL;
}

void spec_set(Spec *s, const char *name, const char *text)
{
    size_t i = 0;
    while (i < s->count && strcmp(s->option[i].name, name) != 0) i++;
    assert(i < SPEC_OPTIONS);
    s->count += i == s->count;
    s->option[i].name = name;
    snprintf(s->option[i].text, SPEC_TEXT, "%s", text);
}

void spec_print(const Spec *s, size_t first, const char *before, const char *between, char *out,
                size_t room)
{
    size_t n = 0;
    *out = '\0';
    for (size_t i = first; i < s->count && n < room; i++)
        n += (size_t)snprintf(out + n, room - n, "%s%s%s%s", before, s->option[i].name, between,
                              s->option[i].text);
}

void runs_design(const RunSpec *s, char out[512])
{
    Spec varied = s->own;
    char words[320];
    varied.count = varied.varied;
    spec_print(&varied, 0, " ", "=", words, sizeof words);
    snprintf(out, 512, "%s%s", s->scheme->name, words);
}

const char *const runs_tuned[] = {"rate", "dropout", "epochs", NULL};

int runs_part(const Options *o, const char *name, size_t i, char part[32])
{
    char grid[64];
    snprintf(grid, sizeof grid, "tune-%s", name);
    return options_known(o, "tune") && options_flag(o, "tune") && options_known(o, grid) &&
           options_part(o, grid, i, part);
}

int runs_tunes(const Options *o, const char *name)
{
    char part[32];
    return runs_part(o, name, 0, part);
}

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
    char tried[320], design[512];
    runs_design(s, design);
    int n = s->encoder ? snprintf(out, 512, "%s@%zu+%s@%zu", s->encoder->name, s->encoder_layers,
                                  design, s->layers)
                       : snprintf(out, 512, "%s", design);
    if (!s->encoder && (s->layers > 1 || ends_in_depth(design)))
        n += snprintf(out + n, 512 - (size_t)n, "-layers%zu", s->layers);
    spec_print(&s->own, s->own.varied, "-", "", tried, sizeof tried);
    n += snprintf(out + n, 512 - (size_t)n, "%s-seed%llu", s->untested ? tried : "",
                  (unsigned long long)s->seed);
    for (char *c = out; *c; c++) *c = *c == '/' ? '_' : *c == ' ' ? '-' : *c;
    return 0;
}

int runs_directory(const char *dir, const RunSpec *s, char out[OUTPUT_PATH])
{
    char name[512];
    TRY(runs_name(s, name));
    return output_path(out, dir, "%s/%s", s->untested ? "tune" : "runs", name);
}
