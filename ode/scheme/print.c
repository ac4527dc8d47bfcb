/* print.c: prints a table as a text of the language of schemes. A stage's evaluations (H, L, A)
 * carry equal weights wherever the text was parsed, so the first one speaks for the stage. */
#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/scheme/table.h"

#include <stdlib.h>
#include <string.h>

/* Returns whether q > 0 has a finite decimal expansion. */
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

/* Prints q >= 0 with a decimal point; 10^D q is whole for some D. */
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

/* The table being written, and the mark by which a reader of the text sees that it is inexact: the first of these that
 * it has. */
typedef struct {
    const Table *t;
    FILE *f;
    enum {
        MARK_LONG,
        MARK_SHORT,
        MARK_MADE
    } mark; /* decimals of many digits; of few; 1.0* before the update */
} Pen;

enum { FRACTION_MAX = 1000 }; /* larger denominators have many digits */

static void find_mark(Pen *pen, mpq_srcptr c)
{
    mpq_t q;
    mpq_init(q);
    mpq_abs(q, c);
    if (mpz_cmp_ui(mpq_denref(q), 1) != 0 && is_decimal(q)) {
        int mark = mpz_cmp_ui(mpq_denref(q), FRACTION_MAX) > 0 ? MARK_LONG : MARK_SHORT;
        if (mark < (int)pen->mark) pen->mark = mark;
    }
    mpq_clear(q);
}

static void find_row_mark(Pen *pen, const Row *r)
{
    for (size_t i = 0; i < r->terms; i++) find_mark(pen, r->term[i].c);
}

static Pen pen_for(const Table *t, FILE *f)
{
    Pen pen = {t, f, MARK_MADE};
    find_row_mark(&pen, &t->update);
    find_row_mark(&pen, &t->error);
    for (size_t i = 0; i < t->flows; i++) find_mark(&pen, t->flow[i].c);
    for (size_t i = 0; i < t->symbols; i++) {
        find_mark(&pen, t->symbol[i].start);
        for (size_t k = 0; k < t->symbol[i].inputs; k++)
            find_row_mark(&pen, &t->symbol[i].input[k]);
    }
    for (size_t i = 0; i < t->points; i++) {
        find_row_mark(&pen, &t->point[i].row);
        if (t->point[i].phi) find_mark(&pen, t->point[i].scale);
        if (t->point[i].timed) find_mark(&pen, t->point[i].c[0]);
    }
    return pen;
}

/* Prints a coefficient's magnitude: p/q, or the decimal that shows that the table is inexact. */
static void print_number(const Pen *pen, mpq_srcptr c)
{
    mpq_t q;
    mpq_init(q);
    mpq_abs(q, c);
    int shown = pen->mark == MARK_SHORT || mpz_cmp_ui(mpq_denref(q), FRACTION_MAX) > 0;
    if (!pen->t->exact && mpz_cmp_ui(mpq_denref(q), 1) != 0 && is_decimal(q) && shown)
        print_decimal(q, pen->f);
    else
        gmp_fprintf(pen->f, "%Qd", q);
    mpq_clear(q);
}

static int is_marked(const Pen *pen)
{
    return !pen->t->exact && pen->mark == MARK_MADE;
}

static void print_past(const Pen *pen, const Term *s, int update)
{
    if (s->past)
        fprintf(pen->f, "[-%d]", s->past);
    else if (pen->t->dense && update)
        fprintf(pen->f, s->eval == TABLE_STATE ? "[first]" : "[all]");
}

static void print_term(const Pen *pen, const Term *s, int update, int first)
{
    int one = mpq_cmp_ui(s->c, 1, 1) == 0 || mpq_cmp_si(s->c, -1, 1) == 0;
    int marked = update && first && is_marked(pen);
    if (mpq_sgn(s->c) < 0)
        fprintf(pen->f, first ? "-" : " - ");
    else
        fprintf(pen->f, first ? "" : " + ");
    if (marked) fprintf(pen->f, "1.0*");
    if (!one) print_number(pen, s->c);
    for (int i = 0; i < s->symbols; i++)
        fprintf(pen->f, "%s%s", one && i == 0 ? "" : "*", pen->t->symbol[s->symbol[i]].name);
    if (!one || s->symbols) fputc('*', pen->f);
    if (s->eval == TABLE_STATE)
        fputc('y', pen->f);
    else
        fprintf(pen->f, "k%d", pen->t->eval[s->eval].stage + 1);
    print_past(pen, s, update);
}

