/* test_attention.c: attention weights of a model against their definition, the optimal assignment against
 * all permutations, earth mover's distances that are known, and `trotter attention` on trained models; each
 * judge with a control that must fail. */
#include "tests/lib/test.h"

#include "kernels/base/memory.h"
#include "kernels/base/random.h"
#include "studies/model/attention/attention_distance.h"
#include "tests/lib/backends.h"
#include "tests/lib/distance.h"
#include "tests/lib/study.h"
#include "tests/lib/tiny.h"

enum { H = TINY_HEADS, T = 7 };

static int head_norm; /* 1: heads of 3 numbers, whose queries and keys are normed */

/* ---- weights ----------------------------------------------------------------------------------- */

static Model *tiny_model(const char *backend, Plan *plan)
{
    const Backend *b;
    Model *m;
    ModelConfig c = tiny_config();
    c.head_norm = head_norm;
    if (head_norm) c.head_width = 3;
    if (plan->bidirectional) c = tiny_head_config(c, &tiny_heads[0]);
    assert_int_equal(backend_find(backend, NULL, &b), 0);
    assert_int_equal(model_new(&c, plan, b, 0, &m), 0);
    tiny_shake(m, 5);
    return m;
}

static const int32_t *tiny_tokens(void)
{
    static const int32_t token[T] = {3, 1, 4, 1, 5, 9, 2};
    return token;
}

/* Norms H heads of x (H E) with the gains of a tensor, as head_norm has it. */
static void define_norm(Model *m, const char *gains, int E, double *x)
{
    OWN_NUMBERS *g = tiny_tensor(m, gains);
    for (int h = 0; h < H; h++, x += E) {
        double square = 0;
        for (int e = 0; e < E; e++) square += x[e] * x[e] / E;
        for (int e = 0; e < E; e++) x[e] *= g[e] / sqrt(square + 1e-5);
    }
}

/* a (H, T, T) = softmax_j of q_i . (k_j + r_(j - i)) / sqrt(E) by its definition, q and k of LN(y), y the embedding. The
 * caller has zeroed it. */
static void defined_weights(Model *m, double *a)
{
    enum { D = TINY_WIDTH };
    const int E = (int)model_head_width(model_config(m)), A = H * E;
    double y[T * D], q[T][2 * D];
    OWN_NUMBERS *w = tiny_tensor(m, "layers.0.attn.1.norm.weight"),
                *b = tiny_tensor(m, "layers.0.attn.1.norm.bias"),
                *W = tiny_tensor(m, "layers.0.attn.1.qkv.weight"),
                *c = tiny_tensor(m, "layers.0.attn.1.qkv.bias"),
                *r = tiny_tensor(m, "layers.0.attn.1.relative.weight");
    int clip = (int)model_config(m)->clip, all = model_plan(m)->bidirectional;
    assert_int_equal(model_embed(m, SIDE_TARGET, T, tiny_tokens(), y), 0);
    for (int i = 0; i < T; i++) {
        double mean = 0, square = 0, *x = y + i * D;
        for (int k = 0; k < D; k++) mean += x[k] / D;
        for (int k = 0; k < D; k++) square += (x[k] - mean) * (x[k] - mean) / D;
        for (int o = 0; o < 2 * A; o++) {
            q[i][o] = c[o];
            for (int k = 0; k < D; k++)
                q[i][o] += W[o * D + k] * ((x[k] - mean) / sqrt(square + 1e-5) * w[k] + b[k]);
        }
        if (head_norm) define_norm(m, "layers.0.attn.1.q_norm.weight", E, q[i]);
        if (head_norm) define_norm(m, "layers.0.attn.1.k_norm.weight", E, q[i] + A);
    }
    for (int h = 0; h < H; h++)
        for (int i = 0; i < T; i++) {
            double sum = 0, *row = a + (h * T + i) * T;
            for (int j = 0; j < (all ? T : i + 1); j++) {
                int at = j - i < -clip ? 0 : j - i > clip ? 2 * clip : clip + j - i;
                for (int e = 0; e < E; e++)
                    row[j] += q[i][h * E + e] * (q[j][A + h * E + e] + r[at * E + e]) / sqrt(E);
                sum += row[j] = exp(row[j]);
            }
            for (int j = 0; j < T; j++) row[j] /= sum;
        }
}

