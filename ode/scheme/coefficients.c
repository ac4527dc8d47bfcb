/* coefficients.c: the numbers of a scheme's text as pieces of that text, so that one can be exchanged and the rest stays as
 * its author wrote it. The texts are those that zoo_read takes: the language of schemes, a tableau in JSON, a drawn one.
 *
 * A coefficient is a number or a quotient of two, with the sign before it: 1/2 in `y - 1/2*k1` is -1/2. A slope without a
 * number has the coefficient 1. '?' stands for a number that is not known. Left out are numbers in which a scheme is not
 * linear: those of roots, powers and divisors, and steps back, as in k1[-2]. */
#include <ctype.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/base/plain_text.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/scheme.h"

/* ---- numbers as they are written ---------------------------------------------------------------------- */

size_t coefficient_read(const char *text, size_t bytes, mpq_t out)
{
    RATIONAL(divisor);
    size_t sign = bytes > 0 && (*text == '-' || *text == '+');
    size_t n = rational_decimal(text + sign, bytes - sign, out);
    if (!n) return 0;
    n += sign;
    if (n + 1 < bytes && text[n] == '/') {
        size_t more = rational_decimal(text + n + 1, bytes - n - 1, divisor);
        if (more && mpq_sgn(divisor) != 0) {
            mpq_div(out, out, divisor);
            n += 1 + more;
        }
    }
    if (*text == '-') mpq_neg(out, out);
    return n;
}

/* ---- the list ----------------------------------------------------------------------------------------- */

void coefficients_free(Coefficients *c)
{
    for (size_t i = 0; i < c->count; i++) mpq_clear(c->list[i].value);
    memory_free(c->list);
    *c = (Coefficients){0};
}

/* Adds the coefficient whose word stands at `word` (n bytes; 0: a bare slope) in the piece at .. end of the text. */
static int add(Coefficients *c, Coefficient x, const char *word, size_t n)
{
    if (n + 2 > sizeof x.word) return 0; /* longer than any number that is printed */
    size_t sign = x.sign == '-';
    if (sign) x.word[0] = '-';
    memcpy(x.word + sign, n ? word : "1", n ? n : 1);
    x.word[sign + (n ? n : 1)] = '\0';
    x.asked = n == 1 && *word == '?';
    x.bare = n == 0;
    mpq_init(x.value);
    if (x.asked)
        mpq_set_ui(x.value, 1, 1);
    else if (coefficient_read(x.word, strlen(x.word), x.value) != strlen(x.word)) {
        mpq_clear(x.value); /* an expression: it is left alone */
        return 0;
    }
    int code = memory_add(c->list, c->count, x);
    if (code != 0) mpq_clear(x.value);
    return code;
}

/* ---- the language of schemes ----------------------------------------------------------------------------- */

/* A line that is being scanned: text[at .. stop). */
typedef struct {
    const char *text;
    size_t at, stop, from; /* from: where the line's expression begins */
} Scan;

static int is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns the last character before `at` that is no blank, and its place; '\0': none. */
static char before(const Scan *s, size_t at, size_t *place)
{
    while (at > s->from && isspace((unsigned char)s->text[at - 1])) at--;
    *place = at - (at > s->from);
    return at > s->from ? s->text[at - 1] : '\0';
}

/* Sets where the coefficient begins whose word begins at s->at: with the sign before it, if there is one. */
static Coefficient begin(const Scan *s)
{
    size_t place;
    Coefficient x = {.form = COEFFICIENT_TEXT, .at = s->at};
    char sign = before(s, s->at, &place);
    if (sign == '-' || sign == '+') {
        x.at = place;
        x.sign = sign;
    }
    return x;
}

/* Takes a number. A divisor, and what stands under '^', is none that a scheme is linear in. */
static int scan_number(Scan *s, Coefficients *c)
{
    size_t place, n = 1;
    RATIONAL(q);
    Coefficient x = begin(s);
    char previous = before(s, s->at, &place);
    if (s->text[s->at] != '?') n = coefficient_read(s->text + s->at, s->stop - s->at, q);
    const char *word = s->text + s->at;
    s->at += n;
    x.bytes = s->at - x.at;
    int power = s->at < s->stop && s->text[s->at] == '^';
    return previous == '/' || previous == '^' || power ? 0 : add(c, x, word, n);
}

