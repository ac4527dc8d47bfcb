/* test_table.c: `trotter table` as a user runs it: recorded tables and contrasts have their numbers again, small tables R's, and
 * whatever is left out or refused is told. */
#include "tests/lib/test.h"

#include <glob.h>
#include <gsl/gsl_cdf.h>
#include <limits.h>
#include <sys/wait.h>

#include "studies/base/process/sealed.h"
#include "tests/lib/study.h"

static char *differences; /* of the last `tabulate` or `planned` */

static const char paired[] =
    "model,seed,value\n"
    "a,1,5.1\na,2,4.9\na,3,6.2\na,4,5.8\nb,1,7.3\nb,2,6.9\nb,3,8.1\nb,4,7.6\n"
    "c,1,4.4\nc,2,4.1\nc,3,5.6\nc,4,4.6\nd,1,5.0\nd,2,5.7\nd,3,6.4\nd,4,5.5\n";

/* Runs `trotter table ARGUMENTS --out small` and reads its differences. */
static void tabulate(const char *arguments)
{
    run_ok("table %s --out small", arguments);
    differences = file_slurp("small/differences.csv", NULL);
}

/* Checks a number, or a text, of the row of differences that begins so. */
static void is_near(const char *row, const char *name, double want, double within)
{
    double x = number(differences, row, name);
    if (!(fabs(x - want) <= within)) fail_msg("%s %s: %.15g, not %.15g", row, name, x, want);
}

static void is_text(const char *row, const char *name, const char *want)
{
    const char *text = cell(differences, row, name);
    if (strcmp(text, want) != 0) fail_msg("%s %s: '%s', not '%s'", row, name, text, want);
}

/* ---- files ------------------------------------------------------------------------------------------ */

/* Names that gnuplot or CSV could mistake do no harm, and the report knows the study. */
TEST_DRAWN(files_and_report)
{
    file_text("runs.csv",
              "model,seed,value\n\"a, \"\"b\"\"\",1,5\n\"a, \"\"b\"\"\",2,6\n`x` $1,1,7\n"
              "`x` $1,2,8\nnone,1,\n");
    run_ok("table runs.csv --out study/files --contrast 'a: \"`x` $1\" - \"none\"' --figure 84");
    run_ok("table runs.csv --out study/files");
    shell_ok("cd study/files && ls table.csv table.tex table.md differences.csv differences.tex "
             "forest.csv forest.gp commands.csv >/dev/null");
    if (has_tool("gnuplot")) assert_true(file_exists("study/files/forest.svg"));
    assert_true(file_has("study/files/table.md", "value, less is better: 3 designs, 4 runs."));
    run_ok("report study");
    HAS(file_slurp("study/report.html", NULL), "Tables of runs",
        "Differences of designs, with 95 % intervals");
}

/* ---- plans ------------------------------------------------------------------------------------------ */

#define GIT "git -C repo -c user.name=n -c user.email=e -c commit.gpgsign=false "
static void commit(const char *file, const char *text, int second)
{
    file_text(formed("repo/%s", file), text);
    shell_ok(GIT "add %s && env GIT_COMMITTER_DATE='2020-01-01T00:00:%02d' " GIT "commit -qm x",
             file, second);
}

/* Runs it and checks whether the plan's first contrast is shown to be planned, and the words that say why not. */
static void planned(const char *arguments, const char *row, const char *want, const char *words)
{
    tabulate(formed("--plan repo/plan %s", arguments));
    is_text(row, "planned", want);
    HAS(err, words);
}

/* A contrast is planned where the plan was committed before the data; not where it was committed, or changed, after;
 * and not shown where git does not tell. */
TEST_DRAWN(plans) /* git is found as gnuplot is */
{
#define RUNS "repo/runs.csv --contrast 'b - c'"
#define MOVED "repo/sub/runs.csv"
    need_tool("git");
    char above[PATH_MAX];
    assert_non_null(realpath(file_path("."), above));
    setenv("GIT_CEILING_DIRECTORIES", above, 1);
    unsetenv("GIT_DIR");
    shell_ok("mkdir repo");
    file_text("repo/plan", "order: b - a\n");
    file_text("repo/runs.csv", paired);
    planned(RUNS, "b,a,", "not shown",
            "not shown whether repo/plan was planned: the plan is in no git repository");
    shell_ok("git init -q repo");
    commit("other", "x", 1);
    planned(RUNS, "b,a,", "not shown", "the plan has no commit");
    commit("plan", "order: b - a\n", 2);
    planned(RUNS, "b,a,", "not shown", "a file of the data has no commit");
    commit("runs.csv", paired, 3);
    planned(RUNS, "b,a,", "yes", "~not shown");
    is_text("b,c,", "planned", "no"); /* not in the plan */
    shell_ok("cd repo && mkdir -p sub && git mv runs.csv sub/runs.csv && cd .. && env "
             "GIT_COMMITTER_DATE='2020-01-01T00:00:09' " GIT "commit -qm moved");
    planned(MOVED, "b,a,", "yes", "~not shown");
    /* a strange repository's settings run nothing; the control is a command of git that runs them */
    file_text("repo/.gitattributes", "plan filter=x\n");
    shell_ok(
        "git -C repo config filter.x.clean 'touch ../ran; cat' && touch -d 2001-01-01 repo/plan");
    planned(MOVED, "b,a,", "yes", "~not shown");
    assert_false(file_exists("ran"));
    shell_ok("git -C repo diff --quiet HEAD -- plan");
    assert_true(file_exists("ran"));
    file_text("repo/plan", "order: b - c\n");
    planned(MOVED, "b,c,", "not shown", "the plan was changed since its commit");
    commit("plan", "order: b - c\n", 5); /* after the data, before they were moved */
    planned(MOVED, "b,c,", "no", "~not shown");
    assert_int_equal(shell("env PATH=/nowhere %s table " MOVED " --plan repo/plan --csv", program),
                     0);
    HAS(err, "git cannot be run");
}

