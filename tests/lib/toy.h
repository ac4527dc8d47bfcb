/* toy.h: trainings on a toy corpus. Every line is the same cycle of words, so that a word tells the next
 * one and a model reaches a perplexity near 1. */
#ifndef TROTTER_TESTS_TOY_H
#define TROTTER_TESTS_TOY_H

#include <sys/stat.h>

#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

enum { EPOCHS = 3, PATH = 512 };

static Corpus corpus;

static inline char *path(char out[PATH], const char *directory, const char *name)
{
    snprintf(out, PATH, "%s/%s/%s", folder, directory, name);
    return out;
}

static inline void write_text(const char *name, int lines)
{
    char text[1024] = "";
    for (int i = 0; i < lines; i++) strcat(text, "a b c d e f g h i\n");
    file_text(name, text);
}

static inline int set_up(void **state)
{
    backend_threads(1);
    if (scratch_open(state) || mkdir(file_path("corpus"), 0777)) return -1;
    write_text("corpus/train.txt", 30);
    write_text("corpus/valid.txt", 7);
    write_text("corpus/test.txt", 5);
    return corpus_choose(file_path("corpus"), &(CorpusChoice){LEVEL_WORD, 0, 1}, &corpus);
}

static inline int tear_down(void **state)
{
    corpus_free(&corpus);
    return scratch_close(state);
}

/* A run and what its callback does. */
typedef struct {
    TrainConfig t;
    Model *m;
    char out[PATH];
    int stop;
    uint64_t stop_at; /* step after which to stop; 0: never */
    int poison_epoch; /* epoch after which a weight becomes NaN; 0: none */
    int level_epoch;  /* epoch after which all weights become 0.1; 0: none */
    double epoch_ppl; /* validation perplexity after that epoch */
    int reports, epochs;
    double last_loss, last_rate;
    TrainResult result;
} Trial;

static inline void watch(void *arg, const TrainReport *r)
{
    Trial *a = arg;
    double s = (double)r->step, w = (double)a->t.warmup;
    if (a->t.schedule == SCHEDULE_INVERSE_SQRT)
        assert_true(r->rate == (s <= w ? a->t.rate * s / w : a->t.rate * sqrt(w / s)));
    if (schedule_ends(a->t.schedule) && r->step == r->steps) assert_true(r->rate == a->t.end_rate);
    assert_true(r->step <= r->steps && r->epoch <= r->epochs && r->tokens > 0);
    assert_true(r->train_loss > 0 && r->grad_norm > 0 && r->seconds_left >= 0);
    a->reports++;
    a->epochs += r->valid_ppl > 0;
    a->last_loss = r->train_loss;
    a->last_rate = r->rate;
    if (r->step == a->stop_at) a->stop = 1;
    if (r->valid_ppl > 0 && r->epoch == a->poison_epoch)
        model_backend(a->m)->fill(model_data(a->m), NAN, model_size(a->m));
    if (r->valid_ppl > 0 && r->epoch == a->level_epoch) {
        a->epoch_ppl = r->valid_ppl;
        model_backend(a->m)->fill(model_data(a->m), 0.1, model_size(a->m));
    }
}

/* What the model's layers are. toy_penalised adds a penalty on the whole step of tiny_residual. */
static Plan *(*toy_plan)(void) = tiny_residual;
static inline Plan *toy_penalised(void)
{
    Plan *p = tiny_residual();
    plan_end(p);
    int d = plan_lin(p, 2, (PlanTerm[]){{.c = 1, .x = p->output}, {.c = -1, .x = 0}});
    assert_int_equal(plan_penalty(p, .5, d, 0), 0);
    return p;
}

static inline Model *new_model(const char *backend)
{
    const Backend *b;
    Model *m;
    ModelConfig c = tiny_config();
    c.vocab = corpus.vocab.size;
    c.dropout = 0.1;
    c.max_tokens = 40;
    c.max_length = 10;
    assert_int_equal(backend_find(backend, NULL, &b), 0);
    assert_int_equal(model_new(&c, toy_plan(), b, 1, &m), 0);
    return m;
}

