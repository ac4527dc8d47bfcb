/* test_starved.c: every reader with each of its allocations failing in turn, until no allocation is left. Each
 * time the code reports it and nothing leaks; without a failure the same job succeeds. */
#include "tests/lib/test.h"

#include <sys/stat.h>

#include "kernels/file.h"
#include "nn/text/corpus.h"
#include "studies/tools/csv.h"
#include "tests/lib/saved.h"

static Zoo zoo;
static Options *given; /* nothing */
static Model *model;
static Table *table;
static const OptionGroup *const no_groups[] = {NULL};

static const char scheme_text[] =
    "scheme a\ntitle t\nlearn b = 1/2\nlet c = (b+1)*sqrt(2)\nk1 = L(y + 1/2*k2[-1] @ 1/3)\n"
    "gate g = tanh(k1, y)\nk2 = H(y + (b+g)*k1/3)\ny' = y[-1] + 2*b^2*k1 + k2\n"
    "scheme c\nflow 1/2 F\nflow G\nscheme d\nk1 = F(y)\ny' = y[first] + k1[all]\n";

static void free_tables(Table **list, size_t count)
{
    for (size_t i = 0; i < count; i++) table_free(list[i]);
    memory_free(list);
}

/* ---- jobs ---------------------------------------------------------------------------------------- */

static int scheme_job(void)
{
    Table **list = NULL;
    size_t count = 0;
    int code = scheme_parse("text", scheme_text, sizeof scheme_text - 1, &list, &count);
    free_tables(list, count);
    return code;
}

static int zoo_job(void)
{
    Zoo z = {0};
    int code = zoo_read(&z, file_path("own.scheme"));
    zoo_close(&z);
    return code;
}

static int names_job(void)
{
    Table **list;
    size_t count;
    int code =
        zoo_list(&zoo, "strang-marchuk:heun,rk4-layer,word:sf,sandwich:2,1,looped:2,repeat:2",
                 "euler", &list, &count);
    free_tables(list, count);
    return code;
}

static int all_names_job(void)
{
    Table **list;
    size_t count;
    Zoo few = {.count = 3, .scheme = zoo.scheme}; /* all schemes would take minutes */
    int code = zoo_list(&few, "all", "exact", &list, &count);
    free_tables(list, count);
    return code;
}

static int system_job(void)
{
    System *s;
    TRY(system_read(file_path("own.system"), 0, 0, 1, &s));
    system_free(s);
    return 0;
}

static int options_job(void)
{
    Options *o, *p;
    char *argv[] = {"trotter", "--corpus", "a", "--width=8", "--untied"};
    TRY(options_new(network_groups, &o));
    int code = options_arguments(o, 5, argv);
    if (code == 0) code = options_read(o, file_path("own.ini"));
    if (code == 0 && (code = options_new(network_groups, &p)) == 0) {
        code = options_given(p, o);
        options_free(p);
    }
    options_free(o);
    return code;
}

static int csv_job(void)
{
    Csv c;
    TRY(csv_open(&c, file_path("own.csv")));
    csv_close(&c);
    return 0;
}

static int corpus_job_of(const char *name)
{
    Corpus c;
    TRY(corpus_choose(name, &(CorpusChoice){LEVEL_WORD, 0, 1}, &c));
    corpus_free(&c);
    return 0;
}

static int folder_job(void)
{
    return corpus_job_of(file_path("texts"));
}

static int kjv_job(void)
{
    return corpus_job_of("kjv");
}

static int vocabulary_job(void)
{
    Vocab v;
    Text t;
    static const char text[] = "a b c a <eos>\nb d\n";
    TRY(vocab_build(&(BpeText){.bytes = text, .count = sizeof text - 1}, 1, LEVEL_WORD, 3, 0, &v));
    int code = vocab_write(&v, file_path("words"));
    vocab_free(&v);
    TRY(code);
    TRY(vocab_build(&(BpeText){.bytes = text, .count = sizeof text - 1}, 1, LEVEL_CHAR, 0, 0, &v));
    vocab_free(&v);
    TRY(vocab_read(file_path("words"), &v));
    code = text_encode(&(BpeText){"text", text, sizeof text - 1, 0}, NULL, &v, &t);
    if (code == 0) text_free(&t);
    vocab_free(&v);
    return code;
}

