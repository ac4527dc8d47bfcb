/* test_source.c: tableaus in the sources of other programs: what is printed for them reads back, and pieces of sources as their
 * authors write them are read, or refused with their line. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

static int open_all(void **state)
{
    return zoo_begin(state) | scratch_open(state);
}

static int close_all(void **state)
{
    return zoo_end(state) | scratch_close(state);
}

typedef struct {
    SourceTable *list;
    size_t count;
} Read;

static void read_free(Read *r)
{
    source_free(r->list, r->count);
}
#define OWN_READ SCOPED(read_free) Read

static Read read_text(const char *file, const char *text)
{
    Read r = {0};
    assert_int_equal(source_read(file, text, strlen(text), &r.list, &r.count), 0);
    return r;
}

static const char *const ends[SOURCE_FORMS] = {"a.c", "a.jl", "a.py", "a.py", "a.py"};

/* Prints and reads a scheme back; returns 0 where the form has no place for it. */
static int goes_round(const Table *t, int form)
{
    int code;
    const char *text = WRITTEN(f, code = source_print(t, form, 3, t->pair ? 2 : 0, f));
    if (code == ERR_INPUT) return 0;
    assert_int_equal(code, 0);
    OWN_READ r = read_text(ends[form], text);
    if (r.count != 1 || !r.list[0].table)
        fail_msg("%s: %zu tables, %s\n%s", t->name, r.count, r.count ? r.list[0].refused : "",
                 text);
    const Table *own = table_unfiltered(t);
    if (t->exact) {
        OWN_TABLE *again = table_copy(table_whole(r.list[0].table));
        table_rename(again, own->name);
        if (!table_equal(again, own)) fail_msg("%s, form %d:\n%s", t->name, form, text);
    } else
        assert_int_equal(order_of(r.list[0].table), order_of(own));
    if (form < SOURCE_NODEPY) assert_int_equal(r.list[0].order, 3);
    return 1;
}

/* Every scheme of the zoo that has a tableau goes to SUNDIALS and Julia and back; the others lack a place for some. */
TEST(every_tableau_goes_round)
{
    int went[SOURCE_FORMS] = {0};
    for (size_t i = 0; i < zoo.count; i++)
        for (int form = 0; form < SOURCE_FORMS; form++)
            went[form] += goes_round(zoo.scheme[i], form);
    assert_true(went[SOURCE_SUNDIALS] > 20 && went[SOURCE_SUNDIALS] == went[SOURCE_SCIML]);
    assert_true(went[SOURCE_DIFFRAX] > 15 && went[SOURCE_SCIPY] > 4 && went[SOURCE_NODEPY] > 20);
}

