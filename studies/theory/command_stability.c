/* command_stability.c: draws the region |R| <= 1 on the test equation, in the plane of h lambda or of its two parts,
 * and tells dispersion and dissipation along the imaginary axis. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "studies/theory/expansion.h"
#include "studies/theory/region.h"
#include "studies/theory/theory_study.h"

typedef struct {
    const char *scheme;
    double real_limit, imag_limit, ssp, internal, r_infinity, alpha;
    int a_stable, l_stable;
    Phase phase;
    const char *dispersion, *dissipation, *unproved;
} LimitRow;

static const Column limit_columns[] = {
    COLUMN(LimitRow, scheme),
    COLUMN(LimitRow, real_limit, .digits = 13),
    COLUMN(LimitRow, imag_limit, .digits = 13),
    FIELD(LimitRow, "dispersion_order", phase.dispersion_order, .head = "dispersion",
          .words = "q: nu − arg R(i·nu) = constant·nu^(q+1); inf: no error"),
    FIELD(
        LimitRow, "dispersion_constant", dispersion, .head = "constant",
        .words =
            "constant of the phase error: a rational, or a decimal where the scheme is inexact or "
            "the rational is long"),
    FIELD(LimitRow, "dissipation_order", phase.dissipation_order, .head = "dissipation",
          .words = "r: 1 − |R(i·nu)| = constant·nu^(r+1); inf: |R| = 1"),
    FIELD(LimitRow, "dissipation_constant", dissipation, .head = "constant",
          .words = "constant of the amplitude's error"),
    COLUMN(LimitRow, ssp),
    COLUMN(LimitRow, a_stable, .form = SHEET_FLAG, .sparse = 1,
           .words =
               "for implicit stages: |R(z)| <= 1 wherever Re z <= 0; for the implicit operator "
               "alone where only one is"),
    COLUMN(
        LimitRow, alpha, .digits = 4, .sparse = 1,
        .words =
            "for implicit stages: |R(z)| <= 1 in the sector of this angle, in degrees, on either "
            "side of the negative axis; 90: A-stable"),
    COLUMN(LimitRow, l_stable, .form = SHEET_FLAG, .sparse = 1,
           .words = "A-stable, and R(z) goes to 0 as z goes to infinity"),
    COLUMN(LimitRow, r_infinity, .digits = 7, .sparse = 1,
           .words = "for implicit stages: |R(z)| as z goes to infinity"),
    COLUMN(
        LimitRow, internal, .digits = 5, .sparse = 1,
        .words =
            "of explicit stages that are all H: how much a stable step at most enlarges an error, as of "
            "rounding, that is made in one of its stages"),
    COLUMN(LimitRow, unproved, .sparse = 1),
    {0}};

typedef struct {
    Selection schemes;
    Table **table; /* frozen, (count) */
    double *real, *imag;
    int *proved;
    /* (2 count) tables of the region: borrowed, each with its embedded method, owned, behind it */
    Table **drawn;
    int *of; /* (2 count) as in Region */
    Region region;
    Sheet *limits, *functions; /* functions: with --function */
} StabilityRun;

/* ---- limits and the box ---------------------------------------------------------------------------- */

/* Writes c as a rational, or as a decimal where that is too long for a table. */
static const char *constant_text(const Table *t, const mpq_t c, char out[64])
{
    size_t digits = mpz_sizeinbase(mpq_numref(c), 10) + mpz_sizeinbase(mpq_denref(c), 10);
    if (digits > 40)
        snprintf(out, 64, "%.17g", table_double(c));
    else
        expansion_number(t, c, out, 64);
    return out;
}

