/* repair_modular.c: solves order conditions for coefficients modulo primes, and finds the fractions (repair.c). */
#include "ode/theory/repair_inside.h"

#include <string.h>

#include "kernels/base/random.h"
#include "kernels/base/tick.h"
#include "ode/scheme/rationals.h"

enum { PRIMES = 160 };

/* ---- polynomials modulo a prime ------------------------------------------------------------------------------ */

typedef struct {
    int degree; /* -1: 0 */
    uint64_t c[DEGREE_MOST + 1];
} Modular;

static void trim(Modular *f)
{
    while (f->degree >= 0 && f->c[f->degree] == 0) f->degree--;
}

static void make_monic(uint64_t p, Modular *f)
{
    if (f->degree < 0) return;
    uint64_t by = number_invert(p, f->c[f->degree]);
    for (int i = 0; i <= f->degree; i++) f->c[i] = f->c[i] * by % p;
}

/* Replaces f by f mod g, g monic; quotient may be NULL. */
static void reduce(uint64_t p, Modular *f, const Modular *g, Modular *quotient)
{
    if (quotient) *quotient = (Modular){.degree = f->degree - g->degree};
    for (int i = f->degree; i >= g->degree; i--) {
        uint64_t by = f->c[i];
        if (quotient) quotient->c[i - g->degree] = by;
        for (int k = 0; k <= g->degree; k++) {
            uint64_t *c = &f->c[i - g->degree + k];
            *c = (*c + (p - by) * g->c[k]) % p;
        }
    }
    trim(f);
}

/* Replaces g by the monic gcd(g, f). */
static void common(uint64_t p, Modular *g, const Modular *with)
{
    Modular f = *with;
    while (f.degree >= 0) {
        make_monic(p, &f);
        Modular rest = *g;
        reduce(p, &rest, &f, NULL);
        *g = f;
        f = rest;
    }
    make_monic(p, g);
}

/* Replaces f by the product of its different factors. */
static void make_simple(uint64_t p, Modular *f)
{
    Modular d = {.degree = f->degree - 1}, g = *f, quotient;
    for (int i = 0; i < f->degree; i++) d.c[i] = f->c[i + 1] * (uint64_t)(i + 1) % p;
    trim(&d);
    common(p, &g, &d);
    if (g.degree < 1) return;
    reduce(p, f, &g, &quotient);
    *f = quotient;
    make_monic(p, f);
}

/* Makes the polynomial that has the values y (n) at 0, 1, ..., n - 1, by Newton's differences. */
static Modular interpolate(uint64_t p, const uint64_t *y, int n)
{
    Modular f = {.degree = n - 1};
    uint64_t d[DEGREE_MOST + 1];
    memcpy(d, y, (size_t)n * sizeof *d);
    for (int k = 1; k < n; k++)
        for (int i = n - 1; i >= k; i--)
            d[i] = (d[i] + p - d[i - 1]) % p * number_invert(p, (uint64_t)k) % p;
    for (int k = n - 1; k >= 0; k--) { /* f := f (x - k) + d_k */
        for (int i = n - 1; i >= 0; i--) {
            uint64_t lower = i ? f.c[i - 1] : d[k];
            f.c[i] = (lower + (p - (uint64_t)k % p) * f.c[i]) % p;
        }
    }
    trim(&f);
    return f;
}

/* ---- solving modulo a prime ----------------------------------------------------------------------------------- */

/* The values of all conditions at some s. */
static void values_at(RepairModel *m, int q, const size_t *unknown, const RepairFamily *y,
                      const uint64_t *s, RepairNumber *r)
{
    RepairNumber x[U];
    for (size_t k = 0; k < y->n; k++) {
        x[k].m = y->at[k];
        for (size_t i = 0; i < y->free; i++) x[k].m = (x[k].m + y->along[k][i] * s[i]) % m->prime;
    }
    repair_set_values(m, y->n, unknown, x);
    repair_evaluate(m, q, 0, r);
}

/* Adds an affine equation in s, its right side last, to a reduced system. Returns 0 where it contradicts it. */
static int add_equation(uint64_t p, uint64_t (*row)[U + 1], size_t *rank, size_t n, uint64_t *e)
{
    for (size_t r = 0; r < *rank; r++) {
        size_t pivot = 0;
        while (row[r][pivot] == 0) pivot++;
        uint64_t by = e[pivot];
        for (size_t i = 0; i <= n && by; i++) e[i] = (e[i] + (p - by) * row[r][i]) % p;
    }
    size_t pivot = 0;
    while (pivot < n && e[pivot] == 0) pivot++;
    if (pivot == n) return e[n] == 0;
    uint64_t by = number_invert(p, e[pivot]);
    for (size_t i = 0; i <= n; i++) e[i] = e[i] * by % p;
    for (size_t r = 0; r < *rank; r++) {
        by = row[r][pivot];
        for (size_t i = 0; i <= n && by; i++) row[r][i] = (row[r][i] + (p - by) * e[i]) % p;
    }
    memcpy(row[(*rank)++], e, (n + 1) * sizeof *e);
    return 1;
}