/* Pieces as programs have them, of methods that the zoo has. */
static const struct {
    const char *file, *text, *scheme;
    int order, embedded;
} piece[] = {
    {"a.def",
     "/* A comment: B->b[0] = 7; */\nARK_BUTCHER_TABLE(NONE, {\n    return NULL;\n  })\n"
     "ARK_BUTCHER_TABLE(HEUN_EULER, { /* Heun */\n    ARKodeButcherTable B = ARKodeButcherTable_Alloc(2, SUNTRUE);\n"
     "    B->q = 2;\n    B->p = 1;\n    B->A[1][0] = SUN_RCONST(1.0);\n    B->b[0] = SUN_RCONST(1.0)/SUN_RCONST(2.0);\n"
     "    B->b[1] = SUN_RCONST(0.5);\n    B->d[0] = SUN_RCONST(1.0);\n    B->c[1] = SUN_RCONST(1.0);\n    return B;\n  })\n",
     "heun-euler", 2, 1},
    {"a.jl",
     "\"\"\"\nThe method\n\"\"\"\nfunction Heun(::Type{T} = Float64) where {T}\n    A = [\n        0 0 # a comment\n        1 0\n    ]\n"
     "    c = [0; 1]\n    α = [1 // 2; 1 // 2]\n    αEEst = [\n        1,\n        0,\n    ]\n    A = map(T, A)\n"
     "    αEEst = map(T, αEEst)\n    return (DiffEqBase.ExplicitRKTableau(A, c, α, 2; αEEst, adaptiveorder = 1))\nend\n",
     "heun-euler", 2, 1},
    {"a.jl",
     "function H(T, T2)\n    A = zeros(T, 2, 2)\n    α = zeros(T, 2)\n    c = zeros(T2, 2)\n    c[2] = 1\n"
     "    A[2, 1] = convert(T, big\"1.\")\n    α[1] = 1 // 2\n    α[2] = 1 - α[1]\n    ExplicitRKTableau(A, c, α, 2)\nend\n",
     "heun", 2, 0},
    {"a.jl",
     "function BS3(T, T2)\n    a21 = convert(T, 1 // 2)\n    a32 = convert(T, 3 // 4)\n    a41 = convert(T, 2 // 9)\n"
     "    a42 = convert(T, 1 // 3)\n    a43 = convert(T, 4 // 9)\n    c1 = convert(T2, 1 // 2)\n    c2 = convert(T2, 3 // 4)\n"
     "    btilde1 = convert(T, 5 // 72)\n    btilde2 = convert(T, -1 // 12)\n    btilde3 = convert(T, -1 // 9)\n"
     "    btilde4 = convert(T, 1 // 8)\n    return BS3(a21, a32)\nend\n",
     "bogacki-shampine", 0, 0},
    {"a.py",
     "class RK23(RungeKutta):\n    \"\"\"Explicit, A = 7\"\"\"\n    order = 3\n    error_estimator_order = 2\n    n_stages = 3\n"
     "    C = np.array([0, 1/2, 3/4])\n    A = np.array([\n        [0, 0, 0],\n        [1/2, 0, 0],\n        [0, 3/4, 0]\n    ])\n"
     "    B = np.array([2/9, 1/3, 4/9])\n    E = np.array([5/72, -1/12, -1/9, 1/8])\n",
     "bogacki-shampine", 3, 2},
    {"a.py",
     "_b = np.array([2 / 9, 1 / 3, 4 / 9, 0.0])\n_bosh_tableau = ButcherTableau(\n    a_lower=(\n        np.array([1 / 2]),\n"
     "        np.array([0.0, 3 / 4]),\n        _b[:-1],\n    ),\n    b_sol=_b,\n    b_error=_b - np.array([7 / 24, 1 / 4, 1 / 3, 1 / 8]),\n"
     "    c=np.array([1 / 2, 3 / 4, 1.0]),\n)\n\nclass Bosh3(AbstractERK):\n    def order(self, terms):\n        return 3\n",
     "bogacki-shampine", 3, 0},
    {"a.py",
     "half = Rational(1,2)\none  = Rational(1,1)\nA=snp.array([[0,0],[one,0]])\nb=np.array([one,one])/2\nbhat=np.squeeze(A[1,:])\n"
     "RK['HE']=ExplicitRungeKuttaPair(A.astype('float64'),b,bhat=bhat,name='Heun 2(1)')\n",
     "heun-euler", 2, 1},
    {"a.c",
     "#define third RC(1.0) / RC(3.0)\n  {\n    const PetscReal A[3][3] = {\n      {0, 0, 0},\n      {RC(2.0) * third, 0, 0},\n"
     "      {RC(-1.0) / RC(3.0), RC(1.0), 0}\n    };\n    const PetscReal b[3] = {RC(0.25), RC(0.5), (PetscReal)0.25};\n"
     "    PetscCall(TSRKRegister(TSRK3, 3, 3, &A[0][0], b, NULL, NULL, 0, NULL));\n  }\n",
     NULL, 3, 0},
    {"a.hpp",
     "struct ck_a1 : std::array< Value , 1 >\n{\n    ck_a1( void )\n    {\n        (*this)[0] = static_cast< Value >( 1 );\n    }\n};\n"
     "struct ck_b : std::array< Value , 2 >\n{\n    ck_b( void )\n    {\n        (*this)[0] = static_cast<Value>(1)/static_cast<Value>(2);\n"
     "        (*this)[1] = static_cast<Value>(1)/static_cast<Value>(2);\n    }\n};\n"
     "class heun : public explicit_generic_rk< 2 , 2 , State >\n{\n};\n",
     "heun", 2, 0}};

