/* test_cli_train.c: trainings and comparisons as a user runs them: their files stay whole, and their models are read
 * back. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

/* ---- training ------------------------------------------------------------------------------------ */

/* Returns column `n` (from 0) of the second line of a CSV text. */
static double column(const char *csv, int n)
{
    const char *c = strchr(csv, '\n') + 1;
    while (n--) c = strchr(c, ',') + 1;
    return strtod(c, NULL);
}

TEST(test_train_and_eval)
{
    corpus_write("text", 600, 60);
    run_ok("train --corpus text --epochs 2 --positions both --untied --activation gelu --scheme "
           "strang-marchuk:heun --out model" SMALL_TRAINING);
    assert_int_equal(rename(file_path("model"), file_path("moved")), 0);
    char *result = file_slurp("moved/result.csv", NULL);
    run_ok("eval --model moved --text text/valid.txt --csv --logits l.npy --max-tokens 7");
    /* the same numbers in the same order: only batches may round differently */
    double ppl = column(out, 2), valid = column(result, 5);
    assert_true(fabs(ppl - valid) <= 1e-5 * valid);
    assert_true(fabs(exp(column(out, 1)) - ppl) <= 1e-12 * ppl);
    free(result);
    size_t bytes;
    char *npy = file_slurp("l.npy", &bytes);
    assert_non_null(strstr(npy + 10, "(7, 11)"));
    assert_int_equal(bytes, 128 + 4 * 7 * 11);
    free(npy);
    assert_null(strstr(err, "<unk>"));
    must_refuse("eval --model moved --text whole/nowhere.txt", "nowhere.txt");
    must_refuse("eval --model nowhere --text text/valid.txt --logits no/place.npy",
                "cannot write no/place.npy: No such file");
    shell_ok(
        "{ ulimit -f 0; %s eval --model moved --text text/valid.txt --csv --logits l.npy 2>&1; } "
        "| cat >told; grep -q '^tokens,nll,ppl$' told && grep -q 'l.npy' told",
        program);
}

static void spoil(const char *from, const char *to, size_t keep, size_t flip)
{
    size_t n;
    char *bytes = file_slurp(from, &n);
    if (flip < n) bytes[flip] ^= 0x10;
    file_write(to, bytes, keep < n ? keep : n);
    free(bytes);
}

TEST(test_spoiled_model)
{
    corpus_write("text", 600, 60);
    run_ok("train --corpus text --epochs 1 --out fine" SMALL_TRAINING);
    mkdir(file_path("spoiled"), 0777);
    shell_ok("cp fine/vocab.txt spoiled/vocab.txt");
    shell_ok("cp fine/model.safetensors spoiled/model.safetensors");
    run_ok("eval --model spoiled --text text/test.txt");
    spoil("fine/model.safetensors", "spoiled/model.safetensors", 5000, SIZE_MAX); /* truncated */
    must_refuse("eval --model spoiled --text text/test.txt", "model.safetensors");
    size_t n;
    free(file_slurp("fine/model.safetensors", &n));
    spoil("fine/model.safetensors", "spoiled/model.safetensors", n, n - 3); /* a weight altered */
    must_refuse("eval --model spoiled --text text/test.txt", "model.safetensors");
    spoil("fine/model.safetensors", "spoiled/model.safetensors", n, 5); /* the header's length */
    must_refuse("eval --model spoiled --text text/test.txt", "model.safetensors");
}

TEST(test_full_disk)
{
    corpus_write("text", 600, 60);
    run_ok("train --corpus text --epochs 1 --out full" SMALL_TRAINING);
    shell_ok("cp full/model.safetensors before");
    forget_result("--out full"); /* or another run is refused there */
    int status =
        shell("ulimit -f 8; %s train --corpus text --epochs 1 --seed 2 --out full" SMALL_TRAINING,
              program);
    assert_int_equal(status, 1);
    assert_int_equal(strncmp(last_line(err), "trotter train: ", 15), 0);
    assert_true(same_files("before", "full/model.safetensors"));
    run_ok("train --corpus text --epochs 1 --seed 2 --out full" SMALL_TRAINING); /* the control */
    assert_false(same_files("before", "full/model.safetensors"));
}

