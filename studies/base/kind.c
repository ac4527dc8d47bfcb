/* kind.c: the kinds of studies of all commands. */
#include "studies/base/kind.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "studies/base/command.h"

const Command *const *command_all;

/* ---- kinds --------------------------------------------------------------------------------------- */

const Kind *kind_next(const Kind *k)
{
    size_t n = 0;
    int found = k == NULL;
    assert(command_all); /* a program that links no commands.o would find no kinds in silence */
    while (command_all[n]) n++;
    while (n-- > 0)
        for (const Kind *i = command_all[n]->kinds; i && i->command; i++) {
            if (found) return i;
            found = i == k;
        }
    return NULL;
}

size_t kind_place(const Kind *k)
{
    size_t place = 0;
    for (const Kind *i = kind_next(NULL); i && i != k; i = kind_next(i)) place++;
    return place;
}

/* ---- columns ------------------------------------------------------------------------------------- */

/* Returns 1 where a line's first field is the name. */
static int begins(const char *line, const char *name)
{
    size_t n = strlen(name);
    return strncmp(line, name, n) == 0 && strchr(",\r\n", line[n]) != NULL;
}

int kind_parts(const Column *list, const Column *c, const char *field)
{
    if (!c->name || strcmp(c->name, "panel") != 0 || !*field) return 0;
    for (; list->name || list->head; list++)
        if (list->name && begins(field, list->name)) return 0;
    return 1;
}

int kind_begins(const KindTable *t, const char *line)
{
    size_t same = 0;
    for (const Column *c = t->columns; c->name && same < 4; c++) {
        size_t n = strcspn(line, ",\r\n");
        int here = begins(line, c->name) || kind_parts(t->columns, c, line);
        if (!here && c->sparse) continue;
        if (!here) return 0;
        same++;
        if (line[n] != ',') return same >= 3 || !c[1].name; /* the line ends here: an older file */
        line += n + 1;
    }
    return 1;
}

const Kind *kind_of_runs(const char *line)
{
    for (const Kind *k = kind_next(NULL); k; k = kind_next(k))
        for (const KindTable *t = k->table; k->runs && t->file; t++)
            if (strcmp(t->file, "runs") == 0 && kind_begins(t, line)) return k;
    return NULL;
}

void kind_count(const Kind *k, const Frame *c, size_t *runs, size_t *done)
{
    static const char *const others[] = {"bound", "tuning", "trial"};
    const char *measure = k->runs->measure->column;
    *runs = *done = 0;
    for (size_t row = 0; row < c->rows; row++) {
        size_t i = 0;
        while (i < 3 && strcmp(frame_text(c, row, "part"), others[i]) != 0) i++;
        *runs += i == 3;
        *done += i == 3 && *frame_text(c, row, measure);
    }
}

/* Returns 1 where a column holds an end of another column's interval. */
static int is_end(const Column *list, const char *name)
{
    for (; list->name || list->head; list++)
        if ((list->low && strcmp(list->low, name) == 0) ||
            (list->high && strcmp(list->high, name) == 0))
            return 1;
    return 0;
}

/* Returns the place of a column: on pages that show some columns, its place there; else its place in other tables
 * for people. */
static int key(const Column *c, int pages)
{
    return pages ? c->page : c->place;
}

size_t kind_shown(const Column *list, const Column **out, size_t room)
{
    int pages = 0, last = 0, intervals = 0;
    size_t n = 0;
    for (const Column *c = list; c->name || c->head; c++) {
        pages |= c->page;
        intervals |= c->low != NULL;
    }
    for (const Column *c = list; c->name || c->head; c++)
        last = key(c, pages) > last ? key(c, pages) : last;
    if (!last && !intervals) return 0;
    for (int k = last > 0; k <= last; k++)
        for (const Column *c = list; c->name || c->head; c++)
            if (c->name && key(c, pages) == k && (pages || !is_end(list, c->name)) && n < room)
                out[n++] = c;
    return n;
}

