/* test_repair.c: misprints are found where they were made. Seeded ones in the tableaus of tableaus.jsonl: of those that the
 * conditions see at least 95 % are located, with the value that stood there, and none elsewhere. REPAIR_CASES=1000 in the environment
 * tries so many in place of 100, from the draw REPAIR_FROM on, REPAIR_TABLEAUS=FILE the tableaus of another file, a line each. */
#include "tests/lib/test.h"

#include <ctype.h>

#include "kernels/base/random.h"
#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

/* ---- seeded misprints ------------------------------------------------------------------------------- */

enum { EXCHANGED, LOST, DOUBLED, SIGN, SWAPPED, KINDS };
static const char *const kinds[] = {"digit exchanged", "digit lost", "digit doubled", "sign",
                                    "numerator and denominator swapped"};

/* Returns draw i of case n below `most`. */
static uint64_t draw(uint64_t n, uint64_t i, uint64_t most)
{
    return random_below(61, n, i, most);
}

/* Misprints a number. Returns 0 where this kind cannot, or changes nothing. */
static int misprint(const char *word, int kind, uint64_t n, char out[MISPRINT_WORD])
{
    size_t length = strlen(word), minus = *word == '-', at;
    const char *bar = strchr(word, '/');
    RATIONALS(a, b);
    snprintf(out, MISPRINT_WORD, "%s", word);
    for (uint64_t i = 10; !isdigit((unsigned char)word[at = (size_t)draw(n, i, length)]);) i++;
    if (kind == EXCHANGED) out[at] = (char)('0' + (word[at] - '0' + 1 + (int)draw(n, 3, 9)) % 10);
    if (kind == LOST) memmove(out + at, word + at + 1, length - at);
    if (kind == DOUBLED) memmove(out + at + 1, word + at, length - at + 1);
    if (kind == SIGN) snprintf(out, MISPRINT_WORD, "%s%s", minus ? "" : "-", word + minus);
    if (kind == SWAPPED && !bar) return 0;
    if (kind == SWAPPED)
        snprintf(out, MISPRINT_WORD, "%s%s/%.*s", minus ? "-" : "", bar + 1,
                 (int)(bar - word - (ptrdiff_t)minus), word + minus);
    size_t read = coefficient_read(out, strlen(out), b);
    return read && read == strlen(out) && coefficient_read(word, length, a) && !mpq_equal(a, b) &&
           isdigit((unsigned char)out[strlen(out) - 1]);
}

typedef struct {
    size_t cases, invisible, only, first, undecided, several, missed, wrong;
} Tally;

/* Returns whether a candidate is coefficient k with the value that stood there. */
static int is_true(const Repair *r, const RepairCandidate *c, size_t k, const char *word)
{
    RATIONAL(was);
    coefficient_read(word, strlen(word), was);
    mpq_sub(was, was, c->value[0]);
    return c->unknowns == 1 && c->coefficient[0] == k && r->candidates > 0 &&
           fabs(mpq_get_d(was)) <= c->within;
}

/* Returns whether two repairs or more, the true one among them, are each one slip away and meet all conditions in
 * fractions: nothing in the text tells which is right. */
static int is_undecided(const Repair *r, const char *text, size_t bytes, size_t k, const char *word)
{
    size_t met = 0, right = 0;
    for (size_t i = 0; i < r->candidates && r->exact; i++) {
        SCOPED(repair_free) Repair again = {0};
        char *repaired;
        size_t n;
        if (r->candidate[i].distance != 1) continue;
        assert_int_equal(repair_written(r, i, text, bytes, &repaired, &n), 0);
        assert_int_equal(repair_find("repaired", repaired, n, r->order, &again), 0);
        met += again.exact && again.failing == 0;
        right += (size_t)is_true(r, &r->candidate[i], k, word);
        free(repaired);
    }
    return met > 1 && right;
}

/* Misprints coefficient k of a tableau, and judges what is found. */
static void try_case(const char *line, const Coefficients *c, size_t k, const char *wrong,
                     Tally *tally)
{
    SCOPED(memory_drop) const char **value = memory_new(c->count, sizeof *value);
    SCOPED(repair_free) Repair r = {0};
    char *text;
    size_t bytes;
    value[k] = wrong;
    assert_int_equal(coefficients_written(c, line, strlen(line), value, &text, &bytes), 0);
    if (repair_find("tableau", text, bytes, 0, &r) != 0) fail_msg("%s: %s", text, error_text());
    const char *name = r.name[k], *what = NULL;
    tally->cases++;
    int here = r.candidates > 0 && is_true(&r, &r.candidate[0], k, c->list[k].word);
    if (r.failing == 0)
        tally->invisible++;
    else if (here && r.candidates == 1)
        tally->only++;
    else if (here && repair_unique(&r))
        tally->first++;
    else if (r.candidates && !r.reached && repair_unique(&r))
        tally->wrong++, what = "wrong";
    else if (is_undecided(&r, text, bytes, k, c->list[k].word))
        tally->undecided++, what = "not decided";
    else if (r.candidates > 1 && !r.reached)
        tally->several++, what = "several";
    else
        tally->missed++, what = "missed";
    if (what)
        print_message("%s: %.40s, %s = %s in place of %s: %zu candidates\n", what, line, name,
                      wrong, c->list[k].word, r.candidates);
    free(text);
}

typedef struct {
    size_t count;
    char **line;
} Lines;

static void lines_free(Lines *l)
{
    for (size_t i = 0; i < l->count; i++) free(l->line[i]);
    memory_free(l->line);
}

