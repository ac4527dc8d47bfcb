/* test_verify.c: the program's `verify`: every claim has its registered verdict and every mutant another one;
 * the reports hold every claim; claims without a meaning are refused. */
#include "tests/lib/test.h"

#include "studies/base/frame.h"
#include "tests/lib/program.h"

static Frame claims, mutants; /* the tables of `trotter verify` and of its mutants */

static int open_claims(void **state)
{
    if (program_open(state) != 0) return -1;
    run_ok("verify --mutants --csv");
    file_text("mutants.csv", out);
    run_ok("verify --csv --out .");
    file_text("printed.csv", out);
    return frame_read(&claims, strdup(file_path("verify.csv"))) ||
           frame_read(&mutants, strdup(file_path("mutants.csv")));
}

static int close_claims(void **state)
{
    free((char *)(uintptr_t)claims.file);
    free((char *)(uintptr_t)mutants.file);
    frame_close(&claims);
    frame_close(&mutants);
    return program_close(state);
}

static size_t starting(const char *column, const char *with)
{
    size_t n = 0;
    for (size_t i = 0; i < claims.rows; i++)
        n += strncmp(frame_text(&claims, i, column), with, strlen(with)) == 0;
    return n;
}

TEST(test_verdicts)
{
    int counted = 0, fewer = 0;
    for (size_t i = 0; i < claims.rows; i++) {
        const char *id = frame_text(&claims, i, "id"), *verdict = frame_text(&claims, i, "verdict"),
                   *evidence = frame_text(&claims, i, "evidence");
        if (strcmp(frame_text(&claims, i, "expected"), verdict) != 0)
            fail_msg("%s: %s; %s", id, verdict, evidence);
        for (int k = 0; k < 6; k++) assert_true(*frame_cell(&claims, i, k));
        for (size_t j = 0; j < i; j++) assert_string_not_equal(id, frame_text(&claims, j, "id"));
        if (strstr(evidence, "nan")) fail_msg("%s: nan", id);
        /* one error is smaller: evidence counts fields, and it is verified only if it holds on all of them */
        int fields, below;
        const char *on = strstr(evidence, "measured at h = 1/128 on ");
        const char *smaller = on ? strstr(on, "below 1 on ") : NULL;
        if (!smaller) continue;
        assert_int_equal(sscanf(on, "measured at h = 1/128 on %d", &fields), 1);
        assert_int_equal(sscanf(smaller, "below 1 on %d", &below), 1);
        if ((strcmp(verdict, "verified") == 0) != (below == fields))
            fail_msg("%s: %s, on %d of %d fields", id, verdict, below, fields);
        counted++;
        fewer += below < fields;
    }
    assert_true(claims.rows >= 70 && counted >= 2 && fewer >= 1);
    assert_int_equal(starting("verdict", "undecided"), 0);
    assert_true(starting("verdict", "refuted") >= 5);
    assert_true(starting("verdict", "holds only if ") >= 15);
    assert_true(starting("source", "Macaron Net") > 10);
    assert_true(starting("source", "ODE Transformer") > 20);
    assert_true(starting("source", "Sandwich Transformer") > 2);
    print_message("# %zu claims have their registered verdict\n", claims.rows);
    /* every row has one of the four origins, and the summary counts each apart */
    static const char *const origin[] = {"paper", "inference", "code", "own"};
    size_t told = 0;
    run_ok("verify");
    for (int o = 0; o < 4; o++) {
        size_t n = starting("origin", origin[o]);
        told += n;
        const char *line = formed("\n%-9s %3zu claims: ", origin[o], n);
        if (n == 0 || !strstr(out, line)) fail_msg("no line%s", line);
    }
    assert_int_equal(told, claims.rows);
}

