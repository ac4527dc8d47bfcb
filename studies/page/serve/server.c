/* server.c: one thread that answers from files and waits for children that work. A connection takes one request. Source
 * of the headers: W3C, Content Security Policy Level 3; RFC 9110. */
#include "studies/page/serve/serve.h"

#include "kernels/base/error.h"

#ifndef HAVE_MICROHTTPD

int server_run(const char *dir, unsigned port)
{
    (void)dir, (void)port;
    return error_set(ERR_INPUT, "this build has no web server: install the package "
                                "libmicrohttpd-dev, then build again");
}

#else

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernels/base/clock.h"
#include "kernels/base/plain_text.h"
#include "studies/page/report/report.h"
#include "studies/base/command.h"

/* What the page is made of. */
TEXT_EMBED(serve_html, "studies/page/serve/page.html");
TEXT_EMBED(serve_css, "studies/page/serve/page.css");
TEXT_EMBED(serve_js, "studies/page/serve/page.js");
TEXT_EMBED(scheme_js, "studies/page/told/scheme.js");

/* FREE_SHARE: one of so many seats is kept free of those who do not end their heads. HELD_MOST: bytes of large answers (from LARGE on) that
 * are on their way; one that is the same as another on its way is held once. */
enum { SEATS = 256, FREE_SHARE = 8, JOBS = 6, HEAD_SECONDS = 10, WHOLE_SECONDS = 60, TICK = 250 };
enum { LARGE = 1 << 16, HELD_MOST = 128 << 20 };

/* ---- connections ----------------------------------------------------------------------------------- */

/* A request on its way; libmicrohttpd keeps it for the connection. */
typedef struct Ask {
    char *address; /* as it was sent */
    struct MHD_Connection *connection;
    Request request;
    Job job;
    int working; /* 1: its child works, 2: it has ended, and its status and words stand here */
    int half;    /* its client sends no more, and waits for the answer */
    double look; /* when to look again whether it still does */
    unsigned status;
    const char *words;
} Ask;

typedef struct {
    struct MHD_Daemon *daemon;
    Door door;
    int root;
    Ask *at_work[JOBS];
    struct {
        int socket;   /* -1: free */
        int heard;    /* its head is here */
        double until; /* when it is cut off */
    } seat[SEATS];
    size_t seats; /* connections that the limit of descriptors allows */
} Server;

static volatile sig_atomic_t stop;

static void on_stop(int signal_number)
{
    (void)signal_number;
    stop = 1;
}

static int socket_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    return i ? i->connect_fd : -1;
}

/* Gives a connection this long from now on; seconds 0: it has ended. */
static void set_seat(Server *s, int from, int socket, double seconds)
{
    size_t i = 0;
    while (i < SEATS && s->seat[i].socket != from) i++;
    if (i == SEATS) return;
    s->seat[i].socket = seconds > 0 ? socket : -1;
    s->seat[i].heard = from == socket;
    s->seat[i].until = clock_now() + seconds;
}

/* Where few seats are free, cuts off who has not ended the head for longest: a browser sends it at once, so those who drip
 * keep nobody else waiting, however many they are. */
static void make_room(const Server *s)
{
    size_t taken = 0, first = SEATS;
    for (size_t i = 0; i < SEATS; i++) {
        if (s->seat[i].socket < 0) continue;
        taken++;
        if (!s->seat[i].heard && (first == SEATS || s->seat[i].until < s->seat[first].until))
            first = i;
    }
    if (taken > s->seats - s->seats / FREE_SHARE && first < SEATS)
        shutdown(s->seat[first].socket, SHUT_RDWR);
}

static void on_connection(void *server, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    (void)context;
    int begins = code == MHD_CONNECTION_NOTIFY_STARTED, socket = socket_of(c);
    set_seat(server, begins ? -1 : socket, socket, begins ? HEAD_SECONDS : 0);
    if (begins) make_room(server);
}

/* Cuts off who takes too long: to send a head, or to take the answer. */
static void cut_off(Server *s)
{
    double now = clock_now();
    for (size_t i = 0; i < SEATS; i++)
        if (s->seat[i].socket >= 0 && now > s->seat[i].until)
            shutdown(s->seat[i].socket, SHUT_RDWR);
}

