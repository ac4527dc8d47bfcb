/* compare.h: options of a small study for the tests of `trotter compare` on a corpus of one language. */
#ifndef TROTTER_TEST_COMPARE_H
#define TROTTER_TEST_COMPARE_H

#include "tests/lib/study.h"

#define MEASURED MODEL "--system linear "
#define ANY_TEXT NETWORK "--inner 16 --system linear --truncation 0 "
#define TINY ANY_TEXT "--corpus text "

#endif