/* Every mutant's verdict is decided and is not the registered one. */
TEST(test_mutants)
{
    assert_int_equal(claims.rows, mutants.rows);
    for (size_t i = 0; i < claims.rows; i++) {
        const char *verdict = frame_text(&mutants, i, "verdict"),
                   *claim = frame_text(&mutants, i, "claim");
        assert_string_equal(frame_text(&claims, i, "id"), frame_text(&mutants, i, "id"));
        if (strcmp(frame_text(&claims, i, "verdict"), verdict) == 0)
            fail_msg("the mutant of %s is not caught: %s", frame_text(&claims, i, "id"), claim);
        assert_string_not_equal(verdict, "undecided");
        assert_int_equal(strncmp(claim, "Mutant: ", 8), 0);
    }
    print_message("# %zu mutants, each with another verdict\n", mutants.rows);
}

TEST(test_choice)
{
    run_ok("verify --claim gate-order,lie-error --csv");
    assert_int_equal(count_words(out, "\ngate-order,") + count_words(out, "\nlie-error,"), 2);
    assert_true(count_lines(out) == 3 &&
                strstr(out, "\ngate-order,") < strstr(out, "\nlie-error,"));
    must_print("verify --list", "macaron-order");
}

/* A user's own claims are judged: right ones in several forms, and the same with one thing wrong. */
TEST(test_own)
{
    static const char *const right[] = {
        "macaron order 1",
        "rk4 order 4",
        "dormand-prince order 5", /* two errors are above rounding, and trees prove it */
        "radau-iia5 order 5",
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
        "dormand-prince order 4",
        "dormand-prince order 6",
        "lie-trotter error 2: 1/2 F'G; -1/2 G'F",
        "lie-trotter error 2: 1/2 G'F; 1/2 G'F; -1/2 F'G",
        "lie-trotter error 2:",
        "heun error 3: 1/12 H''(H,H) + 1/6 H'H'H",
        "lie-trotter brackets 2: 1/2 [G,F]",
        "lie-trotter brackets 2:",
        "strang-marchuk brackets 3: 1/12 [F,[F,G]]; 1/24 [[F,G],G]"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        run_ok("verify --own \"%s\" --csv", right[i]);
        assert_int_equal(count_lines(out), 2);
        if (!strstr(out, ",verified,verified,")) fail_msg("%s: %s", right[i], out);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect(1, "verify --own \"%s\" --csv", wrong[i]);
        if (!strstr(out, ",verified,refuted,")) fail_msg("%s: %s", wrong[i], out);
    }
    file_text("gill.scheme",
              "scheme mine\nk1 = H(y)\nk2 = H(y + 2/3*k1)\ny' = y + 1/4*k1 + 3/4*k2\n");
    run_ok("verify --scheme-file gill.scheme --own \"mine order 2\" --claim lie-leading --csv");
    assert_int_equal(count_lines(out), 3);
    must_print("verify --own \"lie-trotter error 2: -1/2 F'G; 1/2 G'F\" --steps",
               "(0 - 1/2) F'G = -1/2 F'G   is left\n", "(1/2 - 1/2) G'G = 0   cancels\n");
    must_print("verify --own \"heun error 3: 1/12 H''(H,H) - 1/6 H'H'H\" --steps",
               "k2 =  h H(y + k1)\n", "(0 - 1/6) H'H'H = -1/6 H'H'H   is left\n");
}

/* Strang's splitting over the nine steps of two triple jumps, each of the least arguments: order 6 (Castella et al. 2009). */
#define STEP(x) "flow (" x ")/2 F\nflow (" x ") G\nflow (" x ")/2 F\n"
#define JUMP(x, y) STEP(x) STEP(y) STEP(x)
#define OUTER "0.09914002482702512229 + 0.1476532818213768114*i"
#define INNER "0.2235622878074325831 - 0.01515828543318405055*i"
#define MIDDLE "0.1261163543661209384 - 0.1607202911519469259*i"
#define CENTRE "-0.09591738365520753209 - 0.2388559741152452925*i"
#define JUMPS "scheme complex-jumps\n" JUMP(OUTER, INNER) JUMP(MIDDLE, CENTRE) JUMP(OUTER, INNER)

