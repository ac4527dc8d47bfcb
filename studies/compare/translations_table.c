/* translations_table.c: writes the table of runs of a comparison of pairs, and makes of it a row for each pair, differences
 * from the first one, and plots.
 *
 * A difference of BLEU has two intervals. The one over seeds is the engine's (studies/table). The one over sentences is that
 * of the difference of the cells' mean BLEU over their seeds, on 1,000 test texts drawn with replacement, the same for all
 * runs (Koehn 2004; bootstrap.h). The first shows what another training would give, the second what another text would; a
 * ranking needs both to leave out 0. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/compare/translations.h"
#include "studies/metrics/bootstrap.h"
#include "studies/model/network.h"
#include "studies/plot/plot.h"
#include "studies/tools/command.h"
#include "studies/tools/output.h"

enum { VALID_PPL, TEST_BLEU }; /* the measures */

/* ---- runs.csv and lines.csv ---------------------------------------------------------------------- */

#define RESULT(member, ...) FIELD(TranslationRow, #member, run.result.member, __VA_ARGS__)
#define MEASURE(member, ...) FIELD(TranslationRow, #member, run.measure.member, __VA_ARGS__)

const Column translation_runs[] = {
    COLUMN(TranslationRow, pair, .page = 1),
    COLUMN(TranslationRow, seed, .page = 1),
    RESULT(valid_ppl, .form = SHEET_FIXED, .digits = 3, .page = 1),
    RESULT(test_ppl, .form = SHEET_FIXED, .digits = 3, .page = 1),
    COLUMN(TranslationRow, diverged),
    COLUMN(TranslationRow, encoder),
    COLUMN(TranslationRow, decoder),
    FIELD(TranslationRow, "encoder_layers", of.encoder_layers),
    FIELD(TranslationRow, "layers", of.layers),
    FIELD(TranslationRow, "encoder_order", of.encoder_order),
    FIELD(TranslationRow, "decoder_order", of.decoder_order),
    RESULT(params, .form = SHEET_FIXED, .page = 1),
    RESULT(best_epoch, .form = SHEET_FIXED, .page = 1),
    RESULT(tokens_per_s, .form = SHEET_FIXED, .page = 1),
    RESULT(peak_bytes, .form = SHEET_FIXED),
    RESULT(valid_exact, .digits = 4),
    RESULT(test_exact, .digits = 4),
    COLUMN(TranslationRow, epochs),
    COLUMN(TranslationRow, how, .words = "options of the search and of the truncation errors"),
    MEASURE(valid_bleu, .form = SHEET_FIXED, .digits = 2, .page = 1),
    MEASURE(test_bleu, .form = SHEET_FIXED, .digits = 2, .page = 1),
    MEASURE(test_chrf, .form = SHEET_FIXED, .digits = 2, .page = 1),
    MEASURE(brevity, .words = "BLEU's factor for short translations, of the test text"),
    MEASURE(sentences_per_s, .words = "speed of translating the test text"),
    MEASURE(encoder_error, .digits = 4),
    MEASURE(encoder_slope, .digits = 4),
    MEASURE(decoder_error, .digits = 4),
    MEASURE(decoder_slope, .digits = 4),
    {0}};

/* A row of lines.csv; whole numbers. */
typedef struct {
    const char *pair;
    size_t seed;
    double x[BLEU_STATISTICS];
} LineRow;

#define COUNT(name, k, what) FIELD(LineRow, name, x[k], .words = what)

const Column translation_lines[] = {
    COLUMN(LineRow, pair),
    COLUMN(LineRow, seed),
    COUNT("hypothesis", BLEU_HYPOTHESIS, "words of the line's translation"),
    COUNT("reference", BLEU_REFERENCE, "words of the line's reference"),
    COUNT("matches_1", BLEU_MATCHES, "words that the reference has too"),
    COUNT("matches_2", BLEU_MATCHES + 1, "pairs of words that the reference has too"),
    COUNT("matches_3", BLEU_MATCHES + 2, "runs of 3 words that the reference has too"),
    COUNT("matches_4", BLEU_MATCHES + 3, "runs of 4 words that the reference has too"),
    COUNT("totals_1", BLEU_TOTALS, "words in the translation"),
    COUNT("totals_2", BLEU_TOTALS + 1, "pairs of words in the translation"),
    COUNT("totals_3", BLEU_TOTALS + 2, "runs of 3 words in the translation"),
    COUNT("totals_4", BLEU_TOTALS + 3, "runs of 4 words in the translation"),
    {0}};

