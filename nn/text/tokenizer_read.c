/* tokenizer_read.c: tokenizer.json -> Tokenizer (tokenizer.h). The file is a stranger's: every type is checked, every
 * part that is not supported is refused by its name. */
#include <jansson.h>
#include <string.h>
#include <unistr.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/scoped.h"
#include "kernels/base/parsed.h"
#include "kernels/base/hash.h"
#include "nn/text/tokenizer_steps.h"

/* GPT-2's pattern (Radford et al. 2019, in their code). */
#define GPT2_PATTERN \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define METASPACE "\xe2\x96\x81" /* U+2581 */

static const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static int flag_of(const json_t *o, const char *key, int otherwise)
{
    const json_t *x = json_object_get(o, key);
    return json_is_boolean(x) ? json_is_true(x) : otherwise;
}

static int unsupported(const Tokenizer *t, const char *part, const char *what)
{
    return error_set(ERR_INPUT, "%s: the %s \"%.100s\" is not supported", t->file, part, what);
}

static int bad(const Tokenizer *t, const char *what)
{
    return error_set(ERR_INPUT, "%s: %s", t->file, what);
}

/* ---- normalizer ---------------------------------------------------------------------------------- */

static int add_normal(Tokenizer *t, int kind, const char *text, const char *with)
{
    Normal *n = t->normal;
    while (n->kind) n++;
    if (n == t->normal + STEPS_MOST - 1) return bad(t, "too many normalisers");
    *n = (Normal){kind, memory_string(text), memory_string(with)};
    return n->text && n->with ? 0 : ERR_MEMORY;
}

static int read_bert(Tokenizer *t, const json_t *o)
{
    int small = flag_of(o, "lowercase", 1);
    if (flag_of(o, "clean_text", 1)) TRY(add_normal(t, NORMAL_CLEAN, "", ""));
    if (flag_of(o, "handle_chinese_chars", 1)) TRY(add_normal(t, NORMAL_CHINESE, "", ""));
    if (flag_of(o, "strip_accents", small)) {
        TRY(add_normal(t, NORMAL_NFD, "", ""));
        TRY(add_normal(t, NORMAL_STRIP, "", ""));
    }
    return small ? add_normal(t, NORMAL_LOWER, "", "") : 0;
}

static int read_replace(Tokenizer *t, const json_t *o)
{
    const json_t *pattern = json_object_get(o, "pattern");
    const char *text = text_of(pattern, "String");
    if (!*text) return unsupported(t, "pattern of the normaliser", "Replace");
    return add_normal(t, NORMAL_REPLACE, text, text_of(o, "content"));
}

/* Sequences are one deep: a sequence inside another is refused. */
static int read_normal(Tokenizer *t, const json_t *o, int inside)
{
    static const struct {
        const char *name;
        int kind;
    } plain[] = {{"NFC", NORMAL_NFC},         {"NFD", NORMAL_NFD},
                 {"NFKC", NORMAL_NFKC},       {"NFKD", NORMAL_NFKD},
                 {"Lowercase", NORMAL_LOWER}, {"StripAccents", NORMAL_MARKS}};
    const char *type = text_of(o, "type");
    json_t *list = json_object_get(o, "normalizers"), *item;
    size_t i;
    if (!o || json_is_null(o)) return 0;
    if (strcmp(type, "Sequence") == 0 && json_is_array(list) && !inside) {
        json_array_foreach(list, i, item) TRY(read_normal(t, item, 1));
        return 0;
    }
    if (strcmp(type, "Prepend") == 0)
        return add_normal(t, NORMAL_PREPEND, text_of(o, "prepend"), "");
    if (strcmp(type, "Replace") == 0) return read_replace(t, o);
    if (strcmp(type, "BertNormalizer") == 0) return read_bert(t, o);
    for (i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(type, plain[i].name) == 0) return add_normal(t, plain[i].kind, "", "");
    return unsupported(t, "normaliser", type);
}

/* ---- pre_tokenizer ------------------------------------------------------------------------------- */

