/* network.h: a language model, or an encoder and a decoder, from options, and again from the metadata of its file.
 *
 * The metadata of model.safetensors is every recorded option under its own name, and: trotter (the version), format,
 * scheme, scheme_text (the text that parses to the table; for two sides that of the decoder's scheme and behind it that
 * of the encoder's), ffn_inner (width of each feed-forward set), relative_clip, vocabulary_size, vocabulary_checksum, for a source apart source_vocabulary_size,
 * parameters, corpus_tokens, corpus_checksum; for two sides encoder and encoder_ffn_inner; for pieces codes_checksum;
 * for a tokenizer's tokens tokenizer_checksum;
 * gelu (tanh) where that is the activation. A model is rebuilt from that alone; vocab.txt beside the file has its
 * words.
 */
#ifndef TROTTER_NETWORK_H
#define TROTTER_NETWORK_H

#include "bridge/bridge.h"
#include "nn/foreign/foreign.h"
#include "studies/base/option.h"
#include "studies/base/output.h"

#define NETWORK_CLIP 8               /* of relative positions */
enum { NETWORK_LAYERS = 1000 };      /* at most */
enum { BEST_PERPLEXITY, BEST_BLEU }; /* values of --best */

/* All that options set for a network and its training. A row of a table names the members that its option sets, and a
 * choice stands in the order of their values. */
typedef struct {
    CorpusChoice corpus;
    BridgeOptions bridge;
    ModelConfig model;
    TrainConfig train;
} NetworkConfig;
#define NETWORK_SETS(member) MEMBER(NetworkConfig, member)

/* The schemes of a network's layers. */
typedef struct {
    const Table *layers;  /* a language model's, or the decoder's */
    const Table *encoder; /* NULL: a language model */
} Stacks;

/* What --model takes, for its help. */
#define NETWORK_DIR                                                                                                 \
    "directory with model.safetensors and vocab.txt or tokenizer.json, or one of Hugging Face's with config.json, " \
    "model.safetensors and tokenizer.json"

/* The names that text_read takes, for the help of an option. */
#define NETWORK_TEXTS "; -: standard input; kjv:train, kjv:valid or kjv:test: a built-in text"

/* Options that network_corpus reads. */
/* clang-format off */
#define NETWORK_CORPUS                                                                             \
    {"corpus", OPTION_TEXT, "kjv", "NAME",                                                         \
     "directory with training, validation and test text, one text file (--parts), or kjv, "        \
     "markov, markov:V, reverse or reverse:V",                                                     \
     .flags = OPTION_MAY_DIFFER /* the state knows its text */},                                   \
    {"parts", OPTION_REALS, NULL, "X,Y,Z",                                                         \
     "shares of one file's lines for training, validation and test, in this order (default: "      \
     PARTS_USUAL ")",                                                                              \
     1e-9, 1e9, .alias = {"split"}},                                                               \
    {"source", OPTION_TEXT, NULL, "LANGUAGE",                                                      \
     "for pairs in a directory: ending of the source files, such as en for train.en"},       \
    {"target", OPTION_TEXT, NULL, "LANGUAGE",                                                      \
     "for pairs in a directory: ending of the target files, such as de for train.de"},       \
    {"bpe", OPTION_SIZE, NULL, "N",                                                                \
     "cut words into pieces by N merges, learned from the training text (of pairs: from both "     \
     "sides); perplexities are then per piece, and for language models 'trotter eval' adds the "   \
     "one per word (default: whole words)",                                                        \
     1, 1e7, .sets = {NETWORK_SETS(corpus.merges)}},                                               \
    {"codes", OPTION_TEXT, NULL, "FILE",                                                           \
     "cut words into pieces by the merges of a file that 'trotter bpe' or subword-nmt wrote, "     \
     "instead of --bpe"},                                                                          \
    {"tokenizer", OPTION_TEXT, NULL, "FILE",                                                       \
     "cut the texts as they stand by a tokenizer.json, of 'trotter bpe --byte-level' or another "  \
     "program; perplexities are then per token, and bits a byte compare with other tokens",       \
     .flags = OPTION_SOURCE},                                                                     \
    {"vocabularies", OPTION_CHOICE, NULL, "joined|separate",                                       \
     "for pairs: one vocabulary and embedding for both sides, or one each, merges too",            \
     .otherwise = "joined", .sets = {NETWORK_SETS(corpus.apart)}},                                 \
    {"level", OPTION_CHOICE, "word", "word|char",                                                  \
     "word: tokens are words; char: tokens are characters, with _ between words",                  \
     .sets = {NETWORK_SETS(corpus.level)}},                                                        \
    {"vocabulary", OPTION_SIZE, "0", "V",                                                          \
     "keep V tokens, which are <eos>, <unk> and the most frequent ones, and read all others as "   \
     "<unk>; corpora of whole words other than pairs need this if the validation or test text "    \
     "has words that the training text lacks; 0: keep all (whole words of kjv: 10000)",            \
     0, 1e9,                                                                                       \
     .sets = {NETWORK_SETS(corpus.vocab_limit)}},                                                  \
    {"corpus-seed", OPTION_SIZE, "1", "N", "seed of a markov or reverse corpus", 0, 1e18,          \
     .sets = {NETWORK_SETS(corpus.seed)}}
