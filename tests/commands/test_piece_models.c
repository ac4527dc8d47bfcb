/* test_piece_models.c: language models, and encoders with decoders, whose tokens are pieces of words, as a user has them:
 * trained, evaluated, stopped and resumed, given a text to go on with, compared; their perplexity per word against a
 * count of words by wc and the sum of log p by `score`; and refusals. */
#include "tests/lib/test.h"

#include "tests/lib/counting.h"
#include "tests/lib/program.h"

#define SIZE \
    " --width 16 --inner 32 --heads 2 --sequence 24 --batch-tokens 256 --threads 1 --rate 1e-2 --warmup 10"
#define TRAIN "train --corpus text" SIZE
#define SHORT " --max-steps 3"

static const struct {
    const char *train, *corpus, *learn, *test, *bpe;
} kind[] = {
    {TRAIN, "text", "--text text/train.txt", "--text text/test.txt", "12"},
    {"train --corpus c --source en --target de" SIZE, "c", "--text c/train.en --text c/train.de",
     "--text c/test.de --source-text c/test.en", "50"},
};

static int open_all(void **state)
{
    if (program_open(state) != 0) return -1;
    corpus_write("text", 200, 20);
    counting_write(6, 10);
    for (int k = 0; k < 2; k++)
        run_ok("%s --bpe %s" SHORT " --out run%d", kind[k].train, kind[k].bpe, k);
    return 0;
}

/* The same merges from a file make the same model, which no longer needs that file; the last line tells both perplexities. */
TEST(merges_of_a_file)
{
    for (int k = 0; k < 2; k++) {
        shell_ok("rm -rf codes from-file");
        run_ok("bpe --learn %s %s --out codes", kind[k].bpe, kind[k].learn);
        run_ok("%s --codes codes" SHORT " --out from-file", kind[k].train);
        shell_ok(
            "cmp codes run%d/codes.bpe; for d in run%d from-file; do tail -c 8000 $d/model.safetensors >$d/numbers; "
            "done; rm codes; for f in codes.bpe vocab.txt numbers; do cmp run%d/$f from-file/$f; done",
            k, k, k);
        assert_string_equal(eval_csv("from-file %s", kind[k].test),
                            eval_csv("run%d %s", k, kind[k].test));
        if (k) assert_false(says("left out"));
    }
    char *test = eval_csv("run0 %s", kind[0].test), *valid = eval_csv("run0 --corpus text");
    must_tell(TRAIN " --bpe 12" SHORT " --out told",
              formed("%.2f (%.2f a word) on test", number_in(test, 1, "ppl"),
                     number_in(test, 1, "word_ppl")),
              formed("perplexity %.2f (%.2f a word) on validation", number_in(valid, 1, "ppl"),
                     number_in(valid, 1, "word_ppl")));
    must_print("data --corpus text --bpe 12", " pieces; corpus_checksum of its models: ");
}

/* Words are those of wc. The logarithm of the perplexity per word is the mean of all that `score` sums. */
TEST(perplexity_per_word)
{
    shell_ok("{ cat text/valid.txt; echo; echo 'the park'; } >lines"); /* a blank line */
    double words = shell_number("wc -w <lines"), ends = shell_number("wc -l <lines"), sum = 0;
    run_ok(TRAIN " --bpe 12" SHORT " --context sentence --out lined");
    run_ok("bpe --codes lined/codes.bpe --text lines --out pieces");
    double pieces = shell_number("wc -w <pieces");
    assert_true(pieces > words);
    char *stream = eval_csv("lined --text lines --context stream"),
         *lined = eval_csv("lined --text lines");
    double tokens = number_in(lined, 1, "tokens"), of = number_in(lined, 1, "words"),
           ppl = log(number_in(lined, 1, "ppl")), word_ppl = log(number_in(lined, 1, "word_ppl"));
    assert_true(number_in(stream, 1, "words") == words + ends && of == words + ends - 1);
    assert_true(number_in(stream, 1, "tokens") == pieces + ends && tokens == pieces + ends - 1);
    assert_true(fabs(ppl - number_in(lined, 1, "nll")) <= 1e-6);
    run_ok("score --model lined --text lines --csv");
    for (const char *row = strchr(out, '\n'); row && row[1]; row = strchr(row + 1, '\n')) {
        double log_p;
        if (sscanf(row, "\n%*d,%*d,%lf", &log_p) == 1) sum += log_p;
    }
    assert_true(fabs(word_ppl + sum / of) <= 1e-5 * word_ppl);
    assert_true(fabs(ppl + sum / of) > 0.1); /* the control */
    /* models of whole words have the columns that they had, and their last line has one perplexity */
    must_tell(TRAIN SHORT " --out whole", "~a word)");
    assert_false(file_exists("whole/codes.bpe"));
    stream = eval_csv("whole --text text/test.txt");
    assert_int_equal(strncmp(stream, "tokens,nll,ppl\n", 15), 0);
}

