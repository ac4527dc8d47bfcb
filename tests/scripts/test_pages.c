/* test_pages.c: the commands of pages print what the pages say. A page's command is a line "$ ..." of a fenced block, with a
 * backslash where it goes on, or to the end of its here-document; what it prints follows. A line "..." there is any number of lines, one that
 * ends in " ..." any more words, and numbers may differ in their last digits. Blocks of Python, which begin with ">>>", are test_library's. To hold a page to it, add its row. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

enum { TEXT = 1 << 16 };

/* ---- what a command prints ---------------------------------------------------------------------------- */

static int same_word(const char *said, const char *is)
{
    char *a, *b;
    double x = strtod(said, &a), y = strtod(is, &b);
    if (strcmp(said, is) == 0) return 1;
    return !*a && !*b && fabs(x - y) <= 2e-3 * fmax(fabs(x), fabs(y));
}

/* Returns the next word of a line, which ends there with NUL; NULL: there is none. */
static char *next_word(char **at)
{
    *at += strspn(*at, " ");
    if (!**at) return NULL;
    char *word = *at;
    *at += strcspn(*at, " ");
    if (**at) *(*at)++ = '\0';
    return word;
}

static int same_line(const char *said, const char *is)
{
    char a[4096], b[4096], *x = a, *y = b;
    snprintf(a, sizeof a, "%s", said);
    snprintf(b, sizeof b, "%s", is);
    for (;;) {
        char *u = next_word(&x), *v = next_word(&y);
        if (u && strcmp(u, "...") == 0) return 1;
        if (!u || !v) return !u && !v;
        if (!same_word(u, v)) return 0;
    }
}

/* Takes a line of a text, without its end; NULL: there is none. */
static char *next_line(char **at)
{
    char *line = *at;
    if (!line || !*line) return NULL;
    size_t n = strcspn(line, "\n");
    *at = line + n + (line[n] == '\n');
    line[n] = '\0';
    return line;
}

/* Returns the first line of what is said that is not printed; NULL: all is. Both texts are cut in lines. Lines that a page leaves empty, and empty lines
 * that are printed, do not count. */
static const char *missing(char *said, char *is)
{
    int any = 0;
    for (char *line; (line = next_line(&said));) {
        char *printed;
        if (strcmp(line, "...") == 0) any = 1;
        if (strcmp(line, "...") == 0 || !*line) continue;
        while ((printed = next_line(&is)))
            if (*printed && (same_line(line, printed) || !any)) break;
        if (!printed || !same_line(line, printed)) return line;
        any = 0;
    }
    while (!any && (said = next_line(&is)))
        if (*said) return "the end";
    return NULL;
}

/* ---- pages -------------------------------------------------------------------------------------------- */

typedef struct {
    char command[TEXT], said[TEXT], is[sizeof out + sizeof err];
    int count;
} Page;

static void add(char *text, const char *line)
{
    size_t n = strlen(text);
    snprintf(text + n, TEXT - n, "%s\n", line);
}

/* Runs the last command, and holds it to what is said. Where that has no complaint the command succeeds. */
static void run_last(Page *p)
{
    if (!*p->command) return;
    int complains = strncmp(p->said, "trotter ", 8) == 0 || strstr(p->said, "\ntrotter ");
    int status = shell("PATH=$PWD/bin:$PATH; %s", p->command);
    snprintf(p->is, sizeof p->is, "%s%s", err, out);
    if (status != 0 && !complains) fail_msg("status %d: %s\n%s", status, p->command, p->is);
    char kept[TEXT];
    snprintf(kept, sizeof kept, "%s", p->said);
    const char *line = missing(p->said, p->is);
    if (line)
        fail_msg("'%s' of the page is not what this prints: %s\n%s%s", line, p->command, err, out);
    p->count++;
    *p->command = *p->said = '\0';
}

/* Runs the commands of a page; returns how many there are. */
static int run_page(const char *text)
{
    Page *p = calloc(1, sizeof *p);
    char *copy = strdup(text), *at = copy, ends[64] = "";
    int fenced = 0, goes_on = 0;
    assert_true(p && copy);
    for (char *line; (line = next_line(&at));) {
        const char *here = strstr(line, "<<'");
        if (strncmp(line, "```", 3) == 0) {
            run_last(p);
            fenced = !fenced;
        } else if (fenced && (goes_on || *ends)) {
            add(p->command, line);
            if (strcmp(line, ends) == 0) *ends = '\0';
            goes_on = *line && line[strlen(line) - 1] == '\\';
        } else if (fenced && strncmp(line, "$ ", 2) == 0) {
            run_last(p);
            add(p->command, line + 2);
            if (here) sscanf(here, "<<'%63[^']", ends);
            goes_on = line[strlen(line) - 1] == '\\';
        } else if (fenced && *p->command)
            add(p->said, line);
    }
    int count = p->count;
    free(p);
    free(copy);
    return count;
}

/* Fails the test where a picture that a page names, `DIR/NAME.svg`, has no script, which its commands should have written. */
static void check_pictures(const char *text)
{
    char name[256];
    for (const char *at = text; (at = strstr(at, ".svg`")); at++) {
        const char *begin = at;
        while (begin > text && begin[-1] != '`') begin--;
        snprintf(name, sizeof name, "%.*s.gp", (int)(at - begin), begin);
        if (strchr(name, '/') && shell("test -s '%s'", name) != 0)
            fail_msg("no command of the page makes %s", name);
    }
}

static void prepare(void)
{
    shell_ok(
        "mkdir -p bin; printf '#!/bin/sh\\nexec %s \"$@\"\\n' >bin/trotter; chmod +x bin/trotter",
        program);
}

TEST(test_course)
{
    char *page = path_slurp("studies/solve/course.md", NULL);
    assert_non_null(page);
    prepare();
    assert_true(run_page(page) >= 16);
    check_pictures(page);
}

/* What a page may say, and what it may not. */
TEST(test_differences)
{
    static const char is[] = "a  1.000\n\nb 2 3\nc\n";
    static const struct {
        const char *said, *missing;
    } row[] = {{"a 1.000\nb 2 3\nc\n", NULL},
               {"a 1.001\nb 2 ...\n...\n", NULL},
               {"...\nc\n", NULL},
               {"...\n", NULL},
               {"a 1.01\nb 2 3\nc\n", "a 1.01"},
               {"a 1.000\nc\n", "c"},
               {"...\nd\n", "d"},
               {"a 1.000\nb 2 3\n", "the end"},
               {"...\nc\na 1\n", "a 1"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char said[64], printed[64];
        snprintf(said, sizeof said, "%s", row[i].said);
        snprintf(printed, sizeof printed, "%s", is);
        const char *line = missing(said, printed);
        if (row[i].missing)
            assert_string_equal(line, row[i].missing);
        else
            assert_null(line);
    }
    prepare();
    assert_int_equal(
        run_page(
            "```\n>>> 1\n1\n```\n```\n$ echo a \\\nb\na b\n$ cat <<'e'\nx\ne\nx\n```\n$ none\n"),
        2);
}

TEST_MAIN(program_open, program_close)
