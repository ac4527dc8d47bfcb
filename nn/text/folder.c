/* folder.c: finds the files of a directory that are the texts of a corpus.
 *
 * It takes the first layout that finds all three texts, so that a folder which holds the same corpus in several forms
 * (PTB by words and by characters) is read in one form. A '*' must find one file: with two it is an error that names
 * both. */
#include "nn/text/corpus.h"

#include <dirent.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

/* %s is the split's name. A dot and the language follow for pairs. */
enum { LAYOUTS = 7, PATTERN = 64 };
static const char *const text_layouts[LAYOUTS] = {
    "%s.txt", "ptb.%s.txt", "wiki.%s.tokens", "%s.tokens", "%s", "*%s*.txt", "*%s*.tokens"};
static const char *const pair_layouts[LAYOUTS] = {"%s", "%s*", "*%s*"};

static void make_pattern(const char *layout, const char *name, const char *language,
                         char pattern[PATTERN])
{
    int n = snprintf(pattern, PATTERN, layout, name);
    if (language) snprintf(pattern + n, PATTERN - (size_t)n, ".%s", language);
}

/* Names of the splits. */
static const char *const spelling[SPLITS][3] = {{"train"}, {"valid", "val", "dev"}, {"test"}};

int corpus_is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* Returns dir/name in fresh memory, or NULL. */
static char *join(const char *dir, const char *name)
{
    size_t bytes = strlen(dir) + strlen(name) + 2;
    char *path = memory_new(bytes, 1);
    if (path) snprintf(path, bytes, "%s/%s", dir, name);
    return path;
}

static int matches(const char *layout, const char *language, int split, const char *name)
{
    for (int i = 0; i < 3 && spelling[split][i]; i++) {
        char pattern[PATTERN];
        make_pattern(layout, spelling[split][i], language, pattern);
        if (fnmatch(pattern, name, FNM_PERIOD) == 0) return 1;
    }
    return 0;
}

/* Takes a directory's entry as the file of its split, if its name fits. */
static int take(const char *dir, const char *name, const char *layout, const char *language,
                int split, char **file)
{
    if (!matches(layout, language, split, name)) return 0;
    SCOPED(memory_drop) char *path = join(dir, name);
    if (!path) return ERR_MEMORY;
    if (corpus_is_folder(path)) return 0;
    if (*file)
        return error_set(ERR_INPUT, "%s and %s: both may be the %s text; keep one of them", *file,
                         path, spelling[split][0]);
    *file = path;
    path = NULL;
    return 0;
}

static int scan_directory(const char *dir, DIR *d, const char *layout, const char *language,
                          char *file[SPLITS])
{
    for (struct dirent *e; (e = readdir(d));)
        for (int i = 0; i < SPLITS; i++) TRY(take(dir, e->d_name, layout, language, i, &file[i]));
    return 0;
}

void corpus_files_free(char *file[SPLITS])
{
    for (int i = 0; i < SPLITS; i++) file[i] = memory_free(file[i]);
}

/* Reports the texts that no name finds, and the names that were tried. */
static int missing(const char *dir, const char *const layouts[LAYOUTS], const char *language,
                   const int found[SPLITS])
{
    char lost[64] = "", looked[512] = "";
    for (int i = 0; i < SPLITS; i++)
        if (!found[i]) strcat(strcat(lost, *lost ? ", " : ""), spelling[i][0]);
    for (int l = 0; l < LAYOUTS && layouts[l]; l++) {
        char pattern[PATTERN];
        make_pattern(layouts[l], "NAME", language, pattern);
        if (l) strcat(looked, ", ");
        strcat(looked, pattern);
    }
    return error_set(ERR_INPUT, "%s: %s%s; looked for %s with NAME = train, valid (val, dev), test",
                     dir, *lost ? "no text for " : "the three texts are not named alike", lost,
                     looked);
}

int corpus_files(const char *dir, const char *language, char *file[SPLITS])
{
    const char *const *layouts = language ? pair_layouts : text_layouts;
    int found[SPLITS] = {0};
    for (int l = 0; l < LAYOUTS && layouts[l]; l++) {
        DIR *d = opendir(dir);
        if (!d) return error_set(ERR_INPUT, "cannot read the directory %s", dir);
        int code = scan_directory(dir, d, layouts[l], language, file);
        closedir(d);
        if (code) return code;
        int all = 1;
        for (int i = 0; i < SPLITS; i++) {
            found[i] |= file[i] != NULL;
            all &= file[i] != NULL;
        }
        if (all) return 0;
        corpus_files_free(file);
    }
    return missing(dir, layouts, language, found);
}
