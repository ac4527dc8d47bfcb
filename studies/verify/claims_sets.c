/* claims_sets.c: claims about the order that remains when the sets of an operator differ, as in a trained
 * Macaron layer. Colours are (operator, set): F1, F2, G1, G2.
 *
 * Through h^2 every tree is a chain, so the weights of two colours suffice: a step is
 *     y + h sum_x b_x x + h^2 sum_xy c_xy x'y,    b_x = sum_e b_e [e = x],
 *     c_xy = sum_e,e' b_e [e = x] a_{point(e),e'} [e' = y],
 * and the flow of the field sum_x w_x x, w = b, has c_xy = w_x w_y / 2.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/verify/claims.h"

enum { KINDS = 2 * SINE_SETS, STEPS = 6, SEED = 31 };

typedef struct {
    mpq_t b[KINDS], c[KINDS][KINDS]; /* c: defect at h^2, numerical - exact */
} Chains;

static int colour(const Eval *e)
{
    return e->op * SINE_SETS + (e->set == 2);
}

static void colour_name(int x, int one_F, char out[4])
{
    snprintf(out, 4, one_F && x / SINE_SETS == OP_F ? "F" : "%c%d", "FG"[x / SINE_SETS],
             x % SINE_SETS + 1);
}

static void chains_init(Chains *y)
{
    for (int i = 0; i < KINDS; i++) {
        mpq_init(y->b[i]);
        for (int j = 0; j < KINDS; j++) mpq_init(y->c[i][j]);
    }
}

static void chains_free(Chains *y)
{
    for (int i = 0; i < KINDS; i++) {
        mpq_clear(y->b[i]);
        for (int j = 0; j < KINDS; j++) mpq_clear(y->c[i][j]);
    }
}

/* Reads the weights of a one-step stage table. */
static void chains_read(const Table *t, Chains *y)
{
    mpq_t q;
    mpq_init(q);
    for (size_t k = 0; k < t->update.terms; k++) {
        const Term *b = &t->update.term[k];
        if (b->eval == TABLE_STATE) continue;
        int x = colour(&t->eval[b->eval]);
        const Row *row = &t->point[t->eval[b->eval].point].row;
        mpq_add(y->b[x], y->b[x], b->c);
        for (size_t j = 0; j < row->terms; j++) {
            if (row->term[j].eval == TABLE_STATE) continue;
            mpq_ptr c = y->c[x][colour(&t->eval[row->term[j].eval])];
            mpq_mul(q, b->c, row->term[j].c);
            mpq_add(c, c, q);
        }
    }
    for (int i = 0; i < KINDS; i++)
        for (int j = 0; j < KINDS; j++) {
            mpq_mul(q, y->b[i], y->b[j]);
            mpq_div_2exp(q, q, 1);
            mpq_sub(y->c[i][j], y->c[i][j], q);
        }
    mpq_clear(q);
}

/* Writes the h^2 defect as text: "1/4 F'G1; -1/4 F'G2". */
static int chains_text(const Table *t, const Chains *y, Finding *f, char **out)
{
    size_t bytes;
    int said = 0, code = 0, one_F = table_sets(t, OP_F) == 1;
    FILE *s = open_memstream(out, &bytes);
    if (!s) return error_set(ERR_MEMORY, "out of memory");
    for (int i = 0; i < KINDS; i++)
        for (int j = 0; j < KINDS; j++) {
            char a[4], b[4], term[16];
            if (mpq_sgn(y->c[i][j]) == 0) continue;
            colour_name(i, one_F, a);
            colour_name(j, one_F, b);
            snprintf(term, sizeof term, "%s'%s", a, b);
            gmp_fprintf(s, "%s%Qd %s", said++ ? "; " : "", y->c[i][j], term);
            if (code == 0) code = finding_derive(f, t->name, term, y->c[i][j]);
        }
    fclose(s);
    return code;
}

/* ---- by numbers ----------------------------------------------------------------------------------------- */

/* Computes v = sum c_xy x'y at y0. */
static void predicted(const Sine *s, const Chains *y, double *v)
{
    double inner[SINE_D], outer[SINE_D];
    memset(v, 0, SINE_D * sizeof *v);
    for (int i = 0; i < KINDS; i++)
        for (int j = 0; j < KINDS; j++) {
            double c = table_double(y->c[i][j]);
            if (c == 0) continue;
            sine_derivative(s, j / SINE_SETS, j % SINE_SETS + 1, s->y, 0, NULL, inner);
            sine_derivative(s, i / SINE_SETS, i % SINE_SETS + 1, s->y, 1,
                            (const double(*)[SINE_D])inner, outer);
            for (int k = 0; k < SINE_D; k++) v[k] += c * outer[k];
        }
}

