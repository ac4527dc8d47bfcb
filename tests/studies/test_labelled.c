/* test_labelled.c: labelled text: files of every task written by hand, all refusals, tokenisation, splitting,
 * baselines, and GLUE's own files where TROTTER_GLUE names a folder with them. */
#include "tests/lib/test.h"

#include <sys/stat.h>

#include "studies/lab/finetune/labelled.h"
#include "kernels/base/scoped.h"
#include "tests/lib/scratch.h"

#define OWN_LABELLED SCOPED(labelled_free) Labelled

static int read_as(const LabelledTask *t, const char *text, int tokenised, const Labelled *train,
                   Labelled *out)
{
    int change = tokenised ? LABELLED_CUT | LABELLED_LOWER : 0;
    labelled_free(out); /* the last one's */
    return labelled_read(t, file_text("data.tsv", text), change, train, out);
}

static void expect_words(int code, const char *words)
{
    if (code != ERR_INPUT || !strstr(error_text(), words))
        fail_msg("gave: %d %s\n not: %s", code, error_text(), words);
}

/* ---- tasks --------------------------------------------------------------------------------------- */

/* Two lines of each task in GLUE's format, and the result of reading: texts of the first line and both labels. */
static const struct {
    const char *task, *header, *line[2], *first, *second;
    double label[2];
} format[] = {
    {"cola", "", {"gj04\t1\t\tIt's so.\n", "gj04\t0\t*\tSo it.\n"}, "It's so.", NULL, {1, 0}},
    {"sst2", "sentence\tlabel\n", {"so \"so \t1\n", "bad \t0\n"}, "so \"so ", NULL, {1, 0}},
    {"mrpc",
     "\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n",
     {"1\t702876\t702977\tA man.\tThe man.\r\n", "0\t1\t2\tA\tB\r\n"},
     "A man.",
     "The man.",
     {1, 0}},
    {"stsb",
     "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n",
     {"0\tmain\tMSRvid\t2012\t0001\tnone\tnone\tA plane.\tAn air plane.\t5.000\n",
      "1\tm\tM\t2012\t4\tn\tn\tA\tB\t0.25\n"},
     "A plane.",
     "An air plane.",
     {5, .25}},
    {"qqp",
     "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n",
     {"1\t2\t3\tHow?\tWhy?\t0\n", "4\t5\t6\tA\tB\t1\n"},
     "How?",
     "Why?",
     {0, 1}},
    {"mnli",
     "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\t"
     "sentence1_parse\tsentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label\n",
     {"0\t1\t1n\tg\t( x )\t( y )\t(R x)\t(R y)\tx\ty\tentailment\tneutral\n",
      "0\t1\t1n\tg\t( x )\t( y )\t(R x)\t(R y)\tx\ty\tneutral\tcontradiction\n"},
     "x",
     "y",
     {1, 2}},
    {"qnli",
     "index\tquestion\tsentence\tlabel\n",
     {"0\tWho?\tHe did.\tentailment\n", "1\tA\tB\tnot_entailment\n"},
     "Who?",
     "He did.",
     {0, 1}},
    {"rte",
     "index\tsentence1\tsentence2\tlabel\n",
     {"0\tIt is.\tIs it.\tnot_entailment\n", "1\tA\tB\tentailment\n"},
     "It is.",
     "Is it.",
     {1, 0}},
    {"wnli",
     "index\tsentence1\tsentence2\tlabel\n",
     {"0\tIt is.\tIs it.\t1\n", "1\tA\tB\t0\n"},
     "It is.",
     "Is it.",
     {1, 0}},
};
enum { FORMATS = sizeof format / sizeof *format };

static const char *text_of(size_t i)
{
    return formed("%s%s%s", format[i].header, format[i].line[0], format[i].line[1]);
}

