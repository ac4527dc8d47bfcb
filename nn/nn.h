/* nn.h: language models. Knows no ODE vocabulary: a model is a plan (plan.h) and a configuration.
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
#include "nn/bpe.h"
#include "nn/plan.h"

/* ---- corpus.c: text to token ids -------------------------------------------------------------- */

enum { SPLIT_TRAIN, SPLIT_VALID, SPLIT_TEST, SPLITS };
enum { CONTEXT_STREAM, CONTEXT_SENTENCE };
enum { LEVEL_WORD, LEVEL_CHAR, LEVEL_PIECE }; /* what a token is; PIECE: one of a word (bpe.h) */

/* Ids in order of first appearance are not stable under a cut vocabulary, so ids are by falling
 * count in the training text, ties bytewise; <eos> and <unk> are ordinary words of this order. */
typedef struct {
    int level;           /* LEVEL_* */
    size_t size;         /* V */
    char **word;         /* (V), by id */
    void *index;         /* word -> id */
    int32_t eos;         /* id of <eos>: every line ends in it */
    int32_t unk;         /* id of <unk>, or -1 where the vocabulary has none */
    int32_t first, mask; /* of <cls> and <mask>, as of <unk> (nn/masking.h) */
    size_t advised; /* limit that keeps the words its training text repeats; 0: it is of no text */
} Vocab;

typedef struct {
    char *file;                   /* where it came from, for messages */
    size_t tokens;                /* <eos> included */
    int32_t *id;                  /* (tokens) */
    size_t lines, blank, unknown; /* unknown: tokens of the text that became <unk> */
    size_t before;                /* lines of the file in front of this text */
    size_t inside; /* the first line with <eos> inside, counted from the file's 1; 0: none */
    /* Tokens that are pieces whose word goes on with the next one, in the text as it was read: so it has tokens - goes_on
     * words, <eos> included. */
    size_t goes_on;
} Text;

typedef struct {
    char *name;
    Vocab vocab;
    Text text[SPLITS];
    /* In a corpus of pairs line i of source[s] belongs to line i of text[s], the target; tokens = 0 elsewhere. */
    Text source[SPLITS];
    Bpe *bpe;        /* of LEVEL_PIECE: the merges that cut its texts; else NULL */
    int files;       /* 1: the file of a Text is that of its raw text */
    size_t left_out; /* pairs of the training text that corpus_leave_out took out */
    int marks;       /* CorpusChoice.marks */
    int single;      /* 1: its texts are parts of one file, from the line behind Text.before on */
    /* Nats a token where it is known (a target's token, given its source), else NaN. */
    double entropy_rate;
} Corpus;

/* Opens `name`: a text file, of whose lines the first .9 are for training, then .05 for validation, then .05 for test
 * (CorpusChoice.parts); a directory with train/valid/test text (NAME.txt, ptb.NAME.txt, wiki.NAME.tokens,
 * NAME.tokens, NAME, *NAME*.txt, *NAME*.tokens, the first of these that finds all three; valid may be
 * val or dev; two files for one '*' are an error), or a built-in name: "kjv" (King James text,
 * vocabulary 10,000 cut by count), or "markov[:V]" (a first-order Markov source with <eos> as one of
 * its V states, 256 by default, sparse random transitions, drawn from `seed`; its entropy rate is
 * exact; ids are state numbers, <eos> 0, and there is no <unk>), or "reverse[:V]" (pairs: 12 of V symbols, 26 by
 * default, and the same reversed and exchanged by a permutation, all drawn from `seed`; 20,000 pairs of training,
 * 500 of each other text, none of which is in training; <eos> is 0, no <unk>). Words are separated by blanks or
 * tabs; every line ends in <eos>; "\r\n" ends a line as "\n" does, and so does the end of the file.
 * vocab_limit 0: no cut (10,000 for kjv); V >= 2: <eos>, <unk> and the V - 2 most frequent others. A
 * token of valid or test that the training text lacks becomes <unk>; where the vocabulary has no
 * <unk> that is ERR_INPUT with file, line, word and a limit that brings one. A NUL byte, an empty
 * or missing file: ERR_INPUT.
 * LEVEL_CHAR: the tokens are the characters (UTF-8; a byte that begins none is one by itself) of the
 * words, "_" between two words of a line, <eos> at its end; how many blanks there were, and a written
 * "_", is lost. <unk> is always there; no cut unless a limit says so. Not for markov and reverse.
 * Caller: corpus_free; after an error *c holds nothing. */
