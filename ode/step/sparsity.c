/* sparsity.c: where the derivatives of fields have entries, and their values by differences.
 *
 * A system that says which particles an operator sees (System.sees), as those on grids and those of texts do, has
 * derivatives in a band that is known: their entries are all there is, and a linear system is solved by factors of the
 * band in a time that grows with the number of unknowns alone.
 *
 * Of other fields nothing tells which coordinates they couple. Up to LU_MOST unknowns derivatives are whole matrices then. Beyond,
 * some coordinates are moved, one at a time: what does not see them keeps its bits. Where all that changes is near, the
 * derivative is taken as a band. A coupling that no moved coordinate shows is missing in it and left to GMRES (krylov.c),
 * whose preconditioner it is, so the stages found stay right.
 *
 * Columns that share no row are moved at once, so that 2 width + 1 differences give all columns of a band (Curtis,
 * Powell, Reid 1974). No other order of the unknowns is sought, such as reverse Cuthill and McKee's: rules see all particles, or
 * those at fixed distances, for which the order as numbered is as narrow as any; only on a ring it is not (lu.c). */
#include "ode/step/linear.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "ode/field/system.h"

enum { WIDEST = 16, PROBES = 9 };                   /* WIDEST: of a band that is probed */
static const double nudge = 0x1p-10;                /* of the probed state, in its size */
static const size_t most_entries = (size_t)1 << 25; /* of a band: 256 MiB */

/* ---- which coordinates see each other --------------------------------------------------------------- */

