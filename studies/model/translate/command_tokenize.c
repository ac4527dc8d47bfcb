/* command_tokenize.c: cuts lines into words and joins words to lines, from standard input to standard output. */
#include <stdio.h>
#include <unistr.h>

#include "studies/model/metrics/lines.h"
#include "studies/model/metrics/tokenise.h"
#include "studies/base/command.h"

static void print_line(const Symbols *s, FILE *f)
{
    uint8_t bytes[4];
    for (size_t i = 0; i < s->n; i++) {
        int n = u8_uctomb(bytes, s->x[i], sizeof bytes);
        fwrite(bytes, 1, (size_t)n, f); /* whoever closes f checks the result */
    }
    fputc('\n', f);
}

static int each_line(const Options *o, const Lines *l, FILE *f)
{
    int how = options_choice(o, "rules"), joins = options_flag(o, "detokenize"), code = 0;
    Symbols text = {0}, room = {0};
    for (size_t i = 0; i < l->count && code == 0; i++) {
        code = tokenise_read(l->line[i].text, l->line[i].bytes, options_flag(o, "lowercase"), &text,
                             &room);
        if (code == 0) code = (joins ? detokenise : tokenise)(how, &text, &room);
        if (code == 0) print_line(&text, f);
        if (progress_due()) progress_of(i, l->count, "%zu of %zu lines", i, l->count);
    }
    progress_clear();
    symbols_free(&text);
    symbols_free(&room);
    return code;
}

static int run(Options *o)
{
    const char *file = options_text(o, "out");
    SCOPED(lines_free) Lines l = {0};
    Output out;
    if (options_flag(o, "detokenize") && options_choice(o, "rules") < TOKENIZE_EN)
        return error_set(ERR_INPUT, "--detokenize has --rules en, de and fr");
    TRY(output_check_file(file));
    TRY(lines_read(options_text(o, "text"), &l));
    TRY(output_begin(&out, file));
    return output_end(&out, each_line(o, &l, out.f), file);
}

const Command command_tokenize = {
    .name = "tokenize",
    .purpose = "cut lines into words, or join words to lines",
    .about =
        "Writes each line with single blanks between its words. en, de and fr are the rules of Moses' tokenizer.perl\n"
        "without its escapes (its lists of abbreviations are longer), and with --detokenize those of\n"
        "detokenizer.perl, which reads escapes too. 13a is what BLEU counts; it cannot be undone.\n"
        "\n"
        "    trotter tokenize --rules de --lowercase < train.txt > train.de\n"
        "    trotter translate --model out/en-de < test.en | trotter tokenize --rules de --detokenize\n",
    .example = "--rules de < train.txt > train.de",
    .groups = GROUPS(OPTION_GROUP(
        "Words", 0,
        {"rules", OPTION_CHOICE, "en", TOKENIZE_ALL,
         "Moses' rules of a language, or BLEU's 13a, or none (at white space)"},
        {"detokenize", OPTION_FLAG, NULL, NULL, "join words to a text, by the rules of a language"},
        {"lowercase", OPTION_FLAG, NULL, NULL, "write lower case"},
        {"text", OPTION_TEXT, LINES_STDIN, "FILE", "the text (-: standard input)"},
        {"out", OPTION_TEXT, NULL, "FILE", "file to write (default: standard output)"})),
    .one_file = 1,
    .run = run,
};
