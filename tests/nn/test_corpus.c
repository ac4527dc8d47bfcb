/* test_corpus.c: texts and vocabularies against brute force, corpora in every form of folder, and refusals. It reads
 * King James text and small texts. */
#include "tests/lib/test.h"

#include "kernels/base/file.h"
#include "kernels/base/random.h"
#include "nn/text/corpus.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

/* Opens a corpus of words. */
static Corpus words_of(const char *name, size_t limit, uint64_t seed)
{
    return tiny_open(name, (CorpusChoice){.vocab_limit = limit, .seed = seed});
}

static Vocab words_in(const char *text, size_t count, size_t limit)
{
    Vocab v;
    assert_int_equal(
        vocab_build(&(BpeText){.bytes = text, .count = count}, 1, LEVEL_WORD, limit, 0, &v), 0);
    return v;
}

static double unigram(const Corpus *c)
{
    double ppl;
    assert_int_equal(corpus_unigram(c, SPLIT_TEST, &ppl), 0);
    return ppl;
}

/* ---- scanning ----------------------------------------------------------------------------------- */

/* What is no regular file has no size to trust, and is read up to a bound. */
TEST(pipes_are_bounded)
{
    static char letters[50000];
    size_t usual = file_pipe_most;
    memset(letters, 'a', sizeof letters);
    for (int i = 0; i < 2; i++) {
        int end[2];
        char name[64];
        OWN_BYTES *bytes;
        size_t count;
        assert_int_equal(pipe(end), 0);
        assert_int_equal(write(end[1], letters, sizeof letters), sizeof letters);
        close(end[1]);
        snprintf(name, sizeof name, "/proc/self/fd/%d", end[0]);
        file_pipe_most = sizeof letters - (size_t)i;
        assert_int_equal(read_text(name, &bytes, &count), i ? ERR_INPUT : 0);
        if (i) assert_true(error_has(": more than 49999 bytes, and no regular file"));
        if (!i) assert_true(count == sizeof letters && strlen(bytes) == count);
        close(end[0]);
    }
    file_pipe_most = usual;
}

/* Whatever cuts it, a text is UTF-8, and its lines end in LF or CR LF. */
TEST(test_bytes_of_a_text)
{
    static const char *const bad[][2] = {{"a\nb\xff\n", "text:2: not UTF-8"},
                                         {"\xc3", "text:1: not UTF-8"},
                                         {"a\nb\rc\n", "text:2: a carriage return inside a line"},
                                         {"a\r\r\n", "text:1: a carriage return inside a line"},
                                         {"\r", "text is empty"},
                                         {NULL, NULL}};
    char *bytes;
    size_t count;
    for (size_t i = 0; bad[i][1]; i++) {
        assert_int_equal(read_text(file_text("text", bad[i][0]), &bytes, &count), ERR_INPUT);
        assert_non_null(strstr(error_text(), bad[i][1]));
    }
    assert_int_equal(read_text(file_text("text", "\xef\xbb\xbf"
                                                 "a\r\n\r\nb\r"),
                               &bytes, &count),
                     0);
    assert_string_equal(bytes, "a\n\nb");
    assert_int_equal(count, 4);
    memory_free(bytes);
}

/* Characters are UTF-8, blanks between words are one "_", and any other byte is one character. These are the
 * same with a vocabulary that was written and read back. */
