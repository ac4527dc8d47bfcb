/* test_train.c: a run learns, reports its results, and goes on after any stop as if it had not stopped. */
#include "tests/lib/test.h"

#include <inttypes.h>

#include "tests/lib/backends.h"
#include "tests/lib/toy.h"

static void ran(Trial *a, const char *out, int context)
{
    trial_init(a, out, context);
    if (run(a) != 0) fail_msg("%s", error_text());
}

/* ---- learning ------------------------------------------------------------------------------------ */

TEST(the_toy_is_learned)
{
    for (int context = CONTEXT_STREAM; context <= CONTEXT_SENTENCE; context++)
        for (size_t i = 0; tested_backend(i); i++) {
            Trial a;
            trial_init(&a, NULL, context);
            a.t.epochs = 20;
            assert_int_equal(run_on(&a, tested_backend(i)), 0);
            double unigram;
            assert_int_equal(corpus_unigram(&corpus, SPLIT_VALID, &unigram), 0);
            assert_true(unigram > 9);
            assert_true(a.last_loss < log(unigram));
            assert_true(a.result.valid_ppl < 2 && a.result.test_ppl < 2);
            assert_true(a.result.best_epoch >= 1 && a.result.best_epoch <= 20);
            assert_true(a.result.tokens_per_s > 0 && a.result.peak_bytes > 0);
            assert_int_equal(a.epochs, 20);
            assert_true(a.result.steps >= 20 * 300 / 40);
        }
}

/* train_eval agrees with the nll of each row, and with each text's tokens. */
TEST(evaluation_predicts_every_token)
{
    OWN_MODEL *m = new_model("cpu-f64");
    const Text *text = &corpus.text[SPLIT_VALID];
    for (int context = CONTEXT_STREAM; context <= CONTEXT_SENTENCE; context++) {
        double sum = 0, nll[40];
        Evaluation e = evaluated(m, SPLIT_VALID, context);
        OWN_BATCHES *b;
        Batch x;
        assert_int_equal(e.tokens, text->tokens);
        assert_true(e.pairs == 0 && e.exact == 0 && isnan(evaluation_exact(&e)));
        assert_int_equal(batches_new(text, NULL, &corpus.vocab, NULL, context, 40, 10, 0, &b), 0);
        batches_epoch(b, -1);
        for (size_t i = 0; i < batches_count(b); i++) {
            assert_int_equal(batches_get(b, i, &x), 0);
            assert_int_equal(model_forward(m, &x, 0, 0, nll, NULL), 0);
            for (size_t j = 0; j < x.N; j++) sum += nll[j];
        }
        assert_true(fabs(sum / (double)e.tokens - e.mean) <= 1e-14 * e.mean);
    }
}

/* Weights that become one number after the second epoch predict all words alike. The second epoch stays the best, and
 * its model is left, in memory and in the directory. */
TEST(the_best_epoch_is_kept)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (int in_files = 0; in_files < 2; in_files++) {
            Trial a;
            char name[32];
            snprintf(name, sizeof name, "best%zu", i);
            trial_init(&a, in_files ? name : NULL, CONTEXT_STREAM);
            a.level_epoch = 2;
            assert_int_equal(run_keep_model(&a, tested_backend(i)), 0);
            assert_int_equal(a.epochs, EPOCHS);
            assert_true(a.epoch_ppl < 0.9 * (double)corpus.vocab.size);
            assert_int_equal(a.result.best_epoch, 2);
            assert_true(a.result.valid_ppl == a.epoch_ppl);
            double mean = evaluated(a.m, SPLIT_VALID, CONTEXT_STREAM).mean;
            assert_true(fabs(exp(mean) / a.epoch_ppl - 1) <= 1e-5); /* f32, other sums */
            model_free(a.m);
        }
}

