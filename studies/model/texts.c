/* texts.c: reads texts for a model, sums the counts of a text's parts, and writes them (network.h). */
#include "studies/model/network.h"

#include "studies/base/command.h"

int texts_read(const Network *n, const char *file, Text *t)
{
    return text_read(file, n->bpe, &n->vocab, t);
}

int texts_source(const Network *n, const char *file, Text *t)
{
    return text_read(file, bpe_of_source(n->bpe), vocab_of_source(&n->vocab), t);
}

void texts_count(Text *of, const Text *part)
{
    of->tokens += part->tokens;
    of->unknown += part->unknown;
}

void texts_tell(const Text *t)
{
    if (t->unknown)
        progress_note("%s: %zu of %zu tokens (%.2g %%) are read as <unk>", t->file, t->unknown,
                      t->tokens, 100 * (double)t->unknown / (double)t->tokens);
}

double texts_unknown(const Corpus *c)
{
    const Text *t = &c->text[SPLIT_TRAIN];
    double share = t->tokens ? (double)t->unknown / (double)t->tokens : 0;
    return share >= 0.1 ? share : 0;
}

void texts_warn(const Corpus *c)
{
    double share = texts_unknown(c);
    if (share > 0)
        notice_warn("%.0f %% of the training tokens are read as <unk>: that text is easier, so its "
                    "perplexities compare only with those of the same vocabulary",
                    100 * share);
}
