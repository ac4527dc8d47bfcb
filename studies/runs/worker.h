/* worker.h: one of several processes at the same study, as whoever started them tells.
 *
 * `mpirun -n N`, `srun` and Slurm arrays start the same command several times and number the copies
 * in the environment; no library is needed to read that. Who does what is settled by claims
 * (lease.h); the number only chooses the one that writes the tables.
 */
#ifndef TROTTER_WORKER_H
#define TROTTER_WORKER_H

enum { WORKER_NAME = 96 };

typedef struct {
    int leader;             /* 1: every number is the first; so too where there is none */
    char name[WORKER_NAME]; /* "HOST PID", and "rank R" where there is one */
} Worker;

/* Reads OMPI_COMM_WORLD_RANK (Open MPI), PMI_RANK (MPICH and its kin), SLURM_PROCID (srun) and
 * SLURM_ARRAY_TASK_ID, whose first is SLURM_ARRAY_TASK_MIN. Source: mpirun(1) of Open MPI 4,
 * srun(1), sbatch(1). */
Worker worker_find(void);

/* Gives this process's children a device of their own, of `count`: CUDA_VISIBLE_DEVICES becomes the one of those it
 * names (none: of all) whose turn it is by OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID (MPICH) or
 * SLURM_LOCALID. Where none of these is set, or there is one device, nothing changes. */
void worker_device(int count);

#endif
