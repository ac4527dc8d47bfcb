/* test_starved.c: every reader with each of its allocations failing in turn, until no allocation is left. Each
 * time the code reports it and nothing leaks; without a failure the same job succeeds. */
#include "tests/lib/test.h"

#include <sys/stat.h>

#include "kernels/base/file.h"
#include "nn/text/bpe_codes.h"
#include "studies/base/frame.h"
#include "tests/lib/saved.h"
#include "tests/lib/tiny.h"

static Zoo zoo;
static Options *given; /* nothing */
static Model *model;
static Table *table, *decoder;
static Corpus sides; /* its words and merges */
static const OptionGroup *const no_groups[] = {NULL};

static const char scheme_text[] =
    "scheme a\ntitle t\nlearn b = 1/2\nlet c = (b+1)*sqrt(2)\nk1 = L(y + 1/2*k2[-1] @ 1/3)\n"
    "gate g = tanh(k1, y)\nk2 = H(y + (b+g)*k1/3)\ny' = y[-1] + 2*b^2*k1 + k2\n"
    "scheme c\nflow 1/2 F\nflow G\nscheme d\nk1 = F(y)\ny' = y[first] + k1[all]\n"
    "scheme e\nflow (1/(1 + i)) F\nflow (1/2 + i/2) F\nflow G\nscheme f\nflow F:heun*2\nflow G\n"
    "scheme g\norders 1..2\nk1 = H(4/3*y - 1/3*y[-1] + 2/3*k1)\ny' = 4/3*y - 1/3*y[-1] + 2/3*k1\n"
    "scheme h\ncarry v = k1\nk1 = H(y)\nk2 = norm(v + k1)\nv' = k2\ny' = y + v'\n";

/* ---- jobs (what else asks for memory in the library: tests/ode/test_short.c and the tests of nn/) ----- */

static int scheme_job(void)
{
    OWN_TABLES l = {0};
    return scheme_parse("text", scheme_text, sizeof scheme_text - 1, &l.table, &l.count);
}

static int source_job(void)
{
    static const char *const of[][2] = {
        {"a.jl",
         "function H(T)\n    A = zeros(T, 2, 2)\n    A[2, 1] = 2^0 - sqrt(0)\n    b = [0 0; 1//2 0.5]\n"
         "    ExplicitRKTableau(A, [0; 1], b[2, :], 2; αEEst = [1; 0], adaptiveorder = 1)\nend\n"},
        {"a.py",
         "h = np.array([1/2, 1/2, 0])\nt = ButcherTableau(\n    a_lower=(np.array([1]), h[:-1]),\n"
         "    b_sol=h,\n    b_error=h - np.array([1, 0, 0]),\n    c=np.array([1, 1]),\n)\n"},
        {"a.c",
         "ARK_BUTCHER_TABLE(HEUN, {\n    B->q = 2;\n    B->A[1][0] = (double)1;\n    B->b[0] = RC(0.5);\n"
         "    B->b[1] = RC(0.5);\n    B->c[1] = -2 * -0.5;\n})\n"},
        {"a.py",
         "class A(RungeKutta):\n    A = np.array([[0, 0], [1, 0]])\n    B = np.array([1/2, 1/2])\n"
         "    C = np.array([0, 1])\n    E = np.array([0, 1/3, -1/3])\n"},
        {"a.hpp",
         "struct x_a1 : a\n{ x() { (*this)[0] = 1; } };\nstruct x_b : a\n{ x() { (*this)[0] = 0; (*this)[1] = 1; } };\n"}};
    int code = 0;
    for (size_t i = 0; i < sizeof of / sizeof *of && code == 0; i++) {
        OWN_TABLES l = {0};
        code = source_parse(of[i][0], of[i][1], strlen(of[i][1]), &l.table, &l.count);
    }
    return code;
}

static int zoo_job(void)
{
    SCOPED(zoo_close) Zoo z = {0};
    return zoo_read(&z, file_path("own.scheme"));
}

