/* tour_lines.h: draws command lines from the program's own tables, for test_tour.c. */
#ifndef TROTTER_TEST_TOUR_LINES_H
#define TROTTER_TEST_TOUR_LINES_H

#include "kernels/base/random.h"
#include "ode/ode.h"
#include "studies/commands.h"
#include "studies/theory/verify/claims.h"
#include "tests/faults/tour.h"

enum { FEW = 20, OPTIONS = 112, WORDS = 96, LINE_BYTES = 1 << 14 };

static struct {
    size_t lines, each, only; /* in all; of a command; the one line that is run, 0: all */
    uint64_t seed, line, drawn;
    size_t faults;
    double seconds;
    int tells; /* prints every line, not only those with a fault */
    int pairs; /* the line has a corpus of pairs */
    size_t commands, systems, claims;
    Zoo zoo;
    const char *untouched; /* files beside the lines' own folder */
} tour;

/* Returns whether this is a soak, in which each command has a good number of lines. */
static int thorough(void)
{
    return tour.each >= 20;
}

/* ---- the program's own tables -------------------------------------------------------------------------- */

/* Returns option number i of a command; NULL past the last. */
static const Option *option_at(const Command *c, size_t i)
{
    for (const OptionGroup *const *g = c->groups;; g++) {
        for (const Option *o = (*g ? *g : &options_common)->option; o->name; o++)
            if (i-- == 0) return o;
        if (!*g) return NULL;
    }
}

static size_t count_options(const Command *c)
{
    size_t n = 0;
    while (option_at(c, n)) n++;
    assert_true(n <= OPTIONS);
    return n;
}

static int is_whole(const Option *o)
{
    return o->type == OPTION_SIZE || o->type == OPTION_SIZES;
}

static int is_number(const Option *o)
{
    return is_whole(o) || o->type == OPTION_REAL || o->type == OPTION_REALS;
}

static void count_tables(void)
{
    while (command_table[tour.commands]) tour.commands++;
    while (system_name(tour.systems)) tour.systems++;
    while (claim_at(tour.claims)) tour.claims++;
    assert_int_equal(zoo_open(&tour.zoo), 0);
}

/* ---- draws ------------------------------------------------------------------------------------------------ */

static size_t below(size_t n)
{
    return (size_t)random_below(tour.seed, tour.line, tour.drawn++, n);
}

/* Returns true in `percent` of 100 draws. */
static int chance(size_t percent)
{
    return below(100) < percent;
}

/* Draws one of a|b|c. */
static void draw_choice(const char *choices, char *value, size_t room)
{
    size_t n = 1;
    for (const char *c = choices; *c; c++) n += *c == '|';
    for (n = below(n); n > 0; n--) choices = strchr(choices, '|') + 1;
    snprintf(value, room, "%.*s", (int)strcspn(choices, "|"), choices);
}

/* Values that keep a line modest, or that stand for a text with a meaning. `always`: the option is in every modest line
 * of a command that has it, and in most others; without it there is much work or none. "@": see draw_named. */