TEST(test_not_finite)
{
    corpus_write("text", 600, 60);
    file_text("boom.scheme", "scheme boom\nk1 = H(y)\ny' = y + 10^40*k1\nscheme calm\nk1 = H(y)\n"
                             "y' = y + k1\n");
    expect(1,
           "train --corpus text --scheme boom --scheme-file boom.scheme --out boom" SMALL_TRAINING);
    assert_non_null(strstr(last_line(err), "epoch"));
    assert_non_null(strstr(last_line(err), "finite"));
    run_ok("train --corpus text --scheme calm --scheme-file boom.scheme --epochs 1 --out "
           "boom" SMALL_TRAINING);
}

/* Models of every context, precision and kind of positions are trained and rebuilt from their files. */
TEST(test_train_variants)
{
    static const char *const variant[] = {
        "--context sentence --positions relative",
        "--precision f64 --positions none --layers 2 --scheme ab2",
        "--match none --masks step --clip 1 --scheme word:ssfsff --vocabulary 8",
        "--scheme rk2-gate --layers 2 --warmup 0",
        "--schedule cosine --end-rate 1e-3 --accumulate 2 --average 2 --epochs 2",
        "--norm post --scheme macaron --layers 2 --recompute",
        "--label-smoothing 0.1 --weight-decay 0.1",
        "--adaptive 3,5 --accumulate 2 --scheme rk2-gate --positions both",
        "--adaptive 3,6 --adaptive-factor 2 --untied --label-smoothing 0.1",
        "--adaptive 4 --adaptive-factor 2 --norm post --recompute --context sentence",
        "--span 5 --span-ramp 2 --span-loss 0.01 --positions both --recompute",
        "--span 40 --context sentence --scheme heun --accumulate 2",
    };
    corpus_write("text", 600, 60);
    for (size_t i = 0; i < sizeof variant / sizeof *variant; i++) {
        char args[512];
        snprintf(args, sizeof args, "train --corpus text --out kind" SMALL_NETWORK "%s%s%s",
                 variant[i], strstr(variant[i], "--epochs") ? "" : " --epochs 1",
                 strstr(variant[i], "--warmup") ? "" : " --warmup 10");
        run_ok(args);
        char *result = file_slurp("kind/result.csv", NULL);
        run_ok("eval --model kind --text text/test.txt --csv");
        forget_result("--out kind"); /* room for the next */
        double ppl = column(out, 2), test = column(result, 6);
        assert_true(fabs(ppl - test) <= 1e-5 * test);
        free(result);
    }
}

/* A model's file holds the options that decide its function: defaults where no option is given, the given values
 * elsewhere. */
TEST(test_defaults_told)
{
    static const char *const given[] = {"", " --span-ramp 8 --adaptive-factor 2"};
    static const char *const told[2][3] = {
        {"\"span-ramp\":\"32\"", "\"adaptive-factor\":\"4\"", "\"gelu\":\"tanh\""},
        {"\"span-ramp\":\"8\"", "\"adaptive-factor\":\"2\"", "\"gelu\":\"tanh\""}};
    corpus_write("text", 600, 60);
    for (int i = 0; i < 2; i++) {
        char args[512], path[64], dir[16];
        size_t bytes;
        snprintf(dir, sizeof dir, "told%d", i);
        snprintf(args, sizeof args,
                 "train --corpus text --epochs 1 --activation gelu --span 5 --adaptive 4%s --out "
                 "%s" SMALL_TRAINING,
                 given[i], dir);
        run_ok(args);
        snprintf(path, sizeof path, "%s/model.safetensors", dir);
        char *file = file_slurp(path, &bytes);
        for (int k = 0; k < 3; k++)
            if (!memmem(file, bytes, told[i][k], strlen(told[i][k])))
                fail_msg("%s has no %s", path, told[i][k]);
        free(file);
    }
}

/* A multistep scheme in too few layers is reported to be another one; a scheme that has its history is not. */
TEST(test_no_history)
{
    static const struct {
        const char *args, *words; /* NULL: nothing */
    } of[] = {{"ab2 --layers 1", "ab2 reads 1 step back, and there is 1 layer:"},
              {"ab3 --layers 2", "ab3 reads 2 steps back, and there are 2 layers:"},
              {"ab2 --layers 2", NULL},
              {"heun --layers 1", NULL}};
    corpus_write("text", 600, 60);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char args[256];
        snprintf(args, sizeof args,
                 "train --corpus text --max-steps 1 --out history%zu --scheme %s" SMALL_TRAINING, i,
                 of[i].args);
        run_ok(args);
        if (of[i].words ? !strstr(err, of[i].words) : strstr(err, " back, and there ") != NULL)
            fail_msg("%s: %s", args, err);
    }
}

