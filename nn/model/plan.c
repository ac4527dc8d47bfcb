/* plan.c: builds, checks, prints and costs a network plan (plan.h). A plan is data: nothing here touches a
 * number of a model. */
#include "nn/model/plan.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/backend.h"
#include "kernels/error.h"
#include "kernels/scoped.h"

/* ---- building ----------------------------------------------------------------------------------- */

/* Appends *item to p->list; the list grows by one, because plans are built once. Gives 0 or ERR_MEMORY. */
#define PUSH(p, list, count, item) push(p, offsetof(Plan, list), &(p)->count, sizeof(item), &(item))

static int push(Plan *p, size_t field, size_t *count, size_t size, const void *item)
{
    void *list;
    memcpy(&list, (char *)p + field, sizeof list);
    char *grown = memory_grow(list, *count, *count + 1, size);
    if (!grown) return ERR_MEMORY;
    memcpy(grown + *count * size, item, size);
    memcpy((char *)p + field, &grown, sizeof list);
    (*count)++;
    return 0;
}

static Plan *make(int sides, size_t target, size_t source)
{
    Plan *p = memory_new(1, sizeof *p);
    if (!p) return NULL;
    p->sides = sides;
    p->layers[SIDE_TARGET] = target;
    p->layers[SIDE_SOURCE] = source;
    for (int side = 0; side < sides; side++) {
        PlanRegister r = {.side = side};
        if (PUSH(p, reg, registers, r) == 0) continue;
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
    for (size_t i = 0; i < p->slots; i++) TRY(PUSH(q, slot, slots, p->slot[i]));
    for (size_t i = 0; i < p->scalars; i++) TRY(PUSH(q, scalar, scalars, p->scalar[i]));
    for (size_t i = 0; i < p->gates; i++) TRY(PUSH(q, gate, gates, p->gate[i]));
    q->post = p->post, q->bidirectional = p->bidirectional;
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
    memory_free(p->reg);
    memory_free(p->slot);
    memory_free(p->scalar);
    memory_free(p->gate);
    memory_free(p->instr);
    memory_free(p);
}

int plan_slot(Plan *p, PlanSlot slot)
{
    TRY(PUSH(p, slot, slots, slot));
    return (int)p->slots - 1;
}

static int name_copy(char out[PLAN_NAME], const char *name)
{
    if (strlen(name) >= PLAN_NAME)
        return error_set(ERR_MISUSE, "learned name '%s' is longer than %d bytes", name,
                         PLAN_NAME - 1);
    memcpy(out, name, strlen(name) + 1);
    return 0;
}

int plan_scalar(Plan *p, int side, int layer, const char *name, size_t size, double init)
{
    PlanScalar scalar = {.side = side, .layer = layer, .size = size, .init = init};
    TRY(name_copy(scalar.name, name));
    TRY(PUSH(p, scalar, scalars, scalar));
    return (int)p->scalars - 1;
}

/* Describes the register that an instruction writes. Its side is that of the first register read; an
 * instruction that reads none, or one that is not there, writes on the target's side. */
static PlanRegister written_by(const Plan *p, const PlanInstr *in)
{
    int x = in->terms ? in->term[0].x : -1;
    int side = x >= 0 && (size_t)x < p->registers ? p->reg[x].side : SIDE_TARGET;
    return (PlanRegister){.side = side, .keys = in->op == PLAN_KEYS};
}

int plan_add(Plan *p, PlanInstr in, const PlanTerm *term)
{
    int writes = in.op != PLAN_GATE;
    if (writes) in.out = (int)p->registers;
    in.term = memory_new(in.terms, sizeof *term);
    if (!in.term) return ERR_MEMORY;
    if (in.terms) memcpy(in.term, term, in.terms * sizeof *term);
    PlanRegister r = written_by(p, &in);
    int code = writes ? PUSH(p, reg, registers, r) : 0;
    if (code == 0) {
        code = PUSH(p, instr, instrs, in);
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

int plan_gate(Plan *p, int side, int layer, const char *name, int act, size_t inputs, const int *x)
{
    PlanGate gate = {.side = side, .layer = layer, .act = act, .inputs = inputs};
    TRY(name_copy(gate.name, name));
    SCOPED(memory_drop) PlanTerm *term = memory_new(inputs, sizeof *term);
    if (!term) return ERR_MEMORY;
    for (size_t i = 0; i < inputs; i++) term[i] = (PlanTerm){.c = 1, .x = x[i]};
    PlanInstr in = {.op = PLAN_GATE, .out = (int)p->gates, .terms = inputs};
    int code = plan_add(p, in, term);
    if (code < 0) return code;
    TRY(PUSH(p, gate, gates, gate));
    return (int)p->gates - 1;
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

const char *plan_kind_name(int kind)
{
    static const char *const name[SLOT_KINDS] = {"attn", "ffn", "cross", "norm"};
    return name[kind];
}

/* ---- checking ----------------------------------------------------------------------------------- */

/* As NEED, for an item of the plan. */
#define NEED_OF(item, i, condition)                                                               \
    do {                                                                                          \
        if (!(condition))                                                                         \
            return error_set(ERR_MISUSE, "plan, " item " %zu: it is not so that %s", (size_t)(i), \
                             #condition);                                                         \
    } while (0)

static int inside(int i, size_t count)
{
    return i >= 0 && (size_t)i < count;
}

static int check_slots(const Plan *p)
{
    for (size_t i = 0; i < p->slots; i++) {
        const PlanSlot *s = &p->slot[i];
        NEED_OF("slot", i, inside(s->kind, SLOT_KINDS) && inside(s->side, (size_t)p->sides));
        NEED_OF("slot", i, s->kind != SLOT_CROSS || (p->sides == 2 && s->side == SIDE_TARGET));
        NEED_OF("slot", i, inside(s->layer, p->layers[s->side]) && s->set >= 1);
        NEED_OF("slot", i, s->kind != SLOT_NORM || (s->layer == 0 && s->set <= 1 + p->post));
        NEED_OF("slot", i, (s->kind == SLOT_FEEDFORWARD) == (s->inner > 0));
        NEED_OF("slot", i, plan_find_slot(p, s->side, s->kind, s->layer, s->set) == (int)i);
    }
    return 0;
}

static const char *learned(const Plan *p, size_t i, int *side, int *layer)
{
    size_t g = i - p->scalars;
    *side = i < p->scalars ? p->scalar[i].side : p->gate[g].side;
    *layer = i < p->scalars ? p->scalar[i].layer : p->gate[g].layer;
    return i < p->scalars ? p->scalar[i].name : p->gate[g].name;
}

/* Checks scalars and gates, in this order. */
static int check_learned(const Plan *p)
{
    for (size_t i = 0; i < p->scalars; i++)
        NEED_OF("scalar", i, p->scalar[i].size > 0 && isfinite(p->scalar[i].init));
    for (size_t i = 0; i < p->gates; i++) {
        const PlanGate *g = &p->gate[i];
        NEED_OF("gate", i, (g->act == ACT_SIGMOID || g->act == ACT_TANH) && g->inputs > 0);
    }
    for (size_t i = 0; i < p->scalars + p->gates; i++) {
        int side, layer, its_side, its_layer;
        const char *name = learned(p, i, &side, &layer);
        NEED_OF("learned", i, *name && !strchr(name, '.'));
        NEED_OF("learned", i, inside(side, (size_t)p->sides) && inside(layer, p->layers[side]));
        for (size_t j = 0; j < i; j++) {
            const char *other = learned(p, j, &its_side, &its_layer);
            NEED_OF("learned", i, strcmp(other, name) || its_side != side || its_layer != layer);
        }
    }
    return 0;
}

enum { SEEN_EVAL = 1, SEEN_NORM = 2, SEEN_KEYS = 4 };

/* Records what the check has seen so far, going down the list. */
typedef struct {
    char *written; /* (registers) */
    char *slot;    /* (slots) bits: evaluated, normed, keys made */
    char *gate;    /* (gates) 1: computed, 2: computed and used */
} Seen;

/* Checks a factor. A learned number belongs to the side whose rows it multiplies. */
static int check_factor(const Plan *p, Seen *seen, size_t i, const PlanFactor *f)
{
    int side = p->reg[p->instr[i].term[0].x].side, scalar = f->kind == FACTOR_SCALAR;
    NEED_OF("instruction", i, scalar || f->kind == FACTOR_GATE);
    NEED_OF("instruction", i, inside(f->index, scalar ? p->scalars : p->gates));
    NEED_OF("instruction", i, !scalar || f->element < p->scalar[f->index].size);
    NEED_OF("instruction", i, side == (scalar ? p->scalar[f->index].side : p->gate[f->index].side));
    NEED_OF("instruction", i, scalar || seen->gate[f->index]);
    if (!scalar) seen->gate[f->index] = 2;
    return 0;
}

/* Checks what instruction i reads. Keys are read by EVALs of their slot alone. */
static int check_terms(const Plan *p, Seen *seen, size_t i)
{
    const PlanInstr *in = &p->instr[i];
    for (size_t k = 0; k < in->terms; k++) {
        const PlanTerm *t = &in->term[k];
        NEED_OF("instruction", i, inside(t->x, p->registers) && seen->written[t->x]);
        int keys = in->op == PLAN_EVAL && k == 1;
        int side = keys || in->op == PLAN_KEYS ? SIDE_SOURCE
                   : plan_of_slot(in)          ? p->slot[in->slot].side
                                               : p->reg[in->term[0].x].side;
        NEED_OF("instruction", i, p->reg[t->x].side == side && p->reg[t->x].keys == keys);
        NEED_OF("instruction", i, !keys || plan_find_keys(p, in->slot) == t->x);
        NEED_OF("instruction", i, isfinite(t->c));
        NEED_OF("instruction", i,
                t->factors >= 0 && t->factors <= (in->op == PLAN_LIN ? PLAN_FACTORS : 0));
        for (int f = 0; f < t->factors; f++) TRY(check_factor(p, seen, i, &t->factor[f]));
    }
    return 0;
}

static int check_of_slot(const Plan *p, Seen *seen, size_t i)
{
    static const char bit[PLAN_OPS] = {
        [PLAN_EVAL] = SEEN_EVAL, [PLAN_NORM] = SEEN_NORM, [PLAN_KEYS] = SEEN_KEYS};
    const PlanInstr *in = &p->instr[i];
    NEED_OF("instruction", i, inside(in->slot, p->slots) && in->draw >= 0);
    int kind = p->slot[in->slot].kind, cross = kind == SLOT_CROSS, keys = in->op == PLAN_KEYS;
    size_t reads = in->op == PLAN_EVAL && cross ? 2 : 1;
    NEED_OF("instruction", i,
            in->op == PLAN_NORM ? p->post || kind == SLOT_NORM : kind != SLOT_NORM);
    NEED_OF("instruction", i, !keys || (cross && !(seen->slot[in->slot] & SEEN_KEYS)));
    NEED_OF("instruction", i, in->terms == reads);
    seen->slot[in->slot] |= bit[in->op];
    return 0;
}

static int check_out(const Plan *p, Seen *seen, size_t i)
{
    const PlanInstr *in = &p->instr[i];
    int gate = in->op == PLAN_GATE;
    char *done = gate ? seen->gate : seen->written;
    NEED_OF("instruction", i, inside(in->out, gate ? p->gates : p->registers) && !done[in->out]);
    NEED_OF("instruction", i, !gate || in->terms == p->gate[in->out].inputs);
    PlanRegister w = written_by(p, in);
    NEED_OF("instruction", i, w.side == (gate ? p->gate[in->out].side : p->reg[in->out].side));
    NEED_OF("instruction", i, gate || w.keys == p->reg[in->out].keys);
    done[in->out] = 1;
    return 0;
}

static int check_instrs(const Plan *p, Seen *seen)
{
    for (int side = 0; side < p->sides; side++) seen->written[side] = 1;
    for (size_t i = 0; i < p->instrs; i++) {
        int op = p->instr[i].op, of_slot = plan_of_slot(&p->instr[i]);
        NEED_OF("instruction", i, op == PLAN_LIN || op == PLAN_GATE || of_slot);
        if (of_slot) TRY(check_of_slot(p, seen, i));
        TRY(check_terms(p, seen, i));
        TRY(check_out(p, seen, i));
    }
    return 0;
}

static int check_all_used(const Plan *p, const Seen *seen)
{
    for (size_t r = 0; r < p->registers; r++) NEED_OF("register", r, seen->written[r]);
    for (size_t s = 0; s < p->slots; s++) {
        int norm = p->slot[s].kind == SLOT_NORM;
        NEED_OF("slot", s, norm || seen->slot[s] & SEEN_EVAL);
        NEED_OF("slot", s, !(p->post || norm) || seen->slot[s] & SEEN_NORM);
    }
    for (size_t g = 0; g < p->gates; g++) NEED_OF("gate", g, seen->gate[g] == 2);
    return 0;
}

static int check_output(const Plan *p)
{
    int r = p->output, normed = !p->post;
    for (size_t i = 0; i < p->instrs; i++)
        normed |= p->instr[i].op == PLAN_NORM && p->instr[i].out == r;
    NEED_OF("output", r, normed && inside(r, p->registers));
    NEED_OF("output", r, p->reg[r].side == SIDE_TARGET && !p->reg[r].keys);
    return 0;
}

int plan_check(const Plan *p)
{
    NEED_OF("sides", p->sides, p->sides >= 1 && p->sides <= SIDES);
    NEED_OF("sides", p->sides, p->layers[SIDE_TARGET] > 0 && p->registers >= (size_t)p->sides);
    NEED_OF("sides", p->sides, (p->sides == 2) == (p->layers[SIDE_SOURCE] > 0));
    NEED_OF("sides", p->sides, !p->bidirectional || p->sides == 1);
    for (int side = 0; side < p->sides; side++)
        NEED_OF("register", side, p->reg[side].side == side && !p->reg[side].keys);
    TRY(check_slots(p));
    TRY(check_learned(p));
    SCOPED(memory_drop) char *flags = memory_new(p->registers + p->slots + p->gates, 1);
    if (!flags) return ERR_MEMORY;
    Seen seen = {flags, flags + p->registers, flags + p->registers + p->slots};
    TRY(check_instrs(p, &seen));
    TRY(check_all_used(p, &seen));
    return check_output(p);
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
    const PlanSlot *s = &p->slot[in->slot];
    fprintf(f, "r%d = %s", in->out, plan_prefix(p, s->side));
    if (s->kind == SLOT_NORM)
        fputs(plan_norm_name(s), f);
    else
        fprintf(f, "layers.%d.%s.%d%s", s->layer, plan_kind_name(s->kind), s->set,
                in->op == PLAN_NORM   ? ".norm"
                : in->op == PLAN_KEYS ? ".keys"
                                      : "");
    for (size_t k = 0; k < in->terms; k++) fprintf(f, "%sr%d", k ? ", " : "(", in->term[k].x);
    fputc(')', f);
    if (in->op == PLAN_EVAL) fprintf(f, ", draw %d", in->draw);
}

static void print_gate(const Plan *p, const PlanInstr *in, FILE *f)
{
    const PlanGate *g = &p->gate[in->out];
    fprintf(f, "%s = %s(w . [", g->name, g->act == ACT_SIGMOID ? "sigmoid" : "tanh");
    for (size_t k = 0; k < in->terms; k++) fprintf(f, "%sr%d", k ? ", " : "", in->term[k].x);
    fputs("] + b)", f);
}

void plan_print(const Plan *p, FILE *f)
{
    static void (*const print[])(const Plan *, const PlanInstr *,
                                 FILE *) = {[PLAN_LIN] = print_lin,
                                            [PLAN_EVAL] = print_of_slot,
                                            [PLAN_GATE] = print_gate,
                                            [PLAN_NORM] = print_of_slot,
                                            [PLAN_KEYS] = print_of_slot};
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
    for (size_t i = 0; i < p->instrs; i++)
        n += p->instr[i].op == PLAN_EVAL && p->slot[p->instr[i].slot].kind == kind;
    return n;
}

double plan_macs(const Plan *p, size_t D, size_t T)
{
    double d = (double)D, sum = 0;
    for (size_t i = 0; i < p->instrs; i++) {
        int op = p->instr[i].op;
        if (op == PLAN_KEYS) sum += 2 * d * d;
        if (op != PLAN_EVAL) continue;
        const PlanSlot *s = &p->slot[p->instr[i].slot];
        double projections = s->kind == SLOT_CROSS ? 2 : 4;
        sum += plan_attends(s) ? projections * d * d + 2 * (double)T * d : 2 * d * (double)s->inner;
    }
    return sum;
}
