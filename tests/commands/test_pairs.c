/* test_pairs.c: an encoder and a decoder as a user trains them on pairs of lines, stops, resumes and reads them back;
 * and refusals. */
#include "tests/lib/test.h"

#include <signal.h>
#include <time.h>

#include "nn/nn.h"
#include "tests/lib/program.h"

#define TINY " --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 208 --threads 1 "
#define SHORT TINY "--rate 1e-2 --warmup 10 --max-steps 40 "
#define PAIRS "train --corpus reverse:6"

/* Returns the cell of the last line of a CSV text in the column of this name; NaN where it is empty. */
static double cell(const char *csv, const char *name)
{
    const char *head = csv, *row = last_line(csv);
    size_t n = strlen(name);
    for (;; head = strchr(head, ',') + 1, row = strchr(row, ',') + 1) {
        if (strncmp(head, name, n) == 0 && strchr(",\n", head[n])) break;
        if (head + strcspn(head, ",\n") >= strchr(csv, '\n'))
            fail_msg("no column %s: %s", name, csv);
    }
    return strchr(",\n", *row) ? NAN : strtod(row, NULL);
}

static double result_of(const char *dir, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/result.csv", dir);
    char *text = file_slurp(path, NULL);
    double x = cell(text, name);
    free(text);
    return x;
}

/* ---- the measure --------------------------------------------------------------------------------- */

/* Sets the tensors of a safetensors file whose names contain both words to zero and returns their number. Removes the
 * file's checksum. */
static int zero_tensors(const char *file, const char *first, const char *second)
{
    size_t bytes;
    uint64_t head;
    int found = 0;
    char *all = file_slurp(file, &bytes);
    memcpy(&head, all, sizeof head);
    char *json = all + sizeof head, *data = json + head, end = *data;
    *data = '\0'; /* file_slurp ends its texts with NUL, but this one has NUL in the middle */
    char *sum = strstr(json, "\"checksum\"");
    assert_non_null(sum);
    sum[1] = 'x';
    for (char *c = json; (c = strstr(c, "\"data_offsets\":["));) {
        unsigned long from, to;
        char name[96] = "", *key = c;
        assert_int_equal(sscanf(c, "\"data_offsets\":[%lu,%lu]", &from, &to), 2);
        while (*key != '{') key--; /* "name":{"dtype":..., "data_offsets":... */
        for (key -= 3; *key != '"'; key--) continue;
        sscanf(key, "\"%95[^\"]", name);
        c++;
        if (!strstr(name, first) || !strstr(name, second)) continue;
        if (from == 0) end = 0;
        memset(data + from, 0, to - from);
        found++;
    }
    *data = end;
    file_write(file, all, bytes);
    free(all);
    return found;
}

static double exact_of(const char *dir, const char *corpus)
{
    char line[256];
    snprintf(line, sizeof line, "eval --model %s --corpus %s --csv", dir, corpus);
    run_ok(line);
    return cell(out, "exact");
}

/* Trains with `arguments`. Then eval finds at least `most` of the pairs exact, and at most `least` where
 * cross-attention's output is zero. */
static void measure(const char *arguments, const char *corpus, double most, double least)
{
    char line[512];
    snprintf(line, sizeof line, "train --corpus %s %s --out learnt", corpus, arguments);
    run_ok(line);
    double valid = result_of("learnt", "valid_exact"), test = result_of("learnt", "test_exact");
    shell_ok("rm -rf deaf same; cp -r learnt deaf; cp -r learnt same");
    assert_int_equal(zero_tensors("deaf/model.safetensors", "decoder.", "cross.1.out."), 2);
    assert_int_equal(zero_tensors("same/model.safetensors", "no such", ""), 0); /* the control */
    double deaf = exact_of("deaf", corpus);
    print_message("# exact: %.1f %% of validation, %.1f %% of test; without the output of "
                  "cross-attention %.1f %%\n",
                  100 * valid, 100 * test, 100 * deaf);
    assert_true(valid >= most && test >= most && exact_of("learnt", corpus) >= most);
    assert_true(exact_of("same", corpus) >= most);
    assert_true(deaf <= least);
}

/* A small network learns to reverse and exchange 12 symbols in some seconds. It knows the source by cross-attention
 * alone: the places of a target are independent of each other, so without it one pair in 8^12 is exact. */
TEST(reversal_is_learnt_by_cross_attention)
{
    measure("--width 32 --inner 64 --heads 4 --batch-tokens 512 --rate 5e-3 --warmup 100 --dropout "
            "0 --epochs 2",
            "reverse:8", 0.95, 0.05);
}

