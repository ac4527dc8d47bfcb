/* test_faults.c: training runs that are stopped, moved and damaged at random moments (killed and starved at each:
 * test_power.c, test_calls.c). Each time the run either continues correctly, to the bit, or ends with one line and the
 * right exit status, and the earlier files are still there.
 *
 * TROTTER_FAULTS is the number of faults of each kind; TROTTER_FAULT_SEED draws others (`make soak`).
 */
#include "tests/lib/test.h"

#include "tests/faults/faults.h"
#include "tests/fuzz/fuzz.h"

enum { FEW = 8 };

/* Many short epochs make a good part of the time one of saving. */
#define ANY_SCHEME                                                                        \
    "train --corpus text --width 8 --inner 16 --heads 2 --sequence 16 --batch-tokens 64 " \
    "--epochs 4 --rate 3e-3 --warmup 10 --threads 1 --seed 3 "
#define RUN ANY_SCHEME "--scheme transformer --out "
#define EVAL "eval --model whole --text text/valid.txt"

/* The undisturbed run. */
static Bytes whole_model, whole_state, whole_words, text;
static double whole_seconds;
static char whole_eval[sizeof out];

/* Returns the command line that a user would type: it resumes a run that is there, else begins one. */
static const char *again(void)
{
    return file_exists("run/config.ini") ? RUN "run --resume" : RUN "run";
}

/* Counts temporary files of the run. */
static int left_over(void)
{
    int n = 0;
    DIR *d = opendir(file_path("run"));
    for (struct dirent *e; d && (e = readdir(d));) n += strstr(e->d_name, ".tmp-") != NULL;
    if (d) closedir(d);
    return n;
}

/* Checks that the run reaches the end of the undisturbed run; else it is lost. */
static void check_end(const char *what)
{
    if (program_run(again()) != 0) fail_msg("%s: it does not go on: %s", what, err);
    if (left_over()) fail_msg("%s: a temporary file is left (fault %zu)", what, soak.faults);
    if (same_bytes("run/model.safetensors", &whole_model)) return;
    soak.lost++;
    fail_msg("%s: the continued run ends elsewhere (fault %zu, seed %llu)", what, soak.faults,
             (unsigned long long)soak.seed);
}

/* Counts a status other than 0; fails where the end of the run was not right. */
static void check_told(int right, const char *what, int status)
{
    soak.told += status != 0;
    if (right) return;
    soak.lost++;
    fail_msg("%s: status %d: %s (fault %zu, seed %llu)", what, status, err, soak.faults,
             (unsigned long long)soak.seed);
}

/* Begins a run and kills it at a random moment. */
static void begin_run(void)
{
    shell_ok("rm -rf run");
    pid_t pid = start(again(), (Limits){0});
    wait_seconds(draw() * whole_seconds);
    test_signal(pid, SIGKILL);
    finish(pid);
}

/* ---- stopped and starved ------------------------------------------------------------------------- */

/* Sends SIGTERM, as a queue does, or SIGINT: the run is saved with status 130, and nothing is done twice. */
static void asked_to_stop(void)
{
    shell_ok("rm -rf run");
    pid_t pid = start(again(), (Limits){0});
    wait_seconds(draw() * whole_seconds);
    test_signal(pid, draw_below(2) ? SIGTERM : SIGINT);
    int status = finish(pid);
    soak.told += status == 130;
    if (status == 130) assert_true(file_exists("run/state.safetensors"));
    check_end("stopped");
}

/* Makes the directory read-only. Permissions do not stop root, who becomes nobody. */
static void read_only(void)
{
    shell_ok("rm -rf run");
    if (draw_below(2)) begin_run();
    shell_ok("mkdir -p run; chmod 0555 run");
    Bytes before = slurp("run/state.safetensors");
    int status = finish(start(again(), (Limits){.powerless = 1}));
    check_told(failures_told() == 1 && (status == 1 || status == 2), "read-only", status);
    assert_true(same_bytes("run/state.safetensors", &before));
    free(before.byte);
    shell_ok("chmod 0755 run");
    check_end("read-only directory");
}

/* Continues in a copy elsewhere; the first place is gone. */
static void copied(void)
{
    begin_run();
    shell_ok("rm -rf other; mkdir -p other run; cp -r run other/place; rm -rf run");
    const char *go =
        file_exists("other/place/config.ini") ? RUN "other/place --resume" : RUN "other/place";
    int status = program_run(go);
    check_told(status == 0, "copied", status);
    shell_ok("mv other/place run");
    check_end("copied");
}

