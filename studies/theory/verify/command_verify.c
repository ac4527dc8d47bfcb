/* command_verify.c: checks the papers' claims one by one: verified, refuted, or conditional. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "studies/theory/theory_study.h"
#include "studies/theory/verify/claims.h"
#include "studies/base/command.h"
#include "kernels/base/nearest.h"
#include "studies/base/select.h"

enum { CLAIMS_MOST = 256, OWN_MOST = 64, VERDICT_BYTES = 512, TEXT_WIDTH = 92 };

typedef struct {
    const char *id, *source, *origin, *claim, *expected, *verdict, *evidence;
} ClaimRow;

typedef struct {
    int mutants, steps;
    const Options *options;
    size_t count, done;
    OwnClaim own[OWN_MOST];
    const Claim *claim[CLAIMS_MOST];
    Finding finding[CLAIMS_MOST]; /* (done), as the next */
    struct {
        int met; /* the verdict is the registered one; a mutant's is any other */
        ClaimRow row;
        char claim[1024], expected[VERDICT_BYTES], verdict[VERDICT_BYTES];
    } told[CLAIMS_MOST];
    size_t of[2],
        met[2]; /* numbers of registered claims and of the user's, and of those that are met */
} Verification;

#define ORIGINS                                                                              \
    "paper: a paper says it; inference: a reader would conclude it from what a paper says; " \
    "code: released code does it; own: this project derives it or asks it; yours: --own gives it"

static const Column columns[] = {
    COLUMN(ClaimRow, id, .page = 1),
    COLUMN(ClaimRow, source, .page = 1, .words = "where the claim is made, or what it is about"),
    COLUMN(ClaimRow, claim, .page = 1, .sparse = 1, .form = SHEET_WORDS),
    COLUMN(ClaimRow, expected, .words = "the registered verdict; for a claim of yours: verified"),
    COLUMN(ClaimRow, verdict, .page = 1, .sparse = 1, .words = "what was found"),
    COLUMN(ClaimRow, evidence, .page = 1, .sparse = 1, .form = SHEET_WORDS),
    COLUMN(ClaimRow, origin, .page = 1, .words = ORIGINS),
    {0}};
/* ---- which claims -------------------------------------------------------------------------------------- */

static int unknown_claim(const char *id)
{
    const char *names[CLAIMS_MOST];
    size_t n = 0;
    for (const Claim *c; n < CLAIMS_MOST && (c = claim_at(n)); n++) names[n] = c->id;
    return error_set(ERR_INPUT, "unknown claim '%.60s'%s; 'trotter verify --list' names them", id,
                     nearest_words(id, names, n));
}

static int add_claims(Verification *v, const char *id)
{
    size_t before = v->count;
    const Claim *c;
    for (size_t i = 0; (c = claim_at(i)); i++) {
        if (strcmp(id, "all") != 0 && strcmp(id, c->id) != 0) continue;
        if (v->count == CLAIMS_MOST) return error_set(ERR_INPUT, "at most %d claims", CLAIMS_MOST);
        v->claim[v->count++] = c;
    }
    return v->count > before ? 0 : unknown_claim(id);
}

static int choose(Verification *v, const char *ids)
{
    SCOPED(memory_drop) char *list = memory_string(ids);
    if (!list) return ERR_MEMORY;
    for (char *rest = list, *id; (id = strsep(&rest, ","));) TRY(add_claims(v, id));
    return 0;
}

/* Chooses the claims. Claims of the user's run alone, or together with those that --claim names. */
static int choose_all(Verification *v)
{
    const Options *o = v->options;
    const char *text = options_item(o, "own", 0);
    if (text && v->mutants)
        return error_set(ERR_INPUT, "--own and --mutants: a claim of one's own has no mutant");
    if (!text || options_rank(o, "claim") != OPTION_DEFAULT)
        TRY(choose(v, options_text(o, "claim")));
    for (size_t i = 0; (text = options_item(o, "own", i)); i++) {
        if (i == OWN_MOST || v->count == CLAIMS_MOST)
            return error_set(ERR_INPUT, "at most %d claims of one's own", OWN_MOST);
        TRY(claim_own(text, i + 1, &v->own[i]));
        v->claim[v->count++] = &v->own[i].claim;
    }
    return 0;
}

