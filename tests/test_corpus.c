/* test_corpus.c: texts, vocabularies, the Markov source and batches, against brute force and against
 * identities (the union of an epoch's windows is the text). Reads King James text and its own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <sys/stat.h>

#include "kernels/random.h"
#include "nn/corpus.h"
#include "tests/scratch.h"

static const char *write_string(const char *name, const char *text)
{
    return scratch_write(name, text, strlen(text));
}

static int says(const char *part)
{
    return strstr(error_text(), part) != NULL;
}

/* The text with a blank between tokens; out must have room. */
static const char *spell(const Vocab *v, const Text *t)
{
    static char out[4096];
    char *p = out;
    *p = 0;
    for (size_t i = 0; i < t->tokens; i++) p += sprintf(p, i ? " %s" : "%s", v->word[t->id[i]]);
    return out;
}

/* ---- scanning ----------------------------------------------------------------------------------- */

static void test_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text, *tokens;
        size_t lines, blank;
    } row[] = {
        {"a b\n", "a b <eos>", 1, 0},
        {"a b", "a b <eos>", 1, 0},
        {"a b\r\n", "a b <eos>", 1, 0},
        {"a b\r", "a b <eos>", 1, 0},
        {"a\n\nb", "a <eos> <eos> b <eos>", 3, 1},
        {"\r\n\r\n", "<eos> <eos>", 2, 2},
        {"\n", "<eos>", 1, 1},
        {" \t a  b\t\n \t\nc\n", "a b <eos> <eos> c <eos>", 3, 1},
        {"a\rb \r c\n", "a\rb \r c <eos>", 1, 0},
        {"\xe4\xb8\xad \xff\n", "\xe4\xb8\xad \xff <eos>", 1, 0},
        {"a <eos>\n", "a <eos> <eos>", 1, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *s = row[i].text;
        Vocab v;
        Text t;
        assert_int_equal(vocab_build(s, strlen(s), 0, &v), 0);
        assert_int_equal(text_read(write_string("lines", s), &v, &t), 0);
        assert_string_equal(spell(&v, &t), row[i].tokens);
        assert_int_equal(t.lines, row[i].lines);
        assert_int_equal(t.blank, row[i].blank);
        assert_int_equal(t.unknown, 0);
        text_free(&t);
        vocab_free(&v);
    }
}

static void test_refused_texts(void **state)
{
    (void)state;
    Vocab v;
    Text t;
    assert_int_equal(vocab_build("a\n", 2, 0, &v), 0);
    assert_int_equal(text_read(scratch_path("none"), &v, &t), ERR_INPUT);
    assert_true(says("none"));
    assert_int_equal(text_read(scratch, &v, &t), ERR_INPUT); /* a directory */
    assert_true(says(scratch));
    assert_int_equal(text_read(write_string("empty", ""), &v, &t), ERR_INPUT);
    assert_true(says("empty is empty"));
    assert_int_equal(text_read(scratch_write("nul", "a\na\0a\n", 6), &v, &t), ERR_INPUT);
    assert_true(says("nul:2:"));
    assert_int_equal(text_read(write_string("word", "a\na\n\na new\n"), &v, &t), ERR_INPUT);
    assert_true(says("word:4: 'new'"));
    assert_null(t.id);
    assert_int_equal(text_read(write_string("good", "a\na\n"), &v, &t), 0); /* control */
    text_free(&t);
    vocab_free(&v);
}

static void test_long_line(void **state)
{
    (void)state;
    size_t n = 10 << 20, words = n / 4;
    char *s = memory_new(n, 1);
    for (size_t i = 0; i < n; i++) s[i] = "abc "[i % 4];
    const char *file = scratch_write("long", s, n);
    Vocab v;
    Text t;
    assert_int_equal(vocab_build(s, n, 0, &v), 0);
    assert_int_equal(text_read(file, &v, &t), 0);
    assert_int_equal(t.tokens, words + 1);
    assert_int_equal(t.lines, 1);
    text_free(&t);
    vocab_free(&v);
    memset(s, 'x', n); /* and a word of 10 MB */
    assert_int_equal(vocab_build(s, n, 0, &v), 0);
    assert_int_equal(strlen(v.word[v.eos == 0]), n);
    vocab_free(&v);
    memory_free(s);
    remove(file);
}

/* A pipe has no size to trust. */
static void test_pipe(void **state)
{
    (void)state;
    const char *fifo = scratch_path("fifo");
    char command[1200];
    assert_int_equal(mkfifo(fifo, 0600), 0);
    snprintf(command, sizeof command, "(for i in 1 2 3 4 5; do printf '%%5000d\\n' 7; done) >%s &",
             fifo);
    assert_int_equal(system(command), 0);
    char *bytes;
    size_t count;
    assert_int_equal(read_text(fifo, &bytes, &count), 0);
    assert_int_equal(count, 5 * 5001);
    assert_int_equal(strlen(bytes), count);
    memory_free(bytes);
}

