/* notation.c: the page of the notation; finds formulas in prose, word by word. */
#include "studies/base/notation.h"

#include <ctype.h>
#include <string.h>

#include "studies/base/latex.h"
#include "studies/base/utf8.h"

const Notation notation[] = {
    {"y' = F(y) + G(y)",
     "the equation: $F$ is attention, $G$ feed-forward, $C$ cross-attention of a "
     "decoder, $H = F + G$ both at one point, $L(x) = F(x) + G(x + F(x))$ a layer"},
    {"h", "the step; in a network a layer is a step of $h = 1$"},
    {"k2 = h F(y + 1/2 k1)",
     "a slope of a step; $k1[-1]$ is that of one step ago, $y[-1]$ the state there"},
    {"F'G",
     "the derivative of $F$ at $y$, applied to $G(y)$; without brackets all is taken at $y$"},
    {"F''(F,G)", "the second derivative of $F$, applied to two vectors: a prime for each; $F't$ is "
                 "the derivative by time"},
    {"h^3 F''(F,G)",
     "an elementary differential is a rooted tree: the outer letter is the root, with "
     "a child for each argument; its number of letters is its order and power of $h$"},
    {"σ",
     "symmetry of a tree: the ways to exchange equal children; density $γ$: the product of the "
     "orders of all its subtrees"},
    {"sum b_i c_i a_ij c_j = 1/8",
     "the condition of a tree: weights $b$ at the root, $a$ along edges, "
     "$c_i$ the sum of a row of $a$, and $1/γ$ on the right"},
    {"[F,G] = G'F - F'G", "the commutator of two fields; it is 0 where their flows commute"},
    {"log(step)/h",
     "the field whose exact flow is the step; less $F + G$ it is a splitting's error in "
     "commutators"},
    {"y' - y(t + h)", "the error is numerical - exact, after one step from the same $y$"},
    {"O(h^(p+1))", "order $p$ means this local error, and a global error of $O(h^p)$"},
    {"D, Z, X, Y1",
     "in derivations: a point less $y$; the logarithm of the flows so far, of the next "
     "one; the state behind the first flow"},
    {"R(z)", "the factor of a step on $y' = λ y$, with $z = h λ$"},
    {0}};

/* ---- formulas in prose ------------------------------------------------------------------------------ */

/* Words of several letters that a formula has. */
static int is_function(const char *s, size_t n)
{
    static const char *const words[] = {"log", "step", "sum", "exp", "prod",
                                        "sf",  "sc",   "scf", "dy",  "dE"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && strncmp(s, words[i], n) == 0) return 1;
    return 0;
}

/* Returns the bytes of the piece of a formula at s, a name, a number or a sign; 0: it is none. Sets *only where it is one
 * that only formulas have: a power, an index, a derivative, a commutator. */
static size_t judge_piece(const char *s, size_t left, int *only)
{
    size_t n = 0;
    while (n < left && isalpha((unsigned char)s[n])) n++;
    if (n > 1 && !is_function(s, n)) return 0;
    *only |= n == 3 && strncmp(s, "log(", 4) == 0;
    if (n && n < left && s[n] == '_') {
        *only = 1;
        for (n++; n < left && isalnum((unsigned char)s[n]);) n++;
    }
    if (n && n < left && s[n] == '\'') {
        *only = 1;
        if (!isupper((unsigned char)*s) && *s != 'y') return 0;
        while (n < left && s[n] == '\'') n++;
        if (n + 1 == left && s[n] == 's') return 0; /* "F's" */
    }
    if (n) return n;
    *only |= *s == '^' || (left > 2 && *s == '[' && strchr("FGC[", s[1]) && strchr(",FGC", s[2]));
    return isdigit((unsigned char)*s) || strchr(".,/+-=<>()[]{}*|^", *s) ? 1 : 0;
}