/* config.ini of a run makes the same run again. */
TEST(test_replay)
{
    corpus_write("text", 600, 60);
    run_ok(
        "train --corpus text --epochs 1 --scheme macaron --dropout 0.2 --out first" SMALL_TRAINING);
    run_ok("train --config first/config.ini --out second");
    assert_true(same_files("first/model.safetensors", "second/model.safetensors"));
    assert_true(same_files("first/config.ini", "second/config.ini"));
    run_ok("train --config first/config.ini --dropout 0.1 --out third");
    assert_false(same_files("first/model.safetensors", "third/model.safetensors"));
}

/* Returns the rate in the last row of a run's log. */
static double last_rate(const char *log)
{
    char *text = file_slurp(log, NULL);
    const char *c = last_line(text);
    for (int n = 0; n < 5; n++) c = strchr(c, ',') + 1;
    double rate = strtod(c, NULL);
    free(text);
    return rate;
}

/* Each schedule is the one that its name says, which shows in where it ends. All ways of training and the place of the
 * norms are recorded, come back from config.ini and have an effect. */
TEST(test_replay_ways)
{
    corpus_write("text", 600, 60);
    run_ok("train --corpus text --epochs 2 --schedule constant --out flat" SMALL_TRAINING);
    run_ok("train --corpus text --epochs 2 --schedule linear --out line" SMALL_TRAINING);
    run_ok("train --corpus text --epochs 2 --schedule cosine --end-rate 1e-3 --accumulate 2 "
           "--average 2 --norm post --label-smoothing 0.1 --weight-decay 0.1 --out "
           "ways" SMALL_TRAINING);
    assert_true(last_rate("flat/log.csv") == 1e-2 && last_rate("line/log.csv") == 0);
    assert_true(last_rate("ways/log.csv") == 1e-3);
    run_ok("train --config ways/config.ini --out ways-again");
    assert_true(same_files("ways/model.safetensors", "ways-again/model.safetensors"));
    assert_true(same_files("ways/config.ini", "ways-again/config.ini"));
    static const char *const other[] = {"--accumulate 1", "--average 0", "--norm pre",
                                        "--label-smoothing 0", "--weight-decay 0"};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        char args[128];
        snprintf(args, sizeof args, "train --config ways/config.ini %s --out ways-other", other[i]);
        run_ok(args);
        assert_false(same_files("ways/model.safetensors", "ways-other/model.safetensors"));
        forget_result("--out ways-other");
    }
}

/* Returns the epochs of a run: rows of its log with a validation perplexity. *since becomes the number of epochs after
 * the best. */
static long epochs_of(const char *log, long *since)
{
    char *text = file_slurp(log, NULL);
    double best = INFINITY, ppl;
    long epoch = 0;
    *since = 0;
    for (const char *row = strchr(text, '\n'); row && row[1]; row = strchr(row + 1, '\n')) {
        if (sscanf(row, "\n%*[^,],%ld,%*[^,],%*[^,],%lf", &epoch, &ppl) != 2) continue;
        *since = ppl < best ? 0 : *since + 1;
        if (ppl < best) best = ppl;
    }
    free(text);
    return epoch;
}

/* A run of --patience N ends where N epochs have not been better, and resuming it does not go farther. */
TEST(test_patience)
{
    static const char train[] =
        "train --corpus markov:16 --rate 0.1 --warmup 0 --schedule constant --epochs 10 --width 16 "
        "--inner 32 --heads 2 --sequence 16 --batch-tokens 256 --threads 1 %s";
    char line[512];
    long since, all;
    snprintf(line, sizeof line, train, "--out patient");
    run_ok(line);
    all = epochs_of("patient/log.csv", &since);
    assert_int_equal(all, 10);
    assert_true(since >= 3);
    for (long n = 1; n <= 3; n++) {
        snprintf(line, sizeof line, train, "--out hasty --patience ");
        sprintf(line + strlen(line), "%ld", n);
        run_ok(line);
        assert_true(epochs_of("hasty/log.csv", &since) < all);
        assert_int_equal(since, n);
        must_refuse("train --out hasty --resume --patience 9",
                    "the run in hasty goes on only with its own options (--patience ");
        run_ok("train --out hasty --resume");
        epochs_of("hasty/log.csv", &since);
        assert_int_equal(since, n);
        forget_result("--out hasty");
    }
}

