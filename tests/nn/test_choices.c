/* test_choices.c: other ways to train on a toy corpus: schedules that end, steps of several batches, the
 * mean of the last epochs. They survive any stop, and a resumed run must agree in them. */
#include "tests/lib/test.h"

#include "tests/lib/toy.h"

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

/* A resumed run must agree in each choice, and in the length only where rates depend on it. */
TEST(resuming_needs_the_same_choices)
{
    static const char *const words[] = {": schedule cosine to ", ": schedule cosine to ",
                                        "accumulate 3, now 4", "average 2, now 3",
                                        ": schedule cosine to "};
    for (int i = 0; i < 5; i++) {
        Trial a;
        choices_init(&a, "agree");
        a.t.epochs = 2;
        if (i == 0) assert_int_equal(run(&a), 0);
        a.t.resume = 1;
        if (i == 0) a.t.schedule = SCHEDULE_LINEAR;
        if (i == 1) a.t.end_rate /= 2;
        if (i == 2) a.t.accumulate++;
        if (i == 3) a.t.average++;
        if (i == 4) a.t.epochs++;
        assert_int_equal(run(&a), ERR_INPUT);
        if (!strstr(error_text(), words[i])) fail_msg("%s", error_text());
    }
}

TEST(bad_choices_are_refused)
{
    Trial a;
    trial_init(&a, NULL, CONTEXT_STREAM);
    a.t.average = 2;
    assert_int_equal(run(&a), ERR_INPUT);
    trial_init(&a, NULL, CONTEXT_STREAM);
    a.t.end_rate = 1e-3; /* inverse-sqrt has no end */
    assert_int_equal(run(&a), ERR_INPUT);
    trial_init(&a, NULL, CONTEXT_STREAM);
    a.t.schedule = SCHEDULE_LINEAR;
    a.t.end_rate = 2 * a.t.rate;
    assert_int_equal(run(&a), ERR_INPUT);
    a.t.schedule = SCHEDULES;
    assert_int_equal(run(&a), ERR_MISUSE);
}

int main(void)
{
    backend_threads(1);
    return test_run(set_up, tear_down);
}
