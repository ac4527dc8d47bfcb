/* network.c: options -> model. */
#include "studies/model/network.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/plain_text.h"
#include "kernels/threads.h"
#include "studies/base/command.h"
#include "studies/base/progress.h"

#define TO(member) NETWORK_SETS(member)
#define CLIP TEXT(NETWORK_CLIP)

/* An option without a default is recorded only where it was given. So an option that is newer than a
 * study's first runs leaves their config.ini as it was. */

/* The options in the metadata of a fine-tuned encoder; no command takes them. */
const OptionGroup network_label_group = {
    "Labels", 1,
    OPTIONS(
        {"classes", OPTION_SIZE, NULL, "C", "an encoder's classes of a sequence; 1: a number", 1,
         1e6},
        {"segments", OPTION_SIZE, NULL, "N", "sentences of a sequence that are told apart", 0, 2})};
const OptionGroup network_foreign_group = {
    "As in models of other programs (--from)", 1,
    OPTIONS(
        {"gelu", OPTION_CHOICE, NULL, "tanh|erf", "form of GELU"},
        {"plain-input", OPTION_FLAG, NULL, NULL, "a word's row enters without the factor sqrt(D)",
         .sets = {TO(model.plain_input)}},
        {"input-norm", OPTION_FLAG, NULL, NULL, "a norm stands behind the input",
         .sets = {TO(bridge.input_norm)}},
        {"rotary-base", OPTION_REAL, NULL, "X", "base of rotary positions", 1, 1e12,
         .sets = {TO(model.rotary_base)}},
        {"rotary-scaling", OPTION_REALS, NULL, "F,SLOW,FAST,T,X",
         "factor by which rotary positions turn slower, and the turns in T tokens that do not; of YaRN what queries and keys "
         "are multiplied by",
         0, 1e12},
        {"rotary-part", OPTION_SIZE, NULL, "R",
         "only R numbers of a head turn: the first R/2, and the first R/2 of its second half", 2,
         65536, .sets = {TO(model.rotary_part)}},
        {"rotary-local", OPTION_REAL, NULL, "X", "base of rotary positions in layers with a window",
         1, 1e12, .sets = {TO(model.rotary_local)}},
        {"output-bias", OPTION_FLAG, NULL, NULL, "each word's logit has a bias",
         .sets = {TO(model.output_bias)}},
        {"norm-eps", OPTION_REAL, NULL, "X", "epsilon of norms", 1e-30, 0.1,
         .sets = {TO(model.norm_eps)}},
        {"family", OPTION_TEXT, NULL, "NAME",
         "family of models whose form 'trotter export' takes where it has all that this model has",
         .flags = OPTION_MAY_DIFFER})};
const OptionGroup network_text_group = {
    "Text", 1,
    OPTIONS(
        NETWORK_CORPUS,
        {"context", OPTION_CHOICE, "stream", "stream|sentence",
         "stream: cut the text in blocks of T tokens; sentence: take each line alone",
         .sets = {TO(train.context)}},
        {"sequence", OPTION_SIZE, "64", "T", "longest sequence in tokens", 1, 65536,
         .sets = {TO(train.sequence), TO(model.max_length)}},
        {"bpe-dropout", OPTION_REAL, NULL, "P",
         "drop each merge with probability P when the training text is cut, anew in each epoch (Provilkov et al. 2020); "
         "other texts are cut whole",
         0, 1, .sets = {TO(corpus.dropout)}},
        {"eval-tokens", OPTION_SIZE, NULL, "N",
         "read the validation and the test text only to the end of the line of the N-th token; "
         "perplexities are of that part (default: whole texts)",
         1, 1e15, .sets = {TO(corpus.eval_tokens)}})};
const OptionGroup network_depth_group = {
    "Model", 1,
    OPTIONS({"layers", OPTION_SIZE, "1", "L", "number of layers; each is one step of the scheme", 1,
             NETWORK_LAYERS, .flags = OPTION_MAP, .sets = {TO(bridge.layers)}},
            {"encoder-layers", OPTION_SIZE, NULL, "L",
             "layers of the encoder, where --layers counts those of the decoder (default: as many)",
             1, NETWORK_LAYERS, .sets = {TO(bridge.encoder_layers)}})};
