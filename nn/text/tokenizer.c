/* tokenizer.c: a text -> tokens (tokenizer.h).
 *
 * Merges of a piece: its characters are a linked list of symbols. A heap holds the pairs that may merge, the earliest
 * merge first, of equal ones the leftmost; a pair whose symbols have changed meanwhile is passed over. So n characters
 * take n log n steps, also where a whole text is one piece. */
#include "nn/text/tokenizer.h"

#include <string.h>
#include <unictype.h>
#include <unistr.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "nn/text/tokenizer_steps.h"

#define NONE UINT32_MAX

typedef struct {
    int32_t id;
    uint32_t before, after; /* neighbours, or NONE */
} Symbol;

typedef struct {
    uint32_t merge, at; /* of the symbol at `at` and the one after it */
    int32_t left, right;
} Candidate;

/* A text being encoded. */
typedef struct {
    const Tokenizer *t;
    const char *file;
    int32_t **id;
    size_t *count;
    Symbol *symbol; /* (symbols) */
    size_t symbols;
    Candidate *heap; /* (heaped), the least first */
    size_t heaped, room;
    Words *pieces;       /* not NULL: pieces are counted there, and not cut in tokens */
    BpeDrop *drop;       /* NULL: no merge is dropped */
    Candidate *left_out; /* (lefts) dropped since the last merge */
    size_t lefts;
} Encoding;

static int put(Encoding *e, int32_t id)
{
    return e->pieces ? 0 : memory_add(*e->id, *e->count, id);
}

/* ---- merges -------------------------------------------------------------------------------------- */

static int earlier(const Candidate *a, const Candidate *b)
{
    return a->merge != b->merge ? a->merge < b->merge : a->at < b->at;
}

static int heap_add(Encoding *e, Candidate c)
{
    if (e->heaped == e->room) {
        size_t room = 2 * e->room + 64;
        Candidate *more = memory_grow(e->heap, e->room, room, sizeof *more);
        if (!more) return ERR_MEMORY;
        e->heap = more, e->room = room;
    }
    size_t i = e->heaped++;
    for (size_t up; i && (up = (i - 1) / 2, earlier(&c, &e->heap[up])); i = up)
        e->heap[i] = e->heap[up];
    e->heap[i] = c;
    return 0;
}

static Candidate heap_take(Encoding *e)
{
    Candidate first = e->heap[0], last = e->heap[--e->heaped];
    size_t i = 0;
    for (size_t down; (down = 2 * i + 1) < e->heaped; i = down) {
        down += down + 1 < e->heaped && earlier(&e->heap[down + 1], &e->heap[down]);
        if (!earlier(&e->heap[down], &last)) break;
        e->heap[i] = e->heap[down];
    }
    e->heap[i] = last;
    return first;
}

/* Adds the pair that begins with symbol `at`, if a merge joins it. */
static int consider(Encoding *e, uint32_t at)
{
    if (at == NONE || e->symbol[at].after == NONE) return 0;
    int32_t left = e->symbol[at].id, right = e->symbol[e->symbol[at].after].id;
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    uint32_t merge = left < 0 || right < 0 ? NONE : numbers_find(&e->t->pair, key, NONE);
    return merge == NONE ? 0 : heap_add(e, (Candidate){merge, at, left, right});
}

/* Tells whether a pair is still there. A symbol that was joined to the one before it has id -1. */
static int is_there(const Encoding *e, Candidate c)
{
    const Symbol *s = &e->symbol[c.at];
    return s->id == c.left && s->after != NONE && e->symbol[s->after].id == c.right;
}

static int join(Encoding *e, Candidate c)
{
    Symbol *s = &e->symbol[c.at];
    Symbol *right = &e->symbol[s->after];
    s->id = e->t->merge[c.merge];
    s->after = right->after;
    right->id = -1;
    if (s->after != NONE) e->symbol[s->after].before = c.at;
    TRY(consider(e, s->before));
    return consider(e, c.at);
}

static int add_symbol(Encoding *e, int32_t id)
{
    size_t n = e->symbols;
    if (n >= NONE - 1) return error_set(ERR_INPUT, "%s: too long a piece", e->file);
    if (n) e->symbol[n - 1].after = (uint32_t)n;
    return memory_add(e->symbol, e->symbols, (Symbol){id, n ? (uint32_t)n - 1 : NONE, NONE});
}

/* Adds a character that is no token: its bytes, or <unk>, or, where the file has none, nothing. */
static int add_unknown(Encoding *e, const char *c, size_t bytes)
{
    const Tokenizer *t = e->t;
    int all = t->fallback;
    for (size_t i = 0; i < bytes; i++) all &= t->byte[(unsigned char)c[i]] >= 0;
    for (size_t i = 0; all && i < bytes; i++) TRY(add_symbol(e, t->byte[(unsigned char)c[i]]));
    if (all || (t->unknown < 0 && !*t->unknown_name)) return 0;
    if (t->unknown < 0) return tokenizer_unknown(t, e->file, c, bytes);
    if (t->fuse && e->symbols && e->symbol[e->symbols - 1].id == t->unknown) return 0;
    return add_symbol(e, t->unknown);
}