/* ---- running --------------------------------------------------------------------------------------------- */

/* Tells what was found of claim i. */
static void tell(Verification *v, size_t i)
{
    const Claim *c = v->claim[i];
    int verdict = finding_verdict(&v->finding[i]), yours = c->origin == CLAIM_YOURS;
    char *claim = v->told[i].claim, *expected = v->told[i].expected, *found = v->told[i].verdict;
    int n = v->mutants ? sprintf(expected, "not: ") : 0;
    claim_verdict(c, c->expected, expected + n, sizeof v->told[i].expected - (size_t)n);
    claim_verdict(c, verdict, found, sizeof v->told[i].verdict);
    snprintf(claim, sizeof v->told[i].claim, "%s%s%s%s", v->mutants ? "Mutant: " : "",
             v->mutants ? c->mutant.what : "", v->mutants ? ". " : "", c->statement);
    v->told[i].met = (verdict == c->expected) != v->mutants;
    v->told[i].row = (ClaimRow){c->id,    c->source, claim_origin(c->origin), claim,
                                expected, found,     v->finding[i].text};
    v->of[yours]++;
    v->met[yours] += v->told[i].met != 0;
}

/* Puts the user's claim before the error that it caused. */
static int name_own(const Claim *c, int code)
{
    char words[1024];
    if (code != ERR_INPUT || c->origin != CLAIM_YOURS) return code;
    snprintf(words, sizeof words, "%s", error_text());
    return error_set(code, "--own '%.80s': %s", ((const OwnClaim *)c)->text, words);
}

static int run_claims(Verification *v)
{
    SCOPED(zoo_close) Zoo z = {0};
    TRY(select_files(v->options, &z));
    while (v->done < v->count) {
        const Claim *c = v->claim[v->done];
        progress_of(v->done, v->count, "%zu of %zu: %s", v->done + 1, v->count, c->id);
        TRY(name_own(c, claim_run(c, &z, v->mutants, v->steps, &v->finding[v->done])));
        tell(v, v->done++);
    }
    progress_clear();
    return 0;
}

/* ---- printing ---------------------------------------------------------------------------------------------- */

/* Prints a paragraph in lines of TEXT_WIDTH, the first after a label. */
static void wrap(const char *label, const char *text)
{
    int column = printf("  %-9s ", label);
    for (int n; *text; text += n + (text[n] == ' ')) {
        n = (int)strcspn(text, " ");
        if (column > 12 && column + n >= TEXT_WIDTH) column = printf("\n%*s", 12, "") - 1;
        column += printf("%s%.*s", column > 12 ? " " : "", n, text);
    }
    printf("\n");
}

/* Prints the derivation, or the terms of every compared map, one map after another. */
static void print_steps(const Finding *f)
{
    if (f->steps.count) {
        wrap("steps", f->derived ? f->derived[0].map : "");
        derivation_print(&f->steps, 4, stdout);
        return;
    }
    for (size_t i = 0; i < f->count; i++) {
        const Derived *d = &f->derived[i];
        if (i == 0 || strcmp(d->map, d[-1].map) != 0) wrap("steps", d->map);
        printf("%14s%12s  %s\n", "", d->coefficient, d->term);
    }
}

static void print_claim(const Verification *v, size_t i)
{
    const ClaimRow *row = &v->told[i].row;
    printf("%s  (%s: %s)\n", row->id, row->origin, row->source);
    wrap("claim", row->claim);
    wrap("verdict", row->verdict);
    wrap("evidence", row->evidence);
    if (v->steps) print_steps(&v->finding[i]);
    if (!v->told[i].met && v->claim[i]->origin != CLAIM_YOURS) wrap("EXPECTED", row->expected);
    printf("\n");
}