const OptionGroup network_model_group = {
    NULL, 1,
    OPTIONS(
        {"width", OPTION_SIZE, "128", "D", "width of the model: numbers of a token's state", 2,
         65536, .flags = OPTION_MAP, .sets = {TO(bridge.width), TO(model.width)}},
        {"inner", OPTION_SIZE, "512", "M", "inner width of a feed-forward network", 1, 1048576,
         .flags = OPTION_MAP, .sets = {TO(bridge.inner)}},
        {"heads", OPTION_SIZE, "4", "H", "number of attention heads; D must be a multiple of H", 1,
         1024, .flags = OPTION_MAP, .sets = {TO(model.heads)}},
        {"positions", OPTION_CHOICE, "sinusoid", "none|sinusoid|relative|both|learned|rotary",
         "position encoding: none, sinusoid, relative (Shaw, on keys, clip " CLIP "), both, "
         "learned (a row for each place of the longest sequence) or rotary (queries and keys turn, Su et al. 2021)",
         .flags = OPTION_MAP, .sets = {TO(model.positions)}},
        {"activation", OPTION_CHOICE, "relu", "relu|gelu|swiglu|geglu",
         "activation of feed-forward networks: relu, gelu in its tanh form, or gated (Shazeer 2020), with 3 D M "
         "numbers instead of 2 D M",
         .flags = OPTION_MAP, .sets = {TO(model.act)}},
        {"first-relu", OPTION_FLAG, NULL, NULL,
         "use relu in the first feed-forward network of each layer, whatever --activation is, as the "
         "released Macaron-BERT does",
         .sets = {TO(model.first_relu)}},
        {"untied", OPTION_FLAG, "no", NULL,
         "give the output a separate matrix, not that of the embedding",
         .sets = {TO(model.untied)}},
        {"no-final-norm", OPTION_FLAG, NULL, NULL,
         "leave out the norm after the last layer, as the language models of fairseq 0.6 do",
         .sets = {TO(model.no_final_norm)}},
        {"match", OPTION_CHOICE, "parameters", "parameters|none",
         "parameters: shrink inner widths so that schemes with more sets of parameters have as many "
         "parameters in all (words of sublayers keep theirs); none: keep the inner width",
         .sets = {TO(bridge.match)}},
        {"norm", OPTION_CHOICE, "pre", "pre|post",
         "pre: F(y) = Attention(LN(y)); post: y = LN(y + Attention(y)), only for schemes that are a chain of "
         "such steps",
         .sets = {TO(bridge.norm)}},
        {"adaptive", OPTION_SIZES, NULL, "C1,C2,...",
         "use an adaptive embedding and softmax: the C1 most frequent words have the full width, the "
         "others are in narrower clusters, cut at C2, ... (default: none)",
         1, 1e9},
        {"adaptive-factor", OPTION_SIZE, NULL, "K",
         "each cluster is K times as narrow as the one before", 1, 65536, .otherwise = "4",
         .needs = "adaptive", .flags = OPTION_MAP, .sets = {TO(model.factor)}},
        {"objective", OPTION_CHOICE, NULL, "next|masked",
         "next: learn to predict every next word; masked: train an encoder alone, which sees all words of "
         "a sequence, to predict masked words",
         .otherwise = "next", .sets = {TO(model.masked), TO(bridge.bidirectional)}},
        {"kv-heads", OPTION_SIZE, NULL, "N",
         "number of heads of keys and values in self-attention, a divisor of H; each serves H / N heads of queries "
         "(Ainslie et al. 2023; default: H)",
         1, 1024, .sets = {TO(model.kv_heads)}},
        {"head-width", OPTION_SIZE, NULL, "E",
         "numbers of a head; with another than D / H, D need be no multiple of H (default: D / H)",
         1, 65536, .sets = {TO(model.head_width)}},
        {"head-norm", OPTION_FLAG, NULL, NULL,
         "RMS norms of each head's queries and keys, before they turn (Dehghani et al. 2023; so Qwen 3)",
         .sets = {TO(model.head_norm)}},
        {"biases", OPTION_CHOICE, NULL, "all|none|qkv|attention|feed-forward",
         "linear layers of sublayers that have biases; qkv: of queries, keys and values alone",
         .otherwise = "all", .sets = {TO(model.no_bias)}},
        {"output-norm", OPTION_FLAG, NULL, NULL,
         "a norm stands behind each sublayer too, before it is added (Ding et al. 2021; so Gemma 2 and 3)",
         .sets = {TO(bridge.output_norm)}},
        {"windows", OPTION_SIZES, NULL, "N,N,...",
         "self-attention sees the last N tokens alone, a number a layer, 0: all; a shorter list begins again (Beltagy et al. 2020; default: "
         "all)",
         0, 1e9},
        {"norm-kind", OPTION_CHOICE, NULL, "layer|rms",
         "layer: layer norms; rms: y = x / sqrt(mean x^2 + eps) * weight, without mean and bias (Zhang and "
         "Sennrich 2019)",
         .otherwise = "layer", .sets = {TO(model.norm)}},
        {"masks", OPTION_CHOICE, "stage", "stage|step",
         "stage: draw a dropout mask for each evaluation; step: draw one for each sublayer, which all its "
         "evaluations share",
         .sets = {TO(bridge.masks)}})};
