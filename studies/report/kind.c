/* kind.c: the kinds of studies, and what their columns hold. */
#include "studies/report/kind.h"

#include <string.h>

#include "studies/report/judge.h"

enum { SOME = 24, MANY = 60, ALL = 400 };

/* The papers' figures: the same table in both, but for what a design is called. */
#define PUBLISHED(design)                                                                        \
    {                                                                                            \
        "published", "source,row," design,                                                       \
            "The source papers' figures beside these, in brackets 95 % intervals over seeds.",   \
            "source,row," design ",layers,measure,published,seeds,valid=valid_low..valid_high,"  \
            "valid_less=valid_less_low..valid_less_high,test=test_low..test_high,"               \
            "test_less=test_less_low..test_less_high,published_ratio,"                           \
            "valid_ratio=valid_ratio_pooled_low..valid_ratio_pooled_high,"                       \
            "test_ratio=test_ratio_pooled_low..test_ratio_pooled_high,published_size,size,note", \
            ALL                                                                                  \
    }
#define PUBLISHED_PLOT                                                                  \
    {                                                                                   \
        "published", "Perplexity over the baseline's: the papers' across, these upward" \
    }
#define ORDERS                                                                               \
    "Order p means local error O(h<sup>p+1</sup>), global error O(h<sup>p</sup>); error is " \
    "numerical − exact."

