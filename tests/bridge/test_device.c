/* test_device.c: whole models on a device against the processor: every scheme's logits and gradients with
 * the same masks, ten steps of training, recorded steps against steps call by call. It is skipped where
 * there is no device; tests/cuda runs it on a stand-in.
 *
 * Tolerances. Both add numbers of order 1 to 10 in chains of some 200 operations in f32: 200 eps times
 * a magnitude of 50, twice. Products of lower precision exceed that: some 8 in a row, each off by
 * eps of a magnitude of 10. A loss is a mean over rows of a chain that begins at 1: 1e-5 of it. */
#include "tests/lib/test.h"

#include "kernels/ranks.h"
#include "tests/lib/bridged.h"
#include "tests/lib/kernel_buffers.h"

enum { LAYERS = 3, STEPS = 10, MOST = 8 };

static const Backend *cpu, *device[MOST];
static size_t devices;
static Tables schemes; /* the last are decoders */
static Table *encoder;

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; tested_backend(i) && devices < MOST; i++) {
        const Backend *b;
        if (backend_find(tested_backend(i), NULL, &b) == 0 && b->device) device[devices++] = b;
    }
    if (backend_find("cpu-f32", NULL, &cpu) != 0 || bridged_open(WORDS_SCHEMES) != 0) return 1;
    encoder = euler_named("transformer");
    /* all kinds of instructions; every scheme where the device is quick */
    schemes =
        schemes_of(tested_prefix ? "euler,ab2,leapfrog,rk2-gate,rk2-scalar,dlcl,macaron,polynet,"
                                   "lm-resnet,looped:2,rk2-gate-decoder,macaron-decoder,"
                                   "transformer-decoder,x-words,x-words-decoder"
                                 : "all,word:ssfsff,looped:2,rk2-gate-decoder,ab2-decoder,"
                                   "macaron-decoder,transformer-decoder,x-words-decoder");
    return 0;
}

static int tear_down(void **state)
{
    tables_free(&schemes);
    table_free(encoder);
    return zoo_end(state);
}

/* Makes a scheme's model; every third scheme has RMS norms, SwiGLU, rotary positions and grouped heads, and every second of
 * these heads of another width, with norms. */
static Model *model_of(const Backend *b, const Table *t)
{
    size_t k = 0;
    while (schemes.table[k] != t) k++;
    Model *m;
    Plan *p = plan_of(t->colours > 2 ? encoder : NULL, t, options(0, LAYERS));
    ModelConfig c = k % 6 == 5 ? tiny_latest(p) : k % 3 == 2 ? tiny_today() : tiny_config();
    if (model_new(&c, p, b, 1, &m) != 0) fail_msg("%s: %s", t->name, error_text());
    tiny_shake(m, 3);
    return m;
}

/* Makes a scheme's model or, after all schemes, one of tiny_ends. */
static Model *model_at(const Backend *b, size_t k)
{
    if (k < schemes.count) return model_of(b, schemes.table[k]);
    const TinyEnds *e = &tiny_ends[k - schemes.count];
    ModelConfig c = tiny_ends_config(e);
    Model *m;
    if (model_new(&c, tiny_ends_plan(e), b, 1, &m) != 0) fail_msg("%s: %s", e->name, error_text());
    tiny_shake(m, 3);
    return m;
}

/* Returns number i of the models whose recordings are tried (model_at): every `step` schemes; SIZE_MAX past the
 * last. */
static size_t tried(size_t i, size_t step)
{
    size_t of_schemes = (schemes.count + step - 1) / step;
    if (i < of_schemes) return i * step;
    return tiny_ends[i - of_schemes].name ? schemes.count + i - of_schemes : SIZE_MAX;
}

static double rounding(const Backend *b)
{
    return b->eps > 0x1p-20 ? 80 * b->eps : 2e4 * 0x1p-24;
}

/* Returns the largest |x - y|, relative to 1 + the largest |y|. */
static double scaled_distance(const double *x, const double *y, size_t n)
{
    double size = 0;
    for (size_t i = 0; i < n; i++) size = fmax(size, fabs(y[i]));
    return distance(x, y, n) / (1 + size);
}

static double logit_distance(Model *m, Model *r)
{
    static double x[TINY_ROWS * TINY_VOCAB], y[TINY_ROWS * TINY_VOCAB];
    Batch batch = tiny_batch_of(m);
    assert_int_equal(model_logits(m, &batch, x), 0);
    assert_int_equal(model_logits(r, &batch, y), 0);
    return scaled_distance(x, y, TINY_ROWS * TINY_VOCAB);
}

