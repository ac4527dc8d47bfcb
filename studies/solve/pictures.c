/* pictures.c: curves of solutions over time and of two quantities, with the steps that were tried. */
#include "studies/solve/pictures.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/base/scoped.h"
#include "studies/base/plot/plot.h"
#include "studies/base/command.h"

enum {
    SHOWN = 6,      /* coordinates over time, at most, unless they are chosen */
    PATHS = 12,     /* particles whose paths are drawn, at most */
    CHOSEN = 24,    /* quantities that can be chosen, at most */
    DEEP = 6,       /* times that a step is halved for points within, at most */
    POINTS = 100000 /* of a curve, at most */
};
/* Of the height of a curve: how far it may leave its chord, and how near points may lie; of the width likewise. */
static const double bent = 0.002, near_up = 0.0005, near_across = 0.00025;
static const char reference[] = "reference";

/* A quantity that is drawn: a coordinate, or an expression of them. */
typedef struct {
    char name[64];
    size_t coordinate;
    Quantity *quantity; /* NULL: the coordinate */
} Shown;

/* A row of curves.csv; x (count) stands behind it. */
typedef struct {
    const char *scheme;
    double t, x[];
} CurveRow;

/* A row of steps.csv. */
typedef struct {
    const char *scheme;
    double t, h;
    const char *rejected;
} StepRow;

static const Column step_columns[] = {COLUMN(StepRow, scheme),
                                      COLUMN(StepRow, t, .words = "where the step begins"),
                                      COLUMN(StepRow, h, .words = "its length"),
                                      COLUMN(StepRow, rejected),
                                      {0}};

/* A row of section.csv: the two quantities of --phase where an event is. */
typedef struct {
    const char *scheme;
    double t, x, y;
} SectionRow;

static const Column section_columns[] = {
    COLUMN(SectionRow, scheme),
    COLUMN(SectionRow, t, .words = "of the crossing"),
    COLUMN(SectionRow, x, .words = "the first quantity of --phase"),
    COLUMN(SectionRow, y, .words = "the second one"),
    {0}};

typedef struct {
    double t, h;
    int rejected;
} Tried;

struct Pictures {
    Drawn d;
    size_t over, pairs, count;       /* quantities over time, in pairs behind them, and in all */
    Shown shown[CHOSEN + 2 * PATHS]; /* (count) */
    size_t phase[PATHS][2];          /* (pairs) */
    double low[CHOSEN + 2 * PATHS], high[CHOSEN + 2 * PATHS]; /* of the curves so far */
    size_t scheme;
    double *point; /* (points, 1 + count) t, along the run, and quantities */
    size_t points,
        coarse; /* coarse: points lie 2^coarse times farther apart, as they were too many */
    double *y;  /* (N) scratch */
    Tried *tried;
    size_t tries, rejected, stride; /* stride: one in so many steps is drawn */
    int has_reference;
    Column *columns;
    CurveRow *row;
    Events events; /* of runs without --event */
    Sheet *curves, *steps, *section;
    size_t crossings; /* rows of section */
};

DROP(Pictures, pictures)

void pictures_free(Pictures *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->count; i++) quantity_free(p->shown[i].quantity);
    sheet_free(p->curves);
    sheet_free(p->steps);
    sheet_free(p->section);
    events_free(&p->events);
    memory_free_all(p->point, p->y, p->tried, p->columns, p->row, p);
}

/* ---- what is shown ---------------------------------------------------------------------------------- */

