/* test_generate.c: a trained model goes on with a text, by words and by characters. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

/* Trains on a text of one line again and again, which is learned by heart. */
static void train(const char *model, const char *options)
{
    static const char text[] = "the cat sat on a mat\n";
    char all[64 * sizeof text] = "";
    for (int i = 0; i < 60; i++) strcat(all, text);
    file_text("train.txt", all);
    file_text("valid.txt", text);
    file_text("test.txt", text);
    run_ok("train --corpus . --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 64 "
           "--dropout 0 --rate 1e-2 --warmup 20 --epochs 30 --threads 1 --out %s %s",
           model, options);
}

TEST(words_go_on)
{
    run_ok("generate --threads 1 --model w --prompt 'the cat' --tokens 11 --temperature 0");
    assert_string_equal(out, "the cat sat on a mat\nthe cat sat on a mat\n");
    assert_string_equal(err, "");
    run_ok("generate --threads 1 --model w --tokens 7 --temperature 0");
    assert_string_equal(out, "the cat sat on a mat\n");
}

TEST(characters_go_on)
{
    run_ok("generate --threads 1 --model c --prompt 'the cat s' --tokens 11 --temperature 0");
    assert_string_equal(out, "the cat sat on a mat\n");
    must_tell("generate --threads 1 --model c --prompt 'tQQc' --tokens 1 --top 1", "'Q'");
    assert_null(strstr(strstr(err, "'Q'") + 1, "'Q'")); /* reported once */
    HAS(out, "t<unk><unk>c");
    must_refuse("generate --model c --prompt \"$(printf 'the\\ncaf\\351')\"",
                "prompt:2: not UTF-8");
}

