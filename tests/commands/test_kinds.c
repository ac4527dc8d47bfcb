/* test_kinds.c: models of every kind and way of training, in one table: a text and a corpus give them the same numbers,
 * those of the run's result.csv; each option changes them; a run that was stopped goes on to the same numbers, and its
 * config.ini alone repeats it. Masked language models as a user has them: evaluated with one set of masks and one by one;
 * their truncation error; and refusals. */
#include "tests/lib/test.h"

#include "tests/lib/counting.h"
#include "tests/lib/program.h"

#define SIZE                                                                                     \
    " --width 16 --inner 32 --heads 2 --sequence 24 --batch-tokens 256 --threads 1 --rate 1e-2 " \
    "--warmup 4 --epochs 2 "

enum { GOES_ON = 1, SAME = 2 }; /* SAME: the numbers are those of the first row */

typedef struct {
    const char *options;
    int is;
} Kind;

static const Kind texts[] = {
    {"", GOES_ON},
    {"--recompute", SAME},
    {"--level char", 0},
    {"--vocabulary 8 --match none --masks step --clip 1 --scheme word:ssfsff", 0},
    {"--bpe 12", GOES_ON},
    {"--bpe 12 --bpe-dropout 0.3", GOES_ON},
    {"--bpe 12 --bpe-dropout 0.3 --context sentence", GOES_ON},
    {"--tokenizer t.json", GOES_ON},
    {"--tokenizer t.json --bpe-dropout 0.3", GOES_ON},
    {"--context sentence --positions relative", 0},
    {"--precision f64 --positions none --layers 2 --scheme ab2", 0},
    {"--scheme rk2-gate --layers 2", 0},
    {"--schedule cosine --end-rate 1e-3 --accumulate 2 --average 2", 0},
    {"--norm post --scheme macaron --layers 2 --recompute", 0},
    {"--label-smoothing 0.1", 0},
    {"--weight-decay 0.1", 0},
    {"--adaptive 3,5 --accumulate 2 --scheme rk2-gate --positions both", 0},
    {"--adaptive 3,6 --adaptive-factor 2 --untied", 0},
    {"--norm-kind rms --activation swiglu --positions rotary --kv-heads 1 --scheme heun-layer", 0},
    {"--positions rotary --kv-heads 1 --head-width 6 --head-norm --biases none --recompute", 0},
    {"--positions relative --windows 3,0 --layers 2 --biases qkv --output-bias --recompute", 0},
    {"--norm-kind rms --activation geglu --positions learned --norm post --adaptive 3,6", 0},
    {"--adaptive 4 --adaptive-factor 2 --norm post --recompute --context sentence", 0},
    {NULL, 0},
};

static const Kind masked[] = {
    {"", GOES_ON},
    {"--context sentence --accumulate 2", GOES_ON},
    {"--context sentence --norm post --untied --recompute", 0},
    {"--positions both --precision f64 --layers 2 --scheme rk4-layer", 0},
    {"--bpe 10 --label-smoothing 0.1", 0},
    {"--level char --scheme macaron", 0},
    {"--scheme macaron --activation gelu", 0},
    {"--scheme macaron --activation gelu --first-relu", 0},
    {NULL, 0},
};

static const Kind pairs[] = {
    {"", GOES_ON},
    {"--recompute", SAME},
    {"--precision bf16", 0},
    {"--average 2", GOES_ON},
    {"--bpe 12", GOES_ON},
    {"--bpe 50 --bpe-dropout 0.3", GOES_ON},
    {"--tokenizer t.json", 0},
    {"--vocabularies separate", GOES_ON},
    {"--vocabularies separate --bpe 12", GOES_ON},
    {"--vocabularies separate --bpe 12 --bpe-dropout 0.2", GOES_ON},
    {"--accumulate 3 --precision f64", 0},
    {"--encoder rk4-layer", 0},
    {"--encoder macaron --decoder macaron", 0},
    {"--encoder sandwich:3-1 --decoder word:sfsfsf", 0},
    {"--encoder word:sfsf --decoder word:scscff", 0},
    {"--decoder strang-decoder --match none", 0},
    {"--encoder rk2-gate --decoder ab2 --layers 3 --encoder-layers 2", 0},
    {"--norm post --layers 2 --recompute", 0},
    {"--positions both --untied --activation gelu --masks step", 0},
    {"--positions none --encoder ab3 --encoder-layers 4", 0},
    {"--label-smoothing 0.1 --weight-decay 0.1 --clip 1 --schedule cosine", 0},
    {"--decoder heun-decoder --encoder-layers 2", 0},
    {NULL, 0},
};

static int open_all(void **state)
{
    if (program_open(state) != 0) return -1;
    corpus_write("text", 100, 20);
    counting_write(6, 10);
    run_ok(
        "bpe --learn 40 --byte-level --text text/train.txt --text c/train.en --text c/train.de --out t.json");
    return 0;
}

/* Tells whether the numbers of two runs' states are the same: the stop adds a validation, which may choose the model. */
static int same_state(void)
{
    shell_ok("for d in run parts; do tail -c 8000 $d/state.safetensors >$d/numbers; done");
    return same_files("run/numbers", "parts/numbers");
}

