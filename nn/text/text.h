/* text.h: texts as token ids, corpora, batches. */
#ifndef TROTTER_TEXT_IDS_H
#define TROTTER_TEXT_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/base/scoped.h"
#include "nn/text/bpe.h"
#include "nn/text/tokenizer.h"

/* ---- corpus.c: text to token ids -------------------------------------------------------------- */

enum { SPLIT_TRAIN, SPLIT_VALID, SPLIT_TEST, SPLITS };
enum { CONTEXT_STREAM, CONTEXT_SENTENCE };
/* Kind of a token. PIECE: part of a word (bpe.h); TOKEN: of a tokenizer (tokenizer.h). */
enum { LEVEL_WORD, LEVEL_CHAR, LEVEL_PIECE, LEVEL_TOKEN };
enum { VOCAB_MARKS = 4 };

/* Ids follow the falling count in the training text, ties bytewise; order of first appearance would change when the
 * vocabulary is cut. <eos> and <unk> are ordinary words of this order. */
typedef struct Vocab {
    int level;           /* LEVEL_* */
    size_t size;         /* V */
    char **word;         /* (V), by id */
    void *index;         /* word -> id */
    int32_t eos;         /* id of <eos>: every line ends in it */
    int32_t unk;         /* id of <unk>, or -1 where the vocabulary has none */
    int32_t first, mask; /* ids of <cls> and <mask>, or -1 (nn/text/masking.h) */
    /* LEVEL_TOKEN: what cuts a text, owned. A text is then cut as a whole, ends of lines included, and `eos` begins it;
     * lines 1: each line is cut alone and ends in `eos`. */
    Tokenizer *tokens;
    int lines;
    /* Words of the source alone, owned (vocab_apart); NULL: source and target share these. In it `above` is added to
     * the number of a word, and `eos` is the target's. */
    struct Vocab *source;
    size_t above;
    size_t advised; /* limit that keeps the words its training text repeats; 0: no text made it */
} Vocab;

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
    size_t goes_on; /* LEVEL_TOKEN: tokens less words, modulo 2^64 where there are more words */
    size_t bytes;   /* LEVEL_TOKEN: of the text as it stands; else 0 */
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
    double dropout;  /* > 0: corpus_recut cuts the training texts, kept here, anew */
    BpeText raw[2];  /* the source's, if there is one, and the target's or text; owned */
    /* Nats a token (for pairs a target's token, given its source) where it is known, else NaN. */
    double entropy_rate;
} Corpus;

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
     * <unk>; kjv's is then not cut. Errors as bpe_check. For a file, a directory or kjv, not with LEVEL_CHAR. "<eos>" and
     * "<unk>" are cut like other words. */
    const char *codes;
    size_t merges;
    int apart;                /* pairs: source and target have a vocabulary, and merges, each */
    const char *source_codes; /* with apart and codes: those of the source; NULL: the same */
    /* A tokenizer.json that cuts the texts (vocab_tokenizer); for pairs, and with `lines`, each line alone. Not with
     * codes, merges, a limit of words or LEVEL_CHAR. */
    const char *tokenizer;
    int lines;
    /* BPE dropout of the training text (corpus_recut): 0 .. 1; not with WordPiece or WordLevel */
    double dropout;
    /* Shares of one file's lines for training, validation and test, each above 0; they are divided by their sum
     * (single.c). All 0: PARTS_USUAL for one file. Other corpora need all 0, else ERR_INPUT. */
    double parts[SPLITS];
    /* LEVEL_TOKEN: that of all texts, borrowed; the corpus then has none, and `tokenizer` is not read. */
    const Vocab *vocab;
} CorpusChoice;
#define PARTS_USUAL "0.9,0.05,0.05"

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
 * Words are separated by blanks or tabs; every line ends in <eos>, and so does the end of the file. Files are as read_text has
 * them (corpus.h): UTF-8, lines ended by LF or CR LF.
 * vocab_limit 0: no cut (10,000 for kjv); V >= 2: <eos>, <unk> and the V - 2 most frequent others. A token of valid or
 * test that the training text lacks becomes <unk>; where the vocabulary has no <unk> that is ERR_INPUT with file, line,
 * word and a limit that brings one. A NUL byte, an empty or missing file: ERR_INPUT.
 * LEVEL_CHAR: the tokens are the characters of the words, "_" between two
 * words of a line, <eos> at its end. The number of blanks is lost, and so is a written "_". <unk> is always there; the
 * vocabulary is cut only by a limit. markov and reverse do not allow it.
 * untested: the test text's file is not opened, the text stays empty (no id, no file). eval_tokens: valid and test end
 * with the line of their N-th token, and the corpus's name says so; 0: they are whole.
 * Caller: corpus_free; after an error *c holds nothing. */
int corpus_choose(const char *name, const CorpusChoice *w, Corpus *c);
/* Takes out of the training text all pairs that are longer than T tokens on a side, <eos> included, and counts them in
 * left_out. */