/* A property is verified or refuted, holds only under a condition, or is left undecided; the evidence says how far was looked and
 * which condition fails. Every word has a scheme that it is wrong of. */
TEST(test_own_properties)
{
    static const char *const row[][3] = {
        /* claim, verdict, evidence */
        {"gauss4 symplectic", "verified", "for every pair of evaluations (decided to 1e-12, as"},
        {"rk4 symplectic", "refuted", "is -1/36, not 0, for i = k1, j = k1 (decided)"},
        {"yoshida4 symplectic", "verified", "flows of Hamiltonian fields"},
        {"verlet-stages symplectic", "holds only if the Hamiltonian is separable",
         "is -1/4, not 0, for i = F of k1, j = F of k1"},
        {"verlet-separable symplectic", "verified", "for separable Hamiltonians: "},
        {"rkn4 symplectic", "refuted", "Omega up to 1.5e-06 for a step of 1/2"},
        {"ros2 symplectic", "undecided", "the scheme has functions of a derivative"},
        {"ab2 symplectic", "undecided", "the scheme reads the past"},
        {"gauss4 symmetric", "verified", "the method is its adjoint (decided to 1e-12, as"},
        {"rk4 symmetric", "refuted", "has the term h^6 -1/576 H'''(H,H,H''(H,H))"},
        {"lie-trotter symmetric", "refuted", "no palindrome, and S(-h) S(h) has terms of h^2"},
        {"verlet-stages symmetric", "holds only if F'F = G'G = 0", "has the term h^2 -1/2 F'F"},
        {"leapfrog symmetric", "verified", "beta_j = beta_(k-j) for every j"},
        {"ab2 symmetric", "refuted", "beta_j = beta_(k-j) fails for some j"},
        {"gauss4 A-stable", "verified",
         "in rationals); |R| at infinity is 1; measured: |R| <= 1 at 9614"},
        {"implicit-midpoint A-stable", "verified", "in rationals); |R| at infinity is 1"},
        {"implicit-midpoint symmetric", "verified", "the method is its adjoint (decided)"},
        {"near A-stable", "verified", "roundings and known to 1.0e-07"},
        {"near-rk4 order 4", "verified", "conditions to order 4 hold to 1.0e-12; measured"},
        {"rk4 order 4", "verified", "4 (trees to h^5; measured"},
        {"rk4 A-stable", "refuted", "the scheme is explicit"},
        {"bdf2 A-stable", "verified", "a search on rays, |z| from 2^-10 to 2^16"},
        {"strang-marchuk A-stable", "undecided", "R is no quotient of polynomials"},
        {"radau-iia5 L-stable", "verified", "|R| at infinity is 0"},
        {"gauss4 L-stable", "refuted", "|R| at infinity is 1"},
        {"ark4 L-stable", "verified", "in F alone"},
        {"gauss4 algebraically stable", "verified",
         "positive semidefinite (decided by elimination"},
        {"sdirk2 algebraically stable", "refuted",
         "least eigenvalue of M -0.0858, least weight 0.293"},
        {"radau-iia5 B-stable", "verified", "every b_i >= 0"},
        {"minus B-stable", "refuted", "a weight is negative: -1 "},
        {"macaron B-stable", "undecided", "its stages are not all H"},
        {"radau-iia5 stage order 3", "verified", "the lesser of p = 5 and eta = 3"},
        {"radau-iia5 stage order 5", "refuted", "it is 3, "},
        {"macaron stage order 1", "undecided", "its stages are not all H"},
        {"ab2 zero-stable", "verified", "each of the 1 on it is simple"},
        {"leapfrog zero-stable", "verified", "each of the 2 on it is simple"},
        {"dahlquist zero-stable", "refuted", "one is outside the unit circle"},
        {"verlet-separable order 2", "verified",
         "where separable: 2 (trees to h^3; measured 2.00)"},
        {"rkn4 order 4", "verified", "linear G, separable: 4 (trees to h^5; measured 4.00)"},
        {"rkn4 order 3", "refuted", ">=4 (trees to h^4"},
        {"complex order 2", "verified", ": 2 (trees to h^3; measured 2.00)"},
        {"complex-jumps order 6", "verified", ": 6 (trees to h^7; measured 5."},
        {"verlet-stages order 2", "refuted", ": 1 (trees to h^3; measured 1.00)"}};
    file_text(
        "own.scheme",
        "scheme complex\nflow (1/2 + i/2) F\nflow (1/2 + i/2) G\n"
        "flow (1/2 - i/2) F\nflow (1/2 - i/2) G\n"
        "scheme verlet-stages\nk1 = F(y)\nk2 = G(y + 1/2*k1)\n"
        "k3 = F(y + 1/2*k1 + k2)\ny' = y + 1/2*k1 + k2 + 1/2*k3\n"
        "scheme verlet-separable\nseparable\nk1 = F(y)\nk2 = G(y + 1/2*k1)\n"
        "k3 = F(y + 1/2*k1 + k2)\ny' = y + 1/2*k1 + k2 + 1/2*k3\n"
        "scheme rkn4\nseparable\nlinear G\nk1 = F(y)\nk2 = G(y + 1/4*k1)\n"
        "k3 = F(y + 1/2*k2)\nk4 = G(y + 1/2*k3)\nk5 = F(y + k4)\n"
        "k6 = G(y + 1/6*k1 + 1/3*k3)\ny' = y + k6 + 1/6*k1 + 2/3*k3 + 1/6*k5\n"
        "scheme minus\nk1 = H(y)\nk2 = H(y + k2)\ny' = y + 2*k2 - k1\n"
        "scheme dahlquist\nk1 = H(y)\ny' = -4*y + 5*y[-1] + 4*k1 + 2*k1[-1]\n"
        "scheme near\nk1 = H(y + 0.499999999*k1)\ny' = y + k1\n"
        "scheme near-rk4\nk1 = H(y)\nk2 = H(y + 1/2*k1)\nk3 = H(y + 1/2*k2)\n"
        "k4 = H(y + k3)\ny' = y + (1/6 + 1e-12)*k1 + 1/3*k2 + 1/3*k3 + (1/6 - 1e-12)*k4\n" JUMPS);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        expect(strcmp(row[i][1], "verified") != 0,
               "verify --scheme-file own.scheme --own '%s' --csv", row[i][0]);
        char *verdict = strstr(out, "\n");
        verdict = verdict ? strstr(verdict, ",verified,") : NULL;
        verdict = verdict ? verdict + strlen(",verified,") : NULL;
        verdict += verdict && *verdict == '"';
        if (!verdict || strncmp(verdict, row[i][1], strlen(row[i][1])) != 0 ||
            !strstr(verdict, row[i][2]))
            fail_msg("%s: %s", row[i][0], out);
    }
}

