/* command_score.c: computes log p of given targets, each given its source. */
#include <math.h>
#include <stdio.h>

#include "studies/model/network.h"
#include "studies/base/command.h"

/* A line of the text. */
typedef struct {
    size_t line, tokens; /* from 1; those predicted, <eos> included */
    double log_p, per_token;
} Score;

static const Column columns[] = {COLUMN(Score, line),
                                 COLUMN(Score, tokens),
                                 COLUMN(Score, log_p, .digits = 9),
                                 COLUMN(Score, per_token, .digits = 9),
                                 {0}};

/* Sums log p into score (lines). Sentence k, in the order of the batches, is of line of[k]. */
static int score_batches(Network *n, Batches *b, size_t rows, const size_t *of, Score *score)
{
    SCOPED(memory_drop) double *nll = memory_new(rows, sizeof *nll);
    size_t k = 0;
    if (!nll) return ERR_MEMORY;
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        progress_of(i, batches_count(b), "batch %zu of %zu", i + 1, batches_count(b));
        TRY(batches_get(b, i, &x));
        TRY(model_forward(n->model, &x, 0, 0, nll, NULL));
        for (size_t s = 0; s < x.S; s++, k++)
            for (size_t r = x.start[s]; r < x.start[s + 1]; r++) score[of[k]].log_p -= nll[r];
    }
    progress_clear();
    return 0;
}

static int print_scores(const Options *o, const Score *score, size_t lines, FILE *f)
{
    SCOPED(sheet_drop) Sheet *s = NULL;
    int csv = options_flag(o, "csv");
    if (csv) TRY(sheet_new(columns, &s));
    for (size_t i = 0; i < lines; i++) {
        if (csv)
            sheet_row(s, &score[i]);
        else if (isnan(score[i].log_p))
            fputc('\n', f);
        else
            fprintf(f, "%.9g\n", score[i].log_p);
    }
    return csv ? sheet_write(s, SHEET_CSV, f) : 0;
}

static int write_scores(const Options *o, const Score *score, size_t lines)
{
    const char *file = options_text(o, "out");
    Output out;
    TRY(output_begin(&out, file));
    return output_end(&out, print_scores(o, score, lines, out.f), file);
}

/* Reports which --sequence has room for the longest line of a text that has too long ones. */
static int check_longest(const Text *t, int32_t eos, size_t most)
{
    size_t longest = 0;
    for (size_t i = 0, n = 0; i < t->tokens; i++) {
        n = t->id[i] == eos ? 0 : n + 1;
        if (n + 1 > longest) longest = n + 1;
    }
    if (longest <= most) return 0;
    return error_set(ERR_INPUT,
                     "%s has a line of %zu tokens, <eos> included; --sequence %zu has room for it",
                     t->file, longest, longest);
}

/* Numbers the lines and counts the tokens that are predicted; of (sentences) out: each one's line. An <eos> that is
 * written in a line ends a sentence there. A sentence of <eos> alone is blank and is not predicted, as in batches.c; a
 * line of such sentences has one token. */
static void find_sentences(const Text *t, int32_t eos, Score *score, size_t *of)
{
    size_t line = 0, begun = 0, sentences = 0, w = 0;
    for (size_t i = 0; i < t->tokens; i++) {
        if (t->id[i] != eos) continue;
        size_t tokens = i + 1 - begun;
        begun = i + 1;
        if (tokens > 1) {
            score[line].tokens += tokens;
            of[sentences++] = line;
        }
        if (w < t->writtens && t->written[w] == i) {
            w++;
            continue;
        }
        if (score[line].tokens == 0) score[line] = (Score){.tokens = 1, .log_p = NAN};
        score[line].line = line + 1;
        line++;
    }
}

