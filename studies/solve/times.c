/* times.c: reads when a run of `solve` begins and ends, and at which times its states are wanted. */
#include "studies/solve/times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/memory.h"
#include "kernels/base/scoped.h"

enum { MOST = 100000, FILE_MOST = 1 << 24 };

void times_free(Times *t)
{
    memory_free_all(t->t, t->after);
}

/* ---- the interval ---------------------------------------------------------------------------------- */

static int find_interval(const Options *o, const System *s, int free, Times *t)
{
    int given = options_text(o, "t-end") != NULL;
    t->begin = options_real(o, "t-begin");
    t->end = given ? options_real(o, "t-end") : free && s->t_whole > 0 ? s->t_whole : s->t_end;
    t->back = t->end < t->begin;
    t->length = fabs(t->end - t->begin);
    if (given ? t->length > 0 : !t->back && t->length > 0) return 0;
    return error_set(ERR_INPUT,
                     given ? "--t-end %g: expected another time than that of the beginning, %g"
                           : "--t-end: the system's own, %g, is not behind --t-begin %g: give one",
                     t->end, t->begin);
}

static int find_axis(const Options *o, Times *t)
{
    if (!options_text(o, "log-time")) return 0;
    t->log_from = options_real(o, "log-time");
    if (t->log_from > t->begin && t->log_from < t->end && t->log_from > 0) return 0;
    return error_set(ERR_INPUT,
                     "--log-time %g: expected a time between %g and %g, in a run forward",
                     t->log_from, fmax(t->begin, 0), t->end);
}

double times_of(const Times *t, double after)
{
    return t->begin + (t->back ? -after : after);
}

static int find_steps(const Options *o, const System *s, size_t most, Times *t)
{
    double h = options_text(o, "h") ? options_real(o, "h") : s->h0 / 8;
    double steps = ceil(t->length / h * (1 - 1e-12));
    if (!(steps <= (double)most))
        return error_set(ERR_INPUT, "--t-end %g: expected at most %zu steps, not %.3g", t->end,
                         most, steps);
    t->steps = (size_t)steps;
    t->h = t->length / steps;
    return 0;
}

/* ---- times ----------------------------------------------------------------------------------------- */

static int new_rows(Times *t, size_t rows)
{
    t->rows = rows;
    t->t = memory_new(rows, sizeof *t->t);
    t->after = memory_new(rows, sizeof *t->after);
    return t->t && t->after ? 0 : ERR_MEMORY;
}

static void close_rows(Times *t)
{
    for (size_t k = 0; k < t->rows; k++) t->t[k] = times_of(t, t->after[k]);
    t->t[t->rows - 1] = t->end;
    t->after[t->rows - 1] = t->length;
}

/* Makes `count` times from that of --log-time on, equally far apart on a logarithmic axis. */
static int spread_log(Times *t, size_t count)
{
    double whole = t->end / t->log_from;
    TRY(new_rows(t, count));
    for (size_t k = 0; k < count; k++)
        t->after[k] =
            t->log_from * pow(whole, count > 1 ? (double)k / (double)(count - 1) : 1) - t->begin;
    close_rows(t);
    return 0;
}

/* Makes `count` times equally far apart, or those behind every so many steps, and the last. */
static int spread_times(Times *t, size_t count)
{
    size_t stride = t->h > 0 ? (t->steps + count - 1) / count : 1;
    TRY(new_rows(t, t->h > 0 ? (t->steps + stride - 1) / stride : count));
    for (size_t k = 0; k < t->rows; k++)
        t->after[k] = t->h > 0 ? (double)((k + 1) * stride) * t->h
                               : t->length * (double)(k + 1) / (double)t->rows;
    close_rows(t);
    return 0;
}

static int refuse_time(const Times *t, double x, const char *what)
{
    return error_set(ERR_INPUT,
                     "--times: %g %s; expected times from %g to %g, one behind the other", x, what,
                     t->begin, t->end);
}

