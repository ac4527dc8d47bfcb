/* claims.c: the registry: every claim as a row, and the running of one. */
#include "studies/claims.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"

/* Sources: Lu et al. 2019, arXiv 1906.02762 (Macaron Net); Li et al. 2022, ACL (ODE Transformer);
 * Press, Smith, Levy 2020, ACL (Sandwich Transformer). Equation numbers as printed there. */
#define MACARON "Macaron Net, "
#define ODE "ODE Transformer, "
#define SANDWICH "Sandwich Transformer, "

#define VERIFIED(check) CLAIM_VERIFIED, NULL, check
#define REFUTED(check) CLAIM_REFUTED, NULL, check
#define ONLY_IF(check, condition) CLAIM_CONDITIONAL, condition, check

#define TWO "k1 = H(y)\nk2 = H(y + k1)\n"
#define LM_RESNET "k1 = H(y)\ny' = K*y + (1-K)*y[-1] + "
#define MACARON_LAYER \
    "k1 = G1(y)\nk2 = F(y + 1/2*k1)\nk3 = G2(y + 1/2*k1 + k2)\ny' = y + 1/2*k1 + k2 + "
#define STRANG_H3                                                                          \
    "-1/12 F''(F,G); -1/24 F''(G,G); 1/12 F'F'G; -1/6 F'G'F; -1/24 F'G'G; 1/12 G''(F,F); " \
    "1/24 G''(F,G); 1/12 G'F'F; 1/12 G'F'G; -1/24 G'G'F"
#define WITHOUT_ONE "k1 = L(y)\nk2 = L(y + k1)\ny' = 1/2*y + 1/2*k1 + 1/2*k2"

