/* words.c: distinct words and their counts, by a table of their hashes; nothing is ever removed. */
#include "nn/text/corpus.h"

#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/base/hash.h"

/* Returns the number of a word, or -1; *key is where it stands, or belongs: the next one where another word has its
 * hash. */
static int32_t find(const Words *w, const char *text, size_t bytes, uint64_t *key)
{
    for (*key = hash_bytes(HASH_START, text, bytes) >> 1;; ++*key) {
        uint32_t i = numbers_find(&w->number, *key, UINT32_MAX);
        if (i == UINT32_MAX) return -1;
        const Word *x = &w->word[i];
        if (x->bytes == bytes && memcmp(x->text, text, bytes) == 0) return (int32_t)i;
    }
}

int words_add(Words *w, const char *text, size_t bytes, uint64_t count)
{
    uint64_t key;
    int32_t i = find(w, text, bytes, &key);
    if (i < 0) {
        if (w->size == INT32_MAX)
            return error_set(ERR_INPUT, "more than %d distinct words", INT32_MAX);
        TRY(memory_more(&w->word, w->size, sizeof *w->word));
        if (!numbers_place(&w->number, key, (uint32_t)w->size)) return ERR_MEMORY;
        i = (int32_t)w->size++;
        w->word[i] = (Word){text, bytes, 0};
    }
    w->word[i].count += count;
    return 0;
}

int words_own(Words *w, const char *text, size_t bytes, const char *behind)
{
    size_t more = strlen(behind), known = w->size;
    char *own = memory_new(bytes + more + 1, 1);
    if (!own) return ERR_MEMORY;
    memcpy(own, text, bytes);
    memcpy(own + bytes, behind, more);
    int code = words_add(w, own, bytes + more, 1);
    if (code || w->size == known) memory_free(own);
    return code;
}

void words_free_own(Words *w)
{
    for (size_t i = 0; i < w->size; i++) memory_free((char *)w->word[i].text);
    words_free(w);
}

int32_t words_find(const Words *w, const char *text, size_t bytes)
{
    uint64_t key;
    return find(w, text, bytes, &key);
}

int words_compare(const Word *a, const Word *b)
{
    int order = memcmp(a->text, b->text, a->bytes < b->bytes ? a->bytes : b->bytes);
    return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

void words_free(Words *w)
{
    memory_free(w->word);
    numbers_free(&w->number);
    *w = (Words){0};
}
