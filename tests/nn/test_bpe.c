/* test_bpe.c: byte-pair encoding against slow programs that do the same: a learner that follows subword-nmt's
 * learn_bpe.py letter by letter, and an applier on strings.
 *
 * With TROTTER_MULTI30K=FOLDER the codes of Multi30k are the published ones. */
#include "tests/lib/test.h"

#include <nettle/sha2.h>

#include "kernels/random.h"
#include "nn/text/corpus.h"
#include "nn/text/hash.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

enum { SYMBOLS = 256, NAME = 64, WORDS = 48, LONGEST = 10, TEXT = 1 << 16, MERGES = 200 };

/* ---- random texts ------------------------------------------------------------------------------- */

static uint64_t drawn;

static size_t draw(size_t n)
{
    return (size_t)random_below(11, 1, drawn++, n);
}

/* Letters for ties and prefixes; characters of 1, 2, 3 and 4 bytes; the mark of a piece; the mark of a word's end. */
static const char *const alphabets[][8] = {
    {"a", "b"},
    {"a", "b", "c", "d"},
    {"a", "\xc3\xa4", "\xc3\x9f", "\xe2\x82\xac", "\xe4\xb8\xad", "\xf0\x9f\x98\x80"},
    {"@", "a", "b"},
    {"<", "/", "w", ">"},
};
enum { ALPHABETS = sizeof alphabets / sizeof *alphabets };

/* Draws a word. None ends in "@@". */
static void draw_word(const char *const *letter, char *word)
{
    size_t letters = 0;
    while (letters < 8 && letter[letters]) letters++;
    *word = '\0';
    for (size_t n = 1 + draw(LONGEST - 1); n > 0; n--) strcat(word, letter[draw(letters)]);
    size_t n = strlen(word);
    if (n > 1 && strcmp(word + n - 2, "@@") == 0) strcpy(word + n - 1, "a");
}

/* Draws lines of words from a small list, the first ones often. An `untidy` text has extra blanks, blank lines and
 * "\r
 * ". */
static const char *draw_text(const char *const *letter, size_t tokens, int untidy)
{
    static const char *const between[] = {" ", " ", "  ", "   "}, *const end[] = {"\n",   " \n",
                                                                                  "\r\n", "  \r\n",
                                                                                  "\n\n", "\n \n",
                                                                                  "\n "};
    static char text[TEXT], word[WORDS][4 * LONGEST + 1];
    size_t distinct = 4 + draw(WORDS - 4);
    char *p = text;
    for (size_t i = 0; i < distinct; i++) draw_word(letter, word[i]);
    for (size_t i = 0; i < tokens; i++) {
        double u = random_uniform(12, 1, drawn++);
        p = stpcpy(p, word[(size_t)((double)distinct * u * u * u)]);
        if (draw(7) == 0 || i + 1 == tokens)
            p = stpcpy(p, untidy ? end[draw(7)] : "\n");
        else
            p = stpcpy(p, untidy ? between[draw(4)] : " ");
    }
    assert_true(p < text + TEXT);
    return text;
}

static BpeText text_of(const char *text)
{
    return (BpeText){"text", text, strlen(text)};
}

/* ---- a slow learner -------------------------------------------------------------------------- */

/* Mistakes: the least of equals is taken, a pair that stands once is merged, and a count that comes back is added to the
 * one that waits. */
enum { RIGHT, LEAST_OF_EQUALS, LATE_STOP, ADDED, SPOILS };

static struct {
    char symbol[SYMBOLS][NAME];
    int symbols, words;
    struct {
        char text[4 * LONGEST + 1];
        int symbol[LONGEST], n;
        long count;
    } word[WORDS];
} slow;

static int symbol_of(const char *name)
{
    for (int i = 0; i < slow.symbols; i++)
        if (strcmp(slow.symbol[i], name) == 0) return i;
    assert_true(slow.symbols < SYMBOLS && strlen(name) < NAME);
    strcpy(slow.symbol[slow.symbols], name);
    return slow.symbols++;
}

static size_t letter_bytes(const char *p)
{
    size_t n = 1;
    while (((unsigned char)p[n] & 0xC0) == 0x80) n++;
    return n;
}

