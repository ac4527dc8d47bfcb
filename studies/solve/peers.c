/* peers.c: runs GSL's and Boost's steppers on a system's field, by tolerance too. Source: Galassi et al., "GNU
 * Scientific Library", chapter "Ordinary differential equations"; Ahnert, Mulansky 2011 (Boost.odeint). */
#include "studies/solve/peers.h"

#include <dlfcn.h>
#include <float.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_odeiv2.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/quiet.h"
#include "studies/base/command.h"

typedef struct {
    const System *system;
    double *scratch; /* (N) */
    size_t calls;    /* of the field */
} PeerField;

/* Computes F + G, plus C for a decoder's field: in one call where the system has one, as Trotter's stepper does; else
 * by parts and a sum. */
static void peers_field(double t, const double *y, double *dy, void *field)
{
    PeerField *f = field;
    const System *s = f->system;
    f->calls++;
    if (s->both && !s->decoder) {
        s->both(s, 1, t, y, 0, s->n, dy);
        return;
    }
    system_sum(s, system_ops(s), 1, t, y, dy, f->scratch);
}

/* The library stays loaded until the program ends. */
const PeerLibrary *peers_library(int which)
{
    static const char *const name[] = {[PEERS_BOOST] = "boost_ode", [PEERS_ARKODE] = "arkode"};
    char file[OUTPUT_PATH];
    const char *program = command_program(), *slash = strrchr(program, '/');
    snprintf(file, sizeof file, "%.*s/peers/%s.so", slash ? (int)(slash - program) : 0, program,
             name[which]);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    const PeerLibrary *found = library ? dlsym(library, PEER_SYMBOL) : NULL;
    if (!library) error_set(ERR_INPUT, "%s", dlerror());
    if (library && (!found || found->version != PEER_VERSION))
        error_set(ERR_INPUT, "%s is of another version; run `make peers`", file);
    return found && found->version == PEER_VERSION ? found : NULL;
}

static const PeerPair pairs[] = {
    {"gsl:rkf45", "rkf45", PEERS_GSL, 5, 4, 0, 6},
    {"gsl:rkck", "rkck", PEERS_GSL, 5, 4, 0, 6},
    {"gsl:rk8pd", "rk8pd", PEERS_GSL, 8, 7, 0, 13},
    {"gsl:msbdf", "msbdf", PEERS_GSL, -1, -1, 1, 0},
    {"gsl:bsimp", "bsimp", PEERS_GSL, -1, -1, 1, 0},
    {"boost:cash-karp", "cash-karp", PEERS_BOOST, 5, 4, 0, 6},
    {"boost:dopri5", "dopri5", PEERS_BOOST, 5, 4, 0, 6},
    {"boost:fehlberg78", "fehlberg78", PEERS_BOOST, 8, 7, 0, 13},
    {"arkode:erk", "erk", PEERS_ARKODE, 4, 3, 0, 5},   /* Zonneveld 1963 */
    {"arkode:dirk", "dirk", PEERS_ARKODE, 4, 3, 1, 0}, /* Hairer, Wanner 1996, SDIRK of 5 stages */
    {"cvode:bdf", "bdf", PEERS_ARKODE, -1, -1, 1, 0},
};

const PeerPair *peers_pair(size_t i)
{
    return i < sizeof pairs / sizeof *pairs ? &pairs[i] : NULL;
}

/* ---- GSL ------------------------------------------------------------------------------------------- */

static int gsl_field(double t, const double *y, double *dy, void *problem)
{
    const PeerProblem *p = problem;
    p->field(t, y, dy, p->arg);
    for (size_t i = 0; i < p->N; i++)
        if (!isfinite(dy[i])) return GSL_FAILURE; /* its evolver tries a smaller step */
    return GSL_SUCCESS;
}

/* Computes dfdy (N, N) and dfdt (N) by central differences from 2 N + 2 values of the field, which are counted like
 * others. */
