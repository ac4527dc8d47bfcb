/* test_finetune.c: encoders fine-tuned as a user does it: labels that can be learned and others that cannot, classes,
 * numbers and pairs; the files of a directory, a resumed run, several encoders in one table; the labels that `classify`
 * gives; and refusals. */
#include "tests/lib/test.h"

#include "studies/lab/finetune/labelled.h"
#include "tests/lib/program.h"

#define SIZE \
    " --width 16 --inner 32 --heads 2 --sequence 24 --batch-tokens 512 --threads 1 --dropout 0 --max-steps 20 --epochs 2"
#define GRID " --threads 1 --rates 1e-2 --seeds 1 --patience 0"
#define TASK "finetune --model run --task yes.tsv" GRID

/* Writes sentences of w0 .. w19, labelled by whether w0 is among them (`yes`), by chance, by a number and in pairs;
 * then trains three models. */
static int open_all(void **state)
{
    if (program_open(state) != 0) return -1;
    shell_ok(
        "mkdir -p text glue/CoLA && for f in train valid test; do awk -v f=$f 'BEGIN { srand(f == \"train\"); for (i = 0; "
        "i < (f == \"train\" ? 600 : 60); i++) { line = \"\"; for (k = 0; k < 6; k++) line = line \" w\" int(20 * rand()); "
        "print line \" <unk>\" } }' >text/$f.txt; done");
    shell_ok(
        "awk 'BEGIN { srand(3); print \"sentence\\tlabel\" >\"yes.tsv\"; print \"sentence\\tlabel\" >\"blind.tsv\"; print "
        "\"sentence\\tlabel\" >\"number.tsv\"; print \"label\\tsentence2\\tsentence\" >\"pair.tsv\"; for (i = 0; i < 800; i++) { a = b = "
        "\"\"; n = m = 0; for (k = 0; k < 4; k++) { x = int(20 * rand()); if (i %% 2 && k == 1) x = 0; a = a \" w\" x; n += x; y = "
        "int(20 * rand()); b = b \" w\" y; m += y } s = \"no\"; if (a ~ /w0( |$)/) s = \"yes\"; print a \"\\t\" s >\"yes.tsv\"; print a "
        "\"\\t\" (rand() < .5) >\"blind.tsv\"; print a \"\\t\" 5000 + 100 * n >\"number.tsv\"; print (a ~ /w0( |$)/) + 2 * (b ~ /w0( |$)/) "
        "\"\\t\" b \"\\t\" a >\"pair.tsv\" } }'");
    shell_ok(
        "sed 's/^\\(.*\\)\\t\\(yes\\|no\\)$/x\\t\\2\\t\\t\\1/; s/\\tyes\\t/\\t1\\t/; s/\\tno\\t/\\t0\\t/' yes.tsv | tail -n +2 >all && "
        "head -700 all >glue/CoLA/train.tsv && tail -100 all >glue/CoLA/dev.tsv");
    run_ok("train --objective masked --corpus text" SIZE " --out run");
    run_ok("train --objective masked --corpus text --seed 2" SIZE " --out second");
    run_ok("train --corpus text" SIZE " --out language");
    return 0;
}

/* Returns a cell of the first row of DIR/FILE.csv whose `start` is this one. */
static double cell(const char *dir, const char *file, const char *start, const char *column)
{
    char *csv = file_slurp(formed("%s/%s.csv", dir, file), NULL);
    for (int row = 1; row < count_lines(csv); row++)
        if (strcmp(cell_of(csv, row, "start"), start) == 0) return number_in(csv, row, column);
    fail_msg("%s/%s.csv has no %s", dir, file, start);
    return NAN;
}

static double score(const char *dir, const char *start, const char *column)
{
    return cell(dir, "runs", start, column);
}

/* ---- learning ------------------------------------------------------------------------------------------- */

