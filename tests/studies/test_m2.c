/* test_m2.c: MaxMatch by hand, against a slow reader that tries every cut of every way, the choice of annotators, and
 * refused files. The slow reader makes mistakes on purpose, and each of them must be seen. */
#include "tests/lib/test.h"

#include "kernels/random.h"
#include "studies/metrics/m2.h"
#include "tests/lib/scratch.h"

/* ---- by hand ------------------------------------------------------------------------------------- */

static Lines lines_of(const char *text)
{
    Lines l;
    char *copy = memory_string(text);
    assert_non_null(copy);
    assert_int_equal(lines_take("text", copy, strlen(text), &l), 0);
    return l;
}

enum { EACH = 8 };

/* Returns the counts of a hypothesis against a text in the .m2 format; each (EACH) becomes the choice of every
 * sentence. */
static M2Counts score_of(const char *gold, const char *hypothesis, M2Options o, M2Choice *each)
{
    M2File f;
    M2Counts total;
    M2Choice own[EACH];
    Lines h = lines_of(hypothesis);
    if (m2_file_read(file_text("gold", gold), &f) != 0) fail_msg("%s", error_text());
    assert_true(f.sentences <= EACH);
    assert_int_equal(m2_score(&f, &h, &o, &total, each ? each : own), 0);
    m2_file_free(&f);
    lines_free(&h);
    return total;
}

#define END "|||REQUIRED|||-NONE-|||"
#define A0 END "0\n"
#define A1 END "1\n"