/* Repositories of a stranger whose settings have git run a command: the objects behind the commit are missing, and are to be
 * fetched from `ext::COMMAND`. `bare` lies among the files of another folder, as a clone may have it. */
static const char *const strange[] = {"strange", "bare"};

static void make_strange(void)
{
    shell_ok(
        "git init -q strange && cp runs.csv strange && echo 'order: b - a' >strange/plan && "
        "cd strange && git add . && git -c user.name=n -c user.email=e -c "
        "commit.gpgsign=false commit -qm x && git cat-file commit HEAD >../commit && rm -rf "
        ".git/objects/[0-9a-f][0-9a-f] && git hash-object -t commit -w ../commit && for set in "
        "'core.repositoryformatversion 1' 'extensions.partialClone origin' "
        "'remote.origin.promisor true' 'protocol.ext.allow always'; do git config $set; done "
        "&& git config remote.origin.url \"ext::sh -c touch%% $PWD/../fetched\" && cd .. && cp -r "
        "strange/.git bare && cp strange/plan strange/runs.csv bare && git config -f "
        "bare/config core.bare true");
}

/* Returns 1 where the stranger's command was run since the last call. */
static int has_run(void)
{
    return unlink(file_path("fetched")) == 0;
}

TEST_DRAWN(plans_of_strangers)
{
    need_tool("git");
    char *const log[] = {"git", "log", "-1", "--format=%ct", "--", "./plan", NULL};
    pid_t child;
    file_text("runs.csv", paired);
    make_strange();
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        tabulate(formed("%s/runs.csv --plan %s/plan", strange[i], strange[i]));
        is_text("b,a,", "planned", "not shown");
        if (has_run()) fail_msg("%s: a stranger's command was run", strange[i]);
        /* control: git alone runs it. Sealed it does not, even where its own settings let it */
        shell("git -C %s log -1 --format=%%ct -- ./plan", strange[i]);
        if (!has_run()) fail_msg("%s: the control runs nothing", strange[i]);
        assert_int_equal(sealed_start(file_path(strange[i]), -1, log, &child), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        if (has_run()) fail_msg("%s: a stranger's command was run by a sealed git", strange[i]);
    }
}

/* ---- recorded studies ----------------------------------------------------------------------------- */

/* Contrasts have the recorded numbers, of 15 digits; so they have with signs and a name, and from a plan. */
TEST(recorded_contrasts)
{
    char path[PATH_MAX];
    static const char *const name[] = {"difference", "low", "high", "p"};
    static const char row[] = "dial:2-1 + fgfg2,";
    assert_non_null(realpath("studies/results/dial/two", path));
    const char *recorded = path_slurp(formed("%s/differences.csv", path), NULL);
    assert_non_null(recorded);
    file_text("plan",
              "# three questions\n\n order: dial:2-1 + fgfg2 - dial:2-1/2 - looped:2  # one\n");
    for (int way = 0; way < 2; way++) {
        tabulate(formed("%.4000s/runs.csv --design scheme --measure valid_ppl %s", path,
                        way ? "--plan plan" : "--contrast 'dial:2-1 fgfg2 - dial:2-1/2 looped:2'"));
        assert_int_equal(count_lines(differences), 2);
        for (int k = 0; k < 4; k++) {
            double is = number(recorded, "dial:2-1 + fgfg2,dial:2-1/2 + looped:2,", name[k]);
            is_near(row, name[k], is, 1e-12 * fabs(is));
        }
        assert_int_equal(count_words(differences, ",order\n"), way);
        is_text(row, "comparisons", "1");
        is_text(row, "correction", "none");
    }
}

static int differ(double x, double y)
{
    return isnan(x) ? !isnan(y) : !(fabs(x - y) <= 1e-9);
}

/* Counts the numbers of a recorded table and of its differences that `trotter table` does not make of the runs; *rows becomes
 * the number of the table's designs. */
static int disagree(const char *runs, const char *table, const char *less, int *rows)
{
    static const char *const text[] = {"validation", "test"}, *const ppl[] = {"valid_ppl",
                                                                              "test_ppl"};
    static const char *const name[] = {"difference", "low",        "high", "p",
                                       "alone_low",  "alone_high", "sd",   "df"};
    char base[64], design[64];
    int bad = 0;
    assert_int_equal(sscanf(less, "%*[^\n]\n%*[^,],%63[^,]", base), 1);
    tabulate(formed("%s --design scheme --seed seed --measure valid_ppl,test_ppl --baseline %s",
                    runs, base));
    char *means = file_slurp("small/table.csv", NULL);
    *rows = 0;
    for (const char *at = table; (at = strchr(at, '\n')) && strncmp(++at, "unigram,", 8) != 0;
         ++*rows) {
        snprintf(design, sizeof design, "%.*s,", (int)strcspn(at, ","), at);
        for (int k = 0; k < 2; k++) {
            double mean = number_in(means, row_of(means, design) + k, "mean");
            bad += differ(number(table, design, ppl[k]), mean);
            if (strncmp(design, base, strlen(base)) == 0 && design[strlen(base)] == ',') continue;
            const char *there = formed("%s%s,%s,", design, base, text[k]),
                       *made = formed("%s%s,%s,", design, base, ppl[k]);
            for (int j = 0; j < 8; j++)
                bad += differ(number(less, there, name[j]), number(differences, made, name[j]));
        }
    }
    return bad;
}

