/* maps.c: draws attention maps. A picture has all its maps in one frame, side by side, so that
 * they share tokens and shade. */
#include "studies/model/attention/attention_distance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/model/sentences.h"
#include "studies/base/plot/plot.h"
#include "studies/base/command.h"
#include "studies/base/utf8.h"

typedef struct {
    size_t map, sentence, layer, sublayer, head, query, key;
    double weight;
    const char *token_query, *token_key, *model;
} MapRow;

const Column map_columns[] = {
    COLUMN(MapRow, map, .words = "number of the attention sublayer in a sentence and a model"),
    COLUMN(MapRow, sentence, .words = "line of the text that has words, from 1"),
    COLUMN(MapRow, layer, .words = "number of the layer, from 0"),
    COLUMN(MapRow, sublayer, .words = "number of the attention sublayer in its layer, from 1"),
    COLUMN(MapRow, head, .words = "number of the head, from 1; 0: the mean over heads"),
    COLUMN(MapRow, query, .words = "place of the token that looks, from 0"),
    COLUMN(MapRow, key, .words = "place of the token that is looked at, from 0"),
    COLUMN(MapRow, weight, .words = "attention weight; over the keys of a query they sum to 1"),
    COLUMN(MapRow, token_query, .words = "the token that looks"),
    COLUMN(MapRow, token_key, .words = "the token that is looked at"),
    COLUMN(MapRow, model, .words = "directory of the model"),
    {0}};

/* The place of a sublayer's evaluation, in the order of a model's evaluations. */
typedef struct {
    size_t layer, sublayer;
} Place;

typedef struct {
    const char *name;
    const Network *network;
    size_t number, sentence; /* numbers of the model and of the line, from 1 */
    size_t first;            /* number of its first map */
    size_t A, H, N;
    Place *place; /* (A) */
    const int32_t *token;
    double *weights; /* (A, H, N, N) */
    int causal;
} Looks;

/* ---- numbers ------------------------------------------------------------------------------------- */

static void find_places(const Plan *p, Place *place)
{
    size_t n = 0;
    for (size_t i = 0; i < p->instrs; i++) {
        const PlanInstr *in = &p->instr[i];
        if (in->op != PLAN_EVAL || p->slot[in->slot].kind != SLOT_ATTENTION) continue;
        size_t layer = (size_t)p->slot[in->slot].layer, before = 0;
        for (size_t k = 0; k < n; k++) before += place[k].layer == layer;
        place[n++] = (Place){layer, before + 1};
    }
}

/* Returns the weight of head h from 1, or with h 0 the mean over heads. */
static double weight(const Looks *l, size_t a, size_t h, size_t query, size_t key)
{
    const double *w = l->weights + (a * l->H * l->N + query) * l->N + key;
    double sum = 0;
    if (h) return w[(h - 1) * l->N * l->N];
    for (h = 0; h < l->H; h++) sum += w[h * l->N * l->N];
    return sum / (double)l->H;
}

static const char *word(const Looks *l, size_t i)
{
    return l->network->vocab.word[l->token[i]];
}

static void add_rows(const Looks *l, Sheet *s)
{
    for (size_t a = 0; a < l->A; a++)
        for (size_t h = 0; h <= l->H; h++)
            for (size_t i = 0; i < l->N; i++)
                for (size_t j = 0; j < (l->causal ? i + 1 : l->N); j++)
                    sheet_row(s, &(MapRow){l->first + a, l->sentence, l->place[a].layer,
                                           l->place[a].sublayer, h, i, j, weight(l, a, h, i, j),
                                           word(l, i), word(l, j), l->name});
}

/* ---- pictures ------------------------------------------------------------------------------------ */

/* Maps in rows and columns; lengths in lines of small letters. */
typedef struct {
    size_t maps, columns, rows;
    size_t pitch; /* distance of columns, in cells; that of rows is N + GAP */
    double cell;
    double across, up;    /* size of the picture */
    double centre[2];     /* centre of the maps */
    double above;         /* room for the title */
    double below, beside; /* room for the words below and left of the maps */
} Layout;

enum { LETTERS = 12, GAP = 2, LEAST_PITCH = 10 };
enum { BEHIND = 6 };              /* room for the scale */
static const double tight = 0.95; /* smallest cell with a legible token */

/* Writes a token, cut to its room. */
static void label(const Looks *l, size_t i, char out[4 * LETTERS + 8])
{
    char text[4 * LETTERS + 8];
    plot_text(word(l, i), text, sizeof text);
    size_t n = utf8_fit(text, LETTERS);
    if (text[n]) n = utf8_fit(text, LETTERS - 1);
    snprintf(out, 4 * LETTERS + 8, "%.*s%s", (int)n, text, text[n] ? "…" : "");
}

