/* test_report_layout.c: the page of `report` in a browser: paper loses no word, and nothing reaches beyond a screen or paper. */
#include "tests/lib/test.h"

#include "tests/lib/page.h"

/* ---- paper ------------------------------------------------------------------------------------------ */

/* Runs a browser with these arguments, for at most five minutes. The arguments may continue as a shell command. */
static void browse(const char *arguments)
{
    int status = shell("HOME=$PWD timeout 300 chromium --headless --no-sandbox --disable-gpu "
                       "--no-first-run --disable-background-networking --disable-component-update "
                       "--disable-sync --disable-dev-shm-usage --user-data-dir=$PWD/browser %s",
                       arguments);
    if (status != 0) fail_msg("the browser failed: %.400s", err);
}

/* Returns the page's words in a browser's print of it. */
static char *printed(const char *name)
{
    browse(formed("--no-pdf-header-footer --print-to-pdf=$PWD/page.pdf file://$PWD/%s && "
                  "pdftotext -raw page.pdf page.txt",
                  name));
    return file_slurp("page.txt", NULL);
}

/* Removes blanks, also thin and no-break ones, and marks of a line's end and direction. */
static void squeeze(char *text)
{
    static const char *const blank[] = {" ", "\n", "\r", "\t", "\f", "\xc2\xa0", "\xe2\x80\xaf"};
    char *to = text;
    while (*text) {
        size_t n = 0;
        for (size_t i = 0; i < sizeof blank / sizeof *blank && !n; i++)
            if (strncmp(text, blank[i], strlen(blank[i])) == 0) n = strlen(blank[i]);
        if (n)
            text += n;
        else
            *to++ = *text++;
    }
    *to = '\0';
}

