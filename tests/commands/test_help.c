/* test_help.c: the help of every command of the table is a screen, with an example that the command takes and options
 * that it has; `--help all` has all options; `--help WORD` has those with the word, and no word is lost. */
#include "studies/base/help.h"
#include "studies/commands.h"
#include "tests/lib/program.h"

enum { LINES = 40, COLUMNS = 80 };

/* Returns what is printed for a word, "" where nothing has it. */
static char *help_of(const Command *c, const char *word)
{
    int code;
    char *text = WRITTEN(f, code = help_print(c, c->groups, word, f));
    assert_int_equal(code, *text ? 0 : ERR_INPUT);
    return text;
}

static int has_option(const char *help, const char *name, size_t n)
{
    const char *line = formed("\n  --%.*s", (int)n, name);
    for (const char *at = help; (at = strstr(at, line)); at++)
        if (strchr(" \n", at[strlen(line)])) return 1;
    return 0;
}

/* Returns whether a help is a screen, whose lines that begin further left than `verbatim` fit. */
static int fits(const char *help, int lines, size_t verbatim)
{
    for (size_t n; *help; help += n + 1, lines--) {
        n = strcspn(help, "\n");
        if (n > COLUMNS && strspn(help, " ") < verbatim) return 0;
    }
    return lines >= 0;
}

static int is_screen(const Command *c, const char *help)
{
    char *all = help_of(c, "all");
    const char *example = formed("\nExample:\n  trotter %s ", c->name);
    int good = fits(help, LINES, COLUMNS) && strstr(help, example) &&
               strcmp(last_line(help),
                      formed("--help all shows all %d options, --help WORD those that match.\n",
                             count_words(all, "\n  --"))) == 0;
    for (const char *at = help; good && (at = strstr(at, "\n  --")); at++)
        good = has_option(all, at + 5, strcspn(at + 5, " \n"));
    return good;
}

/* Parses the example, without redirections; what it chooses to do must have its options. */
static void run_example(const Command *c)
{
    run_ok("%s %.*s --help all", c->name, (int)strcspn(c->example, "<"), c->example);
    for (const char *at = c->example; (at = strstr(at, "--")); at += 2)
        if (!has_option(out, at + 2, strcspn(at + 2, " "))) fail_msg("%s: %s", c->name, at);
}

TEST(test_every_command)
{
    for (const Command *const *c = command_table; *c; c++) {
        char *help = help_of(*c, HELP_SCREEN), *all = help_of(*c, "all");
        if (!is_screen(*c, help)) fail_msg("%s --help is no screen: %s", (*c)->name, help);
        if (!fits(all, 1000, 2)) fail_msg("%s --help all has a wide line", (*c)->name);
        for (const char *name = (*c)->often; name && *name; name += strspn(name, " ")) {
            size_t n = strcspn(name, " ");
            if (!has_option(help, name, n)) fail_msg("%s has no --%s", (*c)->name, name);
            name += n;
        }
        run_example(*c);
    }
}

/* A word of an option's name, of its text, and of a paragraph. */
TEST(test_word)
{
    for (const Command *const *c = command_table; *c; c++)
        for (const OptionGroup *const *g = (*c)->groups; *g; g++)
            for (const Option *o = (*g)->option; o->name; o++) {
                char *found = help_of(*c, o->name), *words = help_of(*c, o->help);
                if (!has_option(found, o->name, strlen(o->name)) ||
                    !has_option(words, o->name, strlen(o->name)))
                    fail_msg("%s --help %s: %s", (*c)->name, o->name, found);
            }
    char *found = help_of(&command_order, "PI CONTROL; gustafsson"); /* across lines */
    assert_true(strncmp(found, "With --adaptive every scheme", 28) == 0);
    assert_int_equal(count_words(found, "\n\n"), 0);
    found = help_of(&command_order, "swarm.txt"); /* with the example below it */
    assert_non_null(strstr(found, "\n    h0 1/8\n"));
}

TEST(test_columns)
{
    static const char *const columns[] = {"1", "40", "200", "9999", "wide"};
    static const size_t longest[] = {40, 40, 200, 200, 80};
    for (size_t i = 0; i < sizeof longest / sizeof *longest; i++) {
        setenv("COLUMNS", columns[i], 1);
        char *text = help_of(&command_order, "unstable_from");
        size_t most = 0;
        for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
            if (strcspn(at, "\n") > most) most = strcspn(at, "\n");
        assert_true(most <= longest[i] && most + 16 > longest[i]);
    }
    unsetenv("COLUMNS");
}

TEST(test_command_line)
{
    run_ok("train --help=RATE");
    assert_true(has_option(out, "rate", 4) && !has_option(out, "layers", 6));
    char *same = kept_text(strdup(out));
    run_ok("train --layers 2 -h rate --csv");
    assert_string_equal(out, same);
    run_ok("help train learning-rate"); /* another name of it */
    assert_true(has_option(out, "rate", 4) && !strstr(out, "Usage"));
    must_print("help train all", "Usage: trotter train");
    static const char *const lines[] = {"t-whole", "end = ...", "small 1e-6",
                                        "0 = y1"}; /* of system files */
    for (int i = 0; i < 4; i++) must_print(formed("order --help '%s'", lines[i]), lines[i]);
    must_refuse("train --help shedule",
                "nothing has 'shedule'; the nearest option is '--schedule'");
    must_refuse("train --help qqqqqq", "nothing has 'qqqqqq'; --help all shows all options");
    must_refuse("bench theory --help beams", "nothing has 'beams'; "); /* of another bench */
    must_refuse("train --help=", "expected a text");
}

#define WORDS "words and more words and again words and then some more words of them "
static Option rows[] = {{"long", OPTION_TEXT, NULL, "X", "short", 0, 0}, {0}};
static const OptionGroup group = {"Long", 0, rows};
static const OptionGroup *const groups[] = {&group, NULL};

static int odd_is_screen(const char *values, const char *help, const char *often)
{
    const Command odd = {"odd", "odd", "About.\n", often, "--long 1", groups};
    rows[0].values = values;
    rows[0].help = help;
    char *text = help_of(&odd, HELP_SCREEN);
    int good = is_screen(&odd, text);
    return good;
}

TEST(test_long_row_is_seen)
{
    static const char lines[] = WORDS WORDS WORDS WORDS WORDS WORDS WORDS WORDS;
    assert_true(odd_is_screen("X", "short", NULL) && odd_is_screen("X", "short", "long"));
    assert_true(odd_is_screen("X", lines, NULL));
    assert_false(odd_is_screen("X", lines, "long long long long"));
    assert_false(
        odd_is_screen("a-value-of-many-letters|and-another-one-that-makes-a-line-too-wide-by-far",
                      "short", NULL));
    assert_false(
        fits("an-option's-words-without-a-blank-or-a-comma-go-beyond-the-end-of-the-line-by-1\n"
             "2\n",
             1, COLUMNS));
}

TEST_MAIN(program_open, program_close)
