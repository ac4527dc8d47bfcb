/* option.c: reads option tables: the command line, INI files, help. */
#include "studies/base/option.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <ini.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/nearest.h"

typedef struct {
    const Option *option;
    int recorded, rank;
    size_t count;
    char **item; /* (count) */
} Value;

struct Options {
    size_t count;
    Value *value; /* (count) */
};

static const Option common[] = {
    {"help", OPTION_TEXT, NULL, "[all|WORD]",
     "print the options that most people use, all of them, or those with a word and what is said of it, and exit; "
     "-h does the same"},
    {0},
};
const OptionGroup options_common = {"Help", 0, common};

/* ---- life ---------------------------------------------------------------------------------------- */

static int add_group(Options *o, const OptionGroup *g)
{
    for (const Option *p = g->option; p->name; p++) {
        TRY(memory_more(&o->value, o->count, sizeof *o->value));
        o->value[o->count++] = (Value){.option = p, .recorded = g->recorded};
    }
    return 0;
}

int options_new(const OptionGroup *const *groups, Options **out)
{
    SCOPED(options_drop) Options *o = memory_new(1, sizeof *o);
    if (!o) return ERR_MEMORY;
    for (; *groups; groups++) TRY(add_group(o, *groups));
    TRY(add_group(o, &options_common));
    *out = o;
    o = NULL;
    return 0;
}

static void value_clear(Value *v)
{
    for (size_t i = 0; i < v->count; i++) memory_free(v->item[i]);
    v->item = memory_free(v->item);
    v->count = 0;
}

void options_free(Options *o)
{
    if (!o) return;
    for (size_t i = 0; i < o->count; i++) value_clear(&o->value[i]);
    memory_free(o->value);
    memory_free(o);
}

/* ---- texts of values --------------------------------------------------------------------------- */

static int is_size(const Option *p, const char *text)
{
    if (!*text || strspn(text, "0123456789") != strlen(text)) return 0;
    errno = 0;
    unsigned long long n = strtoull(text, NULL, 10);
    return errno == 0 && n <= SIZE_MAX && (double)n >= p->low && (double)n <= p->high;
}

static int is_real(const Option *p, const char *text)
{
    if (!*text || strspn(text, "0123456789.eE+-") != strlen(text)) return 0;
    char *end;
    double x = strtod(text, &end);
    return *end == '\0' && isfinite(x) && x >= p->low && x <= p->high;
}

/* Writes the i-th part of "a,b,c"; returns 0 past the end, or where the part is longer than 31 bytes. */
static int part_of(const char *text, size_t i, char out[32])
{
    for (; i > 0; i--) {
        text = strchr(text, ',');
        if (!text) return 0;
        text++;
    }
    size_t n = strcspn(text, ",");
    if (n >= 32) return 0;
    memcpy(out, text, n);
    out[n] = '\0';
    return 1;
}

static int are_parts(int (*is)(const Option *p, const char *text), const Option *p,
                     const char *text)
{
    char at[32];
    size_t commas = 0, n = 0;
    for (const char *c = text; *c; c++) commas += *c == ',';
    while (part_of(text, n, at) && is(p, at)) n++;
    return n == commas + 1;
}

int option_index(const char *values, const char *text)
{
    size_t n = strlen(text);
    int index = 0;
    for (const char *v = values; v; v = strchr(v, '|') ? strchr(v, '|') + 1 : NULL, index++)
        if (n > 0 && strncmp(v, text, n) == 0 && (v[n] == '|' || v[n] == '\0')) return index;
    return -1;
}

void option_value(const char *values, int index, char out[OPTION_VALUE])
{
    const char *v = values;
    for (int i = 0; v && i < index; i++) v = strchr(v, '|') ? strchr(v, '|') + 1 : NULL;
    snprintf(out, OPTION_VALUE, "%.*s", v ? (int)strcspn(v, "|") : 0, v ? v : "");
}

