/* plan.c: builds, prints and costs a network plan (plan.h). A plan is data: nothing here touches a
 * number of a model. */
#include "nn/model/plan.h"

#include <math.h>
#include <string.h>

#include "kernels/backend.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

/* ---- building ----------------------------------------------------------------------------------- */

static Plan *make(int sides, size_t target, size_t source)
{
    Plan *p = memory_new(1, sizeof *p);
    if (!p) return NULL;
    p->sides = sides;
    p->layers[SIDE_TARGET] = target;
    p->layers[SIDE_SOURCE] = source;
    for (int side = 0; side < sides; side++) {
        PlanRegister r = {.side = side};
        if (memory_add(p->reg, p->registers, r) == 0) continue;
        plan_free(p);
        return NULL;
    }
    return p;
}

Plan *plan_new(size_t layers)
{
    return make(1, layers, 0);
}

Plan *plan_new_pair(size_t encoder_layers, size_t decoder_layers)
{
    return make(2, decoder_layers, encoder_layers);
}

static int copy_parts(const Plan *p, Plan *q)
{
    for (size_t i = 0; i < p->slots; i++) TRY(memory_add(q->slot, q->slots, p->slot[i]));
    for (size_t i = 0; i < p->scalars; i++) TRY(memory_add(q->scalar, q->scalars, p->scalar[i]));
    for (size_t i = 0; i < p->gates; i++) TRY(memory_add(q->gate, q->gates, p->gate[i]));
    q->post = p->post, q->bidirectional = p->bidirectional, q->output_norm = p->output_norm;
    return 0;
}

Plan *plan_like(const Plan *p)
{
    Plan *q = make(p->sides, p->layers[SIDE_TARGET], p->layers[SIDE_SOURCE]);
    if (q && copy_parts(p, q) == 0) return q;
    plan_free(q);
    return NULL;
}

void plan_free(Plan *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->instrs; i++) memory_free(p->instr[i].term);
    memory_free_all(p->reg, p->slot, p->scalar, p->gate, p->instr, p);
}

static int inside(int i, size_t count)
{
    return i >= 0 && (size_t)i < count;
}

static int is_side_norm(const PlanSlot *s)
{
    return s->kind == SLOT_NORM && s->set <= NORM_OWN;
}

int plan_slot(Plan *p, PlanSlot slot)
{
    NEED(inside(slot.kind, SLOT_KINDS) && inside(slot.side, (size_t)p->sides));
    NEED(inside(slot.layer, p->layers[slot.side]) && slot.set >= 1);
    NEED((slot.kind == SLOT_FEEDFORWARD) == (slot.inner > 0));
    NEED(slot.layer == 0 || !(slot.kind == SLOT_WORDS || is_side_norm(&slot)));
    NEED(slot.kind != SLOT_CROSS || (p->sides == 2 && slot.side == SIDE_TARGET));
    NEED(plan_find_slot(p, slot.side, slot.kind, slot.layer, slot.set) < 0);
    TRY(memory_add(p->slot, p->slots, slot));
    return (int)p->slots - 1;
}

/* Writes the name of a learned number or gate of a layer. */
static int name_copy(const Plan *p, int side, int layer, const char *name, char out[PLAN_NAME])
{
    NEED(inside(side, (size_t)p->sides) && inside(layer, p->layers[side]));
    NEED(*name && !strchr(name, '.'));
    if (strlen(name) >= PLAN_NAME)
        return error_set(ERR_MISUSE, "learned name '%s' is longer than %d bytes", name,
                         PLAN_NAME - 1);
    memcpy(out, name, strlen(name) + 1);
    return 0;
}

int plan_scalar(Plan *p, int side, int layer, const char *name, size_t size, double init)
{
    PlanScalar scalar = {.side = side, .layer = layer, .size = size, .init = init};
    NEED(size > 0);
    TRY(name_copy(p, side, layer, name, scalar.name));
    TRY(memory_add(p->scalar, p->scalars, scalar));
    return (int)p->scalars - 1;
}

