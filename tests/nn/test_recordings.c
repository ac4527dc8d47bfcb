/* test_recordings.c: the replayed steps of a training run. A backend that computes nothing counts the calls to record
 * and to replay. test_device.c checks that replaying changes no bit. */
#include "tests/lib/test.h"

#include "kernels/ranks.h"
#include "nn/text/corpus.h"
#include "nn/run/pass.h"
#include "nn/text/masking.h"
#include "nn/run/run.h"
#include "tests/lib/tiny.h"

static size_t records, replays, freed, sends;
static double flops;
static int packs; /* 1: sends wait, to go together */
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

static void count_gemm(int ta, int tb, size_t m, size_t n, size_t k, double alpha, const void *A,
                       size_t lda, const void *B, size_t ldb, double beta, void *C, size_t ldc)
{
    (void)ta, (void)tb, (void)alpha, (void)A, (void)lda, (void)B, (void)ldb, (void)beta, (void)C;
    (void)ldc;
    flops += 2 * (double)m * (double)n * (double)k;
}

static void count_linear(size_t m, size_t n, size_t k, const void *A, const void *W, const void *b,
                         void *C)
{
    (void)A, (void)W, (void)b, (void)C;
    flops += 2 * (double)m * (double)n * (double)k;
}

static void count_send(void *x, const void *host, size_t bytes)
{
    (void)x, (void)host, (void)bytes;
    sends += !packs;
}

static void count_pack(int on)
{
    packs = on;
    sends += !on;
}

/* Takes the place of every kernel: a declaration without parameters fits all of them, whose arguments are passed as they are. */
static void nothing();
static void nothing() {}

/* The processor's backend with a device's sizes, whose kernels compute nothing. */
static Backend idle(void)
{
    const Backend *cpu;
    assert_int_equal(backend_find("cpu-f32", NULL, &cpu), 0);
    Backend b = *cpu;
    b.row_sizes = 2;
    b.gemm = count_gemm, b.linear = count_linear, b.send = count_send, b.pack = count_pack;
    b.fill = nothing, b.copy = nothing, b.clear = nothing, b.norm = nothing, b.norm_back = nothing;
    b.attention = nothing, b.attention_back = nothing, b.rotate = nothing, b.bias_drop = nothing;
    b.bias_drop_back = nothing, b.residual = nothing, b.bias_act = nothing;
    b.bias_act_back = nothing, b.lin = nothing, b.lin_back = nothing, b.gate = nothing;
    b.gate_back = nothing, b.embed = nothing, b.embed_back = nothing, b.cross_entropy = nothing;
    b.loss = nothing, b.norm2 = nothing, b.adam = nothing, b.put = nothing;
    return b;
}

static Backend counting(void)
{
    Backend b = idle();
    b.device = 1;
    b.record = count_record;
    b.recorded = count_recorded;
    b.replay = count_replay;
    b.recording_free = count_free;
    records = replays = freed = 0;
    return b;
}

static const AdamConfig adam = {.rate = 1e-3, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1};

/* Trains so many shapes in turns, `rounds` times. A shape is met once, then recorded, then replayed. */
static void rounds_of(const Backend *b, size_t shapes, size_t rounds)
{
    ModelConfig c = tiny_config();
    Batch batch = tiny_batch();
    OWN_MODEL *m;
    uint64_t step = 0;
    assert_int_equal(model_new(&c, tiny_residual(), b, 1, &m), 0);
    for (size_t k = 0; k < rounds; k++)
        for (size_t i = 0; i < shapes; i++) {
            StepPart part = {.parts = 1, .most = 1, .tokens = batch.N, .first = {i}};
            assert_int_equal(model_step_part(m, &batch, &part, &adam, ++step), 0);
        }
}

TEST(a_shape_is_recorded_when_it_comes_again)
{
    Backend b = counting();
    rounds_of(&b, 7, 5);
    assert_int_equal(records, 7);
    assert_int_equal(replays, 7 * 4);
    assert_int_equal(freed, 7);
}

/* With one shape more than there is room for, in turns, the next shape was always just forgotten. */
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

/* A training, and the rank that runs it. */
typedef struct {
    const char *name;
    int rank, size;
    size_t tails;
    const Asking *ask;
    int context;
    double least,
        least_here; /* share of the steps, for a corpus at the papers' size and for the text here */
} Case;

enum { WIDTH = 512 }; /* the papers' width, for the share of the ends */

/* Makes the model. The most frequent words are in the head, up to a tenth of them, in the tails up to two fifths, and
 * after. */
static Model *model_for(const Case *k, const Backend *b, const Vocab *v, size_t tokens, size_t T)
{
    ModelConfig config =
        TINY_WITH(c.vocab = v->size, c.width = WIDTH, c.max_tokens = tokens, c.max_length = T,
                  c.tails = k->tails, c.cut[0] = v->size / 10, c.cut[1] = v->size * 2 / 5,
                  c.factor = 4, c.masked = k->ask != NULL);
    Plan *plan = tiny_residual();
    Model *m;
    assert_int_equal(model_new(&config, k->ask ? tiny_encoder(plan) : plan, b, 1, &m), 0);
    return m;
}

