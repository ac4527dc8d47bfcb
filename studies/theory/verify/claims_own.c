/* claims_own.c: reads a claim of the user's from a line, as a row of the registry:
 *
 *   SCHEME order P               its exact order
 *   SCHEME error N: TERMS        numerical - exact through h^N, "-1/2 F'G + 1/2 G'F"; of a scheme over H in H too, "-1/6 H'H'H"
 *   SCHEME brackets N: TERMS     log(step)/h - (F + G) through N letters, "1/12 [F,[F,G]] - 1/24 [[F,G],G]"
 *   SCHEME PROPERTY              a property, as "gauss4 A-stable"; "SCHEME stage order Q" too
 *
 * The words are the rows of a table, each with the check that answers and says how far it looked. A scheme is a name, of the
 * zoo or of a scheme file. TERMS are a sum in the syntax of ode/theory/terms.c; empty, or 0: there
 * are none. The checks limit P and N. */
#include <string.h>

#include "kernels/base/error.h"
#include "studies/theory/verify/claims.h"

/* What stands behind the word: nothing, a number, a number with a colon and terms of an error or brackets. */
enum { PLAIN, NUMBER, ERRORS, BRACKETS };

static const struct {
    const char *word, *statement;
    ClaimCheck *check;
    int form;
    const char *condition; /* "holds only if"; NULL: the check looks at none */
} kinds[] = {
    {"order", "%s has order %s.", check_order, NUMBER, NULL},
    {"error", "Numerical - exact of %s through h^%s is: %s.", check_expansion, ERRORS, NULL},
    {"brackets", "log(step)/h of %s, less its field, through degree %s is: %s.", check_brackets,
     BRACKETS, NULL},
    {"stage order", "%s has stage order %s.", check_stage_order, NUMBER, NULL},
    {"symplectic", "%s is symplectic.", check_symplectic, PLAIN,
     "the Hamiltonian is separable: F kicks momenta and G drifts positions"},
    {"symmetric", "%s is symmetric.", check_symmetric, PLAIN,
     "F'F = G'G = 0, as where F kicks momenta and G drifts positions"},
    {"A-stable", "%s is A-stable.", check_A_stable, PLAIN, NULL},
    {"L-stable", "%s is L-stable.", check_L_stable, PLAIN, NULL},
    {"algebraically stable", "%s is algebraically stable.", check_algebraic, PLAIN, NULL},
    {"B-stable", "%s is B-stable.", check_algebraic, PLAIN, NULL},
    {"zero-stable", "%s is zero-stable.", check_zero_stable, PLAIN, NULL},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int expected(const char *text)
{
    char words[256] = "";
    for (int k = 0, n = 0; k < KINDS; k++)
        if (kinds[k].form == PLAIN)
            n +=
                snprintf(words + n, sizeof words - (size_t)n, "%s%s", n ? ", " : "", kinds[k].word);
    return error_set(
        ERR_INPUT,
        "--own '%.80s': expected \"SCHEME order P\", \"SCHEME stage order Q\", \"SCHEME "
        "error N: 1/2 F'G - ...\", \"SCHEME brackets N: 1/12 [F,[F,G]] - ...\", or a scheme "
        "and one of: %s",
        text, words);
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

/* Takes the word of a kind, of one word or more, off *at; returns the kind, or KINDS. */
static int take_kind(char **at)
{
    char *from = *at + strspn(*at, " ");
    for (int k = 0; k < KINDS; k++) {
        size_t n = strlen(kinds[k].word);
        if (strncmp(from, kinds[k].word, n) != 0 || (from[n] && from[n] != ' ')) continue;
        *at = from + n;
        return k;
    }
    return KINDS;
}

/* Sets the arguments that a kind's check takes. */
static void set_arguments(OwnClaim *o, int k, const char *scheme, const char *number)
{
    const char *const plain[] = {scheme, number, "F+G"},
                      *const error[] = {scheme, "exact", o->terms, number,
                                        strchr(o->terms, 'H') ? "H" : "F+G"},
                      *const brackets[] = {scheme, number, o->terms};
    switch (kinds[k].form) {
    case ERRORS: memcpy(o->claim.arg, error, sizeof error); break;
    case BRACKETS: memcpy(o->claim.arg, brackets, sizeof brackets); break;
    default: memcpy(o->claim.arg, plain, sizeof plain);
    }
}

static int read_claim(OwnClaim *o)
{
    char *at = o->words, *scheme = take_word(&at);
    int k = take_kind(&at);
    /* Maps of registered claims are no schemes. */
    int named = *scheme && strcmp(scheme, "exact") != 0 && strncmp(scheme, "exact:", 6) != 0 &&
                strncmp(scheme, "apart:", 6) != 0 && !strpbrk(scheme, "=|");
    if (k == KINDS || !named) return expected(o->text);
    int terms = kinds[k].form >= ERRORS;
    char *number = kinds[k].form == PLAIN ? "" : take_word(&at);
    if (kinds[k].form != PLAIN && !is_number(number, terms)) return expected(o->text);
    at += strspn(at, " ");
    if (!terms && *at) return expected(o->text);
    snprintf(o->statement, sizeof o->statement, kinds[k].statement, scheme, number,
             *at ? at : "nothing");
    /* Blanks replace all before the terms, so that their columns are those of the text. */
    snprintf(o->terms, sizeof o->terms, "%*s%s", (int)(at - o->words), "", at);
    o->claim = (Claim){.id = o->id,
                       .origin = CLAIM_YOURS,
                       .source = "--own",
                       .statement = o->statement,
                       .expected = CLAIM_VERIFIED,
                       .condition = kinds[k].condition,
                       .check = kinds[k].check};
    set_arguments(o, k, scheme, number);
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
