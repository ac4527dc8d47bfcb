/* tableau.c: the reader of tableaus (ode/scheme/butcher.c) beside what was drawn: an input draws A, b and c, which are
 * written as JSON and as a drawing. Both must read as the table of these numbers, and print as one that reads again. */
#include <math.h>

#include "tests/fuzz/drawn.h"

typedef char Entry[512];

typedef struct {
    size_t stages;
    Entry a[DRAWN_STAGES + 2][DRAWN_STAGES]; /* rows of A, b, c */
    mpq_t c[DRAWN_STAGES];
} Numbers;

static void draw_entry(Drawn *d, Entry out, mpq_t x)
{
    d->n = 0;
    draw_number(d, 2, x);
    FUZZ_CHECK(d->n < sizeof(Entry));
    memcpy(out, d->text, d->n + 1);
}

/* Draws rows, of explicit methods or full ones; a node is its row's sum or, one time in four, another number. */
static void draw_tableau(Drawn *d, DrawnRows *w, Numbers *t)
{
    t->stages = 1 + draw(d, DRAWN_STAGES);
    int full = draw(d, 4) == 3;
    for (size_t i = 0; i <= t->stages; i++)
        for (size_t j = 0; j < t->stages; j++) {
            if (j < i || full)
                draw_entry(d, t->a[i][j], w->c[i][j][0]);
            else
                strcpy(t->a[i][j], "0");
            if (fuzz_planted && j == 2) mpq_neg(w->c[i][j][0], w->c[i][j][0]);
        }
    for (size_t i = 0; i < t->stages; i++) {
        char *text = t->a[t->stages + 1][i];
        mpq_init(t->c[i]);
        for (size_t j = 0; j < t->stages; j++) mpq_add(t->c[i], t->c[i], w->c[i][j][0]);
        if (draw(d, 4) == 3)
            draw_entry(d, text, t->c[i]);
        else
            gmp_snprintf(text, sizeof(Entry), "%Qd", t->c[i]);
    }
}

static void write_json(const Numbers *t, FILE *f)
{
    fprintf(f, "{\"name\": \"drawn\", \"A\": [");
    for (size_t i = 0; i < t->stages + 2; i++) {
        if (i >= t->stages) fprintf(f, "], \"%c\": ", i == t->stages ? 'b' : 'c');
        for (size_t j = 0; j < t->stages; j++) fprintf(f, "%s\"%s\"", j ? ", " : "[", t->a[i][j]);
        fputs(i + 1 < t->stages ? "]," : i + 1 == t->stages ? "]" : "", f);
    }
    fputs("]}", f);
}

static void write_drawing(const Numbers *t, FILE *f)
{
    fputs("drawn\n", f);
    for (size_t i = 0; i <= t->stages; i++) {
        if (i == t->stages) fputs("---+---\n", f);
        fprintf(f, "%s |", i < t->stages ? t->a[t->stages + 1][i] : "");
        for (size_t j = 0; j < t->stages; j++) fprintf(f, " %s", t->a[i][j]);
        fputc('\n', f);
    }
}

static Table *read_text(const char *text, size_t bytes)
{
    Table **list = NULL;
    size_t count = 0;
    int code = butcher_parse("drawn", text, bytes, &list, &count);
    if (code != 0) fprintf(stderr, "%s\n%s\n", error_text(), text);
    FUZZ_CHECK(code == 0 && count == 1);
    Table *t = list[0];
    memory_free(list);
    return t;
}

/* Reads what `write` writes of the numbers or, where they are NULL, the table in a form. */
static Table *read_back(const Numbers *n, void (*write)(const Numbers *, FILE *), const Table *t,
                        int form)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    FUZZ_CHECK(f != NULL);
    if (n) write(n, f);
    FUZZ_CHECK(n || butcher_print(t, form, f) == 0);
    FUZZ_CHECK(fclose(f) == 0);
    Table *again = read_text(text, bytes);
    free(text);
    return again;
}

FUZZ()
{
    static void (*const write[])(const Numbers *, FILE *) = {write_json, write_drawing};
    static Drawn d;
    static DrawnRows w;
    static Numbers n;
    drawn_begin(&d, data, size, &w);
    d.plain = 1;
    draw_tableau(&d, &w, &n);
    for (int form = BUTCHER_JSON; form <= BUTCHER_DRAWN; form++) {
        Table *t = read_back(&n, write[form], NULL, form), *again = read_back(NULL, NULL, t, form);
        FUZZ_CHECK(t->stages == n.stages && (t->exact || d.inexact));
        drawn_rows(&d, &w, t);
        for (size_t e = 0; e < t->evals; e++) {
            mpq_t *got = t->point[t->eval[e].point].c, *want = &n.c[t->eval[e].stage];
            double x = mpq_get_d(got[OP_F]), y = mpq_get_d(*want);
            FUZZ_CHECK(mpq_equal(got[OP_F], got[OP_G]));
            FUZZ_CHECK(fabs(x - y) <= 2e-9 * (1 + fabs(y))); /* a node that near is the sum */
        }
        FUZZ_CHECK(!t->exact || table_equal(t, again));
        table_free(t);
        table_free(again);
    }
    for (size_t i = 0; i < n.stages; i++) mpq_clear(n.c[i]);
    drawn_end(&d, &w);
}
