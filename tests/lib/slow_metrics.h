/* slow_metrics.h: BLEU, chrF2 and TER by a slow reader that shares no line of code with studies/model/metrics, and makes
 * mistakes on purpose; statistics of texts that tests write down, and draws. */
#ifndef TROTTER_TEST_SLOW_METRICS_H
#define TROTTER_TEST_SLOW_METRICS_H

#include <regex.h>

#include "kernels/base/memory.h"
#include "kernels/base/random.h"
#include "studies/model/metrics/bootstrap.h"
#include "tests/lib/test.h"

static inline Lines lines_of(const char *text)
{
    Lines l;
    char *copy = memory_string(text);
    assert_non_null(copy);
    assert_int_equal(lines_take("text", copy, strlen(text), &l), 0);
    return l;
}

enum { REFERENCES = 3 };

/* Computes the sums of a hypothesis against the references before the first NULL. */
static inline void sums_of(int metric, const MetricOptions *o, const char *hypothesis,
                           const char *const *reference, double sums[METRIC_WIDTH])
{
    Lines h = lines_of(hypothesis), r[REFERENCES];
    size_t n = 0;
    Statistics s;
    for (; n < REFERENCES && reference[n]; n++) r[n] = lines_of(reference[n]);
    assert_int_equal(metric_lines(metric, o, &h, r, n, &s), 0);
    metric_sum(&s, sums);
    metric_free(&s);
    lines_free(&h);
    for (size_t i = 0; i < n; i++) lines_free(&r[i]);
}

static struct {
    uint64_t stream, index;
} drawing;

static inline size_t below(size_t n)
{
    return (size_t)random_below(5, drawing.stream, drawing.index++, n);
}

/* ---- the slow reader ------------------------------------------------------------------------------- */

/* The slow reader works on texts of one byte a character: bytes above 0x80 stand for characters beyond ASCII, and the
 * texts for the metrics are written with those. Tokenisations are the regular expressions of mteval-v13a, by
 * the C library. */
static const char *const wide[] = {"", "«", "€", "½", "ä", "Ä", "\u00a0", "\u0663"};

static const char letters[] = "aabbAB  ..,,--55&;'+<\t\x81\x82\x83\x84\x85\x86\x87";

enum { SLOW_LINE = 512, SLOW_WORDS = 128, SLOW_LINES = 4 };

typedef struct {
    size_t lines;
    char line[SLOW_LINES][SLOW_LINE];
} SlowText;

/* Mistakes that the slow reader makes on purpose. */
enum {
    NO_MISTAKE,
    NO_CLIP,
    NO_BREVITY,
    LONGER_REFERENCE,
    FIRST_REFERENCE,
    LINE_MEAN,
    KEEP_CASE,
    NO_TOKENS,
    NO_PUNCTUATION,
    NO_SHIFT,
    MISTAKES
};

/* Replaces every match of a pattern of one or two groups, from left to right, by `to`, in which 1 and 2 are the
 * groups. */
static inline void substitute(char *line, const char *pattern, const char *to)
{
    char out[SLOW_LINE];
    size_t n = 0, at = 0;
    regex_t re;
    regmatch_t m[3];
    assert_int_equal(regcomp(&re, pattern, REG_EXTENDED), 0);
    while (line[at] && regexec(&re, line + at, 3, m, 0) == 0) {
        for (regoff_t i = 0; i < m[0].rm_so; i++) out[n++] = line[at + (size_t)i];
        for (const char *t = to; *t; t++) {
            int k = *t - '0';
            if (k != 1 && k != 2) out[n++] = *t;
            for (regoff_t i = m[k == 2 ? 2 : 1].rm_so; (k == 1 || k == 2) && i < m[k].rm_eo; i++)
                out[n++] = line[at + (size_t)i];
            assert_true(n < SLOW_LINE / 2);
        }
        at += (size_t)m[0].rm_eo;
    }
    strcpy(out + n, line + at);
    strcpy(line, out);
    regfree(&re);
}

