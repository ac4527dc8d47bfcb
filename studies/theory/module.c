/* module.c: a scheme's block, one layer of a Transformer, as a module of PyTorch, JAX or NumPy (`schemes --to`): a text to
 * read and to run, without this program.
 *
 * The three languages of arrays are alike enough for one text. `targets` has the words in which they differ: $x is the
 * module's short name, $a makes the numbers 0 .. n - 1. A layer computes the stages of the scheme in their order; of a
 * scheme that reads the past, `past` holds what earlier layers made, and the first layers, which have too few before them,
 * run the table of table_start (ode/scheme/table.h), as the engine's do (bridge/compile.c). Names and shapes of weights are
 * those of nn/format.md. */
#include <string.h>

#include "kernels/base/error.h"
#include "ode/scheme/print.h"
#include "ode/scheme/rationals.h"
#include "studies/theory/theory_study.h"

typedef struct {
    const char *name, *import, *x, *range, *tail; /* tail: behind the module; NULL: nothing */
} Target;

static const char torch_tail[] =
    "\n\nclass Layers(torch.nn.Module):\n"
    "    def __init__(self, D, M, heads, layers):\n"
    "        super().__init__()\n"
    "        self.heads, self.layers = heads, torch.nn.ModuleList()\n"
    "        for layer in range(layers):\n"
    "            self.layers.append(torch.nn.ParameterDict())\n"
    "            for name, (shape, begin) in shapes(D, M, layer).items():\n"
    "                x = torch.full(shape, float(begin or 0))\n"
    "                if begin is None:\n"
    "                    torch.nn.init.xavier_uniform_(x)\n"
    "                self.layers[layer][name.replace(\".\", \"/\")] = torch.nn.Parameter(x)\n\n"
    "    def forward(self, y$m):\n"
    "        w = [{name.replace(\"/\", \".\"): x for name, x in layer.items()} for layer in self.layers]\n"
    "        return layers(w, y$m, self.heads)\n";

static const Target targets[] = {
    {"PyTorch", "import torch", "torch", "torch.arange(n, device=x.device)", torch_tail},
    {"JAX", "import jax.numpy as jnp", "jnp", "jnp.arange(n)", NULL},
    {"NumPy", "import numpy as np", "np", "np.arange(n)", NULL}};

/* The sublayers: $c is a part of schemes with cross-attention alone. */
static const char parts[] =
    "def linear(w, name, x):\n"
    "    return x @ w[name + \".weight\"].swapaxes(-1, -2) + w[name + \".bias\"]\n\n\n"
    "def norm(w, name, x):\n"
    "    u = x - x.mean(-1, keepdims=True)\n"
    "    u = u / ((u * u).mean(-1, keepdims=True) + 1e-5) ** 0.5\n"
    "    return u * w[name + \".weight\"] + w[name + \".bias\"]\n\n\n"
    "def split(x, heads):  # (..., n, D) to (..., heads, n, D / heads)\n"
    "    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads).swapaxes(-2, -3)\n\n\n"
    "def softmax(x):\n"
    "    e = $x.exp(x - $x.amax(x, -1, keepdims=True))\n"
    "    return e / e.sum(-1, keepdims=True)\n\n\n"
    "def F(w, x, heads, s=1):  # attention: a token sees itself and those before it\n"
    "    n, D = x.shape[-2:]\n"
    "    qkv = linear(w, f\"attn.{s}.qkv\", norm(w, f\"attn.{s}.norm\", x))\n"
    "    q, k, v = (split(qkv[..., i * D:(i + 1) * D], heads) for i in range(3))\n"
    "    future = $a[:, None] < $a\n"
    "    score = q @ k.swapaxes(-1, -2) * (D // heads) ** -0.5 - 1e30 * future\n"
    "    return linear(w, f\"attn.{s}.out\", (softmax(score) @ v).swapaxes(-2, -3).reshape(*x.shape))\n\n\n"
    "def G(w, x, s=1):  # the feed-forward network, with ReLU\n"
    "    u = linear(w, f\"ffn.{s}.up\", norm(w, f\"ffn.{s}.norm\", x))\n"
    "    return linear(w, f\"ffn.{s}.down\", u * (u > 0))\n";

static const char cross[] =
    "\n\ndef C(w, x, memory, heads, s=1):  # cross-attention to the encoder's output\n"
    "    D = x.shape[-1]\n"
    "    q = split(linear(w, f\"cross.{s}.q\", norm(w, f\"cross.{s}.norm\", x)), heads)\n"
    "    kv = linear(w, f\"cross.{s}.kv\", memory)\n"
    "    k, v = split(kv[..., :D], heads), split(kv[..., D:], heads)\n"
    "    score = q @ k.swapaxes(-1, -2) * (D // heads) ** -0.5\n"
    "    return linear(w, f\"cross.{s}.out\", (softmax(score) @ v).swapaxes(-2, -3).reshape(*x.shape))\n";