int corpus_open(const char *name, int level, size_t vocab_limit, uint64_t seed, Corpus *c);

/* The same with more to choose. untested: the test text's file is not opened, it stays empty (no id, no file).
 * eval_tokens: valid and test end with the line of their N-th token, which the name tells; 0: they are whole. */
typedef struct {
    int level;
    size_t vocab_limit;
    uint64_t seed;
    int untested;
    size_t eval_tokens;
    int marks; /* the vocabulary ends in <cls> and <mask> (masking.h); a text that has either: ERR_INPUT. Not of pairs. */
    /* Pairs of a directory: files NAME.LANGUAGE, NAME*.LANGUAGE or *NAME*.LANGUAGE, alike but for the language, under one
     * vocabulary, which has <unk>; bpe_check's errors, so no tabs. NULL source: no pairs. */
    const char *source, *target;
    /* Words in pieces, by `merges` merges learned from the training text (of pairs the source's followed by the target's), or
     * by those of the file `codes`; NULL and 0: words as they stand. The vocabulary is of pieces and has <unk>; kjv's is not
     * cut then. bpe_check's errors. Of a directory or kjv, not with LEVEL_CHAR. "<eos>" and "<unk>" are cut as other words. */
    const char *codes;
    size_t merges;
    /* Of one file: shares of its lines for training, validation and test, each above 0, to be divided by their sum (single.c).
     * All 0: PARTS_USUAL for one file. Of anything else not 0: ERR_INPUT. */
    double parts[SPLITS];
} CorpusChoice;
#define PARTS_USUAL "0.9,0.05,0.05"
int corpus_choose(const char *name, const CorpusChoice *w, Corpus *c);
/* Takes out of the training text all pairs that are longer than T tokens on a side, <eos> included, and counts them in
 * left_out. */
void corpus_leave_out(Corpus *c, size_t T);
void corpus_free(Corpus *c);
const char *corpus_builtin(size_t i); /* names, NULL past the end */

/* Vocabulary of a file with a token a line, in order of id (an empty line, two words on one, a word
 * twice, no <eos>: ERR_INPUT); level is for the caller to set; text of a file under a vocabulary.
 * text_encode: text in memory, `file` being for messages; text_encode_part: a part of it, which has
 * `before` lines in front. vocab_write: as file_replace. */
int vocab_read(const char *file, Vocab *v);
int vocab_write(const Vocab *v, const char *file);
uint64_t vocab_hash(const Vocab *v); /* FNV-1a (nn/hash.h) of the words by id, a NUL behind each */
int32_t vocab_find(const Vocab *v, const char *word, size_t bytes); /* -1: not there */
void vocab_free(Vocab *v);
int text_read(const char *file, const Vocab *v, Text *t);
/* The same in pieces (bpe NULL: as it stands), of a file, of standard input ("-") or of kjv:train, kjv:valid, kjv:test. */
int text_read_pieces(const char *file, const Bpe *bpe, const Vocab *v, Text *t);
int text_encode(const char *file, const char *bytes, size_t count, const Vocab *v, Text *t);
int text_encode_part(const char *file, size_t before, const char *bytes, size_t count,
                     const Vocab *v, Text *t);
/* Such a part, up to the end of its line with the `most`-th token. */
int text_begin(const char *file, size_t before, const char *bytes, size_t count, size_t most,
               const Vocab *v, Text *t);
/* ERR_INPUT where <eos> is written inside a line, so that a line is not a sentence. */
int text_sentences(const Text *t, int32_t eos);
/* 0 where line i of one text and line i of the other can be a pair, for all i. Unequal counts of lines, a line that
 * is blank on one side alone, <eos> written inside a line: ERR_INPUT with files, lines, counts. */
int text_pairs(const Text *source, const Text *target, int32_t eos);
void text_free(Text *t);

/* Perplexity per word of a text of which `predicted` tokens were predicted, all that are in words among them, with
 * perplexity ppl per token: ppl^(predicted / words), words = predicted - goes_on, <eos> included. Words as they stand: ppl. It
 * compares models whose tokens differ, if their texts are the same. */
