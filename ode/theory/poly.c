/* poly.c: rational polynomials: division, repeated roots, and the first place where one turns positive.
 *
 * Repeated roots are those of gcd(p, p'), by pseudo-division with whole coefficients, so that no sum asks for a denominator.
 * Most polynomials have none, and modulo a prime this is seen at once. Roots are parted from each other by Descartes' rule
 * of signs on intervals that are halved (Collins, Akritas 1976; Basu, Pollack, Roy 2006, section 10.2). */
#include "ode/theory/poly.h"
#include "kernels/base/error.h"
#include "kernels/base/quiet.h"
#include "kernels/base/scoped.h"
#include "kernels/base/tick.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/table.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_poly.h>
#include <limits.h>
#include <stdint.h>
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

/* Returns coefficient i where it is a whole number. */
static mpz_ptr whole(const Poly *p, int i)
{
    return mpq_numref(p->c[i]);
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
        mpz_gcd(factor, factor, whole(p, i));
    }
    if (sign < 0) mpz_neg(factor, factor);
    for (int i = 0; i <= p->degree; i++) {
        mpz_ptr c = whole(p, i), d = mpq_denref(p->c[i]);
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
    mpz_srcptr by = whole(q, q->degree);
    int turned = 0; /* p is a negative multiple */
    while (p->degree >= q->degree) {
        mpz_srcptr lead = whole(p, p->degree);
        int shift = p->degree - q->degree;
        for (int i = 0; i < p->degree; i++) {
            mpz_ptr c = whole(p, i);
            mpz_mul(c, c, by);
            if (i >= shift) mpz_submul(c, lead, whole(q, i - shift));
        }
        mpq_set_ui(p->c[p->degree], 0, 1);
        turned ^= mpz_sgn(by) < 0;
        poly_trim(p);
    }
    for (int i = 0; i <= p->degree && turned; i++) mpq_neg(p->c[i], p->c[i]);
}

/* ---- repeated roots ----------------------------------------------------------------------------------- */

static const uint64_t prime = ((uint64_t)1 << 31) - 1;

/* Replaces p (degree + 1) by lead(q)^k p mod q modulo the prime, and returns its degree. */
static int remainder_modulo(uint64_t *p, int degree, const uint64_t *q, int q_degree)
{
    for (; degree >= q_degree; degree--) {
        uint64_t lead = p[degree];
        for (int i = 0; i < degree; i++) {
            int k = i - (degree - q_degree);
            p[i] = p[i] * q[q_degree] % prime;
            if (k >= 0) p[i] = (p[i] + prime - lead * q[k] % prime) % prime;
        }
    }
    while (degree >= 0 && p[degree] == 0) degree--;
    return degree;
}

/* Sets *simple where a polynomial of whole coefficients has no repeated root, as gcd(p, p') is 1 modulo a prime. */
static int is_simple(const Poly *p, int *simple)
{
    size_t room = (size_t)p->degree + 1;
    SCOPED(memory_drop) uint64_t *list = memory_new(2 * room, sizeof *list);
    if (!list) return ERR_MEMORY;
    uint64_t *a = list, *b = list + room;
    int n = p->degree, m = p->degree - 1;
    for (int i = 0; i <= n; i++) a[i] = mpz_fdiv_ui(whole(p, i), prime);
    for (int i = 0; i < n; i++) b[i] = a[i + 1] * ((uint64_t)i + 1) % prime;
    *simple = a[n] != 0;
    while (*simple && m > 0) {
        int rest = remainder_modulo(a, n, b, m);
        uint64_t *c = a;
        a = b, n = m;
        b = c, m = rest;
    }
    *simple = *simple && m == 0;
    return 0;
}

int poly_common(const Poly *p, const Poly *q, Poly *out)
{
    SCOPED(poly_free) Poly a = {0}, b = {0};
    TRY(poly_new(&a, p->degree));
    TRY(poly_new(&b, q->degree));
    poly_copy(&a, p);
    poly_copy(&b, q);
    scale(&a, 1);
    Poly *from = &a, *by = &b;
    for (scale(by, 1); by->degree >= 0; scale(by, 1)) {
        tick();
        remainder_of(from, by);
        Poly *rest = from;
        from = by, by = rest;
    }
    poly_copy(out, from);
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
        mpz_addmul(v, whole(p, i), power);
        mpz_mul(power, power, mpq_denref(x));
    }
    int sign = mpz_sgn(v);
    mpz_clears(v, power, NULL);
    return sign;
}

