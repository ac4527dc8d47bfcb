/* texts.c: reads texts for a model, sums the counts of a text's parts, and writes them (texts.h). */
#include "studies/model/texts.h"

#include "studies/tools/progress.h"

static const Option options[] = {NETWORK_MARKS, {0}};
const OptionGroup texts_group = {NULL, 1, options};

int texts_replace(const Options *o, const Network *n)
{
    return options_flag(n->options, "replace-marks") || (o && options_flag(o, "replace-marks"));
}

int texts_read(const Options *o, const Network *n, const char *file, Text *t)
{
    return text_read(file, n->bpe, texts_replace(o, n), &n->vocab, t);
}

void texts_count(Text *of, const Text *part)
{
    of->tokens += part->tokens;
    of->unknown += part->unknown;
    of->replaced.tabs += part->replaced.tabs;
    of->replaced.tab_lines += part->replaced.tab_lines;
    of->replaced.marks += part->replaced.marks;
    of->replaced.mark_lines += part->replaced.mark_lines;
}

static void tell_replaced(const char *file, const Replaced *r)
{
    if (r->tabs)
        progress_note("%s: %zu tab%s in %zu line%s replaced by spaces", file, r->tabs,
                      r->tabs == 1 ? "" : "s", r->tab_lines, r->tab_lines == 1 ? "" : "s");
    if (r->marks)
        progress_note("%s: @@ at the end of %zu word%s in %zu line%s replaced by @", file, r->marks,
                      r->marks == 1 ? "" : "s", r->mark_lines, r->mark_lines == 1 ? "" : "s");
}

void texts_tell(const Text *t)
{
    tell_replaced(t->file, &t->replaced);
    if (t->unknown)
        progress_note("%s: %zu of %zu tokens (%.2g %%) are read as <unk>", t->file, t->unknown,
                      t->tokens, 100 * (double)t->unknown / (double)t->tokens);
}

void texts_tell_corpus(const Corpus *c)
{
    for (int s = 0; s < SPLITS && !ranks_follows(); s++) {
        tell_replaced(c->source[s].file, &c->source[s].replaced);
        tell_replaced(c->text[s].file, &c->text[s].replaced);
    }
}