double text_word_ppl(const Text *t, size_t predicted, double ppl);
/* Tokens that batches_new predicts in a text alone: all, but in CONTEXT_SENTENCE no <eos> of an empty sentence. */
size_t text_predicted(const Text *t, int32_t eos, int context);

/* A hash of what a run learns from and chooses by: the tokens of the training and the validation text, and of their
 * sources (FNV-1a). Two corpora that differ in one token have different ones. */
uint64_t corpus_checksum(const Corpus *c);

/* Perplexity of the text under the training text's add-one unigram counts: what a model that learned
 * only the frequencies of words reaches. With marks: of words that can be masked, so without <eos>. NaN: out of memory. */
double corpus_unigram(const Corpus *c, int split);

/* A batch: packed sequences (kernels/backend.h). Arrays are owned by the batch. */
typedef struct {
    size_t N, S, longest;
    int32_t *input, *target, *position; /* (N) */
    size_t *start;                      /* (S+1) */
    /* The source sequence of each of the S sequences, packed alike; N = 0 in a batch of a language model. */
    struct {
        size_t N, longest;
        int32_t *input, *position; /* (N) */
        size_t *start;             /* (S+1) */
    } source;
    /* Of an encoder alone, whose batches have no target. Lists that are NULL are not there. */
    struct {
        int masked;          /* the loss is the mean over masked words, else over sequences */
        size_t count;        /* masked words: */
        int32_t *row, *word; /* (count) rows, rising, and what stood there */
        int32_t *segment;    /* (N); NULL: all 0 */
        int32_t *label;      /* (S) classes */
        double *value;       /* (S) numbers */
        double weight; /* of masked words and labels: words for each sequence of the whole batch */
        size_t before; /* sequences of it that other ranks have before these */
    } asked;
} Batch;

/* What the mean of a batch's loss is over: rows, masked words, or sequences with a label. */
static inline size_t batch_asked(const Batch *x)
{
    int labelled = x->asked.label || x->asked.value;
    if (x->N == 0 || x->target) return x->N;
    return x->asked.masked ? x->asked.count : labelled ? x->S : 0;
}

/* Batches of a text, in an order that is a function of (seed, epoch) alone; epoch < 0: evaluation,
 * in order, every token predicted exactly once.
 *   stream, training: the text, begun with one <eos>, cut in blocks of T tokens, the first cut drawn
 *     in [0, T) each epoch (the first and last block may be short); as no state is carried from block
 *     to block, the blocks are shuffled one by one; at most batch_tokens / T blocks a batch.
 *   stream, evaluation: one row, blocks of T tokens, the last one short; batches as above, in order.
 *   sentence: each line alone, starting from <eos>; blank lines skipped; longer ones cut at T, the
 *     rest going on from the token before it; sentences of like length batched up to batch_tokens,
 *     order of batches drawn each epoch.
 * Every token (but a blank line's <eos> in sentence) is a target exactly once an epoch. Positions
 * begin at 0 in every sequence. t is borrowed until batches_free; T > batch_tokens: ERR_INPUT.
 * batches_new sets the evaluation order; batches_epoch allocates nothing.
 *
 * source (NULL or without tokens: t is a text alone): line i of it belongs to line i of t, the target. A sequence is
 * then a pair of lines, whole; at most batch_tokens rows a batch on either side, pairs of like length (both sides'
 * sum) batched. Pairs that text_pairs refuses, longer ones than T on either side (told with both lengths), and
 * CONTEXT_STREAM: ERR_INPUT. */
typedef struct Batches Batches;
/* What an encoder alone is asked of a text (batches.c has what its sequences are, masking.h which words are masked). A
 * vocabulary that does not end in <cls> and <mask>: ERR_INPUT. */
enum { ASK_NEXT, ASK_MASKED, ASK_LABEL };
typedef struct {
    int what; /* ASK_MASKED, ASK_LABEL */
    int next; /* masked: sequences are two segments, and a label 1 tells that the second follows the first, else 0 */
    int each; /* masked: every token by itself, in a sequence of its own; not with next */
    /* Of the text's lines, borrowed; one of them, of ASK_LABEL. A line that is too long loses its end, the longer of two first. */
    const int32_t *label;
    const double *value;
} Asking;
/* ask NULL: every row's next word. */
int batches_new(const Text *t, const Text *source, const Vocab *v, const Asking *ask, int context,
                size_t batch_tokens, size_t T, uint64_t seed, Batches **out);
