/* test_serve.c: `trotter serve`, asked through plain sockets: who is answered, what is read, what is never written, and what
 * slow, many and hostile requests cost; its page in a browser. */
#include "tests/lib/test.h"

#include <dirent.h>
#include <time.h>

#include "kernels/base/clock.h"
#include "tests/lib/html.h"
#include "tests/lib/requests.h"

/* ---- results ----------------------------------------------------------------------------------------- */

#define SECRET "words of a file outside\n"
#define LOG \
    "step,epoch,tokens,train_loss,valid_ppl,rate,grad_norm,tokens_per_s\n1,1,9,2.5,12,0.1,1,9\n"

/* A folder of results with a training, a table of runs and what must not be read. */
static void make_results(void)
{
    shell_ok("mkdir -p results/a/b results/.hidden results/dir/log.csv outside && mkfifo "
             "results/a/runs.csv && ln -s ../../secret results/a/secret && ln -s /etc results/etc "
             "&& ln -s ../../outside results/a/out");
    file_text("secret", SECRET);
    file_text("outside/log.csv", SECRET);
    file_text("results/a/b/log.csv", LOG);
    file_text("results/.hidden/log.csv", SECRET);
    file_text("results/a/notes.csv", SECRET);
    shell_ok(
        "ln -s ../../secret results/a/log.csv; ln -s ../secret results/README.md; ln -s ../../../secret "
        "results/a/b/config.ini");
    run_ok("schemes --scheme euler,heun --out results/s");
    shell_ok("ln -s ../../secret results/s/README.md");
}

/* ---- a server and requests ------------------------------------------------------------------------- */

static pid_t server;
static Door door;            /* its token and port */
static char answer[8 << 20]; /* head and body of the last answer */
static const char *body;

/* Tells whether the server has written its address; skips the test where the program was built without. */
static int is_told(char *told, size_t room)
{
    file_read("serve.out", told, room);
    file_read("serve.err", answer, sizeof answer);
    if (strstr(answer, "libmicrohttpd")) skip();
    return strchr(told, '\n') != NULL;
}

/* Starts the server of a folder. */
static void serve(const char *dir)
{
    char told[256] = "";
    shell_ok("rm -f serve.out"); /* the last one's address */
    server = shell_start("serve", "%s serve %s", program, dir);
    AWAIT(is_told(told, sizeof told));
    assert_int_equal(sscanf(told, "http://127.0.0.1:%u/%32s/", &door.port, door.token), 2);
    assert_int_equal(strlen(door.token), TOKEN_DIGITS);
    assert_int_equal(count_lines(told), 1);
}

static void unserve(void)
{
    assert_int_equal(test_signal(server, SIGINT), 0);
    assert_int_equal(shell_finish(server), 0);
}

static int connect_to(void)
{
    int fd = request_connect(&door);
    assert_true(fd >= 0);
    return fd;
}

static int heard(int status)
{
    body = request_body(answer);
    return status;
}

static int hear(int fd)
{
    return heard(request_hear(fd, answer, sizeof answer));
}

static int say(const char *head, size_t bytes)
{
    return heard(request_say(&door, head, bytes, answer, sizeof answer));
}

static int ask(const char *resource)
{
    return heard(request_ask(&door, resource, answer, sizeof answer));
}

/* Asks about a scheme's text. */
static int ask_scheme(const char *resource, const char *text)
{
    return ask(request_about(resource, text));
}

static void must_say(int status, int expected, const char *words)
{
    if (status != expected || !strstr(answer, words))
        fail_msg("status %d, expected %d with '%s': %.600s", status, expected, words, answer);
}

#define FAR "scheme far\nk1 = H(y)\nk2 = H(y + k1)\ny' = y + 99/100*k1 + 1/100*k2\n"
#define BACK "scheme back\nk1 = H(y + k1)\ny' = y + k1\n"
#define SCHEME "scheme typed\nk1 = H(y)\nk2 = H(y + k1)\ny' = y + 1/2*k1 + 1/2*k2\n"
/* ---- who is answered -------------------------------------------------------------------------------- */