TEST(test_lines)
{
    static const struct {
        int level;
        const char *text, *tokens;
        size_t lines, blank;
    } row[] = {
        {LEVEL_WORD, "a b\n", "a b <eos>", 1, 0},
        {LEVEL_WORD, "a b", "a b <eos>", 1, 0},
        {LEVEL_WORD, "a b\r\n", "a b <eos>", 1, 0},
        {LEVEL_WORD, "a b\r", "a b <eos>", 1, 0},
        {LEVEL_WORD, "a\n\nb", "a <eos> <eos> b <eos>", 3, 1},
        {LEVEL_WORD, "\r\n\r\n", "<eos> <eos>", 2, 2},
        {LEVEL_WORD, "\n", "<eos>", 1, 1},
        {LEVEL_WORD, " \t a  b\t\n \t\nc\n", "a b <eos> <eos> c <eos>", 3, 1},
        {LEVEL_WORD, "\xe4\xb8\xad \xc3\xbf\n", "\xe4\xb8\xad \xc3\xbf <eos>", 1, 0},
        {LEVEL_WORD, "a <eos>\n", "a <eos> <eos>", 1, 0},
        {LEVEL_CHAR, "ab c\n", "a b _ c <eos>", 1, 0},
        {LEVEL_CHAR, " a \t b \n\n c", "a _ b <eos> <eos> c <eos>", 3, 1},
        {LEVEL_CHAR, "a_b\r\n", "a _ b <eos>", 1, 0},
        {LEVEL_CHAR, "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\n",
         "\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80 <eos>", 1, 0},
        {LEVEL_CHAR, "<eos>\n", "< e o s > <eos>", 1, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *text = row[i].text;
        int chars = row[i].level == LEVEL_CHAR;
        OWN_VOCAB v, w = {0};
        assert_int_equal(vocab_build(&(BpeText){.bytes = text, .count = strlen(text)}, 1,
                                     row[i].level, 0, 0, &v),
                         0);
        if (chars) {
            assert_int_equal(vocab_write(&v, file_path("v")), 0);
            assert_int_equal(vocab_read(file_path("v"), &w), 0);
            assert_int_equal(w.size, v.size);
            w.level = LEVEL_CHAR;
        }
        for (int k = 0; k <= chars; k++) {
            OWN_TEXT t;
            assert_int_equal(text_read(file_text("lines", text), NULL, k ? &w : &v, &t), 0);
            assert_string_equal(tiny_spell(&v, &t), row[i].tokens);
            assert_true(t.lines == row[i].lines && t.blank == row[i].blank && t.unknown == 0);
        }
        OWN_TEXT other;
        assert_int_equal(v.unk >= 0, chars);
        assert_int_equal(text_encode(&(BpeText){"new", "Z\n", 2, 0}, NULL, &v, &other),
                         chars ? 0 : ERR_INPUT);
        assert_int_equal(other.unknown, chars);
    }
}

static void refuse_text(const char *file, const Vocab *v, const char *words)
{
    Text t;
    assert_int_equal(text_read(file, NULL, v, &t), ERR_INPUT);
    if (!error_has(words)) fail_msg("%s, not %s", error_text(), words);
    assert_null(t.id);
}

TEST(test_refused_texts)
{
    OWN_VOCAB v = words_in("a\n", 2, 0), read;
    OWN_TEXT t;
    refuse_text(file_path("none"), &v, "none");
    refuse_text(folder, &v, folder); /* a directory */
    refuse_text(file_text("empty", ""), &v, "empty is empty");
    refuse_text(file_write("nul", "a\na\0a\n", 6), &v, "nul:2:");
    refuse_text(file_text("word", "a\na\n\na new\n"), &v, "word:4: 'new'");
    assert_int_equal(text_read(file_text("good", "a\na\n"), NULL, &v, &t), 0); /* control */
    assert_int_equal(vocab_write(&v, file_path("v")), 0);
    assert_int_equal(vocab_read(file_path("v"), &read), 0); /* a model's: no limit helps any more */
    refuse_text(file_path("word"), &read, "word:4: 'new'");
    assert_false(error_has("--vocabulary"));
}

/* ---- vocabularies ------------------------------------------------------------------------------- */

/* Makes a text of `lines` lines of words over a small alphabet. Some lines are blank. */
static char *random_text(uint64_t seed, size_t lines, size_t *count)
{
    char *s = memory_new(lines * 64 + 1, 1), *p = s;
    for (size_t i = 0, k = 0; i < lines; i++) {
        for (uint64_t n = random_below(seed, 1, k++, 9); n > 0; n--) {
            double u = random_uniform(seed, 1, k++);
            p += sprintf(p, "%x ", (unsigned)(120 * u * u));
        }
        *p++ = '\n';
    }
    *count = (size_t)(p - s);
    return s;
}

/* Counts again how often a token occurs. */
static size_t occurrences(const Text *t, int32_t id)
{
    size_t n = 0;
    for (size_t i = 0; i < t->tokens; i++) n += t->id[i] == id;
    return n;
}

/* Returns 1 where ids fall in count, ties rise bytewise, and no word outside beats the least word inside. */
static int in_order(const Vocab *v, const Text *t)
{
    for (int32_t i = 1; i < (int32_t)v->size; i++) {
        size_t a = occurrences(t, i - 1), b = occurrences(t, i);
        if (a < b || (a == b && strcmp(v->word[i - 1], v->word[i]) >= 0)) return 0;
    }
    return 1;
}

TEST(test_vocab_order)
{
    size_t count;
    OWN_BYTES *s = random_text(5, 400, &count);
    static const size_t limit[] = {0, 2, 3, 10, 50, 100, 1000};
    for (size_t k = 0; k < sizeof limit / sizeof *limit; k++) {
        OWN_VOCAB v = words_in(s, count, limit[k]), all = words_in(s, count, 0);
        OWN_TEXT t, whole;
        assert_int_equal(text_encode(&(BpeText){"text", s, count, 0}, NULL, &v, &t), 0);
        assert_int_equal(text_encode(&(BpeText){"text", s, count, 0}, NULL, &all, &whole), 0);
        assert_true(in_order(&v, &t));
        assert_true((v.unk >= 0) == (limit[k] > 0));
        if (limit[k]) assert_true(v.size <= limit[k] && v.size <= all.size + 1);
        if (limit[k] && limit[k] <= all.size) assert_int_equal(v.size, limit[k]);
        /* The kept words are the first of the uncut order (which has no <unk>), <eos> aside. */
        size_t kept = v.size - 1 - (v.unk >= 0), seen = 0;
        for (size_t i = 0; i < all.size && seen < kept; i++) {
            if ((int32_t)i == all.eos) continue;
            assert_true(vocab_find(&v, all.word[i], strlen(all.word[i])) >= 0);
            seen++;
        }
        for (size_t i = 0; i < t.tokens; i++) {
            const char *word = all.word[whole.id[i]];
            assert_true(strcmp(v.word[t.id[i]], word) == 0 ||
                        (t.id[i] == v.unk && vocab_find(&v, word, strlen(word)) < 0));
        }
        if (limit[k]) assert_int_equal(t.unknown, occurrences(&t, v.unk));
        char *swap = v.word[0]; /* control: a wrong order is seen */
        int32_t last = (int32_t)v.size - 1;
        v.word[0] = v.word[last];
        for (size_t i = 0; i < t.tokens; i++)
            t.id[i] = t.id[i] == 0 ? last : t.id[i] == last ? 0 : t.id[i];
        assert_false(in_order(&v, &t));
        v.word[0] = swap;
    }
    Vocab v;
    assert_int_equal(vocab_build(&(BpeText){.bytes = s, .count = count}, 1, LEVEL_WORD, 1, 0, &v),
                     ERR_INPUT);
}

/* A text may have the word <unk>, as the Penn Treebank has. Then it is that word. */
TEST(test_own_unk)
{
    const char *s = "the <unk> of <unk> the\nthe <unk> a\n";
    OWN_VOCAB v = words_in(s, strlen(s), 0), five = words_in(s, strlen(s), 5),
              three = words_in(s, strlen(s), 3);
    OWN_TEXT t;
    assert_int_equal(v.size, 5);
    assert_string_equal(v.word[v.unk], "<unk>");
    assert_int_equal(text_read(file_text("t", "of newer\n"), NULL, &v, &t), 0);
    assert_string_equal(tiny_spell(&v, &t), "of <unk> <eos>");
    assert_int_equal(t.unknown, 1);
    assert_int_equal(five.size, 5);              /* nothing to cut, no second <unk> */
    assert_string_equal(three.word[0], "<unk>"); /* the text's 3 and the 2 cut off */
    assert_string_equal(three.word[1], "the");
    assert_string_equal(three.word[2], "<eos>");
}

TEST(test_vocab_file)
{
    size_t count;
    OWN_BYTES *s = random_text(6, 200, &count);
    OWN_VOCAB v = words_in(s, count, 40), w, good;
    Vocab none;
    const char *file = file_path("vocab.txt");
    assert_int_equal(vocab_write(&v, file), 0);
    assert_int_equal(vocab_read(file, &w), 0);
    assert_true(v.size == w.size && v.eos == w.eos && v.unk == w.unk);
    for (size_t i = 0; i < v.size; i++) {
        assert_string_equal(v.word[i], w.word[i]);
        assert_int_equal(vocab_find(&w, v.word[i], strlen(v.word[i])), i);
    }
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "is empty"},
        {"a\n\n<eos>\n", ":2: an empty line"},
        {"<eos>\na\nb\na\n", ":4: 'a' for the second time"},
        {"<eos>\na b\n", ":2: two words"},
        {"a\nb\n", "without <eos>"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(vocab_read(file_text("bad", bad[i].text), &none), ERR_INPUT);
        assert_true(error_has(bad[i].says) && error_has("bad"));
        assert_null(none.word);
    }
    assert_int_equal(vocab_read(file_text("good", "a\r\n<eos>\r\nb"), &good), 0);
    assert_int_equal(good.size, 3);
}