/* Fills the columns of implicit stages. An explicit scheme's R is a polynomial, for which they have no content. */
static int add_stiff(const Table *t, LimitRow *row, int *proved)
{
    Stiff s;
    *proved = 1;
    row->a_stable = row->l_stable = -1;
    row->r_infinity = row->alpha = NAN;
    if (!table_solves(t)) return 0;
    TRY(stability_stiff(t, &s));
    if (s.why)
        notice_warn("%s: a_stable, alpha, l_stable or r_infinity is empty: %s", t->name, s.why);
    if (s.a_stable != TOLD_NOT) row->a_stable = s.a_stable == TOLD_YES;
    if (s.l_stable != TOLD_NOT) row->l_stable = s.l_stable == TOLD_YES;
    row->r_infinity = s.r_infinity;
    row->alpha = s.alpha;
    *proved = s.proved || isnan(s.alpha);
    return 0;
}

static int add_limits(StabilityRun *u, size_t i)
{
    const Table *t = u->table[i];
    LimitRow row = {.scheme = t->name, .real_limit = u->real[i], .imag_limit = u->imag[i]};
    char text[2][64];
    int ssp, alpha;
    TRY(add_stiff(t, &row, &alpha));
    TRY(stability_ssp(t, &row.ssp, &ssp));
    row.unproved = unproved_words(u->proved[i], ssp, alpha);
    TRY(stability_internal(t, &row.internal));
    TRY(phase_find(t, &row.phase));
    if (isfinite(row.phase.dispersion_order))
        row.dispersion = constant_text(t, row.phase.dispersion, text[0]);
    if (isfinite(row.phase.dissipation_order))
        row.dissipation = constant_text(t, row.phase.dissipation, text[1]);
    sheet_row(u->limits, &row);
    phase_free(&row.phase);
    return 0;
}

static int find_limits(StabilityRun *u)
{
    TRY(sheet_new(limit_columns, &u->limits));
    for (size_t i = 0; i < u->schemes.count; i++) {
        progress_show("stability limits of %s", u->schemes.scheme[i]->name);
        if (table_has(u->schemes.scheme[i], HAS_NORM))
            progress_note("%s: " TABLE_NORMS_LEFT, u->schemes.scheme[i]->name);
        TRY(theory_freeze(u->schemes.scheme[i], &u->table[i]));
        TRY(stability_limits(u->table[i], &u->real[i], &u->imag[i], &u->proved[i]));
        TRY(add_limits(u, i));
    }
    return 0;
}

/* Reads four finite numbers, two rising pairs. */
static int read_box(const char *text, double box[4])
{
    const char *at = text;
    char *end;
    for (int i = 0; i < 4; i++, at = end + 1) {
        box[i] = strtod(at, &end);
        if (end == at || *end != (i < 3 ? ',' : '\0') || !isfinite(box[i])) goto bad;
    }
    if (box[0] < box[1] && box[2] < box[3] && isfinite(box[1] - box[0]) &&
        isfinite(box[3] - box[2]))
        return 0;
bad:
    return error_set(ERR_INPUT, "--box: expected A,B,C,D with A < B and C < D, not '%.100s'", text);
}

/* Raises *far to the limits of the embedded methods that are drawn. */
static int farthest_embedded(const StabilityRun *u, double *far)
{
    for (size_t i = 0; u->drawn && i < u->region.count; i++) {
        double real, imag;
        if (u->of[i] >= 0) continue;
        TRY(stability_limits(u->drawn[i], &real, &imag, NULL));
        if (isfinite(imag)) *far = fmax(*far, imag);
        if (isfinite(real)) *far = fmax(*far, -real);
    }
    return 0;
}

/* Chooses a box around the farthest finite limit, of order stars around all zeros and poles. */
static int default_box(const StabilityRun *u, double box[4])
{
    static const double shape[][4] = {[PLANE_LAMBDA] = {-1.25, 0.5, -1.25, 1.25},
                                      [PLANE_SPLIT] = {-1.25, 0.25, -1.25, 0.25},
                                      [PLANE_STAR] = {-1.25, 1.25, -1.25, 1.25}};
    double far = 0;
    for (size_t i = 0; i < u->schemes.count; i++)
        if (isfinite(u->imag[i])) far = fmax(far, u->imag[i]);
    for (size_t i = 0; i < u->schemes.count; i++)
        if (isfinite(u->real[i])) far = fmax(far, -u->real[i]);
    TRY(farthest_embedded(u, &far));
    if (!(far > 0)) far = 3;
    if (u->region.plane == PLANE_STAR) far = 4;
    for (size_t i = 0; i < u->schemes.count && u->region.plane == PLANE_STAR; i++)
        TRY(region_reach(u->table[i], 1, &far));
    for (int k = 0; k < 4; k++) box[k] = far * shape[u->region.plane][k];
    return 0;
}