static const char flag_words[] = "no|yes|false|true|0|1";

/* Tells the range; one without an end in sight by its beginning alone, unless the text is behind its end. */
static void range_words(const Option *p, const char *text, char *words, size_t bytes)
{
    int whole = p->type == OPTION_SIZE || p->type == OPTION_SIZES;
    int n = snprintf(words, bytes, "expected a %snumber", whole ? "whole " : "");
    if (p->high >= 1e15 && !(strtod(text, NULL) > p->high))
        n += snprintf(words + n, bytes - (size_t)n, " of at least %g", p->low);
    else
        n += snprintf(words + n, bytes - (size_t)n, " from %.10g to %.10g", p->low, p->high);
    if (p->type == OPTION_SIZES || p->type == OPTION_REALS)
        snprintf(words + n, bytes - (size_t)n, ", or several separated by commas");
}

/* Returns 1 where text is a value of p; words: what is expected, in the form that stands behind "NAME: ". */
static int is_value(const Option *p, const char *text, char *words, size_t bytes)
{
    static const char *const expected[OPTION_REALS + 1] = {
        [OPTION_FLAG] = "yes or no",
        [OPTION_TEXT] = "a text",
        [OPTION_LIST] = "a text",
    };
    if (p->type == OPTION_CHOICE)
        snprintf(words, bytes, "expected one of %s", p->values);
    else if (expected[p->type])
        snprintf(words, bytes, "expected %s", expected[p->type]);
    else
        range_words(p, text, words, bytes);
    switch (p->type) {
    case OPTION_FLAG: return option_index(flag_words, text) >= 0;
    case OPTION_CHOICE: return option_index(p->values, text) >= 0;
    case OPTION_SIZE: return is_size(p, text);
    case OPTION_REAL: return is_real(p, text);
    case OPTION_SIZES: return are_parts(is_size, p, text);
    case OPTION_REALS: return are_parts(is_real, p, text);
    default: return *text != '\0';
    }
}

/* ---- setting ------------------------------------------------------------------------------------- */

/* Finds the option of this name; aliases do not count. */
static Value *value_named(const Options *o, const char *name)
{
    for (Value *v = o->value; v < o->value + o->count; v++)
        if (strcmp(v->option->name, name) == 0) return v;
    return NULL;
}

static Value *value_find(const Options *o, const char *name)
{
    Value *named = value_named(o, name);
    for (Value *v = o->value; v < o->value + o->count && !named; v++)
        for (int i = 0; i < OPTION_ALIASES && v->option->alias[i]; i++)
            if (strcmp(v->option->alias[i], name) == 0) named = v;
    return named;
}

static int value_set(Value *v, int rank, const char *text)
{
    if (v->rank > rank) return 0;
    if (v->rank < rank || v->option->type != OPTION_LIST) value_clear(v);
    TRY(memory_more(&v->item, v->count, sizeof *v->item));
    if (!(v->item[v->count] = memory_string(text))) return ERR_MEMORY;
    v->count++;
    v->rank = rank;
    return 0;
}

static int unknown_name(const Options *o, const char *where, const char *dashes, const char *name)
{
    const char *names[256] = {0};
    size_t n = 0;
    for (size_t i = 0; i < o->count && n + 1 + OPTION_ALIASES <= 256; i++) {
        const Option *p = o->value[i].option;
        names[n++] = p->name;
        for (int k = 0; k < OPTION_ALIASES && p->alias[k]; k++) names[n++] = p->alias[k];
    }
    const char *near = nearest_name(name, names, n);
    for (size_t i = 0; i < n && !near; i++) /* --batch-size: --batch-tokens */
        if (strcspn(name, "-") > 3 && strncmp(name, names[i], strcspn(name, "-")) == 0)
            near = names[i];
    if (!near) return error_set(ERR_INPUT, "%sunknown option '%s%s'", where, dashes, name);
    return error_set(ERR_INPUT, "%sunknown option '%s%s'; the nearest is '%s%s'", where, dashes,
                     name, dashes, near);
}

