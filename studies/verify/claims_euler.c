/* claims_euler.c: compositions of Euler sub-steps. A sub-step y + a F(y) after others contributes a^2 / 2 less
 * before F'F than the flow does. With steps a_i of F, numerical - exact has h^2 F'F with sum_{i<j} a_i a_j - (sum
 * a)^2 / 2 = -1/2 sum a^2, which no real steps make zero. Other sub-steps between them do not change that, nor
 * does G, whose G'G is alike.
 * Derived here; the condition sum a = 1, sum_{i<j} a_i a_j = 1/2 is that of order 2 (Hairer,
 * Lubich, Wanner 2006, II.5). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"
#include "studies/verify/claims.h"

enum { SUBSTEPS_MOST = 12, DRAWS = 3, SEED = 81 };

typedef struct {
    size_t count;
    int over_H;                   /* 1: every sub-step is one of F + G at one point */
    int op[SUBSTEPS_MOST];        /* OP_F, OP_G */
    long quarters[SUBSTEPS_MOST]; /* the steps, times 4, of either sign */
} Substeps;

/* Draws n sub-steps; the last ones of F and of G make the sums 1. */
static void draw_substeps(size_t n, uint64_t draw, int over_H, Substeps *s)
{
    long left[2] = {4, 4};
    *s = (Substeps){.count = n, .over_H = over_H};
    for (size_t i = 0; i < n; i++) {
        uint64_t at = 2 * (DRAWS * (draw + 1) * SUBSTEPS_MOST + i);
        s->op[i] = over_H || i == 0 ? OP_F : i + 1 == n ? OP_G : (int)random_below(SEED, n, at, 2);
        s->quarters[i] = (long)random_below(SEED, n, at + 1, 6) - 2;
    }
    for (int op = 0; op < 2 - over_H; op++) {
        size_t last = 0;
        for (size_t i = 0; i < n; i++)
            if (s->op[i] == op) left[op] -= s->quarters[i], last = i;
        s->quarters[last] += left[op];
    }
}

/* Writes the composition as statements. Caller: free. NULL: out of memory. */
static char *write_substeps(const Substeps *s)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    if (!f) return NULL;
    for (size_t i = 0; i <= s->count; i++) {
        if (i < s->count)
            fprintf(f, "k%zu = %c(y", i + 1, s->over_H ? 'H' : "FG"[s->op[i]]);
        else
            fprintf(f, "y' = y");
        for (size_t j = 0; j < i; j++) fprintf(f, " + %ld/4*k%zu", s->quarters[j], j + 1);
        fprintf(f, i < s->count ? ")\n" : "");
    }
    fclose(f);
    return text;
}

/* Sums a^2 over an operator's sub-steps. In a composition these are the update's weights of its evaluations. */
static void sum_squares(const Table *t, int op, mpq_t sum)
{
    mpq_t square;
    mpq_init(square);
    mpq_set_ui(sum, 0, 1);
    for (size_t i = 0; i < t->update.terms; i++) {
        const Term *u = &t->update.term[i];
        if (u->eval == TABLE_STATE || t->eval[u->eval].op != op) continue;
        mpq_mul(square, u->c, u->c);
        mpq_add(sum, sum, square);
    }
    mpq_clear(square);
}

/* Finds the coefficient of a differential in map - exact. */
static void find_term(const Expansion *x, const char *term, mpq_t c)
{
    char name[64];
    mpq_set_ui(c, 0, 1);
    for (size_t i = 0; i < x->forest->count; i++)
        if (tree_name(x->forest, i, name, sizeof name) == 0 && strcmp(name, term) == 0)
            mpq_set(c, x->have[i]);
}

/* *same: is the factor of F'F and G'G equal to c sum a^2 and not zero? *slope: that of the measured
 * error; NULL: not wanted. */
static int as_stated(const Zoo *z, const char *map, const mpq_t c, double *slope, int *same)
{
    static const char *const term[] = {[OP_F] = "F'F", [OP_G] = "G'G"};
    Expansion x;
    double control;
    mpq_t want, have;
    TRY(expansion_open(z, map, "exact", 1, "F+G", &x));
    mpq_inits(want, have, NULL);
    *same = 1;
    for (int op = 0; op < 2; op++) {
        sum_squares(x.map.part[0].table, op, want);
        mpq_mul(want, want, c);
        find_term(&x, term[op], have);
        *same = *same && mpq_equal(want, have) && mpq_sgn(have) != 0;
    }
    mpq_clears(want, have, NULL);
    int code = slope ? expansion_measure(&x, 1, slope, &control) : 0;
    expansion_close(&x);
    return code;
}

/* Adds one map. *all stays 1 while the formula holds; *far is the largest distance of a slope from 2. */
static int take(const Zoo *z, const char *map, const mpq_t c, int measured, int *all, double *far)
{
    int same;
    double slope = 2;
    TRY(as_stated(z, map, c, measured ? &slope : NULL, &same));
    *all = *all && same;
    if (!(fabs(slope - 2) <= *far)) *far = fabs(slope - 2);
    return 0;
}

static int take_draws(const Zoo *z, size_t most, const mpq_t c, int *all, double *far,
                      size_t *count)
{
    for (size_t n = 2; n <= most; n++)
        for (uint64_t k = 0; k < DRAWS; k++)
            for (int over_H = 0; over_H < 2; over_H++) {
                Substeps s;
                draw_substeps(n, k, over_H, &s);
                char *text = write_substeps(&s);
                int code = text ? take(z, text, c, k == 0, all, far) : ERR_MEMORY;
                free(text);
                TRY(code);
                ++*count;
            }
    return 0;
}

int check_euler(const Zoo *z, const char *const *arg, Finding *f)
{
    mpq_t c;
    int all = 1, spoilt = 1;
    size_t drawn = 0, words = 0;
    double far = 0;
    char *list = memory_string(arg[2]), *rest = list;
    mpq_init(c);
    int code = list ? terms_number(arg[0], c) : ERR_MEMORY;
    if (code == 0) code = take_draws(z, (size_t)atoi(arg[1]), c, &all, &far, &drawn);
    for (char *map; code == 0 && (map = strsep(&rest, "|")); words++)
        code = take(z, map, c, 1, &all, &far);
    /* Control: the formula is refused for a scheme that is no composition and has order 2 with real weights too. */
    if (code == 0) code = as_stated(z, "fgfg2", c, NULL, &spoilt);
    f->holds = all;
    f->sound = f->sound && !spoilt && far <= claim_near;
    finding_say(
        f,
        "%zu drawn compositions of 2 to %s sub-steps, of both signs, over H and over F and G, "
        "and %zu words and loops: %s sum a^2 stands before F'F and G'G in %s; measured local "
        "errors fall as h^2 within %.2f (control, fgfg2, which is no composition: %s)",
        drawn, arg[1], words, arg[0], all ? "all of them" : "not all of them", far,
        spoilt ? "passed" : "refused");
    mpq_clear(c);
    memory_free(list);
    return code;
}