static void *on_address(void *server, const char *address, struct MHD_Connection *c)
{
    (void)server;
    Ask *a = memory_new(1, sizeof *a);
    if (!a || !(a->address = memory_string(address))) return memory_free(a);
    a->connection = c;
    a->job.pipe = -1;
    return a;
}

static void on_end(void *server, struct MHD_Connection *c, void **state,
                   enum MHD_RequestTerminationCode why)
{
    Server *s = server;
    Ask *a = *state;
    (void)c, (void)why;
    if (!a) return;
    for (size_t i = 0; i < JOBS; i++)
        if (s->at_work[i] == a) s->at_work[i] = NULL;
    job_end(&a->job);
    memory_free(a->address);
    *state = memory_free(a);
}

/* ---- answers --------------------------------------------------------------------------------------- */

static const char *const headers[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
     "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
    {"Connection", "close"},
};

static const char plain[] = "text/plain; charset=utf-8";

/* Sends a response; response NULL: there is no memory for it. */
static enum MHD_Result send_response(struct MHD_Connection *c, unsigned status, const char *type,
                                     struct MHD_Response *r)
{
    if (!r) return MHD_NO;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        MHD_add_response_header(r, headers[i][0], headers[i][1]);
    MHD_add_response_header(r, "Content-Type", type);
    if (status == 405) MHD_add_response_header(r, "Allow", "GET, HEAD");
    enum MHD_Result done = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return done;
}

