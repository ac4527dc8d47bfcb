/* detokenise.c: joins words to a text (tokenise.h). Each word stands behind a blank unless it, or the word before, takes
 * that away. */
#include <string.h>
#include <unictype.h>

#include "kernels/base/error.h"
#include "studies/model/metrics/tokenise.h"

enum { LOW_QUOTE = 0x201E, HIGH_QUOTE = 0x201C, RIGHT_QUOTE = 0x201D };

typedef struct {
    const uint32_t *x;
    size_t n;
} Token;

/* Words of quotation marks that are counted apart in a line. Further ones are counted with the last. */
enum { QUOTES = 16 };

typedef struct {
    int how;
    Token before, next; /* n 0: none */
    size_t quotes;
    struct {
        Token word;
        size_t times;
    } quote[QUOTES];
    int joins; /* the word before takes the blank behind it away */
} Joining;

/* Tells whether a character is of Chinese, Japanese or Korean, between whose words stands no blank. */
static int is_east(uint32_t c)
{
    static const uint32_t range[][2] = {{0x1100, 0x11FF}, {0x2E80, 0xA4CF},  {0xA840, 0xA87F},
                                        {0xAC00, 0xD7AF}, {0xF900, 0xFAFF},  {0xFE30, 0xFE4F},
                                        {0xFF65, 0xFFDC}, {0x20000, 0x2FFFF}};
    int is = 0;
    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        is |= c >= range[i][0] && c <= range[i][1];
    return is;
}

static int is_letter(uint32_t c)
{
    return uc_is_property_alphabetic(c);
}

/* Returns 1 where every character is in `ascii` or, with `currency`, one of that. */
static int all_in(const Token *w, const char *ascii, int currency)
{
    for (size_t i = 0; i < w->n; i++) {
        uint32_t c = w->x[i];
        int in = (c < 0x80 && strchr(ascii, (int)c)) ||
                 (currency && (c == 0xBF || c == 0xA1 || /* the Spanish marks */
                               uc_is_general_category_withtable(c, UC_CATEGORY_MASK_Sc)));
        if (!in) return 0;
    }
    return 1;
}

/* Returns how often a word of quotation marks stood in the line so far, to be counted on; NULL: the word is none. Curved
 * marks count as '"'. */
static size_t *quote_times(Joining *j, Token w)
{
    static const uint32_t typewritten[] = {'"'};
    int curved = 1;
    size_t i = 0;
    for (size_t k = 0; k < w.n; k++) {
        int c = w.x[k] == LOW_QUOTE || w.x[k] == HIGH_QUOTE;
        if (!c && w.x[k] != '\'' && w.x[k] != '"' && w.x[k] != '`') return NULL;
        curved &= c;
    }
    if (curved) w = (Token){typewritten, 1};
    while (i < j->quotes &&
           (j->quote[i].word.n != w.n || memcmp(j->quote[i].word.x, w.x, w.n * sizeof *w.x) != 0))
        i++;
    if (i == j->quotes && i < QUOTES) j->quote[j->quotes++].word = w;
    return &j->quote[i < QUOTES ? i : QUOTES - 1].times;
}

/* Tells for a word whether a blank before it goes, and, in *joins, whether that behind it does. */
static int loses_blank(Joining *j, const Token *w, int *joins)
{
    const Token *b = &j->before;
    int last_of_word = w->n > 1 && w->x[w->n - 1] == '\'';
    *joins = 0;
    if (w->n == 0) return 0;
    if (is_east(w->x[0])) return b->n && is_east(b->x[b->n - 1]);
    if (all_in(w, "$([{", 1)) return !(*joins = 1);
    if (all_in(w, ",.?!:;\\%})]", 0)) {
        int stays = j->how == TOKENIZE_FR && w->n == 1 && strchr("?!:;\\%", (int)w->x[0]);
        j->joins &= !stays;
        return !stays;
    }
    if (j->how == TOKENIZE_EN && w->n > 1 && w->x[0] == '\'' && is_letter(w->x[1]) && b->n)
        return is_letter(b->x[b->n - 1]) ||
               uc_is_general_category_withtable(b->x[b->n - 1], UC_CATEGORY_MASK_Nd);
    if (j->how == TOKENIZE_FR && last_of_word && is_letter(w->x[w->n - 2]) && j->next.n &&
        is_letter(j->next.x[0]))
        return !(*joins = 1);
    size_t *times = quote_times(j, *w);
    if (!times) return 0;
    int opens = *times % 2 == 0, single = w->n == 1 && w->x[0] == '\'';
    if (opens && j->how == TOKENIZE_EN && single && b->n && b->x[b->n - 1] == 's') return 1;
    ++*times;
    *joins = opens;
    return !opens;
}

