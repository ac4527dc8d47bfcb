/* test_truncation_command.c: `trotter truncation`: every table and plot has a scheme never seen here; a model of
 * another program; ReLU; the other studies; and refusals. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"
#include "tests/lib/terminal.h"

#define STUDY "truncation --text text.txt --sentences 2 --tokens 4 --halvings 5 "

static const char text[] = "w1 w2 w3 w4 w5 w6 w7\nw8 w9 w1 w2\n\nw3 w3 w1 w4 w2\n";

/* Heun's third-order method (1900) in a form of our own, under a name no other file has. */
static const char unseen[] =
    "scheme never-seen\nk1 = H(y)\nk2 = H(y + 1/3*k1)\nk3 = H(y + 2/3*k2)\n"
    "y' = y + 1/4*k1 + 3/4*k3\n";

static void run_fine(const char *arguments)
{
    int status = program_run(arguments);
    if (!trained(status)) fail_msg("%s: status %d: %s", arguments, status, err);
}

static int open_models(void **state)
{
    if (program_open(state) != 0) return -1;
    file_write("text.txt", text, sizeof text - 1);
    file_write("mine.scheme", unseen, sizeof unseen - 1);
    run_fine(
        "train --corpus markov:20 --scheme transformer --width 16 --heads 2 --inner 32 --layers 2 "
        "--max-steps 20 --activation gelu --sequence 16 --batch-tokens 256 --out smooth");
    run_fine(
        "train --corpus markov:20 --scheme macaron --width 16 --heads 2 --inner 32 --max-steps 20 "
        "--sequence 16 --batch-tokens 256 --out kinks");
    return 0;
}

/* Returns the cell of a column in the row that begins with these words; "" where there is none. */
static const char *cell(const char *row_begin, const char *column)
{
    static char value[128];
    char begin[128];
    int index = 0;
    value[0] = '\0';
    const char *name = strstr(out, column), *end = strchr(out, '\n');
    if (!name || name > end) return value;
    for (const char *c = out; c < name; c++) index += *c == ',';
    snprintf(begin, sizeof begin, "\n%s,", row_begin);
    const char *row = strstr(out, begin);
    if (!row) return value;
    for (row++; index > 0; row++) index -= *row == ',';
    snprintf(value, sizeof value, "%.*s", (int)strcspn(row, ",\n"), row);
    return value;
}

TEST(test_unseen)
{
    need_tool("gnuplot");
    static const char *const files[] = {"truncation.csv", "summary.csv", "summary.md",
                                        "terms.csv",      "curves.csv",  "layers.csv",
                                        "truncation.gp",  "layers.gp",   "truncation.svg"};
    char name[64], content[1 << 16];
    run_fine(STUDY "--model smooth --scheme-file mine.scheme --scheme never-seen,rk4-layer --csv "
                   "--out study");
    assert_int_equal(strncmp(out, "scheme,layer,h,error,relative_error,", 36), 0);
    assert_non_null(strstr(out, "\nnever-seen,1,0.03125,"));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(name, sizeof name, "study/%s", files[i]);
        file_read(name, content, sizeof content);
        /* a scheme of order 3 has no single terms */
        const char *want = strcmp(files[i], "terms.csv") == 0 ? "rk4-layer" : "never-seen";
        if (!strstr(content, want)) fail_msg("%s has no %s", name, want);
    }
    assert_true(file_exists("study/path.png") && file_exists("study/path.csv"));
    /* one layer makes no line */
    run_fine("train --corpus markov:20 --width 16 --heads 2 --inner 32 --sequence 16 --max-steps 1 "
             "--batch-tokens 64 --activation gelu --threads 1 --out single");
    run_fine(STUDY "--model single --scheme heun --out study1");
    assert_true(file_exists("study1/truncation.gp") && file_exists("study1/layers.csv"));
    assert_false(file_exists("study1/layers.gp"));
}

/* The divisor of errors is given as numbers and in words: in curves and plots it is the flow's displacement over its
 * own h, in the summary over h = 1. */
