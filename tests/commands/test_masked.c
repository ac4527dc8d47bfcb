/* test_masked.c: masked language models as a user has them: evaluated with one set of masks
 * and one by one; their truncation error; and refusals (test_kinds.c: text and corpus, stopped and resumed). */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

#define SIZE \
    " --width 16 --inner 32 --heads 2 --sequence 24 --batch-tokens 256 --threads 1 --rate 1e-2 --warmup 10"
#define TRAIN "train --objective masked --corpus text" SIZE
#define SHORT " --max-steps 6 --epochs 2"

static int open_all(void **state)
{
    if (program_open(state) != 0) return -1;
    corpus_write("text", 400, 60);
    /* every word stands twice, one beside the other */
    shell_ok(
        "mkdir -p twice && for f in train valid test; do awk -v f=$f 'BEGIN { srand(f == \"train\"); for "
        "(i = 0; i < (f == \"train\" ? 600 : 60); i++) { line = \"\"; for (k = 0; k < 5; k++) { w = "
        "int(20 * rand()); line = line \" w\" w \" w\" w } print line } }' >twice/$f.txt; done");
    return 0;
}

/* The set of masks is the same for another cut, another context and another model. */
TEST(masks_of_evaluation)
{
    must_tell(TRAIN SHORT " --out run", "pseudo-perplexity");
    run_ok(TRAIN SHORT " --seed 2 --out other");
    char *plain = eval_csv("run --corpus text"), *other = eval_csv("other --corpus text"),
         *cut = eval_csv("run --corpus text --sequence 7 --context sentence"),
         *each = eval_csv("run --corpus text --one-by-one");
    double n = shell_number("wc -w <text/valid.txt"), tokens = number_in(plain, 1, "tokens");
    assert_true(tokens > 0.05 * n && tokens < 0.3 * n && number_in(each, 1, "tokens") == n);
    assert_true(number_in(cut, 1, "tokens") == tokens && number_in(other, 1, "tokens") == tokens);
    assert_true(number_in(other, 1, "nll") != number_in(plain, 1, "nll"));
    assert_true(fabs(number_in(plain, 1, "ppl") / result_of("run", "valid_ppl") - 1) <= 1e-6);
}

/* A masked model learns: where every word stands twice, its neighbours give it away. */
TEST(neighbours_tell)
{
    run_ok(
        "train --objective masked --corpus twice --width 32 --inner 64 --heads 4 --sequence 24 --layers 1 "
        "--batch-tokens 512 --threads 1 --rate 1e-2 --warmup 20 --epochs 30 --dropout 0 --positions both --out learnt");
    double masked = result_of("learnt", "valid_ppl");
    /* 20 words are equally probable, and only its twin tells a word: otherwise the perplexity is 20 */
    if (!(masked < 6)) fail_msg("pseudo-perplexity %g", masked);
}

TEST(truncation_of_an_encoder)
{
    run_ok(TRAIN SHORT " --activation gelu --layers 2 --out smooth");
    run_ok(
        "truncation --model smooth --text text/valid.txt --sentences 3 --threads 1 --summary --csv "
        "--scheme transformer,heun-layer");
    for (int row = 1; row <= 2; row++) {
        assert_string_equal(out_cell(row, "verdict"), "agree");
        assert_true(fabs(out_number(row, "slope") - 2) < 0.3);
    }
}

TEST(what_is_refused)
{
    static const char *const row[][2] = {
        {TRAIN " --adaptive 4 --out no", "adaptive embeddings are of language models"},
        {"train --objective masked --corpus reverse:5 --out no", "has pairs"},
        {"train --objective masked --corpus text --sequence 1 --out no", "<cls>"},
        {"train --objective masked --corpus marked --out no", "<mask>"},
        {"generate --model told", "encoder alone"},
        {"attention --model told --text text/valid.txt", "two models"},
        {"translate --model told --text text/valid.txt", "encoder alone"},
        {"score --model told --text text/valid.txt --sequence 200", "encoder alone"},
        {"eval --model plain --corpus text --one-by-one", "next words"},
    };
    run_ok(TRAIN SHORT " --out told");
    run_ok("train --corpus text" SIZE SHORT " --out plain");
    shell_ok("cp -r text marked; echo 'a <mask> b' >>marked/train.txt");
    REFUSE_ALL("%s", row, "no");
}

TEST_MAIN(open_all, program_close)