/* ---- vocabularies ------------------------------------------------------------------------------- */

/* A text of `lines` lines of words over a small alphabet, some of them blank. */
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

/* How often a token occurs, by counting it again. */
static size_t occurrences(const Text *t, int32_t id)
{
    size_t n = 0;
    for (size_t i = 0; i < t->tokens; i++) n += t->id[i] == id;
    return n;
}

/* 1: ids fall in count, ties rise bytewise, and no word outside beats the least word inside. */
static int in_order(const Vocab *v, const Text *t)
{
    for (int32_t i = 1; i < (int32_t)v->size; i++) {
        size_t a = occurrences(t, i - 1), b = occurrences(t, i);
        if (a < b || (a == b && strcmp(v->word[i - 1], v->word[i]) >= 0)) return 0;
    }
    return 1;
}

static void test_vocab_order(void **state)
{
    (void)state;
    size_t count;
    char *s = random_text(5, 400, &count);
    static const size_t limit[] = {0, 2, 3, 10, 50, 100, 1000};
    for (size_t k = 0; k < sizeof limit / sizeof *limit; k++) {
        Vocab v, all;
        Text t, whole;
        assert_int_equal(vocab_build(s, count, limit[k], &v), 0);
        assert_int_equal(vocab_build(s, count, 0, &all), 0);
        assert_int_equal(text_encode("text", s, count, &v, &t), 0);
        assert_int_equal(text_encode("text", s, count, &all, &whole), 0);
        assert_true(in_order(&v, &t));
        assert_true((v.unk >= 0) == (limit[k] > 0));
        if (limit[k]) assert_true(v.size <= limit[k] && v.size <= all.size + 1);
        if (limit[k] && limit[k] <= all.size) assert_int_equal(v.size, limit[k]);
        /* The words kept are the first of the uncut order (which has no <unk>), <eos> aside. */
        size_t kept = v.size - 1 - (v.unk >= 0), seen = 0;
        for (size_t i = 0; i < all.size && seen < kept; i++) {
            if ((int32_t)i == all.eos) continue;
            assert_true(vocab_find(&v, all.word[i], strlen(all.word[i])) >= 0);
            seen++;
        }
        for (size_t i = 0; i < t.tokens; i++) {
            int same = strcmp(v.word[t.id[i]], all.word[whole.id[i]]) == 0;
            assert_true(same ||
                        (t.id[i] == v.unk &&
                         vocab_find(&v, all.word[whole.id[i]], strlen(all.word[whole.id[i]])) < 0));
        }
        if (limit[k]) assert_int_equal(t.unknown, occurrences(&t, v.unk));
        char *swap = v.word[0]; /* control: a wrong order is seen */
        int32_t last = (int32_t)v.size - 1;
        v.word[0] = v.word[last];
        for (size_t i = 0; i < t.tokens; i++)
            t.id[i] = t.id[i] == 0 ? last : t.id[i] == last ? 0 : t.id[i];
        assert_false(in_order(&v, &t));
        v.word[0] = swap;
        text_free(&t);
        text_free(&whole);
        vocab_free(&v);
        vocab_free(&all);
    }
    Vocab v;
    assert_int_equal(vocab_build(s, count, 1, &v), ERR_INPUT);
    memory_free(s);
}

/* A text that brings its own <unk>, as the Penn Treebank's does: it is that word. */
static void test_own_unk(void **state)
{
    (void)state;
    const char *s = "the <unk> of <unk> the\nthe <unk> a\n";
    Vocab v;
    Text t;
    assert_int_equal(vocab_build(s, strlen(s), 0, &v), 0);
    assert_int_equal(v.size, 5);
    assert_string_equal(v.word[v.unk], "<unk>");
    assert_int_equal(text_read(write_string("t", "of newer\n"), &v, &t), 0);
    assert_string_equal(spell(&v, &t), "of <unk> <eos>");
    assert_int_equal(t.unknown, 1);
    text_free(&t);
    vocab_free(&v);
    assert_int_equal(vocab_build(s, strlen(s), 5, &v), 0); /* nothing to cut, no second <unk> */
    assert_int_equal(v.size, 5);
    vocab_free(&v);
    assert_int_equal(vocab_build(s, strlen(s), 3, &v), 0);
    assert_string_equal(v.word[0], "<unk>"); /* its own 3 and the 2 cut off */
    assert_string_equal(v.word[1], "the");
    assert_string_equal(v.word[2], "<eos>");
    vocab_free(&v);
}

