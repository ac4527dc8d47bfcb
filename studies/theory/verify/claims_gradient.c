/* claims_gradient.c: compares the gradient formulas of the ODE Transformer with the engine's backward pass, and
 * tests whether the gradient of a chain of RK2 blocks vanishes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/theory/verify/claims.h"

enum { N = NET_N, TOKENS = NET_TOKENS, WIDTH = NET_WIDTH, DEPTH_MAX = 16 };

static size_t embedding(const Net *n)
{
    return model_find(n->model, "embed.weight")->offset;
}

/* Sets r0 = y through the embedding rows of tokens 0 .. TOKENS-1, and finds dE/dr0 by the engine's backward pass:
 * r0 = sqrt(D) E, each row read once. */
static int gradient_at(const Net *n, const double *y, double *dy)
{
    NetText text;
    double E[N], mean;
    net_text(3, &text);
    for (int i = 0; i < N; i++) E[i] = y[i] / sqrt(WIDTH);
    n->f64->put(backend_at(n->f64, model_data(n->model), embedding(n)), E, N);
    TRY(model_gradient(n->model, &text.batch, 1, &mean));
    n->f64->get(dy, backend_at(n->f64, model_grad(n->model), embedding(n)), N);
    for (int i = 0; i < N; i++) dy[i] /= sqrt(WIDTH);
    return 0;
}

/* Builds the network's head alone: the same final norm and output layer behind r0. */
static int net_head(const Net *like, Net *head)
{
    const Param *p;
    Plan *plan = plan_new(1);
    if (!plan) return ERR_MEMORY;
    TRY(net_open(plan, head));
    size_t count = model_params(head->model, &p);
    for (size_t i = 0; i < count; i++)
        like->f64->copy(backend_at(like->f64, model_data(head->model), p[i].offset),
                        backend_at(like->f64, model_data(like->model),
                                   model_find(like->model, p[i].name)->offset),
                        p[i].size);
    return 0;
}

/* Finds dE/dy_0 (bottom) and dE/dy_L (top) of a network that starts at y. */
static int both_gradients(const Net *n, const double *y, double *bottom, double *top)
{
    SCOPED(net_close) Net head = {0};
    double end[N];
    TRY(model_run_plan(n->model, TOKENS, y, end));
    TRY(gradient_at(n, y, bottom));
    TRY(net_head(n, &head));
    return gradient_at(&head, end, top);
}

/* Computes J (N, N) of the block function at y by central differences of two widths, extrapolated: O(e^4), some
 * 1e-11 of truncation and 1e-12 of rounding. */
static void jacobian(const Net *n, const double *y, double (*J)[N])
{
    double at[N], up[N], down[N], e[2] = {1e-3, 5e-4};
    for (int j = 0; j < N; j++)
        for (int w = 0; w < 2; w++) {
            memcpy(at, y, sizeof at);
            at[j] = y[j] + e[w];
            net_block(n, at, up);
            at[j] = y[j] - e[w];
            net_block(n, at, down);
            for (int i = 0; i < N; i++) {
                double d = (up[i] - down[i]) / (2 * e[w]);
                J[i][j] = w ? (4 * d - J[i][j]) / 3 : d;
            }
        }
}

/* v <- v (1 + J), v a row. */
static void times_one_plus(double *v, double (*J)[N])
{
    double out[N];
    memcpy(out, v, sizeof out);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) out[j] += v[i] * J[i][j];
    memcpy(v, out, sizeof out);
}

/* v <- v dy_{k+1}/dy_k of a block at y: half (29), unit (24); z first as in (29), else as in (22). */
static void chain(const Net *n, const char *formula, const double *y, double *v)
{
    static _Thread_local double J[2][N][N];
    double z[N], Pv[N];
    int z_first = strstr(formula, "zy") != NULL, half = strncmp(formula, "half", 4) == 0;
    net_layer(n, y, z);
    jacobian(n, y, J[0]);
    jacobian(n, z, J[1]);
    memcpy(Pv, v, sizeof Pv);
    times_one_plus(Pv, J[z_first]);
    times_one_plus(Pv, J[!z_first]);
    for (int i = 0; i < N; i++) v[i] = half ? (v[i] + Pv[i]) / 2 : Pv[i];
}

/* Replaces v = dE/dy_L by dE/dy_0 from the formula. The states follow the scheme, read as RK2 or unit. */
static void formula_gradient(const Net *n, const char *formula, int layers, const double *y0,
                             double *v)
{
    double y[DEPTH_MAX][N];
    memcpy(y[0], y0, sizeof y[0]);
    double weight = strncmp(formula, "half", 4) == 0 ? 0.5 : 1;
    for (int k = 0; k + 1 < layers; k++) {
        bridge_layer(n->system, k);
        net_two_stages(n, net_block, weight, weight, y[k], y[k + 1]);
    }
    for (int k = layers - 1; k >= 0; k--) {
        bridge_layer(n->system, k);
        chain(n, formula, y[k], v);
    }
}

