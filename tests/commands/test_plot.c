/* test_plot.c: `trotter plot` as a user runs it: saved results over each other, and one clear line with
 * FILE:LINE for every table that cannot be read. */
#include "tests/lib/test.h"

#include "studies/base/plot/plot.h"
#include "tests/lib/gnuplot.h"
#include "tests/lib/program.h"

#define HEAD "scheme,h,error\n"

/* ---- drawings ------------------------------------------------------------------------------------ */

/* Compares the rows of a file with those from `first` on. */
static void compare_rows(const char *data, const char *from, int first, const char *file)
{
    static const char *const names[] = {"scheme", "system", "h", "evals", "error"};
    for (int i = 1; i < count_lines(from); i++) {
        assert_string_equal(cell_of(data, first + i, "file"), file);
        for (int k = 0; k < 5; k++)
            assert_string_equal(cell_of(data, first + i, names[k]), cell_of(from, i, names[k]));
    }
}

TEST(test_overlay)
{
    char *a = file_slurp("a.csv", NULL);
    char *b = file_slurp("b.csv", NULL);
    run_ok("plot a.csv b.csv --csv --out both");
    assert_int_equal(count_lines(out), count_lines(a) + count_lines(b) - 1);
    compare_rows(out, a, 0, "a.csv");
    compare_rows(out, b, count_lines(a) - 1, "b.csv");
    assert_true(file_has("both/overlay.csv", out));
}

/* Names tell lines apart: by the system where there are two, by the file where a line stands in two. */
TEST(test_names)
{
    run_ok("plot a.csv b.csv");
    assert_int_equal(count_lines(out), 2 + 3);
    HAS(out, "heun on linear ", "heun on kuramoto ");
    run_ok("plot a.csv a.csv --scheme heun");
    assert_int_equal(count_lines(out), 2 + 2);
    HAS(out, "heun (a.csv)");
    run_ok("plot a.csv --file b.csv a.csv --csv"); /* in the order given, however they are named */
    assert_string_equal(out_cell(1, "file"), "a.csv");
    assert_string_equal(out_cell(-1, "file"), "a.csv");
    HAS(out, "b.csv");
    must_print("plot --file a.csv --scheme heun", "~euler", "~heun on");
}

static int has_images(const char *path)
{
    return shell("test -e %s.gp -a -e %s.svg -a -e %s.png", path, path, path) == 0;
}

/* Only work.csv has seconds; order.csv has none. */
TEST_DRAWN(test_files)
{
    need_tool("gnuplot");
    run_ok("plot a.csv b.csv --out steps");
    assert_string_equal(err, "");
    assert_true(has_images("steps/overlay") && has_images("steps/overlay-work"));
    assert_false(has_images("steps/overlay-time"));
    run_ok("plot study/work.csv --out times");
    assert_true(has_images("times/overlay-time"));
}

/* Other columns, other line ends, quotes, empty cells and empty lines are read all the same. */
TEST(test_forms)
{
    static const char *const good[] = {
        "scheme,h,error\neuler,0.5,0.1\neuler,0.25,0.05\n",
        "\xef\xbb\xbf"
        "scheme,h,error\r\neuler,0.5,0.1\r\neuler,0.25,0.05",
        "error,note,h,scheme\n0.1,\"a,\"\"b\"\"\nc\",0.5,\"euler\"\n\n0.05,,0.25,euler\n",
        "scheme,evals,error\neuler,2,0.1\neuler,4,0.05\n",
        "scheme,h,error\neuler,0.5,inf\neuler,0.25,0.05\neuler,0.125,\n",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        file_text("good.csv", good[i]);
        run_ok("plot good.csv");
        if (!strstr(out, "\neuler")) fail_msg("%s: %s", good[i], out);
        HAS(out, "0.05");
    }
}

/* Names that differ only after a comma or quote, where gnuplot cuts them off, are separate lines with a number each;
 * characters that cannot be shown are replaced. */