TEST(who_may_ask)
{
    static const struct {
        const char *line, *host;
        int status;
    } rows[] = {
        {"GET /%s/", "127.0.0.1:%u", 200},
        {"GET /%s/", "localhost:%u", 200},
        {"HEAD /%s/", "localhost:%u", 200},
        {"GET /%s/", "example.org:%u", 403},
        {"GET /%s/", "127.0.0.1", 403},
        {"GET /%s/", "127.0.0.1:%u0", 403},
        {"GET /%s/", "127.0.0.1:%u.evil", 403},
        {"GET /%s/", "LOCALHOST.evil:%u", 403},
        {"GET /%s/", NULL, 400},
        {"POST /%s/", "127.0.0.1:%u", 405},
        {"PUT /%s/log.csv", "127.0.0.1:%u", 405},
        {"GET /", "127.0.0.1:%u", 403},
        {"GET /%s", "127.0.0.1:%u", 403},
        {"GET /%sa/", "127.0.0.1:%u", 403},
        {"GET //%s/", "127.0.0.1:%u", 403},
        {"GET /%s/nothing", "127.0.0.1:%u", 404},
        {"GET /%s/report?x=1", "127.0.0.1:%u", 400},
    };
    serve("results");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char head[512], line[128], host[128] = "";
        snprintf(line, sizeof line, rows[i].line, door.token);
        if (rows[i].host) snprintf(host, sizeof host, rows[i].host, door.port);
        int n = snprintf(head, sizeof head, "%s HTTP/1.1\r\n%s%s%s\r\n", line,
                         rows[i].host ? "Host: " : "", host, rows[i].host ? "\r\n" : "");
        int status = say(head, (size_t)n);
        if (status != rows[i].status)
            fail_msg("%s, Host: %s: %d, expected %d", line, host, status, rows[i].status);
        if (strncmp(line, "HEAD", 4) == 0) assert_string_equal(body, "");
    }
    char right[sizeof door.token];
    strcpy(right, door.token);
    for (int i = 0; i < TOKEN_DIGITS; i += 31) {
        door.token[i] = right[i] == '0' ? '1' : '0';
        must_say(ask(""), 403, "no address");
        strcpy(door.token, right);
    }
    must_say(ask(""), 200, "<!DOCTYPE html>");
    must_say(200, 200,
             "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
             "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'");
    must_say(200, 200, "X-Content-Type-Options: nosniff");
    must_say(200, 200, "Referrer-Policy: no-referrer");
    HAS(answer, "~Access-Control", "~unsafe");
    unserve();
}

/* The server listens on the loopback address alone, and every start has another token. */
TEST(where_it_listens)
{
    char first[sizeof door.token];
    serve("results");
    strcpy(first, door.token);
    const char *port = formed(":%04X ", door.port);
    const char *table = path_slurp("/proc/net/tcp", NULL);
    if (table) {
        const char *at = strstr(table, port);
        assert_non_null(at);
        assert_int_equal(strncmp(at - 8, "0100007F", 8), 0);
    }
    unserve();
    serve("results");
    assert_string_not_equal(first, door.token);
    unserve();
    must_refuse("serve results --port 80", "1024");
    must_refuse("serve nowhere", "nowhere");
    must_refuse("serve", "trotter serve DIR");
}

/* ---- what is read ----------------------------------------------------------------------------------- */