TEST(tasks)
{
    size_t rows = 0;
    while (labelled_tasks[rows].name) rows++;
    assert_int_equal(rows, FORMATS);
    assert_ptr_equal(labelled_task("CoLA"), labelled_task("cola"));
    assert_ptr_equal(labelled_task("SST-2"), labelled_task("sst2"));
    assert_null(labelled_task("sst3"));
    for (size_t i = 0; i < FORMATS; i++) {
        const LabelledTask *t = labelled_task(format[i].task);
        OWN_LABELLED train = {0}, dev = {0};
        const char *text = text_of(i);
        assert_non_null(t);
        mkdir(file_path(t->folder), 0777);
        file_text(formed("%s/%s", t->folder, t->train), text);
        file_text(formed("%s/%s", t->folder, t->dev), text);
        if (labelled_open(t, folder, 0, &train, &dev) != 0) fail_msg("%s", error_text());
        assert_int_equal(train.count, 2);
        assert_string_equal(train.first[0], format[i].first);
        assert_true((train.second != NULL) == (format[i].second != NULL));
        if (train.second) assert_string_equal(train.second[0], format[i].second);
        for (size_t k = 0; k < 2; k++) {
            double label = t->values ? train.value[k] : train.label[k];
            double same = t->values ? dev.value[k] : dev.label[k];
            if (label != format[i].label[k] || same != label) fail_msg("%s: %g", t->name, label);
        }
        assert_true(t->values ? !train.label && train.classes == 0 : !train.value);
        for (size_t k = 0; k < train.classes; k++)
            assert_string_equal(train.name[k], t->name_of[k]);
        assert_null(t->name_of[train.classes]);
        for (size_t m = 0; m < t->metrics; m++)
            assert_int_equal(agreement_fits(t->metric[m], train.classes), 0);
    }
    /* first one of both texts is missing, then both */
    OWN_LABELLED train = {0}, dev = {0};
    remove(file_path("CoLA/dev.tsv"));
    expect_words(labelled_open(labelled_task("cola"), folder, 0, &train, &dev), "CoLA/dev.tsv: No");
    remove(file_path("CoLA/train.tsv"));
    expect_words(labelled_open(labelled_task("cola"), folder, 0, &train, &dev), "train.tsv: No");
    char far[5000] = "";
    memset(far, 'x', sizeof far - 1);
    assert_int_equal(labelled_open(labelled_task("cola"), far, 0, &train, &dev), ERR_INPUT);
}

/* Control: no task takes the file of another. */
TEST(tasks_are_told_apart)
{
    for (size_t i = 0; i < FORMATS; i++)
        for (size_t k = 0; k < FORMATS; k++) {
            OWN_LABELLED l = {0};
            int code = read_as(labelled_task(format[k].task), text_of(i), 0, NULL, &l);
            if (code != (i == k ? 0 : ERR_INPUT))
                fail_msg("%s as %s: %d", format[i].task, format[k].task, code);
        }
}

/* Broken lines of QQP are left out and counted; those of other tasks are refused. */
TEST(broken_lines)
{
    OWN_LABELLED l = {0};
    static const char qqp[] =
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\t2\t3\tA?\tB?\t1\n"
        "torn off\n1\t2\t3\t\tB?\t0\n1\t2\t3\tA?\t \t0\n1\t2\t3\tC?\tD?\t0\n";
    assert_int_equal(read_as(labelled_task("qqp"), qqp, 0, NULL, &l), 0);
    assert_true(l.count == 2 && l.left_out == 3 && l.label[0] == 1 && l.label[1] == 0);
    assert_true(l.line[0] == 2 && l.line[1] == 6);
    assert_string_equal(l.first_left, "line 3, 1 column of 6");
    assert_string_equal(l.first[1], "C?");
    expect_words(read_as(labelled_task("sst2"), "sentence\tlabel\nx\n", 0, NULL, &l),
                 "data.tsv:2: 1 column: expected 2, with a tab between");
}

/* ---- files of the user's own --------------------------------------------------------------------- */

