/* command_generate.c: continues a text with a saved model. Every token is drawn from the softmax of the logits
 * after the last T tokens, divided by the temperature and cut to the most likely ones (nn/decode/sample.c); the draws
 * are a function of the seed. A text begins with <eos>, as every text that a model was trained on; for a model of Hugging
 * Face with what its tokenizer puts there, which may be nothing, and it ends at eos_token_id.
 *
 * What is printed is first a text in memory. Its bytes go to standard output as soon as they cannot be the beginning of a
 * text of --stop, before whose first occurrence in what the model adds a text ends. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/random.h"
#include "nn/text/corpus.h"
#include "nn/decode/search.h"
#include "studies/base/command.h"
#include "studies/model/network.h"

enum { FIRSTS = 4 }; /* tokens before a prompt at most (tokenizer_first) */

static const char between[] =
    "---------------"; /* a line between two texts, as nanoGPT's sample.py prints it */

/* A text while it grows. */
typedef struct {
    const Options *options;
    Network *net;
    size_t T;            /* tokens the model sees at most */
    size_t begun, count; /* the sequence's first token; all tokens */
    size_t hidden;       /* tokens before the prompt, which are not shown */
    int32_t *id;         /* (count and those to come) */
    char *said;          /* (V) 1: the token is in the text */
    int32_t *position;   /* (T) 0, 1, ... */
    double *logits;      /* (T, V) */
    Ranked *order;       /* (V) */
    FILE *text;          /* writes all that is to be printed into `bytes` (length) */
    char *bytes;
    size_t length, printed; /* printed: bytes that standard output has */
} Speech;

/* ---- drawing ------------------------------------------------------------------------------------- */

/* Computes *z, the logits behind the last token, from at most T tokens of its sequence. */
static int look(Speech *s, double **z)
{
    size_t V = s->net->vocab.size, all = s->count - s->begun, n = all < s->T ? all : s->T;
    size_t start[2] = {0, n};
    int32_t *window = s->id + s->count - n;
    Batch b = {n, 1, n, window, window, s->position, start};
    TRY(model_logits(s->net->model, &b, s->logits));
    *z = s->logits + (n - 1) * V;
    for (size_t v = 0; v < V; v++)
        if (!isfinite((*z)[v])) return error_set(ERR_NUMERIC, "a logit is not finite");
    return 0;
}

static int choose(Speech *s, size_t sample, size_t *token)
{
    const Options *o = s->options;
    Sampling how = {options_real(o, "temperature"), options_size(o, "top"),
                    options_real(o, "top-p")};
    double *z;
    TRY(look(s, &z));
    sample_penalise(z, s->net->vocab.size, s->said, options_real(o, "repetition-penalty"));
    double u = random_uniform(options_size(o, "seed"), sample, s->count);
    *token = sample_token(z, s->net->vocab.size, &how, u, s->order);
    return 0;
}

/* ---- words --------------------------------------------------------------------------------------- */

/* Returns the number of a word's bytes that are shown. The mark of a piece is hidden. */
static size_t shown(const Vocab *v, const char *word, size_t bytes)
{
    return piece_goes_on(v, word, bytes) ? bytes - strlen(BPE_MARK) : bytes;
}

static void write_token(const Speech *s, size_t i)
{
    const Vocab *v = &s->net->vocab;
    const char *word = v->word[s->id[i]], *before = i ? v->word[s->id[i - 1]] : word;
    int apart = i && s->id[i - 1] != v->eos && !piece_goes_on(v, before, strlen(before));
    size_t bytes;
    if (s->id[i] == v->eos)
        putc('\n', s->text);
    else if (v->tokens) {
        const char *shown = tokenizer_shown(v->tokens, (size_t)s->id[i], &bytes);
        size_t blank =
            i == s->hidden && bytes > 0 && *shown == ' '; /* many begin every text with one */
        fwrite(shown + blank, 1, bytes - blank, s->text);
    } else if (v->level == LEVEL_CHAR)
        fputs(strcmp(word, CHAR_BLANK) == 0 ? " " : word, s->text);
    else
        fprintf(s->text, "%s%.*s", apart ? " " : "", (int)shown(v, word, strlen(word)), word);
}

/* Returns where the first text of --stop begins in what is not yet printed, or with `whole` 0 where the text's last bytes are the
 * beginning of one; the text's length where there is none. */
static size_t find_stop(const Speech *s, int whole)
{
    const char *stop;
    size_t end = s->length;
    for (size_t i = 0; (stop = options_item(s->options, "stop", i)); i++)
        for (size_t at = s->printed, n = strlen(stop); at < end; at++) {
            size_t left = s->length - at;
            if (left >= n ? !whole : whole) continue;
            if (memcmp(s->bytes + at, stop, left < n ? left : n) == 0) end = at;
        }
    return end;
}

