/* program.h: runs the program under test, and other programs, in scratch.h's folder. TROTTER names the program; without
 * it, the program of the same build runs. */
#ifndef TROTTER_TESTS_PROGRAM_H
#define TROTTER_TESTS_PROGRAM_H

#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/lib/await.h"
#include "tests/lib/scratch.h"

extern char program[PATH_MAX];
extern char out[1 << 20], err[1 << 16]; /* stdout and stderr of the last line that ran */

int program_open(void **state);
int program_close(void **state);

/* The program finds no gnuplot, as plots take longer than small trainings, but in tests between these two and in
 * programs that program_open_drawn opens. */
int program_draw(void **state);
int program_hide(void **state);
int program_open_drawn(void **state);
#define TEST_DRAWN(name) TEST_BETWEEN(name, program_draw, program_hide)

/* Returns the exit status of `trotter ARGUMENTS`, which has five minutes; < 0 as in shell(). */
int program_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Runs a shell line in the folder and returns its exit status, or -N where signal N killed it. stdin is empty unless
 * the line says otherwise. The line sets the surroundings of a program: "ulimit -f 8;", "env NAME=value", "timeout
 * 10". */
int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Runs a line that prepares a test and must succeed; out and err stay. */
void shell_ok(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the number that a shell line prints, which must succeed. */
double shell_number(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Starts a line of one command as shell() would. It goes on by itself, can be interrupted, and writes to LOG.out and
 * LOG.err. */
pid_t shell_start(const char *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
int shell_finish(pid_t pid);

/* Waits until a file has so many lines, 0: until it is there (await.h). */
void await_lines(const char *file, int lines);

/* Returns the seconds of a processor that a child has had; 0 where there is none. They do not depend on how busy the machine
 * is. catches tells whether it has a handler for a signal. */
double processor_of(pid_t pid);
int catches(pid_t pid, int number);

/* Starts `trotter ARGUMENTS` with the log "child", interrupts it once a file has so many lines, and returns its exit
 * status. It is the nicer of the two processes, so that on a busy machine it does not end before this one looks. */
int interrupt_at(const char *file, int lines, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Tells whether the last run, of this status, came to its end: 0, or 1 of a training that diverged. */
int trained(int status);

/* Fails the test with the program's words unless `trotter ARGUMENTS` ends with this status. run_ok expects that
 * it came to its end. */
void expect(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
void run_ok(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Runs it as run_ok does, and holds stdout, or stderr, to these parts. */
#define must_print(arguments, ...) \
    must_print_all(arguments, (const char *const[]){__VA_ARGS__, NULL})
#define must_tell(arguments, ...) must_tell_all(arguments, (const char *const[]){__VA_ARGS__, NULL})
void must_print_all(const char *arguments, const char *const *parts);
void must_tell_all(const char *arguments, const char *const *parts);
/* Runs it as run_ok does and returns its stdout (kept_text). */
char *output_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Removes result and state from the directory that `arguments` name last: train would spare them. */
void forget_result(const char *arguments);

/* Returns the named cell of a row, from 1 (< 0: from the last), of a CSV or of the one in `out`; the numbers are NaN
 * where the cell is empty. A text is good until the fourth call after it. */
const char *cell_of(const char *csv, int row, const char *name);
const char *out_cell(int row, const char *name);
/* Returns the number of the first row that begins with these words; fails the test where there is none. */
int row_of(const char *csv, const char *begin);
double number_in(const char *csv, int row, const char *name);
double out_number(int row, const char *name);
double file_number(const char *file, int row, const char *name);
double result_of(const char *dir, const char *name); /* of the last row of DIR/result.csv */

/* Returns the output of `trotter eval --csv --model ARGUMENTS`. */
char *eval_csv(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Tells whether the last run wrote these words to stderr. */
int says(const char *words);

/* Fails the test unless DIR/WHAT and OTHER/WHAT hold the same bytes, or other bytes where `same` is 0. */
void assert_same_file(const char *dir, const char *other, const char *what, int same);

/* Tells whether a file, which must be there, has the words. */
int file_has(const char *name, const char *words);

int count_lines(const char *text);
int count_words(const char *text, const char *words);

/* Returns the last line of a text, with its line end. */
const char *last_line(const char *text);

/* Tells whether the last run, of this status, refused its input: status 2, no data, and one line that begins with the
 * program's name and has the words. */
int refuses(int status, const char *words);
void must_refuse(const char *arguments, const char *words);

/* Each row: what stands for the %s of `format`, and the words of its refusal, which makes no file or folder `never`
 * (NULL: none is looked for). */
#define REFUSE_ALL(format, rows, never) refuse_all(format, rows, sizeof rows / sizeof *rows, never)
void refuse_all(const char *format, const char *const rows[][2], size_t count, const char *never)
    __attribute__((format(printf, 1, 0)));

/* Tells whether it did so in the line "trotter COMMAND: WORDS...". */
int refused(int status, const char *command, const char *words);

/* Writes a small corpus whose lines repeat, so that a few steps beat the frequencies of words. It has `train` lines to
 * train on, and `others` lines each in valid.txt and test.txt. */
void corpus_write(const char *dir, int train, int others);

/* Options of a small network, and of its training on such a corpus. */
#define SMALL_NETWORK \
    " --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 256 --rate 1e-2 --threads 1 "
#define SMALL_TRAINING SMALL_NETWORK "--warmup 10 "

void pause_ms(long ms);

/* has_tool tells whether there is a program of this name. need_tool skips the test, and says so, where there is
 * none. */
int has_tool(const char *name);
void need_tool(const char *name);
/* Skips the test, and says so, where there is no terminal: a chroot may lack /dev/pts. */
void need_terminal(void);

#endif
