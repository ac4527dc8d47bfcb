/* print.c: a table as a text of the language of schemes. A stage's evaluations (H, L, A) carry equal
 * weights wherever the text was parsed, so the first one speaks for the stage. */
#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/table.h"

#include <stdlib.h>
#include <string.h>

/* Does q > 0 have a finite decimal expansion? */
static int is_decimal(mpq_srcptr q)
{
    mpz_t d;
    mpz_init_set(d, mpq_denref(q));
    for (unsigned long prime = 2; prime <= 5; prime += 3)
        while (mpz_divisible_ui_p(d, prime)) mpz_divexact_ui(d, d, prime);
    int yes = mpz_cmp_ui(d, 1) == 0;
    mpz_clear(d);
    return yes;
}

/* q >= 0 with a decimal point: digits 10^D q are whole for some D. */
static void print_decimal(mpq_srcptr q, FILE *f)
{
    mpz_t ten, n, whole, rest;
    mpz_inits(n, whole, rest, NULL);
    mpz_init_set_ui(ten, 1);
    int digits = 0;
    while (!mpz_divisible_p(ten, mpq_denref(q))) mpz_mul_ui(ten, ten, 10), digits++;
    mpz_mul(n, mpq_numref(q), ten);
    mpz_divexact(n, n, mpq_denref(q));
    mpz_fdiv_qr(whole, rest, n, ten);
    if (digits == 0)
        gmp_fprintf(f, "%Zd.0", whole);
    else
        gmp_fprintf(f, "%Zd.%0*Zd", whole, digits, rest);
    mpz_clears(ten, n, whole, rest, NULL);
}

/* Magnitude of a coefficient: p/q. Where the table is inexact, a decimal point says so to whoever parses
 * it again: the coefficient itself as a decimal, or 1.0 before a fraction that has none. */
static void print_number(const Table *t, mpq_srcptr c, FILE *f)
{
    mpq_t q;
    mpq_init(q);
    mpq_abs(q, c);
    if (!t->exact && is_decimal(q))
        print_decimal(q, f);
    else
        gmp_fprintf(f, t->exact ? "%Qd" : "1.0*%Qd", q);
    mpq_clear(q);
}

static void print_past(const Table *t, const Term *s, int update, FILE *f)
{
    if (s->past)
        fprintf(f, "[-%d]", s->past);
    else if (t->dense && update)
        fprintf(f, s->eval == TABLE_STATE ? "[first]" : "[all]");
}

static void print_term(const Table *t, const Term *s, int update, int first, FILE *f)
{
    int one = mpq_cmp_ui(s->c, 1, 1) == 0 || mpq_cmp_si(s->c, -1, 1) == 0;
    int plain = one && t->exact;
    if (mpq_sgn(s->c) < 0)
        fprintf(f, first ? "-" : " - ");
    else
        fprintf(f, first ? "" : " + ");
    if (!plain) print_number(t, s->c, f);
    for (int i = 0; i < s->symbols; i++)
        fprintf(f, "%s%s", plain && i == 0 ? "" : "*", t->symbol[s->symbol[i]].name);
    if (!plain || s->symbols) fputc('*', f);
    if (s->eval == TABLE_STATE)
        fputc('y', f);
    else
        fprintf(f, "k%d", t->eval[s->eval].stage + 1);
    print_past(t, s, update, f);
}

static void print_row(const Table *t, const Row *r, int update, FILE *f)
{
    int first = 1;
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        int second = s->eval != TABLE_STATE && t->stage[t->eval[s->eval].stage].eval != s->eval;
        if (second) continue;
        print_term(t, s, update, first, f);
        first = 0;
    }
}

static void print_operator(int op, int set, FILE *f)
{
    fputc(table_letters[op], f);
    if (set != 1) fprintf(f, "%d", set);
}

static void print_scaled(const Table *t, mpq_srcptr c, int op, int set, FILE *f)
{
    if (mpq_cmp_ui(c, 1, 1) != 0 || !t->exact) {
        if (mpq_sgn(c) < 0) fputc('-', f);
        print_number(t, c, f);
        fputc(' ', f);
    }
    print_operator(op, set, f);
}

