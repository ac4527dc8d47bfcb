/* zoo.c: schemes by name. The built-in texts are ode/zoo.scheme, embedded as it is; names with a
 * pattern (word:, sandwich:, looped:, repeat:, dial:, -layer, -F, -G, -decoder) are written as texts here and parsed, so the
 * language is the only way into a table. */
#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/ode.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOPS_MAX = 64, THETA_DIGITS = 6 };

__asm__(".pushsection .rodata\n"
        "zoo_text_begin: .incbin \"ode/zoo.scheme\"\n"
        "zoo_text_end: .byte 0\n"
        ".popsection\n");
extern const char zoo_text_begin[], zoo_text_end[];

int zoo_open(Zoo *z)
{
    *z = (Zoo){0};
    /* cppcheck-suppress comparePointers ; both are of the text that the assembler put in */
    return scheme_parse("zoo.scheme", zoo_text_begin, (size_t)(zoo_text_end - zoo_text_begin),
                        &z->scheme, &z->count);
}

int zoo_read(Zoo *z, const char *file)
{
    FILE *f = fopen(file, "rb");
    if (!f) return error_set(ERR_INPUT, "%s: the scheme file cannot be opened", file);
    char *text = memory_new(SCHEME_BYTES + 1, 1);
    if (!text) {
        fclose(f);
        return ERR_MEMORY;
    }
    size_t bytes = fread(text, 1, SCHEME_BYTES + 1, f);
    int bad = ferror(f), code;
    fclose(f);
    if (bad)
        code = error_set(ERR_INPUT, "%s: the scheme file cannot be read", file);
    else
        code = (bytes <= SCHEME_BYTES && butcher_is(text, bytes) ? butcher_parse : scheme_parse)(
            file, text, bytes, &z->scheme, &z->count);
    memory_free(text);
    return code;
}

void zoo_close(Zoo *z)
{
    for (size_t i = 0; i < z->count; i++) table_free(z->scheme[i]);
    memory_free(z->scheme);
    *z = (Zoo){0};
}

/* ---- names that are texts --------------------------------------------------------------------------- */

/* Parses the text in `stream` (of open_memstream) as one scheme and gives it `name`. */
static int parse_made(const char *name, const char *text, size_t bytes, Table **out)
{
    Table **list = NULL;
    size_t count = 0;
    TRY(scheme_parse(name, text, bytes, &list, &count));
    *out = list[0];
    memory_free(list);
    table_rename(*out, name);
    return 0;
}

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

/* Digits alone, a number of at most `most`, and *at behind them; -1: it is none such. */
static int take_number(const char **at, int most)
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
    int n = take_number(&rest, ZOO_LETTERS / 2), k = -1;
    if (n >= 1 && *rest == '-') {
        rest++;
        k = take_number(&rest, n);
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
    *n = take_number(&rest, LOOPS_MAX);
    if (*n >= 1 && *rest == 0) return 0;
    return error_set(ERR_INPUT, "expected %s:N with 1 <= N <= %d", kind, LOOPS_MAX);
}

/* N times F/N, then G/N, Euler, one set. */
static int write_looped(const char *rest, FILE *f)
{
    int n;
    TRY(loop_count(rest, "looped", &n));
    fprintf(f, "scheme looped\ntitle  The Transformer layer looped %d times with step 1/%d\n", n,
            n);
    fprintf(f, "source control of equal evaluations: Lie-Trotter with Euler, %d steps of h/%d\n", n,
            n);
    for (int i = 0; i < 2 * n; i++) {
        fprintf(f, "k%d = %c(y", i + 1, "FG"[i % 2]);
        for (int j = 0; j < i; j++) fprintf(f, " + 1/%d*k%d", n, j + 1);
        fprintf(f, ")\n");
    }
    fprintf(f, "y' = y");
    for (int j = 0; j < 2 * n; j++) fprintf(f, " + 1/%d*k%d", n, j + 1);
    fprintf(f, "\n");
    return 0;
}

