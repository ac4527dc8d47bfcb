/* command_attention.c: computes attention distances between saved models, and their means by scheme. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/model/attention/attention_distance.h"
#include "studies/model/sentences.h"
#include "studies/model/trained.h"
#include "studies/base/plot/plot.h"
#include "studies/base/statistics/statistics.h"
#include "studies/base/command.h"

enum { MODELS_MAX = 64 };

/* A row for two models. */
typedef struct {
    const char *model_a, *model_b, *scheme_a, *scheme_b;
    size_t tokens;
    double distance, matched_once;
} PairRow;

/* A row for all pairs of models of two schemes. */
typedef struct {
    const char *scheme_a, *scheme_b;
    size_t pairs;
    double distance, low, high, matched_once, p_apart;
} SchemeRow;

#define MODEL_A "directory of the first model"
#define MODEL_B "directory of the second model"
#define SCHEME_A "scheme of the first model"
#define SCHEME_B "scheme of the second model"
#define DISTANCE "distance of the heads' distributions; heads are matched anew at every token"
#define ONCE "the same distance; heads of a sublayer are matched once for all tokens"

static const Column pair_columns[] = {
    COLUMN(PairRow, model_a, .words = MODEL_A),
    COLUMN(PairRow, model_b, .words = MODEL_B),
    COLUMN(PairRow, scheme_a, .words = SCHEME_A),
    COLUMN(PairRow, scheme_b, .words = SCHEME_B),
    COLUMN(PairRow, tokens, .words = "tokens that the models read"),
    COLUMN(PairRow, distance, .digits = 5, .words = DISTANCE ", mean over tokens and sublayers"),
    COLUMN(PairRow, matched_once, .digits = 5, .words = ONCE),
    {0}};

static const Column scheme_columns[] = {
    COLUMN(SchemeRow, scheme_a, .words = SCHEME_A),
    COLUMN(SchemeRow, scheme_b, .words = SCHEME_B),
    COLUMN(SchemeRow, pairs, .words = "number of pairs of models"),
    COLUMN(SchemeRow, distance, .digits = 5, .low = "low", .high = "high",
           .words = DISTANCE ", mean over tokens, sublayers and pairs"),
    COLUMN(SchemeRow, low, .digits = 5, .words = "lower end of the 95 % interval over pairs"),
    COLUMN(SchemeRow, high, .digits = 5, .words = "upper end of the 95 % interval over pairs"),
    COLUMN(SchemeRow, matched_once, .digits = 5, .words = ONCE),
    COLUMN(
        SchemeRow, p_apart, .digits = 2,
        .words =
            "p of the hypothesis that models of two schemes are no farther apart than models of one"),
    {0}};

typedef struct {
    const Options *options;
    size_t models;
    const char *name[MODELS_MAX];
    Network network[MODELS_MAX];
    double *weights[MODELS_MAX]; /* (A, H, T, T) of the block being read */
    size_t A, H, T;
    Text text;
    size_t pairs;
    HeadSums *sum; /* (pairs): 0-1, 0-2, .., 1-2, .. */
    Sheet *pair, *scheme;
} AttentionMaps;

/* ---- the models ---------------------------------------------------------------------------------- */

static int is_encoder(const Network *n)
{
    return model_plan(n->model)->bidirectional;
}

static size_t evaluations(const Network *n)
{
    return plan_evals(model_plan(n->model), SLOT_ATTENTION);
}