TEST(test_odd_names)
{
    static const char text[] =
        HEAD "\"a,b\",0.5,1\n\"a,c\",0.5,2\n\"a\"\",b\",0.5,3\n\"a;b\",0.5,4\n"
             "\"a\x1b\nb\",0.5,5\n\"a,b\",0.25,6\n";
    static const char *const line[] = {"1", "2", "3", "4", "5", "1"};
    file_write("odd.csv", text, sizeof text - 1);
    run_ok("plot odd.csv --csv");
    assert_int_equal(count_lines(out), 1 + 6);
    for (int i = 0; i < 6; i++) {
        assert_string_equal(out_cell(i + 1, "line"), line[i]);
        assert_int_equal(atoi(out_cell(i + 1, "error")), i + 1);
    }
    HAS(out, "\"a,b\",odd.csv,\"a,b\",\n", "\"a\"\",b\",odd.csv",
        "a\xef\xbf\xbd\xef\xbf\xbd"
        "b,odd.csv");
}

/* ---- unusable input ------------------------------------------------------------------------------ */

static const struct {
    const char *text, *words;
} bad[] = {
    {"", "bad.csv: "},
    {"\n\n", "bad.csv: "},
    {HEAD, "no point"},
    {"h,error\n1,1\n", "bad.csv:1: expected columns"},
    {"scheme,h\neuler,1\n", "bad.csv:1: expected columns"},
    {"scheme,error\neuler,1\n", "bad.csv:1: expected columns"},
    {HEAD "euler,1\n", "bad.csv:2: expected 3 cells"},
    {HEAD "euler,1,1\neuler,1,1,1\n", "bad.csv:3: expected 3 cells"},
    {HEAD "euler,1,1\n\neuler,1,x\n", "bad.csv:4: expected a number in column 'error'"},
    {HEAD "euler,1e,1\n", "bad.csv:2: expected a number in column 'h'"},
    {HEAD "euler,nan,1\n", "bad.csv:2: expected a number in column 'h'"},
    {HEAD "euler,0,1\n", "bad.csv:2: expected a positive number in column 'h'"},
    {HEAD "euler,1,-1\n", "bad.csv:2: expected a positive number in column 'error'"},
    {HEAD "\"euler,1,1\n\n", "bad.csv:2: a quoted cell does not end"},
    {HEAD "\"euler\"s,1,1\n", "bad.csv:2: expected ','"},
    {HEAD "eu\"ler,1,1\n", "bad.csv:2: a quote inside"},
    {HEAD "\"a\nb\",1,1\neuler,1\n", "bad.csv:4: expected 3 cells"},
};

