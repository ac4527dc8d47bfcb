/* command_sweep.c: trains language models that are words over {s, f}, and prints orders and counts of sublayers,
 * splitting errors and perplexities. */
#include <math.h>

#include "studies/model/network.h"
#include "studies/base/plot/plot.h"
#include "studies/lab/sweep/sweep.h"
#include "studies/base/command.h"

static const OptionGroup *const groups[] = {
    OPTION_GROUP(
        "Words", 1,
        {"pairs", OPTION_SIZE, "4", "N",
         "the interleaved word, permutations and sandwiches have N letters s and N letters f; random "
         "words have as many numbers",
         1, ZOO_LETTERS / 2},
        {"interleaved", OPTION_FLAG, NULL, NULL,
         "train the baseline (sf)^N with every seed of --seeds"},
        {"permutations", OPTION_SIZE, "0", "K", "train K different random orders of N s and N f", 0,
         100000},
        {"random", OPTION_SIZE, "0", "K",
         "train K different random words with as many numbers as the baseline", 0, 100000},
        {"sandwiches", OPTION_FLAG, NULL, NULL, "train s^k (sf)^(N-k) f^k for k = 0 .. N-1"},
        {"words", OPTION_TEXT, NULL, "ssff,sfsf,...",
         "train these words with every seed of --seeds"},
        {"word-seed", OPTION_SIZE, "1", "N", "seed that words are drawn from", 0, 1e18},
        {"seeds", OPTION_SIZE, "5", "N",
         "trainings of the baseline and of --words, with seeds --seed and the next", 1, 1000},
        {"family-seeds", OPTION_SIZE, "1", "N",
         "trainings of each permutation, random word and sandwich, with the first of these seeds",
         1, 1000},
        {"confirm", OPTION_FLAG, NULL, NULL,
         "train the sandwich that is best on validation with every seed of --seeds"}),
    OPTION_GROUP("Truncation error", 1, STUDY_TRUNCATION("0")),
    &network_text_group,
    &network_depth_group,
    &network_model_group,
    &network_training_group,
    &network_seed_group,
    &network_machine_group,
    &study_statistics_group,
    OPTION_GROUP(
        "Output", 0,
        {"out", OPTION_TEXT, "out/sweep", "DIR",
         "write runs.csv, words.csv, differences.csv, correlations.csv, sweep.md, plots, study.log, "
         "and each run under DIR/runs"},
        STUDY_OUTPUT),
    NULL};

/* Returns the validation perplexity of a word's first run. */
static double first_ppl(const Study *u, size_t i)
{
    return study_real(u, u->design[i].run, "valid_ppl");
}

/* Finds the best sandwich by the first seed on validation, as most sandwiches have no other seed. The
 * plain interleaved word does not count. */
static size_t find_best(const Study *u)
{
    size_t best = u->designs;
    for (size_t i = 0; i < u->designs; i++) {
        double x = first_ppl(u, i);
        if (sweep_word(u, i)->k < 1 || isnan(x)) continue;
        if (best == u->designs || x < first_ppl(u, best)) best = i;
    }
    return best;
}

/* Trains every word with its seeds; then, with --confirm, the best sandwich with the seeds of the baseline. The choice needs
 * all trainings, so every process waits for them. */
static int train(Study *u)
{
    Sweep *of = u->more;
    size_t seeds = options_size(u->options, "seeds");
    int confirms = options_flag(u->options, "confirm");
    TRY(study_train(u, 0, u->worker.leader || confirms, confirms));
    of->best = find_best(u);
    StudyDesign *d = of->best < u->designs ? &u->design[of->best] : NULL;
    if (!confirms || !d || d->seeds >= seeds) return 0;
    runs_note(&u->runs,
              "%s is the best sandwich on validation (seed %zu: %.4f): trained again with %zu "
              "seeds",
              d->spec.stacks.layers->name, u->seed, first_ppl(u, of->best), seeds);
    TRY(study_seeds(u, d, seeds));
    TRY(study_take(u));
    return study_train(u, 0, u->worker.leader, 0);
}

static void drop(void *own)
{
    table_free(((SweepWord *)own)->scheme);
}

static const RunScatter against_area = {
    "area", "area",    "signed area", "signed area of [F,G], positive where s comes first",
    0,      "families"};