/* Prints the text up to byte `end`. */
static void print_text(Speech *s, size_t end)
{
    fwrite(s->bytes + s->printed, 1, end - s->printed, stdout);
    fflush(stdout);
    s->printed = end;
}

/* Prints what the model added, as far as it may be printed. *stopped = 1: a text of --stop follows. */
static int print_more(Speech *s, int *stopped)
{
    if (fflush(s->text) != 0) return error_set(ERR_MEMORY, "out of memory: a text");
    size_t end = find_stop(s, 1);
    *stopped = end < s->length;
    print_text(s, *stopped ? end : find_stop(s, 0));
    return 0;
}

static void append(Speech *s, int32_t id)
{
    s->id[s->count++] = id;
    if (id == s->net->vocab.eos && options_choice(s->net->options, "context") == CONTEXT_SENTENCE)
        s->begun = s->count - 1;
    s->said[id] = 1;
    if (s->count > s->hidden) write_token(s, s->count - 1);
}

/* Names each unknown token once. */
static int warn_unknown(const char *prompt, size_t count, const Vocab *v)
{
    const char *word;
    size_t n;
    SCOPED(words_free) Words known = {0};
    for (Scan c = scan_begin(prompt, count, v->level); scan_next(&c, &word, &n);) {
        size_t before = known.size;
        if (n == 0 || vocab_find(v, word, n) >= 0) continue;
        n = shown(v, word, n);
        TRY(words_add(&known, word, n, 1));
        if (known.size > before)
            notice_warn("the model does not know '%.*s': it reads " WORD_UNK,
                        n > 200 ? 200 : (int)n, word);
    }
    return 0;
}

/* Begins a text. An empty prompt of a model of Hugging Face begins with bos_token_id where its tokenizer puts nothing. */
static void begin(Speech *s, const Text *prompt)
{
    const int32_t *first = &s->net->vocab.eos;
    size_t n = 1;
    if (s->net->foreign) {
        size_t firsts = tokenizer_first(s->net->vocab.tokens, &first);
        if (!firsts) first = &s->net->vocab.eos;
        n = firsts ? firsts : prompt->tokens == 0;
    }
    s->hidden = n;
    for (size_t i = 0; i < n; i++) append(s, first[i]);
}

static int stops(const Speech *s, size_t token)
{
    return s->net->foreign && foreign_stops(s->net->foreign, token);
}

/* Adds tokens until the text ends. */
static int go_on(Speech *s, size_t sample, int *stopped)
{
    size_t more = options_size(s->options, "tokens"), token;
    for (size_t i = 0; i < more && !*stopped; i++) {
        if (!isatty(STDOUT_FILENO)) progress_of(i, more, "%zu of %zu tokens", i, more);
        TRY(choose(s, sample, &token));
        if (stops(s, token)) break;
        append(s, (int32_t)token);
        TRY(print_more(s, stopped));
    }
    return 0;
}

static int speak(Speech *s, const Text *prompt, size_t sample)
{
    /* Then the prompt, without the <eos> that ends its last line. A tokenizer's text has none. */
    size_t last = s->net->vocab.tokens == NULL;
    int stopped = 0;
    rewind(s->text);
    s->count = s->begun = s->printed = 0;
    memset(s->said, 0, s->net->vocab.size);
    begin(s, prompt);
    for (size_t i = 0; i + last < prompt->tokens; i++) append(s, prompt->id[i]);
    if (fflush(s->text) != 0) return error_set(ERR_MEMORY, "out of memory: a text");
    print_text(s, s->length);
    TRY(go_on(s, sample, &stopped));
    if (!stopped) print_text(s, s->length);
    if (stopped || s->id[s->count - 1] != s->net->vocab.eos) putchar('\n');
    return 0;
}

/* ---- the command --------------------------------------------------------------------------------- */

static int speech_open(Speech *s, const Text *prompt)
{
    size_t V = s->net->vocab.size;
    s->T = options_size(s->net->options, "sequence");
    s->id = memory_new(prompt->tokens + options_size(s->options, "tokens") + FIRSTS, sizeof *s->id);
    s->position = memory_new(s->T, sizeof *s->position);
    s->logits = memory_new(s->T, V * sizeof *s->logits);
    s->order = memory_new(V, sizeof *s->order);
    s->said = memory_new(V, 1);
    s->text = open_memstream(&s->bytes, &s->length);
    if (!s->id || !s->position || !s->logits || !s->order || !s->said) return ERR_MEMORY;
    if (!s->text) return error_set(ERR_MEMORY, "out of memory: a text");
    for (size_t i = 0; i < s->T; i++) s->position[i] = (int32_t)i;
    return 0;
}

