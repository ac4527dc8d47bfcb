/* runtable.c: reads a table of runs, and computes the means and the model of its designs and seeds. */
#include "studies/lab/table/runtable.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "kernels/base/hash.h"

enum { NONE = 1 << 8 }; /* kind of a cell that is not there */

/* Texts of cells, each once, and their numbers by a hash: a table may have a million rows, each of a design and a seed of its own. */
typedef struct {
    const char **text;
    size_t count;
    Numbers number;
} Texts;

typedef struct {
    RunTable *t;
    Texts seed, panel;
    size_t *last;  /* (designs) rows of the designs */
    Numbers plain; /* the first design of a name without its blanks */
    /* where there are no seeds: (designs) rows of the designs so far, and the most of them */
    size_t *numbered, most;
} Reading;

/* Returns the key of a design's name in a panel: of its hash, with which others may begin. */
static uint64_t key_of(const char *name, size_t panel)
{
    return hash_bytes(hash_bytes(HASH_START, &panel, sizeof panel), name, strlen(name)) >> 1;
}

/* Finds a design by its name, or with *key the place where it belongs. */
static size_t find_design(const RunTable *t, size_t panel, const char *name, uint64_t *key)
{
    for (*key = key_of(name, panel);; ++*key) {
        uint32_t i = numbers_find(&t->named, *key, UINT32_MAX);
        if (i == UINT32_MAX) return t->designs;
        if (t->design[i].panel == panel && strcmp(t->design[i].name, name) == 0) return i;
    }
}

size_t runtable_find(const RunTable *t, size_t panel, const char *name)
{
    uint64_t key;
    return find_design(t, panel, name, &key);
}

int runtable_compared(const RunDesign *d)
{
    return d->mean[0].n > 0 && d->diverged.count == 0;
}

const RunModel *runtable_model(const RunTable *t, size_t panel, size_t measure)
{
    return &t->model[panel * t->measures + measure];
}

const char *runtable_estimator(const RunModel *l)
{
    return l->model.paired ? "paired by seed" : "unpaired";
}

void runtable_name(const RunTable *t, size_t design, char *out, size_t bytes)
{
    const RunDesign *d = &t->design[design];
    if (t->panels > 1)
        snprintf(out, bytes, "%s, %s %s", d->name, t->by, t->panel[d->panel]);
    else
        snprintf(out, bytes, "%s", d->name);
}

