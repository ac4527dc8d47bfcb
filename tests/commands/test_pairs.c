/* test_pairs.c: an encoder and a decoder as a user trains them on pairs of lines, stops, resumes and reads them back;
 * and refusals. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

#define TINY " --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 208 --threads 1 "
#define SHORT TINY "--rate 1e-2 --warmup 10 --max-steps 40 "
#define PAIRS "train --corpus reverse:6"

/* Trains; then at least so many of the pairs are exact. That a source comes by cross-attention alone is asserted in
 * tests/nn/test_sides.c. */
static void measure(const char *arguments, const char *corpus, double most)
{
    run_ok("train --corpus %s %s --out learnt", corpus, arguments);
    double valid = result_of("learnt", "valid_exact"), test = result_of("learnt", "test_exact");
    print_message("# exact: %.1f %% of validation, %.1f %% of test\n", 100 * valid, 100 * test);
    assert_true(valid >= most && test >= most);
    run_ok("eval --model learnt --corpus %s --csv", corpus);
    assert_true(fabs(out_number(-1, "exact") - valid) <= 1e-9);
}

/* A small network learns to reverse and exchange 12 symbols in some seconds. */
TEST(reversal_is_learnt)
{
    measure("--width 32 --inner 64 --heads 4 --batch-tokens 512 --rate 8e-3 --warmup 100 --dropout "
            "0 --epochs 1 --threads 1",
            "reverse:8", 0.95);
}

/* The same holds for 26 symbols with the default options, which takes all cores for half a minute. */
TEST(whole_reversal)
{
    if (!getenv("TROTTER_WHOLE")) {
        print_message("# SKIP it is long: TROTTER_WHOLE=1 runs it\n");
        skip();
    }
    shell_ok("rm -rf learnt");
    measure("--epochs 8", "reverse:26", 0.99);
}

TEST(exact_pairs_are_told)
{
    char line[128];
    run_ok(PAIRS " --encoder-layers 2 --out told" SHORT);
    double valid = result_of("told", "valid_exact"), test = result_of("told", "test_exact");
    assert_true(valid >= 0 && valid <= 1 && test >= 0 && test <= 1);
    snprintf(line, sizeof line, "on validation, %.1f %% exact, ", 100 * valid);
    if (!strstr(last_line(err), line)) fail_msg("no '%s': %s", line, err);
    snprintf(line, sizeof line, "on test, %.1f %% exact; ", 100 * test);
    if (!strstr(last_line(err), line)) fail_msg("no '%s': %s", line, err);
    if (!strstr(last_line(err), "transformer + transformer-decoder, 2 + 1 layer(s)"))
        fail_msg("%s", err);
    assert_int_equal(count_words(err, " % exact"),
                     3); /* once in the validation's line and twice in the last */
    assert_true(file_has("told/log.csv", "step,epoch,tokens,train_loss,valid_ppl,rate,grad_norm,"
                                         "tokens_per_s,valid_exact\n"));
    assert_true(fabs(file_number("told/log.csv", -1, "valid_exact") - valid) <= 1e-8);
}

/* A language model's files and messages have no exact pairs. */
TEST(texts_have_no_pairs)
{
    corpus_write("text", 600, 60);
    run_ok("train --corpus text --out plain" SHORT);
    assert_false(says("exact") || file_has("plain/log.csv", "exact") ||
                 file_has("plain/result.csv", "exact"));
    run_ok("eval --model plain --text text/valid.txt --csv");
    assert_int_equal(strncmp(out, "tokens,nll,ppl\n", 15), 0);
}

/* That pairs in files are those of a corpus is asserted in test_kinds.c. */
TEST(files_are_pairs)
{
    run_ok(PAIRS " --out of-files --precision f64" SHORT);
    run_ok("eval --model of-files --corpus reverse:6 --csv");
    assert_int_equal(strncmp(out, "tokens,nll,ppl,pairs,exact\n", 27), 0);
    assert_true(out_number(1, "pairs") == 500 && out_number(1, "tokens") == 6500);
    assert_true(fabs(out_number(1, "exact") - result_of("of-files", "valid_exact")) <= 1e-12);
    shell_ok(
        "for i in $(seq 500); do echo 1 2 3 4 5 6 1 2 3 4 5 6; done >source; rev source >target");
    run_ok(
        "eval --model of-files --text target --source-text source --logits l.npy --max-tokens 9");
    shell_ok(
        "head -n 499 source > fewer; sed '3s/.*//' source > blank; sed '4s/$/ 1/' source > longer; "
        "sed '4s/$/ 1 1 1 1 1/' source > long; sed '5s/1/what/' target > word");
    static const char *const bad[][2] = {
        {"--text target", "of-files is an encoder and a decoder: --source-text FILE is needed too"},
        {"--text target --source-text fewer", "fewer has 499 lines and target has 500"},
        {"--text target --source-text blank", "blank:3 is blank and target:3 is not"},
        {"--text target --source-text long",
         "long:4 has 18 tokens and target:4 has 13, <eos> included: a sequence can have 16"},
        {"--text word --source-text source", "word:5: 'what' is not in the vocabulary"},
        {"--text target --source-text nowhere", "nowhere"},
        {"--text target --source-text source --context stream", "a stream has none"},
        {"--text target --corpus reverse:6", "--text or --corpus, not both"},
        {"--source-text source --corpus reverse:6", "--source-text has no meaning without --text"},
        {"--text target --source-text source --split test",
         "--split has no meaning without --corpus"},
        {"--corpus reverse:7", "the words of reverse:7 are not those of of-files"},
        {"", "--text is needed"},
    };
    REFUSE_ALL("eval --model of-files %s", bad, NULL);
    run_ok("eval --model of-files --text target --source-text longer");
    corpus_write("text", 600, 60);
    run_ok("train --corpus text --out plain" SHORT);
    must_refuse("eval --model plain --text text/valid.txt --source-text text/valid.txt",
                "the model is a language model, which has no encoder");
}