/* Puts a blank at both ends, as the rules have it, and makes '-' of each " @-@ ". */
static int join_hyphens(Symbols *text)
{
    static const char mark[] = " @-@ ";
    size_t n = 0, k;
    TRY(symbols_room(text, text->n + 2));
    memmove(text->x + 1, text->x, text->n * sizeof *text->x);
    text->n += 2;
    text->x[0] = text->x[text->n - 1] = ' ';
    for (size_t i = 0; i < text->n; i += k < 5 ? 1 : 5) {
        for (k = 0; k < 5 && i + k < text->n && text->x[i + k] == (uint32_t)mark[k];) k++;
        text->x[n++] = k < 5 ? text->x[i] : '-';
    }
    text->n = n;
    return 0;
}

/* Makes characters of Moses' escapes, also of those that are out of use; "&amp;" last. */
static void unescape(Symbols *text)
{
    static const struct {
        const char *word;
        uint32_t character;
    } escapes[] = {{"&bar;", '|'}, {"&#124;", '|'}, {"&lt;", '<'},   {"&gt;", '>'},
                   {"&bra;", '['}, {"&ket;", ']'},  {"&quot;", '"'}, {"&apos;", '\''},
                   {"&#91;", '['}, {"&#93;", ']'},  {"&amp;", '&'}};
    for (size_t k = 0; k < sizeof escapes / sizeof *escapes; k++)
        tokenise_replace(text, escapes[k].word, escapes[k].character);
}

static Token word_at(const Symbols *text, size_t at)
{
    size_t end = at;
    while (end < text->n && text->x[end] != ' ') end++;
    return (Token){text->x + at, end - at};
}

/* Makes one blank of several, and none at the ends. */
static void single_blanks(Symbols *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->n; i++)
        if (text->x[i] != ' ' || (n && text->x[n - 1] != ' ')) text->x[n++] = text->x[i];
    text->n = n && text->x[n - 1] == ' ' ? n - 1 : n;
}

/* Tells whether a line stays as it is: <...>, or blanks alone. */
static int stays(const Symbols *text)
{
    size_t n = text->n, i = 0;
    while (i < n && uc_is_property_white_space(text->x[i])) i++;
    return i == n || (n > 2 && text->x[0] == '<' && text->x[n - 1] == '>');
}

int detokenise(int how, Symbols *text, Symbols *room)
{
    Joining j = {.how = how, .joins = 1};
    if (stays(text)) return 0;
    TRY(join_hyphens(text));
    unescape(text);
    room->n = 0;
    TRY(symbols_room(room, 2 * text->n + 1));
    for (size_t at = 0; at < text->n;) {
        Token w = word_at(text, at);
        int joins;
        at += w.n + 1;
        j.next = at < text->n ? word_at(text, at) : (Token){0};
        int loses = loses_blank(&j, &w, &joins);
        if (!loses && !j.joins) room->x[room->n++] = ' ';
        memcpy(room->x + room->n, w.x, w.n * sizeof *w.x);
        room->n += w.n;
        j.before = w;
        j.joins = joins;
    }
    single_blanks(room);
    Symbols done = *room;
    *room = *text;
    *text = done;
    return 0;
}
