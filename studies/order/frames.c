/* frames.c: computes reference solutions at some times and draws them. */
#include "studies/order/order.h"

#include <math.h>
#include <stdio.h>

#include "studies/plot/plot.h"
#include "studies/tools/command.h"

static const double tolerance = 1e-6, between = 1.15; /* distance of pictures, in widths */

typedef struct {
    size_t frame;
    double t;
    size_t particle;
    double x, y, value;
} FrameRow;

const Column frame_columns[] = {
    COLUMN(FrameRow, frame, .words = "number of the picture"),
    COLUMN(FrameRow, t, .words = "time"),
    COLUMN(FrameRow, particle, .words = "number of the particle"),
    COLUMN(FrameRow, x, .words = "first coordinate"),
    COLUMN(FrameRow, y, .words = "second coordinate"),
    COLUMN(FrameRow, value, .words = "third coordinate, or the number of the particle"),
    {0}};

typedef struct {
    System *system;
    Network network; /* network of a trained system, else empty */
    size_t count;
    double *t, *y; /* (count), (count, n, d) */
    Sheet *rows;
} Frames;

static void show_share(void *arg, const char *what, double share)
{
    const Frames *u = arg;
    if (progress_due()) progress_show("%s of %s: %.0f %%", what, u->system->name, 100 * share);
}

static int solve(Frames *u, double t_end)
{
    const System *s = u->system;
    const Watch watch = {show_share, u};
    double agreement;
    u->t = memory_new(u->count, sizeof *u->t);
    u->y = memory_new(u->count, s->n * s->d * sizeof *u->y);
    if (!u->t || !u->y) return ERR_MEMORY;
    for (size_t k = 0; k < u->count; k++)
        u->t[k] = (t_end > 0 ? t_end : s->t_end) * (double)k / (double)(u->count - 1);
    u->system->watch = &watch;
    int code = reference_within(s, tolerance, u->t, u->count, u->y, &agreement);
    u->system->watch = NULL;
    progress_clear();
    return code;
}

static int fill(Frames *u)
{
    size_t n = u->system->n, d = u->system->d;
    TRY(sheet_new(frame_columns, &u->rows));
    for (size_t k = 0; k < u->count; k++)
        for (size_t i = 0; i < n; i++) {
            const double *y = u->y + (k * n + i) * d;
            double value = d > 2 ? y[2] : (double)(i + 1);
            sheet_row(u->rows, &(FrameRow){k + 1, u->t[k], i + 1, y[0], y[1], value});
        }
    return 0;
}

/* Finds the ends of coordinate c over all pictures, a little apart where it is the same everywhere. */
static void find_range(const Frames *u, size_t c, double *low, double *high)
{
    *low = INFINITY, *high = -INFINITY;
    for (size_t i = c; i < u->count * u->system->n * u->system->d; i += u->system->d) {
        *low = fmin(*low, u->y[i]);
        *high = fmax(*high, u->y[i]);
    }
    double least = 1e-6 * fmax(1, fabs(*low));
    if (*high - *low < least) *low -= least, *high += least;
}

static int draw(const Frames *u, const char *dir)
{
    const System *s = u->system;
    double low[2], high[2], wide[2];
    char title[256];
    snprintf(title, sizeof title, "Particles: %s", s->name);
    PlotFrame frame = {"frames", title, "", "", PLOT_EQUAL};
    Plot *p;
    for (size_t c = 0; c < 2; c++) find_range(u, c, &low[c], &high[c]);
    wide[0] = between * (high[0] - low[0]);
    wide[1] = high[1] - low[1] + (between - 1) * fmax(high[1] - low[1], high[0] - low[0]);
    /* The whole is about 3/2 as wide as high. */
    double across_all = ceil(sqrt(1.5 * (double)u->count * (wide[1] / wide[0])));
    size_t columns = across_all < (double)u->count ? (size_t)across_all : u->count;
    size_t rows = (u->count + columns - 1) / columns;
    TRY(plot_new(dir, &frame, &p));
    /* Leaves room for words between two rows: 2.5 text lines, whose height follows
     * from how many fit the image. */
    double across, up;
    plot_size(p, &across, &up);
    double line =
        fmax((double)columns * wide[0] / (across - 12), (double)rows * wide[1] / (up - 3));
    wide[1] = fmax(wide[1], high[1] - low[1] + 2.5 * line);
    plot_setting(p, "unset xtics\nunset ytics\nunset border\nunset grid\n"
                    "set colorbox user origin graph 1.02, screen 0.25 size graph 0.03, screen 0.5\n"
                    "set palette defined (0 '#440154', 0.25 '#3b528b', 0.5 '#21918c', 0.75 "
                    "'#5ec962', 1 '#fde725')");
    plot_setting(p, "set cblabel %s", s->d > 2 ? "third coordinate" : "number of the particle");
    plot_setting(p, "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]", low[0] - 0.1 * wide[0],
                 low[0] + (double)columns * wide[0], high[1] - (double)rows * wide[1],
                 high[1] + 0.1 * wide[1]);
    for (size_t k = 0; k < u->count; k++) {
        double right = wide[0] * (double)(k % columns), down = wide[1] * (double)(k / columns);
        plot_setting(p, "set label 't = %.4g' at %.9g,%.9g center offset 0,0.9", u->t[k],
                     (low[0] + high[0]) / 2 + right, high[1] - down);
        plot_item(p, "frames.csv",
                  "using ($%d == %zu ? $%d + %.9g : NaN):($%d - %.9g):%d with points pt 7 ps %.3g "
                  "lc palette notitle",
                  sheet_column(frame_columns, "frame"), k + 1, sheet_column(frame_columns, "x"),
                  right, sheet_column(frame_columns, "y"), down,
                  sheet_column(frame_columns, "value"),
                  s->n > 400  ? 0.4
                  : s->n > 50 ? 0.7
                              : 1.2);
    }
    plot_aside(p, 4);
    return plot_finish(p);
}

int frames_study(const Options *o, const SystemChoice *choice)
{
    const char *dir = options_text(o, "out");
    Frames u = {.count = options_size(o, "frames")};
    TRY(choose_system(choice, &u.network, &u.system));
    int code =
        u.system->d < 2
            ? error_set(ERR_INPUT,
                        "--frames needs particles of 2 coordinates or more; those of %s have 1",
                        u.system->name)
            : 0;
    if (code == 0) code = choose_blame(choice, solve(&u, options_real(o, "t-end")));
    if (code == 0) code = fill(&u);
    if (code == 0) code = output_directory(dir);
    if (code == 0) code = output_sheet(u.rows, SHEET_CSV, dir, "frames.csv");
    if (code == 0) code = draw(&u, dir);
    if (code == 0)
        printf("%s/frames.svg: %zu particles of %s at %zu times\n", dir, u.system->n,
               u.system->name, u.count);
    sheet_free(u.rows);
    memory_free(u.t);
    memory_free(u.y);
    system_free(u.system);
    network_free(&u.network);
    return code;
}
