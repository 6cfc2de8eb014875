# From the site's sizes to sbatch's options, and whether the nodes that there are can hold them.
# shellcheck shell=bash

# size_of cpu|gpu|optimize|table: sbatch's options, in `size`.
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

# 2G: 2048.
megabytes() {
  local number=${1%[KMGT]*}
  case ${1#"$number"} in
    K*) echo $((number / 1024)) ;;
    G*) echo $((number * 1024)) ;;
    T*) echo $((number * 1024 * 1024)) ;;
    *) echo "$number" ;;
  esac
}

# As Slurm writes time: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]].
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

# misfits KIND PARTITION NODES CORES MEMORY(MB) GPUS TIME: a line for each thing for which there is no room, ever.
misfits() {
  local kind=$1 where=$2 nodes=$3 cores=$4 memory=$5 gpus=$6 limit=$7
  local room enough=0 most_cores=0 most_memory=0 most_gpus=0 longest=0
  room=$(sinfo --noheader --Node ${where:+--partition="$where"} --format='%n %c %m %G %l %P') || return 0
  # Without a partition, Slurm takes the default one, which has a star.
  [[ -n $where ]] || room=$(grep '\*$' <<<"$room" || echo "$room")
  if [[ -z $room ]]; then
    echo "$kind: there is no partition '$where'"
    return
  fi
  while read -r _ has_cores has_memory gres allowed _; do
    local has_gpus=0
    [[ $gres =~ gpu:([^:,()]+:)?([0-9]+) ]] && has_gpus=${BASH_REMATCH[2]}
    [[ $allowed == infinite ]] && allowed=99999-0
    allowed=$(seconds "$allowed")
    ((has_cores <= most_cores)) || most_cores=$has_cores
    ((has_memory <= most_memory)) || most_memory=$has_memory
    ((has_gpus <= most_gpus)) || most_gpus=$has_gpus
    ((allowed <= longest)) || longest=$allowed
    if ((has_cores >= cores && has_memory >= memory && has_gpus >= gpus)); then enough=$((enough + 1)); fi
  done <<<"$room"
  ((cores <= most_cores)) || echo "$kind: a node needs $cores cores; the largest has $most_cores"
  ((memory <= most_memory)) || echo "$kind: a node needs $memory MB of memory; the largest has $most_memory MB"
  ((gpus <= most_gpus)) || echo "$kind: a node needs $gpus GPUs; the largest has $most_gpus"
  if ((cores <= most_cores && memory <= most_memory && gpus <= most_gpus && enough < nodes)); then
    echo "$kind: $nodes nodes of $cores cores, $memory MB and $gpus GPUs are needed; there are $enough"
  fi
  (($(seconds "$limit") <= longest)) || echo "$kind: the time limit $limit is longer than the partition allows"
}

misfits_of() {
  case $1 in
    cpu) misfits cpu "$partition" "$nodes" $((ranks_per_node * cores_per_rank)) \
      $((ranks_per_node * cores_per_rank * $(megabytes "$memory_per_core"))) 0 "$time" ;;
    gpu) misfits gpu "$gpu_partition" "$gpu_nodes" $((gpus_per_node * cores_per_gpu)) \
      $((gpus_per_node * cores_per_gpu * $(megabytes "$gpu_memory_per_core"))) "$gpus_per_node" "$gpu_time" ;;
    optimize) misfits optimize "$partition" 1 "$optimize_cores" \
      $((optimize_cores * $(megabytes "$optimize_memory_per_core"))) 0 "$optimize_time" ;;
  esac
}

# A job that fits nowhere would wait in the queue for ever.
require_fit() {
  local lacking
  lacking=$(misfits_of "$1")
  [[ -z $lacking ]] || fail "${lacking//$'\n'/; }; nothing was submitted: change the sizes in $RULEMILL_SITE"
}

check_sizes() {
  local lacking kinds=(cpu optimize)
  [[ -z $gpu_partition ]] || kinds+=(gpu)
  lacking=$(for kind in "${kinds[@]}"; do misfits_of "$kind"; done)
  [[ -z $lacking ]] || fail "${lacking//$'\n'/; }"
  echo "all sizes of $RULEMILL_SITE fit"
}