/* Reads the tableaus up to an order. */
static void read_lines(Lines *l, const char *file, int most)
{
    FILE *f = fopen(file ? file : "tests/ode/tableaus.jsonl", "r");
    assert_non_null(f);
    for (size_t room = 0;; room = 0) {
        char *line = NULL;
        int order, embedded;
        if (getline(&line, &room, f) <= 0) {
            free(line);
            break;
        }
        coefficients_claims(line, strlen(line), &order, &embedded);
        if (order > most)
            free(line);
        else
            assert_int_equal(memory_add(l->line, l->count, line), 0);
    }
    fclose(f);
}

/* Draws case n: a tableau, a coefficient other than 0, a slip. Returns 0 where they do not fit. */
static int draw_case(const Lines *l, uint64_t n, Tally *tally)
{
    SCOPED(coefficients_free) Coefficients c = {0};
    const char *line = l->line[draw(n, 0, l->count)];
    char wrong[MISPRINT_WORD];
    assert_int_equal(coefficients_find(line, strlen(line), &c), 0);
    size_t k = (size_t)draw(n, 1, c.count);
    int kind = (int)draw(n, 2, KINDS);
    if (mpq_sgn(c.list[k].value) == 0 || !misprint(c.list[k].word, kind, n, wrong)) return 0;
    try_case(line, &c, k, wrong, &tally[kind]);
    return 1;
}

TEST(seeded_misprints)
{
    const char *asked = getenv("REPAIR_CASES"), *from = getenv("REPAIR_FROM");
    size_t cases = asked ? (size_t)atol(asked) : 100, made = 0;
    Tally tally[KINDS] = {0}, all = {0};
    SCOPED(lines_free) Lines l = {0};
    read_lines(&l, getenv("REPAIR_TABLEAUS"), asked ? 10 : 8);
    assert_true(l.count > 50);
    uint64_t first = from ? (uint64_t)atoll(from) : 0;
    for (uint64_t n = first; made < cases; n++) made += (size_t)draw_case(&l, n, tally);
    for (int i = 0; i < KINDS; i++) {
        const Tally *t = &tally[i];
        print_message(
            "%s: %zu, the only candidate %zu, the first %zu, not decided %zu, several %zu, missed %zu, wrong %zu, not seen %zu\n",
            kinds[i], t->cases, t->only, t->first, t->undecided, t->several, t->missed, t->wrong,
            t->invisible);
        all.only += t->only;
        all.first += t->first;
        all.invisible += t->invisible;
        all.undecided += t->undecided;
        all.wrong += t->wrong;
    }
    size_t seen = cases - all.invisible;
    print_message("%zu seen, %zu of them not decided: %zu located, %zu elsewhere\n", seen,
                  all.undecided, all.only + all.first, all.wrong);
    assert_true(seen > cases / 2 && all.wrong == 0);
    assert_true((double)(all.only + all.first) >= 0.95 * (double)seen);
}

/* ---- texts whose repair is known ----------------------------------------------------------------------- */

#define RK4_ROWS(a32) "\"A\": [[], [\"1/2\"], [0, \"" a32 "\"], [0, 0, 1]]"
#define KUTTA(line) \
    "scheme kutta\ntitle order 4\nk1 = H(y)\nk2 = H(y + 1/3*k1)\nk3 = H(y " line ")\n"
#define FEHLBERG(a54, a64)                                                                     \
    "fehlberg 5(4)\n0 |\n1/4 | 1/4\n3/8 | 3/32 9/32\n12/13 | 1932/2197 -7200/2197 7296/2197\n" \
    "1 | 439/216 -8 3680/513 " a54 "\n1/2 | -8/27 2 -3544/2565 " a64 " -11/40\n---+---\n"      \
    "| 16/135 0 6656/12825 28561/56430 -9/50 2/55\n| 25/216 0 1408/2565 2197/4104 -1/5 0\n"
#define KVAERNO_G "\"0.4358665215084589994160194511935568425293\""
#define KVAERNO_B                                      \
    "\"0.3088099699767465233481624698867005109200\", " \
    "\"1.490563388421780570628467958466544690231\", "  \
    "\"-1.235239879906986093392649879546802043680\", " KVAERNO_G
#define KVAERNO(digits, c)                                                                       \
    "{\"A\": [[], [" KVAERNO_G ", " KVAERNO_G                                                    \
    "], [\"0.4905633884217805706284679584665446902307\","                                        \
    " \"0.073570090069760" digits "95551259033989846723997\", " KVAERNO_G "], [" KVAERNO_B "]]," \
    " \"b\": [" KVAERNO_B "]" c "}"
#define BOGACKI(e4)                                                                               \
    "scheme bs\nnote 3(2)\nk1 = H(y)\nk2 = H(y + 1/2*k1)\nk3 = H(y + 3/4*k2)\nk4 = H(y + "        \
    "2/9*k1 + 1/3*k2 + 4/9*k3)\ny' = y + 2/9*k1 + 1/3*k2 + 4/9*k3\nerror = -5/72*k1 + 1/12*k2 + " \
    "1/9*k3 " e4 "*k4\n"

/* found: "a32=1/2 the misprint; ..." of the first candidate. */
typedef struct {
    const char *text;
    int order;
    const char *found;
    size_t candidates;
} Known;

