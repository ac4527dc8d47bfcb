/* plot.c: writes a gnuplot script and runs it. */
#include "studies/tools/plot.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/tools/command.h"
#include "studies/tools/output.h"

enum { GUIDES_MAX = 16 };

typedef struct {
    double y; /* where it ends */
    char words[64];
} Guide;

struct Plot {
    char dir[OUTPUT_PATH], name[64];
    Output settings, items;
    size_t series, count; /* lines of points; items of the plot command */
    size_t longest;       /* title of a series, in bytes */
    size_t more;          /* height beyond the usual, of the vector image */
    size_t guides;        /* their words stand between plot and key */
    Guide guide[GUIDES_MAX];
};

/* Okabe and Ito's palette, less its yellow (too pale for lines), with black last. */
static const char *const colour[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                     "#e69f00", "#56b4e9", "#000000"};
static const char *const dash[] = {"1", "'-'", "'_.'", "'.'", "'_  '"};
static const int point[] = {7, 5, 9, 11, 13, 6, 4, 8, 10, 12};
#define OF(list, i) ((list)[(i) % (sizeof(list) / sizeof *(list))])

const char *plot_colour(size_t i)
{
    return OF(colour, i);
}

int plot_point(size_t i)
{
    return OF(point, i);
}

void plot_style(size_t i, char out[96])
{
    snprintf(out, 96, "lc rgb '%s' lw 2 dt %s pt %d ps 1", plot_colour(i), OF(dash, i / 7),
             OF(point, i));
}

void plot_quote(const char *text, char *out, size_t bytes)
{
    size_t n = 0;
    if (bytes < 3) return;
    out[n++] = '\'';
    for (; *text && n + 3 < bytes; text++) {
        if (*text == '\'') out[n++] = '\'';
        out[n++] = *text;
    }
    out[n++] = '\'';
    out[n] = '\0';
}

static const char look[] =
    "set encoding utf8\n"
    "set datafile separator ','\n"
    "set border 3 lc rgb '#555555'\n"
    "set tics nomirror out textcolor rgb '#333333'\n"
    "set grid lc rgb '#dddddd' lw 1 dt 1\n"
    "set key outside right top vertical Left reverse samplen 3 spacing 1.15 maxcols 1 noenhanced\n"
    "set xlabel noenhanced\n"
    "set ylabel noenhanced\n"
    "set style data linespoints\n";

static void write_frame(FILE *f, const PlotFrame *frame)
{
    char text[256];
    fprintf(f, "%s", look);
    plot_quote(frame->title, text, sizeof text);
    fprintf(f,
            "set label %s at screen 0.5, screen 1 center offset 0,-1.2 noenhanced font ',15'\nset "
            "tmargin 3\n",
            text); /* above the whole image, not above the axes */
    plot_quote(frame->x, text, sizeof text);
    fprintf(f, "set xlabel %s noenhanced\n", text);
    plot_quote(frame->y, text, sizeof text);
    fprintf(f, "set ylabel %s noenhanced\n", text);
    if (frame->flags & PLOT_LOG_X) fprintf(f, "set logscale x 10\nset format x '10^{%%L}'\n");
    if (frame->flags & PLOT_LOG_Y) fprintf(f, "set logscale y 10\nset format y '10^{%%L}'\n");
    if (frame->flags & PLOT_HALVINGS) fprintf(f, "set logscale x 2\nset format x '2^{%%L}'\n");
}

int plot_new(const char *dir, const PlotFrame *frame, Plot **out)
{
    Plot *p = memory_new(1, sizeof *p);
    if (!p) return ERR_MEMORY;
    snprintf(p->dir, sizeof p->dir, "%s", dir);
    snprintf(p->name, sizeof p->name, "%s", frame->name);
    if (output_open(&p->settings) != 0 || output_open(&p->items) != 0) {
        plot_drop(p);
        return ERR_MEMORY;
    }
    write_frame(p->settings.f, frame);
    *out = p;
    return 0;
}

void plot_drop(Plot *p)
{
    if (!p) return;
    output_drop(&p->settings);
    output_drop(&p->items);
    memory_free(p);
}

void plot_setting(Plot *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(p->settings.f, format, args);
    va_end(args);
    fputc('\n', p->settings.f);
}

void plot_item(Plot *p, const char *format, ...)
{
    fputs(p->count++ ? ", \\\n        " : "", p->items.f);
    va_list args;
    va_start(args, format);
    vfprintf(p->items.f, format, args);
    va_end(args);
}

void plot_taller(Plot *p, size_t pixels)
{
    p->more += pixels;
}

void plot_series(Plot *p, const char *data, int key, const char *value, int x, int y,
                 const char *title)
{
    char file[256], word[256], name[256], style[96];
    plot_quote(data, file, sizeof file);
    plot_quote(value ? value : "", word, sizeof word);
    plot_quote(title, name, sizeof name);
    plot_style(p->series++, style);
    if (strlen(title) > p->longest) p->longest = strlen(title);
    if (p->series > 16) plot_taller(p, 29); /* the key */
    if (key)
        plot_item(p, "%s using (strcol(%d) eq %s ? $%d : NaN):%d title %s noenhanced %s", file, key,
                  word, x, y, name, style);
    else
        plot_item(p, "%s using %d:%d title %s noenhanced %s", file, x, y, name, style);
}