static int choose_box(StabilityRun *u, const char *text)
{
    double box[4];
    if (text)
        TRY(read_box(text, box));
    else
        TRY(default_box(u, box));
    for (int k = 0; k < 2; k++) {
        u->region.origin[k] = box[2 * k];
        u->region.step[k] = (box[2 * k + 1] - box[2 * k]) / (double)(u->region.points - 1);
    }
    return 0;
}

/* Puts the embedded methods of pairs behind them, dashed lines of the plot of --out. */
static int add_embedded(StabilityRun *u)
{
    size_t n = 0;
    u->drawn = memory_new(2 * u->schemes.count, sizeof *u->drawn);
    u->of = memory_new(2 * u->schemes.count, sizeof *u->of);
    if (!u->drawn || !u->of) return ERR_MEMORY;
    u->region.table = u->drawn;
    u->region.of = u->of;
    for (size_t i = 0; i < u->schemes.count; i++) {
        char name[TABLE_NAME + 16];
        u->of[n] = (int)i;
        u->drawn[n++] = u->table[i];
        u->region.count = n;
        Table *hat = u->schemes.scheme[i]->pair ? table_embedded(u->schemes.scheme[i]) : NULL;
        if (!hat) continue;
        u->of[n] = -1;
        u->drawn[n] = table_freeze(hat);
        table_free(hat);
        if (!u->drawn[n]) return ERR_MEMORY;
        snprintf(name, sizeof name, "%s:embedded", u->table[i]->name);
        table_rename(u->drawn[n++], name);
        u->region.count = n;
    }
    return 0;
}

static int save(const StabilityRun *u, const char *dir)
{
    TRY(output_directory(dir));
    TRY(output_table(u->limits, dir, "limits"));
    if (u->functions) TRY(output_table(u->functions, dir, "functions"));
    return region_save(&u->region, dir);
}

/* ---- the command -------------------------------------------------------------------------------------- */

static int study(const Options *o, StabilityRun *u)
{
    const char *dir = options_text(o, "out");
    int csv = options_flag(o, "csv");
    TRY(find_limits(u));
    if (dir && u->region.plane != PLANE_STAR) TRY(add_embedded(u));
    TRY(choose_box(u, options_text(o, "box")));
    if ((csv && !options_flag(o, "function")) || dir) TRY(region_fill(&u->region));
    progress_clear();
    if (options_flag(o, "function"))
        TRY(function_report(u->table, u->schemes.count, &u->functions));
    if (csv && u->functions) {
        TRY(sheet_write(u->functions, SHEET_CSV, stdout));
    } else if (csv) {
        TRY(region_write(&u->region, stdout));
    } else if (u->functions) {
        printf(
            "stability function, y' = R(z) y on y' = lambda y with z = h lambda (in equal shares of all "
            "operators,\nor of the operator named); empty: no quotient of polynomials\n\n");
        TRY(sheet_write(u->functions, SHEET_PLAIN, stdout));
    } else {
        printf(
            "ends of the stability interval from 0 on y' = lambda y, lambda_F = lambda_G = "
            "lambda/2: "
            "negative\nreal and positive imaginary h lambda; --csv or --out: the region\n%s"
            "y' = i omega y, nu = omega h: nu - arg R(i nu) = constant nu^(dispersion+1), 1 - |R(i nu)| =\n"
            "constant nu^(dissipation+1); ssp: coefficient of strong stability; internal: how much a stable\n"
            "step at most enlarges an error that is made in one of its stages\n\n",
            select_decoders(&u->schemes)
                ? "(of a decoder lambda_F = lambda_C = lambda_G = lambda/3)\n"
                : "");
        TRY(sheet_write(u->limits, SHEET_PLAIN, stdout));
    }
    return dir ? save(u, dir) : 0;
}

