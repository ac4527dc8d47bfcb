/* test_readers.c: refusals of what is too long or cannot be read: schemes, particle systems, CSV, corpora, words. Each names its
 * place (tests/ode has bad texts of schemes and systems). And the commands' descriptions of the tables that they write: every
 * column of a page has words, and no table or plot is described twice. */
#include "tests/lib/test.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/hash.h"
#include "kernels/base/scoped.h"
#include "nn/text/corpus.h"
#include "ode/ode.h"
#include "studies/base/frame.h"
#include "studies/commands.h"
#include "studies/base/kind.h"
#include "tests/lib/scratch.h"

/* Checks that the last error's line begins with, or holds, these words. */
static void expect_words(const char *what, int code, const char *words, int anywhere)
{
    const char *at = strstr(error_text(), words);
    if (code != ERR_INPUT || !at || (!anywhere && at != error_text()))
        fail_msg("%.200s\n gave: %d %s\n not:  %s", what, code, error_text(), words);
}

static int parse_scheme(const char *text)
{
    Table **list = NULL;
    size_t count = 0, live = memory_live();
    int code = scheme_parse("text", text, strlen(text), &list, &count);
    for (size_t i = 0; i < count; i++) table_free(list[i]);
    memory_free(list);
    assert_int_equal(memory_live(), live);
    return code;
}

/* Returns `head`, n times `piece` (which may take the count), `tail`. */
static char *repeated(const char *head, const char *piece, size_t n, const char *tail)
{
    return WRITTEN(f, fputs(head, f); for (size_t i = 0; i < n; i++) fprintf(f, piece, i);
                   fputs(tail, f));
}