static void slow_spell(int w)
{
    char name[NAME];
    slow.word[w].n = 0;
    for (const char *p = slow.word[w].text; *p; p += letter_bytes(p)) {
        int n = (int)letter_bytes(p);
        snprintf(name, NAME, "%.*s%s", n, p, p[n] ? "" : "</w>");
        slow.word[w].symbol[slow.word[w].n++] = symbol_of(name);
    }
}

static void slow_begin(const char *text)
{
    slow.symbols = slow.words = 0;
    for (const char *p = text; *(p += strspn(p, " \r\n"));) {
        int n = (int)strcspn(p, " \r\n"), w = 0;
        while (w < slow.words && ((int)strlen(slow.word[w].text) != n ||
                                  strncmp(slow.word[w].text, p, (size_t)n) != 0))
            w++;
        if (w == slow.words) {
            assert_true(slow.words < WORDS);
            snprintf(slow.word[w].text, sizeof slow.word[w].text, "%.*s", n, p);
            slow.word[w].count = 0;
            slow_spell(w);
            slow.words++;
        }
        slow.word[w].count++;
        p += n;
    }
}

static long stats[SYMBOLS][SYMBOLS];

/* Tells whether pair (a, b) goes before (x, y). */
static int goes_before(int a, int b, int x, int y, int spoil)
{
    if (stats[a][b] != stats[x][y]) return stats[a][b] > stats[x][y];
    int order = strcmp(slow.symbol[a], slow.symbol[x]);
    if (order == 0) order = strcmp(slow.symbol[b], slow.symbol[y]);
    return spoil == LEAST_OF_EQUALS ? order < 0 : order > 0;
}

/* Makes every (a, b) of word w one symbol, from the left. Tells whether there was one. */
static int slow_merge(int w, int a, int b, int both)
{
    int *s = slow.word[w].symbol, n = 0, was = slow.word[w].n;
    for (int i = 0; i < was; i++)
        if (s[i] == a && i + 1 < was && s[i + 1] == b) {
            s[n++] = both;
            i++;
        } else {
            s[n++] = s[i];
        }
    slow.word[w].n = n;
    return n < was;
}

static int slow_join(int a, int b)
{
    char name[2 * NAME];
    snprintf(name, sizeof name, "%s%s", slow.symbol[a], slow.symbol[b]);
    return symbol_of(name);
}

/* learn_bpe.py calls these stats, big_stats and indices; `there`: stats has the key. */
static long big_stats[SYMBOLS][SYMBOLS];
static char there[SYMBOLS][SYMBOLS];
static short indices[SYMBOLS][SYMBOLS][WORDS];

static void put_away(double threshold, int spoil)
{
    for (int a = 0; a < slow.symbols; a++)
        for (int b = 0; b < slow.symbols; b++) {
            if (!there[a][b] || !((double)stats[a][b] < threshold)) continue;
            if (stats[a][b] < 0 || spoil == ADDED)
                big_stats[a][b] += stats[a][b];
            else
                big_stats[a][b] = stats[a][b];
            there[a][b] = 0;
            stats[a][b] = 0;
        }
}

static int best_there(int *x, int *y, int spoil)
{
    int found = 0;
    for (int a = 0; a < slow.symbols; a++)
        for (int b = 0; b < slow.symbols; b++)
            if (there[a][b] && (!found || goes_before(a, b, *x, *y, spoil))) {
                found = 1;
                *x = a;
                *y = b;
            }
    return found;
}

static void change(int a, int b, int w, long by)
{
    stats[a][b] += by * slow.word[w].count;
    indices[a][b][w] = (short)(indices[a][b][w] + by);
    there[a][b] = 1;
}

/* Updates the counts around the pair (a, b) of word w, which was `old`. */
static void update(int w, const int *old, int n, int a, int b, int both)
{
    for (int i = 0; i < n; i++) {
        if (old[i] != a || i == n - 1 || old[i + 1] != b) continue;
        if (i) change(old[i - 1], old[i], w, -1);
        if (i < n - 2 && (old[i + 2] != a || i >= n - 3 || old[i + 3] != b))
            change(old[i + 1], old[i + 2], w, -1);
        i++;
    }
    const int *now = slow.word[w].symbol;
    for (int i = 0; i < slow.word[w].n; i++) {
        if (now[i] != both) continue;
        if (i) change(now[i - 1], now[i], w, 1);
        if (i < slow.word[w].n - 1 && now[i + 1] != both) change(now[i], now[i + 1], w, 1);
    }
}

