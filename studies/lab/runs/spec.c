/* spec.c: a run as a list of options, and how it is named by it. */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/model/network.h"
#include "studies/lab/runs/runs.h"

/* ---- lists of options -------------------------------------------------------------------------- */

const char *spec_text(const Spec *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->option[i].name, name) == 0) return s->option[i].text;
    return NULL;
}

size_t spec_size(const Spec *s, const char *name)
{
    const char *text = spec_text(s, name);
    return text ? strtoull(text, NULL, 10) : 0;
}

void spec_set(Spec *s, int role, const char *name, const char *text)
{
    size_t i = 0;
    while (i < s->count && strcmp(s->option[i].name, name) != 0) i++;
    assert(i < SPEC_OPTIONS);
    s->count += i == s->count;
    s->option[i].name = name;
    s->option[i].role = role;
    snprintf(s->option[i].text, SPEC_TEXT, "%s", text);
}

void spec_put(Spec *s, const char *name, unsigned long long value)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", value);
    spec_set(s, SPEC_OWN, name, text);
}

/* Returns the next option of a role from the i-th on; their number: there is none. */
static size_t next_of(const Spec *s, int role, size_t i)
{
    while (i < s->count && role >= 0 && s->option[i].role != role) i++;
    return i;
}

int spec_same(const Spec *a, const Spec *b, int role)
{
    size_t i = next_of(a, role, 0), j = next_of(b, role, 0);
    while (i < a->count && j < b->count) {
        if (strcmp(a->option[i].name, b->option[j].name) != 0 ||
            strcmp(a->option[i].text, b->option[j].text) != 0)
            return 0;
        i = next_of(a, role, i + 1);
        j = next_of(b, role, j + 1);
    }
    return i == a->count && j == b->count;
}

void spec_print(const Spec *s, int role, const char *before, const char *between, char *out,
                size_t room)
{
    size_t n = 0;
    *out = '\0';
    for (size_t i = next_of(s, role, 0); i < s->count && n < room; i = next_of(s, role, i + 1))
        n += (size_t)snprintf(out + n, room - n, "%s%s%s%s", before, s->option[i].name, between,
                              s->option[i].text);
}

void runs_design(const Spec *s, char out[512])
{
    char words[320];
    const char *scheme = spec_text(s, "scheme");
    spec_print(s, SPEC_VARIED, " ", "=", words, sizeof words);
    snprintf(out, 512, "%s%s", scheme ? scheme : spec_text(s, "decoder"), words);
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
int runs_name(const Spec *s, char out[512])
{
    char tried[320] = "", design[512];
    const char *encoder = spec_text(s, "encoder");
    size_t layers = spec_size(s, "layers");
    runs_design(s, design);
    int n = encoder ? snprintf(out, 512, "%s@%zu+%s@%zu", encoder, spec_size(s, "encoder-layers"),
                               design, layers)
                    : snprintf(out, 512, "%s", design);
    if (!encoder && (layers > 1 || ends_in_depth(design)))
        n += snprintf(out + n, 512 - (size_t)n, "-layers%zu", layers);
    if (spec_text(s, "untested")) spec_print(s, SPEC_CHOSEN, "-", "", tried, sizeof tried);
    n += snprintf(out + n, 512 - (size_t)n, "%s-seed%s", tried, spec_text(s, "seed"));
    for (char *c = out; *c; c++) *c = *c == '/' ? '_' : *c == ' ' ? '-' : *c;
    return 0;
}

int runs_directory(const char *dir, const Spec *s, char out[OUTPUT_PATH])
{
    char name[512];
    TRY(runs_name(s, name));
    return output_path(out, dir, "%s/%s", spec_text(s, "untested") ? "tune" : "runs", name);
}
