/* test_identity.c: demands on every option of train by its row alone: its value is recorded, it sets the members that
 * the row names, and a run goes on with no other value unless the row says so. Also how a study recognises its runs. */
#include "tests/lib/scratch.h"

#include "studies/model/train/rerun.h"
#include "studies/commands.h"
#include "tests/lib/saved.h"

static Options *fresh(void)
{
    Options *o;
    assert_int_equal(options_new(command_train.groups, &o), 0);
    return o;
}

/* Returns a value of p that o does not have. */
static const char *other_value(const Options *o, const Option *p)
{
    static char text[64];
    const char *last = p->values ? strrchr(p->values, '|') : NULL, *now = options_text(o, p->name);
    double x = p->low;
    if (p->type == OPTION_FLAG) return options_flag(o, p->name) ? "no" : "yes";
    if (p->type == OPTION_TEXT || p->type == OPTION_LIST) return "another";
    if (p->type == OPTION_CHOICE) {
        snprintf(text, sizeof text, "%s", last + 1);
        if (now && strcmp(text, now) == 0)
            snprintf(text, sizeof text, "%.*s", (int)strcspn(p->values, "|"), p->values);
        return text;
    }
    if (p->type == OPTION_SIZE && (double)options_size(o, p->name) == x) x++;
    if (p->type == OPTION_REAL && options_real(o, p->name) == x) x = p->high;
    snprintf(text, sizeof text, "%.17g", x);
    return text;
}

/* Calls `job` with every recorded option of train. */
static void for_each_option(void (*job)(const Options *base, const Option *p), const Options *base)
{
    for (const OptionGroup *const *g = command_train.groups; *g; g++)
        for (const Option *p = (*g)->option; p->name && (*g)->recorded; p++) job(base, p);
}

static int refused, accepted; /* options */

static void resume_with_another(const Options *base, const Option *p)
{
    const char *value = other_value(base, p);
    int ends = schedule_ends(options_choice(base, "schedule"));
    unsigned may = p->flags & (OPTION_MAY_DIFFER | OPTION_SOURCE | (ends ? 0 : OPTION_LENGTH));
    OWN_OPTIONS *o = fresh();
    assert_int_equal(options_set(o, OPTION_ARGUMENT, "", p->name, value), 0);
    int code = rerun_resume(o, command_train.groups, folder);
    const char *words =
        formed("the run in %s goes on only with its own options (--%s ", folder, p->name);
    if (may ? code != 0
            : code != ERR_INPUT || strncmp(error_text(), words, strlen(words)) != 0 ||
                  !strstr(error_text(), formed(", now %s)", value)))
        fail_msg("--%s %s: %d %s", p->name, value, code, error_text());
    *(may ? &accepted : &refused) += 1;
}

TEST(runs_go_on_as_themselves)
{
    for (int kind = 0; kind < SCHEDULES; kind++) {
        char *text;
        OWN_OPTIONS *base = fresh();
        assert_int_equal(options_set(base, OPTION_ARGUMENT, "", "schedule", schedule_name(kind)),
                         0);
        assert_int_equal(network_config_text(base, &text), 0);
        file_text("config.ini", text);
        memory_free(text);
        refused = accepted = 0;
        for_each_option(resume_with_another, base);
        assert_true(refused > 0 && accepted > 0);
    }
}

static const char *value_of(const Metadata *d, const char *key)
{
    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->item[i].key, key) == 0) return d->item[i].value;
    return NULL;
}

static Model *model;
static Stacks stacks;

/* Returns the value that metadata should have for an option set to `value`; NULL: none. The schemes are those in
 * `stacks`. */
static const char *should_tell(const Option *p, const char *value)
{
    const Table *encoder = stacks.encoder;
    if (p->flags & OPTION_SOURCE || strcmp(p->name, "decoder") == 0) return NULL;
    if (strcmp(p->name, "gelu") == 0) return NULL; /* told as the model computes: here without */
    if (strcmp(p->name, "scheme") == 0) return stacks.layers->name;
    if (strcmp(p->name, "encoder") == 0) return encoder ? encoder->name : NULL;
    return value;
}

static void record_another(const Options *base, const Option *p)
{
    Metadata d;
    char line[160], *text, *word[] = {(char[]){WORD_EOS}, (char[]){"a"}};
    const Corpus c = {.vocab = {.size = 2, .word = word}};
    const char *value = other_value(base, p);
    OWN_OPTIONS *o = fresh();
    assert_int_equal(options_set(o, OPTION_ARGUMENT, "", p->name, value), 0);
    assert_int_equal(network_config_text(o, &text), 0);
    snprintf(line, sizeof line, "\n%s = %s\n", p->name, value);
    if (!strstr(text, line)) fail_msg("config.ini does not tell --%s %s", p->name, value);
    memory_free(text);
    assert_int_equal(network_metadata(o, stacks, &c, model, &d), 0);
    const char *told = value_of(&d, p->name), *want = should_tell(p, value);
    if (!want ? told != NULL : !told || strcmp(told, want) != 0)
        fail_msg("metadata of --%s %s: %s", p->name, value, told ? told : "none");
    network_metadata_free(&d);
    NetworkConfig a = network_config(base), b = network_config(o);
    for (int i = 0; i < 2 && p->sets[i].type; i++)
        if (memcmp((char *)&a + p->sets[i].at, (char *)&b + p->sets[i].at,
                   p->sets[i].type == MEMBER_INT ? sizeof(int) : 8) == 0)
            fail_msg("--%s %s does not set its member %d", p->name, value, i);
}

