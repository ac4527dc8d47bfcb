/* nn.h: language models. This header knows no ODE vocabulary: a model is a plan (plan.h) and a configuration.
 *
 * Reading order: plan.h (what a network is), engine.h (a model: parameters, memory, forward, backward, steps),
 * corpus.c (text), store.c (safetensors), train.c (the loop).
 */
#ifndef TROTTER_NN_H
#define TROTTER_NN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/backend.h"
#include "kernels/ranks.h"
#include "nn/text/bpe.h"
#include "nn/model/plan.h"

/* ---- corpus.c: text to token ids -------------------------------------------------------------- */

enum { SPLIT_TRAIN, SPLIT_VALID, SPLIT_TEST, SPLITS };
enum { CONTEXT_STREAM, CONTEXT_SENTENCE };
enum { LEVEL_WORD, LEVEL_CHAR, LEVEL_PIECE }; /* kind of a token; PIECE: part of a word (bpe.h) */

/* Ids follow the falling count in the training text, ties bytewise; order of first appearance would change when the
 * vocabulary is cut. <eos> and <unk> are ordinary words of this order. */
typedef struct {
    int level;           /* LEVEL_* */
    size_t size;         /* V */
    char **word;         /* (V), by id */
    void *index;         /* word -> id */
    int32_t eos;         /* id of <eos>: every line ends in it */
    int32_t unk;         /* id of <unk>, or -1 where the vocabulary has none */
    int32_t first, mask; /* ids of <cls> and <mask>, or -1 (nn/text/masking.h) */
    size_t advised; /* limit that keeps the words its training text repeats; 0: no text made it */
} Vocab;

/* What marks_replace replaced, and in how many lines. */
typedef struct {
    size_t tabs, tab_lines, marks, mark_lines;
} Replaced;

typedef struct {
    char *file;                   /* the text's origin, for messages */
    size_t tokens;                /* <eos> included */
    int32_t *id;                  /* (tokens) */
    size_t lines, blank, unknown; /* unknown: tokens of the text that became <unk> */
    size_t before;                /* lines of the file in front of this text */
    size_t inside; /* the first line with <eos> inside, counted from the file's 1; 0: none */
    size_t *written,
        writtens; /* (writtens) tokens that are such an <eos>, ascending; NULL where there are none */
    /* Tokens, in the text as read, that are pieces whose word goes on with the next token. So the text has tokens -
     * goes_on words, <eos> included. */
    size_t goes_on;
    Replaced replaced; /* before it was read */
} Text;

typedef struct {
    char *name;
    Vocab vocab;
    Text text[SPLITS];
    /* In a corpus of pairs line i of source[s] belongs to line i of text[s], the target; tokens = 0 elsewhere. */
    Text source[SPLITS];
    Bpe *bpe;        /* for LEVEL_PIECE the merges that cut its texts; else NULL */
    int files;       /* 1: the file of a Text holds its raw text */
    size_t left_out; /* pairs of the training text that corpus_leave_out took out */
    int marks;       /* CorpusChoice.marks */
    int single;      /* 1: its texts are parts of one file; each begins behind line Text.before */
    /* Nats a token (for pairs a target's token, given its source) where it is known, else NaN. */
    double entropy_rate;
} Corpus;

