/* test_options.c: options from every source and of every type, and networks that are rebuilt from a file: other
 * programs' files, files that lack values, and the values that a command line may change. */
#include "tests/lib/test.h"

#include <sys/stat.h>

#include "studies/base/help.h"
#include "tests/lib/saved.h"

static void expect(const char *what, int code, int wanted, const char *words)
{
    if (code != wanted || !strstr(error_text(), words))
        fail_msg("%s: %d %s, not '%s'", what, code, error_text(), words);
}

/* ---- every type ---------------------------------------------------------------------------------- */

static const Option one[] = {
    {"flag", OPTION_FLAG, NULL, NULL, "a flag", 0, 0, .flags = 1},
    {"text", OPTION_TEXT, NULL, "NAME", "a text", 0, 0, .flags = 2, .needs = "flag"},
    {"size", OPTION_SIZE, NULL, "N", "a size", 2, 9, .flags = 4, .needs = "text"},
    {"real", OPTION_REAL, NULL, "X", "a real", -1, 10, .flags = 8, .alias = {"number", "numeral"}},
    {"choice", OPTION_CHOICE, NULL, "left|right", "a choice", 0, 0, .flags = 16},
    {0},
};
static const Option two[] = {
    {"file", OPTION_LIST, NULL, "FILE", "files", 0, 0, .flags = 32},
    {"sizes", OPTION_SIZES, NULL, "N,...", "sizes", 0, 1e18},
    {"reals", OPTION_REALS, "0.5,1", "X,...", "reals", 0, 1},
    {"room", OPTION_TEXT, NULL, "TEXT", "a text", 0, 0},
    {"flat", OPTION_FLAG, NULL, NULL, "begins as flag does", 0, 0},
    {0},
};
static const OptionGroup group_one = {"One", 1, one}, group_two = {"Two", 0, two};
static const OptionGroup *const groups[] = {&group_one, &group_two, NULL};
static const OptionGroup *const first_group[] = {&group_one, NULL};

static int set(Options *o, const char *name, const char *text)
{
    return options_set(o, OPTION_ARGUMENT, "", name, text);
}

/* Returns options with the values given as name, text, ..., NULL. */
static Options *with(const OptionGroup *const *list, const char *const *values)
{
    Options *o;
    assert_int_equal(options_new(list, &o), 0);
    for (; *values; values += 2) assert_int_equal(set(o, values[0], values[1]), 0);
    return o;
}

static Options *fresh(void)
{
    return with(groups, (const char *const[]){NULL});
}

TEST(values_are_checked)
{
    static const struct {
        const char *name, *text, *words;
    } bad[] = {
        {"size", "", "--size: expected a whole number from 2 to 9, not ''"},
        {"size", "1", "from 2 to 9"},
        {"size", "99999999999999999999", "from 2 to 9"},
        {"size", "3x", "from 2 to 9"},
        {"real", "", "--real: expected a number from -1 to 10"},
        {"real", "1e", "from -1 to 10"},
        {"real", "1e999", "from -1 to 10"},
        {"real", "-2", "from -1 to 10"},
        {"real", "11", "from -1 to 10"},
        {"real", "nan", "from -1 to 10"},
        {"choice", "lef", "--choice: expected one of left|right, not 'lef'"},
        {"choice", "", "expected one of"},
        {"flag", "maybe", "--flag: expected yes or no"},
        {"text", "", "--text: expected a text"},
        {"sizes", "1,,2", "expected a whole number of at least 0, or several separated by commas"},
        {"sizes", "1,2,", "or several separated by commas"},
        {"sizes", "11111111111111111111111111111111", "or several separated by commas"},
        {"reals", "0.5,2", "expected a number from 0 to 1, or several"},
        {"sice", "3", "unknown option '--sice'; the nearest is '--size'"},
        {"numeral-", "3", "unknown option '--numeral-'; the nearest is '--numeral'"},
        {"quite-another", "3", "unknown option '--quite-another'"},
    };
    OWN_OPTIONS *o = fresh();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect(bad[i].text, set(o, bad[i].name, bad[i].text), ERR_INPUT, bad[i].words);
    expect("file", options_set(o, OPTION_FILE, "f:3: ", "size", "1"), ERR_INPUT, "f:3: size: exp");
    assert_int_equal(options_choice(o, "choice"), -1); /* none given, no default */
    assert_true(options_size(o, "size") == 0 && options_real(o, "real") == 0);
    assert_false(options_flag(o, "flag"));
}

