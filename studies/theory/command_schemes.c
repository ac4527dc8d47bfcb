/* command_schemes.c: every scheme with what its table says of it: sizes, order, stability. */
#include <string.h>

#include "studies/tools/command.h"
#include "studies/tools/output.h"
#include "studies/tools/progress.h"
#include "studies/tools/select.h"
#include "studies/theory/structure_table.h"

static const Option scheme_options[] = {
    {"scheme", OPTION_TEXT, "all", "A,B,...", "names separated by commas, or all", 0, 0},
    SELECT_FILE,
    {0},
};

static const Option output_options[] = {
    {"degree", OPTION_SIZE, "6", "N", "trees are compared up to this order", 2, TREE_MAX},
    {"print", OPTION_FLAG, NULL, NULL, "print the texts of the schemes instead", 0, 0},
    {"structure", OPTION_FLAG, NULL, NULL,
     "what the schemes keep instead: symmetry, symplecticity, effective order, error constants", 0,
     0},
    {"csv", OPTION_FLAG, NULL, NULL, "the table as CSV", 0, 0},
    {"out", OPTION_TEXT, NULL, "DIR",
     "write DIR/schemes.csv and DIR/schemes.md too (with --structure: structure.csv, .md)", 0, 0},
    {0},
};

static const OptionGroup scheme_group = {"Schemes", 1, scheme_options};
static const OptionGroup output_group = {"Output", 0, output_options};
static const OptionGroup *const groups[] = {&scheme_group, &output_group, NULL};

static const char *const columns[] = {
    "scheme",      "stages",
    "evals_F",     "evals_G",
    "past_y",      "past_k",
    "exact",       "consistent",
    "order",       "zero_stable",
    "real_limit",  "imag_limit",
    "error_norm2", "error_norm2_one_colour",
};

static int add_row(Report *r, int degree, const Table *scheme, int words)
{
    Theory theory;
    double real, imag;
    TRY(theory_search(scheme, degree, &theory));
    select_warn_times(scheme);
    if (!scheme->exact && words)
        progress_note(
            "%s has decimals or roots: the conditions of its order hold to %.2g, and below "
            "%.0e counts as met",
            scheme->name, theory.residual, theory.bound);
    Table *t = table_freeze(scheme);
    if (!t) return ERR_MEMORY;
    int code = stability_limits(t, &real, &imag);
    table_free(t);
    TRY(code);
    report_text(r, scheme->name);
    report_size(r, scheme->flows ? scheme->flows : scheme->stages);
    report_size(r, table_evals(scheme, OP_F));
    report_size(r, table_evals(scheme, OP_G));
    report_size(r, (uint64_t)scheme->past_y);
    report_size(r, (uint64_t)scheme->past_k);
    report_flag(r, scheme->exact);
    report_flag(r, theory.consistent);
    report_size(r, (uint64_t)theory.order);
    report_flag(r, theory.zero_stable);
    report_real(r, real, 7);
    report_real(r, imag, 7);
    report_real(r, theory.error_norm2, 6);
    report_real(r, theory.error_norm2_one_colour, 6);
    return 0;
}

static int fill(Report *r, const Selection *s, size_t degree, int words)
{
    for (size_t i = 0; i < s->count; i++) TRY(add_row(r, (int)degree, s->scheme[i], words));
    return 0;
}

static int save(const Report *r, const char *dir)
{
    TRY(output_directory(dir));
    TRY(output_report(r, REPORT_CSV, dir, "schemes.csv"));
    return output_report(r, REPORT_MARKDOWN, dir, "schemes.md");
}

static int print_texts(const Selection *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (i) putchar('\n');
        TRY(table_print(s->scheme[i], stdout));
    }
    return 0;
}

static int show_structure(const Options *o, const Selection *s)
{
    Report *r = NULL;
    int csv = options_flag(o, "csv"), code = 0;
    const char *dir = options_text(o, "out");
    TRY(structure_report(s, (int)options_size(o, "degree"), &r));
    if (!csv)
        printf("%sTrees and brackets are compared up to order %zu.\n\n", structure_words,
               options_size(o, "degree"));
    code = report_write(r, csv ? REPORT_CSV : REPORT_PLAIN, stdout);
    if (code == 0 && dir) code = output_directory(dir);
    if (code == 0 && dir) code = output_report(r, REPORT_CSV, dir, "structure.csv");
    if (code == 0 && dir) code = output_report(r, REPORT_MARKDOWN, dir, "structure.md");
    report_free(r);
    return code;
}

static int show(const Options *o, const Selection *s)
{
    if (options_flag(o, "print")) return print_texts(s);
    if (options_flag(o, "structure")) return show_structure(o, s);
    Report *r = NULL;
    TRY(report_new(sizeof columns / sizeof *columns, columns, &r));
    int csv = options_flag(o, "csv");
    int code = fill(r, s, options_size(o, "degree"), !csv);
    if (code == 0 && !csv) {
        printf(
            "order p means local error h^(p+1); trees compared up to order %zu; limits: ends of "
            "the\nstability interval from 0; error_norm2: squared norm of the h^(p+1) terms in two "
            "colours, F and\nG; error_norm2_one_colour: in the one colour F + G, where every stage "
            "is H\n\n",
            options_size(o, "degree"));
    }
    if (code == 0) code = report_write(r, csv ? REPORT_CSV : REPORT_PLAIN, stdout);
    if (code == 0 && options_text(o, "out")) code = save(r, options_text(o, "out"));
    report_free(r);
    return code;
}

static int run(Options *o)
{
    Selection s;
    TRY(options_either(o, "print", "structure"));
    TRY(options_either(o, "print", "csv"));
    TRY(select_open(o, "exact", &s));
    int code = show(o, &s);
    select_close(&s);
    return code;
}

const Command command_schemes = {
    .name = "schemes",
    .purpose = "list schemes with their order and stability",
    .about = "Reads each scheme's table: stages, evaluations, history, exact order from "
             "two-coloured trees,\n"
             "root condition, stability limits. A splitting without suffix has exact sub-flows.\n"
             "Order p means local error h^(p+1), global error h^p; 0: not consistent.\n",
    .groups = groups,
    .run = run,
};
