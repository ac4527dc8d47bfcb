/* drawn.h: texts that the bytes of an input draw, with the numbers that they must have. The second reader of a
 * differential harness knows what was drawn and never reads the text. */
#ifndef TROTTER_FUZZ_DRAWN_H
#define TROTTER_FUZZ_DRAWN_H

#include <gmp.h>
#include <stdarg.h>

#include "ode/ode.h"
#include "tests/fuzz/fuzz.h"

enum { DRAWN_BYTES = 1 << 16, DRAWN_NAMES = 3, DRAWN_STAGES = 4, DRAWN_DEEPEST = 3 };
enum { DRAWN_LONG = 4096 }; /* bits of a number that may be refused */

typedef struct {
    const uint8_t *at, *end;
    size_t n, names, bits; /* bits: of the longest number */
    int inexact, plain;    /* a decimal was drawn; plain: no power, no name, no blank */
    mpq_t name[DRAWN_NAMES];
    char text[DRAWN_BYTES];
} Drawn;

/* Weights of slopes: of stage i, or of the update behind them, on stage j, so many steps ago. */
typedef struct {
    mpq_t c[DRAWN_STAGES + 1][DRAWN_STAGES][DRAWN_DEEPEST];
} DrawnRows;

/* Returns a number below n from the next byte; 0 behind the last. */
static inline size_t draw(Drawn *d, size_t n)
{
    return d->at < d->end ? *d->at++ % n : 0;
}

static inline void draw_text(Drawn *d, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(d->text + d->n, DRAWN_BYTES - d->n, format, list);
    va_end(list);
    FUZZ_CHECK(n >= 0 && (size_t)n < DRAWN_BYTES - d->n);
    d->n += (size_t)n;
}

static inline void drawn_size(Drawn *d, const mpq_t x)
{
    size_t bits = mpz_sizeinbase(mpq_numref(x), 2) + mpz_sizeinbase(mpq_denref(x), 2);
    if (bits > d->bits) d->bits = bits;
}

static inline void draw_leaf(Drawn *d, mpq_t x)
{
    size_t kind = draw(d, d->plain ? 3 : 4), p = draw(d, 256), q = 1 + draw(d, 99);
    if (kind == 3 && d->names > 0) {
        draw_text(d, "a%zu", p % d->names);
        mpq_set(x, d->name[p % d->names]);
        return;
    }
    draw_text(d, kind == 1 ? "(%zu/%zu)" : kind == 2 ? "%zu.%02zu" : "%zu", p, q);
    d->inexact |= kind == 2;
    mpq_set_ui(x, kind == 2 ? 100 * p + q : p, kind == 1 ? q : kind == 2 ? 100 : 1);
    mpq_canonicalize(x);
}

/* Writes (x)^k, k from -2 to 3, behind the x that stands from `begin`. */
static inline void draw_power(Drawn *d, mpq_t x)
{
    int k = (int)draw(d, 6) - 2, times = abs(k);
    mpq_t base;
    if (mpq_sgn(x) == 0 && k < 1) k = times = 1; /* zero has no other */
    draw_text(d, "^%s%d", k < 0 ? "-" : "", times);
    mpq_init(base);
    if (k < 0) mpq_inv(x, x);
    mpq_set(base, x);
    mpq_set_ui(x, 1, 1);
    while (times-- > 0) mpq_mul(x, x, base);
    mpq_clear(base);
}

