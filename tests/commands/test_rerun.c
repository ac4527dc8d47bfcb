/* test_rerun.c: what `train` and `compare` do in a folder that holds a run: an interrupted, stopped or finished one, one
 * of other options, or one of an older program. */
#include "tests/lib/test.h"

#include "tests/lib/study.h"

static char older[PATH_MAX]; /* studies of older programs: tests/older */

TEST(test_interrupt_and_resume)
{
    static const char args[] = "train --corpus text --epochs 12 --out stopped" SMALL_TRAINING;
    assert_int_equal(interrupt_at("stopped/log.csv", 20, args), 130);
    assert_true(file_exists("stopped/state.safetensors") && !file_exists("stopped/result.csv"));
    assert_true(file_exists("stopped/loss.gp"));
    must_refuse("train --resume --scheme euler --out stopped",
                "--scheme euler: stopped/scheme.txt has another, scheme transformer");
    must_refuse(
        "train --resume --clip 3 --rate 0.5 --out stopped",
        "the run in stopped goes on only with its own options (--rate 1e-2, now 0.5; --clip 0, "
        "now 3)");
    /* a config.ini that was written over since: each option that decides the run is compared with the state's */
    static const char *const over[][2] = {{"rate = 0.5", "(--rate 1e-2, now 0.5)"},
                                          {"patience = 3", "(--patience none, now 3)"},
                                          {"seed = 2", "(--seed 1, now 2)"},
                                          {"beta2 = 0.9", "--beta2 0.997, now 0.9"},
                                          {"accumulate = 2", "--accumulate 1, now 2"}};
    shell_ok("cp stopped/config.ini own.ini");
    for (size_t i = 0; i < sizeof over / sizeof *over; i++) {
        int name = (int)strcspn(over[i][0], " ");
        shell_ok("sed '/^%.*s = /d' own.ini >stopped/config.ini; echo '%s' >>stopped/config.ini",
                 name, over[i][0], over[i][0]); /* the line goes, another comes */
        must_refuse("train --resume --out stopped", over[i][1]);
    }
    shell_ok("cp own.ini stopped/config.ini; mv text kept");
    corpus_write("text", 600, 59);
    must_refuse(
        "train --resume --out stopped",
        "stopped/state.safetensors is of another run: text is not the text it was trained on");
    HAS(err, "~;");
    shell_ok("rm -r text; mv kept text");
    must_refuse("train --resume --corpus whole/nowhere --out stopped", "nowhere");
    run_ok("train --resume --out stopped"); /* to the same bits: tests/faults/test_goes_on.c */
}

/* While truncation errors are measured, it stops before the next sentence: no error is kept, and the claim is gone. */
TEST(test_interrupt_measure)
{
    assert_int_equal(
        interrupt_at(
            "measured/runs/euler-seed1/truncation.claim", 0,
            "compare --corpus text --system linear --scheme euler --seeds 1 --epochs 1 --activation gelu "
            "--truncation 2000 --out measured" SMALL_TRAINING),
        130);
    shell_ok(
        "tail -1 child.err | grep -qx 'trotter compare: interrupted; the same command goes on from here'");
    assert_true(file_exists("measured/runs/euler-seed1/result.csv"));
    assert_false(file_exists("measured/runs/euler-seed1/truncation.csv") ||
                 file_exists("measured/runs/euler-seed1/truncation.claim"));
}

/* A length that differs from the state's is reported, whether it was asked for or stands in a damaged config.ini. */
TEST(test_another_length)
{
    static const char note[] = "long: it was a run of --epochs 2, and goes on with ";
    run_ok("train --corpus text --epochs 2 --out long" SMALL_TRAINING);
    must_tell("train --resume --out long", "~it was a run of");
    shell_ok("sed -i 's/^epochs = 2/epochs = 3/' long/config.ini");
    run_ok("train --resume --out long");
    if (!strstr(err, note)) fail_msg("%s", err);
    run_ok("train --resume --max-steps 9 --out long"); /* config.ini records the new length */
    assert_true(file_has("long/config.ini", "\nmax-steps = 9\n"));
    if (!strstr(err, "--max-steps 0, and goes on with 9") || strstr(err, "of --epochs"))
        fail_msg("%s", err);
}