static void test_vocab_file(void **state)
{
    (void)state;
    size_t count;
    char *s = random_text(6, 200, &count);
    Vocab v, w;
    assert_int_equal(vocab_build(s, count, 40, &v), 0);
    const char *file = scratch_path("vocab.txt");
    assert_int_equal(vocab_write(&v, file), 0);
    assert_int_equal(vocab_read(file, &w), 0);
    assert_int_equal(v.size, w.size);
    assert_int_equal(v.eos, w.eos);
    assert_int_equal(v.unk, w.unk);
    for (size_t i = 0; i < v.size; i++) {
        assert_string_equal(v.word[i], w.word[i]);
        assert_int_equal(vocab_find(&w, v.word[i], strlen(v.word[i])), i);
    }
    vocab_free(&v);
    vocab_free(&w);
    memory_free(s);
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
        assert_int_equal(vocab_read(write_string("bad", bad[i].text), &v), ERR_INPUT);
        assert_true(says(bad[i].says) && says("bad"));
        assert_null(v.word);
    }
    assert_int_equal(vocab_read(write_string("good", "a\r\n<eos>\r\nb"), &v), 0);
    assert_int_equal(v.size, 3);
    vocab_free(&v);
}

/* ---- corpora ------------------------------------------------------------------------------------ */

static void test_kjv(void **state)
{
    (void)state;
    static const size_t tokens[SPLITS] = {825538 + 28045, 45179 + 1484, 44654 + 1573}; /* wc */
    Corpus c;
    assert_int_equal(corpus_open("kjv", 0, 1, &c), 0);
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
    /* 12,149 words and <eos>; 9,999 of them kept, 2,151 cut: words of rank > 9,999. */
    Corpus all;
    assert_int_equal(corpus_open("kjv", 20000, 1, &all), 0);
    assert_int_equal(all.vocab.size, 12149 + 2);
    assert_int_equal(all.text[SPLIT_TRAIN].unknown, 0);
    assert_true(all.text[SPLIT_VALID].unknown > 0);
    double cut = corpus_unigram(&c, SPLIT_TEST), uncut = corpus_unigram(&all, SPLIT_TEST);
    assert_true(cut > 100 && cut < uncut && uncut < 1000);
    corpus_free(&all);
    corpus_free(&c);
    assert_true(strstr(builtin_kjv_legend().bytes, "unrestricted use") != NULL);
}

static void make_corpus(const char *train, const char *valid, const char *test)
{
    scratch_files(1);
    write_string(train, "a b\na c\n");
    write_string(valid, "c b\n");
    write_string(test, "b\n\n");
}

static void test_directories(void **state)
{
    (void)state;
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
    Corpus c;
    for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
        make_corpus(form[i][0], form[i][1], form[i][2]);
        assert_int_equal(corpus_open(scratch, 0, 0, &c), 0);
        assert_string_equal(spell(&c.vocab, &c.text[SPLIT_TRAIN]), "a b <eos> a c <eos>");
        assert_string_equal(spell(&c.vocab, &c.text[SPLIT_VALID]), "c b <eos>");
        assert_string_equal(spell(&c.vocab, &c.text[SPLIT_TEST]), "b <eos> <eos>");
        /* counts <eos> 2, a 2, b 1, c 1; V = 4, N = 6: 3/10 for each <eos>, 2/10 for b */
        assert_true(fabs(corpus_unigram(&c, SPLIT_TEST) - cbrt(1 / (0.3 * 0.3 * 0.2))) < 1e-12);
        corpus_free(&c);
        remove(scratch_path(form[i][1]));
        assert_int_equal(corpus_open(scratch, 0, 0, &c), ERR_INPUT);
        assert_true(says("no text for valid") && says("ptb.NAME.txt"));
        assert_null(c.name);
    }
    /* PTB's folder holds its text by characters, too: the first form of the list is read. */
    make_corpus("ptb.char.train.txt", "ptb.char.valid.txt", "ptb.char.test.txt");
    write_string("ptb.train.txt", "x y\n");
    write_string("ptb.valid.txt", "x\n");
    write_string("ptb.test.txt", "y\n");
    assert_int_equal(corpus_open(scratch, 0, 0, &c), 0);
    assert_string_equal(spell(&c.vocab, &c.text[SPLIT_TRAIN]), "x y <eos>");
    corpus_free(&c);
    make_corpus("a.train.txt", "a.valid.txt", "a.test.txt");
    write_string("b.train.txt", "a\n");
    assert_int_equal(corpus_open(scratch, 0, 0, &c), ERR_INPUT);
    assert_true(says("a.train.txt") && says("b.train.txt"));
    scratch_files(1);
}