/* Checks the classes and the numbers that a user's file gets from these labels in their order, with commas between. */
static void expect_classes(const char *labels, const char *want, const char *numbers)
{
    char text[512] = "label\tsentence\tother\n", list[256] = "", number[256] = "", *line;
    char copy[128], *rest = copy;
    OWN_LABELLED l = {0};
    snprintf(copy, sizeof copy, "%s", labels);
    while ((line = strsep(&rest, ","))) sprintf(text + strlen(text), "%s\ta sentence\tx\n", line);
    assert_int_equal(read_as(&labelled_classes, text, 0, NULL, &l), 0);
    assert_null(l.second);
    for (size_t k = 0; k < l.classes; k++)
        sprintf(list + strlen(list), "%s%s", k ? "," : "", l.name[k]);
    for (size_t i = 0; i < l.count; i++)
        sprintf(number + strlen(number), "%s%d", i ? "," : "", l.label[i]);
    assert_string_equal(list, want);
    assert_string_equal(number, numbers);
}

TEST(classes_of_a_file)
{
    expect_classes("no,yes,no", "no,yes", "0,1,0");
    expect_classes("yes,no,yes", "no,yes", "1,0,1");
    expect_classes("b,B,\xc3\xa4,a b,b", "B,a b,b,\xc3\xa4", "2,0,3,1,2"); /* bytewise */
    expect_classes("ab,a,abc", "a,ab,abc", "1,0,2");
    expect_classes("10,9,-1,0", "-1,0,9,10", "3,2,0,1"); /* integers: as numbers */
    expect_classes("10,9,x,0", "0,10,9,x", "1,2,3,0");   /* not all are: as words */
    expect_classes("10,9,-", "-,10,9", "1,2,0");         /* no digit: a word */
    expect_classes("1,01,-0,0", "-0,0,01,1", "3,2,0,1"); /* these are different labels */
    expect_classes("10,9,1234567890123456789", "10,1234567890123456789,9", "0,2,1"); /* too long */
}

TEST(training_text_decides)
{
    OWN_LABELLED train = {0}, dev = {0};
    assert_int_equal(
        read_as(&labelled_classes, "sentence\tlabel\na\tx\nb\ty\nc\tz\n", 0, NULL, &train), 0);
    /* a class that dev lacks is still a class, also in a dev of other columns and order */
    assert_int_equal(
        read_as(&labelled_classes, "label\tn\tsentence\nz\t1\tq\nx\t2\tr", 0, &train, &dev), 0);
    assert_true(dev.classes == 3 && dev.count == 2 && dev.label[0] == 2 && dev.label[1] == 0);
    assert_string_equal(dev.name[1], "y");
    assert_string_equal(dev.first[1], "r");
    assert_int_equal(read_as(&labelled_classes, "sentence\tlabel\na\tx\n", 0, &train, &dev),
                     0); /* a dev text may have one class alone */
    expect_words(read_as(&labelled_classes, "sentence\tlabel\na\tx\nb\tw\n", 0, &train, &dev),
                 "data.tsv:3: unknown label 'w': expected one of x, y, z");
    expect_words(
        read_as(&labelled_classes, "sentence\tsentence2\tlabel\na\tb\tx\n", 0, &train, &dev),
        "data.tsv:1: a column 'sentence2', which the training text has not");
    assert_int_equal(read_as(&labelled_classes, "sentence2\tsentence\tlabel\na\tb\t1\na\tb\t0\n", 0,
                             NULL, &train),
                     0);
    assert_string_equal(train.first[1], "b");
    assert_string_equal(train.second[1], "a");
    expect_words(read_as(&labelled_classes, "sentence\tlabel\na\t1\n", 0, &train, &dev),
                 "data.tsv:1: no column 'sentence2', which the training text has");
}

TEST(values_of_a_file)
{
    OWN_LABELLED l = {0}, dev = {0};
    assert_int_equal(
        read_as(&labelled_values, "sentence\tlabel\na\t-1.5\nb\t2e3\nc\t7\n", 0, NULL, &l), 0);
    assert_true(l.value[0] == -1.5 && l.value[1] == 2000 && l.value[2] == 7);
    assert_true(!l.label && l.classes == 0 && !l.name);
    assert_int_equal(read_as(&labelled_values, "sentence\tlabel\na\t0.5\n", 0, &l, &dev), 0);
    assert_true(dev.count == 1 && dev.value[0] == .5);
}

