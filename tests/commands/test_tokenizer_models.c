/* test_tokenizer_models.c: models whose texts a tokenizer.json cuts, as a user has them: learned by `bpe`, trained,
 * evaluated, stopped and resumed, exported; begun with the weights of another program; bits a byte against a count of
 * bytes by wc; refusals. */
#include "tests/lib/test.h"

#include "tests/lib/counting.h"
#include "tests/lib/program.h"

#define SIZE                                                                               \
    " --width 16 --inner 32 --heads 2 --sequence 24 --batch-tokens 256 --threads 1 --rate" \
    " 1e-2 --warmup 5 --tokenizer t.json"
#define TRAIN "train --corpus text" SIZE " --epochs 2"
#define TEXT "text/test.txt"

static char data[PATH_MAX];

static int open_all(void **state)
{
    if (!realpath("tests/foreign", data) || program_open(state) != 0) return -1;
    corpus_write("text", 200, 20);
    counting_write(4, 6);
    run_ok("bpe --learn 40 --byte-level --text text/train.txt --out t.json");
    run_ok(TRAIN " --max-steps 9 --out run");
    return 0;
}

/* The whole text's nll over its bytes, in bits. */
TEST(bits_a_byte)
{
    char *file = eval_csv("run --text " TEXT), *corpus = eval_csv("run --corpus text --split test");
    double bytes = shell_number("wc -c <" TEXT), bits = number_in(file, 1, "bits_per_byte");
    assert_true(bytes > 100 && number_in(file, 1, "tokens") < bytes / 2);
    double whole = number_in(file, 1, "tokens") * number_in(file, 1, "nll") / log(2);
    assert_true(fabs(bits - whole / bytes) <= 1e-6 * bits);
    assert_string_equal(file, corpus);
    assert_true(fabs(result_of("run", "test_bits") - bits) <= 1e-6 * bits);
    assert_true(result_of("run", "valid_bits") > 0);
    assert_true(file_has("run/log.csv", ",valid_bits\n"));
}

TEST(resumed_without_the_file)
{
    run_ok("train --corpus text" SIZE " --epochs 2 --max-steps 4 --out stopped");
    shell_ok("sed -i 's/t.json/gone.json/' stopped/config.ini");
    run_ok("train --resume --max-steps 9 --out stopped");
    assert_same_file("run", "stopped", "model.safetensors", 1);
    shell_ok("cmp t.json run/tokenizer.json && cmp t.json stopped/tokenizer.json");
    assert_false(file_exists("run/vocab.txt"));
    shell_ok("sed -i 's/\"id\": 0/\"id\":  0/' stopped/tokenizer.json");
    must_refuse("eval --model stopped --text " TEXT, "does not hold the tokenizer");
}

/* What is learned by heart comes back as it stands. */
TEST(plain_text_goes_on)
{
    shell_ok("yes 'A  cat, sat!' | head -n 400 >heart.txt");
    run_ok("bpe --learn 9 --byte-level --text heart.txt --out heart.json");
    run_ok("train --corpus heart.txt --tokenizer heart.json --width 16 --inner 32 --heads 2 "
           "--sequence 24 --batch-tokens 256 --threads 1 --rate 1e-2 --dropout 0 --epochs 8 --out "
           "heart");
    run_ok("generate --model heart --prompt 'A  cat' --temperature 0 --tokens 8");
    assert_int_equal(strncmp(out, "A  cat, sat!\nA  cat", 19), 0);
    run_ok("truncation --model run --text " TEXT " --tokens 12 --sentences 2");
    run_ok("attention --model run --text " TEXT " --tokens 12 --out maps");
    must_print("data --corpus text --tokenizer t.json", " tokens, none of them <unk>");
}

/* A directory of another program is the beginning: one step of no size leaves its perplexity. */
TEST(begun_with_weights_of_others)
{
    static const char *const types[] = {"gpt2", "llama", "bert", "qwen3"};
    for (int i = 0; i < 4; i++) {
        const char *how = i == 2 ? "--one-by-one" : "";
        shell_ok(
            "rm -rf fine theirs m; yes \"$(cat %s/text.txt)\" | head -n 99 >own.txt; cp -r %s/%s m; "
            "chmod -R u+w m; [ -f m/tokenizer.json ] || cp %s/llama/tokenizer.json m",
            data, data, types[i], data);
        int status = program_run("train --from m --corpus own.txt --threads 1 --max-steps 1 "
                                 "--rate 1e-12 --sequence 16 --out fine");
        assert_true(trained(status));
        char *fine = eval_csv("fine --text own.txt --sequence 16 --max-tokens 9 %s", how);
        char *own = eval_csv("m --text own.txt --sequence 16 %s", how);
        assert_int_equal(number_in(fine, 1, "tokens"), number_in(own, 1, "tokens"));
        /* GPT-2's three rows without a token are not ours, so all else is a little more likely */
        double less = number_in(own, 1, "nll") - number_in(fine, 1, "nll");
        assert_true(i == 0 ? less > 0 && less < 0.03 : fabs(less) < 1e-5);
        if (i % 3 > 0) continue;
        run_ok("export --model fine --out theirs");
        fine = eval_csv("fine --text own.txt"), own = eval_csv("theirs --text own.txt");
        assert_true(fabs(number_in(fine, 1, "nll") - number_in(own, 1, "nll")) < 1e-5);
        if (i > 0) /* as it was: no biases, heads of 8 numbers where the width is 20 */
            shell_ok(
                "grep -q '\"model_type\": \"qwen3\"' theirs/config.json && "
                "grep -q '\"head_dim\": 8' theirs/config.json && ! grep -aq 'proj.bias' theirs/model.safetensors");
    }
}