/* ---- corpora ------------------------------------------------------------------------------------ */

/* A training text of blank lines alone is refused. One word is a text. */
TEST(test_no_word)
{
    file_text("valid.txt", "a\n");
    file_text("test.txt", "a\n");
    for (int level = LEVEL_WORD; level <= LEVEL_CHAR; level++) {
        file_text("train.txt", "\n  \n\t\r\n \n");
        tiny_refuse(folder, (CorpusChoice){.level = level},
                    "train.txt has no word, only blank lines");
        file_text("train.txt", "\n  \n\t\r\n a\n");
        tiny_opens(folder, (CorpusChoice){.level = level});
    }
    scratch_files(1);
}

TEST(test_kjv)
{
    static const size_t tokens[SPLITS] = {825538 + 28045, 45179 + 1484, 44654 + 1573}; /* wc */
    OWN_CORPUS c = words_of("kjv", 0, 1), all = words_of("kjv", 20000, 1);
    assert_int_equal(c.vocab.size, 10000);
    assert_true(isnan(c.entropy_rate));
    for (int i = 0; i < SPLITS; i++) {
        assert_int_equal(c.text[i].tokens, tokens[i]);
        assert_int_equal(c.text[i].blank, 0);
        assert_true(c.text[i].unknown > 0);
        for (size_t j = 0; j < c.text[i].tokens; j++)
            assert_true(c.text[i].id[j] >= 0 && c.text[i].id[j] < 10000);
        assert_int_equal(c.text[i].id[tokens[i] - 1], c.vocab.eos);
    }
    /* The text has 12,149 words and <eos>; 9,999 are kept and 2,151, the words of rank > 9,999, are cut. */
    assert_int_equal(all.vocab.size, 12149 + 2);
    assert_int_equal(all.text[SPLIT_TRAIN].unknown, 0);
    assert_true(all.text[SPLIT_VALID].unknown > 0);
    double cut = unigram(&c), uncut = unigram(&all);
    assert_true(cut > 100 && cut < uncut && uncut < 1000);
    assert_true(strstr(builtin_kjv_legend().bytes, "unrestricted use") != NULL);
}