static void test_refused_corpora(void **state)
{
    (void)state;
    static const char *const name[] = {
        "",          "nowhere",  "kjv2",      "kjv:3",     "markov:",         "markov:1",
        "markov:0",  "markov:x", "markov:8x", "markov:-8", "markov:99999999", "markov:1048577",
        "markov:+8", "markov: 8"};
    Corpus c;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        assert_int_equal(corpus_open(name[i], 0, 0, &c), ERR_INPUT);
        assert_null(c.name);
    }
    assert_int_equal(corpus_open("markov", 100, 0, &c), ERR_INPUT);
    make_corpus("train.txt", "valid.txt", "test.txt");
    write_string("test.txt", "a b\nnew\n");
    assert_int_equal(corpus_open(scratch, 0, 0, &c), ERR_INPUT);
    assert_true(says("test.txt:2: 'new'"));
    assert_int_equal(corpus_open(scratch, 3, 0, &c), 0); /* with <unk> it is read */
    assert_int_equal(c.text[SPLIT_TEST].unknown, 2);     /* b is cut, too: <eos>, <unk>, a */
    corpus_free(&c);
    write_string("train.txt", "");
    assert_int_equal(corpus_open(scratch, 0, 0, &c), ERR_INPUT);
    scratch_files(1);
    assert_string_equal(corpus_builtin(0), "kjv");
    assert_string_equal(corpus_builtin(1), "markov");
    assert_null(corpus_builtin(2));
}

/* ---- the Markov source -------------------------------------------------------------------------- */

/* P (V, V) out. */
static void dense(const Markov *m, double *P)
{
    memset(P, 0, m->V * m->V * sizeof *P);
    for (size_t i = 0; i < m->V; i++)
        for (size_t k = 0; k < MARKOV_DEGREE; k++) {
            const MarkovEdge *e = &m->edge[i * MARKOV_DEGREE + k];
            P[i * m->V + e->to] += e->p;
        }
}

/* 1: some power of P is positive everywhere; (V-1)^2 + 1 is the last that must be tried (Wielandt
 * 1950), and powers beyond stay positive. Irreducible and aperiodic is just this. */
static int primitive(const double *P, size_t V)
{
    enum { MOST = 32 };
    uint32_t row[MOST] = {0}, now[MOST], next[MOST];
    for (size_t i = 0; i < V; i++)
        for (size_t j = 0; j < V; j++) row[i] |= (uint32_t)(P[i * V + j] > 0) << j;
    memcpy(now, row, sizeof now);
    for (size_t n = 1; n < (V - 1) * (V - 1) + 1; n++) {
        for (size_t i = 0; i < V; i++) {
            next[i] = 0;
            for (size_t j = 0; j < V; j++)
                if (now[i] >> j & 1) next[i] |= row[j];
        }
        memcpy(now, next, sizeof now);
    }
    for (size_t i = 0; i < V; i++)
        if (now[i] != (uint32_t)((UINT64_C(1) << V) - 1)) return 0;
    return 1;
}

/* pi (V) out: pi (P - I) = 0 with sum 1, by Gaussian elimination. A (V, V+1) scratch. */
static void solve_stationary(const double *P, size_t V, double *A, double *pi)
{
    size_t w = V + 1;
    for (size_t i = 0; i < V; i++) {
        for (size_t j = 0; j < V; j++) A[i * w + j] = P[j * V + i] - (i == j);
        A[i * w + V] = 0;
    }
    for (size_t j = 0; j <= V; j++) A[(V - 1) * w + j] = 1; /* in place of one equation */
    for (size_t k = 0; k < V; k++) {
        size_t p = k;
        for (size_t i = k; i < V; i++)
            if (fabs(A[i * w + k]) > fabs(A[p * w + k])) p = i;
        for (size_t j = 0; j <= V; j++) {
            double t = A[k * w + j];
            A[k * w + j] = A[p * w + j];
            A[p * w + j] = t;
        }
        for (size_t i = 0; i < V; i++) {
            double f = i == k ? 0 : A[i * w + k] / A[k * w + k];
            for (size_t j = k; j <= V; j++) A[i * w + j] -= f * A[k * w + j];
        }
    }
    for (size_t i = 0; i < V; i++) pi[i] = A[i * w + V] / A[i * w + i];
}

static void test_markov_chain(void **state)
{
    (void)state;
    static const size_t states[] = {2, 3, 4, 7, 16, 31};
    for (size_t k = 0; k < sizeof states / sizeof *states; k++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            size_t V = states[k];
            double P[31 * 31], A[31 * 32], pi[31], rate = 0;
            Markov m;
            assert_int_equal(markov_new(V, seed, &m), 0);
            dense(&m, P);
            assert_true(primitive(P, V));
            solve_stationary(P, V, A, pi);
            for (size_t i = 0; i < V; i++) {
                double sum = 0;
                for (size_t j = 0; j < V; j++) {
                    double p = P[i * V + j];
                    sum += p;
                    if (p > 0) rate -= pi[i] * p * log(p);
                }
                assert_true(fabs(sum - 1) <= 1e-15 * MARKOV_DEGREE);
                assert_true(fabs(pi[i] - m.pi[i]) <= 1e-11);
            }
            assert_true(P[0] == 0); /* no blank line */
            /* pi to 1e-12 (markov.c), elimination to V^2 eps times a condition of about 256 */
            assert_true(fabs(rate - m.rate) <= 1e-10);
            for (size_t i = 0; i < V; i++) { /* control: a bare cycle has a period */
                memset(P + i * V, 0, V * sizeof *P);
                P[i * V + (i + 1) % V] = 1;
            }
            assert_false(primitive(P, V));
            markov_free(&m);
        }
}

