/* test_generate.c: a trained model goes on with a text, by words and by characters. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

/* Returns a command line: `args` with the model before them. */
static const char *with_model(const char *command, const char *model, const char *args)
{
    static char line[4096];
    snprintf(line, sizeof line, "%s --threads 1 --model %s %s", command, model, args);
    return line;
}

/* Trains on a text of one line again and again, which is learned by heart. */
static void train(const char *model, const char *options)
{
    static const char text[] = "the cat sat on a mat\n";
    char line[4096], all[64 * sizeof text] = "";
    for (int i = 0; i < 60; i++) strcat(all, text);
    file_text("train.txt", all);
    file_text("valid.txt", text);
    file_text("test.txt", text);
    snprintf(line, sizeof line,
             "train --corpus . --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 64 "
             "--dropout 0 --rate 1e-2 --warmup 20 --epochs 30 --threads 1 --out %s %s",
             model, options);
    run_ok(line);
}

TEST(words_go_on)
{
    train("w", "--max-steps 100");
    run_ok(with_model("generate", "w", "--prompt 'the cat' --tokens 11 --temperature 0"));
    assert_string_equal(out, "the cat sat on a mat\nthe cat sat on a mat\n");
    assert_string_equal(err, "");
    run_ok(with_model("generate", "w", "--tokens 7 --temperature 0"));
    assert_string_equal(out, "the cat sat on a mat\n");
}

TEST(characters_go_on)
{
    train("c", "--level char --max-steps 500");
    run_ok(with_model("generate", "c", "--prompt 'the cat s' --tokens 11 --temperature 0"));
    assert_string_equal(out, "the cat sat on a mat\n");
    run_ok(with_model("generate", "c", "--prompt 'tQQc' --tokens 1 --top 1"));
    assert_non_null(strstr(err, "'Q'"));
    assert_null(strstr(strstr(err, "'Q'") + 1, "'Q'")); /* reported once */
    assert_non_null(strstr(out, "t<unk><unk>c"));
}

/* train counts characters, or tokens for a model of words. The memory of so small a model is given in kB. */
TEST(train_tells_units)
{
    static const char rest[] = "--width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 64 "
                               "--max-steps 2 --eval-tokens 5 --threads 1 --out";
    char line[512];
    for (int chars = 0; chars < 2; chars++) {
        snprintf(line, sizeof line, "train --corpus . %s %s units%d", chars ? "--level char" : "",
                 rest, chars);
        run_ok(line);
        assert_true(says(" characters/s, peak ") == chars && says(" tokens/s, peak ") == !chars);
        assert_true(says("the first 5 characters of") == chars &&
                    says("the first 5 tokens of") == !chars);
        double bytes, parameters;
        const char *memory = strstr(err, "memory of the model: ");
        assert_int_equal(sscanf(memory, "memory of the model: %lf kB at its peak: parameters %lf,",
                                &bytes, &parameters),
                         2);
        assert_true(parameters > 1 && bytes > 3 * parameters);
    }
}

/* Bits a character are log2 of the perplexity, and are printed only where tokens are characters. */
TEST(characters_have_bits)
{
    double tokens, nll, ppl, bits;
    static const char args[] = "--text valid.txt --csv";
    run_ok(with_model("eval", "c", args));
    assert_int_equal(sscanf(out, "tokens,nll,ppl,bits_per_character\n%lf,%lf,%lf,%lf", &tokens,
                            &nll, &ppl, &bits),
                     4);
    assert_true(tokens == 21);
    assert_true(fabs(bits - log2(ppl)) <= 1e-6 && fabs(bits - nll / log(2)) <= 1e-6);
    run_ok(with_model("eval", "w", args));
    assert_null(strstr(out, "bits"));
}

/* Draws depend on the seed alone. At a high temperature others than the likeliest come, but none below the K
 * likeliest. */
TEST(draws_are_of_the_seed)
{
    const char *hot = "--tokens 40 --temperature 50 --seed 3";
    run_ok(with_model("generate", "w", hot));
    char *first = strdup(out);
    run_ok(with_model("generate", "w", hot));
    assert_string_equal(out, first);
    run_ok(with_model("generate", "w", "--tokens 40 --temperature 50 --seed 4"));
    assert_string_not_equal(out, first);
    free(first);
    run_ok(with_model("generate", "w", "--tokens 14 --temperature 50 --top 1"));
    assert_string_equal(out, "the cat sat on a mat\nthe cat sat on a mat\n");
}

