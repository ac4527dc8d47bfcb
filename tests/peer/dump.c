/* dump.c: writes one model and the engine's results for it to files for peer_torch.py.
 *
 *   dump DIR BACKEND SCHEME LAYERS relu|gelu tied|untied pre|post   a language model
 *   dump ... ENCODER ENCODER_LAYERS    SCHEME is the decoder's, and every sequence has a source
 *   dump ... MASKED CLASSES SEGMENTS   an encoder alone (nn/model/encoder_ends.c); MASKED 0 or 1
 *
 * DIR/start.safetensors  parameters (all shaken, so that none is at a special value)
 * DIR/batch.json         packed sequences, tasks, loss, norm of the gradient, Adam's numbers
 * DIR/logits.f64         (N, V), at the start; for an encoder alone (ASKED, V), where it is masked
 * DIR/classes.f64        (S, C), for an encoder alone that has classes
 * DIR/gradient.safetensors  the loss's gradient
 * DIR/end.safetensors    parameters after STEPS of Adam */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/bridge.h"
#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/memory.h"
#include "kernels/base/random.h"
#include "nn/model/store.h"

enum { N = 24, M = 21, S = 3, V = 50, ASKED = 5, D = 32, INNER = 64, HEADS = 4, STEPS = 10 };
static const size_t start[S + 1] = {0, 10, 11, N}, source_start[S + 1] = {0, 7, 19, M};
static const AdamConfig adam = {
    .rate = 1e-2, .beta1 = 0.9, .beta2 = 0.997, .eps = 1e-5, .clip = 0.5};

typedef struct {
    const char *dir, *backend, *scheme, *encoder; /* encoder NULL: one side */
    size_t layers, encoder_layers;
    int act, untied, norms;
    int alone, masked; /* an encoder alone, and its task */
    size_t classes, segments;
    Model *m;
    int32_t input[N], target[N], position[N], source[M], place[M];
    int32_t row[ASKED], word[ASKED], segment[N], label[S];
    double value[S];
    double loss, norm;
} Dump;

static const char *path(const Dump *d, const char *name)
{
    static char p[4096];
    snprintf(p, sizeof p, "%s/%s", d->dir, name);
    return p;
}

static int build(Dump *d)
{
    Zoo z = {0};
    Table *t = NULL, *above = NULL;
    Plan *p;
    const Backend *b;
    BridgeOptions o = {.layers = d->layers,
                       .encoder_layers = d->encoder_layers,
                       .width = D,
                       .inner = INNER,
                       .match = MATCH_NONE,
                       .norm = d->norms};
    ModelConfig c = {.vocab = V,
                     .width = D,
                     .heads = HEADS,
                     .clip = 8,
                     .positions = POSITIONS_SINUSOID | POSITIONS_RELATIVE,
                     .untied = d->untied,
                     .act = d->act,
                     .masked = d->masked,
                     .classes = d->classes,
                     .segments = d->segments,
                     .max_tokens = N,
                     .max_length = N,
                     .max_source = M,
                     .max_source_length = M,
                     .seed = 1};
    TRY(backend_find(d->backend, NULL, &b));
    TRY(zoo_open(&z));
    int code = zoo_find(&z, d->scheme, "euler", &t);
    if (code == 0 && d->encoder) code = zoo_find(&z, d->encoder, "euler", &above);
    zoo_close(&z);
    if (code == 0) code = bridge_plan_pair(above, t, &o, &p);
    table_free(t);
    table_free(above);
    TRY(code);
    p->bidirectional = d->alone;
    return model_new(&c, p, b, 1, &d->m);
}

static int shake(Dump *d)
{
    size_t n = model_size(d->m);
    double *x = memory_new(n, sizeof *x);
    if (!x) return ERR_MEMORY;
    model_backend(d->m)->get(x, model_data(d->m), n);
    for (size_t i = 0; i < n; i++) x[i] += 0.1 * random_normal(7, 1, i);
    model_backend(d->m)->put(model_data(d->m), x, n);
    memory_free(x);
    return 0;
}

