/* block.c: the threads of a block take turns on one OS thread.
 *
 * A thread runs until it waits (barrier, warp collective) or leaves; then the top of a stack of
 * runnable threads runs. Threads that a barrier or a collective frees come on top, in forward, reverse
 * or shuffled order: so a warp runs ahead of all others up to the next barrier, and a kernel that lacks
 * a barrier shows it in at least one order.
 *
 * A barrier opens when every thread of the block stands at it, at the same line. The last lane to come
 * settles a warp collective, for all lanes of its mask at once. When no thread can run and one still
 * waits, the launch ends with a line that says which thread waits where and which left.
 *
 * This scheduler does not see an unprotected read-modify-write (x += 1 by two threads looks atomic,
 * because no thread is interrupted between two waits); `make check-race` does.
 */
#include "tests/cuda/block.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/cuda/host.h"

#ifdef CUDA_HOST_RACE
#include <sanitizer/tsan_interface.h>
#define ACQUIRE(place) __tsan_acquire(place)
#define RELEASE(place) __tsan_release(place)
#else
#define ACQUIRE(place) ((void)(place))
#define RELEASE(place) ((void)(place))
#endif

/* ---- fibres ----------------------------------------------------------------------------------------------------
 *
 * Many stacks on one OS thread (x86-64, System V). A fibre runs until it gives the processor to another one by name; a switch
 * is a dozen instructions and no system call: it pushes the six registers that a callee must keep, exchanges stack pointers
 * and pops. x87 and SSE control words are the same for all fibres, so it does not save them. */

#if !defined(__x86_64__)
#error "the fibres of the CUDA stand-in are written for x86-64"
#endif

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

typedef struct {
    void *sp;      /* while it is switched out */
    char *low;     /* lowest byte of its stack; 64 KiB without access lie below */
    size_t size;   /* of the stack, bytes */
    size_t colour; /* its frames begin this far below the top (cache sets differ) */
    void *fake;    /* AddressSanitizer's and ThreadSanitizer's state */
    void *tsan;
} Fibre;

/* Bytes of a stack, of which the kernel provides only touched pages, and of its gap. A frame: six registers, return address,
 * zero. */
enum { FIBRE_STACK = 256 * 1024, GUARD = 64 * 1024, FRAME = 8 };

void fibre_swap(void **save, void *load);
__asm__(".pushsection .text\n"
        ".globl fibre_swap\n"
        ".type fibre_swap, @function\n"
        "fibre_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size fibre_swap, . - fibre_swap\n"
        ".popsection\n");

/* Makes a fibre with its own stack; `number` only spreads stacks over the cache's sets. Returns 0,
 * or -1 when memory is short. */
static int fibre_new(Fibre *f, size_t number)
{
    char *p = mmap(NULL, GUARD + FIBRE_STACK, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return -1;
    mprotect(p, GUARD, PROT_NONE);
    *f = (Fibre){.low = p + GUARD, .size = FIBRE_STACK, .colour = number % 32 * 128};
#ifdef CUDA_HOST_RACE
    f->tsan = __tsan_create_fiber(0);
#endif
    return 0;
}

/* Makes the caller's own stack a fibre, to switch back to. */
static void fibre_host(Fibre *f)
{
    *f = (Fibre){0};
    pthread_attr_t a;
    void *low = NULL;
    if (pthread_getattr_np(pthread_self(), &a) == 0) {
        pthread_attr_getstack(&a, &low, &f->size);
        pthread_attr_destroy(&a);
    }
    f->low = low;
#ifdef CUDA_HOST_RACE
    f->tsan = __tsan_get_current_fiber();
#endif
}

/* Returns the beginning of a stack that may be used from scratch (aligned as at a function's
 * entry). */
static void *fibre_top(const Fibre *f)
{
    uintptr_t top = (uintptr_t)(f->low + f->size - f->colour) & ~(uintptr_t)15;
    return (void *)(top - 8); /* as a call would leave it: 8 below a multiple of 16 */
}

/* The next switch to f calls entry() on its empty stack. entry must not return: it ends in
 * fibre_leave. The earlier state of f is lost. */
static void fibre_start(Fibre *f, void (*entry)(void))
{
#ifdef __SANITIZE_ADDRESS__
    ASAN_UNPOISON_MEMORY_REGION(f->low, f->size);
    f->fake = NULL;
#endif
    void **frame = (void **)fibre_top(f) - (FRAME - 1);
    for (int i = 0; i < FRAME; i++) frame[i] = NULL;
    frame[FRAME - 2] = (void *)(uintptr_t)entry;
    f->sp = frame;
}

static inline void change(Fibre *from, Fibre *to, void **fake)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(fake, to->low, to->size);
#endif
#ifdef CUDA_HOST_RACE
    __tsan_switch_to_fiber(to->tsan, __tsan_switch_to_fiber_no_sync);
#endif
    (void)fake;
    fibre_swap(&from->sp, to->sp);
}

