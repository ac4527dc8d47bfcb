/* test_library.c: libtrotter.so as others use it: installed and compiled against by pkg-config, with no other symbol
 * visible; its answers beside the program's; from Python (tests/python); and a model's file read by NumPy alone. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

static char root[PATH_MAX], python[PATH_MAX];

static int open_all(void **state)
{
    if (program_open_drawn(state) != 0 || !realpath("studies/api/library/trotter.h", root))
        return -1;
    *strstr(root, "/studies/api/library/") = '\0';
    shell_ok(
        "for p in $(which -a python3); do $p -c 'import numpy' 2>/dev/null && { echo $p; break; }; done | tr -d '\\n' >found");
    char *found = file_slurp("found", NULL);
    snprintf(python, sizeof python, "%s", found);
    shell_ok(
        "mkdir -p usr/lib/pkgconfig usr/include && cp %s/build/release/libtrotter.so.0 usr/lib && ln -s libtrotter.so.0 "
        "usr/lib/libtrotter.so && cp %s/studies/api/library/trotter.h usr/include && sed \"s|@PREFIX@|$PWD/usr|; "
        "s|@LIBDIR@|$PWD/usr/lib|; s|@VERSION@|0.2.0|\" %s/studies/api/library/trotter.pc.in >usr/lib/pkgconfig/trotter.pc",
        root, root, root);
    run_ok(
        "train --corpus kjv --vocabulary 200 --eval-tokens 300 --untested --scheme macaron --layers 2 --activation gelu --positions both "
        "--epochs 1 --max-steps 5" SMALL_TRAINING " --out run");
    return 0;
}

/* Compiles a C program against the installed library and runs it. Returns its exit status; its output is in `out`. */
static int compile_and_run(const char *file, const char *arguments)
{
    shell_ok(
        "PKG_CONFIG_PATH=usr/lib/pkgconfig gcc -std=c99 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -o program.of.c %s $(PKG_CONFIG_PATH=usr/lib/pkgconfig "
        "pkg-config --cflags --libs trotter) -lgsl -lm -lpthread",
        file);
    /* without caches of threads, whose blocks count as allocated */
    return shell(
        "GLIBC_TUNABLES=glibc.malloc.tcache_count=0 LD_LIBRARY_PATH=usr/lib ./program.of.c %s",
        arguments);
}

/* ---- C ----------------------------------------------------------------------------------------------------- */

TEST(the_example)
{
    assert_int_equal(compile_and_run(formed("%s/studies/api/library/example/gill.c", root), ""), 0);
    assert_string_equal(out, "gill has order 4\nmeasured 4.00, agree\n");
}

/* The program of the README, and what it prints. */
TEST(the_readme)
{
    const char *readme = formed("%s/studies/api/library/README.md", root);
    shell_ok("awk '/^```/ { on = /c$/; next } on' %s >readme.c", readme);
    shell_ok("awk '/^```/ { on = ++n == 5; next } on' %s >said", readme);
    if (compile_and_run("readme.c", "") != 0) fail_msg("%s%s", out, err);
    file_text("printed", out);
    shell_ok("test -s said && cmp said printed");
}

TEST(nothing_else_is_exported)
{
    shell_ok(
        "nm -D --defined-only usr/lib/libtrotter.so.0 | awk '$2 != \"A\" { sub(/@.*/, \"\", $3); print $3 }' | sort >exported");
    shell_ok("grep -oE 'trotter_[a-z_]+\\(' usr/include/trotter.h | tr -d '(' | sort -u >told");
    shell_ok("cmp exported told");
    shell_ok("test $(wc -l <told) -gt 30");
    shell_ok("readelf -d usr/lib/libtrotter.so.0 | grep -q 'SONAME.*libtrotter.so.0'");
    shell_ok("nm -D usr/lib/libtrotter.so.0 | grep -q 'trotter_solve@@TROTTER_0$'");
    shell_ok("nm -D usr/lib/libtrotter.so.0 | grep -q 'trotter_run_at@@TROTTER_0.3$'");
    shell_ok("test $(nm -D usr/lib/libtrotter.so.0 | grep -c '@TROTTER_0.3$') = 11");
}