/* Each row is a sentence with its counts: correct, proposed, gold, with the usual two words that may stay. */
static const struct {
    const char *name, *gold, *hypothesis;
    size_t counts[3];
} by_hand[] = {
    {"all of it", "S he go home\nA 1 2|||V|||goes" A0, "he goes home", {1, 1, 1}},
    /* `go -> went` is not the annotator's, `home -> house` is: the two words in between stay */
    {"a part",
     "S he go to the house\nA 1 2|||V|||goes" A0 "A 4 5|||N|||home" A0,
     "he went to the home",
     {1, 2, 2}},
    /* `have -> goes`, and been and go are deleted: one edit of three edges */
    {"several words for one",
     "S he have been go home\nA 1 4|||V|||goes" A0,
     "he goes home",
     {1, 1, 1}},
    /* `a` is inserted and `word` stays: the paper's example (section 3) */
    {"a word that stays",
     "S we feeds word into it\nA 2 3|||D|||a word||words" A0,
     "we feeds a word into it",
     {1, 1, 1}},
    {"three words that stay", "S a b c d e\nA 0 5|||X|||A b c d E" A0, "A b c d E", {0, 2, 1}},
    {"two words that stay", "S a b c d\nA 0 4|||X|||A b c D" A0, "A b c D", {1, 1, 1}},
    {"no gold, so one edit", "S a b c d\nA -1 -1|||noop|||-NONE-" A0, "A b c D", {0, 1, 0}},
    {"comes at the beginning", "S b c\nA 0 0|||D|||a" A0, "a b c", {1, 1, 1}},
    {"comes in the middle", "S a c\nA 1 1|||D|||b" A0, "a b c", {1, 1, 1}},
    {"comes at the end", "S a b\nA 2 2|||D|||c" A0, "a b c", {1, 1, 1}},
    {"comes elsewhere", "S a b\nA 0 0|||D|||c" A0, "a b c", {0, 1, 1}},
    {"goes at the end", "S a b c\nA 2 3|||D|||-NONE-" A0, "a b", {1, 1, 1}},
    {"goes, an empty correction", "S a b c\nA 0 1|||D|||" A0, "b c", {1, 1, 1}},
    {"one of the same words goes", "S a a b\nA 0 1|||D|||" A0, "a b", {1, 1, 1}},
    {"or the other", "S a a b\nA 1 2|||D|||" A0, "a b", {1, 1, 1}},
    /* a replacement that an annotator wrote as two edits, in either order */
    {"goes and comes", "S a b c\nA 1 2|||D|||" A0 "A 2 2|||D|||x" A0, "a x c", {2, 2, 2}},
    {"comes and goes", "S a b c\nA 1 1|||D|||x" A0 "A 1 2|||D|||" A0, "a x c", {2, 2, 2}},
    {"any of the corrections", "S a b\nA 0 1|||X|||x||y||-NONE-" A0, "y b", {1, 1, 1}},
    {"to delete is one of them", "S a b\nA 0 1|||X|||x||y||-NONE-" A0, "b", {1, 1, 1}},
    {"none of them", "S a b\nA 0 1|||X|||x||y" A0, "z b", {0, 1, 1}},
    {"nothing to do, nothing done", "S a b\nA -1 -1|||noop|||-NONE-" A0, "a b", {0, 0, 0}},
    {"nothing to do, something done", "S a b\nA 0 1|||noop|||x" A0, "x b", {0, 1, 0}},
    {"no lines A", "S a b\n", "a b", {0, 0, 0}},
    {"all words go", "S a b\nA 0 2|||X|||" A0, "", {1, 1, 1}},
    {"all words go, one by one", "S a b\nA 0 1|||X|||" A0 "A 1 2|||X|||" A0, "", {2, 2, 2}},
    {"all words go, wrongly", "S a b\nA 0 1|||X|||x" A0, "", {0, 1, 1}},
    {"all words come", "S\nA 0 0|||X|||a b" A0, "a b", {1, 1, 1}},
    {"no words", "S\n", "", {0, 0, 0}},
    /* the same edit is matched once, and the other `a` is proposed */
    {"once", "S b\nA 0 0|||X|||a" A0, "a a b", {1, 2, 1}},
    {"twice", "S b\nA 0 0|||X|||a" A0 "A 0 0|||X|||a" A0, "a a b", {2, 2, 2}},
    {"in their order", "S b\nA 0 0|||X|||x" A0 "A 0 0|||X|||y" A0, "x y b", {2, 2, 2}},
    {"out of it", "S b\nA 0 0|||X|||y" A0 "A 0 0|||X|||x" A0, "x y b", {1, 2, 2}},
    {"one of two of one place", "S a b\nA 0 1|||X|||x" A0 "A 0 1|||X|||y" A0, "y b", {1, 1, 2}},
    {"a correction that is none", "S a b\nA 0 1|||X|||a" A0, "a b", {0, 0, 1}},
    {"in any order of lines", "S a b c\nA 2 3|||X|||z" A0 "A 0 1|||X|||x" A0, "x b z", {2, 2, 2}},
    {"white space is no word",
     "S  a \t b\xc2\xa0\nA  0   1|||X|||  x   y " A0,
     " x y\xe2\x80\x83 b ",
     {1, 1, 1}},
    {"case counts", "S a b\nA 0 1|||X|||X" A0, "x b", {0, 1, 1}},
};

static const M2Options usual = {0.5, 2};

TEST(counts_by_hand)
{
    for (size_t i = 0; i < sizeof by_hand / sizeof *by_hand; i++) {
        char line[256];
        snprintf(line, sizeof line, "%s\n", by_hand[i].hypothesis);
        M2Counts c = score_of(by_hand[i].gold, line, usual, NULL);
        const size_t *want = by_hand[i].counts;
        if (c.correct != want[0] || c.proposed != want[1] || c.gold != want[2])
            fail_msg("%s: %zu correct, %zu proposed, %zu gold, not %zu, %zu, %zu", by_hand[i].name,
                     c.correct, c.proposed, c.gold, want[0], want[1], want[2]);
    }
}

/* P is 100 where nothing is proposed, and R is 100 where there is no gold edit. P = 3/4, R = 1/2: F = 5/4 3/8 / (3/16 +
 * 1/2) = 15/22; beta 1: 3/5; beta 2: 5 3/8 / (3 + 1/2) = 15/28; beta 0: P. */
