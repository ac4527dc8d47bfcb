/* command_report.c: puts all studies of a directory on one self-contained page. */
#include <stdlib.h>
#include <string.h>

#include "studies/base/command.h"
#include "studies/page/report/report.h"

static int write_page(const Found *found, const char *title, const char *path)
{
    Output o;
    TRY(output_open(&o));
    Summary s = {.found = found, .f = o.f};
    int code = summary_write(&s, title);
    if (code == 0 && memory_refused()) /* what was left out for that is not broken */
        code = error_set(ERR_MEMORY, "out of memory: the page would not be whole");
    TRY(output_end(&o, code, path));
    progress_note("%zu studies, %zu tables, %zu plots; left out: %zu files; %s", found->studies,
                  s.tables, s.figures, s.refused + found->outside, path);
    return 0;
}

static int report_on(const char *dir, const char *title, const char *path)
{
    char usual[OUTPUT_PATH + 16], *real = realpath(dir, NULL);
    SCOPED(found_free) Found found = {0};
    /* Takes only the last part of the path: the page is shown to others, who need not know where the directory lies. */
    snprintf(usual, sizeof usual, "Studies in %s", real ? strrchr(real, '/') + 1 : dir);
    free(real);
    TRY(output_check_file(path));
    TRY(found_search(dir, path, &found));
    if (found.studies) return write_page(&found, title ? title : usual, path);
    return error_set(ERR_INPUT, "%s: no study in it that a command of trotter wrote", dir);
}

static int run(Options *o)
{
    char dir[OUTPUT_PATH], path[OUTPUT_PATH];
    const char *given = options_text(o, "dir"), *out = options_text(o, "out");
    if (!given || !*given)
        return error_set(ERR_INPUT, "say of which directory: trotter report DIR");
    TRY(output_path(path, given, "report.html")); /* checks the length */
    snprintf(dir, sizeof dir, "%s", given);
    for (size_t n = strlen(dir); n > 1 && dir[n - 1] == '/'; n--) dir[n - 1] = '\0';
    TRY(output_path(path, dir, "report.html"));
    return report_on(dir, options_text(o, "title"), out ? out : path);
}

const Command command_report = {
    .name = "report",
    .purpose = "write one HTML page of all studies in a directory",
    .about =
        "Searches DIR and all below it for what the other commands wrote with --out (or --csv into a file), which it\n"
        "recognises by the names of columns. It writes one page that needs no other file: verdicts, plots, tables,\n"
        "what their columns hold, and the commands that made them (commands.csv). A comparison's trainings are rows\n"
        "of its runs.csv. Files that are broken are left out, each with a line that says why. The same files give the\n"
        "same page.\n"
        "\n"
        "Numbers have the digits of the commands' own tables, and formulas are typeset (MathML). Tables wrap, and on\n"
        "a phone rows become blocks. A print loses nothing: folded parts open, and wide tables are on landscape\n"
        "pages.\n",
    .example = "out",
    .faster = "a directory with less in it",
    .groups = GROUPS(
        OPTION_GROUP(
            "Input", 1,
            {"dir", OPTION_TEXT, NULL, "DIR", "directory of results; all below it is searched too"},
            {"title", OPTION_TEXT, NULL, "TEXT",
             "heading of the page (default: Studies in NAME, where NAME is DIR's last part)"}),
        OPTION_GROUP(
            "Output", 0,
            {"out", OPTION_TEXT, NULL, "FILE", "file to write (default: DIR/report.html)"})),
    .operand = "dir",
    .one_file = 1,
    .run = run,
};
