/* test_report.c: the program's `report`: every kind of study is on the page, tags are balanced, text from files stays
 * text, drawings and notes reach nothing outside, and the same files give the same bytes (test_report_layout.c: paper and
 * screens). It runs the program named by TROTTER, as a user would. */
#include "tests/lib/test.h"

#include <fcntl.h>
#include <ftw.h>
#include <nettle/base64.h>

#include "studies/commands.h"
#include "studies/page/report/report.h"
#include "studies/base/output.h"
#include "tests/lib/page.h"

/* ---- a judge of pages ------------------------------------------------------------------------------ */

/* The judge sees what is wrong with these pages. */
TEST(test_judge)
{
    static const char *const torn[] = {
        "<p>a",      "<p>a</b>",         "a</p>", "<p>a & b</p>", "<p><i>a</p></i>",
        "<p a='<'>", "<p title=\"a></p>"};
    static const char *const reaching[] = {"<p onclick=\"x\">",
                                           "<script>",
                                           "<a href=\"x\">",
                                           "<img src=x>",
                                           "<img src=\"http://x/a.svg\">",
                                           "<img src=\"data:text/html;base64,AAAA\">",
                                           "<svg viewBox=\"0 0 1 1\">",
                                           "<use href=\"http://x/#a\">",
                                           "<g style=\"fill:url(x)\">"};
    for (size_t i = 0; i < sizeof torn / sizeof *torn; i++)
        if (!html_unbalanced(torn[i])) fail_msg("'%s' passes", torn[i]);
    for (size_t i = 0; i < sizeof reaching / sizeof *reaching; i++)
        if (!html_reaching_out(reaching[i])) fail_msg("'%s' passes", reaching[i]);
    assert_true(ids_clash("<p id=\"a\"><p id=\"a\">"));
    assert_true(ids_clash("<a href=\"#a\">"));
    check_page("a good one",
               "<!DOCTYPE html><meta a=\"b\"><p id=\"a\">1 &lt; 2 <a href=\"#a\">x</a><i/><img "
               "alt=\"on=\"" HTML_PICTURE "AAAA\"></p>");
}

/* ---- pages ----------------------------------------------------------------------------------------- */

/* Commands that need no corpus, all into the folders of one directory. The page shows the title of each, its command,
 * and definitions of columns (which: tests/studies/test_readers.c). */
static const struct {
    const char *arguments, *title;
} studies[] = {
    {"order --system linear --scheme euler,heun --halvings 4", "Measured order of convergence"},
    {"order --invariant --scheme euler --t-end 20", "Energy over long times"},
    {"solve --scheme rk4 --times 9", "Solution of a system"},
    {"schemes --scheme euler,heun", "Schemes"},
    {"schemes --structure --scheme euler,heun", "Schemes"},
    {"expand --scheme heun,lie-trotter --degree 3", "Error terms"},
    {"stability --scheme rk4 --points 21", "Stability"},
    {"stability --split --scheme lie-trotter --points 21", "Stability"},
    {"verify --claim lie-error", "The papers&#39; claims"},
    {"data --corpus markov", "Corpus"},
};
enum { STUDIES = sizeof studies / sizeof *studies };

TEST_DRAWN(test_studies)
{
    for (size_t i = 0; i < STUDIES; i++) run_ok("%s --out all/s%zu", studies[i].arguments, i);
    PAGE_HAS("all", "2 agree (slope against the exact order)", "<dt>stages</dt>",
             "<dt>evals_F</dt>", "<dt>evals_G</dt>", "~Left out");
    for (size_t i = 0; i < STUDIES; i++) {
        HAS(page, formed("trotter %s --out all/s%zu", studies[i].arguments, i));
        HAS(page, formed("</span>%s</h2>", studies[i].title));
    }
    if (has_tool("gnuplot")) HAS(page, "<figcaption>");
}