const OptionGroup network_training_group = {
    "Training", 1,
    OPTIONS(
        {"epochs", OPTION_SIZE, "4", "N", "number of passes through the training text", 1, 1e9,
         .flags = OPTION_LENGTH, .sets = {TO(train.epochs)}},
        {"max-steps", OPTION_SIZE, "0", "N",
         "stop after N steps; 0: no limit; the validation and the test text are read all the same "
         "(--eval-tokens)",
         0, 1e15, .flags = OPTION_LENGTH, .sets = {TO(train.max_steps)}},
        {"eval-every", OPTION_SIZE, NULL, "N",
         "validate after every N steps too; each validation writes a row of log.csv with valid_ppl, keeps "
         "the model if it is the best so far, and saves the state (default: only at the end of each epoch)",
         1, 1e15, .sets = {TO(train.eval_every)}},
        {"patience", OPTION_SIZE, NULL, "N",
         "stop after N epochs without a better validation; those within an epoch (--eval-every) count too "
         "(default: never)",
         1, 1e9, .sets = {TO(train.patience)}},
        {"best", OPTION_CHOICE, NULL, "perplexity|bleu",
         "what makes a validation the best, for the model to keep and for --patience; perplexity: the lowest; "
         "bleu: for pairs, the highest BLEU of greedy translations (default: perplexity)"},
        {"batch-tokens", OPTION_SIZE, "4096", "N",
         "largest number of tokens of a batch; a step has --accumulate batches", 1, 1048576,
         .sets = {TO(train.batch_tokens), TO(model.max_tokens)}},
        {"rate", OPTION_REAL, "1e-3", "X", "peak learning rate of Adam", 1e-12, 100,
         .alias = {"lr", "learning-rate"}, .sets = {TO(train.rate)}},
        {"warmup", OPTION_SIZE, "400", "N",
         "number of steps in which the rate rises linearly to its peak; not given, no more than a tenth of the "
         "training's steps",
         0, 1e12, .sets = {TO(train.warmup)}},
        {"schedule", OPTION_CHOICE, "inverse-sqrt", "inverse-sqrt|cosine|linear|constant",
         "rate after its peak: inverse-sqrt falls as 1/sqrt(step), or stays without warm-up; cosine falls as "
         "half a cosine and linear as a line, to --end-rate at the run's last step; constant stays",
         .sets = {TO(train.schedule)}},
        {"end-rate", OPTION_REAL, "0", "X", "rate of the last step, for cosine and linear", 0, 100,
         .sets = {TO(train.end_rate)}},
        {"accumulate", OPTION_SIZE, "1", "K",
         "number of batches of a step; its gradient is that of the mean over all their tokens, in the memory "
         "of one batch",
         1, 1e6, .sets = {TO(train.accumulate)}},
        {"average", OPTION_SIZE, "0", "N",
         "keep the mean of the models at the ends of the last N epochs (DIR/epoch-*.safetensors, each of the "
         "model's size) instead of the best model; 0 or 1: keep the best model",
         0, 1e6, .sets = {TO(train.average)}},
        {"keep", OPTION_SIZE, NULL, "N",
         "keep the model at the end of every Nth epoch, as DIR/epoch-E.safetensors, which every --model reads and "
         "'trotter average' takes (default: none)",
         1, 1e6, .flags = OPTION_MAY_DIFFER, .sets = {TO(train.keep)}},
        {"dropout", OPTION_REAL, "0.1", "P",
         "dropout of the embedding, sublayer outputs, attention weights and activations", 0, 0.99,
         .sets = {TO(model.dropout)}},
        {"attention-dropout", OPTION_REAL, NULL, "P",
         "dropout of attention weights (default: as --dropout)", 0, 0.99,
         .sets = {TO(model.attention_dropout)}},
        {"activation-dropout", OPTION_REAL, NULL, "P",
         "dropout of activations of feed-forward networks (default: as --dropout)", 0, 0.99,
         .sets = {TO(model.activation_dropout)}},
        {"label-smoothing", OPTION_REAL, NULL, "E",
         "train towards 1 - E on the right word plus E / V on each of the V words; train_loss is of that "
         "target, perplexities never are",
         0, 0.999, .sets = {TO(model.smoothing)}},
        {"clip", OPTION_REAL, "0", "X",
         "scale a gradient to a global norm of at most X; 0: no limit", 0, 1e12,
         .sets = {TO(train.adam.clip)}},
        {"weight-decay", OPTION_REAL, NULL, "X",
         "decoupled weight decay (AdamW): each step also shrinks each number of a matrix or an embedding by "
         "rate * X of its value",
         0, 100, .sets = {TO(train.adam.decay)}},
        {"beta1", OPTION_REAL, "0.9", "X", "decay of Adam's first moment", 0, 0.999999,
         .sets = {TO(train.adam.beta1)}},
        {"beta2", OPTION_REAL, "0.997", "X", "decay of Adam's second moment", 0, 0.99999999,
         .sets = {TO(train.adam.beta2)}},
        {"eps", OPTION_REAL, "1e-8", "X", "epsilon of Adam, added outside the square root", 1e-30,
         1, .sets = {TO(train.adam.eps)}},
        {"step-penalty", OPTION_TEXT, NULL, "error=X|displacement=X",
         "add to the loss, in training alone, X times the mean square of the step of each layer: error, its difference from two "
         "half steps of the same weights over its displacement; displacement, that over the state it begins at (default: none)"},
        {"recompute", OPTION_FLAG, "no", NULL,
         "keep only the inputs of sublayers, and compute the rest again in the backward pass; this takes "
         "less memory and gives the same bits",
         .flags = OPTION_MAY_DIFFER, .sets = {TO(model.recompute)}})};