int options_set(Options *o, int rank, const char *where, const char *name, const char *text)
{
    Value *v = value_find(o, name);
    const char *dashes = rank == OPTION_ARGUMENT ? "--" : "";
    if (!v) return unknown_name(o, where, dashes, name);
    char words[256];
    if (!is_value(v->option, text, words, sizeof words))
        return error_set(ERR_INPUT, "%s%s%s: %s, not '%s'", where, dashes, name, words, text);
    return value_set(v, rank, text);
}

int options_given(Options *o, const Options *from)
{
    for (const Value *v = from->value; v < from->value + from->count; v++) {
        if (v->rank != OPTION_ARGUMENT || !value_named(o, v->option->name)) continue;
        for (size_t i = 0; i < v->count; i++)
            TRY(options_set(o, OPTION_ARGUMENT, "", v->option->name, v->item[i]));
    }
    return 0;
}

const Option *option_named(const OptionGroup *const *groups, const char *name)
{
    for (; *groups; groups++)
        for (const Option *p = (*groups)->option; p->name; p++) {
            int is = strcmp(p->name, name) == 0;
            for (int i = 0; i < OPTION_ALIASES && p->alias[i]; i++)
                is |= strcmp(p->alias[i], name) == 0;
            if (is) return p;
        }
    return NULL;
}

int options_within(const Options *o, const OptionGroup *const *groups, const char *where)
{
    for (const Value *v = o->value; v < o->value + o->count; v++) {
        int in = v->rank != OPTION_ARGUMENT || v->option == common ||
                 option_named(groups, v->option->name);
        if (!in) return error_set(ERR_INPUT, "--%s has no meaning for %s", v->option->name, where);
    }
    return 0;
}

/* Returns 1 where an option of any type is on: a flag that is set, a size above 0, another value that is given. */
static int is_on(const Options *o, const char *name)
{
    const Value *v = value_find(o, name);
    if (v->option->type == OPTION_FLAG) return options_flag(o, name);
    if (v->option->type == OPTION_SIZE) return options_size(o, name) > 0;
    return options_text(o, name) != NULL;
}

int options_either(const Options *o, const char *name, const char *others)
{
    char other[64];
    for (size_t n; is_on(o, name) && *others; others += n + strspn(others + n, " ")) {
        n = strcspn(others, " ");
        snprintf(other, sizeof other, "%.*s", (int)n, others);
        if (is_on(o, other))
            return error_set(ERR_INPUT, "expected --%s or --%s, not both", name, other);
    }
    return 0;
}

int options_needs(const Options *o)
{
    for (const Value *v = o->value; v < o->value + o->count; v++)
        if (v->option->needs && v->rank == OPTION_ARGUMENT && !is_on(o, v->option->needs))
            return error_set(ERR_INPUT, "--%s has no meaning without --%s", v->option->name,
                             v->option->needs);
    return 0;
}

/* ---- the command line ---------------------------------------------------------------------------- */

/* Sets the error for getopt_long's '?': an unknown or ambiguous option, or a value where none is taken. */
static int argument_error(const Options *o, const char *argument)
{
    char name[128];
    if (strncmp(argument, "--", 2) != 0)
        return error_set(ERR_INPUT, "unknown option '%s'; options begin with --", argument);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(argument + 2, "="), argument + 2);
    for (size_t i = 0; i < o->count; i++)
        if (strncmp(o->value[i].option->name, name, strlen(name)) == 0)
            return error_set(ERR_INPUT, "option '--%s' is ambiguous", name);
    return unknown_name(o, "", "--", name);
}

