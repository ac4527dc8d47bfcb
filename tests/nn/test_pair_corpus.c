/* test_pair_corpus.c: directories of parallel text: which files are read, the words of refusals, and
 * which pairs are left out, by a reader of lines that knows nothing of tokens. */
#include "tests/lib/test.h"

#include <sys/stat.h>

#include "nn/text/corpus.h"
#include "tests/lib/draws.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

static const CorpusChoice en_de = {.source = "en", .target = "de"};

/* Writes three pairs of files: two lines to train on, one line in each of the others. */
static void write_corpus(void)
{
    scratch_files(1);
    file_text("train.en", "a man walks\na man\n");
    file_text("train.de", "ein mann geht\nein mann\n");
    file_text("val.en", "a man runs\n");
    file_text("val.de", "ein mann rennt\n");
    file_text("test.en", "man\n");
    file_text("test.de", "mann\n");
}

static Corpus open_corpus(CorpusChoice w)
{
    return tiny_open(folder, w);
}

static void refuse(CorpusChoice w, const char *words)
{
    tiny_refuse(folder, w, words);
}

static const char *spell(const Corpus *c, const Text *t)
{
    return tiny_spell(&c->vocab, t);
}

/* Checks the source's training text of a choice. */
static void check_train(CorpusChoice w, const char *words)
{
    OWN_CORPUS c = open_corpus(w);
    assert_string_equal(spell(&c, &c.source[SPLIT_TRAIN]), words);
}

/* ---- names -------------------------------------------------------------------------------------- */

static const char *const data[SPLITS][2] = {
    {"a b\nb c\n", "x y\ny z\n"}, {"a\n", "x\n"}, {"b q\n", "y\n"}};

static void write_as(const char *const name[SPLITS])
{
    char file[64];
    scratch_files(1);
    for (int s = 0; s < SPLITS; s++)
        for (int i = 0; i < 2; i++) {
            snprintf(file, sizeof file, "%s.%s", name[s], i ? "de" : "en");
            file_text(file, data[s][i]);
        }
}

TEST(test_names)
{
    static const char *const form[][SPLITS] = {
        {"train", "val", "test"},
        {"train", "valid", "test"},
        {"train", "dev", "test_2016_flickr"},
        {"train.tok", "valid.tok", "test.tok"},
        {"multi30k-train-lower", "multi30k-dev-lower", "multi30k-test-lower"},
    };
    for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
        write_as(form[i]);
        OWN_CORPUS c = open_corpus(en_de);
        assert_string_equal(spell(&c, &c.source[SPLIT_TRAIN]), "a b <eos> b c <eos>");
        assert_string_equal(spell(&c, &c.text[SPLIT_TRAIN]), "x y <eos> y z <eos>");
        assert_string_equal(spell(&c, &c.source[SPLIT_VALID]), "a <eos>");
        assert_string_equal(spell(&c, &c.text[SPLIT_VALID]), "x <eos>");
        assert_string_equal(spell(&c, &c.source[SPLIT_TEST]), "b <unk> <eos>");
        assert_string_equal(spell(&c, &c.text[SPLIT_TEST]), "y <eos>");
        assert_string_equal(c.name + strlen(c.name) - 6, " en-de");
        assert_true(!c.bpe && isnan(c.entropy_rate));
        check_train((CorpusChoice){.source = "de", .target = "en"}, "x y <eos> y z <eos>");
        refuse((CorpusChoice){.source = "en", .target = "fr"},
               "no text for train, valid, test; looked for NAME.fr, NAME*.fr, *NAME*.fr with NAME "
               "= train, valid (val, dev), test");
        char gone[64];
        snprintf(gone, sizeof gone, "%s.de", form[i][SPLIT_VALID]);
        remove(file_path(gone));
        refuse(en_de, "no text for valid; looked for NAME.de, NAME*.de, *NAME*.de");
        assert_true(error_has(folder));
    }
}

static void move(const char *from, const char *to)
{
    assert_int_equal(rename(file_path(from), file_path(to)), 0);
}

TEST(test_alike_names)
{
    write_corpus();
    file_text("train-old.en", "x\n"); /* NAME.en is looked for first */
    file_text("train.en.orig", "x\n");
    assert_int_equal(mkdir(file_path("train2.de"), 0777), 0); /* a directory is no file */
    check_train(en_de, "a man walks <eos> a man <eos>");
    move("val.en", "val-b.en");
    refuse(en_de, "both may be the train text; keep one of them"); /* NAME*.en comes next */
    assert_true(error_has("/train.en") && error_has("/train-old.en"));
    remove(file_path("train-old.en"));
    refuse(en_de, "are not alike but for the language: are they pairs?");
    assert_true(error_has("/val-b.en and ") && error_has("/val.de"));
    move("val.de", "val-a.de");
    refuse(en_de, "val-b.en and ");
    move("val-a.de", "val-b.de");
    tiny_opens(folder, en_de);
    remove(file_path("train2.de"));
    move("test.en", "test.e");
    move("test.de", "test.d");
    refuse(en_de, "no text for test");
}

