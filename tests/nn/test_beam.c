/* test_beam.c: beam search against a second search without caches, several sentences at a time; lengths, repeats and
 * refusals. The second search (tests/nn/slow_beam.h) also makes mistakes that others
 * made, and the tests must see them. */
#include "tests/lib/test.h"

#include "kernels/base/random.h"
#include "tests/lib/scratch.h"
#include "tests/nn/slow_beam.h"

/* ---- models, sources --------------------------------------------------------------------------------- */

static Model *random_model(const Backend *b, const TinyPlan *p, size_t vocab, size_t rows,
                           uint64_t seed)
{
    ModelConfig config =
        TINY_WITH(c.vocab = vocab, c.max_tokens = rows > LONGEST + 1 ? rows : LONGEST + 1,
                  c.max_length = LONGEST + 1, c.max_source = SOURCES * SOURCE_LONGEST,
                  c.max_source_length = SOURCE_LONGEST);
    Model *m;
    assert_int_equal(model_new(&config, p->build(), b, 0, &m), 0);
    tiny_shake(m, seed);
    return m;
}

/* Sources of 0 .. SOURCE_LONGEST - 1 random words and <eos>. */
typedef struct {
    int32_t word[SOURCES * SOURCE_LONGEST], place[SOURCES * SOURCE_LONGEST];
    size_t start[SOURCES + 1], begins[SOURCES + 1];
} Sources;

/* Makes sentences from .. end-1 of the text of a seed. */
static Batch sources(Sources *k, size_t vocab, uint64_t seed, size_t from, size_t end)
{
    Batch x = {.S = end - from, .start = k->begins};
    size_t n = 0;
    memset(k->begins, 0, sizeof k->begins);
    k->start[0] = 0;
    for (size_t s = from; s < end; s++) {
        size_t words = random_below(seed, 1, s, SOURCE_LONGEST);
        for (size_t i = 0; i <= words; i++, n++) {
            k->word[n] = i == words ? EOS : (int32_t)(1 + random_below(seed, 2 + s, i, vocab - 1));
            k->place[n] = (int32_t)i;
        }
        k->start[s - from + 1] = n;
    }
    x.source.N = n;
    x.source.longest = SOURCE_LONGEST;
    x.source.input = k->word;
    x.source.position = k->place;
    x.source.start = k->start;
    return x;
}

static BeamConfig search_of(size_t beam, size_t longest, size_t most_sentences)
{
    return (BeamConfig){.beam = beam,
                        .nbest = beam,
                        .max_length = longest,
                        .eos = EOS,
                        .sentences = most_sentences};
}

/* ---- results ------------------------------------------------------------------------------------------ */

static int keep(void *arg, size_t sentence, size_t count, const Hypothesis *best)
{
    Outputs *o = (Outputs *)arg + sentence;
    o->times++;
    o->count = count;
    assert_in_range(count, 1, MOST);
    for (size_t i = 0; i < count; i++) {
        Found *to = &o->best[i];
        assert_in_range(best[i].length, 1, LONGEST + 1);
        *to = (Found){.length = best[i].length, .sum = best[i].sum, .score = best[i].score};
        memcpy(to->token, best[i].token, to->length * sizeof *to->token);
        memcpy(to->log_p, best[i].log_p, to->length * sizeof *to->log_p);
        double sum = 0;
        for (size_t k = 0; k < to->length; k++) {
            sum += to->log_p[k];
            assert_int_equal(to->token[k] == EOS, k + 1 == to->length);
        }
        assert_true(sum == to->sum);
        if (i) assert_true(to->score <= to[-1].score);
    }
    return 0;
}

static void own_outputs(Outputs **o)
{
    free(*o);
}
#define OWN_OUTPUTS SCOPED(own_outputs) Outputs
DROP(Beam, beam)
#define OWN_BEAM SCOPED(beam_drop) Beam

static Beam *beam_of(Model *m, const BeamConfig *c)
{
    Beam *b;
    if (beam_new(m, c, &b) != 0) fail_msg("%s", error_text());
    return b;
}

