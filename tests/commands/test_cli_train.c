/* test_cli_train.c: trainings and comparisons as a user runs them: their files stay whole, and their models are read
 * back. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

static char streams[PATH_MAX];

TEST(test_train_and_eval)
{
    run_ok("train --corpus text --epochs 2 --positions both --untied --activation gelu --scheme "
           "strang-marchuk:heun --out model" SMALL_TRAINING);
    assert_int_equal(rename(file_path("model"), file_path("moved")), 0);
    run_ok("eval --model moved --text text/valid.txt --csv --logits l.npy --max-tokens 7");
    /* the same numbers in the same order: only batches may round differently */
    double ppl = out_number(1, "ppl"), valid = result_of("moved", "valid_ppl");
    assert_true(fabs(ppl - valid) <= 1e-5 * valid);
    assert_true(fabs(exp(out_number(1, "nll")) - ppl) <= 1e-12 * ppl);
    size_t bytes;
    char *npy = file_slurp("l.npy", &bytes);
    assert_non_null(strstr(npy + 10, "(7, 11)"));
    assert_int_equal(bytes, 128 + 4 * 7 * 11);
    HAS(err, "~<unk>");
    must_refuse("eval --model moved --text whole/nowhere.txt", "nowhere.txt");
    must_refuse("eval --model nowhere --text text/valid.txt --logits no/place.npy",
                "cannot write no/place.npy: No such file");
    shell_ok(
        "{ ulimit -f 8; %s eval --model moved --text text/train.txt --csv --logits l.npy 2>&1; } "
        "| cat >told; grep -q '^tokens,nll,ppl$' told && grep -q 'l.npy' told",
        program);
}

/* A model's file holds what decides its function, also where no option tells it. */
TEST(test_defaults_told)
{
    run_ok("train --corpus text --epochs 1 --activation gelu --adaptive 4 --out "
           "defaults" SMALL_TRAINING);
    assert_true(file_has("defaults/model.safetensors", "\"adaptive-factor\":\"4\"") &&
                file_has("defaults/model.safetensors", "\"gelu\":\"tanh\""));
}

/* Networks that carry a velocity or the outputs of a general linear method, through the commands that read models. The mean of a
 * model with itself is the model. */
TEST(test_carried)
{
    static const char *const name[] = {"mom", "dim"};
    static const char *const why[][3] = {{"gated", ",found\n", "~not learned"},
                                         {"normed", ",found\n", "~not learned"},
                                         {"begun", ",not learned\n", ",found\n"}};
    file_text(
        "carried.scheme",
        "scheme mom\ncarry v\nlearn g = 9/10\nk1 = F(y)\nlet w = g*v + (1-g)*k1\nk2 = G(y + w)\n"
        "v' = g*w + (1-g)*k2\ny' = y + w + v'\n"
        "scheme dim\ncarry v\nk1 = H(y)\nk2 = H(v + 2*k1)\n"
        "v' = 1/2*y + 1/2*v + 3/4*k1 - 1/4*k2\ny' = 1/2*y + 1/2*v + 5/4*k1 + 1/4*k2\n"
        "scheme gated\ncarry v = y\nk1 = H(y)\ngate g = sigmoid(k1, y)\nv' = g*v + k1\n"
        "y' = y + v'\n"
        "scheme normed\ncarry v = embedding\nk1 = H(y)\nk2 = norm(1/2*v + k1)\nv' = k2\n"
        "y' = y + k2\n"
        "scheme begun\ncarry v\nlearn a = 1/2\nk1 = H(y)\nv' = a*v + k1\ny' = y + v'\n");
    for (size_t i = 0; i < 2; i++) {
        run_ok("train --corpus text --epochs 1 --layers 2 --scheme-file carried.scheme --scheme %s "
               "--out %s" SMALL_TRAINING,
               name[i], name[i]);
        run_ok("average --model %s --model %s --out mean-%s", name[i], name[i], name[i]);
        run_ok("eval --model mean-%s --text text/valid.txt --csv", name[i]);
        double valid = result_of(name[i], "valid_ppl");
        assert_true(fabs(out_number(1, "ppl") - valid) <= 1e-5 * valid);
        run_ok("generate --model %s --tokens 3 --temperature 0", name[i]);
        expect(2, "export --to huggingface --model %s --out never", name[i]);
        HAS(err, "its layers are steps of another scheme than transformer");
        run_ok("truncation --model %s --text text/valid.txt --scheme-file carried.scheme --scheme "
               "%s,heun --sentences 1 --tokens 4 --halvings 4 --summary --csv",
               name[i], name[i]);
        HAS(out, ",carried,carried_after,carried_error,remembered,carried_verdict\n", ",found\n",
            ",,,,\n", "~not told");
    }
    for (size_t i = 0; i < 3; i++) {
        run_ok(
            "train --corpus text --max-steps 2 --layers 2 --scheme-file carried.scheme --scheme %s "
            "--out %s" SMALL_TRAINING,
            why[i][0], why[i][0]);
        run_ok("truncation --model %s --text text/valid.txt --scheme-file carried.scheme --scheme "
               "%s --sentences 1 --tokens 4 --halvings 4 --summary --csv",
               why[i][0], why[i][0]);
        HAS(out, why[i][1], why[i][2]);
    }
    run_ok(
        "compare --corpus text --epochs 1 --layers 2 --scheme-file carried.scheme --scheme "
        "transformer,mom,dim --seeds 1 --truncation 1 --truncation-tokens 4 --out carried" SMALL_TRAINING);
    HAS(out, "\nmom ", "\ndim ");
    run_ok(
        "train --corpus reverse --max-steps 5 --layers 2 --scheme-file carried.scheme --encoder mom "
        "--decoder dim --out sides" SMALL_TRAINING);
}

