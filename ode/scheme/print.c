/* print.c: prints a table as a text of the language of schemes. A stage's evaluations (H, L, A)
 * carry equal weights wherever the text was parsed, so the first one speaks for the stage. */
#include "ode/scheme/print.h"

#include <string.h>

#include "kernels/base/error.h"
#include "ode/scheme/rationals.h"

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

/* Pen.mark, the first of these that a table has: decimals of many digits; of few; 1.0* before the update. */
enum { MARK_LONG, MARK_SHORT, MARK_MADE };
enum { FRACTION_MAX = 1000 }; /* larger denominators have many digits */

static void find_mark(Pen *pen, mpq_srcptr c)
{
    RATIONAL(q);
    mpq_abs(q, c);
    if (mpz_cmp_ui(mpq_denref(q), 1) != 0 && is_decimal(q)) {
        int mark = mpz_cmp_ui(mpq_denref(q), FRACTION_MAX) > 0 ? MARK_LONG : MARK_SHORT;
        if (mark < pen->mark) pen->mark = mark;
    }
}

static void find_row_mark(Pen *pen, const Row *r)
{
    for (size_t i = 0; i < r->terms; i++) find_mark(pen, r->term[i].c);
}

Pen print_pen(const Table *t, FILE *f)
{
    Pen pen = {.t = t, .f = f, .mark = MARK_MADE, .from = -1, .state = "y"};
    find_row_mark(&pen, &t->update);
    find_row_mark(&pen, &t->error);
    find_row_mark(&pen, &t->coarse);
    for (size_t i = 0; i < t->carries; i++) {
        find_row_mark(&pen, &t->carry[i].update);
        find_row_mark(&pen, &t->carry[i].start);
    }
    for (size_t i = 0; i < t->flows; i++) {
        find_mark(&pen, t->flow[i].c);
        find_mark(&pen, t->flow[i].im);
        find_row_mark(&pen, &t->flow[i].learned);
    }
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
    RATIONAL(q);
    mpq_abs(q, c);
    int shown = pen->mark == MARK_SHORT || mpz_cmp_ui(mpq_denref(q), FRACTION_MAX) > 0;
    if (!pen->t->exact && mpz_cmp_ui(mpq_denref(q), 1) != 0 && is_decimal(q) && shown)
        print_decimal(q, pen->f);
    else
        gmp_fprintf(pen->f, "%Qd", q);
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
    int one = (mpq_cmp_ui(s->c, 1, 1) == 0 || mpq_cmp_si(s->c, -1, 1) == 0) &&
              (s->eval != TABLE_ONE || s->symbols);
    int marked = update && first && is_marked(pen);
    if (mpq_sgn(s->c) < 0)
        fprintf(pen->f, first ? "-" : " - ");
    else
        fprintf(pen->f, first ? "" : " + ");
    if (marked) fprintf(pen->f, "1.0*");
    if (!one) print_number(pen, s->c);
    for (int i = 0; i < s->symbols; i++)
        fprintf(pen->f, "%s%s", one && i == 0 ? "" : "*", pen->t->symbol[s->symbol[i]].name);
    if (s->eval == TABLE_ONE) return;
    if (!one || s->symbols) fputc('*', pen->f);
    size_t stage = s->eval < 0 ? 0 : (size_t)pen->t->eval[s->eval].stage;
    if (s->eval < TABLE_STATE)
        fputs(pen->t->carry[TABLE_CARRIED - s->eval].name, pen->f);
    else if (s->eval == TABLE_STATE)
        fputs(pen->state, pen->f);
    else
        fprintf(pen->f, "k%zu", pen->number ? pen->number(pen, stage, s->past) : stage + 1);
    print_past(pen, s, update);
}

static void print_row(const Pen *pen, const Row *r, int update)
{
    int first = 1;
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        int second = s->eval >= 0 && pen->t->stage[pen->t->eval[s->eval].stage].eval != s->eval;
        if (second) continue;
        print_term(pen, s, update, first);
        first = 0;
    }
}

static void print_operator(const Pen *pen, int op, int set)
{
    fputc(table_letters[op == pen->from ? pen->to : op], pen->f);
    if (set != 1) fprintf(pen->f, "%d", set);
}

