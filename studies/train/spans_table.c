/* spans_table.c: writes learnt spans as a table and in words. */
#include "studies/train/train.h"

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/tools/progress.h"

/* Reads the spans: z (A, H); *count = A H. Caller: memory_free. */
static int read_spans(const Model *m, double **z, size_t *count)
{
    const Plan *p = model_plan(m);
    *count = 0;
    for (size_t i = 0; i < p->slots; i++)
        if (p->slot[i].kind == SLOT_ATTENTION) *count += model_config(m)->heads;
    *z = memory_new(*count, sizeof **z);
    if (!*z) return ERR_MEMORY;
    model_spans(m, *z, NULL);
    return 0;
}

static void tell(const Model *m, const double *z, size_t count)
{
    const ModelConfig *c = model_config(m);
    double most = 0, sum = 0;
    for (size_t i = 0; i < count; i++) most = z[i] > most ? z[i] : most, sum += z[i];
    progress_note("spans in tokens, of %zu at most and a ramp of %zu behind each: mean %.1f, "
                  "longest %.1f",
                  c->span, c->ramp, count ? sum / (double)count : 0, most);
}

int spans_tell(const Model *m)
{
    double *z;
    size_t count;
    if (model_config(m)->span == 0) return 0;
    TRY(read_spans(m, &z, &count));
    tell(m, z, count);
    memory_free(z);
    return 0;
}

typedef struct {
    size_t layer, set, head;
    double span;
} SpanRow;

const Column span_columns[] = {
    COLUMN(SpanRow, layer),
    COLUMN(SpanRow, set, .words = "parameter set of the attention sublayer"),
    COLUMN(SpanRow, head, .words = "number of the attention head, from 0"),
    COLUMN(SpanRow, span, .form = SHEET_FIXED, .digits = 2,
           .words = "tokens back that the head sees in full"),
    {0}};

static void add_rows(Sheet *t, const Model *m, const double *z)
{
    const Plan *p = model_plan(m);
    for (size_t i = 0; i < p->slots; i++)
        for (size_t h = 0; p->slot[i].kind == SLOT_ATTENTION && h < model_config(m)->heads; h++) {
            sheet_row(t, &(SpanRow){(size_t)p->slot[i].layer, (size_t)p->slot[i].set, h, *z++});
        }
}

int spans_write(const Model *m, const char *dir)
{
    Sheet *t;
    double *z;
    size_t count;
    TRY(sheet_new(span_columns, &t));
    int code = read_spans(m, &z, &count);
    if (code == 0) {
        add_rows(t, m, z);
        code = output_sheet(t, SHEET_CSV, dir, "spans.csv");
        tell(m, z, count);
    }
    memory_free(z);
    sheet_free(t);
    return code;
}