/* A plan is told without training. At the size of GPT-2 the numbers are those of the transformer and, of YuriiFormer's layer, a
 * second embedding of 768 (50,304 + 1,024) more, 24 norms and 72 learned numbers; without the embedding they are fewer (the control). */
TEST(test_plan)
{
    static const char *const numbers[][2] = {
        {"transformer", "parameters: 124475904, of which the layers have 85054464"},
        {"yuriiformer", "parameters: 163932744, of which the layers have 85091400"},
        {"nesterov", "parameters: 124475974, of which the layers have 85054534"}};
    for (size_t i = 0; i < 3; i++) {
        run_ok("train --corpus markov:50304 --scheme %s --scheme-file %s --layers 12 --width 768 "
               "--heads 12 --inner 3072 --positions learned --sequence 1024 --batch-tokens 1024 "
               "--plan --out planned",
               numbers[i][0], streams);
        HAS(out, numbers[i][1],
            "evaluations: 12 of attention, 0 of cross-attention, 12 of feed-forward networks",
            i == 1 ? "r5 = layers.0.norm.1(r4)\n" : "~start.1.embed.weight");
    }
    assert_false(file_exists("planned"));
}

/* A penalty is told beside the loss, in the log and on the way, and lowers what it is a penalty on; of factor 0 it is none, to
 * the bit. What has none is refused in a line. */
TEST(test_penalty)
{
    static const char *const refused[][2] = {
        {"--step-penalty error", "--step-penalty error: expected error=X or displacement=X"},
        {"--step-penalty error=", "expected error=X"},
        {"--step-penalty error=-1", "X from 0 to 1e9"},
        {"--step-penalty error=nan", "X from 0 to 1e9"},
        {"--step-penalty moves=1", "expected error=X"},
        {"--step-penalty error=1 --dropout 0.1", "give --masks step, or --dropout 0"},
        {"--step-penalty error=1 --dropout 0 --scheme rk2-gate",
         "rk2-gate has learned numbers or gates"},
        {"--step-penalty error=1 --dropout 0 --objective masked", "is of language models"}};
    const char *line =
        "train --corpus text --epochs 2 --activation gelu --scheme macaron --dropout 0 %s --out %s" SMALL_TRAINING;
    run_ok(line, "", "without");
    run_ok(line, "--step-penalty error=0", "zero");
    assert_false(file_has("zero/log.csv", "penalty"));
    run_ok(line, "--step-penalty error=100", "large");
    HAS(err, ", penalty ");
    shell_ok("for d in without zero large; do tail -c 9000 $d/model.safetensors >$d.end; done; "
             "cmp without.end zero.end && ! cmp -s without.end large.end");
    assert_true(file_has("large/log.csv", "tokens_per_s,penalty\n"));
    assert_true(file_has("large/log.jsonl", "\"penalty\": "));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        must_refuse(formed("train --corpus text --out never --activation gelu %s" SMALL_TRAINING,
                           refused[i][0]),
                    refused[i][1]);
}

/* A multistep scheme in too few layers is reported to be another one; a scheme that has its history is not. */
TEST(test_no_history)
{
    static const struct {
        const char *args, *words; /* NULL: nothing */
    } of[] = {{"ab2 --layers 1", "ab2 reads 1 step back, and there is 1 layer:"},
              {"ab3 --layers 2", "ab3 reads 2 steps back, and there are 2 layers:"},
              {"ab2 --layers 2", NULL},
              {"heun --layers 1", NULL}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char args[256];
        snprintf(args, sizeof args,
                 "train --corpus text --max-steps 1 --out history%zu --scheme %s" SMALL_TRAINING, i,
                 of[i].args);
        run_ok(args);
        if (of[i].words ? !strstr(err, of[i].words) : strstr(err, " back, and there ") != NULL)
            fail_msg("%s: %s", args, err);
    }
}

