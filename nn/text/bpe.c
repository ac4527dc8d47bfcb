/* bpe.c: codes of byte-pair encoding: it reads and writes their file and cuts texts by them (bpe.h). */
#include "nn/text/bpe.h"

#include <string.h>
#include <unistr.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/scoped.h"
#include "kernels/base/random.h"
#include "kernels/base/plain_text.h"
#include "nn/text/bpe_codes.h"
#include "kernels/base/hash.h"

/* The first line of codes, by Bpe.apart. */
static const char *const version[] = {"#version: 0.2", "#version: 0.1"};

/* ---- codes -------------------------------------------------------------------------------------- */

int bpe_symbol(Bpe *b, const char *x, size_t m, const char *y, size_t n, uint32_t *id)
{
    char *both = memory_new(m + n + 1, 1);
    if (!both) return ERR_MEMORY;
    memcpy(both, x, m);
    memcpy(both + m, y, n);
    int32_t found = words_find(&b->symbol, both, m + n);
    int code = found < 0 ? words_add(&b->symbol, both, m + n, 1) : 0;
    *id = found < 0 ? (uint32_t)b->symbol.size - 1 : (uint32_t)found;
    if (found >= 0 || code) memory_free(both);
    return code;
}

int bpe_merge(Bpe *b, uint32_t x, uint32_t y)
{
    const Word *w = b->symbol.word;
    uint32_t made, *rank;
    if (b->merges == UINT32_MAX) return error_set(ERR_INPUT, "more than 2^32 merges");
    TRY(bpe_symbol(b, w[x].text, w[x].bytes, w[y].text, w[y].bytes, &made));
    TRY(memory_more(&b->merge, b->merges, sizeof *b->merge));
    rank = numbers_place(&b->rank, bpe_pair(x, y), (uint32_t)b->merges);
    if (!rank) return ERR_MEMORY;
    b->merge[b->merges++] = (Merge){x, y, made};
    return 0;
}

void bpe_set_source(Bpe *b, Bpe *source)
{
    b->source = source;
}

const Bpe *bpe_of_source(const Bpe *b)
{
    return b && b->source ? b->source : b;
}

size_t bpe_merges(const Bpe *b)
{
    return b->merges;
}

void bpe_free(Bpe *b)
{
    if (!b) return;
    for (size_t i = 0; i < b->symbol.size; i++) memory_free((char *)b->symbol.word[i].text);
    words_free(&b->symbol);
    memory_free(b->merge);
    numbers_free(&b->rank);
    bpe_free(b->source);
    memory_free(b);
}

int bpe_made(const Bpe *b, Words *w)
{
    enum { END = sizeof BPE_END - 1 };
    for (size_t i = 0; i < b->merges; i++) {
        const Word *s = &b->symbol.word[b->merge[i].made];
        int last = s->bytes >= END && memcmp(s->text + s->bytes - END, BPE_END, END) == 0;
        for (int whole = 0; whole < 2; whole++) {
            if (whole != last && !(b->apart && !last)) continue;
            size_t n = s->bytes - (last ? END : 0);
            TRY(words_own(w, s->text, n, whole ? "" : BPE_MARK));
        }
    }
    return 0;
}

/* ---- texts -------------------------------------------------------------------------------------- */

/* Removes blanks at both ends, and '\r', which stands at a line's end alone (text_check). */
static void strip(const char **line, size_t *bytes)
{
    const char *p = *line;
    size_t n = *bytes;
    while (n && (p[n - 1] == ' ' || p[n - 1] == '\r')) n--;
    while (n && *p == ' ') p++, n--;
    *line = p;
    *bytes = n;
}

/* Finds a word that ends in the mark of a piece; NULL: there is none. */
static const char *marked_word(const BpeText *t)
{
    const char *end = t->bytes + t->count, *p = t->bytes;
    for (; (p = memmem(p, (size_t)(end - p), BPE_MARK, strlen(BPE_MARK))); p++)
        if (p + 2 == end || strchr(" \n\r", p[2])) return p;
    return NULL;
}

int bpe_check(const BpeText *t)
{
    TRY(text_check(t));
    const char *word = marked_word(t), *tab = memchr(t->bytes, '\t', t->count);
    if (word)
        return error_set(ERR_INPUT,
                         "%s:%zu: a word ends in '" BPE_MARK "', the mark of a piece: is the "
                         "text in pieces already? ('trotter bpe --undo' joins them)",
                         t->file, text_line(t, word));
    if (!tab) return 0;
    return error_set(
        ERR_INPUT,
        "%s:%zu: a tab, where a blank is to be: it would be a character of a word here "
        "and stand between words elsewhere",
        t->file, text_line(t, tab));
}

