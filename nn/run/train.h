/* train.h: what a model makes of a batch, steps of training, a whole training run, evaluation. Codes ERR_* and their words
 * are in kernels/base/error.h. */
#ifndef TROTTER_TRAIN_H
#define TROTTER_TRAIN_H

#include "kernels/ranks.h"
#include "nn/model/model.h"
#include "nn/text/text.h"

/* ---- pass.c, train_step.c, exact.c, parts.c, weights.c: forward, backward, steps --------------------------- */

/* Runs forward on a batch and computes the loss over its N targets. nll (N) host out, or NULL. mean: their mean. For an
 * encoder alone nll has the masked words, then the sequences with a label; mean is over batch_asked (nn/text/text.h; 0 if
 * that is 0).
 * step numbers the dropout masks. train 1 runs as in training, with dropout and smoothed labels: the nll of a token is
 * then (1 - E) (-log p_target) + E / V sum_v -log p_v over all V words, the target among them. Source: Szegedy et al.
 * 2016, section 7. (Others, such as fairseq's label_smoothed_cross_entropy now, give E / (V - 1) to each word but the
 * target; their E is ours times (V - 1) / V.) train 0 switches both off: nll is -log p_target. */
int model_forward(Model *m, const Batch *b, int train, uint64_t step, double *nll, double *mean);
/* Runs forward and backward: model_grad is zeroed and filled with d mean / d parameter. An encoder alone may be asked both
 * masked words and labels of sequences. Its loss is then the mean nll of the words plus the mean nll of the labels (with
 * one class the mean square error of the numbers); the gradient is that of this sum, and *mean is that of the words. So
 * it is with penalties (model_penalty): the gradient has them, and *mean has not. */
int model_gradient(Model *m, const Batch *b, uint64_t step, double *mean);
/* penalty.c. Returns the penalties (PENALTY in nn/model/plan.h) of the training passes since it was last asked, each times the
 * tokens of its step; 0 without. Passes with train 1 add to the loss what they are, but `mean` is without them. */
double model_penalty(Model *m);
/* Adam (kernels/backend.h). clip > 0 scales gradients to global norm <= clip; decay > 0 applies to the tensors for which
 * model_decays (nn/model/model.h) is 1. */
typedef struct {
    double rate, beta1, beta2, eps, clip, decay;
} AdamConfig;
/* train_step.c. Computes the gradient and makes the Adam step number `step`, from 1, without waiting for the backend
 * (model_step_part: with several batches). model_tally waits and reads what the backend holds: s->loss, the sum of nll
 * over all tokens of the steps so far, and s->norm, the last gradient's norm. model_tally_set sets the loss from which
 * that sum goes on, and the norm; any other pass on the model, such as model_forward, sets both to 0. model_tally:
 * ERR_NUMERIC where a loss or norm was not finite; s->fault_step is that step, s->fault says which, and no parameter has
 * moved since. */
int model_step(Model *m, const Batch *b, const AdamConfig *a, uint64_t step);
/* A step in parts, given in order, each with its batch. The gradient is that of the mean over all their tokens, and Adam
 * comes after the last part. Dropout masks differ from part to part: a step numbers its masks by itself, and a part has
 * number (step - 1) most + part + 1. So `most` has to be the same for all steps of a run: the largest number of parts
 * that any of them has. */
typedef struct {
    size_t part, parts; /* this part, from 0; number of parts in this step */
    size_t most;        /* the largest `parts` of the run */
    size_t tokens;      /* batch_asked (nn/text/text.h) of all parts of this step together */
    /* Ranks that each have a share of the batch, which may be empty. first: rows before the share; their masks belong
     * to other ranks. Gradients are summed over the ranks before Adam. NULL: one process alone. */
    size_t first[SIDES];
    Ranks *ranks;
} StepPart;
int model_step_part(Model *m, const Batch *b, const StepPart *part, const AdamConfig *a,
                    uint64_t step);