/* Replaces entities by their characters. */
static void unescape(char *text)
{
    static const char *const entity[][2] = {
        {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
    for (char *s = text; (s = strchr(s, '&')); s++)
        for (size_t i = 0; i < sizeof entity / sizeof *entity; i++) {
            size_t n = strlen(entity[i][0]);
            if (strncmp(s, entity[i][0], n) != 0) continue;
            *s = *entity[i][1];
            memmove(s + 1, s + n, strlen(s + n) + 1);
            break;
        }
}

/* Returns the first words of the page that the paper lacks, where each has to follow the one before; NULL: none. The
 * paper may have more in between: words in drawings, repeated heads of tables. */
static char *lost(char *paper)
{
    squeeze(paper);
    for (const char *s = strstr(page, "<body>"); s && *s;) {
        s = strchr(s, '>') + 1;
        size_t n = strcspn(s, "<");
        char *words = kept_text(strndup(s, n));
        unescape(words);
        squeeze(words);
        char *found = strstr(paper, words);
        if (!found) return words;
        paper = found + strlen(words);
        s += n;
    }
    return NULL;
}

/* Writes a CSV file with so many more columns and rows, words and numbers in turn. */
static void write_wide(const char *name, const char *head, size_t columns, size_t rows)
{
    FILE *f = fopen(file_path(name), "w");
    assert_non_null(f);
    fputs(head, f);
    for (size_t j = 0; j < columns; j++) fprintf(f, ",column_of_number_%zu", j);
    for (size_t i = 0; i < rows; i++) {
        fprintf(f, "\nscheme-%zu", i);
        for (const char *s = head; (s = strchr(s, ',')); s++) fprintf(f, ",%zu", i);
        for (size_t j = 0; j < columns; j++)
            fprintf(f, j % 3 ? ",%zu.%zue-7" : ",word%zuof%zu", i, j);
    }
    fputc('\n', f);
    fclose(f);
}

#define W32 "lettersandlettersandlettersandmo"
#define WORD W32 W32 W32
/* A study's first table is shown; a long one after it is folded. */
TEST(test_folded)
{
    make_dir("folded");
    write_wide("folded/schemes.csv", "scheme,stages,evals_F,evals_G", 70, 30);
    write_wide("folded/structure.csv", "scheme,symmetric,symmetric_order,symmetric_separable", 0,
               30);
    PAGE_HAS("folded", "<caption><b>Table 1</b>",
             "<details class=\"table\">\n<summary><b>Table 2</b>");
    assert_int_equal(count_words(page, "<details class=\"table\">"), 1);
    HAS(page, "<dt>symmetric_order</dt>"); /* behind 74 other columns */
}

/* Writes the widest tables and words into a directory. */
static void write_widest(const char *dir, size_t rows)
{
    static const char notes[] =
        "| a | b | c |\n|---|--:|---|\n| words of a cell that has to be broken | "
        "1.25 ± 0.50 | " WORD WORD " |\n\nAn end.\n";
    char name[64];
    shell_ok("mkdir -p %s/wide %s/widest", dir, dir);
#define IN_DIR(file) (snprintf(name, sizeof name, "%s/" file, dir), name)
    file_text(IN_DIR("wide/compare.csv"), COMPARE_HEAD COMPARE_ROW WORD COMPARE_ROW);
    file_text(IN_DIR("wide/config.ini"), "[network]\nwidth = " WORD WORD "\n");
    file_text(IN_DIR("wide/README.md"), notes);
    write_wide(IN_DIR("widest/schemes.csv"), "scheme,stages,evals_F,evals_G", 60, rows);
#undef IN_DIR
}

/* Paper loses nothing of a page: not the evidence beside claims, not the last columns of the widest tables. Without the
 * style's rules for paper the same check finds the loss. */
TEST(test_paper)
{
    need_tool("chromium");
    need_tool("pdftotext");
    run_ok("verify --out paper/claims");
    write_widest("paper", 40);
    PAGE_HAS("paper", "~id=\"left\"");
    for (int control = 0; control < 2; control++) {
        char *paper = printed(control ? "control.html" : "paper.html"), *words = lost(paper);
        if (!words != !control) fail_msg("paper lacks '%s' or what is before it", words);
        char *rules = strstr(page, "@media print");
        if (rules) memcpy(rules, "@media other", 12);
        assert_true(control || rules);
        file_text("control.html", page);
    }
}

/* ---- screens ---------------------------------------------------------------------------------------- */

/* Writes a text with its HTML characters as entities. */
static void put_quoted(FILE *f, const char *text)
{
    for (; *text; text++)
        if (strchr("&\"<", *text))
            fprintf(f, "&#%d;", *text);
        else
            fputc(*text, f);
}

/* Returns a copy of the page where the rules for paper hold for screens too, and those for screens nowhere. */
static char *as_paper(const char *text)
{
    char *copy = kept_text(strdup(text)), *s;
    while ((s = strstr(copy, "@media print"))) memcpy(s, "@media   all", 12);
    while ((s = strstr(copy, "@media screen"))) memcpy(s, "@media speech", 13);
    return copy;
}

/* Pages in frames of so many pixels: two widths of screens, upright and lying paper less its margins. On upright paper
 * the check skips what is to lie across (page.css). */
static const struct {
    int width, paper;
    const char *name, *left_out;
} frames[] = {{1200, 0, "1200", ""},
              {390, 0, "390", ""},
              {680, 1, "upright", ".across"},
              {1009, 1, "across", ""}};

/* Measures every frame when all are there, details open: its own width against its content, and the right end of every
 * element and every line of text. */
static const char measure[] =
    "<script>addEventListener('load', () => {\n"
    "  for (const f of document.getElementsByTagName('iframe')) {\n"
    "    const d = f.contentDocument, s = d.scrollingElement, wide = s.clientWidth + 0.5;\n"
    "    const skip = e => f.title && e.closest(f.title), beyond = r => r.width && r.right > wide;\n"
    "    let bad = '', n = 0;\n"
    "    for (const e of d.getElementsByTagName('details')) e.open = true;\n"
    "    if (!f.title && s.scrollWidth > s.clientWidth) bad += ' page';\n"
    "    for (const e of d.body.getElementsByTagName('*'))\n"
    "      if (!skip(e) && ++n && beyond(e.getBoundingClientRect())) bad += ' ' + e.tagName;\n"
    "    const walk = d.createTreeWalker(d.body, NodeFilter.SHOW_TEXT), range = d.createRange();\n"
    "    while (walk.nextNode()) {\n"
    "      range.selectNodeContents(walk.currentNode);\n"
    "      if (!skip(walk.currentNode.parentElement) && [...range.getClientRects()].some(beyond))\n"
    "        bad += ' text';\n"
    "    }\n"
    "    document.getElementById('told').append(f.name + ':' + (n ? bad || ' fits' : ' empty') + ';');\n"
    "  }\n"
    "});</script>\n";

/* Returns a browser's measures of a page, "NAME: fits;" or what overflows, and after each the same of a control. One run
 * measures all, as its start takes seconds. */
static char *measured(const char *control)
{
    char *paper[] = {as_paper(page), as_paper(control)};
    FILE *f = fopen(file_path("frames.html"), "w");
    assert_non_null(f);
    fprintf(f, "<!DOCTYPE html><meta charset=\"utf-8\">%s<p id=\"told\"></p>\n", measure);
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        for (int j = 0; j < 2; j++) {
            fprintf(f,
                    "<iframe name=\"%s%s\" title=\"%s\" style=\"width: %dpx; border: 0\" srcdoc=\"",
                    j ? "not " : "", frames[i].name, frames[i].left_out, frames[i].width);
            put_quoted(f, frames[i].paper ? paper[j] : j ? control : page);
            fputs("\"></iframe>\n", f);
        }
    fclose(f);
    browse("--virtual-time-budget=10000 --dump-dom file://$PWD/frames.html >frames.txt");
    char *text = file_slurp("frames.txt", NULL), *told = strstr(text, "<p id=\"told\">");
    assert_non_null(told);
    *strchr(told + 1, '<') = '\0';
    return strchr(told, '>') + 1;
}

/* Nothing on the page reaches beyond a screen of 1200 or 390 pixels or beyond paper; without the style's sizes of type
 * and its blocks the same measure sees the overflow. The page itself has no script (check_page). */
TEST(test_overflow)
{
    need_tool("chromium");
    run_ok("expand --scheme heun,macaron --out fits/terms");
    run_ok("schemes --structure --out fits/schemes");
    run_ok("order --system linear --scheme euler,heun --halvings 4 --out fits/order");
    run_ok("verify --claim lie-error,strang-error --out fits/claims");
    write_widest("fits", 30);
    file_text("fits/order/order.svg",
              "<svg width='3000' height='90' xmlns='http://www.w3.org/2000/svg'></svg>");
    PAGE_HAS("fits", "~id=\"left\"", "<img alt=");
    char *control = kept_text(strdup(page)), expected[64];
    for (char *s; (s = strstr(control, "font-size: "));) memcpy(s, "font-dies: ", 11);
    for (char *s; (s = strstr(control, "display: flex"));) memcpy(s, "display: none", 13);
    for (char *s; (s = strstr(control, "overflow-wrap"));) memcpy(s, "undertow-wrap", 13);
    char *told = measured(control);
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        snprintf(expected, sizeof expected, "%s: fits;", frames[i].name);
        const char *found = strstr(told, expected);
        if (!found) fail_msg("%s does not fit: %.600s", frames[i].name, told);
        snprintf(expected, sizeof expected, "not %s: ", frames[i].name);
        found = strstr(told, expected);
        assert_non_null(found);
        if (strncmp(found + strlen(expected), "fits", 4) == 0) fail_msg("%s is not seen", expected);
    }
}

TEST_MAIN(program_open, program_close)