TEST(classes)
{
    run_ok(TASK " --epochs 8 --out yes");
    double majority = score("yes", "majority", "accuracy");
    assert_true(majority > .45 && majority < .75);
    const char *const start[] = {"pretrained", "fresh"};
    for (int s = 0; s < 2; s++) {
        if (!(score("yes", start[s], "accuracy") > .95))
            fail_msg("%s: accuracy %g", start[s], score("yes", start[s], "accuracy"));
        assert_true(score("yes", start[s], "matthews") > .9 && score("yes", start[s], "f1") > .9);
        assert_true(score("yes", start[s], "chosen") > .9);
        assert_true(
            fabs(shell_number("awk -F, '$1 == \"%s\" { n++; right += $3 == $4 } END { printf "
                              "\"%%.9g\\n\", right / n }' yes/predictions.csv",
                              start[s]) -
                 score("yes", start[s], "accuracy")) < 1e-8);
    }
    shell_ok("test $(wc -l <yes/predictions.csv) = 161"); /* 800 / 10, for each of two starts */
    HAS(err, "648 examples to train on, 72 to choose by, 80 of dev", "~lose their ends");
    shell_ok(
        "for f in config.ini runs.csv finetune.csv finetune.md finetune.tex model.safetensors vocab.txt; do test -s yes/$f || exit 1; done");
    shell_ok("test ! -e yes/pretrained/rate0.01-seed1/state.safetensors");
    must_tell("report yes --out page.html", "2 studies, 3 tables");
    assert_string_equal(cell_of(file_slurp("yes/finetune.csv", NULL), -1, "start"), "");
    shell_ok("tail -1 yes/finetune.csv | awk -F, -v OFS=, '{ print $1, $7 }' >majority");
    shell_ok(
        "awk -F, '$4 == \"majority\" { print \"majority,\" $14 }' yes/runs.csv | cmp - majority");
    shell_ok("grep -q '^| majority ' yes/finetune.md && grep -q '^majority ' yes/finetune.tex");
}

/* A sentence of four words takes six rows with <cls> and <eos>; a pair takes eleven. */
TEST(long_sentences_are_told)
{
    must_tell(TASK " --epochs 1 --pretrained-only --sequence 6 --out six", "~lose their ends");
    must_tell(TASK " --epochs 1 --pretrained-only --sequence 5 --out five",
              "800 of all are longer than --sequence 5 and lose their ends");
    must_tell("finetune --model run --task pair.tsv" GRID
              " --epochs 1 --pretrained-only --sequence 11 --out eleven",
              "~lose their ends");
    must_tell("finetune --model run --task pair.tsv" GRID
              " --epochs 1 --pretrained-only --sequence 10 --out ten",
              "800 of all are longer than --sequence 10");
}

/* Control: labels that have nothing to do with the sentences are not learned. */
TEST(blind_labels)
{
    run_ok("finetune --model run --task blind.tsv" GRID
           " --epochs 4 --pretrained-only --out blind");
    double x = score("blind", "pretrained", "accuracy");
    if (!(x > .3 && x < .7)) fail_msg("accuracy %g", x);
    shell_ok("! grep -q fresh blind/runs.csv");
}

/* Targets are in thousands: the network learns them scaled. */
TEST(numbers)
{
    run_ok("finetune --model run --task number.tsv --values" GRID
           " --epochs 12 --pretrained-only --out number-out");
    assert_true(score("number-out", "pretrained", "pearson") > .9);
    assert_true(score("number-out", "pretrained", "spearman") > .9);
    shell_ok(
        "awk -F, '$1 == \"pretrained\" { d = $3 - $4; s += d * d; n++ } END { exit !(sqrt(s / n) < 500) }' number-out/predictions.csv");
    shell_ok(
        "head -1 number-out/runs.csv | grep -q pearson,spearman && ! head -1 number-out/runs.csv | grep -q accuracy");
}

/* There are four classes, which depend on both sentences; each sentence has its own segments. */
TEST(pairs_of_sentences)
{
    run_ok("finetune --model run --task pair.tsv" GRID " --epochs 12 --pretrained-only --out pair");
    double x = score("pair", "pretrained", "accuracy");
    if (!(x > .85)) fail_msg("accuracy %g", x);
    shell_ok("! head -1 pair/runs.csv | grep -q f1");
}

/* The same examples as CSV, under other names, and as JSON train the same encoder. */
TEST(other_forms)
{
    shell_ok(
        "sed 's/\\(.*\\)\t\\(.*\\)/\"\\1\",\\2/; 1s/.*/text,is/' yes.tsv >forms.csv; "
        "sed '1d; s/\\(.*\\)\t\\(.*\\)/{\"is\": \"\\2\", \"text\": \"\\1\"}/' yes.tsv >forms.jsonl");
    run_ok("finetune --model run --task yes.tsv" GRID
           " --epochs 1 --pretrained-only --out forms-tsv");
    static const char *const form[] = {"csv", "jsonl"};
    for (int i = 0; i < 2; i++) {
        run_ok("finetune --model run --task forms.%s --text-column text --label-column is" GRID
               " --epochs 1 --pretrained-only --out forms-%s",
               form[i], form[i]);
        shell_ok(
            "for d in tsv %s; do sed s/,[0-9]*$// forms-$d/predictions.csv >said-$d; done; cmp said-tsv said-%s",
            form[i], form[i]);
    }
}