TEST(precision_recall_f)
{
    static const M2Counts none = {0}, silent = {0, 0, 3}, wrong = {0, 3, 0}, both = {0, 2, 3},
                          some = {3, 4, 6};
    assert_true(m2_precision(&none) == 100 && m2_recall(&none) == 100 && m2_f(&none, .5) == 100);
    assert_true(m2_precision(&silent) == 100 && m2_recall(&silent) == 0 && m2_f(&silent, .5) == 0);
    assert_true(m2_precision(&wrong) == 0 && m2_recall(&wrong) == 100 && m2_f(&wrong, .5) == 0);
    assert_true(m2_precision(&both) == 0 && m2_recall(&both) == 0 && m2_f(&both, .5) == 0);
    assert_true(m2_precision(&some) == 75 && m2_recall(&some) == 50);
    static const double beta[] = {0, .5, 1, 2}, want[] = {75, 1500 / 22., 60, 1500 / 28.};
    for (int i = 0; i < 4; i++) assert_true(fabs(m2_f(&some, beta[i]) - want[i]) <= 1e-12);
}

/* ---- annotators ---------------------------------------------------------------------------------- */

/* The example of the program m2scorer, whose figures are .8, .8 and .8. The -> A is wrong; at -> on and -> the are
 * right. dog stays as in the second annotator's text; are and no `an` are the first's, who has predators too. */
static const char example[] =
    "S The cat sat at mat .\nA 3 4|||Prep|||on" A0 "A 4 4|||ArtOrDet|||the||a" A0 "\n"
    "S The dog .\nA 1 2|||NN|||dogs" A0 "A -1 -1|||noop|||-NONE-" A1 "\n"
    "S Giant otters is an apex predator .\nA 2 3|||SVA|||are" A0 "A 3 4|||ArtOrDet|||-NONE-" A0
    "A 5 6|||NN|||predators" A0 "A 1 2|||NN|||otter" A1;

TEST(example_of_the_authors)
{
    M2Choice each[EACH];
    M2Counts c =
        score_of(example, "A cat sat on the mat .\nThe dog .\nGiant otters are apex predator .\n",
                 usual, each);
    assert_true(c.correct == 4 && c.proposed == 5 && c.gold == 5);
    assert_true(fabs(m2_f(&c, .5) - 80) <= 1e-12);
    static const size_t annotator[] = {0, 1, 0}, gold[] = {2, 0, 3}, proposed[] = {3, 0, 2};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(each[i].annotator, annotator[i]);
        assert_int_equal(each[i].counts.gold, gold[i]);
        assert_int_equal(each[i].counts.proposed, proposed[i]);
    }
}

/* Alone the second sentence is better with annotator 1: (1, 1, 1) has F 1, and (2, 2, 6) of annotator 0 has 2.5 / 3.5.
 * After (0, 5, 0) of the first it is the reverse: 2.5 / (1.5 + 7) and 1.25 / (.25 + 6). */
TEST(annotators_by_the_running_score)
{
    static const char first[] = "S a s s b s s c s s d s s e\n",
                      first_h[] = "v s s w s s x s s y s s z\n", second_h[] = "P q R s t u\n",
                      second[] = "S p q r s t u\nA 0 1|||X|||P" A0 "A 1 2|||X|||z" A0
                                 "A 2 3|||X|||R" A0 "A 3 4|||X|||z" A0 "A 4 5|||X|||z" A0
                                 "A 5 6|||X|||z" A0 "A 0 3|||X|||P q R" A1;
    static const M2Options one = {0.5, 1};
    char gold[1024], hypothesis[128];
    M2Choice each[EACH];
    for (int swapped = 0; swapped < 2; swapped++) {
        snprintf(gold, sizeof gold, "%s\n%s", swapped ? second : first, swapped ? first : second);
        snprintf(hypothesis, sizeof hypothesis, "%s%s", swapped ? second_h : first_h,
                 swapped ? first_h : second_h);
        M2Counts c = score_of(gold, hypothesis, one, each);
        assert_int_equal(each[!swapped].annotator, swapped);
        assert_int_equal(c.correct, swapped ? 1 : 2);
        assert_int_equal(c.proposed, 5 + (swapped ? 1 : 2));
        assert_int_equal(c.gold, swapped ? 1 : 6);
    }
}

