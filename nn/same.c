/* same.c: do two plans compute the same function, whatever the weights?
 *
 * Both plans are read into one list of nodes, each written once (hash-consing without the hash):
 *
 *   r0                              the embedding
 *   sublayer(slot, x)               slots numbered by kind in the order of their first use
 *   gate(act, x1, ..., xn)          a gate has weights of its own: its number is part of it
 *   factors * x                     a product with learned scalars or gates
 *
 * where every x is a sum of numbers times nodes. Two plans are the same where their outputs are
 * the same sum: registers, their order, lines split or folded, evaluations done twice do not
 * count. Numbers that agree to 1e-12 do: a compiled coefficient is a sum of a few roundings of
 * 1e-16. Names of layers and sets do not count either, so that a layer of `sfsf` is two layers
 * of `sf`; dropout masks neither.
 *
 * Equal is never told of plans that differ. Learned factors multiplied out in one plan and not
 * in the other, or slots first used in another order, are told different. */
#include <math.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "nn/plan.h"

enum { NODE_INPUT, NODE_EVAL, NODE_GATE, NODE_PRODUCT };
enum { KEYS = 2 + 3 * PLAN_FACTORS };

typedef struct {
    size_t terms;
    int *node; /* (terms), rising */
    double *c; /* (terms) */
} Sum;

typedef struct {
    int kind;
    double key[KEYS]; /* what a node is besides its arguments; unused ones 0 */
    size_t args;
    Sum *arg; /* (args) */
} Node;

typedef struct {
    size_t count, room;
    Node *node;
} Nodes;

/* A plan as it is read. */
typedef struct {
    const Plan *p;
    Nodes *nodes;
    Sum *reg;     /* (registers) */
    int *slot;    /* (slots): number among those of its kind, or -1 */
    int *gate;    /* (gates): node */
    int kinds[2]; /* slots of a kind met so far */
    int gates;
} Reader;

/* ---- sums ------------------------------------------------------------------------------------ */

static void sum_free(Sum *s)
{
    memory_free(s->node);
    memory_free(s->c);
    *s = (Sum){0};
}

static int close_to(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(1, fabs(a));
}

static int sum_same(const Sum *a, const Sum *b)
{
    if (a->terms != b->terms) return 0;
    for (size_t i = 0; i < a->terms; i++)
        if (a->node[i] != b->node[i] || !close_to(a->c[i], b->c[i])) return 0;
    return 1;
}

/* s += c * node, in its place. */
static int sum_add(Sum *s, double c, int node)
{
    size_t i = 0;
    while (i < s->terms && s->node[i] < node) i++;
    if (i < s->terms && s->node[i] == node) {
        s->c[i] += c;
        return 0;
    }
    int *grown = memory_grow(s->node, s->terms, s->terms + 1, sizeof *grown);
    if (!grown) return ERR_MEMORY;
    s->node = grown;
    double *numbers = memory_grow(s->c, s->terms, s->terms + 1, sizeof *numbers);
    if (!numbers) return ERR_MEMORY;
    s->c = numbers;
    memmove(grown + i + 1, grown + i, (s->terms - i) * sizeof *grown);
    memmove(numbers + i + 1, numbers + i, (s->terms - i) * sizeof *numbers);
    grown[i] = node;
    numbers[i] = c;
    s->terms++;
    return 0;
}

static int sum_add_sum(Sum *s, double c, const Sum *x)
{
    for (size_t i = 0; i < x->terms; i++) TRY(sum_add(s, c * x->c[i], x->node[i]));
    return 0;
}

/* Terms that have cancelled go. */
static void sum_clean(Sum *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->terms; i++) {
        if (fabs(s->c[i]) <= 1e-12) continue;
        s->node[n] = s->node[i];
        s->c[n++] = s->c[i];
    }
    s->terms = n;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static int node_same(const Node *a, const Node *b)
{
    if (a->kind != b->kind || a->args != b->args) return 0;
    for (int i = 0; i < KEYS; i++)
        if (a->key[i] != b->key[i]) return 0;
    for (size_t i = 0; i < a->args; i++)
        if (!sum_same(&a->arg[i], &b->arg[i])) return 0;
    return 1;
}

static void node_free(Node *n)
{
    for (size_t i = 0; n->arg && i < n->args; i++) sum_free(&n->arg[i]);
    memory_free(n->arg);
}

static int append(Nodes *l, const Node *n)
{
    if (l->count == l->room) {
        size_t room = l->room ? 2 * l->room : 32;
        Node *grown = memory_grow(l->node, l->room, room, sizeof *grown);
        if (!grown) return ERR_MEMORY;
        l->node = grown;
        l->room = room;
    }
    l->node[l->count] = *n;
    return (int)l->count++;
}

/* Number of a node, which is new or there already; takes over n. A code < 0 on failure. */
static int intern(Nodes *l, Node *n)
{
    for (size_t i = 0; i < l->count; i++)
        if (node_same(&l->node[i], n)) {
            node_free(n);
            return (int)i;
        }
    int index = append(l, n);
    if (index < 0) node_free(n);
    return index;
}

static void nodes_free(Nodes *l)
{
    for (size_t i = 0; i < l->count; i++) node_free(&l->node[i]);
    memory_free(l->node);
}

