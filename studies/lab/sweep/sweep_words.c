/* sweep_words.c: lists the words that a sweep trains, and finds their theory. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/base/command.h"
#include "studies/lab/sweep/sweep.h"

static const char *const family_name[FAMILIES] = {"interleaved", "permutation", "random",
                                                  "sandwich", "given"};

const char *sweep_family(int family)
{
    return family_name[family];
}

int sweep_is(const SweepWord *w, int family)
{
    return family == FAMILIES || (w->family >> family & 1);
}

/* ---- theory ---------------------------------------------------------------------------------------- */

/* Finds the error of the splitting by exact flows, in brackets and as a norm. */
static int find_splitting(const Table *t, SweepWord *w)
{
    SCOPED(bracket_free) Brackets b = {0};
    Theory theory;
    TRY(bracket_error(t, 3, &b));
    for (size_t i = 0; i < b.count; i++) {
        const struct {
            const char *name;
            double *at;
        } known[] = {{"[F,G]", &w->area}, {"[F,[F,G]]", &w->FFG}, {"[[F,G],G]", &w->FGG}};
        for (size_t k = 0; k < 3; k++)
            if (strcmp(b.bracket[i].name, known[k].name) == 0)
                *known[k].at = table_double(b.bracket[i].c);
    }
    w->order = -1;
    w->norm = NAN;
    if (!w->count[0] || !w->count[1]) return 0; /* one flow composed with itself: no error */
    TRY(theory_search(t, 3, &theory));
    w->order = theory.order;
    w->norm = sqrt(theory.error_norm2);
    return 0;
}

static int find_theory(const Study *u, const char *letters, SweepWord *w)
{
    const size_t *cost = sweep_of(u)->cost;
    char name[TABLE_NAME];
    Table *exact;
    Theory theory;
    snprintf(name, sizeof name, "word:%s:euler", letters); /* as train names it */
    TRY(zoo_find(&u->schemes.zoo, name, "euler", &w->scheme));
    snprintf(name, sizeof name, "word:%s:exact", letters);
    TRY(zoo_find(&u->schemes.zoo, name, "exact", &exact));
    int code = find_splitting(exact, w);
    table_free(exact);
    TRY(code);
    TRY(theory_search(w->scheme, 3, &theory));
    w->order_trained = theory.order;
    w->euler_norm = sqrt(theory.error_norm2);
    double most = 0.5 * (double)w->count[0] * (double)w->count[1];
    w->share = most > 0 ? w->area / most : NAN;
    w->halves = word_halves(letters, (double)cost[0], (double)cost[1]);
    return 0;
}

/* ---- the list -------------------------------------------------------------------------------------- */

static size_t find(const Study *u, const char *letters)
{
    size_t i = 0;
    while (i < u->designs && strcmp(u->design[i].name, letters) != 0) i++;
    return i;
}

static int make_word(Study *u, const char *letters)
{
    StudyDesign *d;
    TRY(study_add(u, letters, &(RunSpec){0}, 0, &d));
    SweepWord *w = d->own;
    w->k = -1;
    for (const char *c = letters; *c; c++) w->count[*c == 'f']++;
    TRY(find_theory(u, letters, w));
    d->spec.stacks.layers = w->scheme;
    spec_set(&d->spec.own, SPEC_OWN, "scheme", w->scheme->name);
    spec_set(&d->spec.own, SPEC_OWN, "layers", options_text(u->options, "layers"));
    return 0;
}

/* Adds a word, or a family to a word that is there. k: -1 except for a sandwich. */
static int add(Study *u, const char *letters, int family, int k)
{
    size_t at = find(u, letters);
    if (at == u->designs) TRY(make_word(u, letters));
    SweepWord *w = u->design[at].own;
    w->family |= 1 << family;
    if (w->k < 0) w->k = k;
    return 0;
}

const SweepWord *sweep_word(const Study *u, size_t i)
{
    return u->design[i].own;
}

const Sweep *sweep_of(const Study *u)
{
    return u->more;
}

/* ---- what is asked for ------------------------------------------------------------------------------- */

/* Makes the i-th draw; returns 1 where it is a word. */
static int draw(const Study *u, int family, uint64_t i, char *word)
{
    uint64_t seed = options_size(u->options, "word-seed");
    const Sweep *of = u->more;
    uint64_t budget = (uint64_t)of->pairs * (of->cost[0] + of->cost[1]);
    if (family == FAMILY_RANDOM) return draw_word(seed, i, of->cost[0], of->cost[1], budget, word);
    draw_permutation(seed, i, of->pairs, word);
    return 1;
}

