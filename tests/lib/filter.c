/* filter.c: CMOCKA_FILTER, a pattern (*, ?) of the names of tests, in every test program. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

__attribute__((constructor)) static void filter(void)
{
    const char *pattern = getenv("CMOCKA_FILTER");
    if (pattern) cmocka_set_test_filter(pattern);
}
