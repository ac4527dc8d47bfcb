/* test_theory_commands.c: schemes, expand and stability as a user runs them: data, files, and one clear line for each
 * unusable input. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

/* A scheme that its user names and that is not consistent fails; in a group of the zoo it is told alone. */
TEST(test_inconsistent)
{
    file_text("half.scheme", "scheme half\nk1 = H(y)\ny' = y + 1/2*k1\n");
    expect(1, "order --scheme-file half.scheme --halvings 4 --summary --csv");
    HAS(out, ",inconsistent,");
    HAS(err, "half is not consistent: its weights on F sum to 1/2\n");
    file_text("m.scheme",
              "scheme m\ncarry x\nk1 = H(x)\nx' = 19/10*x + 19/10*k1 - 9/10*y\ny' = x + k1\n");
    expect(1, "order --halvings 8 --csv --summary --scheme m --scheme-file m.scheme");
    HAS(err, "m is not consistent: a step goes 10 h by F; the line 'field 10 F ...' says so");
    expect(1, "verify --own \"m order 1\" --scheme-file m.scheme");
    HAS(out, "a step goes 10 h");
    file_text("half.scheme", "scheme half\nk1 = H(y)\ny' = y + 1*k1\n");
    run_ok("order --scheme-file half.scheme --halvings 4 --summary --csv");
}

/* A file's scheme takes the place of the built-in one of its name, and says so; twice in files is an error. */
TEST(test_own_names)
{
    file_text("own.scheme", "scheme rk4\nk1 = H(y)\ny' = y + k1\n");
    must_print("schemes --scheme-file own.scheme --scheme rk4,heun --csv", "\nrk4,1,1,1,");
    HAS(err, "rk4 is that of the file, not the built-in scheme");
    run_ok("verify --own 'rk4 order 1' --scheme-file own.scheme");
    HAS(err, "rk4 is that of the file, not the built-in scheme");
    run_ok("verify --own 'rk4 order 4'"); /* control */
    HAS(err, "~is that of the file");
    must_print("schemes --scheme rk4 --csv", "\nrk4,4,4,4,");
    /* An order that all trees met is a lower bound, and is called one. */
    HAS(out, "~at_least");
    must_print("schemes --scheme dormand-prince,rk4 --degree 4 --csv",
               ",4,4,order and embedded_order\n");
    assert_string_equal(out_cell(2, "at_least"), "order");
    must_print("schemes --scheme dormand-prince,rk4 --degree 5 --csv", "at_least");
    assert_string_equal(out_cell(1, "at_least"), "order");
    assert_string_equal(out_cell(2, "at_least"), "");
    must_refuse("schemes --scheme-file own.scheme --scheme-file own.scheme",
                "scheme 'rk4' exists already");
}

/* The weights of the error in the place of yhat's are asked about, and no tolerance is tried with them. */
TEST(test_weights_of_the_error)
{
    file_text("pasted.json",
              "{\"A\": [[0], [\"2/3\", 0]], \"b\": [\"1/4\", \"3/4\"], \"bhat\": [0, 0]}");
    must_tell("schemes --scheme-file pasted.json",
              "bhat sums to 0: are these the weights of the error?");
    expect(2, "order --adaptive --scheme-file pasted.json");
    HAS(err, "the weights of its estimate do not sum to 0");
    file_text("pasted.json",
              "{\"A\": [[0], [\"2/3\", 0]], \"b\": [\"1/4\", \"3/4\"], \"bhat\": [1, 0]}");
    must_tell("schemes --scheme-file pasted.json", "~are these the weights");
}