/* Returns the distance of the gradients of two steps. Their masks are the same where the steps are. */
static double gradient_distance(Model *m, uint64_t step, Model *r, uint64_t other)
{
    Batch batch = tiny_batch_of(m);
    double mean[2];
    assert_int_equal(model_gradient(m, &batch, step, &mean[0]), 0);
    assert_int_equal(model_gradient(r, &batch, other, &mean[1]), 0);
    OWN_REALS *x = tiny_get(m, model_grad(m), 0, model_size(m));
    OWN_REALS *y = tiny_get(r, model_grad(r), 0, model_size(r));
    return fmax(scaled_distance(x, y, model_size(m)), scaled_distance(&mean[0], &mean[1], 1));
}

/* Every scheme agrees on the first backend. The others, which differ from it in their products alone, take every
 * tenth. */
TEST(every_scheme_agrees_with_the_processor)
{
    if (devices == 0) skip();
    for (size_t k = 0; k < schemes.count; k++) {
        OWN_MODEL *r = model_of(cpu, schemes.table[k]);
        for (size_t i = 0; i < (k % 10 ? 1 : devices); i++) {
            OWN_MODEL *m = model_of(device[i], schemes.table[k]);
            double tol = rounding(device[i]), z = logit_distance(m, r);
            double g = gradient_distance(m, 4, r, 4);
            if (!(z <= tol && g <= tol))
                fail_msg("%s, %s: logits differ by %g, gradients by %g", device[i]->name,
                         schemes.table[k]->name, z, g);
            if (k == 0 && tol < 0.01) /* other masks: a control */
                assert_true(gradient_distance(m, 4, r, 5) > 10 * tol);
        }
    }
}

/* ---- steps of training --------------------------------------------------------------------------- */

/* Trains by steps of so many batches each, as the first of two ranks where `ranks` is not NULL. Sets loss to the
 * sum of nll of each step. order: a batch of tiny_batch_as a step, at most STEPS; 'a' and 'c' have one shape. */
static void train(Model *m, const char *order, size_t parts, Ranks *ranks, double *loss)
{
    AdamConfig a = {.rate = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1};
    for (uint64_t step = 0; order[step]; step++) {
        Batch b = tiny_batch_as(m, order[step]);
        Step s;
        model_tally_set(m, 0, 0);
        for (size_t i = 0; i < parts; i++) {
            size_t asked = (ranks ? 2 : 1) * parts * batch_asked(&b);
            StepPart p = {i, parts, parts, asked, {0}, ranks};
            assert_int_equal(model_step_part(m, &b, &p, &a, step + 1), 0);
        }
        assert_int_equal(model_tally(m, &s), 0);
        assert_true(s.norm > 0 && s.fault == 0);
        loss[step] = s.loss;
    }
}

/* Returns a language model's scheme, or a decoder's. */
static const Table *first_or_last(int pair)
{
    return schemes.table[pair ? schemes.count - 1 : 0];
}

static const char ten[] = "aaaaaaaaaa", *const orders[] = {"aaaaaa", "aabbba", "ababab", "acbcca"};

static void ten_steps(const Table *t)
{
    OWN_MODEL *r = model_of(cpu, t);
    double want[STEPS], got[STEPS];
    train(r, ten, 1, NULL, want);
    for (size_t i = 0; i < devices; i++) {
        /* Rounding grows tenfold and more on the way. A pair has twice as many sublayers in a row, and bf16 takes
         * another path there. */
        int pair = t->colours > 2;
        if (pair && device[i]->eps > 1e-3) continue;
        OWN_MODEL *m = model_of(device[i], t);
        double tol = fmax(pair ? 1e-4 : 1e-5, (pair ? 8 : 4) * (device[i]->eps - 0x1p-24));
        train(m, ten, 1, NULL, got);
        for (int k = 0; k < STEPS; k++)
            if (!(fabs(got[k] / want[k] - 1) <= tol))
                fail_msg("%s: loss %.9g after step %d, not %.9g", device[i]->name, got[k], k + 1,
                         want[k]);
        assert_true(fabs(got[0] / want[STEPS - 1] - 1) > 0.01); /* it learns: a control */
    }
}

