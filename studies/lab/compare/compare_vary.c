/* compare_vary.c: --vary OPTION=A,B,...: the options of `trotter train` that a comparison varies beside schemes and layers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/lab/compare/compare.h"
#include "studies/model/network.h"

enum { VARIED_MOST = 5 }; /* the others of SPEC_OPTIONS are for --tune */

/* Returns the option of the model or of training that has this name or alias and decides a training; NULL: none does. What the
 * text is read as, which all runs share, cannot differ: --objective masked marks it. --best bleu is of pairs alone. */
static const Option *find_option(const char *name)
{
    static const char *const fixed[] = {"objective", "best"};
    const Option *p = option_named(GROUPS(&network_model_group, &network_training_group), name);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(name, fixed[i]) == 0) return NULL;
    int single = p && (p->type == OPTION_FLAG || p->type == OPTION_SIZE || p->type == OPTION_REAL ||
                       p->type == OPTION_CHOICE || p->type == OPTION_TEXT);
    return single && !(p->flags & OPTION_MAY_DIFFER) ? p : NULL;
}

/* Splits "OPTION=A,B": the name, and where the values begin; NULL without a '='. */
static const char *split(const char *item, char name[64])
{
    const char *is = strchr(item, '=');
    snprintf(name, 64, "%.*s", (int)strcspn(item, "="), item);
    return is ? is + 1 : NULL;
}

/* Writes the i-th of the values; returns 0 past the end. One that is too long is cut, so that it is refused. */
static int value_at(const char *values, size_t i, char out[SPEC_TEXT])
{
    for (; i > 0; i--) {
        values = strchr(values, ',');
        if (!values) return 0;
        values++;
    }
    snprintf(out, SPEC_TEXT, "%.*s", (int)strcspn(values, ","), values);
    return 1;
}

static size_t count_values(const char *values)
{
    char text[SPEC_TEXT];
    size_t n = 0;
    while (value_at(values, n, text)) n++;
    return n;
}

static int is_same(const Option *p, const char *a, const char *b)
{
    int number = p->type == OPTION_SIZE || p->type == OPTION_REAL;
    return number ? strtod(a, NULL) == strtod(b, NULL) : strcmp(a, b) == 0;
}

/* Checks each value as the option itself would, and that none is there twice. */
static int check_values(const Option *p, const char *values)
{
    char text[SPEC_TEXT], other[SPEC_TEXT];
    for (size_t i = 0; value_at(values, i, text); i++) {
        TRY(runs_option("--vary: ", p->name, text));
        for (size_t j = 0; j < i && value_at(values, j, other); j++)
            if (is_same(p, text, other))
                return error_set(ERR_INPUT, "--vary %s: %s is there twice", p->name, text);
    }
    return 0;
}

static int check_item(const Options *o, const char *item)
{
    char name[64];
    const char *values = split(item, name);
    const Option *p = find_option(name);
    if (!values)
        return error_set(ERR_INPUT, "--vary: expected OPTION=A,B,..., as width=64,128, not '%s'",
                         item);
    TRY(runs_option("--vary: ", name, NULL));
    if (!p)
        return error_set(ERR_INPUT,
                         "--vary: --%s cannot be varied: expected an option of the model or of "
                         "training that takes one value; --scheme A,B and --layers 1,2 vary those",
                         name);
    if (runs_tunes(o, p->name))
        return error_set(ERR_INPUT, "--vary %s: --tune chooses it", p->name);
    return check_values(p, values);
}

int compare_vary(const Options *o, size_t *points)
{
    const Option *seen[VARIED_MOST];
    const char *item;
    *points = 1;
    for (size_t i = 0; (item = options_item(o, "vary", i)); i++) {
        char name[64];
        if (i == VARIED_MOST)
            return error_set(ERR_INPUT, "--vary: expected at most %d options", VARIED_MOST);
        TRY(check_item(o, item));
        const char *values = split(item, name);
        seen[i] = find_option(name);
        for (size_t j = 0; j < i; j++)
            if (seen[j] == seen[i])
                return error_set(ERR_INPUT, "--vary: %s is there twice", seen[i]->name);
        *points *= count_values(values);
        if (*points > RUNTABLE_MOST)
            return error_set(ERR_INPUT, "--vary: expected at most %d combinations", RUNTABLE_MOST);
    }
    return 0;
}

Spec compare_point(const Options *o, size_t points, size_t i)
{
    Spec s = {0};
    const char *item;
    for (size_t k = 0; (item = options_item(o, "vary", k)); k++) {
        char name[64], text[SPEC_TEXT];
        const char *values = split(item, name);
        size_t n = count_values(values);
        points /= n;
        if (value_at(values, i / points % n, text))
            spec_set(&s, SPEC_VARIED, find_option(name)->name, text);
    }
    return s;
}