/* In a tie F is 0 with either annotator, and 2 + .25 3 is more than 2 + .25 1, whatever the order of the lines and the
 * numbers. Where all is equal the least number counts. */
TEST(annotators_that_tie)
{
    static const char a[] = "A 0 1|||X|||x" END, b[] = "A 1 2|||X|||y" END;
    char gold[1024];
    M2Choice each[EACH];
    for (int few = 0; few < 2; few++) {
        snprintf(gold, sizeof gold, "S a b c\n%s%d\n%s%d\n%s%d\n%s%d\n", a, !few, a, few, b, !few,
                 b, !few);
        M2Counts c = score_of(gold, "q b r\n", (M2Options){0.5, 0}, each);
        assert_int_equal(each[0].annotator, few);
        assert_true(c.proposed == 2 && c.gold == 1);
    }
    snprintf(gold, sizeof gold, "S a b c\n%s7\n%s5\n", a, b);
    score_of(gold, "q b c\n", usual, each);
    assert_int_equal(each[0].annotator, 5);
}

/* ---- a slow reader ------------------------------------------------------------------------------- */

enum { SLOW_WORDS = 4, SLOW_STEPS = 2 * SLOW_WORDS, SLOW_EDITS = 3 };

typedef struct {
    int start, end, n, word[SLOW_WORDS];
} SlowEdit;

typedef struct {
    int n, m, a[SLOW_WORDS], b[SLOW_WORDS]; /* source and hypothesis */
    int edits, unchanged;
    SlowEdit edit[SLOW_EDITS];
} SlowCase;

enum {
    NO_MISTAKE,
    COST_1_ALONE,
    COST_2_ALONE,
    NO_UNION,
    NOT_MERGED,
    NO_LIMIT,
    TWICE,
    NOT_IN_ORDER,
    MOST_EDITS,
    LONG_WAYS,
    MISTAKES
};

/* A way of steps 'r' (replaces, or stays), 'd', 'i'. */
typedef struct {
    const SlowCase *c;
    int mistake, steps;
    char step[SLOW_STEPS];
    int least[2];
    int allowed[2][SLOW_WORDS + 1][SLOW_WORDS + 1][3]; /* by cost, vertex and step that leaves it */
    int best[3];                                       /* matched, single edges outside, edits */
    int found;
} Slow;

static int slow_stays(const SlowCase *c, int i, int j, char step)
{
    return step == 'r' && c->a[i] == c->b[j];
}

static int slow_index(char step)
{
    return step == 'r' ? 0 : step == 'd' ? 1 : 2;
}

/* Returns whether an edit from (i, j) to (i2, j2) is the gold edit. */
static int slow_same(const SlowCase *c, const SlowEdit *e, int i, int j, int i2, int j2)
{
    int same = e->n == e->end - e->start;
    if (i != e->start || i2 != e->end || j2 - j != e->n) return 0;
    for (int k = 0; k < e->n; k++) {
        if (c->b[j + k] != e->word[k]) return 0;
        same = same && c->a[i + k] == e->word[k];
    }
    return !same;
}

typedef struct {
    int i, j, i2, j2, edges;
    int stay; /* one word that stays, in no edit */
} SlowPart;

/* Finds the most gold edits that parts from k on match, and the fewest edges outside them; used: gold edits that are
 * matched. */