/* Reads a text as a file of this name. */
static int read_form(const char *name, const char *text, Labelled *l)
{
    labelled_free(l);
    return labelled_read(&labelled_classes, file_write(name, text, strlen(text)), 0, NULL, l);
}

/* CSV with quotes, ends of lines in them and semicolons, and an object a line. Messages count the file's lines. */
TEST(forms_of_a_file)
{
    static const char *const form[][2] = {
        {"data.csv", "id,label,sentence\r\n1,x,\"a, \"\"b\"\"\"\r\n2,y,\"c\nd\"\r\n"},
        {"data.csv", "sentence;label\n\"a, \"\"b\"\"\";x\n\n\"c\td\";y\n"},
        {"data.jsonl", "{\"label\": \"x\", \"n\": {}, \"sentence\": \"a, \\\"b\\\"\"}\n\n"
                       "{\"sentence\": \"c\\nd\", \"label\": \"y\"}"}};
    OWN_LABELLED l = {0};
    for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
        assert_int_equal(read_form(form[i][0], form[i][1], &l), 0);
        assert_true(l.count == 2 && l.classes == 2 && l.line[0] == (i == 2 ? 1 : 2));
        assert_true(l.line[1] == (i == 1 ? 4 : 3));
        assert_string_equal(l.first[0], "a, \"b\"");
        assert_string_equal(l.first[1], "c d");
        assert_string_equal(l.name[1], "y");
    }
    assert_int_equal(read_form("data.jsonl",
                               "{\"label\": 1, \"sentence\": \"a\"}\n"
                               "{\"sentence\": 0.1, \"label\": true}",
                               &l),
                     0);
    assert_string_equal(l.first[1], "0.1");
    assert_string_equal(l.name[1], "true");
    static const char *const bad[][3] = {
        {"data.csv", "sentence,label\n\"a\nb\",x\nc,\n", "data.csv:4: an empty label"},
        {"data.csv", "sentence,label\n\"a\nb\",x\nc\xff,y\n", "data.csv:4: not UTF-8"},
        {"data.csv", "sentence,label\n\"a\rb\",x\n", "data.csv:2: a carriage return inside a line"},
        {"data.csv", "sentence,label\na,x,y\n", "data.csv:2: expected 2 cells"},
        {"data.csv", "sentence,labels\na,x\n", "data.csv:1: no column 'label'"},
        {"data.jsonl", "\n{\"sentence\": \"a\"\n", "data.jsonl:2: expected a JSON object"},
        {"data.jsonl", "[1]\n", "data.jsonl:1: expected a JSON object"},
        {"data.jsonl", "{\"sentence\": \"a\", \"label\": 1}\n\n{\"sentence\": \"b\"}\n",
         "data.jsonl:3: an empty label"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_words(read_form(bad[i][0], bad[i][1], &l), bad[i][2]);
}

/* ---- refusals ------------------------------------------------------------------------------------ */

TEST(refusals)
{
    static const struct {
        const char *task, *text, *words; /* task "": a file of classes, "v": of values */
    } row[] = {
        {"", "", "data.tsv is empty"},
        {"", "\n", "data.tsv:1: no column 'sentence': expected a header that names it"},
        {"", "\xef\xbb\xbf", "data.tsv is empty"},
        {"", "sentence\n", "data.tsv:1: no column 'label'"},
        {"", "sentence,label\na,x\n", "data.tsv:1: its columns stand apart by ',': expected a tab"},
        {"", "sentence;label\na;x\n", "data.tsv:1: its columns stand apart by ';': expected a tab"},
        {"", "label\tSentence\n", "data.tsv:1: no column 'sentence'"},
        {"", "sentence \tlabel\n", "data.tsv:1: no column 'sentence'"},
        {"", "sentence\tlabel\tlabel\n", "data.tsv:1: two columns 'label' in the header"},
        {"", "sentence\tsentence2\tsentence\tlabel\n", "data.tsv:1: two columns 'sentence'"},
        {"", "sentence\tlabel\n", "data.tsv has no examples"},
        {"", "sentence\tlabel", "data.tsv has no examples"},
        {"", "sentence\tlabel\na\tx\nb\tx\n", "data.tsv: all labels are 'x': expected two"},
        {"", "sentence\tlabel\na\tx\n\nb\ty\n", "data.tsv:3: 1 column: expected 2, with a tab"},
        {"", "sentence\tlabel\na\tx\ty\n", "data.tsv:2: 3 columns: expected 2, with a tab"},
        {"", "sentence\tlabel\n\tx\n", "data.tsv:2: an empty sentence"},
        {"", "sentence\tlabel\na\tx\n \t\n", "data.tsv:3: an empty sentence"},
        {"", "sentence\tlabel\na\tx\n  \ty\n", "data.tsv:3: an empty sentence"},
        {"", "sentence\tlabel\tsentence2\na\tx\tb\na\ty\t\n", "data.tsv:3: an empty sentence"},
        {"", "sentence\tlabel\na\tx\nb\t\n", "data.tsv:3: an empty label"},
        {"", "sentence\tlabel\na\xff\tx\n", "data.tsv:2: not UTF-8"},
        {"", "sentence\tlabel\na\tx\nb\t\xc3\n", "data.tsv:3: not UTF-8"},
        {"", "sentence\tlabel\na\rb\tx\n", "data.tsv:2: a carriage return inside a line"},
        {"v", "sentence\tlabel\na\tx\n", "data.tsv:2: label 'x': expected a number"},
        {"v", "sentence\tlabel\na\t1\nb\t1x\n", "data.tsv:3: label '1x': expected a number"},
        {"v", "sentence\tlabel\na\t1 \n", "data.tsv:2: label '1 ': expected a number"},
        {"v", "sentence\tlabel\na\t 1\n", "data.tsv:2: label ' 1': expected a number"},
        {"v", "sentence\tlabel\na\tnan\n", "data.tsv:2: label 'nan': expected a number"},
        {"v", "sentence\tlabel\na\t1e999\n", "data.tsv:2: label '1e999': expected a number"},
        {"v", "sentence\tlabel\na\t\n", "data.tsv:2: an empty label"},
        {"v", "sentence\tlabel\n", "data.tsv has no examples"},
        {"v", "sentence\tlabel\na\t1.5\nb\t1.50\n", "data.tsv: all labels are 1.5: expected two"},
        {"stsb", "sentence1\tsentence2\tscore\na\tb\t5.1\n",
         "data.tsv:2: label '5.1': expected a number from 0 to 5"},
        {"stsb", "sentence1\tsentence2\tscore\na\tb\t-0.1\n",
         "data.tsv:2: label '-0.1': expected a number from 0 to 5"},
        {"stsb", "sentence1\tscore\na\t5\n", "data.tsv:1: no column 'sentence2'"},
        {"sst2", "sentence\tlabel\na\t2\n", "data.tsv:2: unknown label '2': expected one of 0, 1"},
        {"sst2", "so \t1\n", "data.tsv:1: no column 'sentence'"},
        {"rte", "sentence1\tsentence2\tlabel\na\tb\tneutral\n",
         "unknown label 'neutral': expected one of entailment, not_entailment"},
        {"qqp", "question1\tquestion2\tis_duplicate\na\tb\n", "data.tsv has no examples"},
        {"cola", "gj04\t1\t\ta\ngj04\t1\tb\n", "data.tsv:2: 3 columns: expected 4"},
        {"cola", "source\tlabel\tstar\tsentence\n", "data.tsv:1: unknown label 'label'"},
    };
    OWN_LABELLED l = {0};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const LabelledTask *t = labelled_task(row[i].task);
        if (!t) t = *row[i].task ? &labelled_values : &labelled_classes;
        expect_words(read_as(t, row[i].text, 0, NULL, &l), row[i].words);
        assert_null(l.text);
    }
    static const char nul[] = "sentence\tlabel\na\tx\nb\0\ty\n";
    expect_words(
        labelled_read(&labelled_classes, file_write("data.tsv", nul, sizeof nul - 1), 0, NULL, &l),
        "data.tsv:3: a NUL byte");
    expect_words(labelled_read(&labelled_classes, "no/such.tsv", 0, NULL, &l),
                 "no/such.tsv: No such file");
}