static int score_lines(Network *n, const Text *t, const Text *source, const size_t *of,
                       Score *score)
{
    const TrainConfig c = network_training(n->options);
    int32_t eos = n->vocab.eos;
    SCOPED(batches_drop) Batches *b = NULL;
    TRY(check_longest(t, eos, c.sequence));
    TRY(check_longest(source, eos, c.sequence));
    TRY(batches_new(t, source, &n->vocab, NULL, CONTEXT_SENTENCE, c.batch_tokens, c.sequence, 0,
                    &b));
    TRY(score_batches(n, b, c.batch_tokens, of, score));
    for (size_t i = 0; i < t->lines; i++)
        score[i].per_token = score[i].log_p / (double)score[i].tokens;
    return 0;
}

/* Scores line by line. A language model begins anew at each sentence, whatever context it was trained on. */
static int score_text(const Options *o, Network *n, const Text *t, const Text *source)
{
    if (n->encoder) TRY(text_sentences(t, n->vocab.eos));
    SCOPED(memory_drop) Score *score = memory_new(t->lines, sizeof *score);
    SCOPED(memory_drop) size_t *of = memory_new(t->lines + t->writtens, sizeof *of);
    if (!score || !of) return ERR_MEMORY;
    find_sentences(t, n->vocab.eos, score, of);
    TRY(score_lines(n, t, source, of, score));
    return write_scores(o, score, t->lines);
}

static int score(const Options *o, Network *n)
{
    const char *file = options_text(o, "source-text"), *dir = options_text(o, "model");
    SCOPED(text_free) Text t = {0}, source = {0};
    if (n->encoder && !file)
        return error_set(ERR_INPUT,
                         "%s is an encoder and a decoder: --source-text FILE is needed too", dir);
    if (!n->encoder && file)
        return error_set(ERR_INPUT, "%s is a language model, which reads no --source-text", dir);
    TRY(texts_read(n, options_text(o, "text"), &t));
    if (file) TRY(texts_source(n, file, &source));
    texts_tell(&t);
    texts_tell(&source);
    return score_text(o, n, &t, &source);
}

static int run(Options *o)
{
    SCOPED(network_free) Network n = {0};
    const char *dir = options_text(o, "model"), *out = options_text(o, "out");
    if (!dir || !options_text(o, "text"))
        return error_set(ERR_INPUT, "--%s is needed", dir ? "text" : "model");
    TRY(output_check_file(out));
    TRY(network_load(dir, o, &n));
    TRY(network_tells_next(&n, dir));
    return score(o, &n);
}

const Command command_score = {
    .name = "score",
    .purpose = "compute log p of given lines, each given its source",
    .about =
        "Writes a number for each line of the text: the sum over its tokens, <eos> included, of ln p of the\n"
        "token given the tokens before it and, for an encoder and a decoder, the source. A blank line gives a\n"
        "blank line. The best translations of 'trotter translate --nbest' have the same sums. A language model takes\n"
        "<eos> inside a line as 'trotter eval --context sentence' does: a sentence ends there, and the line's number\n"
        "is the sum over its sentences.\n",
    .often = "model text source-text device csv out",
    .example = "--model out/en-de --text test.de --source-text test.en",
    .faster = "a shorter --text",
    .groups = GROUPS(
        OPTION_GROUP(
            "Scores", 0, {"model", OPTION_TEXT, NULL, "DIR", "directory of a trained model"},
            {"text", OPTION_TEXT, NULL, "FILE",
             "the targets, or a language model's text, line by line" NETWORK_TEXTS},
            {"source-text", OPTION_TEXT, NULL, "FILE",
             "the sources, line by line, for an encoder and a decoder"},
            {"csv", OPTION_FLAG, NULL, NULL, "write line,tokens,log_p,per_token as CSV"},
            {"out", OPTION_TEXT, NULL, "FILE", "file to write (default: standard output)"},
            {"sequence", OPTION_SIZE, NULL, "T",
             "longest line in tokens, <eos> counted; a longer one is an error (default: as trained)",
             1, 65536},
            {"batch-tokens", OPTION_SIZE, NULL, "N",
             "largest number of tokens in a batch (default: as trained)", 1, 1048576}),
        &network_machine_group),
    .one_file = 1,
    .run = run,
};
