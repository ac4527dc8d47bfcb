/* command_bench.c: measures speed on this machine: one row per bench. */
#include "studies/bench/bench.h"
#include "studies/tools/command.h"
#include "studies/model/network.h"

static const Option bench_options[] = {
    {"what", OPTION_CHOICE, NULL, "ode|train|pairs|translate|model",
     "what is timed; `trotter bench ode` says the same", 0, 0},
    {"repeats", OPTION_SIZE, "21", "N", "pieces of every contender, in turns", 3, BENCH_REPEATS},
    {"budget", OPTION_REAL, "5", "S", "seconds after which a contender gets no more than 3 pieces",
     0, 1e5},
    {0},
};

static const Option ode_options[] = {
    {"system", OPTION_CHOICE, "all", "all|henon|fisher|attention", "the system stepped", 0, 0},
    {"piece", OPTION_REAL, "10", "MS", "milliseconds of a piece, at least one step", 0.01, 1e4},
    {0},
};

static const Option growth_options[] = {
    {"growth", OPTION_FLAG, NULL, NULL,
     "instead of the peers: ode: cost of fields, steps and theory against particles and trees; train: speed "
     "against layers, width, sequence length, batch and stages",
     0, 0},
    {0},
};

static const Option output_options[] = {
    {"csv", OPTION_FLAG, NULL, NULL, "what,variant,value,unit as CSV", 0, 0},
    {"out", OPTION_TEXT, NULL, "DIR", "write DIR/bench-WHAT.csv and DIR/bench-WHAT.md too", 0, 0},
    {0},
};

static const OptionGroup bench_group = {"Bench", 1, bench_options};
static const OptionGroup output_group = {"Output", 0, output_options};
static const OptionGroup growth_group = {"Growth", 1, growth_options};
static const OptionGroup ode_group = {"Particle systems", 1, ode_options};
static const OptionGroup *const groups[] = {&bench_group,
                                            &ode_group,
                                            &bench_train_group,
                                            &growth_group,
                                            &bench_step_group,
                                            &bench_size_group,
                                            &bench_pairs_group,
                                            &bench_translate_group,
                                            &bench_peer_group,
                                            &bench_model_group,
                                            &network_machine_group,
                                            &output_group,
                                            NULL};
static const OptionGroup *const for_ode[] = {&bench_group, &ode_group, &growth_group, &output_group,
                                             NULL};
static const OptionGroup *const for_train[] = {
    &bench_group,      &bench_train_group,     &growth_group, &bench_step_group,
    &bench_peer_group, &network_machine_group, &output_group, NULL};
static const OptionGroup *const for_pairs[] = {
    &bench_group,      &bench_size_group,      &bench_pairs_group, &bench_step_group,
    &bench_peer_group, &network_machine_group, &output_group,      NULL};
static const OptionGroup *const for_translate[] = {&bench_group,
                                                   &bench_size_group,
                                                   &bench_translate_group,
                                                   &bench_peer_group,
                                                   &network_machine_group,
                                                   &output_group,
                                                   NULL};

static const OptionGroup *const for_model[] = {&bench_group,
                                               &bench_train_group,
                                               &bench_model_group,
                                               &bench_step_group,
                                               &network_machine_group,
                                               &output_group,
                                               NULL};

static const struct {
    const char *title;
    int (*run)(const Options *o);
    const OptionGroup *const *groups;
} benches[] = {{"bench ode", bench_ode, for_ode},
               {"bench train", bench_train, for_train},
               {"bench pairs", bench_pairs, for_pairs},
               {"bench translate", bench_translate, for_translate},
               {"bench model", bench_model, for_model}};

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
                         "say what to time: trotter bench ode, train, pairs, translate, model");
    return benches[options_choice(o, "what")].run(o);
}

static const Kind kinds[] = {
    {.command = "bench",
     .title = "Speed",
     .about =
         "Medians of interleaved pieces with their quartiles, beside peers and floors measured in "
         "the same run.",
     .table = {{"*", bench_values, "Measured values.", KIND_MANY}}},
    {0}};