/* A flow that names its method is that method's stages, beside exact flows too: order, error, limits and steps know it. */
TEST(test_flows_by_methods)
{
    static const char *const refused[][2] = {
        {"schemes --compose 1/2*mixed,1/2*mixed",
         "'mixed' does not compose: some of its flows name"},
        {"schemes --adjoint mixed", "'mixed' has no adjoint here"},
        {"schemes --scheme mixed --certificate json",
         "mixed has exact flows beside flows by a method"},
        {"expand --conditions 3 --scheme mixed", "mixed has exact flows beside flows by a method"},
        {"expand --basis brackets --scheme mixed", "mixed: brackets belong to splittings by exact"},
        {"verify --own 'mixed brackets 2:'", "mixed: brackets belong to splittings by exact"},
        {"schemes --scheme named:heun", "every flow of 'named' names its own method"}};
    static const char *const bad[][2] = {
        {"flow F:", "bad.scheme:2:8: expected a method's name behind ':', as in flow 1/2 G:heun"},
        {"flow F:exact", "bad.scheme:2:8: expected no 'exact' behind ':'"},
        {"flow F :heun", "bad.scheme:2:8: expected the end of the line"},
        {"flow F:huen", "unknown scheme 'huen'; the nearest is 'heun'"},
        {"flow F:ab2", "expected a one-step scheme over H as sub-flow solver; 'ab2' is none"},
        {"flow F:bad", "expected a one-step scheme over H as sub-flow solver; 'bad' is none"}};
    char text[64];
    file_text("mixed.scheme",
              "scheme named\nflow 1/2 G:heun\nflow F:heun\nflow 1/2 G:heun\n"
              "scheme mixed\nflow 1/2 G:heun\nflow F\nflow 1/2 G:heun\n"
              "scheme half\nflow 1/2 F\nflow G:heun\nflow 1/2 F\n"
              "scheme first\nflow 1/2 G:euler\nflow F\nflow 1/2 G:euler\n"
              "scheme solved\nflow 1/2 F:rk4\nflow G:implicit-midpoint\nflow 1/2 F:rk4\n");
    run_ok(
        "schemes --scheme-file mixed.scheme --scheme named,strang-marchuk:heun,mixed,first,solved --csv");
    static const char *const same[] = {"evals_F", "evals_G", "order", "real_limit", "error_norm2"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        char *named = strdup(out_cell(1, same[i]));
        assert_string_equal(named, out_cell(2, same[i]));
        free(named);
    }
    assert_string_equal(out_cell(3, "order"), "2");
    assert_string_equal(out_cell(3, "evals_G"), "4");
    assert_string_equal(out_cell(3, "evals_F"), "1");
    assert_string_equal(out_cell(3, "real_limit"), "-inf");
    assert_string_equal(out_cell(3, "imag_limit"), "0"); /* |R| of Heun's method is above 1 there */
    assert_string_equal(out_cell(4, "order"), "1");
    must_print("expand --scheme-file mixed.scheme --scheme first --degree 2 --csv",
               "first,2,G'G,-1/4,-0.25\n");
    assert_int_equal(count_lines(out), 2);
    /* behind order 2 the first terms of the modified equation are those of the step's error */
    for (int modified = 0; modified < 2; modified++)
        must_print(
            modified ? "expand --scheme-file mixed.scheme --scheme half --degree 3 --modified --csv"
                     : "expand --scheme-file mixed.scheme --scheme half --degree 3 --csv",
            "half,3,\"G''(F,F)\",-1/24,", "half,3,G'F'G,-1/6,");
    must_print("schemes --scheme-file mixed.scheme --scheme mixed --print",
               "flow 1/2 G:heun\nflow F\nflow 1/2 G:heun\n");
    must_print("verify --scheme-file mixed.scheme --own 'mixed order 2'", "measured 2.00");
    static const char *const system[] = {"linear", "attention",
                                         "convection-diffusion:pulse=1 --particles 9"};
    for (size_t i = 0; i < sizeof system / sizeof *system; i++) {
        run_ok(
            "order --scheme-file mixed.scheme --scheme mixed,first,solved --csv --summary --system %s",
            system[i]);
        for (int row = 1; row <= 3; row++) {
            assert_string_equal(out_cell(row, "verdict"), "agree");
            assert_string_equal(out_cell(row, "match"), "agree");
        }
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        expect(2, "%s --scheme-file mixed.scheme", refused[i][0]);
        if (!strstr(err, refused[i][1])) fail_msg("%s: %s", refused[i][0], err);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "scheme bad\n%s\nflow G\n", bad[i][0]);
        file_text("bad.scheme", text);
        expect(2, "schemes --scheme-file bad.scheme --scheme bad");
        if (!strstr(err, bad[i][1])) fail_msg("%s: %s", bad[i][0], err);
    }
}

TEST(test_expand)
{
    must_print("expand --scheme lie-trotter --csv",
               "lie-trotter,2,F'G,-1/2,-0.5\nlie-trotter,2,G'F,1/2,0.5\n");
    must_print(
        "expand --scheme strang-marchuk --csv --basis brackets",
        "scheme,degree,term,coefficient,value\nstrang-marchuk,3,\"[F,[F,G]]\",1/12,0.0833333333333333");
    must_print("expand --scheme word:sffs --basis brackets", "signed area 0");
    must_print("expand --scheme sandwich:6-3", "signed area 15");
    must_print("expand --scheme strang-marchuk --basis brackets --latex",
               "\\tfrac{1}{h}\\log\\Phi_h - (F+G) \\\\\n"
               "  &\\quad= h^{2}\\bigl(\\tfrac{1}{12}[F,[F,G]] - \\tfrac{1}{24}[[F,G],G]\\bigr)");
    must_print("expand --scheme rk4 --latex", "F^{(4)}(F,F,F,G)");
    int depth = 0, deepest = 0;
    for (const char *c = out; *c; c++) {
        depth += (*c == '{') - (*c == '}');
        deepest = depth > deepest ? depth : deepest;
    }
    assert_true(depth == 0 && deepest > 0);
    must_print("expand --scheme word:ssfsff,yoshida4 --out x", "7/2");
}

/* The modified equation has a field of degree 1. A list with a multistep scheme, brackets and too high a degree are
 * refused. */
TEST(test_modified)
{
    must_print("expand --modified --one-field --scheme euler --degree 3 --csv",
               "degree,term,coefficient,value\neuler,1,H,1,1\neuler,2,H'H,-1/2,-0.5\n"
               "euler,3,\"H''(H,H)\",1/12,0.08333333333333333\neuler,3,H'H'H,1/3,");
    must_print("expand --modified --scheme lie-trotter", "whose exact flow over h is the step");
    must_print("expand --modified --scheme lie-trotter --latex",
               "  &\\widetilde{y}' \\\\\n  &\\quad= \\bigl(F + G\\bigr) \\\\\n"
               "  &\\quad{} + h\\bigl(-\\tfrac{1}{2}F'G + \\tfrac{1}{2}G'F\\bigr) \\\\\n"
               "  &\\quad{} + \\mathcal{O}(h^{2})");
    must_print("expand --modified --scheme heun --out m", "heun");
    shell_ok(
        "grep -q '^heun,1,F,1,1' m/expand.csv && grep -q widetilde m/expand.tex && test -s m/expand.md");
    must_refuse("expand --modified --scheme rk4,leapfrog",
                "leapfrog: a modified equation belongs to a one-step scheme");
    must_refuse("expand --modified --basis brackets --scheme lie-trotter", "--basis brackets");
    must_refuse("expand --modified --scheme rk4 --degree 9", "1 to 8");
}

/* What reads a table takes schemes that carry, or refuses them in a line that says so. In one step from the text's start its
 * error shows whole. */