/* The only scheme of a file needs no name; of several, one is to be chosen. config.ini records it. */
TEST(test_scheme_of_file)
{
    corpus_write("text", 600, 60);
    file_text("one.scheme", "scheme mine\nk1 = H(y)\ny' = y + 1/2*k1\n");
    file_text("two.scheme", "scheme a\nk1 = H(y)\ny' = y + k1\nscheme b\nk1 = H(y)\ny' = y - k1\n");
    run_ok("train --corpus text --epochs 1 --scheme-file one.scheme --out only" SMALL_TRAINING);
    run_ok(
        "train --corpus text --epochs 1 --scheme-file one.scheme --scheme mine --out only" SMALL_TRAINING);
    assert_non_null(strstr(err, "mine, seed 1: is there already"));
    shell_ok(
        "grep -q '^scheme = mine$' only/config.ini && grep -q '^scheme mine$' only/scheme.txt");
    must_refuse("train --corpus text --scheme-file two.scheme --out both" SMALL_TRAINING,
                "--scheme is needed: one scheme is trained at a time, and --scheme-file has a,b");
    run_ok(
        "train --corpus text --epochs 1 --scheme-file two.scheme --scheme euler --out both" SMALL_TRAINING);
}

/* A training warns before it begins where its rate never reaches the peak, and at its end where word frequencies alone
 * are as good. */
TEST(test_warnings)
{
    corpus_write("text", 600, 60);
    expect(1, "train --corpus text --epochs 1 --max-steps 3 --out poor" SMALL_TRAINING);
    const char *at = strstr(err, "warning: --warmup 10: the whole training has 3 steps"),
               *memory = strstr(err, "memory of the model"), *last = strstr(err, "; in poor");
    assert_true(at && memory && at < memory);
    assert_true(last && strstr(last, "on validation is no better than word frequencies alone, "));
    expect(
        1,
        "train --corpus text --epochs 1 --max-steps 3 --out poor" SMALL_TRAINING); /* is there already */
    shell_ok(
        "test $(grep -c 'no better than word frequencies alone, .*; warning: --warmup 10: ' poor/commands.csv) = 1");
    run_ok("report poor --out poor.html");
    shell_ok("grep -q 'verdict bad.*ended with status 1: perplexity .* no better than' poor.html");
    /* the control */
    expect(0, "train --corpus text --epochs 12 --out good" SMALL_TRAINING);
    assert_null(strstr(err, "warning: --warmup"));
    assert_null(strstr(err, "no better than"));
    run_ok("report good --out good.html");
    shell_ok(
        "grep -q 'verdict good' good.html && ! grep -q 'verdict warned\\|verdict bad' good.html");
}

/* Perplexities of the first tokens of valid and test are those of texts that hold no more. The rest of the run is the
 * same, and config.ini records --eval-tokens only where it was given. */
TEST(test_eval_tokens)
{
    corpus_write("text", 600, 60);
    corpus_write("few", 600, 60);
    shell_ok("for t in valid test; do head -n 2 text/$t.txt >few/$t.txt; done");
    run_ok("train --corpus few --epochs 2 --out of-few" SMALL_TRAINING);
    run_ok("train --corpus text --epochs 2 --out of-all" SMALL_TRAINING);
    run_ok("train --corpus text --epochs 2 --eval-tokens 8 --out of-part" SMALL_TRAINING);
    assert_non_null(strstr(err, " on the first 8 tokens of validation, "));
    char *few = file_slurp("of-few/result.csv", NULL),
         *part = file_slurp("of-part/result.csv", NULL);
    char *all = file_slurp("of-all/result.csv", NULL), *config;
    size_t same = 0, end = strlen(part); /* up to the speed */
    for (int commas = 2; commas; commas -= part[end] == ',') end--;
    while (same < end && few[same] == part[same]) same++;
    if (same != end) fail_msg("%s is not %s", part, few);
    assert_int_not_equal(strncmp(all, part, end), 0);
    config = file_slurp("of-all/config.ini", NULL);
    assert_null(strstr(config, "eval-tokens"));
    free(config);
    config = file_slurp("of-part/config.ini", NULL);
    assert_non_null(strstr(config, "\neval-tokens = 8\n"));
    free(config);
    free(few);
    free(part);
    free(all);
    must_refuse("train --resume --eval-tokens 9 --out of-part", "(--eval-tokens 8, now 9)");
}