static const struct {
    const char *command, *name, *values; /* command NULL: any */
    int always;
} modest_values[] = {
    {"bench", "scheme", "transformer|heun-layer", 0},
    {"design", "scheme", "looped-learn|looped-learn|rk2-gate|heun", 1},
    {"design", "order", "1|2", 0},
    {"design", "evaluations", "1|20|100", 1},
    {"design", "model", "model|model|pair", 0},
    {"design", "sentences", "1|2", 0},
    {"design", "starts", "1|2|5", 0},
    {"design", "beside", "none|euler|heun,macaron", 0},
    {"plot", "scheme", "euler|heun|heun,euler|rk4", 0},
    {"table", "file", "runs.csv|runs.csv|more.csv", 1},
    {"table", "design", "scheme|scheme,system", 0},
    {"table", "seed", "seed", 0},
    {"table", "measure", "error|seconds|evals", 0},
    {"table", "baseline", "euler|heun", 0},
    {"table", "contrast", "heun - euler|one: heun - euler", 0},
    {"table", "plan", "plan", 0},
    {NULL, "scheme", "@", 1},
    {NULL, "baseline", "@", 0},
    {NULL, "claim", "@", 1},
    {NULL, "system", "@", 0},
    {NULL, "words", "sf|ssff,sfsf|f|sfs", 1},
    {NULL, "corpus", "text|markov:64|markov:8", 1},
    {NULL, "vocabulary", "0|1|5|12|1000", 0},
    {"translate", "model", "pair|pair|pair|model", 1},
    {"translate", "text", "pairs/test.en|pairs/valid.en", 1},
    {"translate", "nbest", "0|1", 0},
    {"translate", "min-length", "0|1", 0},
    {"score", "model", "pair|pair|model", 1},
    {"score", "text", "pairs/test.de", 1},
    {"score", "source-text", "pairs/test.en", 1},
    {"tokenize", "text", "pairs/train.en|pairs/train.de", 1},
    {"bpe", "text", "pairs/train.en|pairs/train.de", 1},
    {NULL, "codes", "pair/codes.bpe", 0},
    {NULL, "bpe", "1|5", 0},
    {NULL, "learn", "1|5", 0},
    {NULL, "source", "en", 0},
    {NULL, "target", "de", 0},
    {NULL, "encoder", "@", 0},
    {NULL, "decoder", "@", 0},
    {NULL, "pair", "transformer/transformer|macaron/rk2-gate", 0},
    {"attention", "model", "model|twin|twin/model.safetensors", 1},
    {NULL, "model", "model|twin|deep|deep/model.safetensors", 1},
    {NULL, "text", "text/valid.txt|text/test.txt", 1},
    {"bleu", "reference", "text/valid.txt|text/valid.txt,text/valid.txt", 1},
    {"bleu", "hypothesis", "text/valid.txt|text/test.txt|text/valid.txt,text/test.txt", 1},
    {"bleu", "metrics", "bleu|chrf|bleu,chrf", 0},
    {"bleu", "bootstrap", "0|3|50", 0},
    {NULL, "prompt", "the cat|unheard of words|a", 0},
    {NULL, "file", "study/order.csv|study/work.csv|more.csv", 1},
    {NULL, "dir", "study|model|.", 1},
    {NULL, "scheme-file", "more.scheme", 0},
    {NULL, "system-file", "swarm.txt", 0},
    {NULL, "config", "model/config.ini", 0},
    {NULL, "logits", "logits.npy", 0},
    {"report", "out", "page.html|out/page.html", 1},
    {NULL, "out", "out|out|out/a/b|o u t|model|study", 1},
    {NULL, "kernel", "x86-64-v2|x86-64-v3", 0},
    {NULL, "box", "-4,1,-3,3|-1,1,-1,1", 0},
    {NULL, "title", "A title|<b>&", 0},
    {NULL, "peer", "more.scheme", 0},
    {NULL, "layers", "1|2|3", 0},
    {"bench", "width", "128", 0},
    {NULL, "width", "4|8|16", 1},
    {NULL, "inner", "1|8|16", 1},
    {NULL, "heads", "1|2|4", 1},
    {NULL, "sequence", "1|5|16", 1},
    {NULL, "batch-tokens", "16|48", 1},
    {NULL, "max-steps", "1|2|3", 1},
    {NULL, "epochs", "1|2|3", 0},
    {NULL, "accumulate", "1|2|3", 0},
    {NULL, "average", "1|2", 0},
    {NULL, "adaptive", "3|2,5", 0},
    {NULL, "threads", "1|2", 0},
    {NULL, "seeds", "1", 1},
    {NULL, "family-seeds", "1", 0},
    {NULL, "tune", NULL, 0},
    {NULL, "tune-rate", "1e-3", 0},
    {NULL, "tune-dropout", "0", 0},
    {"compare", "contrast", "transformer - heun|euler heun - transformer", 0},
    {NULL, "truncation", "0|1", 1},
    {NULL, "truncation-tokens", "2|3", 1},
    {NULL, "truncation-tolerance", "0|1e-5", 0},
    {NULL, "pairs", "1|2", 1},
    {NULL, "permutations", "1|2", 0},
    {NULL, "random", "1", 0},
    {NULL, "sentences", "1|2", 1},
    {"truncation", "tokens", "2|4", 1},
    {"truncation", "halvings", "4|5", 1},
    {NULL, "tokens", "1|20", 0},
    {NULL, "max-tokens", "1|20", 0},
    {NULL, "refine", "1|4", 0},
    {NULL, "refine-tokens", "2|50", 0},
    {NULL, "tolerance", "0|1e-6", 0},
    {NULL, "halvings", "4|5|7", 0},
    {NULL, "particles", "2|3|8", 0},
    {NULL, "dim", "1|2|4", 0},
    {NULL, "t-end", "0.5|1", 0},
    {NULL, "h0", "0.1|0.25", 0},
    {NULL, "points", "3|20", 0},
    {NULL, "degree", "2|3|4", 0},
    {NULL, "what", "theory", 1},
    {NULL, "repeats", "1|2", 1},
    {NULL, "budget", "0.1", 1},
};
enum { MODEST = sizeof modest_values / sizeof *modest_values };