static void slow_match(Slow *s, const SlowPart *part, int parts, int k, unsigned used, int behind,
                       int matched, int outside, int edits)
{
    const SlowCase *c = s->c;
    if (k == parts) {
        int mine[3] = {matched, -outside, s->mistake == MOST_EDITS ? edits : -edits}, d = 0;
        if (s->mistake == LONG_WAYS) mine[1] = 0;
        while (d < 2 && mine[d] == s->best[d]) d++;
        if (!s->found || mine[d] > s->best[d]) memcpy(s->best, mine, sizeof mine);
        s->found = 1;
        return;
    }
    const SlowPart *p = &part[k];
    slow_match(s, part, parts, k + 1, used, behind, matched, outside + p->edges, edits + !p->stay);
    for (int e = 0; e < c->edits && !p->stay; e++) {
        if (!slow_same(c, &c->edit[e], p->i, p->j, p->i2, p->j2)) continue;
        if (used >> e & 1 && s->mistake != TWICE) continue;
        if (p->i == p->i2 && e < behind && s->mistake != NOT_IN_ORDER && s->mistake != TWICE)
            continue;
        slow_match(s, part, parts, k + 1, used | 1u << e, p->i == p->i2 ? e : behind, matched + 1,
                   outside, edits + 1);
    }
}

/* Tries all cuts of a way into words that stay and edits. */
static void slow_cut(Slow *s, int step, int i, int j, SlowPart *part, int parts)
{
    const SlowCase *c = s->c;
    if (step == s->steps) {
        slow_match(s, part, parts, 0, 0, 0, 0, 0, 0);
        return;
    }
    SlowPart p = {.i = i, .j = j, .i2 = i, .j2 = j};
    for (int stay = 0, change = 0; step < s->steps;) {
        int stays = slow_stays(c, p.i2, p.j2, s->step[step]);
        stay += stays;
        change += !stays;
        p.i2 += s->step[step] != 'i';
        p.j2 += s->step[step] != 'd';
        step++;
        p.edges++;
        p.stay = !change;
        part[parts] = p;
        if (change ? stay <= c->unchanged || s->mistake == NO_LIMIT : stay == 1)
            slow_cut(s, step, p.i2, p.j2, part, parts + 1);
        if (s->mistake == NOT_MERGED) break;
    }
}

enum { FIND_LEAST, FIND_EDGES, TRY_WAYS };

/* Tries all ways from (i, j) on; one and two are their costs so far with replacements of 1 and of 2. */
static void slow_walk(Slow *s, int pass, int i, int j, int one, int two)
{
    const SlowCase *c = s->c;
    if (i == c->n && j == c->m) {
        int cost[2] = {one, two};
        SlowPart part[SLOW_STEPS];
        for (int k = 0; k < 2 && pass == FIND_LEAST; k++)
            if (cost[k] < s->least[k]) s->least[k] = cost[k];
        for (int k = 0; k < 2 && pass == FIND_EDGES; k++)
            for (int x = 0, y = 0, n = 0; cost[k] == s->least[k] && n < s->steps; n++) {
                s->allowed[k][x][y][slow_index(s->step[n])] = 1;
                x += s->step[n] != 'i';
                y += s->step[n] != 'd';
            }
        if (pass != TRY_WAYS) return;
        int own = one == s->least[0] || two == s->least[1];
        if (s->mistake != NO_UNION || own) slow_cut(s, 0, 0, 0, part, 0);
        return;
    }
    for (const char *step = "rdi"; *step; step++) {
        int k = slow_index(*step), stays;
        if ((*step != 'i' && i == c->n) || (*step != 'd' && j == c->m)) continue;
        int in_1 = s->allowed[0][i][j][k] && s->mistake != COST_2_ALONE;
        int in_2 = s->allowed[1][i][j][k] && s->mistake != COST_1_ALONE;
        if (pass == TRY_WAYS && !in_1 && !in_2) continue;
        stays = slow_stays(c, i, j, *step);
        s->step[s->steps++] = *step;
        slow_walk(s, pass, i + (*step != 'i'), j + (*step != 'd'), one + !stays,
                  two + (stays ? 0 : 1 + (*step == 'r')));
        s->steps--;
    }
}

