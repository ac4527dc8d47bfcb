/* test_verify.c: the program's `verify`: every claim has its registered verdict and every mutant another one;
 * the reports hold every claim; claims without a meaning are refused. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

enum { ROWS = 200, ID, SOURCE, CLAIM, EXPECTED, VERDICT, EVIDENCE, ORIGIN, COLUMNS = 7 };

/* Runs `trotter verify ARGUMENTS`; returns its stdout (caller: free) and stores its exit status. */
static char *run(const char *arguments, int *status)
{
    char line[1024];
    snprintf(line, sizeof line, "verify %s", arguments);
    *status = program_run(line);
    return strdup(out);
}

/* ---- CSV ------------------------------------------------------------------------------------------ */

typedef struct {
    char *cell[ROWS][COLUMNS]; /* point into the text, which is cut up */
    int rows;
} Csv;

/* Takes one cell off *at (RFC 4180), unquoted in place; returns what ended it: ',' or '\n'. */
static char take(char **at, char **cell)
{
    char *in = *at, *to = in;
    int quoted = *in == '"';
    in += quoted;
    for (*cell = to; *in; in++) {
        if (quoted && *in == '"' && *++in != '"') break;
        if (!quoted && (*in == ',' || *in == '\n')) break;
        *to++ = *in;
    }
    char end = *in;
    *at = in + (end != '\0');
    *to = '\0';
    return end;
}

/* Reads the rows after the header, which must have the seven columns. */
static void parse(char *text, Csv *csv)
{
    static const char header[] = "id,source,claim,expected,verdict,evidence,origin\n";
    assert_int_equal(strncmp(text, header, strlen(header)), 0);
    csv->rows = 0;
    for (char *at = text + strlen(header); *at; csv->rows++) {
        assert_true(csv->rows < ROWS);
        for (int i = 0; i < COLUMNS; i++)
            assert_int_equal(take(&at, &csv->cell[csv->rows][i]), i + 1 < COLUMNS ? ',' : '\n');
    }
}

static char *cell(Csv *csv, int row, int column)
{
    return csv->cell[row][column - ID];
}

/* Counts the rows whose verdict is the expected one. */
static int as_expected(Csv *csv)
{
    int n = 0;
    for (int i = 0; i < csv->rows; i++)
        n += strcmp(cell(csv, i, EXPECTED), cell(csv, i, VERDICT)) == 0;
    return n;
}

static int starting(Csv *csv, int column, const char *with)
{
    int n = 0;
    for (int i = 0; i < csv->rows; i++) n += strncmp(cell(csv, i, column), with, strlen(with)) == 0;
    return n;
}

/* ---- the claims ------------------------------------------------------------------------------------- */

TEST(test_verdicts)
{
    Csv csv;
    int status;
    char *text = run("--csv", &status);
    parse(text, &csv);
    for (int i = 0; i < csv.rows; i++)
        if (strcmp(cell(&csv, i, EXPECTED), cell(&csv, i, VERDICT)) != 0)
            fail_msg("%s: %s; %s", cell(&csv, i, ID), cell(&csv, i, VERDICT),
                     cell(&csv, i, EVIDENCE));
    assert_int_equal(status, 0);
    assert_true(csv.rows >= 70);
    assert_int_equal(starting(&csv, VERDICT, "undecided"), 0);
    assert_true(starting(&csv, VERDICT, "refuted") >= 5);
    assert_true(starting(&csv, VERDICT, "holds only if ") >= 15);
    print_message("# %d claims have their registered verdict\n", csv.rows);
    free(text);
}

/* A claim that one error is smaller has evidence that counts fields; it is verified only if it holds on all
 * of them. */
TEST(test_fields)
{
    Csv csv;
    int status, counted = 0, fewer = 0;
    char *text = run("--csv", &status);
    parse(text, &csv);
    for (int i = 0; i < csv.rows; i++) {
        int fields, below;
        const char *on = strstr(cell(&csv, i, EVIDENCE), "measured at h = 1/128 on ");
        const char *smaller = on ? strstr(on, "below 1 on ") : NULL;
        if (!smaller) continue;
        assert_int_equal(sscanf(on, "measured at h = 1/128 on %d", &fields), 1);
        assert_int_equal(sscanf(smaller, "below 1 on %d", &below), 1);
        if ((strcmp(cell(&csv, i, VERDICT), "verified") == 0) != (below == fields))
            fail_msg("%s: %s, on %d of %d fields", cell(&csv, i, ID), cell(&csv, i, VERDICT), below,
                     fields);
        counted++;
        fewer += below < fields;
    }
    assert_true(counted >= 2 && fewer >= 1);
    free(text);
}

