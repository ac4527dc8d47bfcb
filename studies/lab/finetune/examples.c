/* examples.c: turns labelled sentences into texts of tokens, these into batches, and these into a
 * model's answers (examples.h). */
#include "studies/lab/finetune/examples.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"

Scale examples_scale(const Labelled *train)
{
    if (!train->value) return (Scale){0, 1};
    double mean = gsl_stats_mean(train->value, 1, train->count);
    double sd = gsl_stats_sd_with_fixed_mean(train->value, 1, train->count, mean);
    return (Scale){mean, sd > 0 ? sd : 1};
}

/* Encodes sentences, one a line; `before` lines stand in front of them. */
static int encode_all(const Network *n, const char *file, size_t before, char *const *sentence,
                      size_t count, Text *t)
{
    BpeText raw = {.file = file, .before = before};
    for (size_t i = 0; i < count; i++) raw.count += strlen(sentence[i]) + 1;
    SCOPED(memory_drop) char *text = memory_new(raw.count + 1, 1);
    if (!text) return ERR_MEMORY;
    char *p = text;
    for (size_t i = 0; i < count; i++) {
        p = stpcpy(p, sentence[i]);
        *p++ = '\n';
    }
    raw.bytes = text;
    TRY(text_encode(&raw, n->bpe, &n->vocab, t));
    if (t->blank > 0)
        return error_set(ERR_INPUT, "%s:%zu: a sentence is nothing but blanks", file, before + 1);
    return text_sentences(t, n->vocab.eos);
}

/* Encodes sentences, which stand in these lines of the file. A fault is sought again sentence by sentence, so that it is
 * told with its line there: the sentences may be a part of the file, in front of which a header stands. */
static int encode(const Network *n, const char *file, const size_t *line, char *const *sentence,
                  size_t count, Text *t)
{
    int code = encode_all(n, file, 0, sentence, count, t), of_one = 0;
    for (size_t i = 0; i < count && code == ERR_INPUT && of_one == 0; i++) {
        Text one = {0};
        of_one = encode_all(n, file, line[i] - 1, &sentence[i], 1, &one);
        text_free(&one);
    }
    return code;
}

int examples_of(const Network *n, const char *file, const size_t *line, char *const *first,
                char *const *second, size_t count, Examples *out)
{
    *out = (Examples){.count = count, .ask = {.what = ASK_LABEL}};
    int code = encode(n, file, line, first, count, &out->first);
    if (code == 0 && second) code = encode(n, file, line, second, count, &out->second);
    if (code == 0 && second) code = text_pairs(&out->second, &out->first, n->vocab.eos);
    out->unknown = out->first.unknown + out->second.unknown;
    if (code != 0) examples_free(out);
    return code;
}

int examples_new(const Network *n, const char *file, const Labelled *l, Scale s, Examples *out)
{
    TRY(examples_of(n, file, l->line, l->first, l->second, l->count, out));
    out->ask.label = l->label;
    if (!l->value) return 0;
    out->value = memory_new(l->count, sizeof *out->value);
    if (!out->value) {
        examples_free(out);
        return ERR_MEMORY;
    }
    for (size_t i = 0; i < l->count; i++) out->value[i] = (l->value[i] - s.mean) / s.sd;
    out->ask.value = out->value;
    return 0;
}

size_t examples_longer(const Examples *e, int32_t eos, size_t sequence)
{
    const Text *text[] = {&e->first, &e->second};
    size_t at[2] = {0}, longer = 0;
    for (size_t i = 0; i < e->count; i++) {
        size_t rows = 1;
        for (int k = 0; k < 2; k++)
            for (int32_t id = -1; at[k] < text[k]->tokens && id != eos; rows++)
                id = text[k]->id[at[k]++];
        longer += rows > sequence;
    }
    return longer;
}

void examples_free(Examples *e)
{
    text_free(&e->first);
    text_free(&e->second);
    memory_free(e->value);
    *e = (Examples){0};
}

/* Returns the place of the largest of z (C), the first of equal ones, and its probability. */
static int32_t choose(const double *z, size_t C, double *probability)
{
    size_t best = 0;
    double sum = 0;
    for (size_t k = 1; k < C; k++)
        if (z[k] > z[best]) best = k;
    for (size_t k = 0; k < C; k++) sum += exp(z[k] - z[best]);
    *probability = 1 / sum;
    return (int32_t)best;
}

int examples_say(Model *m, const Examples *e, const Vocab *v, Scale s, size_t batch_tokens,
                 size_t sequence, const volatile int *stop, double *z, int32_t *label)
{
    size_t C = model_config(m)->classes, row = 0, room = 0;
    SCOPED(memory_drop) double *logits = NULL; /* of one batch */
    SCOPED(batches_drop) Batches *b = NULL;
    TRY(batches_new(&e->first, &e->second, v, &e->ask, CONTEXT_SENTENCE, batch_tokens, sequence, 0,
                    &b));
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        if (stop && *stop) return error_set(ERR_INTERRUPTED, "interrupted");
        TRY(batches_get(b, i, &x));
        if (x.S > room) {
            room = x.S;
            memory_free(logits);
            if (!(logits = memory_new(room, C * sizeof *logits))) return ERR_MEMORY;
        }
        TRY(model_classes(m, &x, logits));
        for (size_t k = 0; k < x.S; k++, row++)
            if (C == 1)
                z[row] = s.mean + s.sd * logits[k];
            else
                label[row] = choose(logits + k * C, C, &z[row]);
    }
    return 0;
}