static void slow_count(const SlowCase *c, int mistake, size_t *correct, size_t *proposed)
{
    static Slow s;
    s = (Slow){.c = c, .mistake = mistake, .least = {99, 99}};
    for (int pass = FIND_LEAST; pass <= TRY_WAYS; pass++) slow_walk(&s, pass, 0, 0, 0, 0);
    assert_true(s.found);
    *correct = (size_t)s.best[0];
    *proposed = (size_t)abs(s.best[2]);
}

static struct {
    uint64_t stream, index;
} at;

static int below(int n)
{
    return (int)random_below(11, at.stream, at.index++, (size_t)n);
}

static int draw_words(int *word, int most)
{
    int n = below(most + 1);
    for (int i = 0; i < n; i++) word[i] = below(3);
    return n;
}

/* Draws edits that do not overlap, by their starts; half of them have the hypothesis' words. */
static void draw_case(SlowCase *c)
{
    *c = (SlowCase){.unchanged = below(3)};
    c->n = draw_words(c->a, SLOW_WORDS);
    c->m = draw_words(c->b, SLOW_WORDS);
    for (int start = 0, tries = 0; tries < 5 && c->edits < SLOW_EDITS; tries++) {
        SlowEdit *e = &c->edit[c->edits];
        start += below(2);
        if (start > c->n) break;
        int length = below(3);
        *e = (SlowEdit){.start = start, .end = start + length < c->n ? start + length : c->n};
        e->n = draw_words(e->word, 2);
        if (below(2) && c->m > 0) {
            int from = below(c->m);
            e->n = below(c->m - from < 3 ? c->m - from + 1 : 3);
            memcpy(e->word, c->b + from, (size_t)e->n * sizeof *e->word);
        }
        start = e->end;
        c->edits++;
    }
}

static void print_words(FILE *f, const int *word, int n)
{
    for (int i = 0; i < n; i++) fprintf(f, "%s%c", i ? " " : "", 'a' + word[i]);
}

static void print_case(const SlowCase *c, FILE *gold, FILE *hypothesis)
{
    fputs("S ", gold);
    print_words(gold, c->a, c->n);
    for (int e = 0; e < c->edits; e++) {
        fprintf(gold, "\nA %d %d|||X|||", c->edit[e].start, c->edit[e].end);
        print_words(gold, c->edit[e].word, c->edit[e].n);
        fputs(END "0", gold);
    }
    fputc('\n', gold);
    print_words(hypothesis, c->b, c->m);
    fputc('\n', hypothesis);
}

TEST(slow_reader)
{
    size_t seen[MISTAKES] = {0}, matched = 0, cases = 4000;
    for (at.stream = 0; at.stream < cases; at.stream++) {
        SlowCase c;
        char gold[512] = "", hypothesis[64] = "";
        FILE *g = fmemopen(gold, sizeof gold, "w"), *h = fmemopen(hypothesis, 64, "w");
        at.index = 0;
        draw_case(&c);
        print_case(&c, g, h);
        fclose(g);
        fclose(h);
        M2Counts got = score_of(gold, hypothesis, (M2Options){0.5, (size_t)c.unchanged}, NULL);
        for (int k = NO_MISTAKE; k < MISTAKES; k++) {
            size_t correct, proposed;
            slow_count(&c, k, &correct, &proposed);
            int same = got.correct == correct && got.proposed == proposed;
            seen[k] += !same;
            if (k == NO_MISTAKE && !same)
                fail_msg("draw %zu: %zu correct of %zu, not %zu of %zu; %d words may stay\n%s%s",
                         (size_t)at.stream, got.correct, got.proposed, correct, proposed,
                         c.unchanged, gold, hypothesis);
        }
        matched += got.correct;
    }
    for (int k = 1; k < MISTAKES; k++)
        if (seen[k] < 5) fail_msg("mistake %d is seen in %zu cases alone", k, seen[k]);
    assert_true(matched > cases / 8);
}