static int names_job(void)
{
    OWN_TABLES l = {0};
    return zoo_list(&zoo, "strang-marchuk:heun,rk4-layer,word:sf,sandwich:2,1,looped:2,repeat:2",
                    "euler", &l.table, &l.count);
}

static int all_names_job(void)
{
    OWN_TABLES l = {0};
    Zoo few = {.count = 3, .scheme = zoo.scheme}; /* all schemes would take minutes */
    return zoo_list(&few, "all", "exact", &l.table, &l.count);
}

static int system_job(void)
{
    OWN_SYSTEM *s = NULL;
    return system_read(file_path("own.system"), "", 0, 0, 1, &s);
}

static int options_job(void)
{
    OWN_OPTIONS *o = NULL, *p = NULL;
    char *argv[] = {"trotter", "--corpus", "a", "--width=8", "--untied"};
    TRY(options_new(network_groups, &o));
    TRY(options_arguments(o, 5, argv));
    TRY(options_read(o, file_path("own.ini")));
    TRY(options_new(network_groups, &p));
    return options_given(p, o);
}

static int csv_job(void)
{
    SCOPED(frame_close) Frame c = {0};
    return frame_read(&c, file_path("own.csv"));
}

static int folder_job(void)
{
    OWN_CORPUS c = {0};
    return corpus_choose(file_path("texts"), &(CorpusChoice){LEVEL_WORD, 0, 1}, &c);
}

static int kjv_job(void)
{
    OWN_CORPUS c = {0};
    return corpus_choose("kjv", &(CorpusChoice){LEVEL_WORD, 0, 1}, &c);
}

static int vocabulary_job(void)
{
    static const char text[] = "a b c a <eos>\nb d\n";
    const BpeText all = {.bytes = text, .count = sizeof text - 1};
    OWN_VOCAB words = {0}, characters = {0}, again = {0};
    OWN_TEXT t = {0};
    TRY(vocab_build(&all, 1, LEVEL_WORD, 3, 0, &words));
    TRY(vocab_write(&words, file_path("words")));
    TRY(vocab_build(&all, 1, LEVEL_CHAR, 0, 0, &characters));
    TRY(vocab_read(file_path("words"), &again));
    return text_encode(&(BpeText){"text", text, sizeof text - 1, 0}, NULL, &again, &t);
}

/* Reads a pipe, whose length is not known, so that its room grows. */
static int pipe_job(void)
{
    OWN_BYTES *bytes = NULL;
    size_t count = 0;
    int end[2];
    static const char text[6000] = "";
    if (pipe(end) != 0 || write(end[1], text, sizeof text) != sizeof text) return ERR_SYSTEM;
    close(end[1]);
    int code = file_whole(formed("/proc/self/fd/%d", end[0]), SIZE_MAX, &bytes, &count);
    close(end[0]);
    TRY(code);
    return count == sizeof text ? 0 : ERR_CHECK;
}

static int network_job(void)
{
    return saved_load(folder, given);
}

/* Reads all but the weights of a model of two sides, and of one that has a tokenizer. */
static int sides_job(void)
{
    SCOPED(network_free) Network n = {0};
    char file[OUTPUT_PATH];
    return network_describe(file_path("sides"), given, &n, file);
}

static int tokens_job(void)
{
    SCOPED(network_free) Network n = {0};
    char file[OUTPUT_PATH];
    return network_describe(file_path("tokens"), given, &n, file);
}

static int tableau_job(void)
{
    static const char text[] =
        "{\"name\": \"pair\", \"A\": [[], [\"1/2\"], [-1, 2.5]], \"b\": [0, 1, 0], "
        "\"b_hat\": [\"1/3\", \"1/3\", \"1/3\"], \"c\": [0, 1, 0.5]}";
    OWN_TABLES l = {0};
    SCOPED(memory_drop) char *all = NULL;
    Output f;
    TRY(butcher_parse("text", text, sizeof text - 1, &l.table, &l.count));
    TRY(output_open(&f));
    int code = 0;
    for (int form = 0; form <= BUTCHER_LATEX && code == 0; form++)
        code = butcher_print(l.table[0], form, f.f);
    return output_take(&f, code, &all);
}