/* Returns whether a word of prose can be a part of a formula; 2: it is one for certain. */
static int judge_word(const char *s, size_t n)
{
    int only = 0;
    if (n == 1 && strchr("aAI", *s)) return 0;
    for (size_t i = 0, piece; i < n; i += piece)
        if (!(piece = judge_piece(s + i, n - i, &only))) return 0;
    return 1 + only;
}

/* Returns the bytes of a run without the marks and signs at its end that belong to the prose; 0: its brackets do not
 * close. */
static size_t trim(const char *s, size_t n)
{
    int depth = 0, least = 0;
    for (size_t i = 0; i < n; i++) {
        depth += (s[i] == '(' || s[i] == '[') - (s[i] == ')' || s[i] == ']');
        if (depth < least) least = depth;
    }
    if (n && (strchr(".,;: +-=<>", s[n - 1]) || (depth < 0 && s[n - 1] == ')')))
        return trim(s, n - 1);
    return depth || least ? 0 : n;
}

/* Returns the bytes of the formula that begins here; 0: none does. */
static size_t formula_bytes(const char *from)
{
    const char *to = from;
    int certain = 0;
    for (const char *word = from, *end; *word; word = end + (*end == ' ')) {
        size_t n = strcspn(word, " ");
        end = word + n;
        while (n && strchr(".,;:", word[n - 1])) n--;
        int is = n ? judge_word(word, n) : 0;
        if (!is) break;
        certain |= is == 2;
        to = end;
        if (word + n < end && (word[n] != ',' || trim(from, (size_t)(to - from)))) break;
    }
    return certain ? trim(from, (size_t)(to - from)) : 0;
}

NotationPart notation_next(const char *text)
{
    const char *at = text;
    while (*at) {
        const char *end = *at == '$' ? strchr(at + 1, '$') : NULL;
        if (end)
            return (NotationPart){(size_t)(at - text), (size_t)(end - at - 1), at + 1, end + 1};
        size_t n = formula_bytes(at);
        if (n == 0 && *at == '(' && (n = formula_bytes(at + 1))) at++;
        if (n) return (NotationPart){(size_t)(at - text), n, at, at + n};
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    return (NotationPart){.words = (size_t)(at - text)};
}

void notation_latex(FILE *f, const char *words)
{
    char formula[512];
    for (;;) {
        NotationPart p = notation_next(words);
        for (const char *end = words + p.words; words < end;) words += latex_character(words, f);
        if (!p.bytes) break;
        snprintf(formula, sizeof formula, "%.*s", (int)p.bytes, p.formula);
        fputc('$', f);
        latex_formula(f, formula);
        fputc('$', f);
        words = p.behind;
    }
}

/* ---- the page ---------------------------------------------------------------------------------------- */

void notation_print(int latex, FILE *f)
{
    enum { WIDE = 78, AT = 28 };
    if (latex) fputs("\\begin{description}\n", f);
    for (const Notation *n = notation; n->formula; n++) {
        if (latex) {
            fputs("\\item[\\normalfont$", f);
            latex_formula(f, n->formula);
            fputs("$] ", f);
            notation_latex(f, n->words);
            fputc('\n', f);
            continue;
        }
        size_t column = utf8_columns(n->formula, SIZE_MAX);
        fprintf(f, "%s%*s", n->formula, column < AT ? (int)(AT - column) : 1, "");
        column = column < AT ? AT : column + 1;
        for (const char *at = n->words, *end; *at; at = end) {
            end = at + strspn(at, " ");
            end += strcspn(end, " ");
            size_t wide = utf8_columns(at, (size_t)(end - at));
            if (column + wide > WIDE) {
                fprintf(f, "\n%*s", AT, "");
                column = AT;
                at += *at == ' ';
            }
            for (; at < end; at++)
                if (*at != '$') fputc(*at, f);
            column += wide;
        }
        fputc('\n', f);
    }
    if (latex) fputs("\\end{description}\n", f);
}