/* ---- sources and their ranks ----------------------------------------------------------------------- */

/* Gives options a line of words with blanks between. */
static int arguments(Options *o, const char *words)
{
    static char copy[256];
    char *argv[16] = {"trotter"}, *rest = copy;
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", words);
    while (*words && argc < 15 && (argv[argc] = strsep(&rest, " "))) argc++;
    return options_arguments(o, argc, argv);
}

TEST(command_lines)
{
    static const char *const bad[][2] = {
        {"-x", "unknown option '-x'; options begin with --"},
        {"--fla", "option '--fla' is ambiguous"},
        {"--nothing", "unknown option '--nothing'"},
        {"--size", "option '--size' needs a value"},
        {"--size=1", "--size: expected"},
    };
    OWN_OPTIONS *p = fresh(), *o = with(first_group, (const char *const[]){NULL});
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        OWN_OPTIONS *once = fresh();
        expect(bad[i][0], arguments(once, bad[i][0]), ERR_INPUT, bad[i][1]);
    }
    assert_int_equal(arguments(p, "a --flag --size 7 --size 5 -- --b"), 0); /* the last one holds */
    assert_string_equal(options_item(p, "file", 1), "--b");
    assert_null(options_item(p, "file", 2));
    assert_true(options_flag(p, "flag") && options_size(p, "size") == 5);
    expect("within", options_within(p, first_group, "a test"), ERR_INPUT,
           "--file has no meaning for a test");
    assert_int_equal(options_within(p, groups, "a test"), 0);
    expect("a word", arguments(o, "word"), ERR_INPUT, "unexpected argument 'word'");
    assert_int_equal(options_set(o, OPTION_FILE, "", "size", "6"), 0);
    assert_int_equal(options_given(o, p), 0); /* p knows more options than o */
    assert_int_equal(options_size(o, "size"), 5);
    assert_int_equal(options_set(o, OPTION_FILE, "", "size", "7"), 0);
    assert_int_equal(options_size(o, "size"), 5); /* a lower rank changes nothing */
}

/* Other names set the option, of which the last value holds; the written file has the first name alone. */
TEST(options_have_other_names)
{
    static const char *const lines[] = {"--real 3", "--number 3",          "--numeral=3",
                                        "--num 3",  "--number 4 --real 3", "--real 4 --num 3"};
    char words[OPTION_WORDS];
    file_text("other.ini", "numeral = 5\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        OWN_OPTIONS *o = fresh();
        assert_int_equal(arguments(o, lines[i]), 0);
        assert_int_equal(options_read(o, file_path("other.ini")), 0); /* the command line's stays */
        assert_true(options_real(o, "real") == 3 && options_rank(o, "real") == OPTION_ARGUMENT);
        char *text = WRITTEN(f, assert_int_equal(options_write(o, 0, f), 0));
        assert_string_equal(text, "real = 3\n");
    }
    option_words(&one[3], 0, words);
    assert_string_equal(words, "a real; also --number, --numeral");
}

/* An option may need another one to be on: a flag, a size above 0 and a text are on. */
TEST(options_go_together)
{
    OWN_OPTIONS *o = fresh();
    assert_int_equal(arguments(o, "--flag=no --size 5"), 0);
    assert_int_equal(options_either(o, "flag", "size"), 0);
    assert_int_equal(options_either(o, "text", "size"), 0);
    expect("needs", options_needs(o), ERR_INPUT, "--size has no meaning without --text");
    assert_int_equal(set(o, "text", "t"), 0);
    expect("needs", options_needs(o), ERR_INPUT, "--text has no meaning without --flag");
    assert_int_equal(options_either(o, "text", "flag"), 0);
    expect("either", options_either(o, "text", "flag size"), ERR_INPUT,
           "expected --text or --size, not both");
    assert_int_equal(set(o, "flag", "yes"), 0);
    assert_int_equal(options_needs(o), 0);
    OWN_OPTIONS *p = fresh();
    assert_int_equal(options_set(p, OPTION_FILE, "", "size", "5"), 0); /* a file may hold more */
    assert_int_equal(options_needs(p), 0);
}

static int read_ini(Options *o, const char *text)
{
    return options_read(o, file_text("ini", text));
}

