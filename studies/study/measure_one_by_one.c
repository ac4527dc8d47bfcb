/* measure_one_by_one.c: the pseudo-perplexity of a trained encoder with one word masked at a time (nn/text/masking.h,
 * Asking.each; Salazar et al. 2020), on the beginning of the validation text: up to the line of the token that --one-by-one
 * names. */
#include <math.h>
#include <stdio.h>

#include "kernels/clock.h"
#include "studies/model/trained.h"
#include "studies/study/measures.h"
#include "studies/tools/command.h"
#include "studies/tools/progress.h"

static const Column columns[] = {
    VALUE("one_by_one", .low = "one_by_one_low", .high = "one_by_one_high",
          .words =
              "pseudo-perplexity of the beginning of the validation text, one word masked at a "
              "time"),
    {0}};

static int wanted(const Study *u)
{
    const Options *o = u->options;
    if (!options_known(o, "one-by-one") || !options_text(o, "one-by-one")) return 0;
    return u->corpus.marks ? 1 : error_set(ERR_INPUT, "--one-by-one is of --objective masked");
}

static int how(const Study *u, char *out, size_t room)
{
    snprintf(out, room, "%zu tokens", options_size(u->options, "one-by-one"));
    return 0;
}

/* Returns the validation text up to the line of its N-th token; it borrows the text. */
static Text beginning(const Study *u)
{
    Text t = u->corpus.text[SPLIT_VALID];
    size_t n = options_size(u->options, "one-by-one");
    int32_t eos = u->corpus.vocab.eos;
    while (n < t.tokens && t.id[n - 1] != eos) n++;
    if (n < t.tokens) t.tokens = n;
    return t;
}

/* Evaluates a model on the text t; *ppl, *words out. */
static int evaluate(Network *n, const Text *t, const char *name, double *ppl, double *words)
{
    const TrainConfig c = network_training(n->options);
    const Asking ask = {.what = ASK_MASKED, .each = 1};
    double nll = 0, mean;
    Batches *b;
    TRY(batches_new(t, NULL, &n->vocab, &ask, c.context, c.batch_tokens, c.sequence, 0, &b));
    int code = 0;
    for (size_t i = 0; code == 0 && i < batches_count(b); i++) {
        Batch x;
        progress_show("%s: %.0f words, one by one", name, *words);
        if (command_stop) code = command_interrupted();
        if (code == 0) code = batches_get(b, i, &x);
        if (code == 0) code = model_forward(n->model, &x, 0, 0, NULL, &mean);
        if (code != 0) break;
        nll += mean * (double)batch_asked(&x);
        *words += (double)batch_asked(&x);
    }
    batches_free(b);
    *ppl = exp(nll / *words);
    return code;
}

static int measure(const StudyMeasured *r, double *value)
{
    Text t = beginning(r->study);
    Network n;
    double words = 0, begun = clock_now();
    TRY(trained_on_machine(r->dir, r->study->options, &n));
    int code = evaluate(&n, &t, r->name, value, &words);
    network_free(&n);
    if (code == 0)
        runs_note(&r->study->runs,
                  "%s: pseudo-perplexity %.2f of %.0f words, one by one, in %.1f s", r->name,
                  value[0], words, clock_now() - begun);
    return code;
}

const StudyMeasure measure_one_by_one = {"one_by_one", columns, wanted, how, measure, NULL};