/* Puts the solutions of a reduced system in the place of s. */
static void restrict_to(uint64_t p, uint64_t (*row)[U + 1], size_t rank, RepairFamily *y)
{
    size_t n = y->free, free = 0, column[U];
    char pivot[U] = {0};
    RepairFamily out = *y;
    for (size_t r = 0; r < rank; r++) {
        column[r] = 0;
        while (row[r][column[r]] == 0) column[r]++;
        pivot[column[r]] = 1;
        for (size_t k = 0; k < y->n; k++)
            out.at[k] = (out.at[k] + y->along[k][column[r]] * row[r][n]) % p;
    }
    for (size_t i = 0; i < n; i++) {
        if (pivot[i]) continue;
        for (size_t k = 0; k < y->n; k++) {
            uint64_t sum = y->along[k][i];
            for (size_t r = 0; r < rank; r++)
                sum = (sum + (p - row[r][i]) * y->along[k][column[r]]) % p;
            out.along[k][free] = sum;
        }
        free++;
    }
    out.free = free;
    *y = out;
}

/* Looks for the common roots of all conditions in the one s that is left. */
static int solve_one(RepairModel *m, int q, const size_t *unknown, RepairFamily *y, RepairNumber *r)
{
    uint64_t p = m->prime, s[U] = {0}, value[DEGREE_MOST + 1];
    int points = repair_points(m, q);
    size_t n = repair_conditions(m, q);
    Modular g = {.degree = -1};
    for (int i = 0; i < points; i++) {
        s[0] = (uint64_t)i;
        values_at(m, q, unknown, y, s, r + (size_t)i * n);
    }
    for (size_t t = 0; t < n && g.degree != 0; t++) {
        int differs = 0;
        for (int i = 0; i < points; i++) {
            value[i] = r[(size_t)i * n + t].m;
            differs |= value[i] != value[0];
        }
        if (!differs && value[0] != 0) return REPAIR_NONE;
        if (!differs) continue;
        Modular f = interpolate(p, value, points);
        common(p, &g, &f);
    }
    if (g.degree < 0) return REPAIR_OPEN;
    if (g.degree > 1) make_simple(p, &g);
    if (g.degree < 1 || g.degree > 2) return REPAIR_NONE;
    y->degree = g.degree;
    y->g[0] = g.c[0];
    y->g[1] = g.c[1];
    if (g.degree == 2) return REPAIR_FOUND;
    for (size_t k = 0; k < y->n; k++) y->at[k] = (y->at[k] + y->along[k][0] * (p - g.c[0])) % p;
    y->free = 0;
    return REPAIR_FOUND;
}

/* Collects the affine conditions in s; r has room for U + 3 lists of conditions. Returns 0 where they contradict. */
static int find_affine(RepairModel *m, int q, const size_t *unknown, const RepairFamily *y,
                       RepairNumber *r, uint64_t (*row)[U + 1], size_t *rank)
{
    uint64_t p = m->prime, s[U] = {0}, e[U + 1];
    size_t n = repair_conditions(m, q), d = y->free;
    RepairNumber *line = r + (d + 1) * n; /* at a random s, and at 2 s */
    for (size_t i = 0; i <= d; i++) {
        if (i > 0) s[i - 1] = 1;
        values_at(m, q, unknown, y, s, r + i * n);
        if (i > 0) s[i - 1] = 0;
    }
    for (uint64_t i = 1; i <= 2; i++) {
        for (size_t k = 0; k < d; k++) s[k] = i * random_below(61, 1, k, p) % p;
        values_at(m, q, unknown, y, s, line + (i - 1) * n);
    }
    *rank = 0;
    for (size_t t = 0; t < n; t++) {
        uint64_t f0 = r[t].m, bend = (f0 + line[n + t].m + 2 * (p - line[t].m)) % p;
        if (bend != 0) continue;
        for (size_t i = 0; i < d; i++) e[i] = (r[(i + 1) * n + t].m + p - f0) % p;
        e[d] = (p - f0) % p;
        if (!add_equation(p, row, rank, d, e)) return 0;
    }
    return 1;
}

