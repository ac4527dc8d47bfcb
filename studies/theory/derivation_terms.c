/* derivation_terms.c: writes numbers, terms and sums of derivations. */
#include "studies/theory/derivation_pen.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "ode/scheme/rationals.h"

/* ---- numbers and terms ------------------------------------------------------------------------------- */

int pen_zero(const DerivationField *of, const mpq_t c)
{
    return mpq_sgn(c) == 0 || (!of->exact && fabs(mpq_get_d(c)) <= 1e-12);
}

/* Writes |c|, as a decimal of few digits where the table has decimals or the fraction is long. */
const char *pen_size(const DerivationField *of, const mpq_t c, char out[NUMBER])
{
    RATIONAL(x);
    mpq_abs(x, c);
    if (!of->exact || gmp_snprintf(out, NUMBER - 2, "%Qd", x) > 32)
        snprintf(out, NUMBER - 2, "%.6g", table_double(x));
    return out;
}

/* Does the same with the sign, and 0 for rounding. */
const char *pen_number(const DerivationField *of, const mpq_t c, char out[NUMBER])
{
    out[0] = '-';
    if (pen_zero(of, c)) return strcpy(out, "0");
    pen_size(of, c, out + (mpq_sgn(c) < 0));
    return out;
}

/* Writes what stands before a term: "1/2 ", "" for 1. */
const char *pen_factor(const DerivationField *of, const mpq_t c, char out[NUMBER])
{
    pen_size(of, c, out);
    return strcmp(out, "1") == 0 ? strcpy(out, "") : strcat(out, " ");
}

void pen_name(const DerivationField *of, size_t tree, char out[NAME])
{
    tree_name(of->forest, tree, out, NAME);
    for (char *c = out; of->one && *c; c++)
        if (*c == 'F') *c = of->one;
}

/* Computes the factor of a tree's elementary differential. Returns 0 where it is zero, or the differential is. */
int pen_find(const DerivationField *of, const Series *s, size_t tree, mpq_t out)
{
    mpq_set(out, s->a[tree]);
    rational_divide(out, of->forest->tree[tree].sigma);
    return !pen_zero(of, out) && !tree_vanishes(of->forest, tree, of->special);
}

/* Writes a power of h: "" for h^0, "h ", "h^2 ". */
const char *pen_power(int power, char out[16])
{
    snprintf(out, 16, power == 1 ? "h " : "h^%d ", power);
    if (power == 0) *out = '\0';
    return out;
}

/* ---- sums, a line for each power of h --------------------------------------------------------------- */

/* Writes a line: a blank for each '*', few digits of long decimals, broken before + and - where it must be. */
void pen_written(Pen *pen, const char *line)
{
    enum { SHOWN = 7 };
    char piece[256];
    size_t n = 0, decimals = 0;
    for (; *line && *line != '\n'; line++) {
        int ends = *line == ' ' && (line[1] == '+' || line[1] == '-') && line[2] == ' ';
        decimals = *line == '.' || (decimals && isdigit((unsigned char)*line)) ? decimals + 1 : 0;
        if (ends || n + 2 > sizeof piece) {
            pen_put(pen, "%.*s", (int)n, piece);
            n = 0;
        }
        if (decimals <= SHOWN + 1) piece[n++] = *line == '*' ? ' ' : *line;
        if (ends) piece[n++] = *++line, piece[n++] = *++line;
    }
    pen_put(pen, "%.*s", (int)n, piece);
}

/* Ends the terms of a power. */
void powers_end(Powers *p)
{
    if (p->open) pen_put(p->pen, ")");
    p->open = p->terms = 0;
}

/* Begins those of the next, of which there are `terms`; sign -1: a single one is negative. */
void powers_begin(Powers *p, int power, int terms, int sign)
{
    char h[16];
    powers_end(p);
    if (p->begun) pen_break(p->pen);
    const char *before = p->begun                 ? (terms == 1 && sign < 0 ? "- " : "+ ")
                         : terms == 1 && sign < 0 ? "-"
                                                  : "";
    pen_power(power, h);
    if (terms > 1) pen_put(p->pen, "%s%s(", before, h);
    if (terms == 1) pen_put(p->pen, "%s", before);
    p->open = terms > 1;
    p->begun = 1;
    p->power = power;
}

/* Adds a term of that power. */
void powers_add(Powers *p, const char *factor, int negative, const char *name)
{
    char h[16] = "", text[640];
    const char *sign = !p->open ? "" : p->terms ? (negative ? " - " : " + ") : negative ? "-" : "";
    if (!p->open) pen_power(p->power, h);
    snprintf(text, sizeof text, "%s%s%s%s", sign, factor, h, name);
    if (strlen(factor) > 40) /* a long sum */
        pen_written(p->pen, text);
    else
        pen_put(p->pen, "%s", text);
    p->terms++;
}

/* Writes the terms of a series. state: y stands before them. */
static void put_series(Pen *pen, const DerivationField *of, const Series *s, int state)
{
    const Forest *f = of->forest;
    Powers p = {.pen = pen};
    char number[NUMBER], name[NAME];
    RATIONAL(c);
    if (state && mpq_sgn(s->empty) != 0) {
        pen_put(pen, "%sy", pen_factor(of, s->empty, number));
        p.begun = 1;
    }
    for (int n = 1; n <= f->max; n++) {
        int terms = 0, sign = 1;
        for (size_t i = f->first[n]; i < f->first[n + 1]; i++)
            if (pen_find(of, s, i, c)) terms++, sign = mpq_sgn(c);
        if (terms) powers_begin(&p, n, terms, sign);
        for (size_t i = f->first[n]; terms && i < f->first[n + 1]; i++) {
            if (!pen_find(of, s, i, c)) continue;
            pen_name(of, i, name);
            powers_add(&p, pen_factor(of, c, number), mpq_sgn(c) < 0, name);
        }
    }
    powers_end(&p);
    if (!p.begun) pen_put(pen, "0");
}

void derivation_series(Derivation *d, const DerivationField *of, const char *left, const Series *s,
                       int state)
{
    Pen p;
    pen_open(&p, d, left);
    put_series(&p, of, s, state);
    pen_close(&p, "");
}

/* Writes op(at) by Taylor: "F + F'D + 1/2 F''(D,D)" with derivatives up to `most`. */
void pen_taylor(Pen *p, char op, int most)
{
    unsigned long factorial = 1;
    pen_put(p, "%c", op);
    for (int n = 1; n <= most; n++) {
        char primes[TREE_MAX_1 + 1] = "", list[2 * TREE_MAX_1 + 1] = "";
        memset(primes, '\'', (size_t)n);
        for (int k = 0; k < n; k++) strcat(list, k ? ",D" : "D");
        factorial *= (unsigned long)n;
        if (n == 1)
            pen_put(p, " + %c'D", op);
        else
            pen_put(p, " + 1/%lu %c%s(%s)", factorial, op, primes, list);
    }
}
