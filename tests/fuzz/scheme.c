/* scheme.c: scheme text (ode/scheme/scheme.c, ode/scheme/expression.c): an accepted text prints as one that parses to an
 * equal table. */
#include "ode/ode.h"
#include "tests/fuzz/fuzz.h"

static void free_all(Table **list, size_t count)
{
    for (size_t i = 0; i < count; i++) table_free(list[i]);
    memory_free(list);
}

static void round_trip(const Table *t)
{
    char *text = NULL;
    size_t bytes, count = 0;
    Table **again = NULL;
    FILE *f = open_memstream(&text, &bytes);
    FUZZ_CHECK(f && table_print(t, f) == 0 && fclose(f) == 0);
    int code = scheme_parse("printed", text, bytes, &again, &count);
    if (code != 0) fprintf(stderr, "%s\n%s", error_text(), text);
    FUZZ_CHECK(code == 0 && count == 1 && table_equal(t, again[0]));
    free_all(again, count);
    free(text);
}

FUZZ()
{
    Table **list = NULL;
    size_t count = 0;
    if (scheme_parse("input", (const char *)data, size, &list, &count) == 0)
        for (size_t i = 0; i < count; i++) round_trip(list[i]);
    free_all(list, count);
}
