/* error.c: the list of error.h as two look-ups, and the line of words of each thread. */
#include "kernels/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/plain_text.h"

static _Thread_local char text[1024];

static const struct {
    int code, status;
    const char *name;
} list[] = {
#define X(name, value, status, text) {value, status, text},
    ERROR_LIST(X)
#undef X
};

int error_set(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text[text_harmless(text, strlen(text))] = '\0';
    for (char *c = text; *c; c++)
        if (*c == '\n' || *c == '\t') *c = '?'; /* one line, whatever the input held */
    return code;
}

const char *error_text(void)
{
    return text;
}

const char *error_name(int code)
{
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].code == code) return list[i].name;
    return "unknown error";
}

int error_status(int code)
{
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].code == code) return list[i].status;
    return 1;
}
