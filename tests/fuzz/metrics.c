/* metrics.c: BLEU, chrF2, chrF2++ and TER (studies/metrics) beside the slow reader of the tests: the first byte of an
 * input is the options, the second the number of lines; of each line a byte of length and as many letters, for
 * the hypothesis and each reference. Letters are blanks, punctuation, digits and characters of several bytes. */
#include "tests/lib/test.h"

#include "tests/fuzz/fuzz.h"
#include "tests/lib/slow_metrics.h"

enum { LONGEST = 25 };

typedef struct {
    const uint8_t *at, *end;
} Bytes;

static size_t take(Bytes *b, size_t n)
{
    return b->at < b->end ? *b->at++ % n : 0;
}

static void take_line(Bytes *b, char *line)
{
    size_t n = take(b, LONGEST);
    for (size_t i = 0; i < n; i++) line[i] = letters[take(b, sizeof letters - 1)];
    line[n] = '\0';
}

FUZZ()
{
    static SlowText h, r[REFERENCES];
    Bytes b = {data, data + size};
    char *text[REFERENCES + 1] = {NULL}, *hypothesis;
    double sums[METRIC_WIDTH];
    MetricOptions o = {(int)take(&b, 2), 0};
    size_t references = 1 + take(&b, 2 * REFERENCES);
    o.lowercase = references > REFERENCES;
    if (o.lowercase) references -= REFERENCES;
    h.lines = 1 + take(&b, SLOW_LINES);
    for (size_t i = 0; i < h.lines; i++) {
        take_line(&b, h.line[i]);
        for (size_t k = 0; k < references; k++) take_line(&b, r[k].line[i]);
    }
    for (size_t k = 0; k < references; k++) {
        r[k].lines = h.lines;
        text[k] = wide_text(&r[k]);
    }
    hypothesis = wide_text(&h);
    for (int m = 0; m < METRICS; m++) {
        sums_of(m, &o, hypothesis, (const char *const *)text, sums);
        tied = 0;
        double want = slow_score(m, &o, &h, r, references, fuzz_planted ? NO_CLIP : NO_MISTAKE);
        double got = metric_score(m, sums);
        if (!tied && !(fabs(got - want) <= 1e-9))
            fprintf(stderr, "%s %.12g, not %.12g\n%sagainst\n%s", metric_name(m), got, want,
                    hypothesis, text[0]);
        FUZZ_CHECK(tied || fabs(got - want) <= 1e-9);
    }
    for (size_t k = 0; k < references; k++) free(text[k]);
    free(hypothesis);
}