/* A run of --patience ends before the last of its epochs (which, in tests/nn/test_train.c), and resuming it does not go
 * farther. */
TEST(test_patience)
{
    run_ok(
        "train --corpus markov:16 --rate 0.1 --warmup 0 --schedule constant --epochs 10 --width 16 --inner 32 "
        "--heads 2 --sequence 16 --batch-tokens 256 --threads 1 --out hasty --patience 1");
    double last = file_number("hasty/log.csv", -1, "step");
    assert_true(file_number("hasty/log.csv", -1, "epoch") < 10);
    must_refuse("train --out hasty --resume --patience 9",
                "the run in hasty goes on only with its own options (--patience ");
    run_ok("train --out hasty --resume");
    assert_true(file_number("hasty/log.csv", -1, "step") == last);
}

/* The only scheme of a file needs no name; of several, one is to be chosen. config.ini records it. */
TEST(test_scheme_of_file)
{
    file_text("one.scheme", "scheme mine\nk1 = H(y)\ny' = y + 1/2*k1\n");
    file_text("two.scheme", "scheme a\nk1 = H(y)\ny' = y + k1\nscheme b\nk1 = H(y)\ny' = y - k1\n");
    run_ok("train --corpus text --epochs 1 --scheme-file one.scheme --out only" SMALL_TRAINING);
    must_tell(
        "train --corpus text --epochs 1 --scheme-file one.scheme --scheme mine --out only" SMALL_TRAINING,
        "mine, seed 1: is there already");
    shell_ok(
        "grep -q '^scheme = mine$' only/config.ini && grep -q '^scheme mine$' only/scheme.txt");
    must_refuse("train --corpus text --scheme-file two.scheme --out one-of-two" SMALL_TRAINING,
                "--scheme is needed: one scheme is trained at a time, and --scheme-file has a,b");
    run_ok(
        "train --corpus text --epochs 1 --scheme-file two.scheme --scheme euler --out one-of-two" SMALL_TRAINING);
}

/* A training warns before it begins where its rate never reaches the peak or most words are read as <unk>, and at its end
 * where word frequencies alone are as good; one that diverged has status 1, finite or not. */
TEST(test_warnings)
{
    expect(0, "train --corpus text --epochs 1 --max-steps 3 --out poor" SMALL_TRAINING);
    const char *at = strstr(err, "warning: --warmup 10: the whole training has 3 steps"),
               *memory = strstr(err, "memory of the model"), *last = strstr(err, "; in poor");
    assert_true(at && memory && at < memory);
    assert_true(last && strstr(last, "on validation is no better than word frequencies alone, "));
    expect(
        0,
        "train --corpus text --epochs 1 --max-steps 3 --out poor" SMALL_TRAINING); /* is there already */
    shell_ok(
        "test $(grep -c 'warning: --warmup 10: .*no better than word frequencies alone, ' poor/commands.csv) = 1");
    expect(1, "train --corpus text --max-steps 9 --out far" SMALL_TRAINING "--warmup 0 --rate 90");
    HAS(err, " on validation is worse than before the first step: the training diverged; ");
    run_ok("report far --out far.html");
    shell_ok("grep -q 'verdict bad.*ended with status 1: perplexity .* diverged' far.html");
    must_tell("train --corpus text --vocabulary 2 --max-steps 1 --out two" SMALL_TRAINING,
              " % of the training tokens are read as <unk>: that text is easier");
    /* the control */
    expect(0, "train --corpus text --epochs 12 --out good" SMALL_TRAINING);
    HAS(err, "~warning: --warmup", "~no better than", "~<unk>");
    run_ok("report good --out good.html");
    shell_ok(
        "grep -q 'verdict good' good.html && ! grep -q 'verdict warned\\|verdict bad' good.html");
}

/* Perplexities of the first tokens of valid and test are those of texts that hold no more. The rest of the run is the
 * same, and config.ini records --eval-tokens only where it was given. */
TEST(test_eval_tokens)
{
    corpus_write("few", 600, 60);
    shell_ok("for t in valid test; do head -n 2 text/$t.txt >few/$t.txt; done");
    run_ok("train --corpus few --epochs 2 --out of-few" SMALL_TRAINING);
    run_ok("train --corpus text --epochs 2 --out of-all" SMALL_TRAINING);
    must_tell("train --corpus text --epochs 2 --eval-tokens 8 --out of-part" SMALL_TRAINING,
              " on the first 8 tokens of validation, ");
    static const char *const told[] = {"params", "best_epoch", "valid_ppl", "test_ppl"};
    for (int k = 0; k < 4; k++)
        assert_true(result_of("of-few", told[k]) == result_of("of-part", told[k]));
    assert_true(result_of("of-all", "valid_ppl") != result_of("of-part", "valid_ppl"));
    assert_false(file_has("of-all/config.ini", "eval-tokens"));
    assert_true(file_has("of-part/config.ini", "\neval-tokens = 8\n"));
    must_refuse("train --resume --eval-tokens 9 --out of-part", "(--eval-tokens 8, now 9)");
}