int bpe_words(const BpeText *t, Words *w)
{
    const char *at = t->bytes, *end = t->bytes + t->count, *line;
    size_t n;
    while (text_next_line(&at, end, &line, &n)) {
        strip(&line, &n);
        for (size_t i = 0, m; i < n; i += m + 1) {
            const char *blank = memchr(line + i, ' ', n - i);
            m = blank ? (size_t)(blank - line) - i : n - i;
            if (m) TRY(words_add(w, line + i, m, 1));
        }
    }
    return 0;
}

/* ---- the file of codes -------------------------------------------------------------------------- */

static int parse_merge(Bpe *b, const char *file, size_t number, const char *line, size_t bytes)
{
    uint32_t x, y;
    const char *blank = memchr(line, ' ', bytes);
    size_t m = blank ? (size_t)(blank - line) : bytes;
    if (!blank || memchr(blank + 1, ' ', bytes - m - 1))
        return error_set(ERR_INPUT, "%s:%zu: expected two symbols with one blank between them",
                         file, number);
    TRY(bpe_symbol(b, line, m, "", 0, &x));
    TRY(bpe_symbol(b, blank + 1, bytes - m - 1, "", 0, &y));
    return bpe_merge(b, x, y);
}

/* Finds the version of codes by their first line. Returns 1 where that line tells it, 0 where it is a merge: 0.1. */
static int parse_version(Bpe *b, const char *file, const char *line, size_t bytes)
{
    static const char mark[] = "#version:";
    b->apart = 1;
    if (bytes < strlen(mark) || memcmp(line, mark, strlen(mark)) != 0) return 0;
    for (int i = 0; i < 2; i++) {
        b->apart = i;
        if (bytes == strlen(version[i]) && memcmp(line, version[i], bytes) == 0) return 1;
    }
    return error_set(ERR_INPUT, "%s:1: expected '%s' or '%s', or a merge", file, version[0],
                     version[1]);
}

static int parse(Bpe *b, const char *file, const char *bytes, size_t count)
{
    const char *at = bytes, *end = bytes + count, *line;
    size_t n, number = 0;
    TRY(text_check(&(BpeText){.file = file, .bytes = bytes, .count = count}));
    while (text_next_line(&at, end, &line, &n)) {
        strip(&line, &n);
        int told = ++number == 1 ? parse_version(b, file, line, n) : 0;
        if (told < 0) return told;
        if (!told) TRY(parse_merge(b, file, number, line, n));
    }
    return b->merges ? 0 : error_set(ERR_INPUT, "%s: codes without a merge", file);
}

int bpe_parse(const char *file, const char *bytes, size_t count, Bpe **out)
{
    SCOPED(bpe_drop) Bpe *b = memory_new(1, sizeof *b);
    *out = NULL;
    if (!b) return ERR_MEMORY;
    TRY(parse(b, file, bytes, count));
    *out = b;
    b = NULL;
    return 0;
}

int bpe_read(const char *file, Bpe **out)
{
    SCOPED(memory_drop) char *bytes = NULL;
    size_t count;
    *out = NULL;
    TRY(read_raw(file, &bytes, &count));
    return bpe_parse(file, bytes, count, out);
}

int bpe_print(const Bpe *b, char **text, size_t *bytes)
{
    const Word *w = b->symbol.word;
    SCOPED(buffer_free) Buffer out = {0};
    TRY(buffer_add(&out, version[b->apart], strlen(version[b->apart])));
    TRY(buffer_add(&out, "\n", 1));
    for (size_t i = 0; i < b->merges; i++) {
        TRY(buffer_add(&out, w[b->merge[i].a].text, w[b->merge[i].a].bytes));
        TRY(buffer_add(&out, " ", 1));
        TRY(buffer_add(&out, w[b->merge[i].b].text, w[b->merge[i].b].bytes));
        TRY(buffer_add(&out, "\n", 1));
    }
    *text = buffer_take(&out, bytes);
    return 0;
}

int bpe_write(const Bpe *b, const char *file)
{
    SCOPED(memory_drop) char *text = NULL;
    size_t bytes;
    TRY(bpe_print(b, &text, &bytes));
    return file_replace(file, text, bytes);
}

