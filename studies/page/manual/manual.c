/* manual.c: writes the commands' table as man pages (the man macros of roff) and as a bash completion.
 *
 * Both loop over the tables that --help prints, so that an option or a command is written once. */
#include "studies/page/manual/manual.h"

#include <string.h>

#include "studies/base/help.h"
#include "studies/base/system_language.h"

/* ---- roff ---------------------------------------------------------------------------------------- */

/* Writes n characters so that roff takes none of them for an instruction; the text may begin a line. A long list may
 * be broken after its commas. */
static void put(FILE *f, const char *text, size_t n)
{
    static const char special[] = "\\-'`^~\",";
    static const char *const escape[] = {"\\e",   "\\-",   "\\(aq", "\\(ga",
                                         "\\(ha", "\\(ti", "\\(dq", ",\\:"};
    if (n > 0 && *text == '.') fputs("\\&", f);
    for (; n > 0; n--, text++) {
        const char *at = strchr(special, *text);
        if (at)
            fputs(escape[at - special], f);
        else
            fputc(*text, f);
    }
}

static void put_text(FILE *f, const char *text)
{
    put(f, text, strlen(text));
}

/* Writes paragraphs, which blank lines divide. One that has indented lines is an example and keeps its lines. */
static void put_paragraphs(FILE *f, const char *text)
{
    const char *end;
    for (const char *from = text; *from; from = end + strspn(end, "\n")) {
        int example = *from == ' ';
        end = strstr(from, "\n\n");
        if (!end) end = from + strlen(from);
        for (const char *c = from; c < end; c++) example |= c[0] == '\n' && c[1] == ' ';
        if (from > text) fputs(".PP\n", f);
        if (example) fputs(".EX\n", f);
        for (size_t n; from < end; from += n + (from[n] == '\n')) {
            n = strcspn(from, "\n");
            put(f, from, n);
            fputc('\n', f);
        }
        if (example) fputs(".EE\n", f);
    }
}

static void put_option(FILE *f, const Option *p)
{
    char words[OPTION_WORDS];
    option_words(p, 0, words);
    fputs(p->type == OPTION_FLAG ? ".TP\n.B \"\\-\\-" : ".TP\n.BI \"\\-\\-", f);
    put_text(f, p->name);
    if (p->type != OPTION_FLAG) {
        fputs(" \" \"", f);
        put_text(f, p->values);
    }
    fputs("\"\n", f);
    put_text(f, words);
    fputc('\n', f);
}

static void put_group(FILE *f, const OptionGroup *g)
{
    if (g->title) {
        fputs(".SS ", f);
        put_text(f, g->title);
        fputc('\n', f);
    }
    for (const Option *p = g->option; p->name; p++) put_option(f, p);
}

/* Writes the head of a page, whose name is `trotter` or `trotter-NAME`. usage: what follows `trotter NAME`; NULL: no
 * command. Names of schemes and files are not hyphenated,
 * and lines are not stretched. */
static void put_head(FILE *f, const char *name, const char *purpose, const char *usage)
{
    const char *dash = *name ? "\\-" : "";
    fputs(".\\\" Written by 'trotter manual' from the tables that --help prints.\n", f);
    fprintf(f, ".nr HY 0\n.TH trotter%s%s %d \"\" \"trotter ", dash, name, usage ? 1 : 5);
    put_text(f, TROTTER_VERSION);
    fprintf(f, "\" \"Trotter\"\n.ad l\n.ss 12 0\n.SH NAME\ntrotter%s%s \\- ", dash, name);
    put_text(f, purpose);
    if (usage) fprintf(f, "\n.SH SYNOPSIS\n.B trotter %s\n%s", name, usage);
    fputs("\n.SH DESCRIPTION\n", f);
}

/* Writes the exit status. c: the page's command; NULL: any. */
static void put_status(const Command *c, FILE *f)
{
    fputs(".SH EXIT STATUS\n", f);
    put_paragraphs(f, c && !c->saves ? TROTTER_STATUS ".\n"
                                     : TROTTER_STATUS TROTTER_STATUS_SAVED ".\n");
}

void manual_page(const Command *c, const Command *const *table, FILE *f)
{
    char other[64];
    put_head(f, c->name, c->purpose, "[\\fIOPTION\\fP]...");
    put_paragraphs(f, c->about);
    for (int i = 0; i < 2 && c->language[i]; i++) put_paragraphs(f, c->language[i]);
    fprintf(f, ".SS Example\n.EX\n  trotter %s ", c->name);
    put_text(f, c->example);
    fputs("\n.EE\n", f);
    fputs(".SH OPTIONS\n", f);
    for (size_t i = 0; c->groups[i]; i++) put_group(f, c->groups[i]);
    put_group(f, &options_common);
    put_status(c, f);
    fputs(".SH SEE ALSO\n.BR trotter (1)", f);
    for (; *table; table++) {
        snprintf(other, sizeof other, "trotter %s", (*table)->name);
        if (*table != c && strstr(c->about, other))
            fprintf(f, ",\n.BR trotter\\-%s (1)", (*table)->name);
    }
    fputc('\n', f);
}