/* Returns outputs of x->S sentences. Caller: free. */
static Outputs *search(Model *m, const BeamConfig *c, const Batch *x)
{
    Outputs *o = calloc(x->S, sizeof *o);
    OWN_BEAM *b = beam_of(m, c);
    assert_non_null(o);
    size_t calls = memory_calls();
    if (beam_search(b, x, keep, o) != 0) fail_msg("%s", error_text());
    assert_int_equal(memory_calls(), calls); /* no memory is allocated */
    for (size_t s = 0; s < x->S; s++) assert_int_equal(o[s].times, 1);
    return o;
}

/* Rows of queries, counted on the way to the kernel. */
static Backend counting;
static void (*counted)(const Listed *a, void *out);
static size_t queries;

static void count_queries(const Listed *a, void *out)
{
    queries += a->N;
    counted(a, out);
}

static size_t self_evals(const Model *m)
{
    const Plan *p = model_plan(m);
    size_t n = 0;
    for (size_t i = 0; i < p->instrs; i++)
        n += p->instr[i].op == PLAN_EVAL && p->slot[p->instr[i].slot].side == SIDE_TARGET &&
             plan_attends(&p->slot[p->instr[i].slot]);
    return n;
}

/* Returns the options of trial v. */
static BeamConfig drawn(uint64_t v, size_t most_sentences, const int32_t *banned)
{
    BeamConfig c = search_of(1 + random_below(v, 1, 0, 6), 1 + random_below(v, 1, 1, LONGEST - 1),
                             most_sentences);
    c.nbest = 1 + random_below(v, 1, 2, c.beam);
    c.penalty = (int)random_below(v, 1, 3, PENALTIES);
    c.alpha = 1.5 * random_uniform(v, 1, 4);
    c.min_length = random_below(v, 1, 5, 2) ? random_below(v, 1, 6, c.max_length + 1) : 0;
    c.no_repeat = random_below(v, 1, 7, 5);
    if (c.no_repeat == 1 && c.min_length > 4) c.no_repeat = 2; /* words are few */
    c.banned = banned;
    c.banned_count = random_below(v, 1, 8, 3);
    if (random_below(v, 1, 9, 2)) {
        c.max_ratio = 0.8 * random_uniform(v, 1, 10);
        c.max_extra = (double)random_below(v, 1, 11, 3);
    }
    return c;
}

static size_t longest_of(const BeamConfig *c, const Batch *x, size_t s)
{
    if (x->source.N == 0 || (c->max_ratio == 0 && c->max_extra == 0)) return c->max_length;
    size_t words = x->source.start[s + 1] - x->source.start[s] - 1;
    size_t most = (size_t)(c->max_ratio * (double)words + c->max_extra);
    return most < c->max_length ? most : c->max_length;
}

TEST(a_second_search_agrees)
{
    enum { TRIALS = 120, SENTENCES = 5 };
    static const int32_t banned[] = {5, 2};
    size_t seen[PEERS] = {0}, finished_early = 0;
    counting = *backend("cpu-f64");
    counted = counting.attend;
    counting.attend = count_queries;
    OWN_OUTPUTS *other = calloc(1, sizeof *other);
    assert_non_null(other);
    for (uint64_t v = 0; v < TRIALS; v++) {
        const TinyPlan *p = v % 3 ? &tiny_pairs[v % 2] : &tiny_plans[v % 5];
        OWN_MODEL *m = random_model(&counting, p, V, SENTENCES * 6, v);
        BeamConfig c = drawn(v, SENTENCES, banned);
        Sources k;
        Batch x = sources(&k, V, v, 0, SENTENCES);
        if (m->plan->sides == 1) x.S = 1, x.source.N = 0;
        size_t rows = 0;
        queries = 0;
        OWN_OUTPUTS *found = search(m, &c, &x);
        for (size_t s = 0; s < x.S; s++)
            for (int wrong = PEER_RIGHT; wrong < PEERS; wrong++) {
                BeamConfig own = c;
                size_t longest = longest_of(&c, &x, s), none = 0;
                if (own.min_length > longest) own.min_length = longest;
                peer(m, &x, s, &own, longest, wrong, other, wrong ? &none : &rows);
                int same = same_outputs(&found[s], other, 1e-10);
                if (wrong == PEER_RIGHT && !same)
                    fail_msg("trial %zu, sentence %zu, %s, beam %zu", (size_t)v, s, p->name,
                             c.beam);
                seen[wrong] += (size_t)!same;
            }
        /* No row is computed for a sentence that has ended. */
        assert_int_equal(queries, rows * self_evals(m));
        finished_early += found[0].best[0].length <= longest_of(&c, &x, 0);
    }
    for (int wrong = 1; wrong < PEERS; wrong++) assert_true(seen[wrong] >= 5);
    assert_true(finished_early > TRIALS / 10);
}

