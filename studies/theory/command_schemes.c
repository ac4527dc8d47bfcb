/* command_schemes.c: lists schemes with the facts that their tables give: sizes, order, stability. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "studies/theory/expansion.h"
#include "ode/scheme/rationals.h"
#include "studies/theory/theory_study.h"

typedef struct {
    const char *scheme;
    size_t stages, evals_F, evals_G, evals_C;
    int past_y, past_k, exact, order_autonomous;
    Theory theory;
    double real_limit, imag_limit, ssp;
    Embedded embedded;
    int order_exact;           /* of fractions that are roundings, else -1 */
    int order_proved;          /* of rational ones whose proof takes too long, else -1 */
    double holds_to, fails_by; /* of rounded coefficients */
    const char *fields;        /* NULL: any */
    const char *goes;          /* multiple of h over which order and norms hold; NULL: 1 */
    const char *at_least;      /* NULL: none */
    const char *unproved;      /* NULL: nothing */
} SchemeRow;

static const Column columns[] = {
    COLUMN(SchemeRow, scheme),
    COLUMN(SchemeRow, stages),
    COLUMN(SchemeRow, evals_F),
    COLUMN(SchemeRow, evals_G),
    COLUMN(SchemeRow, evals_C, .sparse = 1),
    COLUMN(SchemeRow, past_y),
    COLUMN(SchemeRow, past_k),
    COLUMN(SchemeRow, exact, .form = SHEET_FLAG),
    FIELD(SchemeRow, "consistent", theory.consistent, .form = SHEET_FLAG),
    FIELD(SchemeRow, "order", theory.order),
    COLUMN(SchemeRow, order_autonomous, .sparse = 1,
           .words =
               "order on fields that do not depend on time, shown where @ makes it another one"),
    FIELD(SchemeRow, "zero_stable", theory.zero_stable, .form = SHEET_FLAG),
    COLUMN(SchemeRow, real_limit),
    COLUMN(SchemeRow, imag_limit),
    FIELD(SchemeRow, "error_norm2", theory.error_norm2),
    FIELD(SchemeRow, "error_norm2_one_colour", theory.error_norm2_one_colour),
    COLUMN(SchemeRow, ssp),
    FIELD(SchemeRow, "embedded_order", embedded.order, .sparse = 1,
          .words = "order of the embedded method y' - error"),
    FIELD(SchemeRow, "estimate_order", embedded.estimate_order, .sparse = 1,
          .words = "q, where the estimate of the error is O(h^(q+1))"),
    FIELD(SchemeRow, "estimate_norm2", embedded.error_norm2, .sparse = 1,
          .words = "squared norm of the estimate's h^(q+1) terms, in the manner of error_norm2"),
    COLUMN(SchemeRow, order_exact, .sparse = 1,
           .words = "order that fractions which are roundings have exactly"),
    COLUMN(
        SchemeRow, order_proved, .sparse = 1,
        .words =
            "order whose conditions are proved: those above it hold modulo two primes above 2^60"),
    COLUMN(SchemeRow, unproved, .sparse = 1),
    COLUMN(SchemeRow, holds_to, .sparse = 1, .digits = 3,
           .words = "where coefficients are rounded: the largest miss of a condition of the order"),
    COLUMN(SchemeRow, fails_by, .sparse = 1, .digits = 3,
           .words =
               "where coefficients are rounded: the largest miss of a condition of the next order"),
    COLUMN(
        SchemeRow, goes, .sparse = 1,
        .words =
            "multiple of h over which a step goes, where that is another: order and norm are those over it"),
    COLUMN(SchemeRow, fields, .sparse = 1,
           .words = "what the scheme takes its field to be: order and norm hold on such fields"),
    COLUMN(SchemeRow, at_least, .sparse = 1,
           .words = "orders that are lower bounds: no tree up to --degree disagrees"),
    {0}};

/* Names the orders that every tree met, with a note; NULL: none. */
static const char *lower_bounds(const SchemeRow *row, int words)
{
    int order = row->theory.order == row->theory.searched, hat = row->embedded.order_at_least;
    if (!order && !hat) return NULL;
    const char *names = order && hat ? "order and embedded_order"
                        : order      ? "order"
                                     : "embedded_order";
    if (words)
        progress_note("%s: no tree up to order %d disagrees: %s may be larger (--degree)",
                      row->scheme, order ? row->theory.order : row->embedded.order, names);
    return names;
}