/* The rows of Fine's method of order 5 (1987) for y'' = f(y, y') that no row below spoils; tests/ode/classics.scheme has it whole. */
#define FINE5                                                                                                                                            \
    "scheme fine5\ntitle order 5\nseparable G\nlinear G\nk1 = F(y)\nk2 = G(y + 4/39*k1)\nk3 = F(y + 8/39*k2 + 8/39*k1)\nk4 = G(y + 1/13*k1 + 1/13*k3)\n" \
    "k5 = F(y + 4/13*k4 + 1/13*k1 + 3/13*k3)\nk6 = G(y + 35/864*k1 + 325/864*k5)\n"
#define FINE5_K9 \
    "k9 = F(y + 43/47*k8 + 223324757/91364240*k1 - 174255393/18272848*k3 + 382840094/46824173*k5 - 39627252/234120865*k7)\n"

static const Known knowns[] = {
    {"{" RK4_ROWS("1/3") ", \"b\": [\"1/6\", \"1/3\", \"1/3\", \"1/6\"]}", 4,
     "a32=1/2 a digit exchanged; ", 1},
    /* without an order: the highest that one coefficient reaches */
    {"{" RK4_ROWS("1/2") ", \"b\": [\"1/6\", \"1/3\", \"1/6\", \"1/6\"]}", 0,
     "b3=1/3 a digit exchanged; ", 1},
    {KUTTA(
         "- 1/3*k1 - k2") "k4 = H(y + k1 - k2 + k3)\ny' = y + 1/8*k1 + 3/8*k2 + 3/8*k3 + 1/8*k4\n",
     0, "a32=1 the sign; ", 1},
    {KUTTA("- 3*k1 + k2") "k4 = H(y + k1 - k2 + k3)\ny' = y + 1/8*k1 + 3/8*k2 + 3/8*k3 + 1/8*k4\n",
     0, "a31=-1/3 ; ", 1},
    {FEHLBERG("-845/4140", "1859/4104"), 0, "a54=-845/4104 two digits transposed; ", 1},
    {FEHLBERG("-845/4104", "4104/1859"), 0, "a64=1859/4104 numerator and denominator exchanged; ",
     1},
    {FEHLBERG("?", "1859/4104"), 0, "a54=-845/4104 asked; ", 1},
    {BOGACKI("+ 1/8"), 0, "error weight 4=-1/8 the sign; ", 1},
    {BOGACKI("- ?"), 0, "error weight 4=-1/8 asked; ", 1},
    {BOGACKI("- 1/8"), 0, "", 0},
    /* two wrong ones */
    {"{" RK4_ROWS("1/3") ", \"b\": [\"1/6\", \"1/4\", \"1/3\", \"1/6\"]}", 4,
     "a32=1/2 a digit exchanged; b2=1/3 a digit exchanged; ", 1},
    {"{" RK4_ROWS("?") ", \"b\": [\"1/6\", \"?\", \"1/3\", \"1/6\"]}", 4,
     "a32=1/2 asked; b2=1/3 asked; ", 1},
    {"{" RK4_ROWS("?") ", \"b\": [\"?\", \"?\", \"?\", \"?\"]}", 4, "", 0},
    /* a node, and a row whose sum is lost */
    {"{" RK4_ROWS(
         "1/2") ", \"b\": [\"1/6\", \"1/3\", \"1/3\", \"1/6\"], \"c\": [0, \"1/2\", \"1/3\", 1]}",
     4, "c3=1/2 a digit exchanged; ", 1},
    {"{" RK4_ROWS(
         "1/2") ", \"b\": [\"1/6\", \"1/3\", \"1/3\", \"1/6\"], \"c\": [0, \"1/2\", 7, 1]}",
     4, "c3=1/2 ; ", 1},
    /* implicit stages of a name, decimals of one, two colours, flows */
    {"scheme midpoint\nlet a = 1/3\nk1 = H(y + a*k1)\ny' = y + k1\n", 2,
     "a11=1/2 a digit exchanged; ", 1},
    {"scheme gauss\ntitle order 4\nk1 = H(y + 1/4*k1 - 0.0386751345948128823*k2)\n"
     "k2 = H(y + 0.5386751354948128823*k1 + 1/4*k2)\ny' = y + 1/2*k1 + 1/2*k2\n",
     0, "a21=0.5386751345948128823 two digits transposed; ", 1},
    {"scheme imex\ntitle order 2\nk1 = G(y)\nk2 = F(y + 1/2*k1 + 1/2*k2)\nk3 = G(y + 1/3*k1 + 1/2*k2)\n"
     "y' = y + k2 + k3\n",
     0, "a31=1/2 a digit exchanged; ", 1},
    /* c1 = 2 and a11 = 11 meet c1 = a11 too; so does bhat2 = 2 the sum of bhat */
    {"{\"A\": [[1]], \"b\": [1], \"c\": [11]}", 1, "c1=1 a digit doubled; ", 2},
    {"{\"A\": [[0, 0], [\"1/2\", 0]], \"b\": [0, 1], \"bhat\": [-1, 0], \"embedded\": 1, \"order\": 2}",
     0, "bhat1=1 the sign; ", 2},
    /* at order 2 five others do, but none by a slip; what would make the scheme implicit is left out */
    {"{\"A\": [[0, 0, 0, 0], [\"1/2\", 0, 0, 0], [0, \"1/3\", 0, 0], [0, 0, 1, 0]],"
     " \"b\": [\"1/6\", \"1/3\", \"1/3\", \"1/6\"]}",
     2, "a32=1/2 a digit exchanged; ", 6},
    /* 2 g^2 = 1/2, which has two roots, and no condition is affine */
    {"scheme a\nlet g = 1/3\nk1 = H(y)\nk2 = H(y + 2*g*k1)\ny' = y + k1 - g*k1 + g*k2\n", 2,
     "line 2=1/2 a digit exchanged; ", 3},
    {"scheme a\nlet g = 0.30000000000000000000\nk1 = H(y)\nk2 = H(y + 2*g*k1)\ny' = y + k1 - g*k1 + g*k2\n",
     2, "line 2=0.50000000000000000000 a digit exchanged; ", 3},
    /* 9/2 g^2 = 1/2 and 9 g^3 = 1/3: g is their common root */
    {"scheme a\nlet g = 1/8\nk1 = H(y)\nk2 = H(y + g*k1)\nk3 = H(y + 2*g*k2)\ny' = y + k1 - 9/4*g*k1 + 9/4*g*k3\n",
     3, "line 2=1/3 a digit exchanged; ", 1},
    /* Rosenbrock and W-methods, exponential ones */
    {"scheme ros2\nlet g = 1/3\nk1 = H(y)\nk2 = solve(g H)(k1)\nk3 = H(y + k2)\nk4 = solve(g H)(k3 - 3*k2)\n"
     "y' = y + 3/2*k2 + 1/2*k4\n",
     2, "a42=-2 a digit exchanged; ", 1},
    {"scheme w\nlet g = 1/3\nk1 = H(y)\nk2 = solve(g W)(k1)\nk3 = H(y + k2)\nk4 = solve(g W)(k3 - 2*k2)\n"
     "y' = y + 2/3*k2 + 1/2*k4\n",
     2, "b2=3/2 numerator and denominator exchanged; ", 1},
    {"scheme etd\ntitle order 2\nlinear F\nk1 = F(y)\nk2 = G(y)\nk3 = phi1(1/2 F)(k1 + k2)\nk4 = G(y + k3)\n"
     "k5 = phi2(F)(k4 - k2)\ny' = y + k3 + k5\n",
     0, "factor of k3=2/2 a digit exchanged; ", 1},
    {"scheme strang\ntitle order 2\nflow 1/2 F\nflow G\nflow 1/3 F\n", 0,
     "flow 3=1/2 a digit exchanged; ", 1},
    /* decimals of few places are exact; of the far digits of long ones others are met too, less closely, and in a node */
    {"{\"A\": [[\"0.25\"], [\"0.5\", \"0.25\"], [\"17/50\", \"-1/25\", \"0.25\"],"
     " [\"371/1360\", \"-137/2720\", \"15/544\", \"0.25\"],"
     " [\"25/24\", \"-49/48\", \"-125/16\", \"-85/12\", \"0.25\"]],"
     " \"b\": [\"25/24\", \"-49/48\", \"125/16\", \"-85/12\", \"0.25\"]}",
     4, "a53=125/16 the sign; ", 1},
    {KVAERNO("499", ""), 3, "a32=0.07357009006976042995551259033989846723997 a digit exchanged; ",
     6},
    {KVAERNO("499", ", \"c\": [0, \"0.8717330430169179988320389023871136850586\", 1, 1]"), 3,
     "a32=0.07357009006976042995551259033989846723997 a digit exchanged; ", 2},
    /* a12, which would have to be 2e-17, is no slip: 0, 00 and 0.0 say what is written */
    {"{\"A\": [[\"0.7886751345948128523\", 0], [\"-0.5773502691896257645\", \"0.7886751345948128823\"]],"
     " \"b\": [\"1/2\", \"1/2\"], \"c\": [\"0.7886751345948128823\", \"0.2113248654051871177\"]}",
     3, "a11=0.7886751345948128823 a digit exchanged; ", 2},
    /* the past: Adams and Bashforth's, BDF3, Milne and Simpson's, a corrector that reads a predictor's slope, in two colours, decimals */
    {"scheme ab4\ntitle order 4\nk1 = H(y)\ny' = y + 55/24*k1 - 59/24*k1[-1] + 37/24*k1[-2] - 6/24*k1[-3]\n",
     0, "b1[-3]=-9/24 a digit exchanged; ", 1},
    {"scheme ab3\ntitle order 3\nk1 = H(y)\ny' = y + ?*k1 + ?*k1[-1] + ?*k1[-2]\n", 0,
     "b1=23/12 asked; b1[-1]=-4/3 asked; b1[-2]=5/12 asked; ", 1},
    {"scheme bdf3\ntitle order 3\nk1 = H(18/11*y - 9/11*y[-1] + 2/11*y[-2] + 6/11*k1)\n"
     "y' = 18/11*y - 9/11*y[-1] + 3/11*y[-2] + 6/11*k1\n",
     0, "weight of y[-2]=2/11 a digit exchanged; ", 1},
    {"scheme milne\ntitle order 4\nk1 = H(y)\nk2 = H(y[-3] + 8/3*k1 - 4/3*k1[-1] + 8/3*k1[-2])\n"
     "y' = y[-1] + 1/3*k2 + 4/5*k1 + 1/3*k1[-1]\n",
     0, "b1=4/3 a digit exchanged; ", 1},
    {"scheme bdf2\ntitle order 2\nk1 = H(4/3*y - 1/3*y[-1] + 2/3*k1)\ny' = 5/3*y - 1/3*y[-1] + 2/3*k1\n",
     0, "weight of y=4/3 a digit exchanged; ", 1},
    {"scheme late\ntitle order 2\nk1 = H(y + 1/3*k2[-1])\nk2 = H(y)\ny' = y + k1\n", 0,
     "a12[-1]=1/2 a digit exchanged; ", 1},
    {"scheme cnab\ntitle order 2\nk1 = G(y)\nk2 = F(y)\nk3 = F(y + 1/2*k2 + 1/2*k3 + 3/2*k1 - 1/2*k1[-1])\n"
     "y' = y + 1/2*k2 + 1/2*k3 + 3/2*k1 - 1/3*k1[-1]\n",
     0, "b1[-1]=-1/2 a digit exchanged; ", 1},
    {"scheme ab2\ntitle order 2\nk1 = F(y)\nk2 = G(y)\n"
     "y' = y + 1.5000000000*k1 - 0.5000000000*k1[-1] + 1.5000000000*k2 - 0.4000000000*k2[-1]\n",
     0, "b2[-1]=-0.5000000000 a digit exchanged; ", 1},
    /* y'' = f(y, y'): Fine's method of order 5 (1987); a digit, and four that cannot be read, two of them of one row */
    {FINE5
     "k7 = F(y + 5/6*k6 + 7358/6912*k1 - 9425/2304*k3 + 13325/3456*k5)\n"
     "k8 = G(y - 7965053/119551080*k1 + 158769/996259*k3 + 815087/2173656*k5 - 51198/4981295*k7)\n" FINE5_K9
     "k10 = G(y - 7079/52152*k1 + 767/2173*k3 + 14027/52152*k5 + 30/2173*k7)\n"
     "k11 = F(y + k10 + 108475/36464*k1 - 9633/848*k3 + 7624604/806183*k5 + 8100/49979*k7 - 4568212/19446707*k9)\n"
     "k12 = G(y + 4817/51600*k1 + 388869/1216880*k5 + 3276/23575*k7 - 1142053/22015140*k9)\n"
     "y' = y + k12 + 4817/51600*k1 + 1685099/3650640*k5 + 19656/23575*k7 - 53676491/88060560*k9 + 53/240*k11\n",
     0, "a71=7385/6912 two digits transposed; ", 1},
    {FINE5
     "k7 = F(y + 5/6*k6 + 7385/6912*k1 - 9425/2304*k3 + 13325/3456*k5)\n"
     "k8 = G(y + ?*k1 + 158769/996259*k3 + ?*k5 - 51198/4981295*k7)\n" FINE5_K9
     "k10 = G(y + ?*k1 + 767/2173*k3 + 14027/52152*k5 + 30/2173*k7)\n"
     "k11 = F(y + k10 + 108475/36464*k1 - 9633/848*k3 + 7624604/806183*k5 + ?*k7 - 4568212/19446707*k9)\n"
     "k12 = G(y + 4817/51600*k1 + 388869/1216880*k5 + 3276/23575*k7 - 1142053/22015140*k9)\n"
     "y' = y + k12 + 4817/51600*k1 + 1685099/3650640*k5 + 19656/23575*k7 - 53676491/88060560*k9 + 53/240*k11\n",
     0,
     "a81=-7965053/119551080 asked; a85=815087/2173656 asked; a10,1=-7079/52152 asked; a11,7=8100/49979 asked; ",
     1},
};

