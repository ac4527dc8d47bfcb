/* test_gnuplot.c: strangers' texts in plots (test_plot_texts.c: in a script's strings, and in LaTeX). Every plot of every command is made from names, paths and
 * tokens that try to end a string of gnuplot and to run a command. A stand-in for gnuplot judges each script
 * (tests/lib/gnuplot.h), and gnuplot itself draws it. The stand-in is this program under the name gnuplot. */
#include "tests/lib/test.h"

#include <errno.h>
#include <sys/stat.h>

#include "studies/base/plot/gnuplot.h"
#include "studies/commands.h"
#include "studies/base/kind.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/gnuplot.h"
#include "tests/lib/program.h"

/* ---- the stand-in ----------------------------------------------------------------------------------- */

/* Judges the script. Appends "FOLDER/SCRIPT", a zero byte, its fault and a zero byte to the file that JUDGED names. */
static int stand_in(const char *script)
{
    static char text[1 << 22], dir[PATH_MAX];
    const char *judged = getenv("JUDGED");
    FILE *f = fopen(script, "rb");
    if (!f || !judged || !getcwd(dir, sizeof dir)) return 1;
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    const char *fault = gnuplot_fault(text);
    f = fopen(judged, "ab");
    if (!f) return 1;
    fprintf(f, "%s/%s%c%s%c", dir, script, 0, fault ? fault : "", 0);
    return fclose(f) != 0;
}

/* Counts the files that commands in names have made. */
static int find_canaries(void)
{
    return (int)shell_number("find . -name 'CANARY*' -printf x | wc -c");
}

/* ---- hostile texts -------------------------------------------------------------------------------------- */

/* Each text makes CANARY where gnuplot runs it. */
static const char *const hostile[] = {
    "x\n`touch CANARY`\n",
    "x\r\nsystem 'touch CANARY'\r\n!touch CANARY\n",
    "'",
    "' . system('touch CANARY') . '",
    "'''` touch CANARY`",
    "it's \"`touch CANARY`\" \\",
    "`touch CANARY`",
    "@CANARY %s%d %n $1 ${x} #{[(;} \\n",
    "<touch CANARY",
    "|touch CANARY",
    "a,b,c",
    "\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xae\xef\xbb\xbf\xff\xc0\x8a\xed\xa0\x80\xf4\x90\x80"
    "\x80\x1b[31m\t\x7f",
    "\\",
    "\xe2\x82",
};
enum { HOSTILE = sizeof hostile / sizeof *hostile };

/* Names of a folder, where any character but a slash is allowed, and of a corpus, whose name must fit into a line of a
 * file. */
#define QUOTES "`touch CANARY`' . system('touch CANARY') . '\"@CANARY %s \xe2\x80\xa8"
static const char odd[] = "o\n`touch CANARY`\nsystem 'touch CANARY'\n" QUOTES "\xff\\";
static const char odd_corpus[] = "'c " QUOTES "\\";

/* Words of a text, which have no blanks. */
static const char tokens[] = "`touch${IFS}CANARY` ' '' '.system('touch${IFS}CANARY').'\n"
                             "\" \\ \\' @CANARY\n"
                             "%s , ,, {\n"
                             "} # ; $1\n"
                             "| < !touch \xe2\x80\xa8\n"
                             "\xe2\x80\xae \xc2\x85 \x1b[31m \x7f\n";

/* Runs `trotter WORDS`, in which $ODD is the odd folder and $CORPUS the odd corpus. Status 1, of a study with nothing worth
 * comparing, is allowed. */
static void trotter(const char *words)
{
    int status = shell("set -f; IFS=; %s %s", program, words);
    if (status != 0 && status != 1) fail_msg("trotter %s: status %d: %s", words, status, err);
}

static void write_cell(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text; text++) fprintf(f, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', f);
}

/* Writes a stranger's table of order studies. */
static void write_table(const char *name)
{
    FILE *f = fopen(file_path(name), "wb");
    assert_non_null(f);
    fprintf(f, "scheme,system,h,evals,seconds,error\n");
    for (int i = 0; i < HOSTILE; i++)
        for (int k = 1; k <= 4; k++) {
            write_cell(f, hostile[i]);
            fputc(',', f);
            write_cell(f, hostile[(i + k / 4) % HOSTILE]);
            fprintf(f, ",%g,%d,%g,%g\n", 1.0 / k, k, 0.1 * k, (i + 1.0) / k);
        }
    assert_int_equal(fclose(f), 0);
}