void translations_add_lines(Sheet *s, const char *pair, size_t seed, const Statistics *of)
{
    for (size_t i = 0; i < of->lines; i++) {
        LineRow row = {.pair = pair, .seed = seed};
        memcpy(row.x, of->x + i * of->width, sizeof row.x);
        sheet_row(s, &row);
    }
}

/* Adds the run of a cell and its lines. */
static void add_run(const Translations *u, const TranslationCell *c, size_t k, Sheet *runs,
                    Sheet *lines)
{
    const TranslationRun *r = &c->run[k];
    if (isnan(r->result.valid_ppl)) return;
    sheet_row(runs, &(TranslationRow){.pair = c->name,
                                      .encoder = c->encoder->name,
                                      .decoder = c->decoder->name,
                                      .diverged = runs_diverged(&r->result, 1, u->corpus.vocab.size)
                                                      ? "yes"
                                                      : NULL,
                                      .how = r->lines.x ? u->how : NULL,
                                      .seed = u->seed + k,
                                      .epochs = options_size(u->options, "epochs"),
                                      .of = *c,
                                      .run = *r});
    translations_add_lines(lines, c->name, u->seed + k, &r->lines);
}

int translations_record(const Translations *u)
{
    Sheet *runs, *lines = NULL;
    TRY(sheet_new(translation_runs, &runs));
    int code = sheet_new(translation_lines, &lines);
    for (size_t i = 0; i < u->cells * u->seeds && code == 0; i++)
        add_run(u, &u->cell[i / u->seeds], i % u->seeds, runs, lines);
    if (code == 0) code = output_sheet(lines, SHEET_CSV, u->dir, "lines.csv");
    if (code == 0) code = output_sheet(runs, SHEET_CSV, u->dir, "runs.csv");
    sheet_free(runs);
    sheet_free(lines);
    return code;
}

/* ---- pairs --------------------------------------------------------------------------------------- */

#define MEAN(column, name, digit, at, position)                              \
    VALUE(column, .form = SHEET_FIXED, .digits = digit, .low = #name "_low", \
          .high = #name "_high", .head = at, .half = "±", .place = position, \
          .page = 4 + position),                                             \
        VALUE(#name "_low", .words = STATISTICS_POSITIVE_LOW), VALUE(#name "_high")

const Column translation_columns[] = {
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
    VALUE("params", .form = SHEET_FIXED, .head = "parameters", .place = 6, .page = 9),
    VALUE("seeds", .page = 10),
    MEAN("valid_ppl", valid, 3, "valid ppl", 7),
    MEAN("valid_bleu", valid_bleu, 2, "valid BLEU", 8),
    MEAN("test_bleu", test_bleu, 2, "test BLEU", 9),
    VALUE("test_bleu_sd"),
    VALUE("test_chrf", .form = SHEET_FIXED, .digits = 2, .head = "chrF2", .place = 10, .page = 14),
    VALUE("sentences_per_s", .form = SHEET_FIXED, .digits = 1, .head = "sentences/s", .place = 11,
          .page = 15, .words = "speed of translating the test text"),
    {0}};

/* Lists the lines of a design's runs; returns how many. */
static size_t list_lines(const Translations *u, const char *design, Statistics *run)
{
    size_t n = 0;
    for (size_t i = 0; i < u->cells * u->seeds; i++) {
        const TranslationCell *c = &u->cell[i / u->seeds];
        if (strcmp(c->name, design) == 0 && c->run[i % u->seeds].lines.x)
            run[n++] = c->run[i % u->seeds].lines;
    }
    return n;
}

static int draw(const void *study, const RunTable *t, size_t design, size_t less, size_t measure,
                RunDrawn *out)
{
    const Translations *u = study;
    Resampled drawn[2];
    size_t runs[2];
    if (measure != TEST_BLEU) return 0;
    Statistics *run = memory_new(u->seeds, 2 * sizeof *run);
    if (!run) return ERR_MEMORY;
    runs[0] = list_lines(u, t->design[less].name, run);
    runs[1] = list_lines(u, t->design[design].name, run + runs[0]);
    int code = bootstrap_means(METRIC_BLEU, &u->metric, run, runs, 2, BOOTSTRAP_RESAMPLES,
                               BOOTSTRAP_SEED, drawn);
    memory_free(run);
    if (code == 0)
        *out = (RunDrawn){drawn[1].difference_low, drawn[1].difference_high, drawn[1].p_two_sided};
    return code;
}

int translations_tables(Translations *u)
{
    static const char *const positive[] = {"valid_bleu", "test_chrf", NULL};
    static const RunTableAsked asked = {
        .design = "pair",
        .seed = "seed",
        .measure = {{"valid_ppl", "valid", "validation perplexity", 0, 1},
                    {"test_bleu", "test_bleu", "test BLEU", 1, 1}},
        .positive = positive};
    RunTable *t = &u->pairs;
    const Options *o = u->options;
    const char *contrast;
    TRY(output_path(u->runs_file, u->dir, "runs.csv"));
    TRY(runtable_open((const char *[]){u->runs_file}, 1, &asked, t));
    t->draw = draw;
    t->study = u;
    TRY(runtable_sheet(t, translation_columns, NULL, NULL, NULL, t->designs, &u->own[0],
                       &u->table));
    TRY(runtable_new(t, runtable_differences, &u->own[1], &u->differences));
    TRY(runtable_baseline(t, u->cell[0].name, options_real(o, "equivalence")));
    TRY(runtable_dunnett(t, u->differences));
    if (options_flag(o, "all-pairs")) TRY(runtable_tukey(t, u->differences));
    for (size_t i = 0; (contrast = options_item(o, "contrast", i)); i++)
        TRY(runtable_contrast(t, "--contrast", contrast, NULL, u->differences));
    return 0;
}

/* ---- words --------------------------------------------------------------------------------------- */

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
    runtable_cut(&u->pairs, f);
    TRY(sheet_write(u->table, form, f));
    if (sheet_rows(u->differences) == 0) return 0;
    fprintf(
        f,
        "\nDifferences have 95 %% intervals with one standard deviation over seeds for all pairs of "
        "schemes. As many\nas 'comparisons' says hold together, and p is corrected in the same way. "
        "from and to (drawn) hold 95 %% of\n%d test texts drawn from the sentences of this one, the "
        "same for all; p (drawn) is two-sided, of one\ncomparison. A ranking needs both intervals to "
        "leave out 0.\n",
        BOOTSTRAP_RESAMPLES);
    runtable_models(&u->pairs, f);
    fputc('\n', f);
    return sheet_write(u->differences, form, f);
}