/* The release is hardened, program and library; a plain program is not. */
TEST(what_is_released_is_hardened)
{
    static const char check[] =
        "hardened() { readelf -d $1 | grep -q BIND_NOW && readelf -lW $1 | grep -q GNU_RELRO && "
        "readelf --dyn-syms -W $1 >symbols && grep -q __stack_chk_fail symbols && grep -q '_chk@' symbols && "
        "! readelf -d $1 | grep -q 'PATH.*cuda'; }; hardened";
    shell_ok("%s %s", check, program);
    shell_ok("%s usr/lib/libtrotter.so.0", check);
    file_text("plain.c", "int main(void) { return 0; }\n");
    shell_ok("gcc -fno-stack-protector -Wl,-z,lazy -o plain plain.c");
    assert_int_equal(shell("%s ./plain", check), 1);
}

/* Passes NULL in each place where none is allowed, one at a time. With all arguments there, the same calls succeed. */
static const char null_cases[] =
    "#include <stdio.h>\n#include <string.h>\n#include <trotter.h>\n"
    "#define REFUSED(call) do { if ((call) != TROTTER_MISUSE || !strstr(trotter_error(), \"NULL\")) { printf(\"line %d\\n\", __LINE__); return 1; } } while (0)\n"
    "#define DONE(call) do { if ((call) != TROTTER_DONE) { printf(\"line %d: %s\\n\", __LINE__, trotter_error()); return 1; } } while (0)\n"
    "int main(int argc, char **argv) {\n"
    "    TrotterScheme *s = NULL, *again; TrotterSystem *on = NULL; TrotterModel *m = NULL; TrotterTheory theory; TrotterTerm *term; TrotterOrder order;\n"
    "    char *text; double a, b, y[64], z[1][2] = {{0, 1}}, one = 1; size_t n; int32_t id[] = {0, 1}, *ids; static double logits[1 << 12];\n"
    "    const char *line[] = {\"a b\"}, *gone[] = {NULL};\n"
    "    if (argc < 2) return 2;\n"
    "    REFUSED(trotter_scheme_find(NULL, &s)); REFUSED(trotter_scheme_find(\"rk4\", NULL)); DONE(trotter_scheme_find(\"rk4\", &s));\n"
    "    REFUSED(trotter_scheme_read(NULL, NULL, &again)); REFUSED(trotter_scheme_read(\"\", NULL, NULL));\n"
    "    REFUSED(trotter_scheme_print(NULL, &text)); REFUSED(trotter_scheme_print(s, NULL)); DONE(trotter_scheme_print(s, &text)); trotter_free(text);\n"
    "    REFUSED(trotter_scheme_theory(NULL, &theory)); REFUSED(trotter_scheme_theory(s, NULL)); DONE(trotter_scheme_theory(s, &theory));\n"
    "    REFUSED(trotter_scheme_stability(NULL, &a, &b)); REFUSED(trotter_scheme_stability(s, NULL, &b)); REFUSED(trotter_scheme_stability(s, &a, NULL));\n"
    "    REFUSED(trotter_scheme_amplification(NULL, 1, (const double(*)[2])z, y)); REFUSED(trotter_scheme_amplification(s, 1, NULL, y));\n"
    "    REFUSED(trotter_scheme_amplification(s, 1, (const double(*)[2])z, NULL)); DONE(trotter_scheme_amplification(s, 0, NULL, NULL));\n"
    "    REFUSED(trotter_scheme_expand(NULL, 0, 0, &term, &n)); REFUSED(trotter_scheme_expand(s, 0, 0, NULL, &n)); REFUSED(trotter_scheme_expand(s, 0, 0, &term, NULL));\n"
    "    REFUSED(trotter_system_find(NULL, 0, 0, 1, &on)); REFUSED(trotter_system_find(\"kepler\", 0, 0, 1, NULL)); DONE(trotter_system_find(\"kepler\", 0, 0, 1, &on));\n"
    "    REFUSED(trotter_system_parse(\"\", 0, 0, 1, NULL)); REFUSED(trotter_system_make(1, 1, &one, NULL, NULL, NULL, NULL));\n"
    "    REFUSED(trotter_solve(NULL, on, 0.1, 1, y)); REFUSED(trotter_solve(s, NULL, 0.1, 1, y)); REFUSED(trotter_solve(s, on, 0.1, 1, NULL)); DONE(trotter_solve(s, on, 0.1, 1, y));\n"
    "    REFUSED(trotter_reference(NULL, 1, y)); REFUSED(trotter_reference(on, 1, NULL));\n"
    "    REFUSED(trotter_measure(NULL, on, 0, 0, 6, &order)); REFUSED(trotter_measure(s, NULL, 0, 0, 6, &order)); REFUSED(trotter_measure(s, on, 0, 0, 6, NULL));\n"
    "    REFUSED(trotter_model_load(NULL, 0, &m)); REFUSED(trotter_model_load(argv[1], 0, NULL)); DONE(trotter_model_load(argv[1], 0, &m));\n"
    "    REFUSED(trotter_model_encode(NULL, \"a\", &ids, &n)); REFUSED(trotter_model_encode(m, NULL, &ids, &n)); REFUSED(trotter_model_encode(m, \"a\", NULL, &n));\n"
    "    REFUSED(trotter_model_logits(NULL, id, 2, logits)); REFUSED(trotter_model_logits(m, NULL, 2, logits)); REFUSED(trotter_model_logits(m, id, 2, NULL));\n"
    "    DONE(trotter_model_logits(m, id, 2, logits)); REFUSED(trotter_model_truncation(NULL, s, 0, id, 2, 2, y, y)); REFUSED(trotter_model_truncation(m, s, 0, id, 2, 2, y, NULL));\n"
    "    REFUSED(trotter_score_lines(NULL, NULL, 1, line, line, &a)); REFUSED(trotter_score_lines(\"bleu\", NULL, 1, gone, line, &a)); REFUSED(trotter_score_lines(\"bleu\", NULL, 1, line, NULL, &a));\n"
    "    REFUSED(trotter_score_lines(\"bleu\", NULL, 1, line, line, NULL)); REFUSED(trotter_score_labels(\"accuracy\", 1, NULL, &one, &a)); DONE(trotter_score_labels(\"accuracy\", 1, &one, &one, &a));\n"
    "    if (trotter_scheme_name(NULL) || trotter_system_particles(NULL) || trotter_system_initial(NULL) || trotter_model_vocabulary(NULL) || trotter_model_word(NULL, 0)) return 3;\n"
    "    trotter_scheme_free(NULL); trotter_system_free(NULL); trotter_model_free(NULL); trotter_free(NULL);\n"
    "    trotter_scheme_free(s); trotter_system_free(on); trotter_model_free(m); return 0; }\n";