/* Misprints that users of other programs reported: the issue, a tableau of tableaus.jsonl, a scheme of classics.scheme or a text, what
 * stands there and what did ("|" between several), the first candidate. Of pathsim the pair goes on with order 4; netket's was implicit by mistake; odeint's change of a sign was
 * taken back; of OrdinaryDiffEq's first Nystrom method a whole row was another's, which is asked for (a_ij is c_i times these). Of the
 * second, read from a scan, four numbers were wrong (there a51 = -2207/28350, a64 = -332539/4021872, a83 = 104724572891/298967760000,
 * a84 = -31680158501/747419400): of whichever three are asked for, the fourth is found. */
static const struct {
    const char *issue, *tableau, *right, *wrong, *found;
} published[] = {
    {"pathsim 232",
     "fehlberg 4(5)\n0 |\n1/4 | 1/4\n3/8 | 3/32 9/32\n12/13 | 1932/2197 -7200/2197 7296/2197\n"
     "1 | 439/216 -8 3680/513 -845/4104\n1/2 | -8/27 2 -3544/2565 1859/4104 -11/40\n---+---\n"
     "| 25/216 0 1408/2565 2197/4104 -1/5 0\n| 16/135 0 6656/12825 28561/56430 -9/50 2/55\n",
     "-3544/2565", "-3554/2565", "a63=-3544/2565 a digit exchanged; "},
    {"daceypy 11", "dormandprince8_64bit", "490766935", "49076693",
     "a10,6=-12992083/490766935 a digit lost; "},
    {"netket 1056",
     "{\"A\": [[0, 0, 0, 0], [\"1/2\", 0, 0, 0], [0, \"1/2\", 0, 0], [0, 0, 1, 0]],"
     " \"b\": [\"1/6\", \"1/3\", \"1/3\", \"1/6\"], \"c\": [0, \"1/2\", \"1/2\", 1], \"order\": 4}",
     "1, 0]]", "1, 1]]", "a44=0 a digit exchanged; "},
    {"DiffEqDevTools 23",
     "cash-karp 5(4)\n0 |\n1/5 | 1/5\n3/10 | 3/40 9/40\n3/5 | 3/10 -9/10 6/5\n1 | -11/54 5/2 -70/27 35/27\n"
     "7/8 | 1631/55296 175/512 575/13824 44275/110592 253/4096\n---+---\n| 37/378 0 250/621 125/594 0 512/1771\n"
     "| 2825/27648 0 18575/48384 13525/55296 277/14336 1/4\n",
     "18575", "18574", "bhat3=18575/48384 a digit exchanged; "},
    {"odeint-v2 235",
     "scheme dopri\nnote 5(4)\nk1 = H(y)\nk2 = H(y + 1/5*k1)\nk3 = H(y + 3/40*k1 + 9/40*k2)\n"
     "k4 = H(y + 44/45*k1 - 56/15*k2 + 32/9*k3)\n"
     "k5 = H(y + 19372/6561*k1 - 25360/2187*k2 + 64448/6561*k3 - 212/729*k4)\n"
     "k6 = H(y + 9017/3168*k1 - 355/33*k2 + 46732/5247*k3 + 49/176*k4 - 5103/18656*k5)\n"
     "k7 = H(y + 35/384*k1 + 500/1113*k3 + 125/192*k4 - 2187/6784*k5 + 11/84*k6)\n"
     "y' = y + 35/384*k1 + 500/1113*k3 + 125/192*k4 - 2187/6784*k5 + 11/84*k6\n"
     "error = 71/57600*k1 - 71/16695*k3 + 71/1920*k4 - 17253/339200*k5 + 22/525*k6 - 1/40*k7\n",
     "- 1/40", "+ 1/40", "error weight 7=-1/40 the sign; "},
    {"SUNDIALS 850", "tsitouras5", "\"1/66\"", "\"1/40\"", "bhat7=1/66 ; "},
    {"OrdinaryDiffEq 1938",
     "scheme dprkn5\ntitle order 5\nseparable\nlinear G\nk1 = F(y)\nk2 = G(y + 1/16*k1)\nk3 = F(y + 1/8*k2)\n"
     "k4 = G(y + 1/24*k1 + 1/12*k3)\nk5 = F(y + 1/4*k4)\nk6 = G(y + 1/12*k1 + 1/6*k5)\nk7 = F(y + 1/2*k6)\n"
     "k8 = G(y + 3/32*k1 + 3/16*k5 + 3/32*k7)\nk9 = F(y + 3/4*k8)\n"
     "k10 = G(y + 7/90*k1 + 4/15*k5 + 1/15*k7 + 4/45*k9)\nk11 = F(y + k10)\n"
     "y' = y + k10 + 7/90*k1 + 16/45*k5 + 2/15*k7 + 16/45*k9 + 7/90*k11\n",
     "3/32*k1 + 3/16*k5 + 3/32*k7", "?*k1 + ?*k5 + ?*k7",
     "a81=3/32 asked; a85=3/16 asked; a87=3/32 asked; "},
    {"OrdinaryDiffEq 2059", "sharpfine6",
     "2201/18900*k1|332539/3217500*k7|104724572891/29896776000*k5|31680158501/7474194000",
     "?*k1|?*k7|?*k5|31680158501/747419400",
     "a81=-2201/18900 asked; a10,7=-332539/3217500 asked; a14,5=104724572891/29896776000 asked; "
     "a14,7=-31680158501/7474194000 a digit lost; "},
};