/* Mean and standard error of -ln p over a text that is whole lines. Lines are independent (each
 * starts from <eos>), so with X_l, n_l a line's sum and length, and r = sum X / sum n, the error of
 * the ratio is sqrt(sum (X_l - r n_l)^2) / sum n. */
static void true_cross_entropy(const Markov *m, const Text *t, double *mean, double *error)
{
    double sum = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++) {
        double line = 0;
        int32_t last = 0;
        for (size_t i = 0; i < t->tokens; i++) {
            double p = 0;
            for (size_t k = 0; k < MARKOV_DEGREE; k++) {
                const MarkovEdge *e = &m->edge[(size_t)last * MARKOV_DEGREE + k];
                if (e->to == (uint32_t)t->id[i]) p += e->p;
            }
            last = t->id[i];
            if (pass == 0) sum -= log(p);
            line -= log(p) + (pass ? sum / (double)t->tokens : 0);
            if (last) continue;
            if (pass) squares += line * line;
            line = 0;
        }
    }
    *mean = sum / (double)t->tokens;
    *error = sqrt(squares) / (double)t->tokens;
}

static void test_markov_text(void **state)
{
    (void)state;
    static const size_t states[] = {2, 16, 256, 5000};
    for (size_t k = 0; k < sizeof states / sizeof *states; k++) {
        char name[32];
        Markov m;
        Corpus c;
        snprintf(name, sizeof name, "markov:%zu", states[k]);
        assert_int_equal(corpus_open(name, 0, 7, &c), 0);
        assert_int_equal(markov_new(states[k], 7, &m), 0);
        assert_int_equal(c.vocab.size, states[k]);
        assert_int_equal(c.vocab.unk, -1);
        assert_true(c.entropy_rate == m.rate);
        for (int i = 0; i < SPLITS; i++) {
            const Text *t = &c.text[i];
            double mean, error;
            true_cross_entropy(&m, t, &mean, &error);
            assert_true(fabs(mean - m.rate) <= 4 * error);
            assert_false(fabs(mean - 1.15 * m.rate) <= 4 * error); /* control */
            assert_true(error > 0 && error < 0.1 * m.rate);
            assert_int_equal(t->id[t->tokens - 1], c.vocab.eos);
            assert_true(t->tokens >= (i == SPLIT_TRAIN ? 200000 : 20000));
        }
        markov_free(&m);
        corpus_free(&c);
    }
}

static int same_text(const Text *a, const Text *b)
{
    return a->tokens == b->tokens && memcmp(a->id, b->id, a->tokens * sizeof *a->id) == 0;
}

static void test_markov_seed(void **state)
{
    (void)state;
    Corpus a, b, d;
    assert_int_equal(corpus_open("markov", 0, 3, &a), 0);
    assert_int_equal(corpus_open("markov:256", 0, 3, &b), 0);
    assert_int_equal(corpus_open("markov", 0, 4, &d), 0);
    for (int i = 0; i < SPLITS; i++) {
        assert_true(same_text(&a.text[i], &b.text[i]));
        assert_false(same_text(&a.text[i], &d.text[i]));
    }
    assert_false(same_text(&a.text[SPLIT_VALID], &a.text[SPLIT_TEST]));
    /* Written in lines and read again: the same tokens. */
    const Text *t = &a.text[SPLIT_TEST];
    char *s = memory_new(t->tokens, 8), *p = s;
    for (size_t i = 0; i < t->tokens; i++)
        p += t->id[i] ? sprintf(p, "%s ", a.vocab.word[t->id[i]]) : sprintf(p, "\n");
    Text again;
    assert_int_equal(text_read(write_string("markov", s), &a.vocab, &again), 0);
    assert_true(same_text(t, &again));
    assert_int_equal(t->lines, again.lines);
    assert_int_equal(again.blank, 0);
    text_free(&again);
    memory_free(s);
    corpus_free(&a);
    corpus_free(&b);
    corpus_free(&d);
}

/* ---- batches ------------------------------------------------------------------------------------ */

enum { TOKENS = 5000 };

/* A text whose tokens tell their own place: token i is i + 1, but for line ends, which are 0. Mean
 * line 8 tokens, some blank, one of 300. */
static Text placed_text(uint64_t seed, size_t tokens)
{
    Text t = {.file = memory_string("placed"), .tokens = tokens};
    t.id = memory_new(tokens, sizeof *t.id);
    for (size_t i = 0; i < tokens; i++) {
        int end = random_below(seed, 2, i, 8) == 0 && (i < 600 || i > 900);
        t.id[i] = end || i + 1 == tokens ? 0 : (int32_t)i + 1;
    }
    return t;
}

static int blank_at(const Text *t, size_t i)
{
    return t->id[i] == 0 && (i == 0 || t->id[i - 1] == 0);
}

