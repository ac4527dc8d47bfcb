/* bench_theory.c: `trotter bench theory`: the time to find the order of schemes with more and more stages, of one order
 * and of higher ones. Every order is known, and checked. */

#include "studies/bench/bench.h"
#include "studies/base/command.h"

typedef struct {
    const char *scheme;
    size_t stages, order;
    double seconds, low, high;
} Timed;

static const Column columns[] = {COLUMN(Timed, scheme),
                                 COLUMN(Timed, stages),
                                 COLUMN(Timed, order),
                                 FIELD(Timed, "ms", seconds, .scale = 1e3, .digits = 4),
                                 FIELD(Timed, "from", low, .scale = 1e3, .digits = 4),
                                 FIELD(Timed, "to", high, .scale = 1e3, .digits = 4),
                                 {0}};

/* Writes n steps of rk4 over 1/n each. */
static void write_composed(size_t n, FILE *f)
{
    fputs("scheme rk4-composed\n", f);
    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; s < 4; s++) {
            fprintf(f, "k%zu = H(y", 4 * i + s + 1);
            for (size_t k = 0; k < 4 * i; k++)
                fprintf(f, " + 1/%zu*k%zu", (k % 4 == 1 || k % 4 == 2 ? 3 : 6) * n, k + 1);
            if (s > 0) fprintf(f, " + 1/%zu*k%zu", s < 3 ? 2 * n : n, 4 * i + s);
            fputs(")\n", f);
        }
    fputs("y' = y", f);
    for (size_t k = 0; k < 4 * n; k++)
        fprintf(f, " + 1/%zu*k%zu", (k % 4 == 1 || k % 4 == 2 ? 3 : 6) * n, k + 1);
    fputc('\n', f);
}

/* Writes Euler's method with 1, 2, .., n steps, extrapolated to order n: step j of the j has the weight w_j / j, w_j = prod
 * over i != j of j / (j - i) (Hairer, Norsett, Wanner 1993, section II.9). The first stage belongs to all. */
static void write_extrapolated(size_t n, FILE *f)
{
    fputs("scheme euler-extrapolated\nk1 = H(y)\n", f);
    for (size_t j = 2, first = 2; j <= n; first += j - 1, j++)
        for (size_t s = 0; s + 1 < j; s++) {
            fprintf(f, "k%zu = H(y + 1/%zu*k1", first + s, j);
            for (size_t k = 0; k < s; k++) fprintf(f, " + 1/%zu*k%zu", j, first + k);
            fputs(")\n", f);
        }
    fputs("y' = y", f);
    for (size_t j = 1, first = 2; j <= n; first += j - 1, j++) {
        fprintf(f, " + (1/%zu", j);
        for (size_t i = 1; i <= n; i++)
            if (i != j) fprintf(f, "*%zu/(%zd)", j, (ssize_t)j - (ssize_t)i);
        fputs(")*(k1", f);
        for (size_t s = 0; s + 1 < j; s++) fprintf(f, " + k%zu", first + s);
        fputc(')', f);
    }
    fputc('\n', f);
}

static const struct Axis {
    void (*write)(size_t n, FILE *f);
    size_t n[8];
    size_t order; /* 0: n */
} axes[] = {{write_composed, {1, 2, 4, 8, 16}, 4}, {write_extrapolated, {2, 4, 6, 8, 10, 12}, 0}};

static int make_table(const struct Axis *a, size_t n, Table ***list, size_t *count)
{
    SCOPED(memory_drop) char *text = NULL;
    Output o;
    TRY(output_open(&o));
    a->write(n, o.f);
    TRY(output_take(&o, 0, &text));
    return scheme_parse("bench", text, strlen(text), list, count);
}

static int time_order(const Table *t, size_t order, const Options *o, BenchReport *out)
{
    SCOPED(memory_drop) Sample *s = memory_new(1, sizeof *s);
    if (!s) return ERR_MEMORY;
    double begun = bench_now(1), budget = options_real(o, "budget");
    progress_show("%s, %zu stages", t->name, t->stages);
    for (size_t i = 0; i < options_size(o, "repeats") && i < BENCH_REPEATS; i++) {
        Theory theory;
        double start = bench_now(1);
        TRY(theory_search(t, CONDITIONS_MAX, &theory));
        sample_add(s, bench_now(1) - start);
        if (theory.order != (int)order)
            return error_set(ERR_ACCURACY, "%s of %zu stages: order %d, not %zu", t->name,
                             t->stages, theory.order, order);
        if (i >= 2 && bench_now(1) - begun > budget) break;
    }
    sample_close(s);
    char text[32];
    sheet_row(out->table, &(Timed){t->name, t->stages, order, s->q[1], s->q[0], s->q[2]});
    sheet_number((double)t->stages, text);
    bench_value(out, text, s->q[1] * 1e3, "ms", "theory.%s", t->name);
    return 0;
}

static int fill(const Options *o, BenchReport *out)
{
    int code = 0;
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        for (const size_t *n = axes[i].n; code == 0 && *n; n++) {
            Table **list = NULL;
            size_t count = 0;
            code = make_table(&axes[i], *n, &list, &count);
            if (code == 0) code = time_order(list[0], axes[i].order ? axes[i].order : *n, o, out);
            for (size_t k = 0; k < count; k++) table_free(list[k]);
            memory_free(list);
        }
    progress_clear();
    return code;
}

int bench_theory(const Options *o)
{
    return bench_tell(o, "theory", columns, fill);
}
