/* ini.c: INI files (studies/base/option.c): accepted options are written as a file that reads the
 * same. */
#include "studies/model/network.h"
#include "tests/fuzz/fuzz.h"

static const OptionGroup *const groups[] = {&network_text_group,
                                            &network_model_group,
                                            &network_depth_group,
                                            &network_training_group,
                                            &network_seed_group,
                                            &network_machine_group,
                                            NULL};

static char *written(const Options *o, size_t *bytes)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, bytes);
    int code = f ? options_write(o, 0, f) : -1;
    FUZZ_CHECK(f && fclose(f) == 0);
    if (code == 0) return text;
    free(text);
    return NULL; /* a control character in a value: reported, not written */
}

static void round_trip(const Options *o)
{
    size_t bytes, again_bytes;
    char *text = written(o, &bytes), *again;
    Options *p;
    if (!text) return;
    FUZZ_CHECK(options_new(groups, &p) == 0);
    FUZZ_CHECK(options_read(p, fuzz_file((const uint8_t *)text, bytes)) == 0);
    again = written(p, &again_bytes);
    FUZZ_CHECK(again && strcmp(again, text) == 0);
    options_free(p);
    free(text);
    free(again);
}

FUZZ()
{
    Options *o;
    FUZZ_CHECK(options_new(groups, &o) == 0);
    if (options_read(o, fuzz_file(data, size)) == 0) round_trip(o);
    options_free(o);
}
