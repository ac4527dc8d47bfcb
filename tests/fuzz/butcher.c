/* butcher.c: a tableau (ode/scheme/butcher.c): an accepted tableau prints in both forms, and reads back as an equal table if
 * it is exact. */
#include "tests/fuzz/tables.h"

static void round_trip(const Table *t, int form)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    FUZZ_CHECK(f != NULL);
    int printed = butcher_print(t, form, f);
    FUZZ_CHECK(fclose(f) == 0);
    if (printed == 0 && t->exact) reads_back(t, butcher_parse, text, bytes);
    free(text);
}

FUZZ()
{
    Table **list = NULL;
    size_t count = 0;
    butcher_is((const char *)data, size);
    if (butcher_parse("input", (const char *)data, size, &list, &count) == 0)
        for (int form = BUTCHER_JSON; form <= BUTCHER_DRAWN; form++) round_trip(list[0], form);
    tables_free(list, count);
}