static int write_repeat(const char *rest, FILE *f)
{
    int n;
    TRY(loop_count(rest, "repeat", &n));
    fprintf(f, "scheme repeat\ntitle  The Transformer layer %d times, one set of weights\n", n);
    fprintf(f, "source weight sharing: Dehghani et al. 2019; Lan et al. 2020\n");
    for (int i = 0; i <= n; i++) {
        if (i < n)
            fprintf(f, "k%d = L(y", i + 1);
        else
            fprintf(f, "y' = y");
        for (int j = 0; j < i; j++) fprintf(f, " + k%d", j + 1);
        fprintf(f, i < n ? ")\n" : "\n");
    }
    return 0;
}

/* "3/8", "0.375" or ".375" as the p / q that it is; 0 where the text is something else. */
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

/* k_i = H(y + theta (k_1 + .. + k_(i-1))), y' = y + (1/S) (k_1 + .. + k_S). */
static void write_dial_rows(int S, mpq_srcptr theta, FILE *f)
{
    gmp_fprintf(f,
                "scheme dial\ntitle  %d equal parts of a step, each %Qd of a step behind the last\n"
                "source one family: theta = 0 is Euler's method, 1/S is S of its steps of h/S, "
                "1/(S-1) is SSPRK(S,2) (Gottlieb, Ketcheson, Shu 2011)\n",
                S, theta);
    for (int i = 0; i < S; i++) {
        fprintf(f, "k%d = H(y", i + 1);
        for (int j = 0; j < i && mpq_sgn(theta); j++) gmp_fprintf(f, " + %Qd*k%d", theta, j + 1);
        fprintf(f, ")\n");
    }
    fprintf(f, "y' = y");
    for (int j = 0; j < S; j++) fprintf(f, " + 1/%d*k%d", S, j + 1);
    fprintf(f, "\n");
}

static const char dial[] = "dial:";

int zoo_dial(const char *name, Dial *out)
{
    if (strncmp(name, dial, sizeof dial - 1) != 0) return 0;
    const char *rest = name + sizeof dial - 1;
    int S = take_number(&rest, LOOPS_MAX);
    out->S = (size_t)S;
    return S >= 1 && *rest == '-' && read_theta(rest + 1, &out->p, &out->q);
}

/* rest stands behind the "dial:" of a name. */
static int write_dial(const char *rest, FILE *f)
{
    Dial d;
    if (!zoo_dial(rest - (sizeof dial - 1), &d))
        return error_set(ERR_INPUT,
                         "expected dial:S,THETA with 1 <= S <= %d and THETA a fraction or a "
                         "decimal, as 1/3 or 0.5, of at most %d digits before and behind its mark",
                         LOOPS_MAX, THETA_DIGITS);
    mpq_t theta;
    mpq_init(theta);
    mpq_set_ui(theta, d.p, d.q);
    mpq_canonicalize(theta);
    write_dial_rows((int)d.S, theta, f);
    mpq_clear(theta);
    return 0;
}

/* paired: the maker takes two numbers, which a comma may part as well as a '-'. */
static const struct {
    const char *prefix;
    int (*write)(const char *rest, FILE *f);
    int paired;
} makers[] = {{"word:", write_word, 0},
              {"sandwich:", write_sandwich, 1},
              {"looped:", write_looped, 0},
              {"repeat:", write_repeat, 0},
              {dial, write_dial, 1}};

/* Where the comma stands between the two numbers of a made name, as sandwich:N,K; 0: there is none. */
static size_t paired_comma(const char *name)
{
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        size_t head = strlen(makers[i].prefix);
        if (!makers[i].paired || strncmp(name, makers[i].prefix, head) != 0) continue;
        size_t first = strspn(name + head, "0123456789");
        return first && name[head + first] == ',' ? head + first : 0;
    }
    return 0;
}

/* ---- over another operator ---------------------------------------------------------------------------- */

static const Table *stored(const Zoo *z, const char *name)
{
    for (size_t i = 0; i < z->count; i++)
        if (strcmp(z->scheme[i]->name, name) == 0) return z->scheme[i];
    return NULL;
}

static const struct {
    const char *suffix;
    int op;
} forms[] = {{"-layer", OP_L}, {"-F", OP_F}, {"-G", OP_G}};