/* Place of the target behind `input`, or SIZE_MAX where a blank line makes it unclear. */
static size_t place(int32_t input, int32_t target)
{
    return target ? (size_t)target - 1 : input ? (size_t)input : SIZE_MAX;
}

/* 1: a sound batch; seen (tokens) counts the targets. */
static int sound(const Batch *b, const Text *t, int context, size_t most, size_t T, uint8_t *seen)
{
    size_t longest = 0;
    if (b->start[0] != 0 || b->start[b->S] != b->N || b->N > most || b->N == 0) return 0;
    if (context == CONTEXT_STREAM && b->S > most / T) return 0;
    for (size_t s = 0; s < b->S; s++) {
        size_t from = b->start[s], length = b->start[s + 1] - from;
        if (b->start[s + 1] <= from || length > T) return 0;
        if (length > longest) longest = length;
        for (size_t j = 0; j < length; j++) {
            size_t i = from + j, at = place(b->input[i], b->target[i]);
            if (b->position[i] != (int32_t)j || at >= t->tokens) return 0;
            if (b->input[i] != (at ? t->id[at - 1] : 0) || b->target[i] != t->id[at]) return 0;
            if (j && b->input[i] != b->target[i - 1]) return 0;
            if (context == CONTEXT_SENTENCE && j && b->input[i] == 0) return 0;
            seen[at]++;
        }
    }
    return longest == b->longest;
}

/* 1: the epoch's batches are sound and together predict every token (but blank lines) once. */
static int covers(Batches *b, const Text *t, int context, size_t most, size_t T)
{
    uint8_t *seen = memory_new(t->tokens, 1);
    int good = 1;
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        good &= batches_get(b, i, &x) == 0 && sound(&x, t, context, most, T, seen);
    }
    for (size_t i = 0; i < t->tokens; i++) {
        int skip = context == CONTEXT_SENTENCE && blank_at(t, i);
        good &= seen[i] == !skip;
    }
    memory_free(seen);
    return good;
}

