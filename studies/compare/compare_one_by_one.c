/* compare_one_by_one.c: measures the pseudo-perplexity of every trained encoder with one word masked at a time
 * (nn/text/masking.h, Asking.each; Salazar et al. 2020), on the beginning of the validation text: up to the line of the
 * token that --one-by-one names.
 *
 * A run's numbers are kept in its directory, one_by_one.csv. */
#include <math.h>

#include "kernels/clock.h"
#include "studies/compare/compare.h"
#include "studies/tools/command.h"
#include "studies/tools/csv.h"
#include "studies/tools/progress.h"

typedef struct {
    double asked, words; /* --one-by-one; words masked */
    double ppl;
} WordsRow;

static const Column columns[] = {
    FIELD(WordsRow, "one_by_one", asked), COLUMN(WordsRow, words), COLUMN(WordsRow, ppl), {0}};

static double asked(const Compare *u)
{
    return (double)options_size(u->options, "one-by-one");
}

static int wanted(const Compare *u)
{
    return asked(u) > 0;
}

/* Returns the validation text up to the line of its N-th token; it borrows the text. */
static Text beginning(const Compare *u)
{
    Text t = u->corpus.text[SPLIT_VALID];
    size_t n = options_size(u->options, "one-by-one");
    int32_t eos = u->corpus.vocab.eos;
    while (n < t.tokens && t.id[n - 1] != eos) n++;
    if (n < t.tokens) t.tokens = n;
    return t;
}

/* Evaluates a model on the text t; *row out. */
static int evaluate_text(Network *n, const Text *t, const char *name, WordsRow *row)
{
    const TrainConfig c = network_training(n->options);
    const Asking ask = {.what = ASK_MASKED, .each = 1};
    double nll = 0, mean;
    Batches *b;
    TRY(batches_new(t, NULL, &n->vocab, &ask, c.context, c.batch_tokens, c.sequence, 0, &b));
    int code = 0;
    for (size_t i = 0; code == 0 && i < batches_count(b); i++) {
        Batch x;
        progress_show("%s: %.0f words, one by one", name, row->words);
        if (command_stop) code = command_interrupted();
        if (code == 0) code = batches_get(b, i, &x);
        if (code == 0) code = model_forward(n->model, &x, 0, 0, NULL, &mean);
        if (code != 0) break;
        nll += mean * (double)batch_asked(&x);
        row->words += (double)batch_asked(&x);
    }
    batches_free(b);
    row->ppl = exp(nll / row->words);
    return code;
}

static int evaluate(const Compare *u, const char *name, const char *dir, WordsRow *row)
{
    Text t = beginning(u);
    Network n;
    TRY(trained_on_machine(dir, u->options, &n));
    *row = (WordsRow){.asked = asked(u)};
    int code = evaluate_text(&n, &t, name, row);
    network_free(&n);
    return code;
}

static int save(const char *dir, const WordsRow *row)
{
    Sheet *s;
    TRY(sheet_new(columns, &s));
    sheet_row(s, row);
    int code = output_sheet(s, SHEET_CSV, dir, "one_by_one.csv");
    sheet_free(s);
    return code;
}

static int load(const Compare *u, const char *dir, RunErrors *e)
{
    WordsRow row;
    char path[OUTPUT_PATH];
    Csv c;
    if (output_path(path, dir, "one_by_one.csv") != 0 || !output_exists(path)) return 0;
    if (csv_open(&c, path) != 0) return 0;
    int there = c.rows == 1 && csv_record(&c, 0, columns, &row) == 0 && row.asked == asked(u);
    csv_close(&c);
    if (there) e->one_by_one = row.ppl;
    return there;
}

static int measure(Compare *u, const RunSpec *spec, const char *name, const char *dir, RunErrors *e)
{
    (void)spec;
    WordsRow row;
    double begun = clock_now();
    TRY(evaluate(u, name, dir, &row));
    TRY(save(dir, &row));
    e->one_by_one = row.ppl;
    runs_note(&u->runs, "%s: pseudo-perplexity %.2f of %.0f words, one by one, in %.1f s", name,
              row.ppl, row.words, clock_now() - begun);
    return 0;
}

const Measure compare_one_by_one = {"one_by_one.claim", wanted, load, measure};