/* A text that a tokenizer cuts as a whole has no ends of lines; its truncation errors are of pieces of it. */
TEST(compared)
{
    run_ok("compare --corpus text" SIZE " --scheme euler,heun --seeds 1 --epochs 4 --truncation 3 "
           "--out compared");
    for (int i = 1; i <= 2; i++) {
        double error = file_number("compared/compare.csv", i, "truncation");
        if (!(error > 0 && error < 10)) fail_msg("row %d: %g", i, error);
    }
}

TEST(pairs_and_masked_words)
{
    run_ok("train --corpus c --source en --target de" SIZE " --epochs 2 --best bleu --out pairs");
    run_ok("translate --model pairs --text c/test.en");
    assert_int_equal(count_lines(out), 20);
    assert_false(says("\xc4\xa0") || says("endoftext")); /* words, and no tokens */
    char *text = eval_csv("pairs --source-text c/test.en --text c/test.de"),
         *corpus = eval_csv("pairs --corpus c --split test");
    assert_string_equal(text, corpus);
    must_refuse("train --objective masked --corpus text" SIZE " --out m", "it has no [CLS]");
}

/* Both sides have words and merges of their own, which lie beside the model; a text is read as a corpus is. */
TEST(vocabularies_apart)
{
#define APART                                                                                \
    "train --corpus c --source en --target de --width 16 --inner 32 --heads 2 --sequence 24" \
    " --batch-tokens 256 --threads 1 --vocabularies separate --warmup 5 --epochs 2 "
    run_ok(APART "--bpe 12 --max-steps 9 --out apart");
    run_ok("translate --model apart --text c/test.en --alignment pairs.txt");
    assert_int_equal(count_lines(out), 20);
    run_ok("score --model apart --source-text c/test.en --text c/test.de");
    run_ok("average --model apart --model apart --out mean");
    shell_ok(
        "cmp mean/source-vocab.txt apart/source-vocab.txt; cmp mean/vocab.txt apart/vocab.txt");
    /* words of one language alone, and merges as learned from it alone */
    assert_true(file_has("apart/source-vocab.txt", "o") &&
                !file_has("apart/source-vocab.txt", "\xc3\xbc"));
    run_ok("bpe --learn 12 --text c/train.en --out learned");
    shell_ok("cmp learned apart/source-codes.bpe && ! cmp -s learned apart/codes.bpe");
    shell_ok("sed -i '$d' apart/source-vocab.txt");
    must_refuse("eval --model apart --text c/test.de --source-text c/test.en", "does not hold");
    must_refuse("train --corpus text --vocabularies separate --out bad", "of pairs in a directory");
    must_refuse(APART "--tokenizer t.json --out bad", "a tokenizer is one for both sides");
}

TEST(bad_choices_are_refused)
{
    static const char *const rows[][2] = {
        {"--tokenizer none.json", "none.json: No such file"},
        {"--tokenizer " TEXT, TEXT ":1: "},
        {"--tokenizer t.json --bpe 9", "leave --bpe out"},
        {"--tokenizer t.json --level char", "leave --level char out"},
        {"--tokenizer t.json --vocabulary 9", "leave --vocabulary out"},
        {"--bpe-dropout 0.1", "words have no merges to drop"},
    };
    refuse_all("train --corpus text --out bad %s", rows, sizeof rows / sizeof *rows, "bad");
    must_refuse("train --corpus markov --tokenizer t.json --out bad", "leave --tokenizer out");
    shell_ok("cp %s/bert/tokenizer.json words.json", data);
    must_refuse("train --corpus text --tokenizer words.json --bpe-dropout 0.1", "it is no BPE");
    shell_ok("sed 's/<|endoftext|>/<none>/' t.json >none.json");
    must_refuse("train --corpus text --tokenizer none.json --out bad", "no token that begins");
}

TEST_MAIN(open_all, program_close)