TEST(null_is_refused)
{
    file_text("null.c", null_cases);
    if (compile_and_run("null.c", "run") != 0) fail_msg("%s%s", out, err);
}

TEST(the_header_is_cplusplus_too)
{
    need_tool("g++");
    file_text("header.cpp",
              "#include <trotter.h>\nint main() { return trotter_version() == 0; }\n");
    shell_ok(
        "g++ -std=c++98 -Wall -Wextra -Wpedantic -Werror -Iusr/include -o header header.cpp -Lusr/lib -ltrotter");
    shell_ok("LD_LIBRARY_PATH=usr/lib ./header");
    shell_ok(
        "sed '/extern \"C\"/d; /^}$/d' usr/include/trotter.h >bare.h && sed 's/<trotter.h>/\"bare.h\"/' header.cpp >bare.cpp");
    assert_int_not_equal(shell("g++ -I. -o header bare.cpp -Lusr/lib -ltrotter"),
                         0); /* names of C++ symbols */
}

TEST(runs_conditions_and_regions)
{
    if (compile_and_run(formed("%s/tests/library/library_runs.c", root), "") != 0)
        fail_msg("%s%s", out, err);
}

/* Threads, children, signals, bytes and numbers without sense, many calls (library_process.c). The library says nothing. */
TEST(other_peoples_processes)
{
    if (compile_and_run(formed("-I%s %s/tests/library/library_process.c", root, root), "run") !=
            0 ||
        *out || *err)
        fail_msg("%s%s", out, err);
}