/* Switches from the running fibre to another; returns when something switches back. */
static void fibre_switch(Fibre *from, Fibre *to)
{
    change(from, to, &from->fake);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
#endif
}

/* Switches in the same way and never returns. */
static __attribute__((noreturn)) void fibre_leave(Fibre *from, Fibre *to)
{
    change(from, to, NULL);
    __builtin_unreachable();
}

/* Must be called first in an entry function. */
static void fibre_entered(void)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
}

/* Returns 1 where the address is in the gap below f's stack: an overflow. */
static int fibre_overflowed(const Fibre *f, const void *address)
{
    return (const char *)address < f->low && (const char *)address >= f->low - GUARD;
}

/* ---- threads ---- */

enum { THREADS = 1024, LANES = 32 };
enum { RUNNING, AT_BARRIER, IN_WARP, LEFT };

typedef struct {
    CudaHostThread seen; /* first: cuda_host_now points here */
    Fibre fibre;
    int state;
    const char *file; /* where it waits */
    int line;
    CudaHostWarp op; /* of a warp collective */
    unsigned mask;
    int arg;
    unsigned syncs;                   /* __syncwarp so far */
    unsigned long long value, result; /* of a collective */
} Thread;

typedef struct {
    unsigned arrived, left; /* lanes; those that do not exist count as left */
    char gates[2];          /* as for barriers */
} Warp;

static Thread thread[THREADS];
static Warp warp[THREADS / LANES];
static Fibre host;
static unsigned fibres;                 /* threads that have a stack */
static unsigned count, live, waiting;   /* threads of the block; not left; at the barrier */
static char gates[2];                   /* ThreadSanitizer's names of this barrier and the next */
static unsigned generation;             /* barriers so far */
static const Thread *first;             /* the first to come to the barrier */
static unsigned ready[THREADS], queued; /* a stack: the last runs next */
static const CudaHostLaunch *launch;
static char fault[512];
static uint64_t order, stream;

CudaHostThread *cuda_host_now;
uint3 cuda_host_block_index;
dim3 cuda_host_block_dim, cuda_host_grid_dim;

static inline Thread *self(void)
{
    return (Thread *)cuda_host_now;
}

/* ---- order ----------------------------------------------------------------------------------- */

void cuda_host_order(uint64_t seed)
{
    order = seed;
    stream = seed * 0x9e3779b97f4a7c15u + 1;
}

uint64_t block_order_now(void)
{
    return order;
}

/* Draws by xorshift64*, Vigna 2016; the multiply-high maps it to 0..n-1. */
uint32_t block_random(uint32_t n)
{
    stream ^= stream >> 12;
    stream ^= stream << 25;
    stream ^= stream >> 27;
    return (uint32_t)((stream * 0x2545f4914f6cdd1du >> 32) * n >> 32);
}

static void shuffle(unsigned *t, unsigned n)
{
    for (unsigned i = n; i > 1; i--) {
        unsigned j = block_random(i), swap = t[i - 1];
        t[i - 1] = t[j];
        t[j] = swap;
    }
}

/* Shuffles warp by warp: a warp stays together. */
static void shuffle_warps(unsigned *t, unsigned n)
{
    unsigned w[THREADS / LANES], warps = (n + LANES - 1) / LANES;
    for (unsigned i = 0; i < warps; i++) w[i] = i;
    shuffle(w, warps);
    for (unsigned i = 0; i < warps; i++) {
        unsigned first_lane = w[i] * LANES, lanes = n - first_lane < LANES ? n - first_lane : LANES;
        for (unsigned lane = 0; lane < lanes; lane++) t[lane] = first_lane + lane;
        shuffle(t, lanes);
        t += lanes;
    }
}

