/* command_classify.c: asks an encoder that was fine-tuned for the labels of sentences. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "studies/lab/finetune/examples.h"
#include "studies/base/command.h"

/* A row for one line. */
typedef struct {
    size_t line;
    const char *label;
    double probability, value;
} Answer;

static const Column class_columns[] = {
    COLUMN(Answer, line, .words = "number of the line, from 1"),
    COLUMN(Answer, label),
    COLUMN(Answer, probability, .digits = 6,
           .words = "probability that the encoder gives to the label"),
    {0}};
static const Column value_columns[] = {COLUMN(Answer, line, .words = "number of the line, from 1"),
                                       COLUMN(Answer, value, .digits = 9),
                                       {0}};

typedef struct {
    const Options *options;
    Network net;
    char *labels, **name; /* name: (classes) pointers into labels */
    size_t classes;
    int pairs, change;
    Scale scale;
    Lines lines;
    size_t count;           /* number of lines that are not blank */
    size_t *line;           /* (count) their numbers */
    char **first, **second; /* (count) owned */
    double *z;              /* (count) numbers, or probabilities of the labels */
    int32_t *label;         /* (count) */
} Classifying;

/* ---- the labels in the model's metadata ---------------------------------------------------------- */

static int read_number(const char *file, const char *key, double *x)
{
    char *text, *end;
    TRY(store_meta(file, key, &text));
    *x = strtod(text, &end);
    int good = *text && !*end && isfinite(*x);
    memory_free(text);
    return good ? 0 : error_set(ERR_INPUT, "%s: metadata %s is no number", file, key);
}

static int read_labels(Classifying *u, const char *file)
{
    size_t n = 0;
    if (u->classes == 1) {
        TRY(read_number(file, "label_mean", &u->scale.mean));
        return read_number(file, "label_sd", &u->scale.sd);
    }
    TRY(store_meta(file, "labels", &u->labels));
    u->name = memory_new(u->classes, sizeof *u->name);
    if (!u->name) return ERR_MEMORY;
    for (char *rest = u->labels, *label; n < u->classes && (label = strsep(&rest, "\t"));)
        u->name[n++] = label;
    if (n == u->classes) return 0;
    return error_set(ERR_INPUT, "%s: metadata labels has %zu names for %zu classes", file, n,
                     u->classes);
}

/* Tells in *is whether a piece of metadata has this value. */
static int has(const char *file, const char *key, const char *value, int *is)
{
    char *text;
    int code = store_meta(file, key, &text);
    *is = code == 0 && strcmp(text, value) == 0;
    if (code == 0) memory_free(text);
    return code == ERR_INPUT ? 0 : code;
}

static int open_model(Classifying *u, const char *dir)
{
    char file[OUTPUT_PATH];
    TRY(network_describe(dir, u->options, &u->net, file));
    u->classes = options_size(u->net.options, "classes");
    network_free(&u->net);
    if (u->classes == 0)
        return error_set(
            ERR_INPUT, "%s tells no labels: 'trotter finetune --model %s --task ...' trains it to",
            dir, dir);
    TRY(network_load(dir, u->options, &u->net));
    int cut, lower;
    TRY(has(file, "sentences", "2", &u->pairs));
    TRY(has(file, "tokenize", "13a", &cut));
    TRY(has(file, "lowercase", "yes", &lower));
    u->change = (cut ? LABELLED_CUT : 0) | (lower ? LABELLED_LOWER : 0);
    return read_labels(u, file);
}

/* ---- sentences ----------------------------------------------------------------------------------- */

static int is_blank(const char *text, size_t bytes)
{
    size_t i = 0;
    while (i < bytes && (text[i] == ' ' || text[i] == '\t')) i++;
    return i == bytes;
}

static int take_sentence(const Classifying *u, size_t line, const char *text, size_t bytes,
                         char **out)
{
    if (is_blank(text, bytes))
        return error_set(ERR_INPUT, "%s:%zu: an empty sentence", u->lines.file, line);
    return labelled_change(u->change, text, bytes, out);
}

static int take_line(Classifying *u, size_t i)
{
    const Line *l = &u->lines.line[i];
    const char *tab = memchr(l->text, '\t', l->bytes);
    size_t n = u->count;
    if (is_blank(l->text, l->bytes)) return 0;
    if (u->pairs != (tab != NULL))
        return error_set(ERR_INPUT, "%s:%zu: expected %s", u->lines.file, i + 1,
                         u->pairs ? "two sentences with a tab between"
                                  : "a sentence without a tab");
    size_t bytes = tab ? (size_t)(tab - l->text) : l->bytes;
    u->line[n] = i + 1;
    u->count++;
    TRY(take_sentence(u, i + 1, l->text, bytes, &u->first[n]));
    if (!tab) return 0;
    return take_sentence(u, i + 1, tab + 1, l->bytes - bytes - 1, &u->second[n]);
}

