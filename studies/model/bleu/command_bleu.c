/* command_bleu.c: scores translations against references, and tests their differences by a paired bootstrap. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/model/metrics/bootstrap.h"
#include "kernels/base/plain_text.h"
#include "studies/base/command.h"

static const OptionGroup *const groups[] = {
    OPTION_GROUP(
        "Texts", 1,
        {"reference", OPTION_TEXT, NULL, "FILE,...",
         "reference translations, line by line; several files give each line several references"},
        {"hypothesis", OPTION_TEXT, LINES_STDIN, "FILE,...",
         "translations to score; -: standard input; several files are systems, each compared with the first"}),
    OPTION_GROUP(
        "Metrics", 1,
        {"metrics", OPTION_TEXT, "bleu,chrf", "A,B,...",
         "bleu, chrf (chrF2), chrf++ (chrF2++), ter"},
        {"tokenize", OPTION_CHOICE, "13a", TOKENIZE_NAMES,
         "how BLEU cuts words; none: at white space alone, for text that is tokenised already",
         .sets = {MEMBER(MetricOptions, tokenize)}},
        {"lowercase", OPTION_FLAG, NULL, NULL, "score in lower case, as TER always is",
         .sets = {MEMBER(MetricOptions, lowercase)}}),
    OPTION_GROUP(
        "Bootstrap", 1,
        {"bootstrap", OPTION_SIZE, TEXT(BOOTSTRAP_RESAMPLES), "N",
         "number of resamples of the lines; 0: none; a single system has none unless this is given",
         0, 1e6},
        {"seed", OPTION_SIZE, TEXT(BOOTSTRAP_SEED), "N", "seed of the resamples", 0, 1e15}),
    OPTION_GROUP("Output", 0, {"csv", OPTION_FLAG, NULL, NULL, "write the table as CSV"},
                 {"out", OPTION_TEXT, NULL, "DIR", "write DIR/bleu.csv and DIR/bleu.md too"}),
    NULL};

/* A system's score by one metric. */
typedef struct {
    const char *system, *metric;
    Resampled is;
    BleuScore bleu; /* NaN and SIZE_MAX for another metric */
    size_t resamples, seed;
    const char *signature;
} ScoreRow;

#define PRECISION \
    "share of the hypotheses' n-grams that the references have, of BLEU, 0 to 100, smoothed: n = "
#define RESAMPLED " of the 95 % interval over resamples of the lines"

static const Column columns[] = {
    COLUMN(ScoreRow, system, .place = 1, .words = "file of the hypotheses"),
    COLUMN(ScoreRow, metric, .place = 2, .words = "BLEU, chrF2, chrF2++, TER"),
    FIELD(ScoreRow, "score", is.score, .place = 3, .digits = 2, .form = SHEET_FIXED,
          .words = "score of the whole text, 0 to 100; of TER less is better", .low = "low",
          .high = "high"),
    FIELD(ScoreRow, "precision_1", bleu.precision[0], .words = PRECISION "1"),
    FIELD(ScoreRow, "precision_2", bleu.precision[1], .words = PRECISION "2"),
    FIELD(ScoreRow, "precision_3", bleu.precision[2], .words = PRECISION "3"),
    FIELD(ScoreRow, "precision_4", bleu.precision[3], .words = PRECISION "4"),
    FIELD(ScoreRow, "brevity_penalty", bleu.brevity, .words = "BLEU's factor for short hypotheses"),
    FIELD(ScoreRow, "ratio", bleu.ratio, .words = "hypothesis_length / reference_length"),
    FIELD(ScoreRow, "hypothesis_length", bleu.hypothesis,
          .words = "words of the hypotheses, of BLEU"),
    FIELD(ScoreRow, "reference_length", bleu.reference,
          .words = "words of the references of the closest length, of BLEU"),
    FIELD(ScoreRow, "mean", is.mean, .sparse = 1,
          .words = "mean score over resamples of the lines"),
    FIELD(ScoreRow, "low", is.low, .place = 4, .digits = 2, .form = SHEET_FIXED, .sparse = 1,
          .words = "lower end" RESAMPLED),
    FIELD(ScoreRow, "high", is.high, .place = 5, .digits = 2, .form = SHEET_FIXED, .sparse = 1,
          .words = "upper end" RESAMPLED),
    FIELD(ScoreRow, "difference", is.difference, .place = 6, .digits = 2, .form = SHEET_FIXED,
          .sparse = 1, .words = "score less that of the first system", .low = "difference_low",
          .high = "difference_high"),
    FIELD(ScoreRow, "difference_low", is.difference_low, .head = "low", .place = 7, .digits = 2,
          .form = SHEET_FIXED, .sparse = 1, .words = "lower end" RESAMPLED),
    FIELD(ScoreRow, "difference_high", is.difference_high, .head = "high", .place = 8, .digits = 2,
          .form = SHEET_FIXED, .sparse = 1, .words = "upper end" RESAMPLED),
    FIELD(ScoreRow, "p", is.p, .place = 9, .digits = 2, .sparse = 1,
          .words = "p of the difference as sacreBLEU's paired bootstrap has it, one-sided at best"),
    FIELD(ScoreRow, "p_two_sided", is.p_two_sided, .head = "two-sided", .place = 10, .digits = 2,
          .sparse = 1, .words = "two-sided p of the difference, by the same resamples"),
    COLUMN(ScoreRow, resamples, .sparse = 1, .words = "resamples of the lines"),
    COLUMN(ScoreRow, seed, .sparse = 1, .words = "seed of the resamples"),
    COLUMN(ScoreRow, signature, .words = "what the score was made with"),
    {0}};

