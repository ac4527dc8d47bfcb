/* test_terminal.c: tables and lines of progress on terminals of 60, 80 and 200 columns: no line is wider and nothing is
 * lost. Each test has a control that is wider. */
#include <time.h>

#include "tests/lib/test.h"

#include "kernels/base/memory.h"
#include "kernels/base/plain_text.h"
#include "kernels/base/tick.h"
#include "studies/base/progress.h"
#include "studies/base/sheet.h"
#include "studies/base/utf8.h"
#include "tests/lib/terminal.h"

static const size_t widths[] = {60, 80, 200};
enum { WIDTHS = sizeof widths / sizeof *widths };

/* Returns the columns of the widest line of a text. */
static size_t widest(const char *text)
{
    size_t most = 0, n;
    for (; *text; text += n + (text[n] == '\n')) {
        size_t w = utf8_columns(text, n = strcspn(text, "\n"));
        most = w > most ? w : most;
    }
    return most;
}

/* Widths are those of UAX 11 and of Unicode's combining classes. */
TEST(test_columns)
{
    static const struct {
        const char *text;
        size_t columns, fits; /* bytes of its beginning in 3 columns */
    } known[] = {
        {"", 0, 0},
        {"abcd", 4, 3},
        {"\xc3\xa9t\xc3\xa9s", 4, 5},            /* e acute, one character */
        {"e\xcc\x81te\xcc\x81s", 4, 7},          /* the same as two characters */
        {"\xe6\x97\xa5\xe6\x9c\xac", 4, 3},      /* two wide characters */
        {"\xf0\x9f\x98\x80-\xe2\x80\xa6", 4, 5}, /* a wide face */
        {"\xff\xc0zz", 4, 3},                    /* bytes that are no characters */
        {"\xc2\xb1"
         "2.5",
         4, 4},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_int_equal(utf8_columns(known[i].text, SIZE_MAX), known[i].columns);
        assert_int_equal(utf8_fit(known[i].text, 3), known[i].fits);
        assert_int_equal(utf8_fit(known[i].text, 4), strlen(known[i].text));
    }
    assert_int_equal(utf8_columns("\xc3\xa9tude", 2), 1);
}

enum { NUMBERS = 16 };

typedef struct {
    const char *scheme, *words;
    size_t layers;
    double x[NUMBERS];
} Row;

#define NUMBER(i) FIELD(Row, "quantity_" #i, x[i], .digits = 9)
static const Column columns[] = {COLUMN(Row, scheme), COLUMN(Row, layers), NUMBER(0),  NUMBER(1),
                                 NUMBER(2),           NUMBER(3),           NUMBER(4),  NUMBER(5),
                                 NUMBER(6),           NUMBER(7),           NUMBER(8),  NUMBER(9),
                                 NUMBER(10),          NUMBER(11),          NUMBER(12), NUMBER(13),
                                 NUMBER(14),          NUMBER(15),          {0}};
static const Column texts[] = {COLUMN(Row, scheme), COLUMN(Row, words), COLUMN(Row, layers), {0}};

/* One scheme has two depths, so that a row has two names. */
static const char *const scheme[] = {"strang-marchuk:heun", "strang-marchuk:heun",
                                     "\xe6\x97\xa5\xe6\x9c\xac:\xc3\xa9uler"};
enum { ROWS = 3 };
static const char *long_words = "what holds of this design is told in so many words that no "
                                "terminal of eighty columns has them in one line of it";

static const Column *list;
static int form;
static size_t undefined; /* rows whose quantity_3 is NaN */

static void write_sheet(void)
{
    Sheet *s;
    if (sheet_new(list, &s) != 0) _exit(1);
    for (size_t i = 0; i < ROWS; i++) {
        Row r = {.scheme = scheme[i], .words = i ? long_words : "short", .layers = 1 + i};
        for (int k = 0; k < NUMBERS; k++) r.x[k] = -100000000 - 100 * (int)i - k;
        if (i < undefined) r.x[3] = NAN;
        sheet_row(s, &r);
    }
    if (sheet_write(s, form, stdout) != 0) _exit(1);
    sheet_free(s);
}

static void show_sheet(size_t width, const Column *of, int as)
{
    list = of;
    form = as;
    terminal_run(width, write_sheet);
}

