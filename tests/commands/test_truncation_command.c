/* test_truncation_command.c: `trotter truncation`: every table and plot has a scheme never seen here; ReLU; the
 * other studies; and refusals. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"
#include "tests/lib/terminal.h"

#define STUDY "truncation --text text.txt --sentences 2 --tokens 4 --halvings 5 "

/* Heun's third-order method (1900) in a form of our own, under a name no other file has. */
static const char unseen[] =
    "scheme never-seen\nk1 = H(y)\nk2 = H(y + 1/3*k1)\nk3 = H(y + 2/3*k2)\n"
    "y' = y + 1/4*k1 + 3/4*k3\n";

static int open_models(void **state)
{
    if (program_open(state) != 0) return -1;
    file_text("text.txt", "w1 w2 w3 w4 w5 w6 w7\nw8 w9 w1 w2\n\nw3 w3 w1 w4 w2\n");
    file_text("mine.scheme", unseen);
    run_ok(
        "train --corpus markov:20 --scheme transformer --width 16 --heads 2 --inner 32 --layers 2 "
        "--max-steps 20 --activation gelu --sequence 16 --batch-tokens 256 --out smooth");
    run_ok(
        "train --corpus markov:20 --scheme macaron --width 16 --heads 2 --inner 32 --max-steps 20 "
        "--sequence 16 --batch-tokens 256 --out kinks");
    return 0;
}

/* Returns the cell of the row that begins with these words and a comma; the row must be there. */
static const char *cell(const char *row_begin, const char *column)
{
    return cell_of(out, row_of(out, formed("%s,", row_begin)), column);
}

TEST_DRAWN(test_unseen)
{
    need_tool("gnuplot");
    static const char *const files[] = {"truncation.csv", "summary.csv", "summary.md",
                                        "terms.csv",      "curves.csv",  "layers.csv",
                                        "truncation.gp",  "layers.gp",   "truncation.svg"};
    run_ok(STUDY "--model smooth --scheme-file mine.scheme --scheme never-seen,rk4-layer --csv "
                 "--out study");
    assert_int_equal(strncmp(out, "scheme,layer,h,error,relative_error,", 36), 0);
    HAS(out, "\nnever-seen,1,0.03125,");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *name = formed("study/%s", files[i]);
        /* a scheme of order 3 has no single terms */
        const char *want = strcmp(files[i], "terms.csv") == 0 ? "rk4-layer" : "never-seen";
        if (!file_has(name, want)) fail_msg("%s has no %s", name, want);
    }
    /* one layer makes no line */
    run_ok("train --corpus markov:20 --width 16 --heads 2 --inner 32 --sequence 16 --max-steps 1 "
           "--batch-tokens 64 --activation gelu --threads 1 --out single");
    run_ok(STUDY "--model single --scheme heun --out study1");
    assert_true(file_exists("study1/truncation.gp") && file_exists("study1/layers.csv"));
    assert_false(file_exists("study1/layers.gp"));
}

/* The divisor of errors is given as numbers and in words: in curves and plots it is the flow's displacement over its
 * own h, in the summary over h = 1. */
TEST(test_displacements)
{
    char h1[64];
    run_ok(STUDY "--model smooth --scheme rk4 --csv --out divided");
    snprintf(h1, sizeof h1, "%s", cell("rk4,0,1", "relative_error"));
    double error = atof(cell("rk4,0,0.0625", "error")) / atof(cell("rk4,0,0.125", "error"));
    double relative =
        atof(cell("rk4,0,0.0625", "relative_error")) / atof(cell("rk4,0,0.125", "relative_error"));
    if (!(fabs(relative / error - 2) < 0.2)) fail_msg("%g, relative %g", error, relative);
    run_ok(STUDY "--model smooth --scheme rk4 --csv --summary");
    double rounded = atof(cell("rk4,0,split", "relative_error"));
    if (!(fabs(rounded - atof(h1)) <= 1e-3 * rounded)) fail_msg("%g, not %s", rounded, h1);
    must_print(STUDY "--model smooth --scheme rk4", "by the flow's displacement in that step",
               "slope is the power of h in the RMS itself, order + 1");
    char *script = file_slurp("divided/truncation.gp", NULL);
    HAS(script, "set ylabel 'error / exact flow’s displacement in that step'",
        "order p has slope p");
    /* the plot's slope is the table's less 1, over both layers */
    const char *title = strstr(script, "title 'rk4: ");
    assert_non_null(title);
    double here = atof(title + strlen("title 'rk4: ")), low = INFINITY, high = -INFINITY;
    run_ok(STUDY "--model smooth --scheme rk4 --csv --summary");
    for (int layer = 0; layer < 2; layer++) {
        snprintf(h1, sizeof h1, "rk4,%d,split", layer);
        low = fmin(low, atof(cell(h1, "slope_low")));
        high = fmax(high, atof(cell(h1, "slope_high")));
    }
    if (!(here + 1 >= low - 0.006 && here + 1 <= high + 0.006))
        fail_msg("%g + 1, the table %g to %g", here, low, high);
    assert_false(here >= low - 0.006);
    HAS(file_slurp("divided/layers.gp", NULL),
        "set ylabel 'error / exact flow’s displacement at h = 1'");
}