/* Refuses a model that cannot be compared with the first. */
static int check(const AttentionMaps *u, size_t k)
{
    const Network *a = &u->network[0], *b = &u->network[k];
    size_t heads = model_config(b->model)->heads;
    if (is_encoder(a) != is_encoder(b))
        return error_set(ERR_INPUT, "%s is an encoder alone and %s is not: they see other tokens",
                         u->name[is_encoder(a) ? 0 : k], u->name[is_encoder(a) ? k : 0]);
    if (a->vocab.level != b->vocab.level || vocab_hash(&a->vocab) != vocab_hash(&b->vocab))
        return error_set(ERR_INPUT, "%s and %s have different vocabularies", u->name[0],
                         u->name[k]);
    if (b->bpe && bpe_hash(a->bpe) != bpe_hash(b->bpe))
        return error_set(ERR_INPUT, "%s and %s have different merges", u->name[0], u->name[k]);
    if (heads != u->H)
        return error_set(ERR_INPUT, "%s has %zu heads, %s %zu: they cannot be matched", u->name[0],
                         u->H, u->name[k], heads);
    if (evaluations(b) == u->A) return 0;
    return error_set(ERR_INPUT, "%s has %zu attention sublayers, %s %zu: they cannot be paired",
                     u->name[0], u->A, u->name[k], evaluations(b));
}

/* 1: pictures are wanted and have a place. */
static int draws(const AttentionMaps *u)
{
    return u->models > 0 && options_text(u->options, "out") &&
           options_size(u->options, "sentences") > 0;
}

static int load(AttentionMaps *u)
{
    const Options *o = u->options;
    for (const char *name; (name = options_item(o, "model", u->models));) {
        if (u->models == MODELS_MAX)
            return error_set(ERR_INPUT, "--model: expected at most %d", MODELS_MAX);
        Network *n = &u->network[u->models];
        u->name[u->models] = name;
        TRY(trained_load(name, u->T, options_size(o, "threads"), n));
        u->models++;
        TRY(network_no_labels(n, name));
        if (!is_encoder(n)) TRY(network_alone(n, name));
        u->A = evaluations(&u->network[0]);
        u->H = model_config(u->network[0].model)->heads;
        TRY(check(u, u->models - 1));
    }
    if (u->models < 2 && !draws(u))
        return error_set(ERR_INPUT,
                         "--model: expected two models or more, or --out for pictures of one");
    if (u->A) return 0;
    return error_set(ERR_INPUT, "%s has no attention sublayer", u->name[0]);
}

static int make_room(AttentionMaps *u)
{
    u->pairs = u->models * (u->models - 1) / 2;
    u->sum = memory_new(u->pairs, sizeof *u->sum);
    if (!u->sum) return ERR_MEMORY;
    for (size_t i = 0; i < u->pairs; i++) {
        TRY(head_sums_new(u->A, u->H, &u->sum[i]));
        u->sum[i].whole = is_encoder(&u->network[0]);
    }
    for (size_t k = 0; k < u->models; k++)
        if (!(u->weights[k] = memory_new(u->A * u->H * u->T, u->T * sizeof(double))))
            return ERR_MEMORY;
    TRY(sheet_new(pair_columns, &u->pair));
    return sheet_new(scheme_columns, &u->scheme);
}

static void close_study(AttentionMaps *u)
{
    for (size_t k = 0; k < MODELS_MAX; k++) {
        network_free(&u->network[k]);
        memory_free(u->weights[k]);
    }
    for (size_t i = 0; u->sum && i < u->pairs; i++) head_sums_free(&u->sum[i]);
    memory_free(u->sum);
    text_free(&u->text);
    sheet_free(u->pair);
    sheet_free(u->scheme);
}

/* ---- reading ------------------------------------------------------------------------------------- */

/* Runs one block of N tokens through every model, then compares every pair. */
static int read_block(AttentionMaps *u, size_t N, const int32_t *token)
{
    size_t i = 0;
    for (size_t k = 0; k < u->models; k++)
        TRY(model_attention(u->network[k].model, N, token, u->weights[k]));
    for (size_t a = 0; a < u->models; a++)
        for (size_t b = a + 1; b < u->models; b++)
            TRY(head_sums_add(&u->sum[i++], N, u->weights[a], u->weights[b]));
    return 0;
}

static int read_blocks(AttentionMaps *u, Batches *all)
{
    size_t tokens = options_size(u->options, "tokens");
    for (size_t i = 0; i < batches_count(all); i++) {
        Batch b;
        TRY(batches_get(all, i, &b));
        for (size_t s = 0; s < b.S; s++) {
            if (u->sum[0].tokens >= tokens) return 0;
            TRY(read_block(u, b.start[s + 1] - b.start[s], b.input + b.start[s]));
            progress_of(u->sum[0].tokens, tokens, "%zu of %zu tokens", u->sum[0].tokens, tokens);
        }
    }
    return 0;
}

