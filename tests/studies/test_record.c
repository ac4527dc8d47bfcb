/* test_record.c: commands.csv, which several commands may write at once. */
#include "tests/lib/test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "studies/tools/csv.h"
#include "studies/tools/record.h"
#include "tests/lib/scratch.h"

enum { WRITERS = 6, ROWS = 20 };

/* Starts a process that ends ROWS commands, one after another. */
static pid_t start_writer(int writer)
{
    pid_t pid = fork();
    if (pid != 0) return pid;
    int code = 0;
    for (int i = 0; i < ROWS && code == 0; i++) {
        char number[16], name[16];
        snprintf(name, sizeof name, "writer%d", writer);
        snprintf(number, sizeof number, "%d", i);
        code = record_command(folder, 2, (char *[]){name, number}, 0);
    }
    _exit(code != 0);
}

/* Every row of every writer is there, those of one writer in their order, under one header. */
TEST(test_every_row_stays)
{
    Csv c;
    pid_t pid[WRITERS];
    int seen[WRITERS] = {0};
    for (int w = 0; w < WRITERS; w++) assert_true((pid[w] = start_writer(w)) > 0);
    for (int w = 0; w < WRITERS; w++) {
        int status;
        assert_int_equal(waitpid(pid[w], &status, 0), pid[w]);
        assert_int_equal(status, 0);
    }
    if (csv_open(&c, file_path(RECORD_FILE)) != 0) fail_msg("%s", error_text());
    assert_int_equal(c.rows, WRITERS * ROWS);
    for (size_t i = 0; i < c.rows; i++) {
        int w, n;
        assert_int_equal(sscanf(csv_named(&c, i, "command"), "trotter writer%d %d", &w, &n), 2);
        assert_true(w >= 0 && w < WRITERS);
        assert_int_equal(seen[w]++, n);
    }
    csv_close(&c);
    assert_int_equal(scratch_files(1), 1); /* no other file is left */
}

/* A row that cannot be written leaves the earlier state: no file, or the old rows. */
TEST(test_no_room)
{
    struct rlimit old, none;
    getrlimit(RLIMIT_FSIZE, &old);
    none = (struct rlimit){0, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    for (int before = 0; before < 2; before++) {
        if (before) assert_int_equal(record_command(folder, 1, (char *[]){"before"}, 0), 0);
        setrlimit(RLIMIT_FSIZE, &none);
        int code = record_command(folder, 1, (char *[]){"after"}, 0);
        setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(code, ERR_SYSTEM);
        assert_int_equal(file_exists(RECORD_FILE), before);
        if (!before) continue;
        char *text = file_slurp(RECORD_FILE, NULL);
        assert_true(strstr(text, "trotter before") && !strstr(text, "trotter after"));
    }
    assert_int_equal(scratch_files(1), 1);
}

TEST_MAIN(scratch_open, scratch_close)
