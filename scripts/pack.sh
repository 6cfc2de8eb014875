#!/bin/bash
# Packs a built rulemill with its libraries into a relocatable folder, or a tarball of it, that runs on machines without any of
# them. Only the C library and the GPU driver are the machine's own:
#   scripts/pack.sh [OPTION...] FOLDER|FILE.tar.gz [PRESET|BUILD]        BUILD: the folder of a build, with a slash
#     --tests      include test and benchmark programs
#     --no-cuda    leave out CUDA's libraries, for machines that have them
#     --minimal    only rulemill and cvc5: no mpirun, no Slurm scripts, no benchmarks
set -euo pipefail
cd "$(dirname "$0")/.."
tests=no cuda=yes minimal=no
while [[ ${1:-} == --* ]]; do
  case $1 in
    --tests) tests=yes ;;
    --no-cuda) cuda=no ;;
    --minimal) minimal=yes ;;
    *)
      echo "scripts/pack.sh: unknown option $1; expected --tests, --no-cuda or --minimal" >&2
      exit 2
      ;;
  esac
  shift
done
target=${1:?usage: scripts/pack.sh [--tests] [--no-cuda] [--minimal] FOLDER|FILE.tar.gz [PRESET|BUILD]}
binaries=${2:-release}
[[ $binaries == */* ]] || binaries=build/$binaries
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
command -v patchelf >/dev/null || {
  echo "scripts/pack.sh: patchelf is not installed; run scripts/install-debian.sh" >&2
  exit 1
}
mkdir -p "$folder/bin" "$folder/lib" "$folder/share/rulemill"

programs=("$binaries/rulemill")
if [[ $tests == yes ]]; then
  for program in "$binaries"/test_* "$binaries"/*_bench "$binaries"/ranks_check; do
    [[ -f $program && -x $program ]] && programs+=("$program")
  done
fi
names=() packed=()
pack_program() { # PROGRAM NAME
  names+=("$2")
  packed+=("$folder/bin/$2.bin")
  install -m 755 "$1" "${packed[-1]}"
}
for program in "${programs[@]}"; do
  pack_program "$program" "$(basename "$program")"
done
strip "${packed[@]}"
# A launcher for ranks on one machine; on several machines srun starts them.
if [[ $minimal == no ]] && mpirun=$(readlink -f "$(command -v mpirun)"); then
  programs+=("$mpirun")
  pack_program "$mpirun" mpirun
fi
# The second solver of `check --cvc5`, which rulemill finds beside itself.
if cvc5=$(readlink -f "$(command -v cvc5)"); then
  programs+=("$cvc5")
  packed+=("$folder/bin/cvc5")
  install -m 755 "$cvc5" "$folder/bin/cvc5"
else
  echo "scripts/pack.sh: no cvc5 on PATH to pack; \`check --cvc5\` will need the machine's own" >&2
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
cuda_libraries='^lib(cudnn.*|cublas.*|cudart|nvrtc.*|nvJitLink)\.so'
is_packed() { # FILE
  [[ ! ${1##*/} =~ $machine_libraries ]] && [[ $cuda == yes || ! ${1##*/} =~ $cuda_libraries ]]
}
libraries=()
while read -r library; do
  ! is_packed "$library" || libraries+=("$library")
done < <(ldd "${programs[@]}" ${components[0]:+"${components[@]}"} 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u)
install -m 644 "${libraries[@]}" "$folder/lib/"

# cuDNN and NVRTC load other libraries from their own folder at run time.
ldd "${programs[@]}" 2>/dev/null | awk '$1 ~ /^lib(cudnn|nvrtc)\.so/ && !seen[$1]++ {print $3}' |
  while read -r library; do
    parts=("${library%.so*}"[-_]*.so.*)
    [[ ! -e ${parts[0]} ]] || ! is_packed "$library" || install -m 644 "${parts[@]}" "$folder/lib/"
  done

# Programs find the libraries beside them, and so do these libraries, unless they name a folder of this machine. (The variable
# LD_LIBRARY_PATH would also change the libraries of other programs that rulemill starts, such as Python.)
patchelf --force-rpath --set-rpath "\$ORIGIN/../lib" "${packed[@]}"
find "$folder/lib" -name '*.so*' | while read -r library; do
  [[ $(patchelf --print-rpath "$library") != /* ]] || patchelf --remove-rpath "$library"
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
cp -r pages "$folder/share/rulemill/"
for helpers in onnxruntime_helpers rulemill rulemill/ci rulemill/exchange; do
  install -D -m 644 -t "$folder/share/rulemill/python/$helpers" python/$helpers/*.py
done
if [[ $minimal == no ]]; then
  cp -r slurm "$folder/"
  install -D -m 755 -t "$folder/bench" bench/gpu.sh bench/gpu_models.py bench/fingerprint_model.py
fi
cp LICENSE "$folder/"

# The licences of the packed libraries and programs, as their Debian packages state them.
mkdir -p "$folder/share/licenses"
{ dpkg-query --search "${libraries[@]}" "${libraries[@]/#/\/usr}" "${programs[@]}" 2>/dev/null || true; } |
  sed 's/[:,].*//' | sort -u | while read -r package; do
  cp -L "/usr/share/doc/$package/copyright" "$folder/share/licenses/$package"
done

# One wrapper for all programs: it runs the program of its own name.
cat >"$folder/bin/.run" <<'WRAPPER'
#!/bin/bash
# Runs the packed program of this name with the packed components of MPI.
here=$(readlink -f "${BASH_SOURCE[0]}")
here=${here%/*}
packed=${here%/*}
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
scripts/install_manual.sh "$folder/bin/rulemill" "$folder/share"
# Includes the default rules of `optimize`, so that the first run need not make them. The build folder keeps them for the next
# package of this build.
rules=$(RULEMILL_CACHE="$(realpath "$binaries")/package_cache" "$folder/bin/rulemill" rules default)
mkdir -p "$folder/share/rulemill/rules/models"
cp "$rules" "$folder/share/rulemill/rules/models/"
if [[ $target == *.tar.gz ]]; then
  tar -C "$scratch" --owner=0 --group=0 --sort=name -czf "$target" "$(basename "$folder")"
fi
echo "$target: $(find "$folder" -type f | wc -l) files, $(du -sh "$target" | cut -f1)"
