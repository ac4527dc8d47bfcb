/* command_sweep.c: trains language models that are words over {s, f}, and prints orders and counts of sublayers,
 * splitting errors and perplexities. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/tools/command.h"
#include "studies/tools/plot.h"
#include "studies/model/network.h"
#include "studies/runs/published.h"
#include "studies/tools/progress.h"
#include "studies/sweep/sweep.h"

static const Option word_options[] = {
    {"pairs", OPTION_SIZE, "4", "N",
     "the interleaved word has N letters s and N letters f; so have permutations and sandwiches, "
     "and random words as many numbers",
     1, ZOO_LETTERS / 2},
    {"interleaved", OPTION_FLAG, NULL, NULL, "the baseline (sf)^N, with every seed of --seeds", 0,
     0},
    {"permutations", OPTION_SIZE, "0", "K", "K different random orders of N s and N f", 0, 100000},
    {"random", OPTION_SIZE, "0", "K", "K different random words of the baseline's numbers", 0,
     100000},
    {"sandwiches", OPTION_FLAG, NULL, NULL, "s^k (sf)^(N-k) f^k for k = 0 .. N-1", 0, 0},
    {"words", OPTION_TEXT, NULL, "ssff,sfsf,...", "words by hand, with every seed of --seeds", 0,
     0},
    {"word-seed", OPTION_SIZE, "1", "N", "of the draw of words", 0, 1e18},
    {"seeds", OPTION_SIZE, "5", "N",
     "trainings of the baseline and of --words, with seeds --seed and the next", 1, 1000},
    {"family-seeds", OPTION_SIZE, "1", "N",
     "trainings of each permutation, random word and sandwich, with the first of these seeds", 1,
     1000},
    {"confirm", OPTION_FLAG, NULL, NULL,
     "train the sandwich that is best on validation with every seed of --seeds", 0, 0},
    {"from", OPTION_LIST, NULL, "DIR",
     "train nothing: tables and plots of the runs in DIR/sweep.csv; all other options as the runs "
     "were trained with",
     0, 0},
    {0},
};

static const Option output_options[] = {
    {"out", OPTION_TEXT, "out/sweep", "DIR",
     "write sweep.csv (runs), words.csv, differences.csv, correlations.csv, halves.csv, permutations and random "
     "(ranked), sweep.md, plots, study.log, the source papers' figures beside these "
     "(published.csv, .md, .tex) where they have some, and each run under DIR/runs",
     0, 0},
    PLOT_FIGURE,
    {"csv", OPTION_FLAG, NULL, NULL, "a row a run as CSV", 0, 0},
    {"config", OPTION_TEXT, NULL, "FILE",
     "options from a file, as DIR/config.ini; the command line overrides it", 0, 0},
    {0},
};

static const OptionGroup word_group = {"Words", 1, word_options};
static const OptionGroup output_group = {"Output", 0, output_options};
static const OptionGroup *const groups[] = {&word_group,
                                            &network_text_group,
                                            &network_depth_group,
                                            &network_model_group,
                                            &network_training_group,
                                            &network_seed_group,
                                            &network_machine_group,
                                            &network_limit_group,
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
    TRY(output_directory(u->dir));
    u->runs = (Runs){.options = o, .corpus = &u->corpus, .dir = u->dir, .who = u->worker.name};
    TRY(runs_same_study(&u->runs, groups));
    if (!sweep_recorded(u)) TRY(runs_open(&u->runs));
    if (u->worker.leader) TRY(tasks_save_config(&u->runs, "sweep"));
    runs_note(&u->runs, "begins: %zu words", u->words);
    return 0;
}

static int save(void *study)
{
    const Sweep *u = study;
    TRY(sweep_save(u));
    return sweep_plots(u);
}

/* Gives the verdict as compare does, but words that are no better than word frequencies are part of the answer
 * while others are better. */
