#!/bin/sh
# Runs one study on many machines: the tasks of a Slurm array share the runs of `trotter compare` or `trotter sweep`.
#
#   sbatch --array=0-7 studies/scripts/slurm/study.sh compare --corpus DIR --scheme A,B --seeds 5 --out DIR
#   sbatch --array=0-7 studies/scripts/slurm/study.sh sweep --corpus DIR --interleaved --permutations 20 --out DIR
#
# Every task runs the same command and claims runs that no other task has, so there may be as many tasks as
# the queue gives, and they may start and end at any time. The first task waits for the others' runs and
# writes the tables. When time is up a task saves its run: submit again, with any array, to go on. TROTTER
# names the program (default: trotter, by PATH). Options of sbatch go before the script and take the place of those below,
# as --cpus-per-task=1 for small runs.
#SBATCH --job-name=trotter-study
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --time=12:00:00
#SBATCH --signal=TERM@120
#SBATCH --output=trotter-study-%A_%a.log

study=$1
shift
# From Slurm 22.05 on srun does not take --cpus-per-task over from sbatch, and may bind all threads to one processor.
exec srun --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}" "${TROTTER:-trotter}" "$study" --threads "${SLURM_CPUS_PER_TASK:-1}" "$@"