/* Opens `name`: a text file, whose lines are for training (the first .9), validation (then .05) and test (the last .05;
 * CorpusChoice.parts); a directory with train/valid/test text (NAME.txt, ptb.NAME.txt, wiki.NAME.tokens, NAME.tokens,
 * NAME, *NAME*.txt, *NAME*.tokens, the first of these that finds all three; valid may be val or dev; two files for one
 * '*' are an error), or a built-in name:
 *   "kjv" (King James text, vocabulary 10,000 cut by count);
 *   "markov[:V]" (a first-order Markov source: V states, 256 by default, one of them <eos>; sparse random transitions,
 *     drawn from `seed`; an exact entropy rate; ids are state numbers, <eos> 0, and there is no <unk>);
 *   "reverse[:V]" (pairs: the source is 12 out of V symbols, 26 by default, the target is the same reversed and exchanged
 *     by a permutation; all is drawn from `seed`; 20,000 pairs for training, 500 for each other text, none of them in
 *     training; <eos> is 0, no <unk>).
 * Words are separated by blanks or tabs; every line ends in <eos>; "\r\n" ends a line as "\n" does, and so does the end
 * of the file.
 * vocab_limit 0: no cut (10,000 for kjv); V >= 2: <eos>, <unk> and the V - 2 most frequent others. A token of valid or
 * test that the training text lacks becomes <unk>; where the vocabulary has no <unk> that is ERR_INPUT with file, line,
 * word and a limit that brings one. A NUL byte, an empty or missing file: ERR_INPUT.
 * LEVEL_CHAR: the tokens are the characters of the words (UTF-8; a byte that begins none counts as one), "_" between two
 * words of a line, <eos> at its end. The number of blanks is lost, and so is a written "_". <unk> is always there; the
 * vocabulary is cut only by a limit. markov and reverse do not allow it.
 * Caller: corpus_free; after an error *c holds nothing. */
int corpus_open(const char *name, int level, size_t vocab_limit, uint64_t seed, Corpus *c);

/* Opens a corpus with more choices. untested: the test text's file is not opened, the text stays empty (no id, no
 * file). eval_tokens: valid and test end with the line of their N-th token, and the corpus's name says so; 0: they are
 * whole. */
typedef struct {
    int level;
    size_t vocab_limit;
    uint64_t seed;
    int untested;
    size_t eval_tokens;
    /* The vocabulary ends in <cls> and <mask> (masking.h); a text that has either: ERR_INPUT. Not for pairs. */
    int marks;
    /* Languages of a directory of pairs: files NAME.LANGUAGE, NAME*.LANGUAGE or *NAME*.LANGUAGE, alike but for the
     * language. One vocabulary, with <unk>, serves both. Errors as bpe_check, so no tabs. NULL source: no pairs. */
    const char *source, *target;
    /* Cuts words in pieces, by `merges` merges learned from the training text (for pairs the source's followed by the
     * target's), or by the merges of the file `codes`; NULL and 0: words as they stand. The vocabulary holds pieces and
     * <unk>; kjv's is then not cut. Errors as bpe_check. For a directory or kjv, not with LEVEL_CHAR. "<eos>" and
     * "<unk>" are cut like other words. */
    const char *codes;
    size_t merges;
    /* Shares of one file's lines for training, validation and test, each above 0; they are divided by their sum
     * (single.c). All 0: PARTS_USUAL for one file. Other corpora need all 0, else ERR_INPUT. */
    double parts[SPLITS];
    int replace; /* 1: marks_replace first (--replace-marks), so that what bpe_check refuses is read */
} CorpusChoice;
#define PARTS_USUAL "0.9,0.05,0.05"
int corpus_choose(const char *name, const CorpusChoice *w, Corpus *c);
/* Takes out of the training text all pairs that are longer than T tokens on a side, <eos> included, and counts them in
 * left_out. */
void corpus_leave_out(Corpus *c, size_t T);
void corpus_free(Corpus *c);
const char *corpus_builtin(size_t i); /* names, NULL past the end */

/* vocab_read reads a vocabulary from a file with a token a line, in order of id (an empty line, two words on one, a
 * word twice, no <eos>: ERR_INPUT); the caller sets level. vocab_write writes as file_replace does. text_read reads a
 * file's text under a vocabulary. text_encode does so for text in memory, `file` serves messages; text_encode_part for
 * a part of a text, which has `before` lines in front. */
int vocab_read(const char *file, Vocab *v);
int vocab_write(const Vocab *v, const char *file);
uint64_t vocab_hash(
    const Vocab *v); /* FNV-1a (nn/text/hash.h) of the words by id, a NUL behind each */
int32_t vocab_find(const Vocab *v, const char *word, size_t bytes); /* -1: not there */
void vocab_free(Vocab *v);
int text_read(const char *file, const Vocab *v, Text *t);
/* Reads a text in pieces (bpe NULL: as it stands) from a file, from standard input ("-") or from kjv:train, kjv:valid,
 * kjv:test. replace: after marks_replace. */
