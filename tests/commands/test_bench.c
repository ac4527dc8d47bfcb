/* test_bench.c: the figures that `trotter bench` prints agree with each other (rates, ratios), and its
 * operations with those known of the networks. */
#include "tests/lib/test.h"

#include "studies/bench/bench.h"
#include "tests/lib/program.h"

/* Returns the value of row "what,variant,value,unit", or NaN where there is none. */
static double value(const char *what, const char *variant, const char *unit)
{
    const char *head = formed("\n%s,%s,", what, variant);
    const char *tail = formed(",%s\n", unit);
    const char *row = strstr(out, head);
    if (!row) return NAN;
    char *end;
    double x = strtod(row + strlen(head), &end);
    return strncmp(end, tail, strlen(tail)) == 0 ? x : NAN;
}

static int near(double a, double b)
{
    return fabs(a / b - 1) <= 1e-9; /* a few operations on numbers printed to the last digit */
}

TEST(test_theory)
{
    must_print("bench theory --repeats 3 --budget 0 --csv", "what,variant,value,unit\n",
               "\ntheory.rk4-composed,64,", "\ntheory.euler-extrapolated,67,");
}

#define PAIRS "bench pairs --size tiny --repeats 3 --budget 0 --threads 1 --csv "
#define TRANSLATE \
    "bench translate --size tiny --repeats 3 --budget 0 --threads 1 --csv --beam 3 --length 4 --sentences 5 "

/* Writes a shell script that takes the place of --peer's: it records its arguments and prints `words`. */
static void write_peer(const char *words)
{
    file_text("peer.sh",
              formed("echo \"$*\" >>called.txt\n[ \"$1\" != --pairs ] || { echo \"$2\" >name.txt; "
                     "cp \"$2\" lengths.txt; }\necho words\necho '%s'\n",
                     words));
}

static int run_with_peer(const char *arguments)
{
    shell_ok("rm -f called.txt name.txt lengths.txt");
    return shell("PYTHON=/bin/sh timeout 300 %s %s --peer peer.sh", program, arguments);
}

/* Operations of one target token for D = 16, M = 32, V = 100, one layer a side and r source tokens: forward, and twice
 * as much backward, make 6 operations a weight. The target has (4 + 2) D^2 + 2 D M and D V weights, the source 4 D^2 +
 * 2 D M and 2 D^2 of KEYS. RK4 over the encoder's layer does all but KEYS four times. */
#define P "pairs.cpu-f32.tiny."
static const char plain[] = "transformer/transformer", tps[] = "target tokens/s";

TEST(test_pairs)
{
    const char *rk4 = "rk4-layer/transformer";
    run_ok(PAIRS "--stacks transformer/transformer,rk4-layer/transformer");
    double tokens = value(P "tokens_per_s", plain, tps);
    double flop = value(P "floor.flop_per_token", plain, "FLOP");
    double four = value(P "floor.flop_per_token", rk4, "FLOP");
    double source = value(P "source_tokens_per_s", plain, "source tokens/s");
    assert_true(value(P "tokens_per_s.low", plain, tps) <= tokens);
    assert_true(tokens <= value(P "tokens_per_s.high", plain, tps));
    assert_true(
        near(value(P "floor.share", plain, "of floor"), tokens / value(P "floor", plain, tps)));
    double r = (flop - 6 * (16 * 100 + 6 * 256 + 2 * 512)) / (6 * (6 * 256 + 2 * 512));
    assert_true(near(four - flop, 6 * r * 3 * (4 * 256 + 2 * 512)));
    assert_true(r > 0.8 && r < 1.2);
    assert_true(source / tokens > 0.9 && source / tokens < 1.1);
    assert_true(isnan(value(P "peer.stock", plain, tps)));
}

/* The random sentences of `bench pairs` are as long as those of Multi30k (bench_lengths.c), and the same for one vocabulary
 * and another. */