static const char model_cases[] =
    "#include <stdio.h>\n#include <trotter.h>\n"
    "int main(int argc, char **argv) { (void)argc; TrotterModel *m; int32_t *id; size_t n; static double z[1 << 16], e[8], r[8]; int32_t wild = -1;\n"
    "    if (trotter_model_load(argv[1], 0, &m) != 0) { fputs(trotter_error(), stderr); return 2; }\n"
    "    if (trotter_model_encode(m, \"in the beginning\", &id, &n) != 0 || n != 5 || id[0] != id[4]) return 3;\n"
    "    if (trotter_model_logits(m, id, 4, z) != 0) return 4;\n"
    "    if (trotter_model_logits(m, id, 1000, z) != TROTTER_INPUT || trotter_model_logits(m, &wild, 1, z) != TROTTER_INPUT) return 5;\n"
    "    if (trotter_model_truncation(m, NULL, 0, id, 4, 6, e, r) != 0 || !(e[0] > 0) || !(e[6] < e[0] / 500)) return 6;\n"
    "    if (trotter_model_truncation(m, NULL, 9, id, 4, 6, e, r) != TROTTER_INPUT) return 7;\n"
    "    for (size_t i = 0; i < 4 * trotter_model_vocabulary(m); i++) printf(\"%.9g\\n\", z[i]);\n"
    "    trotter_free(id); trotter_model_free(m); return 0; }\n";

/* Logits are those of `trotter eval`, which are f32. */
TEST(models)
{
    shell_ok("echo in the beginning >words.txt");
    file_text("model.c", model_cases);
    if (compile_and_run("model.c", "run") != 0) fail_msg("%s%s", out, err);
    file_text("library.txt", out);
    run_ok(
        "eval --model run --text words.txt --context sentence --logits eval.npy --precision f64");
    shell_ok("tail -c +129 eval.npy | od -An -v -tf4 -w4 | awk '{ print $1 + 0 }' >eval.txt");
    shell_ok(
        "paste library.txt eval.txt | awk '{ d = $1 - $2; if (d * d > 1e-8) bad++ } END { exit bad > 0 || NR < 40 }'");
    shell_ok(
        "paste library.txt eval.txt | awk 'NR == 3 { $1 += 1e-3 } { d = $1 - $2; if (d * d > 1e-8) bad++ } END { exit bad != 1 }'");
    assert_int_equal(shell("LD_LIBRARY_PATH=usr/lib ./program.of.c nowhere"), 2);
}

/* ---- Python ------------------------------------------------------------------------------------------------ */

static void need_numpy(void)
{
    if (python[0]) return;
    if (getenv("TROTTER_NEED_NUMPY")) fail_msg("no python3 has NumPy: python3-numpy");
    print_message("# skipped: no python3 with NumPy here\n");
    skip();
}

#define PYTHON \
    "env -u PYTHONPATH TROTTER_LIBRARY=usr/lib/libtrotter.so PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=%s/studies/api/python %s "

/* Runs a script of tests/python with the module; it must end well. */
static void python_ok(const char *script)
{
    need_numpy();
    if (shell(PYTHON "%s/tests/python/%s", root, python, root, script) != 0) fail_msg("%s", err);
}

/* All that the module computes of schemes and systems, with NumPy and without; a wrong number of the program is seen. */
TEST(what_python_computes)
{
    need_numpy();
    run_ok(
        "solve --reference --system arenstorf --scheme dormand-prince --tolerance 1e-7 --times 20 --out numbers");
    run_ok("expand --scheme rk4 --conditions 5 --csv");
    file_text("numbers/conditions.csv", out);
    python_ok("cases.py numbers");
    python_ok("cases.py numbers bare");
    shell_ok(
        "mkdir spoilt && cp numbers/solution.csv spoilt && sed 's/1e-07,258/1e-07,259/' numbers/solve.csv >spoilt/solve.csv && "
        "sed 's/,yes,/,no,/' numbers/conditions.csv >spoilt/conditions.csv");
    assert_int_equal(shell(PYTHON "%s/tests/python/cases.py spoilt", root, python, root), 1);
    HAS(err, "by_tolerance");
    shell_ok("cp numbers/solve.csv spoilt");
    assert_int_equal(shell(PYTHON "%s/tests/python/cases.py spoilt", root, python, root), 1);
    HAS(err, "in theory");
}

/* Lines of a SciPy user, beside closed forms and SciPy's own results, with NumPy and without. */
TEST(what_python_solves)
{
    python_ok("solving.py");
    if (strstr(out, "# skipped"))
        print_message("# skipped: beside SciPy, which this python3 lacks\n");
    python_ok("solving.py bare");
    shell_ok(PYTHON "-m doctest %s/studies/api/python/README.md", root, python, root);
    shell_ok("sed s/17.06521656/17.06521657/ %s/studies/api/python/README.md >spoilt.md", root);
    assert_int_equal(shell(PYTHON "-m doctest spoilt.md", root, python), 1);
    shell_ok(PYTHON "-m doctest %s/studies/solve/course.md", root, python, root);
    shell_ok("sed 's/^321 returns/322 returns/' %s/studies/solve/course.md >spoilt.md", root);
    assert_int_equal(shell(PYTHON "-m doctest spoilt.md", root, python), 1);
}