static const Claim claims[] = {
    /* ---- Macaron Net: the theorem and its proof -------------------------------------------------- */
    {"lie-error",
     MACARON "theorems 1 and 2, first half",
     "Lie-Trotter splitting by exact flows, F then G: exact - numerical = h^2/2 (F'G - G'F) + "
     "O(h^3). This is order 1, local error h^2; the paper counts local orders and says "
     "second-order.",
     VERIFIED(check_expansion),
     {"exact", "lie-trotter", "1/2 F'G; -1/2 G'F", "2", "F+G"},
     {2, "-1/2 F'G; 1/2 G'F", "the sign of the bracket changed"}},
    {"strang-error",
     MACARON "theorems 1 and 2, second half",
     "Strang-Marchuk splitting by exact flows, G/2 F G/2: exact - numerical = O(h^3). This is "
     "order 2; the paper says third-order.",
     VERIFIED(check_expansion),
     {"exact", "strang-marchuk", "", "2", "F+G"},
     {1, "flow 1/3 G\nflow F\nflow 2/3 G", "the halves of G are 1/3 and 2/3"}},
    {"lie-leading",
     "leading term behind " MACARON "theorem 2",
     "log(step)/h - (F+G) of Lie-Trotter, F then G, begins with h 1/2 [F,G], [F,G] = G'F - F'G.",
     VERIFIED(check_brackets),
     {"lie-trotter", "2", "1/2 [F,G]"},
     {0, "flow G\nflow F", "G then F"}},
    {"strang-leading",
     "leading term behind " MACARON "theorem 2 (not given there)",
     "log(step)/h - (F+G) of Strang-Marchuk begins with h^2 (1/12 [F,[F,G]] - 1/24 [G,[G,F]]), "
     "and [G,[G,F]] = [[F,G],G]: order 2 and no more.",
     VERIFIED(check_brackets),
     {"strang-marchuk", "3", "1/12 [F,[F,G]]; -1/24 [[F,G],G]"},
     {0, "strang-marchuk-fgf", "the operators exchanged"}},
    {"strang-differentials",
     "leading term behind " MACARON "theorem 2 (not given there)",
     "The same term of numerical - exact as elementary differentials, through h^3: ten trees.",
     VERIFIED(check_expansion),
     {"strang-marchuk", "exact", STRANG_H3, "3", "F+G"},
     {0, "strang-marchuk-fgf", "the operators exchanged"}},
    {"strang-odd",
     "symmetry of Strang-Marchuk, " MACARON "section 3.3",
     "As a symmetric scheme Strang-Marchuk has a local error of odd powers of h only: no h^4 "
     "terms.",
     REFUTED(check_expansion),
     {"strang-marchuk", "exact", STRANG_H3, "4", "F+G"},
     {3, "3", "through h^3; it is log(step) that has odd powers only"}},
    {"proof-flow",
     MACARON "appendix A, first display",
     "The exact flow of F over h is y + h F + h^2/2 F'F + O(h^3).",
     VERIFIED(check_expansion),
     {"flow F", NULL, "1 y; 1 F; 1/2 F'F", "2", "F+G"},
     {2, "1 y; 1 F; 1 F'F", "F'F without its half"}},
    {"proof-substitution",
     MACARON "appendix A, second and fourth display",
     "S_G[S_F] = S_F + h G(S_F) + h^2/2 G'(S_F) G(S_F) + O(h^3), where G'(S_F) G(S_F) = G'G + "
     "O(h).",
     VERIFIED(check_expansion),
     {"lie-trotter", "flow F then k1 = G(y)\ny' = y + k1", "1/2 G'G", "2", "F+G"},
     {2, "1/2 G'F", "G'F in place of G'G"}},
    {"proof-taylor",
     MACARON "appendix A, third display",
     "h G(y + h F + O(h^2)) = h G + h^2 G'F + O(h^3).",
     VERIFIED(check_expansion),
     {"k1 = F(y)\nk2 = G(y + k1)\ny' = y + k2", NULL, "1 y; 1 G; 1 G'F", "2", "F+G"},
     {2, "1 y; 1 G; 1 F'G", "F'G in place of G'F"}},
    {"proof-composition",
     MACARON "appendix A, fifth display",
     "S_G[S_F] = y + h (F + G) + h^2/2 (G'G + F'F + 2 G'F) + O(h^3).",
     VERIFIED(check_expansion),
     {"lie-trotter", NULL, "1 y; 1 F; 1 G; 1/2 G'G; 1/2 F'F; 1 G'F", "2", "F+G"},
     {2, "1 y; 1 F; 1 G; 1/2 G'G; 1/2 F'F; 1 F'G", "2 F'G in place of 2 G'F"}},
    {"proof-exact",
     MACARON "appendix A, sixth display",
     "S_{F+G} = y + h (F + G) + h^2/2 (F' + G')(F + G) + O(h^3).",
     VERIFIED(check_expansion),
     {"exact", NULL, "1 y; 1 F; 1 G; 1/2 F'F; 1/2 F'G; 1/2 G'F; 1/2 G'G", "2", "F+G"},
     {2, "1 y; 1 F; 1 G; 1/2 F'F; 1 F'G; 1/2 G'G", "the mixed terms put together"}},
    {"proof-halves",
     MACARON "appendix A, rewriting of Strang-Marchuk",
     "G/2, F, G/2 is G/2, F/2, F/2, G/2: two Lie-Trotter half steps, the first of them G then F.",
     VERIFIED(check_same),
     {"strang-marchuk", "flow 1/2 G\nflow 1/2 F then flow 1/2 F\nflow 1/2 G"},
     {1, "flow 1/2 F\nflow 1/2 G then flow 1/2 F\nflow 1/2 G", "both half steps F then G"}},
    {"proof-estimate-1",
     MACARON "appendix A, half-step estimates, first line",
     "As printed: S_{F+G}^(h/2) - S_G^h[S_F^h] = h^2/8 (F'G - G'F) + O(h^3).",
     ONLY_IF(check_expansion,
             "all flows run over h/2 (a misprint: the sub-flows' superscripts lack the half)"),
     {"exact:1/2", "lie-trotter", "1/8 F'G; -1/8 G'F", "2", "F+G", "exact:1/2",
      "flow 1/2 F\nflow 1/2 G"},
     {6, "flow 1/2 G\nflow 1/2 F", "under the condition, G before F"}},
    {"proof-estimate-2",
     MACARON "appendix A, half-step estimates, second line",
     "As printed: S_{F+G}^(h/2) - S_F^h[S_G^h] = h^2/8 (G'F - F'G) + O(h^3).",
     ONLY_IF(check_expansion, "all flows run over h/2 (the same misprint)"),
     {"exact:1/2", "flow G\nflow F", "1/8 G'F; -1/8 F'G", "2", "F+G", "exact:1/2",
      "flow 1/2 G\nflow 1/2 F"},
     {6, "flow 1/2 F\nflow 1/2 G", "under the condition, F before G"}},
    {"proof-combination",
     MACARON "appendix A, last display",
     "In the composition of the two half steps their h^2/8 brackets cancel: what is left is "
     "O(h^3).",
     VERIFIED(check_expansion),
     {"flow 1/2 G\nflow 1/2 F then flow 1/2 F\nflow 1/2 G", "exact", "", "2", "F+G"},
     {0, "flow 1/2 F\nflow 1/2 G then flow 1/2 F\nflow 1/2 G", "both half steps F then G"}},

    /* ---- Macaron Net: the two layers ------------------------------------------------------------- */
    {"claim1-table",
     MACARON "claim 1; (6)-(7), (12)-(13)",
     "The Transformer layer (attention, then feed-forward, each with its skip) is Lie-Trotter "
     "splitting with Euler sub-steps: an identity of tables.",
     VERIFIED(check_same),
     {"k1 = F(y)\nk2 = G(y + k1)\ny' = y + k1 + k2", "lie-trotter:euler"},
     {0, "k1 = F(y)\nk2 = G(y)\ny' = y + k1 + k2", "the parallel block"}},
    {"claim1-map",
     MACARON "claim 1; (6)-(7), (12)-(13)",
     "The same as an identity of maps of a network: (12)-(13) by hand against the scheme's plan.",
     VERIFIED(check_layer),
     {"lie-trotter:euler", "layer"},
     {0, "euler", "the parallel block"}},
    {"claim1-error",
     MACARON "section 3.3, theorem 1 applied to claim 1",
     "The Transformer layer's local error is Lie-Trotter's: numerical - exact = h^2/2 (G'F - "
     "F'G) + O(h^3).",
     ONLY_IF(check_expansion,
             "each sub-flow is solved to order 2 or better; the layer's Euler steps are not"),
     {"lie-trotter:euler", "exact", "1/2 G'F; -1/2 F'G", "2", "F+G", "lie-trotter:heun", "exact"},
     {5, "lie-trotter:euler", "under the condition, Euler again"}},
    {"transformer-error",
     "what theorem 1 becomes for " MACARON "(12)-(13)",
     "The Transformer layer: order 1, numerical - exact = h^2 (1/2 G'F - 1/2 F'G - 1/2 F'F - 1/2 "
     "G'G) + O(h^3).",
     VERIFIED(check_expansion),
     {"transformer", "exact", "1/2 G'F; -1/2 F'G; -1/2 F'F; -1/2 G'G", "2", "F+G"},
     {0, "k1 = G(y)\nk2 = F(y + k1)\ny' = y + k1 + k2", "feed-forward before attention"}},
    {"macaron-table",
     MACARON "(14)-(16), (17)-(19)",
     "The Macaron layer is Strang-Marchuk splitting with Euler sub-steps: an identity of tables.",
     VERIFIED(check_same),
     {MACARON_LAYER "1/2*k3", "strang-marchuk:euler"},
     {0, MACARON_LAYER "k3", "the last half step at full weight (a released baseline has it so)"}},
    {"macaron-map",
     MACARON "(17)-(19)",
     "The same as an identity of maps of a network, the two feed-forward sets with weights of "
     "their own.",
     VERIFIED(check_layer),
     {"strang-marchuk:euler", "macaron"},
     {0, MACARON_LAYER "k3", "the last half step at full weight"}},
    {"macaron-times",
     MACARON "(14)-(16)",
     "The scheme asks G at t, F at t, G at t + h/2: each operator keeps a clock of its own.",
     VERIFIED(check_times),
     {"strang-marchuk:euler", "G@0 F@0 G@1/2"},
     {1, "G@0 F@1/2 G@1/2", "F asked at t + h/2"}},
    {"macaron-order",
     MACARON "section 3.3, theorem 1 applied to (14)-(19)",
     "The Macaron layer has Strang-Marchuk's order, 2 (local error h^3).",
     REFUTED(check_order),
     {"macaron", "2", "F+G"},
     {0, "strang-marchuk:heun", "Heun sub-steps"}},
    {"macaron-error",
     "what theorem 1 becomes for " MACARON "(14)-(19)",
     "The Macaron layer: order 1, numerical - exact = h^2 (-1/2 F'F - 1/4 G'G) + O(h^3): the "
     "bracket is gone, Euler's own error stays.",
     VERIFIED(check_expansion),
     {"macaron", "exact", "-1/2 F'F; -1/4 G'G", "2", "F+G"},
     {0, "att-ffn-att", "the operators exchanged"}},
    {"macaron-subflows",
     MACARON "section 3.3, with better sub-flows",
     "With sub-flows of order 2 or better (or exact) Strang-Marchuk has order 2, no less and no "
     "more.",
     VERIFIED(check_order),
     {"strang-marchuk:heun|strang-marchuk:midpoint|strang-marchuk:ralston|strang-marchuk:rk4|"
      "strang-marchuk",
      "2", "F+G"},
     {0, "strang-marchuk:heun|strang-marchuk:euler", "one with Euler sub-steps"}},
    {"macaron-constant",
     MACARON "abstract, \"much lower local truncation errors\"",
     "At equal order 1 the Macaron layer's leading error is the smaller: squared principal error "
     "norms 5/16 and 1. A gain in the constant, not in the order.",
     VERIFIED(check_norms),
     {"macaron", "5/16", "transformer", "1"},
     {0, "lie-trotter:euler", "the Transformer layer itself"}},
    {"time-dependence",
     MACARON "footnote 4",
     "The theorem carries over to time-dependent fields: with each operator on its own clock "
     "strang-marchuk:midpoint has global error O(h^2).",
     VERIFIED(check_global),
     {"strang-marchuk:midpoint", "forced", "2"},
     {0,
      "k1 = G(y)\nk2 = G(y + 1/4*k1)\nk3 = F(y + 1/2*k2)\nk4 = F(y + 1/2*k2 + 1/2*k3)\nk5 = G(y "
      "+ 1/2*k2 + k4 @ 0)\nk6 = G(y + 1/2*k2 + k4 + 1/4*k5 @ 1/4)\ny' = y + 1/2*k2 + k4 + 1/2*k6",
      "the second half of G begins at t again"}},
    {"order-counting",
     MACARON "section 3.3 against " ODE "footnote 3",
     "\"Second-order local truncation error\" means order 2 as the ODE Transformer counts it "
     "(global error h^2): Lie-Trotter by exact flows has global error O(h^2).",
     REFUTED(check_global),
     {"lie-trotter", "forced", "2"},
     {0, "strang-marchuk", "Strang-Marchuk"}},
    {"sets-order",
     MACARON "section 3.3 and section 4.1 (two sets of feed-forward weights)",
     "With second-order sub-flows a layer of two half steps keeps order 2 when it is trained, "
     "its two half steps having weights of their own.",
     ONLY_IF(check_set_order, "both half steps have the same weights; otherwise every one is of "
                              "order 1 for its field F + G1/2 + G2/2"),
     {"strang-marchuk:heun|strang-marchuk:midpoint|strang-marchuk:ralston|strang-marchuk:rk4|"
      "strang-marchuk-fgf:heun",
      "2"},
     {0, "macaron", "Euler sub-steps"}},
    {"sets-error",
     "what theorem 1 becomes for two feed-forward sets",
     "strang-marchuk:heun with different sets: numerical - exact = h^2 (1/4 [F, G2 - G1] + 1/8 "
     "[G1,G2]) + O(h^3).",
     VERIFIED(check_sets),
     {"strang-marchuk:heun", "1/4 F'G1; -1/4 F'G2; -1/4 G1'F; -1/8 G1'G2; 1/4 G2'F; 1/8 G2'G1"},
     {0, "macaron", "Euler sub-steps"}},
    {"sets-macaron",
     "what theorem 1 becomes for " MACARON "(17)-(19), two feed-forward sets",
     "The trained Macaron layer: numerical - exact = h^2 (1/4 [F, G2 - G1] + 1/8 [G1,G2] - 1/2 "
     "F'F - 1/8 G1'G1 - 1/8 G2'G2) + O(h^3).",
     VERIFIED(check_sets),
     {"macaron",
      "-1/2 F'F; 1/4 F'G1; -1/4 F'G2; -1/4 G1'F; -1/8 G1'G1; -1/8 G1'G2; 1/4 G2'F; 1/8 G2'G1; "
      "-1/8 G2'G2"},
     {0, "strang-marchuk:heun", "Heun sub-steps"}},

    /* ---- ODE Transformer: blocks as methods ------------------------------------------------------ */
    {"euler-block",
     ODE "(1), (6)",
     "The residual block is Euler's method: order 1, numerical - exact = -h^2/2 F'F + O(h^3).",
     VERIFIED(check_expansion),
     {"euler", "exact", "-1/2 F'F", "2", "F"},
     {0, "heun", "Heun's method"}},
    {"rk2-parallel",
     ODE "(12)-(14)",
     "The RK2 block has order 2 over H = F + G, both sublayers at the same point.",
     VERIFIED(check_order),
     {"heun", "2", "F+G"},
     {0, TWO "y' = y + 1/3*k1 + 2/3*k2", "weights 1/3 and 2/3"}},
    {"rk4-parallel",
     ODE "(15)-(19)",
     "The RK4 block has order 4 over H = F + G, both sublayers at the same point.",
     VERIFIED(check_order),
     {"rk4", "4", "F+G"},
     {0,
      "k1 = H(y)\nk2 = H(y + 1/2*k1)\nk3 = H(y + 1/2*k1)\nk4 = H(y + k3)\ny' = y + 1/6*k1 + "
      "1/3*k2 + 1/3*k3 + 1/6*k4",
      "the third stage at y + k1/2"}},
    {"rk2-layer",
     ODE "(12)-(14), appendix B: F is the whole layer",
     "The RK2 block over whole layers L has order 2.",
     ONLY_IF(check_order, "L, frozen at h = 1, is taken as the field itself; as a method for y' "
                          "= F + G the order is 1"),
     {"heun-layer", "2", "F+G", "heun-layer", "F"},
     {3, "rk2-unit", "under the condition, both weights 1"}},
    {"rk4-layer",
     ODE "(15)-(19), appendix B: F is the whole layer",
     "The RK4 block over whole layers L has order 4.",
     ONLY_IF(check_order, "L, frozen at h = 1, is taken as the field itself; as a method for y' "
                          "= F + G the order is 1"),
     {"rk4-layer", "4", "F+G", "rk4-layer", "F"},
     {3, "heun-layer", "under the condition, the RK2 block"}},
    {"rk-layer-error",
     "what is left of " ODE "(12)-(19) over whole layers",
     "Over y' = F + G every Runge-Kutta block of order >= 2 over L has numerical - exact = h^2 "
     "G'F + O(h^3): L(y) = F(y) + G(y + h F(y)) is the field only up to h G'F.",
     VERIFIED(check_expansion),
     {"heun-layer|midpoint-layer|ralston-layer|rk3-layer|ssprk3-layer|rk4-layer|rk4-38-layer",
      "exact", "1 G'F", "2", "F+G"},
     {0, "heun-layer|rk4", "one of them over H"}},
    {"rk2-map",
     ODE "(12)-(14)",
     "The RK2 block as printed, by hand, is the plan of the scheme heun-layer.",
     VERIFIED(check_layer),
     {"heun-layer", "rk2"},
     {0, "ralston-layer", "Ralston's method"}},
    {"rk4-map",
     ODE "(15)-(19)",
     "The RK4 block as printed, by hand, is the plan of the scheme rk4-layer.",
     VERIFIED(check_layer),
     {"rk4-layer", "rk4"},
     {0, "rk4-38-layer", "Kutta's 3/8 rule"}},
    {"rk2-weights",
     ODE "table 7, \"RK 2nd-order\"",
     "RK2 with gamma_1 = gamma_2 = K (1, or learned from 1) is a Runge-Kutta method of order 2.",
     ONLY_IF(
         check_family,
         "gamma_1 = gamma_2 = 1/2; at 1 it is not even consistent with step h (the paper says as "
         "much: not theoretically grounded)"),
     {TWO "y' = y + K*k1 + K*k2", "2", "0 1/4 1/2 3/4 1", "1/2", "F+G"},
     {3, "1", "the condition is gamma = 1"}},
    {"rk2-unit-order",
     ODE "(23)",
     "RK2 with weights 1 has order 0: it is not consistent with step h.",
     VERIFIED(check_order),
     {"rk2-unit", "0", "F+G"},
     {0, "heun-layer", "weights 1/2"}},
    {"rk2-unit-time",
     ODE "(23)",
     "RK2 with weights 1 advances by 2h instead: against the flow over 2h, numerical - exact = "
     "-h^2 F'F + O(h^3) over one field.",
     VERIFIED(check_expansion),
     {"rk2-unit", "exact:2", "-1 F'F", "2", "F"},
     {1, "exact", "against the flow over h"}},
    {"rk2-unit-table",
     ODE "(23), appendix D; table 10, lines 1 and 3",
     "RK2 with weights 1 is two layers with shared weights (repeat:2): an identity of tables. "
     "Table 10 lists both, with different scores.",
     VERIFIED(check_same),
     {"rk2-unit", "repeat:2"},
     {1, "heun-layer", "weights 1/2"}},
    {"rk2-unit-steps",
     ODE "(23)",
     "RK2 with weights 1 is two Euler steps of the layer, as a map.",
     VERIFIED(check_same),
     {"rk2-unit", "transformer then transformer"},
     {0, "looped:2", "the looped layer, two steps of h/2"}},
    {"rk2-unit-map",
     ODE "(23)",
     "The same in a network: the plan of rk2-unit is the layer (12)-(13) of the Macaron paper, "
     "twice.",
     VERIFIED(check_layer),
     {"rk2-unit", "layer-twice"},
     {0, "heun-layer", "weights 1/2"}},
    {"gate-consistent",
     ODE "(25)-(26)",
     "The gated RK2 block has order 1 or more for any gate value g.",
     VERIFIED(check_family),
     {TWO "y' = y + K*k1 + (1-K)*k2", "1", "0 1/4 1/2 3/4 1", NULL, "F+G"},
     {0, TWO "y' = y + K*k1 + K*k2", "both weights g"}},
    {"gate-order",
     ODE "(25)-(26), table 7, \"RK 2nd-order\"",
     "The gated RK2 block has order 2 for any gate value g (K in the evidence), over H.",
     ONLY_IF(check_family, "g = 1/2, the gate's starting value; otherwise the order is 1"),
     {TWO "y' = y + K*k1 + (1-K)*k2", "2", "0 1/4 1/2 3/4 1", "1/2", "F+G"},
     {0, "k1 = H(y)\nk2 = H(y + 2/3*k1)\ny' = y + K*k1 + (1-K)*k2",
      "the second stage at y + 2/3 k1"}},
    {"gate-bias",
     "a note on " ODE "(26)",
     "A gate that reads its slopes tends to sigmoid(b) as h -> 0: with bias b = 0 the block "
     "keeps order 2 whatever its weights.",
     VERIFIED(check_gate_bias),
     {"0", "2"},
     {0, "0.5", "bias 1/2"}},

    /* ---- ODE Transformer: gradients -------------------------------------------------------------- */
    {"gradient-29",
     ODE "(29)",
     "One RK2 block: dy_{k+1}/dy_k = 1/2 (1 + (1 + F'(z)) (1 + F'(y))), z = y + F(y).",
     VERIFIED(check_gradient),
     {"heun-layer", "half zy", "1"},
     {0, "rk2-unit", "weights 1"}},
    {"gradient-21",
     ODE "(21)-(22)",
     "A chain of RK2 blocks: dE/dy_t = dE/dy_L 1/2^(L-t) prod (1 + g_k), g_k = (1 + F'(y_k)) (1 "
     "+ F'(z_k)).",
     ONLY_IF(check_gradient, "the factors of g_k stand as in (29), F'(z) to the left, and the "
                             "blocks from the top down, or matrices commute"),
     {"heun-layer", "half yz", "3", "half zy"},
     {3, "unit zy", "under the condition, without the halves"}},
    {"gradient-24",
     ODE "(24), (32)",
     "A chain of RK2 blocks with weights 1: dE/dy_t = dE/dy_L prod g_k, g_k as in (22).",
     ONLY_IF(check_gradient,
             "the factors of g_k stand as in (29), F'(z) to the left, and the blocks from the top "
             "down as in (32), or matrices commute"),
     {"rk2-unit", "unit yz", "3", "unit zy"},
     {3, "half zy", "under the condition, with the halves"}},
    {"gradient-vanishes",
     ODE "section 3.2, after (22)",
     "The gradient of a chain of RK2 blocks is proportional to 1/2^(L-t), so it vanishes with "
     "depth by 1/2 a block.",
     REFUTED(check_vanish),
     {"heun-layer", "1/2", WITHOUT_ONE},
     {0, WITHOUT_ONE, "the skip weighted 1/2, so that g stands without its 1"}},

    /* ---- ODE Transformer: other blocks of table 7 ------------------------------------------------- */
    {"leapfrog-error",
     ODE "table 7, leapfrog",
     "Leapfrog is a method of order 2: numerical - exact = -1/3 h^3 y''' + O(h^4), y''' = "
     "F''(F,F) + F'F'F.",
     VERIFIED(check_expansion),
     {"leapfrog", "exact", "-1/3 F''(F,F); -1/3 F'F'F", "3", "F"},
     {0, "k1 = H(y)\ny' = y[-1] + 3/2*k1 + 1/2*k1[-1]", "a quarter of the slope from the past"}},
    {"leapfrog-stability",
     ODE "table 7, leapfrog",
     "Leapfrog is weakly stable: roots 1 and -1; its stability interval is empty on the negative "
     "real axis and [-i, i] on the imaginary one.",
     VERIFIED(check_limits),
     {"leapfrog", "0", "1", "2"},
     {0, "ab2", "Adams-Bashforth 2"}},
    {"multistep-order",
     ODE "table 7, multistep",
     "y' = k y + (1 - k) y[-1] + F(y) (LM-ResNet; K = k) is a consistent multistep method.",
     ONLY_IF(check_family, "k = 1, which is Euler"),
     {LM_RESNET "k1", "1", "-1/2 0 1/2 1 3/2", "1", "F"},
     {3, "0", "the condition is k = 0"}},
    {"multistep-time",
     ODE "table 7, multistep",
     "LM-ResNet moves 1/(2-k) of a step: with (2-k) F in place of F it is consistent for every k.",
     VERIFIED(check_family),
     {LM_RESNET "(2-K)*k1", "1", "-1/2 0 1/2 1 3/2", NULL, "F"},
     {0, LM_RESNET "(1+K)*k1", "(1+k) F"}},
    {"multistep-stability",
     ODE "table 7, multistep",
     "LM-ResNet is zero-stable for 0 <= k < 2 and for no other k (roots 1 and k-1).",
     VERIFIED(check_stability),
     {LM_RESNET "k1", "0 1/4 1/2 1 3/2 7/4", "-1/4 2 9/4"},
     {1, "-1/4 0 1/2", "k = -1/4 counted as stable"}},
    {"dlcl-telescopes",
     ODE "table 7, DLCL",
     "y_{n+1} = y_0 + sum_{l<=n} W_l F(y_l), as printed with one W a layer, telescopes to "
     "y_{n+1} = y_n + W_n F(y_n): no multistep method, Euler with step W_n h.",
     VERIFIED(check_dense),
     {"layer"},
     {0, "pair", "a weight for each pair of layers, as DLCL itself has them (Wang et al. 2019)"}},
    {"dlcl-order",
     ODE "table 7, DLCL, \"Multistep Euler\"",
     "DLCL, as printed, is consistent with step h for any weight W (K in the evidence).",
     ONLY_IF(check_family, "W = 1, which is Euler"),
     {"k1 = H(y)\ny' = y + K*k1", "1", "1/2 1 3/2", "1", "F"},
     {3, "1/2", "the condition is W = 1/2"}},
    {"polynet-order",
     ODE "table 7, PolyNet",
     "PolyNet, y + F(y) + F(F(y)), has order 0: F(F(y)) is evaluated at a slope, not near y.",
     VERIFIED(check_order),
     {"polynet", "0", "F+G"},
     {0, "heun-layer", "the RK2 block"}},
    {"polynet-backward",
     ODE "table 7, PolyNet, \"Backward Euler\"",
     "PolyNet is Backward Euler, (1 - h F)^-1 y, up to O(h^3).",
     ONLY_IF(check_backward,
             "F is linear without bias: the first three terms of the Neumann series"),
     {"k1 = H(y)\nk2 = H(k1)\ny' = y + k1 + k2", "1 1 1", "3"},
     {0, "k1 = H(y)\nk2 = H(k1)\ny' = y + k1 + 1/2*k2", "F of F at half weight"}},
    {"released-rk2",
     ODE "released code against (12)-(14)",
     "The released code's RK2 block, whose k_i is the whole layer output, is (12)-(14).",
     ONLY_IF(check_released, "the field is y + L(y), not L(y): with L = 0 the state grows by 5/2 "
                             "= 1 + 1 + 1/2 a block"),
     {"rk2-released", "5/2", "rk2", "heun"},
     {1, "2", "the state multiplied by 2"}},
    {"released-rk4",
     ODE "released code against (15)-(19)",
     "The released code's RK4 block, whose k_i is the whole layer output, is (15)-(19).",
     ONLY_IF(
         check_released,
         "the field is y + L(y), not L(y): with L = 0 the state grows by 65/24, e cut after 1/4!"),
     {"rk4-released", "65/24", "rk4", "rk4"},
     {1, "8/3", "the state multiplied by 8/3"}},
    {"released-rk3",
     ODE "released code, RK3",
     "The released RK3, y - k2 + 2 k2 in its third stage (the skip counted once here), has order "
     "3.",
     REFUTED(check_order),
     {"k1 = H(y)\nk2 = H(y + 1/2*k1)\nk3 = H(y + k2)\ny' = y + 1/6*k1 + 2/3*k2 + 1/6*k3", "3",
      "F+G"},
     {0, "rk3", "y - k1 + 2 k2, as Kutta has it"}},

    /* ---- Sandwich Transformer: words -------------------------------------------------------------- */
    {"sandwich-area",
     SANDWICH "section 4, read as a splitting",
     "The word s^k (sf)^(n-k) f^k has signed area (n + k (2n - k - 1))/2, the coefficient of "
     "[F,G]: n/2 when interleaved, more with every k.",
     VERIFIED(check_sandwich),
     {"1", "16"},
     {0, "0", "k (2n - k) in place of k (2n - k - 1)"}},
    {"sandwich-extreme",
     SANDWICH "section 4",
     "k = n - 1, the maximal value, gives s^n f^n, and with it the largest area of all orders, "
     "n^2/2.",
     VERIFIED(check_extreme),
     {"6", "1"},
     {1, "2", "k = n - 2"}},
    {"sandwich-error",
     SANDWICH "section 4, read as a splitting",
     "With shared weights and exact flows, s sf sf f (n = 3, k = 1) has order 1 for 3F + 3G, "
     "numerical - exact = 7/2 h^2 (G'F - F'G) + O(h^3); interleaved it would be 3/2.",
     VERIFIED(check_expansion),
     {"sandwich:3-1", "exact", "7/2 G'F; -7/2 F'G", "2", "F+G"},
     {0, "word:sfsfsf", "interleaved"}},
    {"palindrome-area",
     "words of " SANDWICH "section 2",
     "Palindromic words have area 0, so that with shared weights and exact flows their order is 2.",
     VERIFIED(check_palindromes),
     {"mirror", "6"},
     {0, "repeat", "a word followed by itself"}},
    {"palindrome-only",
     "words of " SANDWICH "section 2",
     "Only palindromic words have area 0.",
     REFUTED(check_converse),
     {"7"},
     {0, "6", "up to 6 letters"}},
    {"strang-symmetry",
     "symmetry of Strang-Marchuk, " MACARON "section 3.3",
     "By symmetry log(step)/h of Strang-Marchuk has no brackets of even degree.",
     VERIFIED(check_symmetry),
     {"strang-marchuk", "8"},
     {0, "lie-trotter", "Lie-Trotter"}},
};
enum { CLAIMS = sizeof claims / sizeof *claims };

