/* test_best.c: which epoch of a training on pairs is kept: the best by BLEU of validation, with patience, or the mean
 * of the last ones. Such trainings stop and resume. */
#include "tests/lib/test.h"

#include "tests/lib/counting.h"
#include "tests/lib/program.h"

#define TINY                                                                                     \
    " --width 16 --inner 32 --heads 2 --sequence 24 --batch-tokens 256 --threads 1 --rate 3e-2 " \
    "--warmup 10 --dropout 0 "
#define TRAIN "train --corpus c --source en --target de" TINY

static int open_all(void **state)
{
    if (program_open(state) != 0) return -1;
    counting_write(5, 6);
    return 0;
}

/* Ends of epochs, as a log records them. */
typedef struct {
    long epochs;
    double ppl[64], score[64]; /* by epoch, from 1 */
} Log;

static Log log_of(const char *dir)
{
    Log l = {0};
    char *text = file_slurp(formed("%s/log.csv", dir), NULL);
    const char *row = strchr(text, '\n') + 1;
    assert_ptr_equal(strstr(text, "step,epoch,tokens,train_loss,valid_ppl,rate,grad_norm,"
                                  "tokens_per_s,valid_exact,valid_score\n"),
                     text);
    for (; *row; row = strchr(row, '\n') + 1) {
        long epoch;
        double ppl, exact, score;
        int n =
            sscanf(row, "%*d,%ld,%*d,%*f,%lf,%*f,%*f,%*f,%lf,%lf", &epoch, &ppl, &exact, &score);
        if (n != 4) continue; /* in the middle of an epoch */
        assert_true(epoch == l.epochs + 1 && epoch < 64);
        l.epochs = epoch;
        l.ppl[epoch] = ppl;
        l.score[epoch] = score;
    }
    return l;
}

/* Returns the first epoch that has the best score. */
static long best_of(const Log *l)
{
    long best = 1;
    for (long e = 2; e <= l->epochs; e++)
        if (l->score[e] > l->score[best]) best = e;
    return best;
}

/* Returns the BLEU of a model's greedy translations of validation. */
static double bleu_of(const char *dir)
{
    run_ok("translate --threads 1 --beam 1 --model %s --text c/val.en --out valid", dir);
    run_ok("bleu --tokenize none --metrics bleu --csv --reference c/val.de --hypothesis valid");
    return out_number(1, "score");
}

TEST(the_best_by_bleu_is_kept)
{
    run_ok(TRAIN "--epochs 10 --best bleu --out bleu");
    Log l = log_of("bleu");
    assert_int_equal(l.epochs, 10);
    long epoch = (long)result_of("bleu", "best_epoch");
    double ppl = result_of("bleu", "valid_ppl");
    assert_int_equal(epoch, best_of(&l));
    assert_true(fabs(ppl - l.ppl[epoch]) <= 1e-8 * ppl);
    assert_true(l.score[epoch] > l.score[1] && l.score[epoch] <= 100);
    assert_true(fabs(bleu_of("bleu") - l.score[epoch]) <= 1e-8 * l.score[epoch]);
    /* The same training, kept by perplexity, records no score anywhere. */
    must_tell(TRAIN "--epochs 10 --best perplexity --out ppl", "~BLEU");
    assert_false(file_has("ppl/log.csv", "valid_score"));
    long other = 1;
    for (long e = 2; e <= 10; e++)
        if (l.ppl[e] < l.ppl[other]) other = e;
    assert_true(result_of("ppl", "best_epoch") == (double)other);
    assert_true(fabs(result_of("ppl", "valid_ppl") / l.ppl[other] - 1) <= 1e-8);
    print_message("# best by BLEU: epoch %ld, by perplexity: epoch %ld\n", best_of(&l), other);
    run_ok("report bleu --out page.html");
}

/* A training that stops behind its best epoch keeps this epoch (other kinds: test_kinds.c). Roundings of compilers and processors
 * decide which it is, so longer trainings are tried until it is not among the last ones. */
TEST(stopped_and_resumed)
{
    int epochs = 25;
    double best;
    do {
        epochs += 5;
        shell_ok("rm -rf straight");
        run_ok(TRAIN "--epochs %d --best bleu --out straight", epochs);
        best = result_of("straight", "best_epoch");
    } while (best > epochs - 3 && epochs < 60);
    assert_true(best <= epochs - 3);
    int rows = count_lines(file_slurp("straight/log.csv", NULL)) - 1;
    int status = interrupt_at("stopped/log.csv", 2 + (int)(rows * best / epochs),
                              TRAIN "--epochs %d --best bleu --out stopped", epochs);
    assert_int_equal(status, 130);
    must_refuse("train --resume --decoder heun --out stopped",
                "stopped/scheme.txt has another, scheme transformer-decoder");
    run_ok("train --resume --out stopped");
    assert_same_file("straight", "stopped", "model.safetensors", 1);
}

/* The mean of the last epochs is a model of both sides like any other. It is reported as the mean and has other
 * numbers. */
TEST(averages)
{
    run_ok(TRAIN "--epochs 6 --average 3 --out mean");
    assert_non_null(strstr(last_line(err), "mean of the ends of epochs 4 to 6"));
    assert_true(result_of("mean", "best_epoch") == 6);
    assert_true(bleu_of("mean") > 0);
    run_ok(TRAIN "--epochs 6 --out plain");
    assert_false(same_files("mean/model.safetensors", "plain/model.safetensors"));
    for (int e = 4; e <= 6; e++) {
        char name[64];
        snprintf(name, sizeof name, "mean/epoch-%d.safetensors", e);
        assert_true(file_exists(name));
    }
    assert_false(file_exists("mean/epoch-3.safetensors"));
    run_ok(TRAIN "--epochs 6 --average 3 --best bleu --out both");
    assert_int_equal(log_of("both").epochs, 6);
    shell_ok("for d in mean both; do tail -c 20000 $d/model.safetensors >$d/numbers; done");
    assert_true(same_files("mean/numbers", "both/numbers"));
    run_ok("average --model mean/epoch-4.safetensors --model mean/epoch-5.safetensors --model "
           "mean/epoch-6.safetensors --out made");
    assert_true(same_files("mean/model.safetensors", "made/model.safetensors"));
    run_ok("average --model mean --model made --out made");
    assert_true(same_files("mean/model.safetensors", "made/model.safetensors"));
    must_refuse("average --model mean --out made", "twice or more");
    run_ok(TRAIN "--epochs 1 --decoder macaron --out layers");
    must_refuse("average --model mean --model layers --out made",
                "layers has other layers than mean");
    run_ok(TRAIN "--epochs 6 --average 2 --keep 3 --out kept");
    for (int e = 1; e <= 6; e++) {
        char name[64];
        snprintf(name, sizeof name, "kept/epoch-%d.safetensors", e);
        assert_int_equal(file_exists(name), e == 3 || e >= 5);
    }
    must_refuse(TRAIN "--epochs 2 --average 3 --out refused", "--average 3: there are the ends of");
}

TEST(what_is_refused)
{
    corpus_write("text", 60, 6);
    must_refuse("train --corpus text --best bleu --out x" TINY,
                "--best bleu: corpus text has no pairs to translate");
    must_refuse("train --corpus markov:8 --best bleu --out x" TINY, "has no pairs to translate");
    must_refuse(TRAIN "--best rouge --out x", "--best: expected one of perplexity|bleu");
    must_refuse(TRAIN "--patience 0 --out x", "--patience: expected a whole number from 1");
    assert_false(file_exists("x"));
}

TEST_MAIN(open_all, program_close)
