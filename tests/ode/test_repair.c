/* test_repair.c: misprints are found where they were made. Seeded ones in the tableaus of tableaus.jsonl: of those that the
 * conditions see at least 95 % are located, with the value that stood there. REPAIR_CASES=1000 in the environment
 * tries so many in place of 200. */
#include "tests/lib/test.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/random.h"
#include "tests/lib/schemes.h"

/* ---- seeded misprints ------------------------------------------------------------------------------- */

enum { EXCHANGED, LOST, DOUBLED, SIGN, SWAPPED, KINDS };
static const char *const kinds[] = {"digit exchanged", "digit lost", "digit doubled", "sign",
                                    "numerator and denominator swapped"};

/* Returns draw i of case n below `most`. */
static uint64_t draw(uint64_t n, uint64_t i, uint64_t most)
{
    return random_below(61, n, i, most);
}

/* Misprints a number. Returns 0 where this kind cannot, or changes nothing. */
static int misprint(const char *word, int kind, uint64_t n, char out[MISPRINT_WORD])
{
    size_t length = strlen(word), minus = *word == '-', at;
    const char *bar = strchr(word, '/');
    RATIONALS(a, b);
    snprintf(out, MISPRINT_WORD, "%s", word);
    for (uint64_t i = 10; !isdigit((unsigned char)word[at = (size_t)draw(n, i, length)]);) i++;
    if (kind == EXCHANGED) out[at] = (char)('0' + (word[at] - '0' + 1 + (int)draw(n, 3, 9)) % 10);
    if (kind == LOST) memmove(out + at, word + at + 1, length - at);
    if (kind == DOUBLED) memmove(out + at + 1, word + at, length - at + 1);
    if (kind == SIGN) snprintf(out, MISPRINT_WORD, "%s%s", minus ? "" : "-", word + minus);
    if (kind == SWAPPED && !bar) return 0;
    if (kind == SWAPPED)
        snprintf(out, MISPRINT_WORD, "%s%s/%.*s", minus ? "-" : "", bar + 1,
                 (int)(bar - word - (ptrdiff_t)minus), word + minus);
    size_t read = coefficient_read(out, strlen(out), b);
    return read && read == strlen(out) && coefficient_read(word, length, a) && !mpq_equal(a, b) &&
           isdigit((unsigned char)out[strlen(out) - 1]);
}

typedef struct {
    size_t cases, invisible, only, first, several, missed;
} Tally;

/* Returns whether a candidate is coefficient k with the value that stood there. */
static int is_true(const Repair *r, const RepairCandidate *c, size_t k, const char *word)
{
    RATIONAL(was);
    coefficient_read(word, strlen(word), was);
    mpq_sub(was, was, c->value[0]);
    return c->unknowns == 1 && c->coefficient[0] == k && r->candidates > 0 &&
           fabs(mpq_get_d(was)) <= c->within;
}

/* Misprints coefficient k of a tableau, and judges what is found. */
static void try_case(const char *line, const Coefficients *c, size_t k, const char *wrong,
                     Tally *tally)
{
    SCOPED(memory_drop) const char **value = memory_new(c->count, sizeof *value);
    SCOPED(repair_free) Repair r = {0};
    char *text;
    size_t bytes;
    value[k] = wrong;
    assert_int_equal(coefficients_written(c, line, strlen(line), value, &text, &bytes), 0);
    if (repair_find("tableau", text, bytes, 0, &r) != 0) fail_msg("%s: %s", text, error_text());
    const char *name = r.name[k], *what = NULL;
    tally->cases++;
    int here = r.candidates > 0 && is_true(&r, &r.candidate[0], k, c->list[k].word);
    if (r.failing == 0)
        tally->invisible++;
    else if (here && r.candidates == 1)
        tally->only++;
    else if (here && repair_unique(&r))
        tally->first++;
    else if (r.candidates > 1 && !r.reached)
        tally->several++, what = "several";
    else
        tally->missed++, what = "missed";
    if (what)
        print_message("%s: %.40s, %s = %s in place of %s: %zu candidates\n", what, line, name,
                      wrong, c->list[k].word, r.candidates);
    free(text);
}

typedef struct {
    size_t count;
    char **line;
} Lines;

static void lines_free(Lines *l)
{
    for (size_t i = 0; i < l->count; i++) free(l->line[i]);
    memory_free(l->line);
}

/* Reads the tableaus up to an order. */
static void read_lines(Lines *l, int most)
{
    FILE *f = fopen("tests/ode/tableaus.jsonl", "r");
    assert_non_null(f);
    for (size_t room = 0;; room = 0) {
        char *line = NULL;
        int order, embedded;
        if (getline(&line, &room, f) <= 0) {
            free(line);
            break;
        }
        coefficients_claims(line, strlen(line), &order, &embedded);
        if (order > most)
            free(line);
        else
            assert_int_equal(memory_add(l->line, l->count, line), 0);
    }
    fclose(f);
}

/* Draws case n: a tableau, a coefficient other than 0, a slip. Returns 0 where they do not fit. */
static int draw_case(const Lines *l, uint64_t n, Tally *tally)
{
    SCOPED(coefficients_free) Coefficients c = {0};
    const char *line = l->line[draw(n, 0, l->count)];
    char wrong[MISPRINT_WORD];
    assert_int_equal(coefficients_find(line, strlen(line), &c), 0);
    size_t k = (size_t)draw(n, 1, c.count);
    int kind = (int)draw(n, 2, KINDS);
    if (mpq_sgn(c.list[k].value) == 0 || !misprint(c.list[k].word, kind, n, wrong)) return 0;
    try_case(line, &c, k, wrong, &tally[kind]);
    return 1;
}

TEST(seeded_misprints)
{
    const char *asked = getenv("REPAIR_CASES");
    size_t cases = asked ? (size_t)atol(asked) : 200, made = 0;
    Tally tally[KINDS] = {0}, all = {0};
    SCOPED(lines_free) Lines l = {0};
    read_lines(&l, asked ? 10 : 8);
    assert_true(l.count > 50);
    for (uint64_t n = 0; made < cases; n++) made += (size_t)draw_case(&l, n, tally);
    for (int i = 0; i < KINDS; i++) {
        const Tally *t = &tally[i];
        print_message(
            "%s: %zu, the only candidate %zu, the first %zu, several %zu, missed %zu, not seen %zu\n",
            kinds[i], t->cases, t->only, t->first, t->several, t->missed, t->invisible);
        all.only += t->only;
        all.first += t->first;
        all.invisible += t->invisible;
    }
    size_t seen = cases - all.invisible;
    print_message("%zu seen: %zu located\n", seen, all.only + all.first);
    assert_true(seen > cases / 2);
    assert_true((double)(all.only + all.first) >= 0.95 * (double)seen);
}

TEST_MAIN(zoo_begin, zoo_end)
