/* page.h: the page that `trotter report` writes, checked. */
#ifndef TROTTER_TEST_PAGE_H
#define TROTTER_TEST_PAGE_H

#include "tests/lib/html.h"
#include "tests/lib/program.h"

/* Returns 0 where every id stands once and every reference is to one that is there. */
static inline int ids_clash(const char *text)
{
    for (const char *s = strstr(text, " id=\""); s; s = strstr(s + 1, " id=\"")) {
        size_t n = strcspn(s + 5, "\"") + 6;
        for (const char *t = strstr(s + 1, " id=\""); t; t = strstr(t + 1, " id=\""))
            if (memcmp(s, t, n) == 0) return 1;
    }
    for (const char *s = strstr(text, "href=\"#"); s; s = strstr(s + 1, "href=\"#")) {
        if (!strstr(text, formed(" id=\"%.*s\"", (int)strcspn(s + 7, "\""), s + 7))) return 1;
    }
    return 0;
}

static inline void check_page(const char *name, const char *text)
{
    const char *bad = html_unbalanced(text);
    if (bad) fail_msg("%s: tags are not balanced at '%.80s'", name, bad);
    bad = html_reaching_out(text);
    if (bad) fail_msg("%s: '%.80s'", name, bad);
    if (ids_clash(text)) fail_msg("%s: ids clash or are missing", name);
}

/* Returns the page of `trotter report DIR`, checked, which is there until the next one. The program's messages stay in
 * `said`. */
static char said[16384], *page;

static inline char *page_of(const char *dir)
{
    run_ok("report %s --out %s.html", dir, dir);
    assert_string_equal(out, "");
    snprintf(said, sizeof said, "%.16000s", err);
    page = file_slurp(formed("%s.html", dir), NULL);
    check_page(dir, page);
    return page;
}

/* Checks a directory's page, which has all of these words; those behind a '~' it has not. */
#define PAGE_HAS(dir, ...) text_has(dir, page_of(dir), (const char *const[]){__VA_ARGS__, NULL})

static inline void make_dir(const char *name)
{
    assert_int_equal(mkdir(file_path(name), 0777), 0);
}

#define COMPARE_HEAD                                                                            \
    "scheme,order,system,measured,layers,evals_F,evals_G,truncation,truncation_low,truncation_" \
    "high,truncation_slope,params,valid_ppl,valid_low,valid_high,test_ppl,test_low,test_high,"  \
    "test_diff,test_diff_low,test_diff_high,test_diff_p,rate,dropout,tokens_per_s,peak_bytes\n"
#define COMPARE_ROW                                                                             \
    "strang-marchuk:heun,2,attention,1.99912,8,16,16,0.0034567,0.0031234,0.0039876,-2.99e-5,"   \
    "123456789,125.891,123.112,128.345,118.123,114.456,121.789,-12.345,-15.678,-9.876,0.00012," \
    "0.004,0.1,123456,123456789012\n"

#endif
