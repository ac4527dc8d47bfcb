/* name.c: names of schemes (ode/scheme/zoo.c), as in --scheme, a scheme file or a model: patterns, suffixes,
 * lists of them. */
#include "ode/ode.h"
#include "tests/fuzz/fuzz.h"

enum { NAME_MOST = 120 };

static Zoo zoo;

FUZZ(if (!zoo.count) FUZZ_CHECK(zoo_open(&zoo) == 0))
{
    char name[NAME_MOST + 1];
    Table **list;
    if (size > NAME_MOST) return;
    memcpy(name, data, size);
    name[size] = '\0';
    size_t count;
    if (zoo_list(&zoo, name, "euler", &list, &count) == 0) {
        for (size_t i = 0; i < count; i++) table_free(list[i]);
        memory_free(list);
    }
}
