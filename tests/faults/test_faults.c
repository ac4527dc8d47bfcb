/* test_faults.c: training runs that are stopped, moved and damaged at random moments (killed and starved at each:
 * test_power.c, test_calls.c). Each time the run either continues correctly, to the bit, or ends with one line and the
 * right exit status, and the earlier files are still there.
 *
 * TROTTER_FAULTS is the number of faults of each kind; TROTTER_FAULT_SEED draws others (`make soak`).
 */
#include "tests/lib/test.h"

#include "kernels/base/clock.h"
#include "kernels/base/random.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/program.h"

enum { FEW = 8 };

/* Many short epochs make a good part of the time one of saving. */
#define ANY_SCHEME                                                                        \
    "train --corpus text --width 8 --inner 16 --heads 2 --sequence 16 --batch-tokens 64 " \
    "--epochs 4 --rate 3e-3 --warmup 10 --threads 1 --seed 3 "
#define RUN ANY_SCHEME "--scheme transformer --out "
#define EVAL "eval --model run --text text/valid.txt"

static size_t each = FEW; /* faults of each kind */
static uint64_t seed = 1, drawn;
static size_t faults, told; /* told: the program wrote a line about it and did no more */

/* The undisturbed run, which lies in whole/: how long it takes, and what EVAL says of it. */
static double whole_seconds;
static char whole_eval[sizeof out];

static size_t draw(size_t n)
{
    return (size_t)random_below(seed, 2, drawn++, n);
}

/* Returns the command line that a user would type: it resumes a run that is there, else begins one. */
static const char *again(void)
{
    return file_exists("run/config.ini") ? RUN "run --resume" : RUN "run";
}

/* Fails where a fault's end was not right; counts a status other than 0. */
static void check_told(int right, const char *what, int status)
{
    told += status != 0;
    if (!right)
        fail_msg("%s: status %d: %s (fault %zu, seed %llu)", what, status, err, faults,
                 (unsigned long long)seed);
}

/* Checks that the run reaches the end of the undisturbed run. */
static void check_end(const char *what)
{
    int status = program_run(again());
    check_told(status == 0, what, status);
    if (shell("ls -a run | grep -q '[.]tmp-'") == 0)
        fail_msg("%s: a temporary file is left (fault %zu)", what, faults);
    if (!same_files("run/model.safetensors", "whole/model.safetensors"))
        fail_msg("%s: the continued run ends elsewhere (fault %zu, seed %llu)", what, faults,
                 (unsigned long long)seed);
}

/* Begins a run, sends it a signal at a random moment, and returns its exit status. */
static int stop_run(int number)
{
    shell_ok("rm -rf run");
    pid_t pid = shell_start("child", "%s %s", program, again());
    pause_ms((long)draw(1 + (size_t)(1e3 * whole_seconds)));
    test_signal(pid, number);
    return shell_finish(pid);
}

/* Counts the lines of err that report a failure. */
static int failures_told(void)
{
    return count_words(err, "trotter train: ") - count_words(err, "trotter train: warning");
}

/* ---- stopped, read-only, moved ------------------------------------------------------------------- */

/* Sends SIGTERM, as a queue does, or SIGINT: the run is saved with status 130, and nothing is done twice. */
static void asked_to_stop(const char *file)
{
    (void)file;
    int status = stop_run(draw(2) ? SIGTERM : SIGINT);
    if (status == 130) assert_true(file_exists("run/state.safetensors"));
    told += status == 130;
    check_end("stopped");
}

/* Permissions do not stop root, who becomes nobody. */
static const char *powerless(void)
{
    return geteuid() ? program : "setpriv --reuid 65534 --regid 65534 --clear-groups ./mine";
}

static int can_be_powerless(void)
{
    return shell("cp %s mine && %s --version", program, powerless()) == 0;
}