/* What batches_new would refuse, before anything is allocated: 0 or its ERR_INPUT. */
int batches_check(const Text *t, const Text *source, const Vocab *v, const Asking *ask, int context,
                  size_t batch_tokens, size_t T);
/* Bytes that batches_new allocates for a text that batches_check accepts. */
size_t batches_bytes(const Text *t, const Text *source, const Vocab *v, const Asking *ask,
                     int context, size_t batch_tokens, size_t T);
void batches_epoch(Batches *b, long epoch);        /* sets the order */
size_t batches_count(const Batches *b);            /* batches in this epoch */
size_t batches_tokens(const Batches *b, size_t i); /* N of batch i < count */
size_t batches_asked(const Batches *b, size_t i);  /* what batch_asked of it is */
int batches_get(Batches *b, size_t i, Batch *out); /* borrowed until the next get */
void batches_free(Batches *b);

/* share.c. Of a batch, what a rank of `size` ranks has: whole sequences in a row, the ends where they
 * divide the tokens best; every rank has some where there are as many, and at most share_most rows.
 * first: the rows before, of either side. *out borrows from x, whose starts it spoils; out == x allowed. A pair's
 * source rows go with its target's, which are divided. */
void share_batch(const Batch *x, int rank, int size, Batch *out, size_t first[SIDES]);
size_t share_most(size_t batch_tokens, size_t sequence, int size);

/* ---- model.c, pass.c, parts.c, weights.c, step.c: a model, forward, backward, steps -------------- */

enum { POSITIONS_SINUSOID = 1, POSITIONS_RELATIVE = 2 }; /* bits */
enum { TAILS_MOST = 8 };

typedef struct {
    size_t vocab, width, heads;
    int positions; /* bits of POSITIONS_*; 0: none */
    size_t clip;   /* of relative positions: 8 */
    int untied;    /* output.weight of its own */
    int no_final_norm; /* 1: the logits are of the last layer's output as it is; of a post plan that is so anyway */
    int act; /* ACT_RELU, ACT_GELU */
    int first_relu; /* 1: ReLU in feed-forward sets 1, whatever act is; so the public code of Macaron's BERT */
    double dropout; /* on embedding, sublayer outputs, attention weights, activations */
    /* 1: attention weights and activations have rates of their own. */
    int dropout_apart;
    double attention_dropout, activation_dropout;
    /* Of a source, whole words: in training passes a row of its embedding is 0 with this probability, before its
     * position is added, and the others are divided by 1 less it. Source: Sennrich, Haddow, Birch 2016 (WMT), section
     * 2.4; as Marian's --dropout-src. */
    double word_dropout;
    double smoothing;  /* E in [0, 1) of the labels, in training passes */
    size_t max_tokens; /* most rows N of a batch */
    size_t max_length; /* longest sequence */
    /* The same of the source, of a plan of two sides; of one side 0, whatever is given. */
    size_t max_source, max_source_length;
    uint64_t seed;
    /* Adaptive embedding and softmax (adaptive.c): words cut[0] .. cut[1]-1 are tail 1, and so on; the last
     * goes on to V. Rising, the first > 0, the last < V. */
    size_t tails, cut[TAILS_MOST];
    size_t factor; /* >= 1: tail i has width D / factor^i, rounded down */
    /* Adaptive attention spans (spans.c): S, the longest in tokens, 0 without; R >= 1, over which the mask
     * falls to 0; lambda >= 0 of the loss's term of them. */
    size_t span, ramp;
    double span_loss;
    int recompute; /* keep only what EVALs read, make the rest again in backward: the same bits */
    /* What an encoder alone is asked (heads.c), of a bidirectional plan: masked 1: the words at a batch's places; classes C > 0:
     * of each sequence one of C classes or, with C = 1, a number. Neither: of every row the next word. segments: how
     * many are told apart by an embedding of their own; 0: none. */
    int masked;
    size_t classes, segments;
    size_t max_params; /* a model of more numbers is ERR_INPUT before it is built; 0: no limit */
} ModelConfig;

