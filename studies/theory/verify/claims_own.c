/* claims_own.c: reads a claim of the user's from a line, as a row of the registry:
 *
 *   SCHEME order P               its exact order
 *   SCHEME error N: TERMS        numerical - exact through h^N, "-1/2 F'G + 1/2 G'F"; of a scheme over H in H too, "-1/6 H'H'H"
 *   SCHEME brackets N: TERMS     log(step)/h - (F + G) through N letters, "1/12 [F,[F,G]] - 1/24 [[F,G],G]"
 *
 * A scheme is a name, of the zoo or of a scheme file. TERMS are a sum in the syntax of ode/theory/terms.c; empty, or 0: there
 * are none. The checks limit P and N. */
#include <string.h>

#include "kernels/base/error.h"
#include "studies/theory/verify/claims.h"

static const struct {
    const char *word, *statement;
    ClaimCheck *check;
    int terms;
} kinds[] = {
    {"order", "%s has order %s.", check_order, 0},
    {"error", "Numerical - exact of %s through h^%s is: %s.", check_expansion, 1},
    {"brackets", "log(step)/h of %s, less its field, through degree %s is: %s.", check_brackets, 1},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int expected(const char *text)
{
    return error_set(
        ERR_INPUT,
        "--own '%.80s': expected \"SCHEME order P\", \"SCHEME error N: 1/2 F'G - ...\" "
        "or \"SCHEME brackets N: 1/12 [F,[F,G]] - ...\"",
        text);
}

/* Takes the next word of *at and ends it with a NUL in place of the blank behind it; "" at the end. */
static char *take_word(char **at)
{
    char *word = *at + strspn(*at, " ");
    char *end = word + strcspn(word, " ");
    *at = end + (*end != '\0');
    *end = '\0';
    return word;
}

/* Is word a whole number? With terms it is at least 1, and a colon behind it is removed. */
static int is_number(char *word, int terms)
{
    size_t n = strlen(word);
    if (terms && n && word[n - 1] == ':') word[--n] = '\0';
    return n > 0 && n < 9 && strspn(word, "0123456789") == n && !(terms && strspn(word, "0") == n);
}

static int read_claim(OwnClaim *o)
{
    char *at = o->words, *scheme = take_word(&at), *word = take_word(&at), *number = take_word(&at);
    int k = 0;
    while (k < KINDS && strcmp(kinds[k].word, word) != 0) k++;
    /* Maps of registered claims are no schemes. */
    int named = *scheme && strcmp(scheme, "exact") != 0 && strncmp(scheme, "exact:", 6) != 0 &&
                strncmp(scheme, "apart:", 6) != 0 && !strpbrk(scheme, "=|");
    if (k == KINDS || !named || !is_number(number, kinds[k].terms)) return expected(o->text);
    at += strspn(at, " ");
    if (!kinds[k].terms && *at) return expected(o->text);
    snprintf(o->statement, sizeof o->statement, kinds[k].statement, scheme, number,
             *at ? at : "nothing");
    /* Blanks replace all before the terms, so that their columns are those of the text. */
    snprintf(o->terms, sizeof o->terms, "%*s%s", (int)(at - o->words), "", at);
    o->claim = (Claim){.id = o->id,
                       .origin = CLAIM_YOURS,
                       .source = "--own",
                       .statement = o->statement,
                       .expected = CLAIM_VERIFIED,
                       .check = kinds[k].check};
    const char *const order[] = {scheme, number, "F+G"},
                      *const error[] = {scheme, "exact", o->terms, number,
                                        strchr(at, 'H') ? "H" : "F+G"},
                      *const brackets[] = {scheme, number, o->terms};
    if (k == 0) memcpy(o->claim.arg, order, sizeof order);
    if (k == 1) memcpy(o->claim.arg, error, sizeof error);
    if (k == 2) memcpy(o->claim.arg, brackets, sizeof brackets);
    return 0;
}

int claim_own(const char *text, size_t number, OwnClaim *out)
{
    *out = (OwnClaim){0};
    snprintf(out->id, sizeof out->id, "own-%zu", number);
    if (strlen(text) >= sizeof out->text)
        return error_set(ERR_INPUT, "--own '%.80s...': expected a claim of %zu bytes at most", text,
                         sizeof out->text - 1);
    strcpy(out->text, text);
    strcpy(out->words, text);
    return read_claim(out);
}