static void read_only(const char *file)
{
    shell_ok("rm -rf run");
    if (draw(2)) stop_run(SIGKILL);
    shell_ok("mkdir -p run; rm -rf before; cp -r run before; chmod 0555 run");
    int status = shell("%s %s", powerless(), again());
    check_told(failures_told() == 1 && (status == 1 || status == 2), "read-only", status);
    if (file_exists(file)) assert_same_file("run", "before", "state.safetensors", 1);
    shell_ok("chmod 0755 run");
    check_end("read-only directory");
}

/* Continues in a copy elsewhere; the first place is gone. */
static void copied(const char *file)
{
    (void)file;
    stop_run(SIGKILL);
    shell_ok("rm -rf other; mkdir -p other run; cp -r run other/place; rm -rf run");
    int status =
        program_run("%s", file_exists("other/place/config.ini") ? RUN "other/place --resume"
                                                                : RUN "other/place");
    check_told(status == 0, "copied", status);
    shell_ok("mv other/place run");
    check_end("copied");
}

/* ---- damaged files --------------------------------------------------------------------------------- */

/* Gives a file another bit, or cuts its end off. */
static void damage(const char *file)
{
    size_t size;
    char *byte = file_slurp(file, &size);
    if (draw(4) == 0)
        size = draw(size);
    else
        byte[draw(size)] ^= (char)(1 << draw(8));
    file_write(file, byte, size);
}

/* Makes a number of a file not finite, and seals it by the checksum that fits. */
static void poison(const char *file)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    size_t size;
    uint64_t n;
    char *byte = file_slurp(file, &size);
    memcpy(&n, byte, 8);
    size_t k = draw((size - 8 - n) / sizeof(float));
    memcpy(byte + 8 + n + k * sizeof(float), &bad[draw(3)], sizeof(float));
    assert_true(fuzz_seal((uint8_t *)byte, size));
    file_write(file, byte, size);
}

/* Spoils a file of a run: it is refused in one line, and stays as it was; or, where the damaged bytes have no meaning
 * (the word "checksum") and `data` is not NULL, that is the output. */
static void try_file(const char *file, void (*spoil)(const char *), const char *words,
                     const char *data)
{
    shell_ok("rm -rf run; cp -r whole run");
    spoil(file);
    shell_ok("cp %s bad", file);
    int status = program_run(strstr(file, "state") ? again() : EVAL);
    int refused = status == 2 && count_lines(err) == 1 && strstr(err, words);
    check_told(status == 0 ? data && strcmp(out, data) == 0 : refused, file, status);
    assert_true(same_files("bad", file));
}

static void damaged(const char *file)
{
    try_file(file, damage, file, strstr(file, "state") ? NULL : whole_eval);
}

static void not_finite(const char *file)
{
    try_file(file, poison, "not finite", NULL);
}

/* Changes a bit of the text with which the run began: the run is refused, and goes on with the right text. Where
 * the bit has no effect (a blank for a tab), it comes to the right end. */
static void damaged_data(const char *file)
{
    stop_run(SIGKILL);
    if (!file_exists("run/state.safetensors")) shell_ok("rm -rf run; cp -r whole run");
    shell_ok("rm -rf before; cp -r run before; cp %s right", file);
    damage(file);
    int status = program_run(again());
    shell_ok("cp right %s", file);
    check_told(status == 0 || (status == 2 && count_lines(err) == 1), "text", status);
    if (status == 2) assert_same_file("run", "before", "state.safetensors", 1);
    check_end("damaged text");
}

/* ---- numbers that blow up ---------------------------------------------------------------------------- */

/* Trains with a layer that multiplies its slope by up to 1e56, so that losses or gradients overflow. One line names
 * the place; the files on the disk are finite, and a resumed run comes to the same place. */