static int gsl_jacobian(double t, const double *y, double *dfdy, double *dfdt, void *problem)
{
    const PeerProblem *p = problem;
    size_t N = p->N;
    double *at = memory_new(3 * N, sizeof *at), *plus = at + N, *minus = plus + N;
    if (!at) return GSL_ENOMEM;
    memcpy(at, y, N * sizeof *at);
    for (size_t k = 0; k <= N; k++) {
        double x = k < N ? y[k] : t, step = cbrt(DBL_EPSILON) * fmax(fabs(x), 1);
        double *to = k < N ? dfdy + k : dfdt;
        if (k < N) at[k] = x + step;
        p->field(k < N ? t : t + step, at, plus, p->arg);
        if (k < N) at[k] = x - step;
        p->field(k < N ? t : t - step, at, minus, p->arg);
        if (k < N) at[k] = x;
        for (size_t i = 0; i < N; i++) to[i * (k < N ? N : 1)] = (plus[i] - minus[i]) / (2 * step);
    }
    memory_free(at);
    return GSL_SUCCESS;
}

static const struct {
    const char *method;
    const gsl_odeiv2_step_type *const *type;
} gsl_types[] = {{"rkf45", &gsl_odeiv2_step_rkf45},
                 {"rkck", &gsl_odeiv2_step_rkck},
                 {"rk8pd", &gsl_odeiv2_step_rk8pd},
                 {"msbdf", &gsl_odeiv2_step_msbdf},
                 {"bsimp", &gsl_odeiv2_step_bsimp}};

static const gsl_odeiv2_step_type *gsl_type(const char *method)
{
    size_t i = 0;
    while (strcmp(gsl_types[i].method, method) != 0) i++;
    return *gsl_types[i].type;
}

typedef struct {
    const char *method;
    const PeerProblem *problem;
    const PeerTolerance *tolerance;
    double *y;
    PeerRun *out;
} GslRun;

static int gsl_run(void *run)
{
    const GslRun *r = run;
    const PeerProblem *p = r->problem;
    const PeerTolerance *o = r->tolerance;
    gsl_odeiv2_system system = {gsl_field, gsl_jacobian, p->N, (void *)(size_t)p};
    gsl_odeiv2_driver *d = gsl_odeiv2_driver_alloc_y_new(&system, gsl_type(r->method), o->first,
                                                         o->absolute, o->relative);
    double t = 0;
    if (!d) return error_set(ERR_MEMORY, "out of memory in GSL");
    gsl_odeiv2_driver_set_nmax(d, o->most);
    int code = gsl_odeiv2_driver_apply(d, &t, o->t_end, r->y);
    r->out->outcome = code == GSL_SUCCESS    ? PEER_DONE
                      : code == GSL_EMAXITER ? PEER_STEPS
                                             : PEER_FAILED;
    r->out->steps = d->e->count - d->e->failed_steps; /* count: all tries */
    r->out->rejected = d->e->failed_steps;
    gsl_odeiv2_driver_free(d);
    return 0;
}

static int gsl_adapt(const char *method, const PeerProblem *p, const PeerTolerance *o, double *y,
                     PeerRun *out)
{
    *out = (PeerRun){PEER_FAILED, 0, 0};
    memcpy(y, p->initial, p->N * sizeof *y);
    return quiet_call(gsl_run, &(GslRun){method, p, o, y, out});
}

int peers_adapt(const PeerPair *pair, const System *s, const AdaptOptions *o, double *y,
                AdaptRun *out)
{
    static const int outcomes[] = {ADAPT_DONE, ADAPT_UNDERFLOW, ADAPT_STEPS};
    const PeerLibrary *library = pair->library ? peers_library(pair->library) : NULL;
    *out = (AdaptRun){0};
    if (pair->library && !library) return ERR_INPUT;
    PeerField field = {s, memory_new(s->n * s->d, sizeof(double)), 0};
    if (!field.scratch) return ERR_MEMORY;
    const PeerProblem p = {s->n * s->d, s->initial, peers_field, &field, -1};
    const PeerTolerance tolerance = {o->absolute, o->relative, o->t_end, o->first, o->most};
    PeerRun run;
    int code = (library ? library->adapt : gsl_adapt)(pair->method, &p, &tolerance, y, &run);
    memory_free(field.scratch);
    TRY(code);
    *out = (AdaptRun){.outcome = outcomes[run.outcome],
                      .t = run.outcome == PEER_DONE ? o->t_end : NAN,
                      .first = o->first,
                      .steps = run.steps,
                      .rejected = run.rejected,
                      .evals = field.calls * system_parts(s)};
    return 0;
}
