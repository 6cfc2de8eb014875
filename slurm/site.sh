# Settings of a site. Copy this file, adapt the copy, and pass it with `submit --site COPY` or in $RULEMILL_SITE.
# `submit` sources it, and every job sources it again on its node.
# shellcheck shell=bash disable=SC2034

binary=${RULEMILL:-rulemill}        # path on the nodes: a build, or bin/rulemill of the packed folder
modules=()                          # environment modules: (openmpi/4.1 hdf5/1.10)
container=()                        # prefix of the command: (apptainer exec --bind /scratch /images/rulemill.sif)
launch=(--mpi=pmix --cpu-bind=cores) # options of srun; Open MPI 4 needs PMIx

account=""                          # empty: Slurm's default
qos=""
partition=""                        # for all stages
gpu_partition=""                    # for fingerprints in a chain of stages; empty: on CPUs

# Resources. `submit check` verifies them; docs/cluster.md explains how to choose them.
nodes=1
ranks_per_node=8                    # proofs use one core per rank; threads of a rank share its memory
cores_per_rank=1
memory_per_core=2G
time=04:00:00

gpu_nodes=1
gpus_per_node=4                     # one rank per GPU
cores_per_gpu=8
gpu_memory_per_core=4G
gpu_time=01:00:00

optimize_cores=8                    # one process per model
optimize_memory_per_core=4G
optimize_time=01:00:00
optimize_max_running=32             # models at the same time