static int verdict(const Sweep *u)
{
    const Unigram unigram = runs_unigram(&u->corpus);
    char names[512] = "";
    size_t n = 0, better = 0;
    for (size_t i = 0; i < u->words; i++) {
        const Word *w = &u->word[i];
        int beats = runs_beats_unigram(w->valid.mean, w->test.mean, &unigram);
        better += (size_t)beats;
        if (w->valid.n == 0 || beats || n >= sizeof names) continue;
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? "; " : "", w->letters);
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
    TRY(sweep_tables(u));
    TRY(sweep_show(u));
    TRY(tasks_save_tables(&u->runs, save, u));
    return verdict(u);
}

static void close_study(Sweep *u)
{
    sweep_words_free(u);
    sheet_free(u->runs_table);
    sheet_free(u->wide);
    sheet_free(u->brief);
    sheet_free(u->differences);
    sheet_free(u->correlations);
    sheet_free(u->related);
    sheet_free(u->sandwiches);
    sheet_free(u->halves);
    sheet_free(u->plotted);
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
         "Language models whose layer is a word over s (attention, $F$) and f (feed-forward, "
         "$G$), each letter a sublayer of weight 1 with parameters of its own. The area between "
         "a word's path and its chord is the coefficient of $[F,G] = G'F − F'G$ in the "
         "splitting error, positive where s comes first. The interleaved word is the "
         "baseline.",
     .words = "sweep.md",
     .table = {{"words", sweep_word_columns,
                "Words, their splitting errors, and perplexities over seeds.", KIND_MANY},
               {"differences", sweep_difference_columns,
                "Perplexities less the interleaved word's. In brackets 95 % intervals.", KIND_MANY},
               {"correlations", sweep_correlation_columns,
                "Rank correlations (Spearman) over words. In brackets 95 % bootstrap intervals, of "
                "7 words or more.",
                KIND_ALL},
               {"halves", sweep_half_columns,
                "Sublayers in the bottom and top half of words better and not better than the "
                "baseline.",
                KIND_ALL},
               {"sweep", sweep_run_columns, "Trainings", 0},
               {"families", sweep_family_columns, "Trainings by family, as drawn", 0},
               {"permutations", sweep_ranked_columns, "Permutations and the baseline by perplexity",
                0},
               {"random", sweep_ranked_columns, "Random words and the baseline by perplexity", 0},
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
    .purpose = "words of attention and feed-forward sublayers: order, counts, perplexity",
    .about =
        "Trains language models that are words over {s, f}, s an attention and f a feed-forward "
        "sublayer, and\n"
        "tells beside each word its signed area (the coefficient of [F,G]) and the leading error "
        "of the\n"
        "splitting it stands for (Press, Smith, Levy 2020, sections 3 and 4; their tables 1 and 2 "
        "and figures\n"
        "2 to 6 under --out); rank correlations tell whether splitting accuracy goes with "
        "perplexity.\n"
        "Words are drawn from --word-seed alone, by the counter-based generator; one that was "
        "drawn before is\n"
        "dropped, so that the first K of a longer list are those of a shorter one. A random word "
        "is drawn\n"
        "letter by letter, s and f as likely, until its matrices (4 d^2 numbers an s, 2 d M an f) "
        "have as many\n"
        "numbers as the baseline's; a draw that misses them is dropped. A word that is asked for "
        "in two ways\n"
        "is one model.\n"
        "Each training is a 'trotter train' of its own under DIR/runs (scheme word:LETTERS:euler; "
        "--layers repeats\n"
        "the word); given again, the command reads finished runs and goes on with stopped ones. "
        "Several\n"
        "processes given the same command share the runs, each trained once; started by mpirun, "
        "srun or as a\n"
        "Slurm array only the first one writes tables. Attention distances between its models: "
        "'trotter\n"
        "attention'.\n"
        "Exit status 1: no word is better than the frequencies of words, or a run failed.\n",
    .groups = groups,
    .saves = 1,
    .kinds = kinds,
    .run = run,
};
