/* command_expand.c: expands a scheme's local error in elementary differentials of numerical - exact, or in brackets of
 * log(step)/h - (F + G), and finds its modified equation. */

#include "ode/scheme/rationals.h"
#include "studies/theory/derivation.h"
#include "studies/theory/expansion.h"
#include "studies/theory/theory_study.h"
#include "studies/base/notation.h"

/* Prints "word:sffs: signed area 0, [F,[F,G]] 1/12, ...", with every bracket of three letters; for a decoder's
 * splitting "signed areas [F,C] 3/2, [F,G] 7/2, [C,G] 7/2, ...". */
static int print_area(const Table *t)
{
    RATIONAL(area);
    char number[256];
    SCOPED(bracket_free) Brackets b = {0};
    TRY(bracket_error(t, 3, &b));
    static const int pair[][2] = {{OP_F, OP_G}, {OP_F, OP_C}, {OP_F, OP_G}, {OP_C, OP_G}};
    int decoder = t->colours > 2;
    printf("%s: signed area%s", t->name, decoder ? "s" : "");
    for (int i = decoder; i <= 3 * decoder; i++) {
        TRY(bracket_area(t, pair[i][0], pair[i][1], area));
        expansion_number(t, area, number, sizeof number);
        if (decoder)
            printf("%s [%c,%c]", i > 1 ? "," : "", table_letters[pair[i][0]],
                   table_letters[pair[i][1]]);
        printf(" %s", number);
    }
    for (size_t i = 0; i < b.count; i++) {
        if (b.bracket[i].degree != 3) continue;
        expansion_number(t, b.bracket[i].c, number, sizeof number);
        printf(", %s %s", b.bracket[i].name, number);
    }
    putchar('\n');
    return 0;
}

/* Says how the terms of a scheme whose stages are all H show in fewer rows than one for every colouring by F and G. */
static void tell_one_field(const Expansion *e, size_t n)
{
    int many = 0;
    for (size_t i = 0; i < n; i++)
        many |= e[i].basis != BASIS_BRACKETS && !e[i].one && table_one_field(e[i].table);
    if (many)
        puts(
            "where every stage is H, --one-field prints the terms in H alone: one row for each shape of tree");
}

static int print_words(const Expansion *e, size_t n)
{
    int decoder = 0;
    for (size_t i = 0; i < n; i++) decoder |= e[i].table->colours > 2;
    if (e[0].basis == BASIS_TREES)
        printf("terms of numerical - exact after one step: coefficient h^degree term(y)\n");
    else if (e[0].basis == BASIS_MODIFIED)
        printf("terms of the modified equation, whose exact flow over h is the step: coefficient\n"
               "h^(degree-1) term(y)\n");
    else
        printf("terms of log(step)/h - field: coefficient h^(degree-1) term, field %s;\n"
               "brackets of the Lyndon basis, %s, each split at its longest proper Lyndon suffix;\n"
               "[F,G] = G'F - F'G\n",
               decoder ? "F+C+G, of a decoder, or F+G" : "F+G (of a word: aF+bG)",
               decoder ? "F < C < G" : "F < G");
    tell_one_field(e, n);
    for (size_t i = 0; i < n; i++) {
        char words[SPECIAL_WORDS];
        if (e[i].table->special)
            printf("%s: for fields that are %s: terms that vanish there are left out\n",
                   e[i].table->name, table_special(e[i].table->special, words));
        if (e[i].count == 0)
            printf("%s: no term up to h^%d\n", e[i].table->name,
                   e[i].degree - (e[i].basis != BASIS_TREES));
        if (table_exact_flows(e[i].table)) TRY(print_area(e[i].table));
    }
    putchar('\n');
    return 0;
}

static int write_latex(const Expansion *e, size_t n, FILE *f)
{
    for (size_t i = 0; i < n; i++) TRY(expansion_latex(&e[i], f));
    return 0;
}

static int save(const Expansion *e, size_t n, const Sheet *r, const char *dir)
{
    Output o;
    TRY(output_directory(dir));
    TRY(output_sheet(r, SHEET_CSV, dir, "expand.csv"));
    TRY(output_sheet(r, SHEET_MARKDOWN, dir, "expand.md"));
    TRY(output_open(&o));
    return output_put(&o, write_latex(e, n, o.f), dir, "expand.tex");
}

/* Checks that every scheme that was named, not one of a group, has an expansion: the reason was told as a warning. */
static int check_expansions(const Options *o, const Expansion *e, size_t n)
{
    if (scheme_many(options_text(o, "scheme")) >= 0) return 0;
    for (size_t i = 0; i < n; i++)
        if (e[i].count == 0 && e[i].warning[0])
            return error_set(ERR_ACCURACY, "%s has no expansion", e[i].table->name);
    return 0;
}

static int show(const Options *o, const Expansion *e, size_t n, const Sheet *r)
{
    int csv = options_flag(o, "csv");
    const char *dir = options_text(o, "out");
    if (options_flag(o, "latex")) {
        TRY(write_latex(e, n, stdout));
    } else {
        if (!csv) TRY(print_words(e, n));
        TRY(sheet_write(r, csv ? SHEET_CSV : SHEET_PLAIN, stdout));
    }
    if (dir) TRY(save(e, n, r, dir));
    return check_expansions(o, e, n);
}

