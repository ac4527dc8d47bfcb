/* certificate.c: the order of a one-step scheme as a file that others check, without trust in this program: Coq
 * (certificate_stages.v, certificate_flows.v), or, in JSON, studies/scripts/check_certificate.py. Either states the
 * scheme's coefficients, the order, how many conditions each order has, and a condition of the next order that fails.
 *
 * The conditions of stages are those of rooted trees, in the one colour H where every stage is H, else with a vertex of a
 * colour for each operator. Those of flows are of words: in exp(a_1 X_1) exp(a_2 X_2) ..., where X_i is the derivative along
 * the field of flow i, a word of n letters has to have the coefficient 1/n!, as in exp(F + G) (Hairer, Lubich, Wanner 2006,
 * section III.5.1). Here the conditions are computed for the one that fails; that the others hold is theory_search's word,
 * and the checker's to find. */
#include "studies/theory/theory_study.h"

#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/plain_text.h"
#include "ode/scheme/rationals.h"

TEXT_EMBED(certificate_stages, "studies/theory/certificate_stages.v");
TEXT_EMBED(certificate_flows, "studies/theory/certificate_flows.v");

typedef struct {
    Table *t;    /* frozen */
    int one;     /* one colour, H */
    int learned; /* it had learned names */
    int colours, order;
    Forest *forest;         /* of stages: the trees up to the order behind that of the scheme, */
    size_t tree;            /* and the one of that order whose condition fails */
    int word[TREE_MAX + 1]; /* of flows: the word of that length, */
    int letters;            /* the claimed brackets, which go through so many letters, */
    Brackets found;         /* or those that are found */
    const Brackets *error;
    mpq_t left, right; /* the two sides of that condition */
} Certificate;

static void certificate_close(Certificate *c)
{
    forest_free(c->forest);
    bracket_free(&c->found);
    table_free(c->t);
    mpq_clears(c->left, c->right, NULL);
}

/* ---- what has a certificate ------------------------------------------------------------------------- */

static int unit_weight(const Table *t)
{
    int unit = 1;
    for (int op = 0; op < t->colours; op++) unit &= mpq_cmp_ui(t->weight[op], 1, 1) == 0;
    return unit;
}

static int refuse(const Table *t)
{
    RATIONAL(state);
    theory_state(t, state);
    const char *why = t->carries             ? "carries quantities from step to step"
                      : table_past(t)        ? "is a multistep scheme"
                      : table_exponential(t) ? "has phi functions of matrices"
                      : table_rosenbrock(t)  ? "has stages of solve"
                      : table_complex(t)     ? "has complex fractions"
                      : table_methods(t)     ? "has exact flows beside flows by a method"
                      : t->special           ? "is for special fields (linear, separable)"
                      : !t->exact            ? "has decimals or roots, which are no fractions"
                      : !unit_weight(t)      ? "is a word, whose field has weights"
                      : table_written(t)    ? "has time nodes (@) that are not the sums of its rows"
                      : mpq_sgn(state) != 0 ? "has an update whose weights of y do not sum to 1"
                                            : NULL;
    if (!why) return series_check(t);
    return error_set(
        ERR_INPUT, "%s %s: --certificate takes one-step schemes of stages or flows with fractions",
        t->name, why);
}

/* ---- words ------------------------------------------------------------------------------------------ */

/* Makes out the coefficient of a word of n letters. Before flow i has its turn, c[k] is that of the letters from k on in
 * the flows behind it. */
static int word_coefficient(const Table *t, const int *word, int n, mpq_t out)
{
    SCOPED(rationals_drop) mpq_t *c = rationals_new((size_t)n + 1);
    RATIONAL(factor);
    if (!c) return ERR_MEMORY;
    mpq_set_ui(c[n], 1, 1);
    for (size_t i = t->flows; i-- > 0;)
        for (int k = 0; k < n; k++) {
            mpq_set_ui(factor, 1, 1);
            for (int m = 1; k + m <= n && word[k + m - 1] == t->flow[i].op; m++) {
                mpq_mul(factor, factor, t->flow[i].c);
                rational_divide(factor, (unsigned)m);
                rational_add(c[k], factor, c[k + m]);
            }
        }
    mpq_set(out, c[0]);
    return 0;
}