/* A smaller miss of order conditions comes from coefficients with too few digits, or a wrong one. */
#define NEAR 1e-5

/* Tells to what rounded coefficients meet their conditions: "order 8 (conditions hold to 3e-17; order 9 fails by
 * 2e-5)". */
static void tell_rounding(const Table *t, SchemeRow *row, int words)
{
    const Theory *th = &row->theory;
    int rounded = th->order_exact >= 0 && th->order_exact < th->order;
    double missed = sqrt(th->error_norm2);
    char next[64] = "", exactly[64] = "";
    row->order_exact = rounded ? th->order_exact : -1;
    row->holds_to = row->fails_by = NAN;
    if (t->exact && !rounded) return;
    row->holds_to = th->residual;
    row->fails_by = th->missed;
    if (!words) return;
    if (!isnan(th->missed))
        snprintf(next, sizeof next, "; order %d fails by %.2g", th->order + 1, th->missed);
    if (rounded)
        snprintf(exactly, sizeof exactly, "; fractions that are roundings: exactly %d",
                 th->order_exact);
    progress_note("%s: order %d (conditions hold to %.2g%s)%s", t->name, th->order, th->residual,
                  next, exactly);
    if (missed > 0 && missed < NEAR && th->order < 4)
        progress_note(
            "%s: the conditions of order %d are missed by %.2g alone: a digit may be wrong or lacking",
            t->name, th->order + 1, th->missed);
}

/* Tells how far conditions of fractions are proved, where that is less far than they were looked at. */
static void tell_proof(SchemeRow *row, int words)
{
    const Theory *th = &row->theory;
    row->order_proved = th->order_proved < th->order_exact ? th->order_proved : -1;
    if (words && row->order_proved >= 0)
        progress_note(
            "%s: order %d is proved; conditions from order %d to %d hold modulo two primes above 2^60, which "
            "is no proof",
            row->scheme, th->order_proved, th->order_proved + 1, th->order_exact);
}

/* Writes what is carried on the exact solution, "v = 10 H - 45 H'H + ...", to h^2. */
static int tell_carried(const Table *scheme, const Theory *theory)
{
    TABLE(t);
    SCOPED(forest_drop) Forest *f = NULL;
    SCOPED(memory_drop) Series **list = memory_new(scheme->carries, sizeof *list);
    if (!scheme->carries || !theory->expands) return 0;
    if (!list || !(t = table_freeze(scheme))) return ERR_MEMORY;
    int one = series_one_colour(t);
    int code = series_forest(t, 2, one ? 1 : t->colours, 0, &f);
    if (code == 0) code = series_carried(f, t, 0, list);
    for (size_t c = 0; code == 0 && c < t->carries; c++) {
        char words[512];
        const Row *moved = &t->carry[c].moved;
        if (moved->terms) mpq_add(list[c]->empty, list[c]->empty, moved->term[0].c);
        code = expansion_words(t, f, list[c], one, words, sizeof words);
        if (code == 0)
            progress_note("%s: on the exact solution %s = %s", t->name, t->carry[c].name, words);
    }
    for (size_t c = 0; c < scheme->carries; c++) series_free(list[c]);
    if (code == 0 && theory->start_order < INT_MAX)
        progress_note("%s: its start has what is carried to h^%d at least", t->name,
                      theory->start_order);
    return code;
}

/* Tells why a scheme has no expansion, and so no order. */
static int tell_unexpanded(const Table *scheme, const Theory *theory)
{
    TABLE(t);
    if (theory->expands) return 0;
    if (!(t = table_freeze(scheme))) return ERR_MEMORY;
    int code = series_check(t);
    if (code == ERR_ACCURACY) progress_note("%s", error_text());
    return code == ERR_ACCURACY ? 0 : code;
}

static int tell_blind(const Table *t)
{
    char words[BLIND_WORDS];
    TRY(blind_words(t, words, sizeof words));
    if (*words) progress_note("%s", words);
    return 0;
}

