/* families.c: writes the texts of schemes whose names have a pattern: word:, sandwich:, looped:, repeat:, dial:
 * (families.h). */
#include "ode/scheme/families.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/scheme.h"

enum { THETA_DIGITS = 6 };
#define WORD "word:"
#define DIAL "dial:"

static int no_word(void)
{
    return error_set(ERR_INPUT,
                     "expected word: and 1 to %d letters s (attention) and f (feed-forward), in a "
                     "decoder c (cross-attention) too",
                     ZOO_LETTERS);
}

static int write_word(const char *letters, FILE *f)
{
    static const char known[COLOURS + 1] = "sfc";
    int count[COLOURS] = {0}, set[COLOURS] = {0};
    size_t n = strlen(letters);
    if (n == 0 || n > ZOO_LETTERS || strspn(letters, known) != n) return no_word();
    for (size_t i = 0; i < n; i++) count[strchr(known, letters[i]) - known]++;
    fprintf(
        f,
        "scheme word\ntitle The word %s\nsource Sandwich Transformer (Press, Smith, Levy 2020)\n",
        letters);
    fprintf(f, "field %d F ", count[OP_F]);
    if (count[OP_C]) fprintf(f, "%d C ", count[OP_C]);
    fprintf(f, "%d G\n", count[OP_G]);
    for (size_t i = 0; i < n; i++) {
        int op = (int)(strchr(known, letters[i]) - known);
        fprintf(f, "flow %c%d\n", table_letters[op], ++set[op]);
    }
    return 0;
}

int made_number(const char **at, int most)
{
    int n = 0;
    if (!isdigit((unsigned char)**at)) return -1;
    for (; isdigit((unsigned char)**at); ++*at) {
        n = 10 * n + (**at - '0');
        if (n > most) return -1;
    }
    return n;
}

static int write_sandwich(const char *rest, FILE *f)
{
    char word[ZOO_LETTERS + 1], *w = word;
    int n = made_number(&rest, ZOO_LETTERS / 2), k = -1;
    if (n >= 1 && *rest == '-') {
        rest++;
        k = made_number(&rest, n);
    }
    if (k < 0 || *rest)
        return error_set(ERR_INPUT, "expected sandwich:N-K with 1 <= N <= %d and 0 <= K <= N",
                         ZOO_LETTERS / 2);
    for (int i = 0; i < k; i++) *w++ = 's';
    for (int i = k; i < n; i++) *w++ = 's', *w++ = 'f';
    for (int i = 0; i < k; i++) *w++ = 'f';
    *w = 0;
    return write_word(word, f);
}

static int loop_count(const char *rest, const char *kind, int *n)
{
    *n = made_number(&rest, LOOPS_MAX);
    if (*n >= 1 && *rest == 0) return 0;
    return error_set(ERR_INPUT, "expected %s:N with 1 <= N <= %d", kind, LOOPS_MAX);
}

/* Writes k_i = OP(y + c (k_1 + .. + k_(i-1))), OP the letters of `ops` in turn, and y' = y + u (k_1 + .. + k_S). The
 * coefficients are texts, as "1/2*"; c NULL: 0. */
static void write_rows(int S, const char *ops, const char *c, const char *u, FILE *f)
{
    for (int i = 0; i <= S; i++) {
        int last = i == S;
        if (last)
            fputs("y' = y", f);
        else
            fprintf(f, "k%d = %c(y", i + 1, ops[(size_t)i % strlen(ops)]);
        for (int j = 0; j < i && (last || c); j++) fprintf(f, " + %sk%d", last ? u : c, j + 1);
        fputs(last ? "\n" : ")\n", f);
    }
}

static int write_looped(const char *rest, FILE *f)
{
    int n;
    char part[16];
    TRY(loop_count(rest, "looped", &n));
    snprintf(part, sizeof part, "1/%d*", n);
    fprintf(f, "scheme looped\ntitle  The Transformer layer looped %d times with step 1/%d\n", n,
            n);
    fprintf(f, "source control of equal evaluations: Lie-Trotter with Euler, %d steps of h/%d\n", n,
            n);
    write_rows(2 * n, "FG", part, part, f);
    return 0;
}

static int write_repeat(const char *rest, FILE *f)
{
    int n;
    TRY(loop_count(rest, "repeat", &n));
    fprintf(f, "scheme repeat\ntitle  The Transformer layer %d times, one set of weights\n", n);
    fprintf(f, "source weight sharing: Dehghani et al. 2019; Lan et al. 2020\n");
    write_rows(n, "L", "", "", f);
    return 0;
}

