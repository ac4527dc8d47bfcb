/* command_design.c: searches for the coefficients of a scheme. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/theory/design/design.h"
#include "studies/base/command.h"

enum { DEGREE = 6 }; /* of the trees compared */

#define BESIDE "euler,heun,looped:2,fgfg2"

typedef struct {
    const char *role, *scheme;
    Theory theory;
    int exact;
    double real_limit, imag_limit;
    double error, growth, bracket_norm2;
    size_t evals_F, evals_G, evals_C;
} DesignRow;

static const Column design_columns[] = {
    COLUMN(
        DesignRow, role,
        .words =
            "start: the form at its starting values; optimum: what the search found; result: the same with "
            "rounded coefficients; beside: a scheme for comparison"),
    COLUMN(DesignRow, scheme),
    FIELD(DesignRow, "order", theory.order),
    COLUMN(DesignRow, exact, .form = SHEET_FLAG),
    FIELD(DesignRow, "error_norm2", theory.error_norm2),
    FIELD(DesignRow, "error_norm2_one_colour", theory.error_norm2_one_colour),
    COLUMN(DesignRow, bracket_norm2, .sparse = 1,
           .words =
               "sum of the squares of the coefficients of the leading error in Lyndon brackets; of "
               "splittings by exact flows"),
    COLUMN(DesignRow, real_limit),
    COLUMN(DesignRow, imag_limit),
    FIELD(
        DesignRow, "truncation_error", error, .sparse = 1, .digits = 5,
        .words =
            "error of a step of h = 1 in the layers of the model, over the flow's displacement; median over "
            "sentences and layers"),
    FIELD(
        DesignRow, "excess_growth", growth, .sparse = 1, .digits = 5,
        .words =
            "factor by which a step of h = 1, linearised, enlarges a mode beyond the flow, or beyond its size "
            "where the flow damps it: largest over tokens, median over sentences and layers; 1: none"),
    COLUMN(DesignRow, evals_F),
    COLUMN(DesignRow, evals_G),
    COLUMN(DesignRow, evals_C, .sparse = 1),
    {0}};

typedef struct {
    Selection schemes; /* the form, then the schemes beside it */
    SearchOptions options;
    Form form;
    Fields fields;
    Search search;
    Table *start, *optimum, *result;
    Sheet *sheet;
} Designing;

/* ---- the search --------------------------------------------------------------------------------------- */

/* Does a scheme have a truncation error and a growth in the layers of the model? */
static int measurable(const Designing *u, const Table *t)
{
    return u->options.fields && !t->flows && !table_past(t) && t->colours == 2 &&
           table_sets(t, OP_F) <= 1 && table_sets(t, OP_G) <= 1;
}

static int add_row(Designing *u, const char *role, const Table *scheme)
{
    DesignRow row = {.role = role,
                     .scheme = scheme->name,
                     .exact = scheme->exact,
                     .error = NAN,
                     .growth = NAN,
                     .bracket_norm2 = NAN,
                     .evals_F = table_evals(scheme, OP_F),
                     .evals_G = table_evals(scheme, OP_G),
                     .evals_C = scheme->colours > 2 ? table_evals(scheme, OP_C) : SIZE_MAX};
    TRY(theory_search(scheme, DEGREE, &row.theory));
    Table *t = table_freeze(scheme);
    if (!t) return ERR_MEMORY;
    int code = stability_limits(t, &row.real_limit, &row.imag_limit, NULL);
    if (code == 0 && table_exact_flows(t))
        code = bracket_norm2(t, row.theory.order + 1, &row.bracket_norm2);
    int told = code == 0 && row.theory.consistent && measurable(u, t);
    if (told) code = fields_error(&u->fields, t, &row.error);
    if (code == ERR_ACCURACY) code = 0; /* its step is not finite */
    if (code == 0 && told && !u->fields.no_growth) code = fields_growth(&u->fields, t, &row.growth);
    if (code == ERR_ACCURACY) code = 0;
    table_free(t);
    if (code == 0) sheet_row(u->sheet, &row);
    return code;
}

