/* test_carried.c: schemes that carry quantities from step to step (carried.scheme): proven orders are those of their
 * sources, measured ones agree, and the same method written with past states and slopes is the same. */
#include "tests/lib/test.h"

#include <limits.h>

#include "tests/lib/schemes.h"

static Zoo carried;

static int begin(void **state)
{
    return zoo_begin(state) != 0 || zoo_read(&carried, "tests/ode/carried.scheme") != 0;
}

static int end(void **state)
{
    zoo_close(&carried);
    return zoo_end(state);
}

/* Returns the order that a scheme's note tells. */
static int told(const Table *t)
{
    int order;
    if (sscanf(t->note, "order %d", &order) != 1) fail_msg("%s: '%s'", t->name, t->note);
    return order;
}

static Table *found(const char *name)
{
    Table *t = NULL;
    if (zoo_find(&carried, name, "exact", &t) != 0) fail_msg("%s", error_text());
    return t;
}

/* Calls `check` for each scheme but the one that starts others. */
static void for_carried(void (*check)(const Table *t, int order))
{
    size_t count = 0;
    for (size_t i = carried.built_in; i < carried.count; i++) {
        OWN_TABLE *t = found(carried.scheme[i]->name);
        if (told(t) == 0) continue;
        check(t, told(t));
        count++;
    }
    assert_true(count >= 30);
}

static size_t mutants, lower, unseen;

/* Shifts every coefficient of a row by 1/16, one at a time: the order is lower, or the leading error is another, or nothing
 * keeps what is carried. Of dimsim2-nordsieck the update cancels the point of k2 in the leading error. */
static void mutate(const Table *t, Row *r, const Theory *before)
{
    Theory after;
    OWN_RATIONAL by;
    mpq_init(by);
    mpq_set_ui(by, 1, 16);
    for (size_t k = 0; k < r->terms; k++) {
        if (r->term[k].eval > 0 &&
            t->eval[r->term[k].eval].stage == t->eval[r->term[k].eval - 1].stage)
            continue; /* with its other half */
        size_t halves = r->term[k].eval < 0 ? 1 : 2;
        for (size_t j = k; j < k + halves; j++) mpq_add(r->term[j].c, r->term[j].c, by);
        int code = theory_search(t, before->order + 1, &after);
        int same = code == 0 && after.order >= before->order &&
                   fabs(after.error_norm2 / before->error_norm2 - 1) < 1e-6;
        unseen += (size_t)same;
        lower += code == 0 && after.order < before->order;
        mutants++;
        for (size_t j = k; j < k + halves; j++) mpq_sub(r->term[j].c, r->term[j].c, by);
    }
}

/* Returns whether what is carried is read by a point, the update of y or that of another; that of irks1 serves an estimate. */
static int is_read(const Table *t, size_t c)
{
    int eval = TABLE_CARRIED - (int)c, reads = 0;
    for (size_t r = 0; r <= t->points + t->carries; r++) {
        const Row *row = table_row(t, r);
        for (size_t k = 0; k < row->terms; k++) reads |= row->term[k].eval == eval;
    }
    return reads;
}

static void check_published(const Table *given, int order)
{
    OWN_TABLE *t = freeze(given), *again = reread(given);
    Theory th = theory_of(t, order + 1);
    if (th.order != order || !th.zero_stable)
        fail_msg("%s: order %d, not %d, zero-stable %d", t->name, th.order, order, th.zero_stable);
    same_table(given, again);
    for (size_t p = 0; t->exact && p < t->points; p++) mutate(t, &t->point[p].row, &th);
    for (size_t c = 0; t->exact && c < t->carries; c++)
        if (is_read(t, c)) mutate(t, &t->carry[c].update, &th);
    if (t->exact) mutate(t, &t->update, &th);
}

TEST(published_orders)
{
    for_carried(check_published);
    print_message("%zu mutants, %zu of lower order, %zu unseen\n", mutants, lower, unseen);
    assert_true(mutants > 250 && lower > 200 && unseen <= 1);
}

/* What a scheme carries begins as its text says (am3-nordsieck), and else as the exact solution has it. The errors of
 * cyclic5, whose term of h^6 is large, and of orders above 5 are seen at steps so short that they are rounding, whose verdict is the
 * compiler's. */
static Systems attention;