/* Returns the largest difference between the weights of the residual network and those of its definition. */
static double difference(Model *m)
{
    static double a[H * T * T], plain[H * T * T];
    memset(plain, 0, sizeof plain);
    assert_int_equal(model_attention(m, T, tiny_tokens(), a), 0);
    defined_weights(m, plain);
    return distance(a, plain, H * T * T);
}

/* Weights are at most 1 and come from sums of some 10 D products: 1e-13 in f64. A product of relative error eps in q
 * and k moves a score by about 2 eps |q||k|/sqrt(E) < 10 eps. An encoder's tokens see all others, which those of the
 * causal model of the same numbers do not. */
TEST(test_definition)
{
    const char *name;
    double weights[2][H * T * T], spoilt[H * T * T];
    for (size_t i = 0; (name = tested_backend(i / 4)); i++) {
        head_norm = i / 2 % 2;
        Model *m = tiny_model(name, i % 2 ? tiny_encoder(tiny_residual()) : tiny_residual());
        double bound = 100 * model_backend(m)->eps + 1e-13;
        if (!(difference(m) <= bound)) fail_msg("%s: %g > %g", name, difference(m), bound);
        model_free(m);
    }
    head_norm = 0;
    for (int k = 0; k < 2; k++) {
        Model *m = tiny_model("cpu-f64", k ? tiny_encoder(tiny_residual()) : tiny_residual());
        double *rel = tiny_tensor(m, "layers.0.attn.1.relative.weight"), other = rel[0] + 0.1;
        const Backend *b = model_backend(m);
        assert_int_equal(model_attention(m, T, tiny_tokens(), weights[k]), 0);
        b->put(
            backend_at(b, model_data(m), model_find(m, "layers.0.attn.1.relative.weight")->offset),
            &other, 1);
        assert_int_equal(model_attention(m, T, tiny_tokens(), spoilt), 0);
        assert_memory_not_equal(weights[k], spoilt, sizeof spoilt); /* the control */
        memory_free(rel);
        model_free(m);
    }
    for (int i = 0; i < H * T * T; i++)
        assert_true(i % T > i / T % T ? weights[1][i] > 0 && weights[0][i] == 0
                                      : weights[0][i] > 0);
}

/* Every plan has rows of sum 1, with no weight ahead, and as many evaluations as it should. */
TEST(test_rows)
{
    for (const TinyPlan *t = tiny_plans; t->name; t++) {
        Plan *plan = t->build();
        size_t A = plan_evals(plan, SLOT_ATTENTION), all = A * H * T * T;
        Model *m = tiny_model("cpu-f64", plan);
        double *a = memory_new(all + 1, sizeof *a);
        a[all] = 99;
        assert_int_equal(model_attention(m, T, tiny_tokens(), a), 0);
        for (size_t r = 0; r < A * H * T; r++) {
            double sum = 0;
            for (size_t j = 0; j < T; j++) {
                assert_true(a[r * T + j] >= 0 && (j <= r % T || a[r * T + j] == 0));
                sum += a[r * T + j];
            }
            if (!(fabs(sum - 1) <= 1e-14)) fail_msg("%s: row %zu has sum %.17g", t->name, r, sum);
        }
        assert_true(a[all] == 99);
        memory_free(a);
        model_free(m);
    }
    int32_t wrong[2] = {0, TINY_VOCAB};
    double a[H * 4];
    Model *m = tiny_model("cpu-f64", tiny_residual());
    assert_int_equal(model_attention(m, 2, wrong, a), ERR_MISUSE);
    model_free(m);
}