TEST(values_are_recorded)
{
    const Backend *b;
    OWN_OPTIONS *o = saved_options(), *base = fresh();
    assert_int_equal(network_backend(o, &b), 0);
    for (int sides = 1; sides <= 2; sides++) {
        OWN_TABLE *layers = built_in(sides == 1 ? "transformer" : "transformer-decoder", "euler"),
                  *encoder = sides > 1 ? built_in("rk2-gate", "euler") : NULL;
        stacks = (Stacks){layers, encoder};
        assert_int_equal(network_model(o, stacks, &(Vocab){.size = 2}, b, &model), 0);
        for_each_option(record_another, base);
        model_free(model);
    }
}

/* A warm-up that is not given is min(400, a tenth of the training) and is recorded so; one that is given stays. */
TEST(warmup_fits_the_training)
{
    static const struct {
        const char *steps, *given, *warmup;
    } cases[] = {{"1", NULL, "1"},      {"19", NULL, "1"},     {"86", NULL, "8"},
                 {"3999", NULL, "399"}, {"4000", NULL, "400"}, {"90000", NULL, "400"},
                 {"86", "400", "400"},  {"86", "0", "0"}};
    Corpus c;
    assert_int_equal(corpus_choose("markov", &(CorpusChoice){LEVEL_WORD, 0, 1}, &c), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWN_OPTIONS *o = fresh();
        char *text;
        options_set(o, OPTION_FILE, "", "epochs", "1000000");
        options_set(o, OPTION_FILE, "", "max-steps", cases[i].steps);
        if (cases[i].given) options_set(o, OPTION_ARGUMENT, "", "warmup", cases[i].given);
        assert_int_equal(network_warmup(o, &c), 0);
        assert_int_equal(network_training(o).warmup, atol(cases[i].warmup));
        assert_int_equal(network_config_text(o, &text), 0);
        if (!strstr(text, formed("\nwarmup = %s\n", cases[i].warmup)))
            fail_msg("case %zu: %s", i, text);
        memory_free(text);
    }
    corpus_free(&c);
}

/* A run is recognised by the values of its options, however they were written. */
TEST(runs_are_known_by_values)
{
    static const struct {
        const char *config, *name, *text;
        int is;
    } cases[] = {
        {"", "seed", "1", RERUN_SAME},
        {"rate = 1e-2\n", "rate", "0.01", RERUN_SAME},
        {"scheme-file = there\n", "scheme-file", "here", RERUN_SAME},
        {"adaptive = 8\nadaptive-factor = 4\n", "adaptive", "8",
         RERUN_SAME}, /* the value without it */
        {"adaptive = 8\n", "adaptive", "9", RERUN_OTHER},
        {"rate = 1e-2\n", "rate", "0.02", RERUN_OTHER},
        {"threads = 2\n", "threads", "3", RERUN_OTHER},
        {"epochs = 2\n", "epochs", "3", RERUN_SHORTER},
        {"epochs = 3\n", "epochs", "2", RERUN_OTHER},
        {"epochs = 2\nmax-steps = 9\n", "epochs", "3", RERUN_OTHER},
        {"epochs = 2\nrate = 1\n", "epochs", "3", RERUN_OTHER},
        {"epochs = 2\nnonsense = 3\n", "epochs", "2", RERUN_OTHER},
    };
    OWN_TABLE *table = built_in("transformer", "euler"), *other = built_in("macaron", "euler");
    char *text;
    assert_int_equal(network_scheme_text((Stacks){table}, &text), 0);
    file_text("scheme.txt", text);
    memory_free(text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWN_OPTIONS *o = fresh();
        file_text("config.ini", cases[i].config);
        assert_int_equal(options_set(o, OPTION_FILE, "", cases[i].name, cases[i].text), 0);
        int is = rerun_is(o, command_train.groups, (Stacks){table}, folder);
        if (is != cases[i].is) fail_msg("case %zu: %d, not %d", i, is, cases[i].is);
        assert_int_equal(rerun_is(o, command_train.groups, (Stacks){other}, folder), RERUN_OTHER);
    }
}

TEST_MAIN(scratch_open, scratch_close)
