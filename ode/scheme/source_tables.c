/* source_tables.c: tableaus as other programs write them, out of a source file that is read and not run.
 *
 * A table stands either in the arguments of a call, whose row below says which argument is what, or in names that are
 * assigned one after another and mean by their name what they are: a row of `named`, or of `numbered` where each
 * coefficient has a name of its own (a21, a0201, a10_1, btilde3). Such names belong together as far as the function,
 * class or macro goes that they stand in. Rows are what a new program needs.
 *
 * Without weights b the last row of A has them, as in methods whose last stage is the first one of the next step. Rows of
 * A behind those that b weighs are those of values within a step, and are left out. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "ode/scheme/butcher.h"
#include "ode/scheme/scheme.h"
#include "ode/scheme/source.h"

/* What a value is in a tableau. LOWER: the rows of A from the second on; LAST: a matrix whose last row has the weights
 * where there are no others; ERROR: b - bhat; EXCESS: bhat - b. */
enum {
    PART_A,
    PART_LOWER,
    PART_DIAGONAL,
    PART_LAST,
    PART_B,
    PART_HAT,
    PART_ERROR,
    PART_EXCESS,
    PART_C,
    PART_ORDER,
    PART_EMBEDDED,
    PART_NAME,
    PARTS
};
static const char *const part_words[PARTS] = {"A", "lower", "diagonal", "last",
                                              "b", "hat",   "error",    "excess",
                                              "c", "order", "embedded", "name"};

/* arguments: the parts in their order, '-': none; a later one takes the place of an earlier one. keywords: "word:part". */
static const struct {
    const char *call, *arguments, *keywords;
} calls[] = {{"ExplicitRKTableau", "A c b order", "αEEst:hat adaptiveorder:embedded"},
             {"ImplicitRKTableau", "A c b order", "αEEst:hat adaptiveorder:embedded"},
             {"ButcherTableau", "",
              "a_lower:lower a_diagonal:diagonal b_sol:b b_error:error c:c"}, /* diffrax */
             {"ExplicitRungeKuttaPair", "A b", "A:A b:b bhat:hat name:name"}, /* NodePy */
             {"ExplicitRungeKuttaMethod", "A b", "A:A b:b name:name"},
             {"RungeKuttaMethod", "A b", "A:A b:b name:name"},
             {"TSRKRegister", "name order - A b c hat", ""}, /* PETSc */
             {"TSDIRKRegister", "name order - A b c hat", ""},
             {"TSARKIMEXRegister", "name order - A b c - - - hat", ""},
             {"TSARKIMEXRegister", "name order - last b - A b - hat hat", ""}};

/* Names of lists, "word:part". The first row of which A is there is taken. A word that begins with '_' ends a name; of A
 * it is then that of a row, with its number behind: rk4_coefficients_a1. */
static const char *const named[] = {
    "A:A b:b d:hat c:c q:order p:embedded",                            /* SUNDIALS */
    "A:A B:b E:excess C:c order:order error_estimator_order:embedded", /* SciPy */
    "_b:b _db:error _c:c"};                                            /* Boost */

/* Prefixes of numbers. */
static const char *const numbered[] = {"a:A b:b bhat:hat btilde:excess c:c", /* SciML's caches */
                                       "b:A c:b dc:error a:c"};              /* Boost */

/* Words behind which a table's names begin, and whether the name follows a parenthesis. */
static const struct {
    int language, parenthesis;
    const char *word;
} opens[] = {{SOURCE_C, 1, "ARK_BUTCHER_TABLE"},
             {SOURCE_C, 0, "ARKodeButcherTable"},
             {SOURCE_JULIA, 0, "function"},
             {SOURCE_PYTHON, 0, "class"}};

/* The parts of a table, copies. missing: the line where one stands that was not read. */
typedef struct {
    Value part[PARTS];
    int given[PARTS];
    size_t unread;
    char name[SOURCE_NAME];
} Found;

static void found_init(Found *f)
{
    *f = (Found){0};
    for (int p = 0; p < PARTS; p++) value_init(&f->part[p]);
}

