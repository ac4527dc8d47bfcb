/* typed.c: a program that tells of the schemes on its standard input, for `make site`; compiled for browsers, its function
 * `typed` does that in a page. Usage: typed check|region|star < TEXT. Status 2: the text is unusable, as a line says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/base/output.h"
#include "studies/page/told/told.h"

static int tell(const char *what, const char *text, size_t most, FILE *f)
{
    SCOPED(select_close) Selection s = {0};
    TRY(told_read(text, most, &s));
    if (strcmp(what, "check") == 0) return told_schemes(&s, f);
    return told_region(&s, strcmp(what, "star") == 0 ? PLANE_STAR : PLANE_LAMBDA, f);
}

/* Returns a digit, 1 where the text is told of, and the answer, or the line on what is wrong; it lives until the next call. */
const char *typed(const char *what, const char *text);
const char *typed(const char *what, const char *text)
{
    static Output o;
    output_drop(&o);
    if (output_open(&o) != 0) return "0out of memory";
    fputc('1', o.f);
    if (tell(what, text, TOLD_STAGES, o.f) != 0) {
        rewind(o.f);
        fprintf(o.f, "0%s%c", error_text(), 0);
    }
    return fflush(o.f) == 0 ? o.text : "0out of memory";
}

#ifndef __EMSCRIPTEN__
int main(int count, char **argument)
{
    char *text;
    size_t bytes;
    if (count != 2 || output_read("/dev/stdin", &text, &bytes) != 0) return 2;
    int code = tell(argument[1], text, 0, stdout);
    if (code != 0) fprintf(stderr, "%s\n", error_text());
    memory_free(text);
    return code == 0 && fflush(stdout) == 0 ? 0 : 2;
}
#endif
