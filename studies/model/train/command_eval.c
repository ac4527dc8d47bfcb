/* command_eval.c: evaluates a saved model on a text: perplexity, and logits for other programs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/model/network.h"
#include "studies/base/command.h"

/* bits_per_character is for tokens that are characters, words and word_ppl for pieces, bits_per_byte for a tokenizer's, pairs and exact for an encoder
 * and a decoder; else they are undefined. */
typedef struct {
    size_t tokens;
    double nll, ppl, bits_per_character;
    size_t words;
    double word_ppl, bits_per_byte;
    size_t pairs;
    double exact;
} Result;

static const Column columns[] = {
    COLUMN(Result, tokens),
    COLUMN(Result, nll, .digits = 9),
    COLUMN(Result, ppl, .digits = 7, .words = "perplexity, exp(nll)"),
    COLUMN(Result, bits_per_character, .digits = 7, .sparse = 1),
    COLUMN(Result, words, .sparse = 1,
           .words = "words that the predicted pieces make, the ends of lines included"),
    COLUMN(Result, word_ppl, .digits = 7, .sparse = 1,
           .words = "perplexity per word, exp(nll tokens / words)"),
    COLUMN(Result, bits_per_byte, .digits = 7, .sparse = 1,
           .words = "bits a byte of the text as it stands, nll tokens / (bytes ln 2)"),
    COLUMN(Result, pairs, .sparse = 1, .words = "pairs of lines"),
    COLUMN(
        Result, exact, .digits = 4, .sparse = 1,
        .words =
            "share of the pairs of lines whose target is the most probable token at every place"),
    {0}};

enum { HEAD = 128 }; /* bytes of a NumPy file's header */

/* ---- logits -------------------------------------------------------------------------------------- */

/* Writes room for a header, then logits, *rows rows of them. */
static int put_logits(Network *n, Batches *b, size_t most, FILE *f, size_t *rows)
{
    size_t V = n->vocab.size;
    Batch x;
    fprintf(f, "%*s", HEAD, "");
    batches_epoch(b, -1);
    for (size_t i = *rows = 0; i < batches_count(b) && *rows < most; i++) {
        TRY(batches_get(b, i, &x));
        size_t asked = batch_asked(&x), more = most - *rows < asked ? most - *rows : asked;
        SCOPED(memory_drop) double *z = memory_new(asked, V * sizeof *z);
        if (!z) return ERR_MEMORY;
        TRY(model_logits(n->model, &x, z));
        for (size_t k = 0; k < more * V; k++) fwrite(&(float){(float)z[k]}, sizeof(float), 1, f);
        *rows += more;
    }
    return fflush(f) == 0 ? 0 : error_set(ERR_MEMORY, "out of memory");
}

/* Writes the format NEP 1, version 1.0: magic, length of the header, a Python literal padded to 64 bytes. */
static int save_logits(Network *n, const Text *t, const Text *source, const Asking *ask,
                       const char *file, size_t most)
{
    static const char magic[] = "\x93NUMPY\x01\x00\x76";
    const TrainConfig c = network_training(n->options);
    SCOPED(batches_drop) Batches *b = NULL;
    SCOPED(output_drop) Output o = {0};
    size_t rows, at = sizeof magic;
    TRY(batches_new(t, source, &n->vocab, ask, c.context, c.batch_tokens, c.sequence, 0, &b));
    TRY(output_open(&o));
    TRY(put_logits(n, b, most, o.f, &rows));
    memcpy(o.text, magic, at);
    at += (size_t)sprintf(o.text + at,
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", rows,
                          n->vocab.size);
    o.text[at] = ' ';
    o.text[HEAD - 1] = '\n';
    return output_close(&o, file);
}

/* ---- windows ------------------------------------------------------------------------------------- */

/* Returns the sum of -log p of the targets of the batch's last `scored` rows, z (N, V) being its logits. */
static double sum_nll(const Batch *x, size_t scored, size_t V, const double *z)
{
    double sum = 0;
    for (size_t i = x->N - scored; i < x->N; i++) {
        const double *row = z + i * V;
        double most = row[0], total = 0;
        for (size_t v = 1; v < V; v++) most = fmax(most, row[v]);
        for (size_t v = 0; v < V; v++) total += exp(row[v] - most);
        sum += most + log(total) - row[x->target[i]];
    }
    return sum;
}

/* Evaluates a text in windows of T rows that begin `stride` rows apart. A window scores the rows behind those of the window before,
 * so every token is predicted once, and behind the first window from T - stride + 1 tokens or more. all: the text as one sequence. */
static int slide(Network *n, const Batch *all, size_t T, size_t stride, Evaluation *e)
{
    const size_t V = n->vocab.size;
    SCOPED(memory_drop) double *z = memory_new(T, V * sizeof *z);
    double sum = 0;
    if (!z) return ERR_MEMORY;
    for (size_t from = 0, done = 0; done < all->N; from += stride) {
        size_t rows = all->N - from < T ? all->N - from : T, start[2] = {0, rows};
        Batch x = {rows, 1, rows, all->input + from, all->target + from, all->position, start};
        progress_of(done, all->N, "%zu of %zu tokens", done, all->N);
        TRY(model_logits(n->model, &x, z));
        sum += sum_nll(&x, from + rows - done, V, z);
        done = from + rows;
    }
    *e = (Evaluation){.mean = sum / (double)all->N, .tokens = all->N};
    return isfinite(e->mean) ? 0 : error_set(ERR_NUMERIC, "the loss is not finite");
}

