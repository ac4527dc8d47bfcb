/* test_translate_with.c: `trotter translate` with several models, given beginnings and alignments. */
#include "tests/lib/test.h"

#include "tests/lib/counting.h"
#include "tests/lib/program.h"

#define TINY " --width 16 --inner 32 --heads 2 --threads 1 --rate 1e-2 --warmup 10 --dropout 0 "
#define REVERSE \
    "train --corpus reverse:5 --precision f64 --sequence 16 --batch-tokens 416 --max-steps 200" TINY
#define REV "--model rev --precision f64 "
enum { SOURCES = 30 };

static int open_all(void **state)
{
    char all[SOURCES * 32] = "";
    if (program_open(state) != 0) return -1;
    counting_write(6, 10);
    for (size_t i = 0; i < SOURCES; i++) {
        char *p = all + strlen(all);
        for (size_t n = 0; n <= i % 12; n++)
            p += sprintf(p, "%zu%s", 1 + (i * n + i / 12 + n) % 5, n < i % 12 ? " " : "\n");
    }
    file_text("source", all);
    corpus_write("text", 200, 20);
    run_ok(REVERSE "--out rev");
    run_ok(REVERSE "--seed 2 --out rev2");
    run_ok(
        "train --bpe 40 --epochs 12 --out pieces --corpus c --source en --target de --sequence 24 "
        "--batch-tokens 256" TINY);
    run_ok("train --corpus text --max-steps 5 --sequence 16 --batch-tokens 256" TINY "--out lm");
    return 0;
}

/* A model with itself is itself; the order of two does not matter, and both decide. */
TEST(several_models)
{
    static char one[sizeof out], two[sizeof out];
    run_ok("translate --text source --nbest 1 " REV);
    strcpy(one, out);
    run_ok("translate --text source --nbest 1 " REV REV);
    for (size_t i = 0; i < SOURCES; i++) {
        char words[256], same[256];
        double log_p, again;
        assert_int_equal(sscanf(line_of(one, i), "%*d ||| %255[^|]||| logp= %lf", words, &log_p),
                         2);
        assert_int_equal(sscanf(line_of(out, i), "%*d ||| %255[^|]||| logp= %lf", same, &again), 2);
        assert_string_equal(words, same);
        assert_true(fabs(log_p - again) <= 1e-8);
    }
    run_ok("translate --text source --model rev2 " REV);
    strcpy(two, out);
    run_ok("translate --text source " REV "--model rev2");
    assert_string_equal(out, two);
    run_ok("translate --text source " REV);
    assert_string_not_equal(out, two);
    run_ok("translate --text source --precision f64 --model rev2");
    assert_string_not_equal(out, two);
    must_refuse("translate --text source --model pieces " REV, "rev has other words than pieces");
    must_refuse("translate --text source --model lm " REV, "lm is a language model");
}

TEST(beginnings)
{
    static char plain[sizeof out];
    char given[SOURCES * 8] = "";
    for (size_t i = 0; i < SOURCES; i++) strcat(given, i % 2 ? "\n" : i % 4 ? "3 1\n" : "5\n");
    file_text("given", given);
    run_ok("translate --text source --sentences 1 " REV);
    strcpy(plain, out);
    run_ok("translate --text source --sentences 1 --prefix given " REV); /* windows of 16 lines */
    for (size_t i = 0; i < SOURCES; i++) {
        const char *begins = i % 4 ? "3 1" : "5";
        if (i % 2)
            assert_string_equal(line_of(out, i), line_of(plain, i));
        else
            assert_memory_equal(line_of(out, i), begins, strlen(begins));
    }
    assert_string_not_equal(out, plain);
    file_text("few", "1\n\n");
    must_refuse("translate --text source --prefix few " REV, "--prefix: few has 2 lines");
    must_refuse("translate --text source --prefix given --max-length 1 " REV,
                "a beginning of 2 tokens");
}

/* A model that reverses its source looks at the word that it writes. Pieces of a word are one word. */
TEST(alignments)
{
    run_ok(
        "train --corpus reverse:8 --width 32 --inner 64 --heads 4 --batch-tokens 512 --rate 8e-3 "
        "--warmup 100 --dropout 0 --epochs 1 --threads 1 --out good");
    file_text("three", "1 2 3 4 5 6 7 8 1 3 5 7\n\n2 2 3 1 4 5 1 8 8 7 6 3\n");
    run_ok("translate --model good --text three --alignment pairs --out said");
    assert_int_equal(shell("cat pairs"), 0);
    static const char turned[] = "11-0 10-1 9-2 8-3 7-4 6-5 5-6 4-7 3-8 2-9 1-10 0-11";
    assert_string_equal(line_of(out, 0), turned);
    assert_string_equal(line_of(out, 1), "");
    assert_string_equal(line_of(out, 2), turned);
    run_ok("translate --model pieces --text c/test.en --alignment pairs --out said");
    assert_int_equal(
        shell("awk '{ print NF }' pairs >a && awk '{ print NF }' said >b && cmp a b && wc -l <a"),
        0);
    assert_true(atoi(out) > 3);
}

TEST_MAIN(open_all, program_close)