static void write_texts(void)
{
    static const char *const name[] = {"train.txt", "valid.txt", "test.txt", "train.a", "valid.a",
                                       "test.a",    "train.b",   "valid.b",  "test.b"};
    assert_int_equal(mkdir(file_path(odd), 0777), 0);
    assert_int_equal(mkdir(file_path(odd_corpus), 0777), 0);
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        FILE *f = fopen(file_path(formed("%s/%s", odd_corpus, name[i])), "wb");
        assert_non_null(f);
        for (int k = 0; k < (i % 3 ? 10 : 100); k++) fputs(tokens, f);
        assert_int_equal(fclose(f), 0);
    }
}

/* ---- every plot of every command -------------------------------------------------------------------------- */

#define NET                                                                           \
    " --corpus $CORPUS --width 8 --heads 2 --inner 8 --sequence 8 --batch-tokens 64 " \
    "--max-steps 3 --activation gelu --threads 1 "
#define OF "--model $ODD/model --text $ODD/line.txt "

static void draw_orders(void)
{
    static const char *const lines[] = {
        "plot stranger.csv $ODD/stranger.csv --out $ODD/plot",
        "table $ODD/stranger.csv --design scheme,system --seed h --measure error --out $ODD/table",
        "order --system linear --scheme euler,heun --halvings 4 --out $ODD/order",
        "order --invariant --scheme heun --out $ODD/drift",
        "order --adaptive --scheme heun-euler --tolerances 1e-3,1e-4 --out $ODD/adaptive",
        "solve --system kepler --scheme heun,rk4 --out $ODD/solve",
        "solve --system robertson --scheme rodas4,tr-bdf2 --tolerance 1e-4 --log-time 1e-4 --plot 1e4*y2 --phase y1,y2 "
        "--event 'y1 - y3' --out $ODD/steps",
        "design --scheme looped-learn --starts 2 --evaluations 40 --out $ODD/design",
        "stability --scheme heun,leapfrog --out $ODD/stability",
        "stability --scheme heun --split --out $ODD/split",
        "stability --scheme heun --order-star --out $ODD/stars",
    };
    write_table("stranger.csv");
    write_table(formed("%s/stranger.csv", odd));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) trotter(lines[i]);
}

static void draw_models(void)
{
    trotter("train" NET "--scheme transformer --layers 2 --out $ODD/model");
    trotter("plot $ODD/model/log.csv $ODD/model/log.csv --out $ODD/logs");
    trotter("compare" NET "--scheme transformer,euler,heun-layer,rk4-layer --seeds 2 --truncation "
            "1 --out $ODD/compare");
    trotter("compare" NET
            "--scheme transformer,rk4-layer --layers 1,2 --by-depth --seeds 2 --out $ODD/depth");
    trotter("compare" NET "--source a --target b --pair transformer/transformer,macaron/macaron "
            "--seeds 2 --truncation 1 --rate 0.03 --warmup 1 --out $ODD/pairs"); /* beats words */
    trotter("sweep" NET "--interleaved --permutations 2 --random 2 --sandwiches --words sffs "
            "--layers 1 --seeds 2 --out $ODD/sweep");
    trotter("order --system network:$ODD/model --scheme heun --halvings 4 --out $ODD/network");
    file_text(formed("%s/line.txt", odd), strstr(tokens, "\xe2\x80\xae"));
    trotter("attention " OF "--out $ODD/maps");
    trotter("truncation " OF
            "--scheme transformer --halvings 4 --sentences 1 --out $ODD/truncation");
    trotter("truncation " OF "--scheme transformer,heun --jacobian --out $ODD/jacobian");
    trotter("truncation " OF "--scheme transformer,heun --refine 2 --out $ODD/refine");
}

/* ---- drawings made ---------------------------------------------------------------------------------------- */

static char *judged;
static size_t judged_bytes;

/* Reads the next script that the stand-in was given, and its fault; 0: no more. */
static int next_script(size_t *at, const char **script, const char **fault)
{
    if (*at >= judged_bytes) return 0;
    *script = judged + *at;
    *fault = *script + strlen(*script) + 1;
    *at = (size_t)(*fault + strlen(*fault) + 1 - judged);
    return 1;
}

/* Compares NAME of FOLDER/NAME.gp with a name that may end in '*'. */
static int is_plot(const char *script, const char *name)
{
    const char *own = strrchr(script, '/') + 1;
    size_t n = strcspn(name, "*"), own_bytes = strlen(own) - 3;
    return strncmp(own, name, n) == 0 && (name[n] == '*' || own_bytes == n);
}