/* Takes a name. A slope that stands alone has the coefficient 1. */
static int scan_name(Scan *s, Coefficients *c)
{
    size_t place, n = 0;
    Coefficient x = begin(s);
    char previous = before(s, s->at, &place);
    const char *word = s->text + s->at;
    while (s->at + n < s->stop && is_letter(word[n])) n++;
    int slope = word[0] == 'k' && n > 1 && isdigit((unsigned char)word[1]);
    int alone = previous != '*' && previous != '/';
    x.bytes = s->at - x.at;
    s->at += n;
    if (n == 4 && memcmp(word, "sqrt", 4) == 0) /* up to its ')' */
        for (int open = 0; s->at < s->stop; s->at++) {
            open += (s->text[s->at] == '(') - (s->text[s->at] == ')');
            if (open == 0 && s->text[s->at] == ')') break;
        }
    return slope && alone ? add(c, x, word, 0) : 0;
}

static int scan_line(Scan *s, Coefficients *c)
{
    while (s->at < s->stop) {
        char next = s->text[s->at];
        if (isdigit((unsigned char)next) || next == '.' || next == '?')
            TRY(scan_number(s, c));
        else if (is_letter(next))
            TRY(scan_name(s, c));
        else if (next == '[')
            while (s->at < s->stop && s->text[s->at] != ']') s->at++;
        else
            s->at++;
    }
    return 0;
}

/* Returns where the expression of a line begins, or n: it has none. */
static size_t expression_of(const char *line, size_t n)
{
    size_t i = 0;
    while (i < n && isspace((unsigned char)line[i])) i++;
    if (n - i > 5 && memcmp(line + i, "flow ", 5) == 0) return i + 5;
    int read = n - i > 2 && (line[i] == 'k' || memcmp(line + i, "y'", 2) == 0);
    read |= n - i > 5 && memcmp(line + i, "error", 5) == 0;
    read |= n - i > 4 && memcmp(line + i, "let ", 4) == 0;
    const char *equal = read ? memchr(line, '=', n) : NULL;
    return equal ? (size_t)(equal - line) + 1 : n;
}

static int find_in_scheme(const char *text, size_t bytes, Coefficients *c)
{
    const char *at = text, *line;
    size_t n;
    while (text_next_line(&at, text + bytes, &line, &n)) {
        const char *hash = memchr(line, '#', n);
        if (hash) n = (size_t)(hash - line);
        size_t start = (size_t)(line - text), from = start + expression_of(line, n);
        TRY(scan_line(&(Scan){text, from, start + n, from}, c));
    }
    return 0;
}

/* ---- tableaus ------------------------------------------------------------------------------------------- */

/* Takes the word text[at .. stop) of a tableau. */
static int add_word(Coefficients *c, const char *text, size_t at, size_t stop, int form)
{
    Coefficient x = {.form = form, .at = at, .bytes = stop - at};
    if (form == COEFFICIENT_JSON && text[at] == '"' && stop - at > 1) at++, stop--;
    return stop > at ? add(c, x, text + at, stop - at) : 0;
}

static int is_coefficients(const char *key, size_t n)
{
    static const char *const keys[] = {"A", "b", "bhat", "b_hat", "c"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i]) == n && memcmp(key, keys[i], n) == 0) return 1;
    return 0;
}

/* Takes the texts and numbers within the arrays of the keys above. */
static int find_in_json(const char *text, size_t bytes, Coefficients *c)
{
    int depth = 0, wanted = 0;
    for (size_t i = 0, n; i < bytes; i += n) {
        n = 1;
        if (text[i] == '[' || text[i] == ']') depth += text[i] == '[' ? 1 : -1;
        if (strchr("{}[]:,", text[i]) || isspace((unsigned char)text[i])) continue;
        if (text[i] == '"') {
            while (i + n < bytes && text[i + n] != '"') n += text[i + n] == '\\' ? 2 : 1;
            n++;
        } else {
            while (i + n < bytes && !strchr(",]} \t\r\n", text[i + n])) n++;
        }
        if (i + n > bytes) return 0;
        if (depth == 0)
            wanted = text[i] == '"' && is_coefficients(text + i + 1, n - 2);
        else if (wanted)
            TRY(add_word(c, text, i, i + n, COEFFICIENT_JSON));
    }
    return 0;
}

/* Takes the words before and behind the bar of each line that has one. */
static int find_in_drawing(const char *text, size_t bytes, Coefficients *c)
{
    const char *at = text, *line;
    size_t n;
    while (text_next_line(&at, text + bytes, &line, &n)) {
        if (!memchr(line, '|', n)) continue;
        size_t start = (size_t)(line - text);
        for (size_t i = 0, word; i < n; i += word) {
            for (word = 0; i + word < n && !strchr("| \t\r", line[i + word]);) word++;
            if (word)
                TRY(add_word(c, text, start + i, start + i + word, COEFFICIENT_DRAWN));
            else
                word = 1;
        }
    }
    return 0;
}

