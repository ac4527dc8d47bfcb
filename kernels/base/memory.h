/* memory.h: all allocations of the library go through here, so that tests can make each one fail
 * once. */
#ifndef TROTTER_MEMORY_H
#define TROTTER_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates n objects of `size` bytes, zeroed, 64-byte aligned; NULL (with error_set) when n * size
 * overflows or memory is short. n = 0 gives a valid pointer. Free with memory_free. */
void *memory_new(size_t n, size_t size);

/* Grows p, of `old` objects, to n > old; new ones are zeroed. p stays valid where NULL is returned. */
void *memory_grow(void *p, size_t old, size_t n, size_t size);

/* Makes room for one object more in *list (a pointer's address), which has n and was never grown otherwise: room for 1,
 * 2, 4, .. objects. After ERR_MEMORY the list is as it was. */
int memory_more(void *list, size_t n, size_t size);

/* Appends an item to such a list; n grows by one. 0 or ERR_MEMORY (error.h). */
#define memory_add(list, n, ...)                                 \
    (memory_more(&(list), (n), sizeof *(list)) != 0 ? ERR_MEMORY \
                                                    : ((void)((list)[(n)++] = __VA_ARGS__), 0))

/* Returns a copy of a string, or NULL. */
char *memory_string(const char *s);

/* Frees p (NULL is allowed); always returns NULL: p = memory_free(p). */
void *memory_free(void *p);

/* Frees the pointers listed, in their order. */
#define memory_free_all(...) \
    memory_free_list(sizeof((void *[]){__VA_ARGS__}) / sizeof(void *), (void *[]){__VA_ARGS__})
void memory_free_list(size_t n, void *const p[]);

/* Makes the k-th allocation from now fail (k = 1: the next; 0: none), for tests. */
void memory_fail_at(size_t k);

/* Return the allocations alive now, the calls made since the program began, and those that got no memory. */
size_t memory_live(void);
size_t memory_calls(void);
size_t memory_refused(void);

#ifdef __cplusplus
}
#endif
#endif