TEST(what_is_read)
{
    static const struct {
        const char *path;
        int status;
    } rows[] = {
        {"a/b/log.csv", 200},
        {"a%2fb%2Flog.csv", 200},
        {"a/log.csv", 404},     /* a link out */
        {"a/out/log.csv", 404}, /* through a link out */
        {"a/runs.csv", 404},    /* a FIFO */
        {"dir/log.csv", 404},   /* a folder */
        {"nowhere/log.csv", 404},
        {"a/notes.csv", 400}, /* no table of runs */
        {"a/secret", 400},
        {".hidden/log.csv", 400},
        {"../outside/log.csv", 400},
        {"%2e%2e/outside/log.csv", 400},
        {"a/%2e%2e/%2e%2e/outside/log.csv", 400},
        {"%252e%252e/outside/log.csv", 404},
        {"a/./b/log.csv", 400},
        {"a//b/log.csv", 400},
        {"/etc/log.csv", 400},
        {"a/b/log.csv%00", 400},
        {"a/b/log.csv%", 400},
        {"a/b/log.csv%2", 400},
        {"a/b/log.csv%2z", 400},
        {"", 400},
    };
    serve("results");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int status = ask(formed("file?path=%s&from=0", rows[i].path));
        if (status != rows[i].status || strstr(answer, "words of"))
            fail_msg("%s: %d, expected %d: %.300s", rows[i].path, status, rows[i].status, answer);
        if (status == 200) assert_string_equal(body, LOG);
        if (status == 404 && !strstr(body, "there is no such table"))
            fail_msg("%s was opened: %.300s", rows[i].path, answer);
    }
    must_say(ask("file?path=a/b/log.csv&from=67"), 200, "\r\n\r\n1,1,9,2.5,12,0.1,1,9\n");
    must_say(ask("file?path=a/b/log.csv&from=900"), 200, "Content-Length: 0");
    static const char *const malformed[] = {"file?path=a/b/log.csv",
                                            "file?path=a/b/log.csv&from=-1",
                                            "file?path=a/b/log.csv&from=",
                                            "file?path=a/b/log.csv&from=1234567890123456",
                                            "file?path=a/b/log.csv&other=0",
                                            "file?path=a/b/log.csv&from=0&from=0",
                                            "file?from=0",
                                            "file",
                                            "check",
                                            "check?text=",
                                            "file?path=a/b/log.csv&from=0&text=a"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        must_say(ask(malformed[i]), 400, "malformed");
    must_say(ask("../%s/"), 404, "");
    must_say(ask("files"), 200, "a/b/log.csv,");
    HAS(body, "~hidden", "~a/log.csv", "~out/");
    must_say(ask("trainings"), 200, "No training has ended here yet.");
    shell_ok(
        "echo valid_ppl >result.csv; echo 5 >>result.csv; cp result.csv results/a/b; cp result.csv results/a; "
        "mkdir results/c; mv result.csv results/c; echo 'width = 8' >results/a/config.ini; "
        "echo 'rate = 1e-3' >results/c/config.ini");
    must_say(ask("trainings"), 200, "folder,width,rate,valid_ppl\na,8,,5\nc,,0.001,5\n");
    HAS(body, "~a/b", "~" SECRET); /* whose config.ini is a link out */
    shell_ok("rm -r results/c results/a/result.csv results/a/config.ini results/a/b/result.csv");
    must_say(ask("report"), 200, "Schemes");
    assert_null(strstr(body, SECRET));
    shell_ok("rm results/s/README.md; echo 'words of its own' >results/s/README.md");
    must_say(ask("report"), 200, "words of its own"); /* control: such a file is shown */
    unserve();
}

/* ---- what is written -------------------------------------------------------------------------------- */

/* Returns names, sizes and times of all files below. */
static const char *tree(const char *dir)
{
    assert_int_equal(shell("find %s -printf '%%p %%s %%T@\\n' | sort", dir), 0);
    return kept_text(strdup(out));
}

TEST(nothing_is_written)
{
    serve("results");
    const char *before = tree("results");
    static const char *const resources[] = {
        "", "page.css", "report.css", "page.js", "report", "files", "file?path=a/b/log.csv&from=0"};
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
        must_say(ask(resources[i]), 200, "");
    must_say(ask_scheme("check", SCHEME), 200, "");
    must_say(ask_scheme("region", SCHEME), 200, "");
    must_say(ask_scheme("order", SCHEME), 200, "");
    assert_string_equal(tree("results"), before);
    file_text("results/a/b/log.csv", LOG); /* control */
    assert_string_not_equal(tree("results"), before);
    unserve();
}

/* ---- schemes ---------------------------------------------------------------------------------------- */