/* ---- scores ----------------------------------------------------------------------------------------------- */

static double tolerance(const Backend *b)
{
    if (b->eps > 0x1p-20) return 160 * b->eps;
    return b->size == 8 ? 1e-11 : 1e-4;
}

/* Checks that an output's score is the sum of the log p of a whole pass. greedy: every token is the most probable one,
 * the least of equal ones. */
static void check_output(Model *m, const BeamConfig *c, const Batch *x, size_t s, const Found *o,
                         int greedy)
{
    size_t words = model_config(m)->vocab;
    double log_p[(LONGEST + 1) * V], sum = 0;
    int32_t input[LONGEST + 1] = {EOS};
    memcpy(input + 1, o->token, (o->length - 1) * sizeof *input);
    whole(m, x, s, o->length, input, log_p);
    for (size_t t = 0; t < o->length; t++) {
        const double *z = log_p + t * words;
        size_t is = (size_t)o->token[t];
        sum += z[is];
        for (size_t v = 0; v < words && greedy && t < c->max_length; v++)
            assert_false(z[v] > z[is] || (z[v] == z[is] && v < is));
    }
    assert_true(fabs(sum - o->sum) <= tolerance(m->backend));
    assert_true(fabs(penalised(c, o->sum, o->length) - o->score) <= 1e-12 * fabs(o->score));
}

/* Several models, and beginnings: the second search agrees, and each changes what is found. */
TEST(means_and_beginnings)
{
    enum { TRIALS = 24, SENTENCES = 4 };
    static const int32_t begins[] = {3, 3, 7};
    const BeamPrefix prefix[SENTENCES] = {{begins, 3}, {begins, 0}, {begins + 2, 1}, {begins, 2}};
    size_t differ = 0;
    OWN_OUTPUTS *other = calloc(1, sizeof *other);
    assert_non_null(other);
    for (size_t i = 0; tested_backend(i); i++)
        for (uint64_t v = 0; v < (i ? 2 : TRIALS); v++) {
            const Backend *b = backend(i ? tested_backend(i) : "cpu-f64");
            OWN_MODEL *m = random_model(b, &tiny_pairs[v % 2], V, SENTENCES * 6, v);
            OWN_MODEL *second = random_model(b, &tiny_pairs[v / 2 % 2], V, SENTENCES * 6, v + 99);
            BeamConfig c = drawn(v, SENTENCES, NULL), plain;
            c.banned_count = c.no_repeat = 0; /* beginnings may repeat */
            if (c.max_length < 3) c.max_length = 3;
            plain = c;
            c.other = &second;
            c.others = v % 3 != 0;
            c.prefix = v % 3 == 1 ? NULL : prefix;
            Sources k;
            Batch x = sources(&k, V, v, 0, SENTENCES);
            OWN_OUTPUTS *found = calloc(x.S, sizeof *found), *alone = search(m, &plain, &x);
            OWN_BEAM *beam = beam_of(m, &c);
            assert_non_null(found);
            assert_int_equal(beam_search(beam, &x, keep, found), 0);
            for (size_t s = 0, rows = 0; s < x.S; s++) {
                BeamConfig own = c;
                size_t longest = longest_of(&c, &x, s);
                if (c.prefix && prefix[s].length > longest) longest = prefix[s].length;
                if (own.min_length > longest) own.min_length = longest;
                peer(m, &x, s, &own, longest, PEER_RIGHT, other, &rows);
                if (i == 0 && !same_outputs(&found[s], other, 1e-10))
                    fail_msg("trial %zu, sentence %zu: others are found", (size_t)v, s);
                differ += !same_outputs(&found[s], &alone[s], 1e-12);
                for (size_t t = 0; c.prefix && t < prefix[s].length && t < longest; t++)
                    assert_int_equal(found[s].best[0].token[t], prefix[s].token[t]);
            }
        }
    assert_true(differ > 40);
}