static void found_free(Found *f)
{
    for (int p = 0; p < PARTS; p++) value_free(&f->part[p]);
}
#define FOUND(f)                \
    SCOPED(found_free) Found f; \
    found_init(&f)

typedef struct {
    Reader r;
    const char *file;
    char scope[SOURCE_NAME]; /* of the names at hand; "": the file's */
    size_t line;
    int called;          /* the names at hand are arguments of calls */
    int order, embedded; /* that templates of C++ say; 0: none */
    SourceTable *list;
    size_t count, unordered; /* unordered: tables from here on got no order yet */
} Source;

static int part_of(const char *word, size_t bytes)
{
    for (int p = 0; p < PARTS; p++)
        if (strlen(part_words[p]) == bytes && memcmp(part_words[p], word, bytes) == 0) return p;
    return -1;
}

/* Gives the next "word:part" of a list of them; 0: there is none. */
static int next_pair(const char **at, char word[SOURCE_NAME], int *part)
{
    *at += strspn(*at, " ");
    size_t n = strcspn(*at, ":"), all = strcspn(*at, " ");
    if (!**at) return 0;
    snprintf(word, SOURCE_NAME, "%.*s", (int)n, *at);
    *part = part_of(*at + n + 1, all - n - 1);
    *at += all;
    return 1;
}

/* ---- from values to a tableau ------------------------------------------------------------------------ */

static int write_number(const Source *s, const Value *v, TableauEntry out)
{
    int n;
    if (!v->inexact)
        n = gmp_snprintf(out, TABLEAU_ENTRY, "%Qd", v->q);
    else {
        mpf_t x;
        mpf_init2(x, TABLE_BITS);
        mpf_set_q(x, v->q);
        n = gmp_snprintf(out, TABLEAU_ENTRY, "%.*Fg", TABLE_DIGITS, x);
        mpf_clear(x);
        /* a decimal stays one, so that the scheme is known to be inexact */
        if (n > 0 && n + 2 < TABLEAU_ENTRY && !strpbrk(out, ".e")) strcat(out, ".0");
    }
    if (n > 0 && n < TABLEAU_ENTRY) return 0;
    return error_set(ERR_INPUT, "%s:%zu: a number of more than %d digits", s->file, s->line,
                     TABLEAU_ENTRY);
}

static int write_row(const Source *s, const Value *row, size_t most, TableauEntry *out)
{
    if (!row->is_list && mpq_sgn(row->q) != 0)
        return error_set(ERR_INPUT, "%s:%zu: a number stands where a list should", s->file,
                         s->line);
    for (size_t j = 0; j < row->n && j < most; j++) {
        if (row->item[j].is_list)
            return error_set(ERR_INPUT, "%s:%zu: a list stands where a number should", s->file,
                             s->line);
        TRY(write_number(s, &row->item[j], out[j]));
    }
    return 0;
}

/* Writes a row of coefficients of slopes: what is left out behind the stages is 0. */
static int write_slopes(const Source *s, const Value *row, const Tableau *t, size_t i)
{
    TRY(write_row(s, row, t->stages, tableau_row(t, i)));
    for (size_t j = t->stages; j < row->n; j++)
        if (row->item[j].is_list || mpq_sgn(row->item[j].q) != 0)
            return error_set(ERR_INPUT,
                             "%s:%zu: a row has an entry of stage %zu, and there are %zu stages",
                             s->file, s->line, j + 1, t->stages);
    return 0;
}

/* Makes A of the rows from the second on, and a diagonal. */
static int join_lower(const Source *s, Found *f)
{
    Value *A = &f->part[PART_A];
    if (!f->given[PART_LOWER]) return 0;
    size_t n = f->part[PART_LOWER].n + 1;
    if (n > SOURCE_LONGEST)
        return error_set(ERR_INPUT, "%s:%zu: more than %d stages", s->file, s->line,
                         SOURCE_LONGEST);
    for (size_t i = 0; i < n; i++) {
        Value *row = value_item(A, i);
        Value *entry = row ? value_item(row, i) : NULL;
        if (!entry) return ERR_MEMORY;
        if (i) TRY(value_copy(row, &f->part[PART_LOWER].item[i - 1]));
        entry = value_item(row, i);
        if (!entry) return ERR_MEMORY;
        if (f->given[PART_DIAGONAL] && i < f->part[PART_DIAGONAL].n)
            TRY(value_copy(entry, &f->part[PART_DIAGONAL].item[i]));
    }
    f->given[PART_A] = 1;
    return 0;
}