/* H, L and A by the parts they have: those of a stage in turn read the ones before. */
static const struct {
    int op, colours;
    const char *text;
} sums[] = {
    {OP_H, 2,
     "\n\ndef H(w, x, heads, s=1):  # both at one point\n    return F(w, x, heads, s) + G(w, x, s)\n"},
    {OP_H, 3,
     "\n\ndef H(w, x, memory, heads, s=1):  # all at one point\n"
     "    return F(w, x, heads, s) + C(w, x, memory, heads, s) + G(w, x, s)\n"},
    {OP_L, 2,
     "\n\ndef L(w, x, heads, s=1):  # what a Transformer's layer adds to x\n"
     "    f = F(w, x, heads, s)\n    return f + G(w, x + f, s)\n"},
    {OP_L, 3,
     "\n\ndef L(w, x, memory, heads, s=1):  # what a decoder's layer adds to x\n"
     "    f = F(w, x, heads, s)\n    c = C(w, x + f, memory, heads, s)\n"
     "    return f + c + G(w, x + f + c, s)\n"},
    {OP_A, 3,
     "\n\ndef A(w, x, memory, heads, s=1):  # attention, then cross-attention\n"
     "    f = F(w, x, heads, s)\n    return f + C(w, x + f, memory, heads, s)\n"}};

typedef struct {
    const Table *t; /* of the layer that is written */
    const Target *to;
    FILE *f;
    const char *indent;
    int depth;
    char *made; /* (symbols) which are written already */
} Writer;

/* Writes a text, with the target's words for $x, $a, and $m, the encoder's output among the arguments. */
static void write_text(const Writer *w, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c != '$') {
            fputc(*c, w->f);
            continue;
        }
        c++;
        fputs(*c == 'x'           ? w->to->x
              : *c == 'a'         ? w->to->range
              : w->t->colours > 2 ? ", memory"
                                  : "",
              w->f);
    }
}

/* ---- rows -------------------------------------------------------------------------------------------- */

/* Writes a source, now or `past` steps ago, as y, k2, v_x (carried, of the text's x), past[0]["k2"]. */
static void write_source(const Writer *w, const Term *s)
{
    char name[24] = "y";
    if (s->eval >= 0) snprintf(name, sizeof name, "k%d", w->t->eval[s->eval].stage + 1);
    if (s->eval < TABLE_STATE)
        fprintf(w->f, "v_%s", w->t->carry[TABLE_CARRIED - s->eval].name);
    else if (s->past)
        fprintf(w->f, "past[%d][\"%s\"]", s->past - 1, name);
    else
        fputs(name, w->f);
}

/* Returns whether a term is the first of its stage's, which stands for all of them. */
static int stands(const Writer *w, const Row *r, size_t k)
{
    const Term *s = &r->term[k];
    (void)r;
    return s->eval < 0 || w->t->stage[w->t->eval[s->eval].stage].eval == s->eval;
}

/* Checks that the evaluations of a stage have one weight in a row. */
static int check_row(const Writer *w, const Row *r)
{
    for (size_t k = 0; k < r->terms; k++) {
        const Term *s = &r->term[k];
        if (s->eval < 0) continue;
        const Stage *stage = &w->t->stage[w->t->eval[s->eval].stage];
        int found = 0, count = stage_parts(w->t, stage->op)->count;
        for (size_t j = 0; j < r->terms; j++) {
            const Term *x = &r->term[j];
            int same = x->eval >= stage->eval && x->eval < stage->eval + count &&
                       x->past == s->past && x->symbols == s->symbols && mpq_equal(x->c, s->c) &&
                       memcmp(x->symbol, s->symbol, (size_t)s->symbols * sizeof(int)) == 0;
            found += same;
        }
        if (found < count)
            return error_set(
                ERR_INPUT,
                "%s: the parts of stage k%d have different weights, which --to does not write",
                w->t->name, w->t->eval[s->eval].stage + 1);
    }
    return 0;
}

static void write_number(const Writer *w, const mpq_t q)
{
    TableauEntry text;
    tableau_number(w->t, q, text);
    fputs(text, w->f);
}

