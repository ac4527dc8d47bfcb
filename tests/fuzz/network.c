/* network.c: a saved model's directory (studies/model/metadata.c): metadata -> options, scheme, plan, model, weights.
 * The vocabulary is fixed; batch and sequence are given, as by a command line. The harness makes the checksum fit, as
 * the writer of a hostile file could. */
#include "studies/model/network.h"
#include "tests/fuzz/fuzz.h"

static const char *folder;
static int fd[2];
static Options *given;

static void leave(void)
{
    options_free(given);
}

static void enter(void)
{
    static const char words[] = "<eos>\na\nb\n";
    static const char *const name[] = {"model.safetensors", "vocab.txt"};
    static const OptionGroup *const groups[] = {&network_text_group, &network_training_group, NULL};
    folder = fuzz_directory(name, 2, fd);
    fuzz_fill(fd[1], words, sizeof words - 1);
    FUZZ_CHECK(options_new(groups, &given) == 0);
    FUZZ_CHECK(options_set(given, OPTION_ARGUMENT, "", "sequence", "8") == 0);
    FUZZ_CHECK(options_set(given, OPTION_ARGUMENT, "", "batch-tokens", "16") == 0);
    atexit(leave);
}

static void use(Network *n)
{
    static const int32_t token[] = {0, 1, 2, 1};
    int32_t position[] = {0, 1, 2, 3};
    size_t start[] = {0, 4};
    double logits[4 * 3];
    Batch b = {4, 1, 4, (int32_t *)token, (int32_t *)token, position, start};
    if (model_plan(n->model)->sides > 1) { /* as many source tokens */
        b.source.N = b.source.longest = 4;
        b.source.input = (int32_t *)token;
        b.source.position = position;
        b.source.start = start;
    }
    FUZZ_CHECK(model_logits(n->model, &b, logits) == 0);
}

FUZZ(if (!given) enter())
{
    Network n;
    uint8_t *copy = malloc(size + 1);
    FUZZ_CHECK(copy);
    memcpy(copy, data, size);
    (void)fuzz_seal(copy, size);
    fuzz_fill(fd[0], copy, size);
    free(copy);
    if (network_load(folder, given, &n) == 0) {
        use(&n);
        network_free(&n);
    }
}