/* So it is on every backend. A beam of one is greedy. */
TEST(scores_are_those_of_a_pass)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_all; p->name; p++)
            for (size_t beam = 1; beam <= 4; beam += 3) {
                OWN_MODEL *m = random_model(backend(tested_backend(i)), p, V, beam * 8, 77);
                BeamConfig c = search_of(beam, LONGEST, 8);
                c.penalty = beam > 1 ? PENALTY_GNMT : PENALTY_NONE;
                c.alpha = 0.7;
                Sources k;
                Batch x = sources(&k, V, 3, 0, 8);
                if (m->plan->sides == 1) x.S = 1, x.source.N = 0;
                OWN_OUTPUTS *found = search(m, &c, &x);
                for (size_t s = 0; s < x.S; s++)
                    for (size_t j = 0; j < found[s].count; j++)
                        check_output(m, &c, &x, s, &found[s].best[j], beam == 1);
            }
}

/* ---- refusals --------------------------------------------------------------------------------------------- */

TEST(configurations_that_cannot_be)
{
    static const int32_t bad[] = {EOS, -1, V};
    OWN_MODEL *m = random_model(backend("cpu-f32"), tiny_pairs, V, 20, 2);
    Beam *b = NULL;
    const BeamConfig good = search_of(5, LONGEST, 4);
#define WITH(...)            \
    __extension__({          \
        BeamConfig c = good; \
        (void)(__VA_ARGS__); \
        c;                   \
    })
    const struct {
        BeamConfig c;
        const char *words;
    } row[] = {
        {WITH(c.beam = 0), "a beam of 0"},
        {WITH(c.nbest = 6), "the best 6 of a beam of 5"},
        {WITH(c.nbest = 0), "the best 0"},
        {WITH(c.sentences = 5), "5 sentences with a beam of 5"},
        {WITH(c.sentences = SIZE_MAX / 5 + 1), "sentences with a beam of 5"}, /* times 5: 4 */
        {WITH(c.beam = SIZE_MAX), "a beam of"},
        {WITH(c.min_length = LONGEST + 1), "at least"},
        {WITH(c.max_length = 0), "at most"},
        {WITH(c.max_length = LONGEST + 1), "the model reads"},
        {WITH(c.eos = V), "<eos>"},
        {WITH(c.eos = -1), "<eos>"},
        {WITH(c.penalty = PENALTIES), "penalty"},
        {WITH(c.alpha = NAN), "exponent"},
        {WITH(c.alpha = 11), "exponent"},
        {WITH(c.alpha = -11), "exponent"},
        {WITH(c.max_ratio = NAN), "times the source"},
        {WITH(c.max_ratio = -11), "times the source"},
        {WITH(c.max_extra = NAN), "times the source"},
        {WITH(c.max_extra = -11), "times the source"},
        {WITH(c.banned = &bad[0], c.banned_count = 1), "cannot be banned"},
        {WITH(c.banned = &bad[1], c.banned_count = 1), "cannot be banned"},
        {WITH(c.banned = &bad[2], c.banned_count = 1), "cannot be banned"},
    };
#undef WITH
    size_t live = memory_live();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(beam_new(m, &row[i].c, &b), ERR_INPUT);
        assert_true(!b && memory_live() == live);
        if (!strstr(error_text(), row[i].words))
            fail_msg("'%s' has no '%s'", error_text(), row[i].words);
    }
    assert_int_equal(beam_new(m, &good, &b), 0);
    beam_free(b);
    beam_free(NULL);
}