TEST(test_bad_tables)
{
    static const char *const lines[][2] = {
        {"good.csv bad.csv", "trotter plot: bad.csv:2:"},
        {"", "trotter plot: expected a CSV file"},
        {"nowhere.csv", "trotter plot: cannot open nowhere.csv"},
        {".", "trotter plot: cannot read ."},
        {"good.csv --scheme eul", "trotter plot: no point of the wanted schemes"},
        {"good.csv --out good.csv/x/y", "trotter plot: good.csv: not a directory"},
        {"a.csv --figure 100 --out never", "trotter plot: --figure: expected one of 84"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        file_text("bad.csv", bad[i].text);
        must_refuse("plot bad.csv --out never", formed("trotter plot: %s", bad[i].words));
        assert_false(file_exists("never"));
    }
    file_write("bad.csv", HEAD "eu\0er,1,1\n", sizeof HEAD + 10);
    must_refuse("plot bad.csv", "trotter plot: bad.csv: ");  /* a NUL byte */
    assert_false(refuses(program_run("plot good.csv"), "")); /* the judge itself */
    file_text("bad.csv", HEAD "euler,1\n");
    assert_false(refuses(program_run("plot bad.csv"), "bad.csv:3:"));
    REFUSE_ALL("plot %s", lines, NULL);
}

/* Curves of trained layers have their own columns and are not laid over errors of `order`. */
TEST_DRAWN(test_curves)
{
    file_text("gelu.csv", "name,h,relative_error,low,high\nheun,1,.5,,\nheun,.5,.1,,\n");
    file_text("relu.csv", "name,h,relative_error,low,high\nheun,1,.6,,\nheun (field L),1,.3,,\n");
    run_ok("plot gelu.csv relu.csv --csv --out curves");
    assert_int_equal(count_lines(out), 1 + 4);
    assert_string_equal(out_cell(2, "error"), "0.1");
    assert_string_equal(out_cell(3, "series"), "heun (relu.csv)");
    assert_int_equal(has_images("curves/overlay"), has_tool("gnuplot"));
    assert_false(has_images("curves/overlay-work"));
    must_refuse("plot a.csv gelu.csv", "trotter plot: gelu.csv: errors of");
}

/* Logs of trainings, one of which still runs, and other columns than ours. */
TEST_DRAWN(test_logs)
{
    shell_ok("mkdir -p runs/heun runs/rk4");
    file_text("runs/heun/log.csv",
              "step,epoch,train_loss,valid_ppl\n10,1,3.5,\n20,1,3,30\n40,2,2.5,20\n60,3,2,25\n");
    file_text("runs/rk4/log.csv", "epoch,step,train_loss\n1,10,3.25\n");
    run_ok("plot runs/heun/log.csv runs/rk4/log.csv --out logs");
    const char *row = strstr(out, "\nheun ");
    double last[6];
    assert_non_null(row);
    assert_int_equal(sscanf(row, " heun %lf %lf %lf %lf %lf %lf", last, last + 1, last + 2,
                            last + 3, last + 4, last + 5),
                     6);
    assert_float_equal(last[0], 60, 0);
    assert_float_equal(last[3], 25, 0);
    assert_float_equal(last[4], 20, 0);
    assert_float_equal(last[5], 40, 0);
    assert_int_equal(has_images("logs/curves"), has_tool("gnuplot"));
    run_ok("plot runs/heun/log.csv runs/rk4/log.csv --csv");
    assert_int_equal(count_lines(out), 1 + 5);
    assert_string_equal(out_cell(5, "line"), "2");
    assert_string_equal(out_cell(5, "name"), "rk4");
    assert_string_equal(out_cell(5, "train_loss"), "3.25");
    assert_string_equal(out_cell(5, "valid_ppl"), "");
    must_refuse("plot runs/rk4/log.csv a.csv", "trotter plot: a.csv:1: expected columns step");
    must_refuse("plot a.csv runs/rk4/log.csv",
                "trotter plot: runs/rk4/log.csv:1: expected columns");
}

static int is_alive(const char *pid)
{
    return shell("grep -q sleep /proc/%d/cmdline", atoi(pid)) == 0; /* empty where nobody waited */
}

/* A command that is stopped while gnuplot draws leaves no process behind. */
TEST_DRAWN(test_stopped)
{
    char pid[32] = "";
    file_text("gnuplot", "#!/bin/sh\necho $$ >>../drawer\nexec sleep 600\n");
    shell_ok("chmod 755 gnuplot");
    pid_t child =
        shell_start("stopped", "env PATH=.:..:$PATH %s plot good.csv --out drawn", program);
    await_lines("drawer", 1);
    file_read("drawer", pid, sizeof pid);
    AWAIT(is_alive(pid));
    test_signal(child, SIGTERM);
    shell_finish(child);
    AWAIT(!is_alive(pid));
}

/* Titles show the part of a path that tells files apart, and no folder above it. */
TEST(test_paths)
{
    char path[2][512];
    shell_ok("mkdir -p one two && cp a.csv one/a.csv && cp a.csv two/a.csv");
    snprintf(path[0], sizeof path[0], "%s", file_path("one/a.csv"));
    snprintf(path[1], sizeof path[1], "%s", file_path("two/a.csv"));
    run_ok("plot %s %s --out paths", path[0], path[1]);
    HAS(file_slurp("paths/overlay.gp", NULL), "title 'heun (one/a.csv)'",
        "title 'heun (two/a.csv)'");
    assert_false(file_has("paths/overlay.gp", path[0]));
    assert_true(file_has("paths/overlay.csv", path[0])); /* control: the data have it */
    assert_string_equal(plot_folder("/data/ptb"), "ptb");
    assert_string_equal(plot_folder("ptb"), "ptb");
    assert_string_equal(plot_folder("/data/ptb (first)"), "ptb (first)");
}

/* Returns the look of a scheme in a script: " lc rgb ..." up to the end of its item. */
static const char *look_of(const char *file, const char *scheme)
{
    static char look[4][128];
    static int turn;
    char *l = look[turn++ % 4];
    char *script = file_slurp(file, NULL);
    const char *title = formed("title '%s' noenhanced", scheme);
    const char *at = strstr(script, title);
    assert_non_null(at);
    at += strlen(title);
    snprintf(l, sizeof look[0], "%.*s", (int)strcspn(at, ",\n"), at);
    return l;
}

/* A scheme has one colour in every plot and file, but another dash and mark in each file; another scheme has another
 * colour. */
TEST(test_again)
{
    static const char file[] = "again/overlay.gp";
    shell_ok("cp a.csv c.csv");
    run_ok("plot a.csv c.csv --out again");
    const char *heun = look_of(file, "heun (a.csv)"), *other = look_of(file, "heun (c.csv)");
    size_t colour = strlen(" lc rgb '#xxxxxx'");
    assert_true(strncmp(heun, " lc rgb '#", 10) == 0 && strncmp(heun, other, colour) == 0);
    assert_string_not_equal(heun, other);
    assert_int_not_equal(strncmp(heun, look_of(file, "euler (a.csv)"), colour), 0);
    assert_int_equal(strncmp(heun, look_of("again/overlay-work.gp", "heun (a.csv)"), colour), 0);
}

/* Returns the number after `words` of a script. */
static double number_behind(const char *file, const char *words)
{
    char *script = file_slurp(file, NULL);
    const char *at = strstr(script, words);
    assert_non_null(at);
    return strtod(at + strlen(words), NULL);
}

/* Axes hold the measured range, though a diverging scheme is measured at finer steps and guides have no end. */
TEST(test_axes)
{
    run_ok("order --system attention --scheme rk4,rk2-released --halvings 5 --out axes");
    char *data = file_slurp("axes/order.csv", NULL);
    double finest = 1, least = 1, measured = 1;
    for (int i = 1; i < count_lines(data); i++) {
        double h = atof(cell_of(data, i, "h")), error = atof(cell_of(data, i, "error"));
        measured = fmin(measured, h);
        if (isfinite(error)) finest = fmin(finest, h), least = fmin(least, error);
    }
    assert_true(measured < finest); /* control: something has to be left out */
    double from = number_behind("axes/order.gp", "set xrange ["),
           low = number_behind("axes/order.gp", "set yrange [");
    assert_true(from <= finest && from > finest / 2);
    assert_true(low < least && low > least / 10);
    HAS(file_slurp("axes/order.gp", NULL), "errors of diverging schemes are cut off",
        "title 'rk2-released (diverges)' noenhanced");
    run_ok("order --system attention --scheme rk4 --halvings 5 --out axes");
    assert_false(file_has("axes/order.gp", "diverging"));
}

/* Loads a script in its folder and reads the ends of x and y of its plot. */
static void read_ranges(const char *dir, const char *script, double range[4])
{
    shell_ok("cd %s && gnuplot -e \"load '%s.gp'; set print 'range'; print GPVAL_X_MIN, "
             "GPVAL_X_MAX, GPVAL_Y_MIN, GPVAL_Y_MAX\"",
             dir, script);
    char *text;
    text = file_slurp(formed("%s/range", dir), NULL);
    assert_int_equal(sscanf(text, "%lf %lf %lf %lf", &range[0], &range[1], &range[2], &range[3]),
                     4);
}

/* Logarithmic axes end close to the data, not at the next powers of ten, and every one has tics. A linear axis beside a
 * logarithmic one still ends at its tics. */
TEST_DRAWN(test_margins)
{
    static const char *const plot[] = {"work", "time", "order"};
    double range[4], least = INFINITY, most = 0;
    need_tool("gnuplot");
    run_ok("order --system linear --scheme euler,rk4 --halvings 4 --out margins");
    char *data = file_slurp("margins/work.csv", NULL);
    for (int i = 1; i < count_lines(data); i++) {
        double evals = atof(cell_of(data, i, "evals"));
        least = fmin(least, evals), most = fmax(most, evals);
    }
    for (int k = 0; k < 3; k++) {
        read_ranges("margins", plot[k], range);
        assert_true(k != 0 || (range[0] < least && range[0] > least / 1.5));
        assert_true(k != 0 || (range[1] > most && range[1] < most * 1.5));
        assert_true(range[0] > 0); /* work, time and steps: all axes are logarithmic */
        assert_true(fabs(log10(range[3]) - round(log10(range[3]))) > 1e-9);
    }
    run_ok("order --invariant --system kepler --scheme heun,leapfrog --out beside");
    read_ranges("beside", "drift", range);
    assert_true(range[0] == 0 && range[1] >= 200);
}

/* A series that the plot cannot show says so in the key, or is not there; the others are as they were. */
TEST(test_diverging)
{
    static const char *const titles[] = {"good", "infinite (diverges)", "huge (diverges)",
                                         "late", /* one point is shown */
                                         "untimed"};
    file_text("far.csv", "scheme,h,evals,seconds,error\n"
                         "good,0.5,2,0.1,1e-2\ngood,0.25,4,0.2,1e-4\n"
                         "infinite,0.5,2,0.1,inf\ninfinite,0.25,4,0.2,inf\n"
                         "huge,0.5,2,0.1,1e9\nhuge,0.25,4,0.2,1e12\n"
                         "late,0.5,2,0.1,1e-3\nlate,0.25,4,0.2,inf\n"
                         "untimed,0.5,2,,1e-3\nuntimed,0.25,4,,1e-4\n");
    run_ok("plot far.csv --out far");
    for (int i = 0; i < 5; i++) {
        assert_true(file_has("far/overlay.gp", formed("title '%s' noenhanced", titles[i])));
    }
    HAS(file_slurp("far/overlay-time.gp", NULL), "title 'infinite (diverges)' noenhanced",
        "~title 'untimed");
}

/* Returns the smallest font-size of a drawing. */
static double least_letters(const char *svg)
{
    double least = INFINITY, size;
    for (const char *at = svg; (at = strstr(at, "font-size=\"")); at += 11)
        if ((size = atof(at + 11)) > 0) least = fmin(least, size);
    return least;
}

/* A figure for a paper has the paper's width, no title, and letters of 7 points: 96/72 pixels of SVG each. */
TEST_DRAWN(test_figure)
{
    run_ok("plot a.csv --out screen");
    assert_true(file_has("screen/overlay.gp", "set label 'Error against step'"));
    assert_false(file_has("screen/overlay.gp", "pdf") || file_exists("screen/overlay.pdf"));
    for (int width = 84; width <= 174; width += 90) {
        run_ok("plot a.csv --figure %d --out figure", width);
        assert_false(file_has("figure/overlay.gp", "set label 'Error against step'"));
        if (!has_tool("gnuplot")) continue;
        char *svg = file_slurp("figure/overlay.svg", NULL);
        assert_true(least_letters(svg) >= 7 * 96 / 72.0);
        assert_non_null(strstr(svg, formed("width=\"%.0f\"", width * 96 / 25.4)));
        if (!file_exists("figure/overlay.pdf")) {
            HAS(err, "this gnuplot has no terminal pdfcairo");
            continue;
        }
        assert_string_equal(err, "");
        assert_true(file_has("figure/overlay.pdf",
                             formed("MediaBox [ 0 0 %.0f ", floor(width * 72 / 25.4))));
    }
    assert_false(least_letters("<g font-size=\"9.0\"><g font-size=\"12\">") >= 7 * 96 / 72.0);
}

/* The key fits the image beside the words of guides, beside the axes alone and below them, whatever its names are. */
TEST_DRAWN(test_keys)
{
    static const char *const names[] = {"rk4", "rk4,strang-marchuk:exact",
                                        "euler,heun,rk4,ab2,bogacki-shampine"};
    static const char *const plot[] = {"keys/order.svg", "keys/work.svg"};
    static char svg[1 << 20];
    need_tool("gnuplot");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int width = 84; width <= 174; width += 90) {
            run_ok("order --system linear --scheme %s --halvings 4 --figure %d --out keys",
                   names[i], width);
            for (int k = 0; k < 2; k++) {
                file_read(plot[k], svg, sizeof svg);
                if (svg_fault(svg)) fail_msg("%s, %d: %s", names[i], width, svg_fault(svg));
                /* gnuplot leaves out entries that begin outside */
                assert_non_null(strstr(svg, ">rk4<"));
                assert_true(i != 1 || strstr(svg, ">strang-marchuk:exact"));
            }
        }
    memcpy(strstr(svg, "width=\"658\""), "width=\"600\"", 11); /* the control */
    assert_non_null(svg_fault(svg));
}