/* Writes "- 1/2 * a * k1" with the sign that joins it to what stands before. */
static void write_term(const Writer *w, const Term *s, int first)
{
    RATIONAL(size);
    mpq_abs(size, s->c);
    fputs(first ? mpq_sgn(s->c) < 0 ? "-" : "" : mpq_sgn(s->c) < 0 ? " - " : " + ", w->f);
    if (!mpq_equal(size, rational_one)) write_number(w, size), fputs(" * ", w->f);
    for (int i = 0; i < s->symbols; i++) fprintf(w->f, "a_%s * ", w->t->symbol[s->symbol[i]].name);
    write_source(w, s);
}

static int write_row(const Writer *w, const Row *r)
{
    int first = 1;
    TRY(check_row(w, r));
    for (size_t k = 0; k < r->terms; k++) {
        if (!stands(w, r, k)) continue;
        write_term(w, &r->term[k], first);
        first = 0;
    }
    if (first) fputs("0 * y", w->f);
    return 0;
}

/* Writes y[first] and the slopes of all layers, each with its own element of the learned weights. */
static void write_dense(const Writer *w)
{
    const Row *r = &w->t->update;
    fprintf(w->f, "%severy = past[::-1] + [now]\n%sout = every[0][\"y\"]", w->indent, w->indent);
    for (size_t k = 0; k < r->terms; k++) {
        const Term *s = &r->term[k];
        if (s->eval == TABLE_STATE || !stands(w, r, k)) continue;
        fputs(" + sum(", w->f);
        if (!mpq_equal(s->c, rational_one)) write_number(w, s->c), fputs(" * ", w->f);
        for (int i = 0; i < s->symbols; i++)
            fprintf(w->f, "w[\"scheme.%s\"][i] * ", w->t->symbol[s->symbol[i]].name);
        fprintf(w->f, "x[\"k%d\"] for i, x in enumerate(every))", w->t->eval[s->eval].stage + 1);
    }
    fputc('\n', w->f);
}

/* ---- symbols ----------------------------------------------------------------------------------------- */

static int write_gate(const Writer *w, const Symbol *s)
{
    int sigmoid = s->kind == SYMBOL_SIGMOID;
    const char *deeper = w->t->carries ? "    " : "";
    if (w->t->carries)
        fprintf(w->f, "%sa_%s = 0\n%sif \"scheme.%s.bias\" in w:\n", w->indent, s->name, w->indent,
                s->name);
    fprintf(w->f, "%s%sz = w[\"scheme.%s.bias\"]", w->indent, deeper, s->name);
    for (size_t i = 0; i < s->inputs; i++) {
        fputs(" + ((", w->f);
        TRY(write_row(w, &s->input[i]));
        fprintf(w->f, ") * w[\"scheme.%s.weight\"][:, %zu * D:%zu * D]).sum(-1, keepdims=True)",
                s->name, i, i + 1);
    }
    fprintf(w->f, "\n%s%sa_%s = ", w->indent, deeper, s->name);
    fprintf(w->f, sigmoid ? "1 / (1 + %s.exp(-z))\n" : "%s.tanh(z)\n", w->to->x);
    return 0;
}

/* Writes the symbols that a row reads, at their first use. A trained layer lacks those that are factors of what is carried and
 * 0 alone, or goes nowhere. */
static int write_symbols(const Writer *w, const Row *r)
{
    for (size_t k = 0; k < r->terms; k++)
        for (int i = 0; i < r->term[k].symbols; i++) {
            int n = r->term[k].symbol[i];
            const Symbol *s = &w->t->symbol[n];
            if (w->made[n]) continue;
            w->made[n] = 1;
            if (s->kind != SYMBOL_LEARN)
                TRY(write_gate(w, s));
            else
                fprintf(w->f,
                        w->t->carries ? "%sa_%s = w.get(\"scheme.%s\", 0)\n"
                                      : "%sa_%s = w[\"scheme.%s\"]\n",
                        w->indent, s->name, s->name);
        }
    return 0;
}

/* ---- a layer ----------------------------------------------------------------------------------------- */

static int write_stage(const Writer *w, size_t i)
{
    const Stage *s = &w->t->stage[i];
    const Row *r = &eval_point(w->t, s->eval)->row;
    int norm = eval_point(w->t, s->eval)->phi == PHI_NORM;
    int alone = s->op == OP_G, memory = w->t->colours > 2 && !alone && s->op != OP_F;
    TRY(write_symbols(w, r));
    if (norm)
        fprintf(w->f, "%sk%zu = norm(w, \"norm.%d\", ", w->indent, i + 1, s->set);
    else
        fprintf(w->f, "%sk%zu = %c(w, ", w->indent, i + 1, table_letters[s->op]);
    TRY(write_row(w, r));
    if (norm) {
        fputs(")\n", w->f);
        return 0;
    }
    fprintf(w->f, "%s%s", memory ? ", memory" : "", alone ? "" : ", heads");
    fprintf(w->f, s->set > 1 ? ", s=%d)\n" : ")\n", s->set);
    return 0;
}