/* A finished run is spared: another configuration is refused there, with the first option that differs and both values.
 * The same one, however its numbers are written, is there already. */
TEST(test_finished_run)
{
    file_text("own.scheme", "scheme own\nk1 = H(y)\ny' = y + k1\n");
    static const char again[] = "train --corpus text --epochs 1 --scheme own --scheme-file "
                                "own.scheme --out done" SMALL_TRAINING;
    static const char *const other[][2] = {
        {"--width 8", "done holds a finished run of another configuration (--width 16, now 8): "
                      "give another --out, or remove done first"},
        {"--scheme heun", "(--scheme own, now heun): give another"},
        {"--max-steps 3", "(--max-steps 0, now 3): give --resume to go on with it, another --out"},
    };
    run_ok(again);
    shell_ok("cp done/model.safetensors before");
    REFUSE_ALL("train --config done/config.ini --out done %s", other, NULL);
    assert_true(same_files("before", "done/model.safetensors") && file_exists("done/result.csv"));
    must_tell("train --config done/config.ini --rate 0.01 --seed 01 --out done",
              "is there already, in done: perplexity ");
    run_ok("train --config done/config.ini --csv --out done");
    assert_true(same_files("before", "done/model.safetensors"));
    assert_string_equal(out, file_slurp("done/log.csv", NULL));
    /* remarks are no part of a scheme */
    file_text("own.scheme", "scheme own\ntitle Euler\nsource Euler 1768\nk1 = H(y)\ny' = y + k1\n");
    run_ok(again);
    assert_true(strstr(err, "is there already") && same_files("before", "done/model.safetensors"));
    file_text("own.scheme", "scheme own\nk1 = H(y)\ny' = y + 1/2*k1\n");
    must_refuse(again, "scheme.txt has another text of own");
    assert_true(same_files("before", "done/model.safetensors"));
    forget_result(again); /* the control */
    must_tell(again, "~is there already");
    assert_false(same_files("before", "done/model.safetensors"));
}

/* A finished run is spared when its training text has changed under the same name, by one word: it is another's
 * result. */
TEST(test_changed_corpus)
{
    static const char
        alone[] = "train --corpus text --epochs 1 --out single" SMALL_TRAINING,
        study[] = "compare --corpus text --system linear --scheme euler --seeds 1 --epochs 1 "
                  "--truncation 0 --out study" SMALL_TRAINING,
        words[] = "holds a finished run of another text behind the name text, which "
                  "has changed since: give another --out, or remove ";
    run_ok(alone);
    run_ok(study);
    char *text = file_slurp("text/train.txt", NULL), *word = strstr(text, "cat");
    memcpy(word, "dog", 3);
    file_text("text/train.txt", text);
    must_refuse(alone, words);
    must_refuse(study, words);
    memcpy(word, "cat", 3); /* the control */
    file_text("text/train.txt", text);
    must_tell(alone, "is there already");
    run_ok(study);
}

/* A stopped run is spared: neither the same training nor another begins in its folder. */
TEST(test_stopped_run)
{
    static const char args[] = "train --corpus text --epochs 2 --out halted" SMALL_TRAINING;
    static const struct {
        const char *more, *words;
    } other[] = {
        {"", ": give --resume to go on with it, another --out, or remove halted first"},
        {"--scheme rk4 ",
         " of another configuration (--scheme transformer, now rk4): give another"},
        {"--clip 3 ", " of another configuration (--clip 0, now 3): give another --out"},
        {"--untested ",
         " of another configuration (--untested none, now yes): give --resume to go on with it, another"},
    };
    run_ok(args);
    assert_int_equal(unlink(file_path("halted/result.csv")), 0);
    shell_ok("cp halted/state.safetensors before");
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        must_refuse(formed("%s%s", args, other[i].more),
                    formed("halted holds a stopped run (step %.0f)%s",
                           file_number("halted/log.csv", -1, "step"), other[i].words));
        assert_true(same_files("before", "halted/state.safetensors"));
    }
    run_ok("train --resume --out halted");
    assert_true(file_exists("halted/result.csv"));
    shell_ok("rm halted/result.csv halted/state.safetensors"); /* the control */
    run_ok("%s--clip 3 ", args);
}