/* Writes merges, a line each, to `codes` as learn_bpe.py does, and returns how many. */
static int learn_slowly(const char *text, int merges, int spoil, char *codes)
{
    int x = 0, y = 0, done = 0;
    *codes = '\0';
    slow_begin(text);
    memset(stats, 0, sizeof stats);
    memset(there, 0, sizeof there);
    memset(indices, 0, sizeof indices);
    for (int w = 0; w < slow.words; w++)
        for (int i = 0; i + 1 < slow.word[w].n; i++)
            change(slow.word[w].symbol[i], slow.word[w].symbol[i + 1], w, 1);
    memcpy(big_stats, stats, sizeof stats);
    if (!best_there(&x, &y, spoil)) return 0;
    double threshold = (double)stats[x][y] / 10;
    for (; done < merges; done++) {
        int any = best_there(&x, &y, spoil);
        if (!any || (done && (double)stats[x][y] < threshold)) {
            put_away(threshold, spoil);
            memcpy(stats, big_stats, sizeof stats);
            memset(there, 1, sizeof there);
            best_there(&x, &y, spoil);
            threshold = (double)stats[x][y] * done / (done + 10000.0);
            put_away(threshold, spoil);
        }
        if (stats[x][y] < (spoil == LATE_STOP ? 1 : 2)) break;
        codes += sprintf(codes, "%s %s\n", slow.symbol[x], slow.symbol[y]);
        int both = slow_join(x, y), old[LONGEST];
        short in[WORDS];
        memcpy(in, indices[x][y], sizeof in);
        memset(indices[x][y], 0, sizeof in);
        for (int w = 0; w < slow.words; w++) {
            int n = slow.word[w].n;
            memcpy(old, slow.word[w].symbol, sizeof old);
            if (in[w] >= 1 && slow_merge(w, x, y, both)) update(w, old, n, x, y, both);
        }
        stats[x][y] = 0;
        if (done % 100 == 0) put_away(threshold, spoil);
    }
    return done;
}

/* ---- learning ----------------------------------------------------------------------------------- */

static Bpe *parsed(const char *codes, size_t n)
{
    Bpe *b;
    if (bpe_parse("codes", codes, n, &b) != 0) fail_msg("%s", error_text());
    return b;
}

/* Returns the codes as they are printed. The caller frees them. */
static char *printed(const Bpe *b)
{
    char *text;
    size_t bytes;
    assert_int_equal(bpe_print(b, &text, &bytes), 0);
    assert_int_equal(strlen(text), bytes);
    return text;
}

/* Returns the text of the codes after the version's line; "" where no merge is learned. The caller frees it. */
static char *learned(const char *text, size_t merges)
{
    OWN_BPE *b;
    BpeText t = text_of(text);
    int code = bpe_learn(&t, 1, merges, &b);
    if (code != 0) {
        assert_int_equal(code, ERR_INPUT);
        assert_null(b);
        assert_true(error_has("no two characters are neighbours twice"));
        return memory_string("");
    }
    OWN_BYTES *all = printed(b);
    assert_int_equal(strncmp(all, "#version: 0.2\n", 14), 0);
    return memory_string(all + 14);
}

/* The learner takes the merges of learn_bpe.py to the end, where counts are put away, come back, and are overwritten.
 * Spoiled learners differ on some texts. */
TEST(test_learned_merges)
{
    static char codes[1 << 16];
    size_t compared = 0, differ[SPOILS] = {0};
    for (int k = 0; k < 240; k++) {
        const char *text = draw_text(alphabets[k % ALPHABETS], 10 + draw(k % 2 ? 60 : 1500), 0);
        OWN_BYTES *mine = learned(text, MERGES);
        for (int spoil = RIGHT; spoil < SPOILS; spoil++) {
            int n = learn_slowly(text, MERGES, spoil, codes), same = strcmp(codes, mine) == 0;
            if (spoil == RIGHT && !same) fail_msg("%s\n%s\nand not\n%s", text, mine, codes);
            compared += spoil == RIGHT ? (size_t)n : 0;
            differ[spoil] += !same;
        }
    }
    assert_true(compared > 6000 && differ[LEAST_OF_EQUALS] > 20 && differ[LATE_STOP] > 20 &&
                differ[ADDED] > 50); /* controls */
}

