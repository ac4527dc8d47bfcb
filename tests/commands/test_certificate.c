/* test_certificate.c: `schemes --certificate` and `verify --certificate`: what it writes is accepted by studies/scripts/check_certificate.py and by Coq, of
 * the order that `schemes` has; mutants of it, and claims that `verify` refutes, are refused by both. TROTTER_CERTIFICATES=all takes every scheme of the zoo and
 * of tests/ode/tableaus.jsonl, in minutes. Tests of what a machine lacks, python3 or coqc, are skipped. */
#include "tests/lib/test.h"

#include "ode/ode.h"
#include "studies/base/frame.h"
#include "tests/lib/program.h"

static Zoo zoo;
static char root[PATH_MAX];

/* Writes a scheme of stages H as one with a stage for each operator at each point, `NAME-split`. */
static void split(const char *name)
{
    TABLE(t);
    assert_int_equal(zoo_find(&zoo, name, "exact", &t), 0);
    char *text = WRITTEN(
        f, fprintf(f, "scheme %s-split\n", name); for (size_t e = 0; e <= t->evals; e++) {
            const Row *r = e < t->evals ? &eval_point(t, (int)e)->row : &t->update;
            if (e < t->evals) fprintf(f, "k%zu = %c(y", e + 1, table_letters[t->eval[e].op]);
            fputs(e < t->evals ? "" : "y' = y", f);
            for (size_t k = 0; k < r->terms; k++)
                if (r->term[k].eval >= 0)
                    gmp_fprintf(f, " + (%Qd)*k%d", r->term[k].c, r->term[k].eval + 1);
            fputs(e < t->evals ? ")\n" : "\n", f);
        });
    file_text(formed("%s-split.scheme", name), text);
}

/* One colour, two to order 5, three to order 4, two and three in words, implicit stages. */
static const struct {
    const char *options, *says;
} accepted[] = {
    {"--scheme rk4", "rk4: order 4: all 8 conditions hold (trees: [1, 1, 2, 4]); of order 5 "
                     "H''''(H,H,H,H) has 5/24, not 1/5\n"},
    {"--scheme-file dormand-prince-split.scheme",
     "dormand-prince-split: order 5: all 286 conditions hold (trees: [2, 4, 14, 52, 214]); of order 6 "},
    {"--scheme-file rk4-decoder-split.scheme",
     "rk4-decoder-split: order 4: all 303 conditions hold (trees: [3, 9, 45, 246]); of order 5 "},
    {"--scheme ruth3",
     "ruth3: order 3: all 14 conditions hold (words: [2, 4, 8]); of order 4 FFFG "
     "has 101/2304, not 1/24; the error to 4 letters is that of the brackets (3)\n"},
    {"--scheme rk2-tanh",
     "rk2-tanh: order 0: all 0 conditions hold (trees: []); of order 1 F has 0, not 1\n"},
    {"--scheme strang-decoder",
     "strang-decoder: order 2: all 12 conditions hold (words: [3, 9]); of order 3 FFG has 1/4, not 1/6; "
     "the error to 3 letters is that of the brackets (8)\n"},
    {"--scheme radau-iia3", "radau-iia3: order 3: all 4 conditions hold"},
};
enum { ACCEPTED = sizeof accepted / sizeof *accepted, BY_COQ = 5 }; /* Coq takes seconds */

static void write_schemes(void)
{
    split("dormand-prince");
    split("rk4-decoder");
}

static void checked_by_python(const char *certificate, int status)
{
    int code = shell("python3 %s/studies/scripts/check_certificate.py %s", root, certificate);
    if (code != status) fail_msg("%s: status %d: %s%s", certificate, code, out, err);
}

TEST(python_accepts)
{
    need_tool("python3");
    write_schemes();
    for (size_t i = 0; i < ACCEPTED; i++) {
        run_ok("schemes --certificate json %s", accepted[i].options);
        file_text("c.json", out);
        checked_by_python("c.json", 0);
        HAS(out, accepted[i].says);
    }
}