TEST(test_displacements)
{
    char h1[64], script[1 << 14];
    run_fine(STUDY "--model smooth --scheme rk4 --csv --out divided");
    snprintf(h1, sizeof h1, "%s", cell("rk4,0,1", "relative_error"));
    double error = atof(cell("rk4,0,0.0625", "error")) / atof(cell("rk4,0,0.125", "error"));
    double relative =
        atof(cell("rk4,0,0.0625", "relative_error")) / atof(cell("rk4,0,0.125", "relative_error"));
    if (!(fabs(relative / error - 2) < 0.2)) fail_msg("%g, relative %g", error, relative);
    run_fine(STUDY "--model smooth --scheme rk4 --csv --summary");
    double rounded = atof(cell("rk4,0,split", "relative_error"));
    if (!(fabs(rounded - atof(h1)) <= 1e-3 * rounded)) fail_msg("%g, not %s", rounded, h1);
    run_fine(STUDY "--model smooth --scheme rk4");
    assert_non_null(strstr(out, "by the flow's displacement in that step"));
    assert_non_null(strstr(out, "slope is the power of h in the RMS itself, order + 1"));
    file_read("divided/truncation.gp", script, sizeof script);
    assert_non_null(strstr(script, "set ylabel 'error / exact flow’s displacement in that step'"));
    assert_non_null(strstr(script, "order p has slope p"));
    /* the plot's slope is the table's less 1, over both layers */
    const char *title = strstr(script, "title 'rk4: ");
    assert_non_null(title);
    double here = atof(title + strlen("title 'rk4: ")), low = INFINITY, high = -INFINITY;
    run_fine(STUDY "--model smooth --scheme rk4 --csv --summary");
    for (int layer = 0; layer < 2; layer++) {
        snprintf(h1, sizeof h1, "rk4,%d,split", layer);
        low = fmin(low, atof(cell(h1, "slope_low")));
        high = fmax(high, atof(cell(h1, "slope_high")));
    }
    if (!(here + 1 >= low - 0.006 && here + 1 <= high + 0.006))
        fail_msg("%g + 1, the table %g to %g", here, low, high);
    assert_false(here >= low - 0.006);
    file_read("divided/layers.gp", script, sizeof script);
    assert_non_null(strstr(script, "set ylabel 'error / exact flow’s displacement at h = 1'"));
}

TEST(test_verdicts)
{
    run_fine(STUDY "--model smooth --scheme transformer,rk4,rk4-layer --csv --summary");
    assert_string_equal(cell("transformer,0,split", "order"), "1");
    assert_string_equal(cell("transformer,1,split", "verdict"), "agree");
    assert_string_equal(cell("transformer,1,split", "remainder_verdict"), "agree");
    assert_string_equal(cell("rk4,0,split", "order"), "4");
    assert_string_equal(cell("rk4-layer,0,split", "order"), "1");
    assert_string_equal(cell("rk4-layer,0,layer", "order"), "4");
    run_fine(STUDY "--model smooth --scheme transformer,rk4-layer --csv --summary --field layer");
    assert_null(strstr(out, "split"));
    assert_null(strstr(out, "\ntransformer"));
    assert_non_null(strstr(err, "transformer has stages that are not L"));
    int status = program_run(STUDY "--model smooth --scheme heun,transformer --field layer");
    if (!refused(status, "truncation", "--scheme: transformer has stages that are not L"))
        fail_msg("%d: %s", status, err);
}

/* The scheme that a model was trained as is known by its name and comes first, without its file; a file of the same
 * name goes before it. */
