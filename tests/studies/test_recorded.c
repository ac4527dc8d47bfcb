/* test_recorded.c: the tables of studies/results are those of the runs beside them. */
#include "tests/lib/test.h"

#include <glob.h>
#include <gsl/gsl_cdf.h>
#include <limits.h>
#include <unistd.h>

#include "tests/lib/study.h"

/* Runs of a design: their number, mean, sum of squares about it, and the runs; of validation and test. */
typedef struct {
    double n, mean[2], square[2], x[2][16];
} Said;

/* Collects the first `seeds` runs whose rows begin with `row`, with `shift` added to the first. */
static Said said(const char *runs, const char *row, double seeds, double shift)
{
    static const char *const name[] = {"valid_ppl", "test_ppl"};
    Said s = {0};
    const char *at = runs;
    for (; s.n < seeds && (at = strstr(at, row)); at++) {
        if (at[-1] != '\n') continue;
        for (int k = 0; k < 2; k++)
            s.x[k][(int)s.n] = number(formed("%.*s\n%.*s", (int)strcspn(runs, "\n"), runs,
                                             (int)strcspn(at, "\n"), at),
                                      row, name[k]) +
                               (s.n == 0) * shift;
        s.n++;
    }
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < (int)s.n; i++) s.mean[k] += s.x[k][i] / s.n;
        for (int i = 0; i < (int)s.n; i++) s.square[k] += pow(s.x[k][i] - s.mean[k], 2);
    }
    return s;
}

static int differs(const char *table, const char *row, const char *name, double x)
{
    double there = number(table, row, name);
    return isnan(x) ? !isnan(there) : !(fabs(there - x) <= 1e-9);
}

/* Writes the design from which the first differences are taken, with a comma; "" where there is none. */
static void find_base(const char *less, char base[64])
{
    const char *at = strchr(less, '\n');
    at = at && at[1] ? strchr(at, ',') + 1 : NULL;
    snprintf(base, 64, "%.*s%s", at ? (int)strcspn(at, ",") : 0, at ? at : "", at ? "," : "");
}

/* Counts the numbers of a table of one depth and of its differences that do not follow from its runs; *rows becomes the number
 * of its rows. Adds `shift` to the first run of each design. */
static int disagree(const char *runs, const char *table, const char *less, double shift, int *rows)
{
    static const char *const text[] = {"validation", "test"}, *const ppl[] = {"valid_ppl",
                                                                              "test_ppl"};
    char row[32][64], first[64], end[96], start[192];
    Said s[32];
    double df = 0, square[2] = {0, 0}, designs = 0, sum[2][16] = {0}, seeds = 0;
    int n = 0, bad = 0, base = -1, complete = 1;
    find_base(less, first);
    for (const char *at = table; (at = strchr(at, '\n')) && strncmp(++at, "unigram,", 8) != 0;
         n++) {
        snprintf(row[n], sizeof *row, "%.*s,", (int)strcspn(at, ","), at);
        s[n] = said(runs, row[n], number(table, row[n], "seeds"), shift);
        if (strcmp(first, row[n]) == 0) base = n;
        if (*cell(table, row[n], "same_as")) continue;
        complete &= designs == 0 || s[n].n == seeds;
        seeds = s[n].n;
        designs++;
        df += s[n].n - 1;
        for (int k = 0; k < 2; k++) {
            square[k] += s[n].square[k];
            for (int j = 0; j < (int)seeds; j++) sum[k][j] += s[n].x[k][j];
        }
    }
    for (int k = 0; k < 2; k++) {
        snprintf(end, sizeof end, "%s%s,", first, text[k]);
        snprintf(start, sizeof start, "%s%s", row[base == 0], end);
        int paired = strcmp(cell(less, start, "estimator"), "paired by seed") == 0;
        /* six or more designs of three or more seeds are always paired: intervals then lengthen by 5 % at most */
        bad += paired && !complete;
        bad += !paired && complete && designs >= 6 && seeds >= 3;
        double free = df, rest = square[k], mean = 0, between = 0;
        for (int j = 0; j < (int)seeds; j++) mean += sum[k][j] / designs / seeds;
        for (int j = 0; j < (int)seeds; j++)
            between += designs * pow(sum[k][j] / designs - mean, 2);
        if (paired) {
            free = (designs - 1) * (seeds - 1);
            rest -= between;
        }
        double sd = sqrt(rest / free), t = free ? gsl_cdf_tdist_Pinv(0.975, free) : NAN;
        for (int i = 0; i < n; i++) {
            double half = t * sd * sqrt(1 / s[i].n + 1 / s[base].n);
            double diff = s[i].mean[k] - s[base].mean[k];
            bad += differs(table, row[i], ppl[k], s[i].mean[k]);
            if (i == base) continue;
            snprintf(start, sizeof start, "%s%s", row[i], end);
            bad += differs(less, start, "difference", diff);
            bad += differs(less, start, "alone_low", diff - half);
            bad += differs(less, start, "alone_high", diff + half);
            bad += differs(less, start, "sd", free ? sd : NAN);
            bad += differs(less, start, "df", free);
        }
    }
    *rows = n;
    return bad;
}

/* The recorded tables are those of their recorded runs (studies/scripts/recorded.sh makes them). Controls: with the
 * first run of each design 0.1 higher they are not. */
TEST(test_recorded_tables)
{
    glob_t found;
    int rows, tables = 0;
    assert_int_equal(glob("studies/results/*/runs.csv", 0, NULL, &found), 0);
    glob("studies/results/*/*/runs.csv", GLOB_APPEND, NULL, &found);
    glob("studies/results/*/*/*/runs.csv", GLOB_APPEND, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int n = (int)(strlen(found.gl_pathv[i]) - strlen("runs.csv"));
        const char *path = formed("%.*scompare.csv", n, found.gl_pathv[i]);
        char *runs = path_slurp(found.gl_pathv[i], NULL), *table = path_slurp(path, NULL),
             *less = path_slurp(formed("%.*sdifferences.csv", n, found.gl_pathv[i]), NULL);
        if (strncmp(runs, "pair,", 5) == 0 || strncmp(runs, "word,", 5) == 0)
            continue;         /* pairs: test_compare_pairs.c; words: test_sweep.c */
        if (!table) continue; /* tuning and fine-tuning: no table of schemes */
        int bad = disagree(runs, table, less, 0, &rows);
        if (bad) fail_msg("%s: %d numbers are not those of its runs", path, bad);
        assert_true(rows > 1 && disagree(runs, table, less, 0.1, &rows) >= 2 * rows);
        tables++;
    }
    assert_true(tables > 20);
    globfree(&found);
}

TEST_MAIN(NULL, NULL)