const OptionGroup network_machine_group = {
    "Machine", 1,
    OPTIONS(
        {"device", OPTION_CHOICE, "cpu", "cpu|cuda|auto",
         "cpu, cuda (an NVIDIA device), or auto: cuda where it is available",
         .flags = OPTION_MAY_DIFFER},
        {"precision", OPTION_CHOICE, "f32", "f32|f64|bf16|tf32",
         "f32, bf16, f64 (cpu only) or tf32 (cuda only); bf16 and tf32 are f32 except in the factors of matrix "
         "products",
         .flags = OPTION_MAY_DIFFER},
        {"kernel", OPTION_TEXT, NULL, "NAME",
         "instruction set of the kernels, such as x86-64-v3 (default: the best of this machine)",
         .flags = OPTION_MAY_DIFFER},
        {"threads", OPTION_SIZE, "0", "N", "number of threads of the kernels; 0: one per core", 0,
         1024, .flags = OPTION_MAY_DIFFER})};

const OptionGroup network_seed_group = {
    "Seed", 1,
    OPTIONS({"seed", OPTION_SIZE, "1", "N",
             "seed of the weights, of dropout and of the order of batches", 0, 1e18,
             .sets = {TO(train.seed), TO(model.seed)}})};

const OptionGroup *const network_groups[] = {
    &network_text_group,     &network_depth_group,   &network_model_group,
    &network_training_group, &network_seed_group,    &network_label_group,
    &network_foreign_group,  &network_machine_group, NULL};