static enum MHD_Result send_text(struct MHD_Connection *c, unsigned status, const char *type,
                                 const char *text, size_t bytes)
{
    return send_response(
        c, status, type,
        MHD_create_response_from_buffer(bytes, (void *)text, MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result send_words(struct MHD_Connection *c, unsigned status, const char *words)
{
    return send_text(c, status, plain, words, strlen(words));
}

/* Large answers on their way. libmicrohttpd counts who is sent a response, and tells when nobody is any more. */
static struct {
    char *text;
    size_t bytes;
    const char *type;
    struct MHD_Response *response;
} held[SEATS];

static void let_go(void *text)
{
    for (size_t i = 0; i < SEATS; i++)
        if (held[i].text == text) held[i].text = NULL;
    memory_free(text);
}

/* Sends an answer of a child without a copy, or another one on its way that is the same. */
static enum MHD_Result send_large(Ask *a, const char *type)
{
    size_t free = SEATS, all = 0;
    for (size_t i = 0; i < SEATS; i++) {
        if (!held[i].text) free = i;
        if (!held[i].text) continue;
        all += held[i].bytes;
        if (held[i].bytes == a->job.bytes && held[i].type == type &&
            memcmp(held[i].text, a->job.text, a->job.bytes) == 0) {
            a->job.text = memory_free(a->job.text);
            return MHD_queue_response(a->connection, 200, held[i].response);
        }
    }
    if (free == SEATS || all + a->job.bytes > HELD_MOST)
        return send_words(
            a->connection, 503,
            "large answers are still on their way to others; ask again in some seconds");
    struct MHD_Response *r =
        MHD_create_response_from_buffer_with_free_callback(a->job.bytes, a->job.text, let_go);
    if (!r) return MHD_NO;
    held[free].text = a->job.text;
    held[free].bytes = a->job.bytes;
    held[free].type = type;
    held[free].response = r;
    a->job.text = NULL;
    return send_response(a->connection, 200, type, r);
}

/* Sends what the child wrote; words on what is wrong are an answer too, in plain text. */
static enum MHD_Result send_job(Ask *a)
{
    const char *type = a->status == 200 ? a->request.resource->type : plain;
    if (a->status == 503) return send_words(a->connection, 503, a->words);
    if (a->job.bytes >= LARGE) return send_large(a, type);
    return send_text(a->connection, 200, type, a->job.text, a->job.bytes);
}

static enum MHD_Result begin_work(Server *s, Ask *a)
{
    size_t i = 0;
    while (i < JOBS && s->at_work[i]) i++;
    if (i == JOBS)
        return send_words(a->connection, 503, "the server is at work; ask again in some seconds");
    if (job_start(&a->job, s->root, &a->request) != 0)
        return send_words(a->connection, 503, error_text());
    a->working = 1;
    s->at_work[i] = a;
    MHD_suspend_connection(a->connection);
    return MHD_YES;
}

static enum MHD_Result send_file(Server *s, Ask *a)
{
    char *bytes;
    size_t count;
    if (file_part(s->root, a->request.path, a->request.from, &bytes, &count) != 0)
        return send_words(a->connection, 404, error_text());
    enum MHD_Result done = send_text(a->connection, 200, a->request.resource->type, bytes, count);
    memory_free(bytes);
    return done;
}

static enum MHD_Result send_asked(Server *s, Ask *a)
{
    static const char *const fixed[] = {[ASK_PAGE] = serve_html,
                                        [ASK_STYLE] = serve_css,
                                        [ASK_SCRIPT] = serve_js,
                                        [ASK_SCHEME] = scheme_js};
    const Resource *r = a->request.resource;
    if (r->ask == ASK_WORK) return begin_work(s, a);
    if (r->ask == ASK_FILE) return send_file(s, a);
    const char *text = r->ask == ASK_REPORT_STYLE ? page_style() : fixed[r->ask];
    return send_text(a->connection, 200, r->type, text, strlen(text));
}

static enum MHD_Result on_request(void *server, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *bytes, void **state)
{
    Server *s = server;
    Ask *a = *state;
    (void)url, (void)version, (void)upload, (void)bytes;
    if (!a) return MHD_NO;
    if (a->working == 2) return send_job(a);
    const char *words,
        *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    int socket = socket_of(c),
        status = request_read(&s->door, method, host, a->address, &a->request, &words);
    set_seat(s, socket, socket, WHOLE_SECONDS);
    return status == 200 ? send_asked(s, a) : send_words(c, (unsigned)status, words);
}

/* ---- the loop -------------------------------------------------------------------------------------- */

/* Tells whether a client that sends no more still waits: its socket, which is of this machine, belongs to a process, while
 * one that was closed belongs to none (inode 0). Source: Linux, Documentation/networking/proc_net_tcp.rst. */
static int still_waits(const Server *s, struct MHD_Connection *c)
{
    char line[256];
    unsigned here, there;
    unsigned long inode;
    const struct sockaddr_in *client =
        (const void *)MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    FILE *f = fopen("/proc/net/tcp", "re");
    int waits = f == NULL; /* where this cannot be told, the work goes on: it has an end */
    while (f && !waits && fgets(line, sizeof line, f))
        waits = sscanf(line, "%*d: %*x:%x %*x:%x %*x %*x:%*x %*x:%*x %*x %*d %*d %lu", &here,
                       &there, &inode) == 3 &&
                here == ntohs(client->sin_port) && there == s->door.port && inode != 0;
    if (f) fclose(f);
    return waits;
}

/* Ends work for which nobody waits. */
static void give_up_work(const Server *s, Ask *a, int hung_up)
{
    if (!hung_up && !(a->half && clock_now() > a->look)) return;
    a->half = still_waits(s, a->connection);
    a->look = clock_now() + 1e-3 * TICK;
    if (!a->half) job_end(&a->job);
}

static void step_jobs(Server *s, const struct pollfd *gone)
{
    for (size_t i = 0; i < JOBS; i++) {
        Ask *a = s->at_work[i];
        if (!a) continue;
        give_up_work(s, a, gone[i].fd >= 0 && gone[i].revents);
        a->words = "it was given up";
        a->status = a->job.child ? (unsigned)job_step(&a->job, &a->words) : 503;
        if (a->status == 0) continue;
        a->working = 2;
        s->at_work[i] = NULL;
        MHD_resume_connection(a->connection);
    }
}

/* libmicrohttpd calls this where it cannot go on. */
static void give_up(void *server, const char *file, unsigned line, const char *why)
{
    (void)server, (void)file, (void)line;
    error_set(ERR_SYSTEM, "libmicrohttpd: %s", why ? why : "it cannot go on");
    command_failed(ERR_SYSTEM);
    _exit(1);
}

static int loop(Server *s)
{
    MHD_UNSIGNED_LONG_LONG due;
    int connections = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    while (!stop) {
        struct pollfd wait[1 + 2 * JOBS] = {{connections, POLLIN, 0}};
        for (size_t i = 0; i < JOBS; i++) {
            const Ask *a = s->at_work[i];
            int half = !a || a->half;
            wait[1 + i] = (struct pollfd){half ? -1 : socket_of(a->connection), POLLRDHUP, 0};
            wait[1 + JOBS + i] = (struct pollfd){a ? a->job.pipe : -1, POLLIN, 0};
        }
        int soon = MHD_get_timeout(s->daemon, &due) == MHD_YES && due < TICK ? (int)due : TICK;
        if (poll(wait, 1 + 2 * JOBS, soon) < 0 && errno != EINTR)
            return error_set(ERR_SYSTEM, "poll: %s", strerror(errno));
        step_jobs(s, wait + 1);
        cut_off(s);
        MHD_run(s->daemon);
    }
    return 0;
}

/* Finds how many connections there are descriptors for, beside those of jobs, libraries and files. */
static int count_seats(Server *s)
{
    enum { OTHERS = 2 * JOBS + 20, LEAST = 16 };
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) != 0) l.rlim_cur = l.rlim_max = SEATS + OTHERS;
    if (l.rlim_cur < SEATS + OTHERS && l.rlim_cur < l.rlim_max) {
        l.rlim_cur = l.rlim_max < SEATS + OTHERS ? l.rlim_max : SEATS + OTHERS;
        setrlimit(RLIMIT_NOFILE, &l);
    }
    if (l.rlim_cur < OTHERS + LEAST)
        return error_set(ERR_INPUT, "a server needs %d open files, and %zu are allowed (ulimit -n)",
                         OTHERS + LEAST, (size_t)l.rlim_cur);
    s->seats = l.rlim_cur - OTHERS < SEATS ? l.rlim_cur - OTHERS : SEATS;
    return 0;
}

/* Binds to 127.0.0.1 alone. */
static int begin(Server *s, unsigned port)
{
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (size_t i = 0; i < SEATS; i++) s->seat[i].socket = -1;
    TRY(count_seats(s));
    MHD_set_panic_func(give_up, NULL);
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, s,
        MHD_OPTION_SOCK_ADDR, &here, MHD_OPTION_CONNECTION_LIMIT, (unsigned)s->seats,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HEAD_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)2 * ADDRESS_MOST, MHD_OPTION_URI_LOG_CALLBACK, on_address, s,
        MHD_OPTION_NOTIFY_COMPLETED, on_end, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (!s->daemon)
        return error_set(ERR_INPUT, "port %u of the loopback address: %s", port, strerror(errno));
    s->door.port = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    return 0;
}

