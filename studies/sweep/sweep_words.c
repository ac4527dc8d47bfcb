/* sweep_words.c: lists the words that a sweep trains, and finds their theory. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/tools/command.h"
#include "studies/sweep/sweep.h"

static const char *const family_name[FAMILIES] = {"interleaved", "permutation", "random",
                                                  "sandwich", "given"};

const char *sweep_family(int family)
{
    return family_name[family];
}

int sweep_is(const Word *w, int family)
{
    return family == FAMILIES || (w->family >> family & 1);
}

/* ---- theory ---------------------------------------------------------------------------------------- */

/* Finds the error of the splitting by exact flows, in brackets and as a norm. */
static int find_splitting(const Table *t, Word *w)
{
    Brackets b;
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
    bracket_free(&b);
    w->order = -1;
    w->norm = NAN;
    if (!w->count[0] || !w->count[1]) return 0; /* one flow composed with itself: no error */
    TRY(theory_search(t, 3, &theory));
    w->order = theory.order;
    w->norm = sqrt(theory.error_norm2);
    return 0;
}

static int find_theory(const Sweep *u, Word *w)
{
    char name[TABLE_NAME];
    Table *exact;
    Theory theory;
    snprintf(name, sizeof name, "word:%s:euler", w->letters); /* as train names it */
    TRY(zoo_find(&u->zoo, name, "euler", &w->scheme));
    snprintf(name, sizeof name, "word:%s:exact", w->letters);
    TRY(zoo_find(&u->zoo, name, "exact", &exact));
    int code = find_splitting(exact, w);
    table_free(exact);
    TRY(code);
    TRY(theory_search(w->scheme, 3, &theory));
    w->order_trained = theory.order;
    w->euler_norm = sqrt(theory.error_norm2);
    double most = 0.5 * (double)w->count[0] * (double)w->count[1];
    w->share = most > 0 ? w->area / most : NAN;
    w->halves = word_halves(w->letters, (double)u->cost[0], (double)u->cost[1]);
    return 0;
}

/* ---- the list -------------------------------------------------------------------------------------- */

static int make_word(Sweep *u, const char *letters, size_t *at)
{
    if (u->words == u->room) {
        size_t room = u->room ? 2 * u->room : 32;
        Word *grown = memory_grow(u->word, u->room, room, sizeof *grown);
        if (!grown) return ERR_MEMORY;
        u->word = grown;
        u->room = room;
    }
    Word *w = &u->word[ *at = u->words++];
    *w = (Word){.k = -1};
    snprintf(w->letters, sizeof w->letters, "%s", letters);
    for (const char *c = letters; *c; c++) w->count[*c == 'f']++;
    return find_theory(u, w);
}

/* Adds a word, or a family to a word that is there; *at: its index. k: -1 except for a sandwich. */
static int add(Sweep *u, const char *letters, int family, int k, size_t *at)
{
    for (*at = 0; *at < u->words && strcmp(u->word[*at].letters, letters) != 0;) ++*at;
    if (*at == u->words) TRY(make_word(u, letters, at));
    Word *w = &u->word[*at];
    w->family |= 1 << family;
    if (w->k < 0) w->k = k;
    return 0;
}

void sweep_words_free(Sweep *u)
{
    for (size_t i = 0; i < u->words; i++) {
        table_free(u->word[i].scheme);
        memory_free(u->word[i].result);
    }
    u->word = memory_free(u->word);
    u->words = 0;
}

/* ---- what is asked for ------------------------------------------------------------------------------- */

/* Makes the i-th draw; returns 1 where it is a word. */
static int draw(const Sweep *u, int family, uint64_t i, char *word)
{
    uint64_t seed = options_size(u->options, "word-seed");
    uint64_t budget = (uint64_t)u->pairs * (u->cost[0] + u->cost[1]);
    if (family == FAMILY_RANDOM) return draw_word(seed, i, u->cost[0], u->cost[1], budget, word);
    draw_permutation(seed, i, u->pairs, word);
    return 1;
}

/* Draws `wanted` different words. A draw that is no word, or was drawn before, is dropped. So a smaller
 * number gives the first words of a larger one. */
static int draw_all(Sweep *u, int family, size_t wanted)
{
    char word[ZOO_LETTERS + 1];
    size_t at, found = 0;
    uint64_t tries = 1000 + 200 * (uint64_t)wanted;
    for (uint64_t i = 0; found < wanted && i < tries; i++) {
        if (!draw(u, family, i, word)) continue;
        size_t there = 0;
        while (there < u->words && strcmp(u->word[there].letters, word) != 0) there++;
        if (there < u->words && sweep_is(&u->word[there], family)) continue;
        TRY(add(u, word, family, -1, &at));
        found++;
    }
    if (found == wanted) return 0;
    return error_set(ERR_INPUT,
                     "%zu different %s words of %zu pairs are asked for; %llu draws gave %zu",
                     wanted, sweep_family(family), u->pairs, (unsigned long long)tries, found);
}

static int add_given(Sweep *u, const char *list)
{
    char word[ZOO_LETTERS + 1];
    size_t at;
    if (!list) return 0;
    for (const char *c = list; *c;) {
        size_t n = strcspn(c, ",");
        if (n == 0 || n > ZOO_LETTERS || strspn(c, "sf") != n)
            return error_set(ERR_INPUT,
                             "--words: expected words of 1 to %d letters s (attention) and f "
                             "(feed-forward), separated by commas; '%.*s' is none",
                             ZOO_LETTERS, n < 40 ? (int)n : 40, c);
        snprintf(word, sizeof word, "%.*s", (int)n, c);
        TRY(add(u, word, FAMILY_GIVEN, -1, &at));
        c += n;
        if (*c == ',' && !*++c)
            return error_set(ERR_INPUT, "--words: a word is missing at the end");
    }
    return 0;
}

static int add_sandwiches(Sweep *u)
{
    char word[ZOO_LETTERS + 1];
    size_t at;
    for (size_t k = 0; k < u->pairs; k++) {
        sandwich_word(u->pairs, k, word);
        TRY(add(u, word, FAMILY_SANDWICH, (int)k, &at));
    }
    return 0;
}

/* Sets the numbers in the matrices of a sublayer, without biases and norms: 4 d^2, 2 d M. */
static void find_costs(Sweep *u)
{
    size_t d = options_size(u->options, "width"), M = options_size(u->options, "inner");
    u->cost[0] = 4 * d * d;
    u->cost[1] = 2 * d * M;
}

int sweep_words(Sweep *u)
{
    const Options *o = u->options;
    char word[ZOO_LETTERS + 1];
    size_t at;
    u->pairs = options_size(o, "pairs");
    find_costs(u);
    sandwich_word(u->pairs, 0, word);
    if (options_flag(o, "interleaved")) TRY(add(u, word, FAMILY_INTERLEAVED, -1, &at));
    TRY(draw_all(u, FAMILY_PERMUTATION, options_size(o, "permutations")));
    TRY(draw_all(u, FAMILY_RANDOM, options_size(o, "random")));
    if (options_flag(o, "sandwiches")) TRY(add_sandwiches(u));
    TRY(add_given(u, options_text(o, "words")));
    for (u->interleaved = 0; u->interleaved < u->words; u->interleaved++)
        if (strcmp(u->word[u->interleaved].letters, word) == 0) break;
    if (u->interleaved < u->words) u->word[u->interleaved].family |= 1 << FAMILY_INTERLEAVED;
    if (u->words) return 0;
    return error_set(ERR_INPUT, "nothing to train: --interleaved, --permutations, --random, "
                                "--sandwiches and --words say which words");
}
