/* tokenizer_read_steps.c: the steps before the model of a tokenizer.json (tokenizer_json.h): normalisers and pre-tokenizers. */
#include <nettle/base64.h>
#include <string.h>

#include "kernels/base/scoped.h"
#include "nn/text/tokenizer_json.h"

/* GPT-2's pattern (Radford et al. 2019, in their code). */
#define GPT2_PATTERN \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
/* Words, and what else is no blank: \w and \s of the crate `regex` (Unicode Technical Standard 18). */
#define WORD_PATTERN                                            \
    "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200c}\\x{200d}]+|" \
    "[^\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200c}\\x{200d}\\p{White_Space}]+"

/* ---- normalizer ---------------------------------------------------------------------------------- */

/* The last normaliser; NULL: there is none. */
static Normal *last_normal(Tokenizer *t)
{
    Normal *n = t->normal;
    while (n->kind) n++;
    return n == t->normal ? NULL : n - 1;
}

static int add_normal(Tokenizer *t, int kind, const char *text, const char *with)
{
    Normal *n = t->normal;
    while (n->kind) n++;
    if (n == t->normal + STEPS_MOST - 1) return bad(t, "too many normalisers");
    *n = (Normal){kind, .text = memory_string(text), .with = memory_string(with)};
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

static uint32_t little(const uint8_t *b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static int read_replace(Tokenizer *t, const json_t *o)
{
    const json_t *pattern = json_object_get(o, "pattern");
    const char *text = text_of(pattern, "String"), *regex = text_of(pattern, "Regex");
    if (!*text && !*regex) return unsupported(t, "pattern of the normaliser", "Replace");
    TRY(add_normal(t, NORMAL_REPLACE, text, text_of(o, "content")));
    return *text ? 0 : cut_compile(t->file, regex, PATTERN_ONIGURUMA, &last_normal(t)->code);
}

/* Reads the table of SentencePiece: the bytes of a trie as a number of 4 bytes, the trie, and texts. */
static int read_charts(Tokenizer *t, const json_t *o)
{
    const char *coded = text_of(o, "precompiled_charsmap");
    struct base64_decode_ctx c;
    size_t bytes = BASE64_DECODE_LENGTH(strlen(coded));
    SCOPED(memory_drop) uint8_t *all = memory_new(bytes + 1, 1);
    if (!all) return ERR_MEMORY;
    base64_decode_init(&c);
    int is = base64_decode_update(&c, &bytes, all, strlen(coded), coded) && base64_decode_final(&c);
    size_t trie = is && bytes > 4 ? little(all) : 0;
    if (trie < 4 || trie % 4 || trie > bytes - 4)
        return bad(t, "the precompiled_charsmap of its normaliser is none");
    TRY(add_normal(t, NORMAL_CHARTS, "", ""));
    Charts *charts = &last_normal(t)->charts;
    charts->units = trie / 4;
    charts->bytes = bytes - 4 - trie;
    charts->unit = memory_new(charts->units, sizeof *charts->unit);
    charts->text = memory_new(charts->bytes + 1, 1);
    if (!charts->unit || !charts->text) return ERR_MEMORY;
    for (size_t i = 0; i < charts->units; i++) charts->unit[i] = little(all + 4 + 4 * i);
    memcpy(charts->text, all + 4 + trie, charts->bytes);
    return 0;
}

/* Notes that the model's characters stand for bytes. */
static int once_bytes(Tokenizer *t)
{
    if (t->bytes++) return bad(t, "ByteLevel stands twice among its steps");
    return 0;
}

/* Sequences are one deep: a sequence inside another is refused. */
static int read_normal(Tokenizer *t, const json_t *o, int inside)
{
    static const struct {
        const char *name;
        int kind;
    } plain[] = {{"NFC", NORMAL_NFC},   {"NFD", NORMAL_NFD},         {"NFKC", NORMAL_NFKC},
                 {"NFKD", NORMAL_NFKD}, {"Lowercase", NORMAL_LOWER}, {"StripAccents", NORMAL_MARKS},
                 {"Nmt", NORMAL_NMT},   {"ByteLevel", NORMAL_BYTES}};
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
    if (strcmp(type, "Precompiled") == 0) return read_charts(t, o);
    if (strcmp(type, "Strip") == 0)
        return add_normal(t, NORMAL_TRIM, flag_of(o, "strip_left", 1) ? "left" : "",
                          flag_of(o, "strip_right", 1) ? "right" : "");
    for (i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(type, plain[i].name) == 0) {
            if (plain[i].kind == NORMAL_BYTES) TRY(once_bytes(t));
            return add_normal(t, plain[i].kind, "", "");
        }
    return unsupported(t, "normaliser", type);
}

/* ---- pre_tokenizer ------------------------------------------------------------------------------- */

/* Returns the new one; NULL: ERR_INPUT. */
static Cut *add_cut(Tokenizer *t, Cut cut)
{
    Cut *c = t->cut;
    while (c->kind) c++;
    if (c == t->cut + STEPS_MOST - 1) return bad(t, "too many pre-tokenizers"), NULL;
    t->raw = cut.kind == CUT_BYTES;
    *c = cut;
    return c;
}

static int read_bytes(Tokenizer *t, const json_t *o)
{
    TRY(once_bytes(t));
    Cut *c = add_cut(t, (Cut){CUT_BYTES});
    if (!c) return ERR_INPUT;
    c->prefix = flag_of(o, "add_prefix_space", 1) ? PREFIX_ALWAYS : PREFIX_NEVER;
    return flag_of(o, "use_regex", 1)
               ? cut_compile(t->file, GPT2_PATTERN, PATTERN_ONIGURUMA, &c->code)
               : 0;
}

/* What becomes of matches; -1: ERR_INPUT. */
static int behavior_of(const Tokenizer *t, const json_t *o, const char *otherwise)
{
    static const char *const names[] = {[BEHAVIOR_ISOLATED] = "Isolated",
                                        [BEHAVIOR_REMOVED] = "Removed",
                                        [BEHAVIOR_PREVIOUS] = "MergedWithPrevious",
                                        [BEHAVIOR_NEXT] = "MergedWithNext",
                                        [BEHAVIOR_CONTIGUOUS] = "Contiguous"};
    const char *name = json_object_get(o, "behavior") ? text_of(o, "behavior") : otherwise;
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(name, names[i]) == 0) return i;
    return unsupported(t, "behavior of a pre-tokenizer", name), -1;
}

/* Adds a cut at the matches of a pattern (form: PATTERN_*). */
static int add_split(Tokenizer *t, const char *pattern, int form, int behavior, int invert)
{
    Cut *c =
        behavior < 0 ? NULL : add_cut(t, (Cut){CUT_SPLIT, .behavior = behavior, .invert = invert});
    return c ? cut_compile(t->file, pattern, form, &c->code) : ERR_INPUT;
}

static int read_split(Tokenizer *t, const json_t *o)
{
    const json_t *pattern = json_object_get(o, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex")),
               *literal = json_string_value(json_object_get(pattern, "String"));
    if (!regex && !(literal && *literal)) return bad(t, "Split has no pattern");
    return add_split(t, regex ? regex : literal, regex ? PATTERN_ONIGURUMA : PATTERN_TEXT,
                     behavior_of(t, o, ""), flag_of(o, "invert", 0));
}

/* Tells whether a normaliser or an earlier pre-tokenizer puts text before a text. */
static int puts_before(const Tokenizer *t)
{
    int is = 0;
    for (const Normal *n = t->normal; n->kind; n++) is |= n->kind == NORMAL_PREPEND;
    for (const Cut *c = t->cut; c->kind; c++) is |= c->kind == CUT_BYTES && c->prefix;
    return is;
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
    if (c->prefix == PREFIX_FIRST && puts_before(t)) /* of whose pieces two may begin the text */
        return unsupported(t, "prepend_scheme", "first behind what puts text before a text");
    c->text = memory_string(METASPACE);
    return c->text ? 0 : ERR_MEMORY;
}

static int add_kind(Tokenizer *t, int kind, int behavior)
{
    return behavior >= 0 && add_cut(t, (Cut){kind, .behavior = behavior}) ? 0 : ERR_INPUT;
}

static int read_bert_cuts(Tokenizer *t)
{
    TRY(add_kind(t, CUT_BLANKS, BEHAVIOR_REMOVED));
    return add_kind(t, CUT_PUNCTUATION, BEHAVIOR_ISOLATED);
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
    if (strcmp(type, "WhitespaceSplit") == 0) return add_kind(t, CUT_BLANKS, BEHAVIOR_REMOVED);
    if (strcmp(type, "Whitespace") == 0)
        return add_split(t, WORD_PATTERN, PATTERN_PCRE2, BEHAVIOR_REMOVED, 1);
    if (strcmp(type, "Punctuation") == 0)
        return add_kind(t, CUT_PUNCTUATION, behavior_of(t, o, "Isolated"));
    if (strcmp(type, "CharDelimiterSplit") == 0 && *text_of(o, "delimiter"))
        return add_split(t, text_of(o, "delimiter"), PATTERN_TEXT, BEHAVIOR_REMOVED, 0);
    if (strcmp(type, "Digits") == 0)
        return add_kind(t, CUT_DIGITS,
                        flag_of(o, "individual_digits", 0) ? BEHAVIOR_ISOLATED
                                                           : BEHAVIOR_CONTIGUOUS);
    return unsupported(t, "pre-tokenizer", type);
}

int tokenizer_read_steps(Tokenizer *t, const json_t *root)
{
    TRY(read_normal(t, json_object_get(root, "normalizer"), 0));
    return read_cut(t, json_object_get(root, "pre_tokenizer"), 0);
}
