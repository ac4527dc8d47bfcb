/* tiny.h: small networks and batches for the tests of nn/: every instruction of a plan, every way to
 * share, old registers, learned factors. */
#ifndef TROTTER_TESTS_TINY_H
#define TROTTER_TESTS_TINY_H

#include "kernels/base/scoped.h"
#include "nn/nn.h"

/* Variables that are freed where their block ends: OWN_MODEL *m, *r; OWN_NUMBERS *x; OWN_CORPUS c; */
#define OWN_MODEL SCOPED(model_drop) Model
#define OWN_NUMBERS SCOPED(memory_drop) double
#define OWN_PLAN SCOPED(plan_drop) Plan
#define OWN_BPE SCOPED(bpe_drop) Bpe
#define OWN_BATCHES SCOPED(batches_drop) Batches
#define OWN_CORPUS SCOPED(corpus_free) Corpus
#define OWN_VOCAB SCOPED(vocab_free) Vocab
#define OWN_TEXT SCOPED(text_free) Text
#define OWN_BYTES SCOPED(memory_drop) char

/* Makes a text whose tokens name their place: token i is i + 1, except line ends, which are 0. A mean line has 8
 * tokens, some lines are blank, and one has 300. */
Text tiny_placed(uint64_t seed, size_t tokens);

enum {
    TINY_WIDTH = 8,
    TINY_HEADS = 2,
    TINY_INNER = 12,
    TINY_VOCAB = 11,
    TINY_ROWS = 13,
    TINY_MASKED = 5,
    TINY_SOURCE = 12
};

typedef struct {
    const char *name;
    Plan *(*build)(void);
} TinyPlan;

/* Plans of language models, of an encoder with its decoder, and of both. Tests loop over them; a NULL name ends
 * each. */
extern const TinyPlan tiny_plans[], tiny_pairs[], tiny_all[];

/* Makes r0 + k1 - k2, both of one slot of `kind` at r0. k1's draw is 0, k2's is `draw`. */
Plan *tiny_identity(int kind, int draw);
/* Tasks of encoders alone. masked = classes = 0 ends the list. */
typedef struct {
    int masked;
    size_t classes, segments;
} TinyHead;
extern const TinyHead tiny_heads[];
/* tiny_encoder returns the plan as it is, but bidirectional. tiny_head_config returns the configuration with the tasks
 * of h. */
Plan *tiny_encoder(Plan *p);
ModelConfig tiny_head_config(ModelConfig c, const TinyHead *h);

/* Networks whose words decide how many rows their products have: adaptive softmax (4 words in the head, tails of 3 and
 * 4), and encoders alone. A NULL name ends the list. */
typedef struct {
    const char *name;
    int adaptive, untied;
    double smoothing;
    TinyHead head;
} TinyEnds;
extern const TinyEnds tiny_ends[];
ModelConfig tiny_ends_config(const TinyEnds *e);
Plan *tiny_ends_plan(const TinyEnds *e);

/* Makes y = r0 + F(r0), then y + G(y). */
Plan *tiny_residual(void);
/* Makes the transformer of Vaswani et al. 2017 with a layer on either side: F, G; F, C, G. */
Plan *tiny_transformer(int post);

/* Returns sinusoids and relative positions (clip 2), GELU, tied, dropout 0.2. */
ModelConfig tiny_config(void);
/* The same with RMS norms, SwiGLU, rotary positions and one head of keys for two of queries. */
ModelConfig tiny_today(void);
/* The same without biases, with heads of 6 numbers, 12 in all where the width is 8, and with norms of each head's queries and
 * keys; a plan of two sides has neither. */
ModelConfig tiny_latest(const Plan *plan);
/* The same with fields changed: TINY_WITH(c.untied = 1, c.dropout = 0). */
#define TINY_WITH(...)                 \
    __extension__({                    \
        ModelConfig c = tiny_config(); \
        (void)(__VA_ARGS__);           \
        c;                             \
    })

/* Returns 13 rows, packed as 5 + 1 + 7. The arrays are static. */
Batch tiny_batch(void);
/* Adds a source of 12 rows, packed as 4 + 7 + 1, for a model of two sides. */
Batch tiny_batch_of(const Model *m);
/* Returns batches of a model: 'a' is tiny_batch_of; 'b' is 'a' without the last sequence; 'c' is 'a' with other words,
 * of which others, and fewer, are masked. */
Batch tiny_batch_as(const Model *m, char which);
/* Asks an encoder alone about the same rows: five words where it is masked, and a label of every sequence where it has
 * classes. */
Batch tiny_asked(const ModelConfig *c);
/* Returns sequence s of a batch alone. Its beginnings are in start. */
Batch tiny_one(const Batch *b, size_t s, size_t start[2 * SIDES]);

/* Adds 0.3 N(0, 1) to every parameter, so that none is at a special value. */
void tiny_shake(Model *m, uint64_t seed);

/* Returns n numbers of a device buffer, from element `at`, as host doubles. Caller: memory_free. */
double *tiny_get(const Model *m, const void *x, size_t at, size_t n);

/* Return the logits of a batch, the gradient and the parameters that a model holds, in the same way. */
double *tiny_logits(Model *m, const Batch *b);
double *tiny_gradient(Model *m);
double *tiny_numbers(Model *m);

/* Returns 1 where buffers of as many numbers as there are parameters hold the same bits. */
int tiny_same(const Model *m, const void *x, const Model *r, const void *y);

/* Returns the values of the tensor of this name, as tiny_get does; NULL where there is none. */
double *tiny_tensor(Model *m, const char *name);

/* ---- texts --------------------------------------------------------------------------------------------- */

/* Returns a text with a blank between tokens. It is good until the next call. */
const char *tiny_spell(const Vocab *v, const Text *t);
int tiny_same_text(const Text *a, const Text *b);

/* tiny_open opens a corpus, or fails the test. tiny_opens only tries. tiny_refuse checks that one is refused with these
 * words, and that nothing is left of it. */
Corpus tiny_open(const char *name, CorpusChoice w);
void tiny_opens(const char *name, CorpusChoice w);
void tiny_refuse(const char *name, CorpusChoice w, const char *words);

#endif