void manual_overview(const Command *const *table, FILE *f)
{
    put_head(f, "", TROTTER_PURPOSE, "\\fICOMMAND\\fP [\\fIOPTION\\fP]...");
    put_paragraphs(f, TROTTER_USE);
    fputs(".SH COMMANDS\n", f);
    for (; *table; table++) {
        fprintf(f, ".TP\n.BR trotter\\-%s (1)\n", (*table)->name);
        put_text(f, (*table)->purpose);
        fputc('\n', f);
    }
    put_status(NULL, f);
}

void manual_systems(FILE *f)
{
    put_head(f, "systems", "texts of particle systems", NULL);
    put_paragraphs(f, LANGUAGE_OF_SYSTEMS);
    put_paragraphs(f, LANGUAGE_OF_EQUATIONS);
    fputs(".SH SEE ALSO\n.BR trotter\\-order (1),\n.BR trotter\\-solve (1),\n"
          ".BR trotter\\-schemes (5)\n",
          f);
}

/* ---- bash ---------------------------------------------------------------------------------------- */

/* Writes the patterns of options. The first pattern that "PLACE COMMAND WORD" fits counts, where WORD stands
 * before the one to complete: an option with choices, another that takes a value, then anything else, after
 * which options may stand. */
static void put_choices(FILE *f, const char *command, const OptionGroup *g)
{
    for (const Option *p = g->option; p->name; p++) {
        if (p->type != OPTION_CHOICE) continue;
        fprintf(f, "    *' %s --%s') words='", command, p->name);
        for (const char *c = p->values; *c; c++) fputc(*c == '|' ? ' ' : *c, f);
        fputs("' ;;\n", f);
    }
}

static void put_values(FILE *f, const char *command, const OptionGroup *g)
{
    for (const Option *p = g->option; p->name; p++) {
        if (p->type == OPTION_FLAG || p->type == OPTION_CHOICE) continue;
        fprintf(f, " | *' %s --%s'", command, p->name);
        for (int i = 0; i < OPTION_ALIASES && p->alias[i]; i++)
            fprintf(f, " | *' %s --%s'", command, p->alias[i]);
    }
}

static void put_names(FILE *f, const OptionGroup *g)
{
    for (const Option *p = g->option; p->name; p++) fprintf(f, " --%s", p->name);
}

static void put_command(FILE *f, const Command *c)
{
    for (size_t i = 0; c->groups[i]; i++) put_choices(f, c->name, c->groups[i]);
    fputs("    ''", f);
    for (size_t i = 0; c->groups[i]; i++) put_values(f, c->name, c->groups[i]);
    fprintf(f, ") ;;\n    *' %s '*) words='", c->name);
    for (size_t i = 0; c->groups[i]; i++) put_names(f, c->groups[i]);
    put_names(f, &options_common);
    fputs("' ;;\n", f);
}

/* Writes the completion. Where there are no words, bash completes files. */
void manual_completion(const Command *const *table, FILE *f)
{
    fputs("# Completion of trotter for bash, written by 'trotter manual' from the tables that "
          "--help prints.\n"
          "_trotter()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} lead= "
          "words=\n"
          "    [ \"$before\" != = ] || before=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    [ \"$word\" != = ] || word=\n"
          "    case \"$COMP_CWORD ${COMP_WORDS[1]} $before\" in\n"
          "    '1 '* | '2 help '*) words='help --help --version",
          f);
    for (const Command *const *c = table; *c; c++) fprintf(f, " %s", (*c)->name);
    fputs("' ;;\n"
          "    *' --scheme' | *' --system' | *' --claim')\n"
          "        case $before in\n"
          "        --scheme) words='schemes --print' lead='s/^scheme *//p' ;;\n"
          "        --system) words='order --systems --csv' lead='/^network/d; 2,$s/,.*//p' ;;\n"
          "        --claim) words='verify --list --csv' lead='2,$s/,.*//p' ;;\n"
          "        esac\n"
          "        words=$(\"${COMP_WORDS[0]}\" $words 2>/dev/null | sed -n \"$lead\") lead=\n"
          "        [ \"${word%,*}\" = \"$word\" ] || lead=${word%,*},\n"
          "        ;;\n",
          f);
    for (; *table; table++) put_command(f, *table);
    fputs("    esac\n"
          "    mapfile -t COMPREPLY < <(compgen -P \"$lead\" -W \"$words\" -- "
          "\"${word#\"$lead\"}\")\n"
          "}\n"
          "complete -o default -F _trotter trotter\n",
          f);
}