/* The recorded tables are those of their recorded runs (studies/scripts/recorded.sh makes them). Controls: with the first run
 * of each design 0.1 higher they are not. */
TEST(recorded_tables)
{
    glob_t found;
    int rows, tables = 0;
    shell_ok("ln -s \"$OLDPWD/studies\" studies");
    assert_int_equal(glob("studies/results/*/runs.csv", 0, NULL, &found), 0);
    glob("studies/results/*/*/runs.csv", GLOB_APPEND, NULL, &found);
    glob("studies/results/*/*/*/runs.csv", GLOB_APPEND, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        int n = (int)(strlen(path) - strlen("runs.csv"));
        char *runs = path_slurp(path, NULL),
             *table = path_slurp(formed("%.*scompare.csv", n, path), NULL),
             *less = path_slurp(formed("%.*sdifferences.csv", n, path), NULL);
        if (strncmp(runs, "scheme,", 7) != 0)
            continue;         /* pairs: test_compare_pairs.c; words: test_sweep.c */
        if (!table) continue; /* tuning and fine-tuning: no table of schemes */
        int bad = disagree(path, table, less, &rows);
        if (bad) fail_msg("%s: %d numbers of its tables are not those of its runs", path, bad);
        shell_ok(
            "awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^(valid|test)_ppl$/) at[i] } "
            "NR > 1 && !seen[$1]++ { for (i in at) $i += .1 } 1' %s >spoilt.csv",
            path);
        assert_true(rows > 1 && disagree("spoilt.csv", table, less, &rows) >= 2 * rows);
        tables++;
    }
    assert_true(tables > 20);
    globfree(&found);
}

/* The demo's table in the first README is what the script makes of the recorded tables. Controls: a README with another
 * figure in the table is not what it makes; without a mark it is refused and stays. */
TEST(table_of_the_demo)
{
    shell_ok(
        "ln -sfn \"$OLDPWD/studies\" studies && cp \"$OLDPWD/README.md\" page.md && cp page.md kept.md");
    shell_ok("sh studies/scripts/demo.sh --table page.md && cmp page.md kept.md");
    shell_ok(
        "sed '/^<!-- demo: /,/^<!-- demo ends/s/| \\([0-9]*\\)\\.\\([0-9]\\) |/| \\11.\\2 |/' kept.md >page.md && "
        "cp page.md spoilt.md && ! cmp -s page.md kept.md");
    shell_ok(
        "sh studies/scripts/demo.sh --table page.md && cmp page.md kept.md && ! cmp -s page.md spoilt.md");
    shell_ok(
        "sed '/^| that layer once trained/s/perplexity /perplexity 1/' kept.md >page.md && ! cmp -s page.md kept.md");
    shell_ok("sh studies/scripts/demo.sh --table page.md && cmp page.md kept.md");
    shell_ok("grep -v '^<!-- demo ends' kept.md >page.md && cp page.md spoilt.md");
    assert_int_equal(shell("sh studies/scripts/demo.sh --table page.md 2>refused"), 2);
    shell_ok("cmp page.md spoilt.md && grep -q 'two marks' refused");
}

/* ---- equal maps, runs that diverged, errors of few seeds -------------------------------------------------- */

/* Designs of 4, 3, 1 and 2 runs have the figures of a program that shares nothing with this one: sums in exact rounding
 * (Python's math.fsum), Student's distribution by Simpson's rule on cos^(nu - 1). Dunnett's p, and Tukey's and Kramer's, for
 * unequal numbers are R's:
 *
 *   glht(lm(y ~ g), mcp(g = "Dunnett")), adjusted("single-step", abseps = 1e-8, maxpts = 1e6); TukeyHSD(aov(y ~ g))
 *
 * Equal maps are one design and one comparison, a single run is compared, and diverged runs are left out of the spread. */
static const char layout[] =
    "scheme,seed,ppl,same_as,diverged,part,error\n"
    "transformer,1,5.1,,,,.9\ntransformer,2,4.9,,,,.05\ntransformer,3,6.2,,,,\ntransformer,4,5.8,,,,\n"
    "heun-layer,1,7.3,,,,.5\nheun-layer,2,6.9,,,,\nheun-layer,3,8.1,,,,\nlooped:2,1,4.4,,,,.3\n"
    "rk2-unit,1,5.0,,,,\nrk2-unit,2,5.7,,,,\nrepeat:2,1,5.0,rk2-unit,,,\nrepeat:2,2,5.7,rk2-unit,,,\n"
    "rk4-layer,1,9,,,,\nrk4-layer,2,1e5,,yes,,\neuler,1,3,,,,\neuler,2,inf,,,,\n"
    "unigram,,99,,,bound,\n";

