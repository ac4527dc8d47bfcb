/* test_masked.c: masked language models as a user has them: trained, resumed to the same bits, by threads, evaluated
 * with one set of masks and one by one, compared, and their truncation error; what stays when an answer changes; and
 * refusals. */
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

typedef struct {
    double tokens, nll, ppl;
} Row;

static Row read_row(const char *csv, const char *head)
{
    Row r;
    if (strncmp(csv, head, strlen(head)) != 0 ||
        sscanf(csv + strlen(head), "%lf,%lf,%lf", &r.tokens, &r.nll, &r.ppl) != 3)
        fail_msg("not a row behind %s: %s", head, csv);
    assert_true(fabs(r.ppl - exp(r.nll)) <= 1e-6 * r.ppl);
    return r;
}

/* Returns the number of words in a file. */
static double words_of(const char *file)
{
    shell_ok("wc -w <%s >number", file);
    char *text = file_slurp("number", NULL);
    double n = strtod(text, NULL);
    free(text);
    return n;
}

TEST(trained_and_evaluated)
{
    run_ok(TRAIN SHORT " --out run");
    assert_non_null(strstr(err, "pseudo-perplexity"));
    char *text = eval_csv("run --text text/valid.txt"), *corpus = eval_csv("run --corpus text");
    assert_string_equal(text, corpus);
    Row r = read_row(text, "tokens,nll,ppl\n");
    assert_true(fabs(r.ppl - result_of("run", "valid_ppl")) <= 1e-6 * r.ppl);
    double n = words_of("text/valid.txt");
    assert_true(r.tokens > 0.05 * n && r.tokens < 0.3 * n);
    free(text);
    free(corpus);
    /* the set of masks is the same for another cut, another context and another model */
    text = eval_csv("run --corpus text --sequence 7 --context sentence");
    assert_true(read_row(text, "tokens,nll,ppl\n").tokens == r.tokens);
    free(text);
    run_ok(TRAIN SHORT " --seed 2 --out other");
    text = eval_csv("other --corpus text");
    Row o = read_row(text, "tokens,nll,ppl\n");
    assert_true(o.tokens == r.tokens && o.nll != r.nll);
    free(text);
    text = eval_csv("run --corpus text --one-by-one");
    assert_true(read_row(text, "tokens,nll,ppl\n").tokens == n);
    free(text);
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

/* Checks that a run that is stopped at a step and resumed is the run that was not stopped. It compares the numbers of
 * their states: the stop adds a validation, which may hold the best model. */
static void check_resume(const char *more)
{
#define NUMBERS "for d in whole parts; do tail -c 30000 $d/state.safetensors >$d/numbers; done"
    shell_ok("rm -rf whole parts");
    run_ok(TRAIN "%s --epochs 2 --out whole", more);
    run_ok(TRAIN "%s --epochs 2 --max-steps 3 --out parts", more);
    run_ok("train --resume --max-steps 0 --out parts");
    shell_ok(NUMBERS);
    assert_true(same_files("whole/numbers", "parts/numbers"));
    run_ok("train --resume --epochs 3 --out parts"); /* control: an epoch more */
    shell_ok(NUMBERS);
    assert_false(same_files("whole/numbers", "parts/numbers"));
    expect(2, "train --resume --objective next --out parts");
}

TEST(goes_on_to_the_same_bits)
{
    check_resume("");
    check_resume(" --context sentence --accumulate 2");
}

TEST(every_context_and_norm)
{
    run_ok(TRAIN SHORT " --context sentence --norm post --untied --recompute --out a");
    run_ok(TRAIN SHORT " --positions both --precision f64 --layers 2 --scheme rk4-layer --out b");
    run_ok(TRAIN SHORT " --bpe 10 --label-smoothing 0.1 --out c");
    run_ok(TRAIN SHORT " --level char --scheme macaron --out d");
    run_ok(TRAIN SHORT " --scheme macaron --activation gelu --out gelu");
    run_ok(TRAIN SHORT " --scheme macaron --activation gelu --first-relu --out first");
    char *first = eval_csv("first --corpus text");
    Row r = read_row(first, "tokens,nll,ppl\n");
    assert_true(fabs(r.ppl - result_of("first", "valid_ppl")) <= 1e-6 * r.ppl);
    assert_true(r.ppl != result_of("gelu", "valid_ppl"));
    free(first);
    char *text = eval_csv("c --corpus text");
    read_row(text, "tokens,nll,ppl\n");
    free(text);
}

#define STUDY                                                                                    \
    "compare --objective masked --corpus twice" SIZE " --positions both --epochs 8 --dropout 0 " \
    "--activation gelu --scheme transformer,rk2-gate --truncation 2 --system linear "

TEST(compared)
{
    run_ok(STUDY "--seeds 2 --out study");
    assert_non_null(strstr(out, "pseudo-perplexity"));
    shell_ok("grep -c . study/compare.csv | grep -q '^4$'");
    double told = file_number("study/compare.csv", 1, "valid_ppl"), mean = 0;
    for (int k = 1; k <= 2; k++) {
        char name[64];
        snprintf(name, sizeof name, "study/runs/transformer-seed%d/result.csv", k);
        mean += file_number(name, 1, "valid_ppl") / 2;
    }
    assert_true(fabs(told - mean) <= 1e-9 * mean && told > 1);
    assert_true(file_number("study/compare.csv", 1, "truncation") > 0);
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