/* Sets up a training of 300 tokens, 40 a step. out: a name below the root, or NULL. */
static inline void trial_init(Trial *a, const char *out, int context)
{
    static const StoreText meta[] = {{"scheme", "toy"}};
    *a = (Trial){.t = {.context = context,
                       .batch_tokens = 40,
                       .sequence = 10,
                       .rate = 0.02,
                       .warmup = 5,
                       .adam = {.beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1},
                       .epochs = EPOCHS,
                       .seed = 5,
                       .meta = meta,
                       .meta_count = 1,
                       .report = watch}};
    if (out) mkdir(path(a->out, out, ""), 0777);
}

/* Trains and leaves the model in a->m, which the caller frees. */
static inline int run_keep_model(Trial *a, const char *backend)
{
    a->m = new_model(backend);
    a->t.out = *a->out ? a->out : NULL;
    a->t.arg = a;
    a->t.stop = &a->stop;
    return train_run(a->m, &corpus, &a->t, &a->result);
}

static inline int run_on(Trial *a, const char *backend)
{
    int code = run_keep_model(a, backend);
    model_free(a->m);
    return code;
}

static inline int run(Trial *a)
{
    return run_on(a, "cpu-f32");
}

/* Evaluates a split as runs do. */
static inline Evaluation evaluated(Model *m, int split, int context)
{
    Evaluation e;
    assert_int_equal(
        train_eval(m, &corpus.text[split], NULL, &corpus.vocab, NULL, context, 40, 10, &e), 0);
    return e;
}

static inline void assert_same_file(const char *a, const char *b, const char *name)
{
    assert_true(same_files(formed("%s/%s", a, name), formed("%s/%s", b, name)));
}

/* Returns the log without its eighth column, tokens_per_s. */
static inline char *log_of(const char *directory)
{
    size_t at = 0, column = 0;
    char *x = file_slurp(formed("%s/log.csv", directory), NULL);
    for (const char *c = x; *c; c++) {
        column = *c == '\n' ? 0 : column + (*c == ',');
        if (column != 7) x[at++] = *c;
    }
    x[at] = 0;
    return x;
}

static inline void assert_same_state(const char *a, const char *b, const char *backend)
{
    char file[PATH];
    OWN_MODEL *m = new_model(backend), *r = new_model(backend);
    assert_int_equal(store_load_state(m, path(file, a, "state.safetensors")), 0);
    assert_int_equal(store_load_state(r, path(file, b, "state.safetensors")), 0);
    assert_true(tiny_same(m, model_data(m), r, model_data(r)));
    assert_true(tiny_same(m, model_moment(m, 0), r, model_moment(r, 0)));
    assert_true(tiny_same(m, model_moment(m, 1), r, model_moment(r, 1)));
}

static inline void assert_same_run(const char *a, const char *b, const Trial *x, const Trial *y)
{
    char *p = log_of(a), *q = log_of(b);
    assert_string_equal(p, q);
    assert_same_file(a, b, "model.safetensors");
    assert_int_equal(x->result.best_epoch, y->result.best_epoch);
    assert_int_equal(x->result.steps, y->result.steps);
    assert_true(x->result.valid_ppl == y->result.valid_ppl);
    assert_true(x->result.test_ppl == y->result.test_ppl);
}

/* Stops the run that `init` sets up after a step, lets another process's run go on, and compares its files and its state
 * with those of the whole run in directory `full`. */
static inline void assert_resumes(void (*init)(Trial *a, const char *out), const char *full,
                                  const Trial *whole, uint64_t step, const char *backend)
{
    Trial part;
    char name[64];
    snprintf(name, sizeof name, "%s-%d", full, (int)step);
    init(&part, name);
    part.stop_at = step;
    assert_int_equal(run_on(&part, backend), ERR_INTERRUPTED);
    init(&part, name);
    part.t.resume = 1;
    assert_int_equal(run_on(&part, backend), 0);
    assert_same_run(full, name, whole, &part);
    assert_same_state(full, name, backend);
}

#endif