int poly_squarefree(const Poly *p, Poly *simple, Poly *repeated)
{
    SCOPED(poly_free) Poly rest = {0}, whole = {0};
    int is = 0;
    TRY(poly_new(&rest, p->degree));
    TRY(poly_new(&whole, p->degree));
    poly_copy(&whole, p);
    scale(&whole, 1);
    if (p->degree > 0) TRY(is_simple(&whole, &is));
    if (is || p->degree == 0) {
        poly_copy(repeated, &whole);
        for (int i = 1; i <= p->degree; i++) mpq_set_ui(repeated->c[i], 0, 1);
        mpq_set_ui(repeated->c[0], 1, 1);
        poly_trim(repeated);
    } else {
        derive(repeated, &whole);
        TRY(poly_common(&whole, repeated, repeated));
    }
    poly_copy(&rest, p);
    poly_divide(&rest, repeated, simple);
    return 0;
}

/* ---- roots, each in an interval ------------------------------------------------------------------------- */

/* One root is in (low, high), or at low = high. */
typedef struct {
    mpq_t low, high;
} Root;

/* The positive roots, rising, of a polynomial that has each once. */
typedef struct {
    const Poly *p;
    int count;
    Root *of; /* (p->degree) */
} Roots;

static void roots_free(Roots *r)
{
    for (int i = 0; i < r->count; i++) mpq_clears(r->of[i].low, r->of[i].high, NULL);
    r->of = memory_free(r->of);
}

static void roots_add(Roots *r, const mpq_t low, const mpq_t high)
{
    Root *at = &r->of[r->count++];
    mpq_inits(at->low, at->high, NULL);
    mpq_set(at->low, low);
    mpq_set(at->high, high);
}

/* Replaces f(x) by f(x + 1). */
static void shift(Poly *f)
{
    for (int i = 0; i < f->degree; i++)
        for (int j = f->degree - 1; j >= i; j--) mpz_add(whole(f, j), whole(f, j), whole(f, j + 1));
}

/* Counts the changes of sign of (1 + x)^n f(1/(1 + x)): 0 or 1 is the number of roots in (0, 1), more are too many. */
static int changes(const Poly *f, int *count)
{
    SCOPED(poly_free) Poly g = {0};
    int last = 0;
    TRY(poly_new(&g, f->degree));
    g.degree = f->degree;
    for (int i = 0; i <= g.degree; i++) mpz_set(whole(&g, i), whole(f, g.degree - i));
    shift(&g);
    *count = 0;
    for (int i = 0; i <= g.degree; i++) {
        int sign = mpz_sgn(whole(&g, i));
        *count += sign * last < 0;
        if (sign) last = sign;
    }
    return 0;
}

enum { DEEPEST = 512 };

/* Adds the roots of f in (0, 1), which stands for low and as far as 2^size from it. Returns 1 where roots are closer than
 * 2^-DEEPEST of the largest. */
static int part(Roots *r, const Poly *f, const mpq_t low, int size, int depth)
{
    SCOPED(poly_free) Poly half = {0};
    RATIONAL(middle);
    RATIONAL(end);
    int count, n = f->degree;
    tick();
    TRY(changes(f, &count));
    if (count == 0) return 0;
    if (count > 1 && depth == DEEPEST) return 1;
    for (int k = 1; k >= 0; k--) { /* middle is one half as far as end */
        mpq_ptr to = k ? middle : end;
        mpq_set_ui(to, 1, 1);
        if (size < k)
            mpq_div_2exp(to, to, (mp_bitcnt_t)(k - size));
        else
            mpq_mul_2exp(to, to, (mp_bitcnt_t)(size - k));
        mpq_add(to, to, low);
    }
    if (count == 1) return roots_add(r, low, end), 0;
    TRY(poly_new(&half, n));
    half.degree = n;
    for (int i = 0; i <= n; i++) mpz_mul_2exp(whole(&half, i), whole(f, i), (mp_bitcnt_t)(n - i));
    TRY(part(r, &half, low, size - 1, depth + 1));
    shift(&half);
    if (mpz_sgn(whole(&half, 0)) == 0) {
        roots_add(r, middle, middle);
        for (int i = 0; i < n; i++) mpq_swap(half.c[i], half.c[i + 1]);
        half.degree--;
    }
    return part(r, &half, middle, size - 1, depth + 1);
}

