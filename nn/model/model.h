/* model.h: a model, made of a plan (plan.h) and a configuration, and its files. */
#ifndef TROTTER_MODEL_H
#define TROTTER_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/backend.h"
#include "kernels/base/scoped.h"
#include "nn/model/plan.h"

/* ---- model.c, params.c: a model ------------------------------------------------------------------- */

enum {
    POSITIONS_SINUSOID = 1,
    POSITIONS_RELATIVE = 2,
    POSITIONS_LEARNED = 4,
    POSITIONS_ROTARY = 8
}; /* bits */
enum { TAILS_MOST = 8, WINDOWS_MOST = 128 };
/* Biases of sublayers that a model lacks, bits: of queries, keys and values; of attention's output; of feed-forward networks. */
enum { NO_BIAS_QKV = 1, NO_BIAS_OUT = 2, NO_BIAS_FFN = 4, NO_BIAS = 7 };

typedef struct {
    size_t vocab, width, heads;
    /* words of the source alone, rows of the embedding behind the `vocab` that are predicted */
    size_t source_vocab;
    /* K, heads of keys and values in self-attention, which divides heads; 0: heads */
    size_t kv_heads;
    /* E, numbers of a head of self-attention; 0: width / heads. With another, attention's output has H E numbers. */
    size_t head_width;
    /* 1: each head's queries and keys are RMS norms of themselves before they turn, with gains (E) that all heads share
     * (query-key norm: Dehghani et al. 2023, arXiv:2302.05442, section 2; in this form Qwen 3, arXiv:2505.09388). */
    int head_norm;
    double rotary_base; /* 0: 10000 */
    /* Turns of a sequence that is longer than the model was first trained on (params.c): a factor, and, unless they are
     * 0, how many turns in how many positions stay as they are: slow, fast, positions; then, of YaRN, what queries and keys are
     * multiplied by. All 0: none. */
    double rotary_scaling[5];
    /* R: only numbers e and e + E/2 of a head turn, e < R/2, with w_e = base^(-2 e / R); 0: all E. */
    size_t rotary_part;
    /* Self-attention of layer l sees the last window[l mod windows] tokens, its own included; 0: all. On the processor alone,
     * where a sequence is longer; of language models alone. windows 0: all layers see all. */
    size_t windows, window[WINDOWS_MOST];
    /* Base of the rotary positions of layers with a window, which are not scaled; 0: as the others. */
    double rotary_local;
    int positions;   /* bits of POSITIONS_*; 0: none */
    size_t clip;     /* longest distance of relative positions; usually 8 */
    int no_bias;     /* bits of NO_BIAS_*: linear layers of sublayers without biases */
    int untied;      /* the output has a separate matrix, output.weight */
    int output_bias; /* 1: a bias of each word's logit, output.bias, of language models; encoders have it where they are masked */
    /* 1: the last layer's output makes the logits without a norm; a post plan does so anyway. */
    int no_final_norm;
    int act;         /* ACT_RELU, ACT_GELU, ACT_ERF, ACT_SWIGLU, ACT_GEGLU */
    int plain_input; /* 1: a word's row enters as it is, else times sqrt(D) */
    int norm;        /* NORM_LAYER, NORM_RMS: of every norm */
    double norm_eps; /* 0: 1e-5 */
    /* 1: ReLU in feed-forward sets 1, whatever act is, as in the public code of Macaron's BERT. */
    int first_relu;
    double dropout; /* on embedding, sublayer outputs, attention weights, activations */
    /* 1: attention weights and activations have separate rates. */
    int dropout_apart;
    double attention_dropout, activation_dropout;
    double smoothing;  /* label smoothing E in [0, 1), in training passes */
    size_t max_tokens; /* most rows N of a batch */
    size_t max_length; /* longest sequence */
    /* The same for the source of a plan of two sides; a plan of one side sets them to 0. */
    size_t max_source, max_source_length;
    uint64_t seed;
    /* Adaptive embedding and softmax (adaptive_softmax.c): words cut[0] .. cut[1]-1 are tail 1, and so on; the last tail goes
     * on to V. The cuts rise; the first is > 0, the last < V. */
    size_t tails, cut[TAILS_MOST];
    size_t factor; /* >= 1: tail i has width D / factor^i, rounded down */
    /* Keep only what EVALs read and make the rest again in backward: the same bits. */
    int recompute;
    /* Asks an encoder alone (encoder_ends.c) in a bidirectional plan. masked 1: the words at a batch's places; classes C > 0:
     * one of C classes for each sequence or, with C = 1, a number; neither: the next word of every row. segments: the
     * number of segments, each with an embedding; 0: none. */
    int masked;
    size_t classes, segments;
    /* A model with more numbers is refused with ERR_INPUT before it is built; 0: no limit. */
    size_t max_params;
} ModelConfig;

/* Returns E, the numbers of a head. */
static inline size_t model_head_width(const ModelConfig *c)
{
    return c->head_width ? c->head_width : c->width / c->heads;
}

/* One named tensor: a window of the flat parameter buffer. */
typedef struct {
    char name[96];
    size_t rows, cols; /* cols = 0: a vector of `rows` */
    size_t offset, size;
} Param;

typedef struct Model Model;