static double *numbers(const RunTable *t, size_t measure, size_t design)
{
    return t->y + (measure * t->designs + design) * t->seeds;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static size_t line_of(const RunTable *t, const RunCell *r)
{
    return t->file[r->file].line[r->row + 1];
}

/* Makes the name of a row's design; the caller frees it. */
static char *design_name(const RunTable *t, const RunCell *r)
{
    size_t bytes = 1;
    for (size_t k = 0; k < t->keys; k++) bytes += strlen(runtable_text(t, r, t->key[k])) + 1;
    char *name = memory_new(bytes, 1), *at = name;
    for (size_t k = 0; name && k < t->keys; k++) {
        if (k > 0) *at++ = '@';
        at = stpcpy(at, runtable_text(t, r, t->key[k]));
    }
    return name;
}

static int too_many(const char *what, const char *option)
{
    return error_set(ERR_INPUT, "expected at most %d %s; is --%s the right column?", RUNTABLE_MOST,
                     what, option);
}

/* Returns 1 where two cells are the same text, or the same number: 2 and 2.0. */
static int is_one(const char *a, const char *b)
{
    double x, y;
    if (strcmp(a, b) == 0) return 1;
    return runtable_cell(a, &x) == CELL_NUMBER && runtable_cell(b, &y) == CELL_NUMBER && x == y;
}

/* Finds a text in a list, or adds it. */
static int find_text(Texts *list, const char *text, const char *what, const char *option,
                     size_t *out)
{
    double x;
    uint64_t key = hash_bytes(HASH_START, text, strlen(text)) >> 1;
    if (runtable_cell(text, &x) == CELL_NUMBER) {
        x += 0.0; /* of -0 too */
        key = hash_bytes(HASH_START, &x, sizeof x) >> 1;
    }
    for (uint32_t i; (i = numbers_find(&list->number, key, UINT32_MAX)) != UINT32_MAX; key++)
        if (is_one(list->text[i], text)) {
            *out = i;
            return 0;
        }
    if (list->count == RUNTABLE_MOST) return too_many(what, option);
    if (!numbers_place(&list->number, key, (uint32_t)list->count)) return ERR_MEMORY;
    *out = list->count;
    return memory_add(list->text, list->count, text);
}

/* Takes the blanks out of a name. */
static void without_blanks(char *name)
{
    char *to = name;
    for (; *name; name++)
        if (*name != ' ' && *name != '\t') *to++ = *name;
    *to = '\0';
}

/* Finds the look of the next design, of row c; ERR_INPUT where its name differs from an earlier one by blanks alone. */
static int find_look(Reading *r, const RunCell *c, const char *name, size_t *look)
{
    RunTable *t = r->t;
    SCOPED(memory_drop) char *plain = memory_string(name);
    if (!plain) return ERR_MEMORY;
    without_blanks(plain);
    const uint32_t fresh = (uint32_t)t->designs,
                   *like = numbers_place(&r->plain, key_of(plain, 0), fresh);
    if (!like) return ERR_MEMORY;
    *look = *like == fresh ? t->looks++ : t->design[*like].look;
    if (*like == fresh || strcmp(t->design[*like].name, name) == 0) return 0;
    const RunCell *first = &t->row[t->design[*like].first];
    return error_set(
        ERR_INPUT,
        "%s:%zu: the design '%s' and '%s' of %s:%zu differ by blanks alone: write them "
        "alike, or otherwise",
        t->file[c->file].file, line_of(t, c), name, t->design[*like].name,
        t->file[first->file].file, line_of(t, first));
}

/* Adds the design of row `at`, which owns its name then. */
static int add_design(Reading *r, size_t at, size_t panel, uint64_t key, char **name)
{
    RunTable *t = r->t;
    size_t look;
    if (t->designs == RUNTABLE_MOST) return too_many("designs", "design");
    TRY(find_look(r, &t->row[at], *name, &look));
    TRY(memory_more(&r->last, t->designs, sizeof *r->last));
    TRY(memory_more(&r->numbered, t->designs, sizeof *r->numbered));
    TRY(memory_more(&t->design, t->designs, sizeof *t->design));
    if (!numbers_place(&t->named, key, (uint32_t)t->designs)) return ERR_MEMORY;
    t->design[t->designs++] = (RunDesign){.name = *name, .panel = panel, .first = at, .look = look};
    *name = NULL;
    return 0;
}

/* Finds the design of row `at`, or adds it. */
static int take_design(Reading *r, size_t at)
{
    RunTable *t = r->t;
    RunCell *c = &t->row[at];
    size_t panel = 0;
    uint64_t key;
    if (t->by) TRY(find_text(&r->panel, runtable_text(t, c, t->by), "panels", "by", &panel));
    SCOPED(memory_drop) char *name = design_name(t, c);
    if (!name) return ERR_MEMORY;
    c->design = find_design(t, panel, name, &key);
    if (c->design < t->designs)
        t->row[r->last[c->design]].next = at;
    else
        TRY(add_design(r, at, panel, key, &name));
    r->last[c->design] = at;
    return 0;
}

/* Reads a row's cells of the measures: x out. Returns what the first holds, CELL_DIVERGED where any diverged. */
static int read_numbers(const RunTable *t, const RunCell *r, double *x, int *kind)
{
    const Frame *c = &t->file[r->file];
    int diverged = strcmp(runtable_text(t, r, "diverged"), "yes") == 0;
    for (size_t m = 0; m < t->measures; m++) {
        int column = frame_column(c, t->measure[m].column), is = NONE;
        const char *text = column < 0 ? "" : frame_cell(c, r->row, column);
        x[m] = NAN;
        if (column >= 0) is = runtable_cell(text, &x[m]);
        const char *how = is == CELL_TEXT ? runtable_seems(text) : NULL;
        if (is == CELL_TEXT)
            return error_set(ERR_INPUT,
                             "%s:%zu: expected a number in column '%s'; there is '%.40s'%s%s",
                             c->file, line_of(t, r), t->measure[m].column, text, how ? ": " : "",
                             how ? how : "");
        diverged |= is == CELL_DIVERGED;
        if (m == 0) *kind = is;
    }
    if (diverged && *kind == CELL_NUMBER) *kind = CELL_DIVERGED;
    return 0;
}

/* Adds a bound; one that another file has too is one. */
static int add_bound(RunTable *t, const RunCell *r)
{
    for (size_t i = 0; i < t->bounds; i++)
        if (strcmp(t->bound[i].name, runtable_text(t, r, t->key[0])) == 0) return 0;
    if (t->bounds == RUNTABLE_BOUNDS)
        return error_set(ERR_INPUT, "%s:%zu: expected at most %d bounds", t->file[r->file].file,
                         line_of(t, r), RUNTABLE_BOUNDS);
    t->bound[t->bounds++] = (RunBound){runtable_text(t, r, t->key[0]), r->file, r->row};
    return 0;
}

static void count(RunRows *rows, const RunTable *t, const RunCell *r)
{
    if (rows->count++ == 0) *rows = (RunRows){1, t->file[r->file].file, line_of(t, r)};
}

/* Returns ERR_INPUT where a row's objective is not that of the first one, unless they are looked at apart. */
static int check_objective(const RunTable *t, const RunCell *c)
{
    static const char column[] = "objective";
    const RunCell *first = &t->row[0];
    const char *is = runtable_text(t, c, column), *was = runtable_text(t, first, column);
    if (strcmp(is, was) == 0 || (t->by && strcmp(t->by, column) == 0)) return 0;
    return error_set(ERR_INPUT,
                     "%s:%zu has the objective '%s', and %s:%zu '%s': perplexities of masked words "
                     "compare with no others; --by objective looks at each apart",
                     t->file[c->file].file, line_of(t, c), *is ? is : "next",
                     t->file[first->file].file, line_of(t, first), *was ? was : "next");
}

/* Numbers a run of a table without seeds among those of its design, from 0. */
static int number_run(Reading *r, size_t at)
{
    RunTable *t = r->t;
    size_t *n = &r->numbered[t->row[at].design];
    t->row[at].seed = (*n)++;
    if (*n > r->most) r->most = *n;
    return 0;
}

/* Reads a row; x, kind: of its measures. */
static int read_row(Reading *r, size_t f, size_t row, double *x, int *kind)
{
    RunTable *t = r->t;
    RunCell *c = &t->row[t->rows];
    *c = (RunCell){.file = f, .row = row, .next = SIZE_MAX};
    const char *part = runtable_text(t, c, "part");
    if (strcmp(part, "tuning") == 0 || strcmp(part, "trial") == 0) return 0;
    TRY(read_numbers(t, c, x, kind));
    if (strcmp(part, "bound") == 0) return add_bound(t, c);
    if (*kind == NONE) return 0;
    c->counts = strcmp(part, "choice") != 0;
    TRY(check_objective(t, c));
    TRY(take_design(r, t->rows));
    if (!t->seed) return number_run(r, t->rows++);
    return find_text(&r->seed, runtable_text(t, c, t->seed), "seeds", "seed",
                     &t->row[t->rows++].seed);
}

/* ---- runs ---------------------------------------------------------------------------------------- */

static int both(const Reading *r, const RunCell *a, const RunCell *b)
{
    const RunTable *t = r->t;
    return error_set(ERR_INPUT, "%s:%zu and %s:%zu are both %s with seed %s", t->file[a->file].file,
                     line_of(t, a), t->file[b->file].file, line_of(t, b), t->design[a->design].name,
                     r->seed.text[a->seed]);
}

/* Fills y from the rows, x (rows, RUN_MEASURES) and kind (rows) being their numbers. at (designs, seeds): room. */
static int place_runs(Reading *r, const double *x, const int *kind, const RunCell **at)
{
    RunTable *t = r->t;
    for (size_t i = 0; i < t->measures * t->designs * t->seeds; i++) t->y[i] = NAN;
    for (size_t k = 0; k < t->rows; k++) {
        const RunCell *c = &t->row[k];
        RunDesign *d = &t->design[c->design];
        size_t i = c->design * t->seeds + c->seed;
        if (kind[k] == CELL_MISSING) count(&d->missing, t, c);
        if (kind[k] == CELL_MISSING) continue;
        if (at[i]) return both(r, at[i], c);
        at[i] = c;
        if (kind[k] == CELL_DIVERGED) count(&d->diverged, t, c);
        t->runs += (size_t)(isfinite(x[k * RUN_MEASURES]) != 0);
        for (size_t m = 0; m < t->measures; m++)
            if (isfinite(x[k * RUN_MEASURES + m]))
                numbers(t, m, c->design)[c->seed] = x[k * RUN_MEASURES + m];
    }
    return 0;
}

/* Copies the runs of a design that are compared; y (seeds) out. */
static void counted(const RunTable *t, size_t i, size_t m, double *y)
{
    memcpy(y, numbers(t, m, i), t->seeds * sizeof *y);
    for (size_t k = t->design[i].first; k != SIZE_MAX; k = t->row[k].next)
        if (!t->row[k].counts) y[t->row[k].seed] = NAN;
}

static Interval mean(const RunTable *t, size_t m, const double *y)
{
    return t->measure[m].positive ? statistics_positive(y, t->seeds)
                                  : statistics_mean(y, 1, t->seeds);
}

/* Computes the means of a design; y (seeds): room. */
static void summarise(RunTable *t, size_t i, double *y)
{
    static const Difference none = {NAN, NAN, NAN, NAN, NAN};
    RunDesign *d = &t->design[i];
    for (size_t m = 0; m < t->measures; m++) {
        const double *all = numbers(t, m, i);
        d->least[m] = d->greatest[m] = NAN;
        for (size_t j = 0; j < t->seeds; j++) {
            d->least[m] = fmin(d->least[m], all[j]);
            d->greatest[m] = fmax(d->greatest[m], all[j]);
        }
        d->mean[m] = mean(t, m, all);
        counted(t, i, m, y);
        d->counted[m] = mean(t, m, y);
        d->alone[m] = d->together[m] = none;
        d->equal[m] = NAN;
    }
    const char *same = runtable_text(t, &t->row[d->first], "same_as");
    d->same = *same ? runtable_find(t, d->panel, same) : i;
    if (d->same > i) d->same = i; /* not there, or not earlier */
}

/* Computes the model of a panel's designs that are compared; y (designs, seeds): room. */
static void find_model(RunTable *t, size_t panel, size_t m, double *y)
{
    RunModel *l = &t->model[panel * t->measures + m];
    for (size_t i = 0; i < t->designs; i++) {
        const RunDesign *d = &t->design[i];
        if (d->panel != panel || d->same != i || !runtable_compared(d)) continue;
        counted(t, i, m, y + l->designs++ * t->seeds);
        l->single += d->counted[m].n == 1;
    }
    int pairing = !t->seed                                    ? SEEDS_NONE
                  : m == 0                                    ? SEEDS_BY_RULE
                  : runtable_model(t, panel, 0)->model.paired ? SEEDS_PAIRED
                                                              : SEEDS_APART;
    l->model = statistics_seeds(y, l->designs, t->seeds, pairing);
}

/* ---- all ----------------------------------------------------------------------------------------- */

/* Makes room for a number a design and seed. */
static int make_room(RunTable *t)
{
    if (t->designs * t->seeds > RUNTABLE_ROOM)
        return error_set(ERR_INPUT,
                         "%zu designs of together %zu seeds: expected at most %d of both; are "
                         "--design and --seed the right columns?",
                         t->designs, t->seeds, RUNTABLE_ROOM);
    t->model = memory_new(t->panels * t->measures, sizeof *t->model);
    t->y = memory_new(t->measures * t->designs * t->seeds, sizeof *t->y);
    t->work = memory_new(2 * t->seeds, sizeof *t->work);
    return t->model && t->y && t->work ? 0 : ERR_MEMORY;
}

static int read_rows(Reading *r, double *x, int *kind)
{
    RunTable *t = r->t;
    for (size_t f = 0; f < t->files; f++)
        for (size_t row = 0; row < t->file[f].rows; row++)
            TRY(read_row(r, f, row, x + t->rows * RUN_MEASURES, kind + t->rows));
    if (!t->by) TRY(memory_add(r->panel.text, r->panel.count, ""));
    t->seeds = t->seed ? r->seed.count : r->most;
    t->panels = r->panel.count;
    t->panel = r->panel.text;
    r->panel.text = NULL;
    TRY(make_room(t));
    SCOPED(memory_drop) const RunCell **at = memory_new(t->designs * t->seeds, sizeof *at);
    return at ? place_runs(r, x, kind, at) : ERR_MEMORY;
}

static int summarise_all(RunTable *t)
{
    SCOPED(memory_drop) double *y = memory_new(t->designs * t->seeds, sizeof *y);
    if (!y) return ERR_MEMORY;
    for (size_t i = 0; i < t->designs; i++) summarise(t, i, y);
    for (size_t p = 0; p < t->panels; p++)
        for (size_t m = 0; m < t->measures; m++) find_model(t, p, m, y);
    return 0;
}

static int read_runs(Reading *r)
{
    RunTable *t = r->t;
    size_t rows = 0;
    for (size_t f = 0; f < t->files; f++) rows += t->file[f].rows;
    t->row = memory_new(rows + 1, sizeof *t->row);
    SCOPED(memory_drop) double *x = memory_new(rows + 1, RUN_MEASURES * sizeof *x);
    SCOPED(memory_drop) int *kind = memory_new(rows + 1, sizeof *kind);
    if (!t->row || !x || !kind) return ERR_MEMORY;
    TRY(read_rows(r, x, kind));
    return summarise_all(t);
}

static int read_frames(RunTable *t, const RunColumns *asked)
{
    Reading r = {.t = t};
    TRY(runtable_columns(t, asked));
    int code = read_runs(&r);
    numbers_free(&r.seed.number);
    numbers_free(&r.panel.number);
    numbers_free(&r.plain);
    memory_free_all(r.seed.text, r.panel.text, r.last, r.numbered);
    return code;
}

/* Adds the trainings of a folder, which is closed. */
static int add_trainings(RunTable *t, int folder, const char *dir)
{
    Frame *list = NULL;
    size_t n = 0, i = 0;
    int code = frame_trainings(folder, dir, &list, &n);
    if (code == 0 && n == 0)
        code = error_set(ERR_INPUT,
                         "%s: no training has ended there: none of its folders has "
                         "config.ini and result.csv",
                         dir);
    close(folder);
    for (; code == 0 && i < n; i++) {
        code = memory_more(&t->own, t->files, sizeof *t->own);
        if (code == 0) t->own[t->files++] = list[i];
    }
    if (code != 0) frames_close(list + i, n - i);
    if (code == 0) memory_free(list);
    return code;
}

static int add_file(RunTable *t, const char *name)
{
    int folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) return add_trainings(t, folder, name);
    TRY(memory_more(&t->own, t->files, sizeof *t->own));
    return frame_read(&t->own[t->files++], name);
}

static int read_files(RunTable *t, const char *const *name, size_t files, const RunColumns *asked)
{
    for (size_t i = 0; i < files; i++) TRY(add_file(t, name[i]));
    t->file = t->own;
    return read_frames(t, asked);
}

int runtable_open(const char *const *name, size_t files, const RunColumns *asked, RunTable *out)
{
    *out = (RunTable){.positive = asked->positive};
    int code = read_files(out, name, files, asked);
    if (code != 0) runtable_close(out);
    return code;
}

int runtable_read(const Frame *file, size_t files, const RunColumns *asked, RunTable *out)
{
    *out = (RunTable){.positive = asked->positive, .file = file, .files = files};
    int code = read_frames(out, asked);
    if (code != 0) runtable_close(out);
    return code;
}

void runtable_close(RunTable *t)
{
    for (size_t i = 0; i < t->designs; i++) memory_free(t->design[i].name);
    for (size_t f = 0; t->own && f < t->files; f++) frame_close(&t->own[f]);
    numbers_free(&t->named);
    memory_free_all(t->design, t->own, t->row, t->panel, t->model, t->y, t->work);
    *t = (RunTable){0};
}