/* A line learned by heart comes back in whole words, wherever the prompt ends. */
TEST(pieces_go_on)
{
    shell_ok("mkdir heart; for i in $(seq 60); do echo 'the cat sat on a mat'; done "
             ">heart/train.txt; head -n 1 heart/train.txt | tee heart/valid.txt >heart/test.txt");
    run_ok("train --corpus heart --bpe 3 --width 16 --inner 32 --heads 2 --sequence 24 "
           "--batch-tokens 96 --dropout 0 --rate 1e-2 --warmup 20 --epochs 50 --max-steps 250 "
           "--threads 1 --out model");
    run_ok("bpe --codes model/codes.bpe --text heart/test.txt");
    int pieces = count_words(out, " ") + 1;
    assert_true(pieces > 6 && strstr(out, "@@ "));
    run_ok("generate --threads 1 --model model --temperature 0 --tokens %d", 2 * pieces + 2);
    assert_string_equal(out, "the cat sat on a mat\nthe cat sat on a mat\n");
    assert_string_equal(err, "");
    run_ok("generate --threads 1 --model model --prompt 'the  cat sat on a ma' --tokens 1 --top 1");
    assert_int_equal(strncmp(out, "the cat sat on a ma", 19), 0);
    run_ok("generate --threads 1 --model model --prompt 'the qat q' --tokens 1 --top 1");
    assert_int_equal(count_lines(err), 2);
    assert_int_equal(count_words(err, "know 'q'"),
                     1); /* though one goes on and one ends its word */
    HAS(err, "the model does not know 'q': it reads <unk>\n", "prompt: 2 of ");
    must_print("generate --threads 1 --model model --tokens 200 --temperature 50 --seed 2",
               "~@@"); /* wherever it ends */
    must_refuse("generate --model model --prompt 'ca@@ t'", "prompt:1: a word ends in '@@'");
    must_refuse("generate --model model --prompt 'ca\tt'", "prompt:1: a tab");
    must_refuse("eval --model model --text model/weights", "model/weights");
}

/* A model with another's words or merges would still give numbers, so it is refused, and so is a corpus of other
 * words. */
TEST(other_files_beside_a_model)
{
    static const char *const bad[][2] = {
        {"sed -i '$d' bad/codes.bpe",
         "bad/codes.bpe does not hold the merges of bad/model.safetensors"},
        {"sed -i '2{h;d};3{G}' bad/codes.bpe", "bad/codes.bpe does not hold the merges of "},
        {"echo 'x y' >>bad/codes.bpe", "bad/codes.bpe does not hold the merges of "},
        {"sed -i 1d bad/codes.bpe", "bad/codes.bpe does not hold the merges of "},
        {"rm bad/codes.bpe", "bad/codes.bpe"},
        {"sed -i '2{h;d};3{G}' bad/vocab.txt", "bad/vocab.txt does not hold the words of "},
        {"sed -i '$d' bad/vocab.txt", "bad/vocab.txt does not hold the words of "},
    };
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            shell_ok("rm -rf bad; cp -r run%d bad; %s", k, bad[i][0]);
            must_refuse(formed("eval --model bad %s", kind[k].test), bad[i][1]);
            must_refuse(formed("eval --model bad --corpus %s", kind[k].corpus), bad[i][1]);
            if (k == 0) must_refuse("generate --model bad", bad[i][1]);
        }
        shell_ok("rm -rf bad; cp -r run%d bad; sed -i 's/$/\\r/' bad/codes.bpe", k);
        eval_csv("bad %s", kind[k].test); /* the same merges */
    }
    shell_ok(
        "cp -r c c2; sed -i '1s/ .*//' c2/train.en; sed -i '1s/ .*//' c2/train.de; "
        "sed -i '1s/$/ xyz/' c2/train.en; cp -r text text2; sed -i '1s/^/acht /' text2/train.txt");
    must_refuse("eval --model run1 --corpus c2",
                "--corpus: the words of c2 en-de are not those of run1");
    must_refuse("eval --model run0 --corpus text2",
                "--corpus: the words of text2 are not those of run0");
    file_text("marked", "ca@@ t\n");
    file_text("single", "one\n");
    must_refuse("eval --model run0 --text marked", "marked:1: a word ends in '@@'");
    must_refuse("eval --model run1 --text marked --source-text single",
                "marked:1: a word ends in '@@'");
    file_text("unknown", "\xe4\xb8\xad\n");
    eval_csv("run0 --text unknown"); /* <unk> */
    eval_csv("run1 --text unknown --source-text single");
}