/* Each claim's record is complete, and no id occurs twice. */
TEST(test_records)
{
    Csv csv;
    int status;
    char *text = run("--csv", &status);
    parse(text, &csv);
    for (int i = 0; i < csv.rows; i++) {
        for (int k = ID; k <= EVIDENCE; k++) assert_true(*cell(&csv, i, k));
        for (int j = 0; j < i; j++) assert_string_not_equal(cell(&csv, i, ID), cell(&csv, j, ID));
        if (strstr(cell(&csv, i, EVIDENCE), "nan")) fail_msg("%s: nan", cell(&csv, i, ID));
    }
    assert_true(starting(&csv, SOURCE, "Macaron Net") > 10);
    assert_true(starting(&csv, SOURCE, "ODE Transformer") > 20);
    assert_true(starting(&csv, SOURCE, "Sandwich Transformer") > 2);
    /* every row has one of the four origins, and the summary counts each apart */
    static const char *const origin[] = {"paper", "inference", "code", "own"};
    int told = 0, n[4];
    for (int o = 0; o < 4; o++) {
        told += n[o] = starting(&csv, ORIGIN, origin[o]);
        assert_true(n[o] > 0);
    }
    assert_int_equal(told, csv.rows);
    free(text);
    text = run("", &status);
    for (int o = 0; o < 4; o++) {
        char line[64];
        snprintf(line, sizeof line, "\n%-9s %3d claims: ", origin[o], n[o]);
        if (!strstr(text, line)) fail_msg("no line%s", line);
    }
    free(text);
}

/* Every mutant's verdict is decided and is not the registered one. This also shows that as_expected, the
 * counter of test_verdicts, can say no. */
TEST(test_mutants)
{
    Csv csv, mutant;
    int status;
    char *text = run("--csv", &status), *altered = run("--mutants --csv", &status);
    assert_int_equal(status, 0);
    parse(text, &csv);
    parse(altered, &mutant);
    assert_int_equal(csv.rows, mutant.rows);
    for (int i = 0; i < csv.rows; i++) {
        assert_string_equal(cell(&csv, i, ID), cell(&mutant, i, ID));
        if (strcmp(cell(&csv, i, VERDICT), cell(&mutant, i, VERDICT)) == 0)
            fail_msg("the mutant of %s is not caught: %s", cell(&csv, i, ID),
                     cell(&mutant, i, CLAIM));
        assert_string_not_equal(cell(&mutant, i, VERDICT), "undecided");
        assert_int_equal(strncmp(cell(&mutant, i, CLAIM), "Mutant: ", 8), 0);
    }
    assert_int_equal(as_expected(&csv), csv.rows);
    assert_int_equal(as_expected(&mutant), 0);
    print_message("# %d mutants, each with another verdict\n", mutant.rows);
    free(text);
    free(altered);
}

/* ---- the command --------------------------------------------------------------------------------------- */

TEST(test_choice)
{
    Csv csv;
    int status;
    char *text = run("--claim gate-order,lie-error --csv", &status);
    assert_int_equal(status, 0);
    parse(text, &csv);
    assert_int_equal(csv.rows, 2);
    assert_string_equal(cell(&csv, 0, ID), "gate-order");
    assert_string_equal(cell(&csv, 1, ID), "lie-error");
    free(text);
    text = run("--list", &status);
    assert_int_equal(status, 0);
    assert_non_null(strstr(text, "macaron-order"));
    free(text);
}

