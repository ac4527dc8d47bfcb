/* command_rows.h: one short line of every command, on files made here, for harnesses that disturb each of them. A line
 * runs in the folder box/, a copy of in/, and takes a fraction of a second. */
#ifndef TROTTER_TESTS_COMMAND_ROWS_H
#define TROTTER_TESTS_COMMAND_ROWS_H

#include <sys/syscall.h>
#include <unistd.h>

#include "tests/faults/copies_run.h"

typedef struct {
    const char *line;
    /* files that are the same after each run to the end, parted by blanks; NULL: none */
    const char *kept;
    int same_stdout; /* 1: so is stdout; 0: it has times */
    /* goes on where the line stopped and o/config.ini is there; NULL: the line itself does */
    const char *again;
    int alone;         /* 1: no call of its trainings fails, as they are rows of their own */
    const char *asked; /* a server is asked for these, parted by blanks, and then stopped */
} CommandRow;

#define TINY_TRAIN                                                                            \
    " --width 8 --inner 16 --heads 2 --sequence 16 --batch-tokens 64 --rate 3e-2 --warmup 0 " \
    "--threads 1 "
#define TINY_TEXT "train --corpus text --epochs 3 --out o" TINY_TRAIN
#define TINY_STUDY \
    " --seeds 1 --epochs 3 --truncation 1 --truncation-tokens 2 --corpus text" TINY_TRAIN
#define TINY_PAIRS                                                                             \
    "train --corpus pairs --source en --target de --bpe 5 --max-steps 4 --epochs 2 --out pair" \
    " --width 8 --inner 16 --heads 2 --sequence 32 --batch-tokens 64 --threads 1"

static const CommandRow command_rows[] = {
    {"schemes --scheme-file more.scheme --scheme mine,heun --csv", NULL, 1, NULL},
    {"expand --scheme heun --degree 3", NULL, 1, NULL},
    {"stability --scheme heun --out o", "o/stability.csv", 1, NULL},
    {"design --scheme-file forms.scheme --scheme root --starts 2 --evaluations 40 --out o",
     "o/result.scheme o/design.csv", 1, NULL},
    {"order --scheme euler,heun --system-file swarm.txt --out o", "o/order.csv", 0, NULL},
    {"order --adaptive --scheme heun-euler --system kepler --tolerances 1e-3,1e-4,1e-5 --out o",
     "o/tolerance.csv", 0, NULL},
    {"solve --system kepler --scheme rk4 --h 0.5 --out o", "o/solve.csv", 1, NULL},
    {"plot study/order.csv --out o", "o/overlay.gp", 1, NULL},
    {"verify --own \"euler order 1\"", NULL, 1, NULL},
    {"data --corpus text", NULL, 1, NULL},
    {"bpe --learn 5 --text text/train.txt --out codes", "codes", 1, NULL},
    {TINY_TEXT, "o/model.safetensors o/vocab.txt", 1, TINY_TEXT " --resume"},
    {"train --resume --out half", "half/model.safetensors half/vocab.txt", 1, NULL},
    {"eval --model model --text text/valid.txt --csv", NULL, 1, NULL},
    {"generate --model model --prompt \"the cat\" --tokens 5", NULL, 1, NULL},
    {"finetune --model masked --task task.tsv --threads 1 --rates 1e-2 --seeds 1 --epochs 2 --out o",
     "o/predictions.csv o/model.safetensors", 0, NULL},
    {"classify --model tuned --text said", NULL, 1, NULL},
    {"translate --model pair --text pairs/test.en --threads 1 --out t", "t", 1, NULL},
    {"score --model model --text text/valid.txt --threads 1 --out t", "t", 1, NULL},
    {"bleu --reference text/valid.txt --hypothesis text/test.txt", NULL, 1, NULL},
    {"compare --scheme euler,heun --out begun" TINY_STUDY,
     "begun/runs/euler-seed1/model.safetensors begun/runs/heun-seed1/model.safetensors", 0, NULL,
     1},
    {"sweep --words sf,fs --seeds 1 --epochs 3 --corpus text --out o" TINY_TRAIN, "o/words.csv", 0,
     NULL, 1},
    {"table runs.csv --out o", "o/table.csv", 1, NULL},
    {"truncation --model model --text text/valid.txt --sentences 1 --tokens 2 --halvings 4 --out o",
     "o/truncation.csv", 0, NULL},
    {"attention --model model --model twin --text text/valid.txt --tokens 20 --out o",
     "o/attention.csv", 1, NULL},
    {"report study --out page.html", "page.html", 1, NULL},
    {"manual --out man", "man/trotter-train.1 man/trotter.1", 1, NULL},
    {"tokenize --text text/valid.txt", NULL, 1, NULL},
    {"average --model model --model twin --out o", "o/model.safetensors", 0, NULL},
    {"serve begun", "answers", 0, NULL,
     .asked = "page.js files report file?path=runs/euler-seed1/log.csv&from=0 "
              "check?text=scheme%20a%0ak1=H(y)%0ay%27=y%2bk1"},
    {"export --model model --out o", "o/model.safetensors o/config.json", 0, NULL},
};
enum { COMMAND_ROWS = sizeof command_rows / sizeof *command_rows };