/* Draws `wanted` different words. A draw that is no word, or was drawn before, is dropped. So a smaller
 * number gives the first words of a larger one. */
static int draw_all(Study *u, int family, size_t wanted)
{
    char word[ZOO_LETTERS + 1];
    size_t found = 0;
    uint64_t tries = 1000 + 200 * (uint64_t)wanted;
    for (uint64_t i = 0; found < wanted && i < tries; i++) {
        if (!draw(u, family, i, word)) continue;
        size_t there = find(u, word);
        if (there < u->designs && sweep_is(sweep_word(u, there), family)) continue;
        TRY(add(u, word, family, -1));
        found++;
    }
    if (found == wanted) return 0;
    return error_set(
        ERR_INPUT, "%zu different %s words of %zu pairs are asked for; %llu draws gave %zu", wanted,
        sweep_family(family), sweep_of(u)->pairs, (unsigned long long)tries, found);
}

static int add_given(Study *u, const char *list)
{
    char word[ZOO_LETTERS + 1];
    if (!list) return 0;
    for (const char *c = list; *c;) {
        size_t n = strcspn(c, ",");
        if (n == 0 || n > ZOO_LETTERS || strspn(c, "sf") != n)
            return error_set(ERR_INPUT,
                             "--words: expected words of 1 to %d letters s (attention) and f "
                             "(feed-forward), separated by commas; '%.*s' is none",
                             ZOO_LETTERS, n < 40 ? (int)n : 40, c);
        snprintf(word, sizeof word, "%.*s", (int)n, c);
        TRY(add(u, word, FAMILY_GIVEN, -1));
        c += n;
        if (*c == ',' && !*++c)
            return error_set(ERR_INPUT, "--words: a word is missing at the end");
    }
    return 0;
}

static int add_sandwiches(Study *u)
{
    char word[ZOO_LETTERS + 1];
    size_t n = sweep_of(u)->pairs;
    for (size_t k = 0; k < n; k++) {
        sandwich_word(n, k, word);
        TRY(add(u, word, FAMILY_SANDWICH, (int)k));
    }
    return 0;
}

/* Sets how often each word is trained, and the names of its families. */
static int finish(Study *u)
{
    for (size_t i = 0; i < u->designs; i++) {
        SweepWord *w = u->design[i].own;
        int often = sweep_is(w, FAMILY_INTERLEAVED) || sweep_is(w, FAMILY_GIVEN);
        size_t n = 0;
        for (int family = 0; family < FAMILIES; family++)
            if (sweep_is(w, family))
                n += (size_t)snprintf(w->families + n, sizeof w->families - n, "%s%s", n ? " " : "",
                                      sweep_family(family));
        TRY(study_seeds(u, &u->design[i],
                        options_size(u->options, often ? "seeds" : "family-seeds")));
    }
    return 0;
}

int sweep_words(Study *u)
{
    const Options *o = u->options;
    Sweep *of = u->more;
    char word[ZOO_LETTERS + 1];
    size_t width = options_size(o, "width");
    *of = (Sweep){options_size(o, "pairs"), /* without biases and norms: 4 d^2, 2 d M */
                  {4 * width * width, 2 * width * options_size(o, "inner")},
                  SIZE_MAX};
    TRY(zoo_open(&u->schemes.zoo));
    sandwich_word(of->pairs, 0, word);
    if (options_flag(o, "interleaved")) TRY(add(u, word, FAMILY_INTERLEAVED, -1));
    TRY(draw_all(u, FAMILY_PERMUTATION, options_size(o, "permutations")));
    TRY(draw_all(u, FAMILY_RANDOM, options_size(o, "random")));
    if (options_flag(o, "sandwiches")) TRY(add_sandwiches(u));
    TRY(add_given(u, options_text(o, "words")));
    u->baseline = find(u, word);
    if (u->baseline < u->designs) TRY(add(u, word, FAMILY_INTERLEAVED, -1));
    if (u->designs) return finish(u);
    return error_set(ERR_INPUT, "nothing to train: --interleaved, --permutations, --random, "
                                "--sandwiches and --words say which words");
}
