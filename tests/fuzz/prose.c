/* Notes (studies/report/prose.c): whatever the text, its tags are balanced and none of its own. */
#include "studies/report/prose.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/html.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *out = NULL, *text = malloc(size + 1);
    size_t bytes = 0;
    FUZZ_CHECK(text);
    for (int tables = 0; tables < 2; tables++) {
        memcpy(text, data, size);
        text[size] = '\0';
        FILE *f = open_memstream(&out, &bytes);
        FUZZ_CHECK(f);
        int more = prose_write(f, text, 100, tables);
        FUZZ_CHECK(more == 0 || more == 1);
        FUZZ_CHECK(fclose(f) == 0);
        FUZZ_CHECK(!html_unbalanced(out) && !html_reaching_out(out));
        free(out);
    }
    free(text);
    return 0;
}
