/* translations_table.c: computes intervals and differences from the first pair of schemes, from the runs of a
 * comparison of pairs, and writes them.
 *
 * A difference of BLEU has two intervals. The one over seeds uses the one-way layout of statistics.h, with one standard
 * deviation for all cells. The one over sentences is that of the difference of the cells' mean BLEU over their seeds,
 * on 1,000 test texts drawn with replacement, the same for all runs (Koehn 2004; bootstrap.h). The first shows what
 * another training would give, the second what another text would; a ranking needs both to leave out 0. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "studies/compare/translations.h"
#include "studies/metrics/bootstrap.h"
#include "studies/model/network.h"
#include "studies/tools/command.h"
#include "studies/tools/output.h"

/* A cell and the values of its row. */
typedef struct {
    TranslationCell cell;
    const char *encoder, *decoder, *name;
} PairRow;

#define LESS " minus the first pair's; its interval has a standard deviation pooled over all pairs"
#define OVER_LINES " of the difference of mean BLEU, over drawn test sentences"

const Column translation_columns[] = {
    COLUMN(PairRow, encoder, .page = 1),
    COLUMN(PairRow, decoder, .page = 2),
    FIELD(PairRow, NULL, name, .head = "encoder / decoder", .place = 1),
    FIELD(PairRow, "encoder_layers", cell.encoder_layers, .page = 3),
    FIELD(PairRow, "layers", cell.layers, .page = 4, .words = "layers of the decoder"),
    FIELD(PairRow, "encoder_order", cell.encoder_order, .head = "orders", .place = 2, .page = 5,
          .words = "exact order of the encoder's scheme"),
    FIELD(PairRow, "decoder_order", cell.decoder_order, .head = "", .place = 3, .page = 6,
          .words = "exact order of the decoder's scheme"),
    FIELD(PairRow, "encoder_error", cell.encoder_error.mean, .digits = 3, .head = "errors",
          .place = 4, .page = 7,
          .words = "error of a trained encoder layer's step (h = 1), divided by the exact flow's "
                   "displacement"),
    FIELD(PairRow, "decoder_error", cell.decoder_error.mean, .digits = 3, .head = "", .place = 5,
          .page = 8, .words = "the same error for the decoder's layers"),
    FIELD(PairRow, "params", cell.numbers, .head = "parameters", .place = 6, .page = 9),
    FIELD(PairRow, "seeds", cell.runs, .page = 10),
    FIELD(PairRow, "valid_ppl", cell.valid_ppl.mean, .form = SHEET_FIXED, .digits = 3,
          .low = "valid_low", .high = "valid_high", .head = "valid ppl", .half = "±", .place = 7,
          .page = 11),
    FIELD(PairRow, "valid_low", cell.valid_ppl.low, .words = STATISTICS_POSITIVE_LOW),
    FIELD(PairRow, "valid_high", cell.valid_ppl.high),
    FIELD(PairRow, "valid_bleu", cell.valid_bleu.mean, .form = SHEET_FIXED, .digits = 2,
          .low = "valid_bleu_low", .high = "valid_bleu_high", .head = "valid BLEU", .half = "±",
          .place = 8, .page = 12),
    FIELD(PairRow, "valid_bleu_low", cell.valid_bleu.low, .words = STATISTICS_POSITIVE_LOW),
    FIELD(PairRow, "valid_bleu_high", cell.valid_bleu.high),
    FIELD(PairRow, "test_bleu", cell.test_bleu.mean, .form = SHEET_FIXED, .digits = 2,
          .low = "test_bleu_low", .high = "test_bleu_high", .head = "test BLEU", .half = "±",
          .place = 9, .page = 13),
    FIELD(PairRow, "test_bleu_low", cell.test_bleu.low, .words = STATISTICS_POSITIVE_LOW),
    FIELD(PairRow, "test_bleu_high", cell.test_bleu.high),
    FIELD(PairRow, "test_bleu_sd", cell.test_bleu.sd),
    FIELD(PairRow, "test_chrf", cell.test_chrf.mean, .form = SHEET_FIXED, .digits = 2,
          .head = "chrF2", .place = 10, .page = 14),
    FIELD(PairRow, "sentences_per_s", cell.speed, .form = SHEET_FIXED, .digits = 1,
          .head = "sentences/s", .place = 11, .page = 15,
          .words = "speed of translating the test text"),
    FIELD(PairRow, "valid_ppl_diff", cell.valid_ppl_diff.mean, .low = "valid_ppl_diff_low",
          .high = "valid_ppl_diff_high", .page = 16, .words = "validation perplexity" LESS),
    FIELD(PairRow, "valid_ppl_diff_low", cell.valid_ppl_diff.low),
    FIELD(PairRow, "valid_ppl_diff_high", cell.valid_ppl_diff.high),
    FIELD(PairRow, "test_bleu_diff", cell.test_bleu_diff.mean, .low = "test_bleu_diff_low",
          .high = "test_bleu_diff_high", .page = 17, .words = "test BLEU" LESS),
    FIELD(PairRow, "test_bleu_diff_low", cell.test_bleu_diff.low),
    FIELD(PairRow, "test_bleu_diff_high", cell.test_bleu_diff.high),
    FIELD(PairRow, "test_bleu_diff_dunnett_p", cell.test_bleu_p, .page = 18,
          .words =
              "p of no difference, corrected for the comparisons with the first pair (Dunnett)"),
    FIELD(PairRow, "drawn_low", cell.drawn_low, .page = 19, .words = "lower end" OVER_LINES),
    FIELD(PairRow, "drawn_high", cell.drawn_high, .page = 20, .words = "upper end" OVER_LINES),
    FIELD(PairRow, "drawn_p", cell.drawn_p, .page = 21, .words = "two-sided p" OVER_LINES),
    {0}};