static void check_measured(const Table *given, int order)
{
    OWN_TABLE *t = freeze(given);
    int verdict = order_verdict(t, attention.of[0], order);
    int rounded = (strcmp(t->name, "cyclic5") == 0 || order > 5) && verdict != VERDICT_DISAGREE;
    if (verdict != VERDICT_AGREE && !rounded) fail_msg("%s: %s", t->name, verdict_name(verdict));
}

TEST(measured_orders)
{
    attention = remembering(sized("attention", 4, 0, 3));
    for_carried(check_measured);
    systems_free(&attention);
}

/* The error of one step, with what is carried found on the exact solution, is the one that theory predicts: what is found
 * errs by less. */
TEST(local_errors)
{
    static const char *const name[] = {"dimsim2", "sspms32", "tsrk3", "heavy-ball"};
    OWN_SYSTEM *s = make("attention");
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        OWN_TABLE *written = found(name[i]), *t = freeze(written);
        OWN_STUDY m = measured(t, s, (OrderOptions){.halvings = 6, .local = 1}, told(written), 1);
        Prediction p = predict(t, s, s->t_end, NULL);
        if (!is_near(m.constant, p.local, 0.01 * p.local))
            fail_msg("%s: %g, not %g", name[i], m.constant, p.local);
    }
}

/* Finds what is carried at time `from` h on the exact solution (N), and moves it over `steps` exact steps. */
static void carried_at(const Table *t, const System *s, double h, size_t from, size_t steps,
                       double *v)
{
    Stepper *st = NULL;
    size_t N = s->n * s->d;
    double *exact = memory_new(16, N * sizeof *exact), times[16], agreement;
    assert_int_equal(stepper_new(t, s, &st), 0);
    size_t need = from + (size_t)stepper_history(st);
    for (size_t j = 0; j <= need; j++) times[j] = (double)j * h;
    memcpy(exact, s->initial, N * sizeof *exact);
    assert_int_equal(reference_solve(s, times + 1, need, exact + N, &agreement), 0);
    assert_int_equal(
        stepper_begin(st, times[from], h, exact + from * N, START_GIVEN, exact + (from + 1) * N),
        0);
    for (size_t j = 0; j < steps; j++) assert_int_equal(stepper_step(st), 0);
    memcpy(v, stepper_carried(st), N * sizeof *v);
    stepper_free(st);
    memory_free(exact);
}

/* On the exact solution a step moves what is carried to what is carried there, by what it is: it has no error of its own,
 * but for what finding it leaves, O(h^(p+2)). So the error of all that is carried is that of y. The control: begun as the text
 * says it is off. */
TEST(carried_has_no_error)
{
    static const struct {
        const char *text;
        int order; /* of what is found less what is moved there */
    } row[] = {{"carry v\nk1 = H(y)\nv' = 1/2*v + 1/2*k1\ny' = y + v'", 3},
               {"carry v\nk1 = H(y)\nk2 = H(v + 2*k1)\nv' = 1/2*y + 1/2*v + 3/4*k1 - 1/4*k2\n"
                "y' = 1/2*y + 1/2*v + 5/4*k1 + 1/4*k2",
                4},
               {"carry v = k1\nk1 = H(y)\nv' = 1/2*v + 1/2*k1\ny' = y + v'", 2}};
    OWN_SYSTEM *s = make("attention");
    size_t N = s->n * s->d;
    double *v = memory_new(2, N * sizeof *v), apart[2];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_TABLE *t = frozen(row[i].text);
        OWN_TABLE *found = i < 2 ? frozen(row[i].text) : frozen(row[0].text);
        for (int k = 0; k < 2; k++) {
            double h = ldexp(1, -5 - k);
            carried_at(t, s, h, 0, 1, v);
            carried_at(found, s, h, 1, 0, v + N);
            for (size_t j = 0; j < N; j++) v[j] -= v[N + j];
            apart[k] = system_rms(N, v, NULL);
        }
        if (!is_near(log2(apart[0] / apart[1]), row[i].order, 0.2))
            fail_msg("%zu: %g", i, log2(apart[0] / apart[1]));
    }
    memory_free(v);
}

