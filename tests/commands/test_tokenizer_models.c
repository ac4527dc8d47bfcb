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

static double number(const char *csv, const char *name)
{
    return strtod(cell_of(csv, 1, name), NULL);
}

/* The whole text's nll over its bytes, in bits. */
TEST(bits_a_byte)
{
    char *file = eval_csv("run --text " TEXT), *corpus = eval_csv("run --corpus text --split test");
    shell_ok("wc -c <" TEXT " >bytes");
    char *count = file_slurp("bytes", NULL);
    double bytes = strtod(count, NULL), bits = number(file, "bits_per_byte");
    assert_true(bytes > 100 && number(file, "tokens") < bytes / 2);
    double whole = number(file, "tokens") * number(file, "nll") / log(2);
    assert_true(fabs(bits - whole / bytes) <= 1e-6 * bits);
    assert_string_equal(file, corpus);
    assert_true(fabs(file_number("run/result.csv", 1, "test_bits") - bits) <= 1e-6 * bits);
    assert_true(file_number("run/result.csv", 1, "valid_bits") > 0);
    assert_true(file_has("run/log.csv", ",valid_bits\n"));
    free(count);
    free(file);
    free(corpus);
}

TEST(stopped_and_resumed_without_the_file)
{
    shell_ok("cp t.json other.json");
    run_ok("train --corpus text" SIZE " --epochs 2 --max-steps 4 --out stopped");
    assert_same_file("run", "stopped", "model.safetensors", 0); /* the control */
    shell_ok("sed -i 's/t.json/gone.json/' stopped/config.ini");
    run_ok("train --resume --max-steps 9 --out stopped");
    assert_same_file("run", "stopped", "model.safetensors", 1);
    assert_same_file("run", "stopped", "tokenizer.json", 1);
    shell_ok("cmp t.json run/tokenizer.json");
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
    run_ok("data --corpus text --tokenizer t.json");
    assert_true(strstr(out, " tokens, none of them <unk>") != NULL);
}

