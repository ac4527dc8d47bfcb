/* launch.c: one kernel launch: its limits, its arguments, its blocks, its illegal accesses.
 *
 * Arguments are checked before each run, word by word: an address of the device must belong to a live
 * allocation, and a word that is the address of host memory in use (other than pinned) is reported: a
 * kernel was given a host pointer. Allocations that arguments point to are opened for the run, others
 * when a thread touches them: a signal handler opens these, and turns accesses to other memory into a
 * fault of the launch. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/cuda/block.h"
#include "tests/cuda/runtime.h"

static const char lacks_wait[] = "it does not wait for the kernel before";
static const char behind[] = "bytes behind dynamic shared memory were written to";

enum { PAGE = 4096, SHARED_FILL = 0xa5, SIGNAL_STACK = 64 * 1024 };

static char *shared_end; /* of SHARED_MOST bytes; an inaccessible page follows */
static struct sigaction before[2];
static char signal_stack[SIGNAL_STACK];
static const CudaHostLaunch *shut; /* runs, and has not waited yet */
void *cuda_host_dynamic;

/* Bounds of the static shared arrays: the section that __shared__ of tests/cuda/device.h names. */
extern char __start_cuda_host_shared[] __attribute__((weak));
extern char __stop_cuda_host_shared[] __attribute__((weak));

void *cuda_host_args(size_t bytes)
{
    return host_new(bytes);
}

/* ---- illegal accesses ------------------------------------------------------------------------ */

/* Gives up a kernel's thread; anything else dies as it would have, after a line of words. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    char what[200], place[250], line[480];
    const void *at = info->si_addr;
    int inside = block_inside();
    if (inside && !shut && heap_open(at)) return; /* an address that came from device memory */
    if (inside && shut && heap_owns(at))
        snprintf(what, sizeof what, "device memory before it waits for the kernel before");
    else if (heap_owns(at))
        heap_describe(at, what, sizeof what);
    else if (inside && block_overflowed(at))
        snprintf(what, sizeof what, "the end of its stack");
    else
        snprintf(what, sizeof what, "%p, which is no memory of the device (or misaligned)", at);
    if (inside) {
        mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
        block_place(place, sizeof place);
        snprintf(line, sizeof line, "%s: illegal access to %s", place, what);
        uintptr_t instruction, stack;
        block_fault(line, &instruction, &stack);
        m->gregs[REG_RIP] = (greg_t)instruction;
        m->gregs[REG_RSP] = (greg_t)stack;
        return;
    }
    if (heap_owns(at)) {
        int n = snprintf(line, sizeof line, "cuda stand-in: the host touches device memory: %s\n",
                         what);
        if (write(STDERR_FILENO, line, (size_t)n) < 0) _exit(1);
    }
    sigaction(number, &before[number == SIGBUS], NULL);
}

/* Sets our handler above any other: test programs set their own again and again. */
static void catch_signal(int number, struct sigaction *old)
{
    struct sigaction now;
    const struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (sigaction(number, NULL, &now) != 0 || now.sa_sigaction == on_signal) return;
    *old = now;
    sigaction(number, &ours, NULL);
}

void launch_set_up(void)
{
    catch_signal(SIGSEGV, &before[0]);
    catch_signal(SIGBUS, &before[1]);
    if (shared_end) return;
    size_t room = (SHARED_MOST + PAGE - 1) / PAGE * PAGE;
    char *p = mmap(NULL, room + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + room, PAGE, PROT_NONE) != 0) abort();
    shared_end = p + room;
    stack_t old, new = {.ss_sp = signal_stack, .ss_size = SIGNAL_STACK};
    sigaltstack(NULL, &old);
    if (old.ss_flags & SS_DISABLE) sigaltstack(&new, NULL);
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Returns whether the word is the address of a page that this process uses. Small numbers side by
 * side look like low addresses, so addresses below 2^40 do not count. */
static int of_host(uintptr_t word)
{
    unsigned char resident = 0;
    if (word < (uintptr_t)1 << 40 || word >= (uintptr_t)1 << 47) return 0;
    return mincore((void *)(word & ~(uintptr_t)(PAGE - 1)), 1, &resident) == 0 && (resident & 1);
}

static void args_open(const CudaHostLaunch *l)
{
    for (size_t at = 0; at + sizeof(uintptr_t) <= l->args_bytes; at += sizeof(uintptr_t)) {
        uintptr_t word;
        memcpy(&word, (const char *)l->args + at, sizeof word);
        heap_open((const void *)word);
    }
}

void cuda_host_wait(void)
{
    if (shut) args_open(shut);
    shut = NULL;
}

static cudaError_t check_args(const CudaHostLaunch *l)
{
    for (size_t at = 0; at + sizeof(uintptr_t) <= l->args_bytes; at += sizeof(uintptr_t)) {
        uintptr_t word;
        memcpy(&word, (const char *)l->args + at, sizeof word);
        const void *p = (const void *)word;
        if (heap_owns(p) && !heap_holds(p, 0))
            return host_fault(
                cudaErrorIllegalAddress,
                "kernel %s: an argument points to device memory that is not allocated", l->name);
        if (!heap_owns(p) && !host_pinned(p, 1) && of_host(word))
            return host_fault(cudaErrorIllegalAddress,
                              "kernel %s: an argument points to memory of the host (%p)", l->name,
                              p);
    }
    return cudaSuccess;
}

