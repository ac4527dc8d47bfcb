/* command_compare.c: the main command. For every scheme it gives the exact order, the order measured on a
 * particle system, and the perplexity of the language model built from it, over seeds and depths. */
#include <string.h>

#include "studies/lab/compare/compare.h"
#include "studies/model/translator.h"
#include "studies/base/plot/plot.h"
#include "studies/lab/study/measures.h"
#include "studies/base/command.h"

static const OptionGroup *const groups[] = {
    OPTION_GROUP(
        "Schemes", 1,
        {"scheme", OPTION_TEXT,
         "euler,transformer,macaron,strang-marchuk:heun,heun-layer,rk4-layer", "A,B,...",
         "names separated by commas, or all"},
        SELECT_FILE,
        {"pair", OPTION_TEXT,
         "transformer/transformer,macaron/macaron,rk2-gate/transformer,rk4-layer/transformer,"
         "looped:2/transformer,repeat:2/transformer,transformer/strang-decoder",
         "A/B,...",
         "for a corpus of pairs, instead of --scheme: ENCODER/DECODER; the first pair is the "
         "baseline; NAME@LAYERS sets the layers of a side"},
        {"controls", OPTION_FLAG, NULL, NULL,
         "add looped:N and repeat:N, controls of equal evaluations, for every scheme with N F and N G"},
        {"by-depth", OPTION_FLAG, NULL, NULL,
         "also show how each scheme's gain over the baseline changes with --layers: slopes on log layers, "
         "and a plot"},
        {"baseline", OPTION_TEXT, NULL, "NAME",
         "show differences from this scheme (default: transformer, else the first)"},
        {"system", OPTION_TEXT, NULL, "P",
         "particle system of the measured orders (default: as 'trotter order --systems' marks)"},
        {"system-file", OPTION_TEXT, NULL, "FILE",
         "your own particle system ('trotter order --help all' shows the form)"},
        {"vary", OPTION_LIST, NULL, "OPTION=A,B,...",
         "train each scheme with each of these values of an option of the model or of training, as width=64,128; "
         "given several times, with all combinations. A design is then called 'heun width=64', in double quotes in "
         "--contrast; 'trotter table DIR/runs.csv --design integrator,width' takes schemes and values apart"},
        {"seeds", OPTION_SIZE, "3", "N", "trainings of each scheme, with seeds --seed and the next",
         1, 1000}),
    OPTION_GROUP("Truncation error", 1, STUDY_TRUNCATION("16")),
    &study_tune_group,
    &network_text_group,
    OPTION_GROUP("Model", 1,
                 {"layers", OPTION_SIZES, "1", "L,...",
                  "blocks, each one step of the scheme; each number has its own row", 1,
                  NETWORK_LAYERS}),
    &network_model_group,
    &network_training_group,
    &network_seed_group,
    &network_machine_group,
    &translator_group,
    OPTION_GROUP(
        "Translations", 1,
        {"tokenize", OPTION_CHOICE, "none", TOKENIZE_NAMES,
         "how BLEU finds words, for a corpus of pairs; none: the text is tokenised already"}),
    &study_statistics_group,
    OPTION_GROUP(
        "Output", 0,
        {"out", OPTION_TEXT, "out/compare", "DIR",
         "write runs.csv, compare.csv, .md, .tex, differences, correlations, curves, plots, study.log, "
         "and each run under DIR/runs"},
        STUDY_OUTPUT),
    NULL};

static int has_pairs(const Options *o, const Corpus *c)
{
    (void)o;
    return c->source[SPLIT_TRAIN].tokens > 0;
}

static int verdict(const Study *u)
{
    const ConvergenceStudy *orders = &compare_of(u)->orders;
    size_t disagree = convergence_disagree(orders);
    if (disagree)
        return error_set(ERR_CHECK,
                         "%zu schemes disagree with their exact order or error constant on %s",
                         disagree, orders->system->name);
    return 0;
}

static int by_depth(const Options *o, const Corpus *c)
{
    (void)c;
    return options_flag(o, "by-depth");
}

/* How runs.csv is read: of schemes, of pairs. */
static const RunColumns schemes_read = {
    .design = "scheme",
    .seed = "seed",
    .by = "layers",
    .measure = {
        {"valid_ppl", "valid", "validation", .positive = 1, .axis = "validation perplexity"},
        {"test_ppl", "test", "test", .positive = 1, .axis = "test perplexity"}}};