/* Takes the last row of A, or of another matrix, for weights that are not given; an error of one stage more than there are
 * weighs the slope at y' too. */
static int complete(Found *f)
{
    Value *A = &f->part[PART_A], *b = &f->part[PART_B];
    const Value *from = f->given[PART_LAST] ? &f->part[PART_LAST] : A;
    int rows = 0;
    for (size_t i = 0; i < A->n; i++) rows |= A->item[i].is_list;
    if (A->n && !rows) { /* the one stage's row */
        VALUE(row);
        value_move(&row, A);
        Value *first = value_item(A, 0);
        if (!first) return ERR_MEMORY;
        value_move(first, &row);
    }
    if (!f->given[PART_B] && from->n) TRY(value_copy(b, &from->item[from->n - 1]));
    const Value *error = &f->part[f->given[PART_EXCESS] ? PART_EXCESS : PART_ERROR];
    if (error->n == A->n + 1 && b->n == A->n && mpq_sgn(error->item[A->n].q) != 0) {
        size_t n = A->n;
        Value *row = value_item(A, n);
        if (!row) return ERR_MEMORY;
        TRY(value_copy(row, b));
        if (!value_item(b, n)) return ERR_MEMORY;
        if (!f->given[PART_C] || f->part[PART_C].n != n) return 0;
        Value *c = value_item(&f->part[PART_C], n);
        if (!c) return ERR_MEMORY;
        mpq_set_ui(c->q, 1, 1);
    }
    return 0;
}

static int write_hat(const Source *s, Found *f, Tableau *t)
{
    Value *hat = &f->part[PART_HAT];
    VALUE(none);
    if (f->given[PART_ERROR] || f->given[PART_EXCESS]) {
        int excess = f->given[PART_EXCESS];
        Value *error = &f->part[excess ? PART_EXCESS : PART_ERROR];
        TRY(value_copy(hat, &f->part[PART_B]));
        for (size_t j = 0; j < error->n; j++)
            if (!value_item(hat, j)) return ERR_MEMORY;
        for (size_t j = 0; j < hat->n; j++)
            if (!value_item(error, j)) return ERR_MEMORY;
        if (value_combine(hat, excess ? '+' : '-', error) != 0)
            return error_set(ERR_INPUT, "%s:%zu: the estimate of the error is not read", s->file,
                             s->line);
        f->given[PART_HAT] = 1;
    }
    /* Programs that need an estimate have one of zeros for methods without. */
    int differs = 0;
    for (size_t j = 0; j < t->stages; j++) {
        const Value *x = j < hat->n ? &hat->item[j] : &none,
                    *b = j < f->part[PART_B].n ? &f->part[PART_B].item[j] : &none;
        differs |= !mpq_equal(x->q, b->q);
    }
    t->pair = f->given[PART_HAT] && hat->n > 0 && differs;
    return t->pair ? write_slopes(s, hat, t, t->stages + HAT) : 0;
}

/* Writes the nodes. A list that lacks the first stage's, or begins with the second's, is moved by one. */
static int write_nodes(const Source *s, Found *f, Tableau *t)
{
    Value *c = &f->part[PART_C];
    size_t first = f->given[PART_LOWER] ? 1 : 0;
    if (!f->given[PART_C]) return 0;
    int explicit = strcmp(t->entry[0], "0") == 0;
    if (explicit && c->n && c->n < f->part[PART_A].n && !c->item[0].is_list &&
        mpq_sgn(c->item[0].q) != 0)
        first = 1;
    return write_row(s, c, t->stages - first, tableau_row(t, t->stages + NODES) + first);
}