/* Tells the address to who started the server. */
static int tell(const Server *s, const struct sigaction *end)
{
    if (s->door.port == 0) return error_set(ERR_SYSTEM, "the system does not tell the port");
    if (sigaction(SIGINT, end, NULL) != 0 || sigaction(SIGTERM, end, NULL) != 0)
        return error_set(ERR_SYSTEM, "sigaction: %s", strerror(errno));
    printf("http://127.0.0.1:%u/%s/\n", s->door.port, s->door.token);
    if (fflush(stdout) != 0) return error_set(ERR_SYSTEM, "stdout: %s", strerror(errno));
    return 0;
}

int server_run(const char *dir, unsigned port)
{
    static Server s;
    struct sigaction end = {.sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND};
    TRY(door_lock(&s.door));
    s.root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s.root < 0) return error_set(ERR_INPUT, "%s: %s", dir, strerror(errno));
    int code = begin(&s, port);
    if (code == 0) {
        code = tell(&s, &end);
        if (code == 0) code = loop(&s);
        for (size_t i = 0; i < JOBS; i++)
            if (s.at_work[i]) {
                job_end(&s.at_work[i]->job);
                MHD_resume_connection(s.at_work[i]->connection);
            }
        MHD_stop_daemon(s.daemon);
    }
    close(s.root);
    return code;
}

#endif