/* Column names that mean the same in every table, of columns that pages show and whose line has no words. */
static const struct {
    const char *name, *words;
} common[] = {
    {"word", "sublayers from input to output: s attention, f feed-forward"},
    {"scheme", "integrator by its name; 'trotter schemes --print' has its text"},
    {"system", "particle system"},
    {"layers", "blocks, each one step of the scheme"},
    {"layer", "number of the layer, from 0"},
    {"stages", "k or flow lines of a step of fixed size"},
    {"evals_F", "evaluations of F (attention) per step"},
    {"evals_G", "evaluations of G (feed-forward) per step"},
    {"evals_C", "evaluations of C (cross-attention) per step"},
    {"past_y", "deepest past state used"},
    {"past_k", "deepest past slope used"},
    {"exact", "coefficients are rational"},
    {"consistent", "the step is one of length h"},
    {"order", "$p$: local error $O(h^(p+1))$"},
    {"zero_stable", "meets the root condition"},
    {"real_limit", "end of the stability interval on the negative real axis, $h·λ$"},
    {"imag_limit", "end of the stability interval on the imaginary axis, $h·λ/i$"},
    {"ssp", "coefficient of strong stability: steps this many times as long as Euler's keep what "
            "Euler's keep; for one-step schemes whose stages are all H"},
    {"error_norm2", "squared norm of the $h^(p+1)$ terms in two colours, F and G"},
    {"error_norm2_one_colour", "the same in the one colour F + G, where every stage is H"},
    {"symmetric", "$S(−h)$ after $S(h)$ is the identity"},
    {"symmetric_order", "power of $h$ up to which $S(−h)$ after $S(h)$ is the identity"},
    {"symmetric_separable", "the same where $F'F = G'G = 0$"},
    {"symplectic", "for Hamiltonian F and G"},
    {"symplectic_separable", "for separable Hamiltonians"},
    {"effective_order", "order of the best conjugate of a splitting by exact flows"},
    {"error_constant", "$C$ of numerical − exact = $C·h^(p+1)·y^(p+1)$"},
    {"normalised_constant", "$C$ over the sum of slope weights"},
    {"weakly_stable", "zero-stable with several roots on the unit circle"},
    {"degree", "power of h"},
    {"h", "step size"},
    {"t_end", "time of the comparison"},
    {"field", "split: $y' = F + G$; layer: $y' = L(y)$, $L$ one Transformer layer's increment"},
    {"sets", "parameter sets of the trained layer: their weighted mean, or each its own"},
    {"asymptotic_h", "largest h such that the slope is seen at this h and below"},
    {"relative_error", "error of a step over the exact flow's displacement in the same step (h = "
                       "1 where the table has no h), with quartiles over sentences"},
    {"leading", "the part at h = 1 that theory predicts, over the displacement at h = 1"},
    {"remainder", "error less the predicted part, over the displacement in the same step"},
    {"remainder_slope", "power of h in the remainder, one more than the error's"},
    {"pair", "the schemes of encoder and decoder, as --pair has them"},
    {"params", "trained numbers"},
    {"seed", "seed of weights, order of text and dropout masks"},
    {"seeds", "trainings, each with another seed"},
    {"best_epoch", "epoch of the lowest validation perplexity"},
    {"valid_ppl", "perplexity of the validation text"},
    {"test_ppl", "perplexity of the test text, read once"},
    {"encoder_layers", "layers of the encoder"},
    {"valid_bleu", "BLEU of the validation text, by beam search"},
    {"test_bleu", "BLEU of the test text, by beam search"},
    {"test_chrf", "chrF2 of the test text"},
    {"test_chrf_words", "chrF2++ of the test text"},
    {"test_ter", "TER of the test text; less is better"},
    {"valid_exact", "share of the validation pairs whose target is right at every place"},
    {"test_exact", "share of the test pairs whose target is right at every place"},
    {"tokens_per_s", "training speed, tokens per second"},
    {"peak_bytes", "most memory of the model, bytes"},
    {"rate", "peak learning rate"},
    {"dropout", "probability of dropping an activation"},
    {"quantity", "what perplexity is ranked against"},
    {"rho", "rank correlation"},
    {"substeps", "steps per layer, each of length h"},
    {"tokens", "predicted tokens"},
    {"nll", "mean cross-entropy, nats per token"},
    {"ppl", "perplexity, exp(nll)"},
    {"bits_per_character", "cross-entropy in bits per character"},
    {"largest_amplification", "largest |R| over the eigenvalues at h = 1"},
    {"unstable", "share of the eigenvalues with Re ≤ 0 at which |R| > 1"},
    {"flow_growth", "largest growth exp(Re) of the exact flow over the eigenvalues"},
    {"lipschitz_F", "estimate of the Lipschitz constant of F"},
    {"lipschitz_G", "estimate of the Lipschitz constant of G"},
    {"lipschitz_C", "estimate of the Lipschitz constant of C, in a decoder's layer"},
    {"spectral_radius", "largest modulus of the Jacobian's eigenvalues"},
    {"eigenvalues", "number of eigenvalues"},
    {"id", "name of the claim: trotter verify --claim ID"},
    {"claim", "text of the claim"},
    {"evidence", "what the verdict rests on"},
    {"file", "text of the corpus"},
    {"lines", "lines of text"},
    {"unknown", "tokens outside the vocabulary"},
    {"what", "quantity measured"},
    {"variant", "what was measured, or by whom"},
    {"unit", "unit of the value"},
};

const char *kind_column(const Kind *k, const char *name)
{
    for (const KindTable *t = k ? k->table : NULL; t && t->file; t++)
        for (const Column *c = t->columns; c->name || c->head; c++)
            if (c->name && c->words && strcmp(c->name, name) == 0) return c->words;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (strcmp(common[i].name, name) == 0) return common[i].words;
    for (const KindTable *t = k ? k->table : NULL; t && t->file; t++)
        if (is_end(t->columns, name)) return "end of the 95 % interval";
    return NULL;
}

/* ---- verdicts ------------------------------------------------------------------------------------ */

void verdict_say(Verdict *v, const char *format, ...)
{
    size_t n = strlen(v->words);
    va_list args;
    va_start(args, format);
    vsnprintf(v->words + n, sizeof v->words - n, format, args);
    va_end(args);
}

static size_t count(const Frame *c, const char *column, const char *word)
{
    size_t n = 0;
    for (size_t i = 0; i < c->rows; i++) n += strcmp(frame_text(c, i, column), word) == 0;
    return n;
}

void verdict_count(Verdict *v, const Frame *c, const char *column, const char *name)
{
    size_t said = 0;
    for (size_t i = 0; i < c->rows; i++) {
        const char *word = frame_text(c, i, column);
        size_t first = 0;
        while (strcmp(frame_text(c, first, column), word) != 0) first++;
        if (!*word || first != i) continue;
        verdict_say(v, "%s%zu %.40s", said++ ? ", " : "", count(c, column, word), word);
    }
    if (said) verdict_say(v, " (%s); ", name);
    v->bad |= count(c, column, "disagree") > 0 || count(c, column, "inconsistent") > 0;
}

void verdict_end(Verdict *v)
{
    size_t n = strlen(v->words);
    if (n >= 2 && strcmp(v->words + n - 2, "; ") == 0) v->words[n - 2] = '\0';
}
