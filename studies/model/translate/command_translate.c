/* command_translate.c: translates lines with a saved encoder and decoder. It reads input as it comes, in windows of
 * lines that are searched together. Lines are written in their order, each window's as soon as it is done. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/clock.h"
#include "kernels/base/file.h"
#include "kernels/base/plain_text.h"
#include "nn/text/corpus.h"
#include "studies/model/network.h"
#include "studies/model/translator.h"
#include "studies/base/command.h"

enum { WINDOW = 16 /* batches */, READ_BYTES = 1 << 16, LINE_MOST = 1 << 26 };

/* The source while it is read. */
typedef struct {
    const char *name;
    int fd;
    char *bytes; /* (room) of which begin .. end-1 are not yet translated */
    size_t begin, end, room;
    size_t lines; /* before `begin` */
    int over;     /* its end was read */
    double size;  /* bytes of the whole source; 0: unknown */
} Source;

typedef struct {
    const Options *options;
    size_t models;
    Network *net;    /* (models) */
    Model **model;   /* (models) of net */
    Text begins;     /* --prefix */
    size_t begun_at; /* its next token */
    Output pairs;    /* --alignment */
    size_t said;
    int32_t *say; /* (said) best translations of a window, for --alignment; <eos> alone: none */
    Translator *translator;
    Source in;
    FILE *out;
    size_t nbest;
    size_t done, left_out; /* lines translated; too long */
    Text counts;           /* of the source so far */
    int lost;              /* stdout takes no more: it is full, or its reader is gone */
    double begun;
} Job;

/* ---- the source ---------------------------------------------------------------------------------- */

static int open_source(const char *file, Source *s)
{
    struct stat of;
    *s = (Source){.name = file ? file : "standard input", .fd = STDIN_FILENO};
    if (file) TRY(file_open(file, &s->fd));
    if (fstat(s->fd, &of) == 0 && S_ISREG(of.st_mode)) s->size = (double)of.st_size;
    return 0;
}

/* Reads some bytes more; waits for them. A signal ends the wait. */
static int read_more(Source *s)
{
    if (s->begin > 0) {
        memmove(s->bytes, s->bytes + s->begin, s->end - s->begin);
        s->end -= s->begin;
        s->begin = 0;
    }
    if (s->end + READ_BYTES > s->room) {
        size_t room = 2 * (s->end + READ_BYTES);
        char *grown = memory_grow(s->bytes, s->room, room, 1);
        if (!grown) return ERR_MEMORY;
        s->bytes = grown;
        s->room = room;
    }
    ssize_t n = read(s->fd, s->bytes + s->end, READ_BYTES);
    if (n < 0 && errno != EINTR)
        return error_set(ERR_INPUT, "cannot read %s: %s", s->name, strerror(errno));
    if (n == 0) s->over = 1;
    if (n > 0) s->end += (size_t)n;
    return 0;
}

/* Finds the window's lines at s->begin and their *bytes: `most` lines, or the lines at hand where more would mean
 * waiting. 0 lines: the source is over. */
static int take_window(Source *s, size_t most, size_t *lines, size_t *bytes)
{
    size_t at = 0;
    *lines = *bytes = 0;
    for (;;) {
        for (; s->begin + at < s->end && *lines < most; at++)
            if (s->bytes[s->begin + at] == '\n') {
                ++*lines;
                *bytes = at + 1;
            }
        if (*lines == most || command_stop) return 0;
        if (s->over) break;
        if (*lines > 0 && poll(&(struct pollfd){.fd = s->fd, .events = POLLIN}, 1, 0) != 1)
            return 0;
        if (*lines == 0 && s->end - s->begin > LINE_MOST)
            return error_set(ERR_INPUT, "%s:%zu: a line longer than %d MiB: this is not a text",
                             s->name, s->lines + 1, LINE_MOST >> 20);
        TRY(read_more(s));
    }
    if (s->begin + *bytes < s->end) { /* a last line without its end */
        *bytes = s->end - s->begin;
        ++*lines;
    }
    return 0;
}

/* ---- alignments ---------------------------------------------------------------------------------- */

/* One side of a pair. */
typedef struct {
    size_t n, words;
    int32_t *input, *target, *position; /* (n) */
    size_t *word;                       /* (n) the word of each token */
    size_t start[2];
} Side;

static void side_free(Side *s)
{
    memory_free_all(s->input, s->position, s->word);
}

static int is_piece(const Network *n, int32_t id)
{
    const Vocab *v = (size_t)id < n->vocab.size ? &n->vocab : n->vocab.source;
    const char *word = v->word[(size_t)id - v->above];
    size_t bytes = strlen(word);
    return n->bpe && bytes > 2 && strcmp(word + bytes - 2, "@@") == 0;
}

