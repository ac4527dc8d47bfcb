/* test_foreign.c: directories of Hugging Face. For every family of the table, tests/foreign/TYPE has a tiny model of
 * random weights as `transformers` saved it, and the logits that the library gave in float64:
 * tests/python/tiny_transformers.py, which tells the versions.
 * Phi and Gemma are of tests/python/llama.py, which draws them and has their logits from NumPy alone.
 * TROTTER_FOREIGN: another such folder. */
#include "tests/lib/test.h"

#include <jansson.h>

#include "nn/foreign/family.h"
#include "tests/lib/program.h"

enum { HEAD = 128 }; /* bytes of a NumPy file's header */

static char data[PATH_MAX], tree[PATH_MAX];

static int open_all(void **state)
{
    const char *other = getenv("TROTTER_FOREIGN");
    int found = realpath(".", tree) && realpath(other ? other : "tests/foreign", data);
    return found ? program_open(state) : -1;
}

/* Those without tokens have llama's. */
static void fetch(const char *type)
{
    shell_ok(
        "rm -rf m; s=%s/tests/foreign t=%s; cp -r %s/$t m && chmod -R u+w m && cp $s/text.txt m && "
        "{ [ -f $s/$t/tokenizer.json ] || t=llama; cp $s/$t/tokenizer.json m; }",
        tree, type, data);
}

/* Replaces the first `from` in m's config.json, else in its tokenizer.json, by `to`. */
static void change(const char *from, const char *to)
{
    const char *name = "m/config.json";
    char *text = file_slurp(name, NULL);
    if (!strstr(text, from)) text = file_slurp(name = "m/tokenizer.json", NULL);
    char *at = strstr(text, from);
    if (!at) fail_msg("%s has no %s", name, from);
    file_text(name,
              WRITTEN(f, fprintf(f, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from))));
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
    return most;
}

/* Returns how far logits of m, of a type, are from those beside it. */
static double off(const char *type, const char *options)
{
    run_ok("eval --threads 1 --model m --text m/text.txt --logits l.npy %s %s --csv", options,
           strcmp(type, "bert") == 0 ? "--one-by-one" : "");
    return differ("l.npy", "m/logits.npy");
}

/* Logits are of numbers of about 6; f32 sums of 64 terms lose some 64 eps of that. Attention is drawn, for an encoder's
 * masks too. */
TEST(logits_are_those_of_transformers)
{
    for (const Family *f = families; f->type; f++) {
        fetch(f->type);
        assert_true(off(f->type, "--precision f64") <= 2e-6);
        assert_true(off(f->type, "") <= 64 * 6 * 0x1p-23);
        run_ok("attention --model m --text m/text.txt --sequence 20 --sentences 1 --out maps");
        assert_true(count_lines(file_slurp("maps/maps.csv", NULL)) > 20);
        shell_ok("rm -r maps");
    }
}

