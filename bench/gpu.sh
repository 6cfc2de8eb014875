#!/bin/bash
# Says what of a GPU build works on this machine's GPU: bench/gpu.sh [BUILD] [MAX_OPS] [MODELS]
# (default: build/cuda, 4, data/models; in a folder made by scripts/pack.sh: the packed programs). In this order: correctness of
# plans, outputs of models, fingerprints against the CPU's bytes, memory errors, costs of nodes, models, and times of
# fingerprints. A step that fails or takes longer than its limit does not stop the others. Ends with a summary; fails without a GPU or if a step failed.
# RULES=FILE in the environment: a database instead of the default rules, which are discovered first if they are not cached.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
build=${1:-build/cuda}
max_ops=${2:-4}
models=${3:-}
data=$PWD/data
if [[ -x bin/rulemill ]]; then
  build=bin
  data=$PWD/share/rulemill
fi
models=${models:-$data/models}
[[ $build == /* ]] || build=$PWD/$build
profile=$data/profiles/reference.toml
compared_ops=$((max_ops < 3 ? max_ops : 3))
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
summary=()
failed=no

# Runs a function in a process of its own: step LIMIT_SECONDS TITLE FUNCTION. Exit code 77: skipped, for the reason in its last line.
step() {
  local begin=$SECONDS code=0 result
  echo "== $2"
  timeout "$1" bash -c "set -euo pipefail; $(declare -f "$3" fingerprint); $3" 2>&1 | tee "$folder/log"
  code=${PIPESTATUS[0]}
  case $code in
    0) result=ok ;;
    77) result="skipped: $(tail -n 1 "$folder/log")" ;;
    124) result="FAILED: longer than $1 s" ;;
    *) result="FAILED: $(grep . "$folder/log" | tail -n 1)" ;;
  esac
  [[ $code == 0 || $code == 77 ]] || failed=yes
  summary+=("$(printf '%-52s %4d s  %s' "$2" $((SECONDS - begin)) "$result")")
}

# Writes the fingerprints of MAX_OPS operators to a folder: fingerprint DEVICE MAX_OPS OUT options... Prints the device that computed them.
fingerprint() {
  local device=$1 ops=$2 out=$3
  shift 3
  "$build/rulemill" fingerprint --profile "$profile" --max-ops "$ops" --device "$device" --out "$out" --progress off "$@" >"$out.text"
  grep -E 'fingerprint:|rows in' "$out.text"
}

plans() {
  if [[ ! -x $build/test_optimize ]]; then
    echo "no test_optimize in $build"
    exit 77
  fi
  ln -s "$data" "$folder/data"  # where the test program looks for it
  cd "$folder" || exit
  RULEMILL_REQUIRE_GPU=yes "$build/test_optimize" "[device]"
}

outputs() {
  for model in "$models"/*.onnx; do
    "$build/rulemill" gpu time "$model" --compare --json "$folder/compared.json" | sed "s|$| ms  $(basename "$model")|"
    grep -o '"difference": [^,]*' "$folder/compared.json"
  done
}

bytes() {
  for device in cpu emulated gpu; do
    fingerprint "$device" "$compared_ops" "$folder/$device"
  done
  (cd "$folder/cpu" && sha256sum shards/*) >"$folder/expected"
  for device in emulated gpu; do
    (cd "$folder/$device" && sha256sum --quiet -c "$folder/expected")
    echo "$device: identical to cpu"
  done
}

memory_errors() {
  if ! command -v compute-sanitizer >/dev/null; then
    echo "no compute-sanitizer"
    exit 77
  fi
  for tool in memcheck racecheck; do
    compute-sanitizer --tool "$tool" --error-exitcode 1 "$build/rulemill" fingerprint --profile "$profile" --max-ops 2 \
      --device gpu --out "$folder/$tool" --progress off | tail -n 2
  done
}

default_rules() {
  [[ -n ${RULES:-} ]] || RULES=$("$build/rulemill" rules default)
  echo "$RULES" | tee "$folder/rules"
}

node_costs() {
  for model in "$models"/*.onnx; do
    "$build/rulemill" optimize "$model" --rules "$(<"$folder/rules")" --cost cuda --cost-table "$folder/costs.h5" --no-benchmark --verifier definitions |
      grep -E '^costs measured'
  done
}

model_times() {
  python3 bench/gpu_models.py --rulemill "$build/rulemill" --rules "$(<"$folder/rules")" --rounds 3 --json "$folder/models.json" "$models"/*.onnx
}

fingerprint_times() {
  for device in cpu gpu; do
    fingerprint "$device" "$max_ops" "$folder/large-$device" --json "$folder/$device.json"
  done
  fingerprint gpu "$max_ops" "$folder/one" --threads 1 --json "$folder/one.json"
  python3 bench/fingerprint_model.py "$folder/one.json"
}

export build data profile folder models compared_ops max_ops
gpu=$("$build/rulemill" doctor 2>&1 | grep '^cuda ')
echo "$gpu"
if [[ -z $gpu || $gpu == *"using the CPU"* ]]; then
  echo "gpu.sh: no GPU: ${gpu:-$build/rulemill doctor failed}; nothing was run" >&2
  exit 1
fi
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,memory.total,driver_version,compute_mode --format=csv,noheader

step 60 "plans of models against their definitions" plans
step 60 "outputs of models against their definitions" outputs
step 60 "fingerprints of $compared_ops operators against the CPU's bytes" bytes
step 60 "memory errors and races" memory_errors
step 90 "rules" default_rules
step 90 "costs of nodes" node_costs
step 90 "times of models" model_times
step 90 "times of fingerprints of $max_ops operators" fingerprint_times

echo "== summary"
printf '%s\n' "${summary[@]}"
[[ $failed == no ]]