int text_read_pieces(const char *file, const Bpe *bpe, int replace, const Vocab *v, Text *t);
/* Replaces, in place, what bpe_check refuses in a text of words: a tab by a blank, and the @s at the end of a word that
 * ends in "@@" by one, so that no word vanishes. Adds what it did to *r and returns the bytes that are left. */
size_t marks_replace(char *text, size_t bytes, Replaced *r);
int text_encode(const char *file, const char *bytes, size_t count, const Vocab *v, Text *t);
int text_encode_part(const char *file, size_t before, const char *bytes, size_t count,
                     const Vocab *v, Text *t);
/* Encodes such a part up to the end of the line that has the `most`-th token. */
int text_begin(const char *file, size_t before, const char *bytes, size_t count, size_t most,
               const Vocab *v, Text *t);
/* Checks that every line is a sentence. ERR_INPUT where <eos> is written inside a line. */
int text_sentences(const Text *t, int32_t eos);
/* Returns 0 where line i of both texts can be a pair, for all i. Unequal counts of lines, a line that is blank on one
 * side alone, <eos> written inside a line: ERR_INPUT with files, lines, counts. */
int text_pairs(const Text *source, const Text *target, int32_t eos);
void text_free(Text *t);

/* Returns the perplexity per word of a text, given the perplexity ppl per token: ppl^(predicted / words), words =
 * predicted - goes_on, <eos> included. `predicted` tokens were predicted, among them all that are in words. For words
 * as they stand it is ppl. It compares models that have different tokens, if their texts are the same. */
double text_word_ppl(const Text *t, size_t predicted, double ppl);
/* Counts the tokens that batches_new predicts: all, but in CONTEXT_SENTENCE no empty line's <eos>. */
size_t text_predicted(const Text *t, int32_t eos, int context);

/* Hashes (FNV-1a) what a run learns from and chooses by: the tokens of the training and validation texts and of their
 * sources. Two corpora that differ in one token have different hashes. */
uint64_t corpus_checksum(const Corpus *c);

/* Returns the perplexity of the text under the training text's add-one unigram counts, which a model reaches that
 * learned only the frequencies of words. With marks it counts words that can be masked, so without <eos>. NaN: out of
 * memory. */
double corpus_unigram(const Corpus *c, int split);

/* A batch: packed sequences (kernels/backend.h). The batch owns its arrays. */
typedef struct {
    size_t N, S, longest;
    int32_t *input, *target, *position; /* (N) */
    size_t *start;                      /* (S+1) */
    /* The source sequence of each of the S sequences, packed in the same way; N = 0 in a batch of a language model. */
    struct {
        size_t N, longest;
        int32_t *input, *position; /* (N) */
        size_t *start;             /* (S+1) */
    } source;
    /* For an encoder alone, whose batches have no target. A list that is NULL is absent. */
    struct {
        int masked;          /* the loss is the mean over masked words, else over sequences */
        size_t count;        /* masked words: */
        int32_t *row, *word; /* (count) rows, rising, and the words that stood there */
        int32_t *segment;    /* (N); NULL: all 0 */
        int32_t *label;      /* (S) classes */
        double *value;       /* (S) numbers */
        /* Weight of masked words and labels: words for each sequence of the whole batch. */
        double weight;
        size_t before; /* sequences of the whole batch that other ranks have before these */
    } asked;
} Batch;

/* Counts what the batch's mean loss averages over: rows, masked words, or sequences with a label. */
static inline size_t batch_asked(const Batch *x)
{
    int labelled = x->asked.label || x->asked.value;
    if (x->N == 0 || x->target) return x->N;
    return x->asked.masked ? x->asked.count : labelled ? x->S : 0;
}