/* Opens the form, with its own order where the user gives none, and its table at the starting values. ERR_INPUT where
 * the objective is not defined. */
static int open_form(const Options *o, Designing *u)
{
    const Table *t = u->schemes.scheme[0];
    Theory theory;
    int order = (int)options_size(o, "order");
    if (u->schemes.count != 1)
        return error_set(ERR_INPUT, "--scheme: expected one form, not %zu schemes",
                         u->schemes.count);
    if (u->options.objective->stages_over_H && !table_over(t, OP_H))
        return error_set(
            ERR_INPUT,
            "--objective %s: %s tells F and G apart; in one colour every stage must be H",
            u->options.objective->name, t->name);
    if (u->options.objective->flows && !t->flows)
        return error_set(ERR_INPUT, "--objective %s: %s is no splitting by exact flows",
                         u->options.objective->name, t->name);
    if (order == 0) {
        TRY(theory_search(t, DEGREE, &theory));
        order = theory.order > 1 ? theory.order : 1;
    }
    TRY(form_new(t, order, &u->form));
    u->start = table_freeze(t);
    return u->start ? 0 : ERR_MEMORY;
}

/* Opens the layers of --model, where it is given. */
static int open_fields(const Options *o, Designing *u)
{
    const char *model = options_text(o, "model");
    if (u->options.objective->in_layers && !model)
        return error_set(ERR_INPUT, "--objective %s: --model is needed, a trained language model",
                         u->options.objective->name);
    if (!model) return 0;
    if (!options_text(o, "text")) return error_set(ERR_INPUT, "--text is needed");
    TRY(fields_open(o, &u->fields));
    u->options.fields = &u->fields;
    if (u->options.objective->in_layers && !measurable(u, u->start))
        return error_set(
            ERR_INPUT,
            "--objective %s: %s reads or carries the past, or has C or several sets; errors and growth are of "
            "one-step schemes of F and G with one set each",
            u->options.objective->name, u->start->name);
    return 0;
}

static int replace(char **text, const char *words)
{
    char *copy = memory_string(words);
    if (!copy) return ERR_MEMORY;
    memory_free(*text);
    *text = copy;
    return 0;
}

static int figure_of(const Designing *u, const Table *t, double *figure)
{
    return u->options.objective->figure(
        &(Against){u->form.forest, u->form.order, u->options.fields, NULL}, t, figure);
}

/* Gives the result a name, its origin, and the figures that chose it. */
static int sign_result(Designing *u)
{
    const char *objective = u->options.objective->name, *form = u->start->name;
    double start, result;
    char name[TABLE_NAME], words[512];
    snprintf(name, sizeof name, "%.*s-%s", TABLE_NAME - 32, form, objective);
    table_rename(u->result, name);
    snprintf(words, sizeof words,
             "own: trotter design --scheme %s --objective %s --order %d --seed %llu", form,
             objective, u->form.order, (unsigned long long)u->options.seed);
    TRY(replace(&u->result->source, words));
    TRY(figure_of(u, u->start, &start));
    TRY(figure_of(u, u->result, &result));
    if (result == 0 && u->options.objective->sign > 0 && !u->options.objective->in_layers)
        notice_warn(
            "the terms of order %d can vanish altogether: --order %d asks for the best of those schemes",
            u->form.order + 1, u->form.order + 1);
    int n = snprintf(words, sizeof words, "%s: %.6g at the start, %.6g at the optimum, %.6g here",
                     objective, start, u->search.figure, result);
    if (command_stop)
        snprintf(words + n, sizeof words - (size_t)n, "; interrupted after %zu evaluations",
                 u->search.searched);
    return replace(&u->result->note, words);
}

