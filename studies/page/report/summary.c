/* summary.c: writes the page: the list of studies, then a section for each: verdict, tables, notes, plots, the
 * meaning of the tables' columns, the data's files, and how to reproduce it. */
#include "studies/page/report/report.h"

#include <ctype.h>
#include <string.h>

#include "studies/base/command.h"
#include "studies/base/notation.h"

/* ---- a study's verdict --------------------------------------------------------------------------- */

/* Opens a table of a study. Where it cannot be read, error_text has the reason. */
static int open_table(const Summary *s, const char *path, char full[OUTPUT_PATH], Frame *c)
{
    TRY(output_path(full, s->found->root, "%s", path));
    return frame_beneath(c, s->found->folder, path, full);
}

static int is_runs(const FoundStudy *study, const FoundFile *f)
{
    return study->kind->runs && !f->plot && strcmp(study->kind->table[f->which].file, "runs") == 0;
}

/* Tells how many of a study's runs are done where some are not. */
static int count_runs(const Summary *s, const FoundStudy *study, Brief *b)
{
    char full[OUTPUT_PATH];
    Frame c;
    int code = 0;
    for (const FoundFile *f = study->file; f < study->file + study->files; f++) {
        if (!is_runs(study, f) || (code = open_table(s, f->path, full, &c)) == ERR_INPUT) continue;
        TRY(code);
        kind_count(study->kind, &c, &b->runs, &b->done);
        frame_close(&c);
    }
    if (b->done < b->runs) verdict_say(&b->verdict, "%zu of %zu runs; ", b->done, b->runs);
    return 0;
}

static int judge(const Summary *s, const FoundStudy *study, Verdict *v)
{
    char full[OUTPUT_PATH];
    SCOPED(frame_close) Frame c = {0};
    const FoundFile *first = study->files ? &study->file[0] : NULL;
    int judged = study->kind->judge && first && !first->plot && first->which == 0;
    int code = judged ? open_table(s, first->path, full, &c) : ERR_INPUT;
    if (code != 0 && code != ERR_INPUT) return code;
    if (code == 0) study->kind->judge(&c, v);
    verdict_end(v);
    summary_ended(s, study, v);
    return 0;
}

/* Where the system fails a verdict would be missing, and nothing would say so; broken files are left out later, with
 * words. */
static int brief_study(const Summary *s, const FoundStudy *study, Brief *b)
{
    *b = (Brief){0};
    snprintf(b->place, sizeof b->place, "%s%s%s%s", *study->dir ? study->dir : ".",
             *study->prefix ? ", files " : "", study->prefix, *study->prefix ? "…" : "");
    TRY(count_runs(s, study, b));
    return judge(s, study, &b->verdict);
}

/* ---- contents ------------------------------------------------------------------------------------ */

static void put_says(Summary *s, const char *tag, const char *class, const Verdict *v)
{
    if (!*v->words) return;
    char first[] = {(char)toupper((unsigned char)*v->words), '\0'};
    page_print(s->f, "<%r class=\"%r %r\">%s%s</%r>\n", tag, class,
               v->bad      ? "bad"
               : v->warned ? "warned"
                           : "good",
               first, v->words + 1, tag);
}

static void put_contents(Summary *s, const Brief *b, size_t n)
{
    fputs("<nav aria-label=\"Contents\">\n<ol>\n", s->f);
    for (size_t i = 0; i < n; i++) {
        page_print(s->f, "<li><span class=\"num\">%u</span><a href=\"#s%u\">%s</a><code>%s</code>",
                   i + 1, i + 1, s->found->study[i].kind->title, b[i].place);
        put_says(s, "span", "says", &b[i].verdict);
        fputs("</li>\n", s->f);
    }
    fputs("</ol>\n</nav>\n", s->f);
}

/* ---- tables -------------------------------------------------------------------------------------- */

typedef struct {
    char name[64], head[64];
} UsedColumn;

/* Tables that a section has shown, with their columns. */
typedef struct {
    const Kind *kind;
    size_t tables, count;
    UsedColumn *column; /* (count) */
    int code;           /* ERR_MEMORY: a column is missing */
} Used;