/* One bit of a weight is seen. The sign of a number in the middle of the file. */
TEST(another_weight_gives_other_logits)
{
    for (const Family *f = families; f->type; f++) {
        const char *name =
            strcmp(f->type, "llama") ? "m/model.safetensors" : "m/model-00003-of-00003.safetensors";
        size_t n;
        fetch(f->type);
        char *file = file_slurp(name, &n);
        file[n - 2000 + 3] ^= (char)0x80;
        file_write(name, file, n);
        assert_true(off(f->type, "--precision f64") > 1e-3);
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

/* What is not supported is refused by its name. `from` of a file of gpt2, or of another type, becomes `to`. */
TEST(refusals)
{
    static const struct {
        const char *from, *to, *words, *type;
    } rows[] = {
        {"\"gpt2\"", "\"mamba\"", "model_type \"mamba\" is not supported (gpt2"},
        {"gelu_new", "quick_gelu", "activation_function \"quick_gelu\" is not"},
        {"\"n_inner\"", "\"add_cross_attention\": true, \"n_inner\"",
         "add_cross_attention other than false is not supported"},
        {"\"n_head\": 4", "\"n_head\": 3", "width 16"},
        {"\"n_layer\": 2", "\"n_layer\": 3", "no tensor 'h.#.ln_1.weight' (layer 2)"},
        {"\"n_layer\": 2", "\"n_layer\": 1", "this model has no such tensor"},
        {"\"n_layer\": 2", "\"n_layer\": 99999999", "layers"},
        {"\"n_embd\": 16", "\"n_embd\": 32", "norm.weight needs 32"},
        {"\"n_inner\": null", "\"n_inner\": 60", "another shape"},
        {"\"n_embd\": 16", "\"n_embed\": 16", "no n_embd"},
        {"\"attn_logit_softcapping\": null,", "", "attn_logit_softcapping other than null",
         "gemma2"},
        {"\"num_key_value_heads\": 1,", "", "no num_key_value_heads", "gemma"},
        {"{", "[", "config.json:2:"},
        {"\"bos_token_id\"", "\"x\"", "the key x is not known"},
        {"\"bos_token_id\"", "\"_x\"", "bos_token_id is no token"},
        {"\"bos_token_id\": 1", "\"bos_token_id\": -1", "bos_token_id is no token", "llama"},
        {"\"use_cache\"", "\"quantization_config\": {\"bits\": 4}, \"use_cache\"",
         "quantization_config other than null", "llama"},
        {"\"use_cache\"", "\"quantization_config\": {\"bits\": 4}, \"use_cache\"",
         "quantization_config other than null"},
        {"\"use_cache\"", "\"logit_scale\": 2, \"use_cache\"", "the key logit_scale", "qwen2"},
        {"\"use_cache\"", "\"logit_scale\": null, \"sliding_window\": 4, \"use_cache\"", NULL,
         "llama"},
        {"\"use_cache\"", "\"original_max_position_embeddings\": 9, \"use_cache\"",
         "the key original_max_position_embeddings", "llama"},
        {"\"use_cache\"",
         "\"layer_types\": [\"full_attention\", \"sliding_attention\"], \"use_cache\"",
         "layer_types other than full_attention", "llama"},
        {"\"use_cache\"", "\"layer_types\": [\"full_attention\"], \"use_cache\"", "for each layer",
         "qwen2"},
        {"\"use_cache\"",
         "\"layer_types\": [\"full_attention\", \"full_attention\"], \"use_cache\"", NULL, "qwen2"},
        {"\"attention_bias\": true", "\"attention_bias\": false",
         "transformers reads none where attention_bias is false", "llama"},
        {"\"mlp_bias\": true,", "", "transformers reads none where mlp_bias is false", "llama"},
        {"\"model_type\": \"mistral\"", "\"model_type\": \"qwen2\"",
         "no tensor 'layers.#.self_attn.q_proj.bias'", "mistral"},
        {"\"model_type\": \"qwen2\"", "\"model_type\": \"mistral\"",
         "where that of the family is false", "qwen2"},
        {"\"rope_type\": \"linear\",", "", NULL, "qwen2"},
        {"\"rope_type\": \"linear\",\n    \"type\": \"linear\"", "\"low_freq_factor\": 1",
         "rope_scaling has no rope_type", "qwen2"},
        {"\"type\": \"linear\"", "\"type\": \"default\"", "do not agree", "qwen2"},
        {"\"rope_type\"", "\"attention_factor\": 2, \"rope_type\"",
         "attention_factor in rope_scaling", "qwen2"},
        {"\"n_inner\": null", "\"n_inner\": [64]", "n_inner has to be a number"},
        {"\"sliding_window\": null", "\"sliding_window\": 4", NULL, "qwen2"},
        {"\"vocab_size\": 300", "\"vocab_size\": 90", "vocab_size is 90"},
        {"llama3", "longrope", "rope_type \"longrope\" is not supported", "llama"},
        {"llama3", "yarn\", \"mscale\": \"1", "mscale in rope_scaling", "llama"},
        {"\"rope_type\": \"llama3\"", "\"rope_type\": \"yarn\", \"beta_slow\": 40",
         "scaling of rotary", "llama"},
        {"low_freq", "slow_freq", "no low_freq_factor", "llama"},
        {"high_freq_factor\": 4", "high_freq_factor\": 1", "scaling of rotary", "llama"},
        {"\"head_dim\": 6", "\"head_dim\": 8", "another shape: 24 rows", "mistral"},
        {"\"head_dim\": 8", "\"head_dim\": 7", "heads of width 7 are odd", "qwen3"},
        {"\"head_dim\": 8,", "", "a model of 71372 numbers",
         "qwen3"}, /* 128 where nothing is said */
        {"\"silu\"", "\"gelu\"", "hidden_act \"gelu\" is not", "qwen2"},
        {"\"gelu\"", "\"relu\"", "hidden_act \"relu\" is not", "bert"},
        {"\"normalizer\": null", "\"normalizer\": {\"type\": \"Words\"}",
         "the normaliser \"Words\" is not supported"},
        {"\"normalizer\": null", "\"normalizer\": {\"type\": \"ByteLevel\"}",
         "ByteLevel stands twice"},
        {"\"pre_tokenizer\": {\"type\": \"ByteLevel\"",
         "\"pre_tokenizer\": {\"type\": \"UnicodeScripts\"",
         "the pre-tokenizer \"UnicodeScripts\" is not supported"},
        {"\"type\": \"BPE\"", "\"type\": \"Unigram\"", "the vocab of Unigram is no list"},
        {"\"type\": \"BPE\"", "\"type\": \"Words\"", "the model \"Words\" is not supported"},
        {"\"merges\": [\"", "\"merges\": [\"zz qq\", \"", "merge 1: 'zz' and 'qq'"},
        {"\"merges\": [\"", "\"merges\": [\"a b c\", \"", "not of two tokens"},
        {"\"!\": 0", "\"!\": 1", "comes twice"},
        {"\"!\": 0", "\"!\": -7", "has no id from 0"},
        {"\"!\": 0", "\"!\": 4294967296", "has no id from 0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fetch(rows[i].type ? rows[i].type : "gpt2");
        change(rows[i].from, rows[i].to);
        if (rows[i].words)
            must_refuse("eval --model m --text m/text.txt", rows[i].words);
        else
            run_ok("eval --threads 1 --model m --text m/text.txt");
    }
    fetch("gpt2");
    must_refuse("eval --model m --text m/text.txt --sequence 30 --batch-tokens 30",
                "for at most 24 tokens");
    shell_ok("rm m/tokenizer.json");
    must_refuse("eval --model m --text m/text.txt", "t.AutoTokenizer.from_pretrained('m').save");
    shell_ok("mv m/model.safetensors m/pytorch_model.bin");
    must_refuse("eval --model m --text m/text.txt", "t.GPT2LMHeadModel.from_pretrained('m').save");
    fetch("qwen3");
    change("\"rope_scaling\": null", "\"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 2}");
    run_ok("eval --model m --text m/text.txt --sequence 20 --batch-tokens 20");
    must_refuse("eval --model m --text m/text.txt --sequence 21 --batch-tokens 21",
                "rope_type is dynamic, so sequences of up to 21 tokens are not supported");
    change("\"factor\": 2", "\"factor\": 2, \"original_max_position_embeddings\": 8");
    must_refuse("eval --model m --text m/text.txt", "take --sequence 8");
    fetch("qwen2");
    change("\"use_sliding_window\": false", "\"use_sliding_window\": true");
    change("\"sliding_window\": null", "\"sliding_window\": 4");
    assert_true(off("qwen2", "--precision f64") <= 2e-6); /* its layers are before the 28th */
    change("\"max_window_layers\": 28", "\"max_window_layers\": 1");
    assert_true(off("qwen2", "--precision f64") > 1e-3);
    fetch("llama");
    change("\"use_cache\"", "\"max_length\": 9, \"use_cache\"");
    must_refuse("eval --model m --text m/text.txt --context sentence", "is not the one that ends");
    file_text("bad.txt", "\xff\xfe\n");
    fetch("gpt2");
    must_refuse("eval --model m --text bad.txt", "bad.txt:1: not UTF-8");
    char *plain = output_of("eval --threads 1 --model m --text m/text.txt --csv");
    shell_ok("sed 's/$/\\r/' m/text.txt >returns.txt");
    run_ok("eval --threads 1 --model m --text returns.txt --csv"); /* lines that end in CR LF */
    assert_string_equal(strchr(out, ','), strchr(plain, ','));
}

/* Files of weights that are not as their headers say; `command` changes m, of llama or bert. */
TEST(files_that_do_not_fit)
{
    static const struct {
        const char *type, *command, *words;
    } rows[] = {
        {"bert", "truncate -s -400 m/model.safetensors", "m/model.safetensors is cut short"},
        {"llama", "truncate -s -400 m/model-00002-of-00003.safetensors",
         "m/model-00002-of-00003.safetensors is cut short"},
        {"llama", "cp m/model-00001-of-00003.safetensors m/model-00002-of-00003.safetensors",
         "is in m/model-00001-of-00003.safetensors and in m/model-00002"},
        {"mistral", /* 20 rows of the gate and 28 of the other part, which are as many as 24 and 24 */
         "LC_ALL=C sed -i 's/.24, 24., \"data_offsets\": .64224, 66528./[20, 24], \"data_offsets\": [64224, 66144]/; "
         "s/.24, 24., \"data_offsets\": .66528, 68832./[28, 24], \"data_offsets\": [66144, 68832]/' "
         "m/model.safetensors",
         "mlp.gate_proj.weight' has another shape: 20 rows, where layers.0.ffn.1.gate_up.weight has room for 24"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fetch(rows[i].type);
        shell_ok("%s", rows[i].command);
        must_refuse("eval --model m --text m/text.txt", rows[i].words);
    }
    fetch("bert");
    shell_ok(
        "{ printf 'sentence\\tlabel\\n'; for i in 1 2 3 4 5 6 7 8 9; do printf 'good\\tyes\\n'; printf 'bad\\tno\\n'; "
        "done; } >mine.tsv");
    must_refuse("classify --model m", "m tells no labels: 'trotter finetune --model m");
}

/* A BERT is the beginning of labels: what two words say is learned, and the folder knows its weights. tests/python/bert.py
 * holds what it begins with to NumPy. */
TEST(labels_are_learned_from_the_weights_of_others)
{
#define TUNE "finetune --threads 1 --seeds 1 --task mine.tsv --out tuned "
    static const char *const rows[] = {"god created", "the heaven", "created the", "the earth god"};
    file_text("mine.tsv", WRITTEN(f, {
                  fputs("label\tsentence\n", f);
                  for (int i = 0; i < 400; i++)
                      fprintf(f, "%s\t%s %s\n", i % 2 ? "one" : "other", rows[i / 2 % 4],
                              i % 2 ? "in" : "isn't");
              }));
    fetch("bert");
    run_ok(TUNE "--model m --rates 1e-2 --epochs 4 --dropout 0 --batch-tokens 128");
    assert_true(file_number("tuned/finetune.csv", 1, "score") == 1);
    file_text("said", "the heaven in\nthe heaven isn't\n");
    run_ok("classify --threads 1 --model tuned --text said");
    assert_string_equal(out, "one\nother\n");
    shell_ok("cmp m/tokenizer.json tuned/tokenizer.json");
    run_ok(
        TUNE
        "--model m --rates 1e-2 --epochs 4 --dropout 0 --batch-tokens 128"); /* nothing is left to do */
    size_t n;
    char *file = file_slurp("m/model.safetensors", &n);
    file[n - 4000 + 3] ^= (char)0x80;
    file_write("m/model.safetensors", file, n);
    must_refuse(TUNE "--model m --rates 1e-2 --epochs 4 --dropout 0 --batch-tokens 128",
                "its weights or examples were others than now");
    fetch("gpt2");
    must_refuse(TUNE "--model m", "m is no encoder alone");
    shell_ok("rm -r tuned");
}

/* Nothing stands before a prompt unless the tokenizer puts it there: then the text is that of the prompt behind the token,
 * and another without. A text ends where the likeliest token is one of eos_token_id. */
TEST(a_text_begins_and_ends_as_its_files_say)
{
    static const char said[] = "generate --threads 1 --model m --temperature 0 --tokens 8 --prompt";
    char plain[2000], first[2000], all[2000] = "\"eos_token_id\": [";
    fetch("gpt2");
    run_ok("%s 'The naive'", said);
    snprintf(plain, sizeof plain, "%.1999s", out);
    assert_true(strlen(plain) > strlen("The naive\n"));
    run_ok("%s '<|endoftext|>The naive'", said);
    snprintf(first, sizeof first, "%.1999s", strstr(out, "The naive"));
    assert_string_not_equal(plain, first);
    change(
        "\"post_processor\": null",
        "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": "
        "\"<|endoftext|>\"}}, {\"Sequence\": {\"id\": \"A\"}}]}");
    run_ok("%s 'The naive'", said);
    assert_string_equal(out, first);
    for (int i = 0; i < 300; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%d", i ? ", " : "", i);
    snprintf(all + strlen(all), sizeof all - strlen(all), "]");
    change("\"eos_token_id\": 296", all);
    run_ok("%s 'The naive'", said);
    assert_string_equal(out, "The naive\n");
    file_text("m/generation_config.json", "{\"eos_token_id\": 299}");
    run_ok("%s 'The naive'", said);
    assert_string_equal(out, first);
}

/* An index, as llama's, names files beside it alone; names as of old or without the prefix are found. */
TEST(names)
{
    fetch("llama");
    shell_ok("sed -i 's|model-00002|../model-00002|' m/model.safetensors.index.json");
    must_refuse("eval --model m --text m/text.txt", "is no name of a file of weights");
    fetch("gpt2");
    shell_ok("LC_ALL=C sed -i 's/\"transformer.h/            \"h/g' m/model.safetensors");
    assert_true(off("gpt2", "--precision f64") <= 2e-6);
    fetch("bert");
    shell_ok(
        "LC_ALL=C sed -i 's/Norm.weight\"/Norm.gamma\" /g; s/Norm.bias/Norm.beta/g' m/model.safetensors");
    assert_true(off("bert", "--precision f64") <= 2e-6);
}

/* Trains a small model in DIR; what it learns does not matter. */
static void train(const char *dir, const char *options)
{
    assert_true(trained(program_run(
        "train --corpus kjv --vocabulary 120 --eval-tokens 200 --untested --width 16 --inner 24 "
        "%s --sequence 12 --batch-tokens 96 --max-steps 8 --epochs 1 --threads 1 --rate 1e-2 "
        "--warmup 1 --out %s %s",
        strstr(options, "--heads") ? "" : "--heads 2", dir, options)));
}

#define LLAMA "--norm-kind rms --positions rotary "

/* An exported model read again gives the model's own perplexity and, to f32's rounding of two tables, its logits. */
TEST(there_and_back)
{
    static const char *const models[] = {
        "--layers 2",
        "--activation gelu --untied",
        "--positions none",
        "--positions learned",
        LLAMA "--activation swiglu --layers 2 --kv-heads 1",
        LLAMA "--activation geglu",
        LLAMA "--activation swiglu --heads 3 --head-width 6 --kv-heads 1",
        LLAMA "--activation swiglu --heads 3 --head-width 4 --head-norm --biases none",
        LLAMA "--activation geglu --head-norm --biases none --untied",
        LLAMA "--activation swiglu --rotary-scaling 2.5",
        LLAMA "--activation swiglu --rotary-scaling 4,1,4,16",
        LLAMA "--activation swiglu --rotary-scaling 4,1,8,16,1.3",
        LLAMA "--activation swiglu --biases none --windows 3",
        LLAMA "--activation geglu --layers 3 --biases qkv --windows 0,4,4"};
    shell_ok("rm -rf ours theirs; printf 'the lord said unto the king\\n\\nof the  land\\n' >said");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        train("ours", models[i]);
        run_ok("export --model ours --out theirs");
        shell_ok(
            "cd theirs && grep -q '\"eos_token\": \"<eos>\"' tokenizer_config.json && "
            "grep -q '\"unk_token\": \"<unk>\"' tokenizer_config.json && "
            "grep -q '\"model_max_length\": 12,' tokenizer_config.json && "
            "for f in config generation_config; do grep -o '\"eos_token_id\": [0-9]*' $f.json >$f; done && "
            "test -s config && cmp config generation_config");
        for (int k = 0; k < 2; k++)
            run_ok("eval --threads 1 --model %s --text said --sequence 12 --precision f64 --logits "
                   "%s.npy",
                   k ? "theirs" : "ours", k ? "theirs" : "ours");
        assert_true(differ("theirs.npy", "ours.npy") <= 4 * 8 * 0x1p-23);
        if (strstr(
                models[i],
                "--layers 2 --kv-heads")) /* keys of one head of two, which our reader would find anywhere */
            shell_ok(
                "grep -aq '1.self_attn.k_proj.weight\":{\"dtype\":\"F32\",\"shape\":.8,16.' theirs/model.safetensors");
        shell_ok("rm -r ours theirs");
    }
    train("other", "--positions relative");
    must_refuse("export --model other --out theirs",
                "gpt2 has no --positions relative, llama has no --norm-kind layer");
    train("half", LLAMA "--activation swiglu --head-norm");
    must_refuse("export --model half --out theirs", "llama has no --head-norm yes");
    must_refuse("export --model half --out theirs", "qwen3 has no such biases");
    train("windows", LLAMA "--activation swiglu --layers 3 --windows 4,0");
    must_refuse("export --model windows --out theirs", "llama has no such --windows");
    train("bare", "--biases none");
    must_refuse("export --model bare --out theirs", "gpt2 has no such biases");
    train("other-scheme", "--scheme rk4");
    must_refuse("export --model other-scheme --out theirs", "another scheme than transformer");
    train("post", "--norm post");
    must_refuse("export --model post --out theirs",
                "gpt2 has no --norm post, llama has no --norm post");
    must_refuse("export --model post", "--out is needed");
    fetch("llama"); /* its tokenizer tells the end of a text, 2, from its beginning, 1 */
    shell_ok(
        "mkdir -p c; for s in train valid test; do for i in 1 2 3 4 5; do cat m/text.txt; done "
        ">c/$s.txt; done");
    for (int lines = 0; lines <= 1; lines++) {
        assert_true(trained(program_run(
            "train --corpus c --tokenizer m/tokenizer.json --scheme transformer --max-steps 2 --epochs "
            "1 --untested --context %s --out tokens" SMALL_NETWORK,
            lines ? "sentence" : "stream")));
        run_ok("export --model tokens --out theirs");
        shell_ok(
            "tr -d ' \\n' <theirs/config.json | grep -q '\"bos_token_id\":1,\"eos_token_id\":%s,'",
            lines ? ".2,1." : "2");
        shell_ok("rm -r tokens theirs");
    }
}

/* Writes "NAME SHAPE" of all tensors of a directory to DIR.tensors, without rows of words: a vocabulary has as many tokens as
 * its tokenizer, a file may have more. */
static void list_tensors(const char *dir)
{
    shell_ok(
        "cat %s/*.safetensors | LC_ALL=C grep -ao '\"[a-z][a-z_.0-9]*\": *{\"dtype\": *\"[A-Z0-9]*\", *\"shape\": "
        "*\\[[0-9, ]*\\]' | sed 's/\"dtype\": *\"[A-Z0-9]*\"//; s/ //g' | grep -v 'wte\\|embed_tokens\\|lm_head' | sort "
        ">%s.tensors && test $(wc -l <%s.tensors) -gt 10",
        dir, dir, dir);
}

/* Trains a little from a family's weights, and exports. */
static int tune(const char *type, const char *options)
{
    fetch(type);
    shell_ok("rm -rf c ours theirs; mkdir c; for s in train valid test; do for i in 1 2 3; do cat "
             "m/text.txt; done >c/$s.txt; done");
    assert_true(trained(program_run(
        "train --from m --corpus c --max-steps 3 --epochs 1 --untested --threads 1 --rate 1e-2 --warmup 1 "
        "--out ours %s",
        options)));
    return program_run("export --model ours --out theirs");
}

/* What is trained from others' weights is of their family: no bias is gained, and what is exported has their tensors and
 * gives what the training left. Control: with more biases it has other tensors. */
TEST(a_training_stays_in_its_family)
{
    static const struct {
        const char *type, *more; /* "": every bias is there, or no family has a model with more */
    } rows[] = {{"gpt2", ""},
                {"llama", ""},
                {"mistral", "--biases all --windows 0"},
                {"qwen2", "--biases all"},
                {"qwen3", "--biases attention"},
                {"phi3", ""},
                {"phi", ""},
                {"gemma", "--biases attention"},
                {"gemma2", "--biases attention"},
                {"gemma3_text", "--biases attention"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int more = 0; more <= (*rows[i].more != 0); more++) {
            if (tune(rows[i].type, more ? rows[i].more : "") != 0)
                fail_msg("%s: %s", rows[i].type, err);
            list_tensors("m"), list_tensors("theirs");
            int same =
                strcmp(file_slurp("m.tensors", NULL), file_slurp("theirs.tensors", NULL)) == 0;
            char type[64];
            snprintf(type, sizeof type, "\"model_type\": \"%s\"", rows[i].type);
            same &= strstr(file_slurp("theirs/config.json", NULL), type) != NULL;
            if (same == more) fail_msg("%s %d", rows[i].type, more);
            for (int k = 0; k < 2; k++)
                run_ok(
                    "eval --threads 1 --model %s --text m/text.txt --precision f64 --logits %s.npy",
                    k ? "theirs" : "ours", k ? "theirs" : "ours");
            assert_true(differ("theirs.npy", "ours.npy") <= 4 * 8 * 0x1p-23);
        }
    fetch("qwen3");
    change("\"rope_scaling\": null", "\"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 2}");
    must_refuse(
        "train --from m --corpus c --max-steps 1 --epochs 1 --untested --sequence 21 --out ours",
        "rope_type is dynamic, so sequences of up to 21 tokens are not supported");
}

/* ---- every key of config.json ------------------------------------------------------------------------------ */

/* The letter of a family in the rows below: its first one, but 3 for Qwen 3, P for Phi-3, and G, 2, T for Gemma 1, 2, 3. */
static char letter(const Family *f)
{
    static const char *const others[] = {"3qwen3", "Pphi3", "Ggemma", "2gemma2", "Tgemma3_text"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(f->type, others[i] + 1) == 0) return *others[i];
    return *f->type;
}

/* What a value of a key does. SAME: nothing; OTHER: other numbers, which tests/python/llama.py and the recorded logits hold for some; else the words
 * of the refusal. Families by their letters; the keys are those that transformers 4.48 documents for them, writes for all
 * models, or that published models have. A row is a value that is not the default, but of keys that nothing else may be. */
#define SAME NULL
#define OTHER ""
#define ALL "glmq3bPpG2T"
static const struct {
    const char *family, *key, *value, *what;
} keys[] = {
    /* GPT-2 */
    {"g", "n_layer", "1", "this model has no such tensor"},
    {"g", "n_embd", "32", "needs 32"},
    {"g", "n_head", "2", OTHER},
    {"g", "n_inner", "64", SAME},
    {"g", "n_inner", "60", "another shape"},
    {"g", "n_positions", "12", OTHER},
    {"g", "n_ctx", "7", SAME},
    {"g", "activation_function", "\"gelu\"", OTHER},
    {"g", "activation_function", "\"gelu_python\"", OTHER},
    {"g", "activation_function", "\"gelu_pytorch_tanh\"", SAME},
    {"g", "activation_function", "\"gelu_fast\"", SAME},
    {"g", "activation_function", "\"relu\"", OTHER},
    {"g", "activation_function", "\"silu\"", "activation_function \"silu\" is not supported"},
    {"g", "layer_norm_epsilon", "0.1", OTHER},
    {"g", "layer_norm_epsilon", "\"0.1\"", "layer_norm_epsilon has to be a number"},
    {"g", "scale_attn_weights", "false", "scale_attn_weights other than true"},
    {"g", "scale_attn_weights", "null", "scale_attn_weights null"},
    {"g", "scale_attn_by_inverse_layer_idx", "true",
     "scale_attn_by_inverse_layer_idx other than false"},
    {"g", "scale_attn_by_inverse_layer_idx", "\"false\"", /* Python takes it for true */
     "scale_attn_by_inverse_layer_idx has to be true or false"},
    {"g", "reorder_and_upcast_attn", "true", SAME},
    {"g", "attn_pdrop", "0.5", SAME},
    {"g", "embd_pdrop", "0.5", SAME},
    {"g", "resid_pdrop", "0.5", SAME},
    {"g", "summary_activation", "\"tanh\"", SAME},
    {"g", "summary_first_dropout", "0.5", SAME},
    {"g", "summary_proj_to_labels", "false", SAME},
    {"g", "summary_type", "\"last\"", SAME},
    {"g", "summary_use_proj", "false", SAME},
    {"g", "n_special", "3", SAME},
    {"g", "predict_special_tokens", "true", SAME},
    {"g", "embd_dropout", "0.5", SAME},
    {"g", "resid_dropout", "0.5", SAME},
    {"gb", "tie_word_embeddings", "false", "no tensor for output.weight"},
    {"gb", "tie_word_embeddings", "null", "tie_word_embeddings null"},
    {"gb", "tie_word_embeddings", "\"false\"", "tie_word_embeddings has to be true or false"},
    {"gb", "add_cross_attention", "true", "add_cross_attention other than false"},
    /* Llama, Mistral, Qwen 2 and 3 */
    {"lmq3b", "num_hidden_layers", "1", "this model has no such tensor"},
    {"lm3", "hidden_size", "32", "needs 32"},
    {"q", "hidden_size", "32", "a model of 23456 numbers, where there can be at most"},
    {"b", "hidden_size", "32", "needs"},
    {"lm3", "num_attention_heads", "2", "another shape"},
    {"q", "num_attention_heads", "2", "2 heads are not divisible by 4 heads of keys"},
    {"b", "num_attention_heads", "2", OTHER},
    {"l3", "num_key_value_heads", "1", "another shape"},
    {"mq", "num_key_value_heads", "2", "another shape"},
    {"lmq3b", "intermediate_size", "20", "another shape"},
    {"lmq3b", "max_position_embeddings", "10", OTHER},
    {"lmq3", "hidden_act", "\"swish\"", SAME},
    {"lmq3", "hidden_act", "\"gelu_new\"", OTHER},
    {"lmq3", "hidden_act", "\"gelu_fast\"", OTHER},
    {"lmq3", "hidden_act", "\"gelu_pytorch_tanh\"", OTHER},
    {"lmq3", "hidden_act", "\"gelu\"", "hidden_act \"gelu\" is not supported"},
    {"lmq3", "rms_norm_eps", "0.1", OTHER},
    {"lmq3", "rope_theta", "20", OTHER},
    {"lmq3", "rope_theta", "\"20\"", "rope_theta has to be a number"},
    {"lmq3", "rope_scaling", "{\"rope_type\": \"linear\", \"factor\": 2}", OTHER},
    {"lmq3", "rope_scaling", "{\"rope_type\": \"linear\", \"factor\": \"2\"}",
     "factor has to be a number"},
    {"lmq3", "rope_scaling", "{\"rope_type\": \"yarn\", \"factor\": 2}", OTHER},
    {"lmq3", "rope_scaling",
     "{\"rope_type\": \"yarn\", \"factor\": 2, \"beta_fast\": 2.5, \"beta_slow\": 0.1, "
     "\"original_max_position_embeddings\": 64}",
     OTHER},
    {"lmq3", "rope_scaling", "{\"rope_type\": \"yarn\", \"factor\": 2, \"attention_factor\": 0}",
     "attention_factor 0"},
    {"lmq3", "rope_scaling",
     "{\"rope_type\": \"llama3\", \"factor\": 2, \"low_freq_factor\": 1, \"high_freq_factor\": 2, "
     "\"original_max_position_embeddings\": 16}",
     OTHER},
    {"lq", "rope_scaling", "{\"rope_type\": \"dynamic\", \"factor\": 2}", OTHER},
    {"m3", "rope_scaling", "{\"rope_type\": \"dynamic\", \"factor\": 2}", SAME}, /* as by default */
    {"lmq3", "rope_scaling", "{\"rope_type\": \"longrope\", \"factor\": 2}",
     "rope_type \"longrope\" is not supported"},
    {"lmq3", "rope_scaling", "{\"rope_type\": \"yarn\", \"factor\": 2, \"mscale\": 1}",
     "mscale in rope_scaling"},
    {"lmq3", "rope_scaling", "{\"rope_type\": \"yarn\", \"factor\": 2, \"truncate\": false}",
     "truncate in rope_scaling"},
    {"lmq3", "rope_scaling", "\"linear\"", "rope_scaling has to be an object"},
    {"lmq3", "rope_scaling", "[{\"rope_type\": \"linear\", \"factor\": 2}]",
     "rope_scaling has to be an object"},
    {"lmq3", "rope_scaling", "{\"rope_type\": \"default\", \"rope_theta\": 20}",
     "rope_theta of rope_scaling is also said"},
    {"m", "rope_parameters", "{\"rope_type\": \"default\", \"rope_theta\": 20}", OTHER},
    {"3", "rope_parameters", "{\"rope_type\": \"default\", \"rope_theta\": 20}", OTHER},
    {"l", "rope_parameters", "{\"rope_type\": \"default\", \"rope_theta\": 20}",
     "rope_type of rope_scaling is also said"},
    {"q", "rope_parameters", "{\"rope_type\": \"default\", \"rope_theta\": 20}", "do not agree"},
    {"lmq3", "rope_parameters", "{\"full_attention\": {\"rope_theta\": 20}}",
     "full_attention in rope_parameters"},
    {"lmq3", "rope_parameters", "9", "rope_parameters has to be an object"},
    {"l", "rope_parameters", "{\"rope_type\": \"linear\", \"factor\": 2}",
     "of rope_scaling is also said"},
    {"lm3", "head_dim", "10", "another shape"},
    {"lm3", "head_dim", "0", "head-width"},
    {"lm3", "head_dim", "8.5", "head-width"},
    {"lm3", "head_dim", "\"8\"", "head_dim has to be a number"},
    {"3", "head_dim", "null", "a model of 71372 numbers"}, /* 128 where nothing is said */
    {"m", "head_dim", "null", SAME},
    {"q", "head_dim", "4", SAME},
    {"lmq3", "partial_rotary_factor", "0.5", "partial_rotary_factor other than 1"},
    {"lmq3", "partial_rotary_factor", "1.0", SAME},
    {"lmq3", "rope_interleaved", "true", "rope_interleaved other than false"},
    {"lmq3", "use_mrope", "true", "use_mrope other than false"},
    {"lmq3", "is_llama_config", "true", SAME},
    {"lmq3", "transformers.js_config", "{\"dtype\": \"q4\"}", SAME},
    {"lmq3", "pretraining_tp", "2", SAME},
    {"lmq3", "attention_dropout", "0.5", SAME},
    {"lmq3", "hidden_dropout", "0.5", SAME},
    {"l", "attention_bias", "false", "where attention_bias is false"},
    {"l", "attention_bias", "1", "attention_bias has to be true or false"},
    {"3", "attention_bias", "true", "no tensor 'layers.#.self_attn.q_proj.bias'"},
    {"mq", "attention_bias", "true", SAME}, /* which their classes do not read */
    {"mq", "attention_bias", "false", SAME},
    {"l", "mlp_bias", "false", "where mlp_bias is false"},
    {"mq3", "mlp_bias", "true", SAME},
    {"lm", "tie_word_embeddings", "true", OTHER},
    {"q3", "tie_word_embeddings", "false", "no tensor for output.weight"},
    {"l", "sliding_window", "4", SAME},
    {"m", "sliding_window", "10", OTHER},
    {"m", "sliding_window", "10.0", "sliding_window has to be a whole number"},
    {"m", "sliding_window", "\"10\"", "sliding_window has to be a whole number"},
    {"m", "sliding_window", "[10]", "sliding_window has to be a whole number"},
    {"m", "sliding_window", "true", "sliding_window has to be a whole number"},
    {"m", "sliding_window", "0", "lets a token see none"},
    {"m", "sliding_window", "-1", "lets a token see none"},
    {"q3", "sliding_window", "4", SAME},
    {"lm", "use_sliding_window", "true", SAME},
    {"q3", "use_sliding_window", "true", SAME}, /* none of two layers is from the 28th on */
    {"q3", "use_sliding_window", "1", "use_sliding_window has to be true or false"},
    {"lm", "max_window_layers", "0", SAME},
    {"q3", "max_window_layers", "9", SAME},
    {"q3", "max_window_layers", "0.0", "max_window_layers has to be a whole number"},
    {"q3", "layer_types", "[\"full_attention\", \"sliding_attention\"]",
     SAME}, /* without use_sliding_window */
    {"mq3", "layer_types", "[\"full_attention\", \"other\"]", "for each layer"},
    {"lmq3", "layer_types", "[\"full_attention\", \"full_attention\"]", SAME},
    /* BERT */
    {"b", "hidden_act", "\"gelu_new\"", OTHER},
    {"b", "hidden_act", "\"gelu_fast\"", OTHER},
    {"b", "hidden_act", "\"gelu_python\"", SAME},
    {"b", "hidden_act", "\"relu\"", "hidden_act \"relu\" is not supported"},
    {"b", "layer_norm_eps", "0.1", OTHER},
    {"b", "position_embedding_type", "\"relative_key\"", "position_embedding_type other than"},
    {"b", "position_embedding_type", "null", "position_embedding_type null"},
    {"b", "is_decoder", "true", "is_decoder other than false"},
    {"b", "type_vocab_size", "3", SAME}, /* its first row is read */
    {"b", "hidden_dropout_prob", "0.5", SAME},
    {"b", "attention_probs_dropout_prob", "0.5", SAME},
    {"b", "classifier_dropout", "0.5", SAME},
    {"b", "pooler_fc_size", "9", SAME},
    {"b", "pooler_num_attention_heads", "9", SAME},
    {"b", "pooler_num_fc_layers", "9", SAME},
    {"b", "pooler_size_per_head", "9", SAME},
    {"b", "pooler_type", "\"first\"", SAME},
    {"b", "directionality", "\"bidi\"", SAME},
    {"b", "gradient_checkpointing", "true", SAME},
    /* Phi, Phi-3, Gemma 1 to 3 */
    {"P2T", "sliding_window", "null", OTHER},
    {"P2T", "sliding_window", "0", "lets a token see none"},
    {"Pp", "partial_rotary_factor", "1", OTHER},
    {"Pp", "partial_rotary_factor", "0.01", "partial_rotary_factor 0.01 is not supported"},
    {"P", "rope_scaling", "{\"type\": \"longrope\"}", "\"longrope\" is not supported"},
    {"P", "rope_scaling", "{\"type\": \"yarn\", \"factor\": 2}", "\"yarn\" is not supported"},
    {"P", "original_max_position_embeddings", "9", SAME},
    {"p", "rope_scaling", "{\"type\": \"yarn\", \"factor\": 2}", "and all with YaRN"},
    {"p", "rope_scaling", "{\"type\": \"linear\", \"factor\": 2}", OTHER},
    {"p", "qk_layernorm", "true", "qk_layernorm other than false"},
    {"p", "hidden_act", "\"relu\"", OTHER},
    {"p", "layer_norm_eps", "0.1", OTHER},
    {"p", "tie_word_embeddings", "true", OTHER},
    {"G", "hidden_act", "\"gelu\"", "hidden_act \"gelu\" is not supported"},
    {"G2T", "hidden_activation", "\"silu\"", "hidden_activation \"silu\" is not supported"},
    {"G2T", "hidden_activation", "\"gelu_new\"", SAME},
    {"G2T", "use_bidirectional_attention", "true", "use_bidirectional_attention other than false"},
    {"G2T", "attention_bias", "true", "no tensor 'layers.#.self_attn.q_proj.bias'"},
    {"G2T", "tie_word_embeddings", "false", "no tensor for output.weight"},
    {"2T", "attn_logit_softcapping", "50.0", "attn_logit_softcapping other than null"},
    {"2T", "final_logit_softcapping", "30.0", "final_logit_softcapping other than null"},
    {"2T", "query_pre_attn_scalar", "100", OTHER},
    {"2T", "query_pre_attn_scalar", "0", "query_pre_attn_scalar is not positive"},
    {"2T", "cache_implementation", "\"dynamic\"", SAME},
    {"2", "layer_types", "[\"full_attention\", \"full_attention\", \"full_attention\"]", OTHER},
    {"T", "sliding_window_pattern", "2", OTHER},
    {"T", "sliding_window_pattern", "2.5", "sliding_window_pattern has to be a whole number"},
    {"T", "rope_local_base_freq", "30", OTHER},
    {"T", "rope_theta", "30", OTHER},
    /* all */
    {ALL, "vocab_size", "9", "vocab_size is 9"},
    {ALL, "vocab_size", "300.0", "vocab_size has to be a whole number"},
    {ALL, "vocab_size", "330", "needs 330"},
    {ALL, "quantization_config", "{\"bits\": 4}", "quantization_config other than null"},
    {ALL, "pruned_heads", "{\"0\": [1]}", "pruned_heads other than null"},
    {ALL, "pruned_heads", "{}", SAME},
    {ALL, "is_encoder_decoder", "true", "is_encoder_decoder other than false"},
    {"lmq3PpG2T", "add_cross_attention", "true", "add_cross_attention other than false"},
    {"glmq3PpG2T", "is_decoder", "true", SAME},
    {ALL, "cross_attention_hidden_size", "9", SAME},
    {ALL, "tie_encoder_decoder", "true", SAME},
    {ALL, "architectures", "[\"Other\"]", SAME},
    {ALL, "auto_map", "{}", SAME},
    {ALL, "dtype", "\"float16\"", SAME},
    {ALL, "torch_dtype", "\"float16\"", SAME},
    {ALL, "transformers_version", "\"9\"", SAME},
    {ALL, "use_cache", "false", SAME},
    {ALL, "use_bfloat16", "true", SAME},
    {ALL, "tf_legacy_loss", "true", SAME},
    {ALL, "xla_device", "true", SAME},
    {ALL, "torchscript", "true", SAME},
    {ALL, "tokenizer_class", "\"Other\"", SAME},
    {ALL, "prefix", "\"a\"", SAME},
    {ALL, "finetuning_task", "\"a\"", SAME},
    {ALL, "task_specific_params", "{}", SAME},
    {ALL, "problem_type", "\"a\"", SAME},
    {ALL, "id2label", "{}", SAME},
    {ALL, "label2id", "{}", SAME},
    {ALL, "num_labels", "9", SAME},
    {ALL, "license", "\"a\"", SAME},
    {"glmq3PpG2T", "bos_token_id", "9999",
     "bos_token_id is no token"}, /* what stands before a text */
    {"b", "bos_token_id", "7", SAME},
    {ALL, "eos_token_id", "7", SAME},
    {ALL, "eos_token_id", "\"7\"", "eos_token_id is no number and no list of numbers"},
    {ALL, "eos_token_id", "[7, true]", "eos_token_id is no number and no list of numbers"},
    {ALL, "pad_token_id", "7", SAME},
    {ALL, "sep_token_id", "7", SAME},
    {ALL, "cls_token_id", "7", SAME},
    {ALL, "unk_token_id", "7", SAME},
    {ALL, "mask_token_id", "7", SAME},
    {ALL, "decoder_start_token_id", "7", SAME},
    {ALL, "forced_bos_token_id", "7", SAME},
    {ALL, "forced_eos_token_id", "7", SAME},
    {ALL, "begin_suppress_tokens", "[7]", SAME},
    {ALL, "suppress_tokens", "[7]", SAME},
    {ALL, "bad_words_ids", "[[7]]", SAME},
    {ALL, "initializer_range", "9", SAME},
    {ALL, "initializer_factor", "9", SAME},
    {ALL, "max_length", "9", SAME},
    {ALL, "min_length", "9", SAME},
    {ALL, "chunk_size_feed_forward", "9", SAME},
    {ALL, "attn_implementation", "\"eager\"", SAME},
    {ALL, "_attn_implementation", "\"eager\"", SAME},
    {ALL, "return_dict", "false", SAME},
    {ALL, "output_attentions", "true", SAME},
    {ALL, "output_hidden_states", "true", SAME},
    {ALL, "output_past", "true", SAME},
    {ALL, "do_sample", "true", SAME},
    {ALL, "early_stopping", "true", SAME},
    {ALL, "num_beams", "9", SAME},
    {ALL, "num_beam_groups", "9", SAME},
    {ALL, "diversity_penalty", "9", SAME},
    {ALL, "temperature", "9", SAME},
    {ALL, "top_k", "9", SAME},
    {ALL, "top_p", "0.9", SAME},
    {ALL, "typical_p", "0.9", SAME},
    {ALL, "repetition_penalty", "9", SAME},
    {ALL, "length_penalty", "9", SAME},
    {ALL, "no_repeat_ngram_size", "9", SAME},
    {ALL, "encoder_no_repeat_ngram_size", "9", SAME},
    {ALL, "num_return_sequences", "9", SAME},
    {ALL, "output_scores", "true", SAME},
    {ALL, "return_dict_in_generate", "true", SAME},
    {ALL, "remove_invalid_values", "true", SAME},
    {ALL, "exponential_decay_length_penalty", "[9, 2]", SAME},
    {ALL, "any_other", "0", "the key any_other is not known"},
    {ALL, "any_other", "null", SAME},
};
enum { KEYS = sizeof keys / sizeof *keys };

/* Writes m's config.json with a key of this value alone. */
static void say(const char *key, const char *value)
{
    json_t *config = json_loads(file_slurp("m/config.json", NULL), 0, NULL),
           *one = json_loads(value, JSON_DECODE_ANY, NULL);
    char *text = config && one && json_object_set_new(config, key, one) == 0
                     ? json_dumps(config, JSON_INDENT(1))
                     : NULL;
    if (!text) fail_msg("%s: %s", key, value);
    file_text("m/config.json", text);
    free(text);
    json_decref(config);
}

/* All that does nothing is said at once, and then does nothing; each other by itself. */
TEST(every_key_is_read_refused_or_known_to_change_nothing)
{
    for (const Family *f = families; f->type; f++) {
        fetch(f->type);
        char *config = strdup(file_slurp("m/config.json", NULL));
        for (size_t i = 0; i < KEYS; i++)
            if (strchr(keys[i].family, letter(f)) && keys[i].what == SAME)
                say(keys[i].key, keys[i].value);
        assert_true(off(f->type, "--precision f64") <= 2e-6);
        for (size_t i = 0; i < KEYS; i++) {
            if (!strchr(keys[i].family, letter(f)) || keys[i].what == SAME) continue;
            file_text("m/config.json", config);
            say(keys[i].key, keys[i].value);
            if (*keys[i].what)
                must_refuse("eval --model m --text m/text.txt", keys[i].what);
            else if (off(f->type, "--precision f64") < 1e-5)
                fail_msg("%s %s", keys[i].key, keys[i].value);
        }
        free(config);
    }
}

static int has_row(const char *key)
{
    int has = strcmp(key, "type") == 0 || strcmp(key, "rope_type") == 0; /* within rope_scaling */
    for (size_t i = 0; i < KEYS; i++) {
        const char *in = strstr(keys[i].value, key);
        has |= strcmp(keys[i].key, key) == 0 || (in && in[-1] == '"' && in[strlen(key)] == '"');
    }
    return has;
}

/* Control: a name that no row has is told. */
TEST(every_key_that_the_reader_knows_has_a_row)
{
    for (const char *const *name = family_ignored; *name; name++)
        if (!has_row(*name)) fail_msg("%s", *name);
    for (const FamilyWord *k = family_kinds; k->theirs; k++)
        if (!has_row(k->theirs)) fail_msg("%s", k->theirs);
    for (const Family *f = families; f->type; f++) {
        for (const FamilySetting *s = f->setting; s->option; s++)
            if (s->key && !has_row(s->key)) fail_msg("%s", s->key);
        for (const FamilyDemand *d = f->demand; d->key; d++)
            if (!has_row(d->key)) fail_msg("%s", d->key);
    }
    assert_false(has_row("no_such_key") || has_row("n_head_"));
}

TEST_MAIN(open_all, program_close)