TEST(the_log_has_its_columns)
{
    Trial a;
    char file[PATH];
    ran(&a, "log", CONTEXT_STREAM);
    size_t bytes, tokens;
    char *text = file_slurp("log/log.csv", &bytes), *line = text;
    const char *head = "step,epoch,tokens,train_loss,valid_ppl,rate,grad_norm,tokens_per_s\n";
    assert_memory_equal(text, head, strlen(head));
    uint64_t step, last = 0;
    long epoch;
    int rows = 0, checked = 0, n;
    double loss, rate, norm, speed, best = INFINITY;
    for (line += strlen(head); *line; line = strchr(line, '\n') + 1, rows++) {
        assert_int_equal(
            sscanf(line, "%" SCNu64 ",%ld,%zu,%lf,%n", &step, &epoch, &tokens, &loss, &n), 4);
        const char *end = strchr(line + n, ',');
        assert_int_equal(sscanf(end, ",%lf,%lf,%lf", &rate, &norm, &speed), 3);
        assert_true(step > last && epoch >= 1 && epoch <= EPOCHS && speed > 0 && norm > 0);
        last = step;
        if (end == line + n) continue;
        checked++;
        best = fmin(best, strtod(line + n, NULL));
    }
    assert_int_equal(checked, EPOCHS);
    assert_int_equal(last, a.result.steps);
    assert_int_equal(rows, a.result.steps); /* fewer than 20 steps an epoch: a row each */
    assert_true(fabs(best / a.result.valid_ppl - 1) <= 1e-8); /* nine digits */
    OWN_VOCAB v;
    assert_int_equal(vocab_read(path(file, "log", "vocab.txt"), &v), 0);
    assert_int_equal(v.size, corpus.vocab.size);
    OWN_BYTES *scheme;
    assert_int_equal(store_meta(path(file, "log", "model.safetensors"), "scheme", &scheme), 0);
    assert_string_equal(scheme, "toy");
}

/* ---- stopping and going on ----------------------------------------------------------------------- */

static void plain_init(Trial *a, const char *out)
{
    trial_init(a, out, CONTEXT_STREAM);
}

static void within_init(Trial *a, const char *out)
{
    trial_init(a, out, CONTEXT_STREAM);
    a->t.eval_every = 3;
}

/* A run may stop after every step, also at an epoch's last one and where it validates within epochs, before and after
 * the validation, and be resumed. It ends like one without a stop. */
TEST(stopped_and_resumed_is_uninterrupted)
{
    Trial whole;
    within_init(&whole, "within");
    assert_int_equal(run(&whole), 0);
    assert_int_equal(whole.result.steps, 24);
    for (uint64_t step = 1; step <= 24; step++)
        assert_resumes(within_init, "within", &whole, step, "cpu-f32");
    for (size_t i = 0; tested_backend(i); i++) {
        char full[32];
        snprintf(full, sizeof full, "full%zu", i);
        plain_init(&whole, full);
        assert_int_equal(run_on(&whole, tested_backend(i)), 0);
        for (uint64_t step = 1; step <= 24; step += step == 1 ? 6 : step == 8 ? 16 : 1)
            assert_resumes(plain_init, full, &whole, step, tested_backend(i)); /* 1, 7, 8, 24 */
    }
}

TEST(a_finished_run_only_evaluates)
{
    Trial a, b;
    ran(&a, "done", CONTEXT_STREAM);
    trial_init(&b, "done", CONTEXT_STREAM);
    b.t.resume = 1;
    assert_int_equal(run(&b), 0);
    assert_int_equal(b.reports, 0);
    assert_true(a.result.test_ppl == b.result.test_ppl);
    assert_true(a.result.tokens_per_s == b.result.tokens_per_s);
    b.t.epochs++; /* more epochs go on from there */
    assert_int_equal(run(&b), 0);
    assert_int_equal(b.epochs, 1);
}

TEST(a_step_limit_ends_the_run)
{
    Trial a, b;
    trial_init(&a, "limit", CONTEXT_STREAM);
    a.t.max_steps = 11;
    assert_int_equal(run(&a), 0);
    assert_int_equal(a.result.steps, 11);
    uint64_t steps;
    assert_int_equal(train_length(&corpus, &a.t, &steps), 0);
    assert_int_equal(steps, 11);
    a.t.max_steps = 0;
    assert_int_equal(train_length(&corpus, &a.t, &steps), 0);
    assert_int_equal(steps, EPOCHS * 8); /* 8 batches */
    a.t.max_steps = 11;
    assert_int_equal(a.epochs, 2);
    trial_init(&b, "limit", CONTEXT_STREAM);
    b.t.resume = 1;
    b.t.max_steps = 11;
    assert_int_equal(run(&b), 0);
    assert_int_equal(b.reports, 0);
    assert_true(a.result.test_ppl == b.result.test_ppl);
}

/* ---- schedules that end, steps of several batches, the mean of the last epochs ------------------- */

/* Sets up a run with all of them: 300 tokens, three batches of 40 a step. */
static void choices_init(Trial *a, const char *out)
{
    trial_init(a, out, CONTEXT_STREAM);
    a->t.schedule = SCHEDULE_COSINE;
    a->t.end_rate = 1e-3;
    a->t.accumulate = 3;
    a->t.average = 2;
    a->t.warmup = 2;
}

static int has_epoch(const char *directory, int epoch)
{
    char name[64], file[PATH];
    snprintf(name, sizeof name, "epoch-%d.safetensors", epoch);
    return access(path(file, directory, name), F_OK) == 0;
}