TEST(coq_accepts)
{
    need_tool("coqc");
    write_schemes();
    for (size_t i = 0; i < BY_COQ; i++) {
        run_ok("schemes --certificate coq %s", accepted[i].options);
        file_text("c.v", out);
        if (shell("coqc -q c.v") != 0) fail_msg("%s: %s", accepted[i].options, err);
        HAS(out, "Closed under the global context\nClosed under the global context\n",
            formed("claimed = %c%%nat\n", *(strstr(accepted[i].says, "order ") + 6)));
        if (strstr(accepted[i].says, "trees"))
            HAS(out, "combine (map b scheme) (K n) = Y n\nClosed",
                "context\nClosed under the global context\nClosed");
    }
}

/* The two certificates of a scheme, and what sed makes of each. */
typedef struct {
    const char *scheme, *json, *coq; /* NULL: that certificate does not say it */
    const char *by_python, *by_coq;  /* why it is refused */
    int status;                      /* of the checker in Python */
} Mutant;
static const Mutant mutants[] = {
    {"rk4", "s/\\[\"1.2\"\\]/[\"1\\/3\"]/", "s/\\[1 # 2\\]/[1 # 3]/",
     "order 2: H'H has 4/9, not 1/2", "forallb all_meet", 1},
    {"rk4", "s/\"b\": \"1.3\"/\"b\": \"1\\/4\"/", NULL, "order 1: H has 5/6, not 1", NULL, 1},
    {"rk4", "s/\"order\": 4/\"order\": 5/; s/1, 2, 4]/1, 2, 4, 9]/",
     "s/claimed : nat := 4/claimed : nat := 5/; s/1; 2; 4]/1; 2; 4; 9]/",
     "order 5: ", "forallb all_meet", 1},
    {"rk4", "s/\"order\": 4/\"order\": 3/; s/1, 2, 4]/1, 2]/",
     "s/claimed : nat := 4/claimed : nat := 3/; s/1; 2; 4]/1; 2]/",
     "fails: H''''(H,H,H,H) is of order 5, not 4", "Unable to unify \"4%nat\" with \"5%nat\"", 1},
    {"rk4", "s/1, 2, 4]/1, 2, 3]/", "s/1; 2; 4]/1; 2; 3]/",
     "conditions: [1, 1, 2, 3], and there are [1, 1, 2, 4]", "numbers", 1},
    {"ralston", "s/\\[\"H\", \\[\"H\", \\[\"H\"\\]\\]\\]/[\"H\", [\"H\"], [\"H\"]]/",
     "s/Node H \\[Node H \\[Node H \\[\\]\\]\\]/Node H [Node H []; Node H []]/",
     "H''(H,H) has 1/3, as it should", "Not a discriminable equality", 1},
    {"ruth3", "s/\"7.24\"/\"7\\/25\"/", "s/7 # 24/7 # 25/", "order 1: F has 593/600, not 1",
     "forallb meets", 1},
    {"ruth3", "s/\"order\": 3/\"order\": 4/; s/2, 4, 8]/2, 4, 8, 16]/", NULL,
     "order 4: FFFG has 101/2304, not 1/24", NULL, 1},
    {"ruth3", "s/FFFG/FFFF/", "s/F; F; F; G/F; F; F; F/", "FFFF has 1/24, as it should",
     "Not a discriminable equality", 1},
    {"strang-marchuk", "s/\"1.12\"/\"1\\/13\"/", "s/1 # 12/1 # 13/",
     "error: FFG has 1/4, and with these brackets 19/78", "forallb agrees", 1},
    {"strang-marchuk", "s/\\[\"F\", \"G\"\\], \"G\"/[\"G\", \"F\"], \"G\"/",
     "s/(Commutator F G) G/(Commutator G F) G/", "error: FGG has ", "forallb agrees", 1},
    {"strang-marchuk", "s/\"letters\": 3/\"letters\": 5/",
     "s/letters : nat := 3/letters : nat := 5/", "error: FFFFG has ", "forallb agrees", 1},
    {"strang-marchuk", "s/\"1.12\"/1/", NULL, "no certificate: 1 is no fraction", NULL, 2},
    {"rk4", "s/\"5.24\"/\"1\\/24\"/", NULL, "the certificate says otherwise", NULL, 1},
    {"rk4", NULL, "s/(Z.of_nat (S n))) (Y (S n)) =/(Z.of_nat (S (S n)))) (Y (S n)) =/", NULL,
     "Found no subterm", 0},
    {"rk4", NULL, "s/scale x y) (combine r/scale (- x) y) (combine r/", NULL,
     "Cannot solve this goal", 0},
    {"ruth3", "s/\"F\", \"G\"\\]/\"F\", \"G\", \"C\"]/", NULL,
     "conditions: [2, 4, 8], and there are [3, 9, 27]", NULL, 1},
    {"rk4", "s/\"b\": \"1.3\"/\"b\": 0.25/", NULL, "no certificate: 0.25 is no fraction", NULL, 2},
    {"rk4", "s/\"colour\": \"H\"/\"colour\": \"F\"/", NULL,
     "no certificate: stages: expected a colour", NULL, 2},
    {"rk4", "s/\"fails\"/\"holds\"/", NULL, "no certificate: fails: expected a condition", NULL, 2},
    {"rk4", "s/}}//", NULL, "no certificate: ", NULL, 2},
};
enum { MUTANTS = sizeof mutants / sizeof *mutants };

