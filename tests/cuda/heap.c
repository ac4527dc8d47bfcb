/* heap.c: see runtime.h. One large range is reserved without access; an allocation takes its next pages
 * and one page more, which stays inaccessible. Addresses are never given twice, so that a use after
 * cudaFree meets an inaccessible page too. The bytes between the end of an allocation and its page's,
 * and those before its start, hold 0xff and are checked after each kernel; under AddressSanitizer they
 * are poisoned instead. */
#include "tests/cuda/runtime.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
enum { POISON = 1 };
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
enum { POISON = 0 };
#endif

enum { PAGE = 4096, ALIGN = 256, BLOCKS = 65536 };
static const size_t RANGE = (size_t)1 << 38; /* 256 GiB of addresses, no memory */

typedef struct {
    char *page, *start; /* first page; what the caller sees */
    size_t bytes, span; /* asked for; of whole pages */
    int open;
} Block;

static char *base, *next;   /* of the range; first address never given */
static Block block[BLOCKS]; /* live ones, by address */
static size_t blocks;
static Block *opened[BLOCKS];
static size_t open_now;

static int reserve(void)
{
    void *p = mmap(NULL, RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return -1;
    base = p;
    next = base + PAGE;
    return 0;
}

static int allow(const Block *b, int access)
{
    return mprotect(b->page, b->span, access);
}

void *heap_new(size_t bytes)
{
    size_t limit = cuda_host.memory, used = cuda_seen.live_bytes;
    if (bytes > limit || used > limit - bytes || blocks == BLOCKS) return NULL;
    if (!base && reserve() != 0) return NULL;
    size_t rounded = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (rounded == 0) rounded = ALIGN;
    size_t span = (rounded + PAGE - 1) / PAGE * PAGE;
    if (span > RANGE - PAGE - (size_t)(next - base)) return NULL;
    Block b = {.page = next, .start = next + span - rounded, .bytes = bytes, .span = span};
    if (allow(&b, PROT_READ | PROT_WRITE) != 0) return NULL;
    memset(b.page, 0xff, span);
    ASAN_POISON_MEMORY_REGION(b.page, span);
    ASAN_UNPOISON_MEMORY_REGION(b.start, bytes);
    allow(&b, PROT_NONE);
    next += span + PAGE;
    block[blocks++] = b;
    cuda_seen.live = blocks;
    cuda_seen.live_bytes += bytes;
    return b.start;
}

/* Returns the live allocation whose pages hold p, or NULL. */
static Block *find(const void *p)
{
    const char *at = p;
    size_t low = 0, high = blocks;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (at < block[mid].page)
            high = mid;
        else if (at > block[mid].page + block[mid].span)
            low = mid + 1;
        else
            return &block[mid];
    }
    return NULL;
}

int heap_free(void *p)
{
    Block *b = find(p);
    if (!b || b->start != (char *)p) return -1;
    ASAN_UNPOISON_MEMORY_REGION(b->page, b->span);
    madvise(b->page, b->span, MADV_DONTNEED);
    allow(b, PROT_NONE);
    cuda_seen.live_bytes -= b->bytes;
    cuda_seen.live = --blocks;
    memmove(b, b + 1, (size_t)(block + blocks - b) * sizeof *b);
    return 0;
}

int heap_holds(const void *p, size_t n)
{
    const Block *b = find(p);
    const char *at = p;
    return b && at >= b->start && n <= b->bytes && at <= b->start + (b->bytes - n);
}

int heap_owns(const void *p)
{
    return base && (const char *)p >= base && (const char *)p < base + RANGE;
}

void heap_describe(const void *p, char *text, size_t bytes)
{
    const char *at = p;
    const Block *near = NULL;
    for (size_t i = 0; i < blocks; i++) {
        const Block *b = &block[i];
        if (at >= b->page && at < b->page + b->span + PAGE) near = b;
        if (!near && at < b->page && at >= b->page - PAGE) near = b;
    }
    if (!near)
        snprintf(text, bytes, "an address of the device where nothing is allocated (freed?)");
    else if (at < near->start)
        snprintf(text, bytes, "%zu bytes before a device allocation of %zu bytes",
                 (size_t)(near->start - at), near->bytes);
    else if (at >= near->start + near->bytes)
        snprintf(text, bytes, "%zu bytes past the end of a device allocation of %zu bytes",
                 (size_t)(at - near->start) - near->bytes, near->bytes);
    else
        snprintf(text, bytes, "byte %zu of a device allocation of %zu bytes",
                 (size_t)(at - near->start), near->bytes);
}

int heap_open(const void *p)
{
    Block *b = find(p);
    if (!b || b->open) return 0;
    b->open = 1;
    opened[open_now++] = b;
    return allow(b, PROT_READ | PROT_WRITE) == 0;
}

void heap_close(void)
{
    while (open_now > 0) {
        Block *b = opened[--open_now];
        b->open = 0;
        allow(b, PROT_NONE);
    }
}

static int blank(const char *p, size_t n)
{
    return n == 0 || ((unsigned char)p[0] == 0xff && memcmp(p, p + 1, n - 1) == 0);
}

static int spoiled(const Block *b)
{
    const char *end = b->start + b->bytes;
    size_t before = (size_t)(b->start - b->page);
    if (before > ALIGN) before = ALIGN;
    return !blank(b->start - before, before) || !blank(end, (size_t)(b->page + b->span - end));
}

const void *heap_spoiled(void)
{
    for (size_t i = 0; i < open_now && !POISON; i++)
        if (spoiled(opened[i])) return opened[i]->start;
    return NULL;
}