/* ---- long sentences ------------------------------------------------------------------------------ */

/* Each fourth word is changed, and each of these edits is an annotator's. Then all are wrong, and the two words between
 * two of them may stay or not. */
TEST(long_sentences)
{
    enum { LONG = 256 };
    char *gold = NULL, *hypothesis = NULL;
    size_t bytes[2];
    for (int right = 0; right < 2; right++) {
        FILE *g = open_memstream(&gold, &bytes[0]), *h = open_memstream(&hypothesis, &bytes[1]);
        fputc('S', g);
        for (int i = 0; i < LONG; i++) {
            fprintf(g, " w%d", i);
            fprintf(h, i % 4 ? "w%d " : "x%d ", i);
        }
        for (int i = 0; i < LONG; i += 4)
            fprintf(g, "\nA %d %d|||X|||%c%d" END "0", i, i + 1, right ? 'x' : 'y', i);
        fputs("\n", g);
        fputs("\n", h);
        fclose(g);
        fclose(h);
        M2Counts c = score_of(gold, hypothesis, usual, NULL);
        assert_true(c.correct == (right ? LONG / 4 : 0) && c.proposed == LONG / 4);
        c = score_of(gold, hypothesis, (M2Options){0.5, M2_WORDS}, NULL);
        assert_true(c.correct == (right ? LONG / 4 : 0));
        assert_int_equal(c.proposed, right ? LONG / 4 : 1);
        free(gold);
        free(hypothesis);
    }
}

/* ---- files --------------------------------------------------------------------------------------- */

static void refused(const char *text, const char *words)
{
    M2File f;
    assert_int_equal(m2_file_read(file_text("gold", text), &f), ERR_INPUT);
    if (!strstr(error_text(), words)) fail_msg("'%s', not '%s'", error_text(), words);
    m2_file_free(&f);
}

TEST(bad_files)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "gold is empty"},
        {"\n\n", "gold has no sentence"},
        {"S a\n\nS b\nS c\n", "gold:4: expected an empty line before a line S"},
        {"S a\nA 0 1|||X|||b" A0 "S b\n", "gold:3: expected an empty line before a line S"},
        {"A 0 1|||X|||b" A0, "gold:1: expected a line S before a line A"},
        {"S a\n\nA 0 1|||X|||b" A0, "gold:3: expected a line S before a line A"},
        {"S a\nB\n", "gold:2: expected 'S WORD ...', 'A START END|||"},
        {"S a\n \n", "gold:2: expected 'S WORD ...'"},
        {"Sa\n", "gold:1: expected 'S WORD ...'"},
        {"S a\nAA 0 1|||X|||b" A0, "gold:2: expected 'S WORD ...'"},
        {"S a\nA\n", "gold:2: expected 'A START END|||"},
        {"S a\nA 0 1|||X|||b\n", "gold:2: expected 'A START END|||"},
        {"S a\nA 0 1|||X|||b|||y|||z|||0|||0\n", "gold:2: expected 'A START END|||"},
        {"S a\nA 0|||X|||b" A0, "gold:2: expected 'A START END|||"},
        {"S a\nA 0 1 1|||X|||b" A0, "gold:2: expected 'A START END|||"},
        {"S a\nA -1 0|||X|||b" A0, "gold:2: expected 'A START END|||"},
        {"S a\nA 0 x|||X|||b" A0, "gold:2: expected 'A START END|||"},
        {"S a\nA 0 9999999999|||X|||b" A0, "gold:2: expected 'A START END|||"},
        {"S a\nA 0 1|||X|||b" END "\n", "gold:2: expected 'A START END|||"},
        {"S a\nA 0 1|||X|||b" END "x\n", "gold:2: expected 'A START END|||"},
        {"S a b\nA 2 1|||X|||b" A0, "gold:2: an edit from 2 to 1: its end is before its start"},
        {"S a b\nA 1 3|||X|||b" A0, "gold:2: an edit that ends at 3, of a sentence of 2 words"},
        {"S a\nA 0 1|||X|||\xff" A0, "gold:2: invalid UTF-8"},
    };
    M2File f;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refused(bad[i].text, bad[i].words);
    assert_int_equal(m2_file_read(file_write("gold", "S a\0b\n", 6), &f), ERR_INPUT);
    assert_non_null(strstr(error_text(), "gold:1: a NUL byte"));
    assert_int_equal(m2_file_read("nowhere/at/all", &f), ERR_INPUT);
}

