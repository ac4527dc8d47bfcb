/* counting.h: a tiny parallel corpus in files, numbers counted in English and in German; lines of what is made of it. */
#ifndef TROTTER_TESTS_COUNTING_H
#define TROTTER_TESTS_COUNTING_H

#include <stdint.h>
#include <stdio.h>

#include "kernels/base/random.h"
#include "tests/lib/program.h"

/* Writes c/train, c/val and c/test .en and .de: 300, 20 and 20 lines of one to `most` of the first `numbers` (<= 10)
 * numbers. */
static inline void counting_write(size_t most, size_t numbers)
{
    static const char *const word[2][10] = {
        {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"},
        {"eins", "zwei", "drei", "vier", "f\xc3\xbcnf", "sechs", "sieben", "acht", "neun", "zehn"}};
    static const char *const split[] = {"train", "val", "test"};
    static char text[2][1 << 16];
    uint64_t k = 0;
    mkdir(file_path("c"), 0777);
    for (int s = 0; s < 3; s++) {
        char *p[2] = {text[0], text[1]};
        for (int l = 0; l < (s ? 20 : 300); l++) {
            for (uint64_t n = 1 + random_below(3, 1, k++, most); n > 0; n--) {
                size_t number = (size_t)random_below(3, 1, k++, numbers);
                for (int i = 0; i < 2; i++)
                    p[i] += sprintf(p[i], "%s%s", word[i][number], n > 1 ? " " : "\n");
            }
        }
        for (int i = 0; i < 2; i++) {
            file_text(formed("c/%s.%s", split[s], i ? "de" : "en"), text[i]);
        }
    }
}

/* Returns line i of a text without its end; "" past the last. Eight lines are there at a time. */
static inline const char *line_of(const char *text, size_t i)
{
    static char line[8][512];
    static int turn;
    char *l = line[turn++ % 8];
    for (; i > 0 && *text; i--) text += strcspn(text, "\n") + 1;
    snprintf(l, sizeof line[0], "%.*s", (int)strcspn(text, "\n"), text);
    return l;
}

#endif
