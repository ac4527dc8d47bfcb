/* Drawings (studies/report/svg.c): what is accepted comes out as balanced tags that reach nothing outside. */
#include "studies/report/svg.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/html.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *out = NULL;
    size_t bytes = 0, live = memory_live();
    FILE *f = open_memstream(&out, &bytes);
    FUZZ_CHECK(f);
    int code = svg_write("a.svg", (const char *)data, size, "f1-", "a <title>", f);
    FUZZ_CHECK(fclose(f) == 0);
    FUZZ_CHECK(code == 0 ? strncmp(out, "<svg", 4) == 0 : bytes == 0);
    FUZZ_CHECK(strlen(out) == bytes);
    FUZZ_CHECK(!html_unbalanced(out) && !html_reaching_out(out));
    free(out);
    FUZZ_CHECK(memory_live() == live);
    return 0;
}