static const RunColumns words_read = {
    .design = "word",
    .seed = "seed",
    .measure = {
        {"valid_ppl", "valid", "validation", .positive = 1, .axis = "validation perplexity"},
        {"test_ppl", "test", "test", .positive = 1, .axis = "test perplexity"}}};

static const StudyKind studies[] = {{
    .command = "sweep",
    .design_bytes = sizeof(SweepWord),
    .study_bytes = sizeof(Sweep),
    .open = sweep_words,
    .train = train,
    .drop = drop,
    .asked = &words_read,
    .runs = sweep_run_names,
    .fill = sweep_fill,
    .mixed = 1,
    .name = "words",
    .columns = sweep_word_columns,
    .best_first = 1,
    .relations = sweep_relations,
    .groups = "families",
    .caption = sweep_caption,
    .scatter = &against_area,
}};

static int run(Options *o)
{
    return study_run(studies, groups, o);
}

const Command command_sweep = {
    .name = "sweep",
    .purpose = "train words of attention and feed-forward sublayers",
    .about =
        "Trains language models that are words over {s, f}; s is an attention sublayer and f a feed-forward\n"
        "sublayer. Beside each word it shows the signed area (the coefficient of [F,G]) and the leading\n"
        "error of the splitting that the word stands for (Press, Smith, Levy 2020, sections 3 and 4). Rank\n"
        "correlations show whether splitting accuracy goes with perplexity. The words are made of these two\n"
        "letters alone, so that there is no --scheme or --scheme-file: 'trotter compare' trains schemes.\n"
        "\n"
        "Differences from the interleaved word share one standard deviation, pooled over all words, and are\n"
        "corrected for their number (Dunnett; --all-pairs: of every two words, Tukey).\n"
        "\n"
        "The words depend on --word-seed alone, through the counter-based generator. A word that was drawn\n"
        "before is dropped, so the first K words of a longer list are those of a shorter one. A random word\n"
        "is drawn letter by letter, s and f equally likely, until its matrices (4 d^2 numbers per s, 2 d M\n"
        "per f) have as many numbers as the baseline's; a draw that misses this number is dropped. A word\n"
        "that is asked for in two ways is one model.\n"
        "\n"
        "Each training is one 'trotter train' under DIR/runs (scheme word:LETTERS:euler; --layers repeats\n"
        "the word). Given again, the command reads finished runs and continues stopped ones; a run that has a\n"
        "row in DIR/runs.csv and no folder is finished, so that this file alone makes the tables again. Several\n"
        "processes with the same command share the runs, and each run is trained once. Under mpirun, srun\n"
        "or a Slurm array only the first process writes tables. The command 'trotter attention' measures\n"
        "attention distances between the models.\n"
        "\n"
        "Exit status 1: no word is better than the frequencies of words as runs diverged, or a run failed.\n",
    .often = "pairs permutations random sandwiches words seeds corpus width epochs device out",
    .example = "--pairs 4 --permutations 8 --sandwiches --out out/sweep",
    .faster = "fewer --words, --seeds, --epochs",
    .groups = groups,
    .saves = 1,
    .kinds = KINDS(
        {.command = "sweep",
         .title = "Words of sublayers",
         .about =
             "The layer of each language model is a word over s (attention, $F$) and f "
             "(feed-forward, $G$). Each letter is a sublayer of weight 1 with its own parameters. "
             "The area between a word's path and its chord is the coefficient of $[F,G] = G'F − F'G$ "
             "in the splitting error; it is positive where s comes first. The interleaved word is "
             "the baseline.",
         .words = "sweep.md",
         .runs = &words_read,
         .table =
             {{"words", sweep_word_columns,
               "Words, their splitting errors, and perplexities over seeds.", KIND_MANY},
              {"differences", runtable_differences,
               "Differences of words, with 95 % intervals that hold together as told.", KIND_MANY},
              {"correlations", runtable_correlations,
               "Rank correlations (Spearman) over words. Brackets hold 95 % bootstrap intervals "
               "over 7 words or more.",
               KIND_ALL},
              {"runs", sweep_run_columns, "Trainings", 0},
              {"forest", runtable_forest_columns, "Words, as drawn", 0},
              {"area", runtable_scatter_columns, "Words, as drawn", 0}},
         .plot = {{"forest", "Mean validation perplexity of every word, the best first."},
                  {"area", "Validation perplexity against signed area."}}}),
    .run = run,
};