/* A directory of another program is the beginning: one step of no size leaves its perplexity. */
TEST(begun_with_weights_of_others)
{
    static const char *const types[] = {"gpt2", "llama", "bert"};
    for (int i = 0; i < 3; i++) {
        const char *how = i == 2 ? "--one-by-one" : "";
        shell_ok("rm -rf fine; yes \"$(cat %s/text.txt)\" | head -n 99 >own.txt", data);
        int status = program_run("train --from %s/%s --corpus own.txt --threads 1 --max-steps 1 "
                                 "--rate 1e-12 --sequence 16 --out fine",
                                 data, types[i]);
        assert_true(trained(status));
        char *fine = eval_csv("fine --text own.txt --sequence 16 --max-tokens 9 %s", how);
        char *own = eval_csv("%s/%s --text own.txt --sequence 16 %s", data, types[i], how);
        assert_int_equal(number(fine, "tokens"), number(own, "tokens"));
        /* GPT-2's three rows without a token are not ours, so all else is a little more likely */
        double less = number(own, "nll") - number(fine, "nll");
        assert_true(i == 0 ? less > 0 && less < 0.03 : fabs(less) < 1e-5);
        free(fine);
        free(own);
        if (i > 0) continue;
        run_ok("export --model fine --out theirs");
        fine = eval_csv("fine --text own.txt"), own = eval_csv("theirs --text own.txt");
        assert_true(fabs(number(fine, "nll") - number(own, "nll")) < 1e-5);
        free(fine);
        free(own);
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
    free(text);
    free(corpus);
    must_refuse("train --objective masked --corpus text" SIZE " --out m", "it has no [CLS]");
}

/* Both sides have words and merges of their own, which lie beside the model; a text is read as a corpus is. */
TEST(vocabularies_apart)
{
    static const char *const kinds[] = {"", "--bpe 12", "--bpe 12 --bpe-dropout 0.2"};
#define APART                                                                                \
    "train --corpus c --source en --target de --width 16 --inner 32 --heads 2 --sequence 24" \
    " --batch-tokens 256 --threads 1 --vocabularies separate --warmup 5 --epochs 2 "
    for (int i = 0; i < 3; i++) {
        shell_ok("rm -rf apart stopped learned mean");
        run_ok(APART "%s --max-steps 9 --out apart", kinds[i]);
        run_ok(APART "%s --max-steps 4 --out stopped", kinds[i]);
        assert_same_file("apart", "stopped", "model.safetensors", 0); /* the control */
        run_ok("train --resume --max-steps 9 --out stopped");
        assert_same_file("apart", "stopped", "model.safetensors", 1);
        char *text = eval_csv("apart --source-text c/test.en --text c/test.de"),
             *corpus = eval_csv("apart --corpus c --split test");
        assert_string_equal(text, corpus);
        double ppl = number(text, "ppl");
        assert_true(fabs(ppl - file_number("apart/result.csv", 1, "test_ppl")) <= 1e-6 * ppl);
        run_ok("translate --model apart --text c/test.en --alignment pairs.txt");
        assert_int_equal(count_lines(out), 20);
        run_ok("score --model apart --source-text c/test.en --text c/test.de");
        run_ok("average --model apart --model stopped --out mean");
        shell_ok(
            "cmp mean/source-vocab.txt apart/source-vocab.txt; cmp mean/vocab.txt apart/vocab.txt");
        /* words of one language alone, and merges as learned from it alone */
        assert_true(file_has("apart/source-vocab.txt", "o") &&
                    !file_has("apart/source-vocab.txt", "\xc3\xbc"));
        free(text);
        free(corpus);
        if (i != 1) continue;
        run_ok("bpe --learn 12 --text c/train.en --out learned");
        shell_ok("cmp learned apart/source-codes.bpe && ! cmp -s learned apart/codes.bpe");
        shell_ok("sed -i '$d' apart/source-vocab.txt");
        must_refuse("eval --model apart --text c/test.de --source-text c/test.en", "does not hold");
    }
    must_refuse("train --corpus text --vocabularies separate --out bad", "of pairs in a directory");
    must_refuse(APART "--tokenizer t.json --out bad", "a tokenizer is one for both sides");
}

/* Each epoch has other cuts, which a resumed run repeats and ranks share; P = 0 is a run without the option. */
TEST(merges_are_dropped)
{
#define DROPPED \
    " --width 16 --inner 32 --heads 2 --batch-tokens 256 --threads 1 --warmup 5 --epochs 3"
    static const char *const kinds[] = {
        "--corpus text --tokenizer t.json --sequence 24", "--corpus text --bpe 12 --sequence 24",
        "--corpus text --bpe 12 --context sentence --sequence 24",
        "--corpus c --source en --target de --bpe 50 --sequence 12"};
    for (int i = 0; i < 4; i++) {
        shell_ok("rm -rf straight stopped none zero two");
        run_ok("train %s" DROPPED " --bpe-dropout 0.3 --max-steps 60 --out straight", kinds[i]);
        run_ok("train %s" DROPPED " --bpe-dropout 0.3 --max-steps 17 --out stopped", kinds[i]);
        static const char last[] = "for d in straight stopped; do tail -n 1 $d/log.csv | cut -d, "
                                   "-f1-7 >$d/last; done; cmp -s straight/last stopped/last";
        assert_int_equal(shell(last), 1); /* the control */
        run_ok("train --resume --max-steps 60 --out stopped");
        shell_ok(last);
        run_ok("train %s" DROPPED " --out none", kinds[i]);
        run_ok("train %s" DROPPED " --bpe-dropout 0 --out zero", kinds[i]);
        shell_ok("for d in straight none zero; do cut -d, -f1-7 $d/log.csv >$d/rows; done; "
                 "cmp none/rows zero/rows && ! cmp -s none/rows straight/rows");
        char *text = eval_csv("straight --corpus %s", i == 3 ? "c" : "text");
        double ppl = number(text, "ppl"),
               valid = file_number("straight/result.csv", 1, "valid_ppl");
        assert_true(fabs(ppl - valid) <= 1e-6 * ppl); /* cut whole */
        free(text);
        if (!has_tool("mpirun")) continue;
        int status = shell("mpirun --allow-run-as-root --oversubscribe -n 2 %s train %s" DROPPED
                           " --bpe-dropout 0.3 --max-steps 60 --out two",
                           program, kinds[i]);
        assert_true(trained(status));
        assert_true(fabs(file_number("two/result.csv", 1, "valid_ppl") - valid) <= 5e-4 * valid);
    }
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