static int find_base(const Zoo *z, const char *name, Table **out);

/* NAME-decoder of any scheme NAME; *made = 0 where it is none. */
static int write_decoder(const Zoo *z, const char *name, FILE *f, int *made)
{
    static const char suffix[] = "-decoder";
    size_t n = strlen(name), m = sizeof suffix - 1;
    char base[TABLE_NAME];
    Table *t;
    *made = n > m && n < TABLE_NAME && strcmp(name + n - m, suffix) == 0;
    if (!*made) return 0;
    snprintf(base, sizeof base, "%.*s", (int)(n - m), name);
    TRY(find_base(z, base, &t));
    int code = scheme_over(t, OP_A, name, f);
    table_free(t);
    return code;
}

/* NAME-layer, NAME-F, NAME-G of a stored scheme NAME; *made = 0 where it is none of these. */
static int write_form(const Zoo *z, const char *name, FILE *f, int *made)
{
    size_t n = strlen(name);
    char base[TABLE_NAME];
    *made = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && n < TABLE_NAME; i++) {
        size_t m = strlen(forms[i].suffix);
        if (n <= m || strcmp(name + n - m, forms[i].suffix) != 0) continue;
        snprintf(base, sizeof base, "%.*s", (int)(n - m), name);
        const Table *t = stored(z, base);
        if (!t) continue;
        *made = 1;
        return scheme_over(t, forms[i].op, name, f);
    }
    return 0;
}

/* ---- look-up ------------------------------------------------------------------------------------------ */

/* Edit distance to a stored name, for the nearest one of a misspelt one (Levenshtein 1966). */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(b), row[TABLE_NAME + 1];
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

static int unknown(const Zoo *z, const char *name)
{
    const char *near = NULL;
    size_t best = strlen(name) / 3 + 1 > 3 ? strlen(name) / 3 + 1 : 3; /* more is another word */
    for (size_t i = 0; i < z->count; i++) {
        size_t d = distance(name, z->scheme[i]->name);
        if (d < best) best = d, near = z->scheme[i]->name;
    }
    return error_set(
        ERR_INPUT,
        "unknown scheme '%.60s'%s%s%s; 'trotter schemes' lists them, --scheme-file adds some", name,
        near ? "; the nearest is '" : "", near ? near : "", near ? "'" : "");
}

static int write_made(const Zoo *z, const char *name, FILE *f)
{
    int made;
    TRY(write_decoder(z, name, f, &made));
    if (made) return 0;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        size_t n = strlen(makers[i].prefix);
        if (strncmp(name, makers[i].prefix, n) == 0) return makers[i].write(name + n, f);
    }
    TRY(write_form(z, name, f, &made));
    return made ? 0 : unknown(z, name);
}

/* A scheme by its name without sub-flow suffix. */
static int find_base(const Zoo *z, const char *name, Table **out)
{
    const Table *t = stored(z, name);
    if (t) return (*out = table_copy(t)) ? 0 : ERR_MEMORY;
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    if (!f) return error_set(ERR_MEMORY, "out of memory");
    int code = write_made(z, name, f);
    fclose(f);
    if (code == 0) code = parse_made(name, text, bytes, out);
    free(text);
    return code;
}

/* Replaces the flows of *t by the stages of `solver`; "exact" keeps them. */
static int solve_flows(const Zoo *z, const char *solver, Table **t)
{
    Table *s, *expanded;
    if (strcmp(solver, "exact") == 0) return 0;
    TRY(find_base(z, solver, &s));
    int code = table_expand(*t, s, &expanded);
    table_free(s);
    if (code != 0) return code;
    table_free(*t);
    *t = expanded;
    return 0;
}

/* Where the sub-flow suffix begins: the last ':' that is not a made name's own. */
static const char *find_suffix(const char *name)
{
    const char *from = name;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        size_t n = strlen(makers[i].prefix);
        if (strncmp(name, makers[i].prefix, n) == 0) from = name + n;
    }
    return strrchr(from, ':');
}