TEST(ini_files)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"text = t\nsize = 1\nreal = 0\n", "ini:2: size: expected a whole number"},
        {"size = 3\n[s]\nreal = 0\n", "ini:3: no sections are known here, not [s]"},
        {"size = 3\nreal\n", "ini:2: expected 'name = value'"},
        {"\n\nsice = 3", "ini:3: unknown option 'sice'; the nearest is 'size'"},
        {"size = 3\nfile = a\nfile = b\nsize = 4\n", "ini:4: size: given twice, as '3' and as '4'"},
    };
    char text[2048], longer[1024];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        OWN_OPTIONS *o = fresh();
        expect(bad[i].text, read_ini(o, bad[i].text), ERR_INPUT, bad[i].words);
    }
    OWN_OPTIONS *o = fresh();
    expect("a folder", options_read(o, folder), ERR_INPUT, "Is a directory");
    expect("nothing", options_read(o, file_path("none")), ERR_INPUT, "none: ");
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    snprintf(text, sizeof text, "text = %s\nsize = 1\n",
             longer); /* longer than inih's first room */
    expect("long", read_ini(o, text), ERR_INPUT, "ini:2: ");
    assert_string_equal(options_text(o, "text"), longer);
    static const char *const unwritable[] = {" x", "x ", "x\ny"};
    for (int i = 0; i < 3; i++) {
        FILE *f = fopen("/dev/null", "w");
        assert_int_equal(set(o, "text", unwritable[i]), 0);
        expect(unwritable[i], options_write(o, 0, f), ERR_INPUT, "cannot be recorded in a file");
        fclose(f);
    }
}

/* ---- backends ---------------------------------------------------------------------------------------- */

TEST(machines)
{
    static const struct {
        const char *device, *precision, *kernel, *words;
    } bad[] = {
        {"cpu", "tf32", NULL, "--precision tf32 is for --device cuda"},
        {"cuda", "f64", NULL, "--precision f64 is for --device cpu"},
        {"auto", "f32", "abacus", "abacus"},
        {"cpu", "f64", "abacus", "abacus"},
    };
    static const char *const precisions[] = {"f32", "f64", "tf32"};
    const Backend *b;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        OWN_OPTIONS *o = saved_options();
        set(o, "device", bad[i].device);
        set(o, "precision", bad[i].precision);
        if (bad[i].kernel) set(o, "kernel", bad[i].kernel);
        expect(bad[i].words, network_backend(o, &b), ERR_INPUT, bad[i].words);
    }
    for (int i = 0; i < 3; i++) {
        OWN_OPTIONS *o = saved_options();
        set(o, "device", "auto");
        set(o, "precision", precisions[i]);
        assert_int_equal(network_backend(o, &b), 0);
        assert_int_equal(b->size, i == 1 ? sizeof(double) : sizeof(float));
    }
}

/* Returns the code of a training of this scheme by so many ranks, and its bytes; `device`: on one. */
static int count_for(const Options *o, const char *scheme, int ranks, int device, size_t *bytes)
{
    OWN_TABLE *t = built_in(scheme, "euler");
    const Backend *b;
    assert_int_equal(network_backend(o, &b), 0);
    Backend fake = *b;
    fake.device = device;
    Model *m = NULL;
    int code = network_trained(o, (Stacks){t}, &(Vocab){.size = 9}, &fake, ranks, 1, &m);
    if (code == 0) *bytes = model_bytes(m);
    model_free(m);
    return code;
}

/* Every rank needs a sequence of each batch, and room for its share only. */
TEST(ranks_share_batches)
{
    size_t alone, share, bytes;
    OWN_OPTIONS *o = saved_options();
    assert_int_equal(count_for(o, "transformer", 1, 0, &alone), 0);
    assert_int_equal(count_for(o, "transformer", 64, 0, &share), 0);
    assert_true(share < alone);
    expect("65", count_for(o, "transformer", 65, 0, &bytes), ERR_INPUT,
           "a batch of 4096 tokens has 64 sequences of 64, fewer than the 65 ranks");
    assert_int_equal(count_for(o, "transformer", 1, 1, &bytes), 0);
    set(o, "inner", "5");
    expect("macaron", count_for(o, "macaron", 2, 0, &bytes), ERR_INPUT, "equal parameters need");
    set(o, "inner", "4");
    set(o, "batch-tokens", "64");
    expect("2", count_for(o, "transformer", 2, 0, &bytes), ERR_INPUT, "has 1 sequence of 64,");
    set(o, "adaptive-factor", "2");
    expect("factor", network_check(o), ERR_INPUT, "without --adaptive");
    set(o, "adaptive", "4,6");
    assert_int_equal(network_check(o), 0);
    assert_int_equal(count_for(o, "transformer", 1, 0, &bytes), 0);
    set(o, "adaptive", "1,2,3,4,5,6,7,8,9");
    expect("nine", count_for(o, "transformer", 1, 0, &bytes), ERR_INPUT, "at most 8 numbers");
}