TEST(compared)
{
    run_ok(
        "compare --scheme transformer,euler --corpus text --bpe 12 --seeds 1 --epochs 20 "
        "--max-steps 60 --truncation 1 --truncation-tokens 4 --system linear --csv --out study" SIZE);
    assert_int_equal(count_words(out, "\ntransformer,"), 1);
    run_ok("bpe --learn 12 --text text/train.txt --out codes");
    assert_true(same_files("codes", "study/runs/transformer-seed1/codes.bpe"));
    assert_true(same_files("codes", "study/runs/euler-seed1/codes.bpe"));
    eval_csv("study/runs/euler-seed1 --corpus text");
    run_ok(
        "truncation --model study/runs/euler-seed1 --text text/test.txt --sentences 1 --tokens 4 "
        "--halvings 5 --csv --out truncation");
    run_ok("sweep --words sf,fs --corpus text --bpe 12 --seeds 1 --epochs 20 --max-steps 60 --csv "
           "--out sweep" SIZE);
}

/* The same pieces of one text do not make the same merges: they would cut another text into other pieces. */
TEST(other_merges_are_not_compared)
{
    shell_ok("mkdir two; for f in train valid test; do echo 'ab bc ab bc' >two/$f.txt; done");
    file_text("one.bpe", "#version: 0.2\na b</w>\nb c</w>\n");
    file_text("other.bpe", "#version: 0.2\nb c</w>\na b</w>\n");
    for (int i = 0; i < 2; i++) {
        run_ok("train --corpus two --codes %s.bpe --out %s" SIZE " --epochs 1", i ? "other" : "one",
               i ? "other" : "one");
    }
    assert_same_file("one", "other", "vocab.txt", 1);
    must_refuse("attention --model one --model other --text two/test.txt --sequence 8 --out no",
                "one and other have different merges");
    run_ok(
        "attention --model one --model one --text two/test.txt --sequence 8 --tokens 5 --csv --out "
        "attention"); /* the control */
}

/* What tests/nn/test_pieces.c refuses is refused by each command that takes such options. */
TEST(bad_choices_are_refused)
{
    static const char *const bad[][2] = {
        {"train --corpus text --bpe 5 --codes codes --out refused", "--bpe and --codes"},
        {"train --corpus text --codes text/test.txt --out refused",
         "text/test.txt:1: expected two symbols"},
        {"train --corpus reverse:6 --codes codes --out refused", "leave --codes out"},
        {"compare --corpus markov:6 --bpe 5 --out refused", "leave --bpe out"},
        {"data --corpus markov:6 --bpe 5", "leave --bpe out"},
        {"train --corpus tabs --bpe 5 --out refused", "tabs/valid.txt:1: a tab"},
    };
    corpus_write("tabs", 20, 4);
    file_text("tabs/valid.txt", "the\tcat\n");
    REFUSE_ALL("%s", bad, "refused");
    run_ok("train --corpus tabs" SIZE SHORT
           " --vocabulary 50 --out tabbed"); /* among words a tab is a blank */
}

TEST_MAIN(open_all, program_close)