TEST(equal_maps_and_diverged_runs)
{
    static const struct {
        const char *row;
        double diff, low, high, p;
    } want[] = {
        {"heun-layer,transformer,", 1.93333333333333, 0.82989686324718, 3.03676980341949,
         0.013505876134875},
        {"looped:2,transformer,", -1.1, -2.71526559747672, 0.515265597476724, 0.330946998525183},
        {"rk2-unit,transformer,", -0.15, -1.40117935174582, 1.10117935174582, 0.984738512500460},
        {"repeat:2,transformer,", -0.15, -1.40117935174582, 1.10117935174582, 0.984738512500460}};
    file_text("layout.csv", layout);
    tabulate("layout.csv --measure ppl --baseline transformer --all-pairs --equivalence 2.5 "
             "--relate error");
    HAS(out,
        "ppl: standard deviation 0.59, 6 degrees of freedom; seeds are not paired, as 3 designs "
        "lack some.\n"
        "        Designs alone have 0.49 to 0.61 (Bartlett's test of equal ones: p 0.98).\n",
        "    1 design has one run", "rk4-layer is left out", "euler is left out", "~unigram");
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        is_near(want[i].row, "difference", want[i].diff, 1e-12);
        is_near(want[i].row, "alone_low", want[i].low, 1e-12);
        is_near(want[i].row, "alone_high", want[i].high, 1e-12);
        is_near(want[i].row, "sd", 0.590432986130612, 1e-13);
        is_near(want[i].row, "p", want[i].p, 2e-6);
        is_text(want[i].row, "comparisons", "3");
    }
    HAS(differences, "~\nrk4-layer,", "~\neuler,");
    /* two one-sided tests for each of three comparisons: p lies between the p of one, t = (2.5 - .15) / .5113 with 6
     * degrees of freedom, and three times it */
    double one = gsl_cdf_tdist_Q((2.5 - 0.15) / 0.511329965221415, 6),
           p = number(differences, "rk2-unit,transformer,", "equal_p");
    assert_true(p > one && p <= 3 * one && p < 0.05);
    assert_true(number(differences, "heun-layer,transformer,", "equal_p") > 0.05);
    assert_int_equal(count_words(differences, ",Tukey,"), 6); /* rk2-unit and repeat:2 are one */
    is_near("looped:2,heun-layer,", "difference", -3.03333333333333, 1e-12);
    is_near("looped:2,heun-layer,", "p", 0.01692964708578, 2e-8);
    is_near("looped:2,heun-layer,", "low", -5.39343568008361, 1e-6);
    /* over the seeds that all designs have: by all known errors of the first it would be 1 */
    char *related = file_slurp("small/correlations.csv", NULL);
    assert_true(fabs(number(related, "ppl,error,", "rho") - 0.5) <= 1e-12);
}

/* ---- small tables ---------------------------------------------------------------------------------- */

/* R 4.2.2, lme4 1.1-31, emmeans 1.8.4: d has the column y, and the factors design and seed.
 *
 *   m <- lmer(y ~ design + (1 | seed), d); v <- as.data.frame(VarCorr(m)); v$vcov[1] / sum(v$vcov)
 *   m2 <- lm(y ~ design + seed, d); anova(m2); sigma(m2)
 *   contrast(emmeans(m2, ~design), "pairwise")   # adjust = "tukey"
 *   integrate(function(s) sapply(s, function(s) 2 * (9/2)^(9/2) / gamma(9/2) * s^8 * exp(-9 * s^2 / 2) *
 *     integrate(function(z) dnorm(z) * -expm1(3 * log1p(-(pnorm(-(sqrt(2) * t * s - z)) + pnorm(-(sqrt(2) * t * s + z))))),
 *       -9, Inf, rel.tol = 1e-10)$value), 0, 3, rel.tol = 1e-9)      # Dunnett's p
 *
 * where t is that of emmeans, whose own Dunnett p (adjust = "mvt") has an error of .001. A table of three columns needs no
 * option. The control is another value. */
TEST(numbers_of_r)
{
    static const struct {
        const char *row, *result;
        double diff, dunnett, tukey;
    } want[] = {{"b,a,", "worse", 1.975, 5.024387447e-06, 9.0002347e-06},
                {"c,a,", "better", -0.825, 0.00378309272, 6.4868582192575e-03},
                {"d,a,", "not shown", 0.15, 0.7542752829, 0.84298020518528}};
    const double error = 0.18257418583506, t = gsl_cdf_tdist_Qinv(0.025, 9);
    file_text("runs.csv", paired);
    for (int tukey = 0; tukey < 2; tukey++) {
        tabulate(tukey ? "runs.csv --all-pairs" : "runs.csv");
        HAS(out, "seeds are paired: their correlation is 0.81 (F test: p 0.00041)");
        HAS(err, "--design model --seed seed --measure value");
        for (int i = 0; i < 3; i++) {
            const char *row = want[i].row;
            double p = tukey ? want[i].tukey : want[i].dunnett;
            is_near(row, "difference", want[i].diff, 1e-12);
            is_near(row, "alone_low", want[i].diff - t * error, 1e-12);
            is_near(row, "sd", 0.25819888974716, 1e-12);
            is_near(row, "p", p, tukey ? 2e-8 : 2e-7 * p);
            if (tukey) is_near(row, "high", want[i].diff + 0.56995986442758, 1e-7);
            is_text(row, "df", "9");
            is_text(row, "estimator", "paired by seed");
            is_text(row, "comparisons", tukey ? "6" : "3");
            is_text(row, "result", want[i].result);
            is_text(row, "planned", "");
        }
        assert_int_equal(says("--baseline a"), !tukey);
    }
    tabulate("runs.csv --more-is-better");
    is_near("b,a,", "p", want[0].dunnett, 2e-7 * want[0].dunnett);
    is_text("b,a,", "result", "better");
    spoil("runs.csv", "b,2,6.9", "b,2,6.8");
    tabulate("runs.csv");
    assert_false(fabs(number(differences, "b,a,", "p") - want[0].dunnett) <=
                 2e-7 * want[0].dunnett);
}

