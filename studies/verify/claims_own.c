/* claims_own.c: a claim of the user's, in a line, as a row of the registry:
 *
 *   SCHEME order P               its exact order
 *   SCHEME error N: TERMS        numerical - exact through h^N, "-1/2 F'G; 1/2 G'F"; no TERMS: there are none
 *   SCHEME brackets N: TERMS     log(step)/h - (F + G) through N letters, "1/12 [F,[F,G]]; -1/24 [[F,G],G]"
 *
 * A scheme is a name, of the zoo or of a scheme file. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/verify/claims.h"

static const struct {
    const char *word, *statement;
    ClaimCheck *check;
    int most; /* of the number */
    int terms;
} kinds[] = {
    {"order", "%s has order %s.", check_order, TREE_MAX - 1, 0},
    {"error", "Numerical - exact of %s through h^%s is: %s.", check_expansion, TREE_MAX - 1, 1},
    {"brackets", "log(step)/h - (F+G) of %s through %s letters is: %s.", check_brackets, LIE_MAX,
     1},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int expected(const char *text)
{
    return error_set(ERR_INPUT,
                     "--own '%.80s': expected \"SCHEME order P\", \"SCHEME error N: 1/2 F'G; ...\" "
                     "or \"SCHEME brackets N: 1/12 [F,[F,G]]; ...\"",
                     text);
}

/* The next word of *at, ended by a NUL in the place of the blank behind it; "" at the end. */
static char *take_word(char **at)
{
    char *word = *at + strspn(*at, " ");
    char *end = word + strcspn(word, " ");
    *at = end + (*end != '\0');
    *end = '\0';
    return word;
}

/* A whole number from 1 to most, and with terms a colon behind it, which goes. */
static int is_number(char *word, int most, int terms)
{
    size_t n = strlen(word);
    if (terms && n && word[n - 1] == ':') word[--n] = '\0';
    if (n == 0 || n > 2 || strspn(word, "0123456789") != n) return 0;
    return atoi(word) >= (terms ? 1 : 0) && atoi(word) <= most;
}

static int read_claim(const char *text, OwnClaim *o)
{
    char *at = o->text, *scheme = take_word(&at), *word = take_word(&at), *number = take_word(&at);
    int k = 0;
    while (k < KINDS && strcmp(kinds[k].word, word) != 0) k++;
    if (k == KINDS || !*scheme || !is_number(number, kinds[k].most, kinds[k].terms))
        return expected(text);
    at += strspn(at, " ");
    if (!kinds[k].terms && *at) return expected(text);
    snprintf(o->statement, sizeof o->statement, kinds[k].statement, scheme, number,
             *at ? at : "nothing");
    o->claim = (Claim){.id = o->id,
                       .origin = CLAIM_OWN,
                       .source = "one's own",
                       .statement = o->statement,
                       .expected = CLAIM_VERIFIED,
                       .check = kinds[k].check};
    const char *const order[] = {scheme, number, "F+G"},
                      *const error[] = {scheme, "exact", at, number, "F+G"},
                      *const brackets[] = {scheme, number, at};
    if (k == 0) memcpy(o->claim.arg, order, sizeof order);
    if (k == 1) memcpy(o->claim.arg, error, sizeof error);
    if (k == 2) memcpy(o->claim.arg, brackets, sizeof brackets);
    return 0;
}

int claim_own(const char *text, size_t number, OwnClaim *out)
{
    *out = (OwnClaim){0};
    snprintf(out->id, sizeof out->id, "own-%zu", number);
    if (strlen(text) >= sizeof out->text) return expected(text);
    strcpy(out->text, text);
    return read_claim(text, out);
}
