/* test_generate.c: a trained model goes on with a text, by words and by characters. The program is the
 * one named by TROTTER (default build/trotter). */
#include "tests/lib/test.h"

#include "tests/lib/scratch.h"

enum { ROOM = 1 << 16 };

/* Runs the program with `args`; stdout in out, stderr in err; gives the exit status. */
static int run(const char *args, char out[ROOM], char err[ROOM])
{
    const char *program = getenv("TROTTER");
    char line[8192];
    snprintf(line, sizeof line, "%s %s >%s 2>%s </dev/null", program ? program : "build/trotter",
             args, scratch_path("out"), scratch_path("err"));
    int status = system(line);
    char *into[] = {out, err};
    for (int i = 0; i < 2; i++) {
        FILE *f = fopen(scratch_path(i ? "err" : "out"), "r");
        assert_non_null(f);
        into[i][fread(into[i], 1, ROOM - 1, f)] = 0;
        fclose(f);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(int status, const char *args, char out[ROOM], char err[ROOM])
{
    int got = run(args, out, err);
    if (got != status) fail_msg("'%s': status %d, not %d: %s", args, got, status, err);
}

static char out[ROOM], again[ROOM], err[ROOM];

/* `args` with the model behind it. */
static const char *with_model(const char *command, const char *model, const char *args)
{
    static char line[4096];
    snprintf(line, sizeof line, "%s --threads 1 --model %s %s", command, scratch_path(model), args);
    return line;
}

/* A text of one line again and again, learned by heart. */
static void train(const char *model, const char *options)
{
    static const char text[] = "the cat sat on a mat\n";
    char line[4096], all[64 * sizeof text] = "";
    for (int i = 0; i < 60; i++) strcat(all, text);
    scratch_write("train.txt", all, strlen(all));
    scratch_write("valid.txt", text, strlen(text));
    scratch_write("test.txt", text, strlen(text));
    snprintf(line, sizeof line,
             "train --corpus %s --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 64 "
             "--dropout 0 --rate 1e-2 --warmup 20 --epochs 30 --threads 1 --out %s %s",
             scratch, scratch_path(model), options);
    expect(0, line, out, err);
}

TEST(words_go_on)
{
    train("w", "--max-steps 100");
    expect(0, with_model("generate", "w", "--prompt 'the cat' --tokens 11 --temperature 0"), out,
           err);
    assert_string_equal(out, "the cat sat on a mat\nthe cat sat on a mat\n");
    assert_string_equal(err, "");
    expect(0, with_model("generate", "w", "--tokens 7 --temperature 0"), out, err);
    assert_string_equal(out, "the cat sat on a mat\n");
}

TEST(characters_go_on)
{
    train("c", "--level char --max-steps 500");
    expect(0, with_model("generate", "c", "--prompt 'the cat s' --tokens 11 --temperature 0"), out,
           err);
    assert_string_equal(out, "the cat sat on a mat\n");
    expect(0, with_model("generate", "c", "--prompt 'tQQc' --tokens 1 --top 1"), out, err);
    assert_non_null(strstr(err, "'Q'"));
    assert_null(strstr(strstr(err, "'Q'") + 1, "'Q'")); /* told once */
    assert_non_null(strstr(out, "t<unk><unk>c"));
}

/* Bits a character: log2 of the perplexity, and only where tokens are characters. */
TEST(characters_have_bits)
{
    double tokens, nll, ppl, bits;
    char args[1200];
    snprintf(args, sizeof args, "--text %s --csv", scratch_path("valid.txt"));
    expect(0, with_model("eval", "c", args), out, err);
    assert_int_equal(sscanf(out, "tokens,nll,ppl,bits_per_character\n%lf,%lf,%lf,%lf", &tokens,
                            &nll, &ppl, &bits),
                     4);
    assert_true(tokens == 21);
    assert_true(fabs(bits - log2(ppl)) <= 1e-6 && fabs(bits - nll / log(2)) <= 1e-6);
    expect(0, with_model("eval", "w", args), out, err);
    assert_null(strstr(out, "bits"));
}

/* Draws are the seed's; at a high temperature others than the likeliest come, but none below the
 * K likeliest. */
TEST(draws_are_of_the_seed)
{
    const char *hot = "--tokens 40 --temperature 50 --seed 3";
    expect(0, with_model("generate", "w", hot), out, err);
    expect(0, with_model("generate", "w", hot), again, err);
    assert_string_equal(out, again);
    expect(0, with_model("generate", "w", "--tokens 40 --temperature 50 --seed 4"), again, err);
    assert_string_not_equal(out, again);
    expect(0, with_model("generate", "w", "--tokens 14 --temperature 50 --top 1"), again, err);
    assert_string_equal(again, "the cat sat on a mat\nthe cat sat on a mat\n");
}

TEST(bad_words_are_refused)
{
    expect(2, with_model("generate", "w", "--prompt dog"), out, err);
    assert_non_null(strstr(err, "'dog'"));
    expect(2, "generate --threads 1", out, err);
    expect(2, with_model("generate", "nothing", ""), out, err);
    expect(2, with_model("generate", "w", "--temperature -1"), out, err);
}

static int close_all(void **state)
{
    char line[600];
    snprintf(line, sizeof line, "rm -rf %s/w %s/c", scratch, scratch);
    return system(line) == 0 ? scratch_close(state) : -1;
}

TEST_MAIN(scratch_open, close_all)