TEST(test_carried)
{
    static const char *const refused[][2] = {
        {"schemes --tableau json --scheme nord", "a tableau has the stages of one step"},
        {"schemes --tableau drawn --scheme dim", "dim carries 'v' from step to step"},
        {"schemes --certificate coq --scheme dim", "dim carries quantities from step to step: -"},
        {"schemes --certificate json --scheme mom", "mom carries quantities from step to step: -"},
        {"schemes --compose dim,dim", "dim carries 'v' from step to step: only schemes that read"},
        {"schemes --adjoint mom", "mom carries 'v' from step to step: only schemes that read"},
        {"schemes --conjugate dim,rk4", "dim carries 'v' from step to step: only schemes that"},
        {"schemes --to torch --scheme start", "a network begins it by a row, as carry v = y"},
        {"schemes --scheme dim-F", "dim carries 'v' from step to step: over one sublayer"},
        {"expand --modified --scheme dim", "dim carries 'v' from step to step: a modified"},
        {"expand --conditions 3 --scheme nord", "nord carries 'v' from step to step: --cond"},
        {"expand --steps --scheme nord", "nord carries 'v' from step to step: the derivation"},
        {"expand --basis brackets --scheme dim", "dim: brackets belong to splittings by exact"}};
    file_text(
        "c.scheme",
        "scheme dim\ncarry v\nk1 = H(y)\nk2 = H(v + 2*k1)\n"
        "v' = 1/2*y + 1/2*v + 3/4*k1 - 1/4*k2\ny' = 1/2*y + 1/2*v + 5/4*k1 + 1/4*k2\n"
        "scheme nord\ncarry v = k1\nk1 = H(y)\nk2 = H(y + v)\nv' = k2\ny' = y + 1/2*v + 1/2*k2\n"
        "scheme mom\ncarry v\nlearn g = 9/10\nk1 = F(y)\nlet w = g*v + (1-g)*k1\nk2 = G(y + w)\n"
        "v' = g*w + (1-g)*k2\ny' = y + w + v'\n"
        "scheme begun\ncarry v\nk1 = H(y)\nv' = k1\ny' = y\n"
        "scheme start\nstart begun\ncarry v\nk1 = H(y)\nv' = k1\ny' = y + 3/2*k1 - 1/2*v\n");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(program_run("%s --scheme-file c.scheme", refused[i][0]), 2);
        HAS(err, refused[i][1], "~multistep", "~earlier steps");
        assert_int_equal(count_lines(err), 1);
    }
    run_ok("schemes --structure --scheme-file c.scheme --scheme dim,rk4,ab2");
    HAS(err, "dim carries 'v' from step to step: zero-stability alone is told", "~ab2", "~rk4");
    run_ok(
        "order --local --scheme-file c.scheme --scheme dim,start --system attention --csv --summary");
    HAS(out, "dim,attention,3,", "start,attention,2,");
    must_print("schemes --scheme-file c.scheme --scheme start-decoder --print",
               "start  begun-decoder");
}

/* --scheme-file reads the text that --compose, --adjoint and --conjugate print. */
TEST(test_made)
{
    run_ok("schemes --adjoint lie-trotter");
    file_text("adjoint.scheme", out);
    must_print("schemes --scheme-file adjoint.scheme --compose lie-trotter,lie-trotter-adjoint",
               "\nflow 1/2 F\nflow G\nflow 1/2 F\n");
    file_text("strang.scheme", out);
    must_print("schemes --csv --scheme-file strang.scheme --scheme lie-trotter+lie-trotter-adjoint",
               "lie-trotter+lie-trotter-adjoint,3,2,1,0,0,yes,yes,2,");
    file_text("half.scheme", "scheme half\nflow 1/2 G\n");
    must_print("schemes --scheme-file half.scheme --conjugate half,lie-trotter",
               "\nflow 1/2 G\nflow F\nflow 1/2 G\n");
    must_print("schemes --compose heun-layer", "\nk1 = L(y)\n");
    must_tell("schemes --compose 1/2*heun", "the weights sum to 0.5, not to 1");
    must_print("schemes --adjoint euler", "\nk1 = H(y + k1)\n");
    must_refuse("schemes --conjugate rk4,lie-trotter", "flows and stages");
    must_refuse("schemes --conjugate lie-trotter", "two names");
    must_refuse("schemes --compose heun --csv", "not both");
    must_refuse("schemes --compose heun --adjoint lie-trotter", "not both");
}

/* One field has 9 trees of order 5, with the coefficients that those of F alone have among the 214. A scheme that
 * distinguishes F and G is refused. */
TEST(test_one_field)
{
    run_ok("expand --scheme rk4 --one-field --csv");
    assert_int_equal(count_lines(out), 10);
    HAS(out, "rk4,5,H'H'H'H'H,-1/120,-0.008333333333333", "~G");
    must_print("expand --scheme rk4 --csv", "rk4,5,F'F'F'F'F,-1/120,");
    must_print("expand --scheme rk4", "--one-field prints the terms in H alone");
    must_print("expand --scheme rk4 --one-field", "~--one-field");
    must_print("expand --scheme macaron", "~--one-field");
    must_refuse("expand --scheme macaron --one-field", "stages are all H");
    must_refuse("expand --scheme strang-marchuk --basis brackets --one-field", "stages are all H");
}

/* Ralston's method with a wrong digit is of order 1, and the digit is told, with the defect of the one condition: 7.5e-7. */
TEST(test_a_wrong_digit)
{
    file_text(
        "digits.scheme",
        "scheme right\nk1 = H(y)\nk2 = H(y + 0.666666666666667*k1)\ny' = y + 1/4*k1 + 3/4*k2\n"
        "scheme wrong\nk1 = H(y)\nk2 = H(y + 0.666667666666667*k1)\ny' = y + 1/4*k1 + 3/4*k2\n");
    must_tell("schemes --scheme-file digits.scheme --scheme right", "~missed");
    must_tell("schemes --scheme-file digits.scheme --scheme wrong", "order 2 fails by 7.5e-07)",
              "wrong: the conditions of order 2 are missed by 7.5e-07 alone");
}

