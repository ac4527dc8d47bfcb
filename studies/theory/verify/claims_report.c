/* claims_report.c: writes claims and findings as LaTeX, with the coefficients of the derivations. */
#include <ctype.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/theory/verify/claims.h"
#include "studies/base/latex.h"
#include "studies/base/notation.h"

static const char reading[] = "Order p means local error O(h^(p+1)), global error O(h^p); the "
                              "Macaron paper counts local orders, one more. Error is numerical - "
                              "exact unless a claim says otherwise; [F,G] = G'F - F'G; \"F then "
                              "G\" is S_G(S_F(y)). Exact parts are computed in rationals; measured "
                              "parts have a negative control that was refused.";

/* Counts the consecutive derivation rows that share a map. */
static size_t run_length(const Finding *f, size_t from)
{
    size_t n = 1;
    while (from + n < f->count && strcmp(f->derived[from].map, f->derived[from + n].map) == 0) n++;
    return n;
}

/* Returns the power of h of a row: letters of the term, one less in log(step)/h. */
static int power(const Derived *d)
{
    int n = -(strncmp(d->map, "log", 3) == 0);
    for (const char *s = d->term; *s; s++) n += strchr("FGCH", *s) != NULL;
    return n;
}

/* ---- derivations --------------------------------------------------------------------------------------- */

static void latex_derivation(const Finding *f, FILE *out)
{
    if (f->steps.count) {
        derivation_latex(&f->steps, out);
        return;
    }
    for (size_t i = 0, n; i < f->count; i += n) {
        n = run_length(f, i);
        fprintf(out, "\n\\par\\smallskip\\noindent ");
        latex_text(out, f->derived[i].map);
        fprintf(out, ": $");
        for (size_t k = i; k < i + n; k++) {
            const Derived *d = &f->derived[k];
            int minus = d->coefficient[0] == '-' && !strchr(d->coefficient, ' ');
            char formula[160];
            snprintf(formula, sizeof formula,
                     strchr(d->coefficient, ' ') ? "(%s) h^%d %s" : "%s h^%d %s", d->coefficient,
                     power(d), d->term);
            if (k > i) fprintf(out, "\\allowbreak %s", minus ? "" : "+");
            latex_formula(out, formula);
        }
        fprintf(out, "$\n");
    }
}

/* ---- the report ------------------------------------------------------------------------------------------ */

int claims_latex(const Claim *const *c, const Finding *f, size_t count, FILE *out)
{
    static const char *const before[] = {"\n\\subsection*{", "}\n\\emph{",   " (", ").} ",
                                         "\n\n\\textbf{",    ".} Evidence: "};
    char verdict[512];
    fputs("\\documentclass[a4paper]{article}\n\\usepackage[T1]{fontenc}\n"
          "\\usepackage{amsmath,textcomp}\n\\begin{document}\n"
          "\\section*{Derivations, claim by claim}\n\\sloppy\n",
          out);
    notation_latex(out, reading);
    fputs("\n", out);
    for (size_t i = 0; i < count; i++) {
        claim_verdict(c[i], finding_verdict(&f[i]), verdict, sizeof verdict);
        verdict[0] = (char)toupper((unsigned char)verdict[0]);
        const char *part[] = {c[i]->id,        c[i]->source, claim_origin(c[i]->origin),
                              c[i]->statement, verdict,      f[i].text};
        for (int k = 0; k < 6; k++) {
            fputs(before[k], out);
            notation_latex(out, part[k]);
        }
        fputs(".\n", out);
        latex_derivation(&f[i], out);
    }
    fputs("\n\\end{document}\n", out);
    return ferror(out) ? error_set(ERR_SYSTEM, "the report cannot be written") : 0;
}
