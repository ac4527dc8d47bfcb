/* translations_published.c: lists the papers' figures of encoders with decoders, with ours beside them where the corpus
 * and the pair of schemes are the row's and the metric is BLEU. Rows that are not run here are listed with the reason.
 * WMT'14 has 4.5 million pairs, on which two cores would train a base model in months. The texts of IWSLT'14 and
 * CNN/DailyMail are not available to this project, and NUCLE, on which corrections are trained and scored, has a
 * licence. `trotter bleu --metrics rouge` and `trotter m2` compute their metrics.
 *
 * Source: Lu et al. 2019 (Macaron), table 1, whose figures of the Transformer come from others; Press, Smith, Levy 2020
 * (Sandwich), table 6; Li et al. 2022 (ODE Transformer), tables 1 and 4, whose RK2-block of table 4 is the gated one by
 * its program's README; Wu et al. 2021 ("Good for Misconceived Reasons"); Yao and Wan 2020. */
#include <math.h>
#include <string.h>

#include "kernels/error.h"
#include "studies/compare/translations.h"
#include "studies/tools/output.h"

#define WMT_LARGE "not run: 4.5 million pairs"
#define FR_LARGE "not run: 36 million pairs"
#define ABSENT "not run: its text is not at hand"
#define LICENSED "not run: its text is licensed"
#define ODE_TABLE_1 "ODE Transformer (Li et al. 2022), table 1", "base, 6 + 6 layers"
#define ODE_TABLE_4 "ODE Transformer (Li et al. 2022), table 4", "base"
#define BLEU "BLEU"
#define MACARON_ROW(row, encoder, decoder, corpus, size, bleu, reason)                        \
    {                                                                                         \
        "Macaron (Lu et al. 2019), table 1", row, encoder, decoder, corpus, size, BLEU, bleu, \
            reason                                                                            \
    }
#define SANDWICH_ROW(row, encoder, decoder, bleu)                                      \
    {                                                                                  \
        "Sandwich (Press et al. 2020), table 6", row, encoder, decoder, "WMT14 En-De", \
            "big, 6 + 6 layers", BLEU, bleu, WMT_LARGE                                 \
    }
#define ODE_ROW(...) ODE_ROW_OF(__VA_ARGS__)
#define ODE_ROW_OF(table, size, row, encoder, corpus, metric, figure, reason)            \
    {                                                                                    \
        table, row, encoder, "transformer-decoder", corpus, size, metric, figure, reason \
    }
#define ODE_ROWS(row, encoder, german, french)                                  \
    ODE_ROW(ODE_TABLE_1, row, encoder, "WMT14 En-De", BLEU, german, WMT_LARGE), \
        ODE_ROW(ODE_TABLE_1, row, encoder, "WMT14 En-Fr", BLEU, french, FR_LARGE)
#define CNN "CNN/DailyMail"
#define ODE_OTHER_ROWS(row, encoder, rouge_1, rouge_2, rouge_l, f)           \
    ODE_ROW(ODE_TABLE_4, row, encoder, CNN, "ROUGE-1", rouge_1, ABSENT),     \
        ODE_ROW(ODE_TABLE_4, row, encoder, CNN, "ROUGE-2", rouge_2, ABSENT), \
        ODE_ROW(ODE_TABLE_4, row, encoder, CNN, "ROUGE-L", rouge_l, ABSENT), \
        ODE_ROW(ODE_TABLE_4, row, encoder, "CoNLL-2014", "M2 F0.5", f, LICENSED)
#define MULTI30K "Multi30k En-De, test2016"

typedef struct {
    const char *source, *row;
    const char *encoder, *decoder; /* our schemes of that map; a word is one layer; NULL: none */
    const char *corpus, *size, *metric;
    double figure;
    const char *reason; /* why it is not run; NULL: it can be */
} Figure;

