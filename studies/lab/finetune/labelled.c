/* labelled.c: the table of tasks, and the reader. A file is read as a whole. Sentences point into it, and their ends
 * become NULs. Where sentences are changed, their characters are collected and written to a separate text. */
#include "studies/lab/finetune/labelled.h"

#include <ctype.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistr.h>

#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "studies/base/output.h"

enum { STREAM_SPLIT = 0x73706c74 }; /* "splt" */

/* ---- the table ----------------------------------------------------------------------------------- */

#define FILES(folder) folder, "train.tsv", "dev.tsv"
#define ACCURACY .metrics = 1, .metric = {AGREEMENT_ACCURACY}
#define ACCURACY_F1 .metrics = 2, .metric = {AGREEMENT_ACCURACY, AGREEMENT_F1}
#define CORRELATIONS .metrics = 2, .metric = {AGREEMENT_PEARSON, AGREEMENT_SPEARMAN}
#define BINARY .name_of = {"0", "1"}
#define ENTAILMENT .name_of = {"entailment", "not_entailment"}

const LabelledTask labelled_tasks[] = {
    {"cola", FILES("CoLA"), "source\tlabel\tstar\tsentence", "sentence", NULL, "label", BINARY,
     .metrics = 1, .metric = {AGREEMENT_MATTHEWS}},
    {"sst2", FILES("SST-2"), NULL, "sentence", NULL, "label", BINARY, ACCURACY},
    {"mrpc", FILES("MRPC"), NULL, "#1 String", "#2 String", "Quality", BINARY, ACCURACY_F1},
    {"stsb", FILES("STS-B"), NULL, "sentence1", "sentence2", "score", .values = 1, .low = 0,
     .high = 5, CORRELATIONS},
    {"qqp", FILES("QQP"), NULL, "question1", "question2", "is_duplicate", .may_be_broken = 1,
     BINARY, ACCURACY_F1},
    {"mnli", "MNLI", "train.tsv", "dev_matched.tsv", NULL, "sentence1", "sentence2", "gold_label",
     .name_of = {"entailment", "neutral", "contradiction"}, ACCURACY},
    {"qnli", FILES("QNLI"), NULL, "question", "sentence", "label", ENTAILMENT, ACCURACY},
    {"rte", FILES("RTE"), NULL, "sentence1", "sentence2", "label", ENTAILMENT, ACCURACY},
    {"wnli", FILES("WNLI"), NULL, "sentence1", "sentence2", "label", BINARY, ACCURACY},
    {0}};

#define OWN .first = "sentence", .second = "sentence2", .label = "label", .may_be_single = 1

const LabelledTask labelled_classes = {.name = "a file of classes", OWN, ACCURACY};
const LabelledTask labelled_values = {
    .name = "a file of values", OWN, .values = 1, .low = -INFINITY, .high = INFINITY, CORRELATIONS};

const LabelledTask *labelled_task(const char *name)
{
    char plain[16];
    size_t n = 0;
    for (; *name && n + 1 < sizeof plain; name++)
        if (*name != '-') plain[n++] = (char)tolower((unsigned char)*name);
    plain[n] = '\0';
    for (const LabelledTask *t = labelled_tasks; t->name && !*name; t++)
        if (strcmp(t->name, plain) == 0) return t;
    return NULL;
}

/* ---- columns ------------------------------------------------------------------------------------- */

enum { FIRST, SECOND, LABEL, COLUMNS };
#define NOWHERE SIZE_MAX

typedef struct {
    const LabelledTask *task;
    Lines lines;
    size_t *number;              /* of the lines in the file; NULL: from 1 */
    size_t columns, at[COLUMNS]; /* NOWHERE: the file lacks this column */
    Words words;                 /* classes, by label */
    int learns;                  /* 1: the classes come from this file */
    int change;                  /* bits of LABELLED_ */
    Symbols all, cut, room;      /* all sentences, a 0 behind each; one sentence; work */
    Labelled *out;
} Reading;

/* Returns the column that begins at *at, which moves to the next one, or to NULL behind the last. */
static Line take_column(const char **at, const char *end)
{
    const char *tab = memchr(*at, '\t', (size_t)(end - *at));
    Line c = {*at, (size_t)((tab ? tab : end) - *at)};
    *at = tab ? tab + 1 : NULL;
    return c;
}

static int is_named(const Line *column, const char *name)
{
    return name && strlen(name) == column->bytes && memcmp(name, column->text, column->bytes) == 0;
}

