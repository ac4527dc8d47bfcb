/* typed.c: a program that tells of the schemes on its standard input, for `make site`. Usage: typed check|region|star < TEXT.
 * Status 2: the text is unusable, as a line says. In a page (wasm.sh) its function typed_tell does the same. */
#include <stdio.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/base/output.h"
#include "studies/page/told/told.h"

static int tell(const char *what, const char *text, FILE *f)
{
    SCOPED(select_close) Selection s = {0};
    TRY(told_read(text, 0, &s));
    if (strcmp(what, "check") == 0) return told_schemes(&s, f);
    return told_region(&s, strcmp(what, "star") == 0 ? PLANE_STAR : PLANE_LAMBDA, f);
}

/* Returns what the program prints; NULL: the text is unusable, as error_text says. Caller: memory_free. */
char *typed_tell(const char *what, const char *text);
char *typed_tell(const char *what, const char *text)
{
    Output o;
    char *told = NULL;
    if (output_open(&o) != 0) return NULL;
    output_take(&o, tell(what, text, o.f), &told);
    return told;
}

int main(int count, char **argument)
{
    char *text;
    size_t bytes;
    if (count != 2 || output_read("/dev/stdin", &text, &bytes) != 0) return 2;
    int code = tell(argument[1], text, stdout);
    if (code != 0) fprintf(stderr, "%s\n", error_text());
    memory_free(text);
    return code == 0 && fflush(stdout) == 0 ? 0 : 2;
}