static int was_drawn(const char *name)
{
    const char *script, *fault;
    for (size_t at = 0; next_script(&at, &script, &fault);)
        if (is_plot(script, name)) return 1;
    return 0;
}

TEST(test_judged)
{
    const char *script, *fault;
    int faults = 0;
    for (size_t at = 0; next_script(&at, &script, &fault);) {
        if (*fault) print_message("%s: %s\n", strrchr(script, '/') + 1, fault);
        faults += *fault != '\0';
    }
    assert_int_equal(faults, 0);
    assert_ptr_equal(command_all, command_table);
    for (const Kind *k = kind_next(NULL); k; k = kind_next(k))
        for (const KindPlot *p = k->plot; p->file; p++)
            if (!was_drawn(p->file) && strcmp(p->file, "trees-*") != 0) /* no script draws them */
                fail_msg("%s: the plot %s was not tried", k->command, p->file);
}

/* Runs gnuplot as a user does by hand, without a filter. It must draw, take no name for marked up text, report no
 * unknown terminal, complain of no style, and cut no text off. Returns the drawing, which is good until the next. */
static const char *draw_script(const char *script)
{
    setenv("SCRIPT", script, 1);
    int status = shell("cd \"${SCRIPT%%/*}\" && gnuplot \"${SCRIPT##*/}\"");
    if (status != 0 || says("enhanced") || says("WARNING") || says("specifier"))
        fail_msg("%s: status %d: %s", script, status, err);
    const char *image = formed("%.*ssvg", (int)strlen(script) - 2, script);
    const char *svg = path_slurp(image, NULL);
    assert_non_null(svg);
    if (svg_fault(svg)) fail_msg("%s: does not fit: %s", image, svg_fault(svg));
    return svg;
}

/* No name runs as a command. */
TEST(test_drawn)
{
    const char *script, *fault;
    need_tool("gnuplot");
    for (size_t at = 0; next_script(&at, &script, &fault);)
        if (!strstr(script, "/runs/")) draw_script(script); /* those are like train's */
    assert_int_equal(find_canaries(), 0);
}

