/* command_truncation.c: measures the true truncation error of a trained network. */
#include <stdio.h>

#include "studies/solve/convergence.h"
#include "studies/theory/region.h"
#include "studies/base/command.h"
#include "studies/model/truncation/truncation_study.h"

/* Schemes without --scheme, after the model's own. */
#define USUAL "euler,transformer,macaron,strang-marchuk,heun,heun-layer,rk4,rk4-layer,ab2"

/* ---- input ------------------------------------------------------------------------------------------ */

static int read_sentences(const Options *o, TruncationInput *in)
{
    size_t tokens = options_size(o, "tokens");
    const ModelConfig *c = model_config(in->network.model);
    const char *source = options_text(o, "source-text");
    if (tokens == 0 && options_flag(o, "jacobian")) tokens = 10;
    if (tokens == 0 || tokens > c->max_length) tokens = c->max_length;
    if (tokens < 2) return error_set(ERR_INPUT, "the model reads one token at a time");
    in->network.vocab.lines = 1;
    TRY(texts_read(&in->network, options_text(o, "text"), &in->text));
    if (source) TRY(texts_source(&in->network, source, &in->source));
    return sentences_draw(&in->network.vocab, &in->text, source ? &in->source : NULL,
                          options_size(o, "sentences"), tokens, options_size(o, "seed"),
                          &in->drawn);
}

/* Chooses the side whose layers are studied, and the scheme that each side was trained with. */
static int choose_side(const Options *o, TruncationInput *in)
{
    const Network *n = &in->network;
    int side = options_text(o, "side") && options_choice(o, "side") ? SIDE_SOURCE : SIDE_TARGET;
    const char *given = options_text(o, "side")          ? "side"
                        : options_text(o, "source-text") ? "source-text"
                                                         : NULL;
    in->trained = side == SIDE_SOURCE ? n->encoder : n->table;
    if (!n->encoder && given)
        return error_set(ERR_INPUT, "--%s: the model is a language model, which has no encoder",
                         given);
    if (n->encoder && !options_text(o, "source-text"))
        return error_set(
            ERR_INPUT,
            "--source-text is needed: the model has an encoder, which reads the sources of "
            "the text's lines");
    if (n->encoder && options_size(o, "refine"))
        return error_set(ERR_INPUT, "--refine is of language models; this one has an encoder");
    in->options.side = side;
    if (n->encoder) in->options.other = side == SIDE_SOURCE ? n->table : n->encoder;
    return 0;
}

/* Warns of a scheme of a file that has the name of the model's own and another text. */
static int warn_other(const TruncationInput *in)
{
    SCOPED(memory_drop) char *own = NULL;
    TRY(network_scheme_text((Stacks){in->trained, NULL}, &own));
    for (size_t i = 0; i < in->schemes.count; i++) {
        const Table *t = in->schemes.scheme[i];
        SCOPED(memory_drop) char *text = NULL;
        if (strcmp(t->name, in->trained->name) != 0) continue;
        TRY(network_scheme_text((Stacks){t, NULL}, &text));
        if (!network_scheme_same(own, text))
            notice_warn("%s is the scheme of --scheme-file, and not that with which the model was "
                        "trained: another text with its name",
                        t->name);
    }
    return 0;
}

static int open_input(const Options *o, TruncationInput *in)
{
    const char *dir = options_text(o, "model");
    *in = (TruncationInput){.dir = options_text(o, "out")};
    if (!dir || !options_text(o, "text"))
        return error_set(ERR_INPUT, "--%s is needed", dir ? "text" : "model");
    in->options = (TruncationOptions){.carried = 1,
                                      .halvings = (int)options_size(o, "halvings"),
                                      .tolerance = options_real(o, "tolerance")};
    if (options_text(o, "field")) in->fields[options_choice(o, "field")] = 1;
    TRY(trained_load(dir, 0, options_size(o, "threads"), &in->network));
    TRY(choose_side(o, in));
    TRY(select_beside(o, "euler", in->trained, USUAL, &in->schemes));
    TRY(warn_other(in));
    return read_sentences(o, in);
}

static void close_input(TruncationInput *in)
{
    network_free(&in->network);
    select_close(&in->schemes);
    text_free(&in->text);
    text_free(&in->source);
    sentences_free(&in->drawn);
}

/* ---- output ----------------------------------------------------------------------------------------- */