TEST(choices_survive_any_stop)
{
    Trial whole;
    char name[32];
    choices_init(&whole, "choices");
    assert_int_equal(run(&whole), 0);
    assert_int_equal(whole.result.steps, EPOCHS * 3); /* 8 batches, by threes */
    assert_int_equal(whole.result.averaged, 2);
    assert_int_equal(whole.result.best_epoch, EPOCHS);
    assert_true(whole.last_rate == whole.t.end_rate);
    for (uint64_t step = 1; step <= whole.result.steps; step++) {
        assert_resumes(choices_init, "choices", &whole, step, "cpu-f32");
        snprintf(name, sizeof name, "choices-%d", (int)step);
        for (int e = 1; e <= EPOCHS; e++) assert_int_equal(has_epoch(name, e), e > EPOCHS - 2);
    }
}

/* So does one with a penalty, whose mean the state keeps between rows of the log. Validation has none, and the penalty is not
 * in the loss that is told. */
TEST(a_penalty_survives_any_stop)
{
    Trial whole;
    toy_plan = toy_penalised;
    choices_init(&whole, "penalty");
    assert_int_equal(run(&whole), 0);
    double rows = 0, penalty;
    char *text = file_slurp("penalty/log.csv", NULL);
    assert_non_null(strstr(text, ",tokens_per_s,penalty\n"));
    for (char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1, rows++) {
        const char *end = strchr(line, '\n');
        while (*end != ',') end--;
        assert_true(sscanf(end, ",%lf", &penalty) == 1 && penalty > 1e-3);
    }
    assert_int_equal(rows, whole.result.steps);
    for (uint64_t step = 1; step <= whole.result.steps; step++)
        assert_resumes(choices_init, "penalty", &whole, step, "cpu-f32");
    toy_plan = tiny_residual;
    choices_init(&whole, "none");
    assert_int_equal(run(&whole), 0);
    assert_false(strstr(file_slurp("none/log.csv", NULL), "penalty"));
}

/* The mean is that of the states of runs that end after each of the last epochs. */
TEST(the_model_is_the_mean_of_the_last_epochs)
{
    Trial a;
    char file[PATH];
    OWN_MODEL *m = new_model("cpu-f32"), *want = new_model("cpu-f32");
    size_t n = model_size(m);
    OWN_NUMBERS *sum = memory_new(n, sizeof *sum);
    for (int epochs = EPOCHS - 1; epochs <= EPOCHS; epochs++) {
        trial_init(&a, "shorter", CONTEXT_STREAM);
        a.t.epochs = epochs;
        assert_int_equal(run(&a), 0);
        assert_int_equal(store_load_state(m, path(file, "shorter", "state.safetensors")), 0);
        OWN_NUMBERS *x = tiny_numbers(m);
        for (size_t i = 0; i < n; i++) sum[i] += x[i] / 2;
    }
    model_backend(want)->put(model_data(want), sum, n);
    trial_init(&a, "mean", CONTEXT_STREAM);
    a.t.average = 2;
    assert_int_equal(run(&a), 0);
    assert_int_equal(store_load(m, path(file, "mean", "model.safetensors")), 0);
    assert_memory_equal(model_data(m), model_data(want), n * sizeof(float));
    assert_true(a.result.valid_ppl == exp(evaluated(want, SPLIT_VALID, CONTEXT_STREAM).mean));
    assert_true(a.result.test_ppl == exp(evaluated(m, SPLIT_TEST, CONTEXT_STREAM).mean));
    assert_int_equal(store_load_state(m, path(file, "mean", "state.safetensors")), 0); /* control */
    assert_memory_not_equal(model_data(m), model_data(want), n * sizeof(float));
}

/* Configurations that differ from t in one thing. */
/* Saves the state of directory `name` again, with other texts in place of its progress or recipe, sealed anew. */
static void rewrite(const char *name, const char *progress, const char *recipe)
{
    char file[PATH];
    SCOPED(memory_drop) char *was = NULL, *had = NULL;
    OWN_MODEL *m = new_model("cpu-f32");
    path(file, name, "state.safetensors");
    assert_int_equal(store_meta(file, "progress", &was), 0);
    assert_int_equal(store_meta(file, "recipe", &had), 0);
    assert_int_equal(store_load_state(m, file), 0);
    StoreText meta[] = {{"progress", (char *)(progress ? progress : was)},
                        {"recipe", (char *)(recipe ? recipe : had)}};
    assert_int_equal(store_save_state(m, file, meta, 2), 0);
}