/* Takes `count` times of a list; that of the beginning has its state anyway, and that of the end is added. */
static int take_times(Times *t, const double *x, size_t count)
{
    double before = -1;
    TRY(new_rows(t, count + 1));
    t->rows = 0;
    for (size_t i = 0; i < count; i++) {
        double after = t->back ? t->begin - x[i] : x[i] - t->begin;
        if (after < 0 || after > t->length) return refuse_time(t, x[i], "is out of the run");
        if (!(after > before)) return refuse_time(t, x[i], "does not follow the time before it");
        before = after;
        if (after == 0) continue;
        t->t[t->rows] = x[i];
        t->after[t->rows++] = after;
    }
    if (before == t->length) return 0;
    t->t[t->rows] = t->end;
    t->after[t->rows++] = t->length;
    return 0;
}

/* Reads a number that `length` bytes are, blanks round it apart. */
static int read_time(const char *text, size_t length, double *x)
{
    char word[64], *end;
    while (length && strchr(" \t\r", *text)) text++, length--;
    while (length && strchr(" \t\r", text[length - 1])) length--;
    if (length == 0 || length >= sizeof word) return 0;
    memcpy(word, text, length);
    word[length] = '\0';
    *x = strtod(word, &end);
    return !*end && isfinite(*x) && strspn(word, "0123456789.eE+-") == length;
}

/* Reads the numbers of a text, which `between` parts; `file` NULL: of the option. Lines that are empty, or begin with #, are
 * left out. */
static int read_times(Times *t, const char *text, char between, const char *file)
{
    size_t count = 0, line = 1;
    SCOPED(memory_drop) double *x = memory_new(strlen(text) / 2 + 1, sizeof *x);
    if (!x) return ERR_MEMORY;
    for (const char *at = text; *at || !file; line++) {
        size_t length = strcspn(at, (char[]){between, '\0'}), blanks = strspn(at, " \t\r");
        int empty = file && (blanks >= length || at[blanks] == '#');
        if (!empty && !read_time(at, length, &x[count++]))
            return file ? error_set(ERR_INPUT, "%s:%zu: expected a time, not '%.*s'", file, line,
                                    (int)(length < 80 ? length : 80), at)
                        : error_set(ERR_INPUT,
                                    "--times: expected times separated by commas, not '%.80s'",
                                    text);
        at += length;
        if (!*at) break;
        at++;
    }
    if (count == 0) return error_set(ERR_INPUT, "%s: expected times, one a line", file);
    if (count > MOST) return error_set(ERR_INPUT, "--times: expected at most %d times", MOST);
    return take_times(t, x, count);
}

static int read_file(Times *t, const char *file)
{
    SCOPED(memory_drop) char *text = NULL;
    size_t bytes;
    TRY(file_whole(file, FILE_MOST, &text, &bytes));
    if (bytes == FILE_MOST || memchr(text, '\0', bytes))
        return error_set(ERR_INPUT, "%s: expected a text of times, one a line", file);
    return read_times(t, text, '\n', file);
}

/* A whole number is how many; what has a comma, or characters of numbers alone, is a list (of one time: 5.0); the rest is a file. */
static int find_times(const Options *o, Times *t)
{
    const char *text = options_text(o, "times");
    size_t length = strlen(text);
    if (strspn(text, "0123456789") == length) {
        double count = strtod(text, NULL);
        if (count >= 1 && count <= MOST)
            return (t->log_from > 0 && t->h == 0 ? spread_log : spread_times)(t, (size_t)count);
        return error_set(ERR_INPUT, "--times: expected a whole number from 1 to %d, not '%.80s'",
                         MOST, text);
    }
    if (strchr(text, ',') || strspn(text, "0123456789.eE+-") == length)
        return read_times(t, text, ',', NULL);
    return read_file(t, text);
}

int times_read(const Options *o, const System *s, int free, size_t most, Times *out)
{
    TRY(find_interval(o, s, free, out));
    TRY(find_axis(o, out));
    if (!free) TRY(find_steps(o, s, most, out));
    return find_times(o, out);
}