static int add_row(Sheet *r, int degree, const Table *scheme, int words)
{
    char text[128];
    char fields[SPECIAL_WORDS];
    SchemeRow row = {.scheme = scheme->name,
                     .stages = scheme->flows ? scheme->flows : scheme->stages,
                     .evals_F = table_evals(scheme, OP_F),
                     .evals_G = table_evals(scheme, OP_G),
                     .evals_C = scheme->colours > 2 ? table_evals(scheme, OP_C) : SIZE_MAX,
                     .past_y = scheme->past_y,
                     .past_k = scheme->past_k,
                     .exact = scheme->exact,
                     .fields = scheme->special ? table_special(scheme->special, fields) : NULL};
    RATIONAL(goes);
    progress_show("order of %s", scheme->name);
    TRY(theory_search(scheme, degree, &row.theory));
    TRY(theory_embedded(scheme, degree, &row.embedded));
    row.order_autonomous =
        row.theory.order_autonomous != row.theory.order ? row.theory.order_autonomous : -1;
    TRY(theory_own(scheme, degree, &row.theory, goes));
    if (mpq_sgn(goes)) {
        expansion_number(scheme, goes, text, sizeof text);
        row.goes = text;
    }
    row.at_least = lower_bounds(&row, 1);
    tell_rounding(scheme, &row, words);
    tell_proof(&row, words);
    if (words) TRY(tell_carried(scheme, &row.theory));
    if (words && table_has(scheme, HAS_NORM)) progress_note("%s: " TABLE_NORMS_LEFT, scheme->name);
    if (words) TRY(tell_unexpanded(scheme, &row.theory));
    TRY(tell_blind(scheme));
    TABLE(t);
    TRY(theory_freeze(scheme, &t));
    int limits, ssp;
    TRY(stability_limits(t, &row.real_limit, &row.imag_limit, &limits));
    TRY(stability_ssp(t, &row.ssp, &ssp));
    row.unproved = unproved_words(limits, ssp, 1);
    sheet_row(r, &row);
    return 0;
}

/* Prints a tableau in the form of another program, which has a place for the orders. */
static int print_source(const Table *t, int form)
{
    Theory th;
    Embedded e;
    TRY(theory_search(t, CONDITIONS_MAX_2, &th));
    TRY(theory_embedded(t, CONDITIONS_MAX_2, &e));
    return source_print(t, form, th.order, e.order, stdout);
}

/* Prints the schemes' texts, or their tableaus where `form` is BUTCHER_*, or behind these SOURCE_*. */
static int print_texts(const Selection *s, int form)
{
    for (size_t i = 0; i < s->count; i++) {
        if (i) putchar('\n');
        const Table *t = s->scheme[i];
        TRY(form < 0                                       ? table_print(t, stdout)
            : form >= BUTCHER_FORMS                        ? print_source(t, form - BUTCHER_FORMS)
            : form == BUTCHER_LATEX && table_rosenbrock(t) ? rosenbrock_latex(t, stdout)
                                                           : butcher_print(t, form, stdout));
    }
    return 0;
}

/* Prints "theta - 3/2*theta^2". */
static void print_polynomial(const Table *t, const Dense *d, size_t e)
{
    char c[1024];
    int terms = 0;
    for (int k = 0; k < d->order; k++) {
        const __mpq_struct *b = d->beta[e * (size_t)d->order + (size_t)k];
        if (mpq_sgn(b) == 0) continue;
        expansion_number(t, b, c, sizeof c);
        const char *size = c + (*c == '-');
        printf("%s", *c == '-' ? terms ? " - " : "-" : terms ? " + " : "");
        if (strcmp(size, "1") != 0) printf("%s*", size);
        printf(k ? "theta^%d" : "theta", k + 1);
        terms++;
    }
    puts(terms ? "" : "0");
}

/* Prints a line for every stage, or for each of its evaluations where these have separate weights. */
static int print_dense(const Selection *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const Table *t = table_unfiltered(s->scheme[i]);
        SCOPED(dense_free) Dense d = {0};
        TRY(dense_find(s->scheme[i], &d));
        if (d.order)
            printf("%s%s: y + sum b(theta) k, 0 <= theta <= 1, of order %d%s%s\n", i ? "\n" : "",
                   t->name, d.order, d.bounded ? " at least (no higher one is looked for)" : "",
                   d.smooth ? ", with a continuous derivative" : "");
        else
            printf("%s%s: no values within a step: it is no consistent one-step scheme of stages\n",
                   i ? "\n" : "", t->name);
        for (size_t e = 0; e < d.evals; e++) {
            const Stage *stage = &t->stage[t->eval[e].stage];
            int one = table_over(t, OP_H);
            if ((one && (size_t)stage->eval != e) || !dense_weighs(t, e)) continue;
            printf(one ? "b%d = " : "b%d of %c = ", t->eval[e].stage + 1,
                   table_letters[t->eval[e].op]);
            print_polynomial(t, &d, e);
        }
    }
    return 0;
}

