/* command_m2.c: scores corrections of sentences against the edits of annotators. */
#include <stdio.h>
#include <string.h>

#include "studies/metrics/m2.h"
#include "studies/tools/command.h"

static const Option text_options[] = {
    {"gold", OPTION_TEXT, NULL, "FILE", "sentences with annotators' edits, in the .m2 format"},
    {"hypothesis", OPTION_TEXT, LINES_STDIN, "FILE,...",
     "corrected sentences, line i for sentence i, cut into words as in the gold file; -: standard input; "
     "several files are systems"},
    {0},
};

static const Option score_options[] = {
    {"beta", OPTION_REAL, "0.5", "X", "weight of recall in F; below 1, precision counts more", 0,
     1e3, .sets = {MEMBER(M2Options, beta)}},
    {"max-unchanged", OPTION_SIZE, "2", "N",
     "largest number of words within an edit that stay as they are", 0, M2_WORDS,
     .sets = {MEMBER(M2Options, max_unchanged)}},
    {0},
};

static const Option output_options[] = {
    {"per-sentence", OPTION_FLAG, NULL, NULL, "write a row for each sentence instead"},
    {"csv", OPTION_FLAG, NULL, NULL, "write the table as CSV"},
    {0},
};

static const OptionGroup text_group = {"Texts", 0, text_options};
static const OptionGroup score_group = {"Score", 0, score_options};
static const OptionGroup output_group = {"Output", 0, output_options};
static const OptionGroup *const groups[] = {&text_group, &score_group, &output_group, NULL};

/* A row for a system, or for one of its sentences. */
typedef struct {
    const char *system;
    size_t sentence, annotator;
    double precision, recall, f;
    M2Counts counts;
    size_t sentences;
    M2Options options;
} CorrectionRow;

#define COUNTS(at)                                                           \
    FIELD(CorrectionRow, "correct", counts.correct, .place = (at),           \
          .words = "proposed edits that are the annotator's"),               \
        FIELD(CorrectionRow, "proposed", counts.proposed, .place = (at) + 1, \
              .words = "edits that the system made"),                        \
        FIELD(CorrectionRow, "gold", counts.gold, .place = (at) + 2,         \
              .words = "edits of the annotator")

static const Column systems[] = {
    COLUMN(CorrectionRow, system, .place = 1, .words = "file of the corrected sentences"),
    COLUMN(CorrectionRow, precision, .place = 2, .digits = 2, .form = SHEET_FIXED,
           .words = "share of the proposed edits that are correct, 0 to 100"),
    COLUMN(CorrectionRow, recall, .place = 3, .digits = 2, .form = SHEET_FIXED,
           .words = "share of the gold edits that were proposed, 0 to 100"),
    COLUMN(CorrectionRow, f, .head = "F", .place = 4, .digits = 2, .form = SHEET_FIXED,
           .words = "F of precision and recall, 0 to 100"),
    COUNTS(5),
    COLUMN(CorrectionRow, sentences, .words = "sentences scored"),
    FIELD(CorrectionRow, "beta", options.beta, .words = "weight of recall in F"),
    FIELD(CorrectionRow, "max_unchanged", options.max_unchanged,
          .words = "words that may stay within an edit"),
    {0}};

static const Column sentences[] = {
    COLUMN(CorrectionRow, system, .place = 1, .words = "file of the corrected sentences"),
    COLUMN(CorrectionRow, sentence, .place = 2, .words = "number of the sentence, from 1"),
    COLUMN(CorrectionRow, annotator, .place = 3, .words = "annotator whose edits count"),
    COUNTS(4),
    {0}};

typedef struct {
    M2Options options;
    int per_sentence;
    M2File gold;
    LinesList system;
    M2Choice *each; /* (gold.sentences) */
    Sheet *sheet;
} Study;

static int add_system(Study *u, const Lines *l)
{
    CorrectionRow row = {.sentences = u->gold.sentences, .options = u->options, .system = l->file};
    progress_show("%s", l->file);
    TRY(m2_score(&u->gold, l, &u->options, &row.counts, u->each));
    row.precision = m2_precision(&row.counts);
    row.recall = m2_recall(&row.counts);
    row.f = m2_f(&row.counts, u->options.beta);
    if (!u->per_sentence) sheet_row(u->sheet, &row);
    for (size_t i = 0; u->per_sentence && i < u->gold.sentences; i++) {
        row.sentence = i + 1;
        row.annotator = u->each[i].annotator;
        row.counts = u->each[i].counts;
        sheet_row(u->sheet, &row);
    }
    return 0;
}

static int study(Study *u, const Options *o)
{
    const char *gold = options_text(o, "gold"), *files = options_text(o, "hypothesis");
    int csv = options_flag(o, "csv");
    if (!gold) return error_set(ERR_INPUT, "--gold is needed");
    if (strcmp(gold, LINES_STDIN) == 0)
        return error_set(ERR_INPUT, "--gold: expected a file, as standard input is --hypothesis'");
    TRY(lines_list("hypothesis", files, &(int){0}, &u->system));
    options_fill(o, groups, &u->options);
    u->per_sentence = options_flag(o, "per-sentence");
    TRY(m2_file_read(gold, &u->gold));
    u->each = memory_new(u->gold.sentences, sizeof *u->each);
    if (!u->each) return ERR_MEMORY;
    TRY(sheet_new(u->per_sentence ? sentences : systems, &u->sheet));
    for (size_t s = 0; s < u->system.count; s++) TRY(add_system(u, &u->system.of[s]));
    progress_clear();
    TRY(sheet_write(u->sheet, csv ? SHEET_CSV : SHEET_PLAIN, stdout));
    if (!csv && !u->per_sentence)
        printf("\n%zu sentences; F has beta %g; at most %zu words stay within an edit\n",
               u->gold.sentences, u->options.beta, u->options.max_unchanged);
    return 0;
}

static int run(Options *o)
{
    Study u = {0};
    int code = study(&u, o);
    sheet_free(u.sheet);
    memory_free(u.each);
    m2_file_free(&u.gold);
    lines_list_free(&u.system);
    return code;
}

const Command command_m2 = {
    .name = "m2",
    .purpose = "score grammatical error correction by MaxMatch (M2)",
    .about =
        "Scores corrected sentences against the edits of annotators, as Dahlmeier and Ng (2012) do. Of all ways to\n"
        "read the changes of a sentence as edits, it takes one that has the most edits of an annotator. Precision is\n"
        "the share of proposed edits that are the annotator's, recall is the share of the annotator's edits that were\n"
        "proposed, and F joins both. Counts are sums over the sentences. Where a sentence has several annotators, the\n"
        "one counts with whom F of the sentences so far is largest. Precision is 100 where nothing is proposed,\n"
        "recall is 100 where there is no gold edit.\n",
    .example = "--gold test.m2 --hypothesis corrected.txt",
    .groups = groups,
    .run = run,
};