static inline int slow_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\x86';
}

static inline void slow_tokenise(int how, int lowercase, const char *line, char *out)
{
    strcpy(out, line);
    for (char *c = out; lowercase && *c; c++) {
        if (*c == 'A' || *c == 'B') *c = (char)(*c + 'a' - 'A');
        if (*c == '\x85') *c = '\x84';
    }
    for (size_t n = strlen(out); n && slow_blank(out[n - 1]);) out[--n] = '\0';
    if (how == TOKENIZE_13A) {
        memmove(out + 1, out, strlen(out) + 1);
        out[0] = ' ';
        strcat(out, " ");
        substitute(out, "([{-~[-` -&(-+:-@/])", " 1 ");
        substitute(out, "([^0-9])([.,])", "1 2 ");
        substitute(out, "([.,])([^0-9])", " 1 2");
        substitute(out, "([0-9])(-)", "1 2 ");
    }
}

/* A line as words, or as characters without blanks; each is a text. */
typedef struct {
    size_t n;
    char word[SLOW_WORDS][SLOW_LINE / 8];
} SlowWords;

static inline void slow_words(const char *line, int characters, SlowWords *w)
{
    size_t length = 0;
    memset(w, 0, sizeof *w);
    for (const char *c = line; *c; c++) {
        if (!slow_blank(*c)) w->word[w->n][length++] = *c;
        int ends = !c[1] || slow_blank(c[1]) || characters;
        if (length && ends) length = 0, w->n++;
        assert_true(w->n < SLOW_WORDS && length < SLOW_LINE / 8);
    }
}

static inline int same_gram(const SlowWords *a, size_t i, const SlowWords *b, size_t j, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (strcmp(a->word[i + k], b->word[j + k]) != 0) return 0;
    return 1;
}

/* Counts how often the n-gram at i of a stands in b before `end`. */
static inline size_t slow_count(const SlowWords *a, size_t i, const SlowWords *b, size_t end,
                                size_t n)
{
    size_t count = 0;
    for (size_t j = 0; j + n <= b->n && j < end; j++) count += (size_t)same_gram(a, i, b, j, n);
    return count;
}

/* Counts the n-grams of a that match: fewer of the same stand before them than some reference has. */
static inline double slow_matches(const SlowWords *a, const SlowWords *b, size_t references,
                                  size_t n, int mistake)
{
    double matches = 0;
    for (size_t i = 0; i + n <= a->n; i++) {
        size_t most = 0;
        for (size_t r = 0; r < references; r++) {
            size_t here = slow_count(a, i, &b[r], SIZE_MAX, n);
            if (here > most) most = here;
        }
        matches += mistake == NO_CLIP ? most > 0 : slow_count(a, i, a, i, n) < most;
    }
    return matches;
}

typedef struct {
    double c, r, matches[4], totals[4];
} SlowBleu;

static inline double slow_bleu_score(const SlowBleu *s, int mistake)
{
    double product = 1, fallen = 1;
    if (s->matches[0] == 0) return 0;
    for (int n = 0; n < 4; n++) {
        double m = s->matches[n], t = s->totals[n];
        if (t == 0) return 0;
        if (m == 0) m = pow(2, -fallen++);
        product *= m / t;
    }
    double brevity = s->c < s->r && mistake != NO_BREVITY ? exp(1 - s->r / s->c) : 1;
    return 100 * brevity * pow(product, .25);
}

