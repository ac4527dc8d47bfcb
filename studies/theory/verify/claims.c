/* claims.c: the registry, one row a claim. */
#include "studies/theory/verify/claims.h"

/* Sources: Lu et al. 2019, arXiv 1906.02762 (Macaron Net); Li et al. 2022, ACL (ODE Transformer);
 * Press, Smith, Levy 2020, ACL (Sandwich Transformer). Equation numbers as printed there. */
#define MACARON "Macaron Net, "
#define ODE "ODE Transformer, "
#define SANDWICH "Sandwich Transformer, "

/* Whose claim it is: its name and source. The verdict: the check and the texts it works on. */
#define PAPER(id, source) id, CLAIM_PAPER, source
#define INFERENCE(id, source) id, CLAIM_INFERENCE, source
#define CODE(id, source) id, CLAIM_CODE, source
#define OWN(id, source) id, CLAIM_OWN, source
#define VERIFIED(check, ...)     \
    CLAIM_VERIFIED, NULL, check, \
    {                            \
        __VA_ARGS__              \
    }
#define REFUTED(check, ...)     \
    CLAIM_REFUTED, NULL, check, \
    {                           \
        __VA_ARGS__             \
    }
#define ONLY_IF(condition, check, ...)   \
    CLAIM_CONDITIONAL, condition, check, \
    {                                    \
        __VA_ARGS__                      \
    }

#define TWO "k1 = H(y)\nk2 = H(y + k1)\n"
#define LM_RESNET "k1 = H(y)\ny' = K*y + (1-K)*y[-1] + "
#define DLCL "k1 = F(y)\nk2 = F(y + 2/3*k1)\nk3 = F(y + 2/3*k1 + 3/4*k2)\ny' = y + "
#define MACARON_LAYER \
    "k1 = G1(y)\nk2 = F(y + 1/2*k1)\nk3 = G2(y + 1/2*k1 + k2)\ny' = y + 1/2*k1 + k2 + "
#define STRANG_H3                                                                          \
    "-1/12 F''(F,G); -1/24 F''(G,G); 1/12 F'F'G; -1/6 F'G'F; -1/24 F'G'G; 1/12 G''(F,F); " \
    "1/24 G''(F,G); 1/12 G'F'F; 1/12 G'F'G; -1/24 G'G'F"
#define WITHOUT_ONE "k1 = L(y)\nk2 = L(y + k1)\ny' = 1/2*y + 1/2*k1 + 1/2*k2"