/* ---- options against options -------------------------------------------------------------------------- */

static const OptionGroup group_all[] = {{"One", 1, one}, {"Two", 1, two}};
static const OptionGroup *const recorded[] = {&group_all[0], &group_all[1], NULL};

/* Returns the flags of an option. */
static unsigned flags_of(const char *name)
{
    for (const OptionGroup *const *g = recorded; *g; g++)
        for (const Option *p = (*g)->option; p->name; p++)
            if (strcmp(p->name, name) == 0) return p->flags;
    fail_msg("%s", name);
    return 0;
}

TEST(options_that_differ)
{
    static const struct {
        const char *a[5], *b[5], *name; /* NULL: they do not differ */
    } pairs[] = {
        {{NULL}, {NULL}, NULL},
        {{"real", "1e-3"}, {"real", "0.001"}, NULL},
        {{"real", "1e-3"}, {"real", "2e-3"}, "real"},
        {{"real", "1"}, {NULL}, "real"},
        {{"size", "7"}, {"size", "7"}, NULL},
        {{"size", "7"}, {"size", "8"}, "size"},
        {{"flag", "yes"}, {NULL}, "flag"},
        {{"flag", "no"}, {NULL}, NULL},
        {{"text", "x"}, {"text", "x"}, NULL},
        {{"text", "x"}, {"text", "y"}, "text"},
        {{"text", "x"}, {NULL}, "text"},
        {{NULL}, {"text", "x"}, "text"},
        {{"choice", "left"}, {"choice", "right"}, "choice"},
        {{"file", "a", "file", "b"}, {"file", "a", "file", "b"}, NULL},
        {{"file", "a", "file", "b"}, {"file", "a", "file", "c"}, "file"},
        {{"file", "a", "file", "b"}, {"file", "a"}, "file"},
        {{"file", "a"}, {"file", "a", "file", "b"}, "file"},
        {{"room", "4G", "size", "3"}, {"room", "5G", "size", "4"}, "size"},
    };
    char words[OPTION_WORDS], name[64];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        OWN_OPTIONS *a = with(recorded, pairs[i].a), *b = with(recorded, pairs[i].b);
        int differ = options_differ(a, b, 0, words);
        snprintf(name, sizeof name, "--%s ", pairs[i].name ? pairs[i].name : "");
        if (differ != (pairs[i].name != NULL) || (differ && !strstr(words, name)))
            fail_msg("pair %zu: %d %s", i, differ, differ ? words : "");
        int both = i == sizeof pairs / sizeof *pairs - 1; /* options in which these differ */
        if (both) assert_string_equal(words, "--size 4, now 3; --room 5G, now 4G");
        if (pairs[i].name)
            assert_int_equal(options_differ(a, b, flags_of(pairs[i].name), words), both);
    }
    static const char *const less[] = {"room", "4G", NULL}, *const more[] = {"room", "5G", NULL};
    OWN_OPTIONS *a = with(groups, less),
                *b = with(groups, more); /* the second group is not recorded */
    assert_int_equal(options_differ(a, b, 0, words), 0);
}

/* ---- saved networks ----------------------------------------------------------------------------------- */

static int load_altered(const char *key, const char *value)
{
    OWN_OPTIONS *none = fresh();
    saved_write(key, value);
    return saved_load(folder, none);
}