/* Reads a text for encoders line by line, each after the tokens that begin the model's sequences. */
static int read_lines(AttentionMaps *u)
{
    SCOPED(sentences_free) Drawn lines = {0};
    size_t tokens = options_size(u->options, "tokens"),
           most = tokens < u->text.lines ? tokens : u->text.lines;
    TRY(sentences_draw(&u->network[0].vocab, &u->text, NULL, most, u->T, SENTENCES_FIRST, &lines));
    for (size_t i = 0; i < lines.of.count && u->sum[0].tokens < tokens; i++) {
        size_t first = lines.start[SIDE_TARGET][i];
        TRY(read_block(u, lines.start[SIDE_TARGET][i + 1] - first,
                       lines.token[SIDE_TARGET] + first));
        progress_of(u->sum[0].tokens, tokens, "%zu of %zu tokens", u->sum[0].tokens, tokens);
    }
    return 0;
}

static int read_all(AttentionMaps *u)
{
    const Vocab *v = &u->network[0].vocab;
    SCOPED(batches_drop) Batches *all = NULL;
    if (is_encoder(&u->network[0])) return read_lines(u);
    TRY(batches_new(&u->text, NULL, v, NULL, options_choice(u->options, "context"), u->T, u->T, 0,
                    &all));
    return read_blocks(u, all);
}

/* ---- output -------------------------------------------------------------------------------------- */

static const char *scheme(const AttentionMaps *u, size_t k)
{
    return u->network[k].table->name;
}

/* Returns the sums of models a < b. */
static const HeadSums *sums(const AttentionMaps *u, size_t a, size_t b)
{
    return &u->sum[a * (2 * u->models - a - 1) / 2 + b - a - 1];
}

static void add_pair(AttentionMaps *u, size_t a, size_t b)
{
    const HeadSums *s = sums(u, a, b);
    HeadDistance d = head_sums_mean(s, u->A);
    sheet_row(u->pair, &(PairRow){u->name[a], u->name[b], scheme(u, a), scheme(u, b), s->tokens,
                                  d.token, d.once});
}

/* Finds p: are the models of two schemes farther apart than those of one? */
static int find_apart(const AttentionMaps *u, const char *x, const char *y, double *p)
{
    size_t of[MODELS_MAX], n = 0;
    int second[MODELS_MAX];
    for (size_t k = 0; k < u->models; k++)
        if (strcmp(scheme(u, k), x) == 0 || strcmp(scheme(u, k), y) == 0) {
            second[n] = strcmp(scheme(u, k), y) == 0;
            of[n++] = k;
        }
    double *distance = memory_new(n * n, sizeof *distance);
    if (!distance) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            distance[i * n + j] = head_sums_mean(sums(u, of[i], of[j]), u->A).token;
    statistics_apart(distance, second, n, 1, p);
    memory_free(distance);
    return 0;
}

/* Adds the mean over all pairs of models of these two schemes. distance (2, pairs): work. */
static int add_schemes(AttentionMaps *u, const char *x, const char *y, double *distance)
{
    size_t n = 0;
    for (size_t a = 0; a < u->models; a++)
        for (size_t b = a + 1; b < u->models; b++) {
            const char *p = scheme(u, a), *q = scheme(u, b);
            if (!(strcmp(p, x) == 0 && strcmp(q, y) == 0) &&
                !(strcmp(p, y) == 0 && strcmp(q, x) == 0))
                continue;
            HeadDistance d = head_sums_mean(sums(u, a, b), u->A);
            distance[n] = d.token;
            distance[u->pairs + n++] = d.once;
        }
    if (n == 0) return 0;
    Interval d = statistics_mean(distance, 1, n);
    double once = statistics_mean(distance + u->pairs, 1, n).mean;
    SchemeRow row = {x, y, n, d.mean, d.low, d.high, once, NAN};
    if (strcmp(x, y) != 0) TRY(find_apart(u, x, y, &row.p_apart));
    sheet_row(u->scheme, &row);
    return 0;
}