/* ---- options -> model ---------------------------------------------------------------------------- */

static int find_backend(const Options *o, const char *device, const char *precision,
                        const Backend **out)
{
    char name[32];
    snprintf(name, sizeof name, "%s-%s", device, precision);
    return backend_find(name, options_text(o, "kernel"), out);
}

/* Finds the best backend of a precision. A processor has no tf32, so it computes with all bits of f32. */
static int find_best(const Options *o, const char *precision, const Backend **out)
{
    int f64 = strcmp(precision, "f64") == 0, tf32 = strcmp(precision, "tf32") == 0;
    if (!f64 && find_backend(o, "cuda", precision, out) == 0) return 0;
    return find_backend(o, "cpu", tf32 ? "f32" : precision, out);
}

int network_backend(const Options *o, const Backend **out)
{
    const char *device = options_text(o, "device"), *precision = options_text(o, "precision");
    if (strcmp(device, "cpu") == 0 && strcmp(precision, "tf32") == 0)
        return error_set(ERR_INPUT,
                         "--precision tf32 is for --device cuda: a cpu has f32, f64, bf16");
    if (strcmp(device, "cuda") == 0 && strcmp(precision, "f64") == 0)
        return error_set(ERR_INPUT,
                         "--precision f64 is for --device cpu: cuda has f32, tf32, bf16");
    if (strcmp(device, "auto") == 0)
        TRY(find_best(o, precision, out));
    else
        TRY(find_backend(o, device, precision, out));
    if (strcmp((*out)->name, "cuda-tf32") == 0 && strncmp((*out)->kernel, "sm_7", 4) == 0)
        progress_note("the device (%s) has no tf32: products are in f32", (*out)->kernel);
    return threads_room(backend_threads((int)options_size(o, "threads")), 0);
}

/* The choices of --activation, and bits of those of --biases and --positions. */
static const int act_of[] = {ACT_RELU, ACT_GELU, ACT_SWIGLU, ACT_GEGLU};
static const int lacks_of[] = {0, NO_BIAS, NO_BIAS_OUT | NO_BIAS_FFN, NO_BIAS_FFN,
                               NO_BIAS_QKV | NO_BIAS_OUT};
static const int positions_of[] = {0,
                                   POSITIONS_SINUSOID,
                                   POSITIONS_RELATIVE,
                                   POSITIONS_SINUSOID | POSITIONS_RELATIVE,
                                   POSITIONS_LEARNED,
                                   POSITIONS_ROTARY};

