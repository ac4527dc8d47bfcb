/* test_ranks.c: `mpirun -n N trotter train` has the loss curve of one process, and is stopped, killed and refused as
 * one process is. Two trainings in one directory are tested too. */
#include "tests/lib/test.h"

#include "tests/lib/drawn_options.h"
#include "tests/lib/mpirun.h"

static int begin(void **state)
{
    return program_open(state) || ranks_begin();
}

/* Curves are printed to 9 digits. In f64 the sums of a step differ by some 1e-14, and steps of Adam, which divides by
 * the gradient's size, carry that on: 1e-8 leaves a factor 1e6 in 60 steps. In f32 this generous factor would leave
 * nothing: 2e-6 to 2e-5 are measured and 5e-4 allowed, a twentieth of the effect of another mask (below). */
static const struct {
    const char *arguments;
    double tolerance;
    int ranks[4];
} curves[] = {
    {"train --scheme transformer --precision f64 --epochs 2 --dropout 0.2 --eval-every 3" TINY,
     1e-8,
     {3, 0}},
    {"train --scheme heun --precision f32 --context sentence --epochs 2 --dropout 0.2" TINY,
     5e-4,
     {4, 0}},
    {"train --scheme macaron --precision f64 --context sentence --accumulate 2 --clip 0.3 "
     "--average 2 --epochs 3 --dropout 0.2 --positions both --untied" TINY,
     1e-8,
     {3, 0}},
    {"train --scheme ab2 --layers 3 --precision f32 --activation gelu --recompute --masks step "
     "--epochs 2 --dropout 0.2" TINY,
     5e-4,
     {2, 0}},
    {"train --objective masked --scheme transformer --precision f64 --epochs 2 "
     "--dropout 0.2" TINY,
     1e-8,
     {3, 0}},
    {"train --scheme macaron --step-penalty error=5 --masks step --precision f64 --accumulate 2 --epochs 2 "
     "--dropout 0.2" TINY,
     1e-8,
     {2, 3, 0}},
    {"train --bpe 12 --bpe-dropout 0.3 --precision f64 --epochs 2" TINY, 1e-8, {2, 0}},
};

TEST(ranks_have_the_curve_of_one_process)
{
    need_ranks();
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) {
        one_process(curves[i].arguments);
        for (const int *n = curves[i].ranks; *n; n++) {
            double e = apart_from_one(*n, curves[i].arguments);
            if (!(e <= curves[i].tolerance))
                fail_msg("%d ranks, %s: off by %g", *n, curves[i].arguments, e);
        }
    }
}

/* The check sees slightly different masks: of the elements kept at 0.2, 0.21 drops one in 80. */
TEST(another_mask_has_another_curve)
{
    one_process("train --precision f32 --epochs 2 --dropout 0.2" TINY);
    double e = apart_from_one(1, "train --precision f32 --epochs 2 --dropout 0.21" TINY);
    if (!(e > 1e-2 && e < 1e8)) fail_msg("off by %g", e);
    e = apart_from_one(1, "train --precision f32 --epochs 2 --dropout 0.2" TINY);
    assert_true(e == 0);
}

/* So do lines of random options, in f64. Where dropped merges cut a text anew, or a word is masked, ranks draw what one
 * process draws. */
TEST(drawn_options_have_the_curve_of_one_process)
{
    size_t n = draws(2), refused = 0;
    double worst = 0;
    need_ranks();
    for (size_t ran = 0; ran < n;) {
        char options[1024] = "train --precision f64" TINY_SHAPE;
        int ranks = 2 + (int)draw(3);
        draw_options(drawn_options, options, sizeof options);
        const char *line = formed("%s --out one", options);
        int status = run_ranks(1, line);
        refused += status == 2;
        if (status == 2 && refused < 3 * n) continue;
        if (!trained(status)) fail_msg("%s: status %d: %s", line, status, err);
        read_log("one", &one);
        double e = apart_from_one(ranks, options);
        if (!(e <= 1e-8)) fail_msg("%d ranks, %s: off by %g", ranks, options, e);
        worst = fmax(worst, e);
        ran++;
    }
    print_message("# %zu lines, %zu refused, at most %.0e apart\n", n, refused, worst);
}

/* 141 pairs in batches of 20 leave one pair for a batch of an epoch: all ranks but one have none of it. The validation text
 * is one batch. Targets have 12 words, sources 3 to 12. */
#define PAIRS                                                            \
    "train --encoder heun --width 8 --inner 16 --heads 2 --sequence 13 " \
    "--batch-tokens 260 --rate 1e-2 --warmup 5 --dropout 0.2 --threads 1 --seed 3 --untested "

#define ACCUMULATED \
    PAIRS "--precision f64 --accumulate 3 --recompute --positions both --max-steps 4 --epochs 2"

static const char *const pairs[] = {
    PAIRS "--precision f64 --max-steps 9 --epochs 2",
    ACCUMULATED,
};

static void write_pairs(void)
{
    static const char *const split[] = {"train", "val", "test"};
    mkdir(file_path("c"), 0777);
    for (int s = 0; s < 3; s++)
        for (int side = 0; side < 2; side++)
            file_text(formed("c/%s.%c", split[s], 'a' + side), WRITTEN(f, {
                          for (int i = 0; i < (s ? 20 : 141); i++)
                              for (int n = side ? 12 : 3 + 7 * i % 10, k = 0; k < n; k++)
                                  fprintf(f, "%c%c", 'a' + (i * (k + 3) + k * k + s) % 6,
                                          k + 1 < n ? ' ' : '\n');
                      }));
}

