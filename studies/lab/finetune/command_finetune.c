/* command_finetune.c: trains an encoder that was pre-trained on masked words to label sentences. */

#include "studies/lab/finetune/finetune.h"
#include "studies/base/command.h"

static const OptionGroup *const groups[] = {
    /* Paths. The column `corpus` of runs.csv is a checksum of their contents. */
    OPTION_GROUP(
        "Task", 1,
        {"model", OPTION_TEXT, NULL, "DIR",
         "directory of an encoder that 'trotter train --objective masked' trained, or of a BERT of Hugging Face",
         .flags = OPTION_MAY_DIFFER},
        {"data", OPTION_TEXT, "glue", "DIR", "GLUE's folder, which holds CoLA, SST-2 ...",
         .flags = OPTION_MAY_DIFFER},
        {"dev", OPTION_TEXT, NULL, "FILE.tsv",
         "the dev text for --task FILE.tsv (default: a tenth of FILE.tsv, which is not trained on)",
         .flags = OPTION_MAY_DIFFER}),
    OPTION_GROUP(
        NULL, 1,
        {"task", OPTION_TEXT, NULL, "NAME",
         "a task of GLUE (cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte, wnli), or a file: FILE.tsv with tabs "
         "between columns, FILE.csv, also with quotes, or FILE.jsonl with an object a line. Columns are called sentence, "
         "label, and sentence2 for pairs"},
        {"text-column", OPTION_TEXT, NULL, "NAME",
         "the column of the sentences in a file (default: sentence)"},
        {"label-column", OPTION_TEXT, NULL, "NAME",
         "the column of the labels in a file (default: label)"},
        {"values", OPTION_FLAG, NULL, NULL, "labels of FILE.tsv are numbers, not classes"},
        {"lowercase", OPTION_FLAG, NULL, NULL, "lower-case the sentences"},
        {"tokenize", OPTION_CHOICE, "none", "none|13a",
         "13a: cut the sentences into words and punctuation, for a model whose text is cut so (SST-2 is already)"}),
    OPTION_GROUP(
        "Training", 1,
        {"rates", OPTION_REALS, "1e-4,3e-4,1e-3", "X,...", "peak learning rates of the grid", 1e-12,
         100},
        {"seeds", OPTION_SIZE, "2", "N", "number of trainings with each rate", 1, 1000},
        {"seed", OPTION_SIZE, NULL, "N",
         "seed of a rate's first training; the next ones count up from it (default: 1 + --seeds * (seed of the "
         "pre-training - 1), so that encoders of other seeds have others)",
         1, 1e9},
        {"epochs", OPTION_SIZE, "4", "N", "largest number of passes over the training text", 1,
         10000},
        {"patience", OPTION_SIZE, "2", "N", "stop after N epochs without a better score; 0: never",
         0, 10000},
        {"part", OPTION_REAL, "0.1", "P",
         "share of the training text that is not trained on, but chooses rate, seed and epoch",
         0.0001, 0.9999},
        {"batch-tokens", OPTION_SIZE, "1024", "N", "largest number of tokens in a step", 3,
         1048576},
        {"sequence", OPTION_SIZE, NULL, "T",
         "longest sequence in tokens; longer ones lose their ends (default: as trained)", 3, 65536},
        {"dropout", OPTION_REAL, NULL, "P",
         "rate of dropout; rates that the pre-training set by --attention-dropout or --activation-dropout stay "
         "(default: as trained)",
         0, 0.99},
        {"weight-decay", OPTION_REAL, "0", "X",
         "decoupled weight decay (AdamW) of matrices and embeddings", 0, 100},
        {"clip", OPTION_REAL, "1", "X", "largest global norm of the gradient; 0: no limit", 0,
         1e12}),
    OPTION_GROUP(NULL, 0,
                 {"pretrained-only", OPTION_FLAG, NULL, NULL,
                  "leave out the encoder without pre-training, which takes as long"}),
    &network_machine_group,
    OPTION_GROUP(
        "Output", 0,
        {"out", OPTION_TEXT, "out/finetune", "DIR",
         "write runs.csv, finetune.csv, .md, .tex, differences.csv, .tex, predictions.csv and the fine-tuned encoder"},
        {"together", OPTION_TEXT, NULL, "DIR,DIR,...",
         "train nothing: put into one table the fine-tunings of one task in these directories"},
        {"csv", OPTION_FLAG, NULL, NULL, "print finetune.csv instead of the table"},
        {"config", OPTION_TEXT, NULL, "FILE",
         "read options from a file like DIR/config.ini; the command line overrides it"}),
    NULL};