/* Returns the new one; NULL: ERR_INPUT. */
static Cut *add_cut(Tokenizer *t, Cut cut)
{
    Cut *c = t->cut;
    while (c->kind) c++;
    if (c == t->cut + STEPS_MOST - 1) return bad(t, "too many pre-tokenizers"), NULL;
    if (t->bytes) return bad(t, "ByteLevel is not the last pre-tokenizer"), NULL;
    *c = cut;
    return c;
}

static int read_bytes(Tokenizer *t, const json_t *o)
{
    Cut *c = add_cut(t, (Cut){CUT_BYTES});
    if (!c) return ERR_INPUT;
    c->prefix = flag_of(o, "add_prefix_space", 1) ? PREFIX_ALWAYS : PREFIX_NEVER;
    t->bytes = 1;
    return flag_of(o, "use_regex", 1) ? cut_compile(t->file, GPT2_PATTERN, 0, &c->code) : 0;
}

static int read_split(Tokenizer *t, const json_t *o)
{
    const json_t *pattern = json_object_get(o, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex")),
               *literal = json_string_value(json_object_get(pattern, "String")),
               *behavior = text_of(o, "behavior");
    int removed = strcmp(behavior, "Removed") == 0;
    if (!regex && !(literal && *literal)) return bad(t, "Split has no pattern");
    if (!removed && strcmp(behavior, "Isolated") != 0)
        return unsupported(t, "behavior of Split", behavior);
    if (flag_of(o, "invert", 0)) return unsupported(t, "setting of Split", "invert");
    Cut *c = add_cut(t, (Cut){CUT_SPLIT, .removed = removed});
    if (!c) return ERR_INPUT;
    return cut_compile(t->file, regex ? regex : literal, !regex, &c->code);
}

static int read_metaspace(Tokenizer *t, const json_t *o)
{
    const char *mark = text_of(o, "replacement"), *scheme = text_of(o, "prepend_scheme");
    int always = flag_of(o, "add_prefix_space", 1);
    if (strcmp(mark, METASPACE) != 0) return unsupported(t, "replacement of Metaspace", mark);
    Cut *c = add_cut(t, (Cut){CUT_METASPACE, .whole = !flag_of(o, "split", 1)});
    if (!c) return ERR_INPUT;
    if (*scheme) always = strcmp(scheme, "always") == 0;
    c->prefix = always ? PREFIX_ALWAYS : strcmp(scheme, "first") == 0 ? PREFIX_FIRST : PREFIX_NEVER;
    c->text = memory_string(METASPACE);
    return c->text ? 0 : ERR_MEMORY;
}

static int read_bert_cuts(Tokenizer *t)
{
    if (!add_cut(t, (Cut){CUT_BLANKS, .removed = 1})) return ERR_INPUT;
    return add_cut(t, (Cut){CUT_PUNCTUATION, .each = 1}) ? 0 : ERR_INPUT;
}

static int read_cut(Tokenizer *t, const json_t *o, int inside)
{
    const char *type = text_of(o, "type");
    json_t *list = json_object_get(o, "pretokenizers"), *item;
    size_t i;
    if (!o || json_is_null(o)) return 0;
    if (strcmp(type, "Sequence") == 0 && json_is_array(list) && !inside) {
        json_array_foreach(list, i, item) TRY(read_cut(t, item, 1));
        return 0;
    }
    if (strcmp(type, "ByteLevel") == 0) return read_bytes(t, o);
    if (strcmp(type, "Split") == 0) return read_split(t, o);
    if (strcmp(type, "Metaspace") == 0) return read_metaspace(t, o);
    if (strcmp(type, "BertPreTokenizer") == 0) return read_bert_cuts(t);
    if (strcmp(type, "Digits") == 0)
        return add_cut(t, (Cut){CUT_DIGITS, .each = flag_of(o, "individual_digits", 0)})
                   ? 0
                   : ERR_INPUT;
    if (strcmp(type, "WhitespaceSplit") == 0)
        return add_cut(t, (Cut){CUT_BLANKS, .removed = 1}) ? 0 : ERR_INPUT;
    return unsupported(t, "pre-tokenizer", type);
}

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
                 .normalized = flag_of(item, "normalized", 0)};
    TRY(a->normalized ? normal_all(t->normal, name, strlen(name), &a->text)
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
        if (flag_of(item, "single_word", 0)) return unsupported(t, "single_word of token", name);
        TRY(take_name(t, name, id, &at));
        TRY(add_added(t, id, item));
    }
    return 0;
}

