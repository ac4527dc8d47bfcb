/* bench_products.c: notes the matrix products of a training step as it asks for them, and repeats
 * them alone: the floor that no step can go below.
 *
 * A backend is a table, so a copy of it with another gemm and linear sees every product that a model asks for,
 * on the same buffers of the model; nothing here knows what a model is.
 */
#include "studies/bench/bench.h"

#include "kernels/base/error.h"

typedef struct {
    int ta, tb;
    size_t m, n, k;
    double alpha, beta;
    const void *A, *B;
    void *C;
    size_t lda, ldb, ldc;
} Product;

static struct {
    Backend noting;
    const Backend *inner;
    Product *list;
    size_t count, room;
    int on, code;
} products;

static int append(const Product *p)
{
    if (products.count == products.room) {
        size_t room = products.room ? 2 * products.room : 64;
        Product *grown = memory_grow(products.list, products.room, room, sizeof *grown);
        if (!grown) return ERR_MEMORY;
        products.list = grown;
        products.room = room;
    }
    products.list[products.count++] = *p;
    return 0;
}

static void note(const Product *p)
{
    if (products.on && products.code == 0) products.code = append(p);
}

static void noting_gemm(int ta, int tb, size_t m, size_t n, size_t k, double alpha, const void *A,
                        size_t lda, const void *B, size_t ldb, double beta, void *C, size_t ldc)
{
    note(&(Product){ta, tb, m, n, k, alpha, beta, A, B, C, lda, ldb, ldc});
    products.inner->gemm(ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

static void noting_linear(size_t m, size_t n, size_t k, const void *A, const void *W, const void *b,
                          void *C)
{
    note(&(Product){0, 1, m, n, k, 1, 0, A, W, C, k, k, n});
    products.inner->linear(m, n, k, A, W, b, C);
}

const Backend *products_of(const Backend *b)
{
    products.noting = *b;
    products.noting.gemm = noting_gemm;
    products.noting.linear = noting_linear;
    products.inner = b;
    return &products.noting;
}

void products_begin(void)
{
    products.count = 0;
    products.code = 0;
    products.on = 1;
}

int products_end(void)
{
    products.on = 0;
    return products.code;
}

void products_recorded(int on)
{
    products.noting.device = on && products.inner->device;
}

void products_again(void)
{
    for (const Product *p = products.list; p < products.list + products.count; p++)
        products.inner->gemm(p->ta, p->tb, p->m, p->n, p->k, p->alpha, p->A, p->lda, p->B, p->ldb,
                             p->beta, p->C, p->ldc);
}

double products_flops(void)
{
    double sum = 0;
    for (const Product *p = products.list; p < products.list + products.count; p++)
        sum += 2 * (double)p->m * (double)p->n * (double)p->k;
    return sum;
}

void products_free(void)
{
    products.list = memory_free(products.list);
    products.count = products.room = 0;
}
