/* poly.c: rational polynomials: division, repeated roots, and the first place where one turns positive.
 *
 * Roots in an interval are counted by the sign changes of the Sturm chain p, p', -rem, ... (Sturm 1829;
 * Basu, Pollack, Roy 2006, section 2.2). Its members have whole coefficients without a common factor, by pseudo-division,
 * so that no sum asks for a denominator. */
#include "ode/theory/poly.h"
#include "kernels/error.h"
#include "kernels/scoped.h"
#include "kernels/tick.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/table.h"

#include <math.h>

int poly_new(Poly *p, int room)
{
    if (room < 0) room = 0;
    *p = (Poly){.degree = -1, .room = room};
    return (p->c = rationals_new((size_t)room + 1)) ? 0 : ERR_MEMORY;
}

void poly_free(Poly *p)
{
    rationals_free(p->c);
    p->c = NULL;
}

void poly_trim(Poly *p)
{
    p->degree = p->room;
    while (p->degree >= 0 && mpq_sgn(p->c[p->degree]) == 0) p->degree--;
}

void poly_copy(Poly *to, const Poly *from)
{
    for (int i = 0; i <= to->room; i++) mpq_set_ui(to->c[i], 0, 1);
    for (int i = 0; i <= from->degree; i++) mpq_set(to->c[i], from->c[i]);
    to->degree = from->degree;
}

void poly_divide(Poly *p, const Poly *q, Poly *quotient)
{
    RATIONAL(ratio);
    while (p->degree >= q->degree) {
        int shift = p->degree - q->degree;
        mpq_div(ratio, p->c[p->degree], q->c[q->degree]);
        if (quotient) mpq_set(quotient->c[shift], ratio);
        for (int i = 0; i <= q->degree; i++) {
            rational_subtract(p->c[i + shift], ratio, q->c[i]);
        }
        poly_trim(p); /* the leading terms cancel exactly */
    }
    if (quotient) poly_trim(quotient);
}

static void derive(Poly *out, const Poly *p)
{
    for (int i = 1; i <= p->degree; i++) {
        mpq_set_si(out->c[i - 1], i, 1);
        mpq_mul(out->c[i - 1], out->c[i - 1], p->c[i]);
    }
    out->degree = p->degree < 1 ? -1 : p->degree - 1;
}

/* Multiplies by the number > 0, or < 0, that makes the coefficients whole numbers without a common factor. */
static void scale(Poly *p, int sign)
{
    mpz_t below, factor;
    if (p->degree < 0) return;
    mpz_init_set_ui(below, 1);
    mpz_init(factor);
    for (int i = 0; i <= p->degree; i++) {
        mpz_lcm(below, below, mpq_denref(p->c[i]));
        mpz_gcd(factor, factor, mpq_numref(p->c[i]));
    }
    if (sign < 0) mpz_neg(factor, factor);
    for (int i = 0; i <= p->degree; i++) {
        mpz_ptr c = mpq_numref(p->c[i]), d = mpq_denref(p->c[i]);
        mpz_divexact(c, c, factor);
        mpz_divexact(d, below, d);
        mpz_mul(c, c, d);
        mpz_set_ui(d, 1);
    }
    mpz_clears(below, factor, NULL);
}

/* Replaces p by a positive multiple of p mod q, q not 0; both have whole coefficients. */
static void remainder_of(Poly *p, const Poly *q)
{
    mpz_srcptr by = mpq_numref(q->c[q->degree]);
    int turned = 0; /* p is a negative multiple */
    while (p->degree >= q->degree) {
        mpz_srcptr lead = mpq_numref(p->c[p->degree]);
        int shift = p->degree - q->degree;
        for (int i = 0; i < p->degree; i++) {
            mpz_ptr c = mpq_numref(p->c[i]);
            mpz_mul(c, c, by);
            if (i >= shift) mpz_submul(c, lead, mpq_numref(q->c[i - shift]));
        }
        mpq_set_ui(p->c[p->degree], 0, 1);
        turned ^= mpz_sgn(by) < 0;
        poly_trim(p);
    }
    for (int i = 0; i <= p->degree && turned; i++) mpq_neg(p->c[i], p->c[i]);
}

/* ---- Sturm chains ---------------------------------------------------------------------------------- */

void polys_free(Polys *s)
{
    for (int i = 0; s->p && i < s->count; i++) poly_free(&s->p[i]);
    s->p = memory_free(s->p);
}

static int chain_add(Polys *s, int room)
{
    TRY(poly_new(&s->p[s->count], room));
    s->count++;
    return 0;
}

/* Makes p, p', ... down to the greatest common divisor of the two. */
static int chain_new(Polys *s, const Poly *p)
{
    *s = (Polys){0};
    if (!(s->p = memory_new((size_t)p->degree + 3, sizeof(Poly)))) return ERR_MEMORY;
    TRY(chain_add(s, p->degree));
    poly_copy(&s->p[0], p);
    scale(&s->p[0], 1);
    TRY(chain_add(s, p->degree));
    derive(&s->p[1], p);
    scale(&s->p[1], 1);
    while (s->p[s->count - 1].degree >= 0) {
        tick_of(s->count, p->degree);
        TRY(chain_add(s, s->p[s->count - 2].degree));
        Poly *r = &s->p[s->count - 1];
        poly_copy(r, &s->p[s->count - 3]);
        remainder_of(r, &s->p[s->count - 2]);
        scale(r, -1);
    }
    poly_free(&s->p[--s->count]);
    return 0;
}