/* Makes a side of n tokens, the last <eos>; `behind`: what the decoder reads, <eos> first. */
static int side_make(const Network *net, const int32_t *id, size_t n, int behind, Side *s)
{
    *s = (Side){.n = n, .start = {0, n}};
    s->input = memory_new(2 * n, sizeof *s->input);
    s->position = memory_new(n, sizeof *s->position);
    s->word = memory_new(n, sizeof *s->word);
    if (!s->input || !s->position || !s->word) return ERR_MEMORY;
    s->target = s->input + n;
    for (size_t i = 0; i < n; i++) {
        s->input[i] = behind ? (i ? id[i - 1] : net->vocab.eos) : id[i];
        s->target[i] = id[i];
        s->position[i] = (int32_t)i;
        s->word[i] = s->words;
        s->words += i + 1 < n && !is_piece(net, id[i]);
    }
    if (n > 1 && is_piece(net, id[n - 2])) s->words++; /* a word without its end */
    return 0;
}

/* Writes the source word with most weight of every target word; sum (source words): room. */
static void write_pairs(const Side *source, const Side *target, const double *weights, double *sum,
                        FILE *f)
{
    for (size_t j = 0, row = 0; j < target->words; j++) {
        size_t best = 0;
        memset(sum, 0, source->words * sizeof *sum);
        for (; row + 1 < target->n && target->word[row] == j; row++)
            for (size_t k = 0; k + 1 < source->n; k++)
                sum[source->word[k]] += weights[row * source->n + k];
        for (size_t i = 1; i < source->words; i++)
            if (sum[i] > sum[best]) best = i;
        fprintf(f, "%s%zu-%zu", j ? " " : "", best, j);
    }
}

/* Writes a line "i-j i-j ...": for each word j of the target the word i of the source, both from 0, with the largest
 * weight of the last cross-attention, which is the mean over heads and over the models, and summed over the pieces of
 * words. source and target end with <eos>, which is no word. n: vocabulary and pieces. ERR_MEMORY. Source: fairseq's
 * --print-alignment hard, which has pieces in place of words. */
static int alignment_write(Model *const *model, size_t models, const Network *n,
                           const int32_t *source, size_t source_length, const int32_t *target,
                           size_t target_length, FILE *f)
{
    SCOPED(side_free) Side from = {0}, to = {0};
    SCOPED(memory_drop)
    double *weights = memory_new((target_length + 1) * source_length, sizeof *weights);
    if (!weights) return ERR_MEMORY;
    TRY(side_make(n, source, source_length, 0, &from));
    TRY(side_make(n, target, target_length, 1, &to));
    Batch x = {.N = to.n,
               .S = 1,
               .longest = to.n,
               .input = to.input,
               .target = to.target,
               .position = to.position,
               .start = to.start};
    x.source.N = x.source.longest = from.n;
    x.source.input = from.input;
    x.source.position = from.position;
    x.source.start = from.start;
    for (size_t k = 0; k < models; k++) TRY(model_cross_attention(model[k], &x, weights));
    write_pairs(&from, &to, weights, weights + target_length * source_length, f);
    fputc('\n', f); /* whoever closes f checks the result */
    return 0;
}

/* ---- translations -------------------------------------------------------------------------------- */

static int write_line(Job *j, const Translation *t, size_t which)
{
    const Hypothesis *h = &t->best[which];
    char *words;
    TRY(translator_words(&j->net->vocab, j->net->bpe, h->token, h->length, &words));
    if (j->nbest)
        fprintf(j->out, "%zu ||| %s ||| logp= %.9g ||| %.9g\n", j->in.lines + t->line, words,
                h->sum, h->score);
    else
        fprintf(j->out, "%s\n", words);
    memory_free(words);
    return 0;
}

static void show_progress(const Job *j)
{
    double seconds = clock_now() - j->begun;
    if (!progress_due() || seconds <= 0) return;
    off_t at = j->in.size > 0 ? lseek(j->in.fd, 0, SEEK_CUR) : 0;
    size_t read = (size_t)at - (at ? j->in.end - j->in.begin : 0);
    progress_of(read, at ? (size_t)j->in.size : SIZE_MAX, "%zu lines, %.1f lines/s", j->done,
                (double)j->done / seconds);
}

static int keep_best(Job *j, const Translation *t)
{
    const Hypothesis none = {.length = 1, .token = &j->net->vocab.eos};
    const Hypothesis *h = t->count ? t->best : &none;
    int32_t *grown = memory_grow(j->say, j->said, j->said + h->length, sizeof *grown);
    if (!grown) return ERR_MEMORY;
    memcpy(grown + j->said, h->token, h->length * sizeof *grown);
    j->say = grown;
    j->said += h->length;
    return 0;
}

