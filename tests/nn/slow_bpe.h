/* slow_bpe.h: slow programs for byte-pair encoding, written apart from nn/: a learner that follows subword-nmt's
 * learn_bpe.py letter by letter, an applier on strings, and texts for both. They also make mistakes. */
#ifndef TROTTER_TESTS_SLOW_BPE_H
#define TROTTER_TESTS_SLOW_BPE_H

#include "tests/lib/test.h"

#include "kernels/base/random.h"
#include "nn/text/bpe.h"

enum { SYMBOLS = 256, NAME = 64, WORDS = 48, LONGEST = 10, TEXT = 1 << 16, MERGES = 200 };

/* ---- random texts ------------------------------------------------------------------------------- */

static uint64_t drawn;

static inline size_t draw(size_t n)
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
static inline void draw_word(const char *const *letter, char *word)
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
static inline const char *draw_text(const char *const *letter, size_t tokens, int untidy)
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

static inline BpeText text_of(const char *text)
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

static inline int symbol_of(const char *name)
{
    for (int i = 0; i < slow.symbols; i++)
        if (strcmp(slow.symbol[i], name) == 0) return i;
    assert_true(slow.symbols < SYMBOLS && strlen(name) < NAME);
    strcpy(slow.symbol[slow.symbols], name);
    return slow.symbols++;
}

static inline size_t letter_bytes(const char *p)
{
    size_t n = 1;
    while (((unsigned char)p[n] & 0xC0) == 0x80) n++;
    return n;
}

static inline void slow_spell(int w)
{
    char name[NAME];
    slow.word[w].n = 0;
    for (const char *p = slow.word[w].text; *p; p += letter_bytes(p)) {
        int n = (int)letter_bytes(p);
        snprintf(name, NAME, "%.*s%s", n, p, p[n] ? "" : "</w>");
        slow.word[w].symbol[slow.word[w].n++] = symbol_of(name);
    }
}

static inline void slow_begin(const char *text)
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
static inline int goes_before(int a, int b, int x, int y, int spoil)
{
    if (stats[a][b] != stats[x][y]) return stats[a][b] > stats[x][y];
    int order = strcmp(slow.symbol[a], slow.symbol[x]);
    if (order == 0) order = strcmp(slow.symbol[b], slow.symbol[y]);
    return spoil == LEAST_OF_EQUALS ? order < 0 : order > 0;
}

/* Makes every (a, b) of word w one symbol, from the left. Tells whether there was one. */
static inline int slow_merge(int w, int a, int b, int both)
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

static inline int slow_join(int a, int b)
{
    char name[2 * NAME];
    snprintf(name, sizeof name, "%s%s", slow.symbol[a], slow.symbol[b]);
    return symbol_of(name);
}

/* learn_bpe.py calls these stats, big_stats and indices; `there`: stats has the key. */
static long big_stats[SYMBOLS][SYMBOLS];
static char there[SYMBOLS][SYMBOLS];
static short indices[SYMBOLS][SYMBOLS][WORDS];

static inline void put_away(double threshold, int spoil)
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

static inline int best_there(int *x, int *y, int spoil)
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

static inline void change(int a, int b, int w, long by)
{
    stats[a][b] += by * slow.word[w].count;
    indices[a][b][w] = (short)(indices[a][b][w] + by);
    there[a][b] = 1;
}

/* Updates the counts around the pair (a, b) of word w, which was `old`. */
static inline void update(int w, const int *old, int n, int a, int b, int both)
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
static inline int learn_slowly(const char *text, int merges, int spoil, char *codes)
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

/* ---- a slow applier ----------------------------------------------------------------------------- */

enum { CODES = 3 * MERGES, LAST_OF_EQUALS = 1, FROM_THE_RIGHT, HIGHEST_RANK, RULES };

static struct {
    char a[NAME], b[NAME];
} merge[CODES];
static int merges;

static inline void read_merges(const char *lines)
{
    for (merges = 0; *lines; merges++, lines = strchr(lines, '\n') + 1)
        assert_int_equal(sscanf(lines, "%63s %63s", merge[merges].a, merge[merges].b), 2);
}

static inline void shuffle_merges(void)
{
    for (int i = merges - 1; i > 0; i--) {
        size_t j = draw((size_t)i + 1);
        __typeof__(*merge) kept = merge[i];
        merge[i] = merge[j];
        merge[j] = kept;
    }
}

/* Returns the place of the pair among the merges, or `merges`. */
static inline int rank_of(const char *a, const char *b, int rule)
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
static inline char *cut_slowly(const char *word, size_t bytes, int rule, char *to)
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
static inline const char *apply_slowly(const char *text, int rule)
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

#endif