/* Learnt spans are a row a head in spans.csv, which train and eval report and a run without spans removes. A run that
 * stops and resumes has the spans of one that does not. The term of the loss makes them shorter. */
TEST(test_spans)
{
    static const char head[] = "layer,set,head,span\n";
    corpus_write("text", 600, 60);
#define SPANS " --span 12 --span-ramp 4 --layers 2 --dropout 0.1" SMALL_TRAINING
    run_ok("train --corpus text --epochs 4 --span-loss 0 --out once" SPANS);
    run_ok("train --corpus text --epochs 2 --span-loss 0 --out twice" SPANS);
    run_ok("train --resume --epochs 4 --out twice");
    assert_true(same_files("once/spans.csv", "twice/spans.csv"));
    char *log = file_slurp("once/log.csv", NULL), *again = file_slurp("twice/log.csv", NULL);
    const char *row = last_line(log);
    size_t all_but_speed = (size_t)(strrchr(row, ',') - row);
    assert_true(all_but_speed > 40 && strncmp(row, last_line(again), all_but_speed) == 0);
    free(log);
    free(again);
    char *free_spans = file_slurp("once/spans.csv", NULL);
    assert_memory_equal(free_spans, head, sizeof head - 1);
    double sum = 0;
    int rows = 0;
    for (const char *line = strchr(free_spans, '\n'); line[1]; line = strchr(line + 1, '\n')) {
        sum += strtod(strchr(strchr(strchr(line, ',') + 1, ',') + 1, ',') + 1, NULL);
        rows++;
    }
    assert_true(rows == 4 && sum > 0); /* 2 layers of 2 heads */
    run_ok("eval --model once --text text/test.txt --csv");
    assert_non_null(strstr(err, "spans of layer 1, set 1: "));
    assert_non_null(strstr(err, "of 12 at most"));
    expect(2, "train --resume --epochs 5 --span-loss 1 --out twice");
    run_ok("train --corpus text --epochs 4 --span-loss 100 --out short" SPANS);
    char *short_spans = file_slurp("short/spans.csv", NULL);
    assert_string_equal(short_spans, "layer,set,head,span\n0,1,0,0\n0,1,1,0\n1,1,0,0\n1,1,1,0\n");
    forget_result("--out short"); /* a finished run would be spared */
    run_ok("train --corpus text --epochs 1 --out short" SMALL_TRAINING);
    assert_false(file_exists("short/spans.csv"));
    free(free_spans);
    free(short_spans);
#undef SPANS
}

TEST(test_train_csv)
{
    corpus_write("text", 600, 60);
    run_ok("train --corpus text --epochs 2 --csv --out rows" SMALL_TRAINING);
    char *log = file_slurp("rows/log.csv", NULL);
    assert_string_equal(out, log);
    assert_int_equal(
        strncmp(log, "step,epoch,tokens,train_loss,valid_ppl,rate,grad_norm,tokens_per_s\n", 67),
        0);
    assert_non_null(strstr(last_line(err), "perplexity"));
    free(log);
}

/* One file is split by lines and gives the model of a directory that has these lines in three files, sums and all. eval
 * knows the parts from the model. */
