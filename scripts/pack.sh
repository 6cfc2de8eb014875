#!/bin/bash
# Packs a built rulemill with its libraries into a relocatable folder, or a tarball of it, that runs on machines without any of
# them. Only the C library and the GPU driver are the machine's own:
#   scripts/pack.sh [--tests] FOLDER|FILE.tar.gz [PRESET]       --tests: include test and benchmark programs
set -euo pipefail
cd "$(dirname "$0")/.."
tests=no
if [[ ${1:-} == --tests ]]; then
  tests=yes
  shift
fi
target=${1:?usage: scripts/pack.sh [--tests] FOLDER|FILE.tar.gz [PRESET]}
binaries=build/${2:-release}
folder=$target
if [[ $target == *.tar.gz ]]; then
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  folder=$scratch/$(basename "$target" .tar.gz)
fi

[[ -x $binaries/rulemill ]] || {
  echo "$binaries/rulemill: not built; run scripts/build.sh first" >&2
  exit 1
}
mkdir -p "$folder/bin" "$folder/lib" "$folder/share/rulemill"

programs=("$binaries/rulemill")
if [[ $tests == yes ]]; then
  for program in "$binaries"/test_* "$binaries"/*_bench "$binaries"/ranks_check; do
    [[ -f $program && -x $program ]] && programs+=("$program")
  done
fi
names=()
for program in "${programs[@]}"; do
  names+=("$(basename "$program")")
  install -m 755 "$program" "$folder/bin/${names[-1]}.bin"
done
# A launcher for ranks on one machine; on several machines srun starts them.
if mpirun=$(readlink -f "$(command -v mpirun)"); then
  programs+=("$mpirun")
  names+=(mpirun)
  install -m 755 "$mpirun" "$folder/bin/mpirun.bin"
fi

# Open MPI and PMIx load components at run time, which have dependencies of their own.
components=()
pack_components() { # FOLDER NAME PATTERN
  local found
  mapfile -t found < <(find "$1" -maxdepth 1 -name "$3" 2>/dev/null)
  ((${#found[@]} > 0)) || return 0
  mkdir -p "$folder/lib/$2"
  install -m 644 "${found[@]}" "$folder/lib/$2/"
  components+=("${found[@]}")
}
mpi=$(ldd "${programs[@]}" | awk '$1 ~ /^libmpi\.so/ && !seen++ {print $3}')
for place in openmpi/lib/openmpi3 openmpi/lib/openmpi openmpi; do
  [[ -d $folder/lib/openmpi ]] || pack_components "$(dirname "$mpi")/$place" openmpi 'mca_*.so'
done
if ((${#components[@]} > 0)); then
  pmix=$(ldd "${components[@]}" 2>/dev/null | awk '$1 ~ /^libpmix\.so/ && !seen++ {print $3}')
  for place in pmix2/lib/pmix pmix; do
    [[ -z $pmix || -d $folder/lib/pmix ]] || pack_components "$(dirname "$pmix")/$place" pmix 'pmix_mca_*.so'
  done
fi

machine_libraries='^(ld-linux.*|libc|libm|libdl|libpthread|librt|libresolv|libutil|libcuda|libnvidia-.*)\.so'
ldd "${programs[@]}" ${components[0]:+"${components[@]}"} 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  while read -r library; do
    [[ $(basename "$library") =~ $machine_libraries ]] || install -m 644 "$library" "$folder/lib/"
  done

# cuDNN and NVRTC load other libraries from their own folder at run time.
ldd "${programs[@]}" 2>/dev/null | awk '$1 ~ /^lib(cudnn|nvrtc)\.so/ && !seen[$1]++ {print $3}' |
  while read -r library; do
    parts=("${library%.so*}"[-_]*.so.*)
    [[ ! -e ${parts[0]} ]] || install -m 644 "${parts[@]}" "$folder/lib/"
  done

# The distribution configures the components of Open MPI that work with its libraries.
for settings in /etc/openmpi "$(dirname "$mpi")/openmpi/etc" "$(dirname "$mpi")/../etc"; do
  [[ -f $settings/openmpi-mca-params.conf ]] || continue
  install -D -m 644 -t "$folder/etc" "$settings/openmpi-mca-params.conf"
  break
done
for texts in /usr/share/openmpi "$(dirname "$mpi")/../share/openmpi"; do
  [[ -d $texts ]] && cp -r "$texts" "$folder/share/" && break
done
cp -r data/. "$folder/share/rulemill/"
cp -r pages python "$folder/share/rulemill/"
cp -r slurm "$folder/"
install -D -m 755 -t "$folder/bench" bench/gpu.sh bench/gpu_models.py bench/fingerprint_model.py
cp LICENSE "$folder/"

# One wrapper for all programs: it runs the program of its own name.
cat >"$folder/bin/.run" <<'WRAPPER'
#!/bin/bash
# Runs the packed program of this name with the packed libraries.
here=$(readlink -f "${BASH_SOURCE[0]}")
here=${here%/*}
packed=${here%/*}
export LD_LIBRARY_PATH="$packed/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
if [[ -d $packed/lib/openmpi ]]; then
  export OMPI_MCA_mca_base_component_path="${OMPI_MCA_mca_base_component_path:-$packed/lib/openmpi}"
  export OPAL_PKGDATADIR="${OPAL_PKGDATADIR:-$packed/share/openmpi}"
fi
if [[ -d $packed/lib/pmix ]]; then
  export PMIX_MCA_mca_base_component_path="${PMIX_MCA_mca_base_component_path:-$packed/lib/pmix}"
fi
settings=$packed/etc/openmpi-mca-params.conf
if [[ -f $settings ]]; then
  export OMPI_MCA_mca_base_param_files="${OMPI_MCA_mca_base_param_files:-${HOME:-/}/.openmpi/mca-params.conf,$settings}"
fi
# Without a remote shell, mpirun can start ranks on its own machine only.
if ! command -v ssh >/dev/null && ! command -v rsh >/dev/null; then export OMPI_MCA_plm="${OMPI_MCA_plm:-isolated}"; fi
export RULEMILL_DATA="${RULEMILL_DATA:-$packed/share/rulemill}"
exec "$here/${0##*/}.bin" "$@"
WRAPPER
chmod 755 "$folder/bin/.run"
for name in "${names[@]}"; do
  ln -sf .run "$folder/bin/$name"
done
# Includes the default rules of `optimize`, so that the first run need not make them.
"$folder/bin/rulemill" rules default --out "$folder/share/rulemill/rules/models" >/dev/null
if [[ $target == *.tar.gz ]]; then
  tar -C "$scratch" --owner=0 --group=0 --sort=name -czf "$target" "$(basename "$folder")"
fi
echo "$target: $(find "$folder" -type f | wc -l) files, $(du -sh "$target" | cut -f1)"