/* Returns the sign of p(x), p of whole coefficients: with x = a/b that of sum c_i a^i b^(n-i). */
static int whole_sign(const Poly *p, const mpq_t x)
{
    mpz_t v, power;
    mpz_init(v);
    mpz_init_set_ui(power, 1);
    for (int i = p->degree; i >= 0; i--) {
        mpz_mul(v, v, mpq_numref(x));
        mpz_addmul(v, mpq_numref(p->c[i]), power);
        mpz_mul(power, power, mpq_denref(x));
    }
    int sign = mpz_sgn(v);
    mpz_clears(v, power, NULL);
    return sign;
}

static int variations(const Polys *s, const mpq_t x)
{
    int last = 0, n = 0;
    for (int i = 0; i < s->count; i++) {
        int sign = whole_sign(&s->p[i], x);
        n += sign * last < 0;
        if (sign) last = sign;
    }
    return n;
}

static int roots_between(const Polys *s, const mpq_t a, const mpq_t b)
{
    return variations(s, a) - variations(s, b);
}

/* Makes the chain of p and divides p by its last member. */
static int divide_repeated(const Poly *p, Polys *s, Poly *simple, Poly *repeated)
{
    SCOPED(poly_free) Poly rest = {0};
    TRY(chain_new(s, p));
    TRY(poly_new(&rest, p->degree));
    poly_copy(repeated, &s->p[s->count - 1]);
    poly_copy(&rest, p);
    poly_divide(&rest, repeated, simple);
    return 0;
}

int poly_squarefree(const Poly *p, Poly *simple, Poly *repeated)
{
    SCOPED(polys_free) Polys s = {0};
    return divide_repeated(p, &s, simple, repeated);
}

/* ---- the first rise --------------------------------------------------------------------------------- */

/* p and its roots, each once, with their chain; an interval (low, high] in which a root is looked for. */
typedef struct {
    const Poly *p;
    Poly simple, repeated;
    Polys chain;
    mpq_t low, high, bound, middle;
} Search;

static void halve(const mpq_t a, const mpq_t b, mpq_t out)
{
    mpq_add(out, a, b);
    mpq_div_2exp(out, out, 1);
}

/* Computes a bound that every root is below in modulus: 1 + max |c_i / c_n| (Cauchy 1829). */
static void root_bound(const Poly *p, mpq_t out)
{
    RATIONAL(x);
    mpq_set_ui(out, 0, 1);
    for (int i = 0; i < p->degree; i++) {
        mpq_div(x, p->c[i], p->c[p->degree]);
        mpq_abs(x, x);
        if (mpq_cmp(x, out) > 0) mpq_set(out, x);
    }
    mpq_add(out, out, rational_one);
}

/* Narrows (low, high] to the first root after low; 0: there is none. */
static int isolate(Search *s)
{
    mpq_set(s->high, s->bound);
    int n = roots_between(&s->chain, s->low, s->high);
    if (n == 0) return 0;
    while (n > 1) {
        halve(s->low, s->high, s->middle);
        int below = roots_between(&s->chain, s->low, s->middle);
        mpq_set(below ? s->high : s->low, s->middle);
        if (below) n = below;
    }
    return 1;
}

/* Returns p's sign between the root in (low, high] and the next; a little beyond a root at high. */
static int sign_after(Search *s)
{
    if (whole_sign(&s->simple, s->high) != 0) return whole_sign(s->p, s->high);
    mpq_set(s->middle, s->bound);
    while (roots_between(&s->chain, s->high, s->middle) > 0) halve(s->high, s->middle, s->middle);
    return whole_sign(s->p, s->middle);
}

static double refine(Search *s)
{
    int above = whole_sign(&s->simple, s->high), narrow = above == 0;
    RATIONAL(width);
    if (narrow) mpq_set(s->low, s->high);
    while (!narrow) {
        halve(s->low, s->high, s->middle);
        int sign = whole_sign(&s->simple, s->middle);
        mpq_set(sign == above || sign == 0 ? s->high : s->low, s->middle);
        if (sign == 0) mpq_set(s->low, s->middle);
        mpq_sub(width, s->high, s->low);
        mpq_mul_2exp(width, width, 60);
        narrow = mpq_cmp(width, s->high) <= 0;
    }
    return table_double(s->high);
}

static void search(Search *s, double *end)
{
    root_bound(&s->simple, s->bound);
    *end = INFINITY;
    while (isolate(s)) {
        if (sign_after(s) > 0) {
            *end = refine(s);
            return;
        }
        mpq_set(s->low, s->high);
    }
}

/* Writes p / x^k, whose lowest coefficient is not zero. */
static void drop_zero_roots(const Poly *p, Poly *out)
{
    int k = 0;
    while (mpq_sgn(p->c[k]) == 0) k++;
    for (int i = k; i <= p->degree; i++) mpq_set(out->c[i - k], p->c[i]);
    out->degree = p->degree - k;
}

static void search_free(Search *s)
{
    polys_free(&s->chain);
    poly_free(&s->simple);
    poly_free(&s->repeated);
    mpq_clears(s->low, s->high, s->bound, s->middle, NULL);
}

int poly_interval(const Poly *p, double *end)
{
    SCOPED(poly_free) Poly q = {0};
    SCOPED(search_free) Search s = {.p = &q};
    mpq_inits(s.low, s.high, s.bound, s.middle, NULL);
    *end = INFINITY;
    if (p->degree < 0) return 0;
    TRY(poly_new(&q, p->degree));
    TRY(poly_new(&s.simple, p->degree));
    TRY(poly_new(&s.repeated, p->degree));
    drop_zero_roots(p, &q);
    scale(&q, 1);
    TRY(divide_repeated(&q, &s.chain, &s.simple, &s.repeated));
    scale(&s.simple, 1);
    if (s.repeated.degree > 0) {
        polys_free(&s.chain);
        TRY(chain_new(&s.chain, &s.simple));
    }
    search(&s, end);
    if (mpq_sgn(q.c[0]) > 0) *end = 0;
    return 0;
}