static const RunColumns pairs_read = {
    .design = "pair",
    .seed = "seed",
    .measure = {{"valid_ppl", "valid", "validation perplexity", .positive = 1},
                {"test_bleu", "test_bleu", "test BLEU", .positive = 1}}};

/* What comparisons of schemes share. */
#define SCHEMES                                                                                   \
    .command = "compare", .design_bytes = sizeof(CompareDesign), .study_bytes = sizeof(Compare),  \
    .begin = compare_begin, .close = compare_close, .drop = compare_drop, .asked = &schemes_read, \
    .runs = compare_run_names, .fill = compare_fill, .bounds = 1, .name = "compare",              \
    .columns = compare_columns, .more = compare_more, .relations = compare_relations,             \
    .caption = compare_caption, .apart = &by_evaluations, .scatter = &against_error,              \
    .verdict = verdict
#define CURVES                                  \
    {                                           \
        "curves", curve_columns, compare_curves \
    }

static const RunForest by_evaluations = {"evaluations", "evaluations of F and G a layer",
                                         "evaluations"};
static const RunScatter against_error = {"truncation",
                                         "truncation",
                                         "truncation error",
                                         "truncation error at h = 1 / exact displacement",
                                         PLOT_LOG_X,
                                         .colours = "evaluations",
                                         .colours_words = "evaluations of F and G"};
static const RunScatter against_encoder = {"truncation", "encoder_error",
                                           "the encoder's truncation error",
                                           "truncation error of the encoder's layers", PLOT_LOG_X};

static const StudyKind studies[] = {
    {.command = "compare",
     .is = has_pairs,
     .pairs = 1,
     .design_bytes = sizeof(PairDesign),
     .study_bytes = 1,
     .open = pair_open,
     .drop = pair_drop,
     .asked = &pairs_read,
     .runs = pair_run_names,
     .fill = pair_fill,
     .name = "compare",
     .columns = pair_columns,
     .draw = pair_draw,
     .caption = pair_caption,
     .shown = 1,
     .scatter = &against_encoder},
    {SCHEMES, .is = by_depth, .open = compare_open_depth,
     .also =
         {CURVES,
          {"depth", depth_columns, compare_depth,
           "Slope of log perplexity less the baseline's on log layers, seeds paired, with 95 % intervals "
           "(Student's t).\nAbove 0 a scheme's gain shrinks with depth. Where lack p is small, the depths do "
           "not lie on the line.\n"}},
     .save = compare_save_depth},
    {SCHEMES, .open = compare_open, .also = {CURVES}, .save = compare_save}};

static int run(Options *o)
{
    return study_run(studies, groups, o);
}

/* Adds the names of the schemes in whose row `column` is `word`. */
static void name_rows(const Frame *c, const char *column, const char *word, const char *what,
                      Verdict *v)
{
    size_t n = 0;
    for (size_t i = 0; i < c->rows; i++) {
        if (!*frame_text(c, i, "layers") || strcmp(frame_text(c, i, column), word) != 0) continue;
        verdict_say(v, "%s%.80s", n++ ? ", " : what, frame_text(c, i, "scheme"));
    }
    if (n) verdict_say(v, "; ");
    v->bad |= n > 0;
}

static void judge(const Frame *c, Verdict *v)
{
    name_rows(c, "valid_ppl", "", "without a finished run: ", v);
    name_rows(c, "beats_unigram", "no", "no better than the unigram, so not to be compared: ", v);
    name_rows(c, "verdict", "disagree", "not of their exact order on the particle system: ", v);
    if (!v->bad && frame_column(c, "beats_unigram") >= 0)
        verdict_say(v, "every model predicts better than the unigram; no scheme disagrees "
                       "with its exact order");
    verdict_end(v);
}

