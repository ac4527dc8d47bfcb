/* sweep_print.c: prints what stands above the table of a sweep. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/model/network.h"
#include "studies/tools/output.h"
#include "studies/sweep/sweep.h"
#include "studies/tools/command.h"

static void print_families(const Study *u, FILE *f)
{
    const Options *o = u->options;
    size_t n[FAMILIES] = {0};
    for (size_t i = 0; i < u->designs; i++)
        for (int family = 0; family < FAMILIES; family++)
            n[family] += (size_t)sweep_is(sweep_word(u, i), family);
    fprintf(f, "There are %zu words of %zu pairs (--word-seed %zu):", u->designs,
            sweep_of(u)->pairs, options_size(o, "word-seed"));
    for (int family = 0, comma = 0; family < FAMILIES; family++)
        if (n[family]) fprintf(f, "%s %zu %s", comma++ ? "," : "", n[family], sweep_family(family));
    fprintf(f,
            ".\nThe interleaved word and those given have seeds %zu .. %zu; each of the others has "
            "%zu, from %zu on.\n",
            u->seed, u->seed + options_size(o, "seeds") - 1, options_size(o, "family-seeds"),
            u->seed);
    if (sweep_of(u)->best < u->designs && options_flag(o, "confirm"))
        fprintf(f,
                "%s was the best sandwich on validation with seed %zu, so it was trained with all "
                "seeds;\nthe first of them chose it, and is in no difference.\n",
                u->design[sweep_of(u)->best].name, u->seed);
}

int sweep_caption(const Study *u, int brief, FILE *f)
{
    study_print_recipe(u, f);
    fprintf(f,
            "The rate is %s, the dropout %s. ± is half of the 95 %% interval over seeds "
            "(Student's t)%s.\n",
            options_text(u->options, "rate"), options_text(u->options, "dropout"),
            brief ? "; --explain tells more" : "");
    print_families(u, f);
    if (!brief)
        fprintf(
            f,
            "A word lists its sublayers in order of time: s is attention (F), f is feed-forward (G).\n");
    return 0;
}