/* Returns whether every cell of a table that a command prints, below its rule, stands on the page, digit for digit. */
static int all_stand(char *text)
{
    char cell[256], *rule = strstr(text, "\n---"),
                    *table = rule ? strchr(rule + 1, '\n') + 1 : NULL;
    int all = rule != NULL;
    for (char *line, *word; table && (line = strsep(&table, "\n")) && *line;)
        while ((word = strsep(&line, " "))) {
            snprintf(cell, sizeof cell, ">%s<", word);
            if (*word && !strstr(page, cell)) all = 0;
        }
    return all;
}

/* Returns the last digit of the number with most digits: spoilt, it stands nowhere else by chance. */
static char *last_digit_of_longest(char *text)
{
    char *best = NULL;
    for (size_t most = 0, n; *text; text += n + !n) {
        n = strspn(text, "0123456789.");
        if (n > most) most = n, best = text + n - 1;
    }
    return best;
}

/* The page has the numbers of the commands' own tables; a number that is spoilt in its last digit is not on it. */
TEST(test_numbers)
{
    static const char *const lines[] = {
        "schemes --scheme rk4,lie-trotter,ab5",
        "stability --scheme euler,rk4 --points 21",
        "order --invariant --scheme euler,rk4 --t-end 20",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        run_ok("%s --out numbers", lines[i]);
        char *table = kept_text(strdup(out)), *spoilt = kept_text(strdup(out));
        page_of("numbers");
        if (!all_stand(table)) fail_msg("%s: other numbers on the page", lines[i]);
        char *digit = last_digit_of_longest(spoilt);
        *digit = *digit == '9' ? '8' : (char)(*digit + 1);
        assert_false(all_stand(spoilt));
        shell_ok("rm -r numbers");
    }
}

/* Formulas are set where a column's list says so and nowhere else; their plain text goes with them. */
TEST(test_formulas)
{
    run_ok("expand --scheme heun --degree 3 --out formulas");
    PAGE_HAS("formulas", "<math alttext=\"F&#39;&#39;(F,G)\"><mi>F</mi><mo>″</mo>",
             "<math alttext=\"-1/6\"><mo>−</mo><mfrac><mn>1</mn><mn>6</mn></mfrac></math>",
             "<math alttext=\"O(h^(p+1))\">", "~alttext=\"heun");
    assert_null(strchr(strstr(page, "<body>"), '$'));
}

/* The same files give the same bytes; the page itself is not one of the studies. */
TEST(test_same)
{
    run_ok("order --system linear --scheme euler --halvings 4 --out same/a");
    run_ok("schemes --scheme euler --out same/b");
    run_ok("report same");
    assert_true(file_exists("same/report.html"));
    shell_ok("cp same/report.html first.html");
    run_ok("report same/");
    assert_true(same_files("same/report.html", "first.html"));
    run_ok("schemes --scheme heun --out same/b");
    run_ok("report --dir same");
    assert_false(same_files("same/report.html", "first.html"));
}

/* A comparison's trainings are rows of its runs.csv; their folders, also shared ones beside it to which it links, are no
 * studies. A training by itself is one. */
TEST(test_comparison)
{
    corpus_write("corpus", 600, 60);
    shell_ok("mkdir -p both/runs-brief both/cmp; ln -s ../runs-brief both/cmp/runs");
    run_ok("compare --corpus corpus --scheme euler,transformer --seeds 2 --epochs 1 --truncation "
           "1" SMALL_TRAINING "--out both/cmp");
    assert_true(file_exists("both/runs-brief/euler-seed1/truncation.csv"));
    PAGE_HAS("both", "Comparison of schemes</h2>", "cmp/runs.csv</code>, 5 rows",
             "trotter compare --corpus corpus --scheme euler,transformer", "<span class=\"ci\">±",
             "~</span>Training</h2>", "~Left out");
    run_ok("report both/cmp/runs/euler-seed2 --out one.html");
    assert_true(file_has("one.html", "</span>Training</h2>"));
}

