/* arguments.c: command lines (studies/base/option.c): each line is one argument, cut off at its first
 * NUL. */
#include "studies/model/network.h"
#include "tests/fuzz/fuzz.h"

enum { ARGUMENTS = 64, BYTES = 4096 };

static const Option list_options[] = {
    {"file", OPTION_LIST, NULL, "FILE", "words without dashes", 0, 0},
    {0},
};
static const OptionGroup list_group = {"Files", 1, list_options};
static const OptionGroup *const groups[] = {&list_group, &network_depth_group, &network_model_group,
                                            &network_training_group, NULL};

FUZZ()
{
    char text[BYTES + 1], *argv[ARGUMENTS + 2] = {"trotter"}, *rest = text;
    int argc = 1;
    Options *o;
    if (size > BYTES) return;
    memcpy(text, data, size);
    text[size] = '\0';
    while (rest && argc <= ARGUMENTS) argv[argc++] = strsep(&rest, "\n");
    FUZZ_CHECK(options_new(groups, &o) == 0);
    if (options_arguments(o, argc, argv) == 0) {
        const char *item;
        for (size_t i = 0; (item = options_item(o, "file", i)); i++) FUZZ_CHECK(*item);
        FUZZ_CHECK(options_size(o, "layers") >= 1 && options_size(o, "layers") <= 1000);
        FUZZ_CHECK(options_real(o, "rate") > 0 && options_choice(o, "activation") >= 0);
    }
    options_free(o);
}