/* A user's own claims are judged: right ones in several forms, and the same with one thing wrong. */
TEST(test_own)
{
    static const char *const right[] = {
        "macaron order 1",
        "rk4 order 4",
        "no-residual order 0",
        "lie-trotter error 2: -1/2 F'G; 1/2 G'F",
        "lie-trotter error 2: 1/2 G'F - 1/2 F'G",
        "lie-trotter error 2: 1/4 G'F; .25 G'F;-1/2F'G;",
        "lie-trotter error 1:",
        "strang-marchuk error 2:",
        "strang-marchuk error 2: 0",
        "heun error 3: 1/12 H''(H,H) - 1/6 H'H'H",
        "euler error 2: -1/2 F'F - 1/2 F'G - 1/2 G'F - 1/2 G'G",
        "lie-trotter brackets 2: 2/4 [F,G]",
        "lie-trotter brackets 2: -1/2 [G,F]",
        "lie-trotter brackets 2: .5  [ F, G ];",
        "strang-marchuk brackets 2:",
        "strang-marchuk brackets 3: 1/12 [F,[F,G]]; -1/24 [[F,G],G]",
        "strang-marchuk brackets 3: 1/24 [G,[F,G]] + 1/12 [F,[F,G]]",
        "lie-trotter-decoder brackets 2: 1/2 [F,C] + 1/2 [F,G] - 1/2 [G,C]"};
    static const char *const wrong[] = {
        "macaron order 2",
        "rk4 order 3",
        "rk4 order 7",
        "lie-trotter error 2: 1/2 F'G; -1/2 G'F",
        "lie-trotter error 2: 1/2 G'F; 1/2 G'F; -1/2 F'G",
        "lie-trotter error 2:",
        "heun error 3: 1/12 H''(H,H) + 1/6 H'H'H",
        "lie-trotter brackets 2: 1/2 [G,F]",
        "lie-trotter brackets 2:",
        "strang-marchuk brackets 3: 1/12 [F,[F,G]]; 1/24 [[F,G],G]"};
    char line[400];
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        snprintf(line, sizeof line, "verify --own \"%s\" --csv", right[i]);
        run_ok(line);
        assert_int_equal(count_lines(out), 2);
        if (!strstr(out, ",verified,verified,")) fail_msg("%s: %s", right[i], out);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(line, sizeof line, "verify --own \"%s\" --csv", wrong[i]);
        expect(1, line);
        if (!strstr(out, ",verified,refuted,")) fail_msg("%s: %s", wrong[i], out);
    }
    file_text("gill.scheme",
              "scheme mine\nk1 = H(y)\nk2 = H(y + 2/3*k1)\ny' = y + 1/4*k1 + 3/4*k2\n");
    run_ok("verify --scheme-file gill.scheme --own \"mine order 2\" --claim lie-leading --csv");
    assert_int_equal(count_lines(out), 3);
    run_ok("verify --own \"lie-trotter error 2: -1/2 F'G; 1/2 G'F\" --steps");
    assert_non_null(strstr(out, "-1/2  F'G\n"));
    run_ok("verify --own \"heun error 3: 1/12 H''(H,H) - 1/6 H'H'H\" --steps");
    assert_non_null(strstr(out, "-1/6  H'H'H\n"));
}

/* A derivation has every term that `expand` has, however many. */
TEST(test_all_steps)
{
    run_ok("expand --scheme strang-marchuk --degree 4 --csv");
    size_t terms = (size_t)count_lines(out) - 1;
    run_ok("verify --claim strang-odd --steps");
    size_t shown = 0;
    for (const char *at = strstr(out, "  steps"); (at = strchr(at, '\n')) && at[1] == ' '; at++)
        shown++;
    assert_true(terms > 24);
    if (shown != terms) fail_msg("%zu of %zu terms: %s", shown, terms, out);
}