TEST(test_verdicts)
{
    run_ok(STUDY "--model smooth --scheme transformer,rk4,rk4-layer --csv --summary");
    assert_string_equal(cell("transformer,0,split", "order"), "1");
    assert_string_equal(cell("transformer,1,split", "verdict"), "agree");
    assert_string_equal(cell("transformer,1,split", "remainder_verdict"), "agree");
    assert_string_equal(cell("rk4,0,split", "order"), "4");
    assert_string_equal(cell("rk4-layer,0,split", "order"), "1");
    assert_string_equal(cell("rk4-layer,0,layer", "order"), "4");
    must_print(STUDY "--model smooth --scheme transformer,rk4-layer --csv --summary --field layer",
               "~split", "~\ntransformer");
    HAS(err, "transformer has stages that are not L");
}

/* Where no step is seen to follow the order, `from h` is empty, a slope agrees with nothing; with few halvings some do so. */
TEST(test_undecided)
{
    static const char *const scheme[] = {"transformer", "heun", "rk4", "ab3", "ab5", "macaron"};
    int undecided = 0, agrees = 0;
    run_ok("truncation --text text.txt --sentences 2 --tokens 4 --model smooth --scheme "
           "transformer,heun,rk4,ab3,ab5,macaron --csv --summary --halvings 4");
    for (size_t i = 0; i < 6; i++)
        for (int layer = 0; layer < 2; layer++) {
            char row[32], verdict[32];
            snprintf(row, sizeof row, "%s,%d,split", scheme[i], layer);
            snprintf(verdict, sizeof verdict, "%s", cell(row, "verdict"));
            int agree = strcmp(verdict, "agree") == 0;
            assert_true(!agree || *cell(row, "asymptotic_h"));
            agrees += agree;
            undecided += strcmp(verdict, "not asymptotic") == 0;
        }
    print_message("%d undecided, %d agree\n", undecided, agrees);
    assert_true(agrees > 0 && undecided > 0);
}

/* The scheme that a model was trained as is known by its name and comes first, without its file; a file of the same
 * name goes before it. */
TEST(test_own_scheme)
{
    run_ok("train --corpus markov:20 --scheme-file mine.scheme --scheme never-seen --width 8 "
           "--heads 2 --inner 8 --max-steps 2 --activation gelu --sequence 8 --batch-tokens 64 "
           "--out own");
    must_print(STUDY "--model own --csv --summary", "\nnever-seen,0,split,");
    assert_true(strstr(out, "\nnever-seen,") < strstr(out, "\neuler,"));
    run_ok(STUDY "--model own --scheme heun,never-seen,heun --csv --summary");
    assert_string_equal(cell("never-seen,0,split", "order"), "3");
    const char *heun = strstr(out, "\nheun,");
    assert_true(heun && !strstr(heun + 1, "\nheun,"));
    file_text("other.scheme", "scheme never-seen\nk1 = H(y)\ny' = y + k1\n");
    if (says("another text")) fail_msg("%s", err);
    run_ok(STUDY "--model own --scheme-file other.scheme --scheme never-seen --csv --summary");
    assert_string_equal(cell("never-seen,0,split", "order"), "1");
    if (!says("warning: never-seen is the scheme of --scheme-file, and not that with which the "
              "model was trained: another text with its name"))
        fail_msg("%s", err);
}

/* What is carried begins as the exact flow has it: errors have the order and the leading terms that theory tells. With
 * momentum 9/10 it is not found at h = 1, which a line says. */
TEST(test_carried)
{
    file_text("carried.scheme",
              "scheme nesterov\ncarry v\nk1 = H(y + 9/10*v)\nv' = 9/10*v + 1/10*k1\ny' = y + v'\n"
              "scheme dimsim2\ncarry v\nk1 = H(y)\nk2 = H(v + 2*k1)\n"
              "v' = 1/2*y + 1/2*v + 3/4*k1 - 1/4*k2\ny' = 1/2*y + 1/2*v + 5/4*k1 + 1/4*k2\n");
    must_print(STUDY "--model smooth --scheme-file carried.scheme --scheme nesterov,dimsim2",
               "\n2 of 4 rows have no error: what their scheme carries is not found on the exact");
    run_ok(STUDY
           "--model smooth --scheme-file carried.scheme --scheme nesterov,dimsim2 --csv --summary");
    assert_string_equal(cell("nesterov,1,split", "relative_error"), "");
    assert_string_equal(cell("dimsim2,1,split", "verdict"), "agree");
    assert_string_equal(cell("dimsim2,1,split", "remainder_verdict"), "agree");
}

