/* test_gpu_script.c: studies/scripts/gpu.sh reports nothing as passed that did not pass. Programs stand in for
 * nvidia-smi, the tests and trotter. */
#include "tests/lib/program.h"

#define SCRIPT "sh \"$OLDPWD/studies/scripts/gpu.sh\" --build \"$PWD/build\" --out \"$PWD/out\" "

static void executable(const char *name, const char *text)
{
    file_text(name, text);
    shell_ok("chmod +x %s", name);
}

#define PASSES "#!/bin/sh\necho ok 1 - a\n"
#define SKIPS "#!/bin/sh\necho ok 1 - a\necho 'ok 2 # SKIP no device'\n"

/* Makes a build whose tests all pass, on a machine with a GPU. */
static void prepare(void)
{
    file_text("passes", PASSES);
    shell_ok(
        "mkdir -p bin; chmod +x passes; for t in kernels/test_kernels "
        "kernels/test_decode_kernels kernels/test_attention_kernels kernels/test_backend bridge/test_device nn/test_model "
        "nn/test_store_model nn/test_train nn/test_twin commands/test_gpus; do "
        "mkdir -p build/release/tests/${t%%/*} && cp passes build/release/tests/$t || exit 1; "
        "done");
    executable("bin/nvidia-smi", "#!/bin/sh\necho one device\n");
    executable("build/release/trotter", "#!/bin/sh\nexit 1\n");
}

static int tests_part(void)
{
    return shell("GPU_SH_PART=tests " SCRIPT);
}

TEST(a_test_that_does_not_pass_has_failed)
{
    static const char *const model[] = {SKIPS, "#!/bin/sh\necho ok 1 - a\nexit 3\n",
                                        "#!/bin/sh\necho not ok 1 - a\n",
                                        "#!/nowhere/sh\necho ok 1 - a\n"}; /* it cannot start */
    prepare();
    assert_int_equal(tests_part(), 0);
    executable("build/release/tests/commands/test_gpus", SKIPS); /* one GPU */
    assert_int_equal(tests_part(), 0);
    for (int i = 0; i < 4; i++) {
        executable("build/release/tests/nn/test_model", model[i]);
        assert_int_equal(tests_part(), 1);
    }
    shell_ok("rm build/release/tests/nn/test_model");
    assert_int_equal(tests_part(), 1);
    executable("build/release/tests/nn/test_model", PASSES);
    assert_int_equal(tests_part(), 0);
}

/* Puts a program in trotter's place that calls the stand-in's with small sizes, and before it `more`. */
static void small_trotter(const char *more)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(n > 0);
    path[n] = '\0';
    strcpy(strstr(path, "/tests/commands/"), "/tests/cuda/cuda_trotter");
    executable(
        "build/release/trotter",
        formed("#!/bin/sh\n%s\nexec %s \"$@\" --width 32 --inner 64 --heads 2 --vocabulary 60 "
               "--sequence 16 --batch-tokens 64 --max-steps 4 --eval-tokens 100\n",
               more, path));
}

/* What the stand-in cannot choose by itself is checked on a device; here the same lines come from the stand-in. A reduction in the
 * result's type (4), a graph of 65 MiB, another log with late launches, and silence fail. */
TEST(what_was_served_is_told)
{
    static const char *const spoiled[][2] = {
        {"echo cublaslt,0,1,1,1,1,0,14,14,4,16,1,0,0,2,4 >&2", "in the type of the result"},
        {"echo graph,68157440 >&2", "graphs, "},
        {"[ -z \"${TROTTER_CUDA_LATE:-}\" ] || set -- \"$@\" --seed 2",
         "early launches change the log"},
        {"unset TROTTER_CUDA_TELL", "0 shapes"},
    };
    prepare();
    small_trotter("");
    int status = shell("GPU_SH_PART=served " SCRIPT);
    if (status != 0) fail_msg("status %d: %s%s", status, out, err);
    HAS(out, " 0 with a reduction", "~ 0 graphs");
    shell_ok(
        "awk -F, 'NR > 1 { n++; ok += NF == 15 && $11 == 1 && $15 == 2 } END { exit !(n > 4 && ok == n) }' out/served.csv");
    shell_ok("[ $(wc -l <out/graphs.csv) -gt 1 ]");
    for (size_t i = 0; i < sizeof spoiled / sizeof *spoiled; i++) {
        small_trotter(spoiled[i][0]);
        assert_int_equal(shell("GPU_SH_PART=served " SCRIPT), 1);
        HAS(out, spoiled[i][1]);
    }
}