static const RunColumns encoders_read = {.design = "scheme,layers,start",
                                         .seed = "model_seed",
                                         .measure = {{"score", "score", "score", .more = 1}}};

static const StudyKind studies[] = {{
    .command = "finetune",
    .design_bytes = 1,
    .study_bytes = sizeof(Finetune),
    .open = finetune_open,
    .one = finetune_trial,
    .train = finetune_train,
    .close = finetune_close,
    .asked = &encoders_read,
    .runs = finetune_run_names,
    .fill = finetune_fill,
    .bound_row = finetune_bound,
    .name = "finetune",
    .columns = finetune_columns,
    .more = finetune_more,
    .read = finetune_read,
    .draw = finetune_draw,
    .differences = finetune_differences,
    .caption = finetune_caption,
}};

static int run(Options *o)
{
    return study_run(studies, groups, o);
}

static void judge(const Frame *c, Verdict *v)
{
    for (size_t i = 0; i < c->rows; i++) {
        double score;
        if (*frame_text(c, i, "start") && frame_number(c, i, frame_column(c, "score"), &score) == 0)
            verdict_say(v, "%.60s, %.20s: %.3f; ", frame_text(c, i, "scheme"),
                        frame_text(c, i, "start"), score);
    }
    verdict_end(v);
}

const Command command_finetune = {
    .name = "finetune",
    .purpose = "train an encoder on labelled sentences, as GLUE's",
    .about =
        "Trains an encoder, pre-trained on masked words here or a BERT of Hugging Face, to label sentences. A dense layer, tanh and a last\n"
        "matrix read classes or one number from the first token, and all weights are trained. A grid of rates\n"
        "and seeds is trained on a part of the training text; the rate rises over the first tenth of the steps\n"
        "and then falls linearly to 0. The task's metric on the rest of that text chooses rate, seed and epoch.\n"
        "The chosen model reads the dev text, once. The same encoder without pre-training goes through the same\n"
        "grid for comparison, and the table has the score of always saying the most frequent label (of numbers:\n"
        "their mean). Ctrl-C saves; the same command goes on.\n"
        "\n"
        "A task's first metric chooses; the CSV files have all others that fit. Scores are of GLUE's dev texts,\n"
        "as its test texts have no labels. 'trotter classify --model DIR' labels sentences with the fine-tuned\n"
        "encoder.\n"
        "\n"
        "--together puts several encoders into one table. Encoders of one scheme that were pre-trained with other\n"
        "seeds are runs of it: their mean score has an interval over seeds and one over resampled examples.\n",
    .often = "model data task dev rates seeds epochs lowercase pretrained-only device out together",
    .example = "--model out/bert --data glue --task SST-2",
    .faster = "fewer --rates, --seeds, --epochs",
    .groups = groups,
    .saves = 1,
    .kinds = KINDS(
        {.command = "finetune",
         .title = "Fine-tuning",
         .about = "Encoders trained on masked words, then on labels of sentences, beside the same "
                  "encoders without pre-training.",
         .judge = judge,
         .runs = &encoders_read,
         .table = {{"finetune", finetune_columns, "Scores on the dev text.", KIND_ALL},
                   {"differences", runtable_differences,
                    "Differences of scores, each with 95 % intervals by itself.", KIND_ALL},
                   {"runs", finetune_run_columns,
                    "Every rate and seed, and those that were chosen.", KIND_MANY},
                   {"forest", runtable_forest_columns, "Encoders, as drawn", 0},
                   {"predictions", finetune_answers, "Answers of every encoder", 0}},
         .plot = {{"forest",
                   "Mean scores of the encoders, with 95 % intervals over pre-trainings."}}}),
    .run = run,
};
