/* place.c: tells of typed schemes what `schemes`, `expand`, `stability` and `order` tell, by the same functions. */
#include "studies/page/serve/serve.h"

#include "kernels/base/error.h"
#include "studies/page/told/told.h"
#include "studies/solve/convergence.h"

int place_check(const Request *r, FILE *f)
{
    SCOPED(select_close) Selection s = {0};
    TRY(told_read(r->text, TOLD_STAGES, &s));
    return told_schemes(&s, f);
}

int place_region(const Request *r, FILE *f)
{
    SCOPED(select_close) Selection s = {0};
    TRY(told_read(r->text, TOLD_STAGES, &s));
    return told_region(&s, PLANE_LAMBDA, f);
}

int place_order(const Request *r, FILE *f)
{
    SCOPED(select_close) Selection s = {0};
    SCOPED(convergence_free) ConvergenceStudy u = {0};
    TRY(told_read(r->text, TOLD_STAGES, &s));
    TRY(convergence_run(&(SystemChoice){.seed = 1}, &(OrderOptions){.halvings = 7}, &s, &u));
    TRY(sheet_write(u.points, SHEET_CSV, f));
    fputc('\n', f);
    return sheet_write(u.summary, SHEET_CSV, f);
}