void corpus_leave_out(Corpus *c, size_t T);
void corpus_free(Corpus *c);
/* Makes *out of c with another training text: that of an epoch, with merges dropped (bpe.h) as a function of (seed,
 * epoch, side, number of the word), and without pairs that are longer than T on a side. All else is borrowed from c. The
 * other texts are never cut so. Caller: corpus_recut_free. */
int corpus_recut(const Corpus *c, uint64_t seed, long epoch, size_t T, Corpus *out);
void corpus_recut_free(Corpus *out);

/* vocab_read reads a vocabulary from a file with a token a line, in order of id (an empty line, two words on one, a
 * word twice, no <eos>: ERR_INPUT); the caller sets level. vocab_write writes as file_replace does. */
int vocab_read(const char *file, Vocab *v);
int vocab_write(const Vocab *v, const char *file);
/* Makes a vocabulary of V >= tokenizer_size(t) tokens, which owns t in any case. mark: names of what begins a text, of
 * the unknown token, and of an encoder's first and masked ones (text.c, masking.h); only the first has to exist. */
int vocab_tokens(Tokenizer *t, size_t V, const char *const mark[VOCAB_MARKS], Vocab *v);
/* Gives v the words of a source, taken from *source: their ids follow those of v, but <eos> is that of v. */
int vocab_apart(Vocab *v, Vocab *source);
static inline const Vocab *vocab_of_source(const Vocab *v)
{
    return v->source ? v->source : v;
}
/* Reads a tokenizer.json as a vocabulary of its tokens. Texts begin with the first of these that is there:
 * <|endoftext|>, <s>, <|begin_of_text|>, <bos>, [SEP], <eos>, </s>; none is ERR_INPUT. The unknown token is <unk> or
 * [UNK]; an encoder's are [CLS] and [MASK], or <cls> and <mask>. */
int vocab_tokenizer(const char *file, Vocab *v);
/* Writes into a run's directory what reads its texts: tokenizer.json; or vocab.txt and, where bpe is not NULL,
 * codes.bpe; for a source apart these again, with "source-" in front. */
int vocab_save(const Vocab *v, const Bpe *bpe, const char *dir);
/* FNV-1a (kernels/base/hash.h) of the words by id, a NUL behind each; then of a source's. */
uint64_t vocab_hash(const Vocab *v);
int32_t vocab_find(const Vocab *v, const char *word, size_t bytes); /* -1: not there */
void vocab_free(Vocab *v);
/* Reads a text in memory in pieces (bpe NULL: as it stands). text_begin reads one as it stands, up to the end of the
 * line that has the `most`-th token. */
int text_encode(const BpeText *raw, const Bpe *bpe, const Vocab *v, Text *t);
int text_begin(const BpeText *raw, size_t most, const Vocab *v, Text *t);
/* As text_encode, for all kinds of pieces, with dropped merges. */
int text_dropped(const BpeText *raw, const Bpe *bpe, BpeDrop *drop, const Vocab *v, Text *t);
/* Reads a text from a file, from standard input ("-") or from kjv:train, kjv:valid, kjv:test. */
int text_read(const char *file, const Bpe *bpe, const Vocab *v, Text *t);
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
/* Returns the bits a byte of a text of LEVEL_TOKEN, given likewise: predicted log2(ppl) / bytes. They compare models of
 * different tokens on one text. NaN elsewhere. */
double text_bits(const Text *t, size_t predicted, double ppl);
/* Counts the tokens that batches_new predicts: all, but in CONTEXT_SENTENCE no empty line's <eos>. */
size_t text_predicted(const Text *t, int32_t eos, int context);

/* Hashes (FNV-1a) what a run learns from and chooses by: the tokens of the training and validation texts and of their
 * sources. Two corpora that differ in one token have different hashes. */
uint64_t corpus_checksum(const Corpus *c);

/* Computes the perplexity of the text under the training text's add-one unigram counts, which a model reaches that
 * learned only the frequencies of words. With marks it counts words that can be masked, so without <eos>. ERR_MEMORY. */
int corpus_unigram(const Corpus *c, int split, double *ppl);

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

/* Tells whether all of x (n) are from 0 to below `end`. */
static inline int batch_below(size_t n, const int32_t *x, size_t end)
{
    size_t i = 0;
    while (i < n && x[i] >= 0 && (size_t)x[i] < end) i++;
    return i == n;
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
    int each; /* masked: every token alone, in a separate sequence */
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
void batches_epoch(Batches *b, long epoch);        /* sets the order */
size_t batches_count(const Batches *b);            /* batches in this epoch */
size_t batches_tokens(const Batches *b, size_t i); /* N of batch i < count */
size_t batches_asked(const Batches *b, size_t i);  /* batch_asked of batch i */
int batches_get(Batches *b, size_t i, Batch *out); /* borrowed until the next get */
void batches_free(Batches *b);
DROP(Batches, batches)

#endif