/* One file is split by lines and gives the model of a directory that has these lines in three files, sums and all. eval
 * knows the parts from the model. */
TEST(test_one_file)
{
    static const char *const kind[] = {"", "--level char ", "--bpe 8 ", "--vocabulary 8 "};
    shell_ok("cat text/train.txt text/valid.txt text/test.txt > one.txt");
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        const char *line = formed("%s--out single" SMALL_TRAINING, kind[i]);
        shell_ok("rm -rf single three");
        if (shell("%s train --corpus one.txt --parts 10,1,1 --epochs 1 %s", program, line) != 0)
            fail_msg("%s", err);
        HAS(err, "one.txt: lines 1 to 600 for training, lines 601 to 660 for validation, lines "
                 "661 to 720 for test");
        run_ok("train --corpus text --epochs 1 %s--out three" SMALL_TRAINING, kind[i]);
        shell_ok("for d in single three; do tail -c 8000 $d/model.safetensors > $d/end; done");
        assert_true(same_files("single/end", "three/end"));
        char *one = output_of("eval --model single --corpus one.txt --split test --csv");
        run_ok("eval --model three --corpus text --split test --csv");
        assert_string_equal(out, one);
        run_ok(
            "eval --model single --corpus text --split test --csv"); /* directories have no parts */
        assert_string_equal(out, one);
    }
    run_ok("data --corpus one.txt --split 10,1,1 --csv"); /* another name of the file */
    char *split = kept_text(strdup(out));
    run_ok("data --corpus one.txt --parts 8,2,2 --csv");
    assert_string_not_equal(out, split);
    run_ok("data --corpus one.txt --parts 10,1,1 --csv");
    assert_string_equal(out, split);
    const char *sum = formed("%s", strrchr(out, ',')); /* of the test text */
    run_ok("data --corpus text --csv");
    assert_string_equal(strrchr(out, ','), sum);
    must_refuse("train --corpus one.txt --parts 8,1 --out other" SMALL_TRAINING,
                "--parts: expected three shares");
    must_refuse("train --corpus one.txt --parts 8,1,0 --out other" SMALL_TRAINING, "--parts: ");
    must_refuse("train --corpus text --parts 8,1,1 --out other" SMALL_TRAINING,
                "no single text file");
}

/* Two designs are told in 25 lines; all words on request, and in compare.md. */
TEST(test_compare)
{
    static const char brief[] = "compare --corpus text --scheme euler,lie-trotter --seeds 2 "
                                "--epochs 2 --system linear --truncation 0 --out "
                                "both" SMALL_TRAINING;
    run_ok(brief);
    assert_true(count_lines(out) <= 25 && strstr(out, "  difference  ") &&
                !strstr(out, "Rank corr"));
    run_ok("%s --explain", brief);
    assert_true(count_lines(out) > 40 && strstr(out, "Differences have 95 % intervals"));
    shell_ok("grep -q 'Differences have 95 %% intervals' both/compare.md");
}

/* ---- a training that begins with the weights of another (--from) ------------------------------- */

/* A step so short that the perplexity after it is that of the weights at the start. */
#define STAY                                                                                    \
    " --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 256 --threads 1 --warmup 0 " \
    "--rate 1e-12 --dropout 0 --max-steps 1 --epochs 1 --untied --untested "

static void begins_as(const char *options, const char *dir, int same)
{
    double first = result_of("first", "valid_ppl");
    if (!trained(program_run("train --out %s %s" STAY, dir, options))) fail_msg("%s", err);
    double ppl = result_of(dir, "valid_ppl");
    if ((fabs(ppl - first) <= 1e-5 * first) != same)
        fail_msg("%s: perplexity %.9g, first %.9g: %s", options, ppl, first, err);
}

TEST(the_same_weights_and_a_control)
{
    begins_as("--corpus text --from first", "again", 1);
    HAS(err, "weights from first: 16 of 16 tensors, rows of 11 of 11 words");
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
    must_tell(
        "train --corpus more --from first --scheme rk2-gate --layers 2 --epochs 2 --untied --out "
        "grown" SMALL_TRAINING,
        "rows of 11 of 12 words; the others begin by the seed");
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

TEST(from_what_is_no_model)
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

static int open_text(void **state)
{
    if (!realpath("studies/schemes/streams.scheme", streams)) return -1;
    if (program_open(state) != 0) return -1;
    corpus_write("text", 600, 60);
    run_ok("train --corpus text --epochs 2 --dropout 0 --untied --out first" SMALL_TRAINING);
    return 0;
}

TEST_MAIN(open_text, program_close)