/* A file of another program may lack how it was trained, but not what the network is. */
TEST(other_programs_files)
{
    static const char *const spare[] = {
        "rate", "corpus", "seed", "dropout", "format", "masks", "vocabulary_checksum"};
    static const char *const altered[][3] = {
        {"scheme_text", "scheme a\nflow F\nscheme b\nflow F\n", ": expected one scheme"},
        {"scheme_text",
         "scheme a\ndecoder\nk1 = H(y)\ny' = y + k1\nscheme b\nflow F\nscheme c\nflow F\n",
         ": expected one scheme"},
        {"scheme", "a b", "metadata scheme: expected a scheme's name"},
        {"scheme_text", "scheme a\nflow", "safetensors:2:"},
        {"scheme_text", "scheme x", "safetensors"},
        {"width", "wide", "metadata width: expected"},
        {"width", "6", "model.safetensors: "},
        {"width", "0", "metadata width: expected"},
        {"width", "65536", "there can be at most"}, /* before anything is built */
        {"inner", "1048576", "there can be at most"},
        {"layers", "1000", "there can be at most"},
        {"sequence", "9999", "is longer than --batch-to"},
    };
    static const char *const needed[] = {"layers",    "width",      "inner",       "heads",
                                         "positions", "activation", "scheme_text", "scheme"};
    for (size_t i = 0; i < sizeof spare / sizeof *spare; i++)
        if (load_altered(spare[i], NULL) != 0) fail_msg("%s: %s", spare[i], error_text());
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        expect(needed[i], load_altered(needed[i], NULL), ERR_INPUT, needed[i]);
    for (size_t i = 0; i < sizeof altered / sizeof *altered; i++)
        expect(altered[i][1], load_altered(altered[i][0], altered[i][1]), ERR_INPUT, altered[i][2]);
}

/* A model accepts only the words that it was trained with: as many others would give wrong results. */
TEST(words_belong_to_a_model)
{
    static const char *const other[] = {"<eos>\nb\n", "a\n<eos>\n", "<eos>\na\nb\n", "<eos>\n"};
    OWN_OPTIONS *none = fresh();
    for (int told = 0; told < 2; told++) {
        saved_write(told ? "" : "vocabulary_checksum", NULL);
        file_write("vocab.txt", "<eos>\r\na", 8); /* the same words, from another system */
        assert_int_equal(saved_load(folder, none), 0);
        for (size_t i = 0; i < sizeof other / sizeof *other && told; i++) {
            file_text("vocab.txt", other[i]);
            expect(other[i], saved_load(folder, none), ERR_INPUT,
                   "vocab.txt does not hold the words of");
        }
    }
    file_text("vocab.txt", other[0]);
    saved_write("vocabulary_checksum", "0123456789abcdef");
    expect("altered", saved_load(folder, none), ERR_INPUT, "does not hold the words of");
}

/* A fine-tuned encoder tells no words, and one of masked words no next ones. */
TEST(what_encoders_tell)
{
    OWN_OPTIONS *labels = saved_options(), *none = fresh();
    Network n = {.options = labels};
    set(labels, "classes", "2");
    expect("labels", network_no_labels(&n, "run"), ERR_INPUT,
           "run was fine-tuned: it tells labels");
    expect("labels", network_tells_next(&n, "run"), ERR_INPUT,
           "run was fine-tuned: it tells labels");
    expect("labels", network_alone(&n, "run"), ERR_INPUT, "run was fine-tuned: it tells labels");
    for (int masked = 0; masked < 2; masked++) {
        const Backend *b;
        OWN_TABLE *t = built_in("transformer", "euler");
        OWN_OPTIONS *o = saved_options();
        set(o, "objective", masked ? "masked" : "next");
        n = (Network){.options = o};
        assert_int_equal(network_backend(o, &b), 0);
        assert_int_equal(network_model(o, (Stacks){t}, &(Vocab){.size = 9}, b, &n.model), 0);
        int code = network_alone(&n, "run");
        model_free(n.model);
        if (masked)
            expect("masked", code, ERR_INPUT, "run is an encoder alone, which tells masked words");
        else
            assert_int_equal(code, 0);
    }
    assert_int_equal(saved_load("tests/foreign/gpt2", none), 0);
}