NetworkConfig network_config(const Options *o)
{
    NetworkConfig c = {.model.clip = NETWORK_CLIP};
    options_fill(o, network_groups, &c);
    c.model.positions = positions_of[c.model.positions];
    c.model.act = act_of[c.model.act];
    c.bridge.gated = act_gated(c.model.act);
    const ModelConfig *m = &c.model;
    if (m->kv_heads || m->head_width)
        c.bridge.rows = model_head_width(m) * (m->heads + (m->kv_heads ? m->kv_heads : m->heads));
    if (options_known(o, "gelu") && options_choice(o, "gelu") > 0 && c.model.act == ACT_GELU)
        c.model.act = ACT_ERF;
    c.model.no_bias = lacks_of[c.model.no_bias];
    char part[32];
    for (size_t i = 0; i < 5 && options_known(o, "rotary-scaling"); i++)
        if (options_part(o, "rotary-scaling", i, part))
            c.model.rotary_scaling[i] = strtod(part, NULL);
    int attention = options_known(o, "attention-dropout") && options_text(o, "attention-dropout"),
        activation =
            options_known(o, "activation-dropout") && options_text(o, "activation-dropout");
    c.model.dropout_apart = attention || activation;
    if (!attention) c.model.attention_dropout = c.model.dropout;
    if (!activation) c.model.activation_dropout = c.model.dropout;
    if (!options_known(o, "classes") || !options_size(o, "classes")) return c;
    c.model.masked = 0;
    c.model.classes = options_size(o, "classes");
    c.model.segments = options_size(o, "segments");
    return c;
}

BridgeOptions network_bridge(const Options *o)
{
    return network_config(o).bridge;
}

TrainConfig network_training(const Options *o)
{
    return network_config(o).train;
}

CorpusChoice network_choice(const Options *o)
{
    CorpusChoice w = network_config(o).corpus;
    w.source = options_text(o, "source");
    w.target = options_text(o, "target");
    w.codes = options_text(o, "codes");
    w.tokenizer = options_text(o, "tokenizer");
    w.lines = network_config(o).train.context == CONTEXT_SENTENCE;
    w.marks = network_config(o).model.masked;
    char part[32];
    for (size_t i = 0; i < SPLITS && options_part(o, "parts", i, part); i++)
        w.parts[i] = strtod(part, NULL);
    return w;
}

const Asking *network_asking(const Options *o, Asking ask[SPLITS])
{
    for (int s = 0; s < SPLITS; s++) ask[s] = (Asking){.what = ASK_MASKED};
    return network_config(o).model.masked ? ask : NULL;
}

/* Checks that there are as many shares as texts. */
static int check_parts(const Options *o)
{
    char part[32];
    if (!options_text(o, "parts") ||
        (options_part(o, "parts", SPLITS - 1, part) && !options_part(o, "parts", SPLITS, part)))
        return 0;
    return error_set(ERR_INPUT,
                     "--parts: expected three shares, of training, validation and test, not '%s'",
                     options_text(o, "parts"));
}

int network_corpus(const Options *o, int untested, Corpus *c)
{
    TRY(check_parts(o));
    CorpusChoice w = network_choice(o);
    w.untested = untested;
    progress_show("reading the corpus");
    int code = corpus_choose(options_text(o, "corpus"), &w, c);
    progress_clear();
    if (code == 0 && w.merges && bpe_merges(c->bpe) < w.merges)
        notice_warn("--bpe %zu: %zu merges, as no other pair of symbols is there twice", w.merges,
                    bpe_merges(c->bpe));
    return code;
}

/* Reads the lists of --windows and --adaptive. */
static int add_lists(const Options *o, ModelConfig *c)
{
    char part[32];
    for (c->windows = 0; options_part(o, "windows", c->windows, part); c->windows++) {
        if (c->windows == WINDOWS_MOST)
            return error_set(ERR_INPUT, "--windows: expected at most %d numbers", WINDOWS_MOST);
        c->window[c->windows] = strtoul(part, NULL, 10);
    }
    for (c->tails = 0; options_part(o, "adaptive", c->tails, part); c->tails++) {
        if (c->tails == TAILS_MOST)
            return error_set(ERR_INPUT, "--adaptive: expected at most %d numbers", TAILS_MOST);
        c->cut[c->tails] = strtoul(part, NULL, 10);
    }
    return 0;
}

