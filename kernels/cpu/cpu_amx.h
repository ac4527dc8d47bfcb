/* cpu_amx.h: the inside of the bf16 product on processors with AMX: tiles of 16 x 16 sums in special
 * registers, 16 x 16 x 32 products an instruction. Part of cpu_bf16.h, which packs and cuts.
 *
 * Four tiles of C at a time take two of A (16 rows of 16 words) and two of B (16 word rows of 16
 * columns): each is loaded once for two instructions. Tiles read whole multiples of 16 words, so
 * packing fills up with zeros; missing rows of A hold any numbers, and give rows of C that are not
 * read. Source: Intel, "Architecture instruction set extensions programming reference", chapter "Intel
 * AMX instruction set reference" (TDPBF16PS).
 */
#ifndef TROTTER_CPU_AMX_H
#define TROTTER_CPU_AMX_H

enum { TILE_ROWS = 16, ROWS = 2 * TILE_ROWS, MC = 5 * ROWS };
enum { STRIDE = WORDS + LANES }; /* not a multiple of the cache's sets */

/* Sets every tile to 16 rows of 64 bytes, in this thread. */
static inline void tiles_begin(void)
{
    struct {
        uint8_t palette, start, zero[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (int t = 0; t < 8; t++) config.bytes[t] = 64, config.rows[t] = TILE_ROWS;
    _tile_loadconfig(&config);
}

static inline void tiles_end(void)
{
    _tile_release();
}

/* Packs the transpose (m, k) of a block of A stored (k, m), words along rows. */
static void pack_turned(size_t m, size_t k, const float *A, size_t ld, Word *out)
{
    for (size_t i = 0; i < m; i += LANES)
        for (size_t p = 0; p < k; p += 2 * LANES) {
            Lane r[LANES];
            for (size_t q = 0; q < LANES; q++) {
                size_t at = p + 2 * q;
                r[q] = at < k ? (Lane)words_across(A + at * ld + i, ld, k - at, least(LANES, m - i))
                              : (Lane){0};
            }
            transpose(r);
            for (size_t q = 0; q < LANES; q++)
                *(Words *)(out + (i + q) * STRIDE + p / 2) = (Words)r[q];
        }
}

/* Computes s (ROWS, COLS) = A B over `words` words: a rows of STRIDE words, b word rows of COLS. */
static inline void tile_sums(int turned, size_t words, const Word *a, const Word *b,
                             Sums s[ROWS][VECTORS])
{
    (void)turned;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t p = 0; p < words; p += LANES) {
        _tile_loadd(4, a + p, STRIDE * sizeof *a);
        _tile_loadd(5, a + TILE_ROWS * STRIDE + p, STRIDE * sizeof *a);
        _tile_loadd(6, b + p * COLS, COLS * sizeof *b);
        _tile_loadd(7, b + p * COLS + LANES, COLS * sizeof *b);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, &s[0][0], sizeof s[0]);
    _tile_stored(1, &s[0][1], sizeof s[0]);
    _tile_stored(2, &s[TILE_ROWS][0], sizeof s[0]);
    _tile_stored(3, &s[TILE_ROWS][1], sizeof s[0]);
}

#endif