/* Writes the certificate and its mutant, which must differ. */
static void mutate(const Mutant *m, const char *form, const char *sed, const char *file)
{
    run_ok("schemes --certificate %s --scheme %s", form, m->scheme);
    file_text("whole", out);
    shell_ok("sed '%s' whole >%s && ! cmp -s whole %s", sed, file, file);
}

TEST(python_refuses)
{
    need_tool("python3");
    for (size_t i = 0; i < MUTANTS; i++) {
        if (!mutants[i].json) continue;
        mutate(&mutants[i], "json", mutants[i].json, "m.json");
        checked_by_python("m.json", mutants[i].status);
        HAS(err, mutants[i].by_python);
        assert_string_equal(out, "");
    }
    checked_by_python("none.json", 2);
}

TEST(coq_refuses)
{
    need_tool("coqc");
    for (size_t i = 0; i < MUTANTS; i++) {
        if (!mutants[i].coq) continue;
        mutate(&mutants[i], "coq", mutants[i].coq, "m.v");
        if (shell("coqc -q m.v") == 0)
            fail_msg("%s: '%s' is accepted", mutants[i].scheme, mutants[i].coq);
        HAS(err, mutants[i].by_coq);
    }
}

TEST(what_has_none_is_refused)
{
    static const char *const rows[][2] = {
        {"bdf2", "bdf2 is a multistep scheme: --certificate takes "},
        {"etd-rk2", "etd-rk2 has phi functions of matrices"},
        {"ros2", "ros2 has stages of solve"},
        {"yoshida4", "yoshida4 has decimals or roots, which are no fractions"},
        {"word:ssf", "word:ssf is a word, whose field has weights"},
        {"rk2-released", "rk2-released has an update whose weights of y do not sum to 1"},
        {"heun,rk4", "--certificate: expected one scheme, --scheme NAME, not 2"},
        {"rk4 --out x", "expected --certificate or --out, not both"},
        {"rk4 --tableau json", "expected --tableau or --certificate, not both"},
        {"rk4 --degree 4",
         "rk4 meets all conditions up to order 4, and a certificate names one that fails"},
        {"line --scheme-file line.scheme", "line is for special fields (linear, separable)"},
    };
    file_text("line.scheme", "scheme line\nlinear F\nk1 = F(y)\nk2 = G(y)\ny' = y + k1 + k2\n");
    file_text("timed.scheme", "scheme timed\nk1 = H(y)\nk2 = H(y + k1 @ 1/2)\ny' = y + k2\n");
    REFUSE_ALL("schemes --certificate coq --scheme %s", rows, NULL);
    expect(2, "schemes --certificate coq --scheme timed --scheme-file timed.scheme");
    HAS(err, "timed has time nodes (@) that are not the sums of its rows");
    must_refuse("verify --certificate coq", "--certificate: expected one claim, ");
    static const struct {
        const char *claim, *why;
    } of[] = {
        {"lie-error", "this one says each term of an error"},
        {"rk2-weights", "this one is about all members of a family"},
        {"palindrome-order", "this one is about several schemes"},
        {"claim1-map", "this one is not of order conditions"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int altered = 0; altered < 2; altered++) {
            const char *option = altered ? "--mutants" : "";
            expect(2, "verify --certificate coq --claim %s %s", of[i].claim, option);
            HAS(err, ": --certificate takes claims about the order or the brackets of one scheme;");
            HAS(err, of[i].why);
        }
    expect(1, "schemes --certificate coq --scheme polynet");
    HAS(err, "no expansion about y");
}

/* Both checkers accept a claim, and its mutant, where `verify` finds that it is so. Coq looks at one, or all. */
TEST(claims_of_verify)
{
    need_tool("python3");
    for (int altered = 0, looked = 0; altered < 2; altered++, looked = 0) {
        const char *option = altered ? "--mutants" : "";
        Frame claims;
        run_ok("verify --csv %s", option);
        file_text("verify.csv", out);
        assert_int_equal(frame_read(&claims, strdup(file_path("verify.csv"))), 0);
        for (size_t i = 0; i < claims.rows; i++) {
            const char *id = frame_text(&claims, i, "id");
            int refuted = strcmp(frame_text(&claims, i, "verdict"), "refuted") == 0;
            if (program_run("verify --certificate json --claim %s %s", id, option) != 0) continue;
            file_text("c.json", out);
            checked_by_python("c.json", refuted);
            looked++;
            if (!getenv("TROTTER_CERTIFICATES") && strcmp(id, "strang-leading") != 0) continue;
            if (!has_tool("coqc")) continue;
            run_ok("verify --certificate coq --claim %s %s", id, option);
            file_text("c.v", out);
            if ((shell("coqc -q c.v") != 0) != refuted) fail_msg("%s %s: %s", id, option, err);
        }
        print_message("# %d claims %s\n", looked, option);
        assert_true(looked > 12);
        free((char *)(uintptr_t)claims.file);
        frame_close(&claims);
    }
}

/* ---- all -------------------------------------------------------------------------------------------- */

/* Has the checkers look at a scheme, if it has a certificate; with `tell` Coq too, if it is there, which says how long that
 * took. Returns whether it has one. */
static int look_at(const char *options, int tell)
{
    char line[512];
    if (program_run("schemes --certificate coq %s", options) != 0) return 0;
    file_text("c.v", out);
    run_ok("schemes --certificate json %s", options);
    file_text("c.json", out);
    checked_by_python("c.json", 0);
    if (!tell || !has_tool("coqc")) return 1;
    snprintf(line, sizeof line, "%.400s", out);
    double begun = shell_number("date +%%s.%%N");
    if (shell("coqc -q c.v") != 0) fail_msg("%s: %s", options, err);
    print_message("# %.1f s of coqc: %s", shell_number("date +%%s.%%N") - begun, line);
    return 1;
}

TEST(schemes_of_the_zoo)
{
    static const char *const group[] = {"implicit", "all", "decoders"};
    int looked = 0, all = getenv("TROTTER_CERTIFICATES") != NULL;
    need_tool("python3");
    for (size_t g = 0; g < (all ? sizeof group / sizeof *group : 1); g++) {
        char *csv = output_of("schemes --csv --scheme %s", group[g]);
        for (int row = 1; row < count_lines(csv); row++)
            looked += look_at(formed("--scheme %s", cell_of(csv, row, "scheme")), all);
    }
    assert_true(looked > 4);
    if (!all) return;
    shell_ok("split -l 1 %s/tests/ode/tableaus.jsonl tableau-", root);
    shell_ok("ls tableau-* >list");
    char *rest = NULL, *name = strtok_r(file_slurp("list", NULL), "\n", &rest);
    for (; name; name = strtok_r(NULL, "\n", &rest))
        looked += look_at(formed("--scheme-file %s", name), 1);
    print_message("# %d certificates\n", looked);
    assert_true(looked > 60);
}

static int begin(void **state)
{
    return !getcwd(root, sizeof root) || zoo_open(&zoo) != 0 || program_open(state) != 0;
}

static int end(void **state)
{
    zoo_close(&zoo);
    return program_close(state);
}

TEST_MAIN(begin, end)