/* Checks that the frequency of words falls with their ids; else the head would not hold the frequent words. */
static int check_frequency(const Corpus *c, size_t *count)
{
    const Text *t = &c->text[SPLIT_TRAIN];
    for (size_t i = 0; i < t->tokens; i++) count[t->id[i]]++;
    for (size_t v = 1; v < c->vocab.size; v++)
        if (count[v] > count[v - 1])
            return error_set(ERR_INPUT,
                             "--adaptive: the words of %s are not numbered by frequency: %s (%zu) "
                             "comes before %s (%zu)",
                             c->name, c->vocab.word[v - 1], count[v - 1], c->vocab.word[v],
                             count[v]);
    return 0;
}

/* Reads --step-penalty. */
static int take_penalty(const Options *o, BridgeOptions *b)
{
    static const char *const kind[] = {
        [PENALISE_ERROR] = "error=", [PENALISE_DISPLACEMENT] = "displacement="};
    const char *text = options_text(o, "step-penalty");
    for (int i = PENALISE_ERROR; text && i <= PENALISE_DISPLACEMENT; i++) {
        char *end = NULL;
        size_t n = strlen(kind[i]);
        if (strncmp(text, kind[i], n) != 0) continue;
        b->penalty = i;
        b->lambda = strtod(text + n, &end);
        if (end > text + n && !*end && b->lambda >= 0 && b->lambda <= 1e9) return 0;
    }
    if (!text) return 0;
    return error_set(
        ERR_INPUT, "--step-penalty %s: expected error=X or displacement=X, X from 0 to 1e9", text);
}

/* Refuses to compare a step with its half steps where they have other dropout masks. */
static int check_penalty(const Options *o)
{
    NetworkConfig c = network_config(o);
    const ModelConfig *m = &c.model;
    TRY(take_penalty(o, &c.bridge));
    int drops = m->dropout > 0 || m->attention_dropout > 0 || m->activation_dropout > 0;
    if (c.bridge.penalty != PENALISE_ERROR || !drops || c.bridge.masks == MASKS_STEP) return 0;
    return error_set(
        ERR_INPUT,
        "--step-penalty error compares a step with its half steps, which have other dropout "
        "masks: give --masks step, or --dropout 0");
}

int network_check(const Options *o)
{
    size_t epochs = options_size(o, "epochs"), average = options_size(o, "average");
    TRY(options_needs(o));
    TRY(check_penalty(o));
    if (average <= epochs) return 0;
    return error_set(ERR_INPUT, "--average %zu: there are the ends of --epochs %zu only", average,
                     epochs);
}

int network_warmup(Options *o, const Corpus *c)
{
    Asking ask[SPLITS];
    TrainConfig t = network_training(o);
    char text[32];
    uint64_t steps;
    if (options_rank(o, "warmup") != OPTION_DEFAULT) return 0;
    t.ask = network_asking(o, ask);
    if (c->source[SPLIT_TRAIN].tokens) t.context = CONTEXT_SENTENCE;
    TRY(train_length(c, &t, &steps));
    if (steps / 10 >= t.warmup) return 0;
    snprintf(text, sizeof text, "%d", steps < 20 ? 1 : (int)(steps / 10));
    return options_set(o, OPTION_FILE, "", "warmup", text);
}

int network_adaptive(const Options *o, const Corpus *c)
{
    if (!options_text(o, "adaptive")) return 0;
    SCOPED(memory_drop) size_t *count = memory_new(c->vocab.size, sizeof *count);
    return count ? check_frequency(c, count) : ERR_MEMORY;
}

const Unit *network_unit(const Vocab *v)
{
    static const Unit unit[] = {[LEVEL_WORD] = {"token", "word"},
                                [LEVEL_CHAR] = {"character", "character"},
                                [LEVEL_PIECE] = {"token", "piece"},
                                [LEVEL_TOKEN] = {"token", "token"}};
    return &unit[v->level];
}

int network_language(const Options *o, const Corpus *c)
{
    if (c->source[SPLIT_TRAIN].tokens)
        return error_set(ERR_INPUT,
                         "corpus %s has pairs, and this is about language models; 'trotter train "
                         "--corpus %s --encoder NAME --decoder NAME' trains on pairs",
                         c->name, c->name);
    if (options_choice(o, "best") == BEST_BLEU)
        return error_set(ERR_INPUT, "--best bleu: corpus %s has no pairs to translate", c->name);
    if (!options_known(o, "encoder-layers") || !options_text(o, "encoder-layers")) return 0;
    return error_set(ERR_INPUT, "--encoder-layers: a language model has no encoder");
}