/* Writes the record of a layer's state and slopes, and of what it carries, that later ones read. */
static int write_record(const Writer *w)
{
    for (size_t i = 0; i < w->t->carries; i++) TRY(write_symbols(w, &w->t->carry[i].update));
    fprintf(w->f, "%snow = {\"y\": y", w->indent);
    for (size_t i = 0; i < w->t->stages; i++) fprintf(w->f, ", \"k%zu\": k%zu", i + 1, i + 1);
    for (size_t i = 0; i < w->t->carries; i++) {
        fprintf(w->f, ", \"v_%s\": ", w->t->carry[i].name);
        TRY(write_row(w, &w->t->carry[i].update));
    }
    fputs("}\n", w->f);
    return 0;
}

/* Writes what is carried to a layer; to the first one it is 0, or what a table of stages makes of y. */
static int write_carried(Writer *w, int first)
{
    const Table *t = w->t;
    TABLE(start);
    if (first) TRY(table_starter(t, &start));
    if (start) w->t = start;
    int code = 0;
    for (size_t i = 0; start && i < start->stages && code == 0; i++) code = write_stage(w, i);
    for (size_t i = 0; i < t->carries && code == 0; i++) {
        const char *v = t->carry[i].name;
        if (start) code = write_symbols(w, &start->carry[i].update);
        fprintf(w->f, first ? "%sv_%s = " : "%sv_%s = past[0][\"v_%s\"]", w->indent, v, v);
        if (first && start && code == 0) code = write_row(w, &start->carry[i].update);
        fputs(first && !start ? "0 * y\n" : "\n", w->f);
    }
    w->t = t;
    return code;
}

static int write_body(Writer *w, int layers)
{
    memset(w->made, 0, w->t->symbols);
    TRY(write_carried(w, layers == 0));
    for (size_t i = 0; i < w->t->stages; i++) TRY(write_stage(w, i));
    if (w->depth) TRY(write_record(w));
    if (w->t->dense) {
        write_dense(w);
        return 0;
    }
    TRY(write_symbols(w, &w->t->update));
    fprintf(w->f, "%sout = ", w->indent);
    TRY(write_row(w, &w->t->update));
    fputc('\n', w->f);
    return 0;
}

/* Writes the layer for each number of layers before it, up to the scheme's own. */
static int write_block(Writer *w, const Table *t)
{
    fprintf(w->f, "\n\ndef block(w, y%s, heads%s):\n", t->colours > 2 ? ", memory" : "",
            w->depth ? ", past" : "");
    if (w->depth)
        fputs(
            "    # past: states y, slopes k and what is carried, v, of the layers before this one, the last one first\n",
            w->f);
    for (size_t i = 0; i < t->symbols; i++)
        if (t->symbol[i].kind != SYMBOL_LEARN) {
            fputs("    D = y.shape[-1]\n", w->f);
            break;
        }
    for (int h = 0; h <= w->depth; h++) {
        TABLE(start);
        if (!(start = table_start(t, h))) return ERR_MEMORY;
        w->t = start;
        w->indent = w->depth && !t->dense ? "        " : "    ";
        if (w->depth && !t->dense)
            fprintf(w->f, h == w->depth ? "    else:\n" : "    %s len(past) == %d:\n",
                    h ? "elif" : "if", h);
        int code = write_body(w, h);
        w->t = t;
        TRY(code);
        if (t->dense) break;
    }
    fputs(w->depth ? "    return out, [now] + past\n" : "    return out\n", w->f);
    return 0;
}

static void write_layers(const Writer *w)
{
    write_text(
        w, "\n\ndef layers(ws, y$m, heads):  # one after another: ws has the weights of each\n");
    if (w->depth) fputs("    past = []\n", w->f);
    fputs("    for w in ws:\n", w->f);
    write_text(w, w->depth ? "        y, past = block(w, y$m, heads, past)\n"
                           : "        y = block(w, y$m, heads)\n");
    fputs("    return y\n", w->f);
}

