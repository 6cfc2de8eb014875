#!/bin/bash
# Packs a built rulemill with the shared libraries that it needs and its data into one folder that runs on machines without
# them (the C library and the GPU driver are the machine's own): scripts/pack.sh FOLDER [PRESET]
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:?usage: scripts/pack.sh FOLDER [PRESET]}
binaries=build/${2:-release}

[[ -x $binaries/rulemill ]] || {
  echo "$binaries/rulemill: not built; run scripts/build.sh first" >&2
  exit 1
}
mkdir -p "$folder/bin" "$folder/lib" "$folder/share/rulemill"

programs=("$binaries/rulemill")
for program in "$binaries"/test_* "$binaries"/*_bench "$binaries"/ranks_check; do
  [[ -f $program && -x $program ]] && programs+=("$program")
done
for program in "${programs[@]}"; do
  install -m 755 "$program" "$folder/bin/$(basename "$program").bin"
done

# Open MPI loads its components at run time: their needs count, too.
components=()
mpi=$(ldd "$binaries/rulemill" | awk '/libmpi\.so/ {print $3}')
if [[ -n $mpi ]]; then
  for place in "$(dirname "$mpi")/openmpi/lib" "$(dirname "$mpi")"; do
    [[ -d $place/openmpi ]] && mapfile -t components < <(find "$place/openmpi" -name 'mca_*.so') && break
  done
fi

own_by_machine='^(ld-linux.*|libc|libm|libdl|libpthread|librt|libresolv|libutil|libcuda|libnvidia-.*)\.so'
ldd "${programs[@]}" ${components[0]:+"${components[@]}"} 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  while read -r library; do
    [[ $(basename "$library") =~ $own_by_machine ]] || install -m 644 "$library" "$folder/lib/"
  done
if ((${#components[@]} > 0)); then
  mkdir -p "$folder/lib/openmpi"
  install -m 644 "${components[@]}" "$folder/lib/openmpi/"
fi
# Which of its components Open MPI may use is the distribution's choice; some do not work with the others' libraries.
for settings in /etc/openmpi "$(dirname "$mpi")/openmpi/etc"; do
  [[ -f $settings/openmpi-mca-params.conf ]] && install -D -m 644 -t "$folder/etc" "$settings/openmpi-mca-params.conf" && break
done

for part in operators properties profiles rules imports models judges; do
  [[ -d data/$part ]] && cp -r "data/$part" "$folder/share/rulemill/"
done

# One wrapper for all: it runs the program that has its own name.
cat >"$folder/bin/.run" <<'WRAPPER'
#!/bin/bash
# Runs the packed program of this name with the libraries packed beside it.
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
export LD_LIBRARY_PATH="$here/../lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
if [[ -d $here/../lib/openmpi ]]; then
  export OMPI_MCA_mca_base_component_path="${OMPI_MCA_mca_base_component_path:-$here/../lib/openmpi}"
fi
if [[ -f $here/../etc/openmpi-mca-params.conf ]]; then
  export OMPI_MCA_mca_base_param_files="${OMPI_MCA_mca_base_param_files:-$HOME/.openmpi/mca-params.conf:$here/../etc/openmpi-mca-params.conf}"
fi
export RULEMILL_DATA="${RULEMILL_DATA:-$here/../share/rulemill}"
exec "$here/$(basename "$0").bin" "$@"
WRAPPER
chmod 755 "$folder/bin/.run"
for program in "${programs[@]}"; do
  ln -sf .run "$folder/bin/$(basename "$program")"
done
# The rules that `optimize` uses by itself, so that the first run need not find them.
"$folder/bin/rulemill" rules default --out "$folder/share/rulemill/rules/models" >/dev/null
echo "$folder: $(find "$folder" -type f | wc -l) files, $(du -sh "$folder" | cut -f1)"
