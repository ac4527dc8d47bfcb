/* tokenizer_read.c: tokenizer.json -> Tokenizer (tokenizer.h): names of tokens, their bytes, the model. */
#include <math.h>
#include <string.h>
#include <unistr.h>

#include "kernels/base/file.h"
#include "kernels/base/scoped.h"
#include "kernels/base/parsed.h"
#include "kernels/base/hash.h"
#include "nn/text/tokenizer_json.h"

/* ---- names ----------------------------------------------------------------------------------------- */

/* Checks an id, and counts the bytes that its name takes in the arena. */
static int check_id(const Tokenizer *t, const char *name, const json_t *id, size_t *size,
                    size_t *bytes)
{
    json_int_t i = json_integer_value(id);
    if (!json_is_integer(id) || i < 0 || i >= TOKENS_MOST)
        return error_set(ERR_INPUT, "%s: token '%.100s' has no id from 0 to %d", t->file, name,
                         TOKENS_MOST - 1);
    if ((size_t)i >= *size) *size = (size_t)i + 1;
    *bytes += strlen(name) + 1;
    return 0;
}

/* Names an id. A name may come twice with one id. */
static int take_name(Tokenizer *t, const char *name, int32_t id, char **at)
{
    size_t n = strlen(name), before = t->names.size;
    int32_t known = words_find(&t->names, name, n);
    if (known >= 0 && t->id_of[known] == id) return 0;
    if (known >= 0 || t->name[id])
        return error_set(ERR_INPUT, "%s: token '%.100s' or its id %d comes twice", t->file, name,
                         (int)id);
    memcpy(*at, name, n + 1);
    TRY(words_add(&t->names, *at, n, 1));
    t->id_of[before] = id;
    t->name[id] = *at;
    *at += n + 1;
    return 0;
}

/* Takes an added token. One of which the normaliser leaves nothing is never found, as in the library. */
static int add_added(Tokenizer *t, int32_t id, const json_t *item)
{
    const char *name = text_of(item, "content");
    Added *a = &t->added[t->addeds++];
    *a = (Added){.id = id,
                 .left = flag_of(item, "lstrip", 0),
                 .right = flag_of(item, "rstrip", 0),
                 .alone = flag_of(item, "single_word", 0),
                 .normalized = flag_of(item, "normalized", 0)};
    TRY(a->normalized ? normal_all(t->normal, t->file, name, strlen(name), &a->text)
                      : buffer_add(&a->text, name, strlen(name)));
    if (a->text.count) t->begins[a->normalized][(unsigned char)*a->text.byte] = 1;
    return 0;
}

static int read_names(Tokenizer *t, json_t *vocab, const json_t *added)
{
    const char *name;
    json_t *item;
    size_t i, bytes = 1, n = json_object_size(vocab) + json_array_size(added);
    json_object_foreach (vocab, name, item) TRY(check_id(t, name, item, &t->size, &bytes));
    json_array_foreach(added, i, item)
    {
        if (!*text_of(item, "content")) return bad(t, "an added token has no content");
        TRY(check_id(t, text_of(item, "content"), json_object_get(item, "id"), &t->size, &bytes));
    }
    char *at = t->arena = memory_new(bytes, 1);
    t->name = memory_new(t->size, sizeof *t->name);
    t->id_of = memory_new(n, sizeof *t->id_of);
    t->added = memory_new(json_array_size(added), sizeof *t->added);
    if (!at || !t->name || !t->id_of || !t->added) return ERR_MEMORY;
    json_object_foreach (vocab, name, item)
        TRY(take_name(t, name, (int32_t)json_integer_value(item), &at));
    t->known = t->names.size;
    json_array_foreach(added, i, item)
    {
        int32_t id = (int32_t)json_integer_value(json_object_get(item, "id"));
        name = text_of(item, "content");
        TRY(take_name(t, name, id, &at));
        TRY(add_added(t, id, item));
    }
    return 0;
}

/* ---- bytes ----------------------------------------------------------------------------------------- */

static void find_bytes(Tokenizer *t)
{
    for (int b = 0; b < 256; b++) {
        char name[8] = "";
        if (t->raw)
            u8_uctomb((uint8_t *)name, byte_character(b), 6);
        else
            snprintf(name, sizeof name, "<0x%02X>", (unsigned)b);
        t->byte[b] = tokenizer_known(t, name, strlen(name));
    }
}

/* Writes the bytes that a name of byte level stands for, or the name itself where it is none. */
static size_t show_bytes(const char *name, const Numbers *byte_of, char *out)
{
    size_t n = strlen(name), bytes = 0;
    ucs4_t c;
    for (size_t i = 0; i < n;) {
        i += (size_t)u8_mbtouc(&c, (const uint8_t *)name + i, n - i);
        uint32_t b = numbers_find(byte_of, c, 256);
        if (b == 256) return memcpy(out, name, n), n;
        out[bytes++] = (char)b;
    }
    return bytes;
}

