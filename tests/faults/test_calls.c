/* test_calls.c: every command while one of its system calls fails, or one of its allocations. Each time the command ends
 * as it does undisturbed, with the same data and files, or with status 1 or 2 and one line. It leaves no process and no
 * temporary file, and when it is given again it ends as it does undisturbed.
 *
 * TROTTER_CALLS is the number of faults of each command; TROTTER_FAULT_SEED draws others (`make check-faults`). 0: one of
 * each place and way, until none is left. A place is the addresses of the program on the stack, for a system call the file's
 * last name too (digits are alike in it): the repetitions of a loop, and a study's runs, are one place. Seed 1 tries the
 * first time that it is met; others draw a later one, and leave out places met once.
 */
#include "tests/lib/test.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "kernels/base/random.h"
#include "tests/faults/command_rows.h"
#include "tests/lib/requests.h"

enum { FEW = 4, SHORT = 1 };

static size_t most = FEW;
static uint64_t seed = 1;
static size_t all;

/* How a call fails: by an errno, or by fewer bytes than asked. Those of which `retried` is 1 are to be tried again. Where
 * `lasts` is 1 all later ones to files but stderr fail too: a full disk, and the limit of a file's size with its signal. */
static const struct {
    long number;
    int error, retried, lasts;
} ways[] = {
    {SYS_openat, EMFILE},
    {SYS_openat, EIO},
    {SYS_openat2, EMFILE},
    {SYS_openat2, EIO},
    {SYS_openat2, ENOSYS},
    {SYS_read, EIO},
    {SYS_read, EINTR},
    {SYS_read, SHORT, 1},
    {SYS_write, SHORT, 1},
    {SYS_write, EINTR},
    {SYS_write, ENOSPC},
    {SYS_write, EIO},
    {SYS_write, EDQUOT},
    {SYS_write, ENOSPC, .lasts = 1},
    {SYS_write, EFBIG, .lasts = 1},
    {SYS_pwrite64, EIO},
    {SYS_lseek, EINVAL},
    {SYS_fsync, EIO},
    {SYS_truncate, EIO},
    {SYS_rename, EIO},
    {SYS_unlink, EACCES},
    {SYS_link, EPERM},
    {SYS_mkdir, ENOSPC},
    {SYS_close, EIO},
    {SYS_fcntl, ENOLCK},
    {SYS_newfstatat, EIO},
    {SYS_getdents64, EIO},
    {SYS_access, EACCES},
    {SYS_readlink, EIO},
    {SYS_mmap, ENOMEM},
    {SYS_mremap, ENOMEM},
    {SYS_brk, ENOMEM},
    {SYS_clone, EAGAIN},
    {SYS_clone3, EAGAIN},
    {SYS_vfork, EAGAIN},
    {SYS_fork, EAGAIN},
    {SYS_execve, ENOMEM},
    {SYS_wait4, EINTR},
    {SYS_pipe2, EMFILE},
    {SYS_dup2, EBUSY},
    {SYS_chdir, EIO},
    {SYS_getrandom, EAGAIN},
    {SYS_rt_sigaction, EINVAL},
    {SYS_clock_nanosleep, EINTR},
    {SYS_utimensat, EIO},
    {SYS_sched_getaffinity, EINVAL},
    {SYS_fchdir, EIO},
    {SYS_prlimit64, EPERM},
    {SYS_close_range, EINVAL},
    {SYS_poll, EINTR},
    {SYS_poll, ENOMEM},
    {SYS_socket, EMFILE},
    {SYS_bind, EADDRINUSE},
    {SYS_listen, EADDRINUSE},
    {SYS_getsockname, ENOBUFS},
    {SYS_setsockopt, ENOMEM},
    {SYS_accept4, EMFILE},
    {SYS_accept4, ECONNABORTED},
    {SYS_recvfrom, ECONNRESET},
    {SYS_recvfrom, EINTR},
    {SYS_sendto, EPIPE},
    {SYS_sendmsg, EPIPE},
    {SYS_sendmsg, EINTR},
    {SYS_epoll_create1, EMFILE},
    {SYS_epoll_ctl, ENOMEM},
    {SYS_epoll_wait, EINTR},
    {SYS_pread64, EIO},
    {SYS_dup, EMFILE},
    {SYS_rmdir, EBUSY},
    {SYS_getcwd, EIO},
    {SYS_ioctl, ENOTTY},
    {SYS_mprotect, ENOMEM},
    {SYS_setpgid, EPERM},
    {SYS_kill, EPERM},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* ---- a stop before the training begins -------------------------------------------------------------- */

/* An undisturbed run. */
static struct {
    const CommandRow *row;
    int status;
    char data[sizeof out];
} whole;

/* Runs a copy as copies_run does, where processes can be traced. */
static int run(const Copies *c, const Order *o, Traced *t)
{
    Asker a;
    if (whole.row->asked) {
        asker_begin(&a, whole.row->asked, 3, "out.txt", "box/answers");
        t->tell = &a.server;
    }
    int status = copies_run(c, o, t);
    if (whole.row->asked) asker_end(&a);
    if (status != COPIES_UNTRACED) return status;
    printf("# SKIP no process can be traced here\n");
    skip();
    return -1;
}

static pid_t study;

/* Interrupts the study while its training stands between fork and exec. */
static int interrupt_study(void *arg, Call *c)
{
    int *done = arg;
    if (c->first) study = c->pid;
    if (c->first || c->number != SYS_dup2 || *done) return TRACE_PASS;
    *done = 1;
    test_signal(study, SIGINT);
    return TRACE_HOLD;
}

TEST(a_stop_before_a_training_begins_is_not_lost)
{
    int done = 0;
    Traced t = {.meet = interrupt_study, .arg = &done, .seconds = COPIES_SECONDS};
    box_fill();
    int status = copies_trace(
        &t, "compare --scheme euler --seeds 1 --epochs 400 --corpus text --out o" TINY_TRAIN);
    if (status == COPIES_UNTRACED) skip();
    assert_true(done);
    assert_false(t.late);
    assert_int_equal(status, 130);
    assert_true(says("trotter compare: interrupted"));
    assert_false(file_exists("box/o/runs/euler-seed1/result.csv"));
}

/* ---- calls -------------------------------------------------------------------------------------------- */

enum { CALLS_MOST = 1 << 18 };

/* Places of the calls of an undisturbed run, or of its allocations. */
typedef struct {
    uint64_t at[WAYS][CALLS_MOST];
} Places;
static Places places;

typedef struct {
    Places *places;   /* NULL: not wanted */
    size_t met[WAYS]; /* calls of each kind so far */
    int way;          /* WAYS: none fails */
    size_t at;        /* the call that fails */
    char what[256];   /* the name of its file */
} Fault;

/* Writes the name of the file that the first argument has opened. */
static void name_open(const Call *c, char *name, size_t room)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/fd/%llu", c->pid, c->arg[0]);
    ssize_t n = readlink(link, name, room - 1);
    name[n > 0 ? n : 0] = '\0';
}