/* One named tensor: a window of the flat parameter buffer. */
typedef struct {
    char name[96];
    size_t rows, cols; /* cols = 0: a vector of `rows` */
    size_t offset, size;
} Param;

typedef struct Model Model;

/* Builds a model of a checked plan and initialises it (names and shapes of tensors: params.c; those of
 * tails: adaptive.c; those of spans: spans.c): embedding N(0, 1/d), linear layers (packed qkv as one matrix) Xavier uniform, biases 0, norms 1 and 0, scalars as the plan says, gates 0;
 * relative positions Xavier uniform. Parameter i's draws depend on (seed, its name) only, so two
 * schemes share the values of the tensors they have in common. training 0: no gradient or optimiser
 * memory. Takes ownership of the plan in any case. Width not divisible by heads: ERR_INPUT. */
int model_new(const ModelConfig *config, Plan *plan, const Backend *backend, int training,
              Model **out);
void model_free(Model *m);

const ModelConfig *model_config(const Model *m);
/* 1 where no feed-forward network has ReLU, so that sublayers have all derivatives. */
int model_smooth(const Model *m);
const Plan *model_plan(const Model *m);
const Backend *model_backend(const Model *m);
size_t model_params(const Model *m, const Param **list);   /* count of tensors, list borrowed */
const Param *model_find(const Model *m, const char *name); /* NULL: no tensor has this name */
size_t model_size(const Model *m);                         /* count of numbers */

/* 1 where weight decay concerns a tensor: matrices of several rows, so weights of sublayers, embeddings
 * (they are the output's matrix too, where it is tied) and relative positions; no bias, no gain of a norm,
 * nothing that a scheme learns. */
int model_decays(const Param *p);

/* Memory of all buffers, counted when the model was built; all there is: no pass allocates. Of what
 * shares memory, the kinds are those of the moment in a training step (or a pass) when most is alive.
 * Workspace: logits, tables, and what sharing could not use. */
enum {
    MEMORY_PARAMETERS,
    MEMORY_GRADIENTS,
    MEMORY_MOMENTS,
    MEMORY_ACTIVATIONS, /* what forward makes: registers, insides of sublayers */
    MEMORY_ADJOINTS,
    MEMORY_WORKSPACE,
    MEMORY_KINDS
};
size_t model_bytes(const Model *m);
/* model_bytes and model_size of what model_new would build, which is not built; the plan is taken likewise. */
int model_count(const ModelConfig *config, Plan *plan, const Backend *backend, int training,
                size_t *bytes, size_t *numbers);
size_t model_memory(const Model *m, int kind);
const char *model_memory_name(int kind);

/* Flat device buffers of model_size numbers: parameters, gradients, Adam's moments. */
void *model_data(Model *m);
void *model_grad(Model *m);
void *model_moment(Model *m, int which); /* 0: m, 1: v */

/* Forward on a batch, loss over its N targets. nll (N) host out, or NULL. mean: their mean. Of an encoder alone nll has the
 * masked words and behind them the sequences with a label; mean is that of batch_asked (of none: 0). step
 * numbers the dropout masks. train 1 is as training goes, with dropout and smoothed labels: the nll of a
 * token is then (1 - E) (-log p_target) + E / V sum_v -log p_v over all V words, the target among them.
 * Source: Szegedy et al. 2016, section 7. (Where others give E / (V - 1) to each word but the target, as
 * fairseq's label_smoothed_cross_entropy does now, their E is ours times (V - 1) / V.) train 0 switches
 * both off: nll is -log p_target. */
int model_forward(Model *m, const Batch *b, int train, uint64_t step, double *nll, double *mean);
/* Forward with gradients: model_grad is zeroed and filled with d (mean + term of spans) / d parameter; no
 * loss that is told has the term (model_spans gives it). With masked words and labels it is that of the sum of both means
 * (heads.c), and the mean that is told is that of the words. */
int model_gradient(Model *m, const Batch *b, uint64_t step, double *mean);
/* One Adam step with the gradients as they are; clip > 0 scales them to global norm <= clip; decay > 0
 * is that of the tensors of model_decays (kernels/backend.h: adam). A norm that is not finite:
 * ERR_NUMERIC, nothing changed. */
