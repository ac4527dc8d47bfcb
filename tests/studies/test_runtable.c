/* test_runtable.c: the engine of `trotter table` without memory, and which columns it chooses. What it computes is tested
 * through the command (tests/commands/test_table.c). */
#include "tests/lib/test.h"

#include "kernels/base/error.h"
#include "studies/lab/table/runtable.h"
#include "tests/lib/scratch.h"

static int write_all(Sheet *s)
{
    FILE *f = fopen("/dev/null", "w");
    int code = sheet_write(s, SHEET_CSV, f);
    fclose(f);
    return code;
}

static int questions(const RunTable *t, Sheet *s)
{
    TRY(runtable_baseline((RunTable *)t, "a", 0.1));
    TRY(runtable_dunnett(t, s));
    TRY(runtable_tukey(t, s));
    TRY(runtable_contrast(t, "here", "x: b - a", "", s));
    TRY(runtable_plan(t, file_path("plan"), "", s));
    return write_all(s);
}

static int ask(void)
{
    RunTable t;
    Sheet *s = NULL;
    TRY(runtable_open((const char *[]){formed("%s", file_path("runs.csv"))}, 1, &(RunColumns){0},
                      &t));
    int code = sheet_new(runtable_differences, &s);
    if (code == 0) code = questions(&t, s);
    sheet_free(s);
    runtable_close(&t);
    return code;
}

/* Every allocation fails once: nothing leaks, and the failure is told. */
TEST(without_memory)
{
    file_text("runs.csv", "name,seed,value\na,1,5\na,2,6\nb,1,7\nb,2,9\nc,1,nan\n");
    file_text("plan", "a c - b\n");
    assert_int_equal(ask(), 0);
    assert_true(fail_each(ask, ERR_MEMORY) > 20);
}

/* Opens a table of this text and tells whether these columns were chosen; design: separated by commas. */
static int chooses(const char *text, const char *design, const char *seed, const char *measure)
{
    RunTable t;
    char keys[256] = "";
    if (runtable_open((const char *[]){formed("%s", file_text("some.csv", text))}, 1,
                      &(RunColumns){0}, &t) != 0)
        return 0;
    for (size_t k = 0; k < t.keys; k++) {
        if (k > 0) strcat(keys, ",");
        strcat(keys, t.key[k]);
    }
    int same = strcmp(keys, design) == 0 && strcmp(t.measure[0].column, measure) == 0 &&
               (t.seed ? seed && strcmp(t.seed, seed) == 0 : !seed);
    runtable_close(&t);
    return same;
}

TEST(columns_by_default)
{
    assert_true(chooses("name,seed,value\na,1,5\nb,1,6\n", "name", "seed", "value"));
    assert_true(chooses("value,Seed,name\n5,1,a\n6,1,b\n", "name", "Seed", "value"));
    /* text that does not vary tells nothing apart; without other text it is the name */
    assert_true(chooses("task,name,seed,x,y\nt,a,1,5,7\nt,b,1,6,8\n", "name", "seed", "y"));
    assert_true(chooses("name,seed,x\na,1,5\na,2,6\n", "name", "seed", "x"));
    assert_true(chooses("name,word,seed,x\na,sf,1,5\nb,fs,2,6\n", "name,word", "seed", "x"));
    /* numbers alone: the first column left */
    assert_true(chooses("layers,seed,x\n1,1,5\n2,1,6\n", "layers", "seed", "x"));
    /* a column of runs that diverged is one of numbers, one without a cell is none */
    assert_true(chooses("name,seed,x,none\na,1,nan,\nb,1,6,NA\n", "name", "seed", "x"));
    assert_true(chooses("name,x\na,1\nb,2\n", "name", NULL, "x"));
    assert_false(chooses("name,x\na,1\nb,2\n", "x", NULL, "x"));
    assert_false(chooses("seed,x\n1,1\n2,2\n", "", "seed", "x"));
    assert_non_null(strstr(error_text(), "no column tells designs apart"));
}

TEST_MAIN(scratch_open, scratch_close)
