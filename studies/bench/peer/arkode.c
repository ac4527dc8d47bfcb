/* arkode.c: two packages of SUNDIALS behind peer.h, by tolerance, with their own controllers: ARKODE's default explicit and
 * diagonally implicit methods, of order 4, and CVODE's backward differentiation formulas. Newton's method has matrices of
 * differences. Built by `make peers`, for `trotter order --adaptive` and studies/scripts/solving.py alone.
 * Source: Reynolds, Gardner, Woodward, Chinomona 2023, "ARKODE: a flexible IVP solver infrastructure"; Hindmarsh et al. 2005,
 * "SUNDIALS: suite of nonlinear and differential/algebraic equation solvers". */
#include <arkode/arkode_arkstep.h>
#include <arkode/arkode_erkstep.h>
#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>

#include "kernels/base/error.h"
#include "studies/solve/peer.h"

static int slope(realtype t, N_Vector y, N_Vector dy, void *problem)
{
    const PeerProblem *p = problem;
    p->field(t, N_VGetArrayPointer(y), N_VGetArrayPointer(dy), p->arg);
    return 0;
}

static int outcome_of(int flag)
{
    return flag >= 0                   ? PEER_DONE
           : flag == ARK_TOO_MUCH_WORK ? PEER_STEPS
                                       : PEER_FAILED; /* CVODE's, too */
}

static int run_explicit(const PeerProblem *p, const PeerTolerance *o, SUNContext context,
                        N_Vector y, PeerRun *out)
{
    long steps = 0, rejected = 0;
    realtype t;
    void *run = ERKStepCreate(slope, 0, y, context);
    if (!run) return ERR_MEMORY;
    ERKStepSetErrFile(run, NULL);
    ERKStepSetUserData(run, (void *)(size_t)p);
    ERKStepSStolerances(run, o->relative, o->absolute);
    ERKStepSetInitStep(run, o->first);
    ERKStepSetStopTime(run, o->t_end);
    ERKStepSetMaxNumSteps(run, (long)o->most);
    out->outcome = outcome_of(ERKStepEvolve(run, o->t_end, y, &t, ARK_NORMAL));
    ERKStepGetNumSteps(run, &steps);
    ERKStepGetNumErrTestFails(run, &rejected);
    ERKStepFree(&run);
    out->steps = (size_t)steps, out->rejected = (size_t)rejected;
    return 0;
}

static int run_implicit(const PeerProblem *p, const PeerTolerance *o, SUNContext context,
                        N_Vector y, PeerRun *out)
{
    long steps = 0, rejected = 0, N = (long)p->N;
    realtype t;
    SUNMatrix A = SUNDenseMatrix(N, N, context);
    SUNLinearSolver solver = A ? SUNLinSol_Dense(y, A, context) : NULL;
    void *run = ARKStepCreate(NULL, slope, 0, y, context);
    int code = A && solver && run ? 0 : ERR_MEMORY;
    if (code == 0) {
        ARKStepSetErrFile(run, NULL);
        ARKStepSetUserData(run, (void *)(size_t)p);
        ARKStepSStolerances(run, o->relative, o->absolute);
        ARKStepSetLinearSolver(run, solver, A);
        ARKStepSetInitStep(run, o->first);
        ARKStepSetStopTime(run, o->t_end);
        ARKStepSetMaxNumSteps(run, (long)o->most);
        out->outcome = outcome_of(ARKStepEvolve(run, o->t_end, y, &t, ARK_NORMAL));
        ARKStepGetNumSteps(run, &steps);
        ARKStepGetNumErrTestFails(run, &rejected);
    }
    if (run) ARKStepFree(&run);
    if (solver) SUNLinSolFree(solver);
    if (A) SUNMatDestroy(A);
    out->steps = (size_t)steps, out->rejected = (size_t)rejected;
    return code;
}

static int run_formulas(const PeerProblem *p, const PeerTolerance *o, SUNContext context,
                        N_Vector y, PeerRun *out)
{
    long steps = 0, rejected = 0, N = (long)p->N, band = p->band;
    realtype t;
    SUNMatrix A = band < 0 ? SUNDenseMatrix(N, N, context) : SUNBandMatrix(N, band, band, context);
    SUNLinearSolver solver = !A         ? NULL
                             : band < 0 ? SUNLinSol_Dense(y, A, context)
                                        : SUNLinSol_Band(y, A, context);
    void *run = CVodeCreate(CV_BDF, context);
    int code = A && solver && run ? CVodeInit(run, slope, 0, y) : ERR_MEMORY;
    if (code == 0) {
        CVodeSetErrFile(run, NULL);
        CVodeSetUserData(run, (void *)(size_t)p);
        CVodeSStolerances(run, o->relative, o->absolute);
        CVodeSetLinearSolver(run, solver, A);
        CVodeSetInitStep(run, o->first);
        CVodeSetStopTime(run, o->t_end);
        CVodeSetMaxNumSteps(run, (long)o->most);
        out->outcome = outcome_of(CVode(run, o->t_end, y, &t, CV_NORMAL));
        CVodeGetNumSteps(run, &steps);
        CVodeGetNumErrTestFails(run, &rejected);
    }
    if (run) CVodeFree(&run);
    if (solver) SUNLinSolFree(solver);
    if (A) SUNMatDestroy(A);
    out->steps = (size_t)steps, out->rejected = (size_t)rejected;
    return code;
}

static int adapt(const char *method, const PeerProblem *p, const PeerTolerance *o, double *y,
                 PeerRun *out)
{
    SUNContext context;
    *out = (PeerRun){PEER_FAILED, 0, 0};
    memcpy(y, p->initial, p->N * sizeof *y);
    if (SUNContext_Create(NULL, &context) != 0) return ERR_MEMORY;
    N_Vector v = N_VMake_Serial((long)p->N, y, context);
    int code = !v                           ? ERR_MEMORY
               : strcmp(method, "erk") == 0 ? run_explicit(p, o, context, v, out)
               : strcmp(method, "bdf") == 0 ? run_formulas(p, o, context, v, out)
                                            : run_implicit(p, o, context, v, out);
    if (v) N_VDestroy(v);
    SUNContext_Free(&context);
    return code;
}

extern const PeerLibrary peer_library;
const PeerLibrary peer_library = {PEER_VERSION, adapt};
