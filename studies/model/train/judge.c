/* judge.c: computes the BLEU of validation at the end of an epoch. */
#include "studies/model/train/training.h"

#include "studies/model/translated.h"
#include "studies/base/command.h"

struct Judge {
    const Corpus *corpus;
    Options *search; /* for a beam of 1 */
    Model *model;
    Translator *translator;
};

static int open_search(const Options *o, Stacks s, const Backend *b, Judge *j)
{
    static const OptionGroup *const search[] = {&translator_group, NULL};
    const Corpus *c = j->corpus;
    TRY(options_new(search, &j->search));
    TRY(options_set(j->search, OPTION_ARGUMENT, "", "beam", "1"));
    TRY(network_model(o, s, &c->vocab, b, &j->model));
    return translator_new(j->search, &j->model, 1, &c->vocab, 1, &command_stop, &j->translator);
}

int judge_new(const Options *o, Stacks s, const Corpus *c, const Backend *b, Judge **out)
{
    if (!s.encoder)
        return error_set(ERR_INPUT, "--best bleu: corpus %s has no pairs to translate", c->name);
    Judge *j = memory_new(1, sizeof *j);
    if (!j) return ERR_MEMORY;
    j->corpus = c;
    int code = open_search(o, s, b, j);
    if (code != 0)
        judge_free(j);
    else
        *out = j;
    return code;
}

int judge_score(Judge *j, Model *m, double *score)
{
    static const MetricOptions metric = {.tokenize = TOKENIZE_NONE};
    TranslatedScore s;
    model_backend(m)->copy(model_data(j->model), model_data(m), model_size(m));
    TRY(translated_score(j->translator, j->corpus, SPLIT_VALID, &metric,
                         "translations of validation", NULL, &s, NULL));
    *score = s.score[METRIC_BLEU];
    return 0;
}

void judge_free(Judge *j)
{
    if (!j) return;
    translator_free(j->translator);
    model_free(j->model);
    options_free(j->search);
    memory_free(j);
}
