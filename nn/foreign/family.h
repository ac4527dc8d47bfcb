/* family.h: shared by family.c, the table of families, and those that read a directory by it (foreign_config.c, foreign_tensors.c). */
#ifndef TROTTER_FAMILY_H
#define TROTTER_FAMILY_H

#include "nn/foreign/foreign.h"

/* A value of config.json and ours. */
typedef struct {
    const char *theirs, *ours;
} FamilyWord;

/* An option of ours, by a key of config.json. */
typedef struct {
    const char *option;
    const char *key; /* NULL: the value is `otherwise` */
    /* Where the key is absent or null; "4*KEY": four times another, "=KEY": as another, "": the option is not given; NULL: it
     * must be there. */
    const char *otherwise;
    const FamilyWord *words; /* all values that are supported; NULL: a number, as it stands */
    size_t most;             /* a larger number becomes this; 0: no limit */
    int keys; /* 1: ours of `words` is a list of keys, whose values are the option's; "": it is left out */
} FamilySetting;

#define USE_WINDOW "use_sliding_window"

/* A key that must have this value where it is there and not null; a list: each of it. NULL: any, it changes nothing. */
typedef struct {
    const char *key, *value;
    int null;   /* 1: null is not as if the key were absent */
    int absent; /* 1: nor may the key be absent */
} FamilyDemand;

/* ADDED: its first row is added to every row of ours, after all else; where a model tells segments apart (segment.weight),
 * what the second row has beyond the first is theirs. HEAD: of a head that our model may lack, since it is asked words or labels. */
enum { FAMILY_TRANSPOSED = 1, FAMILY_MAY_MISS = 2, FAMILY_MORE_ROWS = 4, FAMILY_ADDED = 8 };
enum { FAMILY_HEAD = 128 };
/* ONE: theirs is the gain less 1. PART: rows of queries and keys whose heads turn in part: theirs turn the first R numbers, ours
 * R/2 of each half. QUERY: times sqrt(E / Family.query). COPIED: `theirs` is another of ours, a norm that this one begins as; BEHIND_COPY: it reads such a
 * norm, and what is written has the difference of both in it. */
enum {
    FAMILY_ONE = 256,
    FAMILY_PART = 512,
    FAMILY_QUERY = 1024,
    FAMILY_COPIED = 2048,
    FAMILY_BEHIND_COPY = 4096
};
/* Biases that a model has or has not as a whole: of queries, keys, values; of attention's output; of feed-forward. Kind k is
 * FAMILY_QKV_BIAS << k, and NO_BIAS_QKV << k in our model, which then has no such tensors, so that nothing trains them. */
enum { FAMILY_QKV_BIAS = 16, FAMILY_OUT_BIAS = 32, FAMILY_MLP_BIAS = 64 };
enum { FAMILY_BIASES = 3 };

/* A tensor of theirs, and ours that it makes; '#' is the number of a layer. A weight or bias of a norm may be called gamma
 * or beta. Rows of one of ours that follow each other
 * lie one below the other in it. ours NULL: it is not read; theirs may then begin with '*'. */
typedef struct {
    const char *theirs, *ours;
    int how; /* bits of FAMILY_* */
} FamilyTensor;

typedef struct {
    const char *type;             /* model_type */
    const char *architecture;     /* class of transformers */
    const char *prefix;           /* which names of tensors may have in front */
    const char *scheme;           /* of a layer */
    const FamilySetting *setting; /* each list ends with a row of zeros */
    const FamilyDemand *demand;
    const FamilyTensor *tensor;
    const char *const mark[VOCAB_MARKS]; /* as of vocab_tokens; NULL: bos_token_id, or none */
    /* For each kind of biases "true" (NULL too), "false", or the key that says so (false where it is absent). */
    const char *const bias[FAMILY_BIASES];
    /* Which layers attend to the last sliding_window tokens alone, where layer_types does not say it. NULL: none, whatever the
     * keys say; "": all; use_sliding_window: if that is true, those from max_window_layers on; another key: all but every n-th,
     * n its value or window_every. */
    const char *window;
    /* The key of a number that stands for E in the scale of scores, 1 / sqrt(E); NULL: none. */
    const char *query;
    double part; /* partial_rotary_factor where the key is absent; 0: the key may be 1 alone */
    int window_every;
    int window_otherwise; /* sliding_window where the key is absent; 0: none */
} Family;

/* Keys of config.json that change nothing in what a model computes here: names, what training does, how transformers runs,
 * other heads. Others of the family are in its lists; one that begins with '_', or is null, is transformers' own. All else
 * is refused: a key that nobody has looked at may change every number. */
extern const char *const family_ignored[];

/* Kinds of values, in the words of a message. */
#define FAMILY_NUMBER "a number"
#define FAMILY_WHOLE "a whole number"
#define FAMILY_TRUTH "true or false"
#define FAMILY_WORD "a word"
#define FAMILY_OBJECT "an object"
/* The kinds of keys that no setting and no demand of a family reads; their keys, and the kind as `ours`. */
extern const FamilyWord family_kinds[];

extern const Family families[]; /* ends with a row of zeros */

/* Returns "true", "false" or the key that tells whether a family has biases of a kind. */
const char *family_bias(const Family *f, int kind);

/* Returns the row of ours that row j of a head's queries or keys is (FAMILY_PART), of E rows of which R turn. */
size_t family_place(size_t j, size_t R, size_t E);

enum { FAMILY_NAME = 200 };
/* Writes a pattern's name, with the layer in place of '#'. */
void family_name(const char *prefix, const char *pattern, size_t layer, char out[FAMILY_NAME]);

#endif