/* Asks every fifth row, so firsts of sequences too. A sequence's second half is another segment. */
static void ask(Dump *d, Batch *b)
{
    for (size_t k = 0; k < ASKED; k++) {
        d->row[k] = (int32_t)(5 * k);
        d->word[k] = (int32_t)random_below(3, 4, k, V);
    }
    for (size_t s = 0; s < S; s++) {
        for (size_t i = start[s]; i < start[s + 1]; i++)
            d->segment[i] = d->segments && 2 * (i - start[s]) >= start[s + 1] - start[s];
        if (d->classes) d->label[s] = (int32_t)random_below(3, 5, s, d->classes);
        d->value[s] = random_normal(3, 6, s);
    }
    b->target = NULL;
    b->asked.masked = d->masked;
    if (d->masked) b->asked.count = ASKED;
    b->asked.row = d->row;
    b->asked.word = d->word;
    if (d->segments) b->asked.segment = d->segment;
    if (d->classes > 1) b->asked.label = d->label;
    if (d->classes == 1) b->asked.value = d->value;
    b->asked.weight = (double)b->asked.count / S;
}

static Batch batch(Dump *d)
{
    for (size_t s = 0; s < S; s++)
        for (size_t i = start[s]; i < start[s + 1]; i++) {
            d->input[i] = (int32_t)random_below(3, 1, i, V);
            d->target[i] = (int32_t)random_below(3, 2, i, V);
            d->position[i] = (int32_t)(i - start[s]);
        }
    static size_t begin[S + 1], source_begin[S + 1];
    memcpy(begin, start, sizeof start);
    memcpy(source_begin, source_start, sizeof source_start);
    Batch b = {.N = N,
               .S = S,
               .longest = start[S] - start[S - 1],
               .input = d->input,
               .target = d->target,
               .position = d->position,
               .start = begin};
    if (d->alone) ask(d, &b);
    if (!d->encoder) return b;
    for (size_t s = 0; s < S; s++)
        for (size_t i = source_start[s]; i < source_start[s + 1]; i++) {
            d->source[i] = (int32_t)random_below(3, 3, i, V);
            d->place[i] = (int32_t)(i - source_start[s]);
        }
    b.source.N = M;
    b.source.longest = source_start[2] - source_start[1];
    b.source.input = d->source;
    b.source.position = d->place;
    b.source.start = source_begin;
    return b;
}

/* Writes n numbers of `tell` for a batch. */
static int dump_told(Dump *d, int tell(Model *, const Batch *, double *), const Batch *b, size_t n,
                     const char *name)
{
    double *z = memory_new(n, sizeof *z);
    int code = z ? tell(d->m, b, z) : ERR_MEMORY;
    if (code == 0) code = file_replace(path(d, name), z, n * sizeof *z);
    memory_free(z);
    return code;
}

/* Writes parameters; `data` may hold other numbers in their places. */
static int dump_tensors(Dump *d, void *data, const char *name)
{
    const Param *p;
    const Backend *b = model_backend(d->m);
    size_t n = model_params(d->m, &p);
    Tensor *t = memory_new(n, sizeof *t);
    if (!t) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        t[i] = (Tensor){p[i].name, p[i].rows, p[i].cols, NULL, b, backend_at(b, data, p[i].offset)};
    int code = tensors_write(path(d, name), t, n, (int)b->size, NULL, 0);
    memory_free(t);
    return code;
}

static void print_list(FILE *f, const char *name, int n, const int32_t *x)
{
    fprintf(f, "\"%s\": [", name);
    for (int i = 0; i < n; i++) fprintf(f, "%s%d", i ? ", " : "", x[i]);
    fprintf(f, "],\n");
}

static void print_starts(FILE *f, const char *name, const size_t x[S + 1])
{
    fprintf(f, "\"%s\": [%zu, %zu, %zu, %zu],\n", name, x[0], x[1], x[2], x[3]);
}