static void make_corpus(const char *train, const char *valid, const char *test)
{
    scratch_files(1);
    file_text(train, "a b\na c\n");
    file_text(valid, "c b\n");
    file_text(test, "b\n\n");
}

TEST(test_directories)
{
    static const char *const form[][SPLITS] = {
        {"train.txt", "valid.txt", "test.txt"},
        {"train.txt", "val.txt", "test.txt"},
        {"ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"},
        {"wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"},
        {"train.tokens", "dev.tokens", "test.tokens"},
        {"train", "valid", "test"},
        {"kjv.train.txt", "kjv.valid.txt", "kjv.test.txt"},
        {"my-train-lower.txt", "my-dev-lower.txt", "my-test-lower.txt"},
        {"x.train.tokens", "x.valid.tokens", "x.test.tokens"},
    };
    for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
        make_corpus(form[i][0], form[i][1], form[i][2]);
        OWN_CORPUS c = words_of(folder, 0, 0);
        assert_string_equal(tiny_spell(&c.vocab, &c.text[SPLIT_TRAIN]), "a b <eos> a c <eos>");
        assert_string_equal(tiny_spell(&c.vocab, &c.text[SPLIT_VALID]), "c b <eos>");
        assert_string_equal(tiny_spell(&c.vocab, &c.text[SPLIT_TEST]), "b <eos> <eos>");
        /* counts <eos> 2, a 2, b 1, c 1; V = 4, N = 6: 3/10 for each <eos>, 2/10 for b */
        assert_true(fabs(unigram(&c) - cbrt(1 / (0.3 * 0.3 * 0.2))) < 1e-12);
        remove(file_path(form[i][1]));
        tiny_refuse(folder, (CorpusChoice){0}, "no text for valid");
        assert_true(error_has("ptb.NAME.txt"));
    }
    /* PTB's folder also holds its text by characters. The first form of the list is read. */
    make_corpus("ptb.char.train.txt", "ptb.char.valid.txt", "ptb.char.test.txt");
    file_text("ptb.train.txt", "x y\n");
    file_text("ptb.valid.txt", "x\n");
    file_text("ptb.test.txt", "y\n");
    OWN_CORPUS c = words_of(folder, 0, 0);
    assert_string_equal(tiny_spell(&c.vocab, &c.text[SPLIT_TRAIN]), "x y <eos>");
    make_corpus("a.train.txt", "a.valid.txt", "a.test.txt");
    file_text("b.train.txt", "a\n");
    tiny_refuse(folder, (CorpusChoice){0}, "a.train.txt");
    assert_true(error_has("b.train.txt"));
    scratch_files(1);
}