/* ---- damaged files --------------------------------------------------------------------------------- */

/* Puts `bad` in place of a file. It is refused in one line, and the file stays as it was; or, where the damaged
 * bytes have no meaning (the word "checksum"), the output is `data` as of the good file. Frees bad. */
static void try_file(const char *name, Bytes bad, const char *arguments, const char *words,
                     const char *data)
{
    file_write(name, bad.byte, bad.size);
    int status = program_run(arguments);
    int told = status == 2 && count_lines(err) == 1 && strstr(err, words);
    check_told(status == 0 ? data && strcmp(out, data) == 0 : told, name, status);
    assert_true(same_bytes(name, &bad));
    free(bad.byte);
}

static void damaged_state(void)
{
    shell_ok("rm -rf run; cp -r whole run");
    try_file("run/state.safetensors", damaged(&whole_state), again(), "run/state.safetensors",
             NULL);
}

static void damaged_model(void)
{
    try_file("whole/model.safetensors", damaged(&whole_model), EVAL, "whole/model.safetensors",
             whole_eval);
    file_write("whole/model.safetensors", whole_model.byte, whole_model.size);
}

static void damaged_vocabulary(void)
{
    try_file("whole/vocab.txt", damaged(&whole_words), EVAL, "whole/vocab.txt", whole_eval);
    file_write("whole/vocab.txt", whole_words.byte, whole_words.size);
}

/* Returns a copy with one number that is not finite, sealed by the checksum that fits. */
static Bytes poisoned(const Bytes *good)
{
    static const float poison[] = {NAN, INFINITY, -INFINITY};
    Bytes bad = {malloc(good->size), good->size};
    uint64_t n;
    assert_non_null(bad.byte);
    memcpy(bad.byte, good->byte, good->size);
    memcpy(&n, bad.byte, 8);
    size_t k = draw_below((bad.size - 8 - n) / sizeof(float));
    memcpy(bad.byte + 8 + n + k * sizeof(float), &poison[draw_below(3)], sizeof(float));
    assert_true(fuzz_seal((uint8_t *)bad.byte, bad.size));
    return bad;
}

static void not_finite_state(void)
{
    shell_ok("rm -rf run; cp -r whole run");
    try_file("run/state.safetensors", poisoned(&whole_state), again(), "not finite", NULL);
}

static void not_finite_model(void)
{
    try_file("whole/model.safetensors", poisoned(&whole_model), EVAL, "not finite", NULL);
    file_write("whole/model.safetensors", whole_model.byte, whole_model.size);
}

/* Changes a bit of the text with which the run began: the run is refused, and goes on with the right text. Where
 * the bit has no effect (a blank for a tab), it comes to the right end. */
static void damaged_data(void)
{
    begin_run();
    if (!file_exists("run/state.safetensors")) shell_ok("rm -rf run; cp -r whole run");
    Bytes bad = damaged(&text), state = slurp("run/state.safetensors");
    file_write("text/train.txt", bad.byte, bad.size);
    int status = program_run(again());
    file_write("text/train.txt", text.byte, text.size);
    check_told(status == 0 || (status == 2 && count_lines(err) == 1), "text", status);
    if (status == 2) assert_true(same_bytes("run/state.safetensors", &state));
    free(bad.byte);
    free(state.byte);
    check_end("damaged text");
}

/* ---- numbers that blow up ---------------------------------------------------------------------------- */

/* Trains with a layer that multiplies its slope by up to 1e56, so that losses or gradients overflow. One line names
 * the place; the files on the disk are finite, and a resumed run comes to the same place. */
