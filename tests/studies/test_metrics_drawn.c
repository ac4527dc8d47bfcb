/* test_metrics_drawn.c: BLEU, chrF2 and TER of drawn texts against a slow reader that shares no line of code with them.
 * The slow reader makes mistakes on purpose, and each of them must be seen. */
#include "tests/lib/test.h"

#include "tests/lib/slow_metrics.h"

/* ---- random texts -------------------------------------------------------------------------------- */

/* Draws a line of up to 24 characters, or changes some of an earlier one. */
static void draw_line(const char *before, char *line)
{
    size_t n = below(25), changes = below(4);
    if (before && below(4)) {
        strcpy(line, before);
        for (size_t length = strlen(line); length && changes; changes--)
            line[below(length)] = letters[below(sizeof letters - 1)];
        const char *middle = strchr(line, ' ');
        if (middle && below(2)) { /* the first word goes to the end */
            char moved[SLOW_LINE];
            sprintf(moved, "%s %.*s", middle + 1, (int)(middle - line), line);
            strcpy(line, moved);
        }
        return;
    }
    for (size_t i = 0; i < n; i++) line[i] = letters[below(sizeof letters - 1)];
    line[n] = '\0';
}

/* The slow reader agrees to rounding on texts with all options, and each of its mistakes is seen in some texts. */
TEST(slow_reader)
{
    static SlowText h, r[REFERENCES];
    size_t seen[MISTAKES] = {0}, scored[METRICS] = {0}, ties = 0;
    for (drawing.stream = 0; drawing.stream < 1200; drawing.stream++) {
        char *text[REFERENCES + 1] = {NULL}, *hypothesis;
        double sums[METRIC_WIDTH];
        drawing.index = 0;
        size_t references = 1 + below(REFERENCES);
        h.lines = 1 + below(SLOW_LINES);
        MetricOptions o = {(int)below(2), (int)below(2)};
        for (size_t i = 0; i < h.lines; i++) {
            for (size_t k = 0; k < references; k++)
                draw_line(k ? r[0].line[i] : NULL, r[k].line[i]);
            draw_line(r[0].line[i], h.line[i]);
        }
        for (size_t k = 0; k < references; k++) {
            r[k].lines = h.lines;
            text[k] = wide_text(&r[k]);
        }
        hypothesis = wide_text(&h);
        for (int m = 0; m < METRICS; m++) {
            sums_of(m, &o, hypothesis, (const char *const *)text, sums);
            double got = metric_score(m, sums);
            tied = 0;
            double want = slow_score(m, &o, &h, r, references, NO_MISTAKE);
            ties += (size_t)tied;
            if (tied) continue;
            if (!(fabs(got - want) <= 1e-9))
                fail_msg(
                    "%s, draw %zu: %.12g, not %.12g; tokenisation %d, lower case %d, of\n%sagainst\n%s",
                    metric_name(m), (size_t)drawing.stream, got, want, o.tokenize, o.lowercase,
                    hypothesis, text[0]);
            scored[m] += want > 0;
            for (int k = 1; k < MISTAKES; k++)
                seen[k] += fabs(slow_score(m, &o, &h, r, references, k) - got) > 1e-6;
        }
        for (size_t k = 0; k < references; k++) free(text[k]);
        free(hypothesis);
    }
    assert_true(ties < 60);
    for (int k = 1; k < MISTAKES; k++)
        if (seen[k] < 10) fail_msg("mistake %d is seen in %zu scores alone", k, seen[k]);
    for (int m = 0; m < METRICS; m++)
        if (scored[m] < 200)
            fail_msg("%s is above 0 in %zu texts alone", metric_name(m), scored[m]);
}

TEST_MAIN(NULL, NULL)