static void print_words(const TruncationStudy *u)
{
    const Network *n = &u->in->network;
    double agreement = 0;
    for (size_t i = 0; i < u->count * u->layers * u->in->drawn.of.count; i++)
        agreement = u->cell[i].agreement > agreement ? u->cell[i].agreement : agreement;
    printf(
        "The %s was trained as %s and has %zu layer%s; it reads %zu sentence%s. Weights are\n"
        "frozen in depth-time. error is at h = 1, the network's own step: the RMS of step - exact flow, divided\n"
        "by the flow's displacement in that step, as median over sentences; low and high are its quartiles.\n"
        "slope is the power of h in the RMS itself, order + 1 from h = `from h` down; where that is empty,\n"
        "none of these steps is seen to follow it. leading is the part of the error that theory predicts;\n"
        "rest is what remains. time is that of the exact flow against which a step of 1 is measured. field\n"
        "is what the flow solves: split is y' = F(y) + G(y), attention and feed-forward network (and in a\n"
        "decoder C(y)); layer is y' = L(y), L all that a layer adds to y, for schemes whose stages are whole\n"
        "layers (NAME-layer, repeat:N). sets: own where the scheme has the same sets of weights as the model\n"
        "and reads each by itself; mean where it reads the mean of a layer's sets, or the only one. The\n"
        "flow's two integrators differ by %.1g, the sublayers put together and a forward pass by %.1g.\n\n",
        !n->encoder                          ? "model"
        : u->in->options.side == SIDE_SOURCE ? "encoder"
                                             : "decoder",
        u->in->trained->name, u->layers, u->layers == 1 ? "" : "s", u->in->drawn.of.count,
        u->in->drawn.of.count == 1 ? "" : "s", agreement, u->check);
}

/* Prints whether the order describes the steps that the network takes, and of how many rows this is known. */
static void print_regime(const TruncationStudy *u)
{
    size_t rows = sheet_rows(u->summary);
    int whole = u->told == rows;
    if (u->told == 0)
        printf(
            "\nNo step of h = 1 has a known leading term, so it is unknown whether the order governs it.\n");
    else if (u->governed == u->told)
        printf(
            "\nAt h = 1, the network's own step, the error is within %.0f %% of its leading term in "
            "%zu of %zu row%s:\nthe order governs%s.\n",
            100 * TRUNCATION_GOVERNED, u->told, rows, rows == 1 ? "" : "s", whole ? "" : " there");
    else
        printf(
            "\nh = 1, the network's own step, is not in the asymptotic regime: in %zu of %zu rows the "
            "error is within %.0f %% of\nits leading term (governs); in the others the order does not "
            "govern.\n",
            u->governed, u->told, 100 * TRUNCATION_GOVERNED);
    if (u->told && !whole)
        printf("%zu of %zu rows have no known leading term: of these it is unknown.\n",
               rows - u->told, rows);
    if (u->lost)
        printf(
            "%zu of %zu rows have no error: what their scheme carries is not found on the exact flow "
            "at h = 1.\n",
            u->lost, rows);
    if (u->holds)
        printf(
            "`v off` compares what the model carries into a layer with what is carried on the exact flow, by the "
            "layer's updates as they\nwere trained, `v' off` does so behind the layer's step, and `error from v` is the "
            "error of a step that begins on that\nflow, of y and so of all that is carried. It is found where at most "
            "%.0f %% is left of how it began %d to %d steps back; `v` says\nwhy it is not: a layer that v enters as 0 has "
            "learned no coefficient of v.\n",
            100 * TRUNCATION_REMEMBERED, TRUNCATION_BACK, TRUNCATION_BACK_MOST);
    if (u->kinks)
        printf(
            "In %zu of %zu rows the kinks of ReLU end the slope: to see the order, train a model "
            "with --activation gelu.\n",
            u->kinks, rows);
}

static int show(const Options *o, TruncationStudy *u)
{
    int csv = options_flag(o, "csv");
    if (!csv) print_words(u);
    const Sheet *table = csv && !options_flag(o, "summary") ? u->points : u->summary;
    TRY(sheet_write(table, csv ? SHEET_CSV : SHEET_PLAIN, stdout));
    if (!csv) print_regime(u);
    if (u->in->dir) TRY(truncation_save(u, u->in->dir));
    if (u->disagree)
        return error_set(ERR_CHECK,
                         "in %zu of the rows the error without its predicted leading terms does "
                         "not fall by one power of h faster",
                         u->disagree);
    return 0;
}

static int study(const Options *o, TruncationInput *in)
{
    SCOPED(truncation_free) TruncationStudy u = {0};
    TRY(truncation_run(in, &u));
    TRY(truncation_tables(&u));
    return show(o, &u);
}

