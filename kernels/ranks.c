/* ranks.c: functions of ranks that are the same for all engines (ranks.h). */
#include "kernels/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"

extern char **environ;

enum { WORDS = 1024 };

void ranks_close(Ranks *r)
{
    if (r) r->close(r);
}

/* Returns the first rank that failed, after some did. */
static int first_failed(Ranks *r, int code)
{
    for (int k = 0;; k++) {
        double failed = r->rank == k && code;
        r->sum(r, &failed, 1);
        if (failed > 0) return k;
    }
}

int ranks_agree(Ranks *r, int code)
{
    if (!r) return code;
    double failed = code != 0;
    r->sum(r, &failed, 1);
    if (failed == 0) return 0;
    struct {
        int code;
        char words[WORDS];
    } told = {code, ""};
    snprintf(told.words, WORDS, "%s", error_text());
    r->send(r, first_failed(r, code), &told, sizeof told);
    return error_set(told.code, "%s", told.words);
}

static int same_backend(Ranks *r, const Backend *b)
{
    char first[32];
    snprintf(first, sizeof first, "%s", b->name);
    r->send(r, 0, first, sizeof first);
    if (strcmp(first, b->name) == 0) return 0;
    return error_set(ERR_INPUT, "rank %d has %s, rank 0 %s: all ranks train on the same", r->rank,
                     b->name, first);
}

int ranks_join(Ranks *r, const Backend *b)
{
    if (!r) return 0;
    TRY(ranks_agree(r, same_backend(r, b)));
    return b->join(r);
}

void ranks_end(Ranks *r, int code)
{
    if (r->tell) r->tell(code);
    r->abandon(r, error_status(code));
}

int ranks_follows(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    return rank && atoi(rank) > 0;
}

/* Removes the names of Open MPI, of PMIx, by which its processes find each other, and of PMI. */
void ranks_forget(void)
{
    static const char *const prefix[] = {"OMPI_", "PMIX_", "PMI_"};
    for (char **e = environ; e && *e;) {
        char name[256];
        size_t n = strcspn(*e, "=");
        int ours = 0;
        for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
            ours |= strncmp(*e, prefix[i], strlen(prefix[i])) == 0;
        e++;
        if (!ours || n >= sizeof name) continue;
        memcpy(name, e[-1], n);
        name[n] = '\0';
        unsetenv(name);
        e = environ;
    }
}