/* Reads a pipe, whose length is not known, so that its room grows. */
static int pipe_job(void)
{
    char *bytes;
    size_t count;
    int end[2];
    static const char text[6000] = "";
    if (pipe(end) != 0 || write(end[1], text, sizeof text) != sizeof text) return ERR_SYSTEM;
    close(end[1]);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", end[0]);
    int code = file_whole(path, SIZE_MAX, &bytes, &count);
    close(end[0]);
    TRY(code);
    memory_free(bytes);
    return count == sizeof text ? 0 : ERR_CHECK;
}

static int network_job(void)
{
    return saved_load(folder, given);
}

static int metadata_job(void)
{
    Metadata meta;
    char *text;
    char *word[] = {(char[]){"<eos>"}, (char[]){"a"}};
    Corpus c = {.vocab = {.size = 2, .word = word}};
    Options *o;
    TRY(options_new(network_groups, &o));
    int code = network_metadata(o, (Stacks){table}, &c, model, &meta);
    if (code == 0) network_metadata_free(&meta);
    if (code == 0 && (code = network_config_text(o, &text)) == 0) memory_free(text);
    options_free(o);
    return code;
}

static int average_job(void)
{
    const char *file[] = {file_path("model.safetensors"), file_path("model.safetensors")};
    return store_average(model, file, 2);
}

static int value_job(void)
{
    char *value;
    TRY(store_meta(file_path("model.safetensors"), "width", &value));
    memory_free(value);
    return 0;
}

/* ---- all of them ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(void);
} jobs[] = {
    {"scheme", scheme_job},     {"zoo", zoo_job},
    {"names", names_job},       {"all names", all_names_job},
    {"system", system_job},     {"options", options_job},
    {"csv", csv_job},           {"folder", folder_job},
    {"kjv", kjv_job},           {"vocabulary", vocabulary_job},
    {"pipe", pipe_job},         {"network", network_job},
    {"metadata", metadata_job}, {"average", average_job},
    {"value", value_job},
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

static int open_all(void **state)
{
    static const char system_text[] = "system s\nd 2\nF = mean z - y\nG1 = -y\ninitial = i\n";
    static const char ini[] = "corpus = b\nheads = 2\nrate = 0.1\n", csv[] = "a,b\n1,2\n3,4\n";
    static const char *const texts[] = {"texts/train.txt", "texts/valid.txt", "texts/test.txt"};
    const Backend *b;
    if (scratch_open(state) != 0 || zoo_open(&zoo) != 0) return -1;
    file_write("own.scheme", scheme_text, sizeof scheme_text - 1);
    file_write("own.system", system_text, sizeof system_text - 1);
    file_write("own.ini", ini, sizeof ini - 1);
    file_write("own.csv", csv, sizeof csv - 1);
    if (mkdir(file_path("texts"), 0777) != 0) return -1;
    for (size_t i = 0; i < 3; i++) file_write(texts[i], "a b\nb c\n", 8);
    saved_write("", NULL);
    Options *o = saved_options();
    TRY(options_new(no_groups, &given));
    TRY(zoo_find(&zoo, "transformer", "euler", &table));
    TRY(network_backend(o, &b));
    int code = network_model(o, (Stacks){table}, &(Vocab){.size = 2}, b, 0, &model);
    options_free(o);
    return code;
}

static int close_all(void **state)
{
    static const char *const texts[] = {"texts/train.txt", "texts/valid.txt", "texts/test.txt"};
    for (size_t i = 0; i < 3; i++) unlink(file_path(texts[i]));
    model_free(model);
    table_free(table);
    options_free(given);
    zoo_close(&zoo);
    return scratch_close(state);
}

TEST_MAIN(open_all, close_all)
