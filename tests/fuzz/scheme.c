/* scheme.c: scheme text (ode/scheme/scheme.c, ode/scheme/expression.c): an accepted text prints as one that parses to an
 * equal table. */
#include "tests/fuzz/tables.h"

static void round_trip(const Table *t)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    FUZZ_CHECK(f && table_print(t, f) == 0 && fclose(f) == 0);
    reads_back(t, scheme_parse, text, bytes);
    free(text);
}

FUZZ()
{
    Table **list = NULL;
    size_t count = 0;
    if (scheme_parse("input", (const char *)data, size, &list, &count) == 0)
        for (size_t i = 0; i < count; i++) round_trip(list[i]);
    tables_free(list, count);
}