uint64_t bpe_hash(const Bpe *b)
{
    const Word *w = b->symbol.word;
    uint64_t h = hash_bytes(HASH_START, version[b->apart], strlen(version[b->apart]));
    h = hash_bytes(h, "\n", 1);
    for (size_t i = 0; i < b->merges; i++) {
        h = hash_bytes(h, w[b->merge[i].a].text, w[b->merge[i].a].bytes);
        h = hash_bytes(h, " ", 1);
        h = hash_bytes(h, w[b->merge[i].b].text, w[b->merge[i].b].bytes);
        h = hash_bytes(h, "\n", 1);
    }
    return h;
}

/* ---- applying ----------------------------------------------------------------------------------- */

/* The pieces of one word, with room for one a byte and one more. */
typedef struct {
    uint32_t *symbol;
    size_t *end; /* end of each piece in the word */
} Pieces;

/* Sets p to the symbols of a word's characters. "</w>" belongs to the last one, or is a symbol of its own (apart), which
 * ends where the last character does. Returns their number. */
static size_t spell(const Bpe *b, const char *word, size_t bytes, Pieces *p)
{
    enum { END = sizeof BPE_END - 1 };
    char last[4 + END];
    size_t n = 0;
    for (size_t i = 0, size; i < bytes; i += size, n++) {
        size = bpe_character(word + i);
        memcpy(last, word + i, size);
        memcpy(last + size, BPE_END, END);
        int ends = i + size == bytes && !b->apart;
        int32_t id = words_find(&b->symbol, last, size + (ends ? END : 0));
        p->symbol[n] = id < 0 ? BPE_UNKNOWN : (uint32_t)id;
        p->end[n] = i + size;
    }
    if (!b->apart) return n;
    int32_t id = words_find(&b->symbol, BPE_END, END);
    p->symbol[n] = id < 0 ? BPE_UNKNOWN : (uint32_t)id;
    p->end[n] = bytes;
    return n + 1;
}

/* Makes every pair of m one symbol, from the left. Returns how many symbols there are then. */
static size_t merge_pairs(const Merge *m, Pieces *p, size_t n)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++, size++) {
        int both = p->symbol[i] == m->a && i + 1 < n && p->symbol[i + 1] == m->b;
        i += (size_t)both;
        p->symbol[size] = both ? m->made : p->symbol[i];
        p->end[size] = p->end[i];
    }
    return size;
}

int bpe_dropped(BpeDrop *d)
{
    return random_uniform(d->seed, d->stream, (d->word << 24) + d->draw++) < d->p;
}

void bpe_next_word(BpeDrop *d)
{
    d->word++;
    d->draw = 0;
}

/* Finds the first place, by rank and then from the left, whose merge is possible and not dropped; n: there is none. */
static size_t kept_merge(const Bpe *b, BpeDrop *d, const Pieces *p, size_t n)
{
    for (uint64_t last = 0;;) { /* the last one dropped: rank, place + 1 */
        uint64_t best = UINT64_MAX;
        for (size_t i = 0; i + 1 < n; i++) {
            uint32_t rank =
                numbers_find(&b->rank, bpe_pair(p->symbol[i], p->symbol[i + 1]), BPE_UNKNOWN);
            uint64_t place = bpe_pair(rank, (uint32_t)i + 1);
            if (rank != BPE_UNKNOWN && place > last && place < best) best = place;
        }
        if (best == UINT64_MAX) return n;
        if (!bpe_dropped(d)) return (uint32_t)best - 1;
        last = best;
    }
}

/* Sets p->end as split_word does, with dropped merges. */
static void split_dropped(const Bpe *b, BpeDrop *d, const char *word, size_t bytes, Pieces *p)
{
    size_t n = spell(b, word, bytes, p);
    for (size_t i; (i = kept_merge(b, d, p, n)) < n; n--) {
        uint32_t rank = numbers_find(&b->rank, bpe_pair(p->symbol[i], p->symbol[i + 1]), 0);
        p->symbol[i] = b->merge[rank].made;
        memmove(p->symbol + i + 1, p->symbol + i + 2, (n - i - 2) * sizeof *p->symbol);
        memmove(p->end + i, p->end + i + 1, (n - i - 1) * sizeof *p->end);
    }
    bpe_next_word(d);
}

/* Sets p->end to the ends of the word's pieces and returns their number. The merge of the lowest rank is done wherever
 * possible, from the left, until no merge is possible. */
static size_t split_word(const Bpe *b, const char *word, size_t bytes, Pieces *p)
{
    size_t n = spell(b, word, bytes, p);
    while (n > 1) {
        uint32_t best = BPE_UNKNOWN;
        for (size_t i = 0; i + 1 < n; i++) {
            uint32_t rank =
                numbers_find(&b->rank, bpe_pair(p->symbol[i], p->symbol[i + 1]), BPE_UNKNOWN);
            if (rank < best) best = rank;
        }
        if (best == BPE_UNKNOWN) break;
        n = merge_pairs(&b->merge[best], p, n);
    }
    return n - (n > 1 && p->end[n - 2] == bytes); /* without a "</w>" that is alone */
}

