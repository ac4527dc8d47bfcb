/* spectrum.c: finds the largest stable steps on a particle system.
 *
 * The Jacobians J_F and J_G at the initial state and time 0 come from symmetric differences. For every
 * eigenvector v of J_F + J_G
 *
 *     lambda_F = v* J_F v / v* v,  lambda_G = v* J_G v / v* v,  lambda_F + lambda_G the eigenvalue,
 *
 * go into the split test equation. That is exact where the stages are all H, or where J_F and J_G are normal and
 * commute, as on the ring without a wave; elsewhere it is a guess. The largest stable step is the end of the range of
 * steps, from 0 on, at which |R| <= 1 for every pair that does not grow by itself. The search tries steps 5 % apart.
 *
 * On a linear system real runs from random initial states check it.
 */
#include "studies/theory/theory.h"

#include <gsl/gsl_complex_math.h>
#include <gsl/gsl_eigen.h>
#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/random.h"
#include "studies/measure/choose.h"
#include "studies/plot/plot.h"
#include "studies/tools/command.h"

enum { COORDINATES = 1024, STEPS = 400 };
static const double level = 1 + 1e-9; /* largest |R| that counts as stable */

typedef struct {
    size_t line;
    double peclet, largest_h, run_h, F_least, F_greatest;
    size_t particles, growing;
    const char *scheme, *system;
} StepRow;

/* Columns of text follow the numbers, as plot_numbered needs. */
const Column spectrum_columns[] = {
    COLUMN(StepRow, line, .words = "number of the line in the plot"),
    COLUMN(StepRow, peclet, .words = "Peclet number", .place = 3, .sparse = 1),
    COLUMN(StepRow, largest_h, .place = 5, .digits = 4,
           .words = "largest stable step by the eigenvalues; inf: all are stable"),
    COLUMN(StepRow, run_h, .place = 6, .digits = 4, .sparse = 1,
           .words = "largest stable step by real runs; empty where none was found near largest_h"),
    COLUMN(StepRow, particles, .place = 4, .words = "number of particles, or of points of a grid"),
    COLUMN(StepRow, growing, .place = 7, .sparse = 1,
           .words = "eigenvalues with a positive real part, left out"),
    COLUMN(StepRow, F_least, .place = 8, .digits = 4,
           .words = "least real part of the eigenvalues of F's Jacobian"),
    COLUMN(StepRow, F_greatest, .place = 9, .digits = 4,
           .words =
               "greatest real part of these; 0 or less, up to rounding, where F is dissipative"),
    COLUMN(StepRow, scheme, .place = 1),
    COLUMN(StepRow, system, .place = 2),
    {0}};

/* A row until it goes to the sheet. The rows of a plot's line are computed one after another and
 * stand together in the sheet. */
typedef struct {
    StepRow row;
    char system[256];
} Kept;

typedef struct {
    const Selection *schemes;
    Kept *kept; /* (meshes, points, schemes) */
    Sheet *rows;
    System *system;
    double (*pair)[2][2]; /* (N): lambda_F, lambda_G */
    size_t pairs, growing;
    double radius; /* largest |lambda_F| + |lambda_G| */
    double F_least, F_greatest;
    size_t meshes, points; /* numbers of system sizes and of Peclet numbers */
    size_t drawn, unbound; /* numbers of finite steps and of infinite ones */
} Spectrum;

/* ---- eigenvalues ------------------------------------------------------------------------------------- */

/* Returns v* J v for v (N) with |v| = 1. */
static gsl_complex quotient(const gsl_matrix *J, const gsl_vector_complex *v)
{
    gsl_complex sum = gsl_complex_rect(0, 0);
    for (size_t i = 0; i < v->size; i++) {
        gsl_complex row = gsl_complex_rect(0, 0);
        for (size_t j = 0; j < v->size; j++)
            row = gsl_complex_add(
                row, gsl_complex_mul_real(gsl_vector_complex_get(v, j), gsl_matrix_get(J, i, j)));
        sum = gsl_complex_add(
            sum, gsl_complex_mul(gsl_complex_conjugate(gsl_vector_complex_get(v, i)), row));
    }
    return sum;
}

static void add_pair(Spectrum *u, const gsl_matrix *const J[2], const gsl_vector_complex *v)
{
    double size = 0, real = 0;
    for (int op = 0; op < 2; op++) {
        gsl_complex z = quotient(J[op], v);
        u->pair[u->pairs][op][0] = GSL_REAL(z);
        u->pair[u->pairs][op][1] = GSL_IMAG(z);
        size += gsl_complex_abs(z);
        real += GSL_REAL(z);
    }
    u->radius = fmax(u->radius, size);
    if (real > 1e-7 * fmax(1, size))
        u->growing++;
    else
        u->pairs++;
}

