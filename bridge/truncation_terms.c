/* truncation_terms.c: the leading terms of a truncation error: coefficients from the scheme's exact
 * expansion (ode/theory/theory.c), elementary differentials of the trained layer by differences along
 * directions (ode/field/differential.c), which are kept for all schemes of that order. */
#include "bridge/truncator.h"
#include "kernels/error.h"
#include "kernels/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Most values of the field that each refinement of the differences may take. */
static const double work_most = 4096;

static int keep(Truncator *u, const Scheme *s, const double *y, const Kept **out)
{
    int order = s->order + 1;
    for (size_t i = 0; i < u->keeps; i++) {
        *out = &u->kept[i];
        if ((*out)->order == order && (*out)->one == s->one &&
            (*out)->forest->colours == s->table->colours)
            return 0;
    }
    TRY(memory_more(&u->kept, u->keeps, sizeof *u->kept));
    Kept *k = &u->kept[u->keeps];
    *k = (Kept){.order = order, .one = s->one};
    System at = u->options.field == FIELD_LAYER ? u->field->layer : u->field->mean;
    at.initial = (double *)y;
    u->field->pin = u->layer;
    TRY(forest_new(order, s->table->colours, &k->forest));
    int code = differentials_find(k->forest, &at, order, s->one, &k->found);
    u->keeps += code == 0;
    if (code != 0) forest_free(k->forest);
    *out = k;
    return code;
}

static void name_term(const Scheme *s, const Forest *f, size_t tree, char *name, size_t bytes)
{
    char text[64];
    snprintf(name, bytes, "?");
    if (tree_name(f, tree, text, sizeof text) != 0) return;
    for (char *c = text; s->one && *c; c++) *c = *c == 'F' ? s->one : *c;
    snprintf(name, bytes, "%.*s", (int)bytes - 1, text);
}

void terms_add(const Truncator *u, double c, const double *v, double displacement, const char *name,
               Truncation *t)
{
    for (size_t i = 0; i < u->N; i++) u->leading[i] += c * v[i];
    if (!*name || t->terms == TRUNCATION_TERMS) return;
    TruncationTerm *term = &t->term[t->terms++];
    snprintf(term->name, sizeof term->name, "%s", name);
    term->coefficient = c;
    term->size = fabs(c) * truncation_rms(u->N, v) / displacement;
}

int terms_find(Truncator *u, const Scheme *s, const double *y, double displacement, Truncation *t,
               double *accuracy, int *told)
{
    const Kept *k;
    *told = s->own ? s->pair != NULL && s->order == 1 : s->forest != NULL;
    if (!*told) return 0;
    memset(u->leading, 0, u->N * sizeof *u->leading);
    if (s->own) return sets_find(u, s, y, displacement, t, accuracy);
    *told = differentials_work(s->forest, s->order + 1, s->one) <= work_most;
    if (!*told) return 0;
    TRY(keep(u, s, y, &k));
    for (size_t i = 0; i < s->forest->count; i++) {
        char name[sizeof t->term->name] = "";
        if (s->coefficient[i] == 0) continue;
        if (s->order <= 2) name_term(s, k->forest, i, name, sizeof name);
        terms_add(u, s->coefficient[i], k->found.value + i * u->N, displacement, name, t);
    }
    *accuracy = k->found.accuracy;
    return 0;
}