/* Of a scheme with norms theory says that it leaves them out, and of its text without them nothing such (the control). */
TEST(test_norms)
{
    static const char *const commands[] = {"schemes --scheme n", "expand --scheme n",
                                           "stability --scheme n", "verify --own 'n order 1'"};
    for (int i = 0; i < 2; i++) {
        file_text("n.scheme",
                  formed("scheme n\ncarry v\nk1 = H(y)\nlet w = 1/2*v + 1/2*k1\n%s\ny' = y + w\n",
                         i ? "v' = w" : "k2 = norm(w)\nv' = k2"));
        for (size_t k = 0; k < sizeof commands / sizeof *commands; k++) {
            run_ok("%s --scheme-file n.scheme", commands[k]);
            HAS(err, i ? "~norms"
                       : "order, error and stability are those of the text without its norms");
        }
    }
}

/* Decoders have a column, which is left out where no scheme has them. */
TEST(test_decoders)
{
    must_print("schemes --csv --scheme transformer", "scheme,stages,evals_F,evals_G,past_y,");
    must_print("schemes --csv --scheme transformer,macaron-decoder",
               "scheme,stages,evals_F,evals_G,evals_C,past_y,", "\ntransformer,2,1,1,,0,0,",
               "macaron-decoder,3,1,2,1,0,0,");
    must_print("schemes --scheme transformer,macaron-decoder", "y' = F + C + G");
    must_print("schemes --scheme transformer", "~F + C + G", "~evals_C");
    must_print("schemes --csv --scheme decoders", "\nrk4-layer-decoder,");
    must_print("expand --scheme word:scscfscff", "signed areas [F,C] 3/2, [F,G] 7/2, [C,G] 7/2");
    must_print(
        "expand --scheme lie-trotter-decoder --basis brackets --degree 2 --latex",
        "\\Phi_h - (F+C+G) \\\\\n  &\\quad= h\\bigl(\\tfrac{1}{2}[F,C] + \\tfrac{1}{2}[F,G] + "
        "\\tfrac{1}{2}[C,G]\\bigr)");
    must_print("expand --scheme strang-decoder --out y", "strang-decoder");
    must_print("stability --scheme transformer-decoder", "lambda/3");
}

/* Pairs show the cost of a step of fixed size, runs by tolerance with their files, and which schemes are no pairs. */
TEST(test_pairs)
{
    must_print("schemes --csv --scheme rk4,heun-euler", ",1,1,1\n"); /* orders and Euler's norm */
    must_print("schemes --csv --scheme rk4,heun-euler", ",0,,,\n");
    must_print("schemes --csv --scheme dormand-prince", "dormand-prince,6,6,6,");
    must_print("order --adaptive --scheme heun-euler --tolerances 1e-3,1e-4,1e-5 --out pairs --csv",
               "\ngsl:rkf45,attention,0.001,");
    size_t steps, rejected, evals; /* GSL's rkf45 takes 6 values a try, and the first one */
    const char *rkf45 = strstr(out, "\ngsl:rkf45,attention,1e-05,");
    assert_int_equal(
        sscanf(rkf45, "%*[^,],attention,1e-05,%*f,,%zu,%zu,%zu", &steps, &rejected, &evals), 3);
    assert_true(evals == 2 * (6 * (steps + rejected) + 1));
    const char *arkode = strstr(out, "\narkode:erk,attention,1e-05,"); /* as `make peers` found */
    assert_true(!arkode == (strstr(err, "ARKODE's rows are left out") != NULL));
    double error = 0;
    if (arkode) assert_int_equal(sscanf(arkode, "\narkode:erk,attention,1e-05,%lf", &error), 1);
    assert_true(!arkode || (error > 0 && error < 1e-3));
    assert_true(file_exists("pairs/adaptive.csv") && file_exists("pairs/tolerance.csv") &&
                file_exists("pairs/precision.gp") && file_exists("pairs/tolerance.gp"));
    run_ok("report pairs");
    /* a stiff system: stability does not limit the steps of GSL's msbdf */
    must_print("order --adaptive --scheme bogacki-shampine --tolerances 1e-3 --csv --system "
               "transport:peclet=1 --particles 63",
               "\ngsl:msbdf,transport:peclet=1,");
    file_text("wide.txt", "system wide\nn 1025\nd 1\nG = -y\ninitial = 1\nt-end 1\nh0 1/4\n");
    must_tell("order --adaptive --scheme heun-euler --tolerances 1e-3 --system-file wide.txt",
              "gsl:msbdf is left out");
    /* a fine grid: an explicit pair is stopped, and its smaller tolerance is not tried; an implicit one goes on */
    expect(1, "order --adaptive --scheme heun-euler,rodas4 --tolerances 1e-3,1e-4 --system "
              "transport --particles 4096 --t-end 0.08 --csv");
    HAS(out, ",stopped after 16384 steps\nrodas4,transport,0.001,",
        ",done\nrodas4,transport,0.0001,", ",done\ngsl:rkf45,transport,0.001,",
        "~gsl:rkf45,transport,0.0001,");
    must_print("schemes --dense --scheme rk4", "b1 = theta - 3/2*theta^2 + 2/3*theta^3\n");
    must_print("schemes --dense --scheme rodas4",
               "rodas4: y + sum b(theta) k, 0 <= theta <= 1, of order 3\nb2 of F = ", "~\nb1 of");
    must_print("schemes --dense --scheme lie-trotter", "lie-trotter: no values within a step");
    must_print("order --adaptive --scheme all --tolerances 1e-3 --summary --csv", "\nheun-euler,",
               "~\nrk4,");
    file_text("blow.txt", "system blow\nn 1\nd 1\nG = y*y\ninitial = 1\nt-end 0.9\n");
    must_print(
        "order --adaptive --scheme heun-euler --tolerances 1e-4 --system-file blow.txt --csv",
        ",done\n");
    must_refuse("order --adaptive --scheme rk4",
                "scheme rk4 has no estimate of its error (a line error = ...); these have: ");
    must_refuse("order --adaptive --scheme dormand-prince-layer", "so no tolerance would be met");
    must_refuse("order --adaptive --halvings 5", "--halvings has no meaning with --adaptive");
    must_refuse("order --adaptive --local", "expected --adaptive or --local, not both");
    must_refuse("order --adaptive --scheme heun-euler,heun-euler-decoder --system linear",
                "solve different fields");
    must_refuse("order --tolerances 1e-3", "--tolerances has no meaning without --adaptive");
}