typedef struct {
    double rate, beta1, beta2, eps, clip, decay;
} AdamConfig;
int model_adam(Model *m, const AdamConfig *a, uint64_t step, double *grad_norm);
/* step.c. Both in one (model_step_part: of several batches), and no waiting for the backend: what it gave is told by model_tally, which has
 * the sum of nll over all tokens since model_tally_set (which sets both) or another pass, and the
 * last norm. ERR_NUMERIC where a loss or norm was not finite; s->fault_step is that step, s->fault tells which,
 * and no parameter has moved since. */
int model_step(Model *m, const Batch *b, const AdamConfig *a, uint64_t step);
/* A step in parts, given in order: the gradient is that of the mean over all their tokens, and Adam
 * comes after the last. Masks differ from part to part: they are those of step (step - 1) most + part +
 * 1 of a run without parts. */
typedef struct {
    size_t part, parts; /* this one, from 0; of so many in this step */
    size_t most;        /* parts of any step of the run, >= parts */
    size_t tokens;      /* of all parts of this step */
    /* Of ranks that each have a share of the batch (which may be empty): the rows before it, whose masks
     * it leaves to them; gradients are summed over the ranks before Adam. NULL: alone. */
    size_t first[SIDES];
    Ranks *ranks;
} StepPart;
int model_step_part(Model *m, const Batch *b, const StepPart *part, const AdamConfig *a,
                    uint64_t step);
int model_tally(Model *m, Step *s);
void model_tally_set(Model *m, double loss, double norm);
/* Logits (N, V) of a batch, dropout off, into host doubles; of a model with tails log p, whose softmax
 * is p too. ERR_MEMORY with tails. */
int model_logits(Model *m, const Batch *b, double *logits);
/* exact.c. model_forward with train 0, and of the batch's sequences how many have, in every row, the target as the
 * most probable token (of equal ones the least id, as greedy decoding has it). Allocates model_exact_bytes(V). */
int model_exact(Model *m, const Batch *b, double *mean, size_t *exact);
/* exact.c. z (S, C) host out, dropout off: the logits of classes, or with C = 1 the numbers, of a batch's sequences. */
int model_classes(Model *m, const Batch *b, double *z);
/* model_forward with train 0, and of the batch's sequences how many have their label as the most probable class (of equal ones the
 * first). Allocates (S, C) numbers. */
int model_right(Model *m, const Batch *b, double *mean, size_t *right);
size_t model_exact_bytes(size_t V);
/* parts.c. For the bridge and for tests, dropout off, host doubles, one sequence a side: a sublayer slot by itself (of a post plan:
 * without its norm), or a norm's, from x (N, D) to y (N, D); one of cross-attention, memory (M, D) being what its KEYS
 * reads; the whole plan from r0 = x (N, D) and, of two sides, r1 = source (M, D) to its output y (N, D); the same
 * with M = N and the source behind x. */
int model_sublayer(Model *m, int slot, size_t N, const double *x, double *y);
int model_cross(Model *m, int slot, size_t N, const double *x, size_t M, const double *memory,
                double *y);
int model_run_pair(Model *m, size_t N, const double *x, size_t M, const double *source, double *y);
int model_run_plan(Model *m, size_t N, const double *x, double *y);
/* The embedding of one sequence of N tokens of a side, r0 or r1, dropout off: y (N, D) host doubles out. A token or a position that
 * the model lacks: ERR_MISUSE. */
int model_embed(Model *m, int side, size_t N, const int32_t *token, double *y);
/* weights.c. What every attention sublayer of the plan puts where on one sequence of N tokens, dropout off:
 * weights (A, H, N, N) host doubles out, A = plan_evals(plan, SLOT_ATTENTION) in the order in which they are
 * evaluated; row i holds a_i0 .. a_ii, sum 1, and zeros behind, of a bidirectional plan a_i0 .. a_i,N-1, as
 * kernels/backend.h has them, with relative positions and spans. Tokens as model_embed. Allocates (N, 3 D) numbers. */
int model_attention(Model *m, size_t N, const int32_t *token, double *weights);
/* spans.c. Of a model with spans: z (A, H) host doubles out, in tokens, of the A attention slots of the plan in
 * their order; *loss (NULL: not asked), the loss's term of them. */
void model_spans(const Model *m, double *z, double *loss);

/* ---- store.c: safetensors ---------------------------------------------------------------------- */

typedef struct {
    char *key, *value;
} StoreText;

