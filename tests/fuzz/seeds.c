/* seeds.c: seeds that are made rather than kept: built-in schemes, a model, a state, saved networks; and
 * the seal of a file of tensors that was changed. */
#include <jansson.h>

#include "nn/hash.h"
#include "nn/store.h"
#include "studies/network.h"
#include "studies/output.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tiny.h"
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

/* DIR/READER/name of a table; what a file system does not take in a name becomes '-'. */
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

static int write_scheme(const char *dir, const Table *t)
{
    char path[OUTPUT_PATH], *text;
    TRY(seed_path(path, dir, "scheme", t->name));
    TRY(network_scheme_text(t, &text));
    int code = store_write(path, text, strlen(text));
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

static int write_network(const char *dir, const Options *o, const Table *t)
{
    char path[OUTPUT_PATH];
    const Backend *b;
    Model *m;
    Metadata meta;
    Corpus c = {.vocab = {.size = 3}};
    TRY(seed_path(path, dir, "network", t->name));
    TRY(network_backend(o, &b));
    TRY(network_model(o, t, c.vocab.size, b, 0, &m));
    int code = network_metadata(o, t, &c, m, &meta);
    if (code == 0) {
        code = store_save(m, path, meta.item, meta.count);
        network_metadata_free(&meta);
    }
    model_free(m);
    return code;
}

static int small_options(Options **o)
{
    static const OptionGroup *const groups[] = {&network_text_group,
                                                &network_model_group,
                                                &network_depth_group,
                                                &network_training_group,
                                                &network_seed_group,
                                                &network_machine_group,
                                                NULL};
    static const char *const small[][2] = {
        {"corpus", "markov:3"}, {"width", "4"},    {"inner", "4"},         {"heads", "2"},
        {"layers", "2"},        {"sequence", "8"}, {"batch-tokens", "16"}, {"positions", "both"}};
    TRY(options_new(groups, o));
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
    int code =
        zoo_list(z, "transformer,ab2,rk2-gate,lm-resnet,strang-marchuk", "heun", &list, &count);
    for (size_t i = 0; code == 0 && i < count; i++) code = write_network(dir, o, list[i]);
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

/* ---- seals ------------------------------------------------------------------------------------- */

/* Where the digits of "checksum":"..." stand in n bytes of header, or NULL. */
static uint8_t *find_digits(uint8_t *header, size_t n)
{
    static const char key[] = "\"" STORE_CHECKSUM "\":\"";
    uint8_t *at = memmem(header, n, key, sizeof key - 1);
    if (!at || (size_t)(header + n - at) < sizeof key - 1 + STORE_DIGITS) return NULL;
    return at + sizeof key - 1;
}

static int all_texts(json_t *meta)
{
    const char *key;
    json_t *value;
    json_object_foreach (meta, key, value)
        if (!json_is_string(value)) return 0;
    return json_is_object(meta);
}

int fuzz_seal(uint8_t *bytes, size_t size)
{
    uint64_t n;
    char digits[STORE_DIGITS + 1];
    if (size < 8) return 0;
    memcpy(&n, bytes, 8);
    if (n > size - 8) return 0;
    uint8_t *place = find_digits(bytes + 8, n);
    json_t *root = place ? json_loadb((char *)bytes + 8, n, 0, NULL) : NULL;
    json_t *meta = json_object_get(root, STORE_METADATA);
    int sealed = all_texts(meta);
    if (sealed) {
        store_checksum(meta, hash_bytes(HASH_START, bytes + 8 + n, size - 8 - n), digits);
        memcpy(place, digits, STORE_DIGITS);
    }
    json_decref(root);
    return sealed;
}