static int whole(const Value *v)
{
    int is = !v->is_list && mpz_cmp_ui(mpq_denref(v->q), 1) == 0 && mpq_cmp_ui(v->q, 100, 1) < 0;
    return is && mpq_sgn(v->q) > 0 ? (int)mpz_get_ui(mpq_numref(v->q)) : 0;
}

static void read_orders(const Source *s, const Found *f, SourceTable *t)
{
    t->order = whole(&f->part[PART_ORDER]);
    t->embedded = whole(&f->part[PART_EMBEDDED]);
    if (!t->order && s->order) t->order = s->order, t->embedded = s->embedded;
    if (!t->order) coefficients_claims_of(f->name, &t->order, &t->embedded);
}

static int make_tableau(const Source *s, Found *f, SourceTable *out)
{
    SCOPED(tableau_free) Tableau t = {.file = s->file, .pair = 0};
    Value *A = &f->part[PART_A], *b = &f->part[PART_B];
    TRY(join_lower(s, f));
    TRY(complete(f));
    size_t weighed = b->n;
    if (b->n > A->n)
        return error_set(ERR_INPUT, "%s:%zu: %zu weights, and A has %zu rows", s->file, out->line,
                         b->n, A->n);
    for (int p = PART_HAT; p <= PART_EXCESS; p++)
        if (f->part[p].n > weighed) weighed = f->part[p].n;
    TRY(tableau_room(&t, weighed && weighed < A->n ? weighed : A->n));
    snprintf(t.name, sizeof t.name, "%s", out->name);
    if (out->order)
        snprintf(t.note, sizeof t.note,
                 out->embedded ? "order %d, embedded %d, as its source says"
                               : "order %d, as its source says",
                 out->order, out->embedded);
    for (size_t i = 0; i < t.stages; i++) TRY(write_slopes(s, &A->item[i], &t, i));
    TRY(write_slopes(s, b, &t, t.stages + WEIGHTS));
    TRY(write_hat(s, f, &t));
    TRY(write_nodes(s, f, &t));
    return tableau_scheme(&t, &out->table);
}

/* Writes the name of a file without its folder and its end. */
static const char *file_stem(const char *file, char out[SOURCE_NAME / 2])
{
    const char *slash = strrchr(file, '/');
    snprintf(out, SOURCE_NAME / 2, "%s", slash ? slash + 1 : file);
    out[strcspn(out, ".")] = '\0';
    return out;
}

/* Gives each table of a file another name. */
static void name_table(const Source *s, const char *name, SourceTable *t)
{
    const char *const ends[] = {"_tableau", "ConstantCacheActual", "ConstantCache", "Tableau"};
    size_t again = 1;
    char stem[SOURCE_NAME / 2];
    if (*name == '_') name++;
    if (strcmp(name, "explicit_tableau") == 0) name = "explicit";
    if (strcmp(name, "implicit_tableau") == 0) name = "implicit";
    snprintf(t->name, SOURCE_TABLE_NAME, "%s", *name ? name : "tableau");
    if (strcmp(t->name, "explicit") == 0 || strcmp(t->name, "implicit") == 0) /* of a pair */
        snprintf(t->name, SOURCE_TABLE_NAME, "%s-%s", file_stem(s->file, stem), name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(t->name), m = strlen(ends[i]);
        if (n > m && strcmp(t->name + n - m, ends[i]) == 0) t->name[n - m] = '\0';
    }
    size_t n = strlen(t->name);
    for (size_t i = 0; i < s->count; i++)
        if (strncasecmp(s->list[i].name, t->name, n) == 0 &&
            (!s->list[i].name[n] || s->list[i].name[n] == '+'))
            again++;
    if (again > 1) snprintf(t->name + n, sizeof t->name - n, "+%zu", again);
}