static void study_free(StabilityRun *u)
{
    for (size_t i = 0; u->table && i < u->schemes.count; i++) table_free(u->table[i]);
    for (size_t i = 0; u->of && i < u->region.count; i++)
        if (u->of[i] < 0) table_free(u->drawn[i]);
    memory_free_all(u->drawn, u->of, u->table, u->real, u->imag, u->proved, u->region.modulus);
    sheet_free(u->limits);
    sheet_free(u->functions);
    select_close(&u->schemes);
}

static int run(Options *o)
{
    StabilityRun u = {.region.points = options_size(o, "points")};
    u.region.plane = options_flag(o, "order-star") ? PLANE_STAR
                     : options_flag(o, "split")    ? PLANE_SPLIT
                                                   : PLANE_LAMBDA;
    TRY(options_either(o, "order-star", "split"));
    TRY(select_open(o, "exact", &u.schemes));
    u.table = memory_new(u.schemes.count, sizeof *u.table);
    u.real = memory_new(u.schemes.count, sizeof *u.real);
    u.imag = memory_new(u.schemes.count, sizeof *u.imag);
    u.proved = memory_new(u.schemes.count, sizeof *u.proved);
    u.region.table = u.table;
    u.region.count = u.schemes.count;
    u.region.real = u.real;
    u.region.imag = u.imag;
    int code = u.table && u.real && u.imag && u.proved ? study(o, &u) : ERR_MEMORY;
    study_free(&u);
    return code;
}

