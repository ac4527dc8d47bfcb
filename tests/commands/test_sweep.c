/* test_sweep.c: words over {s, f}: how they are drawn, what theory says of them, and `trotter sweep` as its
 * users run it: each word trained once, by one process or several, also when one of them is killed. */
#include "tests/lib/test.h"

#include "studies/lab/sweep/sweep.h"
#include "tests/lib/schemes.h"
#include "tests/lib/study.h"

#define LONG NETWORK "--inner 32 --corpus text --pairs 3 --csv "
#define TINY LONG "--epochs 1 "

static size_t count(const char *word, char letter)
{
    size_t n = 0;
    for (; *word; word++) n += *word == letter;
    return n;
}

/* ---- draws ------------------------------------------------------------------------------------- */

/* Every order is equally likely: 6,000 draws give each of 6 orders 1,000 times, sd 29; 6 sd are allowed. */
TEST(test_permutations)
{
    static const char *const order[] = {"ssff", "sfsf", "sffs", "fssf", "fsfs", "ffss"};
    char word[ZOO_LETTERS + 1], again[ZOO_LETTERS + 1];
    int seen[6] = {0}, differ = 0;
    for (uint64_t i = 0; i < 6000; i++) {
        draw_permutation(7, i, 2, word);
        for (int k = 0; k < 6; k++) seen[k] += strcmp(word, order[k]) == 0;
    }
    for (int k = 0; k < 6; k++)
        if (abs(seen[k] - 1000) > 173) fail_msg("%s: %d", order[k], seen[k]);
    for (uint64_t i = 0; i < 20; i++) {
        draw_permutation(7, i, ZOO_LETTERS / 2, word);
        draw_permutation(7, i, ZOO_LETTERS / 2, again);
        assert_string_equal(word, again);
        assert_true(count(word, 's') == ZOO_LETTERS / 2 && count(word, 'f') == ZOO_LETTERS / 2);
        draw_permutation(8, i, ZOO_LETTERS / 2, again);
        differ += strcmp(word, again) != 0;
    }
    assert_int_equal(differ, 20);
}

/* Budgets are spent exactly, and letters are equally likely while both fit: half of 8,000 first letters are s,
 * sd 45; 6 sd are allowed. A budget that no word meets gives 0. */
TEST(test_random_words)
{
    char word[ZOO_LETTERS + 1];
    size_t first = 0, shortest = ZOO_LETTERS, longest = 0;
    for (uint64_t i = 0; i < 8000; i++) {
        assert_true(draw_word(3, i, 1, 2, 24, word));
        size_t n = strlen(word);
        assert_int_equal(count(word, 's') + 2 * count(word, 'f'), 24);
        first += word[0] == 's';
        shortest = n < shortest ? n : shortest;
        longest = n > longest ? n : longest;
    }
    assert_true(first > 4000 - 268 && first < 4000 + 268);
    assert_true(shortest >= 12 && shortest < 16 && longest > 18 && longest <= 24);
    int met = 0;
    for (uint64_t i = 0; i < 100; i++) met += draw_word(3, i, 2, 4, 25, word);
    assert_int_equal(met, 0);
    for (uint64_t i = 0; i < 100; i++) met += draw_word(3, i, 2, 3, 25, word);
    assert_true(met > 0 && met < 100); /* 1 may be left */
    assert_false(draw_word(3, 0, 1, 1, 1000, word));
    assert_int_equal(strlen(word), ZOO_LETTERS);
}

/* Halves are those of the paper's example. A word that is read backwards has its halves exchanged, and nothing
 * is lost. */
