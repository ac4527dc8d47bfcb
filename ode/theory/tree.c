/* tree.c: all rooted trees with vertices of one to three colours, and the ways to cut each.
 *
 * A tree is a root colour and a multiset of smaller trees, kept as rising indices; within an order trees are listed in
 * lexicographic order of (colour, children), so one is found by bisection. Cutting follows the recursion of the
 * composition law (Hairer, Lubich, Wanner 2006, III.1.3): each child is cut off whole, or kept with one of its own
 * cuts. A clock is a leaf like others, except for where it may stand. Sources of the counts 1, 1, 2, 4, 9, 20, ..., 2,
 * 4, 14, 52, 214, 916, ... and 3, 9, 45, 246, 1485, 9432, ...: OEIS A000081, A038055, A038059. */
#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "ode/scheme/lexer.h"
#include "ode/theory/theory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- enumeration ----------------------------------------------------------------------------------- */

/* Completes t, which has `left` vertices to place in children of index >= from. */
static int add_children(Forest *f, Tree *t, int left, size_t from)
{
    if (left == 0) return memory_add(f->tree, f->count, *t);
    for (size_t c = from; c < f->first[left + 1]; c++) {
        if (tree_is_clock(f, c) && f->tree[c].colour != COLOURS + t->colour) continue;
        t->child[t->children++] = (int)c;
        TRY(add_children(f, t, left - f->tree[c].order, c));
        t->children--;
    }
    return 0;
}

static void measure(Forest *f, Tree *t)
{
    uint64_t equal = 1;
    t->gamma = (uint64_t)t->order;
    t->sigma = 1;
    for (int i = 0; i < t->children; i++) {
        const Tree *c = &f->tree[t->child[i]];
        equal = i > 0 && t->child[i] == t->child[i - 1] ? equal + 1 : 1;
        t->gamma *= c->gamma;
        t->sigma *= c->sigma * equal;
    }
}

static int add_order(Forest *f, int order)
{
    for (int colour = 0; colour < f->colours; colour++) {
        Tree t = {.colour = colour, .order = order};
        TRY(add_children(f, &t, order - 1, 0));
    }
    for (int colour = 0; f->timed && order == 1 && colour < f->colours; colour++)
        TRY(memory_add(f->tree, f->count, (Tree){.colour = COLOURS + colour, .order = 1}));
    f->first[order + 1] = f->count;
    for (size_t i = f->first[order]; i < f->count; i++) measure(f, &f->tree[i]);
    return 0;
}

/* ---- cuts -------------------------------------------------------------------------------------------- */

static int compare_trees(const void *a, const void *b)
{
    const Tree *s = a, *t = b;
    if (s->colour != t->colour) return s->colour - t->colour;
    for (int i = 0; i < s->children && i < t->children; i++)
        if (s->child[i] != t->child[i]) return s->child[i] - t->child[i];
    return s->children - t->children;
}

static int find_tree(const Forest *f, const Tree *t)
{
    size_t first = f->first[t->order], n = f->first[t->order + 1] - first;
    const Tree *found = bsearch(t, f->tree + first, n, sizeof(Tree), compare_trees);
    return (int)(found - f->tree);
}

static void insert_sorted(int *list, int *count, int value)
{
    int i = (*count)++;
    for (; i > 0 && list[i - 1] > value; i--) list[i] = list[i - 1];
    list[i] = value;
}

void forest_shapes(const Forest *f, const Forest *one, int *shape)
{
    for (size_t i = 0; i < f->count; i++) {
        Tree t = {.colour = tree_is_clock(f, i) ? COLOURS : 0, .order = f->tree[i].order};
        for (int k = 0; k < f->tree[i].children; k++)
            insert_sorted(t.child, &t.children, shape[f->tree[i].child[k]]);
        shape[i] = find_tree(one, &t);
    }
}

static int same_cut(const Cut *a, const Cut *b)
{
    return a->kept == b->kept && a->cuts == b->cuts &&
           memcmp(a->cut, b->cut, (size_t)a->cuts * sizeof(int)) == 0;
}

static int add_cut(Forest *f, size_t t, const Cut *c)
{
    size_t n = f->cuts[t];
    for (size_t i = 0; i < n; i++)
        if (same_cut(&f->cut[t][i], c)) {
            f->cut[t][i].count += c->count;
            return 0;
        }
    return memory_add(f->cut[t], f->cuts[t], *c);
}