static size_t show_word(const Tokenizer *t, const char *name, char *out)
{
    size_t mark = strlen(METASPACE), n = 0, prefix = t->prefix ? strlen(t->prefix) : 0;
    int marks = t->model == MODEL_BPE || t->model == MODEL_UNIGRAM;
    unsigned byte;
    if (t->model == MODEL_WORDPIECE && prefix && strncmp(name, t->prefix, prefix) == 0)
        name += prefix;
    else if (!marks)
        out[n++] = ' ';
    if (t->fallback && strlen(name) == 6 && sscanf(name, "<0x%2X>", &byte) == 1)
        return out[0] = (char)byte, 1;
    while (*name)
        if (marks && strncmp(name, METASPACE, mark) == 0)
            out[n++] = ' ', name += mark;
        else
            out[n++] = *name++;
    return n;
}

static int show_names(Tokenizer *t)
{
    SCOPED(numbers_free) Numbers byte_of = {0};
    size_t bytes = 1;
    for (size_t i = 0; i < t->size; i++) bytes += t->name[i] ? strlen(t->name[i]) + 1 : 0;
    char *at = t->shown_text = memory_new(bytes, 1);
    t->shown = memory_new(t->size, sizeof *t->shown);
    t->shown_bytes = memory_new(t->size, sizeof *t->shown_bytes);
    if (!at || !t->shown || !t->shown_bytes) return ERR_MEMORY;
    for (int b = 0; b < 256; b++)
        if (!numbers_place(&byte_of, byte_character(b), (uint32_t)b)) return ERR_MEMORY;
    for (size_t i = 0; i < t->size; i++) {
        if (!t->name[i]) continue;
        t->shown[i] = at;
        t->shown_bytes[i] =
            t->bytes ? show_bytes(t->name[i], &byte_of, at) : show_word(t, t->name[i], at);
        at += t->shown_bytes[i];
    }
    return 0;
}

/* ---- model --------------------------------------------------------------------------------------- */

/* Reads "a b" or ["a", "b"] in two names; room: a copy of the text, with a NUL between them. */
static int split_merge(const Tokenizer *t, const json_t *item, Buffer *room, const char *side[2])
{
    const char *text = json_string_value(item), *blank = text ? strchr(text, ' ') : NULL;
    side[0] = json_string_value(json_array_get(item, 0));
    side[1] = json_string_value(json_array_get(item, 1));
    if (json_array_size(item) == 2 && side[0] && side[1]) return 0;
    if (!blank || strchr(blank + 1, ' ')) return bad(t, "a merge is not of two tokens");
    room->count = 0;
    TRY(buffer_add(room, text, strlen(text)));
    room->byte[blank - text] = '\0';
    side[0] = room->byte;
    side[1] = room->byte + (blank - text) + 1;
    return 0;
}

static int read_merge(Tokenizer *t, const json_t *item, Buffer *room, Buffer *joined)
{
    const char *side[2];
    TRY(split_merge(t, item, room, side));
    joined->count = 0;
    for (int i = 0; i < 2; i++) TRY(buffer_add(joined, side[i], strlen(side[i])));
    int32_t left = tokenizer_find(t, side[0]), right = tokenizer_find(t, side[1]),
            id = tokenizer_find(t, joined->byte);
    if (left < 0 || right < 0 || id < 0)
        return error_set(ERR_INPUT,
                         "%s: merge %zu: '%.100s' and '%.100s' or both together are no "
                         "tokens",
                         t->file, t->merges + 1, side[0], side[1]);
    uint32_t *at = numbers_place(&t->pair, (uint64_t)left << 32 | (uint32_t)right, 0);
    if (!at) return ERR_MEMORY;
    *at = (uint32_t)t->merges;
    t->merge[t->merges++] = id;
    return 0;
}

/* Refuses a model that draws its tokens. */
static int check_drawn(const Tokenizer *t, const json_t *m, const char *key, const char *hint)
{
    if (!(json_number_value(json_object_get(m, key)) > 0)) return 0;
    return error_set(
        ERR_INPUT,
        "%s: with the \"%s\" of its model no two readings of a text are alike: set it to "
        "null%s",
        t->file, key, hint);
}