/* Writes the name of the file that a call is about; "": none. */
static void name_file(const Call *c, char *name, size_t room)
{
    static const long by_name[] = {SYS_rename, SYS_unlink,   SYS_link,     SYS_mkdir, SYS_access,
                                   SYS_chdir,  SYS_readlink, SYS_truncate, SYS_rmdir};
    size_t i = 0;
    name[0] = '\0';
    while (i < sizeof by_name / sizeof *by_name && by_name[i] != c->number) i++;
    if (i < sizeof by_name / sizeof *by_name)
        traced_text(c, c->arg[0], name, room);
    else if (c->number == SYS_openat || c->number == SYS_newfstatat)
        traced_text(c, c->arg[1], name, room);
    if (!name[0]) name_open(c, name, room);
}

/* Finds the addresses where a process has the program's code. */
static void find_code(pid_t pid, unsigned long long *low, unsigned long long *high)
{
    char line[PATH_MAX + 128], file[64];
    snprintf(file, sizeof file, "/proc/%d/maps", pid);
    FILE *f = fopen(file, "r");
    *low = *high = 0;
    while (f && !*high && fgets(line, sizeof line, f))
        if (strstr(line, "r-xp") && strstr(line, program)) sscanf(line, "%llx-%llx", low, high);
    if (f) fclose(f);
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    return (h ^ word) * 0x9e3779b97f4a7c15u ^ h >> 29;
}