/* Batches of a text. Their order is a function of (seed, epoch) alone. Evaluation (epoch < 0) goes in order and
 * predicts every token exactly once.
 *   stream, training: the text, begun with one <eos>, cut in blocks of T tokens, the first cut drawn
 *     in [0, T) each epoch (the first and last block may be short); no state goes from block to block, so the blocks
 *     are shuffled one by one; at most batch_tokens / T blocks a batch.
 *   stream, evaluation: one row, blocks of T tokens, the last one short; batches as above, in order.
 *   sentence: each line alone, starting from <eos>; blank lines skipped; longer ones cut at T, the
 *     rest going on from the token before it; sentences of similar length form batches of up to batch_tokens, whose
 *     order is drawn each epoch.
 * Every token (but a blank line's <eos> in sentence) is a target exactly once an epoch. Positions
 * begin at 0 in every sequence. t is borrowed until batches_free; T > batch_tokens: ERR_INPUT.
 * batches_new sets the evaluation order; batches_epoch allocates nothing.
 *
 * source (NULL or without tokens: t is a text alone): its line i belongs to line i of t, the target. A sequence is then
 * a whole pair of lines; a batch has at most batch_tokens rows on either side and pairs of similar length (both sides'
 * sum). Pairs that text_pairs refuses, pairs longer than T on a side (the message has both lengths), and
 * CONTEXT_STREAM: ERR_INPUT. */
typedef struct Batches Batches;
/* An encoder alone is asked this about a text (batches.c defines its sequences, masking.h its masked words). A
 * vocabulary that does not end in <cls> and <mask>: ERR_INPUT. */
enum { ASK_NEXT, ASK_MASKED, ASK_LABEL };
typedef struct {
    int what; /* ASK_MASKED, ASK_LABEL */
    /* masked: sequences are two segments; label 1: the second follows the first, else 0. */
    int next;
    int each; /* masked: every token alone, in a separate sequence; not with next */
    /* One value a line of the text, borrowed; ASK_LABEL has one of the two lists. A line that is too long loses its
     * end, the longer of two first. */
    const int32_t *label;
    const double *value;
} Asking;
/* Makes the batches. ask NULL: the target is every row's next word. */
int batches_new(const Text *t, const Text *source, const Vocab *v, const Asking *ask, int context,
                size_t batch_tokens, size_t T, uint64_t seed, Batches **out);
/* Returns the ERR_INPUT that batches_new would return, or 0, and allocates nothing. */
int batches_check(const Text *t, const Text *source, const Vocab *v, const Asking *ask, int context,
                  size_t batch_tokens, size_t T);
/* Counts the bytes that batches_new allocates for a text that batches_check accepts. */
size_t batches_bytes(const Text *t, const Text *source, const Vocab *v, const Asking *ask,
                     int context, size_t batch_tokens, size_t T);
void batches_epoch(Batches *b, long epoch);        /* sets the order */
size_t batches_count(const Batches *b);            /* batches in this epoch */
size_t batches_tokens(const Batches *b, size_t i); /* N of batch i < count */
size_t batches_asked(const Batches *b, size_t i);  /* batch_asked of batch i */
int batches_get(Batches *b, size_t i, Batch *out); /* borrowed until the next get */
void batches_free(Batches *b);

/* share.c. share_batch gives a rank of `size` ranks its share of a batch: consecutive whole sequences, cut where the
 * tokens divide best. Every rank has some where there are enough, and at most share_most rows. first: rows of the batch
 * before the share, by side. *out borrows from x and overwrites its starts; out == x allowed. Targets are divided; a
 * pair's source rows go with its target's. */
void share_batch(const Batch *x, int rank, int size, Batch *out, size_t first[SIDES]);
size_t share_most(size_t batch_tokens, size_t sequence, int size);

/* ---- model.c, pass.c, parts.c, weights.c, step.c: a model, forward, backward, steps -------------- */

enum { POSITIONS_SINUSOID = 1, POSITIONS_RELATIVE = 2 }; /* bits */
enum { TAILS_MOST = 8 };