/* The same holds for 26 symbols with the default options. It takes all cores for half a minute. */
TEST(whole_reversal)
{
    if (!getenv("TROTTER_WHOLE")) {
        print_message("# SKIP it is long: TROTTER_WHOLE=1 runs it\n");
        skip();
    }
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    shell_ok("rm -rf learnt");
    measure("--epochs 8", "reverse:26", 0.99, 0.02);
    clock_gettime(CLOCK_MONOTONIC, &to);
    print_message("# %ld s\n", (long)(to.tv_sec - from.tv_sec));
    assert_true(to.tv_sec - from.tv_sec < 180);
}

/* ---- messages ------------------------------------------------------------------------------------ */

TEST(exact_pairs_are_told)
{
    static const char head[] = "step,epoch,tokens,train_loss,valid_ppl,rate,grad_norm,tokens_per_s";
    char line[128];
    run_ok(PAIRS " --encoder-layers 2 --out told" SHORT);
    double valid = result_of("told", "valid_exact"), test = result_of("told", "test_exact");
    assert_true(valid >= 0 && valid <= 1 && test >= 0 && test <= 1);
    snprintf(line, sizeof line, "on validation, %.1f %% exact, ", 100 * valid);
    if (!strstr(last_line(err), line)) fail_msg("no '%s': %s", line, err);
    snprintf(line, sizeof line, "on test, %.1f %% exact; ", 100 * test);
    if (!strstr(last_line(err), line)) fail_msg("no '%s': %s", line, err);
    if (!strstr(last_line(err), "transformer + transformer-decoder, 2 + 1 layer(s)"))
        fail_msg("%s", err);
    assert_int_equal(count_words(err, " % exact"),
                     3); /* once in the validation's line and twice in the last */
    char *log = file_slurp("told/log.csv", NULL);
    snprintf(line, sizeof line, "%s,valid_exact\n", head);
    assert_int_equal(strncmp(log, line, strlen(line)), 0);
    assert_true(fabs(cell(log, "valid_exact") - valid) <= 1e-8);
    free(log);
}

/* A language model's files and messages have no exact pairs. */
TEST(texts_have_no_pairs)
{
    corpus_write("text", 600, 60);
    run_ok("train --corpus text --out plain" SHORT);
    char *log = file_slurp("plain/log.csv", NULL), *result = file_slurp("plain/result.csv", NULL);
    if (strstr(err, "exact") || strstr(log, "exact") || strstr(result, "exact"))
        fail_msg("%s%s%s", err, log, result);
    free(log);
    free(result);
    run_ok("eval --model plain --text text/valid.txt --csv");
    assert_int_equal(strncmp(out, "tokens,nll,ppl\n", 15), 0);
    run_ok("eval --model plain --corpus text --split test --csv");
    assert_int_equal(strncmp(out, "tokens,nll,ppl\n", 15), 0);
    double ppl = cell(out, "ppl");
    assert_true(fabs(ppl - result_of("plain", "test_ppl")) <= 1e-5 * ppl);
}

/* ---- eval ---------------------------------------------------------------------------------------- */

static void write_text(const char *file, const Corpus *c, const Text *t)
{
    static char text[1 << 16];
    size_t n = 0;
    for (size_t i = 0; i < t->tokens; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
                              t->id[i] == c->vocab.eos ? "" : c->vocab.word[t->id[i]],
                              t->id[i] == c->vocab.eos ? "\n" : " ");
    file_write(file, text, n);
}