/* Adds a table, or why it is none. */
static int add(Source *s, Found *f, const char *name, size_t line)
{
    TRY(memory_more(&s->list, s->count, sizeof *s->list));
    SourceTable *t = &s->list[s->count];
    t->line = line;
    name_table(s, name, t);
    snprintf(f->name, sizeof f->name, "%s", t->name);
    read_orders(s, f, t);
    s->line = line;
    s->count++;
    int code = f->unread
                   ? error_set(ERR_INPUT, "%s:%zu: is no number, or list of numbers, that is read",
                               s->file, f->unread)
               : !f->given[PART_A] && !f->given[PART_LOWER]
                   ? error_set(ERR_INPUT, "%s:%zu: no matrix A is read", s->file, line)
                   : make_tableau(s, f, t);
    if (code == ERR_INPUT) snprintf(t->refused, sizeof t->refused, "%s", error_text());
    return code == ERR_INPUT ? 0 : code;
}

/* ---- calls ------------------------------------------------------------------------------------------- */

/* Takes one argument for a part; NULL and its like are none. */
static int take_argument(Source *s, Found *f, int part)
{
    Reader *r = &s->r;
    const Token *t = reader_peek(r);
    VALUE(v);
    if (part == PART_NAME) {
        reader_name(t, f->name);
        return 0;
    }
    if (reader_is(t, "NULL") || reader_is(t, "None") || reader_is(t, "nothing")) return 0;
    int address = t->kind == '&';
    r->at += (size_t)address;
    t = reader_peek(r);
    char name[SOURCE_NAME];
    reader_name(t, name);
    const Variable *x = address ? reader_find(r, name) : NULL;
    int code = !address          ? reader_expression(r, &v)
               : !x || x->unread ? SOURCE_UNREAD
                                 : value_copy(&v, &x->v);
    if (code < 0) return code;
    int kind = reader_peek(r)->kind;
    if (!address && code == 0 && kind != ',' && kind != ';' && kind != ')') code = SOURCE_UNREAD;
    if (code == SOURCE_UNREAD) {
        const Variable *named_one = t->kind == TOKEN_NAME ? reader_find(r, name) : NULL;
        f->unread = named_one && named_one->unread ? named_one->unread : t->line;
        return 0;
    }
    value_move(&f->part[part], &v);
    f->given[part] = 1;
    return 0;
}

static int keyword_part(const char *keywords, const Token *t)
{
    char word[SOURCE_NAME];
    int part;
    for (const char *at = keywords; next_pair(&at, word, &part);)
        if (reader_is(t, word)) return part;
    return -1;
}

/* Reads the arguments behind a call's parenthesis. A keyword without a value in Julia stands for the name that it is. */
static int read_call(Source *s, size_t row, Found *f)
{
    Reader *r = &s->r;
    const char *order = calls[row].arguments;
    r->nest = 1;
    r->matrix = 0;
    while (reader_peek(r)->kind != ')' && reader_peek(r)->kind != TOKEN_END) {
        const Token *t = reader_peek(r);
        int keyword = t->kind == TOKEN_NAME ? keyword_part(calls[row].keywords, t) : -1;
        int equal = t->kind == TOKEN_NAME && t[1].kind == '=', part = equal ? keyword : -1;
        if (equal)
            r->at += 2;
        else {
            size_t n = strcspn(order, " ");
            part = n ? part_of(order, n) : keyword;
            order += n + (order[n] == ' ');
        }
        size_t from = r->at;
        if (part >= 0) TRY(take_argument(s, f, part));
        r->at = from;
        reader_skip_argument(r);
        if (reader_peek(r)->kind == ',' || reader_peek(r)->kind == ';')
            r->at++;
        else if (reader_peek(r)->kind != ')')
            break;
    }
    r->nest = 0;
    return 0;
}

