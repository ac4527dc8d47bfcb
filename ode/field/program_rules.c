/* program_rules.c: what the rules of a system file are: linear or not, which particles they see, and the interactions of all coordinates as
 * one list of operations. */
#include "ode/field/program.h"

#include <math.h>
#include <string.h>

/* ---- linear rules ------------------------------------------------------------------------------------ */

enum { DEGREE_NO = 2 }; /* no polynomial of degree 1 in y */

static int leaf_degree(int code, int memory)
{
    switch (code) {
    case GET_OWN:
    case GET_NEXT: return 1;
    case GET_OTHER: return memory ? 0 : 1;
    case GET_DOT: return memory ? 1 : DEGREE_NO;
    case GET_TIME:
    case GET_R2:
    case GET_R: return DEGREE_NO;
    default: return 0;
    }
}

/* Returns the degree in y of op on one of degree a, and b where it takes two. */
static int op_degree(const Op *op, int a, int b)
{
    switch (op->code) {
    case DO_ADD:
    case DO_SUB: return a > b ? a : b;
    case DO_MUL: return a + b < DEGREE_NO ? a + b : DEGREE_NO;
    case DO_DIV: return b ? DEGREE_NO : a;
    case DO_POW: return a || b ? DEGREE_NO : 0;
    case DO_NEG: return a;
    case DO_POWI: return op->k == 1 || a == 0 ? a : DEGREE_NO;
    default: return a ? DEGREE_NO : 0;
    }
}

/* Returns a program's degree, as its operations tell: y*y - y*y has 2. Time has DEGREE_NO. */
static int degree(const Formulas *f, const Program *p, int memory)
{
    int stack[PROGRAM_STACK] = {0}, top = -1;
    for (int k = p->first; k < p->first + p->count; k++) {
        const Op *op = &f->op[k];
        int n = program_operands(op->code);
        top -= n - 1;
        stack[top] = n == 0 ? leaf_degree(op->code, memory)
                            : op_degree(op, stack[top], n > 1 ? stack[top + 1] : 0);
    }
    return stack[0];
}

int program_linear(const Formulas *f, int which, size_t d)
{
    int memory = which == RULE_C;
    for (size_t c = 0; c < d; c++) {
        const Rule *r = &f->rule[which][c];
        if (r->line && degree(f, &r->value, memory) >= DEGREE_NO) return 0;
        if (r->line && r->kind == OTHERS_SOFTMAX && degree(f, &r->score, memory) > 0) return 0;
    }
    return 1;
}

size_t program_sees(const Formulas *f, int which, size_t d)
{
    size_t sees = 1;
    for (size_t c = 0; c < d; c++) {
        const Rule *r = &f->rule[which][c];
        if (rule_is_other(r) && which != RULE_C) return 0; /* the memory stands still */
        for (int k = r->value.first; r->line && k < r->value.first + r->value.count; k++) {
            size_t by = (size_t)fabs(f->op[k].value) + 1;
            if (f->op[k].code == GET_NEXT && by > sees) sees = by;
        }
    }
    return sees;
}

/* ---- joined ----------------------------------------------------------------------------------- */

size_t program_operations(const Formulas *f, int which, size_t d)
{
    size_t all = 0;
    for (size_t c = 0; c < d; c++) {
        const Rule *r = &f->rule[which][c];
        if (rule_is_other(r)) all += (size_t)(r->value.count + r->score.count);
    }
    return all;
}

/* Returns an operation for coordinate c: it names the coordinates that it reads. */
static Op of_coordinate(const Formulas *f, Op op, size_t c)
{
    if (op.code == GET_OWN || op.code == GET_OTHER || op.code == GET_NEXT) {
        if (op.k == VELOCITY) op.k = (int)(c + f->second);
        if (op.k == THIS) op.k = (int)c;
    }
    if (op.code == GET_INDEX_C) op = (Op){.code = GET_CONSTANT, .value = (double)c + 1};
    if (op.code == GET_VECTOR && op.value == GET_INDEX_C)
        op = (Op){.code = GET_CONSTANT, .value = f->vector[(size_t)op.k + c]};
    return op;
}

/* Returns the number of an operation in the list, to which it is added unless it is among the last ones. */
static int add_node(Joint *j, Node node)
{
    enum { NEAR = 256 };
    for (int k = j->count; k-- > 0 && k >= j->count - NEAR;) {
        const Node *x = &j->node[k];
        if (x->op.code == node.op.code && x->op.k == node.op.k && x->a == node.a &&
            x->b == node.b && memcmp(&x->op.value, &node.op.value, sizeof x->op.value) == 0)
            return k;
    }
    j->node[j->count] = node;
    return j->count++;
}

static int join(const Formulas *f, Joint *j, const Program *p, size_t c)
{
    int stack[PROGRAM_STACK] = {0}, top = -1;
    for (int k = p->first; k < p->first + p->count; k++) {
        Node x = {.op = of_coordinate(f, f->op[k], c), .a = -1, .b = -1};
        int n = program_operands(x.op.code);
        top -= n - 1;
        x.fixed = n == 0 && op_is_fixed(&x.op);
        if (n > 0) {
            x.a = stack[top];
            x.b = n > 1 ? stack[top + 1] : -1;
            x.fixed = j->node[x.a].fixed && (n == 1 || j->node[x.b].fixed);
        }
        stack[top] = add_node(j, x);
    }
    return stack[0];
}

void program_join(Formulas *f, int which, size_t d)
{
    Joint *j = &f->joint[which == RULE_C];
    j->count = 0;
    for (size_t c = 0; c < d; c++) {
        const Rule *r = &f->rule[which][c];
        const size_t of = program_coordinate(f, which, c);
        if (!rule_is_other(r)) continue;
        j->value[c] = join(f, j, &r->value, of);
        j->score[c] = r->kind == OTHERS_SOFTMAX ? join(f, j, &r->score, of) : -1;
    }
}