int model_tally(Model *m, Step *s);
void model_tally_set(Model *m, double loss, double norm);
/* Writes logits (N, V) host, dropout off. With an adaptive softmax, whose rare words are in clusters
 * (ModelConfig.tails), there is no one row of logits; log p takes its place, whose softmax is p too. ERR_MEMORY. */
int model_logits(Model *m, const Batch *b, double *logits);
/* exact.c. Runs model_forward with train 0 and counts the sequences whose target is the most probable token in every
 * row (among equals the least id, as in greedy decoding). Allocates LOGIT_LEAST * V numbers. */
int model_exact(Model *m, const Batch *b, double *mean, size_t *exact);
/* exact.c. Runs model_forward with train 0 and gives z (S, C) host: logits of the sequences' classes; C = 1: numbers. */
int model_classes(Model *m, const Batch *b, double *z);
/* Runs model_forward with train 0 and counts the sequences whose label is the most probable class (the first among
 * equals). Allocates (S, C) numbers. */
int model_right(Model *m, const Batch *b, double *mean, size_t *right);
/* parts.c. These serve the bridge and tests: dropout off, host doubles, one sequence a side. model_sublayer applies one
 * slot to x (N, D) and gives y (N, D): a sublayer with its norm (in a post plan without), or a norm alone. `slot` is its
 * number in the plan, an index of Plan.slot (plan_find_slot in nn/model/plan.h). The KEYS of cross-attention read memory
 * (M, D), which is NULL for others. model_run_pair runs the whole plan from r0 = x (N, D) and, with two sides, r1 =
 * source (M, D) to its output y (N, D). model_run_plan does so with M = N: x is (N, D), and with two sides (2 N, D), the
 * target's N rows first. */
int model_sublayer(Model *m, int slot, size_t N, const double *x, size_t M, const double *memory,
                   double *y);
int model_run_pair(Model *m, size_t N, const double *x, size_t M, const double *source, double *y);
int model_run_plan(Model *m, size_t N, const double *x, double *y);
/* Embeds N tokens of a side, dropout off: y (N, D) host. A token or position not there: ERR_MISUSE. */
int model_embed(Model *m, int side, size_t N, const int32_t *token, double *y);
/* Does so with the tensors of a SLOT_WORDS of the plan, for the slot's side. */
int model_words(Model *m, int slot, size_t N, const int32_t *token, double *y);
/* weights.c. Writes the attention weights of every self-attention sublayer on one sequence of N tokens, dropout off:
 * weights (A, H, N, N) host doubles out, A = plan_evals(plan, SLOT_ATTENTION), in the order of evaluation. Row i holds
 * a_i0 .. a_ii, sum 1, and zeros behind; in a bidirectional plan a_i0 .. a_i,N-1. They are those of kernels/backend.h,
 * with relative positions. Tokens as model_embed. Allocates (N, 3 D) numbers. */
int model_attention(Model *m, size_t N, const int32_t *token, double *weights);
/* Adds to weights (N, M) the mean over heads of the weights of the last cross-attention that is evaluated, of a batch of
 * one pair with M source tokens and N target tokens: row i sums to 1. Dropout off. A model without: ERR_MISUSE. */
int model_cross_attention(Model *m, const Batch *b, double *weights);

/* share.c. share_batch gives a rank of `size` ranks its share of a batch: consecutive whole sequences, cut where the
 * tokens divide best. Every rank has some where there are enough, and at most share_most rows. first: rows of the batch
 * before the share, by side. *out borrows the arrays of x. In them it overwrites what says where rows are (x->start and
 * x->source.start of the share's sequences, x->asked.row), so that they count from the share's first row: x is of no use
 * any more but through *out. out == x allowed. Targets are divided; a pair's source rows go with its target's.
 * share_most: at most so many rows of a side are in a share of a batch of batch_tokens rows, whose sequences have at most
 * `sequence`. */