/* Writes a model's parameters (f32) with metadata, atomically: a temporary file beside it, synced,
 * then renamed; an old file stays intact on any failure (ERR_SYSTEM). Adds the metadata "checksum"
 * (nn/store.h). SIGXFSZ is to be ignored by the program, or a file size limit ends it. */
int store_save(const Model *m, const char *file, const StoreText *meta, size_t count);
/* Reads one metadata value of a file: caller frees *value (memory_free); missing: ERR_INPUT. Reads
 * the header only, and checks the checksum's half for it. */
int store_meta(const char *file, const char *key, char **value);
/* Loads every parameter of m by name, F32 or F64; a missing, extra or misshapen tensor, a truncated
 * or altered header, a checksum that does not fit, a number that is not finite: ERR_INPUT with words, m
 * untouched. */
int store_load(Model *m, const char *file);
/* The same of what an encoder with classes has in common with one that was trained otherwise: classes.* stay as they are, and
 * so do pool.* and segment.* where the file lacks them; its other tensors, as a head for masked words, are left out. */
int store_load_encoder(Model *m, const char *file);
/* Parameters of m = the mean of those in count >= 1 such files, summed in double in their order (mean of
 * equal files: their numbers), which takes 16 bytes a number; as store_load, m untouched on error. */
int store_average(Model *m, const char *const *file, size_t count);
/* Parameters, moments ("moment.0.NAME", "moment.1.NAME") and numbers of a run (metadata), in the
 * element type, with a checksum that store_load_state demands: exact resume. A file of the other
 * element type: ERR_INPUT; a model built without training: ERR_MISUSE. */
int store_save_state(const Model *m, const char *file, const StoreText *meta, size_t count);
int store_load_state(Model *m, const char *file);

/* ---- schedule.c: learning rates ------------------------------------------------------------------- */

enum { SCHEDULE_INVERSE_SQRT, SCHEDULE_COSINE, SCHEDULE_LINEAR, SCHEDULE_CONSTANT, SCHEDULES };

typedef struct {
    int kind;        /* SCHEDULE_* */
    double peak;     /* > 0 */
    double end;      /* of COSINE and LINEAR: the last step's, 0 .. peak */
    uint64_t warmup; /* w >= 0 steps */
    uint64_t steps;  /* T of the whole run, warm-up included; read by COSINE and LINEAR alone */
} Schedule;

/* Rate of step s = 1 .. T: peak s / w up to s = w, then as the schedule's row says (schedule.c: formula
 * and source); all rows give the peak at s = w. Behind T: the end. */
double schedule_rate(const Schedule *s, uint64_t step);
const char *schedule_name(int kind); /* "inverse-sqrt" */
int schedule_ends(int kind);         /* 1 where T and the end decide the rates */

/* ---- train.c: the loop -------------------------------------------------------------------------- */

typedef struct {
    uint64_t step, steps; /* of all */
    long epoch, epochs;   /* from 1 */
    size_t tokens;        /* trained so far */
    /* Mean of model_step's nll since the last log line, nats; of smoothed labels. */
    double train_loss;
    double valid_ppl;   /* 0 except at a validation */
    double valid_exact; /* then, of pairs, the share of exact sequences; else NaN */
    double valid_score; /* then, of a judge; else NaN */
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
    double end_rate;   /* of a schedule that ends, else 0 */
    size_t accumulate; /* batches whose gradients make one step; 0 is 1 */
    long average;      /* 2 and more: the model is the mean of the last so many epochs' ends */
    AdamConfig adam;   /* its rate is set by the schedule */
    long epochs;
    uint64_t max_steps; /* 0: no limit */
    /* Steps of the run between validations besides those at epochs' ends; each may give the best model, has a row in
     * log.csv and ends with a saved state. 0: none. */
    uint64_t eval_every;
    long patience; /* epochs without a better one, after which it ends; 0: never */
    uint64_t seed;
    const char *out; /* run directory, or NULL: nothing is written */
    /* NULL, or a file that has log.csv's rows as JSON lines (json_log.c); needs out */
    const char *log;
    const StoreText *meta; /* metadata of model.safetensors */
    size_t meta_count;
    int resume;         /* continue from out/state.safetensors */
    double log_seconds; /* progress at most this often */
    /* Called once, when files and state are in order, before the first step; NULL: not called. */
    void (*begin)(void *arg);
    /* Called for progress and at each validation (valid_ppl > 0 then). */
    void (*report)(void *arg, const TrainReport *r);
    void *arg;
    /* NULL, or called at each validation, not with ranks: *score out is what the model is worth; the best epoch is then
     * that of the largest score, not of the least validation perplexity. log.csv has it as valid_score. */
    int (*judge)(void *arg, Model *m, double *score);
    const volatile int *stop; /* set by a signal handler: save state and return ERR_INTERRUPTED */
    /* (SPLITS) what an encoder alone is asked of each text; NULL: the next words */
    const Asking *ask;
    Ranks *ranks; /* that train this model together, or NULL */
} TrainConfig;