static int is_first(const AttentionMaps *u, size_t k)
{
    size_t j = 0;
    while (strcmp(scheme(u, j), scheme(u, k)) != 0) j++;
    return j == k;
}

static int make_tables(AttentionMaps *u)
{
    SCOPED(memory_drop) double *room = memory_new(2 * u->pairs, sizeof *room);
    if (!room) return ERR_MEMORY;
    for (size_t a = 0; a < u->models; a++)
        for (size_t b = a + 1; b < u->models; b++) add_pair(u, a, b);
    for (size_t a = 0; a < u->models; a++) /* each scheme with itself, then with the others */
        if (is_first(u, a)) TRY(add_schemes(u, scheme(u, a), scheme(u, a), room));
    for (size_t a = 0; a < u->models; a++)
        for (size_t b = a + 1; b < u->models; b++)
            if (is_first(u, a) && is_first(u, b))
                TRY(add_schemes(u, scheme(u, a), scheme(u, b), room));
    return 0;
}

static void print_words(const AttentionMaps *u, FILE *f)
{
    fprintf(
        f,
        "%zu models with %zu attention sublayers of %zu heads read %zu tokens of %s.\n"
        "distance is the earth mover's distance of the heads' distributions along the tokens, in tokens,\n"
        "summed over heads that are matched anew at every token: the mean over tokens, sublayers\n"
        "and pairs of models. matched_once matches the heads of a sublayer once for all tokens.\n"
        "low and high are the ends of the 95 %% interval over pairs (Student's t), which is too\n"
        "narrow, as pairs share models. p_apart is the p, over divisions of the models, of models\n"
        "of two schemes being no farther apart than models of one.\n\n",
        u->models, u->A, u->H, u->sum[0].tokens, options_text(u->options, "text"));
}

static int show(const AttentionMaps *u)
{
    Output o;
    const char *dir = options_text(u->options, "out");
    int csv = options_flag(u->options, "csv");
    if (!csv) print_words(u, stdout);
    TRY(sheet_write(csv ? u->pair : u->scheme, csv ? SHEET_CSV : SHEET_PLAIN, stdout));
    if (!dir) return 0;
    TRY(output_directory(dir));
    TRY(output_sheet(u->pair, SHEET_CSV, dir, "attention.csv"));
    TRY(output_sheet(u->scheme, SHEET_CSV, dir, "schemes.csv"));
    TRY(output_open(&o));
    print_words(u, o.f);
    return output_put(&o, sheet_write(u->scheme, SHEET_MARKDOWN, o.f), dir, "schemes.md");
}

static int draw(const AttentionMaps *u)
{
    const char *dir = options_text(u->options, "out");
    size_t longest = options_size(u->options, "longest"), pictures;
    TRY(output_directory(dir));
    TRY(maps_save(u->options, u->name, u->network, u->models, &u->text,
                  longest < u->T ? longest : u->T, &pictures));
    progress_note("%zu picture%s of where tokens look: %s/map-*", pictures,
                  pictures == 1 ? "" : "s", dir);
    return 0;
}

static int study(AttentionMaps *u)
{
    const char *text = options_text(u->options, "text");
    if (!text) return error_set(ERR_INPUT, "--text is needed");
    TRY(load(u));
    u->network[0].vocab.lines = 1;
    TRY(texts_read(&u->network[0], text, &u->text));
    if (u->models > 1) {
        TRY(make_room(u));
        TRY(read_all(u));
        progress_clear();
        TRY(make_tables(u));
        TRY(show(u));
    }
    return draws(u) ? draw(u) : 0;
}

static int run(Options *o)
{
    TRY(options_needs(o));
    AttentionMaps *u = memory_new(1, sizeof *u);
    if (!u) return ERR_MEMORY;
    u->options = o;
    u->T = options_size(o, "sequence");
    int code = study(u);
    close_study(u);
    memory_free(u);
    return code;
}

