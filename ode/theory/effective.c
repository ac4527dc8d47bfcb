/* effective.c: the effective order of a splitting by exact flows: the order of the best conjugate exp(chi) step
 * exp(-chi), chi = sum h^k chi_k a series in brackets (Butcher 1969, "The effective order of Runge-Kutta
 * methods"; Blanes, Casas, Ros 1999, "Symplectic integration with processing").
 *
 * Degree by degree: when log(step) = A + R_d + ..., A = wF F + wG G (+ wC C), the conjugate has R_d + [chi, A] at
 * degree d, chi of degree d - 1. So R_d can be removed iff it lies in [A, L_(d-1)]. Earlier chi leave free only
 * multiples of A (which alone commute with A in a free Lie algebra), and those change no solution. */
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/lie.h"

/* Lists the Lyndon words of length d in the letters of A; word NULL: it only counts them. */
static size_t lyndon_list(const Words *A, int d, size_t *word)
{
    size_t n = 0;
    for (size_t w = lie_shorter(A, d); w < lie_shorter(A, d + 1); w++)
        if (lyndon_is(A, w)) {
            if (word) word[n] = w;
            n++;
        }
    return n;
}

/* Computes coordinates of the part of degree d of a Lie polynomial p, which is changed. */
static void coordinates(Words *p, const size_t *word, size_t n, mpq_t *out, size_t stride)
{
    for (size_t i = 0; i < n; i++) {
        mpq_set(out[i * stride], p->c[word[i]]);
        lyndon_subtract(p, word[i], out[i * stride]);
    }
}

/* The linear system [A, sum x_j B_j] = R_d: (rows, columns) with the right-hand side last. */
typedef struct {
    size_t rows, columns, *row, *column; /* Lyndon words of length d, d - 1 */
    size_t *pivot;                       /* (columns) */
    mpq_t *m;                            /* (rows, columns + 1) */
    Words letter, bracket;               /* B_j; [A, B_j] */
} Solve;

static void solve_free(Solve *s)
{
    rationals_free(s->m);
    memory_free(s->row);
    lie_free(&s->letter);
    lie_free(&s->bracket);
}

static int solve_new(Solve *s, const Words *A, int d)
{
    *s = (Solve){.rows = lyndon_list(A, d, NULL), .columns = lyndon_list(A, d - 1, NULL)};
    s->row = memory_new(s->rows + 2 * s->columns, sizeof(size_t));
    if (!s->row) return ERR_MEMORY;
    s->column = s->row + s->rows;
    s->pivot = s->column + s->columns;
    lyndon_list(A, d, s->row);
    lyndon_list(A, d - 1, s->column);
    if (!(s->m = rationals_new(s->rows * (s->columns + 1)))) return ERR_MEMORY;
    TRY(lie_new(A->letters, d, &s->letter));
    return lie_new(A->letters, d, &s->bracket);
}

static int fill_column(Solve *s, const Words *A, size_t j)
{
    RATIONAL(minus);
    mpq_set_si(minus, -1, 1);
    for (size_t w = 0; w < lie_count(&s->letter); w++) mpq_set_ui(s->letter.c[w], 0, 1);
    lyndon_subtract(&s->letter, s->column[j], minus);
    TRY(lie_bracket(&s->bracket, A, &s->letter));
    coordinates(&s->bracket, s->row, s->rows, s->m + j, s->columns + 1);
    return 0;
}

/* Collects the solution whose free unknowns are 0 in a Lie polynomial. */
static void collect(Solve *s, size_t rank, Words *chi)
{
    for (size_t i = 0; i < rank; i++) {
        mpq_ptr x = s->m[i * (s->columns + 1) + s->columns];
        mpq_neg(x, x);
        lyndon_subtract(chi, s->column[s->pivot[i]], x);
    }
}

/* Finds chi of degree d - 1: [A, chi] = R's part of degree d; *found 0: there is none. */
static int remove_degree(const Table *t, const Words *A, const Words *R, int d, Words *chi,
                         int *found)
{
    SCOPED(solve_free) Solve s = {0};
    TRY(solve_new(&s, A, d));
    for (size_t j = 0; j < s.columns; j++) TRY(fill_column(&s, A, j));
    for (size_t w = 0; w < lie_count(&s.bracket); w++) mpq_set(s.bracket.c[w], R->c[w]);
    coordinates(&s.bracket, s.row, s.rows, s.m + s.columns, s.columns + 1);
    size_t rank = rationals_reduce(s.m, s.rows, s.columns + 1, s.columns, 0, s.pivot);
    *found = 1;
    for (size_t i = rank; i < s.rows; i++)
        *found = *found && theory_is_zero(t, s.m[i * (s.columns + 1) + s.columns]);
    if (*found) collect(&s, rank, chi);
    return 0;
}

/* Replaces step by exp(chi) step exp(-chi); chi is lost. */
static int conjugate(Words *step, Words *chi, Words *work)
{
    SCOPED(lie_free) Words back = {0};
    TRY(lie_new(chi->letters, chi->max, &back));
    for (size_t w = 0; w < lie_count(chi); w++) mpq_neg(back.c[w], chi->c[w]);
    TRY(lie_exp(chi));
    TRY(lie_exp(&back));
    lie_multiply(work, chi, step);
    lie_multiply(step, work, &back);
    return 0;
}

static int is_degree_zero(const Table *t, const Words *p, int d)
{
    for (size_t w = lie_shorter(p, d); w < lie_shorter(p, d + 1); w++)
        if (!theory_is_zero(t, p->c[w])) return 0;
    return 1;
}

/* Meets one degree of log(step): *met is 1 when it vanishes, or a conjugation makes it vanish. */
static int meet_degree(const Table *t, const Words *A, Words *step, Words *log, int d, int *met)
{
    SCOPED(lie_free) Words chi = {0};
    if ((*met = is_degree_zero(t, log, d))) return 0;
    TRY(lie_new(A->letters, step->max, &chi));
    TRY(remove_degree(t, A, log, d, &chi, met));
    if (!*met) return 0;
    TRY(conjugate(step, &chi, log));
    lie_copy(log, step);
    return lie_log(log);
}

int structure_effective_order(const Table *t, int most, int *order)
{
    SCOPED(lie_free) Words step = {0}, log = {0}, A = {0};
    int met = 1;
    *order = 0;
    if (!table_exact_flows(t))
        return error_set(ERR_INPUT, "%s: the effective order belongs to splittings by exact flows",
                         t->name);
    if (most < 1 || most > bracket_most(t))
        return error_set(ERR_INPUT, "expected an order of 1 to %d; %d is asked for",
                         bracket_most(t), most);
    TRY(lie_new(t->colours, most, &step));
    TRY(lie_new(t->colours, most, &A));
    TRY(lie_new(t->colours, most, &log));
    TRY(lie_step(t, &step));
    lie_copy(&log, &step);
    TRY(lie_log(&log));
    for (int op = 0; op < t->colours; op++) {
        size_t w = lie_letter(&A, op);
        mpq_set(A.c[w], t->weight[op]);
        mpq_sub(A.c[0], step.c[w], A.c[w]);
        met = met && theory_is_zero(t, A.c[0]);
        mpq_set_ui(A.c[0], 0, 1);
    }
    for (int d = 2; met && d <= most; d++) {
        *order = d - 1;
        TRY(meet_degree(t, &A, &step, &log, d, &met));
    }
    if (met) *order = most;
    return 0;
}