typedef struct {
    size_t vocab, width, heads;
    int positions; /* bits of POSITIONS_*; 0: none */
    size_t clip;   /* longest distance of relative positions; usually 8 */
    int untied;    /* the output has a separate matrix, output.weight */
    /* 1: the last layer's output makes the logits without a norm; a post plan does so anyway. */
    int no_final_norm;
    int act; /* ACT_RELU, ACT_GELU */
    /* 1: ReLU in feed-forward sets 1, whatever act is, as in the public code of Macaron's BERT. */
    int first_relu;
    double dropout; /* on embedding, sublayer outputs, attention weights, activations */
    /* 1: attention weights and activations have separate rates. */
    int dropout_apart;
    double attention_dropout, activation_dropout;
    /* Drops whole source words: in training passes a row of the source's embedding is 0 with this probability, before
     * its position is added, and the others are divided by 1 minus it. Source: Sennrich, Haddow, Birch 2016 (WMT),
     * section 2.4; as Marian's --dropout-src. */
    double word_dropout;
    double smoothing;  /* label smoothing E in [0, 1), in training passes */
    size_t max_tokens; /* most rows N of a batch */
    size_t max_length; /* longest sequence */
    /* The same for the source of a plan of two sides; a plan of one side sets them to 0. */
    size_t max_source, max_source_length;
    uint64_t seed;
    /* Adaptive embedding and softmax (adaptive.c): words cut[0] .. cut[1]-1 are tail 1, and so on; the last tail goes
     * on to V. The cuts rise; the first is > 0, the last < V. */
    size_t tails, cut[TAILS_MOST];
    size_t factor; /* >= 1: tail i has width D / factor^i, rounded down */
    /* Adaptive attention spans (spans.c): S, the longest span in tokens, 0 without; R >= 1, the width over which the
     * mask falls to 0; lambda >= 0, the factor of their term in the loss. */
    size_t span, ramp;
    double span_loss;
    /* Keep only what EVALs read and make the rest again in backward: the same bits. */
    int recompute;
    /* Asks an encoder alone (heads.c) in a bidirectional plan. masked 1: the words at a batch's places; classes C > 0:
     * one of C classes for each sequence or, with C = 1, a number; neither: the next word of every row. segments: the
     * number of segments, each with an embedding; 0: none. */
    int masked;
    size_t classes, segments;
    /* A model with more numbers is refused with ERR_INPUT before it is built; 0: no limit. */
    size_t max_params;
} ModelConfig;

/* One named tensor: a window of the flat parameter buffer. */
typedef struct {
    char name[96];
    size_t rows, cols; /* cols = 0: a vector of `rows` */
    size_t offset, size;
} Param;

typedef struct Model Model;

/* Builds a model of a checked plan and initialises it (names and shapes of tensors: params.c; those of tails:
 * adaptive.c; those of spans: spans.c): embedding N(0, 1/d), linear layers (packed qkv as one matrix) Xavier uniform,
 * biases 0, norms 1 and 0, scalars as the plan says, gates 0, relative positions Xavier uniform. A parameter's draws
 * depend on (seed, its name) only, so two schemes share the values of the tensors they have in common. training 0: no
 * gradient or optimiser memory. Takes ownership of the plan in any case. Width not divisible by heads: ERR_INPUT. */
int model_new(const ModelConfig *config, Plan *plan, const Backend *backend, int training,
              Model **out);
void model_free(Model *m);

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
/* Count model_bytes and model_size of what model_new would build, without building it; the plan is taken likewise. */
int model_count(const ModelConfig *config, Plan *plan, const Backend *backend, int training,
                size_t *bytes, size_t *numbers);
size_t model_memory(const Model *m, int kind);
const char *model_memory_name(int kind);

/* Return flat device buffers of model_size numbers: parameters, gradients, Adam's moments. */
void *model_data(Model *m);
void *model_grad(Model *m);
void *model_moment(Model *m, int which); /* 0: m, 1: v */

/* Runs forward on a batch and computes the loss over its N targets. nll (N) host out, or NULL. mean: their mean. For an
 * encoder alone nll has the masked words, then the sequences with a label; mean is over batch_asked (0 if that is 0).
 * step numbers the dropout masks. train 1 runs as in training, with dropout and smoothed labels: the nll of a token is
 * then (1 - E) (-log p_target) + E / V sum_v -log p_v over all V words, the target among them. Source: Szegedy et al.
 * 2016, section 7. (Others, such as fairseq's label_smoothed_cross_entropy now, give E / (V - 1) to each word but the
 * target; their E is ours times (V - 1) / V.) train 0 switches both off: nll is -log p_target. */