/* Makes the metadata of a model of two sides whose merges and words are apart. */
static int metadata_of_sides(Metadata *meta)
{
    OWN_OPTIONS *o = NULL;
    OWN_BYTES *text = NULL;
    TRY(options_new(network_groups, &o));
    TRY(options_set(o, OPTION_ARGUMENT, "", "vocabularies", "separate"));
    TRY(options_set(o, OPTION_ARGUMENT, "", "activation", "gelu"));
    TRY(options_set(o, OPTION_ARGUMENT, "", "adaptive", "1"));
    TRY(network_metadata(o, (Stacks){decoder, table}, &sides, model, meta));
    return network_config_text(o, &text);
}

static int metadata_job(void)
{
    SCOPED(network_metadata_free) Metadata meta = {0};
    return metadata_of_sides(&meta);
}

/* Makes a frame row by row, and a sheet of it. */
static int frame_job(void)
{
    static const Column list[] = {{.name = "a"}, {.name = "b"}, {0}};
    SCOPED(frame_close) Frame f = {0};
    SCOPED(sheet_drop) Sheet *s = NULL;
    TRY(frame_new(&f, list));
    for (size_t i = 0; i < 9; i++) {
        TRY(frame_row(&f));
        frame_set(&f, i, "a", "word");
    }
    return frame_sheet(&f, list, NULL, 9, &s);
}

/* Reads lines of tokens, and the first of them. */
static int lines_job(void)
{
    static const char text[] = "a b\r\n\nb a b\n";
    const BpeText raw = {"text", text, sizeof text - 1, 0};
    OWN_VOCAB v = {0};
    OWN_TEXT all = {0}, some = {0};
    TRY(vocab_tokenizer(file_path("tokens/tokenizer.json"), &v));
    v.lines = 1;
    TRY(text_begin(&raw, SIZE_MAX, &v, &all));
    return text_begin(&raw, 2, &v, &some);
}

static int pieces_job(void)
{
    SCOPED(words_free_own) Words w = {0};
    return bpe_made(sides.bpe, &w);
}

static int average_job(void)
{
    const char *file[] = {file_path("model.safetensors"), file_path("model.safetensors")};
    return store_average(model, file, 2);
}

/* ---- all of them ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(void);
} jobs[] = {
    {"scheme", scheme_job},
    {"source", source_job},
    {"zoo", zoo_job},
    {"names", names_job},
    {"all names", all_names_job},
    {"system", system_job},
    {"options", options_job},
    {"csv", csv_job},
    {"folder", folder_job},
    {"kjv", kjv_job},
    {"vocabulary", vocabulary_job},
    {"pipe", pipe_job},
    {"network", network_job},
    {"sides", sides_job},
    {"tokens", tokens_job},
    {"tableau", tableau_job},
    {"metadata", metadata_job},
    {"average", average_job},
    {"frame", frame_job},
    {"lines", lines_job},
    {"pieces", pieces_job},
};

TEST(readers_survive_short_memory)
{
    int all = 0;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        if (jobs[i].run() != 0) fail_msg("%s: %s", jobs[i].name, error_text());
        int met = fail_each(jobs[i].run, 0);
        printf("# %-12s %d allocations\n", jobs[i].name, met);
        if (met < 2) fail_msg("%s: %d, %s", jobs[i].name, met, error_text());
        all += met;
    }
    printf("# %d allocations failed\n", all);
}

static int leaking_job(void)
{
    static void *lost[2];
    memory_free(lost[0]);
    memory_free(lost[1]);
    lost[0] = memory_new(1, 1);
    lost[1] = lost[0] ? memory_new(1, 1) : NULL;
    return lost[1] ? 0 : ERR_MEMORY;
}

static int careless_job(void)
{
    memory_free(memory_new(1, 1));
    return ERR_SYSTEM;
}

/* The check finds a job that leaks and one that hides a failure. */
TEST(bad_jobs_are_found)
{
    assert_int_equal(fail_each(leaking_job, 0), -1);
    assert_int_equal(fail_each(careless_job, 0), -1);
}