static void use(void *arg, const char *column, const char *head)
{
    Used *u = arg;
    for (size_t i = 0; i < u->count; i++)
        if (strcmp(u->column[i].name, column) == 0) return;
    if (memory_more(&u->column, u->count, sizeof *u->column) != 0) u->code = ERR_MEMORY;
    if (u->code != 0) return;
    snprintf(u->column[u->count].name, sizeof u->column->name, "%s", column);
    snprintf(u->column[u->count++].head, sizeof u->column->head, "%s", head);
}

static void put_terms(Summary *s, const Used *u)
{
    size_t known = 0;
    for (size_t i = 0; i < u->count; i++) {
        const char *words = kind_column(u->kind, u->column[i].name);
        if (!words) continue;
        fputs(known++ ? "" : "<details open><summary>Columns</summary>\n<dl class=\"terms\">\n",
              s->f);
        page_print(s->f, "<dt>%s</dt><dd>%w</dd>\n", u->column[i].head, words);
    }
    if (known) fputs("</dl>\n</details>\n", s->f);
}

static void put_table(Summary *s, const KindTable *k, size_t most, const FoundFile *file, Used *u)
{
    char full[OUTPUT_PATH], label[64], *caption = NULL;
    SCOPED(frame_close) Frame c = {0};
    Output o;
    if (open_table(s, file->path, full, &c) != 0) {
        summary_refuse(s);
        return;
    }
    if (output_open(&o) == 0) {
        page_print(o.f, "%w <code>%s</code>", k->caption, file->path);
        fflush(o.f);
        caption = o.text;
    }
    snprintf(label, sizeof label, "Table %zu", ++s->tables);
    PageTable t = {caption ? caption : k->caption,   label, k->columns, most, file->path,
                   u->tables++ && c.rows > KIND_SOME};
    page_table(s->f, &c, &t, use, u);
    output_drop(&o);
}

/* Describes the data behind plots: the file and its columns. */
static void put_data(Summary *s, const KindTable *k, const FoundFile *file)
{
    char full[OUTPUT_PATH];
    SCOPED(frame_close) Frame c = {0};
    if (open_table(s, file->path, full, &c) != 0) {
        summary_refuse(s);
        return;
    }
    page_print(s->f, "<p class=\"more\">%w: <code>%s</code>, %u rows of ", k->caption, file->path,
               c.rows);
    for (size_t j = 0; j < c.columns; j++) page_print(s->f, j ? ", %s" : "%s", c.cell[j]);
    fputs(".</p>\n", s->f);
}

/* ---- plots --------------------------------------------------------------------------------------- */

static void put_plot(Summary *s, const FoundStudy *study, const FoundFile *file)
{
    char alt[512], *text;
    const char *caption = study->kind->plot[file->which].caption;
    size_t bytes;
    if (summary_drawing(s, file->path, &text, &bytes) != 0) {
        summary_refuse(s);
        return;
    }
    size_t n = 0;
    for (const char *c = caption; *c && n + 1 < sizeof alt; c++)
        if (*c != '$') alt[n++] = *c;
    snprintf(alt + n, sizeof alt - n, " %s", file->path);
    fputs("<figure>\n<div class=\"plot\">\n", s->f);
    s->figures++;
    page_drawing(s->f, text, bytes, alt);
    page_print(s->f,
               "</div>\n<figcaption><b>Figure %u</b> %w <code>%s</code></figcaption>\n</figure>\n",
               s->figures, caption, file->path);
    memory_free(text);
}

/* ---- sections ------------------------------------------------------------------------------------ */

/* Shows a study's tables, or with `data` the data of its plots. The runs of an unfinished study are a table. */
static void put_tables(Summary *s, const FoundStudy *study, const Brief *b, int data, Used *used)
{
    for (const FoundFile *f = study->file; f < study->file + study->files; f++) {
        const KindTable *k = &study->kind->table[f->which];
        size_t most =
            k->most || f->plot || !is_runs(study, f) || b->done == b->runs ? k->most : KIND_MANY;
        if (f->plot || data != !most) continue;
        if (data)
            put_data(s, k, f);
        else
            put_table(s, k, most, f, used);
    }
}

/* Writes DIR/NAME for the study's directory. */
static const char *beside(const FoundStudy *study, const char *name, char path[OUTPUT_PATH])
{
    snprintf(path, OUTPUT_PATH, "%s%s%s", study->dir, *study->dir ? "/" : "", name);
    return path;
}

