/* test_site.c: the atlas of a few methods: its links lead somewhere, each page has each section or says why not, and it is
 * small. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

/* Prints each link of the pages of the folder that leads to no file, or an empty one. */
static const char dead[] =
    "cd site && for f in *.html */*.html; do grep -oE '(href|src)=\"[^\"#]+' $f | sed 's/^[a-z]*=\"//' | sort -u | "
    "while read -r l; do case $l in data:*|http*) ;; *) [ -s \"$(dirname $f)/$l\" ] || echo \"$f: $l\" ;; esac; done; done";

/* Returns the first section that a method's page lacks, or has without a word behind its title; NULL: none. */
static const char *lacking(const char *page)
{
    static const char *const section[] = {"text", "told",  "regions",    "convergence",
                                          "work", "block", "perplexity", "certificate"};
    static const char *const part[] = {"order", "terms", "tableau", "conditions"};
    char mark[64];
    for (size_t i = 0; i < sizeof section / sizeof *section; i++) {
        snprintf(mark, sizeof mark, "<section id=\"%s\">", section[i]);
        const char *at = strstr(page, mark), *title = at ? strstr(at, "</h2>") : NULL;
        if (!at || !title || strncmp(title, "</h2>\n</section>", 16) == 0) return section[i];
    }
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        snprintf(mark, sizeof mark, "data-part=\"%s\">", part[i]);
        const char *at = strstr(page, mark);
        if (!at || strncmp(at + strlen(mark), "\n</div>", 7) == 0) return part[i];
    }
    return NULL;
}

static const char typed_js[] = "build/wasm/typed.js";

/* wasm: what tells of a scheme that is typed. */
static void make_site(const char *methods, const char *wasm)
{
    char root[PATH_MAX];
    assert_non_null(getcwd(root, sizeof root));
    run_ok("manual --out man");
    shell_ok(
        "H=$PWD && cd %s && TROTTER=%s WORK=$H/work MAN=$H/man WASM=%s sh studies/page/site/site.sh $H/site %s 2>$H/log",
        root, program, wasm, methods);
}

TEST_DRAWN(links_and_sections)
{
    static const char *const names[] = {"rk4", "macaron", "radau-iia5", "dormand-prince",
                                        "polynet"};
    char path[128];
    make_site("rk4 macaron radau-iia5 dormand-prince polynet", "none.js");
    HAS(file_slurp("log", NULL), "make site: 5 of 5 methods", "site/index.html, ",
        "a scheme that is typed is not told of: make wasm (Emscripten) writes none.js");
    HAS(file_slurp("site/typed.html", NULL), "made without <code>make wasm</code>");
    shell("%s", dead);
    assert_string_equal(out, "");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "site/methods/%s.html", names[i]);
        char *text = file_slurp(path, NULL);
        const char *lacks = lacking(text);
        if (lacks) fail_msg("%s lacks %s", names[i], lacks);
        if (i == 1) {
            HAS(text, "../findings/one-layer.html", "class=\"box F\">attention<");
        }
        if (i > 0) continue;
        HAS(text, "<b class=\"order\">4</b>", "<tr class=\"weights\">",
            "<figure data-draw=\"star\">", "h,steps,evals,error", "its error",
            "../certificates/rk4.json");
    }
    /* controls: a file less, a section less */
    shell("rm site/certificates/rk4.json; %s", dead);
    assert_string_equal(out, "methods/rk4.html: ../certificates/rk4.json\n");
    char *text = file_slurp("site/methods/rk4.html", NULL);
    memcpy(strstr(text, "<section id=\"block\">"), "<section id=\"clock\">", 20);
    assert_string_equal(lacking(text), "block");
}

/* Prints a page as the browser has it when its scripts have run. */
static void browse(const char *page)
{
    assert_int_equal(
        shell("HOME=$PWD timeout 200 chromium --headless --no-sandbox --disable-gpu --no-first-run "
              "--disable-dev-shm-usage --user-data-dir=$PWD/browser --virtual-time-budget=5000 "
              "--dump-dom file://$PWD/site/%s",
              page),
        0);
}

/* In a browser, without a server, the charts are drawn, and the index counts its rows; control: without the script there is no
 * chart. */
TEST_DRAWN(charts_in_a_browser)
{
    need_tool("chromium");
    make_site("heun-euler", "none.js");
    browse("index.html");
    HAS(out, "1 of 1 methods", "data-value=\"2\"");
    browse("methods/heun-euler.html");
    assert_int_equal(count_words(out, "<svg"), 4);
    HAS(out, "measured order 2.0", "gsl:rkf45</span>");
    shell_ok("echo >site/scheme.js");
    browse("methods/heun-euler.html");
    assert_int_equal(count_words(out, "<svg"), 0);
}

/* A scheme that is typed into the page, opened as a file, is told of in the words of the program, byte for byte; of one
 * scheme of ten of the zoo, of all where TROTTER_SITE_ALL is set. */
TEST_DRAWN(a_scheme_typed_in_a_browser)
{
    char root[PATH_MAX];
    need_tool("chromium");
    need_tool("python3");
    assert_non_null(getcwd(root, sizeof root));
    if (access(typed_js, R_OK) != 0) {
        printf("# skipped: no %s, which make wasm writes\n", typed_js);
        skip();
    }
    make_site("euler", typed_js);
    assert_null(strstr(file_slurp("log", NULL), "make wasm (Emscripten)"));
    run_ok("schemes --print --scheme all,implicit,exponential,rosenbrock >zoo");
    int status = shell(
        "timeout 900 python3 %s/tests/python/site_page.py $PWD/site/typed.html %s/build/release/typed zoo",
        root, root);
    printf("# %s", out);
    if (status != 0) fail_msg("%.600s%.1200s", out, err);
}

TEST_MAIN(program_open, program_close)
