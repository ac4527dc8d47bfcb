#!/bin/sh
# One study by many machines: a Slurm array whose tasks share the runs of `trotter compare` or `trotter sweep`.
#
#   sbatch --array=0-7 studies/scripts/slurm/study.sh compare --corpus DIR --scheme A,B --seeds 5 --out DIR
#   sbatch --array=0-7 studies/scripts/slurm/study.sh sweep --corpus DIR --interleaved --permutations 20 --out DIR
#
# Every task is the same command; each claims runs that nobody has, so that there may be as many tasks as
# the queue gives, starting and ending when they like. The first task waits for the others' runs and writes
# the tables. When time is up a task saves its run: submit again, with any array, to go on. TROTTER names
# the program (default: trotter, by PATH).
#SBATCH --job-name=trotter-study
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --time=12:00:00
#SBATCH --signal=TERM@120
#SBATCH --output=trotter-study-%A_%a.log

study=$1
shift
exec srun "${TROTTER:-trotter}" "$study" --threads "${SLURM_CPUS_PER_TASK:-1}" "$@"