/* ---- assignment -------------------------------------------------------------------------------- */

/* Returns the least sum over all permutations of the columns from `at` on. */
static double least(size_t n, const double *cost, size_t *to, size_t at)
{
    double best = at == n ? 0 : INFINITY;
    for (size_t k = at; k < n; k++) {
        size_t t = to[at];
        to[at] = to[k], to[k] = t;
        double sum = cost[at * n + to[at]] + least(n, cost, to, at + 1);
        best = fmin(best, sum);
        t = to[at], to[at] = to[k], to[k] = t;
    }
    return best;
}

/* The optimum is found for real costs, costs with many ties, and negative ones. */
TEST(test_assignment)
{
    double cost[49];
    size_t to[7], order[7], worse = 0;
    for (uint64_t trial = 0; trial < 300; trial++) {
        size_t n = 1 + trial % 7;
        double plain = 0;
        int seen[7] = {0};
        for (size_t i = 0; i < n * n; i++) {
            double x = random_uniform(1, trial, i);
            cost[i] = trial % 3 == 0 ? x : trial % 3 == 1 ? floor(3 * x) : 10 * x - 5;
        }
        for (size_t i = 0; i < n; i++) order[i] = i, plain += cost[i * n + i];
        double sum = assignment_find(n, cost, to), best = least(n, cost, order, 0), again = 0;
        for (size_t i = 0; i < n; i++) {
            assert_true(to[i] < n && !seen[to[i]]++);
            again += cost[i * n + to[i]];
        }
        if (!(fabs(sum - best) <= 1e-12 && fabs(sum - again) <= 1e-12))
            fail_msg("n %zu, trial %d: %g, not %g", n, (int)trial, sum, best);
        worse += plain > best + 1e-12;
    }
    assert_true(worse > 150); /* the judge: leaving everything in place is not optimal */
}

/* ---- distances --------------------------------------------------------------------------------- */

TEST(test_known_distances)
{
    const double first[] = {1, 0, 0, 0}, last[] = {0, 0, 0, 1}, even[] = {.25, .25, .25, .25},
                 back[] = {0, .5, .5, 0};
    assert_true(attention_distance(4, first, first) == 0);
    assert_true(attention_distance(4, first, last) == 3);
    assert_true(attention_distance(4, first, even) == 1.5); /* mean place */
    assert_true(attention_distance(4, even, back) == 0.5);
    assert_true(attention_distance(1, first, first) == 0);
}

/* ---- heads ------------------------------------------------------------------------------------- */

enum { A = 2, HEADS = 3, N = 5, ALL = A * HEADS * N * N };

static void draw_weights(uint64_t seed, double *w)
{
    memset(w, 0, ALL * sizeof *w);
    for (size_t r = 0; r < A * HEADS * N; r++) {
        double sum = 0;
        for (size_t j = 0; j <= r % N; j++) sum += w[r * N + j] = random_uniform(seed, r, j);
        for (size_t j = 0; j <= r % N; j++) w[r * N + j] /= sum;
    }
}

static HeadDistance distance_of(const double *a, const double *b)
{
    HeadSums s;
    assert_int_equal(head_sums_new(A, HEADS, &s), 0);
    assert_int_equal(head_sums_add(&s, N, a, b), 0);
    HeadDistance d = head_sums_mean(&s, A), mean = {0, 0};
    for (size_t l = 0; l < A; l++) {
        HeadDistance one = head_sums_mean(&s, l);
        mean.token += one.token / A;
        mean.once += one.once / A;
    }
    assert_true(fabs(mean.token - d.token) <= 1e-14 && fabs(mean.once - d.once) <= 1e-14);
    head_sums_free(&s);
    return d;
}

/* A model is at distance 0 from itself, and from itself with its heads in another order in each sublayer;
 * not from one whose sublayers are exchanged, nor from another. Matching once is never better. */