TEST(ten_steps_agree_with_the_processor)
{
    if (devices == 0) skip();
    for (int pair = 0; pair < 2; pair++) ten_steps(first_or_last(pair));
}

/* Calls of a run: r a replay, b a sum, w the wait. */
static const Backend *noted_device;
static char log_text[1 << 12];
static size_t log_size;

static void note(char what)
{
    if (log_size + 1 < sizeof log_text) log_text[log_size++] = what;
    log_text[log_size] = '\0';
}

static int noted_replay(Recording *r)
{
    note('r');
    return noted_device->replay(r);
}

/* Returns the device and notes its replays from now on. */
static Backend noted(const Backend *b)
{
    Backend n = *b;
    noted_device = b;
    n.replay = noted_replay;
    log_size = 0;
    return n;
}

/* Counts the steps of an order that can be replayed: a shape's first cannot. */
static size_t replayable(const char *order)
{
    int two = strchr(order, 'b') && strpbrk(order, "ac");
    return strlen(order) - (two ? 2 : 1);
}

/* Trains with recordings, whose calls stay in log_text, and without. Both have the same bits, whatever the order of
 * shapes. Recorded words differ from replayed ones: other numbers of them are in a cluster, or masked. Where ranks is
 * not NULL, both make the same sums in the same order. */
static void compare_recorded(const Backend *b, size_t k, const char *order, size_t parts,
                             Ranks *ranks)
{
    Backend plain = *b, on = noted(b);
    plain.device = 0; /* nothing is recorded */
    OWN_MODEL *m = model_at(&on, k), *r = model_at(&plain, k);
    double x[STEPS] = {0}, y[STEPS] = {0};
    char calls[sizeof log_text], sums[sizeof log_text];
    size_t n = 0;
    train(m, order, parts, ranks, x);
    strcpy(calls, log_text);
    for (char *c = calls; *c; c++)
        if (*c != 'r') sums[n++] = *c;
    sums[n] = '\0';
    log_size = 0, log_text[0] = '\0';
    train(r, order, parts, ranks, y);
    assert_string_equal(sums, log_text);
    assert_memory_equal(x, y, sizeof x);
    assert_true(tiny_same(m, model_data(m), r, model_data(r)));
    assert_true(tiny_same(m, model_moment(m, 1), r, model_moment(r, 1)));
    if (k == 0 && (parts > 1 || ranks)) { /* a control */
        train(r, order, parts, ranks, y);
        assert_memory_not_equal(x, y, sizeof x);
        assert_false(tiny_same(m, model_data(m), r, model_data(r)));
    }
    strcpy(log_text, calls);
    log_size = strlen(calls);
}

enum { ORDERS = sizeof orders / sizeof *orders };

/* Returns number i of the models tried on a device. One that differs from the first in its products alone has the
 * first of them. */
static size_t tried_on(const Backend *b, size_t i, size_t step)
{
    int alike = b != device[0] && b->attention == device[0]->attention;
    return alike && i > 0 ? SIZE_MAX : tried(i, step);
}

/* The first scheme is recorded in every order of shapes. All and the other ends are recorded in parts: each role of a
 * part has a recording, and a post-norm network has norms to record. */
TEST(recording_changes_no_bit)
{
    if (devices == 0) skip();
    for (size_t i = 0; i < devices; i++)
        for (size_t t = 0, k; (k = tried_on(device[i], t, schemes.count - 1)) != SIZE_MAX; t++) {
            for (size_t o = k == 0 && i == 0 ? 0 : ORDERS - 1; k < schemes.count && o < ORDERS;
                 o++) {
                compare_recorded(device[i], k, orders[o], 1, NULL);
                assert_int_equal(log_size, replayable(orders[o]));
            }
            compare_recorded(device[i], k, orders[(t + i) % ORDERS], t == 0 ? 3 : 2, NULL);
        }
}

/* Without filling up, other words make another shape, and fewer steps are replayed. */
TEST(rows_are_filled_up)
{
    if (devices == 0) skip();
    const char *order = orders[ORDERS - 1];
    for (int filled = 0; filled < 2; filled++)
        for (const TinyEnds *e = tiny_ends; e->name; e++) {
            Backend b = noted(device[0]);
            double loss[STEPS];
            if (!filled) b.row_sizes = 0;
            OWN_MODEL *m = model_at(&b, schemes.count + (size_t)(e - tiny_ends));
            train(m, order, 1, NULL, loss);
            int another = !filled && (e->adaptive || e->head.masked);
            assert_int_equal(log_size, replayable(order) - (size_t)another);
        }
}

