/* test_contour.c: level lines of functions whose lines are known. */
#include "tests/lib/test.h"

#include "kernels/memory.h"
#include "studies/plot/contour.h"

enum { POINTS = 81 };

/* Lines found: their number, points, and the largest |function - level| on them; lengths by line. */
typedef struct {
    double (*f)(double x, double y);
    double level;
    size_t lines, points;
    double error, length, first[2], last[2];
    int closed; /* lines that end where they begin */
} Found;

static void end_line(Found *u)
{
    if (u->lines) u->closed += hypot(u->first[0] - u->last[0], u->first[1] - u->last[1]) < 1e-12;
}

static void take(void *context, size_t line, double x, double y)
{
    Found *u = context;
    if (line == u->lines) {
        end_line(u);
        u->lines++;
        u->first[0] = x, u->first[1] = y;
    } else {
        assert_int_equal(line + 1, u->lines);
        u->length += hypot(x - u->last[0], y - u->last[1]);
    }
    u->last[0] = x, u->last[1] = y;
    u->points++;
    u->error = fmax(u->error, fabs(u->f(x, y) - u->level));
}

static Found trace(double (*f)(double, double), double level)
{
    static double value[POINTS * POINTS];
    double origin[2] = {-2, -2}, step[2] = {0.05, 0.05};
    Found u = {.f = f, .level = level};
    for (int j = 0; j < POINTS; j++)
        for (int i = 0; i < POINTS; i++)
            value[j * POINTS + i] = f(origin[0] + step[0] * i, origin[1] + step[1] * j);
    assert_int_equal(contour_find(value, POINTS, POINTS, origin, step, level, take, &u), 0);
    end_line(&u);
    return u;
}

static double circle(double x, double y)
{
    return x * x + y * y;
}
static double plane(double x, double y)
{
    return x + 2 * y;
}
static double saddle(double x, double y)
{
    return x * y;
}
static double pole(double x, double y)
{
    return 1 / (x * x + y * y); /* inf at the grid point (0, 0) */
}

/* Linear interpolation misses by f'' h^2 / 8 < 2 * 0.0025 / 8 on an edge. */
TEST(test_circle)
{
    Found u = trace(circle, 1.7);
    assert_int_equal(u.lines, 1);
    assert_int_equal(u.closed, 1);
    assert_true(u.error <= 1e-3);
    assert_true(fabs(u.length - 2 * M_PI * sqrt(1.7)) <= 1e-2);
    u = trace(circle, 5); /* leaves the box on four sides */
    assert_int_equal(u.lines, 4);
    assert_int_equal(u.closed, 0);
    assert_int_equal(trace(circle, -1).lines, 0);
    assert_int_equal(trace(circle, 9).lines, 0);
}

TEST(test_lines)
{
    Found u = trace(plane, 0.33);
    assert_int_equal(u.lines, 1);
    assert_int_equal(u.closed, 0);
    assert_true(u.error <= 1e-13);
    assert_true(fabs(u.length - 2 * sqrt(5)) <= 1e-12); /* y from -0.835 to 1.165 */
    u = trace(saddle, 0.0003); /* two branches, close to each other at the saddle */
    assert_int_equal(u.lines, 2);
    u = trace(saddle, -0.0003);
    assert_int_equal(u.lines, 2);
    u = trace(pole, 1);
    assert_int_equal(u.lines, 1);
    assert_int_equal(u.closed, 1);
}

TEST_MAIN(NULL, NULL)