/* Finds the first word of n letters whose condition fails. */
static int find_word(Certificate *c, int n, int *found)
{
    unsigned long words = 1;
    mpq_set_ui(c->right, 1, 1);
    for (int k = 1; k <= n; k++) {
        words *= (unsigned long)c->colours;
        rational_divide(c->right, (unsigned)k);
    }
    for (unsigned long w = 0; w < words && !*found; w++) {
        unsigned long rest = w;
        for (int k = n; k-- > 0; rest /= (unsigned)c->colours)
            c->word[k] = (int)(rest % (unsigned)c->colours);
        TRY(word_coefficient(c->t, c->word, n, c->left));
        *found = !mpq_equal(c->left, c->right);
    }
    return 0;
}

/* ---- trees ------------------------------------------------------------------------------------------ */

/* Finds the first tree of n vertices whose condition fails. */
static int find_tree(Certificate *c, int n, int *found)
{
    TRY(series_forest(c->t, n, c->colours, 0, &c->forest));
    const Forest *f = c->forest;
    SCOPED(rationals_drop) mpq_t *defect = rationals_new(f->count + 1);
    if (!defect) return ERR_MEMORY;
    TRY(theory_defect(f, c->t, defect, defect[f->count]));
    for (c->tree = f->first[n]; c->tree < f->count && !*found; c->tree++)
        *found = mpq_sgn(defect[c->tree]) != 0;
    const Tree *t = &f->tree[--c->tree];
    integer_set(mpq_numref(c->right), t->sigma);
    mpz_set_ui(mpq_denref(c->right), 1);
    mpq_mul(c->left, defect[c->tree], c->right);
    mpz_set_ui(mpq_numref(c->right), 1);
    integer_set(mpq_denref(c->right), t->gamma);
    mpq_add(c->left, c->left, c->right);
    return 0;
}

/* ---- the certificate -------------------------------------------------------------------------------- */

/* Finds the order of the scheme, up to `degree`. */
static int find_order(Certificate *c, int degree)
{
    Theory th;
    int most = forest_timed_most(c->colours, 0); /* the failing tree is looked for in a forest */
    TRY(theory_search(c->t, degree < most ? degree : most, &th));
    c->order = th.order_exact;
    if (c->order < th.order)
        progress_note(
            "%s: its fractions are roundings: order %d, exactly %d, which is what is proved",
            c->t->name, th.order, c->order);
    if (c->order == th.searched)
        return error_set(ERR_INPUT,
                         "%s meets all conditions up to order %d, and a certificate names one that "
                         "fails: --degree looks further, up to %d",
                         c->t->name, c->order, most);
    return 0;
}

/* Takes the claimed brackets, or those with which the error of flows begins. */
static int find_brackets(Certificate *c, const CertificateClaim *claim)
{
    int most = bracket_most(c->t);
    c->letters = claim->error ? claim->letters : c->order < most ? c->order + 1 : most;
    c->error = claim->error ? claim->error : &c->found;
    return claim->error ? 0 : bracket_error(c->t, c->letters, &c->found);
}

static int certificate_open(Certificate *c, const Table *t, const CertificateClaim *claim,
                            int degree)
{
    int found = 0;
    *c = (Certificate){.t = table_freeze(t), .learned = t->symbols > 0, .order = claim->order};
    mpq_inits(c->left, c->right, NULL);
    if (!c->t) return ERR_MEMORY;
    TRY(refuse(c->t));
    c->one = claim->one_field || series_one_colour(c->t);
    c->colours = c->one ? 1 : c->t->colours;
    if (c->order < 0) TRY(find_order(c, degree));
    if (c->t->flows) TRY(find_brackets(c, claim));
    TRY(c->t->flows ? find_word(c, c->order + 1, &found) : find_tree(c, c->order + 1, &found));
    return found || claim->order >= 0 ? 0
                                      : error_set(ERR_NUMERIC, "%s: no condition of order %d fails",
                                                  t->name, c->order + 1);
}

/* How Coq and JSON write what both have. A tree, a stage and a flow each have pieces: before the letter of its colour, behind
 * it, and so on. */
