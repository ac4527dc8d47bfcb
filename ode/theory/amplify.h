/* amplify.h: the amplification factors of a table, for the precision its includer defines. Private to
 * stability.c (double) and limit.c (quadruple); everything is static.
 *
 *     AMP_REAL, AMP_COMPLEX    the types           AMP_EPSILON    unit of rounding, 2^-53 or 2^-112
 *     AMP_ABS, AMP_EXP         |complex|, exp(complex)
 *     AMP_COS, AMP_SIN, AMP_ATAN                   functions of AMP_REAL
 *
 * On y' = (sum of lambda_op) y with h lambda_op = z[op] a mode is y[-j] = w^j y, w = 1 / zeta. Every slope is
 * then a multiple (in exponential stages: by phi_J(scale h lambda), in a resolvent's by 1 / (1 - scale h lambda)) of y and of the slopes q that some stage reads from the past, by
 * forward substitution or, where stages are implicit, from a linear system; with the update and q = k(y, q) there remains a small
 * matrix M(w), with a row and a column for each carried quantity, and
 *     P(w) = det M(w) = prod over amplification factors zeta of (1 - zeta w),   P(0) = 1.
 * Its coefficients come from its values at the N-th roots of unity (a unitary transform: no digit is
 * lost), its roots from Aberth's iteration (Aberth 1973). */
#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "ode/scheme/scheme.h"
#include "ode/theory/theory.h"

#include <complex.h>
#include <math.h>

enum { AMP_DEGREE = 255 }; /* highest degree of P taken on */

typedef struct {
    const Table *t;
    int *column; /* (evals): where k[-1], k[-2], ... of a stage's argument stand; 0: not read */
    size_t columns, degree, samples;
    size_t carried;      /* the first column of what is carried */
    size_t rows;         /* of points, the update, and what is carried */
    AMP_REAL **c;        /* (rows): their coefficients */
    AMP_REAL *scale;     /* (points) of exponential stages */
    AMP_COMPLEX *k;      /* (evals, columns) */
    AMP_COMPLEX *row;    /* (columns) */
    AMP_COMPLEX *matrix; /* (columns, columns) */
    /* (evals, evals + columns): 1 - z a, and what it is solved for; NULL: explicit stages. */
    AMP_COMPLEX *system;
    AMP_COMPLEX *unit;     /* (samples): roots of unity */
    AMP_COMPLEX *value;    /* (samples): P at them */
    AMP_COMPLEX *p, *root; /* (degree + 1), (degree) */
    size_t found;          /* roots that `root` holds from the last time */
    AMP_COMPLEX z[COLOURS];
} Amplifier;

/* Returns the AMP_REAL nearest to q, by two further terms of 53 bits. */
static AMP_REAL amp_value(const mpq_t q)
{
    mpq_t rest, part;
    AMP_REAL v = 0;
    mpq_inits(rest, part, NULL);
    mpq_set(rest, q);
    for (int i = 0; i < 3; i++) {
        double d = mpq_get_d(rest);
        v += d;
        if (!isfinite(d)) break;
        mpq_set_d(part, d);
        mpq_sub(rest, rest, part);
    }
    mpq_clears(rest, part, NULL);
    return v;
}

static void amp_free(Amplifier *a)
{
    for (size_t p = 0; a->c && p < a->rows; p++) memory_free(a->c[p]);
    void *owned[] = {a->c,      a->scale, a->column, a->k, a->row, a->matrix,
                     a->system, a->unit,  a->value,  a->p, a->root};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) memory_free(owned[i]);
    *a = (Amplifier){0};
}

/* Numbers the columns: y, then each slope an argument reads from the past, then what is carried. Returns a bound of P's
 * degree. */
static size_t amp_columns(const Table *t, int *column, size_t *columns)
{
    int deepest = 0, past = t->past_y > t->past_k ? t->past_y : t->past_k;
    *columns = 1;
    for (size_t p = 0; p < t->points; p++) {
        const Row *r = table_row(t, p);
        for (size_t i = 0; i < r->terms; i++) {
            if (r->term[i].eval < 0 || r->term[i].past == 0) continue;
            if (r->term[i].past > deepest) deepest = r->term[i].past;
            if (!column[r->term[i].eval]) column[r->term[i].eval] = (int)(*columns)++;
        }
    }
    size_t slopes = *columns - 1;
    *columns += t->carries;
    return ((size_t)past + 1) * (t->carries + 1) + slopes * (size_t)deepest;
}

