/* test_foreign.c: directories of Hugging Face. For every family of the table, tests/foreign/TYPE has a tiny model of
 * random weights and its logits, which tests/python/tiny_models.py computed in float64 from the papers' formulas.
 * TROTTER_FOREIGN: another such folder, as tests/python/tiny_transformers.py makes with `transformers`. */
#include "tests/lib/test.h"

#include <math.h>

#include "nn/foreign/family.h"
#include "tests/lib/program.h"

enum { HEAD = 128 }; /* bytes of a NumPy file's header */

static char data[PATH_MAX];

static int open_all(void **state)
{
    const char *other = getenv("TROTTER_FOREIGN");
    return program_open(state) != 0 || !realpath(other ? other : "tests/foreign", data) ? -1 : 0;
}

/* Families without a model of their own have llama's tensors and settings. */
static void fetch(const char *type)
{
    shell_ok("rm -rf m; t=%s; [ -d %s/$t ] || t=llama; cp -r %s/$t m && chmod -R u+w m && "
             "sed -i 's/\"model_type\": \"[^\"]*\"/\"model_type\": \"%s\"/' m/config.json",
             type, data, data, type);
}

/* Returns the largest difference of the last rows of an array of f32 from another, or infinity. */
static double differ(const char *a, const char *b)
{
    size_t m, n;
    char *x = file_slurp(a, &m), *y = file_slurp(b, &n);
    double most = m >= n && n > HEAD ? 0 : INFINITY;
    for (size_t i = HEAD; i + 4 <= n && m >= n; i += 4) {
        float p, q;
        memcpy(&p, x + (m - n) + i, 4), memcpy(&q, y + i, 4);
        most = fabs((double)p - (double)q) <= most ? most : fabs((double)p - (double)q);
    }
    free(x);
    free(y);
    return most;
}

static void eval_logits(const Family *f, const char *options)
{
    run_ok("eval --threads 1 --model m --text m/text.txt --logits l.npy %s %s --csv", options,
           strcmp(f->type, "bert") == 0 ? "--one-by-one" : "");
}

/* Logits are of numbers of about 6; f32 sums of 64 terms lose some 64 eps of that. */
TEST(logits_are_those_of_the_formulas)
{
    for (const Family *f = families; f->type; f++) {
        fetch(f->type);
        eval_logits(f, "--precision f64");
        assert_true(differ("l.npy", "m/logits.npy") <= 2e-6);
        eval_logits(f, "");
        assert_true(differ("l.npy", "m/logits.npy") <= 64 * 6 * 0x1p-23);
    }
}

/* One bit of a weight is seen. The sign of a number in the middle of the file. */
TEST(another_weight_gives_other_logits)
{
    for (const Family *f = families; f->type; f++) {
        size_t n;
        fetch(f->type);
        char *file = file_slurp("m/model.safetensors", &n);
        file[n - 2000 + 3] ^= (char)0x80;
        file_write("m/model.safetensors", file, n);
        free(file);
        eval_logits(f, "--precision f64");
        assert_true(differ("l.npy", "m/logits.npy") > 1e-3);
    }
}

TEST(every_layer_has_a_truncation_error)
{
    fetch("gpt2");
    run_ok("truncation --model m --text m/text.txt --scheme transformer --sentences 2 --tokens 6 "
           "--halvings 5 --csv --summary");
    for (int row = 1; row <= 2; row++) {
        assert_true(out_number(row, "relative_error") > 0.01 &&
                    out_number(row, "relative_error") < 100);
        assert_string_equal(out_cell(row, "verdict"), "agree");
    }
}

TEST(a_text_goes_on)
{
    fetch("gpt2");
    run_ok("generate --threads 1 --model m --prompt 'In the na\xc3\xafve' --tokens 3 --seed 2");
    assert_int_equal(strncmp(out, "In the na\xc3\xafve", 12), 0);
    assert_string_equal(err, "");
}

/* Attention of one model is drawn, for an encoder's masks too. */
TEST(attention_is_seen)
{
    for (const Family *f = families; f->type; f++) {
        fetch(f->type);
        run_ok("attention --model m --text m/text.txt --sequence 20 --sentences 1 --out maps");
        char *csv = file_slurp("maps/maps.csv", NULL);
        assert_true(count_lines(csv) > 20);
        free(csv);
        shell_ok("rm -r maps");
    }
}

