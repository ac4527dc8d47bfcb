/* test_from.c: `train --from`: a training that begins with the weights of another, by the names of tensors and by words. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

/* A step so short that the perplexity after it is that of the weights at the start. */
#define STAY                                                                                    \
    " --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 256 --threads 1 --warmup 0 " \
    "--rate 1e-12 --dropout 0 --max-steps 1 --epochs 1 --untied --untested "

static int open_all(void **state)
{
    if (program_open(state) != 0) return -1;
    corpus_write("text", 400, 40);
    return trained(program_run(
               "train --corpus text --epochs 2 --dropout 0 --untied --out first" SMALL_TRAINING))
               ? 0
               : -1;
}

static double valid_of(const char *dir)
{
    char file[64];
    snprintf(file, sizeof file, "%s/result.csv", dir);
    return file_number(file, 1, "valid_ppl");
}

static void begins_as(const char *options, const char *dir, int same)
{
    double first = valid_of("first");
    if (!trained(program_run("train --out %s %s" STAY, dir, options))) fail_msg("%s", err);
    double ppl = valid_of(dir);
    if ((fabs(ppl - first) <= 1e-5 * first) != same)
        fail_msg("%s: perplexity %.9g, first %.9g: %s", options, ppl, first, err);
}

TEST(the_same_weights_and_a_control)
{
    begins_as("--corpus text --from first", "again", 1);
    assert_true(says("weights from first: 16 of 16 tensors, rows of 11 of 11 words"));
    begins_as("--corpus text --from first/model.safetensors --precision f64", "again64", 1);
    begins_as("--corpus text", "control", 0);
}

/* The words of a text in which they are counted otherwise have other numbers, and their rows go with them. */
TEST(words_in_another_order)
{
    shell_ok("cp -r text turned; w=$(tail -n 1 first/vocab.txt); for i in 1 2 3 4 5 6 7 8 9; do "
             "grep -w -- \"$w\" text/train.txt; done >>turned/train.txt");
    begins_as("--corpus turned --from first", "words", 1);
    assert_false(same_files("first/vocab.txt", "words/vocab.txt"));
    shell_ok("sort first/vocab.txt >a; sort words/vocab.txt >b; cmp a b");
}

/* One more word, one more layer and another scheme begin by the seed. */
TEST(what_is_new_begins_by_the_seed)
{
    shell_ok("cp -r text more; echo 'unheard' >>more/train.txt");
    run_ok(
        "train --corpus more --from first --scheme rk2-gate --layers 2 --epochs 2 --untied --out "
        "grown" SMALL_TRAINING);
    assert_true(says("rows of 11 of 12 words; the others begin by the seed"));
}

TEST(a_run_that_goes_on_needs_it_no_more)
{
    shell_ok("cp -r first gone");
    int status = interrupt_at("stopped/log.csv", 3,
                              "train --corpus text --from gone --epochs 60 --out "
                              "stopped --untied" SMALL_TRAINING);
    assert_int_equal(status, 130);
    shell_ok("rm -r gone");
    run_ok("train --resume --out stopped");
    run_ok(
        "train --corpus text --from gone --epochs 60 --out stopped --untied" SMALL_TRAINING); /* is there */
    must_refuse("train --corpus text --from gone --out never", "gone/model.safetensors");
}

TEST(what_is_refused)
{
    static const char *const bad[][2] = {
        {"--from nowhere", "nowhere"},
        {"--from text", "text/model.safetensors"},
        {"--from first --width 32 --heads 2", "--from first: tensor '"},
        {"--from first --width 16 --heads 4", "--from first: it has 2 heads, and this model 4"},
        {"--from first --width 16 --heads 2 --adaptive 3", "adaptive"},
    };
    REFUSE_ALL("train --corpus text --out never --inner 32 %s", bad, "never");
}

TEST_MAIN(open_all, program_close)
