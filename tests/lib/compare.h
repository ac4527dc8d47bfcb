/* compare.h: parts for the tests of `trotter compare` on a corpus of one language: options of a study, and checks of
 * refusals. */
#ifndef TROTTER_TEST_COMPARE_H
#define TROTTER_TEST_COMPARE_H

#include "tests/lib/study.h"

#define MEASURED MODEL "--system linear "
#define ANY_TEXT NETWORK "--inner 16 --system linear --truncation 0 "
#define TINY ANY_TEXT "--corpus text "

/* Opens the folder and writes the corpus. */
static inline int compare_open(void **state)
{
    if (program_open(state) != 0) return -1;
    write_corpus("text", NULL);
    return 0;
}

static inline void refuse(const char *args, const char *words)
{
    int status = program_run(args);
    if (status != 2 || !strstr(err, words)) fail_msg("%s: status %d: %s", args, status, err);
}

#endif
