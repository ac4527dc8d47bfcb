/* test_recordings.c: which steps of a training run are replayed. A backend of the processor counts here what it is asked to
 * record and to replay; that replaying changes no bit is test_device.c's. */
#include "tests/lib/test.h"

#include <stdlib.h>

#include "kernels/error.h"
#include "nn/corpus.h"
#include "kernels/ranks.h"
#include "nn/engine.h"
#include "nn/run.h"
#include "tests/lib/tiny.h"

static size_t records, replays, freed;
static char mark; /* stands for every recording */

static int count_record(void)
{
    records++;
    return 0;
}

static int count_recorded(Recording **out)
{
    *out = (Recording *)&mark;
    return 0;
}

static int count_replay(Recording *r)
{
    replays += r == (Recording *)&mark;
    return 0;
}

static void count_free(Recording *r)
{
    freed += r != NULL;
}

static Backend counting(void)
{
    const Backend *cpu;
    if (backend_find("cpu-f32", NULL, &cpu) != 0) fail_msg("%s", error_text());
    Backend b = *cpu;
    b.record = count_record;
    b.recorded = count_recorded;
    b.replay = count_replay;
    b.recording_free = count_free;
    records = replays = freed = 0;
    return b;
}

static const AdamConfig adam = {.rate = 1e-3, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1};

/* So many shapes in turns, `rounds` times: a shape is met once, then recorded, then replayed. */
static void rounds_of(const Backend *b, size_t shapes, size_t rounds)
{
    ModelConfig c = tiny_config();
    Batch batch = tiny_batch();
    Model *m;
    uint64_t step = 0;
    assert_int_equal(model_new(&c, tiny_residual(), b, 1, &m), 0);
    for (size_t k = 0; k < rounds; k++)
        for (size_t i = 0; i < shapes; i++) {
            StepPart part = {.parts = 1, .most = 1, .tokens = batch.N + i};
            assert_int_equal(model_step_part(m, &batch, &part, &adam, ++step), 0);
        }
    model_free(m);
}

TEST(a_shape_is_recorded_when_it_comes_again)
{
    Backend b = counting();
    rounds_of(&b, 7, 5);
    assert_int_equal(records, 7);
    assert_int_equal(replays, 7 * 4);
    assert_int_equal(freed, 7);
}

/* One shape more than there is room for, in turns: the one that comes next was just forgotten. */
TEST(the_least_recently_used_shape_is_forgotten)
{
    Backend b = counting();
    rounds_of(&b, RECORDED_MOST + 1, 2);
    assert_int_equal(records, 0);
    b = counting();
    rounds_of(&b, RECORDED_MOST, 2);
    assert_int_equal(records, RECORDED_MOST);
    assert_int_equal(freed, RECORDED_MOST);
}

static void sum_nothing(Ranks *r, void *x, size_t n, size_t element)
{
    (void)r, (void)x, (void)n, (void)element;
}

static void no_push(Ranks *r)
{
    (void)r;
}

/* Of a process alone, or of one of several ranks. */
typedef struct {
    int rank, size;
} Place;

/* Sentences of a text, as `train --context sentence` has them: the share of steps that are replayed. */
static double share(const Text *text, const Vocab *vocab, size_t tokens, size_t T, long epochs,
                    Place at)
{
    Ranks ranks = {
        .rank = at.rank, .size = at.size, .begin = sum_nothing, .push = no_push, .wait = no_push};
    size_t replayed = 0;
    Backend b = counting();
    ModelConfig c = tiny_config();
    Batches *batches;
    Batch batch;
    Model *m;
    uint64_t step = 0;
    c.vocab = vocab->size;
    c.max_tokens = tokens;
    c.max_length = T;
    assert_int_equal(model_new(&c, tiny_residual(), &b, 1, &m), 0);
    assert_int_equal(batches_new(text, NULL, vocab, NULL, CONTEXT_SENTENCE, tokens, T, 1, &batches),
                     0);
    for (long e = 1; e <= epochs; e++) {
        batches_epoch(batches, e);
        for (size_t i = 0; i < batches_count(batches); i++) {
            size_t before = replays;
            StepPart part = {.parts = 1,
                             .most = 1,
                             .tokens = batches_asked(batches, i),
                             .ranks = at.size > 1 ? &ranks : NULL};
            assert_int_equal(evaluate_batch(part.ranks, batches, i, &batch, part.first), 0);
            assert_int_equal(model_step_part(m, &batch, &part, &adam, ++step), 0);
            replayed += replays > before;
        }
    }
    batches_free(batches);
    model_free(m);
    return (double)replayed / (double)step;
}

/* TROTTER_CORPUS=DIR: of that corpus at the size of the papers' recipe, 4,096 tokens a step and 20 epochs. Ranks have a part
 * of every batch each, whose shapes vary more, so that the text here, which makes few steps, has fewer of them again. */
TEST(most_steps_on_sentences_are_replayed)
{
    static const struct {
        Place at;
        double least; /* of the text here */
    } place[] = {{{0, 1}, 0.95}, {{0, 2}, 0.5}, {{1, 2}, 0.5}};
    const char *dir = getenv("TROTTER_CORPUS");
    Corpus corpus;
    assert_int_equal(corpus_open(dir ? dir : "kjv", LEVEL_WORD, 60, 1, &corpus), 0);
    for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
        Place at = place[i].at;
        double got = dir ? share(&corpus.text[0], &corpus.vocab, 4096, 128, 20, at)
                         : share(&corpus.text[1], &corpus.vocab, 512, 64, 20, at);
        print_message("# %s, rank %d of %d: %.4f of the steps are replayed\n", corpus.name, at.rank,
                      at.size, got);
        assert_true(got >= (dir ? 0.95 : place[i].least));
    }
    corpus_free(&corpus);
}

TEST_MAIN(NULL, NULL)