static int read_bpe(Tokenizer *t, const json_t *m)
{
    const json_t *list = json_object_get(m, "merges"), *item;
    SCOPED(buffer_free) Buffer room = {0}, joined = {0};
    size_t i;
    if (*text_of(m, "continuing_subword_prefix") || *text_of(m, "end_of_word_suffix"))
        return unsupported(t, "setting of BPE", "continuing_subword_prefix or end_of_word_suffix");
    if (!json_is_array(list)) return bad(t, "BPE has no merges");
    TRY(check_drawn(t, m, "dropout", " (train --bpe-dropout is for training alone)"));
    t->fallback = flag_of(m, "byte_fallback", 0);
    t->fuse = flag_of(m, "fuse_unk", 0);
    t->ignore_merges = flag_of(m, "ignore_merges", 0);
    t->merge = memory_new(json_array_size(list), sizeof *t->merge);
    if (!t->merge) return ERR_MEMORY;
    json_array_foreach(list, i, item) TRY(read_merge(t, item, &room, &joined));
    return 0;
}

static int read_wordpiece(Tokenizer *t, const json_t *m)
{
    const json_t *most = json_object_get(m, "max_input_chars_per_word");
    const char *prefix = json_string_value(json_object_get(m, "continuing_subword_prefix"));
    t->model = MODEL_WORDPIECE;
    t->longest = json_is_integer(most) && json_integer_value(most) >= 0
                     ? (size_t)json_integer_value(most)
                     : 100;
    if (t->longest > 1000) return bad(t, "max_input_chars_per_word is above 1000");
    t->prefix = memory_string(prefix ? prefix : "##");
    return t->prefix ? 0 : ERR_MEMORY;
}

/* Reads [name, score] of each token. A score is a log probability; one that JSON cannot write is none. */
static int read_unigram(Tokenizer *t, const json_t *m)
{
    const json_t *list = json_object_get(m, "vocab"), *unknown = json_object_get(m, "unk_id"),
                 *item;
    size_t i, n = json_array_size(list);
    double least = INFINITY;
    TRY(check_drawn(t, m, "alpha", ""));
    t->model = MODEL_UNIGRAM;
    t->widest = 4; /* a character, which is tried whether it is a token or not */
    t->fallback = flag_of(m, "byte_fallback", 0);
    t->score = memory_new(n, sizeof *t->score);
    if (!t->score) return ERR_MEMORY;
    json_array_foreach(list, i, item)
    {
        const json_t *score = json_array_get(item, 1);
        size_t bytes = strlen(t->name[i]);
        if (!json_is_number(score)) return bad(t, "a token of Unigram has no score");
        t->score[i] = json_number_value(score);
        if (t->score[i] < least) least = t->score[i];
        if (bytes > t->widest) t->widest = bytes;
    }
    t->unknown_score = least - 10;
    if (!unknown || json_is_null(unknown)) return 0;
    if (!json_is_integer(unknown) || json_integer_value(unknown) < 0 ||
        (size_t)json_integer_value(unknown) >= n)
        return bad(t, "unk_id of Unigram is no token");
    t->unknown = (int32_t)json_integer_value(unknown);
    return 0;
}

static int read_model(Tokenizer *t, const json_t *m)
{
    const char *type = text_of(m, "type");
    int merges = json_is_array(json_object_get(m, "merges"));
    if (strcmp(type, "WordPiece") == 0) return read_wordpiece(t, m);
    if (strcmp(type, "WordLevel") == 0) return t->model = MODEL_WORDS, 0;
    if (strcmp(type, "Unigram") == 0) return read_unigram(t, m);
    if (strcmp(type, "BPE") == 0 || (!*type && merges)) return read_bpe(t, m);
    return unsupported(t, "model", type);
}

/* Takes what a template puts before one text, [{"SpecialToken": {"id": NAME}}, .., {"Sequence": ..}, ..], or the cls of BERT's
 * and RoBERTa's; from a sequence of these too. Others put nothing there. */
static void read_first(Tokenizer *t, const json_t *o, int inside)
{
    json_t *item;
    size_t i;
    const char *cls = json_string_value(json_array_get(json_object_get(o, "cls"), 0));
    const json_t *known = json_object_get(o, "special_tokens");
    if (cls && tokenizer_find(t, cls) >= 0 && t->firsts < FIRSTS_MOST)
        t->first[t->firsts++] = tokenizer_find(t, cls);
    json_array_foreach(json_object_get(o, "single"), i, item)
    {
        const char *name = text_of(json_object_get(item, "SpecialToken"), "id");
        const char *is = json_string_value(
            json_array_get(json_object_get(json_object_get(known, name), "tokens"), 0));
        int32_t id = tokenizer_find(t, is ? is : name);
        if (id < 0 || t->firsts == FIRSTS_MOST) break;
        t->first[t->firsts++] = id;
    }
    json_array_foreach(json_object_get(o, "processors"), i, item) if (!inside)
        read_first(t, item, 1);
}