const Claim *claim_at(size_t i)
{
    return i < CLAIMS ? &claims[i] : NULL;
}

/* ---- running ------------------------------------------------------------------------------------------ */

int claim_run(const Claim *c, const Zoo *z, int mutant, Finding *out)
{
    const char *arg[CLAIM_ARGS];
    memcpy(arg, c->arg, sizeof arg);
    if (mutant) arg[c->mutant.arg] = c->mutant.text;
    *out = (Finding){.sound = 1};
    out->words = open_memstream(&out->text, &out->bytes);
    if (!out->words) return error_set(ERR_MEMORY, "out of memory");
    int code = c->check(z, arg, out);
    if (fclose(out->words) != 0 && code == 0) code = error_set(ERR_MEMORY, "out of memory");
    out->words = NULL;
    if (code != 0) finding_free(out);
    return code;
}

int finding_verdict(const Finding *f)
{
    if (!f->sound) return CLAIM_UNDECIDED;
    if (f->holds) return CLAIM_VERIFIED;
    return f->conditional ? CLAIM_CONDITIONAL : CLAIM_REFUTED;
}

void finding_free(Finding *f)
{
    free(f->text);
    memory_free(f->derived);
    *f = (Finding){0};
}

void claim_verdict(const Claim *c, int verdict, char *out, size_t bytes)
{
    static const char *const word[] = {"verified", "refuted", "holds only if ", "undecided"};
    int condition = verdict == CLAIM_CONDITIONAL && c->condition;
    snprintf(out, bytes, "%s%s", word[verdict], condition ? c->condition : "");
}

void finding_say(Finding *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(f->words, format, args);
    va_end(args);
}

/* Statements on one line. */
static void one_line(const char *s, char *out, size_t bytes)
{
    size_t n = 0;
    for (; *s && n + 3 < bytes; s++) {
        if (*s == '\n') out[n++] = ';';
        out[n++] = *s == '\n' ? ' ' : *s;
    }
    out[n] = '\0';
}

int finding_derive_text(Finding *f, const char *map, const char *term, const char *coefficient)
{
    Derived *grown = memory_grow(f->derived, f->count, f->count + 1, sizeof *grown);
    if (!grown) return ERR_MEMORY;
    f->derived = grown;
    Derived *d = &grown[f->count++];
    one_line(map, d->map, sizeof d->map);
    snprintf(d->term, sizeof d->term, "%s", term);
    snprintf(d->coefficient, sizeof d->coefficient, "%s", coefficient);
    return 0;
}

int finding_derive(Finding *f, const char *map, const char *term, const mpq_t c)
{
    char text[48];
    gmp_snprintf(text, sizeof text, "%Qd", c);
    return finding_derive_text(f, map, term, text);
}