const Command command_stability = {
    .name = "stability",
    .purpose = "compute stability limits and regions of schemes",
    .about =
        "Prints the ends of each scheme's stability interval, and draws the region where |R| <= 1. |R| is the\n"
        "largest amplification factor of one step on y' = lambda_F y + lambda_G y.\n"
        "\n"
        "--csv writes scheme,re,im,modulus, where z = h lambda and lambda_F = lambda_G = lambda/2; with --split\n"
        "scheme,zF,zG,modulus, h lambda_F and h lambda_G real. For a decoder's scheme each of F, C and G has lambda/3; with --split F and C share the axis\n"
        "of lambda_F, half of it each. The plot overlays the boundaries |R| = 1 and shades where more or fewer\n"
        "of the schemes are stable; for a single scheme it shades |R| inside. The embedded method of a pair has a\n"
        "dashed line (NAME:embedded in the files). --order-star draws |R(z) e^-z| > 1, with p + 1 sectors at 0\n"
        "for order p; with history R is the largest factor.\n"
        "\n"
        "Dispersion and dissipation (van der Houwen, Sommeijer 1987) are errors on y' = i omega y, with nu =\n"
        "omega h and R the factor that is 1 at nu = 0. The phase error nu - arg R(i nu) = dispersion_constant\n"
        "nu^(dispersion_order+1) + ... is positive where the scheme lags behind. 1 - |R(i nu)| =\n"
        "dissipation_constant nu^(dissipation_order+1) + ... is positive where it damps. For a word of weights\n"
        "F, G, nu times their mean replaces nu. inf means no error; empty means unknown.\n"
        "trotter stability --scheme rk4 prints 4, 1/120 and 5, 1/144.\n"
        "\n"
        "`internal` is the largest internal amplification of an explicit method whose stages are all H: a stage's\n"
        "error r, as of rounding, enters the step as Q(z) r, and the largest |Q(z)| is taken over all stages but\n"
        "those at y itself, and over the part of |R| <= 1 that 0 belongs to (Verwer, Hundsdorfer, Sommeijer 1990;\n"
        "Ketcheson, Loczi, Parsani 2014). It is that of the stages as written, y and slopes.\n"
        "`ssp` is the coefficient of strong stability, for one-step schemes whose stages are all H (Gottlieb,\n"
        "Ketcheson, Shu 2011). For implicit stages, a_stable, l_stable and r_infinity, |R| at infinity, are\n"
        "decided exactly for schemes of fractions, of decimals and roots to their rounding; alpha, in\n"
        "degrees, is the angle of A(alpha)-stability. For an IMEX scheme all four are of its implicit part.\n"
        "`unproved` names what may be off in its last digits, since coefficients are no fractions or the value was\n"
        "searched for. All else is proved to its last digit by exact arithmetic and balls (FLINT, Arb).\n",
    .often = "scheme scheme-file split order-star function csv out figure",
    .example = "--scheme euler,heun,rk4 --out out/stability",
    .faster = "fewer --scheme, --points",
    .groups = GROUPS(
        OPTION_GROUP(
            "Schemes", 1,
            {"scheme", OPTION_TEXT, "euler,heun,rk3,rk4", "A,B,...",
             "names separated by commas, all, decoders, implicit, exponential or rosenbrock"},
            SELECT_FILE),
        OPTION_GROUP(
            "Plane", 1,
            {"split", OPTION_FLAG, NULL, NULL,
             "use the split test equation: the plane of h lambda_F, h lambda_G, both real"},
            {"order-star", OPTION_FLAG, NULL, NULL,
             "tell |R(z) e^-z| in place of |R|: where it is above 1 is the order star"},
            {"function", OPTION_FLAG, NULL, NULL,
             "print R(z) itself, with its zeros and poles, in place of the limits"},
            {"box", OPTION_TEXT, NULL, "A,B,C,D",
             "range from A to B across, C to D upwards, as --box=-4,1,-3,3 (default: around the limits, of an order star around the zeros and poles)"},
            {"points", OPTION_SIZE, "201", "N", "use a grid of N by N points", 3, 2001}),
        OPTION_GROUP(
            "Output", 0, {"csv", OPTION_FLAG, NULL, NULL, "write |R| on the grid as CSV"},
            {"out", OPTION_TEXT, NULL, "DIR",
             "write limits.csv, .md, .tex, stability.csv, contours.csv and the plot (.gp, .svg, "
             ".png); with --function functions.csv, .md, .tex; with --split: limits, split.csv, split-contours.csv and the plot; with --order-star the same of that name, with zeros and poles of R; for several schemes "
             "stability-inside.csv or split-inside.csv too"},
            PLOT_FIGURE)),
    .kinds = KINDS(
        {.command = "stability",
         .title = "Stability",
         .about =
             "|R| is the largest amplification of one step on the linear test equation; $z = h·λ$, and "
             "$λ_F = λ_G = λ/2$ unless a plane says otherwise.",
         .table = {{"limits", limit_columns, "Ends of the stability interval from 0.", KIND_ALL},
                   {"functions", function_columns, "Stability functions, $y(n+1) = R(z) y(n)$.",
                    KIND_ALL},
                   {"*", region_grid, "|R| on a grid of $z$", 0},
                   {"*", region_split_grid, "|R| on a grid of $z_F$, $z_G$", 0},
                   {"*", region_lines, "Boundaries |R| = 1", 0},
                   {"*", region_split_lines, "Boundaries |R| = 1", 0},
                   {"order-star-roots", region_roots, "Zeros and poles of R", 0},
                   {"*", region_inside, "How many schemes are stable", 0},
                   {"*", region_split_inside, "How many schemes are stable", 0}},
         .plot =
             {{"stability*",
               "Regions of stability: shaded inside, |R| ≤ 1; lines: |R| = 1; dashed: embedded methods."},
              {"order-star*",
               "Order stars: where |R(z)| is above |exp(z)|; rings are zeros of R, crosses its poles."},
              {"split*", "The same on the split test equation."}}}),
    .run = run,
};
