/* study_measure.c: measures trained networks by a table of measures. Numbers are kept in the run's folder and claimed there,
 * so that several processes share the work and none is done twice. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/base/process/lease.h"
#include "studies/lab/study/study.h"
#include "studies/base/command.h"

/* ---- their files --------------------------------------------------------------------------------- */

/* A run's numbers, and what they depend on: how they were made, and the network, which its perplexity tells. */
typedef struct {
    const char *how;
    double valid_ppl, value[STUDY_VALUES];
} Kept;

/* Makes the columns of a measure's file. */
static void file_columns(const StudyMeasure *m, Column *list)
{
    size_t n = 0;
    list[n++] = (Column)COLUMN(Kept, how);
    list[n++] = (Column)COLUMN(Kept, valid_ppl);
    for (const Column *c = m->columns; c->name; c++, n++) {
        list[n] = (Column){.name = c->name, .type = SHEET_DOUBLE};
        list[n].at = offsetof(Kept, value) + (size_t)(c - m->columns) * sizeof(double);
    }
    list[n] = (Column){0};
}

static int save(const StudyMeasure *m, const char *dir, const Kept *k)
{
    Column list[STUDY_VALUES + 3];
    char file[64];
    SCOPED(sheet_drop) Sheet *s = NULL;
    file_columns(m, list);
    snprintf(file, sizeof file, "%s.csv", m->name);
    TRY(sheet_new(list, &s));
    sheet_row(s, k);
    return output_sheet(s, SHEET_CSV, dir, file);
}

/* Reads a file that was made in this way of this network; returns 1 where it did. */
static int load(const StudyMeasure *m, const char *dir, const Kept *now, double *value)
{
    Column list[STUDY_VALUES + 3];
    char path[OUTPUT_PATH];
    Kept there;
    SCOPED(frame_close) Frame c = {0};
    file_columns(m, list);
    if (output_path(path, dir, "%s.csv", m->name) != 0 || !output_exists(path)) return 0;
    if (frame_read(&c, path) != 0) return 0;
    int is = c.rows == 1 && frame_record(&c, 0, list, &there) == 0 &&
             strcmp(frame_text(&c, 0, "how"), now->how) == 0 && there.valid_ppl == now->valid_ppl;
    for (size_t i = 0; is && m->columns[i].name; i++) value[i] = there.value[i];
    return is;
}

/* ---- measuring ----------------------------------------------------------------------------------- */

static int is_there(const StudyMeasured *r, const StudyMeasure *m, const Kept *now, double *value)
{
    return load(m, r->dir, now, value) && (!m->load || m->load(r) == 0);
}

/* Measures a run that this process has claimed. */
static int measure_claimed(const StudyMeasured *r, const StudyMeasure *m, Kept *now, double *value)
{
    size_t n = 0;
    while (m->columns[n].name) now->value[n++] = NAN;
    TRY(m->measure(r, now->value));
    memcpy(value, now->value, n * sizeof *value);
    return save(m, r->dir, now);
}

/* Makes one measure of a run. *state: RUN_THERE, RUN_BUSY with another process, or RUN_TRAINED. */
static int measure_run(const StudyMeasured *r, const StudyMeasure *m, double *value, int *state)
{
    char how[640], path[OUTPUT_PATH];
    Kept now = {.how = how, .valid_ppl = r->run->result.valid_ppl};
    SCOPED(lease_drop) Lease claim = {.fd = -1};
    int mine;
    *state = RUN_THERE;
    if (!m->how) return m->measure(r, value);
    TRY(m->how(r->study, how, sizeof how));
    if (is_there(r, m, &now, value)) return 0;
    TRY(output_path(path, r->dir, "%s.claim", m->name));
    TRY(lease_take(path, r->study->worker.name, &claim, &mine));
    *state = RUN_BUSY;
    if (!mine) return 0;
    *state = RUN_THERE;
    if (is_there(r, m, &now, value)) return 0;
    *state = RUN_TRAINED;
    return measure_claimed(r, m, &now, value);
}

/* Makes all wanted measures of a run. A network that diverged is worse than drawing words at random, and its flows may leave the
 * range of numbers after long hours: only its log is read. */
static int measure_all(Study *u, StudyTask *t)
{
    char dir[OUTPUT_PATH];
    StudyMeasured r = {.study = u,
                       .run = t->run,
                       .spec = study_spec(t->design, t->run),
                       .design = t->design->name,
                       .dir = dir};
    double *value = t->run->value;
    int busy = 0, state, far = study_run_diverged(u, t->run);
    TRY(runs_name(&r.spec, r.name));
    TRY(runs_directory(u->dir, &r.spec, dir));
    t->state = RUN_THERE;
    for (const StudyMeasure *const *m = study_measures; *m; m++) {
        if ((*m)->wanted(u) > 0 && !(far && (*m)->how)) {
            TRY(measure_run(&r, *m, value, &state));
            busy |= state == RUN_BUSY;
            if (state == RUN_TRAINED) t->state = RUN_TRAINED;
        }
        for (const Column *c = (*m)->columns; c->name; c++) value++;
    }
    if (busy) t->state = RUN_BUSY;
    return 0;
}

int study_check_measures(const Study *u)
{
    for (const StudyMeasure *const *m = study_measures; *m; m++) {
        int code = (*m)->wanted(u);
        if (code < 0) return code;
    }
    return 0;
}

int study_try_measures(const Study *u)
{
    for (const StudyMeasure *const *m = study_measures; *m; m++)
        for (size_t i = 0; i < u->designs && (*m)->try && (*m)->wanted(u) > 0; i++) {
            RunSpec s = study_spec(&u->design[i], u->design[i].run);
            TRY((*m)->try(u, &s));
        }
    return 0;
}

/* Measures all runs that have no numbers recorded. */
int study_measure(Study *u)
{
    SCOPED(memory_drop) StudyTask *list = study_tasks(u);
    size_t n = 0;
    if (!list) return ERR_MEMORY;
    for (size_t i = 0; i < u->designs; i++)
        for (size_t k = 0; k < u->design[i].seeds; k++) {
            StudyRun *run = &u->design[i].run[k];
            if (!isnan(run->result.valid_ppl) && run->row == SIZE_MAX)
                list[n++] = (StudyTask){&u->design[i], run, RUN_OPEN};
        }
    return study_work(u, measure_all, list, n, u->worker.leader);
}