/* Each number is there once; each part has the two names, and no other column stands twice. */
TEST(test_parts)
{
    char number[32];
    show_sheet(0, columns, SHEET_PLAIN);
    assert_true(widest(shown) > 200); /* the control: a terminal that knows no width */
    assert_int_equal(count_words(shown, "scheme"), 1);
    for (int w = 0; w < WIDTHS; w++) {
        show_sheet(widths[w], columns, SHEET_PLAIN);
        if (!(widest(shown) <= widths[w])) fail_msg("%zu columns: %s", widest(shown), shown);
        int parts = count_words(shown, "scheme ");
        assert_true(w == 2 ? parts == 2 : parts > 2);
        assert_int_equal(count_words(shown, "  layers"), parts);
        assert_int_equal(count_words(shown, "strang-marchuk:heun       1"), parts);
        assert_int_equal(count_words(shown, "strang-marchuk:heun       2"), parts);
        for (int i = 0; i < ROWS * NUMBERS; i++) {
            snprintf(number, sizeof number, "%d", -100000000 - 100 * (i / NUMBERS) - i % NUMBERS);
            if (count_words(shown, number) != 1) fail_msg("%s in %s", number, shown);
        }
    }
    show_sheet(60, columns, SHEET_CSV);
    assert_int_equal(count_words(shown, "scheme,layers"), 1);
    assert_int_equal(count_lines(shown), 1 + ROWS);
    show_sheet(60, columns, SHEET_MARKDOWN);
    assert_int_equal(count_lines(shown), 2 + ROWS);
}

/* People do not see a column that no row has; CSV always has it. */
/* A cell is no piece of memory of its own: a table of a hundred times the rows takes ten pieces more, as lists double. */
TEST(test_many_rows)
{
    static const Column some[] = {
        COLUMN(Row, words), COLUMN(Row, scheme), COLUMN(Row, layers), NUMBER(0), {0}};
    size_t calls[2];
    for (int k = 0; k < 2; k++) {
        char words[32];
        Sheet *s;
        const size_t before = memory_calls();
        assert_int_equal(sheet_new(some, &s), 0);
        for (size_t i = 0; i < (k ? 10000 : 100); i++) {
            snprintf(words, sizeof words, "row %zu", i / 2);
            sheet_row(s, &(Row){"heun", words, i, {(double)i / 4}});
        }
        FILE *f = fopen("/dev/null", "w");
        assert_int_equal(sheet_write(s, SHEET_PLAIN, f), 0);
        fclose(f);
        sheet_free(s);
        calls[k] = memory_calls() - before;
    }
    assert_true(calls[1] > calls[0] && calls[1] <= calls[0] + 30);
}

TEST(test_empty_columns)
{
    static const int forms[] = {SHEET_PLAIN, SHEET_MARKDOWN, SHEET_LATEX, SHEET_CSV};
    for (int k = 0; k < 4; k++)
        for (undefined = ROWS - 1; undefined <= ROWS; undefined++) {
            show_sheet(0, columns, forms[k]);
            int seen = count_words(shown, forms[k] == SHEET_LATEX ? "quantity\\_3" : "quantity_3");
            assert_int_equal(seen, undefined < ROWS || forms[k] == SHEET_CSV);
        }
    undefined = 0;
}

/* Long words take several lines, so that the table needs one part; none is lost or cut. */
TEST(test_long_words)
{
    static char all[sizeof shown];
    for (int w = 0; w < WIDTHS; w++) {
        show_sheet(widths[w], texts, SHEET_PLAIN);
        if (!(widest(shown) <= widths[w])) fail_msg("%zu columns: %s", widest(shown), shown);
        assert_int_equal(count_words(shown, "scheme "), 1);
        memcpy(all, shown, sizeof all);
        size_t words = 0;
        for (char *word = strtok(all, " \n"); word; word = strtok(NULL, " \n"))
            words += strstr(long_words, word) != NULL && strcmp(word, "1") != 0;
        if (words != 1 + 2 * 24) fail_msg("%zu words: %s", words, shown);
        assert_int_equal(count_lines(shown) > 2 + ROWS, w < 2);
    }
}

/* COLUMNS overrides the terminal's width; a file is no terminal. */
TEST(test_environment)
{
    setenv("COLUMNS", "60", 1);
    show_sheet(200, columns, SHEET_PLAIN);
    int as_wide = widest(shown) <= 60;
    FILE *f = tmpfile();
    size_t in_file = terminal_width(f);
    setenv("COLUMNS", "wide", 1);
    show_sheet(200, columns, SHEET_PLAIN);
    int as_told = widest(shown) > 60 && widest(shown) <= 200;
    unsetenv("COLUMNS");
    fclose(f);
    assert_true(as_wide && as_told && in_file == 0);
}