/* Prints the counts of an origin. Returns 0 where it has no claims. */
static int print_count(const char *origin, const size_t number[4])
{
    size_t n = number[CLAIM_VERIFIED] + number[CLAIM_REFUTED] + number[CLAIM_CONDITIONAL] +
               number[CLAIM_UNDECIDED];
    if (n == 0) return 0;
    printf("%-9s %3zu claims: %3zu verified, %2zu refuted, %2zu hold only under a condition, %zu "
           "undecided",
           origin, n, number[CLAIM_VERIFIED], number[CLAIM_REFUTED], number[CLAIM_CONDITIONAL],
           number[CLAIM_UNDECIDED]);
    return 1;
}

static void print_claims(const Verification *v)
{
    printf("Order p means local error h^(p+1); the Macaron paper counts local orders. Error = "
           "numerical -\n"
           "exact unless said otherwise; [F,G] = G'F - F'G.\n\n");
    for (size_t i = 0; i < v->done; i++) print_claim(v, i);
    size_t number[CLAIM_ORIGINS + 1][4] = {0};
    for (size_t i = 0; i < v->done; i++) {
        int verdict = finding_verdict(&v->finding[i]);
        number[v->claim[i]->origin][verdict]++;
        number[CLAIM_ORIGINS][verdict]++;
    }
    for (int o = 0; o < CLAIM_ORIGINS; o++)
        if (print_count(claim_origin(o), number[o])) printf("\n");
    if (v->of[0] == 0) return;
    print_count("all", number[CLAIM_ORIGINS]);
    printf("; %zu as %s.\n", v->met[0], v->mutants ? "a mutant should be" : "registered");
}

static int list_claims(const Verification *v, int csv)
{
    SCOPED(sheet_drop) Sheet *r = NULL;
    char words[VERDICT_BYTES];
    TRY(sheet_new(columns, &r));
    for (size_t i = 0; i < v->count; i++) {
        const Claim *c = v->claim[i];
        claim_verdict(&(const Claim){0}, c->expected, words, sizeof words);
        sheet_row(
            r, &(ClaimRow){.id = c->id,
                           .source = c->source,
                           .origin = claim_origin(c->origin),
                           .expected = c->expected == CLAIM_CONDITIONAL ? "conditional" : words});
    }
    return sheet_write(r, csv ? SHEET_CSV : SHEET_PLAIN, stdout);
}

static int save_steps(const Verification *v, const char *dir)
{
    SCOPED(sheet_drop) Sheet *r = NULL;
    TRY(sheet_new(derivation_claim_columns, &r));
    for (size_t i = 0; i < v->done; i++) derivation_rows(&v->finding[i].steps, v->claim[i]->id, r);
    return output_sheet(r, SHEET_CSV, dir, "steps.csv");
}

static int save(const Verification *v, const Sheet *r, const char *dir)
{
    Output o;
    TRY(output_directory(dir));
    TRY(output_sheet(r, SHEET_CSV, dir, "verify.csv"));
    if (v->steps) TRY(save_steps(v, dir));
    TRY(output_open(&o));
    return output_put(&o, claims_latex(v->claim, v->finding, v->done, o.f), dir, "verify.tex");
}

static int show(const Options *o, const Verification *v)
{
    SCOPED(sheet_drop) Sheet *r = NULL;
    const char *dir = options_text(o, "out");
    TRY(sheet_new(columns, &r));
    for (size_t i = 0; i < v->done; i++) sheet_row(r, &v->told[i].row);
    if (options_flag(o, "csv"))
        TRY(sheet_write(r, SHEET_CSV, stdout));
    else
        print_claims(v);
    return dir ? save(v, r, dir) : 0;
}

/* Checks the verdicts: the user's claims should hold, registered ones should have the registered verdict. */
static int check_verdicts(const Verification *v)
{
    size_t off[2] = {v->of[0] - v->met[0], v->of[1] - v->met[1]};
    if (off[0])
        return error_set(ERR_CHECK, "%zu of %zu verdicts are not what they should be", off[0],
                         v->of[0]);
    if (off[1])
        return error_set(ERR_CHECK, "%zu of %zu claims of yours %s not verified", off[1], v->of[1],
                         v->of[1] == 1 ? "is" : "are");
    return 0;
}