/* ---- text from files -------------------------------------------------------------------------------- */

#define COMMANDS_HEAD "time,command,version,machine,status,words\n"
#define SCHEMES "scheme,real_limit,imag_limit\neuler,-2,0\n"
#define ORDER_HEAD "scheme,system,expected,measured,low,high,constant,verdict,predicted,match\n"

TEST(test_escapes)
{
    shell_ok("mkdir -p 'odd/<b onclick=alert(1)>&'");
    file_text("odd/<b onclick=alert(1)>&/summary.csv", ORDER_HEAD
              "<script>alert(1)</script>,\"a\"\"b'&amp;\",1,1,1,1,</td><td>,disagree,\x01,x\n");
    file_text("odd/<b onclick=alert(1)>&/README.md",
              "# <h1>\n\n| a | `<i>` |\n[to](javascript:alert(1)) <a href='x'>b</a></pre>\n");
    file_text("odd/<b onclick=alert(1)>&/commands.csv",
              COMMANDS_HEAD "now,trotter order --out '</pre><script>',1,<m>,1,<words>\n");
    PAGE_HAS("odd", "&lt;script&gt;alert(1)&lt;/script&gt;",
             "trotter order --out &#39;&lt;/pre&gt;&lt;script&gt;&#39;", "1 disagree",
             "ended with status 1: &lt;words&gt;", "\xef\xbf\xbd",
             "<pre># &lt;h1&gt;\n\n| a | `&lt;i&gt;` |\n[to](javascript:alert(1)) "
             "&lt;a href=&#39;x&#39;&gt;b&lt;/a&gt;&lt;/pre&gt;\n</pre>");
}

TEST(test_broken_tables)
{
    static const char *const bad[] = {ORDER_HEAD "euler,1\n", ORDER_HEAD "\"euler",
                                      ORDER_HEAD "a,b\"c\n", "scheme,system,expected,measured"};
    make_dir("torn");
    file_text("torn/good.csv",
              "scheme,real_limit,imag_limit\neuler,-2,0\nrk4,-2.7853,2.828427\nx,,inf\n");
    file_text("torn/other.csv", "name,age\nx,1\n");
    file_text("torn/empty.csv", "");
    file_write("torn/nul.csv", ORDER_HEAD "a\0b,1\n", sizeof ORDER_HEAD + 5);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        file_text("torn/bad.csv", bad[i]);
        PAGE_HAS("torn", "other.csv: not a table", "empty.csv: not a table",
                 "Left out: torn/nul.csv: ", ">-2.7853</td>", ">inf</td>");
        if (i < 3) HAS(page, "Left out: torn/bad.csv:2: ");
        HAS(said, "trotter report: warning: left out: torn/nul.csv: ");
    }
}

/* ---- drawings --------------------------------------------------------------------------------------- */

#define SVG(inside) "<svg viewBox='0 0 9 9' xmlns='http://www.w3.org/2000/svg'>" inside "</svg>"

/* Drawings with more than shapes, which a browser does not run, follow or load in an image. */
static const char *const hostile[] = {
    SVG("<script>alert(1)</script>"),
    SVG("<g onload='alert(1)'/>"),
    SVG("<use href='http://x/#a'/>"),
    SVG("<image href='http://x/a.png'/>"),
    SVG("<a href='javascript:alert(1)'><rect/></a>"),
    SVG("<foreignObject><p onclick='x'/></foreignObject>"),
    SVG("<style>@import 'http://x/a.css';</style>"),
    "<svg>\"><script>alert(1)</script><img src='</svg>\n",
    "<?xml version='1.0'?>\n<!DOCTYPE svg [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>" SVG("&x;"),
};

static const char *const torn_drawings[] = {
    "",       "GIF89a",   "<html></html>",           "<?xml version='1.0'?><html></html>",
    "</svg>", "<svg><g>", "<?xml version='1.0'?>\n", " " SVG(""),
};