/* The judge and the canary see a name that is not quoted. */
TEST(test_control)
{
    static const char *const good[] = {
        "set xlabel 'it''s `x` @y $z \\'\nplot 'a.csv' using ($1 == 2 ? $3 : NaN):4, \\\n x with "
        "lines title 'b'\n",
        "set table $axes\nplot x\nunset table\n",
        "f(a) = a + 1\ndo for [i in 'svg png'] {\n set output 'x.'.i\n plot f(x) # `id`\n}\n"};
    static const char *const bad[] = {
        "set xlabel 'x\n`touch P`\n'\n",
        "plot x title '''x'\n",
        "plot x title 'x' 'y'\n",
        "set xlabel \"`id`\"\n",
        "set xlabel \"@x\"\n",
        "plot `id`\n",
        "plot @x\n",
        "plot x; system 'id'\n",
        "x = system('id')\n",
        "plot x title system('id')\n",
        "!id\n",
        "if (1) {\n!id\n}\n",
        "plot '<id'\n",
        "plot x, '< id' using 1:2\n",
        "plot '/etc/passwd'\n",
        "plot '../a.csv'\n",
        "set output '|id'\n",
        "set output '../x.svg'\n",
        "set print '|id'\n",
        "set table 'x'\n",
        "set table $other\n",
        "set table $axes append 'x'\n",
        "set terminal x11\n",
        "load 'x'\n",
        "eval 'x'\n",
        "plot x title '\x1b[31m'\n",
        "plot x title '\xff'\n",
        "plot x title '\xe2\x80\xa8'\n",
        "plot x title 'x",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (gnuplot_fault(good[i])) fail_msg("%s: %s", good[i], gnuplot_fault(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!gnuplot_fault(bad[i])) fail_msg("accepted: %s", bad[i]);
    need_tool("gnuplot");
    file_text("control.gp", formed("set xlabel '%s'\n", hostile[0]));
    shell("gnuplot control.gp");
    assert_int_equal(find_canaries(), 1);
    assert_int_equal(unlink(file_path("CANARY")), 0);
}

/* Commands that a script might start; each makes CANARY where it can. */
static const char *const starts[] = {
    "system 'touch CANARY'\n",
    "x = system('touch CANARY')\n",
    "!touch CANARY\n",
    "set xlabel `touch CANARY`\n",
    "set xlabel \"`touch CANARY`\"\n",
    "plot '<touch CANARY; echo 1 1'\n",
    "set print '|touch CANARY'\nprint 1\nunset print\n",
    "set terminal svg\nset output '|touch CANARY'\nplot x\nunset output\n",
};

/* A script that the program runs starts nothing, though each of these does when run by hand. It still draws. */
TEST(test_filter)
{
    static const char plain[] = "set terminal svg\nset output 'p.svg'\nplot x\nunset output\n"
                                "set terminal pngcairo\nset output 'p.png'\nplot x\n";
    need_tool("gnuplot");
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        file_text("start.gp", starts[i]);
        gnuplot_run(folder, "start.gp");
        if (find_canaries()) fail_msg("it started: %s", starts[i]);
        shell("gnuplot start.gp");
        if (!find_canaries()) fail_msg("by hand it did not start: %s", starts[i]);
        unlink(file_path("CANARY"));
    }
    file_write("plain.gp", plain, sizeof plain - 1);
    assert_int_equal(gnuplot_run(folder, "plain.gp"), 0);
    assert_true(file_exists("p.svg") && file_exists("p.png"));
    assert_int_equal(gnuplot_run(folder, "nowhere.gp"), 1);
    assert_int_equal(gnuplot_run("/nowhere", "plain.gp"), -1);
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(gnuplot_run(folder, "plain.gp"), -1);
    assert_int_equal(errno, ENOENT);
    setenv("PATH", path, 1);
    free(path);
}

/* Links that a stranger's folder has in the places of drawings are replaced. Control: gnuplot itself writes through one. */
TEST(test_links)
{
    static const char drawing[] = "set terminal svg\nset output 'p.svg'\nplot x\nunset output\n";
    need_tool("gnuplot");
    shell_ok("rm -rf links && mkdir links && ln -s ../precious links/p.svg");
    for (int control = 0; control < 2; control++) {
        file_text("precious", "words");
        file_text("links/p.gp", drawing);
        if (control)
            shell_ok("cd links && rm p.svg && ln -s ../precious p.svg && gnuplot p.gp");
        else
            gnuplot_draw(file_path("links"), "p", 0);
        assert_int_equal(strcmp(file_slurp("precious", NULL), "words") != 0, control);
        assert_true(file_exists("links/p.svg"));
    }
}

/* ---- a model of a stranger ----------------------------------------------------------------------------------- */

#define LONG "a-name-as-long-as-what-is-put-in-its-place"

/* A model's record of its scheme is a name or is refused. */
TEST(test_scheme_of_a_model)
{
    static const char key[] = "\"scheme\":\"" LONG "\"";
    static const char *const name[] = {"x\\n`touch CANARY`\\n", "another"};
    size_t size;
    file_text("own.scheme", "scheme " LONG "\nk1 = H(y)\ny' = y + k1\n");
    file_text("line.txt", ", ,,\n");
    trotter("train" NET "--scheme-file own.scheme --scheme " LONG " --out own");
    char *model = file_slurp("own/model.safetensors", &size),
         *at = memmem(model, size, key, sizeof key - 1);
    assert_non_null(at);
    for (int i = 0; i < 2; i++) {
        memcpy(at + 10, LONG, sizeof LONG - 1);
        memcpy(at + 10, name[i], strlen(name[i]));
        assert_int_equal(fuzz_seal((uint8_t *)model, size), 1);
        file_write("own/model.safetensors", model, size);
        int status =
            program_run("truncation --model own --text line.txt --halvings 4 --out of-own");
        assert_int_equal(status, i ? 0 : 2);
        if (i == 0) assert_true(says("metadata scheme: expected a scheme's name"));
    }
    assert_int_equal(find_canaries(), 0);
}

/* ---- set-up ---------------------------------------------------------------------------------------------------- */

static int open_all(void **state)
{
    char self[PATH_MAX], *before = strdup(getenv("PATH"));
    if (program_open_drawn(state) != 0) return -1;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return -1;
    self[n] = '\0';
    if (mkdir(file_path("bin"), 0777) != 0 || symlink(self, file_path("bin/gnuplot")) != 0)
        return -1;
    write_texts();
    setenv("PATH", formed("%s:%s", file_path("bin"), before), 1);
    setenv("JUDGED", file_path("judged"), 1);
    setenv("ODD", odd, 1);
    setenv("CORPUS", odd_corpus, 1);
    draw_orders();
    draw_models();
    setenv("PATH", before, 1);
    free(before);
    judged = path_slurp(file_path("judged"), &judged_bytes);
    return judged ? 0 : -1;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    if (strcmp(slash ? slash + 1 : argv[0], "gnuplot") == 0) return stand_in(argv[argc - 1]);
    return test_run(open_all, program_close);
}