/* Reads a call that makes a table, if one begins at the token at hand. */
static int try_calls(Source *s, int *done)
{
    Reader *r = &s->r;
    size_t from = r->at;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const Token *t = &r->token[from], *before = from ? t - 1 : NULL;
        if (!reader_is(t, calls[i].call) || t[1].kind != '(') continue;
        int types = reader_is(&t[2], "name") || reader_is(&t[2], "self") ||
                    (t[2].kind == TOKEN_NAME && t[3].kind == TOKEN_NAME);
        if (types || (before && before->kind == TOKEN_NAME && r->language == SOURCE_C))
            continue; /* a declaration */
        FOUND(f);
        r->at = from + 2;
        *done = 1;
        TRY(read_call(s, i, &f));
        if (!f.given[PART_A] && !f.given[PART_LOWER] && !f.unread) continue; /* a prototype */
        s->called = 1;
        int scoped = r->language == SOURCE_JULIA && s->scope[0];
        TRY(add(s, &f, f.name[0] ? f.name : scoped ? s->scope : r->target, t->line));
    }
    return 0;
}

/* ---- names ------------------------------------------------------------------------------------------- */

/* Takes a name's value for a part. */
static int take_variable(const Reader *r, const char *word, Found *f, int part)
{
    const Variable *x = NULL;
    size_t n = strlen(word);
    for (size_t i = 0; i < r->variables && !x; i++) {
        const char *name = r->variable[i].name;
        size_t m = strlen(name);
        if (word[0] == '_' ? m > n && strcmp(name + m - n, word) == 0 : strcmp(name, word) == 0)
            x = &r->variable[i];
    }
    if (!x) return 0;
    if (x->unread && part != PART_ORDER && part != PART_EMBEDDED) f->unread = x->unread;
    f->given[part] = 1;
    return value_copy(&f->part[part], &x->v);
}

/* Takes the lists whose names end with _a1, _a2, ... for the rows of A. */
static int take_rows(const Reader *r, Found *f)
{
    for (size_t i = 0; i < r->variables; i++) {
        const char *end = strrchr(r->variable[i].name, '_');
        if (!end || end[1] != 'a' || strspn(end + 2, "0123456789") != strlen(end + 2)) continue;
        int row = atoi(end + 2);
        if (row < 1 || row >= SOURCE_LONGEST) continue;
        Value *to = value_item(&f->part[PART_A], (size_t)row);
        if (!to) return ERR_MEMORY;
        if (r->variable[i].unread) f->unread = r->variable[i].unread;
        TRY(value_copy(to, &r->variable[i].v));
        f->given[PART_A] = 1;
    }
    Value *first = f->given[PART_A] ? value_item(&f->part[PART_A], 0) : NULL;
    return first && !value_item(first, 0) ? ERR_MEMORY : 0;
}

static int take_named(const Reader *r, size_t row, Found *f)
{
    char word[SOURCE_NAME];
    int part;
    for (const char *at = named[row]; next_pair(&at, word, &part);)
        TRY(take_variable(r, word, f, part));
    return named[row][0] == '_' ? take_rows(r, f) : 0;
}

/* Splits the digits of a21, a0201, a101, a10_1 into two numbers; 0: they are none. */
static int split(const char *digits, size_t *i, size_t *j)
{
    size_t n = strspn(digits, "0123456789"), rest = strlen(digits) - n;
    char first[8];
    if (n == 0 || n > 4 || rest > 4) return 0;
    size_t m = rest ? n : (n + 1) / 2;
    if (rest ? digits[n] != '_' || strspn(digits + n + 1, "0123456789") != rest - 1 || rest < 2
             : n < 2)
        return 0;
    snprintf(first, sizeof first, "%.*s", (int)m, digits);
    *i = (size_t)atoi(first);
    *j = (size_t)atoi(digits + m + (rest > 0));
    return *i > 0 && *j > 0;
}

/* Takes all numbers of a prefix for a part. */
static int take_numbers(const Reader *r, const char *prefix, Found *f, int part)
{
    size_t n = strlen(prefix);
    for (size_t k = 0; k < r->variables; k++) {
        const Variable *x = &r->variable[k];
        size_t i = 0, j = 1;
        if (strncmp(x->name, prefix, n) != 0 || x->v.is_list) continue;
        const char *digits = x->name + n;
        int plain = *digits && strspn(digits, "0123456789") == strlen(digits) && strlen(digits) < 4;
        if (part == PART_A ? !split(digits, &i, &j) : !plain) continue;
        if (part != PART_A) j = (size_t)atoi(digits);
        if (j == 0 || i > SOURCE_LONGEST || j > SOURCE_LONGEST) continue;
        Value *to = part == PART_A ? value_item(&f->part[part], i - 1) : &f->part[part];
        if (to) to = value_item(to, j - 1);
        if (!to) return ERR_MEMORY;
        if (x->unread) f->unread = x->unread;
        f->given[part] = 1;
        TRY(value_copy(to, &x->v));
    }
    return 0;
}