/* Returns why a claim has no certificate; NULL: it has one. */
static const char *uncertified(ClaimCheck *check, const char *map)
{
    return check == check_family
               ? "is about all members of a family: --own \"SCHEME order P\" takes one member"
           : check == check_expansion
               ? "says each term of an error, where a certificate says which conditions hold: "
                 "--own \"SCHEME order P\" takes those"
           : check != check_order && check != check_brackets ? "is not of order conditions"
           : strchr(map, '|')
               ? "is about several schemes: --own \"SCHEME order P\" takes one of them"
           : strstr(map, " then ") ? "is about schemes that take turns"
                                   : NULL;
}

/* Prints a certificate of a claim, or of its mutant; of one that holds under a condition, of what holds there. */
static int certify(const Claim *c, const Zoo *z, int mutant, int form)
{
    const char *arg[CLAIM_ARGS];
    TABLE(t);
    SCOPED(bracket_free) Brackets error = {0};
    claim_arguments(c, mutant, arg);
    int order = c->check == check_order, under = order && arg[3];
    const char *map = under ? arg[3] : arg[0], *why = uncertified(c->check, map);
    if (why)
        return error_set(
            ERR_INPUT,
            "%s: --certificate takes claims about the order or the brackets of one scheme; this one %s",
            c->id, why);
    CertificateClaim claim = {.order = order ? atoi(arg[1]) : -1,
                              .one_field = order && !strchr(under ? arg[4] : arg[2], '+')};
    TRY(map_table(z, map, &t));
    if (!order) {
        TRY(bracket_read(t, arg[2], atoi(arg[1]), &error));
        claim.error = &error;
        claim.letters = atoi(arg[1]);
    }
    return certificate_print(t, &claim, form, TREE_MAX, stdout);
}

static int print_certificate(const Options *o, const Verification *v)
{
    SCOPED(zoo_close) Zoo z = {0};
    if (v->count != 1)
        return error_set(
            ERR_INPUT, "--certificate: expected one claim, --claim ID or --own, not %zu", v->count);
    TRY(select_files(o, &z));
    return name_own(v->claim[0],
                    certify(v->claim[0], &z, v->mutants, options_choice(o, "certificate")));
}

static int verify(const Options *o, Verification *v)
{
    TRY(choose_all(v));
    if (options_text(o, "certificate")) return print_certificate(o, v);
    if (options_flag(o, "list")) return list_claims(v, options_flag(o, "csv"));
    TRY(run_claims(v));
    TRY(show(o, v));
    return check_verdicts(v);
}

static int run(Options *o)
{
    Verification *v = memory_new(1, sizeof *v);
    if (!v) return ERR_MEMORY;
    v->options = o;
    v->mutants = options_flag(o, "mutants");
    v->steps = options_flag(o, "steps");
    /* All work is tiny; threads would only wait for each other, and on a busy machine for long. */
    omp_set_num_threads(1);
    int code = verify(o, v);
    for (size_t i = 0; i < v->done; i++) finding_free(&v->finding[i]);
    memory_free(v);
    return code;
}

