/* complex_flow.c: sub-flows over complex times. The flow of z' = f(z) over the time (c + i b) h is that of z' = (c + i b) f(z)
 * over h, a real system of twice the size: f is evaluated in complex numbers from its list of operations (tape.c). */
#include "kernels/base/cmplx.h"

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "ode/field/tape.h"

struct ComplexField {
    System system; /* first, so that its function finds the rest behind it */
    const System *base;
    int op;
    Tape *tape; /* NULL: System.at_complex tells the field */
    double complex direction, value[TAPE_MOST];
};

static double complex operation(const Entry *e, const double complex *v, const double *z, int N)
{
    double complex a = v[e->a];
    switch (e->code) {
    case TAPE_NUMBER: return e->value;
    case TAPE_STATE: return CMPLX(z[e->a], z[N + e->a]);
    case TAPE_ADD: return a + v[e->b];
    case TAPE_SUB: return a - v[e->b];
    case TAPE_MUL: return a * v[e->b];
    case TAPE_DIV: return a / v[e->b];
    case TAPE_NEG: return -a;
    case TAPE_POW: return cpow(a, v[e->b]);
    case TAPE_SQRT: return csqrt(a);
    case TAPE_EXP: return cexp(a);
    case TAPE_LOG: return clog(a);
    case TAPE_SIN: return csin(a);
    default: return ccos(a);
    }
}

static void run_tape(ComplexField *c, const double *z, double *dz)
{
    const Tape *t = c->tape;
    for (int k = 0; k < t->count; k++) c->value[k] = operation(&t->node[k], c->value, z, t->N);
    for (int k = 0; k < t->N; k++) {
        dz[k] = creal(c->value[t->rate[k]]);
        dz[t->N + k] = cimag(c->value[t->rate[k]]);
    }
}

static void rates(const System *s, int set, double t, const double *z, double *dz)
{
    ComplexField *c = (ComplexField *)s;
    size_t N = c->base->n * c->base->d;
    (void)t;
    if (c->tape)
        run_tape(c, z, dz);
    else
        c->base->at_complex(c->base, c->op, set, z, dz);
    for (size_t k = 0; k < N; k++) {
        double complex rate = c->direction * CMPLX(dz[k], dz[N + k]);
        dz[k] = creal(rate);
        dz[N + k] = cimag(rate);
    }
}

static int find_tape(const System *s, int op, Tape **out)
{
    TRY(tape_new(s, 1 << op, out));
    for (int k = 0; k < (*out)->count; k++) {
        int code = (*out)->node[k].code;
        if (code == TAPE_TIME || code == TAPE_ABS || code == TAPE_STEP)
            return error_set(
                ERR_INPUT,
                "%s: a flow over a complex time takes a field without the time, abs and heaviside",
                s->name);
    }
    return 0;
}

int complex_field(const System *s, int op, ComplexField **out)
{
    SCOPED(complex_field_drop) ComplexField *c = memory_new(1, sizeof *c);
    if (!c) return ERR_MEMORY;
    *c = (ComplexField){.system = {.name = s->name, .n = 2 * s->n, .d = s->d}, .base = s, .op = op};
    c->system.field[op] = rates;
    if (!s->at_complex) TRY(find_tape(s, op, &c->tape));
    *out = c;
    c = NULL;
    return 0;
}

void complex_field_free(ComplexField *c)
{
    if (c) memory_free(c->tape);
    memory_free(c);
}

int complex_flow(ComplexField *c, int set, double re, double im, double h, double *z, size_t *evals)
{
    c->direction = CMPLX(re, im);
    return reference_flow(&c->system, c->op, set, 0, h, z, evals);
}