/* Checks a factor of an instruction on a side. */
static int check_factor(const Plan *p, int side, const PlanFactor *f)
{
    int scalar = f->kind == FACTOR_SCALAR;
    NEED(inside(f->index, scalar ? p->scalars : p->gates));
    NEED(side == (scalar ? p->scalar[f->index].side : p->gate[f->index].side));
    NEED(!scalar || f->element < p->scalar[f->index].size);
    return 0;
}

/* Checks term k of an instruction. Keys are read by EVALs of their slot alone. */
static int check_term(const Plan *p, const PlanInstr *in, const PlanTerm *term, size_t k)
{
    const PlanTerm *t = &term[k];
    int keys = in->op == PLAN_EVAL && k == 1, learned = in->op == PLAN_LIN ? PLAN_FACTORS : 0;
    NEED(inside(t->x, p->registers) && t->factors >= 0 && t->factors <= learned);
    int side = keys || in->op == PLAN_KEYS ? SIDE_SOURCE
               : plan_of_slot(in)          ? p->slot[in->slot].side
                                           : p->reg[term[0].x].side;
    NEED(p->reg[t->x].side == side && p->reg[t->x].keys == keys);
    NEED(!keys || plan_find_keys(p, in->slot) == t->x);
    for (int f = 0; f < t->factors; f++) TRY(check_factor(p, side, &t->factor[f]));
    return 0;
}

static int check_of_slot(const Plan *p, const PlanInstr *in)
{
    NEED(inside(in->slot, p->slots) && in->draw >= 0);
    int kind = p->slot[in->slot].kind, cross = kind == SLOT_CROSS;
    NEED(in->op == PLAN_NORM ? p->post || kind == SLOT_NORM : kind != SLOT_NORM);
    NEED((in->op == PLAN_WORDS) == (kind == SLOT_WORDS));
    NEED(in->op != PLAN_KEYS || (cross && plan_find_keys(p, in->slot) < 0));
    NEED(in->terms == (in->op == PLAN_WORDS ? 0 : in->op == PLAN_EVAL && cross ? 2 : 1));
    return 0;
}

int plan_add(Plan *p, PlanInstr in, const PlanTerm *term)
{
    int writes = plan_writes(&in);
    if (plan_of_slot(&in)) TRY(check_of_slot(p, &in));
    NEED(in.op != PLAN_PENALTY || (in.terms == 2 && p->network && p->sides == 1));
    for (size_t k = 0; k < in.terms; k++) TRY(check_term(p, &in, term, k));
    if (writes) in.out = (int)p->registers;
    in.term = memory_new(in.terms, sizeof *term);
    if (!in.term) return ERR_MEMORY;
    if (in.terms) memcpy(in.term, term, in.terms * sizeof *term);
    PlanRegister r = {.side = in.op == PLAN_WORDS ? p->slot[in.slot].side
                              : in.terms          ? p->reg[term[0].x].side
                                                  : SIDE_TARGET,
                      .keys = in.op == PLAN_KEYS};
    int code = writes ? memory_add(p->reg, p->registers, r) : 0;
    if (code == 0) {
        code = memory_add(p->instr, p->instrs, in);
        if (code) p->registers -= (size_t)writes;
    }
    if (code) memory_free(in.term);
    return code ? code : in.out;
}

int plan_lin(Plan *p, size_t terms, const PlanTerm *term)
{
    return plan_add(p, (PlanInstr){.op = PLAN_LIN, .terms = terms}, term);
}

int plan_eval(Plan *p, int slot, int x, int draw)
{
    PlanInstr in = {.op = PLAN_EVAL, .slot = slot, .draw = draw, .terms = 1};
    return plan_add(p, in, &(PlanTerm){.c = 1, .x = x});
}

