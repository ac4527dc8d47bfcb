/* worker.c: finds the rank of this process in the environment. */
#include "studies/base/process/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns a whole number of the environment; -1 where it is none. */
static long number(const char *name)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text) return -1;
    long n = strtol(text, &end, 10);
    return *end || n < 0 ? -1 : n;
}

Worker worker_find(void)
{
    static const struct {
        const char *rank, *first; /* first NULL: 0 */
    } list[] = {{"OMPI_COMM_WORLD_RANK", NULL},
                {"PMI_RANK", NULL},
                {"SLURM_PROCID", NULL},
                {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN"}};
    Worker w = {.leader = 1};
    char host[48] = "localhost";
    gethostname(host, sizeof host - 1);
    for (char *c = host; *c;
         c++) /* claims end the name at a blank, and their words at a line end */
        if (*c == '/' || (unsigned char)*c <= ' ') *c = '-';
    int n = snprintf(w.name, sizeof w.name, "%.40s %ld", host, (long)getpid());
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        long rank = number(list[i].rank), first = list[i].first ? number(list[i].first) : 0;
        if (rank < 0) continue;
        w.leader &= rank == (first < 0 ? 0 : first);
        n += snprintf(w.name + n, sizeof w.name - (size_t)n, " %s %ld", i < 3 ? "rank" : "task",
                      rank);
        if ((size_t)n >= sizeof w.name) break;
    }
    return w;
}

static long local_rank(void)
{
    static const char *const name[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                       "SLURM_LOCALID"};
    long local = -1;
    for (size_t i = 0; i < sizeof name / sizeof *name && local < 0; i++) local = number(name[i]);
    return local;
}

/* Returns element i of a list a,b,...; its bytes in *n. */
static const char *element(const char *list, long i, int *n)
{
    for (; i > 0 && strchr(list, ','); i--) list = strchr(list, ',') + 1;
    *n = (int)strcspn(list, ",");
    return list;
}

void worker_device(int count)
{
    long local = local_rank();
    const char *seen = getenv("CUDA_VISIBLE_DEVICES");
    char mine[64];
    int n;
    if (local < 0 || count < 2) return;
    const char *name = seen ? element(seen, local % count, &n) : "";
    if (seen)
        snprintf(mine, sizeof mine, "%.*s", n, name);
    else
        snprintf(mine, sizeof mine, "%ld", local % count);
    setenv("CUDA_VISIBLE_DEVICES", mine, 1);
}