static int find(Designing *u)
{
    TRY(search_run(&u->form, &u->options, &u->search));
    TRY(form_at(&u->form, u->search.x, &u->optimum));
    u->optimum->exact = 0;
    progress_show("rounding");
    TRY(search_round(&u->form, &u->options, &u->search));
    progress_clear();
    TRY(form_at_rational(&u->form, u->search.rounded, u->search.decimal, &u->result));
    return sign_result(u);
}

static int fill(Designing *u)
{
    TRY(sheet_new(design_columns, &u->sheet));
    TRY(add_row(u, "start", u->start));
    TRY(add_row(u, "optimum", u->optimum));
    TRY(add_row(u, "result", u->result));
    for (size_t i = 1; i < u->schemes.count; i++) TRY(add_row(u, "beside", u->schemes.scheme[i]));
    return 0;
}

/* ---- output ------------------------------------------------------------------------------------------- */

static int save(const Designing *u, const char *dir)
{
    Output o;
    TRY(output_directory(dir));
    TRY(output_open(&o));
    TRY(output_put(&o, table_print(u->result, o.f), dir, "result.scheme"));
    return output_table(u->sheet, dir, "design");
}

static int show(const Options *o, const Designing *u)
{
    if (options_flag(o, "print")) return table_print(u->result, stdout);
    if (options_flag(o, "csv")) return sheet_write(u->sheet, SHEET_CSV, stdout);
    printf(
        "%s of order %d at least; objective %s: %s\n%zu evaluations and %zu of rounding%s, the best from %s%s\n\n",
        u->start->name, u->form.order, u->options.objective->name, u->options.objective->words,
        u->search.searched, u->search.evaluations - u->search.searched,
        command_stop ? ", interrupted" : "",
        u->search.start ? "drawn starting values" : "the form's own values",
        u->search.decimal ? "; some coefficients are decimals, as no fraction was found" : "");
    TRY(sheet_write(u->sheet, SHEET_PLAIN, stdout));
    putchar('\n');
    return table_print(u->result, stdout);
}

static int study(const Options *o, Designing *u)
{
    const char *beside = options_text(o, "beside"), *dir = options_text(o, "out");
    if (!options_text(o, "scheme"))
        return error_set(ERR_INPUT, "--scheme is needed: a form of --scheme-file");
    TRY(options_needs(o));
    TRY(options_either(o, "csv", "print"));
    if (dir) TRY(output_check(dir));
    u->options = (SearchOptions){.objective = &objectives[options_choice(o, "objective")],
                                 .starts = options_size(o, "starts"),
                                 .evaluations = options_size(o, "evaluations"),
                                 .seed = options_size(o, "seed"),
                                 .rise = options_real(o, "rise"),
                                 .stop = &command_stop};
    TRY(select_open(o, "exact", &u->schemes));
    TRY(open_form(o, u));
    if (strcmp(beside, "none") != 0) TRY(select_add(beside, "exact", &u->schemes));
    TRY(open_fields(o, u));
    TRY(find(u));
    TRY(fill(u));
    TRY(show(o, u));
    if (dir) TRY(save(u, dir));
    return command_stop ? error_set(ERR_INTERRUPTED,
                                    "interrupted after %zu evaluations; the best so far is %s",
                                    u->search.searched, dir ? "saved" : "printed")
                        : 0;
}

static int run(Options *o)
{
    Designing u = {0};
    int code = study(o, &u);
    search_free(&u.search);
    form_free(&u.form);
    fields_close(&u.fields);
    table_free(u.start);
    table_free(u.optimum);
    table_free(u.result);
    sheet_free(u.sheet);
    select_close(&u.schemes);
    return code;
}