/* A Python that ends while the library computes, is interrupted, or forks; SIGINT is ignored, as in the background of a
 * script, where the case `interrupted` hung once. */
TEST(a_python_that_ends)
{
    need_numpy();
    if (shell("trap '' INT; " PYTHON "%s/tests/python/exits.py run", root, python, root) != 0)
        fail_msg("%s", err);
}

/* Damaged models: the program and a strict reader in Python refuse the same ones, and agree on the others. */
TEST(damaged_models_by_numpy)
{
    need_numpy();
#define TWO_READERS PYTHON "%s/tests/python/two_readers.py run 1 %s"
    unsigned refused, read;
    if (shell(TWO_READERS, root, python, root, "") != 0) fail_msg("%s", err);
    assert_int_equal(sscanf(out, "%u refused, %u read", &refused, &read), 2);
    assert_true(refused >= 50 && read >= 50);
    assert_int_equal(shell(TWO_READERS, root, python, root, "planted"), 1);
    HAS(err, "read here, refused (");
}

/* The notebook runs from its first cell to its last; one with a wrong cell does not. */
TEST(the_notebook)
{
    need_numpy();
    shell_ok(PYTHON "%s/tests/python/notebook.py %s/studies/api/python/tour.ipynb >cells.txt", root,
             python, root, root);
    static const char *const lines[] = {
        "trotter.Scheme('ralston') has order 2", "16 cells",
        "      h      euler  rate    ralston  rate        rk4  rate", "in F: division by zero"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        shell_ok("grep -qF \"%s\" cells.txt", lines[i]);
    shell_ok("test $(grep -c 'a picture of [0-9]\\{4,\\} bytes' cells.txt) = 7");
    shell_ok("! grep -qE '\"(png|svg|image|output_type)' %s/studies/api/python/tour.ipynb",
             root); /* no outputs in the tree */
    shell_ok("sed 's/2\\/3\\*k1/2\\/3 k1/' %s/studies/api/python/tour.ipynb >wrong.ipynb", root);
    assert_int_equal(shell(PYTHON "%s/tests/python/notebook.py wrong.ipynb", root, python, root),
                     1);
    HAS(err, "cell 2: Error: text:4:");
}

/* A text in Latin-1 is refused, with the line. */
TEST(words_of_other_bytes)
{
    shell_ok(
        "mkdir latin; for s in train valid test; do yes \"$(printf 'a c\\351t sat on the mat')\" | "
        "head -30 >latin/$s.txt; done");
    assert_int_equal(
        program_run(
            "train --corpus latin --max-steps 2 --epochs 1 --untested --out french" SMALL_NETWORK),
        2);
    HAS(err, "latin/train.txt", "UTF-8");
}

TEST(what_python_is_refused)
{
    python_ok("refused.py");
}

/* Encoders are read by NumPy and compared with the program: words one by one, and classes of pairs of sentences. Each
 * mistake of a reading is seen. */
TEST(encoders_by_numpy)
{
    need_numpy();
#define ENCODER                                                                                 \
    "--corpus kjv --vocabulary 200 --eval-tokens 300 --untested --scheme macaron --first-relu " \
    "--layers 2 --activation gelu --positions both --max-steps 8" SMALL_TRAINING
    run_ok("train --objective masked " ENCODER " --out encoder");
    run_ok("train --no-final-norm " ENCODER " --out first-relu");
    shell_ok("printf 'and the lord said unto moses\n' >said");
    run_ok(
        "eval --model encoder --text said --one-by-one --context sentence --precision f64 --logits words.npy");
    shell_ok(
        "awk 'BEGIN { srand(3); print \"sentence\\tsentence2\\tlabel\"; for (i = 0; i < 40; i++) { k = int(3 * rand()); "
        "print \"and the lord\\tof \" (k ? k == 1 ? \"god\" : \"the people\" : \"all\") \"\\t\" k } }' >pairs.tsv");
    run_ok(
        "finetune --model encoder --task pairs.tsv --threads 1 --rates 1e-2 --seeds 1 --epochs 2 --pretrained-only --out labels");
    shell_ok("printf 'the lord said\\tof the people of god\\n' >pair");
    run_ok("classify --model labels --text pair --precision f64 --csv");
    file_text("classified.csv", out);
    run_ok("classify --model labels --text pair --precision f64 --csv --sequence 6");
    file_text("cut.csv", out);
#define OTHER \
    "train --corpus kjv --vocabulary 200 --eval-tokens 300 --untested --max-steps 3" SMALL_TRAINING
    run_ok(OTHER " --scheme rk2-gate --out gate");
    run_ok(OTHER " --scheme looped-learn --out learn");
    run_ok(OTHER " --scheme heun-layer --layers 2 --activation swiglu --norm-kind rms --positions "
                 "rotary --kv-heads 1 --out today");
    run_ok(OTHER
           " --activation swiglu --norm-kind rms --positions rotary --head-width 6 --kv-heads 1 "
           "--head-norm --biases none --out latest");
    run_ok(OTHER " --activation geglu --positions learned --untied --out learned");
    run_ok(OTHER " --norm post --out post");
    run_ok(OTHER " --scheme leapfrog --layers 2 --out leapfrog");
    shell_ok("head -20 %s/nn/kjv/kjv.test.txt >verses", root);
    for (int stride = 1; stride <= 8; stride = stride == 1 ? 5 : stride + 3) {
        run_ok("eval --model today --text verses --sequence 8 --stride %d --precision f64 --csv",
               stride);
        file_text(formed("stride-%d.csv", stride), out);
    }
    python_ok("encoders.py");
}

/* Rotary positions of Llama 3.1 and YaRN by NumPy; the first are transformers' own logits. The control: another factor. */
TEST(rotary_positions_by_numpy)
{
    static const char *const rope[] = {
        "\"factor\": 8",
        "\"factor\": 8, \"beta_slow\": 0.1, \"original_max_position_embeddings\": 16",
        "\"factor\": 2.5, \"beta_fast\": 2, \"beta_slow\": 0.05, \"original_max_position_embeddings\": 16, "
        "\"attention_factor\": 1.5"};
    need_numpy();
    shell_ok(PYTHON
             "%s/tests/python/llama.py %s/tests/foreign/llama %s/tests/foreign/llama/logits.npy",
             root, python, root, root, root);
    shell_ok("cp -r %s/tests/foreign/llama llama && cp llama/config.json kept.json", root);
    for (size_t i = 0; i < sizeof rope / sizeof *rope; i++) {
        shell_ok(
            "tr -d '\\n' <kept.json | sed 's/\"rope_scaling\": {[^}]*}/\"rope_scaling\": {\"rope_type\": "
            "\"yarn\", %s}/' >llama/config.json",
            rope[i]);
        run_ok(
            "eval --threads 1 --model llama --text %s/tests/foreign/text.txt --logits yarn.npy --precision f64",
            root);
        shell_ok(PYTHON "%s/tests/python/llama.py llama yarn.npy", root, python, root);
        shell_ok("sed -i 's/\"factor\": [0-9.]*/\"factor\": 2/' llama/config.json");
        assert_int_equal(
            shell(PYTHON "%s/tests/python/llama.py llama yarn.npy", root, python, root), 1);
    }
}

/* Heads of another width than D / H, and Qwen 3 with its norms of heads: the recorded logits of transformers' classes, and
 * models that were trained here and exported. The controls: without the norms, and other heads. */
TEST(heads_by_numpy)
{
    static const char *const heads[] = {"", "--head-norm --biases none"};
    need_numpy();
    shell_ok(PYTHON
             "%s/tests/python/llama.py %s/tests/foreign/qwen3 %s/tests/foreign/qwen3/logits.npy",
             root, python, root, root, root);
    shell_ok(
        "cp -r %s/tests/foreign/qwen3 odd && LC_ALL=C sed -i 's/q_norm/x_norm/g' odd/model.safetensors",
        root);
    assert_int_equal(
        shell(PYTHON "%s/tests/python/llama.py odd odd/logits.npy", root, python, root), 1);
    file_text("king", "the lord said unto the king\nof the land\n");
    for (int i = 0; i < 2; i++) {
        run_ok(
            "train --corpus kjv --vocabulary 200 --eval-tokens 300 --untested --max-steps 20 --rate 1e-2 --scheme "
            "transformer --layers 2 --width 12 --inner 16 --heads 3 --head-width 6 --kv-heads 1 --activation swiglu "
            "--norm-kind rms --positions rotary --sequence 8 --batch-tokens 64 --threads 1 --warmup 1 --epochs 1 %s "
            "--out heads-%d",
            heads[i], i);
        run_ok("export --model heads-%d --out heads-%d-hf", i, i);
        run_ok(
            "eval --threads 1 --model heads-%d-hf --text king --logits heads.npy --precision f64",
            i);
        shell_ok(PYTHON "%s/tests/python/llama.py heads-%d-hf heads.npy king", root, python, root,
                 i);
        shell_ok(
            "sed -i 's/\"rms_norm_eps\": [0-9.e-]*/\"rms_norm_eps\": 0.1/' heads-%d-hf/config.json",
            i);
        assert_int_equal(shell(PYTHON "%s/tests/python/llama.py heads-%d-hf heads.npy king", root,
                               python, root, i),
                         1);
    }
}

/* A BERT with a pooler as the beginning of labels, of one sentence and of pairs: next to no step leaves what NumPy says. The
 * control: other norms. */
TEST(labels_of_bert_by_numpy)
{
    need_numpy();
    shell_ok("cp -r %s/tests/foreign/bert bert && chmod -R u+w bert", root);
    shell_ok(PYTHON "%s/tests/python/bert.py pooler bert", root, python, root);
    shell_ok(
        "for i in 0 1 2 3 4 5 6 7 8 9 10; do echo \"god,the heaven,$((i %% 2))\"; done >rows; { echo "
        "'sentence,label'; cut -d, -f1,3 rows; } >one.csv; { echo 'sentence,sentence2,label'; cat rows; } >two.csv");
    shell_ok(
        "cp %s/tests/foreign/text.txt one.txt; read -r x <one.txt; printf '%%s\\t%%s\\n' \"$x\" \"$x\" >two.txt",
        root);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "two" : "one";
        run_ok(
            "finetune --model bert --task %s.csv --rates 1e-12 --seeds 1 --epochs 1 --threads 1 --pretrained-only "
            "--out labels-%s",
            name, name);
        run_ok("classify --model labels-%s --text %s.txt --csv --precision f64", name, name);
        file_text("classified.csv", out);
        shell_ok(PYTHON "%s/tests/python/bert.py bert labels-%s classified.csv", root, python, root,
                 name);
    }
    shell_ok("sed -i 's/1e-12/0.1/' bert/config.json");
    assert_int_equal(
        shell(PYTHON "%s/tests/python/bert.py bert labels-two classified.csv", root, python, root),
        1);
}

