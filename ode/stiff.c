/* stiff.c: A-stability and stiff decay of one-step tables, decided exactly where R = P / Q is (ratio.c).
 *
 * |R| <= 1 wherever Re z <= 0 where R has no pole there, and |R| <= 1 on the imaginary axis (by the maximum principle):
 * Q(-s) has its roots where Re s < 0, told by Routh's scheme, and |P|^2 - |Q|^2 <= 0 for every y^2 >= 0, told by Sturm's
 * theorem (poly.c). R(inf) is that of the leading coefficients. Source: Hairer, Wanner 1996, section IV.3; Routh 1877. */
#include <math.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/ode.h"
#include "ode/rationals.h"
#include "ode/ratio.h"

/* The colour of every slope that is solved for; -1: they have several, or none is. */
static int implicit_colour(const Table *t, int *colour)
{
    int *of = memory_new(2 * t->points, sizeof *of), several = 0;
    size_t blocks;
    if (!of) return ERR_MEMORY;
    int code = table_blocks(t, of, of + t->points, &blocks);
    *colour = -1;
    for (size_t e = 0; code == 0 && e < t->evals; e++) {
        if (!of[t->points + (size_t)of[t->eval[e].point]]) continue;
        several |= *colour >= 0 && *colour != t->eval[e].op;
        *colour = t->eval[e].op;
    }
    if (several) *colour = -1;
    memory_free(of);
    return code;
}

/* Are all roots of q_0 + .. + q_n s^n where Re s < 0? row (2 (n + 2)) zero before: two rows of Routh's scheme in turn. */
static int is_hurwitz(int n, mpq_t *q, mpq_t *row)
{
    mpq_t *above = row, *below = row + n + 2, *swap, ratio, x;
    int good = 1;
    if (n < 1) return 1;
    for (int i = 0; i <= n; i++) {
        mpq_ptr to = (i % 2 ? below : above)[i / 2];
        mpq_set(to, q[n - i]);
    }
    mpq_inits(ratio, x, NULL);
    for (int i = 0; i < n && good; i++) { /* the first column keeps its sign */
        good = mpq_sgn(above[0]) * mpq_sgn(below[0]) > 0;
        if (good) mpq_div(ratio, above[0], below[0]);
        for (int j = 0; good && j <= n; j++) {
            mpq_mul(x, ratio, below[j + 1]);
            mpq_sub(above[j], above[j + 1], x);
        }
        swap = above;
        above = below;
        below = swap;
    }
    mpq_clears(ratio, x, NULL);
    return good;
}

static int poles_apart(const Poly *Q, int *apart)
{
    int n = Q->degree;
    mpq_t *q = rationals_new((size_t)n + 1), *row = rationals_new(2 * ((size_t)n + 2));
    int code = q && row ? 0 : ERR_MEMORY;
    for (int i = 0; code == 0 && i <= n; i++) {
        mpq_set(q[i], Q->c[i]);
        if (i % 2) mpq_neg(q[i], q[i]);
    }
    if (code == 0) *apart = is_hurwitz(n, q, row);
    rationals_free(q, (size_t)n + 1);
    rationals_free(row, 2 * ((size_t)n + 2));
    return code;
}

static double at_infinity(const Ratio *r)
{
    if (r->P.degree > r->Q.degree) return INFINITY;
    if (r->P.degree < r->Q.degree) return 0;
    return fabs(table_double(r->P.c[r->P.degree]) / table_double(r->Q.c[r->Q.degree]));
}

static int find(const Table *t, const Ratio *r, Stiff *out)
{
    Poly f = {0};
    double end;
    int apart;
    TRY(poles_apart(&r->Q, &apart));
    int code = ratio_excess(t, r, &f);
    if (code == 0) code = poly_interval(&f, &end);
    poly_free(&f);
    TRY(code);
    out->a_stable = apart && end == INFINITY ? TOLD_YES : TOLD_NO;
    out->r_infinity = at_infinity(r);
    out->l_stable = out->a_stable == TOLD_YES && out->r_infinity == 0 ? TOLD_YES : TOLD_NO;
    return 0;
}

int stability_stiff(const Table *t, Stiff *out)
{
    Ratio r;
    int told;
    *out = (Stiff){TOLD_NOT, TOLD_NOT, NAN, -1};
    if (t->flows || t->past_y || t->past_k || table_phi(t)) return 0;
    TRY(implicit_colour(t, &out->colour));
    if (!table_implicit(t)) { /* a polynomial */
        out->a_stable = out->l_stable = TOLD_NO;
        out->r_infinity = INFINITY;
        return 0;
    }
    TRY(ratio_new(t, out->colour, &r, &told));
    if (!told) return 0;
    int code = find(t, &r, out);
    ratio_free(&r);
    return code;
}