/* Returns k so that all roots are less than 2^k in modulus, within twice 2 max |c_(n-i) / c_n|^(1/i) (Fujiwara 1916). */
static int roots_below(const Poly *p)
{
    int most = INT_MIN, n = p->degree;
    long last = (long)mpz_sizeinbase(whole(p, n), 2);
    for (int i = 1; i <= n; i++) {
        mpz_srcptr c = whole(p, n - i);
        long more = (long)mpz_sizeinbase(c, 2) - last + 1;
        int k = (int)(more > 0 ? (more + i - 1) / i : -(-more / i));
        if (mpz_sgn(c) != 0 && k > most) most = k;
    }
    return most + 1;
}

/* p (borrowed): of whole coefficients, each root once, none at 0. */
static int roots_new(Roots *r, const Poly *p)
{
    SCOPED(poly_free) Poly f = {0};
    RATIONAL(low);
    int n = p->degree;
    *r = (Roots){.p = p, .of = memory_new((size_t)n + 1, sizeof *r->of)};
    if (!r->of) return ERR_MEMORY;
    if (n < 1) return 0;
    TRY(poly_new(&f, n));
    f.degree = n;
    int size = roots_below(p);
    for (int i = 0; i <= n; i++)
        mpz_mul_2exp(whole(&f, i), whole(p, i),
                     (mp_bitcnt_t)(size < 0 ? -size * (n - i) : size * i));
    return part(r, &f, low, size, 0);
}

/* Tells whether root i is at most x, and narrows its interval by the sign at x: before root i the signs have changed i
 * times. */
static int is_at_most(Roots *r, int i, const mpq_t x)
{
    Root *at = &r->of[i];
    if (mpq_cmp(x, at->high) >= 0) return 1;
    if (mpq_cmp(x, at->low) <= 0) return 0;
    int sign = whole_sign(r->p, x), before = mpz_sgn(whole(r->p, 0)) * (i % 2 ? -1 : 1);
    if (sign != before) mpq_set(at->high, x);
    if (sign == before || sign == 0) mpq_set(at->low, x);
    return sign != before;
}

static int roots_up_to(Roots *r, const mpq_t x)
{
    int n = 0;
    while (n < r->count && is_at_most(r, n, x)) n++;
    return n;
}

static int roots_between(Roots *r, const mpq_t a, const mpq_t b)
{
    return roots_up_to(r, b) - roots_up_to(r, a);
}

/* ---- the first rise --------------------------------------------------------------------------------- */

/* p and its roots, each once; an interval (low, high] in which a root is looked for. */
typedef struct {
    const Poly *p;
    Poly simple, repeated;
    Roots roots;
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
    int n = roots_between(&s->roots, s->low, s->high);
    if (n == 0) return 0;
    while (n > 1) {
        halve(s->low, s->high, s->middle);
        int below = roots_between(&s->roots, s->low, s->middle);
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
    while (roots_between(&s->roots, s->high, s->middle) > 0) halve(s->high, s->middle, s->middle);
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
    roots_free(&s->roots);
    poly_free(&s->simple);
    poly_free(&s->repeated);
    mpq_clears(s->low, s->high, s->bound, s->middle, NULL);
}

int poly_interval(const Poly *p, double *end)
{
    SCOPED(poly_free) Poly q = {0};
    SCOPED(search_free) Search s = {.p = &q};
    mpq_inits(s.low, s.high, s.bound, s.middle, NULL);
    *end = p->degree < 0 ? INFINITY : NAN;
    if (p->degree < 0) return 0;
    TRY(poly_new(&q, p->degree));
    TRY(poly_new(&s.simple, p->degree));
    TRY(poly_new(&s.repeated, p->degree));
    drop_zero_roots(p, &q);
    scale(&q, 1);
    TRY(poly_squarefree(&q, &s.simple, &s.repeated));
    scale(&s.simple, 1);
    TRY(roots_new(&s.roots, &s.simple));
    search(&s, end);
    if (mpq_sgn(q.c[0]) > 0) *end = 0;
    return 0;
}

/* ---- complex zeros ------------------------------------------------------------------------------------ */

int poly_zeros(const Poly *p, double *z)
{
    size_t n = (size_t)p->degree;
    SCOPED(memory_drop) double *c = memory_new(n + 1, sizeof *c);
    quiet_begin();
    gsl_poly_complex_workspace *w = gsl_poly_complex_workspace_alloc(n + 1);
    int code = c && w ? 0 : error_set(ERR_MEMORY, "out of memory");
    for (size_t i = 0; code == 0 && i <= n; i++) c[i] = table_double(p->c[i]);
    if (code == 0 && gsl_poly_complex_solve(c, n + 1, w, z) != GSL_SUCCESS)
        code = error_set(ERR_NUMERIC, "the roots of a scheme's polynomial were not found");
    if (w) gsl_poly_complex_workspace_free(w);
    quiet_end();
    return code;
}