/* Adds the cuts of tree t, of at most `most` edges, for which `kept` and `c` decide the fate of its first i children. */
static int cut_children(Forest *f, size_t t, int most, int i, const Tree *kept, const Cut *c)
{
    const Tree *tree = &f->tree[t];
    if (i == tree->children) {
        Cut done = *c;
        done.kept = find_tree(f, kept);
        return add_cut(f, t, &done);
    }
    int child = tree->child[i];
    for (size_t k = 0; k < f->cuts[child]; k++) {
        const Cut *of = &f->cut[child][k];
        Tree next = *kept;
        Cut with = *c;
        if (with.cuts + of->cuts > most) continue;
        if (of->kept >= 0) {
            insert_sorted(next.child, &next.children, of->kept);
            next.order += f->tree[of->kept].order;
        }
        for (int j = 0; j < of->cuts; j++) insert_sorted(with.cut, &with.cuts, of->cut[j]);
        with.count *= of->count;
        TRY(cut_children(f, t, most, i + 1, &next, &with));
    }
    return 0;
}

static int cut_tree(Forest *f, size_t t, int most)
{
    Cut whole = {.kept = -1, .cuts = 1, .cut = {(int)t}, .count = 1};
    Cut none = {.count = 1};
    Tree root = {.colour = f->tree[t].colour, .order = 1};
    TRY(add_cut(f, t, &whole));
    return cut_children(f, t, most, 0, &root, &none);
}

/* ---- forest -------------------------------------------------------------------------------------------- */

int forest_most(int colours)
{
    static const int most[] = {0, TREE_MAX_1, TREE_MAX, TREE_MAX_3, TREE_MAX_3 - 1};
    return most[colours];
}

int forest_timed_most(int colours, int timed)
{
    return timed && colours == 1 ? TREE_MAX_1_TIMED : forest_most(colours + (timed != 0));
}

int forest_grow(Forest *f, int max)
{
    while (f->max < max) {
        TRY(add_order(f, f->max + 1));
        f->max++;
    }
    return 0;
}

static int cut_forest(Forest *f, int most)
{
    if (!(f->cuts = memory_new(f->count, sizeof *f->cuts))) return ERR_MEMORY;
    if (!(f->cut = memory_new(f->count, sizeof *f->cut))) return ERR_MEMORY;
    for (size_t t = 0; t < f->count; t++) TRY(cut_tree(f, t, most));
    return 0;
}

int forest_trees(int max, int colours, int timed, Forest **out)
{
    int most = forest_timed_most(colours, timed);
    *out = NULL;
    if (max < 1 || max > most)
        return error_set(ERR_INPUT, "expected an order of 1 to %d%s%s; %d is asked for", most,
                         colours < 3 ? "" : " in three colours",
                         timed ? " with time nodes of its own" : "", max);
    SCOPED(forest_drop) Forest *f = memory_new(1, sizeof(Forest));
    if (!f) return ERR_MEMORY;
    f->colours = colours;
    f->timed = timed;
    TRY(forest_grow(f, max));
    *out = f;
    f = NULL;
    return 0;
}

/* Makes trees up to max <= bound with their cuts of at most `most` edges. */
static int forest_cut(int max, int bound, int most, int colours, int timed, Forest **out)
{
    if (max > bound)
        return error_set(
            ERR_INPUT, "expected an order of 1 to %d of %s; %d is asked for", bound,
            most == 1 ? "modified equations" : "slopes of the past and flows by a method", max);
    TRY(forest_trees(max, colours, timed, out));
    int code = cut_forest(*out, most);
    if (code == 0) return 0;
    forest_free(*out);
    *out = NULL;
    return code;
}

int forest_timed(int max, int colours, int timed, Forest **out)
{
    return forest_cut(max, TREE_MAX, TREE_MAX, colours, timed, out);
}

int forest_edges_most(int colours, int timed)
{
    int most = forest_timed_most(colours, timed);
    return most < EDGES_MAX ? most : EDGES_MAX;
}

int forest_edges(int max, int colours, int timed, Forest **out)
{
    return forest_cut(max, forest_edges_most(colours, timed), 1, colours, timed, out);
}

int forest_new(int max, int colours, Forest **out)
{
    return forest_timed(max, colours, 0, out);
}

void forest_free(Forest *f)
{
    if (!f) return;
    for (size_t i = 0; f->cut && i < f->count; i++) memory_free(f->cut[i]);
    memory_free_all(f->cut, f->cuts, f->tree, f);
}

/* ---- names ---------------------------------------------------------------------------------------------- */

enum { NAME_MAX_BYTES = 4 * TREE_MAX_1 + 4 };

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