TEST(test_halves)
{
    Halves h = word_halves("ssssff", 1, 2);
    assert_true(h.bottom[0] == 4 && h.bottom[1] == 0 && h.top[0] == 0 && h.top[1] == 2);
    h = word_halves("sfs", 1, 2); /* the middle is inside f */
    assert_true(h.bottom[0] == 1 && h.bottom[1] == 0.5 && h.top[0] == 1 && h.top[1] == 0.5);
    for (uint64_t i = 0; i < 50; i++) {
        char word[ZOO_LETTERS + 1], back[ZOO_LETTERS + 1];
        draw_word(5, i, 1, 2, 21, word);
        size_t n = strlen(word);
        for (size_t j = 0; j < n; j++) back[j] = word[n - 1 - j];
        back[n] = '\0';
        Halves a = word_halves(word, 1, 2), b = word_halves(back, 1, 2);
        for (int k = 0; k < 2; k++) {
            assert_true(fabs(a.bottom[k] - b.top[k]) <= 1e-12);
            assert_true(fabs(a.bottom[k] + a.top[k] - (double)count(word, "sf"[k])) <= 1e-12);
        }
        assert_true(fabs(a.bottom[0] + 2 * a.bottom[1] - 10.5) <= 1e-12);
    }
}

/* ---- the command ------------------------------------------------------------------------------- */

/* Returns half of (pairs s before f - pairs f before s): the definition, against the Lie series. */
static double plain_area(const char *word)
{
    double area = 0, s = 0, f = 0;
    for (; *word; word++) {
        area += *word == 'f' ? 0.5 * s : -0.5 * f;
        *(*word == 's' ? &s : &f) += 1;
    }
    return area;
}

/* Checks each word's row of words.csv and returns their number. Leading errors: area (G'F - F'G) by exact
 * flows, of norm sqrt 2 |area|; Euler sublayers add - a/2 F'F - b/2 G'G for a and b letters (an Euler step of 1
 * lacks F'F/2). */
static size_t check_theory(const char *csv)
{
    size_t n = 0;
    for (const char *row = strchr(csv, '\n') + 1; *row; row = strchr(row, '\n') + 1, n++) {
        char word[ZOO_LETTERS + 2];
        snprintf(word, sizeof word, "%.*s,", (int)strcspn(row, ","), row);
        double area = number(csv, word, "area");
        word[strlen(word) - 1] = '\0';
        double a = (double)count(word, 's'), b = (double)count(word, 'f'), real = plain_area(word);
        strcat(word, ",");
        assert_true(area == real);
        assert_true(fabs(number(csv, word, "relative_area") - real / (a * b / 2)) <= 1e-15);
        assert_int_equal((int)number(csv, word, "order"), real == 0 ? 2 : 1);
        assert_int_equal((int)number(csv, word, "order_trained"), 1);
        double norm = number(csv, word, "error_norm"), euler = number(csv, word, "euler_norm");
        if (real != 0) assert_true(fabs(norm - sqrt(2) * fabs(real)) <= 1e-12);
        assert_true(fabs(euler - sqrt(2 * real * real + a * a / 4 + b * b / 4)) <= 1e-12);
    }
    return n;
}

/* A number of a word less the interleaved one, on validation text, in differences.csv. */
static double less(const char *csv, const char *word, const char *name)
{
    return number(csv, formed("%ssfsfsf,validation,", word), name);
}

