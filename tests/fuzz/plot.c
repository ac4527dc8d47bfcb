/* plot.c: plots (studies/base/plot/plot.c, plot_text.c): whatever names a script has, it draws and does nothing else
 * (tests/lib/gnuplot.h), and shows each of them. The input is a set of names with zero bytes between. */
#include "studies/base/plot/plot.h"
#include "studies/base/plot/plot_text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/gnuplot.h"

enum { NAMES = 9, ROOM = 512 };

/* Writes a name as plots show it: with quotes that have no effect. */
static void shown(const char *name, int tic, char out[2 * ROOM])
{
    char text[ROOM];
    size_t n = 0;
    plot_text(name, text, sizeof text);
    for (const char *c = text; *c; c++) {
        const char *instead = *c == '\'' ? "’" : *c == '`' ? "‘" : *c == '%' && tic ? "%%" : NULL;
        size_t bytes = instead ? strlen(instead) : 1;
        FUZZ_CHECK(n + bytes < 2 * ROOM);
        memcpy(out + n, instead ? instead : c, bytes);
        n += bytes;
    }
    out[n] = '\0';
}

static void fill(Plot *p, char name[NAMES][ROOM / 4])
{
    plot_series(p, "a.csv", 1, name[3], 2, 3, name[4]);
    plot_numbered(p, name[5], 1, 2, 3, name[4]);
    plot_level(p, 1.5, name[6]);
    plot_guide(p, 1, 2, 0.5, "slope");
    plot_tic(p, 3, name[7]);
    plot_setting(p, "set cblabel %s", name[8]);
    plot_item(p, name[5], "using %d:%zu title %s", 1, (size_t)2, name[6]);
    plot_more(p, "lc rgb %s", plot_colour(1));
}

static void check_script(Plot *p, char name[NAMES][ROOM / 4])
{
    char *script = NULL, want[2 * ROOM], tic[PLOT_TIC_BYTES];
    size_t bytes;
    FILE *f = open_memstream(&script, &bytes);
    FUZZ_CHECK(f && plot_script(p, f) == 0 && fclose(f) == 0);
    FUZZ_CHECK(strlen(script) == bytes);
    for (int i = 0; i < NAMES; i++) {
        int has;
        if (i == 5) continue; /* a file: its name may get a folder before it */
        plot_tic_word(name[7], tic);
        shown(i == 7 ? tic : name[i], i == 7, want);
        const char *fault = gnuplot_judge(script, want, &has);
        if (fault) fprintf(stderr, "%s\n", fault);
        FUZZ_CHECK(!fault && has);
    }
    free(script);
}

FUZZ()
{
    char name[NAMES][ROOM / 4] = {{0}};
    for (size_t i = 0, k = 0, n = 0; i < size && k < NAMES; i++) {
        if (data[i] == 0)
            k++, n = 0;
        else if (n + 1 < ROOM / 4)
            name[k][n++] = (char)data[i];
    }
    Plot *p;
    PlotFrame frame = {"plot", name[0], name[1], name[2], PLOT_LOG_X | PLOT_HALVINGS};
    if (plot_new(".", &frame, &p) == 0) {
        fill(p, name);
        check_script(p, name);
        plot_drop(p);
    }
    frame.name = name[0]; /* of files: a plain one or none */
    if (plot_new(".", &frame, &p) == 0) {
        FUZZ_CHECK(strspn(name[0], "-_.+0123456789abcdefghijklmnopqrstuvwxyz"
                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == strlen(name[0]));
        plot_drop(p);
    }
}