static void print_row(const Pen *pen, const Row *r, int update)
{
    int first = 1;
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        int second =
            s->eval != TABLE_STATE && pen->t->stage[pen->t->eval[s->eval].stage].eval != s->eval;
        if (second) continue;
        print_term(pen, s, update, first);
        first = 0;
    }
}

static void print_operator(int op, int set, FILE *f)
{
    fputc(table_letters[op], f);
    if (set != 1) fprintf(f, "%d", set);
}

static void print_scaled(const Pen *pen, mpq_srcptr c, int op, int set, int marked)
{
    if (mpq_cmp_ui(c, 1, 1) != 0 || marked) {
        if (mpq_sgn(c) < 0) fputc('-', pen->f);
        if (marked) fprintf(pen->f, "1.0*");
        print_number(pen, c);
        fputc(' ', pen->f);
    }
    print_operator(op, set, pen->f);
}

static void print_head(const Pen *pen, const Stage *s, const Point *p)
{
    if (p->phi) {
        fprintf(pen->f, "phi%d(", p->phi - 1);
        print_scaled(pen, p->scale, p->ops == 1 << s->op ? s->op : OP_H, s->set, 0);
        fputc(')', pen->f);
    } else {
        print_operator(s->op, s->set, pen->f);
    }
}

/* Returns the stage after which a symbol can be set: all that a gate reads must be there. */
static int ready_stage(const Pen *pen, const Symbol *s)
{
    int last = -1;
    for (size_t k = 0; k < s->inputs; k++)
        for (size_t i = 0; i < s->input[k].terms; i++) {
            const Term *u = &s->input[k].term[i];
            if (u->eval != TABLE_STATE && u->past == 0 && pen->t->eval[u->eval].stage > last)
                last = pen->t->eval[u->eval].stage;
        }
    return last;
}

static void print_symbol(const Pen *pen, const Symbol *s)
{
    if (s->kind == SYMBOL_LEARN) {
        fprintf(pen->f, "learn %s = %s", s->name, mpq_sgn(s->start) < 0 ? "-" : "");
        print_number(pen, s->start);
    } else {
        fprintf(pen->f, "gate %s = %s(", s->name, s->kind == SYMBOL_SIGMOID ? "sigmoid" : "tanh");
        for (size_t k = 0; k < s->inputs; k++) {
            if (k) fprintf(pen->f, ", ");
            print_row(pen, &s->input[k], 0);
        }
        fputc(')', pen->f);
    }
    fputc('\n', pen->f);
}

/* Prints the symbols that are ready, in their order. */
static size_t print_symbols(const Pen *pen, size_t next, int stage)
{
    for (; next < pen->t->symbols && ready_stage(pen, &pen->t->symbol[next]) <= stage; next++)
        print_symbol(pen, &pen->t->symbol[next]);
    return next;
}

static void print_stages(const Pen *pen)
{
    size_t next = print_symbols(pen, 0, -1);
    for (size_t i = 0; i < pen->t->stages; i++) {
        const Stage *s = &pen->t->stage[i];
        const Point *p = &pen->t->point[pen->t->eval[s->eval].point];
        fprintf(pen->f, "k%zu = ", i + 1);
        print_head(pen, s, p);
        fputc('(', pen->f);
        print_row(pen, &p->row, 0);
        if (p->timed) {
            fprintf(pen->f, " @ %s", mpq_sgn(p->c[0]) < 0 ? "-" : "");
            print_number(pen, p->c[0]);
        }
        fprintf(pen->f, ")\n");
        next = print_symbols(pen, next, (int)i);
    }
    fprintf(pen->f, "y' = ");
    print_row(pen, &pen->t->update, 1);
    fputc('\n', pen->f);
    if (pen->t->error.terms == 0) return;
    fprintf(pen->f, "error = ");
    print_row(pen, &pen->t->error, 0);
    fputc('\n', pen->f);
}

static void print_flows(const Pen *pen)
{
    for (size_t i = 0; i < pen->t->flows; i++) {
        const Flow *s = &pen->t->flow[i];
        fprintf(pen->f, "flow ");
        print_scaled(pen, s->c, s->op, s->set, i == 0 && is_marked(pen));
        fputc('\n', pen->f);
    }
}

/* Prints a name that the language can read: '-' stands for what the language has no letter for. */
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
    Pen pen = pen_for(table_whole(t), f);
    if (t->flows)
        print_flows(&pen);
    else
        print_stages(&pen);
    return ferror(f) ? error_set(ERR_SYSTEM, "writing a scheme failed") : 0;
}