/* A run of the user's own scheme goes on, and is repeated, when the scheme's file is gone: its folder records the
 * scheme. */
TEST(test_own_scheme_elsewhere)
{
    static const struct {
        const char *name, *text;
    } own[] = {{"mine", "scheme mine\nk1 = H(y)\ny' = y + 1/2*k1\n"},
               {"parts", "scheme parts\nflow F\nflow G\n"}}; /* trained as parts:euler */
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        file_text("gone.scheme", own[i].text);
        shell_ok("rm -rf mine again");
        run_ok(
            "train --corpus text --epochs 1 --scheme-file gone.scheme --scheme %s --out mine" SMALL_TRAINING,
            own[i].name);
        shell_ok("cp mine/model.safetensors before && cut -d, -f1 mine/result.csv >name && "
                 "rm gone.scheme mine/result.csv");
        run_ok("train --resume --out mine");
        run_ok("train --config mine/config.ini --out again");
        assert_true(same_files("before", "mine/model.safetensors") &&
                    same_files("before", "again/model.safetensors"));
        shell_ok("cut -d, -f1 mine/result.csv | cmp - name");
        must_refuse("train --resume --scheme-file gone.scheme --out mine",
                    "cannot open gone.scheme");
        assert_int_equal(unlink(file_path("mine/scheme.txt")), 0); /* the control */
        must_refuse("train --resume --out mine", "cannot open gone.scheme");
    }
}

/* A finished run without its state cannot go on. */
TEST(test_resume_without_state)
{
    run_ok("train --corpus text --epochs 1 --out going" SMALL_TRAINING);
    run_ok("train --resume --rate 0.01 --threads 2 --max-steps 9 --out going"); /* the same run */
    assert_int_equal(unlink(file_path("going/state.safetensors")), 0);
    must_refuse("train --resume --out going", "state.safetensors is not there: a finished run");
}

/* A run that was killed before its first save begins, and says so (that it ends as an undisturbed one does:
 * tests/faults/test_goes_on.c). It is still the run that its config.ini records. In a new folder the run that the options describe begins; where only the
 * config.ini of a run is gone, none does. */
TEST(test_resume_from_nothing)
{
    static const char args[] = "train --resume --out planned";
    run_ok("train --corpus text --epochs 2 --out sound" SMALL_TRAINING);
    shell_ok(
        "mkdir planned blank unlike; cp sound/config.ini planned; cp sound/config.ini sound/scheme.txt unlike");
    must_refuse("train --resume --rate 0.5 --out planned", "(--rate 1e-2, now 0.5)");
    must_tell(args, ": no run there has saved anything yet, so this one begins\n");
    assert_same_file("sound", "planned", "config.ini", 1);
    must_tell(args, "~so this one begins"); /* control: with a state it goes on */
    must_refuse("train --resume --scheme euler --out unlike", "unlike/scheme.txt has another");
    assert_false(file_exists("unlike/log.csv"));
    for (int i = 0; i < 2; i++) {
        const char *new = i ? "never/was" : "blank";
        run_ok("train --resume --corpus text --epochs 2 --out %s" SMALL_TRAINING, new);
        HAS(err, ": no run there has saved anything yet, so this one begins\n");
        assert_same_file("sound", new, "config.ini", 1);
        assert_same_file("sound", new, "model.safetensors", 1);
    }
    assert_int_equal(unlink(file_path("blank/config.ini")), 0);
    must_refuse("train --resume --out blank", "blank/config.ini is not there: it has the options");
}

/* log.jsonl and TensorBoard's events say what log.csv says, also of a run that went on without them, or with damaged ones, and
 * of masked words, whose rows have a word. The control: an event of another number. */