/* Measures slopes of the local error: as it is, less the prediction, and less 8/7 of the
 * prediction. apart: the sets differ. */
static int measure(const Table *t, const Chains *y, int apart, double slope[3])
{
    Sine s;
    double e[3][STEPS], v[SINE_D];
    sine_new(&s, SEED, 0);
    s.sets = apart;
    for (int x = 0; x < KINDS; x++) s.weight[x / SINE_SETS][x % SINE_SETS] = table_double(y->b[x]);
    predicted(&s, y, v);
    for (int j = 0; j < STEPS; j++) {
        double h = ldexp(1, -3 - j), a[SINE_D], b[SINE_D];
        memcpy(a, s.y, sizeof a);
        memcpy(b, s.y, sizeof b);
        TRY(sine_step(&s, t, h, a));
        Sine mean = s;
        mean.mixed = 1;
        TRY(sine_flow(&mean, NULL, h, b));
        for (int m = 0; m < 3; m++) {
            double r[SINE_D], scale = m == 0 ? 0 : m == 1 ? 1 : 8.0 / 7;
            for (int k = 0; k < SINE_D; k++) r[k] = a[k] - b[k] - scale * h * h * v[k];
            e[m][j] = sine_norm(r);
        }
    }
    for (int m = 0; m < 3; m++) slope[m] = sine_slope(e[m], STEPS);
    return 0;
}

int check_sets(const Zoo *z, const char *const *arg, Finding *f)
{
    Table *t;
    Chains y;
    char *have = NULL;
    double slope[3] = {NAN, NAN, NAN};
    TRY(map_table(z, arg[0], &t));
    chains_init(&y);
    chains_read(t, &y);
    int code = chains_text(t, &y, f, &have);
    if (code == 0) code = measure(t, &y, 1, slope);
    if (code == 0) {
        f->holds = strcmp(have, arg[1]) == 0;
        f->sound = f->sound && fabs(slope[0] - 2) <= 0.25 && slope[1] >= 2.75 && slope[2] <= 2.25;
        finding_say(
            f,
            "h^2: %s; measured: local error h^%.2f, less these terms h^%.2f (control, less 8/7 of "
            "them: h^%.2f)",
            have, slope[0], slope[1], slope[2]);
    }
    free(have);
    chains_free(&y);
    table_free(t);
    return code;
}

/* Tests one scheme: its order with equal sets, and whether order 2 survives different ones. */
static int one_scheme(const Zoo *z, const char *name, Finding *f, int *same, int *apart)
{
    Table *t;
    Chains y;
    Theory theory;
    char *text = NULL;
    double slope[2][3];
    TRY(map_table(z, name, &t));
    chains_init(&y);
    chains_read(t, &y);
    int code = theory_search(t, 3, &theory);
    if (code == 0) code = chains_text(t, &y, f, &text);
    for (int k = 0; k < 2 && code == 0; k++) code = measure(t, &y, k, slope[k]);
    if (code == 0) {
        *same = theory.order;
        *apart = *text ? 1 : theory.order;
        f->sound = f->sound && fabs(slope[0][0] - *same - 1) <= 0.25 &&
                   fabs(slope[1][0] - *apart - 1) <= 0.25;
        finding_say(f, "%s %d -> %d (measured %.2f -> %.2f)", name, *same, *apart, slope[0][0] - 1,
                    slope[1][0] - 1);
    }
    free(text);
    chains_free(&y);
    table_free(t);
    return code;
}

int check_set_order(const Zoo *z, const char *const *arg, Finding *f)
{
    char *list = memory_string(arg[0]), *rest = list;
    int code = list ? 0 : ERR_MEMORY, want = atoi(arg[1]);
    f->holds = f->conditional = 1;
    finding_say(f, "order with equal -> with different sets: ");
    for (char *name; code == 0 && (name = strsep(&rest, "|"));) {
        int same = 0, apart = 0;
        if (name != list) finding_say(f, ", ");
        code = one_scheme(z, name, f, &same, &apart);
        f->holds = f->holds && apart >= want;
        f->conditional = f->conditional && same >= want;
    }
    memory_free(list);
    return code;
}