/* ---- ranks --------------------------------------------------------------------------------------- */

/* Begins the sum with another rank whose gradient is always that of this one, so every sum is doubled. It reads and
 * writes where kernels do, which no recording may contain. */
static void double_begin(Ranks *r, void *x, size_t n, size_t element)
{
    SCOPED(memory_drop) double *own = memory_new(n, sizeof *own);
    assert_non_null(own);
    noted_device->get(own, x, n);
    for (size_t i = 0; i < n; i++) own[i] *= 2;
    noted_device->put(x, own, n);
    r->bytes += n * element;
    note('b');
}

static void double_push(Ranks *r)
{
    (void)r;
}

static void double_wait(Ranks *r)
{
    (void)r;
    note('w');
}

static void no_abandon(Ranks *r, int status)
{
    (void)r;
    fail_msg("status %d: %s", status, error_text());
}

/* The sums begin in their order, some of them while backward goes on, and the bits are those of calls. */
TEST(recorded_ranks_change_no_bit)
{
    if (devices == 0) skip();
    size_t within = 0, replays = 0;
    for (size_t i = 0; i < devices; i++)
        for (size_t t = 0, k; (k = tried_on(device[i], t, (schemes.count + 1) / 2)) != SIZE_MAX;
             t++) {
            Ranks r = {.size = 2,
                       .worth = 400,
                       .begin = double_begin,
                       .push = double_push,
                       .wait = double_wait,
                       .abandon = no_abandon};
            OWN_MODEL *m = model_at(device[i], k);
            size_t trainings = k == 0 ? 3 : 2;
            const char *order = orders[t % ORDERS];
            compare_recorded(device[i], k, order, 1 + k % 2, &r);
            assert_true(r.bytes == trainings * strlen(order) * sizeof(float) * model_size(m));
            for (char *c = log_text; *c; c++) {
                replays += *c == 'r';
                within += *c == 'b' && c[1] == 'r';
            }
        }
    assert_true(replays > 0 && within > 0);
}

/* Lists may be longer than one launch takes: 40 terms, 70 inputs of a gate. */
TEST(long_lists)
{
    if (devices == 0) skip();
    enum { N = 600, TERMS = 40, INPUTS = 70 };
    for (size_t i = 0; i < devices; i++) {
        const Backend *b = device[i];
        double x[N * D], r[N * D], g[N], w[INPUTS * D];
        for (int k = 0; k < N * D; k++) x[k] = sin(k);
        for (int k = 0; k < INPUTS * D; k++) w[k] = 0.01 * cos(k);
        SCOPE;
        void *dx = plain_new(b, N * D), *dr = plain_new(b, N * D), *dw = plain_new(b, INPUTS * D);
        void *dg = plain_new(b, N), *zero = plain_new(b, 1);
        b->put(dx, x, N * D);
        b->put(dw, w, INPUTS * D);
        LinTerm term[TERMS] = {{0}};
        const void *list[INPUTS];
        for (int k = 0; k < TERMS; k++) term[k] = (LinTerm){k + 1, dx, NULL, 0, {{0}}};
        for (int k = 0; k < INPUTS; k++) list[k] = dx;
        b->lin(N, D, TERMS, term, dr);
        b->gate(N, D, INPUTS, list, dw, zero, ACT_TANH, dg);
        b->get(r, dr, N * D);
        b->get(g, dg, N);
        for (int k = 0; k < N; k++) {
            double z = 0, *row = x + k * D;
            for (int c = 0; c < D; c++) {
                assert_true(fabs(r[k * D + c] - 820 * row[c]) <= 820 * TERMS * 0x1p-23);
                for (int l = 0; l < INPUTS; l++) z += w[l * D + c] * row[c];
            }
            assert_true(fabs(g[k] - tanh(z)) <= (INPUTS + 8) * 0x1p-23);
        }
        assert_int_equal(b->wait(), 0);
    }
}

/* Gradients of embeddings are exact for words of two and of four digits of the sort by token, some of them in more rows
 * than a block of the device adds at a time. A run that began elsewhere, or a row in another's place, would be off by
 * far more. */
