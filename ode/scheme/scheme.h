/* scheme.h: schemes as texts: read, printed, looked up by name, made of others. What a scheme is: table.h. */
#ifndef TROTTER_SCHEME_H
#define TROTTER_SCHEME_H

#include <stddef.h>
#include <stdint.h>

#include "ode/scheme/table.h"

/* ---- scheme.c: the language of schemes --------------------------------------------------------- */

/* Parses every scheme of a text; `file` is for messages "file:line:column: expected ...". Appends to
 * *list (count, grown with memory_more; tables owned by it). The text need not be terminated; NUL
 * bytes are an error, as is a text that is longer than SCHEME_BYTES or would take seconds to read.
 * ERR_INPUT leaves the list as it was. */
enum { SCHEME_BYTES = 1 << 20 };
int scheme_parse(const char *file, const char *text, size_t bytes, Table ***list, size_t *count);
/* Returns 1 where a line, which ends before `stop`, is a title, a source or a note. */
int scheme_is_remark(const char *line, const char *stop);
/* Returns 1 where a scheme can have this name: 1 to TABLE_NAME - 1 letters, digits and - _ . +, or ':' and '/' as in
 * made names. */
int scheme_named(const char *name);
/* Returns SCHEMES_* of a name, or -1. "all", "decoders", "implicit", "exponential" and "rosenbrock" stand for many
 * schemes (zoo_list), and no scheme can have such a name. */
enum {
    SCHEMES_ALL,
    SCHEMES_DECODERS,
    SCHEMES_IMPLICIT,
    SCHEMES_EXPONENTIAL,
    SCHEMES_ROSENBROCK,
    SCHEMES_GROUPS
};
int scheme_many(const char *name);

/* ---- zoo.c: schemes by name -------------------------------------------------------------------- */

typedef struct {
    size_t count, built_in, replacements;
    Table **scheme;   /* built-in texts (built_in of them), then files in the order given */
    Table **replaced; /* (replacements) built-in ones whose names files took */
} Zoo;

int zoo_open(Zoo *z); /* the built-in schemes */
/* Adds a scheme file, or a tableau. A scheme takes the place of a built-in one of its name; a name twice in files:
 * ERR_INPUT. */
int zoo_read(Zoo *z, const char *file);
void zoo_close(Zoo *z);

/* Writes a name as tables have it: sandwich:N-K for sandwich:N,K; dial:2-1/2 for dial:2,0.5. ERR_INPUT: too long. */
int zoo_name(const char *given, char name[TABLE_NAME]);

enum { ZOO_LETTERS = 128 }; /* most letters of a word: */

/* Looks a name up: NAME, NAME:SOLVER, NAME:fixed-point-N (fixed_point.c), NAME-layer, NAME-F, NAME-G (over_operator.c),
 * word:sf..[:SOLVER], for a decoder word:scf.., sandwich:N-K, looped:N, repeat:N, dial:S-THETA, and any of these
 * with -decoder behind it (over_operator.c); sandwich:N,K and dial:S,THETA are the same names. A splitting without suffix
 * takes `solver` ("exact": its flows are kept; otherwise expanded). Caller frees. Unknown: ERR_INPUT, with the
 * nearest name. */
int zoo_find(const Zoo *z, const char *name, const char *solver, Table **out);

/* Does the same for a decoder's scheme: a scheme of two colours gets -decoder, before its sub-flow suffix. */
int zoo_find_decoder(const Zoo *z, const char *name, const char *solver, Table **out);

/* Finds every name of "A, B,..." in order, with or without blanks around names. "all" has the stored schemes of two
 * colours and their -layer (except of embedded pairs), "decoders" has these as decoders and the stored ones of three,
 * all of explicit stages or flows; "implicit" has the stored schemes with implicit stages, "exponential" those with phi
 * functions, "rosenbrock" those with solve. Caller frees both levels. */
int zoo_list(const Zoo *z, const char *names, const char *solver, Table ***out, size_t *count);

/* ---- butcher.c: tableaus of Runge-Kutta methods --------------------------------------------------- */

/* Returns 1 where a text is a tableau, in JSON or drawn, and no text of schemes. */
int butcher_is(const char *text, size_t bytes);
/* Parses as scheme_parse does, one tableau, or a pair with two rows of weights; butcher.c has both forms. A c that is
 * not the sum of its row becomes a node, with a note. */