/* Finds the ends of the real parts of the eigenvalues of J (N, N), which it overwrites; lambda (N): work. A part that
 * is rounding of the largest eigenvalue, 1e-8 of it with J by differences, becomes 0. */
static int find_ends(gsl_matrix *J, gsl_vector_complex *lambda, double *least, double *greatest)
{
    double size = 0;
    gsl_eigen_nonsymm_workspace *w = gsl_eigen_nonsymm_alloc(J->size1);
    if (!w) return ERR_MEMORY;
    int failed = gsl_eigen_nonsymm(J, lambda, w);
    gsl_eigen_nonsymm_free(w);
    if (failed) return error_set(ERR_NUMERIC, "the eigenvalues of F were not found");
    *least = INFINITY, *greatest = -INFINITY;
    for (size_t i = 0; i < lambda->size; i++) {
        double real = GSL_REAL(gsl_vector_complex_get(lambda, i));
        size = fmax(size, gsl_complex_abs(gsl_vector_complex_get(lambda, i)));
        *least = fmin(*least, real);
        *greatest = fmax(*greatest, real);
    }
    if (fabs(*least) < 1e-8 * size) *least = 0;
    if (fabs(*greatest) < 1e-8 * size) *greatest = 0;
    return 0;
}

static int find_pairs(Spectrum *u)
{
    const System *s = u->system;
    size_t N = s->n * s->d;
    double *x = memory_new(4 * N, sizeof *x);
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    gsl_matrix *J[2] = {gsl_matrix_alloc(N, N), gsl_matrix_alloc(N, N)};
    gsl_matrix *sum = gsl_matrix_alloc(N, N);
    gsl_vector_complex *lambda = gsl_vector_complex_alloc(N);
    gsl_matrix_complex *vectors = gsl_matrix_complex_alloc(N, N);
    gsl_eigen_nonsymmv_workspace *w = gsl_eigen_nonsymmv_alloc(N);
    memory_free(u->pair);
    u->pair = memory_new(N, sizeof *u->pair);
    u->pairs = u->growing = 0;
    u->radius = 0;
    int code = x && J[0] && J[1] && sum && lambda && vectors && w && u->pair ? 0 : ERR_MEMORY;
    if (code == 0) {
        double *step = x + N;
        for (size_t i = 0; i < N; i++) {
            x[i] = s->initial[i];
            step[i] = 1e-5 * fmax(1, fabs(x[i]));
        }
        for (int op = 0; op < 2; op++)
            differentials_jacobian(s, op, 1, 0, step, x, x + 2 * N, J[op]->data);
        gsl_matrix_memcpy(sum, J[0]);
        gsl_matrix_add(sum, J[1]);
        if (gsl_eigen_nonsymmv(sum, lambda, vectors, w) != 0)
            code = error_set(ERR_NUMERIC, "the eigenvalues of %s were not found", s->name);
    }
    for (size_t k = 0; code == 0 && k < N; k++) {
        gsl_vector_complex_const_view v = gsl_matrix_complex_const_column(vectors, k);
        add_pair(u, (const gsl_matrix *const *)J, &v.vector);
    }
    if (code == 0) code = find_ends(J[OP_F], lambda, &u->F_least, &u->F_greatest);
    if (w) gsl_eigen_nonsymmv_free(w);
    gsl_matrix_complex_free(vectors);
    gsl_vector_complex_free(lambda);
    gsl_matrix_free(sum);
    gsl_matrix_free(J[1]);
    gsl_matrix_free(J[0]);
    gsl_set_error_handler(handler);
    memory_free(x);
    return code;
}

/* ---- steps ------------------------------------------------------------------------------------------- */

static int is_stable(const Spectrum *u, Stability *s, double h)
{
    for (size_t k = 0; k < u->pairs; k++) {
        double z[2][2];
        for (int i = 0; i < 4; i++) z[i / 2][i % 2] = h * u->pair[k][i / 2][i % 2];
        if (!(stability_at(s, (const double(*)[2])z) <= level)) return 0;
    }
    return 1;
}