const Kind kinds[] = {
    {.command = "compare",
     .title = "Comparison of schemes",
     .about =
         "What the text of a scheme says of it beside what training says: exact order, order "
         "measured "
         "on a "
         "particle system, truncation error of the trained network, perplexity over seeds. " ORDERS,
     .words = "compare.md",
     .judge = judge_comparison,
     .table =
         {{"compare", "scheme,order,system,measured",
           "Schemes side by side. In brackets 95 % intervals.",
           "scheme,layers,order,measured,evals_F,evals_G,truncation=truncation_low..truncation_"
           "high,"
           "truncation_slope,params,valid_ppl=valid_low..valid_high,test_ppl=test_low..test_high,"
           "valid_diff=valid_diff_pooled_low..valid_diff_pooled_high,valid_diff_pooled_p,"
           "test_diff=test_diff_pooled_low..test_diff_pooled_high,test_diff_pooled_p,"
           "rate,dropout,tokens_per_s,peak_bytes",
           ALL},
          {"correlations", "perplexity,layers,quantity",
           "Rank correlations (Spearman) of perplexity. In brackets 95 % bootstrap intervals over "
           "designs, of 7 or more.",
           "perplexity,layers,quantity,designs,rho=low..high,p", ALL},
          PUBLISHED("scheme"),
          {"tune", "scheme,layers,rate,dropout", "Rates and dropouts tried, and those chosen.",
           NULL, SOME},
          {"runs", "scheme,layers,params,seed", "Trainings", NULL, 0},
          {"epochs", "scheme,layers,epoch,seeds,valid_ppl",
           "Validation perplexity after every epoch", NULL, 0},
          {"curves", "scheme,step,epoch,tokens,train_loss", "Curves of training, means over seeds",
           NULL, 0}},
     .plot = {{"perplexity",
               "Mean perplexity of every scheme and its standard deviation over seeds."},
              {"truncation",
               "Perplexity against the truncation error of the trained network's own step."},
              {"evaluations", "Perplexity against evaluations of F and G a layer."},
              {"epochs", "Validation perplexity after every epoch, means over seeds."},
              {"curves", "Training loss against tokens, means over seeds."},
              {"gradients", "Norm of the gradient against steps, means over seeds."},
              PUBLISHED_PLOT}},

    {.command = "order",
     .title = "Measured order of convergence",
     .about =
         "Global errors on a particle system over halved steps; the slope of the error against the "
         "step, fitted "
         "where rounding does not show, is compared with the exact order. " ORDERS,
     .judge = judge_orders,
     .table = {{"summary", "scheme,system,expected,measured",
                "Exact and measured orders; in brackets the 95 % interval of the slope.",
                "scheme,system,expected,measured=low..high,verdict,constant,predicted,match", ALL},
               {"order", "scheme,system,h,steps,evals,error", "Errors", NULL, 0},
               {"work", "scheme,system,h,evals,seconds,error", "Errors and times", NULL, 0}},
     .plot = {{"order", "Error against step. Dotted: slopes of whole orders."},
              {"work", "Error against evaluations of F and G."},
              {"time", "Error against time, of one run each."}},
     .also = "compare"},

    {.command = "order --invariant",
     .title = "Energy over long times",
     .about = "The largest relative error of the energy so far, over a long time, and what is left "
              "after "
              "going back.",
     .table = {{"invariant", "scheme,system,h,t_end", "Drift of the energy, and reversibility.",
                NULL, ALL},
               {"drift", "scheme,system,t,energy_error", "Energy errors", NULL, 0}},
     .plot = {{"drift", "Largest relative energy error against time."}}},

    {.command = "plot",
     .title = "Overlay of order studies",
     .about = "Errors of several studies laid over each other.",
     .table = {{"overlay", "line,h,evals,seconds,error,series", "Points", NULL, 0}},
     .plot = {{"overlay", "Error against step."},
              {"overlay-work", "Error against evaluations of F and G."},
              {"overlay-time", "Error against time."}}},

    {.command = "schemes",
     .title = "Schemes",
     .about = "Read off the schemes' texts in rational arithmetic. " ORDERS,
     .table = {{"schemes", "scheme,stages,evals_F", "Order, cost and stability.", NULL, ALL},
               {"structure", "scheme,symmetric", "Symmetry, symplecticity, effective order.", NULL,
                ALL}}},

    {.command = "expand",
     .title = "Error terms",
     .about = "Terms of numerical − exact after one step, coefficient · h<sup>degree</sup> · "
              "term(y). [F,G] "
              "= G'F − "
              "F'G. " ORDERS,
     .table = {{"expand", "scheme,degree,term,coefficient", "Leading terms of the error.", NULL,
                MANY},
               {"*", "part,F,G", "A splitting's path", NULL, 0}},
     .plot =
         {{"path-*",
           "A splitting as a path in times under F and G; the area between path and chord is the "
           "coefficient of [F,G]."}}},

    {.command = "stability",
     .title = "Stability",
     .about = "|R|, the largest amplification of one step on the linear test equation; z = h·λ, "
              "λ_F = λ_G = "
              "λ/2 "
              "unless a plane says otherwise.",
     .table = {{"limits", "scheme,real_limit,imag_limit", "Ends of the stability interval from 0.",
                NULL, ALL},
               {"*", "scheme,re,im,modulus", "|R| on a grid of z", NULL, 0},
               {"*", "scheme,zF,zG,modulus", "|R| on a grid of z_F, z_G", NULL, 0},
               {"*", "scheme,line,", "Boundaries |R| = 1", NULL, 0}},
     .plot = {{"stability*", "Boundaries |R| = 1 of the regions of stability."},
              {"split*", "Boundaries |R| = 1 on the split test equation."}}},

    {.command = "verify",
     .title = "The papers' claims",
     .about = "Each claim is settled exactly where it can be, and by numbers with a negative "
              "control. [F,G] "
              "= G'F − "
              "F'G. " ORDERS,
     .judge = judge_claims,
     .table = {{"verify", "id,source,claim,expected", "Claims, verdicts and evidence.",
                "id,source,claim,verdict,evidence", ALL}}},

    {.command = "data",
     .title = "Corpus",
     .about = "Texts of a corpus as a model sees them.",
     .table = {{"data", "file,lines,tokens", "Sizes and checksums.", NULL, ALL}}},

    {.command = "train",
     .title = "Training",
     .about = "A language model each of whose layers is one step of a scheme. Perplexity is exp of "
              "the mean "
              "cross-entropy in nats over all tokens, end of line included.",
     .judge = judge_training,
     .table = {{"result", "scheme,layers,params,seed", "The trained model.", NULL, ALL},
               {"log", "step,epoch,tokens,train_loss", "Progress", NULL, 0},
               {"spans", "layer,set,head,span",
                "Attention spans that heads learnt, in tokens; behind a span attention fades out "
                "over the ramp.",
                NULL, MANY},
               {"ranks", "rank,steps,bytes_per_step", "Processes that trained it together.", NULL,
                SOME}},
     .plot = {{"loss", "Loss against steps."}, {"perplexity", "Validation perplexity by epoch."}}},

    {.command = "eval",
     .title = "Evaluation of a model",
     .about = "Perplexity of a saved model on a text.",
     .table = {{"*", "tokens,nll,ppl", "Perplexity.", NULL, ALL}}},

    {.command = "truncation",
     .title = "Truncation error of a trained network",
     .about = "A scheme's step through a trained layer against the layer's exact flow, on real "
              "sentences, "
              "at h = 1 (the "
              "network's own step), 1/2, …; RMS over tokens and coordinates, median over "
              "sentences. Its slope in h is order + 1 for small h; a relative error is over the "
              "flow's displacement in the same step. " ORDERS,
     .judge = judge_orders,
     .table = {{"summary", "scheme,layer,field,depth,order",
                "Errors at h = 1 with their quartiles, slopes, and the part that theory predicts.",
                "scheme,layer,field,sets,order,slope=slope_low..slope_high,verdict,asymptotic_h,"
                "relative_error=low..high,leading,remainder,remainder_slope",
                MANY},
               {"terms", "scheme,layer,field,term", "Parts of the leading terms.", NULL, SOME},
               {"truncation", "scheme,layer,h,error", "Errors", NULL, 0},
               {"curves", "name,h,relative_error", "Errors against h, as drawn", NULL, 0},
               {"layers", "name,layer,relative_error", "Errors by layer, as drawn", NULL, 0},
               {"path", "place,kind,t", "Tokens' paths", NULL, 0}},
     .plot =
         {{"truncation",
           "Truncation error of a step of h over the exact flow's displacement in it, against h, "
           "which is 1 in the network. Order p has slope p here, p + 1 in the table, whose slopes "
           "are of the error alone."},
          {"layers",
           "Truncation error at h = 1 over the exact flow's displacement in that step, by layer."},
          {"path",
           "Tokens through depth, in the first two principal components: the network's steps "
           "on the exact "
           "path."}}},

    {.command = "truncation --jacobian",
     .title = "Stability of a trained network",
     .about =
         "Eigenvalues of the trained layers' Jacobians, and what a scheme's step does to them.",
     .table = {{"jacobian", "scheme,layer,field,largest_amplification",
                "Amplification and Lipschitz estimates.", NULL, MANY},
               {"eigenvalues", "layer,field,re,im", "Eigenvalues", NULL, 0},
               {"regions", "scheme,line,re,im", "Boundaries |R| = 1", NULL, 0}},
     .plot = {{"jacobian", "Eigenvalues of the Jacobians, and where |R| = 1."}}},

    {.command = "truncation --refine",
     .title = "Smaller steps through trained weights",
     .about = "Perplexity when a trained network's layers are stepped finer, without retraining; "
              "weights "
              "are piecewise "
              "constant in depth-time.",
     .table = {{"refine", "scheme,substeps,h,tokens,nll", "Perplexity against steps a layer.", NULL,
                MANY}},
     .plot = {{"refine", "Perplexity against steps a layer."}}},

    {.command = "sweep",
     .title = "Words of sublayers",
     .about = "Language models whose layer is a word over s (attention, F) and f (feed-forward, "
              "G), each "
              "letter a sublayer of weight 1 with parameters of its own. The area between a word's "
              "path and "
              "its chord is the coefficient of [F,G] = G'F − F'G in the splitting error, positive "
              "where s "
              "comes first. The interleaved word is the baseline.",
     .words = "sweep.md",
     .table =
         {{"words", "word,families,s,f",
           "Words, their splitting errors, and perplexities over seeds.",
           "word,families,area,order,error_norm,euler_norm,params,seeds,valid_ppl=valid_low..valid_"
           "high,"
           "test_ppl=test_low..test_high,better",
           MANY},
          {"correlations", "perplexity,words,quantity",
           "Rank correlations (Spearman) over words. In brackets 95 % bootstrap intervals, of 7 "
           "words or more.",
           "perplexity,words,quantity,n,rho=low..high,p", ALL},
          {"halves", "half,sublayer,models",
           "Sublayers in the bottom and top half of words better and not better than the baseline.",
           "half,sublayer,models,words,mean=low..high", ALL},
          {"sweep", "word,area,evals_F,evals_G", "Trainings", NULL, 0},
          {"families", "family,word,k,seed", "Trainings by family, as drawn", NULL, 0},
          {"permutations", "word,baseline,seed", "Permutations and the baseline by perplexity",
           NULL, 0},
          {"random", "word,baseline,seed", "Random words and the baseline by perplexity", NULL, 0},
          {"sandwich", "k,word,area,seeds", "Sandwiches, as drawn", NULL, 0},
          PUBLISHED("word")},
     .plot =
         {{"permutations", "Validation perplexities of random permutations beside the baseline's."},
          {"random",
           "Validation perplexities of random words of equal parameters beside the baseline's."},
          {"halves", "Sublayers in the bottom and top half of better and other words."},
          {"sandwich", "Perplexity against the sandwich coefficient k."},
          {"seeds", "Validation perplexity by seed."},
          {"area", "Validation perplexity against signed area."},
          PUBLISHED_PLOT}},

    {.command = "attention",
     .title = "Distances between models' attention",
     .about = "Earth mover's distance between the attention distributions of two models' heads, "
              "heads matched "
              "one to one, over tokens and sublayers.",
     .table = {{"schemes", "scheme_a,scheme_b,pairs",
                "Means over pairs of models. In brackets 95 % intervals, too narrow where pairs "
                "share models.",
                "scheme_a,scheme_b,pairs,distance=low..high,matched_once,p_apart", ALL},
               {"attention", "model_a,model_b,scheme_a", "Pairs of models.", NULL, MANY},
               {"sublayers", "model_a,model_b,sublayer", "Pairs by sublayer", NULL, 0}}},

    {.command = "bench",
     .title = "Speed",
     .about = "Medians of interleaved pieces with their quartiles, beside peers and floors "
              "measured in the "
              "same run.",
     .table = {{"*", "what,variant,value,unit", "Measured values.", NULL, MANY}}},
};
const size_t kinds_count = sizeof kinds / sizeof *kinds;

