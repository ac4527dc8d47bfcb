/* compare_pairs_table.c: the tables of a comparison of pairs: a row a run, a row a pair, differences from the first one; words.
 *
 * A difference of BLEU has two intervals. The one over seeds is the engine's (studies/lab/table). The one over sentences is that
 * of the difference of the cells' mean BLEU over their seeds, on 1,000 test texts drawn with replacement, the same for all
 * runs (Koehn 2004; bootstrap.h). The first shows what another training would give, the second what another text would; a
 * ranking needs both to leave out 0. */
#include <math.h>
#include <stdio.h>

#include "studies/lab/compare/compare.h"
#include "studies/model/metrics/bootstrap.h"
#include "studies/lab/study/measures.h"
#include "studies/base/command.h"

enum { TEST_BLEU = 1 }; /* the measure of this index */

/* ---- runs.csv ------------------------------------------------------------------------------------ */

const char pair_run_names[] =
    "pair\0seed\0valid_ppl\0test_ppl\0diverged\0encoder\0decoder\0encoder_layers\0layers\0"
    "encoder_order\0decoder_order\0params\0best_epoch\0tokens_per_s\0peak_bytes\0"
    "valid_exact\0test_exact\0epochs\0how\0valid_bleu\0test_bleu\0test_chrf\0brevity\0"
    "test_chrf_words\0test_ter\0"
    "sentences_per_s\0encoder_error\0encoder_slope\0decoder_error\0decoder_slope\0";
const Column pair_run_columns[] = {
    VALUE("pair", .page = 1),
    VALUE("seed", .page = 1),
    VALUE("valid_ppl", .form = SHEET_FIXED, .digits = 3, .page = 1),
    VALUE("test_ppl", .form = SHEET_FIXED, .digits = 3, .page = 1),
    VALUE("params", .page = 1),
    VALUE("best_epoch", .form = SHEET_FIXED, .page = 1),
    VALUE("tokens_per_s", .page = 1),
    VALUE("how", .words = "options of the search and of the truncation errors"),
    VALUE("valid_bleu", .page = 1),
    VALUE("test_bleu", .page = 1),
    VALUE("test_chrf", .page = 1),
    VALUE("test_chrf_words", .sparse = 1),
    VALUE("test_ter", .sparse = 1),
    VALUE("brevity", .words = "BLEU's factor for short translations, of the test text"),
    {0}};

static double order(int of)
{
    return of < 0 ? (double)NAN : (double)of;
}

void pair_fill(Study *u, const StudyDesign *d, const StudyRun *r)
{
    char how[640];
    const PairDesign *p = d->own;
    int measured = r->lines.x && measure_how_pairs(u, how, sizeof how) == 0;
    study_set(u, r, "encoder", p->encoder->name);
    study_set(u, r, "decoder", p->decoder->name);
    study_put(u, r, "encoder_order", order(p->encoder_order));
    study_put(u, r, "decoder_order", order(p->decoder_order));
    study_set(u, r, "how", measured ? how : NULL);
}

/* ---- pairs --------------------------------------------------------------------------------------- */

#define MEAN(column, name, digit, at, position)                              \
    VALUE(column, .form = SHEET_FIXED, .digits = digit, .low = #name "_low", \
          .high = #name "_high", .head = at, .half = "±", .place = position, \
          .page = 4 + position),                                             \
        VALUE(#name "_low", .words = STATISTICS_POSITIVE_LOW), VALUE(#name "_high")

const Column pair_columns[] = {
    VALUE("pair", .head = "encoder / decoder", .place = 1, .page = 1),
    VALUE("encoder"),
    VALUE("decoder"),
    VALUE("encoder_layers", .page = 3),
    VALUE("layers", .page = 4, .words = "layers of the decoder"),
    VALUE("encoder_order", .head = "orders", .place = 2, .page = 5,
          .words = "exact order of the encoder's scheme"),
    VALUE("decoder_order", .head = "", .place = 3, .page = 6,
          .words = "exact order of the decoder's scheme"),
    VALUE("encoder_error", .digits = 3, .head = "errors", .place = 4, .page = 7,
          .words = "error of a trained encoder layer's step (h = 1), divided by the exact flow's "
                   "displacement"),
    VALUE("decoder_error", .digits = 3, .head = "", .place = 5, .page = 8,
          .words = "the same error for the decoder's layers"),
    VALUE("params", .head = "parameters", .place = 6, .page = 9),
    VALUE("seeds", .page = 10),
    MEAN("valid_ppl", valid, 3, "valid ppl", 7),
    MEAN("valid_bleu", valid_bleu, 2, "valid BLEU", 8),
    MEAN("test_bleu", test_bleu, 2, "test BLEU", 9),
    VALUE("test_bleu_sd"),
    VALUE("test_chrf", .head = "chrF2", .place = 10, .page = 14),
    VALUE("test_chrf_words", .head = "chrF2++", .place = 11, .sparse = 1),
    VALUE("test_ter", .head = "TER", .place = 12, .sparse = 1),
    VALUE("sentences_per_s", .form = SHEET_FIXED, .digits = 1, .head = "sentences/s", .place = 13,
          .page = 15, .words = "speed of translating the test text"),
    {0}};

/* Lists the lines of a design's runs; returns how many. */
static size_t list_lines(const StudyDesign *d, Statistics *run)
{
    size_t n = 0;
    for (size_t k = 0; k < d->seeds; k++)
        if (d->run[k].lines.x) run[n++] = d->run[k].lines;
    return n;
}

int pair_draw(const void *study, const RunTable *t, size_t design, size_t less, size_t measure,
              RunDrawn *out)
{
    const Study *u = study;
    Resampled drawn[2];
    size_t runs[2];
    (void)t;
    if (measure != TEST_BLEU) return 0;
    SCOPED(memory_drop) Statistics *run = memory_new(u->seeds, 2 * sizeof *run);
    if (!run) return ERR_MEMORY;
    runs[0] = list_lines(&u->design[less], run);
    runs[1] = list_lines(&u->design[design], run + runs[0]);
    TRY(bootstrap_means(METRIC_BLEU, run, runs, 2, BOOTSTRAP_RESAMPLES, BOOTSTRAP_SEED, drawn));
    *out = (RunDrawn){drawn[1].difference_low, drawn[1].difference_high, drawn[1].p_two_sided};
    return 0;
}

/* ---- words --------------------------------------------------------------------------------------- */

int pair_caption(const Study *u, int brief, FILE *f)
{
    const Options *o = u->options;
    (void)brief;
    study_print_recipe(u, f);
    fprintf(
        f,
        "The rate is %s, the dropout %s, the norm %s. Numbers are means over %zu seed%s; ± is half of the\n"
        "95 %% interval of a row's own runs (Student's t).\n",
        options_text(o, "rate"), options_text(o, "dropout"), options_text(o, "norm"), u->seeds,
        u->seeds == 1 ? "" : "s");
    fprintf(
        f,
        "BLEU is corpus BLEU (tokenize %s, smoothing exp, case as it is) of translations with beam %s "
        "and\nlength penalty %s %s. Perplexities are of the target's tokens. Truncation errors are medians "
        "over %zu\nsentences and all layers.\n",
        options_text(o, "tokenize"), options_text(o, "beam"), options_text(o, "penalty"),
        options_text(o, "alpha"), options_size(o, "truncation"));
    return 0;
}