static int words(const char *arguments)
{
    return shell("PATH=\"$PWD/bin:$PATH\" " SCRIPT "%s", arguments);
}

TEST(a_part_that_fails_is_named)
{
    static const char *const parts[][2] = {
        {"first --limit 20", "failed: smoke served\n"},
        {"speed --limit 20", "failed: speed_bf16 launches\n"},
        {"speed-tf32 --limit 20", "failed: speed_tf32\n"},
        {"measure --limit 20", "failed: agree bench large\n"},
        {"processor --limit 20", "failed: cpu_f32 cpu_bf16\n"},
        {"moonshot study --limit 20", "no --corpus"},
    };
    prepare();
    for (int i = 0; i < 6; i++) {
        assert_int_equal(words(parts[i][0]), 1);
        assert_true(i || strstr(out, "tests: status 0"));
        HAS(out, parts[i][1]);
    }
}

/* Six networks, of which the script of the last fails after our own figures, by a program in trotter's place. */
TEST(rows_beside_a_peer_are_measured)
{
    static const char program_text[] = "#!/bin/sh\ncase $* in\n"
                                       "*' translate '*bf16*) echo ours; exit 2 ;;\n"
                                       "*) echo ours ;;\nesac\n";
    prepare();
    executable("build/release/trotter", program_text);
    assert_int_equal(words("speed --limit 20"), 1);
    HAS(out, "failed: speed_bf16\n");
    shell_ok("grep -q 'ours' out/speed-bf16-1.csv && grep -q ours out/speed-bf16-6.csv");
    shell_ok(
        "grep -q 'bench translate .* --precision bf16 .*torch_translate.py' out/speed_bf16.log");
    shell_ok("[ ! -e out/speed-bf16-7.csv ]");
    assert_int_equal(words("speed-tf32 --limit 20"), 0);
    assert_int_equal(words("speed --limit 20 --peer nowhere"), 1);
    HAS(out, "no nowhere/torch_lm.py");
}

/* What a change saves is the difference of two programs, each of which must have told all of its times. */
TEST(a_change_is_measured_beside_what_was_before)
{
    static const char *const speeds[] = {"4096000", "2048000"};
    prepare();
    shell_ok("mkdir -p before/build/release");
    for (int i = 0; i < 2; i++) {
        executable(
            i ? "before/build/release/trotter" : "build/release/trotter",
            formed("#!/bin/sh\necho train.cuda-bf16.512.tokens_per_s,transformer,%s,tokens/s\n",
                   speeds[i]));
    }
    assert_int_equal(words("ledger --limit 20"), 1);
    HAS(out, "no --before DIR");
    assert_int_equal(words("ledger --limit 20 --before before"), 1);
    HAS(out, "no --before DIR");
    assert_int_equal(words("ledger --limit 20 --before \"$PWD/before\""), 0);
    shell_ok("grep -q 512,2.0000,1.0000,-1.0000 out/ledger.csv");
    executable("before/build/release/trotter", "#!/bin/sh\nexit 1\n");
    assert_int_equal(words("ledger --limit 20 --before \"$PWD/before\""), 1);
}

/* Each command of a planned study has options that the program takes: it asks for its corpus. Of what --vary and --tune put in their place nothing is seen. Commands
 * of many-64 have names of blocks in them that are not made yet. */
TEST(planned_commands_are_taken)
{
    assert_int_equal(
        shell(
            "cd \"$OLDPWD\" && for plan in studies/results/planned/*.txt; do name=$(basename \"$plan\" .txt); case $name in many*) continue ;; esac; "
            "sh studies/scripts/planned.sh $name --corpus nowhere --glue nowhere --device cpu --precision f32 --out never --list | while read -r line; do "
            "$line 2>&1 | grep -q \"no corpus 'nowhere'\" || { echo \"$line\"; exit 1; }; echo taken; done || exit 1; done"),
        0);
    assert_true(strlen(out) > 12 * strlen("taken"));
    assert_int_not_equal(
        shell(
            "cd \"$OLDPWD\" && build/trotter compare --corpus nowhere --scheme heun --step-penalty error=1 2>&1 | grep -q nowhere"),
        0);
}

/* The planned studies are those of planned.sh, and each word is one of the table. */
TEST(planned_studies_are_parts)
{
    prepare();
    executable("build/release/trotter", "#!/bin/sh\nexit 0\n");
    assert_int_equal(words("moonshot depth translation sandwich --limit 20 --corpus c"), 0);
    HAS(out, "failed: nothing");
    assert_int_equal(words("masked --limit 20 --corpus c"), 1);
    HAS(out, "masked needs --glue DIR");
}

