/* program.c: see program.h. */
#include "tests/lib/program.h"

#include <errno.h>
#include <pty.h>
#include <signal.h>

#include <time.h>

char program[PATH_MAX], out[1 << 20], err[1 << 16];

int program_open_drawn(void **state)
{
    const char *name = getenv("TROTTER");
    char beside[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", beside, sizeof beside - 32);
    beside[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(beside, '/');
    if (slash) strcpy(slash, "/../../trotter");
    if (!realpath(name ? name : beside, program)) return -1;
    /* oneDNN compiles its code when a training starts; that of a simple processor takes less time than the training */
    setenv("DNNL_MAX_CPU_ISA", "SSE41", 1);
    setenv("TROTTER_PROGRESS", "0", 1); /* a line of progress would come on a busy machine alone */
    return scratch_open(state);
}

int program_open(void **state)
{
    return program_open_drawn(state) || program_hide(state);
}

int program_hide(void **state)
{
    (void)state;
    char path[PATH_MAX];
    if (strncmp(program, "env PATH=", 9) == 0) return 0; /* it is hidden */
    snprintf(path, sizeof path, "%s", program);
    return snprintf(program, sizeof program, "env PATH=/nowhere %.4000s", path) < 0;
}

int program_draw(void **state)
{
    (void)state;
    const char *path = strrchr(program, ' ');
    return path && !memmove(program, path + 1, strlen(path));
}

int program_close(void **state)
{
    return scratch_close(state);
}

/* ---- running -------------------------------------------------------------------------------------- */

static int code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static char *formatted(const char *format, va_list args)
{
    char *text;
    assert_true(vasprintf(&text, format, args) >= 0);
    return text;
}

static void free_text(char **text)
{
    free(*text);
}
#define OWN_LINE __attribute__((cleanup(free_text))) char

/* Declares `line`, what a function's last arguments say. */
#define LINE(format)                          \
    va_list args;                             \
    va_start(args, format);                   \
    OWN_LINE *line = formatted(format, args); \
    va_end(args)

/* Returns "cd FOLDER && BEFORE LINE AFTER". */
static char *in_folder(const char *before, const char *line, const char *after)
{
    char *text;
    assert_true(asprintf(&text, "cd '%s' && %s %s%s", folder, before, line, after) >= 0);
    return text;
}

static int run_in_folder(const char *line, const char *after)
{
    OWN_LINE *whole = in_folder("{", line, after);
    return system(whole);
}

int shell(const char *format, ...)
{
    LINE(format);
    int status = run_in_folder(line, "\n} >out.txt 2>err.txt </dev/null");
    file_read("out.txt", out, sizeof out);
    file_read("err.txt", err, sizeof err);
    return code_of(status);
}

void shell_ok(const char *format, ...)
{
    LINE(format);
    if (run_in_folder(line, "\n}") != 0) fail_msg("%s", line);
}

double shell_number(const char *format, ...)
{
    LINE(format);
    if (run_in_folder(line, "\n} >number.txt") != 0) fail_msg("%s", line);
    return strtod(file_slurp("number.txt", NULL), NULL);
}

pid_t shell_start(const char *log, const char *format, ...)
{
    char after[64];
    snprintf(after, sizeof after, " >%s.out 2>%s.err </dev/null", log, log);
    LINE(format);
    OWN_LINE *whole = in_folder("exec", line, after);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGINT, SIG_DFL); /* a shell's background ignores SIGINT */
        execl("/bin/sh", "sh", "-c", whole, (char *)NULL);
        _exit(127);
    }
    return pid;
}

int shell_finish(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return code_of(status);
}

static int run_line(const char *line)
{
    return shell("timeout 300 %s %s", program, line);
}

int program_run(const char *format, ...)
{
    LINE(format);
    return run_line(line);
}

void expect(int status, const char *format, ...)
{
    LINE(format);
    int got = run_line(line);
    if (got != status) fail_msg("trotter %s: status %d, not %d: %s", line, got, status, err);
}

static int has_lines(const char *file, int lines)
{
    static char text[1 << 16];
    file_read(file, text, sizeof text);
    return file_exists(file) && count_lines(text) >= lines;
}

void await_lines(const char *file, int lines)
{
    time_t end = 0;
    while (!has_lines(file, lines))
        if (!await_look(&end)) fail_msg("%s does not come in %d s", file, AWAIT_SECONDS);
}

double processor_of(pid_t pid)
{
    struct timespec t;
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int catches(pid_t pid, int number)
{
    char text[8192] = "";
    FILE *f = fopen(formed("/proc/%d/status", (int)pid), "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = '\0';
    const char *mask = strstr(text, "\nSigCgt:");
    return mask && strtoull(mask + 8, NULL, 16) >> (number - 1) & 1;
}

int interrupt_at(const char *file, int lines, const char *format, ...)
{
    LINE(format);
    pid_t child = shell_start("child", "nice -n 10 %s %s", program, line);
    await_lines(file, lines);
    assert_int_equal(test_signal(child, SIGINT), 0);
    return shell_finish(child);
}

int trained(int status)
{
    return status == 0 || (status == 1 && says("the training diverged; a lower --rate"));
}

void run_ok(const char *format, ...)
{
    LINE(format);
    int got = run_line(line);
    if (!trained(got)) fail_msg("trotter %s: status %d: %s", line, got, err);
}

void must_print_all(const char *arguments, const char *const *parts)
{
    run_ok("%s", arguments);
    text_has(arguments, out, parts);
}

void must_tell_all(const char *arguments, const char *const *parts)
{
    run_ok("%s", arguments);
    text_has(arguments, err, parts);
}

void forget_result(const char *arguments)
{
    char name[256];
    const char *out_dir = NULL;
    for (const char *at = arguments; (at = strstr(at, "--out ")); at++) out_dir = at + 6;
    if (!out_dir) return;
    static const char *const kept[] = {"result.csv", "state.safetensors"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        snprintf(name, sizeof name, "%.*s/%s", (int)strcspn(out_dir, " "), out_dir, kept[i]);
        unlink(file_path(name));
    }
}

/* ---- the program's words --------------------------------------------------------------------------- */

int count_words(const char *text, const char *words)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, words)); at += strlen(words)) n++;
    return n;
}

