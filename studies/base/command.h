/* command.h: a command of the program, and what all commands share. */
#ifndef TROTTER_COMMAND_H
#define TROTTER_COMMAND_H

#include "kernels/base/error.h"
#include "studies/base/kind.h"
#include "studies/base/option.h"
#include "studies/base/output.h"
#include "studies/base/progress.h"

/* The newest heading of CHANGES.md; -dev marks a version that is not released. */
#define TROTTER_VERSION "0.3.0-dev"

/* Words that the overview and the man pages share. */
#define TROTTER_PURPOSE \
    "An integrator written once, as a text, gives orders, plots and language models."
#define TROTTER_USE                                                                     \
    "'trotter COMMAND --help' (or -h) prints a command's usual options, '--help all'\n" \
    "all of them. Data goes to stdout, messages to stderr.\n"
#define TROTTER_STATUS "0 done; 2 something given is unusable; 1 failed, or a check not met"
/* Help for commands that save. */
#define TROTTER_STATUS_SAVED ";\n130 interrupted and saved"

typedef struct {
    const char *name;
    const char *purpose; /* one line */
    const char *about;   /* paragraphs for --help all */
    const char *often;   /* options that most people use, parted by blanks, for --help; NULL: all */
    const char *example; /* what follows trotter NAME */
    const OptionGroup *const *groups;
    const char *operand; /* option that a first argument without -- sets; NULL: none */
    /* Returns the groups in force once options are read, for help and for refusing options; NULL: all are. */
    const OptionGroup *const *(*narrow)(const Options *o, const char **where);
    int saves;          /* 1: reads command_stop; SIGINT and SIGTERM end the others, which say so */
    int ranks;          /* 1: processes of mpirun do one run together; the first speaks for all */
    int one_file;       /* 1: --out is the one file it writes, not a directory of results */
    const char *faster; /* what makes it less work, for lines of progress; NULL: nothing */
    const Kind *kinds;  /* of the studies that it writes, up to a NULL command; NULL: none */
    /* Paragraphs behind `about`, of a language that several commands read; NULL: none. */
    const char *language[2];
    int (*run)(Options *o); /* returns a code of error.h, with its words in error_text */
} Command;

/* All commands, up to NULL: commands.c sets it before main. What is below the commands reads the list here, so that it need
 * not know them. */
extern const Command *const *command_all;

/* Names the command that runs, for its words on stderr. */
void command_begin(const char *name);

/* SIGINT and SIGTERM set it where a command saves what it has. */
extern volatile int command_stop;

/* Sets the error ERR_INTERRUPTED, whose words say that the same command goes on from here, and returns it. */
int command_interrupted(void);

/* A variable of the environment, NAME=VALUE, with which another of its commands begins faster (start.h), or NULL: main sets it. */
extern const char *command_setting;

/* Returns the path of this program, for running another of its commands; borrowed. */
const char *command_program(void);

/* Writes the line on stderr for the failure that ends the command; only the first call writes. The program
 * calls it at its end, a command where that would be too late. */
void command_failed(int code);

/* Writes the line on stderr of a command that a signal ends; a signal handler may call it. */
void notice_interrupted(void);

/* Writes words on stderr that begin as an error does ("trotter NAME: warning: ..."). */
void notice_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Does so for what the machine lacks, as gnuplot: it says nothing of the results, so the record leaves it out. */
void notice_lacks(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns the warnings so far, as "warning: ...; warning: ...", for the record of the command; borrowed. */
const char *notice_warnings(void);

#endif