int translations_show(const Translations *u)
{
    if (options_flag(u->options, "csv")) return sheet_write(u->table, SHEET_CSV, stdout);
    return print_all(u, SHEET_PLAIN, stdout);
}

/* ---- files --------------------------------------------------------------------------------------- */

/* Draws BLEU against the truncation error of the trained encoder. */
static int draw_errors(const Translations *u)
{
    char title[256];
    Plot *p;
    const RunTable *t = &u->pairs;
    size_t there = 0;
    for (size_t i = 0; i < t->designs; i++)
        there += isnan(runtable_value(t, i, "encoder_error").x) ? 0 : 1;
    if (there < 2) return 0;
    snprintf(title, sizeof title, "Test BLEU against the encoder's truncation error, %s",
             plot_folder(u->corpus.name));
    PlotFrame frame = {"truncation", title, "truncation error of the encoder's layers", "test BLEU",
                       PLOT_LOG_X};
    TRY(plot_new(u->dir, &frame, &p));
    int x = sheet_column(translation_columns, "encoder_error"),
        y = sheet_column(translation_columns, "test_bleu");
    for (size_t i = 0; i < t->designs; i++) {
        plot_item(p, "compare.csv", "every ::%zu::%zu using %d:%d with points title %s noenhanced",
                  i + 1, i + 1, x, y, t->design[i].name);
        plot_style(p, i);
    }
    return plot_finish(p);
}

int translations_save(const Translations *u)
{
    Output o;
    TRY(output_sheet(u->table, SHEET_CSV, u->dir, "compare.csv"));
    TRY(output_sheet(u->table, SHEET_LATEX, u->dir, "compare.tex"));
    TRY(output_sheet(u->differences, SHEET_CSV, u->dir, "differences.csv"));
    TRY(output_sheet(u->differences, SHEET_LATEX, u->dir, "differences.tex"));
    TRY(output_open(&o));
    TRY(output_put(&o, print_all(u, SHEET_MARKDOWN, o.f), u->dir, "compare.md"));
    TRY(runtable_forest(&u->pairs, TEST_BLEU, u->dir));
    return draw_errors(u);
}
