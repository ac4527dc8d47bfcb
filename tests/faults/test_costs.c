/* test_costs.c: time and memory. Every command reads small but hostile inputs (below 1 MB: long, wide, deep, many, without
 * an end), and has options at the ends of their ranges. A run ends within 10 s of a processor and 1 GB, or its
 * line of progress says what it takes: the time left, the memory, or what makes it less.
 *
 * A line of the list stands for itself; with a '%' it is tried with every input of its kind. TROTTER_SWEEP is how many
 * are drawn (0: all; `make check-faults`), TROTTER_SWEEP_SEED draws others, TROTTER_SWEEP_LINE takes those that have
 * these words. The worst of each command are printed; costs.txt has those of a whole sweep. */
#include "kernels/base/random.h"
#include "tests/faults/command_rows.h"
#include "tests/faults/tour.h"
#include "tests/lib/requests.h"

enum { MOST_MIB = 1024, FEW = 12 };
static double most_seconds = 10;

/* ---- inputs -------------------------------------------------------------------------------------------------- */

/* Written as head, n times each with i + 2 and i + 1, foot. Kinds: scheme, problem, text, csv, json, labelled, and model, whose
 * text is a header with its length before. */
static const struct {
    char kind;
    const char *file, *head;
    size_t n;
    const char *each, *foot;
} inputs[] = {
    {'s', "chain.scheme", "scheme chain\nk1 = H(y)\n", 254, "k%zu = H(y + 1/3*k%zu)\n",
     "y' = y + k255\n"},
    {'s', "colours.scheme", "scheme colours\nk1 = F(y)\n", 100, "k%zu = G(y + 1/7*k%zu)\n",
     "y' = y + k1\n"},
    {'s', "implicit.scheme", "scheme implicit\nk1 = H(y)\n", 60,
     "k%1$zu = H(y + 1/3*k%2$zu + 1/9*k%1$zu)\n", "y' = y + k1\n"},
    {'s', "flows.scheme", "scheme flows\n", 3000, "flow 1/3000 G\nflow 1/%zu F\n", ""},
    {'s', "history.scheme", "scheme history\nk1 = H(y)\ny' = 1/60*y + 1/60*k1", 59,
     " + 1/60*y[-%2$zu]", "\n"},
    {'s', "many.scheme", "", 8000,
     "scheme m%1$zu\nk1 = H(y)\nk2 = H(y + 1/%1$zu*k1)\ny' = y + k2\n", ""},
    {'s', "row.scheme", "scheme row\nk1 = H(y)\ny' = y", 40000, " + 1/%zu*k1", "\n"},
    {'s', "names.scheme", "scheme names\nlet a1 = 1\n", 30000, "let a%zu = a%zu\n",
     "k1 = H(y)\ny' = y + k1\n"},
    {'s', "tower.scheme", "scheme tower\nlet a1 = 3\n", 40, "let a%1$zu = a%2$zu*a%2$zu\n",
     "k1 = H(y)\ny' = y + 1/a40*k1\n"},
    {'s', "deep.scheme", "scheme deep\nlet a = ", 400000, "(", "1\nk1 = H(y)\ny' = y + a*k1\n"},
    {'p', "many.system",
     "system many\nn 100000\nd 2\nF = mean (z - y)*exp(-r2)\ninitial = normal\n", 0, "",
     "h0 1/8\n"},
    {'p', "grid.system",
     "system grid\nn 100000\nd 1\nF = 1000*(y[i+1] - 2*y + y[i-1])\ninitial = normal\n", 0, "",
     "t-end 1\n"},
    {'p', "sums.system", "system sums\nn 64\nd 2\nG = y", 1000, " + sin(y/%zu)",
     "\nF = mean (z - y)\ninitial = normal\n"},
    {'p', "stiff.system",
     "system stiff\nn 2\nd 2\nF = -1e8*y\nG = sin(1e6*t)\ninitial = 1\nt-end 10\n", 0, "", ""},
    {'p', "fast.system",
     "system fast\nn 1\nd 2\nG1 = -10000*y2\nG2 = 10000*y1\ninitial = 1\nt-end 1000\n", 0, "", ""},
    {'p', "soft.system",
     "system soft\nn 2000\nd 4\nF = softmax dot : z\ninitial = normal\nt-end 1\n", 0, "", ""},
    {'t', "word.txt", "", 990000, "a", "\n"},
    {'t', "blanks.txt", "", 990000, " ", "\n"},
    {'t', "lines.txt", "", 490000, "a\n", ""},
    {'t', "line.txt", "", 240000, "the ", "\n"},
    {'t', "distinct.txt", "", 80000, "w%zu ", "\n"},
    {'t', "signs.txt", "", 140000, "&;.!?-'", "\n"},
    {'c', "rows.csv", "scheme,seed,x\n", 60000, "a,%zu,%zu\n", ""},
    {'c', "designs.csv", "scheme,seed,x\n", 900, "s%1$zu,1,%1$zu\ns%1$zu,2,%2$zu.5\n", ""},
    {'c', "columns.csv", "scheme,seed", 100000, ",c%zu", "\n"},
    {'c', "errors.csv", "scheme,system,h,evals,seconds,error\n", 25000,
     "a,x,1e-%1$zu,%2$zu,1,0.%1$zu\n", ""},
    {'c', "quotes.csv", "", 990000, "\"", "\n"},
    {'j', "deep.json", "", 990000, "[", "\n"},
    {'j', "merges.json", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1},\"merges\":[",
     60000, "[\"a\",\"b\"],", "[\"a\",\"b\"]]}}\n"},
    {'j', "words.json", "{\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{", 50000,
     "\"w%1$zu\":%1$zu,", "\"a\":0}}}\n"},
    {'j', "tableau.json", "{\"A\":[[0]],\"b\":[1", 400000, ",0", "]}\n"},
    {'l', "classes.tsv", "sentence\tlabel\n", 40000, "the cat\tc%zu\n", ""},
    {'l', "pairs.tsv", "sentence\tsentence2\tlabel\n", 40000, "the\tcat\tx\n", ""},
    {'l', "wide.tsv", "sentence\tlabel", 300000, "\tx", "\n"},
    {'m', "many.safetensors", "{", 13000,
     "\"t%zu\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},",
     "\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}"},
    {'m', "deep.safetensors", "{\"a\":", 900000, "[", "}"},
    {'m', "shape.safetensors", "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,0],\"shape\":[0",
     400000, ",1", "]}}"},
};
enum { INPUTS = sizeof inputs / sizeof *inputs };