TEST(test_refused_choices)
{
    static const char *const name[] = {
        "", "e n", "*", "e?", "../en", "e.n", "\xc3\xa4", "e\n", "0123456789abcdefg"};
    const struct {
        CorpusChoice w;
        const char *words;
    } row[] = {
        {{.source = "en"}, "--target is needed too"},
        {{.target = "en"}, "--source is needed too"},
        {{.source = "en", .merges = 5}, "--target is needed too"},
        {{.merges = 5}, "no text for train, valid, test"}, /* without languages it is one text */
        {{.source = "en", .target = "en"}, "--source and --target are both en"},
    };
    write_corpus();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) refuse(row[i].w, row[i].words);
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        refuse((CorpusChoice){.source = name[i], .target = "de"}, "expected the ending");
        assert_true(error_has("--source"));
        refuse((CorpusChoice){.source = "en", .target = name[i]}, "expected the ending");
        assert_true(error_has("--target"));
    }
    static const char *const built_in[] = {"kjv", "markov", "reverse:5"};
    for (size_t i = 0; i < 3; i++) {
        tiny_refuse(built_in[i], en_de, "--source and --target are of a directory");
        assert_true(error_has(built_in[i]));
    }
    tiny_refuse(file_path("nowhere"), en_de, "nowhere");
    file_text("train.0123456789abcdef", "a\n"); /* 16 letters are a name */
    refuse((CorpusChoice){.source = "0123456789abcdef", .target = "de"}, "no text for valid, test");
    check_train((CorpusChoice){.source = "en", .target = "de", .level = LEVEL_CHAR},
                "a _ m a n _ w a l k s <eos> a _ m a n <eos>");
}