TEST(test_one_file)
{
    static const char *const kind[] = {"", "--level char ", "--bpe 8 ", "--vocabulary 8 "};
    corpus_write("text", 600, 60);
    shell_ok("cat text/train.txt text/valid.txt text/test.txt > one.txt");
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        char line[512];
        snprintf(line, sizeof line, "%s--out single" SMALL_TRAINING, kind[i]);
        shell_ok("rm -rf single three");
        if (shell("%s train --corpus one.txt --parts 10,1,1 --epochs 1 %s", program, line) != 0)
            fail_msg("%s", err);
        assert_true(
            says("one.txt: lines 1 to 600 for training, lines 601 to 660 for validation, lines "
                 "661 to 720 for test"));
        snprintf(line, sizeof line, "train --corpus text --epochs 1 %s--out three" SMALL_TRAINING,
                 kind[i]);
        run_ok(line);
        shell_ok("for d in single three; do tail -c 8000 $d/model.safetensors > $d/end; done");
        assert_true(same_files("single/end", "three/end"));
        run_ok("eval --model single --corpus one.txt --split test --csv");
        char *one = strdup(out);
        run_ok("eval --model three --corpus text --split test --csv");
        assert_string_equal(out, one);
        run_ok(
            "eval --model single --corpus text --split test --csv"); /* directories have no parts */
        assert_string_equal(out, one);
        free(one);
    }
    run_ok("data --corpus one.txt --split 10,1,1 --csv"); /* another name of the file */
    char *split = strdup(out);
    run_ok("data --corpus one.txt --parts 8,2,2 --csv");
    assert_string_not_equal(out, split);
    run_ok("data --corpus one.txt --parts 10,1,1 --csv");
    assert_string_equal(out, split);
    free(split);
    const char *sum = strrchr(out, ',') + 1;
    shell_ok("echo %.64s > told; sha256sum text/test.txt | cut -c1-64 > sum", sum);
    assert_true(same_files("told", "sum"));
    must_refuse("train --corpus one.txt --parts 8,1 --out other" SMALL_TRAINING,
                "--parts: expected three shares");
    must_refuse("train --corpus one.txt --parts 8,1,0 --out other" SMALL_TRAINING, "--parts: ");
    must_refuse("train --corpus text --parts 8,1,1 --out other" SMALL_TRAINING,
                "no single text file");
}

/* --log writes as many lines as log.csv has rows, at the end of a resumed run too. A file that is something else
 * stays. */
TEST(test_json_log)
{
    corpus_write("text", 600, 60);
    run_ok(
        "train --corpus text --epochs 2 --eval-every 4 --log lines/log.jsonl --out lines" SMALL_TRAINING);
    run_ok("train --resume --epochs 3 --log lines/log.jsonl --out lines");
    char *log = file_slurp("lines/log.csv", NULL), *lines = file_slurp("lines/log.jsonl", NULL);
    assert_int_equal(count_lines(lines), count_lines(log) - 1);
    assert_int_equal(strncmp(lines, "{\"step\": 1, \"epoch\": 1, \"seconds\": ", 35), 0);
    assert_true(strstr(lines, "\"valid_ppl\": null,") && !strstr(lines, "nan"));
    free(log);
    free(lines);
    file_text("thesis.txt", "My thesis.\n");
    must_refuse("train --corpus text --log thesis.txt --out other" SMALL_TRAINING, "thesis.txt: ");
    must_refuse("train --corpus text --log no/where --out other" SMALL_TRAINING, "no/where: ");
    char *kept = file_slurp("thesis.txt", NULL);
    assert_string_equal(kept, "My thesis.\n");
    free(kept);
}

/* ---- compare ------------------------------------------------------------------------------------- */

TEST(test_compare)
{
    need_tool("gnuplot");
    static const char args[] =
        "compare --corpus text --scheme euler,lie-trotter --seeds 2 --epochs 2 --csv --out "
        "both" SMALL_TRAINING;
    static const char brief[] =
        "compare --corpus text --scheme euler,lie-trotter --seeds 2 --epochs 2 --out both" SMALL_TRAINING;
    char all[256];
    corpus_write("text", 600, 60);
    run_ok(args);
    char *first = strdup(out);
    assert_non_null(strstr(first, "\nlie-trotter:euler,1,attention,"));
    assert_non_null(strstr(first, "\nunigram,"));
    assert_true(file_exists("both/compare.md") && file_exists("both/perplexity.png") &&
                file_exists("both/curves.svg") && file_exists("both/work.svg"));
    run_ok(args); /* reads the runs of the first */
    assert_string_equal(out, first);
    assert_non_null(strstr(err, "there already"));
    free(first);
    /* Two designs are told in 25 lines; all words on request, and in compare.md. */
    run_ok(brief);
    assert_true(count_lines(out) <= 25 && strstr(out, "Less euler") && !strstr(out, "Rank corr"));
    snprintf(all, sizeof all, "%s --explain", brief);
    run_ok(all);
    assert_true(count_lines(out) > 40 && strstr(out, "Differences from euler have 95 % intervals"));
    shell_ok("grep -q 'Differences from euler have 95 %% intervals' both/compare.md");
    expect(1, "compare --corpus text --scheme euler --seeds 1 --epochs 1 --max-steps 1 --rate 1e-9 "
              "--width 16 --inner 32 --heads 2 --threads 1 --out untrained");
    assert_non_null(strstr(last_line(err), "word frequencies"));
}

TEST_MAIN(program_open, program_close)