TEST(schemes_have_limits)
{
    static const struct {
        const char *head, *piece;
        size_t n;
        const char *tail, *words;
    } bad[] = {
        {"scheme a\nlet b = ", "9", 201, "\n", "at most 200 digits"},
        {"scheme a\nlet b = ", "(", 70, "\n", "at most 64 nested parentheses"},
        {"scheme a\n", "flow F\n", 1025, "", "at most 1024 flows"},
        {"scheme a\n", "learn b%zu = 1\n", 65, "", "at most 64 learned names"},
        {"scheme ", "a", TABLE_NAME, "\n", "expected a scheme's name"},
        {"scheme a\nlet b = 1", " ", 65536, "\n", "at most 65536 bytes"},
        {"scheme a\nk1 = F(y)\nlet b = 1", "*9^60", 21, "\ny' = (b*y + b*k1)/7^64/7^64",
         "fewer digits"},
        /* these took minutes or gigabytes */
        {"scheme x\nlearn a = 1\nlearn b = 1\nlearn c = 1\nlearn d = 1\nlearn e = 1\nlearn f = 1\n"
         "learn g = 1\nlearn h = 1\nlet p = (a+b+c+d+e+f+g+h)^2\nlet q = 0",
         "+p*p", 8000, "\n", "less to work out"},
        {"scheme x\n", "let a%zu = 1\n", 70000, "flow F\n", "at most 256 names"},
        {"", "scheme x%zu\nflow F\n", 40000, "", "at most 4096 schemes"},
        {"scheme x\nk1 = H(y)\ngate g = tanh(k1", ", y", 20000, ")\n", "at most 256 arguments"},
        {"scheme x\nlet a = 0", "+1/1%05zu^60", 3000, "\n", "fewer digits"},
        {"scheme x\nflow F\n", "# %0999zu\n", 1100, "", "at most 1 MiB"},
        {"scheme x\n", "carry c%zu\n", 33, "", "at most 32 carried quantities"},
        {"scheme x\n", "k1 = H(y)\n", 10000, "", "at most 256 stages"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *text = repeated(bad[i].head, bad[i].piece, bad[i].n, bad[i].tail);
        expect_words(text, parse_scheme(text), bad[i].words, 1);
    }
    assert_int_equal(parse_scheme("scheme x\nlet a = 1/3^60 + 1/7^60\nflow a F\n"), 0);
}

/* Long names, and files that cannot be read. A user's own scheme replaces the form of that name. */
TEST(names_of_schemes)
{
    static const char own[] = "scheme euler-layer\nk1 = L(y)\ny' = y + k1\n";
    char *name[] = {repeated("heun,word:", "sf", 500, ""), repeated("", "x", TABLE_NAME, ""),
                    repeated("", "x", TABLE_NAME - 1, "")};
    Zoo z;
    Table **list = NULL, *t;
    size_t count[2] = {0};
    assert_int_equal(zoo_open(&z), 0);
    expect_words("word", zoo_find(&z, name[0] + 5, "euler", &t), "expected word: and 1 to 128", 0);
    for (int i = 0; i < 3; i++) {
        const char *words = i ? "unknown scheme 'xxx" : "expected word: and 1 to 128";
        expect_words(name[i], zoo_list(&z, name[i], "euler", &list, count), words, 0);
    }
    expect_words("folder", zoo_read(&z, folder), "cannot read", 1);
    expect_words("nowhere", zoo_read(&z, file_path("nowhere")), "", 1);
    for (int i = 0; i < 2; i++) {
        if (i) assert_int_equal(zoo_read(&z, file_write("own", own, sizeof own - 1)), 0);
        assert_int_equal(zoo_list(&z, "all", "euler", &list, &count[i]), 0);
        for (size_t k = 0; k < count[i]; k++) table_free(list[k]);
        memory_free(list);
    }
    assert_int_equal(count[0], count[1]);
    zoo_close(&z);
}

/* Files of schemes: the first finds are taken, the others refused in one line. A scheme takes the place of a built-in one, and
 * no scheme that of another file's; flows by methods and what begins a quantity that is carried are found by their names. */
TEST(files_of_schemes)
{
#define CARRIED(name, start) \
    "scheme " name "\nstart " start "\ncarry v\nk1 = H(y + v)\nv' = k1\ny' = y + v'\n"
    static const char text[] =
        "\xEF\xBB\xBFscheme euler\nk1 = H(y)\ny' = y + 2*k1\nscheme part\nflow 1/2 F\nflow G:heun\nflow 1/2 F\n"
        "scheme all-own\nflow F:heun\nflow G:euler\nscheme lost\nflow F:nothing\nflow G\n"
        "scheme past\nflow F:leapfrog\nflow G\n" CARRIED("begun", "first")
            CARRIED("unbegun", "nothing") CARRIED("late", "leapfrog")
                CARRIED("own", "own") "scheme inside\nstart first\ncarry v\n"
                                      "k1 = H(y + k1 + v)\nv' = k1\ny' = y + v'\n"
                                      "scheme first\ncarry v\nk1 = H(y)\nv' = k1\ny' = y + v'\n";
    static const char python[] =
        "class A(RungeKutta):\n    A = np.array([[0, 0], [1, 0]])\n    B = np.array([1/2, 1/2])\n"
        "    C = np.array([0, 1])\n";
    static const struct {
        const char *name, *solver, *words; /* words NULL: it is found */
    } sought[] = {{"euler", "exact", NULL},
                  {"part", "exact", NULL},
                  {"part", "rk4", NULL},
                  {"part:euler", "exact", NULL},
                  {"all-own", "exact", NULL},
                  {"all-own", "rk4", NULL},
                  {"all-own:euler", "exact", "every flow of 'all-own' names its own method"},
                  {"lost", "exact", "unknown scheme 'nothing'"},
                  {"past", "exact", "leapfrog"},
                  {"begun", "exact", NULL},
                  {"unbegun", "exact", "unknown scheme 'nothing'"},
                  {"late", "exact", "leapfrog"},
                  {"own", "exact", "own"},
                  {"inside:fixed-point-2", "exact", NULL},
                  {"a", "exact", NULL},
                  {"nothing:fixed-point-2", "exact", "unknown scheme 'nothing'"}};
    SCOPED(zoo_close) Zoo z = {0};
    Table *t = NULL;
    assert_int_equal(zoo_open(&z), 0);
    size_t built_in = z.count;
    assert_int_equal(zoo_read(&z, file_write("a.scheme", text, sizeof text - 1)), 0);
    assert_int_equal(zoo_read(&z, file_text("a.py", python)), 0);
    assert_int_equal(z.count, built_in - 1 + 11 + 1);
    for (size_t i = 0; i < sizeof sought / sizeof *sought; i++) {
        int code = zoo_find(&z, sought[i].name, sought[i].solver, &t);
        if (sought[i].words)
            expect_words(sought[i].name, code, sought[i].words, 1);
        else if (code != 0)
            fail_msg("%s: %s", sought[i].name, error_text());
        else if (strcmp(sought[i].name, "all-own") == 0)
            assert_int_equal(t->flows, 0);
        else if (strcmp(sought[i].name, "euler") == 0)
            assert_true(table_double(t->update.term[1].c) == 2);
        table_free(t);
        t = NULL;
    }
    expect_words("again", zoo_read(&z, file_path("a.scheme")),
                 "a.scheme: expected a new name; scheme 'euler' exists already", 1);
    expect_words("python", zoo_read(&z, file_text("a.py", "class A(RungeKutta):\n    A = 1\n")),
                 "a.py", 1);
    char *long_text = repeated("scheme b\nflow F\n", "# %0999zu\n", 1100, "");
    expect_words("long", zoo_read(&z, file_text("b.scheme", long_text)), "at most 1 MiB", 1);
    assert_int_equal(zoo_find_decoder(&z, "heun", "exact", &t), 0);
    assert_int_equal(t->colours, 3);
    table_free(t);
    t = NULL;
    assert_int_equal(zoo_find_decoder(&z, "strang-decoder", "exact", &t), 0);
    table_free(t);
    t = NULL;
    expect_words("decoder", zoo_find_decoder(&z, "nothing", "exact", &t),
                 "unknown scheme 'nothing'", 1);
}

TEST(systems_are_refused)
{
    static const struct {
        const char *head;
        size_t n;
        const char *tail, *where;
    } bad[] = {
        {"system ", 160, "\n", "test:1:8: expected at most 159 bytes"},
        {"system x\n", 80, " 1\n", "test:2:1: expected system, title"},
        {"system x\ntitle ", 4200000, "\n", "test:2:1: expected a line of at most 4194304"},
        {"system x\nG = 1e-", 1, "\n", "test:2:6: expected an operator"},
        {"system x\nG = 0.", 1, "\n", "test:2:7: expected an operator"},
    };
    System *s;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *text = repeated(bad[i].head, "a", bad[i].n, bad[i].tail);
        expect_words(text, system_parse("test", text, strlen(text), 0, 0, 1, &s), bad[i].where, 0);
    }
    static const char nul[] = "system x\nG = \0";
    expect_words("nul", system_parse("test", nul, sizeof nul, 0, 0, 1, &s), "test:2:1: ", 0);
    expect_words("n", system_parse("test", "", 0, 1 << 20, 0, 1, &s), "test: expected at most", 0);
    expect_words("d", system_parse("test", "", 0, 0, 1000, 1, &s), "test: expected at most", 0);
    char *digits = repeated("system x\nG = 0.", "1", 70, "\n");
    expect_words(digits, system_parse("test", digits, strlen(digits), 0, 0, 1, &s),
                 "test:2:5: expected a number of fewer digits", 0);
    char *text = repeated("system x\nG = y\ninitial = 1\n", "# %zu\n", 600000, "");
    const char *file = file_text("system", text);
    expect_words("long", system_read(file, "", 0, 0, 1, &s), "of at most 4 MiB", 1);
    file = file_write("system", text, 1000);
    assert_int_equal(system_read(file, "", 0, 0, 1, &s), 0); /* control: its beginning */
    system_free(s);
}

