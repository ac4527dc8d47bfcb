/* source.c: tableaus in the sources of other programs (ode/scheme/source_values.c, source_tables.c). The first byte says the
 * language: c, j, or Python. What is read of a source prints for each program that has a place for it, and is read again. */
#include "ode/ode.h"
#include "tests/fuzz/fuzz.h"

/* Julia's form has every number: an exact table reads back as an equal one. Others leave out what is 0. */
static void round_trip(const Table *t, int form)
{
    static const char *const ends[SOURCE_FORMS] = {"a.c", "a.jl", "a.py", "a.py", "a.py"};
    char *text = NULL;
    size_t bytes, count = 0;
    SourceTable *again = NULL;
    FILE *f = open_memstream(&text, &bytes);
    FUZZ_CHECK(f != NULL);
    int printed = source_print(t, form, 3, t->pair ? 2 : 0, f);
    FUZZ_CHECK(fclose(f) == 0);
    if (printed == 0) {
        int code = source_read(ends[form], text, bytes, &again, &count);
        FUZZ_CHECK(code == 0 && count <= 1);
    }
    if (printed == 0 && t->exact && form == SOURCE_SCIML) {
        FUZZ_CHECK(count == 1);
        if (again[0].refused[0]) fprintf(stderr, "%s\n%s", again[0].refused, text);
        FUZZ_CHECK(again[0].table);
        table_rename(again[0].table, "drawn");
        if (!table_equal(t, again[0].table)) fprintf(stderr, "%s", text);
        FUZZ_CHECK(table_equal(t, again[0].table));
    }
    source_free(again, count);
    free(text);
}

FUZZ()
{
    SourceTable *list = NULL;
    size_t count = 0;
    if (size == 0) return;
    const char *file = data[0] == 'c' ? "input.c" : data[0] == 'j' ? "input.jl" : "input.py";
    int code = source_read(file, (const char *)data + 1, size - 1, &list, &count);
    for (size_t i = 0; code == 0 && i < count; i++)
        for (int form = 0; list[i].table && form < SOURCE_FORMS; form++) {
            table_rename(list[i].table, "drawn"); /* and not "b", which has a meaning */
            round_trip(list[i].table, form);
        }
    source_free(list, count);
}