TEST(test_log_forms)
{
    need_tool("python3");
    run_ok("train --corpus text --epochs 2 --out forms" SMALL_TRAINING);
    run_ok("train --corpus text --epochs 1 --objective masked --out masked-forms" SMALL_TRAINING);
    shell_ok("cd forms && rm log.jsonl && echo >events.out.tfevents");
    run_ok("train --resume --out forms --epochs 3");
    for (int i = 0; i < 2; i++) {
        const char *dir = i ? "masked-forms" : "forms";
        shell_ok("python3 \"$OLDPWD/tests/python/log_forms.py\" %s", dir);
        shell_ok("sed -i '$s/[0-9.]*,/9,/2' %s/log.csv", dir);
        assert_int_not_equal(shell("python3 \"$OLDPWD/tests/python/log_forms.py\" %s", dir), 0);
    }
    shell_ok("grep -q '\"objective\": \"masked\"}' masked-forms/log.jsonl && "
             "grep -q '\"valid_ppl\": null' forms/log.jsonl");
    /* a stranger's log has hundreds of columns, and a FIFO is not waited for */
    shell_ok("cd forms && for x in a 1; do yes $x | head -500 | paste -sd, -; done >log.csv");
    run_ok("train --resume --out forms --epochs 4");
    shell_ok("cd forms && rm log.jsonl && mkfifo log.jsonl");
    expect(1, "train --resume --out forms --epochs 5");
    HAS(err, "forms/log.jsonl: No such device or address");
}

#define GIVE \
    ": give a file that can be read and written, or remove it, and the run goes on with a new one"

/* A run goes on only with its log: one that cannot be opened, read or cut stays as it is, as does what a symbolic link leads
 * to. One that is missing, or has no whole line, begins anew. A new training follows no link either. */
TEST(test_log)
{
    static const char link[] = "log.csv: it is a symbolic link, which is not followed";
    static const struct {
        const char *make, *words; /* NULL: the log begins anew */
    } list[] = {{"mkdir log.csv", "log.csv: Is a directory" GIVE},
                {"mkfifo log.csv", "log.csv: Resource temporarily unavailable" GIVE},
                {"ln -s ../kept log.csv", link},
                {"ln -s ../nowhere log.csv", link},
                {":", NULL},
                {": >log.csv", NULL},
                {"printf step,epo >log.csv", NULL}};
    run_ok("train --corpus text --epochs 2 --out whole" SMALL_TRAINING);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const char *words = list[i].words;
        shell_ok("rm -rf logged && cp -r whole logged && cp whole/log.csv kept && cd logged && "
                 "rm log.csv result.csv && %s",
                 list[i].make);
        int status = program_run("train --resume --out logged --epochs 3");
        if (status != (!words ? 0 : words == link ? 2 : 1)) fail_msg("%d: %s", status, err);
        if (words) HAS(err, formed("trotter train: logged/%s", words));
        if (words == link) HAS(err, GIVE);
        shell_ok(words ? "cmp whole/state.safetensors logged/state.safetensors"
                       : "head -1 kept >head; head -1 logged/log.csv | cmp - head && "
                         "sed -n 2p logged/log.csv | grep -q '^[0-9]*,3,'");
        if (words == link) {
            shell_ok("rm logged/state.safetensors");
            must_refuse("train --config whole/config.ini --out logged", link);
            HAS(err, "~" GIVE);
        }
        shell_ok("cmp whole/log.csv kept && [ ! -e nowhere ]");
    }
#undef GIVE
}

/* ---- studies of an older program --------------------------------------------------------------- */

#define OLDER                                                                             \
    "compare --scheme transformer,heun-layer --seeds 2 --corpus markov:8 --width 8 "      \
    "--inner 8 --heads 2 --sequence 8 --batch-tokens 64 --max-steps 400 --eval-every 50 " \
    "--eval-tokens 400 --rate 2e-2 --warmup 20 --activation gelu --truncation 2 "         \
    "--system linear --precision f64 --threads 1 --out "

