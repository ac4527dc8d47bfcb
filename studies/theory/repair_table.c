/* repair_table.c: which coefficients of a scheme's text fail its order conditions, and what should stand there, as a table
 * with words, and the repaired text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "studies/theory/theory_study.h"

typedef struct {
    size_t candidate;
    const char *coefficient, *written, *repaired, *misprint;
    size_t explains, failing;
} RepairRow;

const Column repair_columns[] = {
    COLUMN(RepairRow, candidate,
           .words = "number of the repair; two rows of one number belong together"),
    COLUMN(
        RepairRow, coefficient,
        .words =
            "place in the tableau: a32, b4, a node c3, bhat2, a weight of the error; or a line of the text"),
    COLUMN(RepairRow, written, .words = "value that stands there"),
    COLUMN(RepairRow, repaired, .words = "value with which the conditions hold"),
    COLUMN(
        RepairRow, explains,
        .words =
            "failing conditions that the repair meets; none that holds is broken, unless the lines above say that nothing meets them all"),
    COLUMN(RepairRow, failing, .words = "conditions that fail as the text is"),
    COLUMN(RepairRow, misprint,
           .words = "slip by which the one becomes the other, or how many characters differ"),
    {0}};

static const char *misprint_of(const Repair *r, const RepairCandidate *c, size_t k, char words[64])
{
    const Misprint *m = &c->misprint[k];
    if (r->coefficients.list[c->coefficient[k]].asked) return "asked for";
    if (m->distance == 1) return m->words;
    int node = r->name[c->coefficient[k]][0] == 'c';
    snprintf(words, 64, "%s%d characters differ", node ? "not the sum of its row; " : "",
             m->distance);
    return words;
}

static void fill(const Repair *r, Sheet *sheet)
{
    char words[64];
    for (size_t i = 0; i < r->candidates; i++) {
        const RepairCandidate *c = &r->candidate[i];
        for (size_t k = 0; k < c->unknowns; k++) {
            const Coefficient *x = &r->coefficients.list[c->coefficient[k]];
            RepairRow row = {.candidate = i + 1,
                             .coefficient = r->name[c->coefficient[k]],
                             .written = x->word,
                             .repaired = c->misprint[k].text,
                             .explains = c->explained,
                             .failing = r->failing,
                             .misprint = misprint_of(r, c, k, words)};
            sheet_row(sheet, &row);
        }
    }
}

static void tell_orders(const Repair *r)
{
    static const char *const how[] = {[REPAIR_ASKED] = "as asked for",
                                      [REPAIR_CLAIMED] = "as its text says",
                                      [REPAIR_HIGHEST] =
                                          "the highest that one coefficient reaches"};
    char hat[64] = "";
    int fine = r->how == REPAIR_HIGHEST && r->failing == 0;
    if (r->embedded) snprintf(hat, sizeof hat, ", embedded %d", r->embedded);
    printf("conditions to order %d (%s%s): %zu, of which %zu fail%s%s\n", r->order,
           fine ? "its own; no single coefficient brings it higher" : how[r->how], hat,
           r->conditions, r->failing, r->asked ? " with 1 in place of '?'" : "",
           r->exact ? "" : "; decimals, or fractions that are roundings: to their last digits");
}

/* Names the coefficients that no condition depends on, and those that were left alone. */
static void tell_unseen(const Repair *r)
{
    for (int what = 0; what <= 2; what += 2) {
        size_t told = 0;
        for (size_t k = 0; k < r->coefficients.count; k++) {
            if (r->seen[k] != what) continue;
            if (what && mpq_sgn(r->coefficients.list[k].value) == 0)
                continue; /* above the diagonal */
            if (told == 0 && what)
                printf(
                    "not tried, as they do not stand in the scheme by themselves or would make it implicit:");
            else if (told == 0)
                printf("no condition to order %d depends on", r->order);
            printf("%s %s", told++ ? "," : "", r->name[k]);
        }
        if (told) putchar('\n');
    }
}

/* Says of several repairs that meet all conditions that these cannot tell which is right, and what else tells. */
static void tell_undecided(const Repair *r)
{
    size_t met = 0, near = 0;
    const char *last = r->exact ? "" : " to the last digits";
    const RepairCandidate *c = r->candidate;
    if (r->reached) return;
    for (; met < r->candidates && c[met].explained == r->failing; met++)
        near += c[met].distance == 1;
    if (met < 2) return;
    if (!repair_unique(r))
        printf(
            "the conditions do not decide: %zu repairs meet them all%s, %zu of these by one slip\n",
            met, last, near);
    else if (near > 1 && c[0].looser == c[1].looser)
        printf(
            "%zu repairs meet all conditions%s by one slip; the first leaves the simplest numbers, by %.0f bits\n",
            near, last, floor(c[1].bits - c[0].bits));
}

static void tell_found(const Repair *r)
{
    static const char *const nothing[2][3] = {
        {"", "no single coefficient meets them all",
         "no single coefficient, and no two of them, meets them all"},
        {"no value of the coefficients asked for meets them all",
         "no value of the coefficients asked for meets them all, nor any with one more changed",
         "no value of the coefficients asked for meets them all, nor any with one or two more changed"}};
    tell_undecided(r);
    if (r->failing == 0 && !r->asked) puts("nothing to repair");
    if (r->undetermined) puts("the conditions do not determine the coefficients asked for");
    if (r->reached)
        printf("nothing meets them all; these meet the conditions to order %d\n", r->reached);
    else if (r->failing && !r->candidates && !r->undetermined)
        printf("%s\n", nothing[r->asked > 0][r->changed]);
}

/* Writes the text with the first candidate's values to standard output, or into a folder. */
static int write_text(const Repair *r, const char *text, size_t bytes, const char *dir)
{
    char path[OUTPUT_PATH], *repaired;
    size_t n;
    int code = repair_written(r, 0, text, bytes, &repaired, &n);
    if (code == 0 && !dir) printf("\n%s%s", repaired, n && repaired[n - 1] == '\n' ? "" : "\n");
    if (code == 0 && dir) code = output_path(path, dir, "repaired.scheme");
    if (code == 0 && dir) code = file_replace(path, repaired, n);
    free(repaired);
    return code;
}

static int show(const Repair *r, const char *file, const char *text, size_t bytes, int csv,
                const char *dir)
{
    SCOPED(sheet_drop) Sheet *sheet = NULL;
    TRY(sheet_new(repair_columns, &sheet));
    fill(r, sheet);
    if (!csv) tell_orders(r);
    if (!csv) tell_found(r);
    if (!csv) tell_unseen(r);
    if (r->candidates || dir) {
        if (!csv) putchar('\n');
        TRY(output_shown(sheet, csv, dir, "repair"));
    }
    int unique = repair_unique(r);
    if (r->candidates && unique && (!csv || dir)) TRY(write_text(r, text, bytes, dir));
    if (unique) return 0;
    return error_set(ERR_CHECK, "%s: %s", file,
                     r->candidates && !r->reached ? "several repairs meet the conditions"
                                                  : "no repair meets the conditions");
}

int repair_tell(const char *file, int order, int csv, const char *dir)
{
    SCOPED(memory_drop) char *text = NULL;
    SCOPED(repair_free) Repair r = {0};
    size_t bytes;
    TRY(output_read(file, &text, &bytes));
    if (bytes > SCHEME_BYTES)
        return error_set(ERR_INPUT, "%s: expected a text of at most 1 MiB", file);
    progress_show("conditions of %s", file);
    TRY(repair_find(file, text, bytes, order, &r));
    progress_clear();
    return show(&r, file, text, bytes, csv, dir);
}