/* Without an end; a fifo has no writer. */
static const char *const endless[] = {"/dev/zero", "fifo", ".", "bytes"};
enum { ENDLESS = sizeof endless / sizeof *endless };

/* Writes 128 stages whose numbers share nothing: fractions, or decimals. */
static void write_dense(const char *file, int decimals)
{
    FILE *f = fopen(file_path(file), "w");
    assert_non_null(f);
    fputs("scheme dense\n", f);
    for (size_t i = 1; i <= 128; i++) {
        fprintf(f, "k%zu = H(y", i);
        for (size_t j = 1; j < i; j++)
            if (decimals)
                fprintf(f, " + 0.%05zu*k%zu", (i * 13171 + j * 37991) % 99999, j);
            else
                fprintf(f, " + %zu/%zu*k%zu", j + 1, 100 + (i * 131 + j * 37) % 899, j);
        fputs(")\n", f);
    }
    fputs("y' = y + k128\n", f);
    fclose(f);
}

static size_t write_inputs(void)
{
    size_t most = 0;
    for (size_t k = 0; k < INPUTS; k++) {
        char name[64];
        snprintf(name, sizeof name, "in/%s", inputs[k].file);
        FILE *f = fopen(file_path(name), "w");
        assert_non_null(f);
        if (inputs[k].kind == 'm') fwrite(&(uint64_t){0}, 8, 1, f);
        fputs(inputs[k].head, f);
        for (size_t i = 0; i < inputs[k].n; i++) fprintf(f, inputs[k].each, i + 2, i + 1);
        fputs(inputs[k].foot, f);
        uint64_t bytes = (uint64_t)ftell(f), header = bytes - 8;
        if (bytes > most) most = bytes;
        if (inputs[k].kind == 'm') rewind(f), fwrite(&header, 8, 1, f);
        fclose(f);
    }
    write_dense("in/dense.scheme", 0);
    write_dense("in/decimals.scheme", 1);
    shell_ok("cd in && mkfifo fifo && head -c 900000 \"$(which trotter || echo %s)\" >bytes",
             program);
    return most;
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

/* The letter behind a '%' is the kind of its inputs; endless ones are of every kind. A server is asked for what stands behind
 * '<', about the text of a file, and then stopped. */
static const char *const lines[] = {
    "schemes --scheme-file %s",
    "expand --scheme-file %s",
    "stability --scheme-file %s",
    "order --system kepler --scheme-file %s",
    "schemes --structure --scheme-file %s",
    "schemes --scheme-file dense.scheme",
    "schemes --scheme-file decimals.scheme",
    "stability --scheme-file dense.scheme",
    "stability --scheme-file decimals.scheme",
    "schemes --structure --scheme-file decimals.scheme",
    "schemes --scheme-file %j",
    "design --scheme-file %s",
    "verify --scheme-file %s",
    "bench theory --budget 1 --scheme-file %s",
    "compare --scheme-file %s --seeds 1 --corpus text --out o" TINY_TRAIN,
    "compare --scheme euler --seeds 1 --corpus text --out o --system-file %p" TINY_TRAIN,
    "train --scheme-file %s --corpus text --out o" TINY_TRAIN,
    "truncation --model model --text text/valid.txt --scheme-file %s",
    "schemes --dense --scheme-file %s",
    "schemes --tableau json --scheme-file %s",
    "order --scheme rk4 --system-file %p",
    "solve --scheme rk4 --system-file %p",
    "order --adaptive --system-file %p",
    "solve --scheme tr-bdf2 --tolerance 1e-12 --system-file %p",
    "tokenize --text %t",
    "bpe --learn 10000 --text %t",
    "bpe --learn 10000 --byte-level --text %t",
    "data --corpus %t",
    "data --corpus %t --bpe 10000",
    "data --corpus %t --level char",
    "train --corpus %t --out o --width 8 --inner 8 --heads 1",
    "train --corpus %t --parts 8,1,1 --out o --bpe 1000",
    "train --corpus text --codes %t --out o" TINY_TRAIN,
    "train --corpus text --tokenizer %j --out o" TINY_TRAIN,
    "train --corpus text --from %m --out o" TINY_TRAIN,
    "train --config %t --out o",
    "sweep --words sf --seeds 1 --corpus %t --out o" TINY_TRAIN,
    "data --corpus text --tokenizer %j",
    "bpe --codes %t --text text/valid.txt",
    "average --model %m --model model --out o",
    "export --model %m --out o",
    "eval --model %m --text text/valid.txt",
    "eval --model pair --text %t --source-text %t",
    "eval --model model --text %t",
    "score --model model --text %t",
    "translate --model pair --text %t",
    "classify --model tuned --text %t",
    "translate --model pair --text pairs/test.en --prefix %t",
    "score --model pair --text %t --source-text %t",
    "finetune --model masked --task %t --out o",
    "finetune --model masked --task %l --out o",
    "finetune --model masked --task task.tsv --dev %l --out o",
    "generate --model model --prompt-file %t --tokens 1000000",
    "truncation --model model --text %t",
    "attention --model model --model twin --text %t --tokens 1000000",
    "bleu --reference %t --hypothesis %t",
    "bleu --reference %t --hypothesis %t --metrics ter",
    "table %c",
    "table %c --all-pairs",
    "table runs.csv --plan %t",
    "bench --recorded %c",
    "bench --fit %c",
    "plot %c --out o",
    "report . --out p.html",
    "report /dev --out p.html",
    "expand --scheme rk4 --one-field --degree 15",
    "expand --scheme rk4 --conditions 12",
    "stability --scheme rk4 --points 2001 --csv",
    "design --scheme-file forms.scheme --scheme root --evaluations 1000000000",
    "order --scheme rk4 --halvings 24",
    "order --scheme rk4 --particles 4096",
    "order --scheme rk4 --h0 1e-9",
    "order --scheme rk4 --t-end 1e6",
    "order --scheme rk4 --system kepler --invariant --t-end 1e6 --h0 0.02",
    "stability --scheme rk2-scalar --points 2001 --out o",
    "order --adaptive --tolerances 1e-14 --system van-der-pol:mu=1000000 --t-end 20",
    "solve --t-end 1e6 --h 1e-9",
    "solve --scheme dormand-prince --tolerance 1e-8 --system transport --particles 4096 --times 100000",
    "verify",
    "translate --model pair --text pairs/train.en --beam 10000",
    "average --model model --model twin --out o",
    "truncation --model model --text text/valid.txt --sentences 100000 --halvings 11",
    "truncation --model model --text text/valid.txt --refine 65536",
    "export --model model --out o",
    "bleu --reference lines.txt --hypothesis lines.txt --bootstrap 1000000",
    "manual --out man",
    "compare --scheme euler,heun --seeds 1000 --corpus text --out o" TINY_TRAIN,
    "sweep --words sf,fs --seeds 1000 --corpus text --out o" TINY_TRAIN,
    "finetune --model masked --task task.tsv --seeds 1000 --epochs 10000 --patience 0 --out o",
    "bench theory --budget 1",
    "serve . <files",
    "serve . <report",
    "serve . <check %s",
    "serve . <region %s",
    "serve . <order %s",
};
enum { LINES = sizeof lines / sizeof *lines };

static size_t count_of(const char *line)
{
    const char *at = strchr(line, '%');
    size_t n = at ? ENDLESS : 1;
    for (size_t k = 0; at && k < INPUTS; k++) n += inputs[k].kind == at[1];
    return n;
}

/* Writes the line with number `which` of its inputs. */
static void line_with(const char *line, size_t which, char *text, size_t room)
{
    const char *at = strchr(line, '%'), *file = "";
    if (at && which < ENDLESS) file = endless[which];
    for (size_t k = 0, n = ENDLESS; at && which >= ENDLESS && k < INPUTS; k++)
        if (inputs[k].kind == at[1] && n++ == which) file = inputs[k].file;
    size_t n = 0;
    for (; *line && n + 1 < room; line++)
        if (*line == '%' && *++line)
            n += (size_t)snprintf(text + n, room - n, "%s", file);
        else
            text[n++] = *line;
    text[n] = '\0';
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

/* Returns the seconds of processors that a process and the dead among its children had, and of what it was most, MiB. */
static double used(pid_t pid, double *mib)
{
    char name[64], text[4096] = "";
    unsigned long ticks[4] = {0};
    snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(name, "r");
    if (f && fgets(text, sizeof text, f) && strrchr(text, ')'))
        sscanf(strrchr(text, ')'), ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu %lu %lu",
               ticks, ticks + 1, ticks + 2, ticks + 3);
    if (f) fclose(f);
    snprintf(name, sizeof name, "/proc/%d/status", (int)pid);
    f = fopen(name, "r");
    for (long kib; f && fgets(text, sizeof text, f);)
        if (sscanf(text, "VmHWM: %ld", &kib) == 1) *mib = (double)kib / 1024;
    if (f) fclose(f);
    return (double)(ticks[0] + ticks[1] + ticks[2] + ticks[3]) / (double)sysconf(_SC_CLK_TCK);
}

/* Returns how many runs are tried; 0: all. */
static size_t drawn(void)
{
    const char *n = getenv("TROTTER_SWEEP");
    return n ? (size_t)atol(n) : FEW;
}

typedef struct {
    double seconds, mib;
    int told, ended;
} Cost;

/* Returns the address of what stands behind a line's '<', which it ends there; NULL: there is none. */
static const char *asked_in(char *line)
{
    static char text[TEXT_MOST + 2];
    char *mark = strchr(line, '<'), *blank, name[PATH_MAX];
    if (!mark) return NULL;
    *mark++ = '\0';
    if (!(blank = strchr(mark, ' '))) return mark;
    *blank++ = '\0';
    snprintf(name, sizeof name, "in/%s", blank);
    int fd = open(file_path(name), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return request_about(mark, text);
}

/* Runs a line in in/ until it ends, has had too much, or tells what it takes, in a whole sweep for `most_told` s of a
 * processor at least; what is wrong is in r->fault. */
static void cost_of(const char *path, char *const argv[], const char *asked, Run *r, Cost *c)
{
    const double most_told = drawn() ? 0 : most_seconds / 2 * SLOWER;
    char box[PATH_MAX], out_file[PATH_MAX];
    const double most =
        (asked ? 1.5 : 1) * most_seconds * SLOWER; /* a server's work ends at 10 s */
    Asker a = {0};
    int end[2];
    size_t n = 0;
    *r = (Run){0};
    *c = (Cost){0};
    strcpy(box, file_path("in"));
    strcpy(out_file, file_path("out.txt"));
    open_words(end);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (asked) asker_begin(&a, asked, 1, "out.txt", "answers");
    pid_t pid = start(path, argv, box, out_file, &(Bounds){0}, end[1]), got = 0;
    if (asked) a.server = pid;
    close(end[1]);
    struct rusage use = {0};
    for (double begun = now(); got == 0;) {
        poll(&(struct pollfd){end[0], POLLIN, 0}, 1, 20);
        c->seconds = used(pid, &c->mib);
        hear(end[0], r, &n);
        c->told = strstr(r->said, " s left") || strstr(r->said, " min left") ||
                  strstr(r->said, "faster: ") || strstr(r->said, " take less");
        int heavy = !SANITIZED && c->mib > MOST_MIB && !strstr(r->said, " GB");
        int hangs = c->seconds < most / 4 && now() - begun > 300 * SLOWER;
        if (heavy) fault(r, "%.0f MiB without a word", c->mib);
        if (hangs) fault(r, "it waits for ever");
        if (c->seconds > most && !c->told)
            fault(r, "%.0f s of a processor and no word of how long, or of what makes it less",
                  c->seconds);
        int stop = *r->fault || (c->told && c->seconds >= most_told);
        if (stop) test_signal_group(pid, SIGKILL);
        got = wait4(pid, &r->status, stop ? 0 : WNOHANG, &use);
        c->ended = !stop;
    }
    close(end[0]);
    if (asked) {
        asker_end(&a);
        c->told |= a.status == 503;
        if (a.status == 0) fault(r, "a request has no answer");
    }
    if (c->ended && WIFSIGNALED(r->status)) fault(r, "it died of signal %d", WTERMSIG(r->status));
    c->mib = fmax(c->mib, (double)use.ru_maxrss / 1024);
    c->seconds = fmax(c->seconds, (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec));
    test_signal_group(pid, SIGKILL);
    is_left(pid);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* Programs that say nothing are told from those that say what they take. */
TEST(silent_programs_are_told)
{
    static const struct {
        const char *script, *words, *asked;
    } stand_ins[] = {
        {"while :; do :; done", "no word of how long"},
        {"echo at work >&2; while :; do :; done", "no word of how long"},
        {"echo 'at work, about 2 min left' >&2; while :; do :; done", ""},
        {"exec dd if=/dev/zero of=/dev/null bs=1100M count=9999", "MiB without a word"},
        {"kill -SEGV $$", "signal 11"},
        {"echo http://127.0.0.1:1/0123456789abcdef0123456789abcdef/; exec sleep 9",
         "a request has no answer", "files"},
        {"echo 'trotter: no' >&2; exit 2", ""},
    };
    static Run r;
    most_seconds = 3;
    for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++) {
        char *const argv[] = {"sh", "-c", (char *)stand_ins[i].script, NULL};
        const char *words = stand_ins[i].words;
        Cost c;
        if (SANITIZED && strstr(words, "MiB")) continue;
        cost_of("/bin/sh", argv, stand_ins[i].asked, &r, &c);
        if (*words ? !strstr(r.fault, words) : *r.fault)
            fail_msg("'%s': '%s', not '%s'", stand_ins[i].script, r.fault, words);
    }
    most_seconds = 10;
}

TEST(runs_end_or_tell_what_they_take)
{
    const char *seed = getenv("TROTTER_SWEEP_SEED"), *part = getenv("TROTTER_SWEEP_LINE");
    size_t all = 0, tried = 0, faults = 0, told = 0;
    need_terminal();
    assert_true(write_inputs() < 1000000);
    for (size_t i = 0; i < LINES; i++) all += count_of(lines[i]);
    for (size_t i = 0, number = 0; i < LINES; i++) {
        Cost worst = {0};
        char slow[600] = "";
        for (size_t which = 0; which < count_of(lines[i]); which++) {
            static Run r;
            char text[512], words[512], *argv[64] = {program};
            size_t n = 1;
            Cost c;
            line_with(lines[i], which, text, sizeof text);
            if (part ? !strstr(text, part)
                     : drawn() && random_below(seed ? (uint64_t)atoll(seed) : 1, 0, number++,
                                               all) >= drawn())
                continue;
            strcpy(words, text);
            const char *asked = asked_in(words);
            for (char *w = strtok(words, " "); w && n < 63; w = strtok(NULL, " ")) argv[n++] = w;
            argv[n] = NULL;
            cost_of(program, argv, asked, &r, &c);
            shell_ok("cd in && rm -rf o p.html man");
            tried++;
            faults += *r.fault != '\0';
            told += (size_t)c.told;
            if (*r.fault) printf("%s: trotter %s\n  %.300s\n", r.fault, text, r.said);
            if (c.seconds >= worst.seconds)
                snprintf(slow, sizeof slow, "%s%s", text, c.told ? " (told)" : "");
            worst = (Cost){fmax(c.seconds, worst.seconds), fmax(c.mib, worst.mib), 0, 0};
        }
        if (*slow) printf("# %5.1f s %5.0f MiB  %s\n", worst.seconds, worst.mib, slow);
        fflush(stdout);
    }
    printf("# %zu of %zu runs, %zu told what they take, %zu with a fault\n", tried, all, told,
           faults);
    if (faults) fail_msg("%zu of %zu runs", faults, tried);
}

TEST_MAIN(command_rows_open, program_close)