/* For a name that is longer than any. */
static int too_long(const char *name)
{
    if (strncmp(name, "word:", 5) == 0) return no_word();
    return error_set(ERR_INPUT, "unknown scheme '%.60s...'", name);
}

int zoo_name(const char *given, char name[TABLE_NAME])
{
    if (strlen(given) >= TABLE_NAME) return too_long(given);
    strcpy(name, given);
    size_t comma = paired_comma(name);
    if (comma) name[comma] = '-';
    return 0;
}

/* ---- NAME:fixed-point-N ----------------------------------------------------------------------------- */

static const char fixed_point[] = ":fixed-point-";

/* Where that suffix begins; NULL: there is none. */
static const char *find_fixed_point(const char *name)
{
    const char *suffix = strrchr(name, ':');
    return suffix && strncmp(suffix, fixed_point, sizeof fixed_point - 1) == 0 ? suffix : NULL;
}

static int make_fixed_point(const Zoo *z, const char *name, const char *suffix, const char *solver,
                            Table **out)
{
    char base[TABLE_NAME], *text = NULL;
    const char *at = suffix + sizeof fixed_point - 1;
    int corrections = take_number(&at, LOOPS_MAX);
    size_t bytes;
    Table *t;
    if (corrections < 0 || *at)
        return error_set(ERR_INPUT, "'%s': expected NAME:fixed-point-N with 0 <= N <= %d", name,
                         LOOPS_MAX);
    snprintf(base, sizeof base, "%.*s", (int)(suffix - name), name);
    TRY(zoo_find(z, base, solver, &t));
    FILE *f = open_memstream(&text, &bytes);
    int code =
        f ? scheme_fixed_point(t, corrections, name, f) : error_set(ERR_MEMORY, "out of memory");
    if (f) fclose(f);
    table_free(t);
    if (code == 0) code = parse_made(name, text, bytes, out);
    free(text);
    return code;
}

int zoo_find(const Zoo *z, const char *given, const char *solver, Table **out)
{
    char name[TABLE_NAME], base[TABLE_NAME];
    *out = NULL;
    TRY(zoo_name(given, name));
    const char *iterated = stored(z, name) ? NULL : find_fixed_point(name);
    if (iterated) return make_fixed_point(z, name, iterated, solver, out);
    const char *suffix = stored(z, name) ? NULL : find_suffix(name);
    snprintf(base, sizeof base, "%.*s", suffix ? (int)(suffix - name) : (int)strlen(name), name);
    *out = NULL;
    TRY(find_base(z, base, out));
    int code = 0;
    if (suffix && (*out)->flows == 0)
        code = error_set(ERR_INPUT, "'%s': only a splitting made of flows takes a sub-flow solver",
                         name);
    else if ((*out)->flows)
        code = solve_flows(z, suffix ? suffix + 1 : solver, out);
    if (code == 0)
        table_rename(*out, name);
    else {
        table_free(*out);
        *out = NULL;
    }
    return code;
}

int zoo_find_decoder(const Zoo *z, const char *name, const char *solver, Table **out)
{
    char longer[2 * TABLE_NAME];
    TRY(zoo_find(z, name, solver, out));
    if ((*out)->colours > 2) return 0;
    table_free(*out);
    *out = NULL;
    const char *suffix = stored(z, name) ? NULL : find_suffix(name);
    size_t n = suffix ? (size_t)(suffix - name) : strlen(name);
    snprintf(longer, sizeof longer, "%.*s-decoder%s", (int)n, name, suffix ? suffix : "");
    return zoo_find(z, longer, solver, out);
}

/* ---- lists --------------------------------------------------------------------------------------------- */

static int add_found(const Zoo *z, const char *name, const char *solver, Table ***list,
                     size_t *count)
{
    Table *t;
    TRY(zoo_find(z, name, solver, &t));
    Table **grown = memory_grow(*list, *count, *count + 1, sizeof(Table *));
    if (!grown) {
        table_free(t);
        return ERR_MEMORY;
    }
    (*list = grown)[(*count)++] = t;
    return 0;
}