const Command command_bench = {
    .name = "bench",
    .purpose = "speed, side by side with other libraries on this machine",
    .about =
        "bench ode: steps per second of euler, rk4 and strang-marchuk:exact on two cheap\n"
        "systems (one thread, processor time) and on attention (all threads, time on the clock;\n"
        "with OMP_NUM_THREADS=1 processor time), against GSL's odeiv2 and Boost.odeint (`make\n"
        "peers`), per evaluation of F + G; bytes moved and their share of a copy; the\n"
        "interaction's share of the GEMM rate.\n"
        "\n"
        "bench train: tokens per second of whole training steps (forward, backward, clipping,\n"
        "Adam; one layer, vocabulary 10,000, 64 sequences of 64 random tokens, dropout 0.1),\n"
        "and in turns with them the floor, which is the step's own matrix products alone, the\n"
        "GEMM rate (on a device, of 16384 rows), and --peer's script, which is called as\n"
        "studies/bench/peer/torch_lm.py: --scheme standard|macaron2|rk2|rk4 --d --ffn --heads --layers\n"
        "--vocab --batch --seq --threads --steps --warmup and, for the same work, --dropout\n"
        "--attention-dropout --activation-dropout, and ends with a line of JSON that has\n"
        "tokens_per_s; once as it is, once with MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_,\n"
        "MALLOC_TOP_PAD_ and OpenBLAS's OpenMP build preloaded, and so with OPENBLAS_CORETYPE=SkylakeX,\n"
        "Haswell and Zen too, unless the environment has it; the fastest of these, which goes on, is\n"
        "PyTorch at its best. With --device cuda it gets --device cuda too, with --precision tf32 --tf32,\n"
        "with bf16 --bf16, and is run once in every way, behind our own figures: as it is, and with\n"
        "--fused and some of --compile, --graph, --sdpa; `best is` tells with which it was fastest. A\n"
        "script that fails, or is not done within --peer-limit, is told when all else is. PYTHON names\n"
        "another interpreter.\n"
        "\n"
        "bench pairs: the same of an encoder and a decoder on pairs of sentences as long as those\n"
        "of Multi30k (random words; vocabulary 9,710, batches of at most 4,096 tokens a side, pairs\n"
        "of like length together, dropout and label smoothing 0.1). Tokens per second are the\n"
        "target's, <eos> counted; the source's are told apart. --peer's script, as\n"
        "studies/bench/peer/torch_pairs.py, gets --pairs FILE, a line BATCH SOURCE TARGET a pair, so\n"
        "that it has the same batches, and --norm --dropout --d --ffn --heads --layers --steps\n"
        "--warmup --vocab --threads; it stands beside transformer/transformer.\n"
        "\n"
        "bench translate: sentences per second of beam search by a transformer of random weights,\n"
        "outputs exactly as long as the sources, and how it grows with beam, length and sentences\n"
        "(power: of a batch's time, from the row before). Beside it, in turns: without a cache\n"
        "(every step puts all tokens so far through the decoder), with nothing kept (through the\n"
        "encoder too), both with the logits of the last tokens alone, and --peer's script, as\n"
        "studies/bench/peer/torch_translate.py: --d --ffn --heads --layers --vocab --beam --length\n"
        "--sentences --steps --warmup --threads, and sentences_per_s on its last line. `same` in\n"
        "CSV: the share of outputs that are those with the cache.\n"
        "\n"
        "bench model: how long a training step of bench train should take on a GPU: its kernels,\n"
        "products, bytes and operations are counted, by a backend that does nothing else, and become\n"
        "time by the device's numbers: --bandwidth --product-rate --vector-rate (an H100 SXM's, by\n"
        "NVIDIA's data sheet, dense) and --launch (assumed). It is a model: what is measured stands\n"
        "beside it where there is a device, and `not measured` where there is none.\n",
    .groups = groups,
    .kinds = kinds,
    .operand = "what",
    .narrow = narrow,
    .run = run,
};