static inline double slow_bleu(const MetricOptions *o, const SlowText *h, const SlowText *r,
                               size_t references, int mistake)
{
    static SlowWords a, b[REFERENCES];
    SlowBleu sum = {0};
    double mean = 0;
    char line[SLOW_LINE];
    int how = mistake == NO_TOKENS ? TOKENIZE_NONE : o->tokenize;
    int lower = mistake == KEEP_CASE ? 0 : o->lowercase;
    for (size_t i = 0; i < h->lines; i++) {
        if (mistake == LINE_MEAN) sum = (SlowBleu){0};
        slow_tokenise(how, lower, h->line[i], line);
        slow_words(line, 0, &a);
        double closest = INFINITY;
        for (size_t k = 0; k < references; k++) {
            slow_tokenise(how, lower, r[k].line[i], line);
            slow_words(line, 0, &b[k]);
            double n = (double)b[k].n, c = (double)a.n;
            double prefer = mistake == LONGER_REFERENCE ? -1e-3 : 1e-3;
            if (fabs(n - c) + prefer * n < fabs(closest - c) + prefer * closest || isinf(closest))
                closest = n;
            if (mistake == FIRST_REFERENCE) closest = (double)b[0].n;
        }
        sum.c += (double)a.n;
        sum.r += closest;
        for (size_t n = 1; n <= 4; n++) {
            sum.matches[n - 1] += slow_matches(&a, b, references, n, mistake);
            sum.totals[n - 1] += a.n >= n ? (double)(a.n - n + 1) : 0;
        }
        mean += slow_bleu_score(&sum, mistake) / (double)h->lines;
    }
    return mistake == LINE_MEAN ? mean : slow_bleu_score(&sum, mistake);
}

/* Cuts ASCII punctuation off words of several characters: from the end or, where there is none, from the beginning. */
static inline void slow_punctuation(SlowWords *w)
{
    static const char marks[] = ".,-&;'+<";
    for (size_t i = 0; i < w->n; i++) {
        char *word = w->word[i];
        size_t length = strlen(word);
        int ends = length > 1 && strchr(marks, word[length - 1]);
        int begins = length > 1 && strchr(marks, word[0]);
        if (!ends && !begins) continue;
        size_t cut = ends ? length - 1 : 1;
        memmove(w->word + i + 1, w->word + i, (w->n - i) * sizeof w->word[0]);
        memmove(w->word[i + 1], w->word[i + 1] + cut, length - cut + 1);
        w->word[i++][cut] = '\0';
        assert_true(++w->n < SLOW_WORDS);
    }
}

/* Returns chrF from the counts of n-grams: hypothesis, reference, matches for each order. */
static inline double slow_chrf_score(double count[8][3])
{
    double P = 0, R = 0;
    int orders = 0;
    for (int n = 0; n < 8; n++)
        if (count[n][0] > 0 && count[n][1] > 0) {
            P += count[n][2] / count[n][0];
            R += count[n][2] / count[n][1];
            orders++;
        }
    return P > 0 ? 100 * 5 * (P / orders) * (R / orders) / (4 * P / orders + R / orders) : 0;
}

/* 1: a line had two references of the same score, of which rounding chooses. */
static int tied;

/* Counts the n-grams of the line `text` and of one reference, into count[0] for n = 1. */
static inline void slow_grams(const char *text, const char *reference, int words, int mistake,
                              double (*count)[3])
{
    static SlowWords a, b;
    slow_words(text, !words, &a);
    slow_words(reference, !words, &b);
    if (words && mistake != NO_PUNCTUATION) {
        slow_punctuation(&a);
        slow_punctuation(&b);
    }
    for (size_t n = 1; n <= (words ? 2 : 6); n++) {
        count[n - 1][1] = b.n >= n ? (double)(b.n - n + 1) : 0;
        count[n - 1][0] = b.n >= n && a.n >= n ? (double)(a.n - n + 1) : 0;
        count[n - 1][2] = slow_matches(&a, &b, 1, n, mistake);
    }
}

