#!/bin/bash
# Installs dist/'s wheel into minimal systems of Debian's releases and runs it there without anything else; as root:
#   scripts/test_wheel.sh [SUITE...]       default: bookworm, and trixie with a newer C library
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=$(ls dist/rulemill-*.whl)
command -v debootstrap >/dev/null || {
  echo "scripts/test_wheel.sh: debootstrap is not installed; on Debian: apt-get install debootstrap" >&2
  exit 1
}
scratch=$(mktemp -d)
leave() {
  for root in "$scratch"/*/; do
    umount -q "$root/proc" "$root/dev" || true
  done
  rm -rf --one-file-system "$scratch"
}
trap leave EXIT

printf 'rule idempotent(x[d...])\n  relu(relu(x)) => relu(x)\n' >"$scratch/idempotent.rules"
[[ $# -gt 0 ]] || set -- bookworm trixie
for each in "$@"; do
  root=$scratch/$each
  debootstrap --variant=minbase --include=python3-venv,ca-certificates "$each" "$root" >"$scratch/log" || {
    tail -3 "$scratch/log" >&2
    exit 1
  }
  mount -t proc proc "$root/proc" # programs find their libraries by it
  mount --bind /dev "$root/dev"
  cp "$wheel" data/models/acnet_block.onnx "$scratch/idempotent.rules" "$root/root/"
  chroot "$root" sh -c 'python3 -m venv /opt/rulemill && /opt/rulemill/bin/pip install -q --no-index /root/*.whl'
  run() {
    chroot "$root" env -i -C /root HOME=/root PATH=/opt/rulemill/bin:/usr/bin:/bin rulemill "$@"
  }
  run --version
  run rules import idempotent.rules --out idempotent.rmdb --quiet
  run check idempotent.rmdb --quiet
  run optimize acnet_block.onnx --only-clean --out clean.onnx --quiet
  run equal acnet_block.onnx clean.onnx --quiet
  echo "$each: the wheel installs, proves, checks, cleans and compares"
done
