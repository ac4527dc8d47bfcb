/* bench_peers.c: the contenders of `trotter bench ode`: Trotter's stepper, GSL's odeiv2, and the field
 * alone. Boost's steppers are in measure/peers.c.
 */
#include <gsl/gsl_errno.h>
#include <gsl/gsl_odeiv2.h>
#include <string.h>

#include "studies/bench/bench.h"
#include "studies/tools/command.h"

static const System *system_of(const PeerProblem *p)
{
    return ((const PeerField *)p->arg)->system;
}

/* ---- Trotter ------------------------------------------------------------------------------------- */

typedef struct {
    Table *table;
    Stepper *stepper;
} Own;

static void own_close(void *run)
{
    Own *o = run;
    stepper_free(o->stepper);
    table_free(o->table);
    memory_free(o);
}

static int own_table(const char *scheme, Table **out)
{
    Zoo zoo;
    Table *t = NULL;
    TRY(zoo_open(&zoo));
    int code = zoo_find(&zoo, scheme, "exact", &t);
    if (code == 0 && !(*out = table_freeze(t))) code = ERR_MEMORY;
    table_free(t);
    zoo_close(&zoo);
    return code;
}

static void *own_open(const char *scheme, const PeerProblem *p)
{
    Own *o = memory_new(1, sizeof *o);
    if (!o) return NULL;
    int code = own_table(scheme, &o->table);
    if (code == 0) code = stepper_new(o->table, system_of(p), &o->stepper);
    if (code == 0) code = stepper_begin(o->stepper, 0, p->h, p->initial, START_NETWORK, NULL);
    if (code == 0) return o;
    own_close(o);
    return NULL;
}

static int own_steps(void *run, size_t count)
{
    for (Own *o = run; count; count--) TRY(stepper_step(o->stepper));
    return 0;
}

/* F and G each are half an evaluation of F + G; sub-flows count as none. */
static void own_tell(void *run, double *calls)
{
    *calls = (double)((const Own *)run)->table->evals / 2;
}

const Peer bench_trotter = {"trotter", own_open, own_steps, own_close, own_tell};

/* ---- GSL ----------------------------------------------------------------------------------------- */

typedef struct {
    const PeerProblem *problem;
    gsl_odeiv2_system system;
    gsl_odeiv2_step *step;
    double *y, *error; /* (N) */
    double t;
} Gsl;

static int gsl_field(double t, const double *y, double *dy, void *problem)
{
    const PeerProblem *p = problem;
    p->field(t, y, dy, p->arg);
    return GSL_SUCCESS;
}

static const gsl_odeiv2_step_type *gsl_type(const char *method)
{
    const struct {
        const char *name;
        const gsl_odeiv2_step_type *type;
    } types[] = {{"rk2", gsl_odeiv2_step_rk2},
                 {"rk4", gsl_odeiv2_step_rk4},
                 {"rk8pd", gsl_odeiv2_step_rk8pd}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, method) == 0) return types[i].type;
    return NULL;
}

static void gsl_close(void *run)
{
    Gsl *g = run;
    if (g->step) gsl_odeiv2_step_free(g->step);
    memory_free(g->y);
    memory_free(g->error);
    memory_free(g);
}

static void *gsl_open(const char *method, const PeerProblem *p)
{
    const gsl_odeiv2_step_type *type = gsl_type(method);
    Gsl *g = type ? memory_new(1, sizeof *g) : NULL;
    if (!g) return NULL;
    g->problem = p;
    g->system = (gsl_odeiv2_system){gsl_field, NULL, p->N, (void *)(size_t)p};
    g->step = gsl_odeiv2_step_alloc(type, p->N);
    g->y = memory_new(p->N, sizeof(double));
    g->error = memory_new(p->N, sizeof(double));
    if (!g->step || !g->y || !g->error) {
        gsl_close(g);
        return NULL;
    }
    memcpy(g->y, p->initial, p->N * sizeof(double));
    return g;
}

static int gsl_steps(void *run, size_t count)
{
    Gsl *g = run;
    for (; count; count--, g->t += g->problem->h)
        if (gsl_odeiv2_step_apply(g->step, g->t, g->problem->h, g->y, g->error, NULL, NULL,
                                  &g->system) != GSL_SUCCESS)
            return error_set(ERR_NUMERIC, "GSL's stepper failed");
    return 0;
}

const Peer bench_gsl = {"gsl", gsl_open, gsl_steps, gsl_close, NULL};

/* ---- the field alone ----------------------------------------------------------------------------- */

typedef struct {
    const PeerProblem *problem;
    double *dy; /* (N) */
} Alone;

static void alone_close(void *run)
{
    memory_free(((Alone *)run)->dy);
    memory_free(run);
}

static void *alone_open(const char *method, const PeerProblem *p)
{
    Alone *a = memory_new(1, sizeof *a);
    (void)method;
    if (!a) return NULL;
    a->problem = p;
    a->dy = memory_new(p->N, sizeof(double));
    if (a->dy) return a;
    alone_close(a);
    return NULL;
}

static int alone_steps(void *run, size_t count)
{
    const Alone *a = run;
    const PeerProblem *p = a->problem;
    for (; count; count--) p->field(0, p->initial, a->dy, p->arg);
    return 0;
}

const Peer bench_field = {"field", alone_open, alone_steps, alone_close, NULL};