int model_forward(Model *m, const Batch *b, int train, uint64_t step, double *nll, double *mean);
/* Runs forward and backward: model_grad is zeroed and filled with d (mean + term of spans) / d parameter. No reported
 * loss has that term (model_spans gives it). With masked words and labels the gradient is that of the sum of both means
 * (heads.c), and *mean is that of the words. */
int model_gradient(Model *m, const Batch *b, uint64_t step, double *mean);
/* Makes one Adam step with the gradients as they are. clip > 0 scales them to global norm <= clip; decay > 0 applies to
 * the tensors of model_decays (kernels/backend.h: adam). A norm that is not finite: ERR_NUMERIC, nothing changed. */
typedef struct {
    double rate, beta1, beta2, eps, clip, decay;
} AdamConfig;
int model_adam(Model *m, const AdamConfig *a, uint64_t step, double *grad_norm);
/* step.c. Computes the gradient and makes the Adam step, without waiting for the backend (model_step_part: with several
 * batches). model_tally reports the result: the sum of nll over all tokens since model_tally_set (which sets both) or
 * another pass, and the last norm. ERR_NUMERIC where a loss or norm was not finite; s->fault_step is that step,
 * s->fault says which, and no parameter has moved since. */
int model_step(Model *m, const Batch *b, const AdamConfig *a, uint64_t step);
/* A step in parts, given in order. The gradient is that of the mean over all their tokens, and Adam comes after the
 * last part. Masks differ from part to part: they are those of step (step - 1) most + part + 1 of a run without
 * parts. */
typedef struct {
    size_t part, parts; /* this part, from 0; number of parts in this step */
    size_t most;        /* parts of any step of the run, >= parts */
    size_t tokens;      /* tokens of all parts of this step */
    /* Ranks that each have a share of the batch, which may be empty. first: rows before the share; their masks belong
     * to other ranks. Gradients are summed over the ranks before Adam. NULL: one process alone. */
    size_t first[SIDES];
    Ranks *ranks;
} StepPart;
int model_step_part(Model *m, const Batch *b, const StepPart *part, const AdamConfig *a,
                    uint64_t step);
int model_tally(Model *m, Step *s);
void model_tally_set(Model *m, double loss, double norm);
/* Writes logits (N, V) host, dropout off; with tails log p, whose softmax is also p, or ERR_MEMORY. */
int model_logits(Model *m, const Batch *b, double *logits);
/* exact.c. Runs model_forward with train 0 and counts the sequences whose target is the most probable token in every
 * row (among equals the least id, as in greedy decoding). Allocates model_exact_bytes(V). */
int model_exact(Model *m, const Batch *b, double *mean, size_t *exact);
/* exact.c. Computes z (S, C) host, dropout off: logits of the sequences' classes; C = 1: numbers. */
int model_classes(Model *m, const Batch *b, double *z);
/* Runs model_forward with train 0 and counts the sequences whose label is the most probable class (the first among
 * equals). Allocates (S, C) numbers. */
int model_right(Model *m, const Batch *b, double *mean, size_t *right);
size_t model_exact_bytes(size_t V);
/* parts.c. These serve the bridge and tests: dropout off, host doubles, one sequence a side. model_sublayer applies one
 * sublayer slot (in a post plan without its norm) or one norm to x (N, D) and gives y (N, D). model_cross applies
 * cross-attention; its KEYS reads memory (M, D). model_run_pair runs the whole plan from r0 = x (N, D) and, with two
 * sides, r1 = source (M, D) to its output y (N, D). model_run_plan does so with M = N and the source behind x. */
int model_sublayer(Model *m, int slot, size_t N, const double *x, double *y);
int model_cross(Model *m, int slot, size_t N, const double *x, size_t M, const double *memory,
                double *y);
int model_run_pair(Model *m, size_t N, const double *x, size_t M, const double *source, double *y);
int model_run_plan(Model *m, size_t N, const double *x, double *y);
/* Embeds N tokens of a side, dropout off: y (N, D) host. A token or position not there: ERR_MISUSE. */
int model_embed(Model *m, int side, size_t N, const int32_t *token, double *y);
/* weights.c. Writes the attention weights of every self-attention sublayer on one sequence of N tokens, dropout off:
 * weights (A, H, N, N) host doubles out, A = plan_evals(plan, SLOT_ATTENTION), in the order of evaluation. Row i holds
 * a_i0 .. a_ii, sum 1, and zeros behind; in a bidirectional plan a_i0 .. a_i,N-1. They are those of kernels/backend.h,
 * with relative positions and spans. Tokens as model_embed. Allocates (N, 3 D) numbers. */