/* Room for a node's arguments. */
static int node_args(Node *n, size_t args)
{
    n->args = args;
    n->arg = memory_new(args, sizeof *n->arg);
    return n->arg ? 0 : ERR_MEMORY;
}

/* ---- reading a plan -------------------------------------------------------------------------- */

static int read_eval(Reader *r, const PlanInstr *in)
{
    const PlanSlot *slot = &r->p->slot[in->slot];
    if (r->slot[in->slot] < 0) r->slot[in->slot] = r->kinds[slot->kind]++;
    Node n = {.kind = NODE_EVAL, .key = {2 * r->slot[in->slot] + slot->kind, (double)slot->inner}};
    TRY(node_args(&n, 1));
    int code = sum_add_sum(&n.arg[0], 1, &r->reg[in->x]);
    if (code != 0) {
        node_free(&n);
        return code;
    }
    int node = intern(r->nodes, &n);
    return node < 0 ? node : sum_add(&r->reg[in->out], 1, node);
}

static int read_gate(Reader *r, const PlanInstr *in)
{
    Node n = {.kind = NODE_GATE, .key = {r->p->gate[in->out].act, r->gates++}};
    TRY(node_args(&n, in->terms));
    int code = 0;
    for (size_t i = 0; code == 0 && i < in->terms; i++)
        code = sum_add_sum(&n.arg[i], 1, &r->reg[in->term[i].x]);
    if (code != 0) {
        node_free(&n);
        return code;
    }
    r->gate[in->out] = intern(r->nodes, &n);
    return r->gate[in->out] < 0 ? r->gate[in->out] : 0;
}

/* Three numbers a factor; a product is the same in any order, so they are sorted. */
static void factor_keys(const Reader *r, const PlanTerm *t, double key[KEYS])
{
    key[0] = t->factors;
    for (int i = 0; i < t->factors; i++) {
        const PlanFactor *f = &t->factor[i];
        int gate = f->kind == FACTOR_GATE;
        double k[3] = {gate ? -1 - r->gate[f->index] : f->index, (double)f->element,
                       gate ? 0 : r->p->scalar[f->index].init};
        int j = i;
        for (; j > 0 && memcmp(&key[2 + 3 * (j - 1)], k, sizeof k) > 0; j--)
            memcpy(&key[2 + 3 * j], &key[2 + 3 * (j - 1)], sizeof k);
        memcpy(&key[2 + 3 * j], k, sizeof k);
    }
}

/* s += c * factors * x. */
static int read_product(Reader *r, const PlanTerm *t, Sum *s)
{
    Node n = {.kind = NODE_PRODUCT};
    factor_keys(r, t, n.key);
    TRY(node_args(&n, 1));
    int code = sum_add_sum(&n.arg[0], 1, &r->reg[t->x]);
    if (code != 0) {
        node_free(&n);
        return code;
    }
    int node = intern(r->nodes, &n);
    return node < 0 ? node : sum_add(s, t->c, node);
}

static int read_line(Reader *r, const PlanInstr *in)
{
    Sum *s = &r->reg[in->out];
    for (size_t i = 0; i < in->terms; i++) {
        const PlanTerm *t = &in->term[i];
        TRY(t->factors ? read_product(r, t, s) : sum_add_sum(s, t->c, &r->reg[t->x]));
    }
    sum_clean(s);
    return 0;
}

static int read_instrs(Reader *r)
{
    Node input = {.kind = NODE_INPUT};
    int node = intern(r->nodes, &input);
    TRY(node < 0 ? node : sum_add(&r->reg[0], 1, node));
    for (size_t i = 0; i < r->p->slots; i++) r->slot[i] = -1;
    for (size_t i = 0; i < r->p->instrs; i++) {
        const PlanInstr *in = &r->p->instr[i];
        TRY(in->op == PLAN_LIN    ? read_line(r, in)
            : in->op == PLAN_EVAL ? read_eval(r, in)
                                  : read_gate(r, in));
    }
    return 0;
}

/* The output of a plan as a sum of nodes; caller: sum_free. */
static int read_plan(const Plan *p, Nodes *nodes, Sum *out)
{
    Reader r = {.p = p, .nodes = nodes};
    *out = (Sum){0};
    r.reg = memory_new(p->registers, sizeof *r.reg);
    r.slot = memory_new(p->slots, sizeof *r.slot);
    r.gate = memory_new(p->gates, sizeof *r.gate);
    int code = r.reg && r.slot && r.gate ? read_instrs(&r) : ERR_MEMORY;
    if (code == 0) code = sum_add_sum(out, 1, &r.reg[p->output]);
    for (size_t i = 0; r.reg && i < p->registers; i++) sum_free(&r.reg[i]);
    memory_free(r.reg);
    memory_free(r.slot);
    memory_free(r.gate);
    if (code != 0) sum_free(out);
    return code;
}

int plan_same(const Plan *a, const Plan *b, int *same)
{
    Nodes nodes = {0};
    Sum x = {0}, y = {0};
    int code = read_plan(a, &nodes, &x);
    if (code == 0) code = read_plan(b, &nodes, &y);
    if (code == 0) *same = sum_same(&x, &y);
    sum_free(&x);
    sum_free(&y);
    nodes_free(&nodes);
    return code;
}
