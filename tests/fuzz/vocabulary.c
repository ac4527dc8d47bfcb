/* vocabulary.c: vocabulary files (nn/text/vocab.c): an accepted file has an id a line and finds each of its
 * words. */
#include "nn/text/corpus.h"
#include "tests/fuzz/fuzz.h"

FUZZ()
{
    Vocab v;
    size_t lines = 0;
    if (vocab_read(fuzz_file(data, size), &v) == 0) {
        for (size_t i = 0; i < size; i++) lines += data[i] == '\n' || i + 1 == size;
        FUZZ_CHECK(v.size == lines && strcmp(v.word[v.eos], WORD_EOS) == 0);
        for (size_t i = 0; i < v.size; i++)
            FUZZ_CHECK(vocab_find(&v, v.word[i], strlen(v.word[i])) == (int32_t)i);
        vocab_free(&v);
    }
}
