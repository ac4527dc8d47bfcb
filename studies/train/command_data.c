/* command_data.c: describes a corpus: sizes, unknown words, checksums, and the loss
 * that a model has to beat. */
#include <math.h>
#include <nettle/sha2.h>
#include <string.h>

#include "kernels/file.h"
#include "kernels/text.h"
#include "nn/text/corpus.h"
#include "studies/tools/command.h"
#include "studies/train/train.h"

static const Option data_options[] = {
    NETWORK_CORPUS,
    {0},
};

static const Option output_options[] = {
    {"csv", OPTION_FLAG, NULL, NULL, "write the table as CSV"},
    {"out", OPTION_TEXT, NULL, "DIR", "write DIR/data.csv, .md, .tex too"},
    {0},
};

static const OptionGroup data_group = {"Corpus", 1, data_options};
static const OptionGroup output_group = {"Output", 0, output_options};
static const OptionGroup *const groups[] = {&data_group, &output_group, NULL};

typedef struct {
    const char *file, *sha256;
    size_t lines, tokens, distinct, unknown;
} TextRow;

static const Column columns[] = {
    COLUMN(TextRow, file),
    COLUMN(TextRow, lines),
    COLUMN(TextRow, tokens, .words = "tokens, the end of every line included"),
    COLUMN(TextRow, distinct),
    COLUMN(TextRow, unknown),
    COLUMN(TextRow, sha256),
    {0}};

/* The text of a split as bytes: the file's, the built-in one's, or the words of a synthetic source
 * as a file would hold them. */
typedef struct {
    char *bytes;
    size_t count;
} Bytes;

static int write_words(const Corpus *c, const Text *t, Bytes *b)
{
    Output o;
    TRY(output_open(&o));
    for (size_t i = 0; i < t->tokens; i++) {
        int ends = t->id[i] == c->vocab.eos,
            next_ends = i + 1 < t->tokens && t->id[i + 1] == c->vocab.eos;
        if (ends)
            fputc('\n', o.f);
        else
            fprintf(o.f, "%s%s", c->vocab.word[t->id[i]], next_ends ? "" : " ");
    }
    TRY(output_take(&o, 0, &b->bytes));
    b->count = strlen(b->bytes);
    return 0;
}

static int read_bytes(const Corpus *c, int split, const Text *t, Bytes *b)
{
    if (strcmp(c->name, "kjv") == 0) {
        BpeText text = builtin_kjv(split);
        b->count = text.count;
        b->bytes = memory_new(text.count + 1, 1);
        if (b->bytes) memcpy(b->bytes, text.bytes, text.count);
        return b->bytes ? 0 : ERR_MEMORY;
    }
    if (!isnan(c->entropy_rate)) return write_words(c, t, b);
    TRY(file_whole(t->file, SIZE_MAX, &b->bytes, &b->count));
    if (!c->single) return 0;
    const char *end = b->bytes + b->count, *from = single_skip(b->bytes, end, t->before);
    b->count = (size_t)(single_skip(from, end, t->lines) - from);
    memmove(b->bytes, from, b->count);
    return 0;
}

static void digest(const Bytes *b, char hex[2 * SHA256_DIGEST_SIZE + 1])
{
    struct sha256_ctx state;
    uint8_t sum[SHA256_DIGEST_SIZE];
    sha256_init(&state);
    sha256_update(&state, b->count, (const uint8_t *)b->bytes);
    sha256_digest(&state, sizeof sum, sum);
    for (size_t i = 0; i < sizeof sum; i++) sprintf(hex + 2 * i, "%02x", sum[i]);
}