TEST(pairs_are_as_long_as_multi30k)
{
    enum { BATCHES = 8, TOKENS = 4096 };
    Batch x[BATCHES], y[BATCHES];
    double source = 0, target = 0, pairs = 0;
    assert_int_equal(lengths_batches(9710, TOKENS, BATCHES, x), 0);
    assert_int_equal(lengths_batches(50, TOKENS, BATCHES, y), 0);
    for (int i = 0; i < BATCHES; i++) {
        assert_true(x[i].N <= TOKENS && x[i].source.N <= TOKENS);
        assert_true(x[i].N > TOKENS * 0.8);
        assert_true(x[i].longest <= LENGTHS_LONGEST && x[i].source.longest <= LENGTHS_LONGEST);
        assert_true(x[i].N == y[i].N && x[i].S == y[i].S && x[i].source.N == y[i].source.N);
        for (size_t k = 0; k < y[i].source.N; k++)
            assert_true(y[i].source.input[k] >= 0 && y[i].source.input[k] < 50);
        source += (double)x[i].source.N;
        target += (double)x[i].N;
        pairs += (double)x[i].S;
    }
    for (int i = 0; i < BATCHES; i++) lengths_free(&x[i]), lengths_free(&y[i]);
    /* eight batches in place of a hundred */
    assert_true(fabs(source / pairs - 14.7) < 0.4);
    assert_true(fabs(target / pairs - 14.8) < 0.4);
}

/* The peer's file holds the batches' lengths and is removed afterwards. */
TEST(test_peer_of_pairs)
{
    size_t batch, source, target, pairs = 0, last = 0, sum[8] = {0};
    write_peer("{\"tokens_per_s\": 1000}");
    assert_int_equal(
        run_with_peer(PAIRS "--norm post --stacks transformer/transformer,macaron/macaron"), 0);
    double tokens = value(P "tokens_per_s", plain, tps);
    assert_true(value(P "peer.tuned", plain, tps) == 1000);
    assert_true(near(value(P "peer.best.ratio", plain, "times"), tokens / 1000));
    assert_true(isnan(value(P "peer.tuned", "macaron/macaron", tps)));
    FILE *f = fopen(file_path("lengths.txt"), "r");
    assert_non_null(f);
    for (; fscanf(f, "%zu %zu %zu", &batch, &source, &target) == 3; pairs++) {
        assert_true(batch < 8 && batch >= last && source >= 6 && source <= 48 && target >= 4);
        sum[last = batch] += target;
    }
    fclose(f);
    for (int i = 0; i < 8; i++) assert_true(sum[i] > 128 && sum[i] <= 256);
    assert_int_equal(shell("[ -s name.txt ] && [ ! -e \"$(cat name.txt)\" ]"), 0);
    assert_int_equal(shell("grep -q -- '--norm post .*--heads 2 .*--vocab 100' called.txt"), 0);
    write_peer("no number");
    assert_int_equal(run_with_peer(PAIRS "--stacks transformer/transformer"), 2);
    HAS(err, "its last line has no tokens_per_s");
    assert_true(value(P "tokens_per_s", plain, tps) > 0); /* our own figures are not lost */
    assert_int_equal(shell("[ -s name.txt ] && [ ! -e \"$(cat name.txt)\" ]"), 0);
}

/* A peer that hangs is stopped; the message follows our own figures. */
TEST(test_peer_that_hangs)
{
    file_text("peer.sh", "sleep 100\n");
    assert_int_equal(run_with_peer(PAIRS "--stacks transformer/transformer --peer-limit 1"), 2);
    HAS(err, "not done after 1 s (--peer-limit)");
    assert_true(value(P "tokens_per_s", plain, tps) > 0);
}

/* OpenBLAS's kernels for each core are tried once, and only the fastest are repeated. A core that the user chose is the
 * only one. */
