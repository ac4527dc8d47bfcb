/* test.h: cmocka behind the headers that it asks for, and those of the C library that most tests need. Every test
 * program begins with it. */
#ifndef TROTTER_TESTS_TEST_H
#define TROTTER_TESTS_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#endif