int plan_cross(Plan *p, int slot, int x, int keys, int draw)
{
    PlanInstr in = {.op = PLAN_EVAL, .slot = slot, .draw = draw, .terms = 2};
    return plan_add(p, in, (PlanTerm[]){{.c = 1, .x = x}, {.c = 1, .x = keys}});
}

int plan_norm(Plan *p, int slot, int x)
{
    PlanInstr in = {.op = PLAN_NORM, .slot = slot, .terms = 1};
    return plan_add(p, in, &(PlanTerm){.c = 1, .x = x});
}

int plan_keys(Plan *p, int slot, int x)
{
    PlanInstr in = {.op = PLAN_KEYS, .slot = slot, .terms = 1};
    return plan_add(p, in, &(PlanTerm){.c = 1, .x = x});
}

int plan_words(Plan *p, int slot, int draw)
{
    return plan_add(p, (PlanInstr){.op = PLAN_WORDS, .slot = slot, .draw = draw}, NULL);
}

int plan_gate(Plan *p, int side, int layer, const char *name, int act, size_t inputs, const int *x)
{
    PlanGate gate = {.side = side, .layer = layer, .act = act, .inputs = inputs};
    NEED(inputs > 0);
    TRY(name_copy(p, side, layer, name, gate.name));
    SCOPED(memory_drop) PlanTerm *term = memory_new(inputs, sizeof *term);
    if (!term) return ERR_MEMORY;
    for (size_t i = 0; i < inputs; i++) term[i] = (PlanTerm){.c = 1, .x = x[i]};
    PlanInstr in = {.op = PLAN_GATE, .out = (int)p->gates, .terms = inputs};
    int code = plan_add(p, in, term);
    if (code < 0) return code;
    TRY(memory_add(p->gate, p->gates, gate));
    return (int)p->gates - 1;
}

void plan_end(Plan *p)
{
    p->network = p->instrs;
}

int plan_penalty(Plan *p, double c, int x, int z)
{
    PlanInstr in = {.op = PLAN_PENALTY, .terms = 2};
    return plan_add(p, in, (PlanTerm[]){{.c = c, .x = x}, {.c = 1, .x = z}});
}

int plan_find_slot(const Plan *p, int side, int kind, int layer, int set)
{
    for (size_t i = 0; i < p->slots; i++) {
        const PlanSlot *s = &p->slot[i];
        if (s->side == side && s->kind == kind && s->layer == layer && s->set == set) return (int)i;
    }
    return -1;
}

int plan_find_keys(const Plan *p, int slot)
{
    for (size_t i = 0; i < p->instrs; i++)
        if (p->instr[i].op == PLAN_KEYS && p->instr[i].slot == slot) return p->instr[i].out;
    return -1;
}

int plan_sets(const Plan *p, int side, int kind)
{
    int most = 0;
    for (size_t i = 0; i < p->slots; i++) {
        const PlanSlot *s = &p->slot[i];
        if (s->side == side && s->kind == kind && s->set > most) most = s->set;
    }
    return most;
}

const char *plan_prefix(const Plan *p, int side)
{
    return p->sides == 1 ? "" : side == SIDE_SOURCE ? "encoder." : "decoder.";
}

const char *plan_slot_name(const PlanSlot *s, char out[SLOT_NAME])
{
    static const char *const name[SLOT_KINDS] = {"attn", "ffn", "cross", "norm", "start"};
    if (is_side_norm(s))
        snprintf(out, SLOT_NAME, s->set == NORM_INPUT ? "input.norm" : "norm");
    else if (s->kind == SLOT_WORDS)
        snprintf(out, SLOT_NAME, "start.%d", s->set);
    else
        snprintf(out, SLOT_NAME, "layers.%d.%s.%d", s->layer, name[s->kind],
                 s->kind == SLOT_NORM ? s->set - NORM_OWN : s->set);
    return out;
}

/* ---- printing ----------------------------------------------------------------------------------- */