/* A table for people alone. */
static const Column difference_columns[] = {
    FIELD(PairRow, "encoder / decoder", name, .place = 1),
    FIELD(PairRow, "valid_ppl", cell.valid_ppl_diff.mean, .form = SHEET_FIXED, .digits = 3,
          .low = "valid_low", .high = "valid_high", .head = "valid ppl", .half = "±", .place = 2),
    FIELD(PairRow, "valid_low", cell.valid_ppl_diff.low),
    FIELD(PairRow, "valid_high", cell.valid_ppl_diff.high),
    FIELD(PairRow, "test_bleu", cell.test_bleu_diff.mean, .form = SHEET_FIXED, .digits = 2,
          .low = "test_low", .high = "test_high", .head = "test BLEU", .half = "± (seeds)",
          .place = 3),
    FIELD(PairRow, "test_low", cell.test_bleu_diff.low),
    FIELD(PairRow, "test_high", cell.test_bleu_diff.high),
    FIELD(PairRow, "test_p", cell.test_bleu_p, .digits = 2, .head = "p", .place = 4),
    FIELD(PairRow, "drawn_low", cell.drawn_low, .form = SHEET_FIXED, .digits = 2,
          .head = "from (sentences)", .place = 5),
    FIELD(PairRow, "drawn_high", cell.drawn_high, .form = SHEET_FIXED, .digits = 2, .head = "to",
          .place = 6),
    FIELD(PairRow, "drawn_p", cell.drawn_p, .digits = 2, .head = "p (sentences)", .place = 7),
    {0}};

/* ---- intervals ----------------------------------------------------------------------------------- */

static void summarise(const Translations *u, TranslationCell *c)
{
    enum {
        RUN = sizeof(RunResult) / sizeof(double),
        MEASURE = sizeof(TranslationResult) / sizeof(double)
    };
    const RunResult *r = c->result;
    const TranslationResult *m = c->measure;
    for (size_t k = 0; k < u->seeds; k++) c->runs += isnan(r[k].valid_ppl) ? 0 : 1;
    c->valid_ppl = statistics_positive(&r->valid_ppl, RUN, u->seeds);
    c->test_ppl = statistics_positive(&r->test_ppl, RUN, u->seeds);
    c->valid_bleu = statistics_positive(&m->valid_bleu, MEASURE, u->seeds);
    c->test_bleu = statistics_positive(&m->test_bleu, MEASURE, u->seeds);
    c->test_chrf = statistics_positive(&m->test_chrf, MEASURE, u->seeds);
    c->encoder_error = statistics_positive(&m->encoder_error, MEASURE, u->seeds);
    c->decoder_error = statistics_positive(&m->decoder_error, MEASURE, u->seeds);
    c->speed = statistics_mean(&m->sentences_per_s, MEASURE, u->seeds).mean;
}

/* Returns 1 where a run of the cell is no better than drawing words at random; its spread is not that of the others. */
static int has_diverged(const Translations *u, const TranslationCell *c)
{
    return runs_diverged(c->result, u->seeds, u->corpus.vocab.size);
}