enum { TEXT = 8192 };

static void describe(const Repair *r, char *out, size_t bytes)
{
    const RepairCandidate *c = r->candidate;
    size_t n = 0;
    *out = '\0';
    for (size_t k = 0; r->candidates && k < c->unknowns; k++)
        n += (size_t)snprintf(
            out + n, bytes - n, "%s=%s %s; ", r->name[c->coefficient[k]], c->misprint[k].text,
            r->coefficients.list[c->coefficient[k]].asked ? "asked" : c->misprint[k].words);
}

/* The repaired text of each has nothing left to repair. */
TEST(known_misprints)
{
    for (size_t i = 0; i < sizeof knowns / sizeof *knowns; i++) {
        const Known *x = &knowns[i];
        SCOPED(repair_free) Repair r = {0}, again = {0};
        char found[256], *text;
        size_t bytes;
        if (repair_find("text", x->text, strlen(x->text), x->order, &r) != 0)
            fail_msg("%zu: %s", i, error_text());
        describe(&r, found, sizeof found);
        if (strcmp(found, x->found) != 0 || r.candidates != x->candidates)
            fail_msg("%zu: %zu candidates, '%s'", i, r.candidates, found);
        if (!r.candidates) continue;
        assert_true(repair_unique(&r));
        assert_int_equal(repair_written(&r, 0, x->text, strlen(x->text), &text, &bytes), 0);
        if (repair_find("text", text, bytes, r.order, &again) != 0)
            fail_msg("%s: %s", text, error_text());
        if (again.failing || again.candidates) fail_msg("%zu: not repaired: %s", i, text);
        free(text);
    }
}