/* A resumed run must have the same layers and text. What else decides it is the caller's: the state keeps it, and a state of
 * version 0.2, whose recipe has more words, is read by its hashes. */
TEST(resuming_needs_the_same_run)
{
    Trial a;
    char file[PATH], older[300];
    SCOPED(memory_drop) char *options = NULL, *recipe = NULL;
    choices_init(&a, "agree");
    a.t.epochs = 2;
    a.t.options = "rate = 1e-2\nclip = 0\n";
    assert_int_equal(run(&a), 0);
    path(file, "agree", "state.safetensors");
    assert_int_equal(train_saved_options(file, &options), 0);
    assert_string_equal(options, a.t.options);
    a.t.resume = 1;
    corpus.text[SPLIT_TRAIN].id[3] ^= 1;
    assert_int_equal(run(&a), ERR_INPUT);
    assert_non_null(strstr(error_text(), "corpus is not the text it was trained on"));
    assert_null(strstr(error_text(), ";"));
    corpus.text[SPLIT_TRAIN].id[3] ^= 1;
    assert_int_equal(store_meta(file, "recipe", &recipe), 0);
    snprintf(older, sizeof older, "context 0, batch tokens 64, %s, accumulate 3", recipe);
    rewrite("agree", NULL, older);
    assert_int_equal(run(&a), 0);
    *strstr(older, "network ") = 'N';
    rewrite("agree", NULL, older);
    assert_int_equal(run(&a), ERR_INPUT);
    assert_non_null(strstr(error_text(), "another run: its layers compute something else now"));
    trial_init(&a, "nowhere", CONTEXT_STREAM);
    a.t.resume = 1;
    assert_int_not_equal(run(&a), 0);
}

/* Numbers that no run has, some of which would never end, are refused. They are in the order of print_progress
 * (nn/run/run.c). */
TEST(hostile_progress_is_refused)
{
    static const char *const bad[] = {
        "",
        "5 5 1 5 200 5 40 0x1p+5 0x1p+0 0x1p+0 0x1p+3",
        "5 5 0 5 200 5 40 0x1p+5 0x1p+0 0x1p+0 0x1p+3 0",
        "5 5 -9223372036854775808 0 200 5 40 0x1p+5 0x1p+0 0x1p+0 0x1p+3 0",
        "5 5 9223372036854775807 0 200 5 40 0x1p+5 0x1p+0 0x1p+0 0x1p+3 0",
        "5 5 1 18446744073709551615 200 5 40 0x1p+5 0x1p+0 0x1p+0 0x1p+3 0",
        "8 8 1 8 300 5 40 0x1p+5 0x1p+0 0x1p+0 0x1p+3 0",
        "8 0 1 9 300 5 40 0x1p+5 0x1p+0 0x1p+0 0x1p+3 0",
        "5 6 1 5 200 5 40 0x1p+5 0x1p+0 0x1p+0 0x1p+3 0",
        "18446744073709551615 0 1 5 200 5 40 0x1p+5 0x1p+0 0x1p+0 0x1p+3 0",
        "5 0 1 5 200 5 40 nan 0x1p+0 0x1p+0 0x1p+3 0",
        "5 0 1 5 200 5 40 0x1p+5 0x1p+0 -0x1p+0 0x1p+3 0",
        "5 0 1 5 200 5 40 0x1p+5 0x1p+0 0x1p+0 nan 0",
        "5 0 1 5 200 5 40 0x1p+5 0x1p+0 0x1p+0 0x1p+3 2",
        "5 0 1 5 200 5 40 0x1p+5 0x1p+0 0x1p+0 0x1p+3 -1",
    };
    static const char *const good[] = {"5 0 1 5 200 5 40 0x1p+5 0x1p+0 0x1p+0 0x0p+0 0",
                                       "8 0 1 8 300 5 40 0x1p+5 0x1p+0 0x1p+0 0x0p+0 0"};
    Trial a;
    trial_init(&a, "progress", CONTEXT_STREAM);
    a.stop_at = 5;
    assert_int_equal(run(&a), ERR_INTERRUPTED);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        trial_init(&a, "progress", CONTEXT_STREAM);
        a.t.resume = 1;
        rewrite("progress", bad[i], NULL);
        assert_int_equal(run(&a), ERR_INPUT);
        assert_non_null(strstr(error_text(), "'progress' is damaged"));
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) { /* controls */
        trial_init(&a, "progress", CONTEXT_STREAM);
        a.t.resume = 1;
        rewrite("progress", good[i], NULL);
        assert_int_equal(run(&a), 0);
    }
}