static size_t gap(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* Widens the band by what coordinate c changes in one operator; y, at, moved (N). Returns 0 where it is too wide. */
static int probe(Pattern *p, size_t c, const double *at, const double *moved)
{
    for (size_t r = 0; r < p->N; r++) {
        size_t apart = gap(r, c), around = p->N - apart;
        if (moved[r] == at[r]) continue;
        if (around < apart) p->ring = 1, apart = around;
        if (apart > p->width) p->width = apart;
    }
    return p->width <= WIDEST;
}

/* The state is a little off the initial one, where particles may stand at 0 or upon each other. */
static int probe_all(Pattern *p, const System *s, const Eval *e, double *work)
{
    double *y = work, *at = y + p->N, *moved = at + p->N;
    double size = system_rms(p->N, s->initial, NULL), step = nudge * (size > 0 ? size : 1);
    int near = 1;
    for (size_t i = 0; i < p->N; i++) y[i] = s->initial[i] + step * (double)(i * 7 % 11) / 11;
    s->field[e->op](s, e->set, 0, y, at);
    p->probes += PROBES + 1;
    for (size_t k = 0; k < PROBES && near; k++) {
        size_t c = k * (p->N - 1) / (PROBES - 1);
        double kept = y[c];
        y[c] += step;
        s->field[e->op](s, e->set, 0, y, moved);
        y[c] = kept;
        near = probe(p, c, at, moved);
    }
    return near;
}

/* Returns whether the system says which particles all of these operators see, and sets the band's width. */
static int is_told(Pattern *p, const System *s, const Eval *eval, const int *which, size_t evals)
{
    size_t most = 1;
    for (size_t i = 0; i < evals; i++) {
        int op = eval[which[i]].op;
        size_t sees = s->absent >> op & 1 ? 1 : s->sees[op];
        if (!sees) return 0;
        if (sees > most) most = sees;
    }
    p->width = most * s->d - 1;
    p->ring = s->ring && most > 1;
    return 1;
}

size_t pattern_reach(const Pattern *p, size_t points)
{
    return ((p->ring ? 2 : 1) * p->width + 1) * points - 1;
}

/* Returns whether the factors of a band are worth it, and fit in memory. */
static int fits(const Pattern *p, size_t points)
{
    size_t n = p->N * points, reach = pattern_reach(p, points);
    return 2 * reach < n && most_entries / n >= 3 * reach + 1;
}

/* Returns the number of differences that give all columns. On a ring those left over at the end, which it brings near the first
 * ones, have colours of their own. */
static size_t colours(const Pattern *p)
{
    size_t n = 2 * p->width + 1;
    return p->kind == PATTERN_FULL ? p->N : n + p->N % n;
}

void pattern_find(Pattern *p, const System *s, const Eval *eval, const int *which, size_t evals,
                  size_t points, size_t whole, double *work)
{
    size_t n = s->n * s->d * points;
    *p = (Pattern){.N = s->n * s->d, .kind = PATTERN_BAND};
    if (is_told(p, s, eval, which, evals) && 2 * colours(p) < p->N && fits(p, points)) return;
    *p = (Pattern){.N = s->n * s->d, .kind = PATTERN_FULL};
    if (n <= whole) return;
    p->kind = PATTERN_NEAR;
    for (size_t i = 0; i < evals && p->kind == PATTERN_NEAR; i++)
        if (system_counts(s, eval[which[i]].op) && !probe_all(p, s, &eval[which[i]], work))
            p->kind = PATTERN_NONE;
    if (s->mass && p->width < s->d - 1) p->width = s->d - 1;
    if (p->kind == PATTERN_NEAR && !fits(p, points)) p->kind = PATTERN_NONE;
}

size_t pattern_size(const Pattern *p)
{
    return p->kind == PATTERN_NONE ? 0 : p->N * (p->kind == PATTERN_FULL ? p->N : 2 * p->width + 1);
}

/* ---- derivatives --------------------------------------------------------------------------------------- */

size_t pattern_calls(const Pattern *p, const System *s, int sided)
{
    return s->jacobian && p->kind == PATTERN_FULL ? 0 : (sided ? 1 : 2) * colours(p);
}

size_t pattern_rows(const Pattern *p)
{
    return p->kind == PATTERN_FULL ? p->N : 2 * p->width + 1;
}

size_t pattern_row(const Pattern *p, size_t c, size_t k)
{
    if (p->kind == PATTERN_FULL) return k;
    size_t r = c + k + p->N - p->width;
    return p->ring || (r >= p->N && r < 2 * p->N) ? r % p->N : p->N;
}

/* Finds the first column of a colour, and the end of its columns; returns how far they are apart. */
static size_t colour_columns(const Pattern *p, size_t colour, size_t *first, size_t *end)
{
    size_t n = p->kind == PATTERN_FULL ? p->N : 2 * p->width + 1, whole = p->N - p->N % n;
    *first = colour < n ? colour : whole + colour - n;
    *end = colour < n ? whole : *first + 1;
    return n;
}

void pattern_derive(const Pattern *p, const System *s, const Eval *e, double t, const double *step,
                    int sided, double *y, double *work, double *J)
{
    size_t rows = pattern_rows(p), first, end;
    double *plus = work, *minus = work + p->N, *kept = minus + p->N;
    if (s->jacobian && p->kind == PATTERN_FULL) {
        s->jacobian(s, e->op, e->set, t, y, J);
        return;
    }
    memcpy(kept, y, p->N * sizeof *kept);
    for (size_t colour = 0; colour < colours(p); colour++) {
        size_t apart = colour_columns(p, colour, &first, &end);
        for (size_t c = first; c < end; c += apart) y[c] = kept[c] + step[c];
        s->field[e->op](s, e->set, t, y, plus);
        for (size_t c = first; c < end && !sided; c += apart) y[c] = kept[c] - step[c];
        if (!sided) s->field[e->op](s, e->set, t, y, minus);
        for (size_t c = first; c < end; c += apart) {
            y[c] = kept[c];
            for (size_t k = 0; k < rows; k++) {
                size_t r = pattern_row(p, c, k);
                double *entry = p->kind == PATTERN_FULL ? &J[r * p->N + c] : &J[c * rows + k];
                if (r < p->N) *entry = (plus[r] - minus[r]) / (sided ? step[c] : 2 * step[c]);
            }
        }
    }
}

/* Returns row k of column c and entry (row, column), or 0 for no row, of J. */
static size_t entry_of(const Pattern *p, const double *J, size_t c, size_t k, double *entry)
{
    size_t r = pattern_row(p, c, k),
           at = p->kind == PATTERN_FULL ? r * p->N + c : c * pattern_rows(p) + k;
    *entry = r < p->N ? J[at] : 0;
    return r;
}

/* The interval is that of the circles of Gershgorin 1931. What rounding leaves of an asymmetry moves eigenvalues as little as rounding
 * does. */
int pattern_symmetric(const Pattern *p, const double *J, double *low, double *high)
{
    size_t rows = pattern_rows(p);
    double entry, other, norm = 0, unlike = 0;
    *low = INFINITY, *high = -INFINITY;
    for (size_t c = 0; c < p->N; c++) {
        double middle = 0, around = 0;
        for (size_t k = 0; k < rows; k++) {
            size_t r = entry_of(p, J, c, k, &entry);
            entry_of(p, J, r % p->N, p->kind == PATTERN_FULL ? c : rows - 1 - k, &other);
            if (r == c) middle = entry;
            if (r != c) around += fabs(entry);
            if (!isfinite(entry)) return 0;
            if (r < p->N) unlike = fmax(unlike, fabs(entry - other));
        }
        *low = fmin(*low, middle - around);
        *high = fmax(*high, middle + around);
        norm = fmax(norm, fabs(middle) + around);
    }
    return unlike <= 8 * DBL_EPSILON * norm;
}

void pattern_multiply(const Pattern *p, const double *J, const double *x, double *Jx)
{
    size_t rows = pattern_rows(p);
    memset(Jx, 0, p->N * sizeof *Jx);
    for (size_t r = 0; r < p->N && p->kind == PATTERN_FULL; r++)
        for (size_t c = 0; c < p->N; c++) Jx[r] += J[r * p->N + c] * x[c];
    for (size_t c = 0; c < p->N && p->kind != PATTERN_FULL; c++)
        for (size_t k = 0; k < rows; k++) {
            size_t r = pattern_row(p, c, k);
            if (r < p->N) Jx[r] += J[c * rows + k] * x[c];
        }
}
