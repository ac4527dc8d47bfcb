/* crossings.c: reads --event 'G [up|down] [terminal]', watches runs for it, and tables what they find. */
#include "studies/solve/crossings.h"

#include <stdio.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "studies/base/command.h"

enum { SHOWN = 6 }; /* coordinates in the table for people, at most */

/* A row of events.csv; y (N) stands behind it. */
typedef struct {
    const char *scheme, *event, *passes;
    double t, y[];
} CrossingRow;

/* A quantity along a run. */
typedef struct {
    Quantity *quantity;
    const Times *times;
} Along;

struct Crossings {
    const Times *times;
    size_t N, count;
    const char **text; /* (count) borrowed */
    Along *along;      /* (count) */
    Event *event;
    Events run;
    Column *columns;
    CrossingRow *row;
    Sheet *all;
};

DROP(Crossings, crossings)

void crossings_free(Crossings *c)
{
    if (!c) return;
    for (size_t i = 0; c->along && i < c->count; i++) quantity_free(c->along[i].quantity);
    events_free(&c->run);
    sheet_free(c->all);
    memory_free_all(c->text, c->along, c->event, c->columns, c->row, c);
}

/* ---- options ---------------------------------------------------------------------------------------- */

static double value(const void *along, double after, const double *y)
{
    const Along *a = along;
    return quantity_value(a->quantity, times_of(a->times, after), y);
}

/* Takes a word and the blanks behind it. */
static int take(const char **at, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*at, word, n) != 0 || !strchr(" \t", (*at)[n])) return 0;
    *at += n;
    *at += strspn(*at, " \t");
    return 1;
}

static int read_event(const System *s, const char *text, Along *along, Event *e)
{
    const char *at;
    TRY(quantity_read(text, "--event", s, &at, &along->quantity));
    *e = (Event){.value = value, .arg = along};
    at += strspn(at, " \t");
    while (*at) {
        if (!e->direction && take(&at, "up"))
            e->direction = 1;
        else if (!e->direction && take(&at, "down"))
            e->direction = -1;
        else if (!e->terminal && take(&at, "terminal"))
            e->terminal = 1;
        else
            return error_set(
                ERR_INPUT, "--event:1:%zu: expected an operator, up or down, terminal, or the end",
                (size_t)(at - text) + 1);
    }
    return 0;
}

/* ---- the table -------------------------------------------------------------------------------------- */

static int make_table(Crossings *c, char (*names)[48])
{
    c->columns = memory_new(c->N + 5, sizeof *c->columns);
    c->row = memory_new(1, sizeof *c->row + c->N * sizeof(double));
    if (!c->columns || !c->row) return ERR_MEMORY;
    Column *k = c->columns;
    *k++ = (Column)COLUMN(CrossingRow, scheme, .place = 1);
    *k++ = (Column)COLUMN(CrossingRow, event, .place = 2);
    *k++ = (Column)COLUMN(CrossingRow, passes, .place = 3);
    *k++ = (Column)COLUMN(CrossingRow, t, .place = 4, .digits = 12);
    for (size_t i = 0; i < c->N; i++)
        *k++ = (Column){.name = names[i],
                        .at = offsetof(CrossingRow, y) + i * sizeof(double),
                        .type = SHEET_DOUBLE,
                        .place = i < SHOWN ? (short)(5 + i) : 0};
    return sheet_new(c->columns, &c->all);
}

int crossings_open(const Options *o, const System *s, const Times *times, char (*names)[48],
                   Crossings **out)
{
    SCOPED(crossings_drop) Crossings *c = NULL;
    size_t count = 0;
    *out = NULL;
    while (options_item(o, "event", count)) count++;
    if (!count) return 0;
    if (!(c = memory_new(1, sizeof *c))) return ERR_MEMORY;
    *c = (Crossings){.times = times, .N = s->n * s->d, .count = count};
    c->text = memory_new(count, sizeof *c->text);
    c->along = memory_new(count, sizeof *c->along);
    c->event = memory_new(count, sizeof *c->event);
    if (!c->text || !c->along || !c->event) return ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        c->text[i] = options_item(o, "event", i);
        c->along[i].times = times;
        TRY(read_event(s, c->text[i], &c->along[i], &c->event[i]));
    }
    TRY(make_table(c, names));
    *out = c;
    c = NULL;
    return 0;
}

int crossings_begin(Crossings *c, Events **out)
{
    *out = NULL;
    if (!c) return 0;
    events_free(&c->run);
    TRY(events_new(c->event, c->count, c->N, &c->run));
    *out = &c->run;
    return 0;
}

void crossings_end(Crossings *c, const char *scheme)
{
    for (size_t k = 0; c && k < c->run.found; k++) {
        const Crossing *x = &c->run.crossing[k];
        *c->row = (CrossingRow){scheme, c->text[x->event], x->rises ? "up" : "down",
                                times_of(c->times, x->t)};
        memcpy(c->row->y, c->run.state + k * c->N, c->N * sizeof(double));
        sheet_row(c->all, c->row);
    }
}

int crossings_show(const Crossings *c)
{
    if (!c) return 0;
    puts("\nevents, where these quantities pass 0:");
    return sheet_write(c->all, SHEET_PLAIN, stdout);
}

int crossings_save(const Crossings *c, const char *dir)
{
    return c ? output_sheet(c->all, SHEET_CSV, dir, "events.csv") : 0;
}