/* Finds the values of n coefficients that meet all conditions to order q, modulo the prime; r: scratch. */
int repair_solve(RepairModel *m, int q, size_t n, const size_t *unknown, RepairNumber *r,
                 RepairFamily *y)
{
    uint64_t row[U][U + 1], none[U] = {0};
    *y = (RepairFamily){.n = n, .free = n, .degree = 1};
    for (size_t k = 0; k < n; k++) y->at[k] = m->x0[unknown[k]].m, y->along[k][k] = 1;
    while (y->free > 0) {
        size_t rank;
        if (!find_affine(m, q, unknown, y, r, row, &rank)) return REPAIR_NONE;
        if (rank == 0) return y->free == 1 ? solve_one(m, q, unknown, y, r) : REPAIR_OPEN;
        restrict_to(m->prime, row, rank, y);
    }
    values_at(m, q, unknown, y, none, r);
    for (size_t t = 0; t < repair_conditions(m, q); t++)
        if (r[t].m != 0) return REPAIR_NONE;
    return REPAIR_FOUND;
}

/* ---- fractions of remainders ------------------------------------------------------------------------------------ */

/* Finds n/d = x modulo M with |n|, d below sqrt(M/2); returns 0 where there is none. */
static int reconstruct(mpz_srcptr x, mpz_srcptr M, mpq_t out)
{
    mpz_t bound, r[2], s[2], k;
    mpz_inits(bound, r[0], r[1], s[0], s[1], k, NULL);
    mpz_fdiv_q_2exp(bound, M, 1);
    mpz_sqrt(bound, bound);
    mpz_set(r[0], M);
    mpz_set(r[1], x);
    mpz_set_ui(s[1], 1);
    while (mpz_cmp(r[1], bound) > 0) {
        mpz_fdiv_q(k, r[0], r[1]);
        mpz_submul(r[0], k, r[1]);
        mpz_submul(s[0], k, s[1]);
        mpz_swap(r[0], r[1]);
        mpz_swap(s[0], s[1]);
    }
    int found = mpz_sgn(s[1]) != 0 && mpz_cmpabs(s[1], bound) <= 0;
    if (found) {
        mpq_set_num(out, r[1]);
        mpq_set_den(out, s[1]);
        mpq_canonicalize(out);
    }
    mpz_clears(bound, r[0], r[1], s[0], s[1], k, NULL);
    return found;
}

/* Takes x = r modulo p into x modulo M. */
static void remainder_add(mpz_t x, mpz_srcptr M, uint64_t r, uint64_t p)
{
    uint64_t have = mpz_fdiv_ui(x, p),
             by = (r + p - have) % p * number_invert(p, mpz_fdiv_ui(M, p)) % p;
    mpz_addmul_ui(x, M, by);
}

/* The remainders of a family's numbers: `at`, and of degree 2 `along` and g. */
static size_t family_numbers(const RepairFamily *y, uint64_t *out)
{
    size_t n = 0;
    for (size_t k = 0; k < y->n; k++) out[n++] = y->at[k];
    for (size_t k = 0; k < y->n && y->degree == 2; k++) out[n++] = y->along[k][0];
    for (int i = 0; i < 2 && y->degree == 2; i++) out[n++] = y->g[i];
    return n;
}

/* Finds a family's numbers as fractions q (FAMILY_NUMBERS). */
int repair_lift(RepairModel *m, int order, size_t n, const size_t *unknown, RepairNumber *r,
                RepairFamily *first, mpq_t *q)
{
    mpz_t M, x[REPAIR_NUMBERS], prime;
    uint64_t part[REPAIR_NUMBERS];
    RATIONAL(last);
    size_t numbers = 0;
    int status = REPAIR_NONE, same = 0;
    mpz_inits(M, prime, NULL);
    for (size_t i = 0; i < REPAIR_NUMBERS; i++) mpz_init(x[i]);
    mpz_set_ui(M, 1);
    mpz_set_ui(prime, 1UL << 30);
    for (int k = 0; k < PRIMES && same < 2; k++) {
        RepairFamily y;
        mpz_nextprime(prime, prime);
        uint64_t p = mpz_get_ui(prime);
        repair_set_prime(m, p);
        status = repair_solve(m, order, n, unknown, r, &y);
        if (k == 0) *first = y;
        if (status == REPAIR_FOUND && y.degree != first->degree) status = REPAIR_NONE;
        if (status != REPAIR_FOUND) break;
        numbers = family_numbers(&y, part);
        for (size_t i = 0; i < numbers; i++) remainder_add(x[i], M, part[i], p);
        mpz_mul_ui(M, M, p);
        same += k > 0;
        for (size_t i = 0; i < numbers; i++) {
            int found = reconstruct(x[i], M, last);
            if (!found || !mpq_equal(last, q[i])) same = 0;
            if (found) mpq_set(q[i], last);
        }
        tick();
    }
    for (size_t i = 0; i < REPAIR_NUMBERS; i++) mpz_clear(x[i]);
    mpz_clears(M, prime, NULL);
    return status == REPAIR_FOUND && same < 2 ? REPAIR_NONE : status;
}