static int amp_arrays(Amplifier *a)
{
    size_t n = a->columns;
    for (a->samples = 2; a->samples <= a->degree;) a->samples *= 2;
    a->k = memory_new(a->t->evals * n, sizeof *a->k);
    a->row = memory_new(n, sizeof *a->row);
    a->matrix = memory_new(n * n, sizeof *a->matrix);
    a->unit = memory_new(a->samples, sizeof *a->unit);
    a->value = memory_new(a->samples, sizeof *a->value);
    a->p = memory_new(a->degree + 1, sizeof *a->p);
    a->root = memory_new(a->degree, sizeof *a->root);
    if (table_implicit(a->t) &&
        !(a->system = memory_new(a->t->evals * (a->t->evals + n), sizeof *a->system)))
        return ERR_MEMORY;
    if (!a->k || !a->row || !a->matrix || !a->unit || !a->value || !a->p || !a->root)
        return ERR_MEMORY;
    AMP_REAL turn = 8 * AMP_ATAN(1);
    for (size_t i = 0; i < a->samples; i++) {
        AMP_REAL angle = turn * (AMP_REAL)i / (AMP_REAL)a->samples;
        AMP_REAL re = 4 * i % (2 * a->samples) == a->samples ? 0 : AMP_COS(angle);
        AMP_REAL im = 2 * i % a->samples == 0 ? 0 : AMP_SIN(angle); /* exact on the axes */
        a->unit[i] = re + im * (AMP_COMPLEX)I;
    }
    return 0;
}

static int amp_values(Amplifier *a)
{
    if (!(a->c = memory_new(a->rows, sizeof *a->c))) return ERR_MEMORY;
    if (!(a->scale = memory_new(a->t->points, sizeof *a->scale))) return ERR_MEMORY;
    for (size_t p = 0; p < a->t->points; p++) a->scale[p] = amp_value(a->t->point[p].scale);
    for (size_t p = 0; p < a->rows; p++) {
        const Row *r = table_row(a->t, p);
        if (!(a->c[p] = memory_new(r->terms, sizeof **a->c))) return ERR_MEMORY;
        for (size_t i = 0; i < r->terms; i++) a->c[p][i] = amp_value(r->term[i].c);
    }
    return 0;
}

/* Makes the Amplifier of t (borrowed), a frozen table of stages. ERR_INPUT: too much history. */
static int amp_new(Amplifier *a, const Table *t)
{
    *a = (Amplifier){.t = t, .rows = t->points + 1 + t->carries};
    if (!(a->column = memory_new(t->evals, sizeof *a->column))) return ERR_MEMORY;
    a->degree = amp_columns(t, a->column, &a->columns);
    a->carried = a->columns - t->carries;
    int code = a->degree <= AMP_DEGREE
                   ? 0
                   : error_set(ERR_INPUT, "%s: expected at most %d amplification factors, not %zu",
                               t->name, AMP_DEGREE, a->degree);
    if (code == 0) code = amp_arrays(a);
    if (code == 0) code = amp_values(a);
    if (code != 0) amp_free(a);
    return code;
}

/* Computes out (columns), the row at w = unit[s]. */
static void amp_combine(const Amplifier *a, size_t p, size_t s, int update, AMP_COMPLEX *out)
{
    const Row *r = table_row(a->t, p);
    size_t n = a->columns;
    for (size_t j = 0; j < n; j++) out[j] = 0;
    for (size_t i = 0; i < r->terms; i++) {
        const Term *x = &r->term[i];
        AMP_COMPLEX c = a->c[p][i];
        if (x->past) c *= a->unit[s * (size_t)x->past % a->samples];
        if (x->eval == TABLE_STATE)
            out[0] += c;
        else if (x->eval < 0)
            out[a->carried + (size_t)(TABLE_CARRIED - x->eval)] += c;
        else if (x->past && !update)
            out[a->column[x->eval]] += c;
        else
            for (size_t j = 0; j < n; j++) out[j] += c * a->k[(size_t)x->eval * n + j];
    }
}

/* Returns a size for comparisons, 0 only at 0. */
static double amp_size(AMP_COMPLEX x)
{
    return x == 0 ? 0 : fmax(cabs((double complex)x), 0x1p-1022);
}

/* Exchanges row j of m (n, wide), from column j on, with the one below of the largest element there; returns that. */
static size_t amp_pivot(AMP_COMPLEX *m, size_t n, size_t wide, size_t j)
{
    size_t best = j;
    for (size_t i = j + 1; i < n; i++)
        if (amp_size(m[i * wide + j]) > amp_size(m[best * wide + j])) best = i;
    for (size_t c = j; c < wide && best != j; c++) {
        AMP_COMPLEX swap = m[j * wide + c];
        m[j * wide + c] = m[best * wide + c];
        m[best * wide + c] = swap;
    }
    return best;
}