TEST(schemes_are_told)
{
    char wide[4096], many[8192] = "";
    serve("results");
    must_say(ask_scheme("check", SCHEME), 200, "<b class=\"order\">2</b>");
    must_say(200, 200, "alttext=\"1/12 H&#39;&#39;(H,H)\"");
    assert_null(html_unbalanced(body));
    must_say(ask_scheme("check", "scheme b\nk1 = H(y + k1)\ny' = y + k1\n"), 200,
             "on all of the negative real axis, on all of the imaginary axis");
    must_say(200, 200, "A-stable and L-stable");
    must_say(ask_scheme("check", "scheme m\nk1 = H(y + 1/2*k1)\ny' = y + k1\n"), 200,
             "A-stable, not L-stable; |R(∞)| = 1");
    must_say(ask_scheme("check", "scheme s\nflow 1/2 G\nflow F\nflow 1/2 G\n"), 200,
             "alttext=\"1/12 [F,[F,G]]\"");
    static const char normed[] =
        "scheme n\ncarry v\nk1 = H(y)\nk2 = %s(1/2*v + k1)\nv' = k2\ny' = y + k2\n";
    snprintf(wide, sizeof wide, normed, "norm");
    must_say(ask_scheme("check", wide), 200, "those of the text without its norms");
    snprintf(wide, sizeof wide, normed, "");
    ask_scheme("check", wide);
    assert_null(strstr(answer, "norms"));
    must_say(ask_scheme("check", "scheme a\nflow\n"), 200, "scheme:2:5: expected a number");
    must_say(ask_scheme("check", "<script>alert(1)</script>"), 200, "scheme:1:1: expected");
    must_say(200, 200, "Content-Type: text/plain"); /* words, not HTML */
    must_say(ask_scheme("region", SCHEME), 200, "scheme,line,re,im,edge\ntyped,");
    /* What is looked at does not depend on which scheme is the first; here R is 1 + z + z^2/100, and 1/(1 - z). */
    must_say(ask_scheme("region", FAR BACK), 200, "\nfar,0,");
    snprintf(wide, sizeof wide, "%.40s", strstr(answer, "\nfar,0,"));
    must_say(ask_scheme("region", BACK FAR), 200, wide);
    must_say(ask_scheme("order", SCHEME), 200, "\ntyped,attention,2,1.99");
    size_t n = (size_t)snprintf(wide, sizeof wide, "scheme wide\n");
    for (int i = 1; i <= 25; i++) n += (size_t)snprintf(wide + n, 16, "k%d = H(y)\n", i);
    snprintf(wide + n, sizeof wide - n, "y' = y + k1\n");
    must_say(ask_scheme("check", wide), 200, "more than 24 stages");
    wide[n - strlen("k25 = H(y)\n")] = '\0';
    strcat(wide, "y' = y + k1\n");
    must_say(ask_scheme("check", wide), 200, "<b class=\"order\">1</b>"); /* control: one less */
    for (int i = 0; i < 7; i++)
        snprintf(many + strlen(many), 64, "scheme s%d\nk1 = H(y)\ny' = y + k1\n", i);
    must_say(ask_scheme("check", many), 200, "at most 6 schemes");
    unserve();
}

static const char *process_file(int pid, const char *name)
{
    const char *text = path_slurp(formed("/proc/%d/%s", pid, name), NULL);
    assert_non_null(text);
    return text;
}

/* Returns the children of the server, as text; "": it has none. */
static const char *children_of_server(void)
{
    return process_file((int)server, formed("task/%d/children", (int)server));
}

/* Returns its first child; 0: it has none. */
static int child_of_server(void)
{
    return atoi(children_of_server());
}

/* The kernel keeps the bounds of a child: its /proc/CHILD/limits has them. */
static int is_confined(int child)
{
    static const char *const bounds[] = {
        "Max cpu time              10                   10 ",
        "Max file size             0                    0 ",
#ifndef __SANITIZE_ADDRESS__
        "Max address space         1073741824           1073741824 "
#endif
    };
    const char *limits = process_file(child, "limits");
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (!strstr(limits, bounds[i])) return 0;
    return 1;
}

/* Asks for the region of a scheme that reads 64 states of the past, which takes more than the bound. */
static int ask_much(void)
{
    static char head[16384];
    int fd = connect_to();
    size_t n = (size_t)snprintf(
        head, sizeof head, "GET /%s/region?text=scheme%%20long%%0ak1=H(y)%%0ay%%27=k1", door.token);
    for (int i = 1; i <= 64; i++) n += (size_t)snprintf(head + n, 32, "%%20+%%201/64*y[-%d]", i);
    n += (size_t)snprintf(head + n, 64, " HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", door.port);
    assert_int_equal(send(fd, head, n, 0), (ssize_t)n);
    AWAIT(child_of_server());
    return fd;
}