static void print_asked(FILE *f, const Dump *d)
{
    print_list(f, "row", ASKED, d->row);
    print_list(f, "word", ASKED, d->word);
    print_list(f, "segment", N, d->segment);
    print_list(f, "label", S, d->label);
    fprintf(f, "\"value\": [%.17g, %.17g, %.17g],\n", d->value[0], d->value[1], d->value[2]);
}

static int dump_batch(const Dump *d)
{
    FILE *f = fopen(path(d, "batch.json"), "w");
    if (!f) return error_set(ERR_SYSTEM, "cannot write in %s", d->dir);
    fprintf(f,
            "{\"scheme\": \"%s\", \"layers\": %zu, \"act\": \"%s\", \"heads\": %d, \"clip\": 8,\n",
            d->scheme, d->layers, d->act == ACT_RELU ? "relu" : "gelu", HEADS);
    print_starts(f, "start", start);
    print_list(f, "input", N, d->input);
    print_list(f, "target", N, d->target);
    fprintf(f, "\"masked\": %d, \"classes\": %zu, \"segments\": %zu,\n", d->masked, d->classes,
            d->segments);
    if (d->alone) print_asked(f, d);
    if (d->encoder) {
        fprintf(f, "\"encoder_layers\": %zu,\n", d->encoder_layers);
        print_starts(f, "source_start", source_start);
        print_list(f, "source", M, d->source);
    }
    fprintf(f, "\"loss\": %.17g, \"norm\": %.17g, \"steps\": %d,\n", d->loss, d->norm, STEPS);
    fprintf(f, "\"rate\": %g, \"beta\": [%g, %g], \"eps\": %g, \"limit\": %g}\n", adam.rate,
            adam.beta1, adam.beta2, adam.eps, adam.clip);
    return fclose(f) == 0 ? 0 : error_set(ERR_SYSTEM, "cannot write in %s", d->dir);
}

static int dump(Dump *d)
{
    Step s;
    TRY(build(d));
    TRY(shake(d));
    Batch b = batch(d);
    TRY(dump_tensors(d, model_data(d->m), "start.safetensors"));
    if (!d->alone || d->masked)
        TRY(dump_told(d, model_logits, &b, (d->alone ? ASKED : N) * V, "logits.f64"));
    if (d->classes) TRY(dump_told(d, model_classes, &b, S * d->classes, "classes.f64"));
    for (uint64_t step = 1; step <= STEPS; step++) {
        if (step == 1) TRY(model_gradient(d->m, &b, step, &d->loss));
        if (step == 1) TRY(dump_tensors(d, model_grad(d->m), "gradient.safetensors"));
        TRY(model_step(d->m, &b, &adam, step));
        TRY(model_tally(d->m, &s));
        if (step == 1) d->norm = s.norm;
    }
    TRY(dump_tensors(d, model_data(d->m), "end.safetensors"));
    return dump_batch(d);
}

int main(int argc, char **argv)
{
    if (argc != 8 && argc != 10 && argc != 11) return 2;
    int pair = argc == 10, alone = argc == 11;
    Dump d = {.dir = argv[1],
              .backend = argv[2],
              .scheme = argv[3],
              .layers = strtoul(argv[4], NULL, 10),
              .act = strcmp(argv[5], "gelu") == 0 ? ACT_GELU : ACT_RELU,
              .untied = strcmp(argv[6], "untied") == 0,
              .norms = strcmp(argv[7], "post") == 0 ? NORM_POST : NORM_PRE,
              .encoder = pair ? argv[8] : NULL,
              .encoder_layers = pair ? strtoul(argv[9], NULL, 10) : 0,
              .alone = alone,
              .masked = alone && strcmp(argv[8], "1") == 0,
              .classes = alone ? strtoul(argv[9], NULL, 10) : 0,
              .segments = alone ? strtoul(argv[10], NULL, 10) : 0};
    int code = dump(&d);
    if (code) fprintf(stderr, "dump: %s\n", error_text());
    model_free(d.m);
    return code != 0;
}
