/* statements.c: the reader of schemes (ode/scheme/statement.c, expression.c) beside what was drawn: an input draws a
 * scheme of stages F, G or H with named coefficients, expressions and past slopes, and the table must have their sums. */
#include <math.h>

#include "tests/fuzz/drawn.h"

/* Writes terms of row i, which may read the first `now` stages of this step and all of past ones. */
static void draw_terms(Drawn *d, DrawnRows *w, size_t stages, size_t i, size_t now)
{
    mpq_t x;
    mpq_init(x);
    for (size_t n = draw(d, 5); n > 0; n--) {
        size_t past = draw(d, DRAWN_DEEPEST), j = draw(d, past ? stages : now ? now : 1);
        char slope[32];
        if (past == 0 && now == 0) continue;
        int back = snprintf(slope, sizeof slope, "k%zu", j + 1);
        if (past) snprintf(slope + back, sizeof slope - (size_t)back, "[-%zu]", past);
        int minus = draw(d, 2) == 1, behind = draw(d, 2) == 1;
        draw_text(d, minus ? " -" : " + ");
        if (behind) draw_text(d, "%s*", slope);
        draw_number(d, 3, x);
        if (!behind) draw_text(d, " * %s", slope);
        if (minus) mpq_neg(x, x);
        mpq_ptr c = w->c[i][j][past];
        mpq_add(c, c, x);
        drawn_size(d, c);
        if (fuzz_planted && past == 2) mpq_add(c, c, x);
    }
    mpq_clear(x);
}

static void draw_scheme(Drawn *d, DrawnRows *w)
{
    size_t stages = 1 + draw(d, DRAWN_STAGES), names = draw(d, DRAWN_NAMES + 1);
    char op = "FGH"[draw(d, 3)];
    draw_text(d, "scheme drawn # of bytes\n");
    while (d->names < names) {
        draw_text(d, "let a%zu = ", d->names);
        draw_number(d, 2, d->name[d->names]);
        draw_text(d, "\n");
        d->names++;
    }
    for (size_t i = 0; i < stages; i++) {
        draw_text(d, "k%zu = %c(y", i + 1, op);
        draw_terms(d, w, stages, i, i);
        draw_text(d, ")\n");
    }
    draw_text(d, "y' = y");
    draw_terms(d, w, stages, stages, stages);
    draw_text(d, "\n");
}

FUZZ()
{
    static Drawn d;
    static DrawnRows w;
    Table **list = NULL;
    size_t count = 0;
    drawn_begin(&d, data, size, &w);
    draw_scheme(&d, &w);
    int code = scheme_parse("drawn", d.text, d.n, &list, &count);
    int refused = code != 0 && d.bits > DRAWN_LONG && strstr(error_text(), "fewer digits");
    if (code != 0 && !refused) fprintf(stderr, "%s\n%s", error_text(), d.text);
    FUZZ_CHECK(refused || (code == 0 && count == 1));
    if (code == 0) {
        FUZZ_CHECK(list[0]->exact || d.inexact);
        drawn_rows(&d, &w, list[0]);
        table_free(list[0]);
        memory_free(list);
    }
    drawn_end(&d, &w);
}