/* Makes runnable, before all others, the threads base + i, i < n, that `lanes` names (n > 32: all). */
static void release(unsigned base, unsigned n, unsigned lanes)
{
    unsigned *top = ready + queued, m = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned t = order == CUDA_HOST_FORWARD ? n - 1 - i : i;
        if (n <= LANES && !(lanes >> t & 1)) continue;
        thread[base + t].state = RUNNING;
        top[m++] = base + t;
    }
    if (order > CUDA_HOST_REVERSE && (n <= LANES || block_random(2)))
        shuffle(top, m);
    else if (order > CUDA_HOST_REVERSE)
        shuffle_warps(top, m);
    queued += m;
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void where(char *text, size_t bytes, const Thread *t)
{
    static const char *const what[] = {"runs", "waits at a barrier", "waits for its warp", "left"};
    int at = snprintf(text, bytes, "thread (%u,%u,%u) %s", t->seen.index.x, t->seen.index.y,
                      t->seen.index.z, what[t->state]);
    if (at > 0 && (size_t)at < bytes && t->state != LEFT && t->file)
        snprintf(text + at, bytes - (size_t)at, " at %s:%d", t->file, t->line);
}

void block_place(char *text, size_t bytes)
{
    uint3 b = cuda_host_block_index, t = cuda_host_now->index;
    snprintf(text, bytes, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u)", launch->name, b.x, b.y,
             b.z, t.x, t.y, t.z);
}

/* Gives up the whole block: none of its threads runs again. */
static void __attribute__((noreturn)) give_up(void)
{
    Thread *t = self();
    cuda_host_now = NULL;
    fibre_leave(&t->fibre, &host);
}

static void fail(const char *what, const Thread *a, const Thread *b)
{
    char one[200] = "", two[200] = "";
    where(one, sizeof one, a);
    if (b) where(two, sizeof two, b);
    uint3 i = cuda_host_block_index;
    snprintf(fault, sizeof fault, "kernel %s, block (%u,%u,%u): %s: %s%s%s", launch->name, i.x, i.y,
             i.z, what, one, b ? ", " : "", two);
}

/* Reports that no thread can run and one waits; names one thread of each kind. */
static void stuck(void)
{
    const Thread *at[4] = {NULL, NULL, NULL, NULL};
    for (unsigned t = count; t-- > 0;) at[thread[t].state] = &thread[t];
    char what[100];
    snprintf(what, sizeof what, "divergence, %u of %u threads wait at a barrier and %u left",
             waiting, count, count - live);
    const Thread *one = at[AT_BARRIER] ? at[AT_BARRIER] : at[IN_WARP];
    fail(what, one, at[AT_BARRIER] && at[IN_WARP] ? at[IN_WARP] : at[LEFT]);
}

void block_fault(const char *text, uintptr_t *instruction, uintptr_t *stack)
{
    snprintf(fault, sizeof fault, "%s", text);
    *instruction = (uintptr_t)give_up;
    *stack = (uintptr_t)fibre_top(&self()->fibre);
}

void cuda_host_trap(const char *file, int line)
{
    char place[200];
    block_place(place, sizeof place);
    snprintf(fault, sizeof fault, "%s: trap at %s:%d", place, file, line);
    give_up();
}

int block_inside(void)
{
    return cuda_host_now != NULL;
}

int block_overflowed(const void *address)
{
    return fibre_overflowed(&self()->fibre, address);
}

/* ---- switching ------------------------------------------------------------------------------- */

/* Lets the running thread wait (or become runnable again). */
static void yield(void)
{
    Thread *t = self();
    if (!queued) {
        stuck();
        give_up();
    }
    Thread *next = &thread[ready[--queued]];
    if (next == t) return;
    cuda_host_now = &next->seen;
    fibre_switch(&t->fibre, &next->fibre);
}

static int settle(unsigned w, unsigned mask);

/* Ends the running thread, which has returned from the kernel. */
static void __attribute__((noreturn)) leave(void)
{
    Thread *t = self();
    Warp *w = &warp[t->seen.linear / LANES];
    t->state = LEFT;
    live--;
    w->left |= 1u << t->seen.linear % LANES;
    RELEASE(&host);
    for (unsigned lanes = w->arrived; lanes; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctz(lanes);
        if (w->arrived >> lane & 1)
            settle(t->seen.linear / LANES, thread[t->seen.linear / LANES * LANES + lane].mask);
    }
    if (!queued && live) stuck();
    if (!queued) give_up();
    Thread *next = &thread[ready[--queued]];
    cuda_host_now = &next->seen;
    fibre_leave(&t->fibre, &next->fibre);
}

static void entry(void)
{
    fibre_entered();
    ACQUIRE(&launch);
    launch->thread(launch->kernel, launch->args);
    leave();
}

/* ---- barriers and warps ---------------------------------------------------------------------- */

