/* pairs.c: parallel text (nn/text/corpus_split.c) and the learning of merges (nn/text/bpe.c): the first byte gives the number of merges
 * and of tokens of the validation text (15 merges: none, tokens are characters). The source and the target follow,
 * parted by the first byte 0x1e. They are the training text, and their beginning is the validation text. */
#include "nn/text/corpus.h"
#include "tests/fuzz/fuzz.h"

enum { SEPARATOR = 0x1e };

static int fill(RawSplit *r, const uint8_t *data, const size_t count[2])
{
    static const char *const name[] = {"source", "target"};
    r->sides = 2;
    for (int i = 0; i < 2; i++) {
        r->own[i] = memory_new(count[i] + 1, 1);
        if (!r->own[i]) return ERR_MEMORY;
        r->text[i] = (BpeText){name[i], memcpy(r->own[i], data, count[i]), count[i], 0};
        data += count[i] + 1;
    }
    return 0;
}

static void check_side(const Text *t, const Vocab *v)
{
    size_t ends = 0;
    for (size_t i = 0; i < t->tokens; i++) {
        FUZZ_CHECK(t->id[i] >= 0 && (size_t)t->id[i] < v->size);
        ends += t->id[i] == v->eos;
    }
    FUZZ_CHECK(t->tokens && t->id[t->tokens - 1] == v->eos && ends == t->lines);
    FUZZ_CHECK(t->blank <= t->lines && t->unknown == 0); /* the vocabulary is of these texts */
}

/* Checks that the validation text is the beginning of the training text, up to the line where the target has its N-th
 * token. */
static void check_part(const Corpus *c, size_t N)
{
    const Text *const train[] = {&c->source[SPLIT_TRAIN], &c->text[SPLIT_TRAIN]};
    const Text *const valid[] = {&c->source[SPLIT_VALID], &c->text[SPLIT_VALID]};
    for (int i = 0; i < 2; i++) {
        check_side(valid[i], &c->vocab);
        FUZZ_CHECK(valid[i]->tokens <= train[i]->tokens);
        FUZZ_CHECK(memcmp(valid[i]->id, train[i]->id, valid[i]->tokens * sizeof(int32_t)) == 0);
    }
    FUZZ_CHECK(valid[0]->lines == valid[1]->lines);
    FUZZ_CHECK(N == 0 || valid[1]->tokens >= N || valid[1]->tokens == train[1]->tokens);
    FUZZ_CHECK(N || valid[1]->tokens == train[1]->tokens);
}

/* Checks that the pairs that stay are short, and that all short ones stay. */
static void check_left_out(Corpus *c, size_t T)
{
    Text *source = &c->source[SPLIT_TRAIN], *target = &c->text[SPLIT_TRAIN];
    size_t lines = target->lines, fit = 0, at[2] = {0, 0};
    for (size_t l = 0; l < lines; l++) {
        size_t begun[2] = {at[0], at[1]};
        while (source->id[at[0]++] != c->vocab.eos) continue;
        while (target->id[at[1]++] != c->vocab.eos) continue;
        fit += at[0] - begun[0] <= T && at[1] - begun[1] <= T;
    }
    corpus_leave_out(c, T);
    FUZZ_CHECK(source->lines == fit && target->lines == fit && c->left_out == lines - fit);
    FUZZ_CHECK(fit == 0 || text_pairs(source, target, c->vocab.eos) == 0);
    FUZZ_CHECK(source->tokens <= fit * T && target->tokens <= fit * T);
}

FUZZ()
{
    const uint8_t *stop = size > 1 ? memchr(data + 1, SEPARATOR, size - 1) : NULL;
    if (!stop) return;
    size_t count[2] = {(size_t)(stop - data) - 1, size - (size_t)(stop - data) - 1};
    CorpusChoice w = {.merges = data[0] & 15, .eval_tokens = data[0] >> 4};
    if (w.merges == 15) w.level = LEVEL_CHAR, w.merges = 0;
    Corpus c = {0};
    RawSplit train = {0}, valid = {0};
    if (fill(&train, data + 1, count) == 0 && fill(&valid, data + 1, count) == 0 &&
        split_add(&w, SPLIT_TRAIN, &train, &c) == 0) {
        check_side(&c.source[SPLIT_TRAIN], &c.vocab);
        check_side(&c.text[SPLIT_TRAIN], &c.vocab);
        FUZZ_CHECK(text_pairs(&c.source[SPLIT_TRAIN], &c.text[SPLIT_TRAIN], c.vocab.eos) == 0);
        FUZZ_CHECK(!w.merges == !c.bpe && (!c.bpe || bpe_merges(c.bpe) <= w.merges));
        int code = split_add(&w, SPLIT_VALID, &valid, &c);
        FUZZ_CHECK(code == 0 || code == ERR_MEMORY);
        if (code == 0) check_part(&c, w.eval_tokens);
        check_left_out(&c, 1 + w.eval_tokens);
    }
    corpus_free(&c);
    for (int i = 0; i < 2; i++) memory_free(train.own[i]), memory_free(valid.own[i]);
}