typedef struct {
    const char *quote, *letter, *between; /* around a number, around a letter; in lists */
    struct {
        const char *before, *behind, *first, *end; /* first: before the first subtree */
    } tree;
    struct {
        const char *between, *before, *row, *weight, *end;
    } stage;
    struct {
        const char *before, *behind, *end;
    } flow;
    struct {
        const char *open, *between, *close;
    } commutator;
} Form;
static const Form forms[] = {
    [CERTIFICATE_COQ] = {"",
                         "",
                         "; ",
                         {"Node ", " [", "", "]"},
                         {";\n    ", "Stage ", " [", "] (", ")"},
                         {"(", ", ", ")"},
                         {"(Commutator ", " ", ")"}},
    [CERTIFICATE_JSON] = {"\"",
                          "\"",
                          ", ",
                          {"[\"", "\"", ", ", "]"},
                          {",\n  ", "{\"colour\": \"", "\", \"a\": [", "], \"b\": ", "}"},
                          {"[\"", "\", ", "]"},
                          {"[", ", ", "]"}},
};

static char letter(const Certificate *c, int colour)
{
    return c->one ? 'H' : table_letters[colour];
}

static void print_colours(const Certificate *c, const Form *as, const char *between, FILE *f)
{
    for (int k = 0; k < c->colours; k++)
        fprintf(f, "%s%s%c%s", k ? between : "", as->letter, letter(c, k), as->letter);
}

/* Prints the number of conditions of each order. */
static void print_numbers(const Certificate *c, const Form *as, FILE *f)
{
    unsigned long words = 1;
    for (int k = 1; k <= c->order; k++) {
        words *= (unsigned)c->colours;
        fprintf(f, "%s%lu", k > 1 ? as->between : "",
                c->forest ? c->forest->first[k + 1] - c->forest->first[k] : words);
    }
}

/* Coq has 1 # 2 for 1/2. */
static void print_number(mpq_srcptr q, const Form *as, FILE *f)
{
    if (*as->quote)
        gmp_fprintf(f, "%s%Qd%s", as->quote, q, as->quote);
    else
        gmp_fprintf(f, "%Zd # %Zd", mpq_numref(q), mpq_denref(q));
}

/* In one colour the evaluations of F stand for those of H. */
static int counts(const Certificate *c, size_t eval)
{
    return !c->one || c->t->eval[eval].op == OP_F;
}

/* Writes the weights of a row on the evaluations, up to the last one that it reads. */
static void print_row(const Certificate *c, const Row *r, const Form *as, FILE *f)
{
    RATIONAL(q);
    size_t last = 0;
    for (size_t k = 0; k < r->terms; k++)
        if (r->term[k].eval >= 0 && (size_t)r->term[k].eval + 1 > last)
            last = (size_t)r->term[k].eval + 1;
    for (size_t e = 0, n = 0; e < last; e++) {
        if (!counts(c, e)) continue;
        row_weight(c->t, r, (int)e, q);
        fputs(n++ ? as->between : "", f);
        print_number(q, as, f);
    }
}

static void print_stages(const Certificate *c, const Form *as, FILE *f)
{
    RATIONAL(q);
    for (size_t e = 0, n = 0; e < c->t->evals; e++) {
        if (!counts(c, e)) continue;
        fprintf(f, "%s%s%c%s", n++ ? as->stage.between : "", as->stage.before,
                letter(c, c->t->eval[e].op), as->stage.row);
        print_row(c, &eval_point(c->t, (int)e)->row, as, f);
        fputs(as->stage.weight, f);
        row_weight(c->t, &c->t->update, (int)e, q);
        print_number(q, as, f);
        fputs(as->stage.end, f);
    }
}

static void print_flows(const Certificate *c, const Form *as, FILE *f)
{
    for (size_t i = 0; i < c->t->flows; i++) {
        fprintf(f, "%s%s%c%s", i ? as->between : "", as->flow.before, letter(c, c->t->flow[i].op),
                as->flow.behind);
        print_number(c->t->flow[i].c, as, f);
        fputs(as->flow.end, f);
    }
}

static void print_tree(const Certificate *c, size_t tree, const Form *as, FILE *f)
{
    const Tree *t = &c->forest->tree[tree];
    fprintf(f, "%s%c%s", as->tree.before, letter(c, t->colour), as->tree.behind);
    for (int k = 0; k < t->children; k++) {
        fputs(k ? as->between : as->tree.first, f);
        print_tree(c, (size_t)t->child[k], as, f);
    }
    fputs(as->tree.end, f);
}

static void print_word(const Certificate *c, const char *between, FILE *f)
{
    for (int k = 0; k <= c->order; k++) fprintf(f, "%s%c", k ? between : "", letter(c, c->word[k]));
}

