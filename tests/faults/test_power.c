/* test_power.c: commands that a power cut ends. All that a command writes is recorded once. Then the disk is laid out as
 * it may be after each change (tests/lib/disk.h), and the command is given again. Each time it ends as it does
 * undisturbed, within a minute, with the same files, and every file that has its name by a rename is whole.
 *
 * TROTTER_POWER is the number of disks of each command, 0: all; TROTTER_FAULT_SEED draws others (`make check-faults`).
 */
#include "tests/lib/test.h"

#include <sys/syscall.h>

#include "kernels/base/random.h"
#include "tests/faults/command_rows.h"
#include "tests/lib/disk.h"

enum { FEW = 3, DRAWS = 3, SEEN = 1 << 16 };

static size_t most = FEW;
static uint64_t seed = 1;
static size_t tried;

typedef struct {
    Disk *disk;
    int unsynced; /* 1: the program's fsync does nothing */
} Record;

static int take_note(void *arg, Call *c)
{
    Record *r = arg;
    if (r->unsynced && (c->number == SYS_fsync || c->number == SYS_fdatasync)) return TRACE_PRETEND;
    disk_meet(r->disk, c);
    return TRACE_PASS;
}

/* Runs a line to its end; returns its record, which the caller frees, and its exit status. */
static Disk *record(const char *line, int unsynced, int *status)
{
    char box[PATH_MAX];
    Record r = {NULL, unsynced};
    strcpy(box, file_path("box"));
    box_fill();
    r.disk = disk_new(box, file_path("in"));
    Traced t = {.meet = take_note, .arg = &r, .seconds = AWAIT_SECONDS};
    *status = copies_trace(&t, line);
    if (*status == COPIES_UNTRACED) skip();
    assert_false(t.late);
    return r.disk;
}

/* Tells whether a disk was there before, and remembers it. */
static int is_seen(uint64_t *seen, size_t *count, uint64_t hash)
{
    for (size_t i = 0; i < *count; i++)
        if (seen[i] == hash) return 1;
    assert_true(*count < SEEN);
    seen[(*count)++] = hash;
    return 0;
}

/* Lays the disk out and gives the command again. Returns 1 where it does not end as it does undisturbed. */
static int is_lost(const CommandRow *row, const Disk *d, int status, const char *where)
{
    box_fill();
    disk_write(d);
    int again = row->again && file_exists("box/o/config.ini");
    int got = shell("cd box && exec timeout 300 env PATH=/nowhere %s %s", program,
                    again ? row->again : row->line);
    const char *other = got == status ? command_rows_differ(row) : NULL;
    if (got == status && !other) return 0;
    printf("LOST %s: status %d, %s is not as it is undisturbed: %s", where, got,
           other ? other : "which", last_line(err));
    return 1;
}

/* Tries the disks of a record; `most` of those that differ, or all. */
static size_t try_disks(const CommandRow *row, Disk *d, int status)
{
    enum { WAYS = DISK_WAYS - 1 + DRAWS };
    static uint64_t seen[SEEN];
    size_t n = disk_length(d), points = (n + 1) * WAYS, disks = 0, all = 0, count = 0, lost = 0;
    for (int pass = 0; pass < 2; pass++, all = disks, disks = 0)
        for (size_t i = 0; i < points; i++) {
            char where[512];
            const char *why;
            size_t cut = i / WAYS, way = i % WAYS < DISK_DRAWN ? i % WAYS : DISK_DRAWN;
            uint64_t draw = seed + i % WAYS;
            uint64_t hash = disk_compute(d, cut, (int)way, draw, &why);
            snprintf(where, sizeof where, "%.60s: after %zu of %zu changes, way %zu, seed %llu",
                     row->line, cut, n, way, (unsigned long long)draw);
            if (why) fail_msg("%s: %s is torn", where, why);
            if (is_seen(seen, &disks, hash) || pass == 0) continue;
            if (most && random_below(seed, 3, i, all) >= most) continue;
            lost += (size_t)is_lost(row, d, status, where);
            count++;
        }
    printf("# %-60.60s %4zu changes, %5zu disks, %5zu of them tried, %zu lost\n", row->line, n, all,
           count, lost);
    fflush(stdout);
    tried += count;
    return lost;
}

TEST(commands_go_on_after_power_cuts)
{
    size_t lost = 0;
    for (size_t i = 0; i < COMMAND_ROWS; i++) {
        const CommandRow *row = &command_rows[i];
        int status;
        if (!command_rows_chosen(row, most == FEW) || !row->kept || row->asked) continue;
        Disk *d = record(row->line, 0, &status);
        command_rows_keep(row);
        shell_ok("rm -rf real; mv box real");
        box_fill();
        const char *why;
        disk_compute(d, disk_length(d), DISK_ALL, 0, &why);
        disk_write(d);
        shell_ok("diff -r real box"); /* the model knows all that was written */
        lost += try_disks(row, d, status);
        disk_free(d);
    }
    printf("# %zu disks tried, %zu lost (seed %llu)\n", tried, lost, (unsigned long long)seed);
    assert_int_equal(lost, 0);
}

/* The harness finds a program that does not sync. */
TEST(files_that_are_not_synced_are_found)
{
    int status;
    size_t torn = 0;
    const char *why;
    Disk *d = record(TINY_TEXT, 1, &status);
    for (size_t n = 0; n <= disk_length(d); n++) {
        disk_compute(d, n, DISK_NAMES, 0, &why);
        torn += why != NULL;
    }
    assert_true(torn > 10);
    disk_free(d);
}

static int open_all(void **state)
{
    const char *disks = getenv("TROTTER_POWER"), *drawn = getenv("TROTTER_FAULT_SEED");
    if (disks) most = (size_t)atol(disks);
    if (drawn) seed = (uint64_t)atoll(drawn);
    return command_rows_open(state);
}

TEST_MAIN(open_all, program_close)
