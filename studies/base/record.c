/* record.c: writes a row of commands.csv. */
#include "studies/base/record.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "studies/base/command.h"

typedef struct {
    const char *time, *command, *version, *machine;
    int status;
    const char *words;
} CommandRow;

static const Column columns[] = {
    COLUMN(CommandRow, time, .words = "time when the command ended, UTC"),
    COLUMN(CommandRow, command, .words = "words of the command, quoted for a shell"),
    COLUMN(CommandRow, version, .words = "version of trotter"),
    COLUMN(CommandRow, machine, .words = "processor and its threads"),
    COLUMN(CommandRow, status, .words = "exit status"),
    COLUMN(CommandRow, words, .words = "message on failure, and warnings"),
    {0}};

/* Writes a word so that a shell reads it back. */
static void put_word(FILE *f, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,=+@%^-";
    fputc(' ', f);
    if (*word && word[strspn(word, plain)] == '\0') {
        fputs(word, f);
        return;
    }
    fputc('\'', f);
    for (; *word; word++) fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, f);
    fputc('\'', f);
}

static int command_line(int argc, char *const *argv, char **text)
{
    Output o;
    TRY(output_open(&o));
    fputs("trotter", o.f);
    for (int i = 0; i < argc; i++) put_word(o.f, argv[i]);
    return output_take(&o, 0, text);
}

/* Writes "AMD EPYC ..., 2 threads" to out; it holds no host name. */
static void find_machine(char out[256])
{
    char line[200] = "", *name = NULL;
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "model name", 10) == 0 && (name = strchr(line, ':'))) break;
    if (f) fclose(f);
    if (name) name[strcspn(name, "\n")] = '\0';
    snprintf(out, 256, "%s, %ld threads", name ? name + 1 + (name[1] == ' ') : "unknown processor",
             sysconf(_SC_NPROCESSORS_ONLN));
}

/* words: the message of a failure. What the command said at its end is that, then its warnings. */
static int add_row(Sheet *r, int argc, char *const *argv, int code, const char *words)
{
    char when[32] = "", machine[256], all[6000];
    const char *failed = code == 0 ? ""
                         : *words  ? words
                                   : error_name(code),
               *warned = notice_warnings();
    struct tm utc;
    time_t now = time(NULL);
    SCOPED(memory_drop) char *line = NULL;
    TRY(command_line(argc, argv, &line));
    snprintf(all, sizeof all, "%s%s%s", failed, *failed && *warned ? "; " : "", warned);
    if (gmtime_r(&now, &utc)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    find_machine(machine);
    sheet_row(r, &(CommandRow){when, line, TROTTER_VERSION, machine, error_status(code), all});
    return 0;
}

/* Opens the file, or makes it, and locks it until it is closed, so that commands that end together add their rows one
 * after another. Each command replaces the file, so one that waited opens it again. Where locks are refused, it goes on
 * without; a symbolic link is not followed, and the file replaces it. *made: the file is new. */
static int lock(const char *path, int *made)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        *made = fd >= 0;
        if (fd < 0) fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0 || fcntl(fd, F_OFD_SETLKW, &l) != 0 || output_is(path, fd)) return fd;
        close(fd);
    }
}

/* Adds the row. The old rows stay byte by byte; a reader reports what is wrong with them. */
static int add_to_file(const Sheet *r, const char *path)
{
    SCOPED(memory_drop) char *before = NULL;
    SCOPED(output_drop) Output o = {0};
    size_t bytes = 0;
    if (output_exists(path)) TRY(output_read(path, &before, &bytes));
    TRY(output_open(&o));
    fwrite(before, 1, bytes, o.f);
    TRY(sheet_write(r, SHEET_CSV, o.f));
    if (fflush(o.f) != 0) return error_set(ERR_MEMORY, "out of memory");
    char *header = o.text + bytes;
    size_t n = bytes ? strcspn(header, "\n") + 1 : 0;
    memmove(header, header + n, o.bytes - bytes - n);
    return file_replace(path, o.text, o.bytes - n);
}

static int record(const char *dir, int argc, char *const *argv, int code, const char *words)
{
    char path[OUTPUT_PATH];
    SCOPED(sheet_drop) Sheet *r = NULL;
    TRY(output_path(path, dir, "%s", RECORD_FILE));
    TRY(sheet_new(columns, &r));
    TRY(add_row(r, argc, argv, code, words));
    int made, fd = lock(path, &made), failed = add_to_file(r, path);
    if (failed != 0 && made && output_is(path, fd)) unlink(path);
    if (fd >= 0) close(fd);
    return failed;
}

int record_command(const char *dir, int argc, char *const *argv, int code)
{
    char words[1024];
    struct stat s;
    if (code < 0 || stat(dir, &s) != 0 || !S_ISDIR(s.st_mode)) return 0;
    snprintf(words, sizeof words, "%s", error_text());
    int failed = record(dir, argc, argv, code, words);
    if (failed == 0 || code != 0) error_set(code, "%s", words);
    return failed;
}
