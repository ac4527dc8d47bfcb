/* quantity.c: compiles an expression in the coordinates of a whole state, as events need. Particles make one here: y2_1,
 * of particles with d coordinates, is coordinate d + 1 of all. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/field/program.h"

struct Quantity {
    Formulas formulas;
    Program program;
};

DROP(Quantity, quantity)

/* Writes the number of the coordinate in the place of yI_C, as long as that, or leaves what is no such name. */
static void number_coordinates(char *text, size_t n, size_t d)
{
    for (char *at = text; *at; at++) {
        char *end, *last, number[48];
        if (*at != 'y' || !isdigit((unsigned char)at[1])) continue;
        if (at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_')) continue;
        size_t i = strtoul(at + 1, &end, 10);
        if (*end != '_' || !isdigit((unsigned char)end[1])) continue;
        size_t c = strtoul(end + 1, &last, 10), room = (size_t)(last - at - 1);
        if (i < 1 || i > n || c < 1 || c > d) continue;
        int used = snprintf(number, sizeof number, "%-*zu", (int)room, (i - 1) * d + c);
        if (used == (int)room) memcpy(at + 1, number, room);
    }
}

/* Refuses y by itself where there are several. */
static int check_names(const Quantity *q, const Cursor *begin, size_t N)
{
    for (int k = q->program.first; k < q->program.first + q->program.count; k++) {
        const Op *op = &q->formulas.op[k];
        if (op->code == GET_OWN && op->k == THIS && N > 1)
            return cursor_error(begin, "expected y1, y2, ... in the place of y");
    }
    return 0;
}

static int read_text(Quantity *q, Reader *p, const System *s, const char *place, const char *text,
                     const char **behind)
{
    SCOPED(memory_drop) char *copy = memory_new(strlen(text) + 1, 1);
    if (!copy) return ERR_MEMORY;
    strcpy(copy, text);
    if (s->n > 1 && s->d > 1) number_coordinates(copy, s->n, s->d);
    p->cursor = (Cursor){place, 1, copy, copy, copy + strlen(copy)};
    Cursor begin = p->cursor;
    cursor_blanks(&begin);
    TRY(formula_quantity(p, &q->program));
    *behind = text + (p->cursor.at - copy);
    return check_names(q, &begin, p->d);
}

int quantity_read(const char *text, const char *place, const System *s, const char **behind,
                  Quantity **out)
{
    SCOPED(quantity_drop) Quantity *q = memory_new(1, sizeof *q);
    SCOPED(memory_drop) Reader *p = memory_new(1, sizeof *p);
    *out = NULL;
    if (!q || !p) return ERR_MEMORY;
    p->formulas = &q->formulas;
    p->n = s->n;
    p->d = s->n * s->d;
    if (s->field[OP_G] == program_drift) {
        const Formulas *of = s->context;
        p->params = of->params;
        memcpy(p->param, of->param, sizeof p->param);
        memcpy(q->formulas.vector, of->vector, sizeof of->vector);
        q->formulas.vectors = of->vectors;
    }
    TRY(read_text(q, p, s, place, text, behind));
    *out = q;
    q = NULL;
    return 0;
}

void quantity_free(Quantity *q)
{
    if (q) memory_free(q->formulas.op);
    memory_free(q);
}

double quantity_value(const Quantity *q, double t, const double *y)
{
    return program_value(&q->formulas, &q->program, t, y);
}