/* ---- what is left out ------------------------------------------------------------------------------ */

TEST(missing_and_diverged)
{
    file_text("runs.csv",
              "model,seed,value\na,1,5\na,2,6\na,3,\nb,1,7\nb,2,9\nb,3,NA\nc,1,1\nc,2,NaN\n"
              "d,1,inf\nd,2,-Inf\n\"e, e\",1,\n");
    must_tell("table runs.csv --out left --contrast 'c - a' --baseline a",
              "warning: a: 1 run without a number (first: runs.csv:4)\n",
              "warning: c: 1 run diverged, so it has no differences; its row is of finite "
              "numbers (first: runs.csv:9)\n",
              "warning: d: 2 runs diverged", "warning: e, e: 1 run without a number");
    HAS(out, "c is left out because one of its runs diverged.");
    char *designs = file_slurp("left/table.csv", NULL);
    assert_int_equal(count_lines(designs), 6);
    assert_string_equal(cell(designs, "c,", "n"), "1");
    assert_string_equal(cell(designs, "c,", "diverged"), "1");
    assert_string_equal(cell(designs, "d,", "mean"), "");
    assert_string_equal(cell(designs, "a,", "missing"), "1");
    assert_true(number(designs, "b,", "least") == 7 && number(designs, "b,", "greatest") == 9);
    differences = file_slurp("left/differences.csv", NULL);
    assert_int_equal(count_lines(differences),
                     3); /* b less a, and the contrast, which has no number */
    is_text("b,a,", "comparisons", "1");
    is_text("c,a,", "difference", "");
    must_tell("table runs.csv --baseline c",
              "nothing is compared with c, as it has no run or one that diverged");
    HAS(out, "~Dunnett   ");
}

TEST(one_seed)
{
    file_text("runs.csv", "model,value\na,5\nb,7\nc,8\n");
    tabulate("runs.csv");
    HAS(err, "(no seed: each row is a run of its own)",
        "warning: no design that is compared has two runs, so differences have no interval\n");
    HAS(out, "has two runs, so differences have no interval.\n");
    is_near("b,a,", "difference", 2, 0);
    is_text("b,a,", "low", "");
    is_text("b,a,", "result", "");
}

/* A table without seeds has each row as a run, and pairs none: these runs, with seeds, are paired by the F test. */
TEST(no_seeds)
{
    file_text("paired.csv", "model,seed,value\na,1,1\na,2,5\na,3,9.1\nb,1,2\nb,2,6\nb,3,10\n");
    shell_ok("cut -d, -f1,3 paired.csv > runs.csv");
    tabulate("paired.csv");
    is_text("b,a,", "estimator", "paired by seed");
    tabulate("runs.csv");
    HAS(out, "runs have no seeds by which to pair them.\n");
    is_text("b,a,", "estimator", "unpaired");
    is_text("b,a,", "df", "4");
    is_near("b,a,", "difference", 2.9 / 3, 1e-12);
}

/* The first measure decides whether a table pairs runs by seed, also where the second by itself would not do as it does. */
TEST(one_estimator)
{
    static const char *const column[] = {"steady,shaky", "shaky,steady"};
    file_text("runs.csv", "model,seed,shaky,steady\na,1,1,1\na,2,5,1.2\na,3,9.1,0.9\n"
                          "b,1,2,2.1\nb,2,6,1.9\nb,3,10,2\n");
    for (int i = 0; i < 2; i++) {
        run_ok("table runs.csv --measure %s --out out", column[i]);
        char *text = file_slurp("out/differences.csv", NULL);
        assert_int_equal(count_words(text, ",paired by seed,"), i ? 2 : 0);
        assert_int_equal(count_words(text, ",unpaired,"), i ? 0 : 2);
        HAS(out,
            i ? "steady: standard deviation 0.163, 2 degrees of freedom; seeds are paired, as on"
              : "shaky: standard deviation 4.03, 4 degrees of freedom; seeds are not paired, as on");
    }
}

/* Columns stand apart by commas, tabs or semicolons; behind semicolons a number may have a decimal comma. */
TEST(columns_apart)
{
    file_text("comma.csv",
              "model,seed,acc,note\na,1,1.5,\"x;y\"\na,2,-0.25,1;2\nb,1,2.5,\nb,2,2.75e0,\n");
    char *same = output_of("table comma.csv --measure acc --design model");
    file_text("tab.csv",
              "model\tseed\tacc\tnote\na\t1\t1.5\t1,5\na\t2\t-0.25\t\nb\t1\t2.5\t\nb\t2\t2.75\t\n");
    run_ok("table tab.csv --measure acc --design model");
    assert_string_equal(out, same);
    file_text("half.csv",
              "model;seed;acc;note\r\na;1;1,5;\r\na;2;\"-0,25\";x\r\nb;1;2.5;\r\nb;2;2,75e0;\r\n");
    run_ok("table half.csv --measure acc --design model");
    assert_string_equal(out, same);
}

