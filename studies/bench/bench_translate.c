/* bench_translate.c: `trotter bench translate`: times beam search and a peer's, in turns.
 *
 * The network is a transformer of random weights. Sources have a given number of tokens and <eos>, outputs exactly as
 * many and <eos>, so that everybody does the same work. The ends and the outputs of a search are not compared with a
 * peer.
 */
#include <omp.h>
#include <stdio.h>

#include "kernels/base/clock.h"
#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "nn/decode/search.h"
#include "studies/bench/bench.h"
#include "studies/model/network.h"
#include "studies/base/progress.h"

enum { PIECE = 3, LEAST_ROUNDS = 3, LONGEST = 1024, MOST_ROWS = 1 << 20 };

const OptionGroup bench_translate_group = {
    "Translation", 1,
    OPTIONS({"beam", OPTION_SIZE, "5", "K", "hypotheses kept for each sentence", 1, 100},
            {"length", OPTION_SIZE, "14", "T",
             "tokens of each source and each output, without <eos>", 1, LONGEST},
            {"sentences", OPTION_SIZE, "64", "N", "sentences searched together", 1, 4096})};

typedef struct {
    size_t beam, length, sentences;
} Load;

/* A search that is timed; all of it is zero before. */
typedef struct {
    const Options *o;
    const Backend *backend;
    const BlockSize *size;
    BenchReport *out;
    Load p;
    Model *m;
    Beam *beam;
    Batch x;
    Sample time; /* seconds of a batch */
    ScriptSpeed peer;
} Search;

/* ---- building --------------------------------------------------------------------------------------- */

static int new_sources(const Load *p, size_t V, Batch *x)
{
    size_t n = p->length + 1, N = p->sentences * n;
    x->S = p->sentences;
    x->source.N = N;
    x->source.longest = n;
    x->source.input = memory_new(2 * N, sizeof *x->source.input);
    x->source.start = memory_new(x->S + 1, sizeof *x->source.start);
    if (!x->source.input || !x->source.start) return ERR_MEMORY;
    x->source.position = x->source.input + N;
    for (size_t i = 0; i < N; i++) {
        size_t place = i % n;
        x->source.position[i] = (int32_t)place;
        if (place < n - 1) x->source.input[i] = 1 + (int32_t)random_below(1, 5, i, V - 1);
    }
    for (size_t s = 0; s <= x->S; s++) x->source.start[s] = s * n;
    return 0;
}

static int new_model(Search *s)
{
    const BlockSize *b = s->size;
    size_t rows = s->p.sentences * s->p.beam * (s->p.length + 1);
    BridgeOptions bridge = {.layers = b->layers, .width = b->D, .inner = b->M};
    ModelConfig config = {.vocab = b->V,
                          .width = b->D,
                          .heads = b->H,
                          .positions = POSITIONS_SINUSOID,
                          .max_tokens = rows,
                          .max_length = s->p.length + 1,
                          .max_source = rows,
                          .max_source_length = s->p.length + 1,
                          .seed = 1};
    SCOPED(zoo_close) Zoo z = {0};
    Table *encoder = NULL, *decoder = NULL;
    Plan *plan = NULL;
    TRY(zoo_open(&z));
    int code = zoo_find(&z, "transformer", "euler", &encoder);
    if (code == 0) code = zoo_find_decoder(&z, "transformer", "euler", &decoder);
    if (code == 0) code = bridge_plan_pair(encoder, decoder, &bridge, &plan);
    table_free(encoder);
    table_free(decoder);
    return code ? code : model_new(&config, plan, s->backend, 0, &s->m);
}

static int open_search(Search *s)
{
    const Load *p = &s->p;
    if (p->sentences * p->beam * (p->length + 1) > MOST_ROWS)
        return error_set(ERR_INPUT,
                         "%zu sentences, a beam of %zu and %zu tokens: more than %d tokens in all",
                         p->sentences, p->beam, p->length, MOST_ROWS);
    BeamConfig config = {.beam = p->beam,
                         .nbest = 1,
                         .penalty = PENALTY_NONE,
                         .min_length = p->length,
                         .max_length = p->length,
                         .eos = 0,
                         .sentences = p->sentences};
    TRY(new_sources(p, s->size->V, &s->x));
    TRY(new_model(s));
    return beam_new(s->m, &config, &s->beam);
}

static void close_search(Search *s)
{
    beam_free(s->beam);
    model_free(s->m);
    memory_free(s->x.source.input);
    memory_free(s->x.source.start);
}

/* ---- contenders ------------------------------------------------------------------------------------- */

static int ignore(void *arg, size_t sentence, size_t count, const Hypothesis *best)
{
    (void)arg, (void)sentence, (void)count, (void)best;
    return 0;
}

