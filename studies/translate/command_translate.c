/* command_translate.c: translates lines with a saved encoder and decoder. It reads input as it comes, in windows of
 * lines that are searched together. Lines are written in their order, each window's as soon as it is done. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/clock.h"
#include "kernels/text.h"
#include "nn/text/corpus.h"
#include "studies/model/texts.h"
#include "studies/model/translator.h"
#include "studies/tools/command.h"

static const Option translate_options[] = {
    {"model", OPTION_TEXT, NULL, "DIR", "directory of a trained encoder and decoder"},
    {"text", OPTION_TEXT, NULL, "FILE", "file of the source (default: standard input)"},
    {"out", OPTION_TEXT, NULL, "FILE",
     "file of the translations, written when all are there (default: standard output, line by line)"},
    {"nbest", OPTION_SIZE, "0", "N",
     "write the N best translations of each sentence as lines NUMBER ||| words ||| logp= sum of log p ||| score, "
     "with the sentence's number from 0; 0: the best alone, as plain lines",
     0, 10000},
    {"sequence", OPTION_SIZE, NULL, "T",
     "longest source and target in tokens, <eos> counted (default: as trained)", 1, 65536},
    {"batch-tokens", OPTION_SIZE, NULL, "N",
     "largest number of source tokens, and of hypotheses, in a batch (default: as trained)", 1,
     1048576},
    {0},
};

static const OptionGroup translate_group = {"Translation", 0, translate_options};
static const OptionGroup *const groups[] = {&translate_group, &translator_group,
                                            &network_machine_group, NULL};

enum { WINDOW = 16 /* batches */, READ_BYTES = 1 << 16 };

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
    Network net;
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
    if (file) s->fd = open(file, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0) return error_set(ERR_INPUT, "cannot open %s: %s", file, strerror(errno));
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
        TRY(read_more(s));
    }
    if (s->begin + *bytes < s->end) { /* a last line without its end */
        *bytes = s->end - s->begin;
        ++*lines;
    }
    return 0;
}

/* ---- translations -------------------------------------------------------------------------------- */

static int write_line(Job *j, const Translation *t, size_t which)
{
    const Hypothesis *h = &t->best[which];
    char *words;
    TRY(translator_words(&j->net.vocab, j->net.bpe, h->token, h->length, &words));
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
    double seconds = clock_now() - j->begun, speed = (double)j->done / seconds;
    char left[32] = "";
    if (!progress_due() || seconds <= 0) return;
    off_t at = j->in.size > 0 ? lseek(j->in.fd, 0, SEEK_CUR) : 0;
    double read = (double)at - (double)(j->in.end - j->in.begin);
    if (read > 0) progress_time(seconds * (j->in.size - read) / read, left);
    progress_show("%zu lines, %.1f lines/s%s%s%s", j->done, speed, *left ? ", " : "", left,
                  *left ? " left" : "");
}

static int take(void *arg, const Translation *t)
{
    Job *j = arg;
    for (size_t i = 0; i < t->count; i++) TRY(write_line(j, t, i));
    if (t->count == 0 && j->nbest == 0) fputc('\n', j->out);
    if (t->too_long) {
        j->left_out++;
        notice_warn("%s:%zu: %zu tokens, <eos> included, and the model takes %zu: an empty line "
                    "(--sequence N takes longer ones)",
                    j->in.name, j->in.lines + t->line + 1, t->too_long,
                    model_config(j->net.model)->max_source_length);
    }
    j->done++;
    show_progress(j);
    j->lost = fflush(j->out) != 0;
    return j->lost ? error_set(ERR_SYSTEM, "cannot write: %s", strerror(errno)) : 0;
}

static int translate_window(Job *j, size_t bytes)
{
    char *text = j->in.bytes + j->in.begin;
    Text t = {0};
    const BpeText raw = {j->in.name, text, bytes, j->in.lines};
    if (!j->net.bpe) TRY(bpe_check(&raw));
    int code = text_encode(&raw, j->net.bpe, &j->net.vocab, &t);
    if (code == 0) code = text_sentences(&t, j->net.vocab.eos);
    if (code == 0) texts_count(&j->counts, &t);
    if (code == 0) code = translator_run(j->translator, &t, take, j);
    text_free(&t);
    return code;
}

static int translate_all(Job *j)
{
    size_t most = WINDOW * options_size(j->options, "sentences"), lines, bytes;
    j->begun = clock_now();
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
    const char *dir = options_text(o, "model"), *file = options_text(o, "out");
    size_t nbest = j->nbest = options_size(o, "nbest");
    Output out;
    if (!j->net.encoder)
        return error_set(
            ERR_INPUT,
            "%s is a language model, which translates nothing; 'trotter generate' lets "
            "it go on with a text",
            dir);
    TRY(translator_new(o, j->net.model, &j->net.vocab, j->net.bpe, nbest ? nbest : 1, &command_stop,
                       &j->translator));
    TRY(open_source(options_text(o, "text"), &j->in));
    j->counts.file = (char *)j->in.name;
    j->out = stdout;
    if (!file) {
        int code = translate_all(j);
        return j->lost ? 0 : code; /* main reports the failure of stdout */
    }
    TRY(output_open(&out));
    j->out = out.f;
    return output_end(&out, translate_all(j), file);
}

static int run(Options *o)
{
    Job j = {.options = o, .in.fd = -1};
    const char *dir = options_text(o, "model"), *file = options_text(o, "out");
    if (!dir) return error_set(ERR_INPUT, "--model is needed");
    if (file) TRY(output_check_file(file));
    TRY(network_load(dir, o, &j.net));
    int code = network_tells_next(&j.net, dir);
    if (code == 0) code = translate(&j);
    if (j.in.fd > STDIN_FILENO) close(j.in.fd);
    memory_free(j.in.bytes);
    translator_free(j.translator);
    network_free(&j.net);
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
    .groups = groups,
    .one_file = 1,
    .saves = 1,
    .run = run,
};