/* The smallest nucleus is the likeliest token, however high the temperature; the whole one is all tokens. */
TEST(nuclei)
{
    static const char *const greedy[] = {"--top-p 1e-9", "--top-p 0", "--top-k 1",
                                         "--top 5 --top-p 1e-9", "--temperature 0 --top-p 0.5"};
    char line[256];
    for (size_t i = 0; i < sizeof greedy / sizeof *greedy; i++) {
        snprintf(line, sizeof line, "--tokens 14 --temperature 50 %s", greedy[i]);
        if (strstr(greedy[i], "temp")) snprintf(line, sizeof line, "--tokens 14 %s", greedy[i]);
        run_ok(with_model("generate", "w", line));
        assert_string_equal(out, "the cat sat on a mat\nthe cat sat on a mat\n");
    }
    run_ok(with_model("generate", "w", "--tokens 40 --temperature 50"));
    char *all = strdup(out);
    run_ok(with_model("generate", "w", "--tokens 40 --temperature 50 --top-p 1"));
    assert_string_equal(out, all);
    run_ok(with_model("generate", "w", "--tokens 40 --temperature 50 --top-p 0.4"));
    assert_string_not_equal(out, all);
    free(all);
    must_refuse(with_model("generate", "w", "--top-p 1.5"),
                "--top-p: expected a number from 0 to 1");
}

/* Standard input and the built-in text stand for a file of the same bytes; a file called "-" is "./-". */
TEST(texts_by_name)
{
    file_text("-", "a mat sat\n");
    file_text("begin", "the cat sat on a mat\nthe cat\n");
    run_ok(with_model("eval", "w", "--text valid.txt --csv"));
    char *file = strdup(out);
    static const char *const line[] = {
        "eval --threads 1 --model w --csv --text - < valid.txt",
        "cat valid.txt | %s eval --threads 1 --model w --csv --text -"};
    for (int i = 0; i < 2; i++) {
        int status = i ? shell(line[1], program) : shell("%s %s", program, line[0]);
        if (status != 0) fail_msg("%s", err);
        assert_string_equal(out, file);
    }
    run_ok(with_model("eval", "w", "--text ./- --csv"));
    assert_string_not_equal(out, file);
    free(file);
    assert_int_equal(shell("printf 'the dog' | %s eval --threads 1 --model w --text -", program),
                     2);
    assert_true(says("standard input:1: 'dog' is not in the vocabulary"));
    must_refuse(with_model("eval", "w", "--text -"), "is empty");
    run_ok(with_model("generate", "w", "--prompt-file begin --tokens 4 --temperature 0"));
    assert_string_equal(out, "the cat sat on a mat\nthe cat sat on a mat\n");
    assert_int_equal(
        shell(
            "printf 'the cat' | %s generate --threads 1 --model w --prompt-file - --tokens 4 --temperature 0",
            program),
        0);
    assert_string_equal(out, "the cat sat on a mat\n");
    run_ok(with_model("generate", "w", "--text begin --tokens 4 --temperature 0"));
    assert_string_equal(out, "the cat sat on a mat\nthe cat sat on a mat\n");
    must_refuse(with_model("generate", "w", "--prompt a --prompt-file begin"), "not both");
    run_ok(
        "train --corpus kjv --vocabulary 50 --width 8 --inner 8 --heads 1 --sequence 16 --max-steps 1 "
        "--batch-tokens 64 --eval-tokens 100 --threads 1 --out k");
    run_ok(with_model("eval", "k", "--corpus kjv --split test --csv"));
    /* this is the part of --eval-tokens: the whole text has more */
    double part, whole;
    assert_int_equal(sscanf(strchr(out, '\n'), " %lf", &part), 1);
    run_ok(with_model("eval", "k", "--text kjv:test --csv"));
    assert_int_equal(sscanf(strchr(out, '\n'), " %lf", &whole), 1);
    assert_true(part < 200 && whole > 10000);
    run_ok(with_model("truncation", "k", "--text kjv:valid --sentences 1"));
    run_ok(with_model("score", "k", "--text kjv:valid --sequence 200 --batch-tokens 256"));
    must_refuse(with_model("eval", "k", "--text kjv:tset"),
                "no text 'kjv:tset': neither a file nor kjv:train, kjv:valid or kjv:test");
    must_refuse(with_model("eval", "k", "--text kjv"), "kjv:valid");
    file_text("kjv", "and the lord\n"); /* a file goes before a built-in text of its name */
    run_ok(with_model("eval", "k", "--text kjv"));
    assert_null(strstr(err, "<unk>"));
    file_text("strange", "and the zebra\n");
    run_ok(with_model("eval", "k", "--text strange"));
    assert_non_null(strstr(err, "strange: 1 of 4 tokens (25 %) are read as <unk>"));
}

TEST(bad_words_are_refused)
{
    expect(2, with_model("generate", "w", "--prompt dog"));
    assert_non_null(strstr(err, "'dog'"));
    expect(2, "generate --threads 1");
    expect(2, with_model("generate", "nothing", ""));
    expect(2, with_model("generate", "w", "--temperature -1"));
}

TEST_MAIN(program_open, program_close)