/* Methods with their past carried are those with [-j]: error, limits, and the constant measured. */
TEST(past_is_carried)
{
    static const char *const pair[][2] = {
        {"ab3", "carry f\ncarry g\nk1 = H(y)\ng' = f\nf' = k1\ny' = y + 23/12*k1 - 4/3*f + 5/12*g"},
        {"leapfrog", "carry a\nk1 = H(y)\na' = y\ny' = a + 2*k1"},
        {"bdf2", "carry a\nk1 = H(4/3*y - 1/3*a + 2/3*k1)\na' = y\ny' = 4/3*y - 1/3*a + 2/3*k1"}};
    OWN_SYSTEM *s = make("kuramoto");
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        OWN_TABLE *written = named(pair[i][0], "exact"), *past = freeze(written);
        OWN_TABLE *t = frozen(pair[i][1]);
        double limit[2][2];
        Theory a = theory_of(past, 5), b = theory_of(t, 5);
        assert_int_equal(a.order, b.order);
        assert_true(is_near(a.error_norm2, b.error_norm2, 1e-14));
        assert_int_equal(a.weakly_stable, b.weakly_stable);
        int proved;
        assert_int_equal(stability_limits(past, &limit[0][0], &limit[0][1], NULL), 0);
        assert_int_equal(stability_limits(t, &limit[1][0], &limit[1][1], &proved), 0);
        assert_true(proved);
        assert_memory_equal(limit[0], limit[1], sizeof limit[0]);
        OWN_STUDY m = measured(t, s, (OrderOptions){.halvings = 6}, b.order, 1);
        Prediction p = predict(t, s, s->t_end, NULL), q = predict(past, s, s->t_end, NULL);
        assert_true(is_near(p.global, q.global, 1e-12));
        assert_true(is_near(m.constant, p.global, 0.02 * p.global));
    }
}

/* Puts another quantity, by times `to`, beside each `from` that a table's rows read. */
static void put_beside(Table *t, int from, int to, const mpq_t by)
{
    OWN_RATIONAL c;
    mpq_init(c);
    for (size_t r = 0; r <= t->points + t->carries; r++) {
        Row *row = r < t->points    ? &t->point[r].row
                   : r == t->points ? &t->update
                                    : &t->carry[r - t->points - 1].update;
        row_weight(t, row, from, c);
        mpq_mul(c, c, by);
        if (mpq_sgn(c)) assert_int_equal(row_add(row, to, 0, c, 0, NULL), 0);
    }
}

/* Carries w = v - by u in the place of quantity i, u another, or y where j = i. */
static void change(Table *t, size_t i, size_t j, int by)
{
    OWN_RATIONAL c;
    mpq_init(c);
    mpq_set_si(c, by, 1);
    put_beside(t, TABLE_CARRIED - (int)i, i == j ? TABLE_STATE : TABLE_CARRIED - (int)j, c);
    mpq_neg(c, c);
    assert_int_equal(row_add_row(&t->carry[i].update, i == j ? &t->update : &t->carry[j].update, c),
                     0);
}

static size_t singular;

static void check_changed(const Table *given, const Prediction *p, const Theory *th)
{
    OWN_TABLE *t = freeze(given);
    OWN_SYSTEM *s = make("kuramoto");
    double limit[2][2];
    for (size_t i = 0; i < t->carries; i++) singular += t->carry[i].moved.terms > 0;
    Theory after = theory_of(t, th->order + 1);
    if (after.order != th->order || after.zero_stable != th->zero_stable ||
        after.weakly_stable != th->weakly_stable)
        fail_msg("%s: order %d, not %d", t->name, after.order, th->order);
    assert_int_equal(stability_limits(given, &limit[0][0], &limit[0][1], NULL), 0);
    assert_int_equal(stability_limits(t, &limit[1][0], &limit[1][1], NULL), 0);
    assert_true(is_near(limit[0][0], limit[1][0], 1e-9) && is_near(limit[0][1], limit[1][1], 1e-9));
    Prediction q = predict(t, s, s->t_end, NULL);
    if (!is_near(p->global, q.global, 1e-9 * p->global))
        fail_msg("%s: constant %g, not %g", t->name, q.global, p->global);
}

static void check_coordinates(const Table *given, int order)
{
    OWN_TABLE *t = freeze(given);
    OWN_SYSTEM *s = make("kuramoto");
    if (!t->exact || order > 4) return;
    t->starter = (table_free(t->starter), NULL);
    for (size_t i = 0; i < t->carries; i++) t->carry[i].started = 0;
    Theory th = theory_of(t, order + 1);
    Prediction p = predict(t, s, s->t_end, NULL);
    for (int by = -2; by <= 2; by++) {
        OWN_TABLE *other = table_copy(t);
        if (by) change(other, 0, 0, by);
        change(other, 0, t->carries - 1, 3); /* of one quantity y again */
        if (t->carries > 1) change(other, 1, 0, -1);
        check_changed(other, &p, &th);
    }
}