TEST(a_corpus_and_lines)
{
    fetch("gpt2");
    shell_ok("mkdir -p c && for s in train valid test; do cp m/text.txt c/$s.txt; done");
    run_ok("eval --threads 1 --model m --corpus c --csv");
    double tokens = out_number(1, "tokens"), words = out_number(1, "words");
    assert_true(words == 10 + 6 + 2 && tokens > words); /* two ends of lines */
    double ppl = out_number(1, "ppl"), word_ppl = out_number(1, "word_ppl");
    assert_true(fabs(log(word_ppl) / (log(ppl) * tokens / words) - 1) < 1e-6);
    run_ok("eval --threads 1 --model m --corpus c --context sentence --csv");
    assert_true(out_number(1, "tokens") == tokens); /* <|endoftext|> in place of the ends */
}

/* What is not supported is refused by its name. `from` of a file of gpt2 becomes `to`. */
TEST(refusals)
{
    static const struct {
        const char *file, *from, *to, *words;
    } rows[] = {
        {"config.json", "\"gpt2\"", "\"mamba\"", "model_type \"mamba\" is not supported (gpt2"},
        {"config.json", "gelu_new", "quick_gelu", "activation_function \"quick_gelu\" is not"},
        {"config.json", "\"n_inner\"", "\"add_cross_attention\": true, \"n_inner\"",
         "add_cross_attention other than false is not supported"},
        {"config.json", "\"n_head\": 4", "\"n_head\": 3", "width 16"},
        {"config.json", "\"n_layer\": 2", "\"n_layer\": 3",
         "no tensor 'h.#.ln_1.weight' (layer 2)"},
        {"config.json", "\"n_layer\": 2", "\"n_layer\": 1", "this model has no such tensor"},
        {"config.json", "\"n_layer\": 2", "\"n_layer\": 99999999", "layers"},
        {"config.json", "\"n_embd\": 16", "\"n_embd\": 32", "35840 numbers, where"},
        {"config.json", "\"n_inner\": null", "\"n_inner\": 60", "another shape"},
        {"config.json", "\"n_embd\": 16", "\"n_embed\": 16", "no n_embd"},
        {"config.json", "{", "[", "config.json:1:"},
        {"config.json", "\"bos_token_id\"", "\"x\"", NULL}, /* <|endoftext|> is also the end */
        {"config.json", "\"vocab_size\": 300", "\"vocab_size\": 90", "vocab_size is 90"},
        {"tokenizer.json", "\"normalizer\": null", "\"normalizer\": {\"type\": \"Nmt\"}",
         "the normaliser \"Nmt\" is not supported"},
        {"tokenizer.json", "\"pre_tokenizer\": {\"type\": \"ByteLevel\"",
         "\"pre_tokenizer\": {\"type\": \"CharDelimiterSplit\"",
         "the pre-tokenizer \"CharDelimiterSplit\" is not supported"},
        {"tokenizer.json", "\"type\": \"BPE\"", "\"type\": \"Unigram\"",
         "the model \"Unigram\" is not supported"},
        {"tokenizer.json", "\"merges\": [\"", "\"merges\": [\"zz qq\", \"",
         "merge 1: 'zz' and 'qq'"},
        {"tokenizer.json", "\"merges\": [\"", "\"merges\": [\"a b c\", \"", "not of two tokens"},
        {"tokenizer.json", "\"!\": 0", "\"!\": 1", "comes twice"},
        {"tokenizer.json", "\"!\": 0", "\"!\": -7", "has no id from 0"},
        {"tokenizer.json", "\"!\": 0", "\"!\": 4294967296", "has no id from 0"},
        {"tokenizer.json", "\"single_word\": false", "\"single_word\": true", "single_word"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char file[64];
        fetch("gpt2");
        snprintf(file, sizeof file, "m/%s", rows[i].file);
        char *text = file_slurp(file, NULL), *at = strstr(text, rows[i].from);
        if (!at) fail_msg("%s has no %s", rows[i].file, rows[i].from);
        FILE *f = fopen(file_path(file), "w");
        fprintf(f, "%.*s%s%s", (int)(at - text), text, rows[i].to, at + strlen(rows[i].from));
        fclose(f);
        free(text);
        if (rows[i].words)
            must_refuse("eval --model m --text m/text.txt", rows[i].words);
        else
            run_ok("eval --threads 1 --model m --text m/text.txt");
    }
    fetch("gpt2");
    must_refuse("eval --model m --text m/text.txt --sequence 30 --batch-tokens 30",
                "for at most 24 tokens");
    shell_ok("rm m/tokenizer.json");
    must_refuse("eval --model m --text m/text.txt", "m/tokenizer.json");
    fetch("llama");
    must_refuse("eval --model m --text m/text.txt --context sentence", "is not the one that ends");
    file_text("bad.txt", "\xff\xfe\n");
    fetch("gpt2");
    must_refuse("eval --model m --text bad.txt", "bad.txt:1: not UTF-8");
}

/* Weights in two files, as an index tells. */
TEST(sharded)
{
    static const char split[] =
        "import json, struct\n"
        "b = open('m/model.safetensors', 'rb').read()\n"
        "n, = struct.unpack('<Q', b[:8])\n"
        "head, names = json.loads(b[8:8 + n]), {}\n"
        "for i in 0, 1:\n"
        "    part, data = {}, b''\n"
        "    for k, name in enumerate(head):\n"
        "        t = head[name]\n"
        "        if k % 2 == i:\n"
        "            raw = b[8 + n + t['data_offsets'][0]:8 + n + t['data_offsets'][1]]\n"
        "            part[name] = dict(t, data_offsets=[len(data), len(data) + len(raw)])\n"
        "            data += raw\n"
        "            names[name] = 'part-%d.safetensors' % i\n"
        "    h = json.dumps(part).encode()\n"
        "    open('m/part-%d.safetensors' % i, 'wb').write(struct.pack('<Q', len(h)) + h + data)\n"
        "json.dump({'weight_map': names}, open('m/model.safetensors.index.json', 'w'))\n";
    if (shell("command -v python3") != 0) {
        print_message("no python3\n");
        skip();
    }
    const Family *f = families; /* gpt2 */
    fetch(f->type);
    file_text("split.py", split);
    shell_ok("python3 split.py && rm m/model.safetensors");
    eval_logits(f, "--precision f64");
    assert_true(differ("l.npy", "m/logits.npy") <= 2e-6);
    shell_ok("sed -i 's|part-1|../part-1|' m/model.safetensors.index.json");
    must_refuse("eval --model m --text m/text.txt", "is no name of a file of weights");
}

/* Trains a small model in DIR; what it learns does not matter. */
static void train(const char *dir, const char *options)
{
    assert_true(trained(program_run(
        "train --corpus kjv --vocabulary 120 --eval-tokens 200 --untested --width 16 --inner 24 "
        "--heads 2 --sequence 12 --batch-tokens 96 --max-steps 8 --epochs 1 --threads 1 --rate 1e-2 "
        "--warmup 1 --out %s %s",
        dir, options)));
}

/* An exported model read again gives the model's own perplexity and, to f32's rounding of two tables, its logits. */
TEST(there_and_back)
{
    static const char *const models[] = {"--layers 2", "--activation gelu --untied",
                                         "--positions none", "--positions learned"};
    shell_ok("printf 'the lord said unto the king\\n\\nof the  land\\n' >said");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        train("ours", models[i]);
        run_ok("export --model ours --out theirs");
        for (int k = 0; k < 2; k++)
            run_ok("eval --threads 1 --model %s --text said --sequence 12 --precision f64 --logits "
                   "%s.npy",
                   k ? "theirs" : "ours", k ? "theirs" : "ours");
        assert_true(differ("theirs.npy", "ours.npy") <= 4 * 8 * 0x1p-23);
        shell_ok("rm -r ours theirs");
    }
    train("other", "--positions relative");
    must_refuse("export --model other --out theirs", "its positions are relative or rotary");
    train("other-scheme", "--scheme rk4");
    must_refuse("export --model other-scheme --out theirs", "another scheme than transformer");
    train("post", "--norm post");
    must_refuse("export --model post --out theirs", "its norms are behind sublayers");
    must_refuse("export --model post", "--out is needed");
}

TEST_MAIN(open_all, program_close)
