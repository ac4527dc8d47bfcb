/* study_measure.c: measures trained networks by a table of measures. Numbers are kept in the run's folder and claimed there,
 * so that several processes share the work and none is done twice. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/base/process/lease.h"
#include "studies/lab/study/study.h"
#include "studies/base/command.h"

/* ---- their files --------------------------------------------------------------------------------- */

/* Makes a frame of the columns of a measure's file, with one row: how the numbers are made, the perplexity of the network, which
 * tells it from others, and no numbers yet. */
static int new_file(const StudyMeasure *m, Column list[STUDY_VALUES + 3], Frame *f)
{
    size_t n = 0;
    list[n++] = (Column){.name = "how"};
    list[n++] = (Column){.name = "valid_ppl"};
    for (const Column *c = m->columns; c->name; c++) list[n++] = (Column){.name = c->name};
    list[n] = (Column){0};
    TRY(frame_new(f, list));
    return frame_row(f);
}

static int save(const StudyMeasure *m, const char *dir, const Column *list, const Frame *f)
{
    char file[64];
    SCOPED(sheet_drop) Sheet *s = NULL;
    snprintf(file, sizeof file, "%s.csv", m->name);
    TRY(frame_sheet(f, list, NULL, f->rows, &s));
    return output_sheet(s, SHEET_CSV, dir, file);
}

/* Takes the numbers of a measure as those of a run. */
static void take(const StudyMeasured *r, const StudyMeasure *m, const Frame *f)
{
    for (const Column *c = m->columns; c->name; c++)
        study_set(r->study, r->run, c->name, frame_text(f, 0, c->name));
}

/* Reads a file that was made in this way of this network (now); returns 1 where it did, and has all numbers. */
static int load(const StudyMeasured *r, const StudyMeasure *m, const Frame *now)
{
    char path[OUTPUT_PATH];
    double x;
    SCOPED(frame_close) Frame f = {0};
    if (output_path(path, r->dir, "%s.csv", m->name) != 0 || !output_exists(path)) return 0;
    if (frame_read(&f, path) != 0 || f.rows != 1) return 0;
    for (const Column *c = m->columns; c->name; c++) {
        int at = frame_column(&f, c->name);
        if (at < 0 || frame_number(&f, 0, at, &x) != 0) return 0;
    }
    int is = strcmp(frame_text(&f, 0, "how"), frame_text(now, 0, "how")) == 0 &&
             frame_real(&f, 0, "valid_ppl") == frame_real(now, 0, "valid_ppl");
    if (is) take(r, m, &f);
    return is;
}

/* ---- measuring ----------------------------------------------------------------------------------- */

static int is_there(const StudyMeasured *r, const StudyMeasure *m, const Frame *now)
{
    return load(r, m, now) && (!m->load || m->load(r) == 0);
}

/* Makes one measure of a run. *state: RUN_THERE, RUN_BUSY with another process, or RUN_TRAINED. */
static int measure_run(const StudyMeasured *r, const StudyMeasure *m, int *state)
{
    char how[640] = "", path[OUTPUT_PATH];
    Column list[STUDY_VALUES + 3];
    SCOPED(frame_close) Frame now = {0};
    SCOPED(lease_drop) Lease claim = {.fd = -1};
    int mine;
    *state = RUN_THERE;
    TRY(new_file(m, list, &now));
    if (m->how) {
        TRY(m->how(r->study, how, sizeof how));
        frame_set(&now, 0, "how", how);
        frame_put(&now, 0, "valid_ppl", study_real(r->study, r->run, "valid_ppl"));
        if (is_there(r, m, &now)) return 0;
        TRY(output_path(path, r->dir, "%s.claim", m->name));
        TRY(lease_take(path, r->study->worker.name, &claim, &mine));
        *state = RUN_BUSY;
        if (!mine) return 0;
        *state = RUN_THERE;
        if (is_there(r, m, &now)) return 0;
        *state = RUN_TRAINED;
    }
    TRY(m->of ? measure_on_sentences(r, m, &now) : m->measure(r, &now));
    take(r, m, &now);
    return m->how ? save(m, r->dir, list, &now) : now.code;
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
    int busy = 0, state, far = study_run_diverged(u, t->run);
    TRY(runs_name(&r.spec.own, r.name));
    TRY(runs_directory(u->dir, &r.spec.own, dir));
    t->state = RUN_THERE;
    for (const StudyMeasure *const *m = study_measures; *m; m++) {
        if ((*m)->wanted(u) > 0 && !(far && (*m)->how)) {
            TRY(measure_run(&r, *m, &state));
            busy |= state == RUN_BUSY;
            if (state == RUN_TRAINED) t->state = RUN_TRAINED;
        }
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

static int try(const Study *u, const StudyMeasure *m, const StudyDesign *d)
{
    const RunSpec s = study_spec(d, d->run);
    if (m->of) return measure_try_sentences(u, &s, m);
    return m->try ? m->try(u, &s) : 0;
}

int study_try_measures(const Study *u)
{
    for (const StudyMeasure *const *m = study_measures; *m; m++)
        for (size_t i = 0; i < u->designs && (*m)->wanted(u) > 0; i++)
            TRY(try(u, *m, &u->design[i]));
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
            if (!isnan(study_real(u, run, "valid_ppl")) && run->row == SIZE_MAX)
                list[n++] = (StudyTask){&u->design[i], run, RUN_OPEN};
        }
    return study_work(u, measure_all, list, n, u->worker.leader);
}
