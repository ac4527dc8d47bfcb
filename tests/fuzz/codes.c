/* codes.c: merges and texts in pieces (nn/text/bpe.c): codes up to the first byte 0x1e, then a text. Accepted merges print
 * as they were learned; the pieces of a text join to the text again, except for surplus blanks between words. */
#include "nn/text/bpe.h"
#include "kernels/base/hash.h"
#include "tests/fuzz/fuzz.h"

/* Checks that merges which are printed and read again are the same; their number is that of lines. */
static void check_codes(const Bpe *b)
{
    Bpe *again;
    char *x, *y;
    size_t m, n, lines = 0;
    if (bpe_print(b, &x, &m) != 0) return;
    for (size_t i = 0; i < m; i++) lines += x[i] == '\n';
    FUZZ_CHECK(strlen(x) == m && lines == bpe_merges(b) + 1);
    FUZZ_CHECK(hash_bytes(HASH_START, x, m) == bpe_hash(b));
    int code = bpe_parse("again", x, m, &again);
    FUZZ_CHECK(code == 0 || code == ERR_MEMORY);
    if (code == 0) {
        if (bpe_print(again, &y, &n) == 0) {
            FUZZ_CHECK(m == n && memcmp(x, y, n) == 0);
            memory_free(y);
        }
        bpe_free(again);
    }
    memory_free(x);
}

/* Checks that both texts agree byte for byte, where several blanks inside a line count as one. Blanks and '\r' at its
 * end stay. */
static void check_joined(const char *text, size_t count, const char *joined, size_t bytes)
{
    size_t j = 0;
    for (size_t i = 0; i < count; i++) {
        FUZZ_CHECK(j < bytes && joined[j] == text[i]);
        j++;
        size_t next = i + 1;
        while (next < count && text[i] == ' ' && text[next] == ' ') next++;
        int begins = i == 0 || text[i - 1] == '\n',
            ends = next == count || text[next] == '\n' || text[next] == '\r';
        if (begins || ends) { /* all blanks count */
            for (i++; i < next; i++, j++) FUZZ_CHECK(j < bytes && joined[j] == text[i]);
        }
        i = next - 1;
    }
    FUZZ_CHECK(j == bytes);
}

static void check_text(const Bpe *b, const BpeText *t)
{
    char *pieces;
    size_t bytes, n = 0;
    int refused = bpe_check(t) != 0, code = bpe_apply(b, NULL, t, &pieces, &bytes);
    FUZZ_CHECK(code == 0 || code == ERR_MEMORY || (code == ERR_INPUT && refused));
    if (code != 0 || refused) { /* a tab, or a word that looks like a piece, does not join again */
        memory_free(pieces);
        return;
    }
    for (size_t i = 0; i < bytes;) {
        char *stop = memchr(pieces + i, '\n', bytes - i);
        size_t line = (size_t)((stop ? stop : pieces + bytes) - (pieces + i)),
               left = bpe_join(pieces + i, line);
        memmove(pieces + n, pieces + i, left);
        n += left;
        i += line;
        if (stop) pieces[n++] = '\n', i++;
    }
    check_joined(t->bytes, t->count, pieces, n);
    memory_free(pieces);
}

FUZZ()
{
    Bpe *b;
    FuzzPart p[2];
    fuzz_parts(data, size, p);
    if (bpe_parse("codes", (const char *)p[0].data, p[0].size, &b) == 0) {
        check_codes(b);
        check_text(b, &(BpeText){"text", (const char *)p[1].data, p[1].size});
        bpe_free(b);
    } else {
        FUZZ_CHECK(b == NULL);
    }
}