/* Computes the determinant by elimination with row pivots; m (n, n) is lost. */
static AMP_COMPLEX amp_determinant(AMP_COMPLEX *m, size_t n)
{
    AMP_COMPLEX d = 1;
    for (size_t j = 0; j < n; j++) {
        size_t best = amp_pivot(m, n, n, j);
        if (amp_size(m[j * n + j]) == 0) return 0;
        if (best != j) d = -d;
        d *= m[j * n + j];
        for (size_t i = j + 1; i < n; i++) {
            AMP_COMPLEX x = m[i * n + j] / m[j * n + j];
            for (size_t c = j + 1; c < n; c++) m[i * n + c] -= x * m[j * n + c];
        }
    }
    return d;
}

/* Computes phi_J(z): below |z| = 1 by its series sum of z^k / (k + J)!, from 1 on by phi_(j+1) = (phi_j - 1/j!) / z,
 * where J <= 4 steps lose a digit or two. */
static AMP_COMPLEX amp_phi(int J, AMP_COMPLEX z)
{
    AMP_COMPLEX sum, term = 1;
    if (amp_size(z) < 1) {
        for (int j = 2; j <= J; j++) term /= j;
        sum = term;
        for (int k = 1; amp_size(term) > (double)AMP_EPSILON / 64; k++) sum += term *= z / (k + J);
        return sum;
    }
    sum = AMP_EXP(z);
    for (int j = 0; j < J; j++) {
        sum = (sum - term) / z;
        term /= j + 1; /* 1 / (j + 1)! */
    }
    return sum;
}

/* Returns the factor of a slope over its row: h lambda, or the function's. */
static AMP_COMPLEX amp_factor(const Amplifier *a, const Eval *e)
{
    const Point *p = &a->t->point[e->point];
    AMP_COMPLEX z = 0;
    if (!p->phi) return a->z[e->op];
    for (int op = 0; op < a->t->colours; op++)
        if (point_fields(a->t, p) >> op & 1) z += a->z[op];
    z *= a->scale[e->point];
    return p->phi == PHI_SOLVE ? 1 / (1 - z) : amp_phi(p->phi - 1, z);
}

/* Solves in place: m's left part (n, n) is lost, its right (n, columns) becomes the solution. */
static void amp_solve(AMP_COMPLEX *m, size_t n, size_t columns)
{
    size_t wide = n + columns;
    for (size_t j = 0; j < n; j++) {
        amp_pivot(m, n, wide, j);
        for (size_t c = wide; c-- > j;) m[j * wide + c] /= m[j * wide + j];
        for (size_t i = 0; i < n; i++) {
            AMP_COMPLEX x = m[i * wide + j];
            for (size_t c = j; c < wide && i != j && x != 0; c++)
                m[i * wide + c] -= x * m[j * wide + c];
        }
    }
}

/* Computes every slope from K = factor (known + a K) at w = unit[s]; factor: z, or the resolvent's. */
static void amp_solve_slopes(Amplifier *a, size_t s)
{
    const Table *t = a->t;
    size_t n = a->columns, evals = t->evals, wide = evals + n;
    for (size_t e = 0; e < evals; e++) {
        AMP_COMPLEX z = amp_factor(a, &t->eval[e]), *m = a->system + e * wide;
        const Row *r = table_row(t, (size_t)t->eval[e].point);
        for (size_t j = 0; j < wide; j++) m[j] = j == e;
        for (size_t i = 0; i < r->terms; i++) {
            const Term *x = &r->term[i];
            AMP_COMPLEX c = z * a->c[t->eval[e].point][i];
            if (x->past) c *= a->unit[s * (size_t)x->past % a->samples];
            if (x->eval == TABLE_STATE)
                m[evals] += c;
            else if (x->eval < 0)
                m[evals + a->carried + (size_t)(TABLE_CARRIED - x->eval)] += c;
            else if (x->past)
                m[evals + (size_t)a->column[x->eval]] += c;
            else
                m[x->eval] -= c;
        }
    }
    amp_solve(a->system, evals, n);
    for (size_t e = 0; e < evals; e++)
        for (size_t j = 0; j < n; j++) a->k[e * n + j] = a->system[e * wide + evals + j];
}