/* clang-format on */

extern const OptionGroup network_text_group;     /* corpus, context, sequence */
extern const OptionGroup network_depth_group;    /* layers; the next one goes on with it */
extern const OptionGroup network_model_group;    /* width, ... */
extern const OptionGroup network_training_group; /* rate, epochs, ... */
extern const OptionGroup network_seed_group;     /* seed */
extern const OptionGroup network_machine_group;  /* device, precision, threads */
/* classes, segments: for an encoder that was fine-tuned ('trotter finetune') and gives labels in place of masked words.
 * Metadata has them; no command line does. */
extern const OptionGroup network_label_group;
/* gelu, plain-input, ...: what only models of other programs have, and trainings that begin with them. */
extern const OptionGroup network_foreign_group;

/* The groups above: all that a model and its training take. Ends with NULL. */
extern const OptionGroup *const network_groups[];

/* ---- network.c ------------------------------------------------------------------------------- */

/* Finds the backend of --device, --precision and --kernel; sets the threads. */
int network_backend(const Options *o, const Backend **out);

/* Reads the corpus. untested: without the test text, which is not even opened. */
int network_corpus(const Options *o, int untested, Corpus *c);

/* Returns ERR_INPUT where an option of a training has no effect because of another option, or because another is
 * missing. */
int network_check(const Options *o);

/* Sets --warmup, where neither command line nor file did, to no more than a tenth of the training's steps (at least 1):
 * the number that is used is recorded. */
int network_warmup(Options *o, const Corpus *c);

/* Returns ERR_INPUT where --adaptive is given and the words of c's training text are not numbered by frequency. */
int network_adaptive(const Options *o, const Corpus *c);

/* Returns ERR_INPUT where c has pairs, or an encoder's layers or --best bleu are asked for: for commands that train
 * only language models. */
int network_language(const Options *o, const Corpus *c);

/* Returns ERR_INPUT where a decoder's scheme has no cross-attention: it would be a language model beside an encoder
 * that nobody reads. option begins the words. */
int network_reads_source(const char *option, const Table *decoder);

/* Returns what the tables set; sizes that no option sets (vocab, out ...) are 0. */
NetworkConfig network_config(const Options *o);
/* Returns the corpus' part of it, with the texts of the options, which are borrowed. */
CorpusChoice network_choice(const Options *o);
/* Returns what a training with masked words asks of each text, in ask (SPLITS); NULL: the next words. */
const Asking *network_asking(const Options *o, Asking ask[SPLITS]);
/* Returns the options for bridge_plan. */
BridgeOptions network_bridge(const Options *o);

/* Makes the plan of the network's layers. */
int network_plan(const Options *o, Stacks s, Plan **out);

/* Makes a model of such a plan for a vocabulary, for evaluation. */
int network_model(const Options *o, Stacks s, const Vocab *v, const Backend *b, Model **out);

/* Makes a model of a plan, which it takes ownership of in any case, with at most max_params numbers
 * (ModelConfig.max_params). */
int network_model_of(const Options *o, Plan *plan, const Vocab *v, const Backend *b, int training,
                     size_t max_params, Model **out);

/* Makes a model for training, with the rows of --step-penalty, as one of so many ranks (ERR_INPUT where a batch has fewer
 * sequences). With `counted` it has no memory (model_count). */
int network_trained(const Options *o, Stacks s, const Vocab *v, const Backend *b, int ranks,
                    int counted, Model **out);