/* Folders of trainings are rows of their options and results. A width tells designs apart; threads do not. An option is read
 * however long it is, and to its end. */
TEST(folders_of_trainings)
{
    for (int i = 0; i < 4; i++) {
        const char *dir = formed("runs/%d/r", i);
        shell_ok(
            "mkdir -p %s && printf '# again\nscheme = euler\nwidth = %d\nthreads = %d\nseed = %d\ncorpus = %0300d ;x\n%s' > %s/config.ini",
            dir, 16 << i / 2, i, i % 2 + 1, 0, i / 2 ? "patience = 3\n" : "", dir);
        shell_ok(
            "printf 'scheme,layers,seed,valid_ppl,test_ppl\neuler,1,%d,%d,9\n' > %s/result.csv",
            i % 2 + 1, 100 - 10 * i + (i == 3), dir);
    }
    shell_ok("mkdir -p runs/begun && cp runs/0/r/config.ini runs/begun");
    run_ok("table runs --csv");
    HAS(err, "chosen: --design width,patience --seed seed --measure valid_ppl", "~warning");
    HAS(out, "\n16@,2,95,", "\n32@3,2,75.5,");
    must_print("table runs --design corpus,width --csv", "00 ;x@16,2,95,");
    must_print("table runs/3/r runs/2/r --design folder --csv", "\n.,2,75.5,");
    must_print("table runs --design width --seed seed --measure test_ppl",
               "test_ppl, less is better: 2 designs, 4 runs");
    must_refuse("table runs --design scheme",
                "runs/0/r/result.csv:2 and runs/2/r/result.csv:2 are both euler with seed 1");
    must_refuse("table runs/begun", "runs/begun: no training has ended there");
    file_text("runs/3/r/config.ini", "scheme\n");
    must_refuse("table runs",
                "runs/3/r/result.csv: config.ini beside it: line 1: expected 'name = value'");
}

/* Files with different columns are put together; what one lacks is told. Numbers of seeds are compared as numbers. */
TEST(several_files)
{
    file_text("one.csv", "layers,model,seed,value\n1,a,1,5\n1,a,2,6\n2,a,1,3\n2,a,2,4\n");
    file_text("two.csv", "seed,value,model\n1.0,8,b\n2.0,9,b\n");
    file_text("three.csv", "seed,error,model\n1,8,a\n");
    run_ok("table one.csv two.csv three.csv --design model,layers --measure value --csv");
    assert_string_equal(out_cell(1, "design"), "a@1");
    assert_string_equal(out_cell(2, "design"), "a@2");
    assert_string_equal(out_cell(3, "design"), "b@");
    assert_int_equal(count_lines(out), 4);
    HAS(err, "two.csv has no column 'layers': it is empty in its rows",
        "three.csv has no column 'value': none of its rows is read");
    run_ok("table one.csv two.csv --design model,layers --measure value --baseline b@");
    assert_non_null(strstr(out, "4 runs") ? NULL : strstr(out, "6 runs"));
    HAS(out, "~lack"); /* 1.0 is 1 */
    must_refuse("table one.csv two.csv --seed seed --design model --measure value",
                "one.csv:2 and one.csv:4 are both a with seed 1");
}

/* Two files whose runs have the same names and seeds are looked at apart by --by file. By hand: in each, designs a, b of
 * cost 1 and c, d of cost 2 fall with x within a cost but for the last pair, and rise between costs: products of ranks
 * -1/2, -1/2, -1/2 and 1/2 over four times 1/2. Control: costs that all differ leave no group. */
TEST(within_groups_of_files)
{
    static const char one[] =
        "model,seed,x,cost,value\na,1,1,1,5\nb,1,2,1,4\nc,1,8,2,90\nd,1,9,2,80\n",
                      two[] =
                          "model,seed,x,cost,value\na,1,1,1,7\nb,1,2,1,6\nc,1,8,2,70\nd,1,9,2,75\n";
    file_text("one.csv", one);
    file_text("two.csv", two);
    run_ok("table one.csv two.csv --by file --measure value --relate x --within cost --out apart");
    char *related = file_slurp("apart/correlations.csv", NULL);
    static const char row[] = "value,,within cost,x,";
    assert_true(number(related, row, "designs") == 8 && number(related, row, "groups") == 4);
    assert_true(fabs(number(related, row, "rho") + 0.5) <= 1e-12);
    assert_true(number(related, "value,one.csv,,x,", "rho") > 0.5);
    assert_true(fabs(number(related, row, "p") - 10.0 / 16) <= 0.02);
    run_ok("table one.csv --measure value --relate x --within x --out alone");
    assert_null(strstr(file_slurp("alone/correlations.csv", NULL), "within"));
    must_refuse("table one.csv two.csv --by file --measure value --within cost",
                "--within: expected --relate too");
    must_refuse("table one.csv --measure value --relate x --within coast",
                "--within: no file has a column 'coast'");
    /* of a recorded study, by SciPy's rankdata, NumPy and Student's t */
    char path[PATH_MAX];
    assert_non_null(realpath("studies/results/dial/all/runs.csv", path));
    run_ok(formed(
        "table %.4000s --design scheme --measure valid_ppl --relate truncation --within evaluations "
        "--out dial",
        path));
    related = file_slurp("dial/correlations.csv", NULL);
    static const char dial[] = "valid_ppl,within evaluations,truncation,";
    assert_true(fabs(number(related, dial, "rho") - 0.43636363636363634) <= 1e-12);
    assert_true(fabs(number(related, dial, "slope") - 0.029435960992723713) <= 1e-12);
    assert_true(fabs(number(related, dial, "slope_low") + 0.00038899558689341543) <= 1e-9);
}