/* Finds the steps of the rows with a validation perplexity, and these perplexities. Returns how many. */
static int validations_of(const char *directory, uint64_t step[32], double ppl[32])
{
    char *log = log_of(directory);
    int n = 0;
    for (const char *row = strchr(log, '\n'); row && row[1] && n < 32; row = strchr(row + 1, '\n'))
        n += sscanf(row, "\n%" SCNu64 ",%*[^,],%*[^,],%*[^,],%lf", &step[n], &ppl[n]) == 2;
    return n;
}

/* Every third step and each epoch's end (8, 16 and 24) are validated, once. The model is that of the least perplexity.
 * Epochs' ends are those of a run without validations within: they change no step. */
TEST(validations_within_epochs)
{
    static const uint64_t steps[] = {3, 6, 8, 9, 12, 15, 16, 18, 21, 24};
    uint64_t step[32];
    double ppl[32], end[32], best = INFINITY;
    Trial plain, a;
    trial_init(&plain, "plain", CONTEXT_STREAM);
    trial_init(&a, "within", CONTEXT_STREAM);
    a.t.eval_every = 3;
    assert_int_equal(run(&plain), 0);
    assert_int_equal(run(&a), 0);
    assert_int_equal(validations_of("plain", step, end), EPOCHS);
    int n = validations_of("within", step, ppl), ends = 0;
    assert_int_equal(n, sizeof steps / sizeof *steps);
    assert_int_equal(a.epochs, n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(step[i], steps[i]);
        if (step[i] % 8 == 0) assert_true(ppl[i] == end[ends++]);
        best = fmin(best, ppl[i]);
    }
    assert_true(fabs(best / a.result.valid_ppl - 1) <= 1e-8); /* nine digits */
    assert_same_state("plain", "within", "cpu-f32");
}

/* ---- failures ------------------------------------------------------------------------------------ */

TEST(not_finite_keeps_the_last_good_model)
{
    Trial good, bad;
    trial_init(&good, "good", CONTEXT_STREAM);
    good.t.epochs = 1;
    assert_int_equal(run(&good), 0);
    trial_init(&bad, "bad", CONTEXT_STREAM);
    bad.poison_epoch = 1;
    assert_int_equal(run(&bad), ERR_NUMERIC);
    char words[64];
    snprintf(words, sizeof words, "step %" PRIu64 ", epoch 2", good.result.steps + 1);
    assert_non_null(strstr(error_text(), words));
    assert_same_file("good", "bad", "model.safetensors");
}

TEST(failing_to_save_is_told)
{
    char file[PATH];
    static const char *const block[] = {"model.safetensors", "state.safetensors", "log.csv",
                                        "vocab.txt"};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) {
        Trial a;
        trial_init(&a, block[i], CONTEXT_STREAM);
        assert_int_equal(mkdir(path(file, block[i], block[i]), 0777), 0);
        assert_int_equal(run(&a), ERR_SYSTEM);
    }
    Trial a;
    trial_init(&a, "corpus/train.txt/below", CONTEXT_STREAM);
    assert_int_equal(run(&a), ERR_SYSTEM);
}

#define CHANGED(...)         \
    __extension__({          \
        TrainConfig c = t;   \
        (void)(__VA_ARGS__); \
        c;                   \
    })

TEST(bad_configurations_are_refused)
{
    Trial a;
    trial_init(&a, NULL, CONTEXT_STREAM);
    const TrainConfig t = a.t;
    const struct {
        TrainConfig t;
        int code;
    } row[] = {{CHANGED(c.epochs = 0), ERR_INPUT},
               {CHANGED(c.rate = NAN), ERR_INPUT},
               {CHANGED(c.batch_tokens = 41), ERR_MISUSE},
               {CHANGED(c.resume = 1), ERR_INPUT}, /* these two need a directory */
               {CHANGED(c.average = 2), ERR_INPUT},
               {CHANGED(c.end_rate = 1e-3), ERR_INPUT}, /* inverse-sqrt has no end */
               {CHANGED(c.schedule = SCHEDULE_LINEAR, c.end_rate = 2 * c.rate), ERR_INPUT},
               {CHANGED(c.schedule = SCHEDULES), ERR_MISUSE}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        a.t = row[i].t;
        assert_int_equal(run(&a), row[i].code);
    }
}

TEST(every_allocation_may_fail)
{
    Trial a;
    OWN_MODEL *m = new_model("cpu-f32");
    trial_init(&a, "memory", CONTEXT_SENTENCE);
    a.t.epochs = 1;
    a.t.out = a.out;
    a.t.arg = &a;
    a.m = m;
    assert_true(FAILURES(ERR_MEMORY, code = train_run(m, &corpus, &a.t, &a.result)) > 10);
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(set_up, tear_down)
