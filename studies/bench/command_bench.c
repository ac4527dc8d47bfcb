/* command_bench.c: measures speed on this machine: one row per bench. */
#include "studies/bench/bench.h"
#include "studies/base/command.h"
#include "studies/model/network.h"

static const OptionGroup bench_group = {
    "Bench", 1,
    OPTIONS(
        {"what", OPTION_CHOICE, NULL, "train|pairs|translate|theory",
         "what to time; `trotter bench train` is --what train"},
        {"repeats", OPTION_SIZE, "21", "N",
         "largest number of rounds, in each of which all contenders take turns", 3, BENCH_REPEATS},
        {"budget", OPTION_REAL, "5", "S",
         "seconds for each network or search; once they are spent, no round after the third begins",
         0, 1e5})};
static const OptionGroup output_group = {
    "Output", 0,
    OPTIONS(
        {"csv", OPTION_FLAG, NULL, NULL, "write what,variant,value,unit as CSV"},
        {"out", OPTION_TEXT, NULL, "DIR", "write DIR/bench-WHAT.csv and DIR/bench-WHAT.md too"})};
static const OptionGroup *const groups[] = {
    &bench_group,           &bench_train_group,     &bench_size_group,
    &bench_pairs_group,     &bench_translate_group, &bench_peer_group,
    &network_machine_group, &output_group,          NULL};
enum { BENCH_GROUPS = 7 };
static const struct {
    const char *title;
    int (*run)(const Options *o);
    const OptionGroup *groups[BENCH_GROUPS];
} benches[] = {
    {"bench train",
     bench_train,
     {&bench_group, &bench_train_group, &bench_peer_group, &network_machine_group, &output_group}},
    {"bench pairs",
     bench_pairs,
     {&bench_group, &bench_size_group, &bench_pairs_group, &bench_peer_group,
      &network_machine_group, &output_group}},
    {"bench translate",
     bench_translate,
     {&bench_group, &bench_size_group, &bench_translate_group, &bench_peer_group,
      &network_machine_group, &output_group}},
    {"bench theory", bench_theory, {&bench_group, &output_group}}};

static const OptionGroup *const *narrow(const Options *o, const char **where)
{
    const char *what = options_text(o, "what");
    if (!what) return groups;
    *where = benches[options_choice(o, "what")].title;
    return benches[options_choice(o, "what")].groups;
}

static int run(Options *o)
{
    if (!options_text(o, "what"))
        return error_set(ERR_INPUT,
                         "say what to time: trotter bench train, pairs, translate, theory");
    return benches[options_choice(o, "what")].run(o);
}

const Command command_bench = {
    .name = "bench",
    .purpose = "measure speed side by side with other libraries on this machine",
    .about =
        "bench theory measures the time to find orders, of schemes with more and more stages and of higher order.\n"
        "\n"
        "bench train measures tokens per second of whole training steps (forward, backward, clipping, Adam;\n"
        "vocabulary 10,000, random tokens, dropout 0.1). In turns with them it times the floor, which is the\n"
        "step's own matrix products alone, without attention's, and --peer's script. The script is called as studies/bench/peer/torch_lm.py, with --scheme\n"
        "standard|macaron2|rk2|rk4 --d --ffn --heads --layers --vocab --batch --seq --threads --steps --warmup\n"
        "and, for the same work, --dropout --attention-dropout --activation-dropout. Its last line is JSON and\n"
        "has tokens_per_s.\n"
        "\n"
        "The script runs as it is, and tuned: with MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_,\n"
        "MALLOC_TOP_PAD_ and OpenBLAS's OpenMP build preloaded, and the same with OPENBLAS_CORETYPE=SkylakeX,\n"
        "Haswell and Zen unless the environment has it. Later rounds run it as it is and in the fastest tuned\n"
        "way. `best` is the fastest of all ways, PyTorch at its best, and `best is` names it. With --device cuda\n"
        "the script gets --device cuda, with --precision tf32 also --tf32, with bf16 also --bf16. There it runs\n"
        "once in each way (train, pairs: after our own figures): with --fused and some of --compile, --graph,\n"
        "--sdpa, and as it is, --peer-ways of them. If the script fails as it is (on a device, in every way),\n"
        "or takes longer than --peer-limit, the bench ends with that error after all else is measured; other\n"
        "ways that fail are named and left out. PYTHON names another interpreter.\n"
        "\n"
        "bench pairs does the same with an encoder and a decoder, on pairs of sentences as long as those of\n"
        "Multi30k (random words; vocabulary 9,710, batches of at most 4,096 tokens a side, pairs of like length\n"
        "together, dropout and label smoothing 0.1). Tokens per second are the target's, <eos> counted; the\n"
        "source's have a column. The script runs beside transformer/transformer alone. It is called as\n"
        "studies/bench/peer/torch_pairs.py, with --pairs FILE, which has a line BATCH SOURCE TARGET for each\n"
        "pair so that its batches are the same, and with --norm --dropout --d --ffn --heads --layers --steps\n"
        "--warmup --vocab --threads.\n"
        "\n"
        "bench translate measures sentences per second of beam search by a transformer of random weights, with\n"
        "outputs exactly as long as the sources. In turns with it runs the script. It is called as\n"
        "studies/bench/peer/torch_translate.py, with --d --ffn --heads --layers --vocab --beam --length\n"
        "--sentences --steps --warmup --threads; its last line has sentences_per_s.\n",
    .often = "what repeats budget scheme width size stacks peer device csv out",
    .example = "train --scheme transformer,macaron --width 128",
    .faster = "lower --repeats, --budget",
    .groups = groups,
    .kinds = KINDS(
        {.command = "bench",
         .title = "Speed",
         .about =
             "Medians of interleaved pieces with their quartiles, beside peers and floors measured in "
             "the same run.",
         .table = {{"*", bench_values, "Measured values.", KIND_MANY}}}),
    .operand = "what",
    .narrow = narrow,
    .run = run,
};