int butcher_parse(const char *file, const char *text, size_t bytes, Table ***list, size_t *count);
/* Prints a one-step table of stages H, in a form that reads back as it, or as LaTeX. ERR_INPUT: another table. */
enum { BUTCHER_JSON, BUTCHER_DRAWN, BUTCHER_LATEX, BUTCHER_FORMS };
int butcher_print(const Table *t, int form, FILE *f);

/* ---- source_tables.c: tableaus in programs of others ------------------------------------------------ */

/* A table of a source file, or why it is not read. order, embedded: what the file says of it; 0: nothing. */
enum { SOURCE_TABLE_NAME = 96 };
typedef struct {
    char name[SOURCE_TABLE_NAME];
    size_t line;
    int order, embedded;
    Table *table;      /* owned; NULL where it is refused */
    char refused[300]; /* FILE:LINE: words, else "" */
} SourceTable;
/* Returns 1 where a file's name ends as those of C, C++, Julia or Python do, or with .def. */
int source_is(const char *file);
/* Reads the tableaus of such a file in its order (list: source_free, whatever the code). ERR_MEMORY. */
int source_read(const char *file, const char *text, size_t bytes, SourceTable **list,
                size_t *count);
void source_free(SourceTable *list, size_t count);
/* Parses as butcher_parse does, all tableaus of such a file. ERR_INPUT: there is none, or one that is not read. */
int source_parse(const char *file, const char *text, size_t bytes, Table ***list, size_t *count);

/* ---- source_print.c: tableaus for programs of others ------------------------------------------------ */

/* Prints the tableau of a one-step table of stages H, with the orders that it has, in a form that source_parse reads back.
 * ERR_INPUT: another table, or one that the program has no place for. */
enum { SOURCE_SUNDIALS, SOURCE_SCIML, SOURCE_NODEPY, SOURCE_DIFFRAX, SOURCE_SCIPY, SOURCE_FORMS };
int source_print(const Table *t, int form, int order, int embedded, FILE *f);

/* ---- coefficients.c: the numbers of a text as pieces of it ------------------------------------------ */

/* A coefficient of a text of one scheme, or of a tableau: the piece at .. at + bytes, with its sign. */
enum { COEFFICIENT_TEXT, COEFFICIENT_JSON, COEFFICIENT_DRAWN };
typedef struct {
    int form; /* COEFFICIENT_ */
    size_t at, bytes;
    char sign;      /* '-' or '+' before it belongs to the piece; '\0': none */
    int bare;       /* a slope without a number: 1 */
    int asked;      /* '?' stands there; its value is 1 until it is known */
    char word[640]; /* as it is written: -1/2, 0.25 */
    mpq_t value;
} Coefficient;

typedef struct {
    size_t count;
    Coefficient *list; /* in the order of the text */
} Coefficients;

/* Finds the coefficients of a text in any form that zoo_read takes. Left out is what a scheme is not linear in: numbers
 * under roots and powers, divisors, and expressions in tableaus. Caller: coefficients_free. ERR_MEMORY. */
int coefficients_find(const char *text, size_t bytes, Coefficients *out);
void coefficients_free(Coefficients *c);
/* Reads "-1/2", "0.25", "2.5e-3/7" exactly; returns the bytes of it, 0: no number stands there. */
size_t coefficient_read(const char *text, size_t bytes, mpq_t out);
/* Writes the text with value[i] in place of coefficient i, NULL: as it is. *out (count bytes and a NUL) is from
 * open_memstream: the caller frees it with free(). ERR_MEMORY. */
int coefficients_written(const Coefficients *c, const char *text, size_t bytes,
                         const char *const *value, char **out, size_t *count);
/* Reads which orders a text claims, of the method and of the embedded one; 0: it says nothing. They are told by the members
 * "order" and "embedded" of JSON, and by the words "order 5", "embedded 4" and "5(4)" in titles, sources, notes and the
 * first line of a drawn tableau. */
void coefficients_claims(const char *text, size_t bytes, int *order, int *embedded);
/* Reads them from one line. */
void coefficients_claims_of(const char *line, int *order, int *embedded);

/* ---- misprint.c: how near a value is to what is written ------------------------------------------------ */

enum { MISPRINT_WORD = 640 };