/* Copies the line of tableaus.jsonl or the scheme of classics.scheme with this name, or the text itself. */
static void tableau_of(const Lines *l, const char *name, char text[TEXT])
{
    char member[64];
    snprintf(member, sizeof member, "\"name\":\"%.40s\"", name);
    for (size_t i = 0; i < l->count; i++)
        if (strstr(l->line[i], member)) name = l->line[i];
    snprintf(member, sizeof member, "scheme %.40s\n", name);
    const char *at = strstr(path_slurp("tests/ode/classics.scheme", NULL), member),
               *end = at ? strstr(at, "\n\n") : NULL;
    int n = snprintf(text, TEXT, "%.*s", at ? (int)(end - at) : TEXT, at ? at : name);
    assert_true(n > 0 && n < TEXT);
}

/* Puts a word of the list `wrong` in the place of that of `right`, one after another; the lists' words end at "|". */
static void put_wrong(char text[TEXT], const char *right, const char *wrong)
{
    while (*right) {
        size_t n = strcspn(right, "|"), m = strcspn(wrong, "|");
        char *at = memmem(text, strlen(text), right, n);
        assert_non_null(at);
        assert_true(strlen(text) + m < TEXT);
        memmove(at + m, at + n, strlen(at + n) + 1);
        memcpy(at, wrong, m);
        right += n + (right[n] == '|');
        wrong += m + (wrong[m] == '|');
    }
}