/* Returns P at w = unit[s]. */
static AMP_COMPLEX amp_sample(Amplifier *a, size_t s)
{
    const Table *t = a->t;
    size_t n = a->columns;
    if (a->system) amp_solve_slopes(a, s);
    for (size_t e = 0; e < t->evals && !a->system; e++) {
        if (e == 0 || t->eval[e].point != t->eval[e - 1].point)
            amp_combine(a, (size_t)t->eval[e].point, s, 0, a->row);
        AMP_COMPLEX factor = amp_factor(a, &t->eval[e]);
        for (size_t j = 0; j < n; j++) a->k[e * n + j] = factor * a->row[j];
    }
    amp_combine(a, t->points, s, 1, a->row);
    for (size_t j = 0; j < n; j++) a->matrix[j] = (j == 0) - a->unit[s] * a->row[j];
    for (size_t e = 0; e < t->evals; e++) {
        size_t i = (size_t)a->column[e];
        for (size_t j = 0; i && j < n; j++) a->matrix[i * n + j] = (i == j) - a->k[e * n + j];
    }
    for (size_t v = 0; v < t->carries; v++) {
        size_t i = a->carried + v;
        amp_combine(a, t->points + 1 + v, s, 1, a->row);
        for (size_t j = 0; j < n; j++) a->matrix[i * n + j] = (i == j) - a->unit[s] * a->row[j];
    }
    return amp_determinant(a->matrix, n);
}

/* Computes the coefficients of P at z, one z for each of the table's colours, into a->p. */
static void amp_polynomial(Amplifier *a, const AMP_COMPLEX *z)
{
    size_t n = a->samples;
    for (int op = 0; op < a->t->colours; op++) a->z[op] = z[op];
    for (size_t s = 0; s < n; s++) a->value[s] = amp_sample(a, s);
    for (size_t m = 0; m <= a->degree; m++) {
        AMP_COMPLEX sum = 0;
        for (size_t s = 0; s < n; s++) sum += a->value[s] * a->unit[(n - s) * m % n];
        a->p[m] = sum / (AMP_REAL)n;
    }
}

/* Makes Aberth's correction of root i of zeta^d + p_1 zeta^(d-1) + ...; returns its relative size. */
static double amp_correct(Amplifier *a, size_t d, size_t i)
{
    AMP_COMPLEX x = a->root[i], f = a->p[0], g = 0, sum = 0;
    for (size_t m = 1; m <= d; m++) {
        g = g * x + f;
        f = f * x + a->p[m];
    }
    if (amp_size(f) == 0) return 0;
    for (size_t j = 0; j < d; j++) {
        AMP_COMPLEX apart = x - a->root[j];
        if (j != i && amp_size(apart) > 0) sum += 1 / apart;
    }
    AMP_COMPLEX below = g - f * sum;
    AMP_COMPLEX step = amp_size(below) > 0 ? f / below : x * (AMP_REAL)1e-3;
    a->root[i] -= step;
    return amp_size(step) / (amp_size(a->root[i]) + 1e-40 * amp_size(step));
}

/* Sets where the iteration begins: the roots found last, moved a little apart, or a circle. */
static void amp_begin(Amplifier *a, size_t d)
{
    double circle = 0;
    for (size_t m = 1; m <= d && d != a->found; m++)
        circle = fmax(circle, pow(amp_size(a->p[m]), 1 / (double)m));
    for (size_t i = 0; i < d; i++) {
        double complex turn = cexp((2 * 3.14159265358979 * (double)i / (double)d + 0.4) * I);
        a->root[i] = d == a->found ? a->root[i] * (1 + 1e-5 * turn) : circle * turn;
    }
    a->found = d;
}

/* Returns the largest |zeta| from a->p; it drops factors that are zero to rounding. Where a stage has no solution, a
 * pole of R, coefficients are not finite and |zeta| is infinite. */
static AMP_REAL amp_radius(Amplifier *a)
{
    double largest = 0, change = 1;
    AMP_REAL modulus = 0;
    size_t d = a->degree;
    for (size_t m = 0; m <= d; m++) {
        if (!isfinite(cabs((double complex)a->p[m]))) return INFINITY;
        largest = fmax(largest, amp_size(a->p[m]));
    }
    while (d > 0 && amp_size(a->p[d]) <= 64 * (double)AMP_EPSILON * largest) d--;
    if (d == 1) return AMP_ABS(a->p[1] / a->p[0]);
    amp_begin(a, d);
    for (int turn = 0; turn < 200 && change > 4 * (double)AMP_EPSILON; turn++) {
        change = 0;
        for (size_t i = 0; i < d; i++) change = fmax(change, amp_correct(a, d, i));
    }
    for (size_t i = 0; i < d; i++) {
        AMP_REAL size = AMP_ABS(a->root[i]);
        modulus = size > modulus ? size : modulus;
    }
    return modulus;
}