/* A method is the same in other quantities, v - by u for v: order, limits, and the constant of its errors at the end, though the
 * error of one step is another. In leapfrog's with w = y[-1] + y errors of y alone do not last: w' = w + 2 k1 leaves w open, and y'
 * tells it. */
TEST(other_coordinates)
{
    static const char *const more[] = {
        "carry a\nk1 = H(y)\na' = y\ny' = a + 2*k1",
        "carry w\nk1 = H(y)\nw' = w + 2*k1\ny' = w - y + 2*k1",
        "carry a\ncarry f\nk1 = H(y)\nk2 = H(-4*y + 5*a + 4*k1 + 2*f)\na' = y\nf' = k1\n"
        "y' = a + 1/3*k2 + 4/3*k1 + 1/3*f"};
    static const int order[] = {2, 2, 4};
    singular = 0;
    for (size_t i = 0; i < 3; i++) {
        OWN_TABLE *t = frozen(more[i]);
        assert_int_equal(order_of(t), order[i]);
        check_coordinates(t, order[i]);
    }
    assert_true(singular >= 3);
    for_carried(check_coordinates);
    OWN_TABLE *t = frozen(more[1]);
    OWN_SYSTEM *s = make("attention");
    assert_int_equal(order_verdict(t, s, 2), VERDICT_AGREE);
}

/* Writes the update of quantity j of Nordsieck's vector: sum over i >= j of binomial(i, j) of quantity i, and l_j times what the new
 * slope is apart from the predicted one, k1 - v - 2 w - 3 x - .... */
static void write_nordsieck(FILE *f, int q, int j, const char *l)
{
    long binomial = 1;
    for (int i = j; i <= q; i++) {
        fprintf(f, "%s%ld*%c", i > j ? " + " : "", binomial, "yvwxupq"[i]);
        binomial = binomial * (i + 1) / (i + 1 - j);
    }
    fprintf(f, " + %s*k1", l);
    for (int i = 1; i <= q; i++) fprintf(f, " - %d*%s*%c", i, l, "yvwxupq"[i]);
}

/* Adams-Moulton methods and BDF in Nordsieck's form, as Gear 1971 has them, tables 9.1 and 11.1: of order q + 1 and q. The control: with a wrong
 * l_0 the first have order q, that of the polynomials which the vector holds. */
TEST(nordsieck_by_gear)
{
    static const struct {
        int q, order;
        const char *l[7];
    } row[] = {{3, 4, {"3/8", "1", "3/4", "1/6"}},
               {4, 5, {"251/720", "1", "11/12", "1/3", "1/24"}},
               {5, 6, {"95/288", "1", "25/24", "35/72", "5/48", "1/120"}},
               {4, 4, {"12/25", "1", "7/10", "1/5", "1/50"}},
               {5, 5, {"60/137", "1", "225/274", "85/274", "15/274", "1/274"}},
               {4, 4, {"1/3", "1", "11/12", "1/3", "1/24"}}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *text = NULL;
        size_t bytes;
        FILE *f = open_memstream(&text, &bytes);
        assert_non_null(f);
        for (int j = 1; j <= row[i].q; j++) fprintf(f, "carry %c\n", "yvwxupq"[j]);
        fprintf(f, "k1 = H(");
        write_nordsieck(f, row[i].q, 0, row[i].l[0]);
        fprintf(f, ")\n");
        for (int j = 1; j <= row[i].q; j++) {
            fprintf(f, "%c' = ", "yvwxupq"[j]);
            write_nordsieck(f, row[i].q, j, row[i].l[j]);
            fprintf(f, "\n");
        }
        fprintf(f, "y' = ");
        write_nordsieck(f, row[i].q, 0, row[i].l[0]);
        fclose(f);
        OWN_TABLE *t = frozen(text);
        Theory th = theory_of(t, row[i].order + 1);
        if (th.order != row[i].order || !th.zero_stable) fail_msg("%s\norder %d", text, th.order);
        free(text);
    }
}