/* A message cuts a long list of classes, but does not end in the middle of a class. */
TEST(many_classes)
{
    static char text[1 << 16] = "sentence\tlabel\n";
    OWN_LABELLED l = {0}, dev = {0};
    size_t n = strlen(text);
    for (int i = 0; i < 1000; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "a\tlabel-%03d-0123456789\n", 999 - i);
    assert_int_equal(read_as(&labelled_classes, text, 0, NULL, &l), 0);
    assert_true(l.classes == 1000 && l.label[0] == 999 && l.label[999] == 0);
    expect_words(read_as(&labelled_classes, "sentence\tlabel\na\tx\n", 0, &l, &dev),
                 "expected one of label-000-0123456789, label-001-0123456789, ");
    assert_non_null(strstr(error_text(), "0123456789, ..."));
}

/* ---- tokenisation -------------------------------------------------------------------------------- */

TEST(tokenised)
{
    OWN_LABELLED l = {0};
    static const char text[] = "sentence\tsentence2\tlabel\r\n"
                               "They WON'T buy, (\"so\") 1.5%.\t\xc3\x84h \t1\r\na  b \tC\t0\r\n";
    assert_int_equal(read_as(&labelled_classes, text, 1, NULL, &l), 0);
    assert_string_equal(l.first[0], "they won't buy , ( \" so \" ) 1.5 % .");
    assert_string_equal(l.second[0], "\xc3\xa4h");
    assert_string_equal(l.first[1], "a b");
    assert_string_equal(l.second[1], "c");
    assert_true(l.label[0] == 1 && l.label[1] == 0);
    assert_int_equal(read_as(&labelled_classes, text, 0, NULL, &l), 0); /* control */
    assert_string_equal(l.first[0], "They WON'T buy, (\"so\") 1.5%.");
    assert_string_equal(l.first[1], "a  b ");
    expect_words(read_as(&labelled_classes, "sentence\tlabel\na\tx\n<skipped>\ty\n", 1, NULL, &l),
                 "data.tsv:3: an empty sentence");
}