static void write_progress(void)
{
    progress_show("\xc3\xa9poque 1 de 2: %0150d words, 3 min left", 7);
}

/* Progress is one line that the terminal does not break, as a broken line could not be wiped; the last column is the
 * cursor's. */
TEST(test_progress)
{
    for (int w = 0; w < WIDTHS; w++) {
        terminal_run(widths[w], write_progress);
        assert_int_equal(strncmp(shown, "\xc3\xa9poque 1 de 2: 000", 18), 0);
        if (!(widest(shown) <= widths[w] - 1)) fail_msg("%zu columns: %s", widest(shown), shown);
        int cut = strlen(shown) > 3 && strcmp(shown + strlen(shown) - 3, "\xe2\x80\xa6") == 0;
        assert_int_equal(cut, w < 2);
        assert_int_equal(strstr(shown, " left") != NULL, w == 2);
    }
    terminal_run(0, write_progress); /* the control */
    assert_non_null(strstr(shown, " left"));
}

/* Nine tenths of the work are done at once, and then a millionth a second. */
static void write_slow(void)
{
    progress_show("slow");
    for (int i = 0; i < 23; i++) {
        nanosleep(&(struct timespec){0, 100000000}, NULL);
        tick_of(0.9 + 1e-7 * i, 1);
    }
    progress_clear();
}

/* The time that is left is told as work goes now, and never as 0. */
TEST(test_time_left)
{
    terminal_run(80, write_slow);
    HAS(shown, "slow, 1 s\r", "slow, 2 s, about ", " h ", "~about 0 s");
}

static void run_program(void)
{
    execl(program, program, "schemes", "--scheme", "euler,rk4", (char *)NULL);
    _exit(127);
}

/* The table of a command fits; the lines before it are words. */
TEST(test_program)
{
    for (int w = 0; w < WIDTHS; w++) {
        terminal_run(widths[w], run_program);
        const char *table = strstr(shown, "\n\nscheme");
        if (!table || !(widest(table) <= widths[w])) fail_msg("%s", shown);
        assert_int_equal(count_words(table, "\nrk4 ") > 1, w < 2);
        assert_int_equal(count_words(table, "  real_limit"), 1);
    }
}

/* ---- texts of others ------------------------------------------------------------------------------- */

/* What steers a terminal or a reader's eye becomes '?', byte for byte what is left; all else stays. Kinds: ECMA-48, UAX 9. */
TEST(test_harmless)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"a\tb\nc", "a\tb\nc"},
        {"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80", "\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80"},
        {"\xd7\xa9\xd7\x9c", "\xd7\xa9\xd7\x9c"}, /* Hebrew letters carry their direction */
        {"\033[31m\r\x7f", "?[31m??"},
        {"\xc2\x9b"
         "1m\xc2\xa0",
         "?1m\xc2\xa0"}, /* C1 to U+009F; U+00A0 is a blank */
        {"\xe2\x80\xae|\xe2\x81\xa6|\xd8\x9c|\xe2\x80\x8f|\xe2\x80\xa8", "?|?|?|?|?"},
        {"\xe2\x80\xaf|\xe2\x81\xa5", "\xe2\x80\xaf|\xe2\x81\xa5"}, /* their neighbours */
        {"\x9b|\xc3|\xed\xa0\x80|\xf4\x90\x80\x80|\xc0\x80", "?|?|???|????|??"},
        {"\xe2\x80", "??"},
    };
    char text[64];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        strcpy(text, rows[i].text);
        text[text_harmless(text, strlen(text))] = '\0';
        if (strcmp(text, rows[i].want) != 0) fail_msg("%zu: '%s'", i, text);
    }
    assert_int_equal(text_unended("ab\xe2\x80", 4), 2);
    assert_int_equal(text_unended("ab\xf0\x9f\x98", 5), 3);
    assert_int_equal(text_unended("ab\xe2\x80\xae", 5), 0);
    assert_int_equal(text_unended("ab\x9b", 3), 0);
}

#define EVIL8               \
    "e\033]0;x\007\xc2\x9b" \
    "1m\xe2\x80\xae"
#define EVIL EVIL8 "\xff"