static int expand(const Options *o, const Selection *s, Expansion *e)
{
    SCOPED(sheet_drop) Sheet *r = NULL;
    size_t done = 0;
    TRY(sheet_new(expansion_columns, &r));
    int code = 0, degree = (int)options_size(o, "degree"), one = options_flag(o, "one-field"),
        basis = options_flag(o, "modified") ? BASIS_MODIFIED : options_choice(o, "basis");
    while (code == 0 && done < s->count) {
        code = expansion_find(s->scheme[done], basis, degree, one, &e[done]);
        if (code != 0) break;
        if (e[done].warning[0]) notice_warn("%s", e[done].warning);
        expansion_report(&e[done++], r);
    }
    if (code == 0) code = show(o, e, done, r);
    for (size_t i = 0; i < done; i++) expansion_free(&e[i]);
    return code;
}

/* ---- step by step ------------------------------------------------------------------------------------ */

/* Derives the terms of a scheme; none where it has no expansion, which is told as a warning. */
static int derive(const Options *o, const Table *scheme, Derivation *d)
{
    SCOPED(expansion_free) Expansion e = {0};
    int basis = options_choice(o, "basis"), one = options_flag(o, "one-field");
    TRY(expansion_find(scheme, basis, (int)options_size(o, "degree"), one, &e));
    if (e.warning[0]) return error_set(ERR_ACCURACY, "%s", e.warning);
    return basis == BASIS_BRACKETS ? derivation_brackets(d, e.table, e.degree)
                                   : derivation_error(d, e.table, e.degree, one ? 'H' : 0);
}

/* Prints the derivations; with --out writes DIR/steps.csv, .md, .tex. */
static int show_steps(const Options *o, const Selection *s)
{
    SCOPED(sheet_drop) Sheet *r = NULL;
    SCOPED(output_drop) Output tex = {0};
    const char *dir = options_text(o, "out");
    int csv = options_flag(o, "csv"), latex = options_flag(o, "latex");
    TRY(sheet_new(derivation_columns, &r));
    TRY(output_open(&tex));
    for (size_t i = 0; i < s->count; i++) {
        SCOPED(derivation_free) Derivation d = {0};
        const char *name = s->scheme[i]->name;
        int code = derive(o, s->scheme[i], &d);
        if (code != ERR_ACCURACY || scheme_many(options_text(o, "scheme")) < 0)
            TRY(code);
        else
            notice_warn("%s", error_text());
        derivation_rows(&d, name, r);
        if (!latex && !csv) printf("%s%s\n", i ? "\n" : "", name);
        if (!latex && !csv) derivation_print(&d, 2, stdout);
        if (latex) derivation_latex(&d, stdout);
        fprintf(tex.f, "%% %s\n", name);
        derivation_latex(&d, tex.f);
    }
    if (csv) TRY(sheet_write(r, SHEET_CSV, stdout));
    if (!dir) return 0;
    TRY(output_directory(dir));
    TRY(output_sheet(r, SHEET_CSV, dir, "steps.csv"));
    return output_put(&tex, 0, dir, "steps.tex");
}

/* Prints the order conditions; with --out writes DIR/conditions.csv, .md, .tex and the trees. */
static int show_conditions(const Options *o, const Selection *s)
{
    SCOPED(sheet_drop) Sheet *r = NULL;
    int degree = (int)options_size(o, "conditions"), csv = options_flag(o, "csv");
    const char *dir = options_text(o, "out");
    if (options_flag(o, "latex")) return conditions_tell(s, degree, NULL, stdout, dir);
    TRY(sheet_new(condition_columns, &r));
    TRY(conditions_tell(s, degree, r, NULL, dir));
    if (!csv)
        puts(
            "order conditions, sums over all letters: c_i = sum of a_ij; of Rosenbrock methods alpha_i = sum of\n"
            "alpha_ij, gamma_i and beta_i = alpha_i + gamma_i too; W is a W-method's matrix\n");
    return output_shown(r, csv, dir, "conditions");
}

static int run(Options *o)
{
    SCOPED(select_close) Selection s = {0};
    TRY(options_needs(o));
    TRY(options_either(o, "csv", "latex"));
    TRY(options_either(o, "notation", "csv"));
    if (options_flag(o, "notation")) {
        notation_print(options_flag(o, "latex"), stdout);
        return 0;
    }
    TRY(options_either(o, "conditions", "modified degree"));
    TRY(options_either(o, "steps", "conditions modified"));
    if (options_flag(o, "modified") && options_choice(o, "basis") == BASIS_BRACKETS)
        return error_set(ERR_INPUT, "expected --modified, in trees, or --basis brackets, which "
                                    "tells the same of a splitting, less its field");
    TRY(select_open(o, "exact", &s));
    SCOPED(memory_drop) Expansion *e = memory_new(s.count, sizeof *e);
    return !e                              ? ERR_MEMORY
           : options_flag(o, "steps")      ? show_steps(o, &s)
           : options_size(o, "conditions") ? show_conditions(o, &s)
                                           : expand(o, &s, e);
}

