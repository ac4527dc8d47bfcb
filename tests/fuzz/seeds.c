/* seeds.c: seeds that are made rather than kept: built-in schemes, a model, a state, saved networks. */
#include "kernels/base/file.h"
#include "studies/base/command.h"
#include "studies/model/network.h"
#include "studies/base/output.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/tiny.h"
#include "ode/ode.h"

Model *fuzz_model(void)
{
    const Backend *b;
    ModelConfig c = tiny_config();
    Model *m;
    FUZZ_CHECK(backend_find("cpu-f32", NULL, &b) == 0);
    FUZZ_CHECK(model_new(&c, tiny_residual(), b, 1, &m) == 0);
    return m;
}

static struct {
    char path[32];
    const char *const *name;
    size_t count;
} held[4]; /* directories of this process */
static void remove_held(void)
{
    char path[256];
    for (int k = 0; k < 4; k++) {
        for (size_t i = 0; i < held[k].count; i++) {
            snprintf(path, sizeof path, "%s/%s", held[k].path, held[k].name[i]);
            unlink(path);
        }
        if (held[k].count) rmdir(held[k].path);
        held[k].count = 0;
    }
}

const char *fuzz_directory(const char *const *name, size_t count, int *fd)
{
    static int made;
    char path[256], target[64], *dir = held[made].path;
    strcpy(dir, "/tmp/trotter-fuzz-XXXXXX");
    FUZZ_CHECK(made < 4 && mkdtemp(dir) && atexit(remove_held) == 0);
    held[made].name = name;
    held[made++].count = count;
    for (size_t i = 0; i < count; i++) {
        fd[i] = fuzz_memory_file();
        snprintf(path, sizeof path, "%s/%s", dir, name[i]);
        snprintf(target, sizeof target, "/proc/self/fd/%d", fd[i]);
        FUZZ_CHECK(symlink(target, path) == 0);
    }
    return dir;
}

/* Makes the path DIR/READER/name of a table; characters that a file system does not allow in a name
 * become '-'. */
static int seed_path(char path[OUTPUT_PATH], const char *dir, const char *reader, const char *name)
{
    TRY(output_path(path, dir, "%s", reader));
    TRY(output_directory(path));
    size_t n = strlen(path);
    TRY(output_path(path, dir, "%s/%s", reader, name));
    for (char *c = path + n + 1; *c; c++)
        if (*c == ':' || *c == '/') *c = '-';
    return 0;
}

/* For the reader of schemes, and for what holds of all schemes. */
static int write_scheme(const char *dir, const Table *t)
{
    char path[OUTPUT_PATH], also[OUTPUT_PATH], *text;
    TRY(seed_path(path, dir, "scheme", t->name));
    TRY(seed_path(also, dir, "algebra", t->name));
    TRY(network_scheme_text((Stacks){t}, &text));
    int code = file_replace(path, text, strlen(text));
    if (code == 0) code = file_replace(also, text, strlen(text));
    memory_free(text);
    return code;
}

static int write_model(const char *dir)
{
    static const StoreText meta[] = {{"scheme", "a scheme"}, {"step", "1"}};
    char path[OUTPUT_PATH];
    Model *m = fuzz_model();
    int code = seed_path(path, dir, "tensors", "model");
    if (code == 0) code = store_save(m, path, meta, 2);
    if (code == 0) code = seed_path(path, dir, "state", "state");
    if (code == 0) code = store_save_state(m, path, meta, 2);
    model_free(m);
    return code;
}

static int write_network(const char *dir, const Options *o, Stacks s)
{
    char path[OUTPUT_PATH];
    const Backend *b;
    Model *m;
    Metadata meta;
    char *word[] = {(char[]){"<eos>"}, (char[]){"a"}, (char[]){"b"}}; /* as network.c has them */
    Corpus c = {.vocab = {.size = 3, .word = word}};
    TRY(seed_path(path, dir, "network", s.layers->name));
    TRY(network_backend(o, &b));
    TRY(network_model(o, s, &c.vocab, b, &m));
    int code = network_metadata(o, s, &c, m, &meta);
    if (code == 0) {
        code = store_save(m, path, meta.item, meta.count);
        network_metadata_free(&meta);
    }
    model_free(m);
    return code;
}

static int small_options(Options **o)
{
    static const char *const small[][2] = {
        {"corpus", "markov:3"}, {"width", "4"},    {"inner", "4"},         {"heads", "2"},
        {"layers", "2"},        {"sequence", "8"}, {"batch-tokens", "16"}, {"positions", "both"}};
    TRY(options_new(network_groups, o));
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        TRY(options_set(*o, OPTION_ARGUMENT, "", small[i][0], small[i][1]));
    return 0;
}

static int write_networks(const char *dir, const Zoo *z)
{
    Options *o;
    Table **list;
    size_t count;
    TRY(small_options(&o));
    int code = zoo_list(z,
                        "transformer,ab2,rk2-gate,lm-resnet,strang-marchuk,transformer-decoder,"
                        "rk2-gate-decoder",
                        "heun", &list, &count);
    for (size_t i = 0; code == 0 && i < count; i++) { /* the first is the encoder of decoders */
        Stacks s = {list[i], list[i]->colours > 2 ? list[0] : NULL};
        code = write_network(dir, o, s);
    }
    for (size_t i = 0; list && i < count; i++) table_free(list[i]);
    memory_free(list);
    options_free(o);
    return code;
}

int fuzz_seeds(const char *dir)
{
    Zoo z;
    TRY(zoo_open(&z));
    int code = write_model(dir);
    for (size_t i = 0; code == 0 && i < z.count; i++) code = write_scheme(dir, z.scheme[i]);
    if (code == 0) code = write_networks(dir, &z);
    zoo_close(&z);
    return code;
}