/* A derivation leaves every term that `expand` has, however many. With --out it is a table and compiles; the report has
 * it, and the claims' formulas, as MathML. */
TEST(test_all_steps)
{
    run_ok("expand --scheme strang-marchuk --degree 4 --csv");
    size_t terms = (size_t)count_lines(out) - 1;
    run_ok("verify --claim strang-odd,strang-leading,proof-combination --steps --out steps");
    assert_true(terms > 24);
    shell_ok("test $(grep -c 'strang-odd.*is left$' steps/steps.csv) = %zu", terms);
    shell_ok(
        "grep -q '^strang-leading,.*,\"(1/12 - 0) \\[F,\\[F,G\\]\\] = 1/12 \\[F,\\[F,G\\]\\]\",is left' steps/steps.csv");
    HAS(out, "together, part 2 after the others\n");
    HAS(file_slurp("steps/verify.tex", NULL), "Z_{2} = &\\ h (F + \\tfrac{1}{2}\\, G)",
        "begins with $h^{2} (\\tfrac{1}{12}\\, [F,[F,G]]");
    run_ok("report steps");
    HAS(file_slurp("steps/report.html", NULL), "alttext=\"h^2 (1/12 [F,[F,G]] - 1/24 [G,[G,F]])\"",
        "alttext=\"(1/12 - 0) [F,[F,G]] = 1/12 [F,[F,G]]\"", "<h2>Notation</h2>");
    if (has_tool("pdflatex"))
        shell_ok(
            "cd steps && pdflatex -halt-on-error -interaction=nonstopmode verify.tex >tex.txt 2>&1 "
            "&& ! grep Overfull..hbox tex.txt");
}