/* Returns the training of o, without directory, report and stop. */
TrainConfig network_training(const Options *o);
/* Writes its length: "8 epochs", "at most 2 epochs and 1500 steps"; "at most 20 epochs" with --patience, which may stop it
 * earlier. */
void network_length(const Options *o, char out[64]);

/* The names at a level of a vocabulary. token: that of a token, "token" or "character"; word: that of what the
 * unigram's frequencies count, "word", "character" or "piece". */
typedef struct {
    const char *token, *word;
} Unit;
const Unit *network_unit(const Vocab *v);

/* ---- metadata.c ------------------------------------------------------------------------------ */

typedef struct {
    size_t count;
    StoreText *item; /* owns keys and values */
} Metadata;

int network_metadata(const Options *o, Stacks s, const Corpus *c, const Model *m, Metadata *out);
/* Adds an entry; ERR_MEMORY. */
int network_metadata_put(Metadata *d, const char *key, const char *value);
void network_metadata_free(Metadata *d);

/* Makes the texts of the tables; the caller frees *text (memory_free). */
int network_scheme_text(Stacks s, char **text);
/* Reads such a text: out[0] the table of the layers or of the decoder, out[1] of the encoder where there is one. ERR_INPUT
 * with words that begin with `file`; *out then stays. */
int network_schemes(const char *file, const char *text, size_t bytes, Table *out[2]);
/* Returns 1 where two such texts are of one scheme: equal except for titles, sources and notes, which are for
 * readers. */
int network_scheme_same(const char *a, const char *b);

/* Makes the text of config.ini; the caller frees *text (memory_free). */
int network_config_text(const Options *o, char **text);

typedef struct {
    Options *options; /* of the saved run, overridden by those given now */
    Table *table;     /* of the layers, or the decoder's */
    Table *encoder;   /* NULL: a language model */
    Model *model;
    Vocab vocab;
    Bpe *bpe;           /* NULL: its tokens are not pieces */
    char *codes;        /* the file of bpe, or NULL; owned */
    char *source_codes; /* that of a source apart */
    Foreign *foreign;   /* NULL: the directory is ours */
} Network;

/* Rebuilds the model of DIR/model.safetensors (or of the file `dir` ending in .safetensors, with vocab.txt and, where
 * its words are in pieces, codes.bpe, or else tokenizer.json, beside it) from its metadata and loads its weights, without memory for training.
 * The metadata must have scheme, scheme_text, layers, width, inner, heads, positions, activation; the rest has
 * defaults, so that another program can write such a file. Options given on the command line override what the metadata
 * says. A directory of another program (nn/foreign/foreign.h) is read likewise, with the scheme of its family. */
int network_load(const char *dir, const Options *given, Network *n);
/* Does the same without the model, which stays NULL; file out: the file with its weights; given may be NULL. */
int network_describe(const char *dir, const Options *given, Network *n, char file[OUTPUT_PATH]);
void network_free(Network *n);

/* Reads the corpus that the options of the model's file and those given name; the model's own merges cut its words. */
int network_own_corpus(const Network *n, int untested, Corpus *c);

/* ---- texts.c: a user's texts for a model, and on stderr what it reads otherwise than they have it ------------- */

/* Reads a text as text_read does, with the model's pieces and words. */
int texts_read(const Network *n, const char *file, Text *t);
int texts_source(const Network *n, const char *file, Text *t); /* a text as a source */

/* Adds the counts of a part to those of a text: tokens, unknown. */
void texts_count(Text *of, const Text *part);

/* Writes how many tokens are read as <unk>, where there are any. A text with many of them is
 * easier, so perplexities of two vocabularies do not compare. */
void texts_tell(const Text *t);

/* Returns the share of the training tokens that are read as <unk> where it is large, a tenth or more: then <unk> is
 * among the most frequent words, and easy to predict. Else 0. texts_warn warns of it. */
double texts_unknown(const Corpus *c);
void texts_warn(const Corpus *c);

/* ---- what a model is for (metadata.c) ------------------------------------------------------------ */

/* Returns ERR_INPUT, naming the model, where it was fine-tuned: for commands that need words. */
int network_no_labels(const Network *n, const char *dir);
/* Returns ERR_INPUT, naming the model, where it is an encoder alone: for commands that need next words, with or without
 * a source. */
int network_tells_next(const Network *n, const char *dir);
/* Returns ERR_INPUT, naming the model, where it is an encoder and a decoder, or an encoder alone: for commands that
 * need a language model. */
int network_alone(const Network *n, const char *dir);

#endif