static int find_differences(Translations *u)
{
    static const Difference none = {NAN, NAN, NAN, NAN, NAN};
    Interval *list = memory_new(u->cells, 2 * sizeof *list);
    size_t *runs = memory_new(u->cells, sizeof *runs), n = 0, comparisons = 0;
    Simultaneous together = {0};
    int code = list && runs ? 0 : ERR_MEMORY;
    for (size_t i = 0; code == 0 && i < u->cells; i++) {
        const TranslationCell *c = &u->cell[i];
        if (c->runs == 0 || has_diverged(u, c)) continue;
        list[n] = c->valid_ppl;
        list[u->cells + n++] = c->test_bleu;
    }
    if (code == 0) {
        u->valid_ppl = statistics_pool(list, n);
        u->test_bleu = statistics_pool(list + u->cells, n);
    }
    const TranslationCell *base = &u->cell[0];
    for (size_t i = 0; code == 0 && i < u->cells; i++) {
        TranslationCell *c = &u->cell[i];
        int compared = i > 0 && !has_diverged(u, c) && !has_diverged(u, base);
        c->valid_ppl_diff =
            compared ? statistics_difference(&u->valid_ppl, &c->valid_ppl, &base->valid_ppl) : none;
        c->test_bleu_diff =
            compared ? statistics_difference(&u->test_bleu, &c->test_bleu, &base->test_bleu) : none;
        if (!isnan(c->test_bleu_diff.mean)) runs[comparisons++] = c->test_bleu.n;
    }
    if (code == 0)
        code =
            simultaneous_dunnett(u->test_bleu.df, base->test_bleu.n, runs, comparisons, &together);
    for (size_t i = 0; code == 0 && i < u->cells; i++)
        u->cell[i].test_bleu_p = simultaneous_difference(&together, &u->cell[i].test_bleu_diff).p;
    simultaneous_free(&together);
    memory_free(list);
    memory_free(runs);
    return code;
}

/* ---- drawn sentences ----------------------------------------------------------------------------- */

/* Lists the cells with translations: their runs' statistics, which follow one another, and how many each cell has.
 * Returns the number of cells. */
static size_t list_runs(const Translations *u, Statistics *run, size_t *runs,
                        TranslationCell **cell)
{
    size_t cells = 0, n = 0;
    for (size_t i = 0; i < u->cells; i++) {
        size_t before = n;
        for (size_t k = 0; k < u->seeds; k++)
            if (u->cell[i].lines[k].x) run[n++] = u->cell[i].lines[k];
        if (n == before) continue;
        runs[cells] = n - before;
        cell[cells++] = &u->cell[i];
    }
    return cells;
}

static int check_lines(const Statistics *run, size_t n)
{
    for (size_t r = 1; r < n; r++)
        if (run[r].lines != run[0].lines)
            return error_set(ERR_INPUT,
                             "runs have translations of %zu and of %zu lines: they are "
                             "of two texts",
                             run[0].lines, run[r].lines);
    return 0;
}

static int draw_sentences(Translations *u)
{
    Statistics *run = memory_new(u->cells, u->seeds * sizeof *run);
    size_t *runs = memory_new(u->cells, sizeof *runs), n = 0, cells = 0;
    TranslationCell **cell = memory_new(u->cells, sizeof *cell);
    Resampled *drawn = memory_new(u->cells, sizeof *drawn);
    int code = run && runs && cell && drawn ? 0 : ERR_MEMORY;
    for (size_t i = 0; i < u->cells; i++)
        u->cell[i].drawn_low = u->cell[i].drawn_high = u->cell[i].drawn_p = NAN;
    if (code == 0) cells = list_runs(u, run, runs, cell);
    for (size_t i = 0; i < cells; i++) n += runs[i];
    if (code == 0) code = check_lines(run, n);
    if (code == 0 && cells > 1 && cell[0] == &u->cell[0]) /* the baseline has translations */
        code = bootstrap_means(METRIC_BLEU, &u->metric, run, runs, cells, BOOTSTRAP_RESAMPLES,
                               BOOTSTRAP_SEED, drawn);
    else
        cells = 0;
    for (size_t i = 1; i < cells && code == 0; i++) {
        if (isnan(cell[i]->test_bleu_diff.mean)) continue;
        cell[i]->drawn_low = drawn[i].difference_low;
        cell[i]->drawn_high = drawn[i].difference_high;
        cell[i]->drawn_p = drawn[i].p_two_sided;
    }
    memory_free(run);
    memory_free(runs);
    memory_free(cell);
    memory_free(drawn);
    return code;
}