/* Returns the number of columns in which the entries "entry N" of a drawing's key stand. */
static int key_columns(const char *file)
{
    double x, seen[8] = {0};
    int n = 0;
    char *svg = file_slurp(file, NULL);
    assert_null(svg_fault(svg));
    for (const char *at = svg; (at = strstr(at, "<g transform=\"translate(")); at++) {
        const char *text = strstr(at, "<text>");
        if (!text || strncmp(text, "<text>entry ", 12) != 0) continue;
        int known = 0;
        assert_int_equal(sscanf(at, "<g transform=\"translate(%lf", &x), 1);
        for (int i = 0; i < n; i++) known |= seen[i] == x;
        if (!known && n < 8) seen[n++] = x;
    }
    return n;
}

static void draw_entries(size_t entries, const char *words)
{
    PlotFrame frame = {"many", "Many", "x", "y", 0};
    Plot *p;
    assert_int_equal(plot_new(file_path("many"), &frame, &p), 0);
    plot_key_title(p, "scheme (evaluations)");
    for (size_t i = 1; i <= entries; i++)
        plot_item(p, NULL, "%zu*x title %s with points", i, words);
    assert_int_equal(plot_finish(p), 0);
}

/* A key of many entries stands in one column beside the axes, not over them; one of long entries stands below. */
TEST_DRAWN(test_long_keys)
{
    need_tool("gnuplot");
    shell_ok("mkdir -p many");
    for (size_t entries = 12; entries <= 24; entries += 6) {
        draw_entries(entries, "entry");
        assert_false(file_has("many/many.gp", "bmargin"));
        draw_entries(entries, "entry of a scheme");
        if (key_columns("many/many.svg") != 1) fail_msg("%zu entries are not beside", entries);
    }
    shell_ok(
        "cd many && sed -i 's/svg size 900,[0-9]*/svg size 900,540/' many.gp && gnuplot many.gp");
    assert_true(key_columns("many/many.svg") > 1); /* the control: as it was, over the axes */
    draw_entries(8, "entry of a scheme (of a folder/of-a-file.csv)");
    assert_true(file_has("many/many.gp", "set key bmargin"));
    assert_true(key_columns("many/many.svg") >= 1);
}