TEST(test_small_texts)
{
    static const struct {
        const char *text, *codes;
        size_t merges;
    } row[] = {
        {"ab cd ab cd\n", "c d</w>\na b</w>\n", 9}, /* the greatest of equals */
        {"ab ab ba ba\n", "b a</w>\na b</w>\n", 9},
        {"abc abd\n", "a b\n", 9},    /* single pairs stay */
        {"ab abc abd\n", "a b\n", 9}, /* b at a word's end is another symbol */
        {"aaaa aaaa", "a a\naa a\naaa a</w>\n",
         9}, /* counted at every place, merged from the left */
        {"aaa\n", "", 9},
        {"aaaa\n", "a a\n", 9},
        {"x y z\n", "", 9},
        {" \n\r\n", "", 9},
        {"ab ab cd cd", "c d</w>\n", 1},
        {"ab\r\nab", "a b</w>\n", 9},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_BYTES *mine = learned(row[i].text, row[i].merges);
        assert_string_equal(mine, row[i].codes);
    }
}

/* Texts one after another are one text, whatever line the cut follows. */
TEST(test_several_texts)
{
    for (int k = 0; k < 20; k++) {
        const char *text = draw_text(alphabets[2], 200, k % 2);
        const char *cut = strchr(text + draw(strlen(text) / 2), '\n') + 1;
        BpeText all = text_of(text), part[3] = {{"a", text, (size_t)(cut - text)},
                                                {"empty", text, 0},
                                                {"b", cut, strlen(cut)}};
        OWN_BPE *a, *b, *first;
        assert_int_equal(bpe_learn(&all, 1, MERGES, &a), 0);
        assert_int_equal(bpe_learn(part, 3, MERGES, &b), 0);
        assert_int_equal(bpe_learn(part, 1, MERGES, &first), 0);
        assert_int_equal(bpe_merges(a), bpe_merges(b));
        assert_true(bpe_hash(a) == bpe_hash(b));
        assert_true(bpe_hash(a) != bpe_hash(first)); /* the control */
    }
}

/* ---- a slow applier ----------------------------------------------------------------------------- */

enum { CODES = 3 * MERGES, LAST_OF_EQUALS = 1, FROM_THE_RIGHT, HIGHEST_RANK, RULES };

static struct {
    char a[NAME], b[NAME];
} merge[CODES];
static int merges;

static void read_merges(const char *lines)
{
    for (merges = 0; *lines; merges++, lines = strchr(lines, '\n') + 1)
        assert_int_equal(sscanf(lines, "%63s %63s", merge[merges].a, merge[merges].b), 2);
}

static void shuffle_merges(void)
{
    for (int i = merges - 1; i > 0; i--) {
        size_t j = draw((size_t)i + 1);
        char a[NAME], b[NAME];
        strcpy(a, merge[i].a), strcpy(b, merge[i].b);
        strcpy(merge[i].a, merge[j].a), strcpy(merge[i].b, merge[j].b);
        strcpy(merge[j].a, a), strcpy(merge[j].b, b);
    }
}

static Bpe *merges_parsed(void)
{
    static char text[CODES * 2 * NAME];
    char *p = stpcpy(text, "#version: 0.2\n");
    for (int i = 0; i < merges; i++) p += sprintf(p, "%s %s\n", merge[i].a, merge[i].b);
    Bpe *b = parsed(text, strlen(text));
    assert_int_equal(bpe_merges(b), (size_t)merges);
    return b;
}

/* Returns the place of the pair among the merges, or `merges`. */
static int rank_of(const char *a, const char *b, int rule)
{
    int found = merges;
    for (int i = 0; i < merges; i++) {
        if (strcmp(merge[i].a, a) != 0 || strcmp(merge[i].b, b) != 0) continue;
        found = i;
        if (rule != LAST_OF_EQUALS) break;
    }
    return found;
}