/* Writes the names, shapes and starting values of a layer's weights; None: as one likes. */
static void write_shapes(const Writer *w)
{
    static const struct {
        int op;
        const char *name, *shape;
    } tensors[] = {{OP_F, "attn", "\"qkv\": (3 * D, D), \"out\": (D, D)"},
                   {OP_G, "ffn", "\"up\": (M, D), \"down\": (D, M)"},
                   {OP_C, "cross", "\"q\": (D, D), \"kv\": (2 * D, D), \"out\": (D, D)"}};
    const Table *t = w->t;
    fputs(
        "\n\ndef shapes(D, M, layer=0):  # of a layer's weights, and where they begin; None: at random\n"
        "    new = {}\n",
        w->f);
    for (size_t k = 0; k < sizeof tensors / sizeof *tensors; k++)
        for (int s = 1; s <= table_sets(t, tensors[k].op); s++)
            fprintf(
                w->f,
                "    new[\"%s.%d.norm.weight\"], new[\"%s.%d.norm.bias\"] = ((D,), 1), ((D,), 0)\n"
                "    for name, shape in {%s}.items():\n"
                "        new[f\"%s.%d.{name}.weight\"], new[f\"%s.%d.{name}.bias\"] = (shape, None), (shape[:1], 0)\n",
                tensors[k].name, s, tensors[k].name, s, tensors[k].shape, tensors[k].name, s,
                tensors[k].name, s);
    for (size_t i = 0; i < t->stages; i++)
        if (eval_point(t, t->stage[i].eval)->phi == PHI_NORM)
            fprintf(w->f,
                    "    new[\"norm.%d.weight\"], new[\"norm.%d.bias\"] = ((D,), 1), ((D,), 0)\n",
                    t->stage[i].set, t->stage[i].set);
    for (size_t i = 0; i < t->symbols; i++) {
        const Symbol *s = &t->symbol[i];
        if (s->kind == SYMBOL_LEARN)
            fprintf(w->f, "    new[\"scheme.%s\"] = (%s,), %.17g\n", s->name,
                    t->dense ? "layer + 1" : "1", table_double(s->start));
        else
            fprintf(
                w->f,
                "    new[\"scheme.%s.weight\"], new[\"scheme.%s.bias\"] = ((1, %zu * D), 0), ((1,), 0)\n",
                s->name, s->name, s->inputs);
    }
    fputs("    return new\n", w->f);
}

static void write_head(const Writer *w)
{
    const Table *t = w->t;
    fprintf(w->f, "\"\"\"%s%s%s%s: layers of a Transformer, each a step of this scheme, in %s.\n\n",
            t->name, t->title[0] ? " (" : "", t->title, t->title[0] ? ")" : "", w->to->name);
    fprintf(
        w->f,
        "y (..., n, D) are the states of n tokens, and w a layer's weights by name (`shapes`). F is causal attention\n"
        "and G a feed-forward network, each of the norm of its argument; the scheme's text is\n\n");
    table_print(t, w->f);
    fprintf(w->f, "\"\"\"\n%s\n\n\n", w->to->import);
}

int module_print(const Table *t, int target, FILE *f)
{
    Writer w = {.t = t, .to = &targets[target], .f = f};
    if (t->start[0])
        TRY(table_refuse_carries(
            t, "a network begins it by a row, as carry v = y, and not by the scheme of `start`"));
    if (t->carries && t->carry[0].embedded)
        return error_set(
            ERR_INPUT,
            "%s: '%s' begins by an embedding of the tokens, and --to writes layers alone", t->name,
            t->carry[0].name);
    w.depth = t->past_y > t->past_k ? t->past_y : t->past_k;
    if (w.depth == 0) w.depth = t->dense || t->carries;
    if (table_complex(t))
        return error_set(ERR_INPUT, "%s: no network takes complex fractions: its states are real",
                         t->name);
    if (t->flows || table_phi(t) || table_implicit(t))
        return error_set(
            ERR_INPUT,
            "%s: a layer of a network has explicit stages alone; for a splitting write "
            "NAME:heun, for implicit stages NAME:fixed-point-3",
            t->name);
    SCOPED(memory_drop) char *made = memory_new(t->symbols + 1, 1);
    if (!made) return ERR_MEMORY;
    w.made = made;
    write_head(&w);
    write_text(&w, parts);
    if (t->colours > 2) fputs(cross, f);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        int used = 0;
        for (size_t s = 0; s < t->stages; s++) used |= t->stage[s].op == sums[i].op;
        if (used && sums[i].colours == t->colours) fputs(sums[i].text, f);
    }
    TRY(write_block(&w, t));
    write_layers(&w);
    write_shapes(&w);
    if (w.to->tail) write_text(&w, w.to->tail);
    return 0;
}