static uint64_t place_of(const Call *c)
{
    enum { WORDS = 1024, FRAMES = 12 };
    unsigned long long word[WORDS], low, high, pages = WORDS * sizeof *word;
    char name[256];
    uint64_t h = 1;
    name_file(c, name, sizeof name);
    const char *slash = strrchr(name, '/');
    for (const char *p = slash ? slash : name; *p; p++)
        if (*p < '0' || *p > '9') h = mix(h, (uint64_t)*p);
    find_code(c->pid, &low, &high);
    while (pages >= 512 && traced_bytes(c, c->stack, word, pages) != 0) pages /= 2;
    for (size_t i = 0, frames = 0; i < pages / sizeof *word && frames < FRAMES; i++)
        if (word[i] >= low && word[i] < high) h = mix(h, word[i] - low), frames++;
    return h;
}

/* Tells whether oneDNN may be asking for room for code, which it does in pieces of up to 320 KiB; malloc begins at 128. Where it
 * gets none it dies, or goes on with other code, whose sums differ by rounding. */
static int is_code(const Call *c)
{
    if (c->number == SYS_mprotect) return (c->arg[2] & PROT_EXEC) != 0;
    return c->number == SYS_mmap && c->arg[1] <= (320 << 10) && (int)c->arg[4] < 0;
}

static int fail_one(void *arg, Call *c)
{
    Fault *f = arg;
    int what = TRACE_PASS;
    uint64_t place = 0;
    if (whole.row->alone && !c->first) return TRACE_PASS;
    for (int i = 0; i < WAYS; i++) {
        if (ways[i].number != c->number || is_code(c)) continue;
        size_t n = f->met[i]++;
        if (f->places && !place) place = place_of(c);
        if (f->places && n < CALLS_MOST) f->places->at[i][n] = place;
        if (i != f->way || n < f->at || (n > f->at && !ways[i].lasts)) continue;
        name_file(c, f->what, sizeof f->what);
        if (ways[i].lasts && (c->arg[0] == STDERR_FILENO || *f->what != '/')) continue;
        if (ways[i].error == EFBIG) test_signal(c->pid, SIGXFSZ);
        what = -ways[i].error;
        if (ways[i].error == SHORT && c->arg[2] > 1) c->arg[2] = (c->arg[2] + 1) / 2;
        if (ways[i].error == SHORT) what = TRACE_PASS;
        if (c->number == SYS_brk) what = TRACE_PRETEND; /* an end below the one asked for */
    }
    return what;
}

/* ---- the verdict ------------------------------------------------------------------------------------------ */

/* The row's line, and the one that goes on where the line stopped. */
static Copies rows_line, rows_again;

/* States of box/ from which the row's line went on. */
static struct {
    uint64_t state[1 << 15];
    size_t count;
} went_on;

/* Gives the command again. Returns 1 where it ends as it does undisturbed, as it did before from what is in box/. */
static int goes_on(uint64_t state)
{
    const CommandRow *row = whole.row;
    for (size_t i = 0; i < went_on.count; i++)
        if (went_on.state[i] == state) return 1;
    Traced t = {0};
    int again = row->again && file_exists("box/o/config.ini");
    if (again && !rows_again.pid) copies_stand(&rows_again, row->again);
    int got = run(again ? &rows_again : &rows_line, &(Order){0}, &t);
    if (got != whole.status || command_rows_differ(row)) return 0;
    if (went_on.count < sizeof went_on.state / sizeof *went_on.state)
        went_on.state[went_on.count++] = state;
    return 1;
}

/* Tells whether the last line is the program's, or that of OpenMP, which ends a process that gets no thread. */
static int last_is_told(void)
{
    return strncmp(last_line(err), "trotter", 7) == 0 ||
           strncmp(last_line(err), "libgomp: ", 9) == 0;
}