/* Texts are of one scheme where they differ in remarks alone. */
TEST(texts_of_one_scheme)
{
    static const struct {
        const char *a, *b;
        int same;
    } rows[] = {{"scheme a\nflow F\n", "scheme a\nnote x\nflow F\n", 1},
                {"scheme a\nflow F\n", "scheme a\nflow F\nnote x", 1},
                {"scheme a\nflow F\nsource", "scheme a\nflow F\nsource", 1},
                {"scheme a\nflow F", "scheme a\nflow F\n", 0},
                {"scheme a\nflow F\n", "scheme a\nflow F", 0},
                {"scheme a\nflow F\n", "scheme a\nflow G\n", 0},
                {"scheme a\nflow F\n", "scheme a\nflow F\nflow G\n", 0},
                {"", "", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (network_scheme_same(rows[i].a, rows[i].b) != rows[i].same) fail_msg("row %zu", i);
}

/* Options that are refused together, and what two of them make. */
TEST(options_of_networks)
{
    static const struct {
        const char *given[7], *words; /* words NULL: they go together */
    } rows[] = {
        {{"step-penalty", "error=1x"}, "--step-penalty error=1x: expected error=X"},
        {{"step-penalty", "error=2e9"}, "X from 0 to 1e9"},
        {{"step-penalty", "displacement=1"}, NULL},
        {{"step-penalty", "error=1"}, "give --masks step, or --dropout 0"},
        {{"step-penalty", "error=1", "dropout", "0"}, NULL},
        {{"step-penalty", "error=1", "masks", "step"}, NULL},
        {{"step-penalty", "error=1", "dropout", "0", "attention-dropout", ".1"},
         "give --masks step"},
        {{"step-penalty", "error=1", "dropout", "0", "activation-dropout", ".1"},
         "give --masks step"},
        {{"average", "5", "epochs", "4"}, "--average 5: there are the ends of --epochs 4 only"}};
    static char name[] = "text";
    static const Corpus text = {.name = name};
    Corpus c;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OWN_OPTIONS *o = saved_options();
        for (const char *const *at = rows[i].given; *at; at += 2)
            assert_int_equal(set(o, at[0], at[1]), 0);
        int code = network_check(o);
        if (rows[i].words)
            expect(rows[i].given[1], code, ERR_INPUT, rows[i].words);
        else if (code != 0)
            fail_msg("row %zu: %s", i, error_text());
    }
    OWN_OPTIONS *o = saved_options();
    set(o, "gelu", "erf"); /* of a model without GELU: nothing */
    assert_int_equal(network_config(o).model.act, ACT_RELU);
    set(o, "activation", "gelu");
    assert_int_equal(network_config(o).model.act, ACT_ERF);
    assert_int_equal(network_language(o, &text), 0);
    set(o, "best", "bleu");
    expect("bleu", network_language(o, &text), ERR_INPUT, "--best bleu: corpus text has no pairs");
    set(o, "parts", "8,1,1,1");
    expect("parts", network_corpus(o, 0, &c), ERR_INPUT, "expected three shares");
    static const char *const lengths[][5] = {
        {"epochs", "1", NULL, NULL, "1 epoch"},
        {"max-steps", "9", NULL, NULL, "at most 4 epochs and 9 steps"},
        {"patience", "2", NULL, NULL, "at most 4 epochs"},
        {"patience", "2", "max-steps", "9", "at most 4 epochs and 9 steps"}};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char told[64];
        OWN_OPTIONS *l = saved_options();
        for (int k = 0; k < 4 && lengths[i][k]; k += 2) set(l, lengths[i][k], lengths[i][k + 1]);
        network_length(l, told);
        assert_string_equal(told, lengths[i][4]);
    }
}

TEST(places_of_networks)
{
    char dir[8192], here[4096];
    OWN_OPTIONS *o = saved_options(), *none = fresh();
    saved_write("", NULL);
    assert_int_equal(saved_load(folder, none), 0);
    assert_int_equal(saved_load(file_path("model.safetensors"), none), 0);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    int code = saved_load("model.safetensors", none);
    assert_int_equal(chdir(here), 0);
    assert_int_equal(code, 0);
    expect("nowhere", saved_load(file_path("none"), none), ERR_INPUT, "none/model.safetensors");
    memset(dir, 'x', sizeof dir);
    dir[sizeof dir - 1] = '\0';
    expect("long", saved_load(dir, none), ERR_INPUT, "name too long");
    strcpy(dir + sizeof dir - 13, ".safetensors");
    expect("long", saved_load(dir, none), ERR_INPUT, "name too long");
    set(o, "kernel", "abacus"); /* given options count: the file names no machine */
    expect("kernel", saved_load(folder, o), ERR_INPUT, "abacus");
}

TEST_MAIN(scratch_open, scratch_close)