/* The numbers on a narrow figure's axis do not run together. */
TEST(test_tics)
{
#define DRIFT "order --invariant --system kepler --scheme leapfrog --figure 84 --out tics"
    run_ok(DRIFT);
    assert_true(file_has("tics/drift.gp", "set xtics 50\n"));
    run_ok(DRIFT " --t-end 20");
    assert_true(file_has("tics/drift.gp", "set xtics 5\n"));
#undef DRIFT
}

/* The axes keep half of the height of a figure without a key, however long the key's names are. A key of more columns
 * than gnuplot finds room for would take that height. */
TEST_DRAWN(test_key_below)
{
    char schemes[1 << 12], names[1024];
    need_tool("gnuplot");
    for (int letters = 5; letters <= 25; letters += 5) {
        char *p = schemes, *to = names;
        for (int i = 0; i < 10; i++) {
            static const char rest[] = "mnopqrstuvwxyzmnopqrstuvwxyz";
            p += sprintf(p, "scheme %c%.*s\nk1 = H(y)\ny' = y + k1\n", 'a' + i, letters - 1, rest);
            to += sprintf(to, "%s%c%.*s", i ? "," : "", 'a' + i, letters - 1, rest);
        }
        file_text("ten.scheme", schemes);
        run_ok("order --system linear --halvings 5 --figure 84 --out key --scheme-file ten.scheme "
               "--scheme %s",
               names);
        if (!file_exists("key/order.pdf")) skip(); /* no pdfcairo: see test_figure */
        shell_ok("cd key && sed -i \"s/'svg png pdf'/'pdf'/\" order.gp && echo 'print \"share \", "
                 "(GPVAL_TERM_YMAX - GPVAL_TERM_YMIN) * 1. * GPVAL_TERM_SCALE / "
                 "GPVAL_TERM_YSIZE' >>order.gp && gnuplot order.gp >share 2>&1");
        double share = number_behind("key/share", "share "), usual = 84 * 72 / 25.4 * 0.72;
        double height = number_behind("key/order.svg", "height=\"") * 0.75; /* points */
        if (!(share * height >= usual / 2))
            fail_msg("names of %d: axes of %g points of %g", letters, share * height, height);
    }
}

