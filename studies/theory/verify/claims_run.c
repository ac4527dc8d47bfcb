/* claims_run.c: runs a claim, or its mutant, and collects the findings. */
#include "studies/theory/verify/claims.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"

void claim_arguments(const Claim *c, int mutant, const char *arg[CLAIM_ARGS])
{
    memcpy(arg, c->arg, sizeof c->arg);
    if (mutant) arg[c->mutant.arg] = c->mutant.text;
}

int claim_run(const Claim *c, const Zoo *z, int mutant, int steps, Finding *out)
{
    const char *arg[CLAIM_ARGS];
    claim_arguments(c, mutant, arg);
    *out = (Finding){.sound = 1, .stepwise = steps};
    out->words = open_memstream(&out->text, &out->bytes);
    if (!out->words) return error_set(ERR_MEMORY, "out of memory");
    int code = c->check(z, arg, out);
    if (fclose(out->words) != 0 && code == 0) code = error_set(ERR_MEMORY, "out of memory");
    out->words = NULL;
    if (code != 0) finding_free(out);
    return code;
}

int finding_verdict(const Finding *f)
{
    if (!f->sound) return CLAIM_UNDECIDED;
    if (f->holds) return CLAIM_VERIFIED;
    return f->conditional ? CLAIM_CONDITIONAL : CLAIM_REFUTED;
}

void finding_free(Finding *f)
{
    free(f->text);
    memory_free(f->derived);
    derivation_free(&f->steps);
    *f = (Finding){0};
}

void claim_verdict(const Claim *c, int verdict, char *out, size_t bytes)
{
    static const char *const word[] = {"verified", "refuted", "holds only if ", "undecided"};
    int condition = verdict == CLAIM_CONDITIONAL && c->condition;
    snprintf(out, bytes, "%s%s", word[verdict], condition ? c->condition : "");
}

void finding_say(Finding *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(f->words, format, args);
    va_end(args);
}

/* Writes statements on one line. */
static void one_line(const char *s, char *out, size_t bytes)
{
    size_t n = 0;
    for (; *s && n + 3 < bytes; s++) {
        if (*s == '\n') out[n++] = ';';
        out[n++] = *s == '\n' ? ' ' : *s;
    }
    out[n] = '\0';
}

int finding_derive_text(Finding *f, const char *map, const char *term, const char *coefficient)
{
    TRY(memory_more(&f->derived, f->count, sizeof *f->derived));
    Derived *d = &f->derived[f->count++];
    one_line(map, d->map, sizeof d->map);
    snprintf(d->term, sizeof d->term, "%s", term);
    snprintf(d->coefficient, sizeof d->coefficient, "%s", coefficient);
    return 0;
}

void claim_number(const mpq_t c, char out[CLAIM_NUMBER])
{
    if (gmp_snprintf(out, CLAIM_NUMBER, "%Qd", c) >= CLAIM_NUMBER)
        snprintf(out, CLAIM_NUMBER, "%.17g", mpq_get_d(c));
}

int finding_derive(Finding *f, const char *map, const char *term, const mpq_t c)
{
    char text[CLAIM_NUMBER];
    claim_number(c, text);
    return finding_derive_text(f, map, term, text);
}