/* Appends the word's pieces to `to` and returns its end. */
static char *cut_slowly(const char *word, size_t bytes, int rule, char *to)
{
    char piece[LONGEST + 1][NAME];
    int n = 0;
    for (size_t i = 0; i < bytes; i += letter_bytes(word + i), n++)
        snprintf(piece[n], NAME, "%.*s%s", (int)letter_bytes(word + i), word + i,
                 i + letter_bytes(word + i) == bytes ? "</w>" : "");
    for (;;) {
        int best = merges, m = 0;
        for (int i = 0; i + 1 < n; i++) {
            int rank = rank_of(piece[i], piece[i + 1], rule);
            if (rank == merges) continue;
            if (best == merges || (rule == HIGHEST_RANK ? rank > best : rank < best)) best = rank;
        }
        if (best == merges) break;
        char joined[LONGEST + 1][NAME];
        for (int i = 0; i < n; i++) {
            int both = i + 1 < n && strcmp(piece[i], merge[best].a) == 0 &&
                       strcmp(piece[i + 1], merge[best].b) == 0;
            if (both && rule == FROM_THE_RIGHT && i + 2 < n &&
                strcmp(piece[i + 2], merge[best].b) == 0 &&
                strcmp(piece[i + 1], merge[best].a) == 0)
                both = 0;
            snprintf(joined[m++], NAME, "%.30s%.30s", piece[i], both ? piece[i + 1] : "");
            i += both;
        }
        n = m;
        memcpy(piece, joined, sizeof piece);
    }
    piece[n - 1][strlen(piece[n - 1]) - 4] = '\0'; /* </w> */
    for (int i = 0; i < n; i++) to += sprintf(to, "%s%s", piece[i], i + 1 < n ? "@@ " : "");
    return to;
}

/* Applies merges line by line: blanks at both ends of a line stay, and one stays between words. merges = 0: words
 * stay. */
static const char *apply_slowly(const char *text, int rule)
{
    static char pieces[8 * TEXT];
    char *to = pieces;
    for (const char *line = text; *line;) {
        size_t bytes = strcspn(line, "\n"), head = strspn(line, " \r"), end = bytes;
        while (end > head && strchr(" \r", line[end - 1])) end--;
        if (head > bytes) head = bytes;
        to = mempcpy(to, line, head);
        for (size_t i = head; i < end;) {
            size_t n = strcspn(line + i, " \r\n");
            to = merges ? cut_slowly(line + i, n, rule, to) : (char *)mempcpy(to, line + i, n);
            i += n + strspn(line + i + n, " ");
            if (i < end) *to++ = ' ';
        }
        to = mempcpy(to, line + end, bytes - end + (line[bytes] == '\n'));
        line += bytes + (line[bytes] == '\n');
    }
    *to = '\0';
    return pieces;
}

static char *applied(const Bpe *b, const char *text)
{
    BpeText t = text_of(text);
    char *pieces;
    size_t bytes;
    assert_int_equal(bpe_apply(b, &t, &pieces, &bytes), 0);
    assert_int_equal(strlen(pieces), bytes);
    return pieces;
}

/* Joins the pieces in place, line by line. */
static void join_lines(char *text)
{
    char *to = text;
    for (char *line = text; *line;) {
        size_t bytes = strcspn(line, "\n"), whole = bytes + (line[bytes] == '\n');
        int ends = line[bytes] == '\n';
        size_t n = bpe_join(line, bytes);
        memmove(to, line, n);
        to += n;
        if (ends) *to++ = '\n';
        line += whole;
    }
    *to = '\0';
}

/* ---- applying ----------------------------------------------------------------------------------- */

TEST(test_applied_and_joined)
{
    size_t differ[RULES] = {0}, pieces = 0;
    for (int k = 0; k < 240; k++) {
        const char *const *letter = alphabets[k % ALPHABETS];
        char *lines;
        do lines = learned(draw_text(letter, 10 + draw(300), 0), 1 + draw(MERGES - 1));
        while (*lines == '\0' && (memory_free(lines), 1));
        read_merges(lines);
        memory_free(lines);
        if (k % 3 == 1) shuffle_merges();
        for (int i = 0, n = merges; k % 3 == 2 && i < n / 2; i++) merge[merges++] = merge[i];
        OWN_BPE *b = merges_parsed();
        const char *text = draw_text(letter, 200, k % 2); /* other words in these letters */
        OWN_BYTES *mine = applied(b, text);
        for (int rule = 0; rule < RULES; rule++) {
            const char *slowly = apply_slowly(text, rule);
            int same = strcmp(mine, slowly) == 0;
            differ[rule] += !same;
            if (rule == 0 && !same) fail_msg("%s\n%s\nand not\n%s", text, mine, slowly);
        }
        for (const char *p = mine; (p = strstr(p, "@@ ")); p++) pieces++;
        join_lines(mine);
        if (k % 2 == 0) assert_string_equal(mine, text);
        merges = 0;
        assert_string_equal(mine, apply_slowly(text, 0));
    }
    assert_true(pieces > 10000 && differ[LAST_OF_EQUALS] > 20 && differ[FROM_THE_RIGHT] > 20 &&
                differ[HIGHEST_RANK] > 100); /* controls */
}