/* Tells whether the server's children are this one and no other. */
static int is_only_child(int child)
{
    return child_of_server() == child && count_words(children_of_server(), " ") == 1;
}

/* Work ends too where nobody waits for it, and where the server ends. The first work ends before another that began
 * behind it and has the same bounds. */
TEST(work_is_given_up)
{
    int first, child;
    serve("results");
    int unheard = ask_much();
    first = child_of_server();
    int fd = ask_much();
    AWAIT(sscanf(children_of_server(), "%*d %d", &child) == 1);
    close(unheard);
    AWAIT(child_of_server() != first);
    assert_true(is_only_child(child));
    unserve();
    assert_int_equal(test_signal(child, 0), -1);
    close(fd);
}

/* ---- slow, large, many ------------------------------------------------------------------------------ */

TEST(large_heads)
{
    static char head[1 << 18];
    serve("results");
    size_t n = (size_t)snprintf(head, sizeof head, "GET /%s/check?text=", door.token);
    memset(head + n, 'a', sizeof head - n);
    snprintf(head + n + ADDRESS_MOST, 64, " HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", door.port);
    must_say(say(head, strlen(head)), 414, "too long");
    head[n + TEXT_MOST + 1] = '\0';
    snprintf(head + strlen(head), 64, " HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", door.port);
    must_say(say(head, strlen(head)), 400, "malformed"); /* a text that is too long by one */
    assert_int_not_equal(say("\0\0\0\0\r\n\r\n", 8), 200);
    must_say(ask(""), 200, "");
    unserve();
}

/* Sends a byte more to each connection and counts those that take it. */
static int count_open(const int *fd, int count)
{
    int open = 0;
    pause_ms(300);
    for (int i = 0; i < count; i++) open += send(fd[i], "G", 1, MSG_NOSIGNAL) == 1;
    return open;
}

/* At one time: work that takes too long, which is ended while others are answered; heads that are too large; and
 * connections that never end their heads, which are cut off and do not keep others out for longer. */
TEST(much_work_and_heads_without_end)
{
    enum { SLOW = 40 };
    static char head[1 << 18];
    int fd[SLOW], large[2];
    serve("results");
    int much = ask_much();
    AWAIT(is_confined(child_of_server())); /* it takes its bounds once it has begun */
    must_say(ask(""), 200, "<!DOCTYPE html>");
    assert_int_equal(poll(&(struct pollfd){much, POLLIN, 0}, 1, 0), 0); /* it is at work still */
    for (int k = 0; k < 2; k++) {
        memset(head, 'a', sizeof head);
        const char *words =
            k ? formed("GET /%s/check?text=", door.token)
              : formed("GET /%s/ HTTP/1.1\r\nHost: localhost:%u\r\nX: ", door.token, door.port);
        memcpy(head, words, strlen(words));
        large[k] = request_send(&door, head, sizeof head);
    }
    for (int i = 0; i < SLOW; i++) fd[i] = connect_to();
    AWAIT(count_open(fd, SLOW) == 0);
    for (int i = 0; i < SLOW; i++) close(fd[i]);
    for (int k = 0; k < 2; k++) assert_int_not_equal(hear(large[k]), 200);
    must_say(hear(much), 503, "too much work for a page");
    must_say(ask_scheme("check", SCHEME), 200, "");
    unserve();
}

static size_t resident(void)
{
    size_t all, there = 0;
    assert_int_equal(sscanf(process_file((int)server, "statm"), "%zu %zu", &all, &there), 2);
    return there * (size_t)sysconf(_SC_PAGESIZE);
}