/* Lines of QQP with a column too many are left out, told, and recorded; predictions are numbered by the file's lines. */
TEST(lines_left_out)
{
    static const char to_qqp[] =
        "BEGIN { print \"id\\tqid1\\tqid2\\tquestion1\\tquestion2\\tis_duplicate\" } "
        "NR > 1 && NR < 62 { print NR \"\\t1\\t2\\t\" $1 \"\\t\" $2 \"\\t\" NR % 2 (NR % 3 ? \"\" : more) }";
    shell_ok("mkdir -p glue/QQP && awk -F'\\t' '%s' pair.tsv >glue/QQP/train.tsv && "
             "awk -F'\\t' -v more='\\t' '%s' pair.tsv >glue/QQP/dev.tsv",
             to_qqp, to_qqp);
    must_tell("finetune --model run --task qqp --data glue" GRID
              " --epochs 1 --pretrained-only --out qqp",
              "20 lines of dev.tsv left out (first: line 3, 7 columns of 6)\n",
              "~train.tsv left out");
    shell_ok("test $(sed -n '3s/.*,//p' qqp/predictions.csv) = 4");
    shell_ok("grep -q '20 lines of dev.tsv left out' qqp/commands.csv");
}

TEST(glue)
{
    run_ok("finetune --model run --task cola --data glue" GRID " --epochs 8 --out cola");
    assert_true(score("cola", "pretrained", "matthews") > .9);
    assert_true(score("cola", "majority", "matthews") == 0);
    shell_ok("test $(grep -c '^pretrained' cola/predictions.csv) = 100");
    assert_true(cell("cola", "finetune", "pretrained", "score") ==
                score("cola", "pretrained", "matthews"));
}

/* ---- choices -------------------------------------------------------------------------------------------- */

/* The best of the grid is chosen on the held-out part of the training text; of equal ones, the first. */
TEST(the_best_is_chosen)
{
    run_ok(
        "finetune --model run --task yes.tsv --threads 1 --rates 1e-6,1e-2 --seeds 2 --epochs 3 --out grid");
    shell_ok("test $(grep -c ,trial, grid/runs.csv) = 8");
    shell_ok(
        "cut -d, -f4,5,9-12 grid/runs.csv | awk -F, '$2 == \"trial\" && $6 > best[$1] { best[$1] = $6; of[$1] = $3 \",\" $4 \",\" $5 "
        "\",\" $6 } END { for (s in best) print s \",,\" of[s] }' | sort >best");
    shell_ok("cut -d, -f4,5,9-12 grid/runs.csv | grep ',,.*[0-9]' | sort >chosen");
    shell_ok("cmp best chosen");
    assert_true(score("grid", "pretrained", "rate") == 1e-2);
    shell_ok("test $(ls grid/*/*/model.safetensors | wc -l) = 2"); /* the best of each start */
    assert_true(score("grid", "pretrained", "model_seed") == 1);
    run_ok(
        "finetune --model second --task yes.tsv --threads 1 --rates 1e-2 --seeds 2 --epochs 1 --pretrained-only --out other-seeds");
    shell_ok(
        "grep ,trial, other-seeds/runs.csv | cut -d, -f10 | sort | tr '\\n' ' ' | grep -qx '3 4 '");
}

/* Seeds and rates that agree to six digits have their own folders, so that the weights of the best trial stay. */
TEST(every_trial_has_a_folder)
{
    run_ok(
        "finetune --model run --task yes.tsv --threads 1 --rates 1e-2,1.0000001e-2 --seeds 2 --seed 1234567 --epochs 2 "
        "--pretrained-only --out near-by");
    shell_ok(
        "LC_ALL=C ls near-by/pretrained | tr '\\n' ' ' | grep -qx 'rate0.01-seed1234567 rate0.01-seed1234568 "
        "rate0.010000001-seed1234567 rate0.010000001-seed1234568 '");
    HAS(err, "pretrained, rate 0.010000001, seed 1234568 (4 of 4)");
    shell_ok(
        "awk -F, '$5 == \"trial\" && $12 > best { best = $12; name = \"rate\" $9 \"-seed\" $10 } END { print name }' near-by/runs.csv >name "
        "&& test \"$(ls near-by/pretrained/*/model.safetensors)\" = near-by/pretrained/$(cat name)/model.safetensors");
}

