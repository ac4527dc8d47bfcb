/* worst.c: the slowest input of a harness and the one that takes most memory. Under libFuzzer they are kept in the folder
 * that FUZZ_WORST names, whose inputs are tried first the next time. Memory is counted where a sanitizer counts it. */
#include <errno.h>
#include <time.h>

#include "tests/fuzz/fuzz.h"

int fuzz_planted;

enum { TIME, MEMORY, KINDS, LOOK = 1 << 16 };
static const char *const kind[KINDS] = {"slowest", "largest"};

static double most[KINDS]; /* ms, MiB */
static size_t before, made, seen,
    peak; /* bytes: allocated when an input began; since; at the last look; most */
static struct timespec begun;

/* Functions of the sanitizers' run-time library (sanitizer/allocator_interface.h). */
int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void *, size_t),
                                              void (*)(const volatile void *))
    __attribute__((weak));
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* Looks after each LOOK bytes, so the peak is that many too low at most. */
static void on_malloc(const volatile void *p, size_t size)
{
    (void)p;
    made += size;
    if (made - seen < LOOK) return;
    seen = made;
    size_t held = __sanitizer_get_current_allocated_bytes();
    if (held > before && held - before > peak) peak = held - before;
}

static void on_free(const volatile void *p)
{
    (void)p;
}

static void tell(void)
{
    fprintf(stderr, "stat::slowest_ms: %.0f\nstat::largest_MiB: %.0f\n", most[TIME], most[MEMORY]);
}

/* Keeps an input that takes a tenth more than any before. */
static void keep(int k, double x, const uint8_t *data, size_t size)
{
    char path[512];
    const char *dir = getenv("FUZZ_WORST");
    if (x < 1.1 * most[k] || x < 1) return;
    most[k] = x;
    if (!dir) return;
    snprintf(path, sizeof path, "%s/%s-%s", dir, program_invocation_short_name, kind[k]);
    FILE *f = fopen(path, "wb");
    FUZZ_CHECK(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

void fuzz_begin(void)
{
    static int ready;
    if (!ready && __sanitizer_install_malloc_and_free_hooks)
        __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    if (!ready && getenv("FUZZ_WORST")) atexit(tell);
    if (!ready && getenv("FUZZ_PLANTED")) fuzz_planted = 1;
    ready = 1;
    made = seen = peak = 0;
    if (__sanitizer_get_current_allocated_bytes) before = __sanitizer_get_current_allocated_bytes();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
}

void fuzz_end(const uint8_t *data, size_t size)
{
    struct timespec now;
    size_t bytes = peak;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    keep(TIME,
         1e3 * (double)(now.tv_sec - begun.tv_sec) + 1e-6 * (double)(now.tv_nsec - begun.tv_nsec),
         data, size);
    keep(MEMORY, (double)bytes / (1 << 20), data, size);
    FUZZ_CHECK(bytes <= (size_t)1 << 30);
}
