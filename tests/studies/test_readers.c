/* test_readers.c: refusals of readers, and rare but allowed texts, one line a case: schemes, particle
 * systems, options and INI files, CSV, corpora, saved networks. Each refusal names its place. */
#include "tests/lib/test.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include "nn/text/corpus.h"
#include "ode/ode.h"
#include "studies/tools/csv.h"
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

#define K1 "scheme a\nk1 = F(y)\n"
#define B "scheme a\nlearn b = 1\n"
#define BIG "let q = (9^64*9^64)"

TEST(schemes_are_refused)
{
    static const struct {
        const char *text, *where;
    } bad[] = {
        {K1 "y' = y + 1.2.3*k1", "text:3:13: expected an operator"},
        {K1 "y' = y + .", "text:3:11: expected a number"},
        {K1 "y' = y + 1e", "text:3:12: expected an exponent of ten from -100 to 100"},
        {K1 "y' = y + 1e*k1", "text:3:12: expected an exponent of ten from -100 to 100"},
        {K1 "y' = y + 1e+x", "text:3:13: expected an exponent of ten from -100 to 100"},
        {K1 "y' = y + 1/k1", "text:3:14: expected a number without"},
        {K1 "y' = y + k0", "text:3:10: expected a stage"},
        {K1 "y' = y + k1a", "text:3:10: expected a name that is set"},
        {K1 "y' = y + sqrt(k1)", "text:3:18: expected a number under the root"},
        {K1 "y' = y + sqrt 2*k1", "text:3:15: expected '('"},
        {K1 "y' = y^2", "text:3:9: expected a number before '^'"},
        {K1 "y' = y + 2^k1", "text:3:14: expected a number as the exponent"},
        {K1 "y' = y + 2*k1[first]", "text:3:15: expected -1, -2, ... or all"},
        {K1 "y' = 2*y[first] + k1[all]", "text:3:26: expected y[first] + slopes"},
        {B "k1 = F(y)\ny' = b*y[first] + k1[all]", "text:4:26: expected y[first] + slopes"},
        {K1 "y' = y[first] + k1[all] + k1", "text:3:29: expected y[first] + slopes"},
        {K1 "y' = k1[all]", "text:3:13: expected y[first] beside"},
        {"scheme a\nlet c = 2^100", "text:2:14: expected an exponent"},
        {"scheme a\nlet c = 0^0", "text:2:12: expected a base other than zero for a power of"},
        {"scheme a\nlet c = 0^-1", "text:2:13: expected a base other than zero for a power below"},
        {"scheme a\n" BIG "^64", "text:2:23: expected a coefficient of fewer digits"},
        {"scheme a\nlet b = -\n", "text:2:10: expected a number, a name"},
        {B "let c = b^(1/2)", "text:3:16: expected a whole power"},
        {B "let c = b^-1", "text:3:13: expected a whole power"},
        {B "let c = b^5", "text:3:12: expected a whole power"},
        {B "let c = 2^b", "text:3:12: expected a number as the exponent"},
        {B "let c = (b*b*b)^2", "text:3:18: expected at most 4 learned factors"},
        {B "let c = b*b*b*b*b", "text:3:18: expected at most 4 learned factors"},
        {B "learn c = b", "text:3:11: expected a number"},
        {"scheme a\nk1 = H(y - y)", "text:2:14: expected a term in a stage's argument"},
        {"scheme a\nk1 = H(y @ y)", "text:2:12: expected a number"},
        {"scheme a\nka1 = H(y)", "text:2:1: expected scheme, title"},
        {"scheme a\nk = H(y)", "text:2:1: expected scheme, title"},
        {"scheme a\nk12345678 = H(y)", "text:2:1: expected scheme, title"},
        {"scheme a\nlet k1 = 1", "text:2:7: expected a name of its own"},
        {"scheme a\nlet 1 = 1", "text:2:5: expected a name"},
        {"scheme a\nlet a123456789b123456789c123456789de = 1", "text:2:5: expected a name"},
        {"scheme a\ngate g = sigmoid y", "text:2:18: expected '('"},
        {"scheme a\nfield 1 F x G", "text:2:11: expected a name that is set"},
        {"scheme a\nfield 1 X", "text:2:9: expected an operator: F, G or C"},
        {"scheme a\nfield 1 G 1 F", "text:2:10: expected: field"},
        {"scheme a\nflow 1/0 F", "text:2:10: expected a divisor other than zero"},
        {"scheme a\nflow 1/x F", "text:2:8: expected a name that is set"},
        {"scheme a\nflow F1000", "text:2:10: expected a whole number of at most 999"},
        {"scheme a\nk1 = F(y)\nflow F", "text:3:1: expected k lines or flow lines"},
        {B "flow F", "text:3:1: expected no learned names"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_words(bad[i].text, parse_scheme(bad[i].text), bad[i].where, 0);
}

/* Returns `head`, n times `piece` (which may take the count), `tail`. */
static char *repeated(const char *head, const char *piece, size_t n, const char *tail)
{
    char *text = malloc(strlen(head) + n * (strlen(piece) + 8) + strlen(tail) + 1), *at = text;
    assert_non_null(text);
    at = stpcpy(at, head);
    for (size_t i = 0; i < n; i++) at += sprintf(at, piece, i);
    strcpy(at, tail);
    return text;
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
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *text = repeated(bad[i].head, bad[i].piece, bad[i].n, bad[i].tail);
        expect_words(text, parse_scheme(text), bad[i].words, 1);
        free(text);
    }
}

/* Rare spellings give the same scheme as the plain one beside them. */
TEST(schemes_mean_the_same)
{
    static const struct {
        const char *rare, *plain;
    } same[] = {
        {"scheme a\r\nk1 = F(y)\r\ny' = y\t+ k1\r\n", K1 "y' = y + k1"},
        {"scheme a\nlet _b_2 = 3\nk1 = F(y)\ny' = y + _b_2*k1", K1 "y' = y + 3*k1"},
        {K1 "y' = y + 1E2*k1", K1 "y' = y + 100.0*k1"},
        {K1 "y' = y + 1e+2*k1", K1 "y' = y + 1e2*k1"},
        {K1 "y' = y + .5*k1", K1 "y' = y + 0.5*k1"},
        {K1 "y' = y*1 + k1*2", K1 "y' = y + 2*k1"},
        {K1 "y' = y + 0^(1/2)*k1 + k1", K1 "y' = y + k1"},
        {K1 "y' = y + sqrt(4/3)*k1", K1 "y' = y + 2*3^(-1/2)*k1"},
        {"# head\nscheme a\n\n  # within\nk1 = F(y) # behind\ny' = y + k1", K1 "y' = y + k1"},
        {"scheme a\nflow 2/4 F\nflow G1\n", "scheme a\nflow 1/2 F\nflow G\n"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        Table **list = NULL;
        size_t count = 0;
        if (scheme_parse("rare", same[i].rare, strlen(same[i].rare), &list, &count) != 0)
            fail_msg("%s: %s", same[i].rare, error_text());
        list[0]->name[0] = 'b'; /* two schemes may not have one name */
        if (scheme_parse("plain", same[i].plain, strlen(same[i].plain), &list, &count) != 0)
            fail_msg("%s: %s", same[i].plain, error_text());
        list[0]->name[0] = 'a';
        assert_int_equal(count, 2);
        if (!table_equal(list[0], list[1])) fail_msg("'%s' is another scheme", same[i].rare);
        table_free(list[0]);
        table_free(list[1]);
        memory_free(list);
    }
}

static int list_names(const Zoo *z, const char *names, size_t *count)
{
    Table **list;
    int code = zoo_list(z, names, "euler", &list, count);
    for (size_t i = 0; i < *count; i++) table_free(list[i]);
    memory_free(list);
    return code;
}

TEST(names_of_schemes)
{
    Zoo z;
    Table *t;
    size_t count, all;
    static const char own[] = "scheme euler-layer\nk1 = L(y)\ny' = y + k1\n";
    char *word = repeated("word:", "s", 129, ""), *file = repeated("", "x", TABLE_NAME, "");
    char *long_word = repeated("heun,word:", "sf", 500, "");
    assert_int_equal(zoo_open(&z), 0);
    assert_int_equal(list_names(&z, "all", &all), 0);
    expect_words("word", list_names(&z, word, &count), "expected word: and 1 to 128", 0);
    expect_words("word", list_names(&z, long_word, &count), "expected word: and 1 to 128", 0);
    expect_words("word", zoo_find(&z, long_word + 5, "euler", &t), "expected word: and 1 to", 0);
    expect_words("list", list_names(&z, "heun,,rk4", &count), "expected scheme names", 0);
    expect_words("long", list_names(&z, file, &count), "unknown scheme 'xxx", 0);
    expect_words("long", zoo_find(&z, file, "euler", &t), "unknown scheme", 0);
    file[TABLE_NAME - 1] = '\0';
    expect_words("long", list_names(&z, file, &count), "unknown scheme", 0);
    expect_words("sandwich", list_names(&z, "sandwich:,2", &count), "expected sandwich:N-K", 0);
    expect_words("sandwich", list_names(&z, "sandwich:3", &count), "expected sandwich:N-K", 0);
    assert_int_equal(list_names(&z, "sandwich:3,1,euler", &count), 0);
    assert_int_equal(count, 2);
    expect_words("folder", zoo_read(&z, folder), "", 1);
    assert_non_null(strstr(error_text(), "cannot read"));
    expect_words("nowhere", zoo_read(&z, file_path("nowhere")), "", 1);
    assert_int_equal(zoo_read(&z, file_write("own", own, sizeof own - 1)), 0);
    assert_int_equal(list_names(&z, "all", &count), 0);
    assert_int_equal(count, all); /* a user's own replaces the form of that name */
    zoo_close(&z);
    free(word);
    free(long_word);
    free(file);
}

TEST(systems_are_refused)
{
    static const struct {
        const char *head;
        size_t n;
        const char *tail, *where;
    } bad[] = {
        {"system ", 160, "\n", "test:1:8: expected at most 159 bytes"},
        {"system x\nt-end 1e7\n", 0, "", "test:2:6: expected a number in"},
        {"system x\n", 80, " 1\n", "test:2:1: expected system, title"},
        {"system x\nGx = y\n", 0, "", "test:2:1: expected system, title"},
        {"system x\nG12345 = y\n", 0, "", "test:2:1: expected system, title"},
        {"system x\ntitle ", 4000, "\n", "test:2:1: expected a line of at most 4000"},
        {"system x\nparam 1 = 1\n", 0, "", "test:2:6: expected a name"},
        {"system x\nparam a 1\n", 0, "", "test:2:9: expected '='"},
        {"system x\nparam sin = 1\n", 0, "", "test:2:6: 'sin' is taken"},
        {"system x\nG = y99999\n", 0, "", "test:2:5: unknown name"},
        {"system x\nG = 1e-", 1, "\n", "test:2:6: expected an operator"},
        {"system x\nG = 0.", 1, "\n", "test:2:7: expected an operator"},
        {"system x\nG = 2^-x\n", 0, "", "test:2:8: unknown name"},
        {"system x\nG = 0X1\n", 0, "", "test:2:5: expected a decimal number"},
        {"system x\nF = softmax x : y\n", 0, "", "test:2:13: unknown name"},
        {"system x\nG 1\n", 0, "", "test:2:3: expected '='"},
    };
    System *s;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *text = repeated(bad[i].head, "a", bad[i].n, bad[i].tail);
        expect_words(text, system_parse("test", text, strlen(text), 0, 0, 1, &s), bad[i].where, 0);
        free(text);
    }
    static const char nul[] = "system x\nG = \0";
    expect_words("nul", system_parse("test", nul, sizeof nul, 0, 0, 1, &s), "test:2:1: ", 0);
    expect_words("n", system_parse("test", "", 0, 1 << 20, 0, 1, &s), "test: expected at most", 0);
    expect_words("d", system_parse("test", "", 0, 0, 1000, 1, &s), "test: expected at most", 0);
    char *digits = repeated("system x\nG = 0.", "1", 70, "\n");
    expect_words(digits, system_parse("test", digits, strlen(digits), 0, 0, 1, &s),
                 "test:2:5: expected a number of fewer digits", 0);
    free(digits);
    char *text = repeated("system x\nG = y\ninitial = 1\n", "# %zu\n", 20000, "");
    const char *file = file_text("system", text);
    expect_words("long", system_read(file, 0, 0, 1, &s), "of at most 64 KiB", 1);
    file = file_write("system", text, 1000);
    assert_int_equal(system_read(file, 0, 0, 1, &s), 0); /* control: its beginning */
    system_free(s);
    free(text);
}

static int open_csv(const char *text, Csv *c)
{
    return csv_open(c, file_text("table.csv", text));
}

TEST(tables)
{
    Csv c;
    double x;
    expect_words("cr", open_csv("\"a\"\rb\n", &c), "table.csv:1: expected ',' after", 1);
    char *text = repeated("a", ",%zu", 256, "\n");
    expect_words("wide", open_csv(text, &c), "table.csv:1: expected at most 256 columns", 1);
    free(text);
    assert_int_equal(open_csv("a\rb,c\nnan,inf\n-1e3,\n", &c), 0);
    assert_string_equal(c.cell[0], "a\rb"); /* no line's end */
    expect_words("nan", csv_number(&c, 0, 0, &x), "table.csv:2: expected a number", 1);
    assert_int_equal(csv_number(&c, 0, 1, &x), 0);
    assert_true(isinf(x));
    assert_int_equal(csv_number(&c, 1, 0, &x), 0);
    assert_true(x == -1000);
    assert_int_equal(csv_number(&c, 1, 1, &x), 0);
    assert_true(isnan(x)); /* empty: undefined */
    assert_int_equal(csv_column(&c, "d"), -1);
    csv_close(&c);
    const char *file = file_write("long.csv", "a\n", 2);
    if (truncate(file, 1 << 27) != 0) skip(); /* a file system without such files */
    expect_words("long", csv_open(&c, file), "long.csv: expected a CSV file of at most 64 MiB", 1);
}

static int open_corpus(const char *name)
{
    Corpus c;
    int code = corpus_choose(file_path(name), &(CorpusChoice){LEVEL_WORD, 0, 1}, &c);
    if (code == 0) corpus_free(&c);
    return code;
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
    char *twice = repeated(text, "%zu\n", 1, text);
    expect_words("twice", vocab_read(file_text("v", twice), &v), "v:3: 'x", 1);
    free(twice);
    free(text);
}

TEST_MAIN(scratch_open, scratch_close)