int model_attention(Model *m, size_t N, const int32_t *token, double *weights);
/* spans.c. For a model with spans, gives z (A, H) host out, the spans in tokens of the A attention slots in plan order;
 * *loss (may be NULL) = their term in the loss. */
void model_spans(const Model *m, double *z, double *loss);

/* ---- store.c: safetensors ---------------------------------------------------------------------- */

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

/* ---- schedule.c: learning rates ------------------------------------------------------------------- */

enum { SCHEDULE_INVERSE_SQRT, SCHEDULE_COSINE, SCHEDULE_LINEAR, SCHEDULE_CONSTANT, SCHEDULES };

typedef struct {
    int kind;        /* SCHEDULE_* */
    double peak;     /* > 0 */
    double end;      /* the last step's rate with COSINE and LINEAR, 0 .. peak */
    uint64_t warmup; /* w >= 0 steps */
    uint64_t steps;  /* T of the whole run, warm-up included; only COSINE and LINEAR read it */
} Schedule;

/* Returns the rate of step s = 1 .. T: peak s / w up to s = w, then the formula of the schedule's row (schedule.c gives
 * formula and source). All rows give the peak at s = w. Behind T the rate is the end. */
double schedule_rate(const Schedule *s, uint64_t step);
const char *schedule_name(int kind); /* "inverse-sqrt" */
int schedule_ends(int kind);         /* 1 where T and the end decide the rates */

/* ---- train.c: the loop -------------------------------------------------------------------------- */

typedef struct {
    uint64_t step, steps; /* steps done, of all steps */
    long epoch, epochs;   /* from 1 */
    size_t tokens;        /* trained so far */
    /* Mean of model_step's nll since the last log line, in nats, with smoothed labels. */
    double train_loss;
    double valid_ppl;   /* 0 except at a validation */
    double valid_exact; /* at a validation, for pairs, the share of exact sequences; else NaN */
    double valid_score; /* at a validation, the judge's score; else NaN */
    double rate, grad_norm, tokens_per_s, seconds_left;
    int best;   /* this validation is the best so far */
    int within; /* it is not an epoch's end */
} TrainReport;

typedef struct {
    int context;
    size_t batch_tokens, sequence;
    double rate;       /* peak */
    uint64_t warmup;   /* steps to it */
    int schedule;      /* SCHEDULE_*, from there on */
    double end_rate;   /* for a schedule that ends, else 0 */
    size_t accumulate; /* batches whose gradients make one step; 0 is 1 */
    long average;      /* 2 and more: the model is the mean of that many last epochs' ends */
    AdamConfig adam;   /* the schedule sets its rate */
    long epochs;
    uint64_t max_steps; /* 0: no limit */
    /* Steps between the validations that are added to those at epochs' ends. Each may give the best model, writes a row
     * of log.csv and saves the state. 0: none. */
    uint64_t eval_every;
    long patience; /* epochs without a better one after which the run ends; 0: never */
    uint64_t seed;
    const char *out; /* run directory, or NULL: nothing is written */
    /* NULL, or a file that has log.csv's rows as JSON lines (json_log.c); needs out */
    const char *log;
    const StoreText *meta; /* metadata of model.safetensors */
    size_t meta_count;
    int resume;         /* continue from out/state.safetensors */
    double log_seconds; /* progress at most this often */
    /* Called once before the first step, when files and state are in order; NULL: not called. */
    void (*begin)(void *arg);
    /* Called for progress and at each validation (valid_ppl > 0 then). */
    void (*report)(void *arg, const TrainReport *r);
    void *arg;
    /* NULL, or called at each validation, not with ranks: *score out is the model's score. The best epoch then has the
     * largest score, not the least validation perplexity. log.csv has it as valid_score. */
    int (*judge)(void *arg, Model *m, double *score);
    const volatile int *stop; /* set by a signal handler: save state and return ERR_INTERRUPTED */
    /* (SPLITS) the task of an encoder alone on each text; NULL: the next words */
    const Asking *ask;
    Ranks *ranks; /* ranks that train this model together, or NULL */
} TrainConfig;