TEST(test_heads)
{
    double a[ALL], b[ALL], c[ALL];
    static const size_t order[A][HEADS] = {{2, 0, 1}, {1, 0, 2}};
    enum { SHEET = N * N, LAYER = HEADS * SHEET };
    draw_weights(1, a);
    for (size_t l = 0; l < A; l++)
        for (size_t h = 0; h < HEADS; h++)
            memcpy(b + l * LAYER + h * SHEET, a + l * LAYER + order[l][h] * SHEET,
                   SHEET * sizeof *b);
    HeadDistance d = distance_of(a, a);
    assert_true(d.token == 0 && d.once == 0);
    d = distance_of(a, b);
    assert_true(d.token == 0 && d.once == 0);
    memcpy(c, a + LAYER, LAYER * sizeof *c);
    memcpy(c + LAYER, a, LAYER * sizeof *c);
    assert_true(distance_of(a, c).token > 0.01);
    draw_weights(2, c);
    d = distance_of(a, c);
    HeadDistance turned = distance_of(c, b);
    assert_true(d.token > 0.01 && d.once > d.token);
    assert_true(fabs(d.token - turned.token) <= 1e-14 && fabs(d.once - turned.once) <= 1e-14);
}

/* ---- the command ------------------------------------------------------------------------------- */

#define TEXT " --text text/valid.txt --sequence 16 --tokens 100 "
#define ONE " --model s/runs/word:sfsf:euler-seed1"
#define TWO " --model s/runs/word:sfsf:euler-seed2"

static int open_models(void **state)
{
    if (study_open(state) != 0) return -1;
    run_ok("sweep --pairs 2 --interleaved --words ssff,sf --seeds 2 --epochs 2 --out s" MODEL);
    run_ok("train --objective masked --corpus text --epochs 1 --layers 2 --out encoder" NETWORK
           "--inner 16");
    return 0;
}

TEST(test_command)
{
    run_ok("attention" ONE ONE TEXT "--csv");
    const char *row = strchr(out, '\n') + 1;
    assert_non_null(strstr(row, ",0,0\n"));
    assert_int_equal(count_lines(out), 2);
    run_ok("attention" ONE TWO " --model s/runs/word:ssff:euler-seed1 --model "
           "s/runs/word:ssff:euler-seed2/model.safetensors" TEXT "--csv --out a");
    assert_int_equal(count_lines(out), 1 + 6);
    double cross = 0, pair[6];
    int pairs = 0;
    for (row = strchr(out, '\n') + 1; *row; row = strchr(row, '\n') + 1) {
        char a[32], b[32];
        double tokens, d, once;
        if (sscanf(row, "%*[^,],%*[^,],%31[^,],%31[^,],%lf,%lf,%lf", a, b, &tokens, &d, &once) != 5)
            fail_msg("%s", row);
        assert_true(d > 0 && once >= d && tokens >= 100 && tokens < 116);
        if (strcmp(a, b) != 0) cross += d / 4;
        pair[pairs++] = d;
    }
    file_read("a/schemes.csv", big, sizeof big);
    assert_int_equal(count_lines(big), 4);
    assert_string_equal(cell(big, "word:sfsf:euler,word:ssff:euler,", "pairs"), "4");
    assert_string_equal(cell(big, "word:ssff:euler,word:ssff:euler,", "pairs"), "1");
    double told = number(big, "word:sfsf:euler,word:ssff:euler,", "distance");
    assert_true(fabs(told - cross) <= 1e-12 * cross);
    /* of the three divisions in pairs, count those whose pairs are no farther apart than the schemes' */
    int apart = 0;
    for (int k = 0; k < 3; k++) apart += pair[k] + pair[5 - k] <= pair[0] + pair[5];
    told = number(big, "word:sfsf:euler,word:ssff:euler,", "p_apart");
    assert_true(fabs(told - apart / 3.0) <= 1e-12);
    assert_string_equal(cell(big, "word:ssff:euler,word:ssff:euler,", "p_apart"), "");
}