/* Trials that are missing are trained, others are not (one that was stopped: tests/faults/test_goes_on.c). */
TEST(goes_on)
{
#define LONG "finetune --model run --task yes.tsv --threads 1 --rates 1e-2 --epochs 3 --out whole"
    run_ok(LONG);
    shell_ok(
        "cp -r whole before && sed '/,fresh,trial,/d' before/runs.csv >whole/runs.csv && rm -r "
        "whole/*.safetensors whole/predictions.csv whole/fresh");
    must_tell(LONG, "fresh, ", "~pretrained, rate");
    assert_same_file("whole", "before", "predictions.csv", 1);
    assert_same_file("whole", "before", "model.safetensors", 1);
    shell_ok("cp whole/runs.csv before");
    run_ok(LONG); /* nothing is left to do */
    assert_same_file("whole", "before", "runs.csv", 1);
#undef LONG
}

/* Ctrl-C in a trial gives status 130 and one line, which says how to go on. */
TEST(interrupted)
{
    int status = interrupt_at("endless/pretrained/rate0.01-seed1/state.safetensors", 0,
                              TASK " --epochs 10000 --out endless");
    assert_int_equal(status, 130);
    shell_ok(
        "tail -1 child.err | grep -qx 'trotter finetune: interrupted; the same command goes on from here'");
    assert_false(file_exists("endless/predictions.csv"));
}

/* ---- several ------------------------------------------------------------------------------------------- */

TEST(several_encoders)
{
    run_ok(TASK " --epochs 3 --out of-1");
    run_ok("finetune --model second --task yes.tsv" GRID " --epochs 3 --out of-2");
    run_ok("finetune --together of-1,of-2 --out both --csv");
    double a = score("of-1", "fresh", "accuracy"), b = score("of-2", "fresh", "accuracy");
    double p =
        (score("of-1", "pretrained", "accuracy") + score("of-2", "pretrained", "accuracy")) / 2;
    assert_true(cell("both", "finetune", "fresh", "seeds") == 2);
    assert_true(fabs(cell("both", "finetune", "fresh", "score") - (a + b) / 2) < 1e-12);
    shell_ok("mv both/differences.csv gain && sed 's/^design,/start,/' gain >both/differences.csv");
    const char gain[] = "transformer@1@pretrained";
    double diff = cell("both", "differences", gain, "difference");
    assert_true(fabs(diff - (p - (a + b) / 2)) < 1e-12);
    assert_true(cell("both", "differences", gain, "low") <= diff);
    assert_true(cell("both", "differences", gain, "drawn_low") <= diff &&
                diff <= cell("both", "differences", gain, "drawn_high"));
    must_refuse("finetune --together of-1,of-1 --out twice",
                "are both transformer@1@pretrained with seed 1");
    run_ok("finetune --model run --task blind.tsv" GRID " --epochs 1 --pretrained-only --out of-3");
    must_refuse("finetune --together of-1,of-3 --out mixed", "task");
    must_refuse("finetune --together of-1 --model run --out x", "--together or --model, not both");
    must_refuse("finetune --together of-1,text --out x", "text/runs.csv");
    shell_ok(
        "cp -r of-1 spoilt && awk -F, -v OFS=, '$1 == \"fresh\" && $2 == 1 { $4 = 1 - $4 } 1' of-1/predictions.csv >spoilt/predictions.csv");
    must_refuse("finetune --together spoilt --out x", "accuracy of fresh is");
    shell_ok(
        "awk -F, -v OFS=, '$2 == 3 { $3 = 1 - $3 } 1' of-2/predictions.csv >spoilt/predictions.csv; cp of-2/runs.csv spoilt");
    must_refuse("finetune --together of-1,spoilt --out x", "have other dev texts");
}

/* ---- uses ----------------------------------------------------------------------------------------------- */