static void blown_up(void)
{
    char go[512], scheme[128], first[sizeof err];
    size_t n = (size_t)sprintf(scheme, "scheme boom\nk1 = H(y)\ny' = y + %zu*10^%zu*k1\n",
                               1 + draw_below(9), 15 + draw_below(41));
    file_write("boom.scheme", scheme, n);
    shell_ok("rm -rf run");
    strcpy(go, ANY_SCHEME "--scheme-file boom.scheme --scheme boom --out run");
    int status = program_run(go);
    if (trained(status)) return; /* it bears so large a factor */
    check_told(status == 1 && failures_told() == 1 && strstr(err, "not finite"), go, status);
    strcpy(first, strstr(err, "trotter train: "));
    if (!file_exists("run/state.safetensors")) return;
    strcat(go, " --resume");
    status = program_run(go);
    const char *told = strstr(err, "trotter train: ");
    check_told(status == 1 && told && strcmp(told, first) == 0, go, status);
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static int can_be_nobody(void)
{
    shell_ok("chmod 0555 full");
    int status = finish(start("--version", (Limits){.powerless = 1}));
    shell_ok("chmod 0755 full");
    return status == 0;
}

static struct {
    const char *name;
    void (*fault)(void);
    int tells;        /* of many, some must end with a message: else the fault has no effect */
    int (*can)(void); /* NULL: always */
    const char *reason;
} kinds[] = {
    {"asked to stop", asked_to_stop, 0, NULL, NULL},
    {"read-only directory", read_only, 1, can_be_nobody, "root cannot become nobody here"},
    {"copied elsewhere", copied, 0, NULL, NULL},
    {"damaged state", damaged_state, 1, NULL, NULL},
    {"damaged model", damaged_model, 1, NULL, NULL},
    {"damaged vocabulary", damaged_vocabulary, 1, NULL, NULL},
    {"damaged text", damaged_data, 1, NULL, NULL},
    {"state not finite", not_finite_state, 1, NULL, NULL},
    {"model not finite", not_finite_model, 1, NULL, NULL},
    {"blown up", blown_up, 1, NULL, NULL},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void try_kind(void **state)
{
    size_t k = *(size_t *)*state;
    double begun = now();
    if (kinds[k].can && !kinds[k].can()) {
        printf("# skipped: %s: %s\n", kinds[k].name, kinds[k].reason);
        skip();
    }
    soak.told = 0;
    for (size_t i = 0; i < soak.each; i++) {
        soak.faults++;
        kinds[k].fault();
    }
    printf("# %-20s %zu faults, %zu told in a line, %.1f s\n", kinds[k].name, soak.each, soak.told,
           now() - begun);
    if (kinds[k].tells && soak.told == 0) fail_msg("%s: no fault has bitten", kinds[k].name);
}

/* The harness sees a difference: a run with another option ends elsewhere. */
TEST(another_run_is_told_apart)
{
    shell_ok("rm -rf run");
    assert_int_equal(program_run(RUN "run --dropout 0.2"), 0);
    assert_false(same_bytes("run/model.safetensors", &whole_model));
}

/* Leaves only a few shell programs, as without gnuplot a run takes half as long. */
static int make_cheap(void)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/bin", folder);
    shell_ok("mkdir bin full && for p in sh timeout rm cp mv mkdir chmod; do ln -s $(command -v "
             "$p) bin/; done");
    return setenv("PATH", path, 1);
}

static void write_texts(void)
{
    static const char line[] = "a b c d e f g\nb c d\na a c\n";
    static const char *const names[] = {"text/train.txt", "text/valid.txt", "text/test.txt"};
    char all[40 * sizeof line] = "";
    for (int i = 0; i < 40; i++) strcat(all, line);
    shell_ok("mkdir text");
    for (int i = 0; i < 3; i++) file_write(names[i], i ? line : all, strlen(i ? line : all));
}

static int open_all(void **state)
{
    const char *each = getenv("TROTTER_FAULTS"), *seed = getenv("TROTTER_FAULT_SEED");
    if (program_open_drawn(state) || chmod(folder, 0755) != 0 || make_cheap() != 0) return -1;
    soak.each = each ? (size_t)atol(each) : FEW;
    soak.seed = seed ? (uint64_t)atoll(seed) : 1;
    write_texts();
    double begun = now();
    if (program_run(RUN "whole") != 0) return -1;
    whole_seconds = now() - begun;
    whole_model = slurp("whole/model.safetensors");
    whole_state = slurp("whole/state.safetensors");
    whole_words = slurp("whole/vocab.txt");
    text = slurp("text/train.txt");
    if (program_run(EVAL) != 0) return -1;
    strcpy(whole_eval, out);
    return whole_model.size && whole_state.size ? 0 : -1;
}

static int close_all(void **state)
{
    printf("# %zu faults, %zu runs lost (seed %llu)\n", soak.faults, soak.lost,
           (unsigned long long)soak.seed);
    free(whole_model.byte);
    free(whole_state.byte);
    free(whole_words.byte);
    free(text.byte);
    return program_close(state);
}

int main(void)
{
    static size_t index[KINDS];
    for (size_t k = 0; k < KINDS; k++) {
        index[k] = k;
        test_add(&(struct CMUnitTest){kinds[k].name, try_kind, NULL, NULL, &index[k]}, __LINE__);
    }
    return test_run(open_all, close_all);
}
