/* rouge.c: computes ROUGE of a line. */
#include "studies/metrics/metric.h"

#include "kernels/error.h"
#include "kernels/memory.h"

/* Finds the length of the longest common subsequence: row[j] is that of the words of a so far and the first j of b.
 * Source: Wagner and Fischer 1974. ERR_MEMORY. */
static int common(const Symbols *a, const Symbols *b, size_t *length)
{
    size_t *row = memory_new(b->n + 1, sizeof *row);
    if (!row) return ERR_MEMORY;
    for (size_t i = 0; i < a->n; i++)
        for (size_t j = 1, diagonal = 0; j <= b->n; j++) {
            size_t above = row[j];
            if (a->x[i] == b->x[j - 1])
                row[j] = diagonal + 1;
            else if (row[j - 1] > above)
                row[j] = row[j - 1];
            diagonal = above;
        }
    *length = row[b->n];
    memory_free(row);
    return 0;
}

int rouge_line(size_t order, const Symbols *a, const Symbols *b, size_t references, double *out)
{
    double best = -1;
    for (size_t r = 0; r < references; r++) {
        size_t matches, of_a = grams_count(a, order ? order : 1),
                        of_b = grams_count(&b[r], order ? order : 1);
        if (order)
            TRY(grams_match(order, a, &b[r], 1, &matches));
        else
            TRY(common(a, &b[r], &matches));
        double P = of_a ? (double)matches / (double)of_a : 0;
        double R = of_b ? (double)matches / (double)of_b : 0;
        double F = matches ? 2 * P * R / (P + R) : 0;
        if (F <= best) continue;
        best = F;
        out[ROUGE_PRECISION] = P;
        out[ROUGE_RECALL] = R;
        out[ROUGE_F] = F;
    }
    out[ROUGE_LINES] = 1;
    return 0;
}

double rouge_mean(const double *sums, int statistic)
{
    return 100 * sums[statistic] / sums[ROUGE_LINES];
}
