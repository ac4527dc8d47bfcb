/* schemes.h: the zoo, and tables and systems by a word: what cannot be had fails the test.
 * zoo_begin and zoo_end are the group's set-up and tear-down. */
#ifndef TROTTER_TEST_SCHEMES_H
#define TROTTER_TEST_SCHEMES_H

#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/ode.h"
#include "tests/lib/test.h"

static Zoo zoo;

static inline int zoo_begin(void **state)
{
    (void)state;
    return zoo_open(&zoo);
}

/* Whatever a test forgot to free fails the group. */
static inline int zoo_end(void **state)
{
    (void)state;
    zoo_close(&zoo);
    return memory_live() != 0;
}

/* The table of a text: statements, with or without "scheme NAME" before them. */
static inline Table *scheme_of_text(const char *text)
{
    char whole[8192];
    Table **list = NULL, *t;
    size_t count = 0;
    int n = snprintf(whole, sizeof whole, "%s%s\n",
                     strncmp(text, "scheme ", 7) == 0 ? "" : "scheme a\n", text);
    assert_in_range(n, 1, sizeof whole - 1);
    if (scheme_parse("text", whole, (size_t)n, &list, &count) != 0)
        fail_msg("%s: %s", text, error_text());
    assert_int_equal(count, 1);
    t = list[0];
    memory_free(list);
    return t;
}

/* A table by its name in the zoo, or of a text (which has blanks, and no name has); symbols stay. */
static inline Table *scheme(const char *text)
{
    Table *t = NULL;
    if (strchr(text, ' ')) return scheme_of_text(text);
    if (zoo_find(&zoo, text, "exact", &t) != 0) fail_msg("%s: %s", text, error_text());
    return t;
}

/* The same with every symbol at its starting value. */
static inline Table *frozen(const char *text)
{
    Table *t = scheme(text), *f = table_freeze(t);
    assert_non_null(f);
    table_free(t);
    return f;
}

/* A particle system of its own size. */
static inline System *make(const char *name)
{
    System *s = NULL;
    if (system_new(name, 0, 0, 3, &s) != 0) fail_msg("%s: %s", name, error_text());
    return s;
}

#endif