void cuda_host_barrier(const char *file, int line)
{
    Thread *t = self();
    t->state = AT_BARRIER;
    t->file = file;
    t->line = line;
    if (waiting++ == 0) first = t;
    if (first->line != line || (first->file != file && strcmp(first->file, file) != 0)) {
        fail("divergence, threads wait at two barriers", first, t);
        give_up();
    }
    char *gate = &gates[generation & 1];
    RELEASE(gate);
    if (waiting == count) {
        waiting = 0;
        generation++;
        release(0, count, count < LANES ? (1u << count) - 1 : ~0u);
    }
    yield();
    ACQUIRE(gate);
}

/* Returns the word that `lane` reads: CUDA C++ Programming Guide, "Warp Shuffle Functions". */
static unsigned long long result(const Thread *base, unsigned lane, unsigned lanes)
{
    unsigned arg = (unsigned)base[lane].arg;
    unsigned from = (base[lane].op == CUDA_HOST_SHUFFLE ? arg : lane ^ arg) % LANES;
    return lanes >> from & 1 ? base[from].value : ~0ull;
}

/* Settles the collective of `mask` in warp w if all its lanes are there, and returns 1; else returns 0.
 * A lane that is there with another operation ends the launch. */
static int settle(unsigned w, unsigned mask)
{
    Thread *base = thread + w * LANES;
    unsigned lanes = mask & ~warp[w].left;
    const Thread *one = NULL;
    if (lanes & ~warp[w].arrived) return 0;
    for (unsigned lane = 0; lane < LANES; lane++) {
        if (!(lanes >> lane & 1)) continue;
        const Thread *t = base + lane;
        if (!one) one = t;
        if (t->mask != one->mask || t->op != one->op || t->line != one->line ||
            (t->file != one->file && strcmp(t->file, one->file) != 0)) {
            fail("divergence, lanes of a warp are in different collectives", one, t);
            give_up();
        }
    }
    for (unsigned lane = 0; lane < LANES; lane++)
        if (lanes >> lane & 1) base[lane].result = result(base, lane, lanes);
    warp[w].arrived &= ~lanes;
    release(w * LANES, LANES, lanes);
    return 1;
}

unsigned long long cuda_host_warp(CudaHostWarp op, unsigned mask, unsigned long long value, int arg,
                                  const char *file, int line)
{
    Thread *t = self();
    unsigned w = t->seen.linear / LANES, lane = t->seen.linear % LANES;
    t->state = IN_WARP;
    t->file = file;
    t->line = line;
    t->op = op;
    t->mask = mask;
    t->value = value;
    t->arg = arg;
    if (!(mask >> lane & 1)) {
        fail("a warp collective with a mask without its own lane", t, NULL);
        give_up();
    }
    warp[w].arrived |= 1u << lane;
    char *gate = op == CUDA_HOST_SYNC ? &warp[w].gates[t->syncs++ & 1] : NULL;
    if (gate) RELEASE(gate);
    settle(w, mask);
    yield();
    if (gate) ACQUIRE(gate);
    return t->result;
}

/* ---- a block --------------------------------------------------------------------------------- */

static int begin(const CudaHostLaunch *l, uint3 index)
{
    dim3 d = l->block;
    count = d.x * d.y * d.z;
    if (!host.size) fibre_host(&host);
    for (; fibres < count; fibres++)
        if (fibre_new(&thread[fibres].fibre, fibres) != 0) return -1;
    launch = l;
    live = count;
    waiting = queued = 0;
    fault[0] = 0;
    cuda_host_block_index = index;
    cuda_host_block_dim = d;
    cuda_host_grid_dim = l->grid;
    uint3 at = {0, 0, 0};
    for (unsigned t = 0; t < count; t++) {
        thread[t].seen.index = at;
        thread[t].seen.linear = t;
        thread[t].state = RUNNING;
        thread[t].file = NULL;
        thread[t].syncs = 0;
        fibre_start(&thread[t].fibre, entry);
        if (++at.x == d.x) at.x = 0, at.y++;
        if (at.y == d.y) at.y = 0, at.z++;
    }
    for (unsigned w = 0; w * LANES < count; w++) {
        unsigned lanes = count - w * LANES;
        warp[w] = (Warp){.left = lanes < LANES ? ~0u << lanes : 0};
    }
    release(0, count, count < LANES ? (1u << count) - 1 : ~0u);
    return 0;
}

const char *block_run(const CudaHostLaunch *l, uint3 index)
{
    if (begin(l, index) != 0) return "no memory for the stacks of a block";
    Thread *t = &thread[ready[--queued]];
    RELEASE(&launch);
    cuda_host_now = &t->seen;
    fibre_switch(&host, &t->fibre);
    ACQUIRE(&host);
    cuda_host_now = NULL;
    return fault[0] ? fault : NULL;
}