TEST(embedding_of_many_words)
{
    if (devices == 0) skip();
    enum { N = 700, MOST_WORDS = 5000 };
    static const size_t words[] = {40, MOST_WORDS};
    for (size_t i = 0; i < devices; i++)
        for (size_t k = 0; k < 2; k++) {
            SCOPE;
            const Backend *b = device[i];
            static double dE[MOST_WORDS * D], got[MOST_WORDS * D], x[N * D];
            int32_t token[N], *dt = plain_new(b, N);
            void *dx = plain_new(b, N * D), *de = plain_new(b, words[k] * D);
            size_t last = words[k] - 1;
            memset(dE, 0, sizeof dE);
            for (int r = 0; r < N; r++) {
                token[r] = (int32_t)(r % 3 ? last - (size_t)(r % 5) : (size_t)r * 7919 % words[k]);
                for (int c = 0; c < D; c++) {
                    x[r * D + c] = (double)(r % 64) / 64 + c;
                    dE[token[r] * D + c] += 2 * x[r * D + c];
                }
            }
            b->put(dx, x, N * D);
            b->send(dt, token, sizeof token);
            b->embed_back(N, D, words[k], dt, 2, (Dropout){0}, dx, de);
            b->get(got, de, words[k] * D);
            /* all numbers are multiples of 1/32 below 2^13: sums are exact */
            assert_memory_equal(got, dE, words[k] * D * sizeof *got);
            assert_int_equal(b->wait(), 0);
        }
}

/* Transfers may be larger than the buffer that carries them, with numbers of every size class. */
TEST(large_transfers)
{
    if (devices == 0) skip();
    enum { N = 3000000 };
    SCOPED(memory_drop) double *x = memory_new(N, sizeof *x), *y = memory_new(N, sizeof *y);
    assert_true(x && y);
    for (size_t k = 0; k < N; k++) x[k] = (double)(k % 16777213);
    for (size_t i = 0; i < devices; i++) {
        const Backend *b = device[i];
        void *d = b->alloc(2 * N);
        b->put(d, x, N);
        b->get(y, d, N);
        assert_memory_equal(x, y, N * sizeof *x);
        b->send(d, x, N * sizeof *x);
        memset(y, 0, N * sizeof *y);
        b->receive(y, d, N * sizeof *y);
        assert_memory_equal(x, y, N * sizeof *x);
        assert_int_equal(b->wait(), 0);
        b->release(d);
    }
}

/* Packed transfers may have more pieces than one copy has, odd ones, and some larger than the buffer that carries
 * them. */
TEST(packed_transfers)
{
    if (devices == 0) skip();
    enum { N = 1 << 20, PIECES_SENT = 40 };
    SCOPED(memory_drop) unsigned char *x = memory_new(N, 1), *y = memory_new(N, 1);
    assert_true(x && y);
    for (size_t k = 0; k < N; k++) x[k] = (unsigned char)(k * 7 + k / 251);
    for (size_t i = 0; i < devices; i++) {
        const Backend *b = device[i];
        static const size_t whole[] = {1000, N / 32, N / 33};
        for (size_t k = 0; k < sizeof whole / sizeof *whole; k++) {
            char *d = b->alloc(N / 4 + 8);
            b->pack(1);
            size_t at = 0;
            for (size_t n = 0; n < PIECES_SENT && at + whole[k] <= N; n++, at += whole[k])
                b->send(d + at, x + at, whole[k]);
            b->pack(0);
            b->receive(y, d, at);
            assert_memory_equal(x, y, at);
            assert_int_equal(b->wait(), 0);
            b->release(d);
        }
    }
}

/* What is larger than the buffer, or no multiple of four bytes, goes between pieces that wait, and overwrites none. */
TEST(large_pieces_among_packed_ones)
{
    if (devices == 0) skip();
    enum { SMALL = 4000, LARGE = 6 << 20, ODD = 1001 };
    static const size_t bytes[] = {SMALL, LARGE, SMALL, ODD, SMALL, LARGE + 1, SMALL};
    SCOPED(memory_drop)
    unsigned char *x = memory_new(LARGE + SMALL, 1), *y = memory_new(LARGE + 1, 1);
    assert_true(x && y);
    for (size_t k = 0; k < LARGE + SMALL; k++) x[k] = (unsigned char)(k * 7 + k / 251);
    for (size_t i = 0; i < devices; i++) {
        const Backend *b = device[i];
        void *d[sizeof bytes / sizeof *bytes];
        for (size_t k = 0; k < sizeof bytes / sizeof *bytes; k++) d[k] = b->alloc(bytes[k] / 4 + 1);
        b->pack(1);
        for (size_t k = 0; k < sizeof bytes / sizeof *bytes; k++) b->send(d[k], x + k, bytes[k]);
        b->pack(0);
        for (size_t k = 0; k < sizeof bytes / sizeof *bytes; k++) {
            b->receive(y, d[k], bytes[k]);
            if (memcmp(y, x + k, bytes[k]) != 0) fail_msg("%s: piece %zu is another", b->name, k);
            b->release(d[k]);
        }
        assert_int_equal(b->wait(), 0);
    }
}