TEST(test_structure)
{
    must_print(
        "schemes --structure --csv --scheme leapfrog,macaron,lie-trotter",
        "scheme,symmetric,symmetric_order,symmetric_separable,symplectic,symplectic_separable,"
        "effective_order,error_constant,normalised_constant,zero_stable,weakly_stable,dense_order\n"
        "leapfrog,yes,,yes,,,,-1/3,-1/6,yes,yes,\n"
        "macaron,no,1,yes,no,yes,,,,yes,no,1\n"
        "lie-trotter,no,1,no,yes,yes,2,,,yes,no,\n");
    /* what was looked at is told, and which orders may be larger */
    must_print("schemes --structure --csv --degree 3 --scheme yoshida4,rk4",
               ",dense_order,stage_order,assumptions,algebraically_stable,at_least\n",
               "\nyoshida4,yes,,yes,yes,yes,3,,,yes,no,,,,,effective_order\n",
               "\nrk4,no,3,no,no,no,,,,yes,no,3,1,B(4) C(1) D(1),no,symmetric_order");
    must_print(
        "schemes --structure --degree 9 --scheme yoshida4",
        "symmetric_order in trees up to order 8, of splittings in brackets up to 9, as effective_order;\n"
        "dense_order up to 8; of three colours 6, 7 and 6.");
}

/* The place of a misprint, the repaired text and the status: 0 for one repair, 1 for none or several. A bad file is refused. */
TEST(test_repair)
{
    file_text("m.json",
              "{\"name\": \"m\", \"order\": 4, \"A\": [[], [\"1/2\"], [0, \"1/3\"], [0, 0, 1]],\n"
              " \"b\": [\"1/6\", \"1/3\", \"1/3\", \"1/6\"]}\n");
    must_print(
        "schemes --repair --scheme-file m.json",
        "conditions to order 4 (as its text says): 8, of which 7 fail\n",
        "1  a32          1/3      1/2              7        7  a digit exchanged\n",
        "\n{\"name\": \"m\", \"order\": 4, \"A\": [[], [\"1/2\"], [0, \"1/2\"], [0, 0, 1]],\n");
    run_ok("schemes --repair --csv --scheme-file m.json --out r");
    must_print("schemes --csv --scheme-file r/repaired.scheme", "\nm,4,", ",4,yes,");
    must_print("schemes --repair --scheme-file r/repaired.scheme", "nothing to repair\n");
    file_text("e.json", "{\"A\": [[1]], \"b\": [1], \"c\": [11]}");
    must_print(
        "schemes --repair --scheme-file e.json --order 1",
        "2 repairs meet all conditions by one slip; the first leaves the simplest numbers, by ");
    file_text("n.json", "{\"name\": \"n\", \"A\": [[], [\"1/2\"], [0, \"9/7\"], [0, 0, 1]],\n"
                        " \"b\": [\"1/6\", \"1/3\", \"1/3\", \"1/6\"]}\n");
    expect(1, "schemes --repair --scheme-file n.json --order 2");
    assert_non_null(strstr(err, "several repairs meet the conditions"));
    assert_non_null(strstr(
        out, "the conditions do not decide: 6 repairs meet them all, 0 of these by one slip\n"));
    expect(1, "schemes --repair --scheme-file m.json --order 6");
    assert_non_null(strstr(err, "no repair meets the conditions"));
    must_refuse("schemes --repair --scheme rk4", "--repair: expected one file");
    must_refuse("schemes --repair --scheme-file m.json --scheme m",
                "it repairs the text as the file has it");
    must_refuse("schemes --repair --print --scheme-file m.json",
                "expected --repair or --print, not both");
    must_refuse("schemes --order 4", "--order has no meaning without --repair");
    file_text("a.scheme", "scheme a\nk1 = H(y + 1/2*k1[-1])\ny' = y + k1\n");
    must_refuse("schemes --repair --scheme-file a.scheme",
                "a: slopes that read their own past are not repaired");
}

/* A scheme with @ shows its order on fields that depend on time, beside the one on those that do not, where the two
 * differ; its terms have t. On a system without time nothing changes. */