TEST(test_cores_of_a_peer)
{
    file_text(
        "peer.sh",
        "echo \"core ${OPENBLAS_CORETYPE:-none}\" >>called.txt\n"
        "case $OPENBLAS_CORETYPE in Zen) s=900 ;; Haswell) exit 3 ;; SkylakeX) s=300 ;; *) s=100 ;; esac\n"
        "echo \"{\\\"tokens_per_s\\\": $s}\"\n");
    unsetenv("OPENBLAS_CORETYPE");
    assert_int_equal(run_with_peer(PAIRS "--stacks transformer/transformer"), 0);
    assert_true(value(P "peer.tuned-zen", plain, tps) == 900);
    assert_true(value(P "peer.tuned-skylakex", plain, tps) == 300);
    assert_true(value(P "peer.tuned", plain, tps) == 100);
    assert_true(isnan(value(P "peer.tuned-haswell", plain, tps)));
    HAS(err, "without tuned-haswell");
    double tokens = value(P "tokens_per_s", plain, tps);
    assert_true(near(value(P "peer.best.ratio", plain, "times"), tokens / 900));
    assert_int_equal(
        shell("[ $(grep -c Zen called.txt) -gt 1 ] && [ $(grep -c SkylakeX called.txt) = 1 ]"), 0);
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
    assert_int_equal(run_with_peer(PAIRS "--stacks transformer/transformer"), 0);
    unsetenv("OPENBLAS_CORETYPE");
    assert_int_equal(shell("grep -q SkylakeX called.txt && ! grep -qv SkylakeX called.txt"), 0);
}

TEST(test_translate)
{
    const char *at = "5";
    write_peer("{\"sentences_per_s\": 10}");
    assert_int_equal(run_with_peer(TRANSLATE "--precision f64"), 0);
#define BENCH_VALUE(name, unit) value("translate.cpu-f64.tiny.base." name, at, unit)
    double speed = BENCH_VALUE("sentences_per_s", "sentences/s");
    assert_true(speed > 0);
    assert_true(BENCH_VALUE("sentences_per_s.low", "sentences/s") <= speed);
    assert_true(
        near(BENCH_VALUE("tokens_per_s", "target tokens/s"), 5 * speed)); /* counts <eos> too */
    assert_true(near(BENCH_VALUE("peer.tuned.ratio", "times"), speed / 10));
    assert_true(isnan(BENCH_VALUE("peer.plain", "sentences/s")));
    assert_int_equal(shell("grep -q -- '--beam 3 --length 4 --sentences 5' called.txt"), 0);
}

TEST(test_refusals)
{
    static const char *const told[][2] = {
        {"", "say what to time"},
        {"pde", "--what: expected one of train|pairs|translate|theory, not 'pde'"},
        {"theory twice", "unexpected argument 'twice'"},
        {"theory --repeats 2", "--repeats: expected a whole number from 3"},
        {"theory --threads 1", "--threads has no meaning for bench theory"},
        {"train --beam 2", "--beam has no meaning for bench train"},
        {"pairs --stacks macaron", "expected ENCODER/DECODER"},
        {"pairs --stacks transformer/nonsense", "nonsense"},
        {"pairs --size tiny --norm post --stacks rk4-layer/transformer", "rk4-layer"},
        {"pairs --beam 2", "--beam has no meaning for bench pairs"},
        {"translate --stacks macaron/macaron", "--stacks has no meaning"},
        {"translate --beam 0", "--beam"},
        {"translate --beam 100 --length 1000 --sentences 4096", "tokens in all"},
        {"train --size tiny", "--size has no meaning for bench train"},
        {"train --launches --device cpu", "add --device cuda"},
        {"model", "--what: expected one of"},
    };
    REFUSE_ALL("bench %s", told, NULL);
    must_print("bench theory --help all", "~\n  --precision ");
    must_print("bench --help all", "\n  --precision ");
}

TEST_MAIN(program_open_drawn, program_close)