static const Figure figures[] = {
    {"Wu et al. 2021", "Transformer-tiny, text alone", "transformer", "transformer-decoder",
     MULTI30K, "d 128, 4 + 4 layers", BLEU, 41.02, NULL},
    {"Wu et al. 2021", "the better one with images", NULL, NULL, MULTI30K, "d 128, 4 + 4 layers",
     BLEU, 41.96, "not run: it reads images"},
    {"Yao and Wan 2020", "Transformer, text alone", "transformer", "transformer-decoder", MULTI30K,
     "not told here", BLEU, 38.7, NULL},
    MACARON_ROW("Transformer", "transformer", "transformer-decoder", "IWSLT14 De-En", "small", 34.4,
                ABSENT),
    MACARON_ROW("Macaron Net", "macaron", "macaron-decoder", "IWSLT14 De-En", "small", 35.4,
                ABSENT),
    MACARON_ROW("Transformer", "transformer", "transformer-decoder", "WMT14 En-De", "base", 27.3,
                WMT_LARGE),
    MACARON_ROW("Macaron Net", "macaron", "macaron-decoder", "WMT14 En-De", "base", 28.9,
                WMT_LARGE),
    MACARON_ROW("Transformer", "transformer", "transformer-decoder", "WMT14 En-De", "big", 28.4,
                WMT_LARGE),
    MACARON_ROW("Macaron Net", "macaron", "macaron-decoder", "WMT14 En-De", "big", 30.2, WMT_LARGE),
    SANDWICH_ROW("baseline, 5 seeds, +- 0.15", "transformer", "transformer-decoder", 28.74),
    SANDWICH_ROW("encoder, k = 1", "sandwich:6-1", "transformer-decoder", 28.71),
    SANDWICH_ROW("encoder, k = 2", "sandwich:6-2", "transformer-decoder", 28.71),
    SANDWICH_ROW("encoder, k = 3", "sandwich:6-3", "transformer-decoder", 28.81),
    SANDWICH_ROW("encoder, k = 4", "sandwich:6-4", "transformer-decoder", 28.48),
    SANDWICH_ROW("encoder, k = 5", "sandwich:6-5", "transformer-decoder", 28.45),
    SANDWICH_ROW("decoder, k = 1", "transformer", "sandwich:6-1-decoder", 28.64),
    SANDWICH_ROW("decoder, k = 2", "transformer", "sandwich:6-2-decoder", 28.56),
    SANDWICH_ROW("decoder, k = 3", "transformer", "sandwich:6-3-decoder", 28.67),
    SANDWICH_ROW("decoder, k = 4", "transformer", "sandwich:6-4-decoder", 28.66),
    SANDWICH_ROW("decoder, k = 5", "transformer", "sandwich:6-5-decoder", 28.76),
    ODE_ROWS("Residual-block", "transformer", 27.89, 41.05),
    ODE_ROWS("RK2-block", "heun-layer", 28.67, 42.08),
    ODE_ROWS("RK2-block (learnable gamma_i)", "rk2-gate", 28.89, 42.31),
    ODE_ROWS("RK4-block", "rk4-layer", 29.03, 42.56),
    ODE_OTHER_ROWS("Residual-block", "transformer", 40.47, 17.73, 37.29, 55.61),
    ODE_OTHER_ROWS("RK2-block", "rk2-gate", 41.58, 18.57, 38.41, 57.49),
    ODE_OTHER_ROWS("RK4-block", "rk4-layer", 41.83, 18.84, 38.68, 57.71),
};

typedef struct {
    const char *source, *row, *corpus, *size, *metric;
    double paper;
    const char *ours_name;
    Interval ours;
    const char *note;
} Beside;

const Column translation_published[] = {
    COLUMN(Beside, source, .page = 1, .words = "paper"),
    COLUMN(Beside, row, .page = 1),
    COLUMN(Beside, corpus, .page = 1),
    COLUMN(Beside, size, .page = 1, .words = "size of the paper's model"),
    COLUMN(Beside, metric, .page = 1, .words = "metric of the figures"),
    COLUMN(Beside, paper, .form = SHEET_FIXED, .digits = 2, .page = 1,
           .words = "figure of the paper"),
    FIELD(Beside, "ours_pair", ours_name, .page = 1, .words = "our pair of schemes"),
    FIELD(Beside, "ours", ours.mean, .form = SHEET_FIXED, .digits = 2, .low = "ours_low",
          .high = "ours_high", .page = 1, .words = "figure of our pair, mean over seeds"),
    FIELD(Beside, "ours_low", ours.low, .words = STATISTICS_POSITIVE_LOW),
    FIELD(Beside, "ours_high", ours.high),
    COLUMN(Beside, note, .page = 1, .words = "why we do not run it, or what differs"),
    {0}};

/* Returns 1 for Multi30k's English and German, known by their sizes (Elliott et al. 2016). */
static int is_multi30k(const Translations *u)
{
    static const size_t lines[SPLITS] = {29000, 1014, 1000};
    const char *to = options_text(u->options, "target");
    if (u->metric.tokenize != TOKENIZE_NONE) return 0; /* theirs are of the text as it is cut */
    for (int s = 0; s < SPLITS; s++)
        if (u->corpus.text[s].lines + (s ? 0 : u->corpus.left_out) != lines[s]) return 0;
    return to && strcmp(to, "de") == 0;
}

/* Returns our design of the figure's pair; NULL: it is not run here. */
static const RunDesign *find_ours(const Translations *u, const Figure *f)
{
    for (size_t i = 0; i < u->cells && f->encoder && !f->reason; i++) {
        size_t at = runtable_find(&u->pairs, 0, u->cell[i].name);
        if (strcmp(u->cell[i].encoder->name, f->encoder) == 0 &&
            strcmp(u->cell[i].decoder->name, f->decoder) == 0 && at < u->pairs.designs)
            return &u->pairs.design[at];
    }
    return NULL;
}

int translations_published(const Translations *u)
{
    Sheet *s;
    TRY(sheet_new(translation_published, &s));
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const Figure *f = &figures[i];
        const RunDesign *ours = is_multi30k(u) ? find_ours(u, f) : NULL;
        sheet_row(s,
                  &(Beside){f->source, f->row, f->corpus, f->size, f->metric, f->figure,
                            ours ? ours->name : NULL,
                            ours ? ours->mean[1] : (Interval){0, NAN, NAN, NAN, NAN, NAN},
                            f->reason ? f->reason
                            : ours ? "another recipe and size unless they are told to be the same"
                                   : "not in this comparison"});
    }
    int code = output_sheet(s, SHEET_CSV, u->dir, "published.csv");
    sheet_free(s);
    return code;
}