TEST(test_times)
{
    file_text("t.scheme", "scheme a\nk1 = H(y)\nk2 = H(y + k1 @ 0)\ny' = y + 1/2*k1 + 1/2*k2\n");
    file_text("p.scheme", "scheme a\nk1 = H(y)\nk2 = H(y + k1)\ny' = y + 1/2*k1 + 1/2*k2\n");
    must_print("schemes --csv --scheme a --scheme-file p.scheme", "~order_autonomous");
    must_print("schemes --csv --scheme a --scheme-file t.scheme",
               ",consistent,order,order_autonomous,", ",yes,1,2,");
    must_print("expand --csv --scheme a --scheme-file t.scheme",
               "a,2,F't,-1/2,-0.5\na,2,G't,-1/2,-0.5\n");
    must_print("expand --latex --scheme a --scheme-file t.scheme", "\\tfrac{1}{2}F't");
    char *plain =
        output_of("order --system linear --csv --summary --scheme a --scheme-file p.scheme");
    run_ok("order --system linear --csv --summary --scheme a --scheme-file t.scheme");
    assert_string_equal(out, plain);
    must_print("order --system forced --csv --summary --scheme a --scheme-file t.scheme",
               "\na,forced,1,", ",agree,");
    must_tell("schemes --structure --csv --scheme a --scheme-file t.scheme",
              "what @ writes is not looked at here");
}

TEST(test_stability)
{
    must_print("stability --scheme euler --box=-2,0,-1,1 --points 3 --csv",
               "scheme,re,im,modulus\neuler,-2,-1,1.4142135623730951\neuler,-1,-1,1\n");
    must_print(
        "stability --scheme transformer --split --box=-2,0,-1,0 --points 3 --csv",
        "scheme,zF,zG,modulus\ntransformer,-2,-1,0\ntransformer,-1,-1,0\ntransformer,0,-1,0\n"
        "transformer,-2,-0.5,0.5\n");
    must_print("stability --scheme rk4,leapfrog --points 21 --out s", "-2.785293563405");
    HAS(file_slurp("s/contours.csv", NULL), "scheme,line,re,im\nrk4,0,", ",0,-1\nleapfrog,");
    HAS(file_slurp("s/limits.csv", NULL), "\nleapfrog,0,1,2,-1/6,inf,,,\n",
        ",4,1/120,5,1/144,0,1.6754");
    must_print("stability --scheme lie-trotter,rk2-released --points 21 --out t", "inf");
    must_print("stability --scheme rk4 --split --points 21 --out v", "1/144");
}

/* An order star has the modulus of R(z) / exp(z): Euler's is 0 at -1 and 2/e at 1. */
TEST(test_order_star)
{
    must_print("stability --order-star --scheme euler --box=-1,1,-1,1 --points 3 --csv",
               "\neuler,-1,0,0\neuler,0,0,1\neuler,1,0,0.7357588823428847\n");
    run_ok("stability --order-star --scheme rk4,heun --points 21 --out star");
    shell_ok("test -s star/order-star.gp && grep -q ^rk4,0, star/order-star-contours.csv");
    shell_ok("grep -qx 'rk4,zero,-1.729[0-9]*,0.888[0-9]*' star/order-star-roots.csv");
    must_refuse("stability --order-star --split --scheme rk4", "not both");
    run_ok("stability --function --csv --scheme gauss4,leapfrog,ars222");
    assert_string_equal(
        out,
        "scheme,function,zeros,poles,of\n"
        "gauss4,(1 + 1/2 z + 1/12 z^2)/(1 - 1/2 z + 1/12 z^2),-3 ± 1.7320508i,3 ± 1.7320508i,\n"
        "leapfrog,,,,\n"
        "ars222,(1 + 0.414213562373095 z)/(1 - 0.585786437626905 z + 0.085786437626905 z^2),"
        "-2.4142136,3.4142136 (2),F\n");
    must_print("stability --function --scheme rk4 --points 21 --out r",
               "1 + z + 1/2 z^2 + 1/6 z^3 + 1/24 z^4");
    assert_true(file_has("r/functions.csv", "-1.7294442 ± 0.88897438i, -0.27055577 ± 2.5047759i"));
}

/* The embedded method's region is a dashed line in its pair's colour: that of heun-euler is Euler's. */
TEST(test_embedded_region)
{
    run_ok("stability --scheme euler,heun-euler,rk4 --points 11 --out pair");
    shell_ok(
        "for s in euler: heun-euler:embedded; do grep \"^${s%%:},\" pair/stability.csv | cut -d, -f2- >$s.txt; done; test -s euler:.txt && cmp euler:.txt heun-euler:embedded.txt");
    shell_ok("test $(grep -c '^pair' pair/limits.csv) = 0 && test $(wc -l <pair/limits.csv) = 4");
    assert_true(file_has("pair/stability.gp", "title 'heun-euler:embedded'"));
    assert_true(
        file_has("pair/stability-inside.csv", ",3\n")); /* schemes, not their embedded ones */
    assert_false(file_has("pair/stability-inside.csv", ",4\n"));
    run_ok("stability --scheme heun-euler --points 11 --out pair1");
    assert_true(file_has("pair1/stability.gp", "every ::1::121 using"));
    /* the window holds the limits of both, -3.31 and -4.38 */
    run_ok("stability --scheme dormand-prince --points 11 --out pair2");
    assert_true(file_has("pair2/stability.gp", "set xrange [-5.48"));
}

TEST(test_lists)
{
    must_print("order --systems --csv", "system,title,default\nattention,");
    must_print("order --systems", "transport:peclet=X");
    must_print("verify --list --csv", "id,source,expected,origin\nlie-error,\"");
}

/* Given schemes are taken even where they are the defaults of another study. */
TEST(test_default_given)
{
    static const char usual[] =
        "euler,transformer,lie-trotter,strang-marchuk,heun,heun-layer,rk3,rk4,ab2";
    run_ok("order --help"); /* which breaks the list after heun */
    HAS(out, "euler,transformer,lie-trotter,strang-marchuk,heun,");
    must_print("order --invariant --t-end 20 --csv", "\nleapfrog,", "~\nlie-trotter,");
    run_ok("order --invariant --t-end 20 --csv --scheme %s", usual);
    HAS(out, "\nlie-trotter,", "~\nleapfrog,");
}