/* Refuses a word, with the option that it is probably meant for: of a scheme, a directory or a file. */
static int refuse_word(const Options *o, const char *word)
{
    static const struct {
        const char *option, *more;
        int directory;
    } homes[] = {{"model", "", 1},
                 {"dir", "", 1},
                 {"corpus", "", 1},
                 {"gold", " --hypothesis FILE", 0},
                 {"reference", " --hypothesis FILE", 0},
                 {"text", "", 0},
                 {"corpus", "", 0},
                 {"system-file", "", 0},
                 {"scheme-file", "", 0}};
    struct stat s;
    int there = stat(word, &s) == 0, directory = there && S_ISDIR(s.st_mode);
    if (!there && !strpbrk(word, "./") && options_known(o, "scheme"))
        return error_set(ERR_INPUT, "unexpected argument '%s': write --scheme %s", word, word);
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++)
        if (homes[i].directory == directory && options_known(o, homes[i].option))
            return error_set(ERR_INPUT, "unexpected argument '%s': write --%s %s%s", word,
                             homes[i].option, word, homes[i].more);
    return error_set(ERR_INPUT,
                     "unexpected argument '%s': values follow an option that begins with --", word);
}

static int add_word(Options *o, const char *word)
{
    const Value *v = options_known(o, "file") ? value_find(o, "file") : NULL;
    if (v && (!v->option->needs || is_on(o, v->option->needs)))
        return options_set(o, OPTION_ARGUMENT, "", "file", word);
    return refuse_word(o, word);
}

enum { NAMED = 256 }; /* getopt_long's value for the first option; characters are below it */

/* Makes the list of every name of every option, ended by an entry without a name. All names of an option have its
 * value, so a prefix of two of its names is not ambiguous. No two options share a value. */
static struct option *names_new(const Options *o)
{
    struct option *list = memory_new(o->count * (1 + OPTION_ALIASES) + 1, sizeof *list);
    for (size_t i = 0, n = 0; list && i < o->count; i++) {
        const Option *p = o->value[i].option;
        int takes = p->type == OPTION_FLAG || p == common ? optional_argument : required_argument;
        list[n++] = (struct option){p->name, takes, NULL, NAMED + (int)i};
        for (int k = 0; k < OPTION_ALIASES && p->alias[k]; k++)
            list[n++] = (struct option){p->alias[k], takes, NULL, NAMED + (int)i};
    }
    return list;
}

/* Sets what --help prints: the word behind = or the next one, unless that is an option. */
static int set_help(Options *o, const char *word, int argc, char **argv)
{
    if (!word && optind < argc && argv[optind][0] != '-') word = argv[optind++];
    return options_set(o, OPTION_ARGUMENT, "", common->name, word ? word : HELP_SCREEN);
}

int options_arguments(Options *o, int argc, char **argv)
{
    SCOPED(memory_drop) struct option *list = names_new(o);
    if (!list) return ERR_MEMORY;
    int code = 0, c;
    opterr = 0;
    optind = 0; /* 0: glibc starts over */
    while (code == 0 && (c = getopt_long(argc, argv, "-:h", list, NULL)) != -1) {
        if (c == 1) /* "-": a word that is no option, in the given order */
            code = add_word(o, optarg);
        else if (c == 'h' || (c >= NAMED && o->value[c - NAMED].option == common))
            code = set_help(o, optarg, argc, argv);
        else if (c == ':')
            code = error_set(ERR_INPUT, "option '%s' needs a value", argv[optind - 1]);
        else if (c < NAMED)
            code = argument_error(o, argv[optind - 1]);
        else
            code = options_set(o, OPTION_ARGUMENT, "", o->value[c - NAMED].option->name,
                               optarg ? optarg : "yes");
    }
    while (code == 0 && optind < argc) code = add_word(o, argv[optind++]); /* behind "--" */
    return code;
}

/* ---- INI files ----------------------------------------------------------------------------------- */

typedef struct {
    Options *options;
    int code; /* of the first error */
} Reader;

