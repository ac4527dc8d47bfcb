/* dump.c: one model and what the engine makes of it, in files for peer_torch.py.
 *
 *   dump DIR SCHEME LAYERS relu|gelu tied|untied pre|post [ENCODER ENCODER_LAYERS]
 *
 * With an encoder's scheme SCHEME is the decoder's, and every sequence has a source.
 *
 * DIR/start.safetensors  parameters (all shaken, so that none is at a special value)
 * DIR/batch.json         packed sequences, loss, norm of the gradient, Adam's numbers
 * DIR/logits.f32         (N, V), of the start
 * DIR/gradient.safetensors, DIR/end.safetensors   of the mean loss; parameters after STEPS of Adam */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/bridge.h"
#include "kernels/error.h"
#include "kernels/file.h"
#include "kernels/memory.h"
#include "kernels/random.h"

enum { N = 24, M = 21, S = 3, V = 50, D = 32, INNER = 64, HEADS = 4, STEPS = 10 };
static const size_t start[S + 1] = {0, 10, 11, N}, source_start[S + 1] = {0, 7, 19, M};
static const AdamConfig adam = {
    .rate = 1e-2, .beta1 = 0.9, .beta2 = 0.997, .eps = 1e-5, .clip = 0.5};

typedef struct {
    const char *dir, *scheme, *encoder; /* NULL: a language model */
    size_t layers, encoder_layers;
    int act, untied, norms;
    Model *m;
    int32_t input[N], target[N], position[N], source[M], place[M];
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
                     .max_tokens = N,
                     .max_length = N,
                     .max_source = M,
                     .max_source_length = M,
                     .seed = 1};
    TRY(backend_find("cpu-f32", NULL, &b));
    TRY(zoo_open(&z));
    int code = zoo_find(&z, d->scheme, "euler", &t);
    if (code == 0 && d->encoder) code = zoo_find(&z, d->encoder, "euler", &above);
    zoo_close(&z);
    if (code == 0) code = above ? bridge_plan_pair(above, t, &o, &p) : bridge_plan(t, &o, &p);
    table_free(t);
    table_free(above);
    TRY(code);
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

static int dump_logits(Dump *d, const Batch *b)
{
    double *z = memory_new(N * V, sizeof *z);
    float *f = memory_new(N * V, sizeof *f);
    int code = z && f ? model_logits(d->m, b, z) : ERR_MEMORY;
    for (size_t i = 0; code == 0 && i < N * V; i++) f[i] = (float)z[i];
    if (code == 0) code = file_replace(path(d, "logits.f32"), f, N * V * sizeof *f);
    memory_free(z);
    memory_free(f);
    return code;
}

/* The gradient in the parameters' place, and back. */
static int dump_gradient(Dump *d)
{
    const Backend *b = model_backend(d->m);
    size_t n = model_size(d->m);
    void *data = b->alloc(n);
    if (!data) return ERR_MEMORY;
    b->copy(data, model_data(d->m), n);
    b->copy(model_data(d->m), model_grad(d->m), n);
    int code = store_save(d->m, path(d, "gradient.safetensors"), NULL, 0);
    b->copy(model_data(d->m), data, n);
    b->release(data);
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
    double loss, norm;
    TRY(build(d));
    TRY(shake(d));
    Batch b = batch(d);
    TRY(store_save(d->m, path(d, "start.safetensors"), NULL, 0));
    TRY(dump_logits(d, &b));
    for (uint64_t step = 1; step <= STEPS; step++) {
        TRY(model_gradient(d->m, &b, step, &loss));
        if (step == 1) TRY(dump_gradient(d));
        TRY(model_adam(d->m, &adam, step, &norm));
        if (step == 1) d->loss = loss, d->norm = norm;
    }
    TRY(store_save(d->m, path(d, "end.safetensors"), NULL, 0));
    return dump_batch(d);
}

int main(int argc, char **argv)
{
    if (argc != 7 && argc != 9) return 2;
    Dump d = {.dir = argv[1],
              .scheme = argv[2],
              .layers = strtoul(argv[3], NULL, 10),
              .act = strcmp(argv[4], "gelu") == 0 ? ACT_GELU : ACT_RELU,
              .untied = strcmp(argv[5], "untied") == 0,
              .norms = strcmp(argv[6], "post") == 0 ? NORM_POST : NORM_PRE,
              .encoder = argc > 7 ? argv[7] : NULL,
              .encoder_layers = argc > 7 ? strtoul(argv[8], NULL, 10) : 0};
    int code = dump(&d);
    if (code) fprintf(stderr, "dump: %s\n", error_text());
    model_free(d.m);
    return code != 0;
}