static const size_t lengths[] = {1, 2, 7, 64, 300, 5000, 100000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Blank lines cannot be told apart in a stream: its text has none. */
static Text text_for(int context, uint64_t seed, size_t tokens)
{
    Text t = placed_text(seed, tokens);
    for (size_t i = 0; context == CONTEXT_STREAM && i < tokens; i++)
        if (blank_at(&t, i)) t.id[i] = (int32_t)i + 1;
    return t;
}

static void test_batches_cover(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 63, TOKENS};
    Vocab v = {.eos = 0};
    for (int context = 0; context < 2; context++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (size_t l = 0; l < 2 * LENGTHS; l++) {
                size_t T = lengths[l / 2], most = l % 2 ? 3 * T + 1 : T;
                Text t = text_for(context, 8, sizes[k]);
                Batches *b;
                int code = batches_new(&t, &v, context, most, T, 5, &b);
                if (sizes[k] == 1 && context == CONTEXT_SENTENCE) {
                    assert_int_equal(code, ERR_INPUT); /* one blank line */
                } else {
                    assert_int_equal(code, 0);
                    assert_true(covers(b, &t, context, most, T));
                    for (long epoch = 3; epoch >= -1; epoch--) {
                        batches_epoch(b, epoch);
                        assert_true(covers(b, &t, context, most, T));
                    }
                }
                batches_free(b);
                text_free(&t);
            }
}

/* The checkers see a token, a place or a border that is wrong, and a batch left out. */
static void test_batches_control(void **state)
{
    (void)state;
    Vocab v = {.eos = 0};
    Text t = text_for(CONTEXT_STREAM, 8, TOKENS);
    uint8_t *seen = memory_new(TOKENS, 1);
    Batches *b;
    Batch x;
    assert_int_equal(batches_new(&t, &v, CONTEXT_STREAM, 128, 32, 5, &b), 0);
    for (int spoil = 0; spoil < 6; spoil++) {
        assert_int_equal(batches_get(b, 1, &x), 0);
        if (spoil == 1) x.input[3]++;
        if (spoil == 2) x.target[3] = x.target[4];
        if (spoil == 3) x.position[32] = 32;
        if (spoil == 4) x.start[1]++;
        if (spoil == 5) x.longest--;
        assert_int_equal(sound(&x, &t, CONTEXT_STREAM, 128, 32, seen), spoil == 0);
    }
    uint8_t missed = 0;
    memset(seen, 0, TOKENS);
    for (size_t i = 1; i < batches_count(b); i++) {
        assert_int_equal(batches_get(b, i, &x), 0);
        sound(&x, &t, CONTEXT_STREAM, 128, 32, seen);
    }
    for (size_t i = 0; i < TOKENS; i++) missed |= !seen[i];
    assert_true(missed);
    assert_int_equal(batches_get(b, batches_count(b), &x), ERR_MISUSE);
    memory_free(seen);
    batches_free(b);
    text_free(&t);
}

/* Evaluation: targets one after another are the text; inputs the text begun with <eos>. On real
 * text; the stream in blocks of T, batch_tokens / T at a time. */
static void test_evaluation(void **state)
{
    (void)state;
    Corpus c;
    assert_int_equal(corpus_open("kjv", 0, 0, &c), 0);
    const Text *t = &c.text[SPLIT_VALID];
    for (int context = 0; context < 2; context++) {
        Batches *b;
        Batch x;
        size_t at = 0;
        assert_int_equal(batches_new(t, &c.vocab, context, 1000, 70, 1, &b), 0);
        batches_epoch(b, 4);
        batches_epoch(b, -1);
        for (size_t i = 0; i < batches_count(b); i++) {
            assert_int_equal(batches_get(b, i, &x), 0);
            if (context == CONTEXT_STREAM && i + 1 < batches_count(b)) {
                assert_int_equal(x.S, 14);
                assert_int_equal(x.N, 14 * 70);
            }
            for (size_t j = 0; j < x.N; j++, at++) {
                assert_int_equal(x.target[j], t->id[at]);
                assert_int_equal(x.input[j], at ? t->id[at - 1] : c.vocab.eos);
            }
        }
        assert_int_equal(at, t->tokens);
        batches_free(b);
    }
    corpus_free(&c);
}

/* A number for an epoch's batches in their order. */
static uint64_t epoch_sum(Batches *b, long epoch)
{
    uint64_t h = 1;
    batches_epoch(b, epoch);
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        assert_int_equal(batches_get(b, i, &x), 0);
        for (size_t j = 0; j < x.N; j++)
            h = (h ^ (uint64_t)(x.target[j] + 7 * x.position[j])) * UINT64_C(0x9e3779b97f4a7c15);
        h = (h ^ x.S) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return h;
}

static void test_batches_order(void **state)
{
    (void)state;
    Vocab v = {.eos = 0};
    for (int context = 0; context < 2; context++) {
        Text t = text_for(context, 8, TOKENS);
        Batches *a, *b, *d;
        assert_int_equal(batches_new(&t, &v, context, 256, 64, 5, &a), 0);
        assert_int_equal(batches_new(&t, &v, context, 256, 64, 5, &b), 0);
        assert_int_equal(batches_new(&t, &v, context, 256, 64, 6, &d), 0);
        uint64_t sum[6];
        for (long e = 0; e < 6; e++) sum[e] = epoch_sum(a, e);
        for (long e = 5; e >= 0; e--) assert_true(epoch_sum(b, e) == sum[e]);
        for (long e = 0; e < 6; e++) {
            assert_false(epoch_sum(d, e) == sum[e]);
            for (long f = 0; f < e; f++) assert_false(sum[e] == sum[f]);
        }
        assert_true(epoch_sum(a, -1) == epoch_sum(d, -1));
        batches_free(a);
        batches_free(b);
        batches_free(d);
        text_free(&t);
    }
}

/* Sum over batches of (longest - shortest sequence), less the same for the whole epoch. Sorted by
 * length it is <= 0: the batches' ranges do not overlap. */
static long spread(Batches *b, long epoch)
{
    size_t low = SIZE_MAX, high = 0;
    long sum = 0;
    batches_epoch(b, epoch);
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        size_t shortest = SIZE_MAX;
        assert_int_equal(batches_get(b, i, &x), 0);
        for (size_t s = 0; s < x.S; s++)
            if (x.start[s + 1] - x.start[s] < shortest) shortest = x.start[s + 1] - x.start[s];
        sum += (long)(x.longest - shortest);
        if (shortest < low) low = shortest;
        if (x.longest > high) high = x.longest;
    }
    return sum - (long)(high - low);
}

static void test_like_length(void **state)
{
    (void)state;
    Vocab v = {.eos = 0};
    Text t = text_for(CONTEXT_SENTENCE, 8, TOKENS);
    Batches *b;
    assert_int_equal(batches_new(&t, &v, CONTEXT_SENTENCE, 256, 64, 5, &b), 0);
    for (long epoch = 0; epoch < 4; epoch++) assert_true(spread(b, epoch) <= 0);
    assert_true(spread(b, -1) > 0); /* control: in the text's order */
    batches_free(b);
    text_free(&t);
}

/* The cuts of a stream move: over many epochs a token is first of its block at about 1 time in T. */
static void test_offsets(void **state)
{
    (void)state;
    enum { T = 8, EPOCHS = 800 };
    Vocab v = {.eos = 0};
    Text t = text_for(CONTEXT_STREAM, 8, 100);
    Batches *b;
    size_t first = 0;
    assert_int_equal(batches_new(&t, &v, CONTEXT_STREAM, 32, T, 5, &b), 0);
    for (long epoch = 0; epoch < EPOCHS; epoch++) {
        batches_epoch(b, epoch);
        for (size_t i = 0; i < batches_count(b); i++) {
            Batch x;
            assert_int_equal(batches_get(b, i, &x), 0);
            for (size_t j = 0; j < x.N; j++)
                first += place(x.input[j], x.target[j]) == 50 && x.position[j] == 0;
        }
    }
    /* binomial: 100 +- 4 sqrt(800 * 1/8 * 7/8) */
    assert_true(fabs((double)first - 100) <= 4 * 9.36);
    batches_free(b);
    text_free(&t);
}

