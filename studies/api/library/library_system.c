/* library_system.c: implements the particle systems of trotter.h, and measuring on them. */
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <string.h>

#include "studies/api/library/library.h"
#include "studies/solve/convergence.h"
#include "studies/base/output.h"

/* A system made of the user's functions. */
typedef struct {
    TrotterField *field[2], *jacobian[2]; /* of F and G; NULL: there is none */
    void *arg;
} Own;

static void alone(void)
{
    omp_set_num_threads(1);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, alone);
}

void library_parallel(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
}

/* Makes *out empty. */
static int begin(TrotterSystem **out)
{
    library_parallel();
    *out = memory_new(1, sizeof **out);
    if (*out && ((*out)->lock = library_lock_new())) return 0;
    memory_free(*out);
    *out = NULL;
    return ERR_MEMORY;
}

/* Returns `code`; after an error *out is NULL. */
static int end(int code, TrotterSystem **out)
{
    if (code == 0) return 0;
    trotter_system_free(*out);
    *out = NULL;
    return code;
}

int trotter_system_find(const char *name, size_t particles, size_t dimension, uint64_t seed,
                        TrotterSystem **out)
{
    GIVEN(out);
    *out = NULL;
    GIVEN(name);
    TRY(begin(out));
    int threads =
        omp_get_max_threads(); /* network:DIR asks for one, and the caller's stay what they are */
    const SystemChoice choice = {name, NULL, particles, dimension, seed};
    int code = choose_system(&choice, &(*out)->network, &(*out)->system);
    omp_set_num_threads(threads);
    return end(code, out);
}

int trotter_system_parse(const char *text, size_t particles, size_t dimension, uint64_t seed,
                         TrotterSystem **out)
{
    GIVEN(out);
    *out = NULL;
    GIVEN(text);
    TRY(begin(out));
    return end(
        system_parse("text", text, strlen(text), particles, dimension, seed, &(*out)->system), out);
}

int trotter_system_names(char **names)
{
    Output o;
    GIVEN(names);
    *names = NULL;
    TRY(output_open(&o));
    for (size_t i = 0; system_name(i); i++) fprintf(o.f, "%s\n", system_name(i));
    return output_take(&o, 0, names);
}

/* ---- the user's system --------------------------------------------------------------------------- */

/* Calls the user's function. Where it fails, the values become NaN. */
static void evaluate(const System *s, int op, double t, const double *y, double *dy)
{
    const Own *own = s->context;
    int absent = !own->field[op];
    if (!absent && own->field[op](own->arg, t, y, dy) == 0) return;
    for (size_t i = 0; i < s->n * s->d; i++) dy[i] = absent ? 0 : NAN;
}

static void evaluate_F(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set;
    evaluate(s, OP_F, t, y, dy);
}

static void evaluate_G(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set;
    evaluate(s, OP_G, t, y, dy);
}

static void derive(const System *s, int op, int set, double t, const double *y, double *J)
{
    const Own *own = s->context;
    size_t N = s->n * s->d;
    TrotterField *jacobian = op <= OP_G ? own->jacobian[op] : NULL;
    (void)set;
    if (jacobian && jacobian(own->arg, t, y, J) == 0) return;
    for (size_t i = 0; i < N * N; i++) J[i] = jacobian ? NAN : 0;
}

int trotter_system_jacobian(TrotterSystem *s, TrotterField *F, TrotterField *G)
{
    GIVEN(s);
    LOCKED(s);
    if (s->system->field[OP_F] != evaluate_F)
        return error_set(ERR_MISUSE,
                         "only a system of one's own functions takes their derivatives");
    Own *own = s->system->context;
    if ((F || G) && ((own->field[OP_F] && !F) || (own->field[OP_G] && !G)))
        return error_set(ERR_MISUSE, "of two functions both derivatives are needed, or none");
    own->jacobian[OP_F] = F;
    own->jacobian[OP_G] = G;
    s->system->jacobian = F || G ? derive : NULL;
    return 0;
}

enum { MOST = 1 << 24 };

static int make(size_t n, size_t d, const double *initial, const Own *own, System *s)
{
    *s = (System){.name = "own",
                  .title = "a system of one's own",
                  .source = "",
                  .n = n,
                  .d = d,
                  .field = {evaluate_F, evaluate_G},
                  .t_end = 1,
                  .h0 = 0.25,
                  .timed = 1,
                  .absent = !own->field[OP_F] << OP_F | !own->field[OP_G] << OP_G,
                  .initial = memory_new(n, d * sizeof *s->initial),
                  .context = memory_new(1, sizeof *own)};
    if (!s->initial || !s->context) return ERR_MEMORY;
    memcpy(s->initial, initial, n * d * sizeof *initial);
    memcpy(s->context, own, sizeof *own);
    return 0;
}

int trotter_system_make(size_t n, size_t d, const double *initial, TrotterField *F, TrotterField *G,
                        void *arg, TrotterSystem **out)
{
    GIVEN(out);
    *out = NULL;
    if (n == 0 || d == 0 || n > MOST / d || !initial || (!F && !G))
        return error_set(ERR_MISUSE, "a system of one's own needs 1 to %d numbers, and F or G",
                         MOST);
    TRY(begin(out));
    System *s = (*out)->system = memory_new(1, sizeof *s);
    return end(s ? make(n, d, initial, &(Own){.field = {F, G}, .arg = arg}, s) : ERR_MEMORY, out);
}

void trotter_system_free(TrotterSystem *s)
{
    if (!s) return;
    system_free(s->system);
    network_free(&s->network);
    memory_free(s->lock);
    memory_free(s);
}

size_t trotter_system_particles(const TrotterSystem *s)
{
    return s ? s->system->n : 0;
}

size_t trotter_system_dimension(const TrotterSystem *s)
{
    return s ? s->system->d : 0;
}

const double *trotter_system_initial(const TrotterSystem *s)
{
    return s ? s->system->initial : NULL;
}

double trotter_system_end(const TrotterSystem *s)
{
    return s ? s->system->t_end : 0;
}

/* ---- measured order ------------------------------------------------------------------------------ */

int trotter_measure(const TrotterScheme *s, const TrotterSystem *on, double t_end, double h,
                    int halvings, TrotterOrder *out)
{
    Theory theory;
    int expected;
    SCOPED(order_free) OrderStudy u = {0};
    const OrderOptions o = {.t_end = t_end, .h0 = h, .halvings = halvings};
    GIVEN(out);
    *out = (TrotterOrder){.slope = NAN, .low = NAN, .high = NAN, .constant = NAN};
    GIVEN(s, on);
    LOCKED(on);
    if (halvings < 4 || halvings > 30)
        return error_set(ERR_MISUSE, "%d halvings: expected 4 to 30", halvings);
    TRY(theory_search(s->frozen, CONVERGENCE_TREES, &theory));
    TRY(order_expected(s->frozen, on->system, &theory, &expected));
    TRY(order_measure(s->table, on->system, &o, expected, theory.zero_stable, &u));
    *out = (TrotterOrder){.slope = u.slope,
                          .low = u.low,
                          .high = u.high,
                          .constant = u.constant,
                          .expected = expected,
                          .verdict = verdict_name(u.verdict),
                          .point = memory_new(u.points, sizeof *out->point)};
    if (!out->point) return ERR_MEMORY;
    for (; out->count < u.points; out->count++) {
        const OrderPoint *p = &u.point[out->count];
        out->point[out->count] = (TrotterPoint){p->h, p->error, p->steps, p->evals};
    }
    return 0;
}