TEST_BETWEEN(test_families, NULL, program_hide)
{
    need_tool("gnuplot");
    static const char args[] =
        "sweep --interleaved --permutations 2 --random 2 --sandwiches --words sffs --seeds 2 "
        "--all-pairs --out all" TINY;
    run_ok(args);
    char first[8192];
    snprintf(first, sizeof first, "%.8000s", out);
    char *runs = file_slurp("all/runs.csv", NULL);
    file_read("all/words.csv", big, sizeof big);
    size_t words = check_theory(big);
    assert_true(words >= 6 && words <= 9); /* 1 + 2 + 2 + 3 + 1, some may be the same */
    int given = 0;
    for (const char *row = strchr(runs, '\n') + 1; *row; row = strchr(row, '\n') + 1) {
        char word[64], start[128];
        double ppl;
        int seed;
        if (sscanf(row, "%63[^,],%d,%lf", word, &seed, &ppl) != 3) fail_msg("%s", row);
        snprintf(start, sizeof start, "%s,%d,", word, seed);
        double s = number(runs, start, "evals_F"), f = number(runs, start, "evals_G");
        assert_true(s == (double)count(word, 's') && f == (double)count(word, 'f'));
        given += strlen(word) == 4;
        if (strlen(word) != 4) assert_true(s * 4 * 8 * 8 + f * 2 * 8 * 32 == 3 * (256 + 512));
        char *csv =
            file_slurp(formed("all/runs/word:%s:euler-seed%d/result.csv", word, seed), NULL);
        assert_true(number(csv, "word:", "valid_ppl") == ppl);
        assert_true(number(csv, "word:", "params") == number(runs, start, "params"));
    }
    assert_int_equal(given, 2); /* seeds */
    file_read("all/differences.csv", big,
              sizeof big); /* on both texts: less the interleaved word, and all pairs */
    assert_int_equal(count_lines(big), 1 + 2 * (words - 1 + words * (words - 1) / 2));
    program_draw(NULL);
    run_ok(args); /* with gnuplot, for the plots of the study alone */
    assert_string_equal(out, first);
    assert_int_equal(count_words(err, "there already"), count_lines(runs) - 1);
    must_count("all", ": trains ", count_lines(runs) - 1);
    HAS(file_slurp("all/sweep.md", NULL), "| \\|area\\| ");
    shell_ok(
        "cd all && ls words.csv words.tex differences.csv sweep.md correlations.csv forest.png "
        "area.csv area.png >/dev/null");
}

/* A word's run is that of train. A longer list begins with the shorter one; another seed draws other words. */
TEST(test_lists)
{
    run_ok("sweep --permutations 3 --out list" TINY);
    char *three = file_slurp("list/runs.csv", NULL);
    run_ok("sweep --permutations 5 --out list" TINY);
    file_read("list/runs.csv", big, sizeof big);
    assert_int_equal(strncmp(big, three, strlen(three)), 0);
    assert_int_equal(count_words(err, "there already"), 3);
    run_ok("sweep --permutations 3 --word-seed 2 --out list" TINY);
    file_read("list/runs.csv", big, sizeof big);
    assert_string_not_equal(big, three);
    run_ok("sweep --words sf --seeds 1 --out list" TINY);
    double ppl = number(out, "sf,", "test_ppl");
    run_ok("train --scheme word:sf --epochs 1 --inner 32 --corpus text --out alone" NETWORK);
    file_read("alone/result.csv", big, sizeof big);
    assert_true(number(big, "word:sf:euler,", "test_ppl") == ppl);
    run_ok("sweep --words sf --seeds 1 --layers 2 --out list" TINY);
    assert_true(file_exists("list/runs/word:sf:euler-layers2-seed1/result.csv"));
}

/* A word of one letter is the flow itself, with no order and no leading error; its Euler steps have one. */
TEST(test_one_letter)
{
    static const char *const word[] = {"ss,", "f,"};
    run_ok("sweep --words ss,f,ssf --seeds 1 --out one" TINY);
    file_read("one/words.csv", big, sizeof big);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(cell(big, word[i], "order"), "");
        assert_string_equal(cell(big, word[i], "error_norm"), "");
        assert_true(number(big, word[i], "euler_norm") > 0);
    }
    assert_string_equal(cell(big, "ssf,", "order"), "1");
    assert_true(number(big, "ssf,", "error_norm") > 0);
}

/* Models that are hardly trained do not beat the frequencies of words: the tables are written, with a warning. Where they
 * diverged and no other is better, the exit status is 1. */