/* Without a version, as in 0.1, the end of a word is a unit: by the same merges a word ends in "b" where 0.2, which has
 * b</w> there, merges nothing. Codes may have lines of other systems, no end of the last line, merges twice, and symbols
 * with the mark of a piece. */
TEST(test_forms_of_codes_and_texts)
{
#define LOW "#version: 0.2\nl o\nlo w</w>\n"
    static const struct {
        const char *codes, *text, *pieces, *printed;
    } row[] = {
        {LOW, "low\n", "low\n", LOW},
        {LOW, "", "", LOW},
        {LOW, "  low  lo \n", "  low l@@ o \n", LOW},
        {LOW, "   \nlow", "   \nlow", LOW},
        {LOW, " \r\nlow\r\n\r\n", " \r\nlow\r\n\r\n", LOW},
        {LOW, "low lowlow \r", "low lo@@ w@@ low \r", LOW},
        {LOW, "\r", "\r", LOW},
        {"#version: 0.2\r\n@ @\r\n  @@ a \na b\na b", "@@ab", "@@a@@ b",
         "#version: 0.2\n@ @\n@@ a\na b\na b\n"},
        {"a b\n", "ab cab", "ab c@@ ab", "#version: 0.1\na b\n"},
        {"#version: 0.1\r\na b", "ab cab", "ab c@@ ab", "#version: 0.1\na b\n"},
        {"#version: 0.2\na b\n", "ab cab", "a@@ b c@@ a@@ b", "#version: 0.2\na b\n"},
        {"b </w>\na b\na b</w>\n", "ab aba", "ab ab@@ a", NULL},
        {"b </w>\na b\n", "ab aba", "a@@ b ab@@ a", NULL},
        {"# v\na b\n", "# ab #v", "# ab #v", NULL},
        {"a </w>\n", "a", "a", NULL},
    };
#undef LOW
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_BPE *b = parsed(row[i].codes, strlen(row[i].codes));
        OWN_BYTES *mine = applied(b, row[i].text), *text = printed(b);
        assert_string_equal(mine, row[i].pieces);
        if (row[i].printed) assert_string_equal(text, row[i].printed);
        OWN_BPE *again = parsed(text, strlen(text));
        assert_true(bpe_hash(b) == bpe_hash(again));
    }
    bpe_free(NULL);
}