/* ---- parts --------------------------------------------------------------------------------------- */

/* Makes n examples s0, s1, .., in pairs with t0, t1, .. if `pairs`; label i mod 3, or the value i. */
static void numbered(size_t n, int pairs, int values, Labelled *out)
{
    char *text = WRITTEN(
        f, fprintf(f, "sentence\t%slabel\n", pairs ? "sentence2\t" : "");
        for (size_t i = 0; i < n; i++)
            fprintf(f, "s%zu\t%s%zu\n", i, pairs ? formed("t%zu\t", i) : "", values ? i : i % 3));
    assert_int_equal(read_as(values ? &labelled_values : &labelled_classes, text, 0, NULL, out), 0);
}

/* Writes the names of a part's examples, each of which must be whole. */
static void names_of(const Labelled *part, const Labelled *all, char *to)
{
    for (size_t i = 0; i < part->count; i++) {
        size_t k = strtoul(part->first[i] + 1, NULL, 10);
        assert_true(all->value ? part->value[i] == (double)k : part->label[i] == (int32_t)(k % 3));
        if (all->second) assert_string_equal(part->second[i], formed("t%zu", k));
        to += sprintf(to, "%s ", part->first[i]);
    }
}

/* tests/fuzz/labelled.c holds parts to be disjoint, complete and in order. */
TEST(split)
{
    static const struct {
        size_t n, chosen;
        double fraction;
    } row[] = {{100, 10, .1}, {7, 1, .1},      {7, 1, .01}, {7, 6, .9},
               {3, 1, .4},    {1000, 500, .5}, {2, 1, .5}};
    for (size_t i = 0; i < sizeof row / sizeof *row * 4; i++) {
        OWN_LABELLED all = {0};
        char seen[3][1 << 12];
        numbered(row[i / 4].n, i & 1, (i & 2) != 0, &all);
        for (uint64_t k = 0; k < 3; k++) { /* seeds 1, 1, 2 */
            OWN_LABELLED rest = {0}, chosen = {0};
            assert_int_equal(labelled_split(&all, row[i / 4].fraction, 1 + k / 2, &rest, &chosen),
                             0);
            assert_int_equal(chosen.count, row[i / 4].chosen);
            assert_true(rest.classes == all.classes && rest.name == all.name);
            names_of(&chosen, &all, seen[k]);
        }
        assert_string_equal(seen[0], seen[1]);
        if (row[i / 4].n >= 100) assert_string_not_equal(seen[0], seen[2]);
        assert_true(all.count == row[i / 4].n && all.first[0][0] == 's'); /* still whole */
    }
}