/* A stored scheme of so many colours by its name, one of fewer as a decoder's, with `form` behind its name. */
static int add_form(const Zoo *z, const Table *t, int colours, const char *form, const char *solver,
                    Table ***list, size_t *count)
{
    char name[2 * TABLE_NAME];
    if (t->colours > colours) return 0;
    snprintf(name, sizeof name, "%s%s%s", t->name, form, t->colours < colours ? "-decoder" : "");
    if (strlen(name) >= TABLE_NAME) return 0; /* a long name of a scheme file has no room for it */
    return form[0] && stored(z, name) ? 0 : add_found(z, name, solver, list, count);
}

/* A pair is there for steps by tolerance, which layers are not: over L it comes by its name alone. */
static int add_all(const Zoo *z, int colours, const char *solver, Table ***list, size_t *count)
{
    for (size_t i = 0; i < z->count; i++)
        if (!table_implicit(z->scheme[i]) && !table_phi(z->scheme[i]))
            TRY(add_form(z, z->scheme[i], colours, "", solver, list, count));
    for (size_t i = 0; i < z->count; i++)
        if (table_over(z->scheme[i], OP_H) && z->scheme[i]->colours == 2 && !z->scheme[i]->pair &&
            !table_implicit(z->scheme[i]))
            TRY(add_form(z, z->scheme[i], colours, "-layer", solver, list, count));
    return 0;
}

/* Those of a kind, as they are stored. */
static int add_kind(const Zoo *z, int (*is)(const Table *t), int colours, const char *solver,
                    Table ***list, size_t *count)
{
    for (size_t i = 0; i < z->count; i++)
        if (is(z->scheme[i])) TRY(add_form(z, z->scheme[i], colours, "", solver, list, count));
    return 0;
}

static int add_implicit(const Zoo *z, int colours, const char *solver, Table ***list, size_t *count)
{
    return add_kind(z, table_implicit, colours, solver, list, count);
}

static int add_exponential(const Zoo *z, int colours, const char *solver, Table ***list,
                           size_t *count)
{
    return add_kind(z, table_phi, colours, solver, list, count);
}

static const struct {
    int (*add)(const Zoo *z, int colours, const char *solver, Table ***list, size_t *count);
    int colours;
} group[SCHEMES_GROUPS] = {[SCHEMES_ALL] = {add_all, 2},
                           [SCHEMES_DECODERS] = {add_all, 3},
                           [SCHEMES_IMPLICIT] = {add_implicit, 2},
                           [SCHEMES_EXPONENTIAL] = {add_exponential, 2}};

/* The schemes of a name: one, or a group. */
static int add_named(const Zoo *z, const char *name, const char *solver, Table ***list,
                     size_t *count)
{
    int g = scheme_many(name);
    if (g < 0) return add_found(z, name, solver, list, count);
    return group[g].add(z, group[g].colours, solver, list, count);
}

/* Length of the first name of "A, B,...", with the blanks behind it. */
static size_t name_length(const char *at)
{
    size_t comma = paired_comma(at);
    return comma ? comma + 1 + strcspn(at + comma + 1, ",") : strcspn(at, ",");
}

int zoo_list(const Zoo *z, const char *names, const char *solver, Table ***out, size_t *count)
{
    char name[TABLE_NAME];
    int code = 0;
    *out = NULL;
    *count = 0;
    for (const char *at = names; code == 0; at++) {
        at += strspn(at, " \t");
        size_t whole = name_length(at), n = whole;
        while (n > 0 && strchr(" \t", at[n - 1])) n--;
        if (n == 0)
            code = error_set(
                ERR_INPUT,
                "expected scheme names separated by commas, 'all', 'decoders', 'implicit' or "
                "'exponential': '%.60s'",
                names);
        else if (n >= TABLE_NAME)
            code = too_long(at);
        else {
            snprintf(name, sizeof name, "%.*s", (int)n, at);
            code = add_named(z, name, solver, out, count);
        }
        at += whole;
        if (!*at) break;
    }
    if (code == 0) return 0;
    while (*count) table_free((*out)[--*count]);
    *out = memory_free(*out);
    return code;
}