void share_batch(const Batch *x, int rank, int size, Batch *out, size_t first[SIDES]);
size_t share_most(size_t batch_tokens, size_t sequence, int size);

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
    double penalty;     /* mean of what is added to it (model_penalty); NaN without a penalty */
    double valid_ppl;   /* 0 except at a validation */
    double valid_exact; /* at a validation, for pairs, the share of exact sequences; else NaN */
    double valid_score; /* at a validation, the judge's score; else NaN */
    double rate, grad_norm, tokens_per_s, seconds_left;
    int best;   /* this validation is the best so far */
    int within; /* it is not an epoch's end */
} TrainReport;

typedef struct {
    int context; /* CONTEXT_STREAM, CONTEXT_SENTENCE: how a text is cut (nn/text/text.h) */
    /* Most rows of a batch, at most ModelConfig.max_tokens; with ranks a share of it is at most that (share_most). */
    size_t batch_tokens;
    size_t sequence; /* most tokens of a sequence, at most ModelConfig.max_length */
    /* The learning rate: it rises to `rate` in `warmup` steps, and the schedule leads on from there. These four alone
     * decide it; adam.rate is not read. */
    double rate;
    uint64_t warmup;
    int schedule;      /* SCHEDULE_* */
    double end_rate;   /* of COSINE and LINEAR; else 0 */
    size_t accumulate; /* batches whose gradients make one step; 0 is 1 */
    long average;      /* 2 and more: the model is the mean of that many last epochs' ends */
    long keep;         /* out/epoch-E.safetensors stays for every E that it divides; 0: none */
    AdamConfig adam;   /* all but its rate */
    long epochs;
    uint64_t max_steps; /* 0: no limit */
    /* Steps between the validations that are added to those at epochs' ends. Each may give the best model, writes a row
     * of log.csv and saves the state. 0: none. */
    uint64_t eval_every;
    long patience; /* epochs without a better one after which the run ends; 0: never */
    uint64_t seed;
    const char *out;       /* run directory, which is there, or NULL: nothing is written */
    const StoreText *meta; /* metadata of model.safetensors */
    size_t meta_count;
    int resume; /* continue from out/state.safetensors */
    /* What else decides the run, as text; NULL: nothing is kept of it. The state has it for train_saved_options, with which the
     * caller compares it; ranks must have the same. */
    const char *options;
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
    /* (SPLITS), by SPLIT_TRAIN, SPLIT_VALID, SPLIT_TEST: what an encoder alone is asked of each text. All other models
     * are asked the next words, and have NULL. */
    const Asking *ask;
    Ranks *ranks; /* ranks that train this model together, or NULL */
} TrainConfig;

typedef struct {
    long best_epoch; /* the last one averaged, where the model is a mean */
    long averaged;   /* epochs' ends in the mean; 0: the model is the best epoch's */
    /* Perplexities of the model; test: read once, NaN without one. */
    double valid_ppl, test_ppl;
    double valid_exact, test_exact; /* the share of exact sequences (evaluation_exact) */
    double valid_bits, test_bits;   /* bits a byte, where a tokenizer cuts the text; else NaN */
    double tokens_per_s;            /* training only, without evaluation */
    size_t peak_bytes;              /* peak memory of the process */
    /* Steps done. Before that, when TrainConfig.begin is called, it is already set: to those of the whole training. */
    uint64_t steps;
    struct {
        uint64_t steps;
        double seconds, waited; /* time of training; the part of it spent waiting for other ranks */
    } here;                     /* done by this call */
} TrainResult;

/* Trains m on c; m ends with the best epoch's weights. Writes out/log.csv, out/model.safetensors at
 * each new best validation perplexity, out/state.safetensors at each validation and when stopped,
 * out/vocab.txt. A non-finite loss or gradient: ERR_NUMERIC with step and epoch, the last good model
 * file kept. Resuming needs the network and the corpus of the run before (ERR_INPUT). With the same numbers in TrainConfig and
 * ModelConfig, for which the caller answers (`options`), and of threads, the result is that of an uninterrupted run, bit for bit;
 * epochs and max_steps may differ unless the schedule ends with the run. A file that cannot be written ends
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
/* Reads TrainConfig.options of the run that saved it; the caller frees the text (memory_free). ERR_INPUT where it has none, as
 * states before version 0.3. */
int train_saved_options(const char *file, char **text);

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
