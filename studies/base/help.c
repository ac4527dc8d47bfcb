/* help.c: prints a command's texts and options, all of them or those with a word. */
#include "studies/base/help.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/nearest.h"

typedef struct {
    FILE *f;
    size_t width, indent; /* of the words beside options: columns */
    size_t from, column;  /* of the line that is filled: where it begins, where it is */
    int blocks;           /* so far; a blank line parts them */
} Page;

enum { WORDS_COLUMN = 26, WIDTH = 80, LEAST = 40, MOST = 200 };

static size_t clamp(size_t n, size_t low, size_t high)
{
    return n < low ? low : n > high ? high : n;
}

static Page page_begin(FILE *f)
{
    const char *columns = getenv("COLUMNS");
    size_t n = columns && isdigit((unsigned char)*columns) ? strtoul(columns, NULL, 10) : 0;
    size_t width = n ? clamp(n, LEAST, MOST) : WIDTH;
    return (Page){.f = f, .width = width, .indent = clamp(WORDS_COLUMN, 0, width / 3)};
}

static void begin_block(Page *p)
{
    if (p->blocks++) fputc('\n', p->f);
}

/* ---- filling ------------------------------------------------------------------------------------- */

/* Returns the length of the text's next piece: a word, or where no line holds that, its part to the last comma that
 * fits. */
static size_t next_piece(const Page *p, const char *text)
{
    size_t n = strcspn(text, " \n"), i = p->width - p->from;
    if (n <= i) return n;
    while (i > 0 && text[i - 1] != ',') i--;
    return i > 0 ? i : n;
}

/* Prints the words of a line of text, which goes on with what is printed already, and returns its end. */
static const char *fill(Page *p, const char *text)
{
    size_t blank = p->column > p->from;
    while (*text && *text != '\n') {
        size_t n = next_piece(p, text);
        if (p->column > p->from && p->column + blank + n > p->width) {
            fprintf(p->f, "\n%*s", (int)p->from, "");
            p->column = p->from;
        } else if (blank) {
            fputc(' ', p->f);
            p->column++;
        }
        fwrite(text, 1, n, p->f);
        p->column += n;
        text += n;
        blank = *text == ' ';
        text += blank;
    }
    return text;
}

static void end_line(Page *p)
{
    if (p->column > 0) fputc('\n', p->f);
    p->column = p->from = 0;
}

/* Prints a paragraph; lines that begin with a blank stay as they are. */
static void put_paragraph(Page *p, const char *text, const char *end)
{
    begin_block(p);
    for (; text < end; text++) {
        if (*text == ' ' || *text == '\n') {
            size_t n = strcspn(text, "\n");
            end_line(p);
            fprintf(p->f, "%.*s\n", (int)n, text);
            text += n;
        } else
            text = fill(p, text);
    }
    end_line(p);
}

/* ---- options ------------------------------------------------------------------------------------- */

/* Returns the length of what an option does in brief: all that choices mean; else the first clause and what the default
 * means, if that is next ("threads; 0: one per core"). */
static size_t brief_length(const Option *p)
{
    const char *initial = p->initial ? p->initial : "", *at;
    size_t n = strlen(initial);
    int inside = 0; /* parentheses */
    for (at = p->help; *at && p->type != OPTION_CHOICE; at++) {
        inside += (*at == '(') - (*at == ')');
        if (*at != ';' || inside) continue;
        if (!n || strncmp(at + 2, initial, n) != 0 || at[2 + n] != ':')
            return (size_t)(at - p->help);
    }
    return strlen(p->help);
}

void option_words(const Option *p, int brief, char words[OPTION_WORDS])
{
    int n = (int)(brief ? brief_length(p) : strlen(p->help));
    if (p->initial && *p->initial && p->type != OPTION_FLAG)
        n = snprintf(words, OPTION_WORDS, "%.*s (default %s)", n, p->help, p->initial);
    else if (p->otherwise)
        n = snprintf(words, OPTION_WORDS, "%.*s (default: %s)", n, p->help, p->otherwise);
    else
        n = snprintf(words, OPTION_WORDS, "%.*s%s", n, p->help,
                     p->type == OPTION_LIST ? " (may be repeated)" : "");
    for (int i = 0; !brief && i < OPTION_ALIASES && p->alias[i] && n < OPTION_WORDS; i++)
        n += snprintf(words + n, OPTION_WORDS - (size_t)n, "%s--%s", i ? ", " : "; also ",
                      p->alias[i]);
}

static void put_option(Page *p, const Option *o, int brief)
{
    char words[OPTION_WORDS];
    int takes = o->type != OPTION_FLAG;
    size_t n =
        (size_t)fprintf(p->f, "  --%s%s%s", o->name, takes ? " " : "", takes ? o->values : "");
    if (n + 1 >= p->indent) fputc('\n', p->f), n = 0;
    fprintf(p->f, "%*s", (int)(p->indent - n), "");
    p->from = p->column = p->indent;
    option_words(o, brief, words);
    fill(p, words);
    end_line(p);
}

