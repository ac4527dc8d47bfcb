/* test_decode_plans.c: every scheme of the zoo a token at a time. Logits with caches are those of a whole pass, for
 * language models and for decoders, pre- and post-norm, on every backend. Controls, on one: a cache for each slot, a row at
 * a wrong place. */
#include "tests/lib/test.h"

#include "tests/lib/backends.h"
#include "tests/lib/bridged.h"
#include "tests/lib/decoded.h"

enum { MOST = 8, LAYERS = 3 };

static Tables alone, decoders, encoders;
static size_t backends;
static const Backend *backend[MOST];

/* Opens backends and schemes; only a few schemes on the stand-in for a device, which is slow. */
static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; tested_backend(i) && backends < MOST; i++)
        if (!is_alike(tested_backend(i)) &&
            backend_find(tested_backend(i), NULL, &backend[backends++]) != 0)
            return 1;
    if (bridged_open(MORE_SCHEMES WORDS_SCHEMES) != 0) return 1;
    alone = schemes_of(
        tested_prefix ? "heun,ab2,rk2-gate,x-words"
                      : "all,word:ssfsff,looped:2,repeat:2,strang-marchuk:rk4,x-first,x-carry");
    decoders =
        schemes_of(tested_prefix ? "heun-decoder,ab2-decoder,x-cross,strang-decoder,x-words-decoder"
                                 : MANY_DECODERS);
    encoders = schemes_of("transformer,rk2-gate,ab2-layer,dlcl");
    return 0;
}

static int teardown(void **state)
{
    tables_free(&alone);
    tables_free(&decoders);
    tables_free(&encoders);
    return zoo_end(state);
}

/* Makes a model; e NULL: a language model. */
static Model *model_on(const Backend *b, const Table *e, const Table *d, int norm)
{
    BridgeOptions o = options(2, LAYERS);
    ModelConfig c = tiny_config();
    Model *m;
    o.inner = TINY_INNER;
    o.norm = norm;
    if (model_new(&c, plan_of(e, d, o), b, 0, &m) != 0) fail_msg("%s: %s", d->name, error_text());
    tiny_shake(m, 3);
    return m;
}

static void check(const Backend *b, const Table *e, const Table *d, int norm)
{
    OWN_MODEL *m = model_on(b, e, d, norm);
    Batch x = tiny_batch_of(m);
    double far = decoded_distance(m, &x, NULL);
    if (!(far <= decoded_limit(b)))
        fail_msg("%s: %s, %s: %g", b->name, e ? e->name : "alone", d->name, far);
}

TEST(language_models)
{
    for (size_t i = 0; i < backends; i++)
        for (size_t k = 0; k < alone.count; k++) check(backend[i], NULL, alone.table[k], NORM_PRE);
}

TEST(decoders_of_the_zoo)
{
    assert_true(tested_prefix || decoders.count > 50);
    for (size_t i = 0; i < backends; i++)
        for (size_t k = 0; k < decoders.count; k++)
            check(backend[i], encoders.table[k % encoders.count], decoders.table[k], NORM_PRE);
}

TEST(post_norm)
{
    static const char *const name[] = {"transformer", "macaron", "word:ssff"};
    for (size_t i = 0; i < backends; i++)
        for (size_t k = 0; k < sizeof name / sizeof *name; k++) {
            OWN_TABLE *t = euler_named(name[k]), *d = NULL;
            assert_int_equal(zoo_find_decoder(&zoo, name[k], "euler", &d), 0);
            check(backend[i], NULL, t, NORM_POST);
            check(backend[i], t, d, NORM_POST);
        }
}

/* ---- controls ------------------------------------------------------------------------------------- */

/* Puts the EVALs of one slot into one cache. */
static void by_slot(Decoding *d, size_t t)
{
    const Plan *p = d->m->plan;
    (void)t;
    for (size_t i = 0; i < p->instrs; i++)
        for (size_t k = 0; k < i; k++)
            if (d->cache_of[i] >= 0 && d->cache_of[k] >= 0 && p->instr[i].slot == p->instr[k].slot)
                d->cache_of[i] = d->cache_of[k];
}

/* Exchanges the rows of two old tokens. */
static void exchanged(Decoding *d, size_t t)
{
    if (t != 2) return; /* beyond two, relative positions see one distance */
    int32_t *list = d->list[0], first = list[0];
    list[0] = list[1];
    list[1] = first;
}

/* Takes the second row from another hypothesis. */
static void other_row(Decoding *d, size_t t)
{
    if (t == 2) d->list[0][1] = d->list[0][d->ld[0] + 1];
}

/* Forgets the oldest token: a place is missing, and positions are one too low. */
static void shorter(Decoding *d, size_t t)
{
    if (t != 3) return;
    memmove(d->list[0], d->list[0] + 1, 2 * sizeof **d->list);
    d->count[0][0]--;
}

/* Tells whether more than one EVAL has a slot of the target's self-attention. One cache for each slot is wrong in such
 * schemes and right in others. */
static int stages(const Model *m)
{
    const Plan *p = model_plan(m);
    int most = 0;
    for (size_t s = 0; s < p->slots; s++) {
        int evals = 0;
        for (size_t i = 0; i < p->instrs; i++)
            evals += p->instr[i].op == PLAN_EVAL && p->instr[i].slot == (int)s;
        if (p->slot[s].kind == SLOT_ATTENTION && p->slot[s].side == SIDE_TARGET && evals > most)
            most = evals;
    }
    return most > 1;
}

TEST(a_cache_for_each_slot_is_wrong)
{
    static const char *const name[] = {"heun", "rk4-layer", "euler", "transformer", "looped:2"};
    size_t several = 0;
    for (size_t k = 0; k < 2 * sizeof name / sizeof *name; k++) {
        OWN_TABLE *d = NULL;
        int pair = k % 2;
        assert_int_equal((pair ? zoo_find_decoder : zoo_find)(&zoo, name[k / 2], "euler", &d), 0);
        OWN_MODEL *m = model_on(backend[0], pair ? encoders.table[0] : NULL, d, NORM_PRE);
        Batch x = tiny_batch_of(m);
        double far = decoded_distance(m, &x, by_slot);
        if (stages(m) ? !(far > 1e-2) : !(far <= decoded_limit(backend[0])))
            fail_msg("%s: %g", d->name, far);
        several += (size_t)stages(m);
    }
    assert_int_equal(several, 3 * 2);
}

TEST(wrong_rows_are_seen)
{
    void (*const wrong[])(Decoding *, size_t) = {exchanged, other_row, shorter};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        for (int pair = 0; pair < 2; pair++) {
            OWN_MODEL *m = model_on(backend[0], pair ? encoders.table[0] : NULL,
                                    pair ? decoders.table[0] : alone.table[0], NORM_PRE);
            Batch x = tiny_batch_of(m);
            assert_true(decoded_distance(m, &x, NULL) <= decoded_limit(backend[0]));
            double far = decoded_distance(m, &x, wrong[k]);
            if (!(far > 1e-3)) fail_msg("mistake %zu: %g", k, far);
        }
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(setup, teardown)
