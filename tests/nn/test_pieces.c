/* test_pieces.c: a corpus of one text with its words in pieces: ids by hand, words counted by a reader that knows no
 * pieces, and refusals. */
#include "tests/lib/test.h"

#include "nn/text/corpus.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

/* Writes a corpus. "a b</w>" is the one pair of symbols that the training text has twice. */
static void write_corpus(void)
{
    scratch_files(1);
    file_text("train.txt", "ab abc\nab b\n");
    file_text("valid.txt", "abc cab\n");
    file_text("test.txt", "b\n\n");
}

/* ---- by hand ------------------------------------------------------------------------------------ */

static void assert_ids(const Text *t, const int32_t *id, size_t n)
{
    assert_int_equal(t->tokens, n);
    assert_memory_equal(t->id, id, n * sizeof *id);
}

/* The ids are as by hand. Counts of the training text in pieces: <eos> 2, ab 2, a@@ 1, b 1, b@@ 1, c 1, <unk> 0. */
TEST(test_by_hand)
{
    static const char *const word[] = {"<eos>", "ab", "a@@", "b", "b@@", "c", "<unk>"};
    write_corpus();
    OWN_CORPUS c = tiny_open(folder, (CorpusChoice){.merges = 1});
    assert_int_equal(bpe_merges(c.bpe), 1);
    assert_int_equal(c.vocab.level, LEVEL_PIECE);
    assert_int_equal(c.vocab.size, 7);
    for (size_t i = 0; i < 7; i++) assert_string_equal(c.vocab.word[i], word[i]);
    assert_int_equal(c.vocab.unk, 6);
    assert_ids(&c.text[SPLIT_TRAIN], (const int32_t[]){1, 2, 4, 5, 0, 1, 3, 0}, 8);
    assert_ids(&c.text[SPLIT_VALID], (const int32_t[]){2, 4, 5, 6, 1, 0}, 6); /* c@@ is unknown */
    assert_ids(&c.text[SPLIT_TEST], (const int32_t[]){3, 0, 0}, 3);
    assert_int_equal(c.text[SPLIT_TRAIN].goes_on, 2);
    assert_int_equal(c.text[SPLIT_VALID].goes_on, 3); /* c@@ too, whatever its id */
    assert_int_equal(c.text[SPLIT_VALID].unknown, 1);
    assert_int_equal(c.text[SPLIT_TEST].goes_on, 0);
    assert_int_equal(c.text[SPLIT_TEST].blank, 1);
    /* p = 2^-6 for 3 words is 4 a word */
    assert_true(fabs(text_word_ppl(&c.text[SPLIT_VALID], 6, 2) - 4) <= 1e-14);
    assert_true(text_word_ppl(&c.text[SPLIT_TEST], 3, 7.5) == 7.5); /* its words are pieces */
    /* A training text in pieces has <unk> even without unknown pieces; without merges it has none. */
    assert_true(c.text[SPLIT_TRAIN].unknown == 0 && c.vocab.unk >= 0);
    file_text("valid.txt", "ab\n");
    OWN_CORPUS words = tiny_open(folder, (CorpusChoice){0});
    assert_int_equal(words.vocab.level, LEVEL_WORD);
    assert_true(words.vocab.unk < 0 && words.vocab.size == 4);
    assert_int_equal(words.text[SPLIT_TRAIN].goes_on, 0);
}

