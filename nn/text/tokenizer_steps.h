/* tokenizer_steps.h: shared by the files behind tokenizer.h.
 *
 *   tokenizer_read.c  tokenizer.json -> Tokenizer      tokenizer.c  a text -> tokens
 *   normalise.c       a text -> a text                 pretokens.c  a text -> pieces
 *   tokenizer_learn.c texts -> tokenizer.json         pattern.c    a pattern -> one of PCRE2
 *   unigram.c         a piece -> tokens of Unigram    matches.c    a pattern's matches in a text
 *   tokenizer_names.c names and ids                   tokenizer_read_steps.c  its normalisers, pre-tokenizers
 */
#ifndef TROTTER_TOKENIZER_STEPS_H
#define TROTTER_TOKENIZER_STEPS_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "nn/text/buffer.h"
#include "nn/text/corpus.h"
#include "nn/text/tokenizer.h"

DROP(Tokenizer, tokenizer)

/* Returns the character of a byte at byte level: printable ones stand for themselves, the n-th other for U+0100 + n. */
uint32_t byte_character(int byte);

/* Finds a token of the model; -1: there is none. An added token alone is none. */
int32_t tokenizer_known(const Tokenizer *t, const char *text, size_t bytes);

/* Counts the pieces of a text, which merges do not cross, in w; their texts belong to w's owner (words_own). Errors as tokenizer_encode. */
int tokenizer_pieces(const Tokenizer *t, const char *file, const char *text, size_t bytes,
                     Words *w);

/* A window of a text. */
typedef struct {
    size_t begin, end;
} Span;

/* The matches of a pattern and what lies between them, in turn; with what PCRE2 searches in. */
typedef struct {
    Span at;
    int is; /* 1: a match */
} Match;
typedef struct {
    Match *match; /* (count) */
    size_t count;
    pcre2_match_data *found;
    pcre2_match_context *limits;
} Matches;

/* A normaliser. A step of zeros in a list ends it. */
enum {
    NORMAL_NONE,
    NORMAL_PREPEND, /* text, before a text that is not empty */
    NORMAL_REPLACE, /* every `text`, or match of code, by `with` */
    NORMAL_NFC,
    NORMAL_NFD,
    NORMAL_NFKC,
    NORMAL_NFKD,
    NORMAL_LOWER,
    NORMAL_STRIP,   /* of BERT: marks that do not take room (Mn) */
    NORMAL_MARKS,   /* all marks (Mn, Mc, Me) */
    NORMAL_CLEAN,   /* of BERT: no control characters; blanks are U+0020 */
    NORMAL_CHINESE, /* of BERT: blanks around Chinese characters */
    NORMAL_TRIM,    /* no blanks at the begin (text not empty), at the end (with not empty) */
    NORMAL_NMT,     /* of SentencePiece: no control characters, blanks are U+0020 */
    NORMAL_BYTES,   /* each byte becomes its character at byte level (byte_character) */
    NORMAL_CHARTS,  /* of SentencePiece: by a table of its own, `charts` */
};
/* What SentencePiece puts for characters: a trie of bytes (a double array: Aoe 1989, as Yata's darts-clone writes it) whose values are places in
 * texts that end with NUL. */
typedef struct {
    uint32_t *unit; /* (units) */
    size_t units;
    char *text; /* (bytes), the last one NUL */
    size_t bytes;
} Charts;
typedef struct {
    int kind;
    char *text, *with; /* owned, as all else */
    pcre2_code *code;
    Charts charts;
} Normal;

/* Makes *out of a text of a file; out is freed by the caller in any case. normal_apply adds to it. */
int normal_apply(const Normal *n, const char *file, const char *text, size_t bytes, Buffer *out);
int normal_all(const Normal *list, const char *file, const char *text, size_t bytes,
               Buffer *out); /* in turn */
/* *keeps out: 1: they leave the first character of a text, as it is or changed. */
int normal_keeps(const Normal *list, const char *text, size_t bytes, int *keeps);

