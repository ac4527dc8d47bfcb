/* nearest.c: computes the edit distance by its recurrence, one row of the table after another. */
#include "kernels/base/nearest.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST = 63 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t edit_distance(const char *a, const char *b)
{
    size_t m = strnlen(a, LONGEST), n = strnlen(b, LONGEST);
    size_t d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= m; i++) {
        for (size_t j = 0; j <= n; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t cost = a[i - 1] != b[j - 1];
            d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[m][n];
}

const char *nearest_name(const char *word, const char *const *name, size_t count)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 > 2 ? strlen(word) / 3 : 2;
    for (size_t i = 0; i < count; i++) {
        size_t d = edit_distance(word, name[i]);
        if (d < best_distance || (d == best_distance && !best)) {
            best = name[i];
            best_distance = d;
        }
    }
    return best;
}

const char *nearest_words(const char *word, const char *const *name, size_t count)
{
    static char words[256];
    const char *near = nearest_name(word, name, count);
    snprintf(words, sizeof words, "; the nearest is '%s'", near ? near : "");
    return near ? words : "";
}