/* Says what the columns mean, which of them are decided and which are found by a search, and how far that went. */
static void tell_search(int trees, int brackets)
{
    printf(
        "%sColumns of yes and no, and the constants, are decided: they hold for every order; where coefficients\n"
        "are decimals or roots, of what holds to 1e-12. The orders are searched for:\n"
        "symmetric_order in trees up to order %d, of splittings in brackets up to %d, as effective_order;\n"
        "dense_order up to %d; of three colours %d, %d and %d. An order is exact unless at_least names it:\n"
        "such a search ended at its bound with nothing that disagrees.\n\n",
        structure_words, trees, brackets, DENSE_MOST, trees < TREE_MAX_3 ? trees : TREE_MAX_3,
        brackets < LIE_MAX_3 ? brackets : LIE_MAX_3, TREE_MAX_3);
}

static int show_structure(const Options *o, const Selection *s)
{
    SCOPED(sheet_drop) Sheet *r = NULL;
    int csv = options_flag(o, "csv");
    int given = options_rank(o, "degree") != OPTION_DEFAULT,
        degree = (int)options_size(o, "degree");
    int trees = !given ? 6 : degree < TREE_MAX ? degree : TREE_MAX;
    int brackets = given && degree < LIE_MAX ? degree : LIE_MAX;
    TRY(structure_report(s, trees, brackets, &r));
    if (!csv) tell_search(trees, brackets);
    return output_shown(r, csv, options_text(o, "out"), "structure");
}

/* Prints the certificate of the one scheme that is chosen. */
static int print_certificate(const Options *o, const Selection *s)
{
    TRY(options_either(o, "certificate", "out"));
    if (s->count != 1)
        return error_set(ERR_INPUT, "--certificate: expected one scheme, --scheme NAME, not %zu",
                         s->count);
    return certificate_print(s->scheme[0], &(CertificateClaim){.order = -1},
                             options_choice(o, "certificate"), (int)options_size(o, "degree"),
                             stdout);
}

/* Prints the one scheme that is chosen as a module. */
static int print_module(const Options *o, const Selection *s)
{
    if (s->count != 1)
        return error_set(ERR_INPUT, "--to: expected one scheme, --scheme NAME, not %zu", s->count);
    return module_print(s->scheme[0], options_choice(o, "to"), stdout);
}

static int show(const Options *o, const Selection *s)
{
    if (options_text(o, "to")) return print_module(o, s);
    if (options_text(o, "certificate")) return print_certificate(o, s);
    if (options_flag(o, "print")) return print_texts(s, -1);
    if (options_text(o, "tableau"))
        return print_texts(s, options_choice(o, "tableau")); /* BUTCHER_* in this order */
    if (options_flag(o, "dense")) return print_dense(s);
    if (options_flag(o, "structure")) return show_structure(o, s);
    SCOPED(sheet_drop) Sheet *r = NULL;
    TRY(sheet_new(columns, &r));
    int csv = options_flag(o, "csv");
    for (size_t i = 0; i < s->count; i++)
        TRY(add_row(r, (int)options_size(o, "degree"), s->scheme[i], !csv));
    progress_clear();
    int pairs = 0, special = 0, functions = 0;
    for (size_t i = 0; i < s->count; i++) {
        pairs |= s->scheme[i]->pair != 0;
        special |= s->scheme[i]->special;
        functions |= table_phi(s->scheme[i]);
    }
    if (!csv) {
        printf(
            "order p means local error h^(p+1), found up to %zu, or at most 10 where not every stage is H; limits: ends of "
            "the\nstability interval from 0; error_norm2: squared norm of the h^(p+1) terms in two "
            "colours, F and\nG; error_norm2_one_colour: in the one colour F + G, where every stage "
            "is H;\nssp: coefficient of strong stability\n",
            options_size(o, "degree"));
        if (pairs)
            printf(
                "pairs: stages and evaluations are those of a step of fixed size, which needs no "
                "estimate of its error;\nembedded_order: of y' - error; the estimate is "
                "O(h^(estimate_order + 1)), with estimate_norm2 as error_norm2\n");
        if (select_decoders(s))
            printf("decoders solve y' = F + C + G: three colours, trees up to order %d\n",
                   CONDITIONS_MAX_3);
        if (special)
            printf(
                "fields: what the scheme takes them to be, linear (and free of time) or separable "
                "(F reads only what\nG moves, and G what F moves; separable G: G reads nothing that it moves); its order is that on such fields\n");
        if (functions)
            printf("phi functions, and systems that are solved, are not counted as evaluations\n");
        putchar('\n');
    }
    return output_shown(r, csv, options_text(o, "out"), "schemes");
}