const Command command_design = {
    .name = "design",
    .purpose = "search the coefficients of a scheme for an objective",
    .about =
        "Searches the free coefficients of a scheme for the best objective, and prints the result as a text that\n"
        "--scheme-file reads. A form is a scheme whose free coefficients are 'learn a = 1/2' lines. The search\n"
        "begins at these values and at draws about them.\n"
        "\n"
        "Every point that it tries is first put where the scheme has the order asked for: the order conditions of\n"
        "all rooted trees in two colours, of a splitting 'flow a F' those of all brackets, hold to 1e-13\n"
        "(Gauss-Newton). There Nelder and Mead's simplex makes the\n"
        "objective best. Coefficients are then rounded, the smallest denominators first, as long as the order\n"
        "holds exactly and the figure is worse by 1 % at most (--rise). If no fraction is found for one, it stays\n"
        "a decimal.\n"
        "\n"
        "The same options give the same result. A search does not prove that there is nothing better. Ctrl-C ends\n"
        "it with the best so far and status 130; a second one ends it at once.\n",
    .often =
        "scheme scheme-file objective order model text starts evaluations seed beside print out",
    .example = "--scheme looped-learn --objective real --out out/design",
    .faster = "lower --evaluations, --starts",
    .groups = GROUPS(
        OPTION_GROUP(
            "Form", 1,
            {"scheme", OPTION_TEXT, NULL, "NAME", "the form: a scheme with 'learn a = 1/2' lines"},
            SELECT_FILE,
            {"objective", OPTION_CHOICE, "norm", OBJECTIVES,
             "what the search makes best: norm, norm-one-colour: least squared norm of the leading error; real, imag: largest "
             "stability limit; error: least truncation error at h = 1 in the layers of --model; growth: least growth of a step "
             "beyond the flow's, in the same layers; brackets: least squared norm of the leading error of a splitting in brackets"},
            {"order", OPTION_SIZE, NULL, "P",
             "least order of the result (default: the form's own at its starting values, at least 1)",
             1, DEGREE - 1}),
        OPTION_GROUP(
            "Trained layers", 1,
            {"model", OPTION_TEXT, NULL, "DIR",
             "trained language model, whose layers are the fields of truncation errors and growth"},
            {"text", OPTION_TEXT, NULL, "FILE", "text that sentences are drawn from" NETWORK_TEXTS,
             .needs = "model"},
            {"sentences", OPTION_SIZE, "4", "N", "number of sentences, drawn by the seed", 1,
             100000, .needs = "model"},
            {"tokens", OPTION_SIZE, NULL, "N",
             "at most N tokens of a sentence, <eos> first (default: as many as the model was trained on)",
             2, 65536, .needs = "model"},
            {"threads", OPTION_SIZE, "1", "N", "threads of the kernels; 0: one per core", 0, 1024,
             .needs = "model"}),
        OPTION_GROUP(
            "Search", 1,
            {"starts", OPTION_SIZE, "8", "N",
             "number of starts: the form's own values, and N - 1 draws about them", 1, 10000},
            {"evaluations", OPTION_SIZE, "4000", "N",
             "evaluations of the objective, shared by the starts; each start ends the step of its simplex, and rounding takes more",
             1, 1e9},
            {"seed", OPTION_SIZE, "1", "N", "seed of the draws", 0, 1e18},
            {"rise", OPTION_REAL, "0.01", "X", "share by which rounding may worsen the figure", 0,
             1}),
        OPTION_GROUP(
            "Output", 0,
            {"beside", OPTION_TEXT, BESIDE, "A,B,...", "schemes to show for comparison, or none"},
            {"print", OPTION_FLAG, NULL, NULL, "print the text of the result alone"},
            {"csv", OPTION_FLAG, NULL, NULL, "write the table as CSV"},
            {"out", OPTION_TEXT, NULL, "DIR", "write result.scheme, design.csv, .md, .tex"})),
    .kinds = KINDS(
        {.command = "design",
         .title = "A scheme searched for",
         .about =
             "The search finds coefficients of a form that make an objective best while order conditions hold. " KIND_ORDERS,
         .table = {{"design", design_columns,
                    "The form, what was found, and schemes for comparison.", KIND_ALL}}}),
    .saves = 1,
    .run = run,
};