TEST(test_join)
{
    static const char *const row[][2] = {
        {"l@@ o@@ w er", "low er"},
        {"l@@", "l"},
        {"", ""},
        {"@@", ""},
        {"@", "@"},
        {"a@@@ b", "a@b"},
        {"a @@ b", "a b"},
        {"@@@@ b", "@@b"},
        {"a@@b", "a@@b"},
        {"a@@ ", "a"},
        {"a@@@", "a@"},
        {"@@ @@ @@ x", "x"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char line[32];
        strcpy(line, row[i][0]);
        line[bpe_join(line, strlen(line))] = '\0';
        assert_string_equal(line, row[i][1]);
    }
}

/* ---- files -------------------------------------------------------------------------------------- */

TEST(test_printed_and_read)
{
    for (int k = 0; k < 40; k++) {
        const char *text = draw_text(alphabets[k % ALPHABETS], 300, 0);
        BpeText t = text_of(text);
        OWN_BPE *a, *read;
        assert_int_equal(bpe_learn(&t, 1, 1 + draw(MERGES), &a), 0);
        OWN_BYTES *x = printed(a);
        assert_true(bpe_hash(a) == hash_bytes(HASH_START, x, strlen(x)));
        assert_int_equal(bpe_write(a, file_path("codes")), 0);
        assert_int_equal(bpe_read(file_path("codes"), &read), 0);
        OWN_BYTES *y = printed(read);
        assert_string_equal(x, y);
    }
}

/* Texts with these bytes are refused with these words, wherever they are read. For subword-nmt a word may end in the mark
 * of a piece or have a tab, and is cut; no text of a corpus may. */
TEST(test_refused_texts)
{
#define MARK "text:1: a word ends in '@@', the mark of a piece"
    static const struct {
        const char *bytes;
        size_t count;
        const char *says, *pieces; /* pieces: "*": any; NULL: refused too */
    } row[] = {
        {"a\xff", 2, "text:1: not UTF-8", NULL},
        {"a\n\xe2\x82", 4, "text:2: not UTF-8", NULL},
        {"\xed\xa0\x80", 3, "text:1: not UTF-8", NULL}, /* half of a pair in UTF-16 */
        {"a\nb\0c", 5, "text:2: a NUL byte", NULL},
        {"a\nb\rc\n", 6, "text:2: a carriage return inside a line", NULL},
        {"a\r\r\n", 4, "text:1: a carriage return inside a line", NULL},
        {"x@@ b\n", 6, MARK, "x@@ @@@ @ b\n"},
        {"a x@@\r\n", 7, MARK, "*"},
        {"@@", 2, MARK, "*"},
        {"x@@ x@@\n", 8, MARK, "*"},
        {"a\n\na\tb\n", 7, "text:3: a tab", "a\n\na@@ \t@@ b\n"},
    };
#undef MARK
    static const char codes[] = "#version: 0.2\na b\n";
    static const BpeText good = {"good", "@@x ab a@b x@ @\r\n@ ab\r", 22};
    OWN_BPE *b = parsed(codes, strlen(codes));
    assert_int_equal(bpe_check(&good), 0);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        BpeText t[2] = {good, {"text", row[i].bytes, row[i].count}};
        OWN_BPE *other;
        OWN_BYTES *pieces;
        size_t n;
        int code = row[i].pieces ? 0 : ERR_INPUT;
        assert_int_equal(bpe_check(&t[1]), ERR_INPUT);
        if (!error_has(row[i].says)) fail_msg("%s, not %s", error_text(), row[i].says);
        error_set(ERR_INPUT, "nothing");
        assert_int_equal(bpe_apply(b, &t[1], &pieces, &n), code);
        assert_true(code ? error_has(row[i].says) && !pieces : pieces != NULL);
        if (code == 0 && *row[i].pieces != '*') assert_string_equal(pieces, row[i].pieces);
        error_set(ERR_INPUT, "nothing");
        assert_int_equal(bpe_learn(t, 2, 5, &other), code);
        assert_true(code ? error_has(row[i].says) && !other : other != NULL);
    }
    Bpe *none;
    assert_int_equal(bpe_learn(&good, 1, 0, &none), ERR_INPUT);
    assert_true(error_has("0 merges"));
    assert_int_equal(bpe_learn(&good, 0, 1, &none), ERR_INPUT);
    assert_true(error_has("no two characters"));
}

TEST(test_refused_codes)
{
    static const struct {
        const char *bytes;
        size_t count; /* 0: the string's */
        const char *says;
    } row[] = {
        {"#version: 0.3\na b\n", 0, "codes:1: expected '#version: 0.2' or '#version: 0.1', or a"},
        {"the cat sat\n", 0, "codes:1: expected two symbols with one blank"},
        {"#version: 0.2 \na b\n#version: 0.2 a\n", 0, "codes:3: expected two symbols"},
        {"\n#version: 0.2\na b\n", 0, "codes:1: expected two symbols"},
        {"#version: 0.2", 0, "codes: codes without a merge"},
        {"#version: 0.2\na\n", 0, "codes:2: expected two symbols with one blank"},
        {"#version: 0.2\na  b\n", 0, "codes:2: expected two symbols"},
        {"#version: 0.2\na b c\n", 0, "codes:2: expected two symbols"},
        {"#version: 0.2\na \xff\n", 0, "codes:2: not UTF-8"},
        {"#version: 0.2\na \0b\n", 18, "codes:2: a NUL byte"},
        {"#version: 0.2\na\rb c\n", 0, "codes:2: a carriage return inside a line"},
    };
    OWN_BPE *b;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        size_t n = row[i].count ? row[i].count : strlen(row[i].bytes);
        assert_int_equal(bpe_parse("codes", row[i].bytes, n, &b), ERR_INPUT);
        if (!error_has(row[i].says)) fail_msg("%s, not %s", error_text(), row[i].says);
        assert_null(b);
        const char *file = file_write("codes", row[i].bytes, n);
        assert_int_equal(bpe_read(file, &b), ERR_INPUT);
        assert_true(error_has(file));
        assert_null(b);
    }
    assert_int_equal(bpe_read(file_path("nowhere"), &b), ERR_INPUT);
    assert_true(error_has("nowhere"));
    static const char good[] = "#version: 0.2\na b\n";
    assert_int_equal(bpe_parse("codes", good, strlen(good), &b), 0);
    assert_true(bpe_write(b, file_path("nowhere/codes")) != 0);
    assert_true(error_has("nowhere/codes"));
}