/* Counts the open descriptors of the server. */
static int descriptors(void)
{
    int n = 0;
    DIR *d = opendir(formed("/proc/%d/fd", (int)server));
    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

/* With few descriptors the server has fewer seats, or says at once that it cannot begin. */
TEST(few_descriptors)
{
    assert_int_equal(shell("sh -c 'ulimit -n 12; exec %s serve results'", program), 2);
    HAS(err, "ulimit -n");
    server = 0;
    char command[PATH_MAX];
    snprintf(command, sizeof command, "%s", program);
    snprintf(program, sizeof program, "sh -c 'ulimit -n 90; exec \"$@\"' sh %.4000s", command);
    serve("results");
    int fd[60];
    for (int i = 0; i < 60; i++) fd[i] = connect_to();
    must_say(ask(""), 200, "<!DOCTYPE html>");
    must_say(ask("report"), 200, "Schemes");
    for (int i = 0; i < 60; i++) close(fd[i]);
    unserve();
    snprintf(program, sizeof program, "%s", command);
}

/* A client that has sent its request and sends no more gets its answer. Control: work for one who has closed ends
 * (work_is_given_up). */
TEST(half_closed)
{
    serve("results");
    const char *about[] = {request_about("check", SCHEME), "report", ""};
    for (size_t i = 0; i < sizeof about / sizeof *about; i++) {
        const char *head = formed("GET /%s/%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", door.token,
                                  about[i], door.port);
        int fd = request_send(&door, head, strlen(head));
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        must_say(hear(fd), 200, i ? "<!DOCTYPE html>" : "<b class=\"order\">2</b>");
    }
    unserve();
}

enum { DRIPS = 300, TRIES = 5 };

/* Returns how many of so many clients who never end their heads are still connected when a page is answered. */
static int dripping(void)
{
    int fd[DRIPS], open = 0;
    for (int i = 0; i < DRIPS; i++) {
        fd[i] = connect_to();
        assert_int_equal(send(fd[i], "G", 1, MSG_NOSIGNAL), 1);
    }
    must_say(ask(""), 200, "<!DOCTYPE html>");
    for (int i = 0; i < DRIPS; i++) {
        struct pollfd p = {fd[i], POLLRDHUP, 0};
        open += poll(&p, 1, 0) == 0;
    }
    for (int i = 0; i < DRIPS; i++) close(fd[i]);
    return open;
}

/* Many who never end their heads are in nobody's way: a page is answered while most of them are still connected, so that it
 * has not waited for the end of their time. A server that waits has at most its seats left, of which there once were 32,
 * however often it is tried; a machine that stalls for as long as they have may let them end once. */
TEST(dripping_heads)
{
    int open = 0;
    serve("results");
    for (int i = 0; i < TRIES && open <= DRIPS / 8; i++) open = dripping();
    if (!(open > DRIPS / 8)) fail_msg("the page came when %d were left", open);
    unserve();
}

/* Clients that hardly read a large answer share one copy of it; the answer is whole for who reads. It is larger than what
 * Linux takes from a sender (tcp(7), tcp_wmem), and they have next to no room for it, as the server else would be rid of it. Each
 * takes a little whenever another comes: one that takes nothing for ten seconds is hung up on, and a busy machine needs longer
 * for all. */
TEST(large_answers_are_shared)
{
    enum { IDLE = 20 };
    int fd[IDLE] = {0}, room = 4096;
    double begun[IDLE] = {0};
    size_t n, before;
    shell_ok("rm -rf large && mkdir large");
    run_ok("schemes --scheme euler,heun --out large");
    shell_ok(
        "cd large && awk 'NR > 1 { rows = rows $0 \"\\n\" } { print } END { for (i = 0; i < 3000; i++) "
        "printf \"%%s\", rows }' schemes.csv >more && mv more schemes.csv && for i in $(seq 20); do mkdir $i && cp schemes.csv $i; done");
    serve("large");
    must_say(ask("report"), 200, "<!DOCTYPE html>");
    n = strlen(answer);
    if (!(n > 4 << 20)) fail_msg("%zu bytes are no large answer", n);
    before = resident();
    for (int i = 0; i < IDLE; i++) {
        const char *head =
            formed("GET /%s/report HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", door.token, door.port);
        char first[16] = "";
        /* A machine with much to do may be late: then the answer is to ask again. */
        for (int tries = 0; tries < 10 && strcmp(first, "HTTP/1.1 200") != 0; tries++) {
            if (tries) close(fd[i]);
            begun[i] = clock_now();
            fd[i] = request_send(&door, head, strlen(head));
            assert_int_equal(setsockopt(fd[i], SOL_SOCKET, SO_RCVBUF, &room, sizeof room), 0);
            struct pollfd p = {fd[i], POLLIN, 0};
            assert_int_equal(poll(&p, 1, 30000), 1); /* it is on its way */
            assert_int_equal(recv(fd[i], first, 12, MSG_PEEK), 12);
        }
        assert_string_equal(first, "HTTP/1.1 200");
        char little[4096];
        for (int k = 0; k < i; k++) /* after a minute (server.c) an answer is ended */
            assert_true(recv(fd[k], little, sizeof little, MSG_DONTWAIT) != 0 ||
                        clock_now() - begun[k] > 55);
    }
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed */
    /* a buffer that grows, and is freed, takes some n */
    if (!(resident() < before + IDLE / 2 * n))
        fail_msg("%zu bytes more for %d answers of %zu", resident() - before, IDLE, n);
#endif
    must_say(ask("report"), 200, "</html>");
    assert_int_equal(strlen(answer), n);
    for (int i = 0; i < IDLE; i++) close(fd[i]);
    unserve();
}

static void ask_many(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        static const char *const each[] = {"", "page.js", "nothing", "file?path=a/b/log.csv&from=0",
                                           "file?path=../log.csv&from=0"};
        static const int expected[] = {200, 200, 404, 200, 400};
        if (i % 50 == 0) must_say(ask("files"), 200, "a/b/log.csv");
        must_say(ask(each[i % 5]), expected[i % 5], "");
    }
}

