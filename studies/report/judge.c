/* judge.c: counts words in columns. */
#include "studies/report/judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void say(Verdict *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(Verdict *v, const char *format, ...)
{
    size_t n = strlen(v->words);
    va_list args;
    va_start(args, format);
    vsnprintf(v->words + n, sizeof v->words - n, format, args);
    va_end(args);
}

static const char *cell(const Csv *c, size_t row, const char *column)
{
    int at = csv_column(c, column);
    return at < 0 ? "" : csv_cell(c, row, at);
}

static size_t count(const Csv *c, const char *column, const char *word)
{
    size_t n = 0;
    for (size_t i = 0; i < c->rows; i++) n += strcmp(cell(c, i, column), word) == 0;
    return n;
}

/* "slope: 8 agree, 1 higher"; each word where it first stands. */
static void count_words(const Csv *c, const char *column, const char *name, Verdict *v)
{
    size_t said = 0;
    for (size_t i = 0; i < c->rows; i++) {
        const char *word = cell(c, i, column);
        size_t first = 0;
        while (strcmp(cell(c, first, column), word) != 0) first++;
        if (!*word || first != i) continue;
        say(v, "%s%zu %.40s", said++ ? ", " : "", count(c, column, word), word);
    }
    if (said) say(v, " (%s); ", name);
    v->bad |= count(c, column, "disagree") > 0;
}

/* Without the last "; ". */
static void end(Verdict *v)
{
    size_t n = strlen(v->words);
    if (n >= 2 && strcmp(v->words + n - 2, "; ") == 0) v->words[n - 2] = '\0';
}

void judge_orders(const Csv *c, Verdict *v)
{
    count_words(c, "verdict", "slope against the exact order", v);
    count_words(c, "match", "error constant against the predicted one", v);
    count_words(c, "remainder_verdict", "what the leading terms leave", v);
    end(v);
}

void judge_claims(const Csv *c, Verdict *v)
{
    size_t verified = 0, refuted = 0, undecided = 0, off = 0;
    for (size_t i = 0; i < c->rows; i++) {
        const char *is = cell(c, i, "verdict"), *should = cell(c, i, "expected");
        int mutant = strncmp(should, "not: ", 5) == 0;
        verified += strncmp(is, "verified", 8) == 0;
        refuted += strncmp(is, "refuted", 7) == 0;
        undecided += strncmp(is, "undecided", 9) == 0;
        off += mutant ? strcmp(is, should + 5) == 0 : strcmp(is, should) != 0;
    }
    say(v,
        "%zu claims: %zu verified, %zu refuted, %zu hold only under a condition, %zu undecided; ",
        c->rows, verified, refuted, c->rows - verified - refuted - undecided, undecided);
    if (off)
        say(v, "%zu not with the verdict that they should have", off);
    else
        say(v, "every verdict is the registered one");
    v->bad = off > 0;
}

/* Names of the schemes in whose row `column` is `word`. */
static void name_rows(const Csv *c, const char *column, const char *word, const char *what,
                      Verdict *v)
{
    size_t n = 0;
    for (size_t i = 0; i < c->rows; i++) {
        if (!*cell(c, i, "layers") || strcmp(cell(c, i, column), word) != 0) continue;
        say(v, "%s%.80s", n++ ? ", " : what, cell(c, i, "scheme"));
    }
    if (n) say(v, "; ");
    v->bad |= n > 0;
}

void judge_comparison(const Csv *c, Verdict *v)
{
    name_rows(c, "valid_ppl", "", "without a finished run: ", v);
    name_rows(c, "beats_unigram", "no",
              "no better than word frequencies, so not to be compared: ", v);
    name_rows(c, "verdict", "disagree", "not of their exact order on the particle system: ", v);
    if (!v->bad && csv_column(c, "beats_unigram") >= 0)
        say(v, "every model predicts better than word frequencies; "
               "no scheme disagrees with its exact order");
    end(v);
}

void judge_training(const Csv *c, Verdict *v)
{
    double valid, test;
    int at = csv_column(c, "valid_ppl"), at_test = csv_column(c, "test_ppl");
    if (c->rows == 0 || at < 0 || csv_number(c, 0, at, &valid) != 0) return;
    say(v, "perplexity %.2f on validation", valid);
    if (at_test >= 0 && csv_number(c, 0, at_test, &test) == 0 && !isnan(test))
        say(v, ", %.2f on the test text", test);
    say(v, " (%.80s)", cell(c, 0, "scheme"));
}
