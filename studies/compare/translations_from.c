/* translations_from.c: writes the runs of a comparison to two files, and reads runs that earlier comparisons recorded
 * (--from DIR). runs.csv has a row for each run; lines.csv has what each line of a run's test translations matches,
 * from which BLEU and its intervals can be computed again without the text. */
#include <math.h>
#include <string.h>

#include "studies/compare/translations.h"
#include "studies/tools/command.h"
#include "studies/tools/output.h"

const Column translation_runs[] = {
    COLUMN(TranslationRun, encoder, .page = 1),
    COLUMN(TranslationRun, encoder_layers, .page = 1),
    COLUMN(TranslationRun, decoder, .page = 1),
    COLUMN(TranslationRun, layers, .page = 1),
    COLUMN(TranslationRun, seed, .page = 1),
    FIELD(TranslationRun, "params", result.params, .form = SHEET_FIXED, .page = 1),
    FIELD(TranslationRun, "best_epoch", result.best_epoch, .form = SHEET_FIXED, .page = 1),
    FIELD(TranslationRun, "valid_ppl", result.valid_ppl, .form = SHEET_FIXED, .digits = 3,
          .page = 1),
    FIELD(TranslationRun, "test_ppl", result.test_ppl, .form = SHEET_FIXED, .digits = 3, .page = 1),
    FIELD(TranslationRun, "tokens_per_s", result.tokens_per_s, .form = SHEET_FIXED, .page = 1),
    FIELD(TranslationRun, "peak_bytes", result.peak_bytes, .form = SHEET_FIXED),
    FIELD(TranslationRun, "valid_exact", result.valid_exact, .digits = 4),
    FIELD(TranslationRun, "test_exact", result.test_exact, .digits = 4),
    FIELD(TranslationRun, "valid_bleu", measure.valid_bleu, .form = SHEET_FIXED, .digits = 2,
          .page = 1),
    FIELD(TranslationRun, "test_bleu", measure.test_bleu, .form = SHEET_FIXED, .digits = 2,
          .page = 1),
    FIELD(TranslationRun, "test_chrf", measure.test_chrf, .form = SHEET_FIXED, .digits = 2,
          .page = 1),
    FIELD(TranslationRun, "brevity", measure.brevity,
          .words = "BLEU's factor for short translations, of the test text"),
    FIELD(TranslationRun, "sentences_per_s", measure.sentences_per_s,
          .words = "speed of translating the test text"),
    FIELD(TranslationRun, "encoder_error", measure.encoder_error),
    FIELD(TranslationRun, "encoder_slope", measure.encoder_slope),
    FIELD(TranslationRun, "decoder_error", measure.decoder_error),
    FIELD(TranslationRun, "decoder_slope", measure.decoder_slope),
    {0}};

/* A row of lines.csv: whole numbers, stored as doubles, which csv_record reads, so that a missing one is NaN. */
typedef struct {
    double run, x[BLEU_STATISTICS];
} LineRow;

const Column translation_lines[] = {
    COLUMN(LineRow, run, .words = "row of runs.csv, from 0"),
    FIELD(LineRow, "hypothesis", x[BLEU_HYPOTHESIS], .words = "words of the line's translation"),
    FIELD(LineRow, "reference", x[BLEU_REFERENCE], .words = "words of the line's reference"),
    FIELD(LineRow, "matches_1", x[BLEU_MATCHES], .words = "words that the reference has too"),
    FIELD(LineRow, "matches_2", x[BLEU_MATCHES + 1],
          .words = "pairs of words that the reference has too"),
    FIELD(LineRow, "matches_3", x[BLEU_MATCHES + 2],
          .words = "runs of 3 words that the reference has too"),
    FIELD(LineRow, "matches_4", x[BLEU_MATCHES + 3],
          .words = "runs of 4 words that the reference has too"),
    FIELD(LineRow, "totals_1", x[BLEU_TOTALS], .words = "runs of 1 words in the translation"),
    FIELD(LineRow, "totals_2", x[BLEU_TOTALS + 1], .words = "runs of 2 words in the translation"),
    FIELD(LineRow, "totals_3", x[BLEU_TOTALS + 2], .words = "runs of 3 words in the translation"),
    FIELD(LineRow, "totals_4", x[BLEU_TOTALS + 3], .words = "runs of 4 words in the translation"),
    {0}};

/* ---- written ------------------------------------------------------------------------------------- */

void translations_add_lines(Sheet *s, size_t run, const Statistics *of)
{
    for (size_t i = 0; i < of->lines; i++) {
        LineRow row = {.run = (double)run};
        memcpy(row.x, of->x + i * of->width, sizeof row.x);
        sheet_row(s, &row);
    }
}

int translations_record(const Translations *u)
{
    Sheet *runs, *lines = NULL;
    size_t n = 0;
    TRY(sheet_new(translation_runs, &runs));
    int code = sheet_new(translation_lines, &lines);
    for (size_t i = 0; i < u->cells * u->seeds && code == 0; i++) {
        const TranslationCell *c = &u->cell[i / u->seeds];
        size_t k = i % u->seeds;
        if (isnan(c->result[k].valid_ppl)) continue;
        sheet_row(runs, &(TranslationRun){c->encoder->name, c->decoder->name, c->encoder_layers,
                                          c->layers, u->seed + k, c->result[k], c->measure[k]});
        translations_add_lines(lines, n++, &c->lines[k]);
    }
    if (code == 0) code = output_sheet(runs, SHEET_CSV, u->dir, "runs.csv");
    if (code == 0) code = output_sheet(lines, SHEET_CSV, u->dir, "lines.csv");
    sheet_free(runs);
    sheet_free(lines);
    return code;
}

