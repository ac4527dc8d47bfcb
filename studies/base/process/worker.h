/* worker.h: finds the place of this process among several at the same study, from the environment of its launcher.
 *
 * `mpirun -n N`, `srun` and Slurm arrays start the same command several times and number the copies in the
 * environment; no library is needed to read that. Claims decide who does what (lease.h); the number only chooses
 * the process that writes the tables.
 */
#ifndef TROTTER_WORKER_H
#define TROTTER_WORKER_H

enum { WORKER_NAME = 96 };

typedef struct {
    int leader;             /* 1: every number is the first, or there is none */
    char name[WORKER_NAME]; /* "HOST PID", and "rank R" where there is one */
} Worker;

/* Reads OMPI_COMM_WORLD_RANK (Open MPI), PMI_RANK (MPICH and its kin), SLURM_PROCID (srun) and SLURM_ARRAY_TASK_ID,
 * whose first value is SLURM_ARRAY_TASK_MIN. Source: mpirun(1) of Open MPI 4, srun(1), sbatch(1). */
Worker worker_find(void);

/* Gives this process's children one of `count` devices: it sets CUDA_VISIBLE_DEVICES to one of the devices that it
 * names (not set: of all), chosen by OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID (MPICH) or SLURM_LOCALID. Where
 * none of these is set, or there is one device, nothing changes. */
void worker_device(int count);

#endif