/* The best is strong where all pairs show it: c is, and where d has runs as good as c's, neither is. */
TEST(table_of_a_paper)
{
    file_text("runs.csv", paired);
    file_text("close.csv",
              "model,seed,value\na,1,5.1\na,2,4.9\na,3,6.2\nc,1,4.4\nc,2,4.1\nc,3,5.6\n"
              "d,1,4.5\nd,2,4.2\nd,3,5.5\n");
    must_print("table runs.csv --columns 'design=block,n,value=perplexity'",
               "block    n    perplexity\n", "\na        4   5.50 ± 0.96\n",
               "\nc        4  *4.67 ± 1.03\n");
    must_print("table close.csv --columns design,value", "c       4.700 ± 1.972\n", "~ *4");
    must_print("table runs.csv --more-is-better --columns model,value --format markdown",
               "| b     | **7.47 ± 0.80** |\n");
    must_print("table runs.csv --columns design,value --format latex",
               "c & \\textbf{4.67 $\\pm$ 1.03} \\\\\n");
    file_text("bleu.csv", "model,seed,test_bleu\na,1,20.1\na,2,20.3\nb,1,22.4\nb,2,22.0\n");
    must_print("table bleu.csv", "test_bleu, more is better: 2 designs",
               "2.00  0.96  0.012  better");
    file_text("ppl.csv", "model,seed,test_ppl\na,1,20.1\na,2,20.3\nb,1,22.4\nb,2,22.0\n");
    shell_ok("sed s/test_bleu/accuracy/ bleu.csv > accuracy.csv");
    must_print("table accuracy.csv", "accuracy, more is better: 2 designs");
    must_print("table ppl.csv", "test_ppl, less is better: 2 designs", "2.00  0.96  0.012  worse");
    /* What is marked is named: without --measure that is the last column of numbers alone. */
    file_text(
        "two.csv",
        "model,seed,valid_ppl,test_ppl\na,1,10,20\na,2,10.2,20.3\na,3,10.3,20\nb,1,5,9\nb,2,5.1,9.1\nb,3,5.2,9\n");
    must_print("table two.csv --columns design,valid_ppl,test_ppl --format latex", "b & 5.10 $",
               "\\textbf{9.03 $", "bold: the best of test\\_ppl, shown");
    must_print("table two.csv --measure valid_ppl,test_ppl --columns design,valid_ppl", " *5.10 ",
               "*: the best of valid_ppl, test_ppl, shown");
    must_print("table two.csv --measure valid_ppl,test_ppl --csv", ",5,5.2,valid_ppl\n",
               ",9,9.1,test_ppl\n");
    shell_ok(
        "(printf 'c%%d,' $(seq 17); echo x; for r in a b; do printf \"$r%%d,\" $(seq 17); echo 1; done) > wide.csv");
    must_refuse("table wide.csv", "more than 16 columns tell designs apart: --design names fewer");
    must_refuse("table runs.csv --columns design,valeu", "--columns: no column is called 'valeu'");
    must_refuse("table runs.csv --columns design,,value", "--columns: expected names of columns");
    must_refuse("table runs.csv --format latex", "--format: expected --columns too");
}