/* Writes [F,[F,G]]. */
static void print_bracket(const char *name, const Form *as, FILE *f)
{
    for (; *name; name++)
        if (*name == '[' || *name == ',' || *name == ']')
            fputs(*name == '['   ? as->commutator.open
                  : *name == ',' ? as->commutator.between
                                 : as->commutator.close,
                  f);
        else
            fprintf(f, "%s%c%s", as->letter, *name, as->letter);
}

static void print_brackets(const Certificate *c, const Form *as, FILE *f)
{
    for (size_t i = 0; i < c->error->count; i++) {
        const Bracket *b = &c->error->bracket[i];
        fprintf(f, "%s%c", i ? as->between : "", *as->quote ? '[' : '(');
        print_number(b->c, as, f);
        fputs(", ", f);
        print_bracket(b->name, as, f);
        fputs(as->flow.end, f);
    }
}

/* Writes the text up to its next place, and returns what follows that. */
static const char *print_to_place(const char *text, FILE *f)
{
    static const char begin[] = "(* begin *)\n", end[] = "(* end *)\n";
    const char *place = strstr(text, begin), *behind = strstr(text, end);
    fwrite(text, 1, (size_t)(place - text), f);
    return behind + sizeof end - 1;
}

static void print_coq(const Certificate *c, const Form *as, FILE *f)
{
    const char *rest = print_to_place(c->forest ? certificate_stages : certificate_flows, f);
    fputs("Inductive colour := ", f);
    print_colours(c, as, " | ", f);
    fputs(".\nDefinition colours : list colour := [", f);
    print_colours(c, as, as->between, f);
    fputs("].\n", f);
    rest = print_to_place(rest, f);
    fprintf(f, "(* %s%s *)\nDefinition scheme : list %s :=\n  [ ", c->t->name,
            c->learned ? ", learned names at their starts" : "",
            c->forest ? "stage" : "(colour * Q)");
    (c->forest ? print_stages : print_flows)(c, as, f);
    fprintf(f, " ].\nDefinition claimed : nat := %d.\nDefinition numbers : list nat := [",
            c->order);
    print_numbers(c, as, f);
    fprintf(f, "]%%nat.\nDefinition failing : %s := ", c->forest ? "tree" : "list colour");
    if (c->forest) {
        print_tree(c, c->tree, as, f);
    } else {
        fputc('[', f);
        print_word(c, as->between, f);
        fputc(']', f);
    }
    fputs(".\n", f);
    if (c->t->flows) {
        rest = print_to_place(rest, f);
        fprintf(f,
                "Definition letters : nat := %d.\nDefinition error : list (Q * bracket) :=\n  [ ",
                c->letters);
        print_brackets(c, as, f);
        fputs(" ].\n", f);
    }
    fputs(rest, f);
}

static void print_json(const Certificate *c, const Form *as, FILE *f)
{
    fprintf(f, "{\"certificate\": \"order conditions\",\n \"scheme\": \"%s\",\n \"colours\": [",
            c->t->name);
    print_colours(c, as, as->between, f);
    fprintf(f, "],\n \"order\": %d,\n \"conditions\": [", c->order);
    print_numbers(c, as, f);
    fprintf(f, "],\n \"%s\": [", c->forest ? "stages" : "flows");
    fputs(c->forest ? "\n  " : "", f);
    (c->forest ? print_stages : print_flows)(c, as, f);
    if (c->t->flows) {
        fprintf(f, "],\n \"letters\": %d,\n \"error\": [", c->letters);
        print_brackets(c, as, f);
    }
    fprintf(f, "],\n \"fails\": {\"%s\": ", c->forest ? "tree" : "word");
    if (c->forest) {
        print_tree(c, c->tree, as, f);
    } else {
        fputc('"', f);
        print_word(c, "", f);
        fputc('"', f);
    }
    fputs(", \"left\": ", f);
    print_number(c->left, as, f);
    fputs(", \"right\": ", f);
    print_number(c->right, as, f);
    fputs("}}\n", f);
}

int certificate_print(const Table *t, const CertificateClaim *claim, int form, int degree, FILE *f)
{
    Certificate c;
    int code = certificate_open(&c, t, claim, degree);
    if (code == 0) (form == CERTIFICATE_COQ ? print_coq : print_json)(&c, &forms[form], f);
    certificate_close(&c);
    return code;
}