/* Line ends of either kind, surplus empty lines, a last line without its end, and lines A in any order are read. */
TEST(good_files)
{
    M2File f;
    static const char text[] = "\n\r\nS a b\r\nA 1 2|||X|||c" END "1\r\nA 0 1|||X|||d||e f" END
                               "0\r\nA 0 0|||X|||g" END "1\r\n\r\n\nS c";
    assert_int_equal(m2_file_read(file_text("gold", text), &f), 0);
    assert_true(f.sentences == 2 && f.sets == 3 && f.edits == 3 && f.corrections == 4);
    assert_true(f.sentence[0].sets == 2 && f.set[0].annotator == 0 && f.set[0].edits == 1);
    assert_true(f.set[1].annotator == 1 && f.set[1].edits == 2);
    assert_true(f.edit[f.set[1].first].start == 0 && f.edit[f.set[1].first].line == 6);
    assert_true(f.edit[f.set[0].first].corrections == 2);
    assert_true(f.sentence[1].sets == 1 && f.set[2].edits == 0 && f.sentence[1].source.n == 1);
    /* c stands in both blocks and has one number */
    assert_int_equal(f.words.x[f.sentence[1].source.first],
                     f.words.x[f.correction[f.edit[f.set[1].first + 1].first].first]);
    m2_file_free(&f);
}

TEST(too_many_words)
{
    static char text[2 * M2_WORDS + 64] = "S";
    M2File f;
    M2Counts total;
    for (int i = 0; i < M2_WORDS; i++) strcpy(text + 1 + 2 * i, " a");
    assert_int_equal(m2_file_read(file_text("gold", text), &f), 0); /* control */
    m2_file_free(&f);
    strcat(text, " a");
    refused(text, "gold:1: more than 4096 words");
    assert_int_equal(m2_file_read(file_text("gold", "S a\n"), &f), 0);
    Lines h = lines_of(text);
    assert_int_equal(m2_score(&f, &h, &usual, &total, NULL), ERR_INPUT);
    assert_non_null(strstr(error_text(), "text:1: more than 4096 words"));
    lines_free(&h);
    h = lines_of("a\nb\n");
    assert_int_equal(m2_score(&f, &h, &usual, &total, NULL), ERR_INPUT);
    assert_non_null(strstr(error_text(), "text has 2 lines and "));
    assert_non_null(strstr(error_text(), "gold 1 sentences"));
    lines_free(&h);
    m2_file_free(&f);
}

/* ---- short memory -------------------------------------------------------------------------------- */

static int score_job(void)
{
    M2File f;
    Lines h = {0};
    M2Counts total;
    M2Choice each[EACH];
    int code = m2_file_read(file_path("gold"), &f);
    if (code == 0) code = lines_read(file_path("h"), &h);
    if (code == 0) code = m2_score(&f, &h, &usual, &total, each);
    lines_free(&h);
    m2_file_free(&f);
    return code;
}

TEST(nothing_leaks)
{
    file_text("gold", example);
    file_text("h", "A cat sat on the mat .\nThe dog .\nGiant otters are apex predator .\n");
    assert_true(fail_each(score_job, ERR_MEMORY) > 20);
}

TEST_MAIN(scratch_open, scratch_close)
