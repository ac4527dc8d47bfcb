/* option_check.c: checks the text of an option's value by its type, and says what is expected. */
#include "studies/tools/option_check.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_size(const Option *p, const char *text)
{
    if (!*text || strspn(text, "0123456789") != strlen(text)) return 0;
    errno = 0;
    unsigned long long n = strtoull(text, NULL, 10);
    return errno == 0 && n <= SIZE_MAX && (double)n >= p->low && (double)n <= p->high;
}

static int is_real(const Option *p, const char *text)
{
    if (!*text || strspn(text, "0123456789.eE+-") != strlen(text)) return 0;
    char *end;
    double x = strtod(text, &end);
    return *end == '\0' && isfinite(x) && x >= p->low && x <= p->high;
}

int option_part(const char *text, size_t i, char out[32])
{
    for (; i > 0; i--) {
        text = strchr(text, ',');
        if (!text) return 0;
        text++;
    }
    size_t n = strcspn(text, ",");
    if (n >= 32) return 0;
    memcpy(out, text, n);
    out[n] = '\0';
    return 1;
}

static int are_parts(int (*is)(const Option *p, const char *text), const Option *p,
                     const char *text)
{
    char at[32];
    size_t commas = 0, n = 0;
    for (const char *c = text; *c; c++) commas += *c == ',';
    while (option_part(text, n, at) && is(p, at)) n++;
    return n == commas + 1;
}

int option_index(const char *values, const char *text)
{
    size_t n = strlen(text);
    int index = 0;
    for (const char *v = values; v; v = strchr(v, '|') ? strchr(v, '|') + 1 : NULL, index++)
        if (n > 0 && strncmp(v, text, n) == 0 && (v[n] == '|' || v[n] == '\0')) return index;
    return -1;
}

void option_value(const char *values, int index, char out[OPTION_VALUE])
{
    const char *v = values;
    for (int i = 0; v && i < index; i++) v = strchr(v, '|') ? strchr(v, '|') + 1 : NULL;
    snprintf(out, OPTION_VALUE, "%.*s", v ? (int)strcspn(v, "|") : 0, v ? v : "");
}

static const char flag_words[] = "no|yes|false|true|0|1";

int option_yes(const char *text)
{
    return option_index(flag_words, text) % 2 == 1;
}

static void range_words(const Option *p, char *words, size_t bytes)
{
    int whole = p->type == OPTION_SIZE || p->type == OPTION_SIZES;
    int n = snprintf(words, bytes, "expected a %snumber", whole ? "whole " : "");
    if (p->high >= 1e15)
        n += snprintf(words + n, bytes - (size_t)n, " of at least %g", p->low);
    else
        n += snprintf(words + n, bytes - (size_t)n, " from %.10g to %.10g", p->low, p->high);
    if (p->type == OPTION_SIZES || p->type == OPTION_REALS)
        snprintf(words + n, bytes - (size_t)n, ", or several separated by commas");
}

int option_check(const Option *p, const char *text, char *words, size_t bytes)
{
    static const char *const expected[OPTION_REALS + 1] = {
        [OPTION_FLAG] = "yes or no",
        [OPTION_TEXT] = "a text",
        [OPTION_LIST] = "a text",
    };
    if (p->type == OPTION_CHOICE)
        snprintf(words, bytes, "expected one of %s", p->values);
    else if (expected[p->type])
        snprintf(words, bytes, "expected %s", expected[p->type]);
    else
        range_words(p, words, bytes);
    switch (p->type) {
    case OPTION_FLAG: return option_index(flag_words, text) >= 0;
    case OPTION_CHOICE: return option_index(p->values, text) >= 0;
    case OPTION_SIZE: return is_size(p, text);
    case OPTION_REAL: return is_real(p, text);
    case OPTION_SIZES: return are_parts(is_size, p, text);
    case OPTION_REALS: return are_parts(is_real, p, text);
    default: return *text != '\0';
    }
}
