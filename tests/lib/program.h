/* program.h: runs the program under test, and other programs, in scratch.h's folder. TROTTER names the program; without
 * it, the one of the same build. */
#ifndef TROTTER_TESTS_PROGRAM_H
#define TROTTER_TESTS_PROGRAM_H

#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/lib/scratch.h"

extern char program[PATH_MAX];
extern char out[1 << 20], err[1 << 16]; /* stdout and stderr of the last line that was run */

int program_open(void **state);
int program_close(void **state);

/* The exit status of `trotter ARGUMENTS`, which has five minutes; < 0: as shell() has it. */
int program_run(const char *arguments);

/* The exit status of a line of the shell in the folder, with nothing on stdin unless it says so; -N: it died of
 * signal N. What a program needs of its surroundings is said there: "ulimit -f 8;", "env NAME=value", "timeout 10". */
int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Runs a line that prepares a test and must succeed; out and err stay. */
void shell_ok(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As shell() for a line of one command, which goes on by itself, can be interrupted and says what it
 * says in LOG.out and LOG.err. */
pid_t shell_start(const char *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
int shell_finish(pid_t pid);

/* `trotter ARGUMENTS` must end with this status, or the test fails with what it said. */
void expect(int status, const char *arguments);
void run_ok(const char *arguments);

/* Takes result and state from the directory that `arguments` name last: train would spare them. */
void forget_result(const char *arguments);

/* The named cell of a row, from 1, of the CSV in `out`; good until the next call. */
const char *out_cell(int row, const char *name);

/* What `trotter eval --csv --model ARGUMENTS` prints; the caller frees it. */
char *eval_csv(const char *arguments);

/* Whether the last run said so on stderr. */
int says(const char *words);

/* Whether DIR/WHAT and OTHER/WHAT are the same bytes is as told, or the test fails. */
void assert_same_file(const char *dir, const char *other, const char *what, int same);

int count_lines(const char *text);
int count_words(const char *text, const char *words);

/* The last line of a text, with its line end. */
const char *last_line(const char *text);

/* Whether the last run, of this status, refused what it was given: status 2, no data, one line that begins with the
 * program's name and has the words. */
int refuses(int status, const char *words);
void must_refuse(const char *arguments, const char *words);

/* Whether it did so in the line "trotter COMMAND: WORDS...". */
int refused(int status, const char *command, const char *words);

/* A small corpus whose lines repeat, so that a few steps beat the frequencies of words: so many lines to train on, and
 * so many in valid.txt and test.txt. */
void corpus_write(const char *dir, int train, int others);

/* Options of a small network, and of its training on such a corpus. */
#define SMALL_NETWORK \
    " --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 256 --rate 1e-2 --threads 1 "
#define SMALL_TRAINING SMALL_NETWORK "--warmup 10 "

void pause_ms(long ms);

/* Whether there is a program of this name; need_tool skips the test, and says so, where there is none. */
int has_tool(const char *name);
void need_tool(const char *name);
/* Skips the test, and says so, where no terminal is to be had: a chroot may be without /dev/pts. */
void need_terminal(void);

#endif