/* A pre-tokenizer. */
enum {
    CUT_NONE,
    CUT_BYTES,     /* at the matches of code, if there is one; tokens are of bytes */
    CUT_SPLIT,     /* at the matches of code */
    CUT_METASPACE, /* blanks become `text`, which begins pieces */
    CUT_DIGITS,    /* at numerals */
    CUT_BLANKS,
    CUT_PUNCTUATION
};
/* What becomes of a match (pretokens.c). */
enum { BEHAVIOR_ISOLATED, BEHAVIOR_REMOVED, BEHAVIOR_PREVIOUS, BEHAVIOR_NEXT, BEHAVIOR_CONTIGUOUS };
enum { PREFIX_NEVER, PREFIX_FIRST, PREFIX_ALWAYS };
typedef struct {
    int kind;
    pcre2_code *code;
    int behavior, invert; /* invert: what lies between the matches is a match, and they are none */
    int prefix;           /* PREFIX_*, of CUT_BYTES and CUT_METASPACE */
    int whole;            /* CUT_METASPACE: it cuts nothing */
    int convert;          /* CUT_BYTES: characters stand for the bytes from here on */
    char *text;
} Cut;

/* A text in pieces. */
typedef struct {
    Buffer text;
    Span *span; /* (spans) */
    size_t spans;
    int begins; /* 1: the first one begins what was given: nothing before it was removed */
} Pieces;

/* Writes a pattern of Oniguruma for PCRE2 with PCRE2_UTF. ERR_INPUT with what is not supported, without a name. */
int pattern_translate(const char *pattern, Buffer *out);
/* Compiles a pattern of Oniguruma, a text as it stands, or a pattern of PCRE2. ERR_INPUT, naming file. */
enum { PATTERN_ONIGURUMA, PATTERN_TEXT, PATTERN_PCRE2 };
int cut_compile(const char *file, const char *pattern, int form, pcre2_code **code);
/* Adds the matches in text[piece], and what lies between them, to out. ERR_INPUT, naming file: the pattern gives up. */
int matches_find(const pcre2_code *code, const char *file, const char *text, Span piece,
                 Matches *out);
void matches_free(Matches *m);
int cut_apply(const Cut *c, const char *file, Pieces *p); /* cuts p further */
void pieces_free(Pieces *p);

/* Appends the tokens of Unigram that a piece is most probably made of (unigram.c). ERR_INPUT: a character is no token, and none stands for it. */
int unigram_cut(const Tokenizer *t, const char *file, const char *text, size_t bytes, int32_t **id,
                size_t *count);
/* ERR_INPUT: `text` is no token of t, which has none for it. */
int tokenizer_unknown(const Tokenizer *t, const char *file, const char *text, size_t bytes);

enum { STEPS_MOST = 16, FIRSTS_MOST = 4 };
enum { MODEL_BPE, MODEL_WORDPIECE, MODEL_WORDS, MODEL_UNIGRAM };

typedef struct {
    int32_t id;
    int left, right; /* blanks on a side belong to it */
    int alone;       /* none beside a letter or digit (\w) */
    int normalized;  /* 1: it is sought in the normalised text, after the others in the raw one */
    Buffer text;     /* what is sought: its name, normalised too */
} Added;

struct Tokenizer {
    char *file, *json; /* the name and text of its file */
    size_t json_bytes;
    Normal normal[STEPS_MOST];
    Cut cut[STEPS_MOST];
    int model;
    int bytes;    /* CUT_BYTES or NORMAL_BYTES is a step: the model's characters stand for bytes, */
    int raw;      /* and its pieces still have these */
    Words names;  /* of all tokens; their texts are in arena */
    size_t known; /* names that the model knows; the rest are added tokens alone */
    int32_t *id_of; /* (names.size) */
    char *arena;
    size_t size;       /* ids */
    const char **name; /* (size); NULL: no token */
    char **shown;      /* (size), windows of shown_text; NULL: no token */
    size_t *shown_bytes;
    char *shown_text;
    /* (merges) the id that each makes of two neighbours, in the order of their list */
    int32_t *merge;
    size_t merges;
    Numbers pair;      /* left id << 32 | right id -> number in merge */
    int32_t byte[256]; /* ids of bytes, or -1: by byte-level characters or as <0xNN> */
    int fallback, fuse, ignore_merges;
    double *score,
        unknown_score;          /* (size) of Unigram: log probabilities; and of what is no token */
    size_t widest;              /* bytes of its longest token */
    int32_t unknown;            /* -1: none */
    char *unknown_name;         /* what the file calls it; "": it has none */
    char *prefix;               /* of a WordPiece that goes on */
    size_t longest;             /* characters of a word that WordPiece cuts */
    int32_t first[FIRSTS_MOST]; /* (firsts) what post_processor puts before a text */
    size_t firsts;
    Added *added;
    size_t addeds;
    unsigned char begins[2][256]; /* 1: an added token, that is normalised, begins with this byte */
};

#endif
