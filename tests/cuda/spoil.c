/* spoil.c: mistakes that a rank could make, for the stand-in's program alone, whose calls of share_batch come
 * here (ld --wrap). TROTTER_SPOIL=rows: the last rank takes the rows of the first. TROTTER_SPOIL=places: it
 * draws the masks of the batch's first rows. */
#include <stdlib.h>
#include <string.h>

/* Declared as in nn/nn.h. */
void __real_share_batch(const void *x, int rank, int size, void *out, size_t *first);
void __wrap_share_batch(const void *x, int rank, int size, void *out, size_t *first);

void __wrap_share_batch(const void *x, int rank, int size, void *out, size_t *first)
{
    const char *what = getenv("TROTTER_SPOIL");
    int spoils = what && rank == size - 1;
    __real_share_batch(x, spoils && strcmp(what, "rows") == 0 ? 0 : rank, size, out, first);
    if (spoils && strcmp(what, "places") == 0) *first = 0;
}