/* Evaluates with --stride, which is for language models on a stream alone. */
static int eval_windows(const Options *o, Network *n, const Text *t, const Asking *ask,
                        Evaluation *e)
{
    const TrainConfig c = network_training(n->options);
    size_t stride = options_size(o, "stride");
    SCOPED(batches_drop) Batches *b = NULL;
    Batch all;
    if (ask || n->encoder || c.context != CONTEXT_STREAM)
        return error_set(ERR_INPUT, "--stride is for language models on a stream: this one %s",
                         ask          ? "predicts masked words"
                         : n->encoder ? "has an encoder"
                                      : "reads each line alone");
    if (stride > c.sequence)
        return error_set(ERR_INPUT,
                         "--stride %zu leaves tokens out: expected at most --sequence, %zu", stride,
                         c.sequence);
    TRY(batches_new(t, NULL, &n->vocab, NULL, CONTEXT_STREAM, t->tokens, t->tokens, 0, &b));
    batches_epoch(b, -1);
    TRY(batches_get(b, 0, &all));
    return slide(n, &all, c.sequence, stride, e);
}

/* ---- perplexity ---------------------------------------------------------------------------------- */

static int report_result(const Evaluation *e, const Text *t, const Asking *ask, int level, int csv)
{
    SCOPED(sheet_drop) Sheet *r = NULL;
    double ppl = exp(e->mean);
    int next = !ask && !e->pairs, pieces = next && (level == LEVEL_PIECE || level == LEVEL_TOKEN);
    TRY(sheet_new(columns, &r));
    sheet_row(r,
              &(Result){.tokens = e->tokens,
                        .nll = e->mean,
                        .ppl = ppl,
                        .bits_per_character = next && level == LEVEL_CHAR ? e->mean / log(2) : NAN,
                        .words = pieces ? e->tokens - t->goes_on : SIZE_MAX,
                        .word_ppl = pieces ? text_word_ppl(t, e->tokens, ppl) : NAN,
                        .bits_per_byte = next ? text_bits(t, e->tokens, ppl) : NAN,
                        .pairs = e->pairs ? e->pairs : SIZE_MAX,
                        .exact = e->pairs ? evaluation_exact(e) : NAN});
    return sheet_write(r, csv ? SHEET_CSV : SHEET_PLAIN, stdout);
}

/* Finds the question to the model, in *ask. *asked NULL: next words. */
static int find_asking(const Options *o, const Network *n, Asking *ask, const Asking **asked)
{
    const ModelConfig *c = model_config(n->model);
    int one = options_flag(o, "one-by-one");
    *ask = (Asking){.what = ASK_MASKED, .each = one};
    *asked = c->masked ? ask : NULL;
    if (c->masked || !one) return 0;
    return error_set(ERR_INPUT,
                     "--one-by-one: this model was trained on next words, which it tells "
                     "one by one as it is");
}

static int eval_text(const Options *o, Network *n, const Text *t, const Text *source)
{
    const TrainConfig c = network_training(n->options);
    const char *logits = options_text(o, "logits");
    Asking list;
    const Asking *ask;
    Evaluation e;
    TRY(find_asking(o, n, &list, &ask));
    texts_tell(t);
    texts_tell(source);
    progress_show("evaluating %zu tokens", t->tokens);
    int code = options_size(o, "stride") ? eval_windows(o, n, t, ask, &e)
                                         : train_eval(n->model, t, source, &n->vocab, ask,
                                                      c.context, c.batch_tokens, c.sequence, &e);
    progress_clear();
    TRY(code);
    TRY(report_result(&e, t, ask, n->vocab.level, options_flag(o, "csv")));
    return logits ? save_logits(n, t, source, ask, logits, options_size(o, "max-tokens")) : 0;
}

/* Evaluates the text of a file, with its source's where there is one. */
static int eval_files(const Options *o, Network *n)
{
    SCOPED(text_free) Text t = {0}, source = {0};
    const char *file = options_text(o, "source-text");
    TRY(texts_read(n, options_text(o, "text"), &t));
    if (file) TRY(texts_source(n, file, &source));
    if (n->encoder && !file)
        return error_set(ERR_INPUT,
                         "%s is an encoder and a decoder: --source-text FILE is needed too",
                         options_text(o, "model"));
    return eval_text(o, n, &t, &source);
}

/* Evaluates a split of a corpus. Its words must be the model's, id for id, as a training text cuts
 * and numbers a vocabulary. */
