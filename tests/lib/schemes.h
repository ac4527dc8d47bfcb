/* schemes.h: the zoo, and tables and systems by a word. A word that names none fails the test.
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

/* Closes the zoo and fails the group if a test forgot to free something. */
static inline int zoo_end(void **state)
{
    (void)state;
    zoo_close(&zoo);
    return memory_live() != 0;
}

/* Returns the table of a text: statements, with or without "scheme NAME" before them. */
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

/* Returns a table by its name in the zoo, or of a text. A text has blanks, a name has none. Symbols
 * stay. */
static inline Table *scheme(const char *text)
{
    Table *t = NULL;
    if (strchr(text, ' ')) return scheme_of_text(text);
    if (zoo_find(&zoo, text, "exact", &t) != 0) fail_msg("%s: %s", text, error_text());
    return t;
}

/* Returns the same table with every symbol at its starting value. */
static inline Table *frozen(const char *text)
{
    Table *t = scheme(text), *f = table_freeze(t);
    assert_non_null(f);
    table_free(t);
    return f;
}

/* Makes a particle system of its default size. */
static inline System *make(const char *name)
{
    System *s = NULL;
    if (system_new(name, 0, 0, 3, &s) != 0) fail_msg("%s: %s", name, error_text());
    return s;
}

#endif