static void speech_close(Speech *s)
{
    memory_free_all(s->id, s->position, s->logits, s->order, s->said);
    if (s->text) fclose(s->text);
    free(s->bytes);
}

/* Reads the prompt into *bytes. */
static int read_prompt(const Options *o, char **bytes, size_t *count)
{
    const char *prompt = options_text(o, "prompt"), *file = options_text(o, "prompt-file");
    if (file && *prompt)
        return error_set(ERR_INPUT, "expected --prompt or --prompt-file, not both");
    if (file) return read_named(file, bytes, count);
    *count = strlen(prompt);
    *bytes = memory_string(prompt);
    return *bytes ? text_check(&(BpeText){.file = "prompt", .bytes = *bytes, .count = *count})
                  : ERR_MEMORY;
}

static int generate(const Options *o, Network *n)
{
    BpeText raw = {.file = "prompt"};
    SCOPED(memory_drop) char *pieces = NULL, *read = NULL;
    SCOPED(speech_close) Speech s = {.options = o, .net = n};
    SCOPED(text_free) Text t = {0};
    size_t count;
    TRY(read_prompt(o, &read, &raw.count));
    raw.bytes = read;
    if (n->bpe) {
        TRY(pieces_cut(n->bpe, &raw, &pieces, &count));
        raw.bytes = pieces;
        raw.count = count;
    }
    TRY(text_encode(&raw, NULL, &n->vocab, &t));
    if (!n->vocab.tokens) TRY(warn_unknown(raw.bytes, raw.count, &n->vocab));
    texts_tell(&t);
    TRY(speech_open(&s, &t));
    for (size_t i = 0; i < options_size(o, "samples"); i++) {
        if (i) puts(between);
        TRY(speak(&s, &t, i));
    }
    return 0;
}

static int run(Options *o)
{
    SCOPED(network_free) Network n = {0};
    const char *dir = options_text(o, "model");
    if (!dir) return error_set(ERR_INPUT, "--model is needed");
    TRY(network_load(dir, o, &n));
    TRY(network_alone(&n, dir));
    return generate(o, &n);
}

const Command command_generate = {
    .name = "generate",
    .purpose = "continue a text with a saved model",
    .about =
        "Prints the prompt as the model reads it, and the tokens that the model adds; <eos> ends a line. The same\n"
        "seed gives the same text. A model of Hugging Face ends a text at its eos_token_id, of which generation_config.json or\n"
        "config.json names one or several, and reads before a prompt what its tokenizer.json puts there. --temperature 0, --top 1 and --top-p 0 each give the likeliest token at every\n"
        "place. A word that the model does not know is read as <unk>, and a warning names it. A model of pieces\n"
        "(train --bpe) or characters counts --tokens in those, and pieces are printed as the words they make.\n",
    .often =
        "model prompt prompt-file tokens temperature top top-p repetition-penalty stop samples seed",
    .example = "--model out/macaron --prompt \"in the beginning\" --tokens 50",
    .faster = "lower --tokens",
    .groups = GROUPS(
        OPTION_GROUP(
            "Generation", 1, {"model", OPTION_TEXT, NULL, "DIR", NETWORK_DIR},
            {"prompt", OPTION_TEXT, "", "TEXT",
             "text to continue, spelled like the training text of the model"},
            {"prompt-file", OPTION_TEXT, NULL, "FILE",
             "continue the text of a file, from its last line on" NETWORK_TEXTS, .alias = {"text"}},
            {"tokens", OPTION_SIZE, "100", "N", "number of tokens to add", 1, 1e6},
            {"temperature", OPTION_REAL, "1", "X",
             "divide the logits by X: below 1, likely tokens come more often; 0: always take the likeliest",
             0, 100},
            {"top", OPTION_SIZE, "0", "K", "draw among the K likeliest tokens; 0: among all", 0,
             1e9, .alias = {"top-k"}},
            {"top-p", OPTION_REAL, "1", "P",
             "draw among the fewest tokens that have the share P of the probability (nucleus sampling), after "
             "--temperature and --top; 1: among all that --top keeps",
             0, 1},
            {"repetition-penalty", OPTION_REAL, "1", "X",
             "divide the logits of the text's own tokens by X where they are above 0, and multiply them by X below: "
             "above 1, a text repeats itself less",
             1e-3, 1e3},
            {"stop", OPTION_LIST, NULL, "TEXT",
             "end a text before TEXT, where the model adds that; --stop may be given several times"},
            {"samples", OPTION_SIZE, "1", "N",
             "texts, each with draws of its own; a line of hyphens stands between them", 1, 1e6}),
        OPTION_GROUP("Seed", 1, {"seed", OPTION_SIZE, "1", "N", "seed of the draws", 0, 1e18}),
        &network_machine_group),
    .run = run,
};