static void print_term(const Plan *p, const PlanTerm *t, int first, FILE *f)
{
    double c = fabs(t->c);
    fputs(first ? (t->c < 0 ? "-" : "") : (t->c < 0 ? " - " : " + "), f);
    if (c != 1) fprintf(f, "%.10g ", c);
    for (int i = 0; i < t->factors; i++) {
        const PlanFactor *a = &t->factor[i];
        if (a->kind == FACTOR_SCALAR)
            fprintf(f, "%s[%zu] ", p->scalar[a->index].name, a->element);
        else
            fprintf(f, "%s ", p->gate[a->index].name);
    }
    fprintf(f, "r%d", t->x);
}

static void print_lin(const Plan *p, const PlanInstr *in, FILE *f)
{
    fprintf(f, "r%d = %s", in->out, in->terms ? "" : "0");
    for (size_t k = 0; k < in->terms; k++) print_term(p, &in->term[k], k == 0, f);
}

static void print_of_slot(const Plan *p, const PlanInstr *in, FILE *f)
{
    char name[SLOT_NAME];
    const PlanSlot *s = &p->slot[in->slot];
    fprintf(f, "r%d = %s%s%s(", in->out, plan_prefix(p, s->side), plan_slot_name(s, name),
            in->op == PLAN_KEYS                           ? ".keys"
            : in->op == PLAN_NORM && s->kind != SLOT_NORM ? ".norm"
                                                          : "");
    for (size_t k = 0; k < in->terms; k++) fprintf(f, "%sr%d", k ? ", " : "", in->term[k].x);
    fputs(in->op == PLAN_WORDS ? "words)" : ")", f);
    if (in->op == PLAN_EVAL || in->op == PLAN_WORDS) fprintf(f, ", draw %d", in->draw);
}

static void print_gate(const Plan *p, const PlanInstr *in, FILE *f)
{
    const PlanGate *g = &p->gate[in->out];
    fprintf(f, "%s = %s(w . [", g->name, g->act == ACT_SIGMOID ? "sigmoid" : "tanh");
    for (size_t k = 0; k < in->terms; k++) fprintf(f, "%sr%d", k ? ", " : "", in->term[k].x);
    fputs("] + b)", f);
}

static void print_penalty(const Plan *p, const PlanInstr *in, FILE *f)
{
    (void)p;
    fprintf(f, "penalty %.10g |r%d|^2 / |r%d|^2", in->term[0].c, in->term[0].x, in->term[1].x);
}

void plan_print(const Plan *p, FILE *f)
{
    static void (*const print[])(const Plan *, const PlanInstr *, FILE *) = {
        [PLAN_LIN] = print_lin,        [PLAN_EVAL] = print_of_slot, [PLAN_GATE] = print_gate,
        [PLAN_NORM] = print_of_slot,   [PLAN_KEYS] = print_of_slot, [PLAN_WORDS] = print_of_slot,
        [PLAN_PENALTY] = print_penalty};
    for (size_t i = 0; i < p->instrs; i++) {
        print[p->instr[i].op](p, &p->instr[i], f);
        fputc('\n', f);
    }
    fprintf(f, "output r%d\n", p->output);
}

/* ---- costing ------------------------------------------------------------------------------------ */

size_t plan_evals(const Plan *p, int kind)
{
    size_t n = 0;
    for (size_t i = 0; i < plan_network(p); i++)
        n += p->instr[i].op == PLAN_EVAL && p->slot[p->instr[i].slot].kind == kind;
    return n;
}

double plan_macs(const Plan *p, size_t D, size_t T)
{
    double d = (double)D, sum = 0;
    for (size_t i = 0; i < plan_network(p); i++) {
        int op = p->instr[i].op;
        if (op == PLAN_KEYS) sum += 2 * d * d;
        if (op != PLAN_EVAL) continue;
        const PlanSlot *s = &p->slot[p->instr[i].slot];
        double projections = s->kind == SLOT_CROSS ? 2 : 4;
        sum += plan_attends(s) ? projections * d * d + 2 * (double)T * d : 2 * d * (double)s->inner;
    }
    return sum;
}