static int eval_corpus(const Options *o, Network *n)
{
    SCOPED(corpus_free) Corpus c = {0};
    int split = options_choice(o, "split");
    TRY(network_own_corpus(n, split != SPLIT_TEST, &c));
    if (n->vocab.tokens || vocab_hash(&c.vocab) == vocab_hash(&n->vocab))
        return eval_text(o, n, &c.text[split], &c.source[split]);
    return error_set(ERR_INPUT, "--corpus: the words of %s are not those of %s", c.name,
                     options_text(o, "model"));
}

static int run(Options *o)
{
    SCOPED(network_free) Network n = {0};
    const char *dir = options_text(o, "model"), *logits = options_text(o, "logits");
    int corpus = options_text(o, "corpus") != NULL;
    TRY(options_needs(o));
    TRY(options_either(o, "text", "corpus"));
    if (!dir || (!corpus && !options_text(o, "text")))
        return error_set(ERR_INPUT, "--%s is needed", dir ? "text" : "model");
    if (logits) TRY(output_check_file(logits));
    TRY(network_load(dir, o, &n));
    TRY(network_no_labels(&n, dir));
    return corpus ? eval_corpus(o, &n) : eval_files(o, &n);
}

const Command command_eval = {
    .name = "eval",
    .purpose = "compute perplexity and logits of a saved model on a text",
    .about =
        "Rebuilds the model from the metadata of DIR/model.safetensors and predicts every token of the text exactly\n"
        "once, <eos> at the end of every line included (not that of blank lines with --context sentence). For a\n"
        "language model of characters the table also has bits per character. An encoder and a decoder read a text\n"
        "beside its source; `exact` is the share of the `pairs` of lines that are exact: at every place the right\n"
        "token, <eos> included, is the most probable one after the right tokens before it. Then greedy decoding gives\n"
        "the target.\n"
        "\n"
        "Where words are cut into pieces (train --bpe), tokens, nll and ppl are of pieces. For language models two\n"
        "more columns are of words as the text has them, <eos> included: words, and word_ppl = exp(nll tokens /\n"
        "words). Use word_ppl to compare models of different pieces, or of whole words, on the same text. A model\n"
        "that reads words as <unk> predicts a different, easier text. Where a tokenizer cuts the text\n"
        "(train --tokenizer), bits_per_byte compares on the same text, whatever the tokens.\n"
        "\n"
        "For an encoder alone (train --objective masked) ppl is the pseudo-perplexity: exp of the mean nll of masked\n"
        "words, each predicted from the words that remain in its sequence. Do not compare it with perplexities of\n"
        "next words. The masked words are one set, drawn once for all models: each word but <eos> with probability\n"
        "0.15. With --one-by-one every word but <eos> is masked by itself, in a separate copy of its sequence\n"
        "(Salazar et al. 2020).\n",
    .often = "model text source-text corpus split stride device csv logits",
    .example = "--model out/macaron --corpus kjv --split test",
    .faster = "a shorter --text, lower --sequence",
    .groups = GROUPS(
        OPTION_GROUP(
            "Evaluation", 1, {"model", OPTION_TEXT, NULL, "DIR", NETWORK_DIR},
            {"text", OPTION_TEXT, NULL, "FILE", "text to evaluate" NETWORK_TEXTS},
            {"source-text", OPTION_TEXT, NULL, "FILE",
             "for an encoder and a decoder: source of the text, whose line i belongs to line i of the text",
             .needs = "text"},
            {"corpus", OPTION_TEXT, NULL, "NAME",
             "evaluate a text of a corpus instead, as 'trotter train' names it; it must have the words of the model"},
            {"split", OPTION_CHOICE, "valid", "train|valid|test", "text of the corpus",
             .needs = "corpus"},
            {"context", OPTION_CHOICE, NULL, "stream|sentence",
             "stream: cut the text in blocks of T tokens; sentence: take each line alone (default: as trained)"},
            {"sequence", OPTION_SIZE, NULL, "T", "longest sequence in tokens (default: as trained)",
             1, 65536},
            {"stride", OPTION_SIZE, NULL, "S",
             "for a language model: read the stream in windows of T tokens that begin S tokens apart, so that each token has at "
             "least T - S before it, but for the first ones (default: T, blocks); takes T / S times as long",
             1, 65536},
            {"batch-tokens", OPTION_SIZE, NULL, "N",
             "largest number of tokens of a batch (default: as trained)", 1, 1048576},
            {"one-by-one", OPTION_FLAG, NULL, NULL,
             "for an encoder alone: mask every word by itself, not a set of 15 % at once"}),
        &network_machine_group,
        OPTION_GROUP(
            "Output", 0,
            {"csv", OPTION_FLAG, NULL, NULL,
             "write the table as CSV; its first columns are tokens,nll,ppl, and nll is the mean per token in nats"},
            {"logits", OPTION_TEXT, NULL, "FILE.npy",
             "write logits (N, V) as a NumPy array of f32, with a row for each predicted token in order"},
            {"max-tokens", OPTION_SIZE, "1024", "N", "largest number of rows of the logits", 1,
             1e9})),
    .kinds = KINDS({.command = "eval",
                    .title = "Evaluation of a model",
                    .about = "Perplexity of a saved model on a text.",
                    .table = {{"*", columns, "Perplexity.", KIND_ALL}}}),
    .run = run,
};
