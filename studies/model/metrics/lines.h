/* lines.h: a text file line by line, the form of hypotheses and references. */
#ifndef TROTTER_METRICS_LINES_H
#define TROTTER_METRICS_LINES_H

#include <stddef.h>

#define LINES_STDIN "-" /* as a file's name */

typedef struct {
    const char *text; /* valid UTF-8 without NUL, `bytes` long; no NUL behind it */
    size_t bytes;
} Line;

typedef struct {
    const char *file; /* for messages; borrowed until lines_free */
    char *text;       /* the text of which the lines are windows */
    size_t count;
    Line *line; /* (count) */
} Lines;

/* Reads the lines of a file, or of standard input for LINES_STDIN. A line ends at '\n', at "\r\n" or at the end of the
 * file; it may be empty. UTF-8's byte-order mark is left out. ERR_INPUT with file and line: the file cannot be read or is empty, or it is
 * no text as those are that models are trained on (text_check: a NUL byte, bytes that are not UTF-8, a lone CR).
 * Caller: lines_free. */
int lines_read(const char *file, Lines *out);

/* Does the same for bytes in memory, a NUL behind them; `file` is their name in messages. It takes over `text` (of memory_new) in any
 * case. */
int lines_take(const char *file, char *text, size_t bytes, Lines *out);

enum { LINE_MOST = 4 << 20 }; /* bytes of a line */

void lines_free(Lines *l);

/* The files that an option names, "A,B,...". */
typedef struct {
    size_t count;
    Lines *of; /* (count) */
    char *names;
} LinesList;

/* Reads them. *standard: how often standard input was read so far, which may be once. ERR_INPUT with words on --OPTION,
 * also for an empty name, and with file and line
 * for one of more than LINE_MOST bytes, and as lines_read. Caller: lines_list_free, whatever the code. */
int lines_list(const char *option, const char *files, int *standard, LinesList *out);
void lines_list_free(LinesList *l);

/* Returns ERR_INPUT with both counts where two files do not have the same number of lines. */
int lines_pair(const Lines *a, const Lines *b);

#endif