/* Writes the alignments of a window, whose search is over. */
static int align_window(Job *j, const Text *source)
{
    int32_t eos = j->net->vocab.eos;
    size_t from = 0, at = 0;
    for (size_t i = 0; i < source->lines; i++) {
        size_t n = 1, m = 1;
        while (source->id[from + n - 1] != eos) n++;
        while (j->say[at + m - 1] != eos) m++;
        if (m > 1)
            TRY(alignment_write(j->model, j->models, j->net, source->id + from, n, j->say + at, m,
                                j->pairs.f));
        else
            fputc('\n', j->pairs.f);
        from += n;
        at += m;
    }
    j->said = 0;
    j->say = memory_free(j->say);
    return 0;
}

static int take(void *arg, const Translation *t)
{
    Job *j = arg;
    for (size_t i = 0; i < t->count; i++) TRY(write_line(j, t, i));
    if (j->pairs.f) TRY(keep_best(j, t));
    if (t->count == 0 && j->nbest == 0) fputc('\n', j->out);
    if (t->too_long) {
        j->left_out++;
        notice_warn("%s:%zu: %zu tokens, <eos> included, and the model takes %zu: an empty line "
                    "(--sequence N takes longer ones)",
                    j->in.name, j->in.lines + t->line + 1, t->too_long,
                    model_config(j->net->model)->max_source_length);
    }
    j->done++;
    show_progress(j);
    j->lost = fflush(j->out) != 0;
    return j->lost ? error_set(ERR_SYSTEM, "cannot write: %s", strerror(errno)) : 0;
}

/* Makes the next lines of --prefix those of a window. */
static int take_begins(Job *j, size_t lines, Text *window)
{
    *window = j->begins;
    if (j->in.lines + lines > j->begins.lines)
        return error_set(ERR_INPUT,
                         "--prefix: %s has %zu lines and %s more: one for each is needed",
                         j->begins.file, j->begins.lines, j->in.name);
    window->id += j->begun_at;
    window->lines = lines;
    for (size_t n = 0; n < lines;) n += j->begins.id[j->begun_at++] == j->net->vocab.eos;
    translator_begins(j->translator, window);
    return 0;
}

static int translate_window(Job *j, size_t bytes)
{
    char *text = j->in.bytes + j->in.begin;
    SCOPED(text_free) Text t = {0};
    const BpeText raw = {j->in.name, text, bytes, j->in.lines};
    if (!j->net->bpe) TRY(bpe_check(&raw));
    TRY(text_encode(&raw, bpe_of_source(j->net->bpe), vocab_of_source(&j->net->vocab), &t));
    TRY(text_sentences(&t, j->net->vocab.eos));
    Text begins;
    if (j->begins.id) TRY(take_begins(j, t.lines, &begins));
    texts_count(&j->counts, &t);
    TRY(translator_run(j->translator, &t, take, j));
    return j->pairs.f ? align_window(j, &t) : 0;
}

static int translate_all(Job *j)
{
    size_t most = WINDOW * options_size(j->options, "sentences"), lines, bytes;
    j->begun = clock_now();
    progress_show("the first lines");
    for (;;) {
        TRY(take_window(&j->in, most, &lines, &bytes));
        if (command_stop)
            return error_set(ERR_INTERRUPTED, "interrupted: %zu lines are translated", j->done);
        size_t mark = j->in.lines ? 0 : text_mark(j->in.bytes + j->in.begin, bytes);
        j->in.begin += mark;
        bytes -= mark;
        if (bytes == 0) break;
        int code = translate_window(j, bytes);
        if (code == ERR_INTERRUPTED)
            return error_set(code, "interrupted: %zu lines are translated", j->done);
        if (code != 0) return code;
        j->in.begin += bytes;
        j->in.lines += lines;
    }
    if (j->done == 0) return error_set(ERR_INPUT, "%s is empty", j->in.name);
    texts_tell(&j->counts);
    double seconds = clock_now() - j->begun;
    progress_note("%zu lines in %.1f s: %.1f lines/s%s", j->done, seconds,
                  (double)j->done / seconds,
                  j->left_out ? "; some were too long and are empty" : "");
    return 0;
}

static int translate(Job *j)
{
    const Options *o = j->options;
    const char *file = options_text(o, "out"), *prefix = options_text(o, "prefix");
    size_t nbest = j->nbest = options_size(o, "nbest");
    Output out;
    TRY(translator_new(o, j->model, j->models, &j->net->vocab, nbest ? nbest : 1, &command_stop,
                       &j->translator));
    if (prefix) TRY(texts_read(j->net, prefix, &j->begins));
    if (prefix) TRY(text_sentences(&j->begins, j->net->vocab.eos));
    TRY(open_source(options_text(o, "text"), &j->in));
    j->counts.file = (char *)j->in.name;
    TRY(output_begin(&out, file));
    j->out = out.f;
    int code = output_end(&out, translate_all(j), file);
    return j->lost && !file ? 0 : code; /* main reports the failure of stdout */
}