/* Searches from 10^-3 to 10^4 over the radius. Returns 0 where the least of these is unstable. */
static double largest_step(const Spectrum *u, Stability *s)
{
    double good = 1e-3 / u->radius, bad = good;
    if (!(u->radius > 0)) return INFINITY;
    if (!is_stable(u, s, good)) return 0;
    for (;; good = bad) {
        bad = 1.05 * good;
        if (bad > 1e4 / u->radius) return INFINITY;
        if (!is_stable(u, s, bad)) break;
    }
    for (int i = 0; i < 30; i++) {
        double h = sqrt(good * bad);
        if (is_stable(u, s, h))
            good = h;
        else
            bad = h;
    }
    return good;
}

static double norm2(size_t N, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < N; i++) sum += y[i] * y[i];
    return sum;
}

/* Returns 1 where the second STEPS steps leave the state no larger than the first STEPS did. */
static int runs_stably(const Spectrum *u, Stepper *stepper, const double *start, double h,
                       int *code)
{
    size_t N = u->system->n * u->system->d;
    double before = 0;
    *code = stepper_begin(stepper, 0, h, start, START_NETWORK, NULL);
    for (int i = 0; i < 2 * STEPS && *code == 0; i++) {
        if (i == STEPS) before = norm2(N, stepper_state(stepper));
        *code = stepper_step(stepper);
    }
    int finite = *code != ERR_NUMERIC;
    if (!finite) *code = 0;
    return finite && norm2(N, stepper_state(stepper)) <= level * before;
}

/* Searches between a quarter and four times the step of theory. *found is NaN unless runs are stable at the lower end
 * and unstable at the upper. */
static int run_step(const Spectrum *u, const Table *t, double theory, double *found)
{
    size_t N = u->system->n * u->system->d;
    double good = theory / 4, bad = 4 * theory;
    Stepper *stepper = NULL;
    *found = NAN;
    if (!u->system->linear || !(theory > 0) || isinf(theory)) return 0;
    double *start = memory_new(N, sizeof *start);
    if (!start) return ERR_MEMORY;
    for (size_t i = 0; i < N; i++) start[i] = random_normal(1, 1, i);
    int code = stepper_new(t, u->system, &stepper);
    int ends = code == 0 && runs_stably(u, stepper, start, good, &code);
    ends = ends && code == 0 && !runs_stably(u, stepper, start, bad, &code);
    for (int i = 0; i < 10 && ends && code == 0; i++) {
        double h = sqrt(good * bad);
        if (runs_stably(u, stepper, start, h, &code))
            good = h;
        else
            bad = h;
    }
    if (ends) *found = sqrt(good * bad);
    stepper_free(stepper);
    memory_free(start);
    return code;
}

static int find_steps(Spectrum *u, size_t i, Kept *k)
{
    Stability *s = NULL;
    Table *t = table_freeze(u->schemes->scheme[i]);
    if (!t) return ERR_MEMORY;
    k->row.scheme = u->schemes->scheme[i]->name;
    k->row.particles = u->system->n;
    k->row.growing = u->growing ? u->growing : SIZE_MAX;
    k->row.F_least = u->F_least, k->row.F_greatest = u->F_greatest;
    snprintf(k->system, sizeof k->system, "%s", u->system->name);
    progress_show("largest step of %s on %s", t->name, k->system);
    int code = t->colours > 2
                   ? error_set(ERR_INPUT,
                               "%s is a decoder's scheme; --system takes those of F and G", t->name)
                   : stability_new(t, &s);
    if (code == 0) {
        k->row.largest_h = largest_step(u, s);
        code = run_step(u, t, k->row.largest_h, &k->row.run_h);
        u->drawn += isfinite(k->row.largest_h) && k->row.largest_h > 0;
        u->unbound += isinf(k->row.largest_h) != 0;
    }
    stability_free(s);
    table_free(t);
    progress_clear();
    return code;
}

static int open_system(Spectrum *u, const char *name, size_t particles)
{
    Network none;
    SystemChoice choice = {.name = name, .particles = particles, .seed = 1};
    system_free(u->system);
    u->system = NULL;
    if (trained_named(name))
        return error_set(ERR_INPUT, "stability --system takes no trained model: see 'truncation "
                                    "--jacobian'");
    TRY(choose_system(&choice, &none, &u->system));
    if (u->system->n * u->system->d <= COORDINATES) return 0;
    return error_set(ERR_INPUT, "system %s has %zu coordinates; eigenvalues are of at most %d",
                     name, u->system->n * u->system->d, COORDINATES);
}