/* Returns what is wrong with how a run of whole.row ended that a fault has met; NULL: nothing. */
static const char *judge_end(int status, int retried)
{
    const CommandRow *row = whole.row;
    if (status == whole.status) {
        if (says("warning: left out"))
            return NULL; /* as report does with a file that it cannot read */
        int other = row->same_stdout && strcmp(out, whole.data) != 0;
        return (other && !says("warning: ")) || command_rows_differ(row) ? "other results" : NULL;
    }
    if (retried) return "it is to be tried again";
    if (status != 1 && status != 2) return status < 0 ? "it died of a signal" : "another status";
    return last_is_told() ? NULL : "no line";
}

/* Returns what is wrong with the run and what it left; NULL: nothing. retried: the fault is one after which a call is to be
 * tried again; tidy: temporary files can be removed. It gives the command again where something is left or not done. */
static const char *judge(const Traced *t, int status, int retried, int tidy)
{
    static char first[sizeof err];
    int temporary = 0;
    if (t->late) return "it hangs";
    if (t->left) return "a process is left";
    uint64_t state = box_hash(file_path("box"), file_path("in"), &temporary);
    const char *why = judge_end(status, retried);
    if (!why && tidy && temporary) why = "a temporary file is left";
    if (why || (status == whole.status && !temporary)) return why;
    strcpy(first, err);
    if (!goes_on(state)) why = "it does not go on";
    strcpy(err, first);
    return why;
}

/* Runs a row's line undisturbed, and keeps what it wrote. */
static void begin_row(const CommandRow *row, const Order *o, Traced *t)
{
    copies_leave(&rows_line);
    copies_leave(&rows_again);
    went_on.count = 0;
    whole.row = row;
    box_fill();
    copies_stand(&rows_line, row->line);
    int status = run(&rows_line, o, t);
    if (status < 0 || status > 1) fail_msg("%s: status %d: %s", row->line, status, err);
    whole.status = status;
    strcpy(whole.data, out);
    command_rows_keep(row);
}

/* Tells whether a file may stay: one that cannot be removed, and a claim that may be another's. */
static int may_stay(const Fault *f)
{
    long number = ways[f->way].number;
    int looks = number == SYS_newfstatat || number == SYS_pread64;
    return number == SYS_unlink || number == SYS_rmdir || (looks && strstr(f->what, ".claim"));
}

static int is_lost(int way, size_t at)
{
    Fault f = {.way = way, .at = at};
    Traced t = {.meet = fail_one, .arg = &f, .seconds = COPIES_SECONDS};
    Order o = {0};
    traced_filter(&o.calls, ways[way].number);
    box_fill();
    int status = run(&rows_line, &o, &t);
    const char *why = judge(&t, status, ways[way].retried, !may_stay(&f));
    if (!why) return 0;
    printf("LOST %.40s: %s %zu%s (%s), %s: %s: %.300s\n", whole.row->line,
           traced_name(ways[way].number), at, ways[way].lasts ? " and later" : "", f.what,
           ways[way].error == SHORT ? "short" : strerrorname_np(ways[way].error), why,
           last_line(err));
    return 1;
}

static int is_starved(size_t at)
{
    Traced t = {0};
    box_fill();
    int status = run(&rows_line, &(Order){.starve = (long)at}, &t);
    const char *why = judge(&t, status, 0, 1);
    if (!why) return 0;
    printf("LOST %.40s: allocation %zu: %s: %.300s\n", whole.row->line, at, why, last_line(err));
    return 1;
}

static int order_places(const void *a, const void *b, void *at)
{
    const uint64_t *place = at;
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    return place[i] != place[j] ? (place[i] < place[j] ? -1 : 1) : i < j ? -1 : 1;
}

/* Marks, of the first n calls of a way, one of each place. */
static void choose_places(int w, size_t n, char *chosen)
{
    static uint32_t order[CALLS_MOST];
    const uint64_t *place = places.at[w];
    memset(chosen, 0, CALLS_MOST);
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    qsort_r(order, n, sizeof *order, order_places, places.at[w]);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && place[order[end]] == place[order[i]];) end++;
        size_t later = end - i - 1;
        if (seed == 1) chosen[order[i]] = 1;
        if (seed > 1 && later)
            chosen[order[i + 1 + random_below(seed, (uint64_t)w, order[i], later)]] = 1;
    }
}