/* Loads model i, which must have the words of the first. */
static int load(Job *j, size_t i)
{
    const char *dir = options_item(j->options, "model", i);
    Network *n = &j->net[i];
    TRY(network_load(dir, j->options, n));
    j->model[i] = n->model;
    TRY(network_tells_next(n, dir));
    if (!n->encoder)
        return error_set(
            ERR_INPUT,
            "%s is a language model, which translates nothing; 'trotter generate' lets "
            "it go on with a text",
            dir);
    if (vocab_hash(&n->vocab) == vocab_hash(&j->net->vocab) && !n->bpe == !j->net->bpe &&
        (!n->bpe || bpe_hash(n->bpe) == bpe_hash(j->net->bpe)))
        return 0;
    return error_set(ERR_INPUT,
                     "%s has other words than %s: models that translate together share them", dir,
                     options_item(j->options, "model", 0));
}

static int translate_pairs(Job *j)
{
    const char *file = options_text(j->options, "alignment");
    if (!file) return translate(j);
    TRY(output_open(&j->pairs));
    return output_end(&j->pairs, translate(j), file);
}

static int run(Options *o)
{
    Job j = {.options = o, .in.fd = -1};
    const char *file = options_text(o, "out"), *pairs = options_text(o, "alignment");
    while (options_item(o, "model", j.models)) j.models++;
    if (j.models == 0) return error_set(ERR_INPUT, "--model is needed");
    TRY(output_check_file(file));
    TRY(output_check_file(pairs));
    j.net = memory_new(j.models, sizeof *j.net);
    j.model = memory_new(j.models, sizeof *j.model);
    int code = j.net && j.model ? 0 : ERR_MEMORY;
    for (size_t i = 0; i < j.models && code == 0; i++) code = load(&j, i);
    if (code == 0) code = translate_pairs(&j);
    if (j.in.fd > STDIN_FILENO) close(j.in.fd);
    memory_free(j.in.bytes);
    memory_free(j.say);
    text_free(&j.begins);
    translator_free(j.translator);
    for (size_t i = 0; j.net && i < j.models; i++) network_free(&j.net[i]);
    memory_free(j.net);
    memory_free(j.model);
    return code;
}

const Command command_translate = {
    .name = "translate",
    .purpose = "translate lines with a saved encoder and decoder",
    .about =
        "Reads a source, one sentence a line, and writes the best translation of each that beam search finds, in the\n"
        "same order. Words are cut into subwords and joined again as in the training; the source must look as the\n"
        "training text did (lower case, tokenised, escaped). A blank line gives a blank line; so does a line longer\n"
        "than --sequence, with a warning. --nbest writes nothing for either. Ctrl-C ends the command: standard output\n"
        "has the lines so far, but the file of --out is not written.\n"
        "\n"
        "As in fairseq, a step looks at the 2 K best extensions of a sentence's K hypotheses, and a sentence is\n"
        "finished when K hypotheses have ended.\n",
    .often = "model text out beam nbest penalty alpha max-length sentences device",
    .example = "--model out/en-de < test.en > test.out",
    .faster = "lower --beam, --max-length",
    .groups = GROUPS(
        OPTION_GROUP(
            "Translation", 0,
            {"model", OPTION_LIST, NULL, "DIR",
             "directory of a trained encoder and decoder; given several times, the mean of the models' probabilities decides"},
            {"text", OPTION_TEXT, NULL, "FILE", "file of the source (default: standard input)"},
            {"out", OPTION_TEXT, NULL, "FILE",
             "file of the translations, written when all are there (default: standard output, line by line)"},
            {"prefix", OPTION_TEXT, NULL, "FILE",
             "words with which the translations begin, line by line; a blank line leaves it free"},
            {"alignment", OPTION_TEXT, NULL, "FILE",
             "file for pairs i-j, line by line: source word i, from 0, has most of the last cross-attention of target word j"},
            {"nbest", OPTION_SIZE, "0", "N",
             "write the N best translations of each sentence as lines NUMBER ||| words ||| logp= sum of log p ||| score, "
             "with the sentence's number from 0; 0: the best alone, as plain lines",
             0, 10000},
            {"sequence", OPTION_SIZE, NULL, "T",
             "longest source and target in tokens, <eos> counted (default: as trained)", 1, 65536},
            {"batch-tokens", OPTION_SIZE, NULL, "N",
             "largest number of source tokens, and of hypotheses, in a batch (default: as trained)",
             1, 1048576}),
        &translator_group, &network_machine_group),
    .one_file = 1,
    .saves = 1,
    .run = run,
};