/* A gnuplot without some terminals draws in the others and does not stop. */
TEST_DRAWN(test_terminals)
{
    need_tool("gnuplot");
    run_ok("plot a.csv --figure 84 --out bare");
    shell_ok("cd bare && sed -i 's/pdfcairo/nosuch/; s/pngcairo/nosuch/' overlay.gp && "
             "rm -f overlay.png overlay.svg overlay.pdf && gnuplot overlay.gp");
    assert_string_equal(err, ""); /* nor names an unknown one */
    assert_true(file_exists("bare/overlay.svg") && !file_exists("bare/overlay.pdf"));
    file_text("bare/control.gp", "set terminal nosuch\n");
    assert_int_not_equal(shell("cd bare && gnuplot control.gp"), 0);
}

TEST(test_one_point)
{
#define TRAIN                                                                             \
    "train --corpus markov:20 --width 8 --heads 2 --inner 8 --sequence 8 --batch-tokens " \
    "64 --threads 1 --eval-tokens 64 --max-steps "
    run_ok(TRAIN "3 --out short");
    assert_true(file_has("short/loss.gp", "with points title 'training'"));
    run_ok(TRAIN "300 --eval-every 100 --out longer");
    assert_true(file_has("longer/loss.gp", "with lines title 'training'"));
#undef TRAIN
}