/* The validation pairs as files, and as a corpus, are the same text. */
TEST(files_are_pairs)
{
    Corpus c;
    assert_int_equal(corpus_open("reverse:6", LEVEL_WORD, 0, 1, &c), 0);
    write_text("source", &c, &c.source[SPLIT_VALID]);
    write_text("target", &c, &c.text[SPLIT_VALID]);
    corpus_free(&c);
    run_ok(PAIRS " --out of-files --epochs 1 --precision f64 --rate 1e-2 --warmup 100" TINY);
    run_ok("eval --model of-files --corpus reverse:6 --csv");
    char *told = strdup(out);
    assert_int_equal(strncmp(told, "tokens,nll,ppl,pairs,exact\n", 27), 0);
    assert_true(cell(told, "pairs") == 500 && cell(told, "tokens") == 6500);
    assert_true(fabs(cell(told, "exact") - result_of("of-files", "valid_exact")) <= 1e-12);
    run_ok("eval --model of-files --text target --source-text source --csv");
    assert_string_equal(out, told);
    run_ok("eval --model of-files --text source --source-text target --csv"); /* the control */
    assert_string_not_equal(out, told);
    free(told);
    run_ok(
        "eval --model of-files --text target --source-text source --logits l.npy --max-tokens 9");
    shell_ok(
        "head -n 499 source > fewer; sed '3s/.*//' source > blank; sed '4s/$/ 1/' source > longer; "
        "sed '4s/$/ 1 1 1 1 1/' source > long; sed '5s/1/what/' target > word");
    static const char *const bad[][2] = {
        {"--text target", "of-files is an encoder and a decoder: --source-text FILE is needed too"},
        {"--text target --source-text fewer", "fewer has 499 lines and target has 500"},
        {"--text target --source-text blank", "blank:3 is blank and target:3 is not"},
        {"--text target --source-text long",
         "long:4 has 18 tokens and target:4 has 13, <eos> included: a sequence can have 16"},
        {"--text word --source-text source", "word:5: 'what' is not in the vocabulary"},
        {"--text target --source-text nowhere", "nowhere"},
        {"--text target --source-text source --context stream", "a stream has none"},
        {"--text target --corpus reverse:6", "--text or --corpus, not both"},
        {"--source-text source --corpus reverse:6", "--source-text has no meaning without --text"},
        {"--text target --source-text source --split test",
         "--split has no meaning without --corpus"},
        {"--corpus reverse:7", "the words of reverse:7 are not those of of-files"},
        {"", "--text is needed"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[256];
        snprintf(line, sizeof line, "eval --model of-files %s", bad[i][0]);
        must_refuse(line, bad[i][1]);
    }
    run_ok("eval --model of-files --text target --source-text longer");
    corpus_write("text", 600, 60);
    run_ok("train --corpus text --out plain" SHORT);
    must_refuse("eval --model plain --text text/valid.txt --source-text text/valid.txt",
                "the model is a language model, which has no encoder");
}

/* ---- refused ------------------------------------------------------------------------------------- */

TEST(what_pairs_cannot_is_told_first)
{
    static const char *const bad[][2] = {
        {PAIRS " --scheme heun", "--scheme heun: corpus reverse:6 has pairs: write --encoder heun"},
        {PAIRS " --scheme transformer", "write --encoder transformer or --decoder transformer"},
        {PAIRS " --context stream", "--context stream: corpus reverse:6 has pairs"},
        {PAIRS " --span 5", "attention spans are of language models"},
        {PAIRS " --adaptive 3", "adaptive embeddings are of language models"},
        {PAIRS " --encoder transformer-decoder", "an encoder takes a scheme of F and G"},
        {PAIRS " --encoder word:scf", "an encoder takes a scheme of F and G"},
        {PAIRS " --decoder word:ff", "--decoder: word:ff-decoder:euler has neither C nor an F"},
        {PAIRS " --decoder heun,euler", "unknown scheme 'heun,euler'"},
        {PAIRS " --decoder strang-marchuk:exact", "a network needs a sub-flow solver"},
        {PAIRS " --encoder nowhere", "unknown scheme 'nowhere'"},
        {PAIRS " --norm post --decoder heun", "heun-decoder"},
        {PAIRS " --sequence 12",
         "reverse train source:1 has 13 tokens and reverse train target:1 has 13"},
        {PAIRS " --sequence 13 --batch-tokens 12", "--sequence 13 is longer than --batch-tokens"},
        {PAIRS " --level char", "its words have no characters"},
        {PAIRS " --vocabulary 4", "no vocabulary limit"},
        {"train --corpus reverse:1", "V from 2 to 10000"},
        {PAIRS " --memory-limit 1M", "--memory-limit 1M: this training needs"},
        {"train --corpus text --encoder heun",
         "--encoder: corpus text is a text, which has no source"},
        {"train --corpus text --decoder heun", "--decoder: corpus text is a text"},
        {"train --corpus text --encoder-layers 2", "--encoder-layers: corpus text is a text"},
        {"train --corpus text --scheme transformer-decoder", "a language model has no encoder"},
        {"compare --corpus reverse:6 --pair heun", "'heun': expected ENCODER/DECODER"},
        {"compare --corpus reverse:6 --scheme heun", "--scheme: the corpus has pairs"},
        {"compare --corpus text --scheme transformer-decoder", "a language model has no encoder"},
        {"sweep --corpus reverse:6 --words sf,fs", "corpus reverse:6 has pairs"},
        {"sweep --corpus text --words sf,fs --encoder-layers 2", "a language model has no encoder"},
    };
    corpus_write("text", 600, 60);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[256];
        snprintf(line, sizeof line, "%s --out refused", bad[i][0]);
        must_refuse(line, bad[i][1]);
        if (file_exists("refused")) fail_msg("%s: refused/ was made", line);
    }
}

