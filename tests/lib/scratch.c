/* scratch.c: see scratch.h. */
#include "tests/lib/scratch.h"

#include <dirent.h>
#include <ftw.h>

char folder[256];

int scratch_open(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/trotter-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

int scratch_close(void **state)
{
    (void)state;
    char line[sizeof folder + 16];
    snprintf(line, sizeof line, "/bin/rm -rf '%s'", folder);
    return system(line);
}

static int drop(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    return remove(path);
}

int scratch_files(int clear)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        n++;
        if (clear) nftw(file_path(e->d_name), drop, 8, FTW_DEPTH | FTW_PHYS);
    }
    if (d) closedir(d);
    return n;
}

const char *file_path(const char *name)
{
    static char path[8][PATH_MAX];
    static int turn;
    char *p = path[turn++ % 8];
    snprintf(p, PATH_MAX, "%s/%s", folder, name);
    return p;
}

const char *file_write(const char *name, const void *bytes, size_t count)
{
    const char *path = file_path(name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, count, f) != count || fclose(f) != 0) abort();
    return path;
}

const char *file_text(const char *name, const char *text)
{
    return file_write(name, text, strlen(text));
}

int file_exists(const char *name)
{
    return access(file_path(name), F_OK) == 0;
}

void file_read(const char *name, char *text, size_t bytes)
{
    FILE *f = fopen(file_path(name), "rb");
    text[0] = '\0';
    if (!f) return;
    text[fread(text, 1, bytes - 1, f)] = '\0';
    fclose(f);
}

char *path_slurp(const char *path, size_t *bytes)
{
    char *text = NULL, part[65536];
    size_t n, got;
    FILE *f = fopen(path, "rb"), *whole = f ? open_memstream(&text, &n) : NULL;
    if (!whole) return NULL;
    while ((got = fread(part, 1, sizeof part, f)) > 0) fwrite(part, 1, got, whole);
    fclose(f);
    assert_int_equal(fclose(whole), 0);
    if (bytes) *bytes = n;
    return kept_text(text);
}

char *file_slurp(const char *name, size_t *bytes)
{
    char *text = path_slurp(file_path(name), bytes);
    if (!text) fail_msg("%s cannot be read", name);
    return text;
}

char *kept_text(char *text)
{
    static char *all[1024];
    static size_t turn;
    char **at = &all[turn++ % 1024];
    assert_non_null(text);
    free(*at);
    return *at = text;
}

const char *formed(const char *format, ...)
{
    static char all[16][2 * PATH_MAX];
    static int turn;
    char *text = all[turn++ % 16];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof all[0], format, args);
    va_end(args);
    return text;
}

int same_files(const char *a, const char *b)
{
    size_t m, n;
    char *x = file_slurp(a, &m), *y = file_slurp(b, &n);
    return m == n && memcmp(x, y, m) == 0;
}

int error_has(const char *words)
{
    return strstr(error_text(), words) != NULL;
}

int starve(Starved *s, int code, int also)
{
    memory_fail_at(0);
    if (s->tries > 0) {
        int reached = memory_calls() - s->calls >= s->tries;
        int good = reached ? code == ERR_MEMORY || code == also : code == 0;
        s->met = good && memory_live() == s->live ? (int)s->tries - 1 : -1;
        if (!reached || s->met < 0) return 0;
    }
    s->live = memory_live();
    s->calls = memory_calls();
    memory_fail_at(++s->tries);
    return 1;
}

int fail_each(int (*job)(void), int also)
{
    return FAILURES(also, code = job());
}

void text_has(const char *what, const char *text, const char *const *parts)
{
    for (; *parts; parts++)
        if (!strstr(text, *parts + (**parts == '~')) != (**parts == '~'))
            fail_msg("%s: '%s' is not so in\n%.8000s", what, *parts, text);
}