static int time_search(Search *s)
{
    for (int i = 0; i < PIECE; i++) {
        double start = bench_time(s->backend);
        TRY(beam_search(s->beam, &s->x, ignore, NULL));
        sample_add(&s->time, bench_time(s->backend) - start);
    }
    return 0;
}

static void time_peer(Search *s)
{
    const BlockSize *b = s->size;
    if (!options_text(s->o, "peer")) return;
    const ScriptNumber number[] = {{"--d", b->D},
                                   {"--ffn", b->M},
                                   {"--heads", b->H},
                                   {"--layers", b->layers},
                                   {"--vocab", b->V},
                                   {"--beam", s->p.beam},
                                   {"--length", s->p.length},
                                   {"--sentences", s->p.sentences},
                                   {"--steps", PIECE},
                                   {"--warmup", 1},
                                   {"--threads", (size_t)omp_get_max_threads()},
                                   {0}};
    script_run(s->out, s->o, s->backend, (const char *const[]){NULL}, number, "sentences_per_s",
               &s->peer);
}

/* Runs untimed searches, then rounds until the budget is spent, the first LEAST_ROUNDS in any case. */
static int measure(Search *s)
{
    double start = clock_now(), budget = options_real(s->o, "budget");
    size_t most = options_size(s->o, "repeats");
    TRY(open_search(s));
    TRY(time_search(s));
    s->time.n = 0;
    for (size_t r = 0; r < most; r++) {
        if (r >= LEAST_ROUNDS && clock_now() - start > budget) break;
        progress_show("beam %zu, %zu tokens, %zu sentences, round %zu", s->p.beam, s->p.length,
                      s->p.sentences, r + 1);
        TRY(time_search(s));
        time_peer(s);
    }
    sample_close(&s->time);
    script_close(&s->peer);
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------------- */

typedef struct {
    size_t beam, length, sentences;
    double speed, low, high; /* sentences a second */
    double tokens;           /* target tokens a second, with <eos> */
    double peer, best;       /* the peer as it stands, and in its fastest way */
    double to_peer, to_best;
} Figures;

static const Column figure_columns[] = {
    COLUMN(Figures, beam),
    COLUMN(Figures, length),
    COLUMN(Figures, sentences),
    FIELD(Figures, "sentences/s", speed, .digits = 4),
    FIELD(Figures, "from", low, .digits = 4),
    FIELD(Figures, "to", high, .digits = 4),
    FIELD(Figures, "tokens/s", tokens, .form = SHEET_FIXED),
    COLUMN(Figures, peer, .digits = 4),
    FIELD(Figures, "ratio", to_peer, .form = SHEET_FIXED, .digits = 2),
    COLUMN(Figures, best, .digits = 4),
    FIELD(Figures, "ratio", to_best, .form = SHEET_FIXED, .digits = 2),
    {0}};

static void put_search(const Search *s)
{
    double n = (double)s->p.sentences;
    char at[32], prefix[64];
    Figures f = {.beam = s->p.beam,
                 .length = s->p.length,
                 .sentences = s->p.sentences,
                 .speed = n / s->time.q[1],
                 .low = n / s->time.q[2],
                 .high = n / s->time.q[0],
                 .peer = script_plain(&s->peer, s->backend),
                 .best = script_best(&s->peer, NULL)};
    f.tokens = f.speed * (double)(s->p.length + 1);
    f.to_peer = f.speed / f.peer;
    f.to_best = f.speed / f.best;
    const BenchFigure figure[] = {{"sentences_per_s", "sentences/s", f.speed},
                                  {"sentences_per_s.low", "sentences/s", f.low},
                                  {"sentences_per_s.high", "sentences/s", f.high},
                                  {"tokens_per_s", "target tokens/s", f.tokens},
                                  {"peer.best.ratio", "times", f.to_best}};
    sheet_number(n, at);
    snprintf(prefix, sizeof prefix, "translate.%s.%s.base", s->backend->name, s->size->name);
    bench_figures(s->out, at, prefix, sizeof figure / sizeof *figure, figure);
    script_rows(s->out, at, prefix, "sentences/s", f.speed, &s->peer);
    sheet_row(s->out->table, &f);
}

static int fill(const Options *o, BenchReport *out)
{
    const int size = options_choice(o, "size"); /* both, or one */
    SCOPED(memory_drop) Search *s = memory_new(1, sizeof *s);
    if (!s) return ERR_MEMORY;
    s->o = o;
    s->out = out;
    s->size = &pair_sizes[size ? size - 1 : 0];
    s->p = (Load){options_size(o, "beam"), options_size(o, "length"), options_size(o, "sentences")};
    int code = network_backend(o, &s->backend);
    if (code == 0) {
        bench_value(out, s->backend->kernel, omp_get_max_threads(), "threads", "machine.threads");
        code = measure(s);
    }
    if (code == 0) put_search(s);
    close_search(s);
    return code;
}

int bench_translate(const Options *o)
{
    return bench_tell(o, "translate", figure_columns, fill);
}
