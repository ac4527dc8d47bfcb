/* solved.c: a memory of reference solutions.
 *
 * A study of many schemes on one system needs the solution at the same times again and again. An answer is found by its
 * question, bit by bit: other times in between move the steps of the reference, so a part of a longer list is another
 * question.
 */
#include "ode/field/system.h"

#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"

typedef struct Answer Answer;

struct Answer {
    Answer *next;
    Question q;
    double agreement;
    double t[]; /* (count), and the answer y (count, N) */
};

struct Solved {
    Answer *first;
    size_t left; /* bytes of states */
};

int solved_new(size_t bytes, Solved **out)
{
    Solved *m = memory_new(1, sizeof *m);
    if (!m) return ERR_MEMORY;
    m->left = bytes;
    *out = m;
    return 0;
}

void solved_free(Solved *m)
{
    for (Answer *a = m ? m->first : NULL, *next; a; a = next) {
        next = a->next;
        memory_free(a);
    }
    memory_free(m);
}

int solved_find(const Solved *m, const Question *q, double *y, double *agreement)
{
    for (const Answer *a = m ? m->first : NULL; a; a = a->next) {
        if (a->q.tolerance != q->tolerance || a->q.checked != q->checked || a->q.N != q->N ||
            a->q.count != q->count || memcmp(a->t, q->t, q->count * sizeof *q->t) != 0)
            continue;
        memcpy(y, a->t + q->count, q->count * q->N * sizeof *y);
        *agreement = a->agreement;
        return 1;
    }
    return 0;
}

int solved_keep(Solved *m, const Question *q, const double *y, double agreement)
{
    size_t states = q->count * q->N; /* the caller has as many */
    if (!m || states > m->left / sizeof *y) return 0;
    Answer *a = memory_new(1, sizeof *a + (q->count + states) * sizeof *y);
    if (!a) return ERR_MEMORY;
    a->q = *q;
    a->agreement = agreement;
    memcpy(a->t, q->t, q->count * sizeof *y);
    memcpy(a->t + q->count, y, states * sizeof *y);
    a->next = m->first;
    m->first = a;
    m->left -= states * sizeof *y;
    return 0;
}