/* Prints the coefficient before an operator, if it is not 1. */
static void print_factor(const Pen *pen, mpq_srcptr c, int marked)
{
    if (mpq_cmp_ui(c, 1, 1) == 0 && !marked) return;
    if (mpq_sgn(c) < 0) fputc('-', pen->f);
    if (marked) fprintf(pen->f, "1.0*");
    print_number(pen, c);
    fputc(' ', pen->f);
}

static void print_head(const Pen *pen, const Stage *s, const Point *p)
{
    if (p->phi == PHI_NORM) {
        fputs("norm", pen->f);
    } else if (p->phi) {
        fprintf(pen->f, p->phi == PHI_SOLVE ? "solve(" : "phi%d(", p->phi - 1);
        print_factor(pen, p->scale, 0);
        if (p->ops != point_fields(pen->t, p))
            fputc('W', pen->f);
        else
            print_operator(pen, p->ops == 1 << s->op ? s->op : OP_H, s->set);
        fputc(')', pen->f);
    } else {
        print_operator(pen, s->op, s->set);
    }
}

/* Returns the stage after which a symbol can be set: all that a gate reads must be there. */
static int ready_stage(const Pen *pen, const Symbol *s)
{
    int last = -1;
    for (size_t k = 0; k < s->inputs; k++)
        for (size_t i = 0; i < s->input[k].terms; i++) {
            const Term *u = &s->input[k].term[i];
            if (u->eval >= 0 && u->past == 0 && pen->t->eval[u->eval].stage > last)
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

/* Prints the symbols from `next` on that are ready behind a stage (-1: before all); returns the next one. */
static size_t print_symbols(const Pen *pen, size_t next, int stage)
{
    for (; next < pen->t->symbols && ready_stage(pen, &pen->t->symbol[next]) <= stage; next++)
        print_symbol(pen, &pen->t->symbol[next]);
    return next;
}

void print_stage(const Pen *pen, size_t number, size_t i)
{
    const Stage *s = &pen->t->stage[i];
    const Point *p = eval_point(pen->t, s->eval);
    fprintf(pen->f, "k%zu = ", number);
    print_head(pen, s, p);
    fputc('(', pen->f);
    print_row(pen, &p->row, 0);
    if (p->timed) {
        fprintf(pen->f, " @ %s", mpq_sgn(p->c[0]) < 0 ? "-" : "");
        print_number(pen, p->c[0]);
    }
    fprintf(pen->f, ")\n");
}

/* Returns how many symbols stand before the carried quantities, whose starts read them. */
static size_t symbols_before(const Table *t)
{
    int last = -1;
    for (size_t i = 0; i < t->carries; i++)
        for (size_t k = 0; k < t->carry[i].start.terms; k++) {
            const Term *s = &t->carry[i].start.term[k];
            if (s->symbols && s->symbol[s->symbols - 1] > last) last = s->symbol[s->symbols - 1];
        }
    return (size_t)(last + 1);
}

size_t print_beginning(const Pen *pen)
{
    size_t symbols = symbols_before(pen->t);
    for (size_t i = 0; i < symbols; i++) print_symbol(pen, &pen->t->symbol[i]);
    for (size_t i = 0; i < pen->t->carries; i++) {
        const Carry *v = &pen->t->carry[i];
        fprintf(pen->f, "carry %s%s", v->name,
                v->started    ? " = "
                : v->embedded ? " = embedding"
                              : "");
        if (v->started && v->start.terms == 0) fputc('0', pen->f);
        print_row(pen, &v->start, 0);
        fputc('\n', pen->f);
    }
    return print_symbols(pen, symbols, -1);
}

void print_stages(const Pen *pen)
{
    size_t next = print_beginning(pen);
    for (size_t i = 0; i < pen->t->stages; i++) {
        print_stage(pen, pen->number ? pen->number(pen, i, 0) : i + 1, i);
        next = print_symbols(pen, next, (int)i);
    }
}

void print_update(const Pen *pen, size_t behind)
{
    if (behind) {
        fprintf(pen->f, "k%zu = G(", behind);
        print_row(pen, &pen->t->update, 1);
        fprintf(pen->f, ")\n");
    }
    for (size_t i = 0; i < pen->t->carries; i++) {
        fprintf(pen->f, "%s' = ", pen->t->carry[i].name);
        print_row(pen, &pen->t->carry[i].update, 0);
        fputc('\n', pen->f);
    }
    fprintf(pen->f, "y' = ");
    print_row(pen, &pen->t->update, 1);
    fprintf(pen->f, behind ? " + k%zu\n" : "\n", behind);
    if (pen->t->error.terms == 0) return;
    fprintf(pen->f, "error = ");
    print_row(pen, &pen->t->error, 0);
    if (pen->t->coarse.terms) fputs("\nerror = ", pen->f), print_row(pen, &pen->t->coarse, 0);
    fputc('\n', pen->f);
}

static void print_fraction(const Pen *pen, const Flow *s, int first)
{
    if (mpq_sgn(s->im) != 0) {
        int marked = first && is_marked(pen);
        fputs(mpq_sgn(s->c) < 0 ? "(-" : "(", pen->f);
        print_number(pen, s->c);
        fprintf(pen->f, "%s %c ", marked ? " + 0.0" : "", mpq_sgn(s->im) < 0 ? '-' : '+');
        print_number(pen, s->im);
        fputs("*i) ", pen->f);
    } else if (!s->learned.terms) {
        print_factor(pen, s->c, first && is_marked(pen));
    } else {
        int sum = s->learned.terms > 1;
        fputs(sum ? "(" : "", pen->f);
        print_row(pen, &s->learned, first);
        fputs(sum ? ") " : " ", pen->f);
    }
}

/* With `to` = OP_A a flow of F is one of F, then one of C. */
void print_flows(const Pen *pen)
{
    print_symbols(pen, 0, -1);
    for (size_t i = 0; i < pen->t->flows; i++) {
        const Flow *s = &pen->t->flow[i];
        int both = pen->to == OP_A && s->op == OP_F;
        for (int k = 0; k <= both; k++) {
            fprintf(pen->f, "flow ");
            print_fraction(pen, s, i == 0);
            print_operator(pen, k ? OP_C : s->op, s->set);
            if (s->method) fprintf(pen->f, ":%s", s->method);
            if (s->substeps > 1) fprintf(pen->f, "*%d", s->substeps);
            fputc('\n', pen->f);
        }
    }
}

/* Prints a name that the language can read: '-' stands for what the language has no letter for. */
static void print_name(const Table *t, FILE *f)
{
    fprintf(f, "scheme ");
    for (const char *c = t->name; *c; c++) fputc(strchr(":,/", *c) ? '-' : *c, f);
    fputc('\n', f);
}

/* What is carried begins by the same operators as the scheme. With `to` = OP_A the table becomes a decoder's, in whose field C stands as often as F. */
void print_header(const Pen *pen, const char *behind)
{
    const Table *t = pen->t;
    FILE *f = pen->f;
    const char *const text[] = {t->title, t->source, t->note, t->start};
    static const char *const name[] = {"title ", "source", "note  ", "start "};
    int decoder = t->colours > 2 || pen->to == OP_A;
    const char *over = pen->to == OP_A ? "-decoder" : pen->to == OP_L ? "-layer" : "";
    print_name(t, f);
    for (int i = 0; i < 4; i++)
        if (text[i][0])
            fprintf(f, "%s %s%s\n", name[i], text[i], i == 0 ? behind : i == 3 ? over : "");
    if (decoder) fprintf(f, "decoder\n");
    for (int op = 0; op < t->colours; op++)
        if (t->special >> op & 1) fprintf(f, "linear %c\n", table_letters[op]);
    if (special_separable(t->special)) fprintf(f, "separable\n");
    for (int op = 0; op < t->colours && !special_separable(t->special); op++)
        if (special_apart(t->special, op)) fprintf(f, "separable %c\n", table_letters[op]);
    if (!t->word) return;
    gmp_fprintf(f, "field %Qd F ", t->weight[OP_F]);
    if (decoder) gmp_fprintf(f, "%Qd C ", t->weight[t->colours > 2 ? OP_C : OP_F]);
    gmp_fprintf(f, "%Qd G\n", t->weight[OP_G]);
}

int table_print(const Table *t, FILE *f)
{
    Pen pen = print_pen(table_whole(t), f);
    print_header(&pen, "");
    if (t->orders) fprintf(f, "orders 1..%d\n", t->orders);
    if (t->flows)
        print_flows(&pen);
    else {
        print_stages(&pen);
        print_update(&pen, 0);
    }
    return ferror(f) ? error_set(ERR_SYSTEM, "writing a scheme failed") : 0;
}