const Command command_compare = {
    .name = "compare",
    .purpose = "compare schemes: order, measured order, perplexity, cost",
    .about =
        "For every scheme the command shows its exact order, its order measured on a particle system, and\n"
        "its evaluations. It trains language models with the scheme over several seeds and depths, and\n"
        "shows their perplexities with intervals, differences from a baseline, speed and memory.\n"
        "\n"
        "All differences share one standard deviation, pooled over all designs (Bartlett's test tells whether\n"
        "that is tenable); seeds are paired where that helps. They are corrected for their number (Dunnett;\n"
        "--all-pairs: Tukey). Rank correlations of perplexity run over all designs; equal maps count once.\n"
        "Splittings without suffix have Euler sub-flows everywhere.\n"
        "\n"
        "Each training is one 'trotter train' under DIR/runs. Given again, the command reads finished runs\n"
        "and continues stopped ones; a run that has a row in DIR/runs.csv and no folder is finished, so that\n"
        "this file alone makes tables and plots again. Several processes with the same command share the runs, and each run\n"
        "is trained once. Under mpirun, srun or a Slurm array only the first one writes tables.\n"
        "\n"
        "On a corpus of pairs (--source en --target de) it compares pairs of schemes (--pair), an encoder's\n"
        "and a decoder's: exact order of each, truncation errors of both sides, validation perplexity, BLEU\n"
        "and chrF2 of the test text by beam search. Differences of test BLEU from the first pair have two\n"
        "intervals, over seeds and over drawn test sentences (Koehn 2004); the others one, over seeds. A run\n"
        "that has a row in DIR/runs.csv and its lines in DIR/lines.csv, and no folder, is finished, so that\n"
        "these two files make the tables again.\n"
        "\n"
        "Exit status 1: a run diverged or failed, or a scheme disagrees with its exact order or error constant\n"
        "on the particle system. Models that are no better than the frequencies of words are named in a warning.\n",
    .often = "scheme controls baseline seeds corpus layers width epochs tune explain device out",
    .example = "--scheme transformer,macaron --seeds 5 --out out/compare",
    .faster = "fewer --scheme, --seeds, --epochs",
    .groups = groups,
    .kinds = KINDS(
        {.command = "compare",
         .title = "Comparison of schemes",
         .about = "Shows what a scheme's text says beside what training says: exact order, order "
                  "measured on a particle system, truncation error of the trained network, "
                  "perplexity over seeds. " KIND_ORDERS,
         .words = "compare.md",
         .runs = &schemes_read,
         .judge = judge,
         .table =
             {{"compare", compare_columns, "Schemes side by side, with 95 % intervals.", KIND_ALL},
              {"differences", runtable_differences,
               "Differences of designs, with 95 % intervals that hold together as told.", KIND_ALL},
              {"correlations", runtable_correlations,
               "Rank correlations (Spearman) of perplexity. Brackets hold 95 % bootstrap "
               "intervals over 7 or more designs.",
               KIND_ALL},
              {"depth", depth_columns,
               "Slopes of log perplexity, less the baseline's, on log layers, with 95 % intervals.",
               KIND_ALL},
              {"runs", compare_run_columns, "Trainings, and measures of each network", 0},
              {"forest", runtable_forest_columns, "Designs, as drawn", 0},
              {"truncation", runtable_scatter_columns, "Designs, as drawn", 0},
              {"curves", curve_columns, "Curves of training, means over seeds", 0}},
         .plot = {{"truncation",
                   "Perplexity against the truncation error of the trained network's own step; "
                   "a colour for each number of evaluations."},
                  {"forest", "Perplexity by evaluations of F and G a layer."},
                  {"depth", "Validation perplexity by depth, means over seeds."},
                  {"curves", "Training loss against tokens, means over seeds."},
                  {"gradients", "Norm of the gradient against steps, means over seeds."}}},
        {.command = "compare --source",
         .title = "Comparison of encoders and decoders",
         .about =
             "Compares pairs of schemes, one for the encoder and one for the decoder: exact orders, "
             "truncation errors of the trained layers, perplexity and BLEU over seeds. " KIND_ORDERS,
         .words = "compare.md",
         .runs = &pairs_read,
         .table =
             {{"compare", pair_columns,
               "Pairs of schemes side by side, with 95 % intervals over seeds.", KIND_ALL},
              {"differences", runtable_differences,
               "Differences of pairs of schemes, with 95 % intervals that hold together as told.",
               KIND_ALL},
              {"runs", pair_run_columns, "Trainings", KIND_MANY},
              {"lines", measure_lines, "Matches of each line's translation", 0},
              {"forest", runtable_forest_columns, "Pairs, as drawn", 0},
              {"truncation", runtable_scatter_columns, "Pairs, as drawn", 0}},
         .plot = {{"forest", "Mean test BLEU of every pair and its 95 % interval over seeds."},
                  {"truncation",
                   "Test BLEU against the truncation error of the trained encoder."}}}),
    .saves = 1,
    .run = run,
};