const Command command_attention = {
    .name = "attention",
    .purpose = "show where trained models look: distances and pictures",
    .about =
        "Measures how differently trained models spread their attention (Press, Smith, Levy 2020, section\n"
        "6). At every token it matches the heads of two models' i-th attention sublayers so that the sum of\n"
        "the earth mover's distances between matched heads is least; it averages that sum over tokens and\n"
        "sublayers. The table has the means over all pairs of models of each pair of schemes: baseline with\n"
        "baseline, sandwich with sandwich, baseline with sandwich. --csv prints every pair.\n"
        "\n"
        "Attention weights are mass on the tokens seen, and moving all of it by one token costs 1. The paper\n"
        "does not say what it moves; the size of the numbers in its table 7 fits differences of weights better.\n"
        "\n"
        "--out also draws where tokens look in the first lines of the text: a map for each attention\n"
        "sublayer, the mean over heads, or with --by-head a picture of each sublayer with a map for each\n"
        "head. One model is enough for that.\n"
        "\n"
        "Encoders of masked words ('train --objective masked') look at all tokens, also those ahead; they\n"
        "are compared line by line. The command does not read models that translate. Models need the same\n"
        "vocabulary, as many heads and as many attention sublayers (evaluations, where a scheme evaluates\n"
        "one several times).\n",
    .often = "model text tokens sentences by-head csv out",
    .example = "--model out/a --model out/b --text kjv:valid --out out/maps",
    .faster = "lower --tokens, --sequence",
    .groups = GROUPS(
        OPTION_GROUP(
            "Study", 1,
            {"model", OPTION_LIST, NULL, "DIR",
             "directory with model.safetensors and vocab.txt, or the .safetensors file; two or more for distances"},
            {"text", OPTION_TEXT, NULL, "FILE", "text that the models read" NETWORK_TEXTS},
            {"tokens", OPTION_SIZE, "2000", "N", "tokens of the text, up to the end of a block", 1,
             1e12},
            {"context", OPTION_CHOICE, "stream", "stream|sentence",
             "stream: the text in blocks; sentence: each line alone"},
            {"sequence", OPTION_SIZE, "64", "T", "longest block in tokens", 2, 4096},
            {"threads", OPTION_SIZE, "1", "N", "threads of the kernels; 0: one per core", 0, 1024}),
        OPTION_GROUP(
            "Output", 0, {"csv", OPTION_FLAG, NULL, NULL, "print every pair of models as CSV"},
            {"out", OPTION_TEXT, NULL, "DIR",
             "write attention.csv (pairs), schemes.csv, .md;"
             " and for each model maps.csv with pictures"},
            {"sentences", OPTION_SIZE, "1", "N",
             "draw pictures of the first N lines of the text; 0: none", 0, 1000},
            {"longest", OPTION_SIZE, "20", "T", "tokens of such a line at most", 1, 64},
            {"by-head", OPTION_FLAG, NULL, NULL,
             "draw a picture of each attention sublayer with a map for each head (otherwise the mean over heads)"},
            PLOT_FIGURE)),
    .kinds = KINDS(
        {.command = "attention",
         .title = "Distances between models' attention",
         .about = "Shows the earth mover's distance between the attention distributions of two "
                  "models' heads, matched one to one, over tokens and sublayers.",
         .table =
             {{"schemes", scheme_columns,
               "Means over pairs of models. Brackets hold 95 % intervals, which are too narrow "
               "where pairs share models.",
               KIND_ALL},
              {"attention", pair_columns, "Pairs of models.", KIND_MANY}}},
        {.command = "attention",
         .title = "Where models look",
         .about =
             "Shows attention weights in a few sentences: each row is a token, and the shading shows "
             "what it looks at.",
         .table = {{"maps", map_columns, "Attention weights.", 0}},
         .plot =
             {{"map-*",
               "Attention weights: rows are tokens that look, columns tokens looked at; each row has sum 1."}}}),
    .run = run,
};
