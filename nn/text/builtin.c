/* builtin.c: holds the King James text inside the program, so that examples need no file. The
 * assembler reads nn/kjv/ (paths from the repository's root); see nn/kjv/README. */
#include "kernels/base/plain_text.h"
#include "nn/text/corpus.h"

TEXT_EMBED(builtin_train, "nn/kjv/kjv.train.txt");
TEXT_EMBED(builtin_valid, "nn/kjv/kjv.valid.txt");
TEXT_EMBED(builtin_test, "nn/kjv/kjv.test.txt");
TEXT_EMBED(builtin_legend, "nn/kjv/copyright");

static BpeText window(const char *file, const char *begin, const char *end)
{
    return (BpeText){file, begin, (size_t)(end - begin), 0};
}

BpeText builtin_kjv(int split)
{
    switch (split) {
    case SPLIT_TRAIN: return window("kjv.train.txt", builtin_train, builtin_train_end);
    case SPLIT_VALID: return window("kjv.valid.txt", builtin_valid, builtin_valid_end);
    default: return window("kjv.test.txt", builtin_test, builtin_test_end);
    }
}

BpeText builtin_kjv_legend(void)
{
    return window("copyright", builtin_legend, builtin_legend_end);
}