/* Returns the index in modest_values, or MODEST. */
static size_t modest_index(const Command *c, const Option *o)
{
    size_t i = 0;
    for (; i < MODEST; i++) {
        const char *command = modest_values[i].command;
        if (strcmp(modest_values[i].name, o->name) != 0) continue;
        if (!command || strcmp(command, c->name) == 0) break;
    }
    return i;
}

static int has_option(const Command *c, const char *name)
{
    const Option *o;
    for (size_t i = 0; (o = option_at(c, i)); i++)
        if (strcmp(o->name, name) == 0) return 1;
    return 0;
}

static int is_one_of(const char *list, const char *name)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", name);
    return strstr(list, word) != NULL;
}

/* A line of a command that takes a text or pairs uses one of the two: options of the other would be refused. */
static const char of_pairs[] =
    " source target bpe codes encoder decoder encoder-layers pair tokenize best beam penalty alpha "
    "min-length max-length max-ratio max-extra no-repeat no-unknown sentences ";
static const char of_texts[] =
    " scheme contrast controls baseline system system-file tune tune-rate tune-dropout tune-seed context level "
    "adaptive span vocabulary words ";

/* Each kind of measurement of bench has its options; modest lines use ode's. */
static const char of_other_benches[] =
    " scheme scheme-file width products size stacks norm beam length sentences "
    "peer-limit layers tokens bandwidth product-rate vector-rate launch ";

static size_t always(const Command *c, const Option *o)
{
    if (tour.pairs && is_one_of(" source target pair ", o->name)) return 1;
    size_t i = modest_index(c, o);
    return i < MODEST && modest_values[i].always;
}

static const char *draw_scheme(char name[128])
{
    static const char *const form[] = {"%s",   "%s",      "%s",    "%s:heun",    "%s:euler", "%s-F",
                                       "%s-G", "%s-tanh", "%s-sh", "%s-sigmoid", "%s:exact"};
    static const char *const free_name[] = {"looped:2",     "repeat:3",      "word:sffs",
                                            "sandwich:2-1", "word:ssf:heun", "mine",
                                            "word:sf:exact"};
    if (chance(15)) return free_name[below(sizeof free_name / sizeof *free_name)];
    snprintf(name, 128, form[chance(15) ? below(sizeof form / sizeof *form) : 0],
             tour.zoo.scheme[below(tour.zoo.count)]->name);
    return name;
}

/* Draws schemes, systems and claims from the program's own lists. A train has one scheme. */
static void draw_named(const Command *c, const Option *o, char *value, size_t room)
{
    char name[128];
    size_t n = 0;
    if (strcmp(o->name, "claim") == 0) {
        snprintf(value, room, "%s", claim_at(below(tour.claims))->id);
    } else if (strcmp(o->name, "system") == 0) {
        snprintf(value, room, "%s",
                 chance(80) ? system_name(below(tour.systems)) : "network:deep:1");
    } else {
        size_t most = strcmp(c->name, "train") == 0 ? 1 : 1 + below(2);
        for (size_t i = 0; i < most; i++)
            n += (size_t)snprintf(value + n, room - n, "%s%s", i ? "," : "", draw_scheme(name));
    }
}