int network_reads_source(const char *option, const Table *t)
{
    if (table_evals(t, OP_C) + table_evals(t, OP_A) + table_evals(t, OP_H) + table_evals(t, OP_L))
        return 0;
    return error_set(
        ERR_INPUT,
        "%s: %s has neither C nor an F behind which C would stand, so it reads nothing "
        "of the encoder",
        option, t->name);
}

/* Fills the configuration. The model has room for the share of a batch that one of `ranks` takes. */
static int config_of(const Options *o, const Vocab *v, int ranks, int sides, ModelConfig *c)
{
    *c = network_config(o).model;
    c->vocab = v->size;
    c->source_vocab = v->source ? v->source->size : 0;
    TRY(add_lists(o, c));
    if (c->max_length > c->max_tokens)
        return error_set(ERR_INPUT, "--sequence %zu is longer than --batch-tokens %zu",
                         c->max_length, c->max_tokens);
    /* A batch is divided by its target's rows, so one rank may get most of the source. */
    if (sides > 1) c->max_source = c->max_tokens, c->max_source_length = c->max_length;
    if (ranks > 1) c->max_tokens = share_most(c->max_tokens, c->max_length, ranks);
    return 0;
}

int network_model_of(const Options *o, Plan *plan, const Vocab *v, const Backend *b, int training,
                     size_t max_params, Model **out)
{
    ModelConfig config;
    int code = config_of(o, v, 1, plan->sides, &config);
    config.max_params = max_params;
    if (code == 0) return model_new(&config, plan, b, training, out);
    plan_free(plan);
    return code;
}

static int plan_of(const BridgeOptions *o, Stacks s, Plan **out)
{
    return s.encoder ? bridge_plan_pair(s.encoder, s.layers, o, out)
                     : bridge_plan(s.layers, o, out);
}

int network_plan(const Options *o, Stacks s, Plan **out)
{
    BridgeOptions bridge = network_bridge(o);
    return plan_of(&bridge, s, out);
}

int network_model(const Options *o, Stacks s, const Vocab *v, const Backend *b, Model **out)
{
    Plan *plan;
    TRY(network_plan(o, s, &plan));
    return network_model_of(o, plan, v, b, 0, 0, out);
}

/* Checks that every rank gets a row. */
static int check_ranks(const ModelConfig *c, const Options *o, int ranks)
{
    size_t tokens = options_size(o, "batch-tokens"), rows = tokens / c->max_length;
    if (ranks == 1 || rows >= (size_t)ranks) return 0;
    return error_set(ERR_INPUT,
                     "a batch of %zu tokens has %zu sequence%s of %zu, fewer than the %d ranks",
                     tokens, rows, rows == 1 ? "" : "s", c->max_length, ranks);
}

int network_trained(const Options *o, Stacks s, const Vocab *v, const Backend *b, int ranks,
                    int counted, Model **out)
{
    ModelConfig config;
    Plan *plan;
    TRY(config_of(o, v, ranks, s.encoder ? 2 : 1, &config));
    TRY(check_ranks(&config, o, ranks));
    BridgeOptions bridge = network_bridge(o);
    TRY(take_penalty(o, &bridge));
    TRY(plan_of(&bridge, s, &plan));
    return (counted ? model_count : model_new)(&config, plan, b, 1, out);
}

void network_length(const Options *o, char out[64])
{
    size_t epochs = options_size(o, "epochs"), most = options_size(o, "max-steps");
    int n =
        snprintf(out, 64, "%s%zu epoch%s", options_size(o, "patience") || most ? "at most " : "",
                 epochs, epochs == 1 ? "" : "s");
    if (most) snprintf(out + n, 64 - (size_t)n, " and %zu steps", most);
}