/* Curves in one place show each other: the second has gaps, and smaller marks where there are marks. */
TEST(test_one_place)
{
    static const char *const looks[][3] = {
        {"order", "trapezoid", " lw 2 dt 1 pt 7 ps 1"},
        {"order", "implicit-midpoint", " lw 2 dt '_ ' pt 5 ps 0.588"},
        {"order", "rk4", " lw 2 dt 1 pt 9 ps 1"},
        {"work", "implicit-midpoint", " lw 2 dt 1 pt 5 ps 1"}, /* their evaluations differ */
        {"stability", "trapezoid", " dt 1"},
        {"stability", "implicit-midpoint", " dt '_ '"},
        {"stability", "rk4", " dt 1"}};
    run_ok(
        "order --system linear --scheme trapezoid,implicit-midpoint,rk4 --halvings 4 --out twins");
    run_ok("stability --scheme trapezoid,implicit-midpoint,rk4 --points 41 --out twins");
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        assert_non_null(
            strstr(look_of(formed("twins/%s.gp", looks[i][0]), looks[i][1]), looks[i][2]));
    }
}

/* Hundreds of lines are drawn, and gnuplot looks into the rows of a line alone, where they stand together; the drawing is that of
 * every row looked into. */
TEST_DRAWN(test_many_lines)
{
    need_tool("gnuplot");
    FILE *f = fopen(file_path("lines.csv"), "w");
    fputs("scheme,h,error\n", f);
    for (int i = 0; i < 303; i++) fprintf(f, "s%d,%g,%d\n", i / 3, exp2(-i % 3), 1 + i / 3);
    for (int i = 0; i < 303; i++) fprintf(f, "t%d,%g,%d\n", i % 101, exp2(-i / 101), 200 + i % 101);
    assert_int_equal(fclose(f), 0);
    run_ok("plot lines.csv --out lines");
    assert_true(file_has("lines/overlay.gp", "'overlay.csv' every ::4::6 using 2:5 "));
    assert_true(file_has("lines/overlay.gp", "'overlay.csv' using ($1 == 103 ? $2 : NaN):5 "));
    assert_true(file_has("lines/overlay.svg", "<title>s100</title>") &&
                file_has("lines/overlay.svg", "<title>t100</title>"));
    shell_ok(
        "cd lines && cp overlay.svg once.svg && sed -i -E "
        "'s/every ::([0-9]+)::[0-9]+ using 2:/using (int((column(0)-1)\\/3) == int(\\1\\/3) ? $2 : NaN):/' "
        "overlay.gp && ! grep -q every overlay.gp && gnuplot overlay.gp");
    shell_ok("cmp lines/once.svg lines/overlay.svg");
}

/* Writes the tables of two studies and one of one point. */
static int open_studies(void **state)
{
    if (program_open(state) != 0) return -1;
    run_ok("order --system linear --scheme euler,heun --halvings 4 --csv --out study");
    file_text("a.csv", out);
    run_ok("order --system kuramoto --scheme heun --halvings 5 --csv");
    file_text("b.csv", out);
    file_text("good.csv", HEAD "euler,1,1\n");
    return 0;
}

TEST_MAIN(open_studies, program_close)
