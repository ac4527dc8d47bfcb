/* test_branches.c: gradients of weights are made on a second stream (cuda_branch.cuh), and a training step is recorded
 * as a graph of two branches. The stand-in runs either branch as early as events and edges allow, so that two calls
 * that nothing orders come in both orders: parameters must keep their bits. Where waits have no effect, they do not. */
#include "tests/lib/test.h"

#include "tests/cuda/host.h"
#include "tests/lib/models.h"

enum { STEPS = 4 }; /* apart; recorded; replayed twice */

static const char *const names[] = {"cuda-f32", "cuda-bf16"}; /* cuda-tf32 makes the calls of f32 */
enum { NAMES = sizeof names / sizeof *names };

/* Returns configuration k of five: of yesterday and of the latest, with ReLU, stored and computed again. */
static ModelConfig config(size_t k, const Plan *plan)
{
    ModelConfig c = k % 5 == 4 ? tiny_latest(plan) : tiny_config();
    if (k % 5 == 1) c.act = ACT_RELU;
    c.recompute = k % 5 == 3;
    return c;
}

/* Returns a model after some steps, in which work waits for the host unless it runs as submitted. */
static Model *trained(const char *name, const TinyPlan *t, size_t k, CudaHostStreams first,
                      int deaf)
{
    const AdamConfig adam = {.rate = 1e-2, .beta1 = .9, .beta2 = .99, .eps = 1e-8, .clip = 1};
    Plan *plan = t->build();
    Model *m = shaken(name, config(k, plan), plan, 1);
    Batch x = tiny_batch_of(m);
    assert_int_equal(backend(name)->wait(), 0);
    cuda_host_streams(first);
    cuda_host_lazy(first != CUDA_HOST_AS_SUBMITTED);
    cuda_host_deaf = deaf;
    for (uint64_t step = 1; step <= STEPS; step++)
        assert_int_equal(model_step(m, &x, &adam, step), 0);
    assert_int_equal(backend(name)->wait(), 0);
    cuda_host_deaf = 0;
    cuda_host_lazy(0);
    cuda_host_streams(CUDA_HOST_AS_SUBMITTED);
    return m;
}

/* Tells whether both extreme orders of the branches leave the bits of the order of submission. */
static int keeps_bits(const char *name, const TinyPlan *t, size_t k, int deaf)
{
    OWN_MODEL *want = trained(name, t, k, CUDA_HOST_AS_SUBMITTED, 0);
    for (int first = CUDA_HOST_NEWEST; first <= CUDA_HOST_OLDEST; first++) {
        OWN_MODEL *m = trained(name, t, k, (CudaHostStreams)first, deaf);
        if (!tiny_same(want, model_data(want), m, model_data(m))) return 0;
    }
    return 1;
}

TEST(branches_keep_the_bits)
{
    size_t k = 0;
    for (size_t i = 0; i < NAMES; i++)
        for (const TinyPlan *t = tiny_all; t->name; t++, k++)
            if (!keeps_bits(names[i], t, k, 0)) fail_msg("%s, %s, %zu", names[i], t->name, k % 5);
}

TEST(a_missing_wait_is_seen)
{
    for (size_t i = 0; i < NAMES; i++)
        for (const TinyPlan *t = tiny_all; t->name; t++)
            if (keeps_bits(names[i], t, 0, 1)) fail_msg("%s, %s", names[i], t->name);
}

/* Counts kernels launched early in the graph of a step. */
static size_t early(const char *name, int arch)
{
    cuda_host.arch = arch;
    OWN_MODEL *m = trained(name, tiny_all, 0, CUDA_HOST_AS_SUBMITTED, 0);
    cuda_host.arch = 90;
    return cuda_seen.graph.early;
}

/* Kernels that stand behind kernels are launched early, where the device knows how. */
TEST(kernels_are_early)
{
    for (size_t i = 0; i < NAMES; i++) {
        size_t n = early(names[i], 90);
        print_message("# %s: %zu of %zu nodes are launched early\n", names[i], n,
                      cuda_seen.graph.nodes);
        assert_in_range(n, cuda_seen.graph.nodes / 5, cuda_seen.graph.nodes);
        assert_int_equal(early(names[i], 80), 0);
        setenv("TROTTER_CUDA_LATE", "1", 1);
        assert_int_equal(early(names[i], 90), 0);
        unsetenv("TROTTER_CUDA_LATE");
    }
}

/* A graph has a product aside for each weight of a sublayer and one for the words', and clears gradients there; a sum
 * of a bias is beside where its product has none. Branches fork and join, so that there are more edges than a chain
 * has. */
TEST(weights_are_beside)
{
    for (const TinyPlan *t = tiny_all; t->name; t++) {
        OWN_MODEL *m = trained("cuda-f32", t, 0, CUDA_HOST_AS_SUBMITTED, 0);
        CudaHostNodes n = cuda_seen.graph;
        size_t weights = 2, evals = 0;
        for (size_t i = 0; i < m->plan->instrs; i++)
            weights += m->plan->instr[i].op == PLAN_EVAL   ? 2
                       : m->plan->instr[i].op == PLAN_KEYS ? 1
                                                           : 0,
                evals += plan_weighs(&m->plan->instr[i]) != 0;
        assert_in_range(n.beside, weights, weights + evals);
        assert_in_range(n.edges - (n.nodes - 1), weights, 2 * (weights + evals));
    }
}

TEST_MAIN(one_thread, NULL)
