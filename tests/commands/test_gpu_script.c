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
    shell_ok(
        "mkdir -p build/release/tests/kernels build/release/tests/bridge build/release/tests/nn "
        "build/release/tests/commands bin");
    const char *const tests[] = {"kernels/test_kernels", "kernels/test_attention_kernels",
                                 "kernels/test_backend", "bridge/test_device",
                                 "nn/test_model",        "nn/test_store_model",
                                 "nn/test_train",        "nn/test_twin",
                                 "commands/test_gpus"};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        char name[128];
        snprintf(name, sizeof name, "build/release/tests/%s", tests[i]);
        executable(name, PASSES);
    }
    executable("bin/nvidia-smi", "#!/bin/sh\necho one device\n");
    executable("build/release/trotter", "#!/bin/sh\nexit 1\n");
}

static int tests_part(void)
{
    return shell("GPU_SH_PART=tests " SCRIPT);
}

TEST(a_test_that_does_not_pass_has_failed)
{
    prepare();
    assert_int_equal(tests_part(), 0);
    executable("build/release/tests/commands/test_gpus", SKIPS); /* one GPU */
    assert_int_equal(tests_part(), 0);
    executable("build/release/tests/nn/test_model", SKIPS);
    assert_int_equal(tests_part(), 1);
    executable("build/release/tests/nn/test_model", "#!/bin/sh\necho ok 1 - a\nexit 3\n");
    assert_int_equal(tests_part(), 1);
    executable("build/release/tests/nn/test_model", "#!/bin/sh\necho not ok 1 - a\n");
    assert_int_equal(tests_part(), 1);
    executable("build/release/tests/nn/test_model", "#!/nowhere/sh\necho ok 1 - a\n");
    assert_int_equal(tests_part(), 1); /* it cannot start */
    shell_ok("rm build/release/tests/nn/test_model");
    assert_int_equal(tests_part(), 1);
    executable("build/release/tests/nn/test_model", PASSES);
    assert_int_equal(tests_part(), 0);
}

TEST(a_part_that_fails_is_named)
{
    prepare();
    assert_int_equal(shell("PATH=\"$PWD/bin:$PATH\" " SCRIPT "measure --limit 20"), 1);
    assert_non_null(strstr(out, "tests: status 0"));
    assert_non_null(strstr(out, "failed: smoke agree bench large"));
    assert_int_equal(shell("PATH=\"$PWD/bin:$PATH\" " SCRIPT "peers --limit 20"), 1);
    assert_non_null(strstr(out, "failed: peer_bf16 peer_tf32 peer_f32"));
    assert_int_equal(shell("PATH=\"$PWD/bin:$PATH\" " SCRIPT "peers --limit 20 --peer nowhere.py"),
                     1);
    assert_non_null(strstr(out, "no peer: --peer FILE"));
    assert_int_equal(shell("PATH=\"$PWD/bin:$PATH\" " SCRIPT "study --limit 20"), 1);
    assert_non_null(strstr(out, "no --corpus"));
}

TEST(without_a_device_or_program_nothing_is_measured)
{
    prepare();
    executable("bin/nvidia-smi", "#!/bin/sh\nexit 9\n");
    assert_int_equal(shell("PATH=\"$PWD/bin:$PATH\" " SCRIPT), 2);
    assert_true(says("no NVIDIA device here"));
    executable("bin/nvidia-smi", "#!/bin/sh\n");
    shell_ok("rm build/release/trotter");
    assert_int_equal(shell("PATH=\"$PWD/bin:$PATH\" " SCRIPT), 2);
    assert_true(says("is not there"));
    assert_int_equal(shell(SCRIPT "mesure"), 2);
    assert_true(says("mesure: expected measure"));
}

TEST_MAIN(program_open, program_close)