/* Returns group i; behind the last one is that of all commands. NULL past the end. */
static const OptionGroup *group_at(const OptionGroup *const *groups, size_t i)
{
    size_t n = 0;
    while (groups[n]) n++;
    return i < n ? groups[i] : i == n ? &options_common : NULL;
}

/* Returns the i-th option of the groups; NULL past the end. */
static const Option *option_at(const OptionGroup *const *groups, size_t i)
{
    const OptionGroup *g;
    for (size_t k = 0; (g = group_at(groups, k)); k++)
        for (const Option *o = g->option; o->name; o++)
            if (i-- == 0) return o;
    return NULL;
}

/* ---- a screen ------------------------------------------------------------------------------------ */

static void put_head(Page *p, const Command *c)
{
    begin_block(p);
    fprintf(p->f, "Usage: trotter %s [OPTION]...\n", c->name);
    fill(p, c->purpose);
    end_line(p);
}

static void put_example(Page *p, const Command *c)
{
    begin_block(p);
    fprintf(p->f, "Example:\n  trotter %s %s\n", c->name, c->example);
}

/* Prints the option that the first n bytes of `name` name, if it is one of the groups. */
static void put_named(Page *p, const OptionGroup *const *groups, const char *name, size_t n)
{
    const Option *o;
    for (size_t i = 0; (o = option_at(groups, i)); i++)
        if (strncmp(o->name, name, n) == 0 && !o->name[n]) put_option(p, o, 1);
}

static void put_screen(Page *p, const Command *c, const OptionGroup *const *groups)
{
    size_t count = 0, n;
    while (option_at(groups, count)) count++;
    put_head(p, c);
    begin_block(p);
    for (const char *name = c->often; name && *name; name += n + strspn(name + n, " ")) {
        n = strcspn(name, " ");
        put_named(p, groups, name, n);
    }
    for (size_t i = 0; !c->often && i + 1 < count; i++) put_option(p, option_at(groups, i), 1);
    put_example(p, c);
    begin_block(p);
    fprintf(p->f, "--help all shows all %zu options, --help WORD those that match.\n", count);
}

/* ---- what has a word ----------------------------------------------------------------------------- */

static int letter(char c)
{
    return c == '\n' ? ' ' : tolower((unsigned char)c);
}

/* Returns whether a text has the word, in letters of either case and across the ends of lines. NULL: any has. */
static int has(const char *text, const char *end, const char *word)
{
    size_t n = word ? strlen(word) : 0, i;
    for (; text + n <= end; text++) {
        for (i = 0; i < n && letter(text[i]) == letter(word[i]); i++) {}
        if (i == n) return 1;
    }
    return 0;
}

static int option_has(const Option *o, const char *word)
{
    char words[OPTION_WORDS], text[OPTION_WORDS + 256];
    option_words(o, 0, words);
    int n = snprintf(text, sizeof text, "--%s %s %s", o->name, o->values ? o->values : "", words);
    return has(text, text + n, word);
}

/* Prints the paragraphs with the word. Indented lines belong to the paragraph above them. */
static void put_about(Page *p, const char *text, const char *word)
{
    for (const char *end; *text; text = end + strspn(end, "\n")) {
        end = strstr(text, "\n\n");
        while (end && end[2] == ' ') end = strstr(end + 2, "\n\n");
        end = end ? end + 1 : text + strlen(text);
        if (has(text, end, word)) put_paragraph(p, text, end);
    }
}

/* Prints the options with the word under the titles of their groups. */
static void put_groups(Page *p, const OptionGroup *const *groups, const char *word)
{
    const OptionGroup *g;
    const char *title = NULL;
    for (size_t i = 0; (g = group_at(groups, i)); i++) {
        if (g->title) title = g->title;
        for (const Option *o = g->option; o->name; o++) {
            if (!option_has(o, word)) continue;
            if (title) begin_block(p), fprintf(p->f, "%s:\n", title);
            title = NULL;
            put_option(p, o, 0);
        }
    }
}

static int nothing_has(const OptionGroup *const *groups, const char *word)
{
    const char *name[256];
    const Option *o;
    size_t n = 0;
    for (; n < 256 && (o = option_at(groups, n)); n++) name[n] = o->name;
    const char *near = nearest_name(word, name, n);
    return error_set(ERR_INPUT, "--help: nothing has '%s'; %s%s%s", word,
                     near ? "the nearest option is '--" : "--help all shows all options",
                     near ? near : "", near ? "'" : "");
}

int help_print(const Command *c, const OptionGroup *const *groups, const char *word, FILE *f)
{
    Page p = page_begin(f);
    int all = strcmp(word, "all") == 0;
    if (strcmp(word, HELP_SCREEN) == 0) return put_screen(&p, c, groups), 0;
    if (all) put_head(&p, c);
    put_about(&p, c->about, all ? NULL : word);
    for (int i = 0; i < 2 && c->language[i]; i++) put_about(&p, c->language[i], all ? NULL : word);
    if (all) put_example(&p, c);
    put_groups(&p, groups, all ? NULL : word);
    return p.blocks ? 0 : nothing_has(groups, word);
}