static int take_numbered(const Reader *r, size_t row, Found *f)
{
    char word[SOURCE_NAME];
    int part;
    for (const char *at = numbered[row]; next_pair(&at, word, &part);)
        TRY(take_numbers(r, word, f, part));
    Value *A = &f->part[PART_A];
    if (A->n && !value_item(&A->item[0], 0)) return ERR_MEMORY;
    /* Tables of values within a step alone begin later; those with a diagonal do not have it among their numbers. */
    int begins = A->n > 1 && A->item[1].n > 0 && !reader_find(r, "γ") && !reader_find(r, "gamma");
    if (!begins || A->n < 3) f->given[PART_A] = 0;
    return 0;
}

static int take_some(Source *s, size_t i, int list, Found *f)
{
    TRY(list ? take_named(&s->r, i, f) : take_numbered(&s->r, i, f));
    int weights = f->given[PART_B] || !list;
    if (list && f->given[PART_ORDER] && f->part[PART_B].n == 1 &&
        !f->given[PART_A]) { /* Euler's method */
        if (!value_item(&f->part[PART_A], 0)) return ERR_MEMORY;
        f->given[PART_A] = 1;
    }
    f->given[PART_A] &= weights && (f->part[PART_A].n > 0 || f->unread);
    return 0;
}

/* Makes a table of the names at hand, if they are one, and forgets them. */
static int close_scope(Source *s)
{
    enum { LISTS = sizeof named / sizeof *named, ALL = LISTS + sizeof numbered / sizeof *numbered };
    for (size_t k = 0; k < ALL && !s->called; k++) {
        FOUND(f);
        int list = k < LISTS;
        TRY(take_some(s, list ? k : k - LISTS, list, &f));
        int wanted = !list || !f.unread || (f.given[PART_ORDER] && s->scope[0]);
        if (!f.given[PART_A] || !wanted) continue;
        char stem[SOURCE_NAME / 2];
        TRY(add(s, &f, s->scope[0] ? s->scope : file_stem(s->file, stem), s->line));
        break;
    }
    s->called = 0;
    reader_forget(&s->r);
    return 0;
}

/* Begins a table's names where a word of `opens` stands. */
static int try_open(Source *s, int *done)
{
    Reader *r = &s->r;
    const Token *t = &r->token[r->at];
    if (r->language == SOURCE_C && reader_is(t, "struct") && t[1].kind == TOKEN_NAME)
        reader_name(&t[1], r->scope);
    for (size_t i = 0; i < sizeof opens / sizeof *opens; i++) {
        const Token *name = t + 1 + opens[i].parenthesis;
        if (opens[i].language != r->language || !reader_is(t, opens[i].word)) continue;
        if (opens[i].parenthesis && t[1].kind != '(') continue;
        if (name->kind != TOKEN_NAME) continue;
        if (r->language == SOURCE_C && name[1].kind != (opens[i].parenthesis ? ',' : '(')) continue;
        size_t line = t->line;
        TRY(close_scope(s));
        reader_name(name, s->scope);
        s->line = line;
        r->at = (size_t)(name - r->token) + 1;
        *done = 1;
        return 0;
    }
    return 0;
}

/* Returns the whole number of a token, up to two digits; 0: it is none. */
static int number_of(const Token *t)
{
    int n = 0;
    for (size_t i = 0; i < t->bytes; i++) {
        if (t->kind != TOKEN_NUMBER || !isdigit((unsigned char)t->at[i]) || i == 2) return 0;
        n = 10 * n + (t->at[i] - '0');
    }
    return n;
}

