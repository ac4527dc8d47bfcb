/* derivation_lines.c: the lines of a derivation, broken so that they fit an article's page, and how they are written. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/theory/derivation_pen.h"
#include "studies/base/latex.h"
#include "studies/base/utf8.h"

void derivation_free(Derivation *d)
{
    for (size_t i = 0; i < d->count; i++) {
        memory_free_all(d->line[i].part, d->line[i].left, d->line[i].note);
        free(d->line[i].formula);
    }
    memory_free(d->line);
    *d = (Derivation){0};
}

void derivation_part(Derivation *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    snprintf(d->part, sizeof d->part / 2, "%s", d->of ? d->of : "");
    vsnprintf(d->part + strlen(d->part), sizeof d->part / 2, format, args);
    va_end(args);
}

/* Adds a line; owns the formula. */
static void add_line(Derivation *d, const char *left, char *formula, const char *note)
{
    if (d->code == 0) d->code = memory_more(&d->line, d->count, sizeof *d->line);
    if (d->code != 0) {
        free(formula);
        return;
    }
    DerivationLine *l = &d->line[d->count++];
    *l =
        (DerivationLine){memory_string(d->part), memory_string(left), formula, memory_string(note)};
    if (!l->part || !l->left || !l->note) d->code = ERR_MEMORY;
}

void pen_open(Pen *p, Derivation *d, const char *left)
{
    *p = (Pen){.d = d, .left = left};
    if (d->code == 0 && !(p->f = open_memstream(&p->text, &p->bytes)))
        d->code = error_set(ERR_MEMORY, "out of memory: a derivation");
    if (p->f) fflush(p->f); /* sets text */
}

void pen_close(Pen *p, const char *note)
{
    if (!p->f) return;
    if (fclose(p->f) == 0)
        add_line(p->d, p->left, p->text, note);
    else
        p->d->code = error_set(ERR_MEMORY, "out of memory: a derivation");
    p->f = NULL;
}

void pen_break(Pen *p)
{
    pen_close(p, "");
    pen_open(p, p->d, "");
}

enum { LINE = 2700 }; /* hundredths of an em */

void pen_put(Pen *p, const char *format, ...)
{
    char piece[512];
    va_list args;
    va_start(args, format);
    vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (!p->f) return;
    if (*p->text && latex_formula_width(p->text) + latex_formula_width(piece) > LINE) pen_break(p);
    if (!p->f) return;
    fputs(piece + (*p->text == '\0' && *piece == ' '), p->f);
    fflush(p->f);
}

/* ---- plain ------------------------------------------------------------------------------------------ */

void derivation_print(const Derivation *d, int margin, FILE *f)
{
    size_t left = 0;
    for (size_t i = 0; i < d->count; i++) {
        size_t n = utf8_columns(d->line[i].left, SIZE_MAX);
        if (n > left) left = n;
    }
    for (size_t i = 0; i < d->count; i++) {
        const DerivationLine *l = &d->line[i];
        int pad = (int)(left - utf8_columns(l->left, SIZE_MAX));
        if (i == 0 || strcmp(l->part, l[-1].part) != 0) fprintf(f, "%*s%s\n", margin, "", l->part);
        fprintf(f, "%*s%*s%s  %s%s%s\n", margin + 2, "", pad, "", l->left, l->formula,
                *l->note ? "   " : "", l->note);
    }
}

/* ---- LaTeX ------------------------------------------------------------------------------------------ */

void derivation_latex(const Derivation *d, FILE *f)
{
    enum { LINES = 40 }; /* in one display: TeX has no room for many more */
    for (size_t i = 0, n; i < d->count; i += n) {
        const DerivationLine *l = &d->line[i];
        fputs("\n\\noindent ", f);
        latex_text(f, l->part);
        fputs("\n{\\allowdisplaybreaks\n\\begin{align*}\n", f);
        for (n = 0; i + n < d->count && n < LINES && strcmp(l[n].part, l->part) == 0; n++) {
            fputs(n ? " \\\\\n  " : "  ", f);
            latex_formula(f, l[n].left);
            fputs(" &\\ ", f);
            latex_formula(f, l[n].formula);
            if (*l[n].note) fputs(" \\quad\\text{", f), latex_text(f, l[n].note), fputc('}', f);
        }
        fputs("\n\\end{align*}}\n", f);
    }
}

/* ---- rows ------------------------------------------------------------------------------------------- */

typedef struct {
    const char *scheme, *part, *left, *formula, *note;
} StepRow;

#define LINES_OF(column)                                                                      \
    FIELD(StepRow, column, scheme), COLUMN(StepRow, part, .words = "what the line is about"), \
        COLUMN(StepRow, left, .form = SHEET_FORMULA,                                          \
               .words = "left side; where it is empty, the line above goes on"),              \
        COLUMN(StepRow, formula, .form = SHEET_FORMULA, .words = "right side"),               \
        COLUMN(StepRow, note, .words = "what becomes of the term")
const Column derivation_columns[] = {LINES_OF("scheme"), {0}};
const Column derivation_claim_columns[] = {LINES_OF("claim"), {0}};

void derivation_rows(const Derivation *d, const char *of, Sheet *r)
{
    for (size_t i = 0; i < d->count; i++) {
        const DerivationLine *l = &d->line[i];
        sheet_row(r, &(StepRow){of, l->part, *l->left ? l->left : "…", l->formula, l->note});
    }
}