/* Names that mean one thing wherever they stand, behind those that a kind uses in its own way. */
static const struct {
    const char *command, *name, *words;
} column[] = {
    {"order", "expected", "exact order p"},
    {"order", "measured", "slope of the global error"},
    {"order", "verdict",
     "slope against exact order: agree, higher, disagree, diverges, floor (rounding hides it), or "
     "unstable (too few stable steps)"},
    {"order", "constant", "measured c of error ≈ c·h^p"},
    {"order", "predicted", "c of the theory, from the elementary differentials of order p + 1"},
    {"order", "match", "measured constant against predicted"},
    {"order", "unstable_from", "finest step too large for stability; from there on none is used"},
    {"order --invariant", "energy_error", "largest relative error of the energy"},
    {"order --invariant", "growth",
     "largest energy error of the last quarter over that of the first: near 1 bounded, near 4 "
     "linear"},
    {"order --invariant", "reversal", "what is left of y − y(0) after running back"},
    {"compare", "order", "exact order of the scheme"},
    {"compare", "measured", "slope of the global error on the particle system"},
    {"compare", "truncation",
     "error of the trained network's step (h = 1) over the exact flow's displacement in it"},
    {"compare", "truncation_slope", "power of h in that error, order + 1 for small h"},
    {"compare", "valid_diff",
     "validation perplexity less the baseline's; standard deviation pooled over the designs"},
    {"compare", "valid_diff_pooled_p",
     "of no difference (Student's t), after Holm's correction for the comparisons"},
    {"compare", "test_diff",
     "test perplexity less the baseline's; standard deviation pooled over the designs"},
    {"compare", "test_diff_pooled_p",
     "of no difference (Student's t), after Holm's correction for the comparisons"},
    {"compare", "designs", "maps that differ; equal maps count once"},
    {"compare", "p", "probability of as large a correlation by chance, over permutations"},
    {"compare", "perplexity", "of which text"},
    {"compare", "chosen", "by validation perplexity with a seed of its own"},
    {"truncation", "order", "exact order of the scheme in this field"},
    {"truncation", "slope",
     "power of h in the error, undivided by a displacement, with quartiles over sentences"},
    {"truncation", "verdict", "slope against order + 1; kinks: ReLU's, which end slopes near 2.5"},
    {"truncation", "size", "of the term at h = 1, over the flow's displacement in that step"},
    {"truncation", "term", "elementary differential: F'G is the derivative of F along G"},
    {"truncation", "coefficient", "of the term in numerical − exact"},
    {"expand", "term", "elementary differential: root, a prime a child; or a commutator"},
    {"expand", "coefficient", "a rational, or a decimal where the scheme is inexact"},
    {"sweep", "families", "which draws or series the word is of"},
    {"sweep", "area",
     "signed area between the word's path and its chord, the coefficient of [F,G]"},
    {"sweep", "order", "exact order of the word as a splitting by exact flows; empty: no error"},
    {"sweep", "error_norm", "norm of the leading error of exact flows"},
    {"sweep", "euler_norm", "the same of Euler sub-flows, which is the network"},
    {"sweep", "better", "lower validation perplexity than the baseline's mean"},
    {"sweep", "perplexity", "of which text"},
    {"sweep", "words", "over which words"},
    {"sweep", "n", "how many words"},
    {"sweep", "p", "probability of as large a correlation by chance"},
    {"sweep", "half", "of the word: bottom is nearest the input"},
    {"sweep", "sublayer", "s: attention; f: feed-forward"},
    {"sweep", "models", "better than the baseline or not"},
    {"sweep", "mean", "sublayers in that half"},
    {"attention", "scheme_a", "scheme of the first model"},
    {"attention", "scheme_b", "scheme of the second model"},
    {"attention", "model_a", "directory of the first model"},
    {"attention", "model_b", "directory of the second model"},
    {"attention", "pairs", "pairs of models"},
    {"attention", "distance", "heads matched anew at every token, mean over tokens and sublayers"},
    {"attention", "matched_once", "heads of a sublayer matched once for all tokens"},
    {"attention", "p_apart", "that models of two schemes are no farther apart than models of one"},
    {"train", "rank", "process, from 0"},
    {"train", "steps", "trained by this command"},
    {"train", "bytes_per_step", "given to sums with the others"},
    {"train", "wait_ms_per_step", "milliseconds in those sums"},
    {"train", "ms_per_step", "milliseconds in all"},
    {"train", "set", "parameter set of the attention sublayer"},
    {"train", "head", "attention head, from 0"},
    {"train", "span", "tokens back that the head sees in full"},
    {"compare", "source", "paper and table"},
    {"sweep", "source", "paper and table"},
    {NULL, "row", "as the paper has it"},
    {NULL, "measure", "what the paper's figure is"},
    {NULL, "published", "the paper's figure"},
    {NULL, "valid", "of the validation text, in the unit of the measure"},
    {NULL, "test", "of the test text, in the unit of the measure"},
    {NULL, "valid_less", "validation less the paper's figure, whose own spread is not in it"},
    {NULL, "test_less", "test less the paper's figure, whose own spread is not in it"},
    {NULL, "published_ratio", "the paper's figure over its baseline's; below 1 is better"},
    {NULL, "valid_ratio",
     "validation over the baseline's, geometric means; interval: spread pooled over the designs"},
    {NULL, "test_ratio",
     "test over the baseline's, geometric means; interval: spread pooled over the designs"},
    {NULL, "published_size", "of the paper's model"},
    {NULL, "size", "of these models"},
    {NULL, "note", "spread, and what the paper does not tell"},
    {NULL, "word", "sublayers from input to output: s attention, f feed-forward"},
    {"bench", "value", "in the unit of its row"},
    {NULL, "scheme", "integrator by its name; 'trotter schemes --print' has its text"},
    {NULL, "system", "particle system"},
    {NULL, "layers", "blocks, each one step of the scheme"},
    {NULL, "layer", "number of the layer, from 0"},
    {NULL, "stages", "k or flow lines as written"},
    {NULL, "evals_F", "evaluations of F (attention) a step"},
    {NULL, "evals_G", "evaluations of G (feed-forward) a step"},
    {NULL, "past_y", "deepest past state used"},
    {NULL, "past_k", "deepest past slope used"},
    {NULL, "exact", "coefficients are rational"},
    {NULL, "consistent", "the step is one of length h"},
    {NULL, "order", "p: local error O(h^(p+1))"},
    {NULL, "zero_stable", "meets the root condition"},
    {NULL, "real_limit", "end of the stability interval on the negative real axis, h·λ"},
    {NULL, "imag_limit", "end of the stability interval on the imaginary axis, h·λ/i"},
    {NULL, "error_norm2", "squared norm of the h^(p+1) terms in two colours, F and G"},
    {NULL, "error_norm2_one_colour", "the same in the one colour F + G, where every stage is H"},
    {NULL, "symmetric", "S(−h) after S(h) is the identity"},
    {NULL, "symmetric_order", "up to which power of h S(−h) after S(h) is"},
    {NULL, "symmetric_separable", "the same where F'F = G'G = 0"},
    {NULL, "symplectic", "for Hamiltonian F and G"},
    {NULL, "symplectic_separable", "for separable Hamiltonians"},
    {NULL, "effective_order", "of the best conjugate of a splitting by exact flows"},
    {NULL, "error_constant", "C of numerical − exact = C·h^(p+1)·y^(p+1)"},
    {NULL, "normalised_constant", "C over the sum of slope weights"},
    {NULL, "weakly_stable", "zero-stable with several roots on the unit circle"},
    {NULL, "degree", "power of h"},
    {NULL, "h", "step size"},
    {NULL, "t_end", "time of the comparison"},
    {NULL, "field", "split: y' = F + G; layer: y' = L(y), L one Transformer layer's increment"},
    {NULL, "depth", "how weights vary in depth-time: frozen in a layer, or piecewise constant"},
    {NULL, "sets", "parameter sets of the trained layer: their weighted mean, or each its own"},
    {NULL, "asymptotic_h", "largest step from which down the slope is seen"},
    {NULL, "relative_error",
     "error of a step over the exact flow's displacement in the same step (h = 1 where no h is "
     "told), with quartiles over sentences"},
    {NULL, "leading", "the part at h = 1 that theory predicts, over the displacement at h = 1"},
    {NULL, "remainder", "error less the predicted part, over the displacement in the same step"},
    {NULL, "remainder_slope", "power of h in the remainder, one more than the error's"},
    {NULL, "params", "trained numbers"},
    {NULL, "seed", "of weights, order of text and dropout masks"},
    {NULL, "seeds", "trainings, each with a seed of its own"},
    {NULL, "best_epoch", "epoch of the lowest validation perplexity"},
    {NULL, "valid_ppl", "perplexity of the validation text"},
    {NULL, "test_ppl", "perplexity of the test text, read once"},
    {NULL, "tokens_per_s", "training speed, tokens a second"},
    {NULL, "peak_bytes", "most memory of the model, bytes"},
    {NULL, "rate", "peak learning rate"},
    {NULL, "dropout", "probability of dropping an activation"},
    {NULL, "quantity", "what perplexity is ranked against"},
    {NULL, "rho", "rank correlation"},
    {NULL, "run", "directory of the training"},
    {NULL, "substeps", "steps a layer, each of length h"},
    {NULL, "tokens", "predicted tokens"},
    {NULL, "nll", "mean cross-entropy, nats a token"},
    {NULL, "ppl", "perplexity, exp(nll)"},
    {NULL, "bits_per_character", "cross-entropy in bits a character"},
    {NULL, "largest_amplification", "largest |R| over the eigenvalues at h = 1"},
    {NULL, "unstable", "share of the eigenvalues with Re ≤ 0 at which |R| > 1"},
    {NULL, "flow_growth", "largest growth exp(Re) of the exact flow over the eigenvalues"},
    {NULL, "lipschitz_F", "estimate of the Lipschitz constant of F"},
    {NULL, "lipschitz_G", "estimate of the Lipschitz constant of G"},
    {NULL, "spectral_radius", "largest modulus of the Jacobian's eigenvalues"},
    {NULL, "eigenvalues", "how many"},
    {NULL, "id", "name of the claim: trotter verify --claim ID"},
    {NULL, "source", "where it is made"},
    {NULL, "claim", "what is said"},
    {NULL, "verdict", "what was found"},
    {NULL, "evidence", "what that rests on"},
    {NULL, "file", "text of the corpus"},
    {NULL, "lines", "lines of text"},
    {NULL, "distinct", "different tokens"},
    {NULL, "unknown", "tokens outside the vocabulary"},
    {NULL, "sha256", "checksum of the text"},
    {NULL, "what", "quantity measured"},
    {NULL, "variant", "of what, or by whom"},
    {NULL, "unit", "of the value"},
};

const char *kind_column(const Kind *k, const char *name)
{
    for (size_t i = 0; i < sizeof column / sizeof *column; i++)
        if ((!column[i].command || strcmp(column[i].command, k->command) == 0) &&
            strcmp(column[i].name, name) == 0)
            return column[i].words;
    return NULL;
}