/* Tries the faults of one line: calls, or allocations, where `met` is NULL. */
static size_t try_row(const size_t *met, size_t faults)
{
    static char chosen[CALLS_MOST];
    size_t tried = 0, lost = 0;
    for (int w = 0; w < (met ? WAYS : 1); w++) {
        size_t n = met ? met[w] : faults;
        assert_true(n <= CALLS_MOST);
        if (!most) choose_places(w, n, chosen);
        for (size_t at = 0; at < n; at++) {
            if (most ? random_below(seed, (uint64_t)w, at, faults) >= most : !chosen[at]) continue;
            lost += (size_t)(met ? is_lost(w, at) : is_starved(at + 1));
            tried++;
        }
    }
    printf("# %-60.60s %5zu faults, %5zu tried, %zu lost\n", whole.row->line, faults, tried, lost);
    fflush(stdout);
    all += tried;
    return lost;
}

/* The verdict finds what a run leaves though it ends as it does undisturbed, and a run that does not end. */
TEST(what_is_left_is_found)
{
    begin_row(command_rows, &(Order){0}, &(Traced){0});
    assert_null(judge(&(Traced){0}, whole.status, 0, 1));
    assert_string_equal(judge(&(Traced){.late = 1}, whole.status, 0, 1), "it hangs");
    assert_string_equal(judge(&(Traced){.left = 1}, whole.status, 0, 1), "a process is left");
    file_text("box/.trotter-1", "");
    assert_string_equal(judge(&(Traced){0}, whole.status, 0, 1), "a temporary file is left");
    assert_null(judge(&(Traced){0}, whole.status, 0, 0));
}

TEST(commands_bear_failing_calls)
{
    size_t lost = 0;
    all = 0;
    for (size_t i = 0; i < COMMAND_ROWS; i++) {
        Fault none = {.way = WAYS, .places = most ? NULL : &places};
        Traced t = {.meet = fail_one, .arg = &none, .seconds = COPIES_SECONDS};
        size_t faults = 0;
        if (!command_rows_chosen(&command_rows[i], most == FEW)) continue;
        Order o = {0};
        traced_filter(&o.calls, 0);
        begin_row(&command_rows[i], &o, &t);
        for (int w = 0; w < WAYS; w++) faults += none.met[w];
        lost += try_row(none.met, faults);
    }
    printf("# %zu failing calls tried, %zu lost (seed %llu)\n", all, lost,
           (unsigned long long)seed);
    assert_int_equal(lost, 0);
}

TEST(commands_bear_failing_allocations)
{
    size_t lost = 0;
    char text[32];
    all = 0;
    for (size_t i = 0; i < COMMAND_ROWS; i++) {
        if (!command_rows_chosen(&command_rows[i], most == FEW)) continue;
        begin_row(&command_rows[i], &(Order){.sites = 1}, &(Traced){0});
        file_read("starved", text, sizeof text);
        size_t n = (size_t)atol(text), bytes;
        assert_true(n >= 10);
        if (!most) {
            char *read = file_slurp("sites", &bytes);
            assert_int_equal(bytes, n * sizeof **places.at);
            memcpy(places.at[0], read, bytes < sizeof places.at[0] ? bytes : sizeof places.at[0]);
        }
        lost += try_row(NULL, n);
    }
    printf("# %zu failing allocations tried, %zu lost (seed %llu)\n", all, lost,
           (unsigned long long)seed);
    assert_int_equal(lost, 0);
}

static int open_all(void **state)
{
    const char *calls = getenv("TROTTER_CALLS"), *drawn = getenv("TROTTER_FAULT_SEED");
    if (calls) most = (size_t)atol(calls);
    if (drawn) seed = (uint64_t)atoll(drawn);
    return command_rows_open(state);
}

TEST_MAIN(open_all, program_close)