/* Every example is chosen equally often: 3,000 splits of 10 into 7 and 3 choose each 900 times, +- 4 times 25.1. */
TEST(split_is_fair)
{
    OWN_LABELLED all = {0};
    size_t count[10] = {0};
    numbered(10, 0, 0, &all);
    for (uint64_t seed = 0; seed < 3000; seed++) {
        OWN_LABELLED rest = {0}, chosen = {0};
        assert_int_equal(labelled_split(&all, .3, seed, &rest, &chosen), 0);
        for (size_t i = 0; i < chosen.count; i++) count[chosen.first[i][1] - '0']++;
    }
    for (size_t k = 0; k < 10; k++) assert_true(fabs((double)count[k] - 900) <= 101);
}

TEST(split_refuses)
{
    static const double bad[] = {0, 1, -.1, 1.5, NAN, INFINITY};
    OWN_LABELLED all = {0}, rest = {0}, chosen = {0};
    numbered(5, 0, 0, &all);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_words(labelled_split(&all, bad[i], 1, &rest, &chosen),
                     "expected a part between 0 and 1 of the examples");
    expect_words(labelled_split(&all, .95, 1, &rest, &chosen), "a part of 0.95 leaves none of 5");
    numbered(2, 0, 1, &all);
    all.count = 1;
    expect_words(labelled_split(&all, .1, 1, &rest, &chosen), "leaves none of 1 example");
}

/* ---- baselines ----------------------------------------------------------------------------------- */

static void expect_baseline(const char *train, const char *dev, int values, int metric, double want)
{
    const LabelledTask *t = values ? &labelled_values : &labelled_classes;
    OWN_LABELLED a = {0}, b = {0};
    double got = NAN;
    assert_int_equal(read_as(t, train, 0, NULL, &a), 0);
    assert_int_equal(read_as(t, dev, 0, &a, &b), 0);
    assert_int_equal(labelled_baseline(&a, &b, metric, &got), 0);
    if (!(fabs(got - want) <= 1e-15))
        fail_msg("%s: %g, not %g", agreements[metric].name, got, want);
}

TEST(baselines)
{
#define H "sentence\tlabel\n"
    /* 1 is most frequent in training: right in 1 of 3, P = 1/3 and R = 1 */
    static const char most_1[] = H "a\t1\na\t0\na\t1\n", dev[] = H "a\t0\na\t1\na\t0\n";
    expect_baseline(most_1, dev, 0, AGREEMENT_ACCURACY, 1 / 3.);
    expect_baseline(most_1, dev, 0, AGREEMENT_F1, .5);
    expect_baseline(most_1, dev, 0, AGREEMENT_MATTHEWS, 0);
    /* 0 is most frequent; of two equally frequent classes the first counts; the frequencies of dev decide nothing */
    expect_baseline(H "a\t0\na\t0\na\t1\n", dev, 0, AGREEMENT_ACCURACY, 2 / 3.);
    expect_baseline(H "a\t0\na\t0\na\t1\n", dev, 0, AGREEMENT_F1, 0);
    expect_baseline(H "a\t1\na\t0\n", dev, 0, AGREEMENT_ACCURACY, 2 / 3.);
    expect_baseline(H "a\tz\na\tx\na\ty\na\tz\n", H "a\tz\na\tz\na\tx\na\tz\n", 0,
                    AGREEMENT_ACCURACY, .75);
    /* the mean is a constant */
    expect_baseline(H "a\t1\na\t.1\na\t.7\n", H "a\t2\na\t3\n", 1, AGREEMENT_PEARSON, 0);
    expect_baseline(H "a\t1\na\t.1\na\t.7\n", H "a\t2\na\t3\n", 1, AGREEMENT_SPEARMAN, 0);
#undef H
}

