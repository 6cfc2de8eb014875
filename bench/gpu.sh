#!/bin/bash
# Measures a GPU build on this machine's GPU: bench/gpu.sh [BUILD] [MAX_OPS] [MODELS]
# (default: build/cuda, 4, no models; in a folder made by scripts/pack.sh: the packed programs). Compares all files with those of
# the CPU, checks for memory errors, measures the stages with the GPU's utilization, and runs the test of plans if test programs
# are built or packed. With a folder of models, measures `optimize --cost cuda` on them. Fails without a GPU.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/cuda}
max_ops=${2:-4}
models=${3:-}
data=data
if [[ -x bin/rulemill ]]; then
  build=bin
  data=share/rulemill
fi
profile=$data/profiles/reference.toml
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader || { echo "gpu.sh: no NVIDIA GPU found" >&2; exit 1; }
"$build/rulemill" doctor

echo "== identical bytes on the CPU, an emulated GPU and the GPU, three operators"
for device in cpu emulated auto; do
  "$build/rulemill" fingerprint --profile "$profile" --max-ops 3 --device "$device" --out "$folder/$device" --progress off |
    grep -E 'fingerprint:|rows in'
done
(cd "$folder/cpu" && sha256sum shards/*) > "$folder/expected"
for device in emulated auto; do
  (cd "$folder/$device" && sha256sum --quiet -c "$folder/expected") && echo "$device: identical"
done

echo "== compute-sanitizer, two operators"
compute-sanitizer --tool memcheck --error-exitcode 1 "$build/rulemill" fingerprint --profile "$profile" --max-ops 2 \
  --out "$folder/memcheck" --progress off | tail -n 2
compute-sanitizer --tool racecheck --error-exitcode 1 "$build/rulemill" fingerprint --profile "$profile" --max-ops 2 \
  --out "$folder/racecheck" --progress off | tail -n 2

echo "== $max_ops operators, CPU then GPU"
for device in cpu auto; do
  nvidia-smi --query-gpu=utilization.gpu,utilization.memory,memory.used --format=csv,noheader -lms 200 \
    > "$folder/$device.usage" &
  monitor=$!
  "$build/rulemill" fingerprint --profile "$profile" --max-ops "$max_ops" --device "$device" --out "$folder/large-$device" \
    --json "$folder/$device.json" --progress off | grep -E 'fingerprint:|rows in'
  kill "$monitor"
  python3 - "$folder/$device.json" "$folder/$device.usage" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
steps, gpu = report["fingerprint_steps"], report.get("gpu")
print("  " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in steps.items()))
if gpu:
    seconds = gpu["gpu microseconds"] * 1e-6
    print(f"  {gpu['renamings']:,} renamings in {gpu['batches']} batches; threads spent {seconds:.2f} s in GPU calls, including waiting")
busy = [float(line.split("%")[0]) for line in open(sys.argv[2]) if "%" in line]
print(f"  GPU busy {sum(busy) / max(1, len(busy)):.0f}% on average")
PYTHON
done
echo "== one thread, compared with the model of an H100"
"$build/rulemill" fingerprint --profile "$profile" --max-ops "$max_ops" --threads 1 --out "$folder/one" --json "$folder/one.json" --progress off |
  grep -E 'fingerprint:'
python3 bench/fingerprint_model.py "$folder/one.json"
"$build/rulemill" join --profile "$profile" --max-ops "$max_ops" --out "$folder/large-auto" --progress off | grep -E '^join'

echo "== plans of models: cuDNN, cuBLAS and kernels against the definitions"
if [[ -x $build/test_optimize ]]; then
  ln -s "$PWD/$data" "$folder/data"
  test=$PWD/$build/test_optimize
  [[ $build != /* ]] || test=$build/test_optimize
  (cd "$folder" && "$test" "[device]")
fi
if [[ -n $models ]]; then
  python3 bench/gpu_models.py --rulemill "$build/rulemill" --json "$folder/models.json" "$models"/*.onnx
fi
