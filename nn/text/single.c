/* single.c: cuts one file in the three texts of a corpus: the first of its lines for training, then validation, then
 * test.
 *
 * Training has the first round(a L) of L lines, training and validation together the first round((a + b) L), where a,
 * b, c are CorpusChoice.parts divided by their sum. Parts are contiguous, so no sentence is cut, and neighbours in the
 * text are neighbours in a part. The file is one text: an end without '\n' ends a line, and messages count the file's
 * lines. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/base/error.h"
#include "kernels/base/plain_text.h"
#include "nn/text/corpus.h"

int corpus_is_file(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && !S_ISDIR(s.st_mode);
}

const char *single_skip(const char *at, const char *end, size_t lines)
{
    const char *line;
    for (size_t n; lines && text_next_line(&at, end, &line, &n);) lines--;
    return at;
}

static size_t count_lines(const char *at, const char *end)
{
    size_t lines = 0;
    for (; at < end; lines++) at = single_skip(at, end, 1);
    return lines;
}

int single_cut(const char *file, const char *bytes, size_t count, const double parts[SPLITS],
               BpeText text[SPLITS])
{
    const char *end = bytes + count, *at = bytes;
    size_t lines = count_lines(at, end), before = 0;
    double sum = 0, upto = 0;
    for (int i = 0; i < SPLITS; i++) sum += parts[i];
    for (int i = 0; i < SPLITS; i++) {
        upto += parts[i];
        size_t last = i + 1 < SPLITS ? (size_t)round((double)lines * (upto / sum)) : lines;
        if (last <= before)
            return error_set(ERR_INPUT,
                             "%s: of its %zu line%s a part would have none (--parts %g,%g,%g)",
                             file, lines, lines == 1 ? "" : "s", parts[0], parts[1], parts[2]);
        const char *stop = single_skip(at, end, last - before);
        text[i] = (BpeText){file, at, (size_t)(stop - at), before};
        at = stop;
        before = last;
    }
    return 0;
}
