/* sweep_runs.c: trains the words of a sweep, with the task list of all studies that train many models
 * (tasks.h). */
#include <math.h>
#include <string.h>

#include "studies/tools/command.h"
#include "studies/model/network.h"
#include "studies/sweep/sweep.h"

static size_t layers(const Sweep *u)
{
    return options_size(u->options, "layers");
}

static RunSpec spec(const Sweep *u, const Word *w, size_t k)
{
    return (RunSpec){
        .scheme = w->scheme, .layers = layers(u), .seed = u->seed + k, .numbers = w->numbers};
}

/* Makes room for the results of `seeds` trainings, NaN at first. */
static int make_room(Word *w, size_t seeds)
{
    RunResult *grown = memory_grow(w->result, w->seeds, seeds, sizeof *grown);
    if (!grown) return ERR_MEMORY;
    for (size_t k = w->seeds; k < seeds; k++) grown[k] = runs_none;
    w->result = grown;
    w->seeds = seeds;
    return 0;
}

int sweep_check(Sweep *u)
{
    const Options *o = u->options;
    const Backend *b;
    TRY(network_backend(o, &b));
    for (size_t i = 0; i < u->words; i++) {
        Word *w = &u->word[i];
        int often = sweep_is(w, FAMILY_INTERLEAVED) || sweep_is(w, FAMILY_GIVEN);
        RunSpec s = spec(u, w, 0);
        TRY(runs_check(o, &s, u->corpus.vocab.size, b, &w->numbers));
        TRY(make_room(w, options_size(o, often ? "seeds" : "family-seeds")));
    }
    return 0;
}

/* ---- training -------------------------------------------------------------------------------------- */

/* Trains words at .. at + n - 1 with their seeds from `first` on. */
static int train_words(Sweep *u, size_t at, size_t n, size_t first, int wait)
{
    size_t runs = 0, i = 0;
    for (size_t w = at; w < at + n; w++) runs += u->word[w].seeds - first;
    Task *list = memory_new(runs, sizeof *list);
    if (!list) return ERR_MEMORY;
    for (size_t w = at; w < at + n; w++)
        for (size_t k = first; k < u->word[w].seeds; k++)
            list[i++] = (Task){.spec = spec(u, &u->word[w], k), .more = &u->word[w].result[k]};
    const Work work = {.runs = &u->runs,
                       .wait = wait,
                       .config = u->worker.leader ? "sweep" : NULL,
                       .follow = first == 0 && options_flag(u->options, "confirm")};
    int code = tasks_run(&work, list, runs);
    for (i = 0; code == 0 && i < runs; i++) {
        RunResult *result = list[i].more;
        u->failed += list[i].state == RUN_FAILED;
        if (tasks_has_result(&list[i])) *result = list[i].result;
    }
    memory_free(list);
    return code;
}

/* Finds the best sandwich by the first seed on validation, as most sandwiches have no other seed. The
 * plain interleaved word does not count. */
static void find_best(Sweep *u)
{
    u->best = u->words;
    for (size_t i = 0; i < u->words; i++) {
        const Word *w = &u->word[i];
        if (w->k < 1 || isnan(w->result[0].valid_ppl)) continue;
        if (u->best == u->words || w->result[0].valid_ppl < u->word[u->best].result[0].valid_ppl)
            u->best = i;
    }
}

/* Trains the best sandwich again. The choice needs all trainings, so every process waits for them. */
static int confirm(Sweep *u, int wait)
{
    size_t seeds = options_size(u->options, "seeds"), had;
    find_best(u);
    if (u->best == u->words || u->word[u->best].seeds >= seeds) return 0;
    had = u->word[u->best].seeds;
    runs_note(&u->runs,
              "%s is the best sandwich on validation (seed %zu: %.4f): trained again with %zu "
              "seeds",
              u->word[u->best].scheme->name, u->seed, u->word[u->best].result[0].valid_ppl, seeds);
    TRY(make_room(&u->word[u->best], seeds));
    return train_words(u, u->best, 1, had, wait);
}

int sweep_train(Sweep *u, int wait)
{
    int confirms = options_flag(u->options, "confirm");
    TRY(train_words(u, 0, u->words, 0, wait || confirms));
    find_best(u);
    return confirms ? confirm(u, wait) : 0;
}