TEST(test_own_scheme)
{
    static const char other[] = "scheme never-seen\nk1 = H(y)\ny' = y + k1\n";
    run_fine("train --corpus markov:20 --scheme-file mine.scheme --scheme never-seen --width 8 "
             "--heads 2 --inner 8 --max-steps 2 --activation gelu --sequence 8 --batch-tokens 64 "
             "--out own");
    run_fine(STUDY "--model own --csv --summary");
    assert_non_null(strstr(out, "\nnever-seen,0,split,"));
    assert_true(strstr(out, "\nnever-seen,") < strstr(out, "\neuler,"));
    run_fine(STUDY "--model own --scheme heun,never-seen,heun --csv --summary");
    assert_string_equal(cell("never-seen,0,split", "order"), "3");
    const char *heun = strstr(out, "\nheun,");
    assert_true(heun && !strstr(heun + 1, "\nheun,"));
    file_write("other.scheme", other, sizeof other - 1);
    run_fine(STUDY "--model own --scheme-file other.scheme --scheme never-seen --csv --summary");
    assert_string_equal(cell("never-seen,0,split", "order"), "1");
}

/* At kinks the slope of a fourth-order method ends near 2.5. Measures by its own sets are marked apart from means. */
TEST(test_relu)
{
    run_fine(STUDY "--model kinks --scheme macaron,rk4 --csv --summary");
    assert_string_equal(cell("rk4,0,split", "verdict"), "kinks");
    double slope = atof(cell("rk4,0,split", "slope"));
    if (!(slope > 1.7 && slope < 3.5)) fail_msg("slope %g", slope);
    assert_string_equal(cell("macaron,0,split", "verdict"), "agree");
    assert_string_equal(cell("macaron,0,split", "sets"), "own");
    assert_string_equal(cell("rk4,0,split", "sets"), "mean");
}

TEST(test_others)
{
    need_tool("gnuplot");
    run_fine(
        "truncation --model smooth --text text.txt --scheme heun,euler --jacobian --csv --out jac");
    assert_int_equal(strncmp(out, "scheme,layer,field,largest_amplification,", 41), 0);
    assert_int_equal(count_lines(out), 5);
    assert_true(file_exists("jac/jacobian.svg") && file_exists("jac/eigenvalues.csv"));
    run_fine("truncation --model smooth --text text.txt --scheme heun,transformer --refine 4 --csv "
             "--out ref");
    assert_int_equal(strncmp(out, "scheme,substeps,h,tokens,nll,ppl", 32), 0);
    assert_int_equal(count_lines(out), 7);
    double refined = atof(cell("transformer,1", "nll"));
    assert_true(file_exists("ref/refine.svg"));
    run_fine("eval --model smooth --text text.txt --csv --precision f64");
    double nll = atof(strchr(strchr(out, '\n'), ',') + 1);
    assert_true(fabs(nll - refined) <= 1e-6 * nll); /* one step a layer is the model */
    run_fine(STUDY "--model smooth --scheme ab2 --depth piecewise --csv --summary");
    assert_string_equal(cell("ab2,0,split,piecewise", "verdict"), "no history");
    assert_string_equal(cell("ab2,1,split,piecewise", "verdict"), "jump");
}

/* ---- a file of another program ---------------------------------------------------------------------- */

typedef struct {
    const char *name;
    int rows, cols;
} Shape;

static const Shape shapes[] = {
    {"embed.weight", 9, 4},
    {"layers.0.attn.1.norm.weight", 4, 0},
    {"layers.0.attn.1.norm.bias", 4, 0},
    {"layers.0.attn.1.qkv.weight", 12, 4},
    {"layers.0.attn.1.qkv.bias", 12, 0},
    {"layers.0.attn.1.out.weight", 4, 4},
    {"layers.0.attn.1.out.bias", 4, 0},
    {"layers.0.ffn.1.norm.weight", 4, 0},
    {"layers.0.ffn.1.norm.bias", 4, 0},
    {"layers.0.ffn.1.up.weight", 6, 4},
    {"layers.0.ffn.1.up.bias", 6, 0},
    {"layers.0.ffn.1.down.weight", 4, 6},
    {"layers.0.ffn.1.down.bias", 4, 0},
    {"final_norm.weight", 4, 0},
    {"final_norm.bias", 4, 0},
};