static int run(Options *o)
{
    SCOPED(close_input) TruncationInput in = {0};
    size_t refine = options_size(o, "refine");
    int csv = options_flag(o, "csv");
    TRY(options_needs(o));
    TRY(open_input(o, &in));
    if (refine) return refine_study(&in, refine, options_size(o, "refine-tokens"), csv, in.dir);
    if (options_flag(o, "jacobian")) return jacobian_study(&in, csv, in.dir);
    return study(o, &in);
}

const Command command_truncation = {
    .name = "truncation",
    .purpose = "measure the true truncation error of a trained network's layers",
    .about =
        "A layer of a trained model is a vector field, so the command can compute the exact flow that the\n"
        "layer's step stands for. On real sentences it compares each scheme's step from the state that\n"
        "enters a layer with that flow, solved by two independent integrators, at h = 1 (the network's own\n"
        "step), 1/2, 1/4, ...\n"
        "\n"
        "`slope` is that of the error's RMS, order + 1 where steps are small enough. Relative errors, in\n"
        "tables and plots, are over the flow's displacement in the same step, so their slope is the order.\n"
        "`asymptotic_h` (`from h`) is the h from which down steps are small enough (1: the network's own is).\n"
        "`time` is that of the exact flow which a step of 1 is measured against; a scheme that goes another\n"
        "distance has its own: `repeat:N` N steps and `lm-resnet` 1/(2-k) of one.\n"
        "\n"
        "`leading` is the part of the error at h = 1 that theory predicts, from elementary differentials of\n"
        "the trained field; `remainder` is the rest, whose slope must be one more. `governs` shows whether\n"
        "the error at h = 1 is within " TRUNCATION_PERCENT
        " of `leading`; where it is not, h = 1 is not in the asymptotic\n"
        "regime and the order does not govern. With ReLU, which is what train takes by default, the field has\n"
        "kinks, and slopes above 2.5 are not seen (verdict kinks): train with --activation gelu instead.\n"
        "\n"
        "The field is F + G; for a decoder's layer it is F + C + G with the encoder's output at rest. F is\n"
        "the layer's attention sets, weighted as its own scheme weighs them, and G its feed-forward sets. A\n"
        "scheme with the same sets reads each by itself (sets: own), and any other reads the mean (sets:\n"
        "mean). Multistep schemes have their history on the exact forward flow. What a scheme carries beside\n"
        "y is at the beginning of a step what it is on that flow, or what the text says. Its steps move it\n"
        "there without an error of its own, so the error of y is that of all that is carried; rows are\n"
        "empty where h is too large to find it. What the model itself carries into a layer is compared with that\n"
        "of the exact flow (`v off`), as is what it carries out of it (`v' off`), by the layer's updates as they\n"
        "were trained; where that is not found the column v says why. Learned scalars and gates\n"
        "of a scheme stand at their starting values; those of the model's own scheme are as trained at\n"
        "h = 1, the network's own step, with its own history.\n"
        "\n"
        "--jacobian works at the states that enter the layers. lipschitz_F, _G, _C are the largest singular\n"
        "values of F', G', C' by power iteration, so the Lipschitz constants at that point. The eigenvalues\n"
        "are all of the frozen Jacobian's (attention is causal: those of its diagonal blocks; an encoder's\n"
        "is not). The amplification is that of the test equation with equal parts of an eigenvalue for F, G\n"
        "and C, or over L all of it. flow_growth is that of the exact flow; unstable is the share of\n"
        "eigenvalues on the left that the step lets grow.\n"
        "\n"
        "--refine takes that many steps in each layer, with the layer's weights; learned scalars and gates\n"
        "stand at their starting values.\n"
        "\n"
        "A model of another program needs a safetensors file with the names and shapes of nn/format.md and the\n"
        "metadata scheme, scheme_text, layers, width, inner, heads, positions, activation, and vocab.txt\n"
        "beside it.\n",
    .often =
        "model text scheme scheme-file sentences tokens halvings side jacobian refine summary csv out",
    .example = "--model out/m --text kjv:valid --sentences 4 --tokens 16",
    .faster = "lower --sentences, --tokens, --halvings",
    .groups = GROUPS(
        OPTION_GROUP(
            "Study", 1,
            {"model", OPTION_TEXT, NULL, "DIR", NETWORK_DIR ", or our .safetensors file itself"},
            {"text", OPTION_TEXT, NULL, "FILE", "text that sentences are drawn from" NETWORK_TEXTS},
            {"source-text", OPTION_TEXT, NULL, "FILE",
             "for a model with an encoder: the sources of the text's lines, line by line"},
            {"side", OPTION_CHOICE, NULL, "decoder|encoder",
             "for a model with an encoder: whose layers are studied (default: the decoder's)"},
            {"scheme", OPTION_TEXT, NULL, "A,B,...",
             "names separated by commas, or all; a splitting without suffix is NAME:euler; you may name "
             "the model's own scheme too (default: the model's own, then " USUAL ")"},
            SELECT_FILE,
            {"field", OPTION_CHOICE, NULL, "split|layer",
             "split: y' = F + G; layer: y' = L(y), L all that a layer adds to y, frozen at h = 1 (default: split, "
             "and also layer for schemes whose stages are whole layers, as those of NAME-layer)"},
            {"sentences", OPTION_SIZE, "16", "N", "sentences, drawn by the seed", 1, 100000},
            {"tokens", OPTION_SIZE, NULL, "N",
             "tokens of a sentence at most, <eos> first (default: as many as the model was trained on, "
             "its --sequence; 10 for --jacobian)",
             2, 65536},
            {"halvings", OPTION_SIZE, "6", "N", "take h = 1 .. 2^-N", 4, TRUNCATION_POINTS - 1},
            {"tolerance", OPTION_REAL, "0", "X",
             "relative tolerance of the exact flow; 0: 1e-13, or 1e-8 where the field has kinks", 0,
             1e-3},
            {"seed", OPTION_SIZE, "1", "N", "seed that sentences are drawn from", 0, 1e18},
            {"threads", OPTION_SIZE, "1", "N", "threads of the kernels; 0: one per core", 0, 1024}),
        OPTION_GROUP(
            "Other studies of the field", 1,
            {"jacobian", OPTION_FLAG, NULL, NULL,
             "instead find Lipschitz estimates, eigenvalues and the step's stability, on one sentence"},
            {"refine", OPTION_SIZE, "0", "N",
             "instead measure perplexity with n = 1, 2, 4, .. N steps of size 1/n per layer, without retraining",
             0, 1024},
            {"refine-tokens", OPTION_SIZE, "2000", "N", "tokens of the text for --refine", 1,
             1e12}),
        OPTION_GROUP(
            "Output", 0,
            {"csv", OPTION_FLAG, NULL, NULL,
             "print every error as CSV; with --summary the verdicts"},
            {"summary", OPTION_FLAG, NULL, NULL, "with --csv: one row per scheme, layer and field"},
            {"out", OPTION_TEXT, NULL, "DIR",
             "write truncation.csv, summary.csv, .md, .tex, terms.csv and plots"},
            PLOT_FIGURE)),
    .kinds = KINDS(
        {.command = "truncation",
         .title = "Truncation error of a trained network",
         .about =
             "Compares a scheme's step through a trained layer with the layer's exact flow, on "
             "real sentences, at h = 1 (the network's own step), 1/2, …. The error is the RMS "
             "over tokens and coordinates, median over sentences. Its slope in h is order + 1 "
             "for small h; a relative error is over the flow's displacement in the same step. " KIND_ORDERS,
         .judge = orders_judge,
         .table =
             {{"summary", truncation_verdicts,
               "Errors at h = 1 with their quartiles, slopes, and the part that theory predicts.",
               KIND_MANY},
              {"terms", truncation_terms, "Parts of the leading terms.", KIND_SOME},
              {"truncation", truncation_points, "Errors", 0},
              {"curves", truncation_curves, "Errors against h, as drawn", 0},
              {"layers", truncation_layers, "Errors by layer, as drawn", 0}},
         .plot =
             {{"truncation",
               "Truncation error of a step of h over the exact flow's displacement in it, against h, "
               "which is 1 in the network. Order p has slope p here, p + 1 in the table, whose slopes "
               "are of the error alone."},
              {"layers",
               "Truncation error at h = 1 over the exact flow's displacement in that step, by layer."}}},

        {.command = "truncation --jacobian",
         .title = "Stability of a trained network",
         .about =
             "Shows eigenvalues of the trained layers' Jacobians, and what a scheme's step does to them.",
         .table = {{"jacobian", jacobian_schemes, "Amplification and Lipschitz estimates.",
                    KIND_MANY},
                   {"eigenvalues", jacobian_eigenvalues, "Eigenvalues", 0},
                   {"regions", region_lines, "Boundaries |R| = 1", 0}},
         .plot = {{"jacobian", "Eigenvalues of the Jacobians, and where |R| = 1."}}},

        {.command = "truncation --refine",
         .title = "Smaller steps through trained weights",
         .about = "Shows perplexity when a trained network's layers take smaller steps, without "
                  "retraining.",
         .table = {{"refine", refine_steps, "Perplexity against steps a layer.", KIND_MANY}},
         .plot = {{"refine", "Perplexity against steps a layer."}}}),
    .run = run,
};