static double norm(const double *v)
{
    double sum = 0;
    for (int i = 0; i < N; i++) sum += v[i] * v[i];
    return sqrt(sum);
}

/* Computes the relative distance of a formula from the backward pass. */
static int formula_distance(const Net *n, const char *formula, int layers, double *distance)
{
    double y[N], bottom[N], v[N];
    net_start(y);
    TRY(both_gradients(n, y, bottom, v));
    formula_gradient(n, formula, layers, y, v);
    net_add(v, -1, bottom, v);
    *distance = norm(v) / norm(bottom);
    return bridge_system_failed(n->system);
}

int check_gradient(const Zoo *z, const char *const *arg, Finding *f)
{
    const double tolerance = 1e-8; /* differences good to 1e-11, some 10 factors of size 2 */
    TABLE(t);
    SCOPED(net_close) Net n = {0};
    int layers = atoi(arg[2]);
    double stated = NAN, other = NAN;
    /* Without a condition the control is the other formula, with the factors exchanged. */
    const char *second = arg[3] ? arg[3] : strncmp(arg[1], "half", 4) == 0 ? "half yz" : "unit yz";
    TRY(map_table(z, arg[0], &t));
    TRY(net_scheme(t, (size_t)layers, &n));
    TRY(net_perturb(&n));
    TRY(formula_distance(&n, arg[1], layers, &stated));
    TRY(formula_distance(&n, second, layers, &other));
    f->holds = stated <= tolerance;
    f->conditional = arg[3] && other <= tolerance;
    /* Each error is rounding or larger than that of a plain difference; both formulas cannot be right. */
    f->sound = f->sound && (stated <= tolerance || stated > 1e-4) &&
               (other <= tolerance || other > 1e-4) && !(f->holds && other <= tolerance);
    finding_say(
        f,
        "%d block%s, formula with Jacobians by differences against the backward pass: off by %.1e "
        "of the gradient%s, by %.1e %s",
        layers, layers > 1 ? "s" : "", stated, arg[3] ? " as printed" : "", other,
        arg[3] ? "under the condition" : "with the two factors exchanged (control)");
    return 0;
}

/* ---- does the gradient vanish? ------------------------------------------------------------------------------ */

/* *factor = (|dE/dy_0| / |dE/dy_L|)^(1/L) with the sublayers as initialised, times `size`. */
static int factor_a_block(const Zoo *z, const char *scheme, size_t layers, double size,
                          double *factor)
{
    TABLE(t);
    SCOPED(net_close) Net n = {0};
    double y[N], bottom[N], top[N];
    TRY(map_table(z, scheme, &t));
    TRY(net_scheme(t, layers, &n));
    net_start(y);
    TRY(net_shrink(&n, size));
    TRY(both_gradients(&n, y, bottom, top));
    *factor = pow(norm(bottom) / norm(top), 1 / (double)layers);
    return 0;
}

/* Is a factor within 2^(1/4) of the stated one? */
static int is_factor(double factor, double stated)
{
    return fabs(log2(factor / stated)) <= 0.25;
}

/* Tests whether the gradient vanishes. With small sublayers (F' -> 0) the block's weights
 * alone determine the factor. */
int check_vanish(const Zoo *z, const char *const *arg, Finding *f)
{
    const double small = 1e-3;
    double factor[2], as_is, unit, control;
    RATIONAL(q);
    TRY(terms_number(arg[1], q));
    double stated = mpq_get_d(q);
    TRY(factor_a_block(z, arg[0], 4, small, &factor[0]));
    TRY(factor_a_block(z, arg[0], DEPTH_MAX, small, &factor[1]));
    TRY(factor_a_block(z, arg[0], DEPTH_MAX, 1, &as_is));
    TRY(factor_a_block(z, "rk2-unit", DEPTH_MAX, 1, &unit));
    TRY(factor_a_block(z, arg[2], 4, small, &control));
    f->holds = is_factor(factor[0], stated) && is_factor(factor[1], stated);
    f->sound = f->sound && is_factor(control, 0.5) && isfinite(as_is);
    finding_say(f,
                "|dE/dy_t| / |dE/dy_L|, its factor a block, by the backward pass: sublayers of "
                "size 1/1000, %.4f (4 blocks), %.4f (16); as initialised, %.3f (16), with gamma_i "
                "= 1 %.3f; control, the same product of g without its 1: %.4f",
                factor[0], factor[1], as_is, unit, control);
    finding_say(f, "; exactly, 1/2 (1 + g) = 1 + (F'(y) + F'(z) + F'(z)F'(y))/2: the 1/2 cancels");
    return 0;
}