int tree_name(const Forest *f, size_t tree, char *out, size_t bytes)
{
    const Tree *t = &f->tree[tree];
    char child[TREE_MAX_1][NAME_MAX_BYTES], name[NAME_MAX_BYTES];
    size_t n = 0;
    for (int i = 0; i < t->children; i++)
        tree_name(f, (size_t)t->child[i], child[i], sizeof child[i]);
    qsort(child, (size_t)t->children, sizeof child[0], compare_names);
    int w = f->w && t->colour == OP_C;
    name[n++] = w ? 'W' : t->colour < COLOURS ? table_letters[t->colour] : 't';
    for (int i = 0; i < t->children; i++) name[n++] = '\'';
    name[n] = 0;
    for (int i = 0; i < t->children; i++)
        n += (size_t)snprintf(name + n, sizeof name - n, "%s%s%s",
                              t->children == 1 ? ""
                              : i == 0         ? "("
                                               : ",",
                              child[i], t->children > 1 && i == t->children - 1 ? ")" : "");
    if (n >= bytes) return error_set(ERR_MISUSE, "tree_name: %zu bytes are too few", bytes);
    memcpy(out, name, n + 1);
    return 0;
}

/* Returns whether a linear field has a second derivative, or one by time, somewhere, or a separable one F'F or G'G. */
static int has_zero(const Forest *f, size_t tree, int special)
{
    const Tree *t = &f->tree[tree];
    int own = !tree_is_clock(f, tree) && special >> t->colour & 1;
    if (own && (t->children > 1 || (t->children && tree_is_clock(f, (size_t)t->child[0]))))
        return 1;
    for (int i = 0; i < t->children; i++) {
        size_t child = (size_t)t->child[i];
        if (f->tree[child].colour == t->colour && special_apart(special, t->colour)) return 1;
        if (has_zero(f, child, special)) return 1;
    }
    return 0;
}

int tree_vanishes(const Forest *f, size_t tree, int special)
{
    return tree_is_clock(f, tree) || has_zero(f, tree, special);
}

int tree_is_F(const Forest *f, size_t tree)
{
    const Tree *t = &f->tree[tree];
    int all = t->colour == OP_F || t->colour == COLOURS + OP_F;
    for (int i = 0; i < t->children; i++) all = all && tree_is_F(f, (size_t)t->child[i]);
    return all;
}

/* ---- sums as texts ------------------------------------------------------------------------------------- */

/* The sum that forest_read reads into. */
typedef struct {
    const Forest *f;
    const char *letters;
    int most;
    mpq_t *c;
    mpq_ptr y;
} TreeSum;

static int expected_tree(const TreeSum *s, const Cursor *at)
{
    const char *l = s->letters;
    char a = l[0], b = l[1] ? l[1] : a, which[16];
    size_t n = (size_t)snprintf(which, sizeof which, "%c", a);
    for (l++; *l; l++)
        n += (size_t)snprintf(which + n, sizeof which - n, "%s%c", l[1] ? ", " : " or ", *l);
    return cursor_error(at, "expected a term in %s, as %c'%c or %c''(%c,%c)", which, a, b, a, a, b);
}

/* Reads the tree at the cursor, of at most `left` vertices, and counts them down. */
static int read_tree(const TreeSum *s, Cursor *at, int *left, int *tree)
{
    cursor_blanks(at);
    const char *letter = at->at < at->end ? strchr(s->letters, *at->at) : NULL;
    if (!letter) return expected_tree(s, at);
    if (*left == 0)
        return cursor_error(at, "expected terms of %d letters at most, their order", s->most);
    Tree t = {.colour = (int)(letter - s->letters), .order = 1};
    int primes = 0, inside = 0;
    for (--*left, at->at++; cursor_take(at, "'");) primes++;
    if (primes > 1) TRY(cursor_expect(at, "("));
    if (primes > 1 || (primes == 1 && cursor_take(at, "("))) inside = 1;
    for (int i = 0, child; i < primes; i++) {
        if (i > 0) TRY(cursor_expect(at, ","));
        TRY(read_tree(s, at, left, &child));
        insert_sorted(t.child, &t.children, child);
        t.order += s->f->tree[child].order;
    }
    if (inside) TRY(cursor_expect(at, ")"));
    *tree = find_tree(s->f, &t);
    return 0;
}

static int add_term(void *to, Cursor *at, const mpq_t c)
{
    TreeSum *s = to;
    int left = s->most, tree;
    if (cursor_take(at, "y")) {
        mpq_add(s->y, s->y, c);
        return 0;
    }
    TRY(read_tree(s, at, &left, &tree));
    mpq_add(s->c[tree], s->c[tree], c);
    return 0;
}

int forest_read(const Forest *f, const char *letters, int most, const char *text, mpq_t *c, mpq_t y)
{
    return terms_read(text, add_term, &(TreeSum){f, letters, most, c, y});
}