TEST(labels_of_sentences)
{
    run_ok(TASK " --epochs 8 --out asked --dev yes.tsv --pretrained-only");
    shell_ok("tail -n +2 yes.tsv | cut -f1 >sentences");
    run_ok("classify --model asked --text sentences");
    file_write("answers", out, strlen(out));
    shell_ok(
        "tail -n +2 asked/predictions.csv | awk -F, '{ print $4 ? \"yes\" : \"no\" }' | cmp - answers");
    shell_ok("printf 'w1 w0\\n\\nw2 w3\\n' >three");
    run_ok("classify --model asked --text three");
    assert_string_equal(out, "yes\n\nno\n");
    run_ok("classify --model asked --text three --csv");
    assert_true(strncmp(out, "line,label,probability\n1,yes,", 29) == 0 && strstr(out, "\n3,no,"));
    assert_true(strtod(out_cell(1, "probability"), NULL) > .5);
    must_refuse("eval --model asked --text sentences", "trotter classify");
    must_refuse("generate --model asked", "trotter classify");
    must_refuse("score --model asked --text sentences", "trotter classify");
    must_refuse("translate --model asked --text sentences", "trotter classify");
    must_refuse("attention --model asked --text sentences --out a", "trotter classify");
    must_refuse("classify --model run --text three", "trotter finetune");
    shell_ok("printf 'w1\\tw0\\n' >two");
    must_refuse("classify --model asked --text two", "two:1: expected a sentence without a tab");
    must_refuse("classify --text two", "--model is needed");
    shell_ok("printf 'w1\\n\\nw2 <eos> w3\\n' >gaps"); /* a blank line is no sentence, but a line */
    must_refuse("classify --model asked --text gaps", "gaps:3: <eos>");
}

/* The help of --task names every task of the table. */
TEST(tasks_are_named)
{
    run_ok("finetune --help task");
    for (const LabelledTask *t = labelled_tasks; t->name; t++)
        assert_non_null(strstr(out, t->name));
}

/* ---- refusals ------------------------------------------------------------------------------------------- */

TEST(refusals)
{
    static const char *const bad[][2] = {
        {"--task yes.tsv", "--model is needed"},
        {"--model run", "--task is needed"},
        {"--model run --task nothing", "expected a task of GLUE"},
        {"--model run --task no.tsv", "no.tsv: No such file"},
        {"--model run --task cola --data nowhere", "nowhere/CoLA/train.tsv"},
        {"--model run --task SST-2 --data nowhere", "nowhere/SST-2/train.tsv"},
        {"--model run --task cola --data glue --values", "--values has no meaning"},
        {"--model language --task yes.tsv", "trains one"},
        {"--model run --task yes.tsv --rates 1e-3,1e-3", "twice"},
        {"--model run --task yes.tsv --part 0.9999", "yes.tsv: a part of 0.9999 leaves none"},
        {"--model run --task far.tsv --values", "no standard deviation"},
        {"--model run --task end.tsv --dev yes.tsv --part .5", "end.tsv:4: <eos>"},
        {"--model run --task yes.tsv --dev end.tsv", "end.tsv:4: <eos>"},
        {"--model run --task commas.tsv",
         "commas.tsv:1: its columns stand apart by ',': expected a tab"},
        {"--model run --task yes.csv", "yes.csv:1: no column 'sentence'"},
        {"--model run --task yes.csv --text-column text", "yes.csv:1: no column 'label'"},
        {"--model run --task cola --data glue --text-column text", "--text-column has no meaning"},
        {"--model run --task yes.tsv --dev maybe.tsv", "maybe.tsv:2: unknown label 'maybe'"},
    };
    shell_ok(
        "printf 'sentence\\tlabel\\nw1\\t1e300\\nw2\\t-1e300\\nw3\\t2\\n' >far.tsv && sed 's/1e300/7/' far.tsv >near.tsv; "
        "printf 'sentence\\tlabel\\nw1\\tyes\\nw1\\tno\\nw2 <eos> w3\\tno\\nw3\\tno\\n' >end.tsv; "
        "tr '\\t' , <yes.tsv >commas.tsv; sed '1s/.*/text,is/' commas.tsv >yes.csv; "
        "printf 'sentence\\tlabel\\nw1\\tmaybe\\n' >maybe.tsv");
    REFUSE_ALL("finetune --out r --threads 1 %s", bad, NULL);
    run_ok("finetune --model run --task near.tsv --values" GRID " --epochs 1 --out near");
    run_ok(TASK " --epochs 1 --pretrained-only --out r");
    must_refuse(TASK " --epochs 2 --pretrained-only --out r",
                "is of another fine-tuning (--epochs 1, now 2): give another --out");
    run_ok(
        "finetune --model run --task yes.tsv --threads 2 --rates 1e-2 --seeds 1 --patience 0 --epochs 1 --pretrained-only --out r");
    shell_ok(
        "sed '2s/no$/yes/; 2s/yes$/no/; 3s/yes$/no/' yes.tsv >changed.tsv && cp yes.tsv kept.tsv && cp changed.tsv yes.tsv");
    must_refuse(TASK " --epochs 1 --pretrained-only --out r",
                "(its weights or examples were others than now)");
    shell_ok("cp kept.tsv yes.tsv");
}

TEST_MAIN(open_all, program_close)