int count_lines(const char *text)
{
    return count_words(text, "\n");
}

const char *last_line(const char *text)
{
    const char *last = text;
    for (const char *c = text; *c; c++)
        if (*c == '\n' && c[1]) last = c + 1;
    return last;
}

int refuses(int status, const char *words)
{
    return status == 2 && !*out && count_lines(err) == 1 && strncmp(err, "trotter", 7) == 0 &&
           strstr(err, words) != NULL;
}

void must_refuse(const char *arguments, const char *words)
{
    int status = run_line(arguments);
    if (!refuses(status, words))
        fail_msg("'%s': status %d, stdout '%.80s', stderr '%s', expected '%s'", arguments, status,
                 out, err, words);
}

void refuse_all(const char *format, const char *const rows[][2], size_t count, const char *never)
{
    for (size_t i = 0; i < count; i++) {
        char line[1024];
        snprintf(line, sizeof line, format, rows[i][0]);
        must_refuse(line, rows[i][1]);
        if (never && file_exists(never)) fail_msg("%s: %s was made", line, never);
    }
}

int refused(int status, const char *command, const char *words)
{
    char begin[256];
    snprintf(begin, sizeof begin, "trotter %s: %s", command, words);
    return refuses(status, begin) && strncmp(err, begin, strlen(begin)) == 0;
}

void corpus_write(const char *dir, int train, int others)
{
    static const char *const split[] = {"train", "valid", "test"};
    static const char *const line[] = {"the cat sat on the mat\n", "a dog ran in the park\n",
                                       "in the park a cat ran\n", "the dog sat\n"};
    mkdir(file_path(dir), 0777);
    for (int i = 0; i < 3; i++) {
        char name[256], text[1 << 16] = "";
        size_t n = 0;
        for (int k = 0; k < (i ? others : train); k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s", line[(k * k + k / 3 + i) % 4]);
        snprintf(name, sizeof name, "%s/%s.txt", dir, split[i]);
        file_text(name, text);
    }
}

void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* ---- needs that a machine may lack ------------------------------------------------------------------- */

int has_tool(const char *name)
{
    char line[256];
    snprintf(line, sizeof line, "command -v %s >/dev/null", name);
    return system(line) == 0;
}

void need_tool(const char *name)
{
    if (has_tool(name)) return;
    print_message("# SKIP no %s here\n", name);
    skip();
}

void need_terminal(void)
{
    int end[2];
    if (openpty(&end[0], &end[1], NULL, NULL, NULL) != 0) {
        print_message("# SKIP no terminal here: %s\n", strerror(errno));
        skip();
    }
    close(end[0]);
    close(end[1]);
}

const char *cell_of(const char *csv, int row, const char *name)
{
    static char text[4][256];
    static int turn;
    int column = 0;
    const char *at = csv, *head = csv;
    for (; strncmp(head, name, strlen(name)) != 0 || !strchr(",\n", head[strlen(name)]); column++) {
        head += strcspn(head, ",\n");
        if (*head++ != ',') fail_msg("no column %s in %s", name, csv);
    }
    if (row < 0) at = last_line(csv);
    for (; row > 0; row--) at = strchr(at, '\n') + 1;
    for (; column > 0; column--) at += strcspn(at, ",\n") + 1;
    char *w = text[turn++ % 4];
    snprintf(w, sizeof text[0], "%.*s", (int)strcspn(at, ",\n"), at);
    return w;
}

int row_of(const char *csv, const char *begin)
{
    int row = 0;
    for (const char *at = csv; strncmp(at, begin, strlen(begin)) != 0; row++)
        if (!(at = strchr(at, '\n')) || !*++at) fail_msg("no row %s in %s", begin, csv);
    return row;
}

double number_in(const char *csv, int row, const char *name)
{
    const char *cell = cell_of(csv, row, name);
    return *cell ? strtod(cell, NULL) : NAN;
}

const char *out_cell(int row, const char *name)
{
    return cell_of(out, row, name);
}

double out_number(int row, const char *name)
{
    return number_in(out, row, name);
}

double file_number(const char *file, int row, const char *name)
{
    return number_in(file_slurp(file, NULL), row, name);
}

double result_of(const char *dir, const char *name)
{
    return file_number(formed("%s/result.csv", dir), -1, name);
}

int file_has(const char *name, const char *words)
{
    size_t bytes;
    char *text = file_slurp(name, &bytes);
    return memmem(text, bytes, words, strlen(words)) != NULL;
}

char *output_of(const char *format, ...)
{
    LINE(format);
    run_ok("%s", line);
    return kept_text(strdup(out));
}

char *eval_csv(const char *format, ...)
{
    LINE(format);
    return output_of("eval --threads 1 --csv --model %s", line);
}

int says(const char *words)
{
    return strstr(err, words) != NULL;
}

void assert_same_file(const char *dir, const char *other, const char *what, int same)
{
    const char *a = formed("%s/%s", dir, what), *b = formed("%s/%s", other, what);
    if (same_files(a, b) != same) fail_msg("%s and %s: expected %d", a, b, same);
}