/* Returns the quantity of this name, which is added where there is none; NULL: there are too many. */
static Shown *find_shown(Pictures *p, const char *name, size_t *which)
{
    for (*which = 0; *which < p->count; ++*which)
        if (strcmp(p->shown[*which].name, name) == 0) return &p->shown[*which];
    if (p->count == sizeof p->shown / sizeof *p->shown) return NULL;
    Shown *s = &p->shown[p->count++];
    *s = (Shown){.coordinate = SIZE_MAX};
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

static void show_coordinate(Pictures *p, size_t i, size_t *which)
{
    find_shown(p, p->d.names[i], which)->coordinate = i;
}

/* Reads one quantity: the number of a coordinate, its name, or an expression. *behind: the rest of the text. */
static int read_shown(Pictures *p, const char *option, const char *text, const char **behind,
                      size_t *which)
{
    Quantity *q = NULL;
    char *end, name[sizeof p->shown->name];
    unsigned long number = strtoul(text, &end, 10);
    if (isdigit((unsigned char)*text) && (!*end || *end == ',')) {
        if (number < 1 || number > p->d.N)
            return error_set(ERR_INPUT, "%s: expected a coordinate from 1 to %zu, not %lu", option,
                             p->d.N, number);
        show_coordinate(p, number - 1, which);
        *behind = end;
        return 0;
    }
    TRY(quantity_read(text, option, p->d.system, behind, &q));
    size_t n = (size_t)(*behind - text);
    while (n && text[n - 1] == ' ') n--;
    snprintf(name, sizeof name, "%.*s", (int)n, text);
    Shown *s = find_shown(p, name, which);
    if (!s || s->quantity || s->coordinate != SIZE_MAX || n >= sizeof name) {
        quantity_free(q);
        return s && n < sizeof name
                   ? 0
                   : error_set(ERR_INPUT,
                               "%s: expected at most %d quantities of less than %zu letters",
                               option, CHOSEN, sizeof name);
    }
    s->quantity = q;
    return 0;
}

/* Reads a list of quantities separated by commas into which (most). */
static int read_list(Pictures *p, const char *option, const char *text, size_t most, size_t *which,
                     size_t *count)
{
    for (*count = 0;; text++) {
        text += strspn(text, " \t");
        if (*count == most)
            return error_set(ERR_INPUT, "%s: expected at most %zu quantities separated by commas",
                             option, most);
        TRY(read_shown(p, option, text, &text, &which[(*count)++]));
        text += strspn(text, " \t");
        if (!*text) return 0;
        if (*text != ',')
            return error_set(ERR_INPUT, "%s: expected an operator, a comma or the end at '%.40s'",
                             option, text);
    }
}

static int choose_over(Pictures *p)
{
    size_t which[CHOSEN], count = p->d.schemes->count < SHOWN ? SHOWN / p->d.schemes->count : 1;
    const char *text = options_text(p->d.options, "plot");
    if (text) TRY(read_list(p, "--plot", text, CHOSEN, which, &count));
    if (!text && count > p->d.N) count = p->d.N;
    for (size_t i = 0; !text && i < count; i++) show_coordinate(p, i, &which[i]);
    p->over = p->count;
    return 0;
}

/* Without --phase there are paths of particles of two coordinates or more, or of two particles of one; else nothing. */
static int choose_phase(Pictures *p)
{
    size_t d = p->d.system->d, n = d > 1 ? p->d.system->n : 1, which[2 * PATHS], count = 0;
    const char *text = options_text(p->d.options, "phase");
    if (text) TRY(read_list(p, "--phase", text, 2, which, &count));
    if (count % 2) return error_set(ERR_INPUT, "--phase: expected two quantities, such as y1,y2");
    for (size_t k = 0; !text && (d > 1 || p->d.N == 2) && k < n && k < PATHS; k++, count += 2) {
        show_coordinate(p, k * d, &which[count]);
        show_coordinate(p, k * d + 1, &which[count + 1]);
    }
    p->pairs = count / 2;
    memcpy(p->phase, which, count * sizeof *which);
    return 0;
}

static int make_columns(Pictures *p)
{
    p->columns = memory_new(p->count + 3, sizeof *p->columns);
    p->row = memory_new(1, sizeof *p->row + p->count * sizeof(double));
    p->y = memory_new(p->d.N, sizeof *p->y);
    if (!p->columns || !p->row || !p->y) return ERR_MEMORY;
    Column *c = p->columns;
    *c++ = (Column)COLUMN(CurveRow, scheme);
    *c++ = (Column)COLUMN(CurveRow, t);
    for (size_t i = 0; i < p->count; i++)
        *c++ = (Column){.name = p->shown[i].name,
                        .at = offsetof(CurveRow, x) + i * sizeof(double),
                        .type = SHEET_DOUBLE};
    TRY(sheet_new(p->columns, &p->curves));
    TRY(sheet_new(section_columns, &p->section));
    return sheet_new(step_columns, &p->steps);
}

int pictures_open(const Drawn *d, Pictures **out)
{
    SCOPED(pictures_drop) Pictures *p = memory_new(1, sizeof *p);
    if (!p) return ERR_MEMORY;
    p->d = *d;
    TRY(choose_over(p));
    TRY(choose_phase(p));
    TRY(make_columns(p));
    *out = p;
    p = NULL;
    return 0;
}

/* ---- points ----------------------------------------------------------------------------------------- */

/* Returns where a time stands on the axis, from 0 to 1; below 0: it is left of it. */
static double across(const Pictures *p, double after)
{
    if (p->d.times->log_from <= 0) return after / p->d.times->length;
    double t = times_of(p->d.times, after);
    return t > 0 ? log(t / p->d.times->log_from) / log(p->d.times->end / p->d.times->log_from)
                 : -INFINITY;
}

static double height(const Pictures *p, size_t i)
{
    return p->high[i] - p->low[i];
}

static double shown_value(const Pictures *p, size_t i, double after, const double *y)
{
    const Shown *s = &p->shown[i];
    return s->quantity ? quantity_value(s->quantity, times_of(p->d.times, after), y)
                       : y[s->coordinate];
}

/* Computes a point (1 + count) of a state. */
static void find_point(Pictures *p, double after, const double *y, double *out)
{
    out[0] = after;
    for (size_t i = 0; i < p->count; i++) {
        double x = shown_value(p, i, after, y);
        out[1 + i] = x;
        if (isfinite(x)) p->low[i] = fmin(p->low[i], x), p->high[i] = fmax(p->high[i], x);
    }
}

static double *last_point(const Pictures *p)
{
    return p->point + (p->points - 1) * (1 + p->count);
}

/* Returns whether two points are apart by so many shares of the axes. */
static int are_apart(const Pictures *p, const double *a, const double *b, double over, double up)
{
    if (fabs(across(p, b[0]) - across(p, a[0])) > over) return 1;
    for (size_t i = 0; i < p->count; i++)
        if (fabs(b[1 + i] - a[1 + i]) > up * height(p, i)) return 1;
    return 0;
}

/* Adds a point, unless the last one but one is so near that the last can be left out for it. */
static int add_point(Pictures *p, const double *x)
{
    size_t each = 1 + p->count;
    double times = (double)(1u << p->coarse);
    if (p->points > 1 &&
        !are_apart(p, last_point(p) - each, x, times * near_across, times * near_up))
        p->points--;
    else if (p->points == POINTS) {
        for (size_t i = 0; i < POINTS / 2; i++)
            memmove(p->point + i * each, p->point + 2 * i * each, each * sizeof(double));
        p->points = POINTS / 2;
        p->coarse += p->coarse < 16;
    }
    TRY(memory_more(&p->point, p->points, each * sizeof(double)));
    memcpy(p->point + p->points++ * each, x, each * sizeof(double));
    return 0;
}

/* Returns whether the curve at x, between a and b, leaves their chord. */
static int is_bent(const Pictures *p, const double *a, const double *x, const double *b)
{
    double from = across(p, a[0]), to = across(p, b[0]), at = across(p, x[0]);
    double part = from > -INFINITY && to > from ? (at - from) / (to - from) : 0.5;
    for (size_t i = 1; i <= p->count; i++)
        if (fabs(x[i] - a[i] - part * (b[i] - a[i])) > bent * height(p, i - 1)) return 1;
    return 0;
}

/* Adds the points between a and b, without b, that bends take. Halves of the first step are halved again in any case, as a curve
 * may cross its chord in the middle. */
static int add_between(Pictures *p, const double *a, const double *b, int depth, EventState *at,
                       void *of)
{
    SCOPED(memory_drop) double *x = memory_new(1 + p->count, sizeof *x);
    double from = across(p, a[0]), to = across(p, b[0]), middle = (a[0] + b[0]) / 2;
    if (!x) return ERR_MEMORY;
    if (p->d.times->log_from > 0 && from < 0)
        middle =
            p->d.times->log_from - p->d.times->begin; /* the curve begins where the axis does */
    else if (p->d.times->log_from > 0)
        middle =
            p->d.times->log_from * pow(p->d.times->end / p->d.times->log_from, (from + to) / 2) -
            p->d.times->begin;
    if (depth == DEEP || to <= 0 || !(middle > a[0] && middle < b[0])) return 0;
    if (!are_apart(p, a, b, 10 * near_across, 10 * near_up)) return 0;
    TRY(at(of, middle, p->y));
    find_point(p, middle, p->y, x);
    if (depth > 0 && !is_bent(p, a, x, b)) return add_point(p, x);
    TRY(add_between(p, a, x, depth + 1, at, of));
    TRY(add_point(p, x));
    return add_between(p, x, b, depth + 1, at, of);
}

/* ---- runs ------------------------------------------------------------------------------------------- */

/* Adds the end of a step, with points within where `at` is there. */
static int add_step(Pictures *p, double t, const double *y, EventState *at, void *of)
{
    SCOPED(memory_drop) double *x = memory_new(2 * (1 + p->count), sizeof *x);
    if (!x) return ERR_MEMORY;
    double *before = x + 1 + p->count;
    find_point(p, t, y, x);
    if (p->points) memcpy(before, last_point(p), (1 + p->count) * sizeof *x);
    if (p->points && at) TRY(add_between(p, before, x, 0, at, of));
    return add_point(p, x);
}

/* Sees a step of a run (EventStep). */
static int see(void *pictures, double t0, double t1, const double *y1, EventState *at, void *of)
{
    Pictures *p = pictures;
    if (p->d.times->h == 0) {
        TRY(memory_more(&p->tried, p->tries, sizeof *p->tried));
        p->tried[p->tries++] = (Tried){t0, t1 - t0, !y1};
    }
    return y1 ? add_step(p, t1, y1, at, of) : 0;
}

int pictures_begin(Pictures *p, size_t scheme, Events **e)
{
    if (!p) return 0;
    p->scheme = scheme;
    p->points = p->coarse = p->tries = 0;
    for (size_t i = 0; i < p->count && scheme == 0; i++)
        p->low[i] = INFINITY, p->high[i] = -INFINITY;
    events_free(&p->events);
    if (!*e) {
        TRY(events_new(NULL, 0, p->d.N, &p->events));
        *e = &p->events;
    }
    (*e)->seen = see;
    (*e)->arg = p;
    (*e)->inside = (*e)->rejected = (*e)->aside = 1;
    return add_step(p, 0, p->d.system->initial, NULL, NULL);
}

static void add_rows(Pictures *p, const char *name)
{
    for (size_t k = 0; k < p->points; k++) {
        const double *x = p->point + k * (1 + p->count);
        *p->row = (CurveRow){name, times_of(p->d.times, x[0])};
        memcpy(p->row->x, x + 1, p->count * sizeof *x);
        sheet_row(p->curves, p->row);
    }
}

/* Adds where events were. */
static void add_crossings(Pictures *p, const Events *e, const char *name)
{
    for (size_t k = 0; e && p->pairs == 1 && k < e->found; k++, p->crossings++) {
        double t = e->crossing[k].t;
        const double *y = e->state + k * p->d.N;
        sheet_row(p->section,
                  &(SectionRow){name, times_of(p->d.times, t), shown_value(p, p->phase[0][0], t, y),
                                shown_value(p, p->phase[0][1], t, y)});
    }
}

/* Rejected steps come behind all others, so that a line through these has no gap. */
int pictures_end(Pictures *p, const Events *e)
{
    if (!p) return 0;
    const char *name = p->d.schemes->scheme[p->scheme]->name;
    add_rows(p, name);
    add_crossings(p, e, name);
    for (int rejected = 0; rejected < 2; rejected++)
        for (size_t k = 0; k < p->tries; k++) {
            const Tried *a = &p->tried[k];
            if (a->rejected != rejected) continue;
            p->rejected += (size_t)rejected;
            sheet_row(p->steps,
                      &(StepRow){name, times_of(p->d.times, a->t), a->h, rejected ? "yes" : "no"});
        }
    if (p->tries / 3000 >= p->stride) p->stride = p->tries / 3000 + 1;
    return 0;
}

int pictures_reference(Pictures *p, const double *y, EventState *at, void *of)
{
    if (!p) return 0;
    const Times *t = p->d.times;
    p->points = p->coarse = 0;
    TRY(add_step(p, 0, p->d.system->initial, NULL, NULL));
    for (size_t k = 0; k < t->rows; k++)
        if (!isnan(y[k * p->d.N])) TRY(add_step(p, t->after[k], y + k * p->d.N, at, of));
    p->has_reference = p->points > 2; /* an end alone is no line */
    if (p->has_reference) add_rows(p, reference);
    return 0;
}

/* ---- pictures --------------------------------------------------------------------------------------- */

/* Adds a line of curves.csv, columns x and y of a scheme, or with NULL of the reference. title NULL: no place in the key. */
static void draw_line(Plot *p, const char *scheme, size_t x, size_t y, const char *title,
                      size_t colour, size_t dash)
{
    plot_item(p, "curves.csv", "using (strcol(1) eq %s ? $%zu : NaN):%zu with lines",
              scheme ? scheme : reference, x, y);
    if (title)
        plot_more(p, " title %s noenhanced", title);
    else
        plot_more(p, " notitle");
    if (scheme)
        plot_more(p, " lw 2 dt %zu lc rgb %s", dash + 1, plot_colour(colour));
    else
        plot_more(p, " lw 5 lc rgb '#cccccc'");
}

/* Adds the steps of all schemes, and crosses at those that were rejected. */
static void draw_steps(const Pictures *p, Plot *plot, int one_colour)
{
    const Times *t = p->d.times;
    double from = p->d.times->log_from > 0 ? p->d.times->log_from : fmin(t->begin, t->end);
    if (p->rejected)
        plot_item(
            plot, NULL,
            "NaN with points pt 2 ps 0.8 lw 1.5 lc rgb '#555555' title 'rejected step' noenhanced");
    plot_below(plot, "step size", from, fmax(t->begin, t->end));
    for (size_t i = 0; i < p->d.schemes->count; i++)
        for (int rejected = 0; rejected <= (p->rejected > 0); rejected++) {
            plot_item(plot, "steps.csv", "every %zu using (strcol(1) eq %s && strcol(4) eq %s ? ",
                      p->stride, p->d.schemes->scheme[i]->name, rejected ? "yes" : "no");
            if (p->d.times->log_from > 0) /* that of the end: the first step begins at 0 */
                plot_more(plot, "$2 + $3 : NaN):3 with");
            else
                plot_more(plot, "$2 : NaN):3 with");
            if (rejected)
                plot_more(plot, "points pt 2 ps 0.7 lw 1.5");
            else
                plot_more(plot, "lines lw 1.5 dt %zu", i + 1);
            plot_more(plot, " lc rgb %s notitle", one_colour ? "#555555" : plot_colour(i));
        }
}

/* Writes what is shown, with the scheme where it is one alone. */
static void title_of(const Pictures *p, const char *what, char *out, size_t bytes)
{
    snprintf(out, bytes, p->d.schemes->count > 1 ? "%s: %s" : "%s: %s by %s", what,
             p->d.system->name, p->d.schemes->scheme[0]->name);
}

static int draw_solution(const Pictures *p, const char *dir)
{
    char title[256];
    const Drawn *d = &p->d;
    title_of(p, "Solution", title, sizeof title);
    PlotFrame frame = {"solution", title, "time t", p->over > 1 ? "coordinates" : p->shown[0].name,
                       p->d.times->log_from > 0 ? PLOT_LOG_X : 0};
    Plot *plot;
    TRY(plot_new(dir, &frame, &plot));
    for (size_t k = 0; p->has_reference && k < p->over; k++)
        draw_line(plot, NULL, 2, 3 + k, k ? NULL : reference, 0, 0);
    for (size_t k = 0; k < p->over; k++)
        for (size_t i = 0; i < d->schemes->count; i++) {
            snprintf(title, sizeof title, "%s%s%s",
                     p->over > 1 || d->schemes->count == 1 ? p->shown[k].name : "",
                     p->over > 1 && d->schemes->count > 1 ? ", " : "",
                     d->schemes->count > 1 ? d->schemes->scheme[i]->name : "");
            draw_line(plot, d->schemes->scheme[i]->name, 2, 3 + k, title, p->over > 1 ? k : i, i);
        }
    if (d->times->h == 0) draw_steps(p, plot, p->over > 1);
    if (d->times->h > 0 && p->d.times->log_from > 0)
        plot_setting(plot, "set xrange [%.15g:*]", p->d.times->log_from);
    return plot_finish(plot);
}

/* Returns the width of all paths. */
static double span_across(const Pictures *p)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t k = 0; k < p->pairs; k++) {
        low = fmin(low, p->low[p->phase[k][0]]);
        high = fmax(high, p->high[p->phase[k][0]]);
    }
    return high - low;
}