#define MANY "python3 \"$OLDPWD/studies/scripts/many.py\" "

/* many-64: the committed scheme file is what many.py makes of the found blocks alone, as drawn ones come from their seeds and the found ones' norms;
 * the rate is that of the least mean of logs, where the least mean is another, and a training that lacks is told. */
TEST(blocks_are_drawn_and_rates_chosen_by_rule)
{
    static const char rates[] =
        "integrator,rate,valid_ppl\na,1e-2,10\nb,1e-2,40\na,2e-2,21\nb,2e-2,20\n";
    need_tool("python3");
    shell_ok(
        "awk '/^scheme drawn/ {exit} /^scheme/ {n = 670 + substr($2, 7); system(\"mkdir -p many-64/b/\" n)} "
        "n && /^[ky]/ {print > (\"many-64/b/\" n \"/result.scheme\")}' \"$OLDPWD/studies/schemes/many.scheme\"");
    shell_ok(MANY "blocks many-64/b | cmp - \"$OLDPWD/studies/schemes/many.scheme\"");
    shell_ok("sed -i 's|^k2.*|k2 = G(y + 1/7*k1)|' many-64/b/680/result.scheme");
    assert_int_not_equal(
        shell(MANY "blocks many-64/b | cmp - \"$OLDPWD/studies/schemes/many.scheme\""), 0);
    shell_ok("cp many-64/b/680/result.scheme many-64/b/686/result.scheme");
    shell_ok(MANY "blocks many-64/b > again && grep -q '# found-16 is found-10' again");
    file_text("runs.csv", rates);
    shell_ok("[ \"$(" MANY "rate runs.csv a,b)\" = 1e-2 ]");
    shell_ok("[ \"$(" MANY "rate runs.csv b)\" = 2e-2 ]");
    assert_int_not_equal(shell(MANY "rate runs.csv a,b,c"), 0);
}

/* penalty-64: of trainings whose perplexity is a power of an error the slope is that power, by scheme and seed; the control has it on the errors of the others, at
 * the places of equal penalties, and on its own. Trials of rates and trainings without a penalty do not count, and a training that lacks is told. */
TEST(slopes_are_those_of_lines)
{
    need_tool("python3");
    need_tool("gnuplot");
    shell_ok(
        "mkdir -p p/a p/b lines; { echo seed,test_ppl,valid_ppl,part,truncation,integrator,step-penalty; awk 'BEGIN {for (k = 4; k; k--) {"
        "printf \"7,%%g,%%g,,%%g,a,error=%%d\\n\", 30 * k ^ .25, 40 * k ^ .5, k, k;"
        "printf \"7,%%g,40,,%%g,a,displacement=%%d\\n\", 30 / k, k ^ 2, k * 10}}'; "
        "echo 7,99,99,,9,a,error=0; echo 9,99,99,tuning,,a,error=1; echo ,5,5,,,,; } >p/a/runs.csv");
    shell_ok("sed 's/,a,/,b,/; s/^7/8/' p/a/runs.csv >p/b/runs.csv");
    shell_ok("python3 \"$OLDPWD/studies/scripts/penalty.py\" p lines");
    shell_ok(
        "for i in 'a 7' 'b 8'; do echo displacement,$i,${i%% *},-1.0,0.0,-0.5,2.772589; done >want; "
        "for i in 'a 7' 'b 8'; do echo error,$i,${i%% *},0.25,0.5,0.25,1.386294; done >>want; "
        "tail -n +2 lines/lines.csv | sort | diff - want; wc -l lines/runs.csv | grep -q '^22 '");
    shell_ok("sed -i '/error=3/d' p/b/runs.csv");
    assert_int_not_equal(shell("python3 \"$OLDPWD/studies/scripts/penalty.py\" p lines"), 0);
    HAS(err, "3 trainings, not 4");
}

TEST(without_a_device_or_program_nothing_is_measured)
{
    prepare();
    executable("bin/nvidia-smi", "#!/bin/sh\nexit 9\n");
    assert_int_equal(shell("PATH=\"$PWD/bin:$PATH\" " SCRIPT), 2);
    HAS(err, "no NVIDIA device here");
    executable("bin/nvidia-smi", "#!/bin/sh\n");
    shell_ok("rm build/release/trotter");
    assert_int_equal(shell("PATH=\"$PWD/bin:$PATH\" " SCRIPT), 2);
    HAS(err, "is not there");
    assert_int_equal(shell(SCRIPT "mesure"), 2);
    HAS(err, "mesure: expected first, speed,");
}

TEST_MAIN(program_open, program_close)