/* The series of what is carried, and of starts. The control: the mean of past slopes lags behind by ten steps, not by nine. */
TEST(series_and_starts)
{
    static const struct {
        const char *text;
        int start, order; /* to expect on any system */
    } row[] = {{"carry v\nk1 = H(y)\nv' = 9/10*v + 1/10*k1\ny' = y + v'", INT_MAX, 1},
               {"carry v = 0\nk1 = H(y)\nv' = 9/10*v + 1/10*k1\ny' = y + v'", 0, 1},
               {"carry v = 0\nk1 = H(y)\nv' = k1\ny' = y + 3/2*k1 - 1/2*v", 0, 1},
               {"carry v = k1\nk1 = H(y)\nv' = k1\ny' = y + 3/2*k1 - 1/2*v", 1, 2},
               {"carry a = y - k1\nk1 = H(y)\na' = y\ny' = a + 2*k1", 1, 2},
               {"carry a = 0\nk1 = H(y)\na' = y\ny' = a + 2*k1", -1, 0},
               {"carry a = y\nk1 = H(y)\na' = y\ny' = a + 2*k1", 0, 1}};
    OWN_SYSTEM *s = make("attention");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_TABLE *t = frozen(row[i].text);
        Theory th = theory_of(t, 4);
        if (th.start_order != row[i].start || theory_order(&th, s) != row[i].order)
            fail_msg("%s\nstart %d, order %d", row[i].text, th.start_order, theory_order(&th, s));
        if (row[i].order > 0) assert_int_equal(order_verdict(t, s, row[i].order), VERDICT_AGREE);
    }
    OWN_TABLE *t = frozen(row[0].text);
    OWN_FOREST *f = forest_of(2, 1);
    Series *v = NULL;
    OWN_RATIONAL lag;
    mpq_init(lag);
    mpq_set_si(lag, -10, 1);
    assert_int_equal(series_carried(f, t, 0, &v), 0);
    assert_int_equal(mpq_cmp_ui(v->a[0], 1, 1), 0);
    assert_true(mpq_equal(v->a[1], lag));
    series_free(v);
    OWN_TABLE *am3 = found("am3-nordsieck");
    Theory th = theory_of(am3, 4);
    assert_int_equal(th.start_order, 2);
}

/* Two streams that begin alike and move alike stay alike, so that hyper-connections begin as Lie and Trotter's splitting by Euler's
 * method. The controls: another start, another update, a weight on the difference. */
TEST(what_stays_y)
{
    static const struct {
        const char *start, *update, *y;
        int order;
    } row[] = {{"y", "v + k1", "y + k1", 1},
               {"0", "v + k1", "y + k1", 0},
               {"y", "v + 2*k1", "y + k1", 0},
               {"2*y", "v + k1", "y + k1", 0}};
    OWN_SYSTEM *s = make("attention");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "carry v = %s\nk1 = F(2*y - v)\nk2 = G(v + k1)\nv' = %s + k2\ny' = %s + k2",
                 row[i].start, row[i].update, row[i].y);
        OWN_TABLE *t = frozen(text);
        Theory th = theory_of(t, 3);
        if (th.order != row[i].order || th.expands != (row[i].order > 0))
            fail_msg("%s\norder %d, expands %d", text, th.order, th.expands);
        if (row[i].order == 0) continue;
        OWN_TABLE *lie = frozen("k1 = F(y)\nk2 = G(y + k1)\ny' = y + k1 + k2");
        assert_true(th.error_norm2 == theory_of(lie, 3).error_norm2);
        assert_int_equal(order_verdict(t, s, 1), VERDICT_AGREE);
    }
}

/* A step of momentum goes ten times h, with past states and with what is carried: the velocity, or the point ahead, whose
 * weight on itself is above 1. */
TEST(momentum_goes_further)
{
    static const char *const texts[] = {
        "k1 = H(y + 9/10*y - 9/10*y[-1])\ny' = y + 9/10*y - 9/10*y[-1] + k1",
        "carry v\nk1 = H(y + 9/10*v)\nv' = 9/10*v + k1\ny' = y + v'",
        "carry x\nk1 = H(x)\nx' = 19/10*x + 19/10*k1 - 9/10*y\ny' = x + k1"};
    OWN_SYSTEM *s = make("attention");
    Prediction p[3];
    for (size_t i = 0; i < 3; i++) {
        OWN_TABLE *t = frozen(texts[i]);
        OWN_RATIONAL goes;
        p[i] = predict(t, s, s->t_end, NULL); /* of the field that it solves */
        assert_true(is_near(p[i].global, p[0].global, 1e-9 * p[0].global));
        mpq_init(goes);
        assert_int_equal(order_of(t), 0);
        for (int op = 0; op < 2; op++) {
            table_goes(t, op, goes);
            assert_int_equal(mpq_cmp_ui(goes, 10, 1), 0);
            mpq_set(t->weight[op], goes);
        }
        assert_int_equal(order_of(t), 1);
    }
}