/* Without --scheme every command that takes several schemes takes those of the files, all of them and no other. */
TEST(test_files_alone)
{
    static const char *const command[] = {"schemes", "expand", "stability --points 3",
                                          "order --system linear --summary"};
    file_text("first.scheme", "scheme mine\nk1 = H(y)\ny' = y + k1\n");
    file_text("second.scheme",
              "scheme yours\nk1 = H(y)\nk2 = H(y + k1)\ny' = y + 1/2*k1 + 1/2*k2\n");
    for (size_t i = 0; i < sizeof command / sizeof *command; i++) {
#define FILES "%s --scheme-file first.scheme --scheme-file second.scheme --csv"
        run_ok(FILES, command[i]);
        int mine = count_words(out, "\nmine,"), yours = count_words(out, "\nyours,");
        if (!mine || !yours || count_lines(out) - 1 != mine + yours)
            fail_msg("%s: %s", command[i], out);
        run_ok(FILES " --scheme yours,heun", command[i]); /* the control */
#undef FILES
        HAS(out, "\nheun,", "\nyours,", "~\nmine,");
    }
}

/* Every command says which systems an exponential scheme is for, or refuses it. */
TEST(test_exponential)
{
    must_print("schemes --scheme exponential --csv", ",ssp,unproved,fields\netd-euler,3,1,1,");
    must_print("schemes --scheme exponential --csv", ",limits,linear F\n");
    must_print("schemes --scheme exponential", "fields: what the scheme takes them to be");
    must_print("schemes --scheme exponential --print", "k3 = phi1(1/2 F)(k1 + k2)\n");
    must_print("expand --scheme etd-rk4", "etd-rk4: for fields that are linear F:");
    must_print("order --scheme etd-rk2 --system fisher --halvings 4 --summary", "agree");
    must_print("stability --scheme etd-rk4", "5.39250560385");
    must_refuse("order --scheme etd-rk2 --system attention", "");
    must_refuse("order --scheme rk4,etd-rk2 --system attention --particles 2048 --halvings 20",
                ""); /* at once */
    must_refuse("train --scheme etd-rk2 --corpus markov:20 --out never", "");
    must_refuse("schemes --compose etd-rk2,etd-rk2", "");
}

TEST(test_rosenbrock)
{
    must_print("schemes --scheme rosenbrock --print", "k4 = solve(1/4 H)(");
    must_print("stability --scheme ros3p", "no         0.7320508");
    must_print("expand --scheme ros2-w", "W'W'F     -2.914");
    must_print("expand --scheme ros3p --one-field", "H''(H,H'H)");
    must_print("order --scheme ros3p,ros34pw2 --system forced --halvings 4 --summary", "agree");
    must_print("order --adaptive --scheme rodas4 --system robertson --csv", "gsl:bsimp,robertson");
    must_print("solve --scheme ros3p --system hires --tolerance 1e-5", "done");
    must_refuse("train --scheme ros2 --corpus markov:20 --out never", "");
    must_refuse("schemes --adjoint ros2", "");
}

TEST(test_hostile)
{
    static const char *const files[] = {"many", "long", "zero", "cancel"};
    static const char *const commands[] = {"schemes --structure", "stability"};
    static const char *const bad[] = {"expand --basis brackets --scheme rk4",
                                      "expand --basis brackets --degree 11 --scheme lie-trotter",
                                      "expand --basis words --scheme lie-trotter",
                                      "expand --latex --csv",
                                      "schemes --degree 30",
                                      "order --system transport:round",
                                      "stability --points 1",
                                      "stability --points 100000",
                                      "stability --box=1,0,0,1",
                                      "stability --box=0,1,0,nan",
                                      "stability --box=0,1,0",
                                      "stability --scheme all --points 2001 --csv"};
    shell_ok("{ echo scheme many; for i in $(seq 10000); do echo \"k$i = H(y)\"; done; "
             "echo \"y' = y + k1\"; } >many.scheme");
    shell_ok("{ printf \"scheme long\nk1 = H(y)\ny' = y\"; yes ' + 1*k1' | head -n 100000 | "
             "tr -d '\n'; } >long.scheme");
    file_text("zero.scheme", "scheme zero\nk1 = H(y)\ny' = y + 1/0*k1\n");
    file_text("cancel.scheme", "scheme cancel\nflow 1/(2-2) F\nflow G\n");
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 2; k++) {
            must_refuse(
                formed("%s --scheme %s --scheme-file %s.scheme", commands[k], files[i], files[i]),
                "");
        }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) must_refuse(bad[i], "");
}

/* A byte order mark, as some editors write it, may begin a file; in the midst of a text it is refused. */
TEST(test_byte_order_mark)
{
    file_text("mark.scheme", "\xEF\xBB\xBFscheme marked\nk1 = H(y)\ny' = y + k1\n");
    must_print("schemes --scheme-file mark.scheme --scheme marked --csv", "marked,1,");
    file_text("mark.system", "\xEF\xBB\xBFsystem marked\nG = -y\ninitial = 1\n");
    must_print("order --system-file mark.system --scheme euler --csv --summary", "euler,marked,1,");
    file_text("mark.scheme", "scheme marked\n\xEF\xBB\xBFk1 = H(y)\ny' = y + k1\n");
    assert_int_equal(program_run("schemes --scheme-file mark.scheme --scheme marked"), 2);
}