/* Sets one value. A command line is written by hand or grown by a script, and its last value holds; a file that names an
 * option twice with different values is damaged. */
static int set_once(Options *o, const char *name, const char *text)
{
    const Value *v = value_find(o, name);
    if (v && v->rank == OPTION_FILE && v->count && v->option->type != OPTION_LIST &&
        strcmp(v->item[0], text) != 0)
        return error_set(ERR_INPUT, "%s: given twice, as '%s' and as '%s'", v->option->name,
                         v->item[0], text);
    return options_set(o, OPTION_FILE, "", name, text);
}

static int reader_value(void *arg, const char *section, const char *name, const char *text)
{
    Reader *r = arg;
    r->code = *section ? error_set(ERR_INPUT, "no sections are known here, not [%s]", section)
                       : set_once(r->options, name, text);
    return r->code == 0;
}

int options_lines(const char *text,
                  int (*take)(void *arg, const char *section, const char *name, const char *value),
                  void *arg)
{
    ini_allow_inline_comments = false; /* a ';' may be part of a file name */
    ini_allow_multiline = false;
    ini_stop_on_first_error = true;
    ini_use_stack = false;
    ini_allow_realloc = true;
    ini_max_line = 1 << 16;
    return ini_parse_string(text, take, arg);
}

int options_parse(Options *o, const char *where, const char *text)
{
    char words[900];
    Reader r = {o, 0};
    int line = options_lines(text, reader_value, &r);
    snprintf(words, sizeof words, "%s", r.code ? error_text() : "expected 'name = value'");
    if (line == 0 || r.code == ERR_MEMORY) return r.code;
    if (line < 0) return error_set(ERR_MEMORY, "%s: out of memory", where);
    return error_set(ERR_INPUT, "%s:%d: %s", where, line, words);
}

int options_read(Options *o, const char *file)
{
    SCOPED(memory_drop) char *text = NULL;
    size_t bytes;
    TRY(file_whole(file, SIZE_MAX, &text, &bytes));
    return options_parse(o, file, text);
}

/* Returns 1 for a text that an INI line cannot hold. */
static int unwritable(const char *text)
{
    size_t n = strlen(text);
    if (isspace((unsigned char)text[0]) || isspace((unsigned char)text[n - 1])) return 1;
    for (; *text; text++)
        if ((unsigned char)*text < 0x20) return 1;
    return 0;
}

int options_recorded(const Options *o, size_t i, const Option **option, const char **text)
{
    for (const Value *v = o->value; v < o->value + o->count; v++) {
        size_t n = v->count ? v->count : v->option->initial != NULL;
        if (!v->recorded) continue;
        if (i < n) {
            *option = v->option;
            *text = v->count ? v->item[i] : v->option->initial;
            return 1;
        }
        i -= n;
    }
    return 0;
}

int options_write(const Options *o, unsigned but, FILE *f)
{
    const Option *p;
    const char *text;
    for (size_t i = 0; options_recorded(o, i, &p, &text); i++) {
        if (p->flags & but) continue;
        if (unwritable(text))
            return error_set(ERR_INPUT, "--%s: '%s' cannot be recorded in a file", p->name, text);
        fprintf(f, "%s = %s\n", p->name, text);
    }
    return 0;
}

const Option *options_otherwise(const Options *o, size_t i)
{
    for (const Value *v = o->value; v < o->value + o->count; v++) {
        const Option *p = v->option;
        if (p->otherwise && !v->count && (!p->needs || is_on(o, p->needs)) && i-- == 0) return p;
    }
    return NULL;
}

/* ---- values -------------------------------------------------------------------------------------- */

static const Value *value_get(const Options *o, const char *name)
{
    const Value *v = value_find(o, name);
    assert(v);
    return v;
}

const char *options_text(const Options *o, const char *name)
{
    const Value *v = value_get(o, name);
    return v->count ? v->item[0] : v->option->initial;
}

