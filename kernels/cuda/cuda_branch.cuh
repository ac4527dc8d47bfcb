/* cuda_branch.cuh: a second stream beside the first, for work that nobody reads soon: gradients of weights
 * (Backend.aside, .meet). Part of cuda.cu.
 *
 * Both streams fork and join by events, so a recording becomes a graph of two branches. The second one runs its calls
 * in order, and has scratch memory and a handle of cuBLAS of its own: the bits are those of one stream. */
#ifndef TROTTER_CUDA_BRANCH_CUH
#define TROTTER_CUDA_BRANCH_CUH

#include "kernels/cuda/cuda_device.cuh"

/* `open`: there was work aside since the streams joined. mark[k]: the work that was aside at a meeting; `marked`: the
 * next meeting waits for mark[turn]. */
static struct {
    cudaStream_t stream[BRANCHES];
    cudaEvent_t fork, done, mark[2];
    int open, marked, turn;
} branch;

static cudaError_t branches_ready(void)
{
    cudaEvent_t *event[] = {&branch.fork, &branch.done, &branch.mark[0], &branch.mark[1]};
    cudaError_t code = cudaSuccess;
    for (size_t i = 0; i < BRANCHES && code == cudaSuccess; i++)
        code = cudaStreamCreateWithFlags(&branch.stream[i], cudaStreamNonBlocking);
    for (size_t i = 0; i < sizeof event / sizeof *event && code == cudaSuccess; i++)
        code = cudaEventCreateWithFlags(event[i], cudaEventDisableTiming);
    if (code == cudaSuccess) cuda.stream = branch.stream[0];
    return code;
}

/* Makes the calls of stream `to` wait for those that `from` has now. */
static void branch_wait(int to, int from, cudaEvent_t event, const char *where)
{
    if (cuda.failed != cudaSuccess) return;
    device_here();
    cuda.behind[to] = cuda.behind[from] = 0;
    cuda_check(cudaEventRecord(event, branch.stream[from]), where);
    cuda_check(cudaStreamWaitEvent(branch.stream[to], event, 0), where);
}

static void cuda_aside(int on)
{
    if (cuda.timing) return;
    if (on) branch_wait(1, 0, branch.fork, __func__);
    cuda.branch = on;
    cuda.stream = branch.stream[on];
    branch.open = 1;
}

/* Joins the branches: calls from now on come after all calls until now. */
static void branch_join(CALLER)
{
    if (branch.open) branch_wait(0, 1, branch.done, where);
    branch.open = branch.marked = 0;
}

static void cuda_meet(int all)
{
    if (all || !branch.open) {
        branch_join();
        return;
    }
    if (cuda.failed != cudaSuccess) return;
    device_here();
    cuda.behind[0] = cuda.behind[1] = 0;
    if (branch.marked)
        cuda_check(cudaStreamWaitEvent(branch.stream[0], branch.mark[branch.turn], 0), __func__);
    branch.turn = !branch.turn;
    branch.marked = 1;
    cuda_check(cudaEventRecord(branch.mark[branch.turn], branch.stream[1]), __func__);
}

#endif