/* A text that is no claim is refused in a line, with the place of the mistake. */
TEST(test_own_refused)
{
    static const struct {
        const char *claim, *words;
    } bad[] = {
        {"macaron", "expected \"SCHEME order P\""},
        {"macaron order", "expected \"SCHEME order P\""},
        {"macaron order two", "expected \"SCHEME order P\""},
        {"macaron order 2 3", "expected \"SCHEME order P\""},
        {"order 2", "expected \"SCHEME order P\""},
        {"exact:1/0 order 2", "expected \"SCHEME order P\""},
        {"nothing order 2", "nothing"},
        {"rk4 order 8", "expected an order of 7 at most"},
        {"macaron error 99:", "expected an order of 7 at most"},
        {"macaron-decoder order 6", "expected an order of 5 at most of a decoder's scheme"},
        {"lie-trotter brackets 11:", "1 to 10"},
        {"heun brackets 2: [F,G]", "exact flows"},
        {"heun error 3: 1/0 F'G", "claim:1:19: expected a divisor other than zero"},
        {"heun error 3: 0/0 G'F", "claim:1:19: expected a divisor other than zero"},
        {"lie-trotter brackets 2: 1/0 [F,G]", "claim:1:29: expected a divisor other than zero"},
        {"lie-trotter error 2: 1/2 F'Q", "claim:1:28: expected a term in F or G"},
        {"lie-trotter error 2: 1/2 G'F rubbish; -1/2 F'G", "claim:1:30: expected +, - or ;"},
        {"lie-trotter error 2: 1/2 G'F; -1/2 F'G; F'F'F", "claim:1:45: expected terms of 2"},
        {"lie-trotter error 2: 1/2 H'H", "stages are all H"},
        {"heun error 3: 1/12 H''(H,H) - 1/6 F'F'F", "claim:1:35: expected a term in H"},
        {"lie-trotter brackets 2: foo", "claim:1:25: expected a commutator"},
        {"lie-trotter brackets 2: [F,H]", "claim:1:28: expected a commutator"},
        {"lie-trotter brackets 2: [F,[F,G]]", "claim:1:29: expected commutators of 2 letters"},
    };
    char line[400];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(line, sizeof line, "verify --own \"%s\"", bad[i].claim);
        must_refuse(line, bad[i].words);
    }
    must_refuse("verify --own \"rk4 order 4\" --mutants", "no mutant");
}

/* A user's claim is counted as theirs, beside the registered ones, and is compared with no register. */
TEST(test_own_words)
{
    expect(1, "verify --own \"rk4 order 3\" --claim lie-error --out yours");
    assert_non_null(strstr(out, "own-1  (yours: --own)\n"));
    assert_non_null(strstr(out, "\nyours       1 claims:   0 verified,  1 refuted"));
    assert_non_null(strstr(out, "; 1 as registered.\n"));
    assert_null(strstr(out, "EXPECTED"));
    run_ok("report yours");
    char *page = file_slurp("yours/report.html", NULL);
    assert_non_null(strstr(page, "0 of this project, 1 of yours): 1 verified, 1 refuted"));
    free(page);
    run_ok("verify --own \"rk4 order 4\"");
    assert_null(strstr(out, "registered"));
}

TEST(test_refusals)
{
    static const char *const bad[] = {"--claim lie-eror", "--claim lie-error,", "--claim ''",
                                      "--degree 3", "--out /dev/null/x --claim lie-error"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int status;
        free(run(bad[i], &status));
        if (status != 2) fail_msg("%s: exit status %d", bad[i], status);
    }
}

/* Returns whether braces that are not escaped are closed as often as opened, and never before. */
static int is_balanced(const char *tex)
{
    int depth = 0;
    for (const char *s = tex; *s && depth >= 0; s++) {
        if (*s == '\\' && s[1])
            s++;
        else
            depth += (*s == '{') - (*s == '}');
    }
    return depth == 0;
}

TEST(test_reports)
{
    Csv csv;
    int status;
    char heading[128], *text = run("--csv --out .", &status);
    assert_int_equal(status, 0);
    char *saved = file_slurp("verify.csv", NULL);
    assert_string_equal(text, saved);
    char *markdown = file_slurp("verify.md", NULL);
    char *tex = file_slurp("verify.tex", NULL);
    parse(text, &csv);
    for (int i = 0; i < csv.rows; i++) {
        snprintf(heading, sizeof heading, "\n## %s\n", cell(&csv, i, ID));
        if (!strstr(markdown, heading)) fail_msg("%s is not in the Markdown", cell(&csv, i, ID));
        snprintf(heading, sizeof heading, "\\subsection*{%s}\n", cell(&csv, i, ID));
        if (!strstr(tex, heading)) fail_msg("%s is not in the LaTeX", cell(&csv, i, ID));
    }
    assert_non_null(strstr(tex, "\\tfrac{1}{2}\\,h^{2}F'G\\allowbreak -\\tfrac{1}{2}\\,h^{2}G'F"));
    assert_non_null(strstr(tex, "(1 - h F)$^{-1}$ y"));
    assert_non_null(strstr(tex, "0 \\textless{}= k \\textless{} 2"));
    assert_non_null(strstr(tex, "\\end{document}\n"));
    assert_true(is_balanced(tex));
    assert_false(is_balanced(strstr(tex, "{article}") + 1)); /* control */
    free(text), free(saved), free(markdown), free(tex);
}

TEST_MAIN(program_open, program_close)
