/* over.c: writes the text of a scheme over another operator.
 *
 * A scheme over H is written once and can be taken over L, or over one sublayer alone: the ODE Transformer's
 * ablation of the function F(., .) of its block (Li et al. 2022, section 5.2, figure 4: SAN, FFN, or both). A layer
 * keeps both sublayers; the one that the scheme is not over takes its own Euler sub-step, attention before,
 * feed-forward behind, as in the Transformer layer:
 *
 *   over F   y* = the scheme over F,       y' = y* + G(y*)
 *   over G   y* = y + F(y),                y' = the scheme over G from y*
 *
 * A decoder layer has cross-attention C behind each attention F (Vaswani et al. 2017, section 3.1), so a scheme
 * becomes a decoder's by A(x) = F(x) + C(x + F(x)) in the place of every F, and a flow of F by that of F and then
 * that of C over the same time.
 *
 * An estimate of the error (error = ...) keeps the same slopes: over one sublayer it estimates that sublayer's
 * part.
 *
 * The text is rewritten word by word, so that the result is again a scheme in the language. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "ode/scheme/scheme.h"

static int only_operator(const Table *t)
{
    for (size_t i = 1; i < t->stages; i++)
        if (t->stage[i].op != t->stage[0].op) return -1;
    return t->stages > 0 ? t->stage[0].op : -1;
}

static int check(const Table *t, int op, const char *name)
{
    int from = only_operator(t);
    if (table_phi(t))
        return error_set(ERR_INPUT,
                         "'%s': an exponential scheme has no form over other operators; write its "
                         "text with them",
                         name);
    if (op == OP_A && t->colours == 2) return 0;
    if (op == OP_A)
        return error_set(ERR_INPUT, "'%s': '%s' is a decoder's scheme already", name, t->name);
    if (op == OP_L && from != OP_H)
        return error_set(ERR_INPUT, "'%s': only a scheme over H has a form over L; '%s' is none",
                         name, t->name);
    if (from != OP_H && from != OP_L)
        return error_set(ERR_INPUT,
                         "'%s': only a scheme all of whose stages are H, or all L, has a form over "
                         "one sublayer; '%s' is none",
                         name, t->name);
    if (op != OP_L && (t->past_y > 0 || t->dense))
        return error_set(ERR_INPUT,
                         "'%s': a scheme that reads past states steps both operators or none; '%s' "
                         "does",
                         name, t->name);
    return 0;
}

/* How a text is rewritten: its operator `from` becomes `to`; over G, the state becomes y + k1 and
 * slopes count on. */
typedef struct {
    char from, to;
    int shift; /* 1 over G */
    FILE *f;
} Rewrite;

static void put_word(const Rewrite *r, const char *word, size_t n, char next)
{
    size_t digits = strspn(word + 1, "0123456789");
    if (word[0] == r->from && digits == n - 1)
        fprintf(r->f, "%c%.*s", r->to, (int)(n - 1), word + 1);
    else if (r->shift && word[0] == 'k' && n > 1 && digits == n - 1)
        fprintf(r->f, "k%lu", strtoul(word + 1, NULL, 10) + 1);
    else if (r->shift && word[0] == 'y' && n == 1 && next != '\'')
        fputs("(y + k1)", r->f);
    else
        fprintf(r->f, "%.*s", (int)n, word);
}

static void put_words(const Rewrite *r, const char *at, const char *end)
{
    while (at < end) {
        size_t n = 0;
        while (at + n < end && (isalnum((unsigned char)at[n]) || at[n] == '_' || at[n] == '.')) n++;
        if (n == 0)
            fputc(*at++, r->f);
        else if (isalpha((unsigned char)*at))
            put_word(r, at, n, at[n]);
        else
            fprintf(r->f, "%.*s", (int)n, at);
        at += n;
    }
}

static void put_update(const Rewrite *r, const Table *t, const char *row, const char *end)
{
    fprintf(r->f, "k%zu = G(", t->stages + 1);
    put_words(r, row, end);
    fprintf(r->f, ")\ny' = ");
    put_words(r, row, end);
    fprintf(r->f, " + k%zu\n", t->stages + 1);
}

static int is_header(const char *line)
{
    static const char *const word[] = {"scheme", "title", "source", "note", "start", "field"};
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (strncmp(line, word[i], strlen(word[i])) == 0) return 1;
    return 0;
}

static void put_title(const char *line, const char *end, int op, FILE *f)
{
    static const char *const words[] = {[OP_F] = ", over F, then G by Euler",
                                        [OP_G] = ", over G, after F by Euler",
                                        [OP_L] = ", over L",
                                        [OP_A] = ", with cross-attention behind attention"};
    fprintf(f, "%.*s%s\n", (int)(end - line), line, words[op]);
}

/* Writes `decoder` before the first line of the body; a flow of F, then that of C: returns 1. */
static int put_decoder(const char *at, const char *end, int begun, FILE *f)
{
    const char *F = memchr(at, 'F', (size_t)(end - at));
    if (!begun) fputs("decoder\n", f);
    if (strncmp(at, "flow ", 5) != 0 || !F) return 0;
    fprintf(f, "%.*s\n%.*sC%.*s\n", (int)(end - at), at, (int)(F - at), at, (int)(end - F - 1),
            F + 1);
    return 1;
}

/* Writes field a F b G; cross-attention comes as often as attention. */
static void put_field(const char *line, const char *end, int op, FILE *f)
{
    const char *F = memchr(line, 'F', (size_t)(end - line));
    fprintf(f, "%.*s", (int)(F + 1 - line), line);
    if (op == OP_A) fprintf(f, " %.*sC", (int)(F - line - 6), line + 6);
    fprintf(f, "%.*s\n", (int)(end - F - 1), F + 1);
}

static void put_text(const Rewrite *r, const Table *t, int op, const char *text)
{
    int begun = 0;
    for (const char *at = text, *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        int header = is_header(at);
        int done = !header && op == OP_A && put_decoder(at, end, begun, r->f);
        if (!header && !begun && r->shift) fputs("k1 = F(y)\n", r->f);
        begun |= !header;
        if (done) continue;
        if (strncmp(at, "title", 5) == 0)
            put_title(at, end, op, r->f);
        else if (strncmp(at, "field", 5) == 0)
            put_field(at, end, op, r->f);
        else if (header)
            fprintf(r->f, "%.*s\n", (int)(end - at), at);
        else if (op == OP_F && strncmp(at, "y' = ", 5) == 0)
            put_update(r, t, at + 5, end);
        else {
            put_words(r, at, end);
            fputc('\n', r->f);
        }
    }
}

int scheme_over(const Table *written, int op, const char *name, FILE *f)
{
    const Table *t = table_whole(written);
    TRY(check(t, op, name));
    char *text = NULL;
    size_t bytes;
    FILE *m = open_memstream(&text, &bytes);
    if (!m) return error_set(ERR_MEMORY, "out of memory");
    int code = table_print(written, m);
    if (fclose(m) != 0 && code == 0) code = error_set(ERR_MEMORY, "out of memory");
    int from = op == OP_A ? OP_F : only_operator(t);
    Rewrite r = {table_letters[from], table_letters[op], op == OP_G, f};
    if (code == 0) put_text(&r, t, op, text);
    free(text);
    return code;
}