/* Copies the stopped study, which is read-only in some checkouts. */
static void copy_older(const char *to)
{
    shell_ok("cp -r %s/stopped %s && chmod -R u+w %s", older, to, to);
}

/* Tells whether a cell is the older one: a text as it stands; a number to 1e-6 of it, as kernels of other instruction sets
 * round otherwise (in double precision this study's numbers differ by 1e-13). The 1e-12 are for `check`, which is rounding
 * alone. */
static int same_cell(const char *was, const char *is)
{
    char *end, *other;
    double a = strtod(was, &end), b = strtod(is, &other);
    if (end == was || *end || other == is || *other) return strcmp(was, is) == 0;
    return fabs(a - b) <= 1e-6 * fabs(a) + 1e-12;
}

/* Holds a table of the study to the one that the older program ended with: all rows, and all of its columns but speed and
 * memory. New columns may have come. */
static void assert_older_table(const char *file)
{
    char *was = path_slurp(formed("%s/ended/%s", older, file), NULL),
         *is = file_slurp(formed("goes-on/%s", file), NULL),
         *names = kept_text(strndup(was, strcspn(was, "\n"))), *next;
    int rows = count_lines(was);
    assert_int_equal(count_lines(is), rows);
    for (char *name = strtok_r(names, ",", &next); name; name = strtok_r(NULL, ",", &next)) {
        if (strstr(name, "tokens_per_s") || strstr(name, "peak_bytes")) continue;
        for (int i = 1; i < rows; i++)
            if (!same_cell(cell_of(was, i, name), cell_of(is, i, name)))
                fail_msg("%s, row %d: %s was %s and is %s", file, i, name, cell_of(was, i, name),
                         cell_of(is, i, name));
    }
}

/* A study that the program of commit b030944d (November 2026) began and was stopped in goes on with today's, and ends with
 * the tables that the older program made of it without a stop. Its finished run is not trained again: all its files stay. The
 * one in the middle goes on from its checkpoint: the rows of its log.csv, which have times, stay. */
TEST(test_older_program)
{
    copy_older("goes-on");
    run_ok(OLDER "goes-on");
    must_count("goes-on", ": trains transformer-seed1", 1);
    must_count("goes-on", ": trains heun-layer-seed1", 1);
    must_count("goes-on", ": goes on with heun-layer-seed1", 1);
    shell_ok("cd %s/stopped/runs/transformer-seed1 && for f in *; do cmp $f "
             "%s/goes-on/runs/transformer-seed1/$f || exit 1; done",
             older, folder);
    shell_ok("f=runs/heun-layer-seed1/log.csv; head -4 goes-on/$f | cmp - %s/stopped/$f", older);
    assert_older_table("runs.csv");
    assert_older_table("compare.csv");
}

/* Where a recorded option of the older study is another, it is refused, and its files stay. */
TEST(test_older_options)
{
    static const char *const list[][2] = {
        {"config.ini", "spoiled holds a study of other options (--rate 1e-2, now 2e-2): give "
                       "another --out, or remove spoiled first"},
        {"runs/transformer-seed1/config.ini",
         "spoiled/runs/transformer-seed1 holds a finished run of another configuration (--rate "
         "1e-2, now 2e-2): give another --out, or remove "},
        {"runs/heun-layer-seed1/config.ini",
         "spoiled/runs/heun-layer-seed1 holds a stopped run (step 150) of another configuration "
         "(--rate 1e-2, now 2e-2): give another --out, or remove "},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        copy_older("spoiled");
        spoil(formed("spoiled/%s", list[i][0]), "rate = 2e-2", "rate = 1e-2");
        must_refuse(OLDER "spoiled", list[i][1]);
        shell_ok("cd %s/stopped/runs && for f in */*.safetensors */log.csv; do cmp $f "
                 "%s/spoiled/runs/$f || exit 1; done",
                 older, folder);
        forget("spoiled");
    }
}

static int begin(void **state)
{
    if (!realpath("tests/older", older) || program_open(state) != 0) return -1;
    corpus_write("text", 600, 60);
    return 0;
}

TEST_MAIN(begin, program_close)