TEST(pieces_of_programs)
{
    for (size_t i = 0; i < sizeof piece / sizeof *piece; i++) {
        OWN_READ r = read_text(piece[i].file, piece[i].text);
        if (r.count != 1 || !r.list[0].table)
            fail_msg("%zu: %zu tables, %s", i, r.count, r.count ? r.list[0].refused : "");
        assert_int_equal(r.list[0].order, piece[i].order);
        assert_int_equal(r.list[0].embedded, piece[i].embedded);
        if (!piece[i].scheme) continue;
        OWN_TABLE *t = named(piece[i].scheme, "exact");
        OWN_TABLE *whole = table_copy(table_whole(r.list[0].table));
        table_rename(whole, t->name);
        if (t->pair && !table_equal(whole, t->pair)) fail_msg("%zu", i);
        if (!t->pair && !table_equal(r.list[0].table, t) && order_of(r.list[0].table) != 2)
            fail_msg("%zu", i);
    }
}

/* What is refused is refused with its line, and not passed over: a table that lacks an entry has another order. */
TEST(refused_with_its_line)
{
    static const struct {
        const char *file, *text, *words;
    } bad[] = {
        {"a.jl",
         "function H(T)\n    A = zeros(T, 2, 2)\n    A[2, 1:1] = [1]\n    ExplicitRKTableau(A, [0; 1], [0; 1], 2)\nend\n",
         "a.jl:3:"},
        {"a.jl",
         "function H(T)\n    A = [0 0; 1 0]\n    ExplicitRKTableau(A, [0; 1], [0; sin(1)], 2)\nend\n",
         "a.jl:3:"},
        {"a.jl",
         "function H(T)\n    b = [1; 0]\n    d = b |> f\n    ExplicitRKTableau([0 0; 1 0], [0; 1], d, 2)\nend\n",
         "a.jl:3:"},
        {"a.py", "A = load()\nx = ExplicitRungeKuttaMethod(A, [1], name='a')\n", "a.py:1:"},
        {"a.py", "A = np.array([[0, 0], [x, 0]])\nb = [1, 0]\ny = ExplicitRungeKuttaMethod(A, b)\n",
         "a.py:1:"},
        {"a.py", "y = ExplicitRungeKuttaMethod([[0, 0], [[1], 0]], [1, 0])\n", "a.py:1:"},
        {"a.py", "y = ExplicitRungeKuttaMethod([[0, 0], [1, 0]], [1 - sympify('1/3'), 1])\n",
         "a.py:1:"},
        {"a.py", "y = ExplicitRungeKuttaMethod([[0, 0], [2**18446744073709551617, 0]], [0, 1])\n",
         "a.py:1:"},
        {"a.py", "y = ExplicitRungeKuttaMethod([[0, 0], [.1e-9999999999999999999, 0]], [0, 1])\n",
         "a.py:1:"},
        {"a.py", "y = RungeKuttaMethod([[0, 0, 0], [1, 0, 1], [0, 0, 0]], [0, 1])\n",
         "a.py:1: a row has an entry of stage 3"},
        {"a.py", "y = ExplicitRungeKuttaMethod([[0, 0], 1], [0, 1])\n",
         "a.py:1: a number stands where a list should"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        OWN_READ r = read_text(bad[i].file, bad[i].text);
        assert_int_equal(r.count, 1);
        if (r.list[0].table || strncmp(r.list[0].refused, bad[i].words, strlen(bad[i].words)) != 0)
            fail_msg("%zu: '%s'", i, r.list[0].refused);
        Tables l = {0};
        assert_int_equal(
            source_parse(bad[i].file, bad[i].text, strlen(bad[i].text), &l.table, &l.count),
            ERR_INPUT);
    }
    Tables l = {0};
    assert_int_equal(source_parse("a.c", "int main;", 9, &l.table, &l.count), ERR_INPUT);
    assert_true(error_has("a.c: no tableau is found in it"));
}

/* What stands at places that are easily taken for others: rows of a matrix from 1 in Julia, nodes without the first where rows
 * behind the weights are left out, an error of a last stage that is not
 * SciPy's, a node of 0. */
TEST(places)
{
    OWN_TABLE *heun = named("heun", "exact");
    OWN_READ row = read_text("a.jl", "function H(T)\n    A = [0 0; 1 0]\n    B = [9 9; 1//2 1//2]\n"
                                     "    ExplicitRKTableau(A, [0; 1], B[2, :], 2)\nend\n");
    OWN_READ behind = read_text("a.jl", "function H(T)\n    A = [0 0 0; 1 0 0; 1 1 0]\n"
                                        "    ExplicitRKTableau(A, [1; 2], [1//2; 1//2], 2)\nend\n");
    assert_true(row.count == 1 && row.list[0].table && behind.count == 1 && behind.list[0].table);
    assert_true(table_equal(row.list[0].table, heun));
    assert_true(table_equal(behind.list[0].table, heun));
    OWN_TABLE *half = scheme("k1 = H(y)\nk2 = H(y + 1/2*k1)\ny' = y + 1/2*k1\nerror = k2 - k1");
    OWN_TABLE *still = scheme("k1 = H(y)\nk2 = H(y + 1/2*k1 @ 0)\ny' = y + k2");
    assert_true(goes_round(half, SOURCE_SCIPY) && goes_round(still, SOURCE_SUNDIALS));
}

/* diffrax asks for a node, a diagonal and predictions of implicit stages, and for two stages. */
TEST(diffrax_of_implicit_stages)
{
    OWN_TABLE *midpoint = named("implicit-midpoint", "exact");
    OWN_TABLE *two = scheme("k1 = H(y + 1/4*k1)\nk2 = H(y + 1/2*k1 + 1/3*k2)\ny' = y + k2");
    assert_false(goes_round(midpoint, SOURCE_DIFFRAX));
    const char *text = WRITTEN(f, source_print(two, SOURCE_DIFFRAX, 1, 0, f));
    assert_non_null(strstr(text, "c1=1 / 4,"));
    assert_non_null(strstr(text, "a_predictor=(\n        np.array([1]),\n    ),\n"));
}

/* Texts that would take minutes, or all memory, are refused or read in seconds. */
TEST(costly_texts)
{
    static const char *const begin[] = {"(T)",
                                        "x = T(",
                                        "y = [x, x, x, x, x, x, x, x]\nx = y\n",
                                        "z = zeros(256, 256)\n",
                                        "(",
                                        "[",
                                        "def order",
                                        "-"};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++) {
        size_t n = strlen(begin[i]), all = 1 << 17;
        SCOPED(memory_drop) char *text = memory_new(all + 1, 1);
        SourceTable *list;
        size_t count;
        for (size_t k = 0; k < all; k++) text[k] = begin[i][k % n];
        memcpy(text, i ? "x = 1\n" : "x =   ", 6);
        int code = source_read(i ? "a.jl" : "a.c", text, all, &list, &count);
        if (code != 0 && code != ERR_INPUT) fail_msg("%zu: %s", i, error_text());
        source_free(list, count);
    }
}

/* Texts that end anywhere are read or refused, and nothing stays. */
TEST(texts_cut_off)
{
    for (size_t i = 0; i < sizeof piece / sizeof *piece; i++)
        for (size_t n = 0; n < strlen(piece[i].text); n++) {
            SourceTable *list;
            size_t count;
            SCOPED(memory_drop) char *text = memory_new(n + 1, 1);
            memcpy(text, piece[i].text, n);
            assert_int_equal(source_read(piece[i].file, text, n, &list, &count), 0);
            source_free(list, count);
        }
}

TEST_MAIN(open_all, close_all)