/* ---- schemes made of schemes ------------------------------------------------------------------------ */

static int find_composed(const Zoo *z, const char *list, Table **out)
{
    RATIONAL(total);
    TRY(zoo_compose(z, list, total, out));
    if (fabs(table_double(total) - 1) > 1e-12)
        notice_warn("the weights sum to %.6g, not to 1: this is no step over h",
                    table_double(total));
    return 0;
}

static int find_conjugate(const Zoo *z, const char *list, Table **out)
{
    Table **pair;
    size_t count;
    TRY(zoo_list(z, list, "exact", &pair, &count));
    int code = count == 2 ? scheme_conjugate(pair[0], pair[1], out)
                          : error_set(ERR_INPUT,
                                      "--conjugate: expected two names P,S, not '%.100s'", list);
    for (size_t i = 0; i < count; i++) table_free(pair[i]);
    memory_free(pair);
    return code;
}

static int find_adjoint(const Zoo *z, const char *name, Table **out)
{
    TABLE(t);
    TRY(zoo_find(z, name, "exact", &t));
    return scheme_adjoint(t, out);
}

static const struct {
    const char *option;
    int (*find)(const Zoo *z, const char *text, Table **out);
} makers[] = {{"compose", find_composed}, {"adjoint", find_adjoint}, {"conjugate", find_conjugate}};
enum { MAKERS = sizeof makers / sizeof *makers };

/* Prints the result of the given option of these; *made = 0 where none is given. */
static int print_made(const Options *o, const Zoo *z, int *made)
{
    TABLE(t);
    *made = 0;
    for (size_t i = 0; i < MAKERS; i++) {
        const char *text = options_text(o, makers[i].option);
        if (!text) continue;
        for (size_t k = i + 1; k < MAKERS; k++)
            TRY(options_either(o, makers[i].option, makers[k].option));
        TRY(options_either(o, makers[i].option,
                           "csv print dense structure tableau certificate to out"));
        TRY(makers[i].find(z, text, &t));
        *made = 1;
    }
    return t ? table_print(t, stdout) : 0;
}

/* Repairs the one file of --scheme-file. */
static int repair(const Options *o)
{
    const char *file = options_item(o, "scheme-file", 0);
    TRY(options_either(o, "repair", "compose adjoint conjugate print to tableau dense structure"));
    int named = options_rank(o, "scheme") != OPTION_DEFAULT;
    if (!file || named || options_item(o, "scheme-file", 1))
        return error_set(
            ERR_INPUT,
            "--repair: expected one file with one scheme, --scheme-file FILE, and no --scheme: it repairs the text as the file "
            "has it, and --scheme names schemes that are read already");
    return repair_tell(file, (int)options_size(o, "order"), options_flag(o, "csv"),
                       options_text(o, "out"));
}

static int run(Options *o)
{
    TRY(options_needs(o));
    TRY(options_either(
        o, "check",
        "scheme-file repair compose adjoint conjugate print to tableau dense structure certificate"));
    if (options_flag(o, "repair")) return repair(o);
    if (options_flag(o, "check")) return check_tell(o);
    SCOPED(select_close) Selection s = {0};
    int made;
    /* Options that replace the table. */
    TRY(options_either(o, "to", "print tableau dense certificate structure csv out"));
    TRY(options_either(o, "print", "tableau dense certificate structure csv"));
    TRY(options_either(o, "tableau", "dense certificate structure csv"));
    TRY(options_either(o, "dense", "certificate structure csv"));
    TRY(options_either(o, "certificate", "structure csv"));
    TRY(select_open(o, options_text(o, "to") ? "euler" : "exact", &s));
    TRY(print_made(o, &s.zoo, &made));
    return made ? 0 : show(o, &s);
}

