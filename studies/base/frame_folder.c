/* frame_folder.c: the trainings of a folder as frames of one row: what was chosen (config.ini), and what came of it
 * (result.csv). See frame.h. */
#include <string.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/memory.h"
#include "kernels/base/scoped.h"
#include "studies/base/frame.h"
#include "studies/base/option.h"
#include "studies/base/output.h"

enum { CONFIG_MOST = 1 << 20 };

/* A training's frame while it is made: a text of its file's name, then names and cells in turn, each ended by a NUL. */
typedef struct {
    Output text;
    size_t cells;
} Making;

static void put(Making *m, const char *name, const char *cell)
{
    fprintf(m->text.f, "%s%c%s%c", name, 0, cell, 0);
    m->cells++;
}

static int put_option(void *arg, const char *section, const char *name, const char *value)
{
    (void)section;
    put(arg, name, value);
    return 1;
}

/* Cuts the text that was made into the cells of *out, which owns it. */
static int cut(Frame *out, char *text, size_t cells, size_t given)
{
    *out = (Frame){.file = text, .text = text, .columns = cells, .rows = 1, .given = given};
    out->cell = memory_new(2 * cells, sizeof *out->cell);
    out->line = memory_new(2, sizeof *out->line);
    if (!out->cell || !out->line) return ERR_MEMORY;
    out->line[0] = 1;
    out->line[1] = 2;
    for (size_t i = 0; i < cells; i++) {
        text += strlen(text) + 1;
        out->cell[i] = text;
        text += strlen(text) + 1;
        out->cell[cells + i] = text;
    }
    return 0;
}

/* Returns 1 where a text of options has this one at the beginning of a line. */
static int has_option(const char *config, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = config; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, name, n) == 0 && at[n] == ' ') return 1;
    return 0;
}

/* Makes the frame of a training. folder: where it is beneath the one that is looked at. */
static int make(const Frame *result, const char *config, const char *folder, Frame *out)
{
    Making m = {.cells = 0};
    char *text = NULL;
    TRY(output_open(&m.text));
    fprintf(m.text.f, "%s%c", result->file, 0);
    int line = options_lines(config, put_option, &m);
    size_t given = m.cells;
    for (size_t j = 0; j < result->columns; j++)
        if (!has_option(config, result->cell[j]))
            put(&m, result->cell[j], frame_cell(result, 0, (int)j));
    put(&m, "folder", *folder ? folder : ".");
    text = fflush(m.text.f) == 0 ? memory_new(m.text.bytes, 1) : NULL;
    if (text) memcpy(text, m.text.text, m.text.bytes);
    output_drop(&m.text);
    if (!text) return ERR_MEMORY;
    int code = cut(out, text, m.cells, given);
    if (line < 0) code = ERR_MEMORY;
    if (line > 0)
        code = error_set(ERR_INPUT, "%s: config.ini beside it: line %d: expected 'name = value'",
                         result->file, line);
    if (code != 0) frame_close(out);
    return code;
}

typedef struct {
    int root;
    const char *dir;
    Frame *list;
    size_t count;
} Search;

/* Adds the training of a folder's result.csv, if its options are there too. */
static int add(Search *s, const WalkEntry *e)
{
    char folder[OUTPUT_PATH], path[OUTPUT_PATH] = "config.ini", name[OUTPUT_PATH];
    SCOPED(frame_close) Frame result = {0};
    SCOPED(memory_drop) char *config = NULL;
    size_t bytes;
    struct stat st;
    int n = (int)(strlen(e->path) - strlen(e->name));
    snprintf(folder, sizeof folder, "%.*s", n > 0 ? n - 1 : 0, e->path);
    if (*folder) TRY(output_path(path, folder, "config.ini"));
    TRY(output_path(name, s->dir, "%s", e->path));
    if (file_beneath_stat(s->root, path, &st) != 0 || !S_ISREG(st.st_mode)) return 0;
    TRY(frame_beneath(&result, s->root, e->path, name));
    if (result.rows != 1) return 0; /* the results of something else */
    TRY(file_beneath_whole(s->root, path, name, CONFIG_MOST, &config, &bytes));
    TRY(memory_more(&s->list, s->count, sizeof *s->list));
    TRY(make(&result, config, folder, &s->list[s->count]));
    s->count++;
    return 0;
}

static int visit(void *arg, const WalkEntry *e)
{
    if (e->level > 0 && *e->name == '.') return WALK_SKIP;
    if (e->error || !S_ISREG(e->st.st_mode) || strcmp(e->name, "result.csv") != 0) return 0;
    return add(arg, e);
}

int frame_trainings(int folder, const char *dir, Frame **list, size_t *count)
{
    Search s = {.root = folder, .dir = dir};
    int code = output_walk(folder, visit, &s);
    *list = s.list;
    *count = s.count;
    return code;
}

void frames_close(Frame *list, size_t count)
{
    for (size_t i = 0; i < count; i++) frame_close(&list[i]);
    memory_free(list);
}

/* Adds the columns of a frame, but for the last, that are not yet in a list: options or others. */
static int add_names(const Frame *c, int given, Column **list, size_t *n)
{
    for (size_t j = given ? 0 : c->given; j < (given ? c->given : c->columns - 1); j++) {
        size_t i = 0;
        while (i < *n && strcmp((*list)[i].name, c->cell[j]) != 0) i++;
        if (i < *n) continue;
        TRY(memory_more(list, *n, sizeof **list));
        (*list)[(*n)++] = (Column){.name = c->cell[j]};
    }
    return 0;
}

/* Lists all columns: the folder, options, results; and ends the list. */
static int all_names(const Frame *list, size_t count, Column **names)
{
    size_t n = 0;
    TRY(memory_more(names, n, sizeof **names));
    (*names)[n++] = (Column){.name = "folder"};
    for (int given = 1; given >= 0; given--)
        for (size_t i = 0; i < count; i++) TRY(add_names(&list[i], given, names, &n));
    TRY(memory_more(names, n, sizeof **names));
    (*names)[n] = (Column){0};
    return 0;
}

int frames_write(const Frame *list, size_t count, FILE *f)
{
    SCOPED(memory_drop) Column *names = NULL;
    SCOPED(frame_close) Frame all = {0};
    SCOPED(sheet_drop) Sheet *sheet = NULL;
    TRY(all_names(list, count, &names));
    TRY(frame_new(&all, names));
    for (size_t i = 0; i < count; i++) {
        TRY(frame_row(&all));
        frame_copy(&all, i, &list[i], 0);
    }
    TRY(frame_sheet(&all, names, NULL, count, &sheet));
    return sheet_write(sheet, SHEET_CSV, f);
}
