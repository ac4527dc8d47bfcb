/* test_plain_schemes.c: every scheme as a network, computed by the engine and by the whole model in one file. */
#include "tests/lib/test.h"

#include "tests/lib/bridged.h"
#include "tests/lib/plain_model.h"

static int setup(void **state)
{
    (void)state;
    return bridged_open(MORE_SCHEMES WORDS_SCHEMES);
}

/* Layers enough for the longest history. */
enum { LAYERS = 3, ABOVE = 2 };

static ModelConfig config_of(const Plan *p)
{
    ModelConfig c = tiny_config();
    c.dropout = 0;
    if (p->sides > 1) c.max_source = c.max_source_length = TINY_SOURCE;
    return c;
}

static void check_with(const Table *encoder, const Table *scheme, int positions)
{
    Plan *p = plan_of(encoder, scheme, options(ABOVE, LAYERS));
    ModelConfig c = config_of(p);
    if (positions) c.positions = positions;
    OWN_MODEL *m = shaken(p, c, .3, 1, 1);
    Batch x = tiny_batch_of(m);
    plain_agrees(m, &x, scheme->name, 0);
}

static void check(const Table *encoder, const Table *scheme)
{
    check_with(encoder, scheme, 0);
}

TEST(every_scheme)
{
    OWN_TABLES list =
        schemes_of("all,word:ssfsff,sandwich:3-1,looped:2,dial:2-1/2,x-first,x-learned,x-carry");
    assert_true(list.count > 40);
    for (size_t i = 0; i < list.count; i++) check(NULL, list.table[i]);
}

TEST(every_decoder)
{
    OWN_TABLES list = schemes_of(MANY_DECODERS);
    OWN_TABLE *encoder = euler_named("rk2-gate");
    for (size_t i = 0; i < list.count; i++) check(encoder, list.table[i]);
    OWN_TABLE *words = euler_named("x-words"), *both = euler_named("x-words-decoder");
    check(words, both);
    check_with(words, both, POSITIONS_LEARNED);
    check_with(NULL, words, POSITIONS_LEARNED);
}

TEST_MAIN(setup, zoo_end)