static int put_study(Summary *s, size_t i, const Brief *b)
{
    const FoundStudy *study = &s->found->study[i];
    char path[OUTPUT_PATH];
    page_print(s->f,
               "<section id=\"s%u\">\n<h2><span class=\"num\">%u</span>%s</h2>\n"
               "<p class=\"where\"><code>%s</code></p>\n",
               i + 1, i + 1, study->kind->title, b->place);
    put_says(s, "p", "verdict", &b->verdict);
    int first = i == 0 || strcmp(study[-1].dir, study->dir) != 0;
    page_print(s->f, "<p>%w</p>\n", study->kind->about);
    Used used = {.kind = study->kind};
    put_tables(s, study, b, 0, &used);
    if (study->kind->words) summary_words(s, beside(study, study->kind->words, path));
    if (first) summary_text(s, beside(study, "README.md", path), "Notes");
    for (size_t k = 0; k < study->files; k++)
        if (study->file[k].plot) put_plot(s, study, &study->file[k]);
    put_terms(s, &used);
    put_tables(s, study, b, 1, &used);
    memory_free(used.column);
    summary_commands(s, study);
    if (first) summary_text(s, beside(study, "config.ini", path), "Options");
    if (first) summary_text(s, beside(study, "study.log", path), "Order of events");
    fputs("</section>\n", s->f);
    return used.code;
}

static void put_left(Summary *s)
{
    const Found *found = s->found;
    if (found->outside == 0) return;
    fputs("<section id=\"left\">\n<h2>Files left out</h2>\n<ul class=\"data\">\n", s->f);
    for (size_t i = 0; i < found->outside; i++) {
        notice_warn("left out: %s", found->left[i]);
        page_print(s->f, "<li>%s</li>\n", found->left[i]);
    }
    fputs("</ul>\n</section>\n", s->f);
}

/* Returns whether some study's tables hold formulas. */
static int formulas(const Found *found)
{
    int some = 0;
    for (const FoundStudy *study = found->study; study < found->study + found->studies; study++)
        for (const KindTable *k = study->kind->table; k->file; k++)
            for (const Column *c = k->columns; c->name || c->head; c++)
                some |= c->form == SHEET_FORMULA || c->form == SHEET_WORDS;
    return some;
}

/* Tells what the formulas mean. */
static void put_notation(Summary *s)
{
    fputs("<section id=\"notation\">\n<h2>Notation</h2>\n<dl class=\"terms notation\">\n", s->f);
    for (const Notation *n = notation; n->formula; n++) {
        fputs("<dt>", s->f);
        formula_put(s->f, n->formula);
        page_print(s->f, "</dt><dd>%w</dd>\n", n->words);
    }
    fputs("</dl>\n</section>\n", s->f);
}

static void put_head(Summary *s, const char *title)
{
    page_begin(s->f, title);
    page_print(s->f,
               "<header>\n<h1>%s</h1>\n"
               "<p class=\"soft\">%u %r; paths are within the directory that was searched.</p>\n"
               "</header>\n",
               title, s->found->studies, s->found->studies == 1 ? "study" : "studies");
}

static void put_foot(Summary *s)
{
    fprintf(s->f,
            "<footer><p>Written by trotter %s. Numbers have the digits of the commands&#39; own "
            "tables; the CSV files that are named have all. <span class=\"none\">–</span> is "
            "undefined, inf beyond bounds.</p></footer>\n",
            TROTTER_VERSION);
    page_end(s->f);
}

int summary_write(Summary *s, const char *title)
{
    size_t n = s->found->studies;
    SCOPED(memory_drop) Brief *b = memory_new(n, sizeof *b);
    if (!b) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++) TRY(brief_study(s, &s->found->study[i], &b[i]));
    put_head(s, title);
    put_contents(s, b, n);
    fputs("<main>\n", s->f);
    /* A study in the directory itself shows its words in its own section. */
    int own = 0;
    for (size_t i = 0; i < n; i++) own |= !*s->found->study[i].dir;
    if (!own) summary_text(s, "README.md", "Notes");
    for (size_t i = 0; i < n; i++) TRY(put_study(s, i, &b[i]));
    if (formulas(s->found)) put_notation(s);
    put_left(s);
    fputs("</main>\n", s->f);
    put_foot(s);
    return 0;
}
