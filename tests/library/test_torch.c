/* test_torch.c: studies/api/python/torch_model.py gives the program's logits, of schemes of every kind, and gradients. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

static char python[PATH_MAX];

static int open_all(void **state)
{
    return program_open(state) != 0 || !realpath("studies/api/python", python) ? -1 : 0;
}

static const char *const networks[] = {
    "transformer --layers 2",
    "rk4 --activation gelu --positions both",
    "strang-marchuk:heun --untied --positions relative",
    "macaron --layers 2 --norm post --activation gelu --first-relu",
    "rk2-gate --layers 2",
    "rk2-tanh --layers 2",
    "looped-learn --layers 2",
    "no-residual",
    "ab3-layer --layers 4",
    "leapfrog --layers 3",
    "lm-resnet --layers 3",
    "rk2-dlcl --layers 3",
    "transformer --norm-kind rms --positions learned",
    "transformer --layers 2 --norm-kind rms --positions rotary --activation swiglu --kv-heads 1",
    "transformer --layers 2 --norm-kind rms --positions rotary --activation swiglu --head-width 6 --kv-heads 1 "
    "--head-norm --biases none",
    "transformer --layers 3 --windows 3,0 --norm-kind rms --positions rotary --rotary-part 4 --rotary-local 30 --biases "
    "qkv --output-bias",
    "macaron --layers 2 --output-norm --norm-kind rms",
    "heun-layer --activation geglu",
    "momentum --layers 2 --scheme-file streams.scheme",
    "nesterov --layers 3 --scheme-file streams.scheme",
    "hyper-connections --layers 3 --scheme-file streams.scheme",
    "begun --layers 3 --scheme-file begun.scheme",
};
enum { NETWORKS = sizeof networks / sizeof *networks };

TEST(logits_by_torch)
{
    if (shell("command -v python3 && /usr/bin/python3 -c 'import torch, numpy'") != 0) {
        print_message("no PyTorch: apt-get install python3-torch\n");
        skip();
    }
    file_text("said", "the lord said unto the king of the land\n");
    /* the start reads a stage below, and the last layer has no gate */
    file_text(
        "begun.scheme",
        "scheme begun\nlearn a = 1/3, b = 1/2\ncarry v = a*y + b*k2\nk1 = G(y + v)\nk2 = F(y)\n"
        "gate g = sigmoid(k1, k2)\nv' = g*k2 + a*v\ny' = y + k1 + k2\n");
    assert_int_equal(shell("cp %s/../../schemes/streams.scheme .", python), 0);
    for (int i = 0; i < NETWORKS; i++) {
        int status = program_run(
            "train --corpus kjv --vocabulary 120 --eval-tokens 200 --untested --width 16 --inner 24 "
            "--heads 2 --sequence 12 --batch-tokens 96 --max-steps 8 --epochs 1 --threads 1 "
            "--dropout 0.1 --rate 1e-2 --warmup 1 --out run%d --scheme %s",
            i, networks[i]);
        assert_true(trained(status));
        run_ok("eval --threads 1 --model run%d --text said --precision f64 --logits run%d.npy", i,
               i);
    }
    if (shell(
            "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=%s /usr/bin/python3 %s/../../../tests/python/torch_logits.py %d",
            python, python, NETWORKS) != 0)
        fail_msg("%s", err);
}

TEST_MAIN(open_all, program_close)