TEST(test_refused_texts)
{
    static const struct {
        const char *file, *text, *says;
        int words; /* refused in words alone: in pieces it is another word */
    } row[] = {
        {"train.en", "a man\na\na\n", "train.en has 3 lines and ", 0},
        {"train.de", "ein mann\nein\nein\n\n", "train.de has 4: line by line they are pairs", 0},
        {"test.de", "mann\nmann\n", "test.de has 2: line by line they are pairs", 0},
        {"train.de", " \r\nein mann\n", "train.de:1 is blank and ", 0},
        {"val.de", "\xc3", "val.de:1: not UTF-8", 0}, /* test_bpe.c has the other bytes */
        {"train.en", "a man\na\tman\n", "train.en:2: a tab", 0},
        {"val.de", "<eos> mann\n", "val.de:1: <eos> is written inside a line", 1},
        {"test.de", "", "test.de is empty", 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        CorpusChoice w = en_de;
        write_corpus();
        file_text(row[i].file, row[i].text);
        refuse(w, row[i].says);
        w.eval_tokens = 1;
        refuse(w, row[i].says);
        w = (CorpusChoice){.source = "en", .target = "de", .merges = 5};
        if (row[i].words)
            tiny_opens(folder, w);
        else
            refuse(w, row[i].says);
        w.untested = 1;
        if (strncmp(row[i].file, "test", 4) == 0) { /* it is not read */
            OWN_CORPUS c = open_corpus(w);
            assert_true(!c.text[SPLIT_TEST].id && !c.source[SPLIT_TEST].id);
        } else if (!row[i].words) {
            refuse(w, row[i].says);
        }
    }
}

/* ---- parts, by a reader of lines ---------------------------------------------------------------- */

enum { LINES = 60, LINE = 256, MOST = 12 };

static struct {
    char line[2][LINES][LINE];
    size_t words[2][LINES]; /* words of a line, its end included */
} pairs;

/* Draws random pairs, some blank on both sides, from `of` words. */
static void draw_pairs(size_t of)
{
    for (size_t l = 0; l < LINES; l++) {
        int blank = draw(12) == 0;
        for (int i = 0; i < 2; i++) {
            size_t n = blank ? 0 : 1 + draw(MOST - 1);
            char *p = pairs.line[i][l];
            *p = '\0';
            for (size_t k = 0; k < n; k++)
                p += sprintf(p, "%s%c%zu", k ? " " : "", i ? 'w' : 'v', draw(of));
            pairs.words[i][l] = n + 1;
        }
    }
}

static void write_pairs(const char *name)
{
    static char text[LINES * LINE];
    char file[32];
    for (int i = 0; i < 2; i++) {
        char *p = text;
        for (size_t l = 0; l < LINES; l++) p += sprintf(p, "%s\n", pairs.line[i][l]);
        snprintf(file, sizeof file, "%s.%s", name, i ? "de" : "en");
        file_text(file, text);
    }
}

/* Tells whether a side of the text is the lines for which keep[] is set, and nothing else. */
static int has_lines(const Corpus *c, const Text *t, int i, const int keep[LINES])
{
    static char text[LINES * (LINE + 8)];
    char *p = text;
    *p = '\0';
    size_t lines = 0, blank = 0, tokens = 0, unknown = 0;
    for (size_t l = 0; l < LINES; l++) {
        if (!keep[l]) continue;
        char words[LINE], *rest = words;
        strcpy(words, pairs.line[i][l]);
        for (char *w; (w = strsep(&rest, " "));) {
            if (!*w) continue;
            int there = vocab_find(&c->vocab, w, strlen(w)) >= 0;
            p += sprintf(p, "%s%s", p > text ? " " : "", there ? w : "<unk>");
            unknown += !there;
        }
        p += sprintf(p, "%s<eos>", p > text ? " " : "");
        lines++;
        blank += pairs.words[i][l] == 1;
        tokens += pairs.words[i][l];
    }
    return t->lines == lines && t->blank == blank && t->tokens == tokens && t->unknown == unknown &&
           strcmp(spell(c, t), text) == 0;
}

TEST(test_the_first_tokens)
{
    static const char *const name[] = {"train", "valid", "test"};
    scratch_files(1);
    for (int s = 0; s < SPLITS; s++) { /* the last is the test text, with unknown words */
        draw_pairs(s == SPLIT_TEST ? 60 : 20);
        write_pairs(name[s]);
    }
    size_t all = 0, other = 0;
    for (size_t l = 0; l < LINES; l++) all += pairs.words[1][l];
    for (size_t N = 1; N <= all + 3; N += N < 40 ? 1 : 17) {
        CorpusChoice w = {.source = "en", .target = "de", .eval_tokens = N};
        int keep[LINES], every[LINES];
        size_t tokens = 0;
        for (size_t l = 0; l < LINES; l++) {
            every[l] = 1;
            keep[l] = tokens < N;
            tokens += pairs.words[1][l];
        }
        OWN_CORPUS c = open_corpus(w);
        assert_true(has_lines(&c, &c.source[SPLIT_TEST], 0, keep));
        assert_true(has_lines(&c, &c.text[SPLIT_TEST], 1, keep));
        other += !has_lines(&c, &c.text[SPLIT_TEST], 1, every); /* the control */
        assert_int_equal(c.source[SPLIT_TRAIN].lines, LINES);
        assert_int_equal(c.source[SPLIT_VALID].lines, c.text[SPLIT_VALID].lines);
        assert_true(c.text[SPLIT_TEST].unknown > 0 || N < 20);
        assert_non_null(strstr(c.name, " en-de (valid and test: the first "));
    }
    assert_true(other > 40);
}

TEST(test_long_pairs_are_left_out)
{
    size_t without = 0;
    scratch_files(1);
    draw_pairs(10);
    write_pairs("valid");
    write_pairs("test");
    draw_pairs(10);
    write_pairs("train");
    for (size_t T = 1; T <= MOST + 1; T++) {
        int keep[LINES], shorter[LINES];
        size_t left_out = 0;
        for (size_t l = 0; l < LINES; l++) {
            keep[l] = pairs.words[0][l] <= T && pairs.words[1][l] <= T;
            shorter[l] = pairs.words[0][l] < T && pairs.words[1][l] < T;
            left_out += !keep[l];
        }
        OWN_CORPUS c = open_corpus(en_de);
        for (int twice = 0; twice < 2; twice++) {
            corpus_leave_out(&c, T);
            assert_int_equal(c.left_out, left_out);
            assert_true(has_lines(&c, &c.source[SPLIT_TRAIN], 0, keep));
            assert_true(has_lines(&c, &c.text[SPLIT_TRAIN], 1, keep));
        }
        without += !has_lines(&c, &c.text[SPLIT_TRAIN], 1, shorter); /* the control */
        if (left_out < LINES)
            assert_int_equal(text_pairs(&c.source[0], &c.text[0], c.vocab.eos), 0);
        assert_int_equal(c.text[SPLIT_VALID].lines, LINES);
    }
    assert_true(without > MOST / 2);
    OWN_CORPUS text = tiny_open("markov:5", (CorpusChoice){.seed = 1});
    size_t tokens = text.text[SPLIT_TRAIN].tokens;
    corpus_leave_out(&text, 1); /* no pairs */
    assert_int_equal(text.text[SPLIT_TRAIN].tokens, tokens);
    assert_int_equal(text.left_out, 0);
}

TEST(test_every_allocation_fails)
{
    write_corpus();
    const char *codes = file_text("codes", "#version: 0.2\nm a\nma n</w>\n");
    const CorpusChoice w[] = {en_de,
                              {.source = "en", .target = "de", .codes = codes},
                              {.source = "en", .target = "de", .merges = 4, .eval_tokens = 2}};
    for (int i = 0; i < 3; i++)
        assert_true(FAILURES(0, OWN_CORPUS c; code = corpus_choose(folder, &w[i], &c);
                             if (code == 0) corpus_leave_out(&c, 3)) > 30 << i);
}

TEST_MAIN(scratch_open, scratch_close)
