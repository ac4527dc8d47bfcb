/* tokenizer_steps.h: shared by the files behind tokenizer.h.
 *
 *   tokenizer_read.c  tokenizer.json -> Tokenizer      tokenizer.c  a text -> tokens
 *   normalise.c       a text -> a text                 pretokens.c  a text -> pieces
 *   tokenizer_learn.c texts -> tokenizer.json         pattern.c    a pattern -> one of PCRE2
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

/* A normaliser. A step of zeros in a list ends it. */
enum {
    NORMAL_NONE,
    NORMAL_PREPEND, /* text, before a text that is not empty */
    NORMAL_REPLACE, /* every `text` by `with` */
    NORMAL_NFC,
    NORMAL_NFD,
    NORMAL_NFKC,
    NORMAL_NFKD,
    NORMAL_LOWER,
    NORMAL_STRIP,   /* of BERT: marks that do not take room (Mn) */
    NORMAL_MARKS,   /* all marks (Mn, Mc, Me) */
    NORMAL_CLEAN,   /* of BERT: no control characters; blanks are U+0020 */
    NORMAL_CHINESE, /* of BERT: blanks around Chinese characters */
};
typedef struct {
    int kind;
    char *text, *with; /* owned */
} Normal;

/* Makes *out of a text; out holds nothing before, and is freed by the caller in any case. */
int normal_apply(const Normal *n, const char *text, size_t bytes, Buffer *out);
int normal_all(const Normal *list, const char *text, size_t bytes, Buffer *out); /* in turn */

/* A pre-tokenizer. */
enum {
    CUT_NONE,
    CUT_BYTES,      /* code, if there is one; tokens are of bytes */
    CUT_SPLIT,      /* at the matches of code, which are pieces, or are removed */
    CUT_METASPACE,  /* blanks become `text`, which begins pieces */
    CUT_DIGITS,     /* runs of numerals, or each */
    CUT_BLANKS,     /* blanks are removed */
    CUT_PUNCTUATION /* each is a piece */
};
enum { PREFIX_NEVER, PREFIX_FIRST, PREFIX_ALWAYS };
typedef struct {
    int kind;
    pcre2_code *code;
    int removed, each, prefix; /* prefix: PREFIX_*, of CUT_BYTES and CUT_METASPACE */
    int whole;                 /* CUT_METASPACE: it cuts nothing */
    char *text;
} Cut;

/* A window of a text. */
typedef struct {
    size_t begin, end;
} Span;

/* A text in pieces. */
typedef struct {
    Buffer text;
    Span *span; /* (spans) */
    size_t spans;
} Pieces;

/* Writes a pattern of Oniguruma for PCRE2 with PCRE2_UTF. ERR_INPUT with what is not supported, without a name. */
int pattern_translate(const char *pattern, Buffer *out);
/* Compiles a pattern of the library `tokenizers`. ERR_INPUT, naming file. */
int cut_compile(const char *file, const char *pattern, int literal, pcre2_code **code);
/* Cuts p further. first: the text begins what was given. */
int cut_apply(const Cut *c, const char *file, int first, Pieces *p);
void pieces_free(Pieces *p);

enum { STEPS_MOST = 16, FIRSTS_MOST = 4 };
enum { MODEL_BPE, MODEL_WORDPIECE, MODEL_WORDS };

typedef struct {
    int32_t id;
    int left, right; /* blanks on a side belong to it */
    int normalized;  /* 1: it is sought in the normalised text, after the others in the raw one */
    Buffer text;     /* what is sought: its name, normalised too */
} Added;

struct Tokenizer {
    char *file, *json; /* the name and text of its file */
    size_t json_bytes;
    Normal normal[STEPS_MOST];
    Cut cut[STEPS_MOST];
    int model;
    int bytes;      /* CUT_BYTES is among the cuts: the model's characters stand for bytes */
    Words names;    /* of all tokens; their texts are in arena */
    size_t known;   /* names that the model knows; the rest are added tokens alone */
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