/* Studies the mesh-th size and the point-th Peclet number, where they are given. */
static int study_system(Spectrum *u, const Options *o, size_t mesh, size_t point)
{
    char peclet[32], size[32], name[256];
    int varied = options_part(o, "peclet", point, peclet);
    size_t particles = options_part(o, "particles", mesh, size) ? strtoul(size, NULL, 10) : 0;
    int length = snprintf(name, sizeof name, "%s%s%s", options_text(o, "system"),
                          varied ? ":peclet=" : "", varied ? peclet : "");
    if (length >= (int)sizeof name)
        return error_set(ERR_INPUT, "--system: expected a shorter name");
    TRY(open_system(u, name, particles));
    progress_show("eigenvalues of %s", name);
    TRY(find_pairs(u));
    for (size_t i = 0; i < u->schemes->count; i++) {
        Kept *k = &u->kept[(mesh * u->points + point) * u->schemes->count + i];
        k->row.line = mesh * u->schemes->count + i + 1;
        k->row.peclet = varied ? strtod(peclet, NULL) : NAN;
        TRY(find_steps(u, i, k));
    }
    return 0;
}

static int study_systems(Spectrum *u, const Options *o)
{
    size_t count = u->schemes->count;
    u->kept = memory_new(u->meshes * u->points * count, sizeof *u->kept);
    if (!u->kept) return ERR_MEMORY;
    for (size_t mesh = 0; mesh < u->meshes; mesh++)
        for (size_t point = 0; point < u->points; point++) TRY(study_system(u, o, mesh, point));
    TRY(sheet_new(spectrum_columns, &u->rows));
    for (size_t line = 0; line < u->meshes * count; line++)
        for (size_t point = 0; point < u->points; point++) {
            Kept *k = &u->kept[(line / count * u->points + point) * count + line % count];
            k->row.system = k->system;
            sheet_row(u->rows, &k->row);
        }
    return 0;
}

/* ---- the plot ---------------------------------------------------------------------------------------- */

static int draw(const Spectrum *u, const Options *o, const char *dir)
{
    char title[256], part[32];
    int number = sheet_column(spectrum_columns, "line"),
        peclet = sheet_column(spectrum_columns, "peclet");
    snprintf(title, sizeof title, "Largest stable step: %s", options_text(o, "system"));
    PlotFrame frame = {"steps", title, "Peclet number", "largest stable h",
                       PLOT_LOG_X | PLOT_LOG_Y};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    for (size_t mesh = 0; mesh < u->meshes; mesh++)
        for (size_t i = 0; i < u->schemes->count; i++) {
            size_t line = mesh * u->schemes->count + i;
            int sized = options_part(o, "particles", mesh, part);
            snprintf(title, sizeof title, "%s%s%s", u->schemes->scheme[i]->name,
                     sized ? ", n = " : "", sized ? part : "");
            plot_item(p, "steps.csv",
                      "using ($%d == %zu ? $%d : NaN):%d with lines title %s noenhanced", number,
                      line + 1, peclet, sheet_column(spectrum_columns, "largest_h"), title);
            plot_style(p, plot_again(i, u->schemes->count, mesh));
            plot_item(p, "steps.csv", "using ($%d == %zu ? $%d : NaN):%d with points notitle",
                      number, line + 1, peclet, sheet_column(spectrum_columns, "run_h"));
            plot_style(p, plot_again(i, u->schemes->count, mesh));
        }
    plot_note(
        p,
        u->unbound
            ? "lines: by the eigenvalues, none where any step is stable; marks: by runs of 800 steps"
            : "lines: by the eigenvalues; marks: by runs of 800 steps, where slow growth is not seen");
    return plot_finish(p);
}

/* Counts the numbers of a list; 1 without a list, for the system's default. */
static size_t count_parts(const Options *o, const char *name)
{
    char part[32];
    size_t count = 0;
    while (options_part(o, name, count, part)) count++;
    return count ? count : 1;
}

static int study(Spectrum *u, const Options *o)
{
    const char *dir = options_text(o, "out");
    int csv = options_flag(o, "csv");
    u->meshes = count_parts(o, "particles");
    u->points = count_parts(o, "peclet");
    TRY(study_systems(u, o));
    if (!csv)
        printf("largest stable h: by the eigenvalues of the Jacobian in the split test equation, "
               "and by runs of %d\nsteps on linear systems, where slow growth is not seen\n\n",
               2 * STEPS);
    TRY(output_shown(u->rows, csv, dir, "steps"));
    return dir && u->points > 1 && u->drawn > 0 ? draw(u, o, dir) : 0;
}

int spectrum_study(const Options *o, const Selection *schemes)
{
    Spectrum u = {.schemes = schemes};
    int code = study(&u, o);
    progress_clear();
    memory_free(u.pair);
    memory_free(u.kept);
    sheet_free(u.rows);
    system_free(u.system);
    return code;
}