/* Checks that the page's only image has these bytes. */
static void picture_is(const char *text)
{
    static uint8_t bytes[1 << 16];
    struct base64_decode_ctx c;
    const char *s = strstr(page, HTML_PICTURE);
    assert_non_null(s);
    assert_null(strstr(s + 1, "<img"));
    s += strlen(HTML_PICTURE);
    size_t letters = strcspn(s, "\""), n = sizeof bytes;
    assert_true(BASE64_DECODE_LENGTH(letters) <= n);
    base64_decode_init(&c);
    assert_int_equal(base64_decode_update(&c, &n, bytes, letters, s), 1);
    assert_int_equal(base64_decode_final(&c), 1);
    if (n != strlen(text) || memcmp(bytes, text, n) != 0) fail_msg("'%.80s' is changed", text);
    assert_null(strstr(page, "alert"));
}

/* A drawing is an image with a text for those who do not see it. Its bytes are the file's, also of a long one. */
TEST(test_drawings)
{
    static char big[9000];
    make_dir("drawn");
    snprintf(big, sizeof big, "<svg>%8000s</svg>", "");
    for (size_t i = 0; i <= sizeof hostile / sizeof *hostile; i++) {
        const char *text = i < sizeof hostile / sizeof *hostile ? hostile[i] : big;
        file_text("drawn/order.svg", text);
        PAGE_HAS("drawn",
                 "<img alt=\"Error against step. Dotted: slopes of whole orders. order.svg\"");
        picture_is(text);
    }
}

/* Writes a drawing of so many bytes. */
static void write_big(const char *name, size_t bytes)
{
    shell_ok("{ printf '<svg>'; head -c %zu /dev/zero | tr '\\0' ' '; printf '</svg>'; } >%s",
             bytes - strlen("<svg></svg>"), name);
}

TEST(test_torn_drawings)
{
    make_dir("torn-drawings");
    for (size_t i = 0; i <= sizeof torn_drawings / sizeof *torn_drawings; i++) {
        if (i < sizeof torn_drawings / sizeof *torn_drawings)
            file_text("torn-drawings/order.svg", torn_drawings[i]);
        else
            write_big("torn-drawings/order.svg", (4 << 20) + 1);
        PAGE_HAS("torn-drawings", "~<img", "~<figure", "Left out: order.svg: ");
        HAS(said, "left out: order.svg: ");
    }
    write_big("torn-drawings/order.svg", 4 << 20);
    file_text("torn-drawings/mine.svg", SVG(""));
    PAGE_HAS("torn-drawings", "<img", "mine.svg: not a plot");
}

/* One command fills a folder with two studies: its end is shown at the comparison, not at the order study beside it. */
TEST(test_ended)
{
    static const char order[] = "Measured order of convergence</h2>", end[] = "nded with status 1";
    make_dir("ended");
    file_text("ended/compare.csv", COMPARE_HEAD COMPARE_ROW);
    file_text("ended/summary.csv", ORDER_HEAD "heun,linear,2,2,2,2,1,agree,1,agree\n");
    file_text("ended/commands.csv", COMMANDS_HEAD "now,trotter compare --out ended,1,m,1,weak\n");
    PAGE_HAS("ended", order);
    HAS(strstr(page, "Comparison of schemes</h2>"), "nded with status 1: weak");
    assert_null(strstr(strstr(page, order), end));
    file_text("ended/commands.csv", COMMANDS_HEAD "now,trotter order --out ended,1,m,1,odd\n");
    PAGE_HAS("ended", order); /* the control */
    HAS(strstr(page, order), "nded with status 1: odd");
}

/* ---- unusable input --------------------------------------------------------------------------------- */

