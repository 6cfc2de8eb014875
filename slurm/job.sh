# What jobs share: the site's settings, how ranks are started, and what becomes of a job that was stopped.
# shellcheck shell=bash

# shellcheck source=slurm/site.sh
source "${RULEMILL_SITE:-$RULEMILL_SLURM/site.sh}"
if ((${#modules[@]} > 0)); then module load "${modules[@]}"; fi

# srun passes --cpus-per-task on only if told to.
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}
export OMP_NUM_THREADS=$SRUN_CPUS_PER_TASK

# A rank that dies ends the step: the others would wait for it.
start() { srun "${launch[@]}" --kill-on-bad-exit=1 ${container[0]:+"${container[@]}"} "$binary" "$@"; }

# One process on the job's first node.
alone() { ${container[0]:+"${container[@]}"} "$binary" "$@"; }

# An array's task is requeued by its own name.
own_id() {
  if [[ -n ${SLURM_ARRAY_JOB_ID:-} ]]; then
    echo "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
  else
    echo "$SLURM_JOB_ID"
  fi
}

# 4: the ranks were told to stop, or one of them was lost; from 128 on: a signal has ended one, as when its node fails
# or its memory is out. What was finished until then is kept.
was_stopped() { (($1 == 4 || $1 >= 128)); }

requeue_or_fail() { # CODE GAINED(yes|no) HINT
  if [[ $2 == yes ]]; then
    echo "$SLURM_JOB_NAME: stopped (exit code $1); back into the queue to go on"
    # While a node is failing, slurmctld may refuse, or requeue the job itself and end this script.
    for _ in {1..10}; do
      if scontrol requeue "$(own_id)"; then exit "$1"; fi
      sleep "${RULEMILL_PATIENCE:-3}"
    done
    echo "$SLURM_JOB_NAME: could not be requeued; what was finished is kept: submit it again" >&2
    exit "$1"
  fi
  echo "$SLURM_JOB_NAME: stopped (exit code $1), and nothing was gained since its last start: not requeued; $3" >&2
  exit 1
}
