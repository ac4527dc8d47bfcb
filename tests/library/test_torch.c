/* test_torch.c: studies/python/torch_model.py gives the program's logits, of schemes of every kind, and gradients. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

static char python[PATH_MAX];

static int open_all(void **state)
{
    return program_open(state) != 0 || !realpath("studies/python", python) ? -1 : 0;
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
    "heun-layer --activation geglu",
};
enum { NETWORKS = sizeof networks / sizeof *networks };

/* The program's logits are written in f32: numbers below 4 differ by 2^-23 at most. The last line spoils a reading. */
static const char code[] =
    "import sys, numpy, torch\n"
    "from torch_model import Model\n"
    "for i in range(int(sys.argv[1])):\n"
    "    m, a = Model('run%d' % i), torch.tensor(numpy.load('run%d.npy' % i))\n"
    "    word = [line.strip() for line in open('run%d/vocab.txt' % i)]\n"
    "    ids = torch.tensor([0] + [word.index(w) if w in word else word.index('<unk>') for w in open('said').read().split()])\n"
    "    ids[0] = word.index('<eos>')\n"
    "    z = m(torch.stack([ids, ids.flip(0)]))\n"
    "    assert (z[0] - a).abs().max() < 2**-23 * 4, (sys.argv, i, (z[0] - a).abs().max())\n"
    "    z.square().sum().backward()\n"
    "    assert all(p.grad is not None and p.grad.isfinite().all() for p in m.parameters()), i\n"
    "    with torch.no_grad(): m.layers[0].w['attn/1/qkv/weight'][0, 0] += 1\n"
    "    assert (m(ids) - a).abs().max() > 1e-5, i\n";

TEST(logits_by_torch)
{
    if (shell("command -v python3 && /usr/bin/python3 -c 'import torch, numpy'") != 0) {
        print_message("no PyTorch: apt-get install python3-torch\n");
        skip();
    }
    file_text("said", "the lord said unto the king of the land\n");
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
    file_text("logits.py", code);
    if (shell("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=%s /usr/bin/python3 logits.py %d", python,
              NETWORKS) != 0)
        fail_msg("%s", err);
}

TEST_MAIN(open_all, program_close)
