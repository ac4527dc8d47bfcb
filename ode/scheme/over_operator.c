/* over_operator.c: writes the text of a scheme over another operator.
 *
 * A scheme over H is written once and can be taken over L, or over one sublayer alone: the ODE Transformer's
 * ablation of the function F(., .) of its block (Li et al. 2022, section 5.2, figure 4: SAN, FFN, or both). A layer
 * keeps both sublayers; the one that the scheme is not over takes its own Euler sub-step, attention before,
 * feed-forward behind, as in the Transformer layer:
 *
 *   over F   y* = the scheme over F,       y' = y* + G(y*)
 *   over G   y* = y + F(y),                y' = the scheme over G from y*
 *
 * A decoder layer has cross-attention C behind each attention F (Vaswani et al. 2017, section 3.1), so a scheme
 * becomes a decoder's by A(x) = F(x) + C(x + F(x)) in the place of every F, and a flow of F by that of F and then
 * that of C over the same time.
 *
 * An estimate of the error (error = ...) keeps the same slopes: over one sublayer it estimates that sublayer's
 * part.
 *
 * It is printed with other operators, states and slopes, so that the result is again a scheme in the language. */
#include "kernels/base/error.h"
#include "ode/scheme/print.h"
#include "ode/scheme/scheme.h"

/* Returns the operator of all stages, norms aside; -1: there is no one. */
static int only_operator(const Table *t)
{
    int op = t->stages > 0 ? t->stage[0].op : -1;
    for (size_t i = 1; i < t->stages; i++)
        if (t->stage[i].op != op && eval_point(t, t->stage[i].eval)->phi != PHI_NORM) return -1;
    return op;
}

static int check(const Table *t, int op, const char *name)
{
    int from = only_operator(t);
    if (table_phi(t))
        return error_set(
            ERR_INPUT, "'%s': %s has no form over other operators; write its text with them", name,
            table_exponential(t) ? "an exponential scheme" : "a Rosenbrock method");
    if (op == OP_A && t->colours == 2) return 0;
    if (op == OP_A)
        return error_set(ERR_INPUT, "'%s': '%s' is a decoder's scheme already", name, t->name);
    if (op == OP_L && from != OP_H)
        return error_set(ERR_INPUT, "'%s': only a scheme over H has a form over L; '%s' is none",
                         name, t->name);
    if (from != OP_H && from != OP_L)
        return error_set(ERR_INPUT,
                         "'%s': only a scheme all of whose stages are H, or all L, has a form over "
                         "one sublayer; '%s' is none",
                         name, t->name);
    if (op != OP_L)
        TRY(table_refuse_carries(t, "over one sublayer a scheme reads y and slopes alone"));
    if (op != OP_L && (t->past_y > 0 || t->dense))
        return error_set(ERR_INPUT,
                         "'%s': a scheme that reads past states steps both operators or none; '%s' "
                         "does",
                         name, t->name);
    return 0;
}

/* Over G, k1 = F(y) comes before all stages, and they begin at y + k1. */
static size_t behind_F(const Pen *pen, size_t stage, int past)
{
    (void)pen, (void)past;
    return stage + 2;
}

int scheme_over(const Table *written, int op, const char *name, FILE *f)
{
    static const char *const behind[] = {[OP_F] = ", over F, then G by Euler",
                                         [OP_G] = ", over G, after F by Euler",
                                         [OP_L] = ", over L",
                                         [OP_A] = ", with cross-attention behind attention"};
    const Table *t = table_unfiltered(written);
    TRY(check(t, op, name));
    Pen pen = print_pen(t, f);
    pen.to = op;
    print_header(&pen, behind[op]);
    if (t->flows) {
        print_flows(&pen);
        return 0;
    }
    pen.from = op == OP_A ? OP_F : only_operator(t);
    if (op == OP_G) {
        pen.state = "(y + k1)";
        pen.number = behind_F;
        fputs("k1 = F(y)\n", f);
    }
    print_stages(&pen);
    print_update(&pen, op == OP_F ? t->stages + 1 : 0);
    return 0;
}
