/* test_gallery.c: `make gallery`: the program takes every command of its text, and the script makes a page of the pictures
 * or stops where there is none. */
#include "tests/lib/test.h"

#include "studies/commands.h"
#include "tests/lib/program.h"

static const char *const text = "studies/scripts/gallery.txt";

/* Takes the part of a line up to " | " or its end. */
static char *take(char **line)
{
    char *part = *line, *end = part ? strstr(part, " | ") : NULL;
    *line = end ? end + 3 : NULL;
    if (end) *end = '\0';
    return part;
}

static const Command *find(const char *name)
{
    size_t i = 0;
    while (command_table[i] && strcmp(command_table[i]->name, name) != 0) i++;
    return command_table[i];
}

/* Returns whether a command draws a picture of this name. */
static int draws(const Command *c, const char *picture)
{
    for (const Kind *k = c->kinds; k && k->command; k++)
        for (const KindPlot *p = k->plot; p->file; p++) {
            size_t n = strcspn(p->file, "*");
            if (strncmp(p->file, picture, n) == 0 && (p->file[n] || !picture[n])) return 1;
        }
    return 0;
}

/* Returns what is wrong with a line; NULL: nothing. */
static const char *wrong(char *line)
{
    char *argv[64] = {NULL}, *picture = take(&line), *command = take(&line), *caption = take(&line);
    int argc = 0;
    Options *o = NULL;
    if (!caption || line || !*caption) return "expected FOLDER/PICTURE | command | caption";
    for (char *word = strtok(command, " "); word && argc < 64; word = strtok(NULL, " "))
        argv[argc++] = word;
    const Command *c = argc > 1 && strcmp(argv[0], "trotter") == 0 ? find(argv[1]) : NULL;
    if (!c) return "no command of trotter";
    if (!strchr(picture, '/') || !draws(c, strchr(picture, '/') + 1)) return "no such picture";
    int code = options_new(c->groups, &o);
    if (code == 0) code = options_arguments(o, argc - 1, argv + 1);
    if (code == 0 && options_rank(o, "out") != OPTION_DEFAULT) code = error_set(ERR_INPUT, "--out");
    options_free(o);
    return code == 0 ? NULL : error_text();
}

static const char *wrong_copy(const char *line)
{
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", line);
    return wrong(copy);
}

TEST(test_lines)
{
    char line[4096];
    int lines = 0;
    FILE *f = fopen(text, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#') continue;
        const char *why = wrong_copy(line);
        if (why) fail_msg("%s: %s", line, why);
        lines++;
    }
    fclose(f);
    assert_true(lines >= 20);
    assert_null(wrong_copy("a/order | trotter order --scheme rk4 | Errors."));
    static const char *const bad[] = {"a/order | trotter order --scheme rk4",
                                      "a/order | trotter order --schema rk4 | Errors.",
                                      "a/orders | trotter order --scheme rk4 | Errors.",
                                      "a/order | trotter order --halvings 99 | Errors.",
                                      "a/order | trotter orders | Errors.",
                                      "a/order | trotter order --out x | Errors."};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_non_null(wrong_copy(bad[i]));
}

/* A page has each line's picture, caption and command; two lines of one folder run once. */
TEST_DRAWN(test_page)
{
    char root[PATH_MAX];
    need_tool("gnuplot");
    assert_non_null(getcwd(root, sizeof root));
    file_text("good.txt",
              "# two pictures\n"
              "a/order | trotter order --system linear --scheme rk4 --halvings 4 | a < b & c\n"
              "a/work | trotter order --system linear --scheme rk4 --halvings 4 | Work.\n");
    shell_ok("sh %s/studies/scripts/gallery.sh %s good.txt gallery 2>log", root, program);
    shell_ok(
        "test -s gallery/a-order.svg && test -s gallery/a-work.svg && test $(grep -c 'trotter order' log) = 1");
    HAS(file_slurp("gallery/index.html", NULL),
        "<figure><img src=\"a-order.svg\" alt=\"a &lt; b &amp; c\">",
        "<span>trotter order</span> <span>--system linear</span>");
    file_text("bad.txt",
              "a/order | trotter order --system linear --scheme rk5 --halvings 4 | None.\n");
    assert_int_equal(shell("sh %s/studies/scripts/gallery.sh %s bad.txt none", root, program), 1);
    HAS(err,
        "make gallery: trotter order --system linear --scheme rk5 --halvings 4: trotter order: ");
    file_text("bad.txt",
              "a/none | trotter order --system linear --scheme rk4 --halvings 4 | None.\n");
    assert_int_equal(shell("sh %s/studies/scripts/gallery.sh %s bad.txt none", root, program), 1);
    HAS(err, "leaves no a/none.svg");
    shell_ok("test ! -e none/index.html");
}

TEST_MAIN(program_open, program_close)