typedef struct {
    const Options *options;
    MetricOptions metric;
    LinesList reference, system;
    int wanted[METRICS];
    size_t resamples, seed;
    Statistics *statistics; /* (systems) of the current metric */
    Resampled *result;      /* (systems) */
    char signature[METRICS][METRIC_SIGNATURE];
    Sheet *sheet;
    Output words; /* BLEU's parts and all signatures, for people */
} Scoring;

/* ---- input --------------------------------------------------------------------------------------- */

static int choose_metrics(Scoring *u)
{
    char name[32];
    for (const char *at = options_text(u->options, "metrics"), *end; at;
         at = *end ? end + 1 : NULL) {
        end = strchrnul(at, ',');
        snprintf(name, sizeof name, "%.*s", (int)(end - at < 31 ? end - at : 31), at);
        int k = option_index(METRIC_NAMES, name);
        if (k < 0)
            return error_set(ERR_INPUT,
                             "--metrics: expected " METRIC_NAMES
                             ", or several separated by commas, not '%s'",
                             name);
        u->wanted[k] = 1;
    }
    return 0;
}

static int read_given(Scoring *u)
{
    const Options *o = u->options;
    options_fill(o, groups, &u->metric);
    TRY(choose_metrics(u));
    const char *reference = options_text(o, "reference");
    int standard = 0;
    if (!reference) return error_set(ERR_INPUT, "--reference is needed");
    TRY(lines_list("reference", reference, &standard, &u->reference));
    TRY(lines_list("hypothesis", options_text(o, "hypothesis"), &standard, &u->system));
    for (size_t r = 1; r < u->reference.count; r++)
        TRY(lines_pair(&u->reference.of[r], u->reference.of));
    for (size_t s = 0; s < u->system.count; s++) TRY(lines_pair(&u->system.of[s], u->reference.of));
    u->seed = options_size(o, "seed");
    if (u->system.count > 1 || options_rank(o, "bootstrap") != OPTION_DEFAULT)
        u->resamples = options_size(o, "bootstrap");
    return 0;
}

/* Warns of a text that is tokenised already: 13a cuts it again, and its figures are not comparable with others. */
static void warn_tokenised(const Scoring *u)
{
    size_t lines = 0, done = 0;
    if (!u->wanted[METRIC_BLEU] || u->metric.tokenize != TOKENIZE_13A) return;
    size_t references = u->reference.count;
    for (size_t t = 0; t < references + u->system.count; t++) {
        const Lines *l = t < references ? &u->reference.of[t] : &u->system.of[t - references];
        lines += l->count;
        for (size_t i = 0; i < l->count; i++)
            done += (size_t)tokenise_is_done(l->line[i].text, l->line[i].bytes);
    }
    if (10 * done < lines) return;
    notice_warn("%zu of %zu lines look tokenised already: the papers' figures on Multi30k are of "
                "--tokenize none, not of 13a",
                done, lines);
}

/* ---- scores -------------------------------------------------------------------------------------- */

static void print_bleu(const char *system, const BleuScore *b, FILE *f)
{
    fprintf(
        f,
        "    %s: %.2f %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %zu ref_len = %zu)\n",
        system, b->score, b->precision[0], b->precision[1], b->precision[2], b->precision[3],
        b->brevity, b->ratio, b->hypothesis, b->reference);
}

static void add_row(Scoring *u, int metric, size_t s)
{
    double sums[METRIC_WIDTH];
    ScoreRow row = {.system = u->system.of[s].file,
                    .metric = metric_name(metric),
                    .is = u->result[s],
                    .bleu = {NAN, {NAN, NAN, NAN, NAN}, NAN, NAN, SIZE_MAX, SIZE_MAX},
                    .resamples = u->resamples ? u->resamples : SIZE_MAX,
                    .seed = u->resamples ? u->seed : SIZE_MAX,
                    .signature = u->signature[metric]};
    metric_sum(&u->statistics[s], sums);
    if (metric == METRIC_BLEU) {
        row.bleu = bleu_score(sums);
        print_bleu(row.system, &row.bleu, u->words.f);
    }
    sheet_row(u->sheet, &row);
}