/* Counts the distinct words (or characters) of a text before any cut, with <eos> as one. */
static int count_distinct(const Bytes *b, int level, size_t *distinct)
{
    Words words = {0};
    const char *word;
    size_t bytes;
    int code = words_add(&words, WORD_EOS, strlen(WORD_EOS), 1);
    size_t mark = text_mark(b->bytes, b->count);
    for (Scan s = scan_begin(b->bytes + mark, b->count - mark, level);
         code == 0 && scan_next(&s, &word, &bytes);)
        if (bytes) code = words_add(&words, word, bytes, 1);
    *distinct = words.size;
    words_free(&words);
    return code;
}

static int add_row(Sheet *r, const Corpus *c, int replace, int split, const Text *t)
{
    char hex[2 * SHA256_DIGEST_SIZE + 1];
    size_t distinct;
    Bytes b = {0};
    TRY(read_bytes(c, split, t, &b));
    digest(&b, hex);
    if (replace) b.count = marks_replace(b.bytes, b.count, &(Replaced){0});
    int code = count_distinct(&b, c->vocab.level, &distinct);
    memory_free(b.bytes);
    TRY(code);
    sheet_row(r, &(TextRow){t->file, hex, t->lines, t->tokens, distinct, t->unknown});
    return 0;
}

static void print_bounds(const Corpus *c)
{
    static const char *const tokens[] = {
        [LEVEL_WORD] = "words", [LEVEL_CHAR] = "characters", [LEVEL_PIECE] = "pieces"};
    char words[PARTS_WORDS];
    int pairs = c->source[SPLIT_TRAIN].tokens > 0;
    printf("\nvocabulary: %zu %s%s\n", c->vocab.size, tokens[c->vocab.level],
           c->vocab.unk < 0 ? ", none of them <unk>" : "");
    if (parts_words(c, words)) printf("%s\n", words);
    if (pairs)
        printf(
            "pairs: line i of a source and line i of its target; what follows is about targets\n");
    printf("unigram perplexity (what the frequencies of %s alone reach): valid %.2f, test %.2f\n",
           tokens[c->vocab.level], corpus_unigram(c, SPLIT_VALID), corpus_unigram(c, SPLIT_TEST));
    if (!isnan(c->entropy_rate))
        printf("entropy rate%s: %.6f nats a token, so no model has a perplexity below %.4f\n",
               pairs ? ", given the source" : "", c->entropy_rate, exp(c->entropy_rate));
}

static int show(const Options *o, const Corpus *c, Sheet *r)
{
    int csv = options_flag(o, "csv"), replace = options_flag(o, "replace-marks");
    const char *dir = options_text(o, "out");
    for (int split = 0; split < SPLITS; split++) {
        if (c->source[split].tokens) TRY(add_row(r, c, replace, split, &c->source[split]));
        TRY(add_row(r, c, replace, split, &c->text[split]));
    }
    TRY(output_shown(r, csv, dir, "data"));
    if (!csv) print_bounds(c);
    return 0;
}

static int run(Options *o)
{
    Corpus c;
    Sheet *r;
    TRY(network_corpus(o, 0, &c));
    int code = sheet_new(columns, &r);
    if (code == 0) {
        code = show(o, &c, r);
        sheet_free(r);
    }
    corpus_free(&c);
    return code;
}

static const Kind kinds[] = {{.command = "data",
                              .title = "Corpus",
                              .about = "Texts of a corpus as a model sees them.",
                              .table = {{"data", columns, "Sizes and checksums.", KIND_ALL}}},
                             {0}};

const Command command_data = {
    .name = "data",
    .purpose = "check a corpus",
    .about =
        "Prints for each text its lines, tokens (<eos> ends every line), distinct words before the vocabulary is\n"
        "cut, words that became <unk>, and sha256. Below the table stand the perplexity that the frequencies of\n"
        "words alone reach and, where it is known, the least possible one; --csv leaves them out. A corpus of pairs\n"
        "has a row for the sources and one for the targets of each text.\n",
    .often = "corpus parts source target bpe level vocabulary csv out",
    .example = "--corpus kjv --vocabulary 5000",
    .groups = groups,
    .kinds = kinds,
    .run = run,
};