TEST(test_frequencies)
{
    expect(0, "sweep --words sf,fs --seeds 1 --max-steps 1 --out poor" TINY);
    HAS(err, "warning: no better than word frequencies, so there is nothing to compare: sf; fs\n");
    assert_int_equal(count_lines(out), 3);
    assert_true(file_exists("poor/words.csv"));
    must_tell("sweep --words sf,fs --seeds 1 --out good" TINY, "~word frequencies");
    file_read("poor/runs/word:fs:euler-seed1/result.csv", big, sizeof big);
    file_text("good/runs/word:fs:euler-seed1/result.csv", big);
    must_tell("sweep --words sf,fs --seeds 1 --out good" TINY,
              "warning: no better than word frequencies: fs\n");
    expect(1, "sweep --words sf,fs --seeds 1 --max-steps 9 --out far" TINY "--warmup 0 --rate 90");
    HAS(err, "no better than word frequencies, and 2 diverged: sf; fs");
}

static void make_best(void)
{
    if (!file_exists("best")) run_ok("sweep --sandwiches --seeds 3 --confirm --out best" TINY);
}

/* The best sandwich, k >= 1, is chosen by its first seed and trained with all seeds. */
TEST(test_confirm)
{
    make_best();
    file_read("best/runs.csv", big, sizeof big);
    assert_int_equal(count_lines(big), 1 + 3 + 1 + 3); /* k = 0 is the baseline */
    double ppl[2] = {number(big, "ssfsff,1,", "valid_ppl"), number(big, "sssfff,1,", "valid_ppl")};
    file_read("best/study.log", big, sizeof big);
    assert_non_null(strstr(big, ppl[0] < ppl[1] ? "word:ssfsff:euler is the best sandwich"
                                                : "word:sssfff:euler is the best sandwich"));
    file_read("best/words.csv", big, sizeof big);
    assert_string_equal(cell(big, ppl[0] < ppl[1] ? "ssfsff," : "sssfff,", "seeds"), "3");
    assert_string_equal(cell(big, ppl[0] < ppl[1] ? "sssfff," : "ssfsff,", "seeds"), "1");
    /* differences from the interleaved word: the other sandwich has its one run, the chosen one all runs but
     * that of the seed that chose it */
    const char *chosen = ppl[0] < ppl[1] ? "ssfsff," : "sssfff,",
               *other = ppl[0] < ppl[1] ? "sssfff," : "ssfsff,";
    double base = number(big, "sfsfsf,", "valid_ppl"), single = number(big, other, "valid_ppl");
    double mean = number(big, chosen, "valid_ppl"), first = ppl[0] < ppl[1] ? ppl[0] : ppl[1];
    file_read("best/differences.csv", big, sizeof big);
    assert_true(fabs(less(big, other, "difference") - (single - base)) <= 1e-9 * base);
    assert_true(fabs(less(big, chosen, "difference") - ((3 * mean - first) / 2 - base)) <=
                1e-9 * base);
    assert_true(less(big, chosen, "p") > 0 && !strstr(big, "\nsfsfsf,"));
}

/* The runs.csv of such a study alone gives the same tables, and nothing is trained (what is refused: test_compare_recorded.c). */
TEST(test_recorded)
{
    make_best();
    shell_ok("mkdir again && cp best/runs.csv best/config.ini again");
    run_ok("sweep --sandwiches --seeds 3 --confirm --out again" TINY);
    assert_false(file_exists("again/runs/word:sfsfsf:euler-seed1"));
    assert_same_file("best", "again", "words.csv", 1);
}

TEST(test_refused)
{
    static const char *const bad[][2] = {
        {"--corpus text", "nothing to train"},
        {"--corpus text --words ssx", "'ssx' is none"},
        {"--corpus text --words sf,,fs", "--words"},
        {"--corpus text --words sf,", "missing at the end"},
        {"--corpus text --pairs 3 --permutations 21", "21 different permutation words of 3 pairs"},
        {"--corpus text --random 4 --pairs 1", "4 different random words"},
        {"--corpus text --interleaved --pairs 65", "--pairs"},
        {"--corpus text --pairs 3 --interleaved --heads 3", "word:sfsfsf:euler: "},
        {"--interleaved --corpus nowhere", "nowhere"},
    };
    REFUSE_ALL("sweep --out x --width 8 --inner 32 %s", bad, "x");
}

TEST_MAIN(study_open, program_close)