/* Merges from a file are the same. A word that ends in "@@" goes on only where tokens are pieces. */
TEST(test_codes)
{
    write_corpus();
    OWN_CORPUS c = tiny_open(folder, (CorpusChoice){.merges = 1});
    assert_int_equal(bpe_write(c.bpe, file_path("codes")), 0);
    OWN_CORPUS d = tiny_open(folder, (CorpusChoice){.codes = file_path("codes")});
    assert_true(bpe_hash(c.bpe) == bpe_hash(d.bpe));
    assert_true(vocab_hash(&c.vocab) == vocab_hash(&d.vocab));
    for (int s = 0; s < SPLITS; s++) assert_ids(&d.text[s], c.text[s].id, c.text[s].tokens);
    file_text("codes", "#version: 0.2\nb c</w>\n");
    OWN_CORPUS other = tiny_open(folder, (CorpusChoice){.codes = file_path("codes")});
    assert_true(bpe_hash(c.bpe) != bpe_hash(other.bpe)); /* the control */
    assert_true(vocab_hash(&c.vocab) != vocab_hash(&other.vocab));
    /* A file read alone has the ids of the corpus. */
    OWN_TEXT t;
    assert_int_equal(text_read(file_path("valid.txt"), c.bpe, &c.vocab, &t), 0);
    assert_ids(&t, c.text[SPLIT_VALID].id, c.text[SPLIT_VALID].tokens);
    assert_int_equal(t.goes_on, 3);
    file_text("train.txt", "a@@ b\n");
    file_text("valid.txt", "a@@ a@@\n");
    file_text("test.txt", "b\n");
    OWN_CORPUS marks = tiny_open(folder, (CorpusChoice){.vocab_limit = 9});
    assert_int_equal(marks.text[SPLIT_VALID].goes_on, 0);
}

/* ---- the King James text ------------------------------------------------------------------------ */

/* Returns the text of the ids, with its pieces joined line by line. */
static char *join(const Corpus *c, const Text *t)
{
    size_t room = 1;
    for (size_t i = 0; i < t->tokens; i++) room += strlen(c->vocab.word[t->id[i]]) + 1;
    char *text = memory_new(room, 1), *p = text, *line = text;
    assert_non_null(text);
    for (size_t i = 0; i < t->tokens; i++) {
        if (t->id[i] != c->vocab.eos) {
            p += sprintf(p, p > line ? " %s" : "%s", c->vocab.word[t->id[i]]);
            continue;
        }
        p = line + bpe_join(line, (size_t)(p - line));
        *p++ = '\n';
        line = p;
    }
    *p = '\0';
    return text;
}

static int gives_back(const Corpus *c, int split)
{
    BpeText b = builtin_kjv(split);
    char *text = join(c, &c->text[split]);
    int same = strlen(text) == b.count && memcmp(text, b.bytes, b.count) == 0;
    memory_free(text);
    return same;
}

/* Counts words and line ends by a scan. */
static size_t tokens_of(const char *text, size_t bytes)
{
    const char *word;
    size_t n, words = 0;
    for (Scan s = scan_begin(text, bytes, LEVEL_WORD); scan_next(&s, &word, &n);) words++;
    return words;
}

TEST(test_pieces_give_the_text_back)
{
    static const size_t merges[] = {1, 400};
    size_t tokens = SIZE_MAX;
    for (size_t k = 0; k < sizeof merges / sizeof *merges; k++) {
        OWN_CORPUS c = tiny_open("kjv", (CorpusChoice){.merges = merges[k]});
        for (int s = 0; s < SPLITS; s++) {
            BpeText b = builtin_kjv(s);
            assert_int_equal(c.text[s].unknown, 0);
            assert_true(gives_back(&c, s));
            assert_int_equal(c.text[s].tokens - c.text[s].goes_on, tokens_of(b.bytes, b.count));
        }
        assert_true(c.text[SPLIT_TRAIN].tokens < tokens); /* more merges, fewer pieces */
        tokens = c.text[SPLIT_TRAIN].tokens;
        Text *t = &c.text[SPLIT_VALID]; /* the control: two tokens exchanged */
        size_t i = 0;
        while (t->id[i] == t->id[i + 1]) i++;
        int32_t first = t->id[i];
        t->id[i] = t->id[i + 1];
        t->id[i + 1] = first;
        assert_false(gives_back(&c, SPLIT_VALID));
    }
}

static size_t batched(const Corpus *c, const Text *t, int context)
{
    OWN_BATCHES *b;
    size_t n = 0;
    if (batches_new(t, NULL, &c->vocab, NULL, context, 64, 16, 1, &b) != 0)
        fail_msg("%s", error_text());
    batches_epoch(b, -1);
    for (size_t i = 0; i < batches_count(b); i++) n += batches_tokens(b, i);
    return n;
}