static int add_characters(Encoding *e, const char *text, size_t bytes)
{
    const Tokenizer *t = e->t;
    size_t n = 1;
    for (size_t i = 0; i < bytes; i += n) {
        ucs4_t c; /* u8_mblen would give NUL no byte */
        if (!t->raw) n = (size_t)u8_mbtouc(&c, (const uint8_t *)text + i, bytes - i);
        int32_t id = t->raw ? t->byte[(unsigned char)text[i]] : tokenizer_known(t, text + i, n);
        TRY(id >= 0 ? add_symbol(e, id) : add_unknown(e, text + i, n));
    }
    return 0;
}

/* The token that a whole piece is, where such tokens need no merges; -1: none. */
static int32_t whole(const Tokenizer *t, const char *text, size_t bytes)
{
    SCOPED(buffer_free) Buffer b = {0};
    if (!t->ignore_merges) return -1;
    if (!t->raw) return tokenizer_known(t, text, bytes);
    for (size_t i = 0; i < bytes; i++) {
        int32_t one = t->byte[(unsigned char)text[i]];
        if (one < 0 || buffer_add(&b, t->name[one], strlen(t->name[one])) != 0) break;
    }
    return tokenizer_known(t, b.byte ? b.byte : "", b.count);
}

/* Makes the earliest merge that is possible and not dropped; those dropped before it are possible again. */
static int merge_first(Encoding *e)
{
    Candidate c = heap_take(e);
    if (!is_there(e, c)) return 0;
    if (e->drop && bpe_dropped(e->drop)) return memory_add(e->left_out, e->lefts, c);
    for (; e->lefts; e->lefts--) TRY(heap_add(e, e->left_out[e->lefts - 1]));
    return join(e, c);
}

static int merge_piece(Encoding *e, const char *text, size_t bytes)
{
    int32_t id = e->drop ? -1 : whole(e->t, text, bytes);
    if (id >= 0) return put(e, id);
    e->symbols = e->heaped = 0;
    TRY(add_characters(e, text, bytes));
    for (size_t i = 0; i + 1 < e->symbols; i++) TRY(consider(e, (uint32_t)i));
    while (e->heaped) TRY(merge_first(e));
    e->lefts = 0;
    if (e->drop) bpe_next_word(e->drop);
    for (size_t i = 0; i < e->symbols; i++)
        if (e->symbol[i].id >= 0) TRY(put(e, e->symbol[i].id));
    return 0;
}

/* ---- WordPiece ----------------------------------------------------------------------------------- */

/* Finds the longest token that text (bytes) begins with; *taken out: its bytes of the text. */
static int32_t longest(const Tokenizer *t, const char *text, size_t bytes, int goes_on, Buffer *b,
                       size_t *taken)
{
    size_t before = goes_on ? strlen(t->prefix) : 0;
    b->count = 0;
    if (buffer_add(b, t->prefix, before) || buffer_add(b, text, bytes)) return -1;
    for (*taken = bytes; *taken; --*taken) {
        int32_t id = tokenizer_known(t, b->byte, before + *taken);
        if (id >= 0) return id;
    }
    return -1;
}

/* Cuts a word, from the left, in the longest tokens; a word with a rest is unknown as a whole. */
static int cut_word(Encoding *e, const char *text, size_t bytes)
{
    const Tokenizer *t = e->t;
    size_t begun = *e->count, taken = 0;
    int32_t id = u8_mbsnlen((const uint8_t *)text, bytes) > t->longest ? -1 : 0;
    SCOPED(buffer_free) Buffer b = {0};
    for (size_t i = 0; i < bytes && id >= 0; i += taken) {
        id = longest(t, text + i, bytes - i, i > 0, &b, &taken);
        if (id >= 0) TRY(put(e, id));
    }
    if (id >= 0) return 0;
    *e->count = begun;
    return t->unknown < 0 ? tokenizer_unknown(t, e->file, text, bytes) : put(e, t->unknown);
}

static int find_word(Encoding *e, const char *text, size_t bytes)
{
    int32_t id = tokenizer_known(e->t, text, bytes);
    id = id < 0 ? e->t->unknown : id;
    return id < 0 ? tokenizer_unknown(e->t, e->file, text, bytes) : put(e, id);
}

/* ---- a text -------------------------------------------------------------------------------------- */

static int encode_piece(Encoding *e, const char *piece, size_t n)
{
    if (e->pieces) return words_own(e->pieces, piece, n, "");
    switch (e->t->model) {
    case MODEL_BPE: return merge_piece(e, piece, n);
    case MODEL_WORDPIECE: return cut_word(e, piece, n);
    case MODEL_UNIGRAM: return unigram_cut(e->t, e->file, piece, n, e->id, e->count);
    default: return find_word(e, piece, n);
    }
}