/* The names of the model with their ids: *vocab is the file's own, or, of Unigram, whose file has a list, made, and the caller's. */
static int list_names(const Tokenizer *t, const json_t *m, json_t **vocab)
{
    const json_t *own = json_object_get(m, "vocab"), *item;
    int listed = strcmp(text_of(m, "type"), "Unigram") == 0;
    size_t i;
    if (listed && !json_is_array(own)) return bad(t, "the vocab of Unigram is no list");
    if (!listed && !json_is_object(own)) return unsupported(t, "model", text_of(m, "type"));
    *vocab = listed ? json_object() : json_incref((json_t *)own);
    if (!*vocab) return error_set(ERR_MEMORY, "out of memory");
    json_array_foreach(own, i, item)
    {
        const char *name = json_string_value(json_array_get(item, 0));
        if (!name) return bad(t, "a token of Unigram has no name");
        if (json_object_get(*vocab, name))
            return error_set(ERR_INPUT, "%s: token '%.100s' comes twice", t->file, name);
        if (json_object_set_new(*vocab, name, json_integer((json_int_t)i)) != 0)
            return error_set(ERR_MEMORY, "out of memory");
    }
    return 0;
}

/* Merges begin with bytes as they are; other models, and pre-tokenizers behind, see their characters. */
static void convert_bytes(Tokenizer *t)
{
    t->raw &= t->model == MODEL_BPE;
    for (Cut *c = t->cut; c->kind; c++) c->convert |= c->kind == CUT_BYTES && !t->raw;
}

static int read_all(Tokenizer *t, const json_t *root)
{
    const json_t *m = json_object_get(root, "model");
    json_auto_t *vocab = NULL;
    if (!json_is_object(m)) return bad(t, "it has no model: it is no tokenizer.json");
    TRY(tokenizer_read_steps(t, root));
    TRY(list_names(t, m, &vocab));
    TRY(read_names(t, vocab, json_object_get(root, "added_tokens")));
    if (t->size == 0) return bad(t, "it has no tokens");
    t->unknown_name = memory_string(text_of(m, "unk_token"));
    if (!t->unknown_name) return ERR_MEMORY;
    t->unknown = tokenizer_known(t, t->unknown_name, strlen(t->unknown_name));
    TRY(read_model(t, m));
    convert_bytes(t);
    find_bytes(t);
    read_first(t, json_object_get(root, "post_processor"), 0);
    return show_names(t);
}

static int parse(Tokenizer *t, const char *file, const char *json, size_t bytes)
{
    json_error_t e = {0};
    json_auto_t *root = NULL;
    if (!(t->file = memory_string(file))) return ERR_MEMORY;
    if (!(t->json = memory_new(bytes, 1))) return ERR_MEMORY;
    t->json_bytes = bytes;
    memcpy(t->json, json, bytes);
    int code = parsed_json(json, bytes, &e, &root);
    if (code == ERR_INPUT) error_set(code, "%s:%d: %s", file, e.line, e.text);
    return code ? code : read_all(t, root);
}

int tokenizer_parse(const char *file, const char *json, size_t bytes, Tokenizer **out)
{
    SCOPED(tokenizer_drop) Tokenizer *t = memory_new(1, sizeof *t);
    *out = NULL;
    if (!t) return ERR_MEMORY;
    TRY(parse(t, file, json, bytes));
    *out = t;
    t = NULL;
    return 0;
}

const char *tokenizer_file(const Tokenizer *t)
{
    return t->file;
}

int tokenizer_write(const Tokenizer *t, const char *file)
{
    return file_replace(file, t->json, t->json_bytes);
}

uint64_t tokenizer_hash(const Tokenizer *t)
{
    return hash_bytes(HASH_START, t->json, t->json_bytes);
}

int tokenizer_read(const char *file, Tokenizer **out)
{
    SCOPED(memory_drop) char *bytes = NULL;
    size_t count;
    *out = NULL;
    TRY(file_whole(file, SIZE_MAX, &bytes, &count));
    return tokenizer_parse(file, bytes, count, out);
}

void tokenizer_free(Tokenizer *t)
{
    if (!t) return;
    for (int i = 0; i < STEPS_MOST; i++) {
        Normal *n = &t->normal[i];
        memory_free_all(n->text, n->with, n->charts.unit, n->charts.text, t->cut[i].text);
        pcre2_code_free(n->code);
        pcre2_code_free(t->cut[i].code);
    }
    for (size_t i = 0; i < t->addeds; i++) buffer_free(&t->added[i].text);
    words_free(&t->names);
    numbers_free(&t->pair);
    memory_free_all(t->file, t->json, t->id_of, t->arena, t->name, t->shown, t->shown_bytes,
                    t->shown_text, t->merge, t->score, t->prefix, t->unknown_name, t->added, t);
}