/* ---- one file ------------------------------------------------------------------------------------ */

/* The parts one after another have the tokens and lines of the file, whatever the shares and wherever its last line
 * ends. Parts by lines have the shares asked for, to half a line. */
TEST(test_one_file)
{
    static const double share[][SPLITS] = {{0, 0, 0}, {0.9, 0.05, 0.05}, {8, 1, 1},
                                           {1, 1, 1}, {0.5, 0.25, 0.25}, {3, 60, 37}};
    char text[1024] = "";
    for (int i = 1; i <= 40; i++) sprintf(text + strlen(text), "a%s b c\n", i % 7 ? " d" : "");
    for (size_t i = 0; i < 2 * sizeof share / sizeof *share; i++) {
        const double *s = share[i / 2], *x = s[0] > 0 ? s : share[1];
        if (i % 2) text[strlen(text) - 1] = '\0';
        const char *file = file_text("one", text);
        if (i % 2) strcat(text, "\n");
        OWN_CORPUS c;
        OWN_TEXT whole;
        size_t at = 0, lines = 0;
        CorpusChoice w = {.parts = {s[0], s[1], s[2]}};
        assert_int_equal(corpus_choose(file, &w, &c), 0);
        assert_true(c.single && c.vocab.unk < 0);
        assert_int_equal(text_read(file, NULL, &c.vocab, &whole), 0);
        double sum = x[0] + x[1] + x[2], upto = 0;
        for (int k = 0; k < SPLITS; k++) {
            const Text *t = &c.text[k];
            assert_int_equal(t->before, lines);
            assert_memory_equal(t->id, whole.id + at, t->tokens * sizeof *t->id);
            at += t->tokens;
            lines += t->lines;
            upto += x[k] / sum;
            assert_true(fabs((double)lines - 40 * upto) <= 0.5 + 1e-9);
        }
        assert_true(at == whole.tokens && lines == 40);
    }
}

/* The error for words that the training part lacks names the file's line, and the advised limit brings <unk>. */
TEST(test_one_file_is_refused)
{
    static const char *const two = "a a b b\nb a\n", *const rare =
                                                         "a a\nb b\nc c\na b\nb a x\na b\n";
    CorpusChoice w = {.parts = {4, 1, 1}};
    const char *file = file_text("one", rare);
    tiny_refuse(file, w, "one:5: 'x' is not");
    assert_true(error_has("--vocabulary 5 "));
    w.vocab_limit = 5;
    OWN_CORPUS c = tiny_open(file, w);
    assert_int_equal(c.text[SPLIT_VALID].unknown, 1);
    w = (CorpusChoice){.parts = {1, 1, 1}};
    tiny_refuse(file_text("one", two), w, "of its 2 lines a part would have none");
    tiny_refuse("kjv", w, "no single text file");
    tiny_refuse(folder, w, "no single text file");
    tiny_refuse(file_text("one", ""), w, "is empty");
    w.source = "en", w.target = "de";
    tiny_refuse(file_text("one", rare), w, "are of a directory");
}