/* A text that is no claim is refused in a line, with the place of the mistake. */
TEST(test_own_refused)
{
    static const char *const bad[][2] = {
        {"macaron", "expected \"SCHEME order P\""},
        {"macaron order", "expected \"SCHEME order P\""},
        {"macaron order 2 3", "expected \"SCHEME order P\""},
        {"gauss4 stage order", "expected \"SCHEME order P\", \"SCHEME stage order Q\""},
        {"gauss4 stage", "expected \"SCHEME order P\", \"SCHEME stage order Q\""},
        {"gauss4 symplectically", "or a scheme and one of: symplectic, symmetric, A-stable"},
        {"gauss4 symplectic 2", "or a scheme and one of: symplectic, symmetric, A-stable"},
        {"nothing A-stable", "nothing"},
        {"exact:1/0 order 2", "expected \"SCHEME order P\""},
        {"apart:macaron order 1", "expected \"SCHEME order P\""},
        {"nothing order 2", "nothing"},
        {"rk4 order 8", "expected an order of 7 at most"},
        {"macaron error 99:", "expected an order of 7 at most"},
        {"macaron-decoder order 6", "expected an order of 5 at most of a decoder's scheme"},
        {"lie-trotter brackets 11:", "1 to 10"},
        {"heun brackets 2: [F,G]", "exact flows"},
        {"heun error 3: 1/0 F'G", "claim:1:19: expected a divisor other than zero"},
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
    REFUSE_ALL("verify --own \"%s\"", bad, NULL);
    must_refuse("verify --own \"rk4 order 4\" --mutants", "no mutant");
}

/* A user's claim is counted as theirs, beside the registered ones, and is compared with no register. */
TEST(test_own_words)
{
    expect(1, "verify --own \"rk4 order 3\" --claim lie-error --out yours");
    HAS(out, "own-1  (yours: --own)\n", "\nyours       1 claims:   0 verified,  1 refuted",
        "; 1 as registered.\n", "~EXPECTED");
    run_ok("report yours");
    assert_true(
        file_has("yours/report.html", "0 of this project, 1 of yours): 1 verified, 1 refuted"));
    must_print("verify --own \"rk4 order 4\"", "~registered");
}

TEST(test_refusals)
{
    static const char *const bad[] = {"--claim lie-eror", "--claim lie-error,", "--claim ''",
                                      "--degree 3", "--out /dev/null/x --claim lie-error"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) expect(2, "verify %s", bad[i]);
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
    char heading[128], *tex = file_slurp("verify.tex", NULL);
    assert_true(same_files("verify.csv", "printed.csv"));
    for (size_t i = 0; i < claims.rows; i++) {
        const char *id = frame_text(&claims, i, "id");
        snprintf(heading, sizeof heading, "\\subsection*{%s}\n", id);
        if (!strstr(tex, heading)) fail_msg("%s is not in the LaTeX", id);
    }
    HAS(tex, "\\tfrac{1}{2}\\, h^{2} F'G\\allowbreak -\\tfrac{1}{2}\\, h^{2} G'F",
        "$(1 - h F)^{-1} y$", "of order \\textgreater{}= 2", "\\end{document}\n");
    assert_true(is_balanced(tex));
    assert_false(is_balanced(strstr(tex, "{article}") + 1)); /* control */
}

TEST_MAIN(open_claims, close_claims)