const Command command_expand = {
    .name = "expand",
    .purpose = "print the terms of a scheme's local error",
    .about =
        "Prints the terms of a scheme's local error: coefficients of the elementary differentials in\n"
        "numerical - exact, after one step of size h from y' = F(y) + G(y). They are exact rationals where the\n"
        "scheme's numbers are rational. A term of degree 0 means that the state weights do not sum to 1.\n"
        "Sub-flows are exact unless a suffix says otherwise. Terms go up to h^8, about a second a scheme.\n"
        "\n"
        "--basis brackets expands log(step)/h - (F+G), for splittings by exact flows. Terms of `degree` letters\n"
        "have h^(degree-1). The basis is Lyndon's (F < G; each word split at its longest proper Lyndon suffix),\n"
        "with [F,G] = G'F - F'G. A symmetric scheme has no even degrees. The coefficient of [F,G] is the signed\n"
        "area between the splitting's lattice path and its chord. Terms go up to 10 letters. Decoders, of\n"
        "y' = F + C + G, go up to h^6 and 7 letters; F < C < G, and there are three signed areas.\n"
        "\n"
        "--modified does backward error analysis (Hairer, Lubich, Wanner 2006, chapter IX). The step of a\n"
        "one-step scheme is the exact flow of y' = F + G + h f_2(y) + h^2 f_3(y) + ...; a term of `degree`\n"
        "vertices has h^(degree-1), and degree 1 is the field itself.\n"
        "--conditions 4 prints the order conditions, sum b_i c_i a_ij c_j = 1/8; where not every stage is H,\n"
        "sum b^F_i c^G_i = 1/2, b^F and c^G the weights of slopes of F and G. Rosenbrock methods have alpha,\n"
        "beta = alpha + gamma and b as Hairer and Wanner write them, W-methods gamma for their matrix W.\n"
        "\n"
        "trotter expand --modified --one-field --scheme euler --degree 3 prints the terms of\n"
        "H - h/2 H'H + h^2 (1/3 H'H'H + 1/12 H''(H,H)).\n",
    .example = "--scheme strang-marchuk --degree 4",
    .faster = "fewer --scheme, a lower --degree",
    .groups = GROUPS(
        OPTION_GROUP(
            "Schemes", 1,
            {"scheme", OPTION_TEXT, "transformer", "A,B,...",
             "names separated by commas, all, decoders, implicit, exponential or rosenbrock"},
            SELECT_FILE,
            {"degree", OPTION_SIZE, NULL, "N",
             "terms of h^1 to h^N, with --modified and brackets to h^(N-1), at most 8 in trees, 15 in those of one field, 12 with --modified (default: one more than each scheme's order)",
             1, TREE_MAX_1},
            {"basis", OPTION_CHOICE, "trees", "trees|brackets",
             "expand in elementary differentials, or in Lyndon brackets of log(step)/h - (F+G)"},
            {"modified", OPTION_FLAG, NULL, NULL,
             "print the modified equation instead, for one-step schemes: the field whose exact flow is the step"},
            {"one-field", OPTION_FLAG, NULL, NULL,
             "print the terms of H, in trees of one colour, for schemes whose stages are all H = F + G"},
            {"conditions", OPTION_SIZE, NULL, "P",
             "print the order conditions up to order P as formulas instead, and which hold; with --out draw their trees",
             1, 12},
            {"steps", OPTION_FLAG, NULL, NULL,
             "print instead how each coefficient comes about: stages or flows expanded, put in, what cancels"}),
        OPTION_GROUP(
            "Output", 0,
            {"notation", OPTION_FLAG, NULL, NULL,
             "print what the formulas mean, a page, and nothing else"},
            {"csv", OPTION_FLAG, NULL, NULL, "write the table as CSV"},
            {"latex", OPTION_FLAG, NULL, NULL, "write the terms as LaTeX (align* of amsmath)"},
            {"out", OPTION_TEXT, NULL, "DIR",
             "write DIR/expand.csv, .md and .tex; with --conditions their table and trees-NAME.svg, .tex (TikZ); with --steps "
             "steps.csv, .tex"})),
    .kinds = KINDS(
        {.command = "expand",
         .title = "Error terms",
         .about =
             "Terms of numerical − exact after one step: coefficient · $h^degree$ · term(y). "
             "Commutators are terms of $log(step)/h − (F+G)$: coefficient · $h^(degree-1)$ · term. "
             "$[F,G] = G'F − F'G$. " KIND_ORDERS,
         .table = {{"expand", expansion_columns, "Leading terms of the error.", KIND_MANY},
                   {"conditions", condition_columns, "Order conditions.", KIND_MANY},
                   {"steps", derivation_columns, "How the coefficients come about, line by line.",
                    KIND_ALL}},
         .plot =
             {{"trees-*",
               "The rooted trees of the conditions, with the scheme's coefficient; red: not met. Blue is F, orange G, "
               "green C."}}}),
    .run = run,
};