TEST(language_models_alone)
{
    run_ok(PAIRS " --activation gelu --out sides" SHORT);
    must_refuse("generate --model sides", "sides is an encoder and a decoder");
    must_refuse("attention --model sides --model sides --text sides/vocab.txt --out refused",
                "sides is an encoder and a decoder");
    must_refuse("order --system network:sides --out refused", "an encoder and a decoder");
    assert_false(file_exists("refused"));
    run_ok("report sides --out page.html");
    char *page = file_slurp("page.html", NULL);
    assert_non_null(strstr(page, "of the validation pairs exact"));
    free(page);
}

/* Layers of either side are compared with their flow: schemes of two operators are a decoder's there, and what the
 * other side lacks is reported. */
TEST(errors_of_either_side)
{
    static const char pairs[] = "1 2 3 4\n5 1\n2 2 5 1 3\n", others[] = "3 1\n4 4 2 1\n5\n";
    static const struct {
        const char *arguments, *words;
    } bad[] = {{"--text target.txt", "--source-text is needed"},
               {"--text target.txt --source-text short.txt", "line by line they are pairs"},
               {"--text target.txt --source-text source.txt --refine 2", "language models"},
               {"--text target.txt --source-text source.txt --side encoder --scheme strang-decoder",
                "reads C, which the model"},
               {"--text target.txt --source-text none.txt", "none.txt"}};
    file_write("source.txt", pairs, sizeof pairs - 1);
    file_write("target.txt", others, sizeof others - 1);
    file_write("short.txt", pairs, 8);
    run_ok(PAIRS
           " --activation gelu --encoder macaron --layers 2 --encoder-layers 1 --out both" SHORT);
    run_ok(
        "truncation --model both --text target.txt --source-text source.txt --scheme heun,macaron "
        "--sentences 2 --tokens 4 --csv --summary");
    assert_non_null(strstr(out, "heun-decoder,0,split,frozen,2,"));
    assert_non_null(strstr(out, "macaron-decoder,1,split,frozen,1,"));
    run_ok("truncation --model both --text target.txt --source-text source.txt --side encoder "
           "--scheme heun,macaron --sentences 2 --tokens 4 --csv --summary");
    assert_non_null(strstr(out, "heun,0,split,frozen,2,"));
    assert_non_null(strstr(out, "macaron,0,split,frozen,1,"));
    assert_null(strstr(out, "macaron,1,"));
    run_ok("truncation --model both --text target.txt --source-text source.txt --jacobian --csv");
    assert_non_null(strstr(out, "lipschitz_C"));
    run_ok("truncation --model both --text target.txt --source-text source.txt --jacobian --csv "
           "--out decoder-jacobian");
    shell_ok("grep -q 'layer 1, field split' decoder-jacobian/jacobian.gp");
    run_ok("truncation --model both --text target.txt --source-text source.txt --jacobian --csv "
           "--side encoder --out encoder-jacobian"); /* it has one layer */
    shell_ok("grep -q 'layer 0, field split' encoder-jacobian/jacobian.gp && "
             "! grep -q 'layer 1' encoder-jacobian/jacobian.gp");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[256];
        snprintf(line, sizeof line, "truncation --model both --out refused %s", bad[i].arguments);
        must_refuse(line, bad[i].words);
    }
    run_ok("train --corpus markov:6 --scheme transformer --out one" SHORT);
    must_refuse("truncation --model one --text target.txt --side encoder", "has no encoder");
    must_refuse("truncation --model one --text target.txt --source-text source.txt",
                "has no encoder");
    assert_false(file_exists("refused"));
}

/* ---- ways of training ---------------------------------------------------------------------------- */