static int find_columns(Reading *r, Line header, const Labelled *train)
{
    const LabelledTask *t = r->task;
    const char *const name[COLUMNS] = {t->first, t->second, t->label}, *file = r->lines.file;
    for (int k = 0; k < COLUMNS; k++) r->at[k] = NOWHERE;
    for (const char *at = header.text; at; r->columns++) {
        Line c = take_column(&at, header.text + header.bytes);
        for (int k = 0; k < COLUMNS; k++) {
            if (!is_named(&c, name[k])) continue;
            if (r->at[k] != NOWHERE)
                return error_set(ERR_INPUT, "%s:1: two columns '%s' in the header", file, name[k]);
            r->at[k] = r->columns;
        }
    }
    int pairs = r->at[SECOND] != NOWHERE;
    const char *other = r->columns == 1 ? memchr(header.text, ',', header.bytes) : NULL;
    if (r->columns == 1 && !other) other = memchr(header.text, ';', header.bytes);
    if (other && r->at[LABEL] == NOWHERE)
        return error_set(
            ERR_INPUT,
            "%s:1: its columns stand apart by '%c': expected a tab between columns, and "
            "a first line that names them ('%s', '%s'); a file whose name ends in .csv is read by commas",
            file, *other, t->first, t->label);
    for (int k = 0; k < COLUMNS; k++)
        if (name[k] && r->at[k] == NOWHERE && !(k == SECOND && t->may_be_single))
            return error_set(ERR_INPUT, "%s:1: no column '%s': expected a header that names it",
                             file, name[k]);
    if (train && pairs != (train->second != NULL))
        return error_set(ERR_INPUT, "%s:1: %s column '%s', which the training text has%s", file,
                         pairs ? "a" : "no", t->second, pairs ? " not" : "");
    return 0;
}

/* ---- labels -------------------------------------------------------------------------------------- */

/* Adds the classes that labels may have, where they are known beforehand. */
static int known_classes(Reading *r, const Labelled *train)
{
    const LabelledTask *t = r->task;
    for (size_t k = 0; t->name_of[k]; k++)
        TRY(words_add(&r->words, t->name_of[k], strlen(t->name_of[k]), 1));
    for (size_t k = 0; !t->name_of[0] && train && k < train->classes; k++)
        TRY(words_add(&r->words, train->name[k], strlen(train->name[k]), 1));
    r->learns = !t->values && r->words.size == 0;
    return 0;
}

static int no_class(const Reading *r, const char *label, size_t line)
{
    char list[256] = "";
    for (size_t k = 0, n = 0; k < r->words.size; k++) {
        const Word *w = &r->words.word[k];
        if (n + w->bytes + 8 > sizeof list) {
            strcpy(list + n, ", ...");
            break;
        }
        n += (size_t)sprintf(list + n, "%s%.*s", k ? ", " : "", (int)w->bytes, w->text);
    }
    return error_set(ERR_INPUT, "%s:%zu: unknown label '%.60s': expected one of %s", r->lines.file,
                     line, label, list);
}

static int read_class(Reading *r, const Line *c, size_t line)
{
    if (r->learns) TRY(words_add(&r->words, c->text, c->bytes, 1));
    int32_t label = words_find(&r->words, c->text, c->bytes);
    if (label < 0) return no_class(r, c->text, line);
    r->out->label[r->out->count] = label;
    return 0;
}

static int read_value(Reading *r, const Line *c, size_t line)
{
    const LabelledTask *t = r->task;
    char *end;
    double x = strtod(c->text, &end);
    if (isspace((unsigned char)*c->text) || *end || !isfinite(x) || x < t->low || x > t->high) {
        char range[64] = "";
        if (isfinite(t->low)) snprintf(range, sizeof range, " from %g to %g", t->low, t->high);
        return error_set(ERR_INPUT, "%s:%zu: label '%.60s': expected a number%s", r->lines.file,
                         line, c->text, range);
    }
    r->out->value[r->out->count] = x;
    return 0;
}

static int is_integer(const Word *w)
{
    size_t i = w->bytes > 1 && w->text[0] == '-', digits = w->bytes - i;
    while (i < w->bytes && isdigit((unsigned char)w->text[i])) i++;
    return i == w->bytes && digits <= 18;
}