TEST(no_output_is_allowed)
{
    static const int32_t all[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    OWN_MODEL *m = random_model(backend("cpu-f32"), tiny_pairs, V, 20, 2);
    BeamConfig c = search_of(5, LONGEST, 4);
    c.banned = all;
    c.banned_count = 10;
    Sources k;
    Batch x = sources(&k, V, 1, 0, 4);
    OWN_OUTPUTS *found = search(m, &c, &x); /* <eos> alone */
    for (size_t s = 0; s < 4; s++) assert_int_equal(found[s].best[0].length, 1);
    c.min_length = 1;
    OWN_BEAM *b = beam_of(m, &c);
    assert_int_equal(beam_search(b, &x, keep, found), ERR_INPUT);
    assert_non_null(strstr(error_text(), "no output of sentence 1 is allowed"));
    x.S = 5;
    assert_int_equal(beam_search(b, &x, keep, found), ERR_MISUSE);
}

TEST(numbers_that_are_none)
{
    for (size_t i = 0; tested_backend(i / 2); i++) {
        OWN_MODEL *m = random_model(backend(tested_backend(i / 2)), tiny_pairs, V, 20, 2);
        BeamConfig c = search_of(5, LONGEST, 4);
        Sources k;
        Batch x = sources(&k, V, 1, 0, 4);
        OWN_BEAM *b = beam_of(m, &c);
        OWN_OUTPUTS *found = calloc(4, sizeof *found);
        set_tensor(m, "final_norm.bias", i % 2 ? NAN : INFINITY);
        assert_int_equal(beam_search(b, &x, keep, found), ERR_NUMERIC);
        assert_non_null(strstr(error_text(), "log p of token 1 of sentence 1"));
    }
}

/* Stops the search at the second sentence that finishes. */
static int refuse_second(void *arg, size_t sentence, size_t count, const Hypothesis *best)
{
    (void)sentence, (void)count, (void)best;
    return ++*(int *)arg == 2 ? ERR_SYSTEM : 0;
}

static volatile int stop;

static int stop_soon(void *arg, size_t sentence, size_t count, const Hypothesis *best)
{
    (void)sentence, (void)count, (void)best;
    ++*(int *)arg;
    stop = 1;
    return 0;
}

TEST(a_search_is_ended_from_outside)
{
    OWN_MODEL *m = random_model(backend("cpu-f32"), tiny_pairs, V, 20, 2);
    BeamConfig c = search_of(5, LONGEST, 4);
    c.max_ratio = 1; /* sentences of different lengths */
    Sources k;
    Batch x = sources(&k, V, 1, 0, 4);
    int times = 0;
    stop = 1;
    c.stop = &stop;
    OWN_BEAM *b = beam_of(m, &c);
    assert_int_equal(beam_search(b, &x, refuse_second, &times), ERR_INTERRUPTED);
    assert_int_equal(times, 0);
    stop = 0;
    assert_int_equal(beam_search(b, &x, refuse_second, &times), ERR_SYSTEM);
    assert_int_equal(times, 2);
    times = 0;
    assert_int_equal(beam_search(b, &x, stop_soon, &times), ERR_INTERRUPTED);
    assert_true(times >= 1 && times < 4);
    stop = 0;
    OWN_OUTPUTS *one = calloc(4, sizeof *one), *other = search(m, &c, &x); /* as if new */
    assert_int_equal(beam_search(b, &x, keep, one), 0);
    assert_memory_equal(one, other, 4 * sizeof *one);
}

TEST(short_of_memory)
{
    static Outputs found[3];
    OWN_MODEL *m = random_model(backend("cpu-f32"), tiny_pairs, V, 18, 2),
              *other = random_model(backend("cpu-f32"), tiny_pairs, V, 18, 3);
    BeamConfig c = search_of(2, LONGEST, 3);
    Sources k;
    Batch x = sources(&k, V, 1, 0, 3);
    c.other = &other;
    c.others = 1;
    assert_true(FAILURES(ERR_MEMORY, OWN_BEAM *b = NULL; code = beam_new(m, &c, &b);
                         if (code == 0) code = beam_search(b, &x, keep, found)) > 30);
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(one_thread, NULL)
