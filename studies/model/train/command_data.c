/* command_data.c: describes a corpus: sizes, unknown words, checksums, and the loss that a model has to beat. */
#include <inttypes.h>
#include <math.h>

#include "kernels/base/hash.h"
#include "studies/base/command.h"
#include "studies/model/train/training.h"

typedef struct {
    const char *file, *checksum;
    size_t lines, tokens, unknown;
} TextRow;

static const Column columns[] = {
    COLUMN(TextRow, file),
    COLUMN(TextRow, lines),
    COLUMN(TextRow, tokens, .words = "tokens, the end of every line included"),
    COLUMN(TextRow, unknown),
    COLUMN(TextRow, checksum, .words = "of the tokens, as numbers of the vocabulary (FNV-1a)"),
    {0}};

static void add_row(Sheet *r, const Text *t)
{
    char sum[32];
    snprintf(sum, sizeof sum, "%016" PRIx64,
             hash_bytes(HASH_START, t->id, t->tokens * sizeof *t->id));
    sheet_row(r, &(TextRow){t->file, sum, t->lines, t->tokens, t->unknown});
}

static int print_bounds(const Corpus *c)
{
    static const char *const tokens[] = {[LEVEL_WORD] = "words",
                                         [LEVEL_CHAR] = "characters",
                                         [LEVEL_PIECE] = "pieces",
                                         [LEVEL_TOKEN] = "tokens"};
    char words[PARTS_WORDS];
    double valid, test;
    int pairs = c->source[SPLIT_TRAIN].tokens > 0;
    TRY(corpus_unigram(c, SPLIT_VALID, &valid));
    TRY(corpus_unigram(c, SPLIT_TEST, &test));
    printf("\nvocabulary: %zu %s%s; corpus_checksum of its models: %016" PRIx64 "\n", c->vocab.size,
           tokens[c->vocab.level], c->vocab.unk < 0 ? ", none of them <unk>" : "",
           corpus_checksum(c));
    if (parts_words(c, words)) printf("%s\n", words);
    if (pairs)
        printf(
            "pairs: line i of a source and line i of its target; what follows is about targets\n");
    printf("unigram perplexity (what the frequencies of %s alone reach): valid %.2f, test %.2f\n",
           tokens[c->vocab.level], valid, test);
    if (!isnan(c->entropy_rate))
        printf("entropy rate%s: %.6f nats a token, so no model has a perplexity below %.4f\n",
               pairs ? ", given the source" : "", c->entropy_rate, exp(c->entropy_rate));
    return 0;
}

static int show(const Options *o, const Corpus *c, Sheet *r)
{
    int csv = options_flag(o, "csv");
    const char *dir = options_text(o, "out");
    for (int split = 0; split < SPLITS; split++) {
        if (c->source[split].tokens) add_row(r, &c->source[split]);
        add_row(r, &c->text[split]);
    }
    TRY(output_shown(r, csv, dir, "data"));
    return csv ? 0 : print_bounds(c);
}

static int run(Options *o)
{
    SCOPED(corpus_free) Corpus c = {0};
    SCOPED(sheet_drop) Sheet *r = NULL;
    TRY(network_corpus(o, 0, &c));
    TRY(sheet_new(columns, &r));
    return show(o, &c, r);
}

const Command command_data = {
    .name = "data",
    .purpose = "check a corpus",
    .about =
        "Prints for each text its lines, tokens (<eos> ends every line), words that became <unk>, and a checksum.\n"
        "Below the table stand the perplexity that the frequencies of words alone reach and, where it is known,\n"
        "the least possible one; --csv leaves them out. A corpus of pairs has a row for the sources and one for\n"
        "the targets of each text.\n",
    .often = "corpus parts source target bpe level vocabulary csv out",
    .example = "--corpus kjv --vocabulary 5000",
    .faster = "lower --bpe",
    .groups = GROUPS(
        OPTION_GROUP("Corpus", 1, NETWORK_CORPUS),
        OPTION_GROUP("Output", 0, {"csv", OPTION_FLAG, NULL, NULL, "write the table as CSV"},
                     {"out", OPTION_TEXT, NULL, "DIR", "write DIR/data.csv, .md, .tex too"})),
    .kinds = KINDS({.command = "data",
                    .title = "Corpus",
                    .about = "Texts of a corpus as a model sees them.",
                    .table = {{"data", columns, "Sizes and checksums.", KIND_ALL}}}),
    .run = run,
};