/* Encodes a normalised text without added tokens. */
static int encode_plain(Encoding *e, int first, const char *text, size_t bytes)
{
    SCOPED(pieces_free) Pieces p = {.begins = first};
    if (bytes == 0) return 0;
    TRY(buffer_add(&p.text, text, bytes));
    TRY(memory_add(p.span, p.spans, (Span){0, p.text.count}));
    for (const Cut *c = e->t->cut; c->kind && p.spans; c++) TRY(cut_apply(c, e->file, &p));
    for (size_t i = 0; i < p.spans; i++)
        TRY(encode_piece(e, p.text.byte + p.span[i].begin, p.span[i].end - p.span[i].begin));
    return 0;
}

/* Returns the longest added token, normalised or not, that text (bytes) begins with, or NULL. */
static const Added *added_at(const Tokenizer *t, int normalized, const char *text, size_t bytes)
{
    const Added *best = NULL;
    size_t most = 0;
    if (!bytes || !t->begins[normalized][(unsigned char)*text]) return NULL;
    for (size_t i = 0; i < t->addeds; i++) {
        size_t n = t->added[i].text.count;
        if (t->added[i].normalized != normalized || n <= most || n > bytes ||
            memcmp(t->added[i].text.byte, text, n) != 0)
            continue;
        best = &t->added[i];
        most = n;
    }
    return best;
}

static size_t blanks(const char *text, size_t bytes)
{
    ucs4_t c;
    size_t i = 0;
    for (size_t n; i < bytes; i += n) {
        n = (size_t)u8_mbtouc(&c, (const uint8_t *)text + i, bytes - i);
        if (!uc_is_property_white_space(c)) break;
    }
    return i;
}

/* Returns `end` without the blanks before it. */
static size_t trim(const char *text, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (blanks(text + i, end - i) == end - i) return i;
    return end;
}

/* Tells whether text begins, or (last) ends, with a character of a word: \w of the crate `regex`, which is Unicode Technical Standard 18's. */
static int in_word(const char *text, size_t bytes, int last)
{
    enum { NON_JOINER = 0x200c, JOINER = 0x200d };
    ucs4_t c = 0;
    if (last)
        u8_prev(&c, (const uint8_t *)text + bytes, (const uint8_t *)text);
    else if (bytes)
        u8_mbtouc(&c, (const uint8_t *)text, bytes);
    return uc_is_property_alphabetic(c) || c == NON_JOINER || c == JOINER ||
           uc_is_general_category(c, UC_MARK) ||
           uc_is_general_category(c, UC_DECIMAL_DIGIT_NUMBER) ||
           uc_is_general_category(c, UC_CONNECTOR_PUNCTUATION);
}

/* Encodes a text between its added tokens: first those that are sought in the raw text, then, in what remains of it and
 * is normalised, the others. first: the text begins what was given. */
static int encode(Encoding *e, int normalized, int first, const char *text, size_t bytes)
{
    SCOPED(buffer_free) Buffer normal = {0};
    if (normalized) {
        TRY(normal_all(e->t->normal, e->file, text, bytes, &normal));
        if (first) TRY(normal_keeps(e->t->normal, text, bytes, &first));
        text = normal.byte ? normal.byte : "", bytes = normal.count;
    }
    for (size_t from = 0, i = 0;; i++) {
        const Added *a = added_at(e->t, normalized, text + i, bytes - i);
        if (a && a->alone &&
            (in_word(text, i, 1) ||
             in_word(text + i + a->text.count, bytes - i - a->text.count, 0))) {
            i += a->text.count - 1; /* what it covers has no other one */
            continue;
        }
        size_t end = a && a->left ? trim(text, from, i) : i;
        if (!a && i < bytes) continue;
        TRY(normalized ? encode_plain(e, first && from == 0, text + from, end - from)
                       : encode(e, 1, first && from == 0, text + from, end - from));
        if (!a) return 0;
        TRY(put(e, a->id));
        i += a->text.count;
        if (a->right) i += blanks(text + i, bytes - i);
        from = i--;
    }
}

static int encode_checked(Encoding *e, const char *text, size_t bytes)
{
    const uint8_t *wrong = u8_check((const uint8_t *)text, bytes);
    if (wrong) {
        BpeText raw = {.file = e->file, .bytes = text, .count = bytes};
        return error_set(ERR_INPUT, "%s:%zu: not UTF-8", e->file,
                         text_line(&raw, (const char *)wrong));
    }
    int code = encode(e, 0, 1, text, bytes);
    memory_free_all(e->symbol, e->heap, e->left_out);
    return code;
}

int tokenizer_merges(const Tokenizer *t)
{
    return t->model == MODEL_BPE;
}

size_t tokenizer_first(const Tokenizer *t, const int32_t **first)
{
    *first = t->first;
    return t->firsts;
}

int tokenizer_encode(const Tokenizer *t, BpeDrop *drop, const char *file, const char *text,
                     size_t bytes, int32_t **id, size_t *count)
{
    Encoding e = {.t = t, .file = file, .id = id, .count = count, .drop = drop};
    return encode_checked(&e, text, bytes);
}

int tokenizer_pieces(const Tokenizer *t, const char *file, const char *text, size_t bytes, Words *w)
{
    Encoding e = {.t = t, .file = file, .pieces = w};
    return encode_checked(&e, text, bytes);
}