/* Returns the largest |sum of a row's weights - 1| of DIR/maps.csv, and counts weights of keys ahead of the query;
 * checks that the mean over heads is that of the heads. */
static double judge_maps(const char *dir, size_t *ahead)
{
    enum { MAPS = 32, HEADS_MOST = 4, PLACES = 32 };
    static double sum[MAPS][HEADS_MOST + 1][PLACES], w[HEADS_MOST + 1][PLACES][PLACES];
    double worst = 0;
    memset(sum, 0, sizeof sum);
    *ahead = 0;
    file_read(formed("%s/maps.csv", dir), big, sizeof big);
    assert_int_equal(strncmp(big, "map,sentence,layer,sublayer,head,query,key,weight,", 50), 0);
    for (const char *row = strchr(big, '\n') + 1; *row; row = strchr(row, '\n') + 1) {
        size_t map, head, query, key;
        double x;
        if (sscanf(row, "%zu,%*u,%*u,%*u,%zu,%zu,%zu,%lf,", &map, &head, &query, &key, &x) != 5)
            fail_msg("%s", row);
        assert_true(map < MAPS && head <= HEADS_MOST && query < PLACES && key < PLACES);
        sum[map][head][query] += w[head][query][key] = x;
        *ahead += key > query;
        if (head == 2) assert_true(fabs(w[0][query][key] - (w[1][query][key] + x) / 2) <= 1e-15);
    }
    for (int i = 0; i < MAPS * (HEADS_MOST + 1) * PLACES; i++)
        if ((&sum[0][0][0])[i] != 0) worst = fmax(worst, fabs((&sum[0][0][0])[i] - 1));
    return worst;
}

/* Maps of one model have the lines in their order, cut to the longest; a model that sees ahead is seen to do so. */
TEST(test_maps)
{
    size_t ahead;
    run_ok("attention" ONE " --text text/valid.txt --sentences 2 --longest 5 --out maps");
    assert_string_equal(out, "");
    assert_true(judge_maps("maps", &ahead) <= 1e-14);
    assert_int_equal(ahead, 0);
    /* 2 lines, 2 sublayers, 2 heads and their mean, 5 tokens */
    assert_int_equal(count_lines(big), 1 + 2 * 2 * 3 * (5 * 6 / 2));
    assert_true(file_exists("maps/map-1-1.gp") && file_exists("maps/map-1-2.gp"));
    assert_false(file_exists("maps/map-1-1-0-1.gp") || file_exists("maps/attention.csv"));
    must_print(
        "attention --model encoder --model encoder --text text/valid.txt --tokens 50 --longest 5 "
        "--by-head --csv --out maps",
        ",0,0\n"); /* its distance from itself */
    assert_true(judge_maps("maps", &ahead) <= 1e-14);
    assert_int_equal(ahead, 2 * 2 * 3 * (5 * 4 / 2));
    assert_non_null(strstr(big, ",<cls>,<cls>,encoder\n"));
    assert_true(file_exists("maps/map-2-1-1-1.gp"));
}

TEST(test_refused)
{
    write_corpus("other", "the zebra sat\n");
    static const char *const bad[][2] = {
        {ONE TWO, "--text is needed"},
        {ONE TEXT, "--model: expected two models or more"},
        {ONE " --model s/runs/word:sf:euler-seed1" TEXT, "attention sublayers"},
        {ONE " --model nowhere" TEXT, "nowhere"},
        {ONE TEXT "--out none --sentences 0", "expected two models or more"},
        {ONE " --model encoder" TEXT, "encoder is an encoder alone"},
        {ONE TWO " --text other/test.txt", "zebra"},
    };
    REFUSE_ALL("attention %s", bad, "none");
}

TEST_MAIN(open_models, program_close)