/* The head of stage s at its first point. */
static void print_head(const Table *t, const Stage *s, const Point *p, FILE *f)
{
    if (p->phi) {
        fprintf(f, "phi%d(", p->phi - 1);
        print_scaled(t, p->scale, p->ops == 1 << s->op ? s->op : OP_H, s->set, f);
        fputc(')', f);
    } else {
        print_operator(s->op, s->set, f);
    }
}

/* The stage after which a symbol can be set: all that a gate reads must be there. */
static int ready_stage(const Table *t, const Symbol *s)
{
    int last = -1;
    for (size_t k = 0; k < s->inputs; k++)
        for (size_t i = 0; i < s->input[k].terms; i++) {
            const Term *u = &s->input[k].term[i];
            if (u->eval != TABLE_STATE && u->past == 0 && t->eval[u->eval].stage > last)
                last = t->eval[u->eval].stage;
        }
    return last;
}

static void print_symbol(const Table *t, const Symbol *s, FILE *f)
{
    if (s->kind == SYMBOL_LEARN) {
        fprintf(f, "learn %s = %s", s->name, mpq_sgn(s->start) < 0 ? "-" : "");
        print_number(t, s->start, f);
    } else {
        fprintf(f, "gate %s = %s(", s->name, s->kind == SYMBOL_SIGMOID ? "sigmoid" : "tanh");
        for (size_t k = 0; k < s->inputs; k++) {
            if (k) fprintf(f, ", ");
            print_row(t, &s->input[k], 0, f);
        }
        fputc(')', f);
    }
    fputc('\n', f);
}

/* Symbols keep their order; one is printed once everything before it is. */
static size_t print_symbols(const Table *t, size_t next, int stage, FILE *f)
{
    for (; next < t->symbols && ready_stage(t, &t->symbol[next]) <= stage; next++)
        print_symbol(t, &t->symbol[next], f);
    return next;
}

static void print_stages(const Table *t, FILE *f)
{
    size_t next = print_symbols(t, 0, -1, f);
    for (size_t i = 0; i < t->stages; i++) {
        const Stage *s = &t->stage[i];
        const Point *p = &t->point[t->eval[s->eval].point];
        fprintf(f, "k%zu = ", i + 1);
        print_head(t, s, p, f);
        fputc('(', f);
        print_row(t, &p->row, 0, f);
        if (p->timed) {
            fprintf(f, " @ %s", mpq_sgn(p->c[0]) < 0 ? "-" : "");
            print_number(t, p->c[0], f);
        }
        fprintf(f, ")\n");
        next = print_symbols(t, next, (int)i, f);
    }
    fprintf(f, "y' = ");
    print_row(t, &t->update, 1, f);
    fputc('\n', f);
    if (t->error.terms == 0) return;
    fprintf(f, "error = ");
    print_row(t, &t->error, 0, f);
    fputc('\n', f);
}

static void print_flows(const Table *t, FILE *f)
{
    for (size_t i = 0; i < t->flows; i++) {
        const Flow *s = &t->flow[i];
        fprintf(f, "flow ");
        print_scaled(t, s->c, s->op, s->set, f);
        fputc('\n', f);
    }
}

/* A name that the language can read: what the language has no letter for becomes '-'. */
static void print_name(const Table *t, FILE *f)
{
    fprintf(f, "scheme ");
    for (const char *c = t->name; *c; c++) fputc(strchr(":,/", *c) ? '-' : *c, f);
    fputc('\n', f);
}

int table_print(const Table *t, FILE *f)
{
    const char *const text[] = {t->title, t->source, t->note, t->start};
    static const char *const name[] = {"title ", "source", "note  ", "start "};
    print_name(t, f);
    for (int i = 0; i < 4; i++)
        if (text[i][0]) fprintf(f, "%s %s\n", name[i], text[i]);
    if (t->colours > 2) fprintf(f, "decoder\n");
    for (int op = 0; op < t->colours; op++)
        if (t->linear >> op & 1) fprintf(f, "linear %c\n", table_letters[op]);
    if (t->word) {
        gmp_fprintf(f, "field %Qd F ", t->weight[OP_F]);
        if (t->colours > 2) gmp_fprintf(f, "%Qd C ", t->weight[OP_C]);
        gmp_fprintf(f, "%Qd G\n", t->weight[OP_G]);
    }
    if (t->flows)
        print_flows(t, f);
    else
        print_stages(table_whole(t), f);
    return ferror(f) ? error_set(ERR_SYSTEM, "writing a scheme failed") : 0;
}