/* Builds a model of a plan and initialises it (names and shapes of tensors: params.c; those of tails:
 * adaptive_softmax.c): embedding N(0, 1/d), linear layers (packed qkv as one matrix) Xavier uniform,
 * biases 0, norms 1 and 0, scalars as the plan says, gates 0, relative positions Xavier uniform, learned positions as
 * the embedding. A parameter's draws
 * depend on (seed, its name) only, so two schemes share the values of the tensors they have in common. training 0: no
 * gradient or optimiser memory. Takes ownership of the plan in any case. Width not divisible by heads, without
 * head_width: ERR_INPUT. */
int model_new(const ModelConfig *config, Plan *plan, const Backend *backend, int training,
              Model **out);
void model_free(Model *m);
DROP(Model, model)

const ModelConfig *model_config(const Model *m);
/* Returns 1 where no feed-forward network has ReLU, so that sublayers have all derivatives. */
int model_smooth(const Model *m);
const Plan *model_plan(const Model *m);
const Backend *model_backend(const Model *m);
size_t model_params(const Model *m, const Param **list);   /* count of tensors, list borrowed */
const Param *model_find(const Model *m, const char *name); /* NULL: no tensor has this name */
size_t model_size(const Model *m);                         /* count of numbers */

/* Returns 1 where weight decay applies to a tensor: a matrix of several rows. These are weights of sublayers,
 * embeddings (also the output's matrix where it is tied) and relative positions. It does not apply to biases, gains of
 * norms, or what a scheme learns. */
int model_decays(const Param *p);

/* Memory of all buffers, counted when the model is built; no pass allocates more. Shared memory is divided into kinds
 * at the moment of a training step (or a pass) when most is alive. Workspace: logits, tables, and what sharing could
 * not use. */
enum {
    MEMORY_PARAMETERS,
    MEMORY_GRADIENTS,
    MEMORY_MOMENTS,
    MEMORY_ACTIVATIONS, /* made by forward: registers, insides of sublayers */
    MEMORY_ADJOINTS,
    MEMORY_WORKSPACE,
    MEMORY_KINDS
};
size_t model_bytes(const Model *m);
/* Makes what model_new would build without its memory, to be counted: its plan, tensors and bytes are told, and it runs
 * nothing. The plan is taken likewise. */
int model_count(const ModelConfig *config, Plan *plan, const Backend *backend, int training,
                Model **out);
size_t model_memory(const Model *m, int kind);
const char *model_memory_name(int kind);

/* Return flat device buffers of model_size numbers: parameters, gradients, Adam's moments. */
void *model_data(Model *m);
void *model_grad(Model *m);
void *model_moment(Model *m, int which); /* 0: m, 1: v */

/* begin.c. Sets the parameters of m that a trained model `from` has too, by their names; the others stay. Rows of words
 * (embedding, output) go by word (V of m): the number of each word in `from`, or SIZE_MAX, whose rows stay; NULL: the words are the same. *taken out:
 * the number of tensors. ERR_INPUT for a tensor of another shape and for adaptive ends of other words, m untouched. */
int model_begin(Model *m, Model *from, const size_t *word, size_t *taken);

/* ---- store_model.c: safetensors ------------------------------------------------------------------ */

typedef struct {
    char *key, *value;
} StoreText;

/* Writes a model's parameters (f32) with metadata, atomically: a temporary file beside it, synced,
 * then renamed; an old file stays intact on any failure (ERR_SYSTEM). Adds the metadata "checksum"
 * (nn/model/store.h). The program must ignore SIGXFSZ, or a file size limit ends it. */
int store_save(const Model *m, const char *file, const StoreText *meta, size_t count);
/* Reads one metadata value of a file: caller frees *value (memory_free); missing: ERR_INPUT. It reads the header only
 * and checks that half of the checksum. */
int store_meta(const char *file, const char *key, char **value);
/* Gives each metadata value but the checksum to `each`, whose code other than 0 ends it. Checks as store_meta. */
typedef int StoreEach(void *arg, const char *key, const char *value);
int store_metas(const char *file, StoreEach *each, void *arg);
/* Loads every parameter of m by name, F32 or F64; a missing, extra or misshapen tensor, a truncated
 * or altered header, a checksum that does not fit, a number that is not finite: ERR_INPUT with words, m
 * untouched. */
int store_load(Model *m, const char *file);
/* Loads into an encoder with classes what it shares with a differently trained encoder: classes.* stay as they are, and
 * so do pool.* and segment.* where the file lacks them. Other tensors of the file, such as a head for masked words, are
 * ignored. */
int store_load_encoder(Model *m, const char *file);
/* Sets the parameters of m to the mean of those in count >= 1 files. It sums in double in the files' order (equal files
 * give their own numbers), which takes 16 bytes a number. As store_load, m untouched on error. */
int store_average(Model *m, const char *const *file, size_t count);
/* Save and load parameters, moments ("moment.0.NAME", "moment.1.NAME") and a run's numbers (metadata) in the element
 * type, for an exact resume. store_load_state demands a checksum. A file of the other element type: ERR_INPUT; a model
 * built without training: ERR_MISUSE. */
int store_save_state(const Model *m, const char *file, const StoreText *meta, size_t count);
int store_load_state(Model *m, const char *file);

#endif
