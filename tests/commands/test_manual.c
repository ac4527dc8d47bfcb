/* test_manual.c: man pages say the words of --help all, and roff takes all of their text as text, whatever is in it; bash
 * completes commands, options and values. The commands are those that the program lists. */
#include "studies/page/manual/manual.h"
#include "studies/base/help.h"
#include "tests/lib/program.h"

static const char *const escapes[][2] = {
    {"\\-", "-"},   {"\\e", "\\"},  {"\\&", ""},     {"\\:", ""},  {"\\(aq", "'"}, {"\\(ga", "`"},
    {"\\(ha", "^"}, {"\\(ti", "~"}, {"\\(dq", "\""}, {"\\fI", ""}, {"\\fP", ""},
};
enum { ESCAPES = sizeof escapes / sizeof *escapes };

/* Returns the text that the escape at the beginning of `text` stands for, and its length. NULL: a page has no use for
 * it. */
static const char *escaped(const char *text, size_t *length)
{
    for (size_t i = 0; i < ESCAPES; i++) {
        *length = strlen(escapes[i][0]);
        if (strncmp(text, escapes[i][0], *length) == 0) return escapes[i][1];
    }
    return NULL;
}

/* Writes a line of a page to `to` without escapes, macros and the quotes that roff takes away; a title of options
 * ends with a colon, as in --help. Returns the end, or NULL where roff would take a part of it for an instruction. */
static char *plain_line(const char *line, size_t n, char *to)
{
    static const char macros[] = " SS PP TP B BI BR EX EE ";
    const char *end = line + n, *words;
    size_t length;
    int title = strncmp(line, ".SS ", 4) == 0;
    if (n > 0 && *line == '.') {
        size_t name = strcspn(line, " \n");
        if (!strstr(macros, formed(" %.*s ", (int)name - 1, line + 1))) return NULL;
        line += name;
    } else if (n > 0 && *line == '\'')
        return NULL;
    for (; line < end; line += length) {
        length = 1;
        words = *line == '\\' ? escaped(line, &length) : *line == '"' ? "" : NULL;
        if (!words && *line == '\\') return NULL;
        to = words ? stpcpy(to, words) : (*to = *line, to + 1);
    }
    return stpcpy(to, title ? ":\n" : "\n");
}

/* Returns the words of DESCRIPTION and the sections after it, without titles. NULL: the page is not sound. */
static char *page_words(const char *page)
{
    const char *at = strstr(page, ".SH DESCRIPTION\n"), *end = strstr(page, ".SH EXIT STATUS\n");
    char *text = kept_text(malloc(strlen(page) + 64)), *to = text;
    assert_true(at && end && at < end);
    for (at += strlen(".SH DESCRIPTION\n"); to && at < end; at += strcspn(at, "\n") + 1)
        if (strncmp(at, ".SH ", 4) != 0) to = plain_line(at, strcspn(at, "\n"), to);
    return to ? *to = '\0', text : NULL;
}

/* Compares two texts but for the kind and number of blanks. Blanks behind a comma do not count, as a list of names may
 * be broken there. */
static int same_words(const char *a, const char *b)
{
    static const char blank[] = " \n";
    char last = ',';
    for (;;) {
        size_t before_a = strspn(a, blank), before_b = strspn(b, blank);
        a += before_a, b += before_b;
        int parted = before_a != 0 && *a, same = (before_b != 0 && *b) == parted;
        if (*a != *b || (!same && last != ',')) return 0;
        if (!*a) return 1;
        last = *a;
        a++, b++;
    }
}

/* Returns whether a page says what the help says after usage and purpose. */
static int page_agrees(const char *page, const char *help)
{
    const char *about = strstr(help, "\n\n");
    const char *words = page_words(page);
    return words && about && same_words(words, about);
}

/* Reads the next command of an overview and returns the place after it. NULL: there is no more. */
static const char *next_command(const char *at, char name[32], char purpose[256])
{
    if (sscanf(at, "  %31[a-z0-9] %255[^\n]", name, purpose) != 2) return NULL;
    return strchr(at, '\n') + 1;
}

static void must_see(const char *page, const char *help, const char *from, const char *to)
{
    const char *at = strstr(page, from);
    assert_non_null(at);
    const char *bad =
        WRITTEN(f, fprintf(f, "%.*s%s%s", (int)(at - page), page, to, at + strlen(from)));
    if (page_agrees(bad, help)) fail_msg("'%s' in the place of '%s' is not seen", to, from);
}

TEST(pages_say_what_help_says)
{
    char name[32], purpose[256], list[8192] = "Usage\n\n" TROTTER_USE;
    int count = 0;
    run_ok("manual --out man");
    assert_int_equal(program_run("--help"), 0);
    char *help_text = kept_text(strdup(out));
    char *overview = file_slurp("man/trotter.1", NULL);
    const char *line = strstr(help_text, "Commands:\n") + strlen("Commands:\n");
    for (; (line = next_command(line, name, purpose)); count++) {
        char *page = file_slurp(formed("man/trotter-%s.1", name), NULL);
        run_ok("%s --help all", name);
        if (!page_agrees(page, out)) fail_msg("the page of '%s' is not its help", name);
        sprintf(list + strlen(list), "trotter-%s (1) %s\n", name, purpose);
        /* only commands that save have status 130 */
        int saves = strcmp(name, "train") == 0 || strcmp(name, "compare") == 0;
        if (saves || strcmp(name, "schemes") == 0)
            assert_int_equal(strstr(page, "130 interrupted and saved.\n") != NULL, saves);
        if (strcmp(name, "schemes") == 0) {
            must_see(page, out, ".TP\n.B \"\\-\\-print\"\nprint the texts of the schemes instead\n",
                     "");
            must_see(page, out, "up to this order", "up to that order");
            must_see(page, out, ".TP\n", ".tp\n");
            must_see(page, out, "\\-\\-csv", "\\csv");
        }
    }
    assert_true(count > 10);
    const char *saved = strstr(help_text, "130 interrupted and saved (");
    assert_true(saved && strstr(saved, "train, ") && !strstr(saved, "schemes"));
    if (!page_agrees(overview, list)) fail_msg("trotter(1) is not '%s'", list);
}

