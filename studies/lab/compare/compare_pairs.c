/* compare_pairs.c: makes the designs of a comparison of encoders and decoders. */
#include "studies/lab/compare/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "studies/base/command.h"

enum { TREES = 6 };

/* ---- cells --------------------------------------------------------------------------------------- */

/* Reads "NAME" or "NAME@LAYERS" from `part`, which it changes. */
static int read_side(const Study *u, char *part, int decoder, Table **t, size_t *layers)
{
    char *at = strchr(part, '@'), *end = at;
    *layers = strtoul(options_text(u->options, "layers"), NULL, 10); /* where it names none */
    if (at) {
        *at++ = '\0';
        *layers = strtoul(at, &end, 10);
        if (end == at || *end || *layers < 1 || *layers > NETWORK_LAYERS)
            return error_set(ERR_INPUT, "--pair: %s@%s: expected NAME@LAYERS, LAYERS from 1 to %d",
                             part, at, NETWORK_LAYERS);
    }
    TRY(select_one(&u->schemes, part, "euler", decoder, t));
    return decoder ? network_reads_source("--pair", *t) : 0;
}

static int find_order(const Table *t, int *order)
{
    Theory theory;
    int code = theory_search(t, TREES, &theory);
    *order = code == 0 ? theory.order : -1;
    return code == ERR_ACCURACY ? 0 : code;
}

/* Names a design, "A / B", with the layers where they are not those of --layers; returns ERR_INPUT where another has the
 * name. */
static int name_design(const Study *u, const char *encoder, const char *decoder, StudyDesign *d)
{
    size_t layers = strtoul(options_text(u->options, "layers"), NULL, 10);
    const Spec *s = &d->spec.own;
    snprintf(d->name, sizeof d->name, "%s / %s", encoder, decoder);
    if (spec_size(s, "encoder-layers") != layers || spec_size(s, "layers") != layers)
        snprintf(d->name, sizeof d->name, "%s@%s / %s@%s", encoder, spec_text(s, "encoder-layers"),
                 decoder, spec_text(s, "layers"));
    snprintf(d->label, sizeof d->label, "%s", d->name);
    for (const StudyDesign *b = u->design; b < d; b++)
        if (spec_same(&b->spec.own, s, SPEC_OWN))
            return error_set(ERR_INPUT, "--pair: %s is there twice", d->name);
    return 0;
}

static int add_design(Study *u, char *words)
{
    char *slash = strchr(words, '/');
    StudyDesign *d;
    if (!slash || strchr(slash + 1, '/'))
        return error_set(ERR_INPUT, "--pair: '%s': expected ENCODER/DECODER", words);
    *slash = '\0';
    TRY(study_add(u, words, &(RunSpec){0}, u->seeds, &d));
    PairDesign *p = d->own;
    Spec *s = &d->spec.own;
    size_t above, layers;
    TRY(read_side(u, words, 0, &p->encoder, &above));
    TRY(read_side(u, slash + 1, 1, &p->decoder, &layers));
    TRY(find_order(p->encoder, &p->encoder_order));
    TRY(find_order(p->decoder, &p->decoder_order));
    d->spec.stacks = (Stacks){p->decoder, p->encoder};
    spec_set(s, SPEC_OWN, "encoder", p->encoder->name);
    spec_set(s, SPEC_OWN, "decoder", p->decoder->name);
    spec_put(s, "encoder-layers", above);
    spec_put(s, "layers", layers);
    spec_set(s, SPEC_OWN, "context", "sentence");
    return name_design(u, words, slash + 1, d);
}

static int add_designs(Study *u)
{
    SCOPED(memory_drop) char *list = memory_string(options_text(u->options, "pair"));
    if (!list) return ERR_MEMORY;
    for (char *rest = list, *part; (part = strsep(&rest, ","));) TRY(add_design(u, part));
    return 0;
}

void pair_drop(void *own)
{
    PairDesign *p = own;
    table_free(p->encoder);
    table_free(p->decoder);
}

/* Returns ERR_INPUT where an option for language models alone is given. */
static int check_options(const Options *o)
{
    static const char *const alone[] = {"tune",     "controls", "by-depth",
                                        "baseline", "system",   "system-file"};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        if (options_rank(o, alone[i]) != OPTION_DEFAULT)
            return error_set(ERR_INPUT,
                             "--%s: not of a corpus of pairs, whose first --pair is the "
                             "baseline",
                             alone[i]);
    /* config.ini has --scheme's default in every study. */
    if (options_rank(o, "scheme") == OPTION_ARGUMENT)
        return error_set(ERR_INPUT, "--scheme: the corpus has pairs: write --pair "
                                    "ENCODER/DECODER,...");
    if (options_rank(o, "context") == OPTION_ARGUMENT &&
        options_choice(o, "context") != CONTEXT_SENTENCE)
        return error_set(ERR_INPUT, "--context stream: the corpus has pairs of sentences: write "
                                    "--context sentence, or nothing");
    char part[32];
    if (options_item(o, "vary", 0))
        return error_set(ERR_INPUT,
                         "--vary: not of a corpus of pairs, whose --pair tells what differs");
    if (options_part(o, "layers", 1, part))
        return error_set(ERR_INPUT, "--layers: of pairs one number; --pair NAME@LAYERS/NAME@LAYERS "
                                    "has others");
    return 0;
}

int pair_open(Study *u)
{
    const Options *o = u->options;
    TRY(check_options(o));
    TRY(select_open(o, "euler", &u->schemes));
    TRY(select_record(&u->schemes, u->options));
    if (options_text(o, "source")) corpus_leave_out(&u->corpus, options_size(o, "sequence"));
    for (int s = 0; s < SPLITS; s++)
        TRY(batches_check(&u->corpus.text[s], &u->corpus.source[s], &u->corpus.vocab, NULL,
                          CONTEXT_SENTENCE, options_size(o, "batch-tokens"),
                          options_size(o, "sequence")));
    return add_designs(u);
}
