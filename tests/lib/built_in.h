/* built_in.h: a built-in scheme by its name. What cannot be found fails the test. */
#ifndef TROTTER_TESTS_BUILT_IN_H
#define TROTTER_TESTS_BUILT_IN_H
#include "kernels/scoped.h"
#include "ode/ode.h"
#include "tests/lib/test.h"
#define OWN_TABLE SCOPED(table_drop) Table
/* The caller frees it. */
static inline Table *built_in(const char *name, const char *solver)
{
    SCOPED(zoo_close) Zoo z = {0};
    Table *t;
    assert_int_equal(zoo_open(&z), 0);
    assert_int_equal(zoo_find(&z, name, solver, &t), 0);
    return t;
}

#endif