/* Reads "3/8", "0.375" or ".375" as the p / q that it is; 0 where the text is something else. */
static int read_theta(const char *text, unsigned long *p, unsigned long *q)
{
    size_t whole = strspn(text, "0123456789"), rest = 0;
    char mark = text[whole];
    if (mark == '/' || mark == '.') rest = strspn(text + whole + 1, "0123456789");
    if (text[whole + (mark != '\0') + rest] || whole > THETA_DIGITS || rest > THETA_DIGITS)
        return 0;
    if (mark ? rest == 0 || (mark == '/' && whole == 0) : whole == 0) return 0;
    unsigned long after = mark ? strtoul(text + whole + 1, NULL, 10) : 0;
    *p = strtoul(text, NULL, 10), *q = 1;
    if (mark == '/') *q = after;
    for (size_t i = 0; mark == '.' && i < rest; i++) *q *= 10;
    if (mark == '.') *p = *p * *q + after;
    return *q != 0;
}

/* The numbers of dial:S-THETA; THETA = p / q, written as a fraction or a decimal. */
typedef struct {
    size_t S;
    unsigned long p, q;
} Dial;

static int read_dial(const char *rest, Dial *out)
{
    int S = made_number(&rest, LOOPS_MAX);
    out->S = (size_t)S;
    return S >= 1 && *rest == '-' && read_theta(rest + 1, &out->p, &out->q);
}

static int write_dial(const char *rest, FILE *f)
{
    Dial d;
    char by[64], part[16];
    if (!read_dial(rest, &d))
        return error_set(ERR_INPUT,
                         "expected dial:S,THETA with 1 <= S <= %d and THETA a fraction or a "
                         "decimal, as 1/3 or 0.5, of at most %d digits before and behind its mark",
                         LOOPS_MAX, THETA_DIGITS);
    RATIONAL(theta);
    mpq_set_ui(theta, d.p, d.q);
    mpq_canonicalize(theta);
    gmp_snprintf(by, sizeof by, "%Qd*", theta);
    snprintf(part, sizeof part, "1/%d*", (int)d.S);
    gmp_fprintf(f,
                "scheme dial\ntitle  %d equal parts of a step, each %Qd of a step behind the last\n"
                "source one family: theta = 0 is Euler's method, 1/S is S of its steps of h/S, "
                "1/(S-1) is SSPRK(S,2) (Gottlieb, Ketcheson, Shu 2011)\n",
                (int)d.S, theta);
    write_rows((int)d.S, "H", mpq_sgn(theta) ? by : NULL, part, f);
    return 0;
}

/* paired: the maker takes two numbers, which a comma may separate as well as a '-'. */
static const struct {
    const char *prefix;
    int (*write)(const char *rest, FILE *f);
    int paired;
} makers[] = {{WORD, write_word, 0},
              {"sandwich:", write_sandwich, 1},
              {"looped:", write_looped, 0},
              {"repeat:", write_repeat, 0},
              {DIAL, write_dial, 1}};

enum { MAKERS = sizeof makers / sizeof *makers };

/* Finds the row whose prefix the name begins with, and *rest behind it; MAKERS: none. */
static size_t find_maker(const char *name, const char **rest)
{
    size_t i = 0;
    for (; i < MAKERS; i++) {
        size_t n = strlen(makers[i].prefix);
        *rest = name + n;
        if (strncmp(name, makers[i].prefix, n) == 0) break;
    }
    if (i == MAKERS) *rest = name;
    return i;
}

int made_write(const char *name, FILE *f, int *made)
{
    const char *rest;
    size_t i = find_maker(name, &rest);
    *made = i < MAKERS;
    return *made ? makers[i].write(rest, f) : 0;
}

const char *made_rest(const char *name)
{
    const char *rest;
    find_maker(name, &rest);
    return rest;
}

size_t made_comma(const char *name)
{
    const char *rest;
    size_t i = find_maker(name, &rest);
    if (i == MAKERS || !makers[i].paired) return 0;
    size_t first = strspn(rest, "0123456789"), comma = (size_t)(rest - name) + first;
    return first && name[comma] == ',' ? comma : 0;
}

void made_reduce(char *name, size_t room)
{
    char text[64], after[64];
    unsigned long p, q;
    const char *rest = name + sizeof DIAL - 1;
    if (strncmp(name, DIAL, sizeof DIAL - 1) != 0 || made_number(&rest, LOOPS_MAX) < 0) return;
    if (*rest++ != '-') return;
    size_t n = strspn(rest, "0123456789./"), before = (size_t)(rest - name);
    if (n >= sizeof text || strlen(rest + n) >= sizeof after) return;
    snprintf(text, sizeof text, "%.*s", (int)n, rest);
    snprintf(after, sizeof after, "%s", rest + n);
    if (!read_theta(text, &p, &q)) return;
    RATIONAL(theta);
    mpq_set_ui(theta, p, q);
    mpq_canonicalize(theta);
    int written = gmp_snprintf(text, sizeof text, "%Qd", theta);
    if (before + (size_t)written + strlen(after) < room)
        snprintf(name + before, room - before, "%s%s", text, after);
}

int made_too_long(const char *name)
{
    if (strncmp(name, WORD, sizeof WORD - 1) == 0) return no_word();
    return error_set(ERR_INPUT, "unknown scheme '%.60s...'", name);
}