TEST(published_misprints)
{
    SCOPED(lines_free) Lines l = {0};
    read_lines(&l, NULL, 10);
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        SCOPED(repair_free) Repair right = {0}, wrong = {0};
        char found[256], text[TEXT];
        tableau_of(&l, published[i].tableau, text);
        assert_int_equal(repair_find("text", text, strlen(text), 0, &right), 0);
        assert_int_equal(right.failing, 0);
        put_wrong(text, published[i].right, published[i].wrong);
        if (repair_find("text", text, strlen(text), 0, &wrong) != 0)
            fail_msg("%s: %s", published[i].issue, error_text());
        describe(&wrong, found, sizeof found);
        if (strcmp(found, published[i].found) != 0 || wrong.candidates != 1)
            fail_msg("%s: %zu candidates, '%s'", published[i].issue, wrong.candidates, found);
    }
    /* All four of the last one, none asked for: no change of one or two does. Those that reach a lower order are offered, and mend no more
     * conditions than fail. */
    SCOPED(repair_free) Repair four = {0};
    char text[TEXT];
    tableau_of(&l, "sharpfine6", text);
    put_wrong(text, ", embedded 5|2201/18900|332539/3217500|29896776000|7474194000",
              "|2207/18900|1662695/16087488|298967760000|747419400");
    assert_int_equal(repair_find("text", text, strlen(text), 0, &four), 0);
    assert_true(four.candidates > 1 && four.reached == 3);
    for (size_t k = 0; k < four.candidates; k++)
        assert_true(four.candidate[k].explained <= four.failing);
}

/* Every consistent scheme of the zoo that can be repaired, multistep ones too, needs no repair. */
TEST(nothing_to_repair)
{
    size_t looked = 0;
    for (size_t i = 0; i < zoo.count; i++) {
        char *text = NULL;
        size_t bytes;
        SCOPED(repair_free) Repair r = {0};
        FILE *f = open_memstream(&text, &bytes);
        assert_int_equal(table_print(zoo.scheme[i], f), 0);
        fclose(f);
        int code = repair_find(zoo.scheme[i]->name, text, bytes, 0, &r);
        if (code == 0 && r.now > 0 && (r.failing || r.candidates || !repair_unique(&r)))
            fail_msg("%s: %zu of %zu fail, %zu candidates", zoo.scheme[i]->name, r.failing,
                     r.conditions, r.candidates);
        looked += code == 0;
        free(text);
    }
    print_message("%zu schemes\n", looked);
    assert_true(looked > 40);
}

/* The second stage has no weight and no reader, so no condition sees its coefficient. */
TEST(unseen)
{
    static const char text[] =
        "scheme s\ntitle order 1\nk1 = H(y)\nk2 = H(y + 1/7*k1)\ny' = y + 1*k1 + 0*k2\n";
    SCOPED(repair_free) Repair r = {0};
    assert_int_equal(repair_find("text", text, strlen(text), 0, &r), 0);
    assert_int_equal(r.coefficients.count, 3);
    assert_string_equal(r.name[0], "a21");
    assert_int_equal(r.seen[0], 0);
    assert_int_equal(r.seen[1], 1);
}

/* Misprints a number of a tableau, which must be the only candidate. */
static void must_locate(const char *tableau, const char *word, const char *wrong)
{
    SCOPED(lines_free) Lines l = {0};
    SCOPED(coefficients_free) Coefficients c = {0};
    Tally tally = {0};
    size_t i = 0, k = 0;
    read_lines(&l, NULL, 8);
    while (i < l.count && !strstr(l.line[i], tableau)) i++;
    assert_true(i < l.count);
    assert_int_equal(coefficients_find(l.line[i], strlen(l.line[i]), &c), 0);
    while (k < c.count && strcmp(c.list[k].word, word) != 0) k++;
    assert_true(k < c.count);
    try_case(l.line[i], &c, k, wrong, &tally);
    assert_int_equal(tally.only, 1);
}

/* Fractions of more digits than a few primes have; and Prince and Dormand's fractions of 1981, which are roundings: no value
 * meets the conditions exactly. */
TEST(long_fractions)
{
    must_locate("tanakakasugayamashitayazaki6b", "2141650356947829667/15684127070697870750",
                "2141650359947829667/15684127070697870750");
    must_locate("tanakakasugayamashitayazaki6b", "59331555925548335981/3757538915366421931200",
                "59331555928548335981/3757538915366421931200");
    must_locate("tanakakasugayamashitayazaki6b", "213748931907436689007/250502594357761462080",
                "213748931937436689007/250502594357761462080");
    must_locate("tanakakasugayamashitayazaki6b", "3149950445245624075843/6575693101891238379600",
                "3149950445275624075843/6575693101891238379600");
    must_locate("dormandprince8_64bit", "22789713/633445777", "22789713/633445177");
}

