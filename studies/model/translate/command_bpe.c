/* command_bpe.c: learns subwords from texts and cuts texts into subwords, for other programs and by hand. A training
 * does both by itself (--bpe). */
#include <stdio.h>
#include <string.h>

#include "nn/text/corpus.h"
#include "studies/base/command.h"

/* All given texts. */
typedef struct {
    BpeText *text;
    size_t count;
} Texts;

/* Drops the '\r' of every "\r\n", and of an end of the text. Returns the bytes that are left. */
static size_t drop_returns(char *text, size_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        if (text[i] != '\r' || (i + 1 < bytes && text[i + 1] != '\n')) text[n++] = text[i];
    return n;
}

static int texts_read(const Options *o, Texts *t)
{
    size_t n = 0;
    while (options_item(o, "text", n)) n++;
    t->count = n ? n : 1;
    t->text = memory_new(t->count, sizeof *t->text);
    if (!t->text) return ERR_MEMORY;
    for (size_t i = 0; i < t->count; i++) {
        const char *file = n ? options_item(o, "text", i) : "/dev/stdin";
        char *bytes;
        TRY(read_text(file, &bytes, &t->text[i].count));
        if (!options_flag(o, "byte-level"))
            t->text[i].count = drop_returns(bytes, t->text[i].count);
        t->text[i].bytes = bytes;
        t->text[i].file = n ? file : "standard input";
    }
    return 0;
}

static void tell(size_t merges, size_t all)
{
    progress_of(merges, all, "%zu of %zu merges learned", merges, all);
}

static int learn_bytes(const Texts *t, size_t merges, FILE *f)
{
    char *json;
    progress_show("the texts are cut in pieces");
    TRY(tokenizer_learn(t->text, t->count, merges, tell, &json));
    fputs(json, f);
    memory_free(json);
    return 0;
}

static int learn(const Texts *t, size_t merges, FILE *f)
{
    SCOPED(bpe_drop) Bpe *b = NULL;
    SCOPED(memory_drop) char *text = NULL;
    size_t bytes;
    TRY(bpe_learn(t->text, t->count, merges, tell, &b));
    if (bpe_merges(b) < merges)
        notice_warn("%zu merges, not %zu: no other pair of symbols is there twice", bpe_merges(b),
                    merges);
    TRY(bpe_print(b, &text, &bytes));
    fwrite(text, 1, bytes, f); /* whoever closes f checks the result */
    return 0;
}

static int apply(const Texts *t, const char *codes, FILE *f)
{
    SCOPED(bpe_drop) Bpe *b = NULL;
    TRY(bpe_read(codes, &b));
    for (size_t i = 0; i < t->count; i++) {
        SCOPED(memory_drop) char *pieces = NULL;
        size_t bytes;
        TRY(bpe_apply(b, NULL, &t->text[i], &pieces, &bytes));
        fwrite(pieces, 1, bytes, f);
    }
    return 0;
}

static void undo(const Texts *t, FILE *f)
{
    for (size_t i = 0; i < t->count; i++) {
        char *line = (char *)t->text[i].bytes, *end = line + t->text[i].count;
        while (line < end) {
            char *stop = memchr(line, '\n', (size_t)(end - line));
            size_t bytes = (size_t)((stop ? stop : end) - line);
            fwrite(line, 1, bpe_join(line, bytes), f);
            if (stop) fputc('\n', f);
            line += bytes + 1;
        }
    }
}

static int work(const Options *o, FILE *f)
{
    Texts t = {0};
    int code = texts_read(o, &t);
    if (code == 0 && options_size(o, "learn"))
        code =
            (options_flag(o, "byte-level") ? learn_bytes : learn)(&t, options_size(o, "learn"), f);
    else if (code == 0 && options_text(o, "codes"))
        code = apply(&t, options_text(o, "codes"), f);
    else if (code == 0)
        undo(&t, f);
    for (size_t i = 0; t.text && i < t.count; i++) memory_free((char *)t.text[i].bytes);
    memory_free(t.text);
    return code;
}

static int run(Options *o)
{
    const char *file = options_text(o, "out");
    TRY(options_needs(o));
    int learns = options_size(o, "learn") > 0, applies = options_text(o, "codes") != NULL;
    if (learns + applies + options_flag(o, "undo") != 1)
        return error_set(ERR_INPUT, "expected one of --learn N, --codes FILE and --undo");
    Output out;
    TRY(output_check_file(file));
    TRY(output_begin(&out, file));
    return output_end(&out, work(o, out.f), file);
}

const Command command_bpe = {
    .name = "bpe",
    .purpose = "learn subwords, and cut texts into them",
    .about =
        "Learns and applies byte-pair encoding (Sennrich, Haddow, Birch 2016), with the file format and the\n"
        "results of subword-nmt, byte for byte, but a line that ends in CR LF then ends in LF. Codes are those of\n"
        "0.2, or of 0.1 where they name no version. A text is UTF-8, with blanks between words; \"low@@ er\" are two\n"
        "pieces of one word. A word of the text that ends in @@ looks like a piece: --undo joins it with the next one.\n"
        "\n"
        "    trotter bpe --codes codes.bpe < test.en > pieces.en\n"
        "    trotter bpe --undo < pieces.en\n"
        "    trotter bpe --learn 8000 --byte-level --text book.txt --out tokenizer.json\n"
        "\n"
        "'trotter train --source en --target de --bpe 10000' learns and cuts by itself, and keeps the merges in\n"
        "DIR/codes.bpe.\n",
    .example = "--learn 10000 --text train.en --text train.de --out codes.bpe",
    .faster = "lower --learn",
    .groups = GROUPS(OPTION_GROUP(
        "Subwords", 0,
        {"learn", OPTION_SIZE, NULL, "N", "learn N merges from the texts, joined in their order", 1,
         1e7},
        {"byte-level", OPTION_FLAG, NULL, NULL,
         "learn merges of bytes within GPT-2's pieces of the text as it stands, and write a tokenizer.json, for "
         "'trotter train --tokenizer' and other programs",
         .needs = "learn"},
        {"codes", OPTION_TEXT, NULL, "FILE",
         "cut the words of the texts into pieces by the merges in FILE"},
        {"undo", OPTION_FLAG, NULL, NULL, "join the pieces of the texts into words again"},
        {"text", OPTION_LIST, NULL, "FILE", "a text (default: standard input)"},
        {"out", OPTION_TEXT, NULL, "FILE", "file to write (default: standard output)"})),
    .one_file = 1,
    .run = run,
};