/* The pieces of all distinct words. first (words): where a word's ends begin among all. With drop every word of the
 * text is cut by itself, in `one`. */
typedef struct {
    const Bpe *bpe;
    Words word;
    size_t *first;
    size_t *end;
    BpeDrop *drop;
    Pieces one;
} Split;

static int split_words(const Bpe *b, Split *s)
{
    size_t n = s->word.size, most = 0, longest = 0;
    for (size_t i = 0; i < n; i++) {
        size_t bytes = s->word.word[i].bytes;
        most += bytes + 1;
        longest = bytes > longest ? bytes : longest;
    }
    s->one.symbol = memory_new(longest + 1, sizeof *s->one.symbol);
    s->one.end = memory_new(longest + 1, sizeof *s->one.end);
    s->first = memory_new(n + 1, sizeof *s->first);
    s->end = memory_new(most, sizeof *s->end);
    if (!s->one.symbol || !s->one.end || !s->first || !s->end) return ERR_MEMORY;
    for (size_t i = 0; i < n && !s->drop; i++) {
        const Word *w = &s->word.word[i];
        Pieces p = {s->one.symbol, s->end + s->first[i]};
        s->first[i + 1] = s->first[i] + split_word(b, w->text, w->bytes, &p);
    }
    return 0;
}

static void split_free(Split *s)
{
    words_free(&s->word);
    memory_free_all(s->one.symbol, s->one.end, s->first, s->end);
}

/* Writes the word's pieces. */
static int put_word(Split *s, const char *word, size_t bytes, Buffer *out)
{
    size_t i = s->drop ? 0 : (size_t)words_find(&s->word, word, bytes), begun = 0;
    const size_t *end = s->drop ? s->one.end : s->end + s->first[i];
    if (s->drop) split_dropped(s->bpe, s->drop, word, bytes, &s->one);
    for (size_t k = 0;; k++) {
        TRY(buffer_add(out, word + begun, end[k] - begun));
        begun = end[k];
        if (begun == bytes) break;
        TRY(buffer_add(out, BPE_MARK " ", sizeof BPE_MARK));
    }
    return 0;
}

/* Writes the words of a line, one blank between two. */
static int put_words(Split *s, const char *line, size_t bytes, Buffer *out)
{
    for (size_t i = 0, m, words = 0; i < bytes; i += m + 1) {
        const char *blank = memchr(line + i, ' ', bytes - i);
        m = blank ? (size_t)(blank - line) - i : bytes - i;
        if (m == 0) continue;
        if (words++) TRY(buffer_add(out, " ", 1));
        TRY(put_word(s, line + i, m, out));
    }
    return 0;
}

/* Writes the text in pieces; blanks at both ends of a line stay. */
static int put_text(Split *s, const BpeText *t, Buffer *out)
{
    const char *at = t->bytes, *end = t->bytes + t->count, *line;
    size_t bytes;
    TRY(buffer_add(out, "", 0));
    while (text_next_line(&at, end, &line, &bytes)) {
        const char *whole = line, *stop = line + bytes;
        strip(&line, &bytes);
        TRY(buffer_add(out, whole, (size_t)(line - whole)));
        TRY(put_words(s, line, bytes, out));
        TRY(buffer_add(out, line + bytes, (size_t)(stop - line) - bytes));
        if (stop < end) TRY(buffer_add(out, "\n", 1));
    }
    return 0;
}

int bpe_apply(const Bpe *b, BpeDrop *drop, const BpeText *t, char **out, size_t *bytes)
{
    SCOPED(split_free) Split s = {.bpe = b, .drop = drop};
    SCOPED(buffer_free) Buffer text = {0};
    *out = NULL;
    TRY(text_check(t));
    TRY(bpe_words(t, &s.word));
    TRY(split_words(b, &s));
    TRY(put_text(&s, t, &text));
    *out = buffer_take(&text, bytes);
    return 0;
}

size_t bpe_join(char *line, size_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++) {
        int mark = line[i] == '@' && i + 1 < bytes && line[i + 1] == '@';
        if (mark && i + 2 == bytes) break;
        if (mark && line[i + 2] == ' ')
            i += 2;
        else
            line[n++] = line[i];
    }
    return n;
}