static inline double slow_chrf(int words, const MetricOptions *o, const SlowText *h,
                               const SlowText *r, size_t references, int mistake)
{
    double sum[8][3] = {{0}};
    char line[SLOW_LINE], reference[SLOW_LINE];
    int lower = mistake == KEEP_CASE ? 0 : o->lowercase;
    for (size_t i = 0; i < h->lines; i++) {
        double best[8][3], most = -1;
        slow_tokenise(TOKENIZE_NONE, lower, h->line[i], line);
        for (size_t k = 0; k < (mistake == FIRST_REFERENCE ? 1 : references); k++) {
            double here[8][3] = {{0}};
            slow_tokenise(TOKENIZE_NONE, lower, r[k].line[i], reference);
            slow_grams(line, reference, 0, mistake, here);
            if (words) slow_grams(line, reference, 1, mistake, here + 6);
            double score = slow_chrf_score(here);
            tied |= score > 0 && fabs(score - most) < 1e-9 && memcmp(best, here, sizeof best) != 0;
            if (score > most) most = score, memcpy(best, here, sizeof best);
        }
        for (int n = 0; n < 8; n++)
            for (int k = 0; k < 3; k++) sum[n][k] += best[n][k];
    }
    return slow_chrf_score(sum);
}

/* ---- edits ----------------------------------------------------------------------------------------- */

enum { SLOW_EDITS = 26 }; /* more than the words of a line */

/* A hypothesis while its words move, and a reference. */
typedef struct {
    size_t n, m;
    const char *h[SLOW_EDITS], *r[SLOW_EDITS];
    size_t d[SLOW_EDITS][SLOW_EDITS]; /* edit distance of the first i and j words */
} SlowEdits;

static inline size_t slow_distance(SlowEdits *e)
{
    for (size_t i = 0; i <= e->n; i++)
        for (size_t j = 0; j <= e->m; j++) {
            size_t least = i + j;
            if (i && e->d[i - 1][j] + 1 < least) least = e->d[i - 1][j] + 1;
            if (j && e->d[i][j - 1] + 1 < least) least = e->d[i][j - 1] + 1;
            if (i && j) {
                size_t both = e->d[i - 1][j - 1] + (strcmp(e->h[i - 1], e->r[j - 1]) != 0);
                if (both < least) least = both;
            }
            e->d[i][j] = least;
        }
    return e->d[e->n][e->m];
}

/* Goes back from the ends: wrong words, and how many of the hypothesis stand up to each of the reference. */
static inline void slow_align(const SlowEdits *e, int *bad, int *bad_r, size_t *upto)
{
    size_t i = e->n, j = e->m;
    while (i || j) {
        size_t here = e->d[i][j];
        int differ = i && j && strcmp(e->h[i - 1], e->r[j - 1]) != 0;
        if (i && j && e->d[i - 1][j - 1] + (size_t)differ == here) {
            bad[i - 1] = bad_r[j - 1] = differ;
            upto[j] = i--;
            j--;
        } else if (i && e->d[i - 1][j] + 1 == here) {
            bad[--i] = 1;
        } else {
            bad_r[j - 1] = 1;
            upto[j--] = i;
        }
    }
    upto[0] = 0;
}

static inline int any_of(const int *x, size_t from, size_t n)
{
    int any = 0;
    for (size_t i = from; i < from + n; i++) any |= x[i];
    return any;
}

/* Takes `length` words at `from` out and puts them where `to` stood. */
static inline void slow_shift(const SlowEdits *e, size_t from, size_t length, size_t to,
                              SlowEdits *out)
{
    size_t n = 0;
    *out = *e;
    for (size_t i = 0; i < e->n; i++)
        if (i < from || i >= from + length) out->h[n++] = e->h[i];
    if (to > from + length) to -= length;
    if (to > n) to = n;
    memmove(out->h + to + length, out->h + to, (n - to) * sizeof out->h[0]);
    memcpy(out->h + to, e->h + from, length * sizeof out->h[0]);
}

