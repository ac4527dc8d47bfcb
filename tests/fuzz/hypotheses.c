/* hypotheses.c: hypotheses and references (studies/model/metrics/lines.c, tokenise.c): lines are windows of the file that
 * leave out line ends alone. Each tokenisation leaves words without white space between single blanks, keeps all that
 * 13a does not take out, and scores 100 or 0 against itself. */
#include "kernels/base/plain_text.h"
#include "studies/model/metrics/bootstrap.h"
#include "tests/fuzz/fuzz.h"

static void check_words(const Symbols *s)
{
    for (size_t i = 0; i < s->n; i++) {
        FUZZ_CHECK(s->x[i] < 0x110000 && s->x[i] != '\n' && s->x[i] != '\t' && s->x[i] != 0xA0);
        if (s->x[i] == ' ') FUZZ_CHECK(i > 0 && i + 1 < s->n && s->x[i - 1] != ' ');
    }
}

/* Cuts a line in all ways; those that take nothing out keep its characters. */
static void cut(const Line *line)
{
    Symbols text = {0}, plain = {0}, room = {0};
    for (int lowercase = 0; lowercase < 2; lowercase++)
        for (int how = TOKENIZE_NONE; how <= TOKENIZE_FR; how++) {
            int code = tokenise_read(line->text, line->bytes, lowercase, &text, &room);
            if (code == 0) code = tokenise_read(line->text, line->bytes, lowercase, &plain, &room);
            if (code == 0) code = tokenise(how, &text, &room);
            FUZZ_CHECK(code == 0 || code == ERR_MEMORY);
            if (code != 0) continue;
            check_words(&text);
            int keeps = how == TOKENIZE_NONE;
            tokenise_squeeze(&plain);
            if (how >= TOKENIZE_EN) detokenise(how, &text, &room);
            tokenise_squeeze(&text);
            FUZZ_CHECK(text.n <= plain.n && (!keeps || text.n == plain.n));
            if (keeps && text.n) FUZZ_CHECK(memcmp(text.x, plain.x, text.n * sizeof *text.x) == 0);
        }
    (void)tokenise_is_done(line->text, line->bytes);
    symbols_free(&text);
    symbols_free(&plain);
    symbols_free(&room);
}

static void score(const Lines *l)
{
    const MetricOptions o = {TOKENIZE_13A, 1};
    Resampled x[2];
    for (int m = 0; m < METRICS; m++) {
        Statistics s[2];
        int code = metric_lines(m, &o, l, l, 1, &s[0]);
        s[1] = s[0];
        if (code == 0) code = bootstrap_means(m, s, NULL, 2, 3, 1, x);
        FUZZ_CHECK(code == 0 || code == ERR_MEMORY);
        if (code == 0) {
            FUZZ_CHECK(x[0].score >= 0 && x[0].score <= 100.001 && x[1].p == 1);
            FUZZ_CHECK(x[0].score == 0 || x[0].score > 99.999);
        }
        metric_free(&s[0]);
    }
}

FUZZ()
{
    Lines l;
    size_t ends = 0, bytes = 0;
    if (lines_read(fuzz_file(data, size), &l) == 0) {
        for (size_t i = 0; i < size; i++) ends += data[i] == '\n';
        FUZZ_CHECK(l.count == ends + (data[size - 1] != '\n'));
        for (size_t i = 0; i < l.count; i++) {
            bytes += l.line[i].bytes;
            FUZZ_CHECK(!memchr(l.line[i].text, '\n', l.line[i].bytes));
            if (size <= 4096) cut(&l.line[i]);
        }
        bytes += text_mark((const char *)data, size);
        FUZZ_CHECK(bytes + ends <= size && bytes + 2 * ends + 1 >= size);
        if (size <= 4096) score(&l);
        lines_free(&l);
    }
}
