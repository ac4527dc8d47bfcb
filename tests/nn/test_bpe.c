/* test_bpe.c: byte-pair encoding against slow programs that do the same: a learner that follows subword-nmt's
 * learn_bpe.py letter by letter, and an applier on strings (tests/nn/slow_bpe.h). */
#include "tests/lib/test.h"

#include "nn/text/corpus.h"
#include "nn/text/bpe_codes.h"
#include "tests/lib/scratch.h"
#include "tests/nn/slow_bpe.h"
#include "tests/lib/tiny.h"

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
static char *learned(const char *text, size_t most)
{
    OWN_BPE *b;
    BpeText t = text_of(text);
    int code = bpe_learn(&t, 1, most, NULL, &b);
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

/* A word of BPE_WORD_MOST bytes is learned from, a longer one is refused by its line. */
TEST(test_longest_word)
{
    for (size_t n = BPE_WORD_MOST; n <= BPE_WORD_MOST + 1; n++) {
        OWN_BYTES *text = memory_new(n + 6, 1);
        OWN_BPE *b;
        assert_non_null(text);
        memcpy(text, "a b\nc ", 6);
        memset(text + 6, 'a', n - 1);
        text[n + 5] = 'b';
        BpeText t = {.file = "long", .bytes = text, .count = n + 6};
        int code = bpe_learn(&t, 1, 1, NULL, &b);
        assert_int_equal(code, n > BPE_WORD_MOST ? ERR_INPUT : 0);
        assert_true(code == 0 || error_has("long:2: a word of 1048577 bytes"));
    }
}

/* The learner takes the merges of learn_bpe.py to the end, where counts are put away, come back, and are overwritten.
 * Spoiled learners differ on some texts. By hand: of equals the greatest is taken; "aaaa" is counted at every place and
 * merged from the left. */
TEST(test_learned_merges)
{
    static char codes[1 << 16];
    size_t compared = 0, differ[SPOILS] = {0};
    for (int k = 0; k < 120; k++) {
        const char *text =
            draw_text(alphabets[k % ALPHABETS], 10 + draw(k % 2 ? 60 : 1500), k % 3 == 0);
        OWN_BYTES *mine = learned(text, MERGES);
        for (int spoil = RIGHT; spoil < SPOILS; spoil++) {
            int n = learn_slowly(text, MERGES, spoil, codes), same = strcmp(codes, mine) == 0;
            if (spoil == RIGHT && !same) fail_msg("%s\n%s\nand not\n%s", text, mine, codes);
            compared += spoil == RIGHT ? (size_t)n : 0;
            differ[spoil] += !same;
        }
    }
    OWN_BYTES *hand = learned("ab cd ab cd\naaaa aaaa", 9), *none = learned(" \n\r\n", 9);
    assert_string_equal(hand, "a a\nc d</w>\naa a\naaa a</w>\na b</w>\n");
    assert_string_equal(none, "");
    assert_true(compared > 3000 && differ[LEAST_OF_EQUALS] > 10 && differ[LATE_STOP] > 10 &&
                differ[ADDED] > 25); /* controls */
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

static char *applied(const Bpe *b, const char *text)
{
    BpeText t = text_of(text);
    char *pieces;
    size_t bytes;
    assert_int_equal(bpe_apply(b, NULL, &t, &pieces, &bytes), 0);
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
    for (int k = 0; k < 120; k++) {
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
    assert_true(pieces > 5000 && differ[LAST_OF_EQUALS] > 10 && differ[FROM_THE_RIGHT] > 10 &&
                differ[HIGHEST_RANK] > 50); /* controls */
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
        /* the end of a word, made of characters */
        {"< /\n</ w\n</w >\n</w> a\n", "</w>a", "</w>a", NULL},
    };
#undef LOW
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_BPE *b = parsed(row[i].codes, strlen(row[i].codes));
        OWN_BYTES *mine = applied(b, row[i].text), *text = printed(b);
        assert_string_equal(mine, row[i].pieces);
        if (row[i].printed) assert_string_equal(text, row[i].printed);
        const BpeText all = text_of(row[i].text);
        BpeDrop none = {.p = 0};
        OWN_BYTES *kept = NULL;
        size_t n;
        assert_int_equal(bpe_apply(b, &none, &all, &kept, &n), 0); /* no merge is dropped */
        assert_string_equal(kept, row[i].pieces);
        OWN_BPE *again = parsed(text, strlen(text));
        assert_true(bpe_hash(b) == bpe_hash(again));
    }
    bpe_free(NULL);
}

/* What merges make stands at a word's end or before it, by the mark that its symbol has; without a version it may do both. */
TEST(test_made_pieces)
{
    static const struct {
        const char *codes, *pieces;
    } row[] = {{"#version: 0.2\na b\nab cd\nab c</w>\n", "ab@@ abcd@@ abc "},
               {"#version: 0.2\na </w\na b</w>x\n", "a</w@@ ab</w>x@@ "},
               {"#version: 0.1\na b\nab </w>\nabcd efgh\n", "ab@@ ab abcdefgh@@ abcdefgh "}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char all[256] = "";
        SCOPED(words_free_own) Words w = {0};
        OWN_BPE *b = parsed(row[i].codes, strlen(row[i].codes));
        assert_int_equal(bpe_made(b, &w), 0);
        for (size_t k = 0; k < w.size; k++)
            snprintf(all + strlen(all), sizeof all - strlen(all), "%.*s ", (int)w.word[k].bytes,
                     w.word[k].text);
        assert_string_equal(all, row[i].pieces);
    }
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
        assert_int_equal(bpe_apply(b, NULL, &t[1], &pieces, &n), code);
        assert_true(code ? error_has(row[i].says) && !pieces : pieces != NULL);
        if (code == 0 && *row[i].pieces != '*') assert_string_equal(pieces, row[i].pieces);
        error_set(ERR_INPUT, "nothing");
        assert_int_equal(bpe_learn(t, 2, 5, NULL, &other), code);
        assert_true(code ? error_has(row[i].says) && !other : other != NULL);
    }
    Bpe *none;
    assert_int_equal(bpe_learn(&good, 1, 0, NULL, &none), ERR_INPUT);
    assert_true(error_has("0 merges"));
    assert_int_equal(bpe_learn(&good, 0, 1, NULL, &none), ERR_INPUT);
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
        {"#version: 0.20\na b\n", 0, "codes:1: expected '#version: 0.2'"},
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

static int learn_job(const char *of)
{
    BpeText t = text_of(of);
    OWN_BPE *b, *again = NULL;
    OWN_BYTES *text = NULL;
    size_t n;
    TRY(bpe_learn(&t, 1, 40, NULL, &b));
    TRY(bpe_print(b, &text, &n));
    return bpe_parse("codes", text, n, &again);
}

TEST(test_every_allocation_fails)
{
    static char pairs[4096], *p = pairs;
    /* 512 pairs, one in each word: the map of places is half full when the first is merged. */
    for (int i = 0; i < 512; i++) p += sprintf(p, "%c%c ", 'A' + i / 23, 'A' + i % 23);
    strcpy(p, "AA\n");
    BpeText other = text_of(draw_text(alphabets[1], 1500, 1));
    const char *codes = file_text("codes", "#version: 0.2\na b\nab c</w>\nc a\n"),
               *copy = file_path("copy");
    assert_true(FAILURES(0, code = learn_job(pairs)) > 1000);
    assert_true(FAILURES(0, code = learn_job(other.bytes)) > 100);
    assert_true(FAILURES(0, OWN_BPE *b = NULL; OWN_BYTES *pieces = NULL; size_t n;
                         code = bpe_read(codes, &b);
                         if (code == 0) code = bpe_apply(b, NULL, &other, &pieces, &n);
                         if (code == 0) code = bpe_write(b, copy)) > 20);
}

TEST_MAIN(scratch_open, scratch_close)
