/* test_terminal.c: tables and lines of progress on terminals of 60, 80 and 200 columns: no line is wider and nothing is
 * lost. Each test has a control that is wider. */
#include "tests/lib/test.h"

#include "kernels/error.h"
#include "studies/tools/progress.h"
#include "studies/tools/sheet.h"
#include "studies/tools/utf8.h"
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

TEST_MAIN(program_open_drawn, program_close)