static void check_goes_on(const char *corpus, const char *options)
{
    run_ok("train %s" SIZE "%s --max-steps 2 --out parts", corpus, options);
    assert_false(same_state()); /* the control */
    run_ok("train --resume --max-steps 0 --out parts");
    if (!same_state()) fail_msg("%s: stopped and resumed it is another", options);
    run_ok("train --config run/config.ini --out again");
    assert_same_file("run", "again", "model.safetensors", 1);
}

static void check_all(const Kind *k, const char *corpus, const char *of_eval, const char *files)
{
    double first = NAN;
    for (; k->options; k++) {
        shell_ok("rm -rf run parts again");
        run_ok("train %s" SIZE "%s --out run", corpus, k->options);
        char *whole = eval_csv("run %s --split test", of_eval), *text = eval_csv("run %s", files);
        double ppl = number_in(whole, 1, "ppl"), off = strstr(k->options, "bf16") ? 1e-3 : 1e-5;
        if (strcmp(whole, text) != 0 || !(fabs(ppl / result_of("run", "test_ppl") - 1) <= off))
            fail_msg("%s: %s, and of the file %s", k->options, whole, text);
        if (isnan(first))
            first = ppl;
        else if ((ppl == first) != (k->is == SAME))
            fail_msg("%s: %.9g, and without it %.9g", k->options, ppl, first);
        if (k->is == GOES_ON) check_goes_on(corpus, k->options);
    }
}

TEST(language_models)
{
    check_all(texts, "--corpus text", "--corpus text", "--text text/test.txt");
}

TEST(encoders_alone)
{
    check_all(masked, "--objective masked --corpus text", "--corpus text", "--text text/test.txt");
}

TEST(encoders_with_decoders)
{
    check_all(pairs, "--corpus c --source en --target de", "--corpus c",
              "--text c/test.de --source-text c/test.en");
}

/* ---- masked language models ---------------------------------------------------------------------- */

#define TRAIN "train --objective masked --corpus text" SIZE
#define SHORT " --max-steps 6"

/* A record of masked words says so, and is put into one table or plot with no other. Records without the mark, as older ones
 * are, count as those of next words. */
TEST(masked_words_are_marked)
{
    static const char both[] = "table bert/result.csv next/result.csv --design scheme --measure "
                               "valid_ppl";
    run_ok(TRAIN SHORT " --out bert");
    run_ok("train --corpus text" SIZE SHORT " --seed 2 --out next");
    assert_string_equal(cell_of(file_slurp("bert/result.csv", NULL), 1, "objective"), "masked");
    assert_string_equal(cell_of(file_slurp("bert/log.csv", NULL), -1, "objective"), "masked");
    assert_false(file_has("next/result.csv", "objective") || file_has("next/log.csv", "objective"));
    must_refuse(both, "bert/result.csv:2 'masked': perplexities of masked words compare with no");
    must_refuse("plot next/log.csv bert/log.csv", "bert/log.csv is of masked words and next/");
    run_ok("%s --by objective --csv", both);
    assert_string_equal(out_cell(1, "objective"), "masked");
    run_ok("plot bert/log.csv bert/log.csv");
    run_ok("compare --objective masked --corpus text" SIZE SHORT
           " --seeds 1 --scheme euler --truncation 0 --system linear --out marks");
    assert_string_equal(cell_of(file_slurp("marks/runs.csv", NULL), 1, "objective"), "masked");
    run_ok("report bert --out bert.html");
    shell_ok("grep -q 'Pseudo-perplexity [0-9.]* on validation' bert.html");
}

/* The set of masks is the same for another cut, another context and another model. */
TEST(masks_of_evaluation)
{
    must_tell(TRAIN SHORT " --out first", "pseudo-perplexity");
    run_ok(TRAIN SHORT " --seed 2 --out other");
    char *plain = eval_csv("first --corpus text"), *other = eval_csv("other --corpus text"),
         *cut = eval_csv("first --corpus text --sequence 7 --context sentence"),
         *each = eval_csv("first --corpus text --one-by-one");
    double n = shell_number("wc -w <text/valid.txt"), tokens = number_in(plain, 1, "tokens");
    assert_true(tokens > 0.05 * n && tokens < 0.3 * n && number_in(each, 1, "tokens") == n);
    assert_true(number_in(cut, 1, "tokens") == tokens && number_in(other, 1, "tokens") == tokens);
    assert_true(number_in(other, 1, "nll") != number_in(plain, 1, "nll"));
    assert_true(fabs(number_in(plain, 1, "ppl") / result_of("first", "valid_ppl") - 1) <= 1e-6);
}

/* A masked model learns: where every word stands twice, its neighbours give it away. */
TEST(neighbours_tell)
{
    shell_ok(
        "mkdir -p twice && for f in train valid test; do awk -v f=$f 'BEGIN { srand(f == \"train\"); for "
        "(i = 0; i < (f == \"train\" ? 600 : 60); i++) { line = \"\"; for (k = 0; k < 5; k++) { w = "
        "int(20 * rand()); line = line \" w\" w \" w\" w } print line } }' >twice/$f.txt; done");
    run_ok(
        "train --objective masked --corpus twice --width 32 --inner 64 --heads 4 --sequence 24 --layers 1 "
        "--batch-tokens 512 --threads 1 --rate 1e-2 --warmup 20 --epochs 30 --dropout 0 --positions both --out learnt");
    double ppl = result_of("learnt", "valid_ppl");
    /* 20 words are equally probable, and only its twin tells a word: otherwise the perplexity is 20 */
    if (!(ppl < 6)) fail_msg("pseudo-perplexity %g", ppl);
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