/* Chooses as many columns as leave each token a line, in rows as even as possible; cells are square. */
static Layout lay_out(const Looks *l, Plot *p, size_t maps)
{
    double letters = 0;
    char text[4 * LETTERS + 8];
    Layout y = {.maps = maps, .pitch = (l->N > LEAST_PITCH ? l->N : LEAST_PITCH) + GAP};
    for (size_t i = 0; i < l->N; i++) {
        label(l, i, text);
        letters = fmax(letters, 0.55 * (double)utf8_columns(text, SIZE_MAX));
    }
    double pixels = plot_size(p, &y.across, &y.up);
    y.above = plot_titled() ? 4 : 1;
    y.below = letters + 3;
    y.beside = letters + 3;
    double room = y.across - y.beside - BEHIND;
    for (y.columns = maps; y.columns > 1; y.columns--)
        if (room >= tight * (double)(y.columns * y.pitch - GAP)) break;
    y.rows = (maps + y.columns - 1) / y.columns;
    y.columns = (maps + y.rows - 1) / y.rows;
    y.cell = fmin(2.5, room / (double)(y.columns * y.pitch - GAP));
    double up = y.cell * (double)(y.rows * (l->N + GAP)) + y.below + y.above;
    if (up > y.up) plot_taller(p, (size_t)ceil(pixels * (up - y.up)));
    y.up = fmax(y.up, up);
    return y;
}

/* Sets margins so that a cell has its size; the scale stands beside the upper maps. */
static void set_margins(const Looks *l, Plot *p, Layout *y)
{
    double wide = y->cell * (double)((y->columns - 1) * y->pitch + l->N),
           high = y->cell * (double)(y->rows * (l->N + GAP));
    double left = y->beside + 0.5 * (y->across - y->beside - BEHIND - wide),
           bottom = y->below + 0.5 * (y->up - y->below - y->above - high);
    y->centre[0] = left + 0.5 * wide;
    y->centre[1] = bottom + 0.5 * high;
    plot_setting(p, "set lmargin at screen %.4g\nset rmargin at screen %.4g", left / y->across,
                 (left + wide) / y->across);
    plot_setting(p, "set bmargin at screen %.4g\nset tmargin at screen %.4g", bottom / y->up,
                 (bottom + high) / y->up);
    double scale = fmin(12, high - 2 * y->cell), top = bottom + high - 2 * y->cell,
           behind = left + wide + 1.2;
    plot_setting(
        p,
        "set colorbox user origin screen %.4g, screen %.4g size screen %.4g, screen %.4g\n"
        "set label 'weight' at screen %.4g, screen %.4g left font small\nset cbtics offset -0.7,0",
        behind / y->across, (top - scale) / y->up, 1.2 / y->across, scale / y->up,
        behind / y->across, (top + 1.3) / y->up);
}

static void set_axes(const Looks *l, Plot *p, const Layout *y)
{
    char text[4 * LETTERS + 8];
    size_t high = l->N + GAP, step = y->cell < tight ? (size_t)ceil(1 / y->cell) : 1;
    plot_setting(
        p,
        "unset xlabel\nset label 'token that is looked at' at screen %.4g, screen %.4g center\n"
        "unset ylabel\nset label 'token that looks' at screen %.4g, screen %.4g center rotate by 90",
        y->centre[0] / y->across, 1.2 / y->up, 1.2 / y->across, y->centre[1] / y->up);
    plot_setting(p, "unset border\nunset grid\nunset key");
    plot_setting(p, "set tics font small\nset xtics scale 0 ()\nset ytics scale 0 ()");
    for (size_t i = 0; i < l->N; i += step) {
        label(l, i, text);
        for (size_t r = 0; r < y->rows; r++) plot_tic(p, r * high + i, text);
        for (size_t c = 0; c < y->columns; c++) plot_tic_below(p, c * y->pitch + i, text);
    }
    plot_setting(p, "set xrange [-0.5:%zu.5]\nset yrange [%zu.5:-2.5]",
                 (y->columns - 1) * y->pitch + l->N - 1, (y->rows - 1) * high + l->N - 1);
    plot_setting(
        p,
        "set palette defined (0 '#eef3f8', 0.15 '#bcd7ea', 0.4 '#5ba3cf', 0.7 '#1f6fb3', 1 '#08306b')");
    plot_setting(p, "set cbrange [0:1]\nset cbtics 0.5 scale 0 font small");
    plot_setting(p, "set style fill solid 1 noborder");
}

/* Draws the m-th map of a picture: head h of evaluation a. */
static void draw_map(const Looks *l, Plot *p, const Layout *y, size_t m, size_t a, size_t h,
                     const char *words)
{
    size_t left = m % y->columns * y->pitch, top = m / y->columns * (l->N + GAP);
    const Column *c = map_columns;
    int query = sheet_column(c, "query"), key = sheet_column(c, "key");
    plot_setting(p, "set label %s at %zu-0.5,%zu-1.2 left noenhanced font small", words, left, top);
    plot_item(
        p, "maps.csv",
        "using ($%d == %zu && $%d == %zu ? $%d + %zu : NaN):($%d + %zu):(0.46):(0.46):%d with "
        "boxxyerror lc palette notitle",
        sheet_column(c, "map"), l->first + a, sheet_column(c, "head"), h, key, left, query, top,
        sheet_column(c, "weight"));
}