/* train counts characters, or tokens for a model of words. The memory of so small a model is given in kB. */
TEST(train_tells_units)
{
    static const char rest[] = "--width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 64 "
                               "--max-steps 2 --eval-tokens 5 --threads 1 --out";
    for (int chars = 0; chars < 2; chars++) {
        run_ok("train --corpus . %s %s units%d", chars ? "--level char" : "", rest, chars);
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
    run_ok("eval --threads 1 --model c --text valid.txt --csv");
    double bits = out_number(1, "bits_per_character");
    assert_true(out_number(1, "tokens") == 21 && fabs(bits - log2(out_number(1, "ppl"))) <= 1e-6 &&
                fabs(bits - out_number(1, "nll") / log(2)) <= 1e-6);
    must_print("eval --threads 1 --model w --text valid.txt --csv", "~bits");
}

/* Windows that begin a whole sequence apart are its blocks, and one that holds the text is no other (tests/python/encoders.py has
 * the rest by NumPy). */
TEST(windows)
{
    const char *all = "eval --threads 1 --model w --text train.txt --csv --precision f64";
    run_ok("%s --stride 16", all);
    double strided = out_number(1, "nll");
    run_ok("%s", all);
    assert_true(fabs(strided - out_number(1, "nll")) <= 1e-12);
    must_refuse("eval --model w --text train.txt --stride 17", "--stride 17 leaves tokens out");
    must_refuse("eval --model w --text train.txt --stride 2 --context sentence",
                "--stride is for language models on a stream: this one reads each line alone");
}

/* Draws depend on the seed alone. At a high temperature others than the likeliest come. */
TEST(draws_are_of_the_seed)
{
    const char *hot = "--tokens 40 --temperature 50 --seed 3";
    char *first = output_of("generate --threads 1 --model w %s", hot);
    run_ok("generate --threads 1 --model w %s", hot);
    assert_string_equal(out, first);
    run_ok("generate --threads 1 --model w --tokens 40 --temperature 50 --seed 4");
    assert_string_not_equal(out, first);
}

/* A text ends before a text of --stop, wherever tokens begin, and what only begins one is printed; the prompt is no part of
 * the search. */
TEST(stops_before_a_text)
{
    static const struct {
        const char *model, *prompt, *stop, *text;
    } list[] = {
        {"w", "the cat", "--stop 'on a'", "the cat sat \n"},
        {"w", "the cat", "--stop 'cat'", "the cat sat on a mat\nthe \n"},
        {"w", "the cat", "--stop nowhere --stop 'mat\nthe c' --stop 't on'", "the cat sa\n"},
        {"w", "the cat", "--stop 'on a mat\nthe cow'",
         "the cat sat on a mat\nthe cat sat on a mat\n"},
        {"c", "the cat s", "--stop 't on'", "the cat sa\n"},
        {"c", "the cat s", "--stop 'a m'", "the cat sat on \n"},
        {"c", "the cat s", "--stop tt --stop matter", "the cat sat on a mat\n"}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        run_ok("generate --threads 1 --model %s --prompt '%s' --tokens 11 --temperature 0 %s",
               list[i].model, list[i].prompt, list[i].stop);
        assert_string_equal(out, list[i].text);
    }
}

/* The first of several samples is the only one of one; the others are others. */
TEST(samples_differ)
{
    const char *hot = "generate --threads 1 --model w --tokens 12 --temperature 50 --seed 3";
    char *one = output_of("%s", hot), *line = "---------------\n";
    char *three = output_of("%s --samples 3", hot);
    assert_true(strncmp(three, one, strlen(one)) == 0);
    char *second = strstr(three, line) + strlen(line), *third = strstr(second, line);
    assert_non_null(third);
    assert_null(strstr(third + 1, line));
    assert_true(strncmp(second, third + strlen(line), strlen(third + strlen(line))) != 0);
    assert_true(strncmp(one, second, strlen(one)) != 0);
}

/* A penalty below 1 makes the words of the prompt likelier than all others (tests/nn/test_sample.c has its numbers). */
TEST(repetition_is_penalised)
{
    const char *all = "generate --threads 1 --model w --prompt 'the cat sat' --temperature 0";
    run_ok("%s --tokens 4 --repetition-penalty 1", all);
    assert_string_equal(out, "the cat sat on a mat\n");
    run_ok("%s --tokens 3 --repetition-penalty 0.001", all);
    assert_false(says("mat") || says("on"));
}

/* The smallest nucleus is the likeliest token, however high the temperature (tests/nn/test_sample.c). */
TEST(nuclei)
{
    static const char *const greedy[] = {"--top-p 0", "--top 5 --top-p 1e-9", "--top-k 1"};
    for (size_t i = 0; i < 3; i++) {
        run_ok("generate --threads 1 --model w --tokens 14 --temperature 50 %s", greedy[i]);
        assert_string_equal(out, "the cat sat on a mat\nthe cat sat on a mat\n");
    }
    char *all = output_of("generate --threads 1 --model w --tokens 40 --temperature 50");
    run_ok("generate --threads 1 --model w --tokens 40 --temperature 50 --top-p 0.4");
    assert_string_not_equal(out, all);
    must_refuse("generate --threads 1 --model w --top-p 1.5",
                "--top-p: expected a number from 0 to 1");
}

/* Standard input and the built-in text stand for a file of the same bytes; a file called "-" is "./-". */
TEST(texts_by_name)
{
    file_text("-", "a mat sat\n");
    file_text("begin", "the cat sat on a mat\nthe cat\n");
    char *file = output_of("eval --threads 1 --model w --text valid.txt --csv");
    run_ok("eval --threads 1 --model w --csv --text - < valid.txt");
    assert_string_equal(out, file);
    assert_int_equal(shell("cat valid.txt | %s eval --threads 1 --model w --csv --text -", program),
                     0);
    assert_string_equal(out, file);
    run_ok("eval --threads 1 --model w --text ./- --csv");
    assert_string_not_equal(out, file);
    assert_int_equal(shell("printf 'the dog' | %s eval --threads 1 --model w --text -", program),
                     2);
    HAS(err, "standard input:1: 'dog' is not in the vocabulary");
    must_refuse("eval --threads 1 --model w --text -", "is empty");
    run_ok("generate --threads 1 --model w --prompt-file begin --tokens 4 --temperature 0");
    assert_string_equal(out, "the cat sat on a mat\nthe cat sat on a mat\n");
    assert_int_equal(
        shell(
            "printf 'the cat' | %s generate --threads 1 --model w --prompt-file - --tokens 4 --temperature 0",
            program),
        0);
    assert_string_equal(out, "the cat sat on a mat\n");
    run_ok("generate --threads 1 --model w --text begin --tokens 4 --temperature 0");
    assert_string_equal(out, "the cat sat on a mat\nthe cat sat on a mat\n");
    must_refuse("generate --threads 1 --model w --prompt a --prompt-file begin", "not both");
    run_ok(
        "train --corpus kjv --vocabulary 50 --width 8 --inner 8 --heads 1 --sequence 16 --max-steps 1 "
        "--batch-tokens 64 --eval-tokens 100 --threads 1 --out k");
    run_ok("eval --threads 1 --model k --corpus kjv --split test --csv");
    /* this is the part of --eval-tokens: the whole text has more */
    assert_true(out_number(1, "tokens") < 200);
    run_ok("eval --threads 1 --model k --text kjv:test --csv");
    assert_true(out_number(1, "tokens") > 10000);
    run_ok("truncation --threads 1 --model k --text kjv:valid --sentences 1");
    run_ok("score --threads 1 --model k --text kjv:valid --sequence 200 --batch-tokens 256");
    must_refuse("eval --threads 1 --model k --text kjv:tset",
                "no text 'kjv:tset': neither a file nor kjv:train, kjv:valid or kjv:test");
    must_refuse("eval --threads 1 --model k --text kjv", "kjv:valid");
    file_text("kjv", "and the lord\n"); /* a file goes before a built-in text of its name */
    must_tell("eval --threads 1 --model k --text kjv", "~<unk>");
    file_text("strange", "and the zebra\n");
    must_tell("eval --threads 1 --model k --text strange",
              "strange: 1 of 4 tokens (25 %) are read as <unk>");
}

TEST(bad_words_are_refused)
{
    must_refuse("generate --model w --prompt dog", "'dog'");
    must_refuse("generate", "--model is needed");
    must_refuse("generate --model nothing", "nothing/model.safetensors");
    must_refuse("generate --model w --temperature -1", "--temperature: expected a number");
}

static int open_models(void **state)
{
    if (program_open(state) != 0) return -1;
    train("w", "--max-steps 100");
    train("c", "--level char --max-steps 500");
    return 0;
}

TEST_MAIN(open_models, program_close)