/* ---- short memory -------------------------------------------------------------------------------- */

static int starved_pairs, starved_words;

static int read_job(void)
{
    const LabelledTask *t = starved_words ? &labelled_classes : &labelled_values;
    Labelled train, dev, rest, chosen;
    double score;
    TRY(labelled_read(t, file_path("train.tsv"), starved_words, NULL, &train));
    int code = labelled_read(t, file_path("dev.tsv"), starved_words, &train, &dev);
    if (code == 0) {
        code = labelled_baseline(&train, &dev, t->metric[0], &score);
        labelled_free(&dev);
    }
    if (code == 0) code = labelled_split(&train, .5, 1, &rest, &chosen);
    if (code == 0) {
        labelled_free(&rest);
        labelled_free(&chosen);
    }
    labelled_free(&train);
    return code;
}

TEST(short_memory)
{
    for (starved_pairs = 0; starved_pairs < 2; starved_pairs++)
        for (starved_words = 0; starved_words < 2; starved_words++) {
            const char *text =
                starved_pairs ? "sentence\tsentence2\tlabel\na\tb\t1\nc\td\t0\n"
                              : "sentence\tlabel\na word after another, and a great many of them "
                                "so that one more block is asked for\t1\nb\t0\n";
            file_text("train.tsv", text);
            file_text("dev.tsv", text);
            assert_true(fail_each(read_job, ERR_MEMORY) >= 15);
        }
}

static int open_job(void)
{
    Labelled train, dev;
    TRY(labelled_open(labelled_task("sst2"), folder, 0, &train, &dev));
    labelled_free(&train);
    labelled_free(&dev);
    return 0;
}

TEST(short_memory_of_a_task)
{
    mkdir(file_path("SST-2"), 0777);
    file_text("SST-2/train.tsv", "sentence\tlabel\na\t1\n");
    file_text("SST-2/dev.tsv", "sentence\tlabel\nb\t0\n");
    assert_true(fail_each(open_job, ERR_MEMORY) >= 10);
    assert_int_equal(memory_live(), 0); /* no test of this program has left any */
}

/* GLUE's files as they were handed out have these counts, and these counts of labels 1. */
TEST(glue)
{
    static const struct {
        const char *task;
        size_t train, dev, train_1, dev_1;
        double baseline; /* accuracy of dev */
    } row[] = {{"cola", 8551, 1043, 6023, 721, 721 / 1043.},
               {"sst2", 67349, 872, 37569, 444, 444 / 872.}};
    const char *dir = getenv("TROTTER_GLUE");
    if (!dir) {
        printf("# skipped: TROTTER_GLUE names no folder with CoLA and SST-2\n");
        skip();
    }
    for (size_t i = 0; i < 4; i++) { /* as they are, and cut into lower-case words */
        Labelled train, dev;
        double score;
        size_t ones[2] = {0};
        if (labelled_open(labelled_task(row[i / 2].task), dir, 3 * (i % 2), &train, &dev) != 0)
            fail_msg("%s", error_text());
        for (size_t k = 0; k < train.count; k++) ones[0] += train.label[k] == 1;
        for (size_t k = 0; k < dev.count; k++) ones[1] += dev.label[k] == 1;
        assert_true(train.count == row[i / 2].train && dev.count == row[i / 2].dev);
        assert_true(ones[0] == row[i / 2].train_1 && ones[1] == row[i / 2].dev_1);
        assert_true(train.left_out + dev.left_out == 0);
        assert_int_equal(labelled_baseline(&train, &dev, AGREEMENT_ACCURACY, &score), 0);
        assert_true(score == row[i / 2].baseline);
        labelled_free(&train);
        labelled_free(&dev);
    }
}

TEST_MAIN(scratch_open, scratch_close)