/* ---- shapes that tiny models do not have ------------------------------------------------------------- */

/* Heads that tensor cores have kernels for, of a multiple of 16 up to 128, and others; words no multiple of 8, or one. */
static const struct {
    size_t D, H, kv, vocab;
    int positions, act;
} wide_shapes[] = {
    {32, 2, 0, 11, POSITIONS_SINUSOID, ACT_GELU},  {32, 2, 1, 11, POSITIONS_ROTARY, ACT_SWIGLU},
    {64, 2, 0, 16, POSITIONS_LEARNED, ACT_RELU},   {96, 2, 0, 13, POSITIONS_ROTARY, ACT_RELU},
    {128, 2, 1, 11, POSITIONS_ROTARY, ACT_SWIGLU}, {128, 1, 0, 24, POSITIONS_SINUSOID, ACT_GELU},
    {224, 2, 0, 11, POSITIONS_SINUSOID, ACT_GELU}, {40, 2, 0, 11, POSITIONS_SINUSOID, ACT_GELU},
    {32, 2, 0, 11, POSITIONS_RELATIVE, ACT_GELU},
};
enum { WIDE_SHAPES = sizeof wide_shapes / sizeof *wide_shapes };

static Model *wide_model(const Backend *b, size_t k, size_t tokens)
{
    ModelConfig c = tiny_config();
    Model *m;
    c.width = wide_shapes[k].D, c.heads = wide_shapes[k].H, c.kv_heads = wide_shapes[k].kv;
    c.vocab = wide_shapes[k].vocab, c.positions = wide_shapes[k].positions;
    c.act = wide_shapes[k].act;
    c.max_tokens = tokens;
    if (!(c.positions & POSITIONS_RELATIVE)) c.clip = 0;
    if (model_new(&c, tiny_residual(), b, 1, &m) != 0) fail_msg("%zu: %s", k, error_text());
    return m;
}

/* Returns the relative distance of two models' gradients; those of their losses is in *loss. */
static double gradients_apart(Model *m, Model *r, const Batch *batch, uint64_t step, double *loss)
{
    double mean[2];
    assert_int_equal(model_gradient(m, batch, step, &mean[0]), 0);
    assert_int_equal(model_gradient(r, batch, 4, &mean[1]), 0);
    OWN_REALS *x = tiny_get(m, model_grad(m), 0, model_size(m));
    OWN_REALS *y = tiny_get(r, model_grad(r), 0, model_size(r));
    *loss = fabs(mean[0] / mean[1] - 1);
    return norm_distance(x, y, model_size(m));
}

/* Some ten products stand in a row, each off by eps of what it adds up; of f32, sums in another order. */
static double some_products(const Backend *b)
{
    return fmax(10 * b->eps, 1e-5);
}

TEST(wide_heads_agree_with_the_processor)
{
    if (devices == 0) skip();
    Batch batch = tiny_batch();
    for (size_t k = 0; k < WIDE_SHAPES; k++) {
        OWN_MODEL *r = wide_model(cpu, k, TINY_ROWS);
        double weight[2][TINY_HEADS * 25], loss;
        const size_t most = wide_shapes[k].H * 25;
        assert_int_equal(model_attention(r, 5, batch.input, weight[1]), 0);
        for (size_t i = 0; i < devices; i++) {
            OWN_MODEL *m = wide_model(device[i], k, TINY_ROWS);
            double tol = some_products(device[i]), g = gradients_apart(m, r, &batch, 4, &loss);
            if (!(g <= tol && loss <= tol))
                fail_msg("%s, shape %zu: gradients differ by %g, losses by %g", device[i]->name, k,
                         g, loss);
            assert_true(gradients_apart(m, r, &batch, 5, &loss) >
                        2 * tol); /* other masks: a control */
            assert_int_equal(model_attention(m, 5, batch.input, weight[0]), 0);
            if (!(norm_distance(weight[0], weight[1], most) <= tol))
                fail_msg("%s, shape %zu: attention differs", device[i]->name, k);
        }
    }
}