static int is_json(const char *text, size_t bytes)
{
    size_t i = 0;
    while (i < bytes && isspace((unsigned char)text[i])) i++;
    return i < bytes && text[i] == '{';
}

int coefficients_find(const char *text, size_t bytes, Coefficients *out)
{
    *out = (Coefficients){0};
    int code = !butcher_is(text, bytes) ? find_in_scheme(text, bytes, out)
               : is_json(text, bytes)   ? find_in_json(text, bytes, out)
                                        : find_in_drawing(text, bytes, out);
    if (code != 0) coefficients_free(out);
    return code;
}

/* ---- other values ---------------------------------------------------------------------------------------- */

/* Writes a value in the place of a coefficient. */
static void write_value(const Coefficient *x, const char *text, const char *value, FILE *f)
{
    int minus = *value == '-';
    const char *old = text + x->at;
    int blank = x->sign && isspace((unsigned char)old[1]);
    size_t place;
    Scan s = {text, x->at, x->at, 0};
    char previous = before(&s, x->at, &place);
    if (x->form == COEFFICIENT_JSON) {
        fprintf(f, "\"%s\"", value);
    } else if (x->form == COEFFICIENT_DRAWN) {
        fprintf(f, "%-*s", (int)x->bytes, value);
    } else {
        if (x->sign)
            fprintf(f, "%c%s%s", minus ? '-' : '+', blank ? " " : "", value + minus);
        else
            fprintf(f, previous == '*' && minus ? "(%s)" : "%s", value);
        if (x->bare) fputc('*', f);
    }
}

int coefficients_written(const Coefficients *c, const char *text, size_t bytes,
                         const char *const *value, char **out, size_t *count)
{
    size_t at = 0;
    *out = NULL;
    FILE *f = open_memstream(out, count);
    if (!f) return error_set(ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < c->count; i++) {
        if (!value[i]) continue;
        fwrite(text + at, 1, c->list[i].at - at, f);
        write_value(&c->list[i], text, value[i], f);
        at = c->list[i].at + c->list[i].bytes;
    }
    fwrite(text + at, 1, bytes - at, f);
    if (fclose(f) == 0) return 0;
    return error_set(ERR_MEMORY, "out of memory");
}

/* ---- what a text says of its order ------------------------------------------------------------------------- */

/* Reads a number of 1 to 19 at text[at ..], behind blanks, ':' and '"'; 0: none stands there. */
static int order_at(const char *text, size_t at, size_t bytes)
{
    int order = 0;
    while (at < bytes && strchr(" :\"", text[at])) at++;
    for (size_t i = at; i < bytes && i < at + 3 && isdigit((unsigned char)text[i]); i++)
        order = 10 * order + text[i] - '0';
    return order < 20 ? order : 0;
}

/* Looks for "order N", "embedded N" or "embedded order N", and "N(M)", in one line. */
static void read_claims(const char *line, size_t n, int *order, int *embedded)
{
    for (size_t i = 0; i < n; i++) {
        int hat = n - i > 8 && memcmp(line + i, "embedded", 8) == 0;
        size_t at = hat ? i + 8 : i;
        if (n - at > 6 && memcmp(line + at, " order", 6) == 0) at += hat ? 6 : 0;
        int main = !hat && n - i > 5 && memcmp(line + i, "order", 5) == 0;
        int *to = hat ? embedded : order;
        if ((hat || main) && !*to) *to = order_at(line, hat ? at : i + 5, n);
        if (main) i += 4;
        if (hat) i = at - 1;
        if (line[i] != '(' || i == 0 || !isdigit((unsigned char)line[i - 1])) continue;
        size_t from = i - 1;
        while (from > 0 && isdigit((unsigned char)line[from - 1])) from--;
        if (i - from > 2 || (from > 0 && line[from - 1] == '.')) continue;
        if (!*order) *order = order_at(line, from, n);
        if (!*embedded) *embedded = order_at(line, i + 1, n);
    }
}

void coefficients_claims_of(const char *line, int *order, int *embedded)
{
    *order = *embedded = 0;
    read_claims(line, strlen(line), order, embedded);
}

void coefficients_claims(const char *text, size_t bytes, int *order, int *embedded)
{
    const char *at = text, *line;
    int tableau = butcher_is(text, bytes);
    size_t n;
    *order = *embedded = 0;
    while (text_next_line(&at, text + bytes, &line, &n)) {
        while (n && isspace((unsigned char)*line)) line++, n--;
        int said = tableau ? !memchr(line, '|', n) : scheme_is_remark(line, line + n);
        if (said) read_claims(line, n, order, embedded);
    }
}