/* Reads what is said of orders outside of tables: `def order(self, terms): return 5` of the tables before it, and the
 * numbers among the arguments of a C++ template, stages, order, order of a step, of the estimate: < 6, 5, 5, 4 >. */
static void try_orders(Source *s)
{
    Reader *r = &s->r;
    const Token *t = &r->token[r->at];
    if (reader_is(t, "def") && reader_is(&t[1], "order")) {
        size_t i = r->at;
        while (r->token[i].kind != TOKEN_END && !reader_is(&r->token[i], "return") &&
               i < r->at + 400)
            i++;
        const Token *n = &r->token[i + (r->token[i].kind != TOKEN_END)];
        int order = number_of(n);
        for (; s->unordered < s->count; s->unordered++)
            if (!s->list[s->unordered].order) s->list[s->unordered].order = order;
    }
    char name[SOURCE_NAME];
    reader_name(t, name);
    if (r->language != SOURCE_C || strncmp(name, "explicit_", 9) != 0 || t[1].kind != '<') return;
    int number[4] = {0}, n = 0;
    for (const Token *a = t + 2; a->kind != TOKEN_END && a->kind != '{' && a - t < 60 && n < 4; a++)
        if (a->kind == TOKEN_NUMBER) number[n++] = number_of(a);
    s->order = n == 3 ? number[0] : number[1];
    s->embedded = n >= 3 ? number[n - 1] : 0;
}

/* ---- a file ------------------------------------------------------------------------------------------ */

static const struct {
    const char *end;
    int language;
} languages[] = {{".c", SOURCE_C},      {".h", SOURCE_C},   {".def", SOURCE_C},
                 {".cpp", SOURCE_C},    {".hpp", SOURCE_C}, {".jl", SOURCE_JULIA},
                 {".py", SOURCE_PYTHON}};

static int language_of(const char *file)
{
    size_t n = strlen(file);
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
        size_t m = strlen(languages[i].end);
        if (n > m && strcmp(file + n - m, languages[i].end) == 0) return languages[i].language;
    }
    return -1;
}

int source_is(const char *file)
{
    return language_of(file) >= 0;
}

static int read_all(Source *s)
{
    Reader *r = &s->r;
    while (r->token[r->at].kind != TOKEN_END) {
        int done = 0;
        TRY(try_open(s, &done));
        if (!done) TRY(try_calls(s, &done));
        if (done) continue;
        try_orders(s);
        TRY(reader_assign(r));
    }
    if (r->work > SOURCE_WORK)
        return error_set(ERR_INPUT, "%s: it would take too long to read", s->file);
    return close_scope(s);
}

void source_free(SourceTable *list, size_t count)
{
    for (size_t i = 0; i < count; i++) table_free(list[i].table);
    memory_free(list);
}

int source_read(const char *file, const char *text, size_t bytes, SourceTable **list, size_t *count)
{
    Source s = {.file = file, .line = 1};
    int code = reader_open(&s.r, language_of(file), text, bytes);
    if (code == 0) code = read_all(&s);
    if (code == SOURCE_UNREAD) code = error_set(ERR_INPUT, "%s: it is not read", file);
    reader_free(&s.r);
    *list = s.list;
    *count = s.count;
    return code;
}

int source_parse(const char *file, const char *text, size_t bytes, Table ***list, size_t *count)
{
    SourceTable *found;
    size_t n, before = *count;
    int code = source_read(file, text, bytes, &found, &n);
    if (code == 0 && n == 0)
        code = error_set(
            ERR_INPUT, "%s: no tableau is found in it; ode/scheme/tableaus.md has the forms", file);
    for (size_t i = 0; i < n && code == 0; i++) {
        if (found[i].refused[0]) code = error_set(ERR_INPUT, "%s", found[i].refused);
        if (code == 0) code = memory_more(list, *count, sizeof **list);
        if (code != 0) break;
        (*list)[(*count)++] = found[i].table;
        found[i].table = NULL;
    }
    while (code != 0 && *count > before) table_free((*list)[--*count]);
    source_free(found, n);
    return code;
}