/* Trains with the second branch and without. */
TEST(a_second_branch_changes_no_bit)
{
    if (devices == 0) skip();
    for (size_t i = 0; i < devices; i++) {
        Backend one = *device[i];
        one.branches = 0, one.aside = NULL, one.meet = NULL;
        backend_complete(&one);
        for (size_t k = 0; k < WIDE_SHAPES; k += WIDE_SHAPES - 1) {
            OWN_MODEL *m = wide_model(device[i], k, TINY_ROWS), *r = wide_model(&one, k, TINY_ROWS);
            double x[STEPS] = {0}, y[STEPS] = {0};
            train(m, "aaaa", 1, NULL, x);
            train(r, "aaaa", 1, NULL, y);
            assert_memory_equal(x, y, sizeof x);
            assert_true(tiny_same(m, model_data(m), r, model_data(r)));
        }
    }
}

/* Trains with kernels launched early behind others and without. The environment is read where a backend is found. */
TEST(early_launches_change_no_bit)
{
    if (devices == 0) skip();
    for (size_t i = 0; i < devices; i++)
        for (size_t k = 0; k < WIDE_SHAPES; k += WIDE_SHAPES - 1) {
            double loss[2][STEPS] = {{0}};
            Model *m[2];
            for (int late = 0; late < 2; late++) {
                const Backend *b;
                if (late) setenv("TROTTER_CUDA_LATE", "1", 1);
                assert_int_equal(backend_find(device[i]->name, NULL, &b), 0);
                m[late] = wide_model(b, k, TINY_ROWS);
                train(m[late], "aaaa", 1, NULL, loss[late]);
            }
            unsetenv("TROTTER_CUDA_LATE");
            assert_memory_equal(loss[0], loss[1], sizeof loss[0]);
            assert_true(tiny_same(m[0], model_data(m[0]), m[1], model_data(m[1])));
            model_free(m[0]), model_free(m[1]);
            assert_int_equal(backend_find(device[i]->name, NULL, &device[i]), 0);
        }
}

/* More rows than 2^15, in short sequences. */
TEST(many_rows_agree_with_the_processor)
{
    if (devices == 0) skip();
    enum { ROWS = (1 << 15) + 13 };
    SCOPED(memory_drop) int32_t *token = memory_new(3 * ROWS, sizeof *token);
    SCOPED(memory_drop) size_t *start = memory_new(ROWS / 7 + 2, sizeof *start);
    assert_true(token && start);
    Batch batch = {.N = ROWS,
                   .longest = 7,
                   .input = token,
                   .target = token + ROWS,
                   .position = token + 2 * ROWS,
                   .start = start};
    for (size_t i = 0; i < ROWS; i++) {
        if (i % 7 == 0) start[batch.S++] = i;
        token[i] = (int32_t)(i * 7919 % 1021 % 11);
        token[2 * ROWS + i] = (int32_t)(i % 7);
    }
    for (size_t i = 0; i < ROWS; i++) token[ROWS + i] = token[(i + 1) % ROWS];
    start[batch.S] = ROWS;
    OWN_MODEL *r = wide_model(cpu, 0, ROWS);
    for (size_t i = 0; i < devices; i++) {
        double loss;
        if (i > 0 && device[i]->factor_size == device[i]->size)
            continue; /* it differs from the first in its products alone */
        OWN_MODEL *m = wide_model(device[i], 0, ROWS);
        double tol = some_products(device[i]), g = gradients_apart(m, r, &batch, 4, &loss);
        if (!(g <= tol && loss <= tol))
            fail_msg("%s: gradients differ by %g, losses by %g", device[i]->name, g, loss);
    }
}

TEST(nothing_leaks)
{
    size_t before = memory_live();
    for (size_t i = 0; i < devices; i++) {
        double loss[STEPS];
        Model *m = model_of(device[i], schemes.table[0]);
        train(m, orders[1], 1, NULL, loss);
        assert_true(memory_live() > before);
        model_free(m);
        assert_int_equal(memory_live(), before);
    }
    if (devices == 0) skip();
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(set_up, tear_down)
