/* fibre.c: see fibre.h. The switch pushes the six registers that a callee must keep, exchanges stack
 * pointers and pops. x87 and SSE control words are the same for all fibres, so it does not save
 * them. */
#include "tests/cuda/fibre.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#if !defined(__x86_64__)
#error "the fibres of the CUDA stand-in are written for x86-64"
#endif

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef CUDA_HOST_RACE
#include <sanitizer/tsan_interface.h>
#endif

enum { GUARD = 64 * 1024, FRAME = 8 }; /* a frame: six registers, return address, zero */

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

int fibre_new(Fibre *f, size_t number)
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

void fibre_free(Fibre *f)
{
#ifdef CUDA_HOST_RACE
    __tsan_destroy_fiber(f->tsan);
#endif
    munmap(f->low - GUARD, GUARD + f->size);
}

void fibre_host(Fibre *f)
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

void *fibre_top(const Fibre *f)
{
    uintptr_t top = (uintptr_t)(f->low + f->size - f->colour) & ~(uintptr_t)15;
    return (void *)(top - 8); /* as a call would leave it: 8 below a multiple of 16 */
}

void fibre_start(Fibre *f, void (*entry)(void))
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

void fibre_switch(Fibre *from, Fibre *to)
{
    change(from, to, &from->fake);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
#endif
}

void fibre_leave(Fibre *from, Fibre *to)
{
    change(from, to, NULL);
    __builtin_unreachable();
}

void fibre_entered(void)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
}

int fibre_overflowed(const Fibre *f, const void *address)
{
    return (const char *)address < f->low && (const char *)address >= f->low - GUARD;
}
