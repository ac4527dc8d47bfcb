/* terms.c: reads sums of terms from texts, "1/12 [F,[F,G]] - 1/24 [[F,G],G]" or "-1/2 F'G; .5 G'F".
 *
 *   sum  = [ term { ( '+' | '-' | ';' ) term } [ ';' ] ] | '0'
 *   term = [ '+' | '-' ] [ product ] NAME
 *
 * A product is that of expression.c: 1/2, .5, 2/4, (1+1/3)/2. The caller knows what a NAME is: a tree (tree.c) or a
 * commutator (bracket.c). Blanks may stand between any two of these. */
#include "kernels/base/error.h"
#include "ode/scheme/lexer.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/theory.h"

#include <string.h>

static int parser_open(const char *text, Parser *p)
{
    *p = (Parser){.cursor = {.file = "claim", .line = 1, .begin = text, .at = text}};
    p->cursor.end = text + strlen(text);
    p->table = table_new("");
    return p->table ? 0 : ERR_MEMORY;
}

static int read_term(Parser *p, TermReader *read, void *to, mpq_t c)
{
    Cursor *at = &p->cursor;
    int minus = cursor_take(at, "-");
    if (!minus) cursor_take(at, "+");
    cursor_blanks(at);
    mpq_set_ui(c, 1, 1);
    if (at->at < at->end && strchr("-.(0123456789", *at->at)) TRY(expression_product(p, c));
    if (minus) mpq_neg(c, c);
    cursor_blanks(at);
    return mpq_sgn(c) == 0 && at->at == at->end ? 0 : read(to, at, c);
}

int terms_read(const char *text, TermReader *read, void *to)
{
    TABLE(table);
    Parser p;
    Cursor *at = &p.cursor;
    RATIONAL(c);
    TRY(parser_open(text, &p));
    table = p.table;
    cursor_blanks(at);
    while (at->at < at->end) {
        TRY(read_term(&p, read, to, c));
        cursor_blanks(at);
        if (at->at < at->end && !cursor_take(at, ";") && !strchr("+-", *at->at))
            return cursor_error(at, "expected +, - or ; behind a term");
        cursor_blanks(at);
    }
    return 0;
}

int terms_number(const char *text, mpq_t out)
{
    Parser p;
    TRY(parser_open(text, &p));
    int code = expression_product(&p, out);
    if (code == 0) code = cursor_end(&p.cursor, "a number alone");
    table_free(p.table);
    return code;
}
