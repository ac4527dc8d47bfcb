/* test_modules.c: the modules that `schemes --to` prints beside the engine, for every scheme: the loss of a small model of
 * three layers and its gradient, by NumPy and, where it is, by PyTorch (tests/python/modules.py). */
#include "tests/lib/test.h"

#include "tests/lib/bridged.h"
#include "tests/lib/program.h"

/* What is carried begins by slopes and learned numbers, beside gates. */
#define SCHEMES                                                                                   \
    MORE_SCHEMES "scheme x-begun\nlearn a = 1/2, b = -1/3\ncarry v = y + 1/2*k1\ncarry w = b*y\n" \
                 "k1 = F(y)\nk2 = G(a*y + (1-a)*v + b*k1)\ngate g = tanh(k2, v)\n"                \
                 "v' = g*v - 1/2*w + k2\nw' = b*w + k1\ny' = 1/2*y + 1/2*w' + k2\n"

enum { LAYERS = 3, ABOVE = 2 };
static char root[PATH_MAX];

static int open_all(void **state)
{
    if (!realpath(".", root) || bridged_open(SCHEMES) != 0 || program_open(state) != 0) return -1;
    file_text("more.scheme", SCHEMES);
    return 0;
}

static int close_all(void **state)
{
    return zoo_end(state) | program_close(state);
}

static void write_numbers(FILE *f, const char *name, size_t rows, size_t cols, const double *x)
{
    fprintf(f, "%s %zu %zu", name, rows, cols);
    for (size_t i = 0; i < rows * (cols ? cols : 1); i++) fprintf(f, " %.17g", x[i]);
    fputc('\n', f);
}

/* Writes parameters, gradient, words and loss of a model to the file NUMBER.txt. */
static void write_model(Model *m, int number)
{
    char name[32];
    Batch b = tiny_batch_of(m);
    double loss;
    const Param *p;
    size_t n = model_params(m, &p);
    snprintf(name, sizeof name, "%d.txt", number);
    FILE *f = fopen(file_path(name), "w");
    assert_non_null(f);
    assert_int_equal(model_gradient(m, &b, 1, &loss), 0);
    OWN_NUMBERS *x = tiny_numbers(m), *g = tiny_gradient(m);
    for (size_t i = 0; i < n; i++) {
        char of[160];
        write_numbers(f, p[i].name, p[i].rows, p[i].cols, x + p[i].offset);
        snprintf(of, sizeof of, "d/%s", p[i].name);
        write_numbers(f, of, p[i].rows, p[i].cols, g + p[i].offset);
    }
    write_numbers(f, "loss", 1, 0, &loss);
    fputs("input 0 0", f);
    for (size_t i = 0; i < b.N; i++) fprintf(f, " %d", b.input[i]);
    fputs("\ntarget 0 0", f);
    for (size_t i = 0; i < b.N; i++) fprintf(f, " %d", b.target[i]);
    fprintf(f, "\nstart 0 0 %zu %zu %zu %zu\n", b.start[0], b.start[1], b.start[2], b.start[3]);
    fputs("source 0 0", f);
    for (size_t i = 0; i < b.source.N; i++) fprintf(f, " %d", b.source.input[i]);
    fputs("\nsource_start 0 0", f);
    for (size_t i = 0; i < 4 && b.source.N; i++) fprintf(f, " %zu", b.source.start[i]);
    fputc('\n', f);
    assert_int_equal(fclose(f), 0);
}

/* Prints the modules; that of JAX of every tenth scheme, since it differs from NumPy's by a name. */
static void write_modules(const char *scheme, int number)
{
    static const char *const to[] = {"numpy", "torch", "jax"};
    for (int k = 0; k < 2 + (number % 10 == 0); k++) {
        run_ok("schemes --scheme-file more.scheme --scheme %s --to %s", scheme, to[k]);
        char name[40];
        snprintf(name, sizeof name, "%s_%d.py", to[k], number);
        file_text(name, out);
    }
}

static void write_scheme(const Table *encoder, const Table *scheme, int number)
{
    Plan *p = plan_of(encoder, scheme, options(ABOVE, LAYERS));
    ModelConfig c = tiny_config();
    c.dropout = 0;
    c.positions = POSITIONS_SINUSOID;
    c.act = ACT_RELU;
    if (p->sides > 1) c.max_source = c.max_source_length = TINY_SOURCE;
    OWN_MODEL *m = shaken(p, c, .3, 1, 1);
    write_model(m, number);
    write_modules(scheme->name, number);
}

TEST(modules_of_every_scheme)
{
    if (shell("command -v python3 && /usr/bin/python3 -c 'import numpy'") != 0) {
        print_message("no NumPy: apt-get install python3-numpy\n");
        skip();
    }
    OWN_TABLES list = schemes_of(
        "all,x-carry,x-begun,word:ssfsff,sandwich:3-1,looped:2,dial:2-1/2,x-first,x-learned");
    OWN_TABLES pairs = schemes_of(MANY_DECODERS);
    OWN_TABLE *encoder = euler_named("rk2-gate");
    int n = 0;
    assert_true(list.count > 40 && pairs.count > 40);
    for (size_t i = 0; i < list.count; i++) write_scheme(NULL, list.table[i], n++);
    for (size_t i = 0; i < pairs.count; i++) write_scheme(encoder, pairs.table[i], n++);
    write_modules("rk2-gate", n); /* the encoder's, and below that of JAX */
    write_modules("rk2-gate", (n + 9) / 10 * 10);
    if (shell(
            "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=. /usr/bin/python3 %s/tests/python/modules.py %d",
            root, n) != 0)
        fail_msg("%s", err);
}

/* A network begins what is carried by a row. */
TEST(refused_modules)
{
    file_text("bad.scheme", "scheme begun\nstart gives\ncarry v\nk1 = F(y)\nv' = k1\ny' = y + v\n"
                            "scheme gives\ncarry v\nk1 = F(y)\nv' = k1\ny' = y\n" WORDS_SCHEMES);
    expect(2, "schemes --scheme-file bad.scheme --scheme begun --to numpy");
    HAS(err, "begun carries 'v' from step to step: a network begins it by a row");
    expect(2, "schemes --scheme-file bad.scheme --scheme x-words --to torch");
    HAS(err, "x-words: 'v' begins by an embedding of the tokens, and --to writes layers alone");
}

TEST_MAIN(open_all, close_all)
