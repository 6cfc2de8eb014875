# Common parts of the jobs: the site's settings, starting ranks, and requeueing interrupted jobs.
# shellcheck shell=bash

# shellcheck source=slurm/site.sh
source "${RULEMILL_SITE:-$RULEMILL_SLURM/site.sh}"
if ((${#modules[@]} > 0)); then module load "${modules[@]}"; fi

# srun does not inherit --cpus-per-task by default.
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}
export OMP_NUM_THREADS=$SRUN_CPUS_PER_TASK

# Open MPI names the segments of its shared memory after the host, not after Slurm's node. Nodes of one host that also share
# /dev/shm (emulated nodes, containers) would use each other's segments, and crash.
if ((${SLURM_JOB_NUM_NODES:-1} > 1)) && [[ ${SLURMD_NODENAME:-} != "$(hostname -s)" ]]; then
  export OMPI_MCA_btl=${OMPI_MCA_btl:-self,tcp}
fi

# A rank that dies ends the step, because the others would wait for it.
start() { srun "${launch[@]}" --kill-on-bad-exit=1 ${container[0]:+"${container[@]}"} "$binary" "$@"; }

# Runs one process on the job's first node.
run_single() { ${container[0]:+"${container[@]}"} "$binary" "$@"; }

# The id for requeueing: of an array, that of its task.
job_id() {
  if [[ -n ${SLURM_ARRAY_JOB_ID:-} ]]; then
    echo "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
  else
    echo "$SLURM_JOB_ID"
  fi
}

# Exit code of rulemill: it was interrupted, or a rank was lost.
interrupted=4

# From 128 on: a rank was ended by a signal, as when its node fails or its memory is exhausted. Finished work is kept.
was_interrupted() { (($1 == interrupted || $1 >= 128)); }

requeue_or_fail() { # CODE PROGRESS(yes|no) HINT
  if [[ $2 == yes ]]; then
    echo "$SLURM_JOB_NAME: interrupted (exit code $1); requeued to resume"
    # While a node is failing, slurmctld may reject the request, or requeue the job itself and end this script.
    for _ in {1..10}; do
      if scontrol requeue "$(job_id)"; then exit "$1"; fi
      sleep "${RULEMILL_REQUEUE_INTERVAL:-3}"
    done
    echo "$SLURM_JOB_NAME: could not be requeued; finished work is kept: submit it again" >&2
    exit "$1"
  fi
  echo "$SLURM_JOB_NAME: interrupted (exit code $1) without progress since its last start; not requeued: $3" >&2
  exit 1
}