/* A file that is no table of commas, points and one name a column is told what it seems to be. */
TEST(what_a_file_seems_to_be)
{
    static const char *const row[][2] = {
        {"model,seed,acc,acc\na,1,1,5\n", ":1: two columns are called 'acc': rename one"},
        {"model;seed;acc\na;1;\"1\"5\n", ":2: expected ';' after a quoted cell"},
        {"model\tseed\tacc\na\t1\t1,5\n", ":2: '1,5' in column 'acc' is no number: write it"},
        {"model,seed,acc\na,1,1,234.5\n", "expected 3 cells, as in the first line; there are 4 (a"},
        {"model,seed,acc\na,1,2\na,2,\"1,234.5\"\n",
         ":3: '1,234.5' in column 'acc' is no number: write it without commas, and with a point"},
        {"model,seed,acc\na,1,71%\n",
         ":2: '71%' in column 'acc' is no number: write it without the '%'"},
        {"model,loss,seed,acc\na,1,1,71%\n", ":2: '71%' in column 'acc'"}, /* and not the loss */
        {"model, seed,acc\na,1,2\n", ":1: the column name ' seed' begins or ends with a blank"},
        {"model,seed,acc \na,1,2\n", ":1: the column name 'acc ' begins or ends with a blank"},
        {"model,seed,acc\na,1,2\nb,1,2\na ,2,2\n",
         ":4: the design 'a ' and 'a' of odd.csv:2 differ by blanks alone"},
        {"model,seed,acc\nrk  4,1,2\nrk 4,1,2\n", ":3: the design 'rk 4' and 'rk  4' of odd.csv:2"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        file_text("odd.csv", row[i][0]);
        must_refuse("table odd.csv", row[i][1]);
    }
    file_text("odd.csv", "model,seed,acc\na,1,71%\n");
    must_refuse("table odd.csv --measure acc", "there is '71%': write it without the '%'");
    /* the control: columns without a name, a comma in a design, a percent sign where numbers are named */
    file_text("odd.csv", "rate,seed,share,,\n\"1,5\",1,3,,\n\"1,5\",2,4,,\n10%,1,5,,\n10%,2,7,,\n");
    must_print("table odd.csv", "\n10%       2  6.00", "\n1,5       2  3.50");
}

/* Runs that do not differ, or by the seeds' effects alone, say nothing of how far others would: no p, and no 'nan'. Rounding
 * is no spread: in decimals, and where the seeds' effects are taken away. */
TEST(runs_that_do_not_differ)
{
    static const char *const row[][2] = {
        {"model,seed,acc\na,1,1\na,2,1\na,3,1\nb,1,2\nb,2,2\nb,3,2\n",
         "standard deviation 0.00, 4 degrees of freedom; all runs of each design are equal, so"},
        {"model,seed,acc\na,1,0.1\na,2,0.1\na,3,0.1\nb,1,0.3\nb,2,0.3\nb,3,0.3\n",
         "standard deviation 0.00, 4 degrees of freedom; all runs of each design are equal, so"},
        {"model,seed,acc\na,1,0.1\na,2,0.4\na,3,0.2\nb,1,0.3\nb,2,0.6\nb,3,0.4\n",
         "standard deviation 0.00, 2 degrees of freedom; designs differ by the same at every seed"},
        {"model,seed,acc\na,1,0.1\na,2,0.4\na,3,0.2\nb,1,0.3\nb,2,0.6\nb,3,0.4001\n", NULL}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        file_text("equal.csv", row[i][0]);
        must_print("table equal.csv --all-pairs --out equal", "~nan");
        double p = file_number("equal/differences.csv", 1, "p");
        if (row[i][1] && (!strstr(out, row[i][1]) || !isnan(p))) fail_msg("row %zu: %s", i, out);
        if (!row[i][1] && !(p > 0 && p < 1e-4)) fail_msg("the control: %g", p);
    }
    /* two runs of a design that diverged stand in its row */
    file_text("equal.csv", "model,seed,acc\na,1,0.7\na,2,0.8\na,3,inf\nb,4,0.35\n");
    must_print("table equal.csv --baseline b", "\na         2  0.75", "~No design has two runs");
}

/* Writes a table with so many designs, each of so many runs, no two of one time; a number every other one has at most. */
static void write_runs(const char *file, int designs, int runs)
{
    FILE *f = fopen(file_path(file), "w");
    fputs("model,time,value\n", f);
    for (int i = 0; i < designs * runs; i++)
        fprintf(f, "m%d,%d,%d\n", i % designs, i, i % designs + i / designs % 2);
    assert_int_equal(fclose(f), 0);
}

/* Tables have room for thousands of designs and of seeds, and find each by its name. */
TEST(many)
{
    write_runs("many.csv", 2500, 2);
    must_print("table many.csv --seed time --csv", "m0,2,0.5,", "\nm1900,2,1900.5,", "\nm2499,2,");
    write_runs("seeds.csv", 2, 3000);
    must_print("table seeds.csv --seed time --csv", "m0,3000,0.5,", "m1,3000,1.5,");
}

TEST(refusals)
{
    static const char *const bad[][2] = {
        {"", "expected CSV files"},
        {"absent.csv", "absent.csv"},
        {"twice.csv", "twice.csv:2 and twice.csv:4 are both a with seed 1"},
        {"runs.csv --measure valeu",
         "--measure: no file has a column 'valeu'; the nearest is 'value'"},
        {"runs.csv --design model,sed",
         "--design: no file has a column 'sed'; the nearest is 'seed'"},
        {"runs.csv --seed nothing", "--seed: no file has a column 'nothing'\n"},
        {"runs.csv --design seed --seed seed", "'seed' is named by two of"},
        {"words.csv --measure value",
         "words.csv:3: expected a number in column 'value'; there is 'good'"},
        {"empty.csv", "no column of numbers"},
        {"empty.csv --measure value", "no run has a number in column 'value'"},
        {"runs.csv --baseline bb", "--baseline: no design is called 'bb'; the nearest is "},
        {"runs.csv --contrast 'a - z'", "--contrast 'a - z': 'z' is none of the designs"},
        {"runs.csv --contrast 'a b'", "expected names, a '-'"},
        {"runs.csv --contrast 'a + b - a'", "'a' stands there twice"},
        {"runs.csv --plan plan", "plan: expected contrasts, one a line"},
        {"runs.csv --plan wrong", "wrong:3: 'b - z': 'z' is none of the designs"},
    };
    file_text("runs.csv", paired);
    file_text("twice.csv", "model,seed,value\na,1,5\nb,1,6\na,1,5\n");
    file_text("none.csv", "model,value\na,1\na,2\n");
    file_text("words.csv", "model,seed,value\na,1,5\na,2,good\n");
    file_text("empty.csv", "model,seed,value\n");
    file_text("plan", "# nothing\n");
    file_text("wrong", "b - a\n\nb - z\n");
    write_runs("long.csv", 12000, 1);
    must_refuse("table long.csv --seed time",
                "12000 designs of together 12000 seeds: expected at most 134217728 of both");
    REFUSE_ALL("table %s", bad, NULL);
}

TEST_MAIN(program_open, program_close)