/* ---- no memory ---------------------------------------------------------------------------------- */

static const char *wanted; /* text of a job */

static int learn_job(void)
{
    BpeText t = text_of(wanted);
    OWN_BPE *b, *again = NULL;
    OWN_BYTES *text = NULL;
    size_t n;
    TRY(bpe_learn(&t, 1, 40, &b));
    TRY(bpe_print(b, &text, &n));
    return bpe_parse("codes", text, n, &again);
}

static int apply_job(void)
{
    static const char codes[] = "#version: 0.2\na b\nab c</w>\nc a\n";
    BpeText t = text_of(wanted);
    OWN_BPE *b;
    OWN_BYTES *pieces = NULL;
    size_t n;
    TRY(bpe_parse("codes", codes, sizeof codes - 1, &b));
    return bpe_apply(b, &t, &pieces, &n);
}

static int file_job(void)
{
    OWN_BPE *b;
    TRY(bpe_read(file_path("codes"), &b));
    return bpe_write(b, file_path("copy"));
}

TEST(test_every_allocation_fails)
{
    static char pairs[4096], *p = pairs;
    /* 512 pairs, one in each word: the map of places is half full when the first is merged. */
    for (int i = 0; i < 512; i++) p += sprintf(p, "%c%c ", 'A' + i / 23, 'A' + i % 23);
    strcpy(p, "AA\n");
    wanted = pairs;
    assert_true(fail_each(learn_job, 0) > 1000);
    wanted = draw_text(alphabets[1], 1500, 1);
    assert_true(fail_each(learn_job, 0) > 100);
    assert_true(fail_each(apply_job, 0) > 10);
    file_text("codes", "#version: 0.2\na b\nab c</w>\n");
    assert_true(fail_each(file_job, 0) > 10);
}

/* ---- Multi30k ----------------------------------------------------------------------------------- */

static void sha256(const char *text, size_t n, char hex[2 * SHA256_DIGEST_SIZE + 1])
{
    struct sha256_ctx state;
    uint8_t sum[SHA256_DIGEST_SIZE];
    sha256_init(&state);
    sha256_update(&state, n, (const uint8_t *)text);
    sha256_digest(&state, sizeof sum, sum);
    for (size_t i = 0; i < sizeof sum; i++) sprintf(hex + 2 * i, "%02x", sum[i]);
}

/* The results are those of the code file that Multi30k's preparations publish, and of subword-nmt on the texts. */
TEST(test_multi30k)
{
    const char *dir = getenv("TROTTER_MULTI30K");
    if (!dir) {
        print_message("# SKIP TROTTER_MULTI30K=FOLDER names no folder with Multi30k's texts\n");
        skip();
    }
    static const char *const name[] = {"train.en", "train.de"};
    BpeText t[2];
    char path[PATH_MAX], hex[2 * SHA256_DIGEST_SIZE + 1], *text;
    size_t n;
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, name[i]);
        assert_int_equal(read_text(path, &text, &n), 0);
        t[i] = (BpeText){name[i], text, n};
    }
    OWN_BPE *b;
    assert_int_equal(bpe_learn(t, 2, 10000, &b), 0);
    assert_int_equal(bpe_print(b, &text, &n), 0);
    sha256(text, n, hex);
    assert_string_equal(hex, "5b545f318e49f24367c7399019c9aeb5e3720b6379a08f887c2792af71c37f2a");
    memory_free(text);
    for (int i = 0; i < 2; i++) memory_free((char *)t[i].bytes);
    OWN_CORPUS c;
    CorpusChoice w = {.source = "en", .target = "de", .merges = 10000};
    assert_int_equal(corpus_choose(dir, &w, &c), 0);
    assert_int_equal(c.vocab.size, 9708 + 2); /* <eos>, <unk> */
    const Text *test = &c.source[SPLIT_TEST];
    assert_int_equal(test->tokens - test->lines, 13671);
    assert_int_equal(test->unknown, 1);
}

TEST_MAIN(scratch_open, scratch_close)