typedef struct {
    long best_epoch; /* the last one averaged, where the model is a mean */
    long averaged;   /* epochs' ends in the mean; 0: the model is the best epoch's */
    /* Perplexities of the model; test: read once, NaN without one. */
    double valid_ppl, test_ppl;
    double valid_exact, test_exact; /* the share of exact sequences (evaluation_exact) */
    double tokens_per_s;            /* training only, without evaluation */
    size_t peak_bytes;              /* peak memory of the process */
    uint64_t steps;                 /* done; in `begin`: of the whole training */
    struct {
        uint64_t steps;
        double seconds, waited; /* time of training; the part of it spent waiting for other ranks */
    } here;                     /* done by this call */
} TrainResult;

/* Trains m on c; m ends with the best epoch's weights. Writes out/log.csv, out/model.safetensors at
 * each new best validation perplexity, out/state.safetensors at each validation and when stopped,
 * out/vocab.txt. A non-finite loss or gradient: ERR_NUMERIC with step and epoch, the last good model
 * file kept. Resuming needs the options, network and corpus of the run before (ERR_INPUT), but for
 * epochs and max_steps (these too, where the schedule ends with the run); with the same number of
 * threads the result is that of an uninterrupted run, bit for bit. A file that cannot be written ends
 * the run with its error, the old one intact.
 *
 * accumulate K: a step takes the gradient of the mean over all tokens of K consecutive batches (an epoch's last step
 * may have fewer). Each batch has separate dropout masks; memory is that of one batch.
 *
 * ranks: all ranks call this with the same options and text; each trains on its share of every batch and reads its
 * share of the validation and test texts. The loss curve equals that of one process to rounding; a run resumed with as
 * many ranks and threads repeats it bit for bit. Rank 0 alone reads and writes `out`. A failure or a stop of one rank
 * ends all, after the same step.
 *
 * average N (needs out): out/epoch-E.safetensors is written at each epoch's end, and those before the last N are
 * removed, so N files of the model's size remain. In the end m and out/model.safetensors are their mean (of fewer in a
 * shorter run), and it reads the validation and test texts. Source: Vaswani et al. 2017, section 6.1;
 * average_checkpoints.py of fairseq. */
int train_run(Model *m, const Corpus *c, const TrainConfig *config, TrainResult *result);
/* Counts the steps of a whole training; of config it reads what decides the batches and the length. */
int train_length(const Corpus *c, const TrainConfig *config, uint64_t *steps);

/* Reads the step after which a run's state, DIR/state.safetensors, was saved. ERR_INPUT where the file has none. */
int train_saved_step(const char *file, uint64_t *step);

/* Returns 0 where TrainConfig.log can be this file: it can be written, and it is a log already, is empty, or is missing
 * (then it is made). Else ERR_INPUT, naming it. */
int train_log_check(const char *file);

/* ---- evaluate.c: what a model makes of a text ------------------------------------------------------ */

typedef struct {
    double mean; /* nll in nats a token; for an encoder alone a masked word or a label */
    size_t tokens;
    /* Pairs, and how many are exact: at every place, <eos> too, the right token is the most probable one after the
     * right ones before it. So greedy decoding gives it. For sequences with a class: the sequences, and those whose
     * class is the most probable one. 0 for a text alone. */
    size_t pairs, exact;
} Evaluation;

/* Returns the share of the pairs that are exact; NaN for a text alone. */
double evaluation_exact(const Evaluation *e);

/* Evaluates a model on a text (source and ask as in batches_new); every token is predicted once. Pairs with a language
 * model, or a text alone with a model that needs a source: ERR_INPUT. */
int train_eval(Model *m, const Text *t, const Text *source, const Vocab *v, const Asking *ask,
               int context, size_t batch_tokens, size_t sequence, Evaluation *e);

#endif