static const Option odd_options[] = {
    {"odd", OPTION_CHOICE, ".a", ".a|'b|\\c", ".SH no heading", 0, 0},
    {"list", OPTION_LIST, NULL, "\"A\" B,...", "'br no break \\fBnor bold\\n", 0, 0},
    {0},
};
static const OptionGroup odd_group = {".Odd", 0, odd_options};
static const OptionGroup *const odd_groups[] = {&odd_group, NULL};
static const Command odd = {
    .name = "odd",
    .purpose = "\"odd\" .words",
    .about = ".SH no heading\n'tis a \\ and \\\\(em, ^ ~ ` \"\n\nan example:\n\n.dot\n    .ds x\n  "
             "  'so /x\n",
    .example = "\"'x'\" \\",
    .groups = odd_groups,
};
static const Command *const odd_table[] = {&odd, NULL};

TEST(odd_text_is_text)
{
    char *page = WRITTEN(f, manual_page(&odd, odd_table, f)),
         *help = WRITTEN(f, assert_int_equal(help_print(&odd, odd_groups, "all", f), 0));
    file_text("odd.1", page);
    if (!page_agrees(page, help)) fail_msg("not the words of its help: %s", page);
}

/* Returns what a line of the shell prints in the folder, stderr too. */
static const char *said(const char *line)
{
    assert_int_equal(shell("{ %s ; } 2>&1", line), 0);
    return out;
}

static void must_say(const char *line, const char *wanted)
{
    if (strcmp(said(line), wanted) != 0) fail_msg("%s: '%s', not '%s'", line, out, wanted);
}

TEST(groff_has_no_warning)
{
    need_tool("groff");
    odd_text_is_text(state);
    run_ok("manual --out man");
    must_say("groff -man -ww -Tutf8 -z man/*.1 odd.1", "");
    const char *text = said("sed 's/^\\.TP/.odd/' man/trotter.1 | groff -man -ww -Tutf8 -z");
    assert_non_null(strstr(text, "odd")); /* it looks */
    text = said("GROFF_NO_SGR=1 groff -man -Tascii -P-cbou odd.1");
    static const char *const words[] = {"--odd .a|'b|\\c",
                                        ".SH no heading (default .a)",
                                        "--list \"A\" B,...",
                                        "'br no break \\fBnor bold\\n",
                                        "'tis a \\ and \\\\(em, ^ ~ ` \"",
                                        "           'so /x"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(text, words[i])) fail_msg("'%s' is not on the page: %s", words[i], text);
}

/* Pages made of texts that stand elsewhere: the languages, and every function of the header by its name. */
TEST(other_pages)
{
    char root[1024];
    need_tool("groff");
    assert_non_null(getcwd(root, sizeof root));
    run_ok("manual --out man");
    must_say(
        formed(
            "ln -s '%s' src; mkdir man3; awk -v version=1 -f src/studies/page/manual/schemes.awk src/ode/scheme/README.md >schemes.5; "
            "awk -v version=1 -v dir=man3 -f src/studies/api/library/functions.awk src/studies/api/library/trotter.h",
            root),
        "");
    must_say("groff -man -ww -Tutf8 -z man/trotter-systems.5 schemes.5 man3/*.3", "");
    assert_non_null(strstr(said("cat man/trotter-systems.5"), "y[i+1]"));
    must_say("grep -c '^.fBk3 = phi1(1/2 F)(k1 + k2).fP$' schemes.5", "1\n");
    must_say(
        "sed -n 's/^[a-z].*\\(trotter_[a-z_]*\\)(.*/\\1.3/p' src/studies/api/library/trotter.h | sort >named; "
        "ls man3 | LC_ALL=C sort >pages; LC_ALL=C sort named | cmp - pages && grep -c scheme_read pages",
        "1\n");
}

TEST(bash_completes)
{
    static const struct {
        const char *words, *wanted;
    } lines[] = {
        {"tru", "truncation"},
        {"help ord", "order"},
        {"train --sch", "--scheme --scheme-file --schedule"},
        {"train --csv --res", "--resume"},
        {"train --positions ''", "none sinusoid relative both learned rotary"},
        {"train --positions = ''", "none sinusoid relative both learned rotary"},
        {"train --positions = r", "relative rotary"},
        {"train --positions =", "none sinusoid relative both learned rotary"},
        {"train --corpus ''", ""},
        {"train --corpus -", ""},
        {"plot order.c", ""},
        {"schemes --scheme yo", "yoshida4"},
        {"schemes --scheme rk4,yo", "rk4,yoshida4"},
        {"solve --system = pro", "prothero-robinson"},
        {"verify --claim lie-error,strang-le", "lie-error,strang-leading"},
        {"stability --positions ''",
         "--scheme --scheme-file --split --order-star --function --box --points --csv --out --figure --help"},
    };
    need_tool("bash");
    run_ok("manual --out man");
    must_say("bash -n man/trotter.bash", "");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *line =
            formed("bash -c '. man/trotter.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); "
                   "_trotter; echo \"${COMPREPLY[*]}\"' bash %s %s",
                   program, lines[i].words);
        char wanted[256];
        snprintf(wanted, sizeof wanted, "%s\n", lines[i].wanted);
        must_say(line, wanted);
    }
}

TEST_MAIN(program_open_drawn, program_close)
