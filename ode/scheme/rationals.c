/* rationals.c: see rationals.h. */
#include "ode/scheme/rationals.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "kernels/base/memory.h"

static mp_limb_t one[] = {1};
const mpq_t rational_one = {{{0, 1, one}, {0, 1, one}}};

void rational_add(mpq_ptr sum, mpq_srcptr a, mpq_srcptr b)
{
    RATIONAL(x);
    mpq_mul(x, a, b);
    mpq_add(sum, sum, x);
}

void rational_subtract(mpq_ptr sum, mpq_srcptr a, mpq_srcptr b)
{
    RATIONAL(x);
    mpq_mul(x, a, b);
    mpq_sub(sum, sum, x);
}

void rational_divide(mpq_ptr x, uint64_t k)
{
    mpz_t by;
    if ((unsigned long)k == k) {
        mpz_mul_ui(mpq_denref(x), mpq_denref(x), (unsigned long)k);
    } else {
        mpz_init(by);
        integer_set(by, k);
        mpz_mul(mpq_denref(x), mpq_denref(x), by);
        mpz_clear(by);
    }
    mpq_canonicalize(x);
}

size_t rational_decimal(const char *s, size_t n, mpq_ptr out)
{
    long places = 0, power = 0;
    size_t i = 0, digits = 0;
    mpq_set_ui(out, 0, 1);
    for (int point = 0; i < n && (isdigit((unsigned char)s[i]) || (s[i] == '.' && !point)); i++) {
        if (s[i] == '.') {
            point = 1;
            continue;
        }
        mpz_mul_ui(mpq_numref(out), mpq_numref(out), 10);
        mpz_add_ui(mpq_numref(out), mpq_numref(out), (unsigned long)(s[i] - '0'));
        places += point;
        digits++;
    }
    if (!digits) return 0;
    size_t e = i + 1, negative = 0;
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        if (e < n && (s[e] == '-' || s[e] == '+')) negative = s[e++] == '-';
        size_t first = e;
        for (; e < n && isdigit((unsigned char)s[e]) && power < 1000; e++)
            power = 10 * power + s[e] - '0';
        if (e > first) i = e;
    }
    power = (negative ? -power : power) - places;
    mpz_ptr side = power < 0 ? mpq_denref(out) : mpq_numref(out);
    for (; power != 0; power += power < 0 ? 1 : -1) mpz_mul_ui(side, side, 10);
    mpq_canonicalize(out);
    return i;
}

void integer_set(mpz_ptr out, uint64_t n)
{
    mpz_import(out, 1, 1, sizeof n, 0, 0, &n);
}

uint64_t integer_get(mpz_srcptr n)
{
    uint64_t out = 0;
    mpz_export(&out, NULL, 1, sizeof out, 0, 0, n);
    return out;
}

uint64_t integer_modulo(mpz_srcptr n, uint64_t p)
{
    mpz_t x;
    if ((unsigned long)p == p) return mpz_fdiv_ui(n, (unsigned long)p);
    mpz_init(x);
    integer_set(x, p);
    mpz_fdiv_r(x, n, x);
    p = integer_get(x);
    mpz_clear(x);
    return p;
}

void rational_sum_begin(RationalSum *s, mpq_srcptr a, mpq_srcptr b)
{
    mpz_mul(s->n, mpq_numref(a), mpq_numref(b));
    mpz_mul(s->d, mpq_denref(a), mpq_denref(b));
}

void rational_sum_times(RationalSum *s, mpq_srcptr x)
{
    mpz_mul(s->n, s->n, mpq_numref(x));
    mpz_mul(s->d, s->d, mpq_denref(x));
}

/* N / D + n / d = (N d/g + n D/g) / (D d/g), g the common divisor of D and d. */
void rational_sum_take(RationalSum *s)
{
    mpz_ptr N = mpq_numref(s->sum), D = mpq_denref(s->sum);
    if (mpz_sgn(s->n) == 0) return;
    if (mpz_divisible_p(D, s->d)) {
        mpz_divexact(s->d, D, s->d);
        mpz_addmul(N, s->n, s->d);
        return;
    }
    mpz_gcd(s->common, D, s->d);
    mpz_divexact(s->d, s->d, s->common);
    mpz_divexact(s->common, D, s->common);
    mpz_mul(N, N, s->d);
    mpz_addmul(N, s->n, s->common);
    mpz_mul(D, D, s->d);
}

void rational_sum_end(RationalSum *s, mpq_ptr out)
{
    mpq_canonicalize(s->sum);
    mpq_swap(out, s->sum);
    mpq_set_ui(s->sum, 0, 1);
}

/* A list has its length in front. */
mpq_t *rationals_new(size_t n)
{
    mpq_t *list = memory_new(n + 1, sizeof(mpq_t));
    if (!list) return NULL;
    memcpy(list++, &n, sizeof n);
    for (size_t i = 0; i < n; i++) mpq_init(list[i]);
    return list;
}

void rationals_free(mpq_t *list)
{
    size_t n;
    if (!list) return;
    memcpy(&n, list - 1, sizeof n);
    for (size_t i = 0; i < n; i++) mpq_clear(list[i]);
    memory_free(list - 1);
}

static int is_nothing(mpq_srcptr x, double nothing)
{
    return mpq_sgn(x) == 0 || (nothing > 0 && fabs(mpq_get_d(x)) <= nothing);
}

void rational_shorten(mpq_ptr x)
{
    enum { BITS = 320, ODD_BITS = 64 };
    mpf_t rounded;
    size_t bits = mpz_sizeinbase(mpq_denref(x), 2);
    if (bits <= BITS && bits - mpz_scan1(mpq_denref(x), 0) <= ODD_BITS) return;
    mpf_init2(rounded, BITS);
    mpf_set_q(rounded, x);
    mpq_set_f(x, rounded);
    mpf_clear(rounded);
}

size_t rationals_reduce(mpq_t *m, size_t rows, size_t wide, size_t columns, double nothing,
                        size_t *pivot)
{
    size_t rank = 0;
    RATIONAL(x);
    for (size_t c = 0; c < columns; c++) {
        size_t best = rank;
        while (best < rows && is_nothing(m[best * wide + c], nothing)) best++;
        if (best == rows) continue;
        mpq_t *lead = m + rank * wide, *from = m + best * wide;
        for (size_t k = 0; k < wide && best != rank; k++) mpq_swap(lead[k], from[k]);
        mpq_set(x, lead[c]);
        for (size_t k = 0; k < wide; k++) {
            mpq_div(lead[k], lead[k], x);
            if (nothing > 0) rational_shorten(lead[k]);
        }
        for (size_t r = 0; r < rows; r++) {
            mpq_t *row = m + r * wide;
            mpq_set(x, row[c]);
            for (size_t k = 0; k < wide && r != rank && mpq_sgn(x) != 0; k++) {
                rational_subtract(row[k], x, lead[k]);
                if (nothing > 0) rational_shorten(row[k]);
            }
        }
        pivot[rank++] = c;
    }
    return rank;
}