static const Claim claims[] = {
    /* ---- Macaron Net: the theorem and its proof -------------------------------------------------- */
    {PAPER("lie-error", MACARON "theorems 1 and 2, first half"),
     "Lie-Trotter splitting by exact flows, F then G: exact - numerical = h^2/2 (F'G - G'F) + "
     "O(h^3). This is order 1, local error h^2; the paper counts local orders and says "
     "second-order.",
     VERIFIED(check_expansion, "exact", "lie-trotter", "1/2 F'G; -1/2 G'F", "2", "F+G"),
     {2, "-1/2 F'G; 1/2 G'F", "the sign of the bracket changed"}},
    {PAPER("strang-error", MACARON "theorems 1 and 2, second half"),
     "Strang-Marchuk splitting by exact flows, G/2 F G/2: exact - numerical = O(h^3). This is "
     "order 2; the paper says third-order.",
     VERIFIED(check_expansion, "exact", "strang-marchuk", "", "2", "F+G"),
     {1, "flow 1/3 G\nflow F\nflow 2/3 G", "the halves of G are 1/3 and 2/3"}},
    {INFERENCE("lie-leading", "leading term behind " MACARON "theorem 2"),
     "log(step)/h - (F+G) of Lie-Trotter, F then G, begins with h 1/2 [F,G], [F,G] = G'F - F'G.",
     VERIFIED(check_brackets, "lie-trotter", "2", "1/2 [F,G]"),
     {0, "flow G\nflow F", "G then F"}},
    {OWN("strang-leading", "leading term behind " MACARON "theorem 2 (not given there)"),
     "log(step)/h - (F+G) of Strang-Marchuk begins with h^2 (1/12 [F,[F,G]] - 1/24 [G,[G,F]]), and "
     "[G,[G,F]] = [[F,G],G]: order 2 and no more.",
     VERIFIED(check_brackets, "strang-marchuk", "3", "1/12 [F,[F,G]]; -1/24 [[F,G],G]"),
     {0, "strang-marchuk-fgf", "the operators exchanged"}},
    {OWN("strang-differentials", "leading term behind " MACARON "theorem 2 (not given there)"),
     "The same term of numerical - exact as elementary differentials, through h^3: ten trees.",
     VERIFIED(check_expansion, "strang-marchuk", "exact", STRANG_H3, "3", "F+G"),
     {0, "strang-marchuk-fgf", "the operators exchanged"}},
    {OWN("strang-odd", "symmetry of Strang-Marchuk, " MACARON "section 3.3"),
     "As a symmetric scheme Strang-Marchuk has a local error of odd powers of h only: no h^4 "
     "terms.",
     REFUTED(check_expansion, "strang-marchuk", "exact", STRANG_H3, "4", "F+G"),
     {3, "3", "through h^3; it is log(step) that has odd powers only"}},
    {PAPER("proof-flow", MACARON "appendix A, first display"),
     "The exact flow of F over h is y + h F + h^2/2 F'F + O(h^3).",
     VERIFIED(check_expansion, "flow F", NULL, "1 y; 1 F; 1/2 F'F", "2", "F+G"),
     {2, "1 y; 1 F; 1 F'F", "F'F without its half"}},
    {PAPER("proof-substitution", MACARON "appendix A, second and fourth display"),
     "S_G[S_F] = S_F + h G(S_F) + h^2/2 G'(S_F) G(S_F) + O(h^3), where G'(S_F) G(S_F) = G'G + "
     "O(h).",
     VERIFIED(check_expansion, "lie-trotter", "flow F then k1 = G(y)\ny' = y + k1", "1/2 G'G", "2",
              "F+G"),
     {2, "1/2 G'F", "G'F in place of G'G"}},
    {PAPER("proof-taylor", MACARON "appendix A, third display"),
     "h G(y + h F + O(h^2)) = h G + h^2 G'F + O(h^3).",
     VERIFIED(check_expansion, "k1 = F(y)\nk2 = G(y + k1)\ny' = y + k2", NULL, "1 y; 1 G; 1 G'F",
              "2", "F+G"),
     {2, "1 y; 1 G; 1 F'G", "F'G in place of G'F"}},
    {PAPER("proof-composition", MACARON "appendix A, fifth display"),
     "S_G[S_F] = y + h (F + G) + h^2/2 (G'G + F'F + 2 G'F) + O(h^3).",
     VERIFIED(check_expansion, "lie-trotter", NULL, "1 y; 1 F; 1 G; 1/2 G'G; 1/2 F'F; 1 G'F", "2",
              "F+G"),
     {2, "1 y; 1 F; 1 G; 1/2 G'G; 1/2 F'F; 1 F'G", "2 F'G in place of 2 G'F"}},
    {PAPER("proof-exact", MACARON "appendix A, sixth display"),
     "S_{F+G} = y + h (F + G) + h^2/2 (F' + G')(F + G) + O(h^3).",
     VERIFIED(check_expansion, "exact", NULL, "1 y; 1 F; 1 G; 1/2 F'F; 1/2 F'G; 1/2 G'F; 1/2 G'G",
              "2", "F+G"),
     {2, "1 y; 1 F; 1 G; 1/2 F'F; 1 F'G; 1/2 G'G", "the mixed terms put together"}},
    {PAPER("proof-halves", MACARON "appendix A, rewriting of Strang-Marchuk"),
     "G/2, F, G/2 is G/2, F/2, F/2, G/2: two Lie-Trotter half steps, the first of them G then F.",
     VERIFIED(check_same, "strang-marchuk", "flow 1/2 G\nflow 1/2 F then flow 1/2 F\nflow 1/2 G"),
     {1, "flow 1/2 F\nflow 1/2 G then flow 1/2 F\nflow 1/2 G", "both half steps F then G"}},
    {PAPER("proof-estimate-1", MACARON "appendix A, half-step estimates, first line"),
     "As printed: S_{F+G}^(h/2) - S_G^h[S_F^h] = h^2/8 (F'G - G'F) + O(h^3).",
     ONLY_IF("all flows run over h/2 (a misprint: the sub-flows' superscripts lack the half)",
             check_expansion, "exact:1/2", "lie-trotter", "1/8 F'G; -1/8 G'F", "2", "F+G",
             "exact:1/2", "flow 1/2 F\nflow 1/2 G"),
     {6, "flow 1/2 G\nflow 1/2 F", "under the condition, G before F"}},
    {PAPER("proof-estimate-2", MACARON "appendix A, half-step estimates, second line"),
     "As printed: S_{F+G}^(h/2) - S_F^h[S_G^h] = h^2/8 (G'F - F'G) + O(h^3).",
     ONLY_IF("all flows run over h/2 (the same misprint)", check_expansion, "exact:1/2",
             "flow G\nflow F", "1/8 G'F; -1/8 F'G", "2", "F+G", "exact:1/2",
             "flow 1/2 G\nflow 1/2 F"),
     {6, "flow 1/2 F\nflow 1/2 G", "under the condition, F before G"}},
    {PAPER("proof-combination", MACARON "appendix A, last display"),
     "In the composition of the two half steps their h^2/8 brackets cancel: what is left is "
     "O(h^3).",
     VERIFIED(check_expansion, "flow 1/2 G\nflow 1/2 F then flow 1/2 F\nflow 1/2 G", "exact", "",
              "2", "F+G"),
     {0, "flow 1/2 F\nflow 1/2 G then flow 1/2 F\nflow 1/2 G", "both half steps F then G"}},

    /* ---- Macaron Net: the two layers ------------------------------------------------------------- */
    {PAPER("claim1-table", MACARON "claim 1; (6)-(7), (12)-(13)"),
     "The Transformer layer (attention, then feed-forward, each with its skip) is Lie-Trotter "
     "splitting with Euler sub-steps: an identity of tables.",
     VERIFIED(check_same, "k1 = F(y)\nk2 = G(y + k1)\ny' = y + k1 + k2", "lie-trotter:euler"),
     {0, "k1 = F(y)\nk2 = G(y)\ny' = y + k1 + k2", "the parallel block"}},
    {PAPER("claim1-map", MACARON "claim 1; (6)-(7), (12)-(13)"),
     "The same as an identity of maps of a network: (12)-(13) by hand against the scheme's plan.",
     VERIFIED(check_layer, "lie-trotter:euler", "layer"),
     {0, "euler", "the parallel block"}},
    {INFERENCE("claim1-error", MACARON "section 3.3, theorem 1 applied to claim 1"),
     "The Transformer layer's local error is Lie-Trotter's: numerical - exact = h^2/2 (G'F - F'G) "
     "+ O(h^3).",
     ONLY_IF("each sub-flow is solved to order 2 or better; the layer's Euler steps are not",
             check_expansion, "lie-trotter:euler", "exact", "1/2 G'F; -1/2 F'G", "2", "F+G",
             "lie-trotter:heun", "exact"),
     {5, "lie-trotter:euler", "under the condition, Euler again"}},
    {OWN("transformer-error", "what theorem 1 becomes for " MACARON "(12)-(13)"),
     "The Transformer layer: order 1, numerical - exact = h^2 (1/2 G'F - 1/2 F'G - 1/2 F'F - 1/2 "
     "G'G) + O(h^3).",
     VERIFIED(check_expansion, "transformer", "exact", "1/2 G'F; -1/2 F'G; -1/2 F'F; -1/2 G'G", "2",
              "F+G"),
     {0, "k1 = G(y)\nk2 = F(y + k1)\ny' = y + k1 + k2", "feed-forward before attention"}},
    {PAPER("macaron-table", MACARON "(14)-(16), (17)-(19)"),
     "The Macaron layer is Strang-Marchuk splitting with Euler sub-steps: an identity of tables.",
     VERIFIED(check_same, MACARON_LAYER "1/2*k3", "strang-marchuk:euler"),
     {0, MACARON_LAYER "k3", "the last half step at full weight (a released baseline has it so)"}},
    {PAPER("macaron-map", MACARON "(17)-(19)"),
     "The same as an identity of maps of a network, the two feed-forward sets with weights of "
     "their own.",
     VERIFIED(check_layer, "strang-marchuk:euler", "macaron"),
     {0, MACARON_LAYER "k3", "the last half step at full weight"}},
    {PAPER("macaron-order",
           MACARON "section 3.3, theorem 1 and the scheme that \"reads as\" (14)-(16)"),
     "The Strang-Marchuk scheme as printed there, by Euler sub-steps, has a third-order local "
     "error, which is order 2; the Macaron layer (17)-(19) is this scheme. (The proof in appendix "
     "A takes exact flows, for which it is true: strang-error.)",
     REFUTED(check_order, "macaron", "2", "F+G"),
     {0, "strang-marchuk:heun", "Heun sub-steps"}},
    {OWN("macaron-error", "what theorem 1 becomes for " MACARON "(14)-(19)"),
     "The Macaron layer: order 1, numerical - exact = h^2 (-1/2 F'F - 1/4 G'G) + O(h^3): the "
     "bracket is gone, Euler's own error stays.",
     VERIFIED(check_expansion, "macaron", "exact", "-1/2 F'F; -1/4 G'G", "2", "F+G"),
     {0, "att-ffn-att", "the operators exchanged"}},
    {INFERENCE("macaron-subflows", MACARON "section 3.3, with better sub-flows"),
     "With sub-flows of order 2 or better (or exact) Strang-Marchuk has order 2, no less and no "
     "more.",
     VERIFIED(
         check_order,
         "strang-marchuk:heun|strang-marchuk:midpoint|strang-marchuk:ralston|strang-marchuk:rk4|"
         "strang-marchuk",
         "2", "F+G"),
     {0, "strang-marchuk:heun|strang-marchuk:euler", "one with Euler sub-steps"}},
    {PAPER("macaron-constant", MACARON
           "abstract, \"much lower local truncation errors\"; introduction, \"more accurate\""),
     "By Strang-Marchuk splitting, with its lower local truncation errors, Macaron layers are more "
     "accurate than Transformer layers.",
     ONLY_IF("leading errors of equal order 1 are compared, over many fields together, by norms "
             "(squared principal error norms 5/16 and 1) or medians: on a single field the bracket "
             "G'F - F'G may cancel F'F + G'G in the Transformer layer's error",
             check_norms, "macaron", "5/16", "transformer", "1"),
     {0, "lie-trotter:euler", "the Transformer layer itself"}},
    {PAPER("time-dependence", MACARON "footnote 4"),
     "The theorem carries over to time-dependent fields. (Tried on strang-marchuk:midpoint, each "
     "operator on its own clock: the global error is O(h^2).)",
     VERIFIED(check_global, "strang-marchuk:midpoint", "forced", "2"),
     {0,
      "k1 = G(y)\nk2 = G(y + 1/4*k1)\nk3 = F(y + 1/2*k2)\nk4 = F(y + 1/2*k2 + 1/2*k3)\nk5 = G(y "
      "+ 1/2*k2 + k4 @ 0)\nk6 = G(y + 1/2*k2 + k4 + 1/4*k5 @ 1/4)\ny' = y + 1/2*k2 + k4 + 1/2*k6",
      "the second half of G begins at t again"}},
    {INFERENCE("attention-diffusion", MACARON
               "abstract, sections 3.1 and 3.2, \"diffusion\", which is any interaction there"),
     "Attention, F_i = sum_j p_ij V y_j with p_i = softmax_j <y_i, y_j>, is the diffusion of a "
     "convection-diffusion equation as in physics: a mean of differences, which obeys the maximum "
     "principle.",
     ONLY_IF("V = I and -y_i stands beside it: F_i = sum_j p_ij (y_j - y_i); the "
             "layer has neither",
             check_diffusion, "F1 = softmax dot : 1/2*z1 - z2\nF2 = softmax dot : z1 + 1/3*z2",
             "F = softmax dot : z - y"),
     {1, "F = softmax dot : z", "V = I without -y"}},
    {OWN("order-counting", MACARON "section 3.3 against " ODE "footnote 3"),
     "\"Second-order local truncation error\" means order 2 as the ODE Transformer counts it "
     "(global error h^2): Lie-Trotter by exact flows has global error O(h^2).",
     REFUTED(check_global, "lie-trotter", "forced", "2"),
     {0, "strang-marchuk", "Strang-Marchuk"}},
    {INFERENCE("sets-order",
               MACARON "section 3.3 and section 4.1 (two sets of feed-forward weights)"),
     "With second-order sub-flows a layer of two half steps keeps order 2 when it is trained, its "
     "two half steps having weights of their own.",
     ONLY_IF("both half steps have the same weights; otherwise every one is of "
             "order 1 for its field F + G1/2 + G2/2",
             check_order,
             "apart:strang-marchuk:heun|apart:strang-marchuk:midpoint|apart:strang-marchuk:ralston|"
             "apart:strang-marchuk:rk4|apart:strang-marchuk-fgf:heun",
             "2", "F+G",
             "strang-marchuk:heun|strang-marchuk:midpoint|strang-marchuk:ralston|"
             "strang-marchuk:rk4|strang-marchuk-fgf:heun",
             "F+G"),
     {3, "macaron", "under the condition, Euler sub-steps"}},
    {OWN("sets-error", "what theorem 1 becomes for two feed-forward sets"),
     "strang-marchuk:heun with different sets G and C, each with weight 1/2: numerical - exact = h^2 "
     "(1/4 [F, C - G] + 1/8 [G,C]) + O(h^3).",
     VERIFIED(check_expansion, "apart:strang-marchuk:heun", "exact",
              "1/4 F'G; -1/4 F'C; -1/4 G'F; -1/8 G'C; 1/4 C'F; 1/8 C'G", "2", "F+G"),
     {0, "apart:macaron", "Euler sub-steps"}},
    {OWN("sets-macaron", "what theorem 1 becomes for " MACARON "(17)-(19), two feed-forward sets"),
     "The trained Macaron layer, its feed-forward sets G and C with weight 1/2 each: numerical - exact = "
     "h^2 (1/4 [F, C - G] + 1/8 [G,C] - 1/2 F'F - 1/8 G'G - 1/8 C'C) + O(h^3).",
     VERIFIED(
         check_expansion, "apart:macaron", "exact",
         "-1/2 F'F; 1/4 F'G; -1/4 F'C; -1/4 G'F; -1/8 G'G; -1/8 G'C; 1/4 C'F; 1/8 C'G; -1/8 C'C",
         "2", "F+G"),
     {0, "apart:strang-marchuk:heun", "Heun sub-steps"}},

    /* ---- ODE Transformer: blocks as methods ------------------------------------------------------ */
    {PAPER("euler-block", ODE "(1), (6)"),
     "The residual block is Euler's method, of order 1. (Its error: numerical - exact = -h^2/2 F'F + "
     "O(h^3).)",
     VERIFIED(check_expansion, "euler", "exact", "-1/2 F'F", "2", "F"),
     {0, "heun", "Heun's method"}},
    {PAPER("rk2-parallel", ODE "(12)-(14)"),
     "The RK2 block has order 2 (over H = F + G, both sublayers at the same point).",
     VERIFIED(check_order, "heun", "2", "F+G"),
     {0, TWO "y' = y + 1/3*k1 + 2/3*k2", "weights 1/3 and 2/3"}},
    {PAPER("rk4-parallel", ODE "(15)-(19)"),
     "The RK4 block has order 4 (over H = F + G, both sublayers at the same point).",
     VERIFIED(check_order, "rk4", "4", "F+G"),
     {0,
      "k1 = H(y)\nk2 = H(y + 1/2*k1)\nk3 = H(y + 1/2*k1)\nk4 = H(y + k3)\ny' = y + 1/6*k1 + "
      "1/3*k2 + 1/3*k3 + 1/6*k4",
      "the third stage at y + k1/2"}},
    {PAPER("rk2-layer", ODE "(12)-(14), appendix B: F is the whole layer"),
     "The RK2 block over whole layers L has order 2.",
     ONLY_IF("L, frozen at h = 1, is taken as the field itself; as a method for y' = "
             "F + G the order is 1",
             check_order, "heun-layer", "2", "F+G", "heun-layer", "F"),
     {3, "rk2-unit", "under the condition, both weights 1"}},
    {PAPER("rk4-layer", ODE "(15)-(19), appendix B: F is the whole layer"),
     "The RK4 block over whole layers L has order 4.",
     ONLY_IF("L, frozen at h = 1, is taken as the field itself; as a method for y' = "
             "F + G the order is 1",
             check_order, "rk4-layer", "4", "F+G", "rk4-layer", "F"),
     {3, "heun-layer", "under the condition, the RK2 block"}},
    {OWN("rk-layer-error", "what is left of " ODE "(12)-(19) over whole layers"),
     "Over y' = F + G every Runge-Kutta block of order >= 2 over L has numerical - exact = h^2 G'F "
     "+ O(h^3): L(y) = F(y) + G(y + h F(y)) is the field only up to h G'F.",
     VERIFIED(
         check_expansion,
         "heun-layer|midpoint-layer|ralston-layer|rk3-layer|ssprk3-layer|rk4-layer|rk4-38-layer",
         "exact", "1 G'F", "2", "F+G"),
     {0, "heun-layer|rk4", "one of them over H"}},
    {OWN("rk-norms", "leading terms behind " ODE "(12)-(14), (15)-(19)"),
     "Squared principal error norms over one field: 349/1658880 for RK4 (h^5), 5/144 for RK2 "
     "(h^3).",
     VERIFIED(check_norms, "rk4", "349/1658880", "heun", "5/144"),
     {0, "rk4-38", "Kutta's 3/8 rule in place of RK4"}},
    {PAPER("rk2-map", ODE "(12)-(14)"),
     "The RK2 block as printed, by hand, is the plan of the scheme heun-layer.",
     VERIFIED(check_layer, "heun-layer", "rk2"),
     {0, "ralston-layer", "Ralston's method"}},
    {PAPER("rk4-map", ODE "(15)-(19)"),
     "The RK4 block as printed, by hand, is the plan of the scheme rk4-layer.",
     VERIFIED(check_layer, "rk4-layer", "rk4"),
     {0, "rk4-38-layer", "Kutta's 3/8 rule"}},
    {INFERENCE("rk2-weights", ODE "table 7, \"RK 2nd-order\""),
     "RK2 with gamma_1 = gamma_2 = K (1, or learned from 1) is a Runge-Kutta method of order 2.",
     ONLY_IF(
         "gamma_1 = gamma_2 = 1/2; at 1 it is not even consistent with step h (the paper says as "
         "much: not theoretically grounded)",
         check_family, TWO "y' = y + K*k1 + K*k2", "2", "0 1/4 1/2 3/4 1", "1/2", "F+G"),
     {3, "1", "the condition is gamma = 1"}},
    {INFERENCE("rk2-unit-order", ODE "(23)"),
     "RK2 with weights 1 has order 0: it is not consistent with step h.",
     VERIFIED(check_order, "rk2-unit", "0", "F+G"),
     {0, "heun-layer", "weights 1/2"}},
    {OWN("rk2-unit-time", ODE "(23)"),
     "RK2 with weights 1 advances by 2h instead: against the flow over 2h, numerical - exact = "
     "-h^2 F'F + O(h^3) over one field.",
     VERIFIED(check_expansion, "rk2-unit", "exact:2", "-1 F'F", "2", "F"),
     {1, "exact", "against the flow over h"}},
    {INFERENCE("rk2-unit-table", ODE "(23), appendix D; table 10, lines 1 and 3"),
     "RK2 with weights 1 is two layers with shared weights (repeat:2): an identity of tables. "
     "Table 10 lists both, with different scores.",
     VERIFIED(check_same, "rk2-unit", "repeat:2"),
     {1, "heun-layer", "weights 1/2"}},
    {INFERENCE("rk2-unit-steps", ODE "(23)"),
     "RK2 with weights 1 is two Euler steps of the layer, as a map.",
     VERIFIED(check_same, "rk2-unit", "transformer then transformer"),
     {0, "looped:2", "the looped layer, two steps of h/2"}},
    {INFERENCE("gate-consistent", ODE "(25)-(26)"),
     "The gated RK2 block has order 1 or more for any gate value g.",
     VERIFIED(check_family, TWO "y' = y + K*k1 + (1-K)*k2", "1", "0 1/4 1/2 3/4 1", NULL, "F+G"),
     {0, TWO "y' = y + K*k1 + K*k2", "both weights g"}},
    {INFERENCE("gate-order", ODE "(25)-(26), table 7, \"RK 2nd-order\""),
     "The gated RK2 block has order 2 for any gate value g (K in the evidence), over H.",
     ONLY_IF("g = 1/2, the gate's starting value; otherwise the order is 1", check_family,
             TWO "y' = y + K*k1 + (1-K)*k2", "2", "0 1/4 1/2 3/4 1", "1/2", "F+G"),
     {0, "k1 = H(y)\nk2 = H(y + 2/3*k1)\ny' = y + K*k1 + (1-K)*k2",
      "the second stage at y + 2/3 k1"}},
    {INFERENCE("frozen-time", ODE "(2) and (11)"),
     "With the parameters of a whole block, as (11) has them, RK4 keeps its order 4 for (2), y' = "
     "F(y, theta(t)).",
     ONLY_IF(
         "theta does not change within a block; where it does, a block frozen at its beginning "
         "is of order 1, whatever its stages",
         check_global,
         "k1 = H(y @ 0)\nk2 = H(y + 1/2*k1 @ 0)\nk3 = H(y + 1/2*k2 @ 0)\nk4 = H(y + k3 @ 0)\ny' = y + "
         "1/6*k1 + 1/3*k2 + 1/3*k3 + 1/6*k4",
         "forced", "4", "rk4", "attention"),
     {0, "rk4", "each stage at its own time"}},
    {INFERENCE("perplexity-error", ODE "section 5, \"quantization of the truncation error\""),
     "The perplexity between a single layer's output and the ground truth can be regarded as its "
     "truncation error (so far the paper): so it falls with the step as that error does.",
     REFUTED(check_perplexity, "transformer", "loss"),
     {1, "flow", "the distance from the layer's exact flow in place of the perplexity"}},

    /* ---- ODE Transformer: gradients -------------------------------------------------------------- */
    {PAPER("gradient-29", ODE "(29)"),
     "One RK2 block: dy_{k+1}/dy_k = 1/2 (1 + (1 + F'(z)) (1 + F'(y))), z = y + F(y).",
     VERIFIED(check_gradient, "heun-layer", "half zy", "1"),
     {0, "rk2-unit", "weights 1"}},
    {PAPER("gradient-21", ODE "(21)-(22)"),
     "A chain of RK2 blocks: dE/dy_t = dE/dy_L 1/2^(L-t) prod (1 + g_k), g_k = (1 + F'(y_k)) (1 + "
     "F'(z_k)).",
     ONLY_IF("the factors of g_k stand as in (29), F'(z) to the left, and the "
             "blocks from the top down, or matrices commute",
             check_gradient, "heun-layer", "half yz", "3", "half zy"),
     {3, "unit zy", "under the condition, without the halves"}},
    {PAPER("gradient-24", ODE "(24), (32)"),
     "A chain of RK2 blocks with weights 1: dE/dy_t = dE/dy_L prod g_k, g_k as in (22).",
     ONLY_IF("the factors of g_k stand as in (29), F'(z) to the left, and the blocks from the top "
             "down as in (32), or matrices commute",
             check_gradient, "rk2-unit", "unit yz", "3", "unit zy"),
     {3, "half zy", "under the condition, with the halves"}},
    {INFERENCE("gradient-vanishes", ODE "section 3.2, after (22)"),
     "The gradient of a chain of RK2 blocks is proportional to 1/2^(L-t), so it vanishes with "
     "depth by 1/2 a block.",
     REFUTED(check_vanish, "heun-layer", "1/2", WITHOUT_ONE),
     {0, WITHOUT_ONE, "the skip weighted 1/2, so that g stands without its 1"}},

    /* ---- ODE Transformer: other blocks of table 7 ------------------------------------------------- */
    {OWN("leapfrog-error", ODE "table 7, leapfrog"),
     "Leapfrog is a method of order 2: numerical - exact = -1/3 h^3 y''' + O(h^4), y''' = F''(F,F) "
     "+ F'F'F.",
     VERIFIED(check_expansion, "leapfrog", "exact", "-1/3 F''(F,F); -1/3 F'F'F", "3", "F"),
     {0, "k1 = H(y)\ny' = y[-1] + 3/2*k1 + 1/2*k1[-1]", "a quarter of the slope from the past"}},
    {INFERENCE("multistep-order", ODE "table 7, multistep"),
     "y' = k y + (1 - k) y[-1] + F(y) (LM-ResNet; K = k) is a consistent multistep method.",
     ONLY_IF("k = 1, which is Euler", check_family, LM_RESNET "k1", "1", "-1/2 0 1/2 1 3/2", "1",
             "F"),
     {3, "0", "the condition is k = 0"}},
    {OWN("multistep-time", ODE "table 7, multistep"),
     "LM-ResNet moves 1/(2-k) of a step: with (2-k) F in place of F it is consistent for every k.",
     VERIFIED(check_family, LM_RESNET "(2-K)*k1", "1", "-1/2 0 1/2 1 3/2", NULL, "F"),
     {0, LM_RESNET "(1+K)*k1", "(1+k) F"}},
    {OWN("dlcl-telescopes", ODE "table 7, DLCL"),
     "y_{n+1} = y_0 + sum_{l<=n} W_l F(y_l), as printed with one W a layer, telescopes to y_{n+1} "
     "= y_n + W_n F(y_n): no multistep method, Euler with step W_n h. (Three layers, the weights 2/3, "
     "3/4 and 4/7.)",
     VERIFIED(check_same, DLCL "2/3*k1 + 3/4*k2 + 4/7*k3",
              "k1 = F(y)\ny' = y + 2/3*k1 then k1 = F(y)\ny' = y + 3/4*k1 then "
              "k1 = F(y)\ny' = y + 4/7*k1"),
     {0, DLCL "1/2*k1 + 3/5*k2 + 4/7*k3",
      "a weight for each pair of layers, as DLCL itself has them (Wang et al. 2019)"}},
    {INFERENCE("dlcl-order", ODE "table 7, DLCL, \"Multistep Euler\""),
     "DLCL, as printed, is consistent with step h for any weight W (K in the evidence).",
     ONLY_IF("W = 1, which is Euler", check_family, "k1 = H(y)\ny' = y + K*k1", "1", "1/2 1 3/2",
             "1", "F"),
     {3, "1/2", "the condition is W = 1/2"}},
    {OWN("polynet-order", ODE "table 7, PolyNet"),
     "PolyNet, y + F(y) + F(F(y)), has order 0: F(F(y)) is evaluated at a slope, not near y.",
     VERIFIED(check_order, "polynet", "0", "F+G"),
     {0, "heun-layer", "the RK2 block"}},
    {PAPER("polynet-backward", ODE "table 7, PolyNet, \"Backward Euler\""),
     "PolyNet, y + F(y) + F(F(y)), is Backward Euler.",
     ONLY_IF("F is linear without bias, and up to O(h^3): the first three terms of the "
             "Neumann series of (1 - h F)^-1 y",
             check_backward, "k1 = H(y)\nk2 = H(k1)\ny' = y + k1 + k2", "1 1 1", "3"),
     {0, "k1 = H(y)\nk2 = H(k1)\ny' = y + k1 + 1/2*k2", "F of F at half weight"}},
    {CODE("released-rk2", ODE "released code against (12)-(14)"),
     "The released code's RK2 block, whose k_i is the whole layer output, is (12)-(14).",
     ONLY_IF("the field is y + L(y), not L(y): with L = 0 the state grows by 5/2 = "
             "1 + 1 + 1/2 a block",
             check_released, "rk2-released", "5/2", "rk2", "heun"),
     {1, "2", "the state multiplied by 2"}},
    {CODE("released-rk4", ODE "released code against (15)-(19)"),
     "The released code's RK4 block, whose k_i is the whole layer output, is (15)-(19).",
     ONLY_IF(
         "the field is y + L(y), not L(y): with L = 0 the state grows by 65/24, e cut after 1/4!",
         check_released, "rk4-released", "65/24", "rk4", "rk4"),
     {1, "8/3", "the state multiplied by 8/3"}},
    {CODE("released-rk3", ODE "released code, RK3"),
     "The released RK3, y - k2 + 2 k2 in its third stage (the skip counted once here), has order "
     "3.",
     REFUTED(check_order,
             "k1 = H(y)\nk2 = H(y + 1/2*k1)\nk3 = H(y + k2)\ny' = y + 1/6*k1 + 2/3*k2 + 1/6*k3",
             "3", "F+G"),
     {0, "rk3", "y - k1 + 2 k2, as Kutta has it"}},

    /* ---- Sandwich Transformer: words -------------------------------------------------------------- */
    {OWN("sandwich-area", SANDWICH "section 4, read as a splitting"),
     "The word s^k (sf)^(n-k) f^k has signed area (n + k (2n - k - 1))/2, the coefficient of "
     "[F,G]: n/2 when interleaved, more with every k.",
     VERIFIED(check_sandwich, "1", "16"),
     {0, "0", "k (2n - k) in place of k (2n - k - 1)"}},
    {OWN("sandwich-error", SANDWICH "section 4, read as a splitting"),
     "With shared weights and exact flows, s sf sf f (n = 3, k = 1) has order 1 for 3F + 3G, "
     "numerical - exact = 7/2 h^2 (G'F - F'G) + O(h^3); interleaved it would be 3/2.",
     VERIFIED(check_expansion, "sandwich:3-1", "exact", "7/2 G'F; -7/2 F'G", "2", "F+G"),
     {0, "word:sfsfsf", "interleaved"}},
    {OWN("palindrome-order", "words of " SANDWICH "section 2"),
     "Palindromic words have area 0: with shared weights and exact flows their order is 2, no less and no "
     "more.",
     VERIFIED(check_order,
              "word:sfs|word:fsf|word:sffs|word:fssf|word:sfsfs|word:fsssf|word:sffffs", "2",
              "F+G"),
     {0, "word:sffs|word:sfsf", "a word followed by itself"}},
    {OWN("strang-symmetry", "symmetry of Strang-Marchuk, " MACARON "section 3.3"),
     "By symmetry log(step)/h of Strang-Marchuk has no brackets of 2 or of 4 letters.",
     VERIFIED(check_brackets, "strang-marchuk", "4", "1/12 [F,[F,G]]; -1/24 [[F,G],G]"),
     {0, "flow 1/3 G\nflow F\nflow 2/3 G", "the halves of G are 1/3 and 2/3"}},

    /* ---- decoder layers: y' = F + C + G, C being cross-attention to a constant memory ------------------- */
    {OWN("decoder-leading", "the decoder layer (" SANDWICH "section 5.3), read as a splitting"),
     "log(step)/h - (F+C+G) of self-attention, cross-attention, feed-forward, by exact flows, begins "
     "with h/2 ([F,C] + [F,G] + [C,G]).",
     VERIFIED(check_brackets, "lie-trotter-decoder", "2", "1/2 [F,C]; 1/2 [F,G]; 1/2 [C,G]"),
     {0, "flow C\nflow F\nflow G", "cross-attention before self-attention"}},
    {INFERENCE(
         "macaron-decoder-flows", MACARON
         "section 4.1, note 3: the decoder layer (FFN, self-attention, encoder-decoder-attention, FFN)"),
     "With exact flows the Macaron decoder layer has the order of its encoder layer, Strang-Marchuk's 2 "
     "(local error h^3).",
     REFUTED(check_order, "strang-marchuk-decoder", "2", "F+C+G"),
     {0, "strang-decoder", "cross-attention between two halves of self-attention"}},
    {OWN("macaron-decoder-leading",
         "leading term of the decoder layer of " MACARON "section 4.1, note 3"),
     "log(step)/h - (F+C+G) of it begins with h/2 [F,C]: the two attentions stand one after another, and "
     "only the halves of G are symmetric.",
     VERIFIED(check_brackets, "strang-marchuk-decoder", "2", "1/2 [F,C]"),
     {2, "-1/2 [F,C]", "the sign of the bracket changed"}},
    {OWN("macaron-decoder-error",
         "leading error of the decoder layer of " MACARON "section 4.1, note 3"),
     "By Euler sub-steps, as the network has it, numerical - exact = h^2 (1/2 (C'F - F'C) - 1/2 F'F - 1/2 "
     "C'C - 1/4 G'G) + O(h^3).",
     VERIFIED(check_expansion, "macaron-decoder", "exact",
              "1/2 C'F; -1/2 F'C; -1/2 F'F; -1/2 C'C; -1/4 G'G", "2", "F+C+G"),
     {0, "att-ffn-att-decoder", "the halves are of attention"}},
    {OWN("strang-decoder-order",
         "what the decoder layer of " MACARON "section 4.1, note 3, would have to be"),
     "Half G, half F, C, half F, half G has order 2 by exact flows and by sub-flows of order 2, no less and "
     "no more.",
     VERIFIED(check_order, "strang-decoder|strang-decoder:heun|strang-decoder:rk4", "2", "F+C+G"),
     {0, "strang-decoder:euler", "Euler sub-steps"}},
    {PAPER("sandwich-decoder-word", SANDWICH "section 5.3"),
     "With self- and cross-attention as one unit, the three layer decoder with k = 1 is scscfscfff.",
     REFUTED(check_decoder_word, "scscfscfff", "3", "1"),
     {0, "scscfscff", "three f, as there are layers"}},
    {OWN("sandwich-decoder-area", SANDWICH "section 5.3, read as a splitting"),
     "The word (sc)^k (scf)^(n-k) f^k has signed area n/2 in the plane of F and C, and (n + k (2n - k - "
     "1))/2 in that of F and G and that of C and G.",
     VERIFIED(check_sandwich, "1", "16", "decoder"),
     {0, "0", "k (2n - k) in place of k (2n - k - 1)"}},

    /* ---- compositions of Euler's method -------------------------------------------------------------- */
    {OWN("euler-words", "a theorem of this project on " SANDWICH
                        "words as they are trained, and on looped layers"),
     "No composition of real explicit Euler sub-steps has order 2, over H or over F and G one at a "
     "time, words of sublayers among them: the error has h^2 F'F with -1/2 sum a^2 over the steps a "
     "of F, and sum a = 1, sum_{i<j} a_i a_j = 1/2 would force sum a^2 = 0.",
     VERIFIED(
         check_euler, "-1/2",
         "word:sf:euler|word:sffs:euler|word:fssf:euler|sandwich:3-1:euler|looped:3|"
         "k1 = H(y)\nk2 = H(y + 3/2*k1)\ny' = y + 3/2*k1 - 1/2*k2|"
         "k1 = H(y)\nk2 = H(y - 1/4*k1)\nk3 = H(y - 1/4*k1 + k2)\ny' = y - 1/4*k1 + k2 + 1/4*k3|"
         "k1 = F(y)\nk2 = G(y - 1/2*k1)\nk3 = F(y - 1/2*k1 + k2)\ny' = y - 1/2*k1 + k2 + 3/2*k3|"
         "k1 = G(y)\nk2 = F(y + 5/4*k1)\nk3 = G(y + 5/4*k1 + 3/4*k2)\n"
         "k4 = F(y + 5/4*k1 + 3/4*k2 - 1/4*k3)\ny' = y + 5/4*k1 + 3/4*k2 - 1/4*k3 + 1/4*k4"),
     {0, "-1/4", "half of that coefficient"}},
    {OWN("euler-words-area", SANDWICH "section 2, words of signed area 0"),
     "A word of signed area 0 has order 2 as it is trained, a sublayer being an Euler sub-step.",
     REFUTED(check_order, "word:sffs:euler|word:fssf:euler", "2", "F+G"),
     {0, "word:sffs:heun|word:fssf:heun", "Heun sub-steps"}},
    {OWN("dial-order", "the family dial:3,THETA of this project"),
     "k_i = H(y + K (k_1 + .. + k_(i-1))), y' = y + 1/3 (k1 + k2 + k3) has order 2.",
     ONLY_IF(
         "K = 1/2, which is SSPRK(3,2); otherwise the order is 1", check_family,
         "k1 = H(y)\nk2 = H(y + K*k1)\nk3 = H(y + K*k1 + K*k2)\ny' = y + 1/3*k1 + 1/3*k2 + 1/3*k3",
         "2", "0 1/4 1/3 1/2 2/3 1", "1/2", "F+G"),
     {3, "1/3", "the condition is K = 1/3, three Euler steps of a third"}},
    {OWN("fgfg-order", "the scheme fgfg2 of this project, beside looped:2"),
     "Two F and two G in turn can have order 2, if they are no composition of Euler sub-steps.",
     VERIFIED(check_order, "fgfg2", "2", "F+G"),
     {0, "looped:2", "two Lie-Trotter steps of a half"}},
};
enum { CLAIMS = sizeof claims / sizeof *claims };

const char *claim_origin(int origin)
{
    static const char *const word[CLAIM_ORIGINS] = {"paper", "inference", "code", "own", "yours"};
    return word[origin];
}

const Claim *claim_at(size_t i)
{
    return i < CLAIMS ? &claims[i] : NULL;
}