/* Writes a model as plain bytes: length, JSON, numbers of F32. `heads` is the metadata of heads, or "". */
static void write_other(const char *name, const char *heads)
{
    static char bytes[1 << 14];
    size_t n = 8, at = 0, length;
    n += (size_t)sprintf(bytes + n,
                         "{\"__metadata__\":{\"scheme\":\"residual\",\"scheme_text\":\"scheme "
                         "residual\\nk1 = F(y)\\nk2 = G(y + k1)\\ny' = y + k1 + k2\\n\",\"layers\":"
                         "\"1\",\"width\":\"4\",\"inner\":\"6\",%s\"positions\":\"none\","
                         "\"activation\":\"gelu\"}",
                         heads);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        int count = shapes[i].rows * (shapes[i].cols ? shapes[i].cols : 1);
        n += (size_t)sprintf(bytes + n, ",\"%s\":{\"dtype\":\"F32\",\"shape\":[%d", shapes[i].name,
                             shapes[i].rows);
        if (shapes[i].cols) n += (size_t)sprintf(bytes + n, ",%d", shapes[i].cols);
        n +=
            (size_t)sprintf(bytes + n, "],\"data_offsets\":[%zu,%zu]}", at, at + 4 * (size_t)count);
        at += 4 * (size_t)count;
    }
    bytes[n++] = '}';
    while (n % 8) bytes[n++] = ' ';
    length = n - 8;
    for (int i = 0; i < 8; i++) bytes[i] = (char)(length >> (8 * i) & 0xff);
    for (size_t i = 0; i < at / 4; i++, n += 4) {
        float x = (float)(0.9 * sin(1.7 * (double)i) + 0.3);
        memcpy(bytes + n, &x, 4);
    }
    file_write(name, bytes, n);
}

TEST(test_other_program)
{
    static const char words[] = "<eos>\n1\n2\n3\n4\n5\n6\n7\n8\n", other[] = "1 2 3 4 5\n8 7 1\n";
    write_other("other.safetensors", "\"heads\":\"2\",");
    file_write("vocab.txt", words, sizeof words - 1);
    file_write("other.txt", other, sizeof other - 1);
    run_fine(
        "truncation --model other.safetensors --text other.txt --scheme transformer,heun --csv "
        "--summary --halvings 10");
    assert_string_equal(cell("transformer,0,split", "verdict"), "agree");
    assert_string_equal(cell("heun,0,split", "verdict"), "agree");
    write_other("other.safetensors", "");
    int status = program_run("truncation --model other.safetensors --text other.txt");
    if (!refused(status, "truncation", "other.safetensors")) fail_msg("%d %s", status, err);
}

/* ---- unusable input --------------------------------------------------------------------------------- */

static void truncation_must_refuse(const char *arguments, const char *words)
{
    int status = program_run(arguments);
    if (!refused(status, "truncation", words))
        fail_msg("%s: status %d: %s", arguments, status, err);
}

/* The first scheme on the first layer may take minutes: the time left is shown before it is done. */
TEST(test_time_left)
{
    static const char words[] = "sentence 1 of 1, layer 0, ab5, about ";
    if (!terminal_shows("truncation --text text.txt --model kinks --scheme ab5 --field split "
                        "--sentences 1 --tokens 8 --tolerance 1e-13",
                        words, 100))
        fail_msg("no '%s' in %s", words, shown);
}

TEST(test_refusals)
{
    file_write("empty.txt", "\n\n", 2);
    truncation_must_refuse("truncation", "--model is needed");
    truncation_must_refuse("truncation --model smooth", "--text is needed");
    truncation_must_refuse("truncation --model nowhere --text text.txt",
                           "cannot open nowhere/model.safetensors");
    truncation_must_refuse("truncation --model smooth --text empty.txt",
                           "empty.txt: expected a line with a word");
    truncation_must_refuse("truncation --model smooth --text text.txt --scheme none",
                           "unknown scheme 'none'");
    truncation_must_refuse("truncation --model smooth --text text.txt --field whole", "");
    truncation_must_refuse(
        "truncation --model smooth --text text.txt --scheme strang-marchuk:exact",
        "strang-marchuk:exact: a network needs a sub-flow solver: strang-marchuk:euler, ");
}

TEST_MAIN(open_models, program_close)