static int open_csv(const char *text, Frame *c)
{
    return frame_read(c, file_text("table.csv", text));
}

TEST(tables)
{
    Frame c;
    double x;
    expect_words("cr", open_csv("\"a\"\rb\n", &c), "table.csv:1: expected ',' after", 1);
    char *text = repeated("a", ",%zu", 256, "\n");
    expect_words("wide", open_csv(text, &c), "table.csv:1: expected at most 256 columns", 1);
    assert_int_equal(open_csv("a\rb,c\nnan,inf\n-1e3,\n", &c), 0);
    assert_string_equal(c.cell[0], "a\rb"); /* no line's end */
    expect_words("nan", frame_number(&c, 0, 0, &x), "table.csv:2: expected a number", 1);
    assert_int_equal(frame_number(&c, 0, 1, &x), 0);
    assert_true(isinf(x));
    assert_int_equal(frame_number(&c, 1, 0, &x), 0);
    assert_true(x == -1000);
    assert_int_equal(frame_number(&c, 1, 1, &x), 0);
    assert_true(isnan(x)); /* empty: undefined */
    assert_int_equal(frame_column(&c, "d"), -1);
    frame_close(&c);
    const char *file = file_write("long.csv", "a\n", 2);
    if (truncate(file, 1 << 27) != 0) skip(); /* a file system without such files */
    int at = open(file_path("."), O_RDONLY | O_DIRECTORY);
    expect_words("long", frame_beneath(&c, at, "long.csv", file),
                 "long.csv: expected a CSV file of at most 64 MiB", 1);
    close(at);
    assert_int_equal(truncate(file, 2), 0);
    text = repeated("a,b\n", "%zu,some forty bytes behind the number of the row\n", 1300000, "");
    assert_int_equal(open_csv(text, &c), 0); /* 70 MB that the user named */
    assert_string_equal(frame_cell(&c, 1299999, 0), "1299999");
    frame_close(&c);
}