/* At kinks the slope of a fourth-order method ends near 2.5, and it has no leading term. The last lines say of how many
 * rows they speak, and what to do. Measures by its own sets are marked apart from means. */
TEST(test_relu)
{
    run_ok(STUDY "--model kinks --scheme macaron,rk4");
    HAS(out, "leading term in 1 of 2 rows:\nthe order governs there.\n");
    HAS(out, "\n1 of 2 rows have no known leading term");
    HAS(out,
        "\nIn 1 of 2 rows the kinks of ReLU end the slope: to see the order, train a model with "
        "--activation gelu.\n");
    must_print(STUDY "--model kinks --scheme macaron", "in 1 of 1 row:\nthe order governs.\n",
               "~--activation gelu");
    run_ok(STUDY "--model kinks --scheme macaron,rk4 --csv --summary");
    assert_string_equal(cell("rk4,0,split", "verdict"), "kinks");
    double slope = atof(cell("rk4,0,split", "slope"));
    if (!(slope > 1.7 && slope < 3.5)) fail_msg("slope %g", slope);
    assert_string_equal(cell("macaron,0,split", "verdict"), "agree");
    assert_string_equal(cell("macaron,0,split", "sets"), "own");
    assert_string_equal(cell("rk4,0,split", "sets"), "mean");
}

TEST_DRAWN(test_others)
{
    need_tool("gnuplot");
    run_ok(
        "truncation --model smooth --text text.txt --scheme heun,euler --jacobian --csv --out jac");
    assert_int_equal(strncmp(out, "scheme,layer,field,largest_amplification,", 41), 0);
    assert_int_equal(count_lines(out), 5);
    assert_true(file_exists("jac/jacobian.svg"));
    for (int layer = 0; layer < 2; layer++) { /* of Euler's 1 + z: rows 2 and 4 */
        char *text = file_slurp("jac/eigenvalues.csv", NULL);
        double most = 0, flow = 0, re, im;
        int l;
        assert_int_equal(strncmp(text, "layer,field,re,im\n", 18), 0);
        for (const char *at = text; (at = strchr(at, '\n')) && at[1]; at++)
            if (sscanf(at, "\n%d,split,%lf,%lf", &l, &re, &im) == 3 && l == layer)
                most = fmax(most, hypot(1 + re, im)), flow = fmax(flow, exp(re));
        assert_string_equal(out_cell(2 + 2 * layer, "scheme"), "euler");
        assert_true(most > 0 &&
                    fabs(out_number(2 + 2 * layer, "largest_amplification") - most) <= 1e-9 * most);
        assert_true(fabs(out_number(2 + 2 * layer, "flow_growth") - flow) <= 1e-9 * flow);
    }
    run_ok("truncation --model smooth --text text.txt --scheme heun,transformer --refine 4 --csv "
           "--out ref");
    assert_int_equal(strncmp(out, "scheme,substeps,h,tokens,nll,ppl", 32), 0);
    assert_int_equal(count_lines(out), 7);
    double refined = atof(cell("transformer,1", "nll"));
    assert_true(file_exists("ref/refine.svg"));
    run_ok("eval --model smooth --text text.txt --csv --precision f64");
    double nll = atof(strchr(strchr(out, '\n'), ',') + 1);
    assert_true(fabs(nll - refined) <= 1e-6 * nll); /* one step a layer is the model */
}

/* The first scheme on the first layer may take minutes: the time left is shown before it is done. */
TEST(test_time_left)
{
    static const char words[] = "sentence 1 of 1, layer 0, ab5, about ";
    if (!terminal_shows("truncation --text text.txt --model kinks --scheme ab5 --field split "
                        "--sentences 1 --tokens 8 --tolerance 1e-13",
                        words))
        fail_msg("no '%s' in %s", words, shown);
}

TEST(test_refusals)
{
#define OF "--model smooth --text text.txt "
    static const char *const bad[][2] = {
        {"", "--model is needed"},
        {"--model smooth", "--text is needed"},
        {"--model nowhere --text text.txt", "cannot open nowhere/model.safetensors"},
        {"--model smooth --text empty.txt", "empty.txt: expected a line with a word"},
        {OF "--scheme none", "unknown scheme 'none'"},
        {OF "--field whole", ""},
        {OF "--scheme strang-marchuk:exact",
         "strang-marchuk:exact: a network needs a sub-flow solver: strang-marchuk:euler, "},
        {OF "--scheme heun,transformer --field layer",
         "--scheme: transformer has stages that are not L"}};
    file_text("empty.txt", "\n\n");
    REFUSE_ALL("truncation %s", bad, NULL);
}

TEST_MAIN(open_models, program_close)