/* Returns the text that a number, or a choice in a record, is read from; NULL: the value is 0. */
static const char *number_text(const Options *o, const char *name)
{
    const char *text = options_text(o, name);
    return text ? text : value_get(o, name)->option->otherwise;
}

size_t options_size(const Options *o, const char *name)
{
    const char *text = number_text(o, name);
    return text ? (size_t)strtoull(text, NULL, 10) : 0;
}

double options_real(const Options *o, const char *name)
{
    const char *text = number_text(o, name);
    return text ? strtod(text, NULL) : 0;
}

int options_flag(const Options *o, const char *name)
{
    const char *text = options_text(o, name);
    return text && option_index(flag_words, text) % 2 == 1;
}

int options_choice(const Options *o, const char *name)
{
    const char *text = options_text(o, name);
    return text ? option_index(value_get(o, name)->option->values, text) : -1;
}

const char *options_item(const Options *o, const char *name, size_t i)
{
    const Value *v = value_get(o, name);
    return i < v->count ? v->item[i] : NULL;
}

int options_part(const Options *o, const char *name, size_t i, char out[32])
{
    const char *text = options_text(o, name);
    return text && part_of(text, i, out);
}

/* Returns 1 where the values of an option differ. A number without a value counts as 0, as its reader sees it. */
static int differs(const Options *a, const Options *b, const Option *p)
{
    const char *name = p->name, *x = options_text(a, name), *y = options_text(b, name);
    if (p->type == OPTION_FLAG) return options_flag(a, name) != options_flag(b, name);
    if (p->type == OPTION_SIZE) return options_size(a, name) != options_size(b, name);
    if (p->type == OPTION_REAL) return options_real(a, name) != options_real(b, name);
    for (size_t i = 1; x && y && strcmp(x, y) == 0; i++) { /* the items of a list in turn */
        x = options_item(a, name, i);
        y = options_item(b, name, i);
    }
    return x || y;
}

int options_differ(const Options *o, const Options *there, unsigned but, char words[OPTION_WORDS])
{
    int n = 0, differ = 0;
    for (const Value *v = o->value; v < o->value + o->count; v++) {
        const char *name = v->option->name;
        if (!v->recorded || v->option->flags & but || !differs(o, there, v->option)) continue;
        const char *was = options_text(there, name), *is = options_text(o, name);
        if (words && n < OPTION_WORDS)
            n += snprintf(words + n, (size_t)(OPTION_WORDS - n), "%s--%s %s, now %s",
                          differ ? "; " : "", name, was ? was : "none", is ? is : "none");
        differ = 1;
    }
    return differ;
}

int options_rank(const Options *o, const char *name)
{
    return value_find(o, name)->rank;
}

int options_known(const Options *o, const char *name)
{
    return value_find(o, name) != NULL;
}

/* ---- into a record ------------------------------------------------------------------------------- */

static void set_member(const Options *o, const Option *p, Member m, char *record)
{
    void *at = record + m.at;
    const char *text = number_text(o, p->name);
    size_t n = p->type == OPTION_CHOICE ? (size_t)(text ? option_index(p->values, text) : 0)
               : p->type == OPTION_FLAG ? (size_t)options_flag(o, p->name)
               : p->type == OPTION_SIZE ? options_size(o, p->name)
                                        : 0;
    if (m.type == MEMBER_INT) *(int *)at = (int)n;
    if (m.type == MEMBER_LONG) *(long *)at = (long)n;
    if (m.type == MEMBER_SIZE) *(size_t *)at = n;
    if (m.type == MEMBER_REAL) *(double *)at = options_real(o, p->name);
}

void options_fill(const Options *o, const OptionGroup *const *groups, void *record)
{
    for (; *groups; groups++)
        for (const Option *p = (*groups)->option; p->name; p++)
            for (int i = 0; i < 2 && options_known(o, p->name); i++)
                set_member(o, p, p->sets[i], record);
}
