# Converts the site's sizes to options of sbatch, and checks that the nodes of the cluster satisfy them.
# shellcheck shell=bash

# size_of cpu|gpu|optimize|table: sets `size` to the options of sbatch.
# shellcheck disable=SC2034
size_of() {
  case $1 in
    cpu) size=(--nodes="$nodes" --ntasks-per-node="$ranks_per_node" --cpus-per-task="$cores_per_rank"
      --mem-per-cpu="$memory_per_core" --time="$time" ${partition:+--partition="$partition"}) ;;
    gpu) size=(--nodes="$gpu_nodes" --ntasks-per-node="$gpus_per_node" --cpus-per-task="$cores_per_gpu"
      --mem-per-cpu="$gpu_memory_per_core" --time="$gpu_time" --partition="$gpu_partition"
      --gres="gpu:$gpus_per_node") ;;
    optimize) size=(--nodes=1 --ntasks=1 --cpus-per-task="$optimize_cores" --mem-per-cpu="$optimize_memory_per_core"
      --time="$optimize_time" ${partition:+--partition="$partition"}) ;;
    table) size=(--nodes=1 --ntasks=1 --mem-per-cpu=256M --time=5 ${partition:+--partition="$partition"}) ;;
  esac
}

# Converts Slurm's memory units: 2G is 2048.
megabytes() {
  local number=${1%[KMGT]*}
  case ${1#"$number"} in
    K*) echo $((number / 1024)) ;;
    G*) echo $((number * 1024)) ;;
    T*) echo $((number * 1024 * 1024)) ;;
    *) echo "$number" ;;
  esac
}

# Converts Slurm's time formats: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]].
seconds() {
  local days=0 rest=$1 parts
  [[ $1 != *-* ]] || { days=${1%%-*} rest=${1#*-}; }
  IFS=: read -ra parts <<<"$rest"
  if [[ $1 == *-* ]]; then
    parts=("${parts[0]}" "${parts[1]:-0}" "${parts[2]:-0}")
  elif ((${#parts[@]} < 3)); then
    parts=(0 "${parts[0]}" "${parts[1]:-0}")
  fi
  echo $(((((10#$days * 24 + 10#${parts[0]}) * 60) + 10#${parts[1]}) * 60 + 10#${parts[2]}))
}

# list_shortages KIND PARTITION NODES CORES MEMORY(MB) GPUS TIME: a line for each resource that the cluster never has, and
# with `now=yes` if too few nodes of the size are up.
list_shortages() {
  local kind=$1 where=$2 nodes=$3 cores=$4 memory=$5 gpus=$6 limit=$7
  local available enough=0 up=0 max_cores=0 max_memory=0 max_gpus=0 max_time=0
  available=$(sinfo --noheader --Node ${where:+--partition="$where"} --format='%n %c %m %G %l %T %P') || return 0
  # Without a partition, Slurm uses the default one, which sinfo marks with a star.
  [[ -n $where ]] || available=$(grep '\*$' <<<"$available" || echo "$available")
  if [[ -z $available ]]; then
    echo "$kind: no partition '$where'"
    return
  fi
  while read -r _ has_cores has_memory gres allowed state _; do
    local has_gpus=0
    [[ $gres =~ gpu:([^:,()]+:)?([0-9]+) ]] && has_gpus=${BASH_REMATCH[2]}
    [[ $allowed == infinite ]] && allowed=99999-0
    allowed=$(seconds "$allowed")
    ((has_cores <= max_cores)) || max_cores=$has_cores
    ((has_memory <= max_memory)) || max_memory=$has_memory
    ((has_gpus <= max_gpus)) || max_gpus=$has_gpus
    ((allowed <= max_time)) || max_time=$allowed
    if ((has_cores >= cores && has_memory >= memory && has_gpus >= gpus)); then
      enough=$((enough + 1))
      [[ $state == *'*' || $state =~ drain|down|fail|unknown ]] || up=$((up + 1))
    fi
  done <<<"$available"
  ((cores <= max_cores)) || echo "$kind: a node needs $cores cores; the largest has $max_cores"
  ((memory <= max_memory)) || echo "$kind: a node needs $memory MB of memory; the largest has $max_memory MB"
  ((gpus <= max_gpus)) || echo "$kind: a node needs $gpus GPUs; the largest has $max_gpus"
  if ((cores <= max_cores && memory <= max_memory && gpus <= max_gpus && enough < nodes)); then
    echo "$kind: $nodes nodes of $cores cores, $memory MB and $gpus GPUs are needed; there are $enough"
  elif [[ ${now:-no} == yes ]] && ((enough >= nodes && up < nodes)); then
    echo "$kind: $nodes nodes of the size are needed; $up of $enough are up, the others are drained or down"
  fi
  (($(seconds "$limit") <= max_time)) || echo "$kind: the time limit $limit is longer than the partition allows"
}

shortages_of() {
  case $1 in
    cpu) list_shortages cpu "$partition" "$nodes" $((ranks_per_node * cores_per_rank)) \
      $((ranks_per_node * cores_per_rank * $(megabytes "$memory_per_core"))) 0 "$time" ;;
    gpu) list_shortages gpu "$gpu_partition" "$gpu_nodes" $((gpus_per_node * cores_per_gpu)) \
      $((gpus_per_node * cores_per_gpu * $(megabytes "$gpu_memory_per_core"))) "$gpus_per_node" "$gpu_time" ;;
    optimize) list_shortages optimize "$partition" 1 "$optimize_cores" \
      $((optimize_cores * $(megabytes "$optimize_memory_per_core"))) 0 "$optimize_time" ;;
  esac
}

# A job that no node satisfies would wait in the queue forever.
require_fit() {
  local shortages
  require_controller
  shortages=$(shortages_of "$1")
  [[ -z $shortages ]] || fail "${shortages//$'\n'/; }; nothing was submitted: change the sizes in $RULEMILL_SITE"
}

# Sizes cannot be checked without an answer from the controller.
require_controller() {
  local answer
  command -v sinfo >/dev/null || fail "sinfo is not on PATH; run this on a machine with Slurm's commands"
  answer=$(sinfo --noheader --format=%P 2>&1) ||
    fail "Slurm's controller does not answer, so that no size was checked: ${answer%%$'\n'*}"
}

check_sizes() {
  local shortages kinds=(cpu optimize) now=yes
  require_controller
  [[ -z $gpu_partition ]] || kinds+=(gpu)
  shortages=$(for kind in "${kinds[@]}"; do shortages_of "$kind"; done)
  [[ -z $shortages ]] || fail "${shortages//$'\n'/; }"
  echo "all sizes of $RULEMILL_SITE fit"
}