TEST(test_refusals)
{
    static const char *const bad[][2] = {
        {"", "say of which directory"},
        {"nothing", "nothing: no study in it"},
        {"nowhere", "nowhere/report.html: No such file"},
        {"a.txt", "a.txt/report.html: Not a directory"},
        {"little --out nothing", "cannot write nothing: it is not a regular file"},
        {"little --out a.txt/page.html", "cannot write a.txt/page.html"},
        {"little --out new/page.html", "cannot write new/page.html"}};
    make_dir("nothing");
    file_text("a.txt", "a");
    run_ok("schemes --scheme euler --out little");
    REFUSE_ALL("report %s", bad, "little/report.html");
    run_ok("report little --out page.html --title 'A & B'");
    assert_true(file_has("page.html", "<title>A &amp; B</title>"));
}

/* Long texts are shown in part. */
TEST(test_notes)
{
    char text[4096] = "    x < y\n\n";
    run_ok("schemes --scheme euler --out noted");
    for (int i = 0; i < 250; i++) strcat(text, "word\n");
    file_text("noted/README.md", text);
    file_text("noted/config.ini", text);
    PAGE_HAS("noted", "    x &lt; y", "Its beginning: at most 200 lines and 64 KiB.");
}

/* The words of a command's Markdown are shown without its tables. */
TEST(test_words)
{
    make_dir("said");
    file_text("said/compare.csv", COMPARE_HEAD COMPARE_ROW);
    file_text("said/compare.md", "Two lines\nof <words>.\n\n| a | b |\n| --- | --- |\n\nAn end.\n");
    PAGE_HAS("said", "<div class=\"words\">Two lines\nof &lt;words&gt;.\n\nAn end.\n</div>");
}

/* The directory's own words stand before all studies, and only once where a study lies in it. */
TEST(test_front_words)
{
    static const char words[] = "Words of the whole.";
    run_ok("schemes --scheme euler --out front/study");
    file_text("front/README.md", "# A question\n\nWords of the whole.\n");
    for (int own = 0; own < 2; own++) {
        if (own) run_ok("schemes --scheme euler --out front");
        PAGE_HAS("front", words);
        assert_int_equal(strstr(page, words) > strstr(page, "<section"), own);
        assert_int_equal(count_words(page, words), 1);
    }
}

/* A link to another place, or back to itself, is reported and not followed. */
TEST(test_links)
{
    run_ok("schemes --scheme euler --out linked/a");
    shell_ok("ln -s .. linked/loop; ln -s a/schemes.csv linked/schemes.csv");
    PAGE_HAS("linked", "schemes.csv: not a file", "1 study");
}

/* A folder that is exchanged for a link after it was seen is not followed: neither when a page is written of what was found,
 * nor in the walk. Control: the page has the same words where they lie beneath its folder. */
static int exchange(void *arg, const WalkEntry *e)
{
    if (strcmp(e->path, "a") == 0)
        shell_ok("cd exchanged && mv a ../seen && ln -s ../outside a && ls a >/dev/null");
    if (strstr(e->path, "inner")) *(int *)arg = 1;
    return 0;
}

TEST(test_exchanged)
{
    assert_ptr_equal(command_all, command_table); /* what tables are told by; links them */
    shell_ok("mkdir outside exchanged");
    run_ok("schemes --scheme euler --out exchanged/a");
    run_ok("schemes --scheme heun --out outside");
    shell_ok("mkdir outside/inner && echo 'words outside' >outside/README.md");
    const char *root = file_path("exchanged");
    for (int control = 0; control < 2; control++) {
        SCOPED(found_free) Found found = {0};
        SCOPED(output_drop) Output o = {0};
        assert_int_equal(output_open(&o), 0);
        assert_int_equal(found_search(root, "", &found), 0);
        shell_ok(control ? "cd exchanged && cp ../outside/* a 2>/dev/null; true"
                         : "cd exchanged && mv a ../seen && ln -s ../outside a");
        assert_int_equal(summary_write(&(Summary){.found = &found, .f = o.f}, "x"), 0);
        fflush(o.f);
        HAS(o.text, control ? "words outside" : "~words outside", control ? "heun" : "~heun",
            control ? "~Left out" : "Left out");
        if (!control) shell_ok("cd exchanged && rm a && mv ../seen a");
    }
    int led_out = 0, folder_of = open(root, O_PATH | O_CLOEXEC);
    assert_int_equal(output_walk(folder_of, exchange, &led_out), 0);
    assert_int_equal(led_out, 0);
    close(folder_of);
    folder_of = open(file_path("outside"), O_PATH | O_CLOEXEC);
    assert_int_equal(output_walk(folder_of, exchange, &led_out), 0); /* control: it is seen there */
    assert_int_equal(led_out, 1);
    close(folder_of);
}