typedef struct {
    /* 1: one slip, which `words` names: the sign, a digit exchanged, lost, doubled or too many, two digits transposed,
     * numerator and denominator exchanged. Else 2 or more, the characters that differ, and `words` is "". */
    int distance;
    const char *words;
    char text
        [MISPRINT_WORD]; /* the value, in the form of what is written where one slip explains it */
} Misprint;

/* Finds by which slip `word` was written for the value, which is known to `within` (0: exactly). Of several slips the
 * nearest to the value is taken. Without one the text is the fraction, or where the value is known to `within` > 0 the
 * simplest fraction there if it is no accident, else decimals. */
void coefficient_misprint(const char *word, const mpq_t value, double within, Misprint *out);
/* Returns in how many bits a number is told, without its sign: p/q takes 2 log2 (p + 1) + 2 log2 q, so that a number n has
 * the probability 1/n^2. Decimals that are no simple fraction take 53, however many digits were printed of them. */
double coefficient_bits(const char *word);

/* ---- rosenbrock.c: Rosenbrock methods and W-methods as alpha, gamma and b ------------------------ */

/* k_i = h H(y + sum over j < i of alpha_ij k_j) + h J sum over j <= i of gamma_ij k_j, y' = y + sum b_i k_i; for a W-method
 * J is any matrix. alpha, gamma (stages, stages) by rows; b, bhat (stages). Source: Hairer, Wanner 1996, IV.7. */
typedef struct {
    size_t stages;
    mpq_t *M, *alpha, *gamma, *b, *bhat; /* M (stages, stages): the language's stages are M k */
} Rosenbrock;
/* Finds them for a table whose stages are H and solve of all operators. ERR_INPUT, in words: another table. */
int rosenbrock_find(const Table *t, Rosenbrock *out);
void rosenbrock_free(Rosenbrock *r);
int rosenbrock_latex(const Table *t, FILE *f);

/* ---- over_operator.c: a scheme over another operator ----------------------------------------------------- */

/* Writes the text of t with another operator in place of the one all its stages have: OP_L for H; OP_F or OP_G
 * for H or L, where the other sublayer takes an Euler sub-step, F before or G behind. `name` is for messages.
 * ERR_INPUT: stages of several operators; past states (OP_F, OP_G). Source: Li et al. 2022, figure 4. OP_A
 * writes the decoder's scheme of any t of two colours, with C behind every F; ERR_INPUT: three colours. Source:
 * Vaswani et al. 2017, section 3.1; Lu et al. 2019, figure 2. */
int scheme_over(const Table *t, int op, const char *name, FILE *f);

/* ---- fixed_point.c: an implicit scheme iterated ---------------------------------------------------- */

/* Writes the explicit scheme in which stages of t that need one another begin with their operators at y. They are then
 * put into their own rows `corrections` times (0 .. 64), each time from the slopes of the time before. `name` is for
 * messages. ERR_INPUT: no implicit stages, a gate, or `corrections` out of range. */
int scheme_fixed_point(const Table *t, int corrections, const char *name, FILE *f);

/* ---- compose.c: schemes made of one-step schemes --------------------------------------------------- */

/* A step of a scheme (borrowed, without symbols) over c h; inexact: c is no rational as given. */
typedef struct {
    const Table *scheme;
    mpq_t c;
    int inexact;
} Substep;

/* Joins the steps one after another into one scheme that prints and parses: flows alone, or stages alone, the points of
 * later ones shifted. The weights need not sum to 1. ERR_INPUT: history, learned names, flows beside stages, a
 * decoder's scheme beside another. Caller frees. */
int scheme_compose(const Substep *step, size_t n, Table **out);
/* Makes S*(h) = S(-h)^-1. A splitting by exact flows is reversed. Stages F, G, C, H of a one-step table get a*_ij =
 * b_(s+1-j) - a_(s+1-i,s+1-j), b*_i = b_(s+1-i), and are implicit where they were explicit. ERR_INPUT: other
 * tables. */
int scheme_adjoint(const Table *t, Table **out);
/* Makes P over h, then S, then P^-1, which is P's adjoint over -h. */
int scheme_conjugate(const Table *P, const Table *S, Table **out);
/* Calls scheme_compose for "A,B,..", n names each over h / n, or "c*A,c*B,..", c as the language writes a coefficient.
 * total out: the sum of the weights. A splitting has exact flows unless its suffix says otherwise. */
int zoo_compose(const Zoo *z, const char *list, mpq_t total, Table **out);

#endif