/* Draws one value that the option takes, of small work where modest_values has one. */
static void draw_modest(const Command *c, const Option *o, char *value, size_t room)
{
    static const char *const texts[] = {"x", "two words", "gr\303\274n", "7"};
    size_t i = modest_index(c, o);
    double near = o->initial ? atof(o->initial) : 0;
    if (tour.pairs && strcmp(o->name, "corpus") == 0) {
        snprintf(value, room, "pairs");
    } else if (i < MODEST && modest_values[i].values) {
        if (strcmp(modest_values[i].values, "@") == 0)
            draw_named(c, o, value, room);
        else
            draw_choice(modest_values[i].values, value, room);
        if (is_whole(o) && atof(value) < o->low) snprintf(value, room, "%.0f", o->low);
    } else if (is_whole(o)) {
        snprintf(value, room, "%.0f", o->low + (double)below(4));
    } else if (is_number(o)) {
        double x = near * (double)(1 + below(4)) / 2;
        snprintf(value, room, "%g", x > o->low ? x < o->high ? x : o->high : o->low);
    } else if (o->type == OPTION_CHOICE) {
        draw_choice(o->values, value, room);
    } else {
        snprintf(value, room, "%s", texts[below(sizeof texts / sizeof *texts)]);
    }
}

/* Draws an end of a range, or a number just beyond. */
static void draw_end(const Option *o, char *value, size_t room)
{
    double high = o->high < 1e18 ? o->high : 1e18, end = chance(50) ? o->low : high;
    double beyond = is_whole(o) ? 1 : end * 1e-9;
    if (chance(30)) end += chance(50) ? beyond : -beyond;
    snprintf(value, room, is_whole(o) ? "%.0f" : "%.17g", end);
}

/* Draws a text that is no value of any option, or a value of another one. */
static void draw_odd(char *value, size_t room)
{
    static const char odd[] =
        "| |-1|0|1|1e308|1e-308|1e400|nan|-nan|inf|-inf|0x10|1e|+|-|.|00000000000000000001|"
        "18446744073709551616|9223372036854775807|1,2|,|,,|1,,2|1,2,|,1|1 ,2|a\nb|\n|\r|\t|"
        "\033[2J|\001\177|%s%n%s|'|\"|\\|`touch ../home/owned`|$(touch ../home/owned)|"
        "'; touch ../home/owned; '|@x|\377\376|\302\205|gr\303\274n|<b>|a=b|=|--|all|none|"
        "yes|NAME|model|text|nowhere|nowhere/at/all|empty|more.csv|zeros|4G|"
        "looped:2,looped:2|euler,euler|network:model|network:deep:99|network:|word:|"
        "sandwich:9-9|markov:1|markov:0|markov:99999999|a/../b|x:y:z|1/2|2^3";
    if (chance(5)) {
        size_t n = 200 + below(room - 201);
        memset(value, chance(50) ? 'x' : ',', n);
        value[n] = '\0';
    } else {
        draw_choice(odd, value, room);
    }
}

/* Changes, removes or adds one byte of a value. */
static void spoil(char *value, size_t room)
{
    size_t n = strlen(value), at = below(n + 1);
    char byte = (char)(1 + below(255));
    if (at < n && chance(40)) {
        memmove(value + at, value + at + 1, n - at);
    } else if (at < n && chance(60)) {
        value[at] = byte;
    } else if (n + 1 < room) {
        memmove(value + at + 1, value + at, n - at + 1);
        value[at] = byte;
    }
}

/* ---- lines -------------------------------------------------------------------------------------------------- */

typedef struct {
    int modest, csv; /* csv: it has to print CSV */
    size_t count;
    char *argv[WORDS + 2];
    char bytes[LINE_BYTES];
    size_t used;
} Line;

static void add_word(Line *l, const char *word)
{
    size_t n = strlen(word) + 1;
    if (l->count == WORDS || l->used + n > sizeof l->bytes) return;
    l->argv[l->count++] = memcpy(l->bytes + l->used, word, n);
    l->used += n;
    l->argv[l->count] = NULL;
}

/* Adds "--name value", or "--name=value", which a flag needs and which is safer for a value that begins with a dash. */
static void add_option(Line *l, const Option *o, const char *value)
{
    char word[LINE_BYTES];
    if (o->type == OPTION_FLAG && !*value) {
        snprintf(word, sizeof word, "--%s", o->name);
        add_word(l, word);
    } else if (o->type == OPTION_FLAG || value[0] == '-' || chance(20)) {
        snprintf(word, sizeof word, "--%s=%s", o->name, value);
        add_word(l, word);
    } else {
        snprintf(word, sizeof word, "--%s", o->name);
        add_word(l, word);
        add_word(l, value);
    }
}