TEST(what_pairs_cannot_is_told_first)
{
    static const char *const bad[][2] = {
        {PAIRS " --scheme heun", "--scheme heun: corpus reverse:6 has pairs: write --encoder heun"},
        {PAIRS " --scheme transformer", "write --encoder transformer or --decoder transformer"},
        {PAIRS " --context stream", "--context stream: corpus reverse:6 has pairs"},
        {PAIRS " --adaptive 3", "adaptive embeddings are of language models"},
        {PAIRS " --encoder transformer-decoder", "an encoder takes a scheme of F and G"},
        {PAIRS " --encoder word:scf", "an encoder takes a scheme of F and G"},
        {PAIRS " --decoder word:ff", "--decoder: word:ff-decoder:euler has neither C nor an F"},
        {PAIRS " --decoder heun,euler", "unknown scheme 'heun,euler'"},
        {PAIRS " --decoder strang-marchuk:exact", "a network needs a sub-flow solver"},
        {PAIRS " --encoder nowhere", "unknown scheme 'nowhere'"},
        {PAIRS " --norm post --decoder heun", "heun-decoder"},
        {PAIRS " --sequence 12",
         "reverse train source:1 has 13 tokens and reverse train target:1 has 13"},
        {PAIRS " --level char", "its words have no characters"},
        {PAIRS " --vocabulary 4", "no vocabulary limit"},
        {"train --corpus reverse:1", "V from 2 to 10000"},
        {"train --corpus text --encoder heun",
         "--encoder: corpus text is a text, which has no source"},
        {"train --corpus text --decoder heun", "--decoder: corpus text is a text"},
        {"train --corpus text --encoder-layers 2", "--encoder-layers: corpus text is a text"},
        {"train --corpus text --scheme transformer-decoder", "a language model has no encoder"},
        {"compare --corpus text --scheme transformer-decoder", "a language model has no encoder"},
        {"sweep --corpus reverse:6 --words sf,fs", "corpus reverse:6 has pairs"},
        {"sweep --corpus text --words sf,fs --encoder-layers 2", "a language model has no encoder"},
    };
    corpus_write("text", 600, 60);
    REFUSE_ALL("%s --out refused", bad, "refused");
}

TEST(language_models_alone)
{
    run_ok(PAIRS " --activation gelu --out sides" SHORT);
    must_refuse("attention --model sides --model sides --text sides/vocab.txt --out refused",
                "sides is an encoder and a decoder");
    must_refuse("order --system network:sides --out refused", "an encoder and a decoder");
    assert_false(file_exists("refused"));
    run_ok("report sides --out page.html");
    assert_true(file_has("page.html", "of the validation pairs exact"));
}

/* Layers of either side are compared with their flow: schemes of two operators are a decoder's there, and what the
 * other side lacks is reported. */
TEST(errors_of_either_side)
{
#define FILES " --text target.txt --source-text source.txt"
    static const char pairs[] = "1 2 3 4\n5 1\n2 2 5 1 3\n", others[] = "3 1\n4 4 2 1\n5\n";
    static const char *const bad[][2] = {
        {"--text target.txt", "--source-text is needed"},
        {"--text target.txt --source-text short.txt", "line by line they are pairs"},
        {"--text target.txt --source-text source.txt --refine 2", "language models"},
        {"--text target.txt --source-text source.txt --side encoder --scheme strang-decoder",
         "reads C, which the model"},
        {"--text target.txt --source-text none.txt", "none.txt"}};
    file_write("source.txt", pairs, sizeof pairs - 1);
    file_write("target.txt", others, sizeof others - 1);
    file_write("short.txt", pairs, 8);
    run_ok(PAIRS
           " --activation gelu --encoder macaron --layers 2 --encoder-layers 1 --out both" SHORT);
    must_print("truncation --model both" FILES " --scheme heun,macaron "
               "--sentences 2 --tokens 4 --csv --summary",
               "heun-decoder,0,split,2,", "macaron-decoder,1,split,1,");
    must_print("truncation --model both" FILES " --side encoder "
               "--scheme heun,macaron --sentences 2 --tokens 4 --csv --summary",
               "heun,0,split,2,", "macaron,0,split,1,", "~macaron,1,");
    must_print("truncation --model both" FILES " --jacobian --csv", "lipschitz_C");
    run_ok("truncation --model both" FILES " --jacobian --csv "
           "--out decoder-jacobian");
    shell_ok("grep -q 'layer 1, field split' decoder-jacobian/jacobian.gp");
    run_ok("truncation --model both" FILES " --jacobian --csv "
           "--side encoder --out encoder-jacobian"); /* it has one layer */
    shell_ok("grep -q 'layer 0, field split' encoder-jacobian/jacobian.gp && "
             "! grep -q 'layer 1' encoder-jacobian/jacobian.gp");
    REFUSE_ALL("truncation --model both --out refused %s", bad, "refused");
    run_ok("train --corpus markov:6 --scheme transformer --out one" SHORT);
    must_refuse("truncation --model one --text target.txt --side encoder", "has no encoder");
    must_refuse("truncation --model one --text target.txt --source-text source.txt",
                "has no encoder");
    assert_false(file_exists("refused"));
}

TEST_MAIN(program_open, program_close)