/* Counts the attention sublayers in this one's layer. */
static size_t in_layer(const Looks *l, size_t a)
{
    size_t n = 0;
    for (size_t k = 0; k < l->A; k++) n += l->place[k].layer == l->place[a].layer;
    return n;
}

/* Draws the heads of evaluation a, or with a = l->A all evaluations, each as the mean over heads. */
static int draw(const Looks *l, size_t a, const char *dir)
{
    char name[64], title[256], words[64], of[64] = "mean over heads";
    int all = a == l->A;
    int n = snprintf(name, sizeof name, "map-%zu-%zu", l->number, l->sentence);
    if (!all) {
        snprintf(name + n, sizeof name - (size_t)n, "-%zu-%zu", l->place[a].layer,
                 l->place[a].sublayer);
        n = snprintf(of, sizeof of, "layer %zu", l->place[a].layer);
        if (in_layer(l, a) > 1)
            snprintf(of + n, sizeof of - (size_t)n, ", sublayer %zu", l->place[a].sublayer);
    }
    snprintf(title, sizeof title, "Attention of %.100s, %s, sentence %zu", plot_folder(l->name), of,
             l->sentence);
    PlotFrame frame = {name, title, "", "", 0};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    Layout y = lay_out(l, p, all ? l->A : l->H);
    set_margins(l, p, &y);
    set_axes(l, p, &y);
    for (size_t m = 0; m < y.maps; m++) {
        const Place *at = &l->place[all ? m : a];
        if (!all)
            snprintf(words, sizeof words, "head %zu", m + 1);
        else if (in_layer(l, m) > 1)
            snprintf(words, sizeof words, "layer %zu (%zu)", at->layer, at->sublayer);
        else
            snprintf(words, sizeof words, "layer %zu", at->layer);
        draw_map(l, p, &y, m, all ? m : a, all ? 0 : m + 1, words);
    }
    return plot_finish(p);
}

/* ---- all ----------------------------------------------------------------------------------------- */

typedef struct {
    const char *const *name; /* (models) */
    const Network *network;  /* (models) */
    size_t models;
    int by_head;
    Drawn drawn;
    Sheet *rows;
} Maps;

/* Computes the rows of one sentence in one model, or, where dir is given, draws its pictures. */
static int look(const Maps *u, size_t k, size_t s, const char *dir, size_t *pictures)
{
    const Network *n = &u->network[k];
    const Plan *plan = model_plan(n->model);
    size_t first = u->drawn.start[SIDE_TARGET][s];
    Looks l = {.name = u->name[k],
               .network = n,
               .number = k + 1,
               .sentence = s + 1,
               .A = plan_evals(plan, SLOT_ATTENTION),
               .H = model_config(n->model)->heads,
               .N = u->drawn.start[SIDE_TARGET][s + 1] - first,
               .token = u->drawn.token[SIDE_TARGET] + first,
               .causal = plan_causal(plan, SIDE_TARGET)};
    l.first = 1 + (k * u->drawn.of.count + s) * l.A;
    SCOPED(memory_drop) void *place = l.place = memory_new(l.A, sizeof *l.place);
    SCOPED(memory_drop)
    void *weights = l.weights = memory_new(l.A * l.H * l.N, l.N * sizeof *l.weights);
    if (!place || !weights) return ERR_MEMORY;
    find_places(plan, l.place);
    if (!dir) TRY(model_attention(n->model, l.N, l.token, l.weights));
    if (!dir) add_rows(&l, u->rows);
    for (size_t a = u->by_head ? 0 : l.A; dir && a < (u->by_head ? l.A : l.A + 1); a++) {
        TRY(draw(&l, a, dir));
        ++*pictures;
    }
    return 0;
}

static int look_at_all(const Maps *u, const char *dir, size_t *pictures)
{
    for (size_t k = 0; k < u->models; k++)
        for (size_t s = 0; s < u->drawn.of.count; s++) TRY(look(u, k, s, dir, pictures));
    return 0;
}

int maps_save(const Options *o, const char *const *name, const Network *network, size_t models,
              const Text *text, size_t tokens, size_t *pictures)
{
    const char *dir = options_text(o, "out");
    SCOPED(sheet_drop) Sheet *rows = NULL;
    SCOPED(sentences_free) Drawn drawn = {0};
    *pictures = 0;
    TRY(sentences_draw(&network->vocab, text, NULL, options_size(o, "sentences"), tokens,
                       SENTENCES_FIRST, &drawn));
    TRY(sheet_new(map_columns, &rows));
    const Maps u = {name, network, models, options_flag(o, "by-head"), drawn, rows};
    TRY(look_at_all(&u, NULL, pictures));
    TRY(output_sheet(rows, SHEET_CSV, dir, "maps.csv"));
    return look_at_all(&u, dir, pictures);
}