TEST(many_requests)
{
    serve("results");
    int open = descriptors();
    ask_many(500);
    size_t memory = resident();
    ask_many(9500);
    AWAIT(descriptors() == open); /* it may still be closing the last connection */
#ifndef __SANITIZE_ADDRESS__      /* which keeps what was freed */
    if (resident() > memory + (1 << 20)) fail_msg("%zu bytes more", resident() - memory);
#endif
    (void)memory;
    unserve();
}

/* ---- the page --------------------------------------------------------------------------------------- */

/* Writes the log of a training that learns, with a validation every fifth row. */
static void write_log(const char *name, double least)
{
    FILE *f = fopen(file_path(name), "w");
    assert_non_null(f);
    fprintf(f, "step,epoch,tokens,train_loss,valid_ppl,rate,grad_norm,tokens_per_s\n");
    for (int i = 1; i <= 30; i++) {
        fprintf(f, "%d,1,%d,%g,", 10 * i, 100 * i, 3 + least / i);
        fprintf(f, i % 5 ? ",0.1,1,9\n" : "%g,0.1,1,9\n", 30 + 300 * least / i);
    }
    fclose(f);
}

/* In a browser, by keyboard: four views at 390 and 1280 pixels, dark and light; nothing is wider than the page, the
 * console has no word, a curve grows, runs are chosen, filtered and sorted, a typed scheme gets its order and an error leads to its place (tests/python/serve_page.py, which has
 * its controls). The console's words on a script in a name would be heard too. */
TEST(in_a_browser)
{
    char here[PATH_MAX];
    need_tool("chromium");
    need_tool("python3");
    shell_ok("mkdir -p 'page/<img src=x onerror=alert(1)>' page/b");
    write_log("page/<img src=x onerror=alert(1)>/log.csv", 2);
    write_log("page/b/log.csv", 3);
    file_text("page/runs.csv",
              "scheme,layers,seed,valid_ppl,test_ppl\n<script>alert(1)</script>,1,1,30.5,31\n"
              "euler,1,2,33.25,32\n");
    run_ok("schemes --scheme euler,heun --out page/s");
    serve("page");
    assert_non_null(getcwd(here, sizeof here));
    int status = shell(
        "timeout 600 python3 %s/tests/python/serve_page.py http://127.0.0.1:%u/%s/ page/b/log.csv",
        here, door.port, door.token);
    if (status != 0) fail_msg("%.600s%.1200s", out, err);
    unserve();
}

static int open_results(void **state)
{
    if (program_open(state) != 0) return -1;
    make_results();
    return 0;
}

TEST_MAIN(open_results, program_close)