/* Models of two sides are read by NumPy, as nn/format.md says, and compared with the program: six by the small reader, and
 * three whose schemes read earlier layers by the rules of that page, written out here. Mistakes of a reading are
 * seen. */
TEST(two_sides_by_numpy)
{
    need_numpy();
    static const char *const model[][3] = {
        {"turns", "--encoder macaron --decoder transformer --layers 2 --encoder-layers 3",
         "--positions both"},
        {"layered", "--encoder transformer --decoder heun-layer --layers 2", "--activation gelu"},
        {"modern", "--encoder macaron --decoder heun-layer --layers 2",
         "--activation swiglu --norm-kind rms --positions rotary --kv-heads 1"},
        {"unsplit", "--encoder euler --decoder euler", "--untied --no-final-norm"},
        {"begun",
         "--scheme-file begun.scheme --encoder begun --decoder begun --layers 2 --encoder-layers 2",
         "--positions learned"},
        {"zeroed", "--scheme-file begun.scheme --encoder zeroed --decoder zeroed --layers 2", ""},
        {"dense", "--encoder rk2-dlcl --decoder ab2 --layers 3 --encoder-layers 3", ""},
        {"steps", "--encoder ab3 --decoder lm-resnet --layers 3 --encoder-layers 4", ""}};
    file_text("odd.scheme", "scheme odd\nlearn a = 1/4\nk1 = F(y + 1/2*k2[-1])\n"
                            "k2 = G(y + k1 + 1/4*k1[-1] - 1/8*k2[-1] + 1/4*y[-1] - 1/4*y)\n"
                            "y' = 3/4*y + 1/4*y[-1] + a*k1 + 1/2*k1[-1] + k2 + 1/3*k2[-1]\n");
    file_text(
        "begun.scheme",
        "scheme begun\nlearn b = 1/2\ncarry v = embedding\nk1 = F(y + b*v)\nk2 = norm(b*v + k1)\n"
        "k3 = G(y + k2)\nk4 = norm(k2 + k3)\nv' = k4\ny' = y + k2 + k4\n"
        "scheme zeroed\ncarry v = 0\nk1 = F(y)\ngate g = tanh(k1, v)\nk2 = norm(g*v + k1)\n"
        "k3 = G(y + k2)\nv' = k2\ny' = y + k2 + g*k3\n");
    file_text("source", "3 1 2 5\n");
    file_text("target", "2 4 1\n");
    for (size_t i = 0; i < sizeof model / sizeof *model; i++) {
        run_ok(
            "train --corpus reverse:5 --max-steps 3 --width 8 --inner 16 --heads 2 --sequence 16 --batch-tokens 416 "
            "--threads 1 %s %s --out %s",
            model[i][1], model[i][2], model[i][0]);
        run_ok(
            "eval --model %s --text target --source-text source --precision f64 --threads 1 --logits %s.npy",
            model[i][0], model[i][0]);
    }
    run_ok(
        "train --corpus kjv --vocabulary 60 --eval-tokens 300 --untested --max-steps 3" SMALL_TRAINING
        "--scheme-file odd.scheme --scheme odd --layers 3 --out odd");
    file_text("said", "and the lord said\n");
    run_ok(
        "eval --model odd --text said --context sentence --precision f64 --threads 1 --logits odd.npy");
    python_ok("sides.py");
}