/* Writes a number as an expression in parentheses and finds x, what it must be. */
static inline void draw_number(Drawn *d, int depth, mpq_t x)
{
    static void (*const apply[])(mpq_ptr, mpq_srcptr, mpq_srcptr) = {mpq_add, mpq_sub, mpq_mul,
                                                                     mpq_div};
    size_t how = draw(d, depth ? 8 : 1), blank = d->plain ? 0 : draw(d, 2);
    if (how < 2) {
        draw_leaf(d, x);
    } else if (how == 7) {
        draw_text(d, blank ? "(- " : "(-");
        draw_number(d, depth - 1, x);
        draw_text(d, ")");
        mpq_neg(x, x);
    } else if (how == 6 && !d->plain) {
        draw_text(d, "(");
        draw_number(d, depth - 1, x);
        draw_text(d, ")");
        draw_power(d, x);
    } else {
        mpq_t y;
        mpq_init(y);
        draw_text(d, "(");
        draw_number(d, depth - 1, x);
        draw_text(d, blank ? " \t? " : "?");
        size_t sign = d->n - 1 - blank;
        draw_number(d, depth - 1, y);
        how = how > 5 ? 0 : how - 2;
        if (how == 3 && mpq_sgn(y) == 0) how = 2;
        d->text[sign] = "+-*/"[how];
        apply[how](x, x, y);
        draw_text(d, ")");
        mpq_clear(y);
    }
    drawn_size(d, x);
}

/* Checks a number of a table. Those of decimals are kept to TABLE_DIGITS; beyond a double both are
 * the same infinity. */
static inline void drawn_equal(const Drawn *d, const mpq_t got, const mpq_t want)
{
    double x = mpq_get_d(got), y = mpq_get_d(want);
    FUZZ_CHECK(mpq_equal(got, want) ||
               (d->inexact && (x == y || fabs(x - y) <= 1e-12 * (1 + fabs(y)))));
}

static inline void drawn_begin(Drawn *d, const uint8_t *data, size_t size, DrawnRows *w)
{
    *d = (Drawn){.at = data, .end = data + size};
    for (int i = 0; i < DRAWN_NAMES; i++) mpq_init(d->name[i]);
    mpq_t *c = w->c[0][0];
    for (size_t k = 0; k < sizeof *w / sizeof *c; k++) mpq_init(c[k]);
}

static inline void drawn_end(Drawn *d, DrawnRows *w)
{
    for (int i = 0; i < DRAWN_NAMES; i++) mpq_clear(d->name[i]);
    mpq_t *c = w->c[0][0];
    for (size_t k = 0; k < sizeof *w / sizeof *c; k++) mpq_clear(c[k]);
}

/* Terms that are 0 are absent, also those that rounding makes so. */
static inline int drawn_stays(const Drawn *d, const mpq_t c)
{
    return mpq_sgn(c) && (!d->inexact || fabs(mpq_get_d(c)) > .5e-60);
}

/* Checks that a row is y and the slopes of row i, each as often as its stage has evaluations. */
static inline void drawn_row(const Drawn *d, const DrawnRows *w, const Table *t, const Row *r,
                             size_t i)
{
    size_t terms = 1, per = t->evals / t->stages;
    for (size_t j = 0; j < t->stages; j++)
        for (int past = 0; past < DRAWN_DEEPEST; past++)
            terms += drawn_stays(d, w->c[i][j][past]) ? per : 0;
    if (r->terms != terms) fprintf(stderr, "%zu terms of %zu in\n%s\n", r->terms, terms, d->text);
    FUZZ_CHECK(r->terms == terms && r->term[0].eval == TABLE_STATE && r->term[0].past == 0);
    FUZZ_CHECK(mpq_cmp_ui(r->term[0].c, 1, 1) == 0);
    for (size_t k = 1; k < terms; k++) {
        const Term *x = &r->term[k];
        FUZZ_CHECK(x->eval >= 0 && (size_t)x->eval < t->evals && x->past < DRAWN_DEEPEST);
        drawn_equal(d, x->c, w->c[i][t->eval[x->eval].stage][x->past]);
    }
}

/* Checks all rows of a table. */
static inline void drawn_rows(const Drawn *d, const DrawnRows *w, const Table *t)
{
    for (size_t e = 0; e < t->evals; e++)
        drawn_row(d, w, t, &t->point[t->eval[e].point].row, (size_t)t->eval[e].stage);
    drawn_row(d, w, t, &t->update, t->stages);
}

#endif