/* The page names every file that it leaves out, however many there are. Commands are no study. */
TEST(test_all_named)
{
    shell_ok(
        "mkdir -p many/alone; for i in $(seq 0 59); do printf 'busy,round,policy\n0,1,default\n' "
        ">many/own-$i.csv; done");
    file_text("many/schemes.csv", SCHEMES);
    file_text("many/commands.csv", COMMANDS_HEAD);
    file_text("many/alone/commands.csv", COMMANDS_HEAD);
    PAGE_HAS("many",
             "~commands.csv: ", "(<code>trotter stability</code> with options) was not recorded");
    for (int i = 0; i < 60; i++) {
        HAS(page, formed("<li>own-%d.csv: not a table", i));
    }
    HAS(said, "left out: 60 files");
}

static size_t all_named;

/* Tells nftw whether the page lacks a table below studies/results. commands.csv has no name on the page, only its
 * studies do. */
static int is_named(const char *path, const struct stat *st, int type, struct FTW *at)
{
    size_t n = strlen(path);
    (void)st;
    if (type != FTW_F || n < 4 || strcmp(path + n - 4, ".csv") != 0) return 0;
    if (strcmp(path + at->base, "commands.csv") == 0) return 0;
    all_named++;
    return strstr(page, path + strlen("studies/results/")) == NULL;
}

/* The page of all results has plots and names every recorded table. Control: without its names it has none. */
TEST(test_recorded_results)
{
    char *results = realpath("studies/results", NULL);
    run_ok("report '%s' --out results.html", results);
    free(results);
    page = file_slurp("results.html", NULL);
    HAS(page, "<img");
    assert_int_equal(nftw("studies/results", is_named, 16, FTW_PHYS), 0);
    assert_true(all_named > 100);
    for (char *end; (end = strstr(page, ".csv"));) *end = ' ';
    assert_int_equal(nftw("studies/results", is_named, 16, FTW_PHYS), 1);
}

/* ---- the record beside results ------------------------------------------------------------------------ */

TEST(test_record)
{
    run_ok("schemes --scheme euler --out 'it'\\''s'");
    run_ok("schemes --scheme \"heun,rk4\" --out \"it's\"");
    char *text = file_slurp("it's/commands.csv", NULL);
    assert_int_equal(count_lines(text), 3);
    HAS(text, ",trotter schemes --scheme euler --out 'it'\\''s',");
    HAS(text, "\"trotter schemes --scheme heun,rk4 --out 'it'\\''s'\",");
    assert_null(strstr(text, folder));
    file_text("kink.txt",
              "system kink\nn 1\nd 1\nG = 1 + abs(t - 0.3)\ninitial = 0\nt-end 1\nh0 1/8\n");
    /* disagrees: there is no order 4 at a kink */
    expect(1, "order --scheme rk4 --system-file kink.txt --out off");
    assert_true(file_has("off/commands.csv", ",1,1 of 1 schemes disagree"));
    must_refuse("schemes --scheme nosuch --out never", "nosuch");
    assert_false(file_exists("never"));
}

TEST_MAIN(program_open, program_close)