/* pip, or where it is missing the backend alone, makes a wheel of the tree, without a network and with nothing put into
 * the tree. What is in it works from another directory, and its RECORD tells each file's sum. */
TEST(the_wheel)
{
    need_numpy();
    int pip = shell("%s -c 'import pip' 2>none", python) == 0;
    if (!pip) print_message("# no pip for %s: the wheel is made without it\n", python);
    shell_ok("ls -AR %s/studies/api/python >before", root);
    shell_ok(
        "there=$PWD; cd %s/studies/api/python && NO_DEPS=1 PYTHONDONTWRITEBYTECODE=1 %s %s $there >&2",
        root, python,
        pip ? "-m pip wheel -q --no-index --no-deps ./ -w"
            : "-c 'import backend, sys; backend.build_wheel(sys.argv[1])'");
    shell_ok("ls -AR %s/studies/api/python | cmp - before", root);
    run_ok("--version"); /* "trotter 0.3.0-dev": the wheel's number is the same */
    shell_ok("ls trotter-%.*s-py3-none-linux_*.whl", (int)strspn(out + 8, "0123456789."), out + 8);
    shell_ok("%s -m zipfile -e trotter-*.whl there", python);
    file_text(
        "record.py",
        "import base64, csv, glob, hashlib\n"
        "for path, sums, size in csv.reader(open(glob.glob('there/*.dist-info/RECORD')[0])):\n"
        "    if sums:\n"
        "        data = open('there/' + path, 'rb').read()\n"
        "        assert len(data) == int(size), path\n"
        "        assert sums == 'sha256=' + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode(), path\n");
    shell_ok("%s record.py", python);
    static const char use[] =
        "cd / && env -u TROTTER_LIBRARY HOME=$OLDPWD/nowhere PYTHONPATH=$OLDPWD/%s %s -c "
        "\"import trotter; assert trotter.order('rk4').order == 4; print(trotter.library.find())\"";
    assert_int_equal(shell(use, "there", python), 0);
    HAS(out, "/there/trotter/libtrotter.so");
    shell_ok("echo '#' >>there/trotter/models.py");
    assert_int_equal(shell("%s record.py", python), 1);
    /* In a built tree the module finds the library of build/release; elsewhere, without one beside it, none. */
    shell_ok(
        "mkdir -p tree/studies/api/python tree/build/release && "
        "mv there/trotter/libtrotter.so tree/build/release && cp -r there/trotter tree/studies/api/python");
    assert_int_not_equal(shell(use, "there", python), 0);
    assert_int_equal(shell(use, "tree/studies/api/python", python), 0);
    HAS(out, "/build/release/libtrotter.so");
}

TEST_MAIN(open_all, program_close)