/* Ends a training where it is about to save its second state. */
static inline int command_rows_cut(void *arg, Call *c)
{
    char name[256] = "";
    int *states = arg;
    if (c->number != SYS_rename || traced_text(c, c->arg[1], name, sizeof name) != 0)
        return TRACE_PASS;
    *states += strstr(name, "state.safetensors") != NULL;
    return *states == 2 ? TRACE_KILL : TRACE_PASS;
}

/* Opens a scratch folder, in memory where that can be, as disks take long to sync; makes in/. */
static inline int command_rows_open(void **state)
{
    static const char *const made[] = {
        TINY_TEXT " ; mv o model",
        TINY_TEXT " --seed 2; mv o twin",
        TINY_PAIRS,
        "train --objective masked --corpus text --epochs 1 --max-steps 4 --out masked" TINY_TRAIN,
        "finetune --model masked --task task.tsv --threads 1 --rates 1e-2 --seeds 1 --epochs 1 "
        "--pretrained-only --out tuned",
        "order --scheme euler,heun --out study",
        "compare --scheme euler --out begun" TINY_STUDY};
    if (!getenv("TMPDIR") && access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
    if (program_open_drawn(state) != 0 || copies_open() != 0) return -1;
    shell_ok("mkdir in");
    corpus_write("in/text", 60, 12);
    corpus_write("in/pairs", 40, 8);
    file_text("in/more.scheme", "scheme mine\nk1 = F(y)\nk2 = G(y + k1)\ny' = y + k1 + k2\n");
    file_text("in/forms.scheme", "scheme root\nlearn a = 1/2\nk1 = H(y)\nk2 = H(y + a*k1)\n"
                                 "y' = y + (1-a)*k1 + a*k2\n");
    file_text("in/swarm.txt", "system swarm\nn 3\nd 2\nF = mean (z - y)*exp(-r2)\nG1 = -y1\n"
                              "initial = cos(2*pi*i/n) + normal/10\nt-end 1\nh0 1/8\n");
    file_text("in/runs.csv", "scheme,system,seed,seconds,error\neuler,x,1,2,0.1\neuler,x,2,2,0.2\n"
                             "heun,x,1,2,0.3\nheun,x,2,3,0.3\n");
    shell_ok(
        "cd in && for s in train valid test; do for l in en de; do sed 's/the/'$l'/' "
        "pairs/$s.txt >pairs/$s.$l; done; done; rm pairs/*.txt; head -4 text/valid.txt >said; { printf "
        "'sentence\\tlabel\\n'; sed '/cat/s/$/\\tyes/; /yes/!s/$/\\tno/' text/train.txt; } >task.tsv");
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (shell("cd in && PATH=/nowhere %s %s", program, made[i]) > 1)
            fail_msg("%s: %s", made[i], err);
    int states = 0;
    Traced t = {.meet = command_rows_cut, .arg = &states, .seconds = AWAIT_SECONDS};
    box_fill();
    if (copies_trace(&t, TINY_TEXT) != COPIES_UNTRACED)
        shell_ok("mv box/o in/half; rm -f in/half/*.tmp-* in/half/*.claim");
    return 0;
}

/* Tells whether TROTTER_ROWS, a part of a line, chooses this one. Without it all are, or, for `few`, schemes, bpe,
 * compare and serve. */
static inline int command_rows_chosen(const CommandRow *row, int few)
{
    const char *part = getenv("TROTTER_ROWS");
    return part ? strstr(row->line, part) != NULL : !few || (row - command_rows) % 10 == 0;
}

/* Keeps what the line wrote in box/, to compare with. */
static inline void command_rows_keep(const CommandRow *row)
{
    shell_ok("rm -rf kept; mkdir kept; cd box && [ -z '%s' ] || cp --parents %s ../kept",
             row->kept ? row->kept : "", row->kept ? row->kept : "");
}

/* Returns the name of a file in box/ that is not as it was kept; NULL: none. */
static inline const char *command_rows_differ(const CommandRow *row)
{
    static char name[256];
    for (const char *at = row->kept ? row->kept : ""; *at; at += strspn(at, " ")) {
        char kept[300], now[300];
        size_t n = strcspn(at, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        snprintf(kept, sizeof kept, "kept/%s", name);
        snprintf(now, sizeof now, "box/%s", name);
        if (!file_exists(now) || !same_files(kept, now)) return name;
        at += n;
    }
    return NULL;
}

#endif
