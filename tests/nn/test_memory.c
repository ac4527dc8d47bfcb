/* test_memory.c: the memory of a model: placement by lives, the counted bytes, and what recomputing saves. */
#include "tests/lib/test.h"

#include "bridge/bridge.h"
#include "kernels/base/random.h"
#include "nn/model/arena.h"
#include "tests/lib/schemes.h"
#include "tests/lib/tiny.h"

enum { T = 64, V = 8000 };

typedef struct {
    size_t width, tokens;
    int training, recompute;
} Size;

static Model *model_of(const char *scheme, Size s)
{
    OWN_TABLE *t = built_in(scheme, "euler");
    Plan *p;
    Model *m;
    const Backend *b;
    BridgeOptions o = {.layers = 1, .width = s.width, .inner = 4 * s.width, .match = MATCH_NONE};
    ModelConfig c = {.vocab = V,
                     .width = s.width,
                     .heads = 4,
                     .positions = POSITIONS_SINUSOID,
                     .clip = 8,
                     .dropout = 0.1,
                     .max_tokens = s.tokens,
                     .max_length = T,
                     .recompute = s.recompute};
    assert_int_equal(bridge_plan(t, &o, &p), 0);
    assert_int_equal(backend_find("cpu-f32", NULL, &b), 0);
    assert_int_equal(model_new(&c, p, b, s.training, &m), 0);
    return m;
}

static const Backend *real;
static size_t allocated; /* bytes */

static void *count_alloc(size_t n)
{
    allocated += n * real->size;
    return real->alloc(n);
}

/* A model allocates the bytes that are counted, to a hundredth; without recomputing, and for evaluation alone. */
TEST(counted_is_allocated)
{
    assert_int_equal(backend_find("cpu-f32", NULL, &real), 0);
    for (int k = 0; k < 3; k++) {
        Backend b = *real;
        ModelConfig config = TINY_WITH(c.vocab = V, c.width = 64, c.max_tokens = 512,
                                       c.max_length = T, c.recompute = k == 1);
        OWN_MODEL *m;
        b.alloc = count_alloc;
        allocated = 0;
        assert_int_equal(model_new(&config, tiny_residual(), &b, k < 2, &m), 0);
        assert_in_range(model_bytes(m), allocated - allocated / 100, allocated + allocated / 100);
    }
}

TEST(kinds_make_the_sum)
{
    for (int training = 0; training < 2; training++) {
        OWN_MODEL *m = model_of("heun-layer", (Size){64, 512, training, 0});
        size_t sum = 0, params = model_size(m) * model_backend(m)->size;
        for (int k = 0; k < MEMORY_KINDS; k++) sum += model_memory(m, k);
        assert_int_equal(sum, model_bytes(m));
        assert_int_equal(model_memory(m, MEMORY_PARAMETERS), params);
        assert_int_equal(model_memory(m, MEMORY_GRADIENTS), training ? params : 0);
        assert_int_equal(model_memory(m, MEMORY_MOMENTS), training ? 2 * params : 0);
        assert_int_equal(model_memory(m, MEMORY_ADJOINTS) > 0, training);
    }
}

static size_t arena_bytes(const char *scheme, Size s)
{
    OWN_MODEL *m = model_of(scheme, s);
    return model_memory(m, MEMORY_ACTIVATIONS) + model_memory(m, MEMORY_ADJOINTS) +
           model_memory(m, MEMORY_WORKSPACE);
}

/* Recomputing makes stages cheap in everything except parameters, gradients and moments: four stages
 * against one, both recomputed, with the logits' block and with less of it. */
TEST(recomputing_makes_stages_cheap)
{
    for (size_t width = 128; width <= 256; width *= 2) {
        size_t one = arena_bytes("transformer", (Size){width, 2048, 1, 1});
        size_t four = arena_bytes("rk4-layer", (Size){width, 2048, 1, 1});
        size_t kept = arena_bytes("rk4-layer", (Size){width, 2048, 1, 0});
        assert_true((double)four <= 1.5 * (double)one);
        assert_true(kept > 2 * four);
    }
}

/* ---- placement ------------------------------------------------------------------------------------- */

enum { PIECES = 60, KINDS = 3 };

static void draw_pieces(uint64_t seed, Piece *p)
{
    for (size_t i = 0; i < PIECES; i++) {
        int begin = (int)random_below(seed, 1, i, 40);
        p[i] = (Piece){.size = random_below(seed, 2, i, 9),
                       .begin = begin,
                       .end = begin + (int)random_below(seed, 3, i, 12),
                       .kind = (int)random_below(seed, 4, i, KINDS)};
    }
}

static int collide(const Piece *p)
{
    for (size_t i = 0; i < PIECES; i++)
        for (size_t j = 0; j < i; j++)
            if (p[i].begin <= p[j].end && p[j].begin <= p[i].end &&
                p[i].offset < p[j].offset + p[j].size && p[j].offset < p[i].offset + p[i].size)
                return 1;
    return 0;
}

static size_t most_alive(const Piece *p)
{
    size_t most = 0;
    for (int t = 0; t < 60; t++) {
        size_t sum = 0;
        for (size_t i = 0; i < PIECES; i++) sum += p[i].begin <= t && t <= p[i].end ? p[i].size : 0;
        most = sum > most ? sum : most;
    }
    return most;
}

TEST(pieces_alive_together_lie_apart)
{
    Piece p[PIECES];
    for (uint64_t seed = 0; seed < 50; seed++) {
        size_t by_kind[KINDS], sum = 0;
        draw_pieces(seed, p);
        size_t whole = arena_place(PIECES, p), peak = arena_peak(PIECES, p, KINDS, by_kind);
        assert_false(collide(p));
        assert_int_equal(peak, most_alive(p));
        assert_true(whole >= peak && whole <= peak + peak / 2);
        for (int k = 0; k < KINDS; k++) sum += by_kind[k];
        assert_int_equal(sum, peak);
        for (size_t i = 0; i < PIECES; i++) assert_true(p[i].offset + p[i].size <= whole);
        for (size_t i = 0; i < PIECES; i++) p[i].offset /= 2; /* the check sees a bad placement */
        assert_true(collide(p));
    }
}

/* ---- lines summed ahead of time -------------------------------------------------------------------- */

static size_t longest_line(const Plan *p)
{
    size_t most = 0;
    for (size_t i = 0; i < p->instrs; i++)
        most = p->instr[i].terms > most ? p->instr[i].terms : most;
    return most;
}

/* A folded plan computes the same. */
TEST(folding_shortens_lines)
{
    for (const TinyPlan *t = tiny_all; t->name; t++) {
        OWN_PLAN *p = t->build(), *q;
        int same;
        assert_int_equal(plan_fold(p, &q), 0);
        assert_int_equal(plan_same(p, q, &same), 0);
        assert_true(same);
        assert_int_equal(plan_evals(q, SLOT_ATTENTION), plan_evals(p, SLOT_ATTENTION));
        assert_int_equal(plan_evals(q, SLOT_FEEDFORWARD), plan_evals(p, SLOT_FEEDFORWARD));
        assert_int_equal(plan_evals(q, SLOT_CROSS), plan_evals(p, SLOT_CROSS));
        assert_true(longest_line(q) <= longest_line(p));
    }
    OWN_MODEL *m = model_of("rk4-layer", (Size){64, 64, 0, 0});
    assert_true(longest_line(model_plan(m)) <= 4); /* y, the sum, two slopes; unfolded: 9 */
}

TEST_MAIN(NULL, NULL)
