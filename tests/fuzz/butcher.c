/* butcher.c: a tableau (ode/scheme/butcher.c): an accepted tableau prints in both forms, and reads back as an equal table if
 * it is exact. */
#include "ode/ode.h"
#include "tests/fuzz/fuzz.h"

static void free_all(Table **list, size_t count)
{
    for (size_t i = 0; i < count; i++) table_free(list[i]);
    memory_free(list);
}

static void round_trip(const Table *t, int form)
{
    char *text = NULL;
    size_t bytes, count = 0;
    Table **again = NULL;
    FILE *f = open_memstream(&text, &bytes);
    FUZZ_CHECK(f != NULL);
    int printed = butcher_print(t, form, f);
    FUZZ_CHECK(fclose(f) == 0);
    if (printed == 0 && t->exact) {
        int code = butcher_parse("printed", text, bytes, &again, &count);
        if (code != 0) fprintf(stderr, "%s\n%s", error_text(), text);
        FUZZ_CHECK(code == 0 && count == 1 && table_equal(t, again[0]));
    }
    free_all(again, count);
    free(text);
}

FUZZ()
{
    Table **list = NULL;
    size_t count = 0;
    butcher_is((const char *)data, size);
    if (butcher_parse("input", (const char *)data, size, &list, &count) == 0)
        for (int form = BUTCHER_JSON; form <= BUTCHER_DRAWN; form++) round_trip(list[0], form);
    free_all(list, count);
}