static int take_lines(Classifying *u)
{
    TRY(lines_read(options_text(u->options, "text"), &u->lines));
    size_t n = u->lines.count;
    u->line = memory_new(n, sizeof *u->line);
    u->first = memory_new(n, sizeof *u->first);
    u->second = memory_new(n, sizeof *u->second);
    if (!u->line || !u->first || !u->second) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++) TRY(take_line(u, i));
    return 0;
}

static int ask(Classifying *u)
{
    SCOPED(examples_free) Examples e = {0};
    const TrainConfig c = network_training(u->net.options);
    u->z = memory_new(u->count, sizeof *u->z);
    u->label = memory_new(u->count, sizeof *u->label);
    if (!u->z || !u->label) return ERR_MEMORY;
    if (u->count == 0) return 0;
    TRY(examples_of(&u->net, u->lines.file, u->line, u->first, u->pairs ? u->second : NULL,
                    u->count, &e));
    Text counts = {.file = (char *)u->lines.file};
    texts_count(&counts, &e.first);
    texts_count(&counts, &e.second);
    texts_tell(&counts);
    return examples_say(u->net.model, &e, &u->net.vocab, u->scale, c.batch_tokens, c.sequence, NULL,
                        u->z, u->label);
}

/* ---- answers ------------------------------------------------------------------------------------- */

static Answer answer(const Classifying *u, size_t i)
{
    if (u->classes == 1) return (Answer){.line = u->line[i], .value = u->z[i]};
    return (Answer){.line = u->line[i], .label = u->name[u->label[i]], .probability = u->z[i]};
}

static int print_csv(const Classifying *u)
{
    SCOPED(sheet_drop) Sheet *s = NULL;
    TRY(sheet_new(u->classes == 1 ? value_columns : class_columns, &s));
    for (size_t i = 0; i < u->count; i++) {
        Answer a = answer(u, i);
        sheet_row(s, &a);
    }
    return sheet_write(s, SHEET_CSV, stdout);
}

/* Prints an answer for every line, and an empty line for a blank one. */
static void print_lines(const Classifying *u)
{
    for (size_t line = 1, i = 0; line <= u->lines.count; line++) {
        if (i < u->count && u->line[i] == line) {
            Answer a = answer(u, i++);
            if (u->classes == 1)
                printf("%.9g", a.value);
            else
                fputs(a.label, stdout);
        }
        putchar('\n');
    }
}

static int study(Classifying *u, const Options *o)
{
    const char *dir = options_text(o, "model");
    if (!dir) return error_set(ERR_INPUT, "--model is needed");
    TRY(open_model(u, dir));
    TRY(take_lines(u));
    TRY(ask(u));
    if (options_flag(o, "csv")) return print_csv(u);
    print_lines(u);
    return 0;
}

static int run(Options *o)
{
    Classifying u = {.options = o, .scale = {0, 1}};
    int code = study(&u, o);
    for (size_t i = 0; i < u.count; i++) {
        memory_free(u.first[i]);
        memory_free(u.second[i]);
    }
    memory_free_all(u.first, u.second, u.line, u.z, u.label, u.name, u.labels);
    lines_free(&u.lines);
    network_free(&u.net);
    return code;
}

const Command command_classify = {
    .name = "classify",
    .purpose = "label sentences with a fine-tuned encoder",
    .about =
        "Reads one sentence a line, or two with a tab between for a task of pairs, and writes one answer a line:\n"
        "the most probable class, or the number. Sentences are changed as in the fine-tuning (--lowercase,\n"
        "--tokenize). A blank line gives a blank line.\n",
    .often = "model text device csv",
    .example = "--model out/finetune --text sentences.txt",
    .faster = "a shorter --text",
    .groups = GROUPS(
        OPTION_GROUP(
            "Sentences", 0,
            {"model", OPTION_TEXT, NULL, "DIR", "directory that 'trotter finetune' wrote"},
            {"text", OPTION_TEXT, LINES_STDIN, "FILE",
             "one sentence a line, or two with a tab between; -: standard input"},
            {"sequence", OPTION_SIZE, NULL, "T",
             "longest sequence in tokens; longer ones lose their ends (default: as trained)", 3,
             65536},
            {"batch-tokens", OPTION_SIZE, NULL, "N",
             "largest number of tokens in a batch (default: as trained)", 3, 1048576}),
        &network_machine_group,
        OPTION_GROUP(
            "Output", 0,
            {"csv", OPTION_FLAG, NULL, NULL,
             "write line,label,probability as CSV, or line,value for numbers; blank lines have no row"})),
    .run = run,
};