static void test_refused_batches(void **state)
{
    (void)state;
    Vocab v = {.eos = 0};
    int32_t eos[3] = {0};
    Text t = text_for(CONTEXT_STREAM, 8, 100), blank = {.file = "blank", .id = eos, .tokens = 3};
    Batches *b;
    assert_int_equal(batches_new(&t, &v, CONTEXT_STREAM, 32, 33, 5, &b), ERR_INPUT);
    assert_int_equal(batches_new(&t, &v, CONTEXT_STREAM, 32, 0, 5, &b), ERR_INPUT);
    assert_int_equal(batches_new(&t, &v, 2, 32, 8, 5, &b), ERR_MISUSE);
    assert_int_equal(batches_new(&blank, &v, CONTEXT_SENTENCE, 32, 8, 5, &b), ERR_INPUT);
    assert_true(says("blank"));
    assert_null(b);
    assert_int_equal(batches_new(&blank, &v, CONTEXT_STREAM, 32, 8, 5, &b), 0);
    assert_int_equal(batches_count(b), 1);
    batches_free(b);
    text_free(&t);
}

/* ---- every allocation fails once ---------------------------------------------------------------- */

static int job_directory(void)
{
    Corpus c;
    TRY(corpus_open(scratch, 3, 0, &c));
    corpus_free(&c);
    return 0;
}

static int job_markov(void)
{
    Corpus c;
    TRY(corpus_open("markov:8", 0, 0, &c));
    corpus_free(&c);
    return 0;
}

/* More words than the table's first size: it grows. */
static int job_growth(void)
{
    static char s[3000 * 8];
    char *p = s;
    Vocab v;
    for (int i = 0; i < 3000; i++) p += sprintf(p, "%x\n", (unsigned)i);
    TRY(vocab_build(s, (size_t)(p - s), 0, &v));
    vocab_free(&v);
    return 0;
}

static int job_vocab_file(void)
{
    Vocab v;
    TRY(vocab_read(scratch_path("v"), &v));
    int code = vocab_write(&v, scratch_path("w"));
    vocab_free(&v);
    return code;
}

static int job_text(void)
{
    Vocab v;
    Text t;
    TRY(vocab_read(scratch_path("v"), &v));
    int code = text_read(scratch_path("test.txt"), &v, &t);
    if (!code) text_free(&t);
    vocab_free(&v);
    return code;
}

static int job_batches(void)
{
    int32_t id[] = {1, 2, 0, 1, 0};
    Text t = {.file = "text", .id = id, .tokens = 5};
    Vocab v = {.eos = 0};
    Batches *b;
    TRY(batches_new(&t, &v, CONTEXT_SENTENCE, 8, 4, 1, &b));
    batches_free(b);
    return 0;
}

static void test_failing_allocator(void **state)
{
    (void)state;
    static int (*const job[])(void) = {job_directory,  job_markov, job_growth,
                                       job_vocab_file, job_text,   job_batches};
    make_corpus("train.txt", "valid.txt", "test.txt");
    write_string("v", "<eos>\na\nb\n");
    for (size_t i = 0; i < sizeof job / sizeof *job; i++)
        assert_true(fail_each(job[i], ERR_MEMORY) >= 5);
    size_t before = memory_calls(); /* an epoch and its batches allocate nothing */
    Text t = text_for(CONTEXT_STREAM, 8, 100);
    Vocab v = {.eos = 0};
    Batches *b;
    Batch x;
    assert_int_equal(batches_new(&t, &v, CONTEXT_STREAM, 32, 8, 5, &b), 0);
    assert_true(memory_calls() > before);
    before = memory_calls();
    batches_epoch(b, 1);
    assert_int_equal(batches_get(b, 0, &x), 0);
    assert_true(memory_calls() == before);
    batches_free(b);
    text_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_refused_texts),
        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_vocab_order),
        cmocka_unit_test(test_own_unk),
        cmocka_unit_test(test_vocab_file),
        cmocka_unit_test(test_kjv),
        cmocka_unit_test(test_directories),
        cmocka_unit_test(test_refused_corpora),
        cmocka_unit_test(test_markov_chain),
        cmocka_unit_test(test_markov_text),
        cmocka_unit_test(test_markov_seed),
        cmocka_unit_test(test_batches_cover),
        cmocka_unit_test(test_batches_control),
        cmocka_unit_test(test_evaluation),
        cmocka_unit_test(test_batches_order),
        cmocka_unit_test(test_like_length),
        cmocka_unit_test(test_offsets),
        cmocka_unit_test(test_refused_batches),
        cmocka_unit_test(test_failing_allocator),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