typedef struct {
    long best_epoch;                /* the last one averaged, where the model is a mean */
    long averaged;                  /* epochs' ends in the mean; 0: the model is the best epoch's */
    double valid_ppl, test_ppl;     /* of the model; test: read once, NaN without one */
    double valid_exact, test_exact; /* the share of exact sequences (evaluation_exact) */
    double tokens_per_s;            /* training only, without evaluation */
    size_t peak_bytes;              /* of the process */
    uint64_t steps;                 /* done; in `begin`: of the whole training */
    struct {
        uint64_t steps;
        double seconds, waited; /* of training; of them with the other ranks */
    } here;                     /* what this call did */
} TrainResult;

/* Trains m on c; m ends with the best epoch's weights. Writes out/log.csv, out/model.safetensors at
 * each new best validation perplexity, out/state.safetensors at each validation and when stopped,
 * out/vocab.txt. A non-finite loss or gradient: ERR_NUMERIC with step and epoch, the last good model
 * file kept. Resuming needs the options, network and corpus of the run before (ERR_INPUT), but for
 * epochs and max_steps (these too, where the schedule ends with the run); with the same number of
 * threads the result is that of an uninterrupted run, bit for bit. A file that cannot be written ends
 * the run with its error, the old one intact.
 *
 * accumulate K: a step has the gradient of the mean over all tokens of K batches one after another (an
 * epoch's last step may have fewer), each with dropout masks of its own; memory is that of one batch.
 *
 * ranks: all call this with the same options and text; each trains on its share of every batch and reads its
 * share of the validation and test texts. The loss curve is that of one process to rounding, and resumed
 * with as many ranks and threads the same bit for bit. Rank 0 alone reads and writes `out`; a failure or
 * a stop of one is that of all, after the same step. Backends of a device: not yet.
 *
 * average N (needs out): out/epoch-E.safetensors is written at each epoch's end, those before the last
 * N go: N files of the size of the model's. In the end m and out/model.safetensors are their mean (of
 * fewer in a shorter run), and that is what validation and test texts are read with. Source: Vaswani et
 * al. 2017, section 6.1; average_checkpoints.py of fairseq. */
int train_run(Model *m, const Corpus *c, const TrainConfig *config, TrainResult *result);

/* The step that a run's state, DIR/state.safetensors, was saved behind. ERR_INPUT where the file tells none. */
int train_saved_step(const char *file, uint64_t *step);

/* 0 where TrainConfig.log can be this file: it can be written, and is not there yet (then it is made), empty, or a log
 * already. Else ERR_INPUT, naming it. */
int train_log_check(const char *file);

/* ---- evaluate.c: what a model makes of a text ------------------------------------------------------ */

typedef struct {
    double mean; /* nll, nats a token; of an encoder alone a masked word, or a label */
    size_t tokens;
    /* Pairs, and those of them that are exact: at every place the right token, <eos> too, is the most probable one
     * behind the right ones before it. So it is what greedy decoding gives. Or sequences with a class, and those
     * whose class is the most probable one. 0 for a text alone. */
    size_t pairs, exact;
} Evaluation;

/* Share of the pairs that are exact; NaN for a text alone. */
double evaluation_exact(const Evaluation *e);

/* Reads a text (source and ask as batches_new has them), every token predicted once. Pairs and a language model, or a text
 * alone and a model that needs a source: ERR_INPUT. */
int train_eval(Model *m, const Text *t, const Text *source, const Vocab *v, const Asking *ask,
               int context, size_t batch_tokens, size_t sequence, Evaluation *e);

#endif