/* ---- launches -------------------------------------------------------------------------------- */

static void fill_shared(const CudaHostLaunch *l)
{
    size_t rounded = (l->shared + 15) / 16 * 16;
    cuda_host_dynamic = shared_end - rounded;
    memset(cuda_host_dynamic, SHARED_FILL, rounded);
    if (__start_cuda_host_shared)
        memset(__start_cuda_host_shared, SHARED_FILL,
               (size_t)(__stop_cuda_host_shared - __start_cuda_host_shared));
}

/* Returns whether the bytes after dynamic shared memory were written. Its size is exact to 16 bytes;
 * the rest of those must still hold the fill. */
static int shared_spoiled(const CudaHostLaunch *l)
{
    for (const unsigned char *p = (unsigned char *)cuda_host_dynamic + l->shared;
         p < (unsigned char *)shared_end; p++)
        if (*p != SHARED_FILL) return 1;
    return 0;
}

static const char *run_blocks(const CudaHostLaunch *l)
{
    size_t n = (size_t)l->grid.x * l->grid.y * l->grid.z;
    uint64_t order = block_order_now();
    unsigned *drawn = order > 1 ? host_new(n * sizeof *drawn) : NULL;
    const char *wrong = NULL;
    for (size_t i = 0; drawn && i < n; i++) { /* inside-out shuffle, Knuth 3.4.2 */
        size_t j = block_random((uint32_t)i + 1);
        drawn[i] = drawn[j];
        drawn[j] = (unsigned)i;
    }
    for (size_t i = 0; i < n && !wrong; i++) {
        size_t b = drawn ? drawn[i] : order == CUDA_HOST_REVERSE ? n - 1 - i : i;
        uint3 index = {(unsigned)(b % l->grid.x), (unsigned)(b / l->grid.x % l->grid.y),
                       (unsigned)(b / l->grid.x / l->grid.y)};
        fill_shared(l);
        wrong = block_run(l, index);
        if (!wrong && shared_spoiled(l)) wrong = behind;
    }
    free(drawn);
    return wrong;
}

static cudaError_t run_launch(const void *data)
{
    const CudaHostLaunch *l = data;
    cudaError_t e = check_args(l);
    if (e != cudaSuccess) {
        heap_close();
        return e;
    }
    cuda_seen.launches++;
    launch_set_up();
    shut = l;
    if (!l->waits) cuda_host_wait();
    const char *wrong = run_blocks(l);
    if (shut && !wrong) wrong = lacks_wait;
    shut = NULL;
    const void *spoiled = heap_spoiled();
    heap_close();
    if (wrong && strstr(wrong, "illegal access"))
        return host_fault(cudaErrorIllegalAddress, "%s", wrong);
    if (wrong == behind || wrong == lacks_wait)
        return host_fault(cudaErrorLaunchFailure, "kernel %s: %s", l->name, wrong);
    if (wrong) return host_fault(cudaErrorLaunchFailure, "%s", wrong);
    if (spoiled)
        return host_fault(cudaErrorIllegalAddress,
                          "kernel %s: bytes beside the device allocation at %p were written to",
                          l->name, spoiled);
    return cudaSuccess;
}

static void drop_launch(void *data)
{
    free(((CudaHostLaunch *)data)->args);
}

/* Checks the limits of a launch: CUDA C++ Programming Guide, "Compute Capabilities". */
static cudaError_t check_launch(const CudaHostLaunch *l)
{
    dim3 b = l->block, g = l->grid;
    if (cuda_host.fail_launch != cudaSuccess) return cuda_host.fail_launch;
    if (!b.x || !b.y || !b.z || !g.x || !g.y || !g.z) return cudaErrorInvalidConfiguration;
    if (b.x > 1024 || b.y > 1024 || b.z > 64 || (size_t)b.x * b.y * b.z > 1024)
        return cudaErrorInvalidConfiguration;
    if (g.x > 0x7fffffff || g.y > 65535 || g.z > 65535) return cudaErrorInvalidConfiguration;
    return l->shared > SHARED_MOST ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t cuda_host_launch(const CudaHostLaunch *launch, cudaStream_t stream);

cudaError_t cuda_host_launch(const CudaHostLaunch *launch, cudaStream_t stream)
{
    launch_set_up();
    cudaError_t e = host_ready();
    if (e == cudaSuccess) e = check_launch(launch);
    if (e == cudaSuccess && launch->early && !stream_takes_early(stream))
        e = host_fault(cudaErrorInvalidValue, "kernel %s: launched early, but not behind a kernel",
                       launch->name);
    if (e != cudaSuccess) {
        free(launch->args);
        return host_last(e);
    }
    CudaHostLaunch *kept = host_new(sizeof *kept);
    *kept = *launch;
    e = stream_submit(stream, run_launch, drop_launch, kept);
    stream_launched(stream, launch->early);
    return e;
}