void plot_guide(Plot *p, double c, int power, double x, const char *words)
{
    double y = c * pow(x, power);
    size_t k = p->guides;
    plot_item(p, "%.6g * x**%d with lines notitle lc rgb '#999999' lw 1.5 dt '.'", c, power);
    if (k == GUIDES_MAX) return;
    for (; k > 0 && p->guide[k - 1].y < y; k--) p->guide[k] = p->guide[k - 1];
    p->guide[k].y = y;
    snprintf(p->guide[k].words, sizeof p->guide[k].words, "%s", words);
    p->guides++;
}

/* Words beside the ends of the guides, from the top down. Only gnuplot knows the axis, after it has
 * drawn: a first plot goes nowhere. Words closer than a line of text move down. */
static void write_guides(const Plot *p, FILE *f)
{
    if (p->guides == 0) return;
    fprintf(f,
            "set key at graph 1.14,1 left top\nset rmargin %zu\n"
            "set terminal unknown\nplot %s\n"
            "height(y) = log(y / GPVAL_Y_MIN) / log(GPVAL_Y_MAX / GPVAL_Y_MIN)\n"
            "below(a, b) = a < b ? a : b\nline = 0.045\nend = 1 + line\n",
            p->longest + 15, p->items.text);
    for (size_t k = 0; k < p->guides; k++) {
        char text[160];
        plot_quote(p->guide[k].words, text, sizeof text);
        fprintf(f,
                "end = below(height(%.6g), end - line)\n"
                "set label %s at graph 1, graph end left offset 0.6,0 noenhanced font ',11' "
                "textcolor rgb '#777777'\n",
                p->guide[k].y, text);
    }
}

void plot_level(Plot *p, double y, const char *words)
{
    char text[256];
    plot_quote(words, text, sizeof text);
    plot_item(p, "%.6g with lines notitle lc rgb '#777777' lw 1.5 dt '-'", y);
    plot_setting(p,
                 "set label %s at graph 0.99, first %.6g right offset 0,0.6 noenhanced font ',11' "
                 "textcolor rgb '#555555'",
                 text, y);
}

void plot_count(Plot *p, size_t n)
{
    plot_setting(p, "set xrange [0.7:%zu.3]\nset xtics 1,%zu", n, n / 12 + 1);
}

/* The same plot twice: a vector and a pixel image of equal proportions. */
static int write_script(Plot *p)
{
    char path[OUTPUT_PATH];
    TRY(output_path(path, p->dir, "%s.gp", p->name));
    fflush(p->settings.f);
    fflush(p->items.f);
    Output o;
    TRY(output_open(&o));
    fprintf(o.f, "# gnuplot %s.gp, here, draws %s.svg and %s.png again\n%s", p->name, p->name,
            p->name, p->settings.text);
    write_guides(p, o.f);
    fprintf(o.f,
            "do for [image in 'svg png'] {\n"
            "    if (image eq 'svg') {\n"
            "        set terminal svg size 900,%zu font 'DejaVu Sans,Verdana,sans-serif,14' "
            "background 'white'\n"
            "    } else {\n"
            "        set terminal pngcairo size 1800,%zu font 'DejaVu Sans,14' fontscale 2 "
            "linewidth 2 pointscale 2\n"
            "    }\n"
            "    set output '%s.'.image\n"
            "    plot %s\n"
            "    unset output\n"
            "}\n",
            540 + p->more, 2 * (540 + p->more), p->name, p->items.text);
    return output_close(&o, path);
}

/* gnuplot NAME.gp in the directory: exit status, or -1 with errno set. */
static int run_gnuplot(const Plot *p)
{
    char script[80];
    char *argv[] = {(char[]){"gnuplot"}, script, NULL};
    snprintf(script, sizeof script, "%s.gp", p->name);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addchdir_np(&files, p->dir);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    pid_t child;
    int status = -1, failed = posix_spawnp(&child, "gnuplot", &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (failed) {
        errno = failed;
        return -1;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* gnuplot does not look whether what it writes arrives. A drawing cut short, as on a full disk, lacks the last
 * words of its format, and goes. Sources: SVG 1.1, section 5.1; PNG (ISO 15948), section 11.2.5. */
static void check_drawing(const Plot *p, const char *kind, const char *last)
{
    char path[OUTPUT_PATH], end[16] = "";
    if (output_path(path, p->dir, "%s.%s", p->name, kind) != 0) return;
    FILE *f = fopen(path, "rb");
    size_t n = f && fseek(f, -(long)sizeof end, SEEK_END) == 0 ? fread(end, 1, sizeof end, f) : 0;
    if (f) fclose(f);
    if (memmem(end, n, last, strlen(last))) return;
    command_warn("%s could not be written whole; 'gnuplot %s.gp' there draws it again", path,
                 p->name);
    remove(path);
}

static void draw(const Plot *p)
{
    int status = run_gnuplot(p);
    if (status < 0)
        command_warn("gnuplot cannot be run (%s); %s/%s.gp is written, not drawn", strerror(errno),
                     p->dir, p->name);
    else if (status > 0)
        command_warn("gnuplot failed; 'gnuplot %s.gp' in %s tells why", p->name, p->dir);
    else {
        check_drawing(p, "svg", "</svg>");
        check_drawing(p, "png", "IEND");
    }
}

int plot_finish(Plot *p)
{
    int code = write_script(p);
    if (code == 0) draw(p);
    plot_drop(p);
    return code;
}
