/* tables.h: tables that are printed and read again, for fuzzing. */
#ifndef TROTTER_FUZZ_TABLES_H
#define TROTTER_FUZZ_TABLES_H

#include "ode/ode.h"
#include "tests/fuzz/fuzz.h"

typedef int Parse(const char *file, const char *text, size_t bytes, Table ***list, size_t *count);

static inline void tables_free(Table **list, size_t count)
{
    for (size_t i = 0; i < count; i++) table_free(list[i]);
    memory_free(list);
}

/* Checks that a printed text gives the table again. */
static inline void reads_back(const Table *t, Parse *parse, const char *text, size_t bytes)
{
    size_t count = 0;
    Table **again = NULL;
    int code = parse("printed", text, bytes, &again, &count);
    if (code != 0) fprintf(stderr, "%s\n%s", error_text(), text);
    FUZZ_CHECK(code == 0 && count == 1 && table_equal(t, again[0]));
    tables_free(again, count);
}

#endif
