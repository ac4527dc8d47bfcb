/* command_sweep.c: trains language models that are words over {s, f}, and prints orders and counts of sublayers,
 * splitting errors and perplexities. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/model/network.h"
#include "studies/plot/plot.h"
#include "studies/runs/published.h"
#include "studies/sweep/sweep.h"
#include "studies/tools/command.h"
#include "studies/tools/progress.h"

static const Option word_options[] = {
    {"pairs", OPTION_SIZE, "4", "N",
     "the interleaved word, permutations and sandwiches have N letters s and N letters f; random "
     "words have as many numbers",
     1, ZOO_LETTERS / 2},
    {"interleaved", OPTION_FLAG, NULL, NULL, "train the baseline (sf)^N with every seed of --seeds",
     0, 0},
    {"permutations", OPTION_SIZE, "0", "K", "train K different random orders of N s and N f", 0,
     100000},
    {"random", OPTION_SIZE, "0", "K",
     "train K different random words with as many numbers as the baseline", 0, 100000},
    {"sandwiches", OPTION_FLAG, NULL, NULL, "train s^k (sf)^(N-k) f^k for k = 0 .. N-1", 0, 0},
    {"words", OPTION_TEXT, NULL, "ssff,sfsf,...", "train these words with every seed of --seeds", 0,
     0},
    {"word-seed", OPTION_SIZE, "1", "N", "seed that words are drawn from", 0, 1e18},
    {"seeds", OPTION_SIZE, "5", "N",
     "trainings of the baseline and of --words, with seeds --seed and the next", 1, 1000},
    {"family-seeds", OPTION_SIZE, "1", "N",
     "trainings of each permutation, random word and sandwich, with the first of these seeds", 1,
     1000},
    {"confirm", OPTION_FLAG, NULL, NULL,
     "train the sandwich that is best on validation with every seed of --seeds", 0, 0},
    {0},
};

static const Option statistics_options[] = {
    {"all-pairs", OPTION_FLAG, NULL, NULL,
     "also show differences of all pairs of words, with Tukey's correction", 0, 0},
    {0},
};

static const Option output_options[] = {
    {"out", OPTION_TEXT, "out/sweep", "DIR",
     "write runs.csv, words.csv, differences.csv, correlations.csv, halves.csv, sweep.md, plots, "
     "study.log, the source papers' figures beside ours (published.csv, .md, .tex) where the "
     "papers have some, and each run under DIR/runs",
     0, 0},
    PLOT_FIGURE,
    {"csv", OPTION_FLAG, NULL, NULL, "print one row per run as CSV", 0, 0},
    {"config", OPTION_TEXT, NULL, "FILE",
     "read options from a file like DIR/config.ini; the command line overrides it", 0, 0},
    {0},
};

static const OptionGroup word_group = {"Words", 1, word_options};
static const OptionGroup statistics_group = {"Statistics", 0, statistics_options};
static const OptionGroup output_group = {"Output", 0, output_options};
static const OptionGroup *const groups[] = {&word_group,
                                            &network_text_group,
                                            &network_depth_group,
                                            &network_model_group,
                                            &network_training_group,
                                            &network_seed_group,
                                            &network_machine_group,
                                            &network_limit_group,
                                            &statistics_group,
                                            &output_group,
                                            NULL};

static int open_study(Sweep *u)
{
    const Options *o = u->options;
    TRY(network_check(o));
    TRY(zoo_open(&u->zoo));
    TRY(sweep_words(u));
    TRY(network_corpus(o, 0, &u->corpus));
    TRY(network_language(o, &u->corpus));
    TRY(network_adaptive(o, &u->corpus));
    TRY(sweep_check(u));
    TRY(runs_warmup(u->options, groups, u->dir));
    TRY(network_warmup(u->options, &u->corpus));
    TRY(output_directory(u->dir));
    u->runs = (Runs){.options = o, .corpus = &u->corpus, .dir = u->dir, .who = u->worker.name};
    TRY(runs_same_study(&u->runs, groups));
    TRY(runs_open(&u->runs));
    runs_note(&u->runs, "begins: %zu words", u->words);
    return 0;
}

static int save(void *study)
{
    Sweep *u = study;
    TRY(sweep_record(u));
    TRY(sweep_tables(u));
    TRY(sweep_save(u));
    return sweep_plots(u);
}

/* Gives the verdict as compare does, but words that are no better than word frequencies are part of the answer
 * while others are better. */
