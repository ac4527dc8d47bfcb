/* need.h: programs that a test runs and a machine may lack. */
#ifndef TROTTER_TEST_NEED_H
#define TROTTER_TEST_NEED_H

#include "tests/lib/test.h"

static inline int has_tool(const char *name)
{
    char line[256];
    snprintf(line, sizeof line, "command -v %s >/dev/null", name);
    return system(line) == 0;
}

/* Skips the test, and says so, where there is no such program. */
static inline void need_tool(const char *name)
{
    if (has_tool(name)) return;
    print_message("# SKIP no %s here\n", name);
    skip();
}

#endif