/* Counts claims by origin and verdict, and those whose verdict differs from the registered one. */
static void judge(const Frame *c, Verdict *v)
{
    size_t refuted = 0, conditional = 0, undecided = 0, off = 0, of[CLAIM_ORIGINS] = {0};
    for (size_t i = 0; i < c->rows; i++) {
        const char *is = frame_text(c, i, "verdict"), *should = frame_text(c, i, "expected");
        const char *origin = frame_text(c, i, "origin");
        int mutant = strncmp(should, "not: ", 5) == 0;
        refuted += strncmp(is, "refuted", 7) == 0;
        conditional += strncmp(is, "holds only if", 13) == 0;
        undecided += strncmp(is, "undecided", 9) == 0;
        off += mutant ? strcmp(is, should + 5) == 0 : strcmp(is, should) != 0;
        for (int o = 0; o < CLAIM_ORIGINS; o++)
            of[o] += origin && strcmp(origin, claim_origin(o)) == 0;
    }
    verdict_say(v,
                "%zu claims (%zu of papers, %zu inferred from them, %zu of released code, %zu of "
                "this project",
                c->rows, of[CLAIM_PAPER], of[CLAIM_INFERENCE], of[CLAIM_CODE], of[CLAIM_OWN]);
    if (of[CLAIM_YOURS]) verdict_say(v, ", %zu of yours", of[CLAIM_YOURS]);
    verdict_say(v, "): ");
    verdict_say(v, "%zu verified, %zu refuted, %zu hold only under a condition, %zu undecided; ",
                c->rows - refuted - conditional - undecided, refuted, conditional, undecided);
    if (off)
        verdict_say(v, "%zu not with the verdict that they should have", off);
    else
        verdict_say(v, "every verdict is the %s one", of[CLAIM_YOURS] ? "right" : "registered");
    v->bad = off > 0;
}

const Command command_verify = {
    .name = "verify",
    .purpose = "verify or refute the papers' theorems and claims",
    .about =
        "Checks the papers' claims exactly where it can (series in rationals, tables, words), and by numbers with\n"
        "a negative control. A claim whose exact and numerical answers differ, or whose control was not refused,\n"
        "is undecided. Exit status 0 means that every verdict is the registered one and every claim of --own is\n"
        "verified; otherwise it is 1.\n",
    .example = "--own \"strang-marchuk order 2\"",
    .faster = "fewer --claim",
    .groups = GROUPS(
        OPTION_GROUP(
            "Claims", 1,
            {"claim", OPTION_TEXT, "all", "ID,ID,...", "claims separated by commas, or all"},
            {"own", OPTION_LIST, NULL, "CLAIM",
             "check a claim of your own, alone or beside those of --claim: \"SCHEME order P\", \"SCHEME error N: "
             "-1/2 F'G + 1/2 G'F\" for numerical - exact through h^N, for a scheme over H in H too, \"SCHEME "
             "brackets N: 1/12 [F,[F,G]] - 1/24 [[F,G],G]\" for log(step)/h - (F+G) through N letters; +, - or ; "
             "separate terms, which are added up; coefficients are fractions or decimals; or a property: \"SCHEME "
             "symplectic\", symmetric, A-stable, L-stable, algebraically stable, B-stable, zero-stable, stage order Q"},
            SELECT_FILE,
            {"mutants", OPTION_FLAG, NULL, NULL,
             "run each claim's altered form instead: every verdict must change"},
            {"list", OPTION_FLAG, NULL, NULL,
             "list the claims and their registered verdicts; run nothing"}),
        OPTION_GROUP(
            "Output", 0,
            {"steps", OPTION_FLAG, NULL, NULL,
             "print the derivation of each claim too: stages or flows expanded, put in, what cancels"},
            {"certificate", OPTION_CHOICE, NULL, "coq|json",
             "print the claim instead, of the order or the brackets of one scheme, as a proof that coqc or "
             "studies/scripts/check_certificate.py accepts if it is so, and refuses if not"},
            {"csv", OPTION_FLAG, NULL, NULL, "write the table as CSV"},
            {"out", OPTION_TEXT, NULL, "DIR", "write DIR/verify.csv and DIR/verify.tex too"})),
    .kinds = KINDS(
        {.command = "verify",
         .title = "The papers' claims",
         .about = "Each claim is checked exactly where it can be, and by numbers with a negative "
                  "control. $[F,G] = G'F − F'G$. " KIND_ORDERS,
         .judge = judge,
         .table = {{"verify", columns, "Claims, verdicts and evidence.", KIND_ALL},
                   {"steps", derivation_claim_columns, "The claims' derivations, line by line.",
                    KIND_ALL}}}),
    .run = run,
};