static int add_metric(Scoring *u, int metric)
{
    int code = 0;
    metric_signature(metric, &u->metric, u->reference.count, u->resamples, u->seed,
                     "trotter " TROTTER_VERSION, u->signature[metric]);
    fprintf(u->words.f, "%s|%s\n", metric_name(metric), u->signature[metric]);
    for (size_t s = 0; code == 0 && s < u->system.count; s++) {
        progress_show("%s of %s", metric_name(metric), u->system.of[s].file);
        code = metric_lines(metric, &u->metric, &u->system.of[s], u->reference.of,
                            u->reference.count, &u->statistics[s]);
    }
    progress_show("%zu resamples of %s", u->resamples, metric_name(metric));
    if (code == 0)
        code = bootstrap_means(metric, u->statistics, NULL, u->system.count, u->resamples, u->seed,
                               u->result);
    for (size_t s = 0; code == 0 && s < u->system.count; s++) add_row(u, metric, s);
    for (size_t s = 0; s < u->system.count; s++) metric_free(&u->statistics[s]);
    return code;
}

/* ---- output -------------------------------------------------------------------------------------- */

/* Prints the collected words. They are complete in memory once the stream is flushed. */
static void print_words(const Scoring *u, FILE *f)
{
    fflush(u->words.f);
    fprintf(f, "\n%s", u->words.text);
    if (!u->resamples) return;
    fprintf(f,
            "low, high: 95 %% over %zu resamples of the lines, drawn by trotter; difference and p: "
            "against %s\n",
            u->resamples, u->system.of[0].file);
}

static int save(const Scoring *u, const char *dir)
{
    Output o;
    TRY(output_directory(dir));
    TRY(output_sheet(u->sheet, SHEET_CSV, dir, "bleu.csv"));
    TRY(output_open(&o));
    int code = sheet_write(u->sheet, SHEET_MARKDOWN, o.f);
    fputs("\n```", o.f);
    print_words(u, o.f);
    fputs("```\n", o.f);
    return output_put(&o, code, dir, "bleu.md");
}

static int show(const Scoring *u)
{
    const char *dir = options_text(u->options, "out");
    int csv = options_flag(u->options, "csv");
    TRY(sheet_write(u->sheet, csv ? SHEET_CSV : SHEET_PLAIN, stdout));
    if (!csv) print_words(u, stdout);
    return dir ? save(u, dir) : 0;
}

static int study(Scoring *u)
{
    TRY(read_given(u));
    warn_tokenised(u);
    u->statistics = memory_new(u->system.count, sizeof *u->statistics);
    u->result = memory_new(u->system.count, sizeof *u->result);
    if (!u->statistics || !u->result) return ERR_MEMORY;
    TRY(sheet_new(columns, &u->sheet));
    TRY(output_open(&u->words));
    for (int m = 0; m < METRICS; m++)
        if (u->wanted[m]) TRY(add_metric(u, m));
    progress_clear();
    return show(u);
}

static int run(Options *o)
{
    Scoring u = {.options = o};
    int code = study(&u);
    lines_list_free(&u.reference);
    lines_list_free(&u.system);
    memory_free(u.statistics);
    memory_free(u.result);
    sheet_free(u.sheet);
    if (u.words.f) output_drop(&u.words);
    return code;
}

const Command command_bleu = {
    .name = "bleu",
    .purpose = "score translations by BLEU, chrF2 and TER; compare systems",
    .about =
        "Scores translations against references, line i against line i of each reference. BLEU, chrF2, chrF2++ and TER\n"
        "are those of sacreBLEU 2.6. BLEU comes from sums over the whole text and depends on how words are cut: 13a for\n"
        "text as people write it, none for text\n"
        "that is tokenised already, as that of the papers on Multi30k. The signature below the table names all that a\n"
        "score depends on.\n"
        "\n"
        "Each further system is compared with the first by paired bootstrap (Koehn 2004): all are scored on the same\n"
        "resamples of the lines, which Trotter's own random numbers draw. p is that of sacreBLEU's --paired-bs, for\n"
        "comparison with others: it is below 0.05 for one in ten pairs of equal systems. 'two-sided' is below 0.05\n"
        "for one in twenty. On a thousand lines, differences below about 0.6 BLEU are noise.\n",
    .often = "reference hypothesis metrics tokenize lowercase bootstrap csv out",
    .example = "--reference test.de --hypothesis test.out --tokenize none",
    .faster = "lower --bootstrap, no ter",
    .groups = groups,
    .kinds = KINDS(
        {.command = "bleu",
         .title = "Scores of translations",
         .about = "Corpus BLEU, chrF2 and TER of translations against references. Differences are "
                  "against the first system, on the same resampled lines.",
         .table =
             {{"bleu", columns,
               "Scores. In brackets 95 % intervals over resamples of the lines (paired bootstrap).",
               KIND_ALL}}}),
    .run = run,
};