/* ---- read ---------------------------------------------------------------------------------------- */

int translations_read_lines(const Csv *c, size_t first, size_t n, Statistics *out)
{
    *out = (Statistics){n, BLEU_STATISTICS, memory_new(n * BLEU_STATISTICS, sizeof(double))};
    if (!out->x) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        LineRow row = {0};
        int code = csv_record(c, first + i, translation_lines, &row);
        for (size_t k = 0; k < BLEU_STATISTICS && code == 0; k++)
            if (!(row.x[k] >= 0)) code = error_set(ERR_INPUT, "%s: a number is missing", c->file);
        if (code != 0) {
            metric_free(out);
            return code;
        }
        memcpy(out->x + i * BLEU_STATISTICS, row.x, sizeof row.x);
    }
    return 0;
}

static TranslationCell *find_cell(const Translations *u, const Csv *c, size_t row)
{
    double layers[2];
    if (csv_number(c, row, csv_column(c, "encoder_layers"), &layers[0]) != 0 ||
        csv_number(c, row, csv_column(c, "layers"), &layers[1]) != 0)
        return NULL;
    for (size_t i = 0; i < u->cells; i++) {
        TranslationCell *t = &u->cell[i];
        if (strcmp(csv_named(c, row, "encoder"), t->encoder->name) == 0 &&
            strcmp(csv_named(c, row, "decoder"), t->decoder->name) == 0 &&
            layers[0] == (double)t->encoder_layers && layers[1] == (double)t->layers)
            return t;
    }
    return NULL;
}

/* Finds the lines of run number `run`: rows first .. *next - 1. */
static int find_lines(const Csv *c, size_t run, size_t first, size_t *next)
{
    int column = csv_column(c, "run");
    double of = 0;
    for (*next = first; *next < c->rows; ++*next) {
        TRY(csv_number(c, *next, column, &of));
        if (of != (double)run) break;
    }
    return 0;
}

static int take_run(Translations *u, const Csv *runs, const Csv *lines, size_t row, size_t *line)
{
    TranslationRun r;
    double seed;
    size_t next;
    TRY(csv_record(runs, row, translation_runs, &r));
    TRY(csv_number(runs, row, csv_column(runs, "seed"), &seed));
    TRY(find_lines(lines, row, *line, &next));
    size_t first = *line;
    if (next == first && !isnan(r.measure.test_bleu)) /* diverged runs are not translated */
        return error_set(ERR_INPUT, "%s: no lines of run %zu, in their order", lines->file, row);
    *line = next;
    TranslationCell *c = find_cell(u, runs, row);
    if (!c || !(seed >= (double)u->seed && seed < (double)(u->seed + u->seeds))) return 0;
    size_t k = (size_t)seed - u->seed;
    if (!isnan(c->result[k].valid_ppl))
        return error_set(ERR_INPUT, "%s: %s with seed %.0f is in a directory before too",
                         runs->file, c->name, seed);
    TRY(runs_take(runs->file, c->name, seed, c->numbers, options_size(u->options, "epochs"),
                  &r.result, &c->result[k]));
    c->measure[k] = r.measure;
    return next > first ? translations_read_lines(lines, first, next - first, &c->lines[k]) : 0;
}

static int take_directory(Translations *u, const char *dir)
{
    char path[2][OUTPUT_PATH];
    Csv runs, lines;
    size_t line = 0;
    TRY(output_path(path[0], dir, "runs.csv"));
    TRY(output_path(path[1], dir, "lines.csv"));
    TRY(csv_open(&runs, path[0]));
    int code = csv_open(&lines, path[1]);
    if (code == 0) {
        if (csv_column(&runs, "encoder_layers") < 0 || csv_column(&runs, "layers") < 0 ||
            csv_column(&runs, "seed") < 0 || csv_column(&lines, "run") < 0)
            code = error_set(ERR_INPUT, "%s: not the runs of a comparison of pairs", path[0]);
        for (size_t i = 0; i < runs.rows && code == 0; i++)
            code = take_run(u, &runs, &lines, i, &line);
        csv_close(&lines);
    }
    csv_close(&runs);
    return code;
}

int translations_take(Translations *u)
{
    const char *dir;
    for (size_t i = 0; (dir = options_item(u->options, "from", i)); i++)
        TRY(take_directory(u, dir));
    for (size_t i = 0; i < u->cells; i++) {
        size_t runs = 0;
        for (size_t k = 0; k < u->seeds; k++) runs += isnan(u->cell[i].result[k].valid_ppl) ? 0 : 1;
        if (runs == 0)
            return error_set(ERR_INPUT, "--from: no runs.csv has a run of %s with these seeds",
                             u->cell[i].name);
    }
    return 0;
}