/* Checks that a part is whole lines from the beginning of `whole`, and no more than N tokens need. */
static void check_part(const Text *part, const Text *whole, size_t N, int32_t eos)
{
    size_t n = part->tokens, lines = 0, before = 0; /* before: start of the last line */
    assert_true(n <= whole->tokens && (n >= N || n == whole->tokens));
    assert_memory_equal(part->id, whole->id, n * sizeof *part->id);
    assert_int_equal(part->id[n - 1], eos);
    for (size_t i = 0; i < n; i++) {
        lines += part->id[i] == eos;
        if (part->id[i] == eos && i + 1 < n) before = i + 1;
    }
    assert_int_equal(part->lines, lines);
    assert_true(before < N);
}

TEST(test_parts)
{
    static const size_t N[] = {1, 2, 3, 100, 1000, 1000000};
    const struct {
        const char *name;
        int level;
    } list[] = {
        {"kjv", LEVEL_WORD}, {"markov:20", LEVEL_WORD}, {folder, LEVEL_WORD}, {folder, LEVEL_CHAR}};
    make_corpus("train.txt", "valid.txt", "test.txt");
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char words[64];
        OWN_CORPUS whole =
            tiny_open(list[i].name, (CorpusChoice){.level = list[i].level, .seed = 7});
        assert_string_equal(whole.name, list[i].name);
        for (size_t k = 0; k < sizeof N / sizeof *N; k++) {
            CorpusChoice w = {list[i].level, 0, 7, k % 2, N[k]};
            OWN_CORPUS part = tiny_open(list[i].name, w);
            snprintf(words, sizeof words, "the first %zu %s)", N[k],
                     list[i].level == LEVEL_CHAR ? "characters" : "tokens");
            assert_non_null(strstr(part.name, words));
            assert_true(tiny_same_text(&part.text[SPLIT_TRAIN], &whole.text[SPLIT_TRAIN]));
            check_part(&part.text[SPLIT_VALID], &whole.text[SPLIT_VALID], N[k], whole.vocab.eos);
            if (w.untested)
                assert_null(part.text[SPLIT_TEST].id);
            else
                check_part(&part.text[SPLIT_TEST], &whole.text[SPLIT_TEST], N[k], whole.vocab.eos);
        }
    }
}

TEST(test_refused_corpora)
{
    static const char *const name[] = {
        "",          "nowhere",  "kjv2",      "kjv:3",     "markov:",         "markov:1",
        "markov:0",  "markov:x", "markov:8x", "markov:-8", "markov:99999999", "markov:1048577",
        "markov:+8", "markov: 8"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        tiny_refuse(name[i], (CorpusChoice){0}, "");
    tiny_refuse("markov", (CorpusChoice){.vocab_limit = 100}, "");
    make_corpus("train.txt", "valid.txt", "test.txt");
    file_text("test.txt", "a b\nnew\n");
    tiny_refuse(folder, (CorpusChoice){0}, "test.txt:2: 'new'");
    assert_true(error_has("; --vocabulary 3 keeps")); /* <eos>, <unk> and a, which occurs twice */
    OWN_CORPUS c = words_of(folder, 3, 0);            /* with <unk> it is read */
    assert_int_equal(c.text[SPLIT_TEST].unknown, 2);  /* b is cut too: <eos>, <unk>, a */
    file_text("train.txt", "");
    tiny_refuse(folder, (CorpusChoice){0}, "");
    scratch_files(1);
}

/* Builds a vocabulary with more words than the table's first size, so that the table grows. */
static int job_growth(void)
{
    static char s[3000 * 8];
    char *p = s;
    OWN_VOCAB v;
    for (int i = 0; i < 3000; i++) p += sprintf(p, "%x\n", (unsigned)i);
    return vocab_build(&(BpeText){.bytes = s, .count = (size_t)(p - s)}, 1, LEVEL_WORD, 0, 0, &v);
}

/* Files, and vocabularies from them: tests/faults/test_starved.c. */
TEST(test_failing_allocator)
{
    static const char *const made[] = {"markov:8", "reverse:8"};
    CorpusChoice w = {LEVEL_WORD};
    for (int i = 0; i < 2; i++)
        assert_true(FAILURES(ERR_MEMORY, OWN_CORPUS c; code = corpus_choose(made[i], &w, &c)) >=
                    10 + 8 * i);
    assert_true(fail_each(job_growth, ERR_MEMORY) >= 5);
}

TEST_MAIN(scratch_open, scratch_close)