/* Counts of a run of `train`: steps, replayed steps, operations of products in all that is not replayed. */
typedef struct {
    size_t steps, replayed;
    double flops;
} Asked;

/* Runs over a text. The backend computes nothing and counts the calls to a device. */
static Asked train(const Case *k, const Backend *b, const Text *text, const Vocab *vocab,
                   size_t tokens, size_t T, long epochs)
{
    Ranks ranks = {
        .rank = k->rank, .size = k->size, .begin = sum_nothing, .push = no_push, .wait = no_push};
    Asked a = {0};
    OWN_BATCHES *batches;
    Batch batch;
    OWN_MODEL *m = model_for(k, b, vocab, tokens, T);
    assert_int_equal(batches_new(text, NULL, vocab, k->ask, k->context, tokens, T, 1, &batches), 0);
    for (long e = 1; e <= epochs; e++) {
        batches_epoch(batches, e);
        for (size_t i = 0; i < batches_count(batches); i++) {
            size_t before = replays;
            StepPart part = {.parts = 1,
                             .most = 1,
                             .tokens = batches_asked(batches, i),
                             .ranks = k->size > 1 ? &ranks : NULL};
            assert_int_equal(evaluate_batch(part.ranks, batches, i, &batch, part.first), 0);
            sends = 0, flops = 0;
            assert_int_equal(model_step_part(m, &batch, &part, &adam, ++a.steps), 0);
            assert_int_equal(sends, 1);
            a.replayed += replays > before;
            a.flops += flops;
        }
    }
    return a;
}

static double share(const Asked *a)
{
    return (double)a->replayed / (double)a->steps;
}

static const Asking masked = {.what = ASK_MASKED};

static const Case cases[] = {
    {"plain", 0, 1, 0, NULL, CONTEXT_SENTENCE, 0.95, 0.95},
    {"plain", 0, 2, 0, NULL, CONTEXT_SENTENCE, 0.95, 0.9},
    {"plain", 1, 2, 0, NULL, CONTEXT_SENTENCE, 0.95, 0.9},
    {"adaptive", 0, 1, 2, NULL, CONTEXT_SENTENCE, 0.95, 0.6},
    {"adaptive, stream", 0, 1, 2, NULL, CONTEXT_STREAM, 0.95, 0.9},
    {"adaptive", 0, 2, 2, NULL, CONTEXT_SENTENCE, 0.95, 0.9},
    {"adaptive", 1, 2, 2, NULL, CONTEXT_SENTENCE, 0.95, 0.9},
    {"masked", 0, 1, 0, &masked, CONTEXT_SENTENCE, 0.95, 0.85},
    {"masked, stream", 0, 1, 0, &masked, CONTEXT_STREAM, 0.95, 0.9},
    {"masked", 1, 2, 0, &masked, CONTEXT_SENTENCE, 0.95, 0.9},
};

/* Runs a case once. */
static Asked run_of(const Case *k, const Corpus *c, const Backend *b, long epochs)
{
    return getenv("TROTTER_CORPUS") ? train(k, b, &c->text[0], &c->vocab, 4096, 128, epochs)
                                    : train(k, b, &c->text[1], &c->vocab, 512, 64, epochs);
}

/* Returns the cost of filling up: operations of all products of an epoch, over those without filling up. */
static double cost(const Case *k, const Corpus *c)
{
    Backend full = counting(), none = full;
    full.device = none.device = 0;
    none.row_sizes = 0;
    return run_of(k, c, &full, 1).flops / run_of(k, c, &none, 1).flops;
}

/* Most steps on sentences are replayed. TROTTER_CORPUS=DIR names a corpus to run at the size of the papers' recipe,
 * 4,096 tokens a step and 20 epochs. The text here makes few steps, so that fewer of them come again. Without filled-up
 * rows, hardly any come again where words are in clusters. */
TEST(most_steps_on_sentences_are_replayed)
{
    const char *dir = getenv("TROTTER_CORPUS");
    OWN_CORPUS corpus;
    assert_int_equal(corpus_choose(dir ? dir : "kjv", &(CorpusChoice){LEVEL_WORD, 60, 1}, &corpus),
                     0);
    assert_int_equal(masking_words(&corpus.vocab), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *k = &cases[i];
        Backend b = counting(), none = b;
        none.row_sizes = 0;
        Asked full = run_of(k, &corpus, &b, 20);
        double least = dir ? k->least : k->least_here, more = cost(k, &corpus);
        print_message("# %s, %s, rank %d of %d: %.4f of %zu steps are replayed, for %.2f %% more "
                      "operations\n",
                      corpus.name, k->name, k->rank, k->size, share(&full), full.steps,
                      100 * (more - 1));
        if (!(share(&full) >= least)) fail_msg("less than %g", least);
        assert_true(more >= 1 && more <= (dir ? 1.02 : 1.1));
        if (!k->tails) continue; /* a control */
        Asked as_they_are = run_of(k, &corpus, &none, 20);
        assert_true(share(&as_they_are) < 0.1);
    }
}

TEST_MAIN(NULL, NULL)