/* ---- bytes ----------------------------------------------------------------------------------------- */

uint32_t byte_character(int byte)
{
    int plain = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
    int before = byte < '!' ? byte : byte < 0xa1 ? byte - ('~' - '!' + 1) : 0x43; /* others */
    return (uint32_t)(plain ? byte : 0x100 + before);
}

static void find_bytes(Tokenizer *t)
{
    for (int b = 0; b < 256; b++) {
        char name[8] = "";
        if (t->bytes)
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
    unsigned byte;
    if (t->model == MODEL_WORDPIECE && prefix && strncmp(name, t->prefix, prefix) == 0)
        name += prefix;
    else if (t->model != MODEL_BPE)
        out[n++] = ' ';
    if (t->fallback && strlen(name) == 6 && sscanf(name, "<0x%2X>", &byte) == 1)
        return out[0] = (char)byte, 1;
    while (*name)
        if (t->model == MODEL_BPE && strncmp(name, METASPACE, mark) == 0)
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

static int read_bpe(Tokenizer *t, const json_t *m)
{
    const json_t *list = json_object_get(m, "merges"), *item;
    SCOPED(buffer_free) Buffer room = {0}, joined = {0};
    size_t i;
    if (*text_of(m, "continuing_subword_prefix") || *text_of(m, "end_of_word_suffix"))
        return unsupported(t, "setting of BPE", "continuing_subword_prefix or end_of_word_suffix");
    if (!json_is_array(list)) return bad(t, "BPE has no merges");
    if (json_number_value(json_object_get(m, "dropout")) > 0)
        return bad(t, "with the \"dropout\" of its BPE no two readings of a text are alike: set it "
                      "to null (train --bpe-dropout is for training alone)");
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

static int read_model(Tokenizer *t, const json_t *m)
{
    const char *type = text_of(m, "type");
    int merges = json_is_array(json_object_get(m, "merges"));
    if (strcmp(type, "WordPiece") == 0) return read_wordpiece(t, m);
    if (strcmp(type, "WordLevel") == 0) return t->model = MODEL_WORDS, 0;
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

static int read_all(Tokenizer *t, const json_t *root)
{
    const json_t *m = json_object_get(root, "model");
    json_t *vocab = json_object_get(m, "vocab");
    if (!json_is_object(m)) return bad(t, "it has no model: it is no tokenizer.json");
    TRY(read_normal(t, json_object_get(root, "normalizer"), 0));
    TRY(read_cut(t, json_object_get(root, "pre_tokenizer"), 0));
    if (!json_is_object(vocab)) return unsupported(t, "model", text_of(m, "type"));
    TRY(read_names(t, vocab, json_object_get(root, "added_tokens")));
    if (t->size == 0) return bad(t, "it has no tokens");
    TRY(read_model(t, m));
    t->unknown_name = memory_string(text_of(m, "unk_token"));
    if (!t->unknown_name) return ERR_MEMORY;
    t->unknown = tokenizer_known(t, t->unknown_name, strlen(t->unknown_name));
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
        memory_free_all(t->normal[i].text, t->normal[i].with, t->cut[i].text);
        pcre2_code_free(t->cut[i].code);
    }
    for (size_t i = 0; i < t->addeds; i++) buffer_free(&t->added[i].text);
    words_free(&t->names);
    numbers_free(&t->pair);
    memory_free_all(t->file, t->json, t->id_of, t->arena, t->name, t->shown, t->shown_bytes,
                    t->shown_text, t->merge, t->prefix, t->unknown_name, t->added, t);
}