static int by_bytes(const void *a, const void *b)
{
    const Word *x = *(const Word *const *)a, *y = *(const Word *const *)b;
    int order = memcmp(x->text, y->text, x->bytes < y->bytes ? x->bytes : y->bytes);
    return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Compares by number. A label ends with a NUL, so the number does too. */
static int by_number(const void *a, const void *b)
{
    const Word *x = *(const Word *const *)a, *y = *(const Word *const *)b;
    long long i = strtoll(x->text, NULL, 10), j = strtoll(y->text, NULL, 10);
    return i != j ? (i > j) - (i < j) : by_bytes(a, b);
}

/* Copies the names in list (n) to out. */
static int keep_names(const Word *const *list, size_t n, Labelled *out)
{
    size_t bytes = 0;
    for (size_t k = 0; k < n; k++) bytes += list[k]->bytes + 1;
    out->name = memory_new(n, sizeof *out->name);
    out->names = memory_new(bytes, 1);
    if (!out->name || !out->names) return ERR_MEMORY;
    char *p = out->names;
    for (; out->classes < n; out->classes++) {
        const Word *w = list[out->classes];
        out->name[out->classes] = memcpy(p, w->text, w->bytes);
        p += w->bytes + 1;
    }
    return 0;
}

/* Sorts the labels, which are in the order of their appearance, where they come from this file. */
static int keep_classes(Reading *r)
{
    const Word *word = r->words.word;
    size_t n = r->words.size, integers = 0;
    SCOPED(memory_drop) const Word **list = memory_new(n, sizeof *list);
    SCOPED(memory_drop) int32_t *label = memory_new(n, sizeof *label);
    if (!list || !label) return ERR_MEMORY;
    for (size_t k = 0; k < n; k++) {
        list[k] = &word[k];
        integers += (size_t)is_integer(list[k]);
    }
    if (r->learns) qsort(list, n, sizeof *list, integers == n ? by_number : by_bytes);
    for (size_t k = 0; k < n; k++) label[list[k] - word] = (int32_t)k;
    for (size_t i = 0; i < r->out->count; i++) r->out->label[i] = label[r->out->label[i]];
    return keep_names(list, n, r->out);
}

/* ---- sentences ----------------------------------------------------------------------------------- */

static int is_blank(const Line *c)
{
    size_t i = 0;
    while (i < c->bytes && isspace((unsigned char)c->text[i])) i++;
    return i == c->bytes;
}

static int change_text(int change, const char *text, size_t bytes, Symbols *out, Symbols *room)
{
    TRY(tokenise_read(text, bytes, change & LABELLED_LOWER, out, room));
    return tokenise(change & LABELLED_CUT ? TOKENIZE_13A : TOKENIZE_NONE, out, room);
}

/* Writes x (n) in UTF-8. Caller: memory_free. */
static int write_symbols(const Symbols *x, char **text)
{
    uint8_t c[6];
    size_t bytes = 0;
    for (size_t i = 0; i < x->n; i++) bytes += (size_t)u8_uctomb(c, x->x[i], sizeof c);
    char *p = *text = memory_new(bytes + 1, 1), *end = p + bytes;
    if (!p) return ERR_MEMORY;
    for (size_t i = 0; i < x->n; i++) p += u8_uctomb((uint8_t *)p, x->x[i], end - p);
    return 0;
}

int labelled_change(int change, const char *text, size_t bytes, char **out)
{
    SCOPED(symbols_free) Symbols x = {0}, room = {0};
    TRY(change_text(change, text, bytes, &x, &room));
    return write_symbols(&x, out);
}

/* Changes a sentence. *empty: nothing was left of it. */
static int cut_sentence(Reading *r, const Line *c, int *empty)
{
    TRY(change_text(r->change, c->text, c->bytes, &r->cut, &r->room));
    for (size_t i = 0; i < r->cut.n; i++) TRY(symbols_add(&r->all, r->cut.x[i]));
    *empty = r->cut.n == 0;
    return symbols_add(&r->all, 0);
}

/* Writes the collected characters to a text into which the sentences point. */
static int write_sentences(Reading *r)
{
    Labelled *out = r->out;
    char *text, *p;
    TRY(write_symbols(&r->all, &text));
    p = text;
    for (size_t i = 0; i < out->count; i++)
        for (int k = 0; k < (out->second ? 2 : 1); k++) {
            (k ? out->second : out->first)[i] = p;
            p += strlen(p) + 1;
        }
    memory_free(out->text);
    out->text = text;
    return 0;
}

/* ---- examples ------------------------------------------------------------------------------------ */

static int make_room(Labelled *out, size_t n, int pairs, int values)
{
    out->first = memory_new(n, sizeof *out->first);
    if (pairs) out->second = memory_new(n, sizeof *out->second);
    out->line = memory_new(n, sizeof *out->line);
    if (values) out->value = memory_new(n, sizeof *out->value);
    if (!values) out->label = memory_new(n, sizeof *out->label);
    int short_of = !out->first || !out->line || (pairs && !out->second) ||
                   !(values ? !!out->value : !!out->label);
    return short_of ? ERR_MEMORY : 0;
}

/* ---- files --------------------------------------------------------------------------------------- */

static int read_line(Reading *r, const Line *l, size_t line)
{
    Labelled *out = r->out;
    Line c[COLUMNS] = {0};
    char *text[COLUMNS] = {0};
    size_t columns = 0;
    for (const char *at = l->text; at; columns++) {
        Line one = take_column(&at, l->text + l->bytes);
        for (int k = 0; k < COLUMNS; k++)
            if (r->at[k] == columns) c[k] = one;
    }
    int whole = columns == r->columns;
    int empty = whole && (is_blank(&c[FIRST]) || (out->second && is_blank(&c[SECOND])));
    if (r->task->may_be_broken && (!whole || empty)) {
        if (out->left_out++ == 0 && whole)
            snprintf(out->first_left, sizeof out->first_left, "line %zu, no sentence", line);
        else if (out->left_out == 1)
            snprintf(out->first_left, sizeof out->first_left, "line %zu, %zu column%s of %zu", line,
                     columns, columns == 1 ? "" : "s", r->columns);
        return 0;
    }
    if (!whole)
        return error_set(ERR_INPUT, "%s:%zu: %zu column%s: expected %zu, with a tab between",
                         r->lines.file, line, columns, columns == 1 ? "" : "s", r->columns);
    for (int k = 0; k < COLUMNS; k++) { /* the file has room for a NUL behind its last byte */
        if (!c[k].text) continue;
        text[k] = out->text + (c[k].text - out->text);
        text[k][c[k].bytes] = '\0';
    }
    out->first[out->count] = text[FIRST];
    if (out->second) out->second[out->count] = text[SECOND];
    for (int k = FIRST; r->change && !empty && k <= SECOND; k++)
        if (c[k].text) TRY(cut_sentence(r, &c[k], &empty));
    if (empty) return error_set(ERR_INPUT, "%s:%zu: an empty sentence", r->lines.file, line);
    if (c[LABEL].bytes == 0)
        return error_set(ERR_INPUT, "%s:%zu: an empty label", r->lines.file, line);
    TRY(out->value ? read_value(r, &c[LABEL], line) : read_class(r, &c[LABEL], line));
    out->line[out->count++] = line;
    return 0;
}

static int is_constant(const Labelled *l)
{
    for (size_t i = 1; i < l->count; i++)
        if (l->value[i] != l->value[0]) return 0;
    return 1;
}

static int read_lines(Reading *r, const Labelled *train)
{
    Labelled *out = r->out;
    Lines *l = &r->lines;
    Line header = l->line[0];
    size_t i = 1;
    if (r->task->header) header = (Line){r->task->header, strlen(r->task->header)}, i = 0;
    TRY(find_columns(r, header, train));
    TRY(known_classes(r, train));
    TRY(make_room(out, l->count - i, r->at[SECOND] != NOWHERE, r->task->values));
    for (; i < l->count; i++) TRY(read_line(r, &l->line[i], r->number ? r->number[i] : i + 1));
    if (out->count == 0) return error_set(ERR_INPUT, "%s has no examples", l->file);
    if (r->learns && r->words.size == 1)
        return error_set(ERR_INPUT, "%s: all labels are '%.60s': expected two classes or more",
                         l->file, r->words.word[0].text);
    if (out->value && !train && is_constant(out))
        return error_set(ERR_INPUT, "%s: all labels are %g: expected two numbers or more", l->file,
                         out->value[0]);
    if (out->label) TRY(keep_classes(r));
    return r->change ? write_sentences(r) : 0;
}

int labelled_read(const LabelledTask *t, const char *file, int change, const Labelled *train,
                  Labelled *out)
{
    Reading r = {.task = t, .change = change, .out = out};
    *out = (Labelled){0};
    TRY(labelled_lines(file, &r.lines, &r.number));
    out->text = r.lines.text;
    r.lines.text = NULL;
    int code = read_lines(&r, train);
    lines_free(&r.lines);
    memory_free(r.number);
    words_free(&r.words);
    symbols_free(&r.all);
    symbols_free(&r.cut);
    symbols_free(&r.room);
    if (code != 0) labelled_free(out);
    return code;
}

int labelled_open(const LabelledTask *t, const char *dir, int change, Labelled *train,
                  Labelled *dev)
{
    char path[2][OUTPUT_PATH];
    TRY(output_path(path[0], dir, "%s/%s", t->folder, t->train));
    TRY(output_path(path[1], dir, "%s/%s", t->folder, t->dev));
    TRY(labelled_read(t, path[0], change, NULL, train));
    int code = labelled_read(t, path[1], change, train, dev);
    if (code != 0) labelled_free(train);
    return code;
}

void labelled_free(Labelled *l)
{
    memory_free_all(l->line, l->first, l->second, l->label, l->value);
    if (l->text) memory_free(l->name); /* else it belongs to another */
    memory_free(l->names);
    memory_free(l->text);
    *l = (Labelled){0};
}

/* ---- parts and baselines ------------------------------------------------------------------------- */

/* Takes the n examples whose chosen[i] is `which`. */
static int take_part(const Labelled *all, const char *chosen, int which, size_t n, Labelled *out)
{
    *out = (Labelled){.classes = all->classes, .name = all->name};
    TRY(make_room(out, n, all->second != NULL, all->value != NULL));
    for (size_t i = 0; i < all->count; i++) {
        if (chosen[i] != which) continue;
        out->line[out->count] = all->line[i];
        out->first[out->count] = all->first[i];
        if (all->second) out->second[out->count] = all->second[i];
        if (all->label) out->label[out->count] = all->label[i];
        if (all->value) out->value[out->count] = all->value[i];
        out->count++;
    }
    return 0;
}

int labelled_split(const Labelled *all, double fraction, uint64_t seed, Labelled *rest,
                   Labelled *chosen)
{
    *rest = *chosen = (Labelled){0};
    if (!(fraction > 0 && fraction < 1))
        return error_set(ERR_INPUT, "expected a part between 0 and 1 of the examples, not %g",
                         fraction);
    size_t n = (size_t)fmax(1, round(fraction * (double)all->count));
    if (n >= all->count)
        return error_set(ERR_INPUT, "a part of %g leaves none of %zu example%s", fraction,
                         all->count, all->count == 1 ? "" : "s");
    SCOPED(memory_drop) uint32_t *order = memory_new(all->count, sizeof *order);
    SCOPED(memory_drop) char *is_chosen = memory_new(all->count, 1);
    if (!order || !is_chosen) return ERR_MEMORY;
    random_permutation(seed, STREAM_SPLIT, all->count, order);
    for (size_t i = 0; i < n; i++) is_chosen[order[i]] = 1;
    int code = take_part(all, is_chosen, 0, all->count - n, rest);
    if (code == 0) code = take_part(all, is_chosen, 1, n, chosen);
    if (code != 0) labelled_free(rest);
    if (code != 0) labelled_free(chosen);
    return code;
}

Answers labelled_answers(const Labelled *l)
{
    return (Answers){l->count, l->label, l->value};
}

/* Answers every example with the most frequent class of the training text; label (answer->n): work. */
static int say_class(const Labelled *train, Answers *answer, int32_t *label)
{
    SCOPED(memory_drop) size_t *count = memory_new(train->classes, sizeof *count);
    size_t most = 0;
    if (!count) return ERR_MEMORY;
    for (size_t i = 0; i < train->count; i++) count[train->label[i]]++;
    for (size_t k = 1; k < train->classes; k++) most = count[k] > count[most] ? k : most;
    for (size_t i = 0; i < answer->n; i++) label[i] = (int32_t)most;
    answer->label = label;
    return 0;
}

/* Answers every example with the mean of the training text's values. */
static void say_mean(const Labelled *train, Answers *answer, double *value)
{
    double mean = gsl_stats_mean(train->value, 1, train->count);
    for (size_t i = 0; i < answer->n; i++) value[i] = mean;
    answer->value = value;
}

int labelled_baseline(const Labelled *train, const Labelled *dev, int metric, double *score)
{
    Answers gold = labelled_answers(dev), answer = {.n = dev->count};
    SCOPED(memory_drop) void *room = memory_new(dev->count, sizeof(double));
    if (!room) return ERR_MEMORY;
    if (train->value) say_mean(train, &answer, room);
    if (train->label) TRY(say_class(train, &answer, room));
    return agreement_score(metric, &answer, &gold, score);
}