/* Makes the shift that gains most, the longest, the first, to the first place; returns 0 where none gains. */
static inline int slow_step(SlowEdits *e)
{
    int bad[SLOW_EDITS], bad_r[SLOW_EDITS], moved = 0;
    size_t upto[SLOW_EDITS], cost = slow_distance(e), least = cost, longest = 0;
    SlowEdits best = *e, tried;
    slow_align(e, bad, bad_r, upto);
    for (size_t from = 0; from < e->n; from++)
        for (size_t to = 0; to <= e->n; to++)
            for (size_t at = 0; at < e->m; at++)
                for (size_t n = 1; from + n <= e->n && at + n <= e->m; n++) {
                    int there = 0;
                    if (strcmp(e->h[from + n - 1], e->r[at + n - 1]) != 0) break;
                    for (size_t k = at; k <= at + n; k++) there |= upto[k] == to;
                    if (!there || !any_of(bad, from, n) || !any_of(bad_r, at, n)) continue;
                    if (from < upto[at + 1] && upto[at + 1] <= from + n) continue;
                    slow_shift(e, from, n, to, &tried);
                    size_t now = slow_distance(&tried);
                    int equal = now == least && moved;
                    if (now > least || (equal && n <= longest)) continue;
                    if (now == cost) continue;
                    least = now, longest = n, best = tried, moved = 1;
                }
    *e = best;
    return moved;
}

static inline double slow_ter(const SlowText *h, const SlowText *r, size_t references, int mistake)
{
    static SlowWords a, b;
    double edits = 0, length = 0;
    char line[SLOW_LINE];
    for (size_t i = 0; i < h->lines; i++) {
        size_t fewest = SIZE_MAX;
        slow_tokenise(TOKENIZE_NONE, mistake != KEEP_CASE, h->line[i], line);
        slow_words(line, 0, &a);
        for (size_t k = 0; k < references; k++) {
            SlowEdits e = {.n = a.n};
            slow_tokenise(TOKENIZE_NONE, mistake != KEEP_CASE, r[k].line[i], line);
            slow_words(line, 0, &b);
            e.m = b.n;
            for (size_t j = 0; j < a.n; j++) e.h[j] = a.word[j];
            for (size_t j = 0; j < b.n; j++) e.r[j] = b.word[j];
            size_t shifts = 0;
            while (mistake != NO_SHIFT && slow_step(&e)) shifts++;
            size_t here = shifts + slow_distance(&e);
            if (here < fewest && (mistake != FIRST_REFERENCE || k == 0)) fewest = here;
            length += (double)b.n / (double)references;
        }
        edits += (double)fewest;
    }
    return length > 0 ? 100 * edits / length : edits > 0 ? 100 : 0;
}

/* Returns the text in UTF-8; the caller frees it. */
static inline char *wide_text(const SlowText *t)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    assert_non_null(f);
    for (size_t i = 0; i < t->lines; i++) {
        for (const char *c = t->line[i]; *c; c++) {
            unsigned char byte = (unsigned char)*c;
            if (byte < 0x80)
                fputc(byte, f);
            else
                fputs(wide[byte - 0x80], f);
        }
        fputc('\n', f);
    }
    assert_int_equal(fclose(f), 0);
    return text;
}

/* The same of references with as many lines as h has, in text (references), and of h. */
static inline char *wide_texts(const SlowText *h, SlowText *r, size_t references, char **text)
{
    for (size_t k = 0; k < references; k++) {
        r[k].lines = h->lines;
        text[k] = wide_text(&r[k]);
    }
    return wide_text(h);
}

static inline double slow_score(int metric, const MetricOptions *o, const SlowText *h,
                                const SlowText *r, size_t references, int mistake)
{
    if (metric == METRIC_BLEU) return slow_bleu(o, h, r, references, mistake);
    if (metric == METRIC_CHRF) return slow_chrf(0, o, h, r, references, mistake);
    if (metric == METRIC_CHRF_WORDS) return slow_chrf(1, o, h, r, references, mistake);
    return slow_ter(h, r, references, mistake);
}

#endif