/* Sums of 79 products of residues, which 64 bits do not hold. */
TEST(long_rows)
{
    enum { STAGES = 80 };
    SCOPED(repair_free) Repair r = {0};
    char *text = NULL, found[256];
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    fprintf(f, "scheme long\nk1 = H(y)\n");
    for (int i = 2; i <= STAGES; i++) fprintf(f, "k%d = H(y + 1/2*k1)\n", i);
    fprintf(f, "y' = y");
    for (int i = 2; i <= STAGES; i++) fprintf(f, " + %s*k%d", i < STAGES ? "1/79" : "1/97", i);
    fclose(f);
    assert_int_equal(repair_find("text", text, bytes, 2, &r), 0);
    free(text);
    describe(&r, found, sizeof found);
    assert_string_equal(found, "b80=1/79 two digits transposed; ");
    assert_int_equal(r.failing, 2);
}

/* Without a repair to the order asked for, what one coefficient reaches below it is told. */
TEST(lower_order)
{
    const char *text = knowns[0].text;
    SCOPED(repair_free) Repair r = {0};
    char found[256];
    assert_int_equal(repair_find("text", text, strlen(text), 5, &r), 0);
    describe(&r, found, sizeof found);
    assert_string_equal(found, "a32=1/2 a digit exchanged; ");
    assert_int_equal(r.reached, 4);
    assert_int_equal(r.order, 5);
    assert_true(r.changed == 2 && r.candidate[0].explained >= 7 &&
                r.candidate[0].explained < r.failing);
    assert_false(repair_unique(&r));
}

/* Of 1 and 01, which are as near to 11 and to the value, the one that people write is taken. */
TEST(no_leading_zero)
{
    RATIONAL(nearly_one);
    Misprint m;
    mpq_set_d(nearly_one, 1 + 0x1p-50);
    coefficient_misprint("11", nearly_one, 0x1p-49, &m);
    assert_string_equal(m.text, "1");
    assert_int_equal(m.distance, 1);
}

/* ---- coefficients and claims of texts ------------------------------------------------------------------- */

/* A text in which each coefficient is written anew says the same; a fifth of each is another scheme. */
TEST(written_anew)
{
    size_t looked = 0;
    for (size_t i = 0; i < zoo.count; i++) {
        /* a text that says orders 1..p is of one formula alone */
        for (int changed = 0; changed < 2 - (zoo.scheme[i]->orders > 0); changed++) {
            char *text = NULL, *again;
            size_t bytes, n, count = 0;
            SCOPED(coefficients_free) Coefficients c = {0};
            OWN_TABLES l = {0};
            FILE *f = open_memstream(&text, &bytes);
            assert_int_equal(table_print(zoo.scheme[i], f), 0);
            fclose(f);
            assert_int_equal(coefficients_find(text, bytes, &c), 0);
            SCOPED(memory_drop) const char **value = memory_new(c.count + 1, sizeof *value);
            for (size_t k = 0; k < c.count; k++) value[k] = c.list[k].word;
            if (changed && c.count) value[c.count - 1] = "1/5";
            assert_int_equal(coefficients_written(&c, text, bytes, value, &again, &n), 0);
            if (scheme_parse("anew", again, n, &l.table, &l.count) != 0)
                fail_msg("%s: %s", error_text(), again);
            if (table_equal(l.table[0], zoo.scheme[i]) == (changed && c.count))
                fail_msg("%s", again);
            count += c.count;
            looked += count;
            free(text);
            free(again);
        }
    }
    assert_true(looked > 500);
}

TEST(claims)
{
    static const struct {
        const char *text;
        int order, embedded;
    } known[] = {
        {"{\"name\": \"a\", \"order\": 5, \"embedded\":3, \"A\": [[]]}", 5, 3},
        {"{\"order\": 5, \"embedded\": -1}", 5, 0},
        {"scheme a\ntitle Dormand and Prince's pair 8(6)\nk1 = H(y)\n", 8, 6},
        {"scheme a\nnote order 4, embedded order 3\n", 4, 3},
        {"pair 5(3)\n0 |\n--+--\n| 1\n", 5, 3},
        {"scheme a\nsource Hairer (1993), eq. 2.7(12)\nk1 = H(y) # order 3\n", 0, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int order, embedded;
        coefficients_claims(known[i].text, strlen(known[i].text), &order, &embedded);
        if (order != known[i].order || embedded != known[i].embedded)
            fail_msg("%s: %d, %d", known[i].text, order, embedded);
    }
}

TEST(refused)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"scheme a\nk1 = H(y + 1/2*k1[-1])\ny' = y + k1\n", "slopes that read their own past"},
        {"scheme a\nk1 = H(y @ 1/2)\ny' = y + 3/2*k1 - 1/2*k1[-1]\n",
         "reads the past and has time nodes"},
        {"scheme a\nk1 = H(y)\nk2 = phi1(H)(k1)\ny' = y + 3/2*k2 - 1/2*k2[-1]\n",
         "functions of derivatives"},
        {"scheme a\nk1 = H(y)\ny' = y + k1\nscheme b\nk1 = H(y)\ny' = y + k1\n", "one scheme"},
        {"scheme a\nlearn g = 1/2\nk1 = H(y)\ny' = y + g*k1\n", "learned"},
        {"scheme a\nk1 = H(y + )\ny' = y + k1\n", "expected"},
        {"scheme a\nk1 = H(y + ?*k1 + 0.1234567891*k1)\ny' = y + ?*k1\n", "one coefficient '?'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        SCOPED(repair_free) Repair r = {0};
        assert_int_equal(repair_find("text", bad[i].text, strlen(bad[i].text), 2, &r), ERR_INPUT);
        if (!strstr(error_text(), bad[i].words)) fail_msg("%zu: %s", i, error_text());
    }
}

TEST_MAIN(zoo_begin, zoo_end)
