/* check_table.c: the tableaus of other programs' sources, each with the order that its source declares and the one that it
 * has. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "ode/scheme/print.h"
#include "studies/theory/theory_study.h"

typedef struct {
    const char *file, *table, *verdict, *repair;
    size_t line;
    int declared, order, declared_embedded, embedded;
    double fails_by;
} CheckRow;

const Column check_columns[] = {
    COLUMN(CheckRow, file),
    COLUMN(CheckRow, line, .words = "where the table begins, or is made"),
    COLUMN(CheckRow, table, .words = "name of the table in the source"),
    COLUMN(CheckRow, declared, .words = "order that the source declares"),
    COLUMN(CheckRow, order, .words = "order that the table has, to the rounding of its numbers"),
    COLUMN(CheckRow, declared_embedded, .sparse = 1,
           .words = "order that the source declares of the embedded method"),
    COLUMN(CheckRow, embedded, .sparse = 1, .words = "order that the embedded method has"),
    COLUMN(CheckRow, fails_by, .digits = 3,
           .words = "the largest miss of a condition of the order above that which it has"),
    COLUMN(
        CheckRow, verdict,
        .words =
            "agree; less: it declares less than it has; more: it declares more than it has; digits: so it does, by "
            "less than 1e-9; none: it declares nothing; refused: repair has the reason"),
    COLUMN(CheckRow, repair, .sparse = 1,
           .words = "the change of one or two numbers with which the declared order holds"),
    {0}};

enum { REPAIR_WORDS = 400 };
/* A smaller miss is one of the last digits of coefficients, which no order shows. */
#define ROUNDED 1e-9

/* Writes "a54: -845/4140 -> -845/4104" of the first repair of a table's text, "" where there is none. */
static int find_repair(const Table *t, int order, char words[REPAIR_WORDS])
{
    char *text = NULL;
    size_t bytes, n = 0;
    FILE *f = open_memstream(&text, &bytes);
    if (!f) return ERR_MEMORY;
    int code = table_print(table_whole(t), f);
    if (fclose(f) != 0) code = ERR_MEMORY;
    SCOPED(repair_free) Repair r = {0};
    words[0] = '\0';
    if (code == 0) code = repair_find(t->name, text, bytes, order, &r);
    free(text);
    if (code == ERR_INPUT) return 0; /* an order above those that are repaired */
    TRY(code);
    if (r.candidates == 0 || r.reached) return 0;
    const RepairCandidate *c = &r.candidate[0];
    for (size_t k = 0; k < c->unknowns && n < REPAIR_WORDS; k++)
        n += (size_t)snprintf(words + n, REPAIR_WORDS - n, "%s%s: %s -> %s", k ? "; " : "",
                              r.name[c->coefficient[k]],
                              r.coefficients.list[c->coefficient[k]].word, c->misprint[k].text);
    if (r.candidates > 1 && n < REPAIR_WORDS)
        snprintf(words + n, REPAIR_WORDS - n, " (or %zu others)", r.candidates - 1);
    return 0;
}

static const char *verdict(const CheckRow *row)
{
    int digits = row->fails_by < ROUNDED;
    if (row->declared < 0) return "none";
    if (row->order < row->declared) return digits ? "digits" : "more";
    if (row->declared_embedded >= 0 && row->embedded < row->declared_embedded) return "more";
    return row->order > row->declared ? "less" : "agree";
}

static int check(const SourceTable *s, CheckRow *row, char words[REPAIR_WORDS])
{
    Theory th;
    Embedded e;
    /* Higher conditions take minutes, of decimals, and what is declared is what counts. */
    int most = row->declared > 8 ? row->declared : row->declared > 0 ? row->declared + 1 : 6;
    progress_show("order of %s", s->name);
    if (most > CONDITIONS_MAX) most = CONDITIONS_MAX;
    TRY(theory_search(s->table, most, &th));
    TRY(theory_embedded(s->table, most, &e));
    row->order = th.order;
    row->embedded = s->table->pair ? e.order : -1;
    row->fails_by = th.missed;
    row->verdict = verdict(row);
    if (strcmp(row->verdict, "more") != 0) return 0;
    if (row->order < row->declared && row->embedded >= row->declared) {
        row->repair = "its two rows of weights are interchanged";
        return 0;
    }
    TRY(find_repair(s->table, row->declared, words));
    row->repair = words;
    return 0;
}

/* Adds the tables of a file; more += those that declare more than they have, refused += those that are not read. */
static int check_file(const char *file, Sheet *r, size_t *more, size_t *refused)
{
    SCOPED(memory_drop) char *text = NULL;
    SourceTable *list;
    size_t bytes, count;
    if (!source_is(file))
        return error_set(ERR_INPUT,
                         "%s: --check reads sources whose names end with .c, .h, .def, .cpp, .hpp, "
                         ".jl or .py; others are checked with --repair",
                         file);
    TRY(output_read(file, &text, &bytes));
    int code = source_read(file, text, bytes, &list, &count);
    if (code == 0 && count == 0) notice_warn("%s: no tableau is found in it", file);
    for (size_t i = 0; i < count && code == 0; i++) {
        char words[REPAIR_WORDS] = "";
        CheckRow row = {.file = file,
                        .table = list[i].name,
                        .line = list[i].line,
                        .declared = list[i].order ? list[i].order : -1,
                        .declared_embedded = list[i].embedded ? list[i].embedded : -1,
                        .order = -1,
                        .embedded = -1,
                        .fails_by = NAN,
                        .verdict = "refused",
                        .repair = list[i].refused};
        if (list[i].table) row.repair = NULL, code = check(&list[i], &row, words);
        *more += strcmp(row.verdict, "more") == 0;
        *refused += !list[i].table;
        if (code == 0) sheet_row(r, &row);
    }
    source_free(list, count);
    return code;
}

int check_tell(const Options *o)
{
    SCOPED(sheet_drop) Sheet *r = NULL;
    size_t more = 0, refused = 0, files = 0;
    TRY(sheet_new(check_columns, &r));
    if (options_rank(o, "scheme") != OPTION_DEFAULT)
        return error_set(ERR_INPUT, "expected --check or --scheme, not both");
    for (const char *file; (file = options_item(o, "file", files)) != NULL; files++)
        TRY(check_file(file, r, &more, &refused));
    progress_clear();
    if (files == 0)
        return error_set(ERR_INPUT, "--check: expected files of other programs: --check FILE...");
    if (sheet_rows(r) == 0)
        return error_set(ERR_INPUT,
                         "--check: no tableau is found in what was given, so nothing is checked");
    TRY(output_shown(r, options_flag(o, "csv"), options_text(o, "out"), "check"));
    if (refused) notice_warn("%zu table(s) are not read", refused);
    if (more == 0) return 0;
    return error_set(ERR_CHECK, "%zu table(s) declare a higher order than they have", more);
}