TEST(test_predicted_tokens)
{
    static const struct {
        const char *text;
        size_t stream, sentence;
    } row[] = {
        {"ab abc\n\nab\n", 8, 7},   {"\n\nab\n\n", 5, 2}, {"b <eos> ab\n<eos>\nb\n", 8, 6},
        {"<eos> <eos> ab\n", 4, 2}, {"abc", 4, 4},
    };
    write_corpus();
    file_text("codes", "#version: 0.2\na b</w>\n< e\n<e o\n<eo s\n<eos ></w>\n"); /* whole */
    OWN_CORPUS c = tiny_open(folder, (CorpusChoice){.codes = file_path("codes")});
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_TEXT t;
        BpeText raw = {"text", row[i].text, strlen(row[i].text), 0};
        char *pieces;
        size_t count;
        assert_int_equal(pieces_cut(c.bpe, &raw, &pieces, &count), 0);
        assert_int_equal(text_encode(&(BpeText){"t", pieces, count, 0}, NULL, &c.vocab, &t), 0);
        memory_free(pieces);
        size_t stream = text_predicted(&t, c.vocab.eos, CONTEXT_STREAM),
               sentence = text_predicted(&t, c.vocab.eos, CONTEXT_SENTENCE);
        assert_int_equal(stream, row[i].stream);
        assert_int_equal(sentence, row[i].sentence);
        assert_int_equal(stream, batched(&c, &t, CONTEXT_STREAM));
        assert_int_equal(sentence, batched(&c, &t, CONTEXT_SENTENCE));
    }
}

/* ---- refusals ----------------------------------------------------------------------------------- */

TEST(test_refused_choices)
{
    const struct {
        const char *name;
        CorpusChoice w;
        const char *words;
    } row[] = {
        {folder, {.merges = 5, .codes = "c"}, "--bpe and --codes"},
        {folder, {.level = LEVEL_CHAR, .merges = 5}, "--level char has no subwords: leave --bpe"},
        {"kjv", {.level = LEVEL_CHAR, .codes = "c"}, "--level char has no subwords: leave --codes"},
        {"markov:6", {.merges = 5}, "corpus markov:6: its words are numbers, which have no pieces"},
        {"markov", {.codes = "c"}, "leave --codes out"},
        {"reverse:6", {.merges = 5}, "leave --bpe out"},
        {folder, {.codes = "/nowhere/c"}, "/nowhere/c"},
        {folder, {.merges = 5, .vocab_limit = 1}, "a vocabulary needs 2 words"},
        {"kjv:5", {.merges = 5}, "kjv takes nothing behind its name"},
    };
    write_corpus();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        tiny_refuse(row[i].name, row[i].w, row[i].words);
    file_text("train.txt", "a b\n");
    tiny_refuse(folder, (CorpusChoice){.merges = 5}, "are neighbours twice");
}

TEST(test_refused_texts)
{
    static const struct {
        const char *file, *text, *says;
        int words; /* words accept the text */
    } row[] = {
        {"train.txt", "ab ab\nb@@ b\n", "train.txt:2: a word ends in '@@'", 1},
        {"test.txt", "ab\tab\n", "test.txt:1: a tab", 1},
        {"valid.txt", "a\xff\n", "valid.txt:1: not UTF-8", 0},
        {"train.txt", "", "train.txt is empty", 0},
        {"test.txt", "", "test.txt is empty", 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        write_corpus();
        file_text(row[i].file, row[i].text);
        tiny_refuse(folder, (CorpusChoice){.merges = 1}, row[i].says);
        if (strcmp(row[i].file, "test.txt") == 0) /* it is not opened */
            tiny_opens(folder, (CorpusChoice){.merges = 1, .untested = 1});
        if (row[i].words) tiny_opens(folder, (CorpusChoice){.vocab_limit = 50});
    }
}

TEST(test_every_allocation_fails)
{
    write_corpus();
    const char *codes = file_text("codes", "#version: 0.2\na b\nab c</w>\n"),
               *valid = file_path("valid.txt");
    const CorpusChoice w[] = {{.codes = codes}, {.merges = 1, .eval_tokens = 2}};
    for (int i = 0; i < 2; i++)
        assert_true(FAILURES(0, OWN_CORPUS c; OWN_TEXT t = {0};
                             code = corpus_choose(folder, &w[i], &c);
                             if (code == 0) code = text_read(valid, c.bpe, &c.vocab, &t)) > 30);
}

TEST_MAIN(scratch_open, scratch_close)
