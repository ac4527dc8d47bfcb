/* serve.h: a page on the loopback address that shows what a directory has.
 *
 *   request.c  who may ask, and for what          served_files.c    files below the directory, lists of them
 *   work.c     work in child processes, bounded   place.c   what is told of a typed scheme
 *   server.c   connections (libmicrohttpd), headers, time limits
 *
 * Nothing is written, started or read outside the directory, whatever is asked: the two functions that decide so are
 * request_read and file_beneath (kernels/base/file.h).
 */
#ifndef TROTTER_STUDIES_SERVE_H
#define TROTTER_STUDIES_SERVE_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- request.c ----------------------------------------------------------------------------------- */

enum { TOKEN_DIGITS = 32, ADDRESS_MOST = 32768, PATH_MOST = 1024, TEXT_MOST = 8192 };

/* What is asked for: files that the program has in it, work for a child, a file's bytes. */
enum { ASK_PAGE, ASK_REPORT_STYLE, ASK_STYLE, ASK_SCRIPT, ASK_SCHEME, ASK_FILE, ASK_WORK };

typedef struct Request Request;
typedef int Work(const Request *r, FILE *f);

/* A resource: its name behind the token, the fields that its query must have (bits of FIELD_*), and its work. */
enum { FIELD_PATH = 1, FIELD_FROM = 2, FIELD_TEXT = 4 };
typedef struct {
    const char *name;
    int ask;
    unsigned fields;
    const char *type; /* Content-Type */
    Work *work;       /* of ASK_WORK */
} Resource;

struct Request {
    const Resource *resource;
    char path[PATH_MOST + 1]; /* of a table, relative, as path_allowed has it */
    char text[TEXT_MOST + 1]; /* of schemes */
    size_t from;              /* first byte */
};

/* Whom the server answers: the token of its address, its port. */
typedef struct {
    char token[TOKEN_DIGITS + 1];
    unsigned port;
} Door;

/* Makes a token of 128 random bits (getrandom). ERR_SYSTEM. */
int door_lock(Door *d);

/* Reads a request whose address is as the client sent it, "/TOKEN/file?path=a%2Flog.csv&from=0". Returns 200, or the
 * status of its refusal with one line of `words`: 405 for methods other than GET and HEAD; 403 for a Host other than
 * 127.0.0.1:PORT and localhost:PORT (NULL: none was sent), as another site's name that leads here has, and for another
 * token, which is compared in constant time; 414, 404, 400 for an address that is too long, unknown or malformed. */
int request_read(const Door *d, const char *method, const char *host, const char *address,
                 Request *out, const char **words);

/* ---- served_files.c -------------------------------------------------------------------------------------- */

/* Returns 1 for the path of a table that may be read: relative, its parts neither empty nor beginning with '.', without
 * control characters, the last one log.csv or runs.csv. */
int path_allowed(const char *path);

/* Reads at most FILE_MOST bytes of a regular file beneath a directory's descriptor (file_beneath), from byte `from` on.
 * ERR_INPUT, ERR_MEMORY; the caller frees *bytes. */
enum { FILE_MOST = 1 << 20 };
int file_part(int root, const char *path, size_t from, char **bytes, size_t *count);

/* Writes the log.csv and runs.csv below the folder that the process is in, as CSV: path, bytes, seconds since it changed,
 * whether its training is over. Hidden folders and symbolic links are left out. */
int file_list(const Request *r, FILE *f);
/* Writes the trainings below it that have ended, a row each of their options and results, as CSV (frame_trainings). */
int file_trainings(const Request *r, FILE *f);
/* Writes the report of the folder as HTML (studies/page/report/report.h). */
int file_report(const Request *r, FILE *f);

/* ---- work.c -------------------------------------------------------------------------------------- */

/* Work in a child process, whose answer comes through a pipe. The child has WORK_SECONDS of a processor, WORK_BYTES of
 * memory and WORK_ANSWER bytes of answer, can write no file, and has no descriptor but its pipe. */
enum { WORK_SECONDS = 10, WORK_WAIT = 20, WORK_BYTES = 1 << 30, WORK_ANSWER = 64 << 20 };

typedef struct {
    pid_t child; /* 0: none */
    int pipe;
    double until;
    char *text; /* the answer so far; owned */
    size_t bytes, room;
} Job;

int job_start(Job *j, int root, const Request *r);
/* Reads what has come. Returns 0 while the child works, else ends the job and returns 200; 422: the text is a line on what
 * is wrong with the request; 503: the work was too much, as `words` say. */
int job_step(Job *j, const char **words);
void job_end(Job *j); /* ends the child too */

/* ---- place.c: what is told of a scheme as soon as it is typed ------------------------------------- */

/* place_check: HTML on every scheme of the text, place_region: CSV (studies/page/told/told.h). place_order writes CSV: errors
 * over steps on the default system and, behind an empty line, what they show (order_points, order_summary). */
int place_check(const Request *r, FILE *f);
int place_region(const Request *r, FILE *f);
int place_order(const Request *r, FILE *f);

/* ---- server.c ------------------------------------------------------------------------------------ */

/* Answers on the loopback address until SIGINT or SIGTERM. port 0: any that is free. Prints the address on stdout in one
 * line. ERR_INPUT: the port is in use, or the program was built without libmicrohttpd. */
int server_run(const char *dir, unsigned port);

#endif