const Command command_schemes = {
    .name = "schemes",
    .purpose = "list schemes with their order and stability",
    .about =
        "Prints what each scheme's table says: stages, evaluations, history, exact order from coloured trees,\n"
        "root condition, stability limits. A splitting without suffix has exact sub-flows. Order p means local\n"
        "error h^(p+1), global error h^p; order 0 means not consistent. `exact` says whether every coefficient\n"
        "is rational; if not, some are decimals or roots, and the order is found within a tolerance. `past_y`\n"
        "and `past_k` say how many steps back the states y[-j] and the slopes k[-j] lie that a step reads.\n"
        "\n"
        "More schemes go by name, in every command: looped:N (F, then G at the updated point, N times, each\n"
        "an Euler sub-step of 1/N), repeat:N (N whole layers),\n"
        "dial:S,THETA (S evaluations, each THETA of a step further than the one before), word:ssff (sublayers, s for\n"
        "attention, f for feed-forward), sandwich:N-K, and NAME-layer, NAME-F, NAME-G (the method over the layer, or\n"
        "over one sublayer). ode/scheme/README.md describes them; `schemes --print --scheme dial:2,1/2` prints a text.\n"
        "\n"
        "NAME-decoder is any scheme with cross-attention C behind its attention F, of y' = F + C + G;\n"
        "'decoders' selects them all. An embedded pair has a line `error = ...`. Its stages and evaluations\n"
        "are those of a step of fixed size: stages that only the estimate of the error reads are not counted,\n"
        "and no network has them.\n"
        "\n"
        "'exponential' selects the exponential integrators. Their stages phiJ(c F)(...) apply a phi function of\n"
        "c h F'(y), and `linear F` says that the order is that on fields whose F is linear, `separable` that F reads only what G moves and G what F moves, `separable G` that G reads nothing that it moves. Their stability\n"
        "limits are searched in double precision, up to 2^20 times the size at which the factor begins to move.\n"
        "'rosenbrock' selects Rosenbrock methods and W-methods: solve(c H)(...) applies (1 - c h H'(y))^-1, and W in\n"
        "place of H is any matrix, which has a letter of its own in error terms.\n"
        "\n"
        "--certificate writes a proof of one scheme's order that needs no trust in this program. `coqc` (Debian's coq)\n"
        "checks that of Coq: every rooted tree up to the order, or of flows every word, meets its condition, and one of\n"
        "the next order does not; of flows the brackets of the leading error are proved too. `verify --certificate`\n"
        "has those of a claim. studies/scripts/check_certificate.py checks JSON in fractions.\n"
        "  trotter schemes --certificate coq --scheme rk4 > rk4.v && coqc rk4.v\n"
        "\n"
        "--compose, --adjoint and --conjugate make a scheme from one-step schemes (flows, or stages) and print\n"
        "a text that --scheme-file reads. Explicit stages have an implicit adjoint and inverse.\n"
        "NAME:fixed-point-N iterates a scheme's implicit stages N times, and networks take it.\n"
        "\n"
        "--repair looks for misprints in a scheme or pair of any kind, in any form that --scheme-file\n"
        "reads: for each coefficient it solves the order conditions, those of the embedded method and c = sum of\n"
        "the row, and lists the values that meet them all, the nearest misprint first (a digit, the sign,\n"
        "numerator and denominator). Exact coefficients are tried in pairs where one does not do. '?' in place of a\n"
        "coefficient asks for it. The status is 0 where nothing is to be repaired or there is one repair, 1 where\n"
        "there is none or there are several. Learned coefficients are refused.\n"
        "\n"
        "--check reads the tableaus of other programs' sources as they stand: SUNDIALS, SciML, NodePy, diffrax, SciPy,\n"
        "PETSc, Boost (ode/scheme/tableaus.md has the forms). The status is 1 where one declares a higher order than it has.\n"
        "  trotter schemes --check src/arkode/arkode_butcher_erk.def\n"
        "\n"
        "Strang from Lie and Trotter's:\n"
        "  trotter schemes --adjoint lie-trotter > adjoint.scheme\n"
        "  trotter schemes --scheme-file adjoint.scheme --compose lie-trotter,lie-trotter-adjoint\n"
        "A method of order 4 from one of order 2 (Yoshida 1990):\n"
        "  trotter schemes --compose \"1/(2-2^(1/3))*strang-marchuk,-2^(1/3)/(2-2^(1/3))*strang-marchuk,1/(2-2^(1/3))*strang-marchuk\"\n",
    .often = "scheme scheme-file structure repair compose tableau print csv out",
    .example = "--scheme rk4,macaron,strang-marchuk",
    .faster = "fewer --scheme, a lower --degree",
    .groups = GROUPS(
        OPTION_GROUP(
            "Schemes", 1,
            {"scheme", OPTION_TEXT, "all", "A,B,...",
             "names separated by commas, all, decoders, implicit, exponential or rosenbrock"},
            SELECT_FILE),
        OPTION_GROUP(
            "Schemes made of schemes", 0,
            {"compose", OPTION_TEXT, NULL, "A,B,...",
             "print one scheme that takes these n steps in this order, each over h/n; with c*A,c*B,... over c h"},
            {"adjoint", OPTION_TEXT, NULL, "NAME",
             "print the adjoint S(-h)^-1: for exact flows these reversed, for stages an implicit scheme"},
            {"conjugate", OPTION_TEXT, NULL, "P,S",
             "print the scheme that takes P, then S, then the inverse of P, for splittings by exact flows"}),
        OPTION_GROUP(
            "Output", 0,
            {"degree", OPTION_SIZE, "20", "N",
             "compare trees up to this order (where not every stage is H: at most 10, decoders 8, with functions of derivatives "
             "8 and 6; --structure: trees 6, and brackets 10, unless given)",
             2, CONDITIONS_MAX},
            {"print", OPTION_FLAG, NULL, NULL, "print the texts of the schemes instead"},
            {"tableau", OPTION_CHOICE, NULL, "json|drawn|latex|sundials|sciml|nodepy|diffrax|scipy",
             "print the Butcher tableau of each Runge-Kutta scheme instead, also as other programs have it; of Rosenbrock methods alpha, gamma and b (latex); "
             "--scheme-file reads all but latex"},
            {"certificate", OPTION_CHOICE, NULL, "coq|json",
             "print a proof of the order of one scheme instead, all conditions and one of the next order that fails: for "
             "coqc, or for studies/scripts/check_certificate.py; fractions, one step, stages or flows"},
            {"to", OPTION_CHOICE, NULL, "torch|jax|numpy",
             "print the network of one scheme instead, as a module that needs nothing of this program; a splitting's "
             "sub-flows are by Euler's method unless its suffix says otherwise"},
            {"dense", OPTION_FLAG, NULL, NULL,
             "print the weights of each scheme's slopes for values within a step instead, as polynomials of theta"},
            {"structure", OPTION_FLAG, NULL, NULL,
             "print what the schemes keep instead: symmetry, symplecticity, effective order, error constants"},
            {"repair", OPTION_FLAG, NULL, NULL,
             "say which coefficients of the file's scheme fail its order conditions and what should stand there, and print the repaired text"},
            {"order", OPTION_SIZE, "0", "P",
             "--repair: conditions to this order (0: the one that the text claims, else the highest that one coefficient reaches)",
             0, TREE_MAX_1 - 1, .needs = "repair"},
            {"check", OPTION_FLAG, NULL, NULL,
             "say of each tableau of source files, --check FILE..., in C, Julia or Python, which order it declares and which it has"},
            {"file", OPTION_LIST, NULL, "FILE",
             "a source of --check; the name of the option may be left out", 0, 0, .needs = "check",
             .flags = OPTION_SOURCE},
            {"csv", OPTION_FLAG, NULL, NULL, "write the table as CSV"},
            {"out", OPTION_TEXT, NULL, "DIR",
             "write DIR/schemes.csv, .md, .tex too (with --structure: structure.csv, .md, .tex; --repair: repair.csv, .md, .tex, repaired.scheme)"})),
    .kinds = KINDS(
        {.command = "schemes",
         .title = "Schemes",
         .about = "All values are read off the schemes' texts in rational arithmetic. " KIND_ORDERS,
         .table = {{"schemes", columns, "Order, cost and stability.", KIND_ALL},
                   {"structure", structure_columns, "Symmetry, symplecticity, effective order.",
                    KIND_ALL},
                   {"repair", repair_columns, "Misprinted coefficients.", KIND_ALL},
                   {"check", check_columns, "Orders declared and orders had.", KIND_ALL}}}),
    .run = run,
};