static int draw_phase(const Pictures *p, const char *dir)
{
    char title[256];
    const Drawn *d = &p->d;
    if (p->pairs == 0) return 0;
    int one = p->pairs == 1;
    title_of(p, one ? "Phase portrait" : "Paths of particles", title, sizeof title);
    PlotFrame frame = {"phase", title, one ? p->shown[p->phase[0][0]].name : "first coordinate",
                       one ? p->shown[p->phase[0][1]].name : "second coordinate",
                       one ? 0 : PLOT_EQUAL};
    Plot *plot;
    TRY(plot_new(dir, &frame, &plot));
    if (!one) plot_few_tics(plot, span_across(p), 5);
    for (size_t i = p->has_reference ? 0 : 1; i <= d->schemes->count; i++)
        for (size_t k = 0; k < p->pairs; k++) {
            const char *name = i ? d->schemes->scheme[i - 1]->name : NULL;
            draw_line(plot, name, 3 + p->phase[k][0], 3 + p->phase[k][1],
                      k      ? NULL
                      : name ? name
                             : reference,
                      i ? i - 1 : 0, i ? i - 1 : 0);
        }
    return plot_finish(plot);
}

/* Draws a dot for each event, in the plane of --phase: a Poincare section. */
static int draw_section(const Pictures *p, const char *dir)
{
    char title[256];
    if (!p->crossings) return 0;
    title_of(p, "Section at events", title, sizeof title);
    PlotFrame frame = {"section", title, p->shown[p->phase[0][0]].name,
                       p->shown[p->phase[0][1]].name, 0};
    Plot *plot;
    TRY(output_sheet(p->section, SHEET_CSV, dir, "section.csv"));
    TRY(plot_new(dir, &frame, &plot));
    for (size_t i = 0; i < p->d.schemes->count; i++) {
        const char *name = p->d.schemes->scheme[i]->name;
        plot_item(plot, "section.csv", "using (strcol(1) eq %s ? $3 : NaN):4 with points", name);
        plot_more(plot, "title %s noenhanced pt %d ps 0.4 lc rgb %s", name, plot_point(i),
                  plot_colour(i));
    }
    return plot_finish(plot);
}

int pictures_save(Pictures *p, const char *dir)
{
    if (!p) return 0;
    TRY(draw_section(p, dir));
    TRY(output_sheet(p->curves, SHEET_CSV, dir, "curves.csv"));
    if (p->d.times->h == 0) TRY(output_sheet(p->steps, SHEET_CSV, dir, "steps.csv"));
    TRY(draw_solution(p, dir));
    return draw_phase(p, dir);
}