/* A pair's source goes with its target, so a rank may have most of a batch's source rows. */
TEST(pairs_have_the_curve_of_one_process)
{
    need_ranks();
    write_pairs();
    snprintf(corpus, sizeof corpus, " --corpus c --source a --target b");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        one_process(pairs[i]);
        double e = apart_from_one(4, pairs[i]);
        if (!(e <= 1e-8)) fail_msg("4 ranks, %s: off by %g", pairs[i], e);
        shell_ok("for i in one many; do cut -d, -f9 $i/log.csv > $i/exact; done");
        assert_true(same_files("one/exact", "many/exact"));
    }
    double e = apart_from_one(1, ACCUMULATED " --layers 2");
    assert_true(e > 1e-3 && e < 1e8); /* the control */
    must_run(2, PAIRS "--max-steps 3 --epochs 1 --out whole");
    must_run(2, PAIRS "--max-steps 2 --epochs 1 --out parts");
    assert_false(same_files("whole/model.safetensors", "parts/model.safetensors"));
    must_run(2, "train --resume --max-steps 3 --out parts");
    shell_ok("for i in whole parts; do tail -c 20000 $i/model.safetensors > $i/numbers; done");
    assert_true(same_files("whole/numbers", "parts/numbers"));
    snprintf(corpus, sizeof corpus, " --corpus text");
}

#define UNTIL(epochs) "train --epochs " epochs " --precision f32 --dropout 0.2" TINY
#define LONG UNTIL("25")

static void continues_as_if_it_had_not_stopped(void)
{
    must_run(2, LONG " --resume --out run");
    assert_true(same_files("run/model.safetensors", "whole/model.safetensors"));
}

TEST(signals_and_kills)
{
    need_ranks();
    must_run(2, LONG " --out whole");
    for (int k = 0; k < 2; k++) {
        int status = finish(start_and_signal(LONG, k, k ? SIGTERM : SIGINT));
        if (status != 130 || errors() != 1 || !strstr(err, "interrupted after step"))
            fail_msg("rank %d stopped: status %d, %s", k, status, err);
        continues_as_if_it_had_not_stopped();
    }
    assert_int_not_equal(finish(start_and_signal(LONG, 1, SIGKILL)), 0);
    continues_as_if_it_had_not_stopped();
    unlink(file_path("run/state.safetensors")); /* killed before the first save: it begins */
    unlink(file_path("run/result.csv"));
    continues_as_if_it_had_not_stopped();
}

TEST(what_ranks_cannot_do_is_told_once)
{
    need_ranks();
    ranks_must_refuse(4, "train --batch-tokens 48 --sequence 16 --out no",
                      "fewer than the 4 ranks");
    ranks_must_refuse(2, "train --width 15 --heads 2 --out no", "width 15");
    ranks_must_refuse(2, "train --best bleu --out no", "of one process alone");
    assert_false(file_exists("no"));
}

/* A sum that is not finite ends all ranks; the message names the step. */
TEST(what_is_not_finite_ends_all)
{
    need_ranks();
    int status =
        run_ranks(2, "train --rate 100 --precision f32 --epochs 50 --warmup 0 --layers 8 --norm "
                     "post --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 208 --eps "
                     "1e-30 --beta2 0 --beta1 0 --threads 1 --out nan");
    if (status != 1 || errors() != 1 || !strstr(err, "is not finite"))
        fail_msg("status %d: %s", status, err);
}

/* The child of a compare is not a rank of its parent's job. */
TEST(children_train_alone)
{
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    int status = run_ranks(
        1,
        "compare --system linear --scheme transformer --seeds 1 --epochs 3 --truncation 0 --out compared "
        "--width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 208 --rate 1e-2 --warmup "
        "5 --threads 1");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("OMPI_COMM_WORLD_RANK");
    if (!file_exists("compared/runs/transformer-seed1/result.csv"))
        fail_msg("status %d: %s", status, err);
    assert_false(file_exists("compared/runs/transformer-seed1/ranks.csv"));
}

TEST(a_directory_has_one_training)
{
    pid_t pid = start(1, UNTIL("4000") " --out shared");
    await_lines("shared/state.safetensors", 0);
    int status = program_run("train --corpus text --out shared" TINY);
    if (!refused(status, "train", "shared: another training is at work there"))
        fail_msg("status %d: %s", status, err);
    test_signal(pid, SIGKILL);
    finish(pid);
    must_run(1, "train --epochs 1 --out shared" TINY); /* its lock died with it */
    assert_false(file_exists("shared/train.claim"));
}

/* Tells whether a process has an open file whose name has the word. */
static int has_open(int pid, const char *word)
{
    return shell("ls -l /proc/%d/fd | grep -q %s", pid, word) == 0;
}

/* A gnuplot that takes long does not hold the directory of its training, which is killed meanwhile. */
TEST(a_plot_being_drawn_holds_no_directory)
{
    char path[2 * PATH_MAX], *before = strdup(getenv("PATH")), text[32];
    program_draw(NULL);
    shell_ok("mkdir bin; printf '#!/bin/sh\necho $$ >../drawing\nexec sleep 600\n' >bin/gnuplot; "
             "chmod 755 bin/gnuplot"); /* it may start no process */
    snprintf(path, sizeof path, "%s:%s", file_path("bin"), before);
    setenv("PATH", path, 1);
    pid_t pid = start(1, "train --epochs 1 --out drawn" TINY);
    await_lines("drawing", 1);
    setenv("PATH", before, 1);
    free(before);
    file_read("drawing", text, sizeof text);
    assert_true(has_open(pid, "train.claim"));
    assert_false(has_open(atoi(text), "train.claim"));
    test_signal(pid, SIGKILL);
    finish(pid);
    must_run(1, "train --resume --epochs 2 --out drawn" TINY);
}

TEST_MAIN(begin, program_close)