/* Draws a modest value, or a wild one: an end of the range, an odd text, or a spoilt modest one. */
static void draw_value(const Command *c, const Option *o, int wild, char *value, size_t room)
{
    char more[512];
    size_t way = wild ? below(4) : 4;
    value[0] = '\0';
    if (o->type == OPTION_FLAG) {
        if (wild) draw_odd(value, room);
        return;
    }
    draw_modest(c, o, value, room);
    if ((o->type == OPTION_SIZES || o->type == OPTION_REALS) && chance(30)) {
        draw_modest(c, o, more, sizeof more);
        snprintf(value + strlen(value), room - strlen(value), ",%s", more);
    }
    if (way == 0) draw_odd(value, room);
    if (way == 1) spoil(value, room);
    if (way > 1 && wild && o->type == OPTION_CHOICE) draw_choice(o->values, value, room);
    if (way > 1 && wild && is_number(o)) draw_end(o, value, room);
}

static int in_line(const Command *c, const Option *o, int modest)
{
    if (strcmp(o->name, "help") == 0 || strcmp(o->name, "peer") == 0) return !modest && chance(2);
    if (strcmp(o->name, "device") == 0 || strcmp(o->name, "precision") == 0) return chance(10);
    if (has_option(c, "source") && is_one_of(tour.pairs ? of_texts : of_pairs, o->name))
        return !modest && chance(2);
    if (strcmp(c->name, "bench") == 0 && is_one_of(of_other_benches, o->name))
        return !modest && chance(5);
    if (always(c, o)) return modest || chance(93);
    return strcmp(o->name, "csv") == 0 ? chance(50) : below(count_options(c)) < 4;
}

/* Adds a mistake beyond values: an unknown option, a bare word, an option without its value. */
static void add_strange(const Command *c, Line *l)
{
    char value[512];
    const Option *o = option_at(c, below(count_options(c)));
    size_t way = below(5);
    draw_odd(value, sizeof value);
    if (way == 0) add_word(l, "--no-such-option");
    if (way == 1) add_word(l, value);
    if (way == 2) snprintf(value, sizeof value, "--%s", o->name);
    if (way == 2) add_word(l, value);
    if (way == 3) snprintf(value, sizeof value, "--%.3s", o->name);
    if (way == 3) add_word(l, value);
    if (way == 4) draw_value(c, o, chance(50), value, sizeof value);
    if (way == 4) add_option(l, o, value);
}

/* Draws line number `number`, of a command. */
static void draw_line(const Command *c, size_t number, Line *l)
{
    char value[4096];
    tour.line = number;
    tour.drawn = 0;
    *l = (Line){.modest = chance(50)};
    tour.pairs = has_option(c, "source") && chance(30);
    add_word(l, program);
    add_word(l, c->name);
    size_t order[OPTIONS], count = count_options(c);
    for (size_t i = 0; i < count; i++) {
        size_t j = below(i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    const Option *odd = l->modest ? NULL : option_at(c, below(count));
    for (size_t i = 0; i < count; i++) {
        const Option *o = option_at(c, order[i]);
        if (o != odd && !in_line(c, o, l->modest)) continue;
        for (size_t n = o->type == OPTION_LIST ? 1 + (chance(60) ? always(c, o) : below(3)) : 1;
             n > 0; n--) {
            draw_value(c, o, o == odd || (odd && chance(5)), value, sizeof value);
            add_option(l, o, value);
        }
        l->csv |= strcmp(o->name, "csv") == 0 && !*value;
    }
    if (odd && chance(20)) add_strange(c, l);
    for (size_t i = 0; i < l->count; i++)
        if (strstr(l->argv[i], "--h") || strncmp(l->argv[i], "--csv=", 6) == 0) l->csv = 0;
}

/* Prints a line as a shell reads it: $'...' where a byte is not plain. */
static void print_line(FILE *f, const Line *l)
{
    fprintf(f, "trotter");
    for (size_t i = 1; i < l->count; i++) {
        const char *w = l->argv[i];
        if (*w && strspn(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            "-_=.,:/@+^%") == strlen(w)) {
            fprintf(f, " %s", w);
            continue;
        }
        fprintf(f, " $'");
        for (; *w; w++) {
            if ((unsigned char)*w < 0x20 || (unsigned char)*w >= 0x7f)
                fprintf(f, "\\%03o", (unsigned char)*w);
            else
                fprintf(f, "%s%c", strchr("'\\", *w) ? "\\" : "", *w);
        }
        fputc('\'', f);
    }
}

#endif