static int verdict(const Sweep *u)
{
    const RunTable *t = &u->table;
    const Unigram unigram = runs_unigram(&u->corpus);
    char names[512] = "";
    size_t n = 0, better = 0;
    for (size_t i = 0; i < t->designs; i++) {
        const RunDesign *d = &t->design[i];
        int beats = runs_beats_unigram(d->mean[0].mean, d->mean[1].mean, &unigram);
        better += (size_t)beats;
        if (beats || n >= sizeof names) continue;
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? "; " : "", d->name);
    }
    const char *word = network_unit(&u->corpus.vocab)->word;
    if (n && better) notice_warn("no better than %s frequencies: %s", word, names);
    return tasks_verdict(u->failed, word, better ? "" : names);
}

static int study(Sweep *u)
{
    TRY(open_study(u));
    TRY(sweep_train(u, u->worker.leader));
    if (!tasks_write_tables(u->worker.leader)) return 0;
    TRY(tasks_save_tables(&u->runs, save, u));
    if (!u->wide) TRY(sweep_tables(u)); /* another process has written the files */
    TRY(sweep_show(u));
    return verdict(u);
}

static void close_study(Sweep *u)
{
    sweep_words_free(u);
    Sheet *const sheets[] = {u->wide,    u->brief,  u->differences, u->correlations,
                             u->related, u->halves, u->sandwiches,  u->plotted};
    for (size_t i = 0; i < sizeof sheets / sizeof *sheets; i++) sheet_free(sheets[i]);
    for (size_t i = 0; i < sizeof u->own / sizeof *u->own; i++) memory_free(u->own[i]);
    runtable_close(&u->table);
    runs_close(&u->runs);
    corpus_free(&u->corpus);
    zoo_close(&u->zoo);
}

static int run(Options *o)
{
    if (options_text(o, "config")) TRY(options_read(o, options_text(o, "config")));
    Sweep u = {.options = o,
               .dir = options_text(o, "out"),
               .worker = worker_find(),
               .corpus.entropy_rate = NAN,
               .seed = options_size(o, "seed")};
    int code = study(&u);
    close_study(&u);
    return code;
}

static const Kind kinds[] = {
    {.command = "sweep",
     .title = "Words of sublayers",
     .about =
         "The layer of each language model is a word over s (attention, $F$) and f "
         "(feed-forward, $G$). Each letter is a sublayer of weight 1 with its own parameters. "
         "The area between a word's path and its chord is the coefficient of $[F,G] = G'F − F'G$ "
         "in the splitting error; it is positive where s comes first. The interleaved word is "
         "the baseline.",
     .words = "sweep.md",
     .table = {{"words", sweep_word_columns,
                "Words, their splitting errors, and perplexities over seeds.", KIND_MANY},
               {"differences", runtable_differences,
                "Differences of words, with 95 % intervals that hold together as told.", KIND_MANY},
               {"correlations", runtable_correlations,
                "Rank correlations (Spearman) over words. Brackets hold 95 % bootstrap intervals "
                "over 7 words or more.",
                KIND_ALL},
               {"halves", sweep_half_columns,
                "Sublayers in the bottom and top half of words that are better than the baseline "
                "and of words that are not.",
                KIND_ALL},
               {"runs", sweep_run_columns, "Trainings", 0},
               {"families", sweep_family_columns, "Trainings by family, as drawn", 0},
               {"sandwich", sweep_sandwich_columns, "Sandwiches, as drawn", 0},
               PUBLISHED_TABLE(published_words)},
     .plot = {{"permutations",
               "Validation perplexities of random permutations beside the baseline's."},
              {"random", "Validation perplexities of random words of equal parameters beside the "
                         "baseline's."},
              {"halves", "Sublayers in the bottom and top half of better and other words."},
              {"sandwich", "Perplexity against the sandwich coefficient k."},
              {"seeds", "Validation perplexity by seed."},
              {"area", "Validation perplexity against signed area."},
              PUBLISHED_PLOT}},
    {0}};

const Command command_sweep = {
    .name = "sweep",
    .purpose = "train words of attention and feed-forward sublayers",
    .about =
        "Trains language models that are words over {s, f}; s is an attention sublayer and f a feed-forward\n"
        "sublayer. Beside each word it shows the signed area (the coefficient of [F,G]) and the leading\n"
        "error of the splitting that the word stands for (Press, Smith, Levy 2020, sections 3 and 4; --out\n"
        "writes their figures 2 to 6). Rank correlations show whether splitting accuracy\n"
        "goes with perplexity.\n"
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
        "Exit status 1: no word is better than the frequencies of words, or a run failed.\n",
    .often = "pairs permutations random sandwiches words seeds corpus width epochs device out",
    .example = "--pairs 4 --permutations 8 --sandwiches --out out/sweep",
    .groups = groups,
    .saves = 1,
    .kinds = kinds,
    .run = run,
};