static const char *const variants[] = {
    "--precision f64",
    "--precision bf16",
    "--recompute --layers 2",
    "--accumulate 3",
    "--encoder rk4-layer",
    "--encoder macaron --decoder macaron",
    "--encoder sandwich:3-1 --decoder word:sfsfsf",
    "--encoder word:sfsf --decoder word:scscff",
    "--decoder strang-decoder --match none",
    "--encoder rk2-gate --decoder ab2 --layers 3 --encoder-layers 2",
    "--norm post --layers 2 --recompute",
    "--positions both --untied --activation gelu --masks step",
    "--positions none --encoder ab3 --encoder-layers 4",
    "--label-smoothing 0.1 --weight-decay 0.1 --clip 1 --schedule cosine",
    "--epochs 3 --average 2 --eval-tokens 300 --batch-tokens 20800",
    "--decoder heun-decoder --encoder-layers 2",
};

/* Every way trains, and the model that eval rebuilds is the one that was trained. */
TEST(all_ways_train)
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        char line[512];
        snprintf(line, sizeof line, PAIRS " --out way %s%s%s", variants[i],
                 strstr(variants[i], "--epochs") ? " --rate 1e-2 --warmup 10" : SHORT,
                 strstr(variants[i], "--epochs")
                     ? " --width 16 --inner 32 --heads 2 --sequence 16 --threads 1"
                     : "");
        run_ok(line);
        double ppl = result_of("way", "test_ppl"), exact = result_of("way", "test_exact");
        run_ok("eval --model way --corpus reverse:6 --split test --csv");
        if (!(fabs(cell(out, "ppl") - ppl) <= 1e-4 * ppl) ||
            !(fabs(cell(out, "exact") - exact) <= 0.004))
            fail_msg("%s: perplexity %g, exact %g: %s", variants[i], ppl, exact, out);
        shell_ok("rm -r way");
    }
}

/* Recomputing gives the same bits. */
TEST(recompute_is_the_same)
{
    run_ok(PAIRS " --encoder rk4-layer --decoder macaron --out kept" SHORT);
    run_ok(PAIRS " --encoder rk4-layer --decoder macaron --recompute --out again" SHORT);
    run_ok(PAIRS " --encoder rk4-layer --decoder macaron --seed 2 --out other" SHORT);
    shell_ok("for i in kept again other; do tail -c 20000 $i/model.safetensors > $i/numbers; done");
    assert_true(same_files("kept/numbers", "again/numbers"));
    assert_false(same_files("kept/numbers", "other/numbers")); /* the control */
}

/* ---- stopped and resumed ------------------------------------------------------------------------- */

/* Returns a log without its column of speeds. */
static char *log_of(const char *dir)
{
    shell_ok("cut -d, -f1-7,9 %s/log.csv > %s/steps", dir, dir);
    char path[64];
    snprintf(path, sizeof path, "%s/steps", dir);
    return file_slurp(path, NULL);
}

#define LONG PAIRS " --encoder heun --rate 5e-3 --warmup 20 --epochs 2" TINY

TEST(interrupted_and_resumed)
{
    char text[1 << 14];
    int status;
    run_ok(LONG "--out straight");
    pid_t child = shell_start("child", "%s " LONG "--out stopped", program);
    for (int i = 0; i < 3000; i++) {
        file_read("stopped/log.csv", text, sizeof text);
        if (count_lines(text) > 3) break;
        assert_int_equal(waitpid(child, &status, WNOHANG), 0);
        pause_ms(10);
    }
    assert_int_equal(test_signal(child, SIGINT), 0);
    assert_int_equal(shell_finish(child), 130);
    assert_false(file_exists("stopped/result.csv"));
    must_refuse("train --resume --decoder heun --out stopped",
                "stopped/scheme.txt has another, scheme transformer-decoder");
    must_refuse("train --resume --encoder-layers 2 --out stopped",
                "(--encoder-layers none, now 2)");
    must_refuse("train --resume --scheme heun --out stopped", "--scheme heun: corpus reverse:6");
    run_ok("train --resume --out stopped");
    assert_true(same_files("straight/model.safetensors", "stopped/model.safetensors"));
    assert_true(same_files("straight/config.ini", "stopped/config.ini"));
    char *a = log_of("straight"), *b = log_of("stopped");
    assert_string_equal(a, b);
    free(a);
    free(b);
    assert_true(result_of("straight", "valid_exact") == result_of("stopped", "valid_exact"));
    run_ok("train --config straight/config.ini --out replayed");
    assert_true(same_files("straight/model.safetensors", "replayed/model.safetensors"));
    run_ok("train --config straight/config.ini --seed 2 --out another"); /* the control */
    assert_false(same_files("straight/model.safetensors", "another/model.safetensors"));
}

TEST_MAIN(program_open, program_close)