static void blown_up(const char *file)
{
    static const char go[] = ANY_SCHEME "--scheme-file boom.scheme --scheme boom --out run";
    static char first[sizeof err];
    file_text(file, formed("scheme boom\nk1 = H(y)\ny' = y + %zu*10^%zu*k1\n", 1 + draw(9),
                           15 + draw(41)));
    shell_ok("rm -rf run");
    int status = program_run(go);
    if (trained(status)) return; /* it bears so large a factor */
    check_told(status == 1 && failures_told() == 1 && strstr(err, "not finite"), go, status);
    strcpy(first, strstr(err, "trotter train: "));
    if (!file_exists("run/state.safetensors")) return;
    status = program_run("%s --resume", go);
    const char *line = strstr(err, "trotter train: ");
    check_told(status == 1 && line && strcmp(line, first) == 0, go, status);
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static struct {
    const char *name;
    void (*fault)(const char *file);
    const char *file;
    int tells; /* of many, some must end with a message: else the fault has no effect */
} kinds[] = {
    {"asked to stop", asked_to_stop, NULL, 0},
    {"read-only directory", read_only, "before/state.safetensors", 1},
    {"copied elsewhere", copied, NULL, 0},
    {"damaged state", damaged, "run/state.safetensors", 1},
    {"damaged model", damaged, "run/model.safetensors", 1},
    {"damaged vocabulary", damaged, "run/vocab.txt", 1},
    {"damaged text", damaged_data, "text/train.txt", 1},
    {"state not finite", not_finite, "run/state.safetensors", 1},
    {"model not finite", not_finite, "run/model.safetensors", 1},
    {"blown up", blown_up, "boom.scheme", 1},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void try_kind(void **state)
{
    size_t k = *(size_t *)*state;
    double begun = clock_now();
    if (kinds[k].fault == read_only && !can_be_powerless()) {
        printf("# skipped: %s: root cannot become nobody here\n", kinds[k].name);
        skip();
    }
    told = 0;
    for (size_t i = 0; i < each; i++) {
        faults++;
        kinds[k].fault(kinds[k].file);
    }
    printf("# %-20s %zu faults, %zu told in a line, %.1f s\n", kinds[k].name, each, told,
           clock_now() - begun);
    if (kinds[k].tells && told == 0) fail_msg("%s: no fault has bitten", kinds[k].name);
}

/* The harness sees a difference: a run with another option ends elsewhere. */
TEST(another_run_is_told_apart)
{
    shell_ok("rm -rf run");
    expect(0, RUN "run --dropout 0.2");
    assert_same_file("run", "whole", "model.safetensors", 0);
}

/* Leaves only a few shell programs, as without gnuplot a run takes half as long. */
static int make_cheap(void)
{
    shell_ok("mkdir bin && for p in sh timeout rm cp mv mkdir chmod ls grep setpriv; do "
             "ln -s $(command -v $p) bin/; done");
    return setenv("PATH", file_path("bin"), 1);
}

static void write_texts(void)
{
    static const char line[] = "a b c d e f g\nb c d\na a c\n";
    char all[40 * sizeof line] = "";
    for (int i = 0; i < 40; i++) strcat(all, line);
    shell_ok("mkdir text");
    file_text("text/train.txt", all);
    file_text("text/valid.txt", line);
    file_text("text/test.txt", line);
}

static int open_all(void **state)
{
    const char *many = getenv("TROTTER_FAULTS"), *other = getenv("TROTTER_FAULT_SEED");
    if (program_open_drawn(state) || chmod(folder, 0755) != 0 || make_cheap() != 0) return -1;
    if (many) each = (size_t)atol(many);
    if (other) seed = (uint64_t)atoll(other);
    write_texts();
    double begun = clock_now();
    expect(0, RUN "whole");
    whole_seconds = clock_now() - begun;
    shell_ok("cp -r whole run");
    strcpy(whole_eval, output_of(EVAL));
    return 0;
}

int main(void)
{
    static size_t index[KINDS];
    for (size_t k = 0; k < KINDS; k++) {
        index[k] = k;
        test_add(&(struct CMUnitTest){kinds[k].name, try_kind, NULL, NULL, &index[k]}, __LINE__);
    }
    return test_run(open_all, program_close);
}