/* Numbers of other countries: behind ';' a comma is a point where it makes a number. Blank lines and lines' ends of other
 * systems are passed over. */
TEST(forms_of_tables)
{
    static const struct {
        const char *text,
            *words; /* words NULL: it is read, and `cells` are those of its first two rows, NAN: no number */
        double cells[2];
    } rows[] = {
        {"a;b\n1,5;-0,25e-3\n", NULL, {1.5, -0.25e-3}},
        {"a;b\n1,5E2;x,5\n", NULL, {150, NAN}},
        {"a;b\n1,5,2;,5\n", NULL, {NAN, .5}},
        {"a;b\n1,;1,5e\n", NULL, {NAN, NAN}},
        {"a;b\n\r\n\n\"2,5\";nan\r\n", NULL, {2.5, NAN}},
        {"\r\na\tb\r\n1\t2\r\n", NULL, {1, 2}},
        {"a\n1\n", NULL, {1, 1}},
        {"a;b\n\"x\"y;1\n", "table.csv:2: expected ';' after a quoted cell", {0}},
        {"a\tb\n\"x\"y\t1\n", "table.csv:2: expected 'a tab' after a quoted cell", {0}},
        {"a;a\n", "table.csv:1: two columns are called 'a'", {0}},
        {"a,b\n1\n", "table.csv:2: expected 2 cells, as in the first line; there are 1", {0}},
        {"a\n1,5\n", "table.csv:2: expected 1 cells", {0}},
        {"a;b\n1;2;3\n", "there are 3 (a number such as 1,234 has no comma here", {0}},
        {"\n\r\n", "table.csv: expected a CSV file; it is empty", {0}},
        {"a\n\"1", "table.csv:2: a quoted cell does not end", {0}},
        {"a\n1\"", "table.csv:2: a quote inside a cell", {0}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Frame c;
        int code = open_csv(rows[i].text, &c);
        if (rows[i].words) {
            expect_words(rows[i].text, code, rows[i].words, 1);
            continue;
        }
        assert_int_equal(code, 0);
        for (int j = 0; j < 2; j++) {
            double x, want = rows[i].cells[j];
            int column = j < (int)c.columns ? j : 0;
            if (frame_number(&c, 0, column, &x) != 0) x = NAN;
            if (x != want && !(isnan(x) && isnan(want)))
                fail_msg("row %zu: cell %d is %g", i, j, x);
        }
        frame_close(&c);
    }
}

/* A record has the numbers of a row; a column that it needs must be there. */
TEST(records_of_tables)
{
    typedef struct {
        double a, b;
    } Record;
    static const Column list[] = {
        {.name = "a", .type = SHEET_DOUBLE, .at = offsetof(Record, a)},
        {.head = "no name", .type = SHEET_DOUBLE},
        {.name = "word", .type = SHEET_TEXT},
        {.name = "b", .type = SHEET_DOUBLE, .at = offsetof(Record, b), .sparse = 1},
        {0}};
    SCOPED(frame_close) Frame c = {0}, bad = {0}, other = {0};
    Record r = {0};
    assert_int_equal(open_csv("a\n1\n2\n", &c), 0);
    assert_int_equal(frame_record(&c, 1, list, &r), 0);
    assert_true(r.a == 2 && isnan(r.b));
    expect_words("row", frame_record(&c, 2, list, &r), "expected a column 'a', and a row", 1);
    assert_int_equal(open_csv("a,b\n1,x\n", &bad), 0);
    expect_words("word", frame_record(&bad, 0, list, &r),
                 "expected a number in column 'b'; there is 'x'", 1);
    assert_int_equal(open_csv("b\n1\n", &other), 0);
    expect_words("column", frame_record(&other, 0, list, &r), "expected a column 'a', and a row",
                 1);
}

static int open_corpus(const char *name)
{
    Corpus c;
    int code = corpus_choose(file_path(name), &(CorpusChoice){LEVEL_WORD, 0, 1}, &c);
    if (code == 0) corpus_free(&c);
    return code;
}

/* A frame that is made keeps numbers to the bit, leaves out what it has no column for, and is read back from its file as it was;
 * a column with one word in it is a column of words, and no number is lost in it. */
TEST(frames_that_are_made)
{
    static const Column list[] = {{.name = "who"}, {.name = "x"}, {.name = "y"}, {0}};
    SCOPED(frame_close) Frame f = {0}, there = {0};
    SCOPED(sheet_drop) Sheet *s = NULL;
    const double third = 1.0 / 3;
    const size_t order[] = {1, 0};
    assert_int_equal(frame_new(&f, list), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(frame_row(&f), 0);
    frame_set(&f, 0, "who", "a, \"b\"");
    frame_put(&f, 0, "x", third);
    frame_put(&f, 0, "z", 1);
    frame_put(&f, 1, "x", 2);
    frame_set(&f, 1, "y", "none");
    frame_put(&f, 0, "y", 0.5);
    assert_true(frame_real(&f, 0, "x") == third && isnan(frame_real(&f, 0, "z")));
    assert_true(isnan(frame_real(&f, 0, "who")) && isnan(frame_real(&f, 1, "who")));
    assert_int_equal(frame_sheet(&f, list, order, 2, &s), 0);
    assert_int_equal(sheet_columns(s)[1].type, SHEET_DOUBLE);
    assert_int_equal(sheet_columns(s)[2].type, SHEET_TEXT);
    file_text("made.csv", WRITTEN(out, assert_int_equal(sheet_write(s, SHEET_CSV, out), 0)));
    assert_int_equal(frame_read(&there, file_path("made.csv")), 0);
    frame_put(&f, 1, "x", NAN);
    frame_copy(&f, 1, &there, 1);
    for (size_t j = 0; j < 3; j++)
        assert_string_equal(frame_cell(&f, 1, (int)j), frame_cell(&there, 1, (int)j));
    assert_true(frame_real(&f, 1, "x") == third && strcmp(frame_text(&f, 1, "y"), "0.5") == 0);
}

TEST(corpora)
{
    static const char *const texts[] = {"c/train.txt", "c/valid.tokens", "c/test"};
    Corpus c;
    assert_int_equal(mkdir(file_path("c"), 0777), 0);
    expect_words("empty", open_corpus("c"), "no text for train, valid, test; looked for", 1);
    assert_int_equal(mkdir(file_path(texts[0]), 0777), 0);
    expect_words("a folder", open_corpus("c"), "no text for train, valid, test; looked for", 1);
    assert_int_equal(rmdir(file_path(texts[0])), 0);
    for (size_t i = 0; i < 3; i++) file_write(texts[i], "a b\n", 4);
    expect_words("unlike", open_corpus("c"), "the three texts are not named alike; looked for", 1);
    assert_int_equal(rename(file_path(texts[1]), file_path("c/dev.txt")), 0);
    assert_int_equal(rename(file_path(texts[2]), file_path("c/test.txt")), 0);
    assert_int_equal(open_corpus("c"), 0); /* control */
    struct rlimit files, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    none = (struct rlimit){0, files.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int code = open_corpus("c");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    expect_words("no more files", code, "cannot read the directory", 0);
    assert_int_equal(corpus_choose("markov:5", &(CorpusChoice){.seed = 1, .untested = 1}, &c), 0);
    assert_int_equal(c.text[SPLIT_TEST].tokens, 0);
    assert_true(c.text[SPLIT_VALID].tokens > 0);
    corpus_free(&c);
    unlink(file_path("c/train.txt"));
    unlink(file_path("c/dev.txt"));
    unlink(file_path("c/test.txt"));
}

TEST(words_and_unknown_words)
{
    Vocab v = {0};
    Text t;
    Words none = {0};
    assert_int_equal(words_find(&none, "a", 1), -1);
    assert_int_equal(vocab_find(&v, "a", 1), -1);
    char *text = repeated("", "x", 300, "\n");
    assert_int_equal(vocab_build(&(BpeText){.bytes = "a\n", .count = 2}, 1, LEVEL_WORD, 0, 0, &v),
                     0);
    expect_words("x", text_encode(&(BpeText){"f", text, strlen(text), 0}, NULL, &v, &t), "f:1: 'x",
                 0);
    assert_true(strlen(error_text()) < 300); /* a long word is cut in the message */
    vocab_free(&v);
    /* Words of one hash (FNV-1a), found by reduction of the lattice of the prime's powers modulo 2^64. */
    static const char *const alike[] = {"D07gLMhneCV0Sl", "Fqp73STXiBOhmc", "gS2Q0ap7dEvoCO",
                                        "0yT0I0b218Ev2MN"};
    SCOPED(words_free) Words w = {0};
    for (int i = 0; i < 4; i++) {
        size_t n = strlen(alike[i]);
        assert_true(hash_bytes(HASH_START, alike[i], n) ==
                    hash_bytes(HASH_START, alike[i ^ 1], strlen(alike[i ^ 1])));
        assert_int_equal(words_find(&w, alike[i], n), -1);
        assert_int_equal(words_add(&w, alike[i], n, (uint64_t)i + 1), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(words_find(&w, alike[i], strlen(alike[i])), i);
        assert_int_equal(w.word[i].count, i + 1);
    }
    char *twice = repeated(text, "%zu\n", 1, text);
    expect_words("twice", vocab_read(file_text("v", twice), &v), "v:3: 'x", 1);
}

/* ---- descriptions of tables ---------------------------------------------------------------------- */

/* Returns the first column without words of a table that pages show; NULL: there is none. */
static const char *untold(const Kind *k)
{
    const Column *shown[64];
    for (const KindTable *t = k->table; t->file; t++) {
        size_t n = kind_shown(t->columns, shown, 64);
        for (size_t j = 0; t->most && j < n; j++)
            if (!kind_column(k, shown[j]->name)) return shown[j]->name;
        for (const Column *c = t->columns; t->most && !n && (c->name || c->head); c++)
            if (c->name && !kind_column(k, c->name)) return c->name;
    }
    return NULL;
}

/* Returns the first column that a table of a kind has twice. */
static const char *ambiguous(const Kind *k)
{
    for (const KindTable *t = k->table; t->file; t++)
        for (const Column *c = t->columns; c->name || c->head; c++)
            for (const Column *d = t->columns; d < c; d++)
                if (c->name && d->name && strcmp(c->name, d->name) == 0) return c->name;
    return NULL;
}

/* Returns the first table or plot that stands twice in a kind. */
static const char *twice(const Kind *k)
{
    for (const KindTable *t = k->table; t->file; t++)
        for (const KindTable *u = k->table; u < t; u++)
            if (u->columns == t->columns && strcmp(u->file, t->file) == 0) return t->file;
    for (const KindPlot *p = k->plot; p->file; p++)
        for (const KindPlot *q = k->plot; q < p; q++)
            if (strcmp(p->file, q->file) == 0) return p->file;
    return NULL;
}

TEST(every_column_has_words)
{
    size_t kinds = 0;
    assert_ptr_equal(command_all, command_table);
    for (const Kind *k = kind_next(NULL); k; k = kind_next(k), kinds++) {
        if (untold(k)) fail_msg("%s: what is in column %s?", k->command, untold(k));
        if (ambiguous(k)) fail_msg("%s: two columns %s in a table", k->command, ambiguous(k));
        if (twice(k)) fail_msg("%s: %s is there twice", k->command, twice(k));
    }
    assert_true(kinds > 10);
}

TEST(what_lacks_words_is_seen)
{
    static const Column bare[] = {{.name = "scheme"}, {.name = "nobody-knows"}, {0}};
    static const Kind kind = {.command = "x",
                              .table = {{"a", bare, "", 1}, {"b", bare, "", 0}, {"a", bare, "", 0}},
                              .plot = {{"p", ""}, {"q", ""}}};
    assert_string_equal(untold(&kind), "nobody-knows");
    assert_string_equal(twice(&kind), "a");
    static const Column pair[] = {{.name = "scheme"}, {.name = "score"}, {.name = "scheme"}, {0}};
    static const Kind table = {.command = "z", .table = {{"a", pair, "", 0}}};
    assert_string_equal(ambiguous(&table), "scheme");
    assert_null(ambiguous(&kind));
    static const Kind plots = {.command = "y", .plot = {{"p", ""}, {"q", ""}, {"p", ""}}};
    assert_string_equal(twice(&plots), "p");
}

TEST_MAIN(scratch_open, scratch_close)