/* So does a momentum that is learned, or gated, from where it starts; past states beside learned numbers are left (the control). */
TEST(learned_momentum_goes_further)
{
    static const struct {
        const char *text;
        unsigned long goes;
    } cases[] = {{"carry v\nlearn g = 9/10\nk1 = H(y)\nv' = g*v + k1\ny' = y + v'", 10},
                 {"carry v\ngate g = sigmoid(v, y)\nk1 = H(y)\nv' = g*v + k1\ny' = y + v'", 2},
                 {"learn g = 9/10\nk1 = H(y)\ny' = y + g*y - g*y[-1] + k1", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWN_TABLE *t = scheme(cases[i].text);
        Theory th = theory_of(t, 3);
        OWN_RATIONAL goes;
        mpq_init(goes);
        assert_int_equal(th.order, 0);
        assert_int_equal(theory_own(t, 3, &th, goes), 0);
        assert_int_equal(mpq_cmp_ui(goes, cases[i].goes, 1), 0);
        assert_int_equal(th.order, cases[i].goes > 0);
    }
}

/* On a field that depends on time a stage stands where what is carried has brought it. */
TEST(times_of_what_is_carried)
{
    size_t timed = 0;
    OWN_SYSTEMS list = all_systems();
    OWN_TABLE *written = found("hybrid5"), *t = freeze(written);
    for (size_t k = 0; list.of[k]; k++)
        if (list.of[k]->timed && list.of[k]->n * list.of[k]->d < 50) {
            assert_int_equal(order_verdict(t, list.of[k], 5), VERDICT_AGREE);
            timed++;
        }
    assert_true(timed > 0);
}

/* Stages corrected by fixed point carry what the implicit ones carry, and begin it likewise. */
TEST(fixed_points_carry)
{
    OWN_TABLE *bdf2 = found("bdf2-nordsieck:fixed-point-9");
    OWN_TABLE *am3 = found("am3-nordsieck:fixed-point-9");
    assert_true(order_of(bdf2) == 2 && order_of(am3) == 3 && am3->starter);
}

/* Theory and steps read a text with norms and a second embedding as the text without them, times of its rows included. */
TEST(norms_are_left_out)
{
    OWN_TABLE *with =
        frozen("carry v = embedding\nk1 = F(y + 9/10*v)\nk2 = norm(9/10*v + 1/10*k1)\n"
               "k3 = G(y + 19/10*k2)\nk4 = norm(9/10*k2 + 1/10*k3)\nv' = k4\ny' = y + k2 + k4");
    OWN_TABLE *without =
        frozen("carry v\nk1 = F(y + 9/10*v)\nlet w = 9/10*v + 1/10*k1\nk2 = G(y + 19/10*w)\n"
               "let x = 9/10*w + 1/10*k2\nv' = x\ny' = y + w + x");
    OWN_TABLE *begun = frozen("carry v = k2\nk1 = F(y)\nk2 = norm(1/2*k1)\nk3 = G(y + v)\n"
                              "v' = 1/2*v + k3\ny' = y + v'");
    OWN_TABLE *plain = frozen("carry v = 1/2*k1\nk1 = F(y)\nk2 = G(y + v)\nv' = 1/2*v + k2\n"
                              "y' = y + v'");
    assert_true(table_equal(with, without) && table_equal(begun, plain));
}

/* Updates that keep what is carried for ever determine nothing; a start must fit. */
TEST(refusals)
{
    Theory th;
    Stepper *st = NULL;
    OWN_SYSTEM *s = make("attention");
    OWN_TABLE *keeps = frozen("carry v\nk1 = H(y)\nv' = v + k1\ny' = y + k1");
    assert_int_equal(theory_search(keeps, 2, &th), 0);
    assert_true(!th.expands && th.order == 0);
    assert_int_equal(series_check(keeps), ERR_ACCURACY);
    assert_non_null(strstr(error_text(), "do not determine what is carried"));
    assert_refused(stepper_new(keeps, s, &st), "v' = v", "do not determine what is carried");
    OWN_TABLE *other = scheme("start heun\ncarry v\nk1 = H(y)\nv' = k1\ny' = y + v'");
    OWN_TABLE *heun = named("heun", "exact");
    assert_refused(table_take_starter(other, heun), "heun", "does not start it");
}

TEST_MAIN(begin, end)