/* The largest schemes are taken: 256 stages, 1024 flows. */
TEST(test_large)
{
#define BIG " --scheme-file big.scheme --scheme "
    shell_ok("{ printf 'scheme big\nk1 = H(y)\n'; for i in $(seq 2 256); do "
             "echo \"k$i = H(y + 1/$i*k$((i - 1)))\"; done; printf \"y' = y + k256\n\nscheme "
             "wide\n\"; for i in $(seq 512); do printf 'flow 1/512 F\nflow 1/512 G\n'; done; } "
             ">big.scheme");
    must_print("schemes" BIG "big,wide --degree 4 --csv", "wide,1024,");
    must_print("schemes" BIG "big,wide --degree 4 --structure --csv", "wide,no,1,no,yes,yes,2,");
    must_print("expand" BIG "wide --basis brackets --csv",
               "wide,2,\"[F,G]\",1/1024,0.0009765625\n");
    must_print("stability" BIG "big,wide --points 11 --csv", "big,");
#undef BIG
}

/* A plot without boundaries says on which side all of it is; with several schemes it counts the stable ones. */
TEST(test_stable)
{
    run_ok("stability --split --scheme strang-marchuk --box=-2,0,-2,0 --points 11 --out still");
    assert_true(file_has("still/split.gp", "strang-marchuk (stable all over)"));
    run_ok("stability --split --scheme euler,rk4 --points 21 --box=-4,0,-4,0 --out sides");
    assert_true(file_has("sides/split.gp", "'split-inside.csv' using 1:2:3 with image"));
    char *text = file_slurp("sides/split-inside.csv", NULL);
    int seen[3] = {0};
    for (int i = 1; i < count_lines(text); i++) {
        double z = atof(cell_of(text, i, "zF")) + atof(cell_of(text, i, "zG"));
        int stable = atoi(cell_of(text, i, "stable"));
        int want = (z >= -2 - 1e-9) + (z >= -2.78529); /* both functions depend on the sum alone */
        if (stable != want) fail_msg("%g: %d stable, not %d", z, stable, want);
        seen[stable]++;
    }
    assert_true(seen[0] && seen[1] && seen[2]);
}

/* The axes through 0 are drawn after the shade, which would hide them, with one scheme and with several. */
TEST(test_zero)
{
    for (int several = 0; several < 2; several++) {
        run_ok("stability --scheme heun%s --points 11 --box=-4,1,-3,3 --out zero",
               several ? ",rk4" : "");
        char *text = file_slurp("zero/stability.gp", NULL), *shade = strstr(text, "with image");
        assert_non_null(shade);
        HAS(shade, "using (-4):(0):(5):(0) with vectors", "using (0):(-3):(0):(6) with vectors");
    }
}

/* SUNDIALS' form of Fehlberg's pair, whose a54 is -845/4104. */
static void write_fehlberg(const char *file, const char *a54)
{
    static const char *const A[] = {"1.0/4.0",       "3.0/32.0",       "9.0/32.0",
                                    "1932.0/2197.0", "-7200.0/2197.0", "7296.0/2197.0",
                                    "439.0/216.0",   "-8.0",           "3680.0/513.0"};
    file_text(
        file,
        WRITTEN(
            f, fputs("ARK_BUTCHER_TABLE(FEHLBERG, {\n B->q = 5;\n B->p = 4;\n", f);
            for (int i = 1, k = 0; i < 5; i++) for (int j = 0; j < i && k < 9; j++)
                fprintf(f, " B->A[%d][%d] = %s;\n", i, j, A[k++]);
            fprintf(f, " B->A[4][3] = %s;\n", a54); fputs(
                " B->A[5][0] = -8.0/27.0;\n B->A[5][1] = 2.0;\n B->A[5][2] = -3544.0/2565.0;\n"
                " B->A[5][3] = 1859.0/4104.0;\n B->A[5][4] = -11.0/40.0;\n B->b[0] = 16.0/135.0;\n"
                " B->b[2] = 6656.0/12825.0;\n B->b[3] = 28561.0/56430.0;\n B->b[4] = -9.0/50.0;\n"
                " B->b[5] = 2.0/55.0;\n B->d[0] = 25.0/216.0;\n B->d[2] = 1408.0/2565.0;\n"
                " B->d[3] = 2197.0/4104.0;\n B->d[4] = -1.0/5.0;\n return B;\n })\n",
                f)));
}

TEST(orders_that_sources_declare)
{
    write_fehlberg("right.def", "-845.0/4104.0");
    write_fehlberg("wrong.def", "-845.0/4140.0");
    run_ok("schemes --check right.def --csv");
    HAS(out, "right.def,1,FEHLBERG,5,5,4,4,", ",agree");
    assert_int_equal(program_run("schemes --check right.def wrong.def --csv"), 1);
    HAS(out, ",agree", "wrong.def,1,FEHLBERG,5,1,", ",more,a54: -169/828 -> -845/4104");
    HAS(err, "1 table(s) declare a higher order than they have");
    assert_int_equal(program_run("schemes --check nothing.txt"), 2);
    HAS(err, "nothing.txt: --check reads sources whose names end with .c");
    assert_int_equal(program_run("schemes --check"), 2);
    assert_int_equal(program_run("schemes --file right.def"), 2);
    run_ok("schemes --scheme-file right.def --csv");
    HAS(out, "fehlberg,6,");
    file_text("none.c", "int main;\n");
    assert_int_equal(program_run("schemes --check none.c"), 2);
    HAS(err, "none.c: no tableau is found in it", "nothing is checked");
    run_ok("schemes --check none.c right.def");
    HAS(err, "none.c: no tableau is found in it");
    assert_int_equal(program_run("schemes --check right.def --scheme rk4"), 2);
    HAS(err, "--check");
    /* ARKODE's header names FILE, and includes nothing that declares it. */
    run_ok("schemes --scheme rk4 --tableau sundials");
    HAS(out, "#include <stdio.h>\n\n#include <arkode/arkode_butcher.h>");
}

TEST_MAIN(program_open, program_close)
