/* requests.h: requests to `trotter serve` over plain sockets, and one who asks a server that a harness has started, from a
 * thread of the harness, and then stops it. */
#ifndef TROTTER_TESTS_REQUESTS_H
#define TROTTER_TESTS_REQUESTS_H

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "studies/page/serve/serve.h"
#include "tests/lib/program.h"

/* Returns a socket that is connected to the server; -1: there is none. */
static inline int request_connect(const Door *d)
{
    struct sockaddr_in there = {AF_INET, htons((uint16_t)d->port), {htonl(INADDR_LOOPBACK)}, {0}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&there, sizeof there) == 0) return fd;
    close(fd);
    return -1;
}

/* Reads until the server closes, for at most AWAIT_SECONDS. Returns the status; 0: there was no answer. */
static inline int request_hear(int fd, char *answer, size_t room)
{
    size_t n = 0;
    int status = 0;
    struct pollfd wait = {fd, POLLIN, 0};
    while (fd >= 0 && n + 1 < room && poll(&wait, 1, 1000 * AWAIT_SECONDS) == 1) {
        ssize_t got = read(fd, answer + n, room - 1 - n);
        if (got <= 0) break;
        n += (size_t)got;
    }
    answer[n] = '\0';
    if (fd >= 0) close(fd);
    sscanf(answer, "HTTP/1.1 %d", &status);
    return status;
}

/* Returns what stands behind the head of an answer. */
static inline const char *request_body(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    return end ? end + 4 : answer + strlen(answer);
}

/* Sends bytes as they are, and does not wait for an answer. */
static inline int request_send(const Door *d, const char *head, size_t bytes)
{
    int fd = request_connect(d);
    for (ssize_t n; fd >= 0 && bytes > 0; head += n, bytes -= (size_t)n)
        if ((n = send(fd, head, bytes, MSG_NOSIGNAL)) <= 0) break;
    return fd;
}

static inline int request_say(const Door *d, const char *head, size_t bytes, char *answer,
                              size_t room)
{
    return request_hear(request_send(d, head, bytes), answer, room);
}

/* Asks for what stands behind the token. */
static inline int request_ask(const Door *d, const char *resource, char *answer, size_t room)
{
    static __thread char head[2 * ADDRESS_MOST];
    int n = snprintf(head, sizeof head, "GET /%s/%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
                     d->token, resource, d->port);
    return request_say(d, head, (size_t)n, answer, room);
}

/* Writes the address of a resource that is asked about a scheme's text, of which as much as may be asked, in whole lines. */
static inline const char *request_about(const char *resource, const char *text)
{
    static char address[4 * TEXT_MOST];
    size_t n = (size_t)snprintf(address, sizeof address, "%s?text=", resource);
    size_t bytes = strlen(text);
    if (bytes > TEXT_MOST)
        for (bytes = TEXT_MOST; bytes > 0 && text[bytes - 1] != '\n';) bytes--;
    for (const char *c = text; c < text + bytes; c++)
        n += (size_t)snprintf(address + n, 4, "%%%02x", (unsigned char)*c);
    return address;
}

/* ---- one who asks ------------------------------------------------------------------------------------ */

/* The server writes its address to stdout; the answers go to a file, without the digits of `files`, which are times. */
typedef struct {
    const char *resources; /* parted by blanks */
    int tries;             /* each is asked until its answer is whole, so often at most */
    char address[PATH_MAX], answers[PATH_MAX];
    _Atomic pid_t server;
    atomic_int over; /* 1: the server has ended */
    int status;      /* of the last answer; 0: there was none */
    pthread_t thread;
} Asker;

static inline int asker_finds(const Asker *a, Door *d)
{
    char line[256] = "";
    FILE *f = fopen(a->address, "r");
    int n = f && fgets(line, sizeof line, f) && strchr(line, '\n')
                ? sscanf(line, "http://127.0.0.1:%u/%32s/", &d->port, d->token)
                : 0;
    if (f) fclose(f);
    return n == 2;
}

/* Tells whether an answer is neither words on what is wrong nor a page without some of its files. */
static inline int asker_done(int status, const char *answer)
{
    return status == 200 && !strstr(answer, "Content-Type: text/plain") &&
           !strstr(answer, "Left out: ") && !strstr(answer, "<h2>Files left out");
}

static inline void asker_asks(Asker *a, const Door *d, const char *resource, FILE *f)
{
    enum { MOST = 4 << 20 };
    char *answer = malloc(MOST);
    int status = 0, files = strcmp(resource, "files") == 0;
    for (int i = 0; answer && (!i || !asker_done(status, answer)) && i < a->tries && !a->over; i++)
        status = request_ask(d, resource, answer, MOST);
    a->status = status;
    fprintf(f, "%.40s: %d\n", resource, status);
    for (const char *c = answer ? request_body(answer) : ""; *c; c++)
        if (!files || *c < '0' || *c > '9') fputc(*c, f);
    free(answer);
}

static inline void *asker_run(void *arg)
{
    Asker *a = arg;
    Door d = {{0}, 0};
    while (!a->server || !asker_finds(a, &d))
        if (usleep(2000) == 0 && a->over) return NULL;
    char *words = strdup(a->resources), *rest = words;
    FILE *f = fopen(a->answers, "w");
    while (f && rest) asker_asks(a, &d, strsep(&rest, " "), f);
    if (f) fclose(f);
    free(words);
    if (!a->over) test_signal(a->server, SIGTERM);
    return NULL;
}

/* Begins to ask the server that will write its address to the file `address`, and whose process is told by a->server. */
static inline void asker_begin(Asker *a, const char *resources, int tries, const char *address,
                               const char *answers)
{
    sigset_t all, before;
    *a = (Asker){.resources = resources, .tries = tries};
    snprintf(a->address, sizeof a->address, "%s", file_path(address));
    snprintf(a->answers, sizeof a->answers, "%s", file_path(answers));
    unlink(a->address); /* the last one's */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the harness's */
    assert_int_equal(pthread_create(&a->thread, NULL, asker_run, a), 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static inline void asker_end(Asker *a)
{
    a->over = 1;
    pthread_join(a->thread, NULL);
}

#endif
