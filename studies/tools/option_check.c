/* option_check.c: checks the text of an option's value, with a function for each type, and says what is
 * expected. */
#include "studies/tools/option_check.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Check(const Option *p, const char *text, char *words, size_t bytes);

static void range_words(const Option *p, const char *kind, char *words, size_t bytes)
{
    if (p->high >= 1e15)
        snprintf(words, bytes, "expected %s of at least %g", kind, p->low);
    else
        snprintf(words, bytes, "expected %s from %.10g to %.10g", kind, p->low, p->high);
}

static int check_size(const Option *p, const char *text, char *words, size_t bytes)
{
    range_words(p, "a whole number", words, bytes);
    if (!*text || strspn(text, "0123456789") != strlen(text)) return 0;
    errno = 0;
    unsigned long long n = strtoull(text, NULL, 10);
    return errno == 0 && n <= SIZE_MAX && (double)n >= p->low && (double)n <= p->high;
}

static int check_real(const Option *p, const char *text, char *words, size_t bytes)
{
    range_words(p, "a number", words, bytes);
    if (!*text || strspn(text, "0123456789.eE+-") != strlen(text)) return 0;
    char *end;
    double x = strtod(text, &end);
    return *end == '\0' && isfinite(x) && x >= p->low && x <= p->high;
}

size_t option_bytes(const char *text)
{
    static const char units[] = "KMGT";
    size_t digits = strspn(text, "0123456789");
    const char *unit = text[digits] ? strchr(units, toupper((unsigned char)text[digits])) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (digits == 0 || digits > 18 || text[digits + (unit != NULL)]) return 0;
    size_t n = strtoull(text, NULL, 10);
    return n <= SIZE_MAX >> shift ? n << shift : 0;
}

static int check_bytes(const Option *p, const char *text, char *words, size_t bytes)
{
    (void)p;
    snprintf(words, bytes, "expected bytes, as 4000000000, or with K, M, G or T (of 1024), as 4G");
    return option_bytes(text) > 0;
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

static int check_parts(Check *one, const Option *p, const char *text, char *words, size_t bytes)
{
    char at[32], of_one[200];
    size_t commas = 0, n = 0;
    for (const char *c = text; *c; c++) commas += *c == ',';
    while (option_part(text, n, at) && one(p, at, of_one, sizeof of_one)) n++;
    one(p, "", of_one, sizeof of_one);
    snprintf(words, bytes, "%s, or several separated by commas", of_one);
    return n == commas + 1;
}

static int check_sizes(const Option *p, const char *text, char *words, size_t bytes)
{
    return check_parts(check_size, p, text, words, bytes);
}

static int check_reals(const Option *p, const char *text, char *words, size_t bytes)
{
    return check_parts(check_real, p, text, words, bytes);
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

static int check_choice(const Option *p, const char *text, char *words, size_t bytes)
{
    snprintf(words, bytes, "expected one of %s", p->values);
    return option_index(p->values, text) >= 0;
}

static const char flag_words[] = "no|yes|false|true|0|1";

static int check_flag(const Option *p, const char *text, char *words, size_t bytes)
{
    (void)p;
    snprintf(words, bytes, "expected yes or no");
    return option_index(flag_words, text) >= 0;
}

static int check_text(const Option *p, const char *text, char *words, size_t bytes)
{
    (void)p;
    snprintf(words, bytes, "expected a text");
    return *text != '\0';
}

int option_yes(const char *text)
{
    return option_index(flag_words, text) % 2 == 1;
}

static Check *const check[] = {
    [OPTION_FLAG] = check_flag,   [OPTION_TEXT] = check_text,     [OPTION_SIZE] = check_size,
    [OPTION_REAL] = check_real,   [OPTION_CHOICE] = check_choice, [OPTION_LIST] = check_text,
    [OPTION_SIZES] = check_sizes, [OPTION_REALS] = check_reals,   [OPTION_BYTES] = check_bytes,
};

int option_check(const Option *p, const char *text, char *words, size_t bytes)
{
    return check[p->type](p, text, words, bytes);
}
