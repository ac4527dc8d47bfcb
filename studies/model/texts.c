/* texts.c: sums the counts of a text's parts, and writes them (texts.h). */
#include "studies/model/texts.h"

#include "studies/tools/progress.h"

void texts_count(TextCounts *of, const Text *part)
{
    of->tokens += part->tokens;
    of->unknown += part->unknown;
}

void texts_tell(const TextCounts *c)
{
    if (c->unknown)
        progress_note("%s: %zu of %zu tokens (%.2g %%) are read as <unk>", c->file, c->unknown,
                      c->tokens, 100 * (double)c->unknown / (double)c->tokens);
}

void texts_tell_of(const Text *t)
{
    TextCounts c = {.file = t->file};
    texts_count(&c, t);
    texts_tell(&c);
}
