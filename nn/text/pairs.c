/* pairs.c: corpora of parallel text: line i of the target translates line i of the source. */
#include "nn/text/corpus.h"

#include <string.h>

#include "kernels/base/error.h"

enum { LANGUAGE = 16 }; /* most characters of a language's name */

static int check_language(const char *option, const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t n = strlen(name);
    if (n && n <= LANGUAGE && strspn(name, letters) == n) return 0;
    return error_set(ERR_INPUT,
                     "--%s %s: expected the ending of a language's files, as en or de (at most %d "
                     "of a-z, A-Z, 0-9, _, -)",
                     option, name, LANGUAGE);
}

int pairs_check(const CorpusChoice *w)
{
    if (!w->source != !w->target)
        return error_set(ERR_INPUT, "--%s is needed too: pairs have a source and a target",
                         w->source ? "target" : "source");
    if (w->apart && (!w->source || w->tokenizer))
        return error_set(ERR_INPUT, "--vocabularies separate: %s",
                         w->source ? "a tokenizer is one for both sides"
                                   : "of pairs in a directory, with --source and --target");
    if (!w->source) return 0;
    TRY(check_language("source", w->source));
    TRY(check_language("target", w->target));
    if (strcmp(w->source, w->target) == 0)
        return error_set(ERR_INPUT, "--source and --target are both %s", w->source);
    return 0;
}

int pairs_alike(const CorpusChoice *w, const char *source, const char *target)
{
    size_t n = strlen(source) - strlen(w->source), m = strlen(target) - strlen(w->target);
    if (n == m && strncmp(source, target, n) == 0) return 0;
    return error_set(ERR_INPUT, "%s and %s are not alike but for the language: are they pairs?",
                     source, target);
}

static size_t line_length(const Text *t, size_t i, int32_t eos)
{
    size_t n = 1;
    while (t->id[i + n - 1] != eos) n++;
    return n;
}

void corpus_leave_out(Corpus *c, size_t T)
{
    Text *const side[2] = {&c->source[SPLIT_TRAIN], &c->text[SPLIT_TRAIN]};
    size_t from[2] = {0, 0}, to[2] = {0, 0}, left_out = 0;
    if (side[0]->tokens == 0) return;
    for (size_t line = 0; line < side[1]->lines; line++) {
        size_t n[2];
        for (int i = 0; i < 2; i++) n[i] = line_length(side[i], from[i], c->vocab.eos);
        int fits = n[0] <= T && n[1] <= T;
        for (int i = 0; i < 2; i++) {
            if (fits) memmove(side[i]->id + to[i], side[i]->id + from[i], n[i] * sizeof(int32_t));
            from[i] += n[i];
            to[i] += fits ? n[i] : 0;
        }
        left_out += !fits;
    }
    for (int i = 0; i < 2; i++) {
        side[i]->tokens = to[i];
        side[i]->lines -= left_out;
    }
    c->left_out += left_out;
}