/* ---- their files ------------------------------------------------------------------------------------ */

/* Writes a model of two sides, and one that has a tokenizer, of which no more than the metadata are right. */
static int write_models(void)
{
    static const char codes[] = "#version: 0.2\na b</w>\n", words[] = WORD_EOS "\nab\n";
    SCOPED(network_metadata_free) Metadata meta = {0};
    SCOPED(vocab_free) Vocab tokens = {0};
    Bpe *source;
    Vocab own;
    char digits[2][24];
    for (int k = 0; k < 2; k++)
        if (mkdir(file_path(k ? "tokens" : "sides"), 0777) != 0) return -1;
    file_text("sides/codes.bpe", codes);
    file_text("sides/source-codes.bpe", codes);
    file_text("sides/vocab.txt", words);
    file_text("sides/source-vocab.txt", words);
    TRY(bpe_read(file_path("sides/codes.bpe"), &sides.bpe));
    TRY(bpe_read(file_path("sides/codes.bpe"), &source));
    bpe_set_source(sides.bpe, source);
    TRY(vocab_read(file_path("sides/vocab.txt"), &sides.vocab));
    TRY(vocab_read(file_path("sides/vocab.txt"), &own));
    TRY(vocab_apart(&sides.vocab, &own));
    TRY(zoo_find(&zoo, "strang-decoder", "euler", &decoder));
    TRY(metadata_of_sides(&meta));
    TRY(store_save(model, file_path("sides/model.safetensors"), meta.item, meta.count));
    size_t bytes;
    OWN_BYTES *text = NULL;
    TRY(file_whole("tests/foreign/gpt2/tokenizer.json", SIZE_MAX, &text, &bytes));
    TRY(vocab_tokenizer(file_write("tokens/tokenizer.json", text, bytes), &tokens));
    saved_alter(&meta, "codes_checksum", NULL);
    saved_alter(&meta, "vocabularies", "joined");
    snprintf(digits[0], sizeof *digits, "%016llx", (unsigned long long)vocab_hash(&tokens));
    snprintf(digits[1], sizeof *digits, "%016llx",
             (unsigned long long)tokenizer_hash(tokens.tokens));
    saved_alter(&meta, "vocabulary_checksum", digits[0]);
    TRY(network_metadata_put(&meta, "tokenizer_checksum", digits[1]));
    return store_save(model, file_path("tokens/model.safetensors"), meta.item, meta.count);
}

static int open_all(void **state)
{
    const Backend *b;
    if (scratch_open(state) != 0 || zoo_open(&zoo) != 0) return -1;
    file_text("own.scheme", scheme_text);
    file_text("own.system",
              "system s\nd 2\nF = mean z - y\nG1 = -y^-2\nG2 = 2^-y\ninitial = 1 + i\n");
    file_text("own.ini", "corpus = b\nheads = 2\nrate = 0.1\n");
    file_text("own.csv", "a,b\n1,2\n3,4\n");
    if (mkdir(file_path("texts"), 0777) != 0) return -1;
    file_text("texts/train.txt", "a b\nb c\n");
    file_text("texts/valid.txt", "a b\nb c\n");
    file_text("texts/test.txt", "a b\nb c\n");
    saved_write("", NULL);
    OWN_OPTIONS *o = saved_options();
    TRY(options_new(no_groups, &given));
    TRY(options_set(o, OPTION_ARGUMENT, "", "activation", "gelu"));
    TRY(zoo_find(&zoo, "transformer", "euler", &table));
    TRY(network_backend(o, &b));
    TRY(network_model(o, (Stacks){table}, &(Vocab){.size = 2}, b, &model));
    return write_models();
}

static int close_all(void **state)
{
    model_free(model);
    table_free(table);
    table_free(decoder);
    corpus_free(&sides);
    options_free(given);
    zoo_close(&zoo);
    return scratch_close(state);
}

TEST_MAIN(open_all, close_all)