/* Tells whether a text has what the filter takes away. */
static int harms(const char *text)
{
    char *copy = strdup(text);
    size_t n = strlen(text);
    assert_non_null(copy);
    int harms = text_harmless(copy, n) != n || memcmp(copy, text, n) != 0;
    free(copy);
    return harms;
}

static const char *line; /* of the shell, in the folder */

static void run_line(void)
{
    execl("/bin/sh", "sh", "-c", formed("cd %s && exec %s %s", folder, program, line),
          (char *)NULL);
    _exit(127);
}

/* Commands that show texts of others. machine: for a pipe every byte stays, as a program reads it there. */
static const struct {
    const char *line, *harmless; /* harmless: a part that is shown */
    int machine;
} shows[] = {
    {"table evil.csv", "e?]0;x??1m??", 0},
    {"table evil.csv --csv", "e?]0;x??1m??", 1},
    {"table evil.csv --columns design,value", "e?]0;x??1m??", 0},
    {"table evil.csv --measure \"$(printf '\\033[1m')\"", "?[1m", 0},
    {"bleu --reference evil.txt --hypothesis \"$(printf 'e\\033[1m')\"", "e?[1m", 0},
    {"data --corpus evil", "tokens", 0},
    {"schemes --scheme-file evil.scheme --scheme evil --print", "title  e?]0;x??1m?", 1},
    {"schemes --scheme-file evil.scheme --scheme evil", "evil", 0},
    {"\"$(printf 'no\\033[1m')\"", "no?[1m", 0},
};

TEST(test_texts_of_others)
{
    file_text("evil.csv", "design,seed,value\n\"" EVIL "\",1,5\n\"" EVIL "\",2,6\nb,1,7\nb,2,8\n");
    file_text("evil.txt", EVIL8 " a b c d\n");
    shell_ok("mkdir evil && cp evil.txt \"$(printf 'e\\033[1m')\"");
    file_text("evil/train.txt", EVIL8 " a b c d\n");
    shell_ok("cp evil/train.txt evil/valid.txt && cp evil/train.txt evil/test.txt");
    file_text("evil.scheme", "scheme evil\ntitle " EVIL8 "\nk1 = H(y)\ny' = y + k1\n");
    for (size_t i = 0; i < sizeof shows / sizeof *shows; i++) {
        line = shows[i].line;
        terminal_run(200, run_line);
        for (char *own; (own = strstr(shown, "\r\033[K"));)
            memcpy(own, "   \n", 4); /* progress.c */
        if (harms(shown)) fail_msg("a terminal gets it from '%s': %s", line, shown);
        if (!strstr(shown, shows[i].harmless)) fail_msg("'%s': %s", line, shown);
        shell("%s %s", program, line);
        assert_int_equal(harms(out), shows[i].machine);
        if (harms(err)) fail_msg("stderr of '%s': %s", line, err);
    }
    run_ok("table evil.csv --out evil.out"); /* files for people and, the control, for programs */
    assert_int_equal(harms(file_slurp("evil.out/table.md", NULL)), 0);
    assert_int_equal(harms(file_slurp("evil.out/table.tex", NULL)), 0);
    assert_int_equal(harms(file_slurp("evil.out/table.csv", NULL)), 1);
    /* what --print writes to a pipe is read again, to the same bytes */
    shell_ok("%s schemes --scheme-file evil.scheme --scheme evil --print >printed.scheme", program);
    shell_ok("%s schemes --scheme-file printed.scheme --scheme evil --print >again.scheme",
             program);
    assert_true(same_files("printed.scheme", "again.scheme"));
    /* a character that two writes part is whole */
    line = "schemes --scheme-file long.scheme --scheme evil --print";
    FILE *f = fopen(file_path("long.scheme"), "w");
    assert_non_null(f);
    fputs("scheme evil\n", f);
    fputs("title ", f);
    for (int i = 0; i < 60; i++) fputs("\xe6\x97\xa5", f);
    fputs("\nk1 = H(y)\ny' = y + k1\n", f);
    fclose(f);
    terminal_run(200, run_line);
    assert_null(strchr(shown, '?'));
}

/* Why a write of much output failed is told, though the C library's stream forgets it. */
TEST(test_full)
{
    static const char *const lines[] = {"schemes --csv", "schemes", "schemes --print", "--version"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(shell("%s %s >/dev/full", program, lines[i]), 1);
        HAS(err, "No space left on device", "~Success");
    }
}

TEST_MAIN(program_open_drawn, program_close)