int translations_tables(Translations *u)
{
    for (size_t i = 0; i < u->cells; i++) summarise(u, &u->cell[i]);
    TRY(find_differences(u));
    TRY(draw_sentences(u));
    TRY(sheet_new(translation_columns, &u->table));
    TRY(sheet_new(difference_columns, &u->differences));
    for (size_t i = 0; i < u->cells; i++) {
        const TranslationCell *c = &u->cell[i];
        const PairRow row = {*c, c->encoder->name, c->decoder->name, c->name};
        sheet_row(u->table, &row);
        if (i) sheet_row(u->differences, &row);
    }
    return 0;
}

/* ---- words and files ----------------------------------------------------------------------------- */

static void print_caption(const Translations *u, FILE *f)
{
    const Options *o = u->options;
    char length[64];
    network_length(o, length);
    fprintf(f, "Corpus %s has %zu training pairs", u->corpus.name,
            u->corpus.text[SPLIT_TRAIN].lines);
    if (u->corpus.left_out) fprintf(f, " (%zu longer ones are left out)", u->corpus.left_out);
    fprintf(f,
            " and a vocabulary of %zu.\nThe models have width %zu, inner width %zu, %zu heads and "
            "%s-norm; training took %s\nwith rate %s and dropout %s. Numbers are means over %zu "
            "seed%s; ± is half of the 95 %% interval of a\nrow's own runs (Student's t).\n",
            u->corpus.vocab.size, options_size(o, "width"), options_size(o, "inner"),
            options_size(o, "heads"), options_text(o, "norm"), length, options_text(o, "rate"),
            options_text(o, "dropout"), u->seeds, u->seeds == 1 ? "" : "s");
    fprintf(f,
            "BLEU is corpus BLEU (tokenize %s, smoothing exp, case as it is) of translations with "
            "beam %s and\nlength penalty %s %s. Perplexities are of the target's tokens. orders "
            "and errors are of encoder and\ndecoder: the exact order p, with local error "
            "O(h^(p+1)), and the error of a trained layer's own step\nagainst the exact flow, "
            "divided by the flow's displacement: the median over %zu sentences and all\nlayers, "
            "and the mean over seeds.\n\n",
            options_text(o, "tokenize"), options_text(o, "beam"), options_text(o, "penalty"),
            options_text(o, "alpha"), options_size(o, "truncation"));
}

static int print_all(const Translations *u, int form, FILE *f)
{
    print_caption(u, f);
    for (size_t i = 0; i < u->cells; i++)
        if (statistics_is_cut(u->cell[i].valid_ppl) || statistics_is_cut(u->cell[i].test_bleu)) {
            fputs(STATISTICS_POSITIVE_CUT "\n", f);
            break;
        }
    TRY(sheet_write(u->table, form, f));
    if (u->cells == 1) return 0;
    fprintf(
        f,
        "\nThe table shows differences from %s.\n± and ± (seeds) are half of the 95 %% interval "
        "of one difference, with one standard deviation over\nseeds for all pairs of schemes",
        u->cell[0].name);
    if (u->test_bleu.df)
        fprintf(f, " (%.2f for test BLEU, %zu degree%s of freedom)", u->test_bleu.sd,
                u->test_bleu.df, u->test_bleu.df == 1 ? "" : "s");
    fprintf(
        f,
        ".\np, of no difference, is corrected for the comparisons (Dunnett). from and to (sentences) hold "
        "95 %% of\n%d test texts drawn from the sentences of this one, the same for all; p (sentences) is "
        "two-sided,\nof one comparison. A ranking needs both intervals to leave out 0.\n\n",
        BOOTSTRAP_RESAMPLES);
    return sheet_write(u->differences, form, f);
}

int translations_show(const Translations *u)
{
    if (options_flag(u->options, "csv")) return sheet_write(u->table, SHEET_CSV, stdout);
    return print_all(u, SHEET_PLAIN, stdout);
}

int translations_save(const Translations *u)
{
    Output o;
    TRY(output_sheet(u->table, SHEET_CSV, u->dir, "compare.csv"));
    TRY(output_sheet(u->table, SHEET_LATEX, u->dir, "compare.tex"));
    TRY(output_open(&o));
    return output_put(&o, print_all(u, SHEET_MARKDOWN, o.f), u->dir, "compare.md");
}
